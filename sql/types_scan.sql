--
-- Scans of every kind of key type: each operator of its operator family, with
-- constants of each type that the family has, in both directions, through the
-- index and by a sequential scan.  What differs is printed: nothing.
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS fpbtree;
RESET client_min_messages;

CREATE SCHEMA scan_types;
SET search_path = scan_types, public;
SET max_parallel_workers_per_gather = 0;
SET jit = off;
SET enable_bitmapscan = off;
SET timezone = 'America/New_York';
SET datestyle = 'ISO';

CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
CREATE TYPE pair AS (x int, y text);
CREATE DOMAIN word AS text COLLATE "C" CHECK (VALUE <> 'no');

-- A collation that is not the byte order, and one that finds strings equal
-- that differ; where ICU is missing, "C" has to do.
DO $$
BEGIN
    CREATE COLLATION natural_order (provider = icu, locale = 'en');
    CREATE COLLATION no_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
EXCEPTION WHEN feature_not_supported OR invalid_parameter_value THEN
    CREATE COLLATION natural_order FROM "C";
    CREATE COLLATION no_case FROM "C";
END $$;

CREATE FUNCTION rows_of(query text) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE r text[];
BEGIN
    EXECUTE 'SELECT array_agg(x::text) FROM (' || query || ') x' INTO r;
    RETURN coalesce(r, '{}');
END $$;

CREATE FUNCTION sorted(a text[]) RETURNS text[] LANGUAGE sql AS $$
    SELECT coalesce(array_agg(x ORDER BY x COLLATE "C"), '{}') FROM unnest(a) x $$;

-- Compare both ways to answer queries on table v: the keys that satisfy a
-- condition, and, with an ordering, their ranks in order.
CREATE FUNCTION compare(condition text, ordering text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
    by_key text := 'SELECT k FROM v WHERE ' || condition;
    by_rank text := 'SELECT rank FROM v WHERE ' || condition || ' ORDER BY ' || ordering;
    keys text[];
    ranks text[];
    line text;
    used int := 0;
BEGIN
    PERFORM set_config('enable_indexscan', 'off', true), set_config('enable_indexonlyscan', 'off', true),
            set_config('enable_seqscan', 'on', true), set_config('enable_sort', 'on', true);
    keys := sorted(rows_of(by_key));
    ranks := rows_of(by_rank);
    PERFORM set_config('enable_indexscan', 'on', true), set_config('enable_indexonlyscan', 'on', true),
            set_config('enable_seqscan', 'off', true), set_config('enable_sort', 'off', true);
    FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || by_key LOOP
        used := used + (line LIKE '%using v_idx%')::int;
    END LOOP;
    IF sorted(rows_of(by_key)) <> keys THEN
        RAISE NOTICE 'differs: %', by_key;
    END IF;
    IF rows_of(by_rank) <> ranks THEN
        RAISE NOTICE 'differs: %', by_rank;
    END IF;
    RETURN used;
END $$;

-- One type: its values (literals), each several times and NULLs in between,
-- against constants of the type and others.  Tells whether the index was used.
CREATE FUNCTION check_type(type text, vals text[], others text[] DEFAULT '{}', opclass text DEFAULT '',
                           ops text[] DEFAULT '{<,<=,=,>=,>}')
RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    less text := CASE WHEN opclass = '' THEN '<' ELSE ops[1] END;
    more text := CASE WHEN opclass = '' THEN '>' ELSE ops[5] END;
    form text[];
    used int := 0;
BEGIN
    EXECUTE format('CREATE TEMP TABLE w (k %s)', type);
    EXECUTE format('INSERT INTO w SELECT CASE WHEN i %% 10 > 0 THEN ($1::text[])[1 + i %% %s]::%s END FROM generate_series(0, 299) i',
                   cardinality(vals), regexp_replace(type, ' COLLATE .*', '')) USING vals;
    EXECUTE format('CREATE TEMP TABLE v AS SELECT k, dense_rank() OVER (ORDER BY k USING %s NULLS LAST) AS rank FROM w', less);
    -- index column, its order, the reverse order
    FOREACH form SLICE 1 IN ARRAY ARRAY[
        ['', format('k USING %s NULLS LAST', less), format('k USING %s NULLS FIRST', more)],
        ['DESC', format('k USING %s NULLS FIRST', more), format('k USING %s NULLS LAST', less)],
        ['NULLS FIRST', format('k USING %s NULLS FIRST', less), format('k USING %s NULLS LAST', more)],
        ['DESC NULLS LAST', format('k USING %s NULLS LAST', more), format('k USING %s NULLS FIRST', less)]] LOOP
        -- the second and fourth index have tuples, even of types that have words
        EXECUTE format('CREATE INDEX v_idx ON v USING fpbtree (k %s %s) %s', opclass, form[1],
                       CASE WHEN form[1] LIKE 'DESC%' THEN 'INCLUDE (rank)' END);
        ANALYZE v;
        SELECT used + sum(compare(c, CASE WHEN n % 2 = 0 THEN form[2] ELSE form[3] END)) INTO used
        FROM (SELECT c, row_number() OVER () n
              FROM (SELECT format('k %s %s', op, v) c
                    FROM unnest(ops) op,
                         unnest((SELECT array_agg(format('%L::%s', x, regexp_replace(type, ' COLLATE .*', ''))) FROM unnest(vals) x) || others) v
                    UNION ALL VALUES ('k IS NULL'), ('k IS NOT NULL'), ('true'),
                        ((SELECT format('k IN (%s)', string_agg(format('%L::%s', x, regexp_replace(type, ' COLLATE .*', '')), ', '))
                          FROM unnest(vals) x))) y) z;
        DROP INDEX v_idx;
    END LOOP;
    DROP TABLE v, w;
    RETURN used > 0;
END $$;

-- types with words, and the constants that their families compare them with
SELECT check_type('bool', '{f,t}');
SELECT check_type('"char"', '{a,b,z,A}');
SELECT check_type('int2', '{-32768,-1,0,1,32767}', '{40000,-40000,1::int8,5000000000}');
SELECT check_type('int4', '{-2147483648,-1,0,1,2147483647}', '{1::int2,5000000000,-5000000000,2147483647::int8}');
SELECT check_type('int8', '{-9223372036854775808,-1,0,1,5000000000,9223372036854775807}', '{1::int2,1::int4}');
SELECT check_type('oid', '{0,1,4294967295}');
SELECT check_type('float4', '{-Infinity,-1,-0,0,0.1,1,Infinity,NaN}', '{0.1::float8,1e300::float8,-1e300::float8,-0.0::float8,''NaN''::float8}');
SELECT check_type('float8', '{-Infinity,-1,-0,0,0.1,1,Infinity,NaN}', '{0.1::float4,-0.0::float4,''NaN''::float4}');
SELECT check_type('money', '{-1,0,2.5}');
SELECT check_type('date', '{-infinity,2024-03-09,2024-03-10,2024-03-11,infinity}',
    '{''2024-03-10 00:00''::timestamp,''2024-03-10 12:00''::timestamp,''infinity''::timestamp,''2024-03-10 05:00+00''::timestamptz,''2024-03-10 06:00+00''::timestamptz}');
SELECT check_type('timestamp', '{-infinity,2024-03-10 00:00,2024-03-10 12:00,2024-11-03 00:30,2024-11-03 03:00,infinity}',
    '{''2024-03-10''::date,''infinity''::date,''2024-03-10 05:00+00''::timestamptz,''2024-03-10 06:00+00''::timestamptz}');
SELECT check_type('timestamptz', '{-infinity,2024-03-10 00:00,2024-03-10 12:00,2024-11-03 00:30,2024-11-03 03:00,infinity}',
    '{''2024-03-10''::date,''infinity''::date,''2024-03-10 12:00''::timestamp,''-infinity''::timestamp}');
SELECT check_type('time', '{00:00,12:34:56,24:00}');
SELECT check_type('uuid', '{00000000-0000-0000-0000-000000000000,00000000-0000-0001-0000-000000000000,a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11,a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a12,ffffffff-ffff-ffff-ffff-ffffffffffff}');
SELECT check_type('macaddr', '{00:00:00:00:00:00,08:00:2b:01:02:03,ff:ff:ff:ff:ff:ff}');
SELECT check_type('macaddr8', '{00:00:00:00:00:00:00:00,08:00:2b:01:02:03:04:05,ff:ff:ff:ff:ff:ff:ff:ff}');
SELECT check_type('pg_lsn', '{0/0,0/1,1/0,FFFFFFFF/FFFFFFFF}');
SELECT check_type('xid8', '{0,1,18446744073709551615}');
SELECT check_type('tid', '{"(0,0)","(0,1)","(1,0)","(4294967295,65535)"}');

-- tuples, with and without heads
SELECT check_type('text COLLATE "C"', '{"",a,A,abcdefgh,abcdefghi,abcdefghij,b,é,zz}', '{''abc''::name}');
SELECT check_type('text COLLATE natural_order', '{"",a,A,abcdefgh,abcdefghi,Abcdefghi,b,é,e,zz}');
SELECT check_type('text COLLATE no_case', '{"",a,A,abc,ABC,abcdefghi,Abcdefghi,b}');
SELECT check_type('varchar(20) COLLATE "C"', '{"",a,A,abcdefgh,abcdefghi,b}');
SELECT check_type('char(10) COLLATE "C"', '{"",a,"a ",abcdefgh,abcdefghi,b}');
SELECT check_type('name', '{"",a,A,abcdefgh,abcdefghi,b}', '{''abcdefgh''::text}');
SELECT check_type('word', '{"",a,abcdefghi}');
SELECT check_type('bytea', ARRAY['\x', '\x00', '\x0001', '\x6162636465666768', '\x616263646566676869', '\xff']);
SELECT check_type('numeric', '{-Infinity,-1,0,1,1.0,1.50,1e30,1e-30,NaN,Infinity}');
SELECT check_type('interval', '{-1 day,0,24 hours,1 day,30 days,1 month,1 year}');
SELECT check_type('timetz', '{00:00+00,12:34:56+02,12:34:56-03,24:00+00}');
SELECT check_type('inet', '{1.2.3.4,1.2.3.0/24,10.0.0.0/8,255.255.255.255,::1,fe80::/10}');
SELECT check_type('bit(4)', '{0000,1010,1111}');
SELECT check_type('varbit', '{0,1,10,0000,1010101010101010101}');
SELECT check_type('tsvector', '{"","a","a b","b"}');
SELECT check_type('jsonb', '{"null",1,1.0,"\"a\"","[]","[1]","{}","{\"a\": 1}"}');
SELECT check_type('int4[]', '{"{}","{1}","{1,2}","{2}","{NULL}","{{1},{2}}"}');
SELECT check_type('int4range', '{empty,"[1,5)","[1,)","(,)","[2,3)"}');
SELECT check_type('int4multirange', '{"{}","{[1,5)}","{[1,2),[3,4)}","{(,)}"}');
SELECT check_type('mood', '{sad,ok,happy}');
SELECT check_type('pair', '{"(1,a)","(1,b)","(1,)","(,a)","(2,)"}');
SELECT check_type('text COLLATE natural_order', '{"",a,A,abcdefgh,abcdefghi,Abcdefghi,b,é,e,zz}', '{}', 'text_pattern_ops', '{~<~,~<=~,=,~>=~,~>~}');
SELECT check_type('char(10) COLLATE natural_order', '{"",a,A,abcdefgh,abcdefghi,b}', '{}', 'bpchar_pattern_ops', '{~<~,~<=~,=,~>=~,~>~}');
SELECT check_type('pair', '{"(1,a)","(1,b)","(1,)","(,a)","(2,)"}', '{}', 'record_image_ops', '{*<,*<=,*=,*>=,*>}');

-- PL/Python makes arrays of a domain that say they are of its base type.
CREATE DOMAIN positive AS int CHECK (value > 0);
CREATE FUNCTION labelled(cstring, oid, int) RETURNS positive[] LANGUAGE internal IMMUTABLE AS 'array_in';
CREATE TABLE labels AS SELECT i AS id, labelled(('{' || i || ',' || i + 1 || '}')::cstring, 'int4'::regtype, -1) AS v FROM generate_series(1, 1000) i;
CREATE INDEX labels_v ON labels USING fpbtree (v);
CREATE INDEX labels_id ON labels USING fpbtree (id) INCLUDE (v);
INSERT INTO labels SELECT id + 1000, v FROM labels WHERE id <= 10;
VACUUM labels;
SELECT fpbtree_check('labels_v', true), fpbtree_check('labels_id', true);
SET enable_seqscan = off;
SELECT count(*) FROM labels WHERE v >= (SELECT v FROM labels WHERE id = 991);
SELECT id, v FROM labels WHERE id BETWEEN 1009 AND 1010;
RESET enable_seqscan;

SET client_min_messages = warning;
DROP SCHEMA scan_types CASCADE;
