#
# Shards: a table on a coordinator whose partitions are tables of other servers,
# by postgres_fdw. What it sends them is answered by their fpbtree indexes, and
# gives what one plain table with btree indexes gives.
#
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Cluster;
use Servers;
use Test::More;

my $SHARDS = 3;
my $coordinator = PostgreSQL::Test::Cluster->new('coordinator');
$coordinator->init;
$coordinator->append_conf(
	'postgresql.conf', q{
autovacuum = off
jit = off
enable_seqscan = off
enable_bitmapscan = off
});
# all are copies of one cluster, as initdb takes longer than the rest
$coordinator->backup_fs_cold('empty');
my @shards = map { PostgreSQL::Test::Cluster->new("shard$_") } 0 .. $SHARDS - 1;
$_->init_from_backup($coordinator, 'empty') foreach @shards;
$_->start foreach ($coordinator, @shards);
use_server($coordinator);

if (!query(q{SELECT count(*) FROM pg_available_extensions WHERE name = 'postgres_fdw'}))
{
	$_->stop foreach ($coordinator, @shards);
	plan skip_all => 'this server has no postgres_fdw';
}
my $version = query('SHOW server_version_num') / 10000;

# The tables: "orders" and "lines", both by hash of the customer; "plain_orders" and
# "plain_lines" have the same rows on the coordinator.
query(q{
CREATE EXTENSION postgres_fdw;
CREATE TABLE orders (customer int, id int, day date, note text) PARTITION BY HASH (customer);
CREATE TABLE lines (customer int, id int, item int, price numeric) PARTITION BY HASH (customer);
});
for my $i (0 .. $#shards)
{
	$shards[$i]->safe_psql('postgres', q{
	CREATE EXTENSION fpbtree;
	CREATE TABLE orders (customer int, id int, day date, note text);
	CREATE UNIQUE INDEX orders_key ON orders USING fpbtree (customer, id);
	CREATE INDEX orders_day ON orders USING fpbtree (day, id);
	CREATE TABLE lines (customer int, id int, item int, price numeric);
	CREATE INDEX lines_key ON lines USING fpbtree (customer, id);
	});
	my ($host, $port) = ($shards[$i]->host, $shards[$i]->port);
	query(qq{
	CREATE SERVER shard$i FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '$host', port '$port', dbname 'postgres',
		async_capable 'true', use_remote_estimate 'true', batch_size '500');
	CREATE USER MAPPING FOR CURRENT_USER SERVER shard$i;
	CREATE FOREIGN TABLE orders$i PARTITION OF orders FOR VALUES WITH (MODULUS $SHARDS, REMAINDER $i) SERVER shard$i OPTIONS (table_name 'orders');
	CREATE FOREIGN TABLE lines$i PARTITION OF lines FOR VALUES WITH (MODULUS $SHARDS, REMAINDER $i) SERVER shard$i OPTIONS (table_name 'lines');
	});
}
query(q{
CREATE TABLE plain_orders (customer int, id int, day date, note text);
CREATE TABLE plain_lines (customer int, id int, item int, price numeric);
INSERT INTO plain_orders SELECT i % 301, i, date '2020-01-01' + i * 7919 % 1500, 'order ' || i FROM generate_series(1, 3000) i;
INSERT INTO plain_lines SELECT customer, id, item, item * 1.5 FROM plain_orders, generate_series(1, 2) item;
CREATE UNIQUE INDEX ON plain_orders USING btree (customer, id);
CREATE INDEX ON plain_orders USING btree (day, id);
CREATE INDEX ON plain_lines USING btree (customer, id);
ANALYZE plain_orders, plain_lines;
});

# Rows that are inserted are sent to the shards whose they are.
query('INSERT INTO orders TABLE plain_orders; INSERT INTO lines TABLE plain_lines');
for my $i (0 .. $#shards)
{
	is( $shards[$i]->safe_psql('postgres', 'SELECT count(*), sum(id) FROM orders'),
		query('SELECT count(*), sum(id) FROM plain_orders WHERE ' . of_shard($i)), "shard $i has its rows");
	$shards[$i]->safe_psql('postgres', 'VACUUM ANALYZE orders, lines');
}
query('ANALYZE orders0, orders1, orders2, lines0, lines1, lines2');

# Whether a shard has a row of the plain table.
sub of_shard { return "satisfies_hash_partition('orders'::regclass, $SHARDS, $_[0], customer)"; }

# How often each index of the shards has been scanned.
sub scans
{
	my ($index) = @_;
	return map { $_->safe_psql('postgres', "SELECT idx_scan FROM pg_stat_user_indexes WHERE indexrelname = '$index'") } @shards;
}

# Runs a query of "orders" and "lines". Its plan on the coordinator is like a
# pattern; what that sends to a shard is planned there with the given index; that
# index is scanned; and the answer is that of the plain tables.
sub same
{
	my ($name, $text, $pattern, $index, $settings) = @_;
	$settings = ($settings // '') . ';';
	my $plain = $text =~ s/\b(orders|lines)\b/plain_$1/gr =~ s/\borders1\b/(SELECT * FROM plain_orders WHERE @{[ of_shard(1) ]}) o/gr;

	my $plan = query("$settings EXPLAIN (VERBOSE, COSTS OFF) $text");
	like($plan, $pattern, "$name: the plan");
	my ($shard, @remote);
	foreach my $line (split /\n/, $plan)
	{
		$shard = $1 if $line =~ /public\.(?:orders|lines)(\d)/;
		push @remote, [ $shard, $1 ] if $line =~ /Remote SQL: (.*)/;
	}
	cmp_ok(scalar(@remote), '>', 0, "$name: something is sent to shards");
	my @before = scans($index);
	my @asked = (0) x @shards;
	foreach (@remote)
	{
		my ($shard, $sql) = @$_;
		my $there = $shards[$shard]->safe_psql('postgres', "EXPLAIN (GENERIC_PLAN, COSTS OFF) $sql");
		like($there, qr/Scan (?:Backward )?(?:using|on) $index/, "$name: shard $shard uses its index");
		unlike($there, qr/Sort/, "$name: shard $shard need not sort") if $sql =~ /ORDER BY/;
		$asked[$shard] = 1;
	}
	is(query("$settings $text"), query($plain), "$name: the answer of one table");
	# the connections have gone, but what they have counted may be late
	foreach my $shard (grep { $asked[$_] } 0 .. $#shards)
	{
		ok( $shards[$shard]->poll_query_until('postgres', "SELECT idx_scan > $before[$shard] FROM pg_stat_user_indexes WHERE indexrelname = '$index'"),
			"$name: shard $shard has used it");
	}
	return;
}

same('a range', q{SELECT count(*), sum(id), min(note) FROM orders WHERE day BETWEEN '2021-01-01' AND '2021-02-15'},
	qr/Append\n(?:.*\n)* +->  Async Foreign Scan on public.orders0.*\n(?:.*\n)* +->  Async Foreign Scan on public.orders1.*\n(?:.*\n)* +->  Async Foreign Scan on public.orders2/, 'orders_day');
same('order', q{SELECT day, id, note FROM orders WHERE day >= '2023-06-01' ORDER BY day, id LIMIT 100},
	qr/Merge Append\n(?:.*\n)* +Remote SQL: .* ORDER BY day ASC NULLS LAST, id ASC NULLS LAST/, 'orders_day');
same('one shard', q{SELECT * FROM orders WHERE customer = 77 ORDER BY id},
	qr/^Foreign Scan on public.orders\d/, 'orders_key');
# (a LIMIT is sent along where it is the coordinator that estimates)
query(q{ALTER FOREIGN TABLE orders1 OPTIONS (ADD use_remote_estimate 'false')});
same('one shard, order and limit', q{SELECT day, id FROM orders1 ORDER BY day DESC, id DESC LIMIT 100},
	qr/^Foreign Scan on public.orders1.*\n.*\n +Remote SQL: .* ORDER BY day DESC NULLS FIRST, id DESC NULLS FIRST LIMIT 100::bigint/, 'orders_day');
query(q{ALTER FOREIGN TABLE orders1 OPTIONS (DROP use_remote_estimate)});
same('some keys', q{SELECT * FROM orders WHERE customer = ANY (ARRAY[3, 77, 78, 300]) ORDER BY customer, id},
	qr/Foreign Scan on public.orders\d/, 'orders_key');
same('aggregates of shards', q{SELECT customer, count(*), max(day) FROM orders WHERE customer BETWEEN 10 AND 30 GROUP BY customer ORDER BY customer},
	qr/Remote SQL: SELECT customer, count\(\*\), max\(day\).* GROUP BY 1/, 'orders_key', 'SET enable_partitionwise_aggregate = on');
same('a join by key', q{SELECT o.customer, o.id, item, price FROM orders o JOIN lines l ON o.customer = l.customer AND o.id = l.id
		WHERE o.customer BETWEEN 100 AND 110 AND l.customer BETWEEN 100 AND 110 ORDER BY 1, 2, 3},
	qr/Remote SQL: .*INNER JOIN/, 'lines_key', 'SET enable_partitionwise_join = on');
same('rows of the coordinator', q{SELECT c, id, note FROM generate_series(1, 10) c CROSS JOIN LATERAL (SELECT * FROM orders WHERE customer = c ORDER BY id LIMIT 3) o ORDER BY c, id},
	qr/Remote SQL: .*WHERE \(\(.*\$1::integer/, 'orders_key');

# Changes are made by the shards.
like(query(q{EXPLAIN (VERBOSE, COSTS OFF) UPDATE orders SET note = 'changed' WHERE day = '2021-03-03'}), qr/Foreign Update on public.orders0/, 'an update is sent as a whole');
query(s/\borders\b/plain_orders/r . ";$_") foreach (
	q{UPDATE orders SET note = 'changed' WHERE day BETWEEN '2021-03-03' AND '2021-04-04'},
	q{UPDATE orders SET day = day + 1000 WHERE customer % 10 = 3},
	q{DELETE FROM orders WHERE day < '2020-03-01'});
my $all = 'SELECT count(*), sum(hashtext(o::text)) FROM %s o';
is(query(sprintf $all, 'orders'), query(sprintf $all, 'plain_orders'), 'rows are changed alike');
same('order after changes', q{SELECT day, id, note FROM orders WHERE day >= '2023-09-01' ORDER BY day, id LIMIT 100}, qr/Merge Append/, 'orders_day');

# A unique index of each shard makes the key unique if the table is sharded by a part of it.
like(messages(q{INSERT INTO orders SELECT customer, id FROM plain_orders WHERE customer = 77 LIMIT 1}),
	qr/duplicate key value violates unique constraint "orders_key"/, 'the same key twice');
my $again = 'INSERT INTO orders SELECT customer, id FROM plain_orders WHERE customer = 77 ON CONFLICT DO NOTHING';
if ($version < 18)
{
	like(messages($again), qr/ERROR: .*\nCONTEXT:  remote SQL command: INSERT/, 'no ON CONFLICT with it in 17');
}
else
{
	query($again);
	is(query(sprintf $all, 'orders'), query(sprintf $all, 'plain_orders'), 'ON CONFLICT DO NOTHING adds none');
}

# What is rolled back on the coordinator is on the shards.
query(q{BEGIN; INSERT INTO orders SELECT i, -i FROM generate_series(1, 100) i; ROLLBACK});
is(query(sprintf $all, 'orders'), query(sprintf $all, 'plain_orders'), 'rolled back together');

foreach my $shard (@shards)
{
	is($shard->safe_psql('postgres', q{SELECT count(fpbtree_check(i, true)) FROM unnest('{orders_key,orders_day,lines_key}'::regclass[]) i}), 3, $shard->name . ' is sound');
}
stop_servers($coordinator, @shards);
done_testing();
