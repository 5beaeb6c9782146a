#!/usr/bin/env python3
"""Draws the results of a run: pictures of its own for a README (PNG), and all in one HTML file (SVG).

Usage: plots.py FOLDER

It is a program, as the Python that has matplotlib may be another than the one that bench/run is run by.
"""
import collections
import html
import io
import os
import re
import statistics
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.dont_write_bytecode = True

import matplotlib  # noqa: E402

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402
from matplotlib.ticker import FuncFormatter  # noqa: E402

from harness import report  # noqa: E402
from harness.results import Results  # noqa: E402

METHODS = ("btree", "fpbtree")
# Both can be seen on a light ground and on a dark one; what is written takes the page's colour, for which INK stands.
COLOURS = {"btree": "#9a7b4f", "fpbtree": "#2f81d8"}
INK = "#1b2026"  # dark enough for the pictures on white, and no other colour
STYLE = {
    "axes.edgecolor": INK, "axes.labelcolor": INK, "text.color": INK, "xtick.color": INK, "ytick.color": INK,
    "axes.spines.right": False, "axes.spines.top": False, "axes.titlesize": 12, "axes.grid": True, "grid.alpha": 0.25,
    "font.size": 11, "legend.frameon": False, "svg.fonttype": "none", "svg.hashsalt": "fpbtree", "font.family": "DejaVu Sans",
}


def count(value, _=None):
    """10000 as 10k."""
    for size, name in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:g}{name}"
    return f"{value:g}"


def new(width=6.4, height=3.8, columns=1):
    figure, axes = plt.subplots(1, columns, figsize=(width, height), squeeze=False)
    return figure, axes[0]


def line(axes, points, method, **options):
    """points: of x and values of several pairs, drawn as their median between the least and the greatest."""
    xs = sorted(points)
    middle = [statistics.median(points[x]) for x in xs]
    axes.plot(xs, middle, marker="o", markersize=4, color=COLOURS[method], label=method, **options)
    axes.fill_between(xs, [min(points[x]) for x in xs], [max(points[x]) for x in xs], color=COLOURS[method], alpha=0.2, linewidth=0)


def values_by_x(results, workload, metric):
    """{method: {x: [values]}}"""
    found = {method: collections.defaultdict(list) for method in METHODS}
    for figure in results.all["figures"]:
        if figure["workload"] == workload and figure["metric"] == metric and figure["pair"] > 0:
            found[figure["method"]][figure["x"]].append(figure["value"])
    return found


def series(results, workload, name):
    """[(x, method, pair, points)]"""
    return [(one["x"], one["method"], one["pair"], one["points"]) for one in results.all["series"]
            if one["workload"] == workload and one["name"] == name and one["points"] and one["pair"] > 0]


# ---- the pictures: each returns a figure, or None if there is nothing to show ----

def glance(results):
    """Ratios of times and rates, one bar each."""
    rows = [row for row in report.rows(results)
            if not row.is_size and row.metric in results.all["workloads"][row.workload]["goals"]]
    if not rows:
        return None
    figure, (axes,) = new(6.4, 1.2 + 0.3 * len(rows))
    labels = []
    for place, row in enumerate(reversed(rows)):
        ratios = row.ratios
        axes.barh(place, row.ratio - 1, left=1, color=COLOURS["fpbtree" if row.ratio >= 1 else "btree"], height=0.6)
        axes.plot([min(ratios), max(ratios)], [place, place], color=INK, linewidth=1)
        axes.text(max(max(ratios), 1) * 1.04, place, f"{row.ratio:.2f}", va="center", fontsize=9)
        what = results.all["workloads"][row.workload]
        labels.append(", ".join(filter(None, [row.workload, row.io if what["server"] == "cold" else "",
                                              report.case(row.x, what["x"]), row.label])))
    axes.set_yticks(range(len(rows)), labels, fontsize=9)
    axes.set_xscale("log")
    axes.set_xlim(right=axes.get_xlim()[1] * 1.3)
    axes.xaxis.set_major_formatter(FuncFormatter(count))
    axes.xaxis.set_minor_formatter(FuncFormatter(lambda value, _: count(value) if value in (0.5, 2, 5, 20) else ""))
    axes.axvline(1, color=INK, linewidth=1)
    axes.set_xlabel("times as fast as btree")
    return figure


def by_size(results):
    """Time of an operation by the number of keys."""
    parts = [(title, values_by_x(results, "scale", metric)) for title, metric in
             (("a lookup", "lookup_ns"), ("an insertion", "insertion_ns"), ("an entry of CREATE INDEX", "build_ns"))]
    if not parts[0][1]["btree"]:
        return None
    figure, all_axes = new(9.6, 3.6, 3)
    for axes, (title, values) in zip(all_axes, parts):
        for method in METHODS:
            line(axes, {x: [value / 1000 for value in some] for x, some in values[method].items()}, method)
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(FuncFormatter(count))
        axes.set_ylim(bottom=0)
        axes.set_title(title)
        axes.set_xlabel("keys")
    all_axes[0].set_ylabel("microseconds")
    all_axes[0].legend()
    return figure


def curve(results, workload, label, scale):
    """How many times as fast, by a parameter, for each way of I/O."""
    figure, (axes,) = new()
    for io, style in (("defaults", "-"), ("io_uring", "--")):
        ratios = {row.x: row.ratios for row in report.rows(results) if row.workload == workload and row.io == io}
        if ratios:
            line(axes, ratios, "fpbtree", linestyle=style)
            axes.lines[-1].set_label(io)
    if not axes.lines:
        plt.close(figure)
        return None
    axes.axhline(1, color=INK, linewidth=1)
    axes.set_xscale(scale, **({"linthresh": 1} if scale == "symlog" else {}))
    if scale == "symlog":
        axes.set_xlim(left=-0.1)
    axes.xaxis.set_major_formatter(FuncFormatter(count))
    axes.set_ylim(bottom=0)
    axes.set_xlabel(label)
    axes.set_ylabel("times as fast as btree")
    axes.legend()
    return figure


def range_size(results):
    return curve(results, "range-size", "entries in the range, index-only", "log")


def distance(results):
    return curve(results, "distance", "pages read ahead at most; rows in random order", "symlog")


def insertions(results):
    """Insertions a second over time, by the first pair."""
    found = [one for one in series(results, "insert-cold", "rate") if one[2] == 1]
    if not found:
        return None
    figure, (axes,) = new()
    for _, method, _, points in found:
        axes.plot(*zip(*points), color=COLOURS[method], label=method)
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(FuncFormatter(count))
    axes.set_xlabel("seconds")
    axes.set_ylabel("insertions a second")
    axes.legend()
    return figure


def wal(results):
    """WAL bytes an insertion: of the table, and the index alone."""
    rows = {row.metric: row for row in report.rows(results) if row.workload == "insert-wal"}
    if "whole_wal" not in rows:
        return None
    figure, (axes,) = new(6.4, 2.6)
    for place, metric in enumerate(("index_alone_wal", "whole_wal")):
        for which, method in enumerate(METHODS):
            axes.barh(place + 0.2 - 0.4 * which, rows[metric].median(which) / 1048576, height=0.36, color=COLOURS[method],
                      label=method if place == 0 else None)
    axes.set_yticks([0, 1], ["the index alone", "with the table"])
    axes.set_xlabel("MB of WAL")
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2)
    return figure


def latencies(results):
    """Latencies by percentile, of the loads with the most clients."""
    loads = [name for name in ("pgbench-select", "pgbench-tpcb", "uuid-v4", "updates") if series(results, name, "latency")]
    if not loads:
        return None
    figure, all_axes = new(3.2 * len(loads), 3.6, len(loads))
    for axes, name in zip(all_axes, loads):
        some = series(results, name, "latency")
        most = max(one[0] for one in some)
        for method in METHODS:
            points = collections.defaultdict(list)
            for x, by, _, percents in some:
                if x == most and by == method:
                    for percent, value in percents:
                        points[1 / (1 - min(percent, 99.995) / 100)].append(value)
            line(axes, points, method)
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xticks([2, 10, 100, 1000, 10000], ["50", "90", "99", "99.9", "99.99"])
        axes.minorticks_off()
        axes.yaxis.set_major_formatter(FuncFormatter(count))
        axes.set_title(f"{name}, {most} clients")
        axes.set_xlabel("percentile")
    all_axes[0].set_ylabel("milliseconds")
    all_axes[0].legend()
    return figure


def growth(results):
    """Size of indexes while rows are updated."""
    parts = [("a key that stays", series(results, "growth", "kept index")), ("a key that changes", series(results, "growth", "changed index"))]
    if not parts[0][1]:
        return None
    figure, all_axes = new(6.8, 3.6, 2)
    for axes, (title, found) in zip(all_axes, parts):
        for _, method, _, points in found:
            xs, values = zip(*points)
            axes.plot(xs, [value / 1048576 for value in values], color=COLOURS[method], label=method)
        axes.set_ylim(bottom=0)
        axes.set_title(title)
        axes.set_xlabel("updates of each row")
    all_axes[0].set_ylabel("MB")
    all_axes[0].legend()
    return figure


PICTURES = (
    ("ratios", "At a glance", glance, "The median of the pairs' ratios; the thin line goes from the least to the greatest."),
    ("size", "By the number of keys", by_size, "All cached. One key more costs what the pages above it cost to pass."),
    ("ranges", "Cold ranges by their size", range_size, "Nothing in memory when the scan begins."),
    ("distance", "By the prefetch distance", distance, "8,000 rows in random order, nothing in memory."),
    ("insertions", "Insertions into an index larger than memory", insertions,
     "The last of fpbtree's time, in which the queue is emptied, is counted in the table and not drawn."),
    ("wal", "WAL", wal, "200,000 random insertions just after a checkpoint, into an index of two million entries."),
    ("latencies", "Latencies", latencies, "Of all transactions of all pairs."),
    ("growth", "Growth under updates", growth, "No update is HOT; VACUUM at 0.5, 1.5 and 2.5."),
)

PAGE = """<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>fpbtree against btree</title>
<style>
:root {{ color-scheme: light dark; --ground: #fff; --ink: #1b1f24; --faint: #d8dde3; }}
@media (prefers-color-scheme: dark) {{ :root {{ --ground: #14171b; --ink: #dfe4ea; --faint: #353b43; }} }}
body {{ background: var(--ground); color: var(--ink); font: 16px/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 60rem; padding: 1rem; }}
figure {{ margin: 0 0 2rem; overflow-x: auto; }}
figure svg {{ display: block; height: auto; max-width: 100%; min-width: 20rem; }}
figcaption, .about {{ opacity: .8; }}
.scroll {{ overflow-x: auto; }}
table {{ border-collapse: collapse; font-size: .85rem; }}
td, th {{ border-bottom: 1px solid var(--faint); padding: .25rem .6rem; text-align: right; white-space: nowrap; }}
td:first-child, th:first-child {{ text-align: left; }}
</style>
<h1>fpbtree against btree</h1>
{body}
</html>
"""


def svg(figure):
    text = io.StringIO()
    figure.savefig(text, format="svg", transparent=True, bbox_inches="tight", metadata={"Date": None, "Creator": None})
    drawn = text.getvalue()
    drawn = drawn[drawn.index("<svg"):].replace(INK, "currentColor")
    # in one page all names must differ
    salt = re.sub(r"\W", "", figure.get_label())
    drawn = re.sub(r'\b(id="|url\(#|xlink:href="#)', lambda match: match.group(1) + salt, drawn)
    return re.sub(r'<svg [^>]*?(viewBox="[^"]*")[^>]*>', r'<svg xmlns:xlink="http://www.w3.org/1999/xlink" \1 role="img">', drawn, count=1)


def html_table(lines):
    """A Markdown table as HTML."""
    rows = [[html.escape(cell.strip()) for cell in line.strip("|").split("|")] for line in lines if not line.startswith("|---")]
    head, *rest = ["".join(f"<{kind}>{cell}</{kind}>" for cell in row) for row, kind in zip(rows, ["th"] + ["td"] * len(rows))]
    return f'<div class="scroll"><table><tr>{head}</tr>' + "".join(f"<tr>{row}</tr>" for row in rest) + "</table></div>"


def as_html(lines):
    """Markdown of report.py: paragraphs, tables, lists and strong text."""
    parts, table = [], []
    for one in [*lines, ""]:
        if one.startswith("|"):
            table.append(one)
            continue
        if table:
            parts.append(html_table(table))
            table = []
        if one:
            parts.append("<p>" + re.sub(r"[*][*](.+?)[*][*]", r"<strong>\1</strong>", html.escape(one)) + "</p>")
    return parts


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    folder = sys.argv[1]
    results = Results.load(folder)
    body = ['<div class="about">', *as_html(report.about(results)), "</div>"]
    with plt.rc_context(STYLE):
        for name, title, draw, caption in PICTURES:
            figure = draw(results)
            if figure is None:
                continue
            figure.set_label(name)
            figure.tight_layout()
            body.append(f"<h2>{title}</h2><figure>{svg(figure)}<figcaption>{html.escape(caption)}</figcaption></figure>")
            figure.savefig(os.path.join(folder, f"{name}.png"), dpi=120, bbox_inches="tight", facecolor="white")
            plt.close(figure)
    body += ["<h2>All figures</h2>", *as_html([*report.table(results), "", *report.device(results), *report.missing(results)])]
    with open(os.path.join(folder, "report.html"), "w", encoding="utf-8") as file:
        file.write(PAGE.format(body="\n".join(body)))


if __name__ == "__main__":
    main()
