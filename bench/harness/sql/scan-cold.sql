-- Index-only scan of all of an index grown by random inserts.
\set table cold_ :am
SET enable_seqscan = off;
SET enable_bitmapscan = off;
\set plan 'Index Only Scan using'
\set query 'SELECT count(*) FROM ' :table
\ir cold-query.sql
