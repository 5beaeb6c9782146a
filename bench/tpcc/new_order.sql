-- New-Order (2.4).  The statements of the lines are sent in one batch, as many
-- drivers can: of each line one search of item, two of stock and an insertion
-- into order_line, as in the standard.  One of a hundred orders asks for an item
-- that there isn't in its last line, and is rolled back.
\set w_id random(1, :warehouses)
\set d_id random(1, 10)
\set c_id ((random(0, 1023) | random(1, :customers)) + 259) % :customers + 1
\set lines random(5, 15)
\set wrong random(1, 100) = 1
\set all_local 1
--repeat 15
\if @ = :lines and :wrong
\set item@ :items + 1
\elif @ <= :lines
\set item@ ((random(0, 8191) | random(1, :items)) + 7911) % :items + 1
\else
\set item@ :items + 2
\endif
\set quantity@ random(1, 10)
\set supply@ :w_id
\if @ <= :lines and random(1, 100) = 1
\set supply@ (:w_id - 1 + random(1, greatest(1, :warehouses - 1))) % :warehouses + 1
\set all_local :all_local * (CASE WHEN :supply@ = :w_id THEN 1 ELSE 0 END)
\endif
--end
-- orders that want the same items lock these in the same order; pgbench can't sort
SELECT cardinality(items)
--repeat 15
	, items[@ + 1] AS item@
--end
	FROM (SELECT array_agg(item ORDER BY item) AS items FROM unnest(ARRAY[0
--repeat 15
		, :item@
--end
	]) item) i \gset
BEGIN;
SELECT w_tax, c_discount, c_last, c_credit FROM warehouse, customer WHERE w_id = :w_id AND c_w_id = w_id AND c_d_id = :d_id AND c_id = :c_id;
UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = :w_id AND d_id = :d_id RETURNING d_next_o_id - 1 AS o_id, d_tax \gset
\startpipeline
INSERT INTO orders VALUES (:o_id, :d_id, :w_id, :c_id, localtimestamp, NULL, :lines, :all_local);
INSERT INTO new_order VALUES (:o_id, :d_id, :w_id);
--repeat 15
\if @ <= :lines
UPDATE stock SET
	s_quantity = CASE WHEN s_quantity >= :quantity@::int + 10 THEN s_quantity - :quantity@::int ELSE s_quantity - :quantity@::int + 91 END,
	s_ytd = s_ytd + :quantity@::int, s_order_cnt = s_order_cnt + 1, s_remote_cnt = s_remote_cnt + (s_w_id <> :w_id)::int
	WHERE s_w_id = :supply@ AND s_i_id = :item@;
INSERT INTO order_line
	SELECT :o_id::int, :d_id::int, :w_id::int, @, i_id, s_w_id, NULL, :quantity@::int, :quantity@::int * i_price,
		(ARRAY[s_dist_01, s_dist_02, s_dist_03, s_dist_04, s_dist_05, s_dist_06, s_dist_07, s_dist_08, s_dist_09, s_dist_10])[:d_id::int]
	FROM item, stock WHERE i_id = :item@ AND s_w_id = :supply@ AND s_i_id = i_id
	RETURNING ol_amount;
\endif
--end
\endpipeline
\if :wrong
ROLLBACK;
\else
COMMIT;
\endif
