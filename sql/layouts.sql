--
-- Layouts: the option, the setting, REINDEX, and that all give btree's answers
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS fpbtree;

CREATE TABLE lay (w4 int, w8 int8, w16 uuid, t text COLLATE "C", d text COLLATE "C", v int);
INSERT INTO lay SELECT i * 7919 % 7001, i % 700, md5(i::text)::uuid, 'key ' || i * 7919 % 7001, repeat('d', i % 9), i
    FROM generate_series(1, 3000) i;
INSERT INTO lay VALUES (NULL, NULL, NULL, NULL, NULL, 0);

-- Named, by the settings, and as it is
SET fpbtree.default_node_format = numbered;
CREATE INDEX lay_named ON lay USING fpbtree (w4) WITH (layout = micro_index);
SET fpbtree.default_layout = micro_index;
CREATE INDEX lay_set ON lay USING fpbtree (w4);
CREATE INDEX lay_other ON lay USING fpbtree (w4) WITH (layout = disk_first);
SET fpbtree.default_layout = disk_first;
CREATE INDEX lay_plain ON lay USING fpbtree (w4);
SET fpbtree.default_node_format = csb;
CREATE INDEX lay_set_csb ON lay USING fpbtree (w4);
CREATE INDEX lay_numbered ON lay USING fpbtree (w4) WITH (node_format = numbered);
CREATE INDEX lay_no_nodes ON lay USING fpbtree (w4) WITH (layout = micro_index);
CREATE INDEX lay_named_csb ON lay USING fpbtree (w4) WITH (layout = cache_first);
SET fpbtree.default_layout = cache_first;
CREATE INDEX lay_set_cache_first ON lay USING fpbtree (w4) WITH (node_format = numbered);
SET fpbtree.default_layout = disk_first;
SET fpbtree.default_node_format = numbered;
CREATE INDEX lay_set_numbered ON lay USING fpbtree (w4);
CREATE INDEX lay_csb ON lay USING fpbtree (w4) WITH (node_format = csb);
SELECT relname, layout, node_format, (leaf_lines, inner_lines) = (4, 4) AS four_lines FROM pg_class, fpbtree_stats(oid) WHERE relname LIKE 'lay\_%' ORDER BY relname;
RESET fpbtree.default_node_format;

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
SET fpbtree.default_node_format = pointers;
CREATE INDEX lay_bad ON lay USING fpbtree (w4) WITH (layout = cache_second);
CREATE INDEX lay_bad ON lay USING fpbtree (w4) WITH (node_format = pointers);
DROP INDEX lay_named, lay_set, lay_other, lay_plain, lay_set_csb, lay_numbered, lay_no_nodes, lay_set_numbered, lay_csb,
    lay_named_csb, lay_set_cache_first;

-- Each key form and each layout, built, and grown by insertions: the same rows in the same order as sorted. What is checked of
-- each change, if anything is, would take most of the time: it is left to the rows that come last.
CREATE TABLE grown ();
CREATE FUNCTION try_layout(layout text, elements text, extra text DEFAULT '') RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    verified text := current_setting('fpbtree.verify_changes', true);
    answer text;
BEGIN
    DROP TABLE grown;
    CREATE TABLE grown (LIKE lay);
    EXECUTE format('CREATE INDEX grown_k ON grown USING fpbtree (%s) %s WITH (layout = %s)', elements, extra, layout);
    PERFORM set_config('fpbtree.verify_changes', 'off', true) WHERE verified = 'on';
    INSERT INTO grown SELECT * FROM lay WHERE v % 2 = 0 OR v IS NULL;
    DELETE FROM grown WHERE v % 3 = 0;
    PERFORM set_config('fpbtree.verify_changes', verified, true) WHERE verified = 'on';
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
    FROM unnest(ARRAY['disk_first', 'micro_index', 'cache_first', 'cache_first, node_format = csb']) layout,
         (VALUES ('w4', ''), ('w4 DESC NULLS LAST', ''), ('w8', ''), ('w8 DESC', ''), ('w4, w8', ''), ('w16', ''), ('w16 DESC', ''),
                 ('t', ''), ('t DESC', ''), ('d, w8 DESC, t', ''), ('t COLLATE "vi-x-icu"', ''), ('d', ''), ('w4', 'INCLUDE (t)'), ('d', 'INCLUDE (v)')) e (elements, extra)
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

-- Every combination of a layout or format of nodes, a form of keys, a direction, unique or not, and INCLUDE or not, built
-- with a few rows, grown, and thinned: no other rows by the index than by the table, in the same order, and no duplicate
CREATE TABLE lay_cell (LIKE lay, n int GENERATED ALWAYS AS (w4 % 10) STORED, u8 int8 GENERATED ALWAYS AS (w4 * 1000000007::int8) STORED);
CREATE FUNCTION try_cell(design text, elements text, is_unique bool, include text) RETURNS text LANGUAGE plpgsql SET client_min_messages = error AS $$
DECLARE
    verified text := current_setting('fpbtree.verify_changes', true);
    plain text := replace(elements, ' DESC', '');
    refused int := 0;
    found text;
    wanted text;
BEGIN
    TRUNCATE lay_cell;
    INSERT INTO lay_cell SELECT * FROM lay WHERE v <= 1200 AND v % 4 = 0;
    EXECUTE format('CREATE %s INDEX lay_cell_k ON lay_cell USING fpbtree (%s) %s WITH (%s)',
                   CASE WHEN is_unique THEN 'UNIQUE' ELSE '' END, elements, include, design);
    PERFORM set_config('fpbtree.verify_changes', 'off', true) WHERE verified = 'on';
    INSERT INTO lay_cell SELECT * FROM lay WHERE v <= 900 AND v % 4 > 0;
    PERFORM set_config('fpbtree.verify_changes', verified, true) WHERE verified = 'on';
    INSERT INTO lay_cell SELECT * FROM lay WHERE v BETWEEN 901 AND 1200 AND v % 4 > 0;
    FOR i IN 1 .. 5 LOOP
        BEGIN
            INSERT INTO lay_cell SELECT w4, w8, w16, t, d, -v FROM lay WHERE v = i * 200;
        EXCEPTION WHEN unique_violation THEN
            refused := refused + 1;
        END;
    END LOOP;
    DELETE FROM lay_cell WHERE v % 7 = 0;
    PERFORM fpbtree_check('lay_cell_k', true);
    -- (the place of a row tells duplicates apart)
    found := format('SELECT md5(string_agg(concat_ws(%L, %s, v), %L)) FROM (SELECT * FROM lay_cell ORDER BY %s) s', '|', plain, chr(10), elements);
    wanted := replace(found, elements || ') s', elements || ', ctid) s');
    SET LOCAL enable_seqscan = off;
    SET LOCAL enable_sort = off;
    EXECUTE found INTO found;
    SET LOCAL enable_seqscan = on;
    SET LOCAL enable_sort = on;
    SET LOCAL enable_indexscan = off;
    SET LOCAL enable_indexonlyscan = off;
    EXECUTE wanted INTO wanted;
    SET LOCAL enable_indexscan = on;
    SET LOCAL enable_indexonlyscan = on;
    DROP INDEX lay_cell_k;
    RETURN CASE WHEN found = wanted THEN 'the same, ' ELSE 'others, ' END || refused || ' refused';
END $$;
SELECT design, is_unique, try_cell(design, replace(columns, ',', direction || ',') || direction, is_unique, include) AS answer, count(*)
    FROM unnest('{"layout = disk_first, node_format = numbered","layout = disk_first, node_format = csb",layout = micro_index,
                  "layout = cache_first, node_format = numbered","layout = cache_first, node_format = csb"}'::text[]) design,
         unnest('{w4,u8,"n, w4",w16,"w8, w4",t,"d, w8, t"}'::text[]) columns,
         unnest('{""," DESC"}'::text[]) direction, unnest('{false,true}'::bool[]) is_unique, unnest('{"","INCLUDE (v)"}'::text[]) include
    GROUP BY 1, 2, 3 ORDER BY 1, 2, 3;

-- Unique, and with keys about as long as can be
CREATE TABLE lay_long (k text STORAGE EXTERNAL COLLATE "C");
SET client_min_messages = error;
CREATE UNIQUE INDEX lay_long_k ON lay_long USING fpbtree (k) WITH (layout = micro_index);
SET client_min_messages = warning;
INSERT INTO lay_long SELECT lpad(i::text, 5, '0') || repeat('x', current_setting('block_size')::int / 8 * (i % 3) * 2 / 3) FROM generate_series(1, 2000) i;
DO $$
BEGIN
    INSERT INTO lay_long SELECT max(k) FROM lay_long;
EXCEPTION WHEN unique_violation THEN
    RAISE WARNING 'refused';
END $$;
DELETE FROM lay_long WHERE k < '01';
VACUUM lay_long;
SELECT fpbtree_check('lay_long_k', true);
SELECT deleted_pages > 0 AS deleted, run_nodes, postings FROM fpbtree_stats('lay_long_k');

-- Tuples so short, and of so many mixtures of two lengths, that in some page a slot more would take more than they do: the
-- micro-index, too, takes whole cache lines
CREATE TABLE lay_short (k text COLLATE "C");
INSERT INTO lay_short SELECT lpad(i::text, 6, '0') || CASE WHEN abs(hashint4(i)) % 60000 < i THEN 'short' ELSE 'abc' END FROM generate_series(1, 60000) i;
CREATE INDEX lay_short_k ON lay_short USING fpbtree (k) WITH (layout = micro_index, fillfactor = 100);
SELECT fpbtree_check('lay_short_k', true);

-- What there is to see: sub-arrays, for nodes
CREATE INDEX lay_shown ON lay USING fpbtree (w8) WITH (layout = micro_index, leaf_lines = 2);
SELECT kind, nodes <= nodes_allocated AS less, nodes_allocated = nodes_most AS most, entries > 100 AS entries FROM fpbtree_page('lay_shown', 1);
SELECT dir, node, codec, entries, gaps, first_entry IS NOT NULL AS first FROM fpbtree_nodes('lay_shown', 1) WHERE dir < 3;
SELECT sum(n.entries) = min(p.entries) AS entries, sum(n.gaps) = min(p.gaps) AS gaps FROM fpbtree_page('lay_shown', 1) p, fpbtree_nodes('lay_shown', 1) n;

-- what is checked of each change would take most of the time from here on
SELECT count(set_config(name, 'off', false)) >= 0 AS quick FROM pg_settings WHERE name = 'fpbtree.verify_changes';

-- Names: level 1 knows the nodes of its children, but for the first of each. All are named when an index is built, and
-- most where leaves have been split, however old their neighbours; ascending keys, too, leave them behind named
CREATE FUNCTION named(index regclass) RETURNS float8 LANGUAGE sql AS $$
    SELECT sum(child_hints) FILTER (WHERE level = 1) / (count(*) FILTER (WHERE level = 0) - count(DISTINCT b) FILTER (WHERE level = 0))::float8
    FROM generate_series(1, pg_relation_size(index) / current_setting('block_size')::int - 1) b, fpbtree_page(index, b), fpbtree_nodes(index, b)
$$;
CREATE TABLE lay_names AS SELECT i * 2 AS w4, i * 2::int8 AS w8, (i * 2)::int8 AS w16 FROM generate_series(1, 40000) i;
CREATE INDEX lay_names_4 ON lay_names USING fpbtree (w4) WITH (layout = cache_first);
CREATE INDEX lay_names_8 ON lay_names USING fpbtree (w8 DESC) WITH (layout = cache_first);
CREATE INDEX lay_names_16 ON lay_names USING fpbtree (w16, w4) WITH (layout = cache_first);
CREATE INDEX lay_names_csb ON lay_names USING fpbtree (w4) WITH (layout = cache_first, node_format = csb);
CREATE INDEX lay_names_disk ON lay_names USING fpbtree (w4) WITH (layout = disk_first);
SELECT relname, named(oid) > 0.99 AS named FROM pg_class WHERE relname LIKE 'lay\_names\__%' AND relkind = 'i' ORDER BY relname;
INSERT INTO lay_names SELECT k, k, k FROM generate_series(1, 40000) i, LATERAL (SELECT i * 7919 % 40000 * 2 + 1 AS k) k;
SELECT relname, named(oid) > 0.6 AS named FROM pg_class WHERE relname LIKE 'lay\_names\__%' AND relkind = 'i' ORDER BY relname;
TRUNCATE lay_names;
INSERT INTO lay_names SELECT i, -i, i FROM generate_series(1, 80000) i;
SELECT relname, named(oid) > 0.85 AS named FROM pg_class WHERE relname LIKE 'lay\_names\__%' AND relkind = 'i' ORDER BY relname;
SELECT bool_and(fpbtree_check(oid, true) IS NOT NULL) AS sound FROM pg_class WHERE relname LIKE 'lay\_names\__%' AND relkind = 'i';

-- Tuples have no child-node hints
CREATE INDEX lay_names_t ON lay USING fpbtree (t) WITH (layout = cache_first);
SELECT sum(child_hints) AS child_hints FROM generate_series(1, pg_relation_size('lay_names_t') / current_setting('block_size')::int - 1) b, fpbtree_nodes('lay_names_t', b);

DROP FUNCTION try_layout, try_cell, named;
DROP TABLE lay, lay_long, lay_cell, lay_short, lay_names, grown;
