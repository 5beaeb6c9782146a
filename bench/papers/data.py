"""What bench/fpbench papers has measured, as report and draw use it."""
import collections
import csv
import statistics

BASELINE = "sorted"

# What a row of a table, or a point of a drawing, is about; kinds are compared within it.
Row = collections.namedtuple("Row", "experiment block type keys fillfactor")

# A figure and how far the measurements of it are apart.
Figure = collections.namedtuple("Figure", "least median greatest")


def figure(values):
    return Figure(min(values), statistics.median(values), max(values))


class Data:
    def __init__(self, path):
        # {row: {(kind, lines): {turn: value}}}; a width may have been measured twice in a turn
        self.rows = {}
        with open(path, newline="") as file:
            for line in csv.DictReader(file):
                row = Row(line["experiment"], int(line["block"]), line["type"], int(line["keys"]),
                          int(line["fillfactor"]))
                turns = self.rows.setdefault(row, {}).setdefault((line["kind"], int(line["lines"])), {})
                value = float(line["value"])
                turn = int(line["turn"])
                turns[turn] = min(value, turns.get(turn, value))

    def of(self, experiment):
        """The rows of an experiment: by block size, else in the order of measurement."""
        return sorted((row for row in self.rows if row.experiment == experiment), key=lambda row: row.block)

    def kinds(self, experiment):
        """All kinds of an experiment but the baseline."""
        seen = {}
        for row in self.of(experiment):
            for kind, _ in self.rows[row]:
                seen[kind] = True
        return [kind for kind in seen if kind != BASELINE]

    def widths(self, row, kind):
        """{lines: figure} of a kind."""
        return {lines: figure(turns.values()) for (k, lines), turns in sorted(self.rows[row].items()) if k == kind}

    def value(self, row, kind):
        turns = self.rows[row].get((kind, 0))
        return figure(turns.values()) if turns else None

    def ratio(self, row, kind):
        """How many times what a kind takes the baseline takes, in the same turns."""
        turns = self.rows[row].get((kind, 0))
        base = self.rows[row].get((BASELINE, 0))
        return figure([base[turn] / turns[turn] for turn in turns]) if turns and base else None
