--
-- Skip scans: conditions on later columns of an index, after groups of equal
-- values of the columns before, after ranges and after arrays.  What an index
-- answers differently from a sequential scan is printed: nothing.  How little
-- such scans read is in the last section.
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS fpbtree;
RESET client_min_messages;

CREATE SCHEMA skip;
SET search_path = skip, public;
SET max_parallel_workers_per_gather = 0;
SET jit = off;
SET timezone = 'UTC';
SET datestyle = 'ISO';
-- nobody else is to move anything
SET fpbtree.queue_worker = off;
CREATE COLLATION alike (provider = icu, locale = 'und-u-ks-level2', deterministic = false);

-- The value of each type at place k, for which there are 66 places and some
-- beyond; and what makes equal values the same text.
CREATE TABLE kinds (kind text PRIMARY KEY, type text, value text, canon text DEFAULT '%s');
INSERT INTO kinds VALUES
    ('int2', 'int2', $$CASE k WHEN 0 THEN -32768 WHEN 65 THEN 32767 ELSE k * 3 - 100 END$$),
    ('int4', 'int4', $$CASE k WHEN 0 THEN -2147483648 WHEN 65 THEN 2147483647 ELSE k * 3 - 100 END$$),
    ('next4', 'int4', $$CASE k WHEN 0 THEN -2147483648 WHEN 65 THEN 2147483647 ELSE k END$$),
    ('int8', 'int8', $$CASE k WHEN 0 THEN -9223372036854775808 WHEN 65 THEN 9223372036854775807 ELSE k * 10000000000 - 300000000000 END$$),
    ('oid', 'oid', $$CASE k WHEN 65 THEN 4294967295 ELSE k * 5 END$$),
    ('bool', 'bool', $$k % 2 = 1$$),
    ('char', '"char"', $$chr(33 + k)$$),
    ('date', 'date', $$CASE k WHEN 0 THEN '-infinity' WHEN 65 THEN 'infinity' ELSE '2000-01-01'::date + (k - 30) * 2 END$$),
    ('timestamp', 'timestamp', $$CASE k WHEN 0 THEN '-infinity' WHEN 65 THEN 'infinity' ELSE '2000-01-01'::timestamp + (k - 30) * interval '12 h' END$$),
    ('timestamptz', 'timestamptz', $$CASE k WHEN 0 THEN '-infinity' WHEN 65 THEN 'infinity' ELSE '2024-03-09 00:00Z'::timestamptz + k * interval '30 min' END$$),
    ('time', 'time', $$'00:00'::time + k * interval '7 min'$$),
    ('money', 'money', $$k::numeric::money$$),
    ('macaddr', 'macaddr', $$lpad(to_hex(k * 1000003::int8), 12, '0')$$),
    ('uuid', 'uuid', $$CASE k WHEN 0 THEN repeat('0', 32) WHEN 65 THEN repeat('f', 32) ELSE md5(k::text) END$$),
    ('text', 'text COLLATE "C"', $$'text ' || k$$),
    ('short', 'text COLLATE "C"', $$repeat('a', k)$$),
    ('long', 'text COLLATE "C"', $$repeat('long ', 60) || k$$),
    ('name', 'name COLLATE "C"', $$'name ' || k$$),
    ('bytea', 'bytea', $$decode(repeat('00', 1 + k % 35) || CASE WHEN k < 35 THEN '' ELSE 'ff' END, 'hex')$$);
INSERT INTO kinds VALUES
    ('float4', 'float4', $$CASE k WHEN 0 THEN '-Infinity' WHEN 1 THEN '-0' WHEN 2 THEN '0' WHEN 64 THEN 'NaN' WHEN 65 THEN 'Infinity' ELSE (k - 30) / 4.0 END$$, '%s + 0'),
    ('float8', 'float8', $$CASE k WHEN 0 THEN '-Infinity' WHEN 41 THEN '-0' WHEN 64 THEN '0' WHEN 63 THEN 'NaN' WHEN 65 THEN 'Infinity' ELSE (k - 30) / 4.0 END$$, '%s + 0'),
    ('numeric', 'numeric', $$CASE k WHEN 0 THEN '-Infinity' WHEN 65 THEN 'NaN' WHEN 64 THEN '7.50' WHEN 44 THEN '7.5' ELSE k / 4.0 END$$, 'trim_scale(%s)'),
    ('bpchar', 'char(12) COLLATE "C"', $$'c ' || k / 2 || repeat(' ', k % 2)$$, 'rtrim(%s)'),
    ('alike', 'text COLLATE alike', $$CASE k % 2 WHEN 0 THEN 'alike ' ELSE 'Alike ' END || k / 2$$, 'lower(%s COLLATE "C")'),
    ('interval', 'interval', $$CASE k % 2 WHEN 0 THEN k * interval '1 day' ELSE (k - 1) * interval '24 h' END$$, 'justify_days(justify_hours(%s))');
CREATE TABLE literals (kind text, k int, literal text, PRIMARY KEY (kind, k));
DO $$
DECLARE
    t record;
BEGIN
    FOR t IN SELECT *, regexp_replace(type, ' COLLATE.*', '') AS plain FROM kinds LOOP
        EXECUTE format('INSERT INTO literals SELECT %L, k, quote_literal((%s)::%s::text) || %L FROM generate_series(0, 75) k',
                       t.kind, t.value, t.plain, '::' || t.plain);
    END LOOP;
END $$;

-- Groups: of one row, of 30, and two large ones, one of which is the last.
CREATE TABLE small (g int, j int);
INSERT INTO small SELECT g, j FROM generate_series(0, 65) g, generate_series(0, CASE WHEN g < 40 THEN 0 WHEN g < 64 THEN 29 ELSE 499 END) j;
CREATE TABLE large (g int, j int);
INSERT INTO large SELECT g, j FROM generate_series(0, 65) g, generate_series(0, CASE WHEN g < 40 THEN 0 WHEN g < 64 THEN 29 ELSE 2999 END) j;
-- Places: the group, and those within it; with NULLs, which are some of the
-- groups, large and small.
CREATE TABLE places (place text PRIMARY KEY, expression text, modulus int);
INSERT INTO places VALUES
    ('g', 'g', 66), ('gn', 'CASE WHEN g NOT IN (7, 50, 64) THEN g END', 66),
    ('y', '(g * 11 + j) % 66', 66), ('yn', 'CASE WHEN j % 11 <> 3 THEN (g * 11 + j) % 66 END', 66),
    ('z', '(g * 5 + j / 66 + j % 3) % 66', 66), ('zn', 'CASE WHEN j % 7 <> 3 THEN (g * 5 + j / 66 + j % 3) % 66 END', 66),
    ('few', 'g % 3', 3), ('fewn', 'nullif(g % 4, 3)', 3), ('w', 'j % 5', 5), ('wn', 'nullif(j % 5, 4)', 5);

-- Conditions: x, y and z are columns of an index, and X5 is a constant, the
-- value of x at place 5.  No value is at place 70.
CREATE TABLE conditions (n int GENERATED ALWAYS AS IDENTITY, condition text);
INSERT INTO conditions (condition) SELECT unnest(ARRAY[
    -- nothing before
    'y = Y5', 'y = Y64', 'y = Y70', 'y = Y0', 'y = Y65', 'y IN (Y5, Y7, Y64)', 'y IN (Y64, NULL, Y5, Y70, Y5)', 'y > Y60', 'y >= Y65', 'y > Y65',
    'y < Y3', 'y < Y0', 'y <= Y0', 'y BETWEEN Y5 AND Y7', 'y > Y5 AND y < Y5', 'y > Y7 AND y < Y5', 'y > Y3 AND y >= Y60 AND y < Y62',
    'y IS NULL', 'y IS NOT NULL', 'y = Y5 AND y IS NOT NULL', 'y = Y5 AND y IS NULL', 'y = ANY (ARRAY[Y5, Y6]) AND y > Y5', 'y < ANY (ARRAY[Y2, Y3])',
    -- a range before
    'x BETWEEN X10 AND X62 AND y = Y5', 'x > X10 AND y = Y5', 'x >= X64 AND y = Y5', 'x < X64 AND y = Y5', 'x <= X64 AND y = Y64', 'x > X65 AND y = Y5',
    'x < X0 AND y = Y5', 'x >= X65 AND y = Y65', 'x <= X0 AND y = Y0', 'x > X42 AND x < X43 AND y = Y5', 'x > X43 AND x < X42 AND y = Y5',
    'x > X41 AND x <= X65 AND y IN (Y1, Y5, Y40)', 'x > X41 AND y > Y60', 'x BETWEEN X41 AND X64 AND y BETWEEN Y5 AND Y7', 'x < X64 AND y < Y5 AND y > Y2',
    'x > X41 AND y IS NULL', 'x < X64 AND y IS NOT NULL', 'x IS NOT NULL AND y = Y5', 'x IS NOT NULL AND y IS NULL', 'x > X41 AND x > X50 AND y = Y7',
    'x > X41 AND x >= X70 AND y = Y7', 'x <= X60 AND y >= Y70',
    -- an array before
    'x IN (X3, X41, X64) AND y = Y5', 'x IN (X3, X41, X65, NULL) AND y IN (Y5, Y6, Y7)', 'x IN (X64, X64, X70) AND y > Y60', 'x IN (X41, X65) AND y IS NULL',
    'x IN (X41, X65) AND y BETWEEN Y5 AND Y7', 'x IN (X41, X65) AND x > X41 AND y = Y5', 'x IN (X41, X65) AND y IS NOT NULL', 'x > ANY (ARRAY[X62, X63]) AND y = Y5',
    -- one value before
    'x = X64 AND y = Y5', 'x = X65 AND y > Y60', 'x = X70 AND y = Y5', 'x IS NULL AND y = Y5', 'x IS NULL AND y IN (Y5, Y6)', 'x IS NULL AND y > Y60',
    'x IS NULL AND y IS NULL', 'x IS NULL AND y IS NOT NULL', 'x = X41 AND x = X42 AND y = Y5',
    -- rows, and what is no condition of the index
    '(x, y) > (X64, Y5) AND y = Y7', '(x, y) < (X64, Y5) AND y IN (Y2, Y3, Y5)', '(x, y) >= (X41, Y64) AND (x, y) <= (X65, Y5) AND y > Y60',
    '(x, y) > (X63, Y5) AND x < X65 AND y = Y9', 'x <> X64 AND y = Y5', 'y = Y5 AND id % 3 = 0', '(x = X5 OR x = X64) AND y = Y5',
    -- three columns
    'z = Z5', 'z IN (Z1, Z5, Z64)', 'z IS NULL', 'z > Z62', 'y = Y5 AND z = Z6', 'y IN (Y5, Y7) AND z IN (Z5, Z6, Z9)', 'y > Y60 AND z = Z5', 'y > Y60 AND z > Z60',
    'y BETWEEN Y5 AND Y9 AND z BETWEEN Z5 AND Z9', 'y IS NULL AND z = Z5', 'y = Y5 AND z IS NULL', 'y IS NOT NULL AND z IS NOT NULL AND x = X64',
    'x = X64 AND z = Z5', 'x IN (X41, X64) AND z = Z5', 'x IN (X41, X64) AND z IN (Z1, Z5)', 'x > X41 AND z = Z5', 'x > X41 AND y > Y40 AND z = Z5',
    'x BETWEEN X41 AND X64 AND y IN (Y3, Y5) AND z > Z60', 'x > X41 AND y = Y5 AND z = Z6', 'x > X41 AND y = Y5 AND z > Z3 AND z < Z9', 'x IS NULL AND z = Z5',
    '(x, y) > (X41, Y5) AND z = Z5', '(x, y, z) < (X64, Y5, Z5) AND y = Y5', '(x, y, z) > (X41, Y5, Z5) AND z = Z5', 'x = X64 AND y > Y60 AND z = Z5',
    'x > X62 AND y <= Y65 AND z <= Z0', 'y <> Y5 AND z = Z5']);

-- The table t of an index.  Each of its columns is a kind of value, a place and
-- an order, like "int4 g DESC".  Neighbours in the index are none in the table.
CREATE TABLE t ();
CREATE FUNCTION make_table(columns text[], groups regclass) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    list text;
BEGIN
    SELECT string_agg(format('(SELECT (%s)::%s FROM (VALUES (%s)) v(k) WHERE k IS NOT NULL) AS c%s', t.value, t.type, p.expression, d.n), ', ' ORDER BY d.n)
    INTO list
    FROM unnest(columns) WITH ORDINALITY d(def, n)
        JOIN kinds t ON t.kind = split_part(d.def, ' ', 1)
        JOIN places p ON p.place = split_part(d.def, ' ', 2);
    DROP TABLE t;
    EXECUTE format('CREATE TABLE t WITH (autovacuum_enabled = off) AS SELECT g * 10000 + j AS id, %s FROM %s ORDER BY hashint4(g * 10000 + j)', list, groups);
    ANALYZE t;
END $$;

-- Its columns for CREATE INDEX, for ORDER BY in the other direction, and as text.
CREATE FUNCTION elements(columns text[]) RETURNS text LANGUAGE sql AS $$
    SELECT string_agg(format('c%s %s', n, substr(def, length(split_part(def, ' ', 1) || split_part(def, ' ', 2)) + 3)), ', ' ORDER BY n)
    FROM unnest(columns) WITH ORDINALITY d(def, n) $$;
CREATE FUNCTION backward(columns text[]) RETURNS text LANGUAGE sql AS $$
    SELECT string_agg(format('c%s %s NULLS %s', n, CASE WHEN def ~ 'DESC' THEN 'ASC' ELSE 'DESC' END,
                             CASE WHEN def ~ 'NULLS FIRST' OR (def ~ 'DESC' AND def !~ 'NULLS') THEN 'LAST' ELSE 'FIRST' END), ', ' ORDER BY n)
    FROM unnest(columns) WITH ORDINALITY d(def, n) $$;
CREATE FUNCTION as_text(columns text[]) RETURNS text LANGUAGE sql AS $$
    SELECT format('ROW(%s)::text', string_agg(format(canon, 'c' || n), ', ' ORDER BY n))
    FROM unnest(columns) WITH ORDINALITY d(def, n) JOIN kinds ON kind = split_part(def, ' ', 1) $$;

-- A condition on the chosen columns.
CREATE FUNCTION on_columns(condition text, columns text[], chosen int[]) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    letter text;
    n int := 0;
    at int;
    value text;
BEGIN
    FOREACH letter IN ARRAY '{x,y,z}'::text[] LOOP
        n := n + 1;
        EXIT WHEN chosen[n] IS NULL;
        LOOP
            at := substring(condition FROM '\m' || upper(letter) || '(\d+)\M');
            EXIT WHEN at IS NULL;
            SELECT replace(l.literal, '\', '\\') INTO STRICT value FROM literals l, places p
            WHERE l.kind = split_part(columns[chosen[n]], ' ', 1) AND p.place = split_part(columns[chosen[n]], ' ', 2)
                AND l.k = CASE WHEN at < 70 THEN at % p.modulus ELSE at END;
            condition := regexp_replace(condition, '\m' || upper(letter) || at || '\M', value, 'g');
        END LOOP;
        condition := regexp_replace(condition, '\m' || letter || '\M', 'c' || chosen[n], 'g');
    END LOOP;
    RETURN condition;
END $$;

CREATE FUNCTION use_scan(kind text) RETURNS void LANGUAGE sql AS $$
    SELECT set_config('enable_seqscan', (kind = 'seq')::text, true),
           set_config('enable_sort', (kind IN ('seq', 'bitmap'))::text, true),
           set_config('enable_indexscan', (kind IN ('index', 'only'))::text, true),
           set_config('enable_indexonlyscan', (kind = 'only')::text, true),
           set_config('enable_bitmapscan', (kind = 'bitmap')::text, true) $$;

-- Compare the ways in which t's index answers one condition.  Returns whether
-- it is a condition of the index.
CREATE FUNCTION compare(columns text[], condition text, ordered bool DEFAULT true) RETURNS bool LANGUAGE plpgsql AS $$
DECLARE
    ahead text := format('SELECT %s AS r, id FROM t WHERE %s', as_text(columns), condition);
    back text := format('SELECT %s AS r FROM t WHERE %s', as_text(columns), condition);
    aggregates text := 'SELECT array_agg(r), count(*), sum(id) FROM (%s) x';
    line text;
    used bool := false;
    rows text[];
    n int8;
    ids numeric;
    found text[];
    found_n int8;
    found_ids numeric;
BEGIN
    IF ordered THEN
        ahead := ahead || ' ORDER BY ' || elements(columns);
        back := back || ' ORDER BY ' || backward(columns);
    ELSE
        aggregates := replace(aggregates, '(r)', '(r ORDER BY r COLLATE "C")');
    END IF;
    PERFORM use_scan('seq');
    EXECUTE format(aggregates, ahead) INTO rows, n, ids;
    PERFORM use_scan('index');
    FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || ahead LOOP
        used := used OR line ~ 'Index Cond';
    END LOOP;
    EXECUTE format(aggregates, ahead) INTO found, found_n, found_ids;
    IF (found, found_n, found_ids) IS DISTINCT FROM (rows, n, ids) THEN
        RAISE NOTICE '%: % rows instead of % in %', condition, found_n, n, columns;
    END IF;
    PERFORM use_scan('bitmap');
    EXECUTE format('SELECT count(*), sum(id) FROM t WHERE %s', condition) INTO found_n, found_ids;
    IF (found_n, found_ids) IS DISTINCT FROM (n, ids) THEN
        RAISE NOTICE '%: % rows instead of % in %, bitmap', condition, found_n, n, columns;
    END IF;
    IF ordered THEN
        PERFORM use_scan('only');
        EXECUTE format('SELECT array_agg(r ORDER BY n DESC) FROM (SELECT r, row_number() OVER () AS n FROM (%s) x) y', back) INTO found;
        IF found IS DISTINCT FROM rows THEN
            RAISE NOTICE '%: % rows instead of % in %, backward', condition, coalesce(array_length(found, 1), 0), n, columns;
        END IF;
        EXECUTE format('SELECT array_agg(r) FROM (%s LIMIT 3) x', replace(ahead, ' AS r, id', ' AS r')) INTO found;
        IF found IS DISTINCT FROM (CASE WHEN n > 0 THEN rows[:3] END) THEN
            RAISE NOTICE '%: % instead of % in %, first ones', condition, found, rows[:3], columns;
        END IF;
        PERFORM use_scan('index');
        EXECUTE format('SELECT array_agg(r ORDER BY n DESC) FROM (SELECT r, row_number() OVER () AS n FROM (%s LIMIT 3) x) y', back) INTO found;
        IF found IS DISTINCT FROM (CASE WHEN n > 0 THEN rows[greatest(n - 2, 1):] END) THEN
            RAISE NOTICE '%: % instead of % in %, last ones', condition, found, rows[greatest(n - 2, 1):], columns;
        END IF;
    END IF;
    RETURN used;
END $$;

-- Compare every so many-th condition, beginning with the first-th, on the
-- first two or three columns, or with some left out before, between and after.
CREATE FUNCTION compare_all(columns text[], every int DEFAULT 1, first int DEFAULT 0, ordered bool DEFAULT true) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    c record;
    chosen int[];
    used int := 0;
    compared int := 0;
    pairs int[] := CASE array_length(columns, 1) WHEN 2 THEN '{{1,2}}' WHEN 3 THEN '{{1,2},{1,3},{2,3}}' ELSE '{{1,2},{1,3},{2,3},{1,4},{2,4},{3,4}}' END;
    triples int[] := CASE array_length(columns, 1) WHEN 3 THEN '{{1,2,3}}' WHEN 4 THEN '{{1,2,3},{1,2,4},{1,3,4},{2,3,4}}' END;
    place int;
BEGIN
    FOR c IN SELECT * FROM conditions WHERE n % every = first % every ORDER BY n LOOP
        IF c.condition !~ '\mz' THEN
            place := 1 + c.n / every % array_length(pairs, 1);
            chosen := ARRAY[pairs[place][1], pairs[place][2]];
        ELSIF triples IS NOT NULL THEN
            place := 1 + c.n / every % array_length(triples, 1);
            chosen := ARRAY[triples[place][1], triples[place][2], triples[place][3]];
        ELSE
            CONTINUE;
        END IF;
        used := used + compare(columns, on_columns(c.condition, columns, chosen), ordered)::int;
        compared := compared + 1;
    END LOOP;
    RETURN CASE WHEN used * 3 >= compared * 2 THEN 'compared' ELSE format('only %s of %s by the index', used, compared) END;
END $$;

-- The same of a new index.
CREATE FUNCTION compare_index(columns text[], groups regclass, every int DEFAULT 1, first int DEFAULT 0, rest text DEFAULT 'WITH (fillfactor = 10)') RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    PERFORM make_table(columns, groups);
    EXECUTE format('CREATE INDEX t_idx ON t USING fpbtree (%s) %s', elements(columns), rest);
    RETURN compare_all(columns, every, first);
END $$;

-- Words of two columns: groups of several leaves each; all orders; types; more
-- columns.
SELECT compare_index('{int4 g,int4 y}', 'large', 1, 0, '');
SELECT compare_index('{int8 gn DESC,int4 yn}', 'large', 3, 0, '');
SELECT answer, count(*) FROM (
    SELECT compare_index(ARRAY['int4 gn ' || x, 'int4 yn ' || y], 'small', 6, row_number() OVER (ORDER BY x, y)::int) AS answer
    FROM unnest('{ASC,ASC NULLS FIRST,DESC,DESC NULLS LAST}'::text[]) x, unnest('{ASC,ASC NULLS FIRST,DESC,DESC NULLS LAST}'::text[]) y) a
GROUP BY answer;
SELECT columns, compare_index(string_to_array(columns, ', '), 'small', 4, n::int)
FROM unnest(ARRAY['next4 g, next4 y', 'int2 gn DESC, int2 yn', 'int8 gn, int8 yn DESC', 'int8 g, int4 y', 'date gn, timestamp yn', 'timestamptz g DESC, date yn NULLS FIRST',
    'float8 gn, float4 yn', 'float4 g DESC, int4 yn', 'int4 g, float8 yn DESC', 'bool few, int4 yn', 'int4 gn NULLS FIRST, bool y DESC', 'oid g, oid y DESC', 'char gn, money yn',
    'macaddr g, char yn DESC', 'time gn, int8 y', 'uuid gn', 'int4 few, int4 yn', 'bool few, int4 gn, int2 yn DESC', 'int2 few, int4 w, date yn', 'int4 gn, int4 yn, int8 z',
    'int4 few DESC, float4 gn NULLS FIRST, int4 zn', 'int4 fewn, int4 wn, int4 gn, int4 yn', 'bool few, int2 w DESC, int2 gn, bool yn', 'int4 few, int4 g, int2 y, int2 zn'])
    WITH ORDINALITY l (columns, n)
WHERE columns LIKE '%,%';
SELECT columns, compare_index(string_to_array(columns, ', '), 'large', 4, n::int, '')
FROM unnest(ARRAY['int4 few, int4 gn, int8 yn', 'int2 gn, int2 wn, int2 yn, int2 z']) WITH ORDINALITY l (columns, n);

-- Tuples.
SELECT compare_index('{text g,int8 y}', 'large', 1, 0, '');
SELECT compare_index('{int8 gn,text yn DESC}', 'large', 3, 1, '');
SELECT answer, count(*) FROM (
    SELECT compare_index(ARRAY['text gn ' || x, 'int8 yn ' || y], 'small', 8, row_number() OVER (ORDER BY x, y)::int) AS answer
    FROM unnest('{ASC,ASC NULLS FIRST,DESC,DESC NULLS LAST}'::text[]) x, unnest('{ASC,ASC NULLS FIRST,DESC,DESC NULLS LAST}'::text[]) y) a
GROUP BY answer;
SELECT columns, compare_index(string_to_array(columns, ', '), 'small', 4, n::int)
FROM unnest(ARRAY['uuid gn, uuid yn DESC', 'text gn DESC, uuid y', 'uuid g, text yn NULLS FIRST', 'numeric gn, numeric yn', 'numeric g DESC, int4 yn', 'int4 gn, numeric yn DESC',
    'bpchar gn, bpchar yn', 'name g, name yn NULLS FIRST', 'alike gn, text yn', 'text g DESC, alike yn', 'short gn, short yn', 'short g DESC, int4 y', 'long gn, int4 yn',
    'int4 g, long yn DESC', 'long few, long w', 'bytea gn, date yn', 'int2 gn, bytea y', 'interval gn, interval y', 'int4 g, interval yn', 'int8 gn, int8 yn, int8 z',
    'int8 fewn, int8 gn DESC, int8 yn NULLS FIRST', 'int4 few, text gn, numeric yn', 'text fewn, int8 w DESC, text gn', 'text few DESC, alike w, numeric gn, uuid yn',
    'int8 few, uuid wn, float8 gn, text yn', 'float8 gn, float8 yn, float8 zn', 'timestamptz few, bool gn, text yn, date zn']) WITH ORDINALITY l (columns, n);
SELECT columns, compare_index(string_to_array(columns, ', '), 'large', 4, n::int, '')
FROM unnest(ARRAY['numeric few, text gn, int4 yn', 'text gn, int8 wn, int8 yn, int4 z']) WITH ORDINALITY l (columns, n);

-- With other columns; unique; in other forms of pages.
SELECT columns, rest, compare_index(string_to_array(columns, ', '), 'small', 5, n::int, rest)
FROM (VALUES (1, 'int4 gn, int4 yn', 'INCLUDE (id) WITH (fillfactor = 10)'), (2, 'text gn DESC, int8 yn', 'INCLUDE (id, c1) WITH (fillfactor = 10)'),
    (3, 'int4 g, int4 y', 'WITH (node_format = csb, fillfactor = 10)'), (4, 'text gn, int8 yn', 'WITH (node_format = csb, fillfactor = 10)'),
    (5, 'int4 gn, int4 yn', 'WITH (layout = micro_index)'), (6, 'int8 gn, int8 yn, text zn', 'WITH (layout = micro_index, fillfactor = 10)'),
    (7, 'int4 gn, int4 yn DESC', 'WITH (layout = cache_first, fillfactor = 10)'), (8, 'int4 few, int4 gn, int8 yn', 'WITH (layout = cache_first)'),
    (9, 'int4 few, int2 g, int2 yn', 'WHERE c3 IS NOT NULL'), (10, 'date fewn, text gn, int8 yn', 'WITH (leaf_lines = 1, fillfactor = 30)')) AS v (n, columns, rest);
SELECT make_table('{int4 g,int4 y,int4 z}', 'large');
DELETE FROM t a USING t b WHERE (a.c1, a.c2, a.c3) = (b.c1, b.c2, b.c3) AND a.id < b.id;
-- (17 warns of ON CONFLICT)
SET client_min_messages = error;
CREATE UNIQUE INDEX t_idx ON t USING fpbtree (c1, c2, c3);
RESET client_min_messages;
SELECT compare_all('{int4 g,int4 y,int4 z}', 3);

-- Operator classes of one's own: one that turns the order round, and one for
-- which two integers are equal.
CREATE FUNCTION turned_cmp(int4, int4) RETURNS int4 LANGUAGE sql IMMUTABLE STRICT AS 'SELECT btint4cmp($2, $1)';
CREATE OPERATOR CLASS turned_ops FOR TYPE int4 USING fpbtree AS
    OPERATOR 1 >, OPERATOR 2 >=, OPERATOR 3 =, OPERATOR 4 <=, OPERATOR 5 <, FUNCTION 1 turned_cmp(int4, int4);
SELECT make_table('{int4 gn,int4 yn,text z}', 'small');
CREATE INDEX t_idx ON t USING fpbtree (c1 turned_ops, c2 turned_ops NULLS FIRST, c3) WITH (fillfactor = 10);
SELECT compare_all('{int4 gn,int4 yn,text z}', 2, 1, false);
CREATE FUNCTION half_cmp(int4, int4) RETURNS int4 LANGUAGE sql IMMUTABLE STRICT AS 'SELECT btint4cmp($1 / 2, $2 / 2)';
CREATE FUNCTION half_lt(int4, int4) RETURNS bool LANGUAGE plpgsql IMMUTABLE STRICT AS 'BEGIN RETURN $1 / 2 < $2 / 2; END';
CREATE FUNCTION half_le(int4, int4) RETURNS bool LANGUAGE plpgsql IMMUTABLE STRICT AS 'BEGIN RETURN $1 / 2 <= $2 / 2; END';
CREATE FUNCTION half_eq(int4, int4) RETURNS bool LANGUAGE plpgsql IMMUTABLE STRICT AS 'BEGIN RETURN $1 / 2 = $2 / 2; END';
CREATE FUNCTION half_ge(int4, int4) RETURNS bool LANGUAGE plpgsql IMMUTABLE STRICT AS 'BEGIN RETURN $1 / 2 >= $2 / 2; END';
CREATE FUNCTION half_gt(int4, int4) RETURNS bool LANGUAGE plpgsql IMMUTABLE STRICT AS 'BEGIN RETURN $1 / 2 > $2 / 2; END';
CREATE OPERATOR <# (LEFTARG = int4, RIGHTARG = int4, FUNCTION = half_lt, COMMUTATOR = >#);
CREATE OPERATOR <=# (LEFTARG = int4, RIGHTARG = int4, FUNCTION = half_le, COMMUTATOR = >=#);
CREATE OPERATOR =# (LEFTARG = int4, RIGHTARG = int4, FUNCTION = half_eq, COMMUTATOR = =#);
CREATE OPERATOR >=# (LEFTARG = int4, RIGHTARG = int4, FUNCTION = half_ge, COMMUTATOR = <=#);
CREATE OPERATOR ># (LEFTARG = int4, RIGHTARG = int4, FUNCTION = half_gt, COMMUTATOR = <#);
CREATE OPERATOR CLASS half_ops FOR TYPE int4 USING fpbtree AS
    OPERATOR 1 <#, OPERATOR 2 <=#, OPERATOR 3 =#, OPERATOR 4 >=#, OPERATOR 5 >#, FUNCTION 1 half_cmp(int4, int4);
SELECT make_table('{next4 gn,next4 yn,int4 z}', 'small');
CREATE INDEX t_idx ON t USING fpbtree (c1 half_ops, c2 half_ops DESC, c3) WITH (fillfactor = 10);
SELECT every(compare('{next4 gn,next4 yn,int4 z}', condition, false)) AS used
FROM unnest(ARRAY['c2 =# 5', 'c2 =# 4', 'c2 ># 60', 'c2 <=# -2147483648', 'c2 =# 2147483647', 'c1 ># 41 AND c2 =# 5', 'c1 <# 41 AND c2 =# 7', 'c1 =# 64 AND c3 = -85',
    'c1 >=# 64 AND c2 =# ANY (''{3,4,17}'')', 'c1 IS NOT NULL AND c2 IS NULL', 'c2 =# 5 AND c3 < 0', 'c1 =# ANY (''{41,43,64,65}'') AND c2 =# 9', 'c1 IS NULL AND c2 =# 9 AND c3 > 0']) condition;


-- (a server that knows such classes takes rows' comparisons for theirs)
DROP INDEX t_idx;
DROP OPERATOR FAMILY turned_ops USING fpbtree;
DROP OPERATOR FAMILY half_ops USING fpbtree;

-- Constants of other types, of which the column may have no value; dates, and
-- times in a time zone whose clocks were put forward on one of them.
CREATE FUNCTION renew(columns text[], options text DEFAULT 'fillfactor = 10') RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM make_table(columns, 'small');
    EXECUTE format('CREATE INDEX t_idx ON t USING fpbtree (%s) WITH (%s)', elements(columns), options);
END $$;
CREATE FUNCTION compare_these(columns text[], conditions text[], ordered bool DEFAULT true) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    condition text;
    used int := 0;
BEGIN
    PERFORM renew(columns);
    FOREACH condition IN ARRAY conditions LOOP
        used := used + compare(columns, condition, ordered)::int;
    END LOOP;
    RETURN CASE WHEN used = array_length(conditions, 1) THEN 'compared' ELSE format('only %s of %s by the index', used, array_length(conditions, 1)) END;
END $$;
SELECT columns, compare_these(columns::text[], ARRAY['c2 = -85::int8', 'c2 = -85::int2', 'c2 = 10000000000', 'c2 = -10000000000', 'c2 > 10000000000', 'c2 < 10000000000',
    'c2 < -10000000000', 'c2 >= -10000000000', 'c2 = ANY (''{-85,92,10000000000}''::int8[])', 'c2 = ANY (''{10000000000,-10000000000}''::int8[])', 'c1 > 10000000000 AND c2 = -85',
    'c1 > -10000000000 AND c2 = -85', 'c1 > 20::int8 AND c2 = -85::int2', 'c1 < 10000000000 AND c2 = 10000000000', 'c1 IN (23, 92) AND c2 > 90::int8', 'c1 = 92::int8 AND c2 = -85::int8',
    'c1 = 92 AND c2 < 10000000000', 'c1 >= 2147483647::int8 AND c2 = -85', 'c1 > 2147483647::int8 AND c2 = -85', 'c1 <= -2147483648::int8 AND c2 = -2147483648::int8',
    'c1 = ANY (''{23,95,10000000000}''::int8[]) AND c2 = ANY (''{-85,-82}''::int2[])'])
FROM unnest('{"{int4 gn,int4 yn}","{int4 gn DESC,int4 yn DESC}","{int4 gn,int4 yn NULLS FIRST,text z}"}'::text[]) columns;
SELECT columns, compare_these(columns::text[], ARRAY['c2 = ''2000-01-05''::timestamp', 'c2 = ''2000-01-05 00:00:01''::timestamp', 'c2 > ''2000-02-25 00:00:01''::timestamp',
    'c2 = ''infinity''::timestamp', 'c2 > ''infinity''::timestamp', 'c1 > ''2000-01-21 12:00''::timestamp AND c2 = ''2000-01-05''::timestamp',
    'c1 = ''infinity''::timestamp AND c2 < ''1999-11-07 01:00''::timestamp', 'c1 < ''200000-01-01''::timestamp AND c2 = ANY (''{1999-11-07,2000-01-05,2000-01-06}''::timestamp[])',
    'c1 >= ''2000-01-21 00:00:01''::timestamp AND c1 <= ''2000-03-07 23:00''::timestamp AND c2 >= ''2000-03-01 12:00''::timestamp'])
FROM unnest('{"{date gn,date yn}","{date gn DESC,date yn NULLS FIRST}","{date gn,date yn,text z}"}'::text[]) columns;
SET timezone = 'America/New_York';
SELECT columns, compare_these(columns::text[], ARRAY['c2 = ''2024-03-10''::timestamp', 'c2 = ''2024-03-10 02:30''::timestamp', 'c2 = ''2024-03-10 03:30''::timestamp',
    'c2 > ''2024-03-10 02:10''::timestamp', 'c2 = ''2024-03-09''::date', 'c1 > ''2024-03-09 22:00''::timestamp AND c2 = ''2024-03-10 02:00''::timestamp',
    'c1 < ''2024-03-10 02:59''::timestamp AND c2 = ''2024-03-09 01:00''::timestamp', 'c1 >= ''2024-03-10''::date AND c2 < ''2024-03-09''::date',
    'c1 > ''2024-03-09 22:00''::timestamp AND c2 = ANY (''{2024-03-09 01:00,2024-03-10 02:15,2024-03-10 03:15}''::timestamp[])',
    'c1 = ''2024-03-10 03:00''::timestamp AND c2 >= ''2024-03-10 02:00''::timestamp', 'c2 = ''2024-03-10 06:30Z''::timestamptz'], false)
FROM unnest('{"{timestamptz gn,timestamptz yn}","{timestamptz gn,timestamptz yn DESC,text z}"}'::text[]) columns;
SELECT columns, compare_these(columns::text[], ARRAY['c2 = ''2000-01-05 05:00Z''::timestamptz', 'c2 = ''2000-01-05 05:30Z''::timestamptz', 'c2 > ''2000-02-25 05:00Z''::timestamptz',
    'c1 > ''2000-01-21 05:00Z''::timestamptz AND c2 = ''2000-01-05 05:00Z''::timestamptz', 'c1 < ''2000-01-21''::timestamptz AND c2 <= ''1999-11-10''::timestamptz'], false)
FROM unnest('{"{date gn,date yn}","{timestamp gn DESC,date yn,text z}"}'::text[]) columns;
SET timezone = 'UTC';

-- The least and the greatest values, beside which NULL lies, and their
-- neighbours, each with several leaves.
CREATE TABLE ends AS
SELECT a, b, '' AS c
FROM unnest('{-2147483648,-2147483647,0,2147483646,2147483647,NULL}'::int[]) a, generate_series(-800, 800) b;

CREATE FUNCTION compare_ends(columns text, ordering text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  expected text;
  answer text;
BEGIN
  SET LOCAL enable_seqscan = on;
  SET LOCAL enable_indexscan = off;
  SET LOCAL enable_indexonlyscan = off;
  SET LOCAL enable_bitmapscan = off;
  EXECUTE format('SELECT array_agg(x::text) FROM (SELECT a, b FROM ends WHERE b IN (1, 3) ORDER BY a %s, b) x', ordering) INTO expected;
  EXECUTE format('CREATE INDEX ends_idx ON ends USING fpbtree (%s)', columns);
  SET LOCAL enable_seqscan = off;
  SET LOCAL enable_sort = off;
  SET LOCAL enable_indexscan = on;
  EXECUTE format('SELECT array_agg(x::text) FROM (SELECT a, b FROM ends WHERE b IN (1, 3) ORDER BY a %s, b) x', ordering) INTO answer;
  DROP INDEX ends_idx;
  RETURN CASE WHEN answer = expected THEN 'same' ELSE format('%s instead of %s', answer, expected) END;
END
$$;

SELECT columns, ordering, compare_ends(columns, ordering)
FROM (VALUES ('a, b', 'ASC'), ('a DESC, b', 'DESC'), ('a NULLS FIRST, b', 'ASC NULLS FIRST'), ('a DESC NULLS LAST, b', 'DESC NULLS LAST'),
  ('a DESC, b DESC', 'ASC'), ('a, b DESC', 'DESC'), ('a DESC NULLS LAST, b DESC', 'ASC NULLS FIRST'), ('a NULLS FIRST, b DESC', 'DESC NULLS LAST')) o (columns, ordering)
ORDER BY 1;
SELECT columns, ordering, compare_ends(columns || ', c', ordering)
FROM (VALUES ('a, b', 'ASC'), ('a DESC, b', 'DESC'), ('a NULLS FIRST, b', 'ASC NULLS FIRST'), ('a DESC NULLS LAST, b', 'DESC NULLS LAST'),
  ('a DESC, b DESC', 'ASC'), ('a, b DESC', 'DESC'), ('a DESC NULLS LAST, b DESC', 'ASC NULLS FIRST'), ('a NULLS FIRST, b DESC', 'DESC NULLS LAST')) o (columns, ordering)
ORDER BY 1;

-- Floats next to zero, infinity and NaN, of which some bit patterns are no
-- value's, in tuples.
CREATE TABLE floats AS
SELECT 'x' AS a, v AS b, v::float4 AS d, g AS c FROM unnest('{-Infinity,-1,0,Infinity,NaN}'::float8[]) v, generate_series(1, 1500) g;
CREATE FUNCTION compare_floats(index text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
  condition text;
  ordering text;
  expected text;
  answer text;
BEGIN
  SET LOCAL enable_bitmapscan = off;
  FOR condition IN SELECT replace(replace(c, 'V', v), 'C', n)
    FROM unnest('{0,NaN,Infinity,-Infinity}'::text[]) v, unnest('{9,1400,3000}'::text[]) n,
      unnest(ARRAY['b < ''V'' AND c = C', 'b > ''V'' AND c = C', 'b >= ''V'' AND c = C', 'b <= ''V'' AND c = C', 'b > ''-1'' AND b < ''V'' AND c = C', 'd < ''V'' AND c = C', 'd > ''V'' AND c = C',
        'd > ''V'' AND d < ''NaN'' AND c = C']) c
  LOOP
    FOREACH ordering IN ARRAY '{a,a DESC}'::text[] LOOP
      SET LOCAL enable_seqscan = on;
      SET LOCAL enable_indexscan = off;
      EXECUTE format('SELECT array_agg(x::text ORDER BY x::text) FROM (SELECT * FROM floats WHERE %s) x', condition) INTO expected;
      SET LOCAL enable_seqscan = off;
      SET LOCAL enable_indexscan = on;
      SET LOCAL enable_sort = off;
      EXECUTE format('SELECT array_agg(x::text ORDER BY x::text) FROM (SELECT * FROM floats WHERE %s ORDER BY %s OFFSET 0) x', condition, ordering) INTO answer;
      IF answer IS DISTINCT FROM expected THEN
        RETURN NEXT format('%s: %s ORDER BY %s: %s instead of %s', index, condition, ordering, answer, expected);
      END IF;
    END LOOP;
  END LOOP;
END
$$;
CREATE INDEX floats_idx ON floats USING fpbtree (a, b, c, d);
SELECT compare_floats('a, b, c, d');
DROP INDEX floats_idx;
CREATE INDEX floats_idx ON floats USING fpbtree (a, b DESC, c DESC);
SELECT compare_floats('a, b DESC, c DESC');
DROP INDEX floats_idx;
CREATE INDEX floats_idx ON floats USING fpbtree (a, d, c);
SELECT compare_floats('a, d, c');
DROP INDEX floats_idx;
CREATE INDEX floats_idx ON floats USING fpbtree (a DESC, d DESC, c);
SELECT compare_floats('a DESC, d DESC, c');

-- A filter on a column with "=", which no later one goes with: the operator
-- class can't compare the two constants.
CREATE FUNCTION int_text_cmp(int, text) RETURNS int IMMUTABLE STRICT LANGUAGE plpgsql AS 'BEGIN RETURN btint4cmp($1, $2::int); END';
CREATE FUNCTION int_date_cmp(int, date) RETURNS int IMMUTABLE STRICT LANGUAGE plpgsql AS 'BEGIN RETURN btint4cmp($1, $2 - date ''2000-01-01''); END';
CREATE FUNCTION int_text_eq(int, text) RETURNS bool IMMUTABLE STRICT LANGUAGE plpgsql AS 'BEGIN RETURN skip.int_text_cmp($1, $2) = 0; END';
CREATE FUNCTION int_date_lt(int, date) RETURNS bool IMMUTABLE STRICT LANGUAGE plpgsql AS 'BEGIN RETURN skip.int_date_cmp($1, $2) < 0; END';
CREATE OPERATOR === (LEFTARG = int, RIGHTARG = text, FUNCTION = int_text_eq);
CREATE OPERATOR <<<< (LEFTARG = int, RIGHTARG = date, FUNCTION = int_date_lt);
CREATE OPERATOR CLASS many_types FOR TYPE int USING fpbtree AS
  OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >, FUNCTION 1 btint4cmp(int, int),
  OPERATOR 3 === (int, text), FUNCTION 1 (int, text) int_text_cmp(int, text),
  OPERATOR 1 <<<< (int, date), FUNCTION 1 (int, date) int_date_cmp(int, date);
CREATE TABLE classes AS SELECT g % 20 AS a, g AS b FROM generate_series(1, 2000) g;
CREATE INDEX ON classes USING fpbtree (a many_types, b);
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SELECT count(*) FROM classes WHERE a === '5' AND a <<<< '2000-01-10'::date;
SELECT count(*) FROM classes WHERE a === '5' AND a <<<< '2000-01-04'::date;
SELECT count(*), min(b) FROM classes WHERE a === '5' AND a <<<< '2000-01-10'::date AND b > 1000;
RESET enable_seqscan;
RESET enable_bitmapscan;
DROP OPERATOR CLASS many_types USING fpbtree CASCADE;
DROP OPERATOR FAMILY many_types USING fpbtree;

-- Texts that are too long for an entry, or are so unless they are compressed.
SELECT make_table('{int4 few,text gn,text yn}', 'small');
INSERT INTO t SELECT -i, i % 3, CASE i % 4 WHEN 0 THEN repeat('text ', 2000) ELSE 'text 41' END, CASE i % 3 WHEN 0 THEN repeat('text ', 2000) WHEN 1 THEN repeat('text ', 2000) || 'x' END
FROM generate_series(1, 40) i;
CREATE INDEX t_idx ON t USING fpbtree (c1, c2, c3) WITH (fillfactor = 10);
CREATE TABLE texts AS SELECT repeat('text ', 2000) AS a, string_agg(md5(i::text), '') AS b, 'text 41' || string_agg(md5(i::text), '') AS c FROM generate_series(1, 313) i;
SELECT count(compare('{int4 few,text gn,text yn}', replace(replace(replace(condition, '$a', quote_literal(a)), '$b', quote_literal(b)), '$c', quote_literal(c))))
FROM texts, unnest(ARRAY['c3 = $a', 'c3 = $a || ''x''', 'c3 = $b', 'c3 > $a', 'c3 < $c', 'c3 IN ($a, $b, $c, ''text 5'')', 'c2 = $a AND c3 = $a', 'c2 = $b AND c3 = ''text 5''',
    'c2 >= $c AND c3 = ''text 5''', 'c1 = 1 AND c3 = $b', 'c1 > -100 AND c2 = $a AND c3 > $b', 'c1 > -100 AND c2 > ''text 41'' AND c3 = $a', 'c2 > $a AND c3 > $a', 'c2 < $c AND c3 IS NULL',
    'c1 > -100 AND c2 IN ($a, $b, $c) AND c3 < $c']) condition;

-- Texts that an entry has, and with which a longer one would be too long for a
-- tuple.
CREATE TABLE long_texts (a text STORAGE EXTERNAL COLLATE "C", b text COLLATE "C");
CREATE INDEX ON long_texts USING fpbtree (a, b);
INSERT INTO long_texts SELECT repeat(chr(97 + i % 3), LEAST(7900, current_setting('block_size')::int * 3 / 10)), 'b' || i FROM generate_series(1, 30) i;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SELECT count(*) FROM long_texts WHERE b = repeat('c', 400);
SELECT count(*) FROM long_texts WHERE b = 'b17';
SELECT count(*) FROM (SELECT FROM long_texts WHERE b IN ('b3', 'b5', repeat('c', 400)) ORDER BY a DESC OFFSET 0) x;
RESET enable_seqscan;
RESET enable_bitmapscan;

-- Nested loops, whose inner scans start again; what they look for may be NULL.
-- Merge joins, with mark and restore among entries between which others are
-- passed over.
CREATE FUNCTION rows_by(kind text, query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    result text;
BEGIN
    PERFORM use_scan(kind);
    PERFORM set_config('enable_' || other, (other = CASE WHEN kind = 'seq' THEN 'hashjoin' WHEN query ~ 'JOIN t' THEN 'mergejoin' ELSE 'nestloop' END)::text, true)
    FROM unnest('{hashjoin,mergejoin,nestloop}'::text[]) other;
    EXECUTE format('SELECT count(*) || '' '' || md5(string_agg(x::text, '','' ORDER BY x::text COLLATE "C")) FROM (%s) x', query) INTO result;
    RETURN result;
END $$;
CREATE FUNCTION compare_joins(columns text[]) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
    query text;
    expected text;
    kind text;
    n int := 0;
BEGIN
    PERFORM renew(columns);
    CREATE TABLE p AS SELECT row_number() OVER () AS n, *, lag(c1) OVER () AS d1, lag(c2) OVER () AS d2 FROM (SELECT c1, c2 FROM t ORDER BY hashint4(id) LIMIT 40) x;
    ANALYZE p;
    FOREACH query IN ARRAY ARRAY[
        'SELECT p.n, x.* FROM p, LATERAL (SELECT count(*), sum(id) FROM t WHERE t.c2 = p.c2) x',
        'SELECT p.n, x.* FROM p, LATERAL (SELECT count(*), sum(id) FROM t WHERE t.c1 > p.c1 AND t.c2 = p.c2) x',
        'SELECT p.n, x.* FROM p, LATERAL (SELECT count(*), sum(id) FROM t WHERE t.c1 < p.c1 AND t.c2 > p.c2 AND t.c2 < p.d2) x',
        'SELECT p.n, x.* FROM p, LATERAL (SELECT count(*), sum(id) FROM t WHERE t.c1 >= p.d1 AND t.c2 = ANY (ARRAY[p.c2, p.d2])) x',
        'SELECT p.n, x.* FROM p, LATERAL (SELECT count(*), sum(id) FROM t WHERE t.c1 = ANY (ARRAY[p.c1, p.d1]) AND t.c2 >= p.d2) x',
        'SELECT p.n, x.c1 FROM p, LATERAL (SELECT t.c1 FROM t WHERE t.c2 = p.c2 ORDER BY ' || split_part(elements(columns), ',', 1) || ' LIMIT 2) x',
        'SELECT p.n, x.c1 FROM p, LATERAL (SELECT t.c1 FROM t WHERE t.c2 = p.c2 ORDER BY ' || split_part(backward(columns), ',', 1) || ' LIMIT 1) x',
        'SELECT p.n FROM p WHERE EXISTS (SELECT 1 FROM t WHERE t.c1 > p.c1 AND t.c2 = p.d2 OFFSET 0)',
        'SELECT a.c1, count(*), sum(a.id::int8 * b.id) FROM t a JOIN t b ON a.c1 = b.c1 WHERE a.c2 = (SELECT c2 FROM p WHERE n = 1) AND b.c2 IS NOT NULL GROUP BY a.c1',
        'SELECT a.c1, count(*), sum(a.id::int8 * b.id) FROM t a JOIN t b ON a.c1 = b.c1 WHERE a.c2 <= (SELECT c2 FROM p WHERE n = 5) AND b.c2 >= (SELECT c2 FROM p WHERE n = 6) GROUP BY a.c1'] LOOP
        expected := rows_by('seq', query);
        FOREACH kind IN ARRAY '{index,only,bitmap}'::text[] LOOP
            CONTINUE WHEN kind = 'bitmap' AND query ~ 'ORDER BY|JOIN';
            IF rows_by(kind, query) <> expected THEN
                RAISE NOTICE '% %: %', columns, kind, query;
            END IF;
            n := n + 1;
        END LOOP;
    END LOOP;
    DROP TABLE p;
    RETURN n;
END $$;
SELECT columns, compare_joins(columns::text[])
FROM unnest('{"{int4 gn,int4 yn}","{int4 gn DESC,int8 yn}","{text gn,int8 yn DESC}","{uuid gn NULLS FIRST,numeric yn}"}'::text[]) columns;

-- Cursors, moved to and fro, against the sorted list; also while entries come
-- before, between and after those that are read, so that leaves split.
CREATE FUNCTION compare_moves(columns text[], condition text, back bool, moves int[], change bool DEFAULT false) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
    query text := format('SELECT %s AS r, id FROM t WHERE %s ORDER BY %s', as_text(columns), condition, CASE WHEN back THEN backward(columns) ELSE elements(columns) END);
    rows text[];
    c refcursor;
    found record;
    place int := 0;
    n int;
    moved int := 0;
BEGIN
    PERFORM use_scan('seq');
    EXECUTE format('SELECT array_agg(r) FROM (%s) x', query) INTO rows;
    PERFORM use_scan('index');
    OPEN c SCROLL FOR EXECUTE query;
    FOREACH n IN ARRAY moves LOOP
        FOR i IN 1..abs(n) LOOP
            IF n > 0 THEN
                FETCH NEXT FROM c INTO found;
                place := least(place + 1, coalesce(array_length(rows, 1), 0) + 1);
            ELSE
                FETCH PRIOR FROM c INTO found;
                place := greatest(place - 1, 0);
            END IF;
            IF found.r IS DISTINCT FROM rows[place] THEN
                RAISE NOTICE '% of %: % instead of % after % of %', condition, columns, found.r, rows[place], i, n;
                RETURN moved;
            END IF;
            EXIT WHEN found.r IS NULL;
            moved := moved + 1;
        END LOOP;
        IF change THEN
            PERFORM use_scan('seq');
            INSERT INTO t SELECT -id, c1, c2 FROM t WHERE id > 0 AND id % 23 = abs(n) % 23;
            DELETE FROM t WHERE id % 17 = abs(n) % 17;
            PERFORM use_scan('index');
        END IF;
    END LOOP;
    CLOSE c;
    RETURN moved;
END $$;
CREATE FUNCTION compare_cursors(columns text[], change bool) RETURNS int8 LANGUAGE plpgsql AS $$
DECLARE
    moved int8;
BEGIN
    PERFORM renew(columns);
    SELECT sum(compare_moves(columns, on_columns(condition, columns, '{1,2}'), back, m::int[], change)) INTO moved
    FROM unnest(ARRAY['y = Y5', 'x > X41 AND y IN (Y5, Y7, Y60)', 'x BETWEEN X10 AND X64 AND y > Y60', 'y < Y3', 'x IN (X41, X64, X65) AND y = Y9', 'x IS NOT NULL AND y IS NULL', 'y = Y70'])
        WITH ORDINALITY c (condition, n),
        unnest('{f,t}'::bool[]) WITH ORDINALITY b (back, nb),
        unnest('{"{5,-3,40,-60,7,-2,1000000,-7,3,-1000000,1}","{1000000,1,-20,10,-1000000,1}","{1,-1,2,-2,3,-3,20,-20}"}'::text[]) WITH ORDINALITY l (m, nm)
    WHERE NOT change OR (n + nb + nm) % 4 = 0;
    RETURN moved;
END $$;
SELECT columns, change, compare_cursors(columns::text[], change) > 500 AS moved
FROM unnest('{"{int4 gn,int4 yn}","{int8 gn DESC,date yn NULLS FIRST}","{text gn,int8 yn}","{uuid gn NULLS FIRST,text yn DESC}"}'::text[]) columns, unnest('{f,t}'::bool[]) change;

-- Entries that have died, pages that were emptied and deleted, and rows that
-- came into the gaps.
SELECT renew('{int4 gn,int4 yn}');
DELETE FROM t WHERE id / 10000 IN (41, 43, 62) OR (id / 10000 = 65 AND c2 BETWEEN -50 AND 50);
SELECT compare_all('{int4 gn,int4 yn}', 5);
VACUUM t;
SELECT compare_all('{int4 gn,int4 yn}', 5, 1);
INSERT INTO t SELECT id, c1 + 1, c2 FROM t WHERE id % 5 = 1 AND c1 < 2000000000;
DELETE FROM t WHERE id % 3 = 0;
VACUUM ANALYZE t;
SELECT compare_all('{int4 gn,int4 yn}', 5, 2), fpbtree_check('t_idx', true);
SELECT renew('{text gn,int8 yn,numeric z}');
DELETE FROM t WHERE id / 10000 IN (41, 43, 62) OR (id / 10000 = 65 AND c2 BETWEEN -200000000000 AND 200000000000);
SELECT compare_all('{text gn,int8 yn,numeric z}', 5);
VACUUM t;
SELECT compare_all('{text gn,int8 yn,numeric z}', 5, 1);
INSERT INTO t SELECT id, c1 || 'a', c2, c3 FROM t WHERE id % 5 = 1;
DELETE FROM t WHERE id % 3 = 0;
VACUUM ANALYZE t;
SELECT compare_all('{text gn,int8 yn,numeric z}', 5, 2), fpbtree_check('t_idx', true);

-- Entries in the queue: some of each group, and whole groups.
SELECT renew('{int4 gn,int4 yn}', 'operation_queue = on, opq_size = 64');
INSERT INTO t SELECT * FROM t WHERE id % 3 = 1;
SELECT compare_all('{int4 gn,int4 yn}', 5);
DELETE FROM t WHERE id / 10000 IN (41, 43, 62);
VACUUM ANALYZE t;
INSERT INTO t SELECT id, c1 + 1, c2 FROM t WHERE id % 7 = 1 AND c1 < 2000000000;
SELECT queue_entries > 0 AS queued FROM fpbtree_stats('t_idx');
SELECT compare_all('{int4 gn,int4 yn}', 3, 1);
SELECT sum(compare_moves('{int4 gn,int4 yn}', condition, back, '{5,-3,40,-60,7,-2,1000000,-7,3,-1000000,1}')) > 500 AS moved
FROM unnest('{f,t}'::bool[]) back, unnest(ARRAY['c2 = -85', 'c1 > 23 AND c2 IN (-85, -79, 80)', 'c1 IN (23, 92, 93) AND c2 > 50']) condition;
SELECT fpbtree_flush('t_idx') > 0 AS flushed;
SELECT compare_all('{int4 gn,int4 yn}', 5, 2);
SELECT renew('{text g,int8 yn DESC}', 'operation_queue = on, opq_size = 64');
CREATE TABLE rows AS SELECT * FROM t;
TRUNCATE t;
INSERT INTO t SELECT * FROM rows WHERE id % 2 = 0;
SELECT queue_entries > 0 AS queued FROM fpbtree_stats('t_idx');
SELECT compare_all('{text g,int8 yn DESC}', 5);
SELECT fpbtree_flush('t_idx') > 0 AS flushed;
INSERT INTO t SELECT id, c1 || 'a', c2 FROM rows WHERE id % 4 = 1;
INSERT INTO t SELECT * FROM rows WHERE id % 4 = 3;
SELECT compare_all('{text g,int8 yn DESC}', 3, 2);

-- In parallel.
SELECT make_table('{int4 gn,int4 yn,text z}', 'large');
CREATE INDEX t_idx ON t USING fpbtree (c1, c2) INCLUDE (id);
CREATE INDEX t_idx2 ON t USING fpbtree (c3, c2) INCLUDE (id);
VACUUM ANALYZE t;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_index_scan_size = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2;
CREATE VIEW sums AS
    SELECT 1 AS n, count(*), sum(id) FROM t WHERE c2 = -85
    UNION ALL SELECT 2, count(*), sum(id) FROM t WHERE c1 > 25 AND c2 IN (-85, -79, 92)
    UNION ALL SELECT 3, count(*), sum(id) FROM t WHERE c1 IN (26, 92, 2147483647) AND c2 > 80
    UNION ALL SELECT 4, count(*), sum(id) FROM t WHERE c3 > 'text 41' AND c2 = -85
    UNION ALL SELECT 5, count(*), sum(id) FROM t WHERE c3 IN ('text 5', 'text 41') AND c2 BETWEEN -85 AND -70
    UNION ALL SELECT 6, count(*), sum(id) FROM t WHERE c1 IS NULL AND c2 = -85
    UNION ALL SELECT 7, count(*), sum(id) FROM t WHERE c1 IS NOT NULL AND c2 IS NULL;
SELECT * FROM sums ORDER BY n;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SELECT * FROM sums ORDER BY n;
SET enable_indexonlyscan = off;
SELECT * FROM sums ORDER BY n;
SET enable_bitmapscan = on;
SET enable_indexscan = off;
SELECT * FROM sums ORDER BY n;
SET enable_indexscan = on;
SET enable_indexonlyscan = on;
SET enable_bitmapscan = off;
SET enable_sort = off;
SELECT count(*), sum(id) FROM (SELECT id FROM t WHERE c2 = -85 ORDER BY c1 DESC OFFSET 0) x;
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET min_parallel_index_scan_size;
RESET min_parallel_table_scan_size;
SET max_parallel_workers_per_gather = 0;

-- How much is read.  A scan reads a few pages for each value that it passes,
-- not all entries that have it; and where each entry has another value, hardly
-- more than a scan of all entries does.
CREATE FUNCTION visits(query text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
    plan json;
BEGIN
    EXECUTE query;
    EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, COSTS OFF, TIMING OFF, SUMMARY OFF, FORMAT json) ' || query INTO plan;
    IF plan::text !~ '"Index Name"' THEN
        RAISE NOTICE 'not by an index: %', query;
    END IF;
    RETURN (plan->0->'Plan'->>'Shared Hit Blocks')::int + (plan->0->'Plan'->>'Shared Read Blocks')::int;
END $$;
CREATE TABLE words (a int8, b int8) WITH (autovacuum_enabled = off);
INSERT INTO words SELECT i % 10, i / 10 FROM generate_series(0, 99999) i;
CREATE INDEX words_idx ON words USING fpbtree (a, b);
CREATE TABLE tuples (a text COLLATE "C", b int8, c int4) WITH (autovacuum_enabled = off);
INSERT INTO tuples SELECT 'tenant ' || i % 10, i / 10, i % 1000 FROM generate_series(0, 99999) i;
CREATE INDEX tuples_idx ON tuples USING fpbtree (a, b, c);
CREATE TABLE distinct_words (a int8, b int8) WITH (autovacuum_enabled = off);
INSERT INTO distinct_words SELECT i, i % 7 FROM generate_series(0, 19999) i;
CREATE INDEX distinct_words_idx ON distinct_words USING fpbtree (a, b);
CREATE TABLE distinct_tuples (a text COLLATE "C", b int8) WITH (autovacuum_enabled = off);
INSERT INTO distinct_tuples SELECT 'tenant ' || i, i % 7 FROM generate_series(0, 19999) i;
CREATE INDEX distinct_tuples_idx ON distinct_tuples USING fpbtree (a, b);
VACUUM ANALYZE words;
VACUUM ANALYZE tuples;
VACUUM ANALYZE distinct_words;
VACUUM ANALYZE distinct_tuples;
SELECT visits('SELECT count(*) FROM words WHERE b = 5000') < 50 AS equal,
    visits('SELECT count(*) FROM (SELECT a, b FROM words WHERE b = 5000 ORDER BY a DESC OFFSET 0) x') < 50 AS backward,
    visits('SELECT count(*) FROM words WHERE b = -1') < 50 AS none,
    visits('SELECT count(*) FROM words WHERE b > 9997') < 50 AS greatest,
    visits('SELECT count(*) FROM words WHERE b < 3') < 50 AS least,
    visits('SELECT count(*) FROM words WHERE b IS NULL') < 50 AS nulls,
    visits('SELECT count(*) FROM words WHERE b BETWEEN 5000 AND 5005') < 50 AS range,
    visits('SELECT count(*) FROM words WHERE b IN (5000, 5001, 5003)') < 50 AS neighbours,
    visits('SELECT count(*) FROM words WHERE a BETWEEN 2 AND 5 AND b = 5000') < 30 AS range_before,
    visits('SELECT count(*) FROM words WHERE a > 5 AND b IN (5000, 5001)') < 30 AS array_after;
SELECT visits('SELECT a FROM words WHERE b = 5000 ORDER BY a LIMIT 1') < 10 AS first_one,
    visits('SELECT a FROM words WHERE b = 5000 ORDER BY a DESC LIMIT 1') < 10 AS last_one,
    visits('SELECT a FROM tuples WHERE b = 5000 ORDER BY a LIMIT 1') < 15 AS first_tuple,
    visits('SELECT a FROM tuples WHERE b = 5000 ORDER BY a DESC LIMIT 1') < 15 AS last_tuple;
SELECT visits('SELECT count(*) FROM tuples WHERE b = 5000') < 80 AS equal,
    visits('SELECT count(*) FROM (SELECT a, b FROM tuples WHERE b = 5000 ORDER BY a DESC OFFSET 0) x') < 80 AS backward,
    visits('SELECT count(*) FROM tuples WHERE b = -1') < 80 AS none,
    visits('SELECT count(*) FROM tuples WHERE b > 9997') < 80 AS greatest,
    visits('SELECT count(*) FROM tuples WHERE b < 3') < 80 AS least,
    visits('SELECT count(*) FROM tuples WHERE b IS NULL') < 80 AS nulls,
    visits('SELECT count(*) FROM tuples WHERE b = 5000 AND c = 3') < 80 AS both_after,
    visits('SELECT count(*) FROM tuples WHERE a BETWEEN ''tenant 2'' AND ''tenant 5'' AND b = 5000') < 40 AS range_before,
    visits('SELECT count(*) FROM tuples WHERE a = ''tenant 2'' AND c = 3') <= 1.1 * visits('SELECT count(*) FROM tuples WHERE a = ''tenant 2''') + 5 AS many_values;
SET enable_bitmapscan = on;
SET enable_indexscan = off;
SET enable_indexonlyscan = off;
SELECT visits('SELECT count(*) FROM words WHERE b = 5000') < 60 AS bitmap_of_words, visits('SELECT count(*) FROM tuples WHERE b = 5000') < 90 AS bitmap_of_tuples;
SET enable_bitmapscan = off;
SET enable_indexscan = on;
SELECT visits('SELECT * FROM words WHERE b = 5000') < 60 AS rows_of_words, visits('SELECT * FROM tuples WHERE b = 5000') < 90 AS rows_of_tuples;
SET enable_indexonlyscan = on;
CREATE FUNCTION is_no_worse(name text, condition text, ordering text) RETURNS bool LANGUAGE sql AS $$
    SELECT visits(format('SELECT count(*) FROM (SELECT a, b FROM %s WHERE %s ORDER BY a %s OFFSET 0) x', name, condition, ordering))
        <= 1.1 * visits(format('SELECT count(*) FROM (SELECT a, b FROM %s ORDER BY a %s OFFSET 0) x', name, ordering)) + 5 $$;
SELECT name, condition, ordering, is_no_worse(name, condition, ordering)
FROM unnest('{distinct_words,distinct_tuples}'::text[]) name, unnest('{b = 3,b > 6,b IS NULL}'::text[]) condition, unnest('{ASC,DESC}'::text[]) ordering;

RESET ALL;
SET client_min_messages = warning;
DROP SCHEMA skip CASCADE;
