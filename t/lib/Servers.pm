#
# Servers.pm
#	  Servers under test: their start, crash and standbys, queries, sessions that
#	  stay open, what has to be waited for, and what is asked of an index or of a
#	  server's log at the end.
#
# A function that is given no server means the current one.  That is the first
# that start_server() has made, unless use_server() has named another; its
# database is "postgres", unless that has named another.
#
package Servers;

use strict;
use warnings FATAL => 'all';

use Exporter 'import';
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time usleep);

our @EXPORT = qw($BY_INDEX $BY_TABLE $QUEUE_WORKERS start_server use_server server set_and_reload set_and_restart trust_changes
  start_standby make_standby crash kill_one kill_everything query messages verbose_messages session commit
  start_statement rest finishes wait_at comes_true is_sound complaints stop_servers seed_choices);

# Settings of a query that is to use indexes, or none.
our $BY_INDEX = 'SET enable_seqscan = off; SET enable_bitmapscan = off; SET enable_sort = off;';
our $BY_TABLE = 'SET enable_seqscan = on; SET enable_indexscan = off; SET enable_indexonlyscan = off; SET enable_bitmapscan = off;';

# The processes that empty operation queues.
our $QUEUE_WORKERS = q{FROM pg_stat_activity WHERE backend_type = 'fpbtree queue worker'};

my ($current, $database) = (undef, 'postgres');

sub server { return $current; }
sub use_server { my ($node, $db) = @_; ($current, $database) = ($node, $db // 'postgres'); return; }

# ---- start and end ----

# Makes and starts a server.  Autovacuum is off if the settings don't say
# otherwise.  The other arguments are those of init().
sub start_server
{
	my ($name, $settings, %init) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);

	init_cluster($node, %init);
	$node->append_conf('postgresql.conf', "autovacuum = off\n" . ($settings // ''));
	$node->start;
	$current //= $node;
	return $node;
}

# Makes a server's cluster.  dev/test has one that is copied, with the settings that
# FPB_INITDB_OPTIONS gives to one which has to be made by other options.
sub init_cluster
{
	my ($node, %init) = @_;

	if ($init{extra} || $init{no_data_checksums})
	{
		$init{extra} = [ @{ $init{extra} // [] }, split ' ', $ENV{FPB_INITDB_OPTIONS} // '' ];
	}
	$node->init(%init);
	return;
}

sub set_and_reload
{
	my ($settings) = @_;
	$current->append_conf('postgresql.conf', $settings);
	$current->reload;
	return;
}

sub set_and_restart
{
	my ($settings) = @_;
	$current->append_conf('postgresql.conf', $settings);
	$current->restart;
	return;
}

# Assertion builds verify each change of a page.  They don't from now on: it
# takes too long, or pages are damaged on purpose.
sub trust_changes
{
	my ($node) = @_;
	return if $node->safe_psql('postgres', 'SHOW debug_assertions') eq 'off';
	$node->append_conf('postgresql.conf', 'fpbtree.verify_changes = off');
	$node->restart;
	return;
}

# Starts a standby and waits until it answers queries, which pg_ctl does not.
sub start_standby
{
	my ($node) = @_;

	$node->start;
	for (1 .. 1800)
	{
		return if system('pg_isready', '--quiet', '--host', $node->host, '--port', $node->port) == 0;
		select undef, undef, undef, 0.1;
	}
	die 'the standby does not answer';
}

# Makes and starts a standby of a server.  The first one takes a base backup for
# all of them.
sub make_standby
{
	my ($primary, $name, $settings) = @_;
	my $standby = PostgreSQL::Test::Cluster->new($name);

	$primary->backup('base') if !-d $primary->backup_dir . '/base';
	$standby->init_from_backup($primary, 'base', has_streaming => 1);
	$standby->append_conf('postgresql.conf', $settings // '');
	start_standby($standby);
	return $standby;
}

# Ends a server without a checkpoint, and starts it again.
sub crash
{
	my $node = $_[0] // $current;
	$node->stop('immediate');
	$node->start;
	return;
}

# Kills one process of a server, which then recovers by itself.
sub kill_one
{
	my ($pid) = @_;
	set_and_reload("restart_after_crash = on\n");
	kill 'KILL', $pid;
	# psql may end before it is given a query, with a server that is just going down
	for (my $tries = 0; !eval { $current->poll_query_until('postgres', 'SELECT true') }; $tries++)
	{
		die 'the server did not come back' if $tries >= 100;
		usleep(100_000);
	}
	return;
}

# Kills all processes of the server with SIGKILL.  The children go first, while
# the postmaster is stopped: a leader of parallel workers that sees the postmaster
# dead fails twice and, with assertions, leaves a report of a crash that is the
# server's own (17 and 18).
sub kill_everything
{
	my ($node) = @_;
	my ($pid) = split /\n/, slurp_file($node->data_dir . '/postmaster.pid');
	my @children = split ' ', slurp_file("/proc/$pid/task/$pid/children");

	kill 'STOP', $pid;    # no more children
	push @children, split ' ', slurp_file("/proc/$pid/task/$pid/children");
	kill 'KILL', @children;
	$node->kill9;
	# they have the shared memory until they are gone
	for my $child (@children)
	{
		for (1 .. 1000) { last unless kill 0, $child; select undef, undef, undef, 0.01; }
	}
	return;
}

# ---- queries ----

sub query { my ($sql, $db) = @_; return $current->safe_psql($db // $database, $sql); }

# What statements say besides their answers: an error, warnings, notices.
sub messages
{
	my ($sql, $db) = @_;
	my (undef, undef, $messages) = $current->psql($db // $database, $sql);
	return $messages;
}

# The same with SQLSTATEs.
sub verbose_messages { my ($sql) = @_; return messages("\\set VERBOSITY verbose\n$sql"); }

# ---- sessions that stay open ----

# Opens a session on a server, and runs statements in it.
sub session
{
	my ($node, @statements) = @_;
	my $session = $node->background_psql('postgres');

	$session->query_safe($_) foreach @statements;
	return $session;
}

# Ends a session with its transaction.
sub commit
{
	my ($session) = @_;
	$session->query_safe('COMMIT');
	$session->quit;
	return;
}

# Starts statements in a session, and does not wait for their end.  (There may be
# an answer already.)
sub start_statement
{
	my ($session, $sql) = @_;
	$session->{said} = $session->query_until(qr/started\n/, "\\echo started\n$sql;\n") =~ s/.*started\n//sr;
	return;
}

# What a session answers to the statements that start_statement() has started.
sub rest { my ($session) = @_; return ($session->{said} . $session->query(q{\echo})) =~ s/\n+$//r; }

# Does a session come to the end of its statement?
sub finishes
{
	my ($pid) = @_;
	return $current->poll_query_until('postgres', "SELECT state LIKE 'idle%' FROM pg_stat_activity WHERE pid = $pid");
}

# Waits until a session waits for an event: an injection point, or a lock.
sub wait_at { my ($event) = @_; $current->wait_for_event('client backend', $event); return; }

# ---- tests ----

# Does a condition become true?  One test.
sub comes_true
{
	my ($name, $sql, $db) = @_;
	ok($current->poll_query_until($db // $database, $sql), $name);
	return;
}

# Is an index sound, with an entry for each row?  One test.
sub is_sound
{
	my ($index, $name, $db) = @_;
	my ($status, $stdout, $stderr) = $current->psql($db // $database, "SELECT fpbtree_check('$index', true)");
	is($status == 0 ? $stdout : $stderr, '', $name);
	return;
}

# What a server has logged, from a place in its log on, that no test is to leave
# there, or this one is not.  (Some tests kill processes with SIGKILL.)
sub complaints
{
	my ($node, $from, $more) = @_;
	my $complaint = qr/TRAP:|PANIC:|inconsistent page|was terminated by signal (?!9)/;

	$complaint = qr/$complaint|$more/ if defined $more;
	return '' unless -e $node->logfile;
	return join "\n", grep { /$complaint/ } split /\n/, slurp_file($node->logfile, $from // 0);
}

# Stops servers, and looks for complaints in their logs.  One test for each.
sub stop_servers
{
	foreach my $node (@_)
	{
		$node->stop;
		is(complaints($node), '', 'no complaint in the log of ' . $node->name);
	}
	return;
}

# Seeds the choices made by rand(): with FPB_SEED, or from the clock.
sub seed_choices
{
	my $seed = $ENV{FPB_SEED} || int(time() * 1000) % 1e9;

	srand($seed);
	note("FPB_SEED=$seed");
	return $seed;
}

1;
