--
-- fpbtree_tune, its figures, and what CREATE INDEX makes of them
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS fpbtree;

CREATE TABLE tuned (w4 int, w8 int8, w16 uuid, t text COLLATE "C");
INSERT INTO tuned SELECT i, i, md5(i::text)::uuid, md5(i::text) FROM generate_series(1, 3000) i;

-- The shape of an index that is made with these columns and parameters
CREATE FUNCTION shape(columns text, parameters text DEFAULT '') RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    shape text;
BEGIN
    EXECUTE format('CREATE INDEX tuned_k ON tuned USING fpbtree (%s) %s', columns, 'WITH (' || nullif(parameters, '') || ')');
    PERFORM fpbtree_check('tuned_k', true);
    SELECT (layout, node_format, leaf_lines, node_search, node_prefetch)::text INTO shape FROM fpbtree_stats('tuned_k');
    DROP INDEX tuned_k;
    RETURN shape;
END $$;

-- Makes something else the figures.
CREATE FUNCTION figures(body text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE regexp_replace(pg_get_functiondef('fpbtree_tuning'::regproc), '(AS .function.).*(.function.)', '\1' || body || '\2');
END $$;

-- Without figures, a purpose changes nothing. (The usual shape is another with pages of another size.)
SELECT count(*) FROM fpbtree_tuning();
CREATE TABLE usual AS SELECT columns, shape(columns) FROM unnest('{"w4","t","w4, t"}'::text[]) columns;
SELECT columns, purpose, shape(columns, 'optimize_for = ' || purpose) = shape AS usual
    FROM usual, unnest('{lookup,insert,scan,balanced}'::text[]) purpose ORDER BY 1, 2;
CREATE INDEX bad ON tuned USING fpbtree (w4) WITH (optimize_for = everything);

-- With figures, the fastest is taken that has what is named
SELECT figures($$VALUES
    ('word4', 'disk_first', 'numbered', 8, 'counting', true, 100, 100, 100, true),
    ('word4', 'disk_first', 'numbered', 4, 'counting', true, 96, 300, 300, false),    -- not faster by 5 percent
    ('word4', 'disk_first', 'csb', 6, 'counting', true, 150, 90, 200, false),
    ('word4', 'disk_first', 'csb', 9, 'counting', true, 400, 300, 80, false),
    ('word4', 'micro_index', 'numbered', 10, 'counting', true, 90, 900, 120, false),
    ('word8', 'disk_first', 'csb', 5, 'counting', true, 50, 50, 50, false),
    ('word8', 'disk_first', 'csb', 5, 'bisecting', true, 49, 50, 200, false),
    ('word8', 'disk_first', 'csb', 5, 'counting', false, 60, 45, 60, false),
    ('word8', 'disk_first', 'csb', 5, 'bisecting', false, 60, 60, 49, false),
    ('word16', 'disk_first', 'numbered', 10, 'counting', true, 100, 100, 100, true),
    ('word16', 'disk_first', 'numbered', 7, 'counting', true, 50, 90, 110, false),     -- the least product, but not the least of each
    ('word16', 'micro_index', 'numbered', 4, 'counting', true, 60, 80, 200, false)$$);
SELECT columns, purpose, shape(columns, 'optimize_for = ' || purpose)
    FROM unnest('{w4,w8,w16}'::text[]) columns, unnest('{lookup,insert,scan,balanced}'::text[]) purpose ORDER BY 1, 2;
SELECT shape('w4'), shape('w4 DESC'), shape('w8, w4'), shape('w4, w4');
-- (a NOTICE tells if there is none)
SET client_min_messages = notice;
SELECT shape('w4', 'optimize_for = balanced') = shape('w4', 'leaf_lines = 8, optimize_for = lookup') AS same;
SELECT shape('w4', 'optimize_for = scan, leaf_lines = 5, node_format = csb') = shape('w4', 'leaf_lines = 5, node_format = csb') AS same;
SELECT shape('t', 'optimize_for = insert') = shape AS usual FROM usual WHERE columns = 't';
SET client_min_messages = warning;
SELECT columns, shape(columns) = shape AS usual FROM usual ORDER BY 1;
SELECT parameters, shape('w4', parameters || 'optimize_for = lookup')
    FROM unnest('{"layout = disk_first, ","node_format = csb, ","leaf_lines = 9, ","leaf_lines = 3, ",
                  "layout = micro_index, node_format = csb, ","layout = disk_first, node_format = numbered, leaf_lines = 5, "}'::text[]) parameters;
SELECT parameters, shape('w8', parameters || 'optimize_for = lookup')
    FROM unnest('{"node_search = counting, ","node_prefetch = off, ","node_search = bisecting, node_prefetch = off, ",
                  "layout = micro_index, node_search = bisecting, ",
                  "layout = cache_first, node_format = csb, leaf_lines = 6, node_search = bisecting, node_prefetch = off, "}'::text[]) parameters;
SET fpbtree.default_layout = disk_first;
SELECT shape('w4', 'optimize_for = lookup'), shape('w4', 'layout = micro_index');
RESET fpbtree.default_layout;
-- (a format of nodes that the layout hasn't is no reason to pass it over)
SET fpbtree.default_node_format = csb;
SELECT shape('w4', 'optimize_for = lookup'), shape('w4', 'node_format = numbered, optimize_for = scan'), shape('w4', 'layout = micro_index');
RESET fpbtree.default_node_format;

-- By all that builds an index
CREATE INDEX tuned_w4 ON tuned USING fpbtree (w4) WITH (optimize_for = scan);
CREATE UNLOGGED TABLE tuned_unlogged (w4 int);
CREATE INDEX tuned_u ON tuned_unlogged USING fpbtree (w4) WITH (optimize_for = scan);
CREATE TABLE tuned_large AS SELECT i AS w4 FROM generate_series(1, 20000) i;
SET min_parallel_table_scan_size = 0;
SET max_parallel_maintenance_workers = 2;
ALTER TABLE tuned_large SET (parallel_workers = 2);
CREATE INDEX tuned_p ON tuned_large USING fpbtree (w4) WITH (optimize_for = lookup);
CREATE INDEX CONCURRENTLY tuned_c ON tuned_large USING fpbtree (w4) WITH (optimize_for = insert);
SELECT fpbtree_check('tuned_p', true), fpbtree_check('tuned_c', true);
SELECT relname, layout, node_format, leaf_lines, node_search, node_prefetch FROM pg_class, fpbtree_stats(oid) WHERE relname ~ '^tuned_(w4|u|p|c)$' ORDER BY 1;
SELECT figures('VALUES ' || string_agg(format('(%L, %L, %L, %s, %L, %s, %s, %s, %s, %s)', form, layout, node_format, leaf_lines, node_search, node_prefetch::text, lookup_ns, insert_ns, scan_ns, usual::text), ', '))
    FROM fpbtree_tuning() WHERE leaf_lines <> 9;
SELECT leaf_lines FROM fpbtree_stats('tuned_w4');
REINDEX INDEX CONCURRENTLY tuned_w4;
VACUUM FULL tuned_large;
SELECT relname, layout, node_format, leaf_lines, node_search, node_prefetch FROM pg_class, fpbtree_stats(oid) WHERE relname ~ '^tuned_(w4|u|p|c)$' ORDER BY 1;

-- Not by that of a temporary table
CREATE TEMP TABLE tuned_temp (w4 int) ON COMMIT DELETE ROWS;
CREATE INDEX tuned_t ON tuned_temp USING fpbtree (w4) WITH (optimize_for = insert);
INSERT INTO tuned_temp VALUES (1);
SELECT (layout, node_format, leaf_lines, node_search, node_prefetch)::text = shape AS usual FROM fpbtree_stats('tuned_t'), usual WHERE columns = 'w4';
DROP TABLE tuned_temp;

-- What makes no sense is as if it were not there
SELECT figures($$VALUES
    ('word4', 'disk_first', 'numbered', 33, 'counting', true, 1, 1, 1, false), ('word4', 'disk_first', 'numbered', -4, 'counting', true, 1, 1, 1, false),
    ('word4', 'disk_last', 'numbered', 4, 'counting', true, 1, 1, 1, false), ('word4', 'disk_first', 'coloured', 4, 'counting', true, 1, 1, 1, false),
    ('word5', 'disk_first', 'csb', 4, 'counting', true, 1, 1, 1, false), ('word4', 'disk_first', 'csb', 4, 'guessing', true, 1, 1, 1, false),
    ('word4', 'disk_first', 'csb', 4, 'counting', true, 1, 0, 1, false), ('word4', 'disk_first', 'csb', 4, 'counting', true, 'NaN'::float8, 1, 1, false),
    ('word4', 'disk_first', 'csb', 4, 'counting', true, 1, 1, 'Infinity'::float8, false), ('word4', 'disk_first', 'csb', 4, 'counting', true, -1, 1, 1, false),
    ('word4', NULL, 'csb', 4, 'counting', true, 1, 1, 1, false), (lower('word4'), 'disk_first', 'csb', 4, 'counting', true, 1, 1, 1, false),
    ('word4', 'disk_first', 'csb', 4, 'counting', NULL, 1, 1, 1, false), ('word4', 'disk_first', 'csb', 4, 'counting', true, 1, 1, NULL, false),
    ('word4', 'disk_first', 'csb', NULL, 'counting', true, 1, 1, 1, false), ('word4', 'disk_first', 'csb', 4, 'counting', true, 1, 1, 1, NULL)$$);
SELECT count(*) FROM fpbtree_tuning();
SELECT shape('w4') = shape AS usual FROM usual WHERE columns = 'w4';
SELECT figures($$VALUES ('word4', 'disk_first', 'csb', 7, 'counting', true, 1e300, 1e300, 1e300, false), ('word4', 'disk_first', 'csb', 8, 'counting', true, 1e299, 1e300, 1e300, false)$$);
SELECT shape('w4');
SET check_function_bodies = off;
SELECT figures($$VALUES ('word4', 'disk_first', 'csb', 4, 'counting', true, 1e999, 1, 1, false), ('word4', 'disk_first', 'csb', 5), (1, 2, 3, 4, 5, 6, 7, 8, 9, 10), (DEFAULT)$$);
SELECT shape('w4') = shape AS usual FROM usual WHERE columns = 'w4';
SELECT figures(body), shape('w4') = shape AS usual
    FROM usual, unnest('{"",";","SELECT 1","TABLE tuned","VALUES (1); VALUES (2)","DROP TABLE tuned"}'::text[]) body WHERE columns = 'w4';
-- nothing there is run
CREATE FUNCTION evil() RETURNS text LANGUAGE plpgsql AS $$BEGIN RAISE 'evil'; END$$;
SELECT figures('VALUES (evil(), evil(), evil(), 4, evil(), true, 1, 1, 1, false)'), shape('w4') = shape AS usual FROM usual WHERE columns = 'w4';
DROP FUNCTION evil;
SELECT figures('VALUES (');
SELECT shape('w4');
SELECT shape('w4', 'layout = disk_first, node_format = csb, leaf_lines = 5, node_search = counting, node_prefetch = on');
RESET check_function_bodies;
SELECT fpbtree_tune_reset();
SELECT count(*) FROM fpbtree_tuning();
SELECT shape('w4') = shape AS usual FROM usual WHERE columns = 'w4';
BEGIN;
ALTER EXTENSION fpbtree DROP FUNCTION fpbtree_tuning();
SELECT figures($$VALUES ('word4', 'disk_first', 'csb', 8, 'counting', true, 1, 1, 1, false)$$);
SELECT shape('w4') = shape AS usual FROM usual WHERE columns = 'w4';
DROP FUNCTION fpbtree_tuning();
SELECT shape('w4') = shape AS usual FROM usual WHERE columns = 'w4';
CREATE FUNCTION fpbtree_tuning() RETURNS text LANGUAGE plpgsql AS 'BEGIN RETURN 1; END';
ALTER EXTENSION fpbtree ADD FUNCTION fpbtree_tuning();
SELECT shape('w4') = shape AS usual FROM usual WHERE columns = 'w4';
ALTER EXTENSION fpbtree DROP FUNCTION fpbtree_tuning();
SELECT * FROM fpbtree_tune(1000);
ROLLBACK;

-- They mean the same whatever the search_path, and are in no publication of all tables, nor anywhere among these
SELECT figures($$VALUES ('word4', 'disk_first', 'csb', 8, 'counting', true, 1, 1, 1, false)$$);
CREATE SCHEMA evil;
CREATE DOMAIN evil.text AS bigint;
SET search_path = evil, pg_catalog;
SELECT public.fpbtree_tuning();
RESET search_path;
DROP SCHEMA evil CASCADE;
SELECT count(*) FROM pg_class WHERE relname LIKE 'fpbtree%';
SELECT fpbtree_tune_reset();

-- Measured: for each form, each layout, the usual design once; and what CREATE INDEX takes is the fastest of it
CREATE TABLE choices AS SELECT * FROM fpbtree_tune(1000);
SELECT form, layout, node_format, count(DISTINCT leaf_lines) > 1 AS several, count(*) = 4 * count(DISTINCT leaf_lines) AS in_all_ways, count(*) FILTER (WHERE usual) AS usual, min(leaf_lines) BETWEEN 2 AND 3 AS narrow,
       bool_and(lookup_ns > 1 AND insert_ns > 1 AND scan_ns > 0.001) AS taken_time
    FROM fpbtree_tuning() GROUP BY 1, 2, 3 ORDER BY 1, 2, 3;
SELECT form, count(*), count(*) FILTER (WHERE optimize_for IN ('lookup', 'insert', 'scan', 'balanced')) AS known FROM choices GROUP BY 1 ORDER BY 1;
SELECT c.form, optimize_for FROM choices c JOIN fpbtree_tuning() t USING (form, layout, node_format, leaf_lines, node_search, node_prefetch),
       LATERAL (SELECT min(lookup_ns) AS lookup, min(insert_ns) AS insert, min(scan_ns) AS scan FROM fpbtree_tuning() f WHERE f.form = c.form) m
    WHERE CASE optimize_for WHEN 'lookup' THEN lookup_ns / lookup WHEN 'insert' THEN insert_ns / insert WHEN 'scan' THEN scan_ns / scan END
          > CASE WHEN usual THEN 1.051 ELSE 1 END;
SELECT c.form, optimize_for FROM choices c,
       LATERAL (SELECT ROW(layout, node_format, leaf_lines, node_search, node_prefetch)::text AS design) d,
       LATERAL shape(CASE form WHEN 'word4' THEN 'w4' WHEN 'word8' THEN 'w8' WHEN 'word16' THEN 'w16' ELSE 't' END, 'optimize_for = ' || optimize_for) s
    WHERE d.design <> s::text;
SELECT relname FROM pg_class WHERE relname LIKE 'fpbtree\_tuned%';

-- Again, in vain, and by whom it may not be
SELECT count(*) FROM fpbtree_tune(999);
SELECT count(*) FROM fpbtree_tune(100000001);
SELECT count(*) FROM fpbtree_tune(NULL);
CREATE TABLE fpbtree_tuned (i int);
SELECT count(*) FROM fpbtree_tune(1000);
DROP TABLE fpbtree_tuned;
SELECT count(*) > 50 AS kept FROM fpbtree_tuning();
CREATE ROLE regress_fpbtree_tuner;
SET ROLE regress_fpbtree_tuner;
SELECT count(*) FROM fpbtree_tune(1000);
SELECT count(*) > 50 AS read FROM fpbtree_tuning();
SELECT fpbtree_tune_reset();
RESET ROLE;
GRANT EXECUTE ON FUNCTION fpbtree_tune_reset() TO regress_fpbtree_tuner;
SET ROLE regress_fpbtree_tuner;
SELECT fpbtree_tune_reset();
RESET ROLE;
REVOKE EXECUTE ON FUNCTION fpbtree_tune_reset() FROM regress_fpbtree_tuner;
DROP ROLE regress_fpbtree_tuner;

SELECT fpbtree_tune_reset();
DROP TABLE tuned, tuned_unlogged, tuned_large, choices, usual;
DROP FUNCTION shape, figures;
