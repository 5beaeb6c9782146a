--
-- Looking inside: fpbtree_check, fpbtree_damage, fpbtree_stats, fpbtree_page, fpbtree_nodes
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS fpbtree;
RESET client_min_messages;

CREATE TABLE chk (a int, b text COLLATE "C", c numeric, d uuid, f float8)
    WITH (autovacuum_enabled = off);
-- (one by one, so that nodes of all kinds come)
SET fpbtree.insert_batch_size = 0;
INSERT INTO chk
SELECT i, md5(i::text), i / 7.0, md5(i::text)::uuid, i / 3.0
FROM generate_series(1, 5000) i;
INSERT INTO chk VALUES (NULL, NULL, NULL, NULL, NULL), (0, '', 'NaN', NULL, '-0'),
    (-2147483648, repeat('long ', 400), '-Infinity', NULL, 'NaN'),
    (2147483647, E'\u00e4', 'Infinity', 'ffffffff-ffff-ffff-ffff-ffffffffffff', 'Infinity');

-- Sound indexes of many kinds, built and then added to
CREATE INDEX chk_int ON chk USING fpbtree (a);
CREATE INDEX chk_desc ON chk USING fpbtree (a DESC NULLS FIRST, f);
CREATE INDEX chk_text ON chk USING fpbtree (b DESC);
CREATE INDEX chk_cols ON chk USING fpbtree (f, b, c NULLS FIRST);
CREATE INDEX chk_include ON chk USING fpbtree (c) INCLUDE (b, d);
CREATE INDEX chk_uuid ON chk USING fpbtree (d);
-- (that duplicates share their key, seen below, is this layout's)
CREATE INDEX chk_few ON chk USING fpbtree ((a % 5)) WITH (layout = disk_first);
CREATE INDEX chk_same ON chk USING fpbtree ((length(d::text)::text)) WITH (layout = disk_first);
CREATE INDEX chk_partial ON chk USING fpbtree (upper(b)) WHERE a % 3 = 0;
SET client_min_messages = error;
CREATE UNIQUE INDEX chk_unique ON chk USING fpbtree (a);
CREATE UNIQUE INDEX chk_nulls ON chk USING fpbtree (b) NULLS NOT DISTINCT;
RESET client_min_messages;
CREATE INDEX chk_sparse ON chk USING fpbtree (b, a) WITH (fillfactor = 10, leaf_lines = 3);
INSERT INTO chk
SELECT i, md5(i::text), i / 7.0, md5(i::text)::uuid, i / 3.0
FROM generate_series(5001, 10000) i;
UPDATE chk SET c = c + 1, f = -f WHERE a % 11 = 0;
DELETE FROM chk WHERE a % 13 = 0;
SELECT indexrelid::regclass AS index, fpbtree_check(indexrelid), fpbtree_check(indexrelid, true)
FROM pg_index WHERE indrelid = 'chk'::regclass ORDER BY 1;
VACUUM chk;
SELECT count(fpbtree_check(indexrelid, true)) FROM pg_index WHERE indrelid = 'chk'::regclass;
SELECT indexrelid::regclass, d.* FROM pg_index, fpbtree_damage(indexrelid, true) d WHERE indrelid = 'chk'::regclass;

-- An empty index
CREATE TABLE chk_none (a int);
CREATE INDEX chk_empty ON chk_none USING fpbtree (a) WITH (layout = disk_first, leaf_lines = 8);
SELECT fpbtree_check('chk_empty', true);
SELECT version, form, leaf_lines, inner_lines BETWEEN 2 AND 32 AS inner_lines, root_block, levels, blocks, leaf_pages, inner_pages, deleted_pages,
    new_pages, unfinished_splits, entries, gaps, run_nodes, used_bytes,
    free_bytes / current_setting('block_size')::float BETWEEN 0.95 AND 1 AS nearly_all_free,
    leaf_density, leaf_fragmentation
FROM fpbtree_stats('chk_empty') \gx

-- Under a snapshot that is older than the rows
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT count(*) > 0 AS snapshot FROM chk;
INSERT INTO chk VALUES (20000, 'rr');
SELECT fpbtree_check('chk_int', true);
ROLLBACK;

-- Values that the index does not give back bit by bit: NaNs have signs, integers
-- may be extended in two ways, and words hold neither
CREATE TABLE chk_bits (a float8, b float4, c bigint);
INSERT INTO chk_bits SELECT -'NaN'::float8, -'NaN'::float4, i FROM generate_series(4294967290, 4294967295) i;
INSERT INTO chk_bits VALUES ('NaN', 'NaN', 1), ('-0', '0', 2), ('0', '-0', 2147483648);
CREATE INDEX chk_bits_a ON chk_bits USING fpbtree (a);
CREATE INDEX chk_bits_b ON chk_bits USING fpbtree (b);
CREATE INDEX chk_bits_ab ON chk_bits USING fpbtree (a, b DESC);
CREATE INDEX chk_bits_abc ON chk_bits USING fpbtree (a, b, c);
CREATE INDEX chk_bits_oid ON chk_bits USING fpbtree ((c::oid));
CREATE INDEX chk_bits_oids ON chk_bits USING fpbtree ((c::oid), c, a);
SELECT indexrelid::regclass AS index, fpbtree_check(indexrelid, true)
FROM pg_index WHERE indrelid = 'chk_bits'::regclass ORDER BY 1;
DROP TABLE chk_bits;

-- What an index consists of
SELECT index, version, form, levels = (SELECT level + 1 FROM fpbtree_page(index, root_block)) AS levels,
    leaf_pages > 1 AS leaves, inner_pages > 0 AS inner,
    blocks = 1 + leaf_pages + inner_pages + deleted_pages + new_pages AS all_pages,
    entries, run_nodes > 0 OR form = 'tuple' AS runs, leaf_density BETWEEN 1 AND 100 AS density,
    leaf_fragmentation BETWEEN 0 AND 100 AS fragmentation
FROM (SELECT indexrelid::regclass AS index, s.*
      FROM pg_index, fpbtree_stats(indexrelid) s WHERE indrelid = 'chk'::regclass) x
ORDER BY index::text COLLATE "C";

-- The leaves of a page kind after the other, and the nodes in them
WITH RECURSIVE leaves AS (
    SELECT 1::bigint AS block, p.* FROM fpbtree_page('chk_int', 1) p
    UNION ALL
    SELECT l.right_block, p.* FROM leaves l, fpbtree_page('chk_int', l.right_block) p
    WHERE l.right_block IS NOT NULL
)
SELECT count(*) = (SELECT leaf_pages FROM fpbtree_stats('chk_int')) AS all_leaves,
    sum(entries) = (SELECT entries FROM fpbtree_stats('chk_int')) AS all_entries,
    bool_and(kind = 'leaf' AND level = 0 AND flags @> '{leaf}') AS are_leaves,
    count(low_fence) = count(*) - 1 AS low_fences,
    count(high_fence) = count(*) - 1 AS high_fences,
    bool_and(entries = (SELECT sum(entries) FROM fpbtree_nodes('chk_int', block))) AS nodes
FROM leaves;
SELECT kind, level, flags, right_block, low_fence, high_fence
FROM fpbtree_stats('chk_int'), fpbtree_page('chk_int', root_block);
SELECT dir, codec, left(first_entry, 30) FROM fpbtree_nodes('chk_cols', 1) LIMIT 1;
SELECT dir, codec, left(first_entry, 30) FROM fpbtree_nodes('chk_include', 1) LIMIT 1;
SELECT DISTINCT codec FROM fpbtree_nodes('chk_same', 1) ORDER BY 1;
SELECT postings > 0 AS postings FROM fpbtree_stats('chk_same');
SELECT bool_or(codec = 'runs') AS runs FROM fpbtree_nodes('chk_few', 1);

-- Entries that are missing, too many, or of one key in a unique index
UPDATE pg_index SET indisready = false WHERE indexrelid = 'chk_int'::regclass;
INSERT INTO chk VALUES (30000, 'new', 1);
UPDATE pg_index SET indisready = true WHERE indexrelid = 'chk_int'::regclass;
SELECT fpbtree_check('chk_int');
\set VERBOSITY sqlstate
SELECT fpbtree_check('chk_int', true);
\set VERBOSITY default
SELECT block, regexp_replace(fault, '\d+,\d+', '...') FROM fpbtree_damage('chk_int', true);
SELECT * FROM fpbtree_damage('chk_int');
REINDEX INDEX chk_int;
SELECT fpbtree_check('chk_int', true);

CREATE TABLE chk_lost (a int);
INSERT INTO chk_lost SELECT generate_series(1, 10);
CREATE INDEX chk_lost_a ON chk_lost USING fpbtree (a);
UPDATE pg_index SET indisready = false WHERE indexrelid = 'chk_lost_a'::regclass;
DELETE FROM chk_lost WHERE a > 5;
VACUUM chk_lost;
UPDATE pg_index SET indisready = true WHERE indexrelid = 'chk_lost_a'::regclass;
SELECT fpbtree_check('chk_lost_a');
SELECT fpbtree_check('chk_lost_a', true);
SELECT * FROM fpbtree_damage('chk_lost_a', true);
-- ... and when there is another row in that place
INSERT INTO chk_lost VALUES (11);
SELECT * FROM fpbtree_damage('chk_lost_a', true) WHERE fault ~ 'key';

CREATE TABLE chk_twice (a int);
SET client_min_messages = error;
CREATE UNIQUE INDEX chk_twice_a ON chk_twice USING fpbtree (a);
RESET client_min_messages;
INSERT INTO chk_twice VALUES (1), (2), (NULL), (NULL);
UPDATE chk_twice SET a = 3 WHERE a = 2;
INSERT INTO chk_twice VALUES (2);
SELECT fpbtree_check('chk_twice_a', true);
UPDATE pg_index SET indisunique = false WHERE indexrelid = 'chk_twice_a'::regclass;
INSERT INTO chk_twice VALUES (3);
INSERT INTO chk_twice VALUES (1);
UPDATE pg_index SET indisunique = true WHERE indexrelid = 'chk_twice_a'::regclass;
SELECT fpbtree_check('chk_twice_a');
SELECT fpbtree_check('chk_twice_a', true);
SELECT * FROM fpbtree_damage('chk_twice_a', true);
-- ... each of so many that they are on several leaves
UPDATE pg_index SET indisunique = false WHERE indexrelid = 'chk_twice_a'::regclass;
INSERT INTO chk_twice SELECT 4 FROM generate_series(1, 10001);
UPDATE pg_index SET indisunique = true WHERE indexrelid = 'chk_twice_a'::regclass;
SELECT leaf_pages > 1 AS leaves FROM fpbtree_stats('chk_twice_a');
SELECT count(*) FROM fpbtree_damage('chk_twice_a', true);

-- ... which nobody minds as long as it may be violated, in a transaction
UPDATE pg_index SET indimmediate = false WHERE indexrelid = 'chk_twice_a'::regclass;
SELECT fpbtree_check('chk_twice_a', true);

-- Functions that are not immutable: rows have other keys now, are not in a partial index any more, or can't be
-- looked at
CREATE FUNCTION chk_key(int) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN $1::text; END $$;
CREATE FUNCTION chk_in(int) RETURNS bool LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN true; END $$;
CREATE TABLE chk_changed (a int);
INSERT INTO chk_changed SELECT generate_series(1, 2);
CREATE INDEX chk_changed_key ON chk_changed USING fpbtree (chk_key(a));
CREATE INDEX chk_changed_in ON chk_changed USING fpbtree (a) WHERE chk_in(a);
SELECT fpbtree_check('chk_changed_key', true), fpbtree_check('chk_changed_in', true);
CREATE OR REPLACE FUNCTION chk_key(int) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN $1 || ' and more'; END $$;
CREATE OR REPLACE FUNCTION chk_in(int) RETURNS bool LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN $1 = 1; END $$;
SELECT * FROM fpbtree_damage('chk_changed_key', true);
SELECT * FROM fpbtree_damage('chk_changed_in', true);
CREATE OR REPLACE FUNCTION chk_key(int) RETURNS text LANGUAGE plpgsql IMMUTABLE AS
$$ BEGIN IF $1 > 2 THEN RAISE 'no key for %', $1; END IF; RETURN $1::text; END $$;
UPDATE pg_index SET indisready = false WHERE indrelid = 'chk_changed'::regclass;
INSERT INTO chk_changed VALUES (3);
UPDATE pg_index SET indisready = true WHERE indrelid = 'chk_changed'::regclass;
SELECT * FROM fpbtree_damage('chk_changed_key', true);

-- Nodes whose entries have all been removed: they go, unless nodes lie in the order of their keys
CREATE TABLE chk_gone (a int) WITH (autovacuum_enabled = off);
INSERT INTO chk_gone SELECT generate_series(1, 2000);
CREATE INDEX chk_gone_a ON chk_gone USING fpbtree (a) WITH (layout = disk_first, node_format = csb);
CREATE INDEX chk_gone_b ON chk_gone USING fpbtree (a) WITH (layout = disk_first, node_format = numbered);
DELETE FROM chk_gone WHERE a BETWEEN 10 AND 310;
VACUUM chk_gone;
SELECT entries > 0 AS entries, first_entry IS NOT NULL AS first_entry, count(*) > 0 AS nodes
FROM fpbtree_nodes('chk_gone_a', 1) GROUP BY 1, 2 ORDER BY 1, 2;
SELECT count(*) AS nodes FROM fpbtree_nodes('chk_gone_b', 1) WHERE entries = 0;

-- A wrong order, as after an upgrade of a collation: the comparison changes
CREATE FUNCTION chk_cmp(int, int) RETURNS int LANGUAGE sql IMMUTABLE STRICT AS
$$ SELECT pg_catalog.btint4cmp($1, $2) $$;
CREATE OPERATOR CLASS chk_ops FOR TYPE int4 USING fpbtree AS
    OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >,
    FUNCTION 1 chk_cmp(int, int);
CREATE INDEX chk_order ON chk USING fpbtree (a chk_ops);
SELECT fpbtree_check('chk_order', true);
CREATE OR REPLACE FUNCTION chk_cmp(int, int) RETURNS int LANGUAGE sql IMMUTABLE STRICT AS
$$ SELECT pg_catalog.btint4cmp($2, $1) $$;
SELECT fpbtree_check('chk_order');
SELECT count(DISTINCT block) >= (SELECT leaf_pages FROM fpbtree_stats('chk_order')) AS all_leaves
FROM fpbtree_damage('chk_order') WHERE fault ~ 'fence|out of order|child';
DROP INDEX chk_order;

-- What is not an fpbtree index
CREATE INDEX chk_btree ON chk USING btree (a);
CREATE TABLE chk_parts (a int) PARTITION BY RANGE (a);
CREATE INDEX chk_parts_a ON chk_parts USING fpbtree (a);
SELECT fpbtree_check('chk');
SELECT fpbtree_check('chk_btree');
SELECT fpbtree_check('chk_parts_a');
SELECT * FROM fpbtree_damage('chk_btree');
SELECT * FROM fpbtree_damage('chk_parts_a');
SELECT * FROM fpbtree_damage(NULL);
SELECT fpbtree_stats('chk_btree');
SELECT fpbtree_stats('chk_parts');
SELECT fpbtree_page('pg_class', 1);
SELECT fpbtree_nodes('chk_btree', 1);
SELECT fpbtree_check(0);
SELECT fpbtree_stats(0);

-- ... not valid
UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'chk_text'::regclass;
SELECT fpbtree_check('chk_text');
SELECT * FROM fpbtree_damage('chk_text');
UPDATE pg_index SET indisvalid = true WHERE indexrelid = 'chk_text'::regclass;

-- ... and blocks that are not there
SELECT fpbtree_page('chk_empty', -1);
SELECT fpbtree_page('chk_empty', 0);
SELECT fpbtree_page('chk_empty', 2);
SELECT fpbtree_nodes('chk_empty', 4294967296);
SELECT fpbtree_nodes('chk_empty', 0);

-- Who may
CREATE ROLE regress_fpbtree_reader;
SET ROLE regress_fpbtree_reader;
SELECT fpbtree_check('chk_empty');
SELECT fpbtree_stats('chk_empty');
SELECT fpbtree_page('chk_empty', 1);
SELECT fpbtree_nodes('chk_empty', 1);
SELECT fpbtree_damage('chk_empty');
RESET ROLE;
SELECT p.oid::regprocedure AS function, has_function_privilege('regress_fpbtree_reader', p.oid, 'EXECUTE') AS allowed
FROM pg_depend d JOIN pg_proc p ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid
WHERE d.deptype = 'e' AND d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'fpbtree')
ORDER BY p.proname COLLATE "C";
GRANT pg_stat_scan_tables TO regress_fpbtree_reader;
SET ROLE regress_fpbtree_reader;
SELECT fpbtree_check('chk_empty', true);
SELECT levels FROM fpbtree_stats('chk_empty');
SELECT kind FROM fpbtree_page('chk_empty', 1);
SELECT count(*) FROM fpbtree_nodes('chk_empty', 1);
SELECT count(*) FROM fpbtree_damage('chk_empty', true);
RESET ROLE;

-- ... but keys are for those alone who may read the columns
CREATE TABLE chk_secret (a int, b text COLLATE "C", c int);
INSERT INTO chk_secret SELECT i, 'b' || i, i FROM generate_series(1, 4000) i;
CREATE INDEX chk_secret_a ON chk_secret USING fpbtree (a);
CREATE INDEX chk_secret_ba ON chk_secret USING fpbtree (b, a);
CREATE INDEX chk_secret_include ON chk_secret USING fpbtree (a) INCLUDE (b);
CREATE INDEX chk_secret_expr ON chk_secret USING fpbtree ((a + 1));
CREATE INDEX chk_secret_partial ON chk_secret USING fpbtree (a) WHERE c > 10;
CREATE INDEX chk_secret_whole ON chk_secret USING fpbtree (a) WHERE chk_secret IS NOT NULL;
CREATE TABLE chk_child (a int, b text COLLATE "C", c int);
INSERT INTO chk_child SELECT i FROM generate_series(1, 4000) i;
CREATE INDEX chk_child_a ON chk_child USING fpbtree (a);
CREATE TABLE chk_parent (a int, b text COLLATE "C", c int) PARTITION BY RANGE (a);
ALTER TABLE chk_parent ATTACH PARTITION chk_child DEFAULT;
PREPARE keys_shown AS
    SELECT coalesce(string_agg(i, ', ' ORDER BY i) FILTER (WHERE num_nonnulls(high_fence, right_fence, head, first_entry) = 4), 'none') AS shown,
        coalesce(string_agg(i, ', ' ORDER BY i) FILTER (WHERE num_nonnulls(high_fence, right_fence, head, first_entry) NOT IN (0, 4)), 'none') AS half_shown,
        bool_and(p.entries > 0 AND n.entries > 0) AS counted
    FROM unnest('{a,ba,include,expr,partial,whole,child}'::text[]) i,
        LATERAL (SELECT CASE i WHEN 'child' THEN 'chk_child_a' ELSE 'chk_secret_' || i END::regclass AS index) x,
        fpbtree_page(index, 1) p,
        LATERAL (SELECT low_fence AS right_fence FROM fpbtree_page(index, p.right_block)) r,
        LATERAL (SELECT * FROM fpbtree_nodes(index, 1) LIMIT 1) n;
SET ROLE regress_fpbtree_reader;
EXECUTE keys_shown;
SELECT count(*) FROM fpbtree_damage('chk_secret_ba', true);
RESET ROLE;
GRANT SELECT (a) ON chk_secret TO regress_fpbtree_reader;
GRANT SELECT ON chk_parent TO regress_fpbtree_reader;
SET ROLE regress_fpbtree_reader;
EXECUTE keys_shown;
RESET ROLE;
GRANT SELECT (b) ON chk_secret TO regress_fpbtree_reader;
SET ROLE regress_fpbtree_reader;
EXECUTE keys_shown;
RESET ROLE;
GRANT SELECT (c) ON chk_secret TO regress_fpbtree_reader;
GRANT SELECT ON chk_child TO regress_fpbtree_reader;
SET ROLE regress_fpbtree_reader;
EXECUTE keys_shown;
RESET ROLE;
GRANT SELECT ON chk_secret TO regress_fpbtree_reader;
SET ROLE regress_fpbtree_reader;
EXECUTE keys_shown;
RESET ROLE;
ALTER TABLE chk_secret ENABLE ROW LEVEL SECURITY;
SET ROLE regress_fpbtree_reader;
EXECUTE keys_shown;
SET row_security = off;
EXECUTE keys_shown;
RESET row_security;
RESET ROLE;
EXECUTE keys_shown;
ALTER TABLE chk_secret OWNER TO regress_fpbtree_reader;
SET ROLE regress_fpbtree_reader;
EXECUTE keys_shown;
RESET ROLE;
DEALLOCATE keys_shown;

-- Index expressions are evaluated as the table's owner, not as the caller
CREATE FUNCTION chk_who(int) RETURNS text LANGUAGE plpgsql IMMUTABLE AS
$$ BEGIN RAISE NOTICE 'evaluated by %', current_user; RETURN $1::text; END $$;
CREATE TABLE chk_owned (a int);
CREATE INDEX chk_owned_a ON chk_owned USING fpbtree (chk_who(a));
ALTER TABLE chk_owned OWNER TO regress_fpbtree_reader;
SET client_min_messages = warning;
INSERT INTO chk_owned VALUES (1);
RESET client_min_messages;
SELECT fpbtree_check('chk_owned_a', true);

DROP TABLE chk, chk_none, chk_lost, chk_twice, chk_changed, chk_gone, chk_parts, chk_owned, chk_secret, chk_parent;
DROP OPERATOR FAMILY chk_ops USING fpbtree;
DROP FUNCTION chk_who, chk_cmp, chk_key, chk_in;
DROP ROLE regress_fpbtree_reader;
