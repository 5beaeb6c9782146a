-- Nested-loop index-only join with keys in random order, all cached.
\set index rows_ :am _a
\set table rows_ :am
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET enable_bitmapscan = off;
SET enable_memoize = off;
SET enable_material = off;
SET enable_seqscan = on;
SELECT assert_plan('SELECT count(*) FROM probes JOIN ' || :'table' || ' USING (a)', 'Index Only Scan using ' || :'index') \gset
SELECT clock_timestamp() AS t0 \gset
SELECT 'answer', count(*) FROM probes JOIN :table USING (a);
SELECT 'time_ms', extract(epoch FROM clock_timestamp() - :'t0') * 1000;
