-- dev/hunts/sort-keys: the collations that it tries.  sort_keys_pieces.sql has what it makes strings of.
CREATE EXTENSION IF NOT EXISTS fpbtree;
CREATE FUNCTION has_sort_keys(collation_oid oid) RETURNS bool LANGUAGE c STRICT AS 'fpbtree', 'fpb_has_sort_keys_of';
CREATE FUNCTION hunt_sort_keys(pieces text[], strings int, most int, seed bigint) RETURNS text LANGUAGE c STRICT AS 'fpbtree', 'fpb_hunt_sort_keys';

CREATE TABLE pieces (name text PRIMARY KEY, of text[]);

-- Locales: those that the server has collations of, and what may be added to them.  Which of them have sort keys, fpbtree tells.
CREATE TABLE locales (locale text PRIMARY KEY, language text);
CREATE TABLE attributes (attribute text PRIMARY KEY);

-- a collation for a locale; null if ICU or the server refuses it
CREATE FUNCTION collation_of(locale text) RETURNS oid LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_collation WHERE collname = locale AND collnamespace = 'public'::regnamespace) THEN
        EXECUTE format('CREATE COLLATION public.%I (provider = icu, locale = %L)', locale, locale);
    END IF;
    RETURN (SELECT oid FROM pg_collation WHERE collname = locale AND collnamespace = 'public'::regnamespace);
EXCEPTION WHEN OTHERS THEN
    RETURN NULL;
END $$;

CREATE FUNCTION fill_locales() RETURNS void LANGUAGE sql AS $$
    INSERT INTO locales SELECT DISTINCT colllocale, split_part(colllocale, '-', 1) FROM pg_collation
        WHERE collprovider = 'i' AND collnamespace = 'pg_catalog'::regnamespace AND has_sort_keys(oid);
    INSERT INTO attributes SELECT a FROM (
        SELECT k || v AS a FROM unnest('{ka,kb,kc,kf,kh,kk,kn,kr,ks,kv,hc,co}'::text[]) k,
            unnest('{"",-true,-false,-yes,-no,-shifted,-noignore,-upper,-lower,-level1,-level2,-level3,-level4,-identic,-space,-punct,-symbol,-currency,-latn,-grek,-cyrl,-hani,-digit,-others,-zzzz}'::text[]) v
        UNION SELECT 'co-' || v FROM unnest('{big5han,compat,dict,direct,ducet,emoji,eor,gb2312,phonebk,phonetic,pinyin,reformed,search,searchjl,standard,stroke,trad,unihan,zhuyin}'::text[]) v
        UNION SELECT 'kr-' || v || '-' || w FROM unnest('{latn,grek,cyrl,digit}'::text[]) v, unnest('{latn,grek,cyrl,digit}'::text[]) w WHERE v <> w) c
        WHERE has_sort_keys(collation_of('und-u-' || a)) $$;

-- A random locale of a language, perhaps with attributes; each key of an attribute at most once.
CREATE FUNCTION random_locale(of_language text) RETURNS text LANGUAGE sql AS $$
    SELECT l.locale || coalesce('-u-' || (
            SELECT string_agg(attribute, '-' ORDER BY attribute) FROM (
                SELECT DISTINCT ON (left(attribute, 2)) attribute FROM (
                    SELECT attribute FROM attributes ORDER BY random() LIMIT floor(random() * 5)) chosen) different), '')
        FROM locales l WHERE language = of_language ORDER BY random() LIMIT 1 $$;

-- Hunt in one locale, with pieces of every kind.  Counts strings, or warns of a contradiction.
CREATE FUNCTION hunt_in(locale text, strings int) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    p pieces;
    most int;
    seed bigint;
    fault text;
    done bigint := 0;
BEGIN
    IF collation_of(locale) IS NULL THEN
        RAISE EXCEPTION 'there is no locale "%"', locale;
    END IF;
    FOR p IN SELECT * FROM pieces ORDER BY name LOOP
        most := (ARRAY[1, 4, 12, 60])[1 + floor(random() * 4)];
        seed := floor(random() * 1e15);
        EXECUTE format('SELECT hunt_sort_keys($1 COLLATE public.%I, $2, $3, $4)', locale) INTO fault USING p.of, strings, most, seed;
        IF fault IS NOT NULL THEN
            RAISE WARNING '% (%): pieces "%": %', locale, getdatabaseencoding(), p.name, fault;
            RETURN -1;
        END IF;
        done := done + strings;
    END LOOP;
    RETURN done;
END $$;
