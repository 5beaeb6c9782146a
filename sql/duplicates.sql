--
-- Keys that are equal but not the same bytes.  Duplicates share one copy of
-- their key where they can, and all must stay in the order of their TIDs.
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS fpbtree;
RESET client_min_messages;

CREATE SCHEMA duplicates;
SET search_path = duplicates, public;

-- The lengths of an index's keys by way of the index, and as the table has them.
CREATE FUNCTION lengths(tab text, by_index bool) RETURNS TABLE (octets int, rows bigint) LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('enable_seqscan', (NOT by_index)::text, true),
            set_config('enable_indexonlyscan', by_index::text, true),
            set_config('enable_indexscan', 'off', true),
            set_config('enable_bitmapscan', 'off', true);
    RETURN QUERY EXECUTE format('SELECT octet_length(k), count(*) FROM %s WHERE k >= '''' GROUP BY 1 ORDER BY 1', tab);
END $$;

-- Values compressed and not.  In a long row of a table even a short one is
-- compressed, and it stays so on its way to another table.
CREATE TABLE source (packed bool, k text COMPRESSION pglz COLLATE "C", pad text);
ALTER TABLE source ALTER pad SET STORAGE plain;
INSERT INTO source VALUES (true, repeat('ab', 60), repeat('x', current_setting('block_size')::int / 3)),
                          (false, repeat('ab', 60), '');
SELECT packed, pg_column_size(k) FROM source;
CREATE TABLE packed (id int, k text COLLATE "C") WITH (autovacuum_enabled = off);
CREATE INDEX packed_k ON packed USING fpbtree (k);
CREATE INDEX packed_two ON packed USING fpbtree ((id / 3000), k);
-- rows that are put between those of the other kind
INSERT INTO packed SELECT i, k FROM source, generate_series(1, 4000) i WHERE packed = (i > 2000);
SELECT (postings > 0) = (layout <> 'micro_index') AS shared FROM fpbtree_stats('packed_k');
DELETE FROM packed WHERE id % 3 = 0;
VACUUM packed;
INSERT INTO packed SELECT i, k FROM source, generate_series(4001, 5200) i WHERE packed = (i % 2 = 0);
SELECT fpbtree_check('packed_k', true), fpbtree_check('packed_two', true);
REINDEX TABLE packed;
SELECT fpbtree_check('packed_k', true), fpbtree_check('packed_two', true);
DELETE FROM packed WHERE id % 5 = 0;
VACUUM packed;
INSERT INTO packed SELECT i, k FROM source, generate_series(5201, 6000) i WHERE packed = (i % 3 = 0);
SELECT fpbtree_check('packed_k', true), fpbtree_check('packed_two', true);
SELECT * FROM lengths('packed', true);
-- runs of one kind after the other at the end of the index, where a node of the
-- next kind is begun when one is full
TRUNCATE packed;
INSERT INTO packed SELECT i, k
FROM (VALUES (1, 37), (2, 80), (3, 113), (4, 200)) v (g, n), generate_series(g * 3000, g * 3000 + 2999) i, source
WHERE packed = (i / n % 2 = 0);
SELECT fpbtree_check('packed_k', true), fpbtree_check('packed_two', true);
REINDEX TABLE packed;
-- a build that finds them in any order
INSERT INTO packed SELECT i, k FROM source, generate_series(20001, 30000) i WHERE packed = (hashint4(i) % 2 = 0);
CREATE INDEX packed_full ON packed USING fpbtree (k) WITH (fillfactor = 100);
SELECT fpbtree_check('packed_k', true), fpbtree_check('packed_full', true);

-- the same with a comparator that may be anything
CREATE FUNCTION packed_cmp(text, text) RETURNS int LANGUAGE plpgsql IMMUTABLE STRICT AS $$ BEGIN RETURN bttextcmp($1, $2); END $$;
CREATE OPERATOR CLASS packed_ops FOR TYPE text USING fpbtree AS
	OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >,
	FUNCTION 1 packed_cmp(text, text), FUNCTION 4 btequalimage(oid);
CREATE TABLE packed_any (id int, k text COLLATE "C");
CREATE INDEX packed_any_k ON packed_any USING fpbtree (k packed_ops);
INSERT INTO packed_any SELECT i, k FROM source, generate_series(1, 200) i WHERE packed = (i > 100);
SELECT fpbtree_check('packed_any_k', true);
SELECT (postings > 0) = (layout <> 'micro_index') AS shared FROM fpbtree_stats('packed_any_k');
DROP TABLE packed_any;
DROP OPERATOR FAMILY packed_ops USING fpbtree;

-- Blanks that do not count: of any number without a length, else of one
CREATE TABLE blanks (id int, k bpchar, f char(6)) WITH (autovacuum_enabled = off);
CREATE INDEX blanks_k ON blanks USING fpbtree (k);
CREATE INDEX blanks_f ON blanks USING fpbtree (f);
CREATE INDEX blanks_e ON blanks USING fpbtree (coalesce(f, 'a'::bpchar));
CREATE INDEX blanks_p ON blanks USING fpbtree (k bpchar_pattern_ops);
INSERT INTO blanks SELECT i, CASE WHEN i <= 2000 THEN 'a' ELSE 'a   ' END, CASE WHEN i > 1000 THEN 'a' END
FROM generate_series(1, 4000) i;
DELETE FROM blanks WHERE id % 3 = 0;
VACUUM blanks;
INSERT INTO blanks SELECT i, CASE WHEN i % 2 = 0 THEN 'a' ELSE 'a ' END, CASE WHEN i % 2 = 0 THEN 'a' END
FROM generate_series(4001, 5000) i;
SELECT indexrelid::regclass AS index, fpbtree_check(indexrelid, true)
FROM pg_index WHERE indrelid = 'blanks'::regclass ORDER BY 1;
SELECT (postings > 0) = (layout <> 'micro_index') AS shared FROM fpbtree_stats('blanks_f');
VACUUM blanks;
SELECT * FROM lengths('blanks', true);
SELECT * FROM lengths('blanks', false);
REINDEX TABLE blanks;
SELECT indexrelid::regclass AS index, fpbtree_check(indexrelid, true)
FROM pg_index WHERE indrelid = 'blanks'::regclass ORDER BY 1;
SELECT * FROM lengths('blanks', true);

SET client_min_messages = warning;
DROP SCHEMA duplicates CASCADE;

-- The bound of a node may be lower than its entries, and a new node is put
-- before it: the directory has to stay in order.
SET enable_seqscan = off;
CREATE UNLOGGED TABLE dup_bound (k int);
CREATE INDEX dup_bound_k ON dup_bound USING fpbtree (k);
INSERT INTO dup_bound VALUES (10);
DELETE FROM dup_bound;
VACUUM (INDEX_CLEANUP ON) dup_bound;
INSERT INTO dup_bound SELECT 30 FROM generate_series(1, 60);
INSERT INTO dup_bound VALUES (20);
SELECT count(*) FROM dup_bound WHERE k = 20;
SELECT fpbtree_check('dup_bound_k', true);

-- the same, where it would let a duplicate into a unique index
CREATE UNLOGGED TABLE dup_bound_unique (k int, version int) WITH (fillfactor = 10);
SET client_min_messages = error;
CREATE UNIQUE INDEX dup_bound_unique_k ON dup_bound_unique USING fpbtree (k);
SET client_min_messages = warning;
CREATE INDEX dup_bound_unique_version ON dup_bound_unique (version);
INSERT INTO dup_bound_unique VALUES (10);
DELETE FROM dup_bound_unique;
VACUUM (INDEX_CLEANUP ON) dup_bound_unique;
INSERT INTO dup_bound_unique VALUES (30);
DO $$
BEGIN
	FOR i IN 1..60 LOOP
		UPDATE dup_bound_unique SET version = i;
	END LOOP;
END $$;
INSERT INTO dup_bound_unique VALUES (20);
\set VERBOSITY terse
INSERT INTO dup_bound_unique VALUES (20);
\set VERBOSITY default
SELECT fpbtree_check('dup_bound_unique_k', true);
RESET enable_seqscan;
DROP TABLE dup_bound, dup_bound_unique;

-- A page is split in place: the tuple of a one-key node without an entry has
-- to stay for the next duplicate.
CREATE UNLOGGED TABLE dup_emptied (k text COLLATE "C", pad text COLLATE "C");
ALTER TABLE dup_emptied ALTER pad SET STORAGE EXTERNAL;
INSERT INTO dup_emptied SELECT 'a' || lpad(i::text, 4, '0'), '' FROM generate_series(1, 130) i;
INSERT INTO dup_emptied SELECT 'm', '' FROM generate_series(1, 30);
INSERT INTO dup_emptied SELECT 'n', string_agg(md5(i::text), '') FROM generate_series(1, 47 * current_setting('block_size')::int / 8192) i;
CREATE INDEX dup_emptied_k ON dup_emptied USING fpbtree (k, pad);
DELETE FROM dup_emptied WHERE k = 'm';
VACUUM (INDEX_CLEANUP ON) dup_emptied;
ALTER INDEX dup_emptied_k SET (fillfactor = 50);
DO $$
DECLARE
	blocks bigint := pg_relation_size('dup_emptied_k');
	i int := 0;
BEGIN
	WHILE pg_relation_size('dup_emptied_k') = blocks LOOP
		i := i + 1;
		INSERT INTO dup_emptied VALUES ('p' || lpad(i::text, 4, '0'), '');
	END LOOP;
END $$;
INSERT INTO dup_emptied VALUES ('mm', '');
SELECT fpbtree_check('dup_emptied_k', true);
DROP TABLE dup_emptied;

-- Downlinks of one key have nothing but their TIDs to tell them apart.  Rows
-- that take the places of deleted ones split leaves, and so make new downlinks,
-- between others of their key.  The key is long, so that an inner page has
-- room for few, of whatever size it is; the table need not hold it.
DO $$
BEGIN
	EXECUTE format('CREATE FUNCTION dup_long_key(int) RETURNS text LANGUAGE sql IMMUTABLE RETURN %L::text || $1 * 0',
		(SELECT string_agg(md5(i::text), '') FROM generate_series(1, current_setting('block_size')::int / 192) i));
END $$;
CREATE TABLE dup_pivots (i int) WITH (autovacuum_enabled = off);
INSERT INTO dup_pivots SELECT i % 2 FROM generate_series(1, 4096) i;
DELETE FROM dup_pivots WHERE i = 0;
VACUUM dup_pivots;
CREATE INDEX dup_pivots_k ON dup_pivots USING fpbtree (dup_long_key(i));
INSERT INTO dup_pivots SELECT 1 FROM generate_series(1, 2048);
SELECT fpbtree_check('dup_pivots_k', true);
DROP TABLE dup_pivots;
DROP FUNCTION dup_long_key;

-- A column that loses its length keeps its indexes, in which rows share keys.  From then
-- on equal values need not be the same, so that the index can't give them back, until it
-- is made anew.
CREATE TABLE dup_length (id int, k char(6)) WITH (autovacuum_enabled = off);
INSERT INTO dup_length SELECT i, i % 20 FROM generate_series(1, 3000) i;
CREATE INDEX dup_length_k ON dup_length USING fpbtree (k);
CREATE INDEX dup_length_p ON dup_length USING fpbtree (k bpchar_pattern_ops, id);
SELECT pg_relation_filenode('dup_length_k') AS file \gset
ALTER TABLE dup_length ALTER k TYPE bpchar;
SELECT pg_relation_filenode('dup_length_k') = :file AS kept;
INSERT INTO dup_length SELECT i, rpad((i % 20)::text, i % 40 + 1) FROM generate_series(3001, 6000) i;
DELETE FROM dup_length WHERE id % 7 = 0;
VACUUM dup_length;
INSERT INTO dup_length SELECT i, rpad((i % 20)::text, i % 300 + 1) FROM generate_series(6001, 8000) i;
SELECT fpbtree_check('dup_length_k', true), fpbtree_check('dup_length_p', true);
SELECT indexrelid::regclass, pg_index_column_has_property(indexrelid, 1, 'returnable')
FROM pg_index WHERE indrelid = 'dup_length'::regclass ORDER BY 1;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SELECT count(*), sum(octet_length(k)) FROM dup_length WHERE k = '7';
SELECT count(*), sum(octet_length(k)) FROM dup_length WHERE k ~>=~ '7' AND k ~<~ '8';
SET enable_indexscan = off;
SET enable_indexonlyscan = off;
RESET enable_seqscan;
SELECT count(*), sum(octet_length(k)) FROM dup_length WHERE k = '7';
DROP INDEX dup_length_p;
REINDEX INDEX dup_length_k;
VACUUM dup_length;
SELECT pg_index_column_has_property('dup_length_k'::regclass, 1, 'returnable');
RESET enable_indexscan;
RESET enable_indexonlyscan;
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT count(*), sum(octet_length(k)) FROM dup_length WHERE k = '7';
SELECT count(*), sum(octet_length(k)) FROM dup_length WHERE k = '7';
SELECT fpbtree_check('dup_length_k', true);
RESET enable_seqscan;
RESET enable_bitmapscan;
DROP TABLE dup_length;

-- Equal keys with other INCLUDE columns, by their TIDs in the midst of those that
-- are the same altogether: each keeps its own
CREATE TABLE dup_include (id int, k int, v text) WITH (autovacuum_enabled = off);
INSERT INTO dup_include SELECT i, 1, 'one' FROM generate_series(1, 400) i;
CREATE INDEX dup_include_k ON dup_include USING fpbtree (k) INCLUDE (v);
DELETE FROM dup_include WHERE id % 40 = 0;
VACUUM dup_include;
INSERT INTO dup_include SELECT i, 1, 'other' FROM generate_series(1, 10) i;
VACUUM dup_include;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
EXPLAIN (COSTS OFF) SELECT v FROM dup_include WHERE k = 1;
SELECT v, count(*) FROM dup_include WHERE k = 1 GROUP BY v ORDER BY v;
SELECT fpbtree_check('dup_include_k', true);
RESET enable_seqscan;
RESET enable_bitmapscan;
DROP TABLE dup_include;
