--
-- Integers of one type that a condition gives for a column of another: each pair
-- of the three types, in indexes of tuples, answered as by a sequential scan.
-- Among the values are the ends of each type, what lies just beyond them, and what
-- would be the same in fewer bits.
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS fpbtree;
RESET client_min_messages;

CREATE SCHEMA integers;
SET search_path = integers, public;
SET max_parallel_workers_per_gather = 0;
SET jit = off;
SET enable_bitmapscan = off;
SET enable_indexonlyscan = off;

-- What is looked for: value after value by new scans of one plan, each in every
-- type that has it, else NULL; and arrays of it, its successor, NULL and 5.
CREATE TABLE numbers AS
    SELECT i::int, x FROM unnest('{5,3000000000,-32768,-2147483649,0,65541,-1,9223372036854775807,32767,32768,-9223372036854775808,-32769,
        2147483647,4294967301,-2147483648,2147483648,-3000000000,-32767,NULL}'::int8[]) WITH ORDINALITY n (x, i);
CREATE TABLE v AS
    SELECT i, x AS x8, y AS y8, ARRAY[x, y, NULL, 5] AS any8, x4, y4, ARRAY[x4, y4, NULL, 5] AS any4, x2, y2, ARRAY[x2, y2, NULL, 5::int2] AS any2
    FROM (SELECT i, x, lead(x) OVER (ORDER BY i) AS y FROM numbers) n,
         LATERAL (SELECT CASE WHEN x = int8smaller(int8larger(x, -2147483648), 2147483647) THEN x END::int4 AS x4,
                         CASE WHEN y = int8smaller(int8larger(y, -2147483648), 2147483647) THEN y END::int4 AS y4,
                         CASE WHEN x = int8smaller(int8larger(x, -32768), 32767) THEN x END::int2 AS x2,
                         CASE WHEN y = int8smaller(int8larger(y, -32768), 32767) THEN y END::int2 AS y2) f;
SELECT count(x8) AS int8, count(x4) AS int4, count(x2) AS int2 FROM v;

CREATE TABLE q (t text COLLATE "C", a int2, b int4, c int8, n int);
INSERT INTO q
    SELECT (ARRAY['w', 'x', 'y', NULL])[1 + abs(hashint4(i)::int8) % 4],
           (SELECT array_agg(x2) FROM v)[1 + abs(hashint4(-i)::int8) % 19],
           (SELECT array_agg(x4) FROM v)[1 + abs(hashint8(i * 777777777777)::int8) % 19],
           (SELECT array_agg(x8) FROM v)[1 + abs(hashint8(i * -333333333333)::int8) % 19], i
    FROM generate_series(1, 600) i;

-- conditions on column K, with values of type N
CREATE TABLE conditions (id serial, k text, c text, answer text);
INSERT INTO conditions (k, c)
SELECT k, regexp_replace(regexp_replace(replace(c, 'OP', op), '\mK\M', k, 'g'), '\m(x|y|any)N\M', '\1' || n, 'g')
FROM unnest('{a,b,c}'::text[]) k, unnest('{2,4,8}'::text[]) n, (
    SELECT c, op FROM unnest('{=,<,<=,>=,>}'::text[]) op, unnest(ARRAY[
        'K OP xN', 't = ''x'' AND K OP xN', 't = ''x'' AND K OP ANY (anyN)', 'K OP xN AND K OP ANY (any8)',
        'K OP ANY (anyN) AND K OP ANY (any2)', 't IS NULL AND K OP ANY (anyN)']) c
    UNION ALL SELECT c, op FROM unnest('{<,<=,>=,>}'::text[]) op, unnest(ARRAY[
        '(t, K) OP (''x'', xN)', '(K, t) OP (xN, ''x'')', '(b, K) OP (y4, xN)', '(K, c) OP (xN, y2)',
        't = ''x'' AND K OP xN AND K OP y8', 't = ''x'' AND K OP xN AND K OP y4', '(t, K) OP (''x'', xN) AND K OP y8']) c
    UNION ALL VALUES
        ('t IN (''w'', ''y'') AND K IN (xN, yN, 5)', ''), ('K = xN AND t > ''w''', ''), ('b = y2 AND K = xN', ''), ('b = y8 AND K > xN', ''),
        ('K > xN AND K <= y8', ''), ('K = ANY (anyN) AND c >= y4', ''), ('K = ANY (anyN) AND c = ANY (any4)', ''),
        ('K = xN AND c = y4', '')) o (c, op);

-- Which rows satisfy a condition with each of the values?
CREATE FUNCTION answer(c text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE answer text;
BEGIN
    EXECUTE format('SELECT md5(string_agg(i || '':'' || rows::text, '' '' ORDER BY i)) FROM (
                    SELECT i, ARRAY(SELECT n FROM q WHERE %s ORDER BY n) AS rows FROM v OFFSET 0) r', c) INTO answer;
    RETURN answer;
END $$;
UPDATE conditions SET answer = answer(c);
SELECT count(*) AS conditions, count(DISTINCT answer) > 400 AS various FROM conditions;

-- Ask an index of column K for all conditions on the column.
CREATE FUNCTION compare(columns text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    col text;
    r record;
    line text;
    used int;
BEGIN
    FOREACH col IN ARRAY '{a,b,c}'::text[] LOOP
        EXECUTE 'CREATE INDEX q_idx ON q USING fpbtree ' || replace(columns, 'K', col);
        used := 0;
        FOR r IN SELECT * FROM conditions WHERE k = col ORDER BY id LOOP
            SET LOCAL enable_seqscan = off;
            FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) SELECT (SELECT count(*) FROM q WHERE ' || r.c || ') FROM v' LOOP
                IF line ~ 'Index Cond:' THEN
                    used := used + 1;
                END IF;
            END LOOP;
            IF answer(r.c) <> r.answer THEN
                RAISE NOTICE '%: % differs', replace(columns, 'K', col), r.c;
            END IF;
            SET LOCAL enable_seqscan = on;
        END LOOP;
        IF used < 150 THEN
            RAISE NOTICE '%: used % times', replace(columns, 'K', col), used;
        END IF;
        DROP INDEX q_idx;
    END LOOP;
END $$;

SELECT compare('(t, K)');
SELECT compare('(t DESC, K DESC)');
SELECT compare('(t, K DESC NULLS LAST, n)');
SELECT compare('(K) INCLUDE (n)');
SELECT compare('(K DESC, t)');
-- heads of two columns
SELECT compare('(b, K) INCLUDE (n)');
SELECT compare('(K NULLS FIRST, c) INCLUDE (n)');
SELECT compare('(b DESC, K DESC, t)');

SET client_min_messages = warning;
DROP SCHEMA integers CASCADE;
