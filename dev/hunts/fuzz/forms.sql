-- Tables whose rows are the page fuzzer's keys: one index of every key form.
--
-- A table has few hundred different keys, some of them several times, so that pages soon have all that lie between two.
CREATE EXTENSION IF NOT EXISTS fpbtree;
CREATE FUNCTION page_fuzz(index regclass, seed bigint, steps bigint) RETURNS TABLE (kind text, times bigint)
  LANGUAGE c STRICT AS 'fpbtree', 'fpb_page_fuzz';

-- What has been done, and how often it has to be among a million operations on indexes of a layout: a sixth to a
-- third of the usual, a tenth of what comes in bursts. A rare path must not go missing, unless there were so few operations that it
-- may. Null: the layout knows nothing like it.
CREATE TABLE done (form text, kind text, times bigint);
CREATE TABLE least (kind text, disk_first int, micro_index int, cache_first int);
INSERT INTO least VALUES
  ('slot', 120000, 300000, 130000), ('delete', 30000, 30000, 30000), ('delete the last entry', 4000, 4000, 4000), ('killed bits', 3000, 3000, 3000),
  ('build', 1400, 1400, 1400), ('rebuild', 1300, 1300, 1300), ('reorganise', 1000, 700, 1000), ('full', 700, 700, 700), ('extend', 450, 450, 450), ('shorten the prefix', 60, 40, 60),
  ('page split in place', 700, 700, 700), ('page split by image', 350, 350, 350), ('fill', 350, 350, 350), ('merge', 70, 70, 70),
  ('with the high fence elided', 7000, 7000, 7000), ('high fence elided for want of room', 500, 400, 400),
  ('split node', 3000, NULL, 2500), ('spill', 400, NULL, 2), ('spread nodes', 60, NULL, 60), ('append node', 1200, NULL, 1200), ('append runs node', 30, NULL, 8),
  ('repack nodes', 200, NULL, 200), ('into a run of its own', 200, NULL, 200), ('repack over a new node', 100, NULL, 100), ('repack several nodes', 50, NULL, 50),
  ('pass on to a new node', 400, NULL, 40), ('into any gap', 20000, NULL, 20000), ('pass on', 1000, NULL, 400), ('split node behind a series', 300, NULL, 40), ('page split beside an emptied node', 25, NULL, 12),
  ('into a posting', 60000, NULL, 60000), ('grow a posting', 25000, NULL, 25000), ('grow a posting among the tuples', 500, NULL, 500), ('widen a posting''s TIDs', 150, NULL, 100), ('swap a posting''s last TID', 200, NULL, 200),
  ('page split through a posting', 15, NULL, 8), ('killed bit of a posting', 10000, NULL, 10000),
  ('name nodes', NULL, NULL, 5000), ('names kept', NULL, NULL, 5), ('found by name', NULL, NULL, 2000), ('placed behind', 10000, 5000, 5000);
CREATE VIEW total AS SELECT kind, sum(times) AS times FROM done GROUP BY kind;
CREATE VIEW missing AS
  WITH layout AS (
    SELECT CASE WHEN form ~ '_micro_index$' THEN 'micro_index' WHEN form ~ '_cache_first$' THEN 'cache_first' ELSE 'disk_first' END AS layout, kind, sum(times) AS times
      FROM done GROUP BY 1, 2)
  SELECT a.layout, l.kind, coalesce(d.times, 0) AS times, a.times * need / 1000000 AS least
    FROM layout a CROSS JOIN least l
         CROSS JOIN LATERAL (SELECT CASE a.layout WHEN 'micro_index' THEN l.micro_index WHEN 'cache_first' THEN l.cache_first ELSE l.disk_first END AS need) n
         LEFT JOIN layout d ON d.layout = a.layout AND d.kind = l.kind
    WHERE a.kind = 'all' AND coalesce(d.times, 0) < floor(a.times * need / 1000000);

SELECT setseed(0.5);

-- words
CREATE TABLE f_word4 AS
  SELECT CASE WHEN i % 50 = 0 THEN NULL ELSE (i * 7919) % 1000 - 500 END::int AS k FROM generate_series(1, 600) i
  UNION ALL SELECT unnest('{-2147483648,2147483647,0}'::int[]);
CREATE INDEX f_word4_asc ON f_word4 USING fpbtree (k);
CREATE INDEX f_word4_desc ON f_word4 USING fpbtree (k DESC NULLS LAST);

-- few keys, so that pages are amid a run
CREATE TABLE f_few AS SELECT i % 3 AS k FROM generate_series(1, 30) i;
CREATE INDEX f_few_k ON f_few USING fpbtree (k);

CREATE TABLE f_word8 AS
  SELECT CASE WHEN i % 50 = 0 THEN NULL WHEN i % 3 = 0 THEN i ELSE (random() * 1e18)::int8 - 5e17::int8 END AS k,
         CASE WHEN i % 41 = 0 THEN NULL WHEN i % 2 = 0 THEN '-0'::float8 ELSE i % 20 - 10 END AS f
    FROM generate_series(1, 600) i
  UNION ALL SELECT unnest('{-9223372036854775808,9223372036854775807,9223372036854775806}'::int8[]), 'NaN';
CREATE INDEX f_word8_asc ON f_word8 USING fpbtree (k);
CREATE INDEX f_word8_float ON f_word8 USING fpbtree (f DESC);

-- near to each other and far, by less and by more than pairs have room for, and at both ends
CREATE TABLE f_near AS
  SELECT CASE i % 7 WHEN 0 THEN -9223372036854775808 + i WHEN 1 THEN 9223372036854775807 - i WHEN 2 THEN i - 300 WHEN 3 THEN i * 1073741824::int8
                    WHEN 4 THEN -i * 134217728::int8 WHEN 5 THEN 4294967295::int8 * (i % 9) + i % 5 ELSE 500000000000000000 + i * 9 END AS k,
         CASE WHEN i % 3 = 0 THEN i % 9 * 4294967296::int8 + i % 4 ELSE i END AS a, CASE WHEN i % 40 > 0 THEN i % 11 END::int8 AS b
    FROM generate_series(1, 700) i;
CREATE INDEX f_near_asc ON f_near USING fpbtree (k);
CREATE INDEX f_near_desc ON f_near USING fpbtree (k DESC);
CREATE INDEX f_near_word16 ON f_near USING fpbtree (a, b DESC);

CREATE TABLE f_pair AS
  SELECT CASE WHEN i % 13 = 0 THEN NULL WHEN i % 7 = 0 THEN 2147483647 ELSE i % 5 END::int AS a,
         CASE WHEN i % 11 = 0 THEN NULL WHEN i % 9 = 0 THEN -2147483648 ELSE (i * 31) % 40 END::int AS b,
         (i % 4)::int8 AS c, (i * 17 % 97)::int8 AS d
    FROM generate_series(1, 600) i;
CREATE INDEX f_pair_word8 ON f_pair USING fpbtree (a, b DESC);
CREATE INDEX f_pair_word16 ON f_pair USING fpbtree (c DESC, d);

-- words of several columns: NULLs, and the greatest values whose codes they share, of each and of all at once; zeros
CREATE TABLE f_many AS
  SELECT CASE WHEN i % 5 = 0 THEN NULL WHEN i % 3 = 0 THEN 2147483647 ELSE i % 4 END::int AS a,
         CASE WHEN i % 7 = 0 THEN NULL WHEN i % 4 = 0 THEN 2147483647 ELSE i % 3 END::int AS b,
         CASE WHEN i % 2 = 0 THEN NULL WHEN i % 5 = 0 THEN 2147483647 ELSE i % 5 END::int AS c,
         CASE WHEN i % 11 = 0 THEN NULL WHEN i % 2 = 0 THEN 2147483647 ELSE i % 7 END::int AS d,
         CASE i % 5 WHEN 0 THEN NULL WHEN 1 THEN '-0' WHEN 2 THEN '0' WHEN 3 THEN 'NaN' ELSE (i % 3)::text END::float4 AS f,
         CASE WHEN i % 3 > 0 THEN i % 2 = 0 END AS g, CASE WHEN i % 13 = 0 THEN NULL WHEN i % 6 = 0 THEN 32767 ELSE i % 9 END::int2 AS h
    FROM generate_series(1, 600) i;
CREATE INDEX f_many_four ON f_many USING fpbtree (a, b, c, d);
CREATE INDEX f_many_first ON f_many USING fpbtree (a NULLS FIRST, b DESC, c DESC NULLS LAST, d NULLS FIRST);
CREATE INDEX f_many_zeros ON f_many USING fpbtree (f, a, f DESC, g);
CREATE INDEX f_many_word8 ON f_many USING fpbtree (h, g DESC, a);
CREATE INDEX f_many_word4 ON f_many USING fpbtree (g, h DESC);

CREATE TABLE f_uuid AS
  SELECT CASE WHEN i % 60 = 0 THEN NULL WHEN i % 3 = 0 THEN ('00000000-0000-0000-0000-' || lpad(to_hex(i), 12, '0'))::uuid
              ELSE md5(i::text)::uuid END AS k
    FROM generate_series(1, 500) i;
CREATE INDEX f_uuid_k ON f_uuid USING fpbtree (k);

-- tuples: heads of 4 bytes, heads of 8, none
CREATE TABLE f_text AS
  SELECT CASE WHEN i % 70 = 0 THEN NULL WHEN i % 5 = 0 THEN chr(97 + i % 26) WHEN i % 2 = 0 THEN md5(i::text)
              ELSE 'customer/' || lpad((i % 90)::text, 20, '0') END COLLATE "C" AS k
    FROM generate_series(1, 500) i;
CREATE INDEX f_text_k ON f_text USING fpbtree (k);
CREATE INDEX f_text_desc ON f_text USING fpbtree (k DESC);
CREATE INDEX f_text_nohead ON f_text USING fpbtree (k COLLATE "vi-x-icu");

-- keys that begin alike, many with as much as eight bytes and more: prefixes of each other, zeros at their ends, NULLs among them
CREATE TABLE f_prefix AS
  SELECT CASE WHEN i % 90 = 0 THEN NULL ELSE left(v.t, CASE WHEN i % 5 = 0 THEN 3 + i % 20 ELSE 40 END) END COLLATE "C" AS k,
         CASE WHEN i % 80 <> 0 THEN v.t::bytea || decode(repeat('00', i % 7), 'hex') || decode(CASE WHEN i % 4 = 0 THEN 'ff' ELSE '' END, 'hex') END AS y,
         (v.t || repeat(' ', i % 3))::bpchar COLLATE "C" AS b, v.t::name AS n, i % 3 AS c,
         CASE WHEN i % 7 > 0 THEN left(repeat(md5(i::text), 5), CASE WHEN i % 7 = 1 THEN 120 + i % 13 ELSE i % 9 END) END COLLATE "C" AS s
    FROM generate_series(1, 500) i,
         LATERAL (SELECT (ARRAY['customer/', 'customer/0000000', 'customers', 'cust', ''])[1 + i % 41 % 5] ||
                         lpad((i % 120)::text, CASE WHEN i % 2 = 0 THEN 12 ELSE 1 END, '0') AS t) v;
CREATE INDEX f_prefix_k ON f_prefix USING fpbtree (k);
CREATE INDEX f_prefix_desc ON f_prefix USING fpbtree (k DESC NULLS LAST, c DESC);
CREATE INDEX f_prefix_bytea ON f_prefix USING fpbtree (y, s, c);
CREATE INDEX f_prefix_bpchar ON f_prefix USING fpbtree (b DESC);
CREATE INDEX f_prefix_name ON f_prefix USING fpbtree (n, c);

-- keys that are compressed, and have more bytes in common than a page has
CREATE TABLE f_deep AS
  SELECT repeat('a', (ARRAY[1, 2, 3, 0])[1 + i % 7 % 4] * current_setting('block_size')::int - i % 3) || lpad((i % 90)::text, 9, '0') COLLATE "C" AS k
    FROM generate_series(1, 200) i;
CREATE INDEX f_deep_k ON f_deep USING fpbtree (k);

-- so many short keys that killed bits, a bit for each slot, are more than what little may be free
CREATE TABLE f_short AS SELECT lpad(to_hex(i * 3), 3, '0') COLLATE "C" AS k FROM generate_series(1, 1200) i;
CREATE INDEX f_short_k ON f_short USING fpbtree (k);

-- keys up to the largest, that are and are not compressed: many have their head in common
CREATE TABLE f_long (k text COLLATE "C", plain text COLLATE "C");
ALTER TABLE f_long ALTER plain SET STORAGE EXTERNAL;
INSERT INTO f_long
  SELECT repeat(chr(97 + i % 3), i * 29 % (block_size / 9)) || i % 40, left(p.k, block_size / 4 - 200) || i % 10
    FROM generate_series(1, 300) i, LATERAL (SELECT current_setting('block_size')::int AS block_size) b,
         LATERAL (SELECT string_agg(md5((i * j % 77)::text), '') AS k
                    FROM generate_series(1, 1 + (i * i) % (block_size / 140)) j) p;
CREATE INDEX f_long_k ON f_long USING fpbtree (k);
CREATE INDEX f_long_plain ON f_long USING fpbtree (plain);

-- keys of about the longest, so that fences are elided: most begin alike, with as many others short as not
CREATE TABLE f_longest (k text COLLATE "C", u text COLLATE "C", b bpchar COLLATE "C", n int);
ALTER TABLE f_longest ALTER k SET STORAGE EXTERNAL, ALTER u SET STORAGE EXTERNAL, ALTER b SET STORAGE EXTERNAL;
INSERT INTO f_longest
  SELECT left(p.noise, n - 4) || lpad((i % 250)::text, 4, '0'), left(p.noise, n - 8) || i % 9,
         chr(97 + i % 30) || repeat(' ', CASE WHEN i % 3 = 0 THEN i % 20 ELSE n - 1 - i % 50 END), i % 50
    FROM generate_series(1, 400) i,
         LATERAL (SELECT least(((current_setting('block_size')::int - 56) / 3 / 8 * 8) - 8, 8184) - 8 - 4 AS longest) l,
         LATERAL (SELECT CASE i % 6 WHEN 0 THEN 15 + i % 30 WHEN 1 THEN longest - i % 700 WHEN 2 THEN longest / 2 + i
                                    ELSE longest - i % 5 END AS n) n,
         LATERAL (SELECT string_agg(md5((i % 5 / 4 * i)::text || j), '') AS noise FROM generate_series(1, longest / 32 + 1) j) p;
CREATE INDEX f_longest_k ON f_longest USING fpbtree (k);
CREATE INDEX f_longest_desc ON f_longest USING fpbtree (k COLLATE "vi-x-icu" DESC);
CREATE INDEX f_longest_pair ON f_longest USING fpbtree (u, n);
CREATE INDEX f_longest_include ON f_longest USING fpbtree (n) INCLUDE (u);
CREATE INDEX f_longest_equal ON f_longest USING fpbtree (b);

-- the same with keys of about half as long, and a quarter, whose postings are of two or three; those two follow each other
CREATE TABLE f_halves (k text COLLATE "C");
ALTER TABLE f_halves ALTER k SET STORAGE EXTERNAL;
INSERT INTO f_halves
  SELECT left(p.noise, n - 4) || lpad(i::text, 4, '0')
    FROM generate_series(1, 240) i,
         LATERAL (SELECT least(((current_setting('block_size')::int - 56) / 3 / 8 * 8) - 8, 8184) - 8 - 4 AS longest) l,
         LATERAL (SELECT CASE WHEN i % 7 = 0 THEN 20 WHEN i % 3 = 0 THEN longest - i % 4 WHEN i % 5 = 0 THEN longest / 4 - i % 40
                              ELSE longest / 2 - i % 30 END AS n) n,
         LATERAL (SELECT string_agg(md5((i / 40)::text || j), '') AS noise FROM generate_series(1, longest / 32 + 1) j) p;
CREATE INDEX f_halves_k ON f_halves USING fpbtree (k);

-- equal values of other bytes: compressed, as large rows are, or not; and equal though not the same
CREATE TABLE f_methods (k text COLLATE "C", pad text STORAGE PLAIN);
INSERT INTO f_methods
  SELECT repeat('ab', 350 + i % 19 * 2), CASE WHEN i % 2 = 0 THEN repeat('x', current_setting('block_size')::int / 4) END
    FROM generate_series(1, 120) i;
ALTER TABLE f_methods ALTER k SET STORAGE EXTERNAL;
CREATE INDEX f_methods_k ON f_methods USING fpbtree (k);

CREATE TABLE f_equal AS
  SELECT (CASE i % 4 WHEN 0 THEN 'x' WHEN 1 THEN 'x' || repeat(' ', i) ELSE chr(97 + i % 20) || repeat(' ', i % 7) END)::bpchar COLLATE "C" AS b,
         ((i % 30)::text || '.' || repeat('0', i % 9))::numeric AS n
    FROM generate_series(1, 400) i;
CREATE INDEX f_equal_bpchar ON f_equal USING fpbtree (b);
CREATE INDEX f_equal_numeric ON f_equal USING fpbtree (n);

CREATE COLLATION nocase (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE TABLE f_nocase AS
  SELECT CASE WHEN i % 2 = 0 THEN upper(t) ELSE t END COLLATE nocase AS k
    FROM generate_series(1, 300) i, LATERAL (SELECT substr(md5((i % 60)::text), 1, 1 + i % 6) AS t) x;
CREATE INDEX f_nocase_k ON f_nocase USING fpbtree (k);

-- strings whose order is often guessed wrong: signs don't count, which is not known, and capital letters are among small ones
CREATE COLLATION shifted (provider = icu, locale = 'und-u-ka-shifted');
CREATE TABLE f_signs AS
  SELECT CASE WHEN i % 60 = 0 THEN NULL WHEN i % 7 = 0 THEN 'signs' WHEN i % 5 = 0 THEN repeat('signs/', 2) || i % 40
              ELSE translate(substr(md5(i::text), 1, 2 + i % 9), '0123ab', '- ._AB') END COLLATE shifted AS k
    FROM generate_series(1, 500) i;
CREATE INDEX f_signs_k ON f_signs USING fpbtree (k);
CREATE INDEX f_signs_desc ON f_signs USING fpbtree (k DESC NULLS LAST);
CREATE INDEX f_signs_include ON f_signs USING fpbtree (k) INCLUDE (k);

-- heads made of sort keys: with little and much in common, that differ in case or accents only, with characters that don't count
CREATE TABLE f_icu AS
  SELECT CASE i % 8 WHEN 0 THEN NULL WHEN 1 THEN 'customer-' || lpad((i % 90)::text, 9, '0') WHEN 2 THEN repeat('https://example.org/', 3) || i % 40
                    WHEN 3 THEN left('résumé', i % 7) WHEN 4 THEN left('RESUME', i % 7) || repeat(E'\u00AD', i % 3) WHEN 5 THEN left(md5(i::text), i % 9)
                    WHEN 6 THEN repeat('long', 30) || i % 50 ELSE chr(0x4E00 + i % 60) || E'\u0301' END COLLATE "und-x-icu" AS k,
         (left('Été', i % 4) || repeat(' ', i % 5))::char(8) COLLATE "und-x-icu" AS b, CASE WHEN i % 9 > 0 THEN i % 20 END AS n
    FROM generate_series(1, 500) i;
CREATE INDEX f_icu_k ON f_icu USING fpbtree (k);
CREATE INDEX f_icu_desc ON f_icu USING fpbtree (k DESC);
CREATE INDEX f_icu_bpchar ON f_icu USING fpbtree (b, n);
CREATE TABLE f_icu_alike AS SELECT 'customer-' || lpad((i * 7919 % 100000)::text, 9, '0') COLLATE "und-x-icu" AS k FROM generate_series(1, 600) i;
CREATE INDEX f_icu_alike_k ON f_icu_alike USING fpbtree (k);
CREATE INDEX f_icu_old ON f_icu USING fpbtree (k);

-- several columns, so that pivots are truncated; INCLUDE
CREATE TABLE f_columns AS
  SELECT CASE WHEN i % 31 = 0 THEN NULL ELSE i % 6 END::int AS a, CASE WHEN i % 17 = 0 THEN NULL ELSE 'n' || i % 9 END COLLATE "C" AS b,
         (i % 50)::int8 AS c, i % 3 = 0 AS d, i::int2 AS e
    FROM generate_series(1, 500) i;
CREATE INDEX f_columns_three ON f_columns USING fpbtree (a, b DESC, c);
CREATE INDEX f_columns_pair ON f_columns USING fpbtree (a, e, b);
CREATE INDEX f_columns_bool ON f_columns USING fpbtree (d, e, b);
CREATE INDEX f_columns_text ON f_columns USING fpbtree (b, c);
CREATE INDEX f_columns_include ON f_columns USING fpbtree (a) INCLUDE (b, d);
CREATE INDEX f_columns_text_include ON f_columns USING fpbtree (b) INCLUDE (c);

-- bytes of keys that go on into a second column: numbers of all lengths and signs and NULLs behind texts of all lengths, which end
-- before, in and behind the heads of a page; texts with much in common, and a long one; columns behind, and INCLUDE
CREATE TABLE f_behind AS
  SELECT CASE i % 9 WHEN 0 THEN '' WHEN 1 THEN NULL WHEN 2 THEN left('tenant 000123', i % 14) WHEN 3 THEN 'tenant ' || lpad((i % 5)::text, 6, '0')
                    WHEN 4 THEN repeat('x', i % 131) WHEN 5 THEN 'tenant 0001' ELSE 'tenant 00' || i % 3 END COLLATE "C" AS t,
         CASE i % 7 WHEN 0 THEN NULL WHEN 1 THEN (1::numeric - 2 * (i % 2)) * 2::numeric ^ (i * 13 % 63) WHEN 2 THEN -(i % 3) WHEN 3 THEN 256 - i % 3
                    WHEN 4 THEN (ARRAY[9223372036854775807, -9223372036854775808, 65536, -65536, -257, -256])[1 + i % 6] ELSE i * 7919 % 100000 END::int8 AS n,
         CASE WHEN i % 11 > 0 THEN (i * 7 % 300 - 150) * (CASE WHEN i % 4 = 0 THEN 200 ELSE 1 END) END::int2 AS s, i % 3 = 0 AS b,
         (i * 31 % 4294967296)::oid AS o, left(md5((i % 40)::text), i % 9) COLLATE "C" AS u
    FROM generate_series(1, 500) i;
CREATE INDEX f_behind_n ON f_behind USING fpbtree (t, n);
CREATE INDEX f_behind_desc ON f_behind USING fpbtree (t NULLS FIRST, n DESC);
CREATE INDEX f_behind_int2 ON f_behind USING fpbtree (t text_pattern_ops, s NULLS FIRST);
CREATE INDEX f_behind_bool ON f_behind USING fpbtree (t, b DESC NULLS LAST, n);
CREATE INDEX f_behind_include ON f_behind USING fpbtree (t, o) INCLUDE (u);
CREATE TABLE f_tenants AS
  SELECT 'tenant ' || lpad((i / 90)::text, 6, '0') COLLATE "C" AS t, CASE WHEN i % 50 > 0 THEN i + 4000000000 * (i % 40 / 39) END::int8 AS n,
         timestamp '2026-01-01' + i * interval '7 seconds' AS s, 4611686018427387904 + i AS m
    FROM generate_series(1, 700) i;
CREATE INDEX f_tenants_n ON f_tenants USING fpbtree (t, n);
CREATE INDEX f_tenants_s ON f_tenants USING fpbtree (t, s);
CREATE INDEX f_tenants_m ON f_tenants USING fpbtree (t, m);

-- and into a second text: texts that begin alike in either column, and are the beginning of others; empty ones, NULLs, bytes that
-- end like marks; long ones, with and without a short header, compressed ones; columns behind, and INCLUDE
CREATE TABLE f_texts AS
  SELECT CASE i % 9 WHEN 0 THEN '' WHEN 1 THEN NULL WHEN 2 THEN left('tenant 000123', i % 14) WHEN 3 THEN 'tenant ' || lpad((i % 5)::text, 6, '0')
                    WHEN 4 THEN repeat('x', i % 131) WHEN 5 THEN 'tenant 0001' ELSE 'tenant 00' || i % 3 END COLLATE "C" AS t,
         CASE i % 8 WHEN 0 THEN NULL WHEN 1 THEN '' WHEN 2 THEN left('customer/0000017', i % 17) WHEN 3 THEN repeat(E'\x01', i % 3) || repeat(E'\x02', i % 5)
                    WHEN 4 THEN repeat(chr(2047), i % 5) || i % 3 WHEN 5 THEN repeat('y', i * 7 % 150) ELSE 'customer/' || lpad((i % 90)::text, 9, '0') END COLLATE "C" AS u,
         CASE WHEN i % 11 > 0 THEN i % 5 END::int2 AS s, i::int8 % 40 AS n, left(md5((i % 40)::text), i % 9) COLLATE "C" AS v
    FROM generate_series(1, 500) i;
ALTER TABLE f_texts ADD p text COLLATE "C", ADD z text COLLATE "C";
ALTER TABLE f_texts ALTER p SET STORAGE PLAIN;
UPDATE f_texts SET p = u, z = repeat(coalesce(u, 'z'), CASE WHEN n % 3 = 0 THEN 90 ELSE 1 END) || n % 4;
CREATE INDEX f_texts_tu ON f_texts USING fpbtree (t, u);
CREATE INDEX f_texts_first ON f_texts USING fpbtree (t NULLS FIRST, u text_pattern_ops NULLS FIRST);
CREATE INDEX f_texts_desc ON f_texts USING fpbtree (t, u DESC);
CREATE INDEX f_texts_three ON f_texts USING fpbtree (t text_pattern_ops, v, u);
CREATE INDEX f_texts_number ON f_texts USING fpbtree (t, u, n DESC);
CREATE INDEX f_texts_small ON f_texts USING fpbtree (v, u, s);
CREATE INDEX f_texts_include ON f_texts USING fpbtree (u, t) INCLUDE (v);
CREATE INDEX f_texts_plain ON f_texts USING fpbtree (v, p);
CREATE INDEX f_texts_plain_first ON f_texts USING fpbtree (p, v, s);
CREATE INDEX f_texts_compressed ON f_texts USING fpbtree (v, z);
CREATE INDEX f_texts_compressed_include ON f_texts USING fpbtree (v, z) INCLUDE (n);
CREATE TABLE f_places AS
  SELECT ('country ' || i / 300) COLLATE "C" AS t, CASE WHEN i % 50 > 0 THEN 'customer-' || lpad(i::text, 7, '0') || left('suffix', i % 20 - 10) END COLLATE "C" AS u,
         left('customer-000', i / 100 % 13) COLLATE "C" AS v
    FROM generate_series(1, 700) i;
CREATE INDEX f_places_tu ON f_places USING fpbtree (t, u);
CREATE INDEX f_places_tv ON f_places USING fpbtree (t, v, u);
CREATE TABLE f_deep_texts AS
  SELECT 'deep' COLLATE "C" AS t, repeat('a', (ARRAY[1, 2, 3, 0])[1 + i % 7 % 4] * current_setting('block_size')::int - i % 3) || lpad((i % 90)::text, 9, '0') COLLATE "C" AS u
    FROM generate_series(1, 200) i;
CREATE INDEX f_deep_texts_tu ON f_deep_texts USING fpbtree (t, u);

-- first columns that tuples of leaves lack: the values with which NULLs share a code, bytes that a text may begin with,
-- and behind them what is as long as tuples that are cut can be
CREATE TABLE f_first AS
  SELECT CASE i % 7 WHEN 0 THEN NULL WHEN 1 THEN 32767 WHEN 2 THEN -32768 WHEN 3 THEN 2827 ELSE i % 3 END::int2 AS s,
         repeat(E'\x0B\x0D', i % 4) || left(md5((i % 30)::text), i % 5) COLLATE "C" AS t, CASE WHEN i % 9 > 0 THEN i::int8 % 40 END AS c,
         CASE WHEN i % 8 > 0 THEN left(repeat(md5((i % 40)::text), 36), CASE i % 4 WHEN 0 THEN 970 + i % 70 ELSE i % 20 END) END COLLATE "C" AS u
    FROM generate_series(1, 500) i;
CREATE INDEX f_first_columns ON f_first USING fpbtree (s DESC, t, c);
CREATE INDEX f_first_include ON f_first USING fpbtree (c NULLS FIRST) INCLUDE (u);
CREATE TABLE f_name AS SELECT ('n' || i % 70)::name AS k, decode(md5((i % 90)::text), 'hex') AS y FROM generate_series(1, 300) i;
CREATE INDEX f_name_k ON f_name USING fpbtree (k);
CREATE INDEX f_name_bytea ON f_name USING fpbtree (y DESC);

-- numbers and uuids in front, of which tuples lack the code: uuids that have less and more than eight bytes in common, and with
-- the greatest and the least values beside NULLs; numbers of all lengths, uuids and texts behind; columns behind, and INCLUDE
CREATE TABLE f_codes AS
  SELECT CASE i % 9 WHEN 0 THEN NULL WHEN 1 THEN md5((i / 2)::text) WHEN 2 THEN 'ffffffff-ffff-ffff-ffff-fffffffffff' || i % 5
                    WHEN 3 THEN '00000000-0000-0000-0000-00000000000' || i % 2 WHEN 4 THEN '01893f2e-0000-7000-' || lpad((i % 9999)::text, 4, '0') || '-000000000007'
                    ELSE '01893f2e-0000-7000-8000-00000000000' || i % 2 END::uuid AS g,
         CASE i % 7 WHEN 0 THEN NULL WHEN 1 THEN 9223372036854775807 - i % 3 WHEN 2 THEN -9223372036854775808 + i % 3 WHEN 3 THEN i * 10000000000 ELSE 17 END::int8 AS k,
         t.n, t.u, t.t, md5((i % 60)::text)::uuid AS h,
         CASE i % 7 WHEN 0 THEN NULL WHEN 1 THEN 2147483647 WHEN 2 THEN -2147483648 ELSE i % 5 END::int4 AS s, (i % 40 / 4.0)::numeric AS d
    FROM generate_series(1, 500) i, LATERAL (SELECT n, u, t FROM (SELECT row_number() OVER () AS r, n, s::int4 AS u, u AS t FROM f_behind) b WHERE r = i) t;
CREATE INDEX f_codes_gn ON f_codes USING fpbtree (g, n);
CREATE INDEX f_codes_gn_desc ON f_codes USING fpbtree (g DESC NULLS LAST, n DESC);
CREATE INDEX f_codes_gh ON f_codes USING fpbtree (g NULLS FIRST, h DESC);
CREATE INDEX f_codes_gt ON f_codes USING fpbtree (g, t);
CREATE INDEX f_codes_gt_include ON f_codes USING fpbtree (g, t) INCLUDE (s);
CREATE INDEX f_codes_g_include ON f_codes USING fpbtree (g) INCLUDE (t, n);
CREATE INDEX f_codes_gd ON f_codes USING fpbtree (g DESC, d);
CREATE INDEX f_codes_three ON f_codes USING fpbtree (g, s, n);
CREATE INDEX f_codes_kt ON f_codes USING fpbtree (k DESC, t);
CREATE INDEX f_codes_kh ON f_codes USING fpbtree (k NULLS FIRST, h, t);
CREATE INDEX f_codes_knt ON f_codes USING fpbtree (k, n DESC, t);
CREATE INDEX f_codes_kn_include ON f_codes USING fpbtree (k, n) INCLUDE (h);
CREATE INDEX f_codes_st ON f_codes USING fpbtree (s DESC NULLS LAST, t);
CREATE TABLE f_owners AS
  SELECT ('01893f2e-0000-7000-8000-00000000000' || i / 250)::uuid AS g, i / 250 AS k, CASE WHEN i % 50 > 0 THEN i + 4000000000 * (i % 40 / 39) END::int8 AS n,
         CASE WHEN i % 50 > 0 THEN 'customer-' || lpad(i::text, 7, '0') || left('suffix', i % 20 - 10) END COLLATE "C" AS t,
         ('01893f2e-0000-7000-8000-' || lpad(to_hex(i), 12, '0'))::uuid AS h, repeat('customer-', 5) || lpad(i::text, 7, '0') COLLATE "C" AS l
    FROM generate_series(1, 700) i;
CREATE INDEX f_owners_gn ON f_owners USING fpbtree (g, n);
CREATE INDEX f_owners_gt ON f_owners USING fpbtree (g, t);
CREATE INDEX f_owners_gh ON f_owners USING fpbtree (g DESC, h);
CREATE INDEX f_owners_kt ON f_owners USING fpbtree (k, t);
CREATE INDEX f_owners_kh ON f_owners USING fpbtree (k, h, n);
CREATE INDEX f_owners_kl ON f_owners USING fpbtree (k, l);

-- heads made of other values, near the limits of what they tell apart; and of two columns
CREATE TABLE f_value AS
  SELECT CASE i % 9 WHEN 0 THEN NULL WHEN 1 THEN 10::numeric ^ (i % 80 - 30) WHEN 2 THEN -(10::numeric ^ (i % 80 - 30)) * 9.9999999
                    WHEN 3 THEN ('{NaN,Infinity,-Infinity,0,0.00,1e100,-1e-100}'::numeric[])[1 + i % 7] ELSE (i * 7919 % 1000) / 8.0 END AS n,
         make_interval(months => CASE WHEN i % 11 = 0 THEN i % 30 * 73 - 1092 ELSE 0 END, days => i % 7 - 3, secs => i * 7919 % 90000) AS v,
         set_masklen(CASE WHEN i % 3 = 0 THEN '2001:db8::'::inet ELSE '10.0.0.0' END + i * i % 500, 24 + i % 9) AS a,
         (make_time(i % 24, i * 7 % 60, 0) || CASE WHEN i % 2 = 0 THEN '+15:59' ELSE '-08' END)::timetz AS z,
         CASE i % 7 WHEN 0 THEN NULL WHEN 1 THEN 2147483647 ELSE i % 3 END AS f, md5((i % 200)::text) COLLATE "C" AS t,
         md5((i % 200)::text)::uuid AS u
    FROM generate_series(1, 500) i;
CREATE INDEX f_value_numeric ON f_value USING fpbtree (n);
CREATE INDEX f_value_interval ON f_value USING fpbtree (v DESC);
CREATE INDEX f_value_inet ON f_value USING fpbtree (a);
CREATE INDEX f_value_timetz ON f_value USING fpbtree (z DESC, f);
CREATE INDEX f_value_pair ON f_value USING fpbtree (f, t DESC);
CREATE INDEX f_value_uuid ON f_value USING fpbtree (f DESC, u);
CREATE INDEX f_value_mixed ON f_value USING fpbtree (f, n DESC, t);

-- all of them in the other layouts, and with the other format of nodes; half of these are searched in the other way
DO $$
DECLARE
  i record;
BEGIN
  FOR i IN
    SELECT oid, relname, CASE WHEN n % 2 = 0 THEN bisecting ELSE '' END AS even, CASE WHEN n % 2 = 1 THEN bisecting ELSE '' END AS odd
      FROM (SELECT oid, relname, row_number() OVER (ORDER BY oid) AS n FROM pg_class WHERE relkind = 'i' AND relname ~ '^f_') f,
           (VALUES (', node_search = bisecting, node_prefetch = off')) AS b (bisecting)
      ORDER BY oid
  LOOP
    EXECUTE replace(pg_get_indexdef(i.oid), i.relname, i.relname || '_micro_index') || ' WITH (layout = micro_index' || i.even || ')';
    EXECUTE replace(pg_get_indexdef(i.oid), i.relname, i.relname || '_csb') || ' WITH (node_format = csb' || i.odd || ')';
    EXECUTE replace(pg_get_indexdef(i.oid), i.relname, i.relname || '_cache_first') || ' WITH (layout = cache_first' || i.even ||
            CASE WHEN i.relname ~ 'desc|uuid' THEN ', node_format = csb)' ELSE ')' END;
  END LOOP;
END
$$;

-- as many slots as a node may have, in pages that are large enough
CREATE INDEX f_text_wide ON f_text USING fpbtree (k) WITH (leaf_lines = 32);
