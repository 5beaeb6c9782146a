-- The rows of 1,000 keys.
\set table cold_ :am
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SELECT array_agg(hashint8extended(i * (scaled(5000000 * :scale) / 1000), 0)) AS keys FROM generate_series(1, 1000) i \gset
SELECT count(i) AS ready FROM :table WHERE a = 5 \gset
\ir pages-read.sql
\set pages_before :pages_read
SELECT clock_timestamp() AS t0 \gset
SELECT 'answer', sum(i) FROM :table WHERE a = ANY(:'keys'::int8[]);
SELECT 'time_ms', extract(epoch FROM clock_timestamp() - :'t0') * 1000;
\ir pages-read.sql
SELECT 'pages_read', :pages_read - :pages_before;
