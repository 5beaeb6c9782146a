#
# Two tiers of the operation queue: entries that move from one to the other while
# scans, uniqueness checks, VACUUM and standbys look for them; a tier that is
# full; a move that stops in the middle of a split; what lookups are told that a
# tier lacks, and a server with no memory for that; a crash; the worker; which
# indexes have two.
#
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/lib";
use InjectionPoints;
use Servers;
use Test::More;

my $node = start_server(
	'tiers', q{
shared_buffers = 32MB
enable_seqscan = off
enable_bitmapscan = off
enable_hashjoin = off
enable_mergejoin = off
enable_material = off
enable_memoize = off
max_parallel_workers_per_gather = 0
fpbtree.queue_worker = off
wal_consistency_checking = 'generic'
}, allows_streaming => 1);
need_injection_points();
query('CREATE EXTENSION fpbtree');

my $block = query(q{SELECT current_setting('block_size')::int});
my $TIERS = "operation_queue = on, opq_size = ${\($block / 1024)}, queue_tiers = 2";

# A table of 20,000 rows with an index whose tier 1 is a single leaf; multiples of 1,000 are in the main tree.
sub make_table
{
	my ($name, $unique) = @_;
	query(qq{
		CREATE TABLE $name (k int8);
		INSERT INTO $name SELECT i * 1000 FROM generate_series(1, 20000) i;
		CREATE ${\($unique // '')} INDEX ${name}_k ON $name USING fpbtree (k) WITH ($TIERS)});
	return;
}

sub pages_of_tier { my ($index, $tier) = @_; return query("SELECT coalesce((SELECT pages FROM fpbtree_tiers('$index') WHERE tier = $tier), 0)"); }
sub check
{
	my ($name, $what) = @_;
	is_sound("${name}_k", "$what: the index is sound");
	is(query("SELECT count(*), sum(k) FROM $name WHERE k > 0"), query("$BY_TABLE SELECT count(*), sum(k) FROM $name"), "$what: it has all rows");
	is(query("SELECT md5(string_agg(k::text, ',')) FROM (SELECT k FROM $name WHERE k > 0 ORDER BY k DESC) x"),
		query("$BY_TABLE SELECT md5(string_agg(k::text, ',' ORDER BY k DESC)) FROM $name"), "$what: backward, too");
	is(query("SELECT count(*) FROM (SELECT k FROM $name) a WHERE NOT EXISTS (SELECT FROM $name b WHERE b.k = a.k)"), '0', "$what: each is found by its key");
	is(query("SELECT count(*) FROM $name WHERE k = ANY (ARRAY(SELECT k FROM $name WHERE k % 7 < 3))"), query("$BY_TABLE SELECT count(*) FROM $name WHERE k % 7 < 3"), "$what: and by many keys at a time");
	return;
}

# Inserts rows until tier 1 is full and entries of it have moved to tier 2.
my $next = 1;
sub fill_first
{
	my ($name) = @_;
	my $before = query("SELECT coalesce((SELECT moved FROM fpbtree_tiers('${name}_k') WHERE tier = 2), 0)");
	for (1 .. 500)
	{
		query("INSERT INTO $name SELECT (hashint8($next + i)::int8 + 2147483648) % 20000000 / 2 * 2 + 1 FROM generate_series(1, $block / 400) i");
		$next += int($block / 400);
		return 1 if query("SELECT coalesce((SELECT moved FROM fpbtree_tiers('${name}_k') WHERE tier = 2), 0)") > $before;
	}
	return 0;
}

# How they come, and what they show.
make_table('t');
is(query(q{SELECT count(*) FROM fpbtree_tiers('t_k')}), '0', 'no tier at first');
query('INSERT INTO t VALUES (5)');
is(query(q{SELECT tier, pages, entries, filtered, visits FROM fpbtree_tiers('t_k')}), '1|1|1|t|', 'tier 1 comes with the first entry');
ok(fill_first('t'), 'tier 2 comes when that is full');
is(query(q{SELECT tier, pages, page_limit, filtered, visits > 0, moved >= visits, visit_entries > 0 FROM fpbtree_tiers('t_k') WHERE tier = 2}), '2|1|' .
		query(q{SELECT greatest(8, floor(sqrt(pg_relation_size('t_k') / current_setting('block_size')::int))::int)}) . '|t|t|t|t', 'and takes what was most');
is(query(q{SELECT sum(entries) = (SELECT queue_entries FROM fpbtree_stats('t_k')) AND sum(pages) = (SELECT queue_pages FROM fpbtree_stats('t_k')) FROM fpbtree_tiers('t_k')}), 't', 'each entry is in one of them');
is(query(q{SELECT count(*) FROM generate_series(1, pg_relation_size('t_k') / current_setting('block_size')::int - 1) b, fpbtree_page('t_k', b) WHERE flags @> '{queue,tier_2}' AND kind = 'leaf'}), '1', 'a page says which tier it is of');
check('t', 'two tiers');

# It grows to its limit, and then each move to it has to make room there first.
for (1 .. 400)
{
	last if !fill_first('t');
	last if query(q{SELECT queue_visits > 20 FROM fpbtree_stats('t_k')}) eq 't';
}
is(query(q{SELECT pages <= page_limit FROM fpbtree_tiers('t_k') WHERE tier = 2}), 't', 'tier 2 keeps to its limit');
cmp_ok(query(q{SELECT queue_visits FROM fpbtree_stats('t_k')}), '>', 20, 'entries have moved on to the main tree');
check('t', 'both full');

# A scan has its main leaf locked, and has been told that there is no tier 2. One comes, and gets the entries of its key.
{
	make_table('m');
	query('INSERT INTO m VALUES (10001007)');
	my ($scan, $pid) = start_session(['fpbtree-tiers-asked'], 'SELECT count(*) FROM m WHERE k BETWEEN 10001001 AND 10001999');
	wait_at('fpbtree-tiers-asked');

	# (most of what fills tier 1 is for one leaf of tier 2, its only one)
	query("INSERT INTO m SELECT 1 + 500 * i FROM generate_series(1, $block / 4) i");
	cmp_ok(query(q{SELECT moved FROM fpbtree_tiers('m_k') WHERE tier = 2}), '>', 0, 'tier 2 has come, with what tier 1 had');
	wake('fpbtree-tiers-asked');
	is(rest($scan), '1', 'a scan sees what has moved since it asked');
	$scan->quit;
	check('m', 'after that');

	# A move has its leaf of tier 2 locked, and not tier 1's yet. A scan that wants both waits for it with neither locked.
	(my $move, $pid) = start_session(['fpbtree-move-leaf-locked'], "INSERT INTO m SELECT 3 + 500 * i FROM generate_series(1, $block / 4) i");
	wait_at('fpbtree-move-leaf-locked');
	($scan, my $scan_pid) = start_session([], 'SELECT count(*) FROM m WHERE k < 9000000');
	$node->poll_query_until('postgres', "SELECT coalesce(wait_event_type IN ('LWLock', 'Buffer'), false) FROM pg_stat_activity WHERE pid = $scan_pid");
	wake('fpbtree-move-leaf-locked');
	ok(finishes($pid), 'the move goes on');
	ok(finishes($scan_pid), 'and so does the scan');
	$_->quit foreach $scan, $move;
	check('m', 'after that, too');
}

# The same of a uniqueness check, between its looks into the two tiers.
{
	make_table('u', 'UNIQUE');
	query('INSERT INTO u VALUES (10001007)');
	my ($insert, $pid) = start_session(['fpbtree-unique-tier-checked'], 'INSERT INTO u VALUES (10001008)');
	wait_at('fpbtree-unique-tier-checked');
	query("INSERT INTO u SELECT 1 + 500 * i FROM generate_series(1, $block / 4) i");
	cmp_ok(query(q{SELECT moved FROM fpbtree_tiers('u_k') WHERE tier = 2}), '>', 0, 'entries have moved between two looks');
	wake('fpbtree-unique-tier-checked');
	ok(finishes($pid), 'the check goes on');
	$insert->quit;
	foreach my $key (10001007, 10001008, 2001, 800001, 5000)
	{
		like(messages("INSERT INTO u VALUES ($key)"), qr/duplicate key value violates unique constraint "u_k"/, "key $key is refused, in whichever tree it is");
	}
	query(q{CREATE FUNCTION refused(key int8) RETURNS bool LANGUAGE plpgsql AS
		$$ BEGIN INSERT INTO u VALUES (key); RETURN false; EXCEPTION WHEN unique_violation THEN RETURN true; END $$});
	is(query('WITH keys AS MATERIALIZED (SELECT k FROM u WHERE k % 1000 <> 0 ORDER BY random() LIMIT 300) SELECT count(*) FROM keys WHERE NOT refused(k)'), '0', 'and so are others');
	check('u', 'unique');

	# The check looks into the tiers in the order in which entries move. So it finds a key in tier 1, whatever moves meanwhile.
	query('INSERT INTO u VALUES (10001010)');
	($insert, $pid) = start_session(['fpbtree-unique-tier-checked'], 'INSERT INTO u VALUES (10001010)');
	ok(finishes($pid), 'a key in tier 1 is found before there is a look into tier 2');
	$insert->quit;
	is(query('SELECT count(*) FROM u WHERE k = 10001010'), '1', 'and refused');
}

# A move to tier 2 fails when it has split a leaf there. VACUUM completes the split.
{
	my $unfinished = q{SELECT count(*) FROM generate_series(1, pg_relation_size('x_k') / current_setting('block_size')::int - 1) b, fpbtree_page('x_k', b) WHERE flags @> '{tier_2,incomplete_split}'};

	make_table('x');
	fail_at('fpbtree-moved-with-split', "INSERT INTO x SELECT 1 + 1000 * i FROM generate_series(1, $block) i");
	is(query($unfinished), '1', 'a split of a leaf of tier 2 is incomplete') if $block == 8192;
	query('DELETE FROM x WHERE k % 7 = 0');
	query('VACUUM (INDEX_CLEANUP ON) x');
	is(query($unfinished), '0', 'VACUUM has completed it');
	check('x', 'after a move that has failed');
}

# Rows that VACUUM removes are in all three trees.
query(q{DELETE FROM t WHERE k % 3 = 0});
query('VACUUM (INDEX_CLEANUP ON) t');
check('t', 'after VACUUM');
is(query(q{SELECT entries = (SELECT count(*) FROM t) FROM fpbtree_stats('t_k')}), 't', 'no dead entry is left in any tree');
is(query(q{SELECT count(*) FROM fpbtree_tiers('t_k') WHERE entries <> (SELECT sum(p.entries) FROM generate_series(1, pg_relation_size('t_k') / current_setting('block_size')::int - 1) b, fpbtree_page('t_k', b) p
	WHERE kind = 'leaf' AND 'queue' = ANY(flags) AND ('tier_2' = ANY(flags)) = (tier = 2))}), '0', 'they are counted off in their tiers');

# VACUUM has to wait for a scan that has tier 1's leaf pinned, and the last one of tier 2. What moves meanwhile to another
# leaf of tier 2, it finds there.
{
	make_table('v');
	query("INSERT INTO v SELECT 1 + 48000000 / $block * i FROM generate_series(1, $block / 4) i");
	is(query(q{SELECT pages BETWEEN 3 AND page_limit - 1 FROM fpbtree_tiers('v_k') WHERE tier = 2}), 't', 'tier 2 has several leaves, and room for more');
	query('INSERT INTO v SELECT 1 + 2 * i FROM generate_series(1, 50) i');
	query('INSERT INTO v VALUES (19999999)');
	query('DELETE FROM v WHERE k BETWEEN 3 AND 101');
	my $scan = session($node, 'BEGIN', 'DECLARE c CURSOR FOR SELECT k FROM v WHERE k > 0 ORDER BY k DESC', 'FETCH 1 FROM c');
	my ($vacuum, $pid) = start_session([], 'VACUUM (INDEX_CLEANUP ON) v');
	wait_at('BufferPin');
	my $moved = q{SELECT moved FROM fpbtree_tiers('v_k') WHERE tier = 2};
	my $before = query($moved);
	for (my $i = 101; $i < $block && query($moved) == $before; $i += 20)
	{
		query("INSERT INTO v SELECT 1 + 2 * i FROM generate_series($i, $i + 19) i");
	}
	cmp_ok(query($moved), '>=', $before + 50, 'entries move while VACUUM waits');
	$scan->query_safe('COMMIT');
	ok(finishes($pid), 'VACUUM goes on');
	$_->quit foreach $scan, $vacuum;
	is(query(q{SELECT entries = (SELECT count(*) FROM v) FROM fpbtree_stats('v_k')}), 't', 'it has removed what has moved from tier to tier');
	check('v', 'after VACUUM');
}

# Keys so long that leaves have no room for their high fences, in all three trees.
{
	my $long = int($block / 3) - 70;
	$long = 7500 if $long > 7500;
	my $key = "repeat('x', $long) || lpad(i::text, 6, '0')";
	query(qq{
		CREATE TABLE e (i int, k text COLLATE "C");
		ALTER TABLE e ALTER k SET STORAGE plain;
		INSERT INTO e SELECT i, $key FROM generate_series(10, 6000, 10) i;
		CREATE INDEX e_k ON e USING fpbtree (k) WITH (operation_queue = on, opq_size = ${\(16 * $block / 1024)}, queue_tiers = 2);
		INSERT INTO e SELECT i, $key FROM (SELECT i * 797 % 6000 / 10 * 10 + 5 i FROM generate_series(1, 1000) i) x});
	is(query(qq{SELECT count(DISTINCT ('queue' = ANY (flags), 'tier_2' = ANY (flags))) FROM generate_series(1, pg_relation_size('e_k') / $block - 1) b, fpbtree_page('e_k', b)
		WHERE kind = 'leaf' AND 'high_elided' = ANY (flags)}), '3', 'leaves of all trees leave their high fences to the next ones') if $block == 8192;
	is_sound('e_k', 'long keys: the index is sound');
	foreach my $order ('k', 'k DESC')
	{
		my $all = "SELECT md5(string_agg(i::text, ',')) FROM (SELECT i FROM e WHERE k > '' ORDER BY $order, i) x";
		is(query($all), query("$BY_TABLE $all"), "long keys: it has all rows, by $order");
	}
}

# A standby copies tier 1's leaf, then tier 2's: what moves meanwhile is read once.
{
	make_table('s');
	query('INSERT INTO s VALUES (10001007)');
	my $standby = make_standby($node, 'standby');
	use_server($standby);
	my ($scan, $pid) = start_session(['fpbtree-tier-copied'], 'SELECT count(*) FROM s WHERE k BETWEEN 10001001 AND 10001999');
	wait_at('fpbtree-tier-copied');
	use_server($node);
	query("INSERT INTO s SELECT 1 + 500 * i FROM generate_series(1, $block / 4) i");
	cmp_ok(query(q{SELECT moved FROM fpbtree_tiers('s_k') WHERE tier = 2}), '>', 0, 'entries move while a standby looks');
	$node->wait_for_catchup($standby);
	use_server($standby);
	wake('fpbtree-tier-copied');
	is(rest($scan), '1', 'what was copied and has moved is read once');
	$scan->quit;

	# the same when there is a tier 2 already
	use_server($node);
	query('INSERT INTO s VALUES (10001015)');
	$node->wait_for_catchup($standby);
	use_server($standby);
	($scan, $pid) = start_session(['fpbtree-tier-copied'], 'SELECT count(*) FROM s WHERE k BETWEEN 10001010 AND 10001020');
	wait_at('fpbtree-tier-copied');
	use_server($node);
	query("INSERT INTO s SELECT 10001015 + i * j FROM generate_series(10, $block / 2, 2) i, (VALUES (1), (-1)) v (j)");
	$node->wait_for_catchup($standby);
	use_server($standby);
	wake('fpbtree-tier-copied');
	is(rest($scan), '1', 'what moves to a tier that there is, too');
	$scan->quit;
	is($standby->safe_psql('postgres', q{SELECT fpbtree_check('s_k', true)}), '', 'the standby is sound, with two tiers');
	is($standby->safe_psql('postgres', 'SELECT count(*), sum(k) FROM t WHERE k > 0'), $node->safe_psql('postgres', 'SELECT count(*), sum(k) FROM t WHERE k > 0'), 'and has all rows');
	use_server($node);
	stop_servers($standby);
}

# A crash takes what shared memory knew of the tiers. Lookups look into both, until the worker has noted what they have.
my $entries = query(q{SELECT queue_entries FROM fpbtree_stats('t_k')});
crash($node);
is(query(q{SELECT string_agg(filtered::text, ',' ORDER BY tier), sum(entries) FROM fpbtree_tiers('t_k')}), 'false,false|', 'after a crash nothing is known of them');
check('t', 'after a crash');
is(query(q{SELECT queue_entries FROM fpbtree_stats('t_k')}), $entries, 'all is where it was');

# There is no memory for what tells lookups which keys tier 2 lacks: that is said once, and no entry goes there any more.
attach('fpbtree-make-words');
like(messages(q{INSERT INTO t SELECT 1 + 4000 * i FROM generate_series(1, 3000) i}),
	qr/could not make room in shared memory for what tells lookups which keys a tier of an operation queue lacks/, 'no memory');
unlike(messages(q{INSERT INTO t SELECT 3 + 4000 * i FROM generate_series(1, 3000) i}), qr/could not/, 'which is not tried again');
detach('fpbtree-make-words');
is(query(q{SELECT coalesce(moved, 0) FROM fpbtree_tiers('t_k') WHERE tier = 2}), '0', 'what tier 1 has goes to the main tree');
check('t', 'without a filter');
set_and_restart("fpbtree.queue_worker = on\nfpbtree.queue_flush_after = -1\n");
query('INSERT INTO t VALUES (7)');
comes_true('the worker notes what tiers have that have come with the file', q{SELECT count(*) = 2 AND bool_and(filtered) FROM fpbtree_tiers('t_k')});
check('t', 'with a filter again');

# The worker keeps both from getting full, and empties them when nothing comes.
set_and_reload("fpbtree.queue_flush_after = 1s\n");
query('INSERT INTO t SELECT (hashint8(i)::int8 + 2147483648) % 20000000 FROM generate_series(1, 20000) i');
check('t', 'with a worker');
comes_true('it empties and removes both', q{SELECT count(*) = 0 FROM fpbtree_tiers('t_k')});
is(query(q{SELECT queue_pages, queue_entries FROM fpbtree_stats('t_k')}), '0|0', 'nothing is left of them');
check('t', 'emptied');

# So does fpbtree_flush; what goes by way of tier 2 is counted once.
set_and_restart("fpbtree.queue_worker = off\n");
fill_first('t');
$entries = query(q{SELECT queue_entries FROM fpbtree_stats('t_k')});
is(query(q{SELECT count(*) FROM fpbtree_tiers('t_k')}), '2', 'two tiers again');
is(query(q{SELECT fpbtree_flush('t_k')}), $entries, 'fpbtree_flush tells how many entries have moved');
is(query(q{SELECT count(*) FROM fpbtree_tiers('t_k')}), '0', 'and no tier is left');
check('t', 'flushed');

# An index that is to have one tier moves nothing to the second any more, and the worker empties that.
fill_first('t');
query('ALTER INDEX t_k SET (queue_tiers = 1)');
my $before = query(q{SELECT moved FROM fpbtree_tiers('t_k') WHERE tier = 2});
query('INSERT INTO t SELECT (hashint8(i)::int8 + 2147483648) % 20000000 FROM generate_series(1, 3000) i');
is(query(q{SELECT moved FROM fpbtree_tiers('t_k') WHERE tier = 2}), $before, 'what tier 1 has goes to the main tree');
check('t', 'with an option that has changed');
set_and_restart("fpbtree.queue_worker = on\nfpbtree.queue_flush_after = -1\n");
query('INSERT INTO t VALUES (9)');
comes_true('the worker takes tier 2 away', q{SELECT string_agg(tier::text, ',') = '1' FROM fpbtree_tiers('t_k')});
query('INSERT INTO t SELECT (hashint8(-i)::int8 + 2147483648) % 20000000 FROM generate_series(1, 3000) i');
is(query(q{SELECT count(*) FROM fpbtree_tiers('t_k')}), '1', 'which does not come again');
check('t', 'one tier');

# Several keys at a time: the filters tell that none of those in a leaf is in a tier, if none is.  Assertion builds look
# into it half of the times all the same.
set_and_restart('fpbtree.queue_worker = off');
make_table('many');
ok(fill_first('many'), 'entries in both tiers');
my $ANY = 'SELECT k FROM many WHERE k = ANY (ARRAY(SELECT i * 200000 FROM generate_series(1, 100) i))';
my %counted = (forward => $ANY, backward => "$ANY ORDER BY k DESC", joined =>
	  'SELECT many.k FROM (SELECT i * 200000 AS k FROM generate_series(1, 100) i OFFSET 0) p JOIN many ON many.k = p.k');

sub visits
{
	my ($select) = @_;
	my $plan = query("SET enable_bitmapscan = off; EXPLAIN (ANALYZE, BUFFERS, COSTS OFF, TIMING OFF, SUMMARY OFF) $select");
	return $plan =~ /Buffers: shared hit=(\d+)/ ? $1 : die $plan;
}

# a tier of several leaves: some of a scan's keys are there, some are not
query(qq{
	CREATE TABLE wide (k int8);
	INSERT INTO wide SELECT i * 1000 FROM generate_series(1, 20000) i;
	CREATE INDEX wide_k ON wide USING fpbtree (k) WITH (operation_queue = on, opq_size = ${\(8 * $block / 1024)}, queue_tiers = 2);
	CREATE FUNCTION lost(direction text) RETURNS bigint LANGUAGE plpgsql AS \$\$
	DECLARE
		keys int8[];
		n bigint;
		lost bigint := 0;
	BEGIN
		FOR s IN 1 .. 200 LOOP
			keys := ARRAY(SELECT DISTINCT k FROM wide WHERE (hashint8(k)::int8 + s * 7919) % 400 = 0);
			EXECUTE 'SELECT count(DISTINCT k) FROM (SELECT k FROM wide WHERE k = ANY (\$1) ORDER BY k ' || direction || ') x' INTO n USING keys;
			lost := lost + cardinality(keys) - n;
		END LOOP;
		RETURN lost;
	END \$\$});
for (1 .. 40)
{
	query("INSERT INTO wide SELECT (hashint8(${_}00000 + i)::int8 + 2147483648) % 20000000 / 2 * 2 + 1 FROM generate_series(1, $block / 8) i");
	last if query(q{SELECT count(*) = 2 FROM fpbtree_tiers('wide_k') WHERE pages > 3}) eq 't';
}
is(query(q{SELECT count(*) FROM fpbtree_tiers('wide_k') WHERE pages > 3}), '2', 'two tiers of several leaves');
is(query("SELECT lost('$_')"), '0', "several keys at a time: $_") foreach '', 'DESC';

query('VACUUM many');
visits($_) foreach values %counted;
my %with = map { $_ => visits($counted{$_}) } keys %counted;
is(query("SELECT count(*) FROM ($_) x"), '100', 'all are found') foreach values %counted;
$node->restart;
query('SELECT count(*) FROM many');
visits($_) foreach values %counted;
my %without = map { $_ => visits($counted{$_}) } keys %counted;
is(query(q{SELECT bool_or(filtered) FROM fpbtree_tiers('many_k')}), 'f', 'nobody has noted what is in the tiers after a restart');
cmp_ok($with{$_}, '<', $without{$_} * 0.9, "filters spare visits of tiers: $_") foreach sort keys %counted;
is(query("SELECT count(*) FROM ($_) x"), '100', 'all are found') foreach values %counted;
query('SELECT fpbtree_flush(\'many_k\')');

# Without an option, an index that is larger than shared_buffers, and 160 times as large as tier 1, gets a second tier.
sub gets_tiers
{
	my ($name, $first) = @_;
	query("CREATE TABLE $name (k int8); INSERT INTO $name SELECT i * 1000 FROM generate_series(1, 12 * $block) i;
		CREATE INDEX ${name}_k ON $name USING fpbtree (k) WITH (operation_queue = on, opq_size = ${\($first * $block / 1024)}, fillfactor = 10)");
	is(query("SELECT pg_relation_size('${name}_k') / $block BETWEEN 520 AND 2500"), 't', "$name: an index of some pages");
	query("INSERT INTO $name SELECT i * 12000 + 1 FROM generate_series(1, $block * $first / 8) i");
	return query("SELECT string_agg(tier::text, ',' ORDER BY tier) FROM fpbtree_tiers('${name}_k')");
}
set_and_restart("fpbtree.queue_worker = off\nshared_buffers = ${\($block / 1024 * 512)}kB\n");
is(gets_tiers('larger', 2), '1,2', 'it is large enough for two tiers');
is(gets_tiers('slower', 16), '1', 'not if tier 1 is larger');

# fpbtree_flush empties tier 1, too, if tier 2 is no larger, and full; and counts what makes room there.
set_and_restart("shared_buffers = ${\($block / 1024 * 64)}kB\n");
my $quick = query('SHOW debug_assertions') eq 'on' ? 'SET fpbtree.verify_changes = off;' : '';
query(qq{$quick CREATE TABLE f (k int8); INSERT INTO f SELECT i * 1000 FROM generate_series(1, 60 * $block) i;
	CREATE INDEX f_k ON f USING fpbtree (k) WITH (operation_queue = on, opq_size = ${\($block / 1024 * 160)}, queue_tiers = 2);
	INSERT INTO f SELECT (hashint8(i)::int8 + 2147483648) % (60000 * $block) FROM generate_series(1, 24 * $block) i});
is(query(q{SELECT count(*) FROM fpbtree_tiers('f_k') WHERE pages >= page_limit * 0.9}), '2', 'both tiers are full');
$entries = query(q{SELECT queue_entries FROM fpbtree_stats('f_k')});
is(query("$quick SELECT fpbtree_flush('f_k')"), $entries, 'fpbtree_flush moves all there is');
is(query(q{SELECT count(*) FROM fpbtree_tiers('f_k')}), '0', 'and leaves no tier');
check('f', 'flushed, with few buffers');
set_and_restart("shared_buffers = ${\($block / 1024 * 8192)}kB\n");
is(gets_tiers('cached', 2), '1', 'nor if it fits into memory');

$node->stop;
done_testing();
