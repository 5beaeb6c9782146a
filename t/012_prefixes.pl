#
# Every prefix of the WAL is a sound index.
#
# The server is made to crash after a record of a workload in which everything
# happens (Prefixes.pm): a copy of its data folder from before gets the WAL up
# to there, and recovers.  What it has then must do for queries, insertions into
# all places, and VACUUM.  Some crash again amidst these, up to three times;
# others begin as standbys and are promoted.
#
# Environment:
#   FPB_PREFIXES  how many records to try, those of all kinds in turn; or "all"
#   FPB_RECORDS   the numbers of some records, to try these again, in the way
#                 that FPB_WAY says, with the same FPB_SEED
#   FPB_JOBS      how many servers to use at a time
#
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/lib";
use POSIX ();
use PostgreSQL::Test::Cluster;
use Prefixes;
use Servers;
use Test::More;
use Time::HiRes qw(time);

my $origin = record_workload();
my @records = @{ $origin->{records} };
my @chosen = sample($ENV{FPB_PREFIXES} || 30, @records);
@chosen = @records[ split / /, $ENV{FPB_RECORDS} ] if defined $ENV{FPB_RECORDS};

# What is done with the records of a kind in turn.
my @WAYS = ('crash', 'crash, vacuum', 'promote', 'crash, again', 'promote, vacuum');
my %turn;
$_->{way} = $ENV{FPB_WAY} // $WAYS[ ($turn{ $_->{kind} } //= int(rand(@WAYS)))++ % @WAYS ] foreach @chosen;

my $CHANGE = 'CALL delete_many(); VACUUM (INDEX_CLEANUP ON) long, short, waiting';
my $ON_STANDBY = q{
SET lock_timeout = '1s';
SELECT 'not a standby' WHERE NOT pg_is_in_recovery();
BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT faults('standby'); COMMIT;
SELECT 'not promoted' WHERE NOT pg_promote()};

# The free space map is not in the WAL, and a file is extended before its new
# page is in the WAL, so both may be ahead of it when a server crashes.
sub age_files
{
	my ($node, $until) = @_;

	foreach my $file (sort keys %{ $origin->{files} })
	{
		my $path = $node->data_dir . "/$origin->{files}{$file}";
		my $blocks = (-s $path) / $origin->{block_size};

		if (rand() < 0.5)
		{
			system('cp', $origin->{free_map}, "${path}_fsm") == 0 or die 'could not copy the free space map';
		}
		next if rand() < 0.5;
		foreach my $record (grep { $_->{file} == $file && $_->{end} <= $until } @records)
		{
			foreach my $block ($record->{blocks} =~ /\d+/g) { $blocks = $block + 1 if $block >= $blocks; }
		}
		truncate $path, ($blocks + int(rand(3))) * $origin->{block_size} or die "could not extend $path: $!";
	}
	return;
}

# Has a server crash after a record of the WAL in a folder, sees what it
# recovers to, and makes use of that.  report: what gets the outcome.
sub try_prefix
{
	my ($node, $wal, $record, $way, $crashes, $report) = @_;
	my $what = sprintf '%s at %s (%s; %s: %s)', $way, $record->{lsn}, $record->{kind}, $record->{file}, $record->{blocks};
	my $size = -s $node->logfile;
	my $again = $way =~ /again/ && $crashes < 4;
	my ($out, $error, @more) = ('', '');
	my @script;

	copy_server($origin, $node, $wal, $record->{end}, $way =~ /promote/);
	age_files($node, $record->{end}) if $way =~ /crash/ && $crashes == 1;

	push @script, $ON_STANDBY if $way =~ /promote/;
	push @script, 'SELECT setseed(' . rand() . ')', q{SELECT faults('recovered')};
	push @script, $CHANGE, q{SELECT faults('vacuumed'); SELECT unfinished('vacuumed'); SELECT lost('vacuumed')} if $way =~ /vacuum/;
	push @script, sprintf q{CALL insert_everywhere('%s', %d)}, 'p' x $crashes, 1 - int(rand(3));
	push @script, q{SELECT faults('inserted'); SELECT unfinished_reachable('inserted'); SELECT not_unique('inserted')},
	  $CHANGE, q{SELECT faults('vacuumed at last'); SELECT unfinished('vacuumed at last'); SELECT lost('vacuumed at last')},
	  q{CALL insert_everywhere('q', 0); SELECT faults('inserted at last'); SELECT unfinished_reachable('inserted at last')},
	  q{REINDEX INDEX long_k; SELECT faults('made anew')}
	  unless $again;

	if ($node->start(fail_ok => 1))
	{
		$node->psql('postgres', join('', map { "$_;\n" } @script), stdout => \$out, stderr => \$error, on_error_stop => 0);
		@more = index_records($node, $record->{lsn}, $node->safe_psql('postgres', 'SELECT pg_current_wal_flush_lsn()')) if $again;
		$node->stop('immediate');
	}
	else
	{
		$error = 'the server does not start';
	}
	# REINDEX was amidst: its lock is replayed, and held
	$error =~ s/^[^\n]*canceling statement due to lock timeout\n(CONTEXT.*?)?(?=psql:|$)//s if $way =~ /promote/;
	my $failed = join "\n", grep { $_ ne '' } $out, $error, complaints($node, $size);
	$report->($what, $failed);

	return if $failed ne '' || !@more;
	my $wal_then = $node->basedir . "/wal_$crashes";
	system('rm', '-rf', $wal_then);
	rename $node->data_dir . '/pg_wal', $wal_then or die 'could not keep the WAL';
	my @next = sample(12, @more);
	try_prefix($node, $wal_then, $next[ rand(@next) ], $way, $crashes + 1, $report);
	return;
}

# Tries one job's share of the records.
sub try_records
{
	my ($node, $job, $jobs, $to) = @_;

	foreach my $i (grep { $_ % $jobs == $job } 0 .. $#chosen)
	{
		my $record = $chosen[$i];

		# a record can be tried alone
		srand($seed + $record->{number});
		try_prefix(
			$node, $origin->{wal}, $record, $record->{way}, 1,
			sub {
				my ($what, $failed) = @_;

				# one write, so that lines don't mix
				$failed =~ s/\n/\t/g;
				syswrite $to, "record $record->{number}, $what\x01" . substr($failed, 0, 3000) . "\n";
			});
	}
	return;
}

my $jobs = $ENV{FPB_JOBS} || 1;
my @nodes = map { PostgreSQL::Test::Cluster->new("trial_$_") } 1 .. $jobs;
my $began = time();
pipe(my $from, my $to) or die "could not make a pipe: $!";
foreach my $job (0 .. $jobs - 1)
{
	my $pid = fork() // die "could not fork: $!";

	next if $pid;
	close $from;
	# the parent's END blocks are not for us
	eval { try_records($nodes[$job], $job, $jobs, $to); };
	syswrite $to, "job $job\x01$@" =~ s/\n/\t/gr . "\n" if $@;
	POSIX::_exit(0);
}
close $to;
my $tried = 0;
while (my $line = <$from>)
{
	chomp($line);
	my ($what, $failed) = split /\x01/, $line, -1;
	is($failed =~ s/\t/\n/gr, '', $what);
	$tried++;
}
1 while wait() > 0;
cmp_ok($tried, '>=', scalar(@chosen), 'all records have been tried');
note(sprintf '%d recoveries took %d s', $tried, time() - $began);
done_testing();
