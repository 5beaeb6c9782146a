--
-- VACUUM: entries of dead rows, empty pages, and their reuse
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS fpbtree;
RESET client_min_messages;

-- One index of each form, and one whose keys share nodes
CREATE TABLE vac (a int, b int8, u uuid, t text COLLATE "C", d int)
    WITH (autovacuum_enabled = off);
CREATE INDEX vac_a ON vac USING fpbtree (a);
CREATE INDEX vac_b ON vac USING fpbtree (b DESC);
CREATE INDEX vac_u ON vac USING fpbtree (u);
CREATE INDEX vac_t ON vac USING fpbtree (t) INCLUDE (a);
CREATE INDEX vac_d ON vac USING fpbtree (d);
-- what is checked of each change would take most of the time here: VACUUM's changes are checked so, insertions are elsewhere.
-- Entries come one by one, in the order in which they are given.
CREATE PROCEDURE vac_insert(what text) LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config(name, 'off', true) FROM pg_settings WHERE name = 'fpbtree.verify_changes';
    PERFORM set_config('fpbtree.insert_batch_size', '0', true);
    EXECUTE 'INSERT INTO ' || what;
END $$;
CREATE FUNCTION vac_fill(first int, last int) RETURNS void LANGUAGE sql AS $$
    CALL vac_insert(format('vac SELECT i, i * 1000003::int8, md5(i::text)::uuid, lpad(i::text, 30, ''key''), i / 1000 FROM generate_series(%s, %s) i',
                           first, last))
$$;
CREATE VIEW vac_stats AS
    SELECT indexrelid::regclass AS index, s.*
    FROM pg_index, fpbtree_stats(indexrelid) s
    WHERE indrelid = 'vac'::regclass
    ORDER BY 1;
CREATE VIEW vac_check AS
    SELECT count(fpbtree_check(indexrelid, true)) AS sound
    FROM pg_index
    WHERE indrelid = 'vac'::regclass;

-- All leaves shrink, none is emptied
SELECT vac_fill(1, 20000);
DELETE FROM vac WHERE a % 10 = 3;
VACUUM vac;
SELECT index, entries, deleted_pages FROM vac_stats;
SELECT * FROM vac_check;

-- With the index put off, entries stay; then they are removed
DELETE FROM vac WHERE a % 10 = 4;
VACUUM (INDEX_CLEANUP off) vac;
SELECT index, entries FROM vac_stats;
SELECT * FROM vac_check;
VACUUM (INDEX_CLEANUP on) vac;
SELECT index, entries FROM vac_stats;

-- Statistics of the indexes
SELECT relname, reltuples FROM pg_class WHERE relname LIKE 'vac\__' ORDER BY 1;

-- A range of keys goes: its pages are freed where it is a range of the index
DELETE FROM vac WHERE a BETWEEN 3001 AND 17000;
VACUUM vac;
SELECT index, entries, deleted_pages * 2 >= leaf_pages AS pages_freed FROM vac_stats;
SELECT * FROM vac_check;
CREATE TEMP TABLE freed AS SELECT index, deleted_pages, pg_relation_size(index) AS size FROM vac_stats;

-- ... and are used again, before the index grows
SELECT vac_fill(3001, 17000);
SELECT index, s.deleted_pages * 10 <= f.deleted_pages OR pg_relation_size(index) = size AS used_again FROM vac_stats s JOIN freed f USING (index);
SELECT * FROM vac_check;

-- Everything goes; what is left is the way to the leftmost leaf
DELETE FROM vac;
VACUUM vac;
SELECT index, entries, leaf_pages, inner_pages = levels - 1 AS one_inner_page_a_level FROM vac_stats;
SELECT * FROM vac_check;
SET enable_seqscan = off;
SELECT count(*) FROM vac WHERE a > 0;
SELECT vac_fill(1, 5000);
SELECT count(*), min(a), max(a) FROM vac WHERE a > 0;
SELECT count(*), min(t), max(t) FROM vac WHERE t > '';
SELECT * FROM vac_check;
RESET enable_seqscan;

-- The rightmost leaf, the last that this session has inserted into, is taken out of the tree, while
-- the index's statistics stay as they are: so nothing tells the session
CREATE TABLE vac_last (a int, phase int) WITH (autovacuum_enabled = off);
CREATE INDEX vac_last_a ON vac_last USING fpbtree (a);
CALL vac_insert('vac_last SELECT a, 0 FROM generate_series(1, 12000) a');
CALL vac_insert('vac_last SELECT a, 1 FROM generate_series(16001, 24000) a');
VACUUM vac_last;
CALL vac_insert('vac_last SELECT a, 2 FROM generate_series(1, 8000) a');
DELETE FROM vac_last WHERE phase = 1;
VACUUM vac_last;
CALL vac_insert('vac_last SELECT a, 3 FROM generate_series(16001, 24000) a');
DELETE FROM vac_last WHERE phase = 2;
VACUUM vac_last;
CREATE TEMP TABLE told AS SELECT relpages, reltuples FROM pg_class WHERE relname = 'vac_last_a';
CALL vac_insert('vac_last SELECT a, 4 FROM generate_series(1, 8000) a');
INSERT INTO vac_last VALUES (24001, 5);
DELETE FROM vac_last WHERE phase IN (3, 5);
VACUUM vac_last;
SELECT count(*) AS told_nothing FROM pg_class c JOIN told t USING (relpages, reltuples) WHERE relname = 'vac_last_a';
INSERT INTO vac_last VALUES (30000, 6);
SET enable_seqscan = off;
SELECT * FROM vac_last WHERE a > 12000;
RESET enable_seqscan;
SELECT fpbtree_check('vac_last_a', true);
DROP TABLE vac_last, told;

-- A window that slides over the keys: old rows go, new ones come
TRUNCATE vac;
DROP INDEX vac_u;               -- not of ascending keys
SELECT vac_fill(1, 4000);
DO $$ BEGIN
    FOR i IN 1..2 LOOP
        DELETE FROM vac WHERE a <= i * 2000;
        PERFORM vac_fill(2000 * (i + 1) + 1, 2000 * (i + 2));
    END LOOP;
END $$;
VACUUM vac;
CREATE TEMP TABLE size AS SELECT index, blocks FROM vac_stats;
SELECT format('DELETE FROM vac WHERE a <= %s', 2000 * i),
       format('SELECT vac_fill(%s, %s)', 2000 * (i + 1) + 1, 2000 * (i + 2)),
       'VACUUM vac'
FROM generate_series(3, 14) i
\o /dev/null
\gexec
\o
SELECT * FROM vac_check;
SELECT index, s.blocks <= z.blocks * 1.5 AS bounded FROM vac_stats s JOIN size z USING (index);

-- The same with one row in each stretch of 400 staying behind, perhaps each
-- in a leaf of its own
TRUNCATE vac;
SELECT format('DELETE FROM vac WHERE a <= %s AND a %% 400 <> 0', 2000 * i),
       format('SELECT vac_fill(%s, %s)', 2000 * (i + 1) + 1, 2000 * (i + 2)),
       'VACUUM vac'
FROM generate_series(0, 12) i
\o /dev/null
\gexec
\o
SELECT * FROM vac_check;
SELECT index, entries, leaf_pages < 60 + 70 * 8192 / current_setting('block_size')::int AS few_leaves FROM vac_stats;

-- Several indexes in parallel, the dead rows of one page of the table at a time
DELETE FROM vac;
CALL vac_insert('vac SELECT i, i, NULL, i, i FROM generate_series(1, 6000) i');
DELETE FROM vac WHERE a % 3 = 0;
SET maintenance_work_mem = '64kB';
SET min_parallel_index_scan_size = 0;
VACUUM (PARALLEL 2) vac;
RESET min_parallel_index_scan_size;
RESET maintenance_work_mem;
SELECT index, entries FROM vac_stats;
SELECT * FROM vac_check;

-- FULL makes the indexes afresh
VACUUM FULL vac;
SELECT index, entries, deleted_pages FROM vac_stats;
SELECT * FROM vac_check;

-- ANALYZE alone does not read them; nor does VACUUM with nothing to do
ANALYZE vac;
VACUUM vac;
SELECT relname, reltuples FROM pg_class WHERE relname LIKE 'vac\__' ORDER BY 1;

-- Temporary and unlogged tables
CREATE TEMP TABLE vac_temp (a int, b text);
CREATE INDEX ON vac_temp USING fpbtree (a);
CREATE INDEX ON vac_temp USING fpbtree (b);
CALL vac_insert('vac_temp SELECT i, i FROM generate_series(1, 10000) i');
DELETE FROM vac_temp WHERE a BETWEEN 100 AND 9900;
VACUUM vac_temp;
SELECT fpbtree_check('vac_temp_a_idx', true), fpbtree_check('vac_temp_b_idx', true);
SELECT entries, deleted_pages > 0 AS freed FROM fpbtree_stats('vac_temp_a_idx');
CREATE UNLOGGED TABLE vac_unlogged (a int);
CREATE INDEX ON vac_unlogged USING fpbtree (a);
INSERT INTO vac_unlogged SELECT generate_series(1, 10000);
DELETE FROM vac_unlogged WHERE a BETWEEN 100 AND 9900;
VACUUM vac_unlogged;
SELECT fpbtree_check('vac_unlogged_a_idx', true);
SELECT entries, deleted_pages > 0 AS freed FROM fpbtree_stats('vac_unlogged_a_idx');

-- Leaves each of which is followed by one before it in the file, as keys have
-- come in descending order: VACUUM comes to each page a few times only, and
-- counts no entry twice.  (That of a partial index is not corrected by the
-- number of rows.)
CREATE TABLE vac_down (a int) WITH (autovacuum_enabled = off);
CREATE INDEX vac_down_a ON vac_down USING fpbtree (a) WHERE a % 5 <> -1;
CALL vac_insert('vac_down SELECT -i FROM generate_series(1, 20000) i');
DELETE FROM vac_down WHERE a % 5 = 0;
SELECT count(*) > count(*) FILTER (WHERE right_block > b) * 2 AS descending
FROM generate_series(1, pg_relation_size('vac_down_a') / current_setting('block_size')::int - 1) b, fpbtree_page('vac_down_a', b)
WHERE kind = 'leaf';
SELECT pg_stat_force_next_flush();
SELECT idx_blks_hit + idx_blks_read AS before FROM pg_statio_user_indexes WHERE indexrelname = 'vac_down_a' \gset
VACUUM vac_down;
SELECT pg_stat_force_next_flush();
SELECT idx_blks_hit + idx_blks_read - :before < 5 * pg_relation_size('vac_down_a') / current_setting('block_size')::int AS few_visits
FROM pg_statio_user_indexes WHERE indexrelname = 'vac_down_a';
SELECT reltuples FROM pg_class WHERE relname = 'vac_down_a';

DROP VIEW vac_stats, vac_check;
DROP TABLE vac, vac_down, vac_unlogged, vac_temp, size, freed;
DROP FUNCTION vac_fill;
DROP PROCEDURE vac_insert;
