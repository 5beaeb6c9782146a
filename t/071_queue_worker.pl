#
# The worker that moves entries of operation queues: it comes when it is wanted,
# and nobody needs it.
#
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/lib";
use Servers;
use Test::More;

# Entries come one by one, as those of short statements do.
my $node = start_server(
	'worker', q{
fpbtree.insert_batch_size = 0
max_parallel_workers_per_gather = 0
max_parallel_maintenance_workers = 0
fpbtree.queue_flush_after = 1s
});

# A table with an index the queue of which is much smaller than it; or so large
# that it is never full.
sub make_table
{
	my ($name, $size, $db) = @_;
	query("CREATE TABLE $name (k int8); CREATE INDEX ${name}_k ON $name USING fpbtree (k) WITH (operation_queue = on, opq_size = $size)", $db);
	return;
}

my $insertions = 0;

# What sessions change is not verified here, as elsewhere: what the worker does is.
my $quick = query('SHOW debug_assertions') eq 'on' ? 'SET fpbtree.verify_changes = off;' : '';

sub insert
{
	my ($name, $n, $db) = @_;
	$insertions++;
	query("$quick INSERT INTO $name SELECT hashint8extended(i, $insertions) FROM generate_series(1, $n) i", $db);
	return;
}

sub check
{
	my ($name, $what, $db) = @_;
	is_sound("${name}_k", "$what: the index is sound", $db);
	# what the worker is just moving may be counted twice, or not at all
	comes_true("$what: with all entries", "SELECT entries = (SELECT count(*) FROM $name) FROM fpbtree_stats('${name}_k')", $db);
	return;
}

query('CREATE EXTENSION fpbtree');

# It comes, tells what it is doing, empties a queue to which nothing comes any more,
# and goes; and the same again.
make_table('quiet', 1000000);
foreach my $round (1 .. 2)
{
	insert('quiet', 20000);
	comes_true("round $round: a worker has come", "SELECT count(*) = 1 $QUEUE_WORKERS");
	comes_true("round $round: it says what it does", "SELECT query = 'fpbtree: moving entries of the operation queue of index \"quiet_k\"' $QUEUE_WORKERS") if $round == 1;
	comes_true("round $round: the queue is emptied, and gone", q{SELECT queue_pages = 0 FROM fpbtree_stats('quiet_k')});
	comes_true("round $round: the worker has gone", "SELECT count(*) = 0 $QUEUE_WORKERS");
	check('quiet', "round $round");
}
cmp_ok(query(q{SELECT queue_moved FROM fpbtree_stats('quiet_k')}), '==', 40000, 'what has moved is counted');

# It has been told to leave entries where they are.
set_and_reload("fpbtree.queue_flush_after = -1\n");
insert('quiet', 5000);
comes_true('a worker has come that has nothing to do', "SELECT count(*) = 1 $QUEUE_WORKERS");
comes_true('it has gone', "SELECT count(*) = 0 $QUEUE_WORKERS");
is(query(q{SELECT queue_entries FROM fpbtree_stats('quiet_k')}), '5000', 'all entries are in the queue still');
query("SELECT pg_sleep(1.5)");
insert('quiet', 5000);
comes_true('a worker has come again', "SELECT count(*) = 1 $QUEUE_WORKERS");
set_and_reload("fpbtree.queue_flush_after = 1s\n");
comes_true('the queue is emptied when it is told so', q{SELECT queue_pages = 0 FROM fpbtree_stats('quiet_k')});

# While it waits for a queue to get full, or for nothing to come any more, it does not
# read the queue's leaves each time it looks.
set_and_reload("fpbtree.queue_flush_after = 1h\n");
insert('quiet', 20000);
comes_true('a worker has come, and stays', "SELECT count(*) = 1 $QUEUE_WORKERS");
comes_true('who has inserted has gone, and told what he has read', q{SELECT count(*) = 1 FROM pg_stat_activity WHERE backend_type = 'client backend'});
my $looks = q{FROM pg_stat_database, pg_statio_all_indexes WHERE datname = 'postgres' AND indexrelname = 'quiet_k'};
my ($looks_before, $pages_before) = split /\|/, query("SELECT xact_commit, idx_blks_hit + idx_blks_read $looks");
comes_true('it looks again and again', "SELECT xact_commit > $looks_before + 50 $looks");
my ($pages_read) = query("SELECT (idx_blks_hit + idx_blks_read - $pages_before) / (xact_commit - $looks_before) $looks");
cmp_ok($pages_read, '<', query(q{SELECT queue_pages / 4 FROM fpbtree_stats('quiet_k')}), 'at few pages each time');
set_and_reload("fpbtree.queue_flush_after = 1s\n");
comes_true('after a while it empties the queue', q{SELECT queue_pages = 0 FROM fpbtree_stats('quiet_k')});

# As long as an entry comes every now and then, the queue is left to get full.
set_and_reload("fpbtree.queue_flush_after = 5s\n");
query(q{DO $$BEGIN FOR i IN 1..80 LOOP INSERT INTO quiet VALUES (i); COMMIT; PERFORM pg_sleep(0.1); END LOOP; END$$});
is(query(q{SELECT queue_entries FROM fpbtree_stats('quiet_k')}), '80', 'what comes slowly stays in the queue');
set_and_reload("fpbtree.queue_flush_after = 1s\n");

# While entries come, it keeps the queue from being full, most of the time.
make_table('busy', 400);
query(q{CREATE PROCEDURE keep_inserting(n int) LANGUAGE plpgsql AS $$
	BEGIN FOR i IN 1..n LOOP INSERT INTO busy SELECT hashint8extended(j, i) FROM generate_series(1, 100) j; COMMIT; END LOOP; END $$});
query("$quick CALL keep_inserting(1000)");
cmp_ok(query(q{SELECT queue_visits FROM fpbtree_stats('busy_k')}), '>', 10, 'leaves have been visited');
check('busy', 'with entries coming');

# Of a leaf that is nearly full it moves what there is most of for a leaf of the
# main tree, and leaves the rest where it is.
set_and_reload("fpbtree.queue_flush_after = -1\n");
my $block = query('SHOW block_size');
query('SET fpbtree.default_operation_queue = off; CREATE TABLE most (k int8);
	INSERT INTO most SELECT i * 1000 FROM generate_series(1, 40000) i;
	CREATE INDEX most_k ON most USING fpbtree (k)');
query(sprintf('ALTER INDEX most_k SET (operation_queue = on, opq_size = %d, queue_tiers = 1)', $block / 1024));
query('INSERT INTO most SELECT i * 2000000 + 1 FROM generate_series(1, 15) i');
my $few = $block / 800;
for (my $i = 0; $i < 1000 && query(q{SELECT queue_visits FROM fpbtree_stats('most_k')}) == 0; $i++)
{
	query("INSERT INTO most SELECT 20000000 + ($i * 7919 + j) % 1000 FROM generate_series(1, $few) j; SELECT pg_sleep(0.02)");
}
query('SELECT pg_sleep(0.2)');
cmp_ok(query(q{SELECT queue_visits FROM fpbtree_stats('most_k')}), '<', 12, 'a few leaves have been visited');
cmp_ok(query(q{SELECT queue_moved FROM fpbtree_stats('most_k')}), '>', 30, 'for many entries');
cmp_ok(query(q{SELECT queue_entries FROM fpbtree_stats('most_k')}), '>=', 12, 'others are still in the queue');
check('most', 'with a part moved');
query('DROP TABLE most');

# A leaf has room for fewer keys that are far from each other, and is nearly full sooner.
query('SET fpbtree.default_operation_queue = off; CREATE TABLE far (k int8);
	INSERT INTO far SELECT hashint8extended(i, 1) FROM generate_series(1, 40000) i;
	CREATE INDEX far_k ON far USING fpbtree (k)');
query(sprintf('ALTER INDEX far_k SET (operation_queue = on, opq_size = %d, queue_tiers = 1)', $block / 1024));
query(sprintf('INSERT INTO far SELECT hashint8extended(j, 2) FROM generate_series(1, %d) j', $block / 16));
comes_true('a leaf of keys that are far from each other is visited', q{SELECT queue_visits > 0 FROM fpbtree_stats('far_k')});
is(query(q{SELECT queue_stalls FROM fpbtree_stats('far_k')}), '0', 'before an insertion has to make room');
check('far', 'of keys far from each other');
query('DROP TABLE far');

# Leaves are nearly full, too, if they have a few texts with many rows each, or
# two of the longest, beside which fences might leave no room: the worker comes to one that an insertion would still fit.
foreach my $kind (['postings', q{'key ' || j % 20}, int($block / 800)], ['longest', sprintf(q{repeat('x', %d) || j}, $block < 8192 ? $block * 0.295 : $block < 32768 ? $block * 0.31 : 8000), 1])
{
	my ($name, $key, $step) = @$kind;
	my $n = 0;
	my $make = sub {
		my ($table, $size) = @_;
		query(qq{CREATE TABLE $table (k text COLLATE "C"); ALTER TABLE $table ALTER k SET STORAGE plain;
			INSERT INTO $table SELECT $key FROM generate_series(1, 200) j;
			CREATE INDEX ${table}_k ON $table USING fpbtree (k);
			ALTER INDEX ${table}_k SET (operation_queue = on, opq_size = $size, queue_tiers = 1)});
	};
	my $add = sub {
		my ($table, $from, $to, $worker) = @_;
		query("SET fpbtree.queue_worker = $worker; INSERT INTO $table SELECT $key FROM generate_series($from, $to) j");
	};

	# how many fill a page
	$make->("${name}_many", 100000);
	for (; $n < 100000 && query("SELECT queue_pages < 2 FROM fpbtree_stats('${name}_many_k')") eq 't'; $n += $step)
	{
		$add->("${name}_many", $n + 1, $n + $step, 'off');
	}
	cmp_ok($n, '<', 100000, "$name: a page of the queue has been filled");
	$make->($name, $block / 1024);
	my $most = $name eq 'longest' ? 2 : int(0.95 * $n);
	$add->($name, 1, $most - 1, 'off');
	$add->($name, $most, $most, 'on');
	comes_true("$name: the worker has come to the leaf", "SELECT queue_visits > 0 FROM fpbtree_stats('${name}_k')");
	is(query("SELECT queue_stalls FROM fpbtree_stats('${name}_k')"), '0', "$name: before an insertion was in want of room");
	check($name, $name);
	query("DROP TABLE $name, ${name}_many");
}
set_and_reload("fpbtree.queue_flush_after = 1s\n");

# It makes room for who copies its database; and it has nothing to do with an index that
# is not kept up to date any more, as one is left that could not be dropped
# concurrently.
make_table('unready', 1000000);
foreach my $way ('CREATE DATABASE another TEMPLATE postgres',
	q{SET allow_system_table_mods = on; UPDATE pg_index SET indisready = false, indisvalid = false WHERE indexrelid = 'unready_k'::regclass})
{
	set_and_reload("fpbtree.queue_flush_after = 1h\n");
	insert('unready', 10);
	comes_true('there is a worker to stay', "SELECT count(*) = 1 $QUEUE_WORKERS");
	query($way);
	comes_true("it goes: $way", "SELECT count(*) = 0 $QUEUE_WORKERS");
}
query('DROP DATABASE another; DROP TABLE unready');
set_and_reload("fpbtree.queue_flush_after = 1s\n");

# It is told to end when an entry has come that it has not seen to; and the next entry
# of the same session asks for another one.  (New sessions look by themselves, and the
# postmaster would start it again ten seconds later.)
set_and_reload("log_min_messages = debug1\nfpbtree.queue_flush_after = 1h\n");
{
	my $session = session($node, 'INSERT INTO quiet VALUES (1)');

	comes_true('there is a worker', "SELECT count(*) = 1 $QUEUE_WORKERS");
	my $worker = query("SELECT pid $QUEUE_WORKERS");
	my $log_end = -s $node->logfile;
	kill 'STOP', $worker;
	$session->query_safe('INSERT INTO quiet VALUES (2)');
	kill $_, $worker foreach 'TERM', 'CONT';
	comes_true('it has ended', "SELECT count(*) = 0 $QUEUE_WORKERS");
	$session->query_safe('INSERT INTO quiet VALUES (3)');
	comes_true('there is a worker again', "SELECT count(*) = 1 $QUEUE_WORKERS");
	ok($node->log_contains(qr/registering background worker "fpbtree queue worker"/, $log_end), 'which has been asked for');
	$session->quit;
}
set_and_reload("log_min_messages = warning\nfpbtree.queue_flush_after = 1s\n");
check('quiet', 'with another worker');

# A server with no room for workers: the inserters do it.
set_and_restart("max_worker_processes = 0\n");
make_table('alone', 64);
insert('alone', 60000);
is(query("SELECT count(*) $QUEUE_WORKERS"), '0', 'no worker can be had');
cmp_ok(query(q{SELECT queue_stalls FROM fpbtree_stats('alone_k')}), '>', 100, 'inserters have moved entries');
cmp_ok(query(q{SELECT queue_pages FROM fpbtree_stats('alone_k')}), '<=', query(q{SELECT queue_limit FROM fpbtree_stats('alone_k')}), 'the queue has not grown beyond its limit');
check('alone', 'with no worker to be had');

# What an insertion does that comes to a full queue: the visit by which most entries
# move; and then there is room for its own.
query(q{
	CREATE TABLE crowd (k int8);
	INSERT INTO crowd SELECT i * 1000 FROM generate_series(1, 200000) i;
	CREATE INDEX crowd_k ON crowd USING fpbtree (k) WITH (operation_queue = on, opq_size = 1, queue_tiers = 1, fillfactor = 50);
	INSERT INTO crowd SELECT 100000001 + i FROM generate_series(1, 20) i;
	DO $$
	BEGIN
		FOR i IN 0 .. 2000 LOOP
			EXIT WHEN (SELECT queue_stalls > 0 FROM fpbtree_activity() WHERE index = 'crowd_k'::regclass);
			CONTINUE WHEN abs(i * 7919 % 2000 - 1000) < 10;
			INSERT INTO crowd VALUES ((i * 7919 % 2000) * 100000 + 500);
		END LOOP;
	END $$});
is(query(q{SELECT queue_stalls, queue_visits, queue_moved, queue_moved + queue_entries = (SELECT count(*) - 200000 FROM crowd) FROM fpbtree_stats('crowd_k')}),
	'1|1|20|t', 'an insertion makes room where that is done best, and uses it');
check('crowd', 'with room made');
set_and_restart("max_worker_processes = 8\n");

# Nor is one started where they are switched off.
set_and_reload("fpbtree.queue_worker = off\n");
insert('alone', 10000);
is(query("SELECT count(*) $QUEUE_WORKERS"), '0', 'no worker is wanted');
set_and_reload("fpbtree.queue_worker = on\n");

# Its table is locked, changed, dropped; its database is dropped.
make_table('gone', 1000000);
insert('gone', 20000);
comes_true('there is a worker for it', "SELECT count(*) = 1 $QUEUE_WORKERS");
query('BEGIN; LOCK gone; TRUNCATE gone; COMMIT');
insert('gone', 20000);
query('BEGIN; ALTER TABLE gone ALTER k TYPE numeric; ROLLBACK; ALTER TABLE gone ALTER k TYPE numeric');
insert('gone', 20000);
check('gone', 'with a table changed');
query('DROP TABLE gone');
comes_true('the worker ends after its table', "SELECT count(*) = 0 $QUEUE_WORKERS");
query('CREATE DATABASE other');
query('CREATE EXTENSION fpbtree', 'other');
make_table('gone', 1000000, 'other');
insert('gone', 200000, 'other');
comes_true('a worker in another database', "SELECT count(*) = 1 $QUEUE_WORKERS AND datname = 'other'");
query('DROP DATABASE other');
is(query("SELECT count(*) $QUEUE_WORKERS AND datname = 'other'"), '0', 'is not in the way of its end');

# It is killed, with all the server.
insert('quiet', 100000);
comes_true('there is a worker in the end', "SELECT count(*) = 1 $QUEUE_WORKERS");
my $pid = query("SELECT pid $QUEUE_WORKERS");
kill_one($pid);
check($_, 'after a crash') foreach 'quiet', 'busy', 'alone';
insert('quiet', 1000);
comes_true('another one comes', "SELECT count(*) = 1 $QUEUE_WORKERS");
comes_true('all queues are emptied in the end', q{SELECT queue_pages = 0 FROM fpbtree_stats('quiet_k')});

# Left to itself, an index uses its queue for what would have to be read: random keys,
# if it is larger than memory, and not ascending ones.
{
	my $small = start_server('small', "shared_buffers = 1MB\nfpbtree.insert_batch_size = 0\nfpbtree.queue_worker = off\n");

	trust_changes($small);
	use_server($small);
	query(q{
		CREATE EXTENSION fpbtree;
		CREATE TABLE t (k int8);
		INSERT INTO t SELECT hashint8extended(i, 0) FROM generate_series(1, 300000) i;
		CREATE INDEX t_k ON t USING fpbtree (k);
		CREATE TABLE few (k int8);
		CREATE INDEX few_k ON few USING fpbtree (k)});
	my $waiting = sub { return query(q{SELECT queue_entries FROM fpbtree_stats('t_k')}); };
	query('INSERT INTO t SELECT hashint8extended(i, 1) FROM generate_series(1, 3000) i');
	cmp_ok($waiting->(), '>', 1500, 'entries whose leaves are not in memory wait');
	my $before = $waiting->();
	# but for the first, which finds that its leaf is not in memory
	query('CREATE TABLE much AS SELECT FROM generate_series(1, 300000)');
	query(q{INSERT INTO t SELECT 9223372036854775807 - 10000 + i FROM generate_series(1, 10000) i});
	cmp_ok($waiting->(), '<', $before + 10, 'ascending ones do not');

	# Of those that are put in together, the ones whose leaf gets few wait.
	foreach my $case ([ 400, 200, 400, 'of few entries together, most wait' ], [ 20000, 0, 2000, 'of many, few' ])
	{
		my ($n, $least, $most, $what) = @$case;
		$before = $waiting->();
		query('CREATE TABLE other AS SELECT FROM generate_series(1, 300000); DROP TABLE other');
		query("SET fpbtree.insert_batch_size = 4096; INSERT INTO t SELECT hashint8extended(i, $n) FROM generate_series(1, $n) i");
		cmp_ok($waiting->() - $before, '>=', $least, $what);
		cmp_ok($waiting->() - $before, '<=', $most, "$what, as far as it goes");
	}
	query('INSERT INTO few SELECT hashint8extended(i, 1) FROM generate_series(1, 1000) i');
	is(query(q{SELECT queue_pages FROM fpbtree_stats('few_k')}), '0', 'nor do those of a small index');
	$before = $waiting->();
	query('SET fpbtree.default_operation_queue = off; INSERT INTO t SELECT hashint8extended(i, 2) FROM generate_series(1, 3000) i');
	is($waiting->(), $before, 'nor any where the queue is off');
	is_sound('t_k', 'the index is sound');

	# What it would be worth, as measured; and that it saves no WAL where leaves get more
	# entries between two checkpoints than move at a visit.
	is(query(q{SELECT queue_visit_entries IS NULL AND queue_checkpoint_entries IS NULL FROM fpbtree_stats('t_k')}), 't',
		'nothing is known of visits');
	is( query(q{SELECT string_agg(name, ',') FROM fpbtree_queue_advice('t_k', 0.9)}),
		'operation_queue,opq_size,queue_tiers,fpbtree.pio_max,entries a visit (k),entries a leaf between checkpoints (i)',
		'there is advice for an index larger than memory');
	is( query(q{SELECT string_agg(format('%s %s', name, advised), ', ') FROM fpbtree_queue_advice('t_k', 0) WHERE name !~ 'pio'}),
		'operation_queue off, opq_size ', 'which has no queue where nothing is inserted');
	is( query(q{SELECT advised::int BETWEEN 8 * b AND buffers / 2 * b FROM fpbtree_queue_advice('t_k', 1),
		(SELECT current_setting('block_size')::int / 1024 AS b, (SELECT setting::int FROM pg_settings WHERE name = 'shared_buffers') AS buffers) x WHERE name = 'opq_size'}),
		't', 'and a large one where all is');
	is(query(q{SELECT advised || ': ' || reason FROM fpbtree_queue_advice('few_k')}),
		'auto: the index is in memory: there is nothing to be read, and by default nothing goes to the queue', 'and none in memory');
	foreach my $seed (10 .. 12)
	{
		query("SET fpbtree.default_operation_queue = on; INSERT INTO t SELECT hashint8extended(i, $seed) FROM generate_series(1, 60000) i");
		query($_) foreach q{SELECT fpbtree_flush('t_k')}, 'CHECKPOINT';
	}
	query("SET fpbtree.default_operation_queue = on; INSERT INTO t VALUES (1)");
	query(q{SELECT fpbtree_flush('t_k')});
	is( query(q{SELECT queue_checkpoint_entries * (leaf_pages - queue_leaf_pages) BETWEEN 40000 AND 60001, queue_visit_entries > 2 FROM fpbtree_stats('t_k')}),
		't|t', 'entries between checkpoints are counted');
	like(messages(q{SELECT FROM fpbtree_queue_advice('t_k', 1)}), qr/WARNING:  the operation queue of index "t_k" saves reads and writes, but no WAL/, 'a warning, where that is so');
	$small->stop;
}

stop_servers($node);
done_testing();
