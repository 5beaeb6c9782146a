#
# pg_upgrade to the server under test from those of the major versions before:
# the indexes come along as they are and go on working.
#
# FPBTREE_PG_CONFIG_17, FPBTREE_PG_CONFIG_18 and so on name the servers, with
# the extension installed; dev/test sets them.
#
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Servers;
use Test::More;
use Workload;

my ($major) = `pg_config --version` =~ /(\d+)/;
my @olds = grep { $ENV{"FPBTREE_PG_CONFIG_$_"} } 17 .. $major - 1;
plan skip_all => 'no FPBTREE_PG_CONFIG_... names an older server' unless @olds && $ENV{"FPBTREE_PG_CONFIG_$major"};

# what pg_upgrade leaves where extensions have an update
my $UPDATES = 'update_extensions.sql';

my %prefix;
foreach my $version (@olds, $major)
{
	chomp(my $bindir = `$ENV{"FPBTREE_PG_CONFIG_$version"} --bindir`);
	$prefix{$version} = $bindir =~ s/\/bin$//r;
}
upgrade_from($_) foreach @olds;
done_testing();

# Upgrades a cluster of an older server, and uses what has come along.
sub upgrade_from
{
	my ($from) = @_;

	my $old = PostgreSQL::Test::Cluster->new("old_$from", install_path => $prefix{$from});
	# a copy would be one of the server under test
	$old->init(force_initdb => 1);
	$old->append_conf('postgresql.conf', "autovacuum = off\n");
	$old->start;
	trust_changes($old);
	create_workload($old);
	$old->safe_psql('postgres', 'SELECT w_delete(false) FROM generate_series(1, 5)');
	$old->safe_psql('postgres', 'VACUUM (INDEX_CLEANUP ON) w');
	$old->safe_psql('postgres', 'SELECT w_insert(300, false) FROM generate_series(1, 10)');
	# the functions in a schema that is not in the search_path, and an operator
	# class by its name
	$old->safe_psql('postgres', 'CREATE DATABASE moved');
	$old->safe_psql(
		'moved', q{
CREATE SCHEMA ext;
CREATE EXTENSION fpbtree SCHEMA ext;
CREATE EXTENSION citext;
SELECT ext.fpbtree_clone_opclass('citext_ops');
CREATE TABLE t (a int, b text, c citext);
INSERT INTO t SELECT i, 'word ' || i, 'word ' || i FROM generate_series(1, 1000) i;
CREATE INDEX t_b ON t USING fpbtree (b text_pattern_ops, a);
CREATE INDEX t_c ON t USING fpbtree (c);
});
	my $moved = q{
SELECT indexdef, ext.fpbtree_check(indexname::regclass, true) FROM pg_indexes WHERE tablename = 't' ORDER BY indexname;
SET enable_seqscan = off;
SELECT count(*) FROM t WHERE b LIKE 'word 1%';
SELECT * FROM ext.fpbtree_tuning();
SELECT opcnamespace::regnamespace, opcname, amvalidate(c.oid), EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_opclass'::regclass AND d.objid = c.oid AND d.deptype = 'e')
FROM pg_opclass c JOIN pg_am a ON a.oid = opcmethod AND amname = 'fpbtree' ORDER BY 1, 2;
};
	# what has been measured on this machine
	my $definition = q{SELECT pg_get_functiondef('ext.fpbtree_tuning'::regproc)};
	$old->safe_psql('moved', $old->safe_psql('moved', $definition) =~ s/VALUES .*LIMIT 0/VALUES ('word4', 'disk_first', 'csb', 5, 'bisecting', false, 1, 1, 1, false)/r);
	my $moved_before = $old->safe_psql('moved', $moved);
	check_indexes($old, 'before');
	my $before = index_answers($old, 'index');
	my $definitions = 'SELECT indexdef FROM pg_indexes WHERE indexname LIKE \'w\_%\' ORDER BY indexname';
	my $indexes_before = $old->safe_psql('postgres', $definitions);
	my $nodes = 'SELECT relname, relfilenode FROM pg_class WHERE relname LIKE \'w\_%\' ORDER BY relname';
	my $nodes_before = $old->safe_psql('postgres', $nodes);
	$old->stop;

	my $new = PostgreSQL::Test::Cluster->new("new_$from", install_path => $prefix{$major});
	# from 18 on there would be data checksums, which 17 has not
	$new->init(extra => $from == 17 ? ['--no-data-checksums'] : []);
	my $mode = $ENV{FPB_UPGRADE_MODE} || '--copy';
	my $bin = "$prefix{$major}/bin/pg_upgrade";
	chdir $PostgreSQL::Test::Utils::tmp_check or die;
	unlink $UPDATES;
	command_ok(
		[
			$bin, '--no-sync',
			'--old-datadir' => $old->data_dir, '--new-datadir' => $new->data_dir,
			'--old-bindir' => "$prefix{$from}/bin", '--new-bindir' => "$prefix{$major}/bin",
			'--socketdir' => $new->host, '--old-port' => $old->port, '--new-port' => $new->port, $mode
		],
		"pg_upgrade from $from");

	$new->append_conf('postgresql.conf', "autovacuum = off\n");
	$new->start;
	trust_changes($new);
	is($new->safe_psql('postgres', $definitions), $indexes_before, "from $from: all indexes are there");
	is($new->safe_psql('postgres', $nodes), $nodes_before, 'in the same files');
	check_indexes($new, 'after');
	is_deeply(index_answers($new, 'index'), $before, 'their answers are the same');
	is($new->safe_psql('moved', $moved), $moved_before, 'operator classes and figures are there, too');

	update_extension($new, $from, "$prefix{$major}/bin/psql");
	$new->safe_psql('moved', 'DROP EXTENSION fpbtree CASCADE; CREATE EXTENSION fpbtree');

	# and they work
	$new->safe_psql('postgres', 'SELECT w_insert(300, false) FROM generate_series(1, 20)');
	$new->safe_psql('postgres', 'SELECT w_delete(true) FROM generate_series(1, 3)');
	$new->safe_psql('postgres', 'VACUUM (INDEX_CLEANUP ON) w');
	check_indexes($new, 'after, changed');
	$new->safe_psql('postgres', 'REINDEX TABLE w');
	check_indexes($new, 'after, built anew');
	$new->stop;
}

# Makes the operator classes that the new server has and the old one had not.
sub update_extension
{
	my ($new, $from, $psql) = @_;
	my $missing = q{
SELECT opcname, opcintype::regtype, opcdefault FROM pg_opclass JOIN pg_am a ON a.oid = opcmethod
WHERE amname = 'btree' AND opcnamespace = 'pg_catalog'::regnamespace
EXCEPT
SELECT opcname, opcintype::regtype, opcdefault FROM pg_opclass JOIN pg_am a ON a.oid = opcmethod
WHERE amname = 'fpbtree' AND opcnamespace = 'pg_catalog'::regnamespace};

	# in one database somebody has made one meanwhile
	if ($from < 19 && $major >= 19)
	{
		is($new->safe_psql('moved', $missing), 'oid8_ops|oid8|t', "from $from: oid8 has no operator class yet");
		$new->safe_psql(
			'postgres', q{
CREATE OPERATOR CLASS public.own_ops DEFAULT FOR TYPE oid8 USING fpbtree AS
	OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >, FUNCTION 1 btoid8cmp(oid8, oid8)});
		like(slurp_file($UPDATES), qr/^ALTER EXTENSION "fpbtree" UPDATE;$/m, 'pg_upgrade says that there is an update');
		command_ok([ $psql, '-X', '-v', 'ON_ERROR_STOP=1', '-f', $UPDATES, $new->connstr('postgres') ], 'which is done');
		is( $new->safe_psql('postgres', q{SELECT string_agg(opcname, ' ') FROM pg_opclass JOIN pg_am a ON a.oid = opcmethod WHERE amname = 'fpbtree' AND opcintype = 'oid8'::regtype}),
			'own_ops', 'and leaves what somebody has made meanwhile');
	}
	$new->safe_psql($_, 'ALTER EXTENSION fpbtree UPDATE') foreach ('postgres', 'moved');
	is($new->safe_psql('moved', $missing), '', "from $from: no operator class is missing");
	return if $from >= 19 || $major < 19;

	is( $new->safe_psql('moved', q{
SELECT d.classid::regclass, e.extname FROM pg_opclass c JOIN pg_am a ON a.oid = opcmethod
	JOIN pg_depend d ON (d.classid, d.objid) IN (('pg_opclass'::regclass, c.oid), ('pg_opfamily'::regclass, c.opcfamily)) AND d.deptype = 'e'
	JOIN pg_extension e ON e.oid = d.refobjid
WHERE amname = 'fpbtree' AND opcname = 'oid8_ops' ORDER BY 1}),
		"pg_opclass|fpbtree\npg_opfamily|fpbtree", 'that of oid8 belongs to the extension');
	$new->safe_psql(
		'moved', q{
CREATE TABLE numbered AS SELECT trunc(i::numeric * 18446744073709551615 / 5000)::text::oid8 AS a FROM generate_series(0, 5000) i;
CREATE INDEX numbered_a ON numbered USING fpbtree (a);
VACUUM numbered});
	is($new->safe_psql('moved', q{SELECT form FROM ext.fpbtree_stats('numbered_a')}), 'word8', 'an index of it has words');
	$new->safe_psql('moved', q{SELECT ext.fpbtree_check('numbered_a', true)});
	foreach my $condition ("< '9223372036854775808'", "= '9223372036854775807'", ">= '18446744073709551615'")
	{
		my $rows = "SELECT count(*), sum(hashoid8(a)), min(a), max(a) FROM numbered WHERE a $condition";
		is($new->safe_psql('moved', "SET enable_seqscan = off; SET enable_bitmapscan = off; $rows"),
			$new->safe_psql('moved', "SET enable_indexscan = off; SET enable_indexonlyscan = off; SET enable_bitmapscan = off; $rows"),
			"and finds what is $condition");
	}
}
