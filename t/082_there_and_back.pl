#
# The schema of an application goes from btree to fpbtree, as fpbtree_advise and
# fpbtree_replacements say, and back, as fpbtree_to_btree says: what pg_dump and
# the catalogs say of it is the same before and after, and tables that are
# published can be written to all the time.
#
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Utils;
use Servers;
use Test::More;

my $node = start_server('application', "allow_in_place_tablespaces = on\nclient_min_messages = warning\n", allows_streaming => 'logical');
my $is_17 = query('SHOW server_version_num') < 180000;

query(q{CREATE TABLESPACE fast LOCATION ''});
query(q{
CREATE EXTENSION fpbtree;
CREATE EXTENSION citext;
SELECT fpbtree_clone_opclass('citext_ops');
CREATE SCHEMA shop;
CREATE SCHEMA "Billing & Co";
SET search_path = shop, public;
CREATE COLLATION german (provider = icu, locale = 'de-u-kn-true');

CREATE TABLE customer (
	id bigint GENERATED ALWAYS AS IDENTITY,
	email citext NOT NULL CONSTRAINT customer_email UNIQUE,
	name text NOT NULL COLLATE german,
	born date,
	address jsonb,
	deleted_at timestamptz,
	CONSTRAINT customer_pk PRIMARY KEY (id) INCLUDE (name) WITH (fillfactor = 70) USING INDEX TABLESPACE fast);
COMMENT ON CONSTRAINT customer_pk ON customer IS 'who''s who';
CREATE INDEX customer_name ON customer (lower(name) text_pattern_ops, born DESC NULLS LAST) WHERE deleted_at IS NULL;
ALTER INDEX customer_name ALTER COLUMN 1 SET STATISTICS 500;
CREATE INDEX customer_name_c ON customer (name COLLATE "C") INCLUDE (born) WITH (deduplicate_items = off, fillfactor = 80);
CREATE INDEX customer_city ON customer ((address ->> 'city'), (address ->> 'street'));
ALTER INDEX customer_city ALTER COLUMN 2 SET STATISTICS 0;
ALTER INDEX customer_city DEPENDS ON EXTENSION citext;
COMMENT ON INDEX customer_city IS E'of \\ "addresses"';
CREATE UNIQUE INDEX customer_one_per_day ON customer (born, (name || email)) NULLS NOT DISTINCT WITH (fillfactor = 95, deduplicate_items = ON) TABLESPACE fast;
CLUSTER customer USING customer_name_c;

-- referred to: in 17 the key stays
CREATE TABLE "Order" (
	"Id" uuid DEFAULT gen_random_uuid() PRIMARY KEY,
	customer bigint NOT NULL REFERENCES customer,
	placed timestamptz NOT NULL DEFAULT now(),
	state text NOT NULL CHECK (state IN ('new', 'paid', 'sent')),
	EXCLUDE (placed WITH =, customer WITH =) WITH (fillfactor = 77) USING INDEX TABLESPACE fast WHERE (state = 'new') DEFERRABLE);
CREATE INDEX "Order placed" ON "Order" (placed DESC, customer);
CREATE INDEX order_open ON "Order" (customer) WHERE state <> 'sent';
COMMENT ON CONSTRAINT "Order_placed_customer_excl" ON "Order" IS 'not twice';

-- not referred to
CREATE TABLE order_line (
	"order" uuid NOT NULL REFERENCES "Order",
	line int NOT NULL CHECK (line > 0),
	product text NOT NULL,
	quantity numeric NOT NULL,
	CONSTRAINT order_line_of PRIMARY KEY ("order", line) WITH (deduplicate_items = off),
	CONSTRAINT order_line_product UNIQUE NULLS NOT DISTINCT (product, "order"));
COMMENT ON CONSTRAINT order_line_of ON order_line IS 'of the constraint';
COMMENT ON INDEX order_line_product IS 'of the index';
CLUSTER order_line USING order_line_of;
CREATE TABLE product (code text NOT NULL, since date, price numeric, CONSTRAINT product_key PRIMARY KEY (code), UNIQUE (code, since) WITH (fillfactor = 50));
ALTER TABLE product REPLICA IDENTITY FULL;
CREATE TABLE stock (product text NOT NULL, place int NOT NULL, amount int, CONSTRAINT stock_key PRIMARY KEY (product, place));
ALTER TABLE stock REPLICA IDENTITY USING INDEX stock_key;
CREATE TABLE price (product text NOT NULL, day date NOT NULL, price numeric);
CREATE UNIQUE INDEX price_of ON price (day, product);
ALTER TABLE price REPLICA IDENTITY USING INDEX price_of;
CREATE TABLE "Billing & Co".log (id int PRIMARY KEY, what text);
ALTER TABLE "Billing & Co".log REPLICA IDENTITY NOTHING;
CREATE VIEW product_sum AS SELECT p.code, p.since, count(*) FROM product p GROUP BY p.code;

-- partitions, and partitions of these
CREATE TABLE event (id bigint NOT NULL, at date NOT NULL, kind int, note text, CONSTRAINT event_key PRIMARY KEY (id, at) WITH (fillfactor = 66))
	PARTITION BY RANGE (at);
CREATE TABLE event_2024 PARTITION OF event FOR VALUES FROM ('2024-01-01') TO ('2025-01-01');
CREATE TABLE event_2025 PARTITION OF event FOR VALUES FROM ('2025-01-01') TO ('2026-01-01') PARTITION BY LIST (at);
CREATE TABLE event_2025_rest PARTITION OF event_2025 DEFAULT TABLESPACE fast;
ALTER TABLE event ADD CONSTRAINT event_at_once UNIQUE NULLS NOT DISTINCT (at, id, kind);
CREATE INDEX event_kind ON event (kind, at DESC) WHERE kind IS NOT NULL;
CREATE INDEX event_note ON event (left(note, 10)) WITH (fillfactor = 60);
CREATE INDEX event_2024_own ON event_2024 (note);
COMMENT ON INDEX event_kind IS 'of all';
COMMENT ON INDEX event_2024_kind_at_idx IS 'of one';
COMMENT ON CONSTRAINT event_2024_pkey ON event_2024 IS 'of the partition''s constraint';
ALTER INDEX event_2024_left_idx ALTER COLUMN 1 SET STATISTICS 77;
CLUSTER event_2024 USING event_2024_own;
ALTER TABLE event_2025_rest REPLICA IDENTITY USING INDEX event_2025_rest_pkey;

CREATE PUBLICATION everything FOR ALL TABLES WITH (publish_via_partition_root);
INSERT INTO customer (email, name, born, address) SELECT 'c' || i || '@example.org', 'Customer ' || i, '1950-01-01'::date + i, jsonb_build_object('city', 'c' || i % 50)
	FROM generate_series(1, 2000) i;
INSERT INTO "Order" (customer, placed, state) SELECT id, '2025-01-01'::timestamptz + id * interval '1 h', 'new' FROM customer;
INSERT INTO order_line SELECT "Id", l, 'product ' || l, l FROM "Order", generate_series(1, 3) l;
INSERT INTO product SELECT 'product ' || i FROM generate_series(1, 100) i;
INSERT INTO stock SELECT code, i, i FROM product, generate_series(1, 20) i;
INSERT INTO price SELECT code, '2025-01-01'::date + i, i FROM product, generate_series(1, 20) i;
INSERT INTO event SELECT i, '2024-06-01'::date + i % 500, i % 10, 'event ' || i FROM generate_series(1, 5000) i;
CREATE MATERIALIZED VIEW sales AS SELECT product, sum(quantity) FROM order_line GROUP BY product;
CREATE UNIQUE INDEX sales_product ON sales (product);
ANALYZE;
});

# What pg_dump says of the database; the key that psql is restricted by is made up each time.
sub dump_schema
{
	my ($stdout) = run_command([ 'pg_dump', '--schema-only', $node->connstr('postgres') ]);
	return $stdout =~ s/^\\(un)?restrict .*\n//mgr;
}

# What it doesn't say.
my $catalogs = q{
SELECT n.nspname, t.relname, t.relreplident, c.relname, pg_get_indexdef(c.oid), obj_description(c.oid, 'pg_class'), c.reloptions, s.spcname, i.indisprimary,
	i.indisunique, i.indimmediate, i.indisclustered, i.indisreplident, i.indnullsnotdistinct, i.indisvalid, inh.inhparent::regclass,
	(SELECT string_agg(a.attname || ' ' || coalesce(a.attstattarget::text, ''), ',' ORDER BY a.attnum) FROM pg_attribute a WHERE a.attrelid = c.oid),
	k.conname, pg_get_constraintdef(k.oid), obj_description(k.oid, 'pg_constraint'), k.conislocal, k.coninhcount,
	(SELECT conname FROM pg_constraint q WHERE q.oid = k.conparentid)
FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_class t ON t.oid = i.indrelid JOIN pg_namespace n ON n.oid = t.relnamespace
	LEFT JOIN pg_tablespace s ON s.oid = c.reltablespace LEFT JOIN pg_inherits inh ON inh.inhrelid = c.oid
	LEFT JOIN pg_constraint k ON k.conindid = c.oid AND k.conrelid = t.oid AND k.contype IN ('p', 'u', 'x')
WHERE n.nspname IN ('shop', 'Billing & Co') ORDER BY 1, 2, 4};

# All tables can be written to by those who publish them, and nothing is twice there.
sub write_to_all
{
	my ($when) = @_;

	my ($status, undef, $stderr) = $node->psql(
		'postgres', q{
BEGIN;
SET search_path = shop;
UPDATE order_line SET quantity = quantity + 1 WHERE line = 1;
DELETE FROM order_line WHERE line = 2;
UPDATE stock SET amount = 0 WHERE place = 1;
UPDATE price SET price = 0 WHERE day = '2025-01-05';
UPDATE event SET note = note || '!' WHERE id < 100;
DELETE FROM event WHERE id > 4900;
UPDATE product SET price = 1;
ROLLBACK;}, on_error_stop => 1);
	is($status . $stderr, '0', "$when: published tables can be written to");
	foreach my $twice (
		q{shop.stock SELECT * FROM shop.stock WHERE place = 3 LIMIT 1},
		q{shop.order_line SELECT * FROM shop.order_line LIMIT 1},
		q{shop.event SELECT * FROM shop.event WHERE id = 77},
		q{shop.price SELECT * FROM shop.price LIMIT 1})
	{
		like(messages("INSERT INTO $twice"), qr/duplicate key value violates unique constraint/, "$when: no key twice in $twice");
	}
}

my $dump_before = dump_schema();
my $before = query($catalogs);
write_to_all('before');

# There: what fpbtree_advise would say if all of it gained something.
my $method = q{SELECT count(*) FROM pg_class c JOIN pg_am a ON a.oid = c.relam WHERE a.amname = '%s' AND c.relnamespace IN ('shop'::regnamespace, '"Billing & Co"'::regnamespace)};
my $btrees = query(sprintf($method, 'btree'));
query(q{
CREATE SCHEMA migration;
CREATE TABLE migration.there AS
	SELECT r.index::text, r.lost, r.statements, r.afterwards FROM fpbtree_replacements(ARRAY(SELECT c.oid::regclass FROM pg_class c JOIN pg_index i ON i.indexrelid = c.oid
		WHERE c.relnamespace IN ('shop'::regnamespace, '"Billing & Co"'::regnamespace) AND NOT c.relispartition
			AND NOT (c.relkind = 'I' AND i.indisunique AND current_setting('server_version_num')::int < 180000)
		ORDER BY c.oid), 'fpbtree') r;
ALTER TABLE migration.there REPLICA IDENTITY FULL;
});
my $stay = query('SELECT index, lost FROM migration.there WHERE afterwards IS NULL ORDER BY 1');
if ($is_17)
{
	like($stay, qr/shop.customer_pk\|.*constraint Order_customer_fkey on table shop."Order": it has to stay/, 'a key that is referred to stays');
}
else
{
	unlike($stay, qr/customer_pk/, 'a key that is referred to need not stay');
}
like($stay, qr/shop.product_key\|.*rule _RETURN on view shop.product_sum: it has to stay/, 'and one that a view groups by');
my $run = 'SELECT s FROM %s t, unnest(t.%s) WITH ORDINALITY s (s, n) WHERE t.afterwards IS NOT NULL ORDER BY t.index, s.n \gexec';
query(sprintf($run, 'migration.there', 'statements'));
query(sprintf($run, 'migration.there', 'afterwards'));
my $fpbtrees = query(sprintf($method, 'fpbtree'));
cmp_ok($fpbtrees, '>', 20, 'most are fpbtree');
is(query(sprintf($method, 'btree')) + $fpbtrees, $btrees, 'and none is there twice');
like(dump_schema(), qr/CONSTRAINT order_line_of PRIMARY KEY \("order", line\)/, 'constraints are constraints');
is(query(q{SELECT string_agg(name, ' ' ORDER BY name COLLATE "C") FROM fpbtree_keys()}),
	$is_17 ? 'customer_email log_pkey order_line_of order_line_product product_code_since_key stock_key'
	: 'Order_pkey customer_email customer_pk log_pkey order_line_of order_line_product product_code_since_key stock_key',
	'with fpbtree indexes');
write_to_all('fpbtree');

# A partition that is made now gets indexes like the others', one that is attached has its own; and a dump is restored as
# it is.
query(q{
CREATE TABLE shop.event_2026 PARTITION OF shop.event FOR VALUES FROM ('2026-01-01') TO ('2027-01-01');
CREATE TABLE shop.event_2027 (id bigint NOT NULL, at date NOT NULL, kind int, note text);
CREATE UNIQUE INDEX event_2027_own ON shop.event_2027 USING fpbtree (id, at);
ALTER TABLE shop.event ATTACH PARTITION shop.event_2027 FOR VALUES FROM ('2027-01-01') TO ('2028-01-01');
});
like(messages('UPDATE shop.event_2026 SET note = NULL'), $is_17 ? qr/^$/ : qr/cannot update table "event_2026" because it does not have a replica identity/, 'a new partition without a primary key has no replica identity');
is(messages('SELECT "order", line, product FROM shop.order_line GROUP BY "order", line'), '', 'but another one has a key to group by');
my $new = q{SELECT pg_get_indexdef(indexrelid) FROM pg_index WHERE indrelid IN ('shop.event_2026'::regclass, 'shop.event_2027'::regclass) AND indisprimary ORDER BY 1};
my $file = "$PostgreSQL::Test::Utils::tmp_check/there.dump";
query('CREATE DATABASE copy');
$node->command_ok([ 'pg_dump', '--file', $file, $node->connstr('postgres') ], 'dumped');
$node->command_ok([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-f', $file, $node->connstr('copy') ], 'restored');

# Back, in the copy of it too.
foreach my $database ('postgres', 'copy')
{
	$node->safe_psql($database, 'CREATE TABLE migration.back AS SELECT * FROM fpbtree_to_btree()');
	is($node->safe_psql($database, 'SELECT count(*) FROM migration.back WHERE afterwards IS NULL'), 0, "$database: all can go back");
	$node->safe_psql($database, sprintf($run, 'migration.back', 'statements'));
	$node->safe_psql($database, sprintf($run, 'migration.back', 'afterwards'));
	is($node->safe_psql($database, sprintf($method, 'fpbtree')), 0, "$database: none is fpbtree");
	like(
		$node->safe_psql($database, $new),
		$is_17 ? qr/^CREATE .*event_2026_pkey ON shop.event_2026 USING btree \(id, at\) WITH \(fillfactor='66'\)\nCREATE .*event_2027_pkey ON shop.event_2027 USING btree \(id, at\)/
		: qr/^CREATE .*event_2026_id_at_idx ON shop.event_2026 USING btree \(id, at\) WITH \(fillfactor='66'\)\nCREATE .*event_2027_own ON shop.event_2027 USING btree \(id, at\)$/,
		"$database: the partitions made meanwhile have the primary key, too");
	$node->safe_psql($database, 'DROP TABLE shop.event_2026, shop.event_2027');
	is($node->safe_psql($database, $catalogs), $before, "$database: all is as it was");
}
query('DROP SCHEMA migration CASCADE');
is(dump_schema(), $dump_before, 'for pg_dump, too');
write_to_all('after');
query('DROP EXTENSION fpbtree');

$node->stop;
done_testing();
