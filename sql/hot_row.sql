--
-- One row that is updated again and again, not HOT: nearly all entries of its
-- key are killed.  They are passed over, by scans and by uniqueness checks, and
-- removed; the row is found, and is still the only one with its key.
--
-- What is dead in a temporary table is no matter of other sessions.
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS fpbtree;
RESET client_min_messages;

CREATE SCHEMA hot_row;
SET search_path = hot_row, public;
SET enable_bitmapscan = off;
SET max_parallel_workers_per_gather = 0;
SET jit = off;

-- the i'th key of a type
CREATE FUNCTION key(type text, i int) RETURNS text LANGUAGE sql AS $$
    SELECT CASE type WHEN 'uuid' THEN md5(i::text) WHEN 'text' THEN 'key ' || lpad(i::text, 6, '0') ELSE i::text END $$;

CREATE PROCEDURE fill(type text, kind text DEFAULT 'TEMP') LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('CREATE %2$s TABLE t_%1$s (u %1$s, k %1$s, v int) WITH (autovacuum_enabled = off)', type, kind);
    EXECUTE format('CREATE UNIQUE INDEX t_%s_u ON t_%1$s USING fpbtree (u)', type);
    EXECUTE format('CREATE INDEX t_%s_k ON t_%1$s USING fpbtree (k)', type);
    EXECUTE format('CREATE INDEX t_%s_v ON t_%1$s USING btree (v)', type);
    EXECUTE format('INSERT INTO t_%s SELECT key(%1$L, i)::%1$s, key(%1$L, i)::%1$s, 0 FROM generate_series(1, 300) i', type);
END $$;

-- updates the 150th row so often, found by one of the indexes, each time in a
-- transaction of its own
CREATE PROCEDURE update_often(type text, col text, times int) LANGUAGE plpgsql AS $$
BEGIN
    FOR i IN 1 .. times LOOP
        EXECUTE format('UPDATE t_%s SET v = v + 1 WHERE %I = %L', type, col, key(type, 150));
        COMMIT;
    END LOOP;
END $$;

-- what scans find of the table: count, the row's key counted by both indexes,
-- how often it has been updated; and whether all is sound
CREATE FUNCTION found(type text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    answer text;
BEGIN
    PERFORM set_config('enable_seqscan', 'off', true);
    EXECUTE format('SELECT concat_ws('' '', (SELECT count(*) FROM t_%s WHERE u = %2$L), (SELECT count(*) FROM t_%1$s WHERE k = %2$L),
                                            (SELECT v FROM t_%1$s WHERE u = %2$L ORDER BY u LIMIT 1),
                                            (SELECT count(u) FROM t_%1$s WHERE u > %3$L))', type, key(type, 150), key(type, 0)) INTO answer;
    PERFORM set_config('enable_seqscan', 'on', true);
    PERFORM fpbtree_check(format('t_%s_u', type)::regclass, true), fpbtree_check(format('t_%s_k', type)::regclass, true);
    RETURN answer;
END $$;

SET client_min_messages = error; -- 17 warns of unique indexes
CALL fill('int4');
CALL fill('int8');
CALL fill('uuid');
CALL fill('text');
RESET client_min_messages;
CREATE TABLE types (type text);
INSERT INTO types VALUES ('int4'), ('int8'), ('uuid'), ('text');

CALL update_often('int4', 'u', 400);
CALL update_often('int8', 'u', 400);
CALL update_often('uuid', 'u', 400);
CALL update_often('text', 'u', 400);
SELECT type, found(type) FROM types;

CALL update_often('int4', 'k', 400);
CALL update_often('int8', 'k', 400);
CALL update_often('uuid', 'k', 400);
CALL update_often('text', 'k', 400);
SELECT type, found(type) FROM types;

-- a key all entries of which are killed comes again, and is unique again
DELETE FROM t_int4 WHERE u = 150;
DELETE FROM t_text WHERE u = 'key 000150';
SELECT type, found(type) FROM types WHERE type IN ('int4', 'text');
SELECT type, found(type) FROM types WHERE type IN ('int4', 'text');
INSERT INTO t_int4 VALUES (150, 150, -1);
INSERT INTO t_text VALUES ('key 000150', 'key 000150', -1);
INSERT INTO t_int4 VALUES (150, 150, -2);
INSERT INTO t_text VALUES ('key 000150', 'key 000150', -2);
SELECT type, found(type) FROM types;

-- and after VACUUM, where rows come to places that have been free
VACUUM t_int4, t_int8, t_uuid, t_text;
CALL update_often('int4', 'u', 150);
CALL update_often('int8', 'u', 150);
CALL update_often('uuid', 'u', 150);
CALL update_often('text', 'u', 150);
SELECT type, found(type) FROM types;

-- the indexes have not grown for it: 300 entries, and room for the versions of
-- a row that are on one page of the table
SELECT relname FROM pg_class
WHERE relname ~ '^t_.*_[uk]$' AND pg_relation_size(oid) > 9 * current_setting('block_size')::int ORDER BY 1;

-- a table whose changes are logged: uniqueness checks kill entries by the
-- records of their insertions
DROP TABLE t_int4, t_int8, t_uuid, t_text;
SET client_min_messages = error; -- 17 warns of unique indexes
CALL fill('int4', '');
CALL fill('int8', '');
CALL fill('uuid', '');
CALL fill('text', '');
RESET client_min_messages;
CALL update_often('int4', 'u', 400);
CALL update_often('int8', 'u', 400);
CALL update_often('uuid', 'u', 400);
CALL update_often('text', 'u', 400);
SELECT type, found(type) FROM types;

-- ranges that end among killed entries, or have no others: one, some, and many
CREATE TEMP TABLE ends (k int, l int) WITH (autovacuum_enabled = off);
CREATE INDEX ends_i ON ends USING fpbtree (k, l);
INSERT INTO ends SELECT i, j FROM generate_series(1, 30) i, generate_series(1, 20) j;
DELETE FROM ends WHERE l >= 19 OR k IN (5, 6) OR (k = 7 AND l > 3);
SET enable_seqscan = off;
-- kills what is dead
SELECT count(*) FROM ends WHERE k > 0;
SELECT count(*), sum(l) FROM ends WHERE k = 7;
SELECT count(*), sum(l) FROM ends WHERE k = 7 AND l >= 19;
SELECT count(*), sum(l) FROM ends WHERE k = ANY ('{4, 5, 6, 7, 9}') AND l >= 2;
SELECT count(*), sum(l) FROM ends WHERE k = ANY ('{4, 5, 6, 7, 9}') AND l <= 20;
SELECT count(*), sum(l) FROM ends WHERE k = ANY ('{4, 5, 6, 7, 8, 9, 10, 11, 12, 13}') AND l <= 20;
SELECT k, l FROM ends WHERE k = ANY ('{4, 5, 6, 7, 9}') AND l = ANY ('{2, 3, 18, 19, 20}') ORDER BY k, l;
SELECT k, l FROM ends WHERE k = ANY ('{4, 5, 6, 7, 9}') AND l = ANY ('{2, 3, 18, 19, 20}') ORDER BY k DESC, l DESC;
SELECT l FROM ends WHERE k = 7 ORDER BY l DESC LIMIT 1;
SELECT fpbtree_check('ends_i', true);
RESET enable_seqscan;

SET client_min_messages = warning;
DROP SCHEMA hot_row CASCADE;
