#
# Sessions change indexes that others read ahead in, all with buffers too few
# for the data.  Readers find everything in order, and in the end the indexes
# agree with the table.  Processes that read the same pages ahead don't wait for
# each other for ever.
#
# FPB_IO_METHODS names the I/O methods to try (18; all that the server has);
# they are used although I/O is buffered, io_method = sync for advice.
#
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Utils;
use Servers;
use Test::More;
use Time::HiRes qw(usleep);
use Workload;

my $node = start_server(
	'prefetch_load', q{
shared_buffers = 4MB
max_connections = 12
fpbtree.prefetch_method = aio
max_wal_senders = 0
wal_level = minimal
effective_io_concurrency = 32
max_worker_processes = 12
max_parallel_workers = 12
fsync = off
log_statement = none
max_wal_size = 4GB
});
trust_changes($node);
create_workload($node);
query(q{
CREATE TABLE large (a bigint, pad text) WITH (autovacuum_enabled = off);
CREATE INDEX large_a ON large USING fpbtree (a);
INSERT INTO large SELECT hashint8extended(i, 0), repeat('p', 30) FROM generate_series(1, 400000) i});

# An index-only scan is to fetch no rows, one at a time past the kernel.  While
# somebody else has a snapshot, as the queues' worker may, VACUUM leaves pages
# that are not all visible.
my $visible = 'f';
for (my $tries = 0; $tries < 600 && $visible eq 'f'; $tries++)
{
	usleep(100_000) if $tries > 0;
	$visible = query('VACUUM (ANALYZE, FREEZE) large; SELECT relallvisible = relpages FROM pg_class WHERE relname = \'large\'');
}
is($visible, 't', 'all of the table is visible to everyone');

my @methods = ('');
if (query('SHOW server_version_num') >= 180000)
{
	@methods = split /,/, $ENV{FPB_IO_METHODS}
	  || query(q{SELECT array_to_string(enumvals, ',') FROM pg_settings WHERE name = 'io_method'});
}

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
# All processes of a scan, and of two like it, want the same pages at once.  In
# io_uring whoever finds a read begun and not submitted waits for its owner, who
# must not wait for him in turn.
my $together = q{
SET statement_timeout = '60s';
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_index_scan_size = 0;
SET max_parallel_workers_per_gather = 3;
SELECT 1 / (count(*) = 400000)::int FROM large;
SELECT 1 / (count(pad) > 100)::int FROM large WHERE a BETWEEN 0 AND 40000000000000000;
};
append_to_file($node->basedir . '/together.sql', $together);

foreach my $method (@methods)
{
	my $named = $method eq '' ? '' : "$method: ";
	if ($method ne '')
	{
		set_and_restart("io_method = $method");
	}

	my $output = '';
	my $load = start_load($node, '10t', 6, \$output, compare => [ 12, $compare ]);
	$load->finish;
	unlike($output, qr{another answer|out of order|aborted|server closed}, "${named}no reader has found anything wrong") or diag $output;
	like($output, qr/number of transactions actually processed: [1-9]/, "${named}there was a load");
	check_indexes($node, "${named}after the load");
	like(query("SELECT sum(index_prefetched), sum(heap_prefetched) FROM pg_class, fpbtree_prefetch_stats(oid)"
			. " WHERE relkind = 'i' AND relname LIKE 'w\\_%'"), qr/^[1-9]\d*\|[1-9]\d*$/, "${named}pages have been read ahead");

	# reads that take their time: past the kernel
	set_and_restart("debug_io_direct = data\nshared_buffers = 8MB");
	$node->command_ok([ 'pgbench', '-n', '-c', 2, '-t', $method eq 'io_uring' ? 40 : 10, '-f', $node->basedir . '/together.sql', 'postgres' ],
		"${named}parallel scans of the same pages");
	$node->append_conf('postgresql.conf', "debug_io_direct = ''\nshared_buffers = 4MB");
}
$node->stop;
is(complaints($node, 0, qr/leak/), '', 'nothing has leaked');
done_testing();
