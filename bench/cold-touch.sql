-- Touches all buffers after a restart: the kernel's clearing of their memory is not what is measured.
\o /dev/null
SELECT pg_prewarm('filler');
