#
# A data directory that is moved to a machine with another C library, which has
# rules for C.UTF-8: an index that has been built by bytes keeps that order, and
# finds what btree does not.
#
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Utils;
use Servers;
use Test::More;

my $other = PostgreSQL::Test::Utils::tempdir() . '/other_c_library.so';
system('cc', '-shared', '-fPIC', '-o', $other, "$FindBin::RealBin/lib/other_c_library.c") == 0
  or plan skip_all => 'no C compiler';

my $server = start_server('primary', "max_parallel_workers_per_gather = 0\n");
query(q{
	CREATE EXTENSION fpbtree;
	CREATE COLLATION here (provider = libc, locale = 'C.UTF-8');
	CREATE TABLE forms (form text PRIMARY KEY, columns text, condition text, method text DEFAULT 'fpbtree', options text DEFAULT '');
	INSERT INTO forms (form, columns, condition) VALUES ('text', '(k)', 'k = s.k'), ('down', '(k DESC)', 'k = s.k'), ('number', '(k, i)', 'k = s.k'),
		('texts', '(k, l)', 'k = s.k AND l = s.l'), ('behind', '(m, k)', 'm = s.m AND k = s.k'), ('mixed', '(t, l)', 't = s.t AND l = s.l'),
		('including', '(k) INCLUDE (i)', 'k = s.k'), ('blanks', '(b)', 'b = s.k::bpchar');
	INSERT INTO forms SELECT 'queued', '(k)', 'k = s.k', 'fpbtree', 'WITH (operation_queue = on)';
	INSERT INTO forms SELECT 'btree', '(k)', 'k = s.k', 'btree';
	CREATE VIEW source AS SELECT i, i % 3 AS m, 't' || i % 4 AS t, key AS k, left(key, 3) AS l FROM (SELECT i,
		translate(substr(md5(i::text), 1, 1 + i % 7), '0123456789', 'AaBbZz-e E') || CASE WHEN i % 3 = 0 THEN 'X' ELSE '' END AS key FROM generate_series(1, 9000) i) s;
	CREATE PROCEDURE each(statement text) LANGUAGE plpgsql AS $$
	DECLARE f forms;
	BEGIN
		FOR f IN SELECT * FROM forms ORDER BY form LOOP
			EXECUTE replace(replace(replace(replace(statement, '%form', f.form), '%columns', f.columns), '%method', f.method), '%options', f.options);
		END LOOP;
	END $$;
	-- rows that an index does not find, or finds too often, by join and one by one
	CREATE FUNCTION wrong(wanted text) RETURNS int LANGUAGE plpgsql AS $$
	DECLARE f forms; query text; expected text; found text; wrong int := 0;
	BEGIN
		FOR f IN SELECT * FROM forms WHERE method = wanted ORDER BY form LOOP
			query := format('SELECT string_agg(s.i || '':'' || x.i, '','' ORDER BY s.i, x.i) FROM (SELECT * FROM source WHERE i %% 41 = 0) s, LATERAL (SELECT i FROM %I %I WHERE %s) x',
				f.form, f.form, f.condition);
			PERFORM set_config('enable_indexscan', 'off', true), set_config('enable_indexonlyscan', 'off', true), set_config('enable_bitmapscan', 'off', true), set_config('enable_seqscan', 'on', true), set_config('enable_mergejoin', 'off', true);
			EXECUTE query INTO expected;
			PERFORM set_config('enable_indexscan', 'on', true), set_config('enable_indexonlyscan', 'on', true), set_config('enable_seqscan', 'off', true), set_config('enable_hashjoin', 'off', true);
			EXECUTE query INTO found;
			wrong := wrong + (found IS DISTINCT FROM expected)::int;
			PERFORM set_config('enable_nestloop', 'off', true);	-- but for batches
			EXECUTE query INTO found;
			wrong := wrong + (found IS DISTINCT FROM expected)::int;
			PERFORM set_config('enable_nestloop', 'on', true), set_config('enable_hashjoin', 'on', true);
			IF f.method = 'fpbtree' THEN PERFORM fpbtree_check((f.form || '_x')::regclass, true); END IF;
		END LOOP;
		RETURN wrong;
	END $$;
	CALL each('CREATE TABLE %form (i int, m int8, t text COLLATE "C", k text COLLATE here, l varchar COLLATE here, b bpchar COLLATE here) WITH (autovacuum_enabled = off)');
	CALL each('INSERT INTO %form SELECT i, m, t, k, l, k FROM source WHERE i <= 3000');
	CALL each('CREATE INDEX %form_x ON %form USING %method %columns %options');
	CALL each('INSERT INTO %form SELECT i, m, t, k, l, k FROM source WHERE i BETWEEN 3001 AND 4000');
});
is(query(q{SELECT 'B' < 'a' COLLATE here}), 't', 'here the order is that of bytes');
is(query(q{SELECT wrong('fpbtree') || ' ' || wrong('btree')}), '0 0', 'all is found');

$server->stop;
{
	local $ENV{LD_PRELOAD} = $other;
	$server->start;
}
is(query(q{SELECT 'B' < 'a' COLLATE here}), 'f', 'there it is another');
is(query(q{SELECT wrong('fpbtree')}), '0', 'all is found there');
cmp_ok(query(q{SELECT wrong('btree')}), '>', 0, "which btree doesn't");

# by the statement and one by one, with leaves that are split, and with fewer rows
query(q{
	CALL each('INSERT INTO %form SELECT i, m, t, k, l, k FROM source WHERE i BETWEEN 4001 AND 7000');
	SET fpbtree.insert_batch_size = 0;
	CALL each('INSERT INTO %form SELECT i, m, t, k, l, k FROM source WHERE i > 7000');
	CALL each('DELETE FROM %form WHERE i % 7 < 3');
});
query("VACUUM $_") foreach split /\n/, query(q{SELECT form FROM forms WHERE method = 'fpbtree'});
is(query(q{SELECT wrong('fpbtree')}), '0', 'and so are rows that have come there');

# what is built there is in the order that the library has
query(q{
	CREATE TABLE new (k text COLLATE here);
	INSERT INTO new SELECT k FROM source;
	CREATE INDEX new_x ON new USING fpbtree (k);
	SELECT fpbtree_check('new_x', true);
});
is(query(q{SET enable_seqscan = off; SELECT md5(string_agg(k, ',')) FROM (SELECT k FROM new ORDER BY k) s}),
	query(q{SET enable_indexscan = off; SET enable_indexonlyscan = off; SET enable_bitmapscan = off; SELECT md5(string_agg(k, ',')) FROM (SELECT k FROM new ORDER BY k) s}),
	'an index that is built there is in its order');

$server->restart;
is(query(q{SELECT 'B' < 'a' COLLATE here}), 't', 'here again');
is(query(q{SELECT wrong('fpbtree')}), '0', 'all is found');

done_testing();
