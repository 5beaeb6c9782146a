#
# Statements that insert many rows collect their entries (fpbtree.insert_batch_size),
# and are made to fail, to be ended or killed while these are put in.  Transactions
# that are prepared; leaves that have to be read; a standby.
#
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/lib";
use InjectionPoints;
use Servers;
use Test::More;
use Workload;

my $node = start_server(
	'batch', q{
shared_buffers = 32MB
max_wal_size = 4GB
wal_keep_size = 2GB
max_prepared_transactions = 5
fpbtree.queue_worker = off
}, allows_streaming => 1);
create_workload($node);
set_and_reload("wal_consistency_checking = all\n");

# 3,000 rows are there, and 1,500 come, half of whose keys are new.
query(q{
CREATE TABLE b (k int, t text COLLATE "C");
CREATE INDEX b_k ON b USING fpbtree (k);
CREATE INDEX b_t ON b USING fpbtree (t);
CREATE FUNCTION fill() RETURNS void LANGUAGE sql AS $$
	INSERT INTO b SELECT i * 7919 % 9001, 'row ' || i * 7919 % 9001 FROM generate_series(1, 3000) i $$;
});
my $rows = q{SELECT i * 104729 % 9001, 'row ' || i * 104729 % 9001 FROM generate_series(1, 1500) i};
my $base = 0;

# What was put in singly, or by others, is there in the beginning.
sub begin
{
	query('TRUNCATE b; SELECT fill()');
	$base = query(q{SELECT entries FROM fpbtree_stats('b_k')});
	return;
}

# Are the indexes sound, and has the table so many more rows, which they find?
sub check
{
	my ($name, $more) = @_;
	is_sound($_, "$name: $_ is sound") foreach 'b_k', 'b_t';
	my $answer = q{SELECT count(*), sum(hashtext(x::text)) FROM (SELECT %s AS x FROM b WHERE %1$s IS NOT NULL ORDER BY 1 OFFSET 0) s};
	foreach my $column ('k', 't')
	{
		is(query("$BY_INDEX " . sprintf $answer, $column), query("$BY_TABLE " . sprintf $answer, $column), "$name: $column answers as the table does");
	}
	is(query('SELECT count(*) FROM b'), 3000 + $more, "$name: the rows") if defined $more;
	return;
}

# A statement that has put in the entries of some leaves of b_k, not of all.
sub start_in_the_middle
{
	my ($sql, @before) = @_;
	my ($session, $pid) = start_session(['fpbtree-batch-leaf'], $sql, @before);

	for (1 .. 200)
	{
		wait_at('fpbtree-batch-leaf');
		return ($session, $pid) if query(q{SELECT entries FROM fpbtree_stats('b_k')}) > $base + 300;
		# (it may have gone on already)
		$node->psql('postgres', q{SELECT injection_points_wakeup('fpbtree-batch-leaf')});
	}
	die 'the statement does not come to the middle';
}

# The SQLSTATE of the error that a session's statement has ended with.
sub outcome
{
	my ($session, $pid) = @_;
	die 'the statement does not end' unless finishes($pid);
	rest($session);
	my $state = $session->query('\echo :LAST_ERROR_SQLSTATE') =~ s/\s+//gr;
	$session->{stderr} = '';
	return $state;
}

SKIP:
{
	skip 'this server has no injection points' unless create_injection_points();

	# Reads the index at a row, and goes on if that fails.
	query(q{
	CREATE FUNCTION count_anyway(i int, at int) RETURNS int LANGUAGE plpgsql SET enable_seqscan = off AS $$
	DECLARE
		n int;
	BEGIN
		IF i = at THEN
			SELECT count(*) INTO n FROM b WHERE k >= 0;
		END IF;
		RETURN n;
	EXCEPTION WHEN OTHERS OR query_canceled THEN
		RETURN -1;
	END $$;});

	# What may end it: an error, ...
	sub raise_error
	{
		detach('fpbtree-batch-leaf');
		attach('fpbtree-batch-leaf', 'error');
		wake_once('fpbtree-batch-leaf');
		$node->poll_query_until('postgres', q{SELECT count(*) = 0 FROM pg_stat_activity WHERE wait_event = 'fpbtree-batch-leaf'});
		return;
	}
	sub cancel { my ($pid) = @_; query("SELECT pg_cancel_backend($pid)"); return; }

	foreach my $how ('an error', 'a cancellation')
	{
		begin();
		my ($session, $pid) = start_in_the_middle("INSERT INTO b $rows");
		$how eq 'an error' ? raise_error() : cancel($pid);
		is(outcome($session, $pid), $how eq 'an error' ? 'XX000' : '57014', "$how at a statement's end");
		detach('fpbtree-batch-leaf');
		check("$how at a statement's end", 0);
		$session->quit;

		# The function is called at the last row but 700, or at the last one.
		foreach my $at (800, 1500)
		{
			begin();
			($session, $pid) = start_in_the_middle("INSERT INTO b $rows WHERE count_anyway(i, $at) IS DISTINCT FROM 0", 'BEGIN', 'SAVEPOINT a');
			$how eq 'an error' ? raise_error() : cancel($pid);
			is(outcome($session, $pid), '55000', "$how that a function catches at row $at: the statement fails");
			$node->psql('postgres', q{SELECT injection_points_detach('fpbtree-batch-leaf')});
			$session->query_safe('ROLLBACK TO a');
			$session->query_safe("INSERT INTO b $rows");
			$session->query_safe('COMMIT');
			check("$how that a function catches at row $at, and the statement anew", 1500);
			$session->quit;
		}
	}

	begin();
	my ($session, $pid) = start_session(['fpbtree-batch-leaf'], "INSERT INTO b $rows", q{SET statement_timeout = '1s'});
	is(outcome($session, $pid), '57014', 'a timeout');
	detach('fpbtree-batch-leaf');
	check('after a timeout', 0);
	$session->quit;

	begin();
	($session, $pid) = start_in_the_middle("INSERT INTO b $rows");
	query("SELECT pg_terminate_backend($pid)");
	comes_true('a session is ended', "SELECT count(*) = 0 FROM pg_stat_activity WHERE pid = $pid");
	check('after the end of a session', 0);
	eval { $session->quit };
	query('VACUUM b');
	query("INSERT INTO b $rows");
	check('after the end of a session, and VACUUM', 1500);

	# Killed, with all that has been put in logged; and with changed pages written before or not.
	foreach my $checkpoint (0, 1)
	{
		begin();
		($session, $pid) = start_in_the_middle("INSERT INTO b $rows");
		query('CHECKPOINT') if $checkpoint;
		query('CREATE TABLE flushed (); DROP TABLE flushed');
		kill_one($pid);
		check("killed, checkpoint: $checkpoint", 0);
		cmp_ok(query(q{SELECT entries FROM fpbtree_stats('b_k')}), '>', $base + 300, 'the entries have been put in');
		eval { $session->quit };
		query('VACUUM b');
		query("INSERT INTO b $rows");
		check("killed, checkpoint: $checkpoint, and VACUUM", 1500);
	}
}

# Prepared transactions, which a crash leaves.
foreach my $end ('COMMIT', 'ROLLBACK')
{
	begin();
	query("BEGIN; INSERT INTO b $rows; UPDATE b SET k = k + 10000 WHERE k < 1000; SAVEPOINT a; INSERT INTO b $rows; PREPARE TRANSACTION 'p'");
	check("before $end PREPARED", 0);
	crash();
	query("$end PREPARED 'p'");
	check("after $end PREPARED", $end eq 'COMMIT' ? 3000 : 0);
}

# A standby replays all that.
my $standby = make_standby($node, 'batch_standby');
# what is verified of each change would take most of the time here
query(q{
LOAD 'fpbtree';
DO $$ BEGIN PERFORM set_config(name, 'off', false) FROM pg_settings WHERE name = 'fpbtree.verify_changes'; END $$;
SELECT w_insert(2000, false);
UPDATE w SET i4 = -i4, few = few + 1, n = i8, fewt = 'changed ' || few WHERE i4 % 3 = 0;
DELETE FROM w WHERE i8 % 7 = 0;
VACUUM w;
SELECT w_insert(2000, true);
SET fpbtree.insert_batch_size = 64;
SELECT w_insert(2000, false);
UPDATE w SET b = b + 1, tc = tc || 'a', u = md5(u::text)::uuid WHERE i4 % 4 = 0;
});
begin();
query("INSERT INTO b $rows");
check_indexes($node, 'the primary');
$node->wait_for_replay_catchup($standby);
is_deeply(index_answers($standby, 'index'), index_answers($node, 'table'), 'the standby agrees');
use_server($standby);
check('the standby', 1500);
use_server($node);
stop_servers($standby);

# Few buffers, so that leaves have to be read: they are read ahead, or get their entries by way of the operation queue.
set_and_restart("shared_buffers = 1MB\nwal_consistency_checking = ''\n");
query(q{
CREATE TABLE cold (k int, u uuid, t text COLLATE "C");
INSERT INTO cold SELECT i * 7919 % 90001, md5(i::text)::uuid, md5((-i)::text) FROM generate_series(1, 30000) i;
CREATE INDEX cold_k ON cold USING fpbtree (k);
CREATE INDEX cold_u ON cold USING fpbtree (u) WITH (operation_queue = off);
CREATE INDEX cold_t ON cold USING fpbtree (t) WITH (operation_queue = on);
});
foreach my $size (64, 4096)
{
	query("SET fpbtree.insert_batch_size = $size; INSERT INTO cold SELECT i * 104729 % 90001, md5((i * $size)::text)::uuid, md5((i * $size + 1)::text) FROM generate_series(1, 3000) i");
	query("SET fpbtree.insert_batch_size = $size; UPDATE cold SET k = k + 1, u = md5(u::text)::uuid, t = md5(t) WHERE k % 30 = 0");
	foreach my $column ('k', 'u', 't')
	{
		is_sound("cold_$column", "leaves that have to be read, $size kB: cold_$column is sound");
		my $answer = "SELECT count(*), md5(string_agg($column\::text, ',')) FROM (SELECT $column FROM cold ORDER BY $column OFFSET 0) s";
		is(query("$BY_INDEX $answer"), query("$BY_TABLE $answer"), "leaves that have to be read, $size kB: $column answers as the table does");
	}
}
is(query(q{SELECT string_agg((queue_entries > 0)::text, ',' ORDER BY i) FROM unnest('{cold_k,cold_u,cold_t}'::regclass[]) i, fpbtree_stats(i)}), 'true,false,true', 'entries are in the queue where it is used');

stop_servers($node);
done_testing();
