-- lookup with as much memory for copies of inner pages as x says.
LOAD 'fpbtree';
SET fpbtree.inner_page_cache = :'x';
\ir lookup.sql
