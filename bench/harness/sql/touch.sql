-- Touches what is made anew by a restart and is not what is measured: the memory of all buffers, which the kernel has to
-- clear, and the extension's shared memory.  For the same reason the cold workloads read a row before their time begins:
-- of the catalogs, they need much the same.
\o /dev/null
SELECT pg_prewarm('filler');
SELECT * FROM fpbtree_prefetch_stats('cold_fpbtree_a');
