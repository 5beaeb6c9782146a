#
# The memory that operation queues share: by how many entries come to them, and
# how large their indexes are; who takes no part in it; queues that have to give
# pages back; a tier 2 that comes and goes with that.
#
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/lib";
use InjectionPoints;
use Servers;
use Test::More;

# Entries come one by one, and what sessions change is verified elsewhere.
my $node = start_server(
	'memory', q{
shared_buffers = 32MB
fpbtree.insert_batch_size = 0
fpbtree.queue_flush_after = -1
max_parallel_workers_per_gather = 0
max_parallel_maintenance_workers = 0
});
trust_changes($node);
query('CREATE EXTENSION fpbtree');
my $block = query(q{SELECT current_setting('block_size')::int});
my $MEMORY = 60;    # pages

sub share
{
	my ($pages) = @_;
	my $kilobytes = $pages * $block / 1024;
	set_and_reload("fpbtree.queue_memory = $kilobytes");

	# a session knows the setting's unit once it has loaded the library
	my $setting = q{LOAD 'fpbtree'; SELECT setting FROM pg_settings WHERE name = 'fpbtree.queue_memory'};
	for (1 .. 600)
	{
		last if query($setting) eq $kilobytes;
		select undef, undef, undef, 0.1;
	}
	is(query($setting), $kilobytes, "queues share $pages pages");
	return;
}

# Long keys, so that a twenty-fifth of an index is more pages than a queue may have.
my $KEY = 'repeat(md5((%s)::text), 6)';
my $ROWS = 64000 * $block / 8192;

sub make_table
{
	my ($name, $options) = @_;
	query(
		"CREATE TABLE $name (k text COLLATE \"C\");
		 INSERT INTO $name SELECT ${\sprintf($KEY, 'i')} FROM generate_series(1, $ROWS) i;
		 CREATE INDEX ${name}_k ON $name USING fpbtree (k) WITH (operation_queue = on$options)");
	return;
}

# Inserts n rows into each of the tables, a few at a time.
my $inserted = 0;

sub insert
{
	my (%rows) = @_;
	my $sql = '';
	foreach my $turn (1 .. 20)
	{
		foreach my $name (sort keys %rows)
		{
			my $n = int($rows{$name} / 20);
			$sql .= "INSERT INTO $name SELECT ${\sprintf($KEY, qq{$ROWS + $inserted + i})} FROM generate_series(1, $n) i;\n";
			$inserted += $n;
		}
	}
	query($sql);
	return;
}

sub limit { my ($name) = @_; return query("SELECT queue_limit FROM fpbtree_stats('${name}_k')"); }

sub is_near
{
	my ($got, $expected, $what) = @_;
	ok($got >= 0.75 * $expected && $got <= 1.3 * $expected, $what) or diag("$got pages, not about $expected");
	return;
}

share($MEMORY);
make_table($_, '') foreach qw(a b c);
make_table('named', ", opq_size = ${\(40 * $block / 1024)}");

is(limit('a'), $MEMORY, 'all of it is for one, as long as nobody inserts');
insert(a => 40000);
is(limit('a'), $MEMORY, '... and if only that gets entries');
insert(a => 40000, named => 40000);
is(limit('a'), $MEMORY, 'a queue with a size of its own takes nothing');
is(limit('named'), 40, '... and has that');
ok(query(q{SELECT pages FROM fpbtree_tiers('a_k') WHERE tier = 1}) > $MEMORY / 2, 'the first queue is large');

# three of a kind
insert(map { $_ => 24000 } qw(a b c)) foreach 1 .. 2;
is_near(limit($_), $MEMORY / 3, "a third for each of three: $_") foreach qw(a b c);
comes_true('the first one has given pages back',
	"SELECT pages < $MEMORY * 0.55 FROM fpbtree_tiers('a_k') WHERE tier = 1");

# By the root of how many entries come to an index, and of how large it is.
my %rows = (a => 54000, b => 6000);
insert(%rows) foreach 1 .. 2;
my %weights = map { $_ => sqrt($rows{$_} * query("SELECT pg_relation_size('${_}_k')")) } keys %rows;
is_near(limit($_), $MEMORY * $weights{$_} / ($weights{a} + $weights{b}), "by how many entries come: $_") foreach qw(a b);
ok($weights{a} > 3.5 * $weights{b}, '... which are many more for one of them');
is(limit('c'), 8, '... and the least for one to which none come');

# An index that is gone takes nothing.
query('DROP TABLE a');
insert(b => 24000) foreach 1 .. 4;
is(limit('b'), $MEMORY, 'all of it is for one again, after others are gone or idle');

# fpbtree_flush waits for the worker, which is just taking a leaf away.
SKIP:
{
	skip 'this server has no injection points', 4 if !create_injection_points();
	attach('fpbtree-merge-found', 'wait');
	share(10);
	insert(b => 200);
	$node->wait_for_event('fpbtree queue worker', 'fpbtree-merge-found');
	my ($flush, $pid) = start_session([], q{SELECT fpbtree_flush('b_k') > 0});
	comes_true('it waits', "SELECT wait_event_type = 'Lock' AND wait_event = 'page' FROM pg_stat_activity WHERE pid = $pid");
	wake('fpbtree-merge-found');
	like(rest($flush), qr/t/, 'it goes on');
	# the worker may just be looking at the last page
	is(query(q{SELECT coalesce(sum(pages), 0) <= 2 FROM fpbtree_tiers('b_k')}), 't', '... and leaves no tier');
	$flush->quit;
}

# Tier 2 comes when an index is 160 times as large as tier 1 may be, and stays until it is 80 times as large.
sub has_second { my ($yes) = @_; return "SELECT count(*) = $yes FROM fpbtree_tiers('b_k') WHERE tier = 2"; }
my $pages = query(q{SELECT pg_relation_size('b_k') / current_setting('block_size')::int});
set_and_restart("shared_buffers = ${\(128 * $block / 1024)}");
share(int($pages / 200));
insert(b => 24000);
comes_true('a small part: tier 2', has_second(1));
share(int($pages / 110));
insert(b => 24000);
is(query(has_second(1)), 't', 'a larger one: it stays');
share(int($pages / 40));
insert(b => 24000);
comes_true('a large one: it goes', has_second(0));

foreach my $name (qw(b c named))
{
	is_sound("${name}_k", "$name is sound");
	is(query("SET enable_seqscan = off; SET enable_bitmapscan = off; SELECT count(*) FROM $name WHERE k > ''"),
		query("SELECT count(*) FROM $name"), "$name has all entries");
	query("SELECT fpbtree_flush('${name}_k')");
	is_sound("${name}_k", "$name is sound without its queue");
}

stop_servers($node);
done_testing();
