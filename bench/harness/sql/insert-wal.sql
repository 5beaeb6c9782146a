-- Random inserts, a tenth of what is there at first, just after a checkpoint.
\set table wal_ :am
SELECT scaled(200000 * :scale) AS rows \gset
CHECKPOINT;
SELECT pg_current_wal_insert_lsn() AS l0, clock_timestamp() AS t0 \gset
INSERT INTO :table SELECT hashint8extended(i, 10 + :pair) FROM generate_series(1, :rows) i;
SELECT extract(epoch FROM clock_timestamp() - :'t0') * 1000 AS ms, pg_current_wal_insert_lsn() - :'l0' AS whole \gset
CHECKPOINT;
SELECT pg_current_wal_insert_lsn() AS l0 \gset
INSERT INTO wal_none SELECT hashint8extended(i, 10 + :pair) FROM generate_series(1, :rows) i;
SELECT pg_current_wal_insert_lsn() - :'l0' AS bare \gset
SELECT 'whole_wal', :whole;
SELECT 'index_alone_wal', :whole - :bare;
SELECT 'time_ms', :ms;
