--
-- Building indexes: CREATE INDEX in all its forms, REINDEX, CLUSTER.
--
-- Each index built is checked against its table, and what a scan of it gives
-- is compared with what a scan of the same index as a btree gives.
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS fpbtree;
SET max_parallel_maintenance_workers = 0;

-- Build an index and check it.  Returns the number of entries it has, and
-- whether an ordered scan of it agrees with one of a btree.
CREATE FUNCTION build_test(tab text, cols text, opts text DEFAULT '',
						   kind text DEFAULT '')
RETURNS TABLE (entries bigint, same boolean)
LANGUAGE plpgsql AS $$
DECLARE
	query text;
	plan text;
	used boolean := false;
	ours text;
	theirs text;
BEGIN
	SET LOCAL client_min_messages = error;
	EXECUTE format('CREATE %s INDEX build_test_fpb ON %s USING fpbtree (%s) %s',
				   kind, tab, cols, opts);
	SET LOCAL client_min_messages = warning;
	PERFORM fpbtree_check('build_test_fpb', true);
	SELECT reltuples INTO entries FROM pg_class
		WHERE oid = 'build_test_fpb'::regclass;

	SET LOCAL enable_seqscan = off;
	SET LOCAL enable_bitmapscan = off;
	SET LOCAL enable_sort = off;
	SET LOCAL max_parallel_workers_per_gather = 0;
	query := format('SELECT md5(string_agg(t.ctid::text, '','')) FROM (SELECT ctid FROM %s %s ORDER BY %s) t',
					tab,
					CASE WHEN opts ~* '^where' THEN opts ELSE '' END,
					cols);
	FOR plan IN EXECUTE 'EXPLAIN ' || query LOOP
		used := used OR plan ~ 'build_test_fpb';
	END LOOP;
	IF NOT used THEN
		RAISE WARNING 'index is not used';
	END IF;
	EXECUTE query INTO ours;
	DROP INDEX build_test_fpb;
	EXECUTE format('CREATE %s INDEX build_test_bt ON %s USING btree (%s) %s',
				   kind, tab, cols, CASE WHEN opts ~* '^with' THEN '' ELSE opts END);
	EXECUTE query INTO theirs;
	DROP INDEX build_test_bt;
	same := ours IS NOT DISTINCT FROM theirs;
	RETURN NEXT;
END $$;

--
-- Key forms and shapes, all in memory
--
CREATE TABLE build_t (i int, b bigint, t text, u uuid, d date, f float8,
					  dup int, n numeric);
INSERT INTO build_t
	SELECT i, hashint8extended(i, 0), md5(i::text), md5(i::text)::uuid,
		   date '2000-01-01' + (hashint4(i) % 10000),
		   CASE i % 5 WHEN 0 THEN 0 ELSE i / 3.0 - 5000 END,
		   i % 100, i::numeric / 7
	FROM generate_series(1, 20000) i;
-- HOT chains (their rows' TIDs come out of order), NULLs, deleted rows
UPDATE build_t SET t = t || 'x' WHERE i % 10 = 1;
UPDATE build_t SET b = NULL WHERE i % 1000 = 7;
UPDATE build_t SET t = NULL, d = NULL, u = NULL WHERE i % 500 = 3;
DELETE FROM build_t WHERE i % 50 = 9;
VACUUM ANALYZE build_t;

SELECT * FROM build_test('build_t', 'i');
SELECT * FROM build_test('build_t', 'i DESC');
SELECT * FROM build_test('build_t', 'b');
SELECT * FROM build_test('build_t', 'b NULLS FIRST');
SELECT * FROM build_test('build_t', 'dup');
SELECT * FROM build_test('build_t', 'dup, i');
SELECT * FROM build_test('build_t', 'dup, b');
SELECT * FROM build_test('build_t', 'dup DESC, b NULLS FIRST');
SELECT * FROM build_test('build_t', 'd');
SELECT * FROM build_test('build_t', 'f');
SELECT * FROM build_test('build_t', 'u');
SELECT * FROM build_test('build_t', 't');
SELECT * FROM build_test('build_t', 't COLLATE "C" DESC');
SELECT * FROM build_test('build_t', 'n');
SELECT * FROM build_test('build_t', 'dup, t, n');
SELECT * FROM build_test('build_t', 'd, f, i DESC, u');
SELECT * FROM build_test('build_t', 'i', 'INCLUDE (t)');
SELECT * FROM build_test('build_t', 'lower(t), abs(i)');
-- no heads
SELECT * FROM build_test('build_t', '(CASE WHEN i % 9 > 0 THEN ARRAY[dup % 20, i % 7] END)');
SELECT * FROM build_test('build_t', '(ARRAY[dup, i % 7]) DESC, t');
SELECT * FROM build_test('build_t', 'b', 'WHERE dup < 3');
SELECT * FROM build_test('build_t', 'b', 'WITH (fillfactor = 10)');
SELECT * FROM build_test('build_t', 't', 'WITH (fillfactor = 10)');
SELECT * FROM build_test('build_t', 't', 'WITH (fillfactor = 100)');
SELECT * FROM build_test('build_t', 'i', '', 'UNIQUE');
SELECT * FROM build_test('build_t', 'n, b', '', 'UNIQUE');

-- few rows and none
CREATE TABLE build_few (i int, t text);
SELECT * FROM build_test('build_few', 'i');
SELECT * FROM build_test('build_few', 't');
INSERT INTO build_few VALUES (2, 'b');
SELECT * FROM build_test('build_few', 'i');
SELECT * FROM build_test('build_few', 't');
INSERT INTO build_few VALUES (1, 'a'), (NULL, NULL), (1, 'a'), (3, NULL);
SELECT * FROM build_test('build_few', 'i');
SELECT * FROM build_test('build_few', 't, i');

-- an index empty after its build takes rows
CREATE TABLE build_empty (i int, t text);
CREATE INDEX build_empty_i ON build_empty USING fpbtree (i);
CREATE INDEX build_empty_t ON build_empty USING fpbtree (t);
INSERT INTO build_empty SELECT i, md5(i::text) FROM generate_series(1, 1000) i;
SELECT fpbtree_check('build_empty_i', true), fpbtree_check('build_empty_t', true);

-- long keys: pages with few entries, and many levels
CREATE TABLE build_long (t text COLLATE "C");
ALTER TABLE build_long ALTER t SET STORAGE PLAIN;
SELECT current_setting('block_size')::int AS block_size \gset
INSERT INTO build_long
	SELECT repeat(chr(97 + i % 3), :block_size / 14) || repeat(md5(hashint4(i)::text), :block_size / 540)
	FROM generate_series(1, 2000) i;
SELECT * FROM build_test('build_long', 't');
SELECT * FROM build_test('build_long', 't', 'WITH (fillfactor = 10)');

-- keys whose heads are the same: they begin alike, or have equal first columns
CREATE TABLE build_alike (i int, t text COLLATE "C", x text COLLATE "C",
						  e text COLLATE "C", z bytea, j bigint, n numeric);
INSERT INTO build_alike
	SELECT i, 'https://example.org/' || hashint4(i) % 100, repeat('x', i * 7 % 200),
		   CASE i % 3 WHEN 0 THEN NULL WHEN 1 THEN '' ELSE repeat(chr(1), i % 40) END,
		   decode(repeat('00', i * 7 % 40), 'hex'), hashint8(i) % 50, hashint4(i) % 50
	FROM generate_series(1, 3000) i;
UPDATE build_alike SET j = CASE i % 2 WHEN 1 THEN NULL ELSE 9223372036854775807 END
	WHERE i % 9 = 1;
SELECT * FROM build_test('build_alike', 't');
SELECT * FROM build_test('build_alike', 't DESC');
SELECT * FROM build_test('build_alike', 't, j');
SELECT * FROM build_test('build_alike', 't, j DESC, i');
SELECT * FROM build_test('build_alike', 't, n DESC NULLS LAST');
SELECT * FROM build_test('build_alike', 't, x');
SELECT * FROM build_test('build_alike', 'x');
SELECT * FROM build_test('build_alike', 'x DESC, i DESC');
SELECT * FROM build_test('build_alike', 'e');
SELECT * FROM build_test('build_alike', 'e NULLS FIRST, j');
SELECT * FROM build_test('build_alike', 'e DESC, j');
SELECT * FROM build_test('build_alike', 'e DESC NULLS LAST, j NULLS FIRST');
SELECT * FROM build_test('build_alike', 'z, j');
SELECT * FROM build_test('build_alike', 'z DESC, j, t');
SELECT * FROM build_test('build_alike', 'n, t');
SELECT * FROM build_test('build_alike', 'j, t');
SELECT * FROM build_test('build_alike', 'j, t DESC, x DESC');
SELECT * FROM build_test('build_alike', 't, e NULLS FIRST, x');

--
-- Beyond memory: sorted runs on disk.  With as little memory as release 18
-- lets one set, there are so many that some are merged on the way.
--
DO $$
BEGIN
	PERFORM set_config('maintenance_work_mem', '64kB', false);
EXCEPTION WHEN invalid_parameter_value THEN
	PERFORM set_config('maintenance_work_mem', '1MB', false);
END $$;
CREATE TABLE build_big (i int, b bigint, k int, u uuid);
INSERT INTO build_big
	SELECT i, hashint8extended(i, 1), i % 7, md5(i::text)::uuid
	FROM generate_series(1, 60000) i;
UPDATE build_big SET k = k + 1 WHERE i % 30 = 4;
VACUUM ANALYZE build_big;
SELECT * FROM build_test('build_big', 'i');
SELECT * FROM build_test('build_big', 'i DESC');
SELECT * FROM build_test('build_big', 'b');
SELECT * FROM build_test('build_big', 'k');
SELECT * FROM build_test('build_big', 'u');
SELECT * FROM build_test('build_big', 'k, b');
SELECT * FROM build_test('build_big', 'b', '', 'UNIQUE');
SELECT * FROM build_test('build_big', 'u, i, b');
SELECT * FROM build_test('build_big', '(ARRAY[k, i % 100]), b');
SELECT * FROM build_test('build_big', 'b', 'INCLUDE (k)', 'UNIQUE');

-- temporary files are counted and limited as for any other
SET temp_file_limit = '300kB';
DO $$
DECLARE
	cols text;
BEGIN
	FOREACH cols IN ARRAY ARRAY['b', 'u, i, b'] LOOP
		BEGIN
			EXECUTE format('CREATE INDEX build_fail ON build_big USING fpbtree (%s)', cols);
			RAISE WARNING 'not limited';
		EXCEPTION WHEN configuration_limit_exceeded THEN
			RAISE WARNING '%', SQLSTATE;
		END;
	END LOOP;
END $$;
RESET temp_file_limit;
SELECT count(*) FROM pg_class WHERE relname = 'build_fail';
SELECT count(*) FROM pg_ls_tmpdir();

--
-- Parallel workers
--
SET min_parallel_table_scan_size = 0;
SET max_parallel_maintenance_workers = 2;
SET maintenance_work_mem = '96MB';
SELECT * FROM build_test('build_big', 'i');
SELECT * FROM build_test('build_big', 'b');
SELECT * FROM build_test('build_big', 'k');
SELECT * FROM build_test('build_big', 'u', '', 'UNIQUE');
SELECT * FROM build_test('build_big', 'k, b');
SELECT * FROM build_test('build_big', 'u, i, b');
SELECT * FROM build_test('build_big', 'b, i', 'INCLUDE (k)', 'UNIQUE');
SELECT * FROM build_test('build_big', 'abs(i)', 'WHERE k > 3');
SELECT * FROM build_test('build_t', 't');
SELECT * FROM build_test('build_few', 't, i');
-- the planner gives each worker 32 MB, unless the table says how many it wants
ALTER TABLE build_big SET (parallel_workers = 2);
DO $$
BEGIN
	PERFORM set_config('maintenance_work_mem', '64kB', false);
EXCEPTION WHEN invalid_parameter_value THEN
	PERFORM set_config('maintenance_work_mem', '1MB', false);
END $$;
SELECT * FROM build_test('build_big', 'b');
SELECT * FROM build_test('build_big', 'k DESC, i');
SELECT * FROM build_test('build_big', 'u, i, b', '', 'UNIQUE');
CREATE UNIQUE INDEX build_fail ON build_big USING fpbtree (k, (b % 2));
CREATE UNIQUE INDEX build_fail ON build_big USING fpbtree ((k::text));
\set SHOW_CONTEXT never
CREATE INDEX build_fail ON build_big USING fpbtree ((1 / (i - 30000)));
\set SHOW_CONTEXT errors
SELECT count(*) FROM pg_class WHERE relname = 'build_fail';
SELECT count(*) FROM pg_ls_tmpdir();
CREATE INDEX CONCURRENTLY build_conc ON build_big USING fpbtree (b);
SELECT fpbtree_check('build_conc', true);
REINDEX INDEX CONCURRENTLY build_conc;
SELECT fpbtree_check('build_conc', true);
DROP INDEX build_conc;
-- A HOT chain whose rows have different keys, and deleted rows that others may still
-- see, met by any of the processes: snapshots that see the old row of the chain must
-- not use the index, and those of the others need their entries.
CREATE TABLE build_chain (a int, b int) WITH (parallel_workers = 2);
INSERT INTO build_chain SELECT i, i FROM generate_series(1, 1000) i;
BEGIN;
UPDATE build_chain SET b = -b WHERE a = 1000;
DELETE FROM build_chain WHERE a <= 10;
CREATE INDEX build_chain_b ON build_chain USING fpbtree (b);
SELECT indcheckxmin FROM pg_index WHERE indexrelid = 'build_chain_b'::regclass;
SET client_min_messages = error;
CREATE UNIQUE INDEX build_chain_a ON build_chain USING fpbtree (a);
SET client_min_messages = warning;
SELECT entries FROM fpbtree_stats('build_chain_a');
COMMIT;
SELECT fpbtree_check('build_chain_a', true), fpbtree_check('build_chain_b', true);
DROP TABLE build_chain;

-- no worker is to be had
SET max_parallel_workers = 0;
SELECT * FROM build_test('build_big', 'k, b');
CREATE INDEX CONCURRENTLY build_conc ON build_big USING fpbtree (b, k);
SELECT fpbtree_check('build_conc', true);
DROP INDEX build_conc;
RESET max_parallel_workers;
-- a HOT chain whose versions differ in the index's column: nobody may use the
-- index who sees the old ones
CREATE TABLE build_hot (a int, pad text) WITH (parallel_workers = 2);
INSERT INTO build_hot SELECT i, repeat('x', 100) FROM generate_series(1, 3000) i;
DELETE FROM build_hot WHERE a % 10 = 0;
VACUUM build_hot;
BEGIN;
UPDATE build_hot SET a = -a WHERE a % 50 = 1;
CREATE INDEX build_hot_a ON build_hot USING fpbtree (a);
SELECT indcheckxmin FROM pg_index WHERE indexrelid = 'build_hot_a'::regclass;
SET LOCAL max_parallel_maintenance_workers = 0;
CREATE INDEX build_hot_alone ON build_hot USING fpbtree (a);
SELECT indcheckxmin FROM pg_index WHERE indexrelid = 'build_hot_alone'::regclass;
COMMIT;
SELECT fpbtree_check('build_hot_a', true), fpbtree_check('build_hot_alone', true);
ALTER TABLE build_big RESET (parallel_workers);
SET max_parallel_maintenance_workers = 0;
RESET min_parallel_table_scan_size;
-- A serializable transaction that builds an index has not read the table in the sense
-- that others could conflict with.
CREATE TABLE build_serial AS SELECT generate_series(1, 20000) AS a;
VACUUM build_serial;
BEGIN ISOLATION LEVEL SERIALIZABLE;
CREATE INDEX build_serial_a ON build_serial USING fpbtree (a);
SELECT count(*) FROM pg_locks WHERE mode = 'SIReadLock' AND relation = 'build_serial'::regclass;
COMMIT;
DROP TABLE build_serial;

RESET maintenance_work_mem;

--
-- Uniqueness
--
CREATE TABLE build_u (i int, b bigint, t text, f float8);
INSERT INTO build_u SELECT i, i, i::text, i FROM generate_series(1, 5000) i;
SET client_min_messages = error;
CREATE UNIQUE INDEX build_u_i ON build_u USING fpbtree (i);
CREATE UNIQUE INDEX build_u_t ON build_u USING fpbtree (t);
SET client_min_messages = warning;
SELECT fpbtree_check('build_u_i', true), fpbtree_check('build_u_t', true);
DROP INDEX build_u_i, build_u_t;
INSERT INTO build_u VALUES (4000, 4000, '4000', 4000);
DO $$
DECLARE
	state text;
	msg text;
	det text;
	cons text;
	tab text;
BEGIN
	CREATE UNIQUE INDEX build_u_i ON build_u USING fpbtree (i);
EXCEPTION WHEN unique_violation THEN
	GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, msg = MESSAGE_TEXT,
		det = PG_EXCEPTION_DETAIL, cons = CONSTRAINT_NAME, tab = TABLE_NAME;
	RAISE WARNING '% % % % %', state, msg, det, cons, tab;
END $$;
CREATE UNIQUE INDEX build_u_i ON build_u USING fpbtree (i);
CREATE UNIQUE INDEX build_u_b ON build_u USING fpbtree (b);
CREATE UNIQUE INDEX build_u_t ON build_u USING fpbtree (t);
CREATE UNIQUE INDEX build_u_bi ON build_u USING fpbtree (b, i DESC);
CREATE UNIQUE INDEX build_u_e ON build_u USING fpbtree ((i + 1), (t || 'x'));
SET client_min_messages = error;
CREATE UNIQUE INDEX build_u_p ON build_u USING fpbtree (t) WHERE i > 4000;
SET client_min_messages = warning;
CREATE UNIQUE INDEX build_u_f ON build_u USING fpbtree (f) INCLUDE (t);
DROP INDEX build_u_p;

-- NULLs are distinct from each other unless they are not
DELETE FROM build_u WHERE i = 4000;
INSERT INTO build_u VALUES (NULL, NULL, NULL, NULL), (NULL, NULL, NULL, NULL), (2147483647, NULL, NULL, 'NaN');
SET client_min_messages = error;
CREATE UNIQUE INDEX build_u_i ON build_u USING fpbtree (i);
SET client_min_messages = warning;
CREATE UNIQUE INDEX build_u_bi ON build_u USING fpbtree (b, i);
CREATE UNIQUE INDEX build_u_t ON build_u USING fpbtree (t);
SELECT fpbtree_check('build_u_i', true), fpbtree_check('build_u_bi', true), fpbtree_check('build_u_t', true);
DROP INDEX build_u_i, build_u_bi, build_u_t;
CREATE UNIQUE INDEX build_u_i ON build_u USING fpbtree (i) NULLS NOT DISTINCT;
CREATE UNIQUE INDEX build_u_t ON build_u USING fpbtree (t, i) NULLS NOT DISTINCT;
DELETE FROM build_u WHERE i IS NULL;
INSERT INTO build_u VALUES (NULL, NULL, NULL, NULL);
SET client_min_messages = error;
CREATE UNIQUE INDEX build_u_i ON build_u USING fpbtree (i) NULLS NOT DISTINCT;
SET client_min_messages = warning;
CREATE UNIQUE INDEX build_u_f ON build_u USING fpbtree (f) NULLS NOT DISTINCT;
CREATE UNIQUE INDEX build_u_t ON build_u USING fpbtree (t, i) NULLS NOT DISTINCT;
SELECT fpbtree_check('build_u_i', true), fpbtree_check('build_u_f', true), fpbtree_check('build_u_t', true);

-- values that look different but are equal
INSERT INTO build_u VALUES (-1, -1, 'zero', 0), (-2, -2, 'minus zero', '-0');
DROP INDEX build_u_f;
INSERT INTO build_u VALUES (-3, -3, 'nought', 0), (-4, -4, 'minus nought', '-0');
CREATE UNIQUE INDEX build_u_f ON build_u USING fpbtree (f);
CREATE INDEX build_u_f ON build_u USING fpbtree (f, i);
SELECT fpbtree_check('build_u_f', true);
CREATE UNIQUE INDEX build_u_n ON build_u USING fpbtree ((abs(i)::numeric(20, 2) * CASE WHEN i < 0 THEN 1.000 ELSE 1 END));

-- rows deleted by this transaction are dead but may be seen by others: they
-- don't conflict but are indexed
BEGIN;
UPDATE build_u SET b = b WHERE i BETWEEN 1000 AND 2000;
UPDATE build_u SET i = i WHERE i BETWEEN 1500 AND 2500;
DELETE FROM build_u WHERE i BETWEEN 2400 AND 2600;
INSERT INTO build_u SELECT i, i, i::text, i FROM generate_series(2400, 2600) i;
CREATE UNIQUE INDEX build_u_d ON build_u USING fpbtree (i);
CREATE UNIQUE INDEX build_u_e ON build_u USING fpbtree (t, i);
SELECT fpbtree_check('build_u_d', true), fpbtree_check('build_u_e', true);
COMMIT;
SELECT fpbtree_check('build_u_d', true), fpbtree_check('build_u_e', true);
SELECT fpbtree_check('build_u_i', true), fpbtree_check('build_u_t', true);

--
-- Errors leave nothing behind
--
CREATE TABLE build_err (i int, t text);
ALTER TABLE build_err ALTER t SET STORAGE EXTERNAL;
INSERT INTO build_err SELECT i, i::text FROM generate_series(1, 1000) i;
INSERT INTO build_err VALUES (0, repeat('x', :block_size / 3 - 20));
\set VERBOSITY sqlstate
CREATE INDEX build_err_t ON build_err USING fpbtree (t);
CREATE INDEX build_err_i ON build_err USING fpbtree (i) INCLUDE (t);
\set VERBOSITY default
CREATE INDEX build_err_e ON build_err USING fpbtree ((1 / i));
SELECT count(*) FROM pg_class WHERE relname LIKE 'build_err_%';
CREATE INDEX build_err_e ON build_err USING fpbtree ((length(t)), i);
SELECT fpbtree_check('build_err_e', true);
CREATE FUNCTION build_slow(i int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$
BEGIN
	PERFORM pg_sleep(0.01);
	RETURN i;
END $$;
\set SHOW_CONTEXT never
SET statement_timeout = '100ms';
CREATE INDEX build_err_s ON build_big USING fpbtree (build_slow(i));
RESET statement_timeout;
\set SHOW_CONTEXT errors
SELECT count(*) FROM pg_class WHERE relname = 'build_err_s';

--
-- CONCURRENTLY, REINDEX, CLUSTER, and other commands that build indexes
--
CREATE INDEX CONCURRENTLY build_c_b ON build_t USING fpbtree (b);
SET client_min_messages = error;
CREATE UNIQUE INDEX CONCURRENTLY build_c_i ON build_t USING fpbtree (i);
SET client_min_messages = warning;
CREATE INDEX CONCURRENTLY build_c_t ON build_t USING fpbtree (t, dup) WHERE dup <> 5;
SELECT indexrelid::regclass, indisvalid, fpbtree_check(indexrelid, true)
	FROM pg_index WHERE indrelid = 'build_t'::regclass ORDER BY 1;
REINDEX TABLE build_t;
REINDEX TABLE CONCURRENTLY build_t;
SELECT indexrelid::regclass, indisvalid, fpbtree_check(indexrelid, true)
	FROM pg_index WHERE indrelid = 'build_t'::regclass ORDER BY 1;
INSERT INTO build_t (i) SELECT i FROM build_t WHERE i BETWEEN 1 AND 5;
DROP INDEX build_c_i;
INSERT INTO build_t (i) SELECT i FROM build_t WHERE i BETWEEN 1 AND 5;
SET client_min_messages = error;
CREATE UNIQUE INDEX CONCURRENTLY build_c_i ON build_t USING fpbtree (i);
SET client_min_messages = warning;
DROP INDEX build_c_i;
CLUSTER build_t USING build_c_b;
SELECT fpbtree_check('build_c_b', true), fpbtree_check('build_c_t', true);
SELECT count(*) FROM (SELECT b < lag(b) OVER (ORDER BY ctid) AS down FROM build_t) x WHERE down;
VACUUM FULL build_t;
SELECT fpbtree_check('build_c_b', true), fpbtree_check('build_c_t', true);
ALTER TABLE build_t ALTER b TYPE numeric;
SELECT fpbtree_check('build_c_b', true);
ALTER INDEX build_c_b SET (fillfactor = 50);
REINDEX INDEX build_c_b;
SELECT fpbtree_check('build_c_b', true);
TRUNCATE build_t;
SELECT fpbtree_check('build_c_b', true), fpbtree_check('build_c_t', true);
INSERT INTO build_t (b, t) SELECT i, i::text FROM generate_series(1, 1000) i;
SELECT fpbtree_check('build_c_b', true), fpbtree_check('build_c_t', true);

-- unlogged and temporary tables
CREATE UNLOGGED TABLE build_unlogged AS SELECT i, i::text AS t FROM generate_series(1, 5000) i;
CREATE INDEX build_unlogged_i ON build_unlogged USING fpbtree (i);
CREATE INDEX build_unlogged_t ON build_unlogged USING fpbtree (t);
SELECT fpbtree_check('build_unlogged_i', true), fpbtree_check('build_unlogged_t', true);
SELECT pg_relation_size('build_unlogged_i', 'init') / current_setting('block_size')::int AS init_blocks;
ALTER TABLE build_unlogged SET LOGGED;
SELECT fpbtree_check('build_unlogged_i', true), fpbtree_check('build_unlogged_t', true);
SELECT pg_relation_size('build_unlogged_i', 'init') AS init_blocks;
ALTER TABLE build_unlogged SET UNLOGGED;
SELECT fpbtree_check('build_unlogged_i', true), fpbtree_check('build_unlogged_t', true);
CREATE TEMP TABLE build_temp AS SELECT i, i::text AS t FROM generate_series(1, 5000) i;
CREATE INDEX build_temp_i ON build_temp USING fpbtree (i);
CREATE INDEX build_temp_t ON build_temp USING fpbtree (t);
SELECT fpbtree_check('build_temp_i', true), fpbtree_check('build_temp_t', true);

-- in a serializable transaction, and for a table of another access method
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT * FROM build_test('build_t', 'b');
COMMIT;
CREATE ACCESS METHOD build_heap TYPE TABLE HANDLER heap_tableam_handler;
CREATE TABLE build_other USING build_heap AS SELECT i, i::text AS t FROM generate_series(1, 5000) i;
SELECT * FROM build_test('build_other', 'i');
SELECT * FROM build_test('build_other', 't');

-- the statistics that a build leaves
CREATE INDEX build_stat ON build_big USING fpbtree (b) WHERE k = 3;
SELECT (SELECT reltuples FROM pg_class WHERE relname = 'build_stat') =
	   (SELECT count(*) FROM build_big WHERE k = 3) AS index_rows,
	   (SELECT reltuples FROM pg_class WHERE relname = 'build_big') AS table_rows;

-- so many rows that the arrays in which they are sorted are large
CREATE TABLE build_large AS SELECT hashint4(i) AS k FROM generate_series(1, 300000) i;
CREATE INDEX build_large_k ON build_large USING fpbtree (k);
SELECT entries, fpbtree_check('build_large_k') FROM fpbtree_stats('build_large_k');

-- the phases of one, as pg_stat_progress_create_index calls them
SELECT phase, pg_indexam_progress_phasename(oid, phase) FROM pg_am, generate_series(0, 6) phase WHERE amname = 'fpbtree' ORDER BY 1;

-- tuples of equal heads, and rows equal in all but their TIDs
CREATE TABLE build_dup AS
	SELECT 'the same prefix ' || (i % 10) AS t, (i % 3)::numeric AS n
	FROM generate_series(1, 20000) i;
VACUUM ANALYZE build_dup;
SET maintenance_work_mem = '1MB';
SELECT * FROM build_test('build_dup', 't');
SELECT * FROM build_test('build_dup', 'n');
SELECT * FROM build_test('build_dup', 'n, t DESC');
RESET maintenance_work_mem;

DROP TABLE build_t, build_few, build_empty, build_long, build_big, build_u,
	build_err, build_unlogged, build_temp, build_dup, build_hot, build_other, build_large;
DROP ACCESS METHOD build_heap;
DROP FUNCTION build_test, build_slow;
