"""The list of all workloads: what users ask of an index."""
import functools
from dataclasses import dataclass, field
from typing import Callable, Optional

from harness import mixes, programs


@dataclass(frozen=True)
class Workload:
    """A workload without a program is sql/NAME.sql, which prints lines of a metric and its value.

    Metrics end in their unit.  Of times (_ms, _us, _ns) it is said how many times as fast fpbtree is, and so of rates
    (tps, tpmc); of sizes (_bytes, _wal, _pages) which part of btree's.  "answer" has to be the same for both;
    pages_read serves to tell what part of the device's rate was reached.
    """
    name: str
    what: str
    server: str  # its kind, of server.KINDS
    seconds: tuple  # roughly: to make the data, and a turn, with --scale 1
    data: tuple = ()  # what has to be made before: sql/NAME-setup.sql, or a function
    program: Optional[Callable] = None
    xs: tuple = (None,)  # a parameter: each of its values is measured
    x_is: str = ""
    goals: dict = field(default_factory=dict)  # of metrics: at least so many times as fast, at most such a part
    pairs: Optional[int] = None  # where more say nothing more
    warm_up: bool = False  # whether a pair that does not count comes first
    default: bool = True  # whether it is one of "all"


ROWS = "rows"
COLD = "cold"
SIMPLE, PREPARED = (tuple(f"{clients}, {protocol}" for clients in ("1 client", "2 clients")) for protocol in ("simple", "prepared"))  # of mixes

WORKLOADS = (
    Workload("lookup", "1M keys looked up by a nested-loop index-only join, of 10M; all cached", "warm", (90, 2), (ROWS, "lookup"),
             goals={"time_ms": 2.2}, warm_up=True),
    Workload("scan-warm", "index-only count of half of 10M keys; all cached", "warm", (0, 1), (ROWS,), goals={"time_ms": 1.15}, warm_up=True),
    Workload("heap-warm", "index scan of rows in random order; all cached", "warm", (0, 1), (ROWS,), goals={"time_ms": 1}, warm_up=True),
    Workload("build", "CREATE INDEX on the 10M rows, without a worker and with one", "warm", (0, 20), (ROWS,), goals={"no_worker_ms": 3}),
    Workload("size", "pages after CREATE INDEX on 2M rows", "warm", (20, 15), ("size",), pairs=1,
             goals={"int8_random_pages": 0.75, "int4_sequential_pages": 0.55, "int4_int4_pages": 0.75, "uuid_pages": 0.80,
                    "text_C_pages": 1, "text_ICU_pages": 1, "thousand_duplicates_pages": 1}),
    Workload("insert-warm", "2M random inserts into an empty table with one index", "warm", (0, 12), goals={"time_ms": 1.5}),
    Workload("bulk-warm", "400k random rows by one statement, into an index of 2M entries", "warm", (0, 6), goals={"index_alone_ms": 3}),
    Workload("insert-wal", "200k random inserts into an index of 2M entries, just after a checkpoint", "warm", (20, 3), ("insert-wal",),
             goals={"whole_wal": 1}),
    Workload("vacuum", "VACUUM after a tenth of 5M rows, at random, has been deleted", "warm", (30, 5), ("vacuum",), goals={"time_ms": 1}),
    Workload("scale", "CREATE INDEX, lookups and insertions with 10^4 to 10^8 keys", "warm", (150, 40), program=programs.by_size,
             xs=(10000, 100000, 1000000, 10000000, 100000000), x_is="keys", pairs=3),
    Workload("small-page-cache", "lookup with fpbtree.inner_page_cache smaller than the inner pages", "warm", (0, 2), (ROWS, "lookup"),
             xs=("0", "64kB", "256kB", "8MB"), x_is="inner_page_cache", goals={"time_ms": 1}, warm_up=True),

    Workload("scan-cold", "whole index-only scan of an index grown by 5M random inserts", "cold", (70, 4), (COLD,), goals={"time_ms": 3}),
    Workload("heap-cold", "index scan of 8,000 rows in random order", "cold", (0, 3), (COLD,), goals={"time_ms": 5}),
    Workload("bitmap-cold", "8,000 rows in random order: fpbtree's index scan, btree's bitmap scan", "cold", (0, 3), (COLD,), goals={"time_ms": 1}),
    Workload("any-cold", "WHERE a = ANY(1,000 keys)", "cold", (0, 3), (COLD,), goals={"time_ms": 4}),
    Workload("ten-cold", "200 ranges of ten rows", "cold", (0, 3), (COLD,), goals={"time_ms": 1}),
    Workload("vacuum-cold", "VACUUM of an index grown by random inserts, few rows of which are dead", "cold", (0, 4), (COLD,), goals={"time_ms": 2}),

    Workload("insert-cold", "random inserts into an index eight times as large as the buffers, the queue emptied", "small", (100, 10),
             ("small",), programs.insert_cold, goals={"insertion_us": 6}),
    Workload("bulk-cold", "random rows by one statement, the same index, without an operation queue", "small", (0, 8), ("small",), programs.bulk_cold,
             goals={"insertion_us": 10}),
    Workload("uuid-cold", "random uuids into an index larger than the buffers, the queue emptied", "small", (0, 10), ("small",), programs.uuid_cold, goals={"insertion_us": 3}),
    Workload("unique-cold", "the same of a unique key, whose leaf is read in any case; a checkpoint each 40k", "small", (60, 60), ("small-unique",), programs.unique_cold,
             goals={"insertion_wal": 0.33}),

    Workload("queue-mixed", "a random insertion and a lookup, in turn, the same index", "small", (0, 20), ("small",), programs.queue_mixed,
             goals={"both_us": 2.2}),
    Workload("queue-latency", "insertions by two clients, the queue full; so many a second, or as many as can be (0)", "small", (0, 18),
             ("small",), programs.queue_latency, (2000, 0), "insertions/s"),
    Workload("queue-lookup-cold", "20k lookups, the queue half full, or none; few buffers", "small", (100, 3), ("queued-cold",),
             programs.queued_lookups("queued_cold", 20000), ("none", "half full"), "queue"),
    Workload("queue-lookup-warm", "1M lookups, the queue half full, or none; all cached", "warm", (100, 3), ("queued-warm",),
             programs.queued_lookups("queued_warm", 1000000), ("none", "half full"), "queue", {"lookup_us": 1.8}),
    Workload("queue-insert-warm", "2M insertions into an empty table, all cached", "warm", (0, 8), (), programs.queue_insert,
             ("off", "auto", "on"), "queue"),
    Workload("queue-wal-10", "WAL an insertion, the queue 10% of the leaves, a checkpoint each 500k", "logged", (200, 10), ("logged",),
             programs.queue_wal(10, 500000, 1), goals={"insertion_wal": 0.33}),
    Workload("queue-wal-6", "WAL an insertion, the queue 6% of the leaves, a checkpoint each 500k", "logged", (0, 10), ("logged",),
             programs.queue_wal(6, 500000, 1), goals={"insertion_wal": 0.4}),
    Workload("queue-wal-sparse", "WAL an insertion, the queue 4% of the leaves, a checkpoint each 50k", "logged", (0, 15), ("logged",),
             programs.queue_wal(4, 50000, 10), goals={"insertion_wal": 0.2}),

    Workload("pgbench-select", "pgbench -S, 10M accounts", "oltp", (60, 15), ("pgbench",), programs.pgbench_select, (1, 2, 8), "clients",
             {"tps": 1.1}),
    Workload("pgbench-tpcb", "pgbench, TPC-B-like", "oltp", (0, 15), ("pgbench",), programs.pgbench_tpcb, (1, 2, 8), "clients", {"tps": 1}),
    Workload("uuid-v4", "inserts keyed by random uuids, unique", "oltp", (60, 15), ("uuids",), programs.uuid_v4, (1, 2, 8), "clients", {"tps": 1}),
    Workload("uuid-v7", "inserts keyed by uuids that go up, unique", "oltp", (0, 15), ("uuids",), programs.uuid_v7, (1, 2, 8), "clients", {"tps": 1}),
    Workload("updates", "updates, none of them HOT, of a table with a key that does not change", "oltp", (10, 15), ("updates",),
             programs.updates, (1, 2, 8), "clients", {"tps": 1}),
    Workload("growth", "indexes of a table all of whose rows are updated three times, with a VACUUM each", "oltp", (0, 15), (),
             programs.growth, pairs=1, goals={"kept_index_bytes": 1, "changed_index_bytes": 1}),

    Workload("partitions", "lookups and inserts in a table of 200 partitions", "oltp", (30, 15), ("partitions",), programs.partitions,
             goals={"tps": 1}),
    Workload("connections", "memory of a backend that has used all 400 indexes of them", "oltp", (0, 20), ("partitions",),
             programs.connections, (100,), "connections", {"private_bytes": 1}, pairs=1),

    Workload("tpcc", "TPC-C mix, all cached", "oltp", (200, 75), (), programs.tpcc, (10,), "warehouses", {"tpmc": 1.1}),
    Workload("tpcc-cold", "TPC-C mix, larger than the buffers, past the kernel's cache", "oltp-small", (200, 75), (), programs.tpcc, (10,),
             "warehouses", {"tpmc": 1.3}),

    *(Workload(f"sysbench-{name}", f"{what}; four tables of 250,000 rows", "oltp", (30, 18), ("sysbench",), mixes.sysbench(name),
               (*(SIMPLE if name == "point-select" else ()), *PREPARED), "load", {"tps": 1})
      for name, what in (("point-select", "a row by its key, as sysbench's oltp_point_select"),
                         ("read-only", "ten rows by their keys and four ranges of 100, as sysbench's oltp_read_only"),
                         ("read-write", "the same, two updates, a deletion and an insertion, as sysbench's oltp_read_write"),
                         ("update", "update of an indexed column, as sysbench's oltp_update_index"),
                         ("insert", "insertions with ascending keys, and an index on another column, as sysbench's oltp_insert"))),
    Workload("orm", "what an object-relational mapper sends for a web application, six tables with foreign keys", "oltp", (60, 20), ("orm",), mixes.orm,
             (*SIMPLE, *PREPARED), "load", {"tps": 1}),

    Workload("range-size", "cold ranges by their size", "cold", (0, 3), (COLD,), programs.range_size,
             (10, 100, 1000, 10000, 100000, 1000000, 5000000), "entries", pairs=3),
    Workload("distance", "cold ranges by the prefetch distance", "cold", (0, 4), (COLD,), programs.distance,
             (0, 2, 4, 8, 16, 32, 64, 128), "pages", pairs=3),
)

BY_NAME = {workload.name: workload for workload in WORKLOADS}
DATA = {
    "small": programs.make_small,
    "small-unique": programs.make_small_unique,
    "queued-cold": functools.partial(programs.make_queued, name="queued_cold"),
    "queued-warm": functools.partial(programs.make_queued, name="queued_warm"),
    "logged": programs.make_logged,
    "pgbench": programs.make_pgbench,
    "uuids": programs.make_uuids,
    "updates": programs.make_updates,
    "partitions": programs.make_partitions,
    "sysbench": mixes.make_sysbench,
    "orm": mixes.make_orm,
}
