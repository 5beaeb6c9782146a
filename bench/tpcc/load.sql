-- The rows that the standard begins with (4.3.3), of :warehouses, with :items
-- and, in each district, :customers.  What is random there is made of hashes
-- here, so that every load makes the same rows in the same order; strings are
-- of hexadecimal digits.
SET max_parallel_workers_per_gather = 0;
SET synchronous_commit = off;

-- what: another number for each thing that is drawn for a key
CREATE FUNCTION drawn(key bigint, what int, low int, high int) RETURNS int LANGUAGE sql IMMUTABLE AS $$
	SELECT low + ((hashint8extended(key, what) & 2147483647) % (high - low + 1))::int $$;
CREATE FUNCTION string(key bigint, what int, low int, high int) RETURNS text LANGUAGE sql IMMUTABLE AS $$
	SELECT left(repeat(md5(key || '/' || what), high / 32 + 1), drawn(key, what, low, high)) $$;
CREATE FUNCTION zip(key bigint) RETURNS text LANGUAGE sql IMMUTABLE AS $$
	SELECT lpad(drawn(key, 9, 0, 9999)::text, 4, '0') || '11111' $$;
-- a tenth of them have "ORIGINAL" somewhere (4.3.3.1)
CREATE FUNCTION data(key bigint) RETURNS text LANGUAGE sql IMMUTABLE AS $$
	SELECT CASE WHEN drawn(key, 10, 1, 10) = 1 THEN overlay(text PLACING 'ORIGINAL' FROM drawn(key, 11, 1, 19)) ELSE text END
	FROM string(key, 12, 26, 50) text $$;

INSERT INTO item
SELECT i, drawn(i, 1, 1, 10000), string(i, 2, 14, 24), drawn(i, 3, 100, 10000) / 100.0, data(i)
FROM generate_series(1, :items) i;

INSERT INTO warehouse
SELECT w, string(w, 1, 6, 10), string(w, 2, 10, 20), string(w, 3, 10, 20), string(w, 4, 10, 20), string(w, 5, 2, 2),
	zip(w), drawn(w, 6, 0, 2000) / 10000.0, 100 * :customers
FROM generate_series(1, :warehouses) w;

INSERT INTO stock
SELECT i, w, drawn(n, 1, 10, 100), string(n, 2, 24, 24), string(n, 3, 24, 24), string(n, 4, 24, 24),
	string(n, 5, 24, 24), string(n, 6, 24, 24), string(n, 7, 24, 24), string(n, 8, 24, 24), string(n, 9, 24, 24),
	string(n, 10, 24, 24), string(n, 11, 24, 24), 0, 0, 0, data(-n)
FROM generate_series(0, :warehouses * :items - 1) n, LATERAL (SELECT n / :items + 1 AS w, n % :items + 1 AS i) numbers;

INSERT INTO district
SELECT n % 10 + 1, n / 10 + 1, string(n, 21, 6, 10), string(n, 22, 10, 20), string(n, 23, 10, 20),
	string(n, 24, 10, 20), string(n, 25, 2, 2), zip(n), drawn(n, 26, 0, 2000) / 10000.0, 10 * :customers, :customers + 1
FROM generate_series(0, :warehouses * 10 - 1) n;

-- the first thousand of a district have all the names, one each
INSERT INTO customer
SELECT c, d, w, string(n, 1, 8, 16), 'OE',
	last_name(CASE WHEN c <= 1000 THEN c - 1 ELSE ((drawn(n, 2, 0, 255) | drawn(n, 3, 0, 999)) + 123) % 1000 END),
	string(n, 4, 10, 20), string(n, 5, 10, 20), string(n, 6, 10, 20), string(n, 7, 2, 2), zip(n),
	lpad(drawn(n, 8, 0, 2147483646)::text, 16, '0'), '2026-01-01', CASE WHEN drawn(n, 10, 1, 10) = 1 THEN 'BC' ELSE 'GC' END,
	50000, drawn(n, 11, 0, 5000) / 10000.0, -10, 10, 1, 0, string(n, 12, 300, 500)
FROM generate_series(0, :warehouses * 10 * :customers - 1) n,
	LATERAL (SELECT n / :customers / 10 + 1 AS w, n / :customers % 10 + 1 AS d, n % :customers + 1 AS c) numbers;

INSERT INTO history
SELECT c_id, c_d_id, c_w_id, c_d_id, c_w_id, '2026-01-01', 10, left(c_data, 12 + c_id % 13) FROM customer;

-- an order of each customer, in any order; of ten the last three are new
INSERT INTO orders
SELECT o_id, d, w, c, '2026-01-01', CASE WHEN o_id <= :customers * 7 / 10 THEN drawn(n, 22, 1, 10) END,
	drawn(n, 23, 5, 15), 1
FROM (SELECT n, w, d, c, row_number() OVER (PARTITION BY w, d ORDER BY hashint8extended(n, 21)) AS o_id
	FROM generate_series(0, :warehouses * 10 * :customers - 1) n,
		LATERAL (SELECT n / :customers / 10 + 1 AS w, n / :customers % 10 + 1 AS d, n % :customers + 1 AS c) numbers) o;

INSERT INTO new_order SELECT o_id, o_d_id, o_w_id FROM orders WHERE o_carrier_id IS NULL;

INSERT INTO order_line
SELECT o_id, o_d_id, o_w_id, l, drawn(n, 31, 1, :items), o_w_id, CASE WHEN o_carrier_id IS NOT NULL THEN o_entry_d END, 5,
	CASE WHEN o_carrier_id IS NOT NULL THEN 0 ELSE drawn(n, 32, 1, 999999) / 100.0 END, string(n, 33, 24, 24)
FROM orders, generate_series(1, o_ol_cnt) l,
	LATERAL (SELECT ((o_w_id * 10 + o_d_id) * :customers::bigint + o_id) * 16 + l AS n) numbers;

DROP FUNCTION data, zip, string, drawn;
\ir indexes.sql
VACUUM (FREEZE, ANALYZE);

-- what has been loaded, to be compared
CREATE TABLE loaded AS
SELECT 'warehouse' AS name, count(*) AS rows, sum(hashtextextended(t::text, 0)) AS checksum FROM warehouse t
UNION ALL SELECT 'district', count(*), sum(hashtextextended(t::text, 0)) FROM district t
UNION ALL SELECT 'customer', count(*), sum(hashtextextended(t::text, 0)) FROM customer t
UNION ALL SELECT 'history', count(*), sum(hashtextextended(t::text, 0)) FROM history t
UNION ALL SELECT 'new_order', count(*), sum(hashtextextended(t::text, 0)) FROM new_order t
UNION ALL SELECT 'orders', count(*), sum(hashtextextended(t::text, 0)) FROM orders t
UNION ALL SELECT 'order_line', count(*), sum(hashtextextended(t::text, 0)) FROM order_line t
UNION ALL SELECT 'item', count(*), sum(hashtextextended(t::text, 0)) FROM item t
UNION ALL SELECT 'stock', count(*), sum(hashtextextended(t::text, 0)) FROM stock t;
CHECKPOINT;
