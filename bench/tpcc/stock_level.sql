-- Stock-Level (2.8): of the items of a district's last 20 orders, those that
-- there are few of.
\set w_id random(1, :warehouses)
\set d_id random(1, 10)
\set threshold random(10, 20)
BEGIN;
SELECT d_next_o_id FROM district WHERE d_w_id = :w_id AND d_id = :d_id \gset
SELECT count(DISTINCT s_i_id) FROM order_line, stock
	WHERE ol_w_id = :w_id AND ol_d_id = :d_id AND ol_o_id < :d_next_o_id AND ol_o_id >= :d_next_o_id::int - 20
		AND s_w_id = :w_id AND s_i_id = ol_i_id AND s_quantity < :threshold;
COMMIT;
