-- A table with fpbtree indexes, and the function smoke_test() that uses them, for servers that fpbtree has been installed
-- in as users install it: package-test and container-test. The function only reads, so standbys can run it.

CREATE EXTENSION IF NOT EXISTS fpbtree;

CREATE TABLE smoke AS SELECT hashint8extended(i, 0) AS number, md5(i::text) AS word FROM generate_series(1, 20000) i;
CREATE INDEX smoke_number ON smoke USING fpbtree (number);
CREATE UNIQUE INDEX smoke_word ON smoke USING fpbtree (word);
INSERT INTO smoke SELECT hashint8extended(i, 0), md5(i::text) FROM generate_series(20001, 30000) i;
DELETE FROM smoke WHERE number % 7 = 0;
VACUUM ANALYZE smoke;

-- Raises an error if the indexes are not used, give other answers than the table, or are damaged.
CREATE FUNCTION smoke_test() RETURNS text LANGUAGE plpgsql
	SET enable_bitmapscan = off SET enable_seqscan = off AS $$
DECLARE
	condition text;
	step text;
	plan text;
	by_index bigint;
	by_table bigint;
BEGIN
	FOREACH condition IN ARRAY ARRAY['number = hashint8extended(17, 0)', 'number > 0', 'word = md5(''29999'')', 'word < ''8''']
	LOOP
		plan := '';
		FOR step IN EXECUTE 'EXPLAIN SELECT count(*) FROM smoke WHERE ' || condition LOOP
			plan := plan || step;
		END LOOP;
		IF plan !~ 'using smoke_(number|word)' THEN
			RAISE EXCEPTION 'no index for %: %', condition, plan;
		END IF;
		EXECUTE 'SELECT count(*) FROM smoke WHERE ' || condition INTO by_index;
		EXECUTE 'SELECT count(*) FROM smoke WHERE (' || condition || ') IS TRUE' INTO by_table;
		IF by_index <> by_table OR by_index = 0 THEN
			RAISE EXCEPTION '% rows by the index, % by the table, for %', by_index, by_table, condition;
		END IF;
	END LOOP;
	PERFORM fpbtree_check('smoke_number', true), fpbtree_check('smoke_word', true);
	RETURN 'sound';
END $$;

SELECT smoke_test();
