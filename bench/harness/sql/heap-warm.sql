-- Index scan of rows in random order in the table, all cached.
\set table rows_ :am
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SELECT assert_plan('SELECT sum(i) FROM ' || :'table' || ' WHERE a BETWEEN 0 AND 100', 'Index Scan') \gset
SELECT clock_timestamp() AS t0 \gset
SELECT 'answer', sum(i) FROM :table WHERE a BETWEEN 0 AND 9223372036854775807 / 10;
SELECT 'time_ms', extract(epoch FROM clock_timestamp() - :'t0') * 1000;
