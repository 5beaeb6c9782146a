#
# The operation queue, with backends that are made to wait at awkward places: in
# the midst of a move, between two segments of a scan, and with stale ideas of
# where the queue is.
#
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/lib";
use InjectionPoints;
use LongKeys;
use Servers;
use Test::More;

my $node = start_server(
	'queue', q{
enable_seqscan = off
enable_bitmapscan = off
fpbtree.queue_worker = off
});
need_injection_points();
query('CREATE EXTENSION fpbtree; CREATE EXTENSION pg_buffercache');
create_long_keys();

# Does the session wait for a page?
sub waits_for_page
{
	my ($pid) = @_;
	return $node->poll_query_until('postgres', "SELECT coalesce(wait_event_type IN ('LWLock', 'Buffer'), false) FROM pg_stat_activity WHERE pid = $pid");
}

# A table with a tree of three levels, with some rows in the queue: every tenth
# number is in the main tree, and those that end in five wait.
sub make_table
{
	my ($name, $size) = @_;

	query(qq{
		CREATE TABLE $name (i int, k text COLLATE "C");
		INSERT INTO $name SELECT i, key(i) FROM generate_series(10, 5000, 10) i;
		CREATE INDEX ${name}_k ON $name USING fpbtree (k) WITH (operation_queue = on, opq_size = ${\($size // 100000)});
		INSERT INTO $name SELECT i, key(i) FROM generate_series(5, 5000, 50) i;
		VACUUM (ANALYZE) $name;});
	return;
}

sub check
{
	my ($name, $what) = @_;
	is_sound("${name}_k", "$what: the index is sound");
	foreach my $order ('', ' DESC')
	{
		is( query("SELECT count(*) || md5(string_agg(i::text, ',')) FROM (SELECT i FROM $name ORDER BY k$order) s"),
			query("$BY_TABLE SELECT count(*) || md5(string_agg(i::text, ',')) FROM (SELECT i FROM $name ORDER BY k$order) s"),
			"$what: all rows are found in order$order");
	}
	return;
}

# A flush announces leaves by what it has read of the level above, which is not
# read again: those that it has split itself are not where it comes to.
{
	query(q{
		CREATE TABLE stale (i int, k text COLLATE "C");
		INSERT INTO stale SELECT i, key(i) FROM generate_series(100, 9000, 100) i;
		CREATE INDEX stale_k ON stale USING fpbtree (k) WITH (operation_queue = on, opq_size = 100000);
		INSERT INTO stale SELECT i, key(i) FROM generate_series(55, 2600, 50) i;
		INSERT INTO stale SELECT i, key(i) FROM unnest(ARRAY[3155, 3205, 3255, 3305]) i;
		INSERT INTO stale SELECT i, key(i) FROM generate_series(8801, 8840) i});
	my ($flush, $pid) = start_session(['fpbtree-move-leaf-locked'], q{SELECT fpbtree_flush('stale_k')}, 'SET fpbtree.pio_max = 2');
	my $passed = '';
	for (my $rounds = 0; $rounds < 1000 && $passed ne 't'; $rounds++)
	{
		wake_once('fpbtree-move-leaf-locked') if query("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'fpbtree-move-leaf-locked'");
		$passed = query(q{SELECT entries_moved >= 55 FROM fpbtree_flush_progress() WHERE index = 'stale_k'::regclass});
	}
	is($passed, 't', 'a flush has split leaves, and goes on');
	query(q{INSERT INTO stale SELECT i, key(i) FROM unnest(ARRAY[2502, 4302, 4805, 6005]) i});
	wake('fpbtree-move-leaf-locked');
	finishes($pid);
	is(rest($flush), '99', 'it knows others by what they were, and moves all entries');
	$flush->quit;
	check('stale', 'after that');
	query('DROP TABLE stale');
}

# How far a flush is can be seen, as long as it goes on.
{
	make_table('progress');
	my $PROGRESS = q{FROM fpbtree_flush_progress() WHERE index = 'progress_k'::regclass};
	foreach my $end ('goes on', 'is terminated')
	{
		query(q{INSERT INTO progress SELECT i, key(i) FROM generate_series(5, 5000, 50) i}) if $end ne 'goes on';
		my $pages = query(q{SELECT queue_pages FROM fpbtree_stats('progress_k')});
		my ($flush, $pid) = start_session(['fpbtree-move-leaf-locked'], q{SELECT fpbtree_flush('progress_k') > 0});
		my $rounds = 0;
		wait_at('fpbtree-move-leaf-locked');
		is(query("SELECT pid, queue_pages, pages_done, entries_moved $PROGRESS"), "$pid|$pages|0|0", "a flush that $end: it has begun");
		# it may be between two moves when it is looked at
		while (query("SELECT pages_done = 0 $PROGRESS") eq 't' && ++$rounds < 1000)
		{
			wake_once('fpbtree-move-leaf-locked') if query("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'fpbtree-move-leaf-locked'");
		}
		is(query("SELECT pages_done > 0 AND entries_moved > 0 AND entries_moved <= 100 $PROGRESS"), 't', "a flush that $end: it gets on");
		query("SELECT pg_terminate_backend($pid)") if $end ne 'goes on';
		wake('fpbtree-move-leaf-locked');
		$node->poll_query_until('postgres', "SELECT NOT EXISTS (SELECT $PROGRESS)");
		is(query("SELECT count(*) $PROGRESS"), '0', "a flush that $end: it is at its end");
		finishes($pid) if $end eq 'goes on';
		eval { $flush->quit; };
	}
	query('DROP TABLE progress');
}

# A move is held up with the main leaf locked, with both locked, and before the
# downlink of the leaf that it has split.  Scans of that place wait for it, or not,
# and see each row once; so does one that waits for a while in a leaf.
foreach my $point ('move-leaf-locked', 'move-both-locked', 'moved-with-split')
{
	my $table = $point =~ s/-/_/gr;

	make_table($table);
	# so much for one leaf that it must be split
	query("INSERT INTO $table SELECT i, key(i) FROM generate_series(2501, 2519) i WHERE i % 5 <> 0") if $point =~ /split/;
	my $where = query("SELECT i FROM $table WHERE k > key(2500) AND i % 10 <> 0 ORDER BY k LIMIT 1");
	my ($flush, $flush_pid) = start_session(["fpbtree-$point"], "SELECT fpbtree_flush('${table}_k') > 0");
	wait_at("fpbtree-$point");
	detach("fpbtree-$point") if $point !~ /split/;
	my @scans = map { [ start_session([], "SELECT count(*), count(DISTINCT i), min(i), max(i) FROM (SELECT i FROM $table WHERE k >= key(0) ORDER BY k$_) s") ] } '', ' DESC';
	my @lookups = map { [ start_session([], "SELECT count(*) FROM $table WHERE k = key($_)") ] } 5, $where, 4955;
	my $rows = query("$BY_TABLE SELECT count(*) FROM $table");
	ok(waits_for_page($scans[0][1]), "$point: a scan waits for the leaf");
	wake_once("fpbtree-$point") if $point !~ /split/;
	wake("fpbtree-$point") if $point =~ /split/;
	ok(finishes($flush_pid), "$point: the move goes on");
	ok(finishes($_->[1]), "$point: a scan comes to its end") foreach @scans, @lookups;
	is(rest($_->[0]), "$rows|$rows|5|5000", "$point: and has seen each row once") foreach @scans;
	is(rest($_->[0]), '1', "$point: a lookup has found its row") foreach @lookups;
	$_->[0]->quit foreach @scans, @lookups;
	$flush->quit;
	check($table, $point);
	is(query("SELECT queue_entries FROM fpbtree_stats('${table}_k')"), '0', "$point: all has moved");
}
# A scan that waits between two segments, forward and backward, while everything
# moves, and the queue goes, and rows come to a new one.
foreach my $order ('', ' DESC')
{
	my $table = $order ? 'between_desc' : 'between_asc';

	make_table($table, 64);
	my $rows = query("$BY_TABLE SELECT count(*) FROM $table");
	# (planned before: the planner looks for the greatest key, and has its own pins)
	my ($scan, $scan_pid) = start_session(['fpbtree-leaf-read'], 'EXECUTE q', 'SET plan_cache_mode = force_generic_plan',
		"PREPARE q AS SELECT count(*), count(DISTINCT i), md5(string_agg(i::text, ',')) FROM (SELECT i FROM $table WHERE k >= key(0) ORDER BY k$order) s",
		'EXECUTE q', 'BEGIN ISOLATION LEVEL REPEATABLE READ', 'SELECT 1');
	wait_at('fpbtree-leaf-read');
	detach('fpbtree-leaf-read');
	query("SELECT fpbtree_flush('${table}_k')");
	is(query("SELECT queue_pages FROM fpbtree_stats('${table}_k')"), '0', "between segments$order: the queue has gone");
	query("INSERT INTO $table SELECT i, key(i) FROM generate_series(7, 5000, 20) i");
	isnt(query("SELECT queue_pages FROM fpbtree_stats('${table}_k')"), '0', "between segments$order: there is another");
	wake_once('fpbtree-leaf-read');
	ok(finishes($scan_pid), "between segments$order: the scan comes to its end");
	is( rest($scan),
		query("$BY_TABLE SELECT count(*), count(DISTINCT i), md5(string_agg(i::text, ',')) FROM (SELECT i FROM $table WHERE i % 10 <> 7 ORDER BY k$order) s"),
		"between segments$order: it has seen each row of its snapshot once, in order");
	commit($scan);
	check($table, "between segments$order");
}

# A queue is turned on after another backend has cached that there is none; and a
# third one has a leaf locked, having yet to look whether there is one.
{
	query(q{
		CREATE TABLE cached (i int, k text COLLATE "C");
		INSERT INTO cached SELECT i, key(i) FROM generate_series(10, 1000, 10) i;
		CREATE INDEX cached_k ON cached USING fpbtree (k) WITH (operation_queue = on);
		VACUUM (ANALYZE) cached;});
	my $reader = session($node);
	is($reader->query_safe('SELECT count(*) FROM cached WHERE k = key(15)'), '0', 'a row that is not there');
	my ($looker, $looker_pid) = start_session(['fpbtree-scan-leaf-locked'], 'SELECT count(*) FROM cached WHERE k = key(15)');
	wait_at('fpbtree-scan-leaf-locked');
	detach('fpbtree-scan-leaf-locked');
	query('INSERT INTO cached VALUES (15, key(15))');
	is(query(q{SELECT queue_entries FROM fpbtree_stats('cached_k')}), '1', 'its entry is in a new queue');
	is($reader->query_safe('SELECT count(*) FROM cached WHERE k = key(15)'), '1', 'who has cached that there is none finds it');
	is($reader->query_safe("SELECT count(*) FROM cached WHERE k BETWEEN key(10) AND key(20)"), '3', 'in a range, too');
	wake_once('fpbtree-scan-leaf-locked');
	ok(finishes($looker_pid), 'who was about to look has looked');
	is(rest($looker), '0', 'and not seen a row that is newer than its snapshot');
	query(q{SELECT fpbtree_flush('cached_k')});
	is($reader->query_safe('SELECT count(*) FROM cached WHERE k = key(15)'), '1', 'nor does he miss it when the queue has gone');
	$reader->query_safe('INSERT INTO cached VALUES (25, key(25))');
	is(query('SELECT count(*) FROM cached WHERE k = key(25)'), '1', 'what he inserts then is found');
	$_->quit foreach ($reader, $looker);
	check('cached', 'a queue unknown');
}

# A backend has copies of the queue's inner pages, and of the main tree's. All pages
# of the queue are freed, and become leaves of the main tree, and those of a new queue
# lie elsewhere.
{
	make_table('reused');
	query('INSERT INTO reused SELECT i, key(i) FROM generate_series(3, 5000, 7) i WHERE i % 5 <> 0');
	my $stale = session($node, 'SET plan_cache_mode = force_generic_plan', 'SELECT count(*) FROM generate_series(1, 5000) g, reused WHERE k = key(g)');
	cmp_ok(query(q{SELECT count(*) FROM pages('reused_k') WHERE 'queue' = ANY (flags) AND level > 0}), '>', 1, 'the queue has inner pages');
	query(q{CREATE TABLE blocks AS SELECT block FROM pages('reused_k') WHERE 'queue' = ANY (flags)});
	query(q{SELECT fpbtree_flush('reused_k')});
	query(q{ALTER INDEX reused_k SET (operation_queue = off)});
	query('INSERT INTO reused SELECT i, key(i) FROM generate_series(5001, 12000) i');
	is(query(q{SELECT count(*) FROM pages('reused_k') JOIN blocks USING (block) WHERE kind = 'deleted' OR 'queue' = ANY (flags)}), '0',
		'all its pages are pages of the main tree');
	cmp_ok(query(q{SELECT count(*) FROM pages('reused_k') JOIN blocks USING (block) WHERE kind = 'leaf'}), '>', 10, 'most of them leaves');
	query(q{ALTER INDEX reused_k SET (operation_queue = on)});
	query('INSERT INTO reused SELECT i, key(i) FROM generate_series(1, 5000, 50) i');
	is( $stale->query_safe('SELECT count(*) FROM generate_series(1, 12000) g, reused WHERE k = key(g)'),
		query("$BY_TABLE SELECT count(*) FROM reused"), 'who has copies of the pages as they were finds every row');
	$stale->query_safe('INSERT INTO reused SELECT i, key(i) FROM generate_series(2, 5000, 50) i');
	is($stale->query_safe("SELECT fpbtree_flush('reused_k') > 0"), 't', 'and can do anything with the new queue');
	$stale->quit;
	check('reused', 'pages used again');
}

# A scan has a main leaf locked, and the queue's leaf pinned, but not locked. The
# queue's leaf is emptied, which needs no more than its lock, but it may not become
# another page.
{
	make_table('pinned');
	my ($scan, $scan_pid) = start_session(['fpbtree-queue-pinned'], 'SELECT count(*), count(DISTINCT i) FROM (SELECT i FROM pinned WHERE k >= key(4800) ORDER BY k) s');
	wait_at('fpbtree-queue-pinned');
	detach('fpbtree-queue-pinned');
	# (of the leaf that is locked nothing can be moved now)
	my ($flush, $flush_pid) = start_session([], q{SELECT fpbtree_flush('pinned_k') > 0});
	ok(waits_for_page($flush_pid), 'the flush waits for the leaf that the scan has locked');
	wake_once('fpbtree-queue-pinned');
	ok(finishes($scan_pid), 'the scan goes on');
	ok(finishes($flush_pid), 'and so does the flush');
	is(rest($scan), query("$BY_TABLE SELECT count(*), count(*) FROM pinned WHERE k >= key(4800)"), 'the scan has seen each row once');
	$_->quit foreach ($scan, $flush);
	check('pinned', 'with a leaf pinned');
}

# A scan does not take the metapage as it finds it when it pins it: on a standby,
# replay might just be restoring it in a buffer of zeros. What a scan does there,
# it does here while somebody who begins a queue has it locked.
{
	make_table('meta');
	query(q{SELECT fpbtree_flush('meta_k')});
	my $scan = session($node);
	my $count = 'SELECT count(*) FROM meta WHERE k >= key(4800)';
	my $rows = $scan->query_safe($count);
	my $pid = $scan->query_safe('SELECT pg_backend_pid()');
	my ($begin, $begin_pid) = start_session(['fpbtree-queue-begins'], 'INSERT INTO meta VALUES (4999, key(4999))');
	wait_at('fpbtree-queue-begins');
	start_statement($scan, $count);
	ok(waits_for_page($pid), 'a scan waits for the metapage that it pins');
	wake('fpbtree-queue-begins');
	ok(finishes($pid), 'and goes on when that is complete');
	ok(finishes($begin_pid), 'as does who has changed it');
	is(rest($scan), $rows, 'it sees what its snapshot has');
	$_->quit foreach ($scan, $begin);
	check('meta', 'with a queue that has just begun');
}

# A page of the queue that is in no buffer is read while the main leaf is not locked:
# somebody else may have begun to read it who waits for the leaf.
{
	make_table('evicted');
	query(q{ALTER INDEX evicted_k SET (operation_queue = off)});
	query(q{SELECT count(pg_buffercache_evict(bufferid)) FROM pg_buffercache WHERE relfilenode = pg_relation_filenode('evicted_k')});
	my ($scan, $scan_pid) = start_session(['fpbtree-queue-page-missing'],
		'SELECT count(*), count(DISTINCT i) FROM (SELECT i FROM evicted WHERE k >= key(2395) AND k <= key(2405) ORDER BY k) s');
	wait_at('fpbtree-queue-page-missing');
	my ($insert, $insert_pid) = start_session([], 'INSERT INTO evicted VALUES (2397, key(2397))');
	ok(finishes($insert_pid), 'the leaf is not locked while a page of the queue is read');
	wake('fpbtree-queue-page-missing');
	ok(finishes($scan_pid), 'the scan goes on');
	is(rest($scan), '2|2', 'and sees what its snapshot has');
	$_->quit foreach ($scan, $insert);
	check('evicted', 'a page that was missing');

	# so do moves
	my ($flush, $flush_pid) = start_session([ 'fpbtree-move-leaf-locked', 'fpbtree-queue-page-missing' ], q{SELECT fpbtree_flush('evicted_k') > 0});
	wait_at('fpbtree-move-leaf-locked');
	query(q{SELECT count(pg_buffercache_evict(bufferid)) FROM pg_buffercache WHERE relfilenode = pg_relation_filenode('evicted_k')});
	wake('fpbtree-move-leaf-locked');
	wait_at('fpbtree-queue-page-missing');
	($insert, $insert_pid) = start_session([], 'INSERT INTO evicted VALUES (7, key(7))');
	ok(finishes($insert_pid), 'the leaf is not locked while a page of the queue is read to move entries');
	wake('fpbtree-queue-page-missing');
	ok(finishes($flush_pid), 'the flush goes on');
	is(rest($flush), 't', 'and moves them');
	$_->quit foreach ($flush, $insert);
	is(query(q{SELECT queue_pages FROM fpbtree_stats('evicted_k')}), '0', 'all of them');
	check('evicted', 'after moves with pages missing');
}

# A backend is on its way to a leaf of the queue, whose root is of level 1 for all it
# knows. That root is taken away, for all but one leaf are; the leaf's page becomes the
# right half of an incomplete split of the one that is left, beside which there is
# nothing on level 1. The backend splits it in its turn.
{
	query(q{
		CREATE FUNCTION long_key(i int) RETURNS text LANGUAGE sql IMMUTABLE
			RETURN repeat('x', current_setting('block_size')::int * 29 / 100) || lpad(i::text, 6, '0');
		CREATE TABLE lowered (i int, k text COLLATE "C");
		ALTER TABLE lowered ALTER k SET STORAGE plain;
		INSERT INTO lowered SELECT i, long_key(i) FROM generate_series(10, 100, 10) i;
		CREATE INDEX lowered_k ON lowered USING fpbtree (k) WITH (operation_queue = on, opq_size = 100000);
		INSERT INTO lowered SELECT i, long_key(i) FROM generate_series(31, 34) i;});
	my ($leaf) = query(q{SELECT block FROM pages('lowered_k') WHERE level = 0 AND 'queue' = ANY (flags) AND low > 0});
	like($leaf, qr/^\d+$/, 'a queue of two leaves');
	my $cursor = session($node, 'BEGIN', 'DECLARE c CURSOR FOR SELECT k FROM lowered WHERE k >= long_key(31) ORDER BY k', 'FETCH c');
	my ($late, $late_pid) = start_session(['fpbtree-before-queue-leaf'], 'INSERT INTO lowered VALUES (46, long_key(46))');
	wait_at('fpbtree-before-queue-leaf');
	query(q{SELECT fpbtree_flush('lowered_k')});
	query('INSERT INTO lowered SELECT i, long_key(i) FROM generate_series(41, 43) i');
	fail_at('fpbtree-before-downlink', 'INSERT INTO lowered VALUES (44, long_key(44))');
	is(query("SELECT flags FROM fpbtree_page('lowered_k', $leaf)"), '{leaf,rightmost,queue}', 'a leaf of a queue');
	is(query(q{SELECT flags FROM pages('lowered_k') WHERE low = 0 AND 'queue' = ANY (flags) AND kind <> 'deleted'}),
		'{leaf,incomplete_split,leftmost,queue}', 'whose root has been split into it');
	wake('fpbtree-before-queue-leaf');
	ok(finishes($late_pid), 'who was on the way to the leaf goes on');
	is(rest($late), '', 'without an error');
	is(query("SELECT flags FROM fpbtree_page('lowered_k', $leaf)"), '{leaf,incomplete_split,queue}', 'has split it, and can do no more');
	$_->quit foreach ($late, $cursor);
	check('lowered', 'a root that is lower than was known');
	is(query(q{SELECT fpbtree_flush('lowered_k')}), '5', 'all goes its way after that');
	check('lowered', 'a flush');
}

# Index-only scans rely on their pins: what they have read in the queue is not taken
# away by VACUUM, nor is the leaf that it was in.
{
	make_table('alone');
	query('VACUUM (FREEZE) alone');
	query('DELETE FROM alone WHERE i BETWEEN 100 AND 200');
	my $cursor = session($node, 'BEGIN', 'DECLARE c CURSOR FOR SELECT k FROM alone WHERE k >= key(2400) ORDER BY k');
	is($cursor->query_safe('FETCH c') =~ s/x+$//r, '002400', 'a cursor that has read a leaf of either tree');
	query('DELETE FROM alone WHERE i > 2400');
	my ($vacuum, $vacuum_pid) = start_session([], 'VACUUM (INDEX_CLEANUP ON) alone');
	comes_true('VACUUM waits for it', "SELECT coalesce(wait_event_type LIKE 'Buffer%', false) FROM pg_stat_activity WHERE pid = $vacuum_pid");
	is($cursor->query_safe('FETCH c') =~ s/x+$//r, '002405', 'it sees what its snapshot has, of the queue');
	$cursor->query_safe('MOVE FORWARD ALL FROM c');
	$cursor->query_safe('COMMIT');
	ok(finishes($vacuum_pid), 'VACUUM comes to its end');
	$_->quit foreach ($cursor, $vacuum);
	check('alone', 'with a cursor');
}

# VACUUM is about to come to a leaf of the queue that is merged away; so it comes to one
# in the midst of which is the place where it is. While it waits for that, it is split
# before this place.
{
	make_table('passed');
	query('VACUUM (FREEZE) passed; DELETE FROM passed WHERE i % 500 = 5');
	my @cursor = session($node, 'BEGIN', 'DECLARE c CURSOR FOR SELECT k FROM passed WHERE k >= key(50) ORDER BY k', 'MOVE 6 FROM c');
	my ($vacuum, $vacuum_pid) = start_session(['fpbtree-before-right'], 'VACUUM (INDEX_CLEANUP ON) passed');
	my $waits = "SELECT coalesce(wait_event_type LIKE 'Buffer%', false) FROM pg_stat_activity WHERE pid = $vacuum_pid";
	comes_true('VACUUM is at the first leaf of the queue', $waits);
	$cursor[0]->query_safe('COMMIT');
	wait_at('fpbtree-before-right');
	query(q{SELECT fpbtree_flush('passed_k')});
	is(query(q{SELECT queue_pages FROM fpbtree_stats('passed_k')}), '0', 'the queue has gone');
	query('INSERT INTO passed SELECT i, key(i) FROM generate_series(101, 103) i');
	push @cursor, session($node, 'BEGIN', 'DECLARE c CURSOR FOR SELECT k FROM passed WHERE k >= key(101) ORDER BY k', 'FETCH c');
	wake('fpbtree-before-right');
	comes_true('VACUUM is at the only leaf of another one', $waits);
	query('INSERT INTO passed SELECT i, key(i) FROM generate_series(111, 139) i WHERE i % 10 <> 0');
	cmp_ok(query(q{SELECT queue_leaf_pages FROM fpbtree_stats('passed_k')}), '>', 1, 'which is split');
	$cursor[1]->query_safe('COMMIT');
	ok(finishes($vacuum_pid), 'VACUUM comes to its end');
	$_->quit foreach (@cursor, $vacuum);
	check('passed', 'a leaf that VACUUM had passed');
}

# An insertion has made room in the full queue; and then there is no queue any more, or
# not room enough for a longer entry, or it is given up. (What waits is for as many leaves
# as it has entries.)
{
	query(q{
		CREATE TABLE room (i int, k text COLLATE "C");
		ALTER TABLE room ALTER k SET STORAGE plain;
		INSERT INTO room SELECT i, key(i) FROM generate_series(10, 30000, 10) i;
		CREATE INDEX room_k ON room USING fpbtree (k) WITH (operation_queue = on, opq_size = 1, queue_tiers = 1);});
	my $next = 5;
	my $add = sub { $next += 300; query("INSERT INTO room VALUES ($next, key($next))"); };
	my $state = q{SELECT queue_entries, queue_moved FROM fpbtree_stats('room_k')};
	my $capacity = 0;
	++$capacity, $add->() while query(q{SELECT queue_stalls FROM fpbtree_stats('room_k')}) == 0 && $capacity < 50;
	foreach my $case ([ 'goes', '', 1, 1 ], [ 'is full', q{repeat('y', current_setting('block_size')::int / 19)}, $capacity - 2, 1 ], [ 'is of no use', '', $capacity - 2, 0 ])
	{
		my ($what, $more, $queued, $rows) = @$case;
		query(q{SELECT fpbtree_flush('room_k')});
		$add->() foreach 2 .. $capacity;
		my $moved = query(q{SELECT queue_moved FROM fpbtree_stats('room_k')});
		my $key = join(' || ', "key($next + 300)", $more || ());
		my ($insertion, $pid) = start_session(['fpbtree-room-made'], "INSERT INTO room VALUES ($next + 300, $key)");
		wait_at('fpbtree-room-made');
		is(query($state), join('|', $capacity - 2, $moved + 1), "queue that $what: there is room");
		query(q{SELECT fpbtree_flush('room_k')}) if $what eq 'goes';
		query("SELECT pg_cancel_backend($pid)") if $what eq 'is of no use';
		wake('fpbtree-room-made') if $what ne 'is of no use';
		ok(finishes($pid), "queue that $what: the insertion comes to its end");
		is(query(q{SELECT queue_entries FROM fpbtree_stats('room_k')}), $queued, "queue that $what: its entry is where it may be");
		is(query("SELECT count(*) FROM room WHERE k = $key"), $rows, "queue that $what: as is its row");
		check('room', "queue that $what");
		$insertion->quit;
		$next += 300;
	}
}

$node->stop;
is(complaints($node, 0, qr/damaged/), '', 'no complaint in the log');
done_testing();
