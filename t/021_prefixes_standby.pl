#
# A standby gets the WAL of a workload in which everything happens (Prefixes.pm)
# in small pieces, and answers queries after each of them, between the two
# records of a split for instance.  Others have snapshots and cursors that grow
# old meanwhile.  At last it is promoted.  Its copies of pages are compared with
# the primary's all the time (wal_consistency_checking).
#
# FPB_STEPS: at how many records it is asked, those of all kinds; or "all".
#
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Prefixes;
use Servers;
use Test::More;
use Time::HiRes qw(sleep time);

my $origin = record_workload();
my @records = @{ $origin->{records} };
my @steps = sample($ENV{FPB_STEPS} || 300, @records);
my $reached = $records[0]{end};

my $standby = PostgreSQL::Test::Cluster->new('standby');
copy_server($origin, $standby, $origin->{wal}, $reached, 1);
$standby->start;
my $session = open_session();

# a transaction with an old snapshot; is it cancelled if it is in replay's way, or waited for?
my ($holder, $cancel);
my @wrong;
my %count = map { $_ => 0 } 'locked', 'held', 'held back', 'cancelled';

# ---- sessions ----

# A psql to be asked one thing after the other.  (PostgreSQL::Test::BackgroundPsql
# notes all it says, which is a lot here.)
sub open_session
{
	my $psql = { in => '', out => '', error => '', n => 0 };

	$psql->{timer} = IPC::Run::timer($PostgreSQL::Test::Utils::timeout_default);
	$psql->{run} = IPC::Run::start([ 'psql', '-XAtq', '-d', $standby->connstr('postgres') ],
		'<', \$psql->{in}, '>', \$psql->{out}, '2>', \$psql->{error}, $psql->{timer});
	# a lock that has been replayed is held until the end of its transaction is
	ask($psql, q{SET lock_timeout = '100ms'});
	return $psql;
}

# The answer to a query, and the errors.
sub ask
{
	my ($psql, $query) = @_;
	my $end = 'end of query ' . ++$psql->{n};

	($psql->{out}, $psql->{error}) = ('', '');
	$psql->{in} .= "$query;\n\\echo $end\n\\warn $end\n";
	$psql->{timer}->start($PostgreSQL::Test::Utils::timeout_default);
	while ($psql->{out} !~ /$end\n/ || $psql->{error} !~ /$end\n/)
	{
		die "no answer to: $query" if $psql->{timer}->is_expired;
		# the server may have ended the session
		last unless eval { $psql->{run}->pump };
	}
	s/$end\n// foreach $psql->{out}, $psql->{error};
	chomp($psql->{out});
	return ($psql->{out}, $psql->{error});
}

sub close_session
{
	my ($psql) = @_;

	$psql->{in} .= "\\q\n";
	eval { $psql->{run}->finish };
	return;
}

# Is this what may come of conflicts?  If it is no such error, it is noted.
sub excused
{
	my ($where, $error) = @_;

	return 0 if $error eq '';
	if ($error =~ /lock timeout/) { $count{locked}++; }
	elsif ($cancel && $error =~ /conflict with recovery/) { $count{cancelled}++; }
	else { push @wrong, "$where: $error"; }
	return 1;
}

# ---- old snapshots ----

# Begins a transaction that will hold its snapshot while replay goes on, with
# cursors in the midst of an index.
sub hold
{
	my ($tab, $col) = split /\./, (qw(long.k long.v short.a short.b short.t))[ rand(5) ];
	# (no row is an empty line, or one alone would seem to be none)
	my $from = "SELECT coalesce(md5($col\::text), 'null') || ctid FROM $tab ORDER BY $col";
	my $rows = int(rand(rand(300)));
	# how an index has its equal keys (short_b is read backward)
	my ($tid, $tid_back) = $col eq 'b' ? ('ctid DESC', 'ctid') : ('ctid', 'ctid DESC');

	$cancel = rand() < 0.3;
	$standby->append_conf('postgresql.conf', 'max_standby_archive_delay = ' . ($cancel ? 0 : -1));
	$standby->reload;
	my $psql = open_session();
	# (all indexes are used, so that REINDEX is a conflict for each)
	my (undef, $error) = ask($psql, qq{
		BEGIN ISOLATION LEVEL REPEATABLE READ;
		SELECT count(by_index(query)) FROM indexes, questions(tab, col);
		SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off; SET LOCAL enable_sort = off;
		DECLARE f CURSOR FOR $from;
		DECLARE r CURSOR FOR $from DESC;
		RESET enable_seqscan; RESET enable_bitmapscan; RESET enable_sort;});
	my ($forward, $backward) = map { (ask($psql, "FETCH $rows FROM $_"))[0] } 'f', 'r';
	if (excused('a snapshot is taken', $error))
	{
		close_session($psql);
		return;
	}
	$holder = { psql => $psql, forward => $forward, backward => $backward, want => [ "$from, $tid", "$from DESC, $tid_back" ],
		what => "over $tab.$col from row $rows, begun at " . lsn_text($reached) };
	$count{held}++;
	return;
}

# Ends it: its snapshot must see what it has seen, whatever way it looks.
sub let_go
{
	my $psql = $holder->{psql};
	my @answers;

	foreach my $query (
		'FETCH ALL FROM f', 'FETCH ALL FROM r', q{SELECT faults('old snapshot')},
		'SET LOCAL enable_indexscan = off; SET LOCAL enable_bitmapscan = off', @{ $holder->{want} }, 'COMMIT')
	{
		my ($out, $error) = ask($psql, $query);

		last if excused($query, $error);
		push @answers, $out;
	}
	close_session($psql);
	push @wrong, "$answers[2] $holder->{what}" if ($answers[2] // '') ne '';
	if (@answers == 7)
	{
		my ($forward, $backward) = map { join "\n", grep { $_ ne '' } @$_ } [ $holder->{forward}, $answers[0] ], [ $holder->{backward}, $answers[1] ];
		push @wrong, "forward cursor $holder->{what}" if $forward ne $answers[4];
		push @wrong, "backward cursor $holder->{what}" if $backward ne $answers[5];
	}
	undef $holder;
	return;
}

# ---- replay ----

# Lets replay go on up to an LSN.  Whoever holds it back has to let it go.
sub replay
{
	my ($to) = @_;
	my $since = time();

	give_wal($origin->{wal}, $standby, $reached, $to);
	$reached = $to;
	until ((ask($session, "SELECT pg_last_wal_replay_lsn() >= '" . lsn_text($to) . q{'}))[0] eq 't')
	{
		if ($holder && time() - $since > 0.5)
		{
			$count{'held back'}++;
			let_go();
		}
		die 'replay has stopped before ' . lsn_text($to) if time() - $since > $PostgreSQL::Test::Utils::timeout_default;
		sleep 0.002;
	}
	return;
}

my $began = time();
foreach my $record (@steps)
{
	replay($record->{end});
	# of the index that this record is of, or now and then of all
	my $only = rand() < 0.9 ? ", $record->{file}" : '';
	my ($out, $error) = ask($session, "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT faults('standby'$only); COMMIT");
	my $where = "record $record->{number} ($record->{kind}; $record->{file}: $record->{blocks})";
	push @wrong, "$where: $out" if !excused($where, $error) && $out ne '';
	if ($holder) { let_go() if rand() < 0.1; }
	elsif (rand() < 0.3) { hold(); }
	last if @wrong > 20;
}
let_go() if $holder;
note(sprintf '%d stops took %d s; of %d snapshots %d held replay back, %d were cancelled; %d times an index was locked',
	scalar(@steps), time() - $began, @count{ 'held', 'held back', 'cancelled', 'locked' });
is(join("\n", @wrong), '', 'the standby answers rightly wherever replay stops');
cmp_ok($count{held}, '>', 0, 'old snapshots were tried');

# who has read pages in recovery goes on to change them
is(join('', ask($session, 'SELECT pg_promote()')), 't', 'the standby is promoted');
is(join('', ask($session, q{CALL insert_everywhere('p', 0); SELECT faults('inserted'); SELECT unfinished_reachable('inserted')})), '', 'and does for changes');
close_session($session);
$standby->stop;
is(complaints($standby), '', 'no complaint in the log of the standby');
done_testing();
