#
# fpbtree_advise where an index is larger than memory, whoever writes to it; in
# a schema that has been renamed; and on a standby.
#
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/lib";
use Servers;
use Test::More;

my $node = start_server('primary', "shared_buffers = 1MB\nmax_connections = 12\nenable_seqscan = off\nenable_bitmapscan = off\n", allows_streaming => 1);

# Columns of what is advised, of indexes that begin with the given letters, in its order.
sub advice
{
	my ($server, $what, $names) = @_;
	return $server->safe_psql('postgres', qq{SELECT $what FROM "Re ""named".fpbtree_advise(0) WHERE index ~ '^public.$names'});
}

query(q{
CREATE SCHEMA ext;
CREATE EXTENSION fpbtree SCHEMA ext;
ALTER SCHEMA ext RENAME TO "Re ""named";
CREATE TABLE t (id int, k uuid, x int) WITH (fillfactor = 40);
CREATE INDEX t_id ON t (id);
CREATE INDEX t_random ON t (k);
CREATE UNIQUE INDEX t_unique ON t (k);
CREATE INDEX t_small ON t (k) WHERE id < 100;
INSERT INTO t SELECT i, md5(i::text)::uuid, i FROM generate_series(1, 20000) i;
CREATE TABLE dead AS SELECT id FROM t WHERE id <= 10000;
CREATE INDEX dead_id ON dead (id);
CREATE UNLOGGED TABLE u (id int);
INSERT INTO u SELECT id FROM t;
CREATE INDEX u_id ON u (id);
ANALYZE;
});
is(advice($node, q{index, reason ~ 'operation queue', inserts, updates, hot_updates}, 't_random'), 'public.t_random|t|20000|0|0', 'random insertions into a large index are for a queue');
is(advice($node, 'index', 't_') =~ s/\n.*//sr, 'public.t_random', 'and come first');
is(advice($node, 'count(*)', q{.*' AND reason ~ 'operation queue}), 1, 'others are not');

# Only what changes the index counts.
query('SELECT pg_stat_reset()');
query('UPDATE t SET x = -x WHERE id < 1000');
is(advice($node, q{reason ~ 'operation queue', inserts, updates, hot_updates}, 't_random'), 'f|0|999|999', 'nor HOT updates');
query(q{UPDATE t SET k = '00000000-0000-0000-0000-000000000000' WHERE id = 1});
is(advice($node, q{reason ~ 'operation queue', updates - hot_updates}, 't_random'), 't|1', 'but others');

# (The planner looks for the least and the greatest value itself.)
query('SELECT pg_stat_reset()');
query('SELECT sum(x) FROM t WHERE id BETWEEN 5001 AND 15000') for 1 .. 2;
is(advice($node, 'scans BETWEEN 2 AND 6, tuples_read BETWEEN 20000 AND 20010', 't_id'), 't|t', 'scans are counted');
like(advice($node, 'reason', 't_id'), qr/^scans of \d{4,5} rows read ahead; \d+% smaller$/, 'long ones');

# Entries known to be dead are not laid out.
my $pages = q{SELECT size / current_setting('block_size')::int FROM "Re ""named".fpbtree_expected_size('dead_id')};
cmp_ok(query($pages), '>', 2, 'more pages than a leaf and the metapage');
query('DELETE FROM dead WHERE id > 5');
query('SELECT id FROM dead WHERE id > 0');
is(query($pages), 2, 'no more');

# Each partition is judged for itself: of two of the same size together the one that is larger than memory.
query(q{
CREATE TABLE parted (i int, k int) PARTITION BY RANGE (i);
CREATE TABLE parted_small PARTITION OF parted FOR VALUES FROM (0) TO (5000);
CREATE TABLE parted_large PARTITION OF parted FOR VALUES FROM (5000) TO (40000);
CREATE INDEX parted_k ON parted (k);
INSERT INTO parted SELECT i, hashint4(i) FROM generate_series(0, 39999) i;
ANALYZE parted;
});
is(advice($node, q{reason ~ 'operation queue', inserts}, 'parted_k'), 't|40000', 'a large partition is for a queue');
unlike(advice($node, 'statements[2]', 'parted_k'), qr/fillfactor/, 'and each partition\'s index has the room that CREATE INDEX leaves');
query(q{SELECT pg_stat_reset_single_table_counters('parted_large'::regclass)});
is(advice($node, q{reason ~ 'operation queue', inserts}, 'parted_k'), 'f|5000', 'not if only the small one grows, whatever they are together');
query('SELECT pg_stat_reset()');

# A name is one after the index it was of has gone.
my $names = query(q{
CREATE TABLE plan AS SELECT * FROM "Re ""named".fpbtree_advise(0) WHERE index = 'public.parted_k';
DROP INDEX parted_k;
SELECT index, "table", statements[1] FROM plan;
});
like($names, qr/^public.parted_k\|public.parted\|CREATE INDEX parted_k_fpb ON ONLY public.parted USING fpbtree \(k\)$/, 'a name');

# On a standby, where nothing can be written, and there is nothing in unlogged indexes.
my $standby = make_standby($node, 'standby');
is(advice($node, 'expected_size > 0', 'u_id'), 't', 'an unlogged index on the primary');
is(advice($standby, 'count(*)', 'u_id'), 0, 'not on the standby');
is(advice($standby, 'index, expected_size', 't_unique'), advice($node, 'index, expected_size', 't_unique'), 'others as on the primary');
my (undef, undef, $stderr) = $standby->psql('postgres', q{SELECT "Re ""named".fpbtree_expected_size('u_id')});
like($stderr, qr/cannot read index "u_id"\nDETAIL:  It is unlogged, and recovery is in progress/, 'there is nothing to read');

$standby->stop;
$node->stop;
done_testing();
