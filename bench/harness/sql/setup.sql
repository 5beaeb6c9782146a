-- What every workload uses: a scaled row count, a check of plans, and uuids.
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
CREATE FUNCTION new_uuid_v4() RETURNS uuid LANGUAGE sql VOLATILE AS 'SELECT gen_random_uuid()';
SELECT :SERVER_VERSION_NUM >= 180000 AS has_v7 \gset
\if :has_v7
CREATE FUNCTION new_uuid_v7() RETURNS uuid LANGUAGE sql VOLATILE AS 'SELECT uuidv7()';
\else
-- milliseconds, then a random one's digits
CREATE FUNCTION new_uuid_v7() RETURNS uuid LANGUAGE sql VOLATILE AS $$
    SELECT (lpad(to_hex((extract(epoch FROM clock_timestamp()) * 1000)::int8), 12, '0') || '7' || substr(replace(gen_random_uuid()::text, '-', ''), 14))::uuid
$$;
\endif
