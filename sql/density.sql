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
  FROM generate_series(1, least(8 * current_setting('block_size')::int, 65536)) i, LATERAL (SELECT abs(hashint4(i)) % 40 AS t) x;

CREATE INDEX d_named_built_b ON d (name COLLATE "C", up);
CREATE INDEX d_named_built_f ON d USING fpbtree (name COLLATE "C", up);

-- The share of btree's pages, in hundredths, and the most it may be; of ten keys, large pages are few.
SELECT name, CASE WHEN share <= most THEN 'ok' ELSE share || ' is more than ' || most END AS pages
FROM (SELECT name, most, pg_relation_size(('d_' || name || '_f')::regclass) * 100 /
             pg_relation_size(('d_' || name || '_b')::regclass) AS share
      FROM (VALUES ('up', 80), ('down', 105), ('random', 100), ('series', 95), ('named_series', 125),
                   ('named_built', 75), ('near_end', 150), ('few', CASE WHEN current_setting('block_size')::int > 8192 THEN 150 ELSE 115 END), ('few_names', 115)) AS v (name, most)) s;

-- and they hold what they should
SELECT name, fpbtree_check(('d_' || name || '_f')::regclass, true)
  FROM (VALUES ('up'), ('down'), ('random'), ('series'), ('named_series'), ('named_built'), ('near_end'), ('few'), ('few_names')) AS v (name);

-- How much insertions log, of the index alone: ascending ones of keys that come
-- late, as other backends are faster, and of many series; and a quarter as many
-- of duplicates, and of keys that begin alike; and descending ones; and of keys
-- without heads.
CREATE FUNCTION wal_of(command text) RETURNS numeric LANGUAGE plpgsql AS $$
DECLARE
    plan json;
BEGIN
    EXECUTE 'EXPLAIN (ANALYZE, WAL, FORMAT json) ' || command INTO plan;
    RETURN plan->0->'Plan'->>'WAL Bytes';
END $$;
CREATE TABLE plain (tenant int4, seq int4, key int8);
CREATE TABLE late_b (LIKE plain);
CREATE INDEX ON late_b (key);
CREATE TABLE late_f (LIKE plain);
CREATE INDEX late_key ON late_f USING fpbtree (key) WITH (layout = disk_first, node_format = numbered);
CREATE TABLE late_texts_b (LIKE plain);
CREATE INDEX ON late_texts_b ((key::text COLLATE "C"));
CREATE TABLE late_texts_f (LIKE plain);
CREATE INDEX late_text ON late_texts_f USING fpbtree ((key::text COLLATE "C")) WITH (layout = disk_first, node_format = numbered);
CREATE TABLE series_b (LIKE plain);
CREATE INDEX ON series_b (tenant, seq);
CREATE TABLE series_f (LIKE plain);
CREATE INDEX series_key ON series_f USING fpbtree (tenant, seq) WITH (layout = disk_first, node_format = numbered);
CREATE TABLE many_series_b (LIKE plain);
CREATE INDEX ON many_series_b ((seq + (abs(hashint4(seq)) % 200) * 1000000000::int8));
CREATE TABLE many_series_f (LIKE plain);
CREATE INDEX many_series_key ON many_series_f USING fpbtree ((seq + (abs(hashint4(seq)) % 200) * 1000000000::int8))
    WITH (layout = disk_first, node_format = numbered);
CREATE TABLE few_texts_b (LIKE plain);
CREATE INDEX ON few_texts_b ((tenant::text COLLATE "C"));
CREATE TABLE few_texts_f (LIKE plain);
CREATE INDEX few_text ON few_texts_f USING fpbtree ((tenant::text COLLATE "C")) WITH (layout = disk_first, node_format = numbered);
CREATE TABLE alike_texts_b (LIKE plain);
CREATE INDEX ON alike_texts_b (('tenant ' || tenant % 9) COLLATE "C", (hashint4(seq)::text) COLLATE "C");
CREATE TABLE alike_texts_f (LIKE plain);
CREATE INDEX alike_text ON alike_texts_f USING fpbtree (('tenant ' || tenant % 9) COLLATE "C", (hashint4(seq)::text) COLLATE "C")
    WITH (layout = disk_first, node_format = numbered);
CREATE TABLE down_texts_b (LIKE plain);
CREATE INDEX ON down_texts_b (('tenant ' || (1000000 - seq) / 100) COLLATE "C", (-seq));
CREATE TABLE down_texts_f (LIKE plain);
CREATE INDEX down_text ON down_texts_f USING fpbtree (('tenant ' || (1000000 - seq) / 100) COLLATE "C", (-seq))
    WITH (layout = disk_first, node_format = numbered);
CREATE TABLE up_arrays_b (LIKE plain);
CREATE INDEX ON up_arrays_b ((ARRAY[seq]));
CREATE TABLE up_arrays_f (LIKE plain);
CREATE INDEX up_array ON up_arrays_f USING fpbtree ((ARRAY[seq])) WITH (layout = disk_first, node_format = numbered);
CREATE TABLE down_arrays_b (LIKE plain);
CREATE INDEX ON down_arrays_b ((ARRAY[-seq]));
CREATE TABLE down_arrays_f (LIKE plain);
CREATE INDEX down_array ON down_arrays_f USING fpbtree ((ARRAY[-seq])) WITH (layout = disk_first, node_format = numbered);
CREATE VIEW rows AS
  SELECT abs(hashint4(i)) % 40 AS tenant, i AS seq, 100000000 + i * 16 + (hashint4(i) & 63) AS key
  FROM generate_series(1, least(8 * current_setting('block_size')::int, 65536)) i;

SELECT name, CASE WHEN share <= most THEN 'ok' ELSE share || ' is more than ' || most END AS wal
FROM (VALUES ('late', 170), ('late_texts', 150), ('series', 220 + current_setting('block_size')::int / 400),
             ('many_series', CASE current_setting('block_size') WHEN '8192' THEN 120 ELSE 250 END), ('few_texts', 130), ('alike_texts', CASE current_setting('block_size') WHEN '4096' THEN 140 ELSE 125 + current_setting('block_size')::int / 2048 END),
             ('down_texts', CASE current_setting('block_size') WHEN '8192' THEN 150 ELSE 250 END),
             ('up_arrays', 115), ('down_arrays', 125)) AS v (name, most),
     LATERAL (SELECT format('SELECT * FROM rows WHERE seq %% %s = 0', CASE WHEN name ~ 'few|alike' THEN 4 ELSE 1 END) AS these) r,
     LATERAL (SELECT wal_of('INSERT INTO plain ' || these) AS none) p,
     LATERAL (SELECT round((wal_of(format('INSERT INTO %s_f %s', name, these)) - none) * 100 /
                           (wal_of(format('INSERT INTO %s_b %s', name, these)) - none)) AS share) w;
SELECT fpbtree_check('late_key', true), fpbtree_check('late_text', true), fpbtree_check('series_key', true),
       fpbtree_check('many_series_key', true), fpbtree_check('few_text', true), fpbtree_check('alike_text', true),
       fpbtree_check('down_text', true), fpbtree_check('up_array', true), fpbtree_check('down_array', true);

DROP SCHEMA density CASCADE;
