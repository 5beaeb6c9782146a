#
# The operation queue on a standby: replay minds no pins, so what a scan has
# pinned may become any page before the scan has locked it.
#
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib $FindBin::RealBin;
use LongKeys;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Workload;

my $primary = PostgreSQL::Test::Cluster->new('primary');

$primary->init(allows_streaming => 1);
$primary->append_conf(
	'postgresql.conf', q{
autovacuum = off
enable_seqscan = off
enable_bitmapscan = off
fpbtree.queue_worker = off
wal_consistency_checking = 'all'
});
$primary->start;
if (!$primary->safe_psql('postgres', q{SELECT count(*) FROM pg_available_extensions WHERE name = 'injection_points'}))
{
	$primary->stop;
	plan skip_all => 'this server has no injection points';
}
$primary->safe_psql('postgres', 'CREATE EXTENSION fpbtree; CREATE EXTENSION injection_points');
create_long_keys($primary);
# Every tenth number is in the main tree, and some of the greatest wait.
$primary->safe_psql(
	'postgres', q{
CREATE TABLE s (i int, k text COLLATE "C");
INSERT INTO s SELECT i, key(i) FROM generate_series(10, 5000, 10) i;
CREATE INDEX s_k ON s USING fpbtree (k) WITH (operation_queue = on);
INSERT INTO s SELECT i, key(i) FROM generate_series(4905, 4955, 10) i;
});

sub query { return $primary->safe_psql('postgres', shift); }

# The leaf in the midst of the main tree that is to be deleted, and its left
# sibling, which has the same parent.
my ($parent_low) = query(q{SELECT low FROM pages('s_k') WHERE level = 1 AND NOT 'queue' = ANY (flags) ORDER BY low OFFSET 1 LIMIT 1});
my ($left, $left_low, $leaf, $low, $high) = split /\|/, query(
	qq{SELECT a.block, a.low, b.block, b.low, b.high FROM pages('s_k') a JOIN pages('s_k') b ON b.low = a.high
	   WHERE a.level = 0 AND b.level = 0 AND a.low > $parent_low AND NOT 'queue' = ANY (a.flags || b.flags) ORDER BY a.low LIMIT 1});
my $queue = query(q{SELECT block FROM pages('s_k') WHERE 'queue' = ANY (flags) AND level = 0});
like($queue, qr/^\d+$/, 'the queue is a single leaf');

# The leaf is emptied, and stays in the tree as VACUUM comes to an early end.
query("DELETE FROM s WHERE k >= key($low) AND k < key($high)");
{
	my $vacuum = $primary->background_psql('postgres', on_error_stop => 0);
	$vacuum->query_safe('SELECT injection_points_set_local()');
	$vacuum->query_safe("SELECT injection_points_attach('fpbtree-merge-found', 'error')");
	$vacuum->query('VACUUM (INDEX_CLEANUP ON) s');
	$vacuum->quit;
}
is(query("SELECT kind || ' ' || entries FROM fpbtree_page('s_k', $leaf)"), 'leaf 0', 'an empty leaf');

$primary->backup('base', backup_options => ['--checkpoint=fast']);
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'base', has_streaming => 1);
$standby->append_conf(
	'postgresql.conf', q{
hot_standby_feedback = off
max_standby_streaming_delay = -1
});
start_standby($standby);

# (Nothing that VACUUM does later on is to be in conflict with the scan's snapshot.)
my $old = $primary->background_psql('postgres');
$old->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ');
$old->query_safe('SELECT count(*) FROM s');

# A scan on the standby has the leaf locked, and the queue's pinned.
my $scan = $standby->background_psql('postgres', on_error_stop => 0);
$scan->query_safe('SELECT injection_points_set_local()');
$scan->query_safe("SELECT injection_points_attach('fpbtree-queue-pinned', 'wait')");
my $pid = $scan->query_safe('SELECT pg_backend_pid()');
$scan->query_until(qr/started\n/, "\\echo started\nSELECT count(*), min(i) FROM s WHERE k >= key(${\($low + 3)}) AND k < key(${\($high + 20)});\n");
$standby->wait_for_event('client backend', 'fpbtree-queue-pinned');

# The queue goes, its page becomes the leaf's left sibling, and the leaf is merged
# into that: replay has the one locked and waits for the other.
query(q{SELECT fpbtree_flush('s_k')});
is(query("SELECT kind FROM fpbtree_page('s_k', $queue)"), 'deleted', 'there is no queue any more');
query(q{ALTER INDEX s_k SET (operation_queue = off)});
my $next = $low - 1;
query("INSERT INTO s SELECT i, key(i) FROM generate_series($next, $next) i") while (query("SELECT kind FROM fpbtree_page('s_k', $queue)") eq 'deleted' && ($next -= 2) > $left_low);
is(query("SELECT kind FROM fpbtree_page('s_k', $queue)"), 'leaf', 'its page is a main leaf');
is(query("SELECT high FROM pages('s_k') WHERE block = $queue"), $low, "and the empty leaf's sibling");
query('VACUUM (INDEX_CLEANUP ON) s');
is(query("SELECT kind FROM fpbtree_page('s_k', $leaf)"), 'deleted', 'into which that is merged');
ok( $standby->poll_query_until('postgres', q{SELECT wait_event_type IN ('LWLock', 'Buffer') FROM pg_stat_activity WHERE backend_type = 'startup'}),
	'replay waits for the scan');

$standby->safe_psql('postgres', q{SELECT injection_points_detach('fpbtree-queue-pinned')});
$standby->safe_psql('postgres', q{SELECT injection_points_wakeup('fpbtree-queue-pinned')});
ok($standby->poll_query_until('postgres', "SELECT state LIKE 'idle%' FROM pg_stat_activity WHERE pid = $pid"), 'the scan does not wait for replay');
is($scan->query(q{\echo}) =~ s/\n+$//r, "2|$high", 'and sees what it is to see');
$_->quit foreach ($scan, $old);
$primary->wait_for_catchup($standby);
is($standby->safe_psql('postgres', q{SELECT fpbtree_check('s_k', true)}), '', 'the standby is sound');
is( $standby->safe_psql('postgres', q{SELECT count(*) FROM s WHERE k >= ''}),
	query('SET enable_seqscan = on; SET enable_indexscan = off; SET enable_indexonlyscan = off; SELECT count(*) FROM s'), 'and has every row');

$standby->stop;
$primary->stop;
ok(!$_->log_contains(qr/TRAP:|PANIC:/), 'no complaint in the log of the ' . $_->name) foreach ($primary, $standby);
done_testing();
