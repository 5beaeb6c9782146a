-- How full insertions leave pages, against btree's.
-- The tables are filled row by row in the same order, so nothing here is chance.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS fpbtree;
CREATE SCHEMA density;
SET search_path = density, public;
-- what is checked of each change elsewhere would take most of the time here
SELECT count(set_config(name, 'off', false)) >= 0 AS quick FROM pg_settings WHERE name = 'fpbtree.verify_changes';

CREATE TABLE d (up int8, down int8, random int8, tenant int4, seq int4, name text, few int4);
CREATE INDEX d_up_b ON d (up);
CREATE INDEX d_up_f ON d USING fpbtree (up);
CREATE INDEX d_down_b ON d (down);
CREATE INDEX d_down_f ON d USING fpbtree (down);
CREATE INDEX d_random_b ON d (random);
CREATE INDEX d_random_f ON d USING fpbtree (random);
CREATE INDEX d_series_b ON d (tenant, seq);
CREATE INDEX d_series_f ON d USING fpbtree (tenant, seq);
CREATE INDEX d_named_series_b ON d (name, seq);
CREATE INDEX d_named_series_f ON d USING fpbtree (name, seq);
CREATE INDEX d_near_end_b ON d (seq, random);
CREATE INDEX d_near_end_f ON d USING fpbtree (seq, random);
CREATE INDEX d_few_b ON d (few);
CREATE INDEX d_few_f ON d USING fpbtree (few);
CREATE INDEX d_few_names_b ON d (name);
CREATE INDEX d_few_names_f ON d USING fpbtree (name);

INSERT INTO d SELECT i, -i, hashint8extended(i, 0), t, i / 40, 'tenant ' || t, hashint4(i) % 10
  FROM generate_series(1, 8 * current_setting('block_size')::int) i, LATERAL (SELECT abs(hashint4(i)) % 40 AS t) x;

-- The share of btree's pages, in hundredths, and the most it may be.
SELECT name, CASE WHEN share <= most THEN 'ok' ELSE share || ' is more than ' || most END AS pages
FROM (SELECT name, most, pg_relation_size(('d_' || name || '_f')::regclass) * 100 /
             pg_relation_size(('d_' || name || '_b')::regclass) AS share
      FROM (VALUES ('up', 80), ('down', 105), ('random', 100), ('series', 95), ('named_series', 125),
                   ('near_end', 150), ('few', 130), ('few_names', 155)) AS v (name, most)) s;

-- and they hold what they should
SELECT name, fpbtree_check(('d_' || name || '_f')::regclass, true)
  FROM (VALUES ('up'), ('down'), ('random'), ('series'), ('named_series'), ('near_end'), ('few'), ('few_names')) AS v (name);

DROP SCHEMA density CASCADE;
