-- VACUUM of a cold index grown by random inserts, a thousandth of whose entries are dead.  The table's own share is
-- small: the dead rows are next to each other.
\set table cold_vacuum_ :am
DELETE FROM :table WHERE ctid = ANY(ARRAY(SELECT format('(%s,%s)', p, l)::tid FROM generate_series(:pair * 100, :pair * 100 + 40) p, generate_series(1, 100) l));
CHECKPOINT;
SELECT pg_prewarm('filler') AS touched \gset
SELECT clock_timestamp() AS t0 \gset
VACUUM (INDEX_CLEANUP ON, PARALLEL 0) :table;
SELECT 'time_ms', extract(epoch FROM clock_timestamp() - :'t0') * 1000;
