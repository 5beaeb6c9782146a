#
# The right half of a leaf's split is logged as the difference from an image of
# a page without entries, which goes before it in a record of its own.  Here a
# backend waits between these two records, while the server crashes, or a
# checkpoint begins, from which recovery begins then.  With and without
# full_page_writes; with it, the page on disk is torn, too.  A standby compares
# its pages with the primary's.
#
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/lib";
use IndexFiles;
use InjectionPoints;
use Servers;
use Test::More;

my $POINT = 'fpbtree-base-logged';
my $node = start_server(
	'splits', q{
wal_level = replica
max_wal_senders = 4
wal_consistency_checking = 'generic'
wal_log_hints = on
checkpoint_timeout = 1h
wal_keep_size = 4GB
max_wal_size = 4GB
bgwriter_lru_maxpages = 0
synchronous_commit = on
enable_seqscan = off
restart_after_crash = off
}, allows_streaming => 1);
need_injection_points();
# the point is in a critical section, where only those that have been loaded before can be run
if ($node->pg_version->major < 18)
{
	$node->stop;
	plan skip_all => 'this server has no injection points for critical sections';
}
set_and_restart("shared_preload_libraries = 'injection_points'\n");
query('CREATE EXTENSION fpbtree; CREATE EXTENSION pg_walinspect');
my $block_size = query('SHOW block_size');

my @tables;
my %KEYS = (w4 => [ 'int4', 'hashint4(i)' ], w8 => [ 'int8', 'hashint4(i)::int8 << 20' ], w16 => [ 'uuid', 'md5(i::text)::uuid' ],
	# tuples, with heads that are all zero
	tuple => [ 'int4[]', 'ARRAY[hashint4(i)]' ]);

# Rows with keys that come in random order, so that nodes are loose.
sub insert_statement
{
	my ($table, $from, $to) = @_;
	return "INSERT INTO $table SELECT $KEYS{ substr($table, 0, index($table, '_')) }[1], i FROM generate_series($from, $to) i";
}

sub pages_of { my ($table) = @_; return query("SELECT pg_relation_size('${table}_k') / $block_size"); }

sub check
{
	my ($table, $rows, $what) = @_;

	is_sound("${table}_k", "$what: the index is sound");
	is(query("SELECT count(*), count(DISTINCT n) FROM $table WHERE k IS NOT NULL"), "$rows|$rows", "$what: no row is missing");
	is(query("SELECT count(*) FROM (SELECT k, lag(k) OVER () AS before FROM (SELECT k FROM $table ORDER BY k) s) t WHERE before > k"),
		'0', "$what: they are in order");
}

# A backend that splits a leaf of a table with so many rows, and waits between
# the two records; those rows are committed, and what it inserts is not.
sub begin_split
{
	my ($table) = @_;
	my ($type) = @{ $KEYS{ substr($table, 0, index($table, '_')) } };
	my $rows = int(1500 * $block_size / 8192);

	push @tables, $table;
	query("CREATE TABLE $table (k $type, n int) WITH (autovacuum_enabled = off); CREATE INDEX ${table}_k ON $table USING fpbtree (k) WITH (layout = disk_first)");
	query(insert_statement($table, 1, $rows));
	query('CHECKPOINT');
	# the pages that it splits are not to be logged whole
	query(insert_statement($table, $rows + 1, $rows + 100));
	$rows += 100;
	is(query("SELECT count(*) > 0 FROM generate_series(1, pg_relation_size('${table}_k') / $block_size - 1) b, fpbtree_nodes('${table}_k', b::int) WHERE codec LIKE '%pairs'"),
		$type eq 'int4[]' ? 'f' : 't', "$table: nodes of words are loose");
	my $pages = pages_of($table);
	my $from = query('SELECT pg_current_wal_insert_lsn()');
	my ($session) = start_session([$POINT], insert_statement($table, $rows + 1, 3 * $rows));

	wait_at($POINT);
	# what has been logged is to be on disk
	query(q{SELECT pg_logical_emit_message(true, 'splits', '', true)});
	return { table => $table, rows => $rows, session => $session, block => pages_of($table) - 1, pages => $pages, from => $from };
}

# The rest of what a session says is lost with the server.
sub give_up { my ($split) = @_; eval { $split->{session}->quit }; return; }

# The records of a block since an LSN, as images that replay applies or not.
sub records_of
{
	my ($split) = @_;
	return query(qq{
		SELECT string_agg(CASE WHEN 'APPLY' = ANY (block_fpi_info) THEN 'image' ELSE 'difference' END, ', ' ORDER BY start_lsn)
		FROM (SELECT * FROM pg_get_wal_block_info('$split->{from}', pg_current_wal_flush_lsn(), false)
			WHERE relfilenode = pg_relation_filenode('$split->{table}_k') AND relblocknumber = $split->{block}
			ORDER BY start_lsn LIMIT 2) b});
}

sub tear
{
	my ($path, $block) = @_;
	# (a block that the file does not have yet is made)
	overwrite($path, $block * $block_size, 'torn' x ($block_size / 8)) if -s $path > $block * $block_size;
	return;
}

my $standby = make_standby($node, 'standby', "restart_after_crash = on\n");

foreach my $full_page_writes ('on', 'off')
{
	set_and_reload("full_page_writes = $full_page_writes\n");
	foreach my $kind ($full_page_writes eq 'on' ? sort keys %KEYS : 'w8')
	{
		my $with = "$kind, full_page_writes $full_page_writes";

		# ---- a crash between the two records ----
		my $split = begin_split("${kind}_crash_$full_page_writes");
		my $table = $split->{table};
		my $file = file_of("${table}_k");

		cmp_ok($split->{block}, '>=', $split->{pages}, "$with: the index has a new page");
		is(records_of($split), 'image', "$with: the base has been logged, and nothing else");
		$node->stop('immediate');
		give_up($split);
		tear($file, $split->{block}) if $full_page_writes eq 'on';
		$node->start;
		is(query("SELECT kind FROM fpbtree_page('${table}_k', $split->{block})"), 'deleted', "$with: after a crash it is a free page");
		check($table, $split->{rows}, "$with: a crash");
		query("DELETE FROM $table WHERE n = 1; VACUUM (INDEX_CLEANUP ON) $table");
		query(insert_statement($table, $split->{rows} + 1, 2 * $split->{rows}));
		is(query("SELECT kind FROM fpbtree_page('${table}_k', $split->{block})"), 'leaf', "$with: VACUUM has found it, and a split has used it");
		check($table, 2 * $split->{rows} - 1, "$with: after a crash");

		# ---- a checkpoint between the two records ----
		$split = begin_split("${kind}_checkpoint_$full_page_writes");
		$table = $split->{table};
		$file = file_of("${table}_k");
		my $checkpoint = $node->background_psql('postgres');
		start_statement($checkpoint, 'CHECKPOINT');
		# it has its beginning, and waits for the pages that are split
		$node->poll_query_until('postgres', q{SELECT wait_event_type = 'LWLock' FROM pg_stat_activity WHERE backend_type = 'checkpointer'})
		  or die 'the checkpoint does not come to the pages';
		wake($POINT);
		rest($checkpoint);
		$checkpoint->quit;
		rest($split->{session});
		$split->{session}->quit;
		is(records_of($split), $full_page_writes eq 'on' ? 'image, image' : 'image, difference', "$with: the second record is what it has to be");
		$node->stop('immediate');
		tear($file, $split->{block}) if $full_page_writes eq 'on';
		$node->start;
		check($table, 3 * $split->{rows}, "$with: a checkpoint");
	}
}

# ---- the usual way ----
{
	my $split = begin_split('w8_usual');

	wake($POINT);
	rest($split->{session});
	$split->{session}->quit;
	is(records_of($split), 'image, difference', 'without a checkpoint the second record has no image');
	check('w8_usual', 3 * $split->{rows}, 'the usual way');
}

$node->wait_for_catchup($standby);
use_server($standby);
foreach my $table (@tables)
{
	is_sound("${table}_k", "on the standby, $table is sound");
}
stop_servers($standby, $node);
done_testing();
