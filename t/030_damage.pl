#
# Damaged pages: a byte here and a byte there of an index's file is flipped, and
# then the index is searched, scanned, checked, added to and vacuumed.  The
# server must neither crash nor go round in circles, and every error must be of
# the classes that say that data is damaged.  Where fpbtree_check() finds
# nothing wrong all answers must be right.  (A flipped bit of a key or a TID may
# well make a search miss a row: that is for fpbtree_check() and for data
# checksums, which are off here, to find.)
#
# There is an index of each form of keys, and of each the metapage and some pages
# of each kind are tried.  The flips are taken from a list of many thousands, of
# which every FPB_DAMAGE'th is tried in headers and directories (17 by default),
# and fewer in the nodes and tuples; 1 takes hours.
#
# Pages are also torn, half of them being of an earlier time, are of an earlier
# time, or are another page; and in indexes of one small page each byte that says
# how to read others gets each value.  Of these lists, which are shuffled with a
# fixed seed, every FPB_DAMAGE'th and (200 * FPB_DAMAGE)'th is tried, all if that is 1.
#
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/lib";
use List::Util qw(shuffle);
use Servers;
use Test::More;

my $stride = $ENV{FPB_DAMAGE} || 17;
my $body_stride = $stride == 1 ? 1 : 5 * $stride + 2;
my $only = $ENV{FPB_DAMAGE_INDEX};
my @ops = split /,/, $ENV{FPB_DAMAGE_OPS} || 'check,damage,lookup,only,forward,backward,bitmap,insert,again,more';

# Statements of this length would be taken for hanging.
my $limit = 30;

my $node = start_server(
	'damage', qq{
fpbtree.queue_worker = off
fpbtree.verify_changes = off
# with wal_level = minimal, building an index leaves it in the buffers
wal_level = replica
log_statement = none
fsync = off
enable_seqscan = off
statement_timeout = ${limit}s
max_parallel_workers_per_gather = 0
}, no_data_checksums => 1);

my $blcksz = query('SHOW block_size');

# One table for each form of key: its name, the type of its key column, an
# expression that makes the key of row i, the index's columns, and rows.  The
# tree of "deep" has three levels.  Half of the rows of the queued ones are in the
# operation queue.
my @forms = (
	[ 'word4', 'int', '(i * 7919) % 10007 - 5000', '(k)', 1500 ],
	[ 'word8', 'timestamptz', q{'2020-01-01 UTC'::timestamptz + (i * 7919) % 10007 * '1 hour'::interval}, '(k DESC)', 1500 ],
	[ 'word16', 'uuid', 'md5(i::text)::uuid', '(k)', 1500 ],
	[ 'pair', 'int', '(i * 7919) % 1009', '(k, id)', 1500 ],
	[ 'uniq', 'int', 'i', '(k)', 1500, 'UNIQUE' ],
	[ 'onekey', 'int', 'i % 7', '(k)', 2500 ],
	[ 'onekeytext', 'text COLLATE "C"', q{'key ' || i % 7}, '(k)', 2500 ],
	[ 'text', 'text COLLATE "C"', q{'the same at first ' || (i * 7919) % 10007}, '(k)', 1500 ],
	[ 'compressed', 'text COLLATE "C"', q{repeat('long ', 200) || (i * 7919) % 10007}, '(k)', 400 ],
	[ 'deep', 'text COLLATE "C"', q{repeat('x', current_setting('block_size')::int / 20) || lpad(((i * 7919) % 10007)::text, 5, '0')}, '(k)', 500 ],
	[ 'columns', 'numeric', '(i % 400) / 7.0', '(k, id DESC)', 1500 ],
	[ 'twotexts', 'text COLLATE "C"', q{'group ' || i % 9}, q{(k, (('row ' || lpad(id::text, 5, '0')) COLLATE "C"))}, 1500 ],
	[ 'uuidnumber', 'uuid', q{(CASE WHEN i % 5 > 0 THEN '01893f2e-0000-7000-8000-00000000000' || i % 9 ELSE md5(i::text) END)::uuid}, '(k, id)', 1500 ],
	[ 'uuidtext', 'uuid', q{(CASE WHEN i % 5 > 0 THEN '01893f2e-0000-7000-8000-00000000000' || i % 9 ELSE md5(i::text) END)::uuid}, q{(k DESC, (('row ' || lpad(id::text, 5, '0')) COLLATE "C"))}, 1500 ],
	[ 'numbertext', 'int8', 'i % 9', q{(k, (('row ' || lpad(id::text, 5, '0')) COLLATE "C"))}, 1500 ],
	[ 'numberuuid', 'int', 'i % 9', '(k, (md5(id::text)::uuid), id)', 1500 ],
	[ 'include', 'int', '(i * 7919) % 10007', '(k) INCLUDE (id)', 1500 ],
	[ 'queued', 'int', '(i * 7919) % 10007', '(k)', 1500 ],
	[ 'queuedtext', 'text COLLATE "C"', q{'the same at first ' || (i * 7919) % 1009}, '(k)', 1500 ],
	[ 'icu', 'text COLLATE "und-x-icu"', q{'the same at first ' || (i * 7919) % 10007}, '(k)', 1500 ],
	[ 'noheads', 'int[]', 'ARRAY[(i * 7919) % 307, i % 3]', '(k)', 1500 ]);

# Indexes of a page or two, whose keys have all kinds of an inside.
my @small_forms = (
	[ 'smalltext', 'text COLLATE "C"', q{'a key ' || i / 2 * 2}, '(k)', 10 ],
	[ 'smallnull', 'text COLLATE "C"', q{CASE WHEN i % 4 > 0 THEN 'a key ' || i END}, '(k, id)', 10 ],
	[ 'smalltwo', 'text COLLATE "C"', q{CASE WHEN i % 4 > 0 THEN 'a key ' || i / 6 END}, q{(k, (('row ' || repeat('x', id % 5) || id::text) COLLATE "C"))}, 10 ],
	[ 'smallthree', 'text COLLATE "C"', q{'a key ' || i / 6}, q{(k, (repeat('long ', id % 3 * 20) || id::text COLLATE "C"), id)}, 10 ],
	[ 'smalluuid', 'uuid', q{CASE WHEN i % 4 > 0 THEN ('01893f2e-0000-7000-8000-00000000000' || i / 6)::uuid END}, '(k, (NULLIF(id, 7)))', 10 ],
	[ 'smallcode', 'uuid', q{CASE WHEN i % 4 > 0 THEN ('01893f2e-0000-7000-8000-00000000000' || i / 6)::uuid END}, q{(k, (('row ' || repeat('x', id % 5) || id::text) COLLATE "C"))}, 10 ],
	[ 'smallcodes', 'int8', 'i / 6', q{(k, (md5(id::text)::uuid), ((repeat('x', id % 5) || id::text) COLLATE "C"))}, 10 ],
	[ 'smalllong', 'text COLLATE "C"', q{repeat('a key ', 25) || i}, '(k) INCLUDE (id)', 8 ],
	[ 'smallpress', 'text COLLATE "C"', q{repeat('long ', 300) || i}, '(k)', 8 ],
	[ 'smallnumeric', 'numeric', q{i * 1234567.891}, '(k, id)', 10 ],
	[ 'smallname', 'name', q{'name ' || i}, '(k)', 10 ],
	[ 'smallbits', 'varbit', q{i::bit(20)}, '(k)', 10 ],
	[ 'smallinet', 'inet', q{'10.0.0.0'::inet + i}, '(k)', 10 ],
	[ 'smallints', 'int[]', q{ARRAY[7, i, 3]}, '(k)', 10 ],
	[ 'smalltexts', 'text[]', q{ARRAY['one', NULL, i::text]}, '(k)', 10 ],
	[ 'smallrange', 'numrange', q{numrange(i * 0.5, i + 7)}, '(k)', 10 ]);

query(q{
CREATE EXTENSION fpbtree;
CREATE TABLE pristine (form text PRIMARY KEY, bytes bytea);
ALTER TABLE pristine ALTER bytes SET STORAGE EXTERNAL;
CREATE TABLE earlier (form text PRIMARY KEY, bytes bytea);
CREATE TABLE pages (form text, block int8, kind text, nodes int, lower int, upper int);
CREATE TABLE expected (form text, op text, answer text);

-- Answer all questions that the index has a part in.  Only what the executor
-- makes of it is looked at, so that a wrong answer is told from an error.
CREATE FUNCTION ask(form text, op text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	answer text;
BEGIN
	PERFORM set_config('enable_indexscan', (op <> 'bitmap')::text, true);
	PERFORM set_config('enable_indexonlyscan', (op IN ('only', 'lookup'))::text, true);
	PERFORM set_config('enable_bitmapscan', (op = 'bitmap')::text, true);
	PERFORM set_config('enable_sort', 'off', true);
	CASE op
	WHEN 'lookup' THEN
		EXECUTE format('SELECT string_agg(n::text, '','' ORDER BY key) FROM (SELECT DISTINCT k AS key FROM %s_keys) x, LATERAL (SELECT count(*) AS n FROM %s WHERE k = x.key OFFSET 0) y', form, form) INTO answer;
	WHEN 'only' THEN
		EXECUTE format('SELECT md5(string_agg(k::text, '','')) FROM (SELECT k FROM %s WHERE k IS NOT NULL ORDER BY k) x', form) INTO answer;
	WHEN 'forward', 'again' THEN
		EXECUTE format('SELECT md5(string_agg(k::text, '','')) || sum(id) FROM (SELECT k, id FROM %s ORDER BY k) x', form) INTO answer;
	WHEN 'backward' THEN
		EXECUTE format('SELECT md5(string_agg(k::text, '','')) || sum(id) FROM (SELECT k, id FROM %s ORDER BY k DESC) x', form) INTO answer;
	WHEN 'bitmap' THEN
		EXECUTE format('SELECT count(*) || '' '' || sum(id) FROM %s WHERE k >= (SELECT k FROM %s_keys ORDER BY k LIMIT 1) AND k < (SELECT k FROM %s_keys ORDER BY k DESC NULLS LAST LIMIT 1)', form, form, form) INTO answer;
	WHEN 'check' THEN
		PERFORM fpbtree_check((form || '_index')::regclass, true);
		answer := 'sound';
	WHEN 'damage' THEN
		SELECT CASE count(*) WHEN 0 THEN 'sound' ELSE 'damaged' END
		FROM fpbtree_damage((form || '_index')::regclass, true) INTO answer;
	WHEN 'flush' THEN
		PERFORM fpbtree_flush((form || '_index')::regclass);
		answer := 'empty';
	WHEN 'insert', 'more' THEN
		-- The rows are dead at once: a scan in between notes that, and their
		-- entries are removed where there is no room for more.
		BEGIN
			EXECUTE format('INSERT INTO %s SELECT k, -1 FROM %s_keys, generate_series(1, 8)', form, form);
			RAISE SQLSTATE '00001';
		EXCEPTION
			WHEN SQLSTATE '00001' THEN
				answer := 'inserted';
			WHEN unique_violation THEN
				answer := 'a duplicate';
		END;
	END CASE;
	RETURN answer;
END $$;

-- 'right', 'wrong', or the error.
CREATE FUNCTION try(f text, o text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	detail text;
BEGIN
	IF (ask(f, o) IS DISTINCT FROM (SELECT answer FROM expected WHERE form = f AND op = o)) THEN
		RETURN 'wrong';
	END IF;
	RETURN 'right';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL;
	-- An entry's TID can be wrong by thousands of blocks, and no one knows it
	-- but the table.
	IF SQLERRM LIKE '%' || pg_relation_filepath(f::regclass) || '%' OR
		SQLERRM LIKE 'tuple offset out of range%' THEN
		RETURN 'XX001 of the table';
	END IF;
	RETURN SQLSTATE || ' ' || translate(SQLERRM || ': ' || detail, E'\n|', '  ');
END $$;

-- Put an image into the place of an index's file that has just been made and of
-- which nothing is in the buffers.
CREATE FUNCTION put(f text, image bytea) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	lo oid;
BEGIN
	lo := lo_from_bytea(0, image);
	PERFORM lo_export(lo, pg_relation_filepath((f || '_index')::regclass));
	PERFORM lo_unlink(lo);
END $$;

-- The index with the bits of a byte flipped; and with bytes that are those at
-- another place, at present or an earlier time.
CREATE FUNCTION damage(f text, pos int, mask int) RETURNS void LANGUAGE sql AS $$
	SELECT put(f, set_byte(bytes, pos, get_byte(bytes, pos) # mask)) FROM pristine WHERE form = f $$;
CREATE FUNCTION transplant(f text, pos int, length int, source bytea, source_pos int) RETURNS void LANGUAGE sql AS $$
	SELECT put(f, overlay(bytes PLACING substring(source FROM source_pos + 1 FOR length) FROM pos + 1)) FROM pristine WHERE form = f $$;

-- The index with a page whose keys, which begin with "the ", say that they are
-- not here but where the bytes behind tell.
CREATE FUNCTION send_away(f text, pos int, length int) RETURNS void LANGUAGE sql AS $$
	SELECT put(f, overlay(bytes PLACING decode(regexp_replace(encode(substring(bytes FROM pos + 1 FOR length), 'hex'),
		'..74(686520)', '0102\1', 'g'), 'hex') FROM pos + 1))
	FROM pristine WHERE form = f $$;
});

foreach my $form (@forms, @small_forms)
{
	my ($name, $type, $key, $columns, $rows, $unique) = @$form;
	my $insert = "INSERT INTO $name SELECT $key, i FROM generate_series";
	my $options = '';
	my @ops = qw(lookup only forward backward bitmap check damage insert again more);

	$unique ||= '';
	if ($name =~ /^queued/)
	{
		$options = 'WITH (operation_queue = on)';
		$insert .= "(1, $rows, 2) i; SELECT fpbtree_flush('${name}_index'); $insert(2, $rows, 2) i";
		push @ops, 'flush';
	}
	else
	{
		$insert .= "(1, $rows) i";
	}

	# Grown, not built, with some nodes' entries removed and, where pages hold
	# little, deleted pages.
	query(qq{
CREATE TABLE $name (k $type, id int, pad text STORAGE plain) WITH (vacuum_truncate = off);
CREATE $unique INDEX ${name}_index ON $name USING fpbtree $columns $options;
$insert;
INSERT INTO $name SELECT NULL, $rows + i FROM generate_series(1, 20) i;
CREATE TABLE ${name}_keys AS SELECT k FROM $name WHERE id % 29 = 3;
-- Room for what will be inserted.  A damaged TID can have the server read the
-- block behind the table's end; that fails, but when the table is extended by
-- this block, the server (17 and 18) takes what happens to be in the buffer for
-- an empty page.
INSERT INTO $name SELECT NULL, -1, repeat('x', $blcksz / 20) FROM ${name}_keys, generate_series(1, 40);
DELETE FROM $name WHERE id = -1;
SET enable_seqscan = on;
DELETE FROM $name WHERE id % 11 = 5;
DELETE FROM $name WHERE k > (SELECT percentile_disc(0.3) WITHIN GROUP (ORDER BY k) FROM $name)
	AND k < (SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY k) FROM $name);
VACUUM (ANALYZE) $name;
CHECKPOINT;
INSERT INTO earlier SELECT '$name', pg_read_binary_file(pg_relation_filepath('${name}_index'));
INSERT INTO $name SELECT $key, i FROM generate_series(1, $rows, 40) i
	WHERE '$unique' = '' OR NOT EXISTS (SELECT FROM $name WHERE id = i);
DELETE FROM $name WHERE k > (SELECT percentile_disc(0.6) WITHIN GROUP (ORDER BY k) FROM $name)
	AND k < (SELECT percentile_disc(0.8) WITHIN GROUP (ORDER BY k) FROM $name);
VACUUM (ANALYZE) $name;
VACUUM (ANALYZE) ${name}_keys;
CHECKPOINT;
INSERT INTO pristine SELECT '$name', pg_read_binary_file(pg_relation_filepath('${name}_index'));
INSERT INTO pages
SELECT '$name', b, p.kind || p.level || CASE WHEN p.low_fence IS NULL THEN 'l' ELSE '' END || CASE WHEN p.high_fence IS NULL THEN 'r' ELSE '' END || CASE WHEN 'queue' = ANY (p.flags) THEN 'q' ELSE '' END,
	p.nodes_most, p.lower, p.upper
FROM generate_series(1, pg_relation_size('${name}_index') / current_setting('block_size')::int - 1) b, fpbtree_page('${name}_index', b) p;
});
	query(qq{
INSERT INTO expected SELECT '$name', op, ask('$name', op)
FROM unnest('{@{[ join ',', @ops ]}}'::text[]) op;
});
}

my %outcomes;

# What goes on in one try, all of it in one line of output.
sub try_sql
{
	my ($form, $damage, $what) = @_;
	my $ops = join ' || ', map { "' | $_ ' || try('$form', '$_')" } @ops, $form =~ /^queued/ ? 'flush' : ();

	# VACUUM goes through the index because there are some dead rows.
	return qq{
BEGIN;
INSERT INTO $form SELECT NULL, -1 FROM generate_series(1, 3);
ROLLBACK;
REINDEX INDEX ${form}_index;
SELECT $damage;
SELECT '$what' || $ops;
VACUUM (INDEX_CLEANUP ON) $form;
\\if :ERROR
\\echo VACUUM with $what raises :SQLSTATE :LAST_ERROR_MESSAGE
REINDEX INDEX ${form}_index;
VACUUM $form;
\\endif
\\echo done
};
}

# Run the tries, and start again behind one that has brought down the server.
sub run_tries
{
	my ($form, @tries) = @_;
	my $blame = sub { fail("$form: " . $_[0]); };

	while (@tries)
	{
		my ($stdout, $stderr) = ('', '');
		my $timed_out = 0;
		my $sql = "\\set VERBOSITY verbose\n" . join('', map { try_sql($form, @$_) } @tries);
		my $status = $node->psql(
			'postgres', $sql,
			stdout => \$stdout,
			stderr => \$stderr,
			on_error_stop => 0,
			timeout => $limit + scalar(@tries),
			timed_out => \$timed_out);
		my @lines = split /\n/, $stdout;
		my $finished = grep { $_ eq 'done' } @lines;

		foreach my $line (grep { / \| / } @lines)
		{
			my ($what, @results) = split / \| /, $line;
			my %result = map { /^(\w+) (.*)/ } @results;

			note($line) if $ENV{FPB_DAMAGE_VERBOSE};

			foreach my $op (sort keys %result)
			{
				# a value may have become one that its type does not take, or that can't be decompressed
				$blame->("$what: $op raises $result{$op}")
				  if $result{$op} !~ /^(right|wrong|XX00[12] .*)$/
				  && !($result{$op} =~ /^(22|XX000 invalid (compression method|memory alloc))/ && $result{check} =~ /^XX002/);
				$blame->("$what: $op gives a wrong answer, but the index is found sound")
				  if $result{$op} eq 'wrong' && $result{check} eq 'right';
			}
			# The report goes on behind the first fault, whatever that is, and the check ends there.
			$blame->("$what: the check says $result{check}, but the report is $result{damage}")
			  if defined $result{check} && defined $result{damage}
			  && $result{damage} ne ($result{check} eq 'right' ? 'right' : 'wrong');
			$outcomes{ $result{check} eq 'right' ? 'harmless' : 'found by the check' }++;
			$outcomes{"$_: " . ($result{$_} =~ /^(XX|22)/ ? 'reported' : $result{$_})}++ foreach keys %result;
		}
		foreach my $error (grep { /^VACUUM with / } @lines)
		{
			$blame->($error) if $error !~ / raises XX00[12] /;
			$outcomes{'VACUUM: reported'}++;
		}

		last if $status == 0 && !$timed_out;
		$blame->(($timed_out ? 'the server hangs after ' : 'the server crashes after ') . $tries[$finished]->[1]);
		diag($stderr =~ s/^(?!.*(?:FATAL|PANIC|TRAP|closed)).*\n//mgr);
		$node->stop('immediate', fail_ok => 1);
		$node->start;
		splice @tries, 0, $finished + 1;
	}
}

my ($header_count, $body_count) = (0, 0);

# One of so many tries, the same whichever indexes there are besides.
sub sample
{
	my ($one_of, @tries) = @_;
	my $n = 0;

	srand(30);
	return grep { $n++ % $one_of == 0 } shuffle(@tries);
}

# Run them, and say whether all went well.
sub try_all
{
	my ($name, $what, @tries) = @_;
	my $failed = scalar grep { !$_ } Test::More->builder->summary;

	run_tries($name, splice(@tries, 0, 50)) while @tries;
	ok($failed == scalar(grep { !$_ } Test::More->builder->summary), "$name: $what");
}

# Whole pages, and halves of them, that are of an earlier time or another page's.
sub page_tries
{
	my ($name, @pages) = @_;
	my $half = $blcksz / 2;
	my $earlier = query("SELECT length(bytes) / $blcksz FROM earlier WHERE form = '$name'");
	my @tries;

	foreach my $page (@pages)
	{
		my ($block, $kind) = @$page;
		my $at = $block * $blcksz;
		my $then = "(SELECT bytes FROM earlier WHERE form = '$name')";
		my $now = "(SELECT bytes FROM pristine WHERE form = '$name')";
		my ($other) = (grep { $_->[0] == ($block + 1) % @pages } @pages);
		my $other_at = $other->[0] * $blcksz;

		push @tries,
		  [ "transplant('$name', $at, $half, $then, $at)", "block $block ($kind), first half of an earlier time" ],
		  [ "transplant('$name', $at + $half, $half, $then, $at + $half)", "block $block ($kind), second half of an earlier time" ],
		  [ "transplant('$name', $at, $blcksz, $then, $at)", "block $block ($kind) of an earlier time" ]
		  if $block < $earlier;
		push @tries, [ "transplant('$name', $at, $blcksz, $now, $other_at)", "block $block ($kind) is block $other->[0]" ],
		  [ "transplant('$name', $at + $half, $half, $now, $other_at + $half)", "second half of block $block ($kind) is that of block $other->[0]" ];
	}
	return @tries;
}

foreach my $form (@forms)
{
	my ($name, $key) = @$form[ 0, 2 ];
	my %kinds;
	my @tries;

	next if defined $only && $only ne $name;

	# Some pages of each kind.
	my $pages = query("SELECT block, kind, nodes, lower, upper FROM pages WHERE form = '$name' ORDER BY block");
	my @pages = ([ 0, 'meta', 0, 88, $blcksz ], map { [ split /\|/ ] } split /\n/, $pages);

	foreach my $page (@pages)
	{
		my ($block, $kind, $nodes, $lower, $upper) = @$page;
		my $directory = 88 + 10 * $nodes;
		my $nth = 0;
		my (@header, @body, @always);

		next if $kinds{$kind}++ > ($kind eq 'leaf0' ? 1 : 0);

		# Every byte of the header with several bits, and samples of the rest.
		push @header, map { ([ $_, 0x01 ], [ $_, 0x80 ], [ $_, 0xff ], [ $_, 0x10 ]) } 0 .. 87;
		push @header, map { [ $_, (0x01, 0x80, 0xff, 0x08)[ $nth++ % 4 ] ] } 88 .. $directory - 1;
		push @header, [ $lower, 0xff ], [ $upper - 1, 0x01 ];
		# notes of dead entries, of both kinds of pages: at the end, and behind the nodes
		push @header, map { [ $blcksz - 1 - $_, 0xff ], [ $lower + $_, 0xff ] } grep { $lower + $_ < $upper } 0 .. 69
		  if $kind =~ /^leaf/;
		push @body, map { [ $_ * 5 + $directory, (0x01, 0x40, 0xff, 0x80, 0x04)[ $nth++ % 5 ] ] } 0 .. ($lower - $directory) / 5 - 1;
		push @body, map { [ $_ * 7 + $upper, (0x01, 0x40, 0xff, 0x80, 0x04)[ $nth++ % 5 ] ] } 0 .. ($blcksz - $upper) / 7 - 1;

		# Tuples of fences: those of the pages of a level are in no order any more,
		# and a scan from fence to fence has gone round without end.
		push @always, map { [ $blcksz - 1 - $_, 0xff ] } 0 .. 31 if $name eq 'columns' && $kind eq 'leaf0';

		push @tries, [ "send_away('$name', $block * $blcksz, $blcksz)", "block $block ($kind), keys sent away" ] if $key =~ /the same/;

		foreach my $place (@always, (grep { $header_count++ % $stride == 0 } @header), grep { $body_count++ % $body_stride == 0 } @body)
		{
			my ($pos, $mask) = @$place;

			# no page checksums here
			next if $pos == 8 || $pos == 9;
			push @tries, [ "damage('$name', $block * $blcksz + $pos, $mask)", sprintf('block %d (%s), byte %d, bits %02x', $block, $kind, $pos, $mask) ];
		}
	}

	note("$name: $pages[0][1], " . join(', ', map { "$_ (" . ($kinds{$_} || 0) . ')' } sort keys %kinds) . ', ' . scalar(@tries) . ' tries');
	push @tries, sample($stride, page_tries($name, @pages));
	try_all($name, 'damage is reported or harmless', @tries);
}

# Each value of each byte of small pages, save text itself: of headers, directories and
# slots in use, and of tuples.
foreach my $form (@small_forms)
{
	my $name = $form->[0];
	my (@tries, @always);

	next if defined $only && $only ne $name;
	foreach my $page (split /\n/, query("SELECT block, lower, upper FROM pages WHERE form = '$name' AND kind NOT LIKE 'deleted%' ORDER BY block LIMIT 2"))
	{
		my ($block, $lower, $upper) = split /\|/, $page;
		my $bytes = query("SELECT encode(substring(bytes FROM $block * $blcksz + 1 FOR $blcksz), 'hex') FROM pristine WHERE form = '$name'");

		foreach my $pos (0 .. $lower - 1, $upper .. $blcksz - 1)
		{
			my $byte = hex substr($bytes, 2 * $pos, 2);

			# no page checksums here; all nodes' unused slots are alike, and so are letters
			next if $pos == 8 || $pos == 9 || ($pos >= 256 && $pos < $lower && ($byte == 0 || $byte == 255) && $pos % 16 > 0);
			next if $pos >= $upper && chr($byte) =~ /[a-z ]/ && $pos % 16 > 0;
			push @tries, map { [ "damage('$name', $block * $blcksz + $pos, $_)", sprintf('block %d, byte %d, bits %02x', $block, $pos, $_) ] } 1 .. 255;
		}
	}
	# the flags of a range, which end the last tuple
	@always = map { [ "damage('$name', 2 * $blcksz - 1, 1 << $_)", "block 1, bit $_ of the last byte" ] } 0 .. 7 if $name eq 'smallrange';
	@tries = (@always, sample($stride == 1 ? 1 : 200 * $stride, @tries));
	note("$name: " . scalar(@tries) . ' tries');
	try_all($name, 'other values are reported or harmless', @tries);
}
note("$_: $outcomes{$_}") foreach sort keys %outcomes;

# An insertion whose page is not made afresh, as its image is not logged, moves
# what a full node has at its end, where its place is before that: every byte of
# a page with one node.
set_and_restart('full_page_writes = off');
query(q{
CREATE TABLE late (k text COLLATE "C") WITH (autovacuum_enabled = off);
CREATE INDEX late_index ON late USING fpbtree (k) WITH (layout = disk_first, fillfactor = 100);
DO $$
DECLARE
	i int := 0;
BEGIN
	LOOP
		i := i + 1;
		INSERT INTO late VALUES (lpad((2 * i)::text, 4, '0'));
		EXIT WHEN (SELECT gaps FROM fpbtree_nodes('late_index', 1)) = 0;
	END LOOP;
END $$;
CHECKPOINT;
INSERT INTO pristine SELECT 'late', pg_read_binary_file(pg_relation_filepath('late_index'));
CREATE FUNCTION insert_late(pos int, key text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	PERFORM damage('late', pos, 32);
	INSERT INTO late VALUES (key);
	RAISE SQLSTATE '00001';
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE;
END $$});
my $late = query(q{SELECT lower FROM fpbtree_page('late_index', 1)});
my $late_key = query(q{SELECT lpad((count(*) * 2 - 9)::text, 4, '0') FROM late});
my ($stdout, $stderr) = ('', '');
is( $node->psql(
		'postgres',
		join('', map { "BEGIN; REINDEX INDEX late_index; COMMIT; SELECT insert_late($_, '$late_key');\n" } map { $blcksz + $_ } 88 .. $late - 1),
		stdout => \$stdout,
		stderr => \$stderr,
		timeout => 180),
	0, 'the server goes on after insertions into a damaged full node');
is(join(',', sort keys %{ { map { $_ => 1 } split /\n/, $stdout } }), '00001,XX002', 'some of which are refused')
  or diag($stderr);

# An insertion that splits a full node of a leaf of tuples moves half of its
# entries, whose tuples it need not look at: every byte of such a node, the third,
# with heads that are alike, or all different.
foreach my $split ([ 'alike', q{lpad((2 * i)::text, 6, '0')}, '000131' ], [ 'apart', q{lpad(to_hex(2 * i), 4, '0') || 'x'}, '0083x' ])
{
	my ($name, $keys, $key) = @$split;

	query(qq{
CREATE TABLE $name (k text COLLATE "C") WITH (autovacuum_enabled = off);
CREATE INDEX ${name}_index ON $name USING fpbtree (k) WITH (layout = disk_first, fillfactor = 100);
DO \$\$
DECLARE
	i int := 0;
BEGIN
	LOOP
		i := i + 1;
		INSERT INTO $name VALUES ($keys);
		EXIT WHEN (SELECT nodes FROM fpbtree_page('${name}_index', 1)) = 6;
	END LOOP;
END \$\$;
CHECKPOINT;
INSERT INTO pristine SELECT '$name', pg_read_binary_file(pg_relation_filepath('${name}_index'));
CREATE FUNCTION insert_$name(pos int) RETURNS text LANGUAGE plpgsql AS \$\$
BEGIN
	PERFORM damage('$name', pos, 32);
	INSERT INTO $name VALUES ('$key');
	RAISE SQLSTATE '00001';
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE;
END \$\$});
	my ($lower, $nodes) = split /\|/, query(qq{SELECT lower, nodes_allocated FROM fpbtree_page('${name}_index', 1)});
	my $size = 64 * query(qq{SELECT leaf_lines FROM fpbtree_stats('${name}_index')});
	my $start = $blcksz + $lower - ($nodes - 2) * $size;

	query(qq{INSERT INTO $name VALUES ('$key')});
	is(query(qq{SELECT nodes FROM fpbtree_page('${name}_index', 1)}), 7, "an insertion splits a node, of heads that are $name");
	($stdout, $stderr) = ('', '');
	is( $node->psql(
			'postgres',
			join('', map { "BEGIN; REINDEX INDEX ${name}_index; COMMIT; SELECT insert_$name($_);\n" } $start .. $start + $size - 1),
			stdout => \$stdout,
			stderr => \$stderr,
			timeout => 180),
		0, "the server goes on after insertions that split a damaged node, of heads that are $name");
	is(join(',', sort keys %{ { map { $_ => 1 } split /\n/, $stdout } }), '00001,XX002', 'some of which are refused')
	  or diag($stderr);
}

# A leaf of tuples whose hole is used up: an insertion looks at the tuples of all
# nodes for room among them, and must not look where there is no node.
query(q{
CREATE TABLE room (k text COLLATE "C", id int) WITH (autovacuum_enabled = off);
CREATE INDEX room_index ON room USING fpbtree (k) WITH (layout = disk_first);
DO $$
DECLARE
	i int := 0;
BEGIN
	LOOP
		i := i + 1;
		INSERT INTO room VALUES ('key ' || lpad((i * 7919 % 10007)::text, 5, '0'), i);
		EXIT WHEN (SELECT upper - lower < 16 * nodes_allocated FROM fpbtree_page('room_index', 1));
	END LOOP;
END $$;
DELETE FROM room WHERE id % 3 = 0;
VACUUM room;
DO $$
DECLARE
	before int := 0;
	i int := 0;
BEGIN
	LOOP
		i := i + 1;
		INSERT INTO room VALUES ('key ' || 10008 + i * 7919 % 10007);
		EXIT WHEN before = (SELECT upper FROM fpbtree_page('room_index', 1));
		SELECT upper FROM fpbtree_page('room_index', 1) INTO before;
	END LOOP;
END $$;
CHECKPOINT;
INSERT INTO pristine SELECT 'room', pg_read_binary_file(pg_relation_filepath('room_index'))});
{
	my $page = pack 'H*', query("SELECT encode(substring(bytes FROM $blcksz + 1 FOR $blcksz), 'hex') FROM pristine WHERE form = 'room'");
	my ($nnodes, $capacity) = unpack 'x32 v2', $page;
	my $place = 88 + 8 * $capacity + $nnodes - 1;
	my @answers = map {
		query("BEGIN; REINDEX INDEX room_index; COMMIT; SELECT damage('room', $blcksz + $place, $_)");
		$node->psql('postgres', "INSERT INTO room VALUES ('key 00000');\n\\echo :SQLSTATE", on_error_stop => 0, stdout => \my $state);
		$state
	} 0, 255 ^ unpack("x$place C", $page);
	is(join(',', @answers), '00000,XX002', 'room among tuples is not looked for in a node that is not there');
}

# An inner page that has lost its first downlink, whose key the search never
# compares: the next child's fence shows that it is not the right one.  (Where
# keys have no heads, fences are compared with the separators above them.)
query(q{
CREATE TABLE lost (k int[]) WITH (autovacuum_enabled = off);
CREATE UNIQUE INDEX lost_index ON lost USING fpbtree (k) WITH (layout = disk_first);
INSERT INTO lost SELECT ARRAY[k] FROM generate_series(1, 5000) k;
CHECKPOINT;
INSERT INTO pristine SELECT 'lost', pg_read_binary_file(pg_relation_filepath('lost_index'))});
{
	my $root = $blcksz * query(q{SELECT block FROM generate_series(1, (pg_relation_size('lost_index') / current_setting('block_size')::int)::int - 1) block,
	fpbtree_page('lost_index', block) WHERE level = 1});
	my $page = pack 'H*', query("SELECT encode(substring(bytes FROM $root + 1 FOR $blcksz), 'hex') FROM pristine WHERE form = 'lost'");
	my ($lower, $upper) = unpack 'x12 v2', $page;

	# minus infinity: a tuple without columns, not aligned
	my ($tuple) = grep { substr($page, $_, 8) eq pack('v4', 0, 0, 0, 8) } map { $upper + 2 * $_ } 0 .. ($blcksz - $upper) / 2 - 4;
	my ($slot) = grep { unpack("x$_ v", $page) == $tuple } map { 88 + 2 * $_ } 0 .. ($lower - 88) / 2 - 1;
	query(qq{BEGIN; REINDEX INDEX lost_index; COMMIT; SELECT transplant('lost', $root + $slot, 2, '\\x0000', 0)});
	my @answers = map {
		$node->psql('postgres', "$_;\n\\echo :SQLSTATE", on_error_stop => 0, stdout => \my $state);
		$state
	} q{SELECT FROM lost WHERE k = '{5}'}, q{INSERT INTO lost VALUES ('{5}')}, q{SELECT FROM lost WHERE k = '{5000}'};
	is(join(',', map { s/\s+//gr } @answers), 'XX002,XX002,00000', 'a lost downlink is noticed');
}

# A session that has inserted ascending keys asks the rightmost leaf first, for
# any key.  If that has been damaged since, it is not to do so for ever.
is( $node->psql(
		'postgres', q{
CREATE EXTENSION pg_buffercache;
CREATE TABLE ends (a int) WITH (autovacuum_enabled = off);
CREATE INDEX ends_index ON ends USING fpbtree (a);
INSERT INTO ends SELECT generate_series(1, 30000);
CHECKPOINT;
INSERT INTO pristine SELECT 'ends', pg_read_binary_file(pg_relation_filepath('ends_index'));
SELECT max(block) AS rightmost FROM generate_series(1, (pg_relation_size('ends_index') / current_setting('block_size')::int)::int - 1) block,
	fpbtree_page('ends_index', block) WHERE level = 0 AND right_block IS NULL \\gset
SELECT bool_and(pg_buffercache_evict(bufferid)::text ~ '^.?t') AS evicted FROM pg_buffercache WHERE relfilenode = pg_relation_filenode('ends_index') \\gset
SELECT damage('ends', :rightmost * current_setting('block_size')::int + 24, 255) \\gset
INSERT INTO ends VALUES (1);
\\echo :evicted :SQLSTATE
INSERT INTO ends VALUES (1);
\\echo :SQLSTATE
INSERT INTO ends VALUES (30001);
\\echo :SQLSTATE
},
		stdout => \$stdout,
		stderr => \$stderr,
		on_error_stop => 0),
	0, 'a session goes on when the rightmost leaf has been damaged');
is($stdout, "t XX002\n00000\nXX002", 'and inserts elsewhere')
  or diag($stderr);

# A scan of the index alone makes tuples whole that it has copied.  If their leaf's prefix is
# damaged, the error names the leaf.
query(q{
CREATE TABLE copied (k text COLLATE "C") WITH (autovacuum_enabled = off);
CREATE INDEX copied_index ON copied USING fpbtree (k);
INSERT INTO copied SELECT 'key ' || i FROM generate_series(1, 50) i;
VACUUM copied;
CHECKPOINT;
INSERT INTO pristine SELECT 'copied', pg_read_binary_file(pg_relation_filepath('copied_index'))});
query("BEGIN; REINDEX INDEX copied_index; COMMIT; SELECT damage('copied', $blcksz + 72, 172)");
$node->psql('postgres', 'SET enable_sort = off; SELECT k FROM copied ORDER BY k', stderr => \$stderr);
like($stderr, qr/damaged page at block 1\b/, 'a copy of a leaf is as good for an error as the leaf');

# fpbtree_expected_size reads pages of btree indexes, which may be damaged, too: bytes
# anywhere, and what says where others are.
query(q{
CREATE FUNCTION expect(f text, advise bool) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	detail text;
BEGIN
	IF advise THEN
		PERFORM fpbtree_advise(0);
	ELSE
		PERFORM fpbtree_expected_size((f || '_index')::regclass);
	END IF;
	RETURN 'a size';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL;
	RETURN SQLSTATE || ' ' || translate(SQLERRM || ': ' || detail, E'\n|', '  ');
END $$});
foreach my $btree (
	[ 'btreetext', q{k text COLLATE "C"}, q{'the same ' || i % 300}, '(k)' ],
	[ 'btreeint', 'k int', 'i', '(k)' ],
	[ 'btreefew', 'k int', 'i % 7', '(k)' ],
	[ 'btreepair', 'k numeric, t text', q{i * 1.7, nullif('text ' || i, 'text 5')}, '(k, t)' ],
	[ 'btreeinclude', 'k int[], t inet', q{ARRAY[i, 7], '10.0.0.0'::inet + i}, '(k) INCLUDE (t)' ])
{
	my ($name, $columns, $row, $key) = @$btree;
	my ($results, $errors) = ('', '');

	next if defined $only && $only ne $name;
	query(qq{
CREATE TABLE $name ($columns);
INSERT INTO $name SELECT $row FROM generate_series(1, 900) i;
CREATE INDEX ${name}_index ON $name USING btree $key;
VACUUM (ANALYZE) $name;
CHECKPOINT;
INSERT INTO pristine SELECT '$name', pg_read_binary_file(pg_relation_filepath('${name}_index'))});
	# the first leaf
	my $page = pack 'H*', query("SELECT encode(substring(bytes FROM $blcksz + 1 FOR $blcksz), 'hex') FROM pristine WHERE form = '$name'");
	my ($lower, $upper) = unpack 'x12 v2', $page;
	my @offsets = map { $_ & 0x7fff } unpack "x24 V" . ($lower - 24) / 4, $page;
	# its header; line pointers; headers of tuples and of their first columns; and anything
	srand(30);
	my @places = ((0 .. 23), (map { 24 + int rand($lower - 24) } 1 .. 30), (map { $offsets[ rand @offsets ] + int rand 14 } 1 .. 40), (map { $upper + int rand($blcksz - $upper) } 1 .. 40));
	my @damage = map { [ $_, (1, 0x10, 0x80, 0xff, 1 + int rand 255)[ rand 5 ] ] } @places;
	my $status = $node->psql(
		'postgres',
		join('', map { my $pos = $blcksz + $_->[0]; "REINDEX INDEX ${name}_index;\nSELECT damage('$name', $pos, $_->[1]);\nSELECT 'byte $_->[0], bits $_->[1] | ' || expect('$name', " . ($_->[0] % 8 == 0 ? 'true' : 'false') . ");\n" } @damage),
		stdout => \$results,
		stderr => \$errors,
		on_error_stop => 0,
		timeout => 600);
	is($status, 0, "$name: the server goes on") or diag($errors);
	my @results = grep { / \| / } split /\n/, $results;
	is(scalar(@results), scalar(@damage), 'and answers');
	# a value may have become one that its type does not take, a TID one that no table has
	my @others = grep { !/ \| (a size$|XX00[12] |22|XX000 invalid memory alloc|0A000 .*tuple identifiers)/ } @results;
	is(join("\n", @others), '', 'what is damaged is told as that');
	ok(scalar(grep { / \| XX002 .*damaged page at block 1/ } @results) > 10, 'and where');
	query("DROP TABLE $name");
}

# A directory that names a node twice, which nobody sees who reads the leaf.  VACUUM meets the dead entries of that node
# twice, and must not take others for them.
SKIP:
{
	my $answer = "SELECT string_agg(id::text, ',' ORDER BY id) FROM (SELECT DISTINCT id FROM twice WHERE k >= 0) x";

	skip 'another index is asked for', 4 if defined $only && $only ne 'twice';
	query(q{
CREATE TABLE twice (k int, id int) WITH (autovacuum_enabled = off);
CREATE INDEX twice_index ON twice USING fpbtree (k);
INSERT INTO twice SELECT (i * 7919) % 10007, i FROM generate_series(1, 300) i;
DELETE FROM twice WHERE id % 2 = 0;
CHECKPOINT;
INSERT INTO pristine SELECT 'twice', pg_read_binary_file(pg_relation_filepath('twice_index'))});
	cmp_ok(query(q{SELECT count(*) FROM fpbtree_nodes('twice_index', 1) WHERE codec LIKE '%pairs'}), '>', 1, 'a leaf of loose nodes');
	my $page = pack 'H*', query("SELECT encode(substring(bytes FROM $blcksz + 1 FOR $blcksz), 'hex') FROM pristine WHERE form = 'twice'");

	# after the header come the bounds of the nodes, and then their numbers
	my ($nnodes, $capacity) = unpack 'x32 v2', $page;
	my $place = 88 + 8 * $capacity;
	my @numbers = unpack "x$place C$nnodes", $page;
	is(join(',', sort { $a <=> $b } @numbers), join(',', 0 .. $nnodes - 1), 'which have these numbers');
	query('REINDEX INDEX twice_index');
	query("SELECT damage('twice', $blcksz + $place + 1, " . ($numbers[0] ^ $numbers[1]) . ')');
	my $before = query($answer);
	is($node->psql('postgres', 'VACUUM (INDEX_CLEANUP ON) twice'), 0, 'VACUUM of a leaf that names one of them twice');
	is(query($answer), $before, 'takes no other entry');
}

$node->stop;
done_testing();
