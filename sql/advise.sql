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
COMMENT ON CONSTRAINT keys_b_key ON keys IS 'of the constraint';
COMMENT ON INDEX keys_pkey IS 'of the index';
COMMENT ON CONSTRAINT excluded ON keys IS 'of the constraint';
COMMENT ON INDEX excluded IS 'of the index';
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
CREATE TABLE candidates AS
  SELECT array_agg(c.oid::regclass) AS indexes FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am a ON a.oid = c.relam AND a.amname = 'btree'
  WHERE c.relnamespace IN ('advise'::regnamespace, '"Odd ""schema"'::regnamespace) AND c.relkind = 'i' AND NOT c.relispartition AND i.indisvalid;
SET search_path = evil, pg_catalog, advise;
SET quote_all_identifiers = on;
SET datestyle = 'SQL, DMY';
CREATE TABLE advise.plan AS
  SELECT index AS name, index::regclass AS index, "table"::regclass AS "table", size, rebuilt_size, expected_size, scans, tuples_read, inserts, updates,
         hot_updates, reason, lost, statements, afterwards FROM public.fpbtree_advise(0);
CREATE TABLE advise.rest AS
  SELECT r.*, e.size AS expected_size, e.btree_size FROM public.fpbtree_replacements((SELECT indexes FROM advise.candidates), 'fpbtree') r, public.fpbtree_expected_size(r.index) e;
SET search_path = advise, public;
RESET quote_all_identifiers;
RESET datestyle;
CREATE OR REPLACE FUNCTION backwards(int4, int4) RETURNS int4 LANGUAGE sql IMMUTABLE STRICT AS 'SELECT btint4cmp($2, $1)';
CREATE OR REPLACE FUNCTION plus(int4) RETURNS int4 LANGUAGE sql IMMUTABLE AS 'SELECT $1 + 1';

-- Lookups are a reason where they gain something: not where keys are stored as tuples.
SELECT name, form FROM plan, fpbtree_expected_size(index) WHERE reason ~ 'lookups' AND name LIKE 'advise.t\_%' ORDER BY name COLLATE "C";
-- What is saved is saved against a btree made anew; names are qualified, and are names after others have taken their place.
SELECT name FROM plan WHERE reason ~ 'smaller' AND expected_size >= 0.95 * rebuilt_size OR name <> format('%I.%I', 'advise', replace(index::text, '"', '')) AND name NOT LIKE '%Odd%';
-- indexes that it should know, and doesn't; and the other way round
SELECT index FROM plan
  WHERE "table" IN ('others'::regclass, 'another'::regclass, 'own_temporary'::regclass) OR "table"::oid < 16384
        OR "table"::text LIKE 'pg\_%';
SELECT count(*) FROM fpbtree_advise(1000000000);
SELECT count(*) FROM fpbtree_advise(NULL);

DELETE FROM plan p USING pg_class c
  WHERE c.oid = p."table" AND c.relnamespace NOT IN ('advise'::regnamespace, '"Odd ""schema"'::regnamespace);

-- The others, for which there is no reason, could become fpbtree as well.
INSERT INTO plan (index, "table", size, expected_size, rebuilt_size, lost, statements, afterwards)
  SELECT r.index, i.indrelid, pg_relation_size(r.index), r.expected_size, r.btree_size, r.lost, r.statements, r.afterwards
  FROM rest r JOIN pg_index i ON i.indexrelid = r.index
  WHERE r.index NOT IN (SELECT index FROM plan) AND i.indrelid NOT IN ('others'::regclass, 'another'::regclass);
SELECT name FROM cases WHERE name || '_i' NOT IN (SELECT index::text FROM plan) ORDER BY name;

-- The expected sizes. That of an index larger than the sample may be 10% off, all others are right to the page; the
-- statements are those of which the names are known.
-- (What there is of an index besides its columns is compared when all have gone there and back.)
CREATE VIEW state AS
  SELECT i.indrelid::regclass AS "table", c.relname, pg_get_indexdef(c.oid) AS definition, i.indisprimary, i.indisunique, i.indisclustered, i.indisreplident,
         t.relreplident, s.spcname, c.reloptions, obj_description(c.oid, 'pg_class') AS comment,
         (SELECT array_agg(a.attstattarget ORDER BY a.attnum) FROM pg_attribute a WHERE a.attrelid = c.oid) AS targets,
         (SELECT inhparent::regclass::text FROM pg_inherits WHERE inhrelid = c.oid) AS parent,
         k.conname, pg_get_constraintdef(k.oid) AS "constraint", obj_description(k.oid, 'pg_constraint') AS constraint_comment
  FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_class t ON t.oid = i.indrelid LEFT JOIN pg_tablespace s ON s.oid = c.reltablespace
       LEFT JOIN pg_constraint k ON k.conindid = c.oid AND k.conrelid = t.oid AND k.contype IN ('p', 'u', 'x')
  WHERE c.relnamespace IN ('advise'::regnamespace, '"Odd ""schema"'::regnamespace) AND i.indisvalid
        AND t.relname NOT IN ('others', 'another');
CREATE TABLE before AS SELECT * FROM state;
CREATE TABLE definitions AS SELECT p.index::text AS name, pg_get_indexdef(p.index) AS definition, p.index::oid AS old FROM plan p;
SELECT regexp_replace(s.statement, '_\d+_fpb1', '_OID_fpb1') AS statement
  FROM plan p, unnest(p.statements) WITH ORDINALITY s (statement, n)
  WHERE p.index::text <> 'parts_a' -- not in 17
  ORDER BY p.index::text COLLATE "C", n;
\set ECHO none
SET client_min_messages = error; -- 17 warns of unique indexes
SELECT s FROM plan p, unnest(p.statements) WITH ORDINALITY s (s, n) ORDER BY p.index, n \gexec
SET client_min_messages = warning;
\set ECHO all
SELECT c.name, CASE
    WHEN c.name = 'large' AND abs(p.expected_size - pg_relation_size(x.indexrelid)) < pg_relation_size(x.indexrelid) * 0.1 THEN 'close'
    WHEN p.expected_size = pg_relation_size(x.indexrelid) THEN 'equal'
    ELSE p.expected_size || ' expected, not ' || pg_relation_size(x.indexrelid) END AS size
  FROM cases c JOIN plan p ON p."table" = c.name::regclass
       JOIN pg_index x ON x.indrelid = p."table" AND x.indexrelid <> p.index
  ORDER BY c.name;
-- What it says of a btree made anew is right, too, to the page or nearly so.
CREATE TABLE rebuilt AS SELECT index, rebuilt_size FROM plan WHERE (SELECT relkind FROM pg_class WHERE oid = index) = 'i' AND index <> 't_class_i'::regclass;
SELECT size > 1.2 * rebuilt_size AS bloated FROM plan WHERE index = 'large_i'::regclass;
\set ECHO none
SELECT format('REINDEX INDEX %s', index) FROM rebuilt \gexec
\set ECHO all
SELECT index, rebuilt_size, pg_relation_size(index) FROM rebuilt
  WHERE rebuilt_size <> pg_relation_size(index) AND (index <> 'large_i'::regclass OR abs(rebuilt_size - pg_relation_size(index)) > pg_relation_size(index) * 0.1);
SELECT p.index::text AS partitioned, p.size = sum(pg_relation_size(o.relid)) AS size,
       p.expected_size = sum(pg_relation_size(n.relid)) AS expected_size
  FROM plan p, pg_partition_tree(p.index) o, pg_partition_tree((p.index::text || '_fpb')::regclass) n
  WHERE p.index = 'parts_b'::regclass AND o.isleaf AND n.isleaf
        AND (SELECT indrelid FROM pg_index WHERE indexrelid = o.relid) = (SELECT indrelid FROM pg_index WHERE indexrelid = n.relid)
  GROUP BY 1, p.size, p.expected_size;

-- what is lost
CREATE TABLE losses (name text, in_17 text, in_18 text);
INSERT INTO losses VALUES
  ('"Odd ""schema"."I USING btree (""x"") $$ %s WHERE \"', 'INSERT ... ON CONFLICT into the table', NULL),
  ('keys_pkey', 'the primary key keys_pkey: a dump makes it a btree again, and pg_upgrade needs the statements of fpbtree_keys(); INSERT ... ON CONFLICT into the table; replica identity on a subscriber',
   'the primary key keys_pkey: a dump makes it a btree again, and pg_upgrade needs the statements of fpbtree_keys()'),
  ('keys_b_key', 'the unique constraint keys_b_key: a dump makes it a btree again, and pg_upgrade needs the statements of fpbtree_keys(); INSERT ... ON CONFLICT into the table; CLUSTER by sorting',
   'the unique constraint keys_b_key: a dump makes it a btree again, and pg_upgrade needs the statements of fpbtree_keys(); CLUSTER by sorting'),
  ('keys_c_key', 'the unique constraint keys_c_key: a dump makes it a btree again, and pg_upgrade needs the statements of fpbtree_keys(); INSERT ... ON CONFLICT into the table',
   'the unique constraint keys_c_key: a dump makes it a btree again, and pg_upgrade needs the statements of fpbtree_keys()'),
  ('keys_d', 'INSERT ... ON CONFLICT into the table', NULL),
  ('excluded', 'no writing to the table while it is made', 'no writing to the table while it is made'),
  ('referred_a_key', 'the unique constraint referred_a_key: a dump makes it a btree again, and pg_upgrade needs the statements of fpbtree_keys(); constraint refers on table advise.referring: it has to stay for these; INSERT ... ON CONFLICT into the table',
   'the unique constraint referred_a_key: a dump makes it a btree again, and pg_upgrade needs the statements of fpbtree_keys()'),
  ('seen_a', 'REFRESH MATERIALIZED VIEW CONCURRENTLY', NULL);
SELECT d.name, p.lost
  FROM plan p JOIN definitions d ON d.old = p.index LEFT JOIN losses l ON l.name = d.name
  WHERE p.lost IS DISTINCT FROM CASE WHEN current_setting('server_version_num')::int4 < 180000 THEN l.in_17 ELSE l.in_18 END;
-- In 17 no foreign key can refer to an fpbtree index.
SELECT d.name AS stays FROM plan p JOIN definitions d ON d.old = p.index
  WHERE (p.afterwards IS NULL) <> (d.name = 'referred_a_key' AND current_setting('server_version_num')::int4 < 180000) ORDER BY 1;

-- The new ones take the place of the old ones, and have all that they had.
SELECT regexp_replace(a.statement, '_\d+_fpb1', '_OID_fpb1') AS statement
  FROM plan p JOIN definitions d ON d.old = p.index, unnest(p.afterwards) WITH ORDINALITY a (statement, n)
  WHERE d.name ~ '^(t_int4|"|keys|excluded|parts_b)' ORDER BY d.name COLLATE "C", n;
\set ECHO none
SELECT a FROM plan p, unnest(p.afterwards) WITH ORDINALITY a (a, n) ORDER BY p.index, n \gexec
\set ECHO all
SELECT d.name, d.definition AS was, pg_get_indexdef(to_regclass(d.name)) AS is
  FROM plan p JOIN definitions d ON d.old = p.index
  WHERE p.afterwards IS NOT NULL
        AND regexp_replace(regexp_replace(replace(pg_get_indexdef(to_regclass(d.name)), 'USING fpbtree', 'USING btree'),
                                          '(, )?replaces=''[^'']*''', ''), ' WITH \(\)', '') IS DISTINCT FROM
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

-- And back: nothing has changed, whatever there was. (What is still fpbtree are the indexes that have had to stay.)
CREATE TABLE back AS SELECT index, "table", lost, statements, afterwards FROM fpbtree_to_btree() WHERE "table" !~ 'others';
SELECT index, lost FROM back WHERE lost IS NOT NULL ORDER BY index COLLATE "C";
SELECT regexp_replace(a.statement, '_\d+_bt1', '_OID_bt1') AS statement
  FROM back b, unnest(b.statements || b.afterwards) WITH ORDINALITY a (statement, n)
  WHERE b.index ~ '\.(t_few_i|"|keys|excluded|parts_b)' AND b.afterwards IS NOT NULL ORDER BY b.index COLLATE "C", n;
\set ECHO none
SELECT s FROM back b, unnest(b.statements) WITH ORDINALITY s (s, n) ORDER BY b.index, n \gexec
SELECT a FROM back b, unnest(b.afterwards) WITH ORDINALITY a (a, n) ORDER BY b.index, n \gexec
\set ECHO all
SELECT relname FROM pg_class c JOIN pg_am a ON a.oid = c.relam AND a.amname = 'fpbtree'
  WHERE relnamespace IN ('advise'::regnamespace, '"Odd ""schema"'::regnamespace) ORDER BY relname COLLATE "C";
TABLE before EXCEPT TABLE state;
SELECT * FROM state WHERE definition NOT LIKE '%USING fpbtree%' AND relname NOT LIKE '%\_fpb' AND relname !~ '_fpb_bt$' EXCEPT TABLE before;

-- (Where a comment would be lost, it says so.)
BEGIN;
CREATE TABLE commented (a int4 PRIMARY KEY) PARTITION BY RANGE (a);
COMMENT ON CONSTRAINT commented_pkey ON commented IS 'of the constraint';
COMMENT ON INDEX commented_pkey IS 'of the index';
SELECT lost LIKE '%; the comment on the constraint, as the index has one, too%' AS two_comments FROM fpbtree_replacements('{commented_pkey}', 'fpbtree');
ROLLBACK;
-- What the parameter has that remembers it all is not for anybody to make up.
CREATE INDEX bad ON t_int4 USING fpbtree (k) WITH (replaces = 'primary key) WHERE (');
-- A primary key that has come in the meantime stays, and so does a fillfactor.
CREATE TABLE since (a int4 PRIMARY KEY, b int4);
SET client_min_messages = error; -- 17 warns of unique indexes
CREATE UNIQUE INDEX since_b ON since USING fpbtree (b) WITH (fillfactor = 60, replaces = 'primary key, default identity, deduplicate_items=on');
SET client_min_messages = warning;
CREATE INDEX since_ab ON since USING fpbtree (a, b) WITH (fillfactor = 70, layout = micro_index);
SELECT index, statements, afterwards FROM fpbtree_to_btree() WHERE "table" = 'advise.since' ORDER BY index;

-- Under Citus, of which there are but the catalogs here: neither shards nor the tables they are of.
SET allow_system_table_mods = on;
CREATE TABLE pg_catalog.pg_dist_partition (logicalrelid regclass);
CREATE TABLE pg_catalog.pg_dist_shard (logicalrelid regclass, shardid bigint);
CREATE TABLE spread (a int4 PRIMARY KEY);
CREATE TABLE spread_102008 (a int4 PRIMARY KEY);
CREATE TABLE spread_102009 (a int4 PRIMARY KEY);
CREATE INDEX spread_f ON spread USING fpbtree (a);
CREATE INDEX spread_102008_f ON spread_102008 USING fpbtree (a);
INSERT INTO spread SELECT generate_series(1, 10000);
INSERT INTO spread_102008 TABLE spread;
INSERT INTO spread_102009 TABLE spread;
SELECT "table" FROM fpbtree_advise(0) WHERE "table" LIKE '%spread%' ORDER BY 1;
INSERT INTO pg_catalog.pg_dist_partition VALUES ('spread');
INSERT INTO pg_catalog.pg_dist_shard VALUES ('spread', 102008);
SET client_min_messages = notice;
SELECT "table" FROM fpbtree_advise(0) WHERE "table" LIKE '%spread%' ORDER BY 1;
SET client_min_messages = warning;
SELECT "table" FROM fpbtree_to_btree() WHERE "table" LIKE '%spread%' ORDER BY 1;
DROP TABLE pg_catalog.pg_dist_partition, pg_catalog.pg_dist_shard;
RESET allow_system_table_mods;

-- Who may ask, and for what.
GRANT USAGE ON SCHEMA advise TO regress_advise;
SET ROLE regress_advise;
SELECT count(*) FROM fpbtree_advise();
SELECT fpbtree_expected_size('referred_a_key');
SELECT count(*) FROM fpbtree_to_btree();
RESET ROLE;
GRANT pg_stat_scan_tables TO regress_advise;
SET ROLE regress_advise;
SELECT "table" FROM fpbtree_advise(0) WHERE index = 'advise.referred_a_key';
SELECT form, size > 0 AS size, btree_size > 0 AS btree_size FROM fpbtree_expected_size('referred_a_key');
RESET ROLE;
SELECT fpbtree_expected_size('referred');
SELECT fpbtree_expected_size('others_fpbtree');
SELECT fpbtree_expected_size('others_invalid') IS NULL AS not_valid;
CREATE INDEX parts_ab ON parts (a, b);
SELECT fpbtree_expected_size('parts_ab');
SELECT fpbtree_expected_size(NULL) IS NULL, fpbtree_expected_size(1) IS NULL;
SELECT fpbtree_expected_size('referred_a_key', 9);
SELECT fpbtree_expected_size('referred_a_key', 101);
SELECT a.size < b.size AS roomier, a.btree_size = b.btree_size AS as_it_is FROM fpbtree_expected_size('referred_a_key') a, fpbtree_expected_size('referred_a_key', 40) b;

-- Nobody else's function is called, though it fit better.
CREATE FUNCTION public.fpbtree_expected_size(oid, integer) RETURNS bigint LANGUAGE plpgsql AS $$BEGIN RAISE 'evil'; END$$;
SELECT count(*) > 0 AS advised FROM fpbtree_advise(0);
DROP FUNCTION public.fpbtree_expected_size(oid, integer);

-- A foreign partition has no index, and its absence can't be attached.
CREATE FOREIGN DATA WRAPPER advise_wrapper;
CREATE SERVER advise_server FOREIGN DATA WRAPPER advise_wrapper;
CREATE TABLE mixed (a int) PARTITION BY RANGE (a);
CREATE TABLE mixed_1 PARTITION OF mixed FOR VALUES FROM (0) TO (10000);
INSERT INTO mixed SELECT generate_series(1, 5000);
CREATE INDEX mixed_a ON mixed (a);
SELECT count(*) FROM fpbtree_advise(0) WHERE index = 'advise.mixed_a';
CREATE FOREIGN TABLE mixed_2 PARTITION OF mixed FOR VALUES FROM (10000) TO (20000) SERVER advise_server;
SELECT count(*) FROM fpbtree_advise(0) WHERE index = 'advise.mixed_a';
DROP TABLE mixed;
DROP FOREIGN DATA WRAPPER advise_wrapper CASCADE;

DROP SCHEMA advise, "Odd ""schema", evil CASCADE;
DROP TABLESPACE regress_advise;
DROP ROLE regress_advise;
