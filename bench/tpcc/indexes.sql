-- The keys of the tables, and the two indexes that the transactions need
-- besides: customers by name, and the orders of a customer.
CREATE UNIQUE INDEX warehouse_key ON warehouse USING :am (w_id);
CREATE UNIQUE INDEX district_key ON district USING :am (d_w_id, d_id);
CREATE UNIQUE INDEX customer_key ON customer USING :am (c_w_id, c_d_id, c_id);
CREATE INDEX customer_name ON customer USING :am (c_w_id, c_d_id, c_last, c_first);
CREATE UNIQUE INDEX new_order_key ON new_order USING :am (no_w_id, no_d_id, no_o_id);
CREATE UNIQUE INDEX orders_key ON orders USING :am (o_w_id, o_d_id, o_id);
CREATE INDEX orders_customer ON orders USING :am (o_w_id, o_d_id, o_c_id, o_id);
CREATE UNIQUE INDEX order_line_key ON order_line USING :am (ol_w_id, ol_d_id, ol_o_id, ol_number);
CREATE UNIQUE INDEX item_key ON item USING :am (i_id);
CREATE UNIQUE INDEX stock_key ON stock USING :am (s_w_id, s_i_id);
