#
# Walks from leaf to leaf where the order of keys is none, of VACUUM and of the
# worker that empties operation queues; sql/walks has the others.  They come to
# an end, be it an error.
#
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/lib";
use Servers;
use Test::More;

my $node = start_server('walks', "fpbtree.queue_flush_after = 500ms\n");
trust_changes($node);

# The comparator's order becomes another one.
sub set_order
{
	my ($body) = @_;
	query("CREATE OR REPLACE FUNCTION walk_cmp(a int, b int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN $body; END'");
	return;
}

my $ORDER = 'btint4cmp(a, b)';

# A table, sorted as it should be, with entries in the queue, some of them of dead rows.
sub make_table
{
	my ($name) = @_;
	set_order($ORDER);
	query(qq{
		SET fpbtree.queue_worker = off;
		CREATE TABLE $name (k int);
		INSERT INTO $name SELECT hashint4(i) FROM generate_series(1, 800) i;
		CREATE INDEX ${name}_k ON $name USING fpbtree (k walk_ops) WITH (operation_queue = on, opq_size = 1000);
		INSERT INTO $name SELECT hashint4(i) FROM generate_series(801, 3000) i;
		DELETE FROM $name WHERE k % 7 = 0;});
	return;
}

query('CREATE EXTENSION fpbtree');
set_order($ORDER);
query(q{
	CREATE OPERATOR CLASS walk_ops FOR TYPE int USING fpbtree AS
		OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >,
		FUNCTION 1 walk_cmp(int, int)});

# VACUUM, of any order.  What it raises is that the index is damaged.
my %orders = (
	'descending' => 'btint4cmp(b, a)',
	'by the last digits' => 'btint4cmp(a % 1000, b % 1000)',
	'in a circle' => 'CASE WHEN a = b THEN 0 WHEN ((a::bigint - b) & 4294967295) < 2147483648 THEN 1 ELSE -1 END',
	'equal keys greater' => 'CASE WHEN a >= b THEN 1 ELSE -1 END',
	'equal keys less' => 'CASE WHEN a <= b THEN -1 ELSE 1 END',
	'all keys greater' => '1',
	'all keys less' => '-1',
	'all keys equal' => '0',
	'at random' => 'floor(random() * 3)::int - 1');
my $n = 0;

foreach my $order (sort keys %orders)
{
	my $name = 'vacuumed' . $n++;

	make_table($name);
	cmp_ok(query("SELECT queue_leaf_pages FROM fpbtree_stats('${name}_k')"), '>', 1, "$order: the queue has leaves");
	set_order($orders{$order});
	my $stderr = verbose_messages("VACUUM $name");
	like($stderr, qr/^(psql:<stdin>:2: ERROR:  XX002: .*)?$/s, "$order: VACUUM comes to its end");
	unlike($stderr, qr/^$/, "$order: which is an error") if $order eq 'descending';
	query("DROP TABLE $name");
}

# The worker says what it has found, and is not busy for ever.
make_table('worked');
set_order($orders{'descending'});
my $log = -s $node->logfile;
query('INSERT INTO worked VALUES (1)');
ok($node->wait_for_log(qr/The fences of this page and those to its left or right are in no order/, $log), 'the worker comes to an end');

stop_servers($node);
done_testing();
