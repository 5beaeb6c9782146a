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

-- Every btree operator class that this server comes with, in the order in
-- which they were made, and like these in pg_catalog: so they are found whatever
-- the search_path.
SELECT pg_catalog.count(fpbtree_clone_opclass(pg_catalog.format('pg_catalog.%I', opcname)))
FROM (SELECT c.opcname
      FROM pg_catalog.pg_opclass c
           JOIN pg_catalog.pg_am a ON a.oid OPERATOR(pg_catalog.=) c.opcmethod
      WHERE a.amname OPERATOR(pg_catalog.=) 'btree'::pg_catalog.name
            AND c.opcnamespace OPERATOR(pg_catalog.=) 'pg_catalog'::pg_catalog.regnamespace::pg_catalog.oid
      ORDER BY c.oid) AS btree;


-- looking inside

CREATE FUNCTION fpbtree_check(index regclass, heapallindexed boolean DEFAULT false)
RETURNS void
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT PARALLEL UNSAFE;

COMMENT ON FUNCTION fpbtree_check(regclass, boolean) IS
  'raise an error if anything is wrong with an fpbtree index';

CREATE FUNCTION fpbtree_damage(index regclass, heapallindexed boolean DEFAULT false,
	OUT block bigint,
	OUT fault text)
RETURNS SETOF record
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT PARALLEL UNSAFE;

COMMENT ON FUNCTION fpbtree_damage(regclass, boolean) IS
  'everything that is wrong with an fpbtree index';

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
	OUT one_key_nodes bigint,
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
	OUT exits integer,
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
  'pages read ahead by scans of an fpbtree index since the server was started';

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

-- fpbtree_tuning() returns what fpbtree_tune has measured, in nanoseconds;
-- CREATE INDEX takes the fastest design that agrees with the index's parameters.
-- The figures are its body, and whoever replaces that has its definition, too.
SELECT fpbtree_tune_reset();

COMMENT ON FUNCTION fpbtree_tuning() IS
  'how fast fpbtree indexes of each form of keys and design are on this machine';

-- migration

CREATE FUNCTION fpbtree_expected_size(index regclass)
RETURNS bigint
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT PARALLEL UNSAFE;

COMMENT ON FUNCTION fpbtree_expected_size(regclass) IS
  'how large a btree index would be as an fpbtree index, in bytes';

CREATE FUNCTION fpbtree_advise(min_size bigint DEFAULT 8388608,
	OUT index regclass,
	OUT "table" regclass,
	OUT size bigint,
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
-- Nobody else's functions and operators are called, and whatever the server
-- says of a definition is qualified.
SET search_path = pg_catalog, pg_temp
-- It says it in one way, which means the same in other sessions.
SET quote_all_identifiers = off
SET datestyle = 'ISO'
SET intervalstyle = 'postgres'
SET extra_float_digits = 1
AS $function$
#variable_conflict use_column
DECLARE
	is_17 constant boolean := current_setting('server_version_num')::integer < 180000;
	buffers constant bigint := pg_size_bytes(current_setting('shared_buffers'));
	self oid;
	own_schema regnamespace;
	roots oid[];
	leaves oid[];
	sizes bigint[];
BEGIN
	-- The schema may have been renamed since CREATE EXTENSION.
	GET DIAGNOSTICS self = PG_ROUTINE_OID;
	SELECT p.pronamespace INTO own_schema FROM pg_proc p WHERE p.oid = self;

	-- Indexes that are no partitions of others, and those that have pages: they
	-- themselves, or their partitions.
	SELECT array_agg(x.root), array_agg(x.leaf) INTO roots, leaves
	FROM (SELECT c.oid AS root, l.leaf, sum(pg_relation_size(l.leaf)) OVER (PARTITION BY c.oid) AS total
	      FROM pg_index i
	           JOIN pg_class c ON c.oid = i.indexrelid
	           JOIN pg_am a ON a.oid = c.relam AND a.amname = 'btree'
	           JOIN pg_class t ON t.oid = i.indrelid
	           CROSS JOIN LATERAL (SELECT c.oid AS leaf WHERE c.relkind = 'i'
	                               UNION ALL
	                               SELECT p.relid FROM pg_partition_tree(c.oid) p WHERE p.isleaf) l
	           JOIN pg_class lc ON lc.oid = l.leaf AND NOT (lc.relpersistence = 'u' AND pg_is_in_recovery())
	      WHERE i.indisvalid AND NOT c.relispartition
	            AND t.relkind IN ('r', 'p', 'm') AND t.oid >= 16384
	            AND t.relpersistence <> 't'
	            AND NOT (c.relkind = 'I' AND is_17 AND (i.indisunique OR i.indisexclusion))
	            -- an index of a foreign table, which is none, can't be attached
	            AND NOT (c.relkind = 'I' AND EXISTS (SELECT FROM pg_partition_tree(t.oid) p JOIN pg_class f ON f.oid = p.relid
	                                                 WHERE f.relkind = 'f'))
	            -- an extension's own tables are its own business
	            AND NOT EXISTS (SELECT FROM pg_depend d
	                            WHERE d.classid = 'pg_class'::regclass AND d.objid = t.oid AND d.deptype = 'e')) x
	WHERE x.total >= min_size;

	-- The type is named, lest another's function of that name fit better.
	EXECUTE format('SELECT array_agg(%s.fpbtree_expected_size(l.leaf::regclass) ORDER BY l.n)'
	               ' FROM unnest($1) WITH ORDINALITY AS l (leaf, n)', own_schema)
	INTO sizes USING leaves;

	RETURN QUERY
	WITH trees AS (
		SELECT x.root, sum(pg_relation_size(x.leaf))::bigint AS size, sum(x.expected)::bigint AS expected,
		       sum(pg_stat_get_numscans(x.leaf))::bigint AS scans,
		       sum(pg_stat_get_tuples_returned(x.leaf))::bigint AS tuples_read,
		       sum(pg_stat_get_tuples_inserted(i.indrelid))::bigint AS inserts,
		       sum(pg_stat_get_tuples_updated(i.indrelid))::bigint AS updates,
		       sum(pg_stat_get_tuples_hot_updated(i.indrelid))::bigint AS hot_updates,
		       sum(pg_table_size(i.indrelid))::bigint AS table_size
		FROM unnest(roots, leaves, sizes) AS x (root, leaf, expected)
		     JOIN pg_index i ON i.indexrelid = x.leaf
		GROUP BY x.root
	-- every index of a tree, and what the parts of its definition are
	), parts AS (
		SELECT r.root, p.level, p.parent, i.*, c.relkind, c.relname, k.oid AS constr, k.contype, k.conname, k.condeferrable,
		       t.relkind AS table_kind, t.relreplident, tn.nspname,
		       CASE WHEN i.indisunique AND k.contype IS DISTINCT FROM 'x' THEN 'UNIQUE ' ELSE '' END AS uniq,
		       format('%I.%I', tn.nspname, t.relname) AS of_table,
		       format('%I', cn.nspname) AS schema,
		       named.new_name,
		       coalesce(obj_description(i.indexrelid, 'pg_class'), obj_description(k.oid, 'pg_constraint')) AS comment,
		       definition.items
		           || coalesce((SELECT format(' WITH (fillfactor=%s)', o.option_value)
		                        FROM pg_options_to_table(c.reloptions) o WHERE o.option_name = 'fillfactor'), '')
		           || coalesce((SELECT CASE WHEN k.contype = 'x' THEN ' USING INDEX' ELSE '' END || format(' TABLESPACE %I', s.spcname)
		                        FROM pg_tablespace s WHERE s.oid = c.reltablespace), '')
		           || e.ending AS tail
		FROM trees r
		     CROSS JOIN LATERAL (SELECT r.root AS oid, NULL::oid AS parent, 0 AS level
		                         UNION ALL
		                         SELECT q.relid, q.parentrelid, q.level FROM pg_partition_tree(r.root) q WHERE q.level > 0) p
		     JOIN pg_index i ON i.indexrelid = p.oid
		     JOIN pg_class c ON c.oid = p.oid
		     JOIN pg_namespace cn ON cn.oid = c.relnamespace
		     JOIN pg_class t ON t.oid = i.indrelid
		     JOIN pg_namespace tn ON tn.oid = t.relnamespace
		     LEFT JOIN pg_constraint k ON k.conindid = p.oid AND k.conrelid = t.oid AND k.contype IN ('p', 'u', 'x')
		     -- What the server writes is taken apart at texts that are known in
		     -- full, from both ends; options of a btree hold no parentheses.
		     CROSS JOIN LATERAL (SELECT pg_get_expr(i.indpred, i.indrelid) AS pred) w
		     CROSS JOIN LATERAL (
			SELECT CASE WHEN k.contype = 'x'
			            THEN coalesce(format(' WHERE (%s)', w.pred), '')
			                 || CASE WHEN k.condeferrable THEN ' DEFERRABLE' ELSE '' END
			                 || CASE WHEN k.condeferred THEN ' INITIALLY DEFERRED' ELSE '' END
			            ELSE coalesce(' WHERE ' || w.pred, '') END AS ending,
			       CASE WHEN k.contype = 'x' THEN pg_get_constraintdef(k.oid) ELSE pg_get_indexdef(p.oid) END AS def,
			       CASE WHEN k.contype = 'x' THEN 'EXCLUDE USING btree '
			            ELSE format('CREATE %sINDEX %I ON %s%I.%I USING btree ',
			                        CASE WHEN i.indisunique THEN 'UNIQUE ' ELSE '' END, c.relname,
			                        CASE WHEN c.relkind = 'I' THEN 'ONLY ' ELSE '' END, tn.nspname, t.relname) END AS head) e
		     CROSS JOIN LATERAL (
			SELECT regexp_replace(substr(left(e.def, length(e.def) - length(e.ending)), length(e.head) + 1),
			                      CASE WHEN c.reloptions IS NULL THEN '$' ELSE ' WITH \([^()]*\)$' END, '') AS items) definition
		     -- "_fpb" behind the old name, or behind the beginning of it and the
		     -- OID, with a number, so that no two of the names made here are equal
		     CROSS JOIN LATERAL (
			SELECT v.name AS new_name
			FROM generate_series(0, 100) n,
			     LATERAL (SELECT CASE WHEN n = 0 THEN c.relname || '_fpb'
			                          ELSE format('%s_%s_fpb%s',
			                                      (SELECT left(c.relname::text, max(m)) FROM generate_series(0, 40) m
			                                       WHERE octet_length(left(c.relname::text, m)) <= 40), p.oid, n) END) v (name)
			WHERE octet_length(v.name) < 64
			      AND NOT EXISTS (SELECT FROM pg_class o WHERE o.relname = v.name AND o.relnamespace = c.relnamespace)
			      AND NOT EXISTS (SELECT FROM pg_constraint o WHERE o.conname = v.name AND o.conrelid = t.oid)
			ORDER BY n LIMIT 1) named
	-- the statements for each
	), steps AS (
		SELECT p.*,
		       CASE WHEN p.contype = 'x'
		            THEN ARRAY[format('ALTER TABLE %s ADD CONSTRAINT %I EXCLUDE USING fpbtree %s', p.of_table, p.new_name, p.tail)]
		            ELSE ARRAY[format('CREATE %sINDEX %s%I ON %s%s USING fpbtree %s', p.uniq,
		                              CASE WHEN p.relkind = 'i' THEN 'CONCURRENTLY ' ELSE '' END, p.new_name,
		                              CASE WHEN p.relkind = 'I' THEN 'ONLY ' ELSE '' END, p.of_table, p.tail)]
		                 || CASE WHEN p.parent IS NOT NULL
		                         THEN ARRAY[format('ALTER INDEX %s.%I ATTACH PARTITION %s.%I', o.schema, o.new_name, p.schema, p.new_name)]
		                    END END
		           || (SELECT array_agg(format('ALTER INDEX %s.%I ALTER COLUMN %s SET STATISTICS %s',
		                                       p.schema, p.new_name, a.attnum, a.attstattarget) ORDER BY a.attnum)
		               FROM pg_attribute a WHERE a.attrelid = p.indexrelid AND a.attstattarget >= 0)
		           || CASE WHEN p.comment IS NOT NULL
		                   THEN ARRAY[format('COMMENT ON INDEX %s.%I IS %L', p.schema, p.new_name, p.comment)] END
		           || CASE WHEN p.indexprs IS NOT NULL AND p.relkind = 'i' THEN ARRAY['ANALYZE ' || p.of_table] END AS make,
		       -- what the table knows an index by, before the old one goes
		       CASE WHEN p.indisreplident OR p.contype = 'p' AND p.relreplident = 'd'
		            THEN ARRAY[format('ALTER TABLE %s REPLICA IDENTITY USING INDEX %I', p.of_table, p.new_name)] END
		           || CASE WHEN p.indisclustered
		                   THEN ARRAY[format('ALTER TABLE %s CLUSTER ON %I', p.of_table, p.new_name)] END AS mark,
		       CASE WHEN p.contype = 'x'
		            THEN format('ALTER TABLE %s RENAME CONSTRAINT %I TO %I', p.of_table, p.new_name, p.conname)
		            ELSE format('ALTER INDEX %s.%I RENAME TO %I', p.schema, p.new_name, p.relname) END AS rename
		FROM parts p
		     LEFT JOIN parts o ON o.indexrelid = p.parent
		-- a constraint takes those of the partitions along
		WHERE NOT (p.contype IS NOT DISTINCT FROM 'x' AND p.level > 0)
	), scripts AS (
		SELECT s.root, bool_or(s.indisclustered) AS clustered, bool_or(s.indisreplident OR s.contype = 'p') AS identifies,
		       array_agg(m.statement ORDER BY s.level, s.indexrelid, m.n) FILTER (WHERE m.what = 'make') AS make,
		       array_agg(m.statement ORDER BY s.level, s.indexrelid, m.n) FILTER (WHERE m.what = 'mark') AS mark,
		       array_agg(m.statement ORDER BY s.level, s.indexrelid, m.n) FILTER (WHERE m.what = 'rename') AS rename
		FROM steps s
		     CROSS JOIN LATERAL (SELECT 'make', u.* FROM unnest(s.make) WITH ORDINALITY u
		                         UNION ALL SELECT 'mark', u.* FROM unnest(s.mark) WITH ORDINALITY u
		                         UNION ALL SELECT 'rename', s.rename, 1) m (what, statement, n)
		GROUP BY s.root
	), judged AS (
		SELECT r.*, t.*, p.indexrelid, p.indrelid,
		       -- insertions that an operation queue is for: of random keys, into an
		       -- index that is not in memory
		       CASE WHEN NOT p.indisunique AND r.expected >= buffers / 4 AND abs(coalesce(s.correlation, 0)) < 0.9
		            THEN r.inserts + r.updates - r.hot_updates ELSE 0 END AS queued,
		       -- who could not do without it
		       d.dependents,
		       p.contype, p.conname, p.condeferrable, p.of_table, p.schema, p.relname, p.relkind, p.table_kind, p.indisunique,
		       s.n_distinct > 0 AND p.indnkeyatts > 1 AND s.n_distinct < r.size / current_setting('block_size')::bigint / 3 AS skips,
		       -- operator classes that btree has
		       (SELECT array_agg(DISTINCT format('SELECT %s.fpbtree_clone_opclass(%L)', own_schema,
		                                         format('%I.%I', n.nspname, b.opcname)))
		        FROM unnest(p.indclass) o
		             JOIN pg_opclass b ON b.oid = o
		             JOIN pg_namespace n ON n.oid = b.opcnamespace
		        WHERE NOT EXISTS (SELECT FROM pg_opclass f JOIN pg_am a ON a.oid = f.opcmethod AND a.amname = 'fpbtree'
		                          WHERE f.opcname = b.opcname AND f.opcnamespace = b.opcnamespace)) AS classes
		FROM trees r
		     JOIN scripts t USING (root)
		     JOIN parts p ON p.indexrelid = r.root
		     JOIN pg_class c ON c.oid = p.indrelid
		     JOIN pg_attribute a ON a.attrelid = CASE WHEN p.indkey[0] = 0 THEN p.indexrelid ELSE p.indrelid END
		                            AND a.attnum = CASE WHEN p.indkey[0] = 0 THEN 1 ELSE p.indkey[0] END
		     LEFT JOIN LATERAL (SELECT v.correlation, v.n_distinct
		                        FROM pg_stats v
		                        WHERE v.schemaname = p.nspname
		                              AND v.tablename = CASE WHEN p.indkey[0] = 0 THEN p.relname ELSE c.relname END
		                              AND v.attname = a.attname
		                        ORDER BY v.inherited DESC LIMIT 1) s ON true
		     CROSS JOIN LATERAL (
			SELECT string_agg(DISTINCT pg_describe_object(d.classid, d.objid, d.objsubid), ', ') AS dependents
			FROM parts q
			     JOIN pg_depend d ON (d.refclassid, d.refobjid) IN (('pg_class'::regclass, q.indexrelid),
			                                                        ('pg_constraint'::regclass, q.constr))
			     LEFT JOIN pg_constraint f ON d.classid = 'pg_constraint'::regclass AND f.oid = d.objid
			WHERE q.root = r.root AND d.deptype = 'n' AND coalesce(f.conparentid, 0) = 0) d
	)
	SELECT j.indexrelid::regclass, j.indrelid::regclass, j.size, j.expected, j.scans, j.tuples_read,
	       j.inserts, j.updates, j.hot_updates, g.reason,
	       nullif(concat_ws('; ',
	                 CASE WHEN j.contype IN ('p', 'u')
	                      THEN format('%s %I: a unique index takes its place, but not for %sON CONFLICT ON CONSTRAINT',
	                                  CASE j.contype WHEN 'p' THEN 'the primary key' ELSE 'the unique constraint' END, j.conname,
	                                  CASE j.contype WHEN 'p' THEN 'GROUP BY and ' END) END,
	                 CASE WHEN j.contype IN ('p', 'u') AND j.condeferrable THEN 'its being deferrable' END,
	                 CASE WHEN j.contype = 'x' THEN 'no writing to the table while it is made' END,
	                 j.dependents || CASE WHEN is_17 THEN ': it has to stay for these' ELSE ': it has to stay until they go' END,
	                 CASE WHEN is_17 AND j.indisunique AND j.table_kind = 'r' THEN 'INSERT ... ON CONFLICT into the table' END,
	                 CASE WHEN is_17 AND j.indisunique AND j.table_kind = 'm' THEN 'REFRESH MATERIALIZED VIEW CONCURRENTLY' END,
	                 CASE WHEN is_17 AND j.identifies THEN 'replica identity on a subscriber' END,
	                 CASE WHEN j.clustered THEN 'CLUSTER by sorting' END,
	                 CASE WHEN j.skips AND NOT is_17 THEN 'skip scans: the first column has few values' END), ''),
	       j.classes || j.make,
	       CASE WHEN j.dependents IS NULL AND NOT coalesce(j.contype <> 'x' AND j.condeferrable, false)
	            THEN j.mark
	                 || CASE WHEN j.contype IS NOT NULL THEN format('ALTER TABLE %s DROP CONSTRAINT %I', j.of_table, j.conname)
	                         WHEN j.relkind = 'I' THEN format('DROP INDEX %s.%I', j.schema, j.relname)
	                         ELSE format('DROP INDEX CONCURRENTLY %s.%I', j.schema, j.relname) END
	                 || j.rename END
	FROM judged j
	     CROSS JOIN LATERAL (
		SELECT concat_ws('; ',
		                 CASE WHEN j.queued > 0 THEN 'random insertions into more than memory holds wait in an operation queue' END,
		                 CASE WHEN j.tuples_read > 100 * j.scans AND j.size + j.table_size > buffers
		                      THEN format('scans of %s rows read ahead', j.tuples_read / j.scans) END,
		                 CASE WHEN j.scans > 0 AND j.tuples_read <= 100 * j.scans THEN 'lookups wait less for memory' END,
		                 CASE WHEN j.expected < j.size * 0.95
		                      THEN format('%s%% smaller', round(100 * (1 - j.expected::numeric / j.size))) END) AS reason) g
	WHERE g.reason <> ''
	ORDER BY j.queued DESC, j.scans DESC, j.size - j.expected DESC, j.indexrelid;
END
$function$;

COMMENT ON FUNCTION fpbtree_advise(bigint) IS
  'btree indexes that would gain from being fpbtree, and how they become it';

-- They read whole tables, and tell how full and how frequent things are, but
-- show keys only to those who may select them.
REVOKE ALL ON FUNCTION fpbtree_clone_opclass(text) FROM PUBLIC;
REVOKE ALL ON FUNCTION fpbtree_check(regclass, boolean) FROM PUBLIC;
REVOKE ALL ON FUNCTION fpbtree_damage(regclass, boolean) FROM PUBLIC;
REVOKE ALL ON FUNCTION fpbtree_stats(regclass) FROM PUBLIC;
REVOKE ALL ON FUNCTION fpbtree_page(regclass, bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION fpbtree_nodes(regclass, bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION fpbtree_prefetch_stats(regclass) FROM PUBLIC;
REVOKE ALL ON FUNCTION fpbtree_queue_advice(regclass, float8) FROM PUBLIC;
REVOKE ALL ON FUNCTION fpbtree_expected_size(regclass) FROM PUBLIC;
REVOKE ALL ON FUNCTION fpbtree_advise(bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION fpbtree_tune(bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION fpbtree_tune_reset() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION fpbtree_check(regclass, boolean) TO pg_stat_scan_tables;
GRANT EXECUTE ON FUNCTION fpbtree_damage(regclass, boolean) TO pg_stat_scan_tables;
GRANT EXECUTE ON FUNCTION fpbtree_stats(regclass) TO pg_stat_scan_tables;
GRANT EXECUTE ON FUNCTION fpbtree_page(regclass, bigint) TO pg_stat_scan_tables;
GRANT EXECUTE ON FUNCTION fpbtree_nodes(regclass, bigint) TO pg_stat_scan_tables;
GRANT EXECUTE ON FUNCTION fpbtree_prefetch_stats(regclass) TO pg_stat_scan_tables;
GRANT EXECUTE ON FUNCTION fpbtree_queue_advice(regclass, float8) TO pg_stat_scan_tables;
GRANT EXECUTE ON FUNCTION fpbtree_expected_size(regclass) TO pg_stat_scan_tables;
GRANT EXECUTE ON FUNCTION fpbtree_advise(bigint) TO pg_stat_scan_tables;
