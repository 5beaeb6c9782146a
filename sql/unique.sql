--
-- Uniqueness: the same statements go to two tables, one with a unique fpbtree
-- index and one with the same as a btree, and have to end alike, to the letter
-- of the error.  (What the server does with such indexes is in server.sql.)
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS fpbtree;
CREATE COLLATION unique_nd (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE TYPE unique_mood AS ENUM ('sad', 'ok', 'happy');

-- What a statement ends with, TABLE standing for the table
CREATE FUNCTION outcome(statement text, tab text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    state text; message text; detail text; hint text; con text; col text; tab_name text;
    affected int8;
BEGIN
    EXECUTE replace(statement, 'TABLE', tab);
    GET DIAGNOSTICS affected = ROW_COUNT;
    RETURN 'ok ' || affected;
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL,
        hint = PG_EXCEPTION_HINT, con = CONSTRAINT_NAME, col = COLUMN_NAME, tab_name = TABLE_NAME;
    RETURN replace(concat_ws(' | ', state, message, detail, hint, con, col, tab_name), tab, 'TABLE');
END $$;
-- The same with both tables: state and detail if they end alike, else all of it
CREATE FUNCTION alike(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    f text := outcome(statement, 'uq_f');
    b text := outcome(statement, 'uq_b');
BEGIN
    IF f <> b THEN
        RETURN 'DIFFERENT: ' || f || ' / ' || b;
    END IF;
    RETURN concat_ws(' ', split_part(f, ' | ', 1), nullif(split_part(f, ' | ', 3), ''));
END $$;
-- Two tables with columns and an index of these definitions
CREATE FUNCTION two_tables(columns text, keys text) RETURNS void LANGUAGE plpgsql SET client_min_messages = error AS $$
BEGIN
    DROP TABLE IF EXISTS uq_f, uq_b;
    EXECUTE format('CREATE TABLE uq_f (%s)', columns);
    EXECUTE format('CREATE TABLE uq_b (%s)', columns);
    EXECUTE format('CREATE UNIQUE INDEX uq_f_key ON uq_f USING fpbtree %s', keys);
    EXECUTE format('CREATE UNIQUE INDEX uq_b_key ON uq_b USING btree %s', keys);
END $$;

-- Every kind of key: a value, an equal one that may look different, another
CREATE TABLE samples (n int GENERATED ALWAYS AS IDENTITY, type text, value text, equal text, other text);
INSERT INTO samples (type, value, equal, other) VALUES
    ('bool', 't', 'true', 'f'),
    ('int2', '-32768', '-32768', '32767'),
    ('int4', '2147483647', '2147483647', '-2147483648'),
    ('int8', '9223372036854775807', '9223372036854775807', '-9223372036854775808'),
    ('oid', '4294967295', '4294967295', '0'),
    ('float4', '-0', '0', '1e-45'),
    ('float8', '0', '-0', '-5e-324'),
    ('float8', 'NaN', 'NaN', 'Infinity'),
    ('numeric', '1.0', '1.00', '1.01'),
    ('numeric', 'NaN', 'NaN', 'Infinity'),
    ('text COLLATE "C"', 'a', 'a', 'A'),
    ('text COLLATE "en-x-icu"', 'a', 'a', 'A'),
    ('text COLLATE unique_nd', 'a', 'A', 'b'),
    ('varchar COLLATE unique_nd', 'straße', 'STRAßE', 'strasse'),
    ('char(5)', 'x', 'x  ', 'xy'),
    ('name', 'x', 'x', 'y'),
    ('bytea', '\x00', '\x00', '\x0000'),
    ('uuid', 'ffffffff-ffff-ffff-ffff-ffffffffffff', 'ffffffffffffffffffffffffffffffff', '00000000-0000-0000-0000-000000000000'),
    ('date', 'infinity', 'infinity', '-infinity'),
    ('timestamptz', '2000-01-01 00:00+00', '2000-01-01 01:00+01', '2000-01-01 00:00:00.000001+00'),
    ('interval', '1 day', '24 hours', '25 hours'),
    ('inet', '10.0.0.1', '10.0.0.1/32', '10.0.0.1/31'),
    ('int4[]', '{1,NULL}', '{1,NULL}', '{1}'),
    ('int4range', '[1,3)', '[1,2]', 'empty'),
    ('unique_mood', 'sad', 'sad', 'happy'),
    ('jsonb', '{"a": 1, "b": 2}', '{"b": 2, "a": 1}', '{"a": 1}');
CREATE FUNCTION try_samples(definition text, constants text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
    s samples;
    result text;
BEGIN
    FOR s IN SELECT * FROM samples ORDER BY n LOOP
        PERFORM two_tables(format(definition, s.type), CASE WHEN definition LIKE '% %, %' THEN '(a, b)' ELSE '(a)' END);
        result := s.type || ': ' || alike(format('INSERT INTO TABLE VALUES (%L%s)', s.value, constants))
            || '; ' || alike(format('INSERT INTO TABLE VALUES (%L%s)', s.equal, constants))
            || '; ' || alike(format('INSERT INTO TABLE VALUES (%L%s)', s.other, constants))
            || '; ' || alike(format('UPDATE TABLE SET a = %L WHERE a = %L', s.value, s.other));
        PERFORM fpbtree_check('uq_f_key', true);
        RETURN NEXT result;
    END LOOP;
END $$;
SELECT * FROM try_samples('a %s', '');
-- with a second column, which makes other key forms
SELECT * FROM try_samples('a %s, b int4', ', 7');

-- NULLs are distinct unless declared not to be
SELECT two_tables('a int4, b text', '(a)');
SELECT alike('INSERT INTO TABLE VALUES (NULL, 1), (NULL, 2)');
SELECT two_tables('a int4, b text', '(a) NULLS NOT DISTINCT');
SELECT alike('INSERT INTO TABLE VALUES (NULL, 1)');
SELECT alike('INSERT INTO TABLE VALUES (NULL, 2)');
SELECT alike('INSERT INTO TABLE VALUES (2147483647, 2), (-2147483648, 3)');    -- share words with NULL
SELECT alike('UPDATE TABLE SET a = NULL WHERE b = ''2''');
SELECT alike('DELETE FROM TABLE WHERE a IS NULL');
SELECT alike('UPDATE TABLE SET a = NULL WHERE b = ''2''');
SELECT two_tables('a int4, b text COLLATE "C"', '(a, b)');
SELECT alike('INSERT INTO TABLE VALUES (1, NULL), (1, NULL), (NULL, ''x''), (NULL, ''x''), (NULL, NULL), (NULL, NULL)');
SELECT two_tables('a int4, b text COLLATE "C"', '(a DESC NULLS LAST, b NULLS FIRST) NULLS NOT DISTINCT');
SELECT alike('INSERT INTO TABLE VALUES (1, NULL), (NULL, ''x''), (NULL, NULL)');
SELECT alike('INSERT INTO TABLE VALUES (1, NULL)');
SELECT alike('INSERT INTO TABLE VALUES (NULL, ''x'')');
SELECT alike('INSERT INTO TABLE VALUES (NULL, NULL)');
SELECT fpbtree_check('uq_f_key', true);

-- INCLUDE columns don't count; expressions and predicates do
SELECT two_tables('a int8, b text', '(a) INCLUDE (b)');
SELECT alike('INSERT INTO TABLE VALUES (1, ''x''), (2, ''x'')');
SELECT alike('INSERT INTO TABLE VALUES (1, ''y'')');
SELECT two_tables('a int8, b text', '(lower(b), (a % 10))');
SELECT alike('INSERT INTO TABLE VALUES (1, ''x''), (2, ''x'')');
SELECT alike('INSERT INTO TABLE VALUES (11, ''X'')');
SELECT two_tables('a int8, b text', '(a) WHERE b = ''one''');
SELECT alike('INSERT INTO TABLE VALUES (1, ''x''), (1, ''x''), (1, ''one'')');
SELECT alike('INSERT INTO TABLE VALUES (1, ''one'')');
SELECT alike('UPDATE TABLE SET b = ''one''');

-- Within one statement: rows meet each other's keys
SELECT two_tables('a int8, b text', '(a)');
SELECT alike('INSERT INTO TABLE SELECT i, i FROM generate_series(1, 3000) i');
SELECT alike('INSERT INTO TABLE VALUES (5000, ''''), (5001, ''''), (5000, '''')');
SELECT alike('UPDATE TABLE SET a = a + 1');
SELECT alike('UPDATE TABLE SET a = a + 10000');
SELECT alike('UPDATE TABLE SET a = a - 10000');
SELECT alike('UPDATE TABLE SET b = b || ''x''');
SELECT alike('UPDATE TABLE SET b = b || ''y'', a = a WHERE a % 3 = 0');
SELECT fpbtree_check('uq_f_key', true);

-- Dead rows don't conflict: deleted, rolled back, updated away
SELECT alike('DELETE FROM TABLE WHERE a <= 1000');
SELECT alike('INSERT INTO TABLE SELECT i, ''again'' FROM generate_series(1, 1000) i');
BEGIN;
SELECT alike('DELETE FROM TABLE WHERE a = 77');
SELECT alike('INSERT INTO TABLE VALUES (77, ''once'')');
SELECT alike('DELETE FROM TABLE WHERE a = 77');
SELECT alike('INSERT INTO TABLE VALUES (77, ''twice'')');
SELECT alike('INSERT INTO TABLE VALUES (77, ''thrice'')');
SAVEPOINT s;
SELECT alike('DELETE FROM TABLE WHERE a = 77');
ROLLBACK TO s;
SELECT alike('INSERT INTO TABLE VALUES (77, ''thrice'')');
ROLLBACK;
SELECT alike('INSERT INTO TABLE VALUES (77, '''')');
SELECT b FROM uq_f WHERE a = 77;
SELECT fpbtree_check('uq_f_key', true);

-- Many versions of one key, more than a page holds
SELECT two_tables('a text COLLATE "C", b int', '(a)');
SELECT alike('INSERT INTO TABLE VALUES (''hot'', 0)');
CREATE FUNCTION churn(tab text, n int) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    FOR i IN 1 .. n LOOP
        EXECUTE format('DELETE FROM %I', tab);
        EXECUTE format('INSERT INTO %I VALUES (''hot'', %s)', tab, i);
    END LOOP;
END $$;
SELECT churn('uq_f', 3000);
SELECT * FROM uq_f WHERE a = 'hot';
INSERT INTO uq_f VALUES ('hot', -1);
SELECT fpbtree_check('uq_f_key', true);
-- and again at the TIDs that have been freed, with one of which a page begins
SELECT two_tables('a text, b int, c text STORAGE plain DEFAULT repeat(''c'', current_setting(''block_size'')::int / 6), '
    'd text STORAGE plain DEFAULT repeat(''d'', current_setting(''block_size'')::int / 20)', '(a) INCLUDE (c)');
INSERT INTO uq_f VALUES ('hot', 0);
SELECT churn('uq_f', 11);
VACUUM uq_f;
SELECT churn('uq_f', 11);
SELECT fpbtree_check('uq_f_key', true);

-- Building an index over duplicates, and over ones that are dead
CREATE TABLE uq_build (a int4, b text COLLATE "en-x-icu");
INSERT INTO uq_build SELECT i, 'row ' || i FROM generate_series(1, 5000) i;
INSERT INTO uq_build VALUES (2500, 'row 17');
CREATE UNIQUE INDEX uq_build_a ON uq_build USING fpbtree (a);
CREATE UNIQUE INDEX uq_build_b ON uq_build USING fpbtree (b);
SET client_min_messages = error;
CREATE UNIQUE INDEX CONCURRENTLY uq_build_ab ON uq_build USING fpbtree (a, b);
SET client_min_messages = warning;
SELECT fpbtree_check('uq_build_ab', true);
DELETE FROM uq_build WHERE a = 2500 AND b = 'row 17';
CREATE UNIQUE INDEX uq_build_a ON uq_build USING fpbtree (a);
CREATE UNIQUE INDEX uq_build_b ON uq_build USING fpbtree (b);
SELECT fpbtree_check('uq_build_a', true), fpbtree_check('uq_build_b', true);
INSERT INTO uq_build VALUES (2500, 'new');
INSERT INTO uq_build VALUES (6000, 'row 17');

-- NULLs among INCLUDE columns make no key distinct
CREATE TABLE uq_include (a text, b int);
SET client_min_messages = error;
CREATE UNIQUE INDEX uq_include_a ON uq_include USING fpbtree (a) INCLUDE (b);
SET client_min_messages = warning;
INSERT INTO uq_include VALUES ('x', NULL), ('y', 1), (NULL, NULL), (NULL, NULL);
INSERT INTO uq_include VALUES ('x', NULL);
DROP INDEX uq_include_a;
INSERT INTO uq_include VALUES ('x', NULL);
CREATE UNIQUE INDEX uq_include_a ON uq_include USING fpbtree (a) INCLUDE (b);
-- but among those of the key they do, in a word of two columns as well
CREATE TABLE uq_pair (a int, b int);
SET client_min_messages = error;
CREATE UNIQUE INDEX uq_pair_ab ON uq_pair USING fpbtree (a, b);
SET client_min_messages = warning;
INSERT INTO uq_pair VALUES (1, NULL), (1, NULL), (NULL, 1), (NULL, 1), (NULL, NULL), (NULL, NULL), (1, 1);
INSERT INTO uq_pair VALUES (1, 1);
INSERT INTO uq_pair VALUES (2147483647, 2), (2147483647, 3), (2147483647, NULL), (2147483647, 2147483647);
INSERT INTO uq_pair VALUES (2147483647, 3);
REINDEX INDEX uq_pair_ab;
DROP INDEX uq_pair_ab;
CREATE UNIQUE INDEX uq_pair_ab ON uq_pair USING fpbtree (a, b) NULLS NOT DISTINCT;
TRUNCATE uq_pair;
SET client_min_messages = error;
CREATE UNIQUE INDEX uq_pair_ab ON uq_pair USING fpbtree (a, b) NULLS NOT DISTINCT;
SET client_min_messages = warning;
INSERT INTO uq_pair SELECT a, b FROM unnest('{1,2147483646,2147483647,NULL}'::int[]) a, unnest('{-2147483648,-2147483647,2,3,2147483646,2147483647,NULL}'::int[]) b;
INSERT INTO uq_pair VALUES (NULL, 3);
SELECT count(*) FROM uq_pair;
-- and in any column of a word of four, full or with room to spare
CREATE TABLE uq_four (a int, b int, c int, d int, e int2);
SET client_min_messages = error;
CREATE UNIQUE INDEX uq_four_abcd ON uq_four USING fpbtree (a, b, c, d);
SET client_min_messages = warning;
CREATE UNIQUE INDEX uq_four_ebcd ON uq_four USING fpbtree (e, b, c, d);
INSERT INTO uq_four SELECT nullif(n, 1), nullif(n, 2), nullif(n, 3), nullif(n, 4), nullif(n, 1)
    FROM generate_series(1, 4) n, generate_series(1, 2);
INSERT INTO uq_four SELECT 2147483647, 2147483647, nullif(n, 3), nullif(n, 4), 32767 FROM generate_series(3, 5) n, generate_series(1, 2) i WHERE i < 2 OR n < 5;
SELECT fpbtree_check('uq_four_abcd', true), fpbtree_check('uq_four_ebcd', true);
INSERT INTO uq_four VALUES (2147483647, 2147483647, 5, 5, NULL);
INSERT INTO uq_four VALUES (NULL, 2147483647, 5, 5, 32767);
REINDEX TABLE uq_four;
-- equal keys with others between them
CREATE TABLE uq_zero (a float8, b int8);
SET client_min_messages = error;
CREATE UNIQUE INDEX uq_zero_ab ON uq_zero USING fpbtree (a, b);
SET client_min_messages = warning;
INSERT INTO uq_zero VALUES ('-0', 6), ('-0', 7), (0, 5);
INSERT INTO uq_zero VALUES (0, 6);
INSERT INTO uq_zero VALUES ('-0', 5);
INSERT INTO uq_zero VALUES (0, 8), ('-0', 4);

-- A key whose entries have all gone, and which is a fence nevertheless: an entry with a later TID goes behind it
CREATE TABLE uq_gone (a int8, b text COLLATE "C") WITH (autovacuum_enabled = off);
SET client_min_messages = error;
CREATE UNIQUE INDEX uq_gone_a ON uq_gone USING fpbtree (a) INCLUDE (b);
SET client_min_messages = warning;
INSERT INTO uq_gone SELECT i, '' FROM generate_series(1, 9) i;
BEGIN;
DO $$
BEGIN
    FOR i IN 1..200 LOOP
        DELETE FROM uq_gone WHERE a = 5;
        INSERT INTO uq_gone SELECT 5, string_agg(sha512(format('%s %s', i, j)::bytea)::text, '') FROM generate_series(1, 7) j;
    END LOOP;
END $$;
DELETE FROM uq_gone WHERE a = 5;
COMMIT;
INSERT INTO uq_gone VALUES (10, '');
VACUUM uq_gone;
INSERT INTO uq_gone SELECT i, repeat('x', 1000) FROM generate_series(1000, 2000) i;
INSERT INTO uq_gone VALUES (5, '');
SELECT count(*) FROM uq_gone WHERE a = 5;
INSERT INTO uq_gone VALUES (5, 'again');
SELECT fpbtree_check('uq_gone_a', true);

-- A new version whose TID is lower than that of the row's other entry comes before it
CREATE TEMP TABLE uq_lower (k text COLLATE "C", v int4);
SET client_min_messages = error;
CREATE UNIQUE INDEX uq_lower_k ON uq_lower USING fpbtree (k);
SET client_min_messages = warning;
CREATE INDEX ON uq_lower (v);
INSERT INTO uq_lower VALUES ('gone', 0), ('stays', 0), ('then', 0);
DELETE FROM uq_lower WHERE k = 'gone';
VACUUM uq_lower;
UPDATE uq_lower SET v = 1 WHERE k = 'stays' RETURNING ctid;
SELECT fpbtree_check('uq_lower_k', true);
DROP TABLE uq_lower;

-- The detail keeps secrets: those who may not read the columns are told less
CREATE ROLE regress_unique_reader;
GRANT INSERT ON uq_build TO regress_unique_reader;
SET ROLE regress_unique_reader;
INSERT INTO uq_build VALUES (1, 'secret');
RESET ROLE;

DROP TABLE uq_f, uq_b, uq_build, uq_include, uq_pair, uq_four, uq_zero, uq_gone, samples;
DROP FUNCTION alike, outcome, two_tables, try_samples, churn;
DROP TYPE unique_mood;
DROP COLLATION unique_nd;
DROP ROLE regress_unique_reader;
