#
# Sessions change indexes that others read ahead in, all with buffers too few
# for the data.  Readers find everything in order, and in the end the indexes
# agree with the table.
#
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Workload;

my $node = PostgreSQL::Test::Cluster->new('prefetch_load');
$node->init;
$node->append_conf(
	'postgresql.conf', q{
shared_buffers = 4MB
max_connections = 20
max_worker_processes = 4
autovacuum = off
fsync = off
log_statement = none
max_wal_size = 4GB
});
$node->start;
create_workload($node);

# Ranges wide enough to read ahead, and many keys; the table's own answer may be
# another by the time it is asked, but not in the same snapshot.
my $compare = q{
\set start random(0, 900000)
\set distance random(2, 40)
SET fpbtree.prefetch_distance = :distance;
SET fpbtree.heap_prefetch_distance = :distance;
SET fpbtree.pio_max = :distance;
BEGIN ISOLATION LEVEL REPEATABLE READ;
SET LOCAL enable_seqscan = off;
SET LOCAL enable_bitmapscan = off;
CREATE TEMP TABLE got ON COMMIT DROP AS
	SELECT 1 AS what, count(*) AS n, sum(id) AS ids FROM w WHERE i8 BETWEEN :start AND :start + 200000
	UNION ALL SELECT 2, count(*), sum(length(tc)) FROM w WHERE tc BETWEEN lpad(:start::text, 10, '0') AND lpad((:start + 100000)::text, 10, '0')
	UNION ALL SELECT 3, count(*), sum(id) FROM w WHERE i8 = ANY(ARRAY(SELECT :start + 37 * i FROM generate_series(1, 3000) i));
SET LOCAL enable_seqscan = on;
SET LOCAL enable_indexscan = off;
SET LOCAL enable_indexonlyscan = off;
DO $$ BEGIN
	IF EXISTS ((SELECT 1 AS what, count(*) AS n, sum(id) AS ids FROM w WHERE i8 BETWEEN :start AND :start + 200000
		UNION ALL SELECT 2, count(*), sum(length(tc)) FROM w WHERE tc BETWEEN lpad(:start::text, 10, '0') AND lpad((:start + 100000)::text, 10, '0')
		UNION ALL SELECT 3, count(*), sum(id) FROM w WHERE i8 = ANY(ARRAY(SELECT :start + 37 * i FROM generate_series(1, 3000) i)))
		EXCEPT TABLE got) THEN
		RAISE 'an index gives another answer than the table';
	END IF;
END $$;
COMMIT;
RESET ALL;
};
my $output = '';
my $load = start_load($node, 15, 6, \$output, compare => [ 12, $compare ]);
$load->finish;
unlike($output, qr{another answer|out of order|aborted|server closed}, 'no reader has found anything wrong') or diag $output;
like($output, qr/number of transactions actually processed: [1-9]/, 'there was a load');
check_indexes($node, 'after the load');
like($node->safe_psql('postgres', "SELECT sum(index_prefetched), sum(heap_prefetched) FROM pg_class, fpbtree_prefetch_stats(oid)"
		. " WHERE relkind = 'i' AND relname LIKE 'w\\_%'"), qr/^[1-9]\d*\|[1-9]\d*$/, 'pages have been read ahead');
$node->stop;
unlike(slurp_file($node->logfile), qr/leak|TRAP|PANIC/, 'nothing has leaked');
done_testing();
