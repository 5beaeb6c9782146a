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
CREATE TABLE source (packed bool, k text COLLATE "C", pad text);
ALTER TABLE source ALTER pad SET STORAGE plain;
INSERT INTO source VALUES (true, repeat('ab', 60), repeat('x', current_setting('block_size')::int / 3)),
                          (false, repeat('ab', 60), '');
SELECT packed, pg_column_size(k) FROM source;
CREATE TABLE packed (id int, k text COLLATE "C") WITH (autovacuum_enabled = off);
CREATE INDEX packed_k ON packed USING fpbtree (k);
CREATE INDEX packed_two ON packed USING fpbtree ((id / 3000), k);
-- rows that are put between those of the other kind
INSERT INTO packed SELECT i, k FROM source, generate_series(1, 4000) i WHERE packed = (i > 2000);
SELECT one_key_nodes > 0 AS shared FROM fpbtree_stats('packed_k');
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
SELECT one_key_nodes > 0 AS shared FROM fpbtree_stats('blanks_f');
VACUUM blanks;
SELECT * FROM lengths('blanks', true);
SELECT * FROM lengths('blanks', false);
REINDEX TABLE blanks;
SELECT indexrelid::regclass AS index, fpbtree_check(indexrelid, true)
FROM pg_index WHERE indrelid = 'blanks'::regclass ORDER BY 1;
SELECT * FROM lengths('blanks', true);

SET client_min_messages = warning;
DROP SCHEMA duplicates CASCADE;
