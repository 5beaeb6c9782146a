#
# Replay makes the same pages as the insertions, splits and deletions did,
# although their records hold no more than has changed.
#
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/lib";
use Servers;
use Test::More;

# No page is written before a crash, so that every record is replayed, and no
# image of a page makes up for what the records before it have missed.
my $node = start_server(
	'replay', q{
shared_buffers = 512MB
bgwriter_lru_maxpages = 0
max_wal_size = 4GB
checkpoint_timeout = 1h
full_page_writes = off
});
query('CREATE EXTENSION fpbtree; CREATE EXTENSION pageinspect');

# type of the column k, its value for number i, what follows k in the index
my %KEYS = (
	word4 => [ 'int4', 'i', '' ],
	word8 => [ 'int8', 'i', 'DESC' ],
	word16 => [ 'uuid', q{lpad(to_hex(i), 32, '0')::uuid}, '' ],
	tuple => [ 'text COLLATE "C"', q{lpad(i::text, 9, '0') || repeat('x', i / 1000 % 5)}, '' ],
	aligned => [ 'text COLLATE "C"', q{lpad(i::text, 9, '0') || repeat('x', i / 1000 % 9)}, ', i' ],
	one_key => [ 'int4', 'i / 100000', '' ],
	one_key_tuple => [ 'text COLLATE "C"', q{(i / 100000)::text}, '' ]);

# All pages of all indexes, as the server's consistency check would have them:
# without checksums and what is in the hole; but with their LSNs.
sub pages
{
	my ($status, $pages, $error) = $node->psql(
		'postgres', q{
		SELECT relname, b, md5(substr(page, 11, lower - 10) || substr(page, upper + 1)), (page_header(page)).lsn, kind
		FROM pg_class c JOIN pg_am a ON a.oid = relam AND amname = 'fpbtree',
			generate_series(1, pg_relation_size(c.oid) / current_setting('block_size')::int - 1) b,
			fpbtree_page(c.oid, b), get_raw_page(relname, b) page
		ORDER BY 1, 2});
	die "could not read the pages: $error" if $status != 0;
	return split /\n/, $pages;
}

# Crashes, and sees what has become of the pages.
sub crash_and_compare
{
	my ($after) = @_;
	my @before = pages();

	# VACUUM leaves its last records to be flushed by a transaction that has written some
	query(q{SELECT pg_logical_emit_message(true, 'replay', '')});
	crash();
	my @replayed = pages();
	is(join("\n", map { $before[$_] } grep { $replayed[$_] ne $before[$_] } 0 .. $#before), '', "$after: pages are the same after replay");
	foreach my $name (sort keys %KEYS)
	{
		my $error = messages("SELECT fpbtree_check('${name}_k', true)");
		is($error, '', "$after: index $name is sound");
	}
}

# Rows with the numbers that an expression makes of g.
sub insert
{
	my ($name, $number, $first, $last) = @_;
	query("INSERT INTO $name SELECT i, $KEYS{$name}[1] FROM (SELECT $number AS i FROM generate_series($first, $last) g) s");
}

# as many leaves with pages of any size
my $rows = 12000 * query('SHOW block_size') / 8192;
foreach my $name (sort keys %KEYS)
{
	my ($type, $key, $rest) = @{ $KEYS{$name} };

	query("CREATE TABLE $name (i int, k $type)");
	insert($name, 'g * 1000', 1, $rows);
	query("CREATE INDEX ${name}_k ON $name USING fpbtree (k $rest) WITH (fillfactor = 100)");
	# one into each of the full leaves, each at another place
	my $entries = query("SELECT entries FROM fpbtree_page('${name}_k', 1)");
	insert($name, "(g * $entries + g * 2) * 1000 + 1", 0, "$rows / $entries - 1");
}
crash_and_compare('one row into each leaf');

foreach my $name (sort keys %KEYS)
{
	insert($name, "($rows + g) * 1000", 1, $rows);
	insert($name, '500 - g', 1, 400);
}
crash_and_compare('rows behind and before all others');

insert($_, "abs(hashint4(g) % ($rows * 2000))", 1, "$rows / 3") foreach sort keys %KEYS;
crash_and_compare('rows anywhere');

query("DELETE FROM $_ WHERE i % 7 < 3 OR i BETWEEN 2000000 AND $rows * 700"),
  query("VACUUM (INDEX_CLEANUP ON) $_")
  foreach sort keys %KEYS;
crash_and_compare('deletion of entries and pages');

insert($_, "abs(hashint4(-g) % ($rows * 2000))", 1, "$rows / 3") foreach sort keys %KEYS;
crash_and_compare('rows into their places');

$node->stop;
done_testing();
