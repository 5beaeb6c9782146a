-- Characters, and parts of words that a language sorts as one letter. In UTF8; dev/hunts/sort-keys gives another encoding those that it has.
-- those of ranges like 'a-z 0300-0345', code points in hexadecimal
CREATE FUNCTION characters(ranges text) RETURNS text[] LANGUAGE sql AS $$
    SELECT array_agg(chr(c)) FROM regexp_split_to_table(ranges, ' +') r,
        LATERAL (SELECT ('0x' || split_part(r, '-', 1))::int AS a, ('0x' || regexp_replace(r, '.*-', ''))::int AS b) ends,
        LATERAL generate_series(a, b) c
        WHERE c NOT BETWEEN 0xD800 AND 0xDFFF $$;

INSERT INTO pieces VALUES
    ('ascii', characters('1-7f')),
    ('latin', characters('61-68 41-42 7a c4-c6 c9 cb d1 d8 df-ff 130-131 111 142 153 15f 17f 1c4-1cc')),
    ('parts', '{ch,Ch,CH,cH,ll,lj,nj,dž,DZ,dz,dzs,ddz,cs,ccs,gy,ggy,ny,sz,ssz,ty,zs,ij,aa,AA,oe,ue,l·l,ng,th,rh,ae,ß,ss,ö,å,ø,w,v,y,ü,ð,þ,đ,č,š,ž,ñ,ł,ć}'),
    ('accents', characters('300-303 308 30a 315-316 31b 323 327-328 334 338 344-345 5b0 5bc 64b 651 670 f71-f74 f80-f81 94d 1dce 20d0 3099-309a 1d165 fe20') || '{a,e,A,か,ｶ,ה}'),
    ('controls', characters('1-1f 7f-80 9f ad 200b-200e 2060 feff 34f 61c 115f 180e 2066 fff9 fffc-ffff 1fffe-1ffff 10fffe-10ffff fdd0 e000 f8ff e0001 e0041 61-62 41-42')),
    ('digits', characters('30-39 660-669 966-96f ff10-ff19 bd b2 2460 2167 1d7cf 61-62 20 2d 2e 1 fffe') || ARRAY['00', '000', '10', '100', repeat('0', 50), repeat('9', 60), repeat('1', 254), repeat('0', 254)]),
    ('marks', characters('20-2f 3a-40 5b-60 7b-7e a0-bf d7 f7 2003 2018-201d 2028 20ac 3000 fffe 61 41 62 42 31 300') || '{"  ",--}'),
    ('hanzi', characters('4e00-4e20 4e59 5341-5345 6771 4eac f900-f910 fa0e-fa10 2f00-2f0a 20000-20010 2a6d0') || '{a,1}'),
    ('kana', characters('3041-3096 309d-309e 30a1-30fe ff66-ff9f') || '{か,が,"か゛",a}'),
    ('hangul', characters('ac00-ac40 d55c 1100-1112 1161-1175 11a8-11c2 3131-313f 4e00') || '{a}'),
    ('emoji', characters('1f600-1f605 1f44d 1f3fd 2764 263a fe0e-fe0f 200d 1f1e6-1f1ff 61') || '{👨‍👩‍👧,🏳️‍🌈,1️⃣}'),
    ('south', characters('e01-e3a e3f-e5b e81-e82 ec0-ec4 901-97f f40-f47 f49-f6c 61')),
    ('right to left', characters('621-65f 5d0-5ea fdfa fdf2 fefb 61')),
    ('greek', characters('386 388-38a 38c 38e-3a1 3a3-3ff 400-4ff 61-62')),
    ('compatible', characters('fb01 fb03 1c6 2163 338f 337f fdf7 ff71 ff9e 212b 1e69 1e9e 61 73 301 30a 307 323')),
    ('alike', characters('61 41 e1 c1 e0 301 ad 200b fffe 20 2d')),
    ('two', characters('61 301')),
    ('words', '{customer-,CUSTOMER-,東京都,Straße,Strasse,aaaaaaaaaaaaaaaa,aa," ",0,1,9,́,ü}'),
    -- every hundredth character there is, in planes that have them
    ('any', ARRAY(SELECT chr(c) FROM generate_series(0x80, 0x323AF, 101) c WHERE c NOT BETWEEN 0xD800 AND 0xDFFF));
INSERT INTO pieces SELECT 'all', array_agg(p) FROM pieces, unnest(of) p;
