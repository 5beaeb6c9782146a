--
-- The operation queue: where entries are, and that every kind of scan sees each of them once, whatever the state of
-- the queue
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS fpbtree;
RESET client_min_messages;
SET fpbtree.default_operation_queue = auto;
-- nobody else is to move anything
SET fpbtree.queue_worker = off;

CREATE TABLE source (v int, w4 int, w8 int8, w16 uuid, t text COLLATE "C", d text COLLATE "C", n numeric, l text COLLATE "C");
INSERT INTO source
    SELECT i, i * 7919 % 9001, i * 104729 % 700, md5(i::text)::uuid, 'key ' || i * 7919 % 9001, repeat('d', i % 9), i * 7919 % 811 / 10.0,
        md5(i::text) || repeat(md5((i % 7)::text), i % 40)
    FROM generate_series(1, 9000) i;
INSERT INTO source VALUES (0), (9001), (9002);

-- What the index on k's columns answers, forward, backward, in a range, for some keys, by a bitmap, and from the index
-- alone, against what a sort of the table says; text tells what is wrong
CREATE FUNCTION ask(query text, VARIADIC settings text[]) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    s text;
    answer text;
BEGIN
    FOREACH s IN ARRAY ARRAY['seqscan', 'indexscan', 'indexonlyscan', 'bitmapscan', 'sort'] LOOP
        PERFORM set_config('enable_' || s, CASE WHEN s = ANY (settings) THEN 'on' ELSE 'off' END, true);
    END LOOP;
    EXECUTE 'SELECT count(*) || '' '' || coalesce(md5(string_agg(x::text, '','')), '''') FROM (' || query || ') x' INTO answer;
    FOREACH s IN ARRAY ARRAY['seqscan', 'indexscan', 'indexonlyscan', 'bitmapscan', 'sort'] LOOP
        PERFORM set_config('enable_' || s, 'on', true);
    END LOOP;
    RETURN answer;
END $$;
CREATE FUNCTION wrong_answers(moment text, elements text, backward text, wheres text[]) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
    columns text := regexp_replace(elements, ' (DESC|ASC|NULLS FIRST|NULLS LAST)', '', 'g');
    w text;
    q text;
    want text;
BEGIN
    PERFORM fpbtree_check('queued_k', true);
    FOREACH w IN ARRAY wheres || ARRAY['true'] LOOP
        q := format('SELECT %s, ctid FROM queued WHERE %s ORDER BY %s, ctid', columns, w, elements);
        want := ask(q, 'seqscan', 'sort');
        -- a TID is no column of the index, and so its order is looked at where scans keep it
        IF ask(format('SELECT %s, ctid FROM queued WHERE %s ORDER BY %s', columns, w, elements), 'indexscan') <> want THEN
            RETURN NEXT format('%s, %s, forward: index %s, table %s', moment, w,
                               ask(format('SELECT %s, ctid FROM queued WHERE %s ORDER BY %s', columns, w, elements), 'indexscan'), want);
        END IF;
        IF ask(format('SELECT %s, ctid FROM queued WHERE %s ORDER BY %s', columns, w, backward), 'indexscan')
            <> ask(format('SELECT %s, ctid FROM queued WHERE %s ORDER BY %s, ctid DESC', columns, w, backward), 'seqscan', 'sort') THEN
            RETURN NEXT format('%s, %s, backward', moment, w);
        END IF;
        IF ask(format('SELECT %s FROM queued WHERE %s ORDER BY %s', columns, w, elements), 'indexonlyscan')
            <> ask(format('SELECT %s FROM queued WHERE %s ORDER BY %s', columns, w, elements), 'seqscan', 'sort') THEN
            RETURN NEXT format('%s, %s, index alone', moment, w);
        END IF;
        IF ask(q, 'bitmapscan', 'sort') <> want THEN
            RETURN NEXT format('%s, %s, bitmap', moment, w);
        END IF;
    END LOOP;
END $$;

-- Each key form and layout, the queue filled, overflowing, vacuumed, switched off, on again, and flushed
-- (as many rows as fill a queue of four pages, or two large ones)
CREATE TABLE queue_rows AS SELECT * FROM source WHERE v <= 4500 * greatest(1, current_setting('block_size')::int / 16384) OR w4 IS NULL;
CREATE TABLE queued ();
CREATE FUNCTION try_queue(layout text, elements text, backward text, extra text, wheres text[]) RETURNS text LANGUAGE plpgsql SET client_min_messages = warning AS $$
DECLARE
    s record;
    wrong text[] := '{}';
    states text := '';
BEGIN
    DROP TABLE queued;
    CREATE TABLE queued (LIKE source) WITH (autovacuum_enabled = off);
    INSERT INTO queued SELECT * FROM queue_rows WHERE v % 3 = 0;
    EXECUTE format('CREATE INDEX queued_k ON queued USING fpbtree (%s) %s WITH (layout = %s, operation_queue = on, opq_size = %s, queue_tiers = %s)', elements, extra, layout,
                   greatest(32, current_setting('block_size')::int / 512), 1 + length(elements) % 2);
    FOR step IN 1..6 LOOP
        CASE step
            WHEN 1 THEN INSERT INTO queued SELECT * FROM queue_rows WHERE v % 9 = 1;
            WHEN 2 THEN INSERT INTO queued SELECT * FROM queue_rows WHERE v % 9 <> 1 AND v % 3 = 1 ORDER BY v DESC;
            WHEN 3 THEN DELETE FROM queued WHERE v % 5 = 0 OR w4 BETWEEN 1000 AND 3000;
            WHEN 4 THEN ALTER INDEX queued_k SET (operation_queue = off); INSERT INTO queued SELECT * FROM queue_rows WHERE v % 12 = 2;
            WHEN 5 THEN ALTER INDEX queued_k SET (operation_queue = on); INSERT INTO queued SELECT * FROM queue_rows WHERE v % 12 = 5;
            WHEN 6 THEN PERFORM fpbtree_flush('queued_k');
        END CASE;
        SELECT queue_entries > 0 AS queued, entries >= (SELECT count(*) FROM queued) AS complete
            INTO s FROM fpbtree_stats('queued_k');
        states := states || CASE WHEN s.queued THEN 'q' ELSE '-' END || CASE WHEN s.complete THEN '' ELSE '?' END || ' ';
        wrong := wrong || ARRAY(SELECT wrong_answers('step ' || step, elements, backward, wheres));
    END LOOP;
    RETURN states || array_to_string(wrong, '; ');
END $$;
-- plain functions can't VACUUM: dead entries are looked at by the check, and VACUUM has its turn below
SELECT name, layout, extra, try_queue(layout, elements, backward, extra, wheres)
FROM (VALUES
    (1, '4 bytes', 'w4', 'w4 DESC', '{w4 > 4000, w4 < 2000 or w4 is null, w4 between 3000 and 7000}'::text[]),
    (2, '4 bytes, descending', 'w4 DESC NULLS LAST', 'w4 NULLS FIRST', '{w4 > 4000, "w4 = ANY (''{7,500,501,999,4000,4001,8999}'')"}'),
    (3, '8 bytes, duplicates', 'w8', 'w8 DESC', '{w8 > 300, w8 between 77 and 77, "w8 = ANY (''{1,2,3,100,250,333,334,699}'')"}'),
    (4, 'uuid', 'w16', 'w16 DESC', '{w16 > ''80000000-0000-0000-0000-000000000000'', w16 is null}'),
    (5, 'text', 't', 't DESC', '{t > ''key 5'', t <= ''key 3''}'),
    (6, 'long text', 'l', 'l DESC', '{l > ''c'', l < ''3''}'),
    (7, 'few texts', 'd', 'd DESC', '{d > ''ddd'', d between '''' and ''''}'),
    (8, 'numeric', 'n', 'n DESC', '{n > 40.5, n between 12.7 and 12.7}'),
    (9, 'two columns', 'd, w4', 'd DESC, w4 DESC', '{d = ''dd'', d >= ''dd'' and w4 < 5000}')) AS f (no, name, elements, backward, wheres),
    (VALUES (1, 'disk_first'), (2, 'cache_first'), (3, 'micro_index')) AS l (no, layout),
    (VALUES (1, ''), (2, 'INCLUDE (v)')) AS e (no, extra)
WHERE (l.no = 1 OR f.no IN (1, 3, 5, 9)) AND (e.no = 1 OR f.no IN (1, 9))
ORDER BY f.no, l.no, e.no;

-- VACUUM with entries in both trees
DROP TABLE queued;
CREATE TABLE queued (LIKE source) WITH (autovacuum_enabled = off);
CREATE INDEX queued_k ON queued USING fpbtree (w4) WITH (operation_queue = on, opq_size = 64);
CREATE INDEX queued_t ON queued USING fpbtree (t) WITH (operation_queue = on, opq_size = 64);
INSERT INTO queued SELECT * FROM source;
DELETE FROM queued WHERE v % 3 = 0;
VACUUM queued;
SELECT entries, queue_entries > 0 AS queued FROM fpbtree_stats('queued_k');
SELECT entries, queue_entries > 0 AS queued FROM fpbtree_stats('queued_t');
INSERT INTO queued SELECT * FROM source WHERE v % 3 = 0;
SELECT wrong_answers('TIDs used again', 'w4', 'w4 DESC', '{w4 > 4000}');
SELECT fpbtree_check('queued_t', true);
DELETE FROM queued;
VACUUM queued;
SELECT entries, queue_entries, queue_pages > 0 AS queue FROM fpbtree_stats('queued_k');
SELECT fpbtree_flush('queued_k');
SELECT queue_pages, entries FROM fpbtree_stats('queued_k');
SELECT fpbtree_check('queued_k', true);

-- A cursor that goes to and fro while the queue is emptied behind it, and filled again
INSERT INTO queued SELECT * FROM source WHERE v BETWEEN 1 AND 3000;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SET enable_sort = off;
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT w4 FROM queued WHERE w4 IS NOT NULL ORDER BY w4;
FETCH 3 FROM c;
MOVE 700 FROM c;
FETCH 2 FROM c;
SELECT fpbtree_flush('queued_k') > 0 AS flushed;
FETCH 3 FROM c;
MOVE BACKWARD 600 FROM c;
INSERT INTO queued SELECT * FROM source WHERE v > 3000;
FETCH 3 FROM c;
SELECT fpbtree_flush('queued_k') > 0 AS flushed;
MOVE BACKWARD 600 FROM c;
FETCH 3 FROM c;
MOVE FORWARD ALL FROM c;
FETCH BACKWARD 3 FROM c;
COMMIT;

-- One over so many values that whole leaves are read: it goes back into a leaf that has the queue's entries by then, and
-- goes on beyond where the queue's leaf ended, amid the entries of a value
CREATE TABLE dense WITH (autovacuum_enabled = off) AS SELECT -i AS k, 'v' AS v FROM generate_series(5, 3000) i;
CREATE INDEX dense_k ON dense USING fpbtree (k) WITH (operation_queue = on, opq_size = 64);
INSERT INTO dense SELECT i / 2 - 550, 'v' FROM generate_series(0, 1000) i;
INSERT INTO dense SELECT i, 'v' FROM generate_series(1, 12) i;
INSERT INTO dense SELECT 13, 'v' FROM generate_series(1, 1500) i;
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT k, v FROM dense WHERE k = ANY ('{1,2,3,4,5,6,7,8,9,10,11,12,13,14,15}') ORDER BY k;
MOVE 100 FROM c;
SELECT fpbtree_flush('dense_k') > 0 AS flushed;
MOVE BACKWARD 95 FROM c;
FETCH BACKWARD 5 FROM c;
COMMIT;

-- Mark and restore: duplicates on both sides
CREATE TABLE marked AS SELECT w8 AS k FROM source WHERE v % 10 = 0;
CREATE INDEX marked_k ON marked USING fpbtree (k) WITH (operation_queue = on, opq_size = 64);
INSERT INTO marked SELECT w8 FROM source WHERE v % 10 = 1;
SET enable_hashjoin = off;
SET enable_nestloop = off;
SET fpbtree.enable_batch_join = off;
SET enable_material = off;
EXPLAIN (COSTS OFF) SELECT count(*), sum(a.k) FROM marked a JOIN marked b USING (k);
SELECT count(*), sum(a.k) FROM marked a JOIN marked b USING (k);
RESET enable_hashjoin;
RESET enable_nestloop;
SET enable_mergejoin = off;
SET enable_indexscan = off;
SET enable_indexonlyscan = off;
SELECT count(*), sum(a.k) FROM marked a JOIN marked b USING (k);
RESET ALL;
SET fpbtree.default_operation_queue = auto;
SET fpbtree.queue_worker = off;

-- A parallel scan
SET min_parallel_table_scan_size = 0;
SET min_parallel_index_scan_size = 0;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
INSERT INTO queued SELECT * FROM source;
EXPLAIN (COSTS OFF) SELECT count(*), sum(w4), sum(v) FROM queued WHERE w4 > 100;
SELECT count(*), sum(w4), sum(v) FROM queued WHERE w4 > 100;
SELECT queue_entries > 0 AS queued FROM fpbtree_stats('queued_k');
SET enable_indexscan = off;
SET enable_seqscan = on;
SELECT count(*), sum(w4), sum(v) FROM queued WHERE w4 > 100;
RESET ALL;
SET fpbtree.queue_worker = off;

-- Unique indexes (sql/queue_unique), and those without a queue; those that are made anew have none at first
SET client_min_messages = error;
CREATE UNIQUE INDEX queued_u ON source USING fpbtree (v) WITH (operation_queue = on);
INSERT INTO source VALUES (10000);
SELECT operation_queue, queue_limit, queue_pages FROM fpbtree_stats('queued_u');
SELECT fpbtree_flush('queued_u');
CREATE TEMP TABLE passing (k int);
CREATE INDEX passing_k ON passing USING fpbtree (k) WITH (operation_queue = on);
RESET client_min_messages;
INSERT INTO passing SELECT generate_series(1, 1000);
SELECT operation_queue, queue_limit, queue_pages, entries FROM fpbtree_stats('passing_k');
CREATE UNLOGGED TABLE unlogged_queued (k int);
CREATE INDEX unlogged_queued_k ON unlogged_queued USING fpbtree (k) WITH (operation_queue = on, opq_size = 64);
INSERT INTO unlogged_queued SELECT i * 7919 % 9001 FROM generate_series(1, 9000) i;
SELECT operation_queue, queue_limit * current_setting('block_size')::int / 1024 AS limit_kb, queue_pages > 0 AS queue, queue_entries > 0 AS queued, entries
FROM fpbtree_stats('unlogged_queued_k');
SELECT fpbtree_check('unlogged_queued_k', true);
REINDEX INDEX unlogged_queued_k;
SELECT queue_pages, entries FROM fpbtree_stats('unlogged_queued_k');
CLUSTER queued USING queued_k;
SELECT queue_pages, entries FROM fpbtree_stats('queued_k');
SELECT fpbtree_check('queued_k', true), fpbtree_check('queued_t', true);

-- CREATE INDEX CONCURRENTLY, with entries that wait in another index's queue; exclusion constraints
INSERT INTO queued SELECT * FROM source WHERE v % 7 = 0;
CREATE INDEX CONCURRENTLY queued_c ON queued USING fpbtree (w4, t) WITH (operation_queue = on);
REINDEX INDEX CONCURRENTLY queued_k;
SELECT fpbtree_check('queued_c', true), fpbtree_check('queued_k', true);
CREATE TABLE excluded (k int, EXCLUDE USING fpbtree (k WITH =) WITH (operation_queue = on, opq_size = 64));
INSERT INTO excluded SELECT i * 7919 % 9001 FROM generate_series(1, 5000) i;
SELECT queue_entries > 0 AS queued, entries FROM fpbtree_stats('excluded_k_excl');
INSERT INTO excluded SELECT i * 7919 % 9001 FROM generate_series(1, 9000, 777) i;
INSERT INTO excluded SELECT i * 7919 % 9001 FROM generate_series(4990, 5100) i;
INSERT INTO excluded SELECT i * 7919 % 9001 FROM generate_series(5001, 6000) i;
SELECT entries > 6000 AS entries, fpbtree_check('excluded_k_excl', true) FROM fpbtree_stats('excluded_k_excl');

-- Options out of range; who may flush
ALTER INDEX queued_k SET (operation_queue = perhaps);
ALTER INDEX queued_k SET (opq_size = -1);
ALTER INDEX queued_k SET (opq_size = 1000000000);
SELECT queue_limit * current_setting('block_size')::int / 1024 FROM fpbtree_stats('queued_k');
SET fpbtree.default_operation_queue = perhaps;
CREATE ROLE regress_fpbtree_other;
SET ROLE regress_fpbtree_other;
SELECT fpbtree_flush('queued_k');
RESET ROLE;
SELECT fpbtree_flush('source');
SELECT fpbtree_flush(NULL) IS NULL AS nothing;
DROP ROLE regress_fpbtree_other;

-- What a queue would be worth: not for everybody, nor for all indexes (t/071_queue_worker has more)
\set VERBOSITY sqlstate
SELECT * FROM fpbtree_queue_advice('queued_u');
SELECT * FROM fpbtree_queue_advice('passing_k');
SELECT * FROM fpbtree_queue_advice('queued_k', 1.5);
SELECT * FROM fpbtree_queue_advice('queued_k', 'NaN');
SELECT * FROM fpbtree_queue_advice('pg_class');
SELECT has_function_privilege('public', 'fpbtree_queue_advice(regclass, float8)', 'EXECUTE') AS advice,
	has_function_privilege('public', 'fpbtree_flush_progress()', 'EXECUTE') AS progress;
\set VERBOSITY default
SELECT count(*) FROM fpbtree_flush_progress();

-- What goes on, told without reading a page
SELECT fpbtree_flush('queued_k') >= 0 AS flushed;
SELECT queue_pages, queue_entries, worker FROM fpbtree_activity() WHERE index = 'queued_k'::regclass;
INSERT INTO queued SELECT * FROM source;
DELETE FROM queued WHERE v % 2 = 0;
VACUUM queued;
SELECT a.queue_pages = s.queue_pages AS pages, a.queue_entries = s.queue_entries AS entries, a.queue_moved = s.queue_moved AS moved, s.queue_pages > 2 AS queued
FROM fpbtree_activity() a, fpbtree_stats('queued_k') s WHERE a.index = 'queued_k'::regclass;
BEGIN;
SELECT pg_stat_get_xact_blocks_fetched('queued_k'::regclass) AS before \gset
SELECT worker, failures, retry_at, last_error, last_error_at, failed_blocks FROM fpbtree_activity() WHERE index = 'queued_k'::regclass;
SELECT pg_stat_get_xact_blocks_fetched('queued_k'::regclass) - :before AS pages_read;
COMMIT;

DROP TABLE source, queue_rows, queued, marked, unlogged_queued, excluded;
DROP FUNCTION ask, wrong_answers, try_queue;
