-- fpbtree_advise and fpbtree_expected_size: what btree indexes would be as
-- fpbtree, and how they become it.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS fpbtree;
CREATE SCHEMA advise;
CREATE SCHEMA "Odd ""schema";
SET search_path = advise, public;
SET enable_seqscan = off;
SET timezone = 'UTC';

-- Each case has a table of its own, so that there is one index for a query to use.
CREATE TYPE pair AS (a int4, b text);
CREATE OPERATOR FAMILY backwards USING btree;
CREATE FUNCTION backwards(int4, int4) RETURNS int4 LANGUAGE sql IMMUTABLE STRICT AS 'SELECT btint4cmp($2, $1)';
CREATE OPERATOR CLASS "Back wards" FOR TYPE int4 USING btree FAMILY backwards AS
  OPERATOR 1 >, OPERATOR 2 >=, OPERATOR 3 =, OPERATOR 4 <=, OPERATOR 5 <, FUNCTION 1 backwards(int4, int4);
CREATE FUNCTION plus(int4) RETURNS int4 LANGUAGE sql IMMUTABLE AS 'SELECT $1 + 1';

CREATE TABLE cases (name text, key text, index text, condition text DEFAULT 'k = (SELECT k FROM @ LIMIT 1)');
INSERT INTO cases VALUES
  ('t_int4', 'i', '(k)'),
  ('t_int8', 'hashint8extended(i, 0)', '(k DESC)'),
  ('t_uuid', 'md5(i::text)::uuid', '(k)'),
  ('t_text_c', 'md5(i::text) COLLATE "C"', '(k)'),
  ('t_text_icu', '(''name '' || i % 1000) COLLATE "und-x-icu"', '(k)'),
  ('t_text_pattern', 'md5(i::text)', '(k text_pattern_ops)'),
  ('t_name', 'md5(i::text)::name', '(k)'),
  ('t_numeric', 'i * 1.37', '(k) WITH (fillfactor = 70)'),
  ('t_record', 'row(i % 100, ''x'' || i)::pair', '(k)'),
  ('t_few', 'i % 7', '(k) WITH (deduplicate_items = off)'),
  ('t_some', '(i % 500)::int8', '(k)'),
  ('t_include', 'i', '(k) INCLUDE (i, j)'),
  ('t_two', 'i % 3', '(k, i)');
INSERT INTO cases VALUES
  ('t_three', 'i % 3', '(k, j, i DESC)', 'k = 1 AND j = (SELECT j FROM @ WHERE k = 1 LIMIT 1)'),
  ('t_text_few', '''status '' || i % 5', '(k DESC NULLS LAST)', 'k IS NULL'),
  ('t_timestamptz', '''2024-01-01''::timestamptz + i * ''1 s''::interval', '(k) WHERE k < ''2024-02-03''',
   'k = (SELECT k FROM @ LIMIT 1) AND k < ''2024-02-03'''),
  ('t_null', 'CASE WHEN i % 3 > 0 THEN i END', '(k NULLS FIRST)', 'k IS NULL'),
  ('t_partial', 'i', '(k) WITH (fillfactor = 80, deduplicate_items = no) WHERE CASE WHEN k % 2 = 0 THEN true ELSE i < 50 END',
   'k < 100 AND CASE WHEN k % 2 = 0 THEN true ELSE i < 50 END'),
  ('t_expression', 'i', '(plus(k), (j || '' USING btree (x) WHERE WITH (y)'')) WHERE j <> '') WHERE WITH (fillfactor=1)''',
   'plus(k) = 5 AND j <> '') WHERE WITH (fillfactor=1)'''),
  ('t_class', 'i', '(k "Back wards")', 'k < 100'),
  ('t_empty', 'i', '(k)', 'k < 100');

-- Runs the query of each case. What it returns is compared later.
CREATE TABLE answers (name text, run text, rows int4[]);
CREATE PROCEDURE query_all(run text) LANGUAGE plpgsql AS $$
DECLARE c record;
BEGIN
  FOR c IN SELECT * FROM cases LOOP
    EXECUTE format('INSERT INTO answers SELECT %L, %L, array_agg(i ORDER BY i) FROM %s WHERE ', c.name, run, c.name)
      || replace(c.condition, '@', c.name);
  END LOOP;
END $$;

DO $$
DECLARE c record;
BEGIN
  FOR c IN SELECT * FROM cases LOOP
    EXECUTE format('CREATE TABLE %I AS SELECT i, md5(i::text) AS j, %s AS k FROM generate_series(1, %s) i ORDER BY hashint4(i)',
                   c.name, c.key, CASE c.name WHEN 't_empty' THEN 0 ELSE current_setting('block_size')::int4 END);
    EXECUTE format('CREATE INDEX %s_i ON %1$s %s', c.name, c.index);
  END LOOP;
END $$;

-- larger than the sample that is looked at; leaves are full, half full, and empty
CREATE TABLE large (i int4, k text);
ALTER TABLE large ALTER k SET STORAGE plain;
INSERT INTO large
  SELECT i, (SELECT string_agg(md5(i::text || j), '') FROM generate_series(1, current_setting('block_size')::int4 / 512) j)
  FROM generate_series(1, 6000) i;
CREATE INDEX large_i ON large (k);
INSERT INTO large SELECT -i, k || k FROM large WHERE i < 1500;
DELETE FROM large WHERE k < '2';
VACUUM large;
INSERT INTO cases VALUES ('large', '', '');

-- odd names; two have the first 60 bytes in common, and what they would be called is taken
CREATE TABLE "Odd ""schema"."T'able" ("Co""l" int4, "where" text);
INSERT INTO "Odd ""schema"."T'able" SELECT i, 'x' || i FROM generate_series(1, 10000) i;
CREATE UNIQUE INDEX "I USING btree (""x"") $$ %s WHERE \" ON "Odd ""schema"."T'able" ("Co""l");
COMMENT ON INDEX "Odd ""schema"."I USING btree (""x"") $$ %s WHERE \" IS 'it''s \odd\';
CREATE INDEX n23456789_123456789_123456789_123456789_123456789_123456789_aaa ON "Odd ""schema"."T'able" ("where", "Co""l");
CREATE INDEX n23456789_123456789_123456789_123456789_123456789_123456789_bbb ON "Odd ""schema"."T'able" ("Co""l") WHERE "where" <> '';
CREATE INDEX short ON "Odd ""schema"."T'able" (("where" || 'x'), "Co""l");
ALTER INDEX "Odd ""schema".short ALTER COLUMN 1 SET STATISTICS 7;
CREATE TABLE "Odd ""schema".short_fpb ();

-- constraints, and what a table knows an index by
CREATE TABLE keys (a int4 PRIMARY KEY, b int4 UNIQUE, c int4 UNIQUE DEFERRABLE, d int4,
  CONSTRAINT excluded EXCLUDE (d WITH =) WITH (deduplicate_items = off, fillfactor = 90) WHERE (d > 5) DEFERRABLE INITIALLY DEFERRED);
INSERT INTO keys SELECT i, i, i, i FROM generate_series(1, 10000) i;
ALTER TABLE keys CLUSTER ON keys_b_key;
CREATE UNIQUE INDEX keys_d ON keys (d) INCLUDE (a) NULLS NOT DISTINCT WITH (fillfactor = 99) WHERE d <> 6;
SET allow_in_place_tablespaces = true;
CREATE TABLESPACE regress_advise LOCATION '';
CREATE INDEX keys_elsewhere ON keys (b) TABLESPACE regress_advise WHERE b <> 0;
CREATE TABLE referred (a int4 UNIQUE);
INSERT INTO referred SELECT generate_series(1, 10000);
CREATE TABLE referring (a int4 CONSTRAINT refers REFERENCES referred (a));
CREATE MATERIALIZED VIEW seen AS SELECT a FROM keys;
CREATE UNIQUE INDEX seen_a ON seen (a);

-- partitions, and partitions of these
CREATE TABLE parts (a int4, b int4) PARTITION BY RANGE (a);
CREATE TABLE parts1 PARTITION OF parts FOR VALUES FROM (0) TO (5000);
CREATE TABLE parts2 PARTITION OF parts FOR VALUES FROM (5000) TO (20000) PARTITION BY LIST (a);
CREATE TABLE parts3 PARTITION OF parts2 DEFAULT;
INSERT INTO parts SELECT i, i FROM generate_series(1, 10000) i;
CREATE INDEX parts_b ON parts (b DESC) WITH (fillfactor = 75);
CREATE UNIQUE INDEX parts_a ON parts (a);
CREATE INDEX parts1_own ON parts1 (a, b);

-- not to be advised on
CREATE TABLE others (a int4);
INSERT INTO others SELECT i / 2 FROM generate_series(1, 10000) i;
CREATE INDEX others_hash ON others USING hash (a);
CREATE INDEX others_fpbtree ON others USING fpbtree (a);
CREATE UNIQUE INDEX CONCURRENTLY others_invalid ON others (a);
CREATE TEMP TABLE own_temporary (a int4);
INSERT INTO own_temporary SELECT generate_series(1, 10000);
CREATE INDEX own_temporary_a ON own_temporary (a);
CREATE TABLE another (a int4);
CREATE INDEX another_unused ON another (a);

ANALYZE;
CALL query_all('btree');
SELECT count(*) FROM keys WHERE d = 5;
SELECT count(*) FROM "Odd ""schema"."T'able" WHERE "where" = 'x5';
SELECT count(*) FROM "Odd ""schema"."T'able" WHERE "where" || 'x' = 'x5x';
SELECT pg_stat_force_next_flush();
BEGIN; COMMIT;

-- Nothing of whoever calls it, or of the tables' owners, is run, and his settings make no difference.
CREATE SCHEMA evil;
CREATE FUNCTION evil.format(text, VARIADIC anyarray) RETURNS text LANGUAGE plpgsql AS $$BEGIN RAISE 'evil'; END$$;
CREATE FUNCTION evil.eq(oid, oid) RETURNS bool LANGUAGE plpgsql AS $$BEGIN RAISE 'evil'; END$$;
CREATE OPERATOR evil.= (LEFTARG = oid, RIGHTARG = oid, FUNCTION = evil.eq);
CREATE TABLE evil.pg_class (oid oid);
CREATE FUNCTION evil.fpbtree_expected_size(regclass) RETURNS int8 LANGUAGE plpgsql AS $$BEGIN RAISE 'evil'; END$$;
CREATE OR REPLACE FUNCTION plus(int4) RETURNS int4 LANGUAGE plpgsql IMMUTABLE AS $$BEGIN RAISE 'evil'; END$$;
-- comparators are, as they are by CREATE INDEX: as the table's owner
CREATE ROLE regress_advise;
ALTER TABLE t_class OWNER TO regress_advise;
CREATE OR REPLACE FUNCTION backwards(int4, int4) RETURNS int4 LANGUAGE plpgsql IMMUTABLE STRICT AS
  $$BEGIN IF current_user <> 'regress_advise' THEN RAISE 'evil'; END IF; RETURN btint4cmp($2, $1); END$$;
SET search_path = evil, pg_catalog, advise;
SET quote_all_identifiers = on;
SET datestyle = 'SQL, DMY';
CREATE TABLE advise.plan AS SELECT * FROM public.fpbtree_advise(0);
SET search_path = advise, public;
RESET quote_all_identifiers;
RESET datestyle;
CREATE OR REPLACE FUNCTION backwards(int4, int4) RETURNS int4 LANGUAGE sql IMMUTABLE STRICT AS 'SELECT btint4cmp($2, $1)';
CREATE OR REPLACE FUNCTION plus(int4) RETURNS int4 LANGUAGE sql IMMUTABLE AS 'SELECT $1 + 1';

-- indexes that it should know, and doesn't; and the other way round
SELECT name FROM cases WHERE name || '_i' NOT IN (SELECT index::text FROM plan) ORDER BY name;
SELECT index FROM plan
  WHERE "table" IN ('others'::regclass, 'another'::regclass, 'own_temporary'::regclass, 'public.fpbtree_tuning'::regclass) OR "table"::oid < 16384
        OR "table"::text LIKE 'pg\_%';
SELECT count(*) FROM fpbtree_advise(1000000000);
SELECT count(*) FROM fpbtree_advise(NULL);

DELETE FROM plan p USING pg_class c
  WHERE c.oid = p."table" AND c.relnamespace NOT IN ('advise'::regnamespace, '"Odd ""schema"'::regnamespace);

-- The expected sizes. That of an index larger than the sample may be 10% off, all others are right to the page; the
-- statements are those of which the names are known.
CREATE TABLE definitions AS SELECT p.index::text AS name, pg_get_indexdef(p.index) AS definition, p.index::oid AS old FROM plan p;
SELECT regexp_replace(s.statement, '_\d+_fpb1', '_OID_fpb1') AS statement
  FROM plan p, unnest(p.statements) WITH ORDINALITY s (statement, n)
  WHERE p.index::text <> 'parts_a' -- not in 17
  ORDER BY p.index::text COLLATE "C", n;
\set ECHO none
SELECT s FROM plan p, unnest(p.statements) WITH ORDINALITY s (s, n) ORDER BY p.index, n \gexec
\set ECHO all
SELECT c.name, CASE
    WHEN c.name = 'large' AND abs(p.expected_size - pg_relation_size(x.indexrelid)) < pg_relation_size(x.indexrelid) * 0.1 THEN 'close'
    WHEN p.expected_size = pg_relation_size(x.indexrelid) THEN 'equal'
    ELSE p.expected_size || ' expected, not ' || pg_relation_size(x.indexrelid) END AS size
  FROM cases c JOIN plan p ON p."table" = c.name::regclass
       JOIN pg_index x ON x.indrelid = p."table" AND x.indexrelid <> p.index
  ORDER BY c.name;
SELECT p.index::text AS partitioned, p.size = sum(pg_relation_size(o.relid)) AS size,
       p.expected_size = sum(pg_relation_size(n.relid)) AS expected_size
  FROM plan p, pg_partition_tree(p.index) o, pg_partition_tree((p.index::text || '_fpb')::regclass) n
  WHERE p.index = 'parts_b'::regclass AND o.isleaf AND n.isleaf
        AND (SELECT indrelid FROM pg_index WHERE indexrelid = o.relid) = (SELECT indrelid FROM pg_index WHERE indexrelid = n.relid)
  GROUP BY 1, p.size, p.expected_size;

-- what is lost
CREATE TABLE losses (name text, in_17 text, in_18 text);
INSERT INTO losses VALUES
  ('t_two_i', NULL, 'skip scans: the first column has few values'),
  ('t_three_i', NULL, 'skip scans: the first column has few values'),
  ('"Odd ""schema"."I USING btree (""x"") $$ %s WHERE \"', 'INSERT ... ON CONFLICT into the table', NULL),
  ('keys_pkey', 'the primary key keys_pkey: a unique index takes its place, but not for GROUP BY and ON CONFLICT ON CONSTRAINT; INSERT ... ON CONFLICT into the table; replica identity on a subscriber',
   'the primary key keys_pkey: a unique index takes its place, but not for GROUP BY and ON CONFLICT ON CONSTRAINT'),
  ('keys_b_key', 'the unique constraint keys_b_key: a unique index takes its place, but not for ON CONFLICT ON CONSTRAINT; INSERT ... ON CONFLICT into the table; CLUSTER by sorting',
   'the unique constraint keys_b_key: a unique index takes its place, but not for ON CONFLICT ON CONSTRAINT; CLUSTER by sorting'),
  ('keys_c_key', 'the unique constraint keys_c_key: a unique index takes its place, but not for ON CONFLICT ON CONSTRAINT; its being deferrable; INSERT ... ON CONFLICT into the table',
   'the unique constraint keys_c_key: a unique index takes its place, but not for ON CONFLICT ON CONSTRAINT; its being deferrable'),
  ('keys_d', 'INSERT ... ON CONFLICT into the table', NULL),
  ('excluded', 'no writing to the table while it is made', 'no writing to the table while it is made'),
  ('referred_a_key', 'the unique constraint referred_a_key: a unique index takes its place, but not for ON CONFLICT ON CONSTRAINT; constraint refers on table advise.referring: it has to stay for these; INSERT ... ON CONFLICT into the table',
   'the unique constraint referred_a_key: a unique index takes its place, but not for ON CONFLICT ON CONSTRAINT; constraint refers on table advise.referring: it has to stay until they go'),
  ('seen_a', 'REFRESH MATERIALIZED VIEW CONCURRENTLY', NULL);
SELECT d.name, p.lost
  FROM plan p JOIN definitions d ON d.old = p.index LEFT JOIN losses l ON l.name = d.name
  WHERE p.lost IS DISTINCT FROM CASE WHEN current_setting('server_version_num')::int4 < 180000 THEN l.in_17 ELSE l.in_18 END;
SELECT d.name AS stays FROM plan p JOIN definitions d ON d.old = p.index WHERE p.afterwards IS NULL ORDER BY 1;

-- The new ones take the place of the old ones, and have all that they had.
SELECT regexp_replace(a.statement, '_\d+_fpb1', '_OID_fpb1') AS statement
  FROM plan p JOIN definitions d ON d.old = p.index, unnest(p.afterwards) WITH ORDINALITY a (statement, n)
  WHERE d.name ~ '^(t_int4|"|keys|excluded|parts_b)' ORDER BY d.name COLLATE "C", n;
\set ECHO none
SELECT a FROM plan p, unnest(p.afterwards) WITH ORDINALITY a (a, n) ORDER BY p.index, n \gexec
\set ECHO all
SELECT d.name, d.definition AS was, pg_get_indexdef(to_regclass(d.name)) AS is
  FROM plan p JOIN definitions d ON d.old = p.index
  WHERE p.afterwards IS NOT NULL AND replace(pg_get_indexdef(to_regclass(d.name)), 'USING fpbtree', 'USING btree') IS DISTINCT FROM
        replace(regexp_replace(d.definition, '(, )?deduplicate_items=''?\w+''?(, )?', ''), ' WITH ()', '');
SELECT count(*) > 20 AS replaced, count(*) FILTER (WHERE pg_get_indexdef(to_regclass(d.name)) NOT LIKE '%USING fpbtree%') AS not_replaced
  FROM plan p JOIN definitions d ON d.old = p.index WHERE p.afterwards IS NOT NULL;
SELECT obj_description(c.oid, 'pg_class') FROM pg_class c WHERE relname LIKE 'I USING btree%';
SELECT attstattarget FROM pg_attribute WHERE attrelid = '"Odd ""schema".short'::regclass AND attnum = 1;
SELECT spcname FROM pg_class c JOIN pg_tablespace s ON s.oid = c.reltablespace WHERE c.oid = 'keys_elsewhere'::regclass;
SELECT indexrelid::regclass, indisclustered, indisreplident FROM pg_index
  WHERE indrelid = 'keys'::regclass AND (indisclustered OR indisreplident) ORDER BY 1;
SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'keys'::regclass AND contype <> 'n' ORDER BY 1;
SELECT attname FROM pg_attribute WHERE attrelid = 'keys'::regclass AND attnotnull AND attnum > 0;
SELECT p.relid, p.parentrelid, i.indisvalid FROM pg_partition_tree('parts_b') p JOIN pg_index i ON i.indexrelid = p.relid;

-- They are sound, and answer as the old ones did.
CALL query_all('fpbtree');
SELECT b.name FROM answers b JOIN answers f USING (name)
  WHERE b.run = 'btree' AND f.run = 'fpbtree' AND b.rows IS DISTINCT FROM f.rows;
SELECT count(*) = 2 * (SELECT count(*) FROM cases) AS all_answered, count(*) FILTER (WHERE cardinality(rows) > 0) > 30 AS most_with_rows FROM answers;
SELECT count(fpbtree_check(c.oid, true)) > 30 AS sound FROM pg_class c JOIN pg_am a ON a.oid = c.relam AND a.amname = 'fpbtree'
  WHERE c.relkind = 'i' AND c.relnamespace IN ('advise'::regnamespace, '"Odd ""schema"'::regnamespace);

-- Who may ask, and for what.
GRANT USAGE ON SCHEMA advise TO regress_advise;
SET ROLE regress_advise;
SELECT count(*) FROM fpbtree_advise();
SELECT fpbtree_expected_size('referred_a_key');
RESET ROLE;
GRANT pg_stat_scan_tables TO regress_advise;
SET ROLE regress_advise;
SELECT "table" FROM fpbtree_advise(0) WHERE index = 'referred_a_key'::regclass;
SELECT fpbtree_expected_size('referred_a_key') > 0 AS size;
RESET ROLE;
SELECT fpbtree_expected_size('referred');
SELECT fpbtree_expected_size('others_fpbtree');
SELECT fpbtree_expected_size('others_invalid') IS NULL AS not_valid;
CREATE INDEX parts_ab ON parts (a, b);
SELECT fpbtree_expected_size('parts_ab');
SELECT fpbtree_expected_size(NULL) IS NULL, fpbtree_expected_size(1) IS NULL;

-- Nobody else's function is called, though it fit better.
CREATE FUNCTION public.fpbtree_expected_size(oid) RETURNS bigint LANGUAGE plpgsql AS $$BEGIN RAISE 'evil'; END$$;
SELECT count(*) > 0 AS advised FROM fpbtree_advise(0);
DROP FUNCTION public.fpbtree_expected_size(oid);

-- A foreign partition has no index, and its absence can't be attached.
CREATE FOREIGN DATA WRAPPER advise_wrapper;
CREATE SERVER advise_server FOREIGN DATA WRAPPER advise_wrapper;
CREATE TABLE mixed (a int) PARTITION BY RANGE (a);
CREATE TABLE mixed_1 PARTITION OF mixed FOR VALUES FROM (0) TO (10000);
INSERT INTO mixed SELECT generate_series(1, 5000);
CREATE INDEX mixed_a ON mixed (a);
SELECT count(*) FROM fpbtree_advise(0) WHERE index = 'mixed_a'::regclass;
CREATE FOREIGN TABLE mixed_2 PARTITION OF mixed FOR VALUES FROM (10000) TO (20000) SERVER advise_server;
SELECT count(*) FROM fpbtree_advise(0) WHERE index = 'mixed_a'::regclass;
DROP TABLE mixed;
DROP FOREIGN DATA WRAPPER advise_wrapper CASCADE;

DROP SCHEMA advise, "Odd ""schema", evil CASCADE;
DROP TABLESPACE regress_advise;
DROP ROLE regress_advise;
