-- Heads of another version of ICU, in leaves with a short prefix (one to three
-- bytes of sort keys) that are made afresh in place when an entry comes.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS fpbtree;
RESET client_min_messages;
CREATE SCHEMA collations_rebuilt;
SET search_path = collations_rebuilt, public;
CREATE COLLATION icu (provider = icu, locale = 'und');

-- words of three letters
SELECT setseed(0.5);
CREATE TABLE words AS
    SELECT string_agg(chr(97 + floor(random() * 3)::int), '') AS k, i AS n
        FROM generate_series(1, 30000) i, generate_series(1, 9) GROUP BY i ORDER BY random();
CREATE TABLE narrow (k text COLLATE icu, n int) WITH (autovacuum_enabled = off);
CREATE TABLE micro (k text COLLATE icu, n int) WITH (autovacuum_enabled = off);
INSERT INTO narrow SELECT k, n FROM words WHERE n <= 15000;
INSERT INTO micro SELECT k, n FROM words WHERE n <= 15000;
SET client_min_messages = warning;  -- pages of 32 kB have wider nodes
CREATE INDEX narrow_x ON narrow USING fpbtree (k) WITH (leaf_lines = 2);
RESET client_min_messages;
CREATE INDEX micro_x ON micro USING fpbtree (k) WITH (layout = micro_index);
DELETE FROM narrow WHERE n % 3 <> 0;
DELETE FROM micro WHERE n % 3 <> 0;
VACUUM narrow;
VACUUM micro;

-- From here on it is another version (see collations.sql).
UPDATE pg_collation SET colllocale = 'und-u-kr-grek-latn' WHERE collname = 'icu' AND collnamespace = 'collations_rebuilt'::regnamespace;
\c -
SET search_path = collations_rebuilt, public;
INSERT INTO narrow SELECT k, n FROM words WHERE n > 15000;
INSERT INTO micro SELECT k, n FROM words WHERE n > 15000;
SELECT fpbtree_check('narrow_x', true);
SELECT fpbtree_check('micro_x', true);
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SET enable_sort = off;
SELECT count(*) AS lost FROM (SELECT k, count(*) AS n FROM words WHERE n % 3 = 0 OR n > 15000 GROUP BY k) w
    WHERE n <> (SELECT count(*) FROM narrow WHERE narrow.k = w.k COLLATE icu);
SELECT count(*) AS misplaced FROM (SELECT k, lag(k) OVER () AS before FROM (SELECT k FROM narrow ORDER BY k) o) o WHERE before > k;
SET client_min_messages = warning;
DROP SCHEMA collations_rebuilt CASCADE;
