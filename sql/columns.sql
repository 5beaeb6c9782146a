-- Leaves whose tuples lack their first column, which the heads have: whatever
-- reads one of these gets the whole row.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS fpbtree;
RESET client_min_messages;
CREATE SCHEMA columns;
SET search_path = columns, public;
SET max_parallel_workers_per_gather = 0;
SET jit = off;

-- Of first columns few values and many, NULLs, and the least and the greatest,
-- with which NULLs share a code; behind them values of all lengths, some about
-- as long as what is cut at most, compressed ones, and NULLs.  A byte of a
-- number may be what a text begins with ("s", "t").
CREATE VIEW source AS
    SELECT i, CASE i % 9 WHEN 0 THEN NULL WHEN 1 THEN -32768 WHEN 2 THEN 32767 WHEN 3 THEN 2827 ELSE i % 50 END::int2 AS s,
           CASE i % 11 WHEN 0 THEN NULL WHEN 1 THEN 'infinity' WHEN 2 THEN '-infinity' ELSE date '2026-01-01' + i % 400 END AS d,
           CASE i % 5 WHEN 0 THEN NULL ELSE i % 2 = 0 END AS b, (i * 2654435761 % 4294967296)::oid AS o, chr(33 + i % 90)::"char" AS c,
           CASE i % 13 WHEN 0 THEN NULL WHEN 1 THEN 9223372036854775807 WHEN 2 THEN -9223372036854775808 ELSE i::int8 * 7919 % 1009 - 500 END AS m,
           CASE WHEN i % 21 > 0 THEN i * 31 % 977 END AS k, (i % 40)::int8 AS l, CASE i % 7 WHEN 2 THEN 'NaN' ELSE i % 90 - 50.5 END::float8 AS f,
           CASE WHEN i % 17 > 0 THEN repeat(E'\x0B\x0D', i % 4) || left(md5((i % 700)::text), i % 30) END COLLATE "C" AS t,
           CASE WHEN i % 60 = 0 THEN repeat('x', 2600) || i WHEN i % 8 = 0 THEN repeat(md5(i::text), 40) ELSE left(repeat(md5((i % 300)::text), 36), 100 + i % 1030) END COLLATE "C" AS u,
           md5((i % 900)::text) COLLATE "vi-x-icu" AS z, i * 7 % 1000 / 8.0 AS n, decode(md5((i % 500)::text), 'hex') AS y, ('n' || i % 300)::name AS a
    FROM generate_series(1, 1500) i;
CREATE TABLE rows (LIKE source) WITH (autovacuum_enabled = off);
ALTER TABLE rows ALTER u SET STORAGE main;

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
        EXECUTE format('SELECT count(*) || md5(string_agg(x::text, E''\n'')) FROM (%s) x',
                       CASE by_index WHEN 0 THEN coalesce(by_table, statement) ELSE statement END) INTO line;
        answers := answers || coalesce(line, 'nothing');
    END LOOP;
    FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || statement LOOP
        plan := plan || line;
    END LOOP;
    RETURN CASE WHEN answers[1] IS DISTINCT FROM answers[2] THEN 'differ: ' || statement
                WHEN plan !~ 'using rows_x' THEN 'no plan of the index: ' || statement ELSE 'ok' END;
END $$;

-- All that is asked of an index in this order, and backward, whose columns are
-- these.
CREATE FUNCTION ask(forth text, back text, columns text) RETURNS TABLE (answer text, times bigint) LANGUAGE plpgsql AS $$
DECLARE
    first text := split_part(columns, ', ', 1);
    rest text;
    cond text;
    what text;
    answers text[];
    value record;
BEGIN
    FOREACH cond IN ARRAY ARRAY[forth, back] LOOP
        FOREACH what IN ARRAY ARRAY['true', first || ' IS NULL', first || ' IS NOT NULL'] LOOP
            answers := answers || by_both(format('SELECT %s FROM rows WHERE %s ORDER BY %s', columns, what, cond));
        END LOOP;
        answers := answers || by_both(format('SELECT count(r.u), sum(r.i), %s FROM (SELECT * FROM rows ORDER BY %s) r GROUP BY %s', columns, cond, columns));
    END LOOP;
    FOR value IN EXECUTE format('SELECT %1$s::text AS v FROM rows WHERE i IN (2, 4, 700) AND %1$s IS NOT NULL', first) LOOP
        FOREACH cond IN ARRAY ARRAY['=', '<', '<=', '>', '>='] LOOP
            answers := answers || by_both(format('SELECT %s FROM rows WHERE %s %s %L ORDER BY %s', columns, first, cond, value.v, forth));
        END LOOP;
    END LOOP;
    answers := answers || by_both(format('SELECT p.i, k.total FROM rows p, LATERAL (SELECT sum(q.i) AS total FROM rows q WHERE q.%1$s = p.%1$s) k WHERE p.i %% 9 = 0 ORDER BY p.i', first),
                                  format('SELECT p.i, k.total FROM rows p LEFT JOIN (SELECT %1$s, sum(i) AS total FROM rows GROUP BY 1) k ON k.%1$s = p.%1$s WHERE p.i %% 9 = 0 ORDER BY p.i', first));
    answers := answers || by_both(format('SELECT %1$s FROM rows WHERE %2$s = ANY (ARRAY(SELECT %2$s FROM rows WHERE i %% 30 = 1)) ORDER BY %3$s', columns, first, forth),
                                  format('SELECT %1$s FROM rows WHERE %2$s IN (SELECT %2$s FROM rows WHERE i %% 30 = 1) ORDER BY %3$s', columns, first, forth));
    IF columns LIKE '%, %' AND forth LIKE '%, %' THEN
        rest := split_part(columns, ', ', 2);
        answers := answers || by_both(format('SELECT p.i, k.total FROM rows p, LATERAL (SELECT sum(q.i) AS total FROM rows q WHERE q.%1$s = p.%1$s AND q.%2$s = p.%2$s) k WHERE p.i %% 5 = 0 ORDER BY p.i', first, rest),
                                      format('SELECT p.i, k.total FROM rows p LEFT JOIN (SELECT %1$s, %2$s, sum(i) AS total FROM rows GROUP BY 1, 2) k ON k.%1$s = p.%1$s AND k.%2$s = p.%2$s WHERE p.i %% 5 = 0 ORDER BY p.i', first, rest));
        answers := answers || by_both(format('SELECT p.i, k.total FROM rows p, LATERAL (SELECT sum(q.i) AS total FROM rows q WHERE q.%1$s = p.%1$s AND q.%2$s > p.%2$s) k WHERE p.i %% 50 = 0 ORDER BY p.i', first, rest));
        answers := answers || by_both(format('SELECT %3$s FROM rows WHERE %1$s = ANY (ARRAY(SELECT %1$s FROM rows WHERE i %% 40 = 1)) AND %2$s = ANY (ARRAY(SELECT %2$s FROM rows WHERE i %% 4 = 1)) ORDER BY %4$s', first, rest, columns, forth),
                                      format('SELECT %3$s FROM rows WHERE %1$s IN (SELECT %1$s FROM rows WHERE i %% 40 = 1) AND %2$s IN (SELECT %2$s FROM rows WHERE i %% 4 = 1) ORDER BY %4$s', first, rest, columns, forth));
    END IF;
    RETURN QUERY SELECT x, count(*) FROM unnest(answers) x GROUP BY x ORDER BY x;
END $$;

-- An index in turn made of half of the rows and grown, grown from nothing, and
-- left by VACUUM and grown again.
CREATE FUNCTION try(forth text, back text, columns text, options text) RETURNS TABLE (state text, answer text, times bigint) LANGUAGE plpgsql AS $$
BEGIN
    TRUNCATE rows;
    INSERT INTO rows SELECT * FROM source WHERE i % 2 = 0;
    EXECUTE format('CREATE INDEX rows_x ON rows USING fpbtree (%s) %s', forth, options);
    PERFORM fpbtree_check('rows_x', true);
    RETURN QUERY SELECT 'built', * FROM ask(forth, back, columns);
    INSERT INTO rows SELECT * FROM source WHERE i % 2 = 1 ORDER BY hashint4(i);
    PERFORM fpbtree_check('rows_x', true);
    RETURN QUERY SELECT 'built and grown', * FROM ask(forth, back, columns);
    TRUNCATE rows;
    INSERT INTO rows SELECT * FROM source ORDER BY hashint4(i);
    PERFORM fpbtree_check('rows_x', true);
    RETURN QUERY SELECT 'grown', * FROM ask(forth, back, columns);
    DROP INDEX rows_x;
END $$;
SELECT forth, options, t.*
FROM (VALUES (1, 's, t', 's DESC, t DESC', 's, t', ''), (2, 's DESC NULLS LAST, u', 's NULLS FIRST, u DESC', 's, u', ''),
             (3, 'd, n DESC', 'd DESC, n', 'd, n', 'WITH (fillfactor = 100)'), (4, 'b, z', 'b DESC, z DESC', 'b, z', ''),
             (5, 'o, y', 'o DESC, y DESC', 'o, y', ''), (6, 'c, a', 'c DESC, a DESC', 'c, a', ''), (7, 'm', 'm DESC', 'm', 'INCLUDE (t)'),
             (8, 'm DESC', 'm', 'm', 'INCLUDE (u, s)'), (9, 'k NULLS FIRST, m, l, f', 'k DESC NULLS LAST, m DESC, l DESC, f DESC', 'k, m, l, f', ''),
             (10, 'm, l DESC, k', 'm DESC, l, k DESC', 'm, l, k', ''), (11, 'f, t', 'f DESC, t DESC', 'f, t', ''),
             (12, 's, t', 's DESC, t DESC', 's, t', 'WITH (layout = micro_index)'), (13, 'k, t', 'k DESC, t DESC', 'k, t', 'WITH (operation_queue = on, opq_size = 64)'),
             (14, 'k, t', 'k DESC, t DESC', 'k, t', 'WITH (node_format = csb, leaf_lines = 3)')) c (number, forth, back, columns, options),
     try(forth, back, columns, options) t
ORDER BY number, state, answer;

-- Keys that differ in the first column alone, and in a byte of it that could
-- be the second one's; cross-type searches.
TRUNCATE rows;
INSERT INTO rows (i, s, t) SELECT i, i % 700, 'same' FROM generate_series(1, 2500) i;
INSERT INTO rows (i, s, t) SELECT i, (92 << 8 | 2 * n + 3)::int2, repeat(chr(92) || chr(2 * n + 3), n) FROM generate_series(1, 20) i, generate_series(1, 10) n;
CREATE INDEX rows_x ON rows USING fpbtree (s, t);
SELECT by_both('SELECT s, t FROM rows WHERE s = 300::int8 ORDER BY s, t'), by_both('SELECT s, t FROM rows WHERE s > 40000::int8 ORDER BY s, t'),
       by_both('SELECT s, t FROM rows WHERE s < 40000::int8 AND t >= ''same'' ORDER BY s, t'), by_both('SELECT s, t, count(*) FROM rows GROUP BY s, t ORDER BY s, t');
SELECT fpbtree_check('rows_x', true);
-- two zeros, which are equal
CREATE INDEX rows_x_f ON rows USING fpbtree (f, t);
INSERT INTO rows (f, t) SELECT CASE WHEN i % 2 = 0 THEN '-0' ELSE '0' END::float8, 'zero ' || i FROM generate_series(1, 100) i;
SELECT by_both('SELECT f, t FROM rows WHERE f = 0 ORDER BY f, t');
DROP INDEX rows_x_f;
-- duplicates that come to a posting, and go
DELETE FROM rows WHERE i % 3 = 0;
VACUUM rows;
INSERT INTO rows (i, s, t) SELECT i, i % 700, 'same' FROM generate_series(1, 2500) i WHERE i % 2 = 0;
SELECT by_both('SELECT s, t FROM rows ORDER BY s, t'), by_both('SELECT s, t, sum(i) FROM rows WHERE s BETWEEN 100 AND 300 GROUP BY s, t ORDER BY s, t');
SELECT fpbtree_check('rows_x', true);
DROP INDEX rows_x;

-- Unique keys: what comes again is refused, whether its first column differs
-- or not.
TRUNCATE rows;
SET client_min_messages = error;
CREATE UNIQUE INDEX rows_x ON rows USING fpbtree (m, t) INCLUDE (k);
RESET client_min_messages;
INSERT INTO rows (m, t, k) SELECT i % 50, md5((i / 50)::text), i FROM generate_series(0, 2499) i;
INSERT INTO rows (m, t, k) SELECT g % 60, md5((g / 50)::text), -g FROM generate_series(0, 2499) g
    WHERE NOT EXISTS (SELECT FROM rows r WHERE r.m = g % 60 AND r.t = md5((g / 50)::text));
INSERT INTO rows (m, t, k) VALUES (7, md5('3'), 1);
SELECT count(*), count(*) FILTER (WHERE k < 0), count(DISTINCT (m, t)), sum(k) FROM rows;
SELECT fpbtree_check('rows_x', true);
DROP INDEX rows_x;

-- A number and a short text take little more room than in a btree, and an integer
-- of four bytes behind a text takes less than one of eight.
CREATE TABLE many AS SELECT i::int8 * 7919 % 10007 AS m, i AS k, left(md5(i::text), 12) COLLATE "C" AS t FROM generate_series(1, 20000) i;
CREATE INDEX many_x ON many USING fpbtree (m, t) WITH (layout = disk_first);
CREATE INDEX many_b ON many USING btree (m, t);
CREATE INDEX many_i ON many USING fpbtree (m) INCLUDE (t) WITH (layout = disk_first);
CREATE INDEX many_four ON many USING fpbtree (t, k) WITH (layout = disk_first);
CREATE INDEX many_eight ON many USING fpbtree (t, m) WITH (layout = disk_first);
SELECT pg_relation_size('many_x') < pg_relation_size('many_b') * 1.1 AS key, pg_relation_size('many_i') < pg_relation_size('many_b') * 1.1 AS include,
       pg_relation_size('many_four') < pg_relation_size('many_eight') AS four;

-- Behind a text of any length, an integer of four bytes and one of eight, which
-- needs more alignment, and the other way round.
CREATE TABLE behind AS SELECT repeat('a', 6) || left(md5(i::text), i % 9 + 6) COLLATE "C" AS t, i::int4 AS four, i::int8 * 3 AS eight
    FROM generate_series(1, 3000) i;
CREATE INDEX behind_x ON behind USING fpbtree (t, four, eight);
CREATE INDEX behind_y ON behind USING fpbtree (t) INCLUDE (eight, four);
SET enable_seqscan = off;
SET enable_bitmapscan = off;
VACUUM behind;
SELECT count(*), sum(four), sum(eight), sum(length(t)), bool_and(eight = four * 3) FROM (SELECT t, four, eight FROM behind ORDER BY t, four) x;
DROP INDEX behind_x;
SELECT count(*), sum(four), sum(eight), sum(length(t)), bool_and(eight = four * 3) FROM (SELECT t, four, eight FROM behind ORDER BY t) x;
RESET enable_seqscan;
RESET enable_bitmapscan;

SET client_min_messages = warning;
DROP SCHEMA columns CASCADE;
