#
# What came with PostgreSQL 19, on tables with fpbtree indexes: REPACK, also
# while others change the table; ON CONFLICT DO SELECT; columns of type oid8;
# parallel autovacuum; DROP DATABASE beside the queue's worker; counts of page
# images.
#
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Utils;
use Servers;
use Test::More;

my ($major) = `pg_config --version` =~ /(\d+)/;
plan skip_all => 'these features came with 19' if $major < 19;

my $node = start_server(
	'features', q{
max_repack_replication_slots = 2
max_parallel_maintenance_workers = 2
min_parallel_index_scan_size = 0
}, allows_streaming => 'logical');

query('CREATE EXTENSION fpbtree');
repack();
conflicts_selected();
oid8();
parallel_autovacuum();
drop_database();
page_images();
$node->stop;
done_testing();

# The same rows by each index and by a sequential scan, and sound indexes.
sub check
{
	my ($table, $when) = @_;
	my $rows = "SELECT count(*), sum(hashtextextended(t::text, 0)) FROM $table t";
	foreach my $column ('a', 'b')
	{
		my $some = $rows . ($column eq 'a' ? " WHERE a >= '0'" : " WHERE b >= ''");
		is(query("$BY_INDEX $some"), query("$BY_TABLE $some"), "$table by $column $when");
	}
	query("SELECT fpbtree_check(indexrelid, true) FROM pg_index WHERE indrelid = '$table'::regclass");
	return;
}

# A table is rewritten in the order of an fpbtree index, or as it is; with
# CONCURRENTLY, changes that others make meanwhile are applied by way of the
# replica identity, which is an fpbtree index.
sub repack
{
	query(q{
CREATE TABLE packed (a bigint NOT NULL, b text NOT NULL, n int);
CREATE UNIQUE INDEX packed_a ON packed USING fpbtree (a);
CREATE INDEX packed_b ON packed USING fpbtree (b) WITH (operation_queue = on);
INSERT INTO packed SELECT i * 7919 % 20011, 'text ' || i % 500, 0 FROM generate_series(1, 20000) i;
DELETE FROM packed WHERE a % 3 = 0;
ALTER TABLE packed REPLICA IDENTITY USING INDEX packed_a;
});
	query('REPACK packed');
	check('packed', 'after REPACK');
	query('REPACK packed USING INDEX packed_a');
	check('packed', 'after REPACK USING INDEX');
	is( query('SELECT bool_and(a > before) FROM (SELECT a, lag(a) OVER (ORDER BY ctid) AS before FROM packed) o'),
		't', 'the rows are in the order of the index');
	query('REPACK packed USING INDEX packed_b');
	check('packed', 'after REPACK USING INDEX of another');
	is( query('SELECT bool_and(b >= before) FROM (SELECT b, lag(b) OVER (ORDER BY ctid) AS before FROM packed) o'),
		't', 'the rows are in the order of that');

	my $changes = $node->basedir . '/changes.sql';
	append_to_file(
		$changes, q{
\set k random(1, 20000)
INSERT INTO packed VALUES (:k, 'new ' || :k, 1) ON CONFLICT (a) DO UPDATE SET n = packed.n + 1, b = 'changed ' || :k;
DELETE FROM packed WHERE a = :k + 1;
UPDATE packed SET a = 30000 + a WHERE a = :k + 2 AND a < 30000 AND NOT EXISTS (SELECT FROM packed p WHERE p.a = 30000 + :k + 2);
});
	foreach my $what ('REPACK (CONCURRENTLY) packed', 'REPACK (CONCURRENTLY) packed USING INDEX packed_b',
		'REPACK (CONCURRENTLY) packed USING INDEX packed_a')
	{
		my $busy = IPC::Run::start(
			[ 'pgbench', '-n', '-c', '2', '-t', '1500', '--random-seed', '19', '-f', $changes, '-d', $node->connstr('postgres') ],
			'>', \my $out, '2>', \my $err);
		query($what) foreach 1 .. 3;
		ok(IPC::Run::finish($busy), "changes during $what") or diag($err);
		check('packed', "after $what");
	}
	repack_over_many();
	return;
}

# A transaction has inserted many rows by the time that REPACK gets its last lock.  It
# inserts them into the new table, and exchanges the indexes' files, before it says that
# it has ended.
sub repack_over_many
{
	my $writer = session($node);
	my $repacker = session($node);

	$writer->query_safe('BEGIN; LOCK TABLE packed IN ROW EXCLUSIVE MODE');
	$repacker->query_until(qr/begun/, "\\echo begun\nREPACK (CONCURRENTLY) packed;\n\\echo done\n");
	$node->poll_query_until('postgres',
		q{SELECT count(*) > 0 FROM pg_locks WHERE relation = 'packed'::regclass AND mode = 'AccessExclusiveLock' AND NOT granted})
	  or die 'REPACK does not come to its last lock';
	$writer->query_safe(q{INSERT INTO packed SELECT 100000 + i, 'many ' || i, 0 FROM generate_series(1, 500) i; COMMIT});
	$repacker->query_until(qr/done/, '');
	$repacker->quit;
	$writer->quit;
	is(query("$BY_INDEX SELECT count(*) FROM packed WHERE b LIKE 'many %' AND b > ''"), 500, 'rows that REPACK has inserted itself');
	check('packed', 'after REPACK over many rows');
	return;
}

# The row that is in the way is returned, and locked if that is asked for.
sub conflicts_selected
{
	query(q{
CREATE TABLE selected (a int NOT NULL, b text);
CREATE UNIQUE INDEX selected_a ON selected USING fpbtree (a);
INSERT INTO selected SELECT i, 'row ' || i FROM generate_series(1, 1000) i;
});
	is( query(q{INSERT INTO selected VALUES (5, 'not'), (1001, 'new') ON CONFLICT (a) DO SELECT RETURNING a, b}),
		"5|row 5\n1001|new", 'ON CONFLICT DO SELECT returns the row that there is, or the new one');
	is(query(q{INSERT INTO selected VALUES (6, 'not') ON CONFLICT (a) DO SELECT WHERE selected.b = 'other' RETURNING a}),
		'', 'or none, by a condition');

	my $holder = session($node);
	is( $holder->query_safe(q{BEGIN; INSERT INTO selected VALUES (7, 'not') ON CONFLICT (a) DO SELECT FOR UPDATE RETURNING b}),
		'row 7', 'FOR UPDATE');
	my ($status, undef, $stderr) = $node->psql('postgres', q{SELECT * FROM selected WHERE a = 7 FOR UPDATE NOWAIT});
	isnt($status, 0, 'the row is locked');
	like($stderr, qr/could not obtain lock on row/, 'by what it says');
	commit($holder);
	check('selected', 'after ON CONFLICT DO SELECT');
	return;
}

# oid8 is a number of 64 bits without a sign.
sub oid8
{
	query(q{
CREATE TABLE numbered (a oid8, b text);
INSERT INTO numbered SELECT trunc(i::numeric * 18446744073709551615 / 5000)::text::oid8, i FROM generate_series(0, 5000) i;
INSERT INTO numbered VALUES (NULL, 'none'), ('18446744073709551615', 'last'), ('9223372036854775808', 'middle'), ('0', 'first');
CREATE INDEX numbered_a ON numbered USING fpbtree (a);
CREATE INDEX numbered_da ON numbered USING fpbtree (a DESC NULLS LAST);
CREATE INDEX numbered_b ON numbered USING fpbtree (b);
VACUUM numbered;
});
	check('numbered', 'of oid8');
	my $list = 'SELECT md5(string_agg(a::text, \',\' ORDER BY place)) FROM (SELECT a, row_number() OVER () AS place FROM (SELECT a FROM numbered WHERE a >= \'5\' ORDER BY a) o) p';
	is(query("$BY_INDEX $list"), query("$BY_TABLE $list"),
		'in order, from an index alone');
	is(query("SELECT form FROM fpbtree_stats('numbered_a')"), 'word8', 'its keys are words');
	return;
}

# An autovacuum with workers goes through the indexes in parallel.
sub parallel_autovacuum
{
	query(q{
CREATE TABLE vacuumed (a int, b text) WITH (autovacuum_parallel_workers = 2, autovacuum_vacuum_threshold = 1, autovacuum_vacuum_scale_factor = 0);
CREATE INDEX vacuumed_a ON vacuumed USING fpbtree (a);
CREATE INDEX vacuumed_b ON vacuumed USING fpbtree (b);
CREATE INDEX vacuumed_ab ON vacuumed USING fpbtree (a, b);
INSERT INTO vacuumed SELECT i, 'text ' || i FROM generate_series(1, 20000) i;
DELETE FROM vacuumed WHERE a % 2 = 0;
});
	$node->append_conf('postgresql.conf',
		"autovacuum = on\nautovacuum_naptime = 1\nautovacuum_max_parallel_workers = 2\nlog_autovacuum_min_duration = 0\n");
	my $from = -s $node->logfile;
	$node->reload;
	$node->poll_query_until('postgres', q{SELECT autovacuum_count > 0 FROM pg_stat_all_tables WHERE relname = 'vacuumed'})
	  or die 'no autovacuum comes';
	ok($node->log_contains(qr/parallel workers?:[^\n]*launched/, $from), 'autovacuum has had workers')
	  or diag(substr(slurp_file($node->logfile), $from));
	query('ALTER SYSTEM SET autovacuum = off');
	$node->reload;
	is(query("SELECT entries FROM fpbtree_stats('vacuumed_ab')"), 10000, 'the entries of deleted rows are gone');
	check('vacuumed', 'after a parallel autovacuum');
	return;
}

# Whoever wants to drop a database need not wait until the queue's worker ends by itself.
sub drop_database
{
	query('CREATE DATABASE dropped');
	$node->safe_psql(
		'dropped', q{
CREATE EXTENSION fpbtree;
CREATE TABLE queued (a int);
CREATE INDEX queued_a ON queued USING fpbtree (a) WITH (operation_queue = on);
INSERT INTO queued SELECT hashint4(i) FROM generate_series(1, 100000) i;
});
	is($node->psql('postgres', 'DROP DATABASE dropped'), 0, 'a database with a queue is dropped beside the worker');
	return;
}

# Images of pages in our records are counted as others are.
sub page_images
{
	query(q{
CREATE TABLE imaged (a int);
CREATE INDEX imaged_a ON imaged USING fpbtree (a);
INSERT INTO imaged SELECT hashint4(i) FROM generate_series(1, 20000) i;
CHECKPOINT;
});
	# the table's own images are those of its last page
	my $plan = query('EXPLAIN (ANALYZE, WAL, COSTS OFF, TIMING OFF, SUMMARY OFF) INSERT INTO imaged SELECT hashint4(-i) FROM generate_series(1, 100) i');
	my ($fpi, $bytes) = $plan =~ /WAL: records=\d+ fpi=(\d+) .*fpi bytes=(\d+)/;
	cmp_ok($fpi // 0, '>', 20, 'EXPLAIN counts images of the index\'s pages') or diag($plan);
	cmp_ok($bytes // 0, '>', 20 * 1000, 'and their bytes') or diag($plan);
	return;
}
