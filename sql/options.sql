--
-- Storage parameters
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS fpbtree;
RESET client_min_messages;

CREATE TABLE opts (a int8, b text);
INSERT INTO opts SELECT i * 7919 % 20011, i FROM generate_series(1, 20000) i;

-- Everything that is allowed.  How wide nodes can be depends on the size of pages.
SET client_min_messages = warning;
CREATE INDEX opts_none ON opts USING fpbtree (a);
CREATE INDEX opts_low ON opts USING fpbtree (a) WITH (fillfactor = 10);
CREATE INDEX opts_high ON opts USING fpbtree (a) WITH (fillfactor = 100);
CREATE INDEX opts_narrow ON opts USING fpbtree (a) WITH (leaf_lines = 1);
CREATE INDEX opts_wide ON opts USING fpbtree (a) WITH (leaf_lines = 32);
CREATE INDEX opts_all ON opts USING fpbtree (a, b)
    WITH (layout = disk_first, leaf_lines = 0, fillfactor = 70);
RESET client_min_messages;
CREATE INDEX opts_case ON opts USING fpbtree (b) WITH (Layout = 'Disk_First');
SELECT relname, reloptions FROM pg_class WHERE relname LIKE 'opts\_%' ORDER BY relname;

-- The fill factor is obeyed
SELECT pg_relation_size('opts_low') > 5 * pg_relation_size('opts_none') AS sparse,
       pg_relation_size('opts_high') <= pg_relation_size('opts_none') AS dense;

-- Whatever the parameters, the answers are the same
DROP INDEX opts_none, opts_low, opts_high, opts_narrow, opts_wide, opts_all;
SET enable_seqscan = off;
SET client_min_messages = warning;
DO $$
DECLARE
    parameters text;
    n bigint;
BEGIN
    FOREACH parameters IN ARRAY ARRAY['fillfactor = 10', 'fillfactor = 100', 'leaf_lines = 1', 'leaf_lines = 2',
                                      'leaf_lines = 3', 'leaf_lines = 9', 'leaf_lines = 31', 'leaf_lines = 32',
                                      'leaf_lines = 1, fillfactor = 100', 'leaf_lines = 32, fillfactor = 10',
                                      'node_search = bisecting', 'node_prefetch = off', 'node_search = bisecting, node_prefetch = off',
                                      'layout = micro_index, node_search = bisecting, node_prefetch = off',
                                      'layout = cache_first, node_search = bisecting, node_prefetch = off'] LOOP
        EXECUTE format('CREATE INDEX opts_one ON opts USING fpbtree (a) WITH (%s)', parameters);
        SELECT count(*) INTO n FROM opts WHERE a BETWEEN 1000 AND 1999;
        IF n <> 1000 THEN
            RAISE WARNING 'with %: %', parameters, n;
        END IF;
        DROP INDEX opts_one;
    END LOOP;
END $$;
RESET client_min_messages;
RESET enable_seqscan;
SELECT count(*) FROM opts WHERE a BETWEEN 1000 AND 1999;

CREATE INDEX opts_none ON opts USING fpbtree (a);
CREATE INDEX opts_high ON opts USING fpbtree (a) WITH (fillfactor = 100);
CREATE INDEX opts_all ON opts USING fpbtree (a, b) WITH (layout = disk_first);

-- What is not
CREATE INDEX bad ON opts USING fpbtree (a) WITH (fillfactor = 9);
CREATE INDEX bad ON opts USING fpbtree (a) WITH (fillfactor = 101);
CREATE INDEX bad ON opts USING fpbtree (a) WITH (fillfactor = 'much');
CREATE INDEX bad ON opts USING fpbtree (a) WITH (leaf_lines = -1);
CREATE INDEX bad ON opts USING fpbtree (a) WITH (leaf_lines = 33);
CREATE INDEX bad ON opts USING fpbtree (a) WITH (leaf_lines);
CREATE INDEX bad ON opts USING fpbtree (a) WITH (layout = 'cache_second');
CREATE INDEX bad ON opts USING fpbtree (a) WITH (layout = '');
CREATE INDEX bad ON opts USING fpbtree (a) WITH (node_search = 'guessing');
CREATE INDEX bad ON opts USING fpbtree (a) WITH (node_prefetch = 'sometimes');
CREATE INDEX bad ON opts USING fpbtree (a) WITH (layout = disk_first, layout = disk_first);
CREATE INDEX bad ON opts USING fpbtree (a) WITH (deduplicate_items = sometimes);
CREATE INDEX bad ON opts USING fpbtree (a) WITH (colour = blue);
CREATE INDEX bad ON opts USING fpbtree (a) WITH (fpbtree.fillfactor = 50);
ALTER INDEX opts_none SET (fillfactor = 1000);
ALTER INDEX opts_none SET (layout = heap);
ALTER INDEX opts_none RESET (colour);
SELECT relname FROM pg_class WHERE relname = 'bad';

-- btree's, without any effect
CREATE TABLE opts_same AS SELECT i % 7 AS k FROM generate_series(1, 10000) i;
CREATE INDEX opts_same_off ON opts_same USING fpbtree (k) WITH (deduplicate_items = off);
CREATE INDEX opts_same_on ON opts_same USING fpbtree (k) WITH (deduplicate_items = on);
SELECT pg_relation_size('opts_same_off') = pg_relation_size('opts_same_on') AS same;
ALTER INDEX opts_same_off RESET (deduplicate_items);
DROP TABLE opts_same;

-- Changes take effect at the next REINDEX
ALTER INDEX opts_none SET (fillfactor = 20, leaf_lines = 3);
SELECT pg_relation_size('opts_none') < 2 * pg_relation_size('opts_high') AS unchanged;
REINDEX INDEX opts_none;
SELECT pg_relation_size('opts_none') > 3 * pg_relation_size('opts_high') AS rebuilt;
ALTER INDEX opts_none RESET (fillfactor, leaf_lines);
ALTER INDEX opts_none SET (node_search = bisecting, node_prefetch = off);
SELECT node_search, node_prefetch FROM fpbtree_stats('opts_none');
REINDEX INDEX opts_none;
SELECT node_search, node_prefetch FROM fpbtree_stats('opts_none');
\c -
SELECT node_search, node_prefetch FROM fpbtree_stats('opts_none');
ALTER INDEX opts_none RESET (node_search, node_prefetch);
REINDEX INDEX opts_none;
SELECT node_search, node_prefetch FROM fpbtree_stats('opts_none');
SELECT pg_relation_size('opts_none') < 2 * pg_relation_size('opts_high') AS rebuilt;
SELECT reloptions FROM pg_class WHERE relname = 'opts_none';

-- What is accepted and not in force is told
CREATE TABLE told (a int4, b text);
INSERT INTO told VALUES (1, 'one');
CREATE INDEX told_btree ON told USING btree (a);
CREATE INDEX told_layout ON told USING fpbtree (b) WITH (layout = cache_first);
CREATE INDEX told_format ON told USING fpbtree (a) WITH (layout = micro_index, node_format = csb);
REINDEX INDEX told_format;
ALTER INDEX told_format SET (layout = disk_first, leaf_lines = 4);
ALTER INDEX told_format SET (layout = disk_first, fillfactor = 80, operation_queue = on);
ALTER INDEX told_format RESET (leaf_lines, node_format);
ALTER INDEX told_format SET (node_search = bisecting, node_prefetch = off, optimize_for = scan);
CREATE INDEX told_purpose ON told USING fpbtree (a) WITH (optimize_for = insert);
CREATE INDEX told_balance ON told USING fpbtree (b) WITH (optimize_for = balanced, leaf_lines = 4);
CREATE INDEX told_named ON told USING fpbtree (a)
    WITH (optimize_for = insert, layout = disk_first, node_format = csb, leaf_lines = 4, node_search = counting, node_prefetch = on);
ALTER INDEX told_purpose SET (optimize_for = balanced);
ALTER INDEX told_purpose RESET (optimize_for);
ALTER INDEX told_format RENAME TO "Told";
ALTER TABLE "Told" SET (node_search = counting);
CREATE MATERIALIZED VIEW told_view AS SELECT * FROM told;
CREATE UNIQUE INDEX told_queue ON told_view USING fpbtree (a) WITH (operation_queue = on, opq_size = 64);
CREATE UNIQUE INDEX told_none ON told_view USING fpbtree (a) WITH (operation_queue = off);
ALTER INDEX told_none SET (operation_queue = auto);
ALTER INDEX told_none RESET (operation_queue);
ALTER INDEX told_none SET (opq_size = 100);
-- other access methods, and tables
ALTER INDEX told_btree SET (fillfactor = 80);
ALTER TABLE told SET (fillfactor = 80);
DROP TABLE told CASCADE;
-- but not when a table becomes empty
CREATE TEMP TABLE told (a int4);
CREATE INDEX told_a ON told USING fpbtree (a) WITH (opq_size = 64, optimize_for = lookup);
INSERT INTO told VALUES (1);
TRUNCATE told;
DROP TABLE told;
-- a width that is not to be had, depending on the size of pages
CREATE TABLE told (b text);
SELECT CASE current_setting('block_size') WHEN '32768' THEN 2 ELSE 32 END AS lines \gset
\set VERBOSITY sqlstate
CREATE INDEX told_width ON told USING fpbtree (b) WITH (layout = disk_first, leaf_lines = :lines);
CREATE INDEX told_possible ON told USING fpbtree (b) WITH (layout = disk_first, leaf_lines = 4);
\set VERBOSITY default
SELECT leaf_lines = CASE current_setting('block_size')::int / 1024 WHEN 4 THEN 4 WHEN 8 THEN 10 WHEN 16 THEN 22 ELSE 3 END AS cut FROM fpbtree_stats('told_width');
DROP TABLE told;

-- Parameters of operator classes: btree's have none
CREATE INDEX bad ON opts USING fpbtree (a int8_ops (size = 3));

-- Settings
SET fpbtree.inner_page_cache = 0;
SELECT count(*) FROM opts WHERE a BETWEEN 1000 AND 1999;
SET fpbtree.inner_page_cache = '1GB';
SHOW fpbtree.inner_page_cache;
SET fpbtree.inner_page_cache = -1;
SET fpbtree.inner_page_cache = '4TB';
SET fpbtree.inner_page_cache = 'much';
RESET fpbtree.inner_page_cache;
SHOW fpbtree.inner_page_cache;
SET fpbtree.no_such_setting = 1;

-- With no copies of inner pages, too few, and enough, while leaves are split: the
-- same answers
CREATE TABLE copies (k text COLLATE "C");
CREATE INDEX copies_k ON copies USING fpbtree (k);
DO $$
BEGIN
    PERFORM set_config('enable_seqscan', 'off', true);
    FOR i IN 1 .. 12 LOOP
        PERFORM set_config('fpbtree.inner_page_cache', (ARRAY['0', '8kB', '20kB', '64kB', '200kB', '8MB'])[1 + i % 6], true);
        INSERT INTO copies SELECT md5(j::text || i) || repeat('k', 400) FROM generate_series(1, 500) j;
        PERFORM count(*) FROM copies a WHERE NOT EXISTS (SELECT FROM copies b WHERE b.k = a.k OFFSET 0) HAVING count(*) > 0;
        IF FOUND THEN
            RAISE 'rows are not found after insertion %', i;
        END IF;
    END LOOP;
END $$;
SELECT count(*), fpbtree_check('copies_k', true) FROM copies;

-- Nor is a page missed where there has never been memory for a copy, or where the buffers
-- of the first 1,024 pages only can be remembered
DROP INDEX copies_k;
CREATE INDEX copies_k ON copies USING fpbtree (k) WITH (fillfactor = 10);
SELECT pg_relation_size('copies_k') / least(current_setting('block_size')::int, 8192) > 2048 AS large;
\c -
SET enable_seqscan = off;
SET fpbtree.inner_page_cache = '4kB';
SELECT count(*) FROM copies a WHERE NOT EXISTS (SELECT FROM copies b WHERE b.k = a.k OFFSET 0);
SET fpbtree.inner_page_cache = '20kB';
SELECT count(*) FROM copies a WHERE NOT EXISTS (SELECT FROM copies b WHERE b.k = a.k OFFSET 0);
RESET fpbtree.inner_page_cache;
RESET enable_seqscan;
DROP TABLE copies;

-- Widths of nodes that nothing has been said of: those with which a search costs least, or little more
CREATE TABLE widths (a int4, b int8, c uuid, d text COLLATE "C", e int[]);
CREATE INDEX widths_a ON widths USING fpbtree (a) WITH (layout = disk_first, node_format = numbered);
CREATE INDEX widths_b ON widths USING fpbtree (b) WITH (layout = disk_first, node_format = numbered);
CREATE INDEX widths_c ON widths USING fpbtree (c) WITH (layout = disk_first, node_format = numbered);
CREATE INDEX widths_d ON widths USING fpbtree (d) WITH (layout = disk_first, node_format = numbered);
CREATE INDEX widths_e ON widths USING fpbtree (e) WITH (layout = disk_first, node_format = numbered);
SELECT relname, (leaf_lines, inner_lines) = (leaf, "inner") AS expected
FROM pg_class, fpbtree_stats(oid),
    LATERAL (VALUES (4, 'widths_a', 6, 4), (4, 'widths_b', 6, 4), (4, 'widths_c', 6, 5), (4, 'widths_d', 2, 2),
                    (8, 'widths_a', 5, 7), (8, 'widths_b', 6, 4), (8, 'widths_c', 8, 7), (8, 'widths_d', 4, 3),
                    (16, 'widths_a', 7, 10), (16, 'widths_b', 7, 10), (16, 'widths_c', 11, 10), (16, 'widths_d', 5, 6),
                    (32, 'widths_a', 13, 14), (32, 'widths_b', 11, 12), (32, 'widths_c', 11, 14), (32, 'widths_d', 8, 9))
        AS w (block, index, leaf, "inner")
WHERE relname = index AND block = current_setting('block_size')::int / 1024 ORDER BY 1;
-- where keys have no heads, leaves have the narrowest nodes that there can be
SELECT leaf_lines = CASE current_setting('block_size') WHEN '32768' THEN 3 WHEN '16384' THEN 2 ELSE 1 END AS narrowest FROM fpbtree_stats('widths_e');
DROP TABLE widths;

-- Properties
SELECT prop, pg_indexam_has_property(oid, prop) AS am
FROM pg_am, unnest(ARRAY['can_order', 'can_unique', 'can_multi_col', 'can_exclude', 'can_include']) prop
WHERE amname = 'fpbtree' ORDER BY prop COLLATE "C";
SELECT prop, pg_index_has_property('opts_all', prop) AS index
FROM unnest(ARRAY['clusterable', 'index_scan', 'bitmap_scan', 'backward_scan']) prop
ORDER BY prop COLLATE "C";
SELECT prop, pg_index_column_has_property('opts_all', 2, prop) AS "column"
FROM unnest(ARRAY['asc', 'desc', 'nulls_first', 'nulls_last', 'orderable', 'distance_orderable',
                  'returnable', 'search_array', 'search_nulls']) prop
ORDER BY prop COLLATE "C";
SELECT pg_indexam_has_property(oid, 'returnable') IS NULL AS "only of columns" FROM pg_am WHERE amname = 'fpbtree';

-- which can be asked even of an index that could not be built
CREATE TABLE opts_unbuilt (k int);
INSERT INTO opts_unbuilt VALUES (0);
CREATE INDEX CONCURRENTLY opts_unbuilt_k ON opts_unbuilt USING fpbtree ((1 / k));
SELECT pg_index_column_has_property('opts_unbuilt_k', 1, 'returnable');
DROP TABLE opts_unbuilt;

DROP TABLE opts;
