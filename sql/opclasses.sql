--
-- Operator classes: every one that btree has, and those of other extensions.
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS fpbtree;
RESET client_min_messages;

-- Operator classes of btree in pg_catalog that fpbtree hasn't got: none.
CREATE VIEW classes AS
    SELECT a.amname, c.oid, c.opcname, c.opcintype, c.opcdefault, c.opckeytype,
           f.opfname, f.oid AS family, c.opcnamespace
    FROM pg_opclass c
         JOIN pg_opfamily f ON f.oid = c.opcfamily
         JOIN pg_am a ON a.oid = c.opcmethod;

SELECT count(*) > 40 AS many FROM classes
WHERE amname = 'btree' AND opcnamespace = 'pg_catalog'::regnamespace;

SELECT opcname, opcintype::regtype, opcdefault, opckeytype::regtype, opfname
FROM classes WHERE amname = 'btree' AND opcnamespace = 'pg_catalog'::regnamespace
EXCEPT
SELECT opcname, opcintype::regtype, opcdefault, opckeytype::regtype, opfname
FROM classes WHERE amname = 'fpbtree'
ORDER BY 1;

-- The same of operators ...
SELECT f.opfname, o.amopstrategy, o.amopopr::regoperator
FROM pg_amop o JOIN pg_opfamily f ON f.oid = o.amopfamily
     JOIN pg_am a ON a.oid = f.opfmethod
WHERE a.amname = 'btree' AND f.opfnamespace = 'pg_catalog'::regnamespace
EXCEPT
SELECT f.opfname, o.amopstrategy, o.amopopr::regoperator
FROM pg_amop o JOIN pg_opfamily f ON f.oid = o.amopfamily
     JOIN pg_am a ON a.oid = f.opfmethod
WHERE a.amname = 'fpbtree'
ORDER BY 1, 2, 3;

-- ... and of support functions.  Number 6 is skip support (18), which fpbtree
-- has no use for.
SELECT f.opfname, p.amprocnum, p.amproclefttype::regtype, p.amprocrighttype::regtype, p.amproc
FROM pg_amproc p JOIN pg_opfamily f ON f.oid = p.amprocfamily
     JOIN pg_am a ON a.oid = f.opfmethod
WHERE a.amname = 'btree' AND f.opfnamespace = 'pg_catalog'::regnamespace AND p.amprocnum <= 5
EXCEPT
SELECT f.opfname, p.amprocnum, p.amproclefttype::regtype, p.amprocrighttype::regtype, p.amproc
FROM pg_amproc p JOIN pg_opfamily f ON f.oid = p.amprocfamily
     JOIN pg_am a ON a.oid = f.opfmethod
WHERE a.amname = 'fpbtree'
ORDER BY 1, 2, 3, 4;

-- All are where btree's are, and belong to the extension, like their families.
SELECT opcname FROM classes WHERE amname = 'btree' AND opcnamespace = 'pg_catalog'::regnamespace
EXCEPT
SELECT opcname FROM classes c JOIN pg_depend d ON d.classid = 'pg_opclass'::regclass AND d.objid = c.oid
    JOIN pg_depend e ON e.classid = 'pg_opfamily'::regclass AND e.objid = c.family
    JOIN pg_extension x ON x.oid = d.refobjid AND x.oid = e.refobjid
WHERE amname = 'fpbtree' AND opcnamespace = 'pg_catalog'::regnamespace AND d.deptype = 'e' AND e.deptype = 'e' AND x.extname = 'fpbtree';

-- Nothing is wrong with any.
SELECT opcname FROM classes WHERE amname = 'fpbtree' AND NOT amvalidate(oid);

-- Operators and comparison functions of a class's own type belong to it, all
-- others to the family, as in btree.
CREATE VIEW members AS
    SELECT f.opfname, a.amname, o.amopopr::regoperator::text AS member, d.deptype,
           d.refclassid::regclass AS owner
    FROM pg_amop o JOIN pg_opfamily f ON f.oid = o.amopfamily
         JOIN pg_am a ON a.oid = f.opfmethod
         JOIN pg_depend d ON d.classid = 'pg_amop'::regclass AND d.objid = o.oid
    WHERE d.refclassid IN ('pg_opclass'::regclass, 'pg_opfamily'::regclass)
    UNION ALL
    SELECT f.opfname, a.amname,
           format('%s %s %s %s', p.amprocnum, p.amproclefttype::regtype, p.amprocrighttype::regtype, p.amproc),
           d.deptype, d.refclassid::regclass
    FROM pg_amproc p JOIN pg_opfamily f ON f.oid = p.amprocfamily
         JOIN pg_am a ON a.oid = f.opfmethod
         JOIN pg_depend d ON d.classid = 'pg_amproc'::regclass AND d.objid = p.oid
    WHERE d.refclassid IN ('pg_opclass'::regclass, 'pg_opfamily'::regclass);

SELECT member, deptype, owner FROM members
WHERE amname = 'fpbtree' AND opfname IN ('text_ops', 'float_ops')
ORDER BY owner, member COLLATE "C";

-- Names are stored without their padding, and given back with it.
CREATE TABLE names (n name);
INSERT INTO names SELECT 'n' || i FROM generate_series(5001, 9999) i;
INSERT INTO names VALUES (repeat('x', 63)), ('');
CREATE INDEX names_n ON names USING fpbtree (n);
CREATE INDEX names_b ON names USING btree (n) WITH (deduplicate_items = off);
SELECT pg_relation_size('names_n') < 1.2 * pg_relation_size('names_b') AS small;
DROP INDEX names_b;
VACUUM ANALYZE names;
EXPLAIN (COSTS OFF) SELECT n FROM names WHERE n > 'n9995';
SELECT n, length(n), pg_column_size(n), n = name 'n9997' AS equal FROM names WHERE n > 'n9995';
SELECT n FROM names WHERE n < 'n1';
SELECT n FROM names WHERE n = 'n7777'::text;
DROP TABLE names;

--
-- Types of other extensions
--
SET client_min_messages = warning;
CREATE EXTENSION citext;
CREATE EXTENSION ltree;
RESET client_min_messages;

CREATE TABLE cloned (c citext, l ltree);
INSERT INTO cloned
    SELECT CASE WHEN i % 2 = 0 THEN 'Word' ELSE 'wORD' END || i / 2,
           ('Top.n' || i % 100 || '.n' || i)::ltree
    FROM generate_series(1, 2000) i;

CREATE INDEX ON cloned USING fpbtree (c);	-- not yet

SELECT fpbtree_clone_opclass('citext_ops');
SELECT fpbtree_clone_opclass('public.citext_pattern_ops');
SELECT fpbtree_clone_opclass('"ltree_ops"');

CREATE INDEX cloned_c ON cloned USING fpbtree (c);
CREATE INDEX cloned_p ON cloned USING fpbtree (c citext_pattern_ops);
CREATE INDEX cloned_l ON cloned USING fpbtree (l);
ANALYZE cloned;
SET enable_seqscan = off;
SET enable_bitmapscan = off;

EXPLAIN (COSTS OFF) SELECT * FROM cloned WHERE c = 'WORD700';
SELECT c FROM cloned WHERE c = 'WORD700' ORDER BY c COLLATE "C";
EXPLAIN (COSTS OFF) SELECT * FROM cloned WHERE c ~>~ 'word998';
SELECT c FROM cloned WHERE c ~>~ 'word998' ORDER BY c COLLATE "C";
EXPLAIN (COSTS OFF) SELECT l FROM cloned WHERE l > 'Top.n99' ORDER BY l LIMIT 3;
SELECT l FROM cloned WHERE l > 'Top.n99' ORDER BY l LIMIT 3;
RESET enable_seqscan;
RESET enable_bitmapscan;

-- A family of several classes: complete with the first class, and it makes no
-- difference in which order they are cloned.
CREATE FUNCTION two_types() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    l text;
    r text;
    op record;
    class text;
BEGIN
    FOREACH l IN ARRAY ARRAY['celsius', 'kelvin'] LOOP
        EXECUTE format('CREATE TYPE %s', l);
        EXECUTE format('CREATE FUNCTION %s_in(cstring) RETURNS %1$s AS ''int4in'' LANGUAGE internal IMMUTABLE STRICT', l);
        EXECUTE format('CREATE FUNCTION %s_out(%1$s) RETURNS cstring AS ''int4out'' LANGUAGE internal IMMUTABLE STRICT', l);
        EXECUTE format('CREATE TYPE %s (INPUT = %1$s_in, OUTPUT = %1$s_out, LIKE = int4)', l);
    END LOOP;
    CREATE OPERATOR FAMILY degree_ops USING btree;
    FOREACH l IN ARRAY ARRAY['celsius', 'kelvin'] LOOP
        FOREACH r IN ARRAY ARRAY['celsius', 'kelvin'] LOOP
            FOR op IN SELECT * FROM (VALUES ('<', 'lt', '>', '>='), ('<=', 'le', '>=', '>'), ('=', 'eq', '=', '<>'),
                                            ('>=', 'ge', '<=', '<'), ('>', 'gt', '<', '<=')) v (name, func, comm, neg) LOOP
                EXECUTE format('CREATE FUNCTION degree_%s(%s, %s) RETURNS bool AS ''int4%1$s'' LANGUAGE internal IMMUTABLE STRICT',
                               op.func, l, r);
                EXECUTE format('CREATE OPERATOR %s (FUNCTION = degree_%s, LEFTARG = %s, RIGHTARG = %s, COMMUTATOR = %s, RESTRICT = %s, JOIN = %s %s)',
                               op.name, op.func, l, r, op.comm,
                               CASE op.name WHEN '=' THEN 'eqsel' ELSE 'scalarltsel' END,
                               CASE op.name WHEN '=' THEN 'eqjoinsel' ELSE 'scalarltjoinsel' END,
                               CASE op.name WHEN '=' THEN ', MERGES' END);
            END LOOP;
            EXECUTE format('CREATE FUNCTION degree_cmp(%s, %s) RETURNS int4 AS ''btint4cmp'' LANGUAGE internal IMMUTABLE STRICT', l, r);
            class := 'OPERATOR 1 < (%1$s, %2$s), OPERATOR 2 <= (%1$s, %2$s), OPERATOR 3 = (%1$s, %2$s),
                      OPERATOR 4 >= (%1$s, %2$s), OPERATOR 5 > (%1$s, %2$s), FUNCTION 1 (%1$s, %2$s) degree_cmp(%1$s, %2$s)';
            EXECUTE format(CASE WHEN l = r
                           THEN 'CREATE OPERATOR CLASS %1$s_ops DEFAULT FOR TYPE %1$s USING btree FAMILY degree_ops AS ' || class
                           ELSE 'ALTER OPERATOR FAMILY degree_ops USING btree ADD ' || class
                           END, l, r);
        END LOOP;
    END LOOP;
END $$;
SET client_min_messages = warning;
SELECT two_types();
RESET client_min_messages;

SELECT fpbtree_clone_opclass('kelvin_ops');
SELECT amname, count(*) FROM members WHERE opfname = 'degree_ops' GROUP BY amname ORDER BY amname;
SELECT opcname, amvalidate(oid) FROM classes WHERE opfname = 'degree_ops' AND amname = 'fpbtree';
SELECT member, deptype, owner FROM members
WHERE amname = 'fpbtree' AND opfname = 'degree_ops' AND member NOT LIKE '%celsius%'
ORDER BY member COLLATE "C";
CREATE TABLE degrees (k kelvin, c celsius);
INSERT INTO degrees SELECT i::text::kelvin, (i - 273)::text::celsius FROM generate_series(0, 999) i;
CREATE INDEX degrees_k ON degrees USING fpbtree (k);
CREATE INDEX degrees_c ON degrees USING fpbtree (c);		-- not yet
-- it goes to where its family has been put, though a later one has operators of that, too
CREATE OPERATOR FAMILY later_ops USING fpbtree;
ALTER OPERATOR FAMILY later_ops USING fpbtree ADD
    OPERATOR 1 <(kelvin, kelvin), OPERATOR 1 <(celsius, celsius);
SELECT fpbtree_clone_opclass('celsius_ops');
DROP OPERATOR FAMILY later_ops USING fpbtree;
CREATE INDEX degrees_c ON degrees USING fpbtree (c);
ANALYZE degrees;
EXPLAIN (COSTS OFF) SELECT * FROM degrees WHERE k = '5'::celsius;
SELECT * FROM degrees WHERE k = '5'::celsius;
EXPLAIN (COSTS OFF) SELECT * FROM degrees WHERE c > '725'::kelvin;
SELECT * FROM degrees WHERE c > '725'::kelvin;
SELECT member, deptype, owner FROM members WHERE amname = 'btree' AND opfname = 'degree_ops'
EXCEPT
SELECT member, deptype, owner FROM members WHERE amname = 'fpbtree' AND opfname = 'degree_ops';
SELECT member, deptype, owner FROM members WHERE amname = 'fpbtree' AND opfname = 'degree_ops'
EXCEPT
SELECT member, deptype, owner FROM members WHERE amname = 'btree' AND opfname = 'degree_ops';

SELECT opcname, opcdefault, opfname, amvalidate(oid) FROM classes
WHERE amname = 'fpbtree' AND opcname ~ '^(citext|ltree|kelvin|celsius)'
ORDER BY opcname COLLATE "C";

-- A class can be in any schema, with any name, and its clone is there, too; one
-- more class for a type that its family has; another family of the same name.
CREATE SCHEMA "Odd ""schema""";
CREATE OPERATOR FAMILY "Odd ""schema""".integer_ops USING btree;
CREATE OPERATOR CLASS "Odd ""schema"""."Odd class" FOR TYPE int4
    USING btree FAMILY "Odd ""schema""".integer_ops AS
    OPERATOR 1 >, OPERATOR 2 >=, OPERATOR 3 =, OPERATOR 4 <=, OPERATOR 5 <,
    FUNCTION 1 btint4cmp(int4, int4);
CREATE OPERATOR FAMILY "Odd ""schema""".integer_ops USING fpbtree;
ALTER OPERATOR FAMILY "Odd ""schema""".integer_ops USING fpbtree ADD OPERATOR 1 <(int2, int2);
SELECT fpbtree_clone_opclass('"Odd ""schema"""."Odd class"');	-- taken
ALTER OPERATOR FAMILY "Odd ""schema""".integer_ops USING fpbtree DROP OPERATOR 1 (int2, int2);
SELECT fpbtree_clone_opclass('"Odd ""schema"""."Odd class"');
SET search_path = "Odd ""schema""", public;
SELECT fpbtree_clone_opclass('Odd class');
CREATE OPERATOR CLASS int4_too FOR TYPE int4 USING btree FAMILY pg_catalog.integer_ops AS STORAGE int4;
SELECT fpbtree_clone_opclass('int4_too');
RESET search_path;
SELECT c.opcname, c.opcnamespace::regnamespace, c.opfname, f.opfnamespace::regnamespace, amvalidate(c.oid)
FROM classes c JOIN pg_opfamily f ON f.oid = c.family
WHERE c.amname = 'fpbtree' AND c.opcname IN ('Odd class', 'int4_too')
ORDER BY 1;

-- What can't be cloned.
SELECT fpbtree_clone_opclass('int4_ops');
SELECT fpbtree_clone_opclass('citext_ops');
SELECT fpbtree_clone_opclass('no_such_ops');
SELECT fpbtree_clone_opclass('no_such_schema.int4_ops');
SELECT fpbtree_clone_opclass('jsonb_path_ops');
SELECT fpbtree_clone_opclass('');
SELECT fpbtree_clone_opclass('a.b.c.d');
SELECT fpbtree_clone_opclass(NULL) IS NULL AS strict;
CREATE ROLE regress_fpbtree_user;
SET ROLE regress_fpbtree_user;
SELECT fpbtree_clone_opclass('citext_ops');
RESET ROLE;
GRANT EXECUTE ON FUNCTION fpbtree_clone_opclass TO regress_fpbtree_user;	-- does not help
SET ROLE regress_fpbtree_user;
SELECT fpbtree_clone_opclass('citext_ops');
RESET ROLE;
REVOKE EXECUTE ON FUNCTION fpbtree_clone_opclass FROM regress_fpbtree_user;
DROP ROLE regress_fpbtree_user;
\set VERBOSITY sqlstate
SELECT fpbtree_clone_opclass('citext_ops');
SELECT fpbtree_clone_opclass('no_such_ops');
\set VERBOSITY default

-- Clones are their creator's own objects, not the extension's.
SELECT c.opcname, e.extname
FROM classes c LEFT JOIN pg_depend d ON d.classid = 'pg_opclass'::regclass AND d.objid = c.oid AND d.deptype = 'e'
     LEFT JOIN pg_extension e ON e.oid = d.refobjid
WHERE c.amname = 'fpbtree' AND c.opcname IN ('int4_ops', 'citext_ops', 'ltree_ops')
ORDER BY 1;
\set VERBOSITY terse
DROP EXTENSION ltree;
\set VERBOSITY default

-- Those of pg_catalog are found from anywhere, and need no schema's name.
CREATE TABLE found (a int, b text);
SET search_path = '';
CREATE INDEX found_b ON public.found USING fpbtree (a, b text_pattern_ops);
SELECT pg_get_indexdef('public.found_b'::regclass);
RESET search_path;
SELECT pg_get_indexdef('found_b'::regclass);
\d found_b
DROP TABLE found;

-- With a nondeterministic collation "=" would find more than these compare as
-- equal.
CREATE COLLATION op_nd (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE TABLE nondeterministic (t text COLLATE op_nd, c char(3) COLLATE op_nd);
INSERT INTO nondeterministic VALUES ('abc', 'abc'), ('ABC', 'ABC');
CREATE INDEX ON nondeterministic USING fpbtree (t text_pattern_ops);
CREATE INDEX ON nondeterministic USING fpbtree (t, t varchar_pattern_ops);
CREATE INDEX ON nondeterministic USING fpbtree (c bpchar_pattern_ops);
CREATE INDEX ON nondeterministic USING fpbtree (t COLLATE "C" text_pattern_ops);
CREATE INDEX ON nondeterministic USING fpbtree (t);
SET enable_seqscan = off;
SELECT count(*) FROM nondeterministic WHERE t = 'abc';
RESET enable_seqscan;
DROP TABLE nondeterministic;
DROP COLLATION op_nd;

-- One that is made later than the extension belongs to it all the same.
ALTER EXTENSION fpbtree DROP OPERATOR CLASS macaddr8_ops USING fpbtree;
ALTER EXTENSION fpbtree DROP OPERATOR FAMILY macaddr8_ops USING fpbtree;
DROP OPERATOR FAMILY macaddr8_ops USING fpbtree;
SELECT fpbtree_clone_opclass('macaddr8_ops');
SELECT d.classid::regclass, e.extname
FROM classes c JOIN pg_depend d ON (d.classid, d.objid) IN (('pg_opclass'::regclass, c.oid), ('pg_opfamily'::regclass, c.family))
     JOIN pg_extension e ON e.oid = d.refobjid
WHERE c.amname = 'fpbtree' AND c.opcname = 'macaddr8_ops' AND d.deptype = 'e'
ORDER BY 1;

-- Unless the access method itself does not.
BEGIN;
ALTER EXTENSION fpbtree DROP ACCESS METHOD fpbtree;
ALTER EXTENSION fpbtree DROP OPERATOR CLASS macaddr8_ops USING fpbtree;
ALTER EXTENSION fpbtree DROP OPERATOR FAMILY macaddr8_ops USING fpbtree;
DROP OPERATOR FAMILY macaddr8_ops USING fpbtree;
SELECT fpbtree_clone_opclass('macaddr8_ops');
SELECT c.opcname, count(d.objid) AS extensions
FROM classes c LEFT JOIN pg_depend d ON d.classid = 'pg_opclass'::regclass AND d.objid = c.oid AND d.deptype = 'e'
WHERE c.amname = 'fpbtree' AND c.opcname = 'macaddr8_ops'
GROUP BY c.opcname;
ROLLBACK;

-- So the extension has objects in two schemas, and can't move.
CREATE SCHEMA elsewhere;
ALTER EXTENSION fpbtree SET SCHEMA elsewhere;
DROP SCHEMA elsewhere;

--
-- What amvalidate has to say
--
CREATE OPERATOR FAMILY broken_ops USING fpbtree;
CREATE OPERATOR CLASS broken_ops FOR TYPE int4 USING fpbtree FAMILY broken_ops AS
    OPERATOR 1 <, OPERATOR 3 =,
    FUNCTION 1 (int4, int4) btint8cmp(int8, int8);
ALTER OPERATOR FAMILY broken_ops USING fpbtree ADD
    OPERATOR 1 <(int4, int8),
    FUNCTION 1 (int4, int2) btint42cmp(int4, int2);
SELECT amvalidate(oid) FROM pg_opclass WHERE opcname = 'broken_ops';
CREATE OPERATOR CLASS optional_ops FOR TYPE int4 USING fpbtree AS
    OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >,
    FUNCTION 1 btint4cmp(int4, int4), FUNCTION 5 gtsvector_options(internal);
SELECT amvalidate(oid) FROM pg_opclass WHERE opcname = 'optional_ops';
CREATE OPERATOR CLASS empty_ops FOR TYPE int4 USING fpbtree AS STORAGE int4;
SELECT amvalidate(oid) FROM pg_opclass WHERE opcname = 'empty_ops';
CREATE OPERATOR CLASS stored_ops FOR TYPE int4 USING fpbtree FAMILY broken_ops AS STORAGE int8;
SELECT amvalidate(oid) FROM pg_opclass WHERE opcname = 'stored_ops';
CREATE OPERATOR CLASS named_ops FOR TYPE name USING fpbtree FAMILY broken_ops AS STORAGE text;
SELECT amvalidate(oid) FROM pg_opclass WHERE opcname = 'named_ops';
CREATE OPERATOR CLASS bad_ops FOR TYPE int4 USING fpbtree AS OPERATOR 6 <>;
CREATE OPERATOR CLASS bad_ops FOR TYPE int4 USING fpbtree AS FUNCTION 6 btint4cmp(int4, int4);
CREATE OPERATOR CLASS bad_ops FOR TYPE point USING fpbtree AS OPERATOR 1 <->(point, point) FOR ORDER BY float_ops;

-- What is there of an incomplete one can be used: without "<" there is no order, and
-- without a comparator of an array's elements they are but tried.
CREATE OPERATOR CLASS equal_ops FOR TYPE int4 USING fpbtree AS
    OPERATOR 3 =, FUNCTION 1 btint4cmp(int4, int4);
CREATE OPERATOR FAMILY other_type_ops USING fpbtree;
CREATE OPERATOR CLASS other_type_ops FOR TYPE int4 USING fpbtree FAMILY other_type_ops AS
    OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >,
    FUNCTION 1 btint4cmp(int4, int4);
ALTER OPERATOR FAMILY other_type_ops USING fpbtree ADD
    OPERATOR 1 <(int4, int8), OPERATOR 3 =(int4, int8),
    FUNCTION 1 (int4, int8) btint48cmp(int4, int8);
CREATE TABLE incomplete (a int, b int);
INSERT INTO incomplete SELECT i, i % 100 FROM generate_series(1, 5000) i;
ANALYZE incomplete;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
CREATE INDEX incomplete_idx ON incomplete USING fpbtree (a equal_ops);
EXPLAIN (COSTS OFF) SELECT * FROM incomplete WHERE a = 4077;
SELECT * FROM incomplete WHERE a = 4077;
SELECT * FROM incomplete WHERE a = ANY ('{4077,3,NULL,6000,3}') ORDER BY a;
SELECT a FROM incomplete ORDER BY a DESC LIMIT 2;
DROP INDEX incomplete_idx;
CREATE INDEX incomplete_idx ON incomplete USING fpbtree (b, a equal_ops);
EXPLAIN (COSTS OFF) SELECT * FROM incomplete WHERE b = 77 AND a = 4077;
SELECT * FROM incomplete WHERE b = 77 AND a = 4077;
SELECT count(*), sum(a) FROM incomplete WHERE b < 2;
DROP INDEX incomplete_idx;
CREATE INDEX incomplete_idx ON incomplete USING fpbtree (a other_type_ops);
EXPLAIN (COSTS OFF) SELECT * FROM incomplete WHERE a = ANY ('{4077,3,NULL,6000000000,3}'::int8[]);
SELECT * FROM incomplete WHERE a = ANY ('{4077,3,NULL,6000000000,3}'::int8[]) ORDER BY a;
SELECT * FROM incomplete WHERE a < ANY ('{2,-6000000000,NULL,4}'::int8[]) ORDER BY a;
SELECT * FROM incomplete WHERE a = ANY ('{4077,3,6000000000}'::int8[]) AND a = ANY ('{3,4}'::int4[]);
RESET enable_seqscan;
RESET enable_bitmapscan;
DROP TABLE incomplete;
DROP OPERATOR FAMILY equal_ops USING fpbtree CASCADE;
DROP OPERATOR FAMILY other_type_ops USING fpbtree CASCADE;

DROP OPERATOR FAMILY broken_ops USING fpbtree CASCADE;
DROP OPERATOR FAMILY optional_ops USING fpbtree CASCADE;
DROP OPERATOR FAMILY empty_ops USING fpbtree CASCADE;

\set VERBOSITY terse
SET client_min_messages = warning;
DROP TABLE cloned;
DROP EXTENSION citext, ltree CASCADE;
DROP TYPE celsius, kelvin CASCADE;
DROP OPERATOR FAMILY degree_ops USING btree;
DROP OPERATOR FAMILY degree_ops USING fpbtree;
DROP SCHEMA "Odd ""schema""" CASCADE;
DROP VIEW members, classes;
