--
-- Queries: every kind of condition, each answered through an fpbtree index
-- in every way the executor has, and by a sequential scan.  What differs is
-- printed: nothing.
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS fpbtree;
RESET client_min_messages;

CREATE SCHEMA scan_queries;
SET search_path = scan_queries, public;
SET max_parallel_workers_per_gather = 0;
SET jit = off;
SET timezone = 'UTC';
SET datestyle = 'ISO';

CREATE TABLE q (id int, a int4, b int8, c text COLLATE "C", d numeric, e timestamptz);

-- few values, many of each, NULLs everywhere
CREATE FUNCTION fill(first int, last int) RETURNS void LANGUAGE sql AS $$
    INSERT INTO q
    SELECT i,
           CASE WHEN h1 % 11 > 0 THEN h1 % 40 - 20 END,
           CASE WHEN h2 % 7 > 0 THEN (h2 % 1000) * 10000000000 END,
           CASE WHEN h3 % 9 > 0 THEN substr(md5((h3 % 300)::text), 1, (h3 % 12)::int) END,
           CASE WHEN h1 % 5 > 0 THEN (h3 % 50) / 4.0 END,
           CASE WHEN h2 % 13 > 0 THEN '2024-01-01 00:00+00'::timestamptz + h1 % 60 * interval '1 hour' END
    FROM generate_series(first, last) i,
         abs(hashint4(i)::int8) h1, abs(hashint4(-i)::int8) h2, abs(hashint8(i * 77777777777)::int8) h3
$$;

-- rows of a query, in order
CREATE FUNCTION rows_of(query text) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE r text[];
BEGIN
    EXECUTE 'SELECT array_agg(x::text) FROM (' || query || ') x' INTO r;
    RETURN coalesce(r, '{}');
END $$;

CREATE FUNCTION sorted(a text[]) RETURNS text[] LANGUAGE sql AS $$
    SELECT coalesce(array_agg(x ORDER BY x COLLATE "C"), '{}') FROM unnest(a) x $$;

CREATE FUNCTION use_scan(kind text) RETURNS void LANGUAGE sql AS $$
    SELECT set_config('enable_seqscan', (kind = 'seq')::text, true),
           set_config('enable_sort', (kind IN ('seq', 'bitmap'))::text, true),
           set_config('enable_indexscan', (kind IN ('index', 'only'))::text, true),
           set_config('enable_indexonlyscan', (kind = 'only')::text, true),
           set_config('enable_bitmapscan', (kind = 'bitmap')::text, true) $$;

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

CREATE FUNCTION plan_of(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE line text; plan text := '';
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
        plan := plan || line || E'\n';
    END LOOP;
    RETURN plan;
END $$;

-- Compare the ways to answer a query; with an ordering, by its columns alone.
CREATE FUNCTION compare(columns text, rest text, ordering text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
    query text := format('SELECT %s FROM q %s', columns, rest);
    expected text[];
    kind text;
    used int := 0;
BEGIN
    IF ordering <> '' THEN
        query := format('SELECT %s FROM q %s ORDER BY %s',
                        regexp_replace(ordering, ' (DESC|NULLS (FIRST|LAST))', '', 'g'), rest, ordering);
    END IF;
    PERFORM use_scan('seq');
    expected := rows_of(query);
    FOREACH kind IN ARRAY '{index,only,bitmap}'::text[] LOOP
        PERFORM use_scan(kind);
        IF plan_of(query) LIKE '%q_idx%' THEN
            used := used + 1;
            IF (CASE WHEN ordering = '' THEN sorted(rows_of(query)) <> sorted(expected)
                ELSE rows_of(query) <> expected END) THEN
                RAISE NOTICE '% differs: %', kind, query;
            END IF;
        END IF;
    END LOOP;
    RETURN used;
END $$;

-- All conditions on the first columns of an index; returns how many of the
-- comparisons went through it.
CREATE FUNCTION compare_all(columns text, forward text, backward text) RETURNS bigint LANGUAGE sql AS $$
    SELECT sum(compare(columns, 'WHERE ' || w.cond, o.ordering))
    FROM unnest(ARRAY[
        'true', 'false', 'a IS NULL', 'a IS NOT NULL', 'b IS NULL', 'b IS NOT NULL',
        'a = 3', 'a = 3::int8', 'a = 3::int2', 'a = 10000000000', 'a < 10000000000', 'a > -10000000000', 'a = NULL',
        'a > 5', 'a >= 5', 'a < -5', 'a <= -5', 'a BETWEEN -3 AND 3', 'a BETWEEN 3 AND -3',
        'a > 5 AND a > 7', 'a > 5 AND a >= 5', 'a < 5 AND a < 3::int8', 'a = 5 AND a = 5', 'a = 5 AND a = 6',
        'a = 5 AND a > 5', 'a = 5 AND a >= 5::int2', 'a IS NULL AND a = 1', 'a IS NULL AND a IS NOT NULL',
        'a IS NOT NULL AND a > 18', 'a = 3 AND b = 120000000000', 'a = 3 AND b > 5000000000000',
        'a = 3 AND b <= 5000000000000', 'a = 3 AND b IS NULL', 'a IS NULL AND b IS NULL', 'a IS NULL AND b > 0',
        'a > 15 AND b = 120000000000', 'b = 120000000000', 'b BETWEEN 1 AND 100000000000',
        'a IN (1, 3, 5)', 'a IN (1, NULL, 5)', 'a IN (7, 7, -7) AND b > 9000000000000',
        'a = ANY (''{}''::int[])', 'a < ANY (''{-15,-18}''::int[])', 'a >= ANY (''{18,17}''::int[])',
        'a = ANY (''{1,2,10000000000}''::int8[])', 'a IN (2, 4) AND b IN (0, 10000000000, 20000000000, 120000000000)',
        'b IN (0, 10000000000, 120000000000)', 'a IN (1, 2, 3) AND a > 1 AND a <> 3',
        '(a, b) > (3, 5000000000000)', '(a, b) >= (3, 5000000000000)', '(a, b) < (-3, 5000000000000)',
        '(a, b) <= (-3, 5000000000000)', '(a, b) > (3, NULL)', '(a, b) < (NULL, 3)', '(b, a) > (9000000000000, 3)',
        '(a, b) > (3, 5000000000000) AND (a, b) < (5, 1)', '(a, b) > (3, 5000000000000) AND a = 3',
        '(a, b) > (17, 0) AND a > 17', '(a, b, id) > (18, 0, 5)', '(a, id) > (18, 5)',
        '(a, b) > (3, 9223372036854775807)', '(a, b) < (3, -9223372036854775808)', '(a, b) > (3::int8, 0)',
        'a = (SELECT NULL::int)', 'a = 3 AND b = (SELECT NULL::int8)', 'a = 3 AND b = 0::int4', 'a IN (1, 3) AND b > 0::int2',
        'a = 5 OR b = 120000000000', 'a = 5 OR a = 7', 'NOT (a = 5)', 'a <> 5']) w (cond),
        unnest(ARRAY['', forward, backward]) o (ordering)
$$;

SELECT fill(1, 1500);

CREATE INDEX q_idx ON q USING fpbtree (a);
SELECT fill(1501, 3000);
DELETE FROM q WHERE id % 17 = 0;
SELECT compare_all('*', 'a', 'a DESC') > 100 AS used;
VACUUM ANALYZE q;
SELECT compare_all('a', 'a', 'a DESC') > 100 AS used;
DROP INDEX q_idx;

-- two columns in one word
CREATE INDEX q_idx ON q USING fpbtree (a, b);
SELECT fill(3001, 3500);
VACUUM ANALYZE q;
SELECT compare_all('a, b', 'a, b', 'a DESC, b DESC') > 100 AS used;
DROP INDEX q_idx;

CREATE INDEX q_idx ON q USING fpbtree (a DESC, b NULLS FIRST);
VACUUM ANALYZE q;
SELECT compare_all('a, b', 'a DESC, b NULLS FIRST', 'a, b DESC NULLS LAST') > 100 AS used;
DROP INDEX q_idx;

-- tuples
CREATE INDEX q_idx ON q USING fpbtree (a NULLS FIRST, b DESC, c) INCLUDE (id);
SELECT fill(3501, 4000);
VACUUM ANALYZE q;
SELECT compare_all('a, b, c', 'a NULLS FIRST, b DESC, c', 'a DESC NULLS LAST, b, c DESC') > 100 AS used;
DROP INDEX q_idx;

CREATE INDEX q_idx ON q USING fpbtree (a, b, id, d);
VACUUM ANALYZE q;
SELECT compare_all('a, b, id', 'a, b, id', 'a DESC, b DESC, id DESC') > 100 AS used;
INSERT INTO q (id, a, b, d) VALUES (5, 3, 0, 1), (5, 3, 0, NULL);
SELECT sum(compare('a, b, id', 'WHERE ' || c, 'a, b, id')) > 0 AS used FROM unnest(ARRAY[
    '(a, b, id, d) > (3, 0, 5, NULL)', '(a, b, id, d) <= (3, 5000000000000, 5, NULL)', '(a, b, id, d) >= (3, NULL, 5, 2)']) c;
DELETE FROM q WHERE id = 5 AND a = 3 AND b = 0;
DROP INDEX q_idx;

-- a prefix that the conditions leave out
CREATE INDEX q_idx ON q USING fpbtree (d, a, b);
VACUUM ANALYZE q;
SELECT compare_all('d, a, b', 'd', 'd DESC') > 100 AS used;
SELECT sum(compare('d, a, b', 'WHERE ' || c, 'd, a, b')) > 0 AS used FROM unnest(ARRAY[
    'd = 2.5 AND a = 3', 'd = 2.50 AND b IS NULL', 'd > 2 AND d < 2.5', 'd IN (1, 2, 2.25) AND a IN (4, 5)',
    'd = 2 AND (a, b) > (3, 0)', 'd IS NULL AND a > 3', 'd IS NULL AND a IS NULL AND b IS NULL']) c;
DROP INDEX q_idx;

-- a head of two columns, of which the second may be of another type
CREATE INDEX q_idx ON q USING fpbtree (a, id DESC, c);
VACUUM ANALYZE q;
SELECT sum(compare('a, id, c', 'WHERE ' || c, o)) > 0 AS used FROM unnest(ARRAY[
    'a = 3', 'a = 3 AND id = 1500', 'a = 3 AND id = 1500::int8', 'a = 3 AND id > 1500::int8', 'a = 3::int8 AND id > 1500', 'a > 3 AND a < 5',
    'a IN (3, 5) AND id < 1500::int8', 'a IS NULL AND id < 1500::int2', '(a, id) > (3, 1500)', '(a, id::int8) > (3, 1500)']) c,
    unnest(ARRAY['', 'a, id DESC, c', 'a DESC, id, c DESC']) o;
DROP INDEX q_idx;

-- plain queries
CREATE INDEX q_a ON q USING fpbtree (a);
CREATE INDEX q_b ON q USING fpbtree (b DESC NULLS LAST);
CREATE INDEX q_c ON q USING fpbtree (c);
CREATE INDEX q_de ON q USING fpbtree (d, e) INCLUDE (id);
CREATE INDEX q_even ON q USING fpbtree (id) WHERE id % 2 = 0;
CREATE INDEX q_expr ON q USING fpbtree ((a + b));
VACUUM ANALYZE q;
SET enable_seqscan = off;
SET enable_sort = off;

SELECT plan('SELECT min(a), max(a) FROM q');
SELECT min(a), max(a) FROM q;
SELECT min(b), max(b), min(c), max(c), min(d), max(d) FROM q;
EXPLAIN (COSTS OFF) SELECT count(*) FROM q WHERE c LIKE 'c4%';
SELECT count(*) FROM q WHERE c LIKE 'c4%';
SELECT count(*) FROM q WHERE c ^@ 'c4';
EXPLAIN (COSTS OFF) SELECT id FROM q WHERE id % 2 = 0 AND id > 3500 ORDER BY id DESC LIMIT 3;
SELECT id FROM q WHERE id % 2 = 0 AND id > 3500 ORDER BY id DESC LIMIT 3;
SELECT count(*) FROM q WHERE a + b = 120000000003;
SELECT d, e, count(*) FROM q WHERE d = 2.5 AND e < '2024-01-01 04:00+00' GROUP BY d, e ORDER BY d, e;
SELECT DISTINCT a FROM q WHERE a > 14 ORDER BY a DESC;
SET enable_indexscan = off;
SET enable_indexonlyscan = off;
SET enable_sort = on;
SET cpu_tuple_cost = 1;			-- two indexes rather than more rows
EXPLAIN (COSTS OFF) SELECT count(*) FROM q WHERE a = 3 AND b < 1000000000000;
SELECT count(*) FROM q WHERE a = 3 AND b < 1000000000000;
RESET cpu_tuple_cost;
EXPLAIN (COSTS OFF) SELECT count(*) FROM q WHERE a = 3 OR c > 'f';
SELECT count(*) FROM q WHERE a = 3 OR c > 'f';
SET enable_seqscan = on;
SET enable_bitmapscan = off;
SELECT count(*) FROM q WHERE a = 3 AND b < 1000000000000;
SELECT count(*) FROM q WHERE a = 3 OR c > 'f';
SELECT min(a), max(a), min(b), max(b), min(c), max(c), min(d), max(d) FROM q;

SET client_min_messages = warning;
DROP SCHEMA scan_queries CASCADE;
