#!/usr/bin/env python3
"""Draws the results of a run: the report with its pictures as one HTML file (SVG), and the picture that the documentation shows (PNG).

Usage: plots.py FOLDER

It is a program because the Python that has matplotlib may be another than the one that runs the rest.
"""
import collections
import functools
import html
import io
import os
import re
import statistics
import sys
from dataclasses import dataclass
from typing import Callable

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.dont_write_bytecode = True

import matplotlib  # noqa: E402

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402
from matplotlib.ticker import FuncFormatter, LogLocator  # noqa: E402

from harness import report  # noqa: E402
from harness.results import Results  # noqa: E402

METHODS = ("btree", "fpbtree")
# Both can be seen on a light ground and on a dark one. Text takes the page's colour, for which INK stands.
COLOURS = {"btree": "#9a7b4f", "fpbtree": "#2f81d8"}
INK = "#1b2026"  # dark enough for the pictures on white, and no other colour
STYLE = {
    "axes.edgecolor": INK, "axes.labelcolor": INK, "text.color": INK, "xtick.color": INK, "ytick.color": INK,
    "axes.spines.right": False, "axes.spines.top": False, "axes.titlesize": 12, "axes.grid": True, "grid.alpha": 0.25,
    "font.size": 11, "legend.frameon": False, "svg.fonttype": "none", "svg.hashsalt": "fpbtree", "font.family": "DejaVu Sans",
}


def count(value, _=None):
    """A number on an axis."""
    return report.count(value)


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


# ---- the pictures: each returns its panels, none if there is nothing to show ----

@dataclass(frozen=True)
class Panel:
    """Part of a picture: a PNG has them side by side, and in the HTML file they stand as its width allows.

    draw: a function of axes.
    """
    draw: Callable
    width: float = 4.8
    height: float = 3.4


def glance(results):
    """Ratios of times and rates that have goals, one bar each, by what a user does."""
    groups = {group: [row for row in report.headlines(results, group)
                      if not row.is_size and row.metric in results.all["workloads"][row.workload]["goals"]] for group in report.GROUPS}
    lines = [line for group, rows in groups.items() if rows for line in (group, *rows)]
    return [Panel(functools.partial(draw_bars, results, lines), 6.4, 1.2 + 0.3 * len(lines))] if lines else []


def draw_bars(results, lines, axes):
    """lines: rows, and the titles of groups."""
    labels = []
    for place, row in enumerate(reversed(lines)):
        if isinstance(row, str):
            labels.append(row)
            continue
        ratios = row.ratios
        axes.barh(place, row.ratio - 1, left=1, color=COLOURS["fpbtree" if row.ratio >= 1 else "btree"], height=0.6)
        axes.plot([min(ratios), max(ratios)], [place, place], color=INK, linewidth=1)
        axes.text(max(max(ratios), 1) * 1.04, place, f"{row.ratio:.2f}", va="center", fontsize=9)
        what = results.all["workloads"][row.workload]
        labels.append(", ".join(filter(None, [row.workload, row.io if what["server"] == "cold" else "",
                                              report.case(row.x, what["x"]), row.label])))
    axes.set_yticks(range(len(lines)), labels, fontsize=9)
    for label, row in zip(axes.get_yticklabels(), reversed(lines)):
        if isinstance(row, str):
            label.set_fontweight("bold")
    axes.set_ylim(-0.7, len(lines) - 0.3)
    axes.set_xscale("log")
    axes.set_xlim(right=axes.get_xlim()[1] * 1.3)
    axes.xaxis.set_major_formatter(FuncFormatter(count))
    axes.xaxis.set_minor_formatter(FuncFormatter(lambda value, _: count(value) if value in (0.5, 2, 5, 20) else ""))
    axes.axvline(1, color=INK, linewidth=1)
    axes.set_xlabel("times as fast as btree")


def by_size(results):
    """Time of an operation by the number of keys."""
    found = [(title, values_by_x(results, "scale", metric)) for metric, (title, _) in report.OPERATIONS.items() if metric.endswith("_ns")]
    return [Panel(functools.partial(draw_size, title, values), 3.4, 3.4) for title, values in found if values["btree"]]


def draw_size(title, values, axes):
    for method in METHODS:
        line(axes, {x: [value / 1000 for value in some] for x, some in values[method].items()}, method)
    axes.set_xscale("log")
    axes.set_xticks(sorted(values["btree"]))
    axes.minorticks_off()
    axes.xaxis.set_major_formatter(FuncFormatter(count))
    axes.set_ylim(0, 1.2 * axes.get_ylim()[1])
    axes.set_title(title)
    axes.set_xlabel("keys")
    axes.set_ylabel("microseconds")
    axes.legend(loc="upper left", ncols=2)


def curve(results, workload, label, scale):
    """How many times as fast, by a parameter, for each way of I/O."""
    found = {io: {row.x: row.ratios for row in report.rows(results) if row.workload == workload and row.io == io} for io in report.IO}
    found = {io: ratios for io, ratios in found.items() if ratios}
    return [Panel(functools.partial(draw_curve, found, label, scale))] if found else []


def draw_curve(found, label, scale, axes):
    """found: {way of I/O: {x: ratios}}"""
    for io, ratios in found.items():
        line(axes, ratios, "fpbtree", linestyle="-" if io == "defaults" else "--")
        axes.lines[-1].set_label(report.IO[io])
    axes.axhline(1, color=INK, linewidth=1)
    axes.set_xscale(scale, **({"linthresh": 1} if scale == "symlog" else {}))
    if scale == "symlog":
        axes.set_xlim(left=-0.1)
    axes.xaxis.set_major_formatter(FuncFormatter(count))
    axes.set_ylim(0, 1.3 * axes.get_ylim()[1])
    axes.set_xlabel(label)
    axes.set_ylabel("times as fast as btree")
    axes.legend(loc="upper left")


def range_size(results):
    return curve(results, "range-size", "entries in the range, index-only", "log")


def distance(results):
    return curve(results, "distance", "prefetch distance, in pages; rows in random order", "symlog")


def insertions(results):
    """Insertions a second over time, by the first pair."""
    found = [one for one in series(results, "insert-cold", "rate") if one[2] == 1]
    return [Panel(functools.partial(draw_insertions, found))] if found else []


def draw_insertions(found, axes):
    for _, method, _, points in found:
        axes.plot(*zip(*points), color=COLOURS[method], label=method)
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(FuncFormatter(count))
    axes.set_xlabel("seconds")
    axes.set_ylabel("insertions a second")
    axes.legend()


def wal(results):
    """WAL bytes an insertion: of the table, and the index alone."""
    rows = {row.metric: row for row in report.rows(results) if row.workload == "insert-wal"}
    return [Panel(functools.partial(draw_wal, rows), 4.8, 2.4)] if "whole_wal" in rows else []


def draw_wal(rows, axes):
    for place, metric in enumerate(("index_alone_wal", "whole_wal")):
        for which, method in enumerate(METHODS):
            axes.barh(place + 0.2 - 0.4 * which, rows[metric].median(which) / 1048576, height=0.36, color=COLOURS[method],
                      label=method if place == 0 else None)
    axes.set_yticks([0, 1], ["the index alone", "with the table"])
    axes.set_xlabel("MB of WAL")
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2)


def latencies(results):
    """Latencies by percentile, of the loads with the most clients."""
    found = [(name, series(results, name, "latency")) for name in ("pgbench-select", "pgbench-tpcb", "uuid-v4", "updates")]
    return [Panel(functools.partial(draw_latencies, name, some), 3.4, 3.6) for name, some in found if some]


def draw_latencies(name, some, axes):
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
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter(FuncFormatter(count))
    axes.set_title(f"{name}, {most} clients")
    axes.set_xlabel("percentile")
    axes.set_ylabel("milliseconds")
    axes.legend()


def growth(results):
    """Size of indexes while rows are updated."""
    found = [(title, series(results, "growth", name)) for title, name in
             (("a key that stays", "kept index"), ("a key that changes", "changed index"))]
    return [Panel(functools.partial(draw_growth, title, some), 3.4, 3.4) for title, some in found if some]


def draw_growth(title, some, axes):
    for _, method, _, points in some:
        xs, values = zip(*points)
        axes.plot(xs, [value / 1048576 for value in values], color=COLOURS[method], label=method)
    axes.set_ylim(bottom=0)
    axes.set_title(title)
    axes.set_xlabel("updates of each row")
    axes.set_ylabel("MB")
    axes.legend()


# name of the PNG; the report's section that has it, if any; what draws it; its title, if it needs one; what has to be said of it
PICTURES = (
    ("ratios", None, glance, None, None),
    ("size", "Time per operation by index size", by_size, None, "The line is the median; the band goes from the least to the greatest."),
    ("ranges", "Scan, from storage", range_size, "By the size of the range", "Nothing in memory when the scan begins."),
    ("distance", "Scan, from storage", distance, "By the prefetch distance", "8,000 rows in random order, nothing in memory."),
    ("insertions", "Insert and update", insertions, "Into an index larger than memory",
     "The last of fpbtree's time, in which the queue is emptied, is counted in the table and not drawn."),
    ("wal", "Insert and update", wal, "WAL", "200,000 random insertions just after a checkpoint, into an index of two million entries."),
    ("growth", "Size", growth, "Growth under updates", "No update is HOT; VACUUM at 0.5, 1.5 and 2.5."),
    ("latencies", "Run an application", latencies, "Latencies", "Of all transactions of all pairs."),
)

PAGE = """<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>fpbtree against btree</title>
<style>
:root {{ color-scheme: light dark; --ground: #fff; --ink: #1b1f24; --faint: #d8dde3; --good: #1a5fae; --bad: #9b4a00; }}
@media (prefers-color-scheme: dark) {{
:root {{ --ground: #14171b; --ink: #dfe4ea; --faint: #353b43; --good: #6fb1f5; --bad: #f0a060; }}
}}
body {{ background: var(--ground); color: var(--ink); font: 16px/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 74rem; padding: 1rem; }}
p, li {{ max-width: 48rem; }}
h2 {{ border-top: 1px solid var(--faint); margin-top: 2.5rem; padding-top: 1rem; }}
figure {{ margin: 0 0 1.5rem; }}
.panels {{ display: flex; flex-wrap: wrap; gap: 1rem; }}
.panels svg {{ flex: 1 1 17rem; height: auto; min-width: 0; }}
figcaption {{ opacity: .8; }}
code {{ overflow-wrap: anywhere; }}
.scroll {{ margin-bottom: 1.5rem; overflow-x: auto; }}
table {{ border-collapse: collapse; font-size: .9rem; font-variant-numeric: tabular-nums; }}
td, th {{ border-bottom: 1px solid var(--faint); padding: .25rem .6rem; text-align: right; vertical-align: top; }}
td:not(.text) {{ white-space: nowrap; }}
td:first-child {{ font-weight: 600; }}
.text {{ text-align: left; }}
.verdicts, .all {{ width: 100%; }}
.verdicts td:nth-child(5) {{ width: 60%; }}
.good td:nth-child(-n+2) {{ color: var(--good); }}
.bad td:nth-child(-n+2) {{ color: var(--bad); }}
a {{ color: var(--good); }}
@media (min-width: 48rem) {{ th {{ white-space: nowrap; }} }}
@media (max-width: 48rem) {{
td, th {{ padding: .25rem .4rem; }}
.overview :is(td, th) {{ padding: .25rem; white-space: normal; }}
:is(.by-size, .verdicts, .all) tr:first-child {{ display: none; }}
:is(.by-size, .verdicts, .all), :is(.by-size, .verdicts, .all) tbody {{ display: block; }}
:is(.by-size, .verdicts, .all) tr {{ border-bottom: 1px solid var(--faint); display: flex; flex-wrap: wrap; gap: 0 .8rem; padding: .4rem 0; }}
:is(.by-size, .verdicts, .all) td {{ border: 0; padding: 0; }}
:is(.verdicts, .all) td:empty {{ display: none; }}
.by-size td, :is(.verdicts, .all) td:nth-child(5) {{ flex-basis: 100%; text-align: left; }}
.by-size td:first-child::after {{ content: " keys"; }}
.by-size td:nth-child(n+2)::before, :is(.verdicts, .all) td:nth-child(n+3):not(:nth-child(5))::before {{ content: attr(data-is) " "; opacity: .75; }}
}}
</style>
{body}
</html>
"""


def draw(panels):
    """All of them in one figure."""
    figure, all_axes = plt.subplots(1, len(panels), figsize=(sum(panel.width for panel in panels), panels[0].height), squeeze=False)
    for panel, axes in zip(panels, all_axes[0]):
        panel.draw(axes)
    figure.tight_layout()
    return figure


def svg(panel, name):
    """name: in one page all names must differ."""
    text = io.StringIO()
    figure = draw([panel])
    figure.savefig(text, format="svg", transparent=True, bbox_inches="tight", metadata={"Date": None, "Creator": None})
    plt.close(figure)
    drawn = text.getvalue()
    drawn = drawn[drawn.index("<svg"):].replace(INK, "currentColor")
    drawn = re.sub(r'\b(id="|url\(#|xlink:href="#)', lambda match: match.group(1) + name, drawn)
    width = f'style="max-width: {panel.width * 96:.0f}px"'
    return re.sub(r'<svg [^>]*?(viewBox="[^"]*")[^>]*>', rf'<svg xmlns:xlink="http://www.w3.org/1999/xlink" \1 {width} role="img">', drawn, count=1)


def marked(text):
    """Strong text, links and code in a line of Markdown."""
    text = re.sub(r"[*][*](.+?)[*][*]", r"<strong>\1</strong>", html.escape(text, quote=False))
    text = re.sub(r"\[(.+?)\]\((#.+?)\)", r'<a href="\2">\1</a>', text)
    return re.sub(r"`(.+?)`", r"<code>\1</code>", text)


def html_table(table):
    """A narrow page has no room for columns: there a row becomes a paragraph, in which data-is says what a cell is."""
    kinds = [" class=text" if text else "" for text in table.texts]
    lines = ["<tr>" + "".join(f"<th{kind}>{title}</th>" for title, kind in zip(table.titles, kinds)) + "</tr>"]
    for row in table.rows:
        which = "good" if report.GOOD & set(row) else "bad" if report.BAD & set(row) else ""
        cells = "".join(f'<td{kind} data-is="{title}">{marked(cell)}</td>' for cell, title, kind in zip(row, table.titles, kinds))
        lines.append(f'<tr class="{which}">{cells}</tr>')
    return f'<div class="scroll"><table class="{table.kind}">' + "\n".join(lines) + "</table></div>"


def as_html(parts):
    """What report.py has in a section."""
    done = []
    for part in parts:
        if isinstance(part, report.Table):
            done.append(html_table(part))
        elif part.startswith("- "):
            done.append(f"<ul><li>{marked(part[2:])}</li></ul>")
        else:
            done.append(f"<p>{marked(part)}</p>")
    return "\n".join(done).replace("</ul>\n<ul>", "\n")


def pictures(results, folder):
    """{section: [figures]}; a picture that is of no section is for the documentation."""
    found = collections.defaultdict(list)
    for name, section, panels_of, title, caption in PICTURES:
        panels = panels_of(results)
        if not panels:
            continue
        figure = draw(panels)
        if section is None:
            figure.savefig(os.path.join(folder, f"{name}.png"), dpi=120, bbox_inches="tight", facecolor="white")
        plt.close(figure)
        if section is not None:
            drawn = "".join(svg(panel, f"{name}{number}") for number, panel in enumerate(panels))
            found[section].append((f"<h4>{title}</h4>" if title else "")
                                  + f'<figure><div class="panels">{drawn}</div><figcaption>{html.escape(caption)}</figcaption></figure>')
    return found


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    folder = sys.argv[1]
    results = Results.load(folder)
    with plt.rc_context(STYLE):
        drawn = pictures(results, folder)
    body = []
    for level, title, parts in report.sections(results):
        body.append(f'<h{level} id="{report.anchor(title)}">{html.escape(title)}</h{level}>')
        # the picture by size says more than its table, which the others follow
        first = drawn[title] if title == "Time per operation by index size" else []
        body += [*first, as_html(parts), *(drawn[title] if not first else [])]
    with open(os.path.join(folder, "report.html"), "w", encoding="utf-8") as file:
        file.write(PAGE.format(body="\n".join(body)))


if __name__ == "__main__":
    main()
