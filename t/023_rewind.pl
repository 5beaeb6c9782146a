#
# More than one standby: one that streams from another, follows it when it is
# promoted, and an old primary that has gone its own way meanwhile and becomes
# a standby of the new one by pg_rewind, and then primary again.
# (t/020_standby is about one standby under load.)
#
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Servers;
use Test::More;
use Workload;

# (t/020_standby has them all)
@INDEXES = grep { $_->[0] =~ /^w_(?:i4|i8|text_long|few|unique)$/ } @INDEXES;

my $first = start_server(
	'first', q{
shared_buffers = 32MB
max_wal_size = 1GB
wal_keep_size = 512MB
}, allows_streaming => 1);
trust_changes($first);
create_workload($first);
my $second = make_standby($first, 'second');
my $third = PostgreSQL::Test::Cluster->new('third');
$third->init_from_backup($first, 'base');
$third->enable_streaming($second);
start_standby($third);

# What others would do in an hour.
sub change
{
	use_server(@_);
	query('SELECT w_insert(200, i % 3 = 0) FROM generate_series(1, 4) i');
	query('SELECT w_delete(true), w_update()');
	query(q{SELECT fpbtree_flush('w_i4')}) unless am() eq 'btree';
	query('VACUUM (INDEX_CLEANUP ON) w');
	query('SELECT w_insert(200, false), w_delete(false)');
	return;
}

# Does a standby's every index have what the primary's table has?
sub agree
{
	my ($standby, $primary, $when) = @_;
	is_deeply(index_answers($standby, 'index'), index_answers($primary, 'table'), $standby->name . ": $when");
	return;
}

change($first);
$first->wait_for_replay_catchup($second);
$second->wait_for_replay_catchup($third, $first);
agree($third, $first, 'what comes by way of another standby');

# The second is promoted while the first goes on.
$second->promote;
change($first);
change($second);
$second->wait_for_replay_catchup($third);
agree($third, $second, 'what comes on the new timeline');

# The first fails, is taken back to where they parted, and follows.
$first->stop('immediate');
my $conf = slurp_file($first->data_dir . '/postgresql.conf');
command_ok([ 'pg_rewind', '--no-sync', '--target-pgdata', $first->data_dir, '--source-server', $second->connstr('postgres') ], 'pg_rewind');
unlink $first->data_dir . '/postgresql.conf';
append_to_file($first->data_dir . '/postgresql.conf', $conf);
$first->enable_streaming($second);
start_standby($first);
change($second);
$second->wait_for_replay_catchup($first);
agree($first, $second, 'rewound, it has what the new primary has');

# And back again.
$second->stop;
$first->promote;
change($first);
check_indexes($first, 'primary again');

stop_servers($third, $first, $second);
done_testing();
