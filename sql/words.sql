-- Keys that are stored as integers, and heads of those that are not: every
-- type, direction and place of NULLs, at the corners of what the types hold.
-- Each query is run through the index and by a sequential scan.  Only what
-- differs is printed.
SET seed = 0.5;
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS fpbtree;
SET timezone = 'America/New_York';
SET datestyle = 'ISO';
SET extra_float_digits = 1;
SET enable_indexscan = on;
SET max_parallel_workers_per_gather = 0;

-- Each condition is tried with all directions of the columns; with test.share = n, with each n'th of them, conditions
-- taking turns.
CREATE FUNCTION words_turn(condition bigint, way int) RETURNS bool LANGUAGE sql STABLE AS $$
SELECT (condition + way) % coalesce(current_setting('test.share', true), '1')::int = 0
$$;

-- Corner values of a type, as literals.
CREATE FUNCTION words_corners(type text) RETURNS text[]
LANGUAGE sql IMMUTABLE AS $$
SELECT CASE type
    WHEN 'bool' THEN '{f,t}'
    WHEN '"char"' THEN '{"",a,b,\\177,\\200,\\201,\\377}'
    WHEN 'int2' THEN '{-32768,-32767,-1,0,1,32766,32767}'
    WHEN 'int4' THEN '{-2147483648,-2147483647,-1,0,1,2147483646,2147483647}'
    WHEN 'int8' THEN '{-9223372036854775808,-9223372036854775807,-2147483649,-1,0,1,2147483648,9223372036854775806,9223372036854775807}'
    WHEN 'oid' THEN '{0,1,2147483647,2147483648,4294967294,4294967295}'
    WHEN 'date' THEN '{-infinity,4714-11-24 BC,1999-12-31,2000-01-01,2024-03-10,294276-12-31,294277-01-01,5874897-12-31,infinity}'
    WHEN 'time' THEN '{00:00:00,00:00:00.000001,12:00:00,23:59:59.999999,24:00:00}'
    WHEN 'timestamp' THEN '{-infinity,4714-11-24 00:00:00 BC,1999-12-31 23:59:59.999999,2000-01-01,2000-01-01 05:00,2024-03-10 02:15,2024-03-10 02:45,2024-03-10 03:00,2024-03-10 03:30,2024-11-03 01:30,294276-12-31 23:59:59.999999,infinity}'
    WHEN 'timestamptz' THEN '{-infinity,4714-11-25 00:00:00 BC,1999-12-31 23:59:59.999999,2000-01-01,2000-01-01 05:00,2024-03-10 03:00,2024-03-10 03:20,2024-11-03 05:30Z,2024-11-03 06:30Z,294276-12-30 23:59:59.999999,infinity}'
    WHEN 'money' THEN '{-92233720368547758.08,-0.01,0,0.01,92233720368547758.07}'
    WHEN 'pg_lsn' THEN '{0/0,0/1,7FFFFFFF/FFFFFFFF,80000000/0,FFFFFFFF/FFFFFFFF}'
    WHEN 'xid8' THEN '{0,1,9223372036854775807,9223372036854775808,18446744073709551615}'
    WHEN 'macaddr' THEN '{00:00:00:00:00:00,00:00:00:00:00:01,7f:ff:ff:00:00:00,80:00:00:00:00:00,ff:ff:ff:ff:ff:ff}'
    WHEN 'macaddr8' THEN '{00:00:00:00:00:00:00:00,00:00:00:00:00:00:00:01,7f:ff:ff:ff:00:00:00:00,80:00:00:00:00:00:00:00,ff:ff:ff:ff:ff:ff:ff:ff}'
    WHEN 'tid' THEN '{"(0,0)","(0,1)","(0,65535)","(1,0)","(2147483648,1)","(4294967295,65535)"}'
    WHEN 'float4' THEN '{-Infinity,-3.4028235e38,-1,-1e-45,-0,0,1e-45,1,3.4028235e38,Infinity,NaN}'
    WHEN 'float8' THEN '{-Infinity,-1.7976931348623157e308,-1,-5e-324,-0,0,5e-324,1.0000000001,1e300,Infinity,NaN}'
    WHEN 'uuid' THEN '{00000000-0000-0000-0000-000000000000,00000000-0000-0000-0000-000000000001,00000000-0000-0000-ffff-ffffffffffff,00000000-0000-0001-0000-000000000000,80000000-0000-0000-0000-000000000000,ffffffff-ffff-ffff-0000-000000000000,ffffffff-ffff-ffff-ffff-fffffffffffe,ffffffff-ffff-ffff-ffff-ffffffffffff}'
    WHEN 'text' THEN '{"",a,aa,aaaa,aaaab,"aaaa b",aaaac,abcdefghi,abcdefghij,b,é,÷}'
    WHEN 'text COLLATE "C"' THEN '{""," ",a,aa,aaaa,aaaab,"aaaa b",aaaac,abcdefghi,abcdefghij,b,é,÷}'
    WHEN 'bpchar COLLATE "C"' THEN E'{""," ",a,"a ","a\tb","aaaa   ",aaaa,aaaab,"aaaa b",b}'
    WHEN 'name' THEN '{"",a,aa,aaaa,aaaab,"aaaa b",abcdefghi,b}'
    WHEN 'bytea' THEN '{"","\\x00","\\x0000","\\x0000000000","\\x00000001","\\x61","\\xff","\\xffffffff","\\xffffffff00","\\xffffffffff"}'
    WHEN 'numeric' THEN '{-Infinity,-1,0,0.0,1,1.00,Infinity,NaN}'
END::text[]
$$;

-- Types other than its own that a type can be compared with in the index.
CREATE FUNCTION words_others(type text) RETURNS text[]
LANGUAGE sql IMMUTABLE AS $$
SELECT CASE type
    WHEN 'int2' THEN '{int4,int8}'
    WHEN 'int4' THEN '{int2,int8}'
    WHEN 'int8' THEN '{int2,int4}'
    WHEN 'float4' THEN '{float8}'
    WHEN 'float8' THEN '{float4}'
    WHEN 'date' THEN '{timestamp,timestamptz}'
    WHEN 'timestamp' THEN '{date,timestamptz}'
    WHEN 'timestamptz' THEN '{date,timestamp}'
    WHEN 'name' THEN '{text}'
    ELSE '{}'
END::text[]
$$;

-- Run a query through an index and without; say so if the answers differ.
CREATE FUNCTION words_compare(query text, what text) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    by_index record;
    by_table record;
BEGIN
    PERFORM set_config('enable_seqscan', 'off', true),
            set_config('enable_sort', 'off', true);
    EXECUTE query INTO by_index;
    PERFORM set_config('enable_seqscan', 'on', true),
            set_config('enable_sort', 'on', true),
            set_config('enable_indexscan', 'off', true),
            set_config('enable_indexonlyscan', 'off', true),
            set_config('enable_bitmapscan', 'off', true);
    EXECUTE query INTO by_table;
    PERFORM set_config('enable_indexscan', 'on', true),
            set_config('enable_indexonlyscan', 'on', true),
            set_config('enable_bitmapscan', 'on', true);
    IF by_index IS DISTINCT FROM by_table THEN
        RAISE WARNING '% differs: %', what, query
            USING DETAIL = format('index: %s table: %s', by_index, by_table);
    END IF;
END
$$;

-- What is compared: rows in order, and exactly what is in them.
CREATE FUNCTION words_query(columns text[], condition text, ordering text)
RETURNS text
LANGUAGE sql IMMUTABLE AS $$
SELECT format('SELECT count(*), %s, string_agg(concat_ws(''/'', %s), '','' ORDER BY %s) FROM (SELECT %s FROM words WHERE %s ORDER BY %s) s',
              (SELECT string_agg(format('array_agg(%I)', c), ', ') FROM unnest(columns) c),
              (SELECT string_agg(format('coalesce(%I::text, ''NULL'')', c), ', ') FROM unnest(columns) c),
              (SELECT string_agg(format('%I::text COLLATE "C"', c), ', ') FROM unnest(columns) c),
              array_to_string(columns, ', '), condition, ordering)
$$;

-- Is the index on the table used?
CREATE FUNCTION words_uses_index(query text) RETURNS bool
LANGUAGE plpgsql AS $$
DECLARE
    line text;
BEGIN
    PERFORM set_config('enable_seqscan', 'off', true),
            set_config('enable_sort', 'off', true);
    FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
        IF line ~ 'words_index' THEN
            RETURN true;
        END IF;
    END LOOP;
    RETURN false;
END
$$;

CREATE FUNCTION words_direction(way int) RETURNS text
LANGUAGE sql IMMUTABLE AS $$
SELECT CASE way WHEN 0 THEN 'ASC NULLS LAST' WHEN 1 THEN 'ASC NULLS FIRST'
                WHEN 2 THEN 'DESC NULLS LAST' ELSE 'DESC NULLS FIRST' END
$$;

-- All of the above for an index on one column.  The opposite of a direction
-- is 3 - way.
CREATE FUNCTION words_one_column(type text, tail text DEFAULT '') RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    conditions text[] := '{true,a IS NULL,a IS NOT NULL}';
    other text;
    value text;
    op text;
    condition text;
    i bigint;
    way int;
BEGIN
    EXECUTE format('CREATE TEMP TABLE words (a %s, filler int DEFAULT 1)', type);
    -- twice, half of them before there is an index
    EXECUTE 'INSERT INTO words (a) SELECT v::' || split_part(type, ' COLLATE', 1) ||
        ' FROM unnest($1 || NULL::text) v' USING words_corners(type);

    FOREACH value IN ARRAY words_corners(type) LOOP
        FOREACH op IN ARRAY '{<,<=,=,>=,>}'::text[] LOOP
            conditions := conditions ||
                format('a %s %L::%s', op, value, split_part(type, ' COLLATE', 1));
        END LOOP;
    END LOOP;
    FOREACH other IN ARRAY words_others(type) LOOP
        FOREACH value IN ARRAY words_corners(other) LOOP
            FOREACH op IN ARRAY '{<,<=,=,>=,>}'::text[] LOOP
                conditions := conditions || format('a %s %L::%s', op, value, other);
            END LOOP;
        END LOOP;
        conditions := conditions ||
            format('a = ANY (%L::%s[])', words_corners(other), other) ||
            format('a >= ANY (%L::%s[])', (words_corners(other))[4:], other);
    END LOOP;
    conditions := conditions ||
        format('a = ANY (%L::%s[])', words_corners(type), split_part(type, ' COLLATE', 1)) ||
        format('a > %L::%s AND a <= %3$L::%2$s', (words_corners(type))[2],
               split_part(type, ' COLLATE', 1), (words_corners(type))[4]);

    FOR way IN 0..3 LOOP
        EXECUTE format('CREATE INDEX words_index ON words USING fpbtree (a %s) %s',
                       words_direction(way), tail);
        IF way = 0 THEN
            EXECUTE 'INSERT INTO words (a) SELECT v::' || split_part(type, ' COLLATE', 1) ||
                ' FROM unnest($1 || NULL::text) v' USING words_corners(type);
        END IF;
        IF NOT words_uses_index(words_query('{a}', 'true', 'a ' || words_direction(way))) THEN
            RAISE WARNING 'index on % is not used', type;
        END IF;
        FOR condition, i IN SELECT * FROM unnest(conditions) WITH ORDINALITY LOOP
            CONTINUE WHEN NOT words_turn(i, way);
            PERFORM words_compare(words_query('{a}', condition, 'a ' || words_direction(way)),
                                  type || ' ' || words_direction(way)),
                    words_compare(words_query('{a}', condition, 'a ' || words_direction(3 - way)),
                                  type || ' backward ' || words_direction(way)),
                    words_compare(format('SELECT count(*), sum(filler) FROM words WHERE %s', condition),
                                  type || ' unordered ' || words_direction(way));
        END LOOP;
        DROP INDEX words_index;
    END LOOP;
    DROP TABLE words;
END
$$;

SELECT words_one_column(type)
FROM unnest('{bool,"\"char\"",int2,int4,int8,oid,date,time,timestamp,timestamptz,money,pg_lsn,xid8,macaddr,macaddr8,tid,float4,float8,uuid}'::text[]) type;

-- Tuples behind heads, and without.
SELECT words_one_column(type)
FROM unnest('{"text COLLATE \"C\"","bpchar COLLATE \"C\"",name,bytea,numeric}'::text[]) type;
SELECT words_one_column(type, 'INCLUDE (filler)')
FROM unnest('{bool,int4,int8,date,float4,float8,macaddr,uuid}'::text[]) type;

-- Two columns and more.
CREATE FUNCTION words_two_columns(type_a text, type_b text, tail text DEFAULT '')
RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    base_a text := split_part(type_a, ' COLLATE', 1);
    base_b text := split_part(type_b, ' COLLATE', 1);
    corners_a text[] := words_corners(type_a);
    corners_b text[] := words_corners(type_b);
    conditions text[] := '{true,a IS NULL,a IS NOT NULL,a IS NULL AND b IS NULL,a IS NULL AND b IS NOT NULL}';
    value_a text;
    value_b text;
    other text;
    op text;
    condition text;
    i bigint;
    way_a int;
    way_b int;
BEGIN
    EXECUTE format('CREATE TEMP TABLE words (a %s, b %s, filler int DEFAULT 1)', type_a, type_b);
    EXECUTE format('INSERT INTO words (a, b) SELECT v::%s, w::%s FROM unnest($1 || NULL::text) v, unnest($2 || NULL::text) w',
                   base_a, base_b) USING corners_a, corners_b;

    -- the ends of what a can be, something between and no value, with each b
    FOREACH value_a IN ARRAY ARRAY[corners_a[1], corners_a[array_length(corners_a, 1) / 2 + 1],
                                   corners_a[array_length(corners_a, 1)]] LOOP
        conditions := conditions || format('a = %L::%s AND b IS NULL', value_a, base_a) ||
            format('a = %L::%s AND b IS NOT NULL', value_a, base_a);
        FOREACH op IN ARRAY '{<,<=,=,>=,>}'::text[] LOOP
            conditions := conditions || format('a %s %L::%s', op, value_a, base_a);
            FOREACH value_b IN ARRAY ARRAY[corners_b[1], corners_b[array_length(corners_b, 1) / 2 + 1],
                                           corners_b[array_length(corners_b, 1)]] LOOP
                conditions := conditions ||
                    format('a = %L::%s AND b %s %L::%s', value_a, base_a, op, value_b, base_b);
            END LOOP;
            IF op <> '=' THEN
                conditions := conditions ||
                    format('(a, b) %s (%L::%s, %L::%s)', op, value_a, base_a, corners_b[array_length(corners_b, 1) / 2 + 1], base_b);
            END IF;
        END LOOP;
    END LOOP;
    FOREACH value_b IN ARRAY ARRAY[corners_b[1], corners_b[array_length(corners_b, 1)]] LOOP
        conditions := conditions ||
            format('a IS NULL AND b > %L::%s', value_b, base_b) ||
            format('a IS NULL AND b = %L::%s', value_b, base_b) ||
            format('b = %L::%s', value_b, base_b);
    END LOOP;
    FOREACH other IN ARRAY words_others(type_a) LOOP
        FOREACH op IN ARRAY '{=,>=}'::text[] LOOP
            conditions := conditions ||
                format('a = ANY (%L::%s[]) AND b %s %L::%s', words_corners(other), other,
                       op, corners_b[array_length(corners_b, 1) / 2 + 1], base_b);
        END LOOP;
    END LOOP;

    FOR way_a IN 0..3 LOOP
        FOR way_b IN 0..3 LOOP
            EXECUTE format('CREATE INDEX words_index ON words USING fpbtree (a %s, b %s) %s',
                           words_direction(way_a), words_direction(way_b), tail);
            IF NOT words_uses_index(words_query('{a,b}', 'true',
                                                format('a %s, b %s', words_direction(way_a), words_direction(way_b)))) THEN
                RAISE WARNING 'index on %, % is not used', type_a, type_b;
            END IF;
            FOR condition, i IN SELECT * FROM unnest(conditions) WITH ORDINALITY LOOP
                CONTINUE WHEN NOT words_turn(i, way_a + way_b);
                PERFORM words_compare(words_query('{a,b}', condition,
                                                  format('a %s, b %s', words_direction(way_a), words_direction(way_b))),
                                      format('%s, %s %s %s', type_a, type_b, words_direction(way_a), words_direction(way_b))),
                        words_compare(words_query('{a,b}', condition,
                                                  format('a %s, b %s', words_direction(3 - way_a), words_direction(3 - way_b))),
                                      format('%s, %s backward %s %s', type_a, type_b, words_direction(way_a), words_direction(way_b)));
            END LOOP;
            DROP INDEX words_index;
        END LOOP;
    END LOOP;
    DROP TABLE words;
END
$$;

-- words of 64 bits, and one of 32
SELECT words_two_columns('int4', 'int4');
SELECT words_two_columns('float4', 'float4');
SELECT words_two_columns('"char"', 'oid');
SELECT words_two_columns('int2', 'bool');
SELECT words_two_columns('date', 'int2');
-- words of 128 bits
SELECT words_two_columns('int8', 'int8');
SELECT words_two_columns('float8', 'int4');
SELECT words_two_columns('float4', 'float8');
SELECT words_two_columns('tid', 'timestamptz');
SELECT words_two_columns('bool', 'macaddr8');
-- heads of two columns, one, or none
SELECT words_two_columns('int4', 'float4', 'INCLUDE (filler)');
SELECT words_two_columns('float4', 'int2', 'INCLUDE (filler)');
SELECT words_two_columns('int8', 'int4', 'INCLUDE (filler)');
SELECT words_two_columns('uuid', 'int4');
SELECT words_two_columns('int2', 'text COLLATE "C"');
SELECT words_two_columns('bpchar COLLATE "C"', 'int4');
SELECT words_two_columns('bytea', 'numeric');
SELECT words_two_columns('numeric', 'uuid');

-- Up to four columns, which make a word of that form: all combinations of the ends of what each
-- can be, of what is in the middle, and of NULLs, so that their ties fill what room there is.
CREATE FUNCTION words_columns(types text[], form text) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    n int := array_length(types, 1);
    columns text[] := (SELECT array_agg('c' || i) FROM generate_series(1, n) i);
    ends text[] := (SELECT array_agg(format('%L::%s', c[array_length(c, 1)], t) ORDER BY i)
                    FROM unnest(types) WITH ORDINALITY AS x(t, i), words_corners(t) c);
    middles text[] := (SELECT array_agg(format('%L::%s', c[array_length(c, 1) / 2 + 1], t) ORDER BY i)
                       FROM unnest(types) WITH ORDINALITY AS x(t, i), words_corners(t) c);
    conditions text[] := '{true}';
    condition text;
    turn bigint;
    prefix text;
    keys text;
    back text;
BEGIN
    EXECUTE (SELECT format('CREATE TEMP TABLE words (%s, filler int DEFAULT 1)', string_agg(format('c%s %s', i, t), ', '))
             FROM unnest(types) WITH ORDINALITY AS x(t, i));
    EXECUTE (SELECT format('INSERT INTO words SELECT * FROM %s ORDER BY random()',
                           string_agg(format('(SELECT v::%s FROM (SELECT DISTINCT c[i] FROM (SELECT %L::text[]) s(c),
                               unnest(ARRAY[1, array_length(c, 1) / 2, array_length(c, 1) / 2 + 1, array_length(c, 1), NULL]) i) s(v)) x%s',
                               t, words_corners(t), i), ', '))
             FROM unnest(types) WITH ORDINALITY AS x(t, i));

    FOR i IN 1..n LOOP
        FOR prefix IN SELECT DISTINCT coalesce(string_agg(format(p, j, ends[j], middles[j]) || ' AND ', '') FILTER (WHERE j > 0), '')
                      FROM unnest('{c%1$s IS NULL,c%1$s = %2$s,c%1$s = %3$s,c%1$s >= %3$s,"c%1$s IN (%2$s, %3$s)"}'::text[]) p
                      LEFT JOIN generate_series(1, i - 1) j ON true GROUP BY p LOOP
            conditions := conditions || (SELECT array_agg(prefix || format(c, i, ends[i], middles[i]))
                FROM unnest('{c%1$s = %2$s,c%1$s < %2$s,c%1$s <= %3$s,c%1$s > %3$s,c%1$s IS NULL,c%1$s IS NOT NULL}'::text[]) c);
        END LOOP;
        conditions := conditions || (SELECT array_agg(format('(%s) %s (%s)', array_to_string(columns[1:i], ', '), op,
                                                             array_to_string(m[1:i - 1] || ends[i], ', ')))
            FROM unnest('{<,<=,>=,>}'::text[]) op, (VALUES (ends), (middles)) v(m));
    END LOOP;

    FOR way IN 0..3 LOOP
        SELECT string_agg(format('c%s %s', i, words_direction((way + i / 2) % 4)), ', '),
               string_agg(format('c%s %s', i, words_direction(3 - (way + i / 2) % 4)), ', ')
            INTO keys, back FROM generate_series(1, n) i;
        EXECUTE format('CREATE INDEX words_index ON words USING fpbtree (%s)', keys);
        IF form <> (SELECT s.form FROM fpbtree_stats('words_index') s) THEN
            RAISE WARNING '% are no %', types, form;
        END IF;
        PERFORM fpbtree_check('words_index', true);
        FOR condition, turn IN SELECT * FROM unnest(conditions) WITH ORDINALITY LOOP
            CONTINUE WHEN NOT words_turn(turn, way);
            PERFORM words_compare(words_query(columns, condition, keys), format('%s: %s', types, keys));
            PERFORM words_compare(words_query(columns, condition, back), format('%s backward: %s', types, keys));
        END LOOP;
        DROP INDEX words_index;
    END LOOP;
    DROP TABLE words;
END
$$;

SELECT words_columns('{int4,date,int4,float4}', 'word16');
SELECT words_columns('{float4,float4,float8}', 'word16');
SELECT words_columns('{int2,float4,int2}', 'word8');
SELECT words_columns('{"\"char\"",int2,"\"char\""}', 'word4');
SELECT words_columns('{bool,float8,bool,int4}', 'word16');

--
-- A fence is the first key of the next page without its tie, in which there is the last bit of
-- the second column if the first has the code that NULL shares.  What is left of -Infinity then is
-- the code of no value, and must not pass for one that is greater: here the
-- last range begins right behind the fence.
--
CREATE FUNCTION words_fence(first text, top text, second text)
RETURNS TABLE (leaves bigint, forward bigint, backward bigint)
LANGUAGE plpgsql SET enable_seqscan = off AS $$
DECLARE
    n int;
    query text := format('SELECT count(*) FROM (SELECT ctid FROM words_fence
        WHERE a = ANY (''{1, %s}'') AND b = ANY (''{-Infinity, 0}'')', top);
BEGIN
    EXECUTE format('CREATE TABLE words_fence (a %s, b %s)', first, second);
    INSERT INTO words_fence SELECT 1, 1 - i FROM generate_series(1, 10000) i;
    CREATE INDEX words_fence_index ON words_fence USING fpbtree (a, b);
    SELECT entries INTO n FROM fpbtree_page('words_fence_index', 1);
    DROP INDEX words_fence_index;

    -- just a page of these, the last of which is looked for
    TRUNCATE words_fence;
    INSERT INTO words_fence SELECT 1, 1 - i FROM generate_series(1, n) i;
    EXECUTE format('INSERT INTO words_fence VALUES (%1$s, ''-Infinity''), (%1$s, ''-Infinity'')', top);
    CREATE INDEX words_fence_index ON words_fence USING fpbtree (a, b);
    SELECT leaf_pages INTO leaves FROM fpbtree_stats('words_fence_index');
    EXECUTE query || 'ORDER BY a, b) s' INTO forward;
    EXECUTE query || 'ORDER BY a DESC, b DESC) s' INTO backward;
    DROP TABLE words_fence;
    RETURN NEXT;
END
$$;
SELECT * FROM words_fence('int4', '2147483647', 'float4');
SELECT * FROM words_fence('int8', '9223372036854775807', 'float8');

-- A head of two columns: of a probe whose second column is of another type, only the
-- first is known, and no head at all must be guessed from that.
CREATE TABLE words_pair (a int4, b int4, c text COLLATE "C");
INSERT INTO words_pair SELECT i % 10, i, 'x' FROM generate_series(1, 2000) i;
CREATE INDEX words_pair_k ON words_pair USING fpbtree (a, b, c);
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SELECT count(*), min(b), max(b) FROM words_pair WHERE a = 5 AND b = 1005::int8;
SELECT count(*), min(b), max(b) FROM words_pair WHERE a = 5 AND b > 995::int8 AND b <= 1005::int8;
RESET enable_seqscan;
RESET enable_bitmapscan;
DROP TABLE words_pair;

--
-- What is equal to 0.0, -0.0 included, is in the order of the next column.
--
CREATE TABLE words_zero (a float8, b int8);
INSERT INTO words_zero SELECT CASE i % 3 WHEN 0 THEN '-0'::float8 WHEN 1 THEN 0 ELSE i END, i / 6 FROM generate_series(1, 3000) i;
CREATE INDEX words_zero_index ON words_zero USING fpbtree (a, b);
SET enable_seqscan = off;
SELECT count(*) FROM words_zero WHERE a = 0 AND b = 100;
SELECT count(*) FROM words_zero WHERE a = '-0' AND b = 100;
SELECT count(*) FROM words_zero WHERE a = 0 AND b BETWEEN 100 AND 200;
SELECT count(*) FROM words_zero WHERE a = 0 AND b IN (100, 200);
RESET enable_seqscan;
SET enable_indexscan = off;
SET enable_indexonlyscan = off;
SET enable_bitmapscan = off;
SELECT count(*) FROM words_zero WHERE a = 0 AND b = 100;
SELECT count(*) FROM words_zero WHERE a = 0 AND b BETWEEN 100 AND 200;
SELECT count(*) FROM words_zero WHERE a = 0 AND b IN (100, 200);
RESET enable_indexscan;
RESET enable_indexonlyscan;
RESET enable_bitmapscan;
DROP TABLE words_zero;

DROP FUNCTION words_fence, words_columns, words_two_columns, words_one_column, words_direction,
    words_uses_index, words_query, words_compare, words_others, words_corners, words_turn;
