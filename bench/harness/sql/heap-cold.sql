-- Index scan of 8,000 rows that lie in random order in the table.
SET enable_bitmapscan = off;
\set plan 'Index Scan using'
\ir random-rows-cold.sql
