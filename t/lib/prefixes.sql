/*
 * Tables, and what is asked of them, for Prefixes.pm.
 *
 * The keys of long are so long that a page has room for two or three only, and
 * few pages for their high fences: a few hundred rows make a tree of many levels.
 * Those of short are words and duplicates in nodes of two cache lines.  The
 * indexes of waiting have operation queues: one of long keys, of some levels, and
 * one that has no room for more than a page.
 */
CREATE EXTENSION fpbtree;
CREATE EXTENSION pageinspect;
CREATE EXTENSION pg_walinspect;

CREATE TABLE long (n int, k text STORAGE PLAIN COLLATE "C", v int)
	WITH (autovacuum_enabled = off);
CREATE TABLE short (a int, b bigint, t text COLLATE "C")
	WITH (autovacuum_enabled = off);

CREATE TABLE waiting (n int, k text STORAGE PLAIN COLLATE "C", a int)
	WITH (autovacuum_enabled = off);

-- how many numbers there are to make keys of
CREATE FUNCTION numbers() RETURNS int IMMUTABLE LANGUAGE sql RETURN 400;

-- The key number n, of any length down to two thirds of the longest, or one
-- right behind it.  They differ where they end, so that separators are as long.
CREATE FUNCTION long_key(n int, behind text DEFAULT '') RETURNS text STABLE LANGUAGE sql
RETURN (SELECT repeat('k', longest * 2 / 3) || lpad(n::text, 8, '0') ||
		repeat('x', n * 7919 % (longest / 3 - 16)) || behind
	FROM (SELECT least(current_setting('block_size')::int / 3, 8191) - 48 AS longest) s);

CREATE FUNCTION short_key(n int) RETURNS text IMMUTABLE LANGUAGE sql
RETURN (ARRAY['', 'a', 'ab', 'same', 'the same beginning', 'the same beginning, and more'])[n % 6 + 1] || n / 6 % 9;

INSERT INTO short SELECT i % 25 * 4, i * 1000, short_key(i % 40)
	FROM generate_series(1, 2500 * current_setting('block_size')::int / 8192) i;

-- VACUUM does not look at the indexes of a table in which nothing is dead
INSERT INTO waiting SELECT i, long_key(i), i FROM generate_series(0, 20) i;

CREATE UNIQUE INDEX long_k ON long USING fpbtree (k);
CREATE INDEX long_v ON long USING fpbtree (v) WITH (leaf_lines = 3);
CREATE INDEX short_a ON short USING fpbtree (a) WITH (leaf_lines = 3, fillfactor = 100);
CREATE INDEX short_b ON short USING fpbtree (b DESC) WITH (fillfactor = 100);
CREATE INDEX short_t ON short USING fpbtree (t) WITH (leaf_lines = 3, fillfactor = 100);

SELECT format('CREATE INDEX waiting_k ON waiting USING fpbtree (k) WITH (operation_queue = on, opq_size = %s)',
	current_setting('block_size')::int / 1024 * 60) \gexec
CREATE INDEX waiting_a ON waiting USING fpbtree (a) WITH (leaf_lines = 3, operation_queue = on, opq_size = 1, queue_tiers = 2);

-- the indexes, each with what it is of and its file
CREATE VIEW indexes AS
	SELECT indexrelid::regclass::text AS index, indrelid::regclass::text AS tab, attname::text AS col,
		pg_relation_filenode(indexrelid) AS file
	FROM pg_index JOIN pg_class c ON c.oid = indexrelid JOIN pg_am a ON a.oid = relam AND amname = 'fpbtree'
		JOIN pg_attribute ON attrelid = indexrelid AND attnum = 1
	WHERE indisvalid
	ORDER BY 1;

-- Answers of a query that finds its rows through an index, in its order; by a
-- bitmap; or in the table alone.
CREATE FUNCTION by_index(query text) RETURNS text LANGUAGE plpgsql
	SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off SET enable_incremental_sort = off
	SET enable_hashjoin = off SET enable_mergejoin = off
	AS $$ DECLARE r text; BEGIN EXECUTE query INTO r; RETURN r; END $$;
CREATE FUNCTION by_bitmap(query text) RETURNS text LANGUAGE plpgsql
	SET enable_seqscan = off SET enable_indexscan = off SET enable_indexonlyscan = off
	SET enable_hashjoin = off SET enable_mergejoin = off
	AS $$ DECLARE r text; BEGIN EXECUTE query INTO r; RETURN r; END $$;
CREATE FUNCTION by_table(query text) RETURNS text LANGUAGE plpgsql
	SET enable_bitmapscan = off SET enable_indexscan = off SET enable_indexonlyscan = off
	AS $$ DECLARE r text; BEGIN EXECUTE query INTO r; RETURN r; END $$;

-- What an index is to answer as the table does: all of it in order, forward and
-- backward, and without the table; and keys, those among them that are in no row.
CREATE FUNCTION questions(tab text, col text, OUT what text, OUT query text) RETURNS SETOF record LANGUAGE plpgsql AS $$
DECLARE
	total text := $q$ SELECT count(*) || ' ' || coalesce(sum(hashtext(tid || x)), 0) || ' ' || md5(string_agg(x, ',')) $q$;
	asked text;
BEGIN
	what := 'forward';
	query := total || format('FROM (SELECT %I::text AS x, ctid::text AS tid FROM %I ORDER BY %1$I) s', col, tab);
	RETURN NEXT;
	what := 'backward';
	query := total || format('FROM (SELECT %I::text AS x, ctid::text AS tid FROM %I ORDER BY %1$I DESC) s', col, tab);
	RETURN NEXT;
	what := 'keys alone';
	query := format($q$ SELECT count(*) || ' ' || md5(string_agg(x::text, ',')) FROM (SELECT %I AS x FROM %I ORDER BY 1) s $q$,
		col, tab);
	RETURN NEXT;
	what := 'equal';
	asked := CASE col
		WHEN 'k' THEN 'SELECT long_key(i) AS key FROM generate_series(0, numbers(), 5) i'
		WHEN 't' THEN 'SELECT DISTINCT short_key(i) AS key FROM generate_series(0, 53) i'
		WHEN 'b' THEN 'SELECT i * bigint ''20000'' AS key FROM generate_series(-1, 100) i'
		ELSE 'SELECT i AS key FROM generate_series(-1, 101) i' END;
	query := format($q$ SELECT count(t.ctid) || ' ' || sum(hashtext(t.ctid::text || key))
		FROM (%s OFFSET 0) asked LEFT JOIN %I t ON %I = key $q$, asked, tab, col);
	RETURN NEXT;
END $$;

-- What is wrong with the answers of the indexes, in one snapshot.
CREATE FUNCTION wrong_answers(moment text, only_file oid DEFAULT NULL) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	i record;
	q record;
	want text;
	got text;
BEGIN
	FOR i IN SELECT * FROM indexes WHERE file = only_file OR only_file IS NULL LOOP
		FOR q IN SELECT * FROM questions(i.tab, i.col) LOOP
			want := by_table(q.query);
			got := by_index(q.query);
			IF got IS NOT DISTINCT FROM want AND q.what = 'equal' THEN
				got := by_bitmap(q.query);
			END IF;
			IF got IS DISTINCT FROM want THEN
				RETURN NEXT format('%s: %s, %s: index says %s, table %s', moment, i.index, q.what, got, want);
			END IF;
		END LOOP;
	END LOOP;
END $$;

-- What fpbtree_check finds wrong.  (An incomplete split is not; it warns of that.)
CREATE FUNCTION unsound(moment text, only_file oid DEFAULT NULL) RETURNS SETOF text LANGUAGE plpgsql
	SET client_min_messages = error
	AS $$
DECLARE
	i record;
	detail text;
BEGIN
	FOR i IN SELECT * FROM indexes WHERE file = only_file OR only_file IS NULL LOOP
		BEGIN
			PERFORM fpbtree_check(i.index, true);
		EXCEPTION WHEN object_not_in_prerequisite_state THEN
			NULL;				-- an old snapshot sees one that REINDEX has replaced
		WHEN index_corrupted OR internal_error THEN
			GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL;
			RETURN NEXT format('%s: %s %s', moment, SQLERRM, detail);
		END;
	END LOOP;
END $$;

-- Both, of all indexes or of that in a file.
CREATE FUNCTION faults(moment text, only_file oid DEFAULT NULL) RETURNS SETOF text LANGUAGE sql
BEGIN ATOMIC
	SELECT unsound(moment, only_file) UNION ALL SELECT wrong_answers(moment, only_file);
END;

CREATE VIEW pages AS
	SELECT i.index, b AS block, p.kind, p.level, 'incomplete_split' = ANY (p.flags) AND p.kind <> 'deleted' AS incomplete,
		'high_elided' = ANY (p.flags) AND p.kind <> 'deleted' AS elided, p.low_fence
	FROM indexes i,
		generate_series(1, pg_relation_size(i.index::regclass) / current_setting('block_size')::int - 1) b,
		fpbtree_page(i.index::regclass, b) p;

-- Those of long_k whose right siblings have no downlinks, and which new keys can
-- get to: not those in the midst of equal keys, where fences have TIDs.
CREATE VIEW unfinished_reachable AS
	SELECT * FROM pages
	WHERE index = 'long_k' AND incomplete AND (low_fence IS NULL OR low_fence NOT LIKE '% (%');

-- Those that inserters have left so, who have been to all of these.
CREATE FUNCTION unfinished_reachable(moment text) RETURNS SETOF text LANGUAGE sql
BEGIN ATOMIC
	SELECT format('%s: %s: the split of block %s, of level %s, is still incomplete', moment, index, block, level)
		FROM unfinished_reachable;
END;

-- Those of all indexes, after VACUUM.
CREATE FUNCTION unfinished(moment text) RETURNS SETOF text LANGUAGE sql
BEGIN ATOMIC
	SELECT format('%s: %s: the split of block %s, of level %s, is still incomplete', moment, index, block, level)
		FROM pages WHERE incomplete;
END;

-- The blocks of an index that the free space map has.  (Its third page is the
-- first of those that are not of its own upper levels, and there is no second.)
CREATE FUNCTION free_blocks(index text) RETURNS TABLE (block bigint) LANGUAGE plpgsql AS $$
BEGIN
	IF pg_relation_size(index, 'fsm') = 0 THEN
		RETURN;
	END IF;
	-- an upper level that knows of nothing hides all below it
	IF left(fsm_page_contents(get_raw_page(index, 'fsm', 0)), 3) <> '0: ' THEN
		RETURN;
	END IF;
	RETURN QUERY
		SELECT split_part(line, ':', 1)::bigint - (current_setting('block_size')::int / 2 - 1)
		FROM regexp_split_to_table(fsm_page_contents(get_raw_page(index, 'fsm', 2)), '\n') line
		WHERE line ~ '^\d+: ' AND split_part(line, ':', 1)::int >= current_setting('block_size')::int / 2 - 1;
END $$;

-- Pages that nothing will ever use again, after VACUUM.
CREATE FUNCTION lost(moment text) RETURNS SETOF text LANGUAGE sql
BEGIN ATOMIC
	SELECT format('%s: %s: block %s is %s but not in the free space map', moment, index, block, kind)
		FROM pages
		WHERE kind IN ('deleted', 'new') AND
			(index, block) NOT IN (SELECT i.index, f.block FROM indexes i, free_blocks(i.index) f);
END;

-- Rows in all parts of the indexes: in ascending, descending, or random order (1,
-- -1, 0).  Then into the pages that are still incompletely split.
CREATE PROCEDURE insert_everywhere(behind text, direction int) LANGUAGE plpgsql AS $$
DECLARE
	i int;
	key text;
BEGIN
	FOR i IN SELECT g FROM generate_series(0, numbers()) g ORDER BY g * direction, random() LOOP
		INSERT INTO long VALUES (i, long_key(i, behind), i % 101);
	END LOOP;
	INSERT INTO short
		SELECT (random() * 102)::int - 1,
			(random() * (SELECT max(b) FROM short) * 1.01)::bigint - 10,
			short_key((random() * 53)::int) || CASE WHEN random() < 0.2 THEN behind ELSE '' END
		FROM generate_series(1, 600);
	INSERT INTO waiting SELECT g, long_key(g, behind), (random() * 102)::int - 1
		FROM generate_series(0, numbers(), 3) g ORDER BY g * direction, random();
	FOREACH key IN ARRAY ARRAY(SELECT coalesce(substr(low_fence, 2, length(low_fence) - 2), '!' || behind) FROM unfinished_reachable) LOOP
		BEGIN
			INSERT INTO long VALUES (random(0, numbers()), key, 5);
		EXCEPTION WHEN unique_violation THEN
			NULL;				-- it has been looked for there
		END;
	END LOOP;
END $$;

-- No key of long can be inserted twice.
CREATE FUNCTION not_unique(moment text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	r record;
BEGIN
	FOR r IN SELECT * FROM long WHERE n % 4 = 0 ORDER BY random() LOOP
		BEGIN
			INSERT INTO long VALUES (r.n, r.k, 0);
			RETURN NEXT format('%s: the key of row %s could be inserted twice', moment, r.n);
		EXCEPTION WHEN unique_violation THEN
			NULL;
		END;
	END LOOP;
END $$;

CREATE PROCEDURE delete_many() LANGUAGE sql
BEGIN ATOMIC
	DELETE FROM long WHERE n % 3 = 0 OR n BETWEEN numbers() / 4 AND numbers() / 2;
	DELETE FROM short WHERE a % 3 = 0 OR b BETWEEN 500000 AND 1500000 OR t = short_key(3);
	DELETE FROM waiting WHERE n % 4 = 0 OR n BETWEEN numbers() / 4 AND numbers() / 2;
END;
