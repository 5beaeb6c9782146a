"""What the map says: a summary for the terminal, a heat map in HTML, a table in Markdown."""
import html
import os

from grid import WORK
from measure import AGREE, LIMIT, different

KINDS = ("cpu", "instructions", "wal", "pages", "visits")
TITLES = {"cpu": "processor time", "instructions": "instructions", "wal": "WAL", "pages": "pages", "visits": "buffer visits"}
MARKS = ("<!-- map: begin -->", "<!-- map: end -->")


def worst(cell):
    """The kind of figure in which a cell is worst, and its ratio."""
    return max(((figure["ratio"], kind) for kind, figure in cell["figures"].items() if clear(figure)), default=(0, ""))


def measured(results, names=None):
    return {name: cell for name, cell in results.all["cells"].items() if "figures" in cell and (names is None or name in names)}


def clear(figure):
    """Whether it is known on which side of the limit a ratio is: the least times may be off by as much as they differ from the
    second least.  If not, the figure is shown, with a question mark, and counts for nothing."""
    spread = figure.get("spread", 1.0)
    return not figure["ratio"] / spread <= LIMIT < figure["ratio"] * spread or spread <= AGREE


def is_red(figure):
    return clear(figure) and figure["ratio"] > LIMIT


def red(results, names=None):
    """(ratio, kind, name, cell) of each figure that is better with btree; what costs most first, that is the loss times weight."""
    lines = [(figure["ratio"], kind, name, cell) for name, cell in measured(results, names).items()
             for kind, figure in cell["figures"].items() if is_red(figure)]
    return sorted(lines, key=lambda line: -line[3]["weight"] * (line[0] - 1))


def wrong(results, names=None):
    """What has failed, or was answered differently."""
    lines = []
    for name, cell in sorted(results.all["cells"].items()):
        if names is None or name in names:
            if "failed" in cell:
                lines.append(f"{name}: {cell['failed']}")
            elif different(cell):
                lines.append(f"{name}: {different(cell)}")
    return lines


def summary(results, names=None, before=None):
    """The worst first: by ratio, and by how common they are times how much is lost."""
    cells = measured(results, names)
    lines = red(results, names)
    text = [counts(cells, lines)]
    if len(cells) <= 60:
        text += ["", "All, the most common first:"]
        text += [line_of(name, kind, figure, before) for name, cell in sorted(cells.items(), key=lambda item: -item[1]["weight"])
                 for kind, figure in cell["figures"].items()]
    else:
        text += ["", "The worst:"]
        text += [line_of(name, kind, cell["figures"][kind], before) for _, kind, name, cell in sorted(lines, key=lambda line: -line[0])[:25]]
        text += ["", "The worst for what is common (loss times weight):"]
        text += [line_of(name, kind, cell["figures"][kind], before) for _, kind, name, cell in lines[:25]]
    failed = wrong(results, names)
    if failed:
        text += ["", "WRONG OR FAILED:"] + failed
    return "\n".join(text) + "\n"


def counts(cells, lines):
    """A line: how many cells there are, are red, and are not clear."""
    unclear = sum(not clear(figure) for cell in cells.values() for figure in cell["figures"].values())
    without = sum(not name.startswith("images/") and not {"cpu", "instructions"} & set(cell["figures"]) for name, cell in cells.items())
    kinds = ", ".join(f"{TITLES[kind]} {count}" for kind in KINDS if (count := sum(line[1] == kind for line in lines)))
    return (f"{len(cells)} cells, {len({line[2] for line in lines})} of them red"
            + (f", in {len(lines)} figures ({kinds})" if lines else "")
            + (f"; {unclear} times are not clear, because the machine was busy" if unclear else "")
            + (f"; of {without} cells times have not been measured" if without else "") + ".")


def line_of(name, kind, figure, before):
    line = f"{'**' if is_red(figure) else '  '} {figure['ratio']:5.2f}{' ' if clear(figure) else '?'} {kind:12} {name:40} {figure['btree']:>12} {figure['fpbtree']:>12}"
    if before:
        was = before.all["cells"].get(name, {}).get("figures", {}).get(kind)
        line += f"   was {was['ratio']:.2f}, {was['fpbtree']}" if was else "   was not measured"
    return line


# ---- files ----

def write(results):
    folder = os.path.dirname(results.path)
    with open(os.path.join(folder, "map.md"), "w", encoding="utf-8") as file:
        file.write(markdown(results))
    with open(os.path.join(folder, "map.html"), "w", encoding="utf-8") as file:
        file.write(page(results))


def by_work(results):
    """Cells by their kind of work, the most common kind first: of the sum of weights; within, the most common cell."""
    groups = {}
    for name, cell in measured(results).items():
        groups.setdefault(name.split("/")[0], []).append((name, cell))
    for group in groups.values():
        group.sort(key=lambda item: -item[1]["weight"])
    return sorted(groups.items(), key=lambda item: -max(cell["weight"] for _, cell in item[1]))


def overview(results):
    """For each kind of work: how many cells are red, and the range of ratios."""
    lines = ["| work | cells | " + " | ".join(TITLES[kind] for kind in KINDS) + " | red |",
             "|---|---|" + "---|" * (len(KINDS) + 1)]
    for work, group in by_work(results):
        columns = []
        for kind in KINDS:
            ratios = sorted(cell["figures"][kind]["ratio"] for _, cell in group if kind in cell["figures"] and clear(cell["figures"][kind]))
            columns.append((f"{ratios[len(ratios) // 2]:.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})" if len(ratios) > 1 else f"{ratios[0]:.2f}") if ratios else "")
        count = sum(any(is_red(figure) for figure in cell["figures"].values()) for _, cell in group)
        lines.append(f"| `{work}`: {WORK[work][1]} | {len(group)} | " + " | ".join(columns) + f" | {count or ''} |")
    return "\n".join(lines) + "\n"


def text_of(figure):
    return f"{figure['ratio']:.2f}{'' if clear(figure) else '?'}"


def row(name, cell):
    """A line of table(); what is red is bold."""
    ratios = []
    for kind in KINDS:
        figure = cell["figures"].get(kind)
        ratios.append("" if figure is None else text_of(figure) if not is_red(figure) else f"**{text_of(figure)}**")
    return f"| {name.replace('/', ' / ')} | " + " | ".join(ratios) + " |"


def table(lines):
    """Of lines that row() has made."""
    return "\n".join(["| cell | " + " | ".join(TITLES[kind] for kind in KINDS) + " |", "|---|" + "---:|" * len(KINDS), *lines]) + "\n"


def markdown(results):
    """All of it."""
    cells = [row(name, cell) for _, group in by_work(results) for name, cell in group]
    failed = "".join(f"* {line}\n" for line in wrong(results))
    return (f"The map of ordinary work\n========================\n\n{sessions(results)}\n\n{overview(results)}\n"
            + (f"Wrong or failed:\n\n{failed}\n" if failed else "") + table(cells))


def reddest(results, count=30):
    """The red cells that cost most: what is lost, times how common it is."""
    names = list(dict.fromkeys(name for _, _, name, _ in red(results)))[:count]
    return table([row(name, results.all["cells"][name]) for name in names])


def put_into(results, path):
    """Puts the table between the marks of a Markdown file."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    before, rest = text.split(MARKS[0], 1)
    after = rest.split(MARKS[1], 1)[1]
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"{before}{MARKS[0]}\n\n{overview(results)}\nThe red cells that cost most, that is what is lost"
                   f" times how common the work is:\n\n{reddest(results)}\n{sessions(results)}\n\n{MARKS[1]}{after}")


def sessions(results):
    plan = results.all["plan"]
    cells = measured(results)
    parts = [f"{counts(cells, red(results))} {plan['version']}."]
    for index, session in enumerate(results.all["sessions"]):
        count = sum(cell["session"] == index for cell in cells.values())
        if count:
            machine = session["machine"]
            parts.append(f"Commit {session['commit']}, {session['date']}: {machine['processor']}, {machine['cores']} processors,"
                         f" {machine['memory_mb']} MB, {machine['system']}: {count} cells.")
    return " ".join(parts)


STYLE = """
:root { color-scheme: light dark; --text: #1c1e21; --back: #ffffff; --soft: #666; --line: #ddd; --red: 215 45 35; --green: 20 130 70; }
@media (prefers-color-scheme: dark) {
  :root { --text: #e4e6e8; --back: #15171a; --soft: #9a9ea3; --line: #33373c; --red: 240 80 65; --green: 40 170 95; } }
body { font: 15px/1.45 system-ui, sans-serif; color: var(--text); background: var(--back); margin: 0 auto; padding: 12px; max-width: 62rem; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.05rem; margin: 1.6em 0 .3em; } p { margin: .3em 0; }
.soft { color: var(--soft); font-size: .88rem; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th { text-align: right; font-weight: 500; color: var(--soft); font-size: .8rem; padding: 2px 4px; }
th:first-child, td:first-child { text-align: left; overflow-wrap: anywhere; }
td { text-align: right; padding: 3px 5px; border: 1px solid var(--line); white-space: nowrap; }
td:first-child { white-space: normal; border-left: none; font-size: .85rem; }
td:last-child { border-right: none; }
.squares { display: flex; flex-wrap: wrap; gap: 2px; margin: 6px 0; }
.squares a { width: 14px; height: 14px; border-radius: 2px; display: block; }
"""


def colour(ratio):
    """Red above the limit, more so the worse; green below, more so the better; as CSS."""
    if ratio > LIMIT:
        return f"background: rgb(var(--red) / {min(0.9, 0.25 + 0.5 * (ratio - LIMIT)):.2f})"
    return f"background: rgb(var(--green) / {min(0.5, 0.06 + 0.7 * max(0.0, 1 - ratio)):.2f})"


def page(results):
    """One HTML file without scripts."""
    parts = ["<!DOCTYPE html><html lang='en'><head><meta charset='utf-8'><meta name='viewport' content='width=device-width, initial-scale=1'>",
             f"<title>The map of ordinary work</title><style>{STYLE}</style></head><body><h1>The map of ordinary work</h1>",
             f"<p>{html.escape(sessions(results))}</p>",
             "<p class='soft'>Each number is fpbtree's cost by btree's: processor time, bytes of WAL, pages, visits to buffers."
             " Red: btree is better by more than a twentieth. A question mark: the machine was too busy to tell. Kinds of work are in the order of how common they are, cells too."
             " Each square is a cell, in the colour of its worst number.</p><div class='squares'>"]
    groups = by_work(results)
    for work, group in groups:
        for name, cell in group:
            ratio, kind = worst(cell)
            parts.append(f"<a href='#{work}' title='{html.escape(name)}: {TITLES.get(kind, '')} {ratio:.2f}' style='{colour(ratio)}'></a>")
    parts.append("</div>")
    failed = wrong(results)
    if failed:
        parts.append("<h2>Wrong or failed</h2>" + "".join(f"<p>{html.escape(line)}</p>" for line in failed))
    for work, group in groups:
        kinds = [kind for kind in KINDS if any(kind in cell["figures"] for _, cell in group)]
        parts.append(f"<h2 id='{work}'>{work}</h2><p class='soft'>{html.escape(WORK[work][1])}</p><table><tr><th></th>"
                     + "".join(f"<th>{TITLES[kind]}</th>" for kind in kinds) + "</tr>")
        for name, cell in group:
            figures = "".join(number(cell["figures"].get(kind)) for kind in kinds)
            parts.append(f"<tr><td>{html.escape(name.split('/', 1)[1]).replace('/', ' / ')}</td>{figures}</tr>")
        parts.append("</table>")
    return "\n".join(parts) + "</body></html>\n"


def number(figure):
    if figure is None:
        return "<td></td>"
    style = colour(figure["ratio"]) if clear(figure) else ""
    return f"<td title='btree {figure['btree']}, fpbtree {figure['fpbtree']}' style='{style}'>{text_of(figure)}</td>"
