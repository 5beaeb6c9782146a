-- Sizes of indexes with a few to many rows of each key, against btree's: built, and grown by rows
-- that come in random order, or a key's one after the other.
-- The tables are filled row by row in the same order, so nothing here is chance.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS fpbtree;
CREATE SCHEMA runs;
SET search_path = runs, public;
-- what is checked of each change elsewhere would take most of the time here
SELECT count(set_config(name, 'off', false)) >= 0 AS quick FROM pg_settings WHERE name = 'fpbtree.verify_changes';

CREATE TABLE keys (name text, columns text);
INSERT INTO keys VALUES ('int4', 'i'), ('uuid', 'u'), ('pair', 'p, q'), ('text', 't');

-- (The layout of other tests' choosing shares no keys.)
CREATE PROCEDURE create_indexes() LANGUAGE plpgsql AS $$
DECLARE
    k record;
BEGIN
    FOR k IN SELECT * FROM keys LOOP
        EXECUTE format('DROP INDEX IF EXISTS %s_b, %1$s_f', k.name);
        EXECUTE format('CREATE INDEX %s_b ON r (%s)', k.name, k.columns);
        EXECUTE format('CREATE INDEX %s_f ON r USING fpbtree (%s) WITH (layout = disk_first)', k.name, k.columns);
    END LOOP;
END $$;

-- The share of btree's pages, in hundredths, of each index of so many rows of each key, and whether it is sound.
-- It is of the sum over four sizes of the table, to twice the first, because pages are split in waves.
CREATE FUNCTION shares(way text, dups int) RETURNS TABLE (name text, share bigint, sound boolean) LANGUAGE plpgsql AS $$
DECLARE
    -- (so large that it does not matter whether the last page is full)
    least int := current_setting('block_size')::int * CASE way WHEN 'built' THEN 2 ELSE 1 END;
    had int := 0;
    has int;
BEGIN
    CREATE UNLOGGED TABLE r (i int4, u uuid, p int4, q int4, t text COLLATE "C");
    CREATE TEMP TABLE sizes (name text, ours bigint, btrees bigint);
    IF way <> 'built' THEN
        CALL create_indexes();
    END IF;
    FOR step IN 1..4 LOOP
        has := least * 2 ^ (step / 4.0);
        INSERT INTO r SELECT k, md5(k::text)::uuid, k / 7, k % 7, md5(k::text)
          FROM (SELECT CASE way WHEN 'in order' THEN g / dups ELSE (hashint4(g) & 2147483647) % (least * 3 / 2 / dups) END AS k
                  FROM generate_series(had + 1, has) g) x;
        had := has;
        IF way = 'built' THEN
            CALL create_indexes();
        END IF;
        INSERT INTO sizes SELECT k.name, pg_relation_size((k.name || '_f')::regclass), pg_relation_size((k.name || '_b')::regclass) FROM keys k;
    END LOOP;
    RETURN QUERY SELECT s.name, (100 * sum(ours) / sum(btrees))::bigint, fpbtree_check((s.name || '_f')::regclass, true) IS NOT NULL
                   FROM sizes s GROUP BY s.name;
    DROP TABLE r, sizes;
END $$;

-- the most that it may be
CREATE TABLE most (way text, name text, most int);
INSERT INTO most SELECT way, k.name, CASE way WHEN 'built' THEN 103 WHEN 'random' THEN 108 ELSE 110 END
  FROM unnest('{built,random,in order}'::text[]) way, keys k;
UPDATE most SET most = 107 WHERE way <> 'built' AND name = 'text';
UPDATE most SET most = most + 5 WHERE current_setting('block_size')::int < 8192;

-- How many rows of each key: with large pages, where it takes the longest, two numbers are enough.
CREATE TABLE rows AS SELECT unnest(CASE WHEN current_setting('block_size')::int > 8192 THEN '{5,100}' ELSE '{2,5,20,100}' END::int[]) AS dups;
-- (MATERIALIZED: not once again for each limit that the result is joined with)
WITH s AS MATERIALIZED (
    SELECT n, w.way, dups, s.* FROM (VALUES (1, 'built'), (2, 'random'), (3, 'in order')) AS w (n, way), rows, shares(w.way, dups) s
)
SELECT s.way, count(DISTINCT s.name) AS keys, count(*) = (SELECT count(*) FROM rows) * count(DISTINCT s.name) AS each, bool_and(sound) AS sound,
       coalesce(string_agg(CASE WHEN share > most THEN format('%s with %s rows a key: %s is more than %s', s.name, dups, share, most) END, '; '), 'ok') AS pages
FROM s JOIN most m ON m.way = s.way AND m.name = s.name
GROUP BY n, s.way ORDER BY n;

-- Rows that come, go and come again, in the midst of runs and at their ends, and keys between others
CREATE TABLE churn (id int, k int8, u uuid) WITH (autovacuum_enabled = off);
CREATE INDEX churn_k ON churn USING fpbtree (k) WITH (leaf_lines = 2);
CREATE INDEX churn_u ON churn USING fpbtree (u);
CREATE PROCEDURE churn(round int, keys int) LANGUAGE sql AS $$
    INSERT INTO churn SELECT i, k, md5(k::text)::uuid FROM generate_series(1, 2000) i, LATERAL (SELECT abs(hashint4(i + round * 2000)) % keys AS k) x;
    DELETE FROM churn WHERE (id + k) % 5 = round % 5;
$$;
CALL churn(1, 50);
VACUUM (INDEX_CLEANUP ON) churn;
CALL churn(2, 400);
VACUUM (INDEX_CLEANUP ON) churn;
CALL churn(3, 7);
CALL churn(4, 1500);
DELETE FROM churn WHERE k BETWEEN 20 AND 40;
VACUUM (INDEX_CLEANUP ON) churn;
CALL churn(5, 100);
SELECT fpbtree_check('churn_k', true), fpbtree_check('churn_u', true);

-- what is found by the indexes, of keys that there are and are not, against the table itself
CREATE TABLE truth AS SELECT k, md5(k::text)::uuid AS u, count(id) AS rows, sum(id) AS ids
  FROM generate_series(-1, 1600) k LEFT JOIN churn USING (k) GROUP BY k;
SET enable_seqscan = off;
EXPLAIN (COSTS off) SELECT count(id), sum(id) FROM churn WHERE u = md5('7')::uuid;
SELECT count(*) AS keys, sum(rows) > 1000 AS many,
       count(*) FILTER (WHERE (SELECT ROW (count(id), sum(id)) FROM churn c WHERE c.k = t.k) IS DISTINCT FROM ROW (rows, ids)) AS wrong_k,
       count(*) FILTER (WHERE (SELECT ROW (count(id), sum(id)) FROM churn c WHERE c.u = t.u) IS DISTINCT FROM ROW (rows, ids)) AS wrong_u
FROM truth t;
SELECT count(*) AS backwards FROM (SELECT k, lag(k) OVER () AS before FROM (SELECT k FROM churn ORDER BY k DESC) x) y WHERE k > before;
RESET enable_seqscan;
-- A key that goes on from the entries of one node, and below all of the next, full one, but not below that one's bound:
-- the new node's entry raises it
CREATE TABLE bound (k int8) WITH (autovacuum_enabled = off);
CREATE INDEX bound_k ON bound USING fpbtree (k) WITH (layout = disk_first, node_format = numbered, leaf_lines = 6);
INSERT INTO bound SELECT i FROM generate_series(1, 57) i;
INSERT INTO bound SELECT 57 + 100000 * i FROM generate_series(1, 37) i;
DELETE FROM bound WHERE k BETWEEN 48 AND 57;
VACUUM (INDEX_CLEANUP ON) bound;
INSERT INTO bound SELECT 50000 + 100000 * i FROM generate_series(1, 10) i;
SELECT entries, gaps, head FROM fpbtree_nodes('bound_k', 1);
INSERT INTO bound VALUES (49);
SELECT entries, gaps, head FROM fpbtree_nodes('bound_k', 1);
SELECT fpbtree_check('bound_k', true);
DROP SCHEMA runs CASCADE;
