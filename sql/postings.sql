-- Duplicates of keys that are tuples: pages, against btree's.
-- The tables are filled row by row in the same order, so nothing here is chance.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS fpbtree;
CREATE SCHEMA postings;
SET search_path = postings, public;
-- what is checked of each change elsewhere would take most of the time here
SELECT count(set_config(name, 'off', false)) >= 0 AS quick FROM pg_settings WHERE name = 'fpbtree.verify_changes';

CREATE FUNCTION key(kind text, i int) RETURNS text LANGUAGE sql IMMUTABLE AS $$
	SELECT CASE kind WHEN 'short text' THEN lpad(i::text, 8, 'k') WHEN 'text' THEN lpad(i::text, 20, 'customer')
		WHEN 'long text' THEN lpad(i::text, 80, 'customer') WHEN 'bpchar' THEN lpad(i::text, 12, 'c') WHEN 'numeric' THEN (i * 7919)::text END $$;

-- Rows with so many of each key, those of one key together; and a table with both
-- indexes.
CREATE PROCEDURE prepare(kind text, type text, dups int) LANGUAGE plpgsql AS $$
BEGIN
	DROP TABLE IF EXISTS rows, t;
	EXECUTE format('CREATE TABLE rows AS SELECT (SELECT key(%L, key) OFFSET 0)::%s AS k, key * %s + i AS nr
		FROM generate_series(1, greatest(least(2 * current_setting(''block_size'')::int, 24000) / %s, 1)) key, generate_series(1, %s) i',
		kind, type, dups, dups, dups);
	EXECUTE format('CREATE UNLOGGED TABLE t (k %s)', type);
	CREATE INDEX t_b ON t (k);
	CREATE INDEX t_f ON t USING fpbtree (k);
END $$;

CREATE FUNCTION pages(index text) RETURNS bigint LANGUAGE sql AS
	$$ SELECT pg_relation_size(index) / current_setting('block_size')::int $$;

-- Built, or grown in the order of the keys.
CREATE FUNCTION in_order(kind text, type text, dups int, built bool, OUT f bigint, OUT b bigint) LANGUAGE plpgsql AS $$
BEGIN
	CALL prepare(kind, type, dups);
	IF built THEN
		DROP INDEX t_b, t_f;
	END IF;
	INSERT INTO t SELECT k FROM rows ORDER BY k, nr;
	IF built THEN
		CREATE INDEX t_b ON t (k);
		CREATE INDEX t_f ON t USING fpbtree (k);
	END IF;
	PERFORM fpbtree_check('t_f', true);
	f := pages('t_f');
	b := pages('t_b');
END $$;

-- Grown in random order: as pages are split in waves, which don't come at the same
-- time, those of some moments, together.
CREATE FUNCTION random_order(kind text, type text, dups int, OUT f bigint, OUT b bigint) LANGUAGE plpgsql AS $$
BEGIN
	CALL prepare(kind, type, dups);
	DROP TABLE IF EXISTS waves;
	CREATE TABLE waves AS SELECT k, nr, ntile(12) OVER (ORDER BY hashint4(nr)) - 1 AS nth FROM rows;
	f := 0;
	b := 0;
	FOR part IN 0..11 LOOP
		INSERT INTO t SELECT k FROM waves WHERE nth = part ORDER BY hashint4(nr);
		CONTINUE WHEN part < 3;
		f := f + pages('t_f');
		b := b + pages('t_b');
	END LOOP;
	PERFORM fpbtree_check('t_f', true);
END $$;

-- (equal numerics need not be the same, and have no postings; each has a head beside its tuple)
CREATE TABLE kinds (kind text, type text, most int);
INSERT INTO kinds VALUES ('short text', 'text COLLATE "C"', 100), ('text', 'text COLLATE "C"', 100), ('long text', 'text COLLATE "C"', 100),
	('bpchar', 'char(12) COLLATE "C"', 100), ('numeric', 'numeric', 121);
-- the most that pages may be of btree's, in hundredths, and in pages (an index of few has an inner page and others that are not full)
-- Small pages have more header for what they hold.
CREATE FUNCTION verdict(f bigint, b bigint, most int) RETURNS text LANGUAGE sql AS
	$$ SELECT CASE WHEN f <= b * (most + CASE WHEN current_setting('block_size')::int < 8192 THEN 12 ELSE 0 END) / 100.0 + 1 THEN 'ok' ELSE f || ' pages against ' || b END $$;

-- Large pages are few, and at each of nine moments one may be not full.
CREATE VIEW several AS SELECT CASE WHEN current_setting('block_size')::int > 8192 THEN 8 ELSE 0 END AS several;

-- How many rows of each key: with large pages, where it takes the longest, some numbers are enough.
CREATE VIEW numbers AS
	SELECT unnest(CASE WHEN current_setting('block_size')::int > 8192 THEN '{2,10,50,300}' ELSE '{2,3,5,10,20,30,50,100,300,1000}' END::int[]) AS dups;

SELECT kind, string_agg(DISTINCT CASE built WHEN 'ok' THEN built ELSE built || ' with ' || dups END, ', ') AS built
FROM (SELECT kind, dups, (SELECT verdict(f, b, most) FROM in_order(kind, type, dups, true)) AS built
      FROM kinds, numbers WHERE kind <> 'text' OFFSET 0) x
GROUP BY kind ORDER BY kind COLLATE "C";
SELECT string_agg(DISTINCT CASE built WHEN 'ok' THEN built ELSE built || ' with ' || dups END, ', ') AS built,
	string_agg(DISTINCT CASE ascending WHEN 'ok' THEN ascending ELSE ascending || ' with ' || dups END, ', ') AS ascending,
	string_agg(DISTINCT CASE random WHEN 'ok' THEN random ELSE random || ' with ' || dups END, ', ') AS random
FROM (SELECT dups, (SELECT verdict(f, b, 100) FROM in_order(kind, type, dups, true)) AS built,
	(SELECT verdict(f, b, 100) FROM in_order(kind, type, dups, false)) AS ascending,
	(SELECT verdict(f - several, b, 105) FROM random_order(kind, type, dups), several) AS random
      FROM kinds, numbers WHERE kind = 'text' OFFSET 0) x;

-- A leaf of many short keys and few duplicates: the room kept for more of these must leave some for the hints of all.
CREATE UNLOGGED TABLE few (k text COLLATE "C");
CREATE INDEX few_f ON few USING fpbtree (k);
DO $$
DECLARE
	block_size int := current_setting('block_size');
BEGIN
	FOR n IN 1..60 BY greatest(block_size / 8192, 1) LOOP
		TRUNCATE few;
		INSERT INTO few SELECT lpad(to_hex(i), 3, '0') FROM generate_series(1, block_size / 25 + n) i ORDER BY hashint4(i + n * 10000);
		FOR i IN 1..block_size / 10 LOOP
			INSERT INTO few VALUES ('0' || abs(hashint4(i + n * 10000) % 3) || '0');
			EXIT WHEN pg_relation_size('few_f') > 2 * block_size;
		END LOOP;
	END LOOP;
END $$;

-- A tuple shorter than one with a TID of its own has the room of that, too: what takes the place of a deleted tuple
-- behind it must not lie there when the short one becomes a posting.
CREATE FUNCTION long_key(start text, n int) RETURNS text LANGUAGE sql IMMUTABLE AS $$
SELECT left(start || string_agg(md5(start || i), ''), n) FROM generate_series(1, n / 32 + 1) i
$$;
CREATE TABLE short (k text COLLATE "C", v text) WITH (autovacuum_enabled = off);
ALTER TABLE short ALTER k SET STORAGE EXTERNAL;
CREATE INDEX short_f ON short USING fpbtree (k);
INSERT INTO short SELECT long_key('m' || i, current_setting('block_size')::int * 9 / 82), 'fill' FROM generate_series(1, 7) i;
INSERT INTO short SELECT long_key('n', current_setting('block_size')::int * 144 / 1000), 'fill';
INSERT INTO short SELECT long_key('x', 120), 'dead';
INSERT INTO short VALUES ('a', 'a1');
DELETE FROM short WHERE v = 'dead';
VACUUM (INDEX_CLEANUP on, TRUNCATE off) short;
INSERT INTO short SELECT long_key('y', 118), 'behind';
INSERT INTO short VALUES ('a', 'a2');
INSERT INTO short VALUES ('a', 'a3');
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SELECT v FROM short WHERE k = long_key('y', 118);
SELECT v FROM short WHERE k = 'a' ORDER BY v;
SELECT fpbtree_check('short_f');

-- Rows that lie before the others of their keys share the postings of these.
CREATE TABLE freed (k text COLLATE "C") WITH (autovacuum_enabled = off);
INSERT INTO freed SELECT NULL FROM generate_series(1, 30000);
INSERT INTO freed SELECT key('text', key) FROM generate_series(1, 5000) key, generate_series(1, 3);
DELETE FROM freed WHERE k IS NULL;
VACUUM (INDEX_CLEANUP on, TRUNCATE off) freed;
CREATE INDEX freed_f ON freed USING fpbtree (k) WITH (fillfactor = 40);
INSERT INTO freed SELECT key('text', key) FROM generate_series(1, 5000) key, generate_series(1, 2);
SELECT entries, postings < 6000 AS shared FROM fpbtree_stats('freed_f');
SELECT fpbtree_check('freed_f', true);

DROP SCHEMA postings CASCADE;
