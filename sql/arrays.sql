--
-- Arrays: = ANY and its relatives, which a scan turns into ranges of the index
-- that it visits in order, skipping those that have no entry.
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS fpbtree;
RESET client_min_messages;

CREATE SCHEMA scan_arrays;
SET search_path = scan_arrays, public;
SET max_parallel_workers_per_gather = 0;
SET jit = off;

CREATE TABLE r (id int, a int4, b int4, c text COLLATE "C", d int8);
INSERT INTO r
SELECT i, CASE WHEN i % 50 > 0 THEN i / 5 END, CASE WHEN i % 7 > 0 THEN i % 30 END,
       CASE WHEN i % 11 > 0 THEN 'key ' || i % 400 END, i::int8 * 1000000
FROM generate_series(1, 20000) i;

CREATE FUNCTION rows_of(query text) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE r text[];
BEGIN
    EXECUTE 'SELECT array_agg(x::text) FROM (' || query || ') x' INTO r;
    RETURN coalesce(r, '{}');
END $$;

-- A plan, but for the names of subplans, which differ between releases.
CREATE FUNCTION plan(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
        IF line !~ 'Replaces:' THEN
            RETURN NEXT regexp_replace(line, 'InitPlan \w+', 'InitPlan', 'g');
        END IF;
    END LOOP;
END $$;

CREATE FUNCTION use_scan(kind text) RETURNS void LANGUAGE sql AS $$
    SELECT set_config('enable_seqscan', (kind = 'seq')::text, true),
           set_config('enable_sort', (kind IN ('seq', 'bitmap'))::text, true),
           set_config('enable_indexscan', (kind IN ('index', 'only'))::text, true),
           set_config('enable_indexonlyscan', (kind = 'only')::text, true),
           set_config('enable_bitmapscan', (kind = 'bitmap')::text, true) $$;

-- Compare the index's answers with those of a sequential scan.
CREATE FUNCTION compare(columns text, condition text, ordering text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
    query text;
    expected text[];
    kind text;
    used int := 0;
    ord text;
    line text;
BEGIN
    FOREACH ord IN ARRAY ARRAY[ordering, regexp_replace(ordering, '(,|$)', ' DESC NULLS FIRST\1', 'g')] LOOP
        query := format('SELECT %s FROM r WHERE %s ORDER BY %s', columns,
                        -- to be called once
                        regexp_replace(condition, 'every\([^)]*\)', '((SELECT \&)::int[])', 'g'), ord);
        PERFORM use_scan('seq');
        -- (a value is looked up among those of an array, rather than compared with all of them)
        expected := rows_of(format('SELECT %s FROM r WHERE %s ORDER BY %s', columns,
                                   regexp_replace(condition, '= ANY \((every\([^)]*\)(::int8\[\]| \|\| [^)]*\) \|\| NULL)?)\)', 'IN (SELECT unnest(\1))', 'g'), ord));
        FOREACH kind IN ARRAY '{index,only,bitmap}'::text[] LOOP
            PERFORM use_scan(kind);
            FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
                IF line LIKE '%r_idx%' THEN
                    used := used + 1;
                END IF;
            END LOOP;
            IF rows_of(query) <> expected THEN
                RAISE NOTICE '% differs: %', kind, query;
            END IF;
        END LOOP;
    END LOOP;
    RETURN used;
END $$;

-- 0, n, 2n, ... up_to; not immutable, so that no plan shows what it returns
CREATE FUNCTION every(n int, up_to int) RETURNS int[] LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT array_agg(i) FROM generate_series(0, up_to, n) i $$;

-- one column
CREATE INDEX r_idx ON r USING fpbtree (a);
VACUUM ANALYZE r;
SELECT sum(compare('a', c, 'a')) > 0 AS used FROM unnest(ARRAY[
    'a = ANY (every(1, 5000))', 'a = ANY (every(70, 100000))', 'a = ANY (every(1000, 1000000))',
    'a = ANY (every(7, 5000) || every(5, 5000) || NULL)', 'a = ANY (''{3999}'')', 'a = ANY (''{}'')', 'a = ANY (''{NULL}'')',
    'a = ANY (NULL::int[])', 'a = ANY (''{5,3,4,4,3,5,-1}'')', 'a = ANY (''{5,10000000000,6,-10000000000}''::int8[])',
    'a = ANY (''{10000000000}''::int8[])', 'a = ANY (''{5,-3,7}''::int2[])', 'a < ANY (''{5,9,NULL}'')', 'a <= ANY (''{5,9}'')',
    'a > ANY (''{3990,3995}'')', 'a >= ANY (''{3990,10000000000}''::int8[])', 'a > ANY (''{NULL}'')',
    'a = ANY (every(3, 5000)) AND a = ANY (every(5, 5000))', 'a = ANY (every(3, 5000)) AND a = 9',
    'a = ANY (every(3, 5000)) AND a = 10', 'a = ANY (every(3, 5000)) AND a > 3900',
    'a = ANY (every(3, 5000)) AND a BETWEEN 100 AND 200::int8', 'a = ANY (every(3, 5000)) AND a > 100 AND a < 100',
    'a = ANY (every(3, 5000)) AND a IS NOT NULL', 'a = ANY (every(3, 5000)) AND a IS NULL',
    'a = ANY (every(3, 5000)) AND a = ANY (''{6,7,9}''::int8[])', 'a < ANY (''{50}'') AND a > ANY (''{45,3}'')',
    'a = 5::int8 AND a < ANY (''{4,6}'')', 'a = 5::int8 AND a < ANY (''{4,5}'')', 'a = 5::int8 AND a >= ANY (''{6,NULL}'')',
    'a = ALL (''{5}'')', 'a > ALL (''{3980,3990}'')']) c;
DROP INDEX r_idx;

-- the same downwards, as tuples
CREATE INDEX r_idx ON r USING fpbtree (a DESC NULLS LAST) INCLUDE (id);
VACUUM ANALYZE r;
SELECT sum(compare('a', c, 'a')) > 0 AS used FROM unnest(ARRAY[
    'a = ANY (every(1, 5000))', 'a = ANY (every(70, 100000))', 'a = ANY (every(7, 5000) || every(5, 5000) || NULL)',
    'a = ANY (''{5,10000000000,6,-10000000000}''::int8[])', 'a < ANY (''{5,9,NULL}'')', 'a >= ANY (''{3990,10000000000}''::int8[])',
    'a = ANY (every(3, 5000)) AND a = ANY (every(5, 5000))', 'a = ANY (every(3, 5000)) AND a BETWEEN 100 AND 200::int8',
    'a = ANY (every(3, 5000)) AND a = ANY (''{6,7,9}''::int8[])']) c;
DROP INDEX r_idx;

-- several columns, arrays on some of them
CREATE FUNCTION compare_columns() RETURNS boolean LANGUAGE sql AS $$
    SELECT sum(compare('a, b', c, 'a, b')) > 0 FROM unnest(ARRAY[
        'a = ANY (''{1,3,700,3000}'') AND b = ANY (''{5,6,7,16}'')', 'a = ANY (every(10, 5000)) AND b = ANY (every(2, 30))',
        'a = ANY (every(10, 5000)) AND b IS NULL', 'a = ANY (every(10, 5000)) AND b > 25', 'a = ANY (every(10, 5000)) AND b <= ANY (''{3,4}'')',
        'a = 700 AND b = ANY (''{1,3,5,30}'')', 'a > 3000 AND b = ANY (''{1,3,5,30}'')', 'b = ANY (''{1,3,5,30,NULL}'')',
        'a IS NULL AND b = ANY (''{1,3,10,20,30}'')', 'a = ANY (every(10, 5000)) AND (a, b) > (3000, 20)',
        'a BETWEEN 5 AND 3000 AND b = ANY (every(7, 1000)::int8[])', 'a BETWEEN 5 AND 3000 AND b > 10000000000::int8',
        'a = ANY (every(2, 5000)) AND b > 5 AND b <= 20::int8', 'a > 700 AND b >= -5::int2 AND b IS NOT NULL',
        'a = ANY (every(30, 100000)::int8[]) AND b BETWEEN 5 AND 7', 'a = ANY (''{}'') AND b = 1', 'a = 3 AND b = ANY (''{NULL}'')']) c
$$;
CREATE INDEX r_idx ON r USING fpbtree (a, b);
VACUUM ANALYZE r;
SELECT compare_columns();
DROP INDEX r_idx;
CREATE INDEX r_idx ON r USING fpbtree (a, b, c);
VACUUM ANALYZE r;
SELECT compare_columns();
SELECT sum(compare('a, b, c', c, 'a, b, c')) > 0 AS used FROM unnest(ARRAY[
    'a = ANY (every(1, 5000)) AND b = ANY (every(1, 30)) AND c = ANY (''{key 5,key 17,key 399,key 88}'')',
    'a = ANY (every(100, 5000)) AND c = ANY (''{key 5,key 17,key 399,key 88,key 101}'')',
    'a = ANY (every(2, 5000)) AND b IS NULL AND c >= ''key 3''']) c;
DROP INDEX r_idx;

-- filters on columns behind: rows with the same first ones, NULLs and values that share their code
CREATE TABLE f (x int4, y int4, z int4, w int2);
INSERT INTO f SELECT i % 3, nullif(i % 4, 3), CASE WHEN i % 50 = 0 THEN 2147483647 WHEN i % 70 > 0 THEN i END, i % 5
FROM generate_series(1, 3000) i;
CREATE INDEX f_idx ON f USING fpbtree (x, y, z, w);
VACUUM ANALYZE f;
CREATE FUNCTION filtered() RETURNS TABLE (condition text, n bigint, ys bigint, zs numeric, ws bigint) LANGUAGE plpgsql AS $$
BEGIN
    FOREACH condition IN ARRAY ARRAY['x >= 1 AND z > 1500', 'x >= 1 AND y >= 1 AND z < 700', 'x < 2 AND z = 2147483647::int8',
                                     'x < 2 AND y IS NOT NULL AND w >= 3', 'y < 2 AND w = 1::int8 AND z > 100::int8',
                                     'x = ANY (''{0,2}'') AND z BETWEEN 10 AND 2000', 'w < -100000', 'z IS NULL AND w >= 0'] LOOP
        RETURN QUERY EXECUTE format('SELECT %L, count(*), sum(y), sum(z::int8), sum(w) FROM f WHERE %s', condition, condition);
    END LOOP;
END $$;
SET enable_indexscan = off;
SET enable_indexonlyscan = off;
SET enable_bitmapscan = off;
CREATE TABLE f_expected AS SELECT * FROM filtered();
RESET enable_indexscan;
RESET enable_indexonlyscan;
SET enable_seqscan = off;
SELECT plan('SELECT y, z, w FROM f WHERE x >= 1 AND z > 1500');
SELECT * FROM filtered();
SELECT count(*) AS differ FROM (TABLE f_expected EXCEPT SELECT * FROM filtered()) s;
RESET enable_seqscan;
RESET enable_bitmapscan;

-- large arrays: more combinations than any 64-bit integer counts
CREATE INDEX r_idx ON r USING fpbtree (a, b, d, id);
VACUUM ANALYZE r;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SELECT plan('SELECT count(*), sum(id) FROM r WHERE a = ANY ((SELECT every(1, 100000))::int[])');
SELECT count(*), sum(id) FROM r WHERE a = ANY ((SELECT every(1, 100000))::int[]);
SELECT count(*), sum(id) FROM r WHERE a = ANY ((SELECT every(1, 100000))::int[]) AND b = ANY ((SELECT every(1, 100000))::int[]);
SELECT count(*), sum(id) FROM r
WHERE a = ANY ((SELECT every(1, 100000))::int[]) AND b = ANY ((SELECT every(1, 100000))::int[]) AND
      d = ANY ((SELECT every(10000, 2000000000))::int8[]) AND id = ANY ((SELECT every(1, 100000))::int[]);
RESET enable_seqscan;
RESET enable_bitmapscan;
DROP INDEX r_idx;
SELECT count(*), sum(id) FROM r WHERE a IS NOT NULL;
SELECT count(*), sum(id) FROM r WHERE a IS NOT NULL AND b IS NOT NULL;
SELECT count(*), sum(id) FROM r WHERE a IS NOT NULL AND b IS NOT NULL AND d <= 2000000000;

-- text, descending, elements of equal heads
CREATE INDEX r_idx ON r USING fpbtree (c DESC);
VACUUM ANALYZE r;
SELECT sum(compare('c', x, 'c')) > 0 AS used FROM unnest(ARRAY[
    'c = ANY (''{key 5,key 17,key 399,key 88,none}'')', 'c = ANY (ARRAY(SELECT ''key '' || i FROM generate_series(0, 600, 3) i))',
    'c = ANY (''{key 5,NULL}'') AND c > ''key 2''', 'c < ANY (''{key 10,key 11}'')']) x;
DROP INDEX r_idx;

-- plans as for btree: ranges are visited in order, so no sort is needed
CREATE INDEX r_idx ON r USING fpbtree (a, b);
SET enable_seqscan = off;
SET enable_bitmapscan = off;
EXPLAIN (COSTS OFF) SELECT a, b FROM r WHERE a = ANY ('{1,3,700,3000}') AND b IN (5, 6, 7, 16) ORDER BY a, b LIMIT 3;
SELECT a, b FROM r WHERE a = ANY ('{1,3,700,3000}') AND b IN (5, 6, 7, 16) ORDER BY a, b LIMIT 3;
SELECT a, b FROM r WHERE a = ANY ('{1,3,700,3000}') AND b IN (5, 6, 7, 16) ORDER BY a DESC, b DESC LIMIT 3;

-- arrays that change from one rescan to the next
SELECT x, (SELECT count(*) FROM r WHERE a = ANY (ARRAY[x, x + 1, NULL]) AND b > x % 20) FROM generate_series(100, 1000, 300) x;

-- in parallel
SET min_parallel_index_scan_size = 0;
SET min_parallel_table_scan_size = 0;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET max_parallel_workers_per_gather = 2;
CREATE INDEX r_par ON r USING fpbtree (b, a, id);
ALTER TABLE r SET (parallel_workers = 2);
EXPLAIN (COSTS OFF) SELECT count(*), sum(id) FROM r WHERE b IN (0, 3, 6, 9, 15, 27) AND (a > 10 OR a IS NULL);
SELECT count(*), sum(id) FROM r WHERE b IN (0, 3, 6, 9, 15, 27) AND (a > 10 OR a IS NULL);
SET enable_indexscan = off;
SET enable_indexonlyscan = off;
SET enable_seqscan = on;
SELECT count(*), sum(id) FROM r WHERE b IN (0, 3, 6, 9, 15, 27) AND (a > 10 OR a IS NULL);

SET client_min_messages = warning;
DROP SCHEMA scan_arrays CASCADE;
