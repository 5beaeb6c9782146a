"""A private copy of a PostgreSQL with the extension installed, and a throw-away cluster of it (dev/servers/cluster)."""
import fcntl
import glob
import os
import shutil
import subprocess
import sys
import tempfile
import time

BENCH = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CLONE = os.path.dirname(BENCH)
CLUSTER = "bench"

# Nothing in the background, no checkpoint but those asked for, no parallel workers.  A statement that inserts many rows stands
# for many that insert one, except where a workload is about such statements.
COMMON = {
    "autovacuum": "off",
    "checkpoint_timeout": "1h",
    "effective_cache_size": "16GB",
    "fpbtree.insert_batch_size": "0",
    "jit": "off",
    "max_parallel_maintenance_workers": "0",
    "max_parallel_workers_per_gather": "0",
    "max_wal_size": "64GB",
    "random_page_cost": "1.1",
    "work_mem": "256MB",
}
# The kinds of servers that workloads run on.
KINDS = {
    # everything cached
    "warm": {"shared_buffers": "4GB", "maintenance_work_mem": "1GB"},
    # restarted before every turn, with few buffers, nothing in them
    "cold": {"shared_buffers": "256MB"},
    # the data of pgbench and the like, all cached, with the server's usual background work
    "oltp": {"shared_buffers": "4GB", "maintenance_work_mem": "1GB", "autovacuum": "on", "max_connections": "120",
             "max_locks_per_transaction": "512"},
    # indexes eight times as large as the buffers or so, past the kernel's cache
    "small": {"shared_buffers": "28MB", "maintenance_work_mem": "1GB", "debug_io_direct": "data",
              "synchronous_commit": "off"},
    # all cached, and queues that are not emptied while nothing comes
    "logged": {"shared_buffers": "4GB", "maintenance_work_mem": "1GB", "fpbtree.queue_flush_after": "-1"},
    # the data of TPC-C are eight times as large, or more
    "oltp-small": {"shared_buffers": "128MB", "maintenance_work_mem": "1GB", "autovacuum": "on", "debug_io_direct": "data",
                   "effective_io_concurrency": "32", "maintenance_io_concurrency": "32"},
}
# How servers of the kind "cold" do I/O.
IO = {
    "defaults": {},  # as the server comes: buffered, and by workers in 18
    "io_uring": {"io_method": "io_uring", "debug_io_direct": "data", "effective_io_concurrency": "32",
                 "maintenance_io_concurrency": "32"},
}

_began = time.time()


def log(text):
    seconds = int(time.time() - _began)
    print(f"[{seconds // 60:3}:{seconds % 60:02}] {text}", file=sys.stderr, flush=True)


def die(text):
    sys.exit(f"fpbench: {text}")


def call(*command, **options):
    """A command's standard output; what it says on standard error is shown if it fails."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)
    if done.returncode != 0:
        raise Failure(f"{' '.join(command[:4])}: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout


def library(function, *arguments):
    """Calls a function of dev/lib.sh."""
    return call("bash", "-c", '. "$0/dev/lib.sh"; "$@"', CLONE, function, *arguments).strip()


class Failure(Exception):
    """A command has failed."""


class Server:
    """The cluster is made when the first workload needs it, and made anew by nobody."""

    def __init__(self, pg_config, settings):
        self.settings = settings  # of the user's, over all others
        self.source = pg_config or self._own()
        self.running = None  # kind and way of I/O, or None
        cache = library("cache_dir")
        clusters = os.environ.get("FPBTREE_CLUSTERS", os.path.join(cache, "clusters"))
        os.makedirs(cache, exist_ok=True)
        os.makedirs(clusters, exist_ok=True)
        self.lock = open(os.path.join(clusters, f"{CLUSTER}.lock"), "w", encoding="ascii")  # held as long as this program runs
        try:
            fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            die(f'another one is using the cluster "{CLUSTER}"')
        self.folder = tempfile.mkdtemp(prefix="bench.", dir=cache)
        os.chmod(self.folder, 0o755)

    @staticmethod
    def _own():
        log("finding or building a PostgreSQL 18 (dev/servers/get-postgres)")
        return call(os.path.join(CLONE, "dev", "servers", "get-postgres"), "18", "release").strip()

    def prefix(self):
        """The folder to copy.  It may be a link to a part of one that has been made of packages (dev/servers/get-postgres)."""
        folder = os.path.dirname(os.path.dirname(self.source))
        return folder if os.path.islink(folder) else os.path.dirname(call(self.source, "--bindir").strip())

    def build(self):
        prefix = self.prefix()
        log(f"building the extension for {call(self.source, '--version').strip()}")
        library("ensure_user")
        library("copy_server", prefix, os.path.join(self.folder, "pg"))
        self.pg_config = os.path.join(self.folder, "pg", "bin", "pg_config")
        if not os.path.exists(self.pg_config):
            die(f"{prefix} is not a PostgreSQL that can be copied")
        library("copy_sources", os.path.join(self.folder, "build"))
        self.make()
        library("eval", f"chmod -R a+rX '{self.folder}'")

    def make(self, *variables):
        """Builds the extension and installs it."""
        library("build_extension", os.path.join(self.folder, "build"), self.pg_config, *variables, "install")

    def tool(self, name):
        return os.path.join(self.folder, "pg", "bin", name)

    def configured_with(self, option):
        return option in call(self.pg_config, "--configure")

    def version(self):
        return int(library("pg_major", self.pg_config))

    # ---- the cluster ----

    def _cluster(self, action, *arguments):
        return call(os.path.join(CLONE, "dev", "servers", "cluster"), action, CLUSTER, *arguments).strip()

    def start(self, kind, io="defaults"):
        """Sees to it that a server of this kind runs; one of the kind "cold" is always started anew."""
        if self.running is None:
            subprocess.run([os.path.join(CLONE, "dev", "servers", "cluster"), "destroy", CLUSTER], capture_output=True, check=False)
        elif self.running == (kind, io) and kind != "cold":
            return
        else:
            self._cluster("stop")
            self.running = ("none", io)  # should it not start
        if kind == "cold" and "debug_io_direct" not in IO[io]:
            drop_caches()
            self.read_programs()
        settings = {**COMMON, **KINDS[kind], **(IO[io] if kind == "cold" else {}), **self.settings}
        options = [part for name, value in sorted(settings.items()) for part in ("-o", f"{name}={value}")]
        address = self._cluster("start", "--pg-config", self.pg_config, *options)
        self.address = dict(part.split("=", 1) for part in address.split())
        first = self.running is None
        self.running = (kind, io)
        if first:
            self.run_file("setup.sql")

    def read_programs(self):
        """Have the kernel cache the server's programs, as those of any server are that has been running for a while."""
        for path in (self.tool("postgres"), *glob.glob(os.path.join(self.folder, "pg", "lib", "**", "*.so"), recursive=True)):
            with open(path, "rb") as file:
                while file.read(1 << 20):
                    pass

    def stop(self):
        if self.running:
            self._cluster("stop")

    def data_file(self, relation, database="postgres"):
        """The path of a relation's first file."""
        data = call(os.path.join(CLONE, "dev", "servers", "cluster"), "list")
        folder = next(line.split(None, 2)[2] for line in data.splitlines() if line.split()[0] == CLUSTER)
        return os.path.join(folder, "data", self.ask(f"SELECT pg_relation_filepath('{relation}')", database))

    def finish(self, keep):
        if keep:
            log(f"left: cluster {CLUSTER}, {self.folder}; clean up: dev/servers/cluster destroy {CLUSTER}; rm -r {self.folder}")
            return
        subprocess.run([os.path.join(CLONE, "dev", "servers", "cluster"), "destroy", CLUSTER], capture_output=True, check=False)
        shutil.rmtree(self.folder, ignore_errors=True)

    # ---- statements ----

    def environment(self, database="postgres"):
        return {**{name: value for name, value in os.environ.items() if not name.startswith("PG")}, **self.address,
                "PGDATABASE": database, "PGOPTIONS": "-c client_min_messages=warning", "PSQLRC": "/dev/null",
                "PATH": os.path.dirname(self.pg_config) + os.pathsep + os.environ["PATH"]}

    def _psql(self, arguments, database, **options):
        return call(self.tool("psql"), "-X", "-q", "-A", "-t", "-F", " ", "-v", "ON_ERROR_STOP=1", *arguments,
                    env=self.environment(database), **options)

    def ask(self, sql, database="postgres"):
        """Runs statements; returns what they print."""
        return self._psql(["-f", "-"], database, input=sql).strip()

    def run_file(self, name, database="postgres", **variables):
        """Runs a file of sql/; returns the lines of two words that it prints: metrics and their values."""
        arguments = [part for item in variables.items() for part in ("-v", "=".join(map(str, item)))]
        output = self._psql([*arguments, "-f", os.path.join(BENCH, "harness", "sql", name)], database)
        return [tuple(line.split()) for line in output.splitlines() if len(line.split()) == 2]


def drop_caches():
    """Empties the kernel's cache; raises PermissionError for others than root."""
    os.sync()
    with open("/proc/sys/vm/drop_caches", "w", encoding="ascii") as file:
        file.write("3")
