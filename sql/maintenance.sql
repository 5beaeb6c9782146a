--
-- What administrators do to tables and indexes.  Afterwards each index is
-- checked against its table, and asked for something.
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS fpbtree;

CREATE TABLE mt (id int, a int4, t text COLLATE "C", u uuid, gone int) WITH (autovacuum_enabled = off);
CREATE FUNCTION mt_fill(n int) RETURNS void LANGUAGE sql AS $$
    INSERT INTO mt (id, a, t, u)
    SELECT i, (hashint4(i) % 500), 'row ' || i, md5(i::text)::uuid FROM generate_series(1, n) i
$$;
CREATE INDEX mt_a ON mt USING fpbtree (a);
CREATE INDEX mt_t ON mt USING fpbtree (t DESC) INCLUDE (a);
SET client_min_messages = error;
CREATE UNIQUE INDEX mt_u ON mt USING fpbtree (u);
SET client_min_messages = warning;
CREATE INDEX mt_e ON mt USING fpbtree ((a + 1), lower(t)) WHERE a > 0;
CREATE INDEX mt_gone ON mt USING fpbtree (gone, id);
SELECT mt_fill(5000);

-- Every index of a table: is it sound, and what does an ordered scan of all of it find?
CREATE FUNCTION mt_state(tab regclass DEFAULT 'mt') RETURNS TABLE (index name, entries int8, persistence "char", valid bool)
LANGUAGE plpgsql AS $$
DECLARE
    i record;
BEGIN
    FOR i IN
        SELECT c.oid, c.relname, c.relpersistence, x.indisvalid, pg_get_expr(x.indpred, x.indrelid) AS pred, pg_get_indexdef(c.oid, 1, true) AS col
        FROM pg_index x JOIN pg_class c ON c.oid = x.indexrelid WHERE x.indrelid = tab ORDER BY c.relname COLLATE "C"
    LOOP
        PERFORM fpbtree_check(i.oid, true);
        index := i.relname; persistence := i.relpersistence; valid := i.indisvalid;
        SET LOCAL enable_seqscan = off; SET LOCAL enable_sort = off; SET LOCAL enable_bitmapscan = off;
        EXECUTE format('SELECT count(*) FROM (SELECT 1 FROM %s WHERE %s ORDER BY %s OFFSET 0) s', tab, coalesce(i.pred, 'true'), i.col) INTO entries;
        RETURN NEXT;
    END LOOP;
END $$;
SELECT * FROM mt_state();

-- REINDEX
REINDEX INDEX mt_a;
REINDEX TABLE mt;
REINDEX INDEX CONCURRENTLY mt_t;
REINDEX TABLE CONCURRENTLY mt;
SELECT * FROM mt_state();

-- VACUUM FULL, CLUSTER
DELETE FROM mt WHERE id % 5 = 0;
VACUUM FULL mt;
SELECT * FROM mt_state();
CLUSTER mt USING mt_u;
SELECT bool_and(u >= prev) AS clustered FROM (SELECT u, lag(u) OVER (ORDER BY ctid) AS prev FROM mt) s WHERE prev IS NOT NULL;
CLUSTER mt USING mt_t;
SELECT bool_and(t <= prev) AS clustered FROM (SELECT t, lag(t) OVER (ORDER BY ctid) AS prev FROM mt) s WHERE prev IS NOT NULL;
CLUSTER mt USING mt_e;    -- partial
DELETE FROM mt WHERE id % 7 = 0;
CLUSTER mt;
SELECT * FROM mt_state();

-- Options: new ones hold from the next build
ALTER INDEX mt_a SET (fillfactor = 50);
REINDEX INDEX mt_a;
ALTER INDEX mt_a RESET (fillfactor);
SELECT * FROM mt_state();

-- SET LOGGED and UNLOGGED
ALTER TABLE mt SET UNLOGGED;
INSERT INTO mt (id, a, t, u) VALUES (10001, 1, 'unlogged', gen_random_uuid());
SELECT * FROM mt_state();
ALTER TABLE mt SET LOGGED;
INSERT INTO mt (id, a, t, u) VALUES (10002, 1, 'logged', gen_random_uuid());
SELECT * FROM mt_state();

-- SET TABLESPACE
SET allow_in_place_tablespaces = on;
CREATE TABLESPACE regress_fpbtree_space LOCATION '';
ALTER INDEX mt_a SET TABLESPACE regress_fpbtree_space;
ALTER TABLE mt SET TABLESPACE regress_fpbtree_space;
REINDEX (TABLESPACE regress_fpbtree_space) INDEX mt_t;
REINDEX (TABLESPACE regress_fpbtree_space) INDEX CONCURRENTLY mt_u;
INSERT INTO mt (id, a, t, u) VALUES (10003, 1, 'elsewhere', gen_random_uuid());
SELECT * FROM mt_state();
SELECT c.relname, t.spcname FROM pg_class c LEFT JOIN pg_tablespace t ON t.oid = c.reltablespace WHERE c.relname LIKE 'mt%' ORDER BY 1;
ALTER INDEX ALL IN TABLESPACE regress_fpbtree_space SET TABLESPACE pg_default;
ALTER TABLE mt SET TABLESPACE pg_default;
SELECT * FROM mt_state();
DROP TABLESPACE regress_fpbtree_space;

-- TRUNCATE, also within the transaction that made the table, and rolled back
BEGIN;
TRUNCATE mt;
SELECT * FROM mt_state();
INSERT INTO mt (id, a, t, u) VALUES (1, 1, 'one', gen_random_uuid());
SELECT * FROM mt_state();
ROLLBACK;
SELECT * FROM mt_state();
TRUNCATE mt;
SELECT * FROM mt_state();
SELECT mt_fill(3000);
BEGIN;
CREATE TABLE mt_new (a int8);
CREATE INDEX ON mt_new USING fpbtree (a);
INSERT INTO mt_new SELECT generate_series(1, 1000);
TRUNCATE mt_new;
INSERT INTO mt_new SELECT generate_series(1, 2000);
SAVEPOINT s;
TRUNCATE mt_new;
INSERT INTO mt_new SELECT generate_series(1, 500);
ROLLBACK TO s;
COMMIT;
SELECT * FROM mt_state('mt_new');

-- Columns: dropped with their indexes, added before others, with new types
ALTER TABLE mt DROP COLUMN gone;
SELECT * FROM mt_state();
ALTER TABLE mt ADD COLUMN c int DEFAULT 7;
CREATE INDEX mt_c ON mt USING fpbtree (c, a);
SELECT * FROM mt_state();
DROP INDEX mt_e;
ALTER TABLE mt ALTER COLUMN a TYPE int8;
SELECT * FROM mt_state();
ALTER TABLE mt ALTER COLUMN a TYPE text;
ALTER TABLE mt ALTER COLUMN t TYPE varchar(100) COLLATE "en-x-icu";
SET client_min_messages = error;
ALTER TABLE mt ALTER COLUMN u TYPE text USING u::text || id;
SET client_min_messages = warning;
SELECT * FROM mt_state();
SELECT indexdef FROM pg_indexes WHERE tablename = 'mt' ORDER BY indexname COLLATE "C";
ALTER TABLE mt ALTER COLUMN a TYPE int4 USING a::int4;
SELECT * FROM mt_state();
-- without a rewrite: the index stays as it is
SELECT relfilenode AS before FROM pg_class WHERE relname = 'mt_t' \gset
ALTER TABLE mt ALTER COLUMN t TYPE varchar(200) COLLATE "en-x-icu";
SELECT relfilenode = :before AS same_file FROM pg_class WHERE relname = 'mt_t';
SELECT * FROM mt_state();

-- Names, owners, comments; CREATE TABLE ... LIKE
ALTER INDEX mt_a RENAME TO mt_a2;
COMMENT ON INDEX mt_a2 IS 'an fpbtree';
SET client_min_messages = error;
CREATE TABLE mt_like (LIKE mt INCLUDING INDEXES INCLUDING COMMENTS);
SET client_min_messages = warning;
SELECT indexdef FROM pg_indexes WHERE tablename = 'mt_like' ORDER BY indexname COLLATE "C";
DROP TABLE mt_like;

-- Temporary tables
CREATE TEMP TABLE mt_temp (a int8, b text) ON COMMIT DELETE ROWS;
CREATE INDEX mt_temp_a ON mt_temp USING fpbtree (a);
CREATE INDEX mt_temp_b ON mt_temp USING fpbtree (b);
BEGIN;
INSERT INTO mt_temp SELECT i, i FROM generate_series(1, 3000) i;
SELECT * FROM mt_state('mt_temp');
COMMIT;
SELECT * FROM mt_state('mt_temp');
INSERT INTO mt_temp VALUES (1, 'x');
SELECT * FROM mt_state('mt_temp');
REINDEX TABLE mt_temp;
VACUUM mt_temp;
DROP TABLE mt_temp;

-- Partitioned tables: indexes on the parent, attached, with later partitions
CREATE TABLE mt_parts (a int4, b text COLLATE "C") PARTITION BY RANGE (a);
CREATE TABLE mt_part1 PARTITION OF mt_parts FOR VALUES FROM (0) TO (1000);
CREATE TABLE mt_part2 (b text COLLATE "C", x int, a int4);
ALTER TABLE mt_part2 DROP COLUMN x;
CREATE INDEX mt_part2_ready ON mt_part2 USING fpbtree (a, b);
CREATE INDEX mt_parts_ab ON ONLY mt_parts USING fpbtree (a, b);
ALTER TABLE mt_parts ATTACH PARTITION mt_part2 FOR VALUES FROM (1000) TO (2000);
CREATE INDEX mt_part1_ab ON mt_part1 USING fpbtree (a, b);
ALTER INDEX mt_parts_ab ATTACH PARTITION mt_part1_ab;
CREATE INDEX mt_parts_b ON mt_parts USING fpbtree (b);
CREATE TABLE mt_part3 PARTITION OF mt_parts FOR VALUES FROM (2000) TO (3000);
INSERT INTO mt_parts SELECT i, 'row ' || i FROM generate_series(0, 2999) i;
SELECT * FROM mt_state('mt_part1') UNION ALL SELECT * FROM mt_state('mt_part2') UNION ALL SELECT * FROM mt_state('mt_part3');
SET enable_seqscan = off;
SET enable_bitmapscan = off;
EXPLAIN (COSTS OFF) SELECT * FROM mt_parts WHERE a > 900 ORDER BY a, b LIMIT 1500;
SELECT count(*), min(a), max(a) FROM (SELECT * FROM mt_parts WHERE a > 900 ORDER BY a LIMIT 1500) s;
RESET enable_seqscan;
RESET enable_bitmapscan;
-- rows move from partition to partition
DELETE FROM mt_parts WHERE a BETWEEN 1000 AND 1100;
UPDATE mt_parts SET a = a + 500 WHERE a BETWEEN 500 AND 600;
UPDATE mt_parts SET a = 2999 WHERE a = 0;
ALTER TABLE mt_parts DETACH PARTITION mt_part1;
REINDEX TABLE mt_parts;
REINDEX TABLE CONCURRENTLY mt_parts;
SELECT * FROM mt_state('mt_part1') UNION ALL SELECT * FROM mt_state('mt_part2') UNION ALL SELECT * FROM mt_state('mt_part3');
DROP TABLE mt_parts, mt_part1;

-- Statistics
VACUUM (INDEX_CLEANUP ON, ANALYZE) mt;
SELECT relname, reltuples, relpages > 1 AS has_pages FROM pg_class WHERE relname IN ('mt_a2', 'mt_t', 'mt_u') ORDER BY relname;
SELECT pg_stat_force_next_flush();
SELECT idx_scan > 0 AS scanned, idx_tup_read > 0 AS has_read FROM pg_stat_user_indexes WHERE indexrelname = 'mt_u';

-- CREATE DATABASE copies a template by blocks and by files
SELECT current_database() AS here \gset
CREATE DATABASE regress_fpbtree_template;
\c regress_fpbtree_template
SET client_min_messages = warning;
CREATE EXTENSION fpbtree;
CREATE TABLE tt (a int4, t text);
CREATE INDEX tt_a ON tt USING fpbtree (a);
CREATE INDEX tt_t ON tt USING fpbtree (t);
CREATE UNLOGGED TABLE tu (a int4);
CREATE INDEX tu_a ON tu USING fpbtree (a);
INSERT INTO tt SELECT i, i FROM generate_series(1, 4000) i;
INSERT INTO tu SELECT generate_series(1, 4000) i;
\c :here
CREATE DATABASE regress_fpbtree_wal TEMPLATE regress_fpbtree_template STRATEGY wal_log;
CREATE DATABASE regress_fpbtree_file TEMPLATE regress_fpbtree_template STRATEGY file_copy;
\c regress_fpbtree_wal
SELECT fpbtree_check('tt_a', true), fpbtree_check('tt_t', true), fpbtree_check('tu_a', true);
INSERT INTO tt VALUES (5000, 'more');
SELECT fpbtree_check('tt_a', true), fpbtree_check('tt_t', true);
\c regress_fpbtree_file
SELECT fpbtree_check('tt_a', true), fpbtree_check('tt_t', true), fpbtree_check('tu_a', true);
INSERT INTO tt VALUES (5000, 'more');
SELECT fpbtree_check('tt_a', true), fpbtree_check('tt_t', true);
\c :here
DROP DATABASE regress_fpbtree_wal;
DROP DATABASE regress_fpbtree_file;
DROP DATABASE regress_fpbtree_template;

-- Dropping the extension is refused while indexes depend on it
CREATE DATABASE regress_fpbtree_drop;
\c regress_fpbtree_drop
CREATE EXTENSION fpbtree;
CREATE TABLE dt (a int);
CREATE INDEX dt_a ON dt USING fpbtree (a);
DROP EXTENSION fpbtree;
SET client_min_messages = warning;
DROP EXTENSION fpbtree CASCADE;
\d dt
CREATE EXTENSION fpbtree;
CREATE INDEX dt_a ON dt USING fpbtree (a);
\c :here
DROP DATABASE regress_fpbtree_drop;

-- What a backend keeps of an index goes with the index, and with its file.
-- what is checked of each change elsewhere would take most of the time here
SELECT count(set_config(name, 'off', false)) >= 0 AS quick FROM pg_settings WHERE name = 'fpbtree.verify_changes';
CREATE FUNCTION mt_memory() RETURNS bigint LANGUAGE sql
	RETURN (SELECT sum(total_bytes) FROM pg_backend_memory_contexts WHERE name ~ '^fpbtree' OR ident ~ '^mt_dropped');
CREATE PROCEDURE mt_create_and_drop(n int) LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN 1..n LOOP
		CREATE TABLE mt_dropped (k int);
		CREATE INDEX mt_dropped_k ON mt_dropped USING fpbtree (k);
		INSERT INTO mt_dropped SELECT generate_series(1, 4000);
		COMMIT;
		TRUNCATE mt_dropped;
		INSERT INTO mt_dropped SELECT generate_series(1, 4000);
		COMMIT;
		DROP TABLE mt_dropped;
		COMMIT;
	END LOOP;
END $$;
CALL mt_create_and_drop(1);
SELECT mt_memory() AS memory \gset
CALL mt_create_and_drop(30);
SELECT mt_memory() - :memory AS more_memory;
DROP PROCEDURE mt_create_and_drop;
DROP FUNCTION mt_memory;

SET client_min_messages = warning;
DROP FUNCTION mt_fill, mt_state;
DROP TABLE mt, mt_new;
