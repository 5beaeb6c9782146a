-- Indexes grown by random inserts, so that neighbours in the order of the keys are not neighbours in the file; and a
-- table to fill buffers with.
SELECT scaled(5000000 * :scale) AS rows \gset
CREATE EXTENSION pg_prewarm;
CREATE TABLE cold_btree (a int8, i int);
CREATE TABLE cold_fpbtree (a int8, i int);
CREATE INDEX cold_btree_a ON cold_btree USING btree (a);
CREATE INDEX cold_fpbtree_a ON cold_fpbtree USING fpbtree (a);
INSERT INTO cold_btree SELECT hashint8extended(i, 0), i FROM generate_series(1, :rows) i;
INSERT INTO cold_fpbtree SELECT hashint8extended(i, 0), i FROM generate_series(1, :rows) i;
CREATE TABLE filler AS SELECT i, repeat('x', 900) AS x FROM generate_series(1, 290000) i;
VACUUM (FREEZE, ANALYZE) cold_btree, cold_fpbtree, filler;
CREATE TABLE cold_vacuum_btree AS SELECT * FROM cold_btree;
CREATE TABLE cold_vacuum_fpbtree AS SELECT * FROM cold_btree;
CREATE INDEX cold_vacuum_btree_a ON cold_vacuum_btree USING btree (a);
CREATE INDEX cold_vacuum_fpbtree_a ON cold_vacuum_fpbtree USING fpbtree (a);
INSERT INTO cold_vacuum_btree SELECT hashint8extended(i, 5), -i FROM generate_series(1, :rows / 2) i;
INSERT INTO cold_vacuum_fpbtree SELECT hashint8extended(i, 5), -i FROM generate_series(1, :rows / 2) i;
VACUUM (FREEZE, ANALYZE) cold_vacuum_btree, cold_vacuum_fpbtree;
CHECKPOINT;
