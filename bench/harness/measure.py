"""Turns of both access methods, in pairs, and how long the rest will take."""
import time

from harness import machine, programs
from harness.results import Turn
from harness.server import IO, Failure, log
from harness.workloads import DATA

METHODS = ("btree", "fpbtree")


class Run:
    """What is measured, of which workloads: turns that have been measured before are left alone."""

    def __init__(self, server, results, workloads, options):
        self.server = server
        self.results = results
        self.workloads = workloads
        self.options = options  # of the run
        self.made = set()  # data
        self.device = machine.Device(server.folder)
        self.spent = 0.0
        self.foreseen = 0.0  # what has been done should have taken so long

    # ---- the plan ----

    def ways(self, workload):
        """Of I/O: only cold workloads tell them apart."""
        return self.options.io if workload.server == "cold" else ["defaults"]

    def turns(self, workload):
        """In pairs, of which each begins with the other access method than the one before."""
        for io in self.ways(workload):
            for x in self.points(workload):
                for pair in range(0 if workload.warm_up else 1, self.pairs(workload) + 1):
                    for method in METHODS if pair % 2 else reversed(METHODS):
                        yield Turn(workload.name, io, x, method, pair)

    def pairs(self, workload):
        return min(self.options.pairs, workload.pairs or self.options.pairs)

    def points(self, workload):
        """A parameter's values that a scaled run has use for."""
        if workload.x_is == "keys":
            return [x for x in workload.xs if x <= max(workload.xs[0], workload.xs[-1] * self.options.scale)]
        return workload.xs

    def guess(self, workload, turn):
        """Seconds that a turn should take."""
        seconds = workload.seconds[1]
        if workload.x_is == "keys":
            seconds = seconds * turn.x / workload.xs[-1]
        elif workload.program and workload.server.startswith("oltp"):
            return seconds * self.options.seconds / 15 + 1
        return seconds * self.options.scale + 1.5

    def remaining(self):
        """Seconds that all that is left should take."""
        total, data = 0.0, set(self.made)
        for workload in self.workloads:
            left = [turn for turn in self.turns(workload) if not self.results.has(turn)]
            if left and not data.issuperset(workload.data):
                total += workload.seconds[0] * self.options.scale
                data.update(workload.data)
            total += sum(self.guess(workload, turn) for turn in left)
        return total

    def time_left(self):
        pace = self.spent / self.foreseen if self.foreseen > 5 else 1.0
        seconds = int(self.remaining() * pace)
        return f"{seconds // 60} min {seconds % 60:02} s left" if seconds >= 60 else f"{seconds} s left"

    # ---- doing it ----

    def all(self):
        for workload in self.workloads:
            try:
                self.one(workload)
            except (Failure, OSError, ValueError) as error:
                # the others may yet be measured; what is missing is told in the report, and by the exit status
                log(f"{workload.name}: {error}")
                self.results.all["left_out"][workload.name] = str(error)
                self.results.save()

    def one(self, workload):
        left = [turn for turn in self.turns(workload) if not self.results.has(turn)]
        self.results.all["workloads"][workload.name] = {"what": workload.what, "server": workload.server, "x": workload.x_is,
                                                        "goals": workload.goals, "session": len(self.results.all["sessions"]) - 1}
        if not left:
            return
        self.results.all["left_out"].pop(workload.name, None)
        self.make(workload)
        measured = set()  # ways of I/O
        for turn in left:
            log(f"{workload.name}{'' if turn.x is None else f', {turn.x} {workload.x_is}'}"
                f"{', ' + turn.io if workload.server == 'cold' else ''}, pair {turn.pair}, {turn.method}; {self.time_left()}")
            began = time.time()
            self.server.start(workload.server, turn.io)
            if turn.io not in measured:
                self.note_server(workload, turn.io)
                measured.add(turn.io)
            figures, series = self.turn(workload, turn)
            self.note_time(time.time() - began, self.guess(workload, turn))
            self.results.add(turn, time.time() - began, figures, series)
        if workload.server == "cold":
            self.measure_device()

    def note_time(self, seconds, foreseen):
        self.spent += seconds
        self.foreseen += foreseen

    def make(self, workload):
        """What the workload needs; made on a server that caches everything, but for that of small buffers."""
        for data in workload.data:
            if data in self.made:
                continue
            log(f"{workload.name}: making its data, {data}")
            began = time.time()
            self.server.start("warm" if workload.server == "cold" else workload.server)
            if data in DATA:
                DATA[data](self.server, self.options.scale)
            else:
                self.server.run_file(f"{data}-setup.sql", scale=self.options.scale)
            self.made.add(data)
            self.note_time(time.time() - began, workload.seconds[0] * self.options.scale)

    def turn(self, workload, turn):
        if workload.server == "cold":
            # the kernel's clearing of the buffers' memory is not what is measured
            self.server.run_file("touch.sql")
        if workload.program is None:
            variables = {} if turn.x is None else {"x": turn.x}
            return self.server.run_file(f"{workload.name}.sql", am=turn.method, pair=turn.pair, scale=self.options.scale, **variables), []
        return workload.program(programs.Context(self.server, turn.method, turn.x, turn.pair, turn.pair == self.pairs(workload),
                                                 self.options.scale, self.options.seconds))

    def note_server(self, workload, io):
        name = f"{workload.server}, {io}" if workload.server == "cold" else workload.server
        self.results.all["server"][name] = machine.server(self.server)

    def measure_device(self):
        """In the same run, and of the file that is scanned."""
        file = self.server.data_file("cold_fpbtree_a")
        self.server.ask("CHECKPOINT")
        rates = self.device.measure(file)
        if rates:
            log("the device: " + ", ".join(f"{rate} random reads a second at depth {depth}" for depth, rate in rates.items()))
            self.results.all["sessions"][-1]["device"].append(rates)
            self.results.save()


def possible_io(server, wanted):
    """Of the ways of I/O that are wanted, those that can be had here, and why others can't."""
    ways, reasons = [], {}
    for io in wanted:
        if IO[io].get("io_method") == "io_uring" and (server.version() < 18 or not server.configured_with("--with-liburing")):
            reasons[io] = "the server is without io_uring"
            continue
        if "debug_io_direct" not in IO[io]:
            try:
                with open("/proc/sys/vm/drop_caches", "w", encoding="ascii"):
                    pass
            except OSError:
                reasons[io] = "only root can empty the kernel's cache, without which buffered I/O is not cold"
                continue
        ways.append(io)
    return ways, reasons
