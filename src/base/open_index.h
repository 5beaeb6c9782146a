/*-------------------------------------------------------------------------
 *
 * base/open_index.h
 *	  Opening the index that an SQL function is called for
 *	  (base/open_index.c).
 *
 *-------------------------------------------------------------------------
 */
#ifndef FPB_BASE_OPEN_INDEX_H
#define FPB_BASE_OPEN_INDEX_H

#include "storage/lockdefs.h"
#include "utils/relcache.h"

/* Is an index, which is open, an fpbtree index? */
extern bool fpb_is_fpbtree(Relation index);

/* Open and lock an fpbtree index.  Raises an error if it is something else. */
extern Relation fpb_open_index(Oid relid, LOCKMODE lockmode);

/* The same for an index and its table, which is locked first. */
extern Relation fpb_open_index_and_table(Oid relid, LOCKMODE lockmode,
										 Relation *table);

/* Has an index pages to be looked at? */
extern bool fpb_has_pages(Relation index);

/* Raise an error if an index has no pages to be looked at. */
extern void fpb_require_pages(Relation rel);

/* May the current user see the keys of an index? */
extern bool fpb_may_read_keys(Relation index);

#endif							/* FPB_BASE_OPEN_INDEX_H */
