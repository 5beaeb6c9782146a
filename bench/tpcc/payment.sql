-- Payment (2.5): of a customer of another warehouse in 15 of 100, and known by
-- his last name in 60.
\set w_id random(1, :warehouses)
\set d_id random(1, 10)
\set cents random(100, 500000)
\if random(1, 100) <= 85
\set c_w_id :w_id
\set c_d_id :d_id
\else
\set c_w_id (:w_id - 1 + random(1, greatest(1, :warehouses - 1))) % :warehouses + 1
\set c_d_id random(1, 10)
\endif
BEGIN;
UPDATE warehouse SET w_ytd = w_ytd + :cents::numeric / 100 WHERE w_id = :w_id
	RETURNING w_name, w_street_1, w_street_2, w_city, w_state, w_zip \gset
UPDATE district SET d_ytd = d_ytd + :cents::numeric / 100 WHERE d_w_id = :w_id AND d_id = :d_id
	RETURNING d_name, d_street_1, d_street_2, d_city, d_state, d_zip \gset
\if random(1, 100) <= 60
\set name ((random(0, 255) | random(0, :names - 1)) + 223) % :names
-- the middle one of those of the name
SELECT c_id, (c_credit = 'BC')::int AS bad_credit, c_first, c_middle, c_street_1, c_street_2, c_city, c_state, c_zip,
	c_phone, c_since, c_credit, c_credit_lim, c_discount, c_balance
	FROM (SELECT *, row_number() OVER (ORDER BY c_first) AS n, count(*) OVER () AS all_of_them FROM customer
		WHERE c_w_id = :c_w_id AND c_d_id = :c_d_id AND c_last = last_name(:name)) c
	WHERE n = (all_of_them + 1) / 2 \gset
\else
\set c_id ((random(0, 1023) | random(1, :customers)) + 259) % :customers + 1
SELECT (c_credit = 'BC')::int AS bad_credit, c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip,
	c_phone, c_since, c_credit, c_credit_lim, c_discount, c_balance
	FROM customer WHERE c_w_id = :c_w_id AND c_d_id = :c_d_id AND c_id = :c_id \gset
\endif
\if :bad_credit
UPDATE customer SET c_balance = c_balance - :cents::numeric / 100, c_ytd_payment = c_ytd_payment + :cents::numeric / 100,
	c_payment_cnt = c_payment_cnt + 1,
	c_data = left(concat_ws(' ', c_id, c_d_id, c_w_id, :d_id::int, :w_id::int, :cents::numeric / 100, c_data), 500)
	WHERE c_w_id = :c_w_id AND c_d_id = :c_d_id AND c_id = :c_id RETURNING c_balance, left(c_data, 200);
\else
UPDATE customer SET c_balance = c_balance - :cents::numeric / 100, c_ytd_payment = c_ytd_payment + :cents::numeric / 100,
	c_payment_cnt = c_payment_cnt + 1
	WHERE c_w_id = :c_w_id AND c_d_id = :c_d_id AND c_id = :c_id RETURNING c_balance;
\endif
INSERT INTO history VALUES (:c_id, :c_d_id, :c_w_id, :d_id, :w_id, localtimestamp, :cents::numeric / 100,
	concat(:w_name::text, '    ', :d_name::text));
COMMIT;
