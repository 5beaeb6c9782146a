-- The rows of 1,000 keys.
\set table cold_ :am
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SELECT array_agg(hashint8extended(i * (scaled(5000000 * :scale) / 1000), 0)) AS keys FROM generate_series(1, 1000) i \gset
\set plan 'Index Scan using'
\set query 'SELECT sum(i) FROM ' :table ' WHERE a = ANY(''' :keys '''::int8[])'
\ir cold-query.sql
