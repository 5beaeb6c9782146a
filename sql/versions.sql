--
-- Dead versions of updated rows: they are removed from the indexes on columns
-- that the updates did not touch before a leaf is split for them, so that these
-- indexes don't grow, and nobody misses a row for it.
--
-- What is dead in a temporary table is no matter of other sessions.
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS fpbtree;
RESET client_min_messages;

CREATE SCHEMA versions;
SET search_path = versions, public;
SET max_parallel_workers_per_gather = 0;
SET jit = off;

-- a row is spread over so many bytes that the updates are not all on one page
CREATE FUNCTION many() RETURNS int LANGUAGE sql IMMUTABLE AS $$ SELECT least(current_setting('block_size')::int, 8192) $$;
CREATE FUNCTION long(i int) RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT md5(i::text) || md5(i::text || 'x') $$;

-- The same table for both access methods.  v and w have few values, w in the
-- order of the rows; e is of an expression, p partial, u what is updated.
CREATE PROCEDURE fill(am text) LANGUAGE plpgsql SET client_min_messages = error AS $$
BEGIN
    EXECUTE format('CREATE TEMP TABLE t_%s (id int, r int8, x text COLLATE "C", v int, w text COLLATE "C", g uuid, u int) WITH (autovacuum_enabled = off)', am);
    EXECUTE format('INSERT INTO t_%s SELECT i, hashint8extended(i, 7), long(i), abs(hashint4(i)) %% 40, ''status '' || i * 10 / many(), md5(i::text)::uuid, 0 FROM generate_series(1, many()) i', am);
    EXECUTE format('CREATE UNIQUE INDEX t_%s_d ON t_%1$s USING %1$s (id)', am);
    EXECUTE format('CREATE INDEX t_%s_r ON t_%1$s USING %1$s (r)', am);
    EXECUTE format('CREATE INDEX t_%s_x ON t_%1$s USING %1$s (x)', am);
    EXECUTE format('CREATE INDEX t_%s_v ON t_%1$s USING %1$s (v)', am);
    EXECUTE format('CREATE INDEX t_%s_w ON t_%1$s USING %1$s (w)', am);
    EXECUTE format('CREATE INDEX t_%s_g ON t_%1$s USING %1$s (g DESC)', am);
    EXECUTE format('CREATE INDEX t_%s_e ON t_%1$s USING %1$s ((id / 3))', am);
    EXECUTE format('CREATE INDEX t_%s_p ON t_%1$s USING %1$s (r) WHERE v < 10', am);
    EXECUTE format('CREATE INDEX t_%s_i ON t_%1$s USING %1$s (id) INCLUDE (v)', am);
    EXECUTE format('CREATE INDEX t_%s_u ON t_%1$s USING %1$s (u)', am);
END $$;
-- Every row is updated some times, and every update begins anew.  What is checked of each change, if anything is, takes
-- most of the time: it is left to the last round.
CREATE PROCEDURE churn(am text, rounds int) LANGUAGE plpgsql AS $$
BEGIN
    FOR r IN 1..rounds LOOP
        PERFORM set_config(name, CASE WHEN r < rounds THEN 'off' ELSE reset_val END, false) FROM pg_settings WHERE name = 'fpbtree.verify_changes';
        FOR part IN 0..49 LOOP
            EXECUTE format('UPDATE t_%s SET u = u + 1 WHERE (id * 7 + $1) %% 50 = $2', am) USING r, part;
            COMMIT;
        END LOOP;
    END LOOP;
END $$;
CREATE FUNCTION pages(am text) RETURNS TABLE (index text, pages bigint) LANGUAGE sql AS $$
    SELECT substr(relname, length(am) + 4), pg_relation_size(oid) / current_setting('block_size')::int
    FROM pg_class WHERE relname LIKE format('t\_%s\__', am)
$$;

CALL fill('fpbtree');
CALL fill('btree');
CREATE TEMP TABLE before AS SELECT 'fpbtree' AS am, * FROM pages('fpbtree') UNION ALL SELECT 'btree', * FROM pages('btree');
CALL churn('fpbtree', 4);
CALL churn('btree', 4);
-- No index on a column left alone is larger than btree's, or has grown more.
-- (Not so with pages of other sizes: of 32 kB, full ones of text are split where
-- btree's are not, and micro_index shares no duplicates; of 4 kB, those of wide
-- words and of INCLUDE columns.)
SELECT index, f.pages <= b.pages OR f.pages * bb.pages <= b.pages * fb.pages OR
    (current_setting('block_size')::int = 32768 AND f.pages <= CASE layout WHEN 'micro_index' THEN 6 ELSE 2 END * b.pages) OR
    (current_setting('block_size')::int = 4096 AND f.pages <= 1.5 * b.pages) AS small
FROM pages('fpbtree') f JOIN pages('btree') b USING (index)
    JOIN before fb USING (index) JOIN before bb USING (index), (SELECT layout FROM fpbtree_stats('t_fpbtree_w')) l
WHERE index <> 'u' AND fb.am = 'fpbtree' AND bb.am = 'btree' ORDER BY 1;
-- That of different texts has not grown at all: its leaves need not be split for
-- want of room at the right place.  (Pages of 4 kB are, and those of micro_index.)
SELECT f.pages <= 1.1 * b.pages OR current_setting('block_size')::int <> 8192 OR layout = 'micro_index' AS small
FROM pages('fpbtree') f JOIN before b USING (index), fpbtree_stats('t_fpbtree_x') WHERE index = 'x' AND am = 'fpbtree';

-- Nor has one of numbers that three rows share, of which many are updated at once:
-- a leaf in which these have left room elsewhere is made afresh.  (Pages of other
-- sizes are split.  Each change being verified takes most of the time.)
CREATE TEMP TABLE three (id int, u int, g uuid, r int8) WITH (autovacuum_enabled = off);
INSERT INTO three SELECT i, 0, md5(i::text)::uuid, i FROM generate_series(1, 4096) i;
CREATE INDEX three_k ON three USING fpbtree ((id / 3));
CREATE INDEX three_u ON three (u);
CREATE TEMP TABLE three_before AS SELECT pg_relation_size('three_k') AS size;
SELECT count(set_config(name, 'off', false)) >= 0 AS quick FROM pg_settings WHERE name = 'fpbtree.verify_changes';
DO $$
BEGIN
    FOR round IN 1..6 LOOP
        FOR part IN 0..7 LOOP
            UPDATE three SET u = u + 1 WHERE (id * 7 + round) % 8 = part;
            COMMIT;
        END LOOP;
    END LOOP;
END $$;
SELECT count(set_config(name, reset_val, false)) >= 0 AS verified FROM pg_settings WHERE name = 'fpbtree.verify_changes';
SELECT pg_relation_size('three_k') <= 1.15 * size OR current_setting('block_size')::int <> 8192 OR layout = 'micro_index' AS small
FROM three_before, fpbtree_stats('three_k');
SELECT fpbtree_check('three_k', true);

-- They are sound, and find what is in the table.
SELECT count(fpbtree_check(c.oid, true)) AS sound FROM pg_class c WHERE relname ~ '^t_fpbtree_.$';
CREATE FUNCTION answers(am text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
    condition text;
    answer text;
BEGIN
    FOREACH condition IN ARRAY ARRAY['id > 0', 'r > -9223372036854775807', 'x > ''''', 'v >= 0', 'w > ''''',
        'g > ''00000000-0000-0000-0000-000000000000''', 'id / 3 >= 0', 'r < 9223372036854775807 AND v < 10', 'u > 0',
        'id = 4711 % many()', 'x = long(77)', 'v = 17', 'w = ''status 5''']
    LOOP
        EXECUTE format('SELECT count(*) || '' '' || count(DISTINCT id) || '' '' || sum(id) || '' '' || sum(u) FROM t_%s WHERE %s', am, condition)
            INTO answer;
        RETURN NEXT condition || ': ' || answer;
    END LOOP;
END $$;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
CREATE TEMP TABLE by_index AS SELECT * FROM answers('fpbtree') a;
SET enable_seqscan = on;
SET enable_indexscan = off;
SET enable_indexonlyscan = off;
SELECT count(*) AS answers, count(*) FILTER (WHERE i.a = s.a) AS equal
FROM (SELECT a, row_number() OVER () n FROM by_index) i JOIN (SELECT a, row_number() OVER () n FROM answers('fpbtree') a) s USING (n);
RESET enable_seqscan;
RESET enable_bitmapscan;
RESET enable_indexscan;
RESET enable_indexonlyscan;

-- A key that was a row's can be another's: a unique index loses entries of dead
-- rows alone.
INSERT INTO t_fpbtree (id) VALUES (17);
BEGIN;
DELETE FROM t_fpbtree WHERE id = 17;
INSERT INTO t_fpbtree (id) VALUES (17);
ROLLBACK;
INSERT INTO t_fpbtree (id) VALUES (17);

-- Rows that subtransactions have inserted in vain, and scans found dead.
CREATE TABLE aborted (k int) WITH (autovacuum_enabled = off);
CREATE INDEX aborted_k ON aborted USING fpbtree (k);
INSERT INTO aborted VALUES (-1);
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SET enable_indexonlyscan = off;
DO $$
BEGIN
    FOR i IN 1..100 LOOP
        BEGIN
            PERFORM FROM aborted WHERE k BETWEEN 1 AND 99;
            INSERT INTO aborted SELECT n FROM generate_series(1, 100) n;
            RAISE division_by_zero;
        EXCEPTION WHEN division_by_zero THEN
        END;
    END LOOP;
END $$;
SELECT blocks FROM fpbtree_stats('aborted_k');
SELECT count(*) FROM aborted WHERE k > -2;
SELECT fpbtree_check('aborted_k', true);

-- A leaf is split although a few entries of dead versions have been removed: the
-- new row's entry goes where it belongs all the same.
CREATE TABLE few (k int, v int) WITH (autovacuum_enabled = off);
CREATE INDEX few_v ON few (v);
CREATE PROCEDURE split_with_few_dead(layout text) LANGUAGE plpgsql AS $$
DECLARE
    n CONSTANT int := current_setting('block_size')::int * 600 / 8192;
BEGIN
    TRUNCATE few;
    EXECUTE format('CREATE UNIQUE INDEX few_k ON few USING fpbtree (k) WITH (%s)', layout);
    INSERT INTO few SELECT 2 * g, g FROM generate_series(1, n) g;
    COMMIT;
    UPDATE few SET v = -1 WHERE k = 2;
    COMMIT;
    FOR i IN 1 .. n - 1 LOOP
        INSERT INTO few VALUES (CASE WHEN i <= n * 3 / 10 THEN 2 * i + 1 ELSE 2 * (n + n * 3 / 10 - i) + 1 END, i);
        COMMIT;
    END LOOP;
    PERFORM fpbtree_check('few_k', true);
    DROP INDEX few_k;
END $$;
SET client_min_messages = error;
CALL split_with_few_dead('layout = disk_first');
CALL split_with_few_dead('layout = disk_first, node_format = csb');
CALL split_with_few_dead('layout = micro_index');
CALL split_with_few_dead('layout = cache_first');
RESET client_min_messages;

-- After many splits in which nothing was dead, what has died since is found again.
CREATE TEMP TABLE vain (k int, i int) WITH (autovacuum_enabled = off);
CREATE INDEX vain_k ON vain USING fpbtree (k) WITH (layout = disk_first);
INSERT INTO vain SELECT abs(hashint4(i)) % 1000, i FROM generate_series(1, 2 * many()) i;
DELETE FROM vain;
INSERT INTO vain SELECT abs(hashint4(i)) % 1000, i FROM generate_series(1, 2 * many()) i;
SELECT entries < 4 * many() AS some_are_gone, fpbtree_check('vain_k', true) FROM fpbtree_stats('vain_k');
DROP TABLE vain;

-- A page of the table that somebody has pinned, be it ourselves, stays as it is:
-- the query has read all columns of a row, and still wants pad after an insertion
-- has looked for dead rows.  Afterwards they can go.
CREATE TEMP TABLE pinned (id int, k text STORAGE plain COLLATE "C", v int, pad text STORAGE plain) WITH (autovacuum_enabled = off);
CREATE INDEX pinned_k ON pinned USING fpbtree (k) INCLUDE (v);
CREATE FUNCTION pinned_insert(first int, last int, part numeric) RETURNS void LANGUAGE sql AS $$
    INSERT INTO pinned SELECT i, repeat('k', current_setting('block_size')::int / 19), 0,
        repeat(chr(96 + i), (current_setting('block_size')::int * part)::int)
    FROM generate_series(first, last) i
$$;
SELECT pinned_insert(1, 10, 0.02);
DELETE FROM pinned WHERE id = 2;
SELECT count(DISTINCT (ctid::text::point)[0]) AS pages FROM pinned;
SELECT id, CASE WHEN id = 5 THEN pinned_insert(11, 26, 0.45) END, pad ~ ('^' || chr(96 + id) || '+$') AS intact FROM pinned WHERE id <= 10;
SELECT entries - (SELECT count(*) FROM pinned) AS dead, leaf_pages FROM fpbtree_stats('pinned_k');
TRUNCATE pinned;
SELECT pinned_insert(1, 10, 0.02);
DELETE FROM pinned WHERE id = 2;
SELECT pinned_insert(11, 26, 0.45);
SELECT entries - (SELECT count(*) FROM pinned) AS dead, leaf_pages FROM fpbtree_stats('pinned_k');
RESET enable_seqscan;
RESET enable_bitmapscan;
RESET enable_indexonlyscan;

SET client_min_messages = warning;
DROP SCHEMA versions CASCADE;
DROP TABLE t_fpbtree, t_btree;
