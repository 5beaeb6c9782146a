#
# What fpbtree_check() and fpbtree_damage() find: single things wrong with single
# pages, each made by changing some bytes of an index's file, and the fault that
# is expected; then many faults at once, pages that can't be read, links in a
# circle, and splits that have not been finished.
#
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/lib";
use IndexFiles;
use InjectionPoints;
use PostgreSQL::Test::Utils;
use Servers;
use Test::More;

# With checksums, a page changed behind the server's back can't be read.
my $node = start_server(
	'check', q{
# with wal_level = minimal, building an index leaves it in the buffers
wal_level = replica
# what indexes have that name none: which bytes of their pages to change is known of these
fpbtree.default_layout = disk_first
fpbtree.default_node_format = numbered
enable_seqscan = off
fpbtree.queue_worker = off
}, no_data_checksums => 1);

my $blcksz = query('SHOW block_size');
seed_choices();

query(q{
CREATE EXTENSION fpbtree;
-- an inner page above a row of leaves
CREATE TABLE words (k int);
INSERT INTO words SELECT i * 10 FROM generate_series(1, 3000) i;
CREATE INDEX words_k ON words USING fpbtree (k) WITH (fillfactor = 70);
CREATE TABLE texts (k text COLLATE "C");
INSERT INTO texts SELECT 'key ' || lpad(i::text, 6, '0') || repeat('x', 20) FROM generate_series(1, 2000) i;
CREATE INDEX texts_k ON texts USING fpbtree (k) WITH (fillfactor = 70);
-- runs of duplicates, of which one has gone, and some of another
CREATE TABLE runs (k text COLLATE "C");
INSERT INTO runs SELECT 'run ' || i FROM generate_series(1, 3) i, generate_series(1, 30);
CREATE INDEX runs_k ON runs USING fpbtree (k);
DELETE FROM runs WHERE k = 'run 2' OR (k = 'run 1' AND (ctid::text::point)[1]::int % 5 = 0);
VACUUM (INDEX_CLEANUP ON) runs;
-- runs of words, of which a few have lost rows at their ends
CREATE TABLE word_runs (k int8);
INSERT INTO word_runs SELECT i FROM generate_series(1, 20) i, generate_series(1, 20);
CREATE INDEX word_runs_k ON word_runs USING fpbtree (k);
DELETE FROM word_runs WHERE k % 3 = 0 AND (ctid::text::point)[1]::int % 20 IN (0, 1, 2);
VACUUM (INDEX_CLEANUP ON) word_runs;
-- an operation queue of some leaves; an index that can't have one
CREATE TABLE queued (k int);
INSERT INTO queued SELECT i * 10 FROM generate_series(1, 3000) i;
CREATE INDEX queued_k ON queued USING fpbtree (k) WITH (fillfactor = 70, operation_queue = on, opq_size = 1000000);
INSERT INTO queued SELECT i * 10 + 5 FROM generate_series(1, 30000, 5) i;
CREATE TABLE sole (k int);
INSERT INTO sole SELECT generate_series(1, 3000);
CREATE UNIQUE INDEX sole_k ON sole USING fpbtree (k) WITH (fillfactor = 70);
-- three levels
CREATE TABLE deep (k text COLLATE "C");
INSERT INTO deep SELECT 'xxxx' || lpad(i::text, 5, '0') || repeat('x', current_setting('block_size')::int / 20 - 4) FROM generate_series(1, 500) i;
CREATE INDEX deep_k ON deep USING fpbtree (k);
-- words of 128 bits, an inner page above them; and integers shorter than words
CREATE TABLE pairs (k int8, v int2);
INSERT INTO pairs SELECT i, i % 7 FROM generate_series(1, 1000) i;
CREATE INDEX pairs_k ON pairs USING fpbtree (k, v);
CREATE TABLE small (k int2);
INSERT INTO small SELECT generate_series(1, 100);
CREATE INDEX small_k ON small USING fpbtree (k);
-- a column behind the key, and no postings therefore
CREATE TABLE cover (k text COLLATE "C", n int);
INSERT INTO cover SELECT i % 10 || ' key ' || i, i FROM generate_series(1, 1000) i;
CREATE INDEX cover_k ON cover USING fpbtree (k) INCLUDE (n);
-- more than a hundred pages
CREATE TABLE wide (k text STORAGE plain COLLATE "C");
INSERT INTO wide SELECT i || repeat('x', current_setting('block_size')::int / 4) FROM generate_series(1, 150) i;
CREATE INDEX wide_k ON wide USING fpbtree (k);
-- and in the other layouts
CREATE TABLE named (k int);
INSERT INTO named SELECT i * 10 FROM generate_series(1, 20000) i;
CREATE INDEX named_k ON named USING fpbtree (k) WITH (fillfactor = 70, layout = cache_first, node_format = numbered);
CREATE TABLE micro_words (k int);
INSERT INTO micro_words SELECT i * 10 FROM generate_series(1, 20000) i;
CREATE INDEX micro_words_k ON micro_words USING fpbtree (k) WITH (fillfactor = 70, layout = micro_index);
CREATE TABLE micro_texts (k text COLLATE "C");
INSERT INTO micro_texts SELECT 'key ' || lpad(i::text, 6, '0') || repeat('x', 20) FROM generate_series(1, 2000) i;
CREATE INDEX micro_texts_k ON micro_texts USING fpbtree (k) WITH (fillfactor = 70, layout = micro_index);
CHECKPOINT;
});

# The bytes of an index's file, and back into a file of which nothing is in the
# buffers.
sub get_file
{
	my ($table) = @_;
	my $bytes = pack 'H*', query("SELECT encode(pg_read_binary_file(pg_relation_filepath('${table}_k')), 'hex')");

	return map { substr $bytes, $_ * $blcksz, $blcksz } 0 .. length($bytes) / $blcksz - 1;
}

sub put_file
{
	my ($table, @pages) = @_;

	query("REINDEX INDEX ${table}_k");
	replace_file(file_of("${table}_k"), join('', @pages));
	return;
}

# Integers in a page.
my %template = (1 => 'C', 2 => 'v', 4 => 'V', 8 => 'Q<');
sub get { my ($page, $offset, $width) = @_; return unpack $template{$width}, substr($$page, $offset, $width); }
sub put { my ($page, $offset, $width, $value) = @_; substr($$page, $offset, $width) = pack $template{$width}, $value; return; }

# Header fields.
my %field = (
	lower => [ 12, 2 ], upper => [ 14, 2 ], magic => [ 24, 2 ], level => [ 26, 1 ], flags => [ 27, 1 ], right => [ 28, 4 ],
	nnodes => [ 32, 2 ], dircap => [ 34, 2 ], nalloc => [ 36, 2 ], low_head => [ 40, 8 ], high_head => [ 48, 8 ], low_tail => [ 56, 8 ], high_tail => [ 64, 8 ],
	prefix => [ 72, 8 ]);
sub field { my ($page, $name) = @_; return get($page, @{ $field{$name} }); }
sub set_field { my ($page, $name, $value) = @_; put($page, @{ $field{$name} }, $value); return; }

# The offset of the dir'th node, and what its slots are like: their number and
# the offsets of heads, tails (or tuple offsets) and downlinks.
sub node_size { my ($page) = @_; return (field($page, 'lower') - base($page)) / field($page, 'nalloc'); }

sub node_at
{
	my ($page, $dir) = @_;

	return base($page) + node_size($page) * get($page, 88 + 8 * field($page, 'dircap') + $dir, 1);
}
sub base { my ($page) = @_; return int((88 + 10 * field($page, 'dircap') + 63) / 64) * 64; }

sub shape
{
	my ($page, $head, $payload) = @_;
	my $size = node_size($page);
	my $inner = field($page, 'level') > 0;
	my $n = int($size / ($head + $payload + ($inner ? 4 : 0)));

	$n = int(($size - 3 - $head) / 6) - 2 if !$inner && $payload == 6 && $n > int(($size - 3 - $head) / 6) - 2;
	return { slots => $n, child => $n * $head, tail => $n * $head + ($inner ? $n * 4 : 0) };
}

# What is reported of the index, one line each, and what the check raises.
sub report { my ($table) = @_; return query("SELECT block, fault FROM fpbtree_damage('${table}_k', true)"); }

sub check
{
	my ($table) = @_;
	my ($status, $stdout, $stderr) = $node->psql('postgres', "\\set VERBOSITY verbose\nSELECT fpbtree_check('${table}_k', true)");

	return $status == 0 ? 'sound' : $stderr =~ /ERROR:  (\w+): .*\n(?:DETAIL:  (.*))?/ ? "$1 " . ($2 // '') : $stderr;
}

# Change a page of an index: a fault like this is to be reported for a block, and
# raised by the check.
sub try_fault
{
	my ($table, $block, $change, $expected, $name, $where) = @_;
	my @pages = get_good($table);

	$where //= $block;
	$change->(\$pages[$block]);
	put_file($table, @pages);
	like(report($table), qr/^$where\|[^\n]*$expected/m, "$name: reported");
	like(check($table), qr/^XX002 /, "$name: raised");
	return;
}

my %good;
sub get_good { my ($table) = @_; $good{$table} //= [ get_file($table) ]; return @{ $good{$table} }; }

foreach my $table ('words', 'texts', 'runs', 'word_runs', 'queued', 'sole', 'deep', 'pairs', 'small', 'cover', 'wide', 'named', 'micro_words', 'micro_texts')
{
	is(report($table), '', "$table: nothing is reported of a sound index");
	is(check($table), 'sound', "$table: nor raised");
	get_good($table);
}

# The pages of each kind.
my ($words_root) = grep { field(\$good{words}[$_], 'level') == 1 } 1 .. $#{ $good{words} };
my ($texts_root) = grep { field(\$good{texts}[$_], 'level') == 1 } 1 .. $#{ $good{texts} };
my $leaf = 4;

# The first page of a level that has this flag, if one is named, and has none of these.
sub page_of
{
	my ($table, $level, $with, $without) = @_;
	my @pages = get_good($table);
	my ($block) = grep {
		my $flags = field(\$pages[$_], 'flags');
		field(\$pages[$_], 'level') == $level && ($flags & $with) == $with && !($flags & $without)
	} 1 .. $#pages;

	return $block // die "$table has no such page";
}
my ($ELIDED, $DELETED, $SPLIT, $LEFTMOST, $RIGHTMOST) = (2, 4, 8, 16, 32);

# The upper two bits of the flags: of which tree a page is.
my ($QUEUE, $TIER_2, $METAPAGE) = (64, 128, 192);
die 'these indexes have other pages than expected' if !$words_root || !$texts_root || field(\$good{words}[$leaf], 'level') != 0 || $words_root == $leaf;

# --- structure, words ---

sub words_shape { return shape(shift, 4, 6); }

# Where the pairs of a leaf's node have their parts: tail, low word of so many bytes, and head.
sub pairs_of
{
	my ($page, $dir, $low, $head) = @_;
	my $capacity = field($page, 'dircap');
	my $codec = get($page, 88 + 9 * $capacity + get($page, 88 + 8 * $capacity + $dir, 1), 1);
	my $size = (field($page, 'lower') - base($page)) / field($page, 'nalloc');
	my $tail = 4 + ($codec >> 4);
	my $bytes = $tail + $low + ($codec & 8 ? 4 : $head);

	die "the node's codec is $codec" if ($codec & 3) != 2;
	return map {
		my $start = node_at($page, $dir) + $_ * $bytes;
		{ slot => $_, tail => $start, low => $start + $tail, head => $start + $tail + $low, gap => (get($page, $start, 2) & 0xfff) == 0, bytes => $bytes }
	} 0 .. int(($size - ($codec & 8 ? 8 : 0)) / $bytes) - 1;
}

# The first slot of the first node of a leaf of words of 32 bits that is, or isn't, a gap, and where it is.
sub words_slot
{
	my ($page, $gap) = @_;
	my ($pair) = grep { $_->{gap} == $gap } pairs_of($page, 0, 0, 4);

	return ($pair->{slot}, $pair->{tail}, $pair->{head});
}

# Word pages' killed bits lie at the page's end, so many bytes for each node.
# Bytes of a node's killed bits: for the slots of any codec, if no page has a node less for it.
sub killed_bytes
{
	my ($page) = @_;
	my $size = node_size($page);
	my $room = $blcksz - base($page) - field($page, 'dircap') * $size;
	my $wanted = int((int(($size - 3 - 5) / 4) + 7) / 8);

	return $wanted < int($room / field($page, 'dircap')) ? $wanted : int($room / field($page, 'dircap'));
}
sub killed_bits { my ($page) = @_; return $blcksz - killed_bytes($page) * field($page, 'dircap'); }

try_fault('words', $leaf, sub { my $p = shift; put($p, field($p, 'lower') + 2, 1, 1); },
	'The unused space of the page is not zero', 'a byte in the hole');
# Says that the first slot of the first node that is, or isn't, a gap is dead.
sub put_killed
{
	my ($page, $gap) = @_;
	my ($slot) = words_slot($page, $gap);

	put($page, killed_bits($page) + get($page, 88 + 8 * field($page, 'dircap'), 1) * killed_bytes($page) + int($slot / 8), 1, 1 << $slot % 8);
	return;
}

try_fault('words', $leaf, sub { put_killed(shift, 1); }, 'A killed bit is set where there is no entry', 'a killed bit of a gap');
try_fault('words', $leaf, sub { put_killed(shift, 0); }, 'The entry for row \(\d+,\d+\) is marked as dead, but the row is not', 'a killed bit of a living row');
try_fault('words', $#{ $good{words} },
	sub { my $p = shift; put($p, killed_bits($p) + field($p, 'nalloc') * killed_bytes($p), 1, 1); },
	'A killed bit is about a node that the directory does not name', 'a killed bit of no node');
# The leaf's last node is not named any more, but has a bound.
try_fault('words', $leaf, sub { my $p = shift; set_field($p, 'nnodes', field($p, 'nnodes') - 1); },
	'The directory has a bound for a node that it does not name', 'a bound of no node');
try_fault('words', $leaf, sub { my $p = shift; my ($slot, $tail) = words_slot($p, 0); put($p, $tail, 2, 0); },
	'The entries of a node are not in order, or not in its first slots', 'an offset number lost');
try_fault('words', $leaf, sub { my $p = shift; my ($slot, $tail, $head) = words_slot($p, 0); put($p, $head + 8, 4, get($p, $head, 4) - 1); },
	'The entries of a node are not in order, or not in its first slots', 'entries that are not in order');
try_fault('words', $leaf, sub { my $p = shift; my ($slot, $tail, $head) = words_slot($p, 1); put($p, $head, 4, 1); },
	'A gap has a part of an entry', 'a gap with a head');
try_fault('pairs', page_of('pairs', 0, 0, $LEFTMOST | $RIGHTMOST),
	sub { my $p = shift; put($p, node_at($p, 0) + (field($p, 'lower') - base($p)) / field($p, 'nalloc') - 8, 8, -1); },
	'The heads of a node are beyond all integers', 'a base that is greater than heads');
try_fault('words', $words_root,
	sub { my $p = shift; put($p, node_at($p, 0) + words_shape($p)->{child}, 4, 0xffffffff); put($p, node_at($p, 0) + words_shape($p)->{tail}, 4, 1); },
	'A gap has a part of a TID', 'a downlink lost');
try_fault('words', $leaf, sub { my $p = shift; set_field($p, 'upper', $blcksz - 8); },
	'The page has tuples, which it may not have', 'tuples in a page of words');
try_fault('words', page_of('words', 0, $RIGHTMOST, 0), sub { my $p = shift; set_field($p, 'flags', field($p, 'flags') | $SPLIT); },
	'The rightmost page is marked as incompletely split', 'a split of the rightmost page');
try_fault('words', $words_root, sub { my $p = shift; put($p, node_at($p, 0) + words_shape($p)->{child}, 4, 0); },
	'An entry has no downlink', 'a downlink to the metapage');

# Makes the dir'th node of the directory a runs node.
sub put_runs { my ($page, $dir) = @_; put($page, 88 + 9 * field($page, 'dircap') + $dir, 1, 1); return; }

try_fault('words', $words_root, sub { put_runs(shift, 0); }, 'The page has a node of a kind that it may not have', 'a runs node in an inner page');

# A leaf's first node, with keys of 8 bytes: where its three last bytes are, and the ends of its runs.
sub runs_node
{
	my ($page) = @_;
	my $end = node_at($page, 0) + (field($page, 'lower') - base($page)) / field($page, 'nalloc');
	my $capacity = get($page, $end - 1, 1);

	die 'the first node has too few runs' if get($page, 88 + 9 * field($page, 'dircap'), 1) != 1 || get($page, $end - 2, 1) < 3;
	return { width => $end - 3, nruns => $end - 2, capacity => $end - 1, ends => $end - 3 - $capacity, tails => node_at($page, 0) + 8 * $capacity };
}

sub try_runs
{
	my ($change, $expected, $name) = @_;
	return try_fault('word_runs', 1, sub { my $p = shift; $change->($p, runs_node($p)); }, $expected, $name);
}

try_runs(sub { my ($p, $r) = @_; put($p, $r->{nruns}, 1, 0); }, 'A runs node has impossible numbers', 'a node without keys');
try_runs(sub { my ($p, $r) = @_; put($p, $r->{nruns}, 1, get($p, $r->{capacity}, 1) + 1); },
	'A runs node has impossible numbers', 'more keys than there is room for');
try_runs(sub { my ($p, $r) = @_; put($p, $r->{capacity}, 1, 255); },
	'A runs node has impossible numbers', 'room for more keys than a node has');
try_runs(sub { my ($p, $r) = @_; put($p, $r->{width}, 1, $_); }, 'A runs node has impossible numbers', "TIDs of $_ bytes")
  foreach (0, 3, 7);
try_runs(sub { my ($p, $r) = @_; put($p, $r->{ends}, 1, 255); }, 'The runs of a node end at impossible places', 'a run behind the node');
try_runs(sub { my ($p, $r) = @_; put($p, $r->{ends} + 1, 1, get($p, $r->{ends}, 1) - 1); },
	'The runs of a node end at impossible places', 'a run that ends before it begins');
try_runs(sub { my ($p, $r) = @_; put($p, node_at($p, 0) + 8, 8, get($p, node_at($p, 0), 8)); },
	'The keys of a runs node are out of order', 'a key that is there twice');
try_runs(sub { my ($p, $r) = @_; put($p, $r->{nruns}, 1, 1); }, 'A runs node has an entry behind its last run', 'entries of no run');
try_runs(sub { my ($p, $r) = @_; put($p, $r->{tails}, 4, (1 << 24) + 1); }, 'Entries \d+ and \d+ are out of order', 'TIDs out of order');

# So large a directory that the nodes reach into the killed bits.
try_fault('words', $leaf,
	sub {
		my $p = shift;
		my $size = (field($p, 'lower') - base($p)) / field($p, 'nalloc');
		my $lower = $blcksz - 64;
		my $bits = killed_bits($p);
		my $nalloc = int(($lower - 88 - 10 * field($p, 'dircap')) / $size);

		set_field($p, 'dircap', int(($lower - $nalloc * $size - 88) / 10));
		set_field($p, 'nalloc', $nalloc);
		set_field($p, 'nnodes', 1);
		set_field($p, 'lower', base($p) + $nalloc * $size);
		die 'no such page' if field($p, 'lower') != $lower || $lower <= $bits;
	},
	"The page's node counts do not agree with its bounds", 'nodes over killed bits');

# --- structure, tuples ---

sub texts_shape { return shape(shift, 4, 2); }

# Places of the offsets of the first two tuples of the first node.
sub texts_places
{
	my ($page) = @_;
	my $tails = node_at($page, 0) + texts_shape($page)->{tail};

	return (grep { get($page, $_, 2) != 0 } map { $tails + 2 * $_ } 0 .. texts_shape($page)->{slots} - 1)[ 0, 1 ];
}

# Places of the offsets of all tuples of the dir'th node, by default the last.
sub node_places
{
	my ($page, $dir) = @_;
	my $tails = node_at($page, $dir // field($page, 'nnodes') - 1) + texts_shape($page)->{tail};

	return grep { get($page, $_, 2) != 0 } map { $tails + 2 * $_ } 0 .. texts_shape($page)->{slots} - 1;
}

try_fault('texts', $leaf, sub { my $p = shift; my ($a, $b) = texts_places($p); put($p, $b, 2, get($p, $a, 2)); },
	'Two tuples lie on the same bytes', 'two entries with one tuple');
try_fault('texts', $leaf, sub { my $p = shift; my ($a, $b) = texts_places($p); put($p, $b, 2, field($p, 'low_tail')); },
	'The tuple at byte \d+: tuple has an invalid TID', 'an entry with the tuple of a fence');
try_fault('texts', $leaf, sub { my $p = shift; set_field($p, 'high_tail', field($p, 'low_tail')); },
	'Two tuples lie on the same bytes', 'two fences with one tuple');
try_fault('texts', $texts_root, sub { my $p = shift; my ($a, $b) = texts_places($p); put($p, $b, 2, get($p, $a, 2)); },
	'Two tuples lie on the same bytes', 'two separators with one tuple');
try_fault('texts', $leaf, sub { my $p = shift; my ($a) = texts_places($p); put($p, get($p, $a, 2) + 6, 2, get($p, get($p, $a, 2) + 6, 2) - 1); },
	'The tuple at byte \d+: column extends past its tuple', 'a tuple too short');
try_fault('texts', $leaf, sub { my $p = shift; put($p, field($p, 'upper') - 2, 1, 1); },
	'The unused space of the page is not zero', 'a byte before the tuples');
try_fault('texts', $leaf, sub { my $p = shift; set_field($p, 'upper', field($p, 'lower')); },
	"The page's node counts do not agree with its bounds", 'tuples over killed bits');
try_fault('texts', $leaf, sub { put_runs(shift, 0); }, 'The page has a node of a kind that it may not have', 'a runs node of tuples');
try_fault('texts', $texts_root, sub { my $p = shift; put($p, node_at($p, 0) + texts_shape($p)->{child}, 4, 0xffffffff); },
	'An entry has no downlink', 'a tuple without a downlink');

# A key that does not begin as the others do is not cut as they are when splits give its page a longer prefix.
{
	my @pages = get_good('texts');
	my $dir = int(field(\$pages[$leaf], 'nnodes') * 2 / 3);
	my $at = node_at(\$pages[$leaf], $dir);
	my ($place) = node_places(\$pages[$leaf], $dir);
	my $slot = ($place - $at - texts_shape(\$pages[$leaf])->{tail}) / 2;
	my ($low, $high) = split /\|/, query("SELECT trim(low_fence, '()'), trim(high_fence, '()') FROM fpbtree_page('texts_k', $leaf)");

	# the first byte behind the page's prefix, which is the head's
	put(\$pages[$leaf], $at + 4 * $slot + 3, 1, ord '~');
	put_file('texts', @pages);
	my ($status, $stdout, $stderr) = $node->psql('postgres', qq{
\\set VERBOSITY verbose
SET fpbtree.verify_changes = off;
SET enable_seqscan = on;
SET enable_indexscan = off;
SET enable_indexonlyscan = off;
SET enable_bitmapscan = off;
INSERT INTO texts SELECT k || i FROM texts, generate_series(1, 20) i WHERE k >= '$low' AND k < '$high' ORDER BY md5(k || i)});
	like($stderr, qr/ERROR:  XX002: .*\nDETAIL:  The keys do not begin with the page's prefix/, 'a key without the prefix is not cut');
}

# The child of the n'th tuple of an inner page of one node.
sub child_of
{
	my ($page, $n) = @_;
	my $place = (node_places($page, 0))[$n];

	return get($page, node_at($page, 0) + texts_shape($page)->{child} + 2 * ($place - node_at($page, 0) - texts_shape($page)->{tail}), 4);
}

try_fault('cover', $leaf, sub { put_runs(shift, 0); }, 'The page has a node of a kind that it may not have', 'one where no keys are shared');

# Tuples that are not what they say.  Their columns begin after 8 bytes, of which the last two are size and flags.
sub try_tuple
{
	my ($table, $block, $change, $expected, $name) = @_;
	return try_fault($table, $block,
		sub {
			my $p = shift;
			my ($place) = texts_places($p);
			my $tuple = get($p, $place, 2);
			$change->($p, $tuple, get($p, $tuple + 6, 2));
		},
		$expected, $name);
}
try_tuple('texts', $texts_root, sub { my ($p, $tuple, $info) = @_; put($p, $tuple + 6, 2, $info | 0x8000); },
	'The tuple at byte \d+: tuple is shorter than its header', 'a bitmap of NULLs that is not there');
try_tuple('texts', $leaf, sub { my ($p, $tuple) = @_; put($p, $tuple + 6, 2, 8); },
	'The tuple at byte \d+: column extends past its tuple', 'a tuple without its column');
try_tuple('texts', $leaf, sub { my ($p, $tuple) = @_; put($p, $tuple + 6, 2, 10); put($p, $tuple + 8, 1, 4); },
	'The tuple at byte \d+: column extends past its tuple', "a part of a value's length");
try_tuple('texts', $leaf, sub { my ($p, $tuple) = @_; put($p, $tuple + 8, 4, 2 << 2); },
	'The tuple at byte \d+: column has an impossible length', "a value's length that does not count itself");
try_tuple('texts', $leaf, sub { my ($p, $tuple) = @_; put($p, $tuple + 8, 1, 1); },
	'The tuple at byte \d+: column is stored outside of its tuple', 'a value that is a pointer');
try_tuple('texts', $leaf, sub { my ($p, $tuple) = @_; put($p, $tuple + 8, 4, 28 << 2 | 2); put($p, $tuple + 12, 4, 0xc0000010); },
	'The tuple at byte \d+: column is compressed by an unknown method', 'a way of compression that there is not');
try_tuple('deep', $leaf, sub { my ($p, $tuple, $info) = @_; put($p, $tuple + 6, 2, $info & ~0x2000); },
	'The tuple at byte \d+: tuple has the wrong alignment flag', 'a tuple that does not say what alignment it needs');
try_fault('texts', $leaf,
	sub {
		my $p = shift;
		# the first of the page's tuples, because nothing is before it
		my ($place) = sort { get($p, $a, 2) <=> get($p, $b, 2) } texts_places($p);
		my $tuple = get($p, $place, 2);
		my $size = get($p, $tuple + 6, 2) & 0x1fff;
		substr($$p, $tuple - 2, $size) = substr($$p, $tuple, $size);
		put($p, $place, 2, $tuple - 2);
		put($p, 14, 2, $tuple - 2);
		put($p, $tuple - 2 + 6, 2, get($p, $tuple - 2 + 6, 2) | 0x2000);
	},
	'A tuple is not aligned as its columns need it', 'a tuple that is not where it says');
try_fault('cover', $leaf,
	sub {
		my $p = shift;
		# an odd number of bytes before an integer
		my ($tuple) = grep { (get($p, $_ + 8, 1) >> 1) % 4 != 0 } map { get($p, $_, 2) } node_places($p, 0);
		put($p, $tuple + 6, 2, (get($p, $tuple + 6, 2) & ~0x1fff) + 8 + (get($p, $tuple + 8, 1) >> 1));
	},
	'The tuple at byte \d+: column extends past its tuple', 'a tuple without its second column');

# --- keys ---

try_fault('texts', $leaf, sub { my $p = shift; set_field($p, 'low_head', field($p, 'low_head') - (1 << 32)); },
	'The head of the low fence is not that of its values', 'the head of a low fence');
try_fault('texts', $leaf, sub { my $p = shift; set_field($p, 'high_head', field($p, 'high_head') + (1 << 32)); },
	'The head of the high fence is not that of its values', 'the head of a high fence');
try_fault('texts', $texts_root,
	sub {
		my $p = shift;
		my $slots = texts_shape($p)->{slots};
		my $dir = field($p, 'nnodes') - 1;
		my $node = node_at($p, $dir);
		my ($last) = grep { get($p, $node + texts_shape($p)->{tail} + 2 * $_, 2) != 0 } reverse 0 .. $slots - 1;
		put($p, $node + 4 * $_, 4, 0xfffffff0) foreach $last .. $slots - 1;
	},
	'The head of entry \d+ is not that of its values', 'the head of a separator');
try_fault('texts', $leaf, sub { my $p = shift; set_field($p, 'prefix', field($p, 'prefix') + 1); },
	'(The first entry is below the low fence|The keys do not begin with the page\'s prefix|The head of entry \d+ is not that of its values)',
	'a prefix of a leaf that is too long');
try_fault('texts', page_of('texts', 0, $LEFTMOST, 0), sub { my $p = shift; set_field($p, 'prefix', 1); },
	'The page has a prefix, which it may not have', 'a prefix of a leaf without a low fence');
try_fault('texts', $texts_root, sub { my $p = shift; set_field($p, 'prefix', field($p, 'prefix') + 1); },
	'The keys do not begin with the page\'s prefix', 'a prefix that is too long');
try_fault('texts', $texts_root, sub { my $p = shift; set_field($p, 'prefix', 100000); },
	'The page has a prefix, which it may not have', 'a prefix longer than a page');
try_fault('words', $leaf, sub { my $p = shift; set_field($p, 'low_head', field($p, 'low_head') - (1 << 32)); },
	'The page is not what its parent, block \d+, says', 'a low fence that is not the separator');
try_fault('words', $leaf, sub { my $p = shift; set_field($p, 'low_head', field($p, 'low_head') - (1 << 32)); },
	'The page does not begin where its left sibling, block \d+, ends', 'and not the high fence to the left');
try_fault('words', $leaf, sub { my $p = shift; my ($slot, $tail, $head) = words_slot($p, 0); put($p, $head, 4, get($p, $head, 4) - 1); },
	'(The first entry is below the low fence|outside the bounds)', 'an entry outside the fences');

try_fault('deep', page_of('deep', 1, 0, $LEFTMOST | $RIGHTMOST),
	sub {
		my $p = shift;
		my ($a, $b) = node_places($p, 0);
		my $child = node_at($p, 0) + texts_shape($p)->{child} + 4 * ($b - node_at($p, 0) - texts_shape($p)->{tail}) / 2;
		put($p, $a, 2, get($p, $b, 2));
		put($p, $b, 2, 0);
		put($p, $child, 4, 0xffffffff);
	},
	"The first child's key is not the low fence", 'the first separator of an inner page');
try_fault('words', $words_root, sub { my $p = shift; put($p, node_at($p, 0), 4, 1); },
	"The first child's key is not minus infinity", 'the word of the first separator of all');
try_fault('words', $words_root, sub { my $p = shift; put($p, node_at($p, 0) + words_shape($p)->{tail} + 4, 2, 1); },
	"The first child's key is not minus infinity", 'its TID');
sub pairs_shape { return shape(shift, 16, 6); }
try_fault('pairs', page_of('pairs', 1, 0, 0), sub { my $p = shift; put($p, node_at($p, 0) + 8 * pairs_shape($p)->{slots}, 8, 1); },
	"The first child's key is not minus infinity", 'the lower half of its word');

# The last pair of the last node of a leaf, whose entries are in order.
sub last_pair
{
	my ($page, $low, $head) = @_;
	my ($pair) = grep { !$_->{gap} } reverse pairs_of($page, field($page, 'nnodes') - 1, $low, $head);

	return $pair;
}
try_fault('small', 1,
	sub { my $p = shift; put($p, last_pair($p, 0, 4)->{head}, 4, 0x40000000); },
	'The words of entry 100 are not those of its values', 'a word that is no value of its type');
try_fault('pairs', page_of('pairs', 0, $RIGHTMOST, 0),
	sub { my $p = shift; put($p, last_pair($p, 8, 8)->{low}, 2, 1); },
	'The words of entry \d+ are not those of its values', 'something behind the last column');

try_fault('words', $leaf, sub { my $p = shift; set_field($p, 'high_head', field($p, 'low_head') - (1000 << 32)); },
	'The high fence is not above the low fence', 'a high fence far to the left');

# The low fence of a leaf may have the tuple of its first entry, with TID and all columns: here it is another key than
# the separator, but as such it is sound.
try_fault('cover', $leaf, sub { my $p = shift; my ($place) = texts_places($p); set_field($p, 'low_tail', get($p, $place, 2)); },
	'The page is not what its parent, block \d+, says', 'a low fence with all columns of an entry');
unlike(report('cover'), qr/tuple/, 'whose tuple is no fault');

# A high fence left to the right sibling.
sub elide { my $p = shift; set_field($p, 'flags', field($p, 'flags') | $ELIDED); set_field($p, 'high_tail', 0); return; }
{
	my @pages = get_good('texts');
	my $right = field(\$pages[$leaf], 'right');

	elide(\$pages[$leaf]);
	put_file('texts', @pages);
	is(report('texts'), '', 'nothing is reported of a page without its high fence');
	is(check('texts'), 'sound', 'nor raised');
	is(query(q{SELECT count(*) FROM texts WHERE k >= 'key'}), '2000', 'nor is a row missing');
	is(query(q{SELECT count(*) FROM (SELECT k FROM texts ORDER BY k DESC OFFSET 0) s}), '2000', 'backwards neither');
	try_fault('texts', $leaf, sub { my $p = shift; set_field($p, 'flags', field($p, 'flags') | $ELIDED); },
		'A high fence that is elided has a tuple', 'one that is there');
	try_fault('words', $leaf, sub { my $p = shift; set_field($p, 'flags', field($p, 'flags') | $ELIDED); },
		'The page has no high fence to elide', 'one of words');
	try_fault('texts', $leaf, sub { my $p = shift; elide($p); set_field($p, 'high_head', field($p, 'high_head') + (1 << 32)); },
		"The page does not begin where its left sibling, block $leaf, ends", 'one of another head', $right);
	try_fault('texts', $leaf, sub { my $p = shift; elide($p); set_field($p, 'right', $leaf - 1); },
		"The page does not begin where its left sibling, block $leaf, ends", 'one with another right link', $leaf - 1);
	try_fault('texts', $leaf, sub { my $p = shift; elide($p); set_field($p, 'right', 1); },
		"The page does not begin where its left sibling, block $leaf, ends", 'one with a link to the first leaf', 1);
	try_fault('texts', $leaf, sub { my $p = shift; elide($p); set_field($p, 'right', $leaf); },
		"The page's right link leads to itself", 'one with a link to itself');
	try_fault('texts', $leaf, sub { my $p = shift; elide($p); set_field($p, 'right', 0); },
		'The page links to block 0, but', 'one with a link to the metapage');
	try_fault('texts', $leaf, sub { my $p = shift; elide($p); set_field($p, 'right', 100000); },
		'The page links to block 100000, but', 'one with a link to nowhere');
	try_fault('texts', page_of('texts', 0, $RIGHTMOST, 0), sub { my $p = shift; set_field($p, 'flags', field($p, 'flags') | $ELIDED); },
		'The rightmost page has no high fence to elide', 'one that is infinite');
	try_fault('texts', 1, sub { my $p = shift; elide($p); set_field($p, 'high_head', field($p, 'high_head') - (1 << 32)); },
		'The last entry is not below the high fence', 'one whose head is below that of an entry');

	# where all heads are the same
	my ($inner) = page_of('deep', 1, 0, $LEFTMOST);
	my ($first) = page_of('deep', 0, $LEFTMOST, 0);
	my $first_right = field(\$good{deep}[$first], 'right');
	my $deep_right = field(\$good{deep}[$leaf], 'right');
	try_fault('deep', $leaf, sub { my $p = shift; elide($p); set_field($p, 'right', $inner); },
		"The page does not begin where its left sibling, block $leaf, ends", 'one with a link to an inner page', $inner);
	try_fault('deep', $deep_right, sub { my $p = shift; elide($p); set_field($p, 'right', $leaf); },
		"The page does not begin where its left sibling, block $deep_right, ends", 'one with a link to the left', $leaf);
	try_fault('deep', $first,
		sub {
			my $p = shift;
			my $tuple = get($p, (node_places($p))[-1], 2);
			elide($p);
			put($p, $tuple + 16, 1, ord '9');
		},
		"The page does not begin where its left sibling, block $first, ends", 'one below an entry', $first_right);

	@pages = get_good('texts');
	foreach my $dir (0 .. field(\$pages[$leaf], 'nnodes') - 1)
	{
		put(\$pages[$leaf], $_, 2, 0) foreach node_places(\$pages[$leaf], $dir);
	}
	elide(\$pages[$leaf]);
	put_file('texts', @pages);
	is(query(q{SELECT * FROM fpbtree_damage('texts_k')}), '', 'nor is anything reported of an empty one');
}

# --- postings ---

# The places of the first posting of a leaf and of the TIDs in it, which have four bytes, and those of them that are gaps.
sub posting
{
	my ($page) = @_;
	my ($place) = texts_places($page);
	my $tuple = get($page, $place, 2);
	my $tids = $tuple + 2 * int(((get($page, $tuple + 6, 2) & 0x1fff) + 1) / 2);
	my @places = map { $tids + 4 * $_ } 0 .. (get($page, $tuple + 4, 2) & 0x3fff) - 1;

	return ($tuple, [ grep { get($page, $_, 4) != 0 } @places ], [ grep { get($page, $_, 4) == 0 } @places ]);
}

sub try_posting
{
	my ($change, $expected, $name) = @_;
	return try_fault('runs', 1, sub { my $p = shift; $change->($p, posting($p)); }, $expected, $name);
}

{
	my @pages = get_good('runs');
	my ($tuple, $tids, $gaps) = posting(\$pages[1]);

	cmp_ok(@$tids, '>', 10, 'there is a posting');
	cmp_ok(@$gaps, '>', 0, 'with gaps');
}
try_posting(sub { my ($p, $tuple) = @_; put($p, $tuple + 4, 2, 0x8001); }, 'A posting has an impossible size', 'a posting for one entry');
try_posting(sub { my ($p, $tuple) = @_; put($p, $tuple, 2, 1); }, "(A posting's TIDs have an impossible width|A tuple offset points outside the page's tuples|Two tuples)", 'a posting with a block number');
try_posting(sub { my ($p, $tuple) = @_; put($p, $tuple + 2, 2, 3); }, "A posting's TIDs have an impossible width", 'a posting of TIDs too short');
try_posting(sub { my ($p, $tuple) = @_; put($p, $tuple + 4, 2, 0xbfff); }, "A tuple offset points outside the page's tuples",
	'a posting that reaches behind the page');
try_posting(sub { my ($p, $tuple) = @_; put($p, $tuple + 4, 2, get($p, $tuple + 4, 2) + 8); },
	'(A tuple offset points|A posting has|The TIDs of a posting|A gap has|Two tuples|An entry has)', 'a posting that is too long');
try_posting(sub { my ($p, $tuple, $tids) = @_; put($p, $tids->[1], 4, get($p, $tids->[0], 4)); },
	'The TIDs of a posting are out of order', 'a TID that is there twice');
try_posting(
	sub {
		my ($p, $tuple, $tids) = @_;
		put($p, $tuple + 2, 2, 6);
		put($p, $tuple + 4, 2, 0x8000 | int((get($p, $tuple + 4, 2) & 0x3fff) * 4 / 6));
		put($p, $tids->[0], 4, 0xffffffff);
		put($p, $tids->[0] + 4, 2, 0xffff);
	},
	'An entry has an invalid TID', 'an impossible block number in a posting');
try_posting(sub { my ($p, $tuple, $tids, $gaps) = @_; put($p, $gaps->[0], 4, 0x1000); }, 'A gap has a part of a TID', 'a block number in a gap of a posting');
try_posting(sub { my ($p, $tuple, $tids) = @_; put($p, $_, 4, 0) foreach @$tids; }, 'A posting has no entry', 'a posting without entries');


# Makes the last tuple of a page, with others behind it, the posting of so many TIDs.
sub make_posting
{
	my ($page, $tids) = @_;
	my $tuple = get($page, (node_places($page))[-1], 2);

	put($page, $tuple, 2, 0);
	put($page, $tuple + 2, 2, 4);
	put($page, $tuple + 4, 2, 0x8000 | $tids);
	return;
}
try_fault('texts', $leaf, sub { make_posting(shift, 450); }, 'A posting has an impossible size', 'a posting longer than postings may be');
try_fault('cover', $leaf, sub { make_posting(shift, 2); }, 'The page has a posting, which it may not have', 'a posting of an index without');

# So many slots name one posting that nobody has room for its entries: scans, VACUUM and insertions must say so.
{
	query(q{CREATE TABLE crowd (k text COLLATE "C") WITH (autovacuum_enabled = off);
		INSERT INTO crowd SELECT 'run ' || i FROM generate_series(1, 3) i, generate_series(1, 150);
		CREATE INDEX crowd_k ON crowd USING fpbtree (k);
		DELETE FROM crowd WHERE k = 'run 2';
		CHECKPOINT});
	my @pages = get_file('crowd');
	my $page = \$pages[1];
	my ($tuple) = posting($page);
	my $tails = node_at($page, 0) + texts_shape($page)->{tail};

	put($page, $tails + 2 * $_, 2, $tuple) foreach 0 .. texts_shape($page)->{slots} - 1;
	put_file('crowd', @pages);
	foreach my $command (q{SELECT count(*) FROM crowd WHERE k > ''}, 'VACUUM (INDEX_CLEANUP ON) crowd', q{INSERT INTO crowd SELECT 'run 1' FROM generate_series(1, 5000)})
	{
		like(messages("$BY_INDEX SET fpbtree.verify_changes = off;\n$command"), qr/damaged page at block 1/, "more entries than there is room for: $command");
	}

	# Two postings, each in eight slots: a scan of either key has room for its entries, one of both has not.
	query('REINDEX INDEX crowd_k; CHECKPOINT');
	@pages = get_file('crowd');
	$page = \$pages[1];
	my $first = node_at($page, 0);
	my @tuples = map { get($page, $_, 2) } node_places($page, 0);
	foreach my $slot (0 .. texts_shape($page)->{slots} - 1)
	{
		put($page, $first + 4 * $slot, 4, $slot < 16 ? get($page, $first, 4) : 0xffffffff);
		put($page, $first + texts_shape($page)->{tail} + 2 * $slot, 2, $slot < 8 ? $tuples[0] : $slot < 16 ? $tuples[-1] : 0);
	}
	put_file('crowd', @pages);
	foreach my $keys ("'run 1'", "'run 3'", "'run 1', 'run 3'")
	{
		my $stderr = messages("$BY_INDEX\nSELECT count(*) FROM crowd WHERE k IN ($keys)");
		if ($keys =~ /,/) { like($stderr, qr/damaged page at block 1/, 'more entries of two keys than there is room for'); }
		else { is($stderr, '', "as many of $keys as there is room for"); }
	}
	query('REINDEX INDEX crowd_k');
	is(report('crowd'), '', 'REINDEX mends it');
}

# --- structure, cache_first ---

# The places of the child-node hints of a page of level 1, where 1 + the number of a node is.
sub child_hints
{
	my ($page) = @_;
	my $shape = words_shape($page);
	my @child_hints;

	foreach my $dir (0 .. field($page, 'nnodes') - 1)
	{
		my $node = node_at($page, $dir);

		foreach my $slot (0 .. $shape->{slots} - 1)
		{
			my $tail = $node + $shape->{tail} + 6 * $slot;

			push @child_hints, $tail + 4 if get($page, $node + $shape->{child} + 4 * $slot, 4) == 0xffffffff && get($page, $tail + 4, 2) != 0;
		}
	}
	return @child_hints;
}

my $level_1 = page_of('named', 1, 0, 0);
cmp_ok(scalar child_hints(\(get_good('named'))[$level_1]), '>', 50, 'a page of level 1 has child-node hints');
try_fault('named', $level_1, sub { my $p = shift; put($p, (child_hints($p))[7], 2, 256); },
	'A child-node hint names a node that no page can have', 'a child-node hint to a node that there cannot be');
try_fault('named', page_of('named', 0, 0, $LEFTMOST | $RIGHTMOST), sub { my $p = shift; my ($slot, $tail, $head) = words_slot($p, 1); put($p, $head, 4, 1); },
	'A gap has a part of an entry', 'a gap with a head in a leaf');

# Whatever child-node hints say, searches find what there is: only the way is longer.
foreach my $says ('the next node', 'any node', 'one node', 'none')
{
	my @pages = get_good('named');

	foreach my $page (map { \$pages[$_] } grep { field(\$pages[$_], 'level') == 1 } 1 .. $#pages)
	{
		foreach my $hint (child_hints($page))
		{
			my $number = get($page, $hint, 2);

			put($page, $hint, 2, $says eq 'none' ? 0 : $says eq 'one node' ? 3 : $says eq 'any node' ? 1 + int rand 255 : $number % 12 + 1);
		}
	}
	put_file('named', @pages);
	is(query("SELECT count(*) FROM generate_series(0, 200010) i, LATERAL (SELECT count(*) AS n FROM named WHERE k = i OFFSET 0) s WHERE n <> (i % 10 = 0 AND i BETWEEN 10 AND 200000)::int"),
		'0', "child-node hints name $says: every key is found, and no other");
	is(query('SELECT count(*) FROM generate_series(1, 1000) i, LATERAL (SELECT min(k) AS first, max(k) AS last FROM named WHERE k BETWEEN i * 199 - 3 AND i * 199 + 900) s WHERE first <> greatest(10, (i * 199 - 3 + 9) / 10 * 10) OR last <> least(200000, (i * 199 + 900) / 10 * 10)'),
		'0', "child-node hints name $says: ranges are right");
	is(check('named'), 'sound', "child-node hints name $says: no damage");
}

# --- structure, micro_index ---

# Where a page has its micro-index, heads, downlinks, tails (or tuple offsets), and killed bits: of keys with heads of four
# bytes, in sub-arrays of four cache lines.
sub micro
{
	my ($page) = @_;
	my ($n, $capacity) = (get($page, 32, 2), get($page, 34, 2));
	my $words = field($page, 'upper') == $blcksz;
	my $heads = int((88 + 8 * int(($capacity + 63) / 64) + 63) / 64) * 64;
	my $children = $heads + 4 * $capacity;

	return { n => $n, capacity => $capacity, subs => 88, heads => $heads, children => $children,
		tails => $children + (field($page, 'level') > 0 ? 4 * $capacity : 0),
		killed_bits => $words ? $blcksz - int(($capacity + 7) / 8) : field($page, 'lower') };
}

sub try_micro
{
	my ($table, $level, $change, $expected, $name) = @_;
	my $flags = $level > 0 ? 0 : $LEFTMOST | $RIGHTMOST;

	return try_fault("micro_$table", page_of("micro_$table", $level, 0, $flags), sub { my $p = shift; $change->($p, micro($p)); }, $expected, "micro_index: $name");
}

foreach my $table ('words', 'texts')
{
	my $bounds = "The page's counts of entries do not agree with its bounds";

	try_micro($table, 0, sub { my ($p, $m) = @_; put($p, 32, 2, $m->{capacity} + 1); }, $bounds, "$table: more entries than there is room for");
	try_micro($table, 0, sub { my ($p, $m) = @_; put($p, 34, 2, 0xffff); }, $bounds, "$table: room for more than there can be");
	try_micro($table, 0, sub { my ($p, $m) = @_; put($p, 34, 2, $m->{n}); }, $bounds, "$table: room for less than there is");
	try_micro($table, 0, sub { my ($p, $m) = @_; set_field($p, 'lower', field($p, 'lower') + 2); }, $bounds, "$table: other bounds");
	try_micro($table, 0, sub { my ($p, $m) = @_; set_field($p, 'upper', field($p, 'lower')); }, $bounds, "$table: no room for killed bits");
	try_micro($table, 0, sub { my ($p, $m) = @_; put($p, $m->{heads} + 4 * 20, 4, 0); }, 'The heads of a page are out of order', "$table: a head");
	try_micro($table, 0, sub { my ($p, $m) = @_; put($p, $m->{subs}, 8, get($p, $m->{subs}, 8) - 1); },
		'The micro-index does not agree with its sub-array', "$table: a sub-array's head in front");
	try_micro($table, 1, sub { my ($p, $m) = @_; put($p, 32, 2, 0); }, 'An inner page is empty', "$table: an inner page without entries");
	try_micro($table, 1, sub { my ($p, $m) = @_; put($p, $m->{children} + 4, 4, 0xffffffff); }, 'An entry has no downlink', "$table: a downlink lost");
	try_micro($table, 1, sub { my ($p, $m) = @_; put($p, $m->{children} + 4, 4, 0); }, 'An entry has no downlink', "$table: a downlink to the metapage");
	try_micro($table, 0, sub { my ($p, $m) = @_; put($p, $m->{killed_bits} + int($m->{n} / 8), 1, 1 << $m->{n} % 8); },
		'A killed bit is set where there is no entry', "$table: a killed bit of no entry");
	try_micro($table, 0, sub { my ($p, $m) = @_; put($p, $m->{killed_bits} + 1, 1, 4); },
		'The entry for row \(\d+,\d+\) is marked as dead, but the row is not', "$table: a killed bit of a living row");
	try_micro($table, 0, sub { my ($p, $m) = @_; put($p, $m->{killed_bits} - 1, 1, 1) if $table eq 'words'; put($p, field($p, 'upper') - 1, 1, 1) if $table eq 'texts'; },
		'The unused space of the page is not zero', "$table: a byte in the hole");
}
try_micro('words', 0, sub { my ($p, $m) = @_; put($p, $m->{tails}, 4, 0xffffffff); }, 'An entry has an invalid TID', 'an impossible block number');
try_micro('words', 0, sub { my ($p, $m) = @_; put($p, $m->{tails} + 4, 2, 0); }, 'An entry has an invalid TID', 'an offset number lost');
# Nor is such an entry passed over as a gap, of which there are none: nobody may lose the row.
{
	query(q{CREATE TABLE lost (k int) WITH (autovacuum_enabled = off);
		INSERT INTO lost SELECT generate_series(1, 10000);
		CREATE INDEX lost_k ON lost USING fpbtree (k) WITH (layout = micro_index, fillfactor = 100);
		DELETE FROM lost WHERE k = 5;
		CHECKPOINT});
	my @pages = get_file('lost');
	my $m = micro(\$pages[1]);

	put(\$pages[1], $m->{tails} + 6 * $_ + 4, 2, 0) foreach 10 .. $m->{n} - 1;
	put_file('lost', @pages);
	foreach my $command ('SELECT count(k) FROM lost WHERE k < 50', 'VACUUM (INDEX_CLEANUP ON) lost', 'INSERT INTO lost SELECT 20 FROM generate_series(1, 3)')
	{
		like(messages("$BY_INDEX SET fpbtree.verify_changes = off;\n$command"), qr/damaged page at block 1.*An entry has an invalid TID/s, "entries without offset numbers: $command");
	}
	query('REINDEX INDEX lost_k');
	is(report('lost'), '', 'REINDEX mends it');
}
try_micro('texts', 0, sub { my ($p, $m) = @_; put($p, $m->{tails} + 2, 2, get($p, $m->{tails}, 2)); }, 'Two tuples lie on the same bytes', 'two entries with one tuple');
try_micro('texts', 0, sub { my ($p, $m) = @_; put($p, get($p, $m->{tails}, 2), 4, 0xffffffff); }, 'invalid TID', 'an impossible block number in a tuple');
try_micro('texts', 0, sub { my ($p, $m) = @_; set_field($p, 'high_tail', field($p, 'low_tail')); }, 'Two tuples lie on the same bytes', 'two fences with one tuple');

# --- between pages ---

try_fault('words', $leaf, sub { my $p = shift; set_field($p, 'flags', field($p, 'flags') | 8); },
	'The page is marked as incompletely split, but its right sibling has an entry', 'a split that has been finished');
try_fault('words', $leaf, sub { my $p = shift; set_field($p, 'right', $leaf); }, "The page's right link leads to itself", 'a right link to itself');
try_fault('words', $leaf, sub { my $p = shift; set_field($p, 'right', 100000); }, 'The page links to block 100000', 'a right link to nowhere');
try_fault('words', $leaf + 1, sub { my $p = shift; set_field($p, 'right', $leaf); },
	'The page does not begin where its left sibling, block 5, ends', 'a circle of right links', $leaf);
try_fault('words', 0, sub { my $p = shift; put($p, 40, 4, $leaf); }, 'The page is the root, but not the leftmost', 'a wrong root', $leaf);
try_fault('words', 0, sub { my $p = shift; put($p, 32, 4, 0); }, 'error XX002', 'no metapage');

# The slot with the downlink to a block.
sub child_slot
{
	my ($page, $block) = @_;
	my $children = node_at($page, 0) + words_shape($page)->{child};

	return grep { get($page, $children + 4 * $_, 4) == $block } 0 .. words_shape($page)->{slots} - 1;
}

# A leaf that no inner page names any more, and to which no split is to blame.
sub forget_child
{
	my ($p) = @_;
	my $node = node_at($p, 0);
	my $shape = words_shape($p);
	my ($slot) = grep { get($p, $node + $shape->{child} + 4 * $_, 4) == $leaf } 0 .. $shape->{slots} - 1;

	put($p, $node + $shape->{child} + 4 * $slot, 4, 0xffffffff);
	substr($$p, $node + $shape->{tail} + 6 * $slot, 6) = "\0" x 6;
	return;
}
try_fault('words', $words_root, \&forget_child, 'The level above has no entry for the page', 'a leaf without a downlink', $leaf);

# ... and to which one is: that is no damage, but not silent.
{
	my @pages = get_good('words');
	my ($left) = grep { field(\$pages[$_], 'right') == $leaf } 1 .. $#pages;

	forget_child(\$pages[$words_root]);
	set_field(\$pages[$left], 'flags', field(\$pages[$left], 'flags') | 8);
	put_file('words', @pages);
	foreach my $function ('check', 'damage')
	{
		my ($status, $stdout, $stderr) = $node->psql('postgres', "SELECT * FROM fpbtree_$function('words_k', true)");
		is("$status $stdout", '0 ', "fpbtree_$function: an unfinished split is no damage");
		like($stderr, qr/WARNING:  index "words_k" has an unfinished split at block $left/, 'it is warned of');
	}
	is(query(q{SELECT unfinished_splits FROM fpbtree_stats('words_k')}), 1, 'and counted');
}

# A page that a crash has left behind.
{
	my @pages = get_good('words');

	put_file('words', @pages, "\0" x $blcksz);
	is(report('words'), '', 'nothing is reported of a new page');
	is(query('SELECT kind FROM fpbtree_page($$words_k$$, ' . @pages . ')'), 'new', 'it is seen');
	is(query('SELECT count(*) FROM fpbtree_nodes($$words_k$$, ' . @pages . ')'), 0, 'it has no nodes');
}

# A leaf that is there twice; a root from which a level has been cut off.
try_fault('words', scalar @{ $good{words} }, sub { my $p = shift; $$p = $good{words}[$leaf]; }, 'The page has no place in the tree', 'a leaf that is there twice');
try_fault('words', 0, sub { my $p = shift; put($p, 40, 4, 1); put($p, 44, 4, 0); }, 'The root has a right sibling', 'a root with a sibling', 1);

# An inner page that is its own child.
try_fault('words', $words_root,
	sub {
		my $p = shift;
		my $children = node_at($p, 0) + words_shape($p)->{child};
		my ($slot) = grep { get($p, $children + 4 * $_, 4) == $leaf } 0 .. words_shape($p)->{slots} - 1;
		put($p, $children + 4 * $slot, 4, $words_root);
	},
	'The page is a child of its own', 'a child of its own');

# --- rows ---

# A row in a block of the table that a crash has left behind.
{
	my $path = file_of('words');
	my $block = (-s $path) / $blcksz;

	append_to_file($path, "\0" x $blcksz);
	try_fault('words', $leaf, sub { my $p = shift; my (undef, $tail) = words_slot($p, 0); put($p, $tail, 4, $block << 12 | get($p, $tail, 2) & 0xfff); },
		"An entry points to row \\($block,\\d+\\), which does not exist", 'a row in a new page');
}

# An entry that is there twice is out of order, but it does not make its row a duplicate.
query(q{UPDATE pg_index SET indisunique = true WHERE indexrelid = 'words_k'::regclass});
try_fault('words', $leaf,
	sub {
		my $p = shift;
		my ($slot, $tail) = words_slot($p, 0);
		substr($$p, $tail + 8, 8) = substr($$p, $tail, 8);
	},
	'The entries of a node are not in order', 'an entry that is there twice');
unlike(report('words'), qr/same key/, 'its row is not a duplicate of itself');
query(q{UPDATE pg_index SET indisunique = false WHERE indexrelid = 'words_k'::regclass});

# A leaf that can't be read is passed over, even if it is its parent's last, with whose end the next one begins.  What is
# behind it is looked at: there is an entry without a row.
{
	my @inner = grep { field(\$good{deep}[$_], 'level') == 1 } 1 .. $#{ $good{deep} };
	my $last = page_of('deep', 0, $RIGHTMOST, 0);
	my $damaged = child_of(\$good{deep}[ $inner[0] ], -1);
	my $prepare = sub {
		my @pages = get_good('deep');
		put(\$pages[$damaged], field(\$pages[$damaged], 'upper') - 1, 1, 1);
		put(\$pages[$last], get(\$pages[$last], (node_places(\$pages[$last], 0))[0], 2) + 2, 2, 5000);
		return @pages;
	};

	die 'this index has other pages than expected' if @inner != 3;
	my @pages = $prepare->();
	put_file('deep', @pages);
	like(report('deep'), qr/^$damaged\|The unused space of the page is not zero/m, 'a damaged leaf, the last of its parent');
	like(report('deep'), qr/^$last\|An entry points to row \(5000,\d+\)/m, 'what is behind it is looked at');

	# that parent does not tell itself where it ends
	elide(\$pages[$inner[0]]);
	put_file('deep', @pages);
	like(report('deep'), qr/^$last\|An entry points to row \(5000,\d+\)/m, '... if its right sibling has to be asked where the parent ends');

	# nor can that sibling, which begins elsewhere: then the level above is asked
	my $high_head = field(\$pages[$inner[0]], 'high_head');
	set_field(\$pages[$inner[0]], 'high_head', $high_head + (1 << 32));
	put_file('deep', @pages);
	like(report('deep'), qr/^$inner[1]\|The page does not begin where its left sibling, block $inner[0], ends/m, '... and that begins elsewhere');
	like(report('deep'), qr/^$last\|An entry points to row \(5000,\d+\)/m, 'what is behind both is looked at');

	# or is damaged itself: the level above is asked again for each leaf of it
	set_field(\$pages[$inner[0]], 'high_head', $high_head);
	set_field(\$pages[$inner[1]], 'magic', 1);
	put_file('deep', @pages);
	like(report('deep'), qr/^$inner[1]\|The page is not of an fpbtree index/m, '... and that is damaged, too');
	like(report('deep'), qr/^$last\|An entry points to row \(5000,\d+\)/m, 'what is behind both is looked at');
}

# --- all at once ---

{
	my @pages = get_good('texts');
	my @hurt = (2, 4, 5, 8);

	set_field(\$pages[2], 'magic', 0);
	substr($pages[4], 0, $blcksz) = "\0" x $blcksz;
	put(\$pages[5], field(\$pages[5], 'lower') + 100, 1, 1);
	set_field(\$pages[8], 'low_head', 0);
	put_file('texts', @pages);
	my $report = report('texts');
	like($report, qr/^$_\|/m, "block $_ is reported") foreach @hurt;
	like($report, qr/^\|Whether each row has an entry was not looked at: pages are damaged/m, 'and what could not be looked at');
	is(scalar(grep { /^2\|.*not of an fpbtree/ } split /\n/, $report), 1, 'what is wrong within a page once');
	unlike($report, qr/^\d*\|.*There is no entry for row/m, 'not every row of theirs');
	my ($first) = split /\n/, $report;
	like($first, qr/^2\|/, 'in the order of the file');
}

# Nothing is said of pages because of a damaged one above them.
{
	my @pages = get_good('deep');
	my ($inner) = grep { field(\$pages[$_], 'level') == 1 && field(\$pages[$_], 'right') != 0xffffffff } 2 .. $#pages;

	put(\$pages[$inner], 88 + 8 * field(\$pages[$inner], 'dircap'), 1, 200);
	put_file('deep', @pages);
	my @report = split /\n/, report('deep');
	is(scalar(grep { /^$inner\|The directory names a node that does not exist/ } @report), 1, 'a damaged inner page');
	is(scalar(grep { /^\d/ } @report), 1, 'and no other one');
	is(scalar(grep { /^\|Whether each page has a place/ } @report), 1, 'though its children have not been looked for');

	@pages = get_good('deep');
	set_field(\$pages[$inner], 'magic', 1);
	put_file('deep', @pages);
	@report = split /\n/, report('deep');
	is(scalar(grep { /^$inner\|The page is not of an fpbtree index/ } @report), 1, 'one with a damaged header');
	is(scalar(grep { /^\d/ } @report), 1, 'and no other one');
	is(scalar(grep { /^\|Following the links between pages has failed \d+ times/ } @report), 1, 'though descents have failed');
	my $entries = query("SELECT sum(entries) FROM generate_series(1, pg_relation_size('deep_k') / $blcksz - 1) b, LATERAL (SELECT * FROM fpbtree_page('deep_k', b) WHERE b <> $inner OFFSET 0) p WHERE p.level = 0");
	is($entries, 500, 'all of its leaves can be looked at');
}

# After a hundred failures no more pages' places are looked for.
{
	my @pages = get_good('wide');
	my ($root) = unpack 'V', substr($pages[0], 40, 4);

	cmp_ok(@pages, '>', 110, 'an index of many pages');
	set_field(\$pages[$root], 'magic', 1);
	put_file('wide', @pages);
	like(report('wide'), qr/^\|Following the links between pages has failed at least 100 times; the first was at block 1: error XX002/m,
		'failures are not counted for ever');
}

# Whoever may not read the table does not see what errors say of it.
{
	query(q{
CREATE FUNCTION picky_cmp(int, int) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
	IF $1 = 77 THEN
		CASE current_setting('picky.enabled', true)
			WHEN 'on' THEN RAISE 'the secret is %', $1 USING ERRCODE = 'P0001';
			WHEN 'full' THEN RAISE 'the disk is full' USING ERRCODE = '53100';
			WHEN 'slow' THEN PERFORM pg_sleep(600);
			ELSE NULL;
		END CASE;
	END IF;
	RETURN btint4cmp($1, $2);
END $$;
CREATE OPERATOR CLASS picky_ops FOR TYPE int4 USING fpbtree AS
	OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >, FUNCTION 1 picky_cmp(int, int);
CREATE TABLE picky (k int);
INSERT INTO picky SELECT generate_series(1, 100);
CREATE INDEX picky_k ON picky USING fpbtree (k picky_ops);
CREATE ROLE watcher;
GRANT pg_monitor TO watcher;
});
	my $prelude = "SET picky.enabled = on; SET ROLE watcher;";
	is(query("SET picky.enabled = on; SELECT * FROM fpbtree_damage('picky_k')"), '1|error P0001: the secret is 77', 'an error of a comparator becomes a row');
	is(query("$prelude SELECT * FROM fpbtree_damage('picky_k')"), '1|error P0001', 'without its text for those who may not know');
	my $stderr = verbose_messages("$prelude SELECT fpbtree_check('picky_k')");
	like($stderr, qr/ERROR:  P0001: could not check index "picky_k"/, 'an error stays one');
	unlike($stderr, qr/77/, 'but says nothing');
	like(messages("SET picky.enabled = on; SELECT fpbtree_check('picky_k')"), qr/the secret is 77/, 'to others it does');

	# what is said of damaged pages tells of no keys
	my @pages = get_good('deep');
	my ($inner) = grep { field(\$pages[$_], 'level') == 1 } 2 .. $#pages;
	set_field(\$pages[$inner], 'magic', 1);
	put_file('deep', @pages);
	my $lost = 'error XX002: index "deep_k" contains a damaged page at block ' . $inner;
	like(query("SET ROLE watcher; SELECT * FROM fpbtree_damage('deep_k')"), qr/^\|Following.*: \Q$lost\E/m, 'damage is shown to everybody');
	@pages = get_good('deep');
	set_field(\$pages[$inner], 'lower', 0xffff);
	put_file('deep', @pages);
	like(query("SET ROLE watcher; SELECT * FROM fpbtree_damage('deep_k')"), qr/^$inner\|error XX001: invalid page in block $inner/m, 'and so is an unreadable page');
	like(verbose_messages("SET ROLE watcher; SELECT fpbtree_check('deep_k')"), qr/ERROR:  XX001: invalid page in block $inner/, 'nor does the check hide it');

	# what is not about the index goes on
	like(verbose_messages("SET picky.enabled = full; SELECT * FROM fpbtree_damage('picky_k')"), qr/ERROR:  53100: the disk is full/, 'lack of space is not taken for damage');
	like(messages("SET picky.enabled = slow; SET statement_timeout = '100ms'; SELECT * FROM fpbtree_damage('picky_k')"), qr/canceling statement due to statement timeout/, 'nor is cancelling, within a part of the check');
	query('GRANT SELECT (k) ON picky TO watcher');
	is(query("$prelude SELECT * FROM fpbtree_damage('picky_k')"), '1|error P0001: the secret is 77', 'or to those who may read the column');
}

# A page that the server refuses to read.
{
	my @pages = get_good('words');

	set_field(\$pages[$leaf], 'lower', 0xffff);
	put_file('words', @pages);
	like(report('words'), qr/^$leaf\|error XX001: invalid page in block $leaf/m, 'an unreadable page is a row');
	like(report('words'), qr/^\|Following the links between pages has failed/m, 'and so are its neighbours');
	like(check('words'), qr/^XX001 /, 'for the check it is the error that it is');

	# nor can cancelling be taken for damage
	like(messages("SET statement_timeout = '1ms'; SELECT count(*) FROM generate_series(1, 1000), fpbtree_damage('words_k', true)"), qr/canceling statement due to statement timeout/, 'cancelling works');
}

# Leaves with versions of one row, the second of which leads back to the first, and
# has to be asked where it ends: a uniqueness check must not wait for its own lock.
{
	query(q{
CREATE TABLE versions (k text STORAGE plain COLLATE "C", v int);
CREATE UNIQUE INDEX versions_k ON versions USING fpbtree (k);
CREATE INDEX versions_v ON versions (v);
INSERT INTO versions VALUES (repeat('x', least(current_setting('block_size')::int / 3, 8191) - 60), 0);
DO $$ BEGIN FOR i IN 1..20 LOOP UPDATE versions SET v = i; END LOOP; END $$;
CHECKPOINT;
CHECKPOINT;
});
	my @pages = get_file('versions');
	my $path = file_of('versions_k');
	my ($first) = grep { field(\$pages[$_], 'level') == 0 && field(\$pages[$_], 'flags') & 16 } 1 .. $#pages;
	my $second = field(\$pages[$first], 'right');

	elide(\$pages[$second]);
	set_field(\$pages[$second], 'right', $first);
	$node->stop;
	replace_file($path, join('', @pages));
	$node->start;
	like(messages("INSERT INTO versions VALUES (repeat('x', least($blcksz / 3, 8191) - 60))"), qr/damaged page at block $second\nDETAIL:  The right links form a circle/, 'who checks uniqueness is not caught in a circle');
}

# Pages that VACUUM does not delete, as their left sibling is not what it should be.
foreach my $try (
	[ 'a sound index', undef ],
	[ 'a left sibling of another level', sub { my ($pages, $root, $left) = @_; put(\$pages->[$root], node_at(\$pages->[$root], 0) + words_shape(\$pages->[$root])->{child} + 4 * $_, 4, $root) foreach child_slot(\$pages->[$root], $left); } ],
	[ 'one that is deleted', sub { my ($pages, $root, $left) = @_; set_field(\$pages->[$left], 'flags', field(\$pages->[$left], 'flags') | $DELETED); } ],
	[ 'one that ends elsewhere', sub { my ($pages, $root, $left) = @_; set_field(\$pages->[$left], 'high_head', field(\$pages->[$left], 'high_head') - (1 << 32)); } ])
{
	my ($name, $change) = @$try;

	query(q{
DROP TABLE IF EXISTS merged;
CREATE TABLE merged (k int);
INSERT INTO merged SELECT i * 10 FROM generate_series(1, 3000) i;
CREATE INDEX merged_k ON merged USING fpbtree (k) WITH (fillfactor = 70);
CHECKPOINT;
});
	my @pages = get_file('merged');
	my ($left) = grep { field(\$pages[$_], 'right') == $leaf } 1 .. $#pages;
	my ($low, $high) = map { (field(\$pages[$leaf], $_) >> 32) - (1 << 31) } 'low_head', 'high_head';

	query("DELETE FROM merged WHERE k >= $low AND k < $high");
	$change->(\@pages, $words_root, $left) if $change;
	put_file('merged', @pages);
	query('VACUUM (INDEX_CLEANUP ON) merged');
	is(query("SELECT kind || ' ' || entries FROM fpbtree_page('merged_k', $leaf)"), $change ? 'leaf 0' : 'deleted 0', "VACUUM empties a leaf of $name, and deletes it if all is right");
}

# Pages in the free space map that are not free pages are not used.
{
	query(q{
CREATE TABLE freed (k int);
INSERT INTO freed SELECT generate_series(1, 20000);
CREATE INDEX freed_k ON freed USING fpbtree (k);
DELETE FROM freed WHERE k BETWEEN 2000 AND 18000;
VACUUM freed;
CHECKPOINT;
});
	my @pages = get_file('freed');
	my $path = file_of('freed_k');
	my ($no_page, $metapage, @others) = grep { field(\$pages[$_], 'flags') & $DELETED } 1 .. $#pages;

	cmp_ok(@others, '>', 10, 'there are deleted pages');
	set_field(\$pages[$no_page], 'magic', 0);
	set_field(\$pages[$metapage], 'flags', field(\$pages[$metapage], 'flags') | $METAPAGE);
	$node->stop;
	replace_file($path, join('', @pages));
	$node->start;
	query('INSERT INTO freed SELECT generate_series(20001, 50000)');
	is(query("SELECT pg_relation_size('freed_k') > " . length(join '', @pages)), 't', 'more pages are needed than are free');
	is(report('freed'), join("\n", (sort "$no_page|The page is not of an fpbtree index.", "$metapage|The page is a metapage."), '|Whether each row has an entry was not looked at: pages are damaged.'),
		'damaged ones are not taken for free');
}

# Scans read nothing ahead that a damaged page names.
foreach my $damaged (0, 1)
{
	foreach my $scan ([ 'alone', 'SELECT count(*) FROM (SELECT k FROM texts ORDER BY k OFFSET 0) s' ],
		[ 'in parallel', 'SET max_parallel_workers_per_gather = 2; SET parallel_setup_cost = 0; SET min_parallel_index_scan_size = 0; SELECT count(*) FROM texts' ])
	{
		my ($how, $sql) = @$scan;
		my @pages = get_good('texts');
		my $before = query(q{SELECT index_prefetched FROM fpbtree_prefetch_stats('texts_k')});

		put(\$pages[$texts_root], field(\$pages[$texts_root], 'upper') - 2, 1, 1) if $damaged;
		put_file('texts', @pages);
		is(query("SET enable_bitmapscan = off; SET effective_io_concurrency = 16; $sql"), 2000, "a scan finds all rows $how");
		my $read = query(q{SELECT index_prefetched FROM fpbtree_prefetch_stats('texts_k')}) - $before;
		ok($damaged ? $read == 0 : $read > 0, "$how, leaves are read ahead if the page above is sound");
	}
}

# Nor do cursors that turn round at the ends, or are on an index of one page.
foreach my $table ('texts', 'small')
{
	my @pages = get_good($table);
	my $rows = query("SELECT count(*) FROM $table");

	put(\$pages[$texts_root], field(\$pages[$texts_root], 'upper') - 2, 1, 1) if $table eq 'texts';
	put_file($table, @pages);
	my @fetched = split /\n/, query("BEGIN; SET LOCAL enable_bitmapscan = off; SET LOCAL enable_sort = off; SET LOCAL effective_io_concurrency = 16;
		DECLARE c SCROLL CURSOR FOR SELECT k FROM $table ORDER BY k; FETCH ALL FROM c; FETCH BACKWARD ALL FROM c; FETCH ALL FROM c");
	is(scalar @fetched, 3 * $rows, "$table: a cursor to and fro");
	is("@fetched[ 0 .. $rows - 1 ]", "@fetched[ reverse $rows .. 2 * $rows - 1 ]", 'the same rows both ways');
	is("@fetched[ 0 .. $rows - 1 ]", "@fetched[ 2 * $rows .. 3 * $rows - 1 ]", 'and again');
}

# Indexes of others' temporary tables can't be looked at.
{
	my $session = session($node, 'CREATE TEMP TABLE passing AS SELECT generate_series(1, 10) AS k', 'CREATE INDEX passing_k ON passing USING fpbtree (k)');
	my $oid = $session->query_safe(q{SELECT 'passing_k'::regclass::oid});
	like(messages("SELECT fpbtree_stats($oid)"), qr/cannot access temporary indexes of other sessions/, 'a temporary index of another session');
	$session->quit;
}

# What is known of an index may be discarded wherever a comparator looks up something.  (Few servers can be made to.)
query('CREATE TABLE few AS SELECT generate_series(1, 3) AS k; CREATE INDEX few_k ON few USING fpbtree (k picky_ops)');
is(query(q{SET debug_discard_caches = } . query(q{SELECT least(max_val::int, 1) FROM pg_settings WHERE name = 'debug_discard_caches'}) . q{; SELECT fpbtree_check('few_k')}), '', 'a check while caches are discarded');

# A child that is deleted, and whose block is used for another child of the same
# page, between the page's being copied and the child's being looked at.
SKIP:
{
	skip 'this server has no injection points', 3 if !create_injection_points();

	query(q{
CREATE FUNCTION key(i int) RETURNS text LANGUAGE sql IMMUTABLE
	RETURN lpad(i::text, 6, '0') || repeat('x', current_setting('block_size')::int / 20);
CREATE TABLE reused (i int, k text STORAGE plain COLLATE "C");
INSERT INTO reused SELECT i, key(i) FROM generate_series(1000, 100000, 1000) i;
CREATE INDEX reused_k ON reused USING fpbtree (k);
});
	my $leaves = q{
SELECT b, substring(p.low_fence FROM '\d{6}')::int, substring(p.high_fence FROM '\d{6}')::int
FROM generate_series(1, pg_relation_size('reused_k') / current_setting('block_size')::int - 1) b, fpbtree_page('reused_k', b) p
WHERE p.kind = 'leaf' AND p.low_fence IS NOT NULL AND p.high_fence IS NOT NULL ORDER BY 2};
	my @leaves = map { [ split /\|/ ] } split /\n/, query($leaves);
	my ($block, $low, $high) = @{ $leaves[1] };

	query("DELETE FROM reused WHERE i >= $low AND i < $high");

	my ($session) = start_session(['fpbtree-check-child'], q{SELECT fpbtree_check('reused_k')});
	wait_at('fpbtree-check-child');
	query('VACUUM (INDEX_CLEANUP ON) reused');
	query("INSERT INTO reused SELECT i, key(i) FROM generate_series($leaves[-1][1] + 1, $leaves[-1][1] + 20) i");
	my ($now) = grep { $_->[0] == $block } map { [ split /\|/ ] } split /\n/, query($leaves);
	ok($now && $now->[1] > $low, 'a block is used for another leaf');
	wake('fpbtree-check-child');
	rest($session);
	is($session->{stderr}, '', 'that is not taken for damage');
	$session->quit;

	# a page, and damaged, that was not there when the check began
	my @pages = get_good('words');
	put(\$pages[$words_root], node_at(\$pages[$words_root], 0) + words_shape(\$pages[$words_root])->{child} + 4 * $_, 4, scalar @pages)
	  foreach child_slot(\$pages[$words_root], $leaf);
	put_file('words', @pages);
	my $path = file_of('words_k');
	($session) = start_session(['fpbtree-check-child'], q{CREATE TABLE found AS SELECT * FROM fpbtree_damage('words_k')});
	wait_at('fpbtree-check-child');
	set_field(\$pages[$leaf], 'magic', 0);
	append_to_file($path, $pages[$leaf]);
	wake('fpbtree-check-child');
	rest($session);
	$session->quit;
	like(query('SELECT block, fault FROM found'), qr/^${\ scalar @pages}\|The page is not of an fpbtree index/m, 'a page that has been added since');
}

# --- the operation queue ---

{
	my $queue_leaf = page_of('queued', 0, $QUEUE, $LEFTMOST);
	my $main_leaf = page_of('queued', 0, 0, $QUEUE | $LEFTMOST | $RIGHTMOST);

	try_fault('queued', 0, sub { my $p = shift; put($p, 72, 4, get($p, 72, 4) + 1); },
		'Tier 1 of the operation queue has \d+ pages, which the metapage does not say', 'a page of the queue too many');
	try_fault('queued', 0, sub { my $p = shift; put($p, 96, 4, 1); }, 'Tier 2 of the operation queue has 0 pages, which the metapage does not say', 'a page of a tier 2 that there is not');
	try_fault('words', 0, sub { my $p = shift; put($p, 64, 4, page_of('words', 0, 0, $LEFTMOST)); }, 'The root of tier 1 of the operation queue is said to be block \d+, which is not', 'a queue of which there is no page');
	try_fault('queued', 0, sub { my $p = shift; put($p, 64, 4, 0); }, 'The page has no place in the tree', 'a queue that nothing leads to', $queue_leaf);
	try_fault('queued', 0, sub { my $p = shift; put($p, 64, 4, $queue_leaf); put($p, 68, 4, 0); },
		'The page has no place in the tree|The root has a right sibling|is not the root', 'a leaf for the root of the queue', '\d*');
	try_fault('queued', $queue_leaf, sub { my $p = shift; set_field($p, 'flags', field($p, 'flags') & ~$QUEUE); },
		'The page has no place in the tree|The page is not what its parent', 'a leaf of the queue that says it is of the main tree');
	try_fault('queued', $queue_leaf, sub { my $p = shift; set_field($p, 'flags', field($p, 'flags') ^ ($QUEUE | $TIER_2)); },
		'The page has no place in the tree|The page is not what its parent', 'a leaf of tier 1 that says it is of tier 2');
	try_fault('queued', $main_leaf, sub { my $p = shift; set_field($p, 'flags', field($p, 'flags') | $QUEUE); },
		'The page has no place in the tree|The page is not what its parent', 'a leaf of the main tree that says it is of the queue');
	try_fault('sole', page_of('sole', 0, 0, $LEFTMOST | $RIGHTMOST), sub { my $p = shift; set_field($p, 'flags', field($p, 'flags') | $QUEUE | $SPLIT); },
		q{The page is of an operation queue, which the index can't have}, 'a page of a queue where there is none');
	like(messages('DELETE FROM sole WHERE k = 5; VACUUM (INDEX_CLEANUP ON) sole'), qr/The page is of an operation queue/, 'VACUUM says so, too');

	# An entry of the queue becomes that of the row before it, whose own is in the main tree.
	my @pages = get_good('queued');
	my $first = page_of('queued', 0, $QUEUE | $LEFTMOST, 0);
	my @entries = map {
		my $page = \$pages[$_];
		map { my $dir = $_; map { { %$_, page => $page, dir => $dir } } pairs_of($page, $dir, 0, 4) } 0 .. field($page, 'nnodes') - 1;
	} grep { field(\$pages[$_], 'level') == 0 && !(field(\$pages[$_], 'flags') & $DELETED) } 1 .. $#pages;
	my %main = map { get($_->{page}, $_->{head}, 4) => $_ } grep { !(field($_->{page}, 'flags') & $QUEUE) && !$_->{gap} } @entries;
	# (one that has another before it in its node)
	my ($twice) = map { $entries[$_] } grep {
		my ($last, $this) = @entries[ $_ - 1, $_ ];
		$this->{page} == \$pages[$first] && $last->{page} == $this->{page} && $last->{dir} == $this->{dir} &&
		  !$last->{gap} && !$this->{gap} && $main{ get($this->{page}, $this->{head}, 4) - 5 }
	} 1 .. $#entries;
	if (ok($twice, 'an entry of the queue, and one before it'))
	{
		my $before = $main{ get($twice->{page}, $twice->{head}, 4) - 5 };

		substr(${ $twice->{page} }, $twice->{tail}, 8) = substr(${ $before->{page} }, $before->{tail}, 8);
		put_file('queued', @pages);
		like(report('queued'), qr/^$first\|An entry of the operation queue is on block \d+, too/m, 'an entry in both trees: reported');
		like(check('queued'), qr/^XX002 /, 'an entry in both trees: raised');
	}
}

$node->stop;
done_testing();
