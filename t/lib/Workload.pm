#
# Workload.pm
#	  A table with an index of each form, concurrent changes to it by pgbench,
#	  and comparisons of its indexes with the table itself.
#
# FPB_AM=btree puts btree in fpbtree's place, to test the tests.
#
package Workload;

use strict;
use warnings FATAL => 'all';

use Exporter 'import';
use IPC::Run;
use Servers;
use Test::More;

our @EXPORT = qw(am create_workload start_load check_indexes index_answers create_pages_of @INDEXES);

sub am { return $ENV{FPB_AM} || 'fpbtree'; }

# name, key columns, the rest of the definition
my $QUEUE = am() eq 'btree' ? '' : 'WITH (operation_queue = on, opq_size = 96)';
my $TIERS = am() eq 'btree' ? '' : 'WITH (operation_queue = on, opq_size = 32, queue_tiers = 2)';
our @INDEXES = (
	[ 'w_i4', 'i4', $QUEUE ],
	[ 'w_i8', 'i8', '' ],
	[ 'w_i8_desc', 'i8 DESC', '' ],
	[ 'w_pair', 'a, b', '' ],
	[ 'w_uuid', 'u', $TIERS ],
	[ 'w_text_c', 'tc', '' ],
	[ 'w_text_icu', 'ti', '' ],
	[ 'w_text_long', 'tl', $TIERS ],
	[ 'w_include', 'i8, tc', 'INCLUDE (id)' ],
	[ 'w_few', 'few', $QUEUE ],
	[ 'w_few_text', 'fewt', '' ],
	[ 'w_nulls', 'n NULLS FIRST', '' ],
	[ 'w_unique', 'un', '' ],
	[ 'w_unique_queued', 'un', $TIERS ],
	[ 'w_partial', 'i4', 'WHERE few = 3' ],
	[ 'w_expression', '(i4 % 1000)', '' ]);

# The table, its indexes and the functions that change it.  All but i4, few
# and un rise with i8, so that deleting a range of i8 empties pages of theirs.
sub create_workload
{
	my ($node) = @_;
	my $am = am();

	$node->safe_psql('postgres', $am eq 'btree' ? 'CREATE EXTENSION amcheck' : 'CREATE EXTENSION fpbtree');
	$node->safe_psql(
		'postgres', q{
		CREATE TABLE w (id bigint GENERATED ALWAYS AS IDENTITY, i4 int, i8 bigint, a int, b int,
			u uuid, tc text COLLATE "C", ti text COLLATE "en-x-icu", tl text COLLATE "C",
			few int, fewt text COLLATE "en-x-icu", n bigint, un bigint)
			WITH (autovacuum_enabled = off);
		CREATE UNLOGGED TABLE w_unlogged (k int);

		-- n rows near a random place; unique violations are part of the plan
		CREATE FUNCTION w_insert(n int, ascending bool) RETURNS void LANGUAGE plpgsql AS $$
		DECLARE
			start bigint := CASE WHEN ascending THEN coalesce((SELECT max(id) FROM w), 0) + 2000000
				ELSE (random() * 1000000)::bigint END;
		BEGIN
			INSERT INTO w (i4, i8, a, b, u, tc, ti, tl, few, fewt, n, un)
				SELECT (random() * 1e9)::int, k, (k >> 12)::int, (k & 4095)::int,
					(lpad(to_hex(k), 12, '0') || substr(md5(random()::text), 1, 20))::uuid,
					lpad(k::text, 10, '0') || repeat('x', (k % 30)::int),
					lpad(k::text, 10, 'b') || repeat('é', (k % 9)::int),
					repeat('long', 30) || lpad(k::text, 10, '0') || repeat(md5(k::text), (k % 8)::int),
					(random() * 10)::int, 'value ' || (random() * 5)::int,
					CASE WHEN random() < 0.5 THEN k END, NULL
				FROM (SELECT start + (random() * 3000)::bigint AS k FROM generate_series(1, n)) g;
			-- few enough keys for sessions to meet
			FOR i IN 1 .. 3 LOOP
				BEGIN
					INSERT INTO w (un, i8) VALUES ((random() * 4000)::int, start);
				EXCEPTION WHEN unique_violation THEN
					NULL;
				END;
			END LOOP;
		END $$;

		-- all rows of a range, or all but a few of a wider one
		CREATE FUNCTION w_delete(wide bool) RETURNS void LANGUAGE plpgsql AS $$
		DECLARE
			start bigint := (random() * 1000000)::bigint;
		BEGIN
			IF wide THEN
				DELETE FROM w WHERE i8 BETWEEN start AND start + 200000 AND i8 % 97 <> 5;
			ELSE
				DELETE FROM w WHERE i8 BETWEEN start AND start + 20000;
			END IF;
		END $$;

		CREATE FUNCTION w_update() RETURNS void LANGUAGE plpgsql AS $$
		DECLARE
			start bigint := (random() * 1000000)::bigint;
		BEGIN
			UPDATE w SET few = (few + 1) % 11, n = CASE WHEN n IS NULL THEN i8 END, i4 = (random() * 1e9)::int
				WHERE i8 BETWEEN start AND start + 300;
		END $$;
	});
	foreach my $index (@INDEXES)
	{
		my ($name, $columns, $rest) = @$index;
		my $unique = $name =~ /^w_unique/ ? 'UNIQUE' : '';
		$node->safe_psql('postgres', "CREATE $unique INDEX $name ON w USING $am ($columns) $rest");
	}
	$node->safe_psql('postgres', "CREATE INDEX w_unlogged_k ON w_unlogged USING $am (k)");
	# what is verified of each change by the load would take most of the time here
	$node->safe_psql('postgres', ($am eq 'btree' ? '' : "LOAD 'fpbtree';") . q{
		DO $$ BEGIN PERFORM set_config(name, 'off', false) FROM pg_settings WHERE name = 'fpbtree.verify_changes'; END $$;
		SELECT w_insert(2000, i % 2 = 0) FROM generate_series(1, 4) i});
	return;
}

# The scripts that pgbench chooses from, by weight.
my %SCRIPTS = (
	insert => [ 12, 'SELECT w_insert(120, false);' ],
	ascending => [ 2, 'SELECT w_insert(200, true);' ],
	rollback => [ 2, "BEGIN;\nSELECT w_insert(100, false);\nROLLBACK;" ],
	delete => [ 4, 'SELECT w_delete(false);' ],
	wide => [ 1, 'SELECT w_delete(true);' ],
	update => [ 8, 'SELECT w_update();' ],
	unlogged => [ 2, 'INSERT INTO w_unlogged SELECT random() * 1e6 FROM generate_series(1, 100);' ],
	flush => [ 1, am() eq 'btree' ? 'SELECT 1;' : "SELECT fpbtree_flush('w_i4'), fpbtree_flush('w_text_long');" ],
	vacuum => [ 2, 'VACUUM (SKIP_LOCKED, INDEX_CLEANUP ON) w;' ],
	# what a scan hands out is in order, whatever happens around it
	read => [
		4, q{
\set start random(0, 1000000)
SET enable_seqscan = off;
SET enable_sort = off;
DO $$ DECLARE r record; last bigint := -1; BEGIN
	FOR r IN SELECT i8, a, b FROM w WHERE i8 >= :start ORDER BY i8 LIMIT 2000 LOOP
		IF r.i8 < last THEN RAISE 'index scan out of order: % after %', r.i8, last; END IF;
		last := r.i8;
	END LOOP;
	last := :start + 3000;
	FOR r IN SELECT i8 FROM w WHERE i8 <= :start + 3000 ORDER BY i8 DESC LIMIT 2000 LOOP
		IF r.i8 > last THEN RAISE 'backward scan out of order: % after %', r.i8, last; END IF;
		last := r.i8;
	END LOOP;
END $$;
RESET enable_seqscan;
RESET enable_sort;
}
	]);

# Starts pgbench on the table in the background, for some seconds, or for some
# transactions of each client (as "300t"); returns IPC::Run's handle.
# more: scripts besides, as in %SCRIPTS.
sub start_load
{
	my ($node, $length, $clients, $output, %more) = @_;
	my $dir = PostgreSQL::Test::Utils::tempdir();
	my %scripts = (%SCRIPTS, %more);
	my @command = ('pgbench', '--no-vacuum', '--max-tries=20', "--client=$clients", $length =~ /^(\d+)t$/ ? "--transactions=$1" : "--time=$length");

	foreach my $name (sort keys %scripts)
	{
		my ($weight, $text) = @{ $scripts{$name} };
		PostgreSQL::Test::Utils::append_to_file("$dir/$name", "$text\n");
		# the functions' own literals stay as they are
		push @command, "--file=$dir/$name\@$weight";
	}
	local %ENV = $node->_get_env();
	return IPC::Run::start([ @command, $node->connstr('postgres') ],
		'<', \undef, '>', $output, '2>', $output);
}

# What an index says: all of it, in order, forward and backward, only keys.
# how: 'index' or 'table'.  A hash by index name.
sub index_answers
{
	my ($node, $how) = @_;
	my $script = $how eq 'index' ? "$BY_INDEX SET enable_incremental_sort = off;\n" : "$BY_TABLE\n";
	my %answers;

	# all by one session
	foreach my $index (@INDEXES)
	{
		my ($name, $columns, $rest) = @$index;
		my $where = $rest =~ /^WHERE/ ? $rest : '';
		my $out = $columns =~ s/ (DESC|NULLS FIRST)//gr;
		my $backward = $columns =~ /DESC/ ? $out : $columns =~ /NULLS FIRST/ ? 'n DESC NULLS LAST'
		  : join(', ', map { "$_ DESC" } split(/, /, $columns));
		my @sql = map {
			"SELECT count(*), md5(string_agg(x::text, ',')) FROM (SELECT ROW($out) AS x FROM w $where ORDER BY $_ OFFSET 0) s;\n"
		} ($columns, $backward);

		$script .= "\\echo index $name\n" . ($how eq 'index' ? "EXPLAIN $sql[0]\\echo answers\n" : '') . join('', @sql);
	}
	foreach my $part (split /^index (?=w_)/m, $node->safe_psql('postgres', $script))
	{
		my ($name, $said) = split /\n/, $part, 2;
		next unless defined $said;
		if ($how eq 'index')
		{
			(my $plan, $said) = split /^answers\n/m, $said;
			$said = "NOT USED: $plan" unless $plan =~ /using (w_\w+)/;
		}
		chomp($said);
		$answers{$name} = $said;
	}
	die 'not all indexes have answered' if keys %answers != @INDEXES;
	return \%answers;
}

# Is every index sound, does each agree with the table, and is the unique one
# unique?  Two tests.
sub check_indexes
{
	my ($node, $when) = @_;
	my $check = am() eq 'btree' ? 'bt_index_parent_check(%s, true, true)' : 'fpbtree_check(%s, true)';
	my @names = ((map { $_->[0] } @INDEXES), 'w_unlogged_k');
	my ($status, $bad, $error) = $node->psql('postgres',
		join('', map { 'SELECT ' . sprintf($check, "'$_'::regclass") . ";\n\\if :ERROR\n\\echo $_: :LAST_ERROR_MESSAGE\n\\endif\n" } @names) . "\\echo end\n",
		on_error_stop => 0);

	$bad .= $error if $status != 0 || $bad !~ /^end$/m;
	$bad =~ s/^(end)?\n//mg;
	$bad =~ s/^end$//m;
	my $twice = $node->safe_psql('postgres', "$BY_TABLE SELECT un, count(*) FROM w WHERE un IS NOT NULL GROUP BY un HAVING count(*) > 1");
	$bad .= "keys in w_unique more than once: $twice" if $twice ne '';
	is($bad, '', "$when: all indexes are sound");
	is_deeply(index_answers($node, 'index'), index_answers($node, 'table'), "$when: indexes agree with the table");
	return;
}

# The function pages_of(query): how many pages a query looks at.  Of the table's,
# those are the ones with entries that are not known to be dead.
sub create_pages_of
{
	my ($node) = @_;

	$node->safe_psql(
		'postgres', q{
		CREATE FUNCTION pages_of(query text) RETURNS int LANGUAGE plpgsql AS $$
		DECLARE
			plan json;
		BEGIN
			EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, COSTS OFF, TIMING OFF, SUMMARY OFF, FORMAT json) ' || query INTO plan;
			plan := plan->0->'Plan';
			RETURN (plan->>'Shared Hit Blocks')::int + (plan->>'Shared Read Blocks')::int;
		END $$;
		});
	return;
}

1;
