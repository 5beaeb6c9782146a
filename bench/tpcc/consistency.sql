-- The standard's conditions of consistency (3.3.2): each query finds what breaks
-- one.

SELECT '3.3.2.1: W_YTD is the sum of D_YTD', w_id, w_ytd, sum(d_ytd)
FROM warehouse LEFT JOIN district ON d_w_id = w_id
GROUP BY w_id, w_ytd HAVING w_ytd IS DISTINCT FROM sum(d_ytd);

-- a district that has no new order left has no greatest one
SELECT '3.3.2.2: D_NEXT_O_ID - 1 is the greatest O_ID and NO_O_ID', d_w_id, d_id, d_next_o_id, o, no
FROM district
	LEFT JOIN (SELECT o_w_id, o_d_id, max(o_id) AS o FROM orders GROUP BY 1, 2) orders ON o_w_id = d_w_id AND o_d_id = d_id
	LEFT JOIN (SELECT no_w_id, no_d_id, max(no_o_id) AS no FROM new_order GROUP BY 1, 2) new ON no_w_id = d_w_id AND no_d_id = d_id
WHERE d_next_o_id - 1 IS DISTINCT FROM o OR d_next_o_id - 1 <> no;

SELECT '3.3.2.3: the NO_O_ID of a district are all from the least to the greatest', no_w_id, no_d_id, min(no_o_id), max(no_o_id), count(*)
FROM new_order GROUP BY no_w_id, no_d_id HAVING max(no_o_id) - min(no_o_id) + 1 <> count(*);

SELECT '3.3.2.4: the sum of O_OL_CNT of a district is the number of its lines', w, d, wanted, found
FROM (SELECT o_w_id AS w, o_d_id AS d, sum(o_ol_cnt) AS wanted FROM orders GROUP BY 1, 2) orders
	FULL JOIN (SELECT ol_w_id AS w, ol_d_id AS d, count(*) AS found FROM order_line GROUP BY 1, 2) lines USING (w, d)
WHERE wanted IS DISTINCT FROM found;

SELECT '3.3.2.5: orders without O_CARRIER_ID are the new ones', w, d, o, o_carrier_id
FROM (SELECT o_w_id AS w, o_d_id AS d, o_id AS o, o_carrier_id, o_carrier_id IS NULL AS wanted FROM orders) orders
	FULL JOIN (SELECT no_w_id AS w, no_d_id AS d, no_o_id AS o, true AS new FROM new_order) new USING (w, d, o)
WHERE wanted IS DISTINCT FROM coalesce(new, false);

SELECT '3.3.2.6: O_OL_CNT is the number of lines', w, d, o, o_ol_cnt, lines
FROM (SELECT o_w_id AS w, o_d_id AS d, o_id AS o, o_ol_cnt FROM orders) orders
	FULL JOIN (SELECT ol_w_id AS w, ol_d_id AS d, ol_o_id AS o, count(*) AS lines FROM order_line GROUP BY 1, 2, 3) lines USING (w, d, o)
WHERE o_ol_cnt IS DISTINCT FROM lines;

SELECT '3.3.2.7: lines without OL_DELIVERY_D are those of orders without O_CARRIER_ID', ol_w_id, ol_d_id, ol_o_id, ol_number, ol_delivery_d, o_carrier_id
FROM order_line LEFT JOIN orders ON o_w_id = ol_w_id AND o_d_id = ol_d_id AND o_id = ol_o_id
WHERE o_id IS NULL OR (ol_delivery_d IS NULL) <> (o_carrier_id IS NULL);

SELECT '3.3.2.8: W_YTD is the sum of H_AMOUNT', w_id, w_ytd, sum(h_amount)
FROM warehouse LEFT JOIN history ON h_w_id = w_id
GROUP BY w_id, w_ytd HAVING w_ytd IS DISTINCT FROM sum(h_amount);

SELECT '3.3.2.9: D_YTD is the sum of H_AMOUNT', d_w_id, d_id, d_ytd, sum(h_amount)
FROM district LEFT JOIN history ON h_w_id = d_w_id AND h_d_id = d_id
GROUP BY d_w_id, d_id, d_ytd HAVING d_ytd IS DISTINCT FROM sum(h_amount);

CREATE TEMP TABLE delivered AS
SELECT o_w_id AS w, o_d_id AS d, o_c_id AS c, sum(ol_amount) AS amount
FROM orders JOIN order_line ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id
WHERE ol_delivery_d IS NOT NULL GROUP BY 1, 2, 3;

SELECT '3.3.2.10: C_BALANCE is what has been delivered less the sum of H_AMOUNT', c_w_id, c_d_id, c_id, c_balance, amount, paid
FROM customer LEFT JOIN delivered ON w = c_w_id AND d = c_d_id AND c = c_id
	LEFT JOIN (SELECT h_c_w_id, h_c_d_id, h_c_id, sum(h_amount) AS paid FROM history GROUP BY 1, 2, 3) history
		ON h_c_w_id = c_w_id AND h_c_d_id = c_d_id AND h_c_id = c_id
WHERE c_balance <> coalesce(amount, 0) - coalesce(paid, 0);

-- 2100 of 3000 customers when just loaded, and deliveries only add to them
SELECT '3.3.2.11: orders that are not new are as many as there were at first, or more', d_w_id, d_id, orders, new
FROM district
	LEFT JOIN (SELECT o_w_id, o_d_id, count(*) AS orders FROM orders GROUP BY 1, 2) orders ON o_w_id = d_w_id AND o_d_id = d_id
	LEFT JOIN (SELECT no_w_id, no_d_id, count(*) AS new FROM new_order GROUP BY 1, 2) new ON no_w_id = d_w_id AND no_d_id = d_id
WHERE coalesce(orders, 0) - coalesce(new, 0) < :customers * 7 / 10;

SELECT '3.3.2.12: C_BALANCE + C_YTD_PAYMENT is what has been delivered', c_w_id, c_d_id, c_id, c_balance, c_ytd_payment, amount
FROM customer LEFT JOIN delivered ON w = c_w_id AND d = c_d_id AND c = c_id
WHERE c_balance + c_ytd_payment <> coalesce(amount, 0);

DROP TABLE delivered;
