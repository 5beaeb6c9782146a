-- VACUUM after deleting a tenth of the first rows, at random in the order of the index.
\set table vacuum_ :am
DELETE FROM :table WHERE i % 10 = :pair;
CHECKPOINT;
SELECT clock_timestamp() AS t0 \gset
VACUUM (INDEX_CLEANUP ON, PARALLEL 0) :table;
SELECT 'time_ms', extract(epoch FROM clock_timestamp() - :'t0') * 1000;
SELECT 'answer', count(*) FROM :table;
