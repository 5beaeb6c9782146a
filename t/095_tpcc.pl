#
# The TPC-C mix of bench/tpcc, on small data: it runs with either access method,
# leaves its tables consistent and its indexes sound, and reports it if they are
# not.
#
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Utils;
use Servers;
use Test::More;

my $folder = "$FindBin::RealBin/../bench/tpcc";
my $node = start_server('tpcc', "autovacuum = on\n");
trust_changes($node);

# Runs `bench/fpbench tpcc` on two warehouses a hundredth of the usual size; returns
# its exit status, metrics and messages.
sub tpcc
{
	my ($am, @more) = @_;
	local %ENV = $node->_get_env;
	my ($stdout, $stderr) = ('', '');
	my $done = IPC::Run::run [ "$folder/run", '--am', $am, '--warehouses', 2, '--shrink', 100, '--clients', 3, @more ],
	  '>', \$stdout, '2>', \$stderr;
	return ($? >> 8, { map { split } split /\n/, $stdout }, $stderr);
}

foreach my $am ('btree', 'fpbtree')
{
	my ($status, $metrics, $messages) = tpcc($am, '--transactions', 200);
	is($status, 0, "$am: all is well after the mix") or diag $messages;
	foreach my $kind ('new_order', 'payment', 'order_status', 'delivery', 'stock_level')
	{
		cmp_ok($metrics->{"${kind}_transactions"}, '>', 0, "$am: $kind");
		cmp_ok($metrics->{"${kind}_p99_ms"}, '>=', $metrics->{"${kind}_p50_ms"}, "$am: and its times");
	}
	cmp_ok(abs($metrics->{tpmc} * $metrics->{seconds} / 60 - $metrics->{new_order_transactions}), '<', 1, "$am: new orders a minute");
	cmp_ok($metrics->{wal_bytes_per_transaction}, '>', 100, "$am: they are logged");
	cmp_ok($metrics->{index_bytes}, '>', $metrics->{index_bytes_before}, "$am: indexes have grown");
	is($metrics->{checked}, 12, "$am: conditions hold");
	is($node->safe_psql("tpcc_$am", "SELECT DISTINCT amname FROM pg_class c JOIN pg_am a ON a.oid = relam"
			. " JOIN pg_index ON indexrelid = c.oid JOIN loaded ON name = indrelid::regclass::text"), $am, "$am: of all indexes");
	is($metrics->{indexes_checked}, 10, 'fpbtree: sound indexes') if $am eq 'fpbtree';
}

# What breaks which conditions.
my @breaks = (
	[ '', 'SELECT' ],
	[ '1 9', 'UPDATE district SET d_ytd = d_ytd + 1 WHERE d_w_id = 1 AND d_id = 1' ],
	[ '2', 'UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = 1 AND d_id = 1' ],
	[ '3 5', 'DELETE FROM new_order WHERE (no_w_id, no_d_id, no_o_id) IN (SELECT no_w_id, no_d_id, max(no_o_id) - 1 FROM new_order'
		  . ' GROUP BY 1, 2 ORDER BY count(*) DESC LIMIT 1)' ],
	[ '4 6', 'UPDATE orders SET o_ol_cnt = o_ol_cnt + 1 WHERE o_w_id = 1 AND o_d_id = 1 AND o_id = 1' ],
	[ '5 7', 'UPDATE orders SET o_carrier_id = NULL WHERE o_w_id = 1 AND o_d_id = 1 AND o_id = 1' ],
	[ '6', 'UPDATE orders SET o_ol_cnt = o_ol_cnt + o_id * 2 - 3 WHERE o_w_id = 1 AND o_d_id = 1 AND o_id IN (1, 2)' ],
	[ '7', 'UPDATE order_line SET ol_delivery_d = NULL WHERE ol_w_id = 1 AND ol_d_id = 1 AND ol_o_id = 1 AND ol_number = 1' ],
	[ '1 8', 'UPDATE warehouse SET w_ytd = w_ytd + 1 WHERE w_id = 1' ],
	[ '9', 'UPDATE history SET h_d_id = 2 WHERE h_w_id = 1 AND h_d_id = 1' ],
	[ '10', 'UPDATE customer SET c_balance = c_balance + 1, c_ytd_payment = c_ytd_payment - 1'
		  . ' WHERE c_w_id = 1 AND c_d_id = 1 AND c_id = 1' ],
	[ '5 11', 'INSERT INTO new_order SELECT o_id, o_d_id, o_w_id FROM orders'
		  . ' WHERE o_w_id = 1 AND o_d_id = 1 AND o_carrier_id IS NOT NULL' ],
	[ '12', 'UPDATE customer SET c_ytd_payment = c_ytd_payment + 1 WHERE c_w_id = 1 AND c_d_id = 1 AND c_id = 1' ]);
my $found = $node->safe_psql('tpcc_fpbtree',
	join("\n", map { "BEGIN; $_->[1];\n\\i $folder/consistency.sql\nROLLBACK;\n\\echo end" } @breaks), extra_params => [ '-v', 'customers=30' ]);
my @found = split /^end\n?/m, $found, -1;
foreach my $i (0 .. $#breaks)
{
	my %broken = map { $_ => 1 } $found[$i] =~ /^3\.3\.2\.(\d+):/mg;
	is(join(' ', sort { $a <=> $b } keys %broken), $breaks[$i][0], "conditions that this breaks: $breaks[$i][1]");
}

# The program says so: a condition that does not hold, an index without an entry
# for a row, and other data than the other access method's.
my @kept = ('fpbtree', '--keep-data', '--duration', 0);
$node->safe_psql('tpcc_fpbtree', $breaks[2][1]);
my ($status, $metrics, $messages) = tpcc(@kept);
is("$status $metrics->{checked} $metrics->{indexes_checked}", '1 11 10', 'a condition that does not hold');
like($messages, qr/^tpcc: 3\.3\.2\.2: .*\|1\|1\|/m, 'and the district');
$node->safe_psql('tpcc_fpbtree', 'UPDATE district SET d_next_o_id = d_next_o_id - 1 WHERE d_w_id = 1 AND d_id = 1');

my $ready = q{SET allow_system_table_mods = on; UPDATE pg_index SET indisready = %s WHERE indexrelid = 'item_key'::regclass};
$node->safe_psql('tpcc_fpbtree', sprintf($ready, 'false'));
$node->safe_psql('tpcc_fpbtree', 'INSERT INTO item VALUES (100001)');
$node->safe_psql('tpcc_fpbtree', sprintf($ready, 'true'));
($status, $metrics, $messages) = tpcc(@kept);
is("$status $metrics->{checked} $metrics->{indexes_checked}", '1 12 9', 'an index that is not sound');
like($messages, qr/^tpcc: item_key: /m, 'and its name');
$node->safe_psql('tpcc_fpbtree', 'DELETE FROM item WHERE i_id = 100001');

$node->safe_psql('tpcc_btree', q{UPDATE loaded SET checksum = checksum + 1 WHERE name = 'stock'});
($status, $metrics, $messages) = tpcc(@kept);
is("$status $metrics->{checked}", '1 12', 'other data than those of the other access method');
like($messages, qr/loaded with different rows: .*stock/, 'and the table');

$node->stop;
done_testing();
