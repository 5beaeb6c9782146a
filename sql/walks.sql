-- Walks from leaf to leaf where the order of keys is none: the collation of an index
-- has changed, say, or a comparator is inconsistent.  They come to an end, be it an
-- error.
SET seed = 0.5;
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS fpbtree;
RESET client_min_messages;
SET enable_seqscan = off;
SET enable_sort = off;
SET max_parallel_workers_per_gather = 0;
SET min_parallel_index_scan_size = 0;
SET min_parallel_table_scan_size = 0;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET fpbtree.queue_worker = off;
-- assertion builds look at the order of what is changed
DO $$
BEGIN
	PERFORM set_config('fpbtree.verify_changes', 'off', false) FROM pg_settings WHERE name = 'fpbtree.verify_changes';
END $$;

CREATE FUNCTION walk_cmp(a int, b int) RETURNS int LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS 'BEGIN RETURN btint4cmp(a, b); END';
CREATE OPERATOR CLASS walk_ops FOR TYPE int USING fpbtree AS
	OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >,
	FUNCTION 1 walk_cmp(int, int);
CREATE FUNCTION walk_order(body text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('CREATE OR REPLACE FUNCTION walk_cmp(a int, b int) RETURNS int LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS %L',
		'BEGIN RETURN ' || body || '; END');
END $$;

-- Three indexes: one with all of its entries in the main tree, one with some of them in the queue, and a unique one.
CREATE TABLE walk (k int) WITH (autovacuum_enabled = off);
CREATE TABLE walk_queued (k int) WITH (autovacuum_enabled = off);
CREATE TABLE walk_unique (k int) WITH (autovacuum_enabled = off);
CREATE FUNCTION walk_begin() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	PERFORM walk_order('btint4cmp(a, b)');
	SET LOCAL client_min_messages = error; -- 17 warns of unique indexes
	DROP INDEX IF EXISTS walk_k, walk_queued_k, walk_unique_k;
	TRUNCATE walk, walk_queued, walk_unique;
	INSERT INTO walk SELECT hashint4(i) FROM generate_series(1, 1600) i;
	CREATE INDEX walk_k ON walk USING fpbtree (k walk_ops) WITH (fillfactor = 50, operation_queue = off);
	INSERT INTO walk_queued SELECT hashint4(i) FROM generate_series(1, 800) i;
	CREATE INDEX walk_queued_k ON walk_queued USING fpbtree (k walk_ops) WITH (operation_queue = on, opq_size = 1000);
	INSERT INTO walk_queued SELECT hashint4(i) FROM generate_series(801, 1600) i;
	INSERT INTO walk_unique SELECT DISTINCT k FROM walk;
	CREATE UNIQUE INDEX walk_unique_k ON walk_unique USING fpbtree (k walk_ops);
END $$;
-- How a statement ends.
CREATE FUNCTION walk_ends(stmt text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE stmt;
	RETURN 'ends';
EXCEPTION
	WHEN index_corrupted OR unique_violation THEN RETURN 'ends';
	WHEN OTHERS THEN RETURN SQLSTATE || ' ' || SQLERRM;
END $$;
CREATE TABLE walk_stmts (stmt text);
INSERT INTO walk_stmts SELECT replace(s, '%', t) FROM unnest('{walk,walk_queued,walk_unique}'::text[]) t, unnest(ARRAY[
	'SELECT k FROM % ORDER BY k',
	'SELECT k FROM % ORDER BY k DESC',
	'SELECT k FROM % WHERE k > 1000 ORDER BY k',
	'SELECT k FROM % WHERE k < 1000 ORDER BY k DESC',
	'SELECT ctid FROM % WHERE k > 1000 ORDER BY k',
	'SET LOCAL enable_indexscan = off; SET LOCAL enable_indexonlyscan = off; SELECT count(ctid) FROM % WHERE k > 1000',
	'SET LOCAL max_parallel_workers_per_gather = 2; SELECT count(ctid) FROM % WHERE k > 1000',
	'INSERT INTO % SELECT hashint4(i) FROM generate_series(4001, 4030) i',
	'SELECT fpbtree_check(''%_k'')',
	'SELECT fpbtree_check(''%_k'', true)',
	'SELECT * FROM fpbtree_damage(''%_k'')',
	'SELECT fpbtree_flush(''%_k'')']) s;

-- The comparator's order is turned round; those of the last digits, of pairs, and none at all; equal keys are
-- never equal, in either way.
CREATE TABLE walk_orders (name text, body text);
INSERT INTO walk_orders VALUES
	('descending', 'btint4cmp(b, a)'),
	('other', 'btint4cmp(a % 1000, b % 1000)'),
	('a circle', 'CASE WHEN a = b THEN 0 WHEN ((a::bigint - b) & 4294967295) < 2147483648 THEN 1 ELSE -1 END'),
	('greater', 'CASE WHEN a >= b THEN 1 ELSE -1 END'),
	('less', 'CASE WHEN a <= b THEN -1 ELSE 1 END'),
	('always greater', '1'),
	('always less', '-1'),
	('always equal', '0'),
	('random', 'floor(random() * 3)::int - 1');
CREATE TABLE walk_results (name text, stmt text, result text);
DO $$
DECLARE
	o walk_orders;
	s text;
BEGIN
	FOR o IN SELECT * FROM walk_orders LOOP
		PERFORM walk_begin();
		PERFORM walk_order(o.body);
		FOR s IN SELECT stmt FROM walk_stmts LOOP
			INSERT INTO walk_results VALUES (o.name, s, walk_ends(s));
		END LOOP;
	END LOOP;
END $$;
SELECT name, stmt, result FROM walk_results WHERE result <> 'ends';
SELECT count(*) FROM walk_results;
DROP TABLE walk, walk_queued, walk_unique;
