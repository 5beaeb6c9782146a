-- Keys up to the longest that a page can take, so that pages hold few entries
-- and the fences take a large part of them.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS fpbtree;

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
SELECT fpbtree_check('long_keys_k', true);
DROP INDEX long_keys_k;
TRUNCATE long_keys;
CREATE INDEX long_keys_b ON long_keys USING btree (k);
SELECT longest() = :longest AS as_long_as_in_btree;
DROP INDEX long_keys_b;
TRUNCATE long_keys;
CREATE INDEX long_keys_k ON long_keys USING fpbtree (k);

-- nodes so wide that such keys would not fit are made narrower
CREATE TABLE long_wide (k text STORAGE EXTERNAL COLLATE "C");
CREATE INDEX long_wide_k ON long_wide USING fpbtree (k) WITH (leaf_lines = 32);
INSERT INTO long_wide SELECT noise(i, :longest) FROM generate_series(1, 40) i;
INSERT INTO long_wide SELECT noise(i % 7, :longest - i % 3) FROM generate_series(1, 40) i;
SELECT fpbtree_check('long_wide_k', true);
DROP TABLE long_wide;

-- the error beyond it, of an insertion and of a build, is btree's
CREATE FUNCTION error_of(statement text, OUT state text, OUT message text, OUT detail text, OUT hint text)
LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE statement;
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT,
		detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
	message := regexp_replace(replace(message, 'fpbtree', 'btree'), '\d+', 'N', 'g');
	detail := regexp_replace(detail, '\d+,\d+', 'TID');
END
$$;
SELECT error_of(format('INSERT INTO long_keys VALUES (0, noise(0, %s))', :longest + 1))::text AS inserted \gset
DROP INDEX long_keys_k;
CREATE INDEX long_keys_k ON long_keys USING btree (k);
SELECT error_of(format('INSERT INTO long_keys VALUES (0, noise(0, %s))', :longest + 1))::text = :'inserted' AS same,
	   :'inserted' LIKE '(54000,%' AS of_limits;
DROP INDEX long_keys_k;
INSERT INTO long_keys VALUES (0, noise(0, :longest + 1));
SELECT error_of('CREATE INDEX long_keys_k ON long_keys USING fpbtree (k)')::text AS built \gset
SELECT error_of('CREATE INDEX long_keys_k ON long_keys USING btree (k)')::text = :'built' AS same,
	   :'built' LIKE '(54000,%' AS of_limits;
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

-- An inner page of a build gets the next page's first key as its high fence.  If
-- that does not fit, being so much longer than the others, the page ends an entry
-- earlier.  Here the first long key comes after more and more short ones.
CREATE TABLE long_fences (k text COLLATE "C");
ALTER TABLE long_fences ALTER k SET STORAGE EXTERNAL;
CREATE PROCEDURE build_fences(long int, short int) LANGUAGE plpgsql AS $$
BEGIN
	FOR n IN 60..120 LOOP
		TRUNCATE long_fences;
		INSERT INTO long_fences
			SELECT lpad(i::text, 6, '0') || repeat('x', CASE WHEN i <= n THEN short ELSE long END) FROM generate_series(1, n + 6) i;
		CREATE INDEX long_fences_k ON long_fences USING fpbtree (k) WITH (fillfactor = 10);
		PERFORM fpbtree_check('long_fences_k', true);
		DROP INDEX long_fences_k;
	END LOOP;
END
$$;
SELECT longest() - 6 AS long \gset
CALL build_fences(:long, :long * 94 / 1000);
CALL build_fences(:long, :long * 105 / 1000);
DROP TABLE long_fences;
DROP PROCEDURE build_fences;

DROP TABLE long_keys;

-- Keys of about the longest that differ in their ends alone, so that nothing can be cut off: pages have no room for
-- their high fences. All lengths at which another entry fits a page are among them.
CREATE TABLE long_alike (id int, k text COLLATE "C", u text, b bpchar COLLATE "C");
ALTER TABLE long_alike ALTER k SET STORAGE EXTERNAL, ALTER u SET STORAGE EXTERNAL, ALTER b SET STORAGE EXTERNAL;
CREATE INDEX long_alike_k ON long_alike USING fpbtree (k);
CREATE INDEX long_alike_u ON long_alike USING fpbtree (u DESC, id);
CREATE INDEX long_alike_i ON long_alike USING fpbtree ((id % 20)) INCLUDE (u);
CREATE INDEX long_alike_b ON long_alike USING fpbtree (b);
CREATE FUNCTION long_add(ids int[], longest int) RETURNS void LANGUAGE sql AS
$$ INSERT INTO long_alike
	SELECT i, noise(0, n - 8) || lpad(i::text, 8, '0'), noise(i % 3, n - 16) || lpad((i % 100)::text, 8, '0'),
		   chr(97 + i % 7) || repeat(' ', CASE WHEN i % 4 = 0 THEN i % 9 ELSE n - 1 - i % 60 END)
	FROM unnest(ids) WITH ORDINALITY AS x (i, at),
		 LATERAL (SELECT current_setting('block_size')::int AS block) s,
		 LATERAL (SELECT CASE at % 6 WHEN 0 THEN (block - 384) / 3 - 16 + at / 6 % 10 WHEN 1 THEN block / 4 - 80 + at / 6 % 60
									 WHEN 2 THEN longest - at / 6 % 40 ELSE longest END::int AS any_n) a,
		 LATERAL (SELECT least(any_n, longest) AS n) l
	ORDER BY at $$;

-- Is an index scan's order the one of a sort, in either direction? And is any page without high fence?
CREATE FUNCTION long_same(forward text, backward text) RETURNS boolean LANGUAGE plpgsql
	SET enable_seqscan = on SET enable_bitmapscan = off AS $$
DECLARE
	wanted tid[];
	here tid[];
	there tid[];
BEGIN
	PERFORM set_config('enable_indexscan', 'off', true), set_config('enable_indexonlyscan', 'off', true), set_config('enable_sort', 'on', true);
	EXECUTE format('SELECT array_agg(ctid) FROM (SELECT ctid FROM long_alike ORDER BY %s, ctid) s', forward) INTO wanted;
	PERFORM set_config('enable_indexscan', 'on', true), set_config('enable_seqscan', 'off', true), set_config('enable_sort', 'off', true);
	EXECUTE format('SELECT array_agg(ctid) FROM (SELECT ctid FROM long_alike ORDER BY %s) s', forward) INTO here;
	EXECUTE format('SELECT array_agg(ctid) FROM (SELECT ctid FROM long_alike ORDER BY %s) s', backward) INTO there;
	RETURN here = wanted AND there = (SELECT array_agg(t ORDER BY n DESC) FROM unnest(wanted) WITH ORDINALITY AS x (t, n));
END
$$;
CREATE FUNCTION long_check() RETURNS TABLE (alike boolean, elided boolean, inner_elided boolean) LANGUAGE plpgsql AS $$
DECLARE
	-- there the server itself takes no tuple of more than 8,191 bytes
	big boolean := current_setting('block_size')::int > 16384;
BEGIN
	PERFORM fpbtree_check(c.oid, true) FROM pg_class c WHERE relname LIKE 'long\_alike\_%';
	RETURN QUERY SELECT long_same('k', 'k DESC') AND long_same('u DESC, id', 'u, id DESC') AND
						long_same('id % 20', 'id % 20 DESC') AND long_same('b', 'b DESC'),
		coalesce(bool_or(level = 0), false) OR big, coalesce(bool_or(level > 0), false) OR big
		FROM generate_series(1, pg_relation_size('long_alike_k') / current_setting('block_size')::int - 1) block,
			 LATERAL fpbtree_page('long_alike_k', block) p
		WHERE 'high_elided' = ANY (p.flags) AND kind <> 'deleted';
END
$$;
SELECT long_add(ARRAY(SELECT generate_series(1001, 1100)), :longest);
SELECT * FROM long_check();
SELECT long_add(ARRAY(SELECT generate_series(3000, 2901, -1)), :longest);
SELECT * FROM long_check();
SELECT long_add(ARRAY(SELECT i FROM generate_series(1, 4000, 13) i ORDER BY hashint4(i)), :longest);
SELECT * FROM long_check();
UPDATE long_alike SET id = id + 1, k = CASE WHEN id % 6 = 0 AND length(k) < :longest THEN k || 'x' ELSE k END WHERE id % 3 = 0;
SELECT * FROM long_check();
DELETE FROM long_alike WHERE id % 3 = 1;
VACUUM long_alike;
SELECT * FROM long_check();
DELETE FROM long_alike WHERE id BETWEEN 1050 AND 2950;
VACUUM long_alike;
SELECT * FROM long_check();
SELECT long_add(ARRAY(SELECT i FROM generate_series(1000, 3000, 11) i ORDER BY hashint4(i)), :longest);
SELECT * FROM long_check();
REINDEX TABLE long_alike;
SELECT * FROM long_check();

-- to and fro, and one by one
CREATE FUNCTION long_walk() RETURNS boolean LANGUAGE plpgsql
	SET enable_seqscan = off SET enable_sort = off SET enable_bitmapscan = off AS $$
DECLARE
	c SCROLL CURSOR FOR SELECT id FROM long_alike ORDER BY k;
	wanted int[] := ARRAY(SELECT id FROM long_alike ORDER BY k, ctid);
	place int := 0;
	found_id int;
BEGIN
	OPEN c;
	FOR step IN 1 .. 4 * cardinality(wanted) LOOP
		IF step % 7 IN (1, 2) THEN
			FETCH PRIOR FROM c INTO found_id;
			place := greatest(place - 1, 0);
		ELSE
			FETCH NEXT FROM c INTO found_id;
			place := least(place + 1, cardinality(wanted) + 1);
		END IF;
		IF found_id IS DISTINCT FROM wanted[place] THEN
			RETURN false;
		END IF;
	END LOOP;
	CLOSE c;
	RETURN true;
END
$$;
SELECT long_walk();
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SELECT count(*) = (SELECT count(*) FROM long_alike) AS all_found
	FROM (SELECT DISTINCT k FROM long_alike OFFSET 0) a, LATERAL (SELECT id FROM long_alike l WHERE l.k = a.k) b;
SELECT count(*) > 0 AS some, bool_and(id % 5 = 0) AS right_ones
	FROM (SELECT id FROM long_alike WHERE k = ANY (ARRAY(SELECT k FROM long_alike WHERE id % 5 = 0)) ORDER BY k DESC) a;
RESET enable_seqscan;
RESET enable_bitmapscan;
DROP TABLE long_alike;

-- Rows that come in the order of their keys and go again, some later than others.  An inner page that is left with one
-- child may not fit its neighbour at first; it is taken away when the child is empty.
CREATE TABLE long_queue (id int, k text COLLATE "C") WITH (autovacuum_enabled = off);
ALTER TABLE long_queue ALTER k SET STORAGE EXTERNAL;
CREATE INDEX long_queue_k ON long_queue USING fpbtree (k);
CREATE PROCEDURE long_move(n int) LANGUAGE sql AS $$
	INSERT INTO long_queue SELECT i, noise(0, current_setting('long.keys')::int - 8) || lpad(i::text, 8, '0')
		FROM generate_series(100 * n + 1, 100 * n + 100) i;
	DELETE FROM long_queue WHERE id <= 100 * n - 100 OR (id <= 100 * n AND id % 3 > 0);
$$;
SELECT set_config('long.keys', :'longest', false) = :'longest' AS set;
SELECT format('CALL long_move(%s)', n), 'VACUUM long_queue' FROM generate_series(1, 8) n
\gexec
SELECT leaf_pages < 2 * (SELECT count(*) FROM long_queue) AS few FROM fpbtree_stats('long_queue_k');
SELECT fpbtree_check('long_queue_k', true);
DROP TABLE long_queue;
DROP PROCEDURE long_move;
DROP FUNCTION noise, fits, longest, error_of, long_add, long_same, long_check, long_walk;
