--
-- Row comparisons, as a list has that is turned page by page: what is read of
-- them, and that NULLs among the values are no rows of them.
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS fpbtree;
RESET client_min_messages;

CREATE SCHEMA keyset;
SET search_path = keyset, public;
SET max_parallel_workers_per_gather = 0;
SET jit = off;
SET enable_bitmapscan = off;

-- few values, and so many NULLs that a scan comes upon hundreds of them
CREATE TABLE k (id int, a int4, b int8, c int4, t text COLLATE "C", pad text) WITH (autovacuum_enabled = off);
INSERT INTO k SELECT i, nullif(i % 8, 7), CASE WHEN i / 8 % 9 < 5 THEN i / 8 % 9 END, nullif(i % 3, 2), nullif(i % 8, 7), 'pad'
FROM generate_series(1, 2400) i;

CREATE FUNCTION rows_of(query text) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
    result text[];
BEGIN
    EXECUTE 'SELECT array_agg(x::text) FROM (' || query || ') x' INTO result;
    RETURN result;
END $$;

CREATE FUNCTION uses_index(query text) RETURNS bool LANGUAGE plpgsql AS $$
DECLARE
    line text;
    used bool := false;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
        used := used OR line LIKE '%k_idx%';
        IF line LIKE '%Sort%' THEN RETURN false; END IF;
    END LOOP;
    RETURN used;
END $$;

-- All conditions on two columns, x and y, beside others, in the order of an
-- index, by itself and by sorting all rows; all of them, and the first few.
-- Returns how often the index has been used.
CREATE FUNCTION compare_all(x text, y text, beside text, orders text[]) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
    cond text;
    o text;
    n int;
    query text;
    expected text[];
    found text[];
    used int := 0;
BEGIN
    FOREACH cond IN ARRAY ARRAY[
        $c$(x, y) > ('4', '2')$c$, $c$(x, y) >= ('4', '2')$c$, $c$(x, y) < ('4', '2')$c$, $c$(x, y) <= ('4', '2')$c$,
        $c$(x, y) > ('4', NULL)$c$, $c$(x, y) < ('4', NULL)$c$, $c$(x, y) > (NULL, '2')$c$,
        $c$(x, y) > ('4', '4')$c$, $c$(x, y) > ('6', '4')$c$, $c$(x, y) < ('0', '0')$c$, $c$(x, y) >= ('4', '0')$c$,
        $c$(x, y) > ('4', '2') AND (x, y) <= ('6', '1')$c$, $c$(x, y) > ('4', '2') AND (x, y) > ('3', '3')$c$,
        $c$(x, y) > ('4', '2') AND x >= '4'$c$, $c$(x, y) > ('4', '2') AND x > '5'$c$, $c$(x, y) > ('4', '2') AND x = '4'$c$,
        $c$(x, y) > ('4', '2'::int2)$c$, $c$(x, y) < ('4', '10000000000'::int8)$c$, $c$(x, y, id) > ('4', '2', 700)$c$,
        $c$(x, y) > ('4', '2') AND y IS NOT NULL$c$, $c$(x, y) > ('4', '2') AND y IS NULL$c$, $c$(x, y) > ('4', '2') AND y = '3'$c$,
        $c$(x, y) < ('4', '2') AND y > '1' AND y < '4'$c$, $c$(x, y) > ('4', '2') AND id % 97 = 0$c$, $c$(y, x) > ('2', '4')$c$,
        $c$x IN ('2', '4') AND (x, y) > ('2', '2')$c$] LOOP
        FOREACH o IN ARRAY orders LOOP
            query := format('SELECT %s, %s FROM k WHERE %s AND %s ORDER BY %s', x, y, beside,
                            regexp_replace(regexp_replace(cond, '\mx\M', x, 'g'), '\my\M', y, 'g'), o);
            SET LOCAL enable_seqscan = on;
            SET LOCAL enable_sort = on;
            SET LOCAL enable_indexscan = off;
            SET LOCAL enable_indexonlyscan = off;
            expected := rows_of(query);
            SET LOCAL enable_indexscan = on;
            SET LOCAL enable_seqscan = off;
            SET LOCAL enable_sort = off;
            FOREACH n IN ARRAY '{2,40,1000000}'::int[] LOOP
                SET LOCAL enable_indexonlyscan = on;
                found := rows_of(query || ' LIMIT ' || n);
                IF found IS DISTINCT FROM (CASE WHEN expected IS NOT NULL THEN expected[1:n] END) THEN
                    RAISE NOTICE 'differs, index-only: % LIMIT %', query, n;
                END IF;
                SET LOCAL enable_indexonlyscan = off;
                found := rows_of(query || ' LIMIT ' || n);
                IF found IS DISTINCT FROM (CASE WHEN expected IS NOT NULL THEN expected[1:n] END) THEN
                    RAISE NOTICE 'differs: % LIMIT %', query, n;
                END IF;
            END LOOP;
            used := used + uses_index(query)::int;
        END LOOP;
    END LOOP;
    RETURN used;
END $$;

-- two columns in one word, in all orders
CREATE INDEX k_idx ON k USING fpbtree (a, b);
VACUUM ANALYZE k;
SELECT compare_all('a', 'b', 'true', '{"a, b","a DESC, b DESC"}') > 40 AS used;
DROP INDEX k_idx;
CREATE INDEX k_idx ON k USING fpbtree (a DESC, b DESC);
SELECT compare_all('a', 'b', 'true', '{"a, b","a DESC, b DESC"}') > 40 AS used;
DROP INDEX k_idx;
CREATE INDEX k_idx ON k USING fpbtree (a NULLS FIRST, b NULLS FIRST);
SELECT compare_all('a', 'b', 'true', '{"a NULLS FIRST, b NULLS FIRST","a DESC NULLS LAST, b DESC NULLS LAST"}') > 40 AS used;
DROP INDEX k_idx;
CREATE INDEX k_idx ON k USING fpbtree (a, b DESC);
SELECT compare_all('a', 'b', 'true', '{"a, b DESC","a DESC, b"}') > 40 AS used;
DROP INDEX k_idx;

-- tuples
CREATE INDEX k_idx ON k USING fpbtree (a, b) INCLUDE (id);
SELECT compare_all('a', 'b', 'true', '{"a, b","a DESC, b DESC"}') > 40 AS used;
DROP INDEX k_idx;
CREATE INDEX k_idx ON k USING fpbtree (a DESC, b DESC) INCLUDE (id);
SELECT compare_all('a', 'b', 'true', '{"a, b","a DESC, b DESC"}') > 40 AS used;
DROP INDEX k_idx;
CREATE INDEX k_idx ON k USING fpbtree (a NULLS FIRST, b NULLS FIRST) INCLUDE (id);
SELECT compare_all('a', 'b', 'true', '{"a NULLS FIRST, b NULLS FIRST","a DESC NULLS LAST, b DESC NULLS LAST"}') > 40 AS used;
DROP INDEX k_idx;
CREATE INDEX k_idx ON k USING fpbtree (a, b NULLS FIRST) INCLUDE (id);
SELECT compare_all('a', 'b', 'true', '{"a, b NULLS FIRST","a DESC, b DESC NULLS LAST"}') > 40 AS used;
DROP INDEX k_idx;
CREATE INDEX k_idx ON k USING fpbtree (t, b);
SELECT compare_all('t', 'b', 'true', '{"t, b","t DESC, b DESC"}') > 40 AS used;
DROP INDEX k_idx;
CREATE INDEX k_idx ON k USING fpbtree (t, b DESC) INCLUDE (id);
SELECT compare_all('t', 'b', 'true', '{"t, b DESC","t DESC, b"}') > 40 AS used;
DROP INDEX k_idx;

-- a column before, which may have several values or be NULL
CREATE INDEX k_idx ON k USING fpbtree (c, a, b);
SELECT compare_all('a', 'b', 'c = 1', '{"a, b","a DESC, b DESC"}') > 40 AS used;
SELECT compare_all('a', 'b', 'c IS NULL', '{"c, a, b","c DESC, a DESC, b DESC"}') > 40 AS used;
SELECT compare_all('a', 'b', 'c IN (0, 1)', '{"c, a, b","c DESC, a DESC, b DESC"}') > 40 AS used;
SELECT compare_all('a', 'b', 'c > 0', '{"c, a, b","c DESC, a DESC, b DESC"}') > 0 AS used;
DROP INDEX k_idx;
CREATE INDEX k_idx ON k USING fpbtree (c, t, b);
SELECT compare_all('t', 'b', 'c = 1', '{"t, b","t DESC, b DESC"}') > 40 AS used;
SELECT compare_all('t', 'b', 'c IN (0, 1)', '{"c, t, b","c DESC, t DESC, b DESC"}') > 40 AS used;
DROP INDEX k_idx;

-- three members; a scan of the greatest and least words
SET enable_seqscan = off;
SET enable_sort = off;
CREATE TABLE w (a int4, b int4, c int4);
INSERT INTO w SELECT x, y, z FROM unnest('{-2147483648,0,2147483647,NULL}'::int[]) x, unnest('{-2147483648,0,2147483647,NULL}'::int[]) y,
    unnest('{-2147483648,0,2147483647,NULL}'::int[]) z, generate_series(1, 3);
CREATE FUNCTION compare_three() RETURNS int LANGUAGE plpgsql AS $$
DECLARE
    r record;
    op text;
    query text;
    expected text;
    found text;
    n int := 0;
BEGIN
    FOR r IN SELECT DISTINCT * FROM w LOOP
        FOREACH op IN ARRAY '{<,<=,>=,>}'::text[] LOOP
            query := format('SELECT array_agg(x::text) FROM (SELECT * FROM %%s WHERE (a, b, c) %s (%L, %L, %L) ORDER BY %s LIMIT 70) x', op, r.a, r.b, r.c,
                            CASE WHEN op LIKE '<%' THEN 'a DESC, b DESC, c DESC' ELSE 'a, b, c' END);
            EXECUTE format(query, 'w_copy') INTO expected;
            EXECUTE format(query, 'w') INTO found;
            IF found IS DISTINCT FROM expected THEN
                RAISE NOTICE 'differs: %', query;
            END IF;
            n := n + 1;
        END LOOP;
    END LOOP;
    RETURN n;
END $$;
CREATE TABLE w_copy AS SELECT * FROM w;
CREATE INDEX w_idx ON w USING fpbtree (a, b, c);
VACUUM ANALYZE w;
SELECT compare_three();
DROP INDEX w_idx;
CREATE INDEX w_idx ON w USING fpbtree (a DESC, b DESC, c DESC) INCLUDE (b);
SELECT compare_three();
DROP INDEX w_idx;

-- NULLs are passed over more and more of them at a time
CREATE FUNCTION blocks(query text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
    plan json;
BEGIN
    EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, COSTS OFF, TIMING OFF, SUMMARY OFF, FORMAT json) ' || query INTO plan;
    RETURN (plan->0->'Plan'->>'Shared Hit Blocks')::int + (plan->0->'Plan'->>'Shared Read Blocks')::int;
END $$;
CREATE INDEX k_idx ON k USING fpbtree (a, b) INCLUDE (id);
VACUUM ANALYZE k;
SELECT a, b FROM k WHERE (a, b) > (4, 4) ORDER BY a, b LIMIT 1;
SELECT blocks('SELECT a, b FROM k WHERE (a, b) > (4, 4) ORDER BY a, b LIMIT 1') < 15 AS few;
DROP INDEX k_idx;

-- scans that start again, as the inner side of a join
CREATE TABLE copy AS SELECT * FROM k;
CREATE FUNCTION compare_joins(ordering text, op text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
    query text;
    expected text[];
    found text[];
    n int;
    compared int := 0;
BEGIN
    FOREACH n IN ARRAY '{1,4,20,40,100,200,1000}'::int[] LOOP
        query := format('SELECT g, x.a, x.b FROM generate_series(0, 40) g, LATERAL (SELECT a, b FROM %%s WHERE (a, b) %s (mod(g, 7), g / 7) ORDER BY %s LIMIT %s) x',
                        op, ordering, n);
        expected := rows_of(format(query, 'copy'));
        found := rows_of(format(query, 'k'));
        IF found IS DISTINCT FROM expected THEN
            RAISE NOTICE 'differs: %', query;
        END IF;
        compared := compared + array_length(found, 1);
    END LOOP;
    RETURN compared;
END $$;
CREATE INDEX k_idx ON k USING fpbtree (a, b) INCLUDE (id);
VACUUM ANALYZE k;
SELECT compare_joins('a, b', '>'), compare_joins('a DESC, b DESC', '<');

-- cursors, moved to and fro; over NULLs
CREATE INDEX copy_idx ON copy USING btree (a, b, id);
DROP INDEX k_idx;
CREATE INDEX k_idx ON k USING fpbtree (a, b, id);
VACUUM ANALYZE k;
VACUUM ANALYZE copy;
CREATE FUNCTION compare_moves(query text, moves int[]) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
    fc refcursor;
    bc refcursor;
    fr record;
    br record;
    n int;
    fetched int := 0;
BEGIN
    OPEN fc SCROLL FOR EXECUTE format(query, 'k');
    OPEN bc SCROLL FOR EXECUTE format(query, 'copy');
    FOREACH n IN ARRAY moves LOOP
        FOR i IN 1..abs(n) LOOP
            IF n > 0 THEN
                FETCH NEXT FROM fc INTO fr;
                FETCH NEXT FROM bc INTO br;
            ELSE
                FETCH PRIOR FROM fc INTO fr;
                FETCH PRIOR FROM bc INTO br;
            END IF;
            IF fr IS DISTINCT FROM br THEN
                RAISE NOTICE '%: after % of %, % instead of %', query, i, n, fr, br;
                RETURN fetched;
            END IF;
            EXIT WHEN fr IS NULL;
            fetched := fetched + 1;
        END LOOP;
    END LOOP;
    CLOSE fc;
    CLOSE bc;
    RETURN fetched;
END $$;
SELECT sum(compare_moves(q, m::int[])) AS compared
FROM unnest(ARRAY[
        'SELECT a, b, id FROM %s WHERE (a, b, id) > (3, 3, 1200) ORDER BY a, b, id',
        'SELECT a, b, id FROM %s WHERE (a, b) > (3, 3) ORDER BY a DESC, b DESC, id DESC',
        'SELECT a, b, id FROM %s WHERE (a, b) > (3, 4) ORDER BY a, b, id',
        'SELECT a, b, id FROM %s WHERE (a, b, id) < (3, 3, 1200) ORDER BY a DESC, b DESC, id DESC',
        'SELECT a, b, id FROM %s WHERE (a, b, id) < (3, 3, 1200) AND (a, b) >= (1, 0) ORDER BY a, b, id',
        'SELECT a, b, id, pad FROM %s WHERE (a, b, id) > (3, 3, 1200) ORDER BY a, b, id']) q,
    unnest(ARRAY['{-1,3,-2,5,-10,10}', '{10000,-1,1,-10000,1,-1}', '{2,-1,24,-20,30,-40}', '{1,-1,1,-1,1,-1}',
                 '{500,-300,400,-700,2,-100,900,-10000}', '{27,1,-28,160,-160,156,-3,3}']::text[]) m;

-- rows that have died: the entries of the first ones are known dead before long
DELETE FROM k WHERE a = 4 AND id % 5 <> 0;
SELECT compare_all('a', 'b', 'true', '{"a, b","a DESC, b DESC"}') > 40 AS used;

-- in parallel
SET min_parallel_index_scan_size = 0;
SET min_parallel_table_scan_size = 0;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET max_parallel_workers_per_gather = 2;
SET enable_sort = on;
SELECT count(*), sum(b), sum(id) FROM k WHERE (a, b) > (2, 1);
SELECT count(*), sum(b), sum(id) FROM k WHERE (a, b) < (4, 1);
SET enable_seqscan = on;
SET enable_indexscan = off;
SET enable_indexonlyscan = off;
SELECT count(*), sum(b), sum(id) FROM k WHERE (a, b) > (2, 1);
SELECT count(*), sum(b), sum(id) FROM k WHERE (a, b) < (4, 1);

SET client_min_messages = warning;
DROP SCHEMA keyset CASCADE;
