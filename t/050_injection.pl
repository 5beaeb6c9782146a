#
# Backends that are made to wait, fail or die at awkward places: with stale
# links to pages that are used again, and between the two records of a page
# split.
#
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/lib";
use InjectionPoints;
use LongKeys;
use Servers;
use Test::More;

my $node = start_server('injection', "enable_seqscan = off\n");
need_injection_points();
query('CREATE EXTENSION fpbtree');
create_long_keys();

# A table with a tree of three levels; returns an inner page in the middle of
# its level and the first of its leaves, of which rows fill the pages.
sub make_table
{
	my ($name) = @_;

	query(qq{
		CREATE TABLE $name (k text COLLATE "C");
		CREATE INDEX ${name}_k ON $name USING fpbtree (k);
		INSERT INTO $name SELECT key(i * 10) FROM generate_series(1, 1000) i;});
	my ($block, $low, $high) = split /\|/, query("SELECT block, low, high FROM pages('${name}_k') WHERE level = 1 ORDER BY low OFFSET 1 LIMIT 1");
	my $end = query("SELECT high FROM pages('${name}_k') WHERE level = 0 AND low = $low");
	return { block => $block, low => $low, high => $high, end => $end };
}

sub kind_of { my ($name, $block) = @_; return query("SELECT kind FROM fpbtree_page('${name}_k', $block)"); }

sub check
{
	my ($name, $what) = @_;
	is_sound("${name}_k", "$what: the index is sound");
	is( query("SELECT count(*) FROM $name WHERE k >= ''"),
		query("$BY_TABLE SELECT count(*) FROM $name"),
		"$what: no row is missing");
	is( query("SELECT k FROM $name ORDER BY k DESC LIMIT 1"),
		query("$BY_TABLE SELECT max(k) FROM $name"),
		"$what: nor is the last one");
	return;
}

# A backend has come to a leaf by an inner page.  Before it locks the leaf, the
# inner page is deleted and becomes a leaf itself, which somebody splits.  If
# the backend has to split its leaf and waited for what was its parent, the two
# could wait for each other.
{
	my $inner = make_table('a');

	query("DELETE FROM a WHERE k >= key($inner->{end}) AND k < key($inner->{high})");
	my ($stale, $stale_pid) = start_session(['fpbtree-before-leaf'], "INSERT INTO a VALUES (key($inner->{low} + 5))");
	wait_at('fpbtree-before-leaf');
	query('VACUUM a');
	is(kind_of('a', $inner->{block}), 'deleted', 'the inner page has been deleted');
	my $next = 10010;
	while (query("SELECT deleted_pages FROM fpbtree_stats('a_k')") > 0)
	{
		query("INSERT INTO a SELECT key($next + i * 10) FROM generate_series(1, 20) i");
		$next += 200;
	}
	is(kind_of('a', $inner->{block}), 'leaf', 'it has been used again as a leaf');
	my $low = query("SELECT low FROM pages('a_k') WHERE block = $inner->{block}");
	my ($other, $other_pid) = start_session(['fpbtree-before-downlink'], "INSERT INTO a VALUES (key($low + 5))");
	wait_at('fpbtree-before-downlink');

	wake('fpbtree-before-leaf');
	ok(finishes($stale_pid), 'a splitter does not wait for a page that was its parent and is a leaf');
	wake('fpbtree-before-downlink');
	ok(finishes($other_pid), 'the one who has that leaf goes on, too');
	$_->quit foreach ($stale, $other);
	check('a', 'with a stale link');
	is(query("SELECT count(*) FROM a WHERE k IN (key($inner->{low} + 5), key($low + 5))"), '2', 'both rows are in the index');
}

# The inner page has been found to be one, and is deleted just before its lock is
# taken.  Nobody may make a leaf of it before the backend that has it pinned has
# seen that.
{
	my $inner = make_table('b');

	# Free pages, so that the free space map is searched at all.
	my ($low, $high) = split /\|/, query(q{SELECT low, high FROM pages('b_k') WHERE level = 1 ORDER BY low OFFSET 3 LIMIT 1});
	query("DELETE FROM b WHERE k >= key($low + 300) AND k < key($high - 300)");
	query('VACUUM b');
	cmp_ok(query(q{SELECT deleted_pages FROM fpbtree_stats('b_k')}), '>=', 5, 'there are free pages');

	query("DELETE FROM b WHERE k >= key($inner->{end}) AND k < key($inner->{high})");
	my ($vacuum, $vacuum_pid) = start_session(['fpbtree-merge-inner'], 'VACUUM b');
	wait_at('fpbtree-merge-inner');
	my ($splitter, $splitter_pid) = start_session(['fpbtree-before-leaf'], "INSERT INTO b VALUES (key($inner->{low} + 5))");
	wait_at('fpbtree-before-leaf');
	# only the splitter comes by this one
	attach('fpbtree-inner-pinned', 'wait');
	wake('fpbtree-before-leaf');
	wait_at('fpbtree-inner-pinned');
	detach('fpbtree-inner-pinned');
	is(kind_of('b', $inner->{block}), 'inner', 'the splitter has its parent pinned');
	wake('fpbtree-merge-inner');
	$node->poll_query_until('postgres', "SELECT kind = 'deleted' FROM fpbtree_page('b_k', $inner->{block})")
	  or die 'the inner page has not been deleted';
	# (not all pages can be looked at now)
	my $size = query(q{SELECT pg_relation_size('b_k')});
	query('INSERT INTO b SELECT key(10010 + i * 10) FROM generate_series(1, 800) i');
	cmp_ok(query(q{SELECT pg_relation_size('b_k')}), '>', $size, 'no free page is left');
	is(kind_of('b', $inner->{block}), 'deleted', 'but the pinned one has not been used again');
	wake_once('fpbtree-inner-pinned');
	ok(finishes($splitter_pid), 'the splitter finds another parent');
	ok(finishes($vacuum_pid), 'VACUUM comes to its end');
	$_->quit foreach ($splitter, $vacuum);
	check('b', 'with a parent deleted while it was pinned');
	# VACUUM finds the page that was passed over
	query('DELETE FROM b WHERE k >= key(12000)');
	query('VACUUM b');
	query('INSERT INTO b SELECT key(12000 + i * 10) FROM generate_series(1, 1000) i');
	isnt(kind_of('b', $inner->{block}), 'deleted', 'in the end it is used again');
	check('b', 'in the end');
}

# VACUUM has found an empty leaf, its left sibling and their parent, and is about to
# lock them, when a row comes into the leaf; when the sibling is split; when somebody
# has the parent locked, for whom it must not wait with locks on leaves.
foreach my $case ('row', 'split', 'lock')
{
	my $table = "merge_$case";
	my $inner = make_table($table);
	my ($leaf, $end) = split /\|/, query("SELECT block, high FROM pages('${table}_k') WHERE level = 0 AND low = $inner->{end}");

	query("DELETE FROM $table WHERE k >= key($inner->{end}) AND k < key($end)");
	my ($vacuum, $vacuum_pid) = start_session(['fpbtree-merge-found'], "VACUUM (INDEX_CLEANUP ON) $table");
	wait_at('fpbtree-merge-found');
	if ($case eq 'lock')
	{
		# a reader who has a copy of the parent
		my $reader = session($node);
		my $lookup = "SELECT count(*) FROM $table WHERE k = key($inner->{low} + 1)";
		is($reader->query_safe($lookup), '0', 'a lookup in the left sibling');
		my ($splitter, $splitter_pid) = start_session(['fpbtree-before-inner-downlink'],
			"DO \$\$ BEGIN FOR i IN 1..500 LOOP INSERT INTO $table VALUES (key($inner->{high} - i)); COMMIT; END LOOP; END \$\$");
		wait_at('fpbtree-before-inner-downlink');
		wake('fpbtree-merge-found');
		# sooner or later it comes to a page that the splitter has locked
		$node->poll_query_until('postgres', "SELECT wait_event_type = 'LWLock' FROM pg_stat_activity WHERE pid = $vacuum_pid")
		  or die 'VACUUM does not come to the pages that are locked';
		is($reader->query_safe($lookup), '0', 'the same while VACUUM waits');
		wake('fpbtree-before-inner-downlink');
		ok(finishes($splitter_pid), 'the splitter goes on');
		$_->quit foreach ($reader, $splitter);
	}
	else
	{
		query("INSERT INTO $table VALUES (key($inner->{end} + 5))") if $case eq 'row';
		query("INSERT INTO $table SELECT key($inner->{low} + i) FROM generate_series(5, $inner->{end} - $inner->{low} - 1, 10) i") if $case eq 'split';
		wake('fpbtree-merge-found');
	}
	ok(finishes($vacuum_pid), "$case: VACUUM comes to its end");
	$vacuum->quit;
	is(kind_of($table, $leaf), 'leaf', "$case: the leaf stays");
	check($table, $case);
	next if $case ne 'row';
	query("DELETE FROM $table WHERE k >= key($inner->{end}) AND k < key($end)");
	query("VACUUM $table");
	is(kind_of($table, $leaf), 'deleted', "$case: until the next VACUUM");
}

# While VACUUM waits for a scan in the middle of the file, leaves at its end, with
# dead entries, are split, and their halves go to blocks where VACUUM has been.
# Some were free before, others it has just emptied; of the latter, those that
# were the first of their parents are deleted together with these, by and by.
{
	query(q{
		CREATE TABLE v (k text COLLATE "C");
		CREATE INDEX v_k ON v USING fpbtree (k);
		INSERT INTO v SELECT key(i * 10) FROM generate_series(1, 1000) i;
		DELETE FROM v WHERE k < key(2000);});
	query('VACUUM v');
	query('DELETE FROM v WHERE k BETWEEN key(2000) AND key(7000) OR k > key(9000)');
	my $scan = session($node, $BY_INDEX, 'BEGIN', 'DECLARE c CURSOR FOR SELECT k FROM v WHERE k >= key(8000) ORDER BY k', 'FETCH c');
	my ($vacuum, $vacuum_pid) = start_session([], 'VACUUM v');
	wait_at('BufferPin');
	my $size = query(q{SELECT pg_relation_size('v_k')});
	query('INSERT INTO v SELECT key(9001 + (i * 367) % 997) FROM generate_series(1, 996) i');
	cmp_ok(query(q{SELECT pg_relation_size('v_k')}), '>', $size, 'halves of leaves have gone to all free pages');
	$scan->query_safe('COMMIT');
	ok(finishes($vacuum_pid), 'VACUUM comes to its end');
	$_->quit foreach ($scan, $vacuum);
	check('v', 'with leaves split behind VACUUM');
	is(query(q{SELECT entries FROM fpbtree_stats('v_k')}), query('SELECT count(*) FROM v'), 'no dead entry is left');
}

# VACUUM is about to take an inner page out of the tree, and then its only leaf, if
# that is empty, which it was not when VACUUM came by.  An index-only scan has read
# the leaf: the entry of a dead row.  An insertion removes what is dead in the leaf,
# which is all, and fails.  The scan must not return the row when the next VACUUM has
# freed its line pointer, which has to wait for the scan, and does so on leaves only.
{
	my $inner = make_table('n');
	my ($low, $high) = ($inner->{low}, $inner->{high});

	query("CREATE TABLE n_found (n int); DELETE FROM n WHERE k > key($low) AND k < key($high)");
	my ($first, $first_pid) = start_session(['fpbtree-merge-inner'], 'VACUUM n');
	wait_at('fpbtree-merge-inner');
	is(query("SELECT count(*) FROM pages('n_k') WHERE kind = 'leaf' AND low >= $low AND high <= $high"), '1', 'an inner page has one leaf left');
	query("DELETE FROM n WHERE k = key($low)");
	my ($scan, $scan_pid) = start_session(['fpbtree-leaf-read'],
		"SET enable_bitmapscan = off; INSERT INTO n_found SELECT count(*) FROM n WHERE k >= key($low) AND k < key($high)");
	wait_at('fpbtree-leaf-read');
	my $error = fail_at('fpbtree-pruned', qq{
		SET enable_bitmapscan = off;
		DO \$\$
		BEGIN
			FOR i IN 1 .. 100 LOOP
				-- rows get hints that they are dead when that is on disk
				PERFORM pg_logical_emit_message(false, '', '', true);
				PERFORM count(*) FROM n WHERE k >= key($low) AND k < key($high);
				BEGIN
					INSERT INTO n VALUES (key($low + i));
					RAISE division_by_zero;
				EXCEPTION WHEN division_by_zero THEN
				END;
			END LOOP;
		END \$\$});
	like($error, qr/injection point fpbtree-pruned/, 'an insertion has failed after entries had been removed');
	is(query("SELECT entries FROM pages('n_k') p, fpbtree_page('n_k', p.block) WHERE p.kind = 'leaf' AND p.low = $low"), '1', 'one has been left, though all are dead');
	wake('fpbtree-merge-inner');
	ok(finishes($first_pid), 'VACUUM comes to its end');

	my ($second, $second_pid) = start_session([], 'VACUUM (INDEX_CLEANUP ON) n');
	$node->poll_query_until('postgres', "SELECT wait_event IS NOT DISTINCT FROM 'BufferPin' OR state = 'idle' FROM pg_stat_activity WHERE pid = $second_pid");
	wake('fpbtree-leaf-read');
	ok(finishes($scan_pid), 'the scan comes to its end');
	is(query('SELECT n FROM n_found'), '0', 'it has not found the dead row');
	ok(finishes($second_pid), 'the next VACUUM comes to its end');
	$_->quit foreach ($first, $scan, $second);
	check('n', 'with a leaf pruned under a scan');
}

# A backend has copies of inner pages, and they stay as they are while others
# change the tree, until VACUUM comes to its end: that waits for a scan.  Returns the
# sessions, the leaf that has been deleted, and what its range was.
sub make_stale
{
	my ($name, $nsessions) = @_;

	query(qq{
		CREATE TABLE $name (k text COLLATE "C");
		CREATE INDEX ${name}_k ON $name USING fpbtree (k);
		INSERT INTO $name SELECT key(i * 10) FROM generate_series(1, 2000) i;});
	# neither the first leaf of its parent, nor the last
	my ($block, $low, $high) = split /\|/, query(qq{
		SELECT l.block, l.low, l.high
		FROM pages('${name}_k') p, pages('${name}_k') l
		WHERE p.level = 1 AND p.low < 15000 AND p.high > 15000 AND l.level = 0 AND l.low > p.low AND l.high < p.high
		ORDER BY l.low OFFSET 2 LIMIT 1});
	my @sessions = map { session($node) } 1 .. $nsessions;
	is($_->query_safe("SELECT count(*) FROM $name WHERE k > key($low) AND k < key($low + 11)"), '1', 'a row is found') foreach @sessions;
	query("DELETE FROM $name WHERE k >= key($low) AND k < key($high)");
	my $scan = session($node, $BY_INDEX, 'BEGIN', "DECLARE c CURSOR FOR SELECT k FROM $name WHERE k >= key(18000) ORDER BY k", 'FETCH c');
	my ($vacuum, $vacuum_pid) = start_session([], "VACUUM (INDEX_CLEANUP ON) $name");
	wait_at('BufferPin');
	is(kind_of($name, $block), 'deleted', 'the leaf has been deleted');
	my $end = sub {
		$scan->query_safe('COMMIT');
		ok(finishes($vacuum_pid), 'VACUUM comes to its end');
		$_->quit foreach ($scan, $vacuum, @sessions);
	};
	return (\@sessions, { block => $block, low => $low, high => $high }, $end);
}

# The leaf is used again far to the left of where it was.  Whoever is led there
# does not step from leaf to leaf all the way back.
{
	my ($sessions, $leaf, $end) = make_stale('f', 2);
	my $explain = 'EXPLAIN (ANALYZE, BUFFERS, COSTS OFF, TIMING OFF, SUMMARY OFF)';

	query('INSERT INTO f SELECT key(i) FROM generate_series(1, 9) i');
	query('INSERT INTO f SELECT key(10 + i) FROM generate_series(1, 9) i');
	my $low = query("SELECT low FROM pages('f_k') WHERE block = $leaf->{block} AND kind = 'leaf'");
	cmp_ok($low, '<', 200, 'it has been used again');
	my $steps = query("SELECT count(*) FROM pages('f_k') WHERE level = 0 AND low > $low AND low < $leaf->{low}");
	cmp_ok($steps, '>', 80, 'its place is far from where it was');
	foreach my $case ([ 'a lookup', $sessions->[0], "SELECT FROM f WHERE k = key($leaf->{low} + 1)" ],
		[ 'an insertion', $sessions->[1], "INSERT INTO f VALUES (key($leaf->{low} + 1))" ])
	{
		my ($what, $session, $sql) = @$case;
		my ($hit) = $session->query_safe("$explain $sql") =~ /Buffers: shared hit=(\d+)/;

		cmp_ok($hit, '<', 50, "$what steps to the right a few times only");
		cmp_ok($hit, '>', 16, '(but it was led astray)');
		($hit) = $session->query_safe("$explain $sql") =~ /Buffers: shared hit=(\d+)/;
		cmp_ok($hit, '<', 16, '(and the next is not)');
	}
	$end->();
	check('f', 'with a leaf used again far to the left');
}

# The leaf is used again as the right half of a split that is broken off.  A
# backend that is led there by its copy, past the left half, may split it, though it
# has no downlink.
{
	my ($sessions, $leaf, $end) = make_stale('h', 1);
	my $incomplete = q{SELECT count(*) FROM pages('h_k') WHERE flags @> '{incomplete_split}'};
	my $error = fail_at('fpbtree-before-downlink', qq{
		DO \$\$ BEGIN FOR i IN 1..20 LOOP INSERT INTO h VALUES (key($leaf->{low} + i)); COMMIT; END LOOP; END \$\$});

	like($error, qr/error triggered for injection point/, 'a split is broken off');
	my ($low, $high) = split /\|/, query("SELECT low, high FROM pages('h_k') WHERE block = $leaf->{block} AND level = 0");
	is($high, $leaf->{high}, 'the leaf has been used again as the right half');
	is(query($incomplete), '1', 'which has no downlink');
	$sessions->[0]->query_safe("INSERT INTO h SELECT key($high - i) FROM generate_series(1, 40) i");
	is(query($incomplete), '0', 'in the end all pages have theirs');
	cmp_ok(query("SELECT count(*) FROM pages('h_k') WHERE level = 0 AND low >= $low AND low < $high"), '>', 1, 'the leaf has been split');
	$end->();
	check('h', 'with a leaf used again as a right half');
}

# The pages that a VACUUM has freed before it is cancelled are found.
{
	query(q{
		CREATE TABLE c (k text COLLATE "C");
		CREATE INDEX c_k ON c USING fpbtree (k);
		INSERT INTO c SELECT key(i * 10) FROM generate_series(1, 1000) i;
		DELETE FROM c WHERE k < key(5000);});
	my $scan = session($node, $BY_INDEX, 'BEGIN', 'DECLARE c CURSOR FOR SELECT k FROM c WHERE k >= key(8000) ORDER BY k', 'FETCH c');
	my ($vacuum, $vacuum_pid) = start_session([], 'VACUUM c');
	wait_at('BufferPin');
	query("SELECT pg_cancel_backend($vacuum_pid)");
	ok(finishes($vacuum_pid), 'VACUUM is cancelled');
	$scan->query_safe('COMMIT');
	$_->quit foreach ($scan, $vacuum);
	my $size = query(q{SELECT pg_relation_size('c_k')});
	my $free = query(q{SELECT deleted_pages FROM fpbtree_stats('c_k')});
	cmp_ok($free, '>=', 10, 'it has freed pages');
	query("INSERT INTO c SELECT key(10010 + i * 10) FROM generate_series(1, $free * 8) i");
	is(query(q{SELECT pg_relation_size('c_k')}), $size, 'they are used before the index is extended');
	check('c', 'after a cancelled VACUUM');
}

# So are those that the free space map, which is not logged, has lost: by the next
# VACUUM that looks at the index.
{
	my $file = query(q{SELECT pg_relation_filepath('c_k')});

	query('DELETE FROM c WHERE k > key(10000)');
	query('VACUUM c');
	$node->stop;
	unlink($node->data_dir . "/${file}_fsm") or die "there is no free space map: $!";
	$node->start;
	query('DELETE FROM c WHERE k = key(10000)');
	query('VACUUM (INDEX_CLEANUP ON) c');
	my $size = query(q{SELECT pg_relation_size('c_k')});
	my $free = query(q{SELECT deleted_pages FROM fpbtree_stats('c_k')});
	cmp_ok($free, '>=', 10, 'there are free pages');
	query("INSERT INTO c SELECT key(10010 + i * 10) FROM generate_series(1, $free * 8) i");
	is(query(q{SELECT pg_relation_size('c_k')}), $size, 'pages lost by the free space map are used again');
	check('c', 'after a lost free space map');
}

# A session that knows the tree as one of a single leaf learns where the root is
# now, and goes by it from then on.
{
	query(q{
		CREATE TABLE s (k text COLLATE "C");
		CREATE INDEX s_k ON s USING fpbtree (k);
		INSERT INTO s VALUES (key(0));});
	my $session = session($node);
	is($session->query_safe('SELECT count(*) FROM s WHERE k = key(0)'), '1', 'a row is found');
	query('INSERT INTO s SELECT key(i * 10) FROM generate_series(1, 1000) i');
	foreach my $i (5000, 2000, 8000)
	{
		my ($hit) = $session->query_safe("EXPLAIN (ANALYZE, BUFFERS, COSTS OFF, TIMING OFF, SUMMARY OFF) SELECT FROM s WHERE k = key($i)") =~
		  /Buffers: shared hit=(\d+)/;
		cmp_ok($hit, '<', 16, 'it is found from the root, not from leaf to leaf');
	}
	$session->quit;
}

# A unique index, in which the versions of a row, all of which somebody can see,
# fill several leaves.  Whoever puts in the next looks at all of them first, and so
# comes by the left half of a split that has been broken off.
{
	my $incomplete = q{SELECT count(*) FROM pages('u_k') WHERE flags @> '{incomplete_split}'};
	query(q{
		CREATE TABLE u (k text COLLATE "C", n int, pad text DEFAULT repeat('p', current_setting('block_size')::int / 19));
		CREATE UNIQUE INDEX u_k ON u USING fpbtree (k) INCLUDE (n, pad);
		INSERT INTO u VALUES (key(1), 0);});
	my $old = session($node, 'BEGIN ISOLATION LEVEL REPEATABLE READ', 'SELECT FROM u');
	my $update = 'DO $$ BEGIN FOR i IN 1..%d LOOP UPDATE u SET n = n + 1; COMMIT; END LOOP; END $$';
	query(sprintf $update, 60);
	my $error = fail_at('fpbtree-before-downlink', sprintf $update, 60);
	like($error, qr/error triggered for injection point/, 'a split is broken off');
	is(query($incomplete), '1', 'a page is without its downlink');
	cmp_ok(query(q{SELECT count(*) FROM pages('u_k') WHERE level = 0}), '>', 3, 'it is not the first with the key');
	query(sprintf $update, 60);
	is(query($incomplete), '0', 'in the end all pages have theirs');
	commit($old);
	check('u', 'with a unique index');
}

# The leaf that has been locked for the uniqueness check stays so until the row is in:
# its inserter comes by the way to the leaf once, and nobody gets in between.
{
	query(q{
		CREATE TABLE w (k text COLLATE "C");
		CREATE UNIQUE INDEX w_k ON w USING fpbtree (k);
		INSERT INTO w SELECT key(i * 10) FROM generate_series(1, 100) i;});
	my ($session, $pid) = start_session(['fpbtree-before-leaf'], 'INSERT INTO w VALUES (key(505))');
	wait_at('fpbtree-before-leaf');
	wake_once('fpbtree-before-leaf');
	ok(finishes($pid), 'a leaf is come to once for check and insertion');
	my $error = messages('INSERT INTO w VALUES (key(505))');
	like($error, qr/duplicate key value/, 'the key is there for others');
	$session->quit;
	check('w', 'after that');
}

# VACUUM has found an empty leaf and its neighbours, and before it has locked them
# their parent's beginning becomes a page of its own: the leaf stays, until another VACUUM.
{
	my $inner = make_table('changed');
	my ($block, $low, $high) = split /\|/, query("SELECT block, low, high FROM pages('changed_k') WHERE level = 0 AND high < $inner->{high} ORDER BY low DESC LIMIT 1");

	query("DELETE FROM changed WHERE k >= key($low) AND k < key($high)");
	my ($vacuum, $vacuum_pid) = start_session(['fpbtree-merge-found'], 'VACUUM changed');
	wait_at('fpbtree-merge-found');
	query("INSERT INTO changed SELECT key($inner->{low} + i) FROM generate_series(1, 120) i WHERE i % 10 <> 0");
	wake('fpbtree-merge-found');
	ok(finishes($vacuum_pid), 'VACUUM gives up a leaf whose parent has been split');
	$vacuum->quit;
	is(kind_of('changed', $block), 'leaf', 'it stays');
	check('changed', 'with a leaf that has stayed');
	query('DELETE FROM changed WHERE k = key(10)');    # without dead rows it does not look at the index
	query('VACUUM changed');
	is(kind_of('changed', $block), 'deleted', 'the next VACUUM deletes it');
	check('changed', 'with that leaf deleted');
}

# Splits that are broken off between their two records, by an error and by a
# crash.  The right page is there without its downlink, and gets it from whoever
# next comes by the left one to change something: there or to the right of it, on
# this level or one below.  So it does from VACUUM.
foreach my $case (
	# where, rows that are there, the point, the first row added, and by how much the next are greater
	[ 'root', 'the root, a leaf', 0, 'fpbtree-before-downlink', 10, 10 ],
	[ 'leaf', 'a leaf', 1000, 'fpbtree-before-downlink', 5005, 1 ],
	[ 'inner', 'an inner page', 1000, 'fpbtree-before-inner-downlink', 3005, 10 ],
	[ 'innerroot', 'the root, an inner page', 0, 'fpbtree-before-inner-downlink', 10, 10 ])
{
	my ($name, $what, $rows, $point, $first, $step) = @$case;
	my $incomplete = "SELECT string_agg(block::text, ' ') FROM pages('%s_k') WHERE flags @> '{incomplete_split}'";

	foreach my $variant (map { my $how = $_; map { [ $how, $_ ] } ('left', 'right', 'vacuum') } ('error', 'crash'))
	{
		my ($how, $who) = @$variant;
		my $table = "${name}_${how}_$who";
		my $add = "DO \$\$ BEGIN FOR i IN 0..2000 LOOP INSERT INTO $table VALUES (key($first + i * $step)); COMMIT; END LOOP; END \$\$";

		query(qq{
			CREATE TABLE $table (k text COLLATE "C");
			CREATE INDEX ${table}_k ON $table USING fpbtree (k);
			INSERT INTO $table SELECT key(i * 10) FROM generate_series(1, $rows) i;});
		if ($how eq 'error')
		{
			like(fail_at($point, $add), qr/error triggered for injection point $point/, "$what: the split is broken off");
		}
		else
		{
			my ($session, $pid) = start_session([$point], $add);

			wait_at($point);
			# what it has written so far must be in the WAL that is left
			query('SELECT pg_logical_emit_message(true, \'\', \'\')');
			crash();
			$session->{run}->finish;
		}
		my $left = query(sprintf $incomplete, $table);
		like($left, qr/^\d+$/, "$what, $how: a page is without its downlink");
		check($table, "$what, $how");

		my ($high, $level) = split /\|/, query("SELECT high, level FROM pages('${table}_k') WHERE block = $left");
		my $pages = "SELECT count(*) FROM pages('${table}_k') WHERE level = $level AND low >= $high AND low < $high + 1000";
		my $before = query($pages);
		if ($who eq 'left')
		{
			# the first row on an inner page that needs a downlink there; the session has read the page before
			query("SELECT count(*) FROM $table WHERE k = key($high - 5); INSERT INTO $table SELECT key($high - 5 - i) FROM generate_series(0, 20 + 10 * $level) i");
		}
		elsif ($who eq 'right')
		{
			# so many that the right page is split itself, again and again
			query("INSERT INTO $table SELECT key($high + i) FROM generate_series(0, 999) i");
			cmp_ok(query($pages), '>', $before + 1, "$what, $how: the right page is split");
		}
		else
		{
			# the right page has no entry, or pages below that have none
			query("DELETE FROM $table WHERE k >= key($high) AND k < key(" . ($high + 2000) . ')');
			query("VACUUM $table");
		}
		is(query(sprintf $incomplete, $table), '', "$what, $how, $who: the split is finished");
		check($table, "$what, $how, $who, finished");
		query("INSERT INTO $table SELECT key(i * 10 + 1) FROM generate_series(1, 1000) i");
		query("DELETE FROM $table WHERE k >= key(300)");
		query("VACUUM $table");
		check($table, "$what, $how, $who, in the end");
	}
}

# An inserter comes by an inner page whose split has been broken off.  Before it has
# locked the page to finish that, somebody else has.
{
	my $incomplete = q{SELECT string_agg(block::text, ' ') FROM pages('met_k') WHERE flags @> '{incomplete_split}'};

	make_table('met');
	like(fail_at('fpbtree-before-inner-downlink', 'INSERT INTO met SELECT key(3005 + i * 10) FROM generate_series(0, 600) i'),
		qr/error triggered for injection point/, 'a split is broken off');
	my $left = query($incomplete);
	like($left, qr/^\d+$/, 'a page is without its downlink');
	my $high = query("SELECT high FROM pages('met_k') WHERE block = $left");
	my ($session, $pid) = start_session(['fpbtree-split-met'], "INSERT INTO met VALUES (key($high - 5))");
	wait_at('fpbtree-split-met');
	query("INSERT INTO met VALUES (key($high - 6))");
	is(query($incomplete), '', 'somebody else has given it one');
	wake('fpbtree-split-met');
	ok(finishes($pid), 'the inserter goes on');
	$session->quit;
	check('met', 'with a split finished once');
}

# An inserter comes to a leaf of equal keys.  Before it locks that, the leaf is split just
# where its entry belongs: it is the first of the right page, equal to the fence.
{
	my $row = q{'x', repeat('x', current_setting('block_size')::int / 20)};

	query(qq{
		CREATE TABLE trial (id int, k text COLLATE "C", v text STORAGE PLAIN);
		CREATE TABLE begins (LIKE trial INCLUDING ALL);
		CREATE INDEX trial_k ON trial USING fpbtree (k) INCLUDE (v) WITH (fillfactor = 100);
		CREATE INDEX begins_k ON begins USING fpbtree (k) INCLUDE (v) WITH (fillfactor = 100);
		CREATE TABLE splits (id int);
		DO \$\$
		DECLARE
			leaves bigint := 1;
		BEGIN
			FOR i IN 1 .. 200 LOOP
				INSERT INTO trial VALUES (i, $row);
				IF (fpbtree_stats('trial_k')).leaf_pages > leaves THEN
					leaves := leaves + 1;
					INSERT INTO splits VALUES (i);
				END IF;
			END LOOP;
		END \$\$;});
	# a row before which there is one on its page, and which splits a leaf
	my ($id, $tid) = split /\|/, query(q{
		SELECT a.id, a.ctid FROM splits s JOIN trial a ON a.id = s.id JOIN trial b ON b.id = a.id - 1
		WHERE a.id > 50 AND (a.ctid::text::point)[0] = (b.ctid::text::point)[0] LIMIT 1});
	query("INSERT INTO begins SELECT i, $row FROM generate_series(1, $id - 1) i");
	my ($session, $pid) = start_session(['fpbtree-before-leaf'], "INSERT INTO begins VALUES ($id, $row)");
	wait_at('fpbtree-before-leaf');
	query("INSERT INTO begins VALUES ($id + 1, $row)");
	like(query(q{SELECT low_fence FROM pages('begins_k') p, fpbtree_page('begins_k', p.block) WHERE p.flags @> '{leaf,rightmost}'}),
		qr/\Q$tid\E$/, 'the last leaf begins with the row to be inserted');
	wake('fpbtree-before-leaf');
	ok(finishes($pid), 'it is');
	$session->quit;
	check('begins', 'with a row equal to a fence');
}

# Scans come to a leaf that leaves its high fence to its right sibling.  Before they
# have locked that, it is split, again and again, and its rows go.
{
	query(q{
		CREATE FUNCTION long(i int) RETURNS text LANGUAGE sql IMMUTABLE
			RETURN repeat('x', current_setting('block_size')::int / 3 - 60) || lpad(i::text, 6, '0');
		CREATE TABLE e (k text STORAGE EXTERNAL COLLATE "C");
		INSERT INTO e SELECT long(i * 1000) FROM generate_series(1, 60) i;
		CREATE INDEX e_k ON e USING fpbtree (k);});
	my ($block, $low, $right) = split /\|/, query(q{
		SELECT block, low, right_block FROM pages('e_k') p, fpbtree_page('e_k', block) q
		WHERE p.level = 0 AND 'high_elided' = ANY (p.flags) AND low > 0 ORDER BY low OFFSET 8 LIMIT 1});
	my $begin = query("SELECT low FROM pages('e_k') WHERE block = $right");
	my $leaves = q{SELECT leaf_pages FROM fpbtree_stats('e_k')};
	my $n = 0;

	foreach my $scan ("k >= long($low) ORDER BY k", "k < long($begin) ORDER BY k DESC")
	{
		my $result = 'scan_' . ++$n;
		my $query = "SELECT count(*), md5(string_agg(k, '')) AS keys FROM (SELECT k FROM e WHERE $scan OFFSET 0) s";
		my $wanted = query("$BY_TABLE $query");
		my $before = query($leaves);
		my ($reader, $pid) = start_session(['fpbtree-leaf-elided'], "CREATE TABLE $result AS $query");

		wait_at('fpbtree-leaf-elided');
		query("INSERT INTO e SELECT long($begin + i * 7 + $n) FROM generate_series(1, 40) i");
		query("DELETE FROM e WHERE k > long($begin) AND k < long($begin + 200)");
		# (its page can't be looked at for as long as it is locked exclusively, which it is not)
		cmp_ok(query($leaves), '>', $before + 10, 'the right sibling has been split');
		wake('fpbtree-leaf-elided');
		ok(finishes($pid), 'the scan goes on');
		is(query("TABLE $result"), $wanted, "its rows are those of its snapshot: $scan");
		$reader->quit;
		query('VACUUM e');
		check('e', 'with a right sibling split');
	}
	is(query("SELECT low FROM pages('e_k') WHERE block = $right"), $begin, 'the right sibling begins where it did');
}

# VACUUM comes by such a leaf whose split has been broken off.
{
	my $incomplete = q{SELECT count(*) FROM pages('e_k') WHERE flags @> '{incomplete_split,high_elided}'};
	my $n = 0;

	while ($n++ < 40 && query($incomplete) == 0)
	{
		fail_at('fpbtree-before-downlink', "INSERT INTO e VALUES (long($n * 1000 + 500))");
	}
	is(query($incomplete), '1', 'a leaf without a high fence has a right sibling without a downlink');
	check('e', 'with a split broken off');
	query('VACUUM (INDEX_CLEANUP ON) e');
	is(query(q{SELECT count(*) FROM pages('e_k') WHERE flags @> '{incomplete_split}'}), '0', 'it gets one from VACUUM');
	check('e', 'with a split finished');
}

# fpbtree_check waits for the right sibling of a leaf that has left its high fence to
# it, with the leaf unlocked, and VACUUM takes that out of the tree meanwhile.
{
	query(q{
		CREATE TABLE gone (k text STORAGE PLAIN COLLATE "C");
		INSERT INTO gone SELECT long(i * 1000) FROM generate_series(1, 60) i;
		-- true, but a row may have to be waited for
		CREATE FUNCTION held(k text) RETURNS bool IMMUTABLE LANGUAGE plpgsql AS $$
			BEGIN
				IF k = current_setting('test.held', true) THEN
					PERFORM pg_advisory_xact_lock(1);
				END IF;
				RETURN true;
			END $$;
		CREATE INDEX gone_k ON gone USING fpbtree (k) WHERE held(k);});
	# a leaf with its left sibling under the same parent
	my ($block, $low, $right) = split /\|/, query(q{
		SELECT block, low, right_block FROM pages('gone_k') p, fpbtree_page('gone_k', block) q
		WHERE p.level = 0 AND 'high_elided' = ANY (p.flags) AND low > 10000 AND low NOT IN (SELECT low FROM pages('gone_k') WHERE level > 0)
		ORDER BY low LIMIT 1});
	my $begin = query("SELECT low FROM pages('gone_k') WHERE block = $right");
	my $holder = session($node, 'SELECT pg_advisory_lock(1)');

	query("DELETE FROM gone WHERE k >= long($low) AND k < long($begin)");
	my ($checker, $checker_pid) = start_session(['fpbtree-check-busy'], "SELECT set_config('test.held', long(1000), false) <> ''; CREATE TABLE faults AS SELECT * FROM fpbtree_damage('gone_k', true)");
	wait_at('advisory');
	my ($vacuum, $vacuum_pid) = start_session(['fpbtree-merge-found'], 'VACUUM (INDEX_CLEANUP ON) gone');
	wait_at('fpbtree-merge-found');
	my ($splitter, $splitter_pid) = start_session(['fpbtree-before-downlink'], "INSERT INTO gone SELECT long($begin + i) FROM generate_series(1, 3) i");
	wait_at('fpbtree-before-downlink');
	$holder->quit;
	wait_at('fpbtree-check-busy');
	wake('fpbtree-merge-found');
	comes_true('the leaf has gone', "SELECT kind = 'deleted' FROM fpbtree_page('gone_k', $block)");
	wake('fpbtree-check-busy');
	wake('fpbtree-before-downlink');
	ok(finishes($_), 'all come to their end') foreach $splitter_pid, $checker_pid, $vacuum_pid;
	is(query('TABLE faults'), '', 'nothing is taken for damaged');
	$_->quit foreach $splitter, $checker, $vacuum;
	check('gone', 'with a leaf gone');
}

# The same with a leaf that the check has found by a descent, because the link that
# it had has become stale: it is to descend again.
{
	my $leaf_at = q{SELECT block, low, right_block, entries FROM pages('gone2_k') p, fpbtree_page('gone2_k', block) q WHERE p.level = 0 AND p.kind <> 'deleted'};
	my $aborted = 'BEGIN; INSERT INTO gone2 SELECT quarter(%d + 1); ROLLBACK';
	my $event_of = q{SELECT coalesce(wait_event, '') FROM pg_stat_activity WHERE pid = %d};

	# leaves one after the other, of one parent also when the first has been split
	query(q{
		CREATE FUNCTION quarter(i int) RETURNS text LANGUAGE sql IMMUTABLE
			RETURN repeat('x', current_setting('block_size')::int / 4 + 20) || lpad(i::text, 6, '0');
		CREATE TABLE gone2 (k text STORAGE PLAIN COLLATE "C");
		INSERT INTO gone2 SELECT quarter(i * 1000) FROM generate_series(1, 60) i ORDER BY i % 20, i;
		CREATE INDEX gone2_k ON gone2 USING fpbtree (k) WHERE held(k);});
	my ($a, $b, $end);
	foreach my $low (split /\n/, query(q{SELECT low FROM pages('gone2_k') WHERE level = 0 AND low > 3000 ORDER BY low}))
	{
		my ($next, $over) = split /\n/, query("SELECT low FROM pages('gone2_k') WHERE level = 0 AND low > $low ORDER BY low LIMIT 2");

		last if !defined $over;
		next if query("SELECT count(*) FROM pages('gone2_k') WHERE level = 0 AND low IN ($low, $next) AND 'high_elided' = ANY (flags)") < 2;
		query(sprintf $aborted, $low);
		my @between = split /\n/, query("SELECT low FROM pages('gone2_k') WHERE level = 0 AND kind <> 'deleted' AND low > $low AND low <= $next ORDER BY low");
		next if @between != 2 || query("SELECT count(*) FROM pages('gone2_k') WHERE level = 1 AND low IN (" . join(',', @between) . ')') > 0;
		($a, $b, $end) = ($low, $next, $over);
		last;
	}
	ok(defined $a, 'there are such leaves');
	query('REINDEX INDEX gone2_k');
	my $a_block = query("SELECT block FROM pages('gone2_k') WHERE level = 0 AND low = $a");
	my $b_block = query("SELECT block FROM pages('gone2_k') WHERE level = 0 AND low = $b");
	query("DELETE FROM gone2 WHERE k > quarter($a) AND k < quarter($end)");

	# The check has read the first leaf and waits for one of its rows.
	my $holder = session($node, 'SELECT pg_advisory_lock(1)');
	my ($checker, $checker_pid) = start_session([ 'fpbtree-check-busy', 'fpbtree-check-leaf' ],
		"SELECT set_config('test.held', quarter($a), false) <> ''; CREATE TABLE faults2 AS SELECT * FROM fpbtree_damage('gone2_k', true)");
	while ($node->poll_query_until('postgres', sprintf("SELECT ($event_of) IN ('advisory', 'fpbtree-check-leaf')", $checker_pid)))
	{
		last if query(sprintf $event_of, $checker_pid) eq 'advisory';
		# (it may have gone on already)
		$node->psql('postgres', q{SELECT injection_points_wakeup('fpbtree-check-leaf')});
	}

	# The leaf is split, and the right half has nothing but dead entries.  VACUUM takes
	# away what is to the right of that, and comes to it.
	query(sprintf $aborted, $a);
	my ($vacuum, $vacuum_pid) = start_session(['fpbtree-merge-found'], 'VACUUM (INDEX_CLEANUP ON) gone2');
	my $half;
	for (1 .. 10)
	{
		$node->poll_query_until('postgres', sprintf("SELECT ($event_of) = 'fpbtree-merge-found'", $vacuum_pid)) or last;
		my ($block, undef, undef, $entries) = split /\|/, query("$leaf_at AND low <= $b ORDER BY low DESC LIMIT 1");
		if ($block != $a_block && $block != $b_block && $entries == 0)
		{
			$half = $block;
			last;
		}
		$node->psql('postgres', q{SELECT injection_points_wakeup('fpbtree-merge-found')});
	}
	ok(defined $half, 'VACUUM is about to take away the right half');

	# The check finds it by a descent; somebody has its right sibling locked.
	$holder->quit;
	wait_at('fpbtree-check-leaf');
	my ($splitter, $splitter_pid) = start_session(['fpbtree-before-downlink'], "INSERT INTO gone2 SELECT quarter($end + i) FROM generate_series(1, 4) i");
	wait_at('fpbtree-before-downlink');
	wake('fpbtree-check-leaf');
	wait_at('fpbtree-check-busy');
	wake('fpbtree-merge-found');
	comes_true('it has gone', "SELECT kind = 'deleted' FROM fpbtree_page('gone2_k', $half)");
	wake('fpbtree-check-busy');
	wake('fpbtree-before-downlink');
	ok(finishes($_), 'all come to their end') foreach $splitter_pid, $checker_pid, $vacuum_pid;
	is(query('TABLE faults2'), '', 'nothing is taken for damaged');
	$_->quit foreach $splitter, $checker, $vacuum;
	check('gone2', 'with a leaf gone that had been found by a descent');
}

stop_servers($node);
done_testing();
