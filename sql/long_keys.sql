-- Keys up to the longest that a page can take, so that pages hold few entries
-- and the fences take a large part of them.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS fpbtree;
RESET client_min_messages;

-- text that does not compress, of n bytes
CREATE FUNCTION noise(seed int, n int) RETURNS text LANGUAGE sql IMMUTABLE AS
$$ SELECT left(string_agg(md5(seed::text || '/' || i::text), ''), n)
   FROM generate_series(0, n / 32) i $$;

-- the limit, found by trying, as it depends on the size of a block
CREATE TABLE long_keys (id int, k text COLLATE "C", u text COLLATE "C");
ALTER TABLE long_keys ALTER k SET STORAGE EXTERNAL, ALTER u SET STORAGE EXTERNAL;
CREATE INDEX long_keys_k ON long_keys USING fpbtree (k);
CREATE FUNCTION fits(n int) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO long_keys VALUES (0, noise(0, n), '');
	RETURN true;
EXCEPTION WHEN program_limit_exceeded THEN
	RETURN false;
END
$$;
CREATE FUNCTION longest() RETURNS int LANGUAGE plpgsql AS $$
DECLARE
	short int := 1;
	long int := current_setting('block_size');
	middle int;
BEGIN
	WHILE long - short > 1 LOOP
		middle := (short + long) / 2;
		IF fits(middle) THEN
			short := middle;
		ELSE
			long := middle;
		END IF;
	END LOOP;
	RETURN short;
END
$$;
SELECT longest() AS longest \gset
SELECT :longest / current_setting('block_size')::float BETWEEN 0.21 AND 0.25 AS nearly_a_quarter;
SELECT fpbtree_check('long_keys_k', true);

-- the error beyond it, of an insertion and of a build: the text has 8 bytes before it in the tuple and 4 of its own
CREATE FUNCTION error_of(statement text, longest int,
						 OUT state text, OUT message text, OUT detail text, OUT hint text)
LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE statement;
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT,
		detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
	message := replace(replace(message, (longest + 12)::text, 'LONGEST'), (longest + 13)::text, 'LONGEST + 1');
	detail := regexp_replace(detail, '\d+,\d+', 'TID');
END
$$;
SELECT * FROM error_of(format('INSERT INTO long_keys VALUES (0, noise(0, %s))', :longest + 1), :longest) \gx
DROP INDEX long_keys_k;
INSERT INTO long_keys VALUES (0, noise(0, :longest + 1));
SELECT * FROM error_of('CREATE INDEX long_keys_k ON long_keys USING fpbtree (k)', :longest) \gx
TRUNCATE long_keys;
CREATE INDEX long_keys_k ON long_keys USING fpbtree (k);

-- short keys and the longest, in random order, one by one and in a build; with
-- another column of either kind behind them
CREATE INDEX long_keys_ku ON long_keys USING fpbtree (u, id);
CREATE INDEX long_keys_i ON long_keys USING fpbtree (id) INCLUDE (k);
INSERT INTO long_keys
	SELECT i, noise(hashint4(i), CASE WHEN hashint4(i + 1) % 3 = 0 THEN :longest - 44 ELSE 5 + abs(hashint4(i) % 60) END),
		   CASE WHEN hashint4(i + 2) % 5 = 0 THEN noise(i % 7, :longest - 34) ELSE (i % 3)::text END
	FROM generate_series(1, 3000) i;
SELECT fpbtree_check(c.oid, true) FROM pg_class c WHERE relname LIKE 'long\_keys\_%';
REINDEX TABLE long_keys;
SELECT fpbtree_check(c.oid, true) FROM pg_class c WHERE relname LIKE 'long\_keys\_%';
INSERT INTO long_keys
	SELECT i, noise(hashint4(i), CASE WHEN hashint4(i + 1) % 2 = 0 THEN :longest - 44 ELSE 5 + abs(hashint4(i) % 60) END),
		   CASE WHEN hashint4(i + 2) % 2 = 0 THEN noise(i % 7, :longest - 34) ELSE (i % 3)::text END
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
DROP FUNCTION noise, fits, longest, error_of;
