-- sysbench's four tables, of :rows each.
SELECT format(statement, i, :rows) FROM generate_series(1, 4) i, unnest(ARRAY[
    $$CREATE TABLE sbtest%1$s (id serial, k int NOT NULL DEFAULT 0, c char(120) NOT NULL DEFAULT '', pad char(60) NOT NULL DEFAULT '')$$,
    $$INSERT INTO sbtest%1$s (k, c, pad) SELECT 1 + (hashint8extended(i, %1$s) & 2147483647) %% %2$s, repeat(digits || '-', 10), repeat(digits || '-', 5)
        FROM generate_series(1, %2$s) i, LATERAL (SELECT 10000000000 + (hashint8extended(i, 10 + %1$s) & 68719476735) AS digits) d$$,
    $$ALTER TABLE sbtest%1$s ADD PRIMARY KEY (id)$$,
    $$CREATE INDEX k_%1$s ON sbtest%1$s (k)$$]) WITH ORDINALITY statements(statement, n) ORDER BY i, n \gexec
