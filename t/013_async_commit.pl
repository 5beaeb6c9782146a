#
# A crash takes back a transaction that was committed asynchronously.  A scan may
# have found by then that the row it has deleted is dead; what it has noted of that
# in the index must not outlive the commit, or the row is not found any more.
#
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/lib";
use Servers;
use Test::More;
use Workload;

my $am = am();
# With checksums the first hint after a checkpoint makes an image of the page, which has no hints.
my $node = start_server(
	'async_commit', q{
wal_level = minimal
wal_skip_threshold = 0
max_wal_senders = 0
synchronous_commit = off
wal_writer_delay = 10s
bgwriter_lru_maxpages = 0
allow_in_place_tablespaces = on
enable_bitmapscan = off
enable_seqscan = off
full_page_writes = off
}, no_data_checksums => 1);

my $find = 'SELECT count(*) FROM t WHERE k = 50';

# A crash takes the deletion of the row back, and an index finds it.
sub crash_finds_row
{
	my ($what) = @_;
	crash();
	is(query("$BY_TABLE $find"), '1', "$what: the crash has taken the deletion back");
	is(query($find), '1', "$what: an index finds the row");
	is(messages("SELECT fpbtree_check('t_k', true)"), '', "$what: the index is sound");
	return;
}

query('CREATE EXTENSION fpbtree');
query(qq{CREATE TABLESPACE $_ LOCATION ''}) foreach 'elsewhere', 'further';

# What lets recovery begin without an image of the leaf, whatever its LSN is: it has not been changed since the
# checkpoint; it was, but there were no images then; it has come in a file that was copied as it is.
my %before = (
	'unchanged' => sub { },
	'changed without images' => sub {
		query('INSERT INTO t VALUES (51, 0)');
		set_and_reload('full_page_writes = on');
		$node->poll_query_until('postgres', 'SHOW full_page_writes', 'on') or die 'there are no images';
	},
	'moved' => sub {
		query('INSERT INTO t VALUES (51, 0)');
		query('ALTER INDEX t_k SET TABLESPACE further');
	},
	'copied' => sub {
		query('INSERT INTO t VALUES (51, 0)');
		$node->safe_psql('template1', 'CREATE DATABASE another TEMPLATE postgres STRATEGY wal_log');
		use_server($node, 'another');
	});

# The row is found dead because its page in the table has been changed since, so that the server's own hint there
# can't get ahead of the commit.  (A commit would not do: the server keeps one LSN for some transactions.)
# Moving an index, which is not done in the end, writes its pages.
foreach my $leaf ('unchanged', 'changed without images', 'moved', 'copied')
{
	query(qq{
DROP TABLE IF EXISTS t;
CREATE TABLE t (k int8, v int) WITH (fillfactor = 50);
CREATE INDEX t_k ON t USING $am (k);
INSERT INTO t SELECT i, 0 FROM generate_series(1, 50) i;
CHECKPOINT;
});
	$before{$leaf}->();
	# Or writing the leaf flushes the WAL up to its LSN, and up to the last whole page along with that.
	query("SELECT pg_logical_emit_message(false, 'leaf', '', true)");
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
	crash_finds_row("a leaf $leaf");
}

# The row has been pruned, of which only the page's LSN tells (the page is full, or it would not be); or it has versions,
# and only the last one's end is not on disk.  (The server keeps one LSN for some transactions, so there are others
# between the two.)
my %rows = (
	'pruned' => ['SELECT', q{DELETE FROM t WHERE k = 50}, q{repeat('x', 130)}, 6],
	'updated before' => ['UPDATE t SET v = 1 WHERE k = 50; DO $$ BEGIN FOR i IN 1 .. 40 LOOP PERFORM pg_current_xact_id(); COMMIT; END LOOP; END $$', q{DELETE FROM t WHERE k = 50; BEGIN; UPDATE t SET v = 1 WHERE k = 40; ROLLBACK}, q{''}, 1]);
foreach my $row (sort keys %rows)
{
	my ($before, $deletion, $pad, $first) = @{ $rows{$row} };
	query(qq{
DROP TABLE t;
CREATE TABLE t (k int8, v int, pad text DEFAULT $pad);
CREATE INDEX t_k ON t USING $am (k);
INSERT INTO t SELECT i, 0 FROM generate_series($first, 50) i;
CHECKPOINT;
SET synchronous_commit = on;
$before;
SET synchronous_commit = off;
});
	query("SELECT pg_logical_emit_message(false, 'leaf', '', true)");
	query(qq{
$deletion;
$find;
$find;
BEGIN;
ALTER INDEX t_k SET TABLESPACE elsewhere;
ROLLBACK;
});
	crash_finds_row("a row $row");
}

# The leaf has been changed after the deletion, and so has the table's page.  Then to write the leaf takes the commit along.
query(qq{
DROP TABLE t;
CREATE TABLE t (k int8, v int);
CREATE INDEX t_k ON t USING $am (k);
INSERT INTO t SELECT i, 0 FROM generate_series(1, 50) i;
CHECKPOINT;
});
query("SELECT pg_logical_emit_message(false, 'leaf', '', true)");
query(qq{
DELETE FROM t WHERE k = 50;
INSERT INTO t VALUES (51, 0);
$find;
$find;
BEGIN;
ALTER INDEX t_k SET TABLESPACE elsewhere;
ROLLBACK;
});
crash();
is(query("$BY_TABLE $find"), '0', 'a leaf changed after the deletion: the crash has not taken it back');
is(query($find), '0', 'a leaf changed after the deletion: an index agrees');
is(messages("SELECT fpbtree_check('t_k', true)"), '', 'a leaf changed after the deletion: the index is sound');

# A uniqueness check finds the row dead, and notes that in the record of the new one.  To write the leaf takes the commit
# along as well.  (The new row is not there after all: what counts is the old one.)
query(qq{
DROP TABLE t;
CREATE TABLE t (k int8, v int);
CREATE UNIQUE INDEX t_k ON t USING $am (k);
INSERT INTO t SELECT i, 0 FROM generate_series(1, 50) i;
CHECKPOINT;
});
query("SELECT pg_logical_emit_message(false, 'leaf', '', true)");
query(qq{
DELETE FROM t WHERE k = 50;
BEGIN;
UPDATE t SET v = 1 WHERE k = 40;
ROLLBACK;
BEGIN;
INSERT INTO t VALUES (50, 1);
ROLLBACK;
BEGIN;
ALTER INDEX t_k SET TABLESPACE elsewhere;
ROLLBACK;
});
crash();
is(query("$BY_TABLE $find"), '0', 'a row that another one has followed: the crash has not taken its deletion back');
is(query($find), '0', 'a row that another one has followed: an index agrees');
is(messages("SELECT fpbtree_check('t_k', true)"), '', 'a row that another one has followed: the index is sound');

# Many entries wait for the WAL, so the scan logs their leaf before it notes that they are dead.  Then to write the leaf
# takes the commit along, too.
query(qq{
DROP TABLE t;
CREATE TABLE t (k int8, v int) WITH (fillfactor = 50);
CREATE INDEX t_k ON t USING $am (k);
INSERT INTO t SELECT i, 0 FROM generate_series(1, 50) i;
CHECKPOINT;
});
$find = 'SELECT count(*) FROM t WHERE k > 30';
query("SELECT pg_logical_emit_message(false, 'leaf', '', true)");
query(qq{
DELETE FROM t WHERE k > 30;
BEGIN;
UPDATE t SET v = 1 WHERE k = 10;
ROLLBACK;
$find;
$find;
BEGIN;
ALTER INDEX t_k SET TABLESPACE elsewhere;
ROLLBACK;
});
crash();
is(query($find), query("$BY_TABLE $find"), 'many entries of a leaf: an index agrees with the table');
is(messages("SELECT fpbtree_check('t_k', true)"), '', 'many entries of a leaf: the index is sound');
$find = 'SELECT count(*) FROM t WHERE k = 50';

# The table's page has been pruned while its changes were not logged, so its LSN tells nothing. (The page is full, or it
# would not be pruned. The deletion is on disk, for the new WAL file's sake, but not the commit.)
query(qq{
DROP TABLE t;
CREATE TABLE t (k int8, v int, pad text DEFAULT repeat('x', 130));
CREATE INDEX t_k ON t USING $am (k);
INSERT INTO t SELECT i, 0 FROM generate_series(6, 50) i;
CHECKPOINT;
BEGIN;
DELETE FROM t WHERE k = 50;
SELECT pg_switch_wal();
COMMIT;
BEGIN;
ALTER TABLE t SET TABLESPACE elsewhere;
$find;
$find;
ALTER INDEX t_k SET TABLESPACE elsewhere;
ROLLBACK;
});
crash_finds_row('a table that has been moved');

# Once the commit is on disk, it is noted.  The first scan has looked at the row in the table, a later one has not.
use_server($node);
create_pages_of($node);

# That is so whatever has been changed on the pages of the table since.  (They have some room, so that they are not
# pruned.)  Before, it is noted in a leaf that has been changed after that, because such a leaf is not written before the
# commit; or in one with many such entries, which is logged for that.
query(qq{
CREATE TABLE q (k int8, v int, pad text STORAGE plain);
CREATE INDEX q_k ON q USING $am (k);
INSERT INTO q SELECT CASE i % 4 WHEN 0 THEN 10000 + i ELSE i END, 0, repeat('x', current_setting('block_size')::int / 5) FROM generate_series(1, 600) i});
foreach my $commit (
	[ 'on', 'k BETWEEN 1 AND 200', 40, 'f', '' ],
	[ 'off', 'k BETWEEN 201 AND 400', 40, 'f', '' ],
	[ 'off', q{k = ANY ('{401, 421, 441, 461, 481, 501, 521}')}, 7, 't', '' ],
	[ 'off', q{k = ANY ('{402, 422, 442, 462, 482, 502, 522}')}, 7, 'f', q{INSERT INTO q SELECT i, 1, '' FROM generate_series(401, 600, 2) i;} ])
{
	my ($synchronous, $deleted, $pages, $second, $change) = @$commit;
	my $visits = "SELECT pages_of(\$\$SELECT sum(v) FROM q WHERE $deleted\$\$) > $pages;";
	is( query(qq{
SET synchronous_commit = $synchronous;
DELETE FROM q WHERE $deleted;
BEGIN;
SET LOCAL enable_seqscan = on;
SELECT count(*) >= 100 FROM (SELECT FROM q WHERE v = 0 FOR UPDATE) x;
SET LOCAL enable_seqscan = off;
$change
$visits
$visits
COMMIT}), "t\nt\n$second", "$deleted: rows deleted with synchronous_commit = $synchronous, others locked since" . ($change && ', and leaves changed'));
}

query('CHECKPOINT');
query(q{
DELETE FROM t WHERE k = 50;
BEGIN;
UPDATE t SET v = 1 WHERE k = 40;
ROLLBACK;
});
my $pages = query("SELECT pages_of('$find')");
is(query($find), '0', 'the row is deleted again');
set_and_reload('wal_writer_delay = 10ms');
comes_true('its entry gets a note', "SELECT pages_of('$find') < $pages");
is_sound('t_k', 'the index is sound');
stop_servers($node);
done_testing();
