-- CREATE INDEX on lookup's table, without a parallel worker and with one.
\set index rows_ :am _a
\set table rows_ :am
ALTER TABLE :table SET (parallel_workers = 1);

DROP INDEX :index;
CHECKPOINT;
SET max_parallel_maintenance_workers = 0;
SELECT clock_timestamp() AS t0 \gset
CREATE INDEX :index ON :table USING :am (a);
SELECT 'no_worker_ms', extract(epoch FROM clock_timestamp() - :'t0') * 1000;

DROP INDEX :index;
CHECKPOINT;
SET max_parallel_maintenance_workers = 1;
SELECT clock_timestamp() AS t0 \gset
CREATE INDEX :index ON :table USING :am (a);
SELECT 'one_worker_ms', extract(epoch FROM clock_timestamp() - :'t0') * 1000;
