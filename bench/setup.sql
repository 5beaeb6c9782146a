-- What every workload uses: a scaled row count, and the table of lookup, scan-warm and build for each access method.
CREATE EXTENSION fpbtree;
CREATE FUNCTION scaled(n float8) RETURNS int8 LANGUAGE sql AS 'SELECT greatest(1000, n)::int8';
-- A measurement is worth something only if the planner uses the index it is about.
CREATE FUNCTION assert_plan(query text, pattern text) RETURNS bool LANGUAGE plpgsql AS $$
DECLARE
    line text;
    plan text := '';
BEGIN
    FOR line IN EXECUTE 'EXPLAIN ' || query LOOP
        plan := plan || line || chr(10);
    END LOOP;
    IF strpos(plan, pattern) = 0 THEN
        RAISE EXCEPTION 'the planner does not use the index: %', plan;
    END IF;
    RETURN true;
END $$;
SELECT scaled(10000000 * :scale) AS rows \gset
CREATE TABLE rows_btree AS SELECT hashint8extended(i, 0) AS a, i FROM generate_series(1, :rows) i;
CREATE TABLE rows_fpbtree AS TABLE rows_btree;
VACUUM (FREEZE, ANALYZE) rows_btree, rows_fpbtree;
CREATE INDEX rows_btree_a ON rows_btree USING btree (a);
CREATE INDEX rows_fpbtree_a ON rows_fpbtree USING fpbtree (a);
CHECKPOINT;
