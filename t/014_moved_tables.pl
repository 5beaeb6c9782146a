#
# Random histories of tables and indexes that are moved, emptied and made anew
# amidst asynchronous commits, where all that is not logged (wal_level = minimal),
# and a crash after each: the index has to find the rows that the table then has.
#
# FPB_SEED          the seed of all random choices
# FPB_MOVED_TABLES  so many histories
#
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/lib";
use Servers;
use Test::More;

my $crashes = $ENV{FPB_MOVED_TABLES} || 25;
seed_choices();

# With checksums the first hint after a checkpoint makes an image of the page, which has no hints.
my $node = start_server(
	'moved_tables', q{
wal_level = minimal
max_wal_senders = 0
synchronous_commit = off
wal_writer_delay = 10s
bgwriter_lru_maxpages = 0
allow_in_place_tablespaces = on
enable_bitmapscan = off
enable_seqscan = off
log_min_messages = warning
}, rand() < 0.8 ? (no_data_checksums => 1) : ());
query("CREATE EXTENSION fpbtree; CREATE TABLESPACE a LOCATION ''; CREATE TABLESPACE b LOCATION '';");

sub one_of { return $_[ rand(@_) ]; }
sub space { return one_of('a', 'b', 'pg_default'); }
sub key { return rand() < 0.3 ? 50 : 1 + int(rand(60)); }

# Twice, so that what the first finds dead is noted.
sub look
{
	my $find = 'SELECT count(*) FROM t WHERE k ' . (rand() < 0.5 ? '= ' . key() : '> 0');
	return ($find, $find);
}

# What needs no transaction of several statements.
sub simple
{
	return one_of(
		sub { 'DELETE FROM t WHERE k = ' . key() },
		sub { 'DELETE FROM t WHERE k % 7 = ' . int(rand(7)) },
		sub { 'UPDATE t SET v = v + 1 WHERE k = ' . key() },
		sub { 'INSERT INTO t VALUES (' . key() . ', 0)' },
		\&look, \&look,
		# the WAL goes to disk up to here, which is before a commit, if one comes
		sub { 'SELECT pg_switch_wal()' })->();
}

# A transaction that moves things. What is rolled back must not have put anything into a table that has been moved in
# it, nor emptied it: the server then leaves the index with the entries, or without any, whatever its access method,
# as its file is still the old one.
sub transaction
{
	my $commits = rand() < 0.4;
	my $moved = rand() < 0.4;
	my @statements = $moved ? 'ALTER TABLE t SET TABLESPACE ' . space() : ();

	for (1 .. 1 + rand(4))
	{
		my @next = one_of(
			sub { $moved = 1; 'ALTER TABLE t SET TABLESPACE ' . space() },
			sub { 'ALTER INDEX t_k SET TABLESPACE ' . space() },
			sub { my $space = space(); ('SAVEPOINT s', "ALTER INDEX t_k SET TABLESPACE $space", look(), 'ROLLBACK TO s') },
			sub { my $space = space(); ('SAVEPOINT s', "ALTER TABLE t SET TABLESPACE $space", look(), 'ROLLBACK TO s') },
			sub { ('SAVEPOINT s', 'REINDEX TABLE t', look(), one_of('ROLLBACK TO s', 'RELEASE s')) },
			sub { ('TRUNCATE t', 'INSERT INTO t SELECT i, 0 FROM generate_series(1, 45) i') },
			sub { $moved = 1; 'CLUSTER t USING t_by' },
			sub { 'DELETE FROM t WHERE k = ' . key() },
			\&look, \&look,
			\&simple, \&simple)->();
		push @statements, grep { $commits || !$moved || !/^(INSERT|UPDATE|TRUNCATE)/ } @next;
	}
	return ('BEGIN', @statements, $commits ? 'COMMIT' : 'ROLLBACK');
}

# Writes the index's pages, as the background writer would.
sub write_index { return ('BEGIN', 'ALTER INDEX t_k SET TABLESPACE ' . one_of('a', 'b', 'pg_default'), 'ROLLBACK'); }

sub rows
{
	my ($settings) = @_;
	return query("$settings SELECT string_agg(k || ctid::text, ' ') FROM (SELECT k, ctid FROM t WHERE k > 0 ORDER BY k, ctid) s");
}

my ($moves, $taken_back) = (0, 0);
for my $crash (1 .. $crashes)
{
	my @history = (
		'SET client_min_messages = warning', 'DROP TABLE IF EXISTS t',
		q{CREATE TABLE t (k int8, v int, pad text DEFAULT repeat('x', 130))},
		# (keys can be found by the first alone)
		'CREATE INDEX t_k ON t USING fpbtree (k)', 'CREATE INDEX t_by ON t USING btree (pad)',
		# a full page, or it would not be pruned
		'INSERT INTO t SELECT i, 0 FROM generate_series(6, 50) i',
		# (no crash is to take the table back)
		one_of('VACUUM t', 'SELECT'), 'CHECKPOINT');

	set_and_reload('full_page_writes = ' . one_of('on', 'off'));
	foreach (1 .. 2 + rand(6))
	{
		push @history, one_of(
			\&simple, \&simple, \&simple,
			# a deletion that is on disk, and its commit, which is not
			(sub { ('BEGIN', 'DELETE FROM t WHERE k = ' . key(), 'SELECT pg_switch_wal()', 'COMMIT') }) x 2,
			\&transaction, \&transaction, \&write_index,
			sub { one_of('CHECKPOINT', 'VACUUM t', 'SET synchronous_commit = on', 'SET synchronous_commit = off') })->();
	}
	push @history, write_index() if rand() < 0.7;
	my $error = messages(join('', map { "$_;\n" } @history));
	$moves += grep { /TABLESPACE|TRUNCATE|CLUSTER|REINDEX/ } @history;
	my $before = rows($BY_TABLE);
	crash();

	my $want = rows($BY_TABLE);
	my $found = rows('SET enable_indexonlyscan = off;');
	$taken_back++ if $want ne $before;
	my $check = messages("SELECT fpbtree_check('t_k', true)");
	ok($error eq '' && $found eq $want && $check eq '', "crash $crash: the index agrees with the table")
	  or diag("$error$check\ntable: $want\nindex: $found\n" . join(";\n", @history));
}
cmp_ok($moves, '>', $crashes, 'much was moved');
cmp_ok($taken_back, '>', $crashes / 10, 'crashes have taken commits back');
stop_servers($node);
done_testing();
