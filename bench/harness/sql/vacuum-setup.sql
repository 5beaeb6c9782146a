-- Tables of their own, as the rows go.
SELECT scaled(5000000 * :scale) AS rows \gset
CREATE TABLE vacuum_btree AS SELECT hashint8extended(i, 3) AS a, i FROM generate_series(1, :rows) i;
CREATE TABLE vacuum_fpbtree AS TABLE vacuum_btree;
CREATE INDEX ON vacuum_btree USING btree (a);
CREATE INDEX ON vacuum_fpbtree USING fpbtree (a);
VACUUM (ANALYZE) vacuum_btree, vacuum_fpbtree;
