-- The table of lookup, scan-warm, heap-warm and build for each access method.
SELECT scaled(10000000 * :scale) AS rows \gset
CREATE TABLE rows_btree AS SELECT hashint8extended(i, 0) AS a, i FROM generate_series(1, :rows) i;
CREATE TABLE rows_fpbtree AS TABLE rows_btree;
VACUUM (FREEZE, ANALYZE) rows_btree, rows_fpbtree;
CREATE INDEX rows_btree_a ON rows_btree USING btree (a);
CREATE INDEX rows_fpbtree_a ON rows_fpbtree USING fpbtree (a);
CHECKPOINT;
