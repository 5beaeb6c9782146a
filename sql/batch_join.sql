--
-- Batched nested loops: joins that ask an index for many keys at once.  Each
-- query runs in batches of several sizes, as a plain nested loop and as a hash
-- or merge join; what differs is printed: nothing.
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS fpbtree;
CREATE SCHEMA batch_join;
SET search_path = batch_join, public;
SET max_parallel_workers_per_gather = 0;
SET jit = off;
SET timezone = 'UTC';
SET datestyle = 'ISO';
-- nobody else is to move anything
SET fpbtree.queue_worker = off;
CREATE COLLATION alike (provider = icu, locale = 'und-u-ks-level2', deterministic = false);

-- Has a query's plan the node?
CREATE FUNCTION is_batched(query text) RETURNS bool LANGUAGE plpgsql AS $$
DECLARE
    line text;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
        IF line LIKE '%Custom Scan (Batched Nested Loop)%' THEN
            RETURN true;
        END IF;
    END LOOP;
    RETURN false;
END $$;

-- Settings for the rest of the transaction: how joins are to run.
CREATE FUNCTION set_joins(how text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    setting text;
BEGIN
    FOREACH setting IN ARRAY '{hashjoin,mergejoin,memoize,seqscan,bitmapscan,material}'::text[] LOOP
        PERFORM set_config('enable_' || setting, (how = 'other')::text, true);
    END LOOP;
    PERFORM set_config('enable_nestloop', (how = 'loops')::text, true);
    PERFORM set_config('fpbtree.join_single_rows', '0', true);
    PERFORM set_config('fpbtree.enable_batch_join', (how = 'batched')::text, true);
END $$;

-- How many rows a query has, and a hash of them.
CREATE FUNCTION rows_of(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    answer text;
BEGIN
    EXECUTE format('SELECT count(*) || '' rows, '' || coalesce(sum(hashtextextended(q::text, 0)::numeric), 0) FROM (%s) q', query) INTO answer;
    RETURN answer;
END $$;

-- What is wrong with a query in batches.
CREATE FUNCTION faults(query text, is_empty bool DEFAULT false, sizes int[] DEFAULT '{1,7,1000}') RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
    expected text;
    answer text;
    n int;
BEGIN
    PERFORM set_joins('loops');
    expected := rows_of(query);
    IF (expected LIKE '0 rows%') <> is_empty THEN
        RETURN NEXT expected || ': ' || query;
    END IF;
    PERFORM set_joins('other');
    answer := rows_of(query);
    IF answer <> expected THEN
        RETURN NEXT format('%s otherwise, not %s: %s', answer, expected, query);
    END IF;
    PERFORM set_joins('batched');
    IF NOT is_batched(query) THEN
        RETURN NEXT 'not in batches: ' || query;
    END IF;
    FOREACH n IN ARRAY sizes LOOP
        PERFORM set_config('fpbtree.join_batch_rows', n::text, true);
        answer := rows_of(query);
        IF answer <> expected THEN
            RETURN NEXT format('%s in batches of %s, not %s: %s', answer, n, expected, query);
        END IF;
    END LOOP;
    PERFORM set_config('fpbtree.join_batch_rows', '1000', true);
    PERFORM set_config('fpbtree.join_single_rows', '5', true);
    answer := rows_of(query);
    IF answer <> expected THEN
        RETURN NEXT format('%s one by one, not %s: %s', answer, expected, query);
    END IF;
END $$;

-- Values of many types, with NULLs and duplicates on both sides, some of which
-- are in one table only.  k is 0 to 59.
CREATE TABLE kinds (type text, value text);
INSERT INTO kinds VALUES
    ('int2', $$CASE k WHEN 0 THEN -32768 WHEN 59 THEN 32767 ELSE k * 3 - 90 END$$),
    ('int4', $$CASE k WHEN 0 THEN -2147483648 WHEN 59 THEN 2147483647 ELSE k * 3 - 90 END$$),
    ('int8', $$CASE k WHEN 0 THEN -9223372036854775808 WHEN 59 THEN 9223372036854775807 ELSE k * 10000000000 - 300000000000 END$$),
    ('oid', $$CASE k WHEN 59 THEN 4294967295 ELSE k * 5 END$$),
    ('bool', $$k % 2 = 1$$),
    ('"char"', $$chr(33 + k)$$),
    ('date', $$CASE k WHEN 0 THEN '-infinity' WHEN 59 THEN 'infinity' ELSE '2000-01-01'::date + (k - 30) * 2 END$$),
    ('timestamptz', $$CASE k WHEN 0 THEN '-infinity' WHEN 59 THEN 'infinity' ELSE '2024-03-09 00:00Z'::timestamptz + k * interval '30 min' END$$),
    ('timestamp', $$'2000-01-01'::timestamp + (k - 30) * interval '12 h'$$),
    ('time', $$'00:00'::time + k * interval '7 min'$$),
    ('timetz', $$'00:00+00'::timetz + k * interval '7 min'$$),
    ('money', $$k::numeric::money$$),
    ('macaddr', $$lpad(to_hex(k * 1000003::int8), 12, '0')$$),
    ('inet', $$'10.0.0.0/24'::inet + k$$),
    ('uuid', $$CASE k WHEN 0 THEN repeat('0', 32) WHEN 59 THEN repeat('f', 32) ELSE md5(k::text) END$$),
    ('float4', $$CASE k WHEN 0 THEN '-Infinity' WHEN 1 THEN '-0' WHEN 2 THEN '0' WHEN 58 THEN 'NaN' ELSE (k - 30) / 4.0 END$$),
    ('float8', $$CASE k WHEN 0 THEN '-Infinity' WHEN 41 THEN '-0' WHEN 57 THEN '0' WHEN 58 THEN 'NaN' WHEN 59 THEN 'Infinity' ELSE (k - 30) / 4.0 END$$),
    ('numeric', $$CASE k WHEN 0 THEN '-Infinity' WHEN 59 THEN 'NaN' WHEN 42 THEN '7.50' WHEN 43 THEN '7.5' WHEN 44 THEN '7.500' ELSE (k / 4.0)::numeric(9, 3) END$$),
    ('numeric(9,2)', $$k / 4$$),
    ('interval', $$CASE k % 2 WHEN 0 THEN k * interval '1 day' ELSE (k - 1) * interval '24 h' END$$),
    ('text COLLATE "C"', $$CASE k WHEN 0 THEN '' ELSE repeat('a', k) END$$),
    ('text COLLATE "en-x-icu"', $$CASE k % 2 WHEN 0 THEN 'Text ' ELSE 'text ' END || k / 4$$),
    ('text COLLATE alike', $$CASE k % 2 WHEN 0 THEN 'Alike ' ELSE 'aLike ' END || k / 4$$),
    ('text', $$repeat('long ', 60) || k$$),
    ('varchar(20) COLLATE "C"', $$'varchar ' || k$$),
    ('char(12) COLLATE "C"', $$'c ' || k / 2 || repeat(' ', k % 2)$$),
    ('name', $$'name ' || k$$),
    ('bytea', $$decode(repeat('00', 1 + k % 35) || CASE WHEN k < 35 THEN '' ELSE 'ff' END, 'hex')$$),
    ('varbit', $$k::bit(7)::varbit || repeat('0', k % 3)::varbit$$),
    ('jsonb', $$jsonb_build_object('a', k)$$),
    ('pg_lsn', $$('0/' || to_hex(k))$$);

CREATE FUNCTION faults_of_type(given text, own text, value text, orders text[]) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
    plain_given text := regexp_replace(given, ' COLLATE.*', '');
    plain_own text := regexp_replace(own, ' COLLATE.*', '');
    o text;
    query text;
BEGIN
    EXECUTE format('CREATE TABLE a AS SELECT id, (%s)::%s AS v, id %% 5 AS n FROM (SELECT id, CASE WHEN id %% 13 <> 0 THEN id * 7 %% 60 END AS k FROM generate_series(1, 150) id) x WHERE k %% 7 IS DISTINCT FROM 3',
                   value, given);
    EXECUTE format('CREATE TABLE b AS SELECT id, (%s)::%s AS v, id %% 7 AS n FROM (SELECT id, CASE WHEN id %% 11 <> 0 THEN id * 17 %% 60 END AS k FROM generate_series(1, 200) id) x WHERE k %% 7 IS DISTINCT FROM 4',
                   value, own);
    FOREACH o IN ARRAY orders LOOP
        EXECUTE format('CREATE INDEX i ON b USING fpbtree (v %s, n)', o);
        EXECUTE 'ANALYZE a, b';
        FOREACH query IN ARRAY ARRAY[
            'SELECT a.*, b.* FROM a JOIN b ON a.v = b.v',
            'SELECT a.id, a.v, b.v, b.n FROM a LEFT JOIN b ON b.v = a.v AND b.n > a.n',
            'SELECT a.* FROM a WHERE NOT EXISTS (SELECT FROM b WHERE b.v = a.v AND b.n > 2)',
            'SELECT a.id FROM a WHERE EXISTS (SELECT FROM b WHERE b.v = a.v AND b.id > a.id)',
            'SELECT a.*, b.* FROM a JOIN b ON a.v = b.v AND a.n = b.n'] LOOP
            RETURN QUERY SELECT format('%s %s %s: %s', given, own, o, f) FROM faults(query, false, '{7,1000}') f;
        END LOOP;
        -- the second column of a key
        EXECUTE format('CREATE INDEX i2 ON b USING fpbtree (n DESC, v %s)', o);
        DROP INDEX i;
        ANALYZE b;
        query := 'SELECT a.*, b.* FROM a LEFT JOIN b ON a.n = b.n AND b.v = a.v';
        RETURN QUERY SELECT format('%s %s second, %s: %s', given, own, o, f) FROM faults(query, false, '{7,1000}') f;
        DROP INDEX i2;
    END LOOP;
    DROP TABLE a, b;
END $$;
SELECT fault FROM kinds, faults_of_type(type, type, value, '{ASC,DESC NULLS LAST}') fault;
SELECT fault FROM kinds, faults_of_type(type, type, value, '{DESC,ASC NULLS FIRST}') fault WHERE type IN ('int4', 'text COLLATE "C"', 'uuid', 'numeric');
-- integers of different types, with values that only the larger one has
CREATE TABLE integers AS SELECT n, CASE WHEN n BETWEEN -32768 AND 32767 THEN n::int2 END AS n2, CASE WHEN n BETWEEN -2147483648 AND 2147483647 THEN n::int4 END AS n4, n AS n8
    FROM unnest('{NULL,-9223372036854775808,-9223372036854775807,-2147483649,-2147483648,-2147483647,-65536,-65535,-32769,-32768,-32767,-1,0,1,2,2,5,32767,32768,32769,65536,65537,2147483647,2147483648,4294967296,4294967297,9223372036854775806,9223372036854775807}'::int8[]) n,
        generate_series(1, 3);
CREATE INDEX ON integers USING fpbtree (n2);
CREATE INDEX ON integers USING fpbtree (n4 DESC);
CREATE INDEX ON integers USING fpbtree (n8 NULLS FIRST);
ANALYZE integers;
SELECT fault FROM unnest('{n2,n4,n8}'::text[]) x, unnest('{n2,n4,n8}'::text[]) y, unnest('{"",LEFT}'::text[]) j,
    faults(format('SELECT x.%1$s, y.* FROM integers x %3$s JOIN integers y ON x.%1$s = y.%2$s', x, y, j)) fault;
SELECT fault FROM unnest('{n2,n4,n8}'::text[]) x, unnest('{n2,n4,n8}'::text[]) y,
    faults(format('SELECT x.n FROM integers x WHERE NOT EXISTS (SELECT FROM integers y WHERE y.%2$s = x.%1$s)', x, y)) fault;

CREATE INDEX ON integers USING fpbtree (n2, n4, n8);
CREATE INDEX ON integers USING fpbtree (n8 DESC, n4);
SELECT fault FROM unnest('{n2,n4,n8}'::text[]) x, unnest('{n2,n4,n8}'::text[]) y,
    faults(format('SELECT x.n, y.n FROM integers x LEFT JOIN integers y ON y.n2 = x.%s AND y.n4 = x.%s AND y.n8 = x.n8', x, y)) fault;
SELECT fault FROM unnest('{n2,n4,n8}'::text[]) x, unnest('{n2,n4,n8}'::text[]) y,
    faults(format('SELECT x.n, y.n FROM integers x LEFT JOIN integers y ON y.n8 = x.%s AND y.n4 = x.%s', x, y)) fault;

-- Tables for queries of many forms: o has the outer rows, i the inner ones, and
-- j and u are others; u's numbers are unique.
CREATE TABLE o (id int, k int, x int, t text, wide text);
INSERT INTO o SELECT id, CASE WHEN id % 17 <> 0 THEN id * 31 % 120 END, id % 9, 't' || id % 40,
        CASE WHEN id % 3 = 0 THEN (SELECT string_agg(md5(id || ' ' || n), '') FROM generate_series(1, 150) n) END FROM generate_series(1, 400) id;
CREATE TABLE i (id int, k int, x int, t text, c text);
INSERT INTO i SELECT id, CASE WHEN id % 19 <> 0 THEN id * 47 % 150 END, id % 11, 't' || id % 60, 'c' || id FROM generate_series(1, 1500) id;
CREATE TABLE j (id int, k int, x int, t text);
INSERT INTO j SELECT id, id % 100, CASE WHEN id % 7 <> 0 THEN id % 13 END, 't' || id % 70 FROM generate_series(1, 800) id;
CREATE TABLE u (id int, k int, x int);
INSERT INTO u SELECT id, CASE WHEN id % 3 = 0 THEN id END, id % 5 FROM generate_series(1, 300) id;
CREATE INDEX i_k ON i USING fpbtree (k, x);
CREATE INDEX i_xkt ON i USING fpbtree (x, k DESC, t) INCLUDE (id);
CREATE INDEX i_t ON i USING fpbtree (t) WHERE x > 2;
CREATE INDEX j_k ON j USING fpbtree (k) INCLUDE (x);
CREATE INDEX j_x ON j USING fpbtree (x DESC NULLS LAST, k) WITH (operation_queue = on);
CREATE INDEX j_expression ON j USING fpbtree (k, (x + 1), lower(t));
-- 17 warns of them
SET client_min_messages = error;
CREATE UNIQUE INDEX u_id ON u USING fpbtree (id);
CREATE UNIQUE INDEX u_k ON u USING fpbtree (k);
SET client_min_messages = warning;
-- some entries in the queue
INSERT INTO j SELECT id, id % 100, id % 13, 't' || id % 70 FROM generate_series(801, 1000) id;
VACUUM ANALYZE o, i, j, u;
CREATE VIEW barrier WITH (security_barrier) AS SELECT * FROM i WHERE x <> 3;
CREATE TABLE queries (query text);

INSERT INTO queries SELECT unnest(ARRAY[
    -- kinds of joins
    'SELECT o.*, i.* FROM o JOIN i ON i.k = o.k',
    'SELECT o.id, i.c FROM o LEFT JOIN i ON i.k = o.k',
    'SELECT o.id, i.c FROM o LEFT JOIN i ON i.k = o.k WHERE i.id IS NULL',
    'SELECT o.id, i.c FROM o LEFT JOIN i ON i.k = o.k WHERE i.id IS NULL OR i.x > o.x',
    'SELECT o.id, i.c FROM o LEFT JOIN i ON i.k = o.k AND o.x > 4',
    'SELECT o.id, i.c FROM i RIGHT JOIN o ON i.k = o.k AND i.x = 4',
    'SELECT * FROM o WHERE EXISTS (SELECT FROM i WHERE i.k = o.k AND i.x > o.x)',
    'SELECT * FROM o WHERE k IN (SELECT k FROM i WHERE x = 7)',
    'SELECT * FROM o WHERE NOT EXISTS (SELECT FROM i WHERE i.k = o.k AND i.x = o.x)',
    'SELECT o.id, u.* FROM o JOIN u ON u.id = o.k',
    'SELECT o.id, u.* FROM o LEFT JOIN u ON u.k = o.k',
    'SELECT o.id, u.* FROM o LEFT JOIN u ON u.k = o.k WHERE u.x IS DISTINCT FROM 3',
    'SELECT o.id, u.* FROM o LEFT JOIN u ON u.k = o.k AND u.x < o.x',
    'SELECT o.id FROM o WHERE EXISTS (SELECT FROM u WHERE u.k = o.k AND u.x <> o.x)',
    'SELECT count(*) FROM o JOIN i ON i.k = o.k',
    'SELECT 1 FROM o JOIN i ON i.k = o.k',
    'SELECT DISTINCT o.x, i.x FROM o JOIN i ON i.k = o.k',
    -- other columns of the index
    'SELECT o.id, i.c FROM o JOIN i ON i.k = o.k AND i.x = o.x',
    'SELECT o.id, i.c FROM o JOIN i ON i.k = o.k AND i.x = 5',
    'SELECT o.id, i.id FROM o LEFT JOIN i ON i.x = o.x AND i.k = o.k AND i.t = o.t',
    'SELECT o.id, i.id FROM o LEFT JOIN i ON i.x = o.x AND i.k = o.k + 1 AND i.t >= o.t',
    'SELECT o.id, i.id FROM o LEFT JOIN i ON i.x = o.x AND i.k = o.k AND i.k > 20 AND i.x IS NOT NULL AND i.t < ''t4''',
    'SELECT o.id, i.id FROM o LEFT JOIN i ON i.x = o.x AND i.k = 31 AND i.t = o.t',
    'SELECT o.id, i.id FROM o LEFT JOIN i ON i.x = o.x AND i.k = o.k AND i.k = 31',
    'SELECT o.id, i.id FROM o LEFT JOIN i ON i.k = o.k AND i.x = o.x AND i.x IN (1, 3, 5)',
    'SELECT o.id, i.id FROM o LEFT JOIN i ON i.k = o.k AND i.x = o.x AND i.x = ANY (ARRAY[o.x, 3])',
    'SELECT o.id, i.id FROM o LEFT JOIN i ON i.k = o.k AND i.k = o.id AND i.x = o.x',
    'SELECT o.id, i.id FROM o LEFT JOIN i ON i.k = o.k::int8 + 10000000000 * (o.id % 2) AND i.x = o.x::int2',
    'SELECT o.id FROM o WHERE EXISTS (SELECT FROM i WHERE i.k = o.k AND i.x = o.x AND i.id > o.id)',
    'SELECT o.id FROM o WHERE NOT EXISTS (SELECT FROM i WHERE i.k = o.k AND i.x = o.x AND i.id > o.id)',
    'SELECT o.id, j.id FROM o LEFT JOIN j ON j.x = o.x AND j.k = o.k',
    'SELECT o.id, j.k FROM o JOIN j ON j.x = o.x AND j.k = o.k',
    'SELECT o.id, i.c FROM o JOIN i ON i.k = o.k AND i.x > o.x',
    'SELECT o.id, i.c FROM o LEFT JOIN i ON i.k = o.k AND i.x BETWEEN o.x AND o.x + 2',
    'SELECT o.id, i.c FROM o JOIN i ON i.k = o.k AND i.x IN (1, 5, 9)',
    'SELECT o.id, i.c FROM o LEFT JOIN i ON i.k = o.k AND i.x IN (1, 5, o.x)',
    'SELECT o.id, i.c FROM o JOIN i ON i.k = o.k AND i.x IS NOT NULL AND i.x <= 3',
    'SELECT o.id, i.c FROM o JOIN i ON i.x = 5 AND i.k = o.k',
    'SELECT o.id, i.c FROM o LEFT JOIN i ON i.x = 5 AND i.k = o.k AND i.t = o.t',
    'SELECT o.id, i.id FROM o LEFT JOIN i ON i.x = 5 AND i.k = o.k AND i.t >= o.t',
    'SELECT o.id, i.c FROM o JOIN i ON i.k = o.k AND i.k > o.x',
    'SELECT o.id, i.c FROM o LEFT JOIN i ON i.k = o.k AND (i.k, i.x) > (o.x, o.id)',
    'SELECT o.id, i.c FROM o LEFT JOIN i ON i.k = o.k AND i.x = ANY (ARRAY[o.x, o.x + 1])',
    'SELECT o.id, i.c FROM o LEFT JOIN i ON i.k = o.k AND (i.x = o.x OR i.id % 7 = o.id % 7)',
    'SELECT o.id, i.c FROM o LEFT JOIN i ON i.k = o.k AND i.c > o.t AND length(i.c) > 3',
    -- index-only, partial, expressions
    'SELECT o.id, j.k, j.x FROM o JOIN j ON j.k = o.k',
    'SELECT o.id, j.k, j.x FROM o LEFT JOIN j ON j.k = o.k AND j.x <> o.x',
    'SELECT o.id, j.x FROM o LEFT JOIN j ON j.x = o.x AND j.k = 7',
    'SELECT o.id, j.k FROM o JOIN j ON j.x = o.x AND j.k > o.k',
    'SELECT o.id, i.id FROM o JOIN i ON i.t = o.t AND i.x > 2',
    'SELECT o.id, i.id FROM o LEFT JOIN i ON i.t = o.t AND i.x > 2 AND i.x < o.x',
    'SELECT o.id, j.id FROM o JOIN j ON j.k = o.k AND j.x + 1 = o.x',
    'SELECT o.id, i.c FROM o JOIN i ON i.k = o.k + o.x',
    'SELECT o.id, i.c FROM o JOIN i ON i.k = abs(o.k - 20)',
    'SELECT o.id, i.c FROM o LEFT JOIN i ON i.k = coalesce(o.k, 5)',
    'SELECT o.id, i.c FROM o LEFT JOIN i ON i.k = CASE WHEN o.x > 3 THEN o.k END',
    'SELECT o.id, i.id FROM o JOIN i ON i.t = lower(upper(o.t)) AND i.x > 2',
    'SELECT o.id, i.c FROM o JOIN i ON i.k = o.k::int8',
    'SELECT o.id, i.c FROM o JOIN i ON i.k = (o.k::int8 << 32 | o.k)',
    'SELECT o.id, i.c FROM o LEFT JOIN i ON i.k = o.k::int8 + 10000000000 * (o.x / 4)',
    -- whole rows, system columns, wide rows
    'SELECT o, i, o.ctid, i.ctid, o.tableoid, i.tableoid, i.xmin FROM o JOIN i ON i.k = o.k',
    'SELECT o, i FROM o LEFT JOIN i ON i.k = o.k',
    'SELECT o.ctid, o.wide FROM o WHERE EXISTS (SELECT FROM i WHERE i.k = o.k)',
    'SELECT o.wide, i.c FROM o LEFT JOIN i ON i.k = o.k AND length(o.wide) > i.id',
    'SELECT o.wide || i.c FROM (SELECT *, row_number() OVER (ORDER BY id) AS r FROM o) o LEFT JOIN i ON i.k = o.r',
    -- kinds of outer sides
    'SELECT v.*, i.c FROM (VALUES (1, ''a''), (1, ''b''), (NULL, ''c''), (147, ''d''), (9999, ''e'')) v(k, t) LEFT JOIN i ON i.k = v.k',
    'SELECT g, i.c FROM generate_series(1, 200) g LEFT JOIN i ON i.k = g',
    'SELECT g.*, i.c FROM ROWS FROM (generate_series(1, 200), generate_series(5, 70)) WITH ORDINALITY g(a, b, n) LEFT JOIN i ON i.k = b',
    'SELECT s.*, i.c FROM (SELECT k, count(*) AS n FROM o GROUP BY k) s JOIN i ON i.k = s.n',
    'SELECT s.*, i.c FROM (SELECT id, k FROM o UNION ALL SELECT id, x FROM j) s LEFT JOIN i ON i.k = s.k',
    'SELECT s.*, i.c FROM (SELECT id, k FROM o ORDER BY id DESC LIMIT 30) s LEFT JOIN i ON i.k = s.k',
    'WITH s AS MATERIALIZED (SELECT * FROM o WHERE x < 5) SELECT s.id, i.c FROM s LEFT JOIN i ON i.k = s.k',
    'WITH RECURSIVE r(n, k, x) AS (SELECT 1, k, x FROM o WHERE id < 5 UNION ALL SELECT n + 1, i.k, i.x FROM r JOIN i ON i.k = r.k + 7 AND i.x >= r.x WHERE n < 6) SELECT * FROM r',
    'SELECT unnest(ARRAY[o.id, i.id]), i.c FROM o JOIN i ON i.k = o.k AND i.x = o.x',
    -- three tables and more
    'SELECT o.id, i.c, j.id FROM o JOIN i ON i.k = o.k AND i.x = o.x JOIN j ON j.k = i.x',
    'SELECT o.id, i.c, j.id FROM o LEFT JOIN i ON i.k = o.k AND i.x = o.x LEFT JOIN j ON j.k = i.id',
    'SELECT o.id, i.c, j.id FROM o LEFT JOIN i ON i.k = o.k AND i.x = o.x LEFT JOIN j ON j.k = coalesce(i.id, o.id)',
    'SELECT o.id, i.c, j.id FROM o LEFT JOIN (SELECT k, x, c, coalesce(id, 7) AS z FROM i) i ON i.k = o.k AND i.x = o.x LEFT JOIN j ON j.k = i.z',
    'SELECT a.id, b.*, c.* FROM (SELECT * FROM o WHERE id < 60) a LEFT JOIN ((SELECT * FROM o WHERE id % 5 = 0) b FULL JOIN (SELECT * FROM u WHERE id % 7 = 0) c ON b.id = c.id) ON a.k = b.id LEFT JOIN i ON i.k = c.x AND i.x = b.x',
    'SELECT o.id, a.id, b.id, j.id FROM o LEFT JOIN u a ON a.id = o.k LEFT JOIN u b ON b.k = a.x LEFT JOIN j ON j.k = b.x AND j.x = a.x',
    'SELECT o.id FROM o JOIN u ON u.id = o.k WHERE NOT EXISTS (SELECT FROM i WHERE i.k = u.k AND i.x = o.x) AND o.t IN (SELECT t FROM i WHERE x > 2)',
    -- lateral references, parameters from outside
    'SELECT o.id, s.* FROM o, LATERAL (SELECT i.id, i.x + o.x AS z FROM i WHERE i.k = o.k) s',
    'SELECT o.id, (SELECT count(*) FROM i JOIN j ON j.k = i.k WHERE i.x = o.x AND j.x = o.x) FROM o WHERE id < 50',
    'SELECT o.id, (SELECT string_agg(i.c || u.id, '','' ORDER BY i.c) FROM u JOIN i ON i.k = u.id AND i.x = o.x WHERE u.x = o.x) FROM o WHERE id < 50',
    'SELECT o.id, (SELECT sum(i.id) FROM generate_series(1, o.x) g JOIN i ON i.k = g) FROM o',
    'SELECT o.id FROM o WHERE o.id < 40 AND o.x < ALL (SELECT i.x + 5 FROM u JOIN i ON i.k = u.id WHERE u.id BETWEEN o.id AND o.id + 2)',
    'SELECT o.id FROM o WHERE id < 40 AND (o.k, o.x) IN (SELECT i.k, j.x FROM i JOIN j ON j.k = i.x WHERE i.id < 100 OFFSET 0)',
    'SELECT o.id, i.id FROM o JOIN i ON i.k = o.k WHERE i.x > (SELECT avg(x) FROM j)',
    'SELECT o.id, i.id FROM o JOIN i ON i.k = o.k AND i.x = (SELECT max(x) FROM u)',
    'SELECT o.id, i.id FROM o LEFT JOIN i ON i.k = o.k AND i.x + o.x > (SELECT count(*) FROM u WHERE u.x = 9)',
    -- limits and orders
    'SELECT o.id, i.id FROM o JOIN i ON i.k = o.k ORDER BY o.id, i.id LIMIT 50',
    'SELECT count(*) FROM (SELECT o.id FROM o JOIN i ON i.k = o.k LIMIT 50 OFFSET 20) x',
    'SELECT count(*) FROM (SELECT o.id FROM o LEFT JOIN i ON i.k = o.k FETCH FIRST 170 ROWS ONLY) x',
    'SELECT o.x, count(*), sum(i.id), rank() OVER (ORDER BY count(*)) FROM o JOIN i ON i.k = o.k GROUP BY GROUPING SETS ((o.x), ())',
    -- views
    'SELECT b.id, b.c, j.id FROM barrier b LEFT JOIN j ON j.k = b.k AND j.id % 9 > b.x',
    'SELECT b.id FROM barrier b WHERE NOT EXISTS (SELECT FROM j WHERE j.k = b.k AND j.x = b.x)']);
SELECT count(*) AS queries FROM queries;
SELECT fault FROM queries, faults(query) fault;
-- little memory, so that batches of wide rows are small
SET work_mem = '64kB';
SELECT fault FROM queries, faults(query) fault WHERE query ~ 'wide|SELECT o, i';
RESET work_mem;
-- fences that have the first of the key's columns only, or both
CREATE TABLE pair AS SELECT 't' || lpad((g / 5)::text, 5, '0') AS t, g % 5 AS k, g AS id FROM generate_series(1, 8000) g;
CREATE INDEX ON pair USING fpbtree (t COLLATE "C", k);
CREATE INDEX ON pair USING fpbtree (t COLLATE "C" DESC, k DESC, (id % 3));
-- and keys that are not there, so that a fence lies behind several of those asked for
CREATE TABLE pair_some AS SELECT * FROM pair WHERE id / 5 % 4 = 0;
INSERT INTO pair_some SELECT 't' || lpad((g / 5)::text, 5, '0'), g % 5, g FROM generate_series(8001, 30000) g WHERE g / 5 % 4 = 0;
CREATE INDEX ON pair_some USING fpbtree (t COLLATE "C", k);
ANALYZE pair, pair_some;
-- such fences of an index that has grown
CREATE TABLE grown (t text, k int, id int);
CREATE INDEX ON grown USING fpbtree (t COLLATE "C", k, id);
INSERT INTO grown SELECT 't' || lpad((g % 10000)::text, 6, '0'), g / 10000, g FROM generate_series(1, 30000) g WHERE g % 3 <> 1 ORDER BY hashint4(g);
ANALYZE grown;
SELECT faults('SELECT o.t, p.id FROM (SELECT ''t'' || lpad((g / 2)::text, 6, ''0'') AS t, g % 2 * 9 AS k FROM generate_series(1, 9000) g) o LEFT JOIN grown p ON p.t = o.t COLLATE "C" AND p.k = o.k', false, '{40,300,6000}');
SELECT fault FROM unnest(ARRAY['SELECT o.t, o.k, p.id FROM (SELECT ''t'' || lpad((g / 5)::text, 5, ''0'') AS t, g % 5 AS k FROM generate_series(1, 30000) g WHERE g % 5 < 4) o LEFT JOIN pair_some p ON p.t = o.t COLLATE "C" AND p.k = o.k',
    'SELECT o.id, p.id FROM pair o JOIN pair p ON p.t = o.t COLLATE "C" AND p.k = o.k WHERE o.id % 7 < 5',
    'SELECT o.id, p.id FROM (SELECT * FROM pair ORDER BY hashint4(id) LIMIT 3000) o LEFT JOIN pair p ON p.t = o.t COLLATE "C" AND p.k = o.k + 1']) query, faults(query, false, '{50,1000,10000}') fault;
-- Another equality of a column of the key is a filter, and does not let the
-- columns' values combine: of 30 rows of each a, only those that are wanted
-- are read.
CREATE TABLE wide_o AS SELECT g AS a, g % 30 AS b FROM generate_series(1, 200) g;
CREATE TABLE wide_i AS SELECT a, b FROM generate_series(1, 200) a, generate_series(0, 29) b;
CREATE INDEX ON wide_i USING fpbtree (a, b);
ANALYZE wide_o, wide_i;
SELECT fault FROM unnest(ARRAY['SELECT o.a, i.b FROM wide_o o JOIN wide_i i ON i.a = o.a AND i.b = o.b AND i.b = ANY (ARRAY(SELECT generate_series(0, 25)))',
    'SELECT o.a, i.b FROM wide_o o LEFT JOIN wide_i i ON i.a = o.a AND i.b = o.b AND i.b = 7', 'SELECT o.a, i.b FROM wide_o o LEFT JOIN wide_i i ON i.a = o.a AND i.b = o.b AND i.b IN (3, 7) AND i.b < 5']) query, faults(query) fault;
CREATE FUNCTION inner_rows(query text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
    plan jsonb;
BEGIN
    PERFORM set_joins('batched');
    EXECUTE 'EXPLAIN (ANALYZE, FORMAT JSON) ' || query INTO plan;
    RETURN jsonb_path_query_first(plan, '$[0].Plan.** ? (@."Relation Name" == "wide_i")."Actual Rows"')::numeric::int;
END $$;
SELECT inner_rows('SELECT o.a, i.b FROM wide_o o JOIN wide_i i ON i.a = o.a AND i.b = o.b AND i.b = ANY (ARRAY(SELECT generate_series(0, 25)))');
-- no rows on one side
SELECT fault FROM unnest(ARRAY['SELECT * FROM o JOIN i ON i.k = o.k WHERE o.id < 0', 'SELECT * FROM o JOIN i ON i.k = o.k AND i.id + o.id > 100000',
    'SELECT * FROM o JOIN i ON i.k = o.k + 100000', 'SELECT * FROM o LEFT JOIN i ON i.k = o.k WHERE o.id < 0']) query, faults(query, true) fault;
SELECT fault FROM unnest(ARRAY['SELECT * FROM o LEFT JOIN i ON i.k = o.k AND i.x = 100', 'SELECT * FROM o LEFT JOIN i ON i.k = o.k WHERE o.k IS NULL',
    'SELECT * FROM o WHERE NOT EXISTS (SELECT FROM i WHERE i.k = o.k + 100000)']) query, faults(query) fault;
-- keys that are too long for the index
CREATE TABLE long_keys AS SELECT n, CASE n % 3 WHEN 0 THEN wide || repeat(md5(n::text), 3000) ELSE 't' || n END AS t FROM o, generate_series(1, 20) n WHERE id = 3;
INSERT INTO long_keys SELECT n, repeat('t', n * 1000) FROM generate_series(1, 100) n;
SELECT faults('SELECT l.*, i.id FROM long_keys l LEFT JOIN i ON i.t = l.t AND i.x > 2');

-- What may be joined in batches or not, be it that parts of the query are cheaper
-- otherwise.
CREATE FUNCTION other_answers(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
    expected text;
BEGIN
    PERFORM set_joins('loops');
    expected := rows_of(query);
    PERFORM set_joins('batched');
    IF rows_of(query) <> expected THEN
        RETURN NEXT query;
    END IF;
END $$;
SELECT other_answers(query) FROM unnest(ARRAY[
    'SELECT o.id, s.* FROM o LEFT JOIN (SELECT i.k, i.x, j.id, coalesce(j.x, -1) AS z FROM i LEFT JOIN j ON j.k = i.k) s ON s.k = o.k AND s.x = o.x',
    'SELECT o.id, s.* FROM o LEFT JOIN (SELECT i.k, i.x, j.id, coalesce(j.x, -1) AS z FROM i JOIN j ON j.k = i.k AND j.id % 3 = 0) s ON s.k = o.k AND s.x = o.x LEFT JOIN u ON u.id = s.z',
    'SELECT o.id FROM o WHERE EXISTS (SELECT FROM i JOIN j ON j.k = i.x WHERE i.k = o.k AND j.x = o.x)',
    'SELECT o.id, u.id FROM o, u WHERE u.id = (SELECT min(i.id) FROM i WHERE i.k = o.k)',
    'SELECT o.id, s.* FROM o LEFT JOIN LATERAL (SELECT i.id, j.id AS j, j.x FROM i JOIN j ON j.k = i.k WHERE i.k = o.k AND i.x = 3 ORDER BY i.id, j.id LIMIT 3) s ON true',
    'SELECT o.id, s.* FROM (SELECT * FROM o WHERE id < 30) o LEFT JOIN LATERAL (SELECT i.id, j.id AS j, j.x FROM i LEFT JOIN j ON j.k = i.k AND j.x > o.x WHERE i.id < o.id OFFSET 0) s ON true',
    -- scans whose output depends on the outer row, or has a subplan
    'SELECT o.id, s.* FROM o LEFT JOIN LATERAL (SELECT i.k, coalesce(i.x, o.x) + o.id AS z FROM i) s ON s.k = o.k',
    'SELECT o.id, s.* FROM o LEFT JOIN LATERAL (SELECT i AS i, i.k, o.x AS z FROM i) s ON s.k = o.k',
    'SELECT t.n, (SELECT sum(hashtext(q::text)::int8) FROM (SELECT o.*, s.* FROM o
        LEFT JOIN (SELECT i.k AS ik, (SELECT count(*) FROM j JOIN (SELECT k, max(id) m FROM u WHERE u.x = t.n GROUP BY k, id % 3 OFFSET 0) uu ON uu.m > j.x WHERE j.k = i.k) AS z
            FROM i WHERE i.x = 2) s ON s.ik = o.k) q) FROM generate_series(0, 2) t(n)',
    -- an outer side that refers to the inner one
    'SELECT i.id, s.y FROM i, LATERAL (SELECT i.x + 1 AS y OFFSET 0) s WHERE i.k = s.y',
    'SELECT i.id, s.y FROM i LEFT JOIN LATERAL (SELECT i.x + u.x AS y, u.id FROM u WHERE u.k = i.k) s ON i.k = s.id JOIN j ON j.k = i.k AND j.x = s.y']) query;

-- Not where rows are locked or changed, but in what is inserted, and in subqueries.
CREATE TABLE changed (LIKE i);
CREATE INDEX ON changed USING fpbtree (k);
CREATE FUNCTION is_batched_there(statement text) RETURNS bool LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_joins('batched');
    RETURN is_batched(statement);
END $$;
SELECT is_batched_there(statement), statement FROM unnest(ARRAY[
    'SELECT o.id, i.id FROM o JOIN i ON i.k = o.k FOR UPDATE',
    'SELECT o.id, i.id FROM o JOIN i ON i.k = o.k FOR KEY SHARE OF o',
    'SELECT s.* FROM (SELECT o.id FROM o JOIN i ON i.k = o.k) s FOR UPDATE',
    'UPDATE i SET c = c FROM o WHERE i.k = o.k',
    'UPDATE o SET t = i.t FROM i WHERE i.k = o.k',
    'DELETE FROM i USING o WHERE i.k = o.k',
    'MERGE INTO i USING o ON i.k = o.k WHEN MATCHED THEN UPDATE SET c = o.t',
    'INSERT INTO changed SELECT i.* FROM o JOIN i ON i.k = o.k',
    'INSERT INTO changed (id) WITH s AS (SELECT i.id FROM o JOIN i ON i.k = o.k) SELECT * FROM s RETURNING id',
    'CREATE TABLE made AS SELECT o.id FROM o JOIN i ON i.k = o.k']) WITH ORDINALITY s(statement, n) ORDER BY n;
CREATE FUNCTION changes(statement text, how text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    answer text;
BEGIN
    TRUNCATE changed;
    INSERT INTO changed SELECT * FROM i WHERE id % 4 = 0;
    PERFORM set_joins(how);
    EXECUTE statement;
    RETURN rows_of('SELECT * FROM changed');
END $$;
SELECT statement FROM unnest(ARRAY[
    'INSERT INTO changed SELECT i.* FROM o JOIN i ON i.k = o.k',
    'INSERT INTO changed SELECT c.* FROM o JOIN changed c ON c.k = o.k',
    'UPDATE changed SET x = (SELECT count(*) FROM u JOIN i ON i.k = u.id WHERE u.x = changed.x)',
    'UPDATE changed SET c = s.t FROM (SELECT o.id, i.t FROM o JOIN i ON i.k = o.k ORDER BY 1, 2 LIMIT 70) s WHERE s.id = changed.id',
    'DELETE FROM changed WHERE id IN (SELECT o.id FROM o JOIN i ON i.k = o.k OFFSET 0)',
    'MERGE INTO changed c USING (SELECT DISTINCT o.id FROM o JOIN i ON i.k = o.k) s ON c.id = s.id WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT (id) VALUES (s.id)',
    'WITH d AS (DELETE FROM changed WHERE x > 3 RETURNING *) INSERT INTO changed (id, k) SELECT i.id, i.k FROM d JOIN i ON i.k = d.k']) statement
WHERE changes(statement, 'batched') <> changes(statement, 'loops');

-- Cursors.
BEGIN;
SELECT set_joins('batched');
DECLARE c CURSOR FOR SELECT g, i.x FROM generate_series(1, 4) g LEFT JOIN i ON i.k = g AND i.id < 700;
FETCH 3 FROM c;
-- another scan of the same index meanwhile
SELECT count(*) FROM o JOIN i ON i.k = o.k;
SAVEPOINT s;
SELECT count(*) FROM o JOIN i ON i.k = o.k AND 1 / (i.x - 5) > o.x;
ROLLBACK TO s;
FETCH ALL FROM c;
CLOSE c;
DECLARE c SCROLL CURSOR WITH HOLD FOR SELECT g, i.x FROM generate_series(1, 4) g LEFT JOIN i ON i.k = g AND i.id < 150;
FETCH ALL FROM c;
FETCH BACKWARD 2 FROM c;
COMMIT;
FETCH FIRST FROM c;
CLOSE c;

-- Prepared statements with generic plans, and loops.
CREATE FUNCTION prepared(how text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    answers text := '';
    n int;
    r record;
    total int8;
BEGIN
    PERFORM set_joins(how);
    PERFORM set_config('plan_cache_mode', 'force_generic_plan', true);
    FOR n IN 1..10 LOOP
        SELECT sum(hashtext(ROW(o.id, i.c)::text)::int8) INTO total FROM o LEFT JOIN i ON i.k = o.k + n AND i.x = o.x AND i.id > n * 10 WHERE o.x <> n;
        answers := answers || ' ' || total;
    END LOOP;
    FOR r IN SELECT o.id, i.id AS other FROM o JOIN i ON i.k = o.k WHERE i.x = 4 ORDER BY o.id, i.id LOOP
        BEGIN
            SELECT count(*) + r.other INTO STRICT total FROM u JOIN j ON j.k = u.id WHERE u.x = r.id % 5 AND u.id < r.id AND 1 / (r.other % 3) = 1;
            answers := answers || ' ' || total;
        EXCEPTION WHEN division_by_zero THEN
            answers := answers || ' 0';
        END;
        EXIT WHEN r.id > 60;
    END LOOP;
    RETURN answers;
END $$;
SELECT prepared('batched') = prepared('loops') AS same;
BEGIN;
SELECT set_joins('batched');
SET LOCAL plan_cache_mode = force_generic_plan;
PREPARE p(int, int) AS SELECT count(*), sum(i.id) FROM o LEFT JOIN i ON i.k = o.k AND i.x = $1 WHERE o.x > $2;
SELECT is_batched('EXECUTE p(1, 2)');
EXECUTE p(3, 4);
EXECUTE p(NULL, 4);
EXECUTE p(3, 400);
DEALLOCATE p;
ROLLBACK;

-- Which columns a key has.
CREATE FUNCTION batch_key(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    line text;
BEGIN
    PERFORM set_joins('batched');
    FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
        IF line ~ 'Batch Key' THEN
            RETURN trim(line);
        END IF;
    END LOOP;
    RETURN NULL;
END $$;
CREATE TABLE one_index AS SELECT * FROM i;
CREATE INDEX ON one_index USING fpbtree (x, k DESC, t);
ANALYZE one_index;
SELECT batch_key(query), query FROM unnest(ARRAY[
    'SELECT o.id, i.c FROM o JOIN one_index i ON i.x = o.x AND i.k > o.k',
    'SELECT o.id, i.c FROM o JOIN one_index i ON i.x = o.x AND i.k = o.k',
    'SELECT o.id, i.id FROM o LEFT JOIN one_index i ON i.x = o.x AND i.k = o.k AND i.t = o.t',
    'SELECT o.id, i.id FROM o LEFT JOIN one_index i ON i.x = 5 AND i.k = o.k AND i.t = o.t',
    'SELECT o.id, i.id FROM o LEFT JOIN one_index i ON i.x = o.x AND i.k = 31 AND i.t = o.t']) WITH ORDINALITY q(query, n) ORDER BY n;
CREATE FUNCTION in_json(query text) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    plan jsonb;
BEGIN
    PERFORM set_joins('batched');
    EXECUTE 'EXPLAIN (ANALYZE, FORMAT JSON) ' || query INTO plan;
    RETURN (SELECT jsonb_object_agg(key, value) FROM jsonb_each(plan #> '{0,Plan}') WHERE key IN ('Batch Key', 'Batches', 'Probes', 'Distinct Keys'));
END $$;
SELECT in_json('SELECT o.id, i.c FROM o JOIN one_index i ON i.k = o.k AND i.x = o.x');

-- Joined rows in the order of the outer side, where that saves a sort.
SET client_min_messages = error;
CREATE UNIQUE INDEX o_id ON o USING fpbtree (id);
SET client_min_messages = warning;
CREATE INDEX o_x ON o USING fpbtree (x, k);
CREATE FUNCTION in_order(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    line text;
    sorted bool := false;
    ordered bool := false;
    answer text;
BEGIN
    PERFORM set_config('enable_' || setting, 'off', true) FROM unnest('{sort,incremental_sort,hashagg}'::text[]) setting;
    FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
        sorted := sorted OR line ~ 'Sort';
        ordered := ordered OR line ~ 'Keeps Order';
    END LOOP;
    IF ordered <> (current_setting('fpbtree.enable_batch_join') = 'on') OR sorted THEN
        RETURN format('ordered: %s, sorted: %s', ordered, sorted);
    END IF;
    EXECUTE format('SELECT count(*) || '' rows, '' || coalesce(md5(string_agg(q::text, '' '')), '''') FROM (%s) q', query) INTO answer;
    RETURN answer;
END $$;
CREATE FUNCTION faults_of_order(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
    expected text;
    answer text;
    n int;
    single int;
BEGIN
    PERFORM set_joins('loops');
    expected := in_order(query);
    IF expected !~ '^[1-9]\d* rows' THEN
        RETURN NEXT expected || ': ' || query;
    END IF;
    PERFORM set_joins('batched');
    FOREACH single IN ARRAY '{0,5}'::int[] LOOP
        PERFORM set_config('fpbtree.join_single_rows', single::text, true);
        FOREACH n IN ARRAY '{1,7,1000}'::int[] LOOP
            PERFORM set_config('fpbtree.join_batch_rows', n::text, true);
            answer := in_order(query);
            IF answer <> expected THEN
                RETURN NEXT format('%s in batches of %s, not %s: %s', answer, n, expected, query);
            END IF;
        END LOOP;
    END LOOP;
END $$;
CREATE TABLE ordered (query text);
INSERT INTO ordered SELECT unnest(ARRAY[
    'SELECT o.*, i.* FROM o JOIN i ON i.k = o.k ORDER BY o.id',
    'SELECT o.id, i.c FROM o LEFT JOIN i ON i.k = o.k AND i.x > o.x ORDER BY o.id DESC',
    'SELECT o.id, i.c, o.ctid, i.ctid, i.tableoid, i FROM o LEFT JOIN i ON i.k = o.k AND i.x = o.x ORDER BY o.id',
    'SELECT o.wide, i.c FROM o JOIN i ON i.k = o.k ORDER BY o.id',
    'SELECT o.id, j.x FROM o LEFT JOIN j ON j.k = o.k AND j.x <> o.x ORDER BY o.id',
    'SELECT o.id, u.* FROM o LEFT JOIN u ON u.id = o.k ORDER BY o.id',
    'SELECT o.id FROM o WHERE EXISTS (SELECT FROM i WHERE i.k = o.k AND i.x > o.x) ORDER BY o.id',
    'SELECT o.id FROM o WHERE NOT EXISTS (SELECT FROM i WHERE i.k = o.k AND i.x = o.x) ORDER BY o.id DESC',
    'SELECT o.id, i.c FROM o LEFT JOIN i ON i.k = o.k WHERE i.id IS NULL OR i.x > o.x ORDER BY o.id',
    'SELECT o.id, i.c FROM o JOIN i ON i.k = o.k ORDER BY o.id LIMIT 150',
    'SELECT o.x, o.k, i.id FROM o JOIN i ON i.k = o.id ORDER BY o.x, o.k',
    'SELECT o.x, count(*), sum(i.id) FROM o JOIN i ON i.k = o.k GROUP BY o.x',
    'SELECT o.id, i.c, j.id FROM o JOIN i ON i.k = o.k AND i.x = o.x LEFT JOIN j ON j.k = i.x ORDER BY o.id',
    'SELECT g, (SELECT string_agg(s::text, '','') FROM (SELECT o.id, i.c FROM o JOIN i ON i.k = o.k WHERE o.x = g ORDER BY o.id) s) FROM generate_series(0, 9) g']);
SELECT fault FROM ordered, faults_of_order(query) fault;
-- little memory: rows that can't be kept are joined one by one
SET work_mem = '64kB';
SELECT fault FROM ordered, faults_of_order(query) fault;
-- and later batches are smaller, so that few rows are read twice
CREATE TABLE many_each AS SELECT g % 20 AS k, repeat('x', 90) AS w FROM generate_series(1, 2000) g;
CREATE INDEX ON many_each USING fpbtree (k);
ANALYZE many_each;
CREATE FUNCTION read_in_order(query text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
    plan jsonb;
BEGIN
    PERFORM set_joins('batched');
    PERFORM set_config('enable_' || setting, 'off', true) FROM unnest('{sort,incremental_sort,hashagg}'::text[]) setting;
    EXECUTE 'EXPLAIN (ANALYZE, FORMAT JSON) ' || query INTO plan;
    RETURN sum(floor((node->>'Actual Rows')::numeric * (node->>'Actual Loops')::numeric)) FROM jsonb_path_query(plan, 'strict $[0].Plan.** ? (@."Relation Name" == "many_each")') node;
END $$;
SELECT read_in_order('SELECT o.id, m.w FROM o JOIN many_each m ON m.k = o.x ORDER BY o.id') BETWEEN 40000 AND 41000 AS few_twice;
SELECT faults_of_order('SELECT o.id, m.w FROM o JOIN many_each m ON m.k = o.x ORDER BY o.id');
RESET work_mem;
DROP INDEX o_id, o_x;

-- Parallel plans.
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2;
SELECT fault FROM (SELECT query, row_number() OVER () AS n FROM queries) q, faults(query, false, '{100}') fault WHERE n % 4 = 1 AND query !~ 'generate_series|UNION|LIMIT|FETCH';
RESET max_parallel_workers_per_gather;
SET max_parallel_workers_per_gather = 0;
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET min_parallel_table_scan_size;
SET debug_parallel_query = regress;
SELECT fault FROM (SELECT * FROM queries LIMIT 12) q, faults(query) fault;
RESET debug_parallel_query;

-- Partitions.
CREATE TABLE po (id int, k int, t text) PARTITION BY RANGE (k);
CREATE TABLE pi (id int, k int, t text) PARTITION BY RANGE (k);
SELECT format('CREATE TABLE p%s_%s PARTITION OF p%s FOR VALUES FROM (%s) TO (%s)', t, n, t, n * 20, n * 20 + 20) FROM unnest('{o,i}'::text[]) t, generate_series(0, 4) n \gexec
-- columns in another order
ALTER TABLE pi DETACH PARTITION pi_2;
DROP TABLE pi_2;
CREATE TABLE pi_2 (t text, dropped int, k int, id int);
ALTER TABLE pi_2 DROP COLUMN dropped;
ALTER TABLE pi ATTACH PARTITION pi_2 FOR VALUES FROM (40) TO (60);
CREATE INDEX ON pi USING fpbtree (k, id);
INSERT INTO po SELECT id, id * 7 % 100, 't' || id FROM generate_series(1, 300) id;
INSERT INTO pi SELECT id, id * 3 % 97, 't' || id FROM generate_series(1, 700) id;
ANALYZE po, pi;
SET enable_partitionwise_join = on;
CREATE TABLE of_partitions (query text);
INSERT INTO of_partitions SELECT unnest(ARRAY['SELECT po.*, pi.* FROM po JOIN pi ON pi.k = po.k', 'SELECT po.ctid, po.t, pi.t, po.tableoid, pi.tableoid, pi.ctid FROM po LEFT JOIN pi ON pi.k = po.k AND pi.id % 3 > po.id % 3',
    'SELECT po.* FROM po WHERE NOT EXISTS (SELECT FROM pi WHERE pi.k = po.k AND pi.id % 5 = 0)', 'SELECT po.* FROM po WHERE EXISTS (SELECT FROM pi WHERE pi.k = po.k AND pi.id > 690)',
    'SELECT po.id, pi.id, i.id FROM po JOIN pi ON pi.k = po.k LEFT JOIN i ON i.k = pi.k AND i.x = 3']);
SELECT fault FROM of_partitions, faults(query, false, '{50}') fault;
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET min_parallel_table_scan_size = 0;
SELECT fault FROM of_partitions, faults(query, false, '{50}') fault;
SET max_parallel_workers_per_gather = 0;
RESET parallel_setup_cost;
RESET min_parallel_table_scan_size;
RESET enable_partitionwise_join;

-- Appendrels: a scan of each child that may have rows of the batch.
CREATE FUNCTION scans(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    plan jsonb;
BEGIN
    PERFORM set_joins('batched');
    EXECUTE 'EXPLAIN (ANALYZE, FORMAT JSON) ' || query INTO plan;
    RETURN (SELECT string_agg(scan->>'Relation Name' || CASE WHEN (scan->>'Actual Loops')::numeric = 0 THEN ' (never)' ELSE '' END, ', ' ORDER BY n)
        FROM jsonb_path_query(plan, 'strict $[0].Plan.** ? (@."Custom Plan Provider" == "Batched Nested Loop").Plans[0].Plans[1].Plans[*]') WITH ORDINALITY s(scan, n));
END $$;
CREATE FUNCTION plan_of(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
    line text;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
        IF line !~ 'Disabled' THEN
            RETURN NEXT line;
        END IF;
    END LOOP;
END $$;
-- by a hash of the key
CREATE TABLE by_hash (id int, k int, x int, t text, c text) PARTITION BY HASH (k);
SELECT format('CREATE TABLE by_hash_%s PARTITION OF by_hash FOR VALUES WITH (MODULUS 4, REMAINDER %s)', n, n) FROM generate_series(0, 3) n \gexec
CREATE INDEX ON by_hash USING fpbtree (k, x);
-- by lists, with partitions for NULL and for the rest
CREATE TABLE by_list (c text, id int, k int, x int, t text) PARTITION BY LIST (x);
CREATE TABLE by_list_1 PARTITION OF by_list FOR VALUES IN (1, 3, 5);
CREATE TABLE by_list_2 PARTITION OF by_list FOR VALUES IN (NULL, 2);
CREATE TABLE by_list_3 PARTITION OF by_list DEFAULT;
CREATE INDEX ON by_list USING fpbtree (x, k DESC) INCLUDE (t);
CREATE INDEX ON by_list USING fpbtree (k);
-- by ranges of the key, with partitions of partitions, other columns and indexes, and an empty one
CREATE TABLE by_range (id int, k int, x int, t text, c text) PARTITION BY RANGE (k);
CREATE TABLE by_range_1 PARTITION OF by_range FOR VALUES FROM (MINVALUE) TO (40);
CREATE TABLE by_range_2 (dropped int, c text, k int, gone text, t text, x int, id int) PARTITION BY HASH (id);
ALTER TABLE by_range_2 DROP COLUMN dropped, DROP COLUMN gone;
ALTER TABLE by_range ATTACH PARTITION by_range_2 FOR VALUES FROM (40) TO (70);
CREATE TABLE by_range_2a PARTITION OF by_range_2 FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE by_range_2b (id int, x int, gone int, k int, t text, c text);
ALTER TABLE by_range_2b DROP COLUMN gone;
ALTER TABLE by_range_2 ATTACH PARTITION by_range_2b FOR VALUES WITH (MODULUS 2, REMAINDER 1);
CREATE TABLE by_range_3 PARTITION OF by_range FOR VALUES FROM (70) TO (100);
CREATE TABLE by_range_4 PARTITION OF by_range FOR VALUES FROM (1000) TO (2000);
CREATE TABLE by_range_5 PARTITION OF by_range DEFAULT;
CREATE INDEX ON by_range_1 USING fpbtree (k, x);
CREATE INDEX ON by_range_2a USING fpbtree (k, x, t);
CREATE INDEX ON by_range_2b USING fpbtree (k) INCLUDE (x);
CREATE INDEX ON by_range_2b USING fpbtree (x, k);
CREATE INDEX ON by_range_3 USING fpbtree (k, x, id);
CREATE INDEX ON by_range_4 USING fpbtree (k, x);
CREATE INDEX ON by_range_5 USING fpbtree (k, id);
-- by something else
CREATE TABLE by_id (id int, k int, x int, t text, c text) PARTITION BY RANGE (id);
SELECT format('CREATE TABLE by_id_%s PARTITION OF by_id FOR VALUES FROM (%s) TO (%s)', n, n * 500, n * 500 + 500) FROM generate_series(0, 3) n \gexec
CREATE INDEX ON by_id USING fpbtree (k, x);
-- inheritance
CREATE TABLE parent (LIKE i);
CREATE TABLE child (other int) INHERITS (parent);
CREATE INDEX ON parent USING fpbtree (k);
CREATE INDEX ON child USING fpbtree (k, x);
INSERT INTO by_hash SELECT * FROM i;
INSERT INTO by_list SELECT c, id, k, CASE WHEN x <> 7 THEN x END, t FROM i;
INSERT INTO by_range SELECT * FROM i;
INSERT INTO by_id SELECT * FROM i;
INSERT INTO parent SELECT * FROM i WHERE id % 2 = 0;
INSERT INTO child SELECT *, id FROM i WHERE id % 2 = 1;
VACUUM ANALYZE by_hash, by_list, by_range, by_id, parent, child;
CREATE TABLE of_appendrels (query text);
INSERT INTO of_appendrels SELECT format(query, t) FROM unnest('{by_hash,by_list,by_range,by_id,parent}'::text[]) t, unnest(ARRAY[
    'SELECT o.*, i.* FROM o JOIN %s i ON i.k = o.k',
    'SELECT o.id, i.c, i.tableoid, i.ctid, i FROM o LEFT JOIN %s i ON i.k = o.k AND i.x > o.x',
    'SELECT o.id, i.c FROM o LEFT JOIN %s i ON i.k = o.k AND i.x = o.x',
    'SELECT o.id, i.c FROM o LEFT JOIN %s i ON i.k = o.k WHERE i.id IS NULL OR i.id %% 3 = o.x',
    'SELECT o.id, i.id FROM o JOIN %s i ON i.k = o.k::int8 + 10000000000 * (o.id %% 2)',
    'SELECT o.id, i.k FROM o JOIN %s i ON i.k = o.k WHERE i.x = 5',
    'SELECT o.id FROM o WHERE EXISTS (SELECT FROM %s i WHERE i.k = o.k AND i.id > o.id * 3)',
    'SELECT o.id FROM o WHERE k IN (SELECT k FROM %s WHERE x > 4)',
    'SELECT o.id FROM o WHERE NOT EXISTS (SELECT FROM %s i WHERE i.k = o.k AND i.x = o.x)',
    'SELECT o.id, (SELECT count(*) FROM u JOIN %s i ON i.k = u.id WHERE u.x = o.x AND i.x <> o.x) FROM o WHERE id < 30',
    'SELECT o.id, i.id, j.id FROM o JOIN %s i ON i.k = o.k AND i.x = o.x LEFT JOIN j ON j.k = i.id',
    'SELECT v.n, i.c FROM (VALUES (1), (NULL), (47), (1500), (149), (-3)) v(n) LEFT JOIN %s i ON i.k = v.n',
    'SELECT count(*) FROM (SELECT o.id FROM o JOIN %s i ON i.k = o.k LIMIT 50) x']) query;
INSERT INTO of_appendrels VALUES
    ('SELECT o.id, i.t FROM o JOIN by_list i ON i.x = o.x AND i.k = o.k'),
    ('SELECT o.id, i.t, i.x FROM o LEFT JOIN by_list i ON i.x = o.x AND i.k > o.k'),
    ('SELECT o.id FROM o WHERE NOT EXISTS (SELECT FROM by_list i WHERE i.x = o.x AND i.k = o.k)'),
    ('SELECT a.id, b.id FROM by_range a JOIN by_hash b ON b.k = a.k AND b.x = a.x'),
    ('SELECT a.id, b.id FROM by_id a LEFT JOIN by_id b ON b.k = a.x AND b.x = a.x'),
    ('SELECT o.id, s.* FROM o JOIN (SELECT id, k, x FROM i UNION ALL SELECT id, k, x FROM j UNION ALL SELECT id, k, x FROM by_range) s ON s.k = o.k'),
    ('SELECT o.id, s.* FROM o LEFT JOIN (SELECT id + 1 AS id, k, t || c AS c FROM i UNION ALL SELECT x, k, t FROM j) s ON s.k = o.k AND s.id > o.id'),
    ('SELECT o.id, i.c FROM o JOIN by_hash i ON i.k = o.k AND i.k = o.id'),
    ('SELECT o.id, i.c FROM o JOIN by_range i ON i.k = abs(o.k - 20)'),
    ('SELECT o.id, i.c FROM o JOIN by_range i ON i.k = o.k WHERE i.k BETWEEN 30 AND 60');
SELECT fault FROM of_appendrels, faults(query, false, '{7,1000}') fault;
SET enable_partition_pruning = off;
SELECT fault FROM (SELECT query, row_number() OVER () AS n FROM of_appendrels) q, faults(query, false, '{300}') fault WHERE n % 3 = 1;
RESET enable_partition_pruning;
-- What is made for one of GEQO's tries is gone before the next.
CREATE TABLE two_indexes (id int, x int) PARTITION BY RANGE (id);
CREATE TABLE two_indexes_1 PARTITION OF two_indexes FOR VALUES FROM (0) TO (700);
CREATE TABLE two_indexes_2 PARTITION OF two_indexes FOR VALUES FROM (700) TO (2000);
INSERT INTO two_indexes SELECT id, id % 11 FROM generate_series(1, 1500) id;
CREATE INDEX ON two_indexes USING fpbtree (id);
CREATE INDEX ON two_indexes USING fpbtree (x, id);
ANALYZE two_indexes;
SET geqo_threshold = 2;
SELECT faults('SELECT o.id, i.id, i.x FROM o JOIN j ON j.id = o.id JOIN two_indexes i ON i.id = o.k AND i.x = j.x JOIN u ON u.id = j.k');
RESET geqo_threshold;
-- Which scans there are, and which have been asked.
SELECT scans(query), query FROM unnest(ARRAY[
    'SELECT o.id, i.id FROM o JOIN by_hash i ON i.k = o.k',
    'SELECT o.id, i.id FROM o JOIN by_hash i ON i.k = o.k WHERE o.k = ANY (''{7,8}'')',
    'SELECT i.id FROM (VALUES (1), (33), (-7)) v(n) JOIN by_range i ON i.k = v.n',
    'SELECT i.id FROM (VALUES (1), (65), (NULL)) v(n) LEFT JOIN by_range i ON i.k = v.n AND i.x = v.n % 9',
    'SELECT i.id FROM (VALUES (1), (65), (200)) v(n) JOIN by_id i ON i.k = v.n',
    'SELECT i.id FROM (VALUES (1), (65), (200)) v(n) JOIN by_id i ON i.k = v.n WHERE i.id < 700',
    'SELECT i.id FROM (VALUES (1, 3), (2, 5), (3, 1)) v(n, x) JOIN by_list i ON i.k = v.n AND i.x = v.x',
    'SELECT i.id FROM (VALUES (1), (2)) v(n) JOIN parent i ON i.k = v.n']) WITH ORDINALITY q(query, n) ORDER BY n;
SELECT batch_key(query), query FROM unnest(ARRAY[
    'SELECT o.id, i.id FROM o JOIN by_hash i ON i.k = o.k AND i.x = o.x',
    'SELECT o.id, i.id FROM o JOIN by_range i ON i.k = o.k AND i.x = o.x',
    'SELECT o.id, i.id FROM o JOIN by_range i ON i.k = o.k AND i.x = o.x AND i.t = o.t WHERE o.k < 10 AND i.k < 10']) WITH ORDINALITY q(query, n) ORDER BY n;
BEGIN;
SELECT set_joins('batched');
SELECT plan_of('SELECT o.id, i.t FROM o LEFT JOIN by_range i ON i.k = o.k AND i.id > o.id WHERE i.k IS NULL OR i.k < 70');
ROLLBACK;
-- Not where a child has no such index, or one in another order, or is sampled.
CREATE TABLE odd_one (id int, k int) PARTITION BY RANGE (id);
CREATE TABLE odd_one_1 PARTITION OF odd_one FOR VALUES FROM (0) TO (1000);
CREATE TABLE odd_one_2 PARTITION OF odd_one FOR VALUES FROM (1000) TO (2000);
INSERT INTO odd_one SELECT id, k FROM i;
CREATE INDEX ON odd_one_1 USING fpbtree (k);
ANALYZE odd_one;
SELECT is_batched_there('SELECT o.id, i.id FROM o JOIN odd_one i ON i.k = o.k');
CREATE INDEX odd_index ON odd_one_2 USING btree (k);
SELECT is_batched_there('SELECT o.id, i.id FROM o JOIN odd_one i ON i.k = o.k');
DROP INDEX odd_index;
CREATE INDEX odd_index ON odd_one_2 USING fpbtree (k DESC);
SELECT is_batched_there('SELECT o.id, i.id FROM o JOIN odd_one i ON i.k = o.k');
DROP INDEX odd_index;
CREATE INDEX odd_index ON odd_one_2 USING fpbtree ((k + 0), k);
SELECT is_batched_there('SELECT o.id, i.id FROM o JOIN odd_one i ON i.k = o.k');
DROP INDEX odd_index;
CREATE INDEX odd_index ON odd_one_2 USING fpbtree (k NULLS FIRST);
SELECT is_batched_there('SELECT o.id, i.id FROM o JOIN odd_one i ON i.k = o.k');
SELECT is_batched_there('SELECT o.id, i.id FROM o JOIN odd_one i TABLESAMPLE BERNOULLI (50) ON i.k = o.k');
SELECT faults('SELECT o.id, i.id FROM o JOIN odd_one i ON i.k = o.k');
-- In the order of the outer side.
SET client_min_messages = error;
CREATE UNIQUE INDEX o_id ON o USING fpbtree (id);
SET client_min_messages = warning;
SELECT fault FROM unnest('{by_hash,by_list,by_range,by_id}'::text[]) t, unnest(ARRAY[
    'SELECT o.id, i.c, i.tableoid, i FROM o LEFT JOIN %s i ON i.k = o.k AND i.id % 2 = o.x % 2 ORDER BY o.id',
    'SELECT o.id FROM o WHERE NOT EXISTS (SELECT FROM %s i WHERE i.k = o.k AND i.x > o.x) ORDER BY o.id DESC']) q, faults_of_order(replace(q, '%s', t)) fault;
SET work_mem = '64kB';
SELECT faults_of_order('SELECT o.id, i, o.t FROM o JOIN by_id i ON i.k = o.k ORDER BY o.id');
RESET work_mem;
DROP INDEX o_id;
-- Parallel plans.
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SELECT fault FROM (SELECT query, row_number() OVER () AS n FROM of_appendrels) q, faults(query, false, '{100}') fault WHERE n % 5 = 1;
SET enable_partitionwise_join = on;
SELECT fault FROM unnest(ARRAY['SELECT a.id, b.id FROM by_range a JOIN by_range b ON b.k = a.k AND b.id > a.id', 'SELECT a.id, b.id, c.id FROM by_hash a JOIN by_hash b ON b.k = a.k AND b.x = a.x LEFT JOIN by_id c ON c.k = b.x']) q, faults(q, false, '{100}') fault;
SET max_parallel_workers_per_gather = 0;
SELECT fault FROM unnest(ARRAY['SELECT a.id, b.id FROM by_range a JOIN by_range b ON b.k = a.k AND b.id > a.id', 'SELECT a.id, b.id, c.id FROM by_hash a JOIN by_hash b ON b.k = a.k AND b.x = a.x LEFT JOIN by_id c ON c.k = b.x']) q, faults(q, false, '{100}') fault;
RESET enable_partitionwise_join;
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET min_parallel_table_scan_size;
-- Generic plans: what initial pruning leaves, nothing included, and what is attached and detached meanwhile.
CREATE TABLE keys_elsewhere (id int, k int, x int) PARTITION BY RANGE (id);
CREATE TABLE keys_elsewhere_1 PARTITION OF keys_elsewhere FOR VALUES FROM (MINVALUE) TO (700);
CREATE TABLE keys_elsewhere_2 PARTITION OF keys_elsewhere FOR VALUES FROM (700) TO (MAXVALUE);
INSERT INTO keys_elsewhere SELECT id, k, x FROM i;
CREATE INDEX ON keys_elsewhere_1 USING fpbtree (k);
CREATE INDEX ON keys_elsewhere_2 USING fpbtree (x, k);
ANALYZE keys_elsewhere;
CREATE FUNCTION executed(how text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
    n int;
BEGIN
    PERFORM set_joins(how);
    PERFORM set_config('plan_cache_mode', 'force_generic_plan', true);
    FOREACH n IN ARRAY '{1,2,3,6,77,NULL}'::int[] LOOP
        RETURN NEXT format('%s: %s', n, (SELECT ROW(count(*), sum(i.id), sum(hashtext(i.c))) FROM o LEFT JOIN by_list i ON i.k = o.k AND i.x = n));
        RETURN NEXT format('%s: %s', n, (SELECT ROW(count(*), sum(i.id), sum(hashtext(i.c))) FROM o JOIN by_id i ON i.k = o.k AND i.id < n * 300 AND i.x > n));
        RETURN NEXT format('%s: %s', n, (SELECT ROW(count(*), sum(i.id)) FROM o JOIN by_range i ON i.k = o.k + n AND i.x = n));
        RETURN NEXT format('%s: %s', n, (SELECT ROW(count(*), sum(i.id)) FROM o JOIN keys_elsewhere i ON i.k = o.k AND i.x = 5 AND i.id > n * 300));
    END LOOP;
END $$;
SELECT (SELECT array_agg(e) FROM executed('batched') e) = (SELECT array_agg(e) FROM executed('loops') e) AS same;
BEGIN;
SELECT set_joins('batched');
SET LOCAL plan_cache_mode = force_generic_plan;
PREPARE p(int) AS SELECT count(*), count(i.id), sum(i.id) FROM o LEFT JOIN by_list i ON i.k = o.k AND i.x = $1;
SELECT is_batched('EXECUTE p(1)');
EXECUTE p(3);
SELECT trim(line) FROM plan_of('EXECUTE p(3)') line WHERE line ~ 'Batch|Append|Removed';
-- no partition may have this
ALTER TABLE by_list DETACH PARTITION by_list_3;
EXECUTE p(4);
SELECT trim(line) FROM plan_of('EXECUTE p(4)') line WHERE line ~ 'Batch|Append|Removed|->  Index';
EXECUTE p(3);
ALTER TABLE by_list ATTACH PARTITION by_list_3 DEFAULT;
EXECUTE p(4);
ALTER TABLE by_list DETACH PARTITION by_list_1;
EXECUTE p(3);
DEALLOCATE p;
ROLLBACK;
-- Inner rows that nobody wants any more, in several children.
CREATE TABLE frequent_parts (k int, n int) PARTITION BY LIST (n);
SELECT format('CREATE TABLE frequent_parts_%s PARTITION OF frequent_parts FOR VALUES IN (%s)', n, n) FROM generate_series(0, 2) n \gexec
INSERT INTO frequent_parts SELECT CASE WHEN g <= 200 THEN g * 2 WHEN g = 201 THEN 2 * n + 1 ELSE 99 + n END, n FROM generate_series(1, 1200) g, generate_series(0, 2) n;
CREATE INDEX ON frequent_parts USING fpbtree (k);
ANALYZE frequent_parts;
SELECT faults('SELECT s FROM generate_series(1, 400) s WHERE EXISTS (SELECT FROM frequent_parts f WHERE f.k = s)');
SELECT faults('SELECT s FROM generate_series(1, 400) s WHERE NOT EXISTS (SELECT FROM frequent_parts f WHERE f.k = s)');
SELECT faults('SELECT s FROM (SELECT g * 2 AS s FROM generate_series(1, 48) g UNION ALL VALUES (5), (99)) o WHERE EXISTS (SELECT FROM frequent_parts f WHERE f.k = s)');
-- Ends before the last row, and errors, in any of the scans.
CREATE FUNCTION cancelled_parts() RETURNS int LANGUAGE plpgsql AS $$
DECLARE
    n int := 0;
    step int;
BEGIN
    PERFORM set_joins('batched');
    FOR step IN 0..10 LOOP
        BEGIN
            PERFORM 1 / (i.x - step) FROM o JOIN by_id i ON i.k = o.k AND i.id >= step * 150;
        EXCEPTION WHEN division_by_zero THEN
            n := n + 1;
        END;
        PERFORM FROM o JOIN by_hash i ON i.k = o.k LIMIT step * 100;
        PERFORM FROM o WHERE EXISTS (SELECT FROM by_id i JOIN by_list j ON j.k = i.k WHERE i.x = o.x LIMIT step);
    END LOOP;
    RETURN n;
END $$;
SELECT cancelled_parts();
BEGIN;
SELECT set_joins('batched');
DECLARE c CURSOR FOR SELECT g, i.id FROM generate_series(1, 4) g JOIN by_id i ON i.k = g AND i.id < 1200;
FETCH 3 FROM c;
SELECT count(*) FROM o JOIN by_id i ON i.k = o.k;
FETCH ALL FROM c;
COMMIT;

-- Row security: a function that tells what it sees is shown no row that is hidden.
CREATE FUNCTION tell(text) RETURNS bool LANGUAGE plpgsql COST 0.0000001 AS $$
BEGIN
    IF $1 LIKE 'hidden%' THEN
        RAISE WARNING '%', $1;
    END IF;
    RETURN true;
END $$;
CREATE TABLE guarded AS SELECT id, k, x, CASE x WHEN 4 THEN 'hidden ' ELSE 'row ' END || id AS c FROM i;
CREATE INDEX ON guarded USING fpbtree (k, x);
ANALYZE guarded;
ALTER TABLE guarded ENABLE ROW LEVEL SECURITY;
CREATE POLICY p ON guarded USING (x <> 4);
CREATE ROLE regress_fpbtree_join;
GRANT USAGE ON SCHEMA batch_join TO regress_fpbtree_join;
GRANT SELECT ON ALL TABLES IN SCHEMA batch_join TO regress_fpbtree_join;
SET ROLE regress_fpbtree_join;
SELECT fault FROM unnest(ARRAY['SELECT o.id, g.* FROM o JOIN guarded g ON g.k = o.k WHERE tell(g.c)', 'SELECT o.id, g.* FROM o LEFT JOIN guarded g ON g.k = o.k AND tell(g.c) AND g.x > o.x',
    'SELECT g.*, i.id FROM guarded g LEFT JOIN i ON i.k = g.k WHERE tell(g.c)']) query, faults(query) fault;
RESET ROLE;

-- Isolation.
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT faults('SELECT o.id, i.c FROM o LEFT JOIN i ON i.k = o.k');
COMMIT;

-- Errors and cancellations in the middle of a batch leave nothing pinned, nor
-- does an end before the last row: a server with assertions would warn.
CREATE FUNCTION cancelled() RETURNS int LANGUAGE plpgsql AS $$
DECLARE
    n int := 0;
    step int;
BEGIN
    PERFORM set_joins('batched');
    FOR step IN 0..10 LOOP
        BEGIN
            PERFORM 1 / (i.x - step) FROM o JOIN i ON i.k = o.k AND i.x >= o.x;
        EXCEPTION WHEN division_by_zero THEN
            n := n + 1;
        END;
        BEGIN
            PERFORM o.id FROM o LEFT JOIN i ON i.k = 100 / (o.x - step);
        EXCEPTION WHEN division_by_zero THEN
            n := n + 1;
        END;
        PERFORM FROM o JOIN i ON i.k = o.k LIMIT step;
        PERFORM FROM o WHERE EXISTS (SELECT FROM i JOIN j ON j.k = i.k WHERE i.x = o.x LIMIT step);
    END LOOP;
    RETURN n;
END $$;
SELECT cancelled();
BEGIN;
SELECT set_joins('batched');
SET LOCAL statement_timeout = '50ms';
SELECT count(pg_sleep(0.001 * i.x)) FROM o JOIN i ON i.k = o.k;
ROLLBACK;

-- Inner rows that nobody wants any more: the scan begins again with the keys behind them.
CREATE TABLE frequent AS SELECT CASE WHEN g <= 200 THEN g * 2 ELSE 99 END AS k FROM generate_series(1, 3200) g;
CREATE INDEX ON frequent USING fpbtree (k);
ANALYZE frequent;
SELECT faults('SELECT s FROM generate_series(1, 400) s WHERE EXISTS (SELECT FROM frequent f WHERE f.k = s)');
SELECT faults('SELECT s FROM generate_series(1, 400) s WHERE NOT EXISTS (SELECT FROM frequent f WHERE f.k = s)');

-- What EXPLAIN tells.
CREATE FUNCTION explained(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
    line text;
BEGIN
    PERFORM set_joins('batched');
    FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query LOOP
        IF line ~ 'Nested|Batch|Order|Probes|Distinct Keys|Join Filter' THEN
            RETURN NEXT regexp_replace(line, '^ +| \(actual.*', '', 'g');
        END IF;
    END LOOP;
END $$;
SELECT explained('SELECT o.id FROM o LEFT JOIN i ON i.k = o.k AND i.x > o.x');
SELECT explained('SELECT o.id FROM o JOIN i ON i.k = o.k LIMIT 1000');
SELECT explained('SELECT (SELECT count(*) FROM o JOIN i ON i.k = o.k WHERE o.x = g) FROM generate_series(0, 2) g');
SET fpbtree.join_batch_rows = 100;
SELECT explained('SELECT o.id FROM o JOIN i ON i.k = o.k');
RESET fpbtree.join_batch_rows;
-- memory limits a batch as well
SET work_mem = '64kB';
SELECT line FROM (SELECT explained('SELECT o, i FROM (SELECT k, repeat(''x'', 4000) FROM o OFFSET 0) o JOIN i ON i.k = o.k')) e(line) WHERE line !~ 'Nested';
RESET work_mem;
SET fpbtree.join_batch_rows = 0;
SET fpbtree.join_batch_rows = 1000001;

RESET search_path;
DROP SCHEMA batch_join CASCADE;
DROP ROLE regress_fpbtree_join;
