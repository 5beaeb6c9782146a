-- Keys that are there, in random order, a tenth as many as there are rows.
CREATE TABLE probes AS SELECT a FROM rows_btree WHERE i % 10 = 0 ORDER BY random();
VACUUM (FREEZE, ANALYZE) probes;
