-- Touches all buffers after a restart: the kernel's clearing of their memory is not what is measured.
-- For the same reason the cold workloads read a row before their time begins: of the catalogs, they need much the same.
\o /dev/null
SELECT pg_prewarm('filler');
