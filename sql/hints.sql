--
-- Killed entries: scans note which entries are of dead rows, later scans pass
-- them over, and they are removed before a page is split.
--
-- What is dead in a temporary table is no matter of other sessions, and without
-- WAL no checkpoint makes the next change of a page reorganise it.
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS fpbtree;

CREATE SCHEMA hints;
SET search_path = hints, public;
SET max_parallel_workers_per_gather = 0;
SET jit = off;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SET enable_sort = off;

-- The pages that a query looks at.  Those of the table are visited only for
-- entries that are not known to be dead.
CREATE FUNCTION pages_of(query text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
    plan json;
BEGIN
    EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, COSTS OFF, TIMING OFF, SUMMARY OFF, FORMAT json) ' || query INTO plan;
    plan := plan->0->'Plan';
    RETURN (plan->>'Shared Hit Blocks')::int + (plan->>'Shared Read Blocks')::int +
           (plan->>'Local Hit Blocks')::int + (plan->>'Local Read Blocks')::int;
END $$;

-- Does the index find the rows that are in the table?
CREATE FUNCTION agrees(tab text) RETURNS bool LANGUAGE plpgsql AS $$
DECLARE
    by_index text;
    by_table text;
    query text := format('SELECT count(*) || '' '' || sum(id) FROM %s WHERE k IS NOT NULL', tab);
BEGIN
    EXECUTE query INTO by_index;
    PERFORM set_config('enable_seqscan', 'on', true), set_config('enable_indexscan', 'off', true);
    EXECUTE query INTO by_table;
    PERFORM set_config('enable_seqscan', 'off', true), set_config('enable_indexscan', 'on', true);
    RETURN by_index = by_table;
END $$;

-- The second scan passes over what the first has found dead, and so does one
-- that begins at the other end, a unique check, and an index-only scan.
CREATE TEMP TABLE seen (id int, k int8, u int, pad text STORAGE plain) WITH (autovacuum_enabled = off);
CREATE INDEX seen_k ON seen USING fpbtree (k);
SET client_min_messages = error;
CREATE UNIQUE INDEX seen_u ON seen USING fpbtree (u);
SET client_min_messages = warning;
INSERT INTO seen SELECT i, i, i, repeat('x', current_setting('block_size')::int / 8) FROM generate_series(1, 700) i;
DELETE FROM seen WHERE k BETWEEN 101 AND 600;
EXPLAIN (COSTS OFF) SELECT id FROM seen WHERE k BETWEEN 100 AND 601;
SELECT pages_of('SELECT id FROM seen WHERE k BETWEEN 100 AND 601') > 50 AS first,
       pages_of('SELECT id FROM seen WHERE k BETWEEN 100 AND 601') < 20 AS second,
       pages_of('SELECT id FROM seen WHERE k BETWEEN 100 AND 601 ORDER BY k DESC') < 20 AS backward,
       pages_of('SELECT k FROM seen WHERE k BETWEEN 100 AND 601') < 20 AS only;
SELECT pages_of('SELECT id FROM seen WHERE u BETWEEN 101 AND 600 ORDER BY u DESC') > 50 AS first,
       pages_of('SELECT id FROM seen WHERE u BETWEEN 101 AND 600') < 20 AS second;
SELECT count(*), sum(k) FROM seen WHERE k BETWEEN 100 AND 601;
-- rows that are not dead to everyone are not taken for dead
BEGIN;
DELETE FROM seen WHERE k > 600;
SELECT count(*) FROM seen WHERE k > 600;
SELECT count(*) FROM seen WHERE u > 600;
ROLLBACK;
SELECT count(*) FROM seen WHERE k > 600;
SELECT count(*) FROM seen WHERE u > 600;
-- the key of a dead row can be inserted again
INSERT INTO seen SELECT i, i, i FROM generate_series(101, 110) i;
SELECT count(*), sum(k) FROM seen WHERE k BETWEEN 100 AND 601;
SELECT count(*), sum(u) FROM seen WHERE u BETWEEN 100 AND 601;
INSERT INTO seen VALUES (0, 0, 105);

-- A node that is full is not split while there are dead entries to remove: those
-- of the leaf are.  Here the index is one leaf, whose nodes have been filled one
-- after the other.
CREATE TEMP TABLE split (id int, k int8, pad text STORAGE plain) WITH (autovacuum_enabled = off);
CREATE INDEX split_k ON split USING fpbtree (k);
INSERT INTO split SELECT i, i * 10, repeat('x', current_setting('block_size')::int / 8) FROM generate_series(1, greatest(200, current_setting('block_size')::int / 68)) i;
DELETE FROM split WHERE id % 3 <> 0;
SELECT agrees('split');
SELECT pages_of('SELECT id FROM split WHERE k = 10') = 1 AS killed;
SELECT nodes, entries FROM fpbtree_page('split_k', 1) \gset before_
INSERT INTO split VALUES (121, 305);
SELECT p.nodes = :before_nodes AS whole, p.entries < :before_entries OR layout = 'micro_index' AS removed
FROM fpbtree_page('split_k', 1) p, fpbtree_stats('split_k');
SELECT agrees('split');

-- Entries that share their key, in a node or a tuple, have killed bits of their
-- own, or share one with a neighbour.  The bits stay when others come between.
CREATE TABLE types (name text, type text, key text);
INSERT INTO types VALUES
    ('int4', 'int4', '7'), ('int8', 'int8', '7'), ('uuid', 'uuid', 'lpad(''7'', 32, ''0'')::uuid'),
    ('text', 'text COLLATE "C"', '''seven'''), ('numeric', 'numeric', '7');
SELECT format('CREATE TEMP TABLE shared_%s (id int, k %s, pad text STORAGE plain DEFAULT repeat(''x'', current_setting(''block_size'')::int * 6 / 10)) WITH (autovacuum_enabled = off)', name, type),
       format('CREATE INDEX shared_%1$s_k ON shared_%1$s USING fpbtree (k)', name),
       format('INSERT INTO shared_%s SELECT i, %s FROM generate_series(1, 90) i', name, key),
       format('DELETE FROM shared_%s WHERE id NOT IN (20, 21, 70)', name),
       format('SELECT pages_of(%L) > 80 AS first, pages_of(%1$L) < 25 * greatest(current_setting(''block_size'')::int / 16384, 1) AS second', format('SELECT id FROM shared_%s WHERE k = %s', name, key)),
       format('INSERT INTO shared_%s SELECT i, %s FROM generate_series(91, 93) i', name, key),
       format('SELECT pages_of(%L) < 25 * greatest(current_setting(''block_size'')::int / 16384, 1) OR current_setting(''block_size'')::int < 8192 AS third', format('SELECT id FROM shared_%s WHERE k = %s', name, key)),
       format('SELECT string_agg(id::text, '' '' ORDER BY id), fpbtree_check(%L, true) FROM shared_%s WHERE k = %s', 'shared_' || name || '_k', name, key)
FROM types
\gexec

-- A row that is updated again and again does not fill its leaf with what it
-- leaves behind.
CREATE PROCEDURE update_often(tab text, change text) LANGUAGE plpgsql AS $$
BEGIN
    FOR r IN 1..1800 LOOP
        EXECUTE format('UPDATE %s SET %s WHERE id = 50', tab, change);
        COMMIT;
    END LOOP;
END $$;
SELECT format('CREATE TEMP TABLE hot_%s (id int, k %s, v int) WITH (autovacuum_enabled = off)', name, type),
       format('CREATE INDEX hot_%1$s_k ON hot_%1$s USING fpbtree (k)', name),
       format('CREATE INDEX hot_%1$s_v ON hot_%1$s USING fpbtree (v)', name),
       format('INSERT INTO hot_%s SELECT i, %s, 0 FROM generate_series(1, 100) i', name, key),
       format('CALL update_often(%L, ''v = v + 1'')', 'hot_' || name),
       format('SELECT entries < 700 OR layout = ''micro_index'' OR current_setting(''block_size'')::int > 8192 AS few, fpbtree_check(%L, true) FROM fpbtree_stats(%1$L)', format('hot_%s_k', name))
FROM types
\gexec

-- Everything that can happen to the nodes of a page, by and by: rows come in
-- near places, some die, a scan finds them dead, and others come.
CREATE PROCEDURE churn(tab text, key text, rounds int, batch int) LANGUAGE plpgsql AS $$
BEGIN
    FOR r IN 1..rounds LOOP
        EXECUTE format('INSERT INTO %s (id, k) SELECT i, %s FROM generate_series($1, $2) i', tab, key)
            USING (r - 1) * batch + 1, r * batch;
        COMMIT;
        EXECUTE format('DELETE FROM %s WHERE (id * 7 + $1) %% 5 < 3 AND id > $2', tab)
            USING r, (r - 12) * batch;
        COMMIT;
        IF NOT agrees(tab) THEN
            RAISE WARNING '%: the index disagrees after the deletion in round %', tab, r;
        END IF;
        IF NOT agrees(tab) THEN
            RAISE WARNING '%: the index disagrees after the scan in round %', tab, r;
            EXIT;
        END IF;
    END LOOP;
    EXECUTE format('INSERT INTO %s (id, k) SELECT i, %s FROM generate_series($1, $2) i', tab, key)
        USING rounds * batch + 1, rounds * batch + 5;
    COMMIT;
    IF NOT agrees(tab) THEN
        RAISE WARNING '%: the index disagrees in the end', tab;
    END IF;
END $$;

-- Enough rows to fill pages, of whatever size.
CREATE FUNCTION batch() RETURNS int LANGUAGE sql IMMUTABLE AS $$ SELECT current_setting('block_size')::int / 128 $$;

-- A table with an index of each form, temporary and unlogged; near(i) is a number
-- in a window that moves.
CREATE FUNCTION near(i int) RETURNS int LANGUAGE sql IMMUTABLE AS $$ SELECT i / 20 + abs(hashint4(i) % 400) $$;
CREATE TABLE forms (name text, type text, key text, options text);
INSERT INTO forms VALUES
    ('word4', 'int4', 'near(i)', ''),
    ('word4_narrow', 'int4', 'near(i)', 'WITH (leaf_lines = 2)'),
    ('word8', 'int8', 'near(i)', ''),
    ('word8_wide', 'float8', '-near(i)', 'WITH (leaf_lines = 32)'),
    ('word16', 'uuid', 'lpad(to_hex(near(i)), 32, ''0'')::uuid', ''),
    ('one_key4', 'int4', 'near(i) / 100', ''),
    ('one_key8', 'int8', 'near(i) / 400', 'WITH (leaf_lines = 3)'),
    ('one_key_text', 'text COLLATE "C"', '(near(i) / 100)::text', ''),
    ('tuple', 'text COLLATE "C"', '''the same at first '' || near(i)', ''),
    ('tuple_narrow', 'text COLLATE "C"', 'near(i)', 'WITH (leaf_lines = 2)'),
    ('long', 'text COLLATE "C"', 'repeat(md5(i::text), near(i) % 8) || near(i)', ''),
    ('numeric', 'numeric', 'near(i) / 7.0', '');
SELECT format('CREATE %s TABLE %s_%s (id int, k %s) WITH (autovacuum_enabled = off)', p, name, lower(p), type),
       format('CREATE INDEX %s_%s_k ON %s_%s USING fpbtree (k) %s', name, lower(p), name, lower(p), options),
       format('CALL churn(%L, %L, 40, batch())', name || '_' || lower(p), key)
FROM forms, unnest('{TEMP,UNLOGGED}'::text[]) p
\gexec

-- They are sound, and the dead have made room without VACUUM.  (Not all of
-- those in unlogged tables need have been dead to other sessions.  Where the
-- keys are tuples, a page's hints begin anew when it gets another node, so large
-- pages of one-key nodes, which get many, may have none when they are full.)
SELECT count(fpbtree_check(c.oid, true)) AS sound FROM pg_class c JOIN pg_index ON indexrelid = c.oid
WHERE relname ~ '_(temp|unlogged)_k$';
SELECT name, (SELECT entries FROM fpbtree_stats((name || '_temp_k')::regclass)) < 40 * batch() * 0.85 AS pruned
FROM forms WHERE name <> 'one_key_text';

-- The same, where the table would not have pruned its pages: it does that when
-- they are nearly full, and these have room, though not for another row.
SELECT format('CREATE TEMP TABLE %s_roomy (id int, k %s, pad text STORAGE plain DEFAULT repeat(''x'', current_setting(''block_size'')::int * 6 / 10)) WITH (autovacuum_enabled = off)', name, type),
       format('CREATE INDEX %s_roomy_k ON %s_roomy USING fpbtree (k) %s', name, name, options),
       format('CALL churn(%L, %L, 12, batch())', name || '_roomy', key)
FROM forms WHERE name IN ('word8', 'tuple')
\gexec
SELECT count(fpbtree_check(c.oid, true)) AS sound FROM pg_class c JOIN pg_index ON indexrelid = c.oid
WHERE relname ~ '_roomy_k$';
SELECT relname, entries < 12 * batch() AS pruned
FROM pg_class c JOIN pg_index ON indexrelid = c.oid, fpbtree_stats(c.oid) WHERE relname ~ '_roomy_k$' ORDER BY 1;

-- Without a scan in between, entries that are not alone with their key are
-- suspected to be dead, but others are not, and their index grows.
CREATE TEMP TABLE unseen (id int, k int8) WITH (autovacuum_enabled = off);
CREATE INDEX unseen_k ON unseen USING fpbtree (k);
CREATE INDEX unseen_id ON unseen USING fpbtree (id);
DO $$
BEGIN
    FOR r IN 1..40 LOOP
        INSERT INTO unseen SELECT i, near(i) FROM generate_series((r - 1) * batch() + 1, r * batch()) i;
        COMMIT;
        DELETE FROM unseen WHERE (id * 7 + r) % 5 < 3;
        COMMIT;
    END LOOP;
END $$;
SELECT c.oid::regclass AS index, entries = 40 * batch() AS all
FROM pg_class c, fpbtree_stats(c.oid) WHERE relname IN ('unseen_k', 'unseen_id') ORDER BY relname;
SELECT agrees('unseen');

-- Entries that have moved, since a cursor has read them, are found by their TIDs
-- if they are still on their page.
CREATE TEMP TABLE moved (id int, k int8, pad text STORAGE plain DEFAULT repeat('x', current_setting('block_size')::int / 8)) WITH (autovacuum_enabled = off);
INSERT INTO moved SELECT i, i FROM generate_series(2, 140, 2) i;
CREATE INDEX moved_k ON moved USING fpbtree (k);
DELETE FROM moved WHERE k BETWEEN 22 AND 100;
BEGIN;
DECLARE c CURSOR FOR SELECT id FROM moved WHERE k > 10 ORDER BY k;
FETCH 8 FROM c;
INSERT INTO moved SELECT i, i, '' FROM generate_series(11, 101, 10) i;
FETCH ALL FROM c;
COMMIT;
SELECT pages_of('SELECT id FROM moved WHERE k BETWEEN 22 AND 100') < 10 AS killed;
SELECT agrees('moved'), fpbtree_check('moved_k', true);
BEGIN;
DELETE FROM moved WHERE k BETWEEN 110 AND 130;
COMMIT;
BEGIN;
DECLARE c CURSOR FOR SELECT id FROM moved WHERE k > 100 ORDER BY k;
FETCH 7 FROM c;
INSERT INTO moved SELECT i, i, '' FROM generate_series(200, 1000) i;
INSERT INTO moved SELECT i, i % 100, '' FROM generate_series(1001, 1800) i;
FETCH 1 FROM c;
COMMIT;
SELECT agrees('moved'), fpbtree_check('moved_k', true);

-- A row that a scan finds dead twice, as it goes to and fro, is one of the two that share a
-- key in the index; the other is not dead.
CREATE TEMP TABLE twice (id int, k text COLLATE "C") WITH (autovacuum_enabled = off);
INSERT INTO twice VALUES (1, 'x'), (2, 'x');
CREATE INDEX twice_k ON twice USING fpbtree (k);
SELECT postings = (layout <> 'micro_index')::int AS shared FROM fpbtree_stats('twice_k');
DELETE FROM twice WHERE id = 1;
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT id FROM twice WHERE k = 'x' ORDER BY k;
FETCH NEXT FROM c;
FETCH PRIOR FROM c;
FETCH NEXT FROM c;
FETCH NEXT FROM c;
COMMIT;
SELECT id FROM twice WHERE k = 'x';

SET client_min_messages = warning;
DROP SCHEMA hints CASCADE;
