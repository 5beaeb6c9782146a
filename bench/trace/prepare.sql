-- Keys of all indexes as they are before the mix, in tables of the schema replay;
-- and the same indexes again, but of the access method that writes operations
-- down.
CREATE EXTENSION fpbtree;
CREATE FUNCTION fpb_trace_handler(internal) RETURNS index_am_handler LANGUAGE c AS 'fpb_trace';
CREATE ACCESS METHOD fpb_trace TYPE INDEX HANDLER fpb_trace_handler;
CREATE OPERATOR CLASS int4_ops DEFAULT FOR TYPE int4 USING fpb_trace AS
	OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >, FUNCTION 1 btint4cmp(int4, int4);
CREATE OPERATOR CLASS text_ops DEFAULT FOR TYPE text USING fpb_trace AS
	OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >, FUNCTION 1 bttextcmp(text, text);

CREATE SCHEMA replay;
CREATE FUNCTION fpb_replay(file text, schema text, warm boolean, OUT kind text, OUT operations bigint, OUT ms float8,
	OUT found bigint) RETURNS SETOF record LANGUAGE c AS 'fpb_trace';

-- what an index is called, what it is made by, and its columns
CREATE TABLE replay.indexes AS
SELECT c.relname AS name, indrelid::regclass AS of, indisunique AS is_unique, pg_get_indexdef(c.oid) AS definition,
	string_agg(attname, ', ' ORDER BY attnum) AS columns,
	string_agg(format('words[%s]::%s', 3 * attnum, format_type(atttypid, atttypmod)), ', ' ORDER BY attnum) AS from_words
FROM pg_index JOIN pg_class c ON c.oid = indexrelid JOIN pg_attribute ON attrelid = c.oid
WHERE indrelid::regclass::text IN (SELECT name FROM loaded)
GROUP BY c.oid, indrelid, indisunique;

DO $$
DECLARE
	i record;
BEGIN
	FOR i IN SELECT * FROM replay.indexes LOOP
		EXECUTE format('CREATE TABLE replay.%I AS SELECT %s, NULL::bigint AS op FROM %s', i.name || '_rows', i.columns, i.of);
		EXECUTE format('DROP INDEX %I', i.name);
		EXECUTE replace(i.definition, 'USING btree', 'USING fpb_trace');
	END LOOP;
END $$;

-- The indexes that operations are replayed with: of what there was before.  Rows
-- of insertions are in the tables, and not in the indexes.
CREATE PROCEDURE replay.make_indexes(am text, with_unique boolean) LANGUAGE plpgsql AS $$
DECLARE
	i record;
BEGIN
	FOR i IN SELECT * FROM replay.indexes LOOP
		EXECUTE format('DROP INDEX IF EXISTS replay.%I', i.name);
		EXECUTE format('CREATE %s INDEX %I ON replay.%I USING %I (%s) WHERE op IS NULL',
			CASE WHEN with_unique AND i.is_unique THEN 'UNIQUE' END, i.name, i.name || '_rows', am, i.columns);
	END LOOP;
END $$;
