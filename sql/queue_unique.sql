-- Unique indexes with an operation queue: what they refuse, wherever the other row's entry is.
SET client_min_messages = error;
CREATE EXTENSION IF NOT EXISTS fpbtree;
CREATE SCHEMA queue_unique;
SET search_path = queue_unique, public;
SET fpbtree.queue_worker = off;
SET enable_seqscan = off;
SET enable_bitmapscan = off;

-- Rows of few keys are inserted, deleted, updated and moved to their leaves.  What a table with a
-- btree index accepts, one with an fpbtree index accepts, and nothing else.
CREATE TABLE kinds (number int, key text, options text);
INSERT INTO kinds VALUES
    (1, 'n::int8 * 1000003', ''), (2, 'n::int4', 'layout = cache_first,'), (3, 'md5(n::text)::uuid', ''),
    (4, '(''customer '' || n) COLLATE "C"', ''), (5, '(repeat(''long '', 60) || n) COLLATE "C"', ''),
    (6, 'n / 7.0', ''), (7, '(n / 50, n % 50)', ''), (8, '(md5(n::text)) COLLATE "und-x-icu"', ''),
    (9, 'n::int4', 'layout = micro_index,'), (10, 'n::int2', 'opq_size = 8, queue_tiers = 2,');

CREATE FUNCTION elements(key text) RETURNS text LANGUAGE sql AS
$$ SELECT CASE WHEN key ~ '^\(n / 50' THEN '(n / 50), (n % 50)' ELSE '(' || key || ')' END $$;

CREATE FUNCTION try(command text, tried text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
    n int;
BEGIN
    EXECUTE format(command, tried);
    GET DIAGNOSTICS n = ROW_COUNT;
    RETURN n;
EXCEPTION WHEN unique_violation THEN
    RETURN -1;
END $$;

CREATE FUNCTION live(kind kinds) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    n int;
    command text;
    btree int;
    refused int := 0;
    differ int := 0;
    queued int := 0;
    again int;
BEGIN
    EXECUTE format('CREATE TABLE f (n int, v int); CREATE TABLE b (n int, v int); CREATE INDEX ON f (v); CREATE INDEX ON b (v);
        CREATE UNIQUE INDEX f_n ON f USING fpbtree (%1$s) WITH (%2$s operation_queue = on);
        CREATE UNIQUE INDEX b_n ON b (%1$s)', elements(kind.key), kind.options);
    FOR i IN 1..3000 LOOP
        n := abs(hashint4(i)) % 900;
        command := CASE
            WHEN i % 500 = 0 THEN 'DELETE FROM %1$I WHERE n %% 3 = 0'
            WHEN i % 11 = 0 THEN 'DELETE FROM %1$I WHERE n = ' || n
            WHEN i % 7 = 0 THEN 'UPDATE %1$I SET n = n + 1 WHERE n = ' || n
            WHEN i % 5 = 0 THEN 'UPDATE %1$I SET v = v + 1 WHERE n = ' || n
            WHEN i % 13 = 0 THEN 'INSERT INTO %1$I SELECT NULL, ' || i
            ELSE 'INSERT INTO %1$I VALUES (' || n || ', ' || i || ')' END;
        btree := try(command, 'b');
        refused := refused + (btree < 0)::int;
        differ := differ + (try(command, 'f') <> btree)::int;
        IF i % 700 = 0 THEN
            queued := queued + (SELECT queue_entries FROM fpbtree_stats('f_n'));
            PERFORM fpbtree_flush('f_n');
        END IF;
    END LOOP;
    SET LOCAL enable_indexscan = off; SET LOCAL enable_indexonlyscan = off; SET LOCAL enable_seqscan = on;
    SELECT count(*) INTO again FROM ((TABLE f EXCEPT ALL TABLE b) UNION ALL (TABLE b EXCEPT ALL TABLE f)) d;
    PERFORM fpbtree_check('f_n', true);
    DROP TABLE f, b;
    RETURN format('refused %s, other than btree %s, waited %s, other rows %s', refused > 200, differ, queued > 300, again);
END $$;
SELECT number, live(k) FROM kinds k ORDER BY number;

-- NULLs; a key that many dead rows had; keys that are equal and not the same
CREATE TABLE u (k numeric, v int);
CREATE INDEX u_updated ON u (v);
CREATE UNIQUE INDEX u_k ON u USING fpbtree (k) NULLS NOT DISTINCT WITH (operation_queue = on);
INSERT INTO u VALUES (NULL, 1);
INSERT INTO u VALUES (NULL, 2);
INSERT INTO u VALUES (1.0, 3);
INSERT INTO u VALUES (1.00, 4);
SELECT queue_entries FROM fpbtree_stats('u_k');
SELECT fpbtree_flush('u_k');
INSERT INTO u VALUES (NULL, 5);
INSERT INTO u VALUES (1.000, 6);
DO $$ BEGIN FOR i IN 1..2000 LOOP UPDATE u SET v = v + 1 WHERE k = 1; END LOOP; END $$;
SELECT queue_entries > 100 AS waiting FROM fpbtree_stats('u_k');
INSERT INTO u VALUES (1.0000, 7);
DELETE FROM u WHERE k = 1;
INSERT INTO u VALUES (1.0000, 7);
INSERT INTO u VALUES (1, 8);
SELECT * FROM u WHERE k = 1 OR k IS NULL ORDER BY v;
SELECT fpbtree_check('u_k', true);

-- What waits is seen when no entries go to the queue any more, and may not when the index is built anew.
ALTER INDEX u_k SET (operation_queue = off);
INSERT INTO u SELECT i, i FROM generate_series(2, 100) i;
INSERT INTO u VALUES (1, 8);
SELECT operation_queue, queue_entries > 100 AS waiting FROM fpbtree_stats('u_k');
REINDEX INDEX u_k;
SET client_min_messages = notice;
ALTER INDEX u_k SET (operation_queue = on);
SET client_min_messages = error;
INSERT INTO u SELECT i, i FROM generate_series(101, 200) i;
SELECT operation_queue, queue_entries FROM fpbtree_stats('u_k');
REINDEX INDEX u_k;
INSERT INTO u SELECT i, i FROM generate_series(201, 300) i;
INSERT INTO u VALUES (201, 0);
INSERT INTO u VALUES (1, 0);
SELECT operation_queue, queue_entries FROM fpbtree_stats('u_k');

-- VACUUM, and rows whose places are used again
DELETE FROM u WHERE k > 150;
VACUUM u;
INSERT INTO u SELECT i, i FROM generate_series(500, 700) i;
INSERT INTO u VALUES (500, 0);
INSERT INTO u SELECT i, i FROM generate_series(150, 700) i WHERE i % 300 = 151;
SELECT count(*), count(DISTINCT k) FROM u;
SELECT fpbtree_check('u_k', true);
-- Others have none, whatever is set later.  The session's default counts when an index is built, too.
CREATE UNIQUE INDEX u_v ON u USING fpbtree (v, k);
CREATE UNIQUE INDEX u_w ON u USING fpbtree (v, k) WITH (operation_queue = auto);
SET fpbtree.default_operation_queue = on;
CREATE UNIQUE INDEX u_x ON u USING fpbtree (k, v);
INSERT INTO u SELECT i, i FROM generate_series(301, 400) i;
SELECT i, operation_queue, queue_limit, queue_entries FROM unnest(ARRAY['u_v', 'u_w', 'u_x']) i, fpbtree_stats(i::regclass);
RESET fpbtree.default_operation_queue;
INSERT INTO u VALUES (301, 301);
ALTER TABLE u ALTER k TYPE numeric(9, 2);
INSERT INTO u SELECT i, i FROM generate_series(401, 450) i;
INSERT INTO u VALUES (301, 301);
SELECT i, operation_queue, queue_entries FROM unnest(ARRAY['u_v', 'u_x']) i, fpbtree_stats(i::regclass);
DROP INDEX u_k;
INSERT INTO u VALUES (301, 301);
INSERT INTO u VALUES (301, 302);
CREATE INDEX u_k ON u USING fpbtree (k);
SELECT fpbtree_check('u_x', true);

DROP SCHEMA queue_unique CASCADE;
