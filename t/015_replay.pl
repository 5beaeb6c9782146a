#
# Replay makes the same pages as the insertions, splits and deletions did,
# although their records hold no more than has changed.
#
use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('replay');
$node->init;
# No page is written before the crash, so that every record is replayed.
$node->append_conf(
	'postgresql.conf', q{
shared_buffers = 512MB
bgwriter_lru_maxpages = 0
max_wal_size = 4GB
checkpoint_timeout = 1h
autovacuum = off
});
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION fpbtree');

my %KEYS = (
	word4 => [ 'int4', 'i' ],
	word8 => [ 'int8', 'i DESC' ],
	word16 => [ 'uuid', q{lpad(to_hex(i), 32, '0')::uuid} ],
	tuple => [ 'text COLLATE "C"', q{lpad(i::text, 9, '0')} ],
	one_key => [ 'int4', 'i / 100000' ],
	one_key_tuple => [ 'text COLLATE "C"', q{(i / 100000)::text} ]);

# What is in all nodes of all pages of all indexes.
sub content
{
	my ($status, $content, $error) = $node->psql(
		'postgres', q{
		SELECT c.relname, b, p, (SELECT array_agg(n) FROM fpbtree_nodes(c.oid, b) n)
		FROM pg_class c JOIN pg_am a ON a.oid = relam AND amname = 'fpbtree',
			generate_series(1, pg_relation_size(c.oid) / current_setting('block_size')::int - 1) b,
			fpbtree_page(c.oid, b) p
		ORDER BY 1, 2});
	return $content . $error;
}

# as many leaves with pages of any size
my $rows = 12000 * $node->safe_psql('postgres', 'SHOW block_size') / 8192;
foreach my $name (sort keys %KEYS)
{
	my ($type, $key) = @{ $KEYS{$name} };
	my $order = $key =~ s/ DESC// ? 'DESC' : '';
	my $insert = "INSERT INTO $name SELECT i, $key FROM (SELECT";

	$node->safe_psql('postgres', "CREATE TABLE $name (i int, k $type); $insert g * 1000 AS i FROM generate_series(1, $rows) g) s");
	$node->safe_psql('postgres', "CREATE INDEX ${name}_k ON $name USING fpbtree (k $order) WITH (fillfactor = 100)");

	# one row into each of the full leaves, each at another place
	my $entries = $node->safe_psql('postgres', "SELECT entries FROM fpbtree_page('${name}_k', 1)");
	$node->safe_psql('postgres', "$insert (g * $entries + g * 2) * 1000 + 1 AS i FROM generate_series(0, $rows / $entries - 1) g) s");
	# behind all others, before them, and anywhere
	$node->safe_psql('postgres', "$insert ($rows + g) * 1000 AS i FROM generate_series(1, $rows) g) s");
	$node->safe_psql('postgres', "$insert 500 - g AS i FROM generate_series(1, 400) g) s");
	$node->safe_psql('postgres', "$insert abs(hashint4(g) % ($rows * 2000)) AS i FROM generate_series(1, $rows / 4) g) s");
	$node->safe_psql('postgres', "DELETE FROM $name WHERE i % 7 < 3 OR i BETWEEN 2000000 AND $rows * 700");
	$node->safe_psql('postgres', "VACUUM (INDEX_CLEANUP ON) $name");
	$node->safe_psql('postgres', "$insert abs(hashint4(-g) % ($rows * 2000)) AS i FROM generate_series(1, $rows / 4) g) s");
}
my $before = content();
$node->stop('immediate');
$node->start;
# not is(), which would print all of it
ok(content() eq $before, 'pages are the same after replay');
foreach my $name (sort keys %KEYS)
{
	my ($status, undef, $error) = $node->psql('postgres', "SELECT fpbtree_check('${name}_k', true)");
	is($error, '', "the index of form $name is sound");
}
$node->stop;
done_testing();
