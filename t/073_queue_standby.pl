#
# The operation queue on a standby: replay minds no pins, so what a scan has
# pinned may become any page before the scan has locked it.
#
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/lib";
use InjectionPoints;
use LongKeys;
use Servers;
use Test::More;

my $primary = start_server(
	'primary', q{
enable_seqscan = off
enable_bitmapscan = off
fpbtree.queue_worker = off
wal_consistency_checking = 'generic'
}, allows_streaming => 1);
need_injection_points();
query('CREATE EXTENSION fpbtree');
create_long_keys();
# Every tenth number is in the main tree, and some of the greatest wait.
query(q{
CREATE TABLE s (i int, k text COLLATE "C");
INSERT INTO s SELECT i, key(i) FROM generate_series(10, 5000, 10) i;
CREATE INDEX s_k ON s USING fpbtree (k) WITH (operation_queue = on);
INSERT INTO s SELECT i, key(i) FROM generate_series(4905, 4955, 10) i;
});

my $standby = make_standby($primary, 'standby', "hot_standby_feedback = off\nmax_standby_streaming_delay = -1\n");

# A session on the standby, in which a query waits at an injection point; its answer, when it is let go on. (The end of a
# session detaches what it has attached, by its name: the next one must come after that.)
my $pid;

sub start_scan
{
	my ($point, $query) = @_;
	my $scan;

	use_server($standby);
	($scan, $pid) = start_session([$point], $query);
	wait_at($point);
	use_server($primary);
	return $scan;
}

sub finish_scan
{
	my ($scan, $point) = @_;
	use_server($standby);
	wake($point);
	use_server($primary);
	my $answer = rest($scan);
	$scan->quit;
	$standby->poll_query_until('postgres', "SELECT count(*) = 0 FROM pg_stat_activity WHERE pid = $pid") or die 'a session does not end';
	return $answer;
}

# Entries go from the queue while a scan has a copy of it, and no lock. Their rows have not been seen by the scan's snapshot,
# and its pages of the table become all-visible: they are no rows of an index-only scan.
my $some = 'FROM s WHERE k >= key(4900) AND k < key(4960)';
query(q{DELETE FROM s WHERE k IN (key(4915), key(4925))});
like(query("EXPLAIN SELECT count(*) $some"), qr/Index Only Scan/, 'an index-only scan');
$primary->wait_for_catchup($standby);
my $scan = start_scan('fpbtree-before-leaf', "SELECT count(*) $some");
query('VACUUM (INDEX_CLEANUP ON) s');
is(query(q{SELECT entries FROM fpbtree_page('s_k', (SELECT block FROM pages('s_k') WHERE 'queue' = ANY (flags) AND level = 0))}), 4, 'two entries have gone');
$primary->wait_for_catchup($standby);
is(finish_scan($scan, 'fpbtree-before-leaf'), '10', 'entries of rows that were dead are not taken for visible');

# Entries move to the main tree.
$scan = start_scan('fpbtree-before-leaf', "SELECT count(*), min(i) $some");
is(query(q{SELECT fpbtree_flush('s_k')}), 4, 'the others move');
$primary->wait_for_catchup($standby);
is(finish_scan($scan, 'fpbtree-before-leaf'), '10|4900', 'entries that move are read once');

query('INSERT INTO s SELECT i, key(i) FROM generate_series(4907, 4957, 10) i');
$primary->wait_for_catchup($standby);
is($standby->safe_psql('postgres', q{SELECT fpbtree_check('s_k', true)}), '', 'the standby is sound, with a queue');

# The leaf in the midst of the main tree that is to be deleted, and its left
# sibling, which has the same parent.
my ($parent_low) = query(q{SELECT low FROM pages('s_k') WHERE level = 1 AND NOT 'queue' = ANY (flags) ORDER BY low OFFSET 1 LIMIT 1});
my ($left, $left_low, $leaf, $low, $high) = split /\|/, query(qq{SELECT a.block, a.low, b.block, b.low, b.high FROM pages('s_k') a JOIN pages('s_k') b ON b.low = a.high
	   WHERE a.level = 0 AND b.level = 0 AND a.low > $parent_low AND NOT 'queue' = ANY (a.flags || b.flags) ORDER BY a.low LIMIT 1});
my $queue = query(q{SELECT block FROM pages('s_k') WHERE 'queue' = ANY (flags) AND level = 0});
like($queue, qr/^\d+$/, 'the queue is a single leaf');

# The leaf is emptied, and stays in the tree as VACUUM comes to an early end.
query("DELETE FROM s WHERE k >= key($low) AND k < key($high)");
fail_at('fpbtree-merge-found', 'VACUUM (INDEX_CLEANUP ON) s');
is(query("SELECT kind || ' ' || entries FROM fpbtree_page('s_k', $leaf)"), 'leaf 0', 'an empty leaf');

# The next VACUUM has a row to remove, far from there, or it would not look at the index.
query('DELETE FROM s WHERE k = (SELECT max(k) FROM s)');

# (Nothing that VACUUM does later on is to be in conflict with the scan's snapshot.)
my $old = session($primary, 'BEGIN ISOLATION LEVEL REPEATABLE READ', 'SELECT count(*) FROM s');
$primary->wait_for_catchup($standby);

# A scan on the standby has the queue's leaf pinned.
$scan = start_scan('fpbtree-queue-pinned', "SELECT count(*), min(i) FROM s WHERE k >= key(${\($low + 3)}) AND k < key(${\($high + 20)})");

# The queue goes, its page becomes the leaf's left sibling, and the leaf is merged
# into that: replay has the one locked when it asks for the other.
query(q{SELECT fpbtree_flush('s_k')});
is(query("SELECT kind FROM fpbtree_page('s_k', $queue)"), 'deleted', 'there is no queue any more');
query(q{ALTER INDEX s_k SET (operation_queue = off)});
my $next = $low - 1;
query("INSERT INTO s SELECT i, key(i) FROM generate_series($next, $next) i") while (query("SELECT kind FROM fpbtree_page('s_k', $queue)") eq 'deleted' && ($next -= 2) > $left_low);
is(query("SELECT kind FROM fpbtree_page('s_k', $queue)"), 'leaf', 'its page is a main leaf');
is(query("SELECT high FROM pages('s_k') WHERE block = $queue"), $low, "and the empty leaf's sibling");
query('VACUUM (INDEX_CLEANUP ON) s');
is(query("SELECT kind FROM fpbtree_page('s_k', $leaf)"), 'deleted', 'into which that is merged');
$primary->wait_for_catchup($standby);
pass('replay does not wait for the scan');

is(finish_scan($scan, 'fpbtree-queue-pinned'), "2|$high", 'which sees what it is to see');
$old->quit;
is($standby->safe_psql('postgres', q{SELECT fpbtree_check('s_k', true)}), '', 'the standby is sound');
is( $standby->safe_psql('postgres', q{SELECT count(*) FROM s WHERE k >= ''}),
	query("$BY_TABLE SELECT count(*) FROM s"), 'and has every row');

stop_servers($standby, $primary);
done_testing();
