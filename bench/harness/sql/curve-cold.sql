-- One range of a cold index, of so many entries: prints the time it takes, in milliseconds.
\set table cold_ :am
\o /dev/null
SET enable_seqscan = off;
SET enable_bitmapscan = off;
LOAD 'fpbtree';
SET fpbtree.prefetch_distance = :distance;
SET fpbtree.heap_prefetch_distance = :distance;
SELECT (hashint8extended(:pair, 78) >> 2) - 4611686018427387904 AS start,
    scaled(5000000 * :scale) AS rows, :entries >= scaled(5000000 * :scale) / 4 AS large \gset
SELECT CASE WHEN :'large' THEN -9223372036854775807 ELSE :start END AS start,
    CASE WHEN :'large' THEN least(9223372036854775807, -9223372036854775807 + 18446744073709551614::numeric / :rows * :entries)
        ELSE :start + 18446744073709551614::numeric / :rows * :entries END::int8 AS stop \gset
SELECT count(i) AS ready FROM :table WHERE a = 5 \gset
SELECT clock_timestamp() AS t0 \gset
SELECT :columns FROM :table WHERE a BETWEEN :start AND :stop;
\o
SELECT 'time_ms', round(extract(epoch FROM clock_timestamp() - :'t0') * 1000, 3);
