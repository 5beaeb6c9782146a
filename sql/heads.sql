--
-- Heads that are made of values that are no words (numeric, inet, interval,
-- timetz), or of two columns.  Many values lie close to each other, and on both
-- sides of every limit of the heads.  What the index finds is compared with a
-- sort of the same rows, and fpbtree_check compares neighbours in each page.
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS fpbtree;
RESET client_min_messages;

CREATE SCHEMA heads;
SET search_path = heads, public;
SET max_parallel_workers_per_gather = 0;
SET jit = off;
SET enable_bitmapscan = off;
SELECT setseed(0.25);

-- Compare what table v's index finds with what a sort gives, for each fourth key: the
-- rows that are equal to it, less, and greater; and those equal in the first
-- column, and of these the ones that are less, or greater.  Half of the rows come by insertion.
CREATE FUNCTION check_values(columns text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    answer text;
    plan text := '';
    line text;
    query text := $q$
        SELECT format('%s keys, %s differ', count(*),
                      count(*) FILTER (WHERE equal <> n OR less <> below OR more <> total - below - n OR
                                             less_of_a <> below_of_a OR more_of_a <> total_of_a - below_of_a - n OR
                                             of_a <> total_of_a))
          FROM (SELECT a, b, count(*) AS n, min(place) - 1 AS below, min(place_of_a) - 1 AS below_of_a, min(total) AS total,
                       min(total_of_a) AS total_of_a
                  FROM (SELECT a, b, rank() OVER (ORDER BY a, b) AS place, rank() OVER (PARTITION BY a ORDER BY b) AS place_of_a,
                               count(*) OVER () AS total, count(*) OVER (PARTITION BY a) AS total_of_a
                          FROM v WHERE a IS NOT NULL AND b IS NOT NULL) r WHERE place % 4 = 0 GROUP BY a, b) p,
               LATERAL (SELECT count(*) AS equal FROM v WHERE v.a = p.a AND v.b = p.b) e,
               LATERAL (SELECT count(*) AS less FROM v WHERE (v.a, v.b) < (p.a, p.b) AND v.b IS NOT NULL) l,
               LATERAL (SELECT count(*) AS more FROM v WHERE (v.a, v.b) > (p.a, p.b) AND v.b IS NOT NULL) m,
               LATERAL (SELECT count(b) AS of_a FROM v WHERE v.a = p.a) oa,
               LATERAL (SELECT count(*) AS less_of_a FROM v WHERE v.a = p.a AND v.b < p.b) la,
               LATERAL (SELECT count(*) AS more_of_a FROM v WHERE v.a = p.a AND v.b > p.b) ma $q$;
BEGIN
    CREATE TEMP TABLE w AS SELECT * FROM v WHERE i % 2 = 0;
    DELETE FROM v WHERE i % 2 = 0;
    EXECUTE format('CREATE INDEX v_idx ON v USING fpbtree (%s)', columns);
    PERFORM fpbtree_check('v_idx');
    INSERT INTO v SELECT * FROM w ORDER BY random();
    PERFORM fpbtree_check('v_idx', true);
    ANALYZE v;
    SET LOCAL enable_seqscan = off;
    FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
        plan := plan || line;
    END LOOP;
    EXECUTE query INTO answer;
    SET LOCAL enable_seqscan = on;
    DROP INDEX v_idx;
    DROP TABLE v, w;
    RETURN answer || CASE WHEN (SELECT count(*) FROM regexp_matches(plan, 'using v_idx', 'g')) >= 6 THEN '' ELSE ', not by the index' END;
END $$;

-- The values of one type: those close to each limit, of both signs, and others.
CREATE FUNCTION numerics() RETURNS SETOF numeric LANGUAGE sql AS $$
    WITH near AS (
        -- powers of ten, of all that heads have decades for and beyond, and what lies just beside them
        SELECT x FROM generate_series(-24, 46) e,
                      unnest(ARRAY[10::numeric ^ e, 10::numeric ^ e * 0.99999999999999999, 10::numeric ^ e * 1.0000000000000001,
                                   10::numeric ^ e * 1.0000000000000002, 10::numeric ^ e * 9.99999999999999999999]) x
        UNION ALL SELECT (10::numeric ^ (random() * 12 - 4)::int * (random() * 10000)::int)::numeric(30, 6) FROM generate_series(1, 250)
        UNION ALL SELECT 123456 + i / 100.0 FROM generate_series(1, 150) i
        UNION ALL SELECT x FROM unnest('{1e1000, 1.1e1000, 1e-1000, 1e16000, 2e-16000, 9999999999999999, 99999999.99999999}'::numeric[]) x)
    SELECT x FROM near UNION ALL SELECT -x FROM near
    UNION ALL SELECT x FROM unnest('{NaN, NaN, Infinity, -Infinity, 0, 0.000, 1, 1.0, 1.00000000}'::numeric[]) x $$;
CREATE FUNCTION inets() RETURNS SETOF inet LANGUAGE sql AS $$
    SELECT set_masklen((a::inet + (i * i * 31) % 700)::inet, least(m, CASE WHEN a LIKE '%:%' THEN 128 ELSE 32 END))
      FROM unnest('{0.0.0.0, 10.0.0.0, 127.255.254.0, 128.0.0.0, 255.255.252.0, ::, 2001:db8::, 2001:db8:0:1::, 7fff:ffff:ffff:ffff:ffff::,
                    8000::, ffff:ffff:ffff:ffff::}'::text[]) a,
           unnest('{0, 1, 8, 24, 31, 32, 63, 64, 65, 128}'::int[]) m, generate_series(1, 8) i $$;
CREATE FUNCTION intervals() RETURNS SETOF interval LANGUAGE sql AS $$
    WITH near AS (
        SELECT make_interval(days => (random() * 40)::int, secs => random() * 90000) AS x FROM generate_series(1, 300)
        -- days and time of other signs
        UNION ALL SELECT make_interval(days => i % 5, secs => -i * 700) FROM generate_series(1, 250) i
        UNION ALL SELECT make_interval(months => d / 30, days => d % 30, secs => s)
          FROM generate_series(32764, 32771) d, unnest('{0, 0.000001, 43200, 86399.999999, 86400}'::float8[]) s
        UNION ALL SELECT x FROM unnest('{1 month, 30 days, 720 hours, 24 hours, 1 day, 0, 178000000 years, 100 years, 2562047788 hours}'::interval[]) x)
    SELECT x FROM near UNION ALL SELECT -x FROM near $$;
CREATE FUNCTION timetzs() RETURNS SETOF timetz LANGUAGE sql AS $$
    SELECT (t || z)::timetz
      FROM (SELECT time '00:00' + make_interval(secs => (random() * 86399)::int) AS t FROM generate_series(1, 120)
            UNION ALL SELECT unnest('{00:00, 00:00:00.000001, 00:00:00.000063, 00:00:00.000064, 12:00, 23:59:59.999999, 24:00}'::time[])) t,
           unnest('{+00, +15:59:59, -15:59:59, +02, -07:30}'::text[]) z $$;

CREATE FUNCTION check_type(type text, columns text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('CREATE TEMP TABLE v (a %s, b int, i int)', type);
    EXECUTE format('INSERT INTO v SELECT x, i %% 3, i FROM (SELECT x, row_number() OVER () AS i FROM %ss() x) y', type);
    INSERT INTO v SELECT NULL, i % 2, i FROM generate_series(1, 10) i;
    RETURN check_values(columns);
END $$;

SELECT type, columns, check_type(type, columns)
  FROM unnest('{numeric, inet, interval, timetz}'::text[]) type, unnest('{"a, b", "a DESC, b"}'::text[]) columns;

-- two columns: the first with NULL and with the value whose code NULL shares
CREATE FUNCTION check_pair(first text, second text, expression text, columns text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('CREATE TEMP TABLE v (a %s, b %s, i int)', first, second);
    EXECUTE format($q$
        INSERT INTO v SELECT CASE i %% 7 WHEN 0 THEN NULL WHEN 1 THEN high WHEN 2 THEN low ELSE other END,
                             CASE WHEN i %% 29 > 0 THEN %s END, i
                        FROM (SELECT i, i %% 3 AS j FROM generate_series(1, 900) i) x,
                             LATERAL (SELECT %s) y (high, low, other) $q$,
                   expression,
                   CASE first WHEN 'bool' THEN 'true, false, j = 0' WHEN 'date' THEN $d$'infinity'::date, '-infinity'::date, '2026-01-01'::date + j$d$
                              ELSE '2147483647, -2147483647 - 1, j' END);
    RETURN check_values(columns);
END $$;

SELECT first, second, columns, check_pair(first, second, expression, columns)
  FROM (VALUES ('int4', 'text COLLATE "C"', $$md5((i / 2)::text)$$), ('date', 'numeric', $$i * 7919 % 400 / 8.0$$),
               ('bool', 'interval', $$make_interval(hours => i * 31 % 500)$$), ('int4', 'uuid', $$md5((i / 2)::text)::uuid$$),
               ('int4', 'bytea', $$decode(substr(md5((i / 2)::text), 1, i % 8 * 2), 'hex')$$),
               ('date', 'inet', $$set_masklen('10.0.0.0'::inet + i * 7919, 20 + i % 13)$$)) t (first, second, expression),
       unnest('{"a, b", "a DESC, b NULLS FIRST", "a NULLS FIRST, b DESC"}'::text[]) columns;

-- A text and a number: texts that end before, in and behind the heads of a page; numbers of all lengths, and beside these.
CREATE FUNCTION check_number(type text, expression text, columns text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('CREATE TEMP TABLE v (a text COLLATE "C", b %s, i int)', type);
    EXECUTE format($q$
        INSERT INTO v SELECT CASE i %% 6 WHEN 0 THEN CASE WHEN i %% 5 > 0 THEN '' END WHEN 1 THEN 'tenant 17' WHEN 2 THEN left('tenant 17000042', 7 + j)
                                         WHEN 3 THEN 'tenant 1700000' || i %% 3 WHEN 4 THEN repeat('x', 120 + j) ELSE 'tenant ' || j * 31 END,
                             CASE WHEN i %% 29 > 0 THEN %s END, i
                        FROM (SELECT i, i / 6 %% 9 AS j, i / 6 AS n FROM generate_series(1, 1500) i) x $q$, expression);
    RETURN check_values(columns);
END $$;

SELECT type, columns, check_number(type, expression, columns)
  FROM (VALUES ('int8', $$greatest(least((1 - n % 2 * 2) * 2::numeric ^ (n / 3 % 64) + n % 3 - 1, 9223372036854775807), -9223372036854775808)$$),
               ('int4', $$greatest(least((1 - n % 2 * 2) * 2::numeric ^ (n / 3 % 32) + n % 3 - 1, 2147483647), -2147483648)$$),
               ('int2', $$greatest(least((1 - n % 2 * 2) * 2::numeric ^ (n / 3 % 16) + n % 3 - 1, 32767), -32768)$$),
               ('oid', $$least(2::numeric ^ (n % 33), 4294967295)::int8::oid$$), ('bool', $$n % 2 = 0$$), ('"char"', $$(n % 256 - 128)::"char"$$),
               ('date', $$CASE n % 9 WHEN 0 THEN '-infinity' WHEN 1 THEN 'infinity' ELSE '2000-01-01'::date + n - 100 END$$),
               ('timestamp', $$CASE n % 9 WHEN 0 THEN '-infinity' WHEN 1 THEN 'infinity' ELSE '2026-01-01'::timestamp + n * interval '1 ms' END$$),
               ('time', $$make_time(n % 24, n % 60, n / 10.0 % 60)$$)) t (type, expression),
       unnest('{"a, b", "a NULLS FIRST, b DESC", "a text_pattern_ops, b NULLS FIRST"}'::text[]) columns;

-- Two texts: the second ends before, in and behind the heads of a page, begins with the bytes that NULLs have and with the
-- greatest, is the beginning of others, and has a short and a long header.  (DESC: heads are of the first alone.)
CREATE FUNCTION check_texts(expression text, columns text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    CREATE TEMP TABLE v (a text COLLATE "C", b text COLLATE "C", i int);
    EXECUTE format($q$
        INSERT INTO v SELECT CASE i %% 6 WHEN 0 THEN CASE WHEN i %% 5 > 0 THEN '' END WHEN 1 THEN 'tenant 17' WHEN 2 THEN left('tenant 17000042', 7 + j)
                                         WHEN 3 THEN 'tenant 1700000' || i %% 3 WHEN 4 THEN repeat('x', 120 + j) ELSE 'tenant ' || j * 31 END,
                             CASE WHEN i %% 29 > 0 THEN %s END, i
                        FROM (SELECT i, i / 6 %% 9 AS j, i / 6 AS n FROM generate_series(1, 1500) i) x $q$, expression);
    RETURN check_values(columns);
END $$;

SELECT what, columns, check_texts(expression, columns)
  FROM (VALUES ('beginnings', $$left('customer 00000170', n % 18)$$), ('marks', $$repeat(E'\x01', n % 3) || repeat(E'\x02', n % 5)$$),
               ('greatest', $$repeat(chr(1114111), n % 4) || left('xy', n % 3)$$), ('long', $$repeat('y', 118 + n % 15) || n % 3$$),
               ('alike', $$'customer ' || lpad(n::text, 7, '0')$$), ('compressed', $$repeat('long ', n % 4 * 60) || n % 50$$)) t (what, expression),
       unnest('{"a, b", "a NULLS FIRST, b NULLS FIRST", "a text_pattern_ops, b", "a, b text_pattern_ops, i", "a, b DESC"}'::text[]) columns;

-- A number or a uuid in front, of which tuples lack the code: few of them with many rows, so that prefixes go on into the
-- second column, such as begin alike, the least and the greatest, and NULLs beside these.
CREATE FUNCTION check_code(first text, expression text, second text, other text, columns text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('CREATE TEMP TABLE v (a %s, b %s, i int)', first, second);
    EXECUTE format($q$
        INSERT INTO v SELECT CASE WHEN i %% 53 > 0 THEN %s END, CASE WHEN i %% 29 > 0 THEN %s END, i
                        FROM (SELECT i, i / 6 %% 9 AS j, i / 6 AS n FROM generate_series(1, 1500) i) x $q$, expression, other);
    RETURN check_values(columns);
END $$;

SELECT first, second, columns, check_code(first, expression, second, other, columns)
  FROM (VALUES ('uuid', $$(CASE i % 6 WHEN 0 THEN 'ffffffff-ffff-ffff-ffff-fffffffffff' || j WHEN 1 THEN '00000000-0000-0000-0000-00000000000' || j % 2
                              WHEN 2 THEN md5((j / 2)::text) WHEN 3 THEN '01893f2e-0000-7000-8000-00000000' || lpad((n % 300)::text, 4, '0')
                              ELSE '01893f2e-0000-7000-8000-000000001234' END)::uuid$$),
               ('int8', $$CASE i % 6 WHEN 0 THEN 9223372036854775807 - j % 2 WHEN 1 THEN -9223372036854775808 + j % 2 WHEN 2 THEN (j - 4) * 10000000000
                              WHEN 3 THEN n ELSE 17 END$$),
               ('timestamptz', $$CASE i % 6 WHEN 0 THEN 'infinity'::timestamptz WHEN 1 THEN '-infinity' WHEN 2 THEN '2026-01-01 UTC'::timestamptz + j * interval '1 day'
                                     ELSE '2026-11-30 12:00 UTC' END$$),
               ('int4', $$CASE i % 4 WHEN 0 THEN 2147483647 - j % 2 WHEN 1 THEN -2147483648 + j % 2 ELSE 7 END$$)) f (first, expression),
       (VALUES ('int8', $$greatest(least((1 - n % 2 * 2) * 2::numeric ^ (n / 3 % 64) + n % 3 - 1, 9223372036854775807), -9223372036854775808)$$),
               ('timestamptz', $$'2026-01-01 UTC'::timestamptz + n * interval '1 second'$$),
               ('text COLLATE "C"', $$left('customer 00000170', n % 18) || repeat('y', CASE WHEN n % 11 = 0 THEN 118 + n % 15 WHEN n % 13 = 0 THEN 3000 ELSE 0 END)$$),
               ('uuid', $$(CASE n % 4 WHEN 0 THEN md5((n / 3)::text) WHEN 1 THEN 'ffffffff-ffff-ffff-ffff-ffffffffffff' WHEN 2 THEN '00000000-0000-0000-0000-000000000000'
                                      ELSE '01893f2e-0000-7000-8000-00000000' || lpad((n % 300)::text, 4, '0') END)::uuid$$),
               ('numeric', $$n % 100 / 8.0$$), ('bool', $$n % 2 = 0$$)) g (second, other),
       unnest('{"a, b", "a DESC, b NULLS FIRST", "a NULLS FIRST, b DESC, i"}'::text[]) columns;

-- leaves of one number or uuid each, and of many; index-only scans give back what the table has, columns behind too
CREATE TABLE owners (u uuid, k int8, at timestamptz, v uuid, t text COLLATE "C", n numeric, note text COLLATE "C");
INSERT INTO owners
  SELECT CASE WHEN i % 4 > 0 THEN '01893f2e-0000-7000-8000-00000000000' || i % 3 ELSE md5((i / 3)::text) END::uuid,
         CASE WHEN i % 4 > 0 THEN i % 3 ELSE i * 7919 % 100003 END, CASE WHEN i % 19 > 0 THEN '2026-01-01 UTC'::timestamptz + i * 77 * interval '1 ms' END,
         CASE WHEN i % 10 > 0 THEN md5(i::text)::uuid END,
         CASE WHEN i % 17 > 0 THEN 'document ' || i * 31 % 5003 END, i / 7.0, left('some note', i % 10) FROM generate_series(1, 6000) i;
CREATE INDEX owners_ua ON owners USING fpbtree (u, at);
CREATE INDEX owners_uv ON owners USING fpbtree (u, v) INCLUDE (note);
CREATE INDEX owners_ut ON owners USING fpbtree (u, t);
CREATE INDEX owners_un ON owners USING fpbtree (u DESC, n);
CREATE INDEX owners_u ON owners USING fpbtree (u) INCLUDE (k, note);
CREATE INDEX owners_kav ON owners USING fpbtree (k, at, v);
CREATE INDEX owners_kt ON owners USING fpbtree (k, t);
CREATE INDEX owners_kn ON owners USING fpbtree (k, n);
CREATE INDEX owners_av ON owners USING fpbtree (at DESC, v DESC);
INSERT INTO owners SELECT u, k, at - interval '1 year', v, t || ' and on', -n, note FROM owners;
VACUUM ANALYZE owners;
SELECT indexrelid::regclass, fpbtree_check(indexrelid, true) FROM pg_index WHERE indrelid = 'owners'::regclass ORDER BY indexrelid::regclass::text;
CREATE FUNCTION owners_by(way text, index text, query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    line text;
    plan text := '';
    answer text;
BEGIN
    PERFORM set_config('enable_seqscan', (way = 'seq')::text, true), set_config('enable_indexonlyscan', (way <> 'seq')::text, true),
            set_config('enable_indexscan', (way <> 'seq')::text, true), set_config('enable_sort', (way = 'seq')::text, true);
    UPDATE pg_index SET indisvalid = indexrelid::regclass::text = index WHERE indrelid = 'owners'::regclass;
    FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
        plan := plan || line;
    END LOOP;
    EXECUTE query INTO answer;
    RETURN CASE WHEN plan ~ ('Index Only Scan.* using ' || index || '\M') = (way <> 'seq') THEN coalesce(answer, 'nothing') ELSE plan END;
END $$;
SELECT index, count(*) AS queries, count(*) FILTER (WHERE by_table = 'nothing') AS without_rows,
       string_agg(rest || ' differs: ' || by_index, '; ') FILTER (WHERE by_table <> by_index) AS wrong
  FROM (VALUES ('owners_ua', 'u, at', 'u, at'), ('owners_uv', 'u, v, note', 'u, v'), ('owners_ut', 'u, t', 'u, t'), ('owners_un', 'u, n', 'u DESC, n'),
               ('owners_u', 'u, k, note', 'u, k, note'), ('owners_kav', 'k, at, v', 'k, at, v'), ('owners_kt', 'k, t', 'k, t'), ('owners_kn', 'k, n', 'k, n'),
               ('owners_av', 'at, v', 'at DESC, v DESC')) i (index, columns, sorted),
       unnest(ARRAY['true', $$u = '01893f2e-0000-7000-8000-000000000001'$$, $$u > '01893f2e-0000-7000-8000-000000000001'$$, $$u <= '01893f2e-0000-7000-8000-000000000001'$$,
                    $$u = '01893f2e-0000-7000-8000-000000000002' AND at > '2026-01-01 00:03 UTC'$$, $$u = '01893f2e-0000-7000-8000-000000000002' AND at < '2025-06-01 UTC'$$,
                    $$u = '01893f2e-0000-7000-8000-000000000002' AND at > '2000-01-01 UTC'$$,
                    $$u = '01893f2e-0000-7000-8000-000000000002' AND t BETWEEN 'document 1' AND 'document 3'$$, $$u = '01893f2e-0000-7000-8000-000000000002' AND t IS NULL$$,
                    $$u = '01893f2e-0000-7000-8000-000000000002' AND v > '80000000-0000-0000-0000-000000000000'$$, $$u = '01893f2e-0000-7000-8000-000000000000' AND n < 3$$,
                    $$(u, at) > ('01893f2e-0000-7000-8000-000000000001', '2026-01-01 00:03 UTC')$$, $$(u, v) < ('01893f2e-0000-7000-8000-000000000001', '80000000-0000-0000-0000-000000000000')$$,
                    'k = 2', $$k = 1::int2 AND at > '2026-01-01 00:03 UTC'$$, 'k > 2', 'k < 0', $$k = 1 AND t > 'document 2'$$, $$k = ANY ('{0, 2, 17}') AND t < 'document 2'$$,
                    'k = 2 AND n BETWEEN -7 AND 7', $$(k, at, v) > (1, '2026-01-01 00:03 UTC', '80000000-0000-0000-0000-000000000000')$$,
                    $$at > '2026-01-01 00:07 UTC'$$, $$at = '2026-01-01 00:00:07.7 UTC'$$, $$(at, v) <= ('2026-01-01 00:00:07.7 UTC', '80000000-0000-0000-0000-000000000000')$$]) rest,
       LATERAL (SELECT format($$SELECT md5(string_agg(x::text, ',')) FROM (SELECT %s FROM owners WHERE %s AND %s ORDER BY %s) x$$, columns, rest,
                              CASE WHEN columns ~ '^u' THEN $$u >= '00000000-0000-0000-0000-000000000000'$$ WHEN columns ~ '^k' THEN 'k > -99999999' ELSE $$at > '-infinity'$$ END,
                              sorted)) q (query),
       LATERAL (SELECT owners_by('seq', index, query) AS by_table, owners_by('only', index, query) AS by_index) a
 WHERE NOT EXISTS (SELECT FROM regexp_matches(rest, '\m(u|k|at|v|t|n)\M', 'g') m WHERE m[1] <> ALL (string_to_array(columns, ', ')))
 GROUP BY index ORDER BY index;

-- prefixes of many leaves go on into the second text; index-only scans give back what the table has, columns behind too
CREATE TABLE places (country text COLLATE "C", city text COLLATE "C", n int8, note text COLLATE "C");
INSERT INTO places SELECT 'country ' || i % 3, CASE WHEN i % 7 > 0 THEN 'city ' || i / 3 || repeat(' of', CASE i % 17 WHEN 3 THEN 45 WHEN 4 THEN 400 ELSE i % 4 END) END, i, left('some note', i % 10)
  FROM generate_series(1, 6000) i;
CREATE INDEX places_two ON places USING fpbtree (country, city);
CREATE INDEX places_three ON places USING fpbtree (country, city, n) INCLUDE (note);
INSERT INTO places SELECT country, city || ' and on', -n, note FROM places;
VACUUM ANALYZE places;
SELECT fpbtree_check('places_two', true), fpbtree_check('places_three', true);
CREATE FUNCTION places_by(way text, query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    line text;
    plan text := '';
    answer text;
BEGIN
    PERFORM set_config('enable_seqscan', (way = 'seq')::text, true), set_config('enable_indexonlyscan', (way <> 'seq')::text, true),
            set_config('enable_indexscan', (way <> 'seq')::text, true), set_config('enable_sort', (way = 'seq')::text, true);
    FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
        plan := plan || line;
    END LOOP;
    EXECUTE query INTO answer;
    RETURN CASE WHEN plan ~ 'Index Only Scan' = (way <> 'seq') THEN answer ELSE plan END;
END $$;
SELECT query, places_by('seq', query) = places_by('only', query) AS same
  FROM unnest(ARRAY[$$SELECT md5(string_agg(x::text, ',')) FROM (SELECT country, city FROM places ORDER BY country, city) x$$,
                    $$SELECT md5(string_agg(x::text, ',')) FROM (SELECT country, city FROM places ORDER BY country DESC, city DESC) x$$,
                    $$SELECT md5(string_agg(x::text, ',')) FROM (SELECT country, city, n, note FROM places ORDER BY country, city, n) x$$,
                    $$SELECT md5(string_agg(x::text, ',')) FROM (SELECT country, city FROM places WHERE country = 'country 1' AND city BETWEEN 'city 1' AND 'city 3 of' ORDER BY country, city) x$$,
                    $$SELECT md5(string_agg(x::text, ',')) FROM (SELECT country, city FROM places WHERE country >= 'country 0' AND city LIKE '%7 and on' ORDER BY country, city) x$$,
                    $$SELECT md5(string_agg(x::text, ',')) FROM (SELECT country, city, n FROM places WHERE country >= 'country 0' AND n % 10 = 7 AND note <> 'so' ORDER BY country, city, n) x$$,
                    $$SELECT count(*)::text FROM places WHERE (country, city) > ('country 1', 'city 5 of')$$, $$SELECT count(*)::text FROM places WHERE (country, city) < ('country 1', 'city 10')$$,
                    $$SELECT md5(string_agg(x::text, ',')) FROM (SELECT country, city FROM places WHERE country >= 'country 0' AND city > 'city 15' AND city <= 'city 1777 of of' ORDER BY country, city) x$$,
                    $$SELECT count(*)::text FROM places WHERE country > 'country 0' AND city IS NULL$$, $$SELECT count(*)::text FROM places WHERE country <= 'country 1'$$,
                    $$SELECT count(*)::text FROM places WHERE country = 'country 2' AND city = 'city '$$, $$SELECT count(*)::text FROM places WHERE country = 'country' AND city > ''$$]) query;

-- texts of many leaves, whose prefixes go on into the number, and what ends before these
CREATE TABLE crowds (t text COLLATE "C", n int8);
INSERT INTO crowds SELECT 'crowd ' || i % 3, i / 3 FROM generate_series(1, 9000) i;
CREATE INDEX crowds_tn ON crowds USING fpbtree (t, n);
INSERT INTO crowds SELECT 'crowd ' || i % 3, i / 3 - 4000 FROM generate_series(1, 9000) i;
SELECT fpbtree_check('crowds_tn', true);
SET enable_seqscan = off;
SELECT t, (SELECT count(n) FROM crowds c WHERE c.t = v.t), (SELECT max(n) FROM crowds c WHERE c.t = v.t), (SELECT min(n) FROM crowds c WHERE c.t = v.t),
       (SELECT count(n) FROM crowds c WHERE c.t <= v.t), (SELECT count(n) FROM crowds c WHERE c.t > v.t), (SELECT count(n) FROM crowds c WHERE c.t < v.t)
  FROM (VALUES ('crowd 0'), ('crowd 1'), ('crowd 2'), ('crowd'), ('crowd 1 '), ('crowd 11')) v (t);
SELECT count(*), min(n), max(n) FROM crowds WHERE t = 'crowd 1' AND n BETWEEN -5 AND 2000;
RESET enable_seqscan;

-- others have heads of the first column alone
CREATE TABLE others (a bytea, b int8, c text COLLATE "C", d float8);
INSERT INTO others SELECT decode(repeat('00', i % 3) || lpad(to_hex(i % 7), 2, '0'), 'hex'), i, 'c' || i % 3, (i % 5 - 2) / 3.0 FROM generate_series(1, 600) i;
CREATE INDEX others_ab ON others USING fpbtree (a, b);
CREATE INDEX others_cb ON others USING fpbtree (c DESC, b);
CREATE INDEX others_cd ON others USING fpbtree (c, d);
INSERT INTO others SELECT * FROM others;
SELECT fpbtree_check('others_ab', true), fpbtree_check('others_cb', true), fpbtree_check('others_cd', true);
SET enable_seqscan = off;
SELECT (SELECT count(*) FROM others WHERE a = '\x0000' AND b < 300), (SELECT count(*) FROM others WHERE c = 'c1' AND b < 300),
       (SELECT count(*) FROM others WHERE c = 'c2' AND d < 0);
SET enable_indexscan = off; SET enable_indexonlyscan = off; SET enable_bitmapscan = off; RESET enable_seqscan;
SELECT (SELECT count(*) FROM others WHERE a = '\x0000' AND b < 300), (SELECT count(*) FROM others WHERE c = 'c1' AND b < 300),
       (SELECT count(*) FROM others WHERE c = 'c2' AND d < 0);
RESET enable_indexscan; RESET enable_indexonlyscan; RESET enable_bitmapscan;

-- a first column that is the same byte by byte is equal, but not if the search key's is of another type
CREATE TABLE halves (f float4, n int8, t text);
INSERT INTO halves SELECT i % 5, i FROM generate_series(1, 2000) i;
CREATE INDEX halves_fn ON halves USING fpbtree (f, n) INCLUDE (t);
SET enable_seqscan = off;
SELECT f, (SELECT count(*) FROM halves h WHERE h.f = v.f AND h.n > 1000) AS some, (SELECT count(*) FROM halves h WHERE h.f = v.f::float4 AND h.n > 1000) AS same
  FROM (VALUES (0::float8), (1), (2), (3), (8)) v (f);
RESET enable_seqscan;

-- a zero byte ends a text, so there can be none in it
BEGIN;
CREATE CAST (bytea AS text) WITHOUT FUNCTION;
CREATE TABLE zeros (t text COLLATE "C", n int8);
CREATE INDEX zeros_tn ON zeros USING fpbtree (t, n);
INSERT INTO zeros SELECT left('aaa', i % 4), i FROM generate_series(1, 400) i;
SAVEPOINT s;
INSERT INTO zeros VALUES ('\x610061'::bytea::text, 1);
ROLLBACK TO s;
SET LOCAL enable_seqscan = off;
SELECT count(*) FROM zeros WHERE t = '\x61008061'::bytea::text;
SELECT count(*) FROM zeros WHERE t > '\x61008061'::bytea::text;
SELECT count(*) FROM zeros WHERE (t, n) <= ('\x6100ff'::bytea::text, 7);
CREATE INDEX zeros_tt ON zeros USING fpbtree (t, (left(t, 2)));
DROP INDEX zeros_tn;
SAVEPOINT s;
CREATE INDEX zeros_tu ON zeros USING fpbtree (left(t, 2), ('\x6100'::bytea::text COLLATE "C"));
ROLLBACK TO s;
SELECT count(*) FROM zeros WHERE t = 'aaa' AND left(t, 2) = '\x610061'::bytea::text;
SELECT count(*) FROM zeros WHERE t = 'aaa' AND left(t, 2) > '\x610061'::bytea::text;
SELECT count(*) FROM zeros WHERE t = 'aaa' AND left(t, 2) < '\x616100'::bytea::text;
DROP INDEX zeros_tt;
CREATE INDEX zeros_nt ON zeros USING fpbtree (n, t);
SAVEPOINT s;
INSERT INTO zeros VALUES ('\x610061'::bytea::text, 1);
ROLLBACK TO s;
SELECT count(*) FROM zeros WHERE n = 1 AND t < '\x610061'::bytea::text;
SELECT count(*) FROM zeros WHERE (n, t) <= (7, '\x6100ff'::bytea::text);
ROLLBACK;

-- three columns: heads are of the first two, the second of which has 64 bits
CREATE TABLE three (a int, b int8, c text COLLATE "C");
INSERT INTO three SELECT i % 5, (i * 7919 % 1000)::int8 << (i % 3 * 16), md5(i::text) FROM generate_series(1, 3000) i;
CREATE INDEX three_idx ON three USING fpbtree (a, b, c);
INSERT INTO three SELECT i % 6, (i * 7919 % 1000)::int8 << (i % 3 * 16), md5(i::text) FROM generate_series(1, 3000) i;
SELECT fpbtree_check('three_idx', true);
SET enable_seqscan = off;
SELECT count(*) FROM three p, LATERAL (SELECT count(*) AS n FROM three t WHERE t.a = p.a AND t.b = p.b AND t.c = p.c) x
  WHERE n NOT IN (1, 2);
RESET enable_seqscan;

-- Texts that begin alike, with more bytes than a page has: they are compressed
CREATE TABLE deep AS
    SELECT i, repeat('a', 40000) || lpad(i::text, 6, '0') COLLATE "C" AS k FROM generate_series(1, 800) i;
CREATE INDEX deep_k ON deep USING fpbtree (k);
SELECT fpbtree_check('deep_k', true);
SET enable_seqscan = off;
SELECT count(*) AS found
  FROM generate_series(1, 800, 3) n, LATERAL (SELECT FROM deep WHERE k = repeat('a', 40000) || lpad(n::text, 6, '0')) d;
SELECT count(*) FROM deep WHERE k < repeat('a', 39999) || 'b';
SELECT count(*) FROM deep WHERE k < repeat('a', 39999);
SELECT count(*) FROM deep WHERE k >= repeat('a', 40000) || '0004';
RESET enable_seqscan;
DROP TABLE deep;

SET client_min_messages = warning;
DROP SCHEMA heads CASCADE;
