-- VACUUM of a cold index grown by random inserts, a thousandth of whose entries are dead.  The table's own share is
-- small: the dead rows are next to each other, the first that are left.  (It is an error if there are none any more.)
\set table cold_vacuum_ :am
SET synchronize_seqscans = off;
SELECT split_part(btrim(ctid::text, '('), ',', 1)::int + 41 AS page FROM :table LIMIT 1 \gset
WITH deleted AS (DELETE FROM :table WHERE ctid < ('(' || :page || ',0)')::tid RETURNING i)
    SELECT 'answer', count(*) / least(count(*), 1) FROM deleted;
CHECKPOINT;
SELECT pg_prewarm('filler') AS touched \gset
SELECT clock_timestamp() AS t0 \gset
VACUUM (INDEX_CLEANUP ON, PARALLEL 0) :table;
SELECT 'time_ms', extract(epoch FROM clock_timestamp() - :'t0') * 1000;
