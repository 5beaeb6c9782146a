-- Pages after CREATE INDEX. The metapage counts.
CREATE INDEX sizes_1 ON sizes USING :am (int8_random);
CREATE INDEX sizes_2 ON sizes USING :am (int4_sequential);
CREATE INDEX sizes_3 ON sizes USING :am (uuid);
CREATE INDEX sizes_4 ON sizes USING :am (text_c);
CREATE INDEX sizes_5 ON sizes USING :am (text_icu);
CREATE INDEX sizes_6 ON sizes USING :am (a, b);
CREATE INDEX sizes_7 ON sizes USING :am (dup);
SELECT metric || '_pages', pg_relation_size(index) / current_setting('block_size')::int
FROM (VALUES (1, 'int8_random', 'sizes_1'::regclass), (2, 'int4_sequential', 'sizes_2'), (3, 'uuid', 'sizes_3'),
    (4, 'text_C', 'sizes_4'), (5, 'text_ICU', 'sizes_5'), (6, 'int4_int4', 'sizes_6'),
    (7, 'thousand_duplicates', 'sizes_7')) m (n, metric, index)
ORDER BY n;
DROP INDEX sizes_1, sizes_2, sizes_3, sizes_4, sizes_5, sizes_6, sizes_7;
