-- Strings in the C library's C.UTF-8, which compares bytes: they are stored and
-- searched as those of "C" are.  An index keeps the order that it has been
-- built in, whatever the library says later.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS fpbtree;
RESET client_min_messages;
CREATE SCHEMA c_locale;
SET search_path = c_locale, public;
SET max_parallel_workers_per_gather = 0;
SET jit = off;
CREATE COLLATION here (provider = libc, locale = 'C.UTF-8');

-- Strings with little and with much in common, of characters of one to four
-- bytes, NULLs, duplicates, and some that are compressed or too long to be cut.
CREATE FUNCTION key_of(i int) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN i % 50 = 0 THEN NULL
                WHEN i % 50 = 1 THEN left('customer-000000000000', i / 50 % 22)
                WHEN i % 50 < 6 THEN 'CUSTOMER-' || lpad((i % 90)::text, 12, '0')
                WHEN i % 50 < 15 THEN translate(substr(md5(i::text), 1, 1 + i % 9), '0123456789', U&'\00E9z\4E2D\+01F600Z-a\00DF\FFFD_')
                WHEN i % 500 = 21 THEN repeat('customer-', 200) || i
                ELSE 'customer-' || lpad((i::int8 * 7919 % 100003)::text, 12, '0') END $$;
CREATE VIEW source AS SELECT i, key_of(i) AS k, left(key_of(i), 2) AS l, left(key_of(i), 40) AS n FROM generate_series(1, 4000) i;
CREATE TABLE sought AS SELECT DISTINCT key_of(i) AS v FROM generate_series(1, 5000, 61) i;

-- one table for each index; its first column is what is looked for
CREATE TABLE definitions (name text PRIMARY KEY, key text, rest text);
INSERT INTO definitions VALUES ('plain', 'k', ''), ('down', 'k DESC NULLS LAST', ''), ('number', 'k, i', ''), ('texts', 'k, l', ''), ('short', 'l, k', ''),
    ('mixed', 'k, l COLLATE "C"', ''), ('including', 'k', 'INCLUDE (i)'), ('blanks', 'b', ''), ('names', 'n', ''), ('behind', 'i, k', ''),
    ('micro', 'k', 'WITH (layout = micro_index)'), ('queued', 'k', 'WITH (operation_queue = on)');

-- A statement of every table.
CREATE FUNCTION each(statement text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    d definitions;
BEGIN
    FOR d IN SELECT * FROM definitions ORDER BY name LOOP
        EXECUTE replace(replace(replace(statement, '$name', d.name), '$key', d.key), '$rest', d.rest);
    END LOOP;
END $$;

-- The answers that differ by index and by table.  All indexes are checked.
CREATE FUNCTION wrong() RETURNS TABLE (name text, statement text) LANGUAGE plpgsql AS $$
DECLARE
    d definitions;
    col text;
    v text;
    answers text[];
BEGIN
    FOR d IN SELECT * FROM definitions ORDER BY name LOOP
        name := d.name;
        col := left(d.key, 1);
        FOREACH statement IN ARRAY ARRAY[
            'SELECT $col FROM $name ORDER BY $col $dir',
            'SELECT v, (SELECT count(*) FROM $name WHERE $col = $v) FROM sought ORDER BY v',
            'SELECT v, (SELECT max($col) FROM $name WHERE $col < $v) FROM sought ORDER BY v',
            'SELECT v, (SELECT count(*) FROM $name WHERE $col >= $v AND $col < $v || ''5'') FROM sought ORDER BY v',
            'SELECT count(*) FROM $name WHERE $col = ANY (ARRAY(SELECT $v FROM sought))',
            'SELECT count(*) FROM $name WHERE $col IS NULL'] LOOP
            CONTINUE WHEN col = 'i' AND statement ~ '\$v';
            statement := replace(replace(replace(replace(statement, '$col', col), '$name', name), '$dir', CASE WHEN d.key ~ 'DESC' THEN 'DESC NULLS LAST' ELSE '' END),
                                 '$v', CASE col WHEN 'b' THEN 'v::bpchar' WHEN 'l' THEN 'left(v, 2)' ELSE 'v' END);
            answers := '{}';
            FOR by_index IN 0..1 LOOP
                PERFORM set_config('enable_seqscan', (by_index = 0)::text, true),
                        set_config('enable_indexscan', (by_index = 1)::text, true),
                        set_config('enable_indexonlyscan', (by_index = 1)::text, true),
                        set_config('enable_bitmapscan', 'off', true),
                        set_config('enable_sort', (by_index = 0)::text, true);
                EXECUTE format('SELECT md5(string_agg(x::text, E''\n'')) FROM (%s) x', statement) INTO v;
                answers := answers || coalesce(v, 'nothing');
            END LOOP;
            IF answers[1] <> answers[2] THEN
                RETURN NEXT;
            END IF;
        END LOOP;
        PERFORM fpbtree_check((name || '_x')::regclass, true);
    END LOOP;
END $$;

SELECT each('CREATE TABLE $name (i int, k text COLLATE here, l varchar COLLATE here, b bpchar COLLATE here, n name COLLATE here) WITH (autovacuum_enabled = off)');
SELECT each('CREATE INDEX $name_x ON $name USING fpbtree ($key) $rest');
SELECT each('INSERT INTO $name SELECT i, k, l, n, n FROM source WHERE i <= 2000');
SELECT * FROM wrong();
SELECT count(*), count(DISTINCT k) AS keys FROM plain;

-- As large as in "C", and smaller than where there are rules.  A library with
-- rules for C.UTF-8 is played by a locale of which the library knows nothing.
-- (The server has it already.)
CREATE FUNCTION pages(index regclass) RETURNS bigint LANGUAGE sql AS $$ SELECT pg_relation_size(index) / current_setting('block_size')::int $$;
CREATE TABLE sizes AS SELECT i, k COLLATE here AS k, k COLLATE "C" AS c FROM (SELECT i, 'customer-' || lpad(i::text, 12, '0') AS k FROM generate_series(1, 30000) i) s;
CREATE INDEX sizes_here ON sizes USING fpbtree (k);
CREATE INDEX sizes_c ON sizes USING fpbtree (c);
UPDATE pg_collation SET collcollate = 'C.none' WHERE collname = 'here' AND collnamespace = 'c_locale'::regnamespace;
CREATE INDEX sizes_rules ON sizes USING fpbtree (k);
SELECT pages('sizes_here') = pages('sizes_c') AS as_in_c, pages('sizes_rules') > pages('sizes_c') * 1.3 AS larger_with_rules;

-- The indexes keep their order.  (A new name makes the session read again what
-- is known of them.)
SELECT each('ALTER INDEX $name_x RENAME TO $name_y; ALTER INDEX $name_y RENAME TO $name_x');
ALTER INDEX sizes_here RENAME TO sizes_there;
SELECT * FROM wrong();
SELECT each('INSERT INTO $name SELECT i, k, l, n, n FROM source WHERE i > 2000');
SELECT * FROM wrong();
SELECT fpbtree_check('sizes_there', true);

-- Those that are built now have rules, and keep these in turn.
SELECT each('CREATE TABLE $name_2 (LIKE $name) WITH (autovacuum_enabled = off)');
SELECT each('CREATE INDEX $name_2_x ON $name_2 USING fpbtree ($key) $rest');
UPDATE definitions SET name = name || '_2';
SELECT each('INSERT INTO $name SELECT i, k, l, n, n FROM source WHERE i <= 2000');
SELECT * FROM wrong();
UPDATE pg_collation SET collcollate = 'C.UTF-8' WHERE collname = 'here' AND collnamespace = 'c_locale'::regnamespace;
SELECT each('ALTER INDEX $name_x RENAME TO $name_y; ALTER INDEX $name_y RENAME TO $name_x');
SELECT * FROM wrong();
SELECT each('INSERT INTO $name SELECT i, k, l, n, n FROM source WHERE i > 2000');
SELECT * FROM wrong();
SELECT fpbtree_check('sizes_rules', true);
DROP INDEX sizes_rules;
CREATE INDEX sizes_rules ON sizes USING fpbtree (k);
SELECT pages('sizes_rules') = pages('sizes_c') AS as_in_c;

-- and so does another session
\c -
SET search_path = c_locale, public;
SELECT * FROM wrong();

SET client_min_messages = warning;
DROP SCHEMA c_locale CASCADE;
RESET client_min_messages;
