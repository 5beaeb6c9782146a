-- Keys up to the longest that a page can take, so that pages hold few entries
-- and the fences take a large part of them.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS fpbtree;
RESET client_min_messages;

-- text that does not compress, of n bytes
CREATE FUNCTION noise(seed int, n int) RETURNS text LANGUAGE sql IMMUTABLE AS
$$ SELECT left(string_agg(md5(seed::text || '/' || i::text), ''), n)
   FROM generate_series(0, n / 32) i $$;

-- the limit, and the error beyond it
CREATE TABLE long_keys (id int, k text COLLATE "C", u text COLLATE "C");
CREATE INDEX long_keys_k ON long_keys USING fpbtree (k);
\set SHOW_CONTEXT never
DO $$
DECLARE
	longest int;
BEGIN
	FOR n IN 1700 .. 2700 LOOP
		BEGIN
			INSERT INTO long_keys VALUES (0, noise(0, n), '');
			longest := n;
		EXCEPTION WHEN program_limit_exceeded THEN
			RAISE NOTICE '%: % (% - %)', SQLSTATE,
				regexp_replace(SQLERRM, 'size \d+', 'size N'),
				n > longest, longest > 1880;
			EXIT;
		END;
	END LOOP;
END
$$;
TRUNCATE long_keys;

-- short keys and the longest, in random order, one by one and in a build; with
-- another column of either kind behind them
CREATE INDEX long_keys_ku ON long_keys USING fpbtree (u, id);
CREATE INDEX long_keys_i ON long_keys USING fpbtree (id) INCLUDE (k);
INSERT INTO long_keys
	SELECT i, noise(hashint4(i), CASE WHEN hashint4(i + 1) % 3 = 0 THEN 1880 ELSE 5 + abs(hashint4(i) % 60) END),
		   CASE WHEN hashint4(i + 2) % 5 = 0 THEN noise(i % 7, 1890) ELSE (i % 3)::text END
	FROM generate_series(1, 3000) i;
SELECT fpbtree_check(c.oid, true) FROM pg_class c WHERE relname LIKE 'long\_keys\_%';
REINDEX TABLE long_keys;
SELECT fpbtree_check(c.oid, true) FROM pg_class c WHERE relname LIKE 'long\_keys\_%';
INSERT INTO long_keys
	SELECT i, noise(hashint4(i), CASE WHEN hashint4(i + 1) % 2 = 0 THEN 1880 ELSE 5 + abs(hashint4(i) % 60) END),
		   CASE WHEN hashint4(i + 2) % 2 = 0 THEN noise(i % 7, 1890) ELSE (i % 3)::text END
	FROM generate_series(3001, 5000) i;
SELECT fpbtree_check(c.oid, true) FROM pg_class c WHERE relname LIKE 'long\_keys\_%';

-- every third row is deleted, then a range of them, so that pages are merged
DELETE FROM long_keys WHERE id % 3 = 0;
VACUUM long_keys;
SELECT fpbtree_check(c.oid, true) FROM pg_class c WHERE relname LIKE 'long\_keys\_%';
DELETE FROM long_keys WHERE k > '4' AND k < 'c';
VACUUM long_keys;
SELECT fpbtree_check(c.oid, true) FROM pg_class c WHERE relname LIKE 'long\_keys\_%';

-- the order is btree's
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SET enable_sort = off;
EXPLAIN (COSTS OFF) SELECT k FROM long_keys ORDER BY k;
SELECT count(*) AS rows, bool_and(ordered) AS ordered
	FROM (SELECT k >= lag(k, 1, '') OVER () AS ordered
		  FROM (SELECT k FROM long_keys ORDER BY k) s) o;
SELECT count(*) AS rows, bool_and(ordered) AS ordered
	FROM (SELECT (u, id) >= (lag(u, 1, '') OVER (), lag(id, 1, 0) OVER ()) AS ordered
		  FROM (SELECT u, id FROM long_keys ORDER BY u, id) s) o;
RESET enable_seqscan;
SELECT count(*) AS rows FROM long_keys;
RESET enable_bitmapscan;
RESET enable_sort;
DROP TABLE long_keys;
DROP FUNCTION noise;
