-- What every workload uses: a scaled row count, and a check of plans.
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
