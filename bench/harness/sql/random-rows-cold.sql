-- What heap-cold and bitmap-cold read, each in its way.
\set table cold_ :am
SET enable_seqscan = off;
SELECT 9223372036854775807 / (scaled(5000000 * :scale) / 2) * least(8000, scaled(5000000 * :scale) / 2) AS top \gset
\set query 'SELECT sum(i) FROM ' :table ' WHERE a BETWEEN 0 AND ' :top
\ir cold-query.sql
