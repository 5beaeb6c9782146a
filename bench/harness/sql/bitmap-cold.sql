-- The rows of heap-cold: fpbtree's index scan against btree's bitmap scan.
SELECT :'am' = 'btree' AS bitmap \gset
\if :bitmap
SET enable_indexscan = off;
\set plan 'Bitmap Heap Scan'
\else
SET enable_bitmapscan = off;
\set plan 'Index Scan using'
\endif
\ir random-rows-cold.sql
