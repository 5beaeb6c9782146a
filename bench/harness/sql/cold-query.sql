-- Runs :query, which has to be planned as :plan: prints its answer, the time it takes, and how many pages are read.
SELECT assert_plan(:'query', :'plan') \gset
SELECT count(i) AS ready FROM :table WHERE a = 5 \gset
\ir pages-read.sql
\set pages_before :pages_read
SELECT clock_timestamp() AS t0 \gset
SELECT 'answer', (:query);
SELECT 'time_ms', extract(epoch FROM clock_timestamp() - :'t0') * 1000;
\ir pages-read.sql
SELECT 'pages_read', :pages_read - :pages_before;
