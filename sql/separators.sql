-- The keys between leaves.  The room that a page keeps for its high fence is
-- that of its last entry, so no separator may take more; and whatever the
-- lengths of keys, a full page can be split.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS fpbtree;
RESET client_min_messages;
CREATE SCHEMA separators;
SET search_path = separators, public;

-- Keys that are equal, but of any length: blanks that don't count, and
-- punctuation that doesn't
CREATE COLLATION letters (provider = icu, locale = 'und-u-ka-shifted-ks-level1', deterministic = false);
CREATE TABLE lengths (id int, b bpchar COLLATE "C", t text COLLATE letters, n numeric, f float8, pad text COLLATE "C")
	WITH (autovacuum_enabled = off);
ALTER TABLE lengths ALTER b SET STORAGE EXTERNAL, ALTER t SET STORAGE EXTERNAL, ALTER pad SET STORAGE EXTERNAL;
CREATE VIEW lengths_source (id, b, t, n, f, pad) AS
	SELECT i, 'x' || repeat(' ', len), 'x' || repeat('-', len), rpad('1.', 3 + len % 30, '0')::numeric,
		   CASE WHEN i % 2 = 0 THEN 0.0 ELSE '-0'::float8 END, repeat('p', (len + 7) % 40)
	FROM (SELECT i, CASE WHEN hashint4(i) % 3 = 0 THEN abs(hashint4(i + 1)) % (current_setting('block_size')::int / 9)
					ELSE i % 4 END AS len
		  FROM generate_series(1, 1000) i) s (i, len);
INSERT INTO lengths SELECT * FROM lengths_source;

CREATE PROCEDURE build(fillfactor int) LANGUAGE plpgsql AS $$
DECLARE
	columns text;
	n int := 0;
BEGIN
	FOREACH columns IN ARRAY ARRAY['b', 't', 'n, b', 'f, b', 'b, id', '(id / 400), t', 'b DESC, f'] LOOP
		n := n + 1;
		EXECUTE format('CREATE INDEX lengths_%s ON lengths USING fpbtree (%s) WITH (fillfactor = %s)', n, columns, fillfactor);
		EXECUTE format('CREATE INDEX lengths_%s_i ON lengths USING fpbtree (%s) INCLUDE (pad) WITH (fillfactor = %s)', n, columns, fillfactor);
	END LOOP;
END
$$;
CREATE FUNCTION check_all(tab regclass) RETURNS TABLE (indexes bigint) LANGUAGE plpgsql AS $$
BEGIN
	PERFORM fpbtree_check(indexrelid, true) FROM pg_index WHERE indrelid = tab;
	RETURN QUERY SELECT count(*) FROM pg_index WHERE indrelid = tab;
END
$$;

-- 440 rows 'x' and one with many blanks, at the end of a full page
CREATE TABLE one_long (k bpchar COLLATE "C");
INSERT INTO one_long SELECT 'x' FROM generate_series(1, current_setting('block_size')::int / 8192.0 * 440);
INSERT INTO one_long VALUES ('x' || repeat(' ', 480));
CREATE INDEX one_long_k ON one_long USING fpbtree (k) WITH (fillfactor = 100);
SELECT fpbtree_check('one_long_k', true);

-- built; then grown, some pages of which are merged
CALL build(100);
SELECT * FROM check_all('lengths');
REINDEX TABLE lengths;
SELECT * FROM check_all('lengths');
TRUNCATE lengths;
INSERT INTO lengths SELECT * FROM lengths_source;
SELECT * FROM check_all('lengths');
DELETE FROM lengths WHERE id % 5 <> 0 OR id BETWEEN 200 AND 500;
VACUUM lengths;
INSERT INTO lengths SELECT * FROM lengths_source WHERE id % 5 <> 0 ORDER BY hashint4(id);
SELECT * FROM check_all('lengths');
REINDEX TABLE lengths;
SELECT * FROM check_all('lengths');

-- A page full to the last slot, with two of the longest keys in its middle that
-- get a third between them: with it, another node, and a fence of that length on
-- either side, neither half of the page would fit one.
CREATE TABLE middle (k text COLLATE "C", i int) WITH (autovacuum_enabled = off);
ALTER TABLE middle ALTER k SET STORAGE EXTERNAL;
CREATE FUNCTION long_key(n int, less int) RETURNS text LANGUAGE sql AS
	$$ SELECT 'm' || repeat('0', current_setting('block_size')::int / 4 - 140 - less) || n $$;
INSERT INTO middle SELECT 'a' || lpad(i::text, 10, '0') FROM generate_series(1, 75) i;
INSERT INTO middle SELECT 'z' || lpad(i::text, 10, '0') FROM generate_series(1, 76) i;
INSERT INTO middle VALUES (long_key(1, 0));
CREATE INDEX middle_k ON middle USING fpbtree (k) WITH (fillfactor = 100);
DELETE FROM middle WHERE k = 'z0000000010';
VACUUM (INDEX_CLEANUP ON) middle;
INSERT INTO middle VALUES (long_key(3, 0));
INSERT INTO middle VALUES (long_key(2, 0));
SELECT fpbtree_check('middle_k', true);
SET enable_seqscan = off;
SELECT right(k, 3) FROM middle WHERE k BETWEEN 'm' AND 'n';
-- the key that is fence and entry at once goes, and comes again
DELETE FROM middle WHERE k BETWEEN 'm' AND 'n';
VACUUM (INDEX_CLEANUP ON) middle;
INSERT INTO middle SELECT long_key(n, 0) FROM generate_series(1, 3) n;
SELECT right(k, 3) FROM middle WHERE k BETWEEN 'm' AND 'n';
SELECT fpbtree_check('middle_k', true);
DROP INDEX middle_k;
-- and with a column that is not of the key, which the fence then has, too
TRUNCATE middle;
INSERT INTO middle SELECT 'a' || lpad(i::text, 2, '0') || repeat('x', i % 2 * 8), 1 FROM generate_series(1, 75) i;
INSERT INTO middle SELECT 'z' || lpad(i::text, 2, '0') || repeat('x', i % 2 * 8), 1 FROM generate_series(1, 76) i;
INSERT INTO middle VALUES (long_key(1, 4), 1);
CREATE INDEX middle_i ON middle USING fpbtree (k) INCLUDE (i) WITH (fillfactor = 100);
DELETE FROM middle WHERE k = 'z11xxxxxxxx';
VACUUM (INDEX_CLEANUP ON) middle;
INSERT INTO middle VALUES (long_key(3, 4), 3);
INSERT INTO middle VALUES (long_key(2, 4), 2);
SELECT fpbtree_check('middle_i', true);
VACUUM middle;
SELECT right(k, 3), i FROM middle WHERE k BETWEEN 'm' AND 'n';
INSERT INTO middle SELECT long_key(n, 4) || 'x', n FROM generate_series(1, 100) n;
SELECT fpbtree_check('middle_i', true);

SET client_min_messages = warning;
DROP SCHEMA separators CASCADE;
