#
# Dead versions of updated rows, which are removed from the indexes without
# VACUUM: nobody who can still see them may miss them, on the primary or on a
# standby, and sessions that remove them beside each other and VACUUM don't get
# into each other's way.  (sql/versions.sql has more of them.)
#
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/lib";
use Servers;
use Test::More;

my $primary = start_server(
	'primary', q{
wal_consistency_checking = generic
wal_keep_size = 4GB
enable_bitmapscan = off
max_parallel_workers_per_gather = 0
}, allows_streaming => 1);
# (sql/versions has each change verified)
trust_changes($primary);

# The pages of the table are loosely filled, so that nothing but the removal of
# entries has a reason to prune them.
my $rows = 800;
query(qq{
	CREATE EXTENSION fpbtree;
	CREATE TABLE t (id int, r int8, x text COLLATE "C", v int, u int) WITH (fillfactor = 10);
	INSERT INTO t SELECT i, hashint8extended(i, 7), md5(i::text), abs(hashint4(i)) % 20, 0 FROM generate_series(1, $rows) i;
	ALTER TABLE t RESET (fillfactor);
	CREATE UNIQUE INDEX t_id ON t USING fpbtree (id);
	CREATE INDEX t_r ON t USING fpbtree (r);
	CREATE INDEX t_x ON t USING fpbtree (x);
	CREATE INDEX t_v ON t USING fpbtree (v);
	CREATE INDEX t_u ON t USING fpbtree (u);
	CREATE PROCEDURE churn(rounds int) LANGUAGE plpgsql AS \$\$
	BEGIN
		FOR round IN 1 .. rounds LOOP
			FOR part IN 0 .. 19 LOOP
				UPDATE t SET u = u + 1 WHERE (id * 7 + round) % 20 = part;
				COMMIT;
			END LOOP;
		END LOOP;
	END \$\$;
	CREATE VIEW entries AS SELECT relname, entries FROM pg_class c, fpbtree_stats(c.oid)
		WHERE relname IN ('t_id', 't_r', 't_x', 't_v');
});

# Two standbys: one waits for its queries before it replays what would take
# their rows from them, the other cancels them.
my %standbys;
foreach my $kind (qw(waiting canceling))
{
	$standbys{$kind} = make_standby($primary, $kind, "hot_standby_feedback = off\nmax_standby_streaming_delay = "
		. ($kind eq 'waiting' ? '-1' : '100ms') . "\n");
	$primary->wait_for_replay_catchup($standbys{$kind});
}

# What the session's snapshot sees by each index, and without any.
my @CONDITIONS = ('id > 0', 'r > -9223372036854775807', "x > ''", 'v >= 0', 'u >= 0');
my $answer = "SELECT count(*) || ' ' || count(DISTINCT id) || ' ' || sum(id) || ' ' || sum(u) FROM t";

my @SNAPSHOT = ('BEGIN ISOLATION LEVEL REPEATABLE READ', 'SET LOCAL enable_seqscan = off');

my $old = query($answer);
my $session = session($primary, @SNAPSHOT, 'DECLARE c CURSOR FOR SELECT id, u FROM t WHERE r > -9223372036854775807 ORDER BY r');
is($session->query_safe("$answer WHERE $_"), $old, "primary, before: $_") foreach @CONDITIONS;
query('CALL churn(2)');
is(query("SELECT string_agg(DISTINCT entries::text, ' ') FROM entries"), $rows * 3, 'nothing is removed that a snapshot on the primary can see');
is($session->query_safe("$answer WHERE $_"), $old, "primary, old snapshot: $_") foreach @CONDITIONS;
my @fetched = split /\n/, $session->query_safe('FETCH ALL FROM c');
is(scalar(grep { /\|0$/ } @fetched), $rows, 'so does the cursor');
commit($session);
$primary->wait_for_replay_catchup($_) foreach values %standbys;

$old = query($answer);
my %sessions;
foreach my $kind (sort keys %standbys)
{
	$sessions{$kind} = session($standbys{$kind}, @SNAPSHOT);
	is($sessions{$kind}->query_safe("$answer WHERE $_"), $old, "$kind standby, before: $_") foreach @CONDITIONS;
}
# so often that the leaves of texts are full, too, where the versions of a row share its key
query('CALL churn(16)');
is(query("SELECT string_agg(relname, ' ' ORDER BY relname) FROM entries WHERE entries < $rows * 18"), 't_id t_r t_v t_x', 'entries are removed without VACUUM');
is(query('SELECT count(fpbtree_check(indexrelid, true)) FROM pg_index JOIN pg_class c ON c.oid = indexrelid WHERE relname ~ \'^t_\''),
	5, 'the indexes are sound');

# One replays up to the first of its rows (if it did not stop there, it would
# be done at some time), and all are found.
my $end = query('SELECT pg_current_wal_insert_lsn()');
$standbys{waiting}->poll_query_until('postgres', qq{
	SELECT pg_last_wal_replay_lsn() >= '$end' OR EXISTS (SELECT FROM pg_stat_activity
		WHERE backend_type = 'startup' AND wait_event LIKE 'RecoveryConflict%')})
  or die 'the standby neither waits nor is done';
is($sessions{waiting}->query_safe("$answer WHERE $_"), $old, "waiting standby: $_") foreach @CONDITIONS;
$sessions{waiting}->query_safe('SET LOCAL enable_seqscan = on');
is($sessions{waiting}->query_safe($answer), $old, 'waiting standby: without index');
commit($sessions{waiting});

# In the other, the session with the snapshot is gone before the rows are.
$standbys{canceling}->wait_for_log(qr/FATAL:.* due to conflict with recovery/);
$sessions{canceling}->{run}->finish;

my $new = query($answer);
foreach my $kind (sort keys %standbys)
{
	$primary->wait_for_replay_catchup($standbys{$kind});
	foreach my $condition (@CONDITIONS)
	{
		is($standbys{$kind}->safe_psql('postgres', "$BY_INDEX $answer WHERE $condition"),
			$new, "$kind standby, a new snapshot: $condition");
	}
}

$_->stop foreach values %standbys;

# Hot rows, by several sessions, with and without VACUUM.
query(q{
	CREATE TABLE hot (id int, r int8, x text COLLATE "C", v int, u int) WITH (fillfactor = 50);
	INSERT INTO hot SELECT i, hashint8extended(i, 7), md5(i::text), i % 7, 0 FROM generate_series(1, 400) i;
	CREATE UNIQUE INDEX hot_id ON hot USING fpbtree (id);
	CREATE INDEX hot_r ON hot USING fpbtree (r);
	CREATE INDEX hot_x ON hot USING fpbtree (x);
	CREATE INDEX hot_v ON hot USING fpbtree (v);
	CREATE INDEX hot_u ON hot USING fpbtree (u);
});
set_and_reload("lock_timeout = '60s'\nstatement_timeout = '120s'\nwal_consistency_checking = ''\n");
foreach my $vacuum (0, 1)
{
	$primary->pgbench(
		'--no-vacuum --client=4 --transactions=1000',
		0, [qr/number of failed transactions: 0 /], [qr/^$/],
		$vacuum ? 'hot rows, with VACUUM' : 'hot rows',
		{
			"041_update_$vacuum\@97" => q{
				\set id random_zipfian(1, 400, 1.2)
				UPDATE hot SET u = u + 1 WHERE id = :id;
			},
			"041_abort_$vacuum\@2" => q{
				\set id random(1, 400)
				BEGIN;
				UPDATE hot SET u = u + 100000 WHERE id = :id;
				ROLLBACK;
			},
			"041_vacuum_$vacuum\@1" => $vacuum ? 'VACUUM hot' : 'SELECT 1',
		});
	foreach my $condition (@CONDITIONS)
	{
		my $sum = "SELECT count(*) || ' ' || sum(id) || ' ' || sum(u) FROM hot";
		is(query("$BY_INDEX $sum WHERE $condition"), query("$BY_TABLE $sum"), "hot rows: $condition");
	}
	is(query("SELECT fpbtree_check(c.oid, true) FROM pg_class c WHERE relname ~ '^hot_'"), "\n\n\n\n", 'the indexes are sound');
}

# Few rows that are updated again and again: their many versions are all over the table, a few on each page, and do not
# gather in the index. No hints come before the commits are on disk.
foreach my $am ('fpbtree', 'btree')
{
	query(qq{
		CREATE TABLE few_$am (id int, u int);
		INSERT INTO few_$am SELECT i, i FROM generate_series(1, 80) i;
		CREATE INDEX few_${am}_id ON few_$am USING $am (id);
		CREATE INDEX few_${am}_u ON few_$am USING btree (u);
		SET synchronous_commit = off;
		SET wal_consistency_checking = '';
		SET enable_seqscan = off;
		DO \$\$ BEGIN
			FOR i IN 1 .. 20000 LOOP
				UPDATE few_$am SET u = u + 1 WHERE id = 1 + abs(hashint4(i)) % 80;
				COMMIT;
			END LOOP;
		END \$\$;
	});
}
cmp_ok(query(q{SELECT pg_relation_size('few_fpbtree_id')}), '<=', query(q{SELECT pg_relation_size('few_btree_id')}), 'an index of few rows does not grow');
is_sound('few_fpbtree_id', 'it is sound');

# Many rows with the same few values: a leaf of words that has given up entries is made afresh before it is split, for
# what has gone is rarely where there is no room.
foreach my $am ('fpbtree', 'btree')
{
	query(qq{
		CREATE TABLE same_$am (id int, v int, u int);
		INSERT INTO same_$am SELECT i, i % 20, 0 FROM generate_series(1, 5000) i;
		CREATE INDEX same_${am}_id ON same_$am USING btree (id);
		CREATE INDEX same_${am}_v ON same_$am USING $am (v);
		CREATE INDEX same_${am}_u ON same_$am USING btree (u);
		SET synchronous_commit = off;
		SET wal_consistency_checking = '';
		SET enable_seqscan = off;
		DO \$\$ BEGIN
			FOR i IN 1 .. 25000 LOOP
				UPDATE same_$am SET u = u + 1 WHERE id = 1 + abs(hashint4(i)) % 5000;
				COMMIT;
			END LOOP;
		END \$\$;
	});
}
cmp_ok(query(q{SELECT pg_relation_size('same_fpbtree_v')}), '<=', query(q{SELECT pg_relation_size('same_btree_v')}), 'nor does one of few values');
is_sound('same_fpbtree_v', 'it is sound, too');
stop_servers($primary, values %standbys);
done_testing();
