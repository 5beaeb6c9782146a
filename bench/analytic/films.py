"""Films: 17 tables in the shapes of the Internet Movie Database's, and 18 queries in those of the Join Order Benchmark.

A few films, persons, companies and keywords have most of the rows, as there: what the planner can't know.  {scale} 1 has 3,000,000
rows in the largest table.  Films are numbered without regard to how popular they are.
"""

TABLES = """
CREATE TABLE kind (id int NOT NULL, kind text);
INSERT INTO kind SELECT i, word(i, 'movie,tv series,tv movie,video movie,tv mini series,video game,episode') FROM generate_series(1, 7) i;
CREATE TABLE info_type (id int NOT NULL, info text);
INSERT INTO info_type SELECT i, coalesce(nullif(word(i, 'genres,languages,countries,release dates,rating,votes,budget,gross,runtimes,certificates,top 250 rank,bottom 10 rank,'
  'birth date,death date,mini biography,height,trivia,quotes'), ''), 'info type ' || i) FROM generate_series(1, 113) i;
CREATE TABLE company_type (id int NOT NULL, kind text);
INSERT INTO company_type SELECT i, word(i, 'production companies,distributors,special effects companies,miscellaneous companies') FROM generate_series(1, 4) i;
CREATE TABLE role (id int NOT NULL, role text);
INSERT INTO role SELECT i, word(i, 'actor,actress,producer,writer,cinematographer,composer,costume designer,director,editor,guest,crew,designer') FROM generate_series(1, 12) i;
CREATE TABLE link_type (id int NOT NULL, link text);
INSERT INTO link_type SELECT i, word(i, 'follows,followed by,remake of,remade as,references,referenced in,spoofs,spoofed in,features,featured in,spin off from,spin off,'
  'version of,similar to,edited into,edited from,alternate of,unknown') FROM generate_series(1, 18) i;

-- popular(n): the number of a film of popularity n, from 0 on; one number for each because 7919 is a prime
CREATE TABLE film (id int NOT NULL, title text NOT NULL, kind int NOT NULL, year int, season int, remark text);
INSERT INTO film SELECT i, color(i, 1) || ' ' || color(i, 2) || CASE WHEN pick(i, 3, 50) = 0 THEN ' Champion' ELSE ' ' || i END,
    CASE WHEN pick(i, 4, 10) < 6 THEN 7 ELSE 1 + pick(i, 5, 6) END, CASE WHEN pick(i, 6, 20) > 0 THEN 2013 - skewed(i, 7, 120, 2) END,
    CASE WHEN pick(i, 4, 10) < 6 THEN 1 + pick(i, 8, 9) END, md5('f' || i)
  FROM generate_series(1, (200000 * {scale})::int) i;
CREATE TABLE person (id int NOT NULL, name text NOT NULL, gender text, code text, remark text);
INSERT INTO person SELECT i, initcap(color(i, 11)) || ', ' || initcap(color(i, 12)) || ' ' || i, word(1 + pick(i, 13, 3), 'm,f,m'), left(md5('p' || i % 5000), 5), md5('p' || i)
  FROM generate_series(1, (350000 * {scale})::int) i;
CREATE TABLE alias (id int NOT NULL, person int NOT NULL, name text NOT NULL);
INSERT INTO alias SELECT i, 1 + skewed(i, 21, (350000 * {scale})::int, 1.5), color(i, 22) || ' ' || color(i, 23) FROM generate_series(1, (80000 * {scale})::int) i;
CREATE TABLE character (id int NOT NULL, name text NOT NULL);
INSERT INTO character SELECT i, CASE WHEN i % 100 = 7 THEN 'Queen ' ELSE '' END || color(i, 31) || ' ' || i FROM generate_series(1, (300000 * {scale})::int) i;
CREATE TABLE company (id int NOT NULL, name text NOT NULL, country text);
-- large companies are of few countries
INSERT INTO company SELECT i, initcap(color(i, 41)) || word(1 + pick(i, 42, 4), ' Film, Pictures, Warner,') || ' ' || i,
    '[' || word(1 + skewed(i, 43, least(12, 1 + i / 50), 2), 'us,gb,de,fr,jp,in,it,ca,es,nl,se,dk') || ']'
  FROM generate_series(1, (20000 * {scale})::int) i;
CREATE TABLE keyword (id int NOT NULL, keyword text NOT NULL);
INSERT INTO keyword SELECT i, coalesce(nullif(word(i, 'murder,sequel,character-name-in-title,based-on-novel,superhero,violence,blood,love,revenge,hero,magnet,dog'), ''),
    'keyword-' || i) FROM generate_series(1, (12000 * {scale})::int) i;

CREATE TABLE casting (id int NOT NULL, person int NOT NULL, film int NOT NULL, character int, role int NOT NULL, note text, place int);
INSERT INTO casting SELECT row_number() OVER (ORDER BY p, i), p, f, CASE WHEN r <= 2 THEN 1 + skewed(i, 54, (300000 * {scale})::int, 1.5) END, r,
    CASE WHEN pick(i, 55, 4) = 0 THEN word(1 + pick(i, 56, 5), '(voice),(uncredited),(producer),(writer),(voice) (uncredited)') END, pick(i, 57, 60)
  FROM (SELECT i, 1 + skewed(i, 51, (350000 * {scale})::int, 1.5) AS p, popular(skewed(i, 52, (200000 * {scale})::int, 1.5), (200000 * {scale})::int) AS f, 1 + skewed(i, 53, 12, 2) AS r
        FROM generate_series(1, (3000000 * {scale})::int) i) x ORDER BY p, i;
CREATE TABLE film_info (id int NOT NULL, film int NOT NULL, type int NOT NULL, info text NOT NULL, note text);
INSERT INTO film_info SELECT row_number() OVER (ORDER BY t, i), popular(skewed(i, 62, (200000 * {scale})::int, 1.5), (200000 * {scale})::int), t,
    CASE t WHEN 1 THEN word(1 + skewed(i, 63, 10, 1.5), 'Drama,Comedy,Documentary,Action,Horror,Thriller,Romance,Crime,Family,Western')
      WHEN 2 THEN word(1 + skewed(i, 63, 8, 2.5), 'English,German,French,Japanese,Hindi,Italian,Spanish,Swedish')
      WHEN 3 THEN word(1 + skewed(i, 63, 10, 2.5), 'USA,UK,Germany,France,Japan,India,Italy,Canada,Sweden,Denmark')
      WHEN 4 THEN word(1 + skewed(i, 63, 5, 1.5), 'USA,UK,Germany,France,Japan') || ':' || 2013 - skewed(i, 64, 120, 2)
      ELSE left(md5(pick(i, 63, 50000)::text), 12) END,
    CASE WHEN pick(i, 65, 8) = 0 THEN '(internet release)' END
  FROM (SELECT i, 1 + skewed(i, 61, 113, 4) AS t FROM generate_series(1, (1200000 * {scale})::int) i) x ORDER BY t, i;
-- ratings and votes
CREATE TABLE film_number (id int NOT NULL, film int NOT NULL, type int NOT NULL, info text NOT NULL);
INSERT INTO film_number SELECT i, popular(i / 2 + pick(i, 71, 3), (200000 * {scale})::int), CASE WHEN i <= 500 AND i % 2 = 0 THEN 11 ELSE 5 + i % 2 END,
    CASE i % 2 WHEN 0 THEN (1 + pick(i, 72, 90) / 10.0)::numeric(3,1)::text ELSE (10 + pick(i, 73, 200000))::text END
  FROM generate_series(1, (120000 * {scale})::int) i;
CREATE TABLE film_keyword (id int NOT NULL, film int NOT NULL, keyword int NOT NULL);
INSERT INTO film_keyword SELECT row_number() OVER (ORDER BY f, i), f, k
  FROM (SELECT i, popular(skewed(i, 81, (200000 * {scale})::int, 1.5), (200000 * {scale})::int) AS f, 1 + skewed(i, 82, (12000 * {scale})::int, 2) AS k
        FROM generate_series(1, (400000 * {scale})::int) i) x ORDER BY f, i;
CREATE TABLE film_company (id int NOT NULL, film int NOT NULL, company int NOT NULL, type int NOT NULL, note text);
INSERT INTO film_company SELECT row_number() OVER (ORDER BY f, i), f, 1 + skewed(i, 92, (20000 * {scale})::int, 2), 1 + pick(i, 93, 2),
    CASE WHEN pick(i, 94, 2) = 0 THEN word(1 + pick(i, 95, 5), '(co-production),(presents),(USA) (TV),(worldwide) (VHS),(2006) (USA) (DVD)') END
  FROM (SELECT i, popular(skewed(i, 91, (200000 * {scale})::int, 1.3), (200000 * {scale})::int) AS f FROM generate_series(1, (220000 * {scale})::int) i) x ORDER BY f, i;
CREATE TABLE film_link (id int NOT NULL, film int NOT NULL, other int NOT NULL, type int NOT NULL);
INSERT INTO film_link SELECT i, popular(skewed(i, 101, (200000 * {scale})::int, 1.5), (200000 * {scale})::int), popular(skewed(i, 102, (200000 * {scale})::int, 1.5), (200000 * {scale})::int),
    1 + pick(i, 103, 18) FROM generate_series(1, (10000 * {scale})::int) i;
CREATE TABLE person_info (id int NOT NULL, person int NOT NULL, type int NOT NULL, info text NOT NULL);
INSERT INTO person_info SELECT i, 1 + skewed(i, 111, (350000 * {scale})::int, 1.5), 13 + pick(i, 112, 6), repeat(md5(i::text), 2) FROM generate_series(1, (300000 * {scale})::int) i;
"""

INDEXES = [
    "UNIQUE kind (id)", "UNIQUE info_type (id)", "UNIQUE company_type (id)", "UNIQUE role (id)", "UNIQUE link_type (id)", "UNIQUE film (id)", "film (kind)", "film (year)",
    "UNIQUE person (id)", "UNIQUE alias (id)", "alias (person)", "UNIQUE character (id)", "UNIQUE company (id)", "UNIQUE keyword (id)", "keyword (keyword)",
    "UNIQUE casting (id)", "casting (person)", "casting (film)", "casting (character)", "casting (role)", "UNIQUE film_info (id)", "film_info (film)", "film_info (type)",
    "UNIQUE film_number (id)", "film_number (film)", "film_number (type)", "UNIQUE film_keyword (id)", "film_keyword (film)", "film_keyword (keyword)",
    "UNIQUE film_company (id)", "film_company (film)", "film_company (company)", "film_company (type)", "UNIQUE film_link (id)", "film_link (film)", "film_link (other)",
    "film_link (type)", "UNIQUE person_info (id)", "person_info (person)", "person_info (type)",
]

QUERIES = {
    "j1": """
SELECT min(fc.note), min(f.title), min(f.year)
FROM company_type ct, info_type it, film_company fc, film_number fn, film f
WHERE ct.kind = 'production companies' AND it.info = 'top 250 rank' AND (fc.note LIKE '%(co-production)%' OR fc.note LIKE '%(presents)%')
  AND ct.id = fc.type AND f.id = fc.film AND f.id = fn.film AND it.id = fn.type""",
    "j2": """
SELECT min(f.title), count(*) FROM company c, keyword k, film_company fc, film_keyword fk, film f
WHERE c.country = '[de]' AND k.keyword = 'character-name-in-title' AND c.id = fc.company AND fc.film = f.id AND f.id = fk.film AND fk.keyword = k.id""",
    "j3": """
SELECT min(f.title), count(*) FROM keyword k, film_info fi, film_keyword fk, film f
WHERE k.keyword LIKE '%sequel%' AND fi.info IN ('Swedish', 'Denmark', 'German', 'Germany', 'Sweden') AND f.year > 2005
  AND f.id = fi.film AND f.id = fk.film AND k.id = fk.keyword""",
    "j4": """
SELECT min(fn.info), min(f.title), count(*) FROM info_type it, keyword k, film_number fn, film_keyword fk, film f
WHERE it.info = 'rating' AND k.keyword LIKE '%sequel%' AND fn.info > '5.0' AND f.year > 2005
  AND f.id = fn.film AND f.id = fk.film AND k.id = fk.keyword AND it.id = fn.type""",
    "j5": """
SELECT min(f.title), count(*) FROM company_type ct, info_type it, film_company fc, film_info fi, film f
WHERE ct.kind = 'production companies' AND fc.note LIKE '%(VHS)%' AND fi.info IN ('USA', 'Sweden', 'Germany', 'German') AND f.year > 2010
  AND f.id = fi.film AND f.id = fc.film AND ct.id = fc.type AND it.id = fi.type""",
    "j6": """
SELECT min(k.keyword), min(p.name), min(f.title), count(*) FROM casting c, keyword k, film_keyword fk, person p, film f
WHERE k.keyword IN ('superhero', 'sequel', 'based-on-novel', 'revenge', 'magnet', 'violence') AND p.name LIKE '%Green%' AND f.year > 2000
  AND k.id = fk.keyword AND f.id = fk.film AND f.id = c.film AND p.id = c.person""",
    "j7": """
SELECT min(p.name), min(f.title), count(*) FROM alias a, casting c, info_type it, link_type lt, film_link fl, person p, person_info pi, film f
WHERE a.name LIKE '%a%' AND it.info = 'mini biography' AND lt.link = 'features' AND p.code BETWEEN '8' AND 'f' AND (p.gender = 'm' OR p.name LIKE 'B%') AND f.year BETWEEN 1980 AND 2010
  AND p.id = a.person AND p.id = pi.person AND c.person = p.id AND f.id = c.film AND fl.other = f.id AND lt.id = fl.type AND it.id = pi.type""",
    "j8": """
SELECT min(a.name), min(ch.name), min(f.title), count(*) FROM alias a, character ch, casting c, company co, film_company fc, person p, role r, film f
WHERE c.note = '(voice)' AND co.country = '[jp]' AND fc.note LIKE '%(USA)%' AND r.role = 'actress' AND f.year BETWEEN 1995 AND 2010
  AND a.person = p.id AND p.id = c.person AND c.film = f.id AND f.id = fc.film AND fc.company = co.id AND c.role = r.id AND ch.id = c.character""",
    "j9": """
SELECT min(ch.name), min(f.title), count(*) FROM character ch, casting c, company co, company_type ct, film_company fc, role r, film f
WHERE c.note LIKE '%(uncredited)%' AND co.country = '[us]' AND r.role = 'actor' AND f.year > 2010
  AND f.id = fc.film AND f.id = c.film AND ch.id = c.character AND r.id = c.role AND co.id = fc.company AND ct.id = fc.type""",
    "j10": """
SELECT min(co.name), min(lt.link), min(f.title), count(*) FROM company co, company_type ct, keyword k, link_type lt, film_company fc, film_keyword fk, film_link fl, film f
WHERE co.country <> '[us]' AND (co.name LIKE '%Film%' OR co.name LIKE '%Warner%') AND ct.kind = 'production companies' AND k.keyword = 'sequel' AND lt.link LIKE '%follow%'
  AND f.year BETWEEN 1950 AND 2010 AND lt.id = fl.type AND fl.film = f.id AND f.id = fk.film AND fk.keyword = k.id AND f.id = fc.film AND fc.type = ct.id AND fc.company = co.id""",
    "j11": """
SELECT min(co.name), min(fn.info), min(f.title), count(*)
FROM company co, company_type ct, info_type i1, info_type i2, film_company fc, film_info fi, film_number fn, film f
WHERE co.country = '[us]' AND ct.kind = 'production companies' AND i1.info = 'genres' AND i2.info = 'rating' AND fi.info IN ('Drama', 'Horror') AND fn.info > '8.0'
  AND f.year BETWEEN 2005 AND 2008 AND f.id = fi.film AND f.id = fn.film AND fi.type = i1.id AND fn.type = i2.id AND f.id = fc.film AND ct.id = fc.type AND co.id = fc.company""",
    "j12": """
SELECT min(fi.info), min(fn.info), min(f.title), count(*)
FROM info_type i1, info_type i2, keyword k, kind kt, film_info fi, film_number fn, film_keyword fk, film f
WHERE i1.info = 'countries' AND i2.info = 'rating' AND k.keyword IN ('murder', 'blood', 'violence') AND kt.kind = 'movie' AND fi.info IN ('Sweden', 'Germany', 'USA', 'Denmark')
  AND fn.info < '8.5' AND f.year > 2005 AND kt.id = f.kind AND f.id = fi.film AND f.id = fk.film AND f.id = fn.film AND k.id = fk.keyword AND i1.id = fi.type AND i2.id = fn.type""",
    "j13": """
SELECT min(p.name), min(f.title), count(*) FROM casting c, company co, keyword k, film_company fc, film_keyword fk, person p, film f
WHERE co.country = '[us]' AND k.keyword = 'character-name-in-title' AND p.name LIKE 'B%'
  AND p.id = c.person AND c.film = f.id AND f.id = fk.film AND fk.keyword = k.id AND f.id = fc.film AND fc.company = co.id""",
    "j14": """
SELECT min(fi.info), min(fn.info), min(f.title), count(*) FROM casting c, info_type i1, info_type i2, film_info fi, film_number fn, person p, film f
WHERE c.note IN ('(producer)', '(writer)') AND i1.info = 'genres' AND i2.info = 'votes' AND p.gender = 'f' AND p.name LIKE '%Olive%' AND fi.info = 'Horror'
  AND f.id = fi.film AND f.id = fn.film AND f.id = c.film AND p.id = c.person AND i1.id = fi.type AND i2.id = fn.type""",
    "j15": """
SELECT min(p.name), min(f.title), count(*) FROM alias a, character ch, casting c, company co, info_type it, film_company fc, film_info fi, person p, role r, film f
WHERE c.note LIKE '(voice)%' AND co.country = '[us]' AND it.info = 'release dates' AND fi.info LIKE 'USA:20%' AND p.gender = 'f' AND r.role = 'actress' AND f.year BETWEEN 2000 AND 2010
  AND f.id = fi.film AND f.id = fc.film AND f.id = c.film AND fc.company = co.id AND it.id = fi.type AND p.id = c.person AND r.id = c.role AND p.id = a.person AND ch.id = c.character""",
    "j16": """
SELECT min(ch.name), min(p.name), min(f.title), count(*) FROM character ch, casting c, keyword k, kind kt, film_keyword fk, film_number fn, info_type it, person p, film f
WHERE ch.name LIKE '%Queen%' AND k.keyword IN ('superhero', 'sequel', 'based-on-novel', 'hero', 'revenge') AND kt.kind = 'movie' AND it.info = 'rating' AND f.year > 1950
  AND fn.type = it.id AND fn.film = f.id AND kt.id = f.kind AND f.id = fk.film AND f.id = c.film AND ch.id = c.character AND p.id = c.person AND k.id = fk.keyword""",
    "j17": """
SELECT min(f1.title), min(f2.title), min(n2.info), count(*)
FROM company c1, company c2, info_type i1, info_type i2, kind k1, kind k2, link_type lt, film_company fc1, film_company fc2, film_number n1, film_number n2, film_link fl, film f1, film f2
WHERE c1.country = '[us]' AND i1.info = 'rating' AND i2.info = 'rating' AND k1.kind IN ('tv series', 'episode') AND k2.kind IN ('tv series', 'episode')
  AND lt.link IN ('follows', 'followed by', 'references', 'sequel') AND n2.info < '6.5' AND f2.year BETWEEN 1995 AND 2012
  AND lt.id = fl.type AND f1.id = fl.film AND f2.id = fl.other AND i1.id = n1.type AND f1.id = n1.film AND k1.id = f1.kind AND c1.id = fc1.company AND f1.id = fc1.film
  AND i2.id = n2.type AND f2.id = n2.film AND k2.id = f2.kind AND c2.id = fc2.company AND f2.id = fc2.film""",
    "j18": """
SELECT f.title, p.name, r.role, ch.name, k.keyword, co.name
FROM film f JOIN casting c ON c.film = f.id JOIN person p ON p.id = c.person JOIN role r ON r.id = c.role LEFT JOIN character ch ON ch.id = c.character
  LEFT JOIN film_keyword fk ON fk.film = f.id AND fk.keyword < 5 LEFT JOIN keyword k ON k.id = fk.keyword LEFT JOIN film_company fc ON fc.film = f.id AND fc.type = 1
  LEFT JOIN company co ON co.id = fc.company
WHERE f.year = 1975 AND NOT EXISTS (SELECT FROM film_info fi WHERE fi.film = f.id AND fi.type = 3 AND fi.info = 'USA') ORDER BY 1, 2, 3, 4, 5, 6 LIMIT 500""",
}
