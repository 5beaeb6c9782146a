"""Data and turns of the workloads that take more than a file of SQL.

A program is called with a Context and returns figures, of metric and value, and series, of a name and points.
"""
import glob
import math
import os
import re
import subprocess
import tempfile
import zlib
from dataclasses import dataclass

from harness.server import BENCH, Failure, call


@dataclass(frozen=True)
class Context:
    server: object
    am: str  # btree or fpbtree
    x: object
    pair: int
    is_last: bool  # of the pairs
    scale: float
    seconds: float  # how long a load goes on, or a fraction of it

    def rows(self, count):
        return max(1000, int(count * self.scale))


# ---- pgbench ----

PGBENCH_SCALE = 100  # ten million accounts

# Primary keys are btree's, as the server makes them; here each becomes a unique index of the other kind.
SWAP_KEYS = """
DO $$
DECLARE
    key record;
BEGIN
    FOR key IN SELECT c.conname, c.conrelid::regclass AS tab, string_agg(quote_ident(a.attname), ', ' ORDER BY k.n) AS columns
        FROM pg_constraint c, unnest(c.conkey) WITH ORDINALITY k(attnum, n), pg_attribute a
        WHERE c.contype = 'p' AND c.connamespace = 'public'::regnamespace
            AND a.attrelid = c.conrelid AND a.attnum = k.attnum
        GROUP BY c.conname, c.conrelid
    LOOP
        EXECUTE format('ALTER TABLE %s DROP CONSTRAINT %I', key.tab, key.conname);
        EXECUTE format('CREATE UNIQUE INDEX %I ON %s USING fpbtree (%s)', key.conname, key.tab, key.columns);
    END LOOP;
END $$
"""


def make_database(server, name):
    server.ask(f"DROP DATABASE IF EXISTS {name}")
    server.ask(f"CREATE DATABASE {name}")
    server.run_file("setup.sql", name)


def make_pgbench(server, scale):
    """Databases pgbench_btree and pgbench_fpbtree."""
    for am in ("btree", "fpbtree"):
        name = f"pgbench_{am}"
        make_database(server, name)
        call(server.tool("pgbench"), "-i", "-q", "-s", str(max(1, round(PGBENCH_SCALE * scale))), name,
             env=server.environment(name))
        if am == "fpbtree":
            server.ask(SWAP_KEYS, name)
        server.ask("VACUUM (FREEZE, ANALYZE); CHECKPOINT", name)


def pgbench(context, database, arguments, clients, setup="", protocol="prepared"):
    """Runs pgbench with options, a script, or scripts and their weights; returns transactions a second, and the end and
    the latency in microseconds of each."""
    server = context.server
    if setup:
        server.ask(setup, database)
    with tempfile.TemporaryDirectory() as folder:
        if not isinstance(arguments, list):
            scripts, arguments = {arguments: 1} if isinstance(arguments, str) else arguments, []
            for number, (script, weight) in enumerate(scripts.items()):
                with open(os.path.join(folder, f"script{number}"), "w", encoding="ascii") as file:
                    file.write(script)
                arguments += ["-f", f"script{number}@{weight}"]
        output = call(server.tool("pgbench"), "-n", "-M", protocol, "-c", str(clients),
                      "-j", str(min(clients, len(os.sched_getaffinity(0)))), "-T", str(max(1, round(context.seconds))),
                      "--random-seed", str(zlib.crc32(f"{context.x} {context.pair}".encode())), "--log", "--log-prefix", os.path.join(folder, "log"),
                      *arguments, database, env=server.environment(database), cwd=folder)
        times = []
        for name in glob.glob(os.path.join(folder, "log.*")):
            with open(name, encoding="ascii") as file:
                for line in file:
                    words = line.split()
                    times.append((int(words[4]) + int(words[5]) / 1e6, int(words[2])))
    rate = float(re.search(r"^tps = ([\d.]+)", output, re.M).group(1))
    if re.search(r"number of failed transactions: [1-9]", output):
        raise Failure("pgbench: transactions have failed")
    if not times:
        raise Failure("pgbench: no transaction has come to its end")
    return rate, sorted(times)


PERCENTS = (50, 75, 90, 95, 99, 99.5, 99.9, 99.95, 99.99, 100)


def distribution(times):
    """Series of percentiles and latencies in milliseconds."""
    sorted_times = sorted(latency for _, latency in times)
    return [[percent, sorted_times[math.ceil(len(sorted_times) * percent / 100) - 1] / 1000] for percent in PERCENTS]


def over_time(times, steps=30):
    """Series of seconds and transactions a second."""
    if not times or times[-1][0] <= times[0][0]:
        return []
    begin, step = times[0][0], (times[-1][0] - times[0][0]) / steps
    counts = [0] * steps
    for end, _ in times:
        counts[min(steps - 1, int((end - begin) / step))] += 1
    return [[round((i + 1) * step, 3), round(count / step, 1)] for i, count in enumerate(counts)]


def load(context, database, arguments, clients, setup=""):
    """Figures and series of a load by pgbench."""
    return summary(*pgbench(context, database, arguments, clients, setup))


def summary(rate, times):
    latencies = distribution(times)
    figures = [("tps", rate), ("median_latency_ms", latencies[0][1]), ("p99_latency_ms", latencies[4][1])]
    return figures, [("latency", latencies), ("rate", over_time(times))]


def pgbench_select(context):
    return load(context, f"pgbench_{context.am}", ["-S"], context.x)


def pgbench_tpcb(context):
    return load(context, f"pgbench_{context.am}", ["-b", "tpcb-like"], context.x, "VACUUM pgbench_branches, pgbench_tellers; CHECKPOINT")


def make_uuids(server, scale):
    """Tables with a uuid, unique, and some text: v4 and v7."""
    rows = max(1000, int(2000000 * scale))
    for am in ("btree", "fpbtree"):
        for version in ("v4", "v7"):
            server.ask(f"CREATE TABLE uuid_{version}_{am} (id uuid, t text);"
                       f"CREATE UNIQUE INDEX uuid_{version}_{am}_id ON uuid_{version}_{am} USING {am} (id);"
                       f"INSERT INTO uuid_{version}_{am} SELECT new_uuid_{version}(), 'some text' FROM generate_series(1, {rows})")
    server.ask("VACUUM (FREEZE, ANALYZE); CHECKPOINT")


def uuid_v4(context):
    return load(context, "postgres", f"INSERT INTO uuid_v4_{context.am} VALUES (new_uuid_v4(), 'some text')", context.x, "CHECKPOINT")


def uuid_v7(context):
    return load(context, "postgres", f"INSERT INTO uuid_v7_{context.am} VALUES (new_uuid_v7(), 'some text')", context.x, "CHECKPOINT")


def make_updates(server, scale):
    """Tables with a key that changes, so that no update is HOT, and one that does not."""
    rows = max(1000, int(500000 * scale))
    for am in ("btree", "fpbtree"):
        server.ask(f"CREATE TABLE updates_{am} (id int, kept int8, changed int8);"
                   f"INSERT INTO updates_{am} SELECT i, hashint8extended(i, 0), i FROM generate_series(1, {rows}) i;"
                   f"CREATE UNIQUE INDEX updates_{am}_id ON updates_{am} USING {am} (id);"
                   f"CREATE INDEX updates_{am}_kept ON updates_{am} USING {am} (kept);"
                   f"CREATE INDEX updates_{am}_changed ON updates_{am} USING {am} (changed)")
    server.ask("VACUUM (FREEZE, ANALYZE); CHECKPOINT")


def updates(context):
    rows, am = context.rows(500000), context.am
    return load(context, "postgres", f"\\set id random(1, {rows})\nUPDATE updates_{am} SET changed = changed + 1 WHERE id = :id;\n",
                context.x, "CHECKPOINT")


def growth(context):
    """Indexes of a table all of whose rows are updated time after time, with VACUUM now and then, and at no other time."""
    rows, am, server = context.rows(200000), context.am, context.server
    server.ask(f"DROP TABLE IF EXISTS growth_{am}; CREATE TABLE growth_{am} (id int, kept int8, changed int8) WITH (autovacuum_enabled = off);"
               f"INSERT INTO growth_{am} SELECT i, hashint8extended(i, 0), i FROM generate_series(1, {rows}) i;"
               f"CREATE INDEX growth_{am}_kept ON growth_{am} USING {am} (kept);"
               f"CREATE INDEX growth_{am}_changed ON growth_{am} USING {am} (changed); VACUUM ANALYZE growth_{am}")
    points = {"kept": [], "changed": []}
    for tenths in range(0, 31):
        if tenths > 0:
            server.ask(f"UPDATE growth_{am} SET changed = changed + 1 + hashint4(id + {tenths}) % {rows} WHERE id % 10 = {tenths % 10}")
        if tenths % 10 == 5:
            server.ask(f"VACUUM growth_{am}")
        for column, series in points.items():
            series.append([tenths / 10, int(server.ask(f"SELECT pg_relation_size('growth_{am}_{column}')"))])
    return ([(f"{column}_index_bytes", series[-1][1]) for column, series in points.items()],
            [(f"{column} index", series) for column, series in points.items()])


# ---- indexes larger than memory ----

def make_small(server, scale):
    """Indexes on random keys, built 70 percent full, as random insertions leave them: bigint and uuid."""
    rows = max(1000, int(10000000 * scale))
    for am in ("btree", "fpbtree"):
        server.ask(f"CREATE TABLE small_{am} (a int8); CREATE TABLE small_uuid_{am} (a uuid);"
                   f"INSERT INTO small_{am} SELECT hashint8extended(i, 0) FROM generate_series(1, {rows}) i;"
                   f"INSERT INTO small_uuid_{am} SELECT md5(i::text)::uuid FROM generate_series(1, {rows} / 2) i;"
                   f"CREATE INDEX small_{am}_a ON small_{am} USING {am} (a) WITH (fillfactor = 70);"
                   f"CREATE INDEX small_uuid_{am}_a ON small_uuid_{am} USING {am} (a) WITH (fillfactor = 70);"
                   f"VACUUM (FREEZE, ANALYZE) small_{am}, small_uuid_{am}; CHECKPOINT")


def make_small_unique(server, scale):
    """Unique indexes on random uuids, built likewise; fpbtree's with an operation queue."""
    rows = max(1000, int(5000000 * scale))
    for am, queue in (("btree", ""), ("fpbtree", ", operation_queue = on")):
        server.ask(f"CREATE TABLE small_unique_{am} (a uuid);"
                   f"INSERT INTO small_unique_{am} SELECT md5(i::text)::uuid FROM generate_series(1, {rows}) i;"
                   f"CREATE UNIQUE INDEX small_unique_{am}_a ON small_unique_{am} USING {am} (a) WITH (fillfactor = 70{queue});"
                   f"VACUUM (FREEZE, ANALYZE) small_unique_{am}; CHECKPOINT")


def insert_some(context, table, expression, btree_rows, fpbtree_rows, steps=20, checkpoint_each=20):
    """Inserts in steps, empties the queue in the end; the time and the WAL of an insertion in all, and the times of those of each step."""
    server, am = context.server, context.am
    each = context.rows(btree_rows if am == "btree" else fpbtree_rows) // steps
    lines = ["CHECKPOINT;", "SELECT pg_current_wal_insert_lsn() AS l0 \\gset"]
    for step in range(steps):
        seed = context.pair * 1000 + step
        if step > 0 and step % checkpoint_each == 0:
            lines.append("CHECKPOINT;")
        lines += ["SELECT clock_timestamp() AS t0 \\gset",
                  f"INSERT INTO {table}_{am} SELECT {expression.format(seed=seed)} FROM generate_series(1, {each}) i;",
                  "SELECT extract(epoch FROM clock_timestamp() - :'t0');"]
    if am == "fpbtree":
        lines += ["SELECT clock_timestamp() AS t0 \\gset",
                  f"SELECT fpbtree_flush('{table}_{am}_a') AS flushed \\gset",
                  "SELECT extract(epoch FROM clock_timestamp() - :'t0');"]
    lines.append("SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), :'l0');")
    *seconds, wal = [float(line) for line in server.ask("\n".join(lines)).splitlines()]
    points, ends = [], 0.0
    for step in seconds[:steps]:
        ends += step
        points.append([round(ends, 3), round(each / step, 1)])
    return [("insertion_us", sum(seconds) * 1e6 / (each * steps)), ("insertion_wal", wal / (each * steps))], [("rate", points)]


def insert_cold(context):
    return insert_some(context, "small", "hashint8extended(i, {seed})", 60000, 1000000)


def uuid_cold(context):
    return insert_some(context, "small_uuid", "md5(i || ' {seed}')::uuid", 60000, 1000000)


def unique_cold(context):
    return insert_some(context, "small_unique", "md5(i || ' {seed}')::uuid", 200000, 200000, checkpoint_each=4)


def bulk_cold(context):
    """One statement, which inserts fewer rows with btree because these take longer."""
    count = context.rows(30000 if context.am == "btree" else 1000000)
    statement = (f"INSERT INTO small_{context.am} SELECT hashint8extended(i, {700 + context.pair}) FROM generate_series(1, {count}) i;\n")
    settings = "SET fpbtree.insert_batch_size = '4MB'; SET fpbtree.default_operation_queue = off;\n"
    return [("insertion_us", timed(context.server, settings + statement, count))], []


# ---- the operation queue ----

def fill(server, table, seed, rows, settings=""):
    server.ask(f"{settings} INSERT INTO {table} SELECT hashint8extended(i, {seed}) FROM generate_series(1, {rows}) i")


def timed(server, statements, count):
    """Microseconds of each of so many operations, which statements do."""
    output = server.ask(f"CHECKPOINT; SELECT clock_timestamp() AS t0 \\gset\n{statements}"
                        f"SELECT extract(epoch FROM clock_timestamp() - :'t0') * 1e6 / {count};")
    return float(output.splitlines()[-1])


def queue_mixed(context):
    """An insertion and a lookup, many times; the queue is emptied in the end."""
    am, count = context.am, context.rows(30000 if context.am == "btree" else 300000)
    statements = f"""DO $$
BEGIN
    FOR i IN 1 .. {count} LOOP
        INSERT INTO small_{am} VALUES (hashint8extended(i, {500 + context.pair}));
        PERFORM count(*) FROM small_{am} WHERE a = hashint8extended(1 + (i * 7919::int8 + {context.pair} * 104729) % {context.rows(10000000)}, 0);
    END LOOP;
END $$;
"""
    if am == "fpbtree":
        statements += f"SELECT fpbtree_flush('small_{am}_a') AS flushed \\gset\n"
    return [("both_us", timed(context.server, statements, count))], []


def queue_latency(context):
    """Insertions by two clients, at a rate or as many as can be, the queue full from the beginning."""
    if context.am == "fpbtree":
        fill(context.server, "small_fpbtree", 600 + context.pair, context.rows(400000))
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "insert")
        with open(path, "w", encoding="ascii") as file:
            file.write(f"\\set k random(1, 1000000000000)\nINSERT INTO small_{context.am} VALUES (hashint8extended(:k, 7));\n")
        _, times = pgbench(context, "postgres", ["-f", path, *([f"--rate={context.x}"] if context.x else [])], 2, "CHECKPOINT")
    if context.am == "fpbtree":
        # or else a worker would do it, in a turn of btree's
        context.server.ask("SELECT fpbtree_flush('small_fpbtree_a')")
    latencies = dict(distribution(times))
    return [("p99.9_latency_ms", latencies[99.9]), ("longest_ms", latencies[100])], [("latency", distribution(times))]


def make_queued(server, scale, name):
    """Tables for lookups: with btree, fpbtree without a queue, and with one that is half full of recent entries."""
    rows = max(1000, int(10000000 * scale))
    for table, am in (("btree", "btree"), ("fpbtree", "fpbtree"), ("queued", "fpbtree")):
        server.ask(f"CREATE TABLE {name}_{table} (a int8)")
        fill(server, f"{name}_{table}", 0, rows)
        server.ask(f"CREATE INDEX {name}_{table}_a ON {name}_{table} USING {am} (a) WITH (fillfactor = 70); VACUUM (FREEZE, ANALYZE) {name}_{table}")
    half = server.ask(f"SELECT queue_limit * entries / leaf_pages / 2 FROM fpbtree_stats('{name}_queued_a')")
    for table, queue in (("btree", "off"), ("fpbtree", "off"), ("queued", "on")):
        fill(server, f"{name}_{table}", 99, half, f"SET fpbtree.default_operation_queue = {queue}; SET fpbtree.queue_worker = off;")
        # index cleanup would not move entries, but others' insertions might have a worker started
        server.ask(f"VACUUM (FREEZE, ANALYZE, INDEX_CLEANUP off) {name}_{table}")
    server.ask(f"CREATE TABLE {name}_probes AS SELECT hashint8extended(i, 0) AS a FROM generate_series(1, {rows}, 10) i ORDER BY random();"
               f"VACUUM ANALYZE {name}_probes; CHECKPOINT")


def queued_lookups(name, count):
    """A program: lookups in an index with a half-full queue, or one without; btree has none in either case."""
    def program(context):
        table = f"{name}_queued" if (context.am, context.x) == ("fpbtree", "half full") else f"{name}_{context.am}"
        number = context.rows(count)
        return [("lookup_us", timed(context.server, "SET enable_hashjoin = off; SET enable_mergejoin = off; SET enable_seqscan = off;"
                                    "SET enable_bitmapscan = off; SET enable_memoize = off;"
                                    f"SELECT count(*) AS n FROM (SELECT * FROM {name}_probes LIMIT {number}) p"
                                    f" CROSS JOIN LATERAL (SELECT 1 FROM {table} t WHERE t.a = p.a OFFSET 0) x \\gset\n", number))], []
    return program


def queue_insert(context):
    """Insertions into an empty table, all cached, by way of the queue or not; it is emptied in the end."""
    queue = f" WITH (operation_queue = {context.x})" if context.am == "fpbtree" else ""
    count = context.rows(2000000)
    context.server.ask(f"DROP TABLE IF EXISTS empty; CREATE TABLE empty (a int8); CREATE INDEX empty_a ON empty USING {context.am} (a){queue}")
    statements = f"INSERT INTO empty SELECT hashint8extended(i, 1) FROM generate_series(1, {count}) i;\n"
    if context.am == "fpbtree":
        statements += "SELECT fpbtree_flush('empty_a') AS flushed \\gset\n"
    return [("insertion_us", timed(context.server, statements, count))], []


def make_logged(server, scale):
    """Indexes larger than those of "small", whose leaves are as full as random insertions leave them."""
    rows = max(1000, int(20000000 * scale))
    for am in ("btree", "fpbtree"):
        server.ask(f"CREATE TABLE logged_{am} (a int8)")
        fill(server, f"logged_{am}", 0, rows)
        server.ask(f"CREATE INDEX logged_{am}_a ON logged_{am} USING {am} (a) WITH (fillfactor = 70)")
        for seed in range(1, 13):
            fill(server, f"logged_{am}", seed, max(1000, int(500000 * scale)), "SET fpbtree.default_operation_queue = off;")


def queue_wal(percent, inserts, checkpoints):
    """A program: WAL of insertions with so many checkpoints, and a queue of so many percent of the leaves, full all the time."""
    def program(context):
        server, am, count = context.server, context.am, context.rows(inserts)
        if am == "fpbtree":
            size = server.ask(f"SELECT leaf_pages * {percent} / 100 * (current_setting('block_size')::int / 1024) FROM fpbtree_stats('logged_fpbtree_a')")
            server.ask(f"ALTER INDEX logged_fpbtree_a SET (operation_queue = on, opq_size = {size})")
            fill(server, "logged_fpbtree", 10000 * percent + 9000 + context.pair, context.rows(20000000) * percent // 100)
        lines = ["SELECT pg_current_wal_insert_lsn() AS l0 \\gset"]
        for number in range(checkpoints):
            lines.append(f"CHECKPOINT; INSERT INTO logged_{am} SELECT hashint8extended(i, {10000 * percent + 100 * context.pair + number}) FROM generate_series(1, {count}) i;")
        lines.append(f"SELECT (pg_current_wal_insert_lsn() - :'l0') / {count * checkpoints}::numeric;")
        return [("insertion_wal", float(server.ask("\n".join(lines))))], []
    return program


# ---- by size ----

def by_size(context):
    """CREATE INDEX, lookups and insertions with so many keys, of which each turn makes the index anew."""
    rows, server = context.x, context.server
    if server.ask("SELECT obj_description(to_regclass('sized'))") != str(rows):
        server.ask("DROP TABLE IF EXISTS sized, sized_probes;"
                   f"CREATE TABLE sized AS SELECT hashint8extended(i, 0) AS a FROM generate_series(1, {rows}) i;"
                   "CREATE TABLE sized_probes AS SELECT hashint8extended(1 + i * 7919 % {0}, 0) AS a"
                   " FROM generate_series(1, greatest(100000, least(1000000, {0}))::int8) i;".format(rows) +
                   f"VACUUM (FREEZE, ANALYZE) sized, sized_probes; COMMENT ON TABLE sized IS '{rows}'")
    return server.run_file("by-size.sql", am=context.am, pair=context.pair, rows=rows, inserts=max(1000, min(1000000, rows // 10))), []


# ---- cold ranges ----

def cold_range(context, entries, distance, columns):
    return float(context.server.run_file("curve-cold.sql", am=context.am, pair=context.pair, scale=context.scale,
                                         entries=entries, distance=distance, columns=columns)[0][1])


def range_size(context):
    """An index-only scan; the cold server is good for one range only."""
    return [("time_ms", cold_range(context, context.x, -1, "count(*)"))], []


def distance(context):
    """8,000 rows; btree knows no distance."""
    return [("time_ms", cold_range(context, 8000, context.x, "sum(i)"))], []


# ---- many of them ----

PARTITIONS = 200


def make_partitions(server, scale):
    """A table of 200 partitions with two indexes each, of either access method."""
    rows = max(1000, int(2000000 * scale))
    for am in ("btree", "fpbtree"):
        server.ask(f"CREATE TABLE parts_{am} (id int8, k int8) PARTITION BY HASH (id);"
                   f"SELECT format('CREATE TABLE parts_{am}_%s PARTITION OF parts_{am} FOR VALUES WITH (MODULUS {PARTITIONS}, REMAINDER %s)', i, i)"
                   f" FROM generate_series(0, {PARTITIONS - 1}) i \\gexec\n"
                   f"INSERT INTO parts_{am} SELECT i, hashint8extended(i, 0) FROM generate_series(1, {rows}) i;"
                   f"CREATE INDEX ON parts_{am} USING {am} (id); CREATE INDEX ON parts_{am} USING {am} (k);"
                   f"VACUUM (FREEZE, ANALYZE) parts_{am}")
    server.ask("CHECKPOINT")


def partitions(context):
    """Lookups by the partition key, by another column (in all partitions), and insertions."""
    am = context.am
    return load(context, "postgres",
                f"\\set id random(1, {context.rows(2000000)})\n\\set new random(1, 1000000000000)\n"
                f"SELECT k FROM parts_{am} WHERE id = :id;\n"
                f"SELECT id FROM parts_{am} WHERE k = hashint8extended(:id, 0);\n"
                f"INSERT INTO parts_{am} VALUES (:new, hashint8extended(:new, 0));\n",
                2, f"VACUUM parts_{am}; CHECKPOINT")


def connections(context):
    """What a backend's own memory comes to: each of so many has looked up rows in all partitions, and inserted some."""
    server, am = context.server, context.am
    statements = (f"SELECT count(*) FROM parts_{am} WHERE k = ANY(ARRAY[1, 2, 3]);"
                  f"INSERT INTO parts_{am} SELECT -i, i FROM generate_series(1, 1000) i;"
                  "SELECT pg_backend_pid() AS pid, sum(used_bytes) AS used, sum(total_bytes) AS total FROM pg_backend_memory_contexts;\n")
    sessions = []
    try:
        for _ in range(context.x):
            session = subprocess.Popen([server.tool("psql"), "-X", "-q", "-A", "-t", "-F", " ", "-v", "ON_ERROR_STOP=1", "-f", "-"],
                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=server.environment())
            session.stdin.write(statements)
            session.stdin.flush()
            sessions.append(session)
        private, total = [], []
        for session in sessions:
            session.stdout.readline()
            pid, _, allocated = session.stdout.readline().split()
            total.append(int(allocated))
            with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
                private.append(1024 * sum(int(kilobytes) for kilobytes in re.findall(r"^Private_\w+:\s+(\d+)", file.read(), re.M)))
    finally:
        for session in sessions:
            session.stdin.close()
            session.wait()
    return [("private_bytes", sum(private) / len(private)), ("contexts_bytes", sum(total) / len(total))], []


# ---- TPC-C ----

def tpcc(context):
    """bench/fpbench tpcc does it all; its databases are made in the first pair, and left for the next."""
    shrink = 1 if context.scale >= 0.1 else 20
    done = subprocess.run([os.path.join(BENCH, "tpcc", "run"), "--am", context.am, "--warehouses", str(max(1, round(context.x * context.scale))),
                           "--shrink", str(shrink), "--clients", "2", "--warmup", str(max(1, round(context.seconds / 2))),
                           "--duration", str(max(2, round(context.seconds * 4))), "--seed", str(context.pair),
                           *(["--keep-data"] if context.pair > 1 else [])],
                          env=context.server.environment(), stdout=subprocess.PIPE, text=True, check=False)
    figures = [tuple(line.split()) for line in done.stdout.splitlines() if len(line.split()) == 2]
    if done.returncode != 0:
        raise Failure("bench/fpbench tpcc failed")
    return figures, []
