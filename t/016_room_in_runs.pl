#
# Rows that move at random among a few keys, as an order does from state to
# state: each insertion is amid a run of many leaves, where an index just built
# has room all over.  It logs hardly more than btree's, and few leaves are split.
#
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/lib";
use Servers;
use Test::More;

my $node = start_server('runs', "checkpoint_timeout = 1h\nfull_page_writes = off\nautovacuum = off\n");
query('CREATE EXTENSION fpbtree; CREATE EXTENSION pg_walinspect');

# so many leaves of each key, with blocks of any size
my $rows = int(30000 * query('SHOW block_size') / 8192);
my $changes = int($rows / 20);
my %bytes;

query("CREATE TABLE choice AS SELECT i FROM generate_series(1, $rows) i ORDER BY hashint4(i) LIMIT $changes");
foreach my $am ('btree', 'fpbtree')
{
	query("CREATE TABLE $am (i int PRIMARY KEY, k int2) WITH (fillfactor = 80); INSERT INTO $am SELECT i, hashint4(i) & 3 FROM generate_series(1, $rows) i");
	query("CREATE INDEX ${am}_k ON $am USING $am (k)" . ($am eq 'fpbtree' ? ' WITH (layout = disk_first)' : ''));

	my $pages = query("SELECT pg_relation_size('${am}_k') / current_setting('block_size')::int");
	my $from = query('SELECT pg_current_wal_insert_lsn()');
	# new versions stay on their page of the table
	query("DO 'DECLARE n int; BEGIN FOR n IN SELECT i FROM choice LOOP UPDATE $am SET k = (k + 1) & 3 WHERE i = n; END LOOP; END'");
	# what has been logged is to be on disk
	query(q{SELECT pg_logical_emit_message(true, 'runs', '', true)});
	$bytes{$am} = query(qq{
		SELECT sum(record_length) FROM
			(SELECT DISTINCT start_lsn, record_length FROM pg_get_wal_block_info('$from', pg_current_wal_flush_lsn(), false)
				WHERE relfilenode = pg_relation_filenode('${am}_k')) r});
	next if $am eq 'btree';
	cmp_ok(query("SELECT pg_relation_size('${am}_k') / current_setting('block_size')::int"), '<', $pages * 1.15,
		'few leaves have been split');
	is_sound("${am}_k", 'the index is sound');
}
cmp_ok($bytes{fpbtree}, '<', 1.2 * $bytes{btree}, "WAL: $bytes{fpbtree} bytes, btree's $bytes{btree}");
is(query('SELECT count(*) FROM (SELECT i, k FROM btree EXCEPT SELECT i, k FROM fpbtree) x'), '0', 'the tables are the same');

done_testing();
