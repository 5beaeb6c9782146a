#
# Reading ahead: with buffers far too few for the data, every read is from
# storage, and every answer has to be the same as without the index; nothing is
# read beyond the end of a range; nothing stays pinned while a cursor waits; and
# errors come when a page is needed, not before, and once.
#
# FPB_IO_METHODS names the I/O methods to try (18; all that the server has).
# They are what is used here although I/O is buffered, except where it is said
# otherwise; io_method = sync stands for advice to the kernel.
#
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/lib";
use IndexFiles;
use PostgreSQL::Test::Utils;
use Servers;
use Test::More;

# A backend's share of the buffers is what reading ahead may use, hence the few
# connections.
my $node = start_server(
	'prefetch', q{
shared_buffers = 4MB
temp_buffers = 800kB
max_connections = 12
max_worker_processes = 4
max_wal_senders = 0
wal_level = minimal
fpbtree.default_operation_queue = off
fpbtree.prefetch_method = aio
autovacuum_max_workers = 1
fsync = off
max_parallel_workers_per_gather = 0
effective_io_concurrency = 16
maintenance_io_concurrency = 16
enable_sort = off
enable_incremental_sort = off
random_page_cost = 1
log_min_messages = warning
log_statement = none
}, extra => ['--data-checksums']);
trust_changes($node);

my $version = query('SHOW server_version_num');
my @methods = ('');
if ($version >= 180000)
{
	@methods = split /,/, $ENV{FPB_IO_METHODS}
	  || query(q{SELECT array_to_string(enumvals, ',') FROM pg_settings WHERE name = 'io_method'});
}

query(q{
CREATE EXTENSION fpbtree;
CREATE TABLE r (id int, a bigint, t text COLLATE "C", d int, pad text) WITH (autovacuum_enabled = off);
CREATE INDEX r_a ON r USING fpbtree (a);
CREATE INDEX r_t ON r USING fpbtree (t DESC);
CREATE INDEX r_da ON r USING fpbtree (d, a);
INSERT INTO r SELECT i, hashint8extended(i, 0) % 1000000, md5(i::text) || repeat('t', 60), i % 100, repeat('p', 150)
	FROM generate_series(1, 30000) i;
-- no two equal: the order of their rows would be the index's own matter
DELETE FROM r USING (SELECT a, min(id) AS id FROM r GROUP BY a HAVING count(*) > 1) x WHERE r.a = x.a AND r.id <> x.id;
-- some of the table is all-visible
VACUUM (FREEZE, ANALYZE) r;
UPDATE r SET pad = 'new' WHERE id % 97 = 1;
-- all of this one is, and stays so
CREATE TABLE u (a bigint) WITH (autovacuum_enabled = off);
CREATE INDEX u_a ON u USING fpbtree (a);
INSERT INTO u SELECT hashint8extended(i, 1) % 1000000 FROM generate_series(1, 60000) i;
VACUUM (FREEZE, ANALYZE) u;
-- the rows of this one lie in the order of its index
CREATE TABLE o AS SELECT i AS a, repeat('p', 150) AS pad FROM generate_series(1, 3000) i;
CREATE INDEX o_a ON o USING fpbtree (a);
VACUUM (FREEZE, ANALYZE) o;
-- the same as r, to compare with
CREATE TABLE s AS TABLE r;
CREATE TABLE keys AS SELECT array_agg(a ORDER BY random()) AS a, array_agg(t) AS t FROM (SELECT a, t FROM r WHERE id % 61 = 0
	UNION ALL SELECT 2 * i, i::text FROM generate_series(1, 500) i) k;
CREATE FUNCTION answer(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	said text;
BEGIN
	EXECUTE format('SELECT concat(count(*), '' '', md5(string_agg(x::text, '',''))) FROM (%s OFFSET 0) x', query) INTO said;
	RETURN said;
END $$;
-- a scan in pieces, to and fro
CREATE FUNCTION to_and_fro(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	c refcursor; r record; all_rows text := '';
BEGIN
	OPEN c SCROLL FOR EXECUTE query;
	FOR step IN 1 .. 40 LOOP
		FOR i IN 1 .. step * 37 % 500 LOOP
			IF step % 3 = 2 THEN FETCH BACKWARD FROM c INTO r; ELSE FETCH c INTO r; END IF;
			all_rows := md5(all_rows || coalesce(r::text, '-'));
		END LOOP;
	END LOOP;
	CLOSE c;
	RETURN all_rows;
END $$;
-- the next rows of a cursor, added to what came before
CREATE FUNCTION take(c refcursor, n int, before text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	r record; all_rows text := before;
BEGIN
	FOR i IN 1 .. n LOOP
		FETCH c INTO r;
		EXIT WHEN NOT FOUND;
		all_rows := md5(all_rows || r::text);
	END LOOP;
	RETURN all_rows;
END $$;
});

# Queries: what is written TABLE is the table.
my @queries = (
	[ 'forward', 'SELECT a, id FROM TABLE WHERE a > -300000 ORDER BY a' ],
	[ 'backward', 'SELECT a, id FROM TABLE WHERE a < 300000 ORDER BY a DESC' ],
	[ 'limit', 'SELECT a, id FROM TABLE WHERE a > 0 ORDER BY a LIMIT 700' ],
	[ 'keys only', 'SELECT a FROM TABLE WHERE a BETWEEN -400000 AND 600000 ORDER BY a' ],
	[ 'keys only, backward', 'SELECT a FROM TABLE WHERE a BETWEEN -400000 AND 600000 ORDER BY a DESC' ],
	[ 'text', 'SELECT t, id FROM TABLE WHERE t > \'3\' ORDER BY t DESC' ],
	[ 'text, backward', 'SELECT t FROM TABLE WHERE t < \'9\' ORDER BY t' ],
	[ 'many keys', 'SELECT a, id FROM TABLE WHERE a = ANY((SELECT a FROM keys)::bigint[]) ORDER BY a' ],
	[ 'many keys, backward', 'SELECT a, id FROM TABLE WHERE a = ANY((SELECT a FROM keys)::bigint[]) ORDER BY a DESC' ],
	[ 'many texts', 'SELECT t, id FROM TABLE WHERE t = ANY((SELECT t FROM keys)::text[]) ORDER BY t DESC' ],
	[ 'ranges', 'SELECT d, a, id FROM TABLE WHERE d = ANY(ARRAY[3, 99, 14, 15, 92, 65, 35, 1000]) AND a > 100000 ORDER BY d, a' ],
	[ 'ranges, backward', 'SELECT d, a, id FROM TABLE WHERE d = ANY(ARRAY[3, 99, 14, 15, 92, 65, 35, -1]) AND a > 100000 ORDER BY d DESC, a DESC' ],
	[ 'ranges up to a value', 'SELECT d, a, id FROM TABLE WHERE d = ANY(ARRAY[3, 99, 14, 15, 92, 65, 35, 1000]) AND a < -100000 ORDER BY d, a' ],
	[ 'ranges that touch, backward', 'SELECT d, a, id FROM TABLE WHERE d = ANY(ARRAY[3, 4, 5, 15, 92, 93, 94]) ORDER BY d DESC, a DESC' ],
	[ 'one range, several and one', 'SELECT v.n, x.* FROM (VALUES (1, ARRAY[3]), (2, ARRAY[14, 15, 92]), (3, ARRAY[65]), (4, ARRAY[7, 9])) v(n, ds), LATERAL (SELECT d, a, id FROM TABLE x WHERE d = ANY(v.ds) ORDER BY d, a OFFSET 0) x' ],
	[ 'a filter', 'SELECT d, a, id FROM TABLE WHERE d > 50 AND a % 10 = 0 AND a > 0 ORDER BY d, a' ]);

my $by_table = "$BY_TABLE SET enable_sort = on; SET work_mem = '64MB';";
my %expected;

# A query of one of the two tables, as a literal.
sub literal
{
	my ($query, $table) = @_;
	return "'" . ($query =~ s/TABLE/$table/gr =~ s/'/''/gr) . "'";
}

# A query as it is for a sequential scan, which would look through an array for each row.
sub without_arrays
{
	my ($query) = @_;
	return $query =~ s/= ANY\(\(SELECT (\w) FROM keys\)::\w+\[\]\)/IN (SELECT unnest($1) FROM keys)/r;
}

# What the queries have to answer, now.
sub expect
{
	foreach my $q (@queries)
	{
		$expected{ $q->[0] } = query("$by_table SELECT answer(" . literal(without_arrays($q->[1]), 's') . ')');
	}
	$expected{'to and fro'} = query("$by_table SELECT to_and_fro('SELECT id, a FROM s ORDER BY a')");
	$expected{bitmap} = query("$by_table SELECT count(*), sum(id) FROM s WHERE a > 0 AND t > '5'");
	$expected{parallel} = query("$by_table SELECT count(*), sum(id), sum(a) FROM s WHERE a > -900000");
	return;
}
expect();

# All queries with some settings, asked by one session: the names of those that give a wrong answer.
sub wrong_answers
{
	my ($settings) = @_;
	my @wrong;
	my $script = "$BY_INDEX $settings\n";
	foreach my $q (@queries)
	{
		$script .= "\\echo query $q->[0]\nEXPLAIN " . ($q->[1] =~ s/TABLE/r/gr) . ";\n\\echo answer\nSELECT answer(" . literal($q->[1], 'r') . ");\n";
	}
	$script .= "\\echo query to and fro\nSELECT to_and_fro('SELECT id, a FROM r ORDER BY a');\n";
	$script .= "RESET ALL; SET enable_seqscan = off; SET enable_indexscan = off; $settings\n\\echo query bitmap\n"
	  . "SELECT count(*), sum(id) FROM r WHERE a > 0 AND t > '5';\n";
	$script .= "RESET ALL; $BY_INDEX $settings SET max_parallel_workers_per_gather = 2; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0;"
	  . "SET min_parallel_index_scan_size = 0; SET min_parallel_table_scan_size = 0;\n\\echo query parallel\n"
	  . "SELECT count(*), sum(id), sum(a) FROM r WHERE a > -900000;\n";
	my %said = map { split /\n/, $_, 2 } grep { $_ ne '' } split /^query /m, query($script);
	foreach my $q (@queries)
	{
		my ($plan, $got) = split /^answer\n/m, delete $said{ $q->[0] };
		push @wrong, "$q->[0]: $plan" unless $plan =~ /using r_/ && $plan !~ /Sort/;
		$said{ $q->[0] } = $got;
	}
	foreach my $name (sort keys %expected)
	{
		my $got = ($said{$name} // 'none') =~ s/\n\z//r;
		push @wrong, "$name: $got" if $got ne $expected{$name};
	}
	return join("\n", @wrong);
}

sub distances
{
	my ($index, $heap, $pio) = @_;
	return "SET fpbtree.prefetch_distance = $index; SET fpbtree.heap_prefetch_distance = $heap; SET fpbtree.pio_max = $pio;";
}

# The plan's counts of blocks.
sub blocks
{
	my ($settings, $query) = @_;
	my $json = query("$BY_INDEX $settings EXPLAIN (ANALYZE, BUFFERS, COSTS OFF, TIMING OFF, FORMAT JSON) $query");
	my ($hit) = $json =~ /"Shared Hit Blocks": (\d+)/;
	my ($read) = $json =~ /"Shared Read Blocks": (\d+)/;
	return ($hit, $read);
}

my $round = 10;
foreach my $method (@methods)
{
	my $named = $method eq '' ? '' : "$method: ";
	$round++;
	$node->append_conf('postgresql.conf', "io_method = $method") if $method ne '';
	$node->restart;

	foreach my $d ([ 0, 0, 0 ], [ 2, 2, 2 ], [ 3, 7, 5 ], [ 7, 3, 16 ], [ 1024, 1024, 1024 ], [ -1, -1, -1 ])
	{
		is(wrong_answers(distances(@$d)), '', "${named}distances @$d: all answers are right");
	}
	is(wrong_answers('SET effective_io_concurrency = 0;'), '', "${named}effective_io_concurrency 0: all answers are right");

	my $stats = query(q{SELECT bool_and(index_prefetched = index_used + index_wasted), bool_and(heap_prefetched = heap_used + heap_wasted),
			sum(index_prefetched) > 0, sum(heap_prefetched) > 0, sum(index_wasted) * 2 < sum(index_used)
		  FROM unnest(ARRAY['r_a', 'r_t', 'r_da']::regclass[]) i, fpbtree_prefetch_stats(i)});
	is($stats, 't|t|t|t|t', "${named}what has been read ahead is counted");

	# Cold, a range reads as many pages as it has, whatever is read ahead of it.
	my $range = 'SELECT a FROM u WHERE a BETWEEN 100000 AND 400000';
	my @reads;
	foreach my $distance (0, 2, 64, -1)
	{
		$node->restart;
		my (undef, $read) = blocks(distances($distance, 0, 0), $range);
		push @reads, $read;
	}
	is("@reads", join(' ', ($reads[0]) x 4), "${named}no page of a range is left out, none behind its end read");
	@reads = ();
	foreach my $pio (0, 2, 64, -1)
	{
		$node->restart;
		my (undef, $read) = blocks(distances(0, 0, $pio),
			'SELECT a FROM u WHERE a = ANY(ARRAY[1, 200000, 300000, 400000, -700000, 999990, 55, -44])');
		push @reads, $read;
	}
	is("@reads", join(' ', ($reads[0]) x 4), "${named}nor of many keys");

	# The rows of many keys lie in as many leaves: those of the next leaves are
	# read ahead too.  A leaf is looked into once it has arrived, so on a busy
	# machine they may all come too late.
	my ($spread, $used) = (1, 0);
	for (my $try = 1; $try <= 5 && $used <= $spread * 0.7; $try++)
	{
		$node->restart;
		$spread = query("$BY_INDEX SELECT count(pad) FROM r WHERE a = ANY(ARRAY(SELECT a FROM s WHERE id % 300 = 1))");
		$used = query("SELECT heap_used FROM fpbtree_prefetch_stats('r_a')");
	}
	cmp_ok($used, '>', $spread * 0.7, "${named}the rows of many keys are read ahead, over many leaves");

	# Short scans do what they did before.
	my @short = map {
		$node->restart;
		join '+', blocks(distances($_, $_, $_), 'SELECT a FROM u WHERE a BETWEEN 100000 AND 104000 ORDER BY a');
	} (0, -1);
	is($short[0], $short[1], "${named}a short scan touches no more buffers");

	# A scan that ends early has read as many pages too many as it has needed.
	$node->restart;
	my (undef, $early) = blocks(distances(-1, 0, 0), 'SELECT a FROM u WHERE a > 0 ORDER BY a LIMIT 2500');
	$node->restart;
	my (undef, $needed) = blocks(distances(0, 0, 0), 'SELECT a FROM u WHERE a > 0 ORDER BY a LIMIT 2500');
	cmp_ok($early, '<=', 2 * $needed, "${named}a scan with a limit reads few pages in vain");

	# So has one that needs a few rows, of pages of the table here and there. One
	# that needs no more than a page has reads no other.
	foreach my $few ([ 'five rows', 5, 'SELECT a, id FROM r WHERE a > 1000 ORDER BY a LIMIT 5' ],
		[ 'the rows of one page', 0, 'SELECT a, pad FROM o WHERE a > 0 ORDER BY a LIMIT 20' ])
	{
		my ($of, $more, $sql) = @$few;
		my ($plain, $ahead) = map { $node->restart; (blocks(distances(0, $_, 0), $sql))[1] } (0, -1);
		cmp_ok($ahead, '<=', $plain + $more, "${named}a scan that needs $of ($plain pages, $ahead ahead)");
	}

	# A cursor that waits keeps nobody from vacuuming.
	my $cursor = session($node, $BY_INDEX, 'BEGIN', 'DECLARE c CURSOR FOR SELECT a, id FROM r ORDER BY a', 'FETCH 1 FROM c');
	query("SET statement_timeout = '60s'; VACUUM (INDEX_CLEANUP ON, TRUNCATE OFF) r");
	$cursor->query_safe('MOVE 3000 FROM c');
	query('DELETE FROM r WHERE id % 97 = ' . $round . '; DELETE FROM s WHERE id % 97 = ' . $round);
	query("SET statement_timeout = '60s'; VACUUM (INDEX_CLEANUP ON, TRUNCATE OFF) r");
	pass("${named}VACUUM goes past a cursor");
	$cursor->query_safe('MOVE 3000 FROM c');
	commit($cursor);
	expect();

	# Pages are split, emptied, deleted and used again before and behind a cursor.
	# (An index-only scan's pin holds up VACUUM, as btree's does.)
	# It takes long, so each method has some of the queries.  VACUUM would wait for
	# the cursor's lock to shorten the table, in vain, for five seconds.
	my @of_rows = grep { $_->[1] =~ /\bid\b/ } @queries;
	foreach my $q (@of_rows[ grep { $_ % @methods == $round % @methods } 0 .. $#of_rows ])
	{
		my $key = 1000 * ($round * 20 + length $q->[0]);
		query("DELETE FROM r WHERE a BETWEEN $key AND $key + 100000; DELETE FROM r WHERE t LIKE '4%' OR d = 15;");
		my $scan = session($node);
		my $sql = $q->[1] =~ s/TABLE/r/gr;
		$scan->query_safe("BEGIN ISOLATION LEVEL REPEATABLE READ; $by_table DECLARE e CURSOR FOR " . without_arrays($sql) . "; \\set e ''\n"
			  . "SELECT take('e', 1000000, '') AS e \\gset\nRESET ALL; SET LOCAL fpbtree.prefetch_distance = " . $round % 7 . '; '
			  . "$BY_INDEX DECLARE c CURSOR FOR $sql;\nSELECT take('c', 1500, '') AS c \\gset");
		query("SET statement_timeout = '60s'; VACUUM (INDEX_CLEANUP ON, TRUNCATE OFF) r; INSERT INTO r SELECT i, $key + i, '4' || md5(i::text), 15, 'p' FROM generate_series(1, 4000) i");
		$scan->query_safe("SELECT take('c', 3000, :'c') AS c \\gset");
		query("DELETE FROM r WHERE pad = 'p'; VACUUM (INDEX_CLEANUP ON, TRUNCATE OFF) r; INSERT INTO r SELECT * FROM s WHERE NOT EXISTS (SELECT FROM r WHERE r.a = s.a)");
		is($scan->query_safe("SELECT take('c', 1000000, :'c') = :'e'"), 't', "${named}changes around a cursor: $q->[0]");
		commit($scan);
	}
	is(query("SELECT fpbtree_check(i, true) FROM unnest(ARRAY['r_a', 'r_t', 'r_da']::regclass[]) i"),
		"\n\n", "${named}the indexes are sound");
	query('TRUNCATE s; INSERT INTO s SELECT * FROM r; VACUUM ANALYZE s; VACUUM r');
	expect();

	# Cancelled scans leave nothing pinned: assertions and warnings would tell.
	for my $ms (1, 2, 3, 5, 8, 13)
	{
		$node->psql('postgres', "$BY_INDEX SET statement_timeout = ${ms}; SELECT sum(id) FROM (SELECT id FROM r ORDER BY a OFFSET 0) x");
		$node->psql('postgres', "$BY_INDEX DO \$\$ BEGIN FOR i IN 1 .. 30 LOOP BEGIN"
			  . " PERFORM set_config('statement_timeout', '0', false); PERFORM 1 / (id - id) FROM (SELECT id FROM r WHERE a > i * 10000 ORDER BY a OFFSET 400 + $ms) x;"
			  . " EXCEPTION WHEN division_by_zero THEN NULL; END; END LOOP; END \$\$");
	}

	# Temporary tables have buffers of their own.
	is( query(qq{CREATE TEMP TABLE l AS SELECT id, a FROM s; CREATE INDEX ON l USING fpbtree (a); ANALYZE l; $BY_INDEX
			SELECT sum(a % 1000 * n) FROM (SELECT a, row_number() OVER () AS n FROM (SELECT a, id FROM l ORDER BY a OFFSET 0) x) y}),
		query("$by_table SELECT sum(a % 1000 * n) FROM (SELECT a, row_number() OVER () AS n FROM (SELECT a, id FROM s ORDER BY a OFFSET 0) x) y"),
		"${named}a temporary table");
}

# More scans than the buffers can bear: each may use a share too small to read
# ahead at all.
set_and_restart("shared_buffers = 1MB\nmax_connections = 40");
append_to_file($node->basedir . '/scan.sql',
	"\\set start random(-1000000, 900000)\nSET enable_seqscan = off;\nSET enable_bitmapscan = off;\n"
	  . "SELECT sum(id) FROM (SELECT id FROM r WHERE a > :start ORDER BY a LIMIT 2000) x;\n");
$node->command_ok(
	[ 'pgbench', '-n', '-c', 20, '-t', 8, '-f', $node->basedir . '/scan.sql', 'postgres' ],
	'20 scans with 128 buffers');
set_and_restart("shared_buffers = 4MB\nmax_connections = 24");
$node->command_ok(
	[ 'pgbench', '-n', '-c', 20, '-t', 8, '-f', $node->basedir . '/scan.sql', 'postgres' ],
	'20 scans with 512 buffers');

# A plan that asks for all rows of a scan has it read ahead from the second leaf on.
# Others might stop it, so theirs is from the third leaf on.
$node->append_conf('postgresql.conf', "shared_buffers = 4MB\nmax_connections = 12");
query(q{CREATE TABLE once (k bigint PRIMARY KEY, n int); INSERT INTO once SELECT i, 1 FROM generate_series(100000, 101000) i; VACUUM ANALYZE once;
CREATE TABLE looked_up (k bigint, n int); INSERT INTO looked_up TABLE once; CREATE INDEX ON looked_up USING fpbtree (k); VACUUM ANALYZE looked_up;
CREATE FUNCTION in_a_loop() RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE r record; n bigint := 0; BEGIN FOR r IN SELECT a FROM u WHERE a BETWEEN 100000 AND 240000 LOOP n := n + 1; END LOOP; RETURN n; END $$});
my $some_of_u = 'u WHERE a BETWEEN 100000 AND 240000';
my %ahead;
foreach my $plan (
	[ 'all', 'an aggregate', "SELECT count(*) FROM $some_of_u" ],
	[ 'all', 'an aggregate in a function', "DO \$\$ BEGIN EXECUTE 'SELECT count(*) FROM $some_of_u'; END \$\$" ],
	[ 'all', 'a plain query', "SELECT a FROM $some_of_u" ],
	[ 'all', 'a sort below a limit', "SET enable_sort = on; SELECT a FROM $some_of_u ORDER BY a % 10 LIMIT 1" ],
	[ 'all', 'a sort below a merge join', "SET enable_sort = on; SET enable_hashjoin = off; SET enable_nestloop = off; SELECT count(*) FROM (SELECT a % 10 AS x FROM $some_of_u) y JOIN generate_series(1, 20) g ON g = x" ],
	[ 'all', 'a hash table', "SET enable_mergejoin = off; SET enable_nestloop = off; SELECT count(*) FROM generate_series(1, 200000) g LEFT JOIN (SELECT a FROM $some_of_u) x ON g = a LIMIT 1" ],
	[ 'all', 'the outer side of a nested loop', "SET enable_mergejoin = off; SET enable_hashjoin = off; SELECT count(*) FROM (SELECT a FROM $some_of_u) x LEFT JOIN generate_series(1, 2) g ON g + 100000 > a" ],
	[ 'all', 'the outer side of a join to a unique index', "SET enable_mergejoin = off; SET enable_hashjoin = off; SELECT count(*) FROM (SELECT a FROM $some_of_u) x LEFT JOIN once o ON o.k = x.a AND o.n > 0" ],
	[ 'all', 'the outer side of a batched nested loop', "SET enable_mergejoin = off; SET enable_hashjoin = off; SET enable_nestloop = off; SELECT count(*) FROM (SELECT a FROM $some_of_u) x LEFT JOIN looked_up o ON o.k = x.a AND o.n > 0" ],
	[ 'all', 'FETCH ALL', "BEGIN; DECLARE c CURSOR FOR SELECT a FROM $some_of_u; FETCH ALL FROM c; COMMIT" ],
	[ 'all', 'INSERT', "INSERT INTO taken SELECT a FROM $some_of_u" ],
	[ 'some', 'a limit', "SELECT a FROM $some_of_u LIMIT 1000000" ],
	[ 'some', 'a limit without a sort below an aggregate', "SELECT count(*) FROM (SELECT a FROM $some_of_u LIMIT 1000000) x" ],
	[ 'some', 'a merge join', "SET enable_hashjoin = off; SET enable_nestloop = off; SET fpbtree.enable_batch_join = off; SET enable_sort = on; SELECT count(*) FROM (SELECT a FROM $some_of_u) x JOIN generate_series(1, 200000) g ON g = a" ],
	[ 'some', 'a semi-join', "SET enable_hashjoin = off; SET enable_mergejoin = off; SELECT count(*) FROM generate_series(0, 0) g WHERE EXISTS (SELECT 1 FROM $some_of_u AND a + g > 239900)" ],
	[ 'some', 'FETCH of a number', "BEGIN; DECLARE c CURSOR FOR SELECT a FROM $some_of_u; FETCH 1000000 FROM c; COMMIT" ],
	[ 'some', 'a loop of PL/pgSQL', 'SELECT in_a_loop()' ],
	[ 'some', 'the answer of a subplan', "SELECT (SELECT count(*) FROM $some_of_u)" ])
{
	my ($asked, $name, $sql) = @$plan;
	query('DROP TABLE IF EXISTS taken; CREATE TABLE taken (a bigint)');
	$node->restart;
	my $before = query(q{SELECT index_prefetched FROM fpbtree_prefetch_stats('u_a')});
	query("$BY_INDEX SET enable_material = off; $sql");
	push @{ $ahead{$asked} }, query(q{SELECT index_prefetched FROM fpbtree_prefetch_stats('u_a')}) - $before . " $name";
}
my ($from_second) = $ahead{all}[0] =~ /^(\d+)/;
cmp_ok($from_second, '>', 3, 'a range of several leaves');
is(join("\n", @{ $ahead{all} }), join("\n", map { $from_second . s/^\d+//r } @{ $ahead{all} }), 'all leaves but one are read ahead if all rows are asked for');
is(join("\n", @{ $ahead{some} }), join("\n", map { $from_second - 1 . s/^\d+//r } @{ $ahead{some} }), 'all but two if not');

# By itself it advises the kernel, which leaves the buffers as they are, where I/O is buffered, and only there.
foreach my $direct ('', $version >= 180000 ? 'data' : ())
{
	my $name = $direct ? 'direct' : 'buffered';
	my $async = $version >= 180000;
	$node->append_conf('postgresql.conf', "debug_io_direct = '$direct'" . ($async ? "\nio_method = worker" : ''));
	my @read = map {
		$node->restart;
		(blocks($_, 'SELECT a FROM u WHERE a > 0 ORDER BY a LIMIT 2500'))[1]
	} (distances(0, 0, 0), 'SET fpbtree.prefetch_method = auto;', 'SET fpbtree.prefetch_method = aio;');
	cmp_ok($read[1], $direct ? '>' : '==', $read[0], "$name: auto leaves buffers alone unless it must");
	cmp_ok($read[2], $async ? '>' : '==', $read[0], "$name: aio reads ahead into buffers where it can");
}
$node->append_conf('postgresql.conf', "debug_io_direct = ''") if $version >= 180000;

# More leaves, with a row of interest each, than can be peeked at.
set_and_restart("shared_buffers = 128MB\nmax_connections = 12");
query(q{
CREATE TABLE thin AS SELECT * FROM (SELECT DISTINCT ON (1) hashint8extended(i, 0) % 1000000 AS a, i AS id, repeat('p', 150) AS pad FROM generate_series(1, 60000) i) x ORDER BY id;
CREATE TABLE wanted AS SELECT a FROM thin WHERE id % 100 = 1;
CREATE INDEX thin_a ON thin USING fpbtree (a) WITH (fillfactor = 10);
VACUUM ANALYZE thin});
foreach my $method (@methods)
{
	my $named = $method eq '' ? '' : "$method: ";
	my $thin = q{SELECT answer('SELECT a, id FROM thin WHERE a = ANY(ARRAY(SELECT a FROM wanted)) ORDER BY a')};
	$node->append_conf('postgresql.conf', "io_method = $method") if $method ne '';
	$node->restart;
	my $answer = query("$BY_INDEX " . distances(1024, 1024, 1024) . $thin);
	is($answer, query("$by_table $thin"), "${named}many leaves of few rows");
	cmp_ok(query("SELECT heap_used FROM fpbtree_prefetch_stats('thin_a')"),
		'>', $answer =~ s/ .*//r * 0.7, "${named}these are read ahead");
}

# An index that has grown at random since it was built: half of its leaves are
# where they were, but hardly any beside the one that comes next in the order of
# keys.  Those that are neighbours in the file are read together all the same.
query(q{
CREATE TABLE grown AS SELECT 10000 * i AS a FROM generate_series(1, 60000) i;
CREATE INDEX grown_a ON grown USING fpbtree (a) WITH (fillfactor = 100, layout = disk_first);
SET fpbtree.insert_batch_size = 0;
INSERT INTO grown SELECT 10000 * i + 1 FROM generate_series(1, 60000, 4) i ORDER BY hashint4(i);
VACUUM (FREEZE, ANALYZE) grown});
cmp_ok(query("SELECT leaf_fragmentation FROM fpbtree_stats('grown_a')"), '>', 80, 'a grown index: leaves lie about');
foreach my $method (grep { $_ ne '' && $_ ne 'sync' } @methods)
{
	my $count = q{SELECT count(*) FROM grown WHERE a BETWEEN 30000000 AND 590000000};
	my $note = q{
		SELECT pg_stat_force_next_flush();
		INSERT INTO counts SELECT sum(reads), sum(read_bytes) / current_setting('block_size')::int FROM pg_stat_get_backend_io(pg_backend_pid())
			WHERE object = 'relation';};

	$node->append_conf('postgresql.conf', "io_method = $method");
	$node->restart;
	my @lines = split /\n/, query(
		"$BY_INDEX CREATE TEMP TABLE counts (reads numeric, pages numeric); EXPLAIN $count; $note $count; $note
		 SELECT max(pages) - min(pages), round((max(pages) - min(pages)) / (max(reads) - min(reads)), 2) FROM counts");
	my ($pages, $together) = split /\|/, $lines[-1];
	note("$pages pages, $together a read");
	ok((grep { $_ eq '70001' } @lines), "$method: all of its rows are found");
	cmp_ok($pages, '>', 60, "$method: which takes many pages");
	cmp_ok($together, '>', 1.2, "$method: of which several are read together");
}

# A damaged leaf, the sixth of r_a, is complained of when the scan comes to it,
# though the pages of its rows have been wanted before.
set_and_restart("shared_buffers = 16MB\nmax_connections = 12");
query(q{
CREATE FUNCTION until_error(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	c refcursor; r record; n int := 0;
BEGIN
	OPEN c NO SCROLL FOR EXECUTE query;
	LOOP
		FETCH c INTO r;
		EXIT WHEN NOT FOUND;
		n := n + 1;
	END LOOP;
	RETURN n || ' and no error';
EXCEPTION WHEN data_corrupted OR index_corrupted THEN
	RETURN n || ' ' || SQLERRM;
END $$});
my $leaf = query(q{
WITH RECURSIVE p AS (
	SELECT 1 AS n, b, right_block FROM generate_series(1, pg_relation_size('r_a') / 8192 - 1) b, fpbtree_page('r_a', b)
	WHERE level = 0 AND kind = 'leaf' AND low_fence IS NULL
	UNION ALL SELECT n + 1, right_block, (fpbtree_page('r_a', right_block)).right_block FROM p WHERE n < 6)
SELECT b FROM p WHERE n = 6});
my $some = 'SELECT a, id FROM r WHERE a < ' . query("$BY_INDEX SELECT a FROM r ORDER BY a OFFSET 6000 LIMIT 1");
my $file = file_of('r_a');
$node->stop;
my $sound = overwrite($file, $leaf * 8192 + 4000, "\xff" x 40);
foreach my $method (@methods)
{
	my $named = $method eq '' ? '' : "$method: ";
	$node->append_conf('postgresql.conf', "io_method = $method") if $method ne '';
	$node->start;
	foreach my $order ('a', 'a DESC')
	{
		my @until;
		foreach my $distance (0, 5, -1)
		{
			push @until, query("SET client_min_messages = error; $BY_INDEX "
				  . distances($distance, $distance, $distance) . " SELECT until_error('$some ORDER BY $order')");
			$node->restart;
		}
		like($until[0], qr/^[1-9]\d* invalid page in block $leaf of relation/, "${named}the error names a damaged leaf, by $order");
		is("@until[1, 2]", "$until[0] $until[0]", "${named}it comes no sooner if the leaf was read ahead, by $order");
	}
	$node->stop;
}
overwrite($file, $leaf * 8192 + 4000, $sound);

# So is a damaged page of the table.
$node->start;
my ($tid) = query("$BY_INDEX SELECT ctid FROM r WHERE a > 0 ORDER BY a OFFSET 900 LIMIT 1") =~ /\((\d+),/;
my $before = query("$BY_INDEX SELECT count(*) FROM (SELECT ctid, row_number() OVER () AS n FROM (SELECT ctid FROM r WHERE a > 0 ORDER BY a OFFSET 0) x) y"
	  . " WHERE n < (SELECT min(n) FROM (SELECT ctid, row_number() OVER () AS n FROM (SELECT ctid FROM r WHERE a > 0 ORDER BY a OFFSET 0) x) y"
	  . " WHERE ctid::text LIKE '($tid,%')");
$file = file_of('r');
$node->stop;
$sound = overwrite($file, $tid * 8192 + 100, "\xff" x 40);
foreach my $method (@methods)
{
	my $named = $method eq '' ? '' : "$method: ";
	$node->append_conf('postgresql.conf', "io_method = $method") if $method ne '';
	$node->start;
	my ($status, $out, $err) = $node->psql('postgres',
		"$BY_INDEX SELECT id FROM r WHERE a > 0 ORDER BY a LIMIT $before");
	is(scalar(split /\n/, $out), $before, "${named}rows before a damaged page come without an error");
	is($err, '', "${named}with no message either");
	$err = messages("$BY_INDEX SELECT id FROM r WHERE a > 0 ORDER BY a");
	like($err, qr/ERROR:  invalid page in block $tid of relation/, "${named}then the error names block and relation");
	is(scalar(() = $err =~ /ERROR/g), 1, "${named}once");
	$node->stop;
}

# Where the kernel is advised to read leaves, they are peeked at past the buffers, where a half-written one can't be
# told without checksums: then no comparator may see its tuples.  (Most leaves are not in the few buffers.)
overwrite($file, $tid * 8192 + 100, $sound);
$node->append_conf('postgresql.conf', 'shared_buffers = 6MB');
$node->append_conf('postgresql.conf', 'io_method = sync') if $version >= 180000;

# What can't be read past the buffers, or is no page of the index, is left to the scan that comes to it.  (The directory
# of a leaf, to be damaged below, is this layout's.)
$node->start;
query(q{
CREATE TABLE cut (a int, id int, pad text);
CREATE INDEX cut_a ON cut USING fpbtree (a) WITH (layout = disk_first);
INSERT INTO cut SELECT i, i, repeat('p', 150) FROM generate_series(1, 20000) i;
VACUUM ANALYZE cut});
my $last = query("SELECT pg_relation_size('cut_a') / 8192 - 1");
is(query("SELECT kind, right_block IS NULL FROM fpbtree_page('cut_a', $last)"), 'leaf|t', 'the last block is the last leaf');
my $cut = file_of('cut_a');
$node->stop;
my $whole = slurp_file($cut);

sub scan_to_last
{
	my ($damage) = @_;
	my @until;
	foreach my $distance (0, 5, -1)
	{
		$node->start;
		push @until, query("$BY_INDEX " . distances($distance, $distance, $distance) . " SELECT until_error('SELECT a, id FROM cut ORDER BY a')");
		$node->stop;
	}
	like($until[0], qr/^1\d{4} .*\b$last\b/, "a leaf that is $damage: the error names it");
	is("@until[1, 2]", "$until[0] $until[0]", 'it comes no sooner if the leaf was peeked at');
	overwrite($cut, 0, $whole);
	return;
}
overwrite($cut, $last * 8192, "\0" x 8192);
scan_to_last('full of zeros');
truncate($cut, $last * 8192) or die $!;
scan_to_last('missing');

# Nor is one peeked at there that leaves its high fence to its right sibling: those between whose entries the first
# column tells nothing.
$node->start;
query(q{
CREATE TABLE elided (g int, k text STORAGE PLAIN COLLATE "C", id int);
INSERT INTO elided SELECT g, repeat('x', 2660) || n, g * 10 + n
	FROM (SELECT i * 7919 % 400 AS g FROM generate_series(1, 400) i) x, generate_series(1, CASE g % 10 WHEN 0 THEN 6 ELSE 1 END) n;
CREATE INDEX elided_k ON elided USING fpbtree (g, k);
VACUUM ANALYZE elided});
cmp_ok(query("SELECT count(*) FROM generate_series(1, pg_relation_size('elided_k') / 8192 - 1) b, fpbtree_page('elided_k', b) WHERE level = 0 AND 'high_elided' = ANY (flags)"),
	'>', 100, 'leaves have left out their high fences');
$node->restart;
is( query("$BY_INDEX " . distances(-1, -1, -1) . " SELECT answer('SELECT id, g, k FROM elided ORDER BY g, k')"),
	query("$by_table SELECT answer('SELECT id, g, k FROM elided ORDER BY g, k')"),
	'leaves without high fences');
$node->stop;

my $many_texts = "$BY_INDEX " . distances(-1, -1, -1)
  . " SELECT answer('SELECT t, id FROM r WHERE t = ANY((SELECT t FROM keys)::text[]) ORDER BY t DESC')";
my %peeked;
foreach my $checksums (1, 0)
{
	command_ok([ 'pg_checksums', '--disable', '-D', $node->data_dir ], 'no checksums') if !$checksums;
	$node->start;
	is( query($many_texts),
		query("$by_table SELECT answer(" . literal(without_arrays('SELECT t, id FROM TABLE WHERE t = ANY((SELECT t FROM keys)::text[]) ORDER BY t DESC'), 's') . ')'),
		'many texts, ' . ($checksums ? 'with' : 'without') . ' checksums');
	$peeked{$checksums} = query("SELECT heap_prefetched FROM fpbtree_prefetch_stats('r_t')");
	$node->stop;
}
note("rows read ahead: with checksums $peeked{1}, without $peeked{0}");
cmp_ok($peeked{1}, '>', 100, 'with checksums, leaves are peeked at');
# (others than those of leaves that are peeked at are read ahead, too: with 17, many)
cmp_ok($peeked{0}, '<', $peeked{1} * 3 / 4, 'without, those of tuples are not');

# (no checksums) A leaf whose header is sound, but not its directory: no node has these numbers.
my $dircap = unpack('S', substr($whole, $last * 8192 + 34, 2));
overwrite($cut, $last * 8192 + 88 + 8 * $dircap, "\xff" x $dircap);
scan_to_last('damaged inside');

is(complaints($node, 0, qr/leak|AIO (?:handle|batch)/), '', 'nothing has leaked');
done_testing();
