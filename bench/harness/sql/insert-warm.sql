-- Random inserts into an empty table with one index; then the same without the index, to tell the index's own cost.
SELECT scaled(2000000 * :scale) AS rows \gset
CREATE TABLE inserts (a int8);
CREATE INDEX inserts_a ON inserts USING :am (a);
CHECKPOINT;
SELECT clock_timestamp() AS t0 \gset
INSERT INTO inserts SELECT hashint8extended(i, 1) FROM generate_series(1, :rows) i;
SELECT extract(epoch FROM clock_timestamp() - :'t0') * 1000 AS whole \gset
SELECT pg_relation_size('inserts_a') / current_setting('block_size')::int AS pages \gset
DROP TABLE inserts;

CREATE TABLE inserts (a int8);
CHECKPOINT;
SELECT clock_timestamp() AS t0 \gset
INSERT INTO inserts SELECT hashint8extended(i, 1) FROM generate_series(1, :rows) i;
SELECT extract(epoch FROM clock_timestamp() - :'t0') * 1000 AS bare \gset
DROP TABLE inserts;

SELECT 'time_ms', :whole;
SELECT 'index_alone_ms', :whole - :bare;
SELECT 'size_afterwards_pages', :pages;
