/* fpbtree--1.0.sql */

-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION fpbtree" to load this file. \quit

-- access method

CREATE FUNCTION fpbtree_handler(internal)
RETURNS index_am_handler
AS 'MODULE_PATHNAME'
LANGUAGE C;

COMMENT ON FUNCTION fpbtree_handler(internal) IS
  'fpbtree index access method handler';

CREATE ACCESS METHOD fpbtree TYPE INDEX HANDLER fpbtree_handler;

COMMENT ON ACCESS METHOD fpbtree IS
  'fractal prefetching B+-tree index access method';

-- operator classes

CREATE FUNCTION fpbtree_clone_opclass(name text)
RETURNS text
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT;

COMMENT ON FUNCTION fpbtree_clone_opclass(text) IS
  'make a btree operator class available to fpbtree';

-- Clone every btree operator class that this server comes with, in the order in
-- which they were made.  The clones are in pg_catalog, too, so that they are found
-- whatever the search_path.
SELECT pg_catalog.count(fpbtree_clone_opclass(pg_catalog.format('pg_catalog.%I', opcname)))
FROM (SELECT c.opcname
      FROM pg_catalog.pg_opclass c
           JOIN pg_catalog.pg_am a ON a.oid OPERATOR(pg_catalog.=) c.opcmethod
      WHERE a.amname OPERATOR(pg_catalog.=) 'btree'::pg_catalog.name
            AND c.opcnamespace OPERATOR(pg_catalog.=) 'pg_catalog'::pg_catalog.regnamespace::pg_catalog.oid
      ORDER BY c.oid) AS btree;


-- constraints

CREATE FUNCTION fpbtree_add_constraint("table" regclass, index regclass, kind text,
	name name DEFAULT NULL,
	is_deferrable boolean DEFAULT false,
	is_deferred boolean DEFAULT false)
RETURNS void
AS 'MODULE_PATHNAME'
LANGUAGE C PARALLEL UNSAFE;

COMMENT ON FUNCTION fpbtree_add_constraint(regclass, regclass, text, name, boolean, boolean) IS
  'make a primary key or unique constraint of a unique fpbtree index';

CREATE FUNCTION fpbtree_drop_constraint("table" regclass, name name)
RETURNS void
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT PARALLEL UNSAFE;

COMMENT ON FUNCTION fpbtree_drop_constraint(regclass, name) IS
  'make a plain unique index again of a primary key or unique constraint with an fpbtree index';

-- checks and statistics

CREATE FUNCTION fpbtree_check(index regclass, heapallindexed boolean DEFAULT false)
RETURNS void
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT PARALLEL UNSAFE;

COMMENT ON FUNCTION fpbtree_check(regclass, boolean) IS
  'check an fpbtree index, and raise its first fault as an error';

CREATE FUNCTION fpbtree_damage(index regclass, heapallindexed boolean DEFAULT false,
	OUT block bigint,
	OUT fault text)
RETURNS SETOF record
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT PARALLEL UNSAFE;

COMMENT ON FUNCTION fpbtree_damage(regclass, boolean) IS
  'check an fpbtree index, and return all its faults';

CREATE FUNCTION fpbtree_stats(index regclass,
	OUT version integer,
	OUT form text,
	OUT layout text,
	OUT leaf_lines integer,
	OUT inner_lines integer,
	OUT node_format text,
	OUT node_search text,
	OUT node_prefetch boolean,
	OUT root_block bigint,
	OUT levels integer,
	OUT blocks bigint,
	OUT leaf_pages bigint,
	OUT inner_pages bigint,
	OUT deleted_pages bigint,
	OUT new_pages bigint,
	OUT unfinished_splits bigint,
	OUT entries bigint,
	OUT gaps bigint,
	OUT run_nodes bigint,
	OUT postings bigint,
	OUT used_bytes bigint,
	OUT free_bytes bigint,
	OUT leaf_density float8,
	OUT leaf_fragmentation float8,
	OUT operation_queue text,
	OUT queue_limit bigint,
	OUT queue_pages bigint,
	OUT queue_leaf_pages bigint,
	OUT queue_entries bigint,
	OUT queue_visits bigint,
	OUT queue_moved bigint,
	OUT queue_visit_entries float8,
	OUT queue_checkpoint_entries float8,
	OUT queue_stalls bigint,
	OUT queue_longest_stall float8)
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT PARALLEL SAFE;

COMMENT ON FUNCTION fpbtree_stats(regclass) IS
  'what an fpbtree index consists of; entries, gaps and bytes are those of its leaves';

CREATE FUNCTION fpbtree_page(index regclass, block bigint,
	OUT kind text,
	OUT level integer,
	OUT flags text[],
	OUT right_block bigint,
	OUT nodes integer,
	OUT nodes_allocated integer,
	OUT nodes_most integer,
	OUT entries integer,
	OUT gaps integer,
	OUT lower integer,
	OUT upper integer,
	OUT low_fence text,
	OUT high_fence text)
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT PARALLEL SAFE;

COMMENT ON FUNCTION fpbtree_page(regclass, bigint) IS
  'header and fences of a page of an fpbtree index';

CREATE FUNCTION fpbtree_nodes(index regclass, block bigint,
	OUT dir integer,
	OUT node integer,
	OUT codec text,
	OUT entries integer,
	OUT gaps integer,
	OUT child_hints integer,
	OUT head text,
	OUT first_entry text)
RETURNS SETOF record
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT PARALLEL SAFE;

COMMENT ON FUNCTION fpbtree_nodes(regclass, bigint) IS
  'in-page nodes of a page of an fpbtree index, in key order';

CREATE FUNCTION fpbtree_prefetch_stats(index regclass,
	OUT index_prefetched bigint,
	OUT index_used bigint,
	OUT index_wasted bigint,
	OUT heap_prefetched bigint,
	OUT heap_used bigint,
	OUT heap_wasted bigint)
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT PARALLEL SAFE;

COMMENT ON FUNCTION fpbtree_prefetch_stats(regclass) IS
  'pages prefetched by scans of an fpbtree index since the server was started';

-- the operation queue

CREATE FUNCTION fpbtree_flush(index regclass)
RETURNS bigint
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT PARALLEL UNSAFE;

COMMENT ON FUNCTION fpbtree_flush(regclass) IS
  'move all entries of the operation queue of an fpbtree index to its leaves';

CREATE FUNCTION fpbtree_flush_progress(
	OUT pid integer,
	OUT index regclass,
	OUT queue_pages bigint,
	OUT pages_done bigint,
	OUT entries_moved bigint)
RETURNS SETOF record
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT PARALLEL SAFE;

COMMENT ON FUNCTION fpbtree_flush_progress() IS
  'calls of fpbtree_flush that are under way in this database';

CREATE FUNCTION fpbtree_activity(
	OUT index regclass,
	OUT queue_pages bigint,
	OUT queue_entries bigint,
	OUT queue_visits bigint,
	OUT queue_moved bigint,
	OUT queue_stalls bigint,
	OUT queue_longest_stall float8,
	OUT worker text,
	OUT failures integer,
	OUT retry_at timestamptz,
	OUT last_error text,
	OUT last_error_at timestamptz,
	OUT failed_blocks bigint[],
	OUT index_prefetched bigint,
	OUT index_used bigint,
	OUT index_wasted bigint,
	OUT heap_prefetched bigint,
	OUT heap_used bigint,
	OUT heap_wasted bigint)
RETURNS SETOF record
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT PARALLEL SAFE;

COMMENT ON FUNCTION fpbtree_activity() IS
  'queues and prefetching of the fpbtree indexes of this database, without reading them';

CREATE FUNCTION fpbtree_tiers(index regclass,
	OUT tier integer,
	OUT page_limit bigint,
	OUT pages bigint,
	OUT entries bigint,
	OUT filtered boolean,
	OUT visits bigint,
	OUT moved bigint,
	OUT visit_entries float8)
RETURNS SETOF record
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT PARALLEL SAFE;

COMMENT ON FUNCTION fpbtree_tiers(regclass) IS
  'the tiers of the operation queue of an fpbtree index';

CREATE FUNCTION fpbtree_queue_advice(index regclass, insert_share float8 DEFAULT 0.5,
	OUT name text,
	OUT current text,
	OUT advised text,
	OUT reason text)
RETURNS SETOF record
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT PARALLEL UNSAFE;

COMMENT ON FUNCTION fpbtree_queue_advice(regclass, float8) IS
  'what an operation queue would be worth for an fpbtree index, and how large it should be';

-- tuning

CREATE FUNCTION fpbtree_tune(keys bigint DEFAULT 1000000,
	OUT form text,
	OUT optimize_for text,
	OUT layout text,
	OUT node_format text,
	OUT leaf_lines integer,
	OUT node_search text,
	OUT node_prefetch boolean)
RETURNS SETOF record
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT PARALLEL UNSAFE;

COMMENT ON FUNCTION fpbtree_tune(bigint) IS
  'measure which designs of fpbtree indexes are fastest on this machine';

CREATE FUNCTION fpbtree_tune_reset()
RETURNS void
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT PARALLEL UNSAFE;

COMMENT ON FUNCTION fpbtree_tune_reset() IS
  'forget what fpbtree_tune has measured';

-- This makes fpbtree_tuning(), which returns what fpbtree_tune has measured, in
-- nanoseconds.  CREATE INDEX takes the fastest design that agrees with the index's
-- parameters.  The figures are the function's body, and the code that replaces the
-- body has the function's definition, too.
SELECT fpbtree_tune_reset();

COMMENT ON FUNCTION fpbtree_tuning() IS
  'how fast fpbtree indexes of each form of keys and design are on this machine';

-- migration

CREATE FUNCTION fpbtree_expected_size(index regclass, fillfactor integer DEFAULT 0,
	OUT form text,
	OUT size bigint,
	OUT btree_size bigint)
RETURNS record
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT PARALLEL UNSAFE;

COMMENT ON FUNCTION fpbtree_expected_size(regclass, integer) IS
  'estimate how large a btree index would be, in bytes, rebuilt as an fpbtree index and as a btree';

-- Write the statements that replace indexes, each with its partitions, by indexes
-- of the other access method, btree or fpbtree.  The functions below use it.
-- "lost" is what the new index can't take over.
--
-- A primary key or unique constraint stays one, but that of a partitioned table,
-- which becomes unique indexes.  An fpbtree index can't be all that a btree can.
-- It keeps the rest as its parameter "replaces":
--
--   "primary key", "unique constraint"   the constraint that the btree belonged to
--   "default identity"                   the primary key was the default replica identity
--   "constraint comment"                 the comment was the constraint's
--   other parameters                     those that only a btree has, with the place
--                                        of "fillfactor" among them
CREATE FUNCTION fpbtree_replacements(indexes regclass[], method name,
	OUT index regclass,
	OUT lost text,
	OUT statements text[],
	OUT afterwards text[])
RETURNS SETOF record
LANGUAGE plpgsql STRICT PARALLEL UNSAFE
-- So that only the server's functions and operators are called, and all names in
-- the server's definitions are qualified.
SET search_path = pg_catalog, pg_temp
-- So that the definitions mean the same in other sessions.
SET quote_all_identifiers = off
SET datestyle = 'ISO'
SET intervalstyle = 'postgres'
SET extra_float_digits = 1
AS $function$
#variable_conflict use_column
DECLARE
	is_17 constant boolean := current_setting('server_version_num')::integer < 180000;
	to_btree constant boolean := method = 'btree';
	old_method constant text := CASE WHEN to_btree THEN 'fpbtree' ELSE 'btree' END;
	suffix constant text := CASE WHEN to_btree THEN '_bt' ELSE '_fpb' END;
	-- of the functions: it may have been renamed since CREATE EXTENSION
	own_schema constant regnamespace := (SELECT e.extnamespace FROM pg_extension e WHERE e.extname = 'fpbtree');
BEGIN
	RETURN QUERY
	-- every index of a tree, and what the parts of its definition are
	WITH parts AS (
		SELECT r.root, p.level, p.parent, i.*, c.relkind, c.relname, t.oid AS table_oid,
		       k.oid AS constr, k.contype, k.conname, k.condeferrable,
		       -- a constraint that stays one
		       key.is_key, key.kind AS key_kind, key.ending AS key_ending, k.condeferred,
		       t.relkind AS table_kind, t.relreplident,
		       CASE WHEN i.indisunique AND k.contype IS DISTINCT FROM 'x' THEN 'UNIQUE ' ELSE '' END AS uniq,
		       format('%I.%I', tn.nspname, t.relname) AS of_table,
		       format('%I', cn.nspname) AS schema,
		       names.new_name,
		       obj_description(i.indexrelid, 'pg_class') AS comment,
		       obj_description(k.oid, 'pg_constraint') AS constraint_comment,
		       items.items,
		       o.replaced,
		       -- the constraint that the new index becomes; for a partition, that of
		       -- the whole, because it may have been attached later
		       CASE WHEN NOT to_btree OR k.oid IS NOT NULL OR NOT i.indisunique
		                 OR i.indpred IS NOT NULL OR i.indexprs IS NOT NULL THEN NULL
		            WHEN 'primary key' = ANY (o.replaced || whole.replaced)
		                 AND NOT EXISTS (SELECT FROM pg_index q WHERE q.indrelid = t.oid AND q.indisprimary) THEN 'PRIMARY KEY'
		            WHEN 'unique constraint' = ANY (o.replaced || whole.replaced) THEN 'UNIQUE' END AS becomes,
		       coalesce(' WITH (' || o.new_options || ')', '') AS with_options,
		       (SELECT format('TABLESPACE %I', s.spcname) FROM pg_tablespace s WHERE s.oid = c.reltablespace) AS tablespace,
		       CASE WHEN key.is_key THEN '' ELSE e.ending END AS ending
		FROM unnest(indexes) r (root)
		     CROSS JOIN LATERAL (SELECT r.root::oid AS oid, NULL::oid AS parent, 0 AS level
		                         UNION ALL
		                         SELECT q.relid, q.parentrelid, q.level FROM pg_partition_tree(r.root) q WHERE q.level > 0) p
		     JOIN pg_index i ON i.indexrelid = p.oid
		     JOIN pg_class c ON c.oid = p.oid
		     JOIN pg_namespace cn ON cn.oid = c.relnamespace
		     JOIN pg_class t ON t.oid = i.indrelid
		     JOIN pg_namespace tn ON tn.oid = t.relnamespace
		     LEFT JOIN pg_constraint k ON k.conindid = p.oid AND k.conrelid = t.oid AND k.contype IN ('p', 'u', 'x')
		     CROSS JOIN LATERAL (
			SELECT coalesce(k.contype IN ('p', 'u') AND (to_btree OR p.level = 0 AND c.relkind = 'i'), false) AS is_key,
			       CASE k.contype WHEN 'p' THEN 'PRIMARY KEY' ELSE 'UNIQUE' END AS kind,
			       CASE WHEN k.condeferrable THEN ' DEFERRABLE' ELSE '' END
			       || CASE WHEN k.condeferred THEN ' INITIALLY DEFERRED' ELSE '' END AS ending) key
		     -- The server's definition is cut at its known beginning and end.  No
		     -- value of a parameter has parentheses.  A constraint's has no orders
		     -- of columns, which no btree of a constraint can have.
		     CROSS JOIN LATERAL (SELECT pg_get_expr(i.indpred, i.indrelid) AS pred) w
		     CROSS JOIN LATERAL (
			SELECT CASE WHEN key.is_key THEN key.ending
			            WHEN k.contype = 'x'
			            THEN coalesce(format(' WHERE (%s)', w.pred), '')
			                 || CASE WHEN k.condeferrable THEN ' DEFERRABLE' ELSE '' END
			                 || CASE WHEN k.condeferred THEN ' INITIALLY DEFERRED' ELSE '' END
			            ELSE coalesce(' WHERE ' || w.pred, '') END AS ending,
			       CASE WHEN k.contype = 'x' OR key.is_key THEN pg_get_constraintdef(k.oid) ELSE pg_get_indexdef(p.oid) END AS def,
			       CASE WHEN key.is_key
			            THEN key.kind || CASE WHEN i.indnullsnotdistinct THEN ' NULLS NOT DISTINCT ' ELSE ' ' END
			            WHEN k.contype = 'x' THEN format('EXCLUDE USING %s ', old_method)
			            ELSE format('CREATE %sINDEX %I ON %s%I.%I USING %s ',
			                        CASE WHEN i.indisunique THEN 'UNIQUE ' ELSE '' END, c.relname,
			                        CASE WHEN c.relkind = 'I' THEN 'ONLY ' ELSE '' END, tn.nspname, t.relname, old_method) END AS head) e
		     CROSS JOIN LATERAL (
			SELECT regexp_replace(substr(left(e.def, length(e.def) - length(e.ending)), length(e.head) + 1),
			                      CASE WHEN c.reloptions IS NULL OR key.is_key THEN '$' ELSE ' WITH \([^()]*\)$' END, '')
			       || CASE WHEN key.is_key AND i.indnullsnotdistinct THEN ' NULLS NOT DISTINCT' ELSE '' END AS items) items
		     -- parameters: those named, those that an earlier replacement has
		     -- kept, and those that this one has to keep
		     CROSS JOIN LATERAL (
			SELECT 'fillfactor=' || max(o.option_value) FILTER (WHERE o.option_name = 'fillfactor') AS fillfactor,
			       string_to_array(max(o.option_value) FILTER (WHERE o.option_name = 'replaces'), ', ') AS replaced,
			       CASE WHEN count(*) FILTER (WHERE o.option_name <> 'fillfactor') > 0
			            THEN string_agg(CASE WHEN o.option_name = 'fillfactor' THEN o.option_name
			                                 ELSE o.option_name || '=' || o.option_value END, ', ' ORDER BY o.ordinality) END AS others,
			       -- those of a constraint, the same with both methods
			       string_agg(o.option_name || '=' || o.option_value, ', ' ORDER BY o.ordinality)
			           FILTER (WHERE o.option_name IN ('fillfactor', 'deduplicate_items')) AS of_key
			FROM pg_options_to_table(c.reloptions) WITH ORDINALITY o) named
		     CROSS JOIN LATERAL (
			SELECT nullif(concat_ws(', ',
			                        CASE k.contype WHEN 'p' THEN 'primary key' WHEN 'u' THEN 'unique constraint' END,
			                        CASE WHEN k.contype = 'p' AND t.relreplident = 'd' THEN 'default identity' END,
			                        CASE WHEN k.contype IN ('p', 'u') AND obj_description(p.oid, 'pg_class') IS NULL
			                                  AND obj_description(k.oid, 'pg_constraint') IS NOT NULL THEN 'constraint comment' END,
			                        named.others), '') AS replaces) new
		     CROSS JOIN LATERAL (
			SELECT named.replaced,
			       nullif(CASE WHEN key.is_key THEN named.of_key
			                   WHEN to_btree
			                   THEN concat_ws(', ', CASE WHEN 'fillfactor' = ANY (named.replaced) THEN NULL ELSE named.fillfactor END,
			                                  (SELECT string_agg(CASE u.item WHEN 'fillfactor' THEN named.fillfactor ELSE u.item END, ', ' ORDER BY u.n)
			                                   FROM unnest(named.replaced) WITH ORDINALITY u (item, n)
			                                   WHERE u.item = 'fillfactor' OR u.item LIKE '%=%'))
			                   ELSE concat_ws(', ', named.fillfactor, 'replaces=' || quote_literal(new.replaces)) END, '') AS new_options) o
		     LEFT JOIN LATERAL (
			SELECT string_to_array(w.option_value, ', ') AS replaced
			FROM pg_class rc, pg_options_to_table(rc.reloptions) w
			WHERE rc.oid = r.root AND w.option_name = 'replaces') whole ON true
		     -- the new name: the old one and the suffix, or the beginning of the
		     -- old one, the OID, the suffix and a number; so that no two new names
		     -- are equal
		     CROSS JOIN LATERAL (
			SELECT v.name AS new_name
			FROM generate_series(0, 100) n,
			     LATERAL (SELECT CASE WHEN n = 0 THEN c.relname || suffix
			                          ELSE format('%s_%s%s%s',
			                                      (SELECT left(c.relname::text, max(m)) FROM generate_series(0, 40) m
			                                       WHERE octet_length(left(c.relname::text, m)) <= 40), p.oid, suffix, n) END) v (name)
			WHERE octet_length(v.name) < 64
			      AND NOT EXISTS (SELECT FROM pg_class o WHERE o.relname = v.name AND o.relnamespace = c.relnamespace)
			      AND NOT EXISTS (SELECT FROM pg_constraint o WHERE o.conname = v.name AND o.conrelid = t.oid)
			ORDER BY n LIMIT 1) names
	-- the statements for each
	), steps AS (
		SELECT p.*,
		       -- A constraint of partitions is made when they all have it.
		       CASE WHEN p.contype = 'x'
		            THEN ARRAY[format('ALTER TABLE %s ADD CONSTRAINT %I EXCLUDE USING %s %s', p.of_table, p.new_name, method,
		                              p.items || p.with_options || coalesce(' USING INDEX ' || p.tablespace, '') || p.ending)]
		            WHEN p.becomes IS NOT NULL AND p.relkind = 'I' THEN NULL
		            ELSE ARRAY[format('CREATE %sINDEX %s%I ON %s%s USING %s %s', p.uniq,
		                              CASE WHEN p.relkind = 'i' THEN 'CONCURRENTLY ' ELSE '' END, p.new_name,
		                              CASE WHEN p.relkind = 'I' THEN 'ONLY ' ELSE '' END, p.of_table, method,
		                              p.items || p.with_options || coalesce(' ' || p.tablespace, '') || p.ending)]
		                 || CASE WHEN p.parent IS NOT NULL AND p.becomes IS NULL THEN ARRAY[a.attach] END END
		           || CASE WHEN p.becomes IS NULL OR p.relkind = 'i' THEN f.features END
		           || CASE WHEN p.indexprs IS NOT NULL AND p.relkind = 'i' THEN ARRAY['ANALYZE ' || p.of_table] END AS make,
		       -- before the old index is dropped, the new one becomes the constraint
		       -- and so on
		       CASE WHEN p.becomes IS NULL THEN NULL
		            WHEN p.relkind = 'i'
		            THEN ARRAY[format('ALTER TABLE %s ADD CONSTRAINT %I %s USING INDEX %I', p.of_table, p.new_name, p.becomes, p.new_name)]
		            ELSE ARRAY[format('ALTER TABLE ONLY %s ADD CONSTRAINT %I %s%s %s', p.of_table, p.new_name, p.becomes,
		                              CASE WHEN p.indnullsnotdistinct THEN ' NULLS NOT DISTINCT' ELSE '' END,
		                              regexp_replace(p.items, ' NULLS NOT DISTINCT$', '')
		                              || p.with_options || coalesce(' USING INDEX ' || p.tablespace, ''))]
		                 || f.features END AS constrain,
		       CASE WHEN p.becomes IS NOT NULL AND p.parent IS NOT NULL THEN ARRAY[a.attach] END AS attach_constraint,
		       CASE WHEN p.becomes IS NOT NULL AND p.comment IS NOT NULL AND 'constraint comment' = ANY (p.replaced)
		            THEN ARRAY[format('COMMENT ON CONSTRAINT %I ON %s IS %L', p.new_name, p.of_table, p.comment)] END
		           || CASE WHEN p.becomes = 'PRIMARY KEY' AND p.indisreplident AND 'default identity' = ANY (p.replaced)
		                   THEN ARRAY[format('ALTER TABLE %s REPLICA IDENTITY DEFAULT', p.of_table)]
		                   WHEN p.indisreplident OR p.contype = 'p' AND NOT p.is_key AND p.relreplident = 'd'
		                   THEN ARRAY[format('ALTER TABLE %s REPLICA IDENTITY USING INDEX %I', p.of_table, p.new_name)] END
		           || CASE WHEN p.indisclustered
		                   THEN ARRAY[format('ALTER TABLE %s CLUSTER ON %I', p.of_table, p.new_name)] END AS mark,
		       CASE WHEN p.contype = 'x'
		            THEN format('ALTER TABLE %s RENAME CONSTRAINT %I TO %I', p.of_table, p.new_name, p.conname)
		            ELSE format('ALTER INDEX %s.%I RENAME TO %I', p.schema, p.new_name, p.relname) END AS rename
		FROM parts p
		     LEFT JOIN parts o ON o.indexrelid = p.parent
		     CROSS JOIN LATERAL (
			SELECT format('ALTER INDEX %s.%I ATTACH PARTITION %s.%I', o.schema, o.new_name, p.schema, p.new_name) AS attach) a
		     CROSS JOIN LATERAL (
			SELECT (SELECT array_agg(format('ALTER INDEX %s.%I ALTER COLUMN %s SET STATISTICS %s',
			                                p.schema, p.new_name, a.attnum, a.attstattarget) ORDER BY a.attnum)
			        FROM pg_attribute a WHERE a.attrelid = p.indexrelid AND a.attstattarget >= 0)
			       || (SELECT array_agg(format('ALTER INDEX %s.%I DEPENDS ON EXTENSION %I', p.schema, p.new_name, x.extname) ORDER BY x.extname)
			           FROM pg_depend d JOIN pg_extension x ON x.oid = d.refobjid
			           WHERE d.classid = 'pg_class'::regclass AND d.objid = p.indexrelid AND d.objsubid = 0
			                 AND d.refclassid = 'pg_extension'::regclass AND d.deptype = 'x')
			       || CASE WHEN p.contype = 'x' AND p.constraint_comment IS NOT NULL
			               THEN ARRAY[format('COMMENT ON CONSTRAINT %I ON %s IS %L', p.new_name, p.of_table, p.constraint_comment)] END
			       || CASE WHEN p.becomes IS NOT NULL AND 'constraint comment' = ANY (p.replaced) THEN NULL
			               WHEN p.comment IS NOT NULL OR p.contype IN ('p', 'u') AND NOT p.is_key AND p.constraint_comment IS NOT NULL
			               THEN ARRAY[format('COMMENT ON INDEX %s.%I IS %L', p.schema, p.new_name, coalesce(p.comment, p.constraint_comment))]
			          END AS features) f
		-- a constraint takes those of the partitions along
		WHERE NOT (p.contype IS NOT DISTINCT FROM 'x' AND p.level > 0)
	), scripts AS (
		SELECT s.root,
		       array_agg(m.statement ORDER BY s.level, s.indexrelid, m.n) FILTER (WHERE m.what = 'make') AS make,
		       array_agg(m.statement ORDER BY m.phase, s.level, s.indexrelid, m.n) FILTER (WHERE m.what = 'mark') AS mark,
		       array_agg(m.statement ORDER BY s.level, s.indexrelid, m.n) FILTER (WHERE m.what = 'rename') AS rename
		FROM steps s
		     CROSS JOIN LATERAL (SELECT 'make', 1, u.* FROM unnest(s.make) WITH ORDINALITY u
		                         UNION ALL SELECT 'mark', 1, u.* FROM unnest(s.constrain) WITH ORDINALITY u
		                         UNION ALL SELECT 'mark', 2, u.* FROM unnest(s.attach_constraint) WITH ORDINALITY u
		                         UNION ALL SELECT 'mark', 3, u.* FROM unnest(s.mark) WITH ORDINALITY u
		                         UNION ALL SELECT 'rename', 1, s.rename, 1) m (what, phase, statement, n)
		GROUP BY s.root
	-- facts about a whole tree of partitions
	), trees AS (
		SELECT p.root, bool_or(p.indisclustered) AS clustered, bool_or(p.indisreplident OR p.contype = 'p') AS identifies,
		       bool_or(p.contype IN ('p', 'u') AND NOT p.is_key AND p.comment IS NOT NULL AND p.constraint_comment IS NOT NULL) AS two_comments,
		       bool_or(p.contype = 'x' AND p.level > 0) AS excludes_partitions
		FROM parts p
		GROUP BY p.root
	)
	SELECT p.indexrelid::regclass,
	       nullif(concat_ws('; ',
	                 CASE WHEN p.is_key AND p.relkind = 'I'
	                      THEN 'the constraint of a partitioned table, which has to be dropped and made anew' END,
	                 CASE WHEN p.is_key AND NOT to_btree
	                      THEN format('%s %I: a dump makes it a btree again, and pg_upgrade needs the statements of fpbtree_keys()',
	                                  CASE p.contype WHEN 'p' THEN 'the primary key' ELSE 'the unique constraint' END, p.conname) END,
	                 CASE WHEN p.contype IN ('p', 'u') AND NOT p.is_key
	                      THEN format('%s %I: a unique index takes its place, but not for %sON CONFLICT ON CONSTRAINT',
	                                  CASE p.contype WHEN 'p' THEN 'the primary key' ELSE 'the unique constraint' END, p.conname,
	                                  CASE p.contype WHEN 'p' THEN 'GROUP BY the key alone, tools that look for one, REFERENCES without columns, and ' END) END,
	                 CASE WHEN p.contype IN ('p', 'u') AND NOT p.is_key AND p.condeferrable THEN 'its being deferrable' END,
	                 CASE WHEN t.two_comments THEN 'the comment on the constraint, as the index has one, too' END,
	                 CASE WHEN p.contype = 'x' THEN 'no writing to the table while it is made' END,
	                 CASE WHEN t.excludes_partitions THEN 'the names and comments of the partitions'' constraints' END,
	                 d.dependents || CASE WHEN is_17 AND NOT to_btree THEN ': it has to stay for these' ELSE ': it has to stay until they go' END,
	                 CASE WHEN NOT to_btree AND is_17 AND p.indisunique AND p.table_kind = 'r' THEN 'INSERT ... ON CONFLICT into the table' END,
	                 CASE WHEN NOT to_btree AND is_17 AND p.indisunique AND p.table_kind = 'm' THEN 'REFRESH MATERIALIZED VIEW CONCURRENTLY' END,
	                 CASE WHEN NOT to_btree AND is_17 AND t.identifies THEN 'replica identity on a subscriber' END,
	                 CASE WHEN NOT to_btree AND t.clustered THEN 'CLUSTER by sorting' END), ''),
	       -- operator classes that btree has
	       CASE WHEN NOT (p.is_key AND p.relkind = 'I')
	            THEN CASE WHEN NOT to_btree
	                      THEN (SELECT array_agg(DISTINCT format('SELECT %s.fpbtree_clone_opclass(%L::pg_catalog.text)', own_schema,
	                                                             format('%I.%I', n.nspname, b.opcname)))
	                            FROM unnest(p.indclass) o
	                                 JOIN pg_opclass b ON b.oid = o
	                                 JOIN pg_namespace n ON n.oid = b.opcnamespace
	                            WHERE NOT EXISTS (SELECT FROM pg_opclass f JOIN pg_am a ON a.oid = f.opcmethod AND a.amname = 'fpbtree'
	                                              WHERE f.opcname = b.opcname AND f.opcnamespace = b.opcnamespace)) END
	                 || s.make END,
	       CASE WHEN p.is_key AND p.relkind = 'I' THEN NULL
	            -- one statement, because it is one transaction: the table has one
	            -- primary key at a time, and foreign keys have to go with it; the rows
	            -- that they are about are looked at after it
	            WHEN p.is_key AND d.dependents IS NULL
	            THEN s.mark
	                 || format('DO %L',
	                           concat_ws(E'\n', 'BEGIN', f.drops,
	                                     CASE WHEN to_btree
	                                          THEN format('ALTER TABLE %s DROP CONSTRAINT %I, ADD CONSTRAINT %I %s USING INDEX %I%s;',
	                                                      p.of_table, p.conname, p.conname, p.key_kind, p.new_name, p.key_ending)
	                                          ELSE format(E'ALTER TABLE %s DROP CONSTRAINT %I;\n'
	                                                      -- all arguments, with their types, so that no other function fits better
	                                                      'PERFORM %s.fpbtree_add_constraint(%L::pg_catalog.regclass, %L::pg_catalog.regclass,'
	                                                      ' %L::pg_catalog.text, %L::pg_catalog.name, %s, %s);',
	                                                      p.of_table, p.conname, own_schema, p.of_table, format('%s.%I', p.schema, p.new_name),
	                                                      lower(p.key_kind), p.conname, p.condeferrable::text, p.condeferred::text) END,
	                                     CASE WHEN p.constraint_comment IS NOT NULL
	                                          THEN format('COMMENT ON CONSTRAINT %I ON %s IS %L;', p.conname, p.of_table, p.constraint_comment) END,
	                                     f.makes, 'END'))
	                 || f.validations
	            WHEN d.dependents IS NULL AND NOT coalesce(p.contype <> 'x' AND p.condeferrable, false)
	            THEN s.mark
	                 || CASE WHEN p.contype IS NOT NULL THEN format('ALTER TABLE %s DROP CONSTRAINT %I', p.of_table, p.conname)
	                         WHEN p.relkind = 'I' THEN format('DROP INDEX %s.%I', p.schema, p.relname)
	                         ELSE format('DROP INDEX CONCURRENTLY %s.%I', p.schema, p.relname) END
	                 || s.rename END
	FROM scripts s
	     JOIN trees t USING (root)
	     JOIN parts p ON p.indexrelid = s.root
	     -- the objects that depend on it
	     CROSS JOIN LATERAL (
		SELECT string_agg(DISTINCT pg_describe_object(o.classid, o.objid, o.objsubid), ', ') AS dependents
		FROM (SELECT d.classid, d.objid, d.objsubid
		      FROM parts q
		           JOIN pg_depend d ON (d.refclassid, d.refobjid) IN (('pg_class'::regclass, q.indexrelid),
		                                                              ('pg_constraint'::regclass, q.constr))
		           LEFT JOIN pg_constraint f ON d.classid = 'pg_constraint'::regclass AND f.oid = d.objid
		      WHERE q.root = s.root AND d.deptype = 'n' AND coalesce(f.conparentid, 0) = 0
		            AND NOT coalesce(q.is_key AND f.contype = 'f' AND (to_btree OR NOT is_17), false)
		      UNION ALL
		      -- a partition's own constraint, whose index belongs to a plain one of the whole
		      SELECT 'pg_constraint'::regclass, q.constr, 0
		      FROM parts q
		      WHERE q.root = s.root AND p.constr IS NULL AND q.constr IS NOT NULL) o) d
	     -- the foreign keys that refer to it, or to another key of the same columns,
	     -- because the server chooses one each time that a foreign key is made
	     CROSS JOIN LATERAL (
		SELECT string_agg(format('ALTER TABLE %s DROP CONSTRAINT %I;', r.of_table, r.conname), E'\n' ORDER BY r.n) AS drops,
		       string_agg(format('ALTER TABLE %s ADD CONSTRAINT %I %s;', r.of_table, r.conname,
		                         r.definition || CASE WHEN r.convalidated THEN ' NOT VALID' ELSE '' END)
		                  || CASE WHEN r.comment IS NULL THEN ''
		                          ELSE format(E'\nCOMMENT ON CONSTRAINT %I ON %s IS %L;', r.conname, r.of_table, r.comment) END,
		                  E'\n' ORDER BY r.n) AS makes,
		       array_agg(format('ALTER TABLE %s VALIDATE CONSTRAINT %I', r.of_table, r.conname) ORDER BY r.n)
		           FILTER (WHERE r.convalidated) AS validations
		FROM (SELECT k.conname, k.convalidated, format('%I.%I', n.nspname, c.relname) AS of_table,
		             pg_get_constraintdef(k.oid) AS definition, obj_description(k.oid, 'pg_constraint') AS comment,
		             row_number() OVER (ORDER BY n.nspname, c.relname, k.conname) AS n
		      FROM pg_constraint k
		           JOIN pg_class c ON c.oid = k.conrelid
		           JOIN pg_namespace n ON n.oid = c.relnamespace
		      WHERE k.contype = 'f' AND k.confrelid = p.indrelid AND k.conparentid = 0
		            AND ARRAY(SELECT unnest(k.confkey) ORDER BY 1) = ARRAY(SELECT unnest(p.indkey[0:p.indnkeyatts - 1]) ORDER BY 1)
		            -- 17 needs a btree, and has left the one that foreign keys refer to
		            AND (to_btree OR NOT is_17)) r) f;
END
$function$;

COMMENT ON FUNCTION fpbtree_replacements(regclass[], name) IS
  'the statements that replace indexes, for fpbtree_advise and fpbtree_to_btree';

-- The shards of Citus on this node, and the tables whose rows are in shards.
-- (Citus' own function knows a shard only if its table is in the search_path.)
CREATE FUNCTION fpbtree_citus_tables(OUT shards oid[], OUT distributed oid[])
RETURNS record
LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $function$
BEGIN
	shards := '{}';
	distributed := '{}';
	IF to_regclass('pg_catalog.pg_dist_shard') IS NOT NULL AND to_regclass('pg_catalog.pg_dist_partition') IS NOT NULL THEN
		EXECUTE 'SELECT coalesce(array_agg(t.oid), ''{}'')'
		        ' FROM pg_catalog.pg_dist_shard s JOIN pg_class l ON l.oid = s.logicalrelid'
		        '      JOIN pg_class t ON t.relnamespace = l.relnamespace'
		        '                         AND substring(t.relname FROM ''_([0-9]{1,18})$'')::bigint = s.shardid'
		INTO shards;
		EXECUTE 'SELECT coalesce(array_agg(p.logicalrelid::oid), ''{}'') FROM pg_catalog.pg_dist_partition p'
		INTO distributed;
	END IF;
END
$function$;

COMMENT ON FUNCTION fpbtree_citus_tables() IS
  'tables that Citus sees to, for fpbtree_advise and fpbtree_to_btree';

CREATE FUNCTION fpbtree_advise(min_size bigint DEFAULT 8388608,
	OUT index text,
	OUT "table" text,
	OUT size bigint,
	OUT rebuilt_size bigint,
	OUT expected_size bigint,
	OUT scans bigint,
	OUT tuples_read bigint,
	OUT inserts bigint,
	OUT updates bigint,
	OUT hot_updates bigint,
	OUT reason text,
	OUT lost text,
	OUT statements text[],
	OUT afterwards text[])
RETURNS SETOF record
LANGUAGE plpgsql STRICT PARALLEL UNSAFE
-- as above
SET search_path = pg_catalog, pg_temp
SET quote_all_identifiers = off
AS $function$
#variable_conflict use_column
DECLARE
	is_17 constant boolean := current_setting('server_version_num')::integer < 180000;
	buffers constant bigint := pg_size_bytes(current_setting('shared_buffers'));
	-- of the functions: it may have been renamed since CREATE EXTENSION
	own_schema constant regnamespace := (SELECT e.extnamespace FROM pg_extension e WHERE e.extname = 'fpbtree');
	shards oid[];
	distributed oid[];
	roots oid[];
	leaves oid[];
	changes bigint[];
	correlations float8[];
	forms text[];
	sizes bigint[];
	btree_sizes bigint[];
BEGIN
	EXECUTE format('SELECT * FROM %s.fpbtree_citus_tables()', own_schema) INTO shards, distributed;
	IF distributed <> '{}' THEN
		RAISE NOTICE 'tables that Citus distributes are left out, and their shards'
			USING HINT = 'Call fpbtree_expected_size() on the workers for the indexes of shards. Create new indexes on the coordinator.';
	END IF;

	-- The candidates: indexes that are no partitions of others ("root"), each
	-- with the indexes that have pages ("leaf"), itself or its partitions.  For
	-- each of the latter: how many keys have been inserted since statistics are
	-- counted, and how far they are in order.
	WITH candidates AS (
		SELECT c.oid AS root, l.leaf, sum(pg_relation_size(l.leaf)) OVER (PARTITION BY c.oid) AS total,
		       pg_stat_get_tuples_inserted(li.indrelid) + pg_stat_get_tuples_updated(li.indrelid)
		           - pg_stat_get_tuples_hot_updated(li.indrelid) AS changes,
		       s.correlation
		FROM pg_index i
		     JOIN pg_class c ON c.oid = i.indexrelid
		     JOIN pg_am a ON a.oid = c.relam AND a.amname = 'btree'
		     JOIN pg_class t ON t.oid = i.indrelid
		     CROSS JOIN LATERAL (SELECT c.oid AS leaf WHERE c.relkind = 'i'
		                         UNION ALL
		                         SELECT p.relid FROM pg_partition_tree(c.oid) p WHERE p.isleaf) l
		     JOIN pg_class lc ON lc.oid = l.leaf AND NOT (lc.relpersistence = 'u' AND pg_is_in_recovery())
		     JOIN pg_index li ON li.indexrelid = l.leaf
		     JOIN pg_class lt ON lt.oid = li.indrelid
		     JOIN pg_namespace ln ON ln.oid = lt.relnamespace
		     JOIN pg_attribute la ON la.attrelid = CASE WHEN li.indkey[0] = 0 THEN l.leaf ELSE li.indrelid END
		                             AND la.attnum = CASE WHEN li.indkey[0] = 0 THEN 1 ELSE li.indkey[0] END
		     LEFT JOIN pg_stats s ON s.schemaname = ln.nspname AND NOT s.inherited AND s.attname = la.attname
		                             AND s.tablename = CASE WHEN li.indkey[0] = 0 THEN lc.relname ELSE lt.relname END
		WHERE i.indisvalid AND NOT c.relispartition
		      AND t.relkind IN ('r', 'p', 'm') AND t.oid >= 16384
		      AND t.relpersistence <> 't'
		      AND NOT (c.relkind = 'I' AND is_17 AND (i.indisunique OR i.indisexclusion))
		      -- a foreign table has no index that could be attached
		      AND NOT (c.relkind = 'I' AND EXISTS (SELECT FROM pg_partition_tree(t.oid) p JOIN pg_class f ON f.oid = p.relid
		                                           WHERE f.relkind = 'f'))
		      -- an extension's own tables are its own business
		      AND NOT EXISTS (SELECT FROM pg_depend d
		                      WHERE d.classid = 'pg_class'::regclass AND d.objid = t.oid AND d.deptype = 'e')
		      AND NOT t.oid = ANY (shards) AND NOT t.oid = ANY (distributed)
	)
	SELECT array_agg(c.root ORDER BY c.leaf), array_agg(c.leaf ORDER BY c.leaf),
	       array_agg(c.changes ORDER BY c.leaf), array_agg(c.correlation ORDER BY c.leaf)
	INTO roots, leaves, changes, correlations
	FROM candidates c
	WHERE c.total >= min_size;

	-- The types are named, so that no other function of that name fits better.
	EXECUTE format('SELECT array_agg(e.form ORDER BY l.n), array_agg(e.size ORDER BY l.n), array_agg(e.btree_size ORDER BY l.n)'
	               ' FROM unnest($1) WITH ORDINALITY AS l (leaf, n), LATERAL %s.fpbtree_expected_size(l.leaf::regclass, 0) e', own_schema)
	INTO forms, sizes, btree_sizes USING leaves;

	RETURN QUERY EXECUTE format($query$
	WITH trees AS (
		SELECT x.root, min(x.form) AS form,
		       sum(pg_relation_size(x.leaf))::bigint AS size, sum(x.expected)::bigint AS expected, sum(x.rebuilt)::bigint AS rebuilt,
		       sum(pg_stat_get_numscans(x.leaf))::bigint AS scans,
		       sum(pg_stat_get_tuples_returned(x.leaf))::bigint AS tuples_read,
		       sum(pg_stat_get_tuples_inserted(i.indrelid))::bigint AS inserts,
		       sum(pg_stat_get_tuples_updated(i.indrelid))::bigint AS updates,
		       sum(pg_stat_get_tuples_hot_updated(i.indrelid))::bigint AS hot_updates,
		       sum(pg_table_size(i.indrelid))::bigint AS table_size,
		       -- insertions that an operation queue is good for: of random keys into
		       -- an index, or a partition's index, that is not in memory
		       sum(CASE WHEN NOT i.indisunique AND x.expected >= $7 / 4 AND abs(coalesce(x.correlation, 0)) < 0.9
		                THEN x.changes ELSE 0 END)::bigint AS queued
		FROM unnest($1, $2, $3, $4, $5, $6, $8) AS x (root, leaf, changes, correlation, form, expected, rebuilt)
		     JOIN pg_index i ON i.indexrelid = x.leaf
		GROUP BY x.root
	), judged AS (
		SELECT r.*, i.indexrelid::regclass::text AS index, i.indrelid::regclass::text AS of_table,
		       r.scans > 0 AND r.tuples_read <= 100 * r.scans AND r.form <> 'tuple' AS looks_up,
		       r.tuples_read > 100 * r.scans AND r.size + r.table_size > $7 AS reads_ahead
		FROM trees r
		     JOIN pg_index i ON i.indexrelid = r.root
	)
	SELECT j.index, j.of_table, j.size, j.rebuilt, j.expected, j.scans, j.tuples_read,
	       j.inserts, j.updates, j.hot_updates, g.reason, p.lost, p.statements, p.afterwards
	FROM judged j
	     JOIN %s.fpbtree_replacements(ARRAY(SELECT DISTINCT u.root FROM unnest($1) u (root))::regclass[], 'fpbtree'::name) p ON p.index = j.root
	     CROSS JOIN LATERAL (
		SELECT concat_ws('; ',
		                 CASE WHEN j.queued > 0 THEN 'random insertions into more than memory holds wait in an operation queue' END,
		                 CASE WHEN j.reads_ahead THEN format('scans of %%s rows read ahead', j.tuples_read / j.scans) END,
		                 CASE WHEN j.looks_up THEN 'lookups wait less for memory' END,
		                 CASE WHEN j.expected < j.rebuilt * 0.95
		                      THEN format('%%s%%%% smaller', round(100 * (1 - j.expected::numeric / j.rebuilt))) END) AS reason) g
	WHERE g.reason <> ''
	ORDER BY j.queued DESC, CASE WHEN j.looks_up OR j.reads_ahead THEN j.scans ELSE 0 END DESC, j.rebuilt - j.expected DESC, j.root
	$query$, own_schema)
	USING roots, leaves, changes, correlations, forms, sizes, buffers, btree_sizes;
END
$function$;

COMMENT ON FUNCTION fpbtree_advise(bigint) IS
  'btree indexes that would gain from being fpbtree, and how they become it';

CREATE FUNCTION fpbtree_to_btree(
	OUT index text,
	OUT "table" text,
	OUT lost text,
	OUT statements text[],
	OUT afterwards text[])
RETURNS SETOF record
LANGUAGE plpgsql STRICT PARALLEL UNSAFE
-- as above
SET search_path = pg_catalog, pg_temp
SET quote_all_identifiers = off
AS $function$
#variable_conflict use_column
DECLARE
	-- of the functions: it may have been renamed since CREATE EXTENSION
	own_schema constant regnamespace := (SELECT e.extnamespace FROM pg_extension e WHERE e.extname = 'fpbtree');
	shards oid[];
	roots oid[];
BEGIN
	EXECUTE format('SELECT c.shards FROM %s.fpbtree_citus_tables() c', own_schema) INTO shards;
	SELECT array_agg(c.oid) INTO roots
	FROM pg_index i
	     JOIN pg_class c ON c.oid = i.indexrelid
	     JOIN pg_am a ON a.oid = c.relam AND a.amname = 'fpbtree'
	     JOIN pg_class t ON t.oid = i.indrelid
	WHERE i.indisvalid AND NOT c.relispartition AND t.relpersistence <> 't'
	      AND NOT t.oid = ANY (shards);

	RETURN QUERY EXECUTE format($query$
	SELECT p.index::text, i.indrelid::regclass::text, p.lost, p.statements, p.afterwards
	FROM %s.fpbtree_replacements($1::regclass[], 'btree'::name) p
	     JOIN pg_index i ON i.indexrelid = p.index
	ORDER BY 2, 1
	$query$, own_schema)
	USING roots;
END
$function$;

COMMENT ON FUNCTION fpbtree_to_btree() IS
  'the fpbtree indexes, and how they become btree indexes (again)';

-- The primary keys and unique constraints with an fpbtree index, and the statements
-- that make them again: in a database restored from a dump, where they are btrees,
-- and after pg_upgrade, which refuses them.  Nothing is written for those of
-- partitioned tables.
CREATE FUNCTION fpbtree_keys(
	OUT "table" text,
	OUT name text,
	OUT dependents text,
	OUT statements text[],
	OUT afterwards text[],
	OUT before_upgrade text[],
	OUT after_upgrade text[])
RETURNS SETOF record
LANGUAGE sql STABLE STRICT PARALLEL RESTRICTED
-- as above
SET search_path = pg_catalog, pg_temp
SET quote_all_identifiers = off
AS $function$
	WITH keys AS (
		SELECT k.oid, k.conname, k.conrelid, ARRAY(SELECT unnest(k.conkey) ORDER BY 1) AS columns, i.indisclustered, i.indisreplident, c.relname,
		       c.relkind = 'i' AND NOT c.relispartition AS alone,
		       format('%I.%I', tn.nspname, t.relname) AS of_table,
		       format('%I.%I', cn.nspname, c.relname) AS index,
		       format('%I.%I', cn.nspname, n.new_name) AS new_index,
		       n.new_name,
		       format('%I', e.nspname) AS own_schema,
		       -- all arguments, with their types, so that no other function fits better
		       format('%L::pg_catalog.text, %L::pg_catalog.name, %s, %s', CASE k.contype WHEN 'p' THEN 'primary key' ELSE 'unique' END,
		              k.conname, k.condeferrable::text, k.condeferred::text) AS properties,
		       substr(pg_get_indexdef(i.indexrelid), length(format('CREATE UNIQUE INDEX %I ', c.relname)) + 1)
		           || coalesce(' TABLESPACE ' || quote_ident(s.spcname), '') AS definition,
		       obj_description(k.oid, 'pg_constraint') AS comment,
		       obj_description(i.indexrelid, 'pg_class') AS index_comment
		FROM pg_constraint k
		     JOIN pg_index i ON i.indexrelid = k.conindid
		     JOIN pg_class c ON c.oid = i.indexrelid
		     JOIN pg_am a ON a.oid = c.relam AND a.amname = 'fpbtree'
		     JOIN pg_namespace cn ON cn.oid = c.relnamespace
		     JOIN pg_class t ON t.oid = k.conrelid
		     JOIN pg_namespace tn ON tn.oid = t.relnamespace
		     LEFT JOIN pg_tablespace s ON s.oid = c.reltablespace
		     CROSS JOIN (SELECT en.nspname FROM pg_extension x JOIN pg_namespace en ON en.oid = x.extnamespace
		                 WHERE x.extname = 'fpbtree') e
		     CROSS JOIN LATERAL (
			SELECT CASE WHEN octet_length(c.relname || '_fpb') < 64 THEN c.relname || '_fpb'
			            ELSE format('%s_%s_fpb', (SELECT left(c.relname::text, max(m)) FROM generate_series(0, 40) m
			                                      WHERE octet_length(left(c.relname::text, m)) <= 40), c.oid) END AS new_name) n
		WHERE k.contype IN ('p', 'u') AND t.relpersistence <> 't'
	)
	SELECT k.of_table, k.conname::text, d.dependents,
	       CASE WHEN k.alone THEN ARRAY[format('CREATE UNIQUE INDEX CONCURRENTLY %I %s', k.new_name, k.definition)] END,
	       -- one statement, because it is one transaction; the rows that refer to
	       -- the key are looked at after it
	       CASE WHEN k.alone
	            THEN ARRAY[format('DO %L',
	                              concat_ws(E'\n', 'BEGIN', f.drops,
	                                        format('ALTER TABLE %s DROP CONSTRAINT %I;', k.of_table, k.conname),
	                                        format('PERFORM %s.fpbtree_add_constraint(%L::pg_catalog.regclass, %L::pg_catalog.regclass, %s);',
	                                               k.own_schema, k.of_table, k.new_index, k.properties),
	                                        m.comment || ';', m.index_comment || ';', m.clusters || ';', m.identifies || ';',
	                                        f.makes, 'END'))]
	                 || f.validations END,
	       CASE WHEN k.alone
	            THEN ARRAY[format('SELECT %s.fpbtree_drop_constraint(%L::pg_catalog.regclass, %L::pg_catalog.name)',
	                              k.own_schema, k.of_table, k.conname)] END,
	       CASE WHEN k.alone
	            THEN array_remove(ARRAY[format('SELECT %s.fpbtree_add_constraint(%L::pg_catalog.regclass, %L::pg_catalog.regclass, %s)',
	                                           k.own_schema, k.of_table, k.index, k.properties),
	                                    m.comment], NULL) END
	FROM keys k
	     CROSS JOIN LATERAL (
		SELECT CASE WHEN k.comment IS NOT NULL
		            THEN format('COMMENT ON CONSTRAINT %I ON %s IS %L', k.conname, k.of_table, k.comment) END AS comment,
		       CASE WHEN k.index_comment IS NOT NULL
		            THEN format('COMMENT ON INDEX %s IS %L', k.index, k.index_comment) END AS index_comment,
		       CASE WHEN k.indisclustered
		            THEN format('ALTER TABLE %s CLUSTER ON %I', k.of_table, k.relname) END AS clusters,
		       CASE WHEN k.indisreplident
		            THEN format('ALTER TABLE %s REPLICA IDENTITY USING INDEX %I', k.of_table, k.relname) END AS identifies) m
	     -- the foreign keys that refer to it, or to another key of the same columns,
	     -- because the server chooses one each time that a foreign key is made
	     CROSS JOIN LATERAL (
		SELECT string_agg(format('ALTER TABLE %s DROP CONSTRAINT %I;', r.of_table, r.conname), E'\n' ORDER BY r.n) AS drops,
		       string_agg(format('ALTER TABLE %s ADD CONSTRAINT %I %s;', r.of_table, r.conname,
		                         r.definition || CASE WHEN r.convalidated THEN ' NOT VALID' ELSE '' END)
		                  || CASE WHEN r.comment IS NULL THEN ''
		                          ELSE format(E'\nCOMMENT ON CONSTRAINT %I ON %s IS %L;', r.conname, r.of_table, r.comment) END,
		                  E'\n' ORDER BY r.n) AS makes,
		       array_agg(format('ALTER TABLE %s VALIDATE CONSTRAINT %I', r.of_table, r.conname) ORDER BY r.n)
		           FILTER (WHERE r.convalidated) AS validations
		FROM (SELECT f.conname, f.convalidated, format('%I.%I', n.nspname, c.relname) AS of_table,
		             pg_get_constraintdef(f.oid) AS definition, obj_description(f.oid, 'pg_constraint') AS comment,
		             row_number() OVER (ORDER BY n.nspname, c.relname, f.conname) AS n
		      FROM pg_constraint f
		           JOIN pg_class c ON c.oid = f.conrelid
		           JOIN pg_namespace n ON n.oid = c.relnamespace
		      WHERE f.contype = 'f' AND f.confrelid = k.conrelid AND f.conparentid = 0
		            AND ARRAY(SELECT unnest(f.confkey) ORDER BY 1) = k.columns) r) f
	     CROSS JOIN LATERAL (
		SELECT string_agg(DISTINCT pg_describe_object(d.classid, d.objid, d.objsubid), ', ') AS dependents
		FROM pg_depend d
		WHERE d.refclassid = 'pg_constraint'::regclass AND d.refobjid = k.oid AND d.deptype = 'n') d
	ORDER BY 1, 2
$function$;

COMMENT ON FUNCTION fpbtree_keys() IS
  'the primary keys and unique constraints with an fpbtree index, and how they are made again after a restore or pg_upgrade';

-- These functions read whole indexes, and tell how full they are and how frequent
-- things are.  They show keys only to those who may select them.
REVOKE ALL ON FUNCTION fpbtree_clone_opclass(text) FROM PUBLIC;
REVOKE ALL ON FUNCTION fpbtree_check(regclass, boolean) FROM PUBLIC;
REVOKE ALL ON FUNCTION fpbtree_damage(regclass, boolean) FROM PUBLIC;
REVOKE ALL ON FUNCTION fpbtree_stats(regclass) FROM PUBLIC;
REVOKE ALL ON FUNCTION fpbtree_page(regclass, bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION fpbtree_nodes(regclass, bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION fpbtree_prefetch_stats(regclass) FROM PUBLIC;
REVOKE ALL ON FUNCTION fpbtree_activity() FROM PUBLIC;
REVOKE ALL ON FUNCTION fpbtree_tiers(regclass) FROM PUBLIC;
REVOKE ALL ON FUNCTION fpbtree_queue_advice(regclass, float8) FROM PUBLIC;
REVOKE ALL ON FUNCTION fpbtree_expected_size(regclass, integer) FROM PUBLIC;
REVOKE ALL ON FUNCTION fpbtree_replacements(regclass[], name) FROM PUBLIC;
REVOKE ALL ON FUNCTION fpbtree_citus_tables() FROM PUBLIC;
REVOKE ALL ON FUNCTION fpbtree_advise(bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION fpbtree_to_btree() FROM PUBLIC;
REVOKE ALL ON FUNCTION fpbtree_tune(bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION fpbtree_tune_reset() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION fpbtree_check(regclass, boolean) TO pg_stat_scan_tables;
GRANT EXECUTE ON FUNCTION fpbtree_damage(regclass, boolean) TO pg_stat_scan_tables;
GRANT EXECUTE ON FUNCTION fpbtree_stats(regclass) TO pg_stat_scan_tables;
GRANT EXECUTE ON FUNCTION fpbtree_page(regclass, bigint) TO pg_stat_scan_tables;
GRANT EXECUTE ON FUNCTION fpbtree_nodes(regclass, bigint) TO pg_stat_scan_tables;
GRANT EXECUTE ON FUNCTION fpbtree_prefetch_stats(regclass) TO pg_stat_scan_tables;
GRANT EXECUTE ON FUNCTION fpbtree_activity() TO pg_stat_scan_tables;
GRANT EXECUTE ON FUNCTION fpbtree_tiers(regclass) TO pg_stat_scan_tables;
GRANT EXECUTE ON FUNCTION fpbtree_queue_advice(regclass, float8) TO pg_stat_scan_tables;
GRANT EXECUTE ON FUNCTION fpbtree_expected_size(regclass, integer) TO pg_stat_scan_tables;
GRANT EXECUTE ON FUNCTION fpbtree_replacements(regclass[], name) TO pg_stat_scan_tables;
GRANT EXECUTE ON FUNCTION fpbtree_citus_tables() TO pg_stat_scan_tables;
GRANT EXECUTE ON FUNCTION fpbtree_advise(bigint) TO pg_stat_scan_tables;
GRANT EXECUTE ON FUNCTION fpbtree_to_btree() TO pg_stat_scan_tables;
