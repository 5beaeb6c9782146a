#
# Primary keys and unique constraints with an fpbtree index in a dump, which
# restores them as btrees, and in pg_upgrade, which refuses them before it has
# copied anything.  The statements of fpbtree_keys() bring them through both.
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

my ($major) = `pg_config --version` =~ /(\d+)/;

# What there is of constraints, their indexes, and foreign keys.
my $KEYS = q{
SELECT conrelid::regclass, conname, pg_get_constraintdef(k.oid), amname, convalidated, obj_description(k.oid, 'pg_constraint')
FROM pg_constraint k LEFT JOIN pg_class c ON c.oid = conindid AND contype <> 'f' LEFT JOIN pg_am ON pg_am.oid = relam
WHERE contype IN ('p', 'u', 'f') AND connamespace = 'public'::regnamespace ORDER BY conrelid::regclass::text, conname};
my $FILES = q{SELECT relname, relfilenode FROM pg_class WHERE relname LIKE 't\_%' ORDER BY 1};
my $SOUND = q{SELECT count(ext.fpbtree_check(indexrelid, true)) FROM pg_index WHERE indrelid = 't'::regclass};

in_dump();
foreach my $version (17 .. $major)
{
	in_upgrade($version) if $ENV{"FPBTREE_PG_CONFIG_$version"} && $ENV{"FPBTREE_PG_CONFIG_$major"};
}
done_testing();

# Makes a table with keys, others that refer to it, and what has been saved of
# its keys.  17 takes foreign keys to btrees only.
sub make_keys
{
	my ($node, $with_references) = @_;

	$node->safe_psql('postgres', 'CREATE DATABASE keys');
	$node->safe_psql(
		'keys', q{
CREATE SCHEMA ext;
CREATE EXTENSION fpbtree SCHEMA ext;
CREATE TABLE t (a int, b text, c int);
INSERT INTO t SELECT i, 'word ' || i, i FROM generate_series(1, 10000) i;
CREATE UNIQUE INDEX t_key ON t USING fpbtree (a DESC);
CREATE UNIQUE INDEX t_b ON t USING fpbtree (b) INCLUDE (a) WITH (fillfactor = 80);
CREATE UNIQUE INDEX t_c ON t USING fpbtree (c);
SELECT ext.fpbtree_add_constraint('t', 't_key', 'primary key'),
	ext.fpbtree_add_constraint('t', 't_b', 'unique'),
	ext.fpbtree_add_constraint('t', 't_c', 'unique', is_deferrable => true);
COMMENT ON CONSTRAINT t_key ON t IS 'the key';
});
	$node->safe_psql(
		'keys', q{
CREATE TABLE refers (a int REFERENCES t, b text REFERENCES t (b));
INSERT INTO refers SELECT a, b FROM t LIMIT 100;
}) if $with_references;
	$node->safe_psql('keys', 'CREATE TABLE saved AS SELECT * FROM ext.fpbtree_keys()');
	return;
}

# Runs the statements of a column of what has been saved, each by itself.
sub run_saved
{
	my ($node, $database, $column) = @_;
	my $statements = $node->safe_psql($database, qq{
SELECT encode(convert_to(s, 'UTF8'), 'hex') FROM saved, unnest($column) WITH ORDINALITY u (s, n) ORDER BY name, n});

	$node->safe_psql($database, pack('H*', $_)) foreach split /\n/, $statements;
	return;
}

# What a duplicate, and a row that refers to nothing, end with.
sub refusals
{
	my ($node, $database) = @_;
	my @messages;

	foreach my $statement (
		q{INSERT INTO t VALUES (1, 'new', 0)},
		q{INSERT INTO t VALUES (0, 'word 1', 0)},
		q{BEGIN; SET CONSTRAINTS ALL DEFERRED; INSERT INTO t VALUES (0, 'new', 1); SELECT 1; COMMIT},
		q{INSERT INTO refers VALUES (20000, NULL)})
	{
		my ($rc, $out, $err) = $node->psql($database, $statement);
		push @messages, "$out " . ($err =~ /ERROR:  (.*)/)[0];
	}
	return \@messages;
}

sub in_dump
{
	my $node = start_server('dump');
	my $file = "$PostgreSQL::Test::Utils::tmp_check/keys.dump";

	make_keys($node, $major >= 18);
	my $before = $node->safe_psql('keys', $KEYS);
	my $refusals = refusals($node, 'keys');
	like($before, qr/t_key\|PRIMARY KEY \(a\)\|fpbtree/, 'a primary key with an fpbtree index');
	$node->command_ok([ 'pg_dump', '--format=custom', '--file', $file, $node->connstr('keys') ], 'dumped');
	query('CREATE DATABASE restored');
	$node->command_ok([ 'pg_restore', '--exit-on-error', '--dbname', $node->connstr('restored'), $file ], 'restored');
	is($node->safe_psql('restored', $KEYS), $before =~ s/\|fpbtree/|btree/gr, 'keys are btrees now');
	run_saved($node, 'restored', $_) foreach ('statements', 'afterwards');
	is($node->safe_psql('restored', $KEYS), $before, 'and what they were, by the statements of fpbtree_keys');
	is($node->safe_psql('restored', $SOUND), 3, 'all sound');
	is_deeply(refusals($node, 'restored'), $refusals, 'and enforced');
	$node->stop;
	return;
}

# A crash leaves a temporary table with a key in the catalogs, which pg_upgrade
# leaves out.
sub leave_temporary_key
{
	my ($node) = @_;
	my $session = $node->background_psql('keys');

	$session->query_safe(
		q{SET client_min_messages = error;
CREATE TEMP TABLE own (a int);
CREATE UNIQUE INDEX own_a ON own USING fpbtree (a);
SELECT ext.fpbtree_add_constraint('own', 'own_a', 'primary key')});
	$node->safe_psql('postgres', 'CHECKPOINT');
	$node->stop('immediate');
	eval { $session->quit };
	$node->start;
	is($node->safe_psql('keys', q{SELECT conname FROM pg_constraint WHERE conrelid::regclass::text LIKE '%own' AND contype = 'p'}),
		'own_a', 'a key of a temporary table has been left');
	return;
}

sub in_upgrade
{
	my ($from) = @_;
	my %prefix = map {
		chomp(my $bindir = `$ENV{"FPBTREE_PG_CONFIG_$_"} --bindir`);
		$_ => $bindir =~ s/\/bin$//r
	} ($from, $major);
	my $old = PostgreSQL::Test::Cluster->new("old_$from", install_path => $prefix{$from});

	# a copy would be one of the server under test
	$old->init(force_initdb => 1);
	$old->append_conf('postgresql.conf', "autovacuum = off\n");
	$old->start;
	make_keys($old, $from >= 18);
	my $before = $old->safe_psql('keys', $KEYS);
	my $refusals = refusals($old, 'keys');
	my $files = $old->safe_psql('keys', $FILES);
	leave_temporary_key($old);
	$old->stop;

	my $upgrade = sub {
		my ($cluster, $new, $mode) = @_;

		chdir $PostgreSQL::Test::Utils::tmp_check or die;
		return [
			"$prefix{$major}/bin/pg_upgrade", '--no-sync',
			'--old-datadir' => $cluster->data_dir, '--new-datadir' => $new->data_dir,
			'--old-bindir' => "$prefix{$from}/bin", '--new-bindir' => "$prefix{$major}/bin",
			'--socketdir' => $new->host, '--old-port' => $cluster->port, '--new-port' => $new->port, $mode
		];
	};
	my $make_new = sub {
		my $new = PostgreSQL::Test::Cluster->new("new_${from}_$_[0]", install_path => $prefix{$major});

		# from 18 on there would be data checksums, which 17 has not
		$new->init(extra => $from == 17 && $major > 17 ? ['--no-data-checksums'] : []);
		$new->append_conf('postgresql.conf', "autovacuum = off\n");
		return $new;
	};

	# refused
	my $new = $make_new->('copy');
	my ($out, $err) = run_command($upgrade->($old, $new, '--copy'));
	my $logs = join '', map { slurp_file($_) } glob $new->data_dir . '/pg_upgrade_output.d/*/log/pg_upgrade_dump_*.log';
	like("$out$err$logs", qr/ERROR:  cannot upgrade constraint "t_\w+" of table "public.t", because its index is fpbtree/, "from $from: refused");
	unlike($out, qr/Performing Upgrade/, 'before anything has been changed');
	$old->start;
	is($old->safe_psql('keys', $KEYS), $before, 'the old cluster is as it was');

	# as plain indexes
	run_saved($old, 'keys', 'before_upgrade');
	unlike($old->safe_psql('keys', $KEYS), qr/PRIMARY KEY/, 'the keys are plain indexes');
	$old->stop;
	$old->backup_fs_cold('cold') if $from == $major - 1;
	# from the version before by all ways
	foreach my $mode ('copy', $from != $major - 1 ? () : ('link', $major >= 18 ? 'swap' : ()))
	{
		my $cluster = $old;

		if ($mode ne 'copy')
		{
			$new = $make_new->($mode);
			$cluster = PostgreSQL::Test::Cluster->new("old_${from}_$mode", install_path => $prefix{$from});
			$cluster->init_from_backup($old, 'cold');
		}
		command_ok($upgrade->($cluster, $new, "--$mode"), "from $from by $mode");
		$new->start;
		is($new->safe_psql('keys', $FILES), $files, 'in the same files');
		run_saved($new, 'keys', 'after_upgrade');
		is($new->safe_psql('keys', $KEYS), $before, 'the keys are what they were');
		is($new->safe_psql('keys', $SOUND), 3, 'all sound');
		is_deeply(refusals($new, 'keys'), $refusals, 'and enforced');
		$new->stop;
	}
	return;
}
