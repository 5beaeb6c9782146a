-- An index on so many random keys: nanoseconds an entry of CREATE INDEX, a lookup of a key that is there, an insertion.
\set table sized
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET enable_bitmapscan = off;
SET enable_memoize = off;
SET enable_material = off;
CHECKPOINT;
SELECT clock_timestamp() AS t0 \gset
CREATE INDEX sized_a ON sized USING :am (a);
SELECT extract(epoch FROM clock_timestamp() - :'t0') * 1e9 / :rows AS build \gset
SELECT assert_plan('SELECT count(*) FROM sized_probes JOIN sized USING (a)', 'Index Only Scan using sized_a') \gset
-- CREATE INDEX leaves nothing in the buffers
SELECT count(*) AS warm FROM sized_probes JOIN sized USING (a) \gset
SELECT clock_timestamp() AS t0 \gset
SELECT count(*) AS found FROM sized_probes JOIN sized USING (a) \gset
SELECT extract(epoch FROM clock_timestamp() - :'t0') * 1e9 / :found AS lookup \gset
CHECKPOINT;
-- the index is dropped below, so of these only dead rows remain
BEGIN;
SELECT clock_timestamp() AS t0 \gset
INSERT INTO sized SELECT hashint8extended(i, 100 + :pair) FROM generate_series(1, :inserts) i;
SELECT extract(epoch FROM clock_timestamp() - :'t0') * 1e9 / :inserts AS insertion \gset
ROLLBACK;
SELECT pg_relation_size('sized_a') AS size \gset
DROP INDEX sized_a;
VACUUM sized;
SELECT 'answer', :found;
SELECT 'build_ns', :build;
SELECT 'lookup_ns', :lookup;
SELECT 'insertion_ns', :insertion;
SELECT 'index_bytes', :size;
