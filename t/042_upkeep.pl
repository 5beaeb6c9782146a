#
# VACUUM, where what it does besides removing entries of dead rows fails: there is
# no space left, or a page is damaged that it need not read.  The dead rows go all
# the same, and so on as with a sound index.
#
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/lib";
use IndexFiles;
use InjectionPoints;
use LongKeys;
use PostgreSQL::Test::Utils;
use Servers;
use Test::More;

# (what is damaged below is to be read)
my $node = start_server(
	'upkeep', q{
autovacuum_naptime = 1s
enable_seqscan = off
min_parallel_index_scan_size = 0
}, no_data_checksums => 1);
need_injection_points();
query('CREATE EXTENSION fpbtree');
create_long_keys();

sub make_table
{
	my ($name, $rows) = @_;
	query(qq{
		CREATE TABLE $name (k text COLLATE "C");
		CREATE INDEX ${name}_k ON $name USING fpbtree (k);
		INSERT INTO $name SELECT key(i * 10) FROM generate_series(1, $rows) i});
	return;
}

# Are the dead rows gone?  Then nobody has a pin left, and the next VACUUM, which
# waits for that, comes to its end.
sub is_clean
{
	my ($name, $what) = @_;
	query("SELECT pg_stat_force_next_flush()");
	is(query("SELECT n_dead_tup FROM pg_stat_user_tables WHERE relname = '$name'"), '0', "$what: no row is dead any more");
	query("INSERT INTO $name VALUES (key(1)), (key(2)); DELETE FROM $name WHERE k IN (key(1), key(2))");
	unlike(verbose_messages("VACUUM (INDEX_CLEANUP ON) $name"), qr/ERROR/, "$what: another VACUUM ends");
	is_sound("${name}_k", "$what: the index is sound");
	return;
}

# A split that has been broken off can't be finished, as the index can't be
# extended.
{
	make_table('split', 0);
	like(fail_at('fpbtree-before-downlink', 'DO $$ BEGIN FOR i IN 1..100 LOOP INSERT INTO split VALUES (key(i)); COMMIT; END LOOP; END $$'),
		qr/fpbtree-before-downlink/, 'a split is broken off');
	query('DELETE FROM split');
	# what they count of dead rows must not come after VACUUM
	comes_true('the server processes end', q{SELECT count(*) = 1 FROM pg_stat_activity WHERE backend_type = 'client backend'});
	attach('fpbtree-extend');
	my $warning = verbose_messages('VACUUM split');
	like($warning, qr/WARNING:  XX000: could not finish the page split at block \d+ of index "split_k": error triggered for injection point fpbtree-extend/,
		'a full index: VACUUM warns');
	unlike($warning, qr/ERROR/, 'a full index: and does not fail');
	is(query("SELECT pg_relation_size('split')"), '0', 'a full index: the table has no pages any more');
	is(query("SELECT unfinished_splits FROM fpbtree_stats('split_k')"), '1', 'a full index: the split is as it was');
	detach('fpbtree-extend');
	is_clean('split', 'a full index');
	is(query("SELECT unfinished_splits FROM fpbtree_stats('split_k')"), '0', 'with room again: the split is finished');
}

# The free space map can't be extended.
{
	make_table('map', 1000);
	query('DELETE FROM map WHERE k < key(9000)');
	attach('fpbtree-record-free');
	my $warning = verbose_messages('VACUUM map');
	my $nwarnings = () = $warning =~ /WARNING/g;
	like($warning, qr/WARNING:  XX000: could not delete the empty page at block \d+ of index "map_k": .*fpbtree-record-free/, 'no free space map: VACUUM warns');
	unlike($warning, qr/ERROR/, 'no free space map: and does not fail');
	is($nwarnings, 10, 'no free space map: not more often than anybody reads');
	is_clean('map', 'no free space map');
	cmp_ok(query("SELECT deleted_pages FROM fpbtree_stats('map_k')"), '>=', 10, 'no free space map: pages have been deleted');
	detach('fpbtree-record-free');
	query("INSERT INTO map VALUES (key(1)); DELETE FROM map WHERE k = key(1)");
	query('VACUUM (INDEX_CLEANUP ON) map');
	my $size = query(q{SELECT pg_relation_size('map_k')});
	my $free = query(q{SELECT deleted_pages FROM fpbtree_stats('map_k')});
	query("INSERT INTO map SELECT key(10010 + i * 10) FROM generate_series(1, $free * 8) i");
	is(query(q{SELECT pg_relation_size('map_k')}), $size, 'a free space map again: deleted pages are used');
	is_clean('map', 'a free space map again');
}

# The same in a parallel VACUUM, by its leader and its workers.
{
	make_table('parallel', 1000);
	query("CREATE INDEX parallel_2 ON parallel USING fpbtree ((k || 'x')); CREATE INDEX parallel_3 ON parallel USING fpbtree ((k || 'y'))");
	query('DELETE FROM parallel WHERE k < key(9000)');
	attach('fpbtree-record-free');
	my $warning = verbose_messages('VACUUM (PARALLEL 2, VERBOSE) parallel');
	like($warning, qr/launched 2 parallel vacuum workers/, 'in parallel: with workers');
	like($warning, qr/WARNING:  XX000: could not delete the empty page at block \d+ of index "$_":/, "in parallel: a warning about $_")
	  foreach qw(parallel_k parallel_2 parallel_3);
	unlike($warning, qr/ERROR/, 'in parallel: VACUUM does not fail');
	is_clean('parallel', 'in parallel');
	detach('fpbtree-record-free');
	is_sound($_, "in parallel: $_ is sound") foreach qw(parallel_2 parallel_3);
}

# And by autovacuum.
{
	make_table('auto', 1000);
	query('DELETE FROM auto WHERE k < key(9000)');
	attach('fpbtree-record-free');
	my $log = -s $node->logfile;
	query('ALTER SYSTEM SET autovacuum = on');
	$node->reload;
	comes_true('by autovacuum: dead rows go', q{SELECT autovacuum_count > 0 AND n_dead_tup = 0 FROM pg_stat_user_tables WHERE relname = 'auto'});
	query('ALTER SYSTEM RESET autovacuum');
	$node->reload;
	like(slurp_file($node->logfile, $log), qr/WARNING:  could not delete the empty page at block \d+ of index "auto_k":/, 'by autovacuum: the log has a warning');
	detach('fpbtree-record-free');
	is_clean('auto', 'by autovacuum');
}

# fpbtree_flush moves entries, and can't give back the pages of the queue.
{
	make_table('flushed', 100);
	query(q{
		SET fpbtree.queue_worker = off;
		ALTER INDEX flushed_k SET (operation_queue = on, opq_size = 1000);
		INSERT INTO flushed SELECT key(i * 10 + 1) FROM generate_series(1, 100) i});
	attach('fpbtree-record-free');
	my $warning = verbose_messages("SELECT fpbtree_flush('flushed_k')");
	like($warning, qr/WARNING:  XX000: could not take away the operation queue of index "flushed_k": .*fpbtree-record-free/, 'flushed: a warning');
	unlike($warning, qr/ERROR/, 'flushed: and no error');
	is(query("SELECT queue_entries FROM fpbtree_stats('flushed_k')"), '0', 'flushed: nothing is in the queue');
	detach('fpbtree-record-free');
	query("SELECT fpbtree_flush('flushed_k')");
	is(query("SELECT queue_pages FROM fpbtree_stats('flushed_k')"), '0', 'flushed: the queue is gone');
	is_clean('flushed', 'flushed');
}

# A VACUUM that somebody cancels meanwhile ends.  What it shows of its progress is
# there until then, though upkeep has failed.
{
	make_table('stopped', 1000);
	query('DELETE FROM stopped WHERE k < key(5000)');
	my $scan = session($node, $BY_INDEX, 'BEGIN', 'DECLARE c CURSOR FOR SELECT k FROM stopped WHERE k >= key(8000) ORDER BY k', 'FETCH c');
	attach('fpbtree-record-free');
	my ($vacuum, $pid) = start_session([], 'VACUUM stopped');
	wait_at('BufferPin');
	is(query("SELECT relid::regclass FROM pg_stat_progress_vacuum WHERE pid = $pid"), 'stopped', 'after a failure: VACUUM shows its progress');
	detach('fpbtree-record-free');
	$scan->quit;

	$vacuum->quit;
	attach('fpbtree-merge-found', 'wait');
	query('DELETE FROM stopped WHERE k < key(9000)');
	my $log = -s $node->logfile;
	($vacuum, $pid) = start_session([], 'VACUUM stopped');
	wait_at('fpbtree-merge-found');
	query("SELECT pg_cancel_backend($pid)");
	ok(finishes($pid), 'cancelled: VACUUM ends');
	like(slurp_file($node->logfile, $log), qr/ERROR:  canceling statement due to user request/, 'cancelled: by an error');
	detach('fpbtree-merge-found');
	$vacuum->quit;
	query('VACUUM stopped');
	is_clean('stopped', 'cancelled');
}

# Damaged pages.  Those that VACUUM does not have to read don't keep it from
# removing dead rows and freezing others: inner pages.  Leaves do, as their entries
# would be those of other rows later.
foreach my $case ([ 'inner_page', 1 ], [ 'leaf', 0 ])
{
	my ($kind, $level) = @$case;

	make_table($kind, 3000);
	query("VACUUM (FREEZE) $kind");
	query("DELETE FROM $kind WHERE k < key(9000)");
	# one in the middle, which no descent to the first leaf comes by
	my $block = query(qq{
		SELECT block FROM generate_series(1, (pg_relation_size('${kind}_k') / current_setting('block_size')::int)::int - 1) block, fpbtree_page('${kind}_k', block)
		WHERE level = $level AND low_fence IS NOT NULL AND right_block IS NOT NULL ORDER BY low_fence OFFSET 2 LIMIT 1});
	my $file = file_of("${kind}_k");
	my $blcksz = query('SHOW block_size');
	my $frozen = query("SELECT relfrozenxid FROM pg_class WHERE relname = '$kind'");
	my $rows = query("SELECT count(*) FROM $kind WHERE k >= key(9000)");

	$node->stop;
	# the counts of the page's nodes
	overwrite($file, $block * $blcksz + 32, "\xff" x 8);
	$node->start;
	my $messages = verbose_messages("VACUUM (FREEZE, INDEX_CLEANUP ON) $kind");
	like($messages, qr/XX002: index "${kind}_k" contains a damaged page at block $block$/m, "a damaged $kind: VACUUM finds it");
	if ($level > 0)
	{
		unlike($messages, qr/ERROR/, "a damaged $kind: VACUUM does not fail");
		is(query("SELECT relfrozenxid::text::int8 > $frozen FROM pg_class WHERE relname = '$kind'"), 't', "a damaged $kind: relfrozenxid moves");
	}
	else
	{
		like($messages, qr/ERROR:  XX002/, "a damaged $kind: VACUUM fails");
		is(query("SELECT relfrozenxid FROM pg_class WHERE relname = '$kind'"), $frozen, "a damaged $kind: relfrozenxid does not move");
	}
	query("REINDEX INDEX ${kind}_k");
	is(query("SELECT count(*) FROM $kind WHERE k >= key(9000)"), $rows, "a damaged $kind: no row is lost");
	query("VACUUM (INDEX_CLEANUP ON) $kind");
	is_clean($kind, "a damaged $kind page");
}

# The root: nothing can be found in such an index, but VACUUM takes the leaves as
# they come.
{
	make_table('root', 1000);
	query('DELETE FROM root WHERE k < key(9000)');
	my $block = query("SELECT root_block FROM fpbtree_stats('root_k')");
	my $file = file_of('root_k');
	my $blcksz = query('SHOW block_size');

	$node->stop;
	overwrite($file, $block * $blcksz + 32, "\xff" x 8);
	$node->start;
	my $messages = verbose_messages('VACUUM root');
	like($messages, qr/WARNING:  XX002: could not find the first leaf of index "root_k": .* at block $block$/m, 'a damaged root: VACUUM finds it');
	like($messages, qr/WARNING:  XX002: could not delete the empty page at block \d+ of index "root_k": .* at block $block$/m, 'a damaged root: and comes by it');
	unlike($messages, qr/ERROR/, 'a damaged root: VACUUM does not fail');
	query('REINDEX INDEX root_k');
	is_clean('root', 'a damaged root');
}

stop_servers($node);
unlike(slurp_file($node->logfile), qr/WARNING:  (resource was not closed|buffer refcount leak|.*still referenced|.*leak)/, 'nothing was left behind');
done_testing();
