/* fpbtree--1.0--1.0-pg19.sql */

-- complain if script is sourced in psql, rather than via ALTER EXTENSION
\echo Use "ALTER EXTENSION fpbtree UPDATE" to load this file. \quit

-- Those of the btree operator classes which the extension has not, as they came
-- with a later server than it was made on.  A class of the same name and type
-- that somebody has made meanwhile stays, and so does a default one.
SELECT pg_catalog.count(fpbtree_clone_opclass(pg_catalog.format('pg_catalog.%I', opcname)))
FROM (SELECT c.opcname
      FROM pg_catalog.pg_opclass c
           JOIN pg_catalog.pg_am a ON a.oid OPERATOR(pg_catalog.=) c.opcmethod
      WHERE a.amname OPERATOR(pg_catalog.=) 'btree'::pg_catalog.name
            AND c.opcnamespace OPERATOR(pg_catalog.=) 'pg_catalog'::pg_catalog.regnamespace::pg_catalog.oid
            AND NOT EXISTS (SELECT
                            FROM pg_catalog.pg_opclass o
                                 JOIN pg_catalog.pg_am f ON f.oid OPERATOR(pg_catalog.=) o.opcmethod
                            WHERE f.amname OPERATOR(pg_catalog.=) 'fpbtree'::pg_catalog.name
                                  AND o.opcintype OPERATOR(pg_catalog.=) c.opcintype
                                  AND (o.opcname OPERATOR(pg_catalog.=) c.opcname OR (o.opcdefault AND c.opcdefault)))
      ORDER BY c.oid) AS btree;
