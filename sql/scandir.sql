--
-- Scan directions: scrollable cursors, mark and restore, changes of direction
-- anywhere; entries that are killed or vary while a scan is under way.
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS fpbtree;
RESET client_min_messages;

CREATE SCHEMA scan_dir;
SET search_path = scan_dir, public;
SET max_parallel_workers_per_gather = 0;
SET jit = off;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SET enable_sort = off;
SET enable_material = off;

-- every key 3 times, NULLs at the end; f with fpbtree, b with btree
CREATE TABLE f (id int, k int4, t text COLLATE "C") WITH (autovacuum_enabled = off);
INSERT INTO f SELECT i, CASE WHEN i <= 5900 THEN i % 2000 END, 'text ' || i % 1500 FROM generate_series(1, 6000) i;
CREATE TABLE b (LIKE f) WITH (autovacuum_enabled = off);
INSERT INTO b SELECT * FROM f;
CREATE INDEX f_k ON f USING fpbtree (k);
CREATE INDEX f_t ON f USING fpbtree (t DESC, id) INCLUDE (k);
-- btree hands out duplicates in one order in both directions if it has merged them
CREATE INDEX b_k ON b USING btree (k) WITH (deduplicate_items = off);
CREATE INDEX b_t ON b USING btree (t DESC, id) INCLUDE (k);
VACUUM ANALYZE f;
VACUUM ANALYZE b;

-- one table's cursor, moved about
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT k FROM f WHERE k BETWEEN 100 AND 900 ORDER BY k;
FETCH PRIOR FROM c;
FETCH NEXT FROM c;
FETCH FORWARD 5 FROM c;
FETCH BACKWARD 3 FROM c;
FETCH ABSOLUTE 2000 FROM c;
FETCH RELATIVE -1700 FROM c;
FETCH LAST FROM c;
FETCH NEXT FROM c;
FETCH PRIOR FROM c;
FETCH FIRST FROM c;
FETCH PRIOR FROM c;
FETCH NEXT FROM c;
MOVE FORWARD ALL FROM c;
FETCH BACKWARD 2 FROM c;
MOVE BACKWARD ALL FROM c;
FETCH FORWARD 2 FROM c;
COMMIT;

-- cursors on both tables, moved alike
CREATE FUNCTION compare(query text, moves int[]) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
    fc refcursor;
    bc refcursor;
    fr record;
    br record;
    n int;
    fetched int := 0;
BEGIN
    OPEN fc SCROLL FOR EXECUTE format(query, 'f');
    OPEN bc SCROLL FOR EXECUTE format(query, 'b');
    FOREACH n IN ARRAY moves LOOP
        -- one by one, as MOVE would not compare what is passed
        FOR i IN 1..abs(n) LOOP
            IF n > 0 THEN
                FETCH NEXT FROM fc INTO fr;
                FETCH NEXT FROM bc INTO br;
            ELSE
                FETCH PRIOR FROM fc INTO fr;
                FETCH PRIOR FROM bc INTO br;
            END IF;
            IF fr IS DISTINCT FROM br THEN
                RAISE NOTICE '%: after % of %, % instead of %', query, i, n, fr, br;
                RETURN fetched;
            END IF;
            EXIT WHEN fr IS NULL;
            fetched := fetched + 1;
        END LOOP;
    END LOOP;
    CLOSE fc;
    CLOSE bc;
    RETURN fetched;
END $$;

SELECT sum(compare(q, m::int[])) AS compared
FROM unnest(ARRAY[
        'SELECT ctid, * FROM %s ORDER BY k', 'SELECT ctid, * FROM %s ORDER BY k DESC',
        'SELECT ctid, * FROM %s WHERE k > 1500 ORDER BY k DESC', 'SELECT ctid, * FROM %s WHERE k IS NULL',
        'SELECT ctid, * FROM %s WHERE k IN (1, 5, 6, 700, 701, 702, 1500, 1998, 1999) ORDER BY k',
        'SELECT ctid, * FROM %s WHERE k IN (1, 5, 6, 700, 701, 702, 1500, 1998, 1999) ORDER BY k DESC',
        'SELECT ctid, * FROM %s WHERE k = 7', 'SELECT ctid, * FROM %s WHERE k = -7', 'SELECT ctid, * FROM %s WHERE k = 7 AND k = 8',
        'SELECT id, t, k FROM %s ORDER BY t DESC, id', 'SELECT id, t, k FROM %s ORDER BY t, id DESC',
        'SELECT id, t, k FROM %s WHERE t > ''text 5'' ORDER BY t DESC, id',
        'SELECT id, t, k FROM %s WHERE t IN (''text 5'', ''text 500'', ''text 501'', ''text 999'') AND id < 5000 ORDER BY t DESC, id',
        'SELECT id, t, k FROM %s WHERE id %% 1000 = 1 ORDER BY t, id DESC']) q,
    unnest(ARRAY['{-1,3,-2,5,-10,10}', '{10000,-1,1,-10000,1,-1}', '{10000,1,-10000,-1,10000}',
                 '{500,-300,600,-700,2,-100,900,-10000}', '{1,-1,1,-1,1,-1}', '{367,-1,1,-2,2,-367,-1,1}']::text[]) m;

-- mark and restore
CREATE TABLE few (k int4);
INSERT INTO few SELECT k FROM generate_series(0, 2100) k, generate_series(1, 4) WHERE k % 3 = 0;
CREATE INDEX few_k ON few USING fpbtree (k);
VACUUM ANALYZE few;
SET enable_hashjoin = off;
SET enable_nestloop = off;
-- (of either side, whichever the planner takes for the inner one)
CREATE FUNCTION plan_of(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
    line text;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
        RETURN NEXT ltrim(line, ' ->');
    END LOOP;
END $$;
SELECT plan FROM plan_of('SELECT count(*), sum(id) FROM few JOIN f USING (k)') plan WHERE plan ~ 'Join|Scan' ORDER BY 1;
DROP FUNCTION plan_of;
SELECT count(*), sum(id) FROM few JOIN f USING (k);
SELECT count(*), sum(x.id * y.id::int8) FROM f x JOIN f y USING (t) WHERE x.t > 'text 7';
SET enable_hashjoin = on;
SET enable_mergejoin = off;
SELECT count(*), sum(id) FROM few JOIN f USING (k);
SELECT count(*), sum(x.id * y.id::int8) FROM f x JOIN f y USING (t) WHERE x.t > 'text 7';
-- one value, many pages of it on both sides
SET enable_mergejoin = on;
SET enable_hashjoin = off;
CREATE TABLE same (k int4);
INSERT INTO same SELECT i / 1500 FROM generate_series(0, 2999) i;
CREATE INDEX same_k ON same USING fpbtree (k);
VACUUM ANALYZE same;
SELECT count(*) FROM same x JOIN same y USING (k);
RESET enable_hashjoin;
RESET enable_nestloop;

-- in parallel, in both directions
SET min_parallel_index_scan_size = 0;
SET min_parallel_table_scan_size = 0;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET max_parallel_workers_per_gather = 2;
EXPLAIN (COSTS OFF) SELECT k, id FROM f WHERE id % 10 = 0 ORDER BY k DESC;
SELECT count(*), sum(k), sum(id),
       count(*) FILTER (WHERE k > lag) AS out_of_order
FROM (SELECT k, id, lag(k) OVER () FROM (SELECT k, id FROM f WHERE id % 10 = 0 ORDER BY k DESC) x) y;
SELECT count(*), sum(k), sum(id),
       count(*) FILTER (WHERE k < lag) AS out_of_order
FROM (SELECT k, id, lag(k) OVER () FROM (SELECT k, id FROM f WHERE id % 10 = 0 ORDER BY k) x) y;
SELECT count(*), sum(k), sum(id) FROM b WHERE id % 10 = 0;
SELECT count(*), sum(k), sum(id),
       count(*) FILTER (WHERE k > lag) AS out_of_order
FROM (SELECT k, id, lag(k) OVER () FROM (SELECT k, id FROM f WHERE k BETWEEN 300 AND 1700 AND id % 10 = 0 ORDER BY k DESC) x) y;
SELECT count(*), sum(k), sum(id) FROM b WHERE k BETWEEN 300 AND 1700 AND id % 10 = 0;
EXPLAIN (COSTS OFF) SELECT count(t) FROM f WHERE t < 'text 6';
SELECT count(t) FROM f WHERE t < 'text 6';
SELECT count(t) FROM b WHERE t < 'text 6';
-- rescans of a parallel scan
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SELECT x, (SELECT count(k) FROM f WHERE k < x * 100 AND id > 0) FROM generate_series(1, 3) x;
RESET enable_hashjoin;
RESET enable_mergejoin;
SET max_parallel_workers_per_gather = 0;

-- entries found dead are remembered, once what the first scan has pruned is on
-- disk: the third does not visit the table
CREATE FUNCTION heap_blocks(query text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
    plan json;
BEGIN
    EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, COSTS OFF, TIMING OFF, SUMMARY OFF, FORMAT json) ' || query INTO plan;
    RETURN (plan->0->'Plan'->>'Shared Hit Blocks')::int + (plan->0->'Plan'->>'Shared Read Blocks')::int;
END $$;
DELETE FROM f WHERE k BETWEEN 500 AND 800;
CREATE TEMP TABLE visits (n int, blocks int);
INSERT INTO visits VALUES (1, heap_blocks('SELECT * FROM f WHERE k BETWEEN 500 AND 800 ORDER BY k'));
INSERT INTO visits VALUES (2, heap_blocks('SELECT * FROM f WHERE k BETWEEN 500 AND 800 ORDER BY k'));
INSERT INTO visits VALUES (3, heap_blocks('SELECT * FROM f WHERE k BETWEEN 500 AND 800 ORDER BY k'));
SELECT x.blocks > 10 * y.blocks AS killed FROM visits x, visits y WHERE x.n = 1 AND y.n = 3;
SELECT count(*) FROM f WHERE k BETWEEN 499 AND 801;
-- a place that was a dead row's is taken anew
VACUUM f;
INSERT INTO f SELECT i, i, 'new' FROM generate_series(500, 800) i;
SELECT count(*), sum(k) FROM f WHERE k BETWEEN 499 AND 801;
DELETE FROM f WHERE k BETWEEN 600 AND 700;
SELECT count(*) FROM f WHERE t = 'new';
SELECT count(*) FROM f WHERE k BETWEEN 499 AND 801;
SELECT count(*) FROM f WHERE t = 'new';

-- how much of a leaf is read at first goes by the plan's LIMIT: ten rows take no
-- more visits than one
CREATE TABLE limited AS SELECT lpad(i::text, 6, '0') COLLATE "C" AS t FROM generate_series(1, 20000) i;
CREATE INDEX limited_t ON limited USING fpbtree (t);
VACUUM ANALYZE limited;
CREATE TEMP VIEW queries (q) AS VALUES
    ('SELECT t FROM limited ORDER BY t'), ('SELECT t FROM limited ORDER BY t DESC'),
    ('SELECT t FROM limited WHERE t > ''009000'' ORDER BY t'), ('SELECT t FROM limited WHERE t < ''009050'' ORDER BY t DESC');
SELECT count(heap_blocks(q || ' LIMIT 1')) FROM queries;
SELECT q, heap_blocks(q || ' LIMIT 10') - heap_blocks(q || ' LIMIT 1') AS more, heap_blocks(q || ' LIMIT 5 OFFSET 5') - heap_blocks(q || ' LIMIT 1') AS behind_five FROM queries;
SELECT * FROM (SELECT t FROM limited ORDER BY t DESC LIMIT 7 OFFSET 30) x;
-- and a scan of all comes to each leaf but once, after the first
SELECT heap_blocks('SELECT t FROM limited ORDER BY t') <= leaf_pages + 10 AS all_at_once FROM fpbtree_stats('limited_t');
DROP VIEW queries;

-- a cursor does not see what is inserted around it while it moves
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT k FROM f WHERE k >= 900 ORDER BY k;
FETCH 2 FROM c;
INSERT INTO f SELECT i, 900 + i % 50, 'late' FROM generate_series(1, 3000) i;
MOVE FORWARD 5 FROM c;
FETCH 3 FROM c;
MOVE FORWARD ALL FROM c;
FETCH PRIOR FROM c;
MOVE BACKWARD 3195 FROM c;
FETCH BACKWARD 3 FROM c;
COMMIT;
SELECT fpbtree_check('f_k', true), fpbtree_check('f_t', true);

-- a cursor that turns round at either end, and again
DO $$
DECLARE
	c SCROLL CURSOR FOR SELECT k FROM f WHERE k < 20 ORDER BY k;
	last int := (SELECT max(k) FROM f WHERE k < 20);
	least int := (SELECT min(k) FROM f WHERE k < 20);
	v int;
BEGIN
	OPEN c;
	FOR i IN 1 .. 40 LOOP
		FETCH NEXT FROM c INTO v;
		ASSERT v = least;
		FETCH PRIOR FROM c INTO v;
		ASSERT v IS NULL;
	END LOOP;
	MOVE FORWARD ALL FROM c;
	FOR i IN 1 .. 40 LOOP
		FETCH PRIOR FROM c INTO v;
		ASSERT v = last;
		FETCH NEXT FROM c INTO v;
		ASSERT v IS NULL;
	END LOOP;
END
$$;

-- A parallel scan that is begun again, with each row of another table
CREATE TABLE again (k int4);
INSERT INTO again SELECT generate_series(1, 5000);
CREATE INDEX again_k ON again USING fpbtree (k);
ALTER TABLE again SET (parallel_workers = 2);
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_index_scan_size = 0;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SET enable_material = off;
EXPLAIN (COSTS OFF) SELECT * FROM (SELECT count(k) FROM again WHERE k > 10) s RIGHT JOIN (VALUES (1), (2), (3)) v (x) ON true;
SELECT * FROM (SELECT count(k) FROM again WHERE k > 10) s RIGHT JOIN (VALUES (1), (2), (3)) v (x) ON true;
RESET max_parallel_workers_per_gather;
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET min_parallel_index_scan_size;
RESET enable_seqscan;
RESET enable_bitmapscan;
RESET enable_material;
DROP TABLE again;

-- A scan reads three entries at first, wherever it begins: the last ones of a leaf too, from where it goes on to the next
CREATE TABLE three (k int4, t text COLLATE "C");
INSERT INTO three SELECT i, lpad(i::text, 5, '0') FROM generate_series(1, 3000) i;
CREATE INDEX three_k ON three USING fpbtree (k);
CREATE INDEX three_t ON three USING fpbtree (t);
VACUUM ANALYZE three;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SET enable_sort = off;
EXPLAIN (COSTS OFF) SELECT k FROM three WHERE k <= 5 ORDER BY k DESC LIMIT 3;
SELECT count(*) AS wrong FROM generate_series(1, 3000) x
WHERE ARRAY(SELECT k FROM three WHERE k >= x ORDER BY k LIMIT 3) <> ARRAY(SELECT generate_series(x, least(x + 2, 3000)));
SELECT count(*) AS wrong FROM generate_series(1, 3000) x
WHERE ARRAY(SELECT k FROM three WHERE k <= x ORDER BY k DESC LIMIT 3) <> ARRAY(SELECT generate_series(x, greatest(x - 2, 1), -1));
SELECT count(*) AS wrong FROM generate_series(1, 3000) x
WHERE ARRAY(SELECT t FROM three WHERE t >= lpad(x::text, 5, '0') ORDER BY t LIMIT 3) <> ARRAY(SELECT lpad(i::text, 5, '0') FROM generate_series(x, least(x + 2, 3000)) i);
SELECT count(*) AS wrong FROM generate_series(1, 3000) x
WHERE ARRAY(SELECT t FROM three WHERE t <= lpad(x::text, 5, '0') ORDER BY t DESC LIMIT 3) <> ARRAY(SELECT lpad(i::text, 5, '0') FROM generate_series(x, greatest(x - 2, 1), -1) i);
-- If it is asked for more, it reads some more, and then the rest
SELECT count(*) AS wrong FROM generate_series(1, 3000) x
WHERE ARRAY(SELECT k FROM three WHERE k >= x ORDER BY k LIMIT 1 + x % 61) <> ARRAY(SELECT generate_series(x, least(x + x % 61, 3000)));
SELECT count(*) AS wrong FROM generate_series(1, 3000) x
WHERE ARRAY(SELECT k FROM three WHERE k BETWEEN x AND x + x % 37 ORDER BY k) <> ARRAY(SELECT generate_series(x, least(x + x % 37, 3000)));
SELECT count(*) AS wrong FROM generate_series(1, 3000) x
WHERE ARRAY(SELECT t FROM three WHERE t >= lpad(x::text, 5, '0') ORDER BY t LIMIT 1 + x % 61) <> ARRAY(SELECT lpad(i::text, 5, '0') FROM generate_series(x, least(x + x % 61, 3000)) i);
-- and passes over what is dead, be it at the front or between
DELETE FROM three WHERE k < 1000 OR k % 5 < 3;
SELECT count(*) AS wrong FROM generate_series(1, 3000, 3) x, generate_series(1, 2)
WHERE ARRAY(SELECT k FROM three WHERE k >= x ORDER BY k LIMIT 1 + x % 31) <>
	ARRAY(SELECT i FROM generate_series(greatest(x, 1000), 3000) i WHERE i % 5 >= 3 LIMIT 1 + x % 31);
SELECT count(*) AS wrong FROM generate_series(1, 3000, 3) x, generate_series(1, 2)
WHERE ARRAY(SELECT t FROM three WHERE t >= lpad(x::text, 5, '0') ORDER BY t LIMIT 1 + x % 31) <>
	ARRAY(SELECT lpad(i::text, 5, '0') FROM generate_series(greatest(x, 1000), 3000) i WHERE i % 5 >= 3 LIMIT 1 + x % 31);
SELECT (SELECT k FROM three ORDER BY k LIMIT 1), (SELECT k FROM three WHERE k < 2000 ORDER BY k DESC LIMIT 1) FROM generate_series(1, 2);
RESET enable_seqscan;
RESET enable_bitmapscan;
RESET enable_sort;
DROP TABLE three;

SET client_min_messages = warning;
DROP SCHEMA scan_dir CASCADE;
