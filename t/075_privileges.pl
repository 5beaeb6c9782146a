#
# Functions of an index that processes nobody has called run: the queue worker
# and autovacuum run them as the index's owner, restricted, with a search_path
# of pg_catalog and pg_temp, whatever the database's settings say.
#
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Utils;
use Servers;
use Test::More;

my $node = start_server(
	'privileges', q{
autovacuum_naptime = 1s
fpbtree.queue_flush_after = 100ms
});

my $superuser = query('SELECT current_user');

# A comparator that tells once in a transaction who runs it, in a process that
# serves no client, or tries to become somebody else there.
query(q{
CREATE EXTENSION fpbtree;
CREATE ROLE mallory;
CREATE SCHEMA m AUTHORIZATION mallory;
ALTER DATABASE postgres SET search_path = m, public;
SET ROLE mallory;
CREATE TABLE m.mode (attack bool);
INSERT INTO m.mode VALUES (false);
CREATE FUNCTION m.cmp(a int, b int) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
	IF current_setting('m.client', true) IS DISTINCT FROM 'yes' AND current_setting('m.told', true) IS DISTINCT FROM 'yes' THEN
		RAISE LOG 'comparator runs as %, session %, search_path %', current_user, session_user, current_setting('search_path');
		PERFORM set_config('m.told', 'yes', false);
		IF (SELECT attack FROM m.mode) THEN
			RESET SESSION AUTHORIZATION;
			RAISE LOG 'comparator has become %', current_user;
		END IF;
	END IF;
	RETURN btint4cmp(a, b);
END $$;
RESET ROLE;
CREATE OPERATOR FAMILY m.ops USING fpbtree;
CREATE OPERATOR CLASS m.ops FOR TYPE int USING fpbtree FAMILY m.ops AS
	OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >, FUNCTION 1 m.cmp(int, int);
SET ROLE mallory;
SET m.client = yes;
CREATE TABLE m.t (k int) WITH (autovacuum_enabled = off);
CREATE INDEX t_k ON m.t USING fpbtree (k m.ops) WITH (operation_queue = on, fillfactor = 20);
});

my $as_owner = qr/comparator runs as mallory, session \Q$superuser\E, search_path pg_catalog, pg_temp/;
my $refused = qr/cannot set parameter "session_authorization" within security-restricted operation/;
my $offset = -s $node->logfile;

# the worker, with nothing to object to
query('SET ROLE mallory; SET m.client = yes; INSERT INTO m.t SELECT i * 7919 % 1000 FROM generate_series(1, 1000) i');
comes_true('the worker has emptied the queue', q{SELECT queue_pages = 0 FROM fpbtree_stats('m.t_k')});
like(slurp_file($node->logfile, $offset), $as_owner, 'it has compared keys as the owner');

# and with an attempt to become who has started the server
query('UPDATE m.mode SET attack = true');
$offset = -s $node->logfile;
query('SET ROLE mallory; SET m.client = yes; INSERT INTO m.t SELECT i * 7919 % 1000 FROM generate_series(1, 1000) i');
$node->wait_for_log($refused, $offset);
pass('the worker does not let a comparator become somebody else');
set_and_reload("fpbtree.queue_worker = off\n");
comes_true('the worker has gone', "SELECT count(*) = 0 $QUEUE_WORKERS");

# autovacuum, which compares keys to move what is in the queue
query('UPDATE m.mode SET attack = false');
query(q{SET m.client = yes; DELETE FROM m.t WHERE k BETWEEN 10 AND 990});
$offset = -s $node->logfile;
query('ALTER TABLE m.t SET (autovacuum_enabled = on, autovacuum_vacuum_threshold = 0, autovacuum_vacuum_scale_factor = 0)');
set_and_reload("autovacuum = on\n");
$node->wait_for_log($as_owner, $offset);
pass('autovacuum has compared keys as the owner');

unlike(slurp_file($node->logfile), qr/LOG:  comparator (?:runs as (?!mallory)|has become)/, 'nobody has compared keys as somebody else');
is(query(q{SET m.client = yes; SELECT fpbtree_check('m.t_k', true)}), '', 'the index is sound');

$node->stop;
done_testing();
