#
# pg_dump and restore, with the extension in a schema that is not in the
# search_path: operator classes are in pg_catalog, which pg_dump takes to be the
# server's own, and must come back all the same; and DROP EXTENSION leaves
# nothing of them there.
#
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Utils;
use Servers;
use Test::More;

my $node = start_server('dump');

my $classes = q{SELECT count(*) FROM pg_opclass c JOIN pg_am a ON a.oid = opcmethod AND amname = 'fpbtree'};
my $families = q{SELECT count(*) FROM pg_opfamily f JOIN pg_am a ON a.oid = opfmethod AND amname = 'fpbtree'};

# What there is in a database: indexes, classes, and what they are part of.
my $content = q{
SELECT indexdef FROM pg_indexes WHERE indexdef LIKE '%fpbtree%' ORDER BY indexname;
SELECT opcnamespace::regnamespace, opcname, opcintype::regtype, opcdefault, e.extname
FROM pg_opclass c JOIN pg_am a ON a.oid = opcmethod AND amname = 'fpbtree'
	LEFT JOIN pg_depend d ON d.classid = 'pg_opclass'::regclass AND d.objid = c.oid AND d.deptype = 'e'
	LEFT JOIN pg_extension e ON e.oid = d.refobjid
ORDER BY 1, 2, 3;
SELECT opfnamespace::regnamespace, opfname, (SELECT count(*) FROM pg_amop WHERE amopfamily = f.oid),
	(SELECT count(*) FROM pg_amproc WHERE amprocfamily = f.oid), e.extname
FROM pg_opfamily f JOIN pg_am a ON a.oid = opfmethod AND amname = 'fpbtree'
	LEFT JOIN pg_depend d ON d.classid = 'pg_opfamily'::regclass AND d.objid = f.oid AND d.deptype = 'e'
	LEFT JOIN pg_extension e ON e.oid = d.refobjid
ORDER BY 1, 2;
SELECT p.oid::regprocedure, p.proacl FROM pg_proc p WHERE proname LIKE 'fpbtree%' ORDER BY 1;
SELECT count(*) FROM t WHERE b LIKE 'Word 1%';
};

# How an index is shaped, and where figures say so.
my $shape = q{SELECT node_format, leaf_lines, node_search, node_prefetch FROM ext.fpbtree_stats('t_a')};
my $definition = q{SELECT pg_get_functiondef('ext.fpbtree_tuning'::regproc)};
my $figures = q{VALUES ('word4', 'disk_first', 'csb', 5, 'bisecting', false, 1, 1, 1, false)};

query('CREATE DATABASE old');
$node->safe_psql(
	'old', q{
CREATE SCHEMA ext;
CREATE EXTENSION fpbtree SCHEMA ext;
});
$node->safe_psql('old', $node->safe_psql('old', $definition) =~ s/VALUES .*LIMIT 0/$figures/r);
$node->safe_psql(
	'old', q{
CREATE EXTENSION citext;
SELECT ext.fpbtree_clone_opclass('citext_ops');
CREATE SCHEMA own;
CREATE OPERATOR FAMILY own.backwards USING btree;
CREATE OPERATOR CLASS own.backwards FOR TYPE int4 USING btree FAMILY own.backwards AS
	OPERATOR 1 >, OPERATOR 2 >=, OPERATOR 3 =, OPERATOR 4 <=, OPERATOR 5 <, FUNCTION 1 btint4cmp(int4, int4);
SELECT ext.fpbtree_clone_opclass('own.backwards');
CREATE TABLE t (a int, b text, c citext);
INSERT INTO t SELECT i, 'Word ' || i, 'Word ' || i FROM generate_series(1, 1000) i;
CREATE INDEX t_a ON t USING fpbtree (a);
CREATE INDEX t_b ON t USING fpbtree (b text_pattern_ops, a DESC);
CREATE INDEX t_c ON t USING fpbtree (c);
CREATE INDEX t_o ON t USING fpbtree (a own.backwards);
});
my $before = $node->safe_psql('old', $content);
like($before, qr/USING fpbtree \(b text_pattern_ops, a DESC\)/, 'no schema in the definition of an index');
is($node->safe_psql('old', $shape), 'csb|5|bisecting|f', 'what has been measured shapes an index');
like($before, qr/pg_catalog\|text_pattern_ops\|text\|f\|fpbtree/, 'which is in pg_catalog');
like($before, qr/public\|citext_ops\|citext\|t\|\n/, "a clone of another extension's class is not");
like($node->safe_psql('old', q{SET enable_seqscan = off; EXPLAIN SELECT * FROM t WHERE b LIKE 'Word 1%'}), qr/t_b/, 'it is used');

foreach my $format ('plain', 'custom')
{
	my $file = "$PostgreSQL::Test::Utils::tmp_check/$format.dump";

	query("CREATE DATABASE $format");
	$node->command_ok([ 'pg_dump', "--format=$format", '--file', $file, $node->connstr('old') ], "$format: dumped");
	if ($format eq 'plain')
	{
		my $dump = slurp_file($file);
		like($dump, qr/CREATE EXTENSION IF NOT EXISTS fpbtree WITH SCHEMA ext;/, 'the server that it is restored to chooses the version');
		unlike($dump, qr/OPERATOR (CLASS|FAMILY) pg_catalog|fpbtree_tuning/, 'nothing of the extension itself');
		$node->command_ok([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-f', $file, $node->connstr($format) ], "$format: restored");
	}
	else
	{
		$node->command_ok([ 'pg_restore', '--exit-on-error', '--dbname', $node->connstr($format), $file ], "$format: restored");
	}
	is($node->safe_psql($format, $content), $before, "$format: all is there again");
	is($node->safe_psql($format, q{SELECT count(ext.fpbtree_check(indexrelid, true)) FROM pg_index i JOIN pg_class c ON c.oid = indexrelid JOIN pg_am a ON a.oid = relam AND amname = 'fpbtree'}), 4, "$format: and sound");
}

# What has been measured is this machine's, so no dump takes it along; whoever wants it elsewhere can have it.
is($node->safe_psql('plain', 'SELECT count(*) FROM ext.fpbtree_tuning()'), 0, 'no figures');
isnt($node->safe_psql('plain', $shape), 'csb|5|bisecting|f', 'nor an index shaped by them');
$node->safe_psql('plain', $node->safe_psql('old', $definition));
$node->safe_psql('plain', 'REINDEX INDEX t_a');
is($node->safe_psql('plain', $shape), 'csb|5|bisecting|f', 'but they can be brought');

# The extension goes, and all that belongs to it.
like(messages('DROP EXTENSION fpbtree', 'plain'), qr/cannot drop extension fpbtree because other objects depend on it/, 'not while it is used');
$node->safe_psql('plain', 'DROP EXTENSION fpbtree CASCADE');
is($node->safe_psql('plain', q{SELECT count(*) FROM pg_opclass c LEFT JOIN pg_am a ON a.oid = opcmethod WHERE a.oid IS NULL}), 0, 'no classes left');
is($node->safe_psql('plain', q{SELECT count(*) FROM pg_opfamily f LEFT JOIN pg_am a ON a.oid = opfmethod WHERE a.oid IS NULL}), 0, 'no families');
$node->safe_psql('plain', 'CREATE EXTENSION fpbtree SCHEMA own');
is($node->safe_psql('plain', $classes), query("CREATE EXTENSION fpbtree; $classes"), 'and it can be made again');
is($node->safe_psql('plain', $families), query($families), 'with all families');

# A schema takes the extension with it.
$node->safe_psql('plain', 'DROP SCHEMA own CASCADE');
is($node->safe_psql('plain', q{SELECT count(*) FROM pg_am WHERE amname = 'fpbtree'}), 0, 'no access method');

$node->stop;
done_testing();
