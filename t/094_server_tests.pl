#
# The server's own regression tests with fpbtree in btree's place: see
# dev/checks/btree-regress.
#
use strict;
use warnings FATAL => 'all';

use Cwd qw(abs_path);
use FindBin;
use PostgreSQL::Test::Utils;
use Test::More;

plan skip_all => 'FPBTREE_PG_SOURCE is not set' unless $ENV{FPBTREE_PG_SOURCE};
# btree would not pass them either
plan skip_all => 'the server\'s tests are for blocks of 8 kB' if `pg_config --configure` =~ /--with-blocksize=(?!8\b)/;

my $output = '';
delete @ENV{ grep { /^PG(HOST|PORT|USER|DATABASE)/ } keys %ENV };
chomp(my $bindir = `pg_config --bindir`);
IPC::Run::run(
	[ "$FindBin::RealBin/../dev/checks/btree-regress", '--pg-config' => "$bindir/pg_config", '--source' => $ENV{FPBTREE_PG_SOURCE} ],
	'>', \$output, '2>&1');
my ($tests) = $output =~ /^(\d+) tests/m;
note($output);
cmp_ok($tests || 0, '>', 190, 'the tests ran');
like($output, qr/ 0 not \(0 unexplained differences\)$/m, 'no unexplained difference and no crash') or diag($output);

done_testing();
