#
# Random choices, for the tests that make up what they do.
#
package Choice;

use strict;
use warnings;
use Exporter qw(import);

our @EXPORT = qw(chance pick between quote word);

sub chance { return rand() < $_[0]; }
sub pick { return $_[ int(rand(@_)) ]; }
sub between { return $_[0] + int(rand($_[1] - $_[0] + 1)); }
sub quote { my $s = shift; $s =~ s/'/''/g; return "'$s'"; }

sub word
{
	my ($n, @alphabet) = @_;
	return join('', map { pick(@alphabet) } 1 .. $n);
}

1;
