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
use Test::More;
use Workload;

# t/020 has them all
@INDEXES = grep { $_->[0] =~ /^w_(?:i4|i8|text_long|few|unique)$/ } @INDEXES;

my $first = PostgreSQL::Test::Cluster->new('first');
$first->init(allows_streaming => 1);
$first->append_conf(
	'postgresql.conf', q{
shared_buffers = 32MB
max_wal_size = 1GB
wal_keep_size = 512MB
autovacuum = off
});
$first->start;
trust_changes($first);
create_workload($first);
$first->backup('base', backup_options => ['--checkpoint=fast']);
my ($second, $third) = map { PostgreSQL::Test::Cluster->new($_) } ('second', 'third');
$second->init_from_backup($first, 'base', has_streaming => 1);
$third->init_from_backup($first, 'base');
$third->enable_streaming($second);
start_standby($second);
start_standby($third);

# What others would do in an hour.
sub change
{
	my ($node) = @_;
	$node->safe_psql('postgres', 'SELECT w_insert(200, i % 3 = 0) FROM generate_series(1, 4) i');
	$node->safe_psql('postgres', 'SELECT w_delete(true), w_update()');
	$node->safe_psql('postgres', q{SELECT fpbtree_flush('w_i4')}) unless am() eq 'btree';
	$node->safe_psql('postgres', 'VACUUM (INDEX_CLEANUP ON) w');
	$node->safe_psql('postgres', 'SELECT w_insert(200, false), w_delete(false)');
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

$_->stop foreach ($third, $first);
unlike(slurp_file($_->logfile), qr/TRAP:|PANIC:/, 'no complaint in the log of the ' . $_->name) foreach ($first, $second, $third);
done_testing();
