-- Indexes grown by random inserts; a third table has none, to tell the table's own share of the WAL.
SELECT scaled(2000000 * :scale) AS rows \gset
CREATE TABLE wal_btree (a int8);
CREATE TABLE wal_fpbtree (a int8);
CREATE TABLE wal_none (a int8);
CREATE INDEX ON wal_btree USING btree (a);
CREATE INDEX ON wal_fpbtree USING fpbtree (a);
INSERT INTO wal_btree SELECT hashint8extended(i, 2) FROM generate_series(1, :rows) i;
INSERT INTO wal_fpbtree SELECT hashint8extended(i, 2) FROM generate_series(1, :rows) i;
