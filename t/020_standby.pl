#
# A streaming standby, made by pg_basebackup, replays everything the primary
# does with every page compared (wal_consistency_checking), answers queries
# while the primary deletes pages and vacuums, and takes over.
#
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Workload;

my $primary = PostgreSQL::Test::Cluster->new('primary');

$primary->init(allows_streaming => 1);
$primary->append_conf(
	'postgresql.conf', q{
shared_buffers = 32MB
max_wal_size = 1GB
wal_keep_size = 8GB
wal_consistency_checking = 'all'
autovacuum = off
max_connections = 30
});
$primary->start;
create_workload($primary);

# The backup is taken while the load runs.
my $output = '';
my $load = start_load($primary, 10, 2, \$output);
sleep 1;
$primary->backup('base', backup_options => ['--checkpoint=fast']);
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'base', has_streaming => 1);
$standby->append_conf(
	'postgresql.conf', q{
hot_standby_feedback = off
max_standby_streaming_delay = 300s
});
start_standby($standby);

# Queries on the standby while the primary goes on: an index and the table must
# agree within one snapshot.
my ($asked, $cancelled, @wrong) = (0, 0);
my $until = time() + 8;
while (time() < $until)
{
	my ($name, $columns, $rest) = @{ $INDEXES[ int(rand(@INDEXES)) ] };
	my $where = $rest =~ /^WHERE/ ? $rest : '';
	my $out = $columns =~ s/ (DESC|NULLS FIRST)//gr;
	my $sum = "count(*) || ' ' || coalesce(sum(hashtext(x::text)), 0)";
	my ($status, $result, $error) = $standby->psql(
		'postgres', qq{
		BEGIN ISOLATION LEVEL REPEATABLE READ;
		SET LOCAL enable_seqscan = off; SET LOCAL enable_sort = off; SET LOCAL enable_bitmapscan = off;
		SELECT $sum FROM (SELECT ROW($out) AS x FROM w $where ORDER BY $columns OFFSET 0) s;
		SET LOCAL enable_seqscan = on; SET LOCAL enable_indexscan = off; SET LOCAL enable_indexonlyscan = off;
		SELECT $sum FROM (SELECT ROW($out) AS x FROM w $where) s;
		COMMIT;});
	if ($status != 0)
	{
		$cancelled++;
		push @wrong, $error unless $error =~ /conflict with recovery/;
		next;
	}
	my ($index, $table) = split /\n/, $result;
	$asked++;
	push @wrong, "$name: index says $index, table $table" if $index ne $table;
}
$load->finish;
unlike($output, qr/ERROR:(?!.*deadlock)|out of order/, 'no errors in the load');
note("$asked answers compared, $cancelled queries cancelled");
cmp_ok($asked, '>', 5, 'the standby answered queries meanwhile');
is(join("\n", @wrong), '', 'on the standby, indexes agreed with the table all the time');

$primary->wait_for_replay_catchup($standby);
check_indexes($primary, 'primary');
is_deeply(index_answers($standby, 'index'), index_answers($primary, 'table'), 'indexes of the standby agree with the table of the primary');

# A cursor on the standby rests in the middle of pages that the primary then
# empties, deletes and uses again.  (The pages of the table that they rest on are
# not changed: replay would wait for their pins.)
{
	# more than are in a page of the table, fewer than in one of the index
	my $rows = 310 * $primary->safe_psql('postgres', 'SHOW block_size') / 8192;
	$primary->safe_psql('postgres', q{
		CREATE TABLE c (a int8, b text) WITH (autovacuum_enabled = off);
		INSERT INTO c SELECT i, repeat('x', 20) FROM generate_series(1, 60000) i;} . 'CREATE INDEX c_a ON c USING ' . am() . ' (a)');
	$primary->safe_psql('postgres', 'DELETE FROM c WHERE a BETWEEN 2300 AND 49700');
	$primary->wait_for_replay_catchup($standby);
	my $session = $standby->background_psql('postgres');
	$session->query_safe('SET enable_seqscan = off; SET enable_bitmapscan = off; SET enable_sort = off;');
	$session->query_safe('BEGIN');
	$session->query_safe('DECLARE f SCROLL CURSOR FOR SELECT a FROM c ORDER BY a');
	$session->query_safe('DECLARE r SCROLL CURSOR FOR SELECT a FROM c ORDER BY a DESC');
	my @forward = split /\n/, $session->query_safe('FETCH ' . (2300 - $rows) . ' FROM f');
	my @backward = split /\n/, $session->query_safe('FETCH ' . (10300 - $rows) . ' FROM r');
	# rows deleted before the snapshot: removing them conflicts with nothing, yet pages go and come back
	$primary->safe_psql('postgres', 'VACUUM (INDEX_CLEANUP ON) c');
	$primary->safe_psql('postgres', q{INSERT INTO c SELECT i, 'new' FROM generate_series(2300, 49700) i});
	$primary->safe_psql('postgres', q{INSERT INTO c SELECT i, 'new' FROM generate_series(60001, 90000) i});
	$primary->wait_for_replay_catchup($standby);
	push @forward, split /\n/, $session->query_safe('FETCH ALL FROM f');
	push @backward, split /\n/, $session->query_safe('FETCH ALL FROM r');
	my @want = (1 .. 2299, 49701 .. 60000);
	ok("@forward" eq "@want", 'forward cursor on the standby over pages deleted and used again');
	ok("@backward" eq join(' ', reverse @want), 'backward cursor likewise');
	$session->query_safe('COMMIT');
	$session->quit;
}

# No index-only scan is planned in recovery (its answers could not be trusted),
# and the killed-tuple hints that came with pages are not believed.
{
	$primary->safe_psql('postgres', q{
		CREATE TABLE h (a int8) WITH (autovacuum_enabled = off);
		INSERT INTO h SELECT i FROM generate_series(1, 3000) i;} . 'CREATE INDEX h_a ON h USING ' . am() . ' (a)');
	$primary->safe_psql('postgres', 'VACUUM ANALYZE h');
	$primary->wait_for_replay_catchup($standby);
	my $plan = 'SET enable_seqscan = off; SET enable_bitmapscan = off; EXPLAIN (COSTS OFF) SELECT a FROM h WHERE a < 100';
	if (am() eq 'fpbtree')
	{
		unlike($standby->safe_psql('postgres', $plan), qr/Index Only/, 'no index-only scan on a standby');
	}
	like($primary->safe_psql('postgres', $plan), qr/Index Only/, 'but on the primary');

	# a table whose one page has room, so that nothing is pruned and replay meets no conflict
	$primary->safe_psql('postgres', q{
		CREATE TABLE k (a int8) WITH (autovacuum_enabled = off);
		INSERT INTO k SELECT i FROM generate_series(1, 100) i;} . 'CREATE INDEX k_a ON k USING ' . am() . ' (a)');
	$primary->wait_for_replay_catchup($standby);
	my $session = $standby->background_psql('postgres');
	my $count = 'SELECT count(*) FROM k WHERE a > 0';
	$session->query_safe('SET enable_seqscan = off; SET enable_bitmapscan = off; SET enable_indexonlyscan = off');
	$session->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ');
	is($session->query_safe($count), '100', 'the standby sees the rows');
	# dead for all on the primary, but not for the snapshot of the standby
	$primary->safe_psql('postgres', 'DELETE FROM k WHERE a % 2 = 0');
	is($primary->safe_psql('postgres', "SET enable_seqscan = off; SET enable_bitmapscan = off; $count"), '50', 'the primary does not')
	  for 1 .. 2;
	# an image of the page goes into the WAL
	$primary->safe_psql('postgres', 'CHECKPOINT');
	$primary->safe_psql('postgres', 'INSERT INTO k VALUES (101)');
	$primary->wait_for_replay_catchup($standby);
	is($session->query_safe($count), '100', 'the standby still sees the rows of its snapshot');
	$session->query_safe('COMMIT');
	is($session->query_safe($count), '51', 'and then those of the next');
	$session->quit;
}

$primary->wait_for_replay_catchup($standby);
unlike(slurp_file($standby->logfile), qr/inconsistent page found/, 'every replayed page was consistent');

# The primary dies in the middle of things; the standby takes over.
$load = start_load($primary, 60, 3, \$output);
sleep 2;
kill_everything($primary);
$load->finish;
$standby->promote;
$standby->poll_query_until('postgres', 'SELECT NOT pg_is_in_recovery()') or die;
check_indexes($standby, 'promoted');
$standby->safe_psql('postgres', 'SELECT w_insert(300, false) FROM generate_series(1, 10)');
$standby->safe_psql('postgres', 'SELECT w_delete(true) FROM generate_series(1, 3)');
$standby->safe_psql('postgres', 'VACUUM (INDEX_CLEANUP ON) w');
check_indexes($standby, 'promoted, after changes and vacuum');

$standby->stop;
unlike(slurp_file($standby->logfile), qr/inconsistent page found|TRAP:|PANIC:|was terminated by signal/, 'no complaint in the log of the standby');
unlike(slurp_file($primary->logfile), qr/TRAP:|PANIC:/, 'none in that of the primary');
done_testing();
