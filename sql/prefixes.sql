-- Leaves whose tuples lack what the keys of the page have in common: whatever
-- reads one of these gets the whole key.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS fpbtree;
RESET client_min_messages;
CREATE SCHEMA prefixes;
SET search_path = prefixes, public;
SET max_parallel_workers_per_gather = 0;
SET jit = off;

-- Numbers behind one beginning, some of which end where the prefix of a page
-- may, keys of other beginnings, such as are about as long as what is cut at
-- most, compressed ones, duplicates, and NULLs.
CREATE VIEW source AS
    SELECT i, i::int8 * 7 AS n, k COLLATE "C" AS t, k::bytea || decode(repeat('00', i % 3), 'hex') AS y,
           (k || repeat(' ', i % 4))::bpchar COLLATE "C" AS b, left(k, 60)::name AS a
    FROM (SELECT i, CASE WHEN i % 50 = 0 THEN NULL
                         WHEN i % 50 = 1 THEN left('customer-000000000000', i / 50 % 22)
                         WHEN i % 50 = 2 THEN 'other/' || i
                         WHEN i % 50 < 6 THEN 'customer-' || lpad((i % 90)::text, 12, '0')
                         WHEN i % 50 = 6 THEN repeat('customer-', 90) || lpad(i::text, 60 + i / 50 % 40, '0')
                         WHEN i % 500 = 7 THEN repeat('customer-', 700) || i
                         ELSE 'customer-' || lpad((i::int8 * 7919 % 100003)::text, 12, '0') END AS k
          FROM generate_series(1, 2500) i) s;
CREATE TABLE keys (i int, n int8, t text COLLATE "C", y bytea, b bpchar COLLATE "C", a name) WITH (autovacuum_enabled = off);

-- A statement by a sequential scan and by the index: are the answers the
-- same, and is the plan one of the index?  Without the index another statement
-- may ask for the same in less time.
CREATE FUNCTION by_both(statement text, by_table text DEFAULT NULL) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    line text;
    plan text := '';
    answers text[];
BEGIN
    FOR by_index IN 0..1 LOOP
        PERFORM set_config('enable_seqscan', (by_index = 0)::text, true);
        PERFORM set_config('enable_indexscan', (by_index = 1)::text, true);
        PERFORM set_config('enable_indexonlyscan', (by_index = 1)::text, true);
        PERFORM set_config('enable_bitmapscan', 'off', true);
        PERFORM set_config('enable_sort', (by_index = 0)::text, true);
        EXECUTE format('SELECT md5(string_agg(x::text, E''\n'')) FROM (%s) x',
                       CASE by_index WHEN 0 THEN coalesce(by_table, statement) ELSE statement END) INTO line;
        answers := answers || coalesce(line, 'nothing');
    END LOOP;
    FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || statement LOOP
        plan := plan || line;
    END LOOP;
    RETURN CASE WHEN answers[1] IS DISTINCT FROM answers[2] THEN 'differ: ' || statement
                WHEN plan !~ 'using keys_x' THEN 'no plan of the index: ' || statement ELSE 'ok' END;
END $$;

-- All that is asked of an index on these columns, the first of which is first.
CREATE FUNCTION ask(first text, columns text) RETURNS TABLE (answer text, times bigint) LANGUAGE plpgsql AS $$
DECLARE
    cond text;
    dir text;
    what text;
    type text := format_type(atttypid, NULL) FROM pg_attribute WHERE attrelid = 'keys'::regclass AND attname = first;
    answers text[];
    statement text;
BEGIN
    IF type = 'character' THEN type := 'bpchar'; END IF;
    FOREACH cond IN ARRAY ARRAY['%1$s IS NOT NULL', '%1$s >= ''customer-000000050000''', '%1$s < ''customer-000000050000''',
        '%1$s >= ''customer-00000'' AND %1$s <= ''customer-000000000060''', '%1$s BETWEEN ''cust'' AND ''customer-0''', '%1$s > ''customer-9''',
        '%1$s >= repeat(''customer-'', 90)::%2$s AND %1$s < repeat(''customer-'', 91)::%2$s'] LOOP
        FOREACH dir IN ARRAY ARRAY['', ' DESC'] LOOP
            FOREACH what IN ARRAY ARRAY['%1$s::text AS v', '*'] LOOP
                statement := format('SELECT ' || what || ' FROM keys WHERE ' || cond || ' ORDER BY keys.%1$s' || dir, first, type);
                -- rows of one key come in any order
                IF what = '*' THEN
                    statement := format('SELECT %1$s::text, count(*), sum(i) FROM (%2$s) z GROUP BY 1 ORDER BY 1', first, statement);
                END IF;
                answers := answers || by_both(statement);
            END LOOP;
        END LOOP;
    END LOOP;
    answers := answers || by_both(format('SELECT %1$s::text AS v FROM keys WHERE %1$s IS NOT NULL ORDER BY keys.%1$s LIMIT 700', first));
    answers := answers || by_both(format('SELECT %1$s::text AS v FROM keys WHERE %1$s IS NOT NULL ORDER BY keys.%1$s DESC LIMIT 700', first));
    -- one by one, and as an array
    answers := answers || by_both(format('SELECT p.i, k.m FROM keys p, LATERAL (SELECT sum(q.i) AS m FROM keys q WHERE q.%1$s = p.%1$s) k WHERE p.n %% 9 = 0 ORDER BY p.i', first),
                                  format('SELECT p.i, k.m FROM keys p LEFT JOIN (SELECT %1$s, sum(i) AS m FROM keys GROUP BY 1) k ON k.%1$s = p.%1$s WHERE p.n %% 9 = 0 ORDER BY p.i', first));
    answers := answers || by_both(format('SELECT %1$s::text AS v FROM keys WHERE %1$s = ANY (ARRAY(SELECT %1$s FROM keys WHERE i %% 3 = 1)) ORDER BY keys.%1$s', first),
                                  format('SELECT %1$s::text AS v FROM keys WHERE %1$s IN (SELECT %1$s FROM keys WHERE i %% 3 = 1) ORDER BY keys.%1$s', first));
    IF columns ~ ', [in]$' THEN
        answers := answers || by_both(format('SELECT %1$s::text AS v FROM keys WHERE %1$s = ANY (ARRAY(SELECT %1$s FROM keys WHERE i %% 3 = 1)) AND %2$s = ANY (ARRAY(SELECT %2$s FROM keys WHERE i %% 2 = 1)) ORDER BY keys.%1$s',
                                             first, right(columns, 1)),
                                      format('SELECT %1$s::text AS v FROM keys WHERE %1$s IN (SELECT %1$s FROM keys WHERE i %% 3 = 1) AND %2$s IN (SELECT %2$s FROM keys WHERE i %% 2 = 1) ORDER BY keys.%1$s',
                                             first, right(columns, 1)));
        answers := answers || by_both(format('SELECT %1$s::text AS v FROM keys WHERE (%1$s, %2$s) > (''customer-000000050000'', 3000) AND %2$s %% 2 = 0 ORDER BY keys.%1$s', first, right(columns, 1)));
    END IF;
    IF first = 't' THEN
        answers := answers || by_both('SELECT p.i, k.m FROM keys p, LATERAL (SELECT sum(q.i) AS m FROM keys q WHERE q.t = p.a) k WHERE p.n % 9 = 0 ORDER BY p.i',
                                      'SELECT p.i, k.m FROM keys p LEFT JOIN (SELECT t, sum(i) AS m FROM keys GROUP BY 1) k ON k.t = p.a WHERE p.n % 9 = 0 ORDER BY p.i');
    END IF;
    RETURN QUERY SELECT x, count(*) FROM unnest(answers) x GROUP BY x ORDER BY x;
END $$;

-- An index in turn made of half of the rows and grown, grown from nothing, and
-- left by VACUUM and grown again.
CREATE FUNCTION try(first text, columns text, options text) RETURNS TABLE (state text, answer text, times bigint) LANGUAGE plpgsql AS $$
BEGIN
    TRUNCATE keys;
    INSERT INTO keys SELECT * FROM source WHERE i % 2 = 0;
    EXECUTE format('CREATE INDEX keys_x ON keys USING fpbtree (%s) %s', columns, options);
    PERFORM fpbtree_check('keys_x', true);
    RETURN QUERY SELECT 'built', * FROM ask(first, columns);
    INSERT INTO keys SELECT * FROM source WHERE i % 2 = 1 ORDER BY hashint4(i);
    PERFORM fpbtree_check('keys_x', true);
    RETURN QUERY SELECT 'built and grown', * FROM ask(first, columns);
    TRUNCATE keys;
    INSERT INTO keys SELECT * FROM source ORDER BY i;
    PERFORM fpbtree_check('keys_x', true);
    RETURN QUERY SELECT 'grown', * FROM ask(first, columns);
    DROP INDEX keys_x;
END $$;
SELECT columns, options, t.*
FROM (VALUES (1, 't', 't', ''), (2, 't', 't DESC', 'WITH (fillfactor = 100)'), (3, 't', 't, i', ''), (4, 't', 't, n', 'INCLUDE (y)'),
             (5, 'y', 'y DESC, n', ''), (6, 'b', 'b', 'INCLUDE (i, t)'), (7, 't', 't NULLS FIRST', 'WITH (leaf_lines = 3)'),
             (8, 't', 't', 'WITH (operation_queue = on, opq_size = 64)'), (9, 'b', 'b DESC, i', '')) c (number, first, columns, options),
     try(first, columns, options) t ORDER BY number, t.state, t.answer;

-- Keys that lack the prefix come to leaves that deletions have widened.
TRUNCATE keys;
SET client_min_messages = error;
CREATE UNIQUE INDEX keys_x ON keys USING fpbtree (t);
RESET client_min_messages;
INSERT INTO keys (i, t) SELECT i, 'group-' || i / 250 || '/member-' || lpad(i::text, 9, '0') FROM generate_series(1, 3000) i;
DELETE FROM keys WHERE i / 250 % 2 = 1 OR i % 250 > 240;
VACUUM keys;
SELECT fpbtree_check('keys_x', true);
INSERT INTO keys (i, t) SELECT i, 'group-' || i / 250 || substr('.0:~', 1 + i % 4, 1) || i FROM generate_series(1, 3000) i ORDER BY hashint4(i);
SELECT fpbtree_check('keys_x', true);
INSERT INTO keys (i, t) VALUES (1, 'group-10/member-000002501');
SELECT * FROM ask('t', 't');

-- A scan forth and back, page by page
BEGIN;
SET LOCAL enable_seqscan = off;
SET LOCAL enable_bitmapscan = off;
SET LOCAL enable_sort = off;
DECLARE c SCROLL CURSOR FOR SELECT t FROM keys WHERE t IS NOT NULL ORDER BY t;
CREATE TEMP TABLE steps (n int, forth text, back text);
DO $$
DECLARE
    c refcursor := 'c';
    t text;
BEGIN
    FOR n IN 1..1500 LOOP
        FETCH c INTO t;
        INSERT INTO steps VALUES (n, t);
    END LOOP;
    FOR n IN REVERSE 1499..1 LOOP
        FETCH PRIOR FROM c INTO t;
        INSERT INTO steps VALUES (n, NULL, t);
    END LOOP;
END $$;
SELECT count(*) AS steps, count(DISTINCT (n, coalesce(forth, back))) AS places, count(*) FILTER (WHERE forth <> place OR back <> place) AS wrong
FROM steps JOIN (SELECT row_number() OVER (ORDER BY t) AS n, t AS place FROM keys) p USING (n);
COMMIT;

-- What it is for: a key that begins as others do takes little room.
TRUNCATE keys;
DROP INDEX keys_x;
INSERT INTO keys (t, n) SELECT 'https://www.example.com/customers/' || lpad(i::text, 12, '0'), i FROM generate_series(1, 8000) i;
CREATE INDEX keys_x ON keys USING fpbtree (t);
CREATE INDEX keys_b ON keys USING btree (t);
CREATE INDEX keys_xn ON keys USING fpbtree (t, n);
CREATE INDEX keys_bn ON keys USING btree (t, n);
SELECT pg_relation_size('keys_x') <= 0.6 * pg_relation_size('keys_b') OR layout = 'micro_index' AS small,
       pg_relation_size('keys_xn') <= 0.6 * pg_relation_size('keys_bn') OR layout = 'micro_index' AS small_too
FROM fpbtree_stats('keys_x');

-- Built pages that are as full as can be: now and then one ends where the next
-- key would have a shorter prefix.
DROP INDEX keys_b, keys_xn, keys_bn;
DO $$
BEGIN
    FOR i IN 0..7 LOOP
        EXECUTE format('CREATE INDEX keys_p ON keys USING fpbtree (t) WITH (fillfactor = 100) WHERE n > %s', i * 50);
        PERFORM fpbtree_check('keys_p', true);
        DROP INDEX keys_p;
    END LOOP;
END $$;

-- A scan that has read a few entries of the last leaf comes back when that has
-- got a shorter prefix.
CREATE FUNCTION come_back(few int, other text) RETURNS bool LANGUAGE plpgsql AS $$
DECLARE
    first text := (SELECT trim(low_fence, '()') FROM generate_series(1, pg_relation_size('keys_x') / current_setting('block_size')::int - 1) b,
                          fpbtree_page('keys_x', b) WHERE level = 0 AND high_fence IS NULL);
    expected text[] := ARRAY(SELECT t FROM keys WHERE t >= first ORDER BY t LIMIT 50);
    c NO SCROLL CURSOR FOR SELECT t FROM keys WHERE t >= first ORDER BY t;
    answers text[];
    t text;
BEGIN
    OPEN c;
    FOR n IN 1..cardinality(expected) LOOP
        FETCH c INTO t;
        answers := answers || t;
        IF n = few THEN
            INSERT INTO keys (t) VALUES (other);
        END IF;
    END LOOP;
    RETURN answers = expected AND cardinality(expected) > few;
END $$;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SET enable_sort = off;
CREATE PROCEDURE more_keys() LANGUAGE sql AS $$
    INSERT INTO keys (t) SELECT (SELECT max(t) FROM keys) || lpad(i::text, 3, '0') FROM generate_series(1, 40) i $$;
CALL more_keys();
SELECT come_back(1, 'https://www.example.com/d');
CALL more_keys();
SELECT come_back(2, 'https://www.f');
CALL more_keys();
SELECT come_back(3, 'i');
SELECT fpbtree_check('keys_x', true);

-- What a check compares from leaf to leaf: long keys that are unique, and two
-- rows of each key, some of which are in two leaves.
CREATE TABLE once AS SELECT 'customer-' || repeat('x', 111) || lpad(i::text, 4, '0') COLLATE "C" AS t FROM generate_series(1, 3000) i;
SET client_min_messages = error;
CREATE UNIQUE INDEX once_t ON once USING fpbtree (t);
RESET client_min_messages;
SELECT fpbtree_check('once_t', true);
CREATE TABLE twice AS SELECT 'customer-' || lpad((i / 2)::text, 12, '0') COLLATE "C" AS t, i FROM generate_series(0, 5999) i;
CREATE INDEX twice_t ON twice USING fpbtree (t) INCLUDE (i);
UPDATE pg_index SET indisunique = true WHERE indexrelid = 'twice_t'::regclass;
SELECT count(*) FROM fpbtree_damage('twice_t', true);

-- A scan of the index alone makes tuples whole in one place: short and long
-- ones, with NULLs and without, in turn.
DROP INDEX keys_x;
CREATE TABLE mixed AS
    SELECT 'customer-' || lpad((i * 7919 % 2000)::text, 6, '0') || repeat('y', i % 3 * 70) COLLATE "C" AS t, CASE WHEN i % 4 > 0 THEN i END AS n
    FROM generate_series(1, 2000) i;
CREATE INDEX keys_x ON mixed USING fpbtree (t, n);
VACUUM mixed;
SELECT by_both('SELECT t, n FROM mixed ORDER BY t, n') AS forward, by_both('SELECT t, n FROM mixed ORDER BY t DESC, n DESC') AS backward;

-- It makes the tuple again if another leaf has one where the last one was.
DROP INDEX keys_x;
CREATE TABLE even AS SELECT i, 'customer-' || lpad((i * 7919 % 3000)::text, 6, '0') COLLATE "C" AS t FROM generate_series(1, 3000) i;
CREATE INDEX keys_x ON even USING fpbtree (t);
VACUUM even;
SELECT by_both('SELECT p.i, k.m FROM even p, LATERAL (SELECT string_agg(q.t, '','') AS m FROM (SELECT t FROM even WHERE t >= p.t ORDER BY t LIMIT 20) q) k ORDER BY p.i',
               'SELECT i, string_agg(t, '','') OVER (ORDER BY t ROWS BETWEEN CURRENT ROW AND 19 FOLLOWING) AS m FROM even ORDER BY i') AS again;

SET client_min_messages = warning;
DROP SCHEMA prefixes CASCADE;
