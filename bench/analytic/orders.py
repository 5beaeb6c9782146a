"""Orders of a wholesaler: eight tables and 22 queries in the shapes of TPC-H's, which they follow number by number.

The data are made by hashes of row numbers, so they are the same each time.  {scale} is TPC-H's: 1 has 1,500,000 orders.
"""

# i-th number below n of a series, and i-th word of some
TABLES = """
CREATE TABLE region (rk int NOT NULL, name text NOT NULL, remark text);
INSERT INTO region SELECT i - 1, word(i, 'AFRICA,AMERICA,ASIA,EUROPE,OCEANIA'), repeat('r', 60) FROM generate_series(1, 5) i;

CREATE TABLE nation (nk int NOT NULL, name text NOT NULL, rk int NOT NULL, remark text);
INSERT INTO nation SELECT i, 'NATION ' || lpad(i::text, 2, '0'), i % 5, repeat('n', 60) FROM generate_series(0, 24) i;

CREATE TABLE supplier (sk int NOT NULL, name text NOT NULL, address text, nk int NOT NULL, phone text, balance numeric(12,2), remark text);
INSERT INTO supplier SELECT i, 'Supplier#' || lpad(i::text, 9, '0'), left(md5('s' || i), 25), n, 10 + n || '-' || 1000000 + pick(i, 2, 9000000),
    pick(i, 3, 1100000) / 100.0 - 1000, CASE WHEN pick(i, 4, 2000) = 0 THEN 'said: Customer has had Complaints' ELSE repeat('s', 60) END
  FROM (SELECT i, pick(i, 1, 25) AS n FROM generate_series(1, (10000 * {scale})::int) i) x;

CREATE TABLE part (pk int NOT NULL, name text NOT NULL, maker text, brand text, kind text, size int, container text, price numeric(12,2), remark text);
INSERT INTO part SELECT i, color(i, 11) || ' ' || color(i, 12) || ' ' || color(i, 13) || ' ' || color(i, 14) || ' ' || color(i, 15),
    'Maker#' || m, 'Brand#' || m || 1 + pick(i, 17, 5),
    word(1 + pick(i, 18, 6), 'STANDARD,SMALL,MEDIUM,LARGE,ECONOMY,PROMO') || ' ' || word(1 + pick(i, 19, 5), 'ANODIZED,BURNISHED,PLATED,POLISHED,BRUSHED')
      || ' ' || word(1 + pick(i, 20, 5), 'TIN,NICKEL,BRASS,STEEL,COPPER'),
    1 + pick(i, 21, 50), word(1 + pick(i, 22, 5), 'SM,LG,MED,JUMBO,WRAP') || ' ' || word(1 + pick(i, 23, 8), 'CASE,BOX,BAG,JAR,PKG,PACK,CAN,DRUM'),
    900 + i % 1000 + (i % 200) / 100.0, repeat('p', 14)
  FROM (SELECT i, 1 + pick(i, 16, 5) AS m FROM generate_series(1, (200000 * {scale})::int) i) x;

CREATE TABLE partsupp (pk int NOT NULL, sk int NOT NULL, stock int, cost numeric(12,2), remark text);
INSERT INTO partsupp SELECT i, 1 + (i + j * (s / 4 + (i - 1) / s)) % s, 1 + pick(i * 4 + j, 31, 9999), 1 + pick(i * 4 + j, 32, 99900) / 100.0, repeat('x', 120)
  FROM (SELECT (10000 * {scale})::int AS s) x, generate_series(1, (200000 * {scale})::int) i, generate_series(0, 3) j;

CREATE TABLE customer (ck int NOT NULL, name text NOT NULL, address text, nk int NOT NULL, phone text, balance numeric(12,2), segment text, remark text);
INSERT INTO customer SELECT i, 'Customer#' || lpad(i::text, 9, '0'), left(md5('c' || i), 25), n, 10 + n || '-' || 1000000 + pick(i, 42, 9000000),
    pick(i, 43, 1100000) / 100.0 - 1000, word(1 + pick(i, 44, 5), 'AUTOMOBILE,BUILDING,FURNITURE,MACHINERY,HOUSEHOLD'), repeat('c', 70)
  FROM (SELECT i, pick(i, 41, 25) AS n FROM generate_series(1, (150000 * {scale})::int) i) x;

-- Numbers of orders have gaps, and every third customer has none.
CREATE TABLE orders (ok int NOT NULL, ck int NOT NULL, status text, total numeric(12,2), odate date NOT NULL, priority text, clerk text, shipping int, remark text);
INSERT INTO orders SELECT (i / 8) * 32 + i % 8, 1 + c + c / 2, CASE WHEN d < date '1995-03-01' THEN 'F' WHEN d > date '1995-06-17' THEN 'O' ELSE 'P' END,
    1000 + pick(i, 53, 40000000) / 100.0, d, word(1 + pick(i, 54, 5), '1-URGENT,2-HIGH,3-MEDIUM,4-NOT SPECIFIED,5-LOW'),
    'Clerk#' || lpad(pick(i, 55, greatest(1, (1000 * {scale})::int))::text, 9, '0'), 0,
    CASE WHEN pick(i, 56, 80) = 0 THEN 'with special care: these requests' ELSE repeat('o', 48) END
  FROM (SELECT i, pick(i, 51, (100000 * {scale})::int) AS c, date '1992-01-01' + pick(i, 52, 2406) AS d
        FROM generate_series(1, (1500000 * {scale})::int) i) x;

CREATE TABLE lineitem (ok int NOT NULL, ln int NOT NULL, pk int NOT NULL, sk int NOT NULL, quantity numeric(12,2), price numeric(12,2), discount numeric(12,2),
  tax numeric(12,2), returned text, status text, shipdate date NOT NULL, commitdate date NOT NULL, receiptdate date NOT NULL, instruction text, mode text, remark text);
INSERT INTO lineitem SELECT ok, ln, pk, 1 + (pk + pick(h, 66, 4) * (s / 4 + (pk - 1) / s)) % s, q, q * (900 + pk % 1000), pick(h, 67, 11) / 100.0, pick(h, 68, 9) / 100.0,
    CASE WHEN ship + received > date '1995-06-17' THEN 'N' WHEN pick(h, 69, 2) = 0 THEN 'R' ELSE 'A' END,
    CASE WHEN ship > date '1995-06-17' THEN 'O' ELSE 'F' END, ship, odate + 30 + pick(h, 70, 61), ship + received,
    word(1 + pick(h, 71, 4), 'DELIVER IN PERSON,COLLECT COD,NONE,TAKE BACK RETURN'), word(1 + pick(h, 72, 7), 'REG AIR,AIR,RAIL,SHIP,TRUCK,MAIL,FOB'), repeat('l', 26)
  FROM (SELECT ok, ln, h, odate, 1 + pick(h, 62, (200000 * {scale})::int) AS pk, (10000 * {scale})::int AS s, 1 + pick(h, 63, 50) AS q,
          odate + 1 + pick(h, 64, 121) AS ship, 1 + pick(h, 65, 30) AS received
        FROM (SELECT ok, odate, ln, ok::int8 * 8 + ln AS h FROM orders, generate_series(1, 1 + pick(ok, 61, 7)) ln OFFSET 0) x) y;
"""

# All primary and foreign keys, and dates.
INDEXES = [
    "UNIQUE region (rk)", "UNIQUE nation (nk)", "nation (rk)", "UNIQUE supplier (sk)", "supplier (nk)", "UNIQUE part (pk)", "UNIQUE partsupp (pk, sk)",
    "partsupp (sk)", "UNIQUE customer (ck)", "customer (nk)", "UNIQUE orders (ok)", "orders (ck)", "orders (odate)", "UNIQUE lineitem (ok, ln)",
    "lineitem (pk, sk)", "lineitem (sk)", "lineitem (shipdate)", "lineitem (receiptdate)",
]

QUERIES = {
    "q1": """
SELECT returned, status, sum(quantity), sum(price), sum(price * (1 - discount)), sum(price * (1 - discount) * (1 + tax)), avg(quantity), avg(price), avg(discount), count(*)
FROM lineitem WHERE shipdate <= date '1998-12-01' - 90 GROUP BY returned, status ORDER BY returned, status""",
    "q2": """
SELECT s.balance, s.name, n.name, p.pk, p.maker, s.address, s.phone, s.remark
FROM part p, supplier s, partsupp ps, nation n, region r
WHERE p.pk = ps.pk AND s.sk = ps.sk AND p.size = 15 AND p.kind LIKE '%BRASS' AND s.nk = n.nk AND n.rk = r.rk AND r.name = 'EUROPE'
  AND ps.cost = (SELECT min(ps2.cost) FROM partsupp ps2, supplier s2, nation n2, region r2
                 WHERE p.pk = ps2.pk AND s2.sk = ps2.sk AND s2.nk = n2.nk AND n2.rk = r2.rk AND r2.name = 'EUROPE')
ORDER BY s.balance DESC, n.name, s.name, p.pk LIMIT 100""",
    "q3": """
SELECT l.ok, sum(l.price * (1 - l.discount)) AS revenue, o.odate, o.shipping
FROM customer c, orders o, lineitem l
WHERE c.segment = 'BUILDING' AND c.ck = o.ck AND l.ok = o.ok AND o.odate < date '1995-03-15' AND l.shipdate > date '1995-03-15'
GROUP BY l.ok, o.odate, o.shipping ORDER BY revenue DESC, o.odate, l.ok LIMIT 10""",
    "q4": """
SELECT priority, count(*) FROM orders o
WHERE odate >= date '1993-07-01' AND odate < date '1993-10-01' AND EXISTS (SELECT FROM lineitem l WHERE l.ok = o.ok AND l.commitdate < l.receiptdate)
GROUP BY priority ORDER BY priority""",
    "q5": """
SELECT n.name, sum(l.price * (1 - l.discount)) AS revenue
FROM customer c, orders o, lineitem l, supplier s, nation n, region r
WHERE c.ck = o.ck AND l.ok = o.ok AND l.sk = s.sk AND c.nk = s.nk AND s.nk = n.nk AND n.rk = r.rk AND r.name = 'ASIA'
  AND o.odate >= date '1994-01-01' AND o.odate < date '1995-01-01'
GROUP BY n.name ORDER BY revenue DESC, n.name""",
    "q6": """
SELECT sum(price * discount) FROM lineitem
WHERE shipdate >= date '1994-01-01' AND shipdate < date '1995-01-01' AND discount BETWEEN 0.05 AND 0.07 AND quantity < 24""",
    "q7": """
SELECT seller, buyer, year, sum(volume)
FROM (SELECT n1.name AS seller, n2.name AS buyer, extract(year FROM l.shipdate) AS year, l.price * (1 - l.discount) AS volume
      FROM supplier s, lineitem l, orders o, customer c, nation n1, nation n2
      WHERE s.sk = l.sk AND o.ok = l.ok AND c.ck = o.ck AND s.nk = n1.nk AND c.nk = n2.nk
        AND (n1.name = 'NATION 06' AND n2.name = 'NATION 07' OR n1.name = 'NATION 07' AND n2.name = 'NATION 06')
        AND l.shipdate BETWEEN date '1995-01-01' AND date '1996-12-31') x
GROUP BY seller, buyer, year ORDER BY seller, buyer, year""",
    "q8": """
SELECT year, sum(CASE WHEN nation = 'NATION 02' THEN volume ELSE 0 END) / sum(volume)
FROM (SELECT extract(year FROM o.odate) AS year, l.price * (1 - l.discount) AS volume, n2.name AS nation
      FROM part p, supplier s, lineitem l, orders o, customer c, nation n1, nation n2, region r
      WHERE p.pk = l.pk AND s.sk = l.sk AND l.ok = o.ok AND o.ck = c.ck AND c.nk = n1.nk AND n1.rk = r.rk AND r.name = 'AMERICA' AND s.nk = n2.nk
        AND o.odate BETWEEN date '1995-01-01' AND date '1996-12-31' AND p.kind = 'ECONOMY ANODIZED STEEL') x
GROUP BY year ORDER BY year""",
    "q9": """
SELECT nation, year, sum(amount)
FROM (SELECT n.name AS nation, extract(year FROM o.odate) AS year, l.price * (1 - l.discount) - ps.cost * l.quantity AS amount
      FROM part p, supplier s, lineitem l, partsupp ps, orders o, nation n
      WHERE s.sk = l.sk AND ps.sk = l.sk AND ps.pk = l.pk AND p.pk = l.pk AND o.ok = l.ok AND s.nk = n.nk AND p.name LIKE '%green%') x
GROUP BY nation, year ORDER BY nation, year DESC""",
    "q10": """
SELECT c.ck, c.name, sum(l.price * (1 - l.discount)) AS revenue, c.balance, n.name, c.address, c.phone, c.remark
FROM customer c, orders o, lineitem l, nation n
WHERE c.ck = o.ck AND l.ok = o.ok AND o.odate >= date '1993-10-01' AND o.odate < date '1994-01-01' AND l.returned = 'R' AND c.nk = n.nk
GROUP BY c.ck, c.name, c.balance, c.phone, n.name, c.address, c.remark ORDER BY revenue DESC, c.ck LIMIT 20""",
    "q11": """
SELECT ps.pk, sum(ps.cost * ps.stock) AS value
FROM partsupp ps, supplier s, nation n
WHERE ps.sk = s.sk AND s.nk = n.nk AND n.name = 'NATION 07'
GROUP BY ps.pk
HAVING sum(ps.cost * ps.stock) > (SELECT sum(ps2.cost * ps2.stock) * 0.0001 / {scale} FROM partsupp ps2, supplier s2, nation n2
                                  WHERE ps2.sk = s2.sk AND s2.nk = n2.nk AND n2.name = 'NATION 07')
ORDER BY value DESC, ps.pk""",
    "q12": """
SELECT l.mode, sum(CASE WHEN o.priority IN ('1-URGENT', '2-HIGH') THEN 1 ELSE 0 END), sum(CASE WHEN o.priority NOT IN ('1-URGENT', '2-HIGH') THEN 1 ELSE 0 END)
FROM orders o, lineitem l
WHERE o.ok = l.ok AND l.mode IN ('MAIL', 'SHIP') AND l.commitdate < l.receiptdate AND l.shipdate < l.commitdate
  AND l.receiptdate >= date '1994-01-01' AND l.receiptdate < date '1995-01-01'
GROUP BY l.mode ORDER BY l.mode""",
    "q13": """
SELECT orders, count(*) AS customers
FROM (SELECT c.ck, count(o.ok) AS orders FROM customer c LEFT JOIN orders o ON c.ck = o.ck AND o.remark NOT LIKE '%special%requests%' GROUP BY c.ck) x
GROUP BY orders ORDER BY customers DESC, orders DESC""",
    "q14": """
SELECT 100 * sum(CASE WHEN p.kind LIKE 'PROMO%' THEN l.price * (1 - l.discount) ELSE 0 END) / sum(l.price * (1 - l.discount))
FROM lineitem l, part p WHERE l.pk = p.pk AND l.shipdate >= date '1995-09-01' AND l.shipdate < date '1995-10-01'""",
    "q15": """
WITH revenue AS (SELECT sk, sum(price * (1 - discount)) AS total FROM lineitem WHERE shipdate >= date '1996-01-01' AND shipdate < date '1996-04-01' GROUP BY sk)
SELECT s.sk, s.name, s.address, s.phone, total FROM supplier s, revenue r WHERE s.sk = r.sk AND total = (SELECT max(total) FROM revenue) ORDER BY s.sk""",
    "q16": """
SELECT p.brand, p.kind, p.size, count(DISTINCT ps.sk) AS suppliers
FROM partsupp ps, part p
WHERE p.pk = ps.pk AND p.brand <> 'Brand#45' AND p.kind NOT LIKE 'MEDIUM POLISHED%' AND p.size IN (49, 14, 23, 45, 19, 3, 36, 9)
  AND ps.sk NOT IN (SELECT sk FROM supplier WHERE remark LIKE '%Customer%Complaints%')
GROUP BY p.brand, p.kind, p.size ORDER BY suppliers DESC, p.brand, p.kind, p.size""",
    "q17": """
SELECT sum(l.price) / 7.0 FROM lineitem l, part p
WHERE p.pk = l.pk AND p.brand = 'Brand#23' AND p.container = 'MED BOX' AND l.quantity < (SELECT 0.2 * avg(l2.quantity) FROM lineitem l2 WHERE l2.pk = p.pk)""",
    "q18": """
SELECT c.name, c.ck, o.ok, o.odate, o.total, sum(l.quantity)
FROM customer c, orders o, lineitem l
WHERE o.ok IN (SELECT ok FROM lineitem GROUP BY ok HAVING sum(quantity) > 300) AND c.ck = o.ck AND o.ok = l.ok
GROUP BY c.name, c.ck, o.ok, o.odate, o.total ORDER BY o.total DESC, o.odate, o.ok LIMIT 100""",
    "q19": """
SELECT sum(l.price * (1 - l.discount)) FROM lineitem l, part p
WHERE p.pk = l.pk AND l.mode IN ('AIR', 'REG AIR') AND l.instruction = 'DELIVER IN PERSON'
  AND (p.brand = 'Brand#12' AND p.container IN ('SM CASE', 'SM BOX', 'SM PACK', 'SM PKG') AND l.quantity BETWEEN 1 AND 11 AND p.size BETWEEN 1 AND 5
       OR p.brand = 'Brand#23' AND p.container IN ('MED BAG', 'MED BOX', 'MED PKG', 'MED PACK') AND l.quantity BETWEEN 10 AND 20 AND p.size BETWEEN 1 AND 10
       OR p.brand = 'Brand#34' AND p.container IN ('LG CASE', 'LG BOX', 'LG PACK', 'LG PKG') AND l.quantity BETWEEN 20 AND 30 AND p.size BETWEEN 1 AND 15)""",
    "q20": """
SELECT s.name, s.address FROM supplier s, nation n
WHERE s.sk IN (SELECT ps.sk FROM partsupp ps
               WHERE ps.pk IN (SELECT pk FROM part WHERE name LIKE 'forest%')
                 AND ps.stock > (SELECT 0.5 * sum(l.quantity) FROM lineitem l
                                 WHERE l.pk = ps.pk AND l.sk = ps.sk AND l.shipdate >= date '1994-01-01' AND l.shipdate < date '1995-01-01'))
  AND s.nk = n.nk AND n.name = 'NATION 03' ORDER BY s.name""",
    "q21": """
SELECT s.name, count(*) AS waits
FROM supplier s, lineitem l1, orders o, nation n
WHERE s.sk = l1.sk AND o.ok = l1.ok AND o.status = 'F' AND l1.receiptdate > l1.commitdate
  AND EXISTS (SELECT FROM lineitem l2 WHERE l2.ok = l1.ok AND l2.sk <> l1.sk)
  AND NOT EXISTS (SELECT FROM lineitem l3 WHERE l3.ok = l1.ok AND l3.sk <> l1.sk AND l3.receiptdate > l3.commitdate)
  AND s.nk = n.nk AND n.name = 'NATION 20'
GROUP BY s.name ORDER BY waits DESC, s.name LIMIT 100""",
    "q22": """
SELECT land, count(*), sum(balance)
FROM (SELECT left(phone, 2) AS land, balance FROM customer c
      WHERE left(phone, 2) IN ('13', '31', '23', '29', '30', '18', '17')
        AND balance > (SELECT avg(balance) FROM customer WHERE balance > 0 AND left(phone, 2) IN ('13', '31', '23', '29', '30', '18', '17'))
        AND NOT EXISTS (SELECT FROM orders o WHERE o.ck = c.ck)) x
GROUP BY land ORDER BY land""",
}
