#
# The server is killed in the middle of inserts, splits, deletions of pages and
# vacuums, again and again; each time the indexes have to agree with the table
# after recovery.
#
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/lib";
use Servers;
use Test::More;
use Workload;

seed_choices();
my $rounds = $ENV{FPB_CRASHES} || 4;
# Checkpoints come often, so that recovery starts from many states.
my $node = start_server(
	'crash', q{
shared_buffers = 16MB
min_wal_size = 2MB
max_wal_size = 12MB
checkpoint_completion_target = 0.1
wal_writer_delay = 10ms
max_connections = 30
}, extra => ['--wal-segsize=1']);
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
	is(query('SELECT count(*) FROM w_unlogged'), '0', "round $round: the unlogged table is empty");
	query('INSERT INTO w_unlogged SELECT generate_series(1, 1000)');
	if ($round % 2 == 0)
	{
		# what recovery left, half-done splits for one, must do for changes too
		query('SELECT w_insert(300, false) FROM generate_series(1, 10)');
		query('VACUUM (INDEX_CLEANUP ON) w');
		check_indexes($node, "round $round, after changes and vacuum");
	}
}

# Killing one backend makes the server start over by itself.
{
	my $output = '';
	my $load = start_load($node, 60, 4, \$output);

	sleep 2;
	# one that is active, if there is one
	my $victim = query("SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() ORDER BY state LIMIT 1");
	like($victim, qr/^\d+$/, 'there is a backend to kill');
	kill_one($victim);
	$load->finish;
	like($output, qr/Run was aborted/, 'the others have been ended, too');
	$node->poll_query_until('postgres', 'SELECT true') or die 'the server has not come back';
	check_indexes($node, 'one backend killed');
}

# Everything goes: pages are given back and used again.
query('DELETE FROM w');
query('VACUUM (INDEX_CLEANUP ON) w');
check_indexes($node, 'emptied');
my $before = query("SELECT pg_relation_size('w_i8')");
query('SELECT w_insert(2000, false) FROM generate_series(1, 3)');
check_indexes($node, 'filled again');
cmp_ok(query("SELECT pg_relation_size('w_i8')"), '<=', $before + 10 * query('SHOW block_size'),
	'blocks of deleted pages are used again');

stop_servers($node);
done_testing();
