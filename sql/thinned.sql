-- Runs of duplicates: how much room they take, and that they never need more
-- when there are fewer of them.
SET seed = 0.5;
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS fpbtree;
RESET client_min_messages;
CREATE SCHEMA thinned;
SET search_path = thinned, public;

-- Runs share a copy of their key, and are thinned to so few rows that they would
-- get none if they were new; then come other keys, for which pages are made
-- afresh and split.
CREATE TABLE runs (k text COLLATE "C", j int) WITH (autovacuum_enabled = off);
ALTER TABLE runs ALTER k SET STORAGE EXTERNAL;
CREATE INDEX runs_k ON runs USING fpbtree (k);
CREATE INDEX runs_narrow ON runs USING fpbtree (k) WITH (leaf_lines = 3);
CREATE INDEX runs_long_heads ON runs USING fpbtree ((length(k)), k);
CREATE FUNCTION key(i int, length int) RETURNS text LANGUAGE sql IMMUTABLE AS
	$$ SELECT rpad(i::text, length, 'customer') $$;
CREATE PROCEDURE check_runs() LANGUAGE sql AS
	$$ SELECT fpbtree_check('runs_k', true), fpbtree_check('runs_narrow', true), fpbtree_check('runs_long_heads', true) $$;
SELECT setseed(0);

SELECT 'TRUNCATE runs',
	format('INSERT INTO runs SELECT key(i, %s), j FROM generate_series(1000, 999 + %s) i, generate_series(1, %s) j ORDER BY i, j',
		   length, 2400 / run, run),
	format('DELETE FROM runs WHERE j > %s', rest),
	'VACUUM (INDEX_CLEANUP ON) runs',
	format('INSERT INTO runs SELECT key(i, %s) || ''x'' FROM generate_series(1000, 999 + %s) i ORDER BY random()', length, 2400 / run),
	'CALL check_runs()',
	format('INSERT INTO runs SELECT key(i, %s) || ''y'' FROM generate_series(1000, 1199) i ORDER BY random()', length),
	format('DELETE FROM runs WHERE j > %s / 2', rest),
	'VACUUM (INDEX_CLEANUP ON) runs',
	format('INSERT INTO runs SELECT key(i, %s) || ''z'', j FROM generate_series(1000, 1029) i, generate_series(1, 9) j ORDER BY random()', length),
	'CALL check_runs()',
	'REINDEX TABLE runs',
	'CALL check_runs()'
FROM (VALUES (6, 30, 24), (28, 30, 24), (40, 30, 24), (80, 30, 24), (28, 90, 10), (60, 40, 3),
			 (130, 30, 24), (200, 30, 10), (500, 20, 9), (800, 12, 2)) v (length, run, rest) \gexec
-- The rows are there.
SET enable_seqscan = off;
SELECT count(*), bool_and(n = rows) FROM (
	SELECT k, count(*) AS n, (SELECT count(*) FROM runs r WHERE r.k = s.k) AS rows
	FROM (SELECT k FROM runs OFFSET 0) s GROUP BY k) c;
RESET enable_seqscan;
DROP TABLE runs;

-- A leaf full of thinned runs takes over the ranges of many empty ones, and is
-- made afresh when its tuple area is full of former fences.
CREATE TABLE merged (k text COLLATE "C", j int) WITH (autovacuum_enabled = off);
CREATE INDEX merged_k ON merged USING fpbtree (k) WITH (fillfactor = 100);
INSERT INTO merged SELECT key(i, 110), j FROM generate_series(1000, 1199) i, generate_series(1, 30) j ORDER BY i, j;
DELETE FROM merged WHERE j > 24;
VACUUM (INDEX_CLEANUP ON) merged;
DELETE FROM merged WHERE left(k, 4)::int BETWEEN 1050 AND 1169;
VACUUM (INDEX_CLEANUP ON) merged;
SELECT fpbtree_check('merged_k', true);
DROP TABLE merged;

-- Duplicates of text of some lengths, built and grown, against btree: the most
-- that pages may be of btree's, in hundredths.  (A one-key node takes 40 rows of a
-- key, so where there are half as many, half of it is for those to come.)
CREATE TABLE dup (k text COLLATE "C");
CREATE FUNCTION share(length int, dups int) RETURNS TABLE (built int, grown int) LANGUAGE plpgsql AS $$
DECLARE
	rows int := current_setting('block_size')::int * 3 / 2;
BEGIN
	DROP TABLE dup;
	CREATE TABLE dup (k text COLLATE "C");
	CREATE INDEX dup_b ON dup (k);
	-- (of this layout only it is so)
	CREATE INDEX dup_f ON dup USING fpbtree (k) WITH (layout = disk_first);
	INSERT INTO dup SELECT lpad((i / dups)::text, length, 'customer') FROM generate_series(0, rows) i;
	PERFORM fpbtree_check('dup_f', true);
	grown := pg_relation_size('dup_f') * 100 / pg_relation_size('dup_b');
	REINDEX TABLE dup;
	PERFORM fpbtree_check('dup_f', true);
	built := pg_relation_size('dup_f') * 100 / pg_relation_size('dup_b');
	RETURN NEXT;
END
$$;
SELECT length, dups, CASE WHEN built <= most_built THEN 'ok' ELSE built || ' is more than ' || most_built END AS built,
	   CASE WHEN grown <= most_grown THEN 'ok' ELSE grown || ' is more than ' || most_grown END AS grown
FROM (VALUES (20, 30, 155, 145), (20, 100, 150, 130), (60, 40, 140, 145), (60, 1000, 120, 120)) v (length, dups, most_built, most_grown), share(length, dups);

SET client_min_messages = warning;
DROP SCHEMA thinned CASCADE;
