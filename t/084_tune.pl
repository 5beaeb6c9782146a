#
# fpbtree_tune beside others: subscribers, itself, cancellation, a crash, DROP
# EXTENSION; what it warns of; and an access method without the extension.
#
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/lib";
use Servers;
use Test::More;

# What is measured differs from server to server, what is done about it does not.
if (($ENV{FPBTREE_PG_CONFIG_18} || '') ne '' && `pg_config --version` !~ / 18/)
{
	plan skip_all => 'tried with 18';
}

my $node = start_server('tune', "client_min_messages = warning\nstatement_timeout = 0\n", allows_streaming => 'logical');
trust_changes($node);

query(q{
CREATE EXTENSION fpbtree;
CREATE PUBLICATION everything FOR ALL TABLES;
SELECT pg_create_logical_replication_slot('listener', 'pgoutput');
CREATE TABLE seen (i int);
INSERT INTO seen VALUES (1);
});

# Two at once.
my @sessions = map { session($node) } 1 .. 2;
start_statement($_, 'SELECT count(*) FROM fpbtree_tune(1000)') foreach @sessions;
foreach my $session (@sessions)
{
	is(rest($session), '16', 'one of two at once');
	$session->quit;
}
is(query('SELECT count(*) > 16, count(*) - count(DISTINCT (form, layout, node_format, leaf_lines, node_search, node_prefetch)) FROM fpbtree_tuning()'),
	't|0', 'the figures of one of them');

# Nothing of the tables that are measured is sent to subscribers, who have none such.
my $sent = q{SELECT count(*) FROM pg_logical_slot_peek_binary_changes('listener', NULL, NULL, 'proto_version', '1', 'publication_names', 'everything')
	WHERE position('%s'::bytea IN data) > 0};
is(query(sprintf($sent, 'fpbtree_tuned')), 0, 'the tables that are measured are not published');
is(query(sprintf($sent, 'fpbtree_tuning')), 0, 'nor are the figures, which a subscriber without the extension has no table for');
is(query(q{SELECT count(*) FROM pg_publication_tables WHERE tablename LIKE 'fpbtree%'}), 0, 'nothing of the extension is');
is(query(sprintf($sent, 'seen')), 1, 'other tables are');

# Cancelled half-way, and a crash: the figures stay, and nothing is left behind.
my $before = query('SELECT md5(string_agg(t::text, chr(10) ORDER BY t)) FROM fpbtree_tuning() t');
like(messages('SET statement_timeout = 1500; SELECT count(*) FROM fpbtree_tune(200000)'), qr/canceling statement due to statement timeout/, 'cancelled');
my $victim = session($node);
start_statement($victim, 'SELECT count(*) FROM fpbtree_tune(200000)');
$node->poll_query_until('postgres', q{SELECT count(*) > 0 FROM pg_stat_activity WHERE query LIKE 'SELECT count(*) FROM fpbtree_tune%' AND state = 'active' AND xact_start < now() - interval '1 second'})
  or die 'it does not begin';
crash();
$victim->{run}->finish;
is(query('SELECT md5(string_agg(t::text, chr(10) ORDER BY t)) FROM fpbtree_tuning() t'), $before, 'the figures are what they were');
is(query(q{SELECT count(*) FROM pg_class WHERE relname LIKE 'fpbtree\_tuned%'}), 0, 'no table is left behind');

# While it waits for another one, the extension goes.
my $dropper = session($node, 'BEGIN; DROP EXTENSION fpbtree');
my $waiter = $node->background_psql('postgres', on_error_stop => 0);
start_statement($waiter, 'SELECT count(*) FROM fpbtree_tune(1000)');
wait_at('object');
$dropper->query_safe('COMMIT');
rest($waiter);
ok($node->log_contains('the extension "fpbtree" has been dropped concurrently'), 'dropped concurrently');
$_->quit foreach $dropper, $waiter;

# Somebody has made an access method of the library by hand: there are no figures then.
query('CREATE DATABASE bare');
is( $node->safe_psql(
		'bare', q{
CREATE FUNCTION handler(internal) RETURNS index_am_handler LANGUAGE c AS 'fpbtree', 'fpbtree_handler';
CREATE ACCESS METHOD fpbtree TYPE INDEX HANDLER handler;
CREATE OPERATOR CLASS int_ops DEFAULT FOR TYPE int4 USING fpbtree AS
	OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >, FUNCTION 1 btint4cmp(int4, int4);
CREATE TABLE t AS SELECT i FROM generate_series(1, 1000) i;
CREATE INDEX t_i ON t USING fpbtree (i) WITH (optimize_for = insert);
SET enable_seqscan = off;
SELECT count(*) FROM t WHERE i BETWEEN 101 AND 200;}),
	100,
	'an index without the extension');

# What the figures are not worth much with.
query(q{SELECT pg_drop_replication_slot('listener'); CREATE EXTENSION fpbtree});
set_and_restart("wal_level = minimal\nmax_wal_senders = 0\nshared_buffers = 256kB\n");
my (undef, $stdout, $stderr) = $node->psql('postgres', 'SELECT count(*) FROM fpbtree_tune(3000)');
is($stdout, 16, 'measured');
like($stderr, qr/WARNING:  insertions are measured without WAL/, 'without WAL');
like($stderr, qr/WARNING:  tuple: an index of so many keys takes more than half of "shared_buffers"/, 'with few buffers');

$node->stop;
done_testing();
