#
# What is wrong with one operation queue, or with one leaf, is that one's alone:
# neither the worker's other indexes nor insertions of other keys fail for it.
# The worker comes again without being asked.  And the shared memory in which all
# that is kept has room for those indexes that there are.
#
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/lib";
use IndexFiles;
use Servers;
use Test::More;

my $node = start_server(
	'failures', q{
log_min_messages = debug1
wal_level = replica
fpbtree.queue_flush_after = 1s
fpbtree.shared_indexes = 16
});

sub make_table
{
	my ($name, $db) = @_;
	query("CREATE TABLE $name (k int8); CREATE INDEX ${name}_k ON $name USING fpbtree (k) WITH (operation_queue = on, opq_size = 1000000)", $db);
	return;
}

sub fill
{
	my ($name, $n, $db) = @_;
	query("INSERT INTO $name SELECT hashint8extended(i, 1) FROM generate_series(1, $n) i", $db);
	return;
}

sub emptied
{
	my ($name, $what, $db) = @_;
	comes_true("$what: the queue of $name is emptied", "SELECT queue_pages = 0 AND entries = (SELECT count(*) FROM $name) FROM fpbtree_stats('${name}_k')", $db);
	return;
}

query('CREATE EXTENSION fpbtree');
my $block = query('SHOW block_size');

# ---- an index with a comparator that raises errors, wherever search_path is not as it was
query(q{
	CREATE SCHEMA app;
	CREATE FUNCTION app.weight(text) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT length($1)';
	CREATE FUNCTION app.cmp(a text, b text) RETURNS int IMMUTABLE STRICT LANGUAGE plpgsql AS
		'BEGIN RETURN CASE WHEN weight(a) <> weight(b) THEN sign(weight(a) - weight(b))::int ELSE bttextcmp(a, b) END; END';
	CREATE FUNCTION app.lt(a text, b text) RETURNS bool IMMUTABLE STRICT LANGUAGE sql AS 'SELECT app.cmp($1, $2) < 0';
	CREATE OPERATOR app.<# (LEFTARG = text, RIGHTARG = text, FUNCTION = app.lt);
	CREATE OPERATOR CLASS app.w_ops FOR TYPE text USING fpbtree AS OPERATOR 1 app.<#, FUNCTION 1 app.cmp(text, text);
	CREATE TABLE bad (k text);
	SET search_path = app, public;
	CREATE INDEX bad_k ON bad USING fpbtree (k w_ops) WITH (operation_queue = on, opq_size = 1000000);
	INSERT INTO bad SELECT md5(g::text) FROM generate_series(1, 1000) g});
make_table($_) foreach 'good1', 'good2';
fill('good1', 3000);
comes_true('the worker fails at an index', q{SELECT failures > 1 AND worker = 'backing off' AND retry_at > last_error_at AND last_error = '42883' FROM fpbtree_activity() WHERE index = 'bad_k'::regclass});
fill('good2', 3000);
emptied($_, 'one index fails') foreach 'good1', 'good2';
is(query(q{SELECT queue_entries FROM fpbtree_stats('bad_k')}), '1000', 'its entries are where they were');
ok($node->log_contains(qr/function weight\(text\) does not exist[^\n]*\n.*moving entries of the operation queue of index "public\.bad_k"/s),
	'the log names the index');
my $pid = query("SELECT pid $QUEUE_WORKERS");
like($pid, qr/^\d+$/, 'it is still the same worker');
comes_true('somebody asks while it is left alone', q{SELECT worker = 'backing off' FROM fpbtree_activity() WHERE index = 'bad_k'::regclass});
query(q{SET search_path = app, public; INSERT INTO bad VALUES ('one more')});
query('ALTER FUNCTION app.cmp SET search_path = app, pg_catalog');
emptied('bad', 'the comparator is mended');
is(query(q{SELECT failures, retry_at, queue_pages, queue_entries, queue_moved, last_error FROM fpbtree_activity() WHERE index = 'bad_k'::regclass}),
	'0||0|0|1001|42883', 'nothing is left of it but the last error');

# ---- nobody asks, and the worker comes
fill('good1', 3000);
comes_true('there is a worker', "SELECT count(*) = 1 $QUEUE_WORKERS");
query("SELECT pg_terminate_backend(pid) $QUEUE_WORKERS");
emptied('good1', 'the worker has been stopped');

set_and_reload("fpbtree.queue_flush_after = 1h\n");
fill($_, 3000) foreach 'good1', 'good2';
comes_true('there is a worker again', "SELECT count(*) = 1 $QUEUE_WORKERS");
$pid = query("SELECT pid $QUEUE_WORKERS");
$node->append_conf('postgresql.conf', "fpbtree.queue_flush_after = 1s\n");
kill_one($pid);
emptied($_, 'the server has crashed') foreach 'good1', 'good2';

set_and_reload("fpbtree.queue_flush_after = 1h\n");
fill($_, 3000) foreach 'good1', 'good2';
query('CREATE TABLE other (k int); CREATE INDEX other_k ON other USING fpbtree (k); INSERT INTO other VALUES (1)');
$node->stop;
$node->append_conf('postgresql.conf', "fpbtree.queue_flush_after = 1s\n");
$node->start;
is(query(q{SELECT sum(queue_entries) FROM unnest('{good1_k,good2_k}'::regclass[]) i, fpbtree_stats(i)}), '6000', 'a server comes to queues');
is(query('SET enable_seqscan = off; SELECT k FROM other WHERE k = 1'), '1', 'another index is used');
emptied($_, 'the server has been started') foreach 'good1', 'good2';

# ---- a database is dropped of which an index is left alone
query('CREATE DATABASE doomed');
query(q{
	CREATE EXTENSION fpbtree;
	CREATE FUNCTION cmp(a int, b int) RETURNS int IMMUTABLE STRICT LANGUAGE plpgsql AS
		$$ BEGIN IF current_setting('search_path') LIKE 'pg_catalog%' THEN RAISE 'not now'; END IF; RETURN btint4cmp(a, b); END $$;
	CREATE OPERATOR CLASS bad_ops FOR TYPE int USING fpbtree AS OPERATOR 1 <, FUNCTION 1 cmp(int, int);
	CREATE TABLE t (k int);
	CREATE INDEX t_k ON t USING fpbtree (k bad_ops) WITH (operation_queue = on, opq_size = 1000000);
	INSERT INTO t SELECT generate_series(1, 500)}, 'doomed');
comes_true('a worker leaves an index alone', q{SELECT failures > 1 FROM fpbtree_activity() WHERE index = 't_k'::regclass}, 'doomed');
query('CREATE DATABASE copy TEMPLATE doomed');
pass('its database can be copied');
query('DROP DATABASE doomed');
is(query("SELECT count(*) $QUEUE_WORKERS AND datname = 'doomed'"), '0', 'and dropped');
query('DROP DATABASE copy');

# ---- a damaged leaf
set_and_reload("fpbtree.queue_worker = off\n");
query(sprintf(q{
	SET fpbtree.default_operation_queue = off;
	CREATE TABLE d (k int);
	INSERT INTO d SELECT i * 10 FROM generate_series(1, 100000) i;
	CREATE INDEX d_k ON d USING fpbtree (k) WITH (operation_queue = on, opq_size = %d)}, $block / 1024));
my ($leaf, $low) = split /\|/, query(q{
	SELECT b, substring(low_fence from '\d+')::int FROM generate_series(1, pg_relation_size('d_k') / current_setting('block_size')::int - 1) b, fpbtree_page('d_k', b) p
	WHERE level = 0 AND low_fence IS NOT NULL AND substring(low_fence from '\d+')::int > 500000 LIMIT 1});
my $path = file_of('d_k');
my $saved;

sub write_leaf
{
	my ($bytes) = @_;
	$node->stop;
	my $before = overwrite($path, $leaf * $block, $bytes);
	$node->start;
	return $before;
}
$saved = write_leaf("\0" x $block);

# Entries for that leaf, and then for others, until there is room for none.  What
# has been said of failures is counted.
my $said = qr/WARNING:  could not move entries of the operation queue of index "d_k" to block $leaf/;
my $FAILED = qq{SELECT failed_blocks = '{$leaf}' FROM fpbtree_activity() WHERE index = 'd_k'::regclass};
query("INSERT INTO d SELECT $low + 1 + i % 300 FROM generate_series(1, 100) i");
my ($warnings, $errors, $inserted) = (0, 0, 100);
foreach my $round (1 .. 60)
{
	my ($ret, $out, $err) = $node->psql('postgres',
		"INSERT INTO d SELECT n FROM (SELECT 1 + (i * 7919 + $round * 131) % 1000000 AS n FROM generate_series(1, 50) i) x WHERE n NOT BETWEEN $low - 10 AND $low + 10000");
	$errors++ if $ret != 0;
	$warnings++ while $err =~ /$said/g;
}
is($errors, 0, 'no insertion of keys elsewhere fails');
is($warnings, 1, 'of the leaf is told once');
is(query($FAILED), 't', 'it is among those that have failed');
cmp_ok(query(q{SELECT queue_moved FROM fpbtree_activity() WHERE index = 'd_k'::regclass}), '>', 100, 'others have got theirs');
my ($ret, undef, $err) = $node->psql('postgres', "SET fpbtree.default_operation_queue = off; ALTER INDEX d_k SET (operation_queue = off); INSERT INTO d VALUES ($low + 1)");
isnt($ret, 0, 'an insertion of a key of its own fails');
query('ALTER INDEX d_k SET (operation_queue = on)');

# the worker
set_and_reload("fpbtree.queue_worker = on\n");
query('INSERT INTO d VALUES (1)');
comes_true('the worker moves what is for others', qq{SELECT queue_entries = 100 FROM fpbtree_activity() WHERE index = 'd_k'::regclass});
is(query($FAILED), 't', 'and leaves that one alone');
write_leaf($saved);
query('SET enable_seqscan = off; SET enable_bitmapscan = off; SELECT k FROM other WHERE k = 1');
emptied('d', 'the leaf is mended');
is_sound('d_k', 'the index is sound');

# ---- an error that is the session's own is so whatever it meets it at
set_and_reload("fpbtree.queue_worker = off\n");
query(sprintf(q{
	CREATE FUNCTION cmp(a int, b int) RETURNS int IMMUTABLE STRICT LANGUAGE plpgsql AS
		$$ BEGIN IF current_setting('test.state', true) <> '' AND current_setting('test.poison', true)::int IN (a, b) THEN RAISE EXCEPTION 'poisoned' USING errcode = current_setting('test.state'); END IF; RETURN btint4cmp(a, b); END $$;
	CREATE OPERATOR CLASS poisoned_ops FOR TYPE int USING fpbtree AS OPERATOR 1 <, FUNCTION 1 cmp(int, int);
	CREATE TABLE p (k int);
	INSERT INTO p SELECT i * 10 FROM generate_series(1, %d) i;
	CREATE INDEX p_k ON p USING fpbtree (k poisoned_ops) WITH (operation_queue = on, opq_size = %d)}, $block, $block / 1024));
# a key of a leaf that no page above it knows
my $poison = query(q{SELECT min(k) FROM p WHERE k > 5000 AND k NOT IN (SELECT substring(low_fence from '\d+')::int
	FROM generate_series(1, pg_relation_size('p_k') / current_setting('block_size')::int - 1) b, fpbtree_page('p_k', b) WHERE low_fence IS NOT NULL)});
query("INSERT INTO p SELECT $poison + 1 + i % 9 FROM generate_series(1, 50) i");
# one by one, until the queue has been full
my $UNTIL_FULL = q{DO $$ BEGIN
	FOR i IN 1 .. 10000 LOOP
		INSERT INTO p VALUES (6000 + i * 7919 % 20000);
		EXIT WHEN (SELECT queue_stalls > 0 FROM fpbtree_activity() WHERE index = 'p_k'::regclass);
	END LOOP; END $$};
foreach my $state ('57014', '40001', '55P03')
{
	$err = messages("\\set VERBOSITY sqlstate\nSET test.poison = $poison; SET test.state = '$state'; $UNTIL_FULL");
	like($err, qr/ERROR:  $state/, "an insertion with an error of its own: $state");
	unlike($err, qr/WARNING/, 'and no other');
}
is(query(q{SELECT failed_blocks FROM fpbtree_activity() WHERE index = 'p_k'::regclass}), '{}', 'no leaf has failed');
($ret, undef, $err) = $node->psql('postgres', "SET test.poison = $poison; SET test.state = '22012'; $UNTIL_FULL");
is($ret, 0, 'an error of others is none of an insertion');
like($err, qr/WARNING:  could not move entries of the operation queue of index "p_k" to block \d+\nHINT: /, 'but a warning');
unlike($err, qr/poisoned/, 'which does not tell all');
ok($node->log_contains(qr/DETAIL:  poisoned/), 'the log does');
is_sound('p_k', 'the index is sound');

# ---- slots of shared memory
my $CREATE_AND_DROP = q{DO $$ BEGIN
	FOR i IN 1 .. 100 LOOP
		CREATE INDEX many_k ON many USING fpbtree (k) WITH (operation_queue = on);
		INSERT INTO many VALUES (i);
		DROP INDEX many_k;
		COMMIT;
	END LOOP; END $$};
my $FRESH = q{SELECT queue_entries FROM fpbtree_activity() WHERE index = 'fresh_k'::regclass};
query('CREATE TABLE many (k int8)');
query($CREATE_AND_DROP);
fill('good1', 10);
is(query(q{SELECT count(*) FROM fpbtree_activity() WHERE index = 'good1_k'::regclass}), '1', 'slots of dropped indexes are used again');
ok(!$node->log_contains(qr/shared memory for fpbtree indexes is full/), 'and that is not worth a message');
{
	my $session = session($node, 'BEGIN', 'CREATE TABLE fresh (k int8)',
		'CREATE INDEX fresh_k ON fresh USING fpbtree (k) WITH (operation_queue = on)', 'INSERT INTO fresh SELECT generate_series(1, 7)');
	query($CREATE_AND_DROP);
	commit($session);
	is(query($FRESH), '7', 'not that of an index that is about to come');
}
query(join ';', map { "CREATE INDEX many_$_ ON many USING fpbtree (k) WITH (operation_queue = on)" } 1 .. 20);
query('INSERT INTO many SELECT i FROM generate_series(1, 100) i');
is(query('SELECT count(*) FROM fpbtree_activity()'), '16', 'there are no more of them than the setting says');
ok($node->log_contains(qr/LOG:  shared memory for fpbtree indexes is full\n.*HINT:  Consider increasing the configuration parameter "fpbtree.shared_indexes"/s), 'and that is told');
is(query(q{SELECT count(*) FROM generate_series(1, 20) i, fpbtree_stats(format('many_%s', i)::regclass) WHERE entries <> (SELECT count(*) FROM many)}), '0', 'those without are complete');

# the same with an index that its session may yet want
$node->restart;
query(q{SELECT fpbtree_flush('fresh_k')});
query('INSERT INTO fresh SELECT generate_series(1, 9)');
query('BEGIN; DROP INDEX fresh_k; INSERT INTO many VALUES (0); ROLLBACK');
is(query($FRESH), '9', 'nor one that is dropped in vain');
is(query('SELECT count(*) FROM fpbtree_activity()'), '16', 'though there is no room for others');

# ---- another server, with as many slots as there are
stop_servers($node);
$node = start_server('others', "fpbtree.queue_flush_after = 1s\n");
use_server($node);
query('CREATE EXTENSION fpbtree');
query('CREATE TABLE other (k int); CREATE INDEX other_k ON other USING fpbtree (k); INSERT INTO other VALUES (1)');

# ---- a database is moved to another tablespace, after it has had a worker
mkdir $node->basedir . '/elsewhere';
query(sprintf(q{CREATE TABLESPACE elsewhere LOCATION '%s/elsewhere'}, $node->basedir));
query('CREATE DATABASE moved');
query('CREATE EXTENSION fpbtree', 'moved');
make_table('m', 'moved');
fill('m', 3000, 'moved');
emptied('m', 'before its database is moved', 'moved');
query('ALTER DATABASE moved SET TABLESPACE elsewhere');
fill('m', 3000, 'moved');
emptied('m', 'its database has been moved', 'moved');

# ---- a queue comes to another index with its file, and nobody inserts anything
set_and_reload("fpbtree.queue_flush_after = 1h\n");
query(q{CREATE TABLE came (k varchar(40)); CREATE INDEX came_k ON came USING fpbtree (k) WITH (operation_queue = on, opq_size = 1000000);
	INSERT INTO came SELECT md5(i::text) FROM generate_series(1, 3000) i});
my $file = query(q{SELECT pg_relation_filenode('came_k')});
query('ALTER TABLE came ALTER k TYPE varchar(60)');
is(query(q{SELECT pg_relation_filenode('came_k')}), $file, 'another index has the file');
set_and_reload("fpbtree.queue_flush_after = 1s\n");
is(query(q{SET enable_seqscan = off; SELECT queue_entries FROM fpbtree_stats('came_k'); SELECT count(*) FROM came WHERE k = md5('7')}), "3000\n1", 'it has the queue');
emptied('came', 'a row of it has been looked up');

# ---- a damaged page above leaves
set_and_reload("fpbtree.queue_flush_after = 1h\n");
query(q{
	SET fpbtree.default_operation_queue = off;
	CREATE TABLE above (k int);
	INSERT INTO above SELECT i * 10 FROM generate_series(1, 600000) i;
	CREATE INDEX above_k ON above USING fpbtree (k) WITH (operation_queue = on, opq_size = 1000000, fillfactor = 10);
	INSERT INTO above SELECT 1 + (i * 7919) % 6000000 FROM generate_series(1, 3000) i});
my @above = split /\n/, query(q{
	SELECT b FROM generate_series(1, pg_relation_size('above_k') / current_setting('block_size')::int - 1) b, fpbtree_page('above_k', b) p
	WHERE level = 1 AND NOT 'queue' = ANY(flags) ORDER BY substring(low_fence from '\d+')::int NULLS FIRST});
cmp_ok(scalar @above, '>', 2, 'there are several pages above leaves');
($path, $leaf) = (file_of('above_k'), $above[@above / 2]);
$node->append_conf('postgresql.conf', "fpbtree.queue_flush_after = 1s\n");
write_leaf("\0" x $block);
is(query('SET enable_seqscan = off; SELECT k FROM other WHERE k = 1'), '1', 'another index is used');
comes_true('what is for the others moves', q{SELECT queue_entries < 1000 FROM fpbtree_activity() WHERE index = 'above_k'::regclass});

stop_servers($node);
done_testing();
