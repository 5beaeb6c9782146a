#
# Readers that prune a page of the table set it all-visible (since 19): index-only
# scans on a standby go by that, and one whose snapshot is older than the newest
# of the page's rows doesn't see them.
#
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/lib";
use Servers;
use Test::More;

# (Readers set the bit only of a page that is to be written anyway, and has no image due.)
my $primary = start_server(
	'primary', q{
bgwriter_lru_maxpages = 0
checkpoint_timeout = 1d
max_wal_size = 10GB
wal_consistency_checking = 'generic'
}, allows_streaming => 1);
my $readers_set = $primary->pg_version->major >= 19;

query('CREATE EXTENSION fpbtree; CREATE EXTENSION pg_visibility');
my $standby = make_standby(
	$primary, 'standby', q{
hot_standby_feedback = off
max_standby_streaming_delay = -1
enable_seqscan = off
enable_bitmapscan = off
});

# Waits until the standby has replayed what a reader has logged, too, which has no commit to flush it.
sub catch_up
{
	query(q{SELECT pg_logical_emit_message(true, 'readers', '')});
	$primary->wait_for_catchup($standby);
	return;
}

query(q{CREATE TABLE t (k int, pad text) WITH (autovacuum_enabled = off);
CREATE INDEX t_k ON t USING fpbtree (k);
INSERT INTO t SELECT i, repeat('x', 200) FROM generate_series(1, 2000) i});
$primary->wait_for_catchup($standby);

my $count = 'SELECT count(*) FROM t WHERE k >= 0';
my $visible = q{SELECT count(*) FROM pg_visibility_map('t') WHERE all_visible};
like($standby->safe_psql('postgres', "EXPLAIN $count"), qr/Index Only Scan/, 'an index-only scan');

# An old snapshot on the standby; then there are more rows, and a reader.
my $old = session($standby, 'BEGIN ISOLATION LEVEL REPEATABLE READ');
is($old->query_safe($count), 2000, 'rows there are');
query(q{INSERT INTO t SELECT i, repeat('x', 200) FROM generate_series(2001, 4000) i});
query('SELECT count(*) FROM t');
is(query($visible) > 0, $readers_set, 'the reader has set pages all-visible, in 19');
my $lsn = $primary->lsn('insert');
if ($readers_set)
{
	ok($standby->poll_query_until('postgres', q{SELECT wait_event IN ('RecoveryConflictSnapshot') FROM pg_stat_activity WHERE backend_type = 'startup'}),
		'replay waits for the old snapshot');
}
is($old->query_safe($count), 2000, 'the old snapshot sees what it saw');
commit($old);

# A new snapshot finds the bits set, and rows that it need not look at.
$primary->wait_for_catchup($standby, 'replay', $lsn);
is($standby->safe_psql('postgres', $count), 4000, 'a new one sees all');
is($standby->safe_psql('postgres', $visible) > 0, $readers_set, 'the bits are there on the standby');

# A row that is updated in its page, which a reader prunes, so that the page is all-visible again; one that is deleted,
# whose line pointer keeps it from being so.  Their entries are in the index all the time.
query(q{UPDATE t SET pad = 'y' WHERE k BETWEEN 1 AND 10; DELETE FROM t WHERE k BETWEEN 101 AND 110});
$primary->wait_for_catchup($standby);
my $cursor = session($standby, 'BEGIN', 'DECLARE c CURSOR FOR SELECT k FROM t WHERE k BETWEEN 1 AND 200');
is($cursor->query_safe('FETCH 5 FROM c'), join("\n", 1 .. 5), 'a scan is in the midst of a leaf');
query('SELECT count(*) FROM t');
catch_up();
is($cursor->query_safe('FETCH 100 FROM c'), join("\n", 6 .. 100, 111 .. 115), 'it goes on, with the rows that there are');
query('VACUUM t');
catch_up();
is($cursor->query_safe('FETCH ALL FROM c'), join("\n", 116 .. 200), 'and on');
commit($cursor);
is($standby->safe_psql('postgres', $count), 3990, 'after VACUUM');
is($standby->safe_psql('postgres', q{SELECT fpbtree_check('t_k', true)}), '', 'the index is sound');

$standby->promote;
is($standby->safe_psql('postgres', $count), 3990, 'and after a promotion');
stop_servers($standby, $primary);
done_testing();
