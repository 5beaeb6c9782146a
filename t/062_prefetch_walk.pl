#
# What is read ahead is what the scan comes to: going over the leaves of many
# parents, either way, and after a cursor has turned, nearly all leaves have been
# announced, and hardly any that is not needed.
#
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/lib";
use InjectionPoints;
use Servers;
use Test::More;

my $node = start_server(
	'prefetch_walk', q{
shared_buffers = 4MB
max_connections = 12
max_worker_processes = 4
autovacuum_max_workers = 1
fsync = off
effective_io_concurrency = 16
log_min_messages = warning
});

# Twenty keys to a page, on all levels.
query(q{
CREATE EXTENSION fpbtree;
CREATE TABLE w (k text COLLATE "C") WITH (autovacuum_enabled = off);
INSERT INTO w SELECT lpad(i::text, 8, '0') || repeat('x', 380) FROM generate_series(1, 30000) i;
CREATE INDEX w_k ON w USING fpbtree (k);
VACUUM (FREEZE, ANALYZE) w;
});
my $pages = query(q{SELECT count(*) FILTER (WHERE level = 0) || ' ' || count(*) FILTER (WHERE level = 1)
	  FROM generate_series(1, pg_relation_size('w_k') / 8192 - 1) b, fpbtree_page('w_k', b)});
my ($leaves, $parents) = split / /, $pages;
note "$leaves leaves, $parents parents";
cmp_ok($parents, '>', 30, 'the leaves have many parents');

my $by_index = "$BY_INDEX SET max_parallel_workers_per_gather = 0;";

# Runs SQL on a server that has just started; the pages of the index read ahead that were needed, and that were not.
sub prefetched
{
	my ($sql) = @_;
	$node->restart;
	query("$by_index $sql");
	my $counts = query(q{SELECT index_used || ' ' || index_wasted FROM fpbtree_prefetch_stats('w_k')});
	note "$counts: $sql";
	return split / /, $counts;
}

foreach my $order ('k', 'k DESC')
{
	my ($used, $wasted) = prefetched("SELECT count(*) FROM (SELECT k FROM w ORDER BY $order OFFSET 0) x");
	cmp_ok($used, '>', $leaves * 0.95, "by $order, the leaves are read ahead");
	cmp_ok($wasted, '<', $leaves * 0.05, "by $order, hardly any other is");
}

# A cursor that goes to and fro, by more than the buffers hold.
my ($used, $wasted) = prefetched('BEGIN; DECLARE c SCROLL CURSOR FOR SELECT k FROM w ORDER BY k;'
	  . 'MOVE 20000 FROM c; MOVE BACKWARD 15000 FROM c;' x 6 . 'COMMIT');
cmp_ok($used, '>', 2 * $leaves, 'to and fro, leaves are read ahead');
cmp_ok($wasted, '<', $used * 0.05, 'to and fro, hardly any other is');

# Who needs all of an index has the kernel read it in parts of 16 pages, each once, after a sixteenth of it.
SKIP:
{
	skip 'this server has no injection points', 14 if !create_injection_points();
	my $parts = query(q{SELECT pg_relation_size('w_k') / 8192 / 16 + 1});

	# How often that is advised.
	my $advised = sub {
		my ($sql) = @_;
		$node->restart;
		my $err = messages("SELECT injection_points_set_local(), injection_points_attach('fpbtree-advise-around', 'notice'); $by_index $sql");
		unlike($err, qr/ERROR/, "no error: $sql");
		return scalar(() = $err =~ /NOTICE/g);
	};
	my $all = 'SELECT count(*) FROM (SELECT k FROM w %s OFFSET 0) x';
	foreach my $order ('k', 'k DESC')
	{
		my $n = $advised->(sprintf $all, "ORDER BY $order");
		cmp_ok($n, '<=', $parts, "by $order, no part is advised twice");
		cmp_ok($n, '>', $parts * 0.8, "by $order, nearly all are");
	}
	is($advised->(sprintf $all, 'ORDER BY k LIMIT 1500'), 0, 'not if few rows are wanted');
	is($advised->(sprintf $all, "WHERE k < '00020000' || repeat('x', 380) ORDER BY k"), 0, 'nor if the range ends before');
	is($advised->('SET effective_cache_size = \'1MB\'; ' . sprintf $all, 'ORDER BY k'), 0, 'nor if it would not stay in memory');
	is($advised->('SET fpbtree.prefetch_distance = 0; ' . sprintf $all, 'ORDER BY k'), 0, 'nor if nothing is to be read ahead');
}

done_testing();
