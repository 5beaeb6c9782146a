-- Collations of ICU: heads are made of sort keys, which another version of ICU
-- may make otherwise.  Then heads tell nothing of a key that is looked for, or
-- comes in, and no row may be lost.
--
-- Another version is played by another locale, in which the alphabets follow
-- each other in another order.  It makes other sort keys of Latin letters, but
-- their order is the same.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS fpbtree;
RESET client_min_messages;
CREATE SCHEMA collations;
SET search_path = collations, public;
SET fpbtree.queue_worker = off;
CREATE COLLATION icu (provider = icu, locale = 'und');
CREATE COLLATION numbers (provider = icu, locale = 'und-u-kn');

-- Keys with little and with much in common, that differ in case alone, ...
CREATE FUNCTION key_of(i int) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN i % 50 = 0 THEN NULL
                WHEN i % 50 = 1 THEN left('customer-000000000000', i / 50 % 22)
                WHEN i % 50 = 2 THEN repeat('customer-', 8) || i
                WHEN i % 50 < 6 THEN 'CUSTOMER-' || lpad((i % 90)::text, 12, '0')
                WHEN i % 50 < 20 THEN substr(md5(i::text), 1, 1 + i % 12)
                WHEN i % 500 = 21 THEN repeat('customer-', 200) || i
                ELSE 'customer-' || lpad((i::int8 * 7919 % 100003)::text, 12, '0') END $$;

-- one table for each index
CREATE TABLE definitions (name text PRIMARY KEY, key text, rest text);
INSERT INTO definitions VALUES ('plain', 'k', ''), ('down', 'k DESC NULLS LAST', ''), ('two', 'k, n', ''), ('including', 'k', 'INCLUDE (n)'), ('blanks', 'b', ''), ('numbers', 'o', ''),
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

-- The answers that differ by index and by table.
CREATE FUNCTION wrong() RETURNS TABLE (name text, statement text) LANGUAGE plpgsql AS $$
DECLARE
    d definitions;
    col text;
    dir text;
    val text;
    v text;
    answers text[];
BEGIN
    FOR d IN SELECT * FROM definitions ORDER BY name LOOP
        name := d.name;
        col := left(d.key, 1);
        val := CASE col WHEN 'b' THEN 'v::bpchar' ELSE 'v' END;
        dir := CASE WHEN d.key ~ 'DESC' THEN 'DESC NULLS LAST' ELSE '' END;
        FOREACH statement IN ARRAY ARRAY[
            format('SELECT %1$s FROM %2$s ORDER BY %1$s %3$s', col, name, dir),
            format('SELECT v, (SELECT count(*) FROM %2$s WHERE %1$s = %3$s) FROM sought ORDER BY v', col, name, val),
            format('SELECT v, (SELECT max(%1$s) FROM %2$s WHERE %1$s < %3$s) FROM sought ORDER BY v', col, name, val),
            format('SELECT v, (SELECT count(*) FROM %2$s WHERE %1$s >= %3$s AND %1$s < %3$s || ''5'') FROM sought ORDER BY v', col, name, val),
            format('SELECT count(*) FROM %2$s WHERE %1$s = ANY (ARRAY(SELECT %3$s FROM sought))', col, name, val),
            format('SELECT count(*) FROM %2$s WHERE %1$s IS NULL', col, name)] LOOP
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

CREATE TABLE sought AS SELECT DISTINCT key_of(i) AS v FROM generate_series(1, 5000, 61) i;
SELECT each('CREATE TABLE $name (i int, n int8, k text COLLATE icu, b char(30) COLLATE icu, o text COLLATE numbers) WITH (autovacuum_enabled = off)');
SELECT each('CREATE INDEX $name_x ON $name USING fpbtree ($key) $rest');
SELECT each('INSERT INTO $name SELECT i, i, key_of(i), left(key_of(i), 20), key_of(i) FROM generate_series(1, 1500) i');
SELECT * FROM wrong();

CREATE TABLE one (k text COLLATE icu, n int) WITH (autovacuum_enabled = off);
SET client_min_messages = error;    -- 17 warns of ON CONFLICT
CREATE UNIQUE INDEX one_x ON one USING fpbtree (k);
RESET client_min_messages;
INSERT INTO one SELECT DISTINCT ON (key_of(i)) key_of(i), 1 FROM generate_series(1, 1500) i;

-- Locales in which ICU contradicts its own sort keys, and strings of which it
-- does.  (The last ones have rules of their own.)
CREATE TABLE contradictions (locale text, rules text, a text, b text);
INSERT INTO contradictions
    SELECT unnest(ARRAY['fr-CA', 'fr-Latn-CA', 'und-u-kb', 'en-u-kb']), NULL, U&'\0302\001F\0301', U&'\0302' UNION ALL
    SELECT unnest(ARRAY['th', 'und-u-ka-shifted', 'de-u-ka-shifted-kn']), NULL, U&'- \00AD\0301a', U&'- \00AD\00E1' UNION ALL
    SELECT 'vi', NULL, U&'a\FE20\0316\+01D165\309A\0651\3099', U&'a\FE20\0316\+01D165\05B0' UNION ALL
    SELECT unnest(ARRAY['sk-u-kn', 'ja-JP-u-kn-kr-latn', 'de-u-co-phonebk-kn']), NULL, U&'\FF17\2460', U&'\FF17\0664' UNION ALL
    SELECT unnest(ARRAY['und-u-kr-latn-digit', 'fr-MA-u-kr-latn-grek-digit']), NULL, 'zz', 'z9' UNION ALL
    SELECT 'und-u-ka-shifted-ks-identic-kv-space', NULL, '}', U&'\00A0|' UNION ALL
    SELECT 'und', '[backwards 2]', U&'\0302\001F\0301', U&'\0302' UNION ALL
    SELECT 'und', '[alternate shifted]', U&'- \00AD\0301a', U&'- \00AD\00E1';
DO $$
DECLARE
    c contradictions;
BEGIN
    FOR c IN SELECT * FROM contradictions LOOP
        EXECUTE format('CREATE COLLATION contradicting (provider = icu, locale = %L%s)', c.locale, ', rules = ' || quote_literal(c.rules));
        CREATE TABLE contradicted (k text COLLATE contradicting);
        CREATE INDEX contradicted_x ON contradicted USING fpbtree (k);
        INSERT INTO contradicted VALUES (c.a), (c.b);
        PERFORM fpbtree_check('contradicted_x', true);
        DROP TABLE contradicted;
        DROP COLLATION contradicting;
    END LOOP;
END $$;

-- From here on it is another version.
UPDATE pg_collation SET colllocale = 'und-u-kr-grek-latn' WHERE collname = 'icu' AND collnamespace = 'collations'::regnamespace;
\c -
SET search_path = collations, public;
SET fpbtree.queue_worker = off;
SELECT * FROM wrong();

-- The queue is emptied, and gets nothing any more.
SELECT fpbtree_flush('queued_x') > 0 AS moved;
SELECT each('INSERT INTO $name SELECT i, i, key_of(i), left(key_of(i), 20), key_of(i) FROM generate_series(4001, 4300) i');
SELECT fpbtree_flush('queued_x') AS moved;

-- Rows that come in are found, and so are all others, while pages are split.
SELECT each('INSERT INTO $name SELECT i, i, key_of(i), left(key_of(i), 20), key_of(i) FROM generate_series(1501, 3000) i');
SELECT * FROM wrong();
SELECT each('UPDATE $name SET n = -n WHERE i % 5 = 0; DELETE FROM $name WHERE i % 7 < 4 OR i BETWEEN 1000 AND 2000');
SELECT 'VACUUM ' || name FROM definitions ORDER BY name \gexec
SELECT * FROM wrong();
SELECT each('INSERT INTO $name SELECT i, i, key_of(i), left(key_of(i), 20), key_of(i) FROM generate_series(1000, 4000) i');
SELECT * FROM wrong();

-- A duplicate is not accepted.
INSERT INTO one SELECT DISTINCT ON (key_of(i)) key_of(i), 2 FROM generate_series(1, 5000, 3) i
    WHERE NOT EXISTS (SELECT FROM one WHERE k = key_of(i));
INSERT INTO one VALUES (key_of(55));
SELECT count(*), count(DISTINCT k), sum(n) FROM one;

-- With the first version again, heads are still of both.
UPDATE pg_collation SET colllocale = 'und' WHERE collname = 'icu' AND collnamespace = 'collations'::regnamespace;
\c -
SET search_path = collations, public;
SET fpbtree.queue_worker = off;
SELECT * FROM wrong();
SELECT each('INSERT INTO $name SELECT i, i, key_of(i), left(key_of(i), 20), key_of(i) FROM generate_series(4301, 4600) i');
SELECT * FROM wrong();
SELECT each('REINDEX INDEX $name_x');
SELECT * FROM wrong();
SELECT each('INSERT INTO $name SELECT i, i, key_of(i), left(key_of(i), 20), key_of(i) FROM generate_series(4601, 4900) i');
SELECT * FROM wrong();

SET client_min_messages = warning;
DROP SCHEMA collations CASCADE;
