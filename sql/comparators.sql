-- Comparators that are not the server's own may run anything, queries that use
-- other fpbtree indexes included, and do so while pages are looked at.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS fpbtree;
RESET client_min_messages;
SET enable_seqscan = off;
SET enable_bitmapscan = off;

-- An index of so many inner pages that copies of all of them don't fit.
SET fpbtree.inner_page_cache = '128kB';
CREATE TABLE cmp_inner (k text COLLATE "C", n int);
CREATE INDEX cmp_inner_k ON cmp_inner USING fpbtree (k);
INSERT INTO cmp_inner
	SELECT lpad(i::text, 6, '0') || repeat('x', current_setting('block_size')::int / 20), i
	FROM generate_series(0, 7999) i;
SELECT fpbtree_check('cmp_inner_k');

-- A comparator that looks something up there.
CREATE FUNCTION cmp_compare(a int, b int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
	found int;
BEGIN
	SELECT n INTO STRICT found FROM public.cmp_inner
		WHERE k = lpad(((a * 7919 + b * 104729) % 8000)::text, 6, '0') || repeat('x', current_setting('block_size')::int / 20);
	RETURN btint4cmp(a, b);
END $$;
CREATE OPERATOR CLASS cmp_ops FOR TYPE int USING fpbtree AS
	OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >,
	FUNCTION 1 cmp_compare(int, int);

CREATE TABLE cmp_outer (k int);
INSERT INTO cmp_outer SELECT i FROM generate_series(1, 3000) i;
CREATE INDEX cmp_outer_k ON cmp_outer USING fpbtree (k cmp_ops);
SELECT inner_pages > 0 AS has_inner_pages FROM fpbtree_stats('cmp_outer_k');
SELECT count(*) AS missed FROM generate_series(1, 3000, 7) i
	WHERE (SELECT count(*) FROM cmp_outer WHERE k = i) <> 1;
INSERT INTO cmp_outer SELECT i FROM generate_series(1, 3000, 14) i;
SELECT count(*) AS missed FROM generate_series(1, 3000, 14) i
	WHERE (SELECT count(*) FROM cmp_outer WHERE k = i) <> 2;
SELECT fpbtree_check('cmp_outer_k', true);

-- The same behind the server's comparator of arrays, which calls that of the
-- elements.
CREATE TYPE cmp_elem AS (i int);
CREATE FUNCTION cmp_elements(a cmp_elem, b cmp_elem) RETURNS int LANGUAGE sql IMMUTABLE RETURN cmp_compare((a).i, (b).i);
DO $$
DECLARE
	op text;
BEGIN
	FOREACH op IN ARRAY '{<,<=,=,>=,>}'::text[] LOOP
		EXECUTE format('CREATE FUNCTION "cmp %1$s"(a cmp_elem, b cmp_elem) RETURNS boolean LANGUAGE sql IMMUTABLE
			RETURN (a).i OPERATOR(pg_catalog.%1$s) (b).i', op);
		EXECUTE format('CREATE OPERATOR %1$s (leftarg = cmp_elem, rightarg = cmp_elem, function = "cmp %1$s")', op);
	END LOOP;
END $$;
CREATE OPERATOR CLASS cmp_elem_ops DEFAULT FOR TYPE cmp_elem USING btree AS
	OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >,
	FUNCTION 1 cmp_elements(cmp_elem, cmp_elem);
CREATE TABLE cmp_arrays (k cmp_elem[]);
INSERT INTO cmp_arrays SELECT ARRAY[ROW(i)::cmp_elem] FROM generate_series(1, 3000) i;
CREATE INDEX cmp_arrays_k ON cmp_arrays USING fpbtree (k);
SELECT inner_pages > 0 AS has_inner_pages FROM fpbtree_stats('cmp_arrays_k');
SELECT count(*) AS missed FROM generate_series(1, 3000, 14) i
	WHERE (SELECT count(*) FROM cmp_arrays WHERE k = ARRAY[ROW(i)::cmp_elem]) <> 1;
SELECT fpbtree_check('cmp_arrays_k', true);

-- A comparator of other types that is not transitive: false is equal to the keys up
-- to 2000, and true to those from 1001.  The ranges of an array overlap then; but no
-- row is returned twice.
CREATE FUNCTION lap_cmp(int4, bool) RETURNS int4 LANGUAGE plpgsql IMMUTABLE STRICT AS
	'BEGIN RETURN CASE WHEN $2 AND $1 < 1001 THEN -1 WHEN NOT $2 AND $1 > 2000 THEN 1 ELSE 0 END; END';
CREATE FUNCTION lap_eq(int4, bool) RETURNS bool LANGUAGE plpgsql IMMUTABLE STRICT AS 'BEGIN RETURN lap_cmp($1, $2) = 0; END';
CREATE OPERATOR === (LEFTARG = int4, RIGHTARG = bool, FUNCTION = lap_eq);
CREATE OPERATOR CLASS lap_ops FOR TYPE int4 USING fpbtree AS
	OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >, OPERATOR 3 === (int4, bool),
	FUNCTION 1 btint4cmp(int4, int4), FUNCTION 1 (int4, bool) lap_cmp(int4, bool), FUNCTION 1 (bool, bool) btboolcmp(bool, bool);
CREATE TABLE lap (k int4);
INSERT INTO lap SELECT generate_series(1, 3000);
CREATE INDEX lap_k ON lap USING fpbtree (k lap_ops);
EXPLAIN (COSTS OFF) SELECT k FROM lap WHERE k === ANY ('{f,t}'::bool[]);
SELECT count(*), count(DISTINCT k) FROM lap WHERE k === ANY ('{f,t}'::bool[]);
SELECT count(*), count(DISTINCT k) FROM (SELECT k FROM lap WHERE k === ANY ('{f,t}'::bool[]) ORDER BY k DESC OFFSET 0) s;
DROP TABLE lap;
DROP OPERATOR FAMILY lap_ops USING fpbtree;
DROP OPERATOR === (int4, bool);
DROP FUNCTION lap_eq, lap_cmp;

-- One that has keys after the first range before the second one, though that begins
-- among those of the first: a search goes back there.
CREATE FUNCTION back_cmp(int4, bool) RETURNS int4 LANGUAGE plpgsql IMMUTABLE STRICT AS
	'BEGIN RETURN CASE WHEN $2 AND ($1 < 51 OR $1 BETWEEN 101 AND 110) THEN -1 WHEN NOT $2 AND $1 > 100 THEN 1 ELSE 0 END; END';
CREATE FUNCTION back_eq(int4, bool) RETURNS bool LANGUAGE plpgsql IMMUTABLE STRICT AS 'BEGIN RETURN back_cmp($1, $2) = 0; END';
CREATE OPERATOR === (LEFTARG = int4, RIGHTARG = bool, FUNCTION = back_eq);
CREATE OPERATOR CLASS back_ops FOR TYPE int4 USING fpbtree AS
	OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >, OPERATOR 3 === (int4, bool),
	FUNCTION 1 btint4cmp(int4, int4), FUNCTION 1 (int4, bool) back_cmp(int4, bool), FUNCTION 1 (bool, bool) btboolcmp(bool, bool);
CREATE TABLE back (k int4, t text COLLATE "C");
INSERT INTO back SELECT i, 't' FROM generate_series(1, 150) i;
CREATE INDEX back_k ON back USING fpbtree (k back_ops, t);
SELECT count(*) > 100 AS both, count(*) = count(DISTINCT k + 0) AS once FROM back WHERE k === ANY ('{f,t}'::bool[]);
DROP TABLE back;
DROP OPERATOR FAMILY back_ops USING fpbtree;
DROP OPERATOR === (int4, bool);
DROP FUNCTION back_eq, back_cmp;

-- Operators across types whose family has no comparison function for them can
-- only be filters; and where "=" does not merge, the planner leaves several of
-- them beside each other.
CREATE OPERATOR === (leftarg = int, rightarg = int8, function = int48eq, restrict = eqsel, join = eqjoinsel);
CREATE OPERATOR === (leftarg = int, rightarg = int2, function = int42eq, restrict = eqsel, join = eqjoinsel);
CREATE OPERATOR CLASS cmp_part_ops FOR TYPE int USING fpbtree AS
	OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >,
	FUNCTION 1 btint4cmp(int, int);
ALTER OPERATOR FAMILY cmp_part_ops USING fpbtree ADD
	OPERATOR 1 < (int, int8), OPERATOR 2 <= (int, int8), OPERATOR 3 === (int, int8), OPERATOR 4 >= (int, int8), OPERATOR 5 > (int, int8),
	OPERATOR 1 < (int, int2), OPERATOR 2 <= (int, int2), OPERATOR 3 === (int, int2), OPERATOR 4 >= (int, int2), OPERATOR 5 > (int, int2),
	FUNCTION 1 (int, int2) btint42cmp(int, int2), FUNCTION 1 (int2, int2) btint2cmp(int2, int2);
CREATE TABLE cmp_part (a int, b int, t text COLLATE "C");
INSERT INTO cmp_part SELECT i % 200, i % 7, i FROM generate_series(1, 1500) i;

-- Does an index scan answer as a sequential scan does?
CREATE FUNCTION cmp_agrees(condition text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
	plan text;
	found text[];
	expected text[];
	query text := 'SELECT array_agg(t ORDER BY t) FROM cmp_part WHERE ' || condition;
BEGIN
	EXECUTE 'EXPLAIN (COSTS OFF, FORMAT json) ' || query INTO plan;
	EXECUTE query INTO found;
	PERFORM set_config('enable_seqscan', 'on', true), set_config('enable_indexscan', 'off', true);
	EXECUTE query INTO expected;
	PERFORM set_config('enable_seqscan', 'off', true), set_config('enable_indexscan', 'on', true);
	RETURN plan ~ 'Index Cond' AND found IS NOT DISTINCT FROM expected;
END $$;

CREATE TABLE cmp_conditions (c text);
INSERT INTO cmp_conditions
	SELECT format('a %s %s', op, value) FROM unnest('{<,<=,===,>=,>}'::text[]) op,
		unnest('{5::int8,5::int2,"ANY (''{5,3,900}''::int8[])","ANY (''{3,5,-1}''::int2[])"}'::text[]) value;
INSERT INTO cmp_conditions VALUES
	('a < 20::int8 AND a > 17::int2'),
	('a < 20::int8 AND a > 17::int8'),
	('a < 20::int2 AND a < 18::int8 AND a < 19 AND a > 15::int2 AND a > 15::int8'),
	('a === 5::int8 AND a === 5::int2'),
	('a === 5::int2 AND a === 6::int8'),
	('a === 5::int2 AND a = 5'),
	('a === 5::int2 AND a === 5::int2'),
	('a === 5::int2 AND a === 6::int2'),
	('a === 5::int2 AND a = ANY (''{5,6}'')'),
	('a = ANY (''{5,6,7}'') AND a === 5::int2'),
	('a = ANY (''{5,6,7}'') AND a === ANY (''{6,5}''::int2[])'),
	('a === ANY (''{6,5}''::int2[]) AND a === ANY (''{5,8}''::int2[])'),
	('a === ANY (''{6,5}''::int2[]) AND a === ANY (''{5,8}''::int8[])'),
	('a === ANY (''{5,8}''::int8[]) AND a === ANY (''{6,5}''::int2[]) AND a <= ANY (''{5,8}''::int8[])'),
	('a === 5::int2 AND b = 5'),
	('a === 5::int8 AND b = 5'),
	('a = 5 AND b === 5::int2'),
	('a = 5 AND b === 5::int8'),
	('a = ANY (''{5,6}'') AND b < 5::int2'),
	('a = ANY (''{5,6}'') AND b < 5::int8');
-- words of one column and of two, tuples
CREATE INDEX cmp_part_idx ON cmp_part USING fpbtree (a cmp_part_ops);
SELECT c FROM cmp_conditions WHERE NOT cmp_agrees(c);
DROP INDEX cmp_part_idx;
CREATE INDEX cmp_part_idx ON cmp_part USING fpbtree (a cmp_part_ops, b cmp_part_ops DESC);
SELECT c FROM cmp_conditions WHERE NOT cmp_agrees(c);
DROP INDEX cmp_part_idx;
CREATE INDEX cmp_part_idx ON cmp_part USING fpbtree (a cmp_part_ops DESC, b cmp_part_ops, t);
SELECT c FROM cmp_conditions WHERE NOT cmp_agrees(c);
DROP INDEX cmp_part_idx;

-- A comparison function across types that disagrees with the others can give an
-- array ranges that are not in the order of the index: no entry is read twice.
CREATE FUNCTION cmp_odd(a int, b int8) RETURNS int LANGUAGE plpgsql IMMUTABLE AS
	'BEGIN RETURN CASE WHEN b = 20 AND a <> 11 THEN 1 ELSE btint48cmp(a, b) END; END';
CREATE OPERATOR CLASS cmp_odd_ops FOR TYPE int USING fpbtree AS
	OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >,
	FUNCTION 1 btint4cmp(int, int);
ALTER OPERATOR FAMILY cmp_odd_ops USING fpbtree ADD
	OPERATOR 3 === (int, int8), FUNCTION 1 (int, int8) cmp_odd(int, int8), FUNCTION 1 (int8, int8) btint8cmp(int8, int8);
UPDATE cmp_part SET a = t::int;
CREATE INDEX cmp_part_idx ON cmp_part USING fpbtree (a cmp_odd_ops, t);
SELECT a FROM cmp_part WHERE a === ANY ('{10,20,30}'::int8[]) ORDER BY a;
SELECT a FROM cmp_part WHERE a === ANY ('{10,20,30}'::int8[]) ORDER BY a DESC;

-- A family may compare an integer type with another in a way of its own, or a
-- type of 16 bytes with anything.
CREATE FUNCTION cmp_milli(a int, b int8) RETURNS int LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN btint8cmp(a * 1000::int8, b); END';
CREATE FUNCTION cmp_uuid_text(a uuid, b text) RETURNS int LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN uuid_cmp(a, b::uuid); END';
DO $$
DECLARE
	op text;
BEGIN
	FOREACH op IN ARRAY '{<,<=,=,>=,>}'::text[] LOOP
		EXECUTE format('CREATE FUNCTION "cmp milli %1$s"(a int, b int8) RETURNS boolean LANGUAGE plpgsql IMMUTABLE
			AS ''BEGIN RETURN cmp_milli(a, b) %1$s 0; END''', op);
		EXECUTE format('CREATE FUNCTION "cmp uuid %1$s"(a uuid, b text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE
			AS ''BEGIN RETURN cmp_uuid_text(a, b) %1$s 0; END''', op);
		EXECUTE format('CREATE OPERATOR %1$s~ (leftarg = int, rightarg = int8, function = "cmp milli %1$s")', op);
		EXECUTE format('CREATE OPERATOR %1$s~ (leftarg = uuid, rightarg = text, function = "cmp uuid %1$s")', op);
	END LOOP;
END $$;
CREATE OPERATOR CLASS cmp_milli_ops FOR TYPE int USING fpbtree AS
	OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >,
	FUNCTION 1 btint4cmp(int, int);
ALTER OPERATOR FAMILY cmp_milli_ops USING fpbtree ADD
	OPERATOR 1 <~ (int, int8), OPERATOR 2 <=~ (int, int8), OPERATOR 3 =~ (int, int8), OPERATOR 4 >=~ (int, int8), OPERATOR 5 >~ (int, int8),
	FUNCTION 1 (int, int8) cmp_milli(int, int8), FUNCTION 1 (int8, int8) btint8cmp(int8, int8),
	OPERATOR 1 < (int, int2), OPERATOR 2 <= (int, int2), OPERATOR 3 === (int, int2), OPERATOR 4 >= (int, int2), OPERATOR 5 > (int, int2),
	FUNCTION 1 (int, int2) btint42cmp(int, int2), FUNCTION 1 (int2, int2) btint2cmp(int2, int2);
CREATE OPERATOR CLASS cmp_uuid_ops FOR TYPE uuid USING fpbtree AS
	OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >,
	FUNCTION 1 uuid_cmp(uuid, uuid);
ALTER OPERATOR FAMILY cmp_uuid_ops USING fpbtree ADD
	OPERATOR 1 <~ (uuid, text), OPERATOR 2 <=~ (uuid, text), OPERATOR 3 =~ (uuid, text), OPERATOR 4 >=~ (uuid, text), OPERATOR 5 >~ (uuid, text),
	FUNCTION 1 (uuid, text) cmp_uuid_text(uuid, text), FUNCTION 1 (text, text) bttextcmp(text, text);
DROP INDEX cmp_part_idx;
ALTER TABLE cmp_part ADD u uuid;
UPDATE cmp_part SET u = (ARRAY['00000000-0000-0000-0000-000000000000', '00000000-0000-0000-0000-000000000001', '00000000-0000-0000-ffff-ffffffffffff',
	'00000000-0000-0001-0000-000000000000', '7fffffff-ffff-ffff-ffff-ffffffffffff', '80000000-0000-0000-0000-000000000000', 'ffffffff-ffff-ffff-ffff-fffffffffffe',
	'ffffffff-ffff-ffff-ffff-ffffffffffff'])[1 + a % 8]::uuid;
TRUNCATE cmp_conditions;
INSERT INTO cmp_conditions
	SELECT format('a %s~ %s', op, value) FROM unnest('{<,<=,=,>=,>}'::text[]) op,
		unnest('{0,999,5000,5001,1500000,1500001,-2147483648000,-2147483648001,2147483647000,2147483647001,"ANY (''{5000,5001,7000}''::int8[])"}'::text[]) value
	UNION ALL SELECT format('u %s~ %L::text', op, value) FROM unnest('{<,<=,=,>=,>}'::text[]) op, (SELECT DISTINCT u FROM cmp_part) v (value)
	UNION ALL SELECT 'u =~ ''00000000-0000-0000-0000-000000000002''::text';
INSERT INTO cmp_conditions VALUES
	('a <~ 20000 AND a < 15::int2'),
	('a < 20::int2 AND a <~ 15000'),
	('a =~ 5000 AND a === 5::int2'),
	('a === 5::int2 AND a > 3::int2 AND a <~ 9000'),
	('a =~ ANY (''{5000,7000}''::int8[]) AND a > 5::int2'),
	('a =~ ANY (''{5000,7000}''::int8[]) AND a = ANY (''{7,8}'')'),
	('a = ANY (''{7,8}'') AND a =~ ANY (''{5000,7000}''::int8[])');
CREATE INDEX cmp_part_idx ON cmp_part USING fpbtree (a cmp_milli_ops);
CREATE INDEX cmp_part_u ON cmp_part USING fpbtree (u cmp_uuid_ops);
SELECT c FROM cmp_conditions WHERE NOT cmp_agrees(c);
DROP INDEX cmp_part_idx, cmp_part_u;
CREATE INDEX cmp_part_idx ON cmp_part USING fpbtree (a cmp_milli_ops DESC);
CREATE INDEX cmp_part_u ON cmp_part USING fpbtree (u cmp_uuid_ops DESC);
SELECT c FROM cmp_conditions WHERE NOT cmp_agrees(c);
DROP INDEX cmp_part_idx;
CREATE INDEX cmp_part_idx ON cmp_part USING fpbtree (a cmp_milli_ops, b DESC) INCLUDE (t);
SELECT c FROM cmp_conditions WHERE NOT cmp_agrees(c);

-- The server's comparator of integers, used for a type that is stored like one.
CREATE OPERATOR CLASS cmp_regclass_ops FOR TYPE regclass USING fpbtree AS
	OPERATOR 1 < (oid, oid), OPERATOR 2 <= (oid, oid), OPERATOR 3 = (oid, oid), OPERATOR 4 >= (oid, oid), OPERATOR 5 > (oid, oid),
	FUNCTION 1 (regclass, regclass) btoidcmp(oid, oid);
ALTER TABLE cmp_part ADD r regclass;
UPDATE cmp_part SET r = a::oid;
CREATE INDEX cmp_part_r ON cmp_part USING fpbtree (r cmp_regclass_ops);
TRUNCATE cmp_conditions;
INSERT INTO cmp_conditions VALUES ('r = 5::oid'), ('r < 30::oid'), ('r > 1490::oid'), ('r BETWEEN 10::oid AND 20::oid');
SELECT c FROM cmp_conditions WHERE NOT cmp_agrees(c);

-- Names that are stored as such, and integers that are stored as longer ones.
CREATE OPERATOR CLASS cmp_name_ops FOR TYPE name USING fpbtree AS
	OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >,
	FUNCTION 1 btnamecmp(name, name);
CREATE OPERATOR CLASS cmp_stored_ops FOR TYPE int USING fpbtree AS
	OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >,
	FUNCTION 1 btint4cmp(int, int), STORAGE int8;
ALTER TABLE cmp_part ADD n name;
UPDATE cmp_part SET n = t, a = 750 - t::int;
CREATE INDEX cmp_part_n ON cmp_part USING fpbtree (n cmp_name_ops);
CREATE INDEX cmp_part_stored ON cmp_part USING fpbtree (a cmp_stored_ops);
DROP INDEX cmp_part_idx;
TRUNCATE cmp_conditions;
INSERT INTO cmp_conditions VALUES
	('n = ''5'''), ('n < ''30'''), ('n >= ''999'''), ('n = ANY (''{5,1400,x}'')'),
	('a = -7'), ('a < -740'), ('a = ANY (''{-7,7}'')');
SELECT c FROM cmp_conditions WHERE NOT cmp_agrees(c);

-- Integers behind a text, the server's comparators of which are not called: index scans return them in their order.
CREATE TABLE cmp_integers (t text COLLATE "C", s int2, i int4, l int8, d date, p timestamp, z timestamptz);
CREATE INDEX ON cmp_integers USING fpbtree (t, s);
CREATE INDEX ON cmp_integers USING fpbtree (t, i);
CREATE INDEX ON cmp_integers USING fpbtree (t, l);
CREATE INDEX ON cmp_integers USING fpbtree (t, d);
CREATE INDEX ON cmp_integers USING fpbtree (t, p);
CREATE INDEX ON cmp_integers USING fpbtree (t, z);
INSERT INTO cmp_integers
	SELECT 'same', k * 60, k * 4000000, k * 4611686018427387, '2000-01-01'::date + k::int * 4000,
		'2000-01-01'::timestamp + k * interval '1 h', '2000-01-01 00:00Z'::timestamptz + k * interval '1 h'
	FROM (SELECT (i * 7919 % 1001 - 500)::int8 AS k FROM generate_series(1, 1000) i) x;
SET enable_sort = off;
SELECT (SELECT count(*) FROM (SELECT s AS v, lag(s) OVER () AS before FROM (SELECT s FROM cmp_integers ORDER BY t, s) x) y WHERE before >= v) AS s,
	(SELECT count(*) FROM (SELECT i AS v, lag(i) OVER () AS before FROM (SELECT i FROM cmp_integers ORDER BY t, i) x) y WHERE before >= v) AS i,
	(SELECT count(*) FROM (SELECT l AS v, lag(l) OVER () AS before FROM (SELECT l FROM cmp_integers ORDER BY t, l) x) y WHERE before >= v) AS l,
	(SELECT count(*) FROM (SELECT d AS v, lag(d) OVER () AS before FROM (SELECT d FROM cmp_integers ORDER BY t, d) x) y WHERE before >= v) AS d,
	(SELECT count(*) FROM (SELECT p AS v, lag(p) OVER () AS before FROM (SELECT p FROM cmp_integers ORDER BY t, p) x) y WHERE before >= v) AS p,
	(SELECT count(*) FROM (SELECT z AS v, lag(z) OVER () AS before FROM (SELECT z FROM cmp_integers ORDER BY t, z) x) y WHERE before >= v) AS z;
SELECT count(*) FROM cmp_integers WHERE t = 'same' AND l >= 0;
RESET enable_sort;

RESET fpbtree.inner_page_cache;
RESET enable_seqscan;
RESET enable_bitmapscan;
SET client_min_messages = warning;
DROP TABLE cmp_arrays, cmp_outer, cmp_inner, cmp_part, cmp_conditions, cmp_integers;
DROP TYPE cmp_elem CASCADE;
DROP OPERATOR FAMILY cmp_ops USING fpbtree CASCADE;
DROP OPERATOR FAMILY cmp_part_ops USING fpbtree;
DROP OPERATOR FAMILY cmp_odd_ops USING fpbtree;
DROP OPERATOR FAMILY cmp_milli_ops USING fpbtree;
DROP OPERATOR FAMILY cmp_uuid_ops USING fpbtree;
DROP OPERATOR FAMILY cmp_regclass_ops USING fpbtree;
DROP OPERATOR FAMILY cmp_name_ops USING fpbtree;
DROP OPERATOR FAMILY cmp_stored_ops USING fpbtree;
DROP OPERATOR === (int, int8);
DROP OPERATOR === (int, int2);
DO $$
DECLARE
	op text;
BEGIN
	FOREACH op IN ARRAY '{<,<=,=,>=,>}'::text[] LOOP
		EXECUTE format('DROP OPERATOR %1$s~ (int, int8); DROP OPERATOR %1$s~ (uuid, text)', op);
		EXECUTE format('DROP FUNCTION "cmp milli %1$s", "cmp uuid %1$s"', op);
	END LOOP;
END $$;
DROP FUNCTION cmp_compare, cmp_agrees, cmp_odd, cmp_milli, cmp_uuid_text;
RESET client_min_messages;
