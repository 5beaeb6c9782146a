#
# Logical replication between tables with fpbtree indexes: a unique one says which
# row is meant, or a primary key, or none does and the subscriber looks for the
# whole row; conflicts with unique indexes; partitioned tables. In 17 a subscriber looks rows up by
# btree and hash indexes only.
#
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Cluster;
use Servers;
use Test::More;

my $publisher = PostgreSQL::Test::Cluster->new('publisher');
$publisher->init(allows_streaming => 'logical');
$publisher->append_conf('postgresql.conf', "autovacuum = off\nshared_buffers = 32MB\n");
$publisher->backup_fs_cold('empty');
my $subscriber = PostgreSQL::Test::Cluster->new('subscriber');
$subscriber->init_from_backup($publisher, 'empty');
$_->start foreach ($publisher, $subscriber);
my $version = $publisher->safe_psql('postgres', 'SHOW server_version_num') / 10000;

sub publish { return $publisher->safe_psql('postgres', shift); }
sub subscribed { return $subscriber->safe_psql('postgres', shift); }
sub both { my ($sql) = @_; publish($sql); return subscribed($sql); }

# keyed: rows are known by a unique index. primed: by a primary key. bag: by all of their columns, some rows
# being there more than once. once: rows only come. parts: partitions, others on
# the subscriber.
both(q{
CREATE EXTENSION fpbtree;
CREATE TABLE keyed (a int NOT NULL, b text NOT NULL, n int);
CREATE UNIQUE INDEX keyed_ab ON keyed USING fpbtree (a, b);
CREATE TABLE primed (a int, b text);
CREATE UNIQUE INDEX primed_a ON primed USING fpbtree (a);
CREATE TABLE bag (k int, t text, n int);
CREATE INDEX bag_kt ON bag USING fpbtree (k, t) WITH (operation_queue = on);
CREATE TABLE once (a int, b int);
});
publish(q{
ALTER TABLE keyed REPLICA IDENTITY USING INDEX keyed_ab;
SELECT fpbtree_add_constraint('primed', 'primed_a', 'primary key');
ALTER TABLE bag REPLICA IDENTITY FULL;
CREATE TABLE parts (k int, t text) PARTITION BY RANGE (k);
CREATE TABLE parts0 PARTITION OF parts FOR VALUES FROM (0) TO (500);
CREATE TABLE parts1 PARTITION OF parts FOR VALUES FROM (500) TO (2000);
ALTER TABLE parts REPLICA IDENTITY FULL;
ALTER TABLE parts0 REPLICA IDENTITY FULL;
ALTER TABLE parts1 REPLICA IDENTITY FULL;
CREATE INDEX ON parts USING fpbtree (k);
INSERT INTO keyed SELECT i, 'key ' || i % 10, i FROM generate_series(1, 1000) i;
INSERT INTO primed SELECT i, 'prime ' || i FROM generate_series(1, 1000) i;
INSERT INTO bag SELECT nullif(i % 100, 50), nullif('bag ' || i % 20, 'bag 7'), i % 3 FROM generate_series(1, 1000) i;
INSERT INTO parts SELECT i, 'part ' || i FROM generate_series(0, 999) i;
CREATE PUBLICATION p FOR TABLE keyed, primed, bag, once, parts WITH (publish_via_partition_root = true);
});
# In 17, a subscriber's own way to know a row must be a btree.
subscribed($version < 18 ? 'ALTER TABLE keyed ADD PRIMARY KEY (a, b)' : 'ALTER TABLE keyed REPLICA IDENTITY USING INDEX keyed_ab');
subscribed($version < 18 ? 'ALTER TABLE primed ADD PRIMARY KEY (a)' : q{SELECT fpbtree_add_constraint('primed', 'primed_a', 'primary key')});
my $connection = $publisher->connstr . ' dbname=postgres';
subscribed(qq{
CREATE UNIQUE INDEX once_a ON once USING fpbtree (a);
CREATE UNIQUE INDEX once_b ON once USING fpbtree (b);
CREATE TABLE parts (t text, k int) PARTITION BY HASH (k);
CREATE TABLE parts0 PARTITION OF parts FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE parts1 PARTITION OF parts FOR VALUES WITH (MODULUS 2, REMAINDER 1);
CREATE INDEX ON parts USING fpbtree (k);
CREATE SUBSCRIPTION s CONNECTION '$connection' PUBLICATION p;
});
$subscriber->wait_for_subscription_sync($publisher, 's');

# All rows of the publisher, and those that the subscriber's indexes find.
sub agree
{
	my ($when) = @_;
	foreach ([ 'keyed', 'a, b, n', 'a' ], [ 'primed', 'a, b', 'a' ], [ 'bag', 'k, t, n', 'k' ], [ 'parts', 'k, t', 'k' ])
	{
		my ($table, $columns, $key) = @$_;
		my $rows = "SELECT count(*), sum(hashtext(r::text)) FROM (SELECT $columns FROM $table ORDER BY $key OFFSET 0) r";
		like(subscribed("$BY_INDEX EXPLAIN $rows"), qr/Index Scan using (?:keyed_ab|keyed_pkey|primed_a|primed_pkey|bag_kt|parts._k_idx)/, "$when, $table: read by index");
		is(subscribed("$BY_INDEX $rows"), publish("$BY_TABLE $rows"), "$when, $table: what the publisher's table has");
	}
	is(subscribed(q{SELECT count(fpbtree_check(i, true)) FROM unnest('{keyed_ab,primed_a,bag_kt,once_a,once_b,parts0_k_idx,parts1_k_idx}'::regclass[]) i}), 7, "$when: indexes are sound");
	return;
}
agree('copied');
publish(q{
UPDATE keyed SET n = -n WHERE a % 5 = 0;
UPDATE primed SET b = b || ' again' WHERE a % 5 = 0;
UPDATE primed SET a = a + 5000 WHERE a % 7 = 0;
DELETE FROM primed WHERE a % 11 = 0;
UPDATE keyed SET a = a + 5000, b = b || ' moved' WHERE a % 7 = 0;
DELETE FROM keyed WHERE a % 11 = 0;
INSERT INTO keyed SELECT i, 'new', i FROM generate_series(1, 100) i;
UPDATE bag SET n = n + 10 WHERE k % 7 = 0;
UPDATE bag SET k = NULL WHERE k = 5;
DELETE FROM bag WHERE k IS NULL AND n = 1;
DELETE FROM bag WHERE ctid IN (SELECT min(ctid) FROM bag GROUP BY k, t, n HAVING count(*) > 1);
UPDATE parts SET t = 'changed' WHERE k % 9 = 0;
UPDATE parts SET k = k + 700 WHERE k BETWEEN 100 AND 150;
DELETE FROM parts WHERE k % 13 = 0;
});
$publisher->wait_for_catchup('s');
agree('changed');
# One transaction with many rows; a table with many, which is copied
publish(q{
BEGIN;
INSERT INTO bag SELECT i % 997 + 1000, 'more ' || i % 50, i FROM generate_series(1, 3000) i;
INSERT INTO keyed SELECT i, 'more ' || i % 10, i FROM generate_series(10001, 13000) i;
UPDATE keyed SET b = b || ' more' WHERE a BETWEEN 10001 AND 11000;
INSERT INTO parts SELECT i * 7919 % 2000, 'more ' || i FROM generate_series(1, 3000) i;
COMMIT;
CREATE TABLE copied (k int, t text);
INSERT INTO copied SELECT i * 7919 % 9001, 'copied ' || i FROM generate_series(1, 3000) i;
ALTER PUBLICATION p ADD TABLE copied;
});
subscribed('CREATE TABLE copied (k int, t text); CREATE INDEX copied_k ON copied USING fpbtree (k); CREATE INDEX copied_t ON copied USING fpbtree (t); ALTER SUBSCRIPTION s REFRESH PUBLICATION');
$subscriber->wait_for_subscription_sync($publisher, 's');
$publisher->wait_for_catchup('s');
agree('many rows');
my $copied = 'SELECT count(*), sum(hashtext(r::text)) FROM (SELECT * FROM copied WHERE %s ORDER BY k OFFSET 0) r';
is(subscribed("$BY_INDEX " . sprintf($copied, 'k >= 0')), publish("$BY_TABLE " . sprintf($copied, 'true')), 'a table that has been copied');
is(subscribed(q{SELECT count(fpbtree_check(i, true)) FROM unnest('{copied_k,copied_t}'::regclass[]) i}), 2, 'and its indexes');

# By which way the subscriber has found the rows.
my $used = q{SELECT bool_and(idx_scan > 0) FROM pg_stat_user_indexes WHERE indexrelname IN (%s)};
if ($version < 18)
{
	ok($subscriber->poll_query_until('postgres', q{SELECT bool_and(seq_scan > 100) FROM pg_stat_user_tables WHERE relname IN ('bag', 'parts0', 'parts1')}),
		'in 17 whole rows are looked up by sequential scans');
	is(subscribed(q{SELECT last_idx_scan IS NULL OR idx_scan < 10 FROM pg_stat_user_indexes WHERE indexrelname = 'bag_kt'}), 't', 'not by fpbtree indexes');
	ok($subscriber->poll_query_until('postgres', sprintf $used, q{'keyed_pkey'}), 'but by a primary key');
}
else
{
	ok($subscriber->poll_query_until('postgres', q{SELECT bool_and(idx_scan > 20) FROM pg_stat_user_indexes WHERE indexrelname IN ('keyed_ab', 'bag_kt', 'parts0_k_idx', 'parts1_k_idx')}),
		'rows are looked up by fpbtree indexes');
}

# A row is there already: replication waits until it is gone.
sub conflict
{
	my ($name, $here, $there, $pattern, $remedy) = @_;
	my $offset = -s $subscriber->logfile;
	subscribed($here);
	publish($there);
	ok($subscriber->wait_for_log($pattern, $offset), "$name: the conflict is told");
	subscribed($remedy);
	$publisher->wait_for_catchup('s');
	return;
}
conflict('an insertion', 'INSERT INTO once VALUES (1, 1)', 'INSERT INTO once VALUES (1, 10)',
	$version < 18 ? qr/ERROR: .* duplicate key value violates unique constraint "once_a"/
	: qr/ERROR: .* conflict detected on relation "public.once": conflict=insert_exists(?s:.*?)[Kk]ey already exists in unique index "once_a"/,
	'DELETE FROM once');
conflict('two at once', 'INSERT INTO once VALUES (2, 2), (3, 3)', 'INSERT INTO once VALUES (2, 3)',
	$version < 18 ? qr/ERROR: .* duplicate key value violates unique constraint "once_a"/
	: qr/ERROR: .* conflict detected on relation "public.once": conflict=multiple_unique_conflicts(?s:.*?)"once_a"(?s:.*)"once_b"/,
	'DELETE FROM once WHERE a <> 1');
conflict('an update', q{INSERT INTO keyed VALUES (7777, 'mine', 0)}, q{UPDATE keyed SET a = 7777, b = 'mine' WHERE a = 1 AND b = 'new'},
	$version < 18 ? qr/ERROR: .* duplicate key value violates unique constraint "keyed_(?:ab|pkey)"/
	: qr/ERROR: .* conflict detected on relation "public.keyed": conflict=update_exists(?s:.*?)[Kk]ey already exists in unique index "keyed_ab"/,
	'DELETE FROM keyed WHERE a = 7777');
is(subscribed('SELECT * FROM once ORDER BY a'), publish('SELECT * FROM once ORDER BY a'), 'then it goes on');
agree('after conflicts');

# In 17 a replica identity that is an fpbtree index stops the subscriber, for the server knows no way to use it. (With
# assertions one of the server's would end it.)
if ($version < 18 && publish('SHOW debug_assertions') eq 'off')
{
	conflict('a replica identity', 'ALTER TABLE keyed REPLICA IDENTITY USING INDEX keyed_ab', 'UPDATE keyed SET n = 0 WHERE a = 2',
		qr/ERROR: .* missing operator 0\(23,23\)/, 'ALTER TABLE keyed REPLICA IDENTITY DEFAULT');
	agree('after another identity');
}

stop_servers($subscriber, $publisher);
done_testing();
