-- A web application's tables, of :rows users, who have two sessions each. A fifth of them write 25 posts each, with two tags and
-- two comments on the average.
CREATE FUNCTION drawn(key bigint, what int, most int) RETURNS int LANGUAGE sql IMMUTABLE AS
    'SELECT 1 + ((hashint8extended(key, what) & 2147483647) % most)::int';
CREATE TABLE users (id bigint GENERATED ALWAYS AS IDENTITY, email text NOT NULL, name text NOT NULL, seen timestamptz NOT NULL);
CREATE TABLE sessions (token text, user_id bigint NOT NULL, expires timestamptz NOT NULL);
CREATE TABLE posts (id uuid, user_id bigint NOT NULL, title text NOT NULL, body text NOT NULL, comments int NOT NULL, created timestamptz NOT NULL);
CREATE TABLE comments (id bigint GENERATED ALWAYS AS IDENTITY, post_id uuid NOT NULL, user_id bigint NOT NULL, body text NOT NULL, created timestamptz NOT NULL);
CREATE TABLE tags (id bigint GENERATED ALWAYS AS IDENTITY, name text NOT NULL);
CREATE TABLE post_tags (post_id uuid, tag_id bigint);

INSERT INTO users (email, name, seen) SELECT 'user' || i || '@example.com', 'User ' || i, '2025-01-01' FROM generate_series(1, :rows) i;
INSERT INTO sessions SELECT md5('s' || i), 1 + i % :rows, '2026-01-01' FROM generate_series(1, 2 * :rows) i;
INSERT INTO posts SELECT md5('p' || i)::uuid, drawn(i, 1, :rows / 5), 'Title of ' || i, repeat('text of a post ', 15), coalesce(count, 0),
    timestamptz '2025-01-01' + i * interval '1 second'
FROM generate_series(1, 5 * :rows) i
    LEFT JOIN (SELECT drawn(i, 2, 5 * :rows) AS post, count(*) FROM generate_series(1, 10 * :rows) i GROUP BY 1) c ON post = i ORDER BY i;
INSERT INTO comments (post_id, user_id, body, created) SELECT md5('p' || drawn(i, 2, 5 * :rows))::uuid, drawn(i, 3, :rows), 'text of a comment ' || i,
    timestamptz '2025-06-01' + i * interval '1 second'
FROM generate_series(1, 10 * :rows) i;
INSERT INTO tags (name) SELECT 'tag' || i FROM generate_series(1, 1000) i;
INSERT INTO post_tags SELECT md5('p' || i)::uuid, tag + drawn(i, 4, 500) FROM generate_series(1, 5 * :rows) i, unnest(ARRAY[0, 500]) tag;

ALTER TABLE users ADD PRIMARY KEY (id), ADD UNIQUE (email);
ALTER TABLE sessions ADD PRIMARY KEY (token);
ALTER TABLE posts ADD PRIMARY KEY (id);
ALTER TABLE comments ADD PRIMARY KEY (id);
ALTER TABLE tags ADD PRIMARY KEY (id), ADD UNIQUE (name);
ALTER TABLE post_tags ADD PRIMARY KEY (post_id, tag_id);
CREATE INDEX ON sessions (user_id);
CREATE INDEX ON posts (user_id, created);
CREATE INDEX ON posts (created, id);
CREATE INDEX ON comments (post_id);
CREATE INDEX ON comments (user_id);
CREATE INDEX ON post_tags (tag_id);
-- 17 lets no foreign key refer to a key that has an fpbtree index
SELECT :SERVER_VERSION_NUM >= 180000 AS has_foreign_keys \gset
\if :has_foreign_keys
ALTER TABLE sessions ADD FOREIGN KEY (user_id) REFERENCES users;
ALTER TABLE posts ADD FOREIGN KEY (user_id) REFERENCES users;
ALTER TABLE comments ADD FOREIGN KEY (post_id) REFERENCES posts, ADD FOREIGN KEY (user_id) REFERENCES users;
ALTER TABLE post_tags ADD FOREIGN KEY (post_id) REFERENCES posts, ADD FOREIGN KEY (tag_id) REFERENCES tags;
\endif
