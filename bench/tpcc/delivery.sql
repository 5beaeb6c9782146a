-- Delivery (2.7): the oldest new order of each district, if there is one.
\set w_id random(1, :warehouses)
\set carrier random(1, 10)
BEGIN;
--repeat 10
WITH oldest AS (DELETE FROM new_order WHERE no_w_id = :w_id AND no_d_id = @ AND no_o_id =
		(SELECT no_o_id FROM new_order WHERE no_w_id = :w_id AND no_d_id = @ ORDER BY no_o_id LIMIT 1 FOR UPDATE)
		RETURNING no_o_id)
	SELECT coalesce(max(no_o_id), 0) AS o_id FROM oldest \gset
\if :o_id > 0
UPDATE orders SET o_carrier_id = :carrier WHERE o_w_id = :w_id AND o_d_id = @ AND o_id = :o_id RETURNING o_c_id \gset
UPDATE order_line SET ol_delivery_d = localtimestamp WHERE ol_w_id = :w_id AND ol_d_id = @ AND ol_o_id = :o_id;
SELECT sum(ol_amount) AS amount FROM order_line WHERE ol_w_id = :w_id AND ol_d_id = @ AND ol_o_id = :o_id \gset
UPDATE customer SET c_balance = c_balance + :amount::numeric, c_delivery_cnt = c_delivery_cnt + 1
	WHERE c_w_id = :w_id AND c_d_id = @ AND c_id = :o_c_id;
\endif
--end
COMMIT;
