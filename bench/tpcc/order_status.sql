-- Order-Status (2.6): the last order of a customer, known by his last name in
-- 60 of 100.
\set w_id random(1, :warehouses)
\set d_id random(1, 10)
BEGIN;
\if random(1, 100) <= 60
\set name ((random(0, 255) | random(0, :names - 1)) + 223) % :names
SELECT c_id, c_first, c_middle, c_balance
	FROM (SELECT *, row_number() OVER (ORDER BY c_first) AS n, count(*) OVER () AS all_of_them FROM customer
		WHERE c_w_id = :w_id AND c_d_id = :d_id AND c_last = last_name(:name)) c
	WHERE n = (all_of_them + 1) / 2 \gset
\else
\set c_id ((random(0, 1023) | random(1, :customers)) + 259) % :customers + 1
SELECT c_first, c_middle, c_last, c_balance FROM customer WHERE c_w_id = :w_id AND c_d_id = :d_id AND c_id = :c_id;
\endif
SELECT o_id, o_entry_d, o_carrier_id FROM orders WHERE o_w_id = :w_id AND o_d_id = :d_id AND o_c_id = :c_id
	ORDER BY o_id DESC LIMIT 1 \gset
SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line
	WHERE ol_w_id = :w_id AND ol_d_id = :d_id AND ol_o_id = :o_id;
COMMIT;
