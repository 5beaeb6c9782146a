--
-- Functions that belong to an index run as the index's owner, restricted, with
-- a search_path of pg_catalog and pg_temp, whoever has a command or a function
-- of ours run them; and those that need not run don't.
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS fpbtree;
RESET client_min_messages;

CREATE ROLE regress_privileges_owner;
CREATE ROLE regress_privileges_watcher IN ROLE pg_stat_scan_tables;
CREATE SCHEMA privileges AUTHORIZATION regress_privileges_owner;
GRANT USAGE ON SCHEMA privileges TO PUBLIC;
SET ROLE regress_privileges_owner;

-- Tells once in a command who runs it, or tries to become somebody else, as
-- settings say that only those have who are being tested.
CREATE FUNCTION privileges.note(what text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    runs text := format('%s runs as %s, search_path %s', what, current_user, current_setting('search_path'));
BEGIN
    CASE coalesce(current_setting('privileges.mode', true), '')
        WHEN 'tell' THEN
            IF coalesce(current_setting('privileges.told_' || what, true), '') <> 'yes' THEN
                RAISE NOTICE '%', runs;
                PERFORM set_config('privileges.told_' || what, 'yes', false);
            END IF;
        WHEN 'parallel' THEN -- where nothing can be set
            IF what = 'equalimage' THEN
                RAISE NOTICE '%', runs;
            ELSIF runs NOT LIKE '% runs as regress_privileges_owner, search_path pg_catalog, pg_temp' THEN
                RAISE '%', runs;
            END IF;
        WHEN what THEN
            RESET SESSION AUTHORIZATION;
            RAISE WARNING '% has become %', what, session_user;
        ELSE
    END CASE;
END $$;
CREATE FUNCTION privileges.cmp(a int, b int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS
    $$ BEGIN PERFORM privileges.note('comparator'); RETURN btint4cmp(a, b); END $$;
CREATE FUNCTION privileges.equal(oid) RETURNS bool LANGUAGE plpgsql IMMUTABLE AS
    $$ BEGIN PERFORM privileges.note('equalimage'); RETURN true; END $$;
CREATE FUNCTION privileges.expr(a int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS
    $$ BEGIN PERFORM privileges.note('expression'); RETURN a; END $$;
CREATE FUNCTION privileges.pred(a int) RETURNS bool LANGUAGE plpgsql IMMUTABLE AS
    $$ BEGIN PERFORM privileges.note('predicate'); RETURN true; END $$;
RESET ROLE;
-- what a superuser has done for the owner once
CREATE OPERATOR CLASS privileges.ops FOR TYPE int USING btree AS
    OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >,
    FUNCTION 1 privileges.cmp(int, int), FUNCTION 4 privileges.equal(oid);
CREATE OPERATOR CLASS privileges.ops FOR TYPE int USING fpbtree AS
    OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >,
    FUNCTION 1 privileges.cmp(int, int), FUNCTION 4 privileges.equal(oid);

SET ROLE regress_privileges_owner;
CREATE TABLE privileges.t (k int, r regclass DEFAULT 'privileges.t') WITH (autovacuum_enabled = off, parallel_workers = 2);
INSERT INTO privileges.t SELECT i FROM generate_series(1, 2000) i;
CREATE INDEX t_k ON privileges.t USING fpbtree (k privileges.ops) WITH (operation_queue = on);
CREATE INDEX t_e ON privileges.t USING fpbtree (privileges.expr(k), k privileges.ops) INCLUDE (r) WHERE privileges.pred(k) AND privileges.pred(1);
CREATE INDEX t_b ON privileges.t USING btree (k privileges.ops);
CREATE TABLE privileges.asked (k int);
INSERT INTO privileges.asked SELECT 1;
CREATE INDEX asked_k ON privileges.asked USING fpbtree (k privileges.ops);
RESET ROLE;

-- A superuser, with others' objects in front of his search_path.  What is
-- known of an index is read anew by each session.
\set VERBOSITY terse
\set new 'SET search_path = privileges, public; SET fpbtree.queue_worker = off; SET max_parallel_maintenance_workers = 0; SET privileges.mode = tell;'

-- commands
:new
CREATE INDEX t_new ON t USING fpbtree (k ops);
DROP INDEX t_new;
CREATE INDEX t_new ON t USING fpbtree (expr(k)) WHERE pred(k);
DROP INDEX t_new;
REINDEX INDEX t_k;
REINDEX INDEX CONCURRENTLY t_k;
CLUSTER t USING t_k;
SET privileges.mode = off;
INSERT INTO t SELECT i FROM generate_series(2001, 4000) i;
SELECT queue_entries > 0 AS queued FROM fpbtree_stats('t_k');
DELETE FROM t WHERE k BETWEEN 100 AND 3900;
SET privileges.mode = tell;
VACUUM t;
ANALYZE t;
SET privileges.mode = parallel;
SET max_parallel_maintenance_workers = 2;
CREATE INDEX t_new ON t USING fpbtree (k ops);
DROP INDEX t_new;

-- the planner's questions
\c -
:new
DO $$ BEGIN EXECUTE 'EXPLAIN SELECT k FROM asked WHERE k = 1'; END $$;
\c -
:new
SELECT pg_index_column_has_property('t_k', 1, 'returnable');

-- functions
\c -
:new
SELECT entries > 0 AS entries FROM fpbtree_stats('t_k');
\c -
:new
SELECT count(*) > 0 AS advised FROM fpbtree_queue_advice('t_k');
\c -
:new
SELECT index_wasted IS NOT NULL FROM fpbtree_prefetch_stats('t_k');
\c -
:new
SELECT kind FROM fpbtree_page('t_k', 1);
\c -
:new
-- the name is output as somebody sees it who has not set the path
SELECT first_entry FROM fpbtree_nodes('t_e', 1) WHERE dir = 0;
\c -
:new
SELECT fpbtree_check('t_k');
SELECT fpbtree_check('t_e', true);
SELECT * FROM fpbtree_damage('t_k', true);
\c -
:new
SELECT size > 0 AS expected FROM fpbtree_expected_size('t_b');
\c -
:new
SET privileges.mode = off;
INSERT INTO t SELECT i FROM generate_series(4001, 4400) i;
SET privileges.mode = tell;
SELECT fpbtree_flush('t_k') > 0 AS flushed;
SELECT current_user = session_user AS same, current_setting('search_path') AS path,
       current_setting('privileges.told_comparator', true) AS told;

-- Whoever tries to become somebody else fails.
SET privileges.mode = off;
INSERT INTO t SELECT i FROM generate_series(4401, 4800) i;
DELETE FROM t WHERE k = 1;
SET privileges.mode = comparator;
SELECT fpbtree_flush('t_k');
SELECT fpbtree_check('t_k');
SELECT fpbtree_expected_size('t_b');
REINDEX INDEX t_k;
SET privileges.mode = equalimage;
SELECT fpbtree_check('t_k');
SELECT fpbtree_expected_size('t_b');
CREATE INDEX t_new ON t USING fpbtree (k ops);
SET privileges.mode = expression;
SELECT fpbtree_check('t_e', true);
SET privileges.mode = predicate;
SELECT fpbtree_check('t_e', true);
SET privileges.mode = off;
SELECT current_user = session_user AS same, current_setting('search_path') AS path;
SELECT fpbtree_flush('t_k') > 0 AS flushed;
SELECT fpbtree_check('t_k', true), fpbtree_check('t_e', true);

-- A role that may not read the table: whether it may see keys is found out
-- without simplifying the predicate.
\c -
:new
SET ROLE regress_privileges_watcher;
SELECT kind, low_fence FROM fpbtree_page('t_e', 1);
SELECT fpbtree_check('t_e', true);
RESET ROLE;

-- Whether equal keys are the same value is asked when an index is built, by
-- the init fork of an unlogged one, too; and by a check, which tells if it is
-- no longer true.
CREATE UNLOGGED TABLE unlogged (k int);
ALTER TABLE unlogged OWNER TO regress_privileges_owner;
SET privileges.mode = parallel;
CREATE INDEX unlogged_k ON unlogged USING fpbtree (k ops);
SET privileges.mode = off;
INSERT INTO unlogged SELECT 1 FROM generate_series(1, 100);
INSERT INTO unlogged SELECT i FROM generate_series(1, 100) i;
SELECT (postings > 0) = (layout <> 'micro_index') AS shared FROM fpbtree_stats('unlogged_k');
CREATE OR REPLACE FUNCTION equal(oid) RETURNS bool LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN false; END $$;
\c -
:new
SET privileges.mode = off;
INSERT INTO unlogged SELECT 1 FROM generate_series(1, 100);
SELECT pg_index_column_has_property('unlogged_k', 1, 'returnable');
SELECT fpbtree_check('unlogged_k', true);
SELECT * FROM fpbtree_damage('unlogged_k', true);
REINDEX INDEX unlogged_k;
SELECT fpbtree_check('unlogged_k', true);
SELECT postings FROM fpbtree_stats('unlogged_k');
CREATE OR REPLACE FUNCTION equal(oid) RETURNS bool LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RAISE 'undecided'; END $$;
SELECT entries FROM fpbtree_stats('unlogged_k');
SELECT fpbtree_check('unlogged_k', true);
SELECT fpbtree_check('t_k', true);
SELECT * FROM fpbtree_damage('t_k', true);
REINDEX INDEX t_k;

SET client_min_messages = warning;
DROP SCHEMA privileges CASCADE;
DROP OWNED BY regress_privileges_owner;
DROP ROLE regress_privileges_owner, regress_privileges_watcher;
