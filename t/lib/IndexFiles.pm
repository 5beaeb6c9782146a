#
# IndexFiles.pm
#	  Files of tables and indexes, which tests change behind the server's back.
#
package IndexFiles;

use strict;
use warnings FATAL => 'all';

use Exporter 'import';
use Servers;

our @EXPORT = qw(file_of overwrite replace_file);

# The path of a relation's file in the current server.
sub file_of { my ($relation) = @_; return server()->data_dir . '/' . query("SELECT pg_relation_filepath('$relation')"); }

# Overwrites some bytes of a file, and returns what they were.
sub overwrite
{
	my ($path, $offset, $bytes) = @_;
	my $before;

	open my $file, '+<:raw', $path or die "could not open $path: $!";
	sysseek $file, $offset, 0;
	sysread $file, $before, length $bytes;
	sysseek $file, $offset, 0;
	syswrite($file, $bytes) == length $bytes or die "could not write $path: $!";
	close $file;
	return $before;
}

# Gives a file other content.
sub replace_file
{
	my ($path, $bytes) = @_;

	open my $file, '>:raw', $path or die "could not open $path: $!";
	print $file $bytes;
	close $file or die "could not write $path: $!";
	return;
}

1;
