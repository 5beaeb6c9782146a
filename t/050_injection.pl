#
# Backends that are made to wait, fail or die at awkward places: with stale
# links to pages that are used again, and between the two records of a page
# split.
#
use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('injection');

$node->init;
$node->append_conf(
	'postgresql.conf', q{
autovacuum = off
enable_seqscan = off
});
$node->start;
if (!$node->safe_psql('postgres', q{SELECT count(*) FROM pg_available_extensions WHERE name = 'injection_points'}))
{
	$node->stop;
	plan skip_all => 'this server has no injection points';
}
# Keys so long, and alike for so long, that leaves and inner pages hold some
# 15 entries.
$node->safe_psql(
	'postgres', q{
CREATE EXTENSION fpbtree;
CREATE EXTENSION injection_points;
CREATE FUNCTION key(i int) RETURNS text LANGUAGE sql IMMUTABLE
	RETURN repeat('x', current_setting('block_size')::int / 19) || lpad(i::text, 6, '0');
-- the pages of an index, and the numbers that their fences are made of
CREATE FUNCTION pages(index regclass, OUT block int8, OUT kind text, OUT level int, OUT flags text[], OUT low int, OUT high int)
	RETURNS SETOF record LANGUAGE sql
BEGIN ATOMIC
	SELECT b, p.kind, p.level, p.flags, coalesce(substring(p.low_fence FROM '\d{6}')::int, 0),
		coalesce(substring(p.high_fence FROM '\d{6}')::int, 1000000)
	FROM generate_series(1, pg_relation_size(index) / current_setting('block_size')::int - 1) b, fpbtree_page(index, b) p;
END;
});

sub query { return $node->safe_psql('postgres', shift); }

# A session that runs a statement and may have to wait in it, in which it is
# alone with its injection points.
sub start_session
{
	my ($points, $sql) = @_;
	my $session = $node->background_psql('postgres', on_error_stop => 0);

	$session->query_safe('SELECT injection_points_set_local()');
	$session->query_safe("SELECT injection_points_attach('$_', 'wait')") foreach @$points;
	my $pid = $session->query_safe('SELECT pg_backend_pid()');
	$session->query_until(qr/started/, "\\echo started\n$sql;\n");
	return ($session, $pid);
}

# A waiting session goes on, and does not wait at this point again.
sub wake
{
	my ($point) = @_;
	query("SELECT injection_points_detach('$point')");
	query("SELECT injection_points_wakeup('$point')");
	return;
}

# Does the session finish its statement?  One that waits for a page never does,
# as long as the one that has it is held up.
sub finishes
{
	my ($pid) = @_;
	return $node->poll_query_until('postgres', "SELECT state = 'idle' FROM pg_stat_activity WHERE pid = $pid");
}

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
	is(query("SELECT fpbtree_check('${name}_k', true)"), '', "$what: the index is sound");
	is( query("SELECT count(*) FROM $name WHERE k >= ''"),
		query("SET enable_seqscan = on; SET enable_indexscan = off; SET enable_indexonlyscan = off; SET enable_bitmapscan = off; SELECT count(*) FROM $name"),
		"$what: no row is missing");
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
	$node->wait_for_event('client backend', 'fpbtree-before-leaf');
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
	$node->wait_for_event('client backend', 'fpbtree-before-downlink');

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
	$node->wait_for_event('client backend', 'fpbtree-merge-inner');
	my ($splitter, $splitter_pid) = start_session(['fpbtree-before-leaf'], "INSERT INTO b VALUES (key($inner->{low} + 5))");
	$node->wait_for_event('client backend', 'fpbtree-before-leaf');
	# only the splitter comes by this one
	query(q{SELECT injection_points_attach('fpbtree-inner-pinned', 'wait')});
	wake('fpbtree-before-leaf');
	$node->wait_for_event('client backend', 'fpbtree-inner-pinned');
	query(q{SELECT injection_points_detach('fpbtree-inner-pinned')});
	is(kind_of('b', $inner->{block}), 'inner', 'the splitter has its parent pinned');
	wake('fpbtree-merge-inner');
	$node->poll_query_until('postgres', "SELECT kind = 'deleted' FROM fpbtree_page('b_k', $inner->{block})")
	  or die 'the inner page has not been deleted';
	# (not all pages can be looked at now)
	my $size = query(q{SELECT pg_relation_size('b_k')});
	query('INSERT INTO b SELECT key(10010 + i * 10) FROM generate_series(1, 800) i');
	cmp_ok(query(q{SELECT pg_relation_size('b_k')}), '>', $size, 'no free page is left');
	is(kind_of('b', $inner->{block}), 'deleted', 'but the pinned one has not been used again');
	query(q{SELECT injection_points_wakeup('fpbtree-inner-pinned')});
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
	my $scan = $node->background_psql('postgres');
	$scan->query_safe(q{
		SET enable_seqscan = off; SET enable_bitmapscan = off; SET enable_sort = off;
		BEGIN;
		DECLARE c CURSOR FOR SELECT k FROM v WHERE k >= key(8000) ORDER BY k;
		FETCH c;});
	my ($vacuum, $vacuum_pid) = start_session([], 'VACUUM v');
	$node->wait_for_event('client backend', 'BufferPin');
	my $size = query(q{SELECT pg_relation_size('v_k')});
	query('INSERT INTO v SELECT key(9001 + (i * 367) % 997) FROM generate_series(1, 996) i');
	cmp_ok(query(q{SELECT pg_relation_size('v_k')}), '>', $size, 'halves of leaves have gone to all free pages');
	$scan->query_safe('COMMIT');
	ok(finishes($vacuum_pid), 'VACUUM comes to its end');
	$_->quit foreach ($scan, $vacuum);
	check('v', 'with leaves split behind VACUUM');
	is(query(q{SELECT entries FROM fpbtree_stats('v_k')}), query('SELECT count(*) FROM v'), 'no dead entry is left');
}

# Splits that are broken off between their two records, by an error and by a
# crash.  The right page is there without its downlink, and whoever next comes to
# the left one to change something gives it that.
foreach my $case (
	# where, rows that are there, the point, the first row added, and by how much the next are greater
	[ 'root', 'the root, a leaf', 0, 'fpbtree-before-downlink', 10, 10 ],
	[ 'leaf', 'a leaf', 1000, 'fpbtree-before-downlink', 5005, 1 ],
	[ 'inner', 'an inner page', 1000, 'fpbtree-before-inner-downlink', 3005, 10 ],
	[ 'innerroot', 'the root, an inner page', 0, 'fpbtree-before-inner-downlink', 10, 10 ])
{
	my ($name, $what, $rows, $point, $first, $step) = @$case;
	my $incomplete = "SELECT string_agg(block::text, ' ') FROM pages('%s_k') WHERE flags @> '{incomplete_split}'";

	foreach my $how ('error', 'crash')
	{
		my $table = "${name}_$how";
		my $add = "DO \$\$ BEGIN FOR i IN 0..2000 LOOP INSERT INTO $table VALUES (key($first + i * $step)); COMMIT; END LOOP; END \$\$";

		query(qq{
			CREATE TABLE $table (k text COLLATE "C");
			CREATE INDEX ${table}_k ON $table USING fpbtree (k);
			INSERT INTO $table SELECT key(i * 10) FROM generate_series(1, $rows) i;});
		if ($how eq 'error')
		{
			my (undef, undef, $error) = $node->psql('postgres',
				"SELECT injection_points_set_local(); SELECT injection_points_attach('$point', 'error'); $add");
			like($error, qr/error triggered for injection point $point/, "$what: the split is broken off");
		}
		else
		{
			my ($session, $pid) = start_session([$point], $add);

			$node->wait_for_event('client backend', $point);
			# what it has written so far must be in the WAL that is left
			query('SELECT pg_logical_emit_message(true, \'\', \'\')');
			$node->stop('immediate');
			$session->{run}->finish;
			$node->start;
		}
		my $left = query(sprintf $incomplete, $table);
		like($left, qr/^\d+$/, "$what, $how: a page is without its downlink");
		check($table, "$what, $how");

		# empty, the right page still can't be deleted
		my ($high, $level) = split /\|/, query("SELECT high, level FROM pages('${table}_k') WHERE block = $left");
		query("DELETE FROM $table WHERE k >= key($high) AND k < key(" . ($high + 2000) . ')');
		query("VACUUM $table");
		is(query(sprintf $incomplete, $table), $left, "$what, $how: VACUUM leaves it so");
		check($table, "$what, $how, vacuumed");

		# the first row on an inner page that needs a downlink there
		query("INSERT INTO $table SELECT key($high - 5 - i) FROM generate_series(0, 20 + 10 * $level) i");
		is(query(sprintf $incomplete, $table), '', "$what, $how: another change finishes the split");
		check($table, "$what, $how, finished");
		query("INSERT INTO $table SELECT key(i * 10 + 1) FROM generate_series(1, 1000) i");
		query("DELETE FROM $table WHERE k >= key(300)");
		query("VACUUM $table");
		check($table, "$what, $how, in the end");
	}
}

$node->stop;
unlike(slurp_file($node->logfile), qr/TRAP:|PANIC:/, 'no assertion failed');
done_testing();
