#
# Which pages stay in shared buffers that have not room for all: an index smaller
# than btree's has to be read less often.  That its pages are used must be seen
# by the eviction of buffers, whatever way they are accessed.
#
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/lib";
use Servers;
use Test::More;

# leaves and rows compete for the buffers: a third of the leaves have room, or all if they are kept and rows are not
my $node = start_server(
	'eviction', q{
shared_buffers = 6MB
enable_seqscan = off
enable_bitmapscan = off
});
query(q{
CREATE EXTENSION fpbtree;
CREATE TABLE btree_rows (a int8, pad text);
INSERT INTO btree_rows SELECT hashint8extended(i, 0), repeat('x', 200) FROM generate_series(1, 200000) i;
CREATE TABLE fpbtree_rows AS TABLE btree_rows;
CREATE INDEX btree_index ON btree_rows (a);
CREATE INDEX fpbtree_index ON fpbtree_rows USING fpbtree (a);
VACUUM ANALYZE btree_rows, fpbtree_rows;
CREATE FUNCTION lookups(t regclass, n int) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	found bigint := 0;
	one bigint;
BEGIN
	PERFORM setseed(0.5);
	FOR i IN 1..n LOOP
		EXECUTE format('SELECT count(pad) FROM %s WHERE a = hashint8extended($1, 0)', t) INTO one USING 1 + (199999 * random())::int8;
		found := found + one;
	END LOOP;
	RETURN found;
END $$;
});
is(query("SELECT lookups('btree_rows', 40000), lookups('fpbtree_rows', 40000)"), '40000|40000', 'all rows are found');
# the session counts them when it ends, or a little later
$node->poll_query_until('postgres', 'SELECT count(*) = 2 FROM pg_statio_user_indexes WHERE idx_blks_read > 1000')
  or die 'nothing has been read';
my ($btree, $fpbtree, $share) = split /\|/, query(q{
SELECT b.idx_blks_read, f.idx_blks_read, pg_relation_size('fpbtree_index')::float8 / pg_relation_size('btree_index')
FROM pg_statio_user_indexes b, pg_statio_user_indexes f
WHERE b.indexrelname = 'btree_index' AND f.indexrelname = 'fpbtree_index'});
cmp_ok($fpbtree, '<=', $btree * $share, "pages are not read more often than btree's ($btree and $fpbtree, of $share times as many)");
done_testing();
