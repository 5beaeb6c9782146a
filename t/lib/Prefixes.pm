#
# Prefixes.pm
#	  A workload in which everything happens to small indexes, recorded in the
#	  WAL, and servers that get a part of that WAL: for 012_prefixes.pl and
#	  021_prefixes_standby.pl.
#
# The tables, and the functions that judge the indexes, are in prefixes.sql.
#
# FPB_SEED is the seed of all random choices.
#
package Prefixes;

use strict;
use warnings FATAL => 'all';

use Exporter 'import';
use FindBin;
use PostgreSQL::Test::Utils;
use Servers;
use Test::More;

our @EXPORT = qw($seed record_workload copy_server give_wal index_records sample lsn_text);

our $seed;

# of a segment of the WAL, in bytes
my $SEGMENT = 1024 * 1024;

# ---- LSNs and files of the WAL ----

sub lsn_number { my ($high, $low) = split m{/}, $_[0]; return hex($high) * 2**32 + hex($low); }
sub lsn_text { return sprintf '%X/%X', $_[0] / 2**32, $_[0] % 2**32; }
sub segment_name { my ($segment) = @_; return sprintf '%08X%08X%08X', 1, $segment / 4096, $segment % 4096; }

# Gives a server the WAL from one LSN (the beginning of a segment, or what it has
# been given the WAL up to) to another one, and nothing but zeros behind it.
# Whole segments are links: nobody writes to them.
sub give_wal
{
	my ($from_dir, $node, $from, $to) = @_;
	my $to_dir = $node->data_dir . '/pg_wal';

	for (my $segment = int($from / $SEGMENT); $segment * $SEGMENT < $to; $segment++)
	{
		my $name = segment_name($segment);
		my $begin = $from > $segment * $SEGMENT ? $from - $segment * $SEGMENT : 0;
		my $end = $to - $segment * $SEGMENT;
		my $out;

		$end = $SEGMENT if $end > $SEGMENT;
		if ($begin == 0 && $end == $SEGMENT)
		{
			unlink "$to_dir/$name";
			link "$from_dir/$name", "$to_dir/$name" or die "could not link $name: $!";
			next;
		}
		open my $in, '<:raw', "$from_dir/$name" or die "could not open $from_dir/$name: $!";
		seek $in, $begin, 0;
		read($in, my $bytes, $end - $begin) == $end - $begin or die "could not read $name";
		if ($begin > 0)
		{
			open $out, '+<:raw', "$to_dir/$name" or die "could not open $to_dir/$name: $!";
			seek $out, $begin, 0;
			print $out $bytes;
			close $out or die "could not write $name: $!";
			next;
		}
		# it must not be found before it has its size
		open $out, '>:raw', "$to_dir/new" or die "could not create $to_dir/new: $!";
		print $out $bytes, "\0" x ($SEGMENT - $end);
		close $out or die "could not write $name: $!";
		rename "$to_dir/new", "$to_dir/$name" or die "could not rename $name: $!";
	}
	return;
}

# The same of one of an index with a queue.  What pages say is not enough to tell
# some of them from others: see "WAL" in src/README.md.
sub queue_kind
{
	my ($blocks, $images) = @_;

	my $kind = $blocks =~ /\b0\b/
		? { '!.' => 'it comes', '..' => 'it goes, or its root', '.!.' => 'split or root growth', '..!.' => 'inner split', '....' => 'merge' }->{$images}
		: { '.' => 'change', '!' => 'image', '..' => 'move or downlink', '!.' => 'move, image', '.!.' => 'move with split', '!!.' => 'move with split' }->{$images};
	return 'queue: ' . ($kind // 'other, of ' . length($images) . ' pages' . ($blocks =~ /\b0\b/ ? ', metapage' : ''));
}

# The records of fpbtree indexes in a part of the WAL: where they end, of which
# file they are, and what they do as far as their pages tell.  (A block with an
# exclamation mark is in the record as an image.)
#
# The right half of a leaf's split may be logged as the difference from an image
# that goes before, alone in its record: the last that has been of the block, and
# small (where keys are not long) or just before.
sub index_records
{
	my ($node, $from, $to) = @_;
	my (@records, %last, %of_block);
	my $block_size = $node->safe_psql('postgres', 'SHOW block_size');
	my %queued = map { $_ => 1 } split /\n/, $node->safe_psql('postgres', q{SELECT file FROM indexes WHERE index LIKE 'waiting%'});

	foreach my $line (split /\n/, $node->safe_psql('postgres', qq{
		SELECT end_lsn, relfilenode, record_type,
			string_agg(relblocknumber || CASE WHEN 'APPLY' = ANY (block_fpi_info) THEN '!' ELSE '' END, ' ' ORDER BY block_id),
			sum(block_fpi_length)
		FROM pg_get_wal_block_info('$from', '$to', false)
		WHERE resource_manager = 'Generic' OR record_type = 'FPI' AND relforknumber = 0
		GROUP BY 1, 2, 3 ORDER BY 1}))
	{
		my ($end, $file, $type, $blocks, $image) = split /\|/, $line;
		my @numbers = $blocks =~ /\d+/g;
		my $base = @numbers > 1 && $blocks !~ /^\d+!? \d+!/ ? $of_block{"$file $numbers[1]"} : undef;
		my $based = $base && $base->{blocks} eq "$numbers[1]!" && ($base->{image} < $block_size / 8 || $base == $last{$file});

		$base->{kind} = $queued{$file} ? 'queue: base of a split' : 'base of a split' if $based;
		my $known = $based ? $blocks =~ s/^(\d+!?) (\d+)/$1 $2!/r : $blocks;
		my $images = join '', map { /!/ ? '!' : '.' } split / /, $known;
		my $kind = $type eq 'FPI' ? 'build'
		  : $queued{$file} ? queue_kind($known, $images)
		  : $blocks =~ /\b0\b/ ? 'root growth'
		  : $images eq '.' ? 'change'
		  : $images eq '!' ? 'image'
		  : $images =~ /^.!$/ ? 'leaf split'
		  : $images =~ /^..$/ ? 'downlink'
		  : $images =~ /^\..!$/ ? 'inner split'
		  : $images =~ /^!\.\.$/ ? 'inner merge'
		  : 'leaf merge';

		$last{$file}{kind} =~ s/split$/split of the root/ if $kind eq 'root growth' && $last{$file};
		push @records, { number => scalar(@records), end => lsn_number($end), lsn => $end, file => $file, kind => $kind, blocks => $blocks, image => $image };
		$last{$file} = $of_block{"$file $_"} = $records[-1] foreach @numbers;
	}
	return @records;
}

# So many of the records, or all of them: each kind in its turn, the rarest
# first.
sub sample
{
	my ($n, @records) = @_;
	return @records if $n eq 'all' || $n >= @records;

	my (%by_kind, @chosen);
	push @{ $by_kind{ $_->{kind} } }, $_ foreach @records;
	my @kinds = sort { @{ $by_kind{$a} } <=> @{ $by_kind{$b} } || $a cmp $b } keys %by_kind;
	while (@chosen < $n)
	{
		foreach my $left (map { $by_kind{$_} } @kinds)
		{
			push @chosen, splice(@$left, int(rand(@$left)), 1) if @$left && @chosen < $n;
		}
	}
	return sort { $a->{end} <=> $b->{end} } @chosen;
}

# ---- servers ----

# Makes a server's data folder what it was before the workload, with the WAL
# from there to an LSN.
sub copy_server
{
	my ($origin, $node, $wal, $to, $standby) = @_;

	system('rm', '-rf', $node->data_dir);
	system('cp', '-a', $origin->{base}, $node->data_dir) == 0 or die 'could not copy the data folder';
	give_wal($wal, $node, $origin->{begin}, $to);
	$node->append_conf('postgresql.conf', 'port = ' . $node->port);
	$node->append_conf('standby.signal', '') if $standby;
	return;
}

# ---- the workload ----

# Statements, those in one list being of one session.
my $RANDOM = "SELECT g, long_key(g, 'w'), g % 5 FROM generate_series(1, numbers() - 1) g";
my @KILL = (
	(map { "SET enable_$_ = off" } 'seqscan', 'bitmapscan', 'sort'),
	(map { "SELECT count(*) FROM (SELECT $_->[1], ctid FROM $_->[0] ORDER BY $_->[1]) s" }
		[ 'long', 'k' ], [ 'long', 'v' ], [ 'short', 'a' ], [ 'short', 'b' ], [ 'short', 't' ]),
	'RESET ALL');
my @WORK = (
	# trees grow: in random order, from the right, and from the left
	[   (map { "INSERT INTO long $RANDOM ORDER BY hashint4(g) LIMIT 25 OFFSET $_ * 25" } 0 .. 3),
		"INSERT INTO long SELECT g, long_key(g), 1 FROM generate_series(numbers() - 30, numbers()) g",
		'BEGIN', "INSERT INTO long $RANDOM ORDER BY hashint4(g) LIMIT 20 OFFSET 100", 'ROLLBACK',
		"INSERT INTO long SELECT -g, long_key(0, lpad((30 - g)::text, 2, '0')), 2 FROM generate_series(1, 30) g",
		# full nodes get duplicates, keys between theirs, and at both ends
		(map { "INSERT INTO short SELECT $_, $_ * 10000 + g, short_key($_) FROM generate_series(1, 40) g" } 28, 29, 99, -1),
		'INSERT INTO short SELECT g % 3 * 4, 2600000 + g, short_key(g) FROM generate_series(1, 40) g',
		'CHECKPOINT' ],
	# pages go, inner ones with them, and come back
	[   'DELETE FROM long WHERE n BETWEEN 60 AND 200', 'DELETE FROM short WHERE a BETWEEN 20 AND 28 OR b BETWEEN 300000 AND 1700000',
		'VACUUM (INDEX_CLEANUP ON) long, short',
		"INSERT INTO long SELECT g, long_key(g, 'v'), g % 5 FROM generate_series(80, 180, 3) g ORDER BY hashint4(g)",
		"INSERT INTO short SELECT a, b + 1, t || 'v' FROM short WHERE b BETWEEN 200000 AND 230000",
		'INSERT INTO short SELECT 22, 900000 + g, short_key(7) FROM generate_series(1, 60) g',
		# leaves of words whose entries are in no order are split again and again
		'INSERT INTO short SELECT 60 + g % 5, 2000000 + g * 7919 % 200000, short_key(g) FROM generate_series(1, 900) g' ],
	# rows die, and their entries are pruned without VACUUM
	[   'UPDATE long SET v = v + 100 WHERE n % 2 = 0', 'UPDATE short SET a = a + 1 WHERE b % 7 = 0 AND a BETWEEN 30 AND 60',
		'DELETE FROM short WHERE a = 0 OR a BETWEEN 70 AND 80', 'DELETE FROM long WHERE n % 7 = 0', @KILL, @KILL,
		"INSERT INTO long SELECT g, long_key(g, 'u'), g % 5 FROM generate_series(1, 399, 9) g ORDER BY hashint4(g)",
		'INSERT INTO short SELECT 0, 100000 + g, short_key(g % 3) FROM generate_series(1, 80) g',
		'CHECKPOINT',
		'INSERT INTO short SELECT 71 + g % 5, 2000000 + g, short_key(40) FROM generate_series(1, 40) g' ],
	# trees are made anew, and lose all but a few rows
	[   'VACUUM (INDEX_CLEANUP ON) long, short', 'REINDEX INDEX long_k', 'CREATE INDEX long_again ON long USING fpbtree (k, n)',
		"INSERT INTO long SELECT g, long_key(g, 't'), g % 5 FROM generate_series(1, 399, 20) g ORDER BY hashint4(-g)", 'DROP INDEX long_again',
		'DELETE FROM long WHERE n > 5', 'VACUUM (INDEX_CLEANUP ON) long',
		"INSERT INTO long SELECT g, long_key(g, 's'), g % 5 FROM generate_series(1, 399, 8) g ORDER BY hashint4(g)",
		'DELETE FROM short WHERE b > 50000', 'VACUUM (INDEX_CLEANUP ON) short',
		'INSERT INTO short SELECT g % 9, 100000 + g, short_key(g) FROM generate_series(1, 50) g',
		'REINDEX INDEX CONCURRENTLY short_b' ],
	# queues come, fill, are emptied and go; what is in them dies
	[   'INSERT INTO waiting SELECT g, long_key(g), g % 101 FROM generate_series(0, numbers()) g ORDER BY hashint4(g)', 'CHECKPOINT',
		q{INSERT INTO waiting SELECT g, long_key(g, 'w'), g % 7 FROM generate_series(0, numbers(), 2) g ORDER BY hashint4(-g)},
		'DELETE FROM waiting WHERE n % 3 = 0', 'VACUUM (INDEX_CLEANUP ON) waiting', (map { "SELECT fpbtree_flush('waiting_$_')" } 'k', 'a'),
		'CHECKPOINT', q{INSERT INTO waiting SELECT g, long_key(g, 'v'), 200 + g FROM generate_series(0, 60) g}, 'CHECKPOINT',
		q{SELECT fpbtree_flush('waiting_k')}, q{INSERT INTO waiting SELECT g, long_key(g, 'u'), g % 5 FROM generate_series(100, 130) g} ]);

# And what several sessions do at the same time.  (So the numbers of the last
# records are not the same in every run.)
my @CONCURRENT = (
	[   map { my $i = $_; map { "INSERT INTO long VALUES ($_, long_key($_, 'a'), 3)" } map { $i + 20 * $_ } 0 .. 19 } 0, 7, 14, 3, 10, 17, 6 ],
	[   map { my $i = $_; map { "INSERT INTO long VALUES ($_, long_key($_, 'b'), 4)" } map { 400 - $i - 20 * $_ } 0 .. 19 } 0, 7, 14, 3, 10, 17, 6 ],
	[   map {
			(   "DELETE FROM long WHERE n BETWEEN $_ * 50 AND $_ * 50 + 80", 'VACUUM (INDEX_CLEANUP ON) long',
				"INSERT INTO short SELECT g, 50000 + g * $_, short_key($_) FROM generate_series(1, 20) g",
				"INSERT INTO waiting SELECT g, long_key(g, 't'), g FROM generate_series($_, 200, 7) g",
				$_ % 2 ? q{DO $$ BEGIN PERFORM fpbtree_flush('waiting_k'); END $$} : 'VACUUM (INDEX_CLEANUP ON) waiting')
		} 0 .. 6 ],
	[   map { "INSERT INTO waiting VALUES ($_, long_key($_, 's'), $_)" } map { $_ * 7 % 200 } 1 .. 150 ]);

# Makes the server with the workload, and stops it.  Returns it, and in it:
#	base		its data folder as it was before
#	begin		where the WAL from there begins
#	wal			the folder with all of it
#	records		its records of indexes
#	block_size	of its pages
#	files		paths of the indexes' files in the copy, by number
#	free_map	a free space map that takes all pages to be free
sub record_workload
{
	my ($from, $to, %kinds);

	$seed = seed_choices();
	# with checksums, a page of the free space map has an LSN, which may not be ahead
	my $node = start_server(
		'origin', q{
shared_buffers = 8MB
wal_level = replica
wal_consistency_checking = 'generic'
wal_keep_size = 8GB
max_wal_size = 8GB
wal_recycle = off
checkpoint_timeout = 1h
bgwriter_lru_maxpages = 0
max_wal_senders = 0
max_connections = 10
log_statement = none
log_checkpoints = off
log_min_messages = warning
max_parallel_workers_per_gather = 0
max_parallel_maintenance_workers = 0
wal_retrieve_retry_interval = 2ms
fpbtree.queue_worker = off
max_standby_archive_delay = -1
max_standby_streaming_delay = -1
}, extra => ['--wal-segsize=1'], no_data_checksums => 1);
	# each recovery begins with a copy of all there is
	query('UPDATE pg_database SET datistemplate = false');
	query("DROP DATABASE template$_") foreach 0, 1;
	query(slurp_file("$FindBin::RealBin/lib/prefixes.sql"));
	is(query(q{
		SELECT index, what FROM indexes, questions(tab, col)
		WHERE by_index('EXPLAIN (FORMAT JSON) ' || query) !~ ('"Index Name": "' || index || '"')}),
		'', 'queries by index are planned so');
	$node->{block_size} = query('SHOW block_size');
	$node->{files} = { map { m{/(\d+)$} => $_ } split /\n/, query('SELECT pg_relation_filepath(index) FROM indexes') };
	query('CHECKPOINT');
	$node->stop('immediate');
	$node->{base} = $node->basedir . '/base';
	system('cp', '-a', $node->data_dir, $node->{base}) == 0 or die 'could not copy the data folder';

	$node->start;
	$from = query('SELECT pg_current_wal_insert_lsn()');
	foreach my $work (@WORK)
	{
		$node->psql('postgres', join('', map { "$_;\n" } @$work), stderr => \my $error);
		is($error, '', 'the workload has no errors');
	}
	my $said = '';
	my @sessions = map {
		my $work = join '', map { "$_;\n" } @$_;
		IPC::Run::start([ 'psql', '-XAtq', '-d', $node->connstr('postgres') ], '<', \$work, '>', \$said, '2>', \$said);
	} @CONCURRENT;
	$_->finish foreach @sessions;
	is($said, '', 'nor has that of several sessions');
	# (what VACUUM has done last is flushed by this)
	query(q{SELECT pg_logical_emit_message(true, 'prefixes', '')});
	$to = query(q{SELECT pg_current_wal_flush_lsn()});
	is(query(q{SELECT faults('workload') UNION ALL SELECT unfinished('workload')}), '', 'the workload leaves sound indexes');
	is(query(q{SELECT string_agg(DISTINCT kind, ',' ORDER BY kind) FROM pages WHERE index = 'long_k' AND elided}),
		'inner,leaf', 'pages of either kind have elided their high fences') if $node->{block_size} <= 16384;

	$node->{records} = [ index_records($node, $from, $to) ];
	$kinds{ $_->{kind} }++ foreach @{ $node->{records} };
	note(sprintf '%d records of indexes in %.1f MB: %s', scalar(@{ $node->{records} }), (lsn_number($to) - lsn_number($from)) / 1e6,
		join(', ', map { "$kinds{$_} $_" } sort keys %kinds));
	is(join(', ', grep { !$kinds{$_} } 'build', 'change', 'image', 'leaf split', 'inner split', 'leaf split of the root',
			'inner split of the root', 'base of a split', 'downlink', 'root growth', 'leaf merge', 'inner merge',
			map { "queue: $_" } 'it comes', 'it goes, or its root', 'split or root growth', 'inner split', 'merge', 'change', 'image',
			'move or downlink', 'move, image', 'move with split'), '', 'everything has happened');
	# replay locks them in that order; an inner split begins with the child, or else none would have been counted
	is(join(', ', map { $_->{blocks} } grep { $_->{kind} eq 'root growth' && $_->{blocks} !~ / 0!?$/ } @{ $node->{records} }), '',
		'the metapage is the last of the pages of a record');

	query('DELETE FROM long; VACUUM (INDEX_CLEANUP ON) long; CHECKPOINT');
	$node->{free_map} = $node->data_dir . '/' . query(q{SELECT pg_relation_filepath('long_k')}) . '_fsm';
	stop_servers($node);
	$node->{begin} = int(lsn_number($from) / $SEGMENT) * $SEGMENT;
	$node->{wal} = $node->data_dir . '/pg_wal';
	return $node;
}

1;
