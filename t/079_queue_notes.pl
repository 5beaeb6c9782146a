#
# Notes of entries of operation queues that are of no use any more, because their
# tables have been truncated or dropped: a worker clears them.  Lookups, moves and
# new queues meanwhile.
#
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/lib";
use InjectionPoints;
use Servers;
use Test::More;
use Workload;

my $node = start_server(
	'notes', q{
shared_buffers = 8MB
autovacuum = off
fpbtree.insert_batch_size = 0
fpbtree.enable_batch_join = off
fpbtree.queue_flush_after = -1
log_min_messages = debug1
enable_seqscan = off
enable_bitmapscan = off
enable_hashjoin = off
enable_mergejoin = off
enable_material = off
enable_memoize = off
max_parallel_workers_per_gather = 0
});
trust_changes($node);
create_pages_of($node);
query('CREATE EXTENSION fpbtree');
my $injects = create_injection_points();
my $block = query(q{SELECT current_setting('block_size')::int});

# A queue of so many pages; a worker comes to it only when others need one.
sub make_table
{
	my ($name, $pages) = @_;
	query(
		"CREATE TABLE $name (k int8);
		 INSERT INTO $name SELECT hashint8extended(i, 1) FROM generate_series(1, 20000) i;
		 CREATE INDEX ${name}_k ON $name USING fpbtree (k) WITH (operation_queue = on, opq_size = ${\($pages * $block / 1024)});
		 VACUUM (FREEZE, ANALYZE) $name");
	return;
}

my $seed = 1;

sub fill
{
	my ($name, $n) = @_;
	$seed++;
	query("SET fpbtree.queue_worker = off; INSERT INTO $name SELECT hashint8extended(i, $seed) FROM generate_series(1, $n) i");
	return;
}

# Leaves twice as many notes behind as there is room for.
sub leave_notes
{
	my ($how) = @_;
	my $room = 7 * query(q{SELECT setting::int8 * current_setting('block_size')::int / 64 / 8 FROM pg_settings WHERE name = 'shared_buffers'});
	my $n = int($room / 4);
	foreach (1 .. 8)
	{
		make_table('gone', int(2 * $n * 20 / $block) + 8);
		fill('gone', $n);
		query($how eq 'TRUNCATE' ? 'TRUNCATE gone; DROP TABLE gone' : 'DROP TABLE gone');
	}
	return;
}

# Are most of 200 lookups told that the queue has nothing for them?  (Assertion
# builds look there half the times all the same.)
sub are_told
{
	my ($seed) = @_;
	my $keys = "SELECT hashint8extended(i, $seed) k FROM generate_series(1, 200) i";
	return "SELECT pages_of('SELECT count(*) FROM ($keys OFFSET 0) p CROSS JOIN LATERAL (SELECT 1 FROM t WHERE t.k = p.k OFFSET 0) x') < 370";
}

sub finds_all
{
	my ($what) = @_;
	is(query('SELECT count(*) FROM (SELECT k FROM t OFFSET 0) a WHERE EXISTS (SELECT FROM t b WHERE b.k = a.k)'),
		query('SET enable_seqscan = on; SET enable_indexscan = off; SET enable_indexonlyscan = off; SELECT count(*) FROM t'), "$what: each row is found by its key");
	is_sound('t_k', "$what: the index is sound");
	return;
}

# A worker comes, looks at the notes, and goes.
sub call_worker
{
	my ($what) = @_;
	my $before = -s $node->logfile;
	comes_true("$what: no worker is left", q{SELECT count(*) = 0 FROM pg_stat_activity WHERE backend_type = 'fpbtree queue worker'});
	query('INSERT INTO caller VALUES (1)');
	return $before;
}

sub has_cleared { my ($from) = @_; return scalar(() = PostgreSQL::Test::Utils::slurp_file($node->logfile, $from) =~ /fpbtree: cleared some \d+ notes of tier 1/g); }

sub wait_for_clearing { my ($from) = @_; ok($node->wait_for_log(qr/fpbtree: cleared some \d+ notes of tier 1/, $from), 'a worker has cleared notes'); return; }

make_table('t', 16);
make_table('caller', 16);
fill('t', 2000);
is(query(are_told(7)), 't', 'lookups are told that the queue has nothing for them');
finds_all('at first');

foreach my $how (qw(TRUNCATE DROP))
{
	leave_notes($how);
	is(query(are_told(7)), 'f', "$how: notes without entries are in the way");
	finds_all("$how: then");
	my $from = call_worker($how);
	comes_true("$how: a worker has cleared them, and noted the entries that there are", are_told(7));
	is(has_cleared($from), 1, "$how: once");
	finds_all("$how: after that");
	fill('t', 500);
	finds_all("$how: with new entries");
	query(q{SELECT fpbtree_flush('t_k')});
	finds_all("$how: without a queue");
	fill('t', 2000);
	is(query(are_told(7)), 't', "$how: lookups are told again");
}

# Notes of entries that are there are not cleared.
fill('t', 500);
make_table('many', 512);
fill('many', 40000);
my $from = call_worker('in use');
comes_true('in use: a worker has been there', q{SELECT count(*) > 0 FROM pg_stat_activity WHERE backend_type = 'fpbtree queue worker'});
comes_true('in use: and is gone', q{SELECT count(*) = 0 FROM pg_stat_activity WHERE backend_type = 'fpbtree queue worker'});
is(has_cleared($from), 0, 'in use: notes of entries that there are stay');
query('DROP TABLE many');

SKIP:
{
	skip 'this server has no injection points', 30 unless $injects;

	# Lookups that have seen the mark, and read the words after they have been cleared.  (Assertion
	# builds look into the queue half of the times, whatever the words say.)
	fill('t', 100);
	my $key = query("SELECT hashint8extended(100, $seed)");
	leave_notes('DROP');
	attach('fpbtree-mark-seen', 'wait');
	my @lookups = map { session($node) } 1 .. 6;
	start_statement($_, "SELECT count(*) FROM t WHERE k = $key") foreach @lookups;
	comes_true('lookups are about to read words', q{SELECT count(*) = 6 FROM pg_stat_activity WHERE wait_event = 'fpbtree-mark-seen'});
	my $holder = session($node, 'BEGIN', 'LOCK TABLE t IN SHARE MODE');
	wait_for_clearing(call_worker('lookup'));
	detach('fpbtree-mark-seen');
	foreach my $waiting (reverse 0 .. 5)
	{
		wake_once('fpbtree-mark-seen');
		$node->poll_query_until('postgres', "SELECT count(*) = $waiting FROM pg_stat_activity WHERE wait_event = 'fpbtree-mark-seen'");
	}
	is(join(' ', map { rest($_) } @lookups), '1 1 1 1 1 1', 'they find the row all the same');
	$_->quit foreach @lookups;
	commit($holder);
	finds_all('after a lookup');

	# A move that has asked whether its entries are noted; then their notes are cleared.
	query(q{SELECT fpbtree_flush('t_k')});
	fill('t', 2000);
	is(query(are_told(7)), 't', 'lookups are told before a move');
	leave_notes('DROP');
	my ($move) = start_session(['fpbtree-move-leaf-locked'], q{SELECT fpbtree_flush('t_k')}, 'BEGIN', 'LOCK TABLE t IN SHARE MODE');
	wait_at('fpbtree-move-leaf-locked');
	wait_for_clearing(call_worker('move'));
	wake('fpbtree-move-leaf-locked');
	like(rest($move), qr/^\d+$/, 'it ends');
	commit($move);
	finds_all('after a move');

	# While words are being cleared: a queue that begins; an insertion that has noted its entry, and
	# finds its queue full; the worker of another database, which would note what is there.
	query('CREATE DATABASE other');
	query('CREATE EXTENSION fpbtree', 'other');
	query("CREATE TABLE o (k int8); INSERT INTO o SELECT hashint8extended(i, 1) FROM generate_series(1, 20000) i;
		CREATE INDEX o_k ON o USING fpbtree (k) WITH (operation_queue = on, opq_size = ${\(16 * $block / 1024)});
		INSERT INTO o SELECT hashint8extended(i, 2) FROM generate_series(1, 300) i", 'other');
	make_table('filled', 1);
	fill('filled', int($block / 8));
	ok(query(q{SELECT queue_stalls > 0 FROM fpbtree_stats('filled_k')}), 'a queue is full');
	leave_notes('DROP');
	attach($_, 'wait') foreach qw(fpbtree-clearing-words fpbtree-words-cleared);
	call_worker('clearing');
	$node->wait_for_event('fpbtree queue worker', 'fpbtree-clearing-words');
	fill('t', 300);
	finds_all('before words are cleared');
	attach('fpbtree-queue-full', 'wait');
	my $insertion = session($node, 'SET fpbtree.queue_worker = off');
	start_statement($insertion, "INSERT INTO filled SELECT hashint8extended(i, 0) FROM generate_series(1, $block) i");
	wait_at('fpbtree-queue-full');
	query('INSERT INTO o VALUES (1)', 'other');
	comes_true('the other worker has come', q{SELECT count(*) = 1 FROM pg_stat_activity WHERE datname = 'other' AND backend_type = 'fpbtree queue worker'});
	comes_true('... and gone', q{SELECT count(*) = 0 FROM pg_stat_activity WHERE datname = 'other' AND backend_type = 'fpbtree queue worker'});
	wake('fpbtree-clearing-words');
	$node->wait_for_event('fpbtree queue worker', 'fpbtree-words-cleared');
	finds_all('while words are being cleared');
	fill('t', 300);
	finds_all('with more entries');
	is(query('SELECT count(*) FROM (SELECT k FROM o OFFSET 0) a WHERE EXISTS (SELECT FROM o b WHERE b.k = a.k)', 'other'), '20301', 'so do those of the other database');
	wake('fpbtree-queue-full');
	is(rest($insertion), '', 'the insertion ends');
	$insertion->quit;
	wake('fpbtree-words-cleared');
	comes_true('lookups are told after that', are_told(7));
	finds_all('after that');
	is_sound('filled_k', 'the full queue is sound');
	is_sound('o_k', 'the other database is sound', 'other');
}

stop_servers();
done_testing();
