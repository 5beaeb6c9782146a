"""The Markdown report of a run."""
import statistics
from dataclasses import dataclass

from harness.workloads import BY_NAME

# of a metric, by the end of its name: (unit, whether more is better, whether it is a size)
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
        return f"{value / 1048576:.1f} MB" if value >= 104858 else f"{value:.0f} bytes"
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


def markdown(results):
    return "\n".join([*about(results), "", *table(results), "", *device(results), *missing(results)]) + "\n"


def about(results):
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
    if any(server["assertions"] for server in results.all["server"].values()):
        lines.append("**This server checks assertions: its figures mean nothing.**")
    if plan["scale"] < 1:
        lines.append("**A scaled-down run: it shows that the workloads work, and little of what an index of a usual size would gain.**")
    return lines


def table(results):
    lines = ["| workload | btree | fpbtree | fpbtree is | least to greatest | wanted | |", "|---|---:|---:|---:|---:|---:|---|"]
    for row in rows(results):
        what = results.all["workloads"][row.workload]
        parts = [row.workload + (f" ({row.io})" if what["server"] == "cold" else ""), case(row.x, what["x"]), row.label]
        ratios = row.ratios
        lines.append("| {} | {} | {} | {:.2f} {} | {} | {} | {} |".format(
            ", ".join(part for part in parts if part), shown(row.median(0), row.suffix), shown(row.median(1), row.suffix), row.ratio,
            "of it" if row.is_size else "times as fast", f"{min(ratios):.2f} to {max(ratios):.2f}" if len(ratios) > 1 else "",
            f"{row.goal:g}" if row.goal is not None else "", {True: "met", False: "missed", None: ""}[row.met]))
    return lines


def ratio(row):
    """In words, as a summary has it."""
    ratios = row.ratios
    spread = f" ({min(ratios):.2f} to {max(ratios):.2f})" if len(ratios) > 1 else ""
    return f"{row.ratio:.2f}{' of it' if row.is_size else ' times'}{spread}"


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
            variant = f"`{name}`: {what['what']}" + (f"; {variant}" if variant else "")
        else:
            variant = f"… {variant}"
        lines.append(f"| {variant} | " + " | ".join(cells.get(way, "") for way in ways) + " |")
        said = name
    return lines


def case(x, x_is):
    """A value of a workload's parameter, as a report calls it."""
    if x is None:
        return ""
    return f"{x} {x_is.removesuffix('s') if x == 1 else x_is}"


def put_summary(results, path):
    """Into a Markdown file, between its two marks."""
    with open(path, encoding="utf-8") as file:
        before, mark, rest = file.read().partition(BEGIN)
    _, end, after = rest.partition(END)
    if not mark or not end:
        raise ValueError(f"{path} has no place for a summary, from {BEGIN} to {END}")
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join([before + mark, "", *summary(results), "", *about(results), "", end + after]))


def device(results):
    """What the storage can do, and how much of it was reached: by that the ratios of cold workloads are bounded."""
    lines = []
    for session, _ in results.sessions():
        rate, one = device_rate(session), device_rate(session, "1")
        if rate:
            lines.append(f"The device ({session['commit']}): {one:.0f} random reads of 8 kB a second one at a time,"
                         f" {device_rate(session, '16'):.0f} at 16 at a time, {rate:.0f} at {DEPTH} at a time, past all caches."
                         f" Who reads one page after the other can't be outdone by more than {rate / one:.1f} times there, unless by"
                         " reading less.")
    if lines:
        lines += ["", "| pages read a second, of the device's at most | btree | fpbtree |", "|---|---:|---:|"]
    for row in rows(results):
        parts = reached(results, row)
        if parts:
            lines.append(f"| {row.workload} ({row.io}) | {100 * parts[0]:.0f}% | {100 * parts[1]:.0f}% |")
    return lines


def missing(results):
    lines = [f"- {name}: {reason}" for name, reason in results.all["left_out"].items()]
    different = results.different_answers()
    if different:
        lines.append(f"- **btree and fpbtree gave different answers in: {', '.join(different)}**")
    return ["", "Not measured, or wrong:", *lines] if lines else []
