#
# The server is killed in the middle of inserts, splits, deletions of pages and
# vacuums, again and again; each time the indexes have to agree with the table
# after recovery.
#
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Workload;

my $rounds = $ENV{FPB_CRASHES} || 4;
my $node = PostgreSQL::Test::Cluster->new('crash');

$node->init(extra => ['--wal-segsize=1']);
# Checkpoints come often, so that recovery starts from many states.
$node->append_conf(
	'postgresql.conf', q{
shared_buffers = 16MB
min_wal_size = 2MB
max_wal_size = 12MB
checkpoint_completion_target = 0.1
autovacuum = off
wal_writer_delay = 10ms
max_connections = 30
});
$node->start;
create_workload($node);
check_indexes($node, 'at first');

foreach my $round (1 .. $rounds)
{
	my $output = '';
	my $load = start_load($node, 60, 5, \$output, checkpoint => [ 1, 'CHECKPOINT;' ]);
	my $wait = 1.5 + rand(3);

	select(undef, undef, undef, $wait);
	if ($round % 3 == 0)
	{
		$node->stop('immediate');
	}
	else
	{
		kill_everything($node);
	}
	$load->finish;
	unlike($output, qr/out of order/, "round $round: scans were in order while the load ran");
	unlike($output, qr/ERROR:(?!.*(?:terminating|deadlock))/, "round $round: no errors in the load");
	$node->start;
	check_indexes($node, "round $round, killed after " . sprintf('%.1f', $wait) . ' s');
	is($node->safe_psql('postgres', 'SELECT count(*) FROM w_unlogged'), '0', "round $round: the unlogged table is empty");
	$node->safe_psql('postgres', 'INSERT INTO w_unlogged SELECT generate_series(1, 1000)');
	if ($round % 2 == 0)
	{
		# what recovery left, half-done splits for one, must do for changes too
		$node->safe_psql('postgres', 'SELECT w_insert(300, false) FROM generate_series(1, 10)');
		$node->safe_psql('postgres', 'VACUUM (INDEX_CLEANUP ON) w');
		check_indexes($node, "round $round, after changes and vacuum");
	}
}

# Killing one backend makes the server start over by itself.
{
	my $output = '';
	my $load = start_load($node, 60, 4, \$output);

	$node->append_conf('postgresql.conf', 'restart_after_crash = on');
	$node->reload;
	sleep 2;
	# one that is active, if there is one
	my $victim = $node->safe_psql('postgres',
		"SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() ORDER BY state LIMIT 1");
	like($victim, qr/^\d+$/, 'there is a backend to kill');
	kill 'KILL', $victim;
	$load->finish;
	like($output, qr/Run was aborted/, 'the others have been ended, too');
	$node->poll_query_until('postgres', 'SELECT true') or die 'the server did not come back';
	check_indexes($node, 'one backend killed');
}

# Everything goes: pages are given back and used again.
$node->safe_psql('postgres', 'DELETE FROM w');
$node->safe_psql('postgres', 'VACUUM (INDEX_CLEANUP ON) w');
check_indexes($node, 'emptied');
my $before = $node->safe_psql('postgres', "SELECT pg_relation_size('w_i8')");
$node->safe_psql('postgres', 'SELECT w_insert(2000, false) FROM generate_series(1, 3)');
check_indexes($node, 'filled again');
cmp_ok($node->safe_psql('postgres', "SELECT pg_relation_size('w_i8')"), '<=', $before + 10 * $node->safe_psql('postgres', 'SHOW block_size'),
	'blocks of deleted pages are used again');

$node->stop;
unlike(slurp_file($node->logfile), qr/TRAP:|PANIC:|was terminated by signal (?!9)/, 'no assertion failed');
done_testing();
