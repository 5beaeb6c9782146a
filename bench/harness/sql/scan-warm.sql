-- Index-only count over half of the index, all cached.
\set index rows_ :am _a
\set table rows_ :am
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SELECT assert_plan('SELECT count(*) FROM ' || :'table' || ' WHERE a > 0', 'Index Only Scan using ' || :'index') \gset
SELECT clock_timestamp() AS t0 \gset
SELECT 'answer', count(*) FROM :table WHERE a > 0;
SELECT 'time_ms', extract(epoch FROM clock_timestamp() - :'t0') * 1000;
