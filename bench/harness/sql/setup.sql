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
-- The rows of a query as one text, by indexes, which has to be the same as by sequential scans.
CREATE FUNCTION answer(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    by_index bool;
    found text;
    answers text[];
BEGIN
    FOREACH by_index IN ARRAY '{true, false}'::bool[] LOOP
        PERFORM set_config('enable_' || name, by_index::text, true)
        FROM unnest('{indexscan, indexonlyscan, bitmapscan, nestloop, mergejoin}'::text[]) name;
        PERFORM set_config('enable_' || name, (NOT by_index)::text, true) FROM unnest('{seqscan, hashjoin}'::text[]) name;
        EXECUTE format('SELECT coalesce(string_agg(answer::text, '', ''%s), '''') FROM (%s) answer',
            CASE WHEN query !~ 'ORDER BY' THEN ' ORDER BY answer::text' END, query) INTO found;
        answers := answers || found;
    END LOOP;
    IF answers[1] <> answers[2] THEN
        RAISE EXCEPTION 'the answer by indexes is not that by sequential scans: %', query
            USING DETAIL = format('%s; %s', left(answers[1], 1000), left(answers[2], 1000));
    END IF;
    RETURN found;
END $$;
