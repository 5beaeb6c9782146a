#
# A session: a psql that is driven through pipes; and a throw-away cluster for it.
#
package Session;

use strict;
use warnings;
use Encode;
use Exporter qw(import);
use FindBin;
use IPC::Open3;
use Time::HiRes qw(time);

our @EXPORT_OK = qw($SEP $NULL $TIMEOUT);

our $SEP = "\x1f";
our $NULL = "\x1e";
our $TIMEOUT = 120;    # seconds a statement may take before it counts as hung

my $CLUSTER_TOOL = "$FindBin::Bin/../servers/cluster";
my $serial = 0;

# Starts a cluster with settings (NAME=VALUE), which the sessions will connect
# to.  Returns the path of its psql.
sub start_cluster
{
	my ($cluster, $pg_config, @settings) = @_;

	# dev/test gives all servers of a run these
	push @settings, split ' ', $ENV{FPBTREE_TEST_SETTINGS} // '';
	chomp(my $bindir = `$pg_config --bindir`);
	die "$pg_config does not work\n" if $? != 0;
	chomp(my $started = `$CLUSTER_TOOL start $cluster --pg-config $pg_config @{[map { "-o $_" } @settings]}`);
	die "could not start a cluster\n" if $? != 0;
	foreach my $pair (split ' ', $started) { my ($k, $v) = split /=/, $pair, 2; $ENV{$k} = $v; }
	return "$bindir/psql";
}

sub stop_cluster
{
	my ($cluster, $mode) = @_;
	system("$CLUSTER_TOOL stop $cluster $mode");
}

sub destroy_cluster
{
	my ($cluster) = @_;
	system("$CLUSTER_TOOL destroy $cluster >/dev/null");
}

# A new session; its statements are written to a file.
sub new
{
	my ($class, $psql, $log) = @_;
	my $self = bless { log => $log, name => 's' . ++$serial, unread => '' }, $class;
	# errors are told by variables, hence no need of stderr
	open(my $nowhere, ">", "/dev/null") or die;
	my $pid = open3(my $in, my $out, ">&" . fileno($nowhere), $psql, '-XqAt', '-F', $SEP, '-P', "null=$NULL");
	binmode($in, ':encoding(UTF-8)');
	$in->autoflush(1);
	@$self{qw(pid in out)} = ($pid, $in, $out);
	return $self;
}

# Has psql run one statement.  data: COPY lines.  What it answers is received
# later; several may be sent in advance.
sub send
{
	my ($self, $sql, $data) = @_;
	my ($in, $log) = @$self{qw(in log)};

	print $log "$sql;\n" . (defined $data ? "$data\\.\n" : '') . "-- $self->{name}\n";
	local $SIG{PIPE} = 'IGNORE';
	print $in "$sql;\n" . (defined $data ? "$data\\.\n" : '')
	  . "\\echo '\@\@end' :SQLSTATE :LAST_ERROR_MESSAGE\n";
	push @{ $self->{sent} }, $sql;
}

# The answer to the first statement that has none yet: (lines, sqlstate,
# message), or nothing if there is none after so many seconds, which is an
# error if the time was not given.
sub receive
{
	my ($self, $patience) = @_;
	my $until = time() + ($patience // $TIMEOUT);
	my $seen = 0;    # where a line begins that is not complete
	my (@lines, $state, $message);

	for (;;)
	{
		pos($self->{unread}) = $seen;
		if ($self->{unread} =~ /^\@\@end (\S+) ?(.*)\n/mg)
		{
			($state, $message) = ($1, decode('UTF-8', $2));
			@lines = split /\n/, decode('UTF-8', substr($self->{unread}, 0, $-[0])), -1;
			pop @lines;
			substr($self->{unread}, 0, $+[0]) = '';
			last;
		}
		$seen = rindex($self->{unread}, "\n") + 1;
		my $ready = '';
		vec($ready, fileno($self->{out}), 1) = 1;
		my $left = $until - time();
		if (!select($ready, undef, undef, $left > 0 ? $left : 0))
		{
			return if defined $patience;
			die { hung => 1, sql => $self->{sent}[0] };
		}
		sysread($self->{out}, $self->{unread}, 65536, length $self->{unread})
		  or die { lost => 1, sql => $self->{sent}[0] };
	}
	shift @{ $self->{sent} };
	# psql keeps the last error's message
	return (\@lines, $state, $state eq '00000' ? '' : $message);
}

# Runs one statement: (lines, sqlstate, message).
sub try
{
	my ($self, $sql, $data) = @_;

	$self->send($sql, $data);
	return $self->receive();
}

# The same, where an error is none of the answers that are wanted.
sub run
{
	my ($self, $sql, $data) = @_;
	my ($lines, $state, $message) = $self->try($sql, $data);

	die { sql => $sql, state => $state, message => $message } if $state ne '00000';
	return $lines;
}

sub finish
{
	my $self = shift;
	# a lost connection may have left half a character to be written
	eval { close $self->{$_} } foreach ('in', 'out');
	waitpid($self->{pid}, 0);
}

1;
