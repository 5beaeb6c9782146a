#
# LongKeys.pm
#	  SQL functions of the current server: key(i), whose results are so long, and
#	  alike for so long, that a page holds some 15 entries; and pages(index), with
#	  the numbers that fences are made of.
#
package LongKeys;

use strict;
use warnings FATAL => 'all';

use Exporter 'import';
use Servers;

our @EXPORT = qw(create_long_keys);

sub create_long_keys
{
	query(q{
CREATE FUNCTION key(i int) RETURNS text LANGUAGE sql IMMUTABLE
	RETURN lpad(i::text, 6, '0') || repeat('x', current_setting('block_size')::int / 19);
CREATE FUNCTION pages(index regclass, OUT block int8, OUT kind text, OUT level int, OUT flags text[], OUT low int, OUT high int)
	RETURNS SETOF record LANGUAGE sql
BEGIN ATOMIC
	SELECT b, p.kind, p.level, p.flags, coalesce(substring(p.low_fence FROM '\d{6}')::int, 0),
		coalesce(substring(p.high_fence FROM '\d{6}')::int, 1000000)
	FROM generate_series(1, pg_relation_size(index) / current_setting('block_size')::int - 1) b, fpbtree_page(index, b) p;
END;
});
	return;
}

1;
