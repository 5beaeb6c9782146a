-- Index-only scan of all of an index grown by random inserts.
\set table cold_ :am
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SELECT assert_plan('SELECT count(*) FROM ' || :'table', 'Index Only Scan') \gset
SELECT count(i) AS ready FROM :table WHERE a = 5 \gset
\ir pages-read.sql
\set pages_before :pages_read
SELECT clock_timestamp() AS t0 \gset
SELECT 'answer', count(*) FROM :table;
SELECT 'time_ms', extract(epoch FROM clock_timestamp() - :'t0') * 1000;
\ir pages-read.sql
SELECT 'pages_read', :pages_read - :pages_before;
