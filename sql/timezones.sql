--
-- Dates and timestamps against each other, where the session's time zone makes
-- that hard: two dates that are one instant, dates that descend as instants,
-- local times that no clock shows or that come twice; and where it changes
-- while a scan is under way.  Each query runs through the index, in both
-- directions, and as a sequential scan.  What differs is printed: nothing.
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS fpbtree;
RESET client_min_messages;

CREATE SCHEMA time_zones;
SET search_path = time_zones, public;
SET max_parallel_workers_per_gather = 0;
SET jit = off;
SET enable_bitmapscan = off;
SET datestyle = 'ISO';

CREATE FUNCTION rows_of(query text) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE r text[];
BEGIN
    EXECUTE 'SELECT array_agg(x::text) FROM (' || query || ') x' INTO r;
    RETURN coalesce(r, '{}');
END $$;

CREATE FUNCTION sorted(a text[]) RETURNS text[] LANGUAGE sql AS $$
    SELECT coalesce(array_agg(x ORDER BY x COLLATE "C"), '{}') FROM unnest(a) x $$;

CREATE FUNCTION use_index(yes boolean) RETURNS void LANGUAGE sql AS $$
    SELECT set_config(name, yes::text, true) FROM unnest('{enable_indexscan,enable_indexonlyscan}'::text[]) name;
    SELECT set_config(name, (NOT yes)::text, true) FROM unnest('{enable_seqscan,enable_sort,enable_hashjoin,enable_nestloop,enable_material}'::text[]) name;
$$;

-- Compare both ways to answer queries, in order unless a key is "=" a constant:
-- the planner sorts no column that is, even if the constant is of another type.
-- Tells how often the index was used.
CREATE FUNCTION compare(queries text[]) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
    query text;
    line text;
    want text[];
    got text[];
    used int := 0;
BEGIN
    FOREACH query IN ARRAY queries LOOP
        PERFORM use_index(false);
        want := rows_of(query);
        PERFORM use_index(true);
        FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
            used := used + (line LIKE '%using v_idx%')::int;
        END LOOP;
        got := rows_of(query);
        IF got <> want AND (query NOT LIKE '% k = ''%' OR sorted(got) <> sorted(want)) THEN
            RAISE NOTICE 'differs: %: %', current_setting('timezone'), query;
        END IF;
    END LOOP;
    RETURN used;
END $$;

-- Values of a type around a local time.
CREATE FUNCTION literals(type text, around timestamp, span interval, step interval) RETURNS text[] LANGUAGE sql AS $$
    SELECT array_agg(DISTINCT format('%L::%s', x, type)) || format('%L::%s', 'infinity', type) || format('%L::%s', '-infinity', type)
    FROM generate_series(around - span, around + span, step) i, unnest(ARRAY[i, i + '1 us']) t,
        unnest(CASE type
            WHEN 'date' THEN ARRAY[t::date - 1, t::date, t::date + 1]::text[]
            WHEN 'timestamp' THEN ARRAY[t]::text[]
            ELSE ARRAY[(t::timestamptz AT TIME ZONE 'UTC') || '+00'] END) x
$$;

-- A column of one type around a change of a time zone's offset, with a second
-- column beside, in indexes of all forms, against values of another type.
-- True if the index was used for every query.
CREATE FUNCTION check_zone(zone text, type text, other text, around timestamp, span interval, step interval)
RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    vals text[];
    form text[];
    queries text[];
    used int := 0;
    asked int := 0;
BEGIN
    PERFORM set_config('timezone', zone, true);
    SELECT array_agg(v ORDER BY md5(v)) INTO vals FROM unnest(literals(other, around, span, step)) v;

    EXECUTE format('CREATE TEMP TABLE v (k %s, n int, t text COLLATE "C")', type);
    EXECUTE format('INSERT INTO v SELECT x, n, n %% 3 FROM unnest(ARRAY[%s]) x, generate_series(1, 6) n',
        array_to_string(literals(type, around, span, step), ','));
    INSERT INTO v SELECT NULL, n, n FROM generate_series(1, 3) n;

    FOREACH form SLICE 1 IN ARRAY ARRAY[
        -- index, ascending, descending
        ['k', 'k', 'k DESC'],
        ['k DESC NULLS LAST, n', 'k DESC NULLS LAST, n', 'k NULLS FIRST, n DESC'],
        ['n, k NULLS FIRST', 'n, k NULLS FIRST', 'n DESC, k DESC NULLS LAST'],
        ['k, n, t', 'k, n, t', 'k DESC, n DESC, t DESC'],
        ['t, k DESC, n DESC', 't, k DESC, n DESC', 't DESC, k, n']] LOOP
        EXECUTE format('CREATE INDEX v_idx ON v USING fpbtree (%s)', form[1]);
        SELECT array_agg(format('SELECT %s FROM v WHERE %s ORDER BY %s',
                                CASE WHEN form[1] = 'k' THEN 'k' ELSE 'k, n, t' END, c, form[2 + i % 2])) INTO queries
        FROM (SELECT format(CASE (i + length(form[1])) % 20
                    WHEN 0 THEN 'k = %1$s AND k >= %2$s'
                    WHEN 1 THEN 'k < %1$s'
                    WHEN 2 THEN 'k <= %1$s AND k <= (%2$s)::%4$s'
                    WHEN 3 THEN 'k >= %1$s AND k >= (%2$s)::%4$s'
                    WHEN 4 THEN 'k > %1$s AND k > %2$s AND k <= %3$s'
                    WHEN 5 THEN 'k = ANY (ARRAY[%1$s, %2$s, %3$s])'
                    WHEN 6 THEN 'k = ANY (ARRAY[%1$s, %2$s, %3$s]) AND k <= (%1$s)::%4$s'
                    WHEN 7 THEN 'k < ANY (ARRAY[%1$s, %2$s])'
                    WHEN 8 THEN 'k = (%1$s)::%4$s AND k >= %1$s'
                    WHEN 9 THEN 'k = ANY (ARRAY[(%1$s)::%4$s, (%2$s)::%4$s]) AND k = ANY (ARRAY[%1$s, %2$s])'
                    WHEN 10 THEN 'k = %1$s AND n = 5'
                    WHEN 11 THEN 'k = %1$s AND n > 3 AND t = ''2'''
                    WHEN 12 THEN 't = ''1'' AND k = %1$s AND n = 4'
                    WHEN 13 THEN 'n = 2 AND k = ANY (ARRAY[%1$s, %2$s])'
                    WHEN 14 THEN '(k, n) >= (%1$s, 3)'
                    WHEN 15 THEN '(k, n) < (%1$s, 3) AND k > %2$s'
                    WHEN 16 THEN '(n, k) > (3, %1$s)'
                    WHEN 17 THEN 't = ''0'' AND k BETWEEN %1$s AND %2$s'
                    WHEN 18 THEN '(k, n) <= (%1$s, 3) AND k < (%2$s)::%4$s'
                    ELSE 'k = ANY (ARRAY[%1$s, %2$s]) AND n = ANY (''{2,4}'')' END,
                    vals[1 + i % cardinality(vals)], vals[1 + (i * 7) % cardinality(vals)], vals[1 + (i * 3) % cardinality(vals)], type) AS c, i
              FROM generate_series(1, 40) i) x;
        used := used + compare(queries);
        asked := asked + cardinality(queries);
        -- the same instant again and again, for mark and restore
        IF form[1] LIKE 'k%' THEN
            PERFORM compare(ARRAY[format('SELECT count(*), sum(a.n) FROM v a JOIN v b ON a.k = b.k WHERE a.k = ANY (ARRAY[%1$s]) AND b.k = ANY (ARRAY[%1$s])',
                                         array_to_string(vals[1:7], ','))]);
        END IF;
        DROP INDEX v_idx;
    END LOOP;
    DROP TABLE v;
    RETURN used = asked;
END $$;

SELECT zone, type, other, check_zone(zone, type, other, around, span, step) AS used
FROM (VALUES
    -- skipped a day
    ('Pacific/Apia', timestamp '2011-12-30', interval '3 days', interval '12 hours'), ('Pacific/Kwajalein', '1993-08-21', '2 days', '8 hours'),
    -- the clocks: an hour, a half, at midnight; and none
    ('America/New_York', '2024-03-10 02:30', '3 hours', '30 minutes'), ('America/New_York', '2024-11-03 01:30', '3 hours', '30 minutes'),
    ('Australia/Lord_Howe', '2024-04-07 01:30', '2 hours', '15 minutes'), ('America/Sao_Paulo', '2018-11-04', '3 hours', '30 minutes'),
    ('America/Sao_Paulo', '2018-02-18', '3 hours', '30 minutes'), ('America/New_York', '2024-07-01', '1 day', '4 hours'),
    -- two days skipped, which in some later dates are earlier instants, and two repeated
    ('AAA24BBB-24,M3.2.0,M11.1.0', '2024-03-11', '4 days', '12 hours'), ('AAA24BBB-24,M3.2.0,M11.1.0', '2024-11-03', '4 days', '12 hours')) z (zone, around, span, step),
    (VALUES ('date', 'timestamptz'), ('timestamp', 'timestamptz'), ('timestamptz', 'date'), ('timestamptz', 'timestamp')) t (type, other);

-- at the ends of what there is
CREATE FUNCTION check_ends(zone text, type text, vals text[]) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    form text;
    used int := 0;
    asked int := 0;
    queries text[];
BEGIN
    PERFORM set_config('timezone', zone, true);
    EXECUTE format('CREATE TEMP TABLE v AS SELECT x::%s k FROM unnest($1) x', type) USING
        CASE type WHEN 'date' THEN '{-infinity,4714-11-24 BC,4714-11-25 BC,4714-11-26 BC,2000-01-01,294276-12-30,294276-12-31,294277-01-01,294277-01-02,5874897-12-31,infinity}'::text[]
             WHEN 'timestamp' THEN '{-infinity,4714-11-24 00:00 BC,4714-11-24 12:00 BC,4714-11-25 06:00 BC,2000-01-01,294276-12-30 00:00,294276-12-31 10:00,294276-12-31 23:59:59.999999,infinity}'
             ELSE '{-infinity,4714-11-24 00:00+00 BC,4714-11-24 12:00+00 BC,4714-11-25 06:00+00 BC,2000-01-01,294276-12-30 00:00+00,294276-12-31 10:00+00,294276-12-31 23:59:59.999999+00,infinity}' END;
    FOREACH form IN ARRAY '{(k),(k DESC),(k) INCLUDE (k)}'::text[] LOOP
        EXECUTE 'CREATE INDEX v_idx ON v USING fpbtree ' || form;
        SELECT array_agg(format('SELECT k FROM v WHERE k %s %s ORDER BY k %s', op, x, CASE WHEN length(x) % 2 = 0 THEN 'DESC' END)) INTO queries
        FROM unnest('{<,<=,=,>=,>}'::text[]) op, unnest(vals) x;
        used := used + compare(queries);
        asked := asked + cardinality(queries);
        DROP INDEX v_idx;
    END LOOP;
    DROP TABLE v;
    RETURN used = asked;
END $$;

SELECT zone, type, check_ends(zone, type, vals) AS used
FROM unnest('{UTC,XXX-14,XXX12,XXX-167,XXX167,"AAA24BBB-24,M3.2.0,M11.1.0"}'::text[]) zone,
    (VALUES ('date', ARRAY['timestamptz ''4714-11-24 00:00+00 BC''', 'timestamptz ''4714-11-24 14:00+00 BC''', 'timestamptz ''4714-11-25 00:00+00 BC''',
        'timestamptz ''294276-12-31 00:00+00''', 'timestamptz ''294276-12-31 10:00+00''', 'timestamptz ''294276-12-31 23:59:59+00''', 'timestamptz ''infinity''', 'timestamptz ''-infinity''']),
      ('timestamp', ARRAY['timestamptz ''4714-11-24 00:00+00 BC''', 'timestamptz ''4714-11-24 14:00+00 BC''', 'timestamptz ''4714-11-25 00:00+00 BC''',
        'timestamptz ''294276-12-31 00:00+00''', 'timestamptz ''294276-12-31 23:59:59+00''', 'timestamptz ''infinity''', 'timestamptz ''-infinity''']),
      ('timestamptz', ARRAY['date ''4714-11-24 BC''', 'date ''4714-11-25 BC''', 'date ''294276-12-31''', 'date ''294277-01-01''', 'date ''5874897-12-31''', 'date ''infinity''', 'date ''-infinity''',
        'timestamp ''4714-11-24 00:00 BC''', 'timestamp ''4714-11-24 12:00 BC''', 'timestamp ''294276-12-31 12:00''', 'timestamp ''infinity''', 'timestamp ''-infinity'''])) t (type, vals);

-- many leaves: rows once each, with parallel workers too
SET timezone = 'Pacific/Apia';
CREATE TABLE v AS
    SELECT '2011-12-26 10:00+00'::timestamptz + i % 8 * interval '1 day' k, i n FROM generate_series(1, 8000) i;
CREATE INDEX v_idx ON v USING fpbtree (k) WITH (fillfactor = 10);
ALTER TABLE v ADD d date;
UPDATE v SET d = '2011-12-26'::date + n % 8;
CREATE INDEX d_idx ON v USING fpbtree (d, n) WITH (fillfactor = 10);
VACUUM ANALYZE v;
SELECT d, k, count(*) FROM v GROUP BY d, k ORDER BY d;
SET enable_seqscan = off;
SET enable_sort = off;
SELECT count(*), count(DISTINCT n) FROM (SELECT n FROM v WHERE k = ANY ('{2011-12-29,2011-12-30,2011-12-31}'::date[]) ORDER BY k DESC OFFSET 0) x;
SELECT count(*), count(DISTINCT n) FROM (SELECT n FROM v WHERE k = ANY ('{2011-12-29,2011-12-30,2011-12-31}'::date[]) ORDER BY k OFFSET 0) x;
SELECT count(*), count(DISTINCT n) FROM (SELECT n FROM v WHERE d = ANY ('{2011-12-29 10:00+00,2011-12-30 10:00+00,2011-12-31 10:00+00}'::timestamptz[]) ORDER BY d DESC, n DESC OFFSET 0) x;
SELECT count(*) FROM v WHERE d = '2011-12-30 10:00+00'::timestamptz AND n > 6000;
BEGIN;
DELETE FROM v WHERE d = '2011-12-30 10:00+00'::timestamptz AND n = 12;
SELECT count(*) FROM v;
ROLLBACK;
SET max_parallel_workers_per_gather = 1;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_index_scan_size = 0;
SET min_parallel_table_scan_size = 0;
EXPLAIN (COSTS OFF) SELECT count(*), sum(n) FROM v WHERE k = ANY ('{2011-12-29,2011-12-30,2011-12-31}'::date[]);
SELECT count(*), sum(n) FROM v WHERE k = ANY ('{2011-12-29,2011-12-30,2011-12-31}'::date[]);
SELECT count(*), sum(n) FROM v WHERE d = ANY ('{2011-12-29 10:00+00,2011-12-30 10:00+00,2011-12-31 10:00+00}'::timestamptz[]);
SELECT count(*), sum(n) FROM v WHERE d >= '2011-12-30 10:00+00'::timestamptz AND d >= '2011-12-31';
RESET max_parallel_workers_per_gather;
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET min_parallel_index_scan_size;
RESET min_parallel_table_scan_size;

-- The time zone changes between two rows.  What is in a range has been settled
-- when the scan began, and again by each rescan.
SET max_parallel_workers_per_gather = 0;
SET timezone = 'Europe/Berlin';
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT d, n % 8 AS n FROM v WHERE d = ANY ('{2011-12-28 00:00+01,2011-12-29 00:00+01,2012-01-01 00:00+01}'::timestamptz[]) ORDER BY d, v.n;
FETCH 1 FROM c;
SET LOCAL timezone = 'UTC';
FETCH ABSOLUTE 1200 FROM c;
SET LOCAL timezone = 'Pacific/Apia';
FETCH ABSOLUTE 2500 FROM c;
MOVE FORWARD ALL FROM c;
SET LOCAL timezone = 'XXX100';
FETCH BACKWARD 1 FROM c;
FETCH ABSOLUTE 1 FROM c;	-- rewinds
ROLLBACK;
-- bounds that are exact, and some that are not and whose filter follows the time zone
-- (which rows are seen by it depends on where pages end)
BEGIN;
SET LOCAL timezone = 'Pacific/Apia';
DECLARE c SCROLL CURSOR FOR SELECT d, n FROM v WHERE d >= '2011-12-28 10:00+00'::timestamptz AND d < '2011-12-31 10:00+00'::timestamptz AND n % 500 < 8 ORDER BY d, v.n;
FETCH 1 FROM c;
SET LOCAL timezone = 'UTC';
MOVE 20 FROM c;
SET LOCAL timezone = 'XXX100';
MOVE BACKWARD 5 FROM c;
SET LOCAL timezone = 'XXX-100';
MOVE ALL FROM c;
MOVE BACKWARD 3 FROM c;
ROLLBACK;
-- an inexact bound does not imply an exact one of the same value, as strict as it
BEGIN;
SET LOCAL timezone = 'Pacific/Apia';
DECLARE c CURSOR FOR SELECT d FROM v WHERE d > '2011-12-30'::date AND d > '2011-12-30 10:00+00'::timestamptz ORDER BY d DESC, n DESC;
FETCH 1 FROM c;
SET LOCAL timezone = 'XXX100';
MOVE 2999 FROM c;
FETCH 1 FROM c;
ROLLBACK;
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT k AT TIME ZONE 'UTC', n % 8 AS n FROM v WHERE k = ANY ('{2011-12-28 11:00,2011-12-29 11:00,2012-01-01 11:00}'::timestamp[]) ORDER BY k;
FETCH 1 FROM c;
SET LOCAL timezone = 'UTC';
FETCH ABSOLUTE 1200 FROM c;
SET LOCAL timezone = 'XXX100';
FETCH ABSOLUTE 2500 FROM c;
FETCH BACKWARD 1 FROM c;
ROLLBACK;
-- rescans
BEGIN;
SET LOCAL enable_hashjoin = off;
SET LOCAL enable_mergejoin = off;
SET LOCAL enable_material = off;
SET LOCAL enable_memoize = off;
DECLARE c CURSOR FOR
    SELECT i, x.* FROM generate_series(0, 5) i,
    LATERAL (SELECT d, count(*) FROM v WHERE d = ANY (ARRAY['2011-12-28 00:00+00'::timestamptz - i * interval '1 hour', '2011-12-29 00:00+00']) GROUP BY d) x;
FETCH 1 FROM c;
SET LOCAL timezone = 'UTC';
FETCH 2 FROM c;
SET LOCAL timezone = 'XXX-4';
FETCH ALL FROM c;
ROLLBACK;

-- No comparator is given a timestamp that is before the first.
CREATE FUNCTION picky_cmp(date, timestamp) RETURNS int LANGUAGE sql STABLE AS
$$ SELECT date_cmp_timestamp($1, $2 + interval '0') $$;
CREATE OPERATOR CLASS picky_ops FOR TYPE date USING fpbtree AS
    OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >, FUNCTION 1 date_cmp(date, date),
    OPERATOR 5 > (date, timestamptz), FUNCTION 1 (date, timestamptz) date_cmp_timestamptz(date, timestamptz),
    FUNCTION 1 (date, timestamp) picky_cmp(date, timestamp);
CREATE TABLE first_date AS SELECT '4714-11-24 BC'::date d;
CREATE INDEX first_date_idx ON first_date USING fpbtree (d picky_ops);
SET timezone = 'XXX12';
SELECT d FROM first_date WHERE d > '4714-11-24 00:00+00 BC'::timestamptz;

SET client_min_messages = warning;
DROP SCHEMA time_zones CASCADE;
