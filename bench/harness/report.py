"""The report of a run: its sections, how they are written in Markdown, and where that and the pictures go."""
import os
import re
import statistics
import subprocess
import sys
from dataclasses import dataclass

from harness import server
from harness.workloads import BY_NAME

# the end of a metric's name: (unit, whether more is better, whether it is a size)
UNITS = {
    "_ms": ("ms", False, False),
    "_us": ("us", False, False),
    "_ns": ("ns", False, False),
    "tps": ("/s", True, False),
    "tpmc": ("/min", True, False),
    "_bytes": ("bytes", False, True),
    "_wal": ("bytes", False, True),
    "_pages": ("pages", False, True),
}
# ways of I/O, as a summary calls them
IO = {"defaults": "as the server comes", "io_uring": "with io_uring, past the kernel's cache"}
GOOD, BAD, EVEN = {"faster", "smaller", "less"}, {"slower", "larger", "more"}, "even"
# What a user does, and the workloads that show it. Figures of size, and those of "scale", go where their metric belongs.
GROUPS = {
    "Look up": ("lookup", "small-page-cache", "queue-lookup-warm", "queue-lookup-cold", "pgbench-select"),
    "Scan, all cached": ("scan-warm", "heap-warm"),
    "Scan, from storage": ("scan-cold", "heap-cold", "bitmap-cold", "any-cold", "ten-cold", "range-size", "distance"),
    "Insert and update": ("insert-warm", "bulk-warm", "insert-cold", "bulk-cold", "uuid-cold", "unique-cold", "queue-insert-warm", "queue-mixed", "queue-latency", "insert-wal",
                          "queue-wal-10", "queue-wal-6", "queue-wal-sparse", "uuid-v4", "uuid-v7", "updates"),
    "Build": ("build",),
    "Size": ("size", "growth"),
    "Vacuum": ("vacuum", "vacuum-cold"),
    "Run an application": ("pgbench-tpcb", "partitions", "tpcc", "tpcc-cold", "sysbench-point-select", "sysbench-read-only", "sysbench-read-write",
                           "sysbench-update", "sysbench-insert", "orm"),
    "Memory of a backend": ("connections",),
    "Others": (),
}
# the operations of "scale", as the report calls them, and the groups that they belong to
OPERATIONS = {"lookup_ns": ("a lookup", "Look up"), "insertion_ns": ("an insertion", "Insert and update"),
              "build_ns": ("an entry of CREATE INDEX", "Build"), "index_bytes": ("the index", "Size")}
DETAIL = re.compile(r"latency|_p\d|_key_|customer")  # metrics of workloads that have more telling ones
LOSS = 0.95  # a figure below is shown in the group's table, whatever it is of
BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"  # of a summary in a file
DEPTH = "32"  # at which the device's rate is taken as what can be reached


@dataclass(frozen=True)
class Row:
    workload: str
    io: str
    x: object
    metric: str
    pairs: tuple
    goal: object

    @property
    def suffix(self):
        return next((suffix for suffix in UNITS if self.metric.endswith(suffix)), None)

    @property
    def is_size(self):
        return UNITS[self.suffix][2]

    @property
    def ratios(self):
        """How many times as fast fpbtree is, or which part of btree's its size is."""
        _, greater, size = UNITS[self.suffix]
        return [f / b if greater or size else b / f for b, f in self.pairs]

    @property
    def ratio(self):
        return statistics.median(self.ratios)

    @property
    def gain(self):
        """Above 1 if fpbtree is better, for times, rates and sizes alike."""
        return 1 / self.ratio if self.is_size else self.ratio

    @property
    def verdict(self):
        """A word, if all pairs agree; otherwise nothing is shown either way."""
        ratios = self.ratios
        above, below = min(ratios) > 1, max(ratios) < 1
        if not above and not below:
            return EVEN
        if self.suffix == "_wal":
            return "more" if above else "less"
        if self.is_size:
            return "larger" if above else "smaller"
        return "faster" if above else "slower"

    @property
    def spread(self):
        ratios = self.ratios
        return f"{min(ratios):.2f} to {max(ratios):.2f}" if len(ratios) > 1 else ""

    @property
    def group(self):
        if self.workload == "scale":
            return OPERATIONS[self.metric][1]
        if self.suffix in ("_bytes", "_pages") and self.workload not in GROUPS["Memory of a backend"]:
            return "Size"
        return next((group for group, names in GROUPS.items() if self.workload in names), "Others")

    @property
    def met(self):
        if self.goal is None:
            return None
        return self.ratio <= self.goal if self.is_size else self.ratio >= self.goal

    def median(self, which):
        return statistics.median(pair[which] for pair in self.pairs)

    @property
    def label(self):
        name = self.metric[:-len(self.suffix)].rstrip("_") if self.suffix.startswith("_") else self.metric
        return "" if name == "time" else name.replace("_", " ")


@dataclass(frozen=True)
class Table:
    """head: titles of columns, with a ":" at the end where they are of text.  kind: what a style sheet calls it."""
    kind: str
    head: tuple
    rows: tuple

    @property
    def titles(self):
        return tuple(title.removesuffix(":") for title in self.head)

    @property
    def texts(self):
        """Of each column, whether it is of text."""
        return tuple(title.endswith(":") for title in self.head)

    def markdown(self):
        first, *rest = ["| " + " | ".join(row) + " |" for row in (self.titles, *self.rows)]
        return [first, "|" + "".join("---|" if text else "---:|" for text in self.texts), *rest]


def rows(results):
    """All that can be compared, in the order of the list of workloads."""
    found = []
    order = {name: place for place, name in enumerate(BY_NAME)}
    for workload, io, x, metric in sorted(results.measured(), key=lambda measured: order.get(measured[0], len(order))):
        pairs = tuple(results.pairs(workload, io, x, metric))
        # goals are for tables of full size
        goals = results.all["workloads"][workload]["goals"] if results.all["plan"]["scale"] >= 1 else {}
        row = Row(workload, io, x, metric, pairs, goals.get(metric))
        if row.suffix is not None and metric != "pages_read" and pairs and all(b > 0 and f > 0 for b, f in pairs):
            found.append(row)
    return found


def shown(value, suffix):
    """A value with its unit, in few digits."""
    unit = UNITS[suffix][0]
    if unit in ("ns", "us", "ms"):
        for bigger, name in ((1e9, "s"), (1e6, "ms"), (1e3, "us")):
            nanoseconds = value * {"ns": 1, "us": 1e3, "ms": 1e6}[unit]
            if nanoseconds >= bigger:
                return f"{nanoseconds / bigger:.3g} {name}" if nanoseconds / bigger < 1000 else f"{nanoseconds / bigger:.0f} {name}"
        return f"{value:.3g} {unit}"
    if unit == "bytes":
        return f"{value / 1048576:.1f} MB" if value >= 1048576 else f"{value / 1024:.0f} kB" if value >= 10240 else f"{value:.0f} bytes"
    if unit == "pages":
        return f"{value:.0f} pages"
    return f"{value:.0f}{unit}" if value >= 100 else f"{value:.3g}{unit}"


def device_rate(session, depth=DEPTH):
    """Random reads a second: the median of what was measured beside the cold workloads."""
    rates = [rates[depth] for rates in session["device"] if depth in rates]
    return statistics.median(rates) if rates else None


def reached(results, row):
    """Which part of the device's rate btree and fpbtree have reached: (btree's, fpbtree's), or None."""
    rate = device_rate(results.all["sessions"][results.all["workloads"][row.workload]["session"]])
    pages = results.pairs(row.workload, row.io, row.x, "pages_read")
    if not rate or not pages or row.metric != "time_ms":
        return None
    return tuple(statistics.median(page[which] for page in pages) * 1000 / row.median(which) / rate for which in (0, 1))


def sections(results):
    """[(level of the title, title, [paragraphs, items of lists and tables])], in the report's order."""
    found = [(1, "fpbtree against btree", opening(results)), (2, "Time per operation by index size", by_size(results)),
             (2, "Is it faster for me?", overview(results))]
    found += [(3, group, grouped(results, group)) for group in GROUPS]
    found += [(2, "All figures", [table(results)]), (2, "What the storage can do", device(results)),
              (2, "Measured on", [*about(results), *settings(results)])]
    return [section for section in found if section[2]]


def markdown(results):
    lines = []
    for level, title, parts in sections(results):
        lines += [f"{'#' * level} {title}", ""]
        for part, following in zip(parts, [*parts[1:], ""]):
            lines += part.markdown() if isinstance(part, Table) else [part]
            if not (str(part).startswith("- ") and str(following).startswith("- ")):
                lines.append("")
    return "\n".join(lines)


def opening(results):
    """How to read the figures; what is wrong with them, before all else."""
    versions = sorted({server["version"] for server in results.all["server"].values()})
    return [f"The same data in the same server, {', '.join(versions) or results.all['plan']['version']}, with an index of each kind, the two in turn."
            " A ratio says how many times as fast fpbtree is, or which part of btree's size its size is. It is the median of the pairs'"
            " ratios, and \"least to greatest\" is where they lie. fpbtree is called faster or slower"
            " where all pairs agree on it, and even where they do not. [Measured on](#measured-on), at the end, has commits, machines and settings.",
            *warnings(results), *missing(results)]


def warnings(results):
    """Why the figures of this run are not to be believed."""
    found = []
    if any(server["assertions"] for server in results.all["server"].values()):
        found.append("**This server checks assertions: its figures mean nothing.**")
    if results.all["plan"]["scale"] < 1:
        found.append("**A scaled-down run: it shows that the workloads work, and little of what an index of a usual size would gain.**")
    return found


def about(results):
    """How it was measured, and of which commit on which machine each workload is."""
    plan = results.all["plan"]
    versions = sorted({server["version"] for server in results.all["server"].values()})
    lines = [f"fpbtree against btree, {', '.join(versions) or plan['version']}; scale {plan['scale']:g},"
             f" loads of {plan['seconds']:g} s, at most {plan['pairs']} pairs."]
    sessions = results.sessions()
    for session, names in sessions:
        machine = session["machine"]
        lines.append(f"Commit {session['commit']}, {session['date']}: {machine['processor']}, {machine['cores']} processors,"
                     f" {machine['memory_mb']} MB, {machine['system']}, kernel {machine['kernel']} ({machine['virtual']})"
                     + (f": {', '.join(names)}." if len(sessions) > 1 else "."))
    return lines


def settings(results):
    """Of each server, without repeating what all have."""
    servers = {kind: set(server["settings"].items()) for kind, server in results.all["server"].items()}
    if not servers:
        return []
    common = set.intersection(*servers.values())
    lines = ["Settings of all servers: " + setting_list(common) + "."]
    for kind, own in servers.items():
        names = [name for name, what in results.all["workloads"].items() if what["server"] == kind.split(",")[0]]
        if own - common:
            lines.append(f"- {kind}: {setting_list(own - common)} ({', '.join(names)})")
    return lines


def setting_list(some):
    """some: of names and values."""
    return ", ".join(f"`{name} = {value}`" for name, value in sorted(some))


def anchor(title):
    """What a title's link is, as GitHub makes them."""
    return re.sub(r"[^\w-]", "", title.lower().replace(" ", "-"))


def by_size(results):
    """The times of single operations, and the size of the index, by the number of its keys."""
    found = {}
    for row in rows(results):
        if row.workload == "scale":
            found.setdefault(row.x, {})[row.metric] = f"{row.ratio:.2f}: {shown(row.median(0), row.suffix)} → {shown(row.median(1), row.suffix)}"
    if not found:
        return []
    return ["The ratio, then btree's time → fpbtree's; of the index its size, after a tenth more keys (at most a million) have been inserted."
            " Keys in random order, all cached.",
            Table("by-size", ("keys", *(name for name, _ in OPERATIONS.values())),
                  tuple((count(x), *(found[x].get(metric, "") for metric in OPERATIONS)) for x in sorted(found)))]


def count(value):
    """10000 as 10k."""
    for size, name in ((10**9, "G"), (10**6, "M"), (10**3, "k")):
        if value >= size:
            return f"{value / size:g}{name}"
    return f"{value:g}"


def overview(results):
    """One line for each group: how its figures are spread, and how many are better, or worse."""
    lines = []
    for group in GROUPS:
        found = headlines(results, group)
        if found:
            verdicts = [row.verdict for row in found]
            ratios = [row.ratio for row in found if not row.is_size] or [row.ratio for row in found]
            lines.append((f"{min(ratios):.2f} to {max(ratios):.2f}", str(sum(verdict in GOOD for verdict in verdicts)),
                          str(verdicts.count(EVEN)), str(sum(verdict in BAD for verdict in verdicts)), f"[{group}](#{anchor(group)})"))
    if not lines:
        return []
    return ["How many figures of what you do are better than btree's, and how many are worse. The ratios are those of times and rates (more than 1"
            " is better), or, where there are none, of sizes (less than 1 is better). Below, each figure is a line. \"All figures\" has percentiles of latencies, sizes of"
            " single TPC-C indexes and prefetch distances, too; here are only those of them by which fpbtree loses more than a twentieth.",
            Table("overview", ("ratios", "better", "even", "worse", "what you do:"), tuple(lines))]


def headlines(results, group):
    """The figures of a group that its table shows: of details, only losses."""
    found = []
    for row in rows(results):
        goals = results.all["workloads"][row.workload]["goals"]
        is_detail = row.workload == "distance" or (goals and row.metric not in goals and DETAIL.search(row.metric))
        if row.group == group and (not is_detail or row.gain < LOSS):
            found.append(row)
    names = [name for some in GROUPS.values() for name in some]
    return sorted(found, key=lambda row: names.index(row.workload) if row.workload in names else len(names))


def grouped(results, group):
    """A group's table.  What a workload is is said once, with the first of its figures."""
    lines, said = [], None
    for row in headlines(results, group):
        variant = variant_of(results, row)
        if row.workload != said:
            variant = f"`{row.workload}`: {what_it_is(results, row.workload)}" + (f"; {variant}" if variant else "")
        else:
            variant = f"… {variant or 'time'}"
        lines.append((f"{row.ratio:.2f}", row.verdict, shown(row.median(0), row.suffix), shown(row.median(1), row.suffix), variant, row.spread))
        said = row.workload
    return [Table("verdicts", ("ratio", "fpbtree is:", "btree", "fpbtree", "measured:", "least to greatest"), tuple(lines))] if lines else []


def what_it_is(results, name):
    """The list of workloads may say it better than it did when they were measured."""
    return BY_NAME[name].what if name in BY_NAME else results.all["workloads"][name]["what"]


def variant_of(results, row):
    what = results.all["workloads"][row.workload]
    return ", ".join(filter(None, [case(row.x, what["x"]), row.label, IO[row.io] if what["server"] == "cold" else ""]))


def table(results):
    lines = []
    for row in rows(results):
        what = results.all["workloads"][row.workload]
        parts = [row.workload + (f" ({row.io})" if what["server"] == "cold" else ""), case(row.x, what["x"]), row.label]
        lines.append((f"{row.ratio:.2f}", row.verdict, shown(row.median(0), row.suffix), shown(row.median(1), row.suffix),
                      ", ".join(part for part in parts if part), row.spread, f"{row.goal:g}" if row.goal is not None else "",
                      {True: "met", False: "missed", None: ""}[row.met]))
    return Table("all", ("ratio", "fpbtree is:", "btree", "fpbtree", "figure:", "least to greatest", "wanted", "goal:"), tuple(lines))


def ratio(row):
    """In words, as a summary has it."""
    return f"{row.ratio:.2f}{' of it' if row.is_size else ' times'}" + (f" ({row.spread})" if row.spread else "")


def summary(results):
    """The figures that goals are set for, and no others: the ratios alone, one column for each way of I/O.

    What a workload is is said once, with the first of its figures.
    """
    by_io = {}
    for row in rows(results):
        if row.metric in results.all["workloads"][row.workload]["goals"]:
            by_io.setdefault((row.workload, row.x, row.label), {})[row.io] = ratio(row)
    ways = [way for way in IO if any(way in cells for cells in by_io.values())]
    lines = ["| | " + " | ".join(IO[way] for way in ways) + " |", "|---|" + "---|" * len(ways)]
    said = None
    for (name, x, label), cells in by_io.items():
        what = results.all["workloads"][name]
        variant = ", ".join(filter(None, [case(x, what["x"]), label]))
        if name != said:
            variant = f"`{name}`: {what_it_is(results, name)}" + (f"; {variant}" if variant else "")
        else:
            variant = f"… {variant}"
        lines.append(f"| {variant} | " + " | ".join(cells.get(way, "") for way in ways) + " |")
        said = name
    return lines


def case(x, x_is):
    """A value of a workload's parameter, as a report calls it."""
    if x is None:
        return ""
    return f"{x_is}: {x}" if isinstance(x, str) else f"{x:,} {x_is.removesuffix('s') if x == 1 else x_is}"


def put_summary(results, path):
    """Into a Markdown file, between its two marks."""
    with open(path, encoding="utf-8") as file:
        before, mark, rest = file.read().partition(BEGIN)
    _, end, after = rest.partition(END)
    if not mark or not end:
        raise ValueError(f"{path} has no place for a summary, from {BEGIN} to {END}")
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join([before + mark, "", *summary(results), "", *warnings(results), *about(results), "", end + after]))


def device(results):
    """What the storage can do, and how much of it was reached: by that the ratios of cold workloads are bounded."""
    lines = []
    for session, _ in results.sessions():
        rate, one = device_rate(session), device_rate(session, "1")
        if rate:
            lines.append(f"The device ({session['commit']}): {one:.0f} random reads of 8 kB a second one at a time,"
                         f" {device_rate(session, '16'):.0f} at 16 at a time, {rate:.0f} at {DEPTH} at a time, past all caches."
                         f" So an index that is read one page after the other can be beaten by at most {rate / one:.1f} times there,"
                         " unless by reading less.")
    if not lines:
        return []
    found = [(row, reached(results, row)) for row in rows(results)]
    lines.append("How many pages a second were read, as a part of the most that the device can do:")
    return lines + [Table("reached", ("btree", "fpbtree", "workload:"),
                          tuple((f"{100 * parts[0]:.0f}%", f"{100 * parts[1]:.0f}%", f"{row.workload} ({row.io})")
                                for row, parts in found if parts))]


def missing(results):
    lines = [f"- {name}: {reason}" for name, reason in results.all["left_out"].items()]
    different = results.different_answers()
    if different:
        lines.append(f"- **btree and fpbtree gave different answers in: {', '.join(different)}**")
    return ["Not measured, or wrong:", *lines] if lines else []


def is_faulty(results):
    """Whether answers were different, or a workload has failed."""
    return bool(results.different_answers()) or any(name in BY_NAME for name in results.all["left_out"])


# ---- its files ----

def write(results, pictures):
    """Writes the report beside the results; returns the Markdown.

    The pictures, if they are wanted, are made where a Python with matplotlib can be had.
    """
    text = markdown(results)
    folder = os.path.dirname(results.path)
    with open(os.path.join(folder, "report.md"), "w", encoding="utf-8") as file:
        file.write(text)
    python = drawing_python() if pictures else None
    if python:
        server.call(python, os.path.join(server.BENCH, "harness", "plots.py"), folder)
    elif pictures:
        server.log("no matplotlib, so nothing is drawn")
    return text


def drawing_python():
    """A Python that has matplotlib: this one, or the distribution's."""
    for attempt in (1, 2):
        for python in (sys.executable, "/usr/bin/python3"):
            if subprocess.run([python, "-c", "import matplotlib"], capture_output=True, check=False).returncode == 0:
                return python
        if attempt == 1:
            try:
                server.library("install_packages", "python3-matplotlib")
            except server.Failure:
                break
    return None
