#
# Batched nested loops beside sessions that write, on the primary and on a
# standby: within one snapshot a join gives the same rows in batches, as a plain
# loop and as a hash join.  And errors and cancellations wherever a batch may be
# leave no pin and no memory behind.
#
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/lib";
use Servers;
use Test::More;

# so many comparisons on each server while others write
my $rounds = $ENV{FPB_ROUNDS} || 12;

seed_choices();
my $primary = start_server(
	'primary', q{
shared_buffers = 16MB
max_wal_size = 1GB
wal_keep_size = 4GB
max_parallel_workers_per_gather = 0
jit = off
}, allows_streaming => 1);
trust_changes($primary);

query(q{
CREATE EXTENSION fpbtree;
CREATE TABLE o (id int PRIMARY KEY, k int, x int, t text COLLATE "C");
CREATE TABLE i (id int PRIMARY KEY, k int, x int, t text COLLATE "C", c int);
INSERT INTO o SELECT id, CASE WHEN id % 19 <> 0 THEN id * 7919 % 3000 END, id % 9, 't' || id % 400 FROM generate_series(1, 2500) id;
INSERT INTO i SELECT id, id * 7907 % 3000, id % 11, 't' || id % 500, 0 FROM generate_series(1, 12000) id;
CREATE INDEX i_k ON i USING fpbtree (k, x);
CREATE INDEX i_t ON i USING fpbtree (t, k DESC);
CREATE INDEX i_x ON i USING fpbtree (x, k) WITH (operation_queue = on);
CREATE TABLE p (id int, k int, x int, t text COLLATE "C", c int) PARTITION BY LIST (x);
CREATE TABLE p_1 PARTITION OF p FOR VALUES IN (0, 3, 6);
CREATE TABLE p_2 PARTITION OF p FOR VALUES IN (1, 4, 7) PARTITION BY HASH (k);
CREATE TABLE p_2a PARTITION OF p_2 FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE p_2b PARTITION OF p_2 FOR VALUES WITH (MODULUS 2, REMAINDER 1);
CREATE TABLE p_3 PARTITION OF p DEFAULT;
INSERT INTO p SELECT * FROM i;
CREATE INDEX p_k ON p USING fpbtree (k, id);
ANALYZE o, i, p;

-- how a join is to run
CREATE FUNCTION set_joins(how text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	setting text;
BEGIN
	FOREACH setting IN ARRAY '{hashjoin,mergejoin,memoize,seqscan,bitmapscan,material}'::text[] LOOP
		PERFORM set_config('enable_' || setting, (how = 'other')::text, true);
	END LOOP;
	PERFORM set_config('enable_nestloop', (how = 'loops')::text, true);
	PERFORM set_config('fpbtree.join_single_rows', '0', true);
	PERFORM set_config('fpbtree.enable_batch_join', (how = 'batched')::text, true);
END $$;
CREATE FUNCTION answer(how text, query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line text;
	batched bool := false;
	answer text;
BEGIN
	PERFORM set_joins(how);
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		batched := batched OR line ~ 'Batched Nested Loop';
	END LOOP;
	IF batched <> (how = 'batched') THEN
		RETURN how || '? ' || batched;
	END IF;
	EXECUTE format('SELECT count(*) || '' rows, '' || coalesce(sum(hashtextextended(q::text, 0)::numeric), 0) FROM (%s) q', query) INTO answer;
	RETURN answer;
END $$;
CREATE TABLE queries AS SELECT * FROM unnest(ARRAY[
	'SELECT o.id, i.id, i.c FROM o JOIN i ON i.k = o.k',
	'SELECT o.id, i.k, i.x FROM o LEFT JOIN i ON i.k = o.k AND i.x = o.x',
	'SELECT o.id, i.id FROM o JOIN i ON i.t = o.t AND i.k = o.k',
	'SELECT o.id, i.x, i.k FROM o JOIN i ON i.x = o.x AND i.k = o.k',
	'SELECT o.id FROM o WHERE EXISTS (SELECT FROM i WHERE i.k = o.k AND i.c % 3 = 1)',
	'SELECT o.id FROM o WHERE NOT EXISTS (SELECT FROM i WHERE i.t = o.t AND i.k > o.k)',
	'SELECT o.id, p.id, p.c FROM o LEFT JOIN p ON p.k = o.k',
	'SELECT o.id, p.id, p.c FROM o JOIN p ON p.k = o.k AND p.x = o.x',
	'SELECT o.id FROM o WHERE NOT EXISTS (SELECT FROM p WHERE p.k = o.k AND p.c % 3 = 1)']) query;
CREATE FUNCTION differences() RETURNS SETOF text LANGUAGE sql VOLATILE AS $$
	SELECT format('%s in batches, %s by loops, %s otherwise: %s', b, l, h, query) FROM
		(SELECT query, answer('batched', query) AS b, answer('loops', query) AS l, answer('other', query) AS h FROM queries OFFSET 0) a
	WHERE b <> l OR b <> h $$;
CREATE TABLE stop_writing (why text);

-- changes by one session, until it is told to stop
CREATE PROCEDURE write(seed float8) LANGUAGE plpgsql AS $$
DECLARE
	n int := 0;
	a int;
BEGIN
	PERFORM setseed(seed);
	WHILE NOT EXISTS (SELECT FROM stop_writing) LOOP
		n := n + 1;
		a := random() * 12000;
		CASE n % 5
			WHEN 0 THEN DELETE FROM i WHERE id BETWEEN a AND a + 20;
			WHEN 1 THEN INSERT INTO i SELECT id, random() * 3000, random() * 11, 't' || (random() * 500)::int, 0 FROM generate_series(a, a + 30) id ON CONFLICT DO NOTHING;
			WHEN 2 THEN UPDATE i SET k = (k + n) % 3000, c = c + 1 WHERE id BETWEEN a AND a + 15;
				-- to other partitions as well
				UPDATE p SET x = (x + n) % 11, k = k + n % 2, c = c + 1 WHERE id BETWEEN a AND a + 15;
			WHEN 3 THEN UPDATE i SET t = 't' || (n + id) % 500 WHERE id % 3 = 0 AND id BETWEEN a AND a + 40;
			ELSE UPDATE o SET k = random() * 3000 WHERE id = a / 6;
		END CASE;
		COMMIT;
	END LOOP;
END $$;
});
my $standby = make_standby($primary, 'standby', "hot_standby_feedback = on\nmax_standby_streaming_delay = 300s\n");
$primary->wait_for_replay_catchup($standby);

# --- beside others that write ---

my @writers = map { my $s = $primary->background_psql('postgres', on_error_stop => 0); start_statement($s, "CALL write(0.$_)"); $s } 1 .. 2;
my @wrong;
foreach my $round (1 .. $rounds)
{
	query('VACUUM i') if $round % 3 == 0;
	foreach my $node ($primary, $standby)
	{
		my ($status, $differences, $error) = $node->psql('postgres', 'BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT differences(); COMMIT;');
		push @wrong, $node->name . ": $differences" if $differences ne '';
		push @wrong, $node->name . ": $error" if $status != 0 && $error !~ /conflict with recovery/;
	}
}
query("INSERT INTO stop_writing VALUES ('done')");
foreach my $writer (@writers)
{
	like($writer->query('SELECT 1'), qr/1/, 'a writer has come to its end');
	$writer->quit;
}
is(join("\n", @wrong), '', 'a snapshot sees the same rows in batches and otherwise');
cmp_ok(query('SELECT sum(n_tup_upd + n_tup_del + n_tup_ins) FROM pg_stat_user_tables'), '>', 14_500, 'rows were changed meanwhile');
is_sound($_, "$_ is sound") foreach qw(i_k i_t i_x);
$primary->wait_for_replay_catchup($standby);
is($standby->safe_psql('postgres', 'SELECT differences()'), '', 'nor do they differ on the standby after that');

# --- errors and cancellations ---

query(q{
-- raises an error when it is called for the n-th time (conditions of indexes take no volatile functions)
CREATE FUNCTION fail_at(n int, value int) RETURNS int LANGUAGE plpgsql STABLE AS $$
DECLARE
	calls int := current_setting('test.calls')::int + 1;
BEGIN
	PERFORM set_config('test.calls', calls::text, false);
	IF calls = n THEN
		RAISE EXCEPTION 'call %', n USING ERRCODE = 'P0002';
	END IF;
	RETURN value;
END $$;
-- the places of a batch: an outer row, its key, the inner scan's filter, the condition of the join, the joined row; and which partitions may have the key
CREATE TABLE places AS SELECT * FROM unnest(ARRAY[
	'SELECT o.f, i.id FROM (SELECT *, fail_at(%s, id) AS f FROM o WHERE id < 400 OFFSET 0) o JOIN i ON i.k = o.k',
	'SELECT o.id, i.id FROM o JOIN i ON i.k = fail_at(%s, o.k) WHERE o.id < 400',
	'SELECT o.id, i.id FROM o LEFT JOIN i ON i.k = o.k AND fail_at(%s, i.c) >= 0 WHERE o.id < 400',
	'SELECT o.id, i.id FROM o LEFT JOIN i ON i.k = o.k AND i.x = o.x AND fail_at(%s, i.c + o.id) >= 0 WHERE o.id < 2000',
	'SELECT o.id, fail_at(%s, i.x) FROM o LEFT JOIN i ON i.k = o.k WHERE o.id < 400',
	'SELECT o.id FROM o WHERE o.id < 400 AND EXISTS (SELECT FROM i WHERE i.k = o.k AND fail_at(%s, i.c + o.id) >= 0)',
	'SELECT o.id, p.id FROM o LEFT JOIN p ON p.k = o.k AND fail_at(%s, p.c) >= 0 WHERE o.id < 400',
	'SELECT o.id, p.id FROM o JOIN p ON p.k = o.k AND p.x = fail_at(%s, o.x) WHERE o.id < 400']) query;
-- which of the places do not fail at one of these calls
CREATE FUNCTION failures(way text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	q text;
	line text;
	n int;
	batched bool := false;
BEGIN
	PERFORM set_joins('batched');
	PERFORM set_config('enable_seqscan', 'on', true);
	FOR q IN SELECT replace(query, 'fail_at', way) FROM places LOOP
		FOREACH n IN ARRAY '{1,2,3,7,20,50,90,110}'::int[] LOOP
			PERFORM set_config('fpbtree.join_batch_rows', (1 + n * 7 % 60)::text, true);
			PERFORM set_config('test.calls', '0', false);
			batched := false;
			FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || format(q, n) LOOP
				batched := batched OR line ~ 'Batched Nested Loop';
			END LOOP;
			IF NOT batched THEN
				RETURN NEXT 'not in batches: ' || q;
			END IF;
			BEGIN
				EXECUTE format('SELECT sum(hashtext(q::text)) FROM (%s) q', format(q, n));
				RETURN NEXT format('not at %s: %s', n, q);
			EXCEPTION WHEN no_data_found OR query_canceled THEN
				NULL;
			END;
		END LOOP;
	END LOOP;
END $$;
CREATE FUNCTION cancel_at(n int, value int) RETURNS int LANGUAGE plpgsql STABLE AS $$
BEGIN
	RETURN fail_at(n, value);
EXCEPTION WHEN no_data_found THEN
	PERFORM pg_cancel_backend(pg_backend_pid());
	RETURN value;
END $$;
});
my $log = -s $primary->logfile;
my $session = $primary->background_psql('postgres');
foreach my $way (qw(fail_at cancel_at))
{
	my $memory = 'SELECT sum(total_bytes) FROM pg_backend_memory_contexts';
	is($session->query_safe("SELECT failures('$way')"), '', "$way: each place fails at each call");
	$session->query_safe("SELECT failures('$way')");
	my $before = $session->query_safe($memory);
	$session->query_safe("SELECT failures('$way')") foreach 1 .. 8;
	cmp_ok($session->query_safe($memory) - $before, '<', 100_000, "$way: no memory is left behind");
	is($session->query_safe(q{SELECT count(*) FROM pg_backend_memory_contexts WHERE name LIKE 'fpbtree batch%'}), 0, "$way: nor the memory of a batch");
}
$session->quit;
is(query(q{SELECT count(*) FROM queries WHERE answer('batched', query) <> answer('loops', query)}), 0, 'joins go on as before');
unlike(PostgreSQL::Test::Utils::slurp_file($primary->logfile, $log), qr/WARNING/, 'nothing stayed pinned or open');

# Many partitions, and keys that each of them may have: scans that are left before their end
# hold no pins, of which there are few, and the lists of keys for each scan count as memory.
my $partitions = q{
	SET temp_buffers = '800kB';
	SET fpbtree.join_single_rows = 0;
	CREATE TEMP TABLE many (x int, v int) PARTITION BY HASH (v);
	DO $$ BEGIN FOR i IN 0..69 LOOP EXECUTE format('CREATE TEMP TABLE many%s PARTITION OF many FOR VALUES WITH (MODULUS 70, REMAINDER %s)', i, i); END LOOP; END $$;
	CREATE INDEX ON many USING fpbtree (x);
	SET enable_nestloop = off; SET enable_hashjoin = off; SET enable_mergejoin = off; SET enable_bitmapscan = off; SET enable_seqscan = off;
};
SKIP:
{
	skip '19 keeps pins of scans that have come to their ends', 2 if query('SHOW server_version_num') >= 190000;
	foreach my $exists ('EXISTS', 'NOT EXISTS')
	{
		is(query(qq{$partitions
			INSERT INTO many SELECT g % 2, g FROM generate_series(1, 60000) g;
			ANALYZE many;
			SELECT count(*) FROM generate_series(1, 100) g WHERE $exists (SELECT FROM many WHERE x = g % 2);
		}), $exists eq 'EXISTS' ? 100 : 0, "$exists: few buffers for the partitions");
	}
}
my $plan = query(q{
	SET fpbtree.join_single_rows = 0; SET work_mem = '256kB';
	CREATE TEMP TABLE many (x int, y int) PARTITION BY RANGE (y);
	DO $$ BEGIN FOR i IN 0..299 LOOP EXECUTE format('CREATE TEMP TABLE many%s PARTITION OF many FOR VALUES FROM (%s) TO (%s)', i, i * 10, i * 10 + 10); END LOOP; END $$;
	INSERT INTO many SELECT g, g % 3000 FROM generate_series(1, 9000) g;
	CREATE INDEX ON many USING fpbtree (x);
	CREATE TEMP TABLE outer_rows AS SELECT g AS x, -1 AS y FROM generate_series(1, 2000) g;
	ANALYZE many, outer_rows;
	SET enable_nestloop = off; SET enable_hashjoin = off; SET enable_mergejoin = off; SET enable_bitmapscan = off;
	EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) SELECT count(*) FROM outer_rows o JOIN many m ON m.x = o.x AND m.y >= o.y;
});
# a hundred rows with 300 keys of eight bytes each; without these, batches would grow to a thousand rows
cmp_ok($plan =~ /Batches: (\d+)/ ? $1 : 0, '>', 12, 'keys for each of many scans count as memory');

stop_servers($standby, $primary);
done_testing();
