"""Figures of a run, kept in a folder: results.json is written after every turn."""
import collections
import csv
import json
import os
from dataclasses import dataclass

FORMAT = 2
FIELDS = ("workload", "io", "x", "method", "pair", "metric", "value")


@dataclass(frozen=True)
class Turn:
    """One access method's part of a pair.  x: the workload's parameter, if it has one, or None."""
    workload: str
    io: str
    x: object
    method: str
    pair: int

    def key(self):
        return [self.workload, self.io, self.x, self.method, self.pair]


class Results:
    """plan: what is measured, and how; results of another plan don't mix with it.

    A session is of one commit on one machine.  There may be several, of other workloads each.
    """

    def __init__(self, folder, plan):
        self.path = os.path.join(folder, "results.json")
        os.makedirs(folder, exist_ok=True)
        self.all = {"format": FORMAT, "plan": plan, "sessions": [], "server": {}, "workloads": {},
                    "left_out": {}, "turns": [], "figures": [], "series": []}

    @classmethod
    def load(cls, folder):
        results = cls(folder, None)
        with open(results.path, encoding="utf-8") as file:
            results.all = json.load(file)
        if results.all.get("format") != FORMAT:
            raise ValueError(f"{results.path} has format {results.all.get('format')}, not {FORMAT}")
        return results

    def forget_halves(self):
        """Of a pair that an interruption has cut in two: data are made anew, and are not what they were in the other turn."""
        turns = collections.Counter((*done[:3], done[4]) for done in self.all["turns"])
        whole = {pair for pair, count in turns.items() if count == 2}
        self.all["turns"] = [done for done in self.all["turns"] if (*done[:3], done[4]) in whole]
        for name in ("figures", "series"):
            self.all[name] = [line for line in self.all[name] if (line["workload"], line["io"], line["x"], line["pair"]) in whole]

    def begin_session(self, machine):
        plan = self.all["plan"]
        self.all["sessions"].append({"commit": plan["commit"], "date": plan["date"], "machine": machine, "device": []})
        self.save()

    def forget(self, names):
        """All that is known of workloads."""
        for name in names:
            self.all["workloads"].pop(name, None)
        self.all["turns"] = [done for done in self.all["turns"] if done[0] not in names]
        self.all["left_out"] = {what: why for what, why in self.all["left_out"].items() if what.split(",")[0] not in names}
        for name in ("figures", "series"):
            self.all[name] = [line for line in self.all[name] if line["workload"] not in names]

    def has(self, turn):
        return any(done[:5] == turn.key() for done in self.all["turns"])

    def add(self, turn, seconds, figures, series):
        """figures: of metric and value; series: of a name and a list of points."""
        for metric, value in figures:
            value = value if metric == "answer" else float(value)
            self.all["figures"].append(dict(zip(FIELDS, (*turn.key(), metric, value))))
        for name, points in series:
            self.all["series"].append(dict(zip((*FIELDS[:5], "name", "points"), (*turn.key(), name, points))))
        self.all["turns"].append([*turn.key(), round(seconds, 2)])
        self.save()

    def save(self):
        with open(self.path + ".new", "w", encoding="utf-8") as file:
            json.dump(self.all, file, indent=1)
            file.write("\n")
        os.replace(self.path + ".new", self.path)
        with open(os.path.splitext(self.path)[0] + ".csv", "w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, FIELDS)
            writer.writeheader()
            writer.writerows(self.all["figures"])

    # ---- looking at them ----

    def pairs(self, workload, io, x, metric):
        """[(btree's, fpbtree's)] of the pairs that count: pair 0 has warmed up."""
        found = {}
        for figure in self.all["figures"]:
            if (figure["workload"], figure["io"], figure["x"], figure["metric"]) == (workload, io, x, metric):
                found.setdefault(figure["pair"], {})[figure["method"]] = figure["value"]
        return [(pair["btree"], pair["fpbtree"]) for number, pair in sorted(found.items()) if number > 0 and len(pair) == 2]

    def sessions(self):
        """[(session, names of its workloads)], without those of which nothing is left."""
        found = [(session, [name for name, workload in self.all["workloads"].items() if workload["session"] == number])
                 for number, session in enumerate(self.all["sessions"])]
        return [(session, names) for session, names in found if names] or found

    def measured(self):
        """(workload, io, x, metric) of all that has been measured, in the order of their coming."""
        seen = {}
        for figure in self.all["figures"]:
            if figure["metric"] != "answer" and figure["pair"] > 0:
                seen[figure["workload"], figure["io"], figure["x"], figure["metric"]] = True
        return list(seen)

    def different_answers(self):
        """Workloads in which the two gave different answers."""
        answers = {}
        for figure in self.all["figures"]:
            if figure["metric"] == "answer":
                key = (figure["workload"], figure["io"], figure["x"], figure["pair"])
                answers.setdefault(key, set()).add(str(figure["value"]))
        return sorted({key[0] for key, values in answers.items() if len(values) > 1})
