--
-- Every type whose values are stored as integers, at the ends of what can be
-- stored, which for some is more than their input takes: what an index-only
-- scan gives back, and in which order, with each operator of the type's family
-- and values of each type that it compares with, in indexes of one column and
-- of several.  A sequential scan tells what is right.  What differs is printed:
-- nothing.
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS fpbtree;
CREATE SCHEMA extremes;
SET search_path = extremes, public;
SET max_parallel_workers_per_gather = 0;
SET jit = off;
SET enable_bitmapscan = off;
SET datestyle = 'ISO';
SET timezone = 'America/New_York';

-- A table of a type's values, in order: some cannot be written, nor shown.
CREATE FUNCTION fill(type text, list text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('CREATE TABLE %I (id serial, v %s)', 'v_' || type, type);
    EXECUTE (SELECT string_agg(format('INSERT INTO %I (v) SELECT %s', 'v_' || type, value), ';' ORDER BY i)
             FROM unnest(string_to_array(list, ', ')) WITH ORDINALITY x (value, i));
END $$;

\pset tuples_only on
SELECT fill('bool', $$false, true$$);
SELECT fill('"char"', $$0::"char", 1::"char", 127::"char", (-128)::"char", (-1)::"char"$$);
SELECT fill('int2', $$-32768, -32767, -1, 0, 1, 32766, 32767$$);
SELECT fill('int4', $$-2147483648, -2147483647, -32769, 0, 32768, 2147483646, 2147483647$$);
SELECT fill('int8', $$-9223372036854775808, -9223372036854775807, -2147483649, 0, 2147483648, 9223372036854775806, 9223372036854775807$$);
SELECT fill('oid', $$0, 1, 2147483647, 2147483648, 4294967294, 4294967295$$);
SELECT fill('regclass', $$0::oid, 2147483648::oid, 4294967295::oid$$);
SELECT fill('money', $$'-92233720368547758.08', '-92233720368547758.07', '0', '92233720368547758.06', '92233720368547758.07'$$);
SELECT fill('pg_lsn', $$'0/0', '0/1', '7FFFFFFF/FFFFFFFF', '80000000/0', 'FFFFFFFF/FFFFFFFE', 'FFFFFFFF/FFFFFFFF'$$);
SELECT fill('xid8', $$'0', '1', '9223372036854775807', '9223372036854775808', '18446744073709551614', '18446744073709551615'$$);
SELECT fill('macaddr', $$'00:00:00:00:00:00', '00:00:00:00:00:01', '7f:ff:ff:ff:ff:ff', '80:00:00:00:00:00', 'ff:ff:ff:ff:ff:fe', 'ff:ff:ff:ff:ff:ff'$$);
SELECT fill('macaddr8', $$'00:00:00:00:00:00:00:00', '00:00:00:00:00:00:00:01', '7f:ff:ff:ff:ff:ff:ff:ff', '80:00:00:00:00:00:00:00', 'ff:ff:ff:ff:ff:ff:ff:fe', 'ff:ff:ff:ff:ff:ff:ff:ff'$$);
SELECT fill('tid', $$'(0,0)', '(0,1)', '(0,65535)', '(1,0)', '(4294967294,65535)', '(4294967295,0)', '(4294967295,65535)'$$);
SELECT fill('uuid', $$'00000000-0000-0000-0000-000000000000', '00000000-0000-0000-0000-000000000001', '00000000-0000-0000-ffff-ffffffffffff', '00000000-0000-0001-0000-000000000000', '80000000-0000-0000-0000-000000000000', 'ffffffff-ffff-ffff-ffff-fffffffffffe', 'ffffffff-ffff-ffff-ffff-ffffffffffff'$$);
-- a NaN with a sign, too
SELECT fill('float4', $$'-Infinity', -3.4028235e38, -1.1754944e-38, -1e-45, '-0', 0, 1e-45, 1.1754944e-38, 3.4028235e38, 'Infinity', 'NaN', -'NaN'::float4$$);
SELECT fill('float8', $$'-Infinity', -1.7976931348623157e308, -2.2250738585072014e-308, -5e-324, '-0', 0, 5e-324, 2.2250738585072014e-308, 1e-45, 3.4028235e38, 1.7976931348623157e308, 'Infinity', 'NaN', -'NaN'::float8$$);
SELECT fill('time', $$'00:00', '00:00:00.000001', '23:59:59.999999', '23:59:59.6'::time(0)$$);
-- of the first instant, the date here is the day before the first
SELECT fill('date', $$'-infinity', '4714-11-24 00:00+00 BC'::timestamptz::date, '4714-11-24 BC', '4714-11-25 BC', '1999-12-31', '2000-01-01', '294276-12-31', '294277-01-01', '294277-01-02', '5874897-12-30', '5874897-12-31', 'infinity'$$);
-- what is rounded up to the first timestamp that is too late
SELECT fill('timestamp', $$'-infinity', '4714-11-24 00:00 BC', '4714-11-24 00:00:00.000001 BC', '4714-11-25 00:00 BC', '1999-12-31 23:59:59.999999', '2000-01-01', '294276-12-31 00:00', '294276-12-31 23:59:59.999999', '294276-12-31 23:59:59.6'::timestamp(0), 'infinity'$$);
SELECT fill('timestamptz', $$'-infinity', '4714-11-24 00:00+00 BC', '4714-11-24 00:00:00.000001+00 BC', '4714-11-25 00:00+00 BC', '1999-12-31 23:59:59.999999+00', '2000-01-01 00:00+00', '294276-12-31 05:00+00', '294276-12-31 23:59:59.999999+00', '294276-12-31 23:59:59.6+00'::timestamptz(0), 'infinity'$$);

\pset tuples_only off

-- That day as timestamps, which are not to be shown.
CREATE TABLE odd AS SELECT v::timestamp AS k FROM v_date WHERE id = 2;
ALTER TABLE odd ADD z timestamp;
UPDATE odd SET z = k;
SET timezone = 'UTC';
ALTER TABLE odd ALTER z TYPE timestamptz;
SET timezone = 'America/New_York';
SELECT timestamp_send(k) = timestamptz_send(z) AS same, k < '4714-11-24 00:00 BC' AS before FROM odd;
SELECT v::text FROM v_timestamp WHERE id = 9;

-- The bytes of a column's value; NaNs have no particular ones.
CREATE FUNCTION image(type text, name text) RETURNS text LANGUAGE sql STABLE AS $$
SELECT CASE WHEN type LIKE 'float%' THEN format('CASE WHEN %s = ''NaN'' THEN ''NaN'' ELSE %s END', name, shown)
            ELSE shown END
FROM (SELECT format('coalesce(%s(%s)::text, ''null'')', typsend, name) FROM pg_type WHERE oid = type::regtype) x (shown)
$$;

-- "column op value", for all operators, or "=" alone, and the values of all types that they take.
CREATE FUNCTION comparisons(type text, name text, all_ops boolean) RETURNS SETOF text LANGUAGE plpgsql STABLE AS $$
DECLARE
    op record;
BEGIN
    FOR op IN SELECT oprname, 'v_' || format_type(amoprighttype, NULL) AS other
              FROM pg_opclass c JOIN pg_am a ON a.oid = opcmethod
                   JOIN pg_amop ON amopfamily = opcfamily AND amoplefttype = opcintype
                   JOIN pg_operator o ON o.oid = amopopr
              WHERE amname = 'fpbtree' AND opcdefault AND (all_ops OR amopstrategy = 3)
                  AND opcintype = CASE type WHEN 'regclass' THEN 'oid' ELSE type END::regtype
              ORDER BY oprname COLLATE "C", format_type(amoprighttype, NULL) COLLATE "C" LOOP
        op.other := CASE op.other WHEN 'v_smallint' THEN 'v_int2' WHEN 'v_integer' THEN 'v_int4' WHEN 'v_bigint' THEN 'v_int8'
            WHEN 'v_boolean' THEN 'v_bool' WHEN 'v_real' THEN 'v_float4' WHEN 'v_double precision' THEN 'v_float8'
            WHEN 'v_time without time zone' THEN 'v_time' WHEN 'v_timestamp without time zone' THEN 'v_timestamp'
            WHEN 'v_timestamp with time zone' THEN 'v_timestamptz' ELSE op.other END;
        RETURN QUERY EXECUTE format('SELECT format(''%%s %%s (SELECT v FROM %%I WHERE id = %%s)'', %L, %L, %L, id) FROM %I ORDER BY id',
                                    name, op.oprname, op.other, op.other);
        IF op.oprname = '=' THEN
            RETURN NEXT format('%s = ANY (ARRAY(SELECT v FROM %I))', name, op.other);
        END IF;
    END LOOP;
    RETURN NEXT name || ' IS NULL';
    RETURN NEXT name || ' IS NOT NULL';
END $$;

-- The conditions on the columns of an index: all on the first, or of several columns, some on the
-- first two.
CREATE FUNCTION conditions(types text[]) RETURNS SETOF text LANGUAGE sql STABLE AS $$
SELECT c FROM comparisons(types[1], 'c1', true) WITH ORDINALITY x (c, i)
WHERE cardinality(types) = 1 OR i % 5 = 0 OR c ~ 'NULL|ANY'
UNION ALL (SELECT a || ' AND ' || b
           FROM comparisons(types[1], 'c1', false) WITH ORDINALITY x (a, i),
                comparisons(types[2], 'c2', true) WITH ORDINALITY y (b, j)
           WHERE cardinality(types) > 1 AND ((i * 7 + j) % 41 = 0 OR a ~ 'ANY' AND b ~ 'ANY') ORDER BY i, j)
UNION ALL (SELECT format('(c1, c2) %s ((SELECT v FROM %I WHERE id = %s), (SELECT v FROM %I WHERE id = %s))',
                         op, 'v_' || types[1], i, 'v_' || types[2], j)
           FROM unnest('{<,<=,>=,>}'::text[]) op, generate_series(1, 12) i, generate_series(1, 12) j
           WHERE cardinality(types) > 1 AND (i + 2 * j) % 13 = length(op) ORDER BY op COLLATE "C", i, j)
UNION ALL SELECT 'true'
$$;

-- The answer to a query, an array; NULL if the server finds a value out of range.
CREATE FUNCTION answer(query text) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
    r text[];
BEGIN
    EXECUTE query INTO r;
    RETURN coalesce(r, '{}');
EXCEPTION WHEN datetime_field_overflow THEN
    RETURN NULL;
END $$;

CREATE FUNCTION sorted(a text[]) RETURNS text[] LANGUAGE sql AS $$
    SELECT coalesce(array_agg(x ORDER BY x COLLATE "C"), '{}') FROM unnest(a) x $$;

CREATE FUNCTION use_index(yes boolean) RETURNS void LANGUAGE sql AS $$
    SELECT set_config('enable_indexonlyscan', yes::text, true), set_config('enable_indexscan', yes::text, true),
           set_config('enable_seqscan', (NOT yes)::text, true), set_config('enable_sort', (NOT yes)::text, true)
$$;

-- Compare all answers about columns of these types, each row with all the others' values.  Tells for
-- how many conditions.
CREATE FUNCTION check_columns(types text[], times int DEFAULT 1, tail text DEFAULT '') RETURNS int LANGUAGE plpgsql AS $$
DECLARE
    n int := cardinality(types);
    columns text := (SELECT string_agg(format('x%s.v', i), ', ') FROM generate_series(1, n) i);
    values_of text := (SELECT string_agg(format('(SELECT v FROM %I%s UNION ALL SELECT NULL) x%s', 'v_' || t,
                                                CASE WHEN n > 2 THEN ' WHERE id % 3 <> 0' END, i), ', ')
                       FROM unnest(types) WITH ORDINALITY x (t, i));
    row_image text := (SELECT string_agg(image(t, 'c' || i), ' || ' ORDER BY i) FROM unnest(types) WITH ORDINALITY x (t, i));
    asked text[] := ARRAY(SELECT conditions(types));
    want text[];
    got text[];
    keys text;
    back text;
    line text;
    used boolean;
    compared int := 0;
BEGIN
    EXECUTE (SELECT format('CREATE TEMP TABLE t (%s, n int)', string_agg(format('c%s %s', i, t), ', '))
             FROM unnest(types) WITH ORDINALITY x (t, i));
    EXECUTE format('INSERT INTO t SELECT %s, 0 FROM %s', columns, values_of);
    CREATE TEMP TABLE truth (condition text, images text[]);
    CREATE TEMP TABLE ranks (image text PRIMARY KEY, rank bigint);

    FOR way IN 0 .. CASE n WHEN 1 THEN 3 ELSE 1 END LOOP
        SELECT string_agg(format('c%s %s', i, (ARRAY['', 'DESC', 'NULLS FIRST', 'DESC NULLS LAST'])[1 + (way + i / 2) % 4]), ', '),
               string_agg(format('c%s %s', i, (ARRAY['DESC', '', 'DESC NULLS LAST', 'NULLS FIRST'])[1 + (way + i / 2) % 4]), ', ')
            INTO keys, back FROM generate_series(1, n) i;
        EXECUTE format('CREATE INDEX t_idx ON t USING fpbtree (%s) %s WITH (fillfactor = 10)', keys, tail);
        IF way = 0 THEN
            EXECUTE format('INSERT INTO t SELECT %s, i FROM generate_series(1, %s) i, %s', columns, times, values_of);
        END IF;
        PERFORM fpbtree_check('t_idx', true);

        PERFORM use_index(false);
        IF way = 0 THEN
            INSERT INTO truth SELECT c, answer(format('SELECT array_agg(%s) FROM t WHERE %s', row_image, c)) FROM unnest(asked) c;
            DELETE FROM truth WHERE images IS NULL;
            UPDATE truth SET images = sorted(images);
        END IF;
        TRUNCATE ranks;
        EXECUTE format('INSERT INTO ranks SELECT DISTINCT %s, dense_rank() OVER (ORDER BY %s) FROM t', row_image, keys);

        PERFORM use_index(true);
        FOR line, want IN SELECT * FROM truth LOOP
            compared := compared + 1;
            FOR turn IN 0 .. 1 LOOP
                got := answer(format('SELECT array_agg(image) FROM (SELECT %s AS image FROM t WHERE %s ORDER BY %s) x',
                                     row_image, line, CASE turn WHEN 0 THEN keys ELSE back END));
                IF sorted(got) IS DISTINCT FROM want THEN
                    RAISE WARNING '% (%): % differs', types, keys, line USING DETAIL = format('got %s, expected %s', got, want);
                ELSIF EXISTS (SELECT FROM (SELECT rank, lead(rank) OVER (ORDER BY i) AS next
                                           FROM unnest(got) WITH ORDINALITY x (image, i) JOIN ranks USING (image)) r
                              WHERE CASE turn WHEN 0 THEN next < rank ELSE next > rank END)
                    -- what is "=" is not sorted
                    AND line !~ ' = \(' THEN
                    RAISE WARNING '% (%): % is not in order', types, keys, line USING DETAIL = got;
                END IF;
            END LOOP;
        END LOOP;
        used := false;
        FOR line IN EXECUTE format('EXPLAIN (COSTS OFF) SELECT %s FROM t WHERE %s', row_image, asked[1]) LOOP
            used := used OR line ~ 'Index Only Scan.* using t_idx';
        END LOOP;
        IF NOT used THEN
            RAISE WARNING '% (%): the index is not used', types, keys;
        END IF;
        DROP INDEX t_idx;
    END LOOP;
    DROP TABLE t, truth, ranks;
    RETURN compared;
END $$;

SELECT type, check_columns(ARRAY[type])
FROM unnest('{bool,"\"char\"",int2,int4,int8,oid,regclass,money,pg_lsn,xid8,macaddr,macaddr8,tid,uuid,float4,float8,time}'::text[]) type;
SELECT zone, type, check_columns(ARRAY[type])
FROM unnest('{America/New_York,Asia/Tokyo,XXX-167,XXX167}'::text[]) zone, set_config('timezone', zone, true),
     unnest('{date,timestamp,timestamptz}'::text[]) type;

-- heads of tuples
SELECT type, check_columns(ARRAY[type], 1, 'INCLUDE (n)')
FROM unnest('{int4,float8,date,timestamp}'::text[]) type;

-- words of several columns, some with many rows, so that fences are among them
SELECT types, check_columns(string_to_array(types, ' '), times)
FROM (VALUES ('int4 date', 1), ('date int4', 1), ('float4 float4', 1), ('"char" int2', 1), ('bool float8', 1), ('tid money', 1),
             ('timestamp timestamptz', 10), ('date timestamp', 1), ('timestamptz date', 1), ('bool "char" date', 1), ('date float4 date int4', 1)) x (types, times);

-- The day before the first.  No local time is shown of it; so with other time zones, nothing is
-- compared with it.
SET timezone = 'UTC';
INSERT INTO v_timestamp (v) SELECT k FROM odd;
INSERT INTO v_timestamptz (v) SELECT z FROM odd;
SELECT types, check_columns(string_to_array(types, ' ')) > 300 AS compared -- in 19 more conditions raise no error
FROM unnest('{date,timestamp,timestamptz,date timestamptz,int4 timestamp,timestamp timestamp}'::text[]) types;

SET client_min_messages = warning;
DROP SCHEMA extremes CASCADE;
