--
-- What the server does with a unique index that is no btree.
--
-- In 17 the server asks for btree by name in most of these places; 18 goes by
-- what the access method says it can do.  server.out is from 18, server_1.out
-- from 17.  The errors are the server's: docs/limits.md lists them.
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS fpbtree;
RESET client_min_messages;

CREATE TABLE served (a int NOT NULL, b int, c text);
CREATE UNIQUE INDEX served_a ON served USING fpbtree (a);
INSERT INTO served SELECT i, i, i FROM generate_series(1, 1000) i;

-- Uniqueness itself
INSERT INTO served VALUES (5, 0, 'again');

-- ON CONFLICT.  In 17, no use of it is possible on a table with a unique index
-- other than btree, whatever the arbiter.
INSERT INTO served VALUES (5, 0, 'again') ON CONFLICT DO NOTHING;
INSERT INTO served VALUES (5, 0, 'again'), (1001, 1001, 'new')
    ON CONFLICT (a) DO UPDATE SET c = excluded.c RETURNING *;
-- The operator class of an arbiter is looked up among btree's, even in 18.
INSERT INTO served VALUES (5, 0, 'again') ON CONFLICT (a int4_ops) DO NOTHING;
SELECT * FROM served WHERE a IN (5, 1001);

-- Foreign keys
CREATE TABLE serving (a int REFERENCES served (a) ON UPDATE CASCADE);
INSERT INTO serving VALUES (7);
INSERT INTO serving VALUES (-7);
UPDATE served SET a = -7 WHERE a = 7;
SELECT * FROM serving;
DELETE FROM served WHERE a = -7;

-- Constraints made of an index: btree only
ALTER TABLE served ADD CONSTRAINT served_pkey PRIMARY KEY USING INDEX served_a;
ALTER TABLE served ADD CONSTRAINT served_key UNIQUE USING INDEX served_a;

-- Exclusion constraints serve instead, also as deferrable ones.
ALTER TABLE served ADD CONSTRAINT served_b EXCLUDE USING fpbtree (b WITH =) DEFERRABLE;
INSERT INTO served VALUES (2000, 6);
BEGIN;
SET CONSTRAINTS served_b DEFERRED;
UPDATE served SET b = b + 1;
UPDATE served SET b = b - 1;
COMMIT;
BEGIN;
SET CONSTRAINTS served_b DEFERRED;
UPDATE served SET b = 8 WHERE a = 9;
COMMIT;
CREATE TABLE excluded_only (a int, EXCLUDE USING fpbtree (a WITH =));
INSERT INTO excluded_only VALUES (1), (2) ON CONFLICT DO NOTHING;
INSERT INTO excluded_only VALUES (2), (3) ON CONFLICT DO NOTHING;
SELECT * FROM excluded_only ORDER BY a;

-- REPLICA IDENTITY: taken by both, but a subscriber on 17 can't use it.
ALTER TABLE served REPLICA IDENTITY USING INDEX served_a;

-- Materialized views
CREATE MATERIALIZED VIEW served_mv AS SELECT a, b FROM served;
CREATE UNIQUE INDEX served_mv_a ON served_mv USING fpbtree (a);
UPDATE served SET b = -1 WHERE a = 10;
REFRESH MATERIALIZED VIEW CONCURRENTLY served_mv;
SELECT b FROM served_mv WHERE a = 10;
REFRESH MATERIALIZED VIEW served_mv;
SELECT b FROM served_mv WHERE a = 10;

-- CLUSTER: by scanning the index; sorting the table instead is for btree only.
UPDATE served SET c = 'moved' WHERE a < 10;
CLUSTER served USING served_a;
SELECT a FROM served LIMIT 3;

-- Unique indexes on partitioned tables
CREATE TABLE served_parts (a int, b int) PARTITION BY RANGE (a);
CREATE TABLE served_part1 PARTITION OF served_parts FOR VALUES FROM (0) TO (10);
CREATE UNIQUE INDEX ON served_parts USING fpbtree (a);
\set VERBOSITY sqlstate
CREATE UNIQUE INDEX ON served_parts USING fpbtree (b);
\set VERBOSITY default
CREATE INDEX ON served_parts USING fpbtree (b);

-- Row comparisons are for btree in 17.
SET enable_seqscan = off;
SET enable_bitmapscan = off;
CREATE INDEX served_ab ON served USING fpbtree (a, b);
ANALYZE served;
SELECT a FROM served WHERE (a, b) > (998, 998) ORDER BY a;
SELECT count(*) FROM served WHERE (a, b) > (998, 998) AND a >= 998;		-- for 17
EXPLAIN (COSTS OFF) SELECT a FROM served WHERE (a, b) > (998, 998) AND a >= 998;
RESET enable_seqscan;
RESET enable_bitmapscan;

SET client_min_messages = warning;
DROP TABLE IF EXISTS served, serving, excluded_only, served_parts CASCADE;
