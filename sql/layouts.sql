--
-- Layouts: the option, the setting, REINDEX, and that all give btree's answers
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS fpbtree;
RESET client_min_messages;

CREATE TABLE lay (w4 int, w8 int8, w16 uuid, t text COLLATE "C", d text COLLATE "C", v int);
INSERT INTO lay SELECT i * 7919 % 7001, i % 700, md5(i::text)::uuid, 'key ' || i * 7919 % 7001, repeat('d', i % 9), i
    FROM generate_series(1, 6000) i;
INSERT INTO lay VALUES (NULL, NULL, NULL, NULL, NULL, 0);

-- Named, by the setting, and as it is
CREATE INDEX lay_named ON lay USING fpbtree (w4) WITH (layout = micro_index);
SET fpbtree.default_layout = micro_index;
CREATE INDEX lay_set ON lay USING fpbtree (w4);
CREATE INDEX lay_other ON lay USING fpbtree (w4) WITH (layout = disk_first);
SET fpbtree.default_layout = disk_first;
CREATE INDEX lay_plain ON lay USING fpbtree (w4);
SELECT relname, layout, leaf_lines, inner_lines FROM pg_class, fpbtree_stats(oid) WHERE relname LIKE 'lay\_%' ORDER BY relname;

-- It changes when the index is made anew, not before
ALTER INDEX lay_plain SET (layout = micro_index);
INSERT INTO lay SELECT i, i FROM generate_series(30001, 30100) i;
SELECT layout FROM fpbtree_stats('lay_plain');
REINDEX INDEX lay_plain;
SELECT layout FROM fpbtree_stats('lay_plain');
ALTER INDEX lay_plain RESET (layout);
SELECT layout FROM fpbtree_stats('lay_plain');
VACUUM FULL lay;
SELECT layout FROM fpbtree_stats('lay_plain');

SET fpbtree.default_layout = cache_second;
CREATE INDEX lay_bad ON lay USING fpbtree (w4) WITH (layout = cache_second);
CREATE INDEX lay_bad ON lay USING fpbtree (w4) WITH (node_format = pointers);
DROP INDEX lay_named, lay_set, lay_other, lay_plain;

-- Each key form and each layout, built, and grown by insertions: the same rows in the same order as sorted
CREATE TABLE grown ();
CREATE FUNCTION try_layout(layout text, elements text, extra text DEFAULT '') RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    answer text;
BEGIN
    DROP TABLE grown;
    CREATE TABLE grown (LIKE lay);
    EXECUTE format('CREATE INDEX grown_k ON grown USING fpbtree (%s) %s WITH (layout = %s)', elements, extra, layout);
    INSERT INTO grown SELECT * FROM lay WHERE v % 2 = 0 OR v IS NULL;
    DELETE FROM grown WHERE v % 3 = 0;
    INSERT INTO grown SELECT * FROM lay WHERE v % 2 = 1;
    REINDEX INDEX grown_k;
    INSERT INTO grown SELECT * FROM lay WHERE v % 6 = 0;
    PERFORM fpbtree_check('grown_k', true);
    SET LOCAL enable_indexscan = on;
    SET LOCAL enable_indexonlyscan = on;
    SET LOCAL enable_bitmapscan = on;
    EXECUTE format('CREATE TEMP TABLE a ON COMMIT DROP AS SELECT row_number() OVER () n, %1$s FROM (SELECT * FROM grown ORDER BY %2$s) s',
                   regexp_replace(elements, ' (DESC|NULLS FIRST|NULLS LAST)', '', 'g'), elements);
    SET LOCAL enable_indexscan = off;
    SET LOCAL enable_indexonlyscan = off;
    SET LOCAL enable_bitmapscan = off;
    EXECUTE format('CREATE TEMP TABLE b ON COMMIT DROP AS SELECT row_number() OVER () n, %1$s FROM (SELECT * FROM grown ORDER BY %2$s) s',
                   regexp_replace(elements, ' (DESC|NULLS FIRST|NULLS LAST)', '', 'g'), elements);
    SELECT count(*) || ' rows, ' || (SELECT count(*) FROM (TABLE a EXCEPT ALL TABLE b) x) || ' differ' INTO answer FROM a;
    DROP TABLE a, b;
    RETURN answer;
END $$;
SET enable_seqscan = off;
SET enable_sort = off;
SELECT layout, elements, extra, try_layout(layout, elements, extra)
    FROM unnest(ARRAY['disk_first', 'micro_index']) layout,
         (VALUES ('w4', ''), ('w4 DESC NULLS LAST', ''), ('w8', ''), ('w8 DESC', ''), ('w4, w8', ''), ('w16', ''), ('w16 DESC', ''),
                 ('t', ''), ('t DESC', ''), ('d, w8 DESC, t', ''), ('t COLLATE "default"', ''), ('d', ''), ('w4', 'INCLUDE (t)'), ('d', 'INCLUDE (v)')) e (elements, extra)
    ORDER BY layout, elements, extra;
RESET enable_seqscan;
RESET enable_sort;

-- Nodes in the order of their keys
SET enable_seqscan = off;
SET enable_sort = off;
SELECT elements, extra, try_layout('disk_first, node_format = csb', elements, extra)
    FROM (VALUES ('w4', ''), ('w8 DESC', ''), ('w16', ''), ('t', ''), ('d, w8 DESC, t', ''), ('d', ''), ('d', 'INCLUDE (v)')) e (elements, extra)
    ORDER BY elements, extra;
RESET enable_seqscan;
RESET enable_sort;
SELECT node_format FROM fpbtree_stats('grown_k');
SELECT bool_and(dir = node) AS in_order, count(*) > 2 AS nodes FROM fpbtree_nodes('grown_k', 1);

-- Unique, and with keys about as long as can be
CREATE TABLE lay_long (k text STORAGE EXTERNAL COLLATE "C");
CREATE UNIQUE INDEX lay_long_k ON lay_long USING fpbtree (k) WITH (layout = micro_index);
INSERT INTO lay_long SELECT lpad(i::text, 5, '0') || repeat('x', current_setting('block_size')::int / 8 * (i % 3) * 2 / 3) FROM generate_series(1, 2000) i;
DO $$
BEGIN
    INSERT INTO lay_long SELECT max(k) FROM lay_long;
EXCEPTION WHEN unique_violation THEN
    RAISE NOTICE 'refused';
END $$;
DELETE FROM lay_long WHERE k < '01';
VACUUM lay_long;
SELECT fpbtree_check('lay_long_k', true);
SELECT deleted_pages > 0 AS deleted, one_key_nodes, postings FROM fpbtree_stats('lay_long_k');

-- What there is to see: sub-arrays, for nodes
CREATE INDEX lay_shown ON lay USING fpbtree (w8) WITH (layout = micro_index, leaf_lines = 2);
SELECT kind, nodes <= nodes_allocated AS less, nodes_allocated = nodes_most AS most, entries > 100 AS entries FROM fpbtree_page('lay_shown', 1);
SELECT dir, node, codec, entries, gaps, first_entry IS NOT NULL AS first FROM fpbtree_nodes('lay_shown', 1) WHERE dir < 3;
SELECT sum(n.entries) = min(p.entries) AS entries, sum(n.gaps) = min(p.gaps) AS gaps FROM fpbtree_page('lay_shown', 1) p, fpbtree_nodes('lay_shown', 1) n;

DROP FUNCTION try_layout;
DROP TABLE lay, lay_long, grown;
