"""Three schemas, and 176 queries over them: joins, semi-joins, LIMIT, bitmap and index-only scans.

{am} stands for the access method.  In the list of a query's variants "%s" takes each of them in turn.
"""

# orders of a shop, as TPC-H has them; events of devices; a small application with uuids
SCHEMAS = {
    "shop": """
CREATE TABLE nation (nk int, name text);
INSERT INTO nation SELECT i, 'NATION ' || i FROM generate_series(0, 24) i;
CREATE TABLE customer (ck int, code text COLLATE "C", nk int, balance numeric(12,2), note text);
INSERT INTO customer SELECT i, 'Customer#' || lpad(i::text, 9, '0'), (hashint4(i) & 1023) % 25, (hashint4(i + 7) & 65535) / 100.0, repeat('n', 60)
  FROM generate_series(1, 30000) i;
CREATE TABLE supplier (sk int, nk int, name text);
INSERT INTO supplier SELECT i, (hashint4(i) & 1023) % 25, 'Supplier ' || i FROM generate_series(1, 2000) i;
CREATE TABLE part (pk int, brand text COLLATE "C", size int, note text);
INSERT INTO part SELECT i, 'Brand#' || 11 + (hashint4(i) & 1023) % 25, 1 + (hashint4(i + 3) & 1023) % 50, repeat('p', 60) FROM generate_series(1, 40000) i;
CREATE TABLE orders (ok int, ck int, odate date, total numeric(12,2), status char(1), note text);
INSERT INTO orders SELECT i, 1 + (hashint4(i) & 2147483647) % 30000, date '1992-01-01' + (hashint4(i + 1) & 2147483647) % 2400,
  (hashint4(i + 2) & 1048575) / 10.0, substr('OFP', 1 + (hashint4(i + 3) & 7) % 3, 1), repeat('o', 40) FROM generate_series(1, 250000) i;
CREATE TABLE lineitem (ok int, ln int, pk int, sk int, qty int, price numeric(12,2), shipdate date, receipt date, note text);
INSERT INTO lineitem SELECT o.ok, l, 1 + (hashint4(o.ok * 7 + l) & 2147483647) % 40000, 1 + (hashint4(o.ok * 7 + l + 1) & 2147483647) % 2000,
  1 + (hashint4(o.ok + l) & 1023) % 50, (hashint4(o.ok * 3 + l) & 65535) / 10.0, o.odate + 1 + (hashint4(o.ok * 5 + l) & 127),
  o.odate + 1 + (hashint4(o.ok * 11 + l) & 127) + 10, repeat('l', 30)
  FROM orders o, generate_series(1, 4) l;
CREATE UNIQUE INDEX customer_ck ON customer USING {am} (ck);
CREATE UNIQUE INDEX customer_code ON customer USING {am} (code);
CREATE INDEX customer_nk ON customer USING {am} (nk);
CREATE UNIQUE INDEX supplier_sk ON supplier USING {am} (sk);
CREATE INDEX supplier_nk ON supplier USING {am} (nk);
CREATE UNIQUE INDEX part_pk ON part USING {am} (pk);
CREATE INDEX part_brand ON part USING {am} (brand);
CREATE UNIQUE INDEX orders_ok ON orders USING {am} (ok);
CREATE INDEX orders_ck ON orders USING {am} (ck);
CREATE INDEX orders_odate ON orders USING {am} (odate);
CREATE UNIQUE INDEX lineitem_ok ON lineitem USING {am} (ok, ln);
CREATE INDEX lineitem_pk ON lineitem USING {am} (pk);
CREATE INDEX lineitem_sk ON lineitem USING {am} (sk);
CREATE INDEX lineitem_shipdate ON lineitem USING {am} (shipdate);
""",
    "events": """
CREATE TABLE device (id int, site int, name text COLLATE "C");
INSERT INTO device SELECT i, i % 40, 'device-' || md5(i::text) FROM generate_series(1, 2000) i;
CREATE TABLE event (id int8, device int, ts timestamptz, kind text COLLATE "C", val int, note text);
INSERT INTO event SELECT i * 1000, 1 + (hashint4(i) & 2147483647) % 2000, timestamptz '2024-01-01 00:00Z' + i * interval '20 s',
  'kind-' || least(9, floor(-ln(((hashint4(i + 1) & 65535) + 1) / 65537.0) * 2)::int), (hashint4(i + 2) & 65535) / 7, repeat('e', 40)
  FROM generate_series(1, 700000) i;
CREATE TABLE tag (event int8, tag text COLLATE "C");
INSERT INTO tag SELECT (1 + (hashint4(i) & 2147483647) % 700000) * 1000, 'tag-' || floor(power((hashint4(i + 1) & 65535) / 65536.0, 4) * 2000)::int
  FROM generate_series(1, 400000) i;
CREATE UNIQUE INDEX device_id ON device USING {am} (id);
CREATE UNIQUE INDEX device_name ON device USING {am} (name);
CREATE INDEX device_site ON device USING {am} (site);
CREATE UNIQUE INDEX event_id ON event USING {am} (id);
CREATE INDEX event_device ON event USING {am} (device, ts);
CREATE INDEX event_ts ON event USING {am} (ts);
CREATE INDEX event_kind ON event USING {am} (kind, ts);
CREATE INDEX tag_event ON tag USING {am} (event);
CREATE INDEX tag_tag ON tag USING {am} (tag, event);
""",
    "small": """
CREATE TABLE users (id uuid, n int, mail text COLLATE "C", since timestamptz);
INSERT INTO users SELECT md5('u' || i)::uuid, i, 'user' || i || '@example.org', timestamptz '2020-01-01 00:00Z' + i * interval '1 h' FROM generate_series(1, 1000) i;
CREATE TABLE posts (id uuid, author uuid, n int, score numeric, at timestamptz, body text);
INSERT INTO posts SELECT md5('p' || i)::uuid, md5('u' || 1 + (hashint4(i) & 65535) % 1000)::uuid, i, (hashint4(i + 1) & 1023) / 10.0,
  timestamptz '2021-01-01 00:00Z' + i * interval '1 min', repeat('b', 80) FROM generate_series(1, 10000) i;
CREATE TABLE comments (id uuid, post uuid, author uuid, n int, at timestamptz, body text);
INSERT INTO comments SELECT md5('c' || i)::uuid, md5('p' || 1 + (hashint4(i) & 2147483647) % 10000)::uuid, md5('u' || 1 + (hashint4(i + 1) & 65535) % 1000)::uuid,
  i, timestamptz '2021-01-01 00:00Z' + i * interval '7 s', repeat('c', 40) FROM generate_series(1, 100000) i;
CREATE TABLE follows (who uuid, whom uuid);
INSERT INTO follows SELECT md5('u' || 1 + (hashint4(i) & 65535) % 1000)::uuid, md5('u' || 1 + (hashint4(i + 1) & 65535) % 1000)::uuid FROM generate_series(1, 30000) i;
CREATE UNIQUE INDEX users_id ON users USING {am} (id);
CREATE UNIQUE INDEX users_mail ON users USING {am} (mail);
CREATE UNIQUE INDEX posts_id ON posts USING {am} (id);
CREATE INDEX posts_author ON posts USING {am} (author, at);
CREATE INDEX posts_at ON posts USING {am} (at);
CREATE INDEX posts_score ON posts USING {am} (score);
CREATE UNIQUE INDEX comments_id ON comments USING {am} (id);
CREATE INDEX comments_post ON comments USING {am} (post);
CREATE INDEX comments_author ON comments USING {am} (author, at);
CREATE INDEX follows_who ON follows USING {am} (who, whom);
CREATE INDEX follows_whom ON follows USING {am} (whom);
""",
}

DAYS = [1, 5, 24, 120, 480]  # of 2,400
MINUTES = [10, 200, 2000, 20000, 80000]  # of 233,000
TAGS = ["'tag-0'", "'tag-1'", "'tag-50'", "'tag-500'", "'tag-1900'"]  # from common to rare
KINDS = ["'kind-0'", "'kind-3'", "'kind-6'", "'kind-9'"]  # likewise

# schema, text, values for its "%s"
QUERIES = [
    ("shop", "SELECT count(*), sum(l.qty) FROM orders o JOIN lineitem l ON l.ok = o.ok WHERE o.odate >= date '1995-01-01' AND o.odate < date '1995-01-01' + %s", DAYS),
    ("shop", "SELECT count(*) FROM orders o JOIN lineitem l ON l.ok = o.ok AND l.ln = 1 WHERE o.odate >= date '1995-01-01' AND o.odate < date '1995-01-01' + %s", DAYS),
    ("shop", "SELECT count(*), max(c.balance) FROM orders o JOIN customer c ON c.ck = o.ck WHERE o.odate >= date '1994-01-01' AND o.odate < date '1994-01-01' + %s", DAYS),
    ("shop", "SELECT count(*), max(o.total) FROM customer c JOIN orders o ON o.ck = c.ck WHERE c.ck < %s", [50, 500, 3000, 10000]),
    ("shop", "SELECT count(*), sum(l.price) FROM part p JOIN lineitem l ON l.pk = p.pk WHERE p.brand = 'Brand#12' AND p.size <= %s", [1, 5, 20, 50]),
    ("shop", "SELECT count(*), sum(l.price) FROM part p JOIN lineitem l ON l.pk = p.pk JOIN orders o ON o.ok = l.ok WHERE p.brand = 'Brand#15' AND p.size <= %s AND o.status = 'F'", [1, 8, 30]),
    ("shop", "SELECT s.name, count(*) FROM supplier s JOIN lineitem l1 ON s.sk = l1.sk JOIN orders o ON o.ok = l1.ok JOIN nation n ON n.nk = s.nk"
             " WHERE o.status = 'F' AND l1.receipt > l1.shipdate + 60 AND n.name = 'NATION %s'"
             " AND EXISTS (SELECT 1 FROM lineitem l2 WHERE l2.ok = l1.ok AND l2.sk <> l1.sk)"
             " AND NOT EXISTS (SELECT 1 FROM lineitem l3 WHERE l3.ok = l1.ok AND l3.sk <> l1.sk AND l3.receipt > l3.shipdate + 60)"
             " GROUP BY s.name ORDER BY 2 DESC, 1 LIMIT 20", [3, 11, 20]),
    ("shop", "SELECT status, count(*) FROM orders o WHERE odate >= date '1993-07-01' AND odate < date '1993-07-01' + %s"
             " AND EXISTS (SELECT 1 FROM lineitem l WHERE l.ok = o.ok AND l.receipt > l.shipdate + 60) GROUP BY status", DAYS),
    ("shop", "SELECT count(*) FROM customer c WHERE c.ck IN (SELECT o.ck FROM orders o WHERE o.odate >= date '1996-01-01' AND o.odate < date '1996-01-01' + %s)", DAYS),
    ("shop", "SELECT count(*) FROM customer c WHERE c.balance > %s AND NOT EXISTS (SELECT 1 FROM orders o WHERE o.ck = c.ck AND o.total > 100000)", [100, 500, 640, 654]),
    ("shop", "SELECT count(*), sum(x.total) FROM customer c CROSS JOIN LATERAL (SELECT total FROM orders o WHERE o.ck = c.ck ORDER BY odate DESC, ok LIMIT 3) x WHERE c.nk < %s", [1, 5, 25]),
    ("shop", "SELECT ok, odate, total FROM orders WHERE total > %s ORDER BY odate, ok LIMIT 20", [0, 50000, 100000, 104000, 104800]),
    ("shop", "SELECT ok, odate FROM orders WHERE ck = %s ORDER BY odate LIMIT 5", [77, 20001]),
    ("shop", "SELECT count(*), sum(qty) FROM lineitem WHERE shipdate >= date '1995-03-01' AND shipdate < date '1995-03-01' + %s", DAYS),
    ("shop", "SELECT count(*), sum(qty) FROM lineitem WHERE sk < %s AND shipdate >= date '1995-03-01' AND shipdate < date '1995-03-01' + 100", [20, 200, 1000]),
    ("shop", "SELECT count(*) FROM lineitem WHERE shipdate >= date '1994-03-01' AND shipdate < date '1994-03-01' + %s", DAYS),
    ("shop", "SELECT max(n), count(*) FROM (SELECT ok, count(*) AS n FROM lineitem WHERE ok < %s GROUP BY ok) x", [1000, 30000, 250000]),
    ("shop", "SELECT count(*), sum(o.total) FROM orders o JOIN (SELECT ok, sum(price) AS p FROM lineitem GROUP BY ok) l USING (ok) WHERE o.ok < %s", [2000, 50000]),
    ("shop", "SELECT count(*), max(c.balance) FROM customer c JOIN (SELECT 'Customer#' || lpad(i::text, 9, '0') AS code FROM generate_series(1, %s) i) k ON k.code = c.code", [10, 1000, 20000]),
    ("shop", "SELECT count(*), sum(total) FROM orders WHERE ok = ANY (ARRAY(SELECT i * 7 FROM generate_series(1, %s) i))", [5, 100, 5000]),
    ("shop", "SELECT brand, count(*) FROM part GROUP BY brand ORDER BY brand LIMIT %s", [3, 30]),
    ("shop", "SELECT count(*) FROM customer WHERE code LIKE 'Customer#0000%s'", ["012%", "01%", "0%"]),
    ("events", "SELECT count(*), sum(e.val) FROM device d JOIN event e ON e.device = d.id WHERE d.site = 7 AND e.ts >= timestamptz '2024-03-01 00:00Z' AND e.ts < timestamptz '2024-03-01 00:00Z' + interval '%s min'", MINUTES),
    ("events", "SELECT count(*), sum(val) FROM event WHERE kind = 'kind-3' AND ts >= timestamptz '2024-02-01 00:00Z' AND ts < timestamptz '2024-02-01 00:00Z' + interval '%s min'", MINUTES),
    ("events", "SELECT count(*), sum(val) FROM event WHERE ts >= timestamptz '2024-02-01 00:00Z' AND ts < timestamptz '2024-02-01 00:00Z' + interval '%s min'", MINUTES),
    ("events", "SELECT count(*), sum(val) FROM event WHERE device = 55 AND ts >= timestamptz '2024-01-10 00:00Z' AND ts < timestamptz '2024-01-10 00:00Z' + interval '%s min'", MINUTES),
    ("events", "SELECT count(*), max(x.val) FROM device d CROSS JOIN LATERAL (SELECT val FROM event e WHERE e.device = d.id ORDER BY ts DESC LIMIT 1) x WHERE d.site < %s", [1, 8, 40]),
    ("events", "SELECT count(*), max(m) FROM (SELECT device, max(ts) AS m FROM event WHERE device <= %s GROUP BY device) x", [10, 200, 2000]),
    ("events", "SELECT id, val FROM event WHERE kind = %s ORDER BY ts DESC, id LIMIT 10", KINDS),
    ("events", "SELECT id, val FROM event WHERE val > %s ORDER BY ts DESC, id LIMIT 10", [1000, 9000, 9355]),
    ("events", "SELECT count(*) FROM event WHERE kind = %s", KINDS),
    ("events", "SELECT count(*), sum(e.val) FROM tag t JOIN event e ON e.id = t.event WHERE t.tag = %s", TAGS),
    ("events", "SELECT count(*) FROM tag t JOIN event e ON e.id = t.event WHERE t.tag = %s AND e.device < 1000", TAGS),
    ("events", "SELECT count(*), sum(e.val) FROM tag t JOIN event e ON e.id = t.event JOIN device d ON d.id = e.device WHERE t.tag = %s AND d.site = 3", TAGS),
    ("events", "SELECT count(*) FROM event e WHERE e.device = 33 AND NOT EXISTS (SELECT 1 FROM tag t WHERE t.event = e.id AND t.tag = %s)", TAGS[:2]),
    ("events", "SELECT count(*) FROM event e WHERE e.ts < timestamptz '2024-01-01 00:00Z' + interval '%s min' AND EXISTS (SELECT 1 FROM tag t WHERE t.event = e.id)", MINUTES),
    ("events", "SELECT count(*), sum(val) FROM event WHERE device = 12 OR device = 900 OR ts < timestamptz '2024-01-01 00:00Z' + interval '%s min'", MINUTES[:3]),
    ("events", "SELECT tag, count(*) FROM tag WHERE tag >= %s GROUP BY tag ORDER BY tag LIMIT 15", ["'tag-0'", "'tag-999'"]),
    ("small", "SELECT count(*), max(p.score) FROM users u JOIN posts p ON p.author = u.id WHERE u.n <= %s", [3, 30, 200, 1000]),
    ("small", "SELECT count(*), max(c.n) FROM posts p JOIN comments c ON c.post = p.id WHERE p.n <= %s", [5, 100, 1000, 10000]),
    ("small", "SELECT count(*) FROM users u JOIN comments c ON c.author = u.id WHERE u.n <= %s", [2, 20, 300]),
    ("small", "SELECT u.mail, count(*) FROM users u JOIN posts p ON p.author = u.id JOIN comments c ON c.post = p.id WHERE u.n <= %s GROUP BY u.mail ORDER BY 2 DESC, 1 LIMIT 5", [2, 40, 500]),
    ("small", "SELECT count(*), max(p.at) FROM users u JOIN follows f ON f.who = u.id JOIN posts p ON p.author = f.whom WHERE u.n = %s", [5, 600]),
    ("small", "SELECT p.id, p.at FROM users u JOIN follows f ON f.who = u.id JOIN posts p ON p.author = f.whom WHERE u.n = %s ORDER BY p.at DESC, p.id LIMIT 20", [5, 600]),
    ("small", "SELECT count(*) FROM users u WHERE u.n <= %s AND NOT EXISTS (SELECT 1 FROM follows f WHERE f.who = u.id AND f.whom = md5('u1')::uuid)", [10, 1000]),
    ("small", "SELECT count(*), sum(x.n) FROM users u CROSS JOIN LATERAL (SELECT n FROM posts p WHERE p.author = u.id ORDER BY at DESC LIMIT 2) x WHERE u.n <= %s", [10, 1000]),
    ("small", "SELECT count(*), max(body) FROM posts WHERE score > %s", [50, 95, 102]),
    ("small", "SELECT count(*), max(n) FROM posts WHERE at >= timestamptz '2021-01-03 00:00Z' AND at < timestamptz '2021-01-03 00:00Z' + interval '%s min'", [5, 100, 2000]),
    ("small", "SELECT id FROM posts WHERE score > %s ORDER BY at DESC LIMIT 10", [20, 101]),
]


def all_queries():
    """(schema, text) of each."""
    return [(schema, text % value) for schema, text, values in QUERIES for value in values]
