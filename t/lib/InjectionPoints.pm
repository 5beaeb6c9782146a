#
# InjectionPoints.pm
#	  Sessions of the current server that are made to wait, or fail, at injection
#	  points.
#
package InjectionPoints;

use strict;
use warnings FATAL => 'all';

use Exporter 'import';
use Servers;
use Test::More;

our @EXPORT = qw(create_injection_points need_injection_points attach detach wake wake_once start_session fail_at);

# Makes the extension, if the server has it.
sub create_injection_points
{
	my $has = query(q{SELECT count(*) FROM pg_available_extensions WHERE name = 'injection_points'});
	query('CREATE EXTENSION injection_points') if $has;
	return $has;
}

# The same, but skips the script if the server does not have it.
sub need_injection_points
{
	return if create_injection_points();
	server()->stop;
	plan skip_all => 'this server has no injection points';
}

# Whoever comes to a point from now on fails there, or does something else.
sub attach { my ($point, $action) = @_; query(sprintf q{SELECT injection_points_attach('%s', '%s')}, $point, $action // 'error'); return; }

# ... and nobody does any more.  Those who wait there go on waiting.
sub detach { my ($point) = @_; query("SELECT injection_points_detach('$point')"); return; }

# A waiting session goes on.  If it comes to the point again, it waits again.
sub wake_once { my ($point) = @_; query("SELECT injection_points_wakeup('$point')"); return; }

# A waiting session goes on, and nobody waits at this point any more.
sub wake { my ($point) = @_; detach($point); wake_once($point); return; }

# Opens a session, runs statements in it, and starts another one, which waits at
# points that no other session waits at.  Returns the session and its process.
sub start_session
{
	my ($points, $sql, @before) = @_;
	my $session = server()->background_psql('postgres', on_error_stop => 0);

	$session->query_safe($_) foreach @before, @$points ? 'SELECT injection_points_set_local()' : ();
	$session->query_safe("SELECT injection_points_attach('$_', 'wait')") foreach @$points;
	my $pid = $session->query_safe('SELECT pg_backend_pid()');
	start_statement($session, $sql);
	return ($session, $pid);
}

# Runs a statement that is to fail at a point, alone.  Returns its messages.
sub fail_at
{
	my ($point, $sql) = @_;
	return messages("SELECT injection_points_set_local();\nSELECT injection_points_attach('$point', 'error');\n$sql");
}

1;
