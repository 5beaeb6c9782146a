#
# Partitioned tables: an index of the whole table is one fpbtree index for each
# partition, and what the planner makes of these gives the answers of a plain
# table with btree indexes, and those of sequential scans.
#
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/lib";
use Servers;
use Test::More;

my $node = start_server(
	'partitions', q{
enable_bitmapscan = off
enable_hashagg = off
enable_hashjoin = off
max_parallel_workers_per_gather = 0
jit = off
});
my $version = query('SHOW server_version_num') / 10000;

# 200 partitions of "many": half of them are there when its indexes are made, half
# come after. "plain" has the same rows.
query(q{
CREATE EXTENSION fpbtree;
CREATE TABLE many (k int, g int, t text COLLATE "C") PARTITION BY RANGE (k);
CREATE FUNCTION make_partitions(first int, last int) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN first .. last LOOP
		EXECUTE format('CREATE TABLE many%s PARTITION OF many FOR VALUES FROM (%s) TO (%s)', i, i * 100, (i + 1) * 100);
	END LOOP;
END $$;
SELECT make_partitions(0, 99);
CREATE INDEX many_k ON many USING fpbtree (k) WITH (fillfactor = 80);
CREATE INDEX many_tk ON many USING fpbtree (t, k);
SELECT make_partitions(100, 199);
CREATE TABLE plain (k int, g int, t text COLLATE "C");
CREATE INDEX ON plain USING btree (k);
CREATE INDEX ON plain USING btree (t, k);
INSERT INTO plain SELECT i, i % 7, 'text ' || i * 7919 % 20011 FROM generate_series(0, 19999) i;
INSERT INTO many TABLE plain;
VACUUM ANALYZE many, plain;
});

# The rows of pg_class of an index's parts.
my $parts = q{FROM pg_partition_tree('%s') p JOIN pg_class c ON c.oid = p.relid AND p.isleaf JOIN pg_am a ON a.oid = c.relam};

sub parts { my ($what, $index) = @_; return query("SELECT $what " . sprintf($parts, $index)); }

# Is each part sound and complete?
sub sound { return parts(q{count(fpbtree_check(c.oid, true)) || ' ' || count(*) FILTER (WHERE amname = 'fpbtree')}, shift); }

is(sound('many_k'), '200 200', 'a sound fpbtree index for each partition, early or late');
is(sound('many_tk'), '200 200', 'of text, too');
is(parts(q{string_agg(DISTINCT array_to_string(reloptions, ','), ' ')}, 'many_k'), 'fillfactor=80', 'all with the options named for the whole');
like(messages('ALTER INDEX many_k SET (fillfactor = 90)'), qr/ALTER action SET cannot be performed on relation "many_k"/, 'which are changed one partition at a time');
like(messages(q{SELECT fpbtree_check('many_k')}), qr/"many_k" is a partitioned index/, 'as they are checked');

# Runs a query of the table T: by the indexes of "many", with a plan like the given
# pattern (and no sorting but where the query has settings of its own); by the
# btrees of "plain"; and by sequential scans of "many".
sub same
{
	my ($name, $text, $pattern, $settings) = @_;
	my $index = "$BY_INDEX " . ($settings // '');
	my $rows = "SELECT count(*), md5(string_agg(x::text, ',')) FROM (SELECT x FROM ($text) x OFFSET 0) x";
	my %answer;

	(my $many = $rows) =~ s/\bT\b/many/g;
	(my $plain = $rows) =~ s/\bT\b/plain/g;
	my $plan = query("$index EXPLAIN (COSTS OFF) $many");
	like($plan, $pattern, "$name: the plan");
	unlike($plan, qr/Seq Scan/, "$name: by index");
	my $answer = query("$index $many");
	is($answer, query("$index $plain"), "$name: as btree answers");
	is($answer, query("$BY_TABLE $many"), "$name: as the table says");
	unlike($answer, qr/^0\|/, "$name: something");
	return;
}

my $scan = qr/Index (?:Only )?Scan (?:Backward )?using many\d+/;

sub compare
{
	my ($when) = @_;
	my $partwise = 'SET enable_partitionwise_join = on; SET enable_partitionwise_aggregate = on; SET enable_nestloop = off; SET fpbtree.enable_batch_join = off;';

	same("$when, one key", 'SELECT * FROM T WHERE k = 15050', qr/^ +->  Index Scan using many150_k_idx/m);
	same("$when, some keys", 'SELECT * FROM T WHERE k = ANY (ARRAY[7, 5077, 5078, 19999]) ORDER BY k', qr/Append\n +->  $scan/);
	same("$when, a range over partitions", 'SELECT * FROM T WHERE k BETWEEN 4950 AND 5349 ORDER BY k', qr/Append\n +->  $scan/);
	same("$when, backward", 'SELECT k FROM T WHERE k > 9000 ORDER BY k DESC LIMIT 333', qr/Append\n +->  Index Only Scan Backward/);
	same("$when, merged", 'SELECT * FROM T ORDER BY t, k LIMIT 777', qr/Merge Append\n +Sort Key: .*\n +->  $scan/);
	same("$when, merged backward", q{SELECT t FROM T WHERE t < 'text 5' ORDER BY t DESC, k DESC LIMIT 777}, qr/Merge Append\n.*\n +->  Index Only Scan Backward/);
	same("$when, greatest and least", 'SELECT min(t), max(t) FROM T', qr/Merge Append/);
	same("$when, an aggregate for each partition", 'SELECT k, count(*), max(g) FROM T WHERE k < 2000 GROUP BY k', qr/Append\n +->  GroupAggregate\n.*\n +->  $scan/, $partwise);
	same("$when, a join of each partition", 'SELECT a.*, b.t AS u FROM T a JOIN T b USING (k) WHERE a.k < 1500 ORDER BY k',
		qr/Append\n(?: +Sort Key.*\n)? +->  Merge Join\n +Merge Cond: \(a_1.k = b_1.k\)\n +->  $scan.*\n(?: +Index Cond.*\n)? +->  $scan/, $partwise);
	same("$when, an outer join of each partition", 'SELECT a.k, b.g FROM T a LEFT JOIN (SELECT * FROM T WHERE g = 3) b USING (k) WHERE a.k BETWEEN 750 AND 1250 ORDER BY k',
		qr/Append\n(?: +Sort Key.*\n)? +->  Merge (?:Left|Right) Join/, $partwise);
	return;
}
compare('made');

# Which partitions are scanned is found at run time: when a generic plan starts, and
# for each row of a nested loop.
my $generic = query(q{
SET plan_cache_mode = force_generic_plan;
SET enable_seqscan = off;
PREPARE q (int) AS SELECT t FROM many WHERE k = $1;
EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, BUFFERS OFF) EXECUTE q (12345);
EXECUTE q (12345);
});
like($generic, qr/Subplans Removed: 199\n +->  Index Scan using many123_k_idx/, 'partitions are pruned when a plan starts');
is((split /\n/, $generic)[-1], query('SELECT t FROM plain WHERE k = 12345'), 'and the right one is left');
my $loop = 'SELECT sum(v * g), md5(string_agg(t, \',\' ORDER BY v)) FROM (VALUES (17), (1717), (1718)) v (v) JOIN %s ON k = v';
my $nested = query('SET enable_seqscan = off; SET enable_mergejoin = off; EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, BUFFERS OFF) ' . sprintf($loop, 'many'));
is(scalar(() = $nested =~ /using many\d+_k_idx on many\d+ \w+ \(never executed\)/g), 198, 'and for each row');
is(query('SET enable_seqscan = off; SET enable_mergejoin = off;' . sprintf($loop, 'many')), query(sprintf($loop, 'plain')), 'with the right rows');

# A cursor goes to and fro over the edges of partitions.
is( query(q{
SET enable_seqscan = off; SET enable_sort = off;
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT k FROM many ORDER BY k;
MOVE 250 IN c;
FETCH 1 FROM c;
MOVE BACKWARD 160 IN c;
FETCH 1 FROM c;
MOVE ABSOLUTE 19900 IN c;
FETCH BACKWARD 1 FROM c;
COMMIT}), "250\n91\n19898", 'a scroll cursor over partitions');

# Rows change, go, and move to other partitions.
query("$_; " . s/\bmany\b/plain/r) foreach (
	'DELETE FROM many WHERE k % 5 = 2',
	'UPDATE many SET k = k + 1000 WHERE k BETWEEN 5000 AND 5500',
	q{UPDATE many SET t = 'changed ' || k WHERE k % 11 = 0});
query('VACUUM (INDEX_CLEANUP ON) many');
compare('changed');
is(sound('many_k') . ' ' . sound('many_tk'), '200 200 200 200', 'all indexes are sound');

# What is attached to an index: on ATTACH PARTITION, a like index that is there is
# taken, and a new one made otherwise.
query(q{
CREATE TABLE few (k int, t text) PARTITION BY RANGE (k);
CREATE TABLE few0 PARTITION OF few FOR VALUES FROM (0) TO (1000);
CREATE INDEX few_k ON few USING fpbtree (k);
});
foreach (
	[ 'fpbtree (k)', 1, 'a like one' ],
	[ 'btree (k)', 0, 'a btree' ],
	[ 'fpbtree (k, t)', 0, 'one of other columns' ],
	[ 'fpbtree (k) WHERE k > 1100', 0, 'a partial one' ])
{
	my ($definition, $taken, $name) = @$_;
	query(qq{
	CREATE TABLE few1 (t text, gone int, k int);
	ALTER TABLE few1 DROP COLUMN gone;
	INSERT INTO few1 SELECT i, i FROM generate_series(1000, 1999) i;
	CREATE INDEX few1_own ON few1 USING $definition});
	my $before = query(q{SELECT pg_relation_filenode('few1_own')});
	query('ALTER TABLE few ATTACH PARTITION few1 FOR VALUES FROM (1000) TO (2000)');
	is(parts(q{count(*) FILTER (WHERE c.relname = 'few1_own')}, 'few_k'), $taken, "ATTACH: $name is " . ($taken ? 'taken' : 'left as it is'));
	is(query(q{SELECT pg_relation_filenode('few1_own')}), $before, "ATTACH: $name is not built again");
	is(sound('few_k'), '2 2', "ATTACH: $name, and the partition has an fpbtree index");
	# what has been detached stays, and is taken again
	query('ALTER TABLE few DETACH PARTITION few1' . ($taken ? ' CONCURRENTLY' : ''));
	is(sound('few_k'), '1 1', 'DETACH: the index is no part any more');
	my $used = query('SET enable_seqscan = off; EXPLAIN (COSTS OFF) SELECT t FROM few1 WHERE k = 1500');
	like($used, qr/using few1_/, 'DETACH: but an index as before');
	is(query('SET enable_seqscan = off; SELECT t FROM few1 WHERE k = 1500'), '1500', 'DETACH: that finds its rows');
	my $indexes = query(q{SELECT count(*) FROM pg_index WHERE indrelid = 'few1'::regclass});
	query('ALTER TABLE few ATTACH PARTITION few1 FOR VALUES FROM (1000) TO (2000)');
	is(sound('few_k') . ' ' . query(q{SELECT count(*) FROM pg_index WHERE indrelid = 'few1'::regclass}), "2 2 $indexes", 'ATTACH: none is made that is there');
	query('DROP TABLE few1');
}

# An index of a large table without stopping those who write to it: of the whole
# alone first, then of each partition, until it is valid.
like(messages('CREATE INDEX CONCURRENTLY few_t ON few USING fpbtree (t)'), qr/cannot create index on partitioned table "few" concurrently/, 'the server does not do it in one go');
query(q{
CREATE TABLE few1 PARTITION OF few FOR VALUES FROM (1000) TO (2000);
INSERT INTO few SELECT i, i FROM generate_series(0, 1999) i;
CREATE INDEX few_t ON ONLY few USING fpbtree (t);
CREATE INDEX few1_btree ON few1 USING btree (t);
});
like(messages('ALTER INDEX few_t ATTACH PARTITION few1_btree'), qr/The index definitions do not match/, 'a btree is no part of it');
foreach my $part (0, 1)
{
	is(query(q{SELECT indisvalid FROM pg_index WHERE indexrelid = 'few_t'::regclass}), 'f', "few_t is not valid yet, with $part parts");
	query("CREATE INDEX CONCURRENTLY few${part}_t ON few$part USING fpbtree (t)");
	query("ALTER INDEX few_t ATTACH PARTITION few${part}_t");
}
is(query(q{SELECT indisvalid FROM pg_index WHERE indexrelid = 'few_t'::regclass}), 't', 'few_t is valid with all of them');
is(sound('few_t'), '2 2', 'and sound');
query('REINDEX INDEX CONCURRENTLY few_t');
is(sound('few_t'), '2 2', 'and after REINDEX');

# Unique indexes: 18.
my $unique = 'CREATE UNIQUE INDEX few_unique ON few USING fpbtree (k)';
if ($version < 18)
{
	like(messages($unique), qr/cannot match partition key to an index using access method "fpbtree"/, 'no unique index of a partitioned table in 17');
}
else
{
	query($unique);
	like(messages('INSERT INTO few VALUES (1500)'), qr/duplicate key value violates unique constraint "few1_k_idx\d*"/, 'a unique index of a partitioned table');
	is(query(q{INSERT INTO few VALUES (1500, 'new'), (17, 'new') ON CONFLICT (k) DO UPDATE SET t = 'again ' || few.t RETURNING t}), "again 1500\nagain 17", 'is an arbiter');
	query('CREATE TABLE refers (k int REFERENCES few (k)); INSERT INTO refers VALUES (1500)');
	like(messages('INSERT INTO refers VALUES (-1)'), qr/violates foreign key constraint/, 'and serves a foreign key');
	like(messages('DELETE FROM few WHERE k = 1500'), qr/violates foreign key constraint/, 'in both directions');
	like(messages('CREATE UNIQUE INDEX ON few USING fpbtree (t)'), qr/must include all partitioning columns/, 'it must have the partition key');
	query('CREATE TABLE few2 (k int, t text); INSERT INTO few2 VALUES (2000), (2000)');
	like(messages('ALTER TABLE few ATTACH PARTITION few2 FOR VALUES FROM (2000) TO (3000)'), qr/could not create unique index "few2_k_idx\d*"/, 'no partition with the same key twice is attached');
	query('DROP TABLE refers, few2; DROP INDEX few_unique');
}
# Exclusion constraints do the same in both.
query('ALTER TABLE few ADD CONSTRAINT few_excluded EXCLUDE USING fpbtree (k WITH =)');
like(messages('INSERT INTO few VALUES (1500)'), qr/conflicting key value violates exclusion constraint "few1_k_excl\d*"/, 'an exclusion constraint of a partitioned table');

stop_servers($node);
done_testing();
