#
# Notes of dead entries ("killed" ones) and what becomes of them: over a restart
# and a crash, of logged and unlogged indexes; and on a standby, whose queries may
# still see the rows.  (sql/hints.sql has more of them.)
#
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/lib";
use File::Copy;
use PostgreSQL::Test::Utils;
use Servers;
use Test::More;
use Workload;

# Without checksums a note makes no image of the page, which would have none.
my $primary = start_server(
	'primary', q{
wal_log_hints = off
enable_bitmapscan = off
enable_sort = off
enable_seqscan = off
max_parallel_workers_per_gather = 0
}, allows_streaming => 1, no_data_checksums => 1);
query('CREATE EXTENSION fpbtree');
create_pages_of($primary);

my $block = query('SHOW block_size');

# Two looks at dead rows: the first has the server prune their pages, the other notes it when the WAL is on disk up to that.
sub look_twice
{
	my ($select, $expected, $name) = @_;

	is(query($select), $expected, $name);
	query(q{SELECT pg_logical_emit_message(true, '', '')});
	is(query($select), $expected, $name);
	return;
}

# Restart and crash
foreach my $kind ('', 'UNLOGGED')
{
	my $t = $kind ? 'unlogged' : 'logged';
	my $rows = "SELECT id FROM $t WHERE k BETWEEN 101 AND 600";
	my $count = "SELECT count(*) || ' ' || count(DISTINCT id) FROM $t WHERE k > 0";

	query(qq{
		CREATE $kind TABLE $t (id int, k int8, pad text STORAGE plain);
		CREATE INDEX ${t}_k ON $t USING fpbtree (k);
		INSERT INTO $t SELECT i, i, repeat('x', $block / 8) FROM generate_series(1, 700) i;
		DELETE FROM $t WHERE k BETWEEN 101 AND 600;});
	cmp_ok(query("SELECT pages_of('$rows')"), '>', 50, "$t: the first scan looks at the rows");
	look_twice($rows, '', "$t: they are dead");
	cmp_ok(query("SELECT pages_of('$rows')"), '<', 20, "$t: a later one does not");

	$primary->restart;
	cmp_ok(query("SELECT pages_of('$rows')"), '<', 20, "$t: nor does the first one after a restart");
	is(query($count), '200 200', "$t: all other rows are found");

	query('CHECKPOINT');
	crash();
	is_sound("${t}_k", "$t: the index is sound after a crash");
	is(query($count), $kind ? '0 0' : '200 200', "$t: it has the rows that are left");
	# rows of the same keys and, where the table is empty, at the same places
	query("INSERT INTO $t SELECT 1000 + i, i, repeat('x', $block / 8) FROM generate_series(101, 600) i");
	is(query($count), $kind ? '500 500' : '700 700', "$t: new rows are not taken for dead");
	query("DELETE FROM $t WHERE k % 2 = 0");
	is(query($count), $kind ? '250 250' : '350 350', "$t: dead ones are not found") for 1 .. 2;
	query("VACUUM $t");
	query("INSERT INTO $t SELECT 2000 + i, i, repeat('x', $block / 8) FROM generate_series(101, 600) i WHERE i % 2 = 0");
	is(query($count), $kind ? '500 500' : '600 600', "$t: nor are those at their places taken for dead");
	is_sound("${t}_k", "$t: the index is sound in the end");
}

# A standby.  Its tables: h, whose index will come to it with notes; and p, of
# which a query on the standby sees rows that are dead on the primary.  The
# table p has room on its only page, and would not be pruned for its own sake, but
# its index has long keys and its pages are full.
my $n = 10 * int($block / 820);
my $parts = $block / 512 - 2;
query(qq{
	CREATE TABLE h (k int8);
	CREATE INDEX h_k ON h USING fpbtree (k);
	INSERT INTO h SELECT i FROM generate_series(1, 100) i;
	CREATE FUNCTION long(i int) RETURNS text LANGUAGE sql IMMUTABLE
		RETURN lpad(i::text, 6, '0') || (SELECT string_agg(md5(i::text || n::text), '') FROM generate_series(1, $parts) n);
	CREATE TABLE p (id int);
	CREATE INDEX p_k ON p USING fpbtree (long(id));
	INSERT INTO p SELECT i * 10 FROM generate_series(1, $n) i;
});
my $standby = make_standby($primary, 'standby', "hot_standby_feedback = off\nmax_standby_streaming_delay = -1\n");
$primary->wait_for_replay_catchup($standby);

my $seen = q{SELECT count(*) FROM p WHERE long(id) >= '0'};
my $session = session($standby, 'BEGIN ISOLATION LEVEL REPEATABLE READ');
like($session->query_safe("EXPLAIN (COSTS OFF) $seen"), qr/Index Scan using p_k/, 'the standby uses the index');
is($session->query_safe($seen), $n, 'the standby sees all rows');
query('DELETE FROM p WHERE id % 20 = 0');
look_twice($seen, $n / 2, 'the primary does not');
query("INSERT INTO p SELECT i * 10 + 5 FROM generate_series(1, $n * 6 / 10) i");
cmp_ok(query(q{SELECT entries FROM fpbtree_stats('p_k')}), '<', $n * 16 / 10, 'entries have been removed');
is(query($seen), $n * 11 / 10, 'the primary sees the rows that are left');
$standby->poll_query_until('postgres',
	q{SELECT count(*) = 1 FROM pg_stat_activity WHERE backend_type = 'startup' AND wait_event LIKE 'RecoveryConflict%'})
  or die 'the standby does not wait';
is($session->query_safe($seen), $n, 'the standby finds the rows of its snapshot');
$session->query_safe('COMMIT');
$primary->wait_for_replay_catchup($standby);
is($session->query_safe($seen), $n * 11 / 10, 'and then those of the next');
$session->quit;

# Now the same without such a query.
query('VACUUM p');
query("INSERT INTO p SELECT i * 10 + 6 FROM generate_series(1, $n * 15 / 10) i");    # the page is full
query('DELETE FROM p WHERE id % 10 = 6');
look_twice($seen, $n * 11 / 10, 'rows die again');
query("INSERT INTO p SELECT i * 10 + 7 FROM generate_series(1, $n) i");
cmp_ok(query(q{SELECT entries FROM fpbtree_stats('p_k')}), '<', $n * 36 / 10, 'entries have been removed');
is(query($seen), $n * 21 / 10, 'of dead rows only');
$primary->wait_for_replay_catchup($standby);
is($standby->safe_psql('postgres', $seen), $n * 21 / 10, 'on the standby, too');

# The standby stops before rows are deleted; the index's file comes to it from
# afterwards, as a base backup might have brought it, with notes that the rows
# are dead.  For the standby, which does not go on, they are not.
$standby->stop;
$seen = 'SELECT count(*) FROM h WHERE k > 0';
query('DELETE FROM h WHERE k <= 60');
is(query($seen), '40', 'the primary notes which entries are dead') for 1 .. 2;
query('CHECKPOINT');
my $file = query(q{SELECT pg_relation_filepath('h_k')});
isnt(slurp_file($primary->data_dir . "/$file"), slurp_file($standby->data_dir . "/$file"), 'the notes are in the file');
copy($primary->data_dir . "/$file", $standby->data_dir . "/$file") or die;
$standby->append_conf('postgresql.conf', q{primary_conninfo = ''});
start_standby($standby);
is($standby->safe_psql('postgres', $seen), '100', 'the standby does not believe them') for 1 .. 2;
# what is in memory is read a few entries at first
foreach (1 .. 3)
{
	is($standby->safe_psql('postgres', $seen), '100', 'nor where it begins with a few entries');
	is($standby->safe_psql('postgres', "SELECT (SELECT k FROM h WHERE k > 0 ORDER BY k LIMIT 1), (SELECT k FROM h WHERE k < 50 ORDER BY k DESC LIMIT 1)"),
		'1|49', 'or wants but one');
}

$standby->stop;

# Where notes are logged, the first one after a checkpoint makes an image of the
# page, and so changes its LSN.  The scan's other notes come all the same.
set_and_restart('wal_log_hints = on');
query(qq{
	CREATE TABLE imaged (k int8, pad text STORAGE plain);
	CREATE INDEX imaged_k ON imaged USING fpbtree (k);
	INSERT INTO imaged SELECT i, repeat('x', $block / 8) FROM generate_series(1, 200) i;
	DELETE FROM imaged WHERE k <= 180;});
my $dead = 'SELECT k, length(pad) FROM imaged WHERE k BETWEEN 1 AND 180';
query("SET enable_indexscan = off; SET enable_seqscan = on; $dead") for 1 .. 2;
query('CHECKPOINT');
is(query($dead), '', 'all rows are dead');
cmp_ok(query("SELECT pages_of('$dead')"), '<', 10, 'and one scan has noted it of all');

stop_servers($primary);
done_testing();
