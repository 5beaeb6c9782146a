--
-- The entries of a statement that inserts many rows are collected, and put in
-- together (fpbtree.insert_batch_size).  Whatever the statement, nobody can tell
-- from answers: those of an index are those of the table, at each moment, or the
-- same as with entries that are put in one by one.
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS fpbtree;
RESET client_min_messages;

CREATE SCHEMA batch;
SET search_path = batch, public;
SET max_parallel_workers_per_gather = 0;
SET jit = off;
SET fpbtree.queue_worker = off;
SET fpbtree.insert_batch_size = 4096;
CREATE COLLATION icu (provider = icu, locale = 'en');

-- Answers of an index, and of the table alone
CREATE FUNCTION use(VARIADIC ways text[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    way text;
BEGIN
    FOREACH way IN ARRAY ARRAY['seqscan', 'indexscan', 'indexonlyscan', 'bitmapscan', 'sort'] LOOP
        PERFORM set_config('enable_' || way, CASE WHEN way = ANY (ways) THEN 'on' ELSE 'off' END, false);
    END LOOP;
END $$;
CREATE FUNCTION use_any() RETURNS void LANGUAGE sql AS $$ SELECT use('seqscan', 'indexscan', 'indexonlyscan', 'bitmapscan', 'sort') $$;
CREATE FUNCTION answer(query text, VARIADIC ways text[]) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    answer text;
BEGIN
    PERFORM use(VARIADIC ways);
    EXECUTE 'SELECT count(*) || '' '' || coalesce(md5(string_agg(x::text, '','')), '''') FROM (' || query || ') x' INTO answer;
    PERFORM use_any();
    RETURN answer;
END $$;

-- Forms of indexes of a table whose rows have the number i, all other columns from that, and v.
CREATE TABLE numbers AS SELECT i FROM generate_series(1, 1200) i;
CREATE TABLE forms (index text, type text, value text, definition text, forward text, backward text, span text, columns text, condition text);
INSERT INTO forms (index, type, value, definition, forward, backward, span) VALUES
    ('f_a', 'int4', 'i', '(a)', 'a', 'a DESC', 'a BETWEEN 500 AND 700'),
    ('f_b', 'int4', 'i * 7919 % 9001', '(b) WITH (operation_queue = on, opq_size = 32)', 'b', 'b DESC', 'b > 7000'),
    ('f_c', 'int4', 'i * 7919 % 9001', '(c DESC) WITH (layout = cache_first)', 'c DESC', 'c', 'c BETWEEN 3000 AND 3300'),
    ('f_d', 'int8', 'i::int8 * 104729 % 100', '(d)', 'd', 'd DESC', 'd BETWEEN 10 AND 20'),
    ('f_f', 'uuid', 'md5(i::text)::uuid', '(f)', 'f', 'f DESC', 'f > ''e0000000-0000-0000-0000-000000000000'''),
    ('f_g', 'text COLLATE "C"', '''key '' || i * 7919 % 9001', '(g)', 'g', 'g DESC', 'g > ''key 8'''),
    ('f_j', 'numeric', 'i * 7919 % 811 / 10.0', '(j)', 'j', 'j DESC', 'j BETWEEN 12.5 AND 17'),
    ('f_l', 'text COLLATE icu', 'CASE i % 2 WHEN 0 THEN ''word '' ELSE ''Word '' END || i % 90', '(l)', 'l', 'l DESC', 'l > ''word 7''');
INSERT INTO forms VALUES
    ('f_e', 'int4', 'i * 7919 % 71', '(e, i)', 'e, i', 'e DESC, i DESC', 'e > 70', 'e, i', NULL),
    ('f_h', 'text COLLATE "C"', 'repeat(''key '', 10 * i % 130)', '(h, d) WITH (layout = micro_index)', 'h, d', 'h DESC, d DESC', 'h < repeat(''key '', 50)', 'h, d', NULL),
    ('f_k', 'int4', 'nullif(i % 5, 0)', '(k NULLS FIRST, i DESC)', 'k NULLS FIRST, i DESC', 'k DESC NULLS LAST, i', 'k IS NULL', 'k, i', NULL),
    ('f_m', 'int4', 'i', '((m % 100), d)', 'm % 100, d', 'm % 100 DESC, d DESC', 'm % 100 > 95', 'm % 100, d', NULL),
    ('f_n', 'text COLLATE "C"', '''K'' || i % 99', '(lower(n) DESC)', 'lower(n) DESC', 'lower(n)', 'lower(n) > ''k7''', 'lower(n)', NULL),
    ('f_o', 'int4', 'i % 1000', '(o) INCLUDE (g)', 'o', 'o DESC', 'o BETWEEN 300 AND 330', 'o, g', NULL),
    ('f_p', 'int4', 'i % 100', '(p) INCLUDE (l)', 'p', 'p DESC', 'p < 10', 'p, l', NULL),
    ('f_q', 'int4', 'i', '(q) WHERE d < 40', 'q', 'q DESC', 'q < 1000', 'q', 'd < 40');
-- (v is changed where nothing else is)
INSERT INTO forms (index, definition, forward, backward, span) VALUES ('f_v', '(v)', 'v', 'v DESC', 'v = 7');
UPDATE forms SET columns = coalesce(columns, right(index, 1)), condition = coalesce(condition, 'true');

-- What an index answers differently from the table
CREATE FUNCTION wrong(f forms) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
    forward text := format('SELECT %s, ctid FROM f WHERE %s ORDER BY %s', f.columns, f.condition, f.forward);
    backward text := format('SELECT %s, ctid FROM f WHERE %s ORDER BY %s', f.columns, f.condition, f.backward);
    span text := format('SELECT %s FROM f WHERE %s AND %s ORDER BY %s, ctid', f.columns, f.condition, f.span, f.forward);
    alone text := format('SELECT %s FROM f WHERE %s AND %s ORDER BY %1$s', f.columns, f.condition, f.span);
BEGIN
    PERFORM fpbtree_check(f.index, true);
    IF answer(forward, 'indexscan') <> answer(forward || ', ctid', 'seqscan', 'sort') THEN
        RETURN NEXT f.definition || ', forward';
    END IF;
    IF answer(backward, 'indexscan') <> answer(backward || ', ctid DESC', 'seqscan', 'sort') THEN
        RETURN NEXT f.definition || ', backward';
    END IF;
    IF answer(span, 'bitmapscan', 'sort') <> answer(span, 'seqscan', 'sort') THEN
        RETURN NEXT f.definition || ', by a bitmap';
    END IF;
    IF answer(alone, 'indexonlyscan', 'sort') <> answer(alone, 'seqscan', 'sort') THEN
        RETURN NEXT f.definition || ', the index alone';
    END IF;
END $$;

CREATE PROCEDURE fill(kind text, size int) LANGUAGE plpgsql SET client_min_messages = warning AS $$
DECLARE
    form forms;
    columns text := (SELECT string_agg(format('%s %s GENERATED ALWAYS AS (%s) STORED', right(index, 1), type, value), ', ') FROM forms WHERE type IS NOT NULL);
BEGIN
    DROP TABLE IF EXISTS f;
    EXECUTE format('CREATE %s TABLE f (i int, v int DEFAULT 0, %s) WITH (autovacuum_enabled = off)', kind, columns);
    FOR form IN SELECT * FROM forms LOOP
        EXECUTE format('CREATE INDEX %s ON f USING fpbtree %s', form.index, form.definition);
    END LOOP;
    PERFORM set_config('fpbtree.insert_batch_size', size::text, false);
END $$;
CREATE TABLE outcomes (kind text, size int, step int, rows text, wrong text[]);
CREATE PROCEDURE try(kind text, size int, asked int[]) LANGUAGE plpgsql AS $$
DECLARE
    r record;
BEGIN
    CALL fill(kind, size);
    COMMIT;
    FOR step IN 1..9 LOOP
        CASE step
            WHEN 1 THEN INSERT INTO f (i) SELECT i * 7919 % 241 FROM numbers WHERE i < 241;
            WHEN 2 THEN INSERT INTO f (i) SELECT i FROM numbers WHERE i BETWEEN 241 AND 600 ORDER BY i;
            WHEN 3 THEN INSERT INTO f (i) SELECT i FROM numbers WHERE i BETWEEN 601 AND 960 ORDER BY i DESC;
            WHEN 4 THEN COPY f (i) FROM PROGRAM 'seq 961 1200';
            WHEN 5 THEN
                PERFORM use('indexscan');
                UPDATE f SET i = i + 10000 WHERE a > 700 AND a < 20000;
                PERFORM use_any();
            WHEN 6 THEN UPDATE f SET v = i % 20 WHERE i < 500;
            WHEN 7 THEN
                MERGE INTO f USING (SELECT i, i % 4 AS way FROM generate_series(1, 1500, 3) i) s ON f.i = s.i
                WHEN MATCHED AND way = 1 THEN DELETE
                WHEN MATCHED THEN UPDATE SET i = f.i + 20000, v = way
                WHEN NOT MATCHED THEN INSERT (i, v) VALUES (s.i, 5);
            WHEN 8 THEN
                WITH gone AS (DELETE FROM f WHERE i % 3 = 0 RETURNING i),
                    again AS (INSERT INTO f (i) SELECT -i FROM gone RETURNING i),
                    more AS (INSERT INTO f (i, v) SELECT i, 9 FROM generate_series(30000, 30120) i RETURNING i)
                SELECT count(*) INTO r FROM (TABLE again UNION ALL TABLE more) s;
            WHEN 9 THEN
                DELETE FROM f WHERE i % 2 = 0;
                INSERT INTO f (i) SELECT i FROM numbers WHERE i % 4 = 0 AND i < 1200;
        END CASE;
        COMMIT;
        INSERT INTO outcomes SELECT kind, size, step, (SELECT count(*) || ' ' || sum(hashint8(i::int8 * 100 + v)) FROM f), ARRAY(SELECT wrong(f) FROM forms f WHERE step = ANY (asked));
        COMMIT;
    END LOOP;
END $$;
CALL try('TEMP', 64, '{9}');
CALL try('UNLOGGED', 64, '{8}');
CALL try('', 1, '{2,5,7}');
CALL try('', 4096, '{1,3,4,6}');
SET fpbtree.insert_batch_size = 4096;
SELECT kind, size, step, unnest(wrong) FROM outcomes;
SELECT step, count(*) AS times, count(DISTINCT rows) AS outcomes, min(rows) FROM outcomes GROUP BY step ORDER BY step;
-- TIDs that are used again
DELETE FROM f WHERE i % 3 = 1;
VACUUM (INDEX_CLEANUP ON) f;
INSERT INTO f (i, v) SELECT i, i % 7 FROM numbers WHERE i % 3 > 0;
SELECT wrong(f) FROM forms f;
-- (the queries have been about the indexes)
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SET enable_sort = off;
SET enable_incremental_sort = off;
CREATE FUNCTION uses(index text, query text) RETURNS bool LANGUAGE plpgsql AS $$
DECLARE
    line text;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN ' || query LOOP
        RETURN line ~ (' using ' || index || ' on f ');
    END LOOP;
END $$;
SELECT index FROM forms
WHERE NOT uses(index, format('SELECT %s, ctid FROM f WHERE %s ORDER BY %s', columns, condition, forward)) OR
    NOT uses(index, format('SELECT %s, ctid FROM f WHERE %s ORDER BY %s', columns, condition, backward));
RESET enable_seqscan;
RESET enable_bitmapscan;
RESET enable_sort;
RESET enable_incremental_sort;
DROP TABLE f;

-- ---- who can see a row before the statement has ended ----

CREATE TABLE seen (k int, v int DEFAULT 0, by_index text, by_table text);
CREATE INDEX seen_k ON seen USING fpbtree (k);
CREATE INDEX seen_vk ON seen USING fpbtree (v, k);
CREATE PROCEDURE refill() LANGUAGE sql AS $$
    TRUNCATE seen;
    INSERT INTO seen SELECT i * 10 FROM generate_series(0, 99) i $$;
CREATE TABLE looks (place text, k int, what text, by_index text, by_table text);

-- What is asked at some rows: by plans that are made once, because the planner looks into indexes itself, and by new ones.
CREATE TABLE questions (n int, what text, query text, ways text[]);
INSERT INTO questions VALUES
    (1, 'all', 'SELECT k, v FROM seen WHERE k >= 0 ORDER BY k, v', '{indexscan,sort}'),
    (2, 'alone', 'SELECT k FROM seen WHERE k >= 0 ORDER BY k', '{indexonlyscan}'),
    (3, 'bitmap', 'SELECT k, v FROM seen WHERE v = 0 OR k < 500 ORDER BY k, v', '{bitmapscan,sort}'),
    (4, 'last', 'SELECT k FROM seen ORDER BY k DESC LIMIT 1', '{indexscan,indexonlyscan}'),
    (5, 'extremes', 'SELECT min(k), max(k) FROM seen', '{indexscan,indexonlyscan}'),
    (6, 'one', 'SELECT k, v FROM seen WHERE k = :k', '{indexscan,sort}'),
    (7, 'before', 'SELECT k FROM seen WHERE k < :k ORDER BY k DESC LIMIT 3', '{indexscan,indexonlyscan}');
DO $$
DECLARE
    q questions;
BEGIN
    FOR q IN TABLE questions LOOP
        EXECUTE format($f$
            CREATE FUNCTION planned_%s(asked int) RETURNS text LANGUAGE plpgsql SET search_path = batch, public SET plan_cache_mode = force_generic_plan AS $p$
            DECLARE
                answer text;
            BEGIN
                PERFORM use(%s);
                SELECT count(*) || ' ' || coalesce(md5(string_agg(x::text, ',')), '') INTO answer FROM (%s) x;
                PERFORM use_any();
                RETURN answer;
            END $p$ $f$, q.what, (SELECT string_agg(quote_literal(way), ', ') FROM unnest(q.ways) way), replace(q.query, ':k', 'asked'));
    END LOOP;
END $$;
CREATE FUNCTION look(place text, k int) RETURNS int LANGUAGE plpgsql SET search_path = batch, public AS $$
DECLARE
    q questions;
    answered text;
    planned text[];
    query text;
    by_table text;
BEGIN
    -- (a statement whose entries have to be put in every few rows collects no more)
    IF k % 53 <> 0 THEN
        RETURN k;
    END IF;
    FOR q IN SELECT * FROM questions ORDER BY n LOOP
        EXECUTE format('SELECT planned_%s($1)', q.what) INTO answered USING k;
        planned[q.n] := answered;
    END LOOP;
    FOR q IN TABLE questions LOOP
        query := replace(q.query, ':k', k::text);
        by_table := answer(query, 'seqscan', 'sort');
        INSERT INTO looks VALUES (place, k, 'planned ' || q.what, planned[q.n], by_table), (place, k, q.what, answer(query, VARIADIC q.ways), by_table);
    END LOOP;
    RETURN k;
END $$;
CREATE FUNCTION look_on_row() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM look(TG_WHEN || ' ' || TG_OP, NEW.k);
    RETURN NEW;
END $$;
CREATE FUNCTION look_on_statement() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM look('statement ' || TG_OP, 0);
    PERFORM look('transition ' || TG_OP, k) FROM new_rows;
    -- each new row is found by its key
    PERFORM use('indexscan');
    INSERT INTO looks SELECT 'transition ' || TG_OP, 0, 'each', count((SELECT s.k FROM seen s WHERE s.k = n.k LIMIT 1)), count(*) FROM new_rows n;
    PERFORM use_any();
    RETURN NULL;
END $$;
-- one of an immutable function, as index expressions and constraints have it
CREATE FUNCTION look_immutable(place text, k int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$
BEGIN
    -- not while the index is made
    RETURN CASE WHEN current_setting('batch.look', true) = 'on' THEN batch.look(place, k) ELSE k END;
END $$;

-- Random order, so that entries come before and after those that are there
CREATE VIEW news AS SELECT i, i * 37 % 401 * 5 + 1 AS k FROM generate_series(0, 260) i;
CREATE FUNCTION report(OUT place text, OUT times int, OUT wrong text) RETURNS SETOF record LANGUAGE sql AS $$
    SELECT l.place, count(DISTINCT l.k), string_agg(format('%s at %s: %s, not %s', l.what, l.k, l.by_index, l.by_table), '; ') FILTER (WHERE l.by_index IS DISTINCT FROM l.by_table)
    FROM looks l GROUP BY l.place ORDER BY l.place COLLATE "C" $$;

CALL refill();
INSERT INTO seen SELECT look('select list', k) FROM news;
CALL refill();
WITH r AS (INSERT INTO seen SELECT k FROM news RETURNING look('returning', k)) SELECT count(*) FROM r;
CALL refill();
WITH r AS (INSERT INTO seen SELECT k FROM news RETURNING k) SELECT count(look('beside', k)) FROM r;
CALL refill();
ALTER TABLE seen ADD CHECK (look('constraint', k) = k);
INSERT INTO seen SELECT k FROM news;
ALTER TABLE seen DROP CONSTRAINT seen_k_check;
CALL refill();
CREATE INDEX seen_look ON seen USING fpbtree (look_immutable('index expression', k));
SET batch.look = on;
INSERT INTO seen SELECT k FROM news;
DROP INDEX seen_look;
CALL refill();
RESET batch.look;
CREATE INDEX seen_look ON seen USING fpbtree (v) WHERE look_immutable('index predicate', k) > 0;
SET batch.look = on;
INSERT INTO seen SELECT k FROM news;
DROP INDEX seen_look;
RESET batch.look;
CALL refill();
CREATE SEQUENCE defaults;
ALTER TABLE seen ALTER v SET DEFAULT look('default', nextval('defaults')::int);
INSERT INTO seen (k) SELECT k FROM news;
ALTER TABLE seen ALTER v SET DEFAULT 0;
CALL refill();
CREATE TRIGGER before BEFORE INSERT OR UPDATE ON seen FOR EACH ROW EXECUTE FUNCTION look_on_row();
INSERT INTO seen SELECT k FROM news;
COPY seen (k) FROM PROGRAM 'seq 3001 3200';
UPDATE seen SET k = k + 2000 WHERE k < 1000;
CREATE TRIGGER after AFTER INSERT OR UPDATE ON seen FOR EACH ROW EXECUTE FUNCTION look_on_row();
DROP TRIGGER before ON seen;
CALL refill();
INSERT INTO seen SELECT k FROM news;
UPDATE seen SET k = k + 2000 WHERE k < 1000;
DROP TRIGGER after ON seen;
CREATE TRIGGER after_all AFTER INSERT ON seen REFERENCING NEW TABLE AS new_rows EXECUTE FUNCTION look_on_statement();
CREATE TRIGGER after_updates AFTER UPDATE ON seen REFERENCING NEW TABLE AS new_rows EXECUTE FUNCTION look_on_statement();
INSERT INTO seen SELECT k FROM news;
UPDATE seen SET k = k + 2000 WHERE k < 1000;
DROP TRIGGER after_all ON seen;
DROP TRIGGER after_updates ON seen;
CALL refill();
INSERT INTO seen SELECT 1000 + k FROM news;
UPDATE seen SET k = look('set', k + 1) WHERE k >= 0;
CALL refill();
MERGE INTO seen USING news ON seen.k = news.k WHEN MATCHED THEN UPDATE SET k = look('merge', news.k + 1000) WHEN NOT MATCHED THEN INSERT VALUES (look('merge', news.k));
CALL refill();
CREATE VIEW seen_view AS SELECT k FROM seen;
CREATE FUNCTION instead() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO seen SELECT look('instead', NEW.k + i) FROM generate_series(0, 250) i; RETURN NEW; END $$;
CREATE TRIGGER instead INSTEAD OF INSERT ON seen_view FOR EACH ROW EXECUTE FUNCTION instead();
INSERT INTO seen_view SELECT k FROM news LIMIT 3;
CALL refill();
CREATE CONSTRAINT TRIGGER deferred AFTER INSERT ON seen DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION look_on_row();
BEGIN;
INSERT INTO seen SELECT k FROM news;
UPDATE looks SET place = place || ', earlier';
INSERT INTO seen SELECT k + 3000 FROM news;
COMMIT;
DROP TRIGGER deferred ON seen;
CALL refill();
DO $$ BEGIN EXECUTE 'EXPLAIN ANALYZE INSERT INTO seen SELECT look(''explain'', k) FROM news'; END $$;
DO $$
DECLARE
    r record;
BEGIN
    FOR r IN INSERT INTO seen SELECT k + 3000 FROM news RETURNING k LOOP
        PERFORM look('loop', r.k);
    END LOOP;
END $$;
SELECT * FROM report();

-- What they see: rows of the statement so far, if functions are volatile, and not if they are stable
CREATE FUNCTION by_index() RETURNS text LANGUAGE sql
    SET enable_seqscan = off SET enable_bitmapscan = off AS 'SELECT count(*) || '' '' || sum(k) FROM batch.seen WHERE k >= 0';
CREATE FUNCTION by_table() RETURNS text LANGUAGE sql
    SET enable_indexscan = off SET enable_indexonlyscan = off SET enable_bitmapscan = off AS 'SELECT count(*) || '' '' || sum(k) FROM batch.seen WHERE k >= 0';
CREATE FUNCTION by_index_stable() RETURNS text STABLE LANGUAGE sql
    SET enable_seqscan = off SET enable_bitmapscan = off AS 'SELECT count(*) || '' '' || sum(k) FROM batch.seen WHERE k >= 0';
CREATE FUNCTION by_index_plain() RETURNS text STABLE LANGUAGE plpgsql
    SET enable_seqscan = off SET enable_bitmapscan = off AS $$ BEGIN RETURN (SELECT count(*) || ' ' || sum(k) FROM batch.seen WHERE k >= 0); END $$;
CALL refill();
INSERT INTO seen SELECT k, i, by_index(), by_table() FROM news;
SELECT count(*), count(*) FILTER (WHERE by_index = by_table), count(DISTINCT by_index), max(split_part(by_index, ' ', 1)::int) FROM seen WHERE by_index IS NOT NULL;
CALL refill();
INSERT INTO seen SELECT k, i, by_index_stable(), by_index_plain() FROM news;
SELECT by_index, by_table, count(*) FROM seen WHERE by_index IS NOT NULL GROUP BY 1, 2;

-- A cursor that a function has opened at the 100th row of a statement, and goes on with at each further one, has all rows
-- that come where it has yet to come to, and in order; and the others when it goes back
-- (whole leaves lie between these)
CREATE FUNCTION leaves() RETURNS int LANGUAGE sql AS $$ SELECT greatest(1, current_setting('block_size')::int / 8192) $$;
CREATE TABLE fetched (n int GENERATED ALWAYS AS IDENTITY, k int);
CREATE FUNCTION follow(i int, query text) RETURNS int LANGUAGE plpgsql SET search_path = batch, public AS $$
DECLARE
    follower refcursor := 'follower';
    found int;
BEGIN
    IF i = 100 THEN
        PERFORM use('indexscan', 'indexonlyscan');
        OPEN follower SCROLL FOR EXECUTE query;
        PERFORM use_any();
        MOVE FORWARD leaves() * 1000 FROM follower;
    END IF;
    IF i >= 100 THEN
        FOR n IN 1..i % 5 LOOP
            FETCH follower INTO found;
            INSERT INTO fetched (k) VALUES (found);
        END LOOP;
    END IF;
    RETURN i;
END $$;
-- a third of the rows goes behind, a third just where the cursor is, and a third far ahead
CREATE FUNCTION try_follower(query text, forward bool, size int, OUT in_order bool, OUT ahead text, OUT missed bigint)
    LANGUAGE plpgsql SET search_path = batch, public AS $$
DECLARE
    follower refcursor := 'follower';
    found_k int;
    back int[];
BEGIN
    PERFORM set_config('fpbtree.insert_batch_size', size::text, true);
    TRUNCATE seen, fetched RESTART IDENTITY;
    INSERT INTO seen SELECT i * 10 FROM generate_series(0, 3000 * leaves()) i;
    INSERT INTO seen SELECT CASE i % 3 WHEN 0 THEN 10 WHEN 1 THEN 10000 * leaves() + 20 * i ELSE 28000 * leaves() END + i / 3 * 10 + 5, i FROM generate_series(0, 299) i
        WHERE follow(i, query) = i;
    LOOP
        FETCH follower INTO found_k;
        EXIT WHEN NOT FOUND;
        INSERT INTO fetched (k) VALUES (found_k);
    END LOOP;
    LOOP
        FETCH BACKWARD FROM follower INTO found_k;
        EXIT WHEN NOT FOUND;
        back := back || found_k;
    END LOOP;
    CLOSE follower;
    SELECT bool_and((f.k > last) = forward) INTO in_order FROM (SELECT k, lag(k) OVER (ORDER BY n) AS last FROM fetched) f;
    SELECT count(f.k) || ' of ' || count(*) INTO ahead FROM seen s LEFT JOIN fetched f USING (k) WHERE k % 10 = 5 AND v % 3 = CASE WHEN forward THEN 2 ELSE 0 END;
    SELECT count(*) INTO missed FROM seen WHERE k <> ALL (back);
END $$;
SELECT q.query, size, r.* FROM (VALUES ('SELECT k FROM seen WHERE k >= 0 ORDER BY k', true), ('SELECT k + 0 * v FROM seen WHERE k >= 0 ORDER BY k', true),
        ('SELECT k FROM seen WHERE k >= 0 ORDER BY k DESC', false)) q (query, forward),
    unnest(ARRAY[0, 1, 4096]) size, try_follower(query, forward, size) r;

-- ---- statements within statements ----

-- Foreign keys of a table to itself: rows that refer to later ones, changes and deletions that cascade
CREATE TABLE cascades (am text, deferred text, step int, outcome text, PRIMARY KEY (deferred, step, am));
CREATE PROCEDURE try_cascades(am text, deferred text) LANGUAGE plpgsql AS $$
BEGIN
    CREATE TABLE tree (id int PRIMARY KEY, parent int, v int);
    EXECUTE format('ALTER TABLE tree ADD FOREIGN KEY (parent) REFERENCES tree ON DELETE CASCADE ON UPDATE CASCADE %s', deferred);
    EXECUTE format('CREATE INDEX tree_parent ON tree USING %s (parent)', am);
    EXECUTE format('CREATE INDEX tree_id ON tree USING %s (id, v)', am);
    PERFORM use('indexscan');
    FOR step IN 1..4 LOOP
        CASE step
            WHEN 1 THEN INSERT INTO tree SELECT i, nullif(i / 2, 0) FROM generate_series(400, 1, -1) i;
            WHEN 2 THEN UPDATE tree SET id = id + 1000, v = id;
            WHEN 3 THEN UPDATE tree SET parent = 1003 WHERE parent > 1100;
            WHEN 4 THEN DELETE FROM tree WHERE id IN (1002, 1013, 1015);
        END CASE;
        COMMIT;
        INSERT INTO cascades SELECT am, deferred, step, count(*) || ' ' || sum(id) || ' ' || sum(parent) FROM tree WHERE parent > 0;
        IF am = 'fpbtree' THEN
            PERFORM fpbtree_check('tree_parent', true), fpbtree_check('tree_id', true);
        END IF;
    END LOOP;
    PERFORM use_any();
    DROP TABLE tree;
END $$;
CALL try_cascades('btree', '');
CALL try_cascades('fpbtree', '');
CALL try_cascades('btree', 'DEFERRABLE INITIALLY DEFERRED');
CALL try_cascades('fpbtree', 'DEFERRABLE INITIALLY DEFERRED');
SELECT deferred, step, count(DISTINCT outcome) AS outcomes, min(outcome) FROM cascades GROUP BY deferred, step ORDER BY deferred, step;

-- Triggers that insert many more rows into the same table
CALL refill();
CREATE FUNCTION insert_more() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF pg_trigger_depth() = 1 AND NEW.k % 23 = 0 THEN
        INSERT INTO seen SELECT NEW.k + i * 37 % 100, 1 FROM generate_series(1, 90) i;
        PERFORM look(TG_WHEN || ' nested', 0);
    END IF;
    RETURN NEW;
END $$;
TRUNCATE looks;
CREATE TRIGGER more BEFORE INSERT ON seen FOR EACH ROW EXECUTE FUNCTION insert_more();
INSERT INTO seen SELECT k FROM news;
DROP TRIGGER more ON seen;
CREATE TRIGGER more AFTER INSERT ON seen FOR EACH ROW EXECUTE FUNCTION insert_more();
INSERT INTO seen SELECT k FROM news;
DROP TRIGGER more ON seen;
SELECT place, wrong, (SELECT count(*) FROM seen) AS rows, fpbtree_check('seen_k', true), fpbtree_check('seen_vk', true) FROM report();

-- Materialized views that are refreshed by differences
CREATE MATERIALIZED VIEW view AS SELECT k, max(v) AS v FROM seen GROUP BY k;
CREATE UNIQUE INDEX ON view USING btree (k);
CREATE INDEX view_v ON view USING fpbtree (v, k);
UPDATE seen SET v = k WHERE k % 3 > 0;
INSERT INTO seen SELECT i FROM generate_series(5001, 5300) i;
REFRESH MATERIALIZED VIEW CONCURRENTLY view;
SELECT fpbtree_check('view_v', true), count(*) = (SELECT count(DISTINCT k) FROM seen) AS complete FROM view;

-- Parallel workers find what their leader has collected: with plans that have them, also on the inner side of a join.  The
-- plans are made once: the planner looks into indexes, too.
CREATE PROCEDURE use_workers() LANGUAGE plpgsql AS $$
DECLARE
    setting text;
BEGIN
    FOREACH setting IN ARRAY '{parallel_setup_cost,parallel_tuple_cost,min_parallel_table_scan_size,min_parallel_index_scan_size}'::text[] LOOP
        PERFORM set_config(setting, '0', false);
    END LOOP;
    FOREACH setting IN ARRAY '{debug_parallel_query,parallel_leader_participation,enable_bitmapscan,enable_hashjoin,enable_mergejoin,enable_memoize}'::text[] LOOP
        PERFORM set_config(setting, 'off', false);
    END LOOP;
    PERFORM set_config('max_parallel_workers_per_gather', '2', false);
END $$;
CREATE TABLE parallel_queries (n int, query text);
INSERT INTO parallel_queries VALUES
    (1, 'SELECT count(*) || '' '' || sum(k) FROM seen WHERE k >= 0'),
    (2, 'SELECT count(*) || '' '' || sum(k + length(coalesce(by_index, ''''))) FROM seen WHERE k >= 0'),
    (3, 'SELECT count(*) || '' '' || sum(s.k) FROM few JOIN seen s ON s.k = few.k'),
    (4, 'SELECT count(*) || '' '' || sum(s.k + length(coalesce(by_index, ''''))) FROM few JOIN seen s ON s.k = few.k AND s.k > 2');
CREATE TABLE few AS SELECT i AS k FROM generate_series(0, 3000, 7) i;
VACUUM few, seen;
ALTER TABLE seen SET (parallel_workers = 2);
ALTER TABLE few SET (parallel_workers = 2);
DO $$
DECLARE
    q parallel_queries;
BEGIN
    FOR q IN TABLE parallel_queries LOOP
        EXECUTE format('CREATE FUNCTION parallel%s() RETURNS SETOF text LANGUAGE plpgsql AS $f$ BEGIN RETURN QUERY %s; END $f$', q.n, q.query);
    END LOOP;
END $$;
CREATE TABLE parallel_outcomes (n int, i int, parallel text, by_table text);
CREATE FUNCTION try_parallel(i int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
    q parallel_queries;
    answer text;
BEGIN
    IF i IN (70, 150, 260) THEN
        FOR q IN TABLE parallel_queries LOOP
            -- (the inner side of a join has its index because that is cheaper)
            PERFORM use('indexscan', 'indexonlyscan', CASE WHEN q.query ~ 'JOIN' THEN 'seqscan' ELSE '' END);
            EXECUTE format('SELECT parallel%s()', q.n) INTO answer;
            INSERT INTO parallel_outcomes VALUES (q.n, i, answer);
        END LOOP;
        PERFORM use('seqscan'), set_config('max_parallel_workers_per_gather', '0', false);
        FOR q IN TABLE parallel_queries LOOP
            EXECUTE q.query INTO answer;
            UPDATE parallel_outcomes o SET by_table = answer WHERE o.n = q.n AND o.i = try_parallel.i;
        END LOOP;
        PERFORM set_config('max_parallel_workers_per_gather', '2', false);
    END IF;
    RETURN i;
END $$;
TRUNCATE seen;
INSERT INTO seen SELECT i * 2 FROM generate_series(0, 2999) i;
ANALYZE seen, few;
SET fpbtree.enable_batch_join = off;
CREATE FUNCTION workers(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
    PERFORM use('indexscan', 'indexonlyscan', CASE WHEN query ~ 'JOIN' THEN 'seqscan' ELSE '' END);
    RETURN QUERY EXECUTE 'EXPLAIN (COSTS OFF) ' || query;
END $$;
CALL use_workers();
SELECT n, string_agg(regexp_replace(line, '^ *(-> *)?| using.*', '', 'g'), ', ') AS plan FROM parallel_queries, workers(query) line WHERE line ~ 'Workers|Nested Loop|Index.* using' GROUP BY n ORDER BY n;
SELECT use_any();
INSERT INTO seen SELECT k, i FROM news WHERE try_parallel(i) = i;
RESET ALL;
SET search_path = batch, public;
SET max_parallel_workers_per_gather = 0;
SET jit = off;
SET fpbtree.queue_worker = off;
SET fpbtree.insert_batch_size = 4096;
SELECT n, count(*), count(*) FILTER (WHERE parallel = by_table), max(parallel) FROM parallel_outcomes GROUP BY n ORDER BY n;

-- ---- subtransactions ----

CREATE FUNCTION agrees() RETURNS text LANGUAGE plpgsql SET search_path = batch, public AS $$
DECLARE
    rows text := 'SELECT k, v FROM seen WHERE k >= -1000 ORDER BY k, v';
BEGIN
    PERFORM fpbtree_check('seen_k', true), fpbtree_check('seen_vk', true);
    IF answer(rows, 'indexscan', 'sort') <> answer(rows, 'seqscan', 'sort') THEN
        RETURN 'the index has other rows than the table';
    END IF;
    RETURN (SELECT count(*) || ' rows, to ' || max(k) FROM seen);
END $$;
CALL refill();
SET enable_seqscan = off;
SET enable_bitmapscan = off;

-- A statement fails after many rows, and another one goes on in the same transaction
DO $$
BEGIN
    BEGIN
        INSERT INTO seen SELECT 20000 + k FROM news WHERE 1 / (260 - i) >= 0;
    EXCEPTION WHEN division_by_zero THEN
        RAISE NOTICE 'failed, with % rows', (SELECT count(*) FROM seen WHERE k >= 20000);
    END;
    INSERT INTO seen SELECT 3000 + k FROM news;
    RAISE NOTICE '%', agrees();
    BEGIN
        INSERT INTO seen SELECT 4000 + k FROM news;
        RAISE EXCEPTION division_by_zero;
    EXCEPTION WHEN division_by_zero THEN
        RAISE NOTICE '% rows', (SELECT count(*) FROM seen WHERE k >= 4000);
    END;
    INSERT INTO seen SELECT 5000 + k FROM news;
END $$;
SELECT agrees();
BEGIN;
SAVEPOINT a;
INSERT INTO seen SELECT 7000 + k FROM news;
ROLLBACK TO a;
INSERT INTO seen SELECT 7001 + k FROM news;
SAVEPOINT b;
INSERT INTO seen SELECT 7002 + k FROM news WHERE 1 / (260 - i) >= 0;
ROLLBACK TO b;
INSERT INTO seen SELECT 7003 + k FROM news;
RELEASE b;
ROLLBACK TO a;
INSERT INTO seen SELECT 7004 + k FROM news;
COMMIT;
SELECT agrees();

-- The outer statement's entries are put in by a subtransaction that is rolled back; one that inserts as well
CREATE FUNCTION count_in_vain(i int) RETURNS int LANGUAGE plpgsql SET search_path = batch, public AS $$
DECLARE
    n int;
BEGIN
    BEGIN
        IF i % 50 = 20 THEN
            SELECT count(*) INTO n FROM seen WHERE k >= 0;
            RAISE EXCEPTION division_by_zero;
        ELSIF i % 50 = 30 THEN
            INSERT INTO seen SELECT 11000 + k FROM news LIMIT 150;
            SELECT count(*) INTO n FROM seen WHERE k >= 0;
            RAISE EXCEPTION division_by_zero;
        ELSIF i % 50 = 40 THEN
            INSERT INTO seen SELECT 11000 + k FROM news WHERE 1 / (150 - news.i) >= 0;
        END IF;
    EXCEPTION WHEN division_by_zero THEN
        NULL;
    END;
    RETURN n;
END $$;
CALL refill();
INSERT INTO seen SELECT 10000 + k, count_in_vain(i) FROM news;
SELECT v, count(*) FROM seen WHERE v > 0 GROUP BY v ORDER BY v;
SELECT agrees();

-- Transactions that end in procedures
CREATE PROCEDURE insert_and_end() LANGUAGE plpgsql AS $$
DECLARE
    r record;
BEGIN
    FOR r IN SELECT * FROM generate_series(1, 4) g LOOP
        INSERT INTO seen SELECT 20000 + r.g * 1000 + k FROM news;
        IF r.g % 2 = 0 THEN
            COMMIT;
        ELSE
            ROLLBACK;
        END IF;
    END LOOP;
END $$;
CALL insert_and_end();
SELECT agrees();

-- The setting changes while a statement runs
INSERT INTO seen SELECT 40000 + k, length(set_config('fpbtree.insert_batch_size', (ARRAY[4096, 0, 1])[i / 90 + 1]::text, false)) FROM news;
SET fpbtree.insert_batch_size = 4096;
SELECT agrees();

-- A loop over the statement's rows, which may not commit
DO $$
DECLARE
    r record;
BEGIN
    FOR r IN INSERT INTO seen SELECT 30000 + k FROM news RETURNING k LOOP
        COMMIT;
    END LOOP;
END $$;
SELECT agrees();
RESET enable_seqscan;
RESET enable_bitmapscan;

-- ---- ON CONFLICT ----

-- with a btree that is unique, and many conflicts within the statement; a row that comes in between, so that one which has
-- been put in the table is taken back
CREATE TABLE oc (id int PRIMARY KEY, k int, t text COLLATE "C", n int DEFAULT 0);
CREATE FUNCTION come_before(id int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$
BEGIN
    IF current_setting('batch.between', true) = id::text THEN
        PERFORM set_config('batch.between', '', false);
        PERFORM batch.insert_oc(id);
    END IF;
    RETURN id;
END $$;
CREATE FUNCTION insert_oc(id int) RETURNS void LANGUAGE sql AS $$ INSERT INTO batch.oc VALUES (id, -id, 'between') $$;
CREATE INDEX oc_k ON oc USING fpbtree (k);
CREATE INDEX oc_t ON oc USING fpbtree (t, k);
CREATE INDEX oc_between ON oc USING fpbtree (come_before(id));
-- indexes get their entries in the order of their OIDs
ALTER TABLE oc DROP CONSTRAINT oc_pkey, ADD PRIMARY KEY (id);
CREATE INDEX oc_n ON oc USING fpbtree (n) INCLUDE (t);
CREATE FUNCTION oc_agrees() RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    PERFORM fpbtree_check('oc_k', true), fpbtree_check('oc_t', true), fpbtree_check('oc_n', true), fpbtree_check('oc_between', true);
    IF answer('SELECT k, id FROM oc WHERE k IS NOT NULL ORDER BY k, id', 'indexscan', 'sort') <> answer('SELECT k, id FROM oc ORDER BY k, id', 'seqscan', 'sort') OR
        answer('SELECT n, id FROM oc WHERE n IS NOT NULL ORDER BY n, id', 'indexscan', 'sort') <> answer('SELECT n, id FROM oc ORDER BY n, id', 'seqscan', 'sort') THEN
        RETURN 'an index has other rows than the table';
    END IF;
    RETURN (SELECT count(*) || ', ' || sum(k) || ', ' || sum(n) || ', ' || count(DISTINCT t) FROM oc);
END $$;
INSERT INTO oc SELECT i % 200, i * 37 % 101, 'row ' || i % 50 FROM generate_series(0, 500) i ON CONFLICT DO NOTHING;
SELECT oc_agrees();
INSERT INTO oc SELECT i, i * 37 % 101, 'new' FROM generate_series(100, 400) i ON CONFLICT (id) DO UPDATE SET k = 1000 + excluded.k, n = oc.n + 1;
SELECT oc_agrees();
INSERT INTO oc SELECT i, i * 37 % 101, 'new' FROM generate_series(100, 400) i ON CONFLICT (id) DO UPDATE SET n = oc.n + 1 WHERE oc.id % 2 = 0;
SELECT oc_agrees();
SET batch.between = 590;
INSERT INTO oc SELECT i, i, 'doubtful' FROM generate_series(500, 700) i ON CONFLICT DO NOTHING;
SET batch.between = 790;
INSERT INTO oc SELECT i, i, 'doubtful' FROM generate_series(701, 900) i ON CONFLICT (id) DO UPDATE SET n = 7;
SELECT oc_agrees();
SELECT id, k, t, n FROM oc WHERE id IN (590, 790);

-- ---- partitions ----

CREATE TABLE parts (k int, t text COLLATE "C", n int) PARTITION BY RANGE (k);
DO $$
BEGIN
    FOR i IN 0..19 LOOP
        EXECUTE format('CREATE TABLE parts%s PARTITION OF parts FOR VALUES FROM (%s) TO (%s)', i, i * 100, i * 100 + 100);
    END LOOP;
END $$;
CREATE INDEX parts_k ON parts USING fpbtree (k);
CREATE INDEX parts_tk ON parts USING fpbtree (t, k);
CREATE FUNCTION parts_agree() RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    PERFORM fpbtree_check(indexrelid, true) FROM pg_index JOIN pg_inherits ON inhrelid = indexrelid WHERE inhparent IN ('parts_k'::regclass, 'parts_tk'::regclass);
    IF answer('SELECT k, n FROM parts WHERE k >= 0 ORDER BY k, n', 'indexscan', 'sort') <> answer('SELECT k, n FROM parts ORDER BY k, n', 'seqscan', 'sort') OR
        answer('SELECT t, k FROM parts WHERE t > '''' ORDER BY t, k', 'indexonlyscan', 'sort') <> answer('SELECT t, k FROM parts ORDER BY t, k', 'seqscan', 'sort') THEN
        RETURN 'an index has other rows than the table';
    END IF;
    RETURN (SELECT count(*) || ', ' || sum(k) || ', ' || sum(n) FROM parts);
END $$;
INSERT INTO parts SELECT i * 7919 % 2000, 'text ' || i % 300, i FROM generate_series(1, 3000) i;
SELECT parts_agree();
UPDATE parts SET k = (k + 350) % 2000, n = n + 1 WHERE k % 3 = 0;
SELECT parts_agree();
SET fpbtree.insert_batch_size = 1;
UPDATE parts SET k = 1999 - k WHERE k < 700;
SELECT parts_agree();
SET fpbtree.insert_batch_size = 4096;
COPY parts (k) FROM PROGRAM 'seq 0 1999';
UPDATE parts SET t = 'text', n = 0 WHERE n IS NULL;
SELECT parts_agree();

-- ---- what is done to an index while it is filled ----

-- as to a btree
CREATE FUNCTION try_ddl(am text, ddl text, moment text) RETURNS text LANGUAGE plpgsql SET search_path = batch, public SET client_min_messages = warning AS $$
DECLARE
    outcome text := 'done ';
BEGIN
    EXECUTE 'CREATE TABLE filled (k int, v int); INSERT INTO filled SELECT i, i FROM generate_series(1, 100) i';
    EXECUTE format('CREATE INDEX filled_k ON filled USING %s (k)', am);
    EXECUTE format('CREATE INDEX filled_vk ON filled USING %s (v, k)', am);
    EXECUTE 'CREATE FUNCTION do_it() RETURNS trigger LANGUAGE plpgsql AS $do$ BEGIN IF NEW.k = 300 THEN ' || format(ddl, am) || '; END IF; RETURN NEW; END $do$';
    EXECUTE format('CREATE TRIGGER do_it %s INSERT OR UPDATE ON filled FOR EACH ROW EXECUTE FUNCTION do_it()', moment);
    BEGIN
        EXECUTE 'INSERT INTO filled SELECT i, i * 7919 % 1000 FROM generate_series(101, 400) i';
    EXCEPTION WHEN OTHERS THEN
        outcome := SQLSTATE || ' ' || replace(SQLERRM, am, 'AM');
    END;
    IF am = 'fpbtree' THEN
        PERFORM fpbtree_check(indexrelid, true) FROM pg_index WHERE indrelid = 'filled'::regclass;
    END IF;
    outcome := outcome || ', ' || answer('SELECT v, k FROM filled WHERE v > 0 ORDER BY v, k', 'indexscan');
    DROP TABLE filled;
    DROP FUNCTION do_it;
    RETURN outcome;
END $$;
SELECT ddl, moment, split_part(f, ' ', 1) AS outcome, f = b AS as_btree
FROM (VALUES ('REINDEX INDEX filled_k'), ('REINDEX TABLE filled'), ('TRUNCATE filled'), ('DROP INDEX filled_k'), ('CREATE INDEX filled_more ON filled USING %s (v)'), ('DROP TABLE filled'),
        ('CLUSTER filled USING filled_k'), ('ALTER TABLE filled ALTER k TYPE int8'), ('ALTER INDEX filled_k SET (fillfactor = 70)'), ('ALTER INDEX filled_k RENAME TO filled_other'),
        ('ALTER TABLE filled ADD UNIQUE (k)'), ('DROP TRIGGER do_it ON filled'), ('ANALYZE filled'), ('LOCK TABLE filled'), ('BEGIN REINDEX INDEX filled_k; EXCEPTION WHEN OTHERS THEN NULL; END'),
        ('BEGIN DROP INDEX filled_k; EXCEPTION WHEN OTHERS THEN NULL; END')) d (ddl), (VALUES ('BEFORE'), ('AFTER')) m (moment),
    try_ddl('fpbtree', ddl, moment) f, try_ddl('btree', ddl, moment) b;
-- and when it has been filled, in the same transaction
BEGIN;
TRUNCATE seen;
INSERT INTO seen SELECT k FROM news;
REINDEX INDEX seen_k;
INSERT INTO seen SELECT k + 1000 FROM news;
TRUNCATE seen;
INSERT INTO seen SELECT k + 2000 FROM news;
DROP INDEX seen_vk;
INSERT INTO seen SELECT k + 3000 FROM news;
CREATE INDEX seen_vk ON seen USING fpbtree (v, k);
INSERT INTO seen SELECT k + 4000 FROM news;
SELECT agrees();
COMMIT;

-- fpbtree_check by a function that the statement calls
CREATE FUNCTION check_at(i int) RETURNS int LANGUAGE plpgsql SET search_path = batch, public AS $$
BEGIN
    IF i % 50 = 20 THEN
        PERFORM fpbtree_check('seen_k', true), fpbtree_check('seen_vk', true);
    END IF;
    RETURN i;
END $$;
CALL refill();
INSERT INTO seen SELECT k, check_at(i) FROM news;
UPDATE seen SET v = check_at(k) WHERE k > 10;
SELECT agrees();

-- Frozen rows of COPY: snapshots of its own command see them
CREATE FUNCTION by_table_stable() RETURNS text STABLE LANGUAGE sql
    SET enable_indexscan = off SET enable_indexonlyscan = off SET enable_bitmapscan = off AS 'SELECT count(*) || '' '' || sum(k) FROM batch.seen WHERE k >= 0';
ALTER TABLE seen ADD CHECK (k % 100 > 0 OR by_index_stable() IS NOT DISTINCT FROM by_table_stable());
BEGIN;
TRUNCATE seen;
COPY seen (k) FROM PROGRAM 'seq 1 2500' (FREEZE);
COMMIT;
SELECT agrees();

-- Comparators that fail while entries are put in: at the end, or while a function reads the index and catches the error.
-- Then the statement fails, and the index is sound.
CREATE FUNCTION cmp(a int, b int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$
DECLARE
    users text := current_setting('batch.users', true);
    rest int := nullif(current_setting('batch.fail_in', true), '')::int;
BEGIN
    IF rest = 0 THEN
        RAISE EXCEPTION USING ERRCODE = 'division_by_zero', MESSAGE = 'no comparison';
    ELSIF rest > 0 THEN
        PERFORM set_config('batch.fail_in', (rest - 1)::text, false);
    END IF;
    IF users <> '' AND strpos(users, current_user) = 0 THEN
        PERFORM set_config('batch.users', users || ' ' || current_user, false);
    END IF;
    RETURN CASE WHEN a < b THEN -1 WHEN a > b THEN 1 ELSE 0 END;
END $$;
CREATE OPERATOR CLASS own_ops FOR TYPE int4 USING fpbtree AS
    OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >, FUNCTION 1 cmp(int, int);
CREATE TABLE own (k int, n int);
INSERT INTO own SELECT i * 10, i FROM generate_series(0, 99) i;
CREATE INDEX own_k ON own USING fpbtree (k own_ops) WITH (operation_queue = off);
CREATE FUNCTION count_own(i int, at int, fail_in int) RETURNS int LANGUAGE plpgsql SET search_path = batch, public SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE
    n int;
BEGIN
    IF i = at THEN
        PERFORM set_config('batch.fail_in', fail_in::text, false);
        SELECT count(*) INTO n FROM own WHERE k >= 0;
        PERFORM set_config('batch.fail_in', '', false);
    END IF;
    RETURN n;
EXCEPTION WHEN division_by_zero THEN
    RETURN -1;
END $$;
CREATE FUNCTION try_own(way text, fail_in int) RETURNS text LANGUAGE plpgsql SET search_path = batch, public AS $$
DECLARE
    outcome text := 'done';
    counted int;
BEGIN
    BEGIN
        CASE way
            WHEN 'end' THEN
                INSERT INTO own SELECT i * 37 % 261 * 5 + 1, CASE i WHEN 260 THEN set_config('batch.fail_in', fail_in::text, false)::int END FROM generate_series(0, 260) i;
            WHEN 'caught' THEN
                -- when there are no more rows, or when there are
                WITH r AS (INSERT INTO own SELECT i * 37 % 261 * 5 + 1, i FROM generate_series(0, 260) i RETURNING count_own(n, 260, fail_in) AS n)
                SELECT count(r.n) INTO counted FROM r;
            WHEN 'caught earlier' THEN
                INSERT INTO own SELECT i * 37 % 261 * 5 + 1, count_own(i, 200, fail_in) FROM generate_series(0, 260) i;
        END CASE;
        PERFORM set_config('batch.fail_in', '', false);
        PERFORM fpbtree_check('own_k', true);
        RAISE EXCEPTION USING ERRCODE = 'ZZZZZ', MESSAGE = outcome;
    EXCEPTION WHEN division_by_zero OR object_not_in_prerequisite_state OR SQLSTATE 'ZZZZZ' THEN
        outcome := CASE SQLSTATE WHEN 'ZZZZZ' THEN SQLERRM ELSE SQLSTATE END;
    END;
    PERFORM fpbtree_check('own_k', true);
    RETURN outcome || ', then ' || answer('SELECT k FROM own WHERE k >= 0', 'indexscan', 'sort');
END $$;
SELECT DISTINCT way, try_own(way, fail_in) FROM unnest('{end,caught,caught earlier}'::text[]) way, generate_series(1, 10000, 431) fail_in ORDER BY 1, 2;

-- A comparator that reads another index of the table, which may have entries to put in itself
CREATE TABLE other (k int, n int, v int);
INSERT INTO other SELECT i * 10, i, i FROM generate_series(0, 99) i;
CREATE INDEX other_n ON other USING fpbtree (n);
CREATE FUNCTION cmp_other(a int, b int) RETURNS int LANGUAGE plpgsql SET enable_seqscan = off SET enable_bitmapscan = off AS $$
BEGIN
    IF current_setting('batch.look', true) = 'on' THEN
        IF (SELECT count(*) FROM batch.other WHERE n = 50) <> 1 THEN
            RAISE EXCEPTION 'no such row';
        END IF;
    END IF;
    RETURN CASE WHEN a < b THEN -1 WHEN a > b THEN 1 ELSE 0 END;
END $$;
CREATE OPERATOR CLASS other_ops FOR TYPE int4 USING fpbtree AS
    OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >, FUNCTION 1 cmp_other(int, int);
CREATE INDEX other_k ON other USING fpbtree (k other_ops);
CREATE INDEX other_nv ON other USING fpbtree (v, n);
SET batch.look = on;
INSERT INTO other SELECT i * 37 % 261 * 5 + 1, i + 1000, i FROM generate_series(0, 260) i;
SELECT fpbtree_check('other_k', true), fpbtree_check('other_n', true), fpbtree_check('other_nv', true), count(*) FROM other;
RESET batch.look;

-- Comparators have the rights of who inserts, whoever the reader is that has entries put in
CREATE ROLE regress_batch_inserter;
GRANT USAGE ON SCHEMA batch TO regress_batch_inserter;
GRANT INSERT ON own TO regress_batch_inserter;
-- (to read a row, whichever that is, compares nothing)
CREATE FUNCTION count_as_owner(i int) RETURNS int LANGUAGE plpgsql SECURITY DEFINER SET search_path = batch, public SET enable_seqscan = off SET enable_bitmapscan = off AS $$
BEGIN
    IF i = 200 THEN
        PERFORM set_config('batch.users', 'compared by', false);
        PERFORM k FROM own LIMIT 1;
        PERFORM set_config('batch.said', current_setting('batch.users'), false), set_config('batch.users', '', false);
    END IF;
    RETURN i;
END $$;
SET ROLE regress_batch_inserter;
INSERT INTO own SELECT i * 37 % 261 * 5 + 1, count_as_owner(i) FROM generate_series(0, 260) i;
RESET ROLE;
SHOW batch.said;
SELECT fpbtree_check('own_k', true);

-- and their search_path: not that of a reader who sets a trap, nor of one with none
CREATE ROLE regress_batch_reader;
GRANT USAGE ON SCHEMA batch TO regress_batch_reader;
CREATE SCHEMA batch_trap AUTHORIZATION regress_batch_reader;
CREATE FUNCTION weight(a int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN RETURN a; END $$;
CREATE FUNCTION cmp_weight(a int, b int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN RETURN sign(weight(a) - weight(b)); END $$;
CREATE OPERATOR CLASS weight_ops FOR TYPE int4 USING fpbtree AS
    OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >, FUNCTION 1 cmp_weight(int, int);
CREATE TABLE weighed (k int, n int);
CREATE INDEX weighed_k ON weighed USING fpbtree (k weight_ops) WITH (operation_queue = off);
GRANT SELECT ON weighed TO regress_batch_reader;
SET ROLE regress_batch_reader;
CREATE FUNCTION batch_trap.weight(a int) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('batch.said', 'trapped with rights of ' || CASE (SELECT rolsuper FROM pg_roles WHERE rolname = current_user) WHEN true THEN 'a superuser' ELSE current_user END, false);
    RETURN a;
END $$;
CREATE FUNCTION batch_trap.peek(i int) RETURNS int LANGUAGE plpgsql SECURITY DEFINER SET search_path = batch_trap, batch SET enable_seqscan = off AS $$
BEGIN
    IF i = 200 THEN
        PERFORM k FROM weighed LIMIT 1;
    END IF;
    RETURN i;
END $$;
RESET ROLE;
CREATE FUNCTION peek(i int) RETURNS int LANGUAGE plpgsql SET search_path = '' SET enable_seqscan = off AS $$
BEGIN
    IF i = 200 THEN
        PERFORM k FROM batch.weighed LIMIT 1;
    END IF;
    RETURN i;
END $$;
SET batch.said = 'not trapped';
INSERT INTO weighed SELECT i * 37 % 261, batch_trap.peek(i) FROM generate_series(0, 260) i;
SHOW batch.said;
INSERT INTO weighed SELECT i * 37 % 261, peek(i) FROM generate_series(0, 260) i;
SELECT count(*), answer('SELECT k FROM weighed WHERE k >= 0 ORDER BY k', 'indexscan', 'sort') = answer('SELECT k FROM weighed ORDER BY k', 'seqscan', 'sort') AS agrees FROM weighed;
SET client_min_messages = warning;
DROP SCHEMA batch_trap CASCADE;
RESET client_min_messages;

-- Statements collect indeed: fewer pages are looked at than there are rows.
CREATE TEMP TABLE visited (k int, t text COLLATE "C");
CREATE INDEX visited_k ON visited USING fpbtree (k);
CREATE INDEX visited_t ON visited USING fpbtree (t);
CREATE FUNCTION visits(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    k int := pg_stat_get_xact_blocks_fetched('visited_k'::regclass);
    t int := pg_stat_get_xact_blocks_fetched('visited_t'::regclass);
    rows int;
BEGIN
    EXECUTE statement;
    GET DIAGNOSTICS rows = ROW_COUNT;
    k := pg_stat_get_xact_blocks_fetched('visited_k'::regclass) - k;
    t := pg_stat_get_xact_blocks_fetched('visited_t'::regclass) - t;
    RETURN CASE WHEN rows < 500 THEN 'few rows' WHEN k < rows / 2 AND t < rows / 2 THEN 'together' WHEN k >= rows AND t >= rows THEN 'one by one' ELSE format('%s and %s for %s rows', k, t, rows) END;
END $$;
SELECT statement, visits(statement) FROM unnest(ARRAY[
    'INSERT INTO visited SELECT i * 7919 % 9001, i * 7919 % 9001 FROM generate_series(1, 3000) i',
    'COPY visited (k) FROM PROGRAM ''seq 1 1000''',
    'UPDATE visited SET k = -k, t = t || ''a'' WHERE t IS NOT NULL',
    'MERGE INTO visited USING (SELECT i FROM generate_series(1, 1000) i) ON false WHEN NOT MATCHED THEN INSERT VALUES (i, i::text)',
    'SET fpbtree.insert_batch_size = 0',
    'INSERT INTO visited SELECT i * 7919 % 9001, i * 7919 % 9001 FROM generate_series(1, 1000) i',
    'SET fpbtree.insert_batch_size = 4096']) statement;
SELECT fpbtree_check('visited_k', true), fpbtree_check('visited_t', true);

-- What a statement puts in at its end counts as the statement's: of the WAL, a record for each row and one for each leaf at least.
CREATE TABLE counted (k int);
CREATE INDEX counted_k ON counted USING fpbtree (k);
CREATE FUNCTION is_counted(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    plan json;
    rows bigint;
    records bigint;
BEGIN
    EXECUTE 'EXPLAIN (ANALYZE, WAL, FORMAT JSON) ' || statement INTO plan;
    plan := plan->0->'Plan';
    rows := (plan->'Plans'->0->>'Actual Rows')::numeric;
    records := (plan->>'WAL Records')::bigint;
    RETURN CASE WHEN rows < 500 THEN 'few rows' WHEN records > rows + 64 + (fpbtree_stats('counted_k')).leaf_pages THEN 'all' ELSE format('%s for %s rows', records, rows) END;
END $$;
SELECT is_counted('INSERT INTO counted SELECT i * 7919 % 90001 FROM generate_series(1, 20000) i');
SELECT is_counted('INSERT INTO counted SELECT i * 7919 % 90001 FROM generate_series(1, 10000) i');
SELECT fpbtree_check('counted_k', true);

-- Leaves are about as full as if entries come one by one, whatever the order of rows, and however many batches they are.
CREATE TABLE filled (n int, a int4, b int8, t text COLLATE "C", i text COLLATE "und-x-icu");
CREATE INDEX filled_a ON filled USING fpbtree (a);
CREATE INDEX filled_b ON filled USING fpbtree (b);
CREATE INDEX filled_t ON filled USING fpbtree (t);
CREATE INDEX filled_i ON filled USING fpbtree (i);
CREATE INDEX filled_at ON filled USING fpbtree (a, t);
CREATE INDEX filled_tb ON filled USING fpbtree (t, b);
CREATE TEMP TABLE pages (key text, batch int, part int, index regclass, pages int);
CREATE PROCEDURE fill_in(key text, batch int) LANGUAGE plpgsql AS $$
BEGIN
    TRUNCATE filled;
    PERFORM set_config('fpbtree.insert_batch_size', batch::text, false);
    FOR part IN 0 .. 2 LOOP
        EXECUTE format('INSERT INTO filled SELECT n, k, k, ''customer/'' || lpad(k::text, 8, ''0''), ''customer/'' || lpad(k::text, 8, ''0'') FROM (SELECT n, %s AS k FROM generate_series(1 + %s, %s) n) x', key, part * 5000, part * 5000 + CASE part WHEN 0 THEN 5000 ELSE 2500 END);
        INSERT INTO pages SELECT key, batch, part, i, pg_relation_size(i) / current_setting('block_size')::int FROM unnest(ARRAY['filled_a', 'filled_b', 'filled_t', 'filled_i', 'filled_at', 'filled_tb']::regclass[]) i;
    END LOOP;
END $$;
DO $$
DECLARE
    key text;
    batch int;
BEGIN
    FOREACH key IN ARRAY ARRAY['hashint4(n) & 16777215', 'n * 7919 % 501', 'n % 50 * 100000 + n', '(9 - n / 700) * 1000 + n % 700'] LOOP
        FOREACH batch IN ARRAY ARRAY[0, 65536] LOOP
            CALL fill_in(key, batch);
        END LOOP;
    END LOOP;
    -- updated rows find room in their pages or go to the table's end, so their places don't tell their order
    FOREACH batch IN ARRAY ARRAY[0, 65536] LOOP
        CREATE TABLE moved (k int, pad text) WITH (fillfactor = 70);
        INSERT INTO moved SELECT i, repeat('x', 50) FROM generate_series(1, 10000) i;
        CREATE INDEX moved_k ON moved USING fpbtree (k);
        PERFORM set_config('fpbtree.insert_batch_size', batch::text, false);
        UPDATE moved SET k = k + 1000000;
        INSERT INTO pages VALUES ('updated', batch, 0, 'filled_a', pg_relation_size('moved_k') / current_setting('block_size')::int);
        DROP TABLE moved;
    END LOOP;
END $$;
RESET fpbtree.insert_batch_size;
SELECT key, batch, part, index, pages, singly FROM pages JOIN (SELECT key, part, index, pages AS singly FROM pages WHERE batch = 0) s USING (key, part, index) WHERE pages > singly * CASE current_setting('block_size') WHEN '4096' THEN 1.5 ELSE 1.3 END + 4 ORDER BY 1, 2, 3, 4;
SELECT max(pages) > 5 AS several_pages FROM pages;

-- Every snapshot sees the rows of COPY FREEZE, and so does that of a stable function, which is the statement's own.
CREATE TABLE frozen (a int);
CREATE INDEX frozen_a ON frozen USING fpbtree (a);
CREATE FUNCTION frozen_seen(k int) RETURNS boolean STABLE LANGUAGE plpgsql AS $$
DECLARE
    by_index int;
    by_table int;
BEGIN
    IF k % 1000 <> 0 THEN
        RETURN true;
    END IF;
    PERFORM set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true);
    EXECUTE 'SELECT count(*) FROM frozen WHERE a > 0' INTO by_index;
    PERFORM set_config('enable_seqscan', 'on', true), set_config('enable_indexscan', 'off', true), set_config('enable_indexonlyscan', 'off', true);
    EXECUTE 'SELECT count(*) FROM frozen WHERE a > 0' INTO by_table;
    PERFORM set_config('enable_indexscan', 'on', true), set_config('enable_indexonlyscan', 'on', true), set_config('enable_bitmapscan', 'on', true);
    RAISE NOTICE 'at row %: %', k, CASE WHEN by_index <> by_table THEN format('%s by the index, %s in the table', by_index, by_table) WHEN by_table > 64 THEN 'the same' ELSE 'few' END;
    RETURN true;
END $$;
BEGIN;
TRUNCATE frozen;
COPY frozen FROM PROGRAM 'seq 1 5000' WITH (FREEZE) WHERE frozen_seen(a);
COMMIT;
SELECT fpbtree_check('frozen_a', true);

SET client_min_messages = warning;
DROP SCHEMA batch CASCADE;
DROP ROLE regress_batch_inserter, regress_batch_reader;

