#
# A crash takes back a transaction that was committed asynchronously.  A scan may
# have found by then that the row it has deleted is dead; what it has noted of that
# in the index must not outlive the commit, or the row is not found any more.
#
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Workload;

my $am = am();
my $node = PostgreSQL::Test::Cluster->new('async_commit');

# With checksums a note makes an image of a page that has none since the last checkpoint, which has no notes.
$node->init(no_data_checksums => 1);
$node->append_conf(
	'postgresql.conf', q{
autovacuum = off
wal_log_hints = off
wal_level = minimal
max_wal_senders = 0
synchronous_commit = off
wal_writer_delay = 10s
bgwriter_lru_maxpages = 0
allow_in_place_tablespaces = on
enable_bitmapscan = off
enable_seqscan = off
});
$node->start;

sub query { return $node->safe_psql('postgres', shift); }

my $find = 'SELECT count(*) FROM t WHERE k = 50';

query(qq{
CREATE EXTENSION fpbtree;
CREATE TABLESPACE elsewhere LOCATION '';
CREATE TABLE t (k int8, v int) WITH (fillfactor = 50);
CREATE INDEX t_k ON t USING $am (k);
INSERT INTO t SELECT i, 0 FROM generate_series(1, 50) i;
CHECKPOINT;
});

# The row is found dead because its page in the table has been changed since, so that the server's own hint there
# can't get ahead of the commit.  (A commit would not do: the server keeps one LSN for some transactions.)
# Moving an index, which is not done in the end, writes its pages.
query(qq{
DELETE FROM t WHERE k = 50;
BEGIN;
UPDATE t SET v = 1 WHERE k = 40;
ROLLBACK;
$find;
$find;
BEGIN;
ALTER INDEX t_k SET TABLESPACE elsewhere;
ROLLBACK;
});
$node->stop('immediate');
$node->start;
is(query("SET enable_seqscan = on; SET enable_indexscan = off; SET enable_indexonlyscan = off; $find"), '1', 'the crash has taken the deletion back');
is(query($find), '1', 'an index finds the row');

# Once the commit is on disk, it is noted.  The first scan has looked at the row in the table, a later one has not.
create_pages_of($node);
query('CHECKPOINT');
query(q{
DELETE FROM t WHERE k = 50;
BEGIN;
UPDATE t SET v = 1 WHERE k = 40;
ROLLBACK;
});
my $pages = query("SELECT pages_of('$find')");
is(query($find), '0', 'the row is deleted again');
$node->append_conf('postgresql.conf', 'wal_writer_delay = 10ms');
$node->reload;
ok($node->poll_query_until('postgres', "SELECT pages_of('$find') < $pages"), 'its entry gets a note');
is(query("SELECT fpbtree_check('t_k', true)"), '', 'the index is sound');
$node->stop;
unlike(slurp_file($node->logfile), qr/TRAP:|PANIC:/, 'no assertion failed');
done_testing();
