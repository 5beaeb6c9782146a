#
# What fpbtree_check() and fpbtree_damage() find: single things wrong with single
# pages, each made by changing some bytes of an index's file, and the fault that
# is expected; then many faults at once, pages that can't be read, links in a
# circle, and splits that have not been finished.
#
use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('check');

# With checksums, a page changed behind the server's back can't be read.
$node->init(no_data_checksums => 1);
$node->append_conf(
	'postgresql.conf', q{
autovacuum = off
# with wal_level = minimal, building an index leaves it in the buffers
wal_level = replica
enable_seqscan = off
});
$node->start;

sub query { return $node->safe_psql('postgres', shift); }

my $blcksz = query('SHOW block_size');

query(
	q{
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
-- three levels
CREATE TABLE deep (k text COLLATE "C");
INSERT INTO deep SELECT repeat('x', current_setting('block_size')::int / 20) || lpad(i::text, 5, '0') FROM generate_series(1, 500) i;
CREATE INDEX deep_k ON deep USING fpbtree (k);
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
	my $path = $node->data_dir . '/' . query("SELECT pg_relation_filepath('${table}_k')");
	open my $file, '>:raw', $path or die "$path: $!";
	print $file join('', @pages);
	close $file or die $!;
	return;
}

# Integers in a page.
my %template = (1 => 'C', 2 => 'v', 4 => 'V', 8 => 'Q<');
sub get { my ($page, $offset, $width) = @_; return unpack $template{$width}, substr($$page, $offset, $width); }
sub put { my ($page, $offset, $width, $value) = @_; substr($$page, $offset, $width) = pack $template{$width}, $value; return; }

# Header fields.
my %field = (
	lower => [ 12, 2 ], upper => [ 14, 2 ], magic => [ 24, 2 ], level => [ 26, 1 ], flags => [ 27, 1 ], nnodes => [ 28, 2 ], dircap => [ 30, 2 ],
	right => [ 32, 4 ], nalloc => [ 36, 2 ], low_head => [ 40, 8 ], high_head => [ 48, 8 ], low_tail => [ 56, 8 ], high_tail => [ 64, 8 ]);
sub field { my ($page, $name) = @_; return get($page, @{ $field{$name} }); }
sub set_field { my ($page, $name, $value) = @_; put($page, @{ $field{$name} }, $value); return; }

# The offset of the dir'th node, and what its slots are like: their number and
# the offsets of heads, tails (or tuple offsets) and downlinks.
sub node_at
{
	my ($page, $dir) = @_;
	my $size = (field($page, 'lower') - base($page)) / field($page, 'nalloc');

	return base($page) + $size * get($page, 88 + 8 * field($page, 'dircap') + $dir, 1);
}
sub base { my ($page) = @_; return int((88 + 10 * field($page, 'dircap') + 63) / 64) * 64; }

sub shape
{
	my ($page, $head, $payload) = @_;
	my $size = (field($page, 'lower') - base($page)) / field($page, 'nalloc');
	my $inner = field($page, 'level') > 0;
	my $n = int($size / ($head + $payload + ($inner ? 4 : 0)));

	$n = int(($size - 16) / 6) - 2 if !$inner && $payload == 6 && $n > int(($size - 16) / 6) - 2;
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
	my @pages = @{ { words => [ get_good('words') ], texts => [ get_good('texts') ], runs => [ get_good('runs') ], deep => [ get_good('deep') ] }->{$table} };

	$where //= $block;
	$change->(\$pages[$block]);
	put_file($table, @pages);
	like(report($table), qr/^$where\|[^\n]*$expected/m, "$name: reported");
	like(check($table), qr/^XX002 /, "$name: raised");
	return;
}

my %good;
sub get_good { my ($table) = @_; $good{$table} //= [ get_file($table) ]; return @{ $good{$table} }; }

foreach my $table ('words', 'texts', 'runs', 'deep')
{
	is(report($table), '', "$table: nothing is reported of a sound index");
	is(check($table), 'sound', "$table: nor raised");
	get_good($table);
}

# The pages of each kind.
my ($words_root) = grep { field(\$good{words}[$_], 'level') == 1 } 1 .. $#{ $good{words} };
my ($texts_root) = grep { field(\$good{texts}[$_], 'level') == 1 } 1 .. $#{ $good{texts} };
my $leaf = 4;
die 'these indexes have other pages than expected' if !$words_root || !$texts_root || field(\$good{words}[$leaf], 'level') != 0 || $words_root == $leaf;

# --- structure, words ---

sub words_shape { return shape(shift, 4, 6); }

# The first slot of the first node that is, or isn't, a gap.
sub words_slot
{
	my ($page, $gap) = @_;
	my $tails = node_at($page, 0) + words_shape($page)->{tail};

	foreach my $slot (0 .. words_shape($page)->{slots} - 1)
	{
		return ($slot, $tails + 6 * $slot) if (get($page, $tails + 6 * $slot + 4, 2) == 0) == $gap;
	}
	die 'no such slot';
}

# Word pages' hints lie at the page's end, so many bytes for each node.
sub hint_bytes { return int((words_shape(shift)->{slots} + 7) / 8); }
sub hints { my ($page) = @_; return $blcksz - hint_bytes($page) * field($page, 'dircap'); }

try_fault('words', $leaf, sub { my $p = shift; put($p, field($p, 'lower') + 2, 1, 1); },
	'The unused space of the page is not zero', 'a byte in the hole');
# Says that the first slot of the first node that is, or isn't, a gap is dead.
sub put_hint
{
	my ($page, $gap) = @_;
	my ($slot) = words_slot($page, $gap);

	put($page, hints($page) + get($page, 88 + 8 * field($page, 'dircap'), 1) * hint_bytes($page) + int($slot / 8), 1, 1 << $slot % 8);
	return;
}

try_fault('words', $leaf, sub { put_hint(shift, 1); }, 'A hint says that an entry is dead where there is none', 'a hint about a gap');
try_fault('words', $leaf, sub { put_hint(shift, 0); }, 'The entry for row \(\d+,\d+\) is marked as dead, but the row is not', 'a hint about a living row');
try_fault('words', $#{ $good{words} },
	sub { my $p = shift; put($p, hints($p) + field($p, 'nalloc') * hint_bytes($p), 1, 1); },
	'A hint is about a node that the directory does not name', 'a hint about no node');
try_fault('words', $leaf, sub { my $p = shift; my ($slot, $tail) = words_slot($p, 0); put($p, $tail + 4, 2, 0); },
	'A gap has a part of a TID', 'an offset number lost');
try_fault('words', $words_root,
	sub { my $p = shift; put($p, node_at($p, 0) + words_shape($p)->{child}, 4, 0xffffffff); put($p, node_at($p, 0) + words_shape($p)->{tail}, 4, 1); },
	'A gap has a part of a TID', 'a downlink lost');
try_fault('words', $leaf, sub { my $p = shift; my ($slot, $tail) = words_slot($p, 0); put($p, $tail, 4, 0xffffffff); },
	'An entry has an invalid TID', 'an impossible block number');
try_fault('words', $leaf, sub { my $p = shift; set_field($p, 'upper', $blcksz - 8); },
	'The page has tuples, which it may not have', 'tuples in a page of words');

# --- structure, tuples ---

sub texts_shape { return shape(shift, 4, 2); }

# Places of the offsets of the first two tuples of the first node.
sub texts_places
{
	my ($page) = @_;
	my $tails = node_at($page, 0) + texts_shape($page)->{tail};

	return (grep { get($page, $_, 2) != 0 } map { $tails + 2 * $_ } 0 .. texts_shape($page)->{slots} - 1)[ 0, 1 ];
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
try_fault('words', $leaf, sub { my $p = shift; set_field($p, 'low_head', field($p, 'low_head') - (1 << 32)); },
	'The page is not what its parent, block \d+, says', 'a low fence that is not the separator');
try_fault('words', $leaf, sub { my $p = shift; set_field($p, 'low_head', field($p, 'low_head') - (1 << 32)); },
	'The page does not begin where its left sibling, block \d+, ends', 'and not the high fence to the left');
try_fault('words', $leaf, sub { my $p = shift; my ($slot) = words_slot($p, 0); put($p, node_at($p, 0) + 4 * $slot, 4, get($p, node_at($p, 0) + 4 * $slot, 4) - 1); },
	'(The first entry is below the low fence|outside the bounds)', 'an entry outside the fences');

# A high fence left to the right sibling.
sub elide { my $p = shift; set_field($p, 'flags', field($p, 'flags') | 64); set_field($p, 'high_tail', 0); return; }
{
	my @pages = get_good('texts');
	my $right = field(\$pages[$leaf], 'right');

	elide(\$pages[$leaf]);
	put_file('texts', @pages);
	is(report('texts'), '', 'nothing is reported of a page without its high fence');
	is(check('texts'), 'sound', 'nor raised');
	is(query(q{SELECT count(*) FROM texts WHERE k >= 'key'}), '2000', 'nor is a row missing');
	is(query(q{SELECT count(*) FROM (SELECT k FROM texts ORDER BY k DESC OFFSET 0) s}), '2000', 'backwards neither');
	try_fault('texts', $leaf, sub { my $p = shift; set_field($p, 'flags', field($p, 'flags') | 64); },
		'A high fence that is elided has a tuple', 'one that is there');
	try_fault('words', $leaf, sub { my $p = shift; set_field($p, 'flags', field($p, 'flags') | 64); },
		'The page has no high fence to elide', 'one of words');
	try_fault('texts', $leaf, sub { my $p = shift; elide($p); set_field($p, 'high_head', field($p, 'high_head') + (1 << 32)); },
		"The page does not begin where its left sibling, block $leaf, ends", 'one of another head', $right);
	try_fault('texts', $leaf, sub { my $p = shift; elide($p); set_field($p, 'right', $leaf - 1); },
		"The page does not begin where its left sibling, block $leaf, ends", 'one with another right link', $leaf - 1);
}

# --- postings ---

# The places of the first posting of a leaf and of the TIDs in it, and those of them that are gaps.
sub posting
{
	my ($page) = @_;
	my ($place) = texts_places($page);
	my $tuple = get($page, $place, 2);
	my $tids = $tuple + 2 * int(((get($page, $tuple + 6, 2) & 0x1fff) + 1) / 2);
	my @places = map { $tids + 6 * $_ } 0 .. (get($page, $tuple + 4, 2) & 0x3fff) - 1;

	return ($tuple, [ grep { get($page, $_ + 4, 2) != 0 } @places ], [ grep { get($page, $_ + 4, 2) == 0 } @places ]);
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
try_posting(sub { my ($p, $tuple) = @_; put($p, $tuple, 2, 1); }, 'A posting has an impossible size', 'a posting with a block number');
try_posting(sub { my ($p, $tuple) = @_; put($p, $tuple + 4, 2, 0xbfff); }, "A tuple offset points outside the page's tuples",
	'a posting that reaches behind the page');
try_posting(sub { my ($p, $tuple) = @_; put($p, $tuple + 4, 2, get($p, $tuple + 4, 2) + 8); },
	'(A tuple offset points|A posting has|The TIDs of a posting|A gap has|Two tuples|An entry has)', 'a posting that is too long');
try_posting(sub { my ($p, $tuple, $tids) = @_; put($p, $tids->[1], 4, get($p, $tids->[0], 4)); put($p, $tids->[1] + 4, 2, get($p, $tids->[0] + 4, 2)); },
	'The TIDs of a posting are out of order', 'a TID that is there twice');
try_posting(sub { my ($p, $tuple, $tids) = @_; put($p, $tids->[1], 4, 0xffffffff); }, 'An entry has an invalid TID', 'an impossible block number in a posting');
try_posting(sub { my ($p, $tuple, $tids, $gaps) = @_; put($p, $gaps->[0], 4, 1); }, 'A gap has a part of a TID', 'a block number in a gap of a posting');
try_posting(sub { my ($p, $tuple, $tids) = @_; put($p, $_, 4, 0), put($p, $_ + 4, 2, 0) foreach @$tids; }, 'A posting has no entry', 'a posting without entries');

# --- between pages ---

try_fault('words', $leaf, sub { my $p = shift; set_field($p, 'flags', field($p, 'flags') | 8); },
	'The page is marked as incompletely split, but its right sibling has an entry', 'a split that has been finished');
try_fault('words', $leaf, sub { my $p = shift; set_field($p, 'right', $leaf); }, "The page's right link leads to itself", 'a right link to itself');
try_fault('words', $leaf, sub { my $p = shift; set_field($p, 'right', 100000); }, 'The page links to block 100000', 'a right link to nowhere');
try_fault('words', $leaf + 1, sub { my $p = shift; set_field($p, 'right', $leaf); },
	'The page does not begin where its left sibling, block 5, ends', 'a circle of right links', $leaf);
try_fault('words', 0, sub { my $p = shift; put($p, 40, 4, $leaf); }, 'The page is the root, but not the leftmost', 'a wrong root', $leaf);
try_fault('words', 0, sub { my $p = shift; put($p, 32, 4, 0); }, 'error XX002', 'no metapage');

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

# Whoever may not read the table does not see what errors say of it.
{
	query(
		q{
CREATE FUNCTION picky_cmp(int, int) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
	IF current_setting('picky.enabled', true) = 'on' AND $1 = 77 THEN RAISE 'the secret is %', $1 USING ERRCODE = 'P0001'; END IF;
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
	is($node->safe_psql('postgres', "SET picky.enabled = on; SELECT * FROM fpbtree_damage('picky_k')"), '1|error P0001: the secret is 77', 'an error of a comparator becomes a row');
	is($node->safe_psql('postgres', "$prelude SELECT * FROM fpbtree_damage('picky_k')"), '1|error P0001', 'without its text for those who may not know');
	my ($status, $stdout, $stderr) = $node->psql('postgres', "\\set VERBOSITY verbose\n$prelude SELECT fpbtree_check('picky_k')");
	like($stderr, qr/ERROR:  P0001: could not check index "picky_k"/, 'an error stays one');
	unlike($stderr, qr/77/, 'but says nothing');
	($status, $stdout, $stderr) = $node->psql('postgres', "SET picky.enabled = on; SELECT fpbtree_check('picky_k')");
	like($stderr, qr/the secret is 77/, 'to others it does');
	query('GRANT SELECT (k) ON picky TO watcher');
	is($node->safe_psql('postgres', "$prelude SELECT * FROM fpbtree_damage('picky_k')"), '1|error P0001: the secret is 77', 'or to those who may read the column');
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
	my ($status, $stdout, $stderr) = $node->psql('postgres', "SET statement_timeout = '1ms'; SELECT count(*) FROM generate_series(1, 1000), fpbtree_damage('words_k', true)");
	like($stderr, qr/canceling statement due to statement timeout/, 'cancelling works');
}

# Leaves with versions of one row, the second of which leads back to the first, and
# has to be asked where it ends: a uniqueness check must not wait for its own lock.
{
	query(
		q{
CREATE TABLE versions (k text STORAGE plain COLLATE "C", v int);
CREATE UNIQUE INDEX versions_k ON versions USING fpbtree (k);
CREATE INDEX versions_v ON versions (v);
INSERT INTO versions VALUES (repeat('x', least(current_setting('block_size')::int / 3, 8191) - 60), 0);
DO $$ BEGIN FOR i IN 1..20 LOOP UPDATE versions SET v = i; END LOOP; END $$;
CHECKPOINT;
CHECKPOINT;
});
	my @pages = get_file('versions');
	my $path = $node->data_dir . '/' . query("SELECT pg_relation_filepath('versions_k')");
	my ($first) = grep { field(\$pages[$_], 'level') == 0 && field(\$pages[$_], 'flags') & 16 } 1 .. $#pages;
	my $second = field(\$pages[$first], 'right');

	elide(\$pages[$second]);
	set_field(\$pages[$second], 'right', $first);
	$node->stop;
	open my $file, '>:raw', $path or die "$path: $!";
	print $file join('', @pages);
	close $file or die $!;
	$node->start;
	my ($status, $stdout, $stderr) = $node->psql('postgres', "INSERT INTO versions VALUES (repeat('x', least($blcksz / 3, 8191) - 60))");
	like($stderr, qr/damaged page at block $second\nDETAIL:  The right links form a circle/, 'who checks uniqueness is not caught in a circle');
}

# A child that is deleted, and whose block is used for another child of the same
# page, between the page's being copied and the child's being looked at.
SKIP:
{
	skip 'this server has no injection points', 2
	  if !query(q{SELECT count(*) FROM pg_available_extensions WHERE name = 'injection_points'});

	query(
		q{
CREATE EXTENSION injection_points;
CREATE FUNCTION key(i int) RETURNS text LANGUAGE sql IMMUTABLE
	RETURN repeat('x', current_setting('block_size')::int / 20) || lpad(i::text, 6, '0');
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

	my $session = $node->background_psql('postgres', on_error_stop => 0);
	$session->query_safe('SELECT injection_points_set_local()');
	$session->query_safe(q{SELECT injection_points_attach('fpbtree-check-child', 'wait')});
	$session->query_until(qr/started/, "\\echo started\nSELECT fpbtree_check('reused_k');\n");
	$node->wait_for_event('client backend', 'fpbtree-check-child');
	query('VACUUM (INDEX_CLEANUP ON) reused');
	query("INSERT INTO reused SELECT i, key(i) FROM generate_series($leaves[-1][1] + 1, $leaves[-1][1] + 20) i");
	my ($now) = grep { $_->[0] == $block } map { [ split /\|/ ] } split /\n/, query($leaves);
	ok($now && $now->[1] > $low, 'a block is used for another leaf');
	query(q{SELECT injection_points_detach('fpbtree-check-child')});
	query(q{SELECT injection_points_wakeup('fpbtree-check-child')});
	$session->query('SELECT 1');
	is($session->{stderr}, '', 'that is not taken for damage');
	$session->quit;
}

$node->stop;
done_testing();
