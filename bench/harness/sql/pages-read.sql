-- Sets pages_read: what all processes have read so far.  A process tells the others of its reads after a statement.
SELECT pg_stat_force_next_flush() \gset
SELECT :SERVER_VERSION_NUM >= 180000 AS in_bytes \gset
\if :in_bytes
SELECT sum(read_bytes)::int8 / current_setting('block_size')::int AS pages_read FROM pg_stat_io \gset
\else
SELECT sum(reads) AS pages_read FROM pg_stat_io \gset
\endif
