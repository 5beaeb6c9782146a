-- The rows of heap-cold: fpbtree's index scan against btree's bitmap scan.
\set table cold_ :am
SET enable_seqscan = off;
SELECT :'am' = 'btree' AS bitmap \gset
\if :bitmap
SET enable_indexscan = off;
\else
SET enable_bitmapscan = off;
\endif
SELECT 9223372036854775807 / (scaled(5000000 * :scale) / 2) * least(8000, scaled(5000000 * :scale) / 2) AS top \gset
SELECT count(i) AS ready FROM :table WHERE a = 5 \gset
\ir pages-read.sql
\set pages_before :pages_read
SELECT clock_timestamp() AS t0 \gset
SELECT 'answer', sum(i) FROM :table WHERE a BETWEEN 0 AND :top;
SELECT 'time_ms', extract(epoch FROM clock_timestamp() - :'t0') * 1000;
\ir pages-read.sql
SELECT 'pages_read', :pages_read - :pages_before;
