-- 200 times some ten rows, next to each other in the index.
\set table cold_ :am
SET enable_seqscan = off;
SET enable_bitmapscan = off;
CREATE FUNCTION pg_temp.tens(tab regclass, width int8) RETURNS int8 LANGUAGE plpgsql AS $$
DECLARE
    start int8;
    one int8;
    total int8 := 0;
BEGIN
    FOR k IN 1 .. 200 LOOP
        start := hashint8extended(k, 77) / 2;
        EXECUTE format('SELECT sum(i) FROM %s WHERE a BETWEEN $1 AND $1 + $2', tab) INTO one USING start, width;
        total := total + coalesce(one, 0);
    END LOOP;
    RETURN total;
END $$;
SELECT 9223372036854775807 / (scaled(5000000 * :scale) / 2) * 10 AS width \gset
SELECT assert_plan('SELECT sum(i) FROM ' || :'table' || ' WHERE a BETWEEN 0 AND ' || :width, 'Index Scan using') \gset
\set plan Result
\set query 'SELECT pg_temp.tens(''' :table ''', ' :width ')'
\ir cold-query.sql
