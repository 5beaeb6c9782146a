-- What has been written down (:recorded), for fpb_replay (:replayed): each
-- insertion gets a row, for what an index may ask of its table.
CREATE TABLE replay.trace (op bigint GENERATED ALWAYS AS IDENTITY, index text, kind text, calls bigint, keys text);
COPY replay.trace (index, kind, calls, keys) FROM :'recorded';
CREATE TABLE replay.tids (op bigint, tid tid);
DO $$
DECLARE
	i record;
BEGIN
	FOR i IN SELECT * FROM replay.indexes LOOP
		EXECUTE format($insert$INSERT INTO replay.%I SELECT %s, op
			FROM replay.trace, string_to_array(keys, ' ') AS words WHERE index = %L AND kind = 'i' ORDER BY op$insert$,
			i.name || '_rows', i.from_words, i.name);
		EXECUTE format('INSERT INTO replay.tids SELECT op, ctid FROM replay.%I WHERE op IS NOT NULL', i.name || '_rows');
	END LOOP;
END $$;
ANALYZE replay.trace, replay.tids;
COPY (SELECT index, kind, calls, coalesce(tid::text, '-'), keys FROM replay.trace LEFT JOIN replay.tids USING (op)
	ORDER BY op) TO :'replayed';
VACUUM (FREEZE, ANALYZE);
