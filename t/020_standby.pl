#
# A streaming standby, made by pg_basebackup, replays everything the primary
# does with every page compared (wal_consistency_checking), answers queries
# while the primary deletes pages and vacuums, and takes over.
#
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/lib";
use Servers;
use Test::More;
use Workload;

# for how long queries are compared while the load runs
my $seconds = $ENV{FPB_LOAD} || 8;

seed_choices();
my $primary = start_server(
	'primary', q{
shared_buffers = 32MB
max_wal_size = 1GB
wal_keep_size = 8GB
wal_consistency_checking = 'generic'
max_connections = 30
}, allows_streaming => 1);
# (010_crash has the same load, with each change verified)
trust_changes($primary);
create_workload($primary);

# The backup is taken while the load runs.
my $output = '';
my $load = start_load($primary, $seconds + 2, 2, \$output);
sleep 1;
my $standby = make_standby($primary, 'standby', "hot_standby_feedback = off\nmax_standby_streaming_delay = 300s\n");

# Queries on the standby while the primary goes on: an index and the table must
# agree within one snapshot.
my ($asked, $cancelled, @wrong) = (0, 0);
my $until = time() + $seconds;
while (time() < $until)
{
	my ($name, $columns, $rest) = @{ $INDEXES[ int(rand(@INDEXES)) ] };
	my $where = $rest =~ /^WHERE/ ? $rest : '';
	my $out = $columns =~ s/ (DESC|NULLS FIRST)//gr;
	my $sum = "count(*) || ' ' || coalesce(sum(hashtext(x::text)), 0)";
	my ($status, $result, $error) = $standby->psql(
		'postgres', qq{
		BEGIN ISOLATION LEVEL REPEATABLE READ;
		SET LOCAL enable_seqscan = off; SET LOCAL enable_sort = off; SET LOCAL enable_bitmapscan = off;
		SELECT $sum FROM (SELECT ROW($out) AS x FROM w $where ORDER BY $columns OFFSET 0) s;
		SET LOCAL enable_seqscan = on; SET LOCAL enable_indexscan = off; SET LOCAL enable_indexonlyscan = off;
		SELECT $sum FROM (SELECT ROW($out) AS x FROM w $where) s;
		COMMIT;});
	if ($status != 0)
	{
		$cancelled++;
		push @wrong, $error unless $error =~ /conflict with recovery/;
		next;
	}
	my ($index, $table) = split /\n/, $result;
	$asked++;
	push @wrong, "$name: index says $index, table $table" if $index ne $table;
}
$load->finish;
unlike($output, qr/ERROR:(?!.*deadlock)|out of order/, 'no errors in the load');
note("$asked answers compared, $cancelled queries cancelled");
cmp_ok($asked, '>', 5, 'the standby answered queries meanwhile');
is(join("\n", @wrong), '', 'on the standby, indexes agreed with the table all the time');

$primary->wait_for_replay_catchup($standby);
check_indexes($primary, 'primary');
is_deeply(index_answers($standby, 'index'), index_answers($primary, 'table'), 'indexes of the standby agree with the table of the primary');

# Of an unlogged index there is nothing on a standby, but one can ask what it is like.
query('CREATE UNLOGGED TABLE u (a numeric); CREATE INDEX u_a ON u USING ' . am() . ' (a)');
$primary->wait_for_replay_catchup($standby);
is($standby->safe_psql('postgres', q{SELECT pg_index_column_has_property('u_a', 1, 'returnable')}), 't', 'whether an unlogged index can return its keys');

my (undef, undef, $unlogged) = $standby->psql('postgres', q{SELECT fpbtree_check('u_a')});
like($unlogged, qr/cannot check unlogged index "u_a" during recovery/, 'there is nothing of it to check');

# A cursor on the standby rests in the middle of pages that the primary then
# empties, deletes and uses again.  (The pages of the table that they rest on are
# not changed: replay would wait for their pins.)
{
	# more than are in a page of the table, fewer than in one of the index
	my $rows = 310 * query('SHOW block_size') / 8192;
	query(q{
		CREATE TABLE c (a int8, b text) WITH (autovacuum_enabled = off);
		INSERT INTO c SELECT i, repeat('x', 20) FROM generate_series(1, 20000) i;} . 'CREATE INDEX c_a ON c USING ' . am() . ' (a)');
	query('DELETE FROM c WHERE a BETWEEN 2300 AND 9700');
	$primary->wait_for_replay_catchup($standby);
	my $session = session($standby, $BY_INDEX, 'BEGIN', 'DECLARE f SCROLL CURSOR FOR SELECT a FROM c ORDER BY a',
		'DECLARE r SCROLL CURSOR FOR SELECT a FROM c ORDER BY a DESC');
	my @forward = split /\n/, $session->query_safe('FETCH ' . (2300 - $rows) . ' FROM f');
	my @backward = split /\n/, $session->query_safe('FETCH ' . (10300 - $rows) . ' FROM r');
	# rows deleted before the snapshot: removing them conflicts with nothing, yet pages go and come back
	query('VACUUM (INDEX_CLEANUP ON) c');
	# (a queue has pages of its own)
	my $queue = query(q{SELECT current_setting('fpbtree.default_operation_queue', true)});
	my $deleted = am() eq 'fpbtree' && $queue ne 'on' ? q{SELECT deleted_pages FROM fpbtree_stats('c_a')} : undef;
	cmp_ok(query($deleted), '>', 1, 'pages have been deleted') if $deleted;
	query(q{INSERT INTO c SELECT i, 'new' FROM generate_series(2300, 9700) i});
	query(q{INSERT INTO c SELECT i, 'new' FROM generate_series(20001, 30000) i});
	is(query($deleted), '0', 'all are used again') if $deleted;
	$primary->wait_for_replay_catchup($standby);
	push @forward, split /\n/, $session->query_safe('FETCH ALL FROM f');
	push @backward, split /\n/, $session->query_safe('FETCH ALL FROM r');
	my @want = (1 .. 2299, 9701 .. 20000);
	ok("@forward" eq "@want", 'forward cursor on the standby over pages deleted and used again');
	ok("@backward" eq join(' ', reverse @want), 'backward cursor likewise');
	commit($session);
}

# An index-only scan on the standby rests on leaves that it has read, whose entries are then removed, their rows' line
# pointers freed and the table's pages marked all-visible: rows that were deleted before its snapshot must not come back.
# (The cursors rest on rows of pages of the table that have lost none, for the executor would have the others pinned, and
# replay would wait for that. But the leaves have entries of these others.)
{
	foreach my $type ('int8', 'text COLLATE "C"')
	{
		my $key = $type eq 'int8' ? 'i' : "lpad(i::text, 8, '0')";
		query(qq{
			CREATE TABLE h (a $type) WITH (autovacuum_enabled = off);
			INSERT INTO h SELECT $key FROM generate_series(1, 30000) i;
			CREATE INDEX h_a ON h USING } . am() . ' (a)');
		query('VACUUM ANALYZE h');
		my $block = '(ctid::text::point)[0]::int';
		my $from = query("SELECT count(*) FROM h WHERE $block > (SELECT max($block) FROM h WHERE a::int8 < 20000)");
		query("DELETE FROM h WHERE $block > 0 AND right(a::text, 1)::int % 2 = 0 AND a::int8 < 20000");
		$primary->wait_for_replay_catchup($standby);
		like($standby->safe_psql('postgres', "$BY_INDEX EXPLAIN (COSTS OFF) SELECT a FROM h ORDER BY a"), qr/Index Only/, "$type: an index-only scan on a standby");
		my @want = split /\n/, query('SELECT a FROM h ORDER BY a');

		my $session = session($standby, $BY_INDEX, 'BEGIN', 'DECLARE f SCROLL CURSOR FOR SELECT a FROM h ORDER BY a',
			'DECLARE r SCROLL CURSOR FOR SELECT a FROM h ORDER BY a DESC');
		# (so many that it has read all of its first leaf)
		my @forward = split /\n/, $session->query_safe('FETCH 60 FROM f');
		my @backward = split /\n/, $session->query_safe("FETCH $from FROM r");
		query('VACUUM (INDEX_CLEANUP ON) h');
		$primary->wait_for_replay_catchup($standby);
		push @forward, split /\n/, $session->query_safe('FETCH 300 FROM f');
		push @backward, split /\n/, $session->query_safe('FETCH 300 FROM r');
		# whose line pointers are now those of other rows
		query("INSERT INTO h SELECT $key FROM generate_series(30001, 40000) i");
		$primary->wait_for_replay_catchup($standby);
		push @forward, split /\n/, $session->query_safe('FETCH ALL FROM f');
		push @backward, split /\n/, $session->query_safe('FETCH ALL FROM r');
		ok("@forward" eq "@want", "$type: it hands out the rows of its snapshot, forward");
		ok("@backward" eq join(' ', reverse @want), "$type: and backward");
		is($session->query_safe('MOVE ABSOLUTE 0 IN f; FETCH 3 FROM f'), join("\n", @want[ 0 .. 2 ]), "$type: and from the start again");
		commit($session);
		query('DROP TABLE h');
	}
}

# The planner looks for a column's greatest value by an index-only scan with a snapshot that is not MVCC, and gives up when
# it has been given rows of too many pages that are dead: they must not be looked through for it.
{
	query(q{
		CREATE TABLE d (a int8) WITH (autovacuum_enabled = off);
		INSERT INTO d SELECT generate_series(1, 30000);} . 'CREATE INDEX d_a ON d USING ' . am() . ' (a)');
	query('VACUUM ANALYZE d');
	query('DELETE FROM d WHERE a > 100');
	$primary->wait_for_replay_catchup($standby);
	my $plan = $standby->safe_psql('postgres', 'EXPLAIN (BUFFERS, FORMAT JSON) SELECT FROM d WHERE a > 29999');
	my ($hit) = $plan =~ /"Planning": .*?"Shared Hit Blocks": (\d+)/s;
	cmp_ok($hit, '<', 10000, 'planning does not look at every dead row on a standby');
	query('DROP TABLE d');
}

# An index-only scan that has to look at rows visits their pages once, as it does with a btree.
{
	my %visits;
	for my $type ('btree', am())
	{
		query(qq{
			CREATE TABLE v (a int8) WITH (autovacuum_enabled = off);
			INSERT INTO v SELECT generate_series(1, 30000);
			CREATE INDEX ON v USING $type (a)});
		query('VACUUM (FREEZE, ANALYZE) v');
		# (no page of the table is all-visible)
		query('UPDATE v SET a = a + 100000 WHERE a % 50 = 0');
		$primary->wait_for_replay_catchup($standby);
		my $plan;
		$plan = $standby->safe_psql('postgres', "$BY_INDEX EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) SELECT a FROM v WHERE a <= 30000 ORDER BY a") for 1 .. 2;
		like($plan, qr/Index Only/, "$type: an index-only scan of rows that are not all-visible");
		my ($hit, $read) = $plan =~ /"Shared Hit Blocks": (\d+),\s+"Shared Read Blocks": (\d+)/;
		$visits{$type} = $hit + $read;
		query('DROP TABLE v');
	}
	cmp_ok($visits{ am() }, '<=', 1.1 * $visits{btree}, "its visits to buffers ($visits{ am() }, $visits{btree} with btree)");
}

# A session on the standby knows an index whose heads are made of sort keys when the primary comes to another version of the
# collation: heads tell nothing of the entries that come from then on.  (Latin letters keep their order.)
{
	query(q{
		CREATE COLLATION icu (provider = icu, locale = 'und');
		CREATE TABLE s (a text COLLATE icu) WITH (autovacuum_enabled = off);
		INSERT INTO s SELECT 'key-' || lpad((2 * i)::text, 6, '0') FROM generate_series(1, 20000) i;} .
		'CREATE INDEX s_a ON s USING ' . am() . ' (a)');
	$primary->wait_for_replay_catchup($standby);
	my $found = q{SELECT sum((SELECT count(*) FROM s WHERE a = 'key-' || lpad(i::text, 6, '0'))) FROM generate_series(1, 40000, 7) i};
	my $session = session($standby, $BY_INDEX);
	is($session->query_safe($found), '2857', 'keys with sort keys are found on the standby');
	query(q{UPDATE pg_collation SET colllocale = 'und-u-kr-grek-latn' WHERE collname = 'icu'});
	query(q{INSERT INTO s SELECT 'key-' || lpad((2 * i + 1)::text, 6, '0') FROM generate_series(0, 19999) i ORDER BY hashint4(i)});
	$primary->wait_for_replay_catchup($standby);
	is($session->query_safe($found), '5715', 'and with those of another version, in the same session');
	$session->quit;
	is($standby->safe_psql('postgres', "$BY_INDEX $found"), '5715', 'and in a new one');
	query('DROP TABLE s');
}

# The killed-tuple hints that came with pages are not believed.
{
	# a table whose one page has room, and is pinned when an insertion would have it pruned, so that replay meets no conflict
	query(q{
		CREATE TABLE k (a int8) WITH (autovacuum_enabled = off);
		INSERT INTO k SELECT i FROM generate_series(1, 100) i;} . 'CREATE INDEX k_a ON k USING ' . am() . ' (a)');
	$primary->wait_for_replay_catchup($standby);
	my $count = 'SELECT count(*) FROM k WHERE a > 0';
	my $session = session($standby, "$BY_INDEX SET enable_indexonlyscan = off", 'BEGIN ISOLATION LEVEL REPEATABLE READ');
	is($session->query_safe($count), '100', 'the standby sees the rows');
	# dead for all on the primary, but not for the snapshot of the standby
	query('DELETE FROM k WHERE a % 2 = 0');
	is(query("$BY_INDEX $count"), '50', 'the primary does not')
	  for 1 .. 2;
	# an image of the page goes into the WAL
	my $pin = session($primary, 'BEGIN', 'DECLARE c CURSOR FOR SELECT FROM k', 'FETCH c');
	query('CHECKPOINT');
	query('INSERT INTO k VALUES (101)');
	$primary->wait_for_replay_catchup($standby);
	$pin->quit;
	is($session->query_safe($count), '100', 'the standby still sees the rows of its snapshot');
	$session->query_safe('COMMIT');
	is($session->query_safe($count), '51', 'and then those of the next');
	$session->quit;
}

$primary->wait_for_replay_catchup($standby);
is(complaints($standby), '', 'every replayed page was consistent');

# The primary dies in the middle of things; the standby takes over.
query(q{
	CREATE TABLE p (a int8) WITH (autovacuum_enabled = off);
	INSERT INTO p SELECT i FROM generate_series(1, 3000) i;} . 'CREATE INDEX p_a ON p USING ' . am() . ' (a)');
query('VACUUM ANALYZE p');
query('DELETE FROM p WHERE a % 2 = 0');
$primary->wait_for_replay_catchup($standby);
$load = start_load($primary, 60, 3, \$output);
sleep 2;
kill_everything($primary);
$load->finish;
# (an index-only scan begun in recovery goes on after it)
my $scanner = session($standby, $BY_INDEX, 'BEGIN', 'DECLARE f CURSOR FOR SELECT a FROM p ORDER BY a');
my @scanned = split /\n/, $scanner->query_safe('FETCH 5 FROM f');
$standby->promote;
$standby->poll_query_until('postgres', 'SELECT NOT pg_is_in_recovery()') or die;
use_server($standby);
query('VACUUM (INDEX_CLEANUP ON) p');
push @scanned, split /\n/, $scanner->query_safe('FETCH ALL FROM f');
ok("@scanned" eq join(' ', grep { $_ % 2 } 1 .. 3000), 'an index-only scan goes on through a promotion');
commit($scanner);
check_indexes($standby, 'promoted');
query('SELECT w_insert(300, false) FROM generate_series(1, 10)');
query('SELECT w_delete(true) FROM generate_series(1, 3)');
query('VACUUM (INDEX_CLEANUP ON) w');
check_indexes($standby, 'promoted, after changes and vacuum');

stop_servers($standby, $primary);
done_testing();
