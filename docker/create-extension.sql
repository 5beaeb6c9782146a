-- For the database that the image makes when its container is first started.
CREATE EXTENSION fpbtree;
