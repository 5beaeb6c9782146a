#
# Files in the place of an index's that are no such index: those of other access
# methods and of other fpbtree indexes, of another version, empty and cut off,
# zeros and noise, blocks in another order.  Whatever is done with them, an error
# says that data is damaged; and REINDEX mends it.
#
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/lib";
use Servers;
use Test::More;

my $node = start_server(
	'files', q{
# with wal_level = minimal, building an index leaves it in the buffers
wal_level = replica
fsync = off
enable_seqscan = off
statement_timeout = 60s
max_parallel_workers_per_gather = 0
}, no_data_checksums => 1);
trust_changes($node);
my $blcksz = query('SHOW block_size');

# The index in question has words of eight bytes; the table o has others.
query(q{
CREATE EXTENSION fpbtree;
CREATE TABLE t (id int, k int8, c text COLLATE "C", u uuid);
INSERT INTO t SELECT i, i % 4000, 'text ' || i, md5(i::text)::uuid FROM generate_series(1, 5000) i;
VACUUM t;
CREATE INDEX t_k ON t USING fpbtree (k);
CREATE TABLE o AS SELECT * FROM t;
CREATE INDEX o_btree ON o USING btree (k);
CREATE INDEX o_hash ON o USING hash (k);
CREATE INDEX o_word4 ON o USING fpbtree (id);
CREATE INDEX o_pair ON o USING fpbtree (id, k);
CREATE INDEX o_text ON o USING fpbtree (c);
CREATE INDEX o_tuple ON o USING fpbtree (k, c);
CREATE TABLE d (k int8);
CREATE INDEX d_k ON d USING fpbtree (k);
INSERT INTO d SELECT i FROM generate_series(1, 100000) i;
CREATE TABLE files (name text PRIMARY KEY, bytes bytea);
ALTER TABLE files ALTER bytes SET STORAGE EXTERNAL;
CHECKPOINT;
INSERT INTO files SELECT relname, pg_read_binary_file(pg_relation_filepath(oid))
FROM pg_class WHERE relname ~ '^(t_k|o_\w+|d_k|o)$';
-- Put a file in the place of one of an index that has just been made and of
-- which nothing is in the buffers.
CREATE FUNCTION put(index regclass, bytes bytea) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	lo oid := lo_from_bytea(0, bytes);
BEGIN
	PERFORM lo_export(lo, pg_relation_filepath(index));
	PERFORM lo_unlink(lo);
END $$;
CREATE FUNCTION file(name text) RETURNS bytea LANGUAGE sql AS $$ SELECT bytes FROM files WHERE files.name = $1 $$;
-- n bytes of a hundred different blocks
CREATE FUNCTION noise(n int) RETURNS bytea LANGUAGE sql AS
$$ SELECT substr(string_agg(sha512(i::text::bytea), ''), 1, n) FROM generate_series(1, n / 64 + 1) i $$;
});

# What can be done with an index, each a session of its own.
my %doings = (
	lookup => 'SELECT id FROM t WHERE k = 1234',
	forward => 'SELECT count(id) FROM (SELECT * FROM t WHERE k > -1 ORDER BY k) x',
	backward => 'SELECT count(id) FROM (SELECT * FROM t WHERE k > -1 ORDER BY k DESC) x',
	only => 'SELECT count(k) FROM t WHERE k >= 0',
	bitmap => 'SET enable_indexscan = off; SET enable_indexonlyscan = off; SELECT count(id) FROM t WHERE k < 5000',
	insert => 'INSERT INTO t (id, k) SELECT -1, i FROM generate_series(1, 4000, 7) i',
	vacuum => 'VACUUM (INDEX_CLEANUP ON) t',
	check => q{SELECT fpbtree_check('t_k', true)},
	stats => q{SELECT count(*) FROM fpbtree_stats('t_k')});

# name, the file's content, what is said about it, and whether anything at all
# may succeed (then because it does not come to what is wrong)
my $whole = qr/index "t_k" is not an fpbtree/;
my $short = qr/could not read blocks? 0/;
my $form = qr/metapage of index "t_k" does not agree with its definition/;
my @cases = (
	[ 'a btree', "file('o_btree')", $whole ],
	[ 'a hash index', "file('o_hash')", $whole ],
	[ 'a table', "file('o')", $whole ],
	[ 'words of 4 bytes', "file('o_word4')", $form ],
	[ 'words of 16 bytes', "file('o_pair')", $form ],
	[ 'texts', "file('o_text')", $form ],
	[ 'tuples', "file('o_tuple')", $form ],
	[ 'an older version', "set_byte(file('t_k'), 36, 1)", qr/version mismatch in index "t_k": file version 1, current version \d+/ ],
	[ 'nothing', q{''}, $short ],
	[ 'half a block', "substr(file('t_k'), 1, $blcksz / 2)", $short ],
	[ 'zeros', "decode(repeat('00', $blcksz * 5), 'hex')", $whole ],
	[ 'noise', "noise($blcksz * 5)", qr/invalid page in block 0/ ],
	[ 'no metapage', "substr(file('t_k'), $blcksz + 1)", $whole ],
	[ 'only a metapage', "substr(file('t_k'), 1, $blcksz)", qr/damaged page/ ],
	[ 'a metapage and zeros', "substr(file('t_k'), 1, $blcksz) || decode(repeat('00', $blcksz * 40), 'hex')", qr/damaged page/ ],
	[ 'a metapage and noise', "substr(file('t_k'), 1, $blcksz) || noise($blcksz * 40)", qr/invalid pages? (in|among) block/ ],
	[ 'the metapage again and again', "substr(file('t_k'), 1, $blcksz) || substr(file('t_k'), 1, $blcksz) || substr(file('t_k'), 1, $blcksz) || substr(file('t_k'), 1, $blcksz) || substr(file('t_k'), 1, $blcksz) || substr(file('t_k'), 1, $blcksz)", qr/damaged page/ ],
	[ 'the half of it', "substr(file('t_k'), 1, length(file('t_k')) / $blcksz / 2 * $blcksz)", qr/damaged page/, 1 ],
	[ 'blocks in another order', "substr(file('t_k'), 1, $blcksz) || substr(file('t_k'), $blcksz * 2 + 1) || substr(file('t_k'), $blcksz + 1, $blcksz)", qr/damaged page/ ],
	[ 'a metapage and blocks of a btree', "substr(file('t_k'), 1, $blcksz) || substr(file('o_btree'), $blcksz + 1)", qr/damaged page/ ],
	[ 'a metapage and blocks of texts', "substr(file('t_k'), 1, $blcksz) || substr(file('o_text'), $blcksz + 1)", qr/damaged page/ ],
	[ 'an index of the same form of another table', "file('d_k')", qr/contains a damaged page|row|lacks an entry/, 1 ]);

foreach my $case (@cases)
{
	my ($name, $bytes, $pattern, $some) = @$case;
	my (@wrong, $failed);

	foreach my $doing (sort keys %doings)
	{
		# some dead rows, so that VACUUM has something to do
		query('REINDEX INDEX t_k; BEGIN; INSERT INTO t (id) SELECT -2 FROM generate_series(1, 100); ROLLBACK; REINDEX INDEX t_k;'
			  . "SELECT put('t_k', $bytes)");
		my ($status, $out, $err) = $node->psql('postgres', "\\set VERBOSITY verbose\n$doings{$doing}");

		if ($status == 2) { push @wrong, "$doing: the server has crashed"; last; }
		if ($err =~ /ERROR:  (\w+): (.*)/)
		{
			my ($state, $message) = ($1, $2);

			$failed++;
			push @wrong, "$doing: $state $message" if $state !~ /^XX00[12]$/ || ($message !~ $pattern && !$some);
		}
		# VACUUM goes on where no leaf can be hidden by what is wrong
		elsif ($doing eq 'vacuum' && $err =~ /WARNING:  (XX00[12]): (.*)/)
		{
			push @wrong, "$doing: $1 $2" if $2 !~ $pattern && !$some;
		}
		# where the file is sound in itself, only the table can tell; and it is for
		# the check to look at more than each page
		elsif ($doing ne 'stats' && (!$some || $doing eq 'check')) { push @wrong, "$doing: nothing found"; }
	}
	# whatever got in by way of a sound part of it
	query('REINDEX INDEX t_k; DELETE FROM t WHERE id < 0; VACUUM t');
	is(join("\n", @wrong), '', "$name: every use of it is reported");
	is(query(q{SELECT fpbtree_check('t_k', true); SELECT count(*) FROM t WHERE k >= 0}), "\n5000", "$name: REINDEX mends it");
}

# A leaf that is its own right sibling.  Whoever looks behind it for a duplicate
# must not wait for the lock that he has: nothing would ever end that.
query(qq{
CREATE TABLE q (k int8, v int) WITH (autovacuum_enabled = off);
CREATE UNIQUE INDEX q_k ON q USING fpbtree (k);
CREATE INDEX q_v ON q USING btree (v);
INSERT INTO q VALUES (1, 0);
DO \$\$ BEGIN FOR i IN 1 .. $blcksz / 4 LOOP UPDATE q SET v = i; END LOOP; END \$\$;
CHECKPOINT;
INSERT INTO files SELECT 'q_k', pg_read_binary_file(pg_relation_filepath('q_k'));
});
is(query(q{SELECT flags @> '{leftmost}' AND right_block > 1 FROM fpbtree_page('q_k', 1)}), 't', 'a key has entries in several leaves');
foreach my $right ('', '01000000')
{
	query("REINDEX INDEX q_k; SELECT put('q_k', "
		  . ($right eq '' ? "file('q_k')" : "overlay(file('q_k') PLACING decode('$right', 'hex') FROM $blcksz + 33)") . ')');
	my $err = verbose_messages("INSERT INTO q VALUES (1, -1)");
	like($err, $right eq '' ? qr/ERROR:  23505/ : qr/ERROR:  XX002: index "q_k" contains a damaged page at block 1\n/,
		$right eq '' ? 'a duplicate is found behind the first leaf' : 'a leaf that is its own sibling is reported');
}

stop_servers($node);
done_testing();
