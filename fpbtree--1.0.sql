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

-- What fpbtree_tune has measured, in nanoseconds; CREATE INDEX takes the
-- fastest design that agrees with the index's parameters.
CREATE TABLE fpbtree_tuning (
	form text,
	layout text,
	node_format text,
	leaf_lines integer,
	node_search text DEFAULT 'counting',
	node_prefetch boolean DEFAULT true,
	lookup_ns float8 NOT NULL CHECK (lookup_ns OPERATOR(pg_catalog.>) 0::pg_catalog.float8
		AND lookup_ns OPERATOR(pg_catalog.<) 'Infinity'::pg_catalog.float8),
	insert_ns float8 NOT NULL CHECK (insert_ns OPERATOR(pg_catalog.>) 0::pg_catalog.float8
		AND insert_ns OPERATOR(pg_catalog.<) 'Infinity'::pg_catalog.float8),
	scan_ns float8 NOT NULL CHECK (scan_ns OPERATOR(pg_catalog.>) 0::pg_catalog.float8
		AND scan_ns OPERATOR(pg_catalog.<) 'Infinity'::pg_catalog.float8),
	usual boolean NOT NULL DEFAULT false, -- what an index is without figures
	PRIMARY KEY (form, layout, node_format, leaf_lines, node_search, node_prefetch)) USING heap;

COMMENT ON TABLE fpbtree_tuning IS
  'how fast fpbtree indexes of each form of keys and design are on this machine';

GRANT SELECT ON fpbtree_tuning TO PUBLIC;
SELECT pg_catalog.pg_extension_config_dump('fpbtree_tuning', '');

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
REVOKE ALL ON FUNCTION fpbtree_tune(bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION fpbtree_check(regclass, boolean) TO pg_stat_scan_tables;
GRANT EXECUTE ON FUNCTION fpbtree_damage(regclass, boolean) TO pg_stat_scan_tables;
GRANT EXECUTE ON FUNCTION fpbtree_stats(regclass) TO pg_stat_scan_tables;
GRANT EXECUTE ON FUNCTION fpbtree_page(regclass, bigint) TO pg_stat_scan_tables;
GRANT EXECUTE ON FUNCTION fpbtree_nodes(regclass, bigint) TO pg_stat_scan_tables;
GRANT EXECUTE ON FUNCTION fpbtree_prefetch_stats(regclass) TO pg_stat_scan_tables;
GRANT EXECUTE ON FUNCTION fpbtree_queue_advice(regclass, float8) TO pg_stat_scan_tables;
