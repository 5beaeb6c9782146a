"""Measures cells, both access methods in turn, in pairs; keeps the results."""
import json
import os
import re
import statistics
import time
import zlib

import work
from client import Client, ServerError
from grid import WORK
from harness.server import log
from work import Place

METHODS = ("btree", "fpbtree")
SETTINGS = "-c synchronize_seqscans=off -c client_min_messages=warning"
# Others disturb a turn, and never speed it up, so the least time counts.  There are as many pairs as it takes until the two
# least times of each are within AGREE of each other, in these bounds; by whether the work changes the index.  Reads have short
# turns, because a short one is more likely to pass undisturbed.
PAIRS = {False: (5, 40), True: (3, 8)}
AGREE = 1.015
LIMIT = 1.05
# Tables are filled as by single insertions, which is how most grow.
ONE_BY_ONE, TOGETHER = (f"SELECT set_config(name, {value}, false) FROM pg_settings WHERE name = 'fpbtree.insert_batch_size'"
                        for value in ("'0'", "reset_val"))
# Statements that EXPLAIN takes.
EXPLAINED = re.compile(r"(SELECT|INSERT|WITH)\b")
RESOURCE_MANAGERS = {"btree": ("Btree", "XLOG"), "fpbtree": ("Generic", "XLOG")}
FORMAT = 1


class Different(Exception):
    """The two access methods have answered differently, or an index and its table."""


class Results:
    """A JSON file: how it was measured, and all cells by their names."""

    def __init__(self, path, plan):
        self.path = path
        self.all = {"format": FORMAT, "plan": plan, "sessions": [], "cells": {}}

    @classmethod
    def load(cls, path):
        results = cls(path, None)
        with open(path, encoding="utf-8") as file:
            results.all = json.load(file)
        if results.all.get("format") != FORMAT:
            raise ValueError(f"{path} has format {results.all.get('format')}, not {FORMAT}")
        return results

    def save(self):
        """One line for each cell, so that differences can be read."""
        cells = ",\n".join(f"  {json.dumps(name)}: {json.dumps(cell)}" for name, cell in sorted(self.all["cells"].items()))
        head = json.dumps({name: value for name, value in self.all.items() if name != "cells"})
        os.makedirs(os.path.dirname(self.path), exist_ok=True)
        with open(self.path + ".new", "w", encoding="utf-8") as file:
            file.write(f'{head[:-1]},\n "cells": {{\n{cells}\n }}}}\n')
        os.replace(self.path + ".new", self.path)


def different(cell):
    """What is wrong with a cell's answers, if anything."""
    answers = cell.get("answers", {})
    if len({json.dumps(answer) for answer in answers.values()}) > 1:
        return "different answers: " + ", ".join(f"{am}: {answer}" for am, answer in answers.items())
    return ""


class Session:
    """A backend of its own for each access method, and one for all else."""

    def __init__(self, server, counter=None):
        self.clients = {am: self._connect(server, SETTINGS) for am in METHODS}
        self.clients["fpbtree"].rows("LOAD 'fpbtree'")  # so that its settings are there
        self.control = self._connect(server, "-c client_min_messages=warning")
        self.counter = counter

    @staticmethod
    def _connect(server, settings):
        address = server.address
        return Client(address["PGHOST"], address["PGPORT"], address["PGUSER"], "postgres", settings)

    def close(self):
        for client in (*self.clients.values(), self.control):
            client.close()


def processor_time(pid):
    """Nanoseconds on a processor so far."""
    with open(f"/proc/{pid}/schedstat", encoding="ascii") as file:
        return int(file.read().split()[0])


class Instructions:
    """Counts those of a backend of a server that runs under callgrind (instructions.c)."""

    def __init__(self, folder, keep):
        self.folder = folder  # callgrind's files
        self.keep = keep

    def count(self, client, what):
        """What `what` returns, and how many instructions the backend has taken, those that begin and end the count as well."""
        client.rows("SELECT map_count_on()")
        answer = what()
        before = set(os.listdir(self.folder))
        client.rows("SELECT map_count_off()")
        name, = (name for name in set(os.listdir(self.folder)) - before if name.startswith(f"{client.pid}."))
        with open(os.path.join(self.folder, name), encoding="ascii") as file:
            total = next(int(line.split()[1]) for line in file if line.startswith("totals:"))
        if not self.keep:
            os.unlink(os.path.join(self.folder, name))
        return total, answer


class Map:
    """Measures cells, those of one fixture after another."""

    def __init__(self, server, results, options, counter=None):
        self.server = server
        self.results = results
        self.options = options  # of bench/fpbench map
        self.counter = counter  # of instructions, in place of processor time
        self.images = False  # full_page_writes, as this program has set it
        self.fixture = None
        self.table_made = False

    def all(self, cells):
        cells = sorted(cells, key=lambda cell: (cell.work == "images", float(cell.size), cell.fixture, list(WORK).index(cell.work)))
        began = time.time()
        for number, cell in enumerate(cells):
            session = Session(self.server, self.counter)
            start = time.time()
            try:
                measured = self.one(session, cell)
            except (ServerError, Different) as error:
                measured = {"failed": str(error), "wrong": isinstance(error, Different)}
            finally:
                session.close()
            measured.update(weight=cell.weight, session=len(self.results.all["sessions"]) - 1, seconds=round(time.time() - start, 1))
            known = self.results.all["cells"].get(cell.name, {}).get("figures", {})
            if self.options.exact:
                measured["figures"] = {**known, **measured.get("figures", {})}
            elif self.counter:
                # the others are of fewer operations
                measured["figures"] = {**measured.get("figures", {}), **{kind: known[kind] for kind in known if kind != "instructions"}}
            self.results.all["cells"][cell.name] = measured
            self.results.save()
            left = (time.time() - began) / (number + 1) * (len(cells) - number - 1)
            log(f"{number + 1}/{len(cells)} {describe(cell.name, measured)}; {int(left) // 60} min left")

    # ---- data ----

    def make(self, session, cell):
        """The source of keys, and the tables for reads, unless they are there from the cell before."""
        place = Place(cell.type, cell.duplicates, cell.growth, int(float(cell.size)))
        if self.fixture != cell.fixture:
            self.fixture = None
            self.set_images(session, False)
            tables = session.control.rows("SELECT relname FROM pg_class WHERE relname ~ '_(btree|fpbtree)$' AND relkind = 'r'")
            if tables:
                session.control.rows(f"DROP TABLE {', '.join(table for table, in tables)} CASCADE")
            for statement in place.make_source():
                session.clients["btree"].rows(statement)
            step = max(1, place.rows // 30000)
            session.control.rows("DROP TABLE IF EXISTS probes")
            session.clients["btree"].rows(
                f"CREATE TABLE probes AS SELECT {place.keys}, v FROM src, generate_series(1, {30000 * step // place.rows + 1}) g"
                f" WHERE i <= {place.rows} AND i % {step} = 0 ORDER BY hashint8extended(v, g) LIMIT 30000")
            session.control.rows("VACUUM ANALYZE probes")
            self.fixture, self.table_made = cell.fixture, False
        if not self.table_made and work.of(cell).table == "t":
            for am in METHODS:
                for statement in [ONE_BY_ONE, *place.make("t"), "VACUUM (FREEZE, ANALYZE) t_{am}", TOGETHER]:
                    session.clients[am].rows(statement.replace("{am}", am))
            if os.environ.get("FPBTREE_MAP_LOSES_A_ROW"):  # bench/harness/test: would that be told?
                session.control.rows("DELETE FROM t_fpbtree WHERE v = 7")
            self.verify(session, place, "t")
            self.table_made = True

    def verify(self, session, place, table):
        """All entries of an index and of the other, and the rows of their tables, by count and the sum of hashes."""
        answers = {}
        for am in METHODS:
            for way in ("off", "on"):
                client = session.clients[am]
                client.rows(f"SET enable_seqscan = {way}; SET enable_indexscan = {'off' if way == 'on' else 'on'}; SET enable_bitmapscan = off")
                query = (f"SELECT count(*), sum(hashtextextended(concat_ws(',', {place.keys}), 0)::numeric) FROM {table}_{am}")
                node = client.rows("EXPLAIN " + query)
                if ("Index Only Scan" if way == "off" else "Seq Scan") not in str(node):
                    raise Different(f"{table}_{am} can't be compared: {node}")
                answers[f"{am}, {'index' if way == 'off' else 'table'}"] = client.rows(query)
                client.rows("RESET enable_seqscan; RESET enable_indexscan; RESET enable_bitmapscan")
        if len({str(answer) for answer in answers.values()}) > 1:
            raise Different(f"entries of {table}: {answers}")

    def set_images(self, session, wanted):
        """Has the server log images of pages after a checkpoint, or not."""
        if self.images != wanted:
            session.control.rows(f"ALTER SYSTEM SET full_page_writes = {'on' if wanted else 'off'}")
            session.control.rows("SELECT pg_reload_conf()")
            time.sleep(0.3)
            session.control.rows("CHECKPOINT")
            self.images = wanted

    # ---- cells ----

    def one(self, session, cell):
        """A cell's results."""
        self.make(session, cell)
        place = Place(cell.type, cell.duplicates, cell.growth, int(float(cell.size)))
        todo = work.of(cell)
        for statement in todo.source:
            session.control.rows(statement)
        self.set_images(session, todo.images)
        for client in session.clients.values():
            for setting in todo.off:
                client.rows(f"SET {setting} = off")
        turns = {am: Turns(session, am, todo) for am in METHODS}
        figures = {}
        for am in METHODS:
            counted = turns[am].counted()
            for name, value in counted.items():
                figures.setdefault(name, {})[am] = value
        if todo.changes:
            self.verify(session, place, todo.table)
        answers = self.timed(turns, todo, figures) if "cpu" in todo.what and not self.options.exact else {}
        for figure in figures.values():
            if "ratio" not in figure:
                figure["ratio"] = round(figure["fpbtree"] / figure["btree"], 3) if figure["btree"] else 1.0
        return {"figures": figures, "answers": answers}

    def timed(self, turns, todo, figures):
        """Adds the processor time, by pairs; returns the answers of both."""
        kind = "instructions" if self.counter else "cpu"
        pairs = 1 if self.counter else self.options.pairs
        least, most = (pairs, pairs) if pairs else PAIRS[todo.changes]
        times, answers, began = {am: [] for am in METHODS}, {}, time.time()
        while True:
            done = len(times["btree"])
            for am in METHODS if done % 2 else reversed(METHODS):
                spent, answer = turns[am].timed()
                times[am].append(spent / todo.count)
                if todo.compared and answers.setdefault(am, answer) != answer:
                    raise Different(f"{am} has answered {answers[am]}, and then {answer}")
            # how far the least times of each are from being found again
            spread = max(sorted(of)[1] / min(of) for of in times.values()) if done else 2.0
            agree = spread <= AGREE
            if done + 1 >= most or (done + 1 >= least and (agree or time.time() - began > self.options.seconds)):
                break
        figures[kind] = {am: round(min(times[am]), 1) for am in METHODS}
        figures[kind].update(ratio=round(min(times["fpbtree"]) / min(times["btree"]), 3), pairs=done + 1, spread=1.0 if self.counter else round(spread, 3))
        if different({"answers": answers}):
            raise Different(different({"answers": answers}))
        return answers


class Turns:
    """A cell's work with one access method."""

    def __init__(self, session, am, todo):
        self.client, self.control, self.am, self.todo = session.clients[am], session.control, am, todo
        self.counter = session.counter
        statements = todo.statement if isinstance(todo.statement, list) else [todo.statement] if todo.statement else []
        self.statements = [self._of(statement) for statement in statements]
        each = session.control.rows(self._of(todo.each)) if todo.each else []
        self.planned = [row[0] for row in each] if not todo.prepared else []
        self.parameters = each if todo.prepared else []
        self.plan_checked = not todo.node

    def _of(self, text):
        return text.replace("{am}", self.am)

    def prepare(self):
        self.client.rows(ONE_BY_ONE)
        for statement in self.todo.prepare:
            self.client.rows(self._of(statement))
        self.client.rows(TOGETHER)
        # not before: what is not on disk yet, VACUUM can't mark as visible to all
        self.client.rows(f"SET synchronous_commit = {'off' if self.planned or self.parameters else 'on'}")
        if self.todo.prepared:
            self.client.prepare(self._of(self.todo.prepared))

    def finish(self):
        if self.todo.prepared:
            self.client.deallocate()
        self.client.rows("RESET synchronous_commit")

    def run(self):
        """The work itself; its answer."""
        if self.parameters:
            return self.client.prepared(self.parameters)
        if self.planned:
            return self.client.planned_each_time(self.planned)
        answer = [self.client.rows(statement) for statement in self.statements]
        return zlib.crc32(json.dumps(answer).encode())

    def timed(self):
        """Nanoseconds of processor time, or instructions; and the answer."""
        self.prepare()
        if self.counter:
            self.counter.count(self.client, lambda: None)  # its own first call takes more
            spent, answer = self.counter.count(self.client, self.run)
            spent -= self.counter.count(self.client, lambda: None)[0]
            self.finish()
            return spent, answer
        before = processor_time(self.client.pid)
        answer = self.run()
        spent = processor_time(self.client.pid) - before
        self.finish()
        return spent, answer

    def visits(self, statement):
        """Runs a statement; the buffers that it has visited."""
        text = self.client.value("EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) " + statement)
        top = json.loads(text)[0]["Plan"]
        return top["Shared Hit Blocks"] + top["Shared Read Blocks"]

    def fetched(self):
        """The buffers of tables and their indexes that have been visited so far.  (EXPLAIN does not see those of the entries that
        a statement puts in when it ends.)"""
        self.client.rows("SELECT pg_stat_force_next_flush()")
        return int(self.control.value("SELECT sum(pg_stat_get_blocks_fetched(oid)) FROM pg_class"
                                      f" WHERE relname ~ '^[a-z][0-9]*_{self.am}(_[a-z])?$'"))

    def counted(self):
        """A turn whose time does not count: what it has logged, visited, and how large the index is afterwards."""
        figures = {}
        self.prepare()
        if not self.plan_checked:
            text = str(self.client.rows("EXPLAIN " + self.statements[0]))
            if self.todo.node not in text or f"_{self.am}_k" not in text:
                raise ServerError(f"not the plan that is to be measured: {text}")
            self.plan_checked = True
        before = self.client.value("SELECT pg_current_wal_insert_lsn()")
        if "visits" in self.todo.what and self.todo.changes:
            fetched = self.fetched()
            self.run()
            figures["visits"] = round((self.fetched() - fetched) / self.todo.count, 4)
        elif "visits" in self.todo.what and self.statements and all(EXPLAINED.match(statement) for statement in self.statements):
            figures["visits"] = round(sum(self.visits(statement) for statement in self.statements) / self.todo.count, 4)
        else:
            self.run()
        if "wal" in self.todo.what:
            after = self.client.value("SELECT pg_current_wal_insert_lsn()")
            # the log has to be on disk to be read
            self.control.rows("SELECT pg_logical_emit_message(true, 'map', '')")
            figures["wal"] = round(float(self.control.value(
                f"SELECT coalesce(sum(combined_size), 0) FROM pg_get_wal_stats('{before}', '{after}')"
                f" WHERE \"resource_manager/record_type\" = ANY ('{{{','.join(RESOURCE_MANAGERS[self.am])}}}')")) / self.todo.count, 2)
        if "pages" in self.todo.what:
            figures["pages"] = int(self.control.value(
                f"SELECT pg_relation_size('{self.todo.table}_{self.am}_k') / current_setting('block_size')::int"))
        self.finish()
        return figures


def describe(name, cell):
    """A line about a cell."""
    if "failed" in cell:
        return f"{name}: {cell['failed']}"
    return name + ": " + ", ".join(f"{kind} {figure['ratio']:.2f}" for kind, figure in cell["figures"].items())
