-- Rows in random order, a fifth as many as there are, by one statement; then the same without the index, to tell the index's own part.
SELECT scaled(2000000 * :scale) AS rows \gset
CREATE TABLE bulk (a int8);
INSERT INTO bulk SELECT hashint8extended(i, 1) FROM generate_series(1, :rows) i;
CREATE INDEX bulk_a ON bulk USING :am (a);
CREATE TABLE more AS SELECT hashint8extended(i, 2) AS a FROM generate_series(1, :rows / 5) i;
VACUUM ANALYZE bulk, more;
CHECKPOINT;
SET fpbtree.insert_batch_size = '4MB';
SELECT clock_timestamp() AS t0 \gset
INSERT INTO bulk SELECT a FROM more;
SELECT extract(epoch FROM clock_timestamp() - :'t0') * 1000 AS whole \gset
SELECT pg_relation_size('bulk_a') / current_setting('block_size')::int AS pages \gset
DROP INDEX bulk_a;
SELECT clock_timestamp() AS t0 \gset
INSERT INTO bulk SELECT a FROM more;
SELECT extract(epoch FROM clock_timestamp() - :'t0') * 1000 AS bare \gset
DROP TABLE bulk, more;

SELECT 'time_ms', :whole;
SELECT 'index_alone_ms', :whole - :bare;
SELECT 'size_afterwards_pages', :pages;
