#
# Unique indexes with an operation queue: two who insert one key, pages of the
# queue that are missing, crashes, and a standby that becomes the primary.
#
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/lib";
use InjectionPoints;
use Servers;
use Test::More;

# (with buffers for all, so that pages are missing only where they are evicted on purpose)
my $node = start_server(
	'unique', q{
shared_buffers = 32MB
enable_seqscan = off
enable_bitmapscan = off
fpbtree.queue_worker = off
wal_consistency_checking = 'generic'
}, allows_streaming => 1);
need_injection_points();
query('CREATE EXTENSION fpbtree; CREATE EXTENSION pg_buffercache');
query(q{
CREATE TABLE u (k int8, v int);
CREATE INDEX u_v ON u (v);
INSERT INTO u SELECT i * 1009, 0 FROM generate_series(1, 20000) i;
CREATE UNIQUE INDEX u_k ON u USING fpbtree (k) WITH (operation_queue = on, opq_size = 1000000);
INSERT INTO u SELECT i * 1009 + 5, 1 FROM generate_series(1, 3000) i;
});

my $DUPLICATE = qr/duplicate key value violates unique constraint "u_k"/;

# Is each key there once, and found by the index?  The main tree's rows and the queue's have been counted.
sub check
{
	my ($what) = @_;
	is_sound('u_k', "$what: the index is sound");
	is(query("$BY_TABLE SELECT count(*) - count(DISTINCT k) FROM u"), '0', "$what: no key is there twice");
	is(query('SELECT count(*) || md5(string_agg(k::text, \',\' ORDER BY k)) FROM u WHERE k > 0'),
		query("$BY_TABLE SELECT count(*) || md5(string_agg(k::text, ',' ORDER BY k)) FROM u"), "$what: the index has all rows");
	return;
}

# Two insert one key.  The second waits for the leaf, then for the transaction of the first.
foreach my $end ('COMMIT', 'ROLLBACK')
{
	my $key = $end eq 'COMMIT' ? 77_000_001 : 78_000_001;
	my ($first, $first_pid) = start_session(['fpbtree-unique-checked'], "INSERT INTO u VALUES ($key, 2)", 'BEGIN');
	wait_at('fpbtree-unique-checked');
	my ($second, $second_pid) = start_session([], "INSERT INTO u VALUES ($key, 3)");
	ok( $node->poll_query_until('postgres', "SELECT coalesce(wait_event_type IN ('LWLock', 'Buffer'), false) FROM pg_stat_activity WHERE pid = $second_pid"),
		"$end: who has not come to the queue yet keeps the key to itself");
	wake('fpbtree-unique-checked');
	ok(finishes($first_pid), "$end: it goes on");
	wait_at('transactionid');
	is(query("SELECT count(*) FROM u WHERE k = $key"), '0', "$end: the row is not visible yet");
	$first->query_safe($end);
	ok(finishes($second_pid), "$end: the second one finds out");
	is(query("SELECT string_agg(v::text, ',') FROM u WHERE k = $key"), $end eq 'COMMIT' ? '2' : '3', "$end: one row is there");
	$_->quit foreach ($first, $second);
	is(query("SELECT count(*) FROM u WHERE k = $key"), '1', "$end: and stays");
}
check('two of one key');
cmp_ok(query(q{SELECT queue_entries FROM fpbtree_stats('u_k')}), '>', 3000, 'all that has been inserted waits in the queue');

# A page of the queue that is in no buffer is read while the main leaf is not locked.
{
	query('CHECKPOINT');
	query(q{SELECT count(pg_buffercache_evict(bufferid)) FROM pg_buffercache WHERE relfilenode = pg_relation_filenode('u_k')});
	my ($insert, $pid) = start_session(['fpbtree-queue-page-missing'], 'INSERT INTO u VALUES (5045 + 5, 4)');
	wait_at('fpbtree-queue-page-missing');
	my ($other, $other_pid) = start_session([], 'INSERT INTO u VALUES (5045 + 6, 4)');
	ok(finishes($other_pid), 'the leaf is not locked while a page of the queue is read');
	wake('fpbtree-queue-page-missing');
	ok(finishes($pid), 'the insertion goes on');
	$_->quit foreach ($insert, $other);
	is(query('SELECT count(*) FROM u WHERE k BETWEEN 5050 AND 5051'), '2', 'one of its key was there before, the other one has come');
	check('a page that was missing');

	# it is read, too, if nothing goes to the queue any more
	query('ALTER INDEX u_k SET (operation_queue = off); CHECKPOINT');
	foreach my $i (100, 1500, 2900)
	{
		query(q{SELECT count(pg_buffercache_evict(bufferid)) FROM pg_buffercache WHERE relfilenode = pg_relation_filenode('u_k')});
		like(messages("INSERT INTO u VALUES ($i * 1009 + 5, 4)"), $DUPLICATE, "key $i is refused, which waits in a page that was missing");
	}
	query('ALTER INDEX u_k SET (operation_queue = on)');
}

# A crash: what has been accepted is refused afterwards, before anybody has counted what waits.
crash($node);
like(messages('INSERT INTO u VALUES (3027 + 5, 5)'), $DUPLICATE, 'after a crash: a key in the queue is refused');
like(messages('INSERT INTO u VALUES (3027, 5)'), $DUPLICATE, 'after a crash: one in the main tree is');
query('INSERT INTO u VALUES (3027 + 7, 5)');
like(messages('INSERT INTO u VALUES (3027 + 7, 5)'), $DUPLICATE, 'after a crash: a new one is');
check('after a crash');

# A standby has the same, and goes on with it as the primary.
my $standby = make_standby($node, 'standby');
query('INSERT INTO u SELECT i * 1009 + 9, 6 FROM generate_series(1, 2000) i; DELETE FROM u WHERE v = 1 AND k % 3 = 0');
query(q{SELECT fpbtree_flush('u_k') > 0});
query('INSERT INTO u SELECT i * 1009 + 11, 7 FROM generate_series(1, 2000) i');
$node->wait_for_catchup($standby);
use_server($standby);
is(query('SELECT count(*) FROM u WHERE k % 1009 = 11 AND k > 0'), '2000', 'a standby sees what waits');
$node->stop('immediate');
$standby->promote;
like(messages("INSERT INTO u VALUES ($_, 8)"), $DUPLICATE, "a new primary refuses $_") foreach (1009 * 1500 + 11, 1009 * 1500 + 9, 1009 * 1500, 77_000_001);
query('INSERT INTO u SELECT i * 1009 + 13, 9 FROM generate_series(1, 2000) i');
like(messages('INSERT INTO u VALUES (1009 * 1500 + 13, 10)'), $DUPLICATE, 'and what it has inserted itself');
check('a new primary');
is(query(q{SELECT fpbtree_flush('u_k')}), '4000', 'all that waited has moved');
like(messages("INSERT INTO u VALUES ($_, 8)"), $DUPLICATE, "it refuses $_ still") foreach (1009 * 1500 + 11, 1009 * 1500 + 13);
check('without a queue');

# A primary key's index has no option, but it may have been built with one: then the setting decides. (17 has neither
# foreign keys nor ON CONFLICT for other indexes than btree's.)
if (server()->pg_version >= 18)
{
	query(q{
	CREATE TABLE p (k uuid NOT NULL);
	CREATE UNIQUE INDEX p_k ON p USING fpbtree (k) WITH (operation_queue = on);
	ALTER INDEX p_k RESET (operation_queue);
	SELECT fpbtree_add_constraint('p', 'p_k', 'primary key');
	CREATE TABLE refers (k uuid REFERENCES p);
	INSERT INTO p SELECT md5(i::text)::uuid FROM generate_series(1, 100) i;
	SET fpbtree.default_operation_queue = on;
	INSERT INTO p SELECT md5(i::text)::uuid FROM generate_series(101, 300) i;
	INSERT INTO refers SELECT k FROM p});
	is(query(q{SELECT operation_queue, queue_entries FROM fpbtree_stats('p_k')}), 'auto|200', 'a primary key has a queue');
	like(messages("INSERT INTO p VALUES (md5('$_')::uuid)"), qr/duplicate key value violates unique constraint "p_k"/, "it refuses $_") foreach (50, 250);
	query(q{INSERT INTO p SELECT md5(i::text)::uuid FROM generate_series(1, 310) i ON CONFLICT DO NOTHING});
	is(query('SELECT count(*), count(DISTINCT k) FROM p'), '310|310', 'and leaves out what is there');
	foreach my $how ('on', 'auto')
	{
		query("SET fpbtree.default_operation_queue = $how; REINDEX INDEX p_k");
		query(q{SET fpbtree.default_operation_queue = on; INSERT INTO p SELECT gen_random_uuid() FROM generate_series(1, 10)});
		is(query(q{SELECT queue_entries FROM fpbtree_stats('p_k')}), $how eq 'on' ? '10' : '0', "built anew with $how");
	}
	is_sound('p_k', 'the index of the key is sound');
}

done_testing();
