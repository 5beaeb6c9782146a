--
-- Primary keys and unique constraints with an fpbtree index.  The same statements
-- go to two tables, one with an fpbtree index and fpbtree_add_constraint, one with
-- a btree and ALTER TABLE ... USING INDEX, and have to end alike, to the letter of
-- the error.
--
SET client_min_messages = error;
CREATE EXTENSION IF NOT EXISTS fpbtree;
CREATE SCHEMA keys;
SET search_path = keys, public;

-- What a statement ends with; k_x stands for the tables k_f and k_b, and METHOD for the access method
CREATE FUNCTION outcome(statement text, method text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    tab text := 'k_' || left(method, 1);
    state text; message text; detail text; con text; col text; tab_name text;
    affected int8;
BEGIN
    EXECUTE replace(replace(statement, 'k_x', tab), 'METHOD', method);
    GET DIAGNOSTICS affected = ROW_COUNT;
    SET CONSTRAINTS ALL IMMEDIATE;
    SET CONSTRAINTS ALL DEFERRED;
    RETURN 'ok ' || affected;
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL,
        con = CONSTRAINT_NAME, col = COLUMN_NAME, tab_name = TABLE_NAME;
    RETURN replace(replace(concat_ws(' | ', state, message, nullif(detail, ''), nullif(con, ''), nullif(col, ''), nullif(tab_name, '')),
                           tab, 'k_x'), 'access method ' || method, 'access method METHOD');
END $$;
CREATE FUNCTION alike(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    f text := outcome(statement, 'fpbtree');
    b text := outcome(statement, 'btree');
BEGIN
    RETURN CASE WHEN f = b THEN f ELSE 'DIFFERENT: ' || f || ' / ' || b END;
END $$;
-- Make a constraint of an index of each
CREATE FUNCTION constrain(index text, kind text, name text DEFAULT NULL, props text DEFAULT '', tab text DEFAULT 'k_x')
RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    f text := outcome(format('SELECT fpbtree_add_constraint(%L, %L, %L, %L, %L, %L)', tab, index, kind, name,
                             props LIKE '%DEFERRABLE%', props LIKE '%INITIALLY%'), 'fpbtree');
    b text := outcome(format('ALTER TABLE %s ADD %s %s USING INDEX %s %s', tab,
                             CASE WHEN name <> '' THEN 'CONSTRAINT ' || name END, kind, index, props), 'btree');
BEGIN
    f := regexp_replace(f, '^ok 1$', 'ok 0');
    RETURN CASE WHEN f = b THEN f ELSE 'DIFFERENT: ' || f || ' / ' || b END;
END $$;
-- Two new tables
CREATE FUNCTION two_tables(columns text, VARIADIC indexes text[]) RETURNS void LANGUAGE plpgsql SET client_min_messages = error AS $$
DECLARE
    method text; tab text; index text;
BEGIN
    FOREACH method IN ARRAY ARRAY['fpbtree', 'btree'] LOOP
        tab := 'k_' || left(method, 1);
        EXECUTE format('DROP TABLE IF EXISTS %s CASCADE', tab);
        EXECUTE format('CREATE TABLE %s (%s)', tab, columns);
        FOREACH index IN ARRAY indexes LOOP
            EXECUTE replace(replace(index, 'k_x', tab), 'METHOD', method);
        END LOOP;
    END LOOP;
END $$;
-- What the catalogs say of the constraints of k_f, if they say the same of k_b
CREATE TABLE k_f (a int);
CREATE TABLE k_b (a int);
CREATE FUNCTION catalogs(OUT object text, OUT facts text) RETURNS SETOF record LANGUAGE sql AS $$
WITH facts AS (
    SELECT k.conrelid AS tab, k.conname || ' constraint' AS object,
           concat_ws(' ', contype, condeferrable, condeferred, convalidated, conislocal, coninhcount, connoinherit, conkey, pg_get_constraintdef(oid), obj_description(oid)) AS facts
    FROM pg_constraint k WHERE conrelid IN ('k_f'::regclass, 'k_b'::regclass)
    UNION ALL
    SELECT indrelid, indexrelid::regclass || ' index',
           concat_ws(' ', indisunique, indisprimary, indimmediate, indisvalid, indisready, indislive, indisreplident, indisclustered, indnullsnotdistinct, indnkeyatts, indkey)
    FROM pg_index WHERE indrelid IN ('k_f'::regclass, 'k_b'::regclass)
    UNION ALL
    SELECT indrelid, pg_describe_object(classid, objid, objsubid), 'depends on ' || pg_describe_object(refclassid, refobjid, refobjsubid) || ' ' || deptype::text
    FROM pg_depend JOIN pg_index ON objid = indexrelid AND classid = 'pg_class'::regclass
    WHERE indrelid IN ('k_f'::regclass, 'k_b'::regclass) AND refclassid <> 'pg_opclass'::regclass
    UNION ALL
    SELECT conrelid, regexp_replace(pg_describe_object(d.classid, d.objid, d.objsubid), 'Trigger_\d+', 'Trigger'), 'depends on ' || pg_describe_object(refclassid, refobjid, refobjsubid) || ' ' || deptype::text
    FROM pg_depend d JOIN pg_constraint k ON k.oid IN (objid, refobjid) AND conrelid IN ('k_f'::regclass, 'k_b'::regclass) AND contype IN ('p', 'u')
    WHERE 'pg_constraint'::regclass IN (classid, refclassid) AND classid <> 'pg_class'::regclass
    UNION ALL
    SELECT tgrelid, regexp_replace(tgname, '_\d+', ''), concat_ws(' ', tgfoid::regproc, tgenabled, tgisinternal, tgconstrindid::regclass, tgdeferrable, tginitdeferred, tgtype)
    FROM pg_trigger WHERE tgrelid IN ('k_f'::regclass, 'k_b'::regclass)
    UNION ALL
    SELECT attrelid, attname || ' column', attnotnull::text FROM pg_attribute WHERE attrelid IN ('k_f'::regclass, 'k_b'::regclass) AND attnum > 0
), same AS (
    SELECT tab::regclass::text AS tab, replace(replace(object, 'k_f', 'k_x'), 'k_b', 'k_x') AS object, replace(replace(facts, 'k_f', 'k_x'), 'k_b', 'k_x') AS facts FROM facts
)
SELECT CASE WHEN count(DISTINCT tab) = 1 THEN 'ONLY ' || min(tab) || ': ' ELSE '' END || same.object, same.facts
FROM same GROUP BY same.object, same.facts
-- 18 has rows for NOT NULL
HAVING same.facts !~ '^n ' OR count(DISTINCT tab) = 1
ORDER BY same.object COLLATE "C", same.facts COLLATE "C"
$$;
-- And that the indexes are sound, and none has changed its access method
CREATE FUNCTION sound() RETURNS TABLE (index text, method name) LANGUAGE sql AS $$
SELECT i.indexrelid::regclass::text, amname || coalesce(left(fpbtree_check(i.indexrelid, true)::text, 0), '')
FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am a ON a.oid = c.relam
WHERE i.indrelid = 'k_f'::regclass ORDER BY 1
$$;

-- A primary key, with NOT NULL, under another name; and a unique constraint with INCLUDE
SELECT two_tables('a int, b text, c int', 'CREATE UNIQUE INDEX k_x_a ON k_x USING METHOD (a)', 'CREATE UNIQUE INDEX k_x_b ON k_x USING METHOD (b) INCLUDE (c)');
SELECT alike('INSERT INTO k_x SELECT i, i, i FROM generate_series(1, 200) i');
SELECT constrain('k_x_a', 'PRIMARY KEY', 'k_x_pkey');
SELECT constrain('k_x_b', 'UNIQUE');
SELECT * FROM catalogs();
SELECT * FROM sound();
\d k_f
SELECT alike('INSERT INTO k_x VALUES (1, ''new'', 0)');
SELECT alike('INSERT INTO k_x VALUES (1001, ''1'', 0)');
SELECT alike('INSERT INTO k_x VALUES (NULL, ''new'', 0)');
SELECT alike('INSERT INTO k_x VALUES (1001, NULL, 0), (1002, NULL, 0)');
SELECT alike('UPDATE k_x SET a = a + 1 WHERE a < 10');
SELECT alike('ALTER TABLE k_x ALTER a DROP NOT NULL');
SELECT alike('SELECT a, b FROM k_x GROUP BY a');
SELECT alike('DROP INDEX k_x_pkey');
SELECT pg_get_replica_identity_index('k_f'), pg_get_replica_identity_index('k_b');
-- All that builds the index anew
SELECT alike('REINDEX TABLE k_x');
REINDEX INDEX CONCURRENTLY k_f_pkey;
REINDEX INDEX CONCURRENTLY k_b_pkey;
SELECT alike('CLUSTER k_x USING k_x_pkey');
VACUUM FULL k_f;
VACUUM FULL k_b;
SELECT * FROM catalogs() WHERE object NOT LIKE '%column';
SELECT * FROM sound();
SELECT alike('INSERT INTO k_x VALUES (1, ''new'', 0)');
SELECT alike('TRUNCATE k_x');
SELECT alike('INSERT INTO k_x VALUES (1, ''1'', 0), (1, ''2'', 0)');
SELECT alike('INSERT INTO k_x VALUES (1, ''1'', 0), (2, ''2'', 0)');
-- and takes it away
SELECT alike('ALTER TABLE k_x RENAME CONSTRAINT k_x_pkey TO k_x_key');
SELECT alike('ALTER TABLE k_x DROP COLUMN c');
SELECT alike('ALTER TABLE k_x DROP CONSTRAINT k_x_key');
SELECT * FROM catalogs();

-- Deferrable constraints
SELECT two_tables('a int, b int', 'CREATE UNIQUE INDEX k_x_a ON k_x USING METHOD (a)', 'CREATE UNIQUE INDEX k_x_b ON k_x USING METHOD (b)');
SELECT constrain('k_x_a', 'PRIMARY KEY', NULL, 'DEFERRABLE');
SELECT constrain('k_x_b', 'UNIQUE', 'k_x_deferred', 'DEFERRABLE INITIALLY DEFERRED');
SELECT * FROM catalogs();
SELECT alike('INSERT INTO k_x SELECT i, i FROM generate_series(1, 200) i');
SELECT alike('UPDATE k_x SET a = a + 1, b = 201 - b');
SELECT alike('UPDATE k_x SET a = 5 WHERE b < 3');
SELECT alike('UPDATE k_x SET b = 5 WHERE b < 3');
BEGIN;
INSERT INTO k_f VALUES (2000, 1);
INSERT INTO k_f VALUES (2, 2000);
ROLLBACK;
BEGIN;
SET CONSTRAINTS k_f_a DEFERRED;
INSERT INTO k_f VALUES (2000, 1), (2, 2000);
SELECT count(*) FROM k_f WHERE a = 2 OR b = 1;
SELECT fpbtree_drop_constraint('k_f', 'k_f_deferred');
ROLLBACK;
BEGIN;
INSERT INTO k_f VALUES (2000, 1);
SET CONSTRAINTS k_f_deferred IMMEDIATE;
ROLLBACK;
BEGIN;
INSERT INTO k_f VALUES (2000, 1);
COMMIT;
BEGIN;
SET CONSTRAINTS ALL DEFERRED;
INSERT INTO k_f VALUES (2000, 1), (2, 2000);
DELETE FROM k_f WHERE (a, b) IN ((2000, 1), (2, 2000));
COMMIT;
SELECT alike('SELECT a, b FROM k_x GROUP BY a');
SELECT pg_get_replica_identity_index('k_f'), pg_get_replica_identity_index('k_b');
REINDEX INDEX CONCURRENTLY k_f_a;
REINDEX INDEX CONCURRENTLY k_f_deferred;
REINDEX INDEX CONCURRENTLY k_b_a;
REINDEX INDEX CONCURRENTLY k_b_deferred;
SELECT * FROM catalogs() WHERE object LIKE '%index';
SELECT * FROM sound();
BEGIN;
INSERT INTO k_f VALUES (2000, 1);
COMMIT;

-- Nulls, and orders of entries, which are ours alone
SELECT two_tables('a int, b int', 'CREATE UNIQUE INDEX k_x_a ON k_x USING METHOD (a) NULLS NOT DISTINCT');
SELECT constrain('k_x_a', 'PRIMARY KEY');
SELECT constrain('k_x_a', 'UNIQUE');
SELECT alike('INSERT INTO k_x VALUES (NULL, 1), (NULL, 2)');
SELECT * FROM catalogs() WHERE object LIKE '%constraint';
SELECT two_tables('a int, b int', 'CREATE UNIQUE INDEX k_x_a ON k_x USING METHOD (a DESC, b NULLS FIRST)');
SELECT constrain('k_x_a', 'PRIMARY KEY');
SELECT alike('INSERT INTO k_x VALUES (1, 1), (1, 2), (1, 1)');
SELECT * FROM sound();

-- NOT NULL: with rows that have nulls, with children, and with what 18 has beside
SELECT two_tables('a int, b int', 'CREATE UNIQUE INDEX k_x_a ON k_x USING METHOD (a)');
SELECT alike('INSERT INTO k_x VALUES (NULL, 1)');
SELECT constrain('k_x_a', 'PRIMARY KEY');
SELECT alike('DELETE FROM k_x');
SELECT alike('CREATE TABLE k_x_child () INHERITS (k_x)');
SELECT alike('INSERT INTO k_x_child VALUES (NULL, 1)');
SELECT constrain('k_x_a', 'PRIMARY KEY');
SELECT alike('DELETE FROM k_x_child');
SELECT constrain('k_x_a', 'PRIMARY KEY');
SELECT alike('INSERT INTO k_x_child VALUES (NULL, 1)');
SELECT alike('INSERT INTO k_x_child VALUES (1, 1), (1, 1)');
SELECT * FROM catalogs();
SELECT alike('DROP TABLE k_x_child');
SELECT two_tables('a int, b int', 'CREATE UNIQUE INDEX k_x_a ON k_x USING METHOD (a)');
SELECT alike('ALTER TABLE k_x ADD CONSTRAINT here NOT NULL a NO INHERIT');
SELECT constrain('k_x_a', 'PRIMARY KEY');
SELECT two_tables('a int, b int', 'CREATE UNIQUE INDEX k_x_a ON k_x USING METHOD (a)');
SELECT alike('INSERT INTO k_x VALUES (NULL, 1)');
SELECT alike('ALTER TABLE k_x ADD CONSTRAINT here NOT NULL a NOT VALID');
SELECT constrain('k_x_a', 'PRIMARY KEY');

-- Indexes that can't be constraints
SELECT two_tables('a int, b text COLLATE "C", c int', 'CREATE INDEX k_x_plain ON k_x USING METHOD (a)',
    'CREATE UNIQUE INDEX k_x_partial ON k_x USING METHOD (a) WHERE a > 0', 'CREATE UNIQUE INDEX k_x_expr ON k_x USING METHOD ((a + 1))',
    'CREATE UNIQUE INDEX k_x_class ON k_x USING METHOD (a, b text_pattern_ops)',
    'CREATE UNIQUE INDEX k_x_collation ON k_x USING METHOD (b COLLATE "POSIX")',
    'CREATE UNIQUE INDEX k_x_1 ON k_x USING METHOD (a)', 'CREATE UNIQUE INDEX k_x_2 ON k_x USING METHOD (c)',
    'CREATE TABLE k_x_other (a int)', 'CREATE UNIQUE INDEX k_x_other_a ON k_x_other USING METHOD (a)');
SELECT i, constrain(i, 'PRIMARY KEY'), constrain(i, 'UNIQUE')
FROM unnest(ARRAY['k_x_plain', 'k_x_partial', 'k_x_expr', 'k_x_class', 'k_x_collation', 'k_x_other_a']) i;
SELECT constrain('k_x_1', 'PRIMARY KEY'), constrain('k_x_1', 'UNIQUE'), constrain('k_x_2', 'PRIMARY KEY');
-- a name that is taken
SELECT constrain('k_x_2', 'UNIQUE', 'k_x_1');
-- left invalid
SELECT alike('DROP INDEX k_x_class, k_x_collation'), alike('INSERT INTO k_x VALUES (1, 1, 1), (2, 1, 2)');
CREATE UNIQUE INDEX CONCURRENTLY k_f_invalid ON k_f USING fpbtree (b);
CREATE UNIQUE INDEX CONCURRENTLY k_b_invalid ON k_b USING btree (b);
SELECT constrain('k_x_invalid', 'UNIQUE');
-- relations that are no tables, or busy
SELECT alike('CREATE MATERIALIZED VIEW k_x_view AS SELECT 1 AS a; CREATE UNIQUE INDEX k_x_view_a ON k_x_view USING METHOD (a)');
SELECT fpbtree_add_constraint('k_f_view', 'k_f_view_a', 'unique');
SELECT fpbtree_add_constraint('pg_class', 'k_f_2', 'unique');
BEGIN;
DECLARE c CURSOR FOR SELECT * FROM k_f;
FETCH c;
SELECT fpbtree_add_constraint('k_f', 'k_f_2', 'unique');
ROLLBACK;
SELECT fpbtree_add_constraint('k_f', 'k_f_2', 'unique') FROM k_f;
BEGIN READ ONLY;
SELECT fpbtree_add_constraint('k_f', 'k_f_2', 'unique');
ROLLBACK;
BEGIN READ ONLY;
SELECT fpbtree_drop_constraint('k_f', 'k_f_1');
ROLLBACK;
-- arguments
SELECT fpbtree_add_constraint('k_f', 'k_f_2', 'check');
SELECT fpbtree_add_constraint('k_f', 'k_f_2', NULL);
SELECT fpbtree_add_constraint(NULL, 'k_f_2', 'unique');
SELECT fpbtree_add_constraint('k_f', NULL, 'unique');
SELECT fpbtree_add_constraint('k_f', 'k_f_2', 'unique', NULL, NULL);
SELECT fpbtree_add_constraint(0, 'k_f_2', 'unique');
SELECT fpbtree_add_constraint('k_f', 'k_f', 'unique');
SELECT fpbtree_add_constraint('k_b', 'k_b_2', 'unique');
SELECT fpbtree_add_constraint('k_f', 'k_f_2', 'unique', '');
-- An access method of another name
CREATE ACCESS METHOD key_method TYPE INDEX HANDLER fpbtree_handler;
CREATE OPERATOR CLASS key_method_ops DEFAULT FOR TYPE int USING key_method AS
    OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >, FUNCTION 1 btint4cmp(int, int);
CREATE UNIQUE INDEX k_f_method ON k_f USING key_method (c);
SELECT fpbtree_add_constraint('k_f', 'k_f_method', 'unique');
DROP ACCESS METHOD key_method CASCADE;
-- A type that btree has no class for
CREATE FUNCTION xid_cmp(xid, xid) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT sign($1::text::bigint - $2::text::bigint)::int';
CREATE OPERATOR CLASS xid_cmp_ops DEFAULT FOR TYPE xid USING fpbtree AS OPERATOR 3 =, FUNCTION 1 xid_cmp(xid, xid);
CREATE TABLE xids (a xid);
CREATE UNIQUE INDEX xids_a ON xids USING fpbtree (a);
SELECT fpbtree_add_constraint('xids', 'xids_a', 'unique');
DROP TABLE xids;
DROP OPERATOR FAMILY xid_cmp_ops USING fpbtree;
-- A class of another equality than the type's
CREATE FUNCTION half_eq(box, box) RETURNS boolean LANGUAGE sql IMMUTABLE AS 'SELECT area($1) / 2 = area($2) / 2';
CREATE FUNCTION half_lt(box, box) RETURNS boolean LANGUAGE sql IMMUTABLE AS 'SELECT area($1) / 2 < area($2) / 2';
CREATE FUNCTION half_le(box, box) RETURNS boolean LANGUAGE sql IMMUTABLE AS 'SELECT area($1) / 2 <= area($2) / 2';
CREATE FUNCTION half_gt(box, box) RETURNS boolean LANGUAGE sql IMMUTABLE AS 'SELECT area($1) / 2 > area($2) / 2';
CREATE FUNCTION half_ge(box, box) RETURNS boolean LANGUAGE sql IMMUTABLE AS 'SELECT area($1) / 2 >= area($2) / 2';
CREATE FUNCTION half_cmp(box, box) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT sign(area($1) - area($2))::int';
CREATE OPERATOR =/ (FUNCTION = half_eq, LEFTARG = box, RIGHTARG = box, COMMUTATOR = =/);
CREATE OPERATOR </ (FUNCTION = half_lt, LEFTARG = box, RIGHTARG = box, COMMUTATOR = >/);
CREATE OPERATOR >/ (FUNCTION = half_gt, LEFTARG = box, RIGHTARG = box);
CREATE OPERATOR <=/ (FUNCTION = half_le, LEFTARG = box, RIGHTARG = box, COMMUTATOR = >=/);
CREATE OPERATOR >=/ (FUNCTION = half_ge, LEFTARG = box, RIGHTARG = box);
CREATE OPERATOR CLASS half_ops DEFAULT FOR TYPE box USING fpbtree AS
    OPERATOR 1 </, OPERATOR 2 <=/, OPERATOR 3 =/, OPERATOR 4 >=/, OPERATOR 5 >/, FUNCTION 1 half_cmp(box, box);
CREATE TABLE boxes (a box);
CREATE UNIQUE INDEX boxes_a ON boxes USING fpbtree (a);
SELECT fpbtree_add_constraint('boxes', 'boxes_a', 'unique');
DROP TABLE boxes;
DROP OPERATOR FAMILY half_ops USING fpbtree;
-- Types whose operator class is another type's
CREATE TYPE key_mood AS ENUM ('sad', 'ok');
CREATE DOMAIN key_domain AS int;
SELECT two_tables('a varchar(10), b int[], c char(3), d key_mood, e key_domain, f int4range, g name',
    'CREATE UNIQUE INDEX k_x_all ON k_x USING METHOD (a, b, c, d, e, f, g)');
SELECT constrain('k_x_all', 'PRIMARY KEY');

-- Foreign keys, and ON CONFLICT (not in 17)
SELECT two_tables('a int, b int, c int', 'CREATE UNIQUE INDEX k_x_a ON k_x USING METHOD (a)', 'CREATE UNIQUE INDEX k_x_b ON k_x USING METHOD (b)',
    'CREATE UNIQUE INDEX k_x_c ON k_x USING METHOD (c)');
SELECT constrain('k_x_a', 'PRIMARY KEY', 'k_x_pkey');
SELECT constrain('k_x_b', 'UNIQUE');
SELECT constrain('k_x_c', 'UNIQUE', NULL, 'DEFERRABLE');
SELECT alike('INSERT INTO k_x SELECT i, i, i FROM generate_series(1, 100) i');
SELECT alike('CREATE TABLE k_x_ref (a int REFERENCES k_x ON UPDATE CASCADE, b int REFERENCES k_x (b) DEFERRABLE INITIALLY DEFERRED)');
SELECT alike('CREATE TABLE k_x_no (a int REFERENCES k_x (c))');
SELECT alike('INSERT INTO k_x_ref VALUES (1, 2), (3, 4)');
SELECT alike('INSERT INTO k_x_ref VALUES (101, 2)');
SELECT alike('INSERT INTO k_x_ref VALUES (1, 102)');
SELECT alike('DELETE FROM k_x WHERE a = 1');
SELECT alike('DELETE FROM k_x WHERE a = 4');
SELECT alike('UPDATE k_x SET a = 200 WHERE a = 1');
SELECT alike('SELECT 1 / (a - 200) FROM k_x_ref WHERE b = 2');
SELECT alike('INSERT INTO k_x VALUES (2, 0, 0) ON CONFLICT (a) DO UPDATE SET c = -2');
SELECT alike('INSERT INTO k_x VALUES (2, 0, 0) ON CONFLICT ON CONSTRAINT k_x_pkey DO NOTHING');
SELECT alike('INSERT INTO k_x VALUES (0, 2, 0) ON CONFLICT DO NOTHING');
SELECT alike('INSERT INTO k_x VALUES (0, 2, 0) ON CONFLICT (a) DO NOTHING');
SELECT alike('INSERT INTO k_x VALUES (2, 0, 0) ON CONFLICT (c) DO NOTHING');
SELECT alike('INSERT INTO k_x VALUES (2, 0, 0) ON CONFLICT ON CONSTRAINT k_x_c DO NOTHING');
-- what a deferrable constraint would take from them
CREATE TABLE tmp_key (a int NOT NULL, b int NOT NULL);
CREATE UNIQUE INDEX tmp_key_a ON tmp_key USING fpbtree (a);
CREATE UNIQUE INDEX tmp_key_b ON tmp_key USING fpbtree (b);
CREATE TABLE tmp_ref (a int REFERENCES tmp_key (a));
ALTER TABLE tmp_key REPLICA IDENTITY USING INDEX tmp_key_b;
SELECT fpbtree_add_constraint('tmp_key', 'tmp_key_a', 'unique', NULL, true);
SELECT fpbtree_add_constraint('tmp_key', 'tmp_key_b', 'unique', NULL, true);
SELECT fpbtree_add_constraint('tmp_key', 'tmp_key_a', 'primary key');
ALTER TABLE tmp_key DROP CONSTRAINT tmp_key_a;

-- A table of the session's own
CREATE TEMP TABLE own_key (a int);
CREATE UNIQUE INDEX own_key_a ON own_key USING fpbtree (a);
SELECT fpbtree_add_constraint('own_key', 'own_key_a', 'primary key');
INSERT INTO own_key VALUES (1), (1);
SELECT fpbtree_drop_constraint('own_key', 'own_key_a');
INSERT INTO own_key VALUES (1), (1);

-- From a constraint to an index and back.  Foreign keys stay.
SELECT conname, fpbtree_drop_constraint('k_f', conname) FROM pg_constraint WHERE conrelid = 'k_f'::regclass AND contype IN ('p', 'u') ORDER BY 1;
SELECT indexrelid::regclass, indisunique, indisprimary, indimmediate, indisvalid FROM pg_index WHERE indrelid = 'k_f'::regclass ORDER BY 1;
SELECT pg_describe_object(classid, objid, objsubid), pg_describe_object(refclassid, refobjid, refobjsubid), deptype
FROM pg_depend WHERE objid IN (SELECT indexrelid FROM pg_index WHERE indrelid = 'k_f'::regclass) AND refclassid <> 'pg_opclass'::regclass ORDER BY 1, 2;
SELECT tgname FROM pg_trigger WHERE tgrelid = 'k_f'::regclass AND tgfoid = 'unique_key_recheck'::regproc;
SELECT outcome('INSERT INTO k_x VALUES (0, 2, 0)', 'fpbtree'), outcome('INSERT INTO k_x VALUES (0, 0, 5)', 'fpbtree'), outcome('INSERT INTO k_x VALUES (3, 0, 0)', 'fpbtree');
SELECT outcome('INSERT INTO k_x_ref VALUES (101, 2)', 'fpbtree');
SELECT fpbtree_add_constraint('k_f', 'k_f_c', 'unique', NULL, true), fpbtree_add_constraint('k_f', 'k_f_b', 'unique'), fpbtree_add_constraint('k_f', 'k_f_pkey', 'primary key');
SELECT * FROM catalogs() WHERE object LIKE '%index' OR object LIKE '%constraint';
CREATE VIEW grouped AS SELECT a, b FROM k_f GROUP BY a;
SELECT fpbtree_drop_constraint('k_f', 'k_f_pkey');
DROP VIEW grouped;
SELECT fpbtree_drop_constraint('k_f', 'none');
SELECT fpbtree_drop_constraint('k_b', 'k_b_pkey');
ALTER TABLE k_f ADD CONSTRAINT positive CHECK (b > -100);
SELECT fpbtree_drop_constraint('k_f', 'positive');
SELECT fpbtree_drop_constraint(0, 'positive');

-- Parameters that no dump could restore
ALTER INDEX k_f_b SET (fillfactor = 70, deduplicate_items = off);
ALTER INDEX k_f_b SET (layout = cache_first);
SELECT fpbtree_drop_constraint('k_f', 'k_f_b');
ALTER INDEX k_f_b SET (layout = cache_first);
SELECT fpbtree_add_constraint('k_f', 'k_f_b', 'unique');
ALTER INDEX k_f_b RESET (layout);
SELECT fpbtree_add_constraint('k_f', 'k_f_b', 'unique');

-- What copies a definition: LIKE with its access method, a change of type without
CREATE TABLE copied (LIKE k_f INCLUDING ALL);
SELECT conname, pg_get_constraintdef(k.oid), amname FROM pg_constraint k JOIN pg_class c ON c.oid = conindid JOIN pg_am a ON a.oid = relam WHERE conrelid = 'copied'::regclass ORDER BY 1;
INSERT INTO copied SELECT * FROM k_f;
ALTER TABLE copied ALTER a TYPE bigint;
INSERT INTO copied SELECT * FROM k_f;
SELECT conname, pg_get_constraintdef(k.oid), amname FROM pg_constraint k JOIN pg_class c ON c.oid = conindid JOIN pg_am a ON a.oid = relam WHERE conrelid = 'copied'::regclass ORDER BY 1;
DROP TABLE copied;
-- but a plain index keeps it
SELECT fpbtree_drop_constraint('k_f', 'k_f_pkey');
ALTER TABLE k_f ALTER a TYPE bigint;
SELECT fpbtree_add_constraint('k_f', 'k_f_pkey', 'primary key');
SELECT * FROM sound();

-- Partitions: a key of the whole is made by LIKE, and takes the keys of partitions (not in 17)
CREATE TABLE parts (a int NOT NULL, b int) PARTITION BY RANGE (a);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (0) TO (100);
CREATE UNIQUE INDEX parts_1_a ON parts_1 USING fpbtree (a);
CREATE UNIQUE INDEX parts_1_b ON parts_1 USING fpbtree (b);
SELECT fpbtree_add_constraint('parts_1', 'parts_1_a', 'primary key'), fpbtree_add_constraint('parts_1', 'parts_1_b', 'unique');
INSERT INTO parts VALUES (1, 1);
INSERT INTO parts VALUES (1, 2);
SELECT fpbtree_add_constraint('parts', 'parts_1_a', 'primary key');
CREATE TABLE model (a int, b int);
CREATE UNIQUE INDEX model_a ON model USING fpbtree (a);
SELECT fpbtree_add_constraint('model', 'model_a', 'primary key');
CREATE TABLE keyed (LIKE model INCLUDING INDEXES) PARTITION BY RANGE (a);
CREATE TABLE keyed_1 PARTITION OF keyed FOR VALUES FROM (0) TO (100);
CREATE TABLE keyed_2 (a int NOT NULL, b int);
CREATE UNIQUE INDEX keyed_2_a ON keyed_2 USING fpbtree (a);
SELECT fpbtree_add_constraint('keyed_2', 'keyed_2_a', 'primary key');
ALTER TABLE keyed ATTACH PARTITION keyed_2 FOR VALUES FROM (100) TO (200);
SELECT conrelid::regclass, conname, coninhcount, amname FROM pg_constraint k JOIN pg_class c ON c.oid = conindid JOIN pg_am a ON a.oid = relam
WHERE conrelid::regclass::text LIKE 'keyed%' AND contype = 'p' ORDER BY 1;
INSERT INTO keyed VALUES (1), (101), (101);
SELECT fpbtree_drop_constraint('keyed_2', 'keyed_2_a');
SELECT fpbtree_drop_constraint('keyed', 'keyed_pkey');
-- and a plain index of the whole takes no keys of partitions, unless they are attached
CREATE TABLE whole (a int NOT NULL, b int NOT NULL) PARTITION BY LIST (b);
CREATE TABLE whole_1 PARTITION OF whole FOR VALUES IN (1);
CREATE UNIQUE INDEX whole_ab ON whole USING fpbtree (a, b);
SELECT fpbtree_add_constraint('whole_1', 'whole_1_a_b_idx', 'primary key');
CREATE TABLE whole_2 (a int NOT NULL, b int NOT NULL);
CREATE UNIQUE INDEX whole_2_ab ON whole_2 USING fpbtree (a, b);
SELECT fpbtree_add_constraint('whole_2', 'whole_2_ab', 'primary key');
ALTER TABLE whole ATTACH PARTITION whole_2 FOR VALUES IN (2);
SELECT "table", name, num_nulls(statements, afterwards, before_upgrade, after_upgrade) FROM fpbtree_keys() WHERE "table" = 'keys.whole_2';
SELECT index, lost, afterwards FROM fpbtree_to_btree() WHERE "table" = 'keys.whole';

-- As the owner of the table, and as another
CREATE ROLE key_owner;
CREATE ROLE key_other;
GRANT USAGE, CREATE ON SCHEMA keys TO key_owner, key_other;
SET ROLE key_owner;
CREATE TABLE owned (a int, b int);
GRANT ALL ON owned TO key_other;
CREATE UNIQUE INDEX owned_a ON owned USING fpbtree (a);
SET ROLE key_other;
SELECT fpbtree_add_constraint('owned', 'owned_a', 'primary key');
CREATE TABLE own (a int);
SELECT fpbtree_add_constraint('own', 'owned_a', 'primary key');
SELECT fpbtree_add_constraint('pg_catalog.pg_class', 'owned_a', 'primary key');
SET ROLE key_owner;
SELECT fpbtree_add_constraint('owned', 'owned_a', 'primary key');
SET ROLE key_other;
SELECT fpbtree_drop_constraint('owned', 'owned_a');
SET ROLE key_owner;
SELECT fpbtree_drop_constraint('owned', 'owned_a');
RESET ROLE;
GRANT key_owner TO key_other;
SET ROLE key_other;
SELECT fpbtree_add_constraint('owned', 'owned_a', 'primary key');
RESET ROLE;
DROP OWNED BY key_other, key_owner CASCADE;
DROP ROLE key_other, key_owner;

CREATE TABLE noted (a int);
CREATE UNIQUE INDEX noted_a ON noted USING fpbtree (a);
-- Event triggers see the ALTER TABLE that it is
SET client_min_messages = warning;
CREATE FUNCTION note_commands() RETURNS event_trigger LANGUAGE plpgsql AS $$
DECLARE c record;
BEGIN
    FOR c IN SELECT * FROM pg_event_trigger_ddl_commands() LOOP
        RAISE WARNING '% of %', c.command_tag, c.object_identity;
    END LOOP;
END $$;
CREATE EVENT TRIGGER note_commands ON ddl_command_end EXECUTE FUNCTION note_commands();
SELECT fpbtree_add_constraint('noted', 'noted_a', 'primary key', 'noted_pkey');
DROP EVENT TRIGGER note_commands;
SET client_min_messages = error;

-- The statements that make keys again after a restore, here of btrees as a dump makes them
CREATE TABLE "the Table" ("a'\b" int, b text, c int);
CREATE TABLE refers (a int, b int);
INSERT INTO "the Table" SELECT i, i, i FROM generate_series(1, 200) i;
INSERT INTO refers SELECT i, i FROM generate_series(1, 200) i;
CREATE UNIQUE INDEX a ON "the Table" USING fpbtree ("a'\b" DESC) INCLUDE (c) WITH (fillfactor = 75);
CREATE UNIQUE INDEX "it's" ON "the Table" USING fpbtree (b, c);
CREATE UNIQUE INDEX a_long_name_of_which_there_is_hardly_room_for_more_in_it_so_ ON "the Table" USING fpbtree (c) NULLS NOT DISTINCT;
SELECT fpbtree_add_constraint('"the Table"', 'a', 'primary key', 'the key'),
    fpbtree_add_constraint('"the Table"', '"it''s"', 'unique', is_deferrable => true, is_deferred => true),
    fpbtree_add_constraint('"the Table"', 'a_long_name_of_which_there_is_hardly_room_for_more_in_it_so_', 'unique');
COMMENT ON CONSTRAINT "the key" ON "the Table" IS 'it''s a \ comment';
COMMENT ON INDEX "the key" IS 'of the index';
ALTER TABLE "the Table" CLUSTER ON "the key";
SELECT outcome('ALTER TABLE refers ADD CONSTRAINT first FOREIGN KEY (a) REFERENCES "the Table"; COMMENT ON CONSTRAINT first ON refers IS ''a\b''', 'fpbtree');
SELECT outcome('ALTER TABLE refers ADD CONSTRAINT second FOREIGN KEY (b) REFERENCES "the Table" ON DELETE CASCADE NOT VALID', 'fpbtree');
-- functions of these names that others have made are not called
CREATE FUNCTION public.fpbtree_add_constraint("table" text, index text, kind text, name text) RETURNS void LANGUAGE plpgsql AS $$ BEGIN RAISE 'not this'; END $$;
CREATE FUNCTION public.fpbtree_add_constraint("table" regclass, index regclass, kind text, name name) RETURNS void LANGUAGE plpgsql AS $$ BEGIN RAISE 'nor this'; END $$;
CREATE FUNCTION public.fpbtree_drop_constraint(text, text) RETURNS void LANGUAGE plpgsql AS $$ BEGIN RAISE 'not that'; END $$;
\x on
CREATE TEMP TABLE saved AS SELECT * FROM fpbtree_keys() WHERE "table" = 'keys."the Table"';
SELECT name, dependents, regexp_replace(statements::text, '_\d+_fpb', '_OID_fpb') AS statements, regexp_replace(afterwards::text, '_\d+_fpb', '_OID_fpb') AS afterwards,
    before_upgrade, after_upgrade
FROM saved ORDER BY name COLLATE "C";
\x off
CREATE VIEW what AS
SELECT conname, pg_get_constraintdef(k.oid), amname, pg_get_indexdef(conindid), indisclustered, convalidated, obj_description(k.oid, 'pg_constraint') AS comment, obj_description(conindid, 'pg_class') AS index_comment
FROM pg_constraint k LEFT JOIN pg_index ON indexrelid = conindid AND contype <> 'f' LEFT JOIN pg_class c ON c.oid = indexrelid LEFT JOIN pg_am a ON a.oid = relam
WHERE conrelid IN ('"the Table"'::regclass, 'refers'::regclass) AND contype <> 'n';
CREATE TEMP TABLE before AS SELECT * FROM what;
SELECT count(*) FROM before;
-- as they are before pg_upgrade, and after it
\set ECHO none
SELECT s FROM saved, unnest(before_upgrade) s ORDER BY s COLLATE "C" \gexec
SELECT indexrelid::regclass, indisprimary, indimmediate FROM pg_index WHERE indrelid = '"the Table"'::regclass ORDER BY 1;
SELECT s FROM saved, unnest(after_upgrade) WITH ORDINALITY u (s, n) ORDER BY name COLLATE "C", n \gexec
\set ECHO all
SELECT * FROM (TABLE before EXCEPT TABLE what) x UNION ALL (TABLE what EXCEPT TABLE before);
-- as a dump makes them
ALTER TABLE refers DROP CONSTRAINT IF EXISTS first, DROP CONSTRAINT IF EXISTS second;
ALTER TABLE "the Table" DROP CONSTRAINT "the key", DROP CONSTRAINT "it's", DROP CONSTRAINT a_long_name_of_which_there_is_hardly_room_for_more_in_it_so_;
ALTER TABLE "the Table" ADD CONSTRAINT "the key" PRIMARY KEY ("a'\b") INCLUDE (c) WITH (fillfactor = 75);
ALTER TABLE "the Table" ADD CONSTRAINT "it's" UNIQUE (b, c) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE "the Table" ADD CONSTRAINT a_long_name_of_which_there_is_hardly_room_for_more_in_it_so_ UNIQUE NULLS NOT DISTINCT (c);
ALTER TABLE "the Table" CLUSTER ON "the key";
SELECT outcome('ALTER TABLE refers ADD CONSTRAINT first FOREIGN KEY (a) REFERENCES "the Table"', 'btree') FROM before WHERE conname = 'first';
SELECT outcome('ALTER TABLE refers ADD CONSTRAINT second FOREIGN KEY (b) REFERENCES "the Table" ON DELETE CASCADE NOT VALID', 'btree') FROM before WHERE conname = 'second';
SELECT conname, amname FROM what ORDER BY 1;
\set ECHO none
SELECT s FROM saved, unnest(statements) s ORDER BY s COLLATE "C" \gexec
SELECT s FROM saved, unnest(afterwards) WITH ORDINALITY u (s, n) ORDER BY name COLLATE "C", n \gexec
\set ECHO all
SELECT * FROM (TABLE before EXCEPT TABLE what) x UNION ALL (TABLE what EXCEPT TABLE before);
SELECT i.indexrelid::regclass, fpbtree_check(i.indexrelid, true) FROM pg_index i WHERE indrelid = '"the Table"'::regclass ORDER BY 1;

-- Keys become btrees, and are keys all the same, with what refers to them
CREATE TEMP TABLE back AS SELECT * FROM fpbtree_to_btree() WHERE "table" = 'keys."the Table"';
\x on
SELECT index, lost, statements, afterwards FROM back ORDER BY index COLLATE "C";
\x off
\set ECHO none
SELECT s FROM back, unnest(statements) WITH ORDINALITY u (s, n) ORDER BY index COLLATE "C", n \gexec
SELECT s FROM back, unnest(afterwards) WITH ORDINALITY u (s, n) ORDER BY index COLLATE "C", n \gexec
\set ECHO all
SELECT conname, amname FROM what ORDER BY 1;
SELECT conname, pg_get_constraintdef, indisclustered, convalidated, comment, index_comment FROM before
EXCEPT SELECT conname, pg_get_constraintdef, indisclustered, convalidated, comment, index_comment FROM what;

-- Two keys of the same columns: after a restore the foreign keys may belong to the other one
CREATE TABLE twins (a int, b int);
CREATE UNIQUE INDEX twin_1 ON twins USING fpbtree (a, b);
CREATE UNIQUE INDEX twin_2 ON twins USING fpbtree (b, a);
SELECT fpbtree_add_constraint('twins', 'twin_1', 'unique'), fpbtree_add_constraint('twins', 'twin_2', 'primary key');
CREATE TABLE twin_refers (a int, b int);
CREATE TEMP TABLE twin_refers_made AS SELECT outcome('ALTER TABLE twin_refers ADD CONSTRAINT twin_of FOREIGN KEY (a, b) REFERENCES twins (a, b)', 'fpbtree') AS outcome;
TABLE twin_refers_made;
CREATE TEMP TABLE saved_twins AS SELECT * FROM fpbtree_keys() WHERE "table" = 'keys.twins';
CREATE VIEW twin_keys AS
SELECT conname, amname FROM pg_constraint k JOIN pg_class c ON c.oid = conindid JOIN pg_am a ON a.oid = relam WHERE conrelid = 'twins'::regclass AND contype <> 'n';
ALTER TABLE twin_refers DROP CONSTRAINT IF EXISTS twin_of;
ALTER TABLE twins DROP CONSTRAINT twin_1, DROP CONSTRAINT twin_2;
ALTER TABLE twins ADD CONSTRAINT twin_2 PRIMARY KEY (b, a);
ALTER TABLE twins ADD CONSTRAINT twin_1 UNIQUE (a, b);
SELECT outcome('ALTER TABLE twin_refers ADD CONSTRAINT twin_of FOREIGN KEY (a, b) REFERENCES twins (a, b)', 'btree')
FROM twin_refers_made WHERE outcome LIKE 'ok%';
\set ECHO none
SELECT s FROM saved_twins, unnest(statements) s ORDER BY s COLLATE "C" \gexec
SELECT s FROM saved_twins, unnest(afterwards) WITH ORDINALITY u (s, n) ORDER BY name COLLATE "C", n \gexec
SELECT * FROM twin_keys ORDER BY 1;
CREATE TEMP TABLE twins_back AS SELECT * FROM fpbtree_to_btree() WHERE "table" = 'keys.twins';
SELECT s FROM twins_back, unnest(statements) WITH ORDINALITY u (s, n) ORDER BY index COLLATE "C", n \gexec
SELECT s FROM twins_back, unnest(afterwards) WITH ORDINALITY u (s, n) ORDER BY index COLLATE "C", n \gexec
SELECT * FROM twin_keys ORDER BY 1;
CREATE TEMP TABLE twins_there AS SELECT * FROM fpbtree_replacements('{twin_1, twin_2}', 'fpbtree');
SELECT s FROM twins_there, unnest(statements) WITH ORDINALITY u (s, n) ORDER BY index::text COLLATE "C", n \gexec
SELECT s FROM twins_there, unnest(afterwards) WITH ORDINALITY u (s, n) ORDER BY index::text COLLATE "C", n \gexec
\set ECHO all
SELECT * FROM twin_keys ORDER BY 1;
SELECT conname, convalidated FROM pg_constraint WHERE conrelid = 'twin_refers'::regclass;

DROP FUNCTION public.fpbtree_add_constraint(text, text, text, text), public.fpbtree_add_constraint(regclass, regclass, text, name),
    public.fpbtree_drop_constraint(text, text);
DROP SCHEMA keys CASCADE;
