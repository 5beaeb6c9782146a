#
# Lookups that need not look into the operation queue for what it has not: what
# is counted of its keys, in a server that has made the queue, and in one that
# has come to it.  All that is there is found, always.
#
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Utils;
use Servers;
use Test::More;
use Workload;

my $primary = start_server(
	'filter', q{
shared_buffers = 64MB
fpbtree.queue_worker = off
fpbtree.default_operation_queue = on
allow_in_place_tablespaces = on
enable_seqscan = off
enable_bitmapscan = off
enable_hashjoin = off
enable_mergejoin = off
enable_material = off
enable_memoize = off
max_parallel_workers_per_gather = 0
}, allows_streaming => 1);

# keys.k are all there are, by what they are there for; each is looked for in t
sub finds_all
{
	my ($what) = @_;
	is( query(q{SELECT string_agg(format('%s %s of %s', kind, found, n), ', ' ORDER BY kind) FROM (
			SELECT kind, count(*) n, count(*) FILTER (WHERE EXISTS (SELECT FROM t WHERE t.k = keys.k)) found
			FROM keys GROUP BY kind) s WHERE found <> n}),
		'', "$what: all keys are found");
	return;
}

# Are most of 200 lookups told that the queue has nothing for them?  Each takes a
# page of the main tree, and else one of the queue, too.  (Assertion builds look
# there half the times all the same.)
sub excluded
{
	my ($kind) = @_;
	my $keys = "SELECT k FROM keys WHERE kind = ''$kind'' LIMIT 200";
	return query("SELECT pages_of('SELECT count(*) FROM ($keys) p CROSS JOIN LATERAL (SELECT 1 FROM t WHERE t.k = p.k OFFSET 0) x')
		- pages_of('$keys') < 370") eq 't';
}

sub insert
{
	my ($kind, $n) = @_;
	query("WITH new AS (INSERT INTO keys SELECT '$kind', hashint8extended(i, (SELECT count(*) FROM keys)) FROM generate_series(1, $n) i RETURNING k)
		INSERT INTO t SELECT k FROM new");
	return;
}

query(q{
	CREATE EXTENSION fpbtree;
	CREATE TABLE keys (kind text, k int8);
	CREATE TABLE t (k int8);
	INSERT INTO keys SELECT 'main', hashint8extended(i, -1) FROM generate_series(1, 20000) i;
	INSERT INTO t SELECT k FROM keys;
	CREATE INDEX t_k ON t USING fpbtree (k) WITH (opq_size = 100000)});
query(qq{CREATE TABLESPACE elsewhere LOCATION ''});
create_pages_of($primary);

insert('queued', 2000);
query('VACUUM (INDEX_CLEANUP off, FREEZE) t');
is(query(q{SELECT queue_entries FROM fpbtree_stats('t_k')}), '2000', 'there are entries in the queue');
finds_all('a new queue');
ok(excluded('main'), 'lookups of what is not there don\'t look');

# removed by VACUUM, and there again
query(q{DELETE FROM t WHERE k IN (SELECT k FROM keys WHERE kind = 'queued')});
query('VACUUM t');
is(query(q{SELECT queue_entries FROM fpbtree_stats('t_k')}), '0', 'VACUUM has removed them');
ok(excluded('queued'), 'nobody looks for them there');
query(q{INSERT INTO t SELECT k FROM keys WHERE kind = 'queued'});
query('VACUUM (INDEX_CLEANUP off, FREEZE) t');
finds_all('entries that have come again');
ok(excluded('main') && !excluded('queued'), 'some lookups look, some don\'t');

# A key that so many entries have that the two words where they are noted are full.
# What does not fit there is counted, up to 255 of them; then the count stays.
query(q{
	CREATE TABLE same (n int, k int8);
	INSERT INTO same SELECT 0, hashint8extended(i, -1) FROM generate_series(1, 20000) i;
	CREATE INDEX same_k ON same USING fpbtree (k) WITH (opq_size = 100000)});
foreach my $n (200, 600)
{
	query("INSERT INTO same SELECT i, 7 FROM generate_series(1, $n) i");
	is(query('SELECT count(*) FROM same WHERE k = 7'), $n, "$n entries of a key are found");
	query("DELETE FROM same WHERE n BETWEEN 1 AND $n - 50; VACUUM (INDEX_CLEANUP ON) same");
	is(query('SELECT count(*) FROM same WHERE k = 7'), '50', 'and what VACUUM leaves of them');
	query('DELETE FROM same WHERE k = 7; VACUUM (INDEX_CLEANUP ON) same');
	my $looks = query(q{SELECT pages_of('SELECT count(*) FROM generate_series(1, 200) i CROSS JOIN LATERAL (SELECT 1 FROM same WHERE k = 7 + 0 * i OFFSET 0) x') > 370});
	is($looks, $n == 600 ? 't' : 'f', 'whether lookups look when all are gone');
}

# another file, which is given up, with a queue of its own
query(q{BEGIN; TRUNCATE t; INSERT INTO t SELECT k FROM keys LIMIT 100; ROLLBACK});
finds_all('after another queue');
query(q{SELECT fpbtree_flush('t_k')});
insert('moved', 500);
ok(excluded('main'), 'the next queue is counted again');
query(q{SELECT fpbtree_flush('t_k')});
insert('next', 500);
query('VACUUM (INDEX_CLEANUP off, FREEZE) t');
ok(excluded('moved'), 'what has moved is not counted any more');
query(q{ALTER INDEX t_k SET TABLESPACE elsewhere});
finds_all('in another file');

# the other way round: moved and counted off in a copy of the file that is given up
query(q{SELECT fpbtree_flush('t_k')});
insert('copied', 500);
query(q{BEGIN; ALTER INDEX t_k SET TABLESPACE pg_default; SELECT fpbtree_flush('t_k'); ROLLBACK});
finds_all('after moves in another file');
insert('copied later', 500);
finds_all('with new entries');

# another index with this one's file, and back
query(q{
	CREATE TABLE s (k timestamp(3));
	INSERT INTO s SELECT timestamp '2020-01-01' + i * interval '1 minute' FROM generate_series(1, 10000) i;
	CREATE INDEX s_k ON s USING fpbtree (k) WITH (opq_size = 100000);
	INSERT INTO s SELECT timestamp '2020-01-01' + i * interval '1 hour' FROM generate_series(1, 500) i});
{
	my $session = session($primary, 'BEGIN', 'ALTER TABLE s ALTER k TYPE timestamp(6)',
		q{INSERT INTO s SELECT timestamp '2020-01-01' + i * interval '1 hour' FROM generate_series(1, 500) i}, 'ROLLBACK', 'VACUUM s');
	$session->quit;
}
is(query(q{SELECT count(*) FROM generate_series(1, 500) i WHERE (SELECT count(*) FROM s WHERE k = timestamp '2020-01-01' + i * interval '1 hour') = 1 + (i <= 166)::int}), '500', 'another index has had its file: all keys are found');

# databases of one OID
query('CREATE DATABASE original');
query(q{
	CREATE EXTENSION fpbtree;
	CREATE TABLE t AS SELECT hashint8extended(i, -1) k FROM generate_series(1, 20000) i;
	CREATE INDEX t_k ON t USING fpbtree (k) WITH (opq_size = 100000);
	INSERT INTO t SELECT i FROM generate_series(1, 500) i}, 'original');
foreach my $round (1 .. 2)
{
	query("CREATE DATABASE copy TEMPLATE original STRATEGY file_copy OID 50000");
	is(query('SELECT count(*) FROM generate_series(1, 600) i WHERE EXISTS (SELECT FROM t WHERE k = i)', 'copy'),
		$round == 1 ? '500' : '600', "database number $round of its OID: all keys are found");
	if ($round == 1)
	{
		# a queue that is counted in this database, and comes again in the next one
		query(q{SELECT fpbtree_flush('t_k'); INSERT INTO t SELECT i FROM generate_series(501, 600) i}, 'copy');
		query('DROP DATABASE original');
		query('CREATE DATABASE original TEMPLATE copy');
		query(q{SELECT fpbtree_flush('t_k')}, 'copy');
	}
	query('DROP DATABASE copy');
}

# a standby, and one that is none any more
my $standby = make_standby($primary, 'filter_standby');
insert('streamed', 500);
$primary->wait_for_replay_catchup($standby);
use_server($standby);
finds_all('a standby');
$standby->promote;
finds_all('one that has been promoted');
insert('after promotion', 500);
finds_all('and goes on');
is_sound('t_k', 'its index is sound');
$standby->stop;
use_server($primary);

# a server that has come to a queue
foreach my $mode ('fast', 'immediate')
{
	$primary->stop($mode);
	$primary->start;
	finds_all("after a restart ($mode)");
	ok(!excluded('main'), 'lookups look');
	insert("after $mode", 500);
	finds_all('with new entries');
	query(q{BEGIN; TRUNCATE t; INSERT INTO t SELECT k FROM keys LIMIT 100; ROLLBACK});
	finds_all('after another queue');
	query(q{ALTER INDEX t_k SET (opq_size = 64)});
	insert("moving after $mode", 500);
	query(q{ALTER INDEX t_k SET (opq_size = 100000)});
	finds_all('with some that have moved');
	cmp_ok(query(q{SELECT queue_entries FROM fpbtree_stats('t_k')}), '>', 1000, 'and many that have not');
}

# the worker goes through it, while entries come
set_and_reload('fpbtree.queue_worker = on');
my $inserter = session($primary);
start_statement($inserter, 'DO $$ BEGIN FOR i IN 1 .. 100000 LOOP INSERT INTO t VALUES (-i); COMMIT; PERFORM pg_sleep(0.02); END LOOP; END $$');
my $tries = 0;
sleep 0.1 while !excluded('main') && ++$tries < $PostgreSQL::Test::Utils::timeout_default * 10;
ok(excluded('main'), 'some lookups don\'t look, after a worker has counted');
finds_all('entries counted by a worker');
cmp_ok(query(q{SELECT queue_entries FROM fpbtree_stats('t_k')}), '>', 1000, 'that are there still');
query(q{SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'DO%'});
eval { $inserter->quit; };
is(query(q{SELECT fpbtree_flush('t_k') > 0}), 't', 'all are moved');
finds_all('in the end');
is_sound('t_k', 'the index is sound');

# an index has another one's file, and back; and there is no room in shared memory for
# anything about that other one
set_and_restart("fpbtree.queue_worker = off\nfpbtree.shared_indexes = 16\n");
my $hour = q{timestamp '2020-01-01' + i * interval '1 hour'};
query(qq{
	CREATE TABLE v (k timestamp(3));
	INSERT INTO v SELECT timestamp '2019-01-01' + i * interval '1 minute' FROM generate_series(1, 10000) i;
	CREATE INDEX v_k ON v USING fpbtree (k) WITH (opq_size = 100000);
	INSERT INTO v SELECT $hour FROM generate_series(1, 500) i});
query(q{
	CREATE TABLE many (k int8);
	DO $$ BEGIN
		FOR i IN 1 .. 20 LOOP
			EXECUTE format('CREATE INDEX many_%s ON many USING fpbtree (k)', i);
			PERFORM fpbtree_stats(format('many_%s', i)::regclass);
		END LOOP;
	END $$});
is(query(q{SELECT count(*), count(*) FILTER (WHERE index = 'v_k'::regclass) FROM fpbtree_activity()}), '16|1', 'there is no room for other indexes');
{
	my $session = session($primary, 'BEGIN', 'ALTER TABLE v ALTER k TYPE timestamp(6)',
		qq{INSERT INTO v SELECT $hour FROM generate_series(1, 500) i}, 'ROLLBACK', 'VACUUM v');
	$session->quit;
}
is(query(q{SELECT queue_entries FROM fpbtree_stats('v_k')}), '500', 'VACUUM has removed what the other index had put into the queue');
is(query(qq{SELECT count(*) FROM generate_series(1, 500) i WHERE EXISTS (SELECT FROM v WHERE k = $hour)}), '500', 'all others are found');

# Many more entries than the words of a small server have room for: many words count
# entries, and are the first of one key and the second of another.
set_and_restart("shared_buffers = ${\(query(q{SELECT current_setting('block_size')::int}) / 1024 * 256)}kB\n");
query(q{
	CREATE TABLE crowded AS SELECT i k FROM generate_series(1, 1000) i;
	CREATE INDEX crowded_k ON crowded USING fpbtree (k) WITH (opq_size = 100000);
	INSERT INTO crowded SELECT i * 1000 FROM generate_series(1, 90000) i});
is(query(q{SELECT queue_entries FROM fpbtree_stats('crowded_k')}), '90000', 'many entries in the queue of a small server');
is(query('SELECT count(*) FROM generate_series(1, 90000) i WHERE NOT EXISTS (SELECT FROM crowded WHERE k = i * 1000)'), '0', 'each is found');
query('DELETE FROM crowded WHERE k % 7000 <> 0; VACUUM (INDEX_CLEANUP ON) crowded');
is(query('SELECT count(*) FROM generate_series(1, 90000) i WHERE EXISTS (SELECT FROM crowded WHERE k = i * 1000)'), '12857', 'and what VACUUM has left of them');
query(q{SELECT fpbtree_flush('crowded_k')});
is(query('SELECT count(*) FROM generate_series(1, 90000) i WHERE EXISTS (SELECT FROM crowded WHERE k = i * 1000)'), '12857', 'and when they have moved');

stop_servers($primary, $standby);
done_testing();
