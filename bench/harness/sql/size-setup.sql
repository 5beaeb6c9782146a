-- One table with a column for each index.
SELECT scaled(2000000 * :scale) AS rows \gset
CREATE TABLE sizes AS
SELECT hashint8extended(i, 0) AS int8_random, i::int4 AS int4_sequential, gen_random_uuid() AS uuid,
    substr(md5(i::text), 1, 20 + i % 11) COLLATE "C" AS text_c,
    substr(md5(i::text), 1, 20 + i % 11) COLLATE "en-x-icu" AS text_icu,
    hashint4(i::int4) % 1000 AS a, hashint4extended(i::int4, 1)::bit(31)::int4 AS b,
    (hashint4(i::int4) & 2147483647) % greatest(1, :rows / 1000) AS dup
FROM generate_series(1, :rows) i;
