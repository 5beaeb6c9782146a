"""What each kind of work of the map does: its statements, on the tables of a cell.

A kind of work is a function of a Place.  It returns a Work.  In statements {am} stands for the access method, and NAME_{am}
are tables alike but for that.
"""
import re
from dataclasses import dataclass, field

from grid import DUPLICATES, RANDOM_BY_NATURE, TYPES, WORK

# What part of the lookups and of single statements is done: fewer, where each instruction is counted.
PART = {"of": 1.0}


def some(count):
    return max(100, int(count * PART["of"]))


# Only the plan that the work is about is left to the planner.
NESTED_LOOPS = ["enable_hashjoin", "enable_mergejoin", "enable_seqscan", "enable_bitmapscan", "enable_memoize", "enable_material"]


@dataclass
class Place:
    """Where a cell's work is done: keys in a table "src", in the order of insertion (i); and from them the cell's tables."""
    type: str
    duplicates: str
    growth: str
    rows: int

    def __post_init__(self):
        self.columns = list(TYPES[self.type][1])
        self.types = [sql_type for sql_type, _ in TYPES[self.type][1].values()]
        self.include = " INCLUDE (v)" if self.type.endswith("+include") else ""
        self.percent = int(self.growth[6:]) if self.growth.startswith("built+") else 0
        self.built = self.growth.startswith("built")
        self.keys = ", ".join(self.columns)
        assert self.duplicates in DUPLICATES

    @property
    def total(self):
        """Rows, with those that come after CREATE INDEX, and some more for work that inserts."""
        if self.growth == "built" and self.rows <= 100000:
            return self.rows * 2
        return self.rows + max(self.rows * self.percent // 100, 6000)

    def key_number(self, rank):
        """The number of the key at that place in the order of all entries, so many of which share one."""
        if self.duplicates.endswith("keys"):
            return f"{rank} % {int(self.duplicates[:-4])}"
        return f"{rank} / {int(self.duplicates[1:])}"

    def make_source(self):
        """Statements that make "src"."""
        random = "(hashint8extended(i, 1) & 9223372036854775807)"
        total = self.total
        # the rank of the i-th row in the order of keys
        ranks = {
            "asc": "SELECT i, i - 1 AS r FROM generate_series(1, {0}::int8) i",
            "desc": "SELECT i, {0} - i AS r FROM generate_series(1, {0}::int8) i",
            "local": "SELECT row_number() OVER (ORDER BY i + {1} % 40, i) AS i, i - 1 AS r FROM generate_series(1, {0}::int8) i",
            "series": "SELECT i, s * ({0} / 500) + row_number() OVER (PARTITION BY s ORDER BY i) AS r"
                      " FROM (SELECT i, {1} % 1000 AS s FROM generate_series(1, {0}::int8) i) x",
        }.get(self.growth, "SELECT row_number() OVER (ORDER BY {1}) AS i, i - 1 AS r FROM generate_series(1, {0}::int8) i")
        if self.type in RANDOM_BY_NATURE and self.duplicates == "d1":
            ranks = "SELECT i, i - 1 AS r FROM generate_series(1, {0}::int8) i"
        columns = ", ".join(f"({expression})::{sql_type.split(' ')[0]} AS {name}" for name, (sql_type, expression) in TYPES[self.type][1].items())
        return ["DROP TABLE IF EXISTS src",
                f"CREATE UNLOGGED TABLE src (i int8, {self.definitions()}, v int8)",
                f"INSERT INTO src SELECT i, {columns}, r FROM (SELECT i, r, {self.key_number('r')} AS k"
                f" FROM ({ranks.format(total, random)}) x) y ORDER BY i",
                "CREATE INDEX src_i ON src USING btree (i)",
                "VACUUM ANALYZE src"]

    def definitions(self):
        return ", ".join(f"{name} {sql_type}" for name, sql_type in zip(self.columns, self.types))

    def create(self, table, extra=""):
        return [f"DROP TABLE IF EXISTS {table}_{{am}} CASCADE",
                f"CREATE TABLE {table}_{{am}} ({self.definitions()}, v int8{extra})"]

    def index(self, table, unique=False):
        return (f"CREATE {'UNIQUE ' if unique else ''}INDEX {table}_{{am}}_k ON {table}_{{am}} USING {{am}} ({self.keys})"
                f"{self.include}")

    def insert(self, table, first, last):
        return (f"INSERT INTO {table}_{{am}} ({self.keys}, v) SELECT {self.keys}, v FROM src"
                f" WHERE i BETWEEN {first} AND {last} ORDER BY i")

    def make(self, table, unique=False, before=True):
        """Statements that make a table of so many rows with its index, grown as it should be."""
        load = self.insert(table, 1, self.rows)
        steps = [*self.create(table), *([load, self.index(table, unique)] if self.built else [self.index(table, unique), load])]
        if self.percent and before:
            steps.append(self.insert(table, self.rows + 1, self.rows + self.rows * self.percent // 100))
        return steps

    def equal(self, table="t", other="p"):
        return " AND ".join(f"{table}.{name} = {other}.{name}" for name in self.columns)

    def probes(self, count):
        """A subquery of so many of the keys in random order."""
        return f"(SELECT * FROM probes LIMIT {count}) p"


@dataclass
class Work:
    """statement: one, or a list, timed.  each: an SQL text whose rows are texts of statements, planned each time; or, with `prepared`, the
    parameters of that.  prepare: done before each turn, untimed, if the work changes anything.  count: what the figures are
    divided by."""
    count: int
    statement: object = ""
    each: str = ""
    prepared: str = ""
    off: list = field(default_factory=list)
    on: list = field(default_factory=list)
    prepare: list = field(default_factory=list)
    source: list = field(default_factory=list)  # made once, for both
    table: str = "t"
    node: str = ""  # that the plan must have
    images: bool = False
    compared: bool = True  # answers
    what: tuple = ("cpu", "visits")  # measured

    @property
    def changes(self):
        return bool(self.prepare)


def per(place, count):
    """So many lookups, or less where each finds many rows."""
    duplicates = int(place.duplicates[1:]) if place.duplicates.startswith("d") else 1000
    return some(max(100, count // max(1, duplicates // 4)))


def nested(place, count, subquery, outer=None, result="count(*)", node="Index", **others):
    """For each of so many keys a subquery of t."""
    return Work(count, f"SELECT {result} FROM {outer or place.probes(count)} CROSS JOIN LATERAL ({subquery}) x",
                off=NESTED_LOOPS, node=node, **others)


def lookup(place):
    return nested(place, per(place, 5000), f"SELECT 1 FROM t_{{am}} t WHERE {place.equal()} OFFSET 0", node="Index Only Scan")


def fetch(place):
    return nested(place, per(place, 4000), f"SELECT t.v FROM t_{{am}} t WHERE {place.equal()} OFFSET 0", result="count(*), sum(x.v)",
                  node="Index Only Scan" if place.include else "Index Scan")


def miss(place):
    other = "p.a || '-'" if place.type == "text" else "p.a + 1"
    return nested(place, some(5000), f"SELECT 1 FROM t_{{am}} t WHERE t.a = {other} OFFSET 0", node="Index Only Scan")


def select(place):
    count = per(place, 500)
    condition = " AND ".join(f"{name} = %L" for name in place.columns)
    keys = ", ".join(f"p.{name}" for name in place.columns)
    return Work(count, each=f"SELECT format('SELECT sum(v) FROM t_{{am}} WHERE {condition}', {keys}) FROM {place.probes(count)}",
                off=["enable_seqscan", "enable_bitmapscan"])


def parameters(place):
    return " AND ".join(f"{name} = ${number}" for number, name in enumerate(place.columns, 1))


def prepared(place):
    count = per(place, 1000)
    return Work(count, each=f"SELECT {place.keys} FROM {place.probes(count)}",
                prepared=f"SELECT sum(v) FROM t_{{am}} WHERE {parameters(place)}", off=["enable_seqscan", "enable_bitmapscan"])


def limit1(place):
    return nested(place, some(3000), f"SELECT {place.keys} FROM t_{{am}} t WHERE {place.equal()} LIMIT 1", node="Index Only Scan")


def exists(place):
    return Work(some(3000), f"SELECT count(*) FROM {place.probes(some(3000))} WHERE EXISTS (SELECT 1 FROM t_{{am}} t WHERE {place.equal()})",
                off=NESTED_LOOPS + ["enable_sort"], node="Index Only Scan")


def latest(place):
    return nested(place, some(3000), "SELECT t.b, t.v FROM t_{am} t WHERE t.a = p.a ORDER BY t.b DESC LIMIT 1",
                  result="count(*), max(x.b), sum(x.v)", node="Index Scan")


def first_column(place):
    return nested(place, some({"int4,int4": 3000}.get(place.type, 2000)), "SELECT 1 FROM t_{am} t WHERE t.a = p.a OFFSET 0",
                  node="Index Only Scan")


def any_small(place):
    count = per(place, 300)
    return Work(count, each=f"SELECT array_agg(a)::text FROM (SELECT a, row_number() OVER () AS n FROM {place.probes(count * 10)}) x"
                            f" GROUP BY n % {count} ORDER BY n % {count}",
                prepared="SELECT count(*), sum(v) FROM t_{am} WHERE a = ANY ($1)", off=["enable_seqscan", "enable_bitmapscan"])


def any_large(place):
    array = place.types[0].split(" ")[0] + "[]"
    count = f"(SELECT count(DISTINCT a) / 3 FROM src WHERE i <= {place.rows})"
    return Work(1, f"SELECT count(*) FROM t_{{am}} t WHERE a = ANY ((SELECT keys FROM large)::{array})", off=["enable_seqscan", "enable_bitmapscan"],
                node="Index Only Scan",
                source=["DROP TABLE IF EXISTS large",
                        "CREATE TABLE large AS SELECT array_agg(a) AS keys FROM (SELECT a FROM (SELECT DISTINCT a FROM src"
                        f" WHERE i <= {place.rows}) x ORDER BY hashtextextended(a::text, 3) LIMIT {count}) y"])


# Keys with the one that comes 100 entries later.
RANGES = ["DROP TABLE IF EXISTS ranges",
          "CREATE TABLE ranges AS SELECT * FROM (SELECT a, lead(a, 100) OVER (ORDER BY a) AS z, v FROM t_btree) x"
          " WHERE z IS NOT NULL ORDER BY hashint8extended(v, 4) LIMIT 2000",
          "ANALYZE ranges"]


def ranges(place):
    return nested(place, some(300), "SELECT t.a FROM t_{am} t WHERE t.a >= p.a AND t.a < p.z OFFSET 0", f"(SELECT * FROM ranges LIMIT {some(300)}) p",
                  "count(x.a)", "Index Only Scan", source=RANGES)


def range_rows(place):
    return nested(place, some(150), "SELECT t.v FROM t_{am} t WHERE t.a >= p.a AND t.a < p.z OFFSET 0", f"(SELECT * FROM ranges LIMIT {some(150)}) p",
                  "sum(x.v)", "Index Scan", source=RANGES)


def page(place):
    return nested(place, some(1000), "SELECT t.a FROM t_{am} t WHERE t.a > p.a ORDER BY t.a LIMIT 20", result="count(x.a), max(x.a)" if place.type != "uuid4" else "count(x.a)",
                  node="Index Only Scan")


def next10(place, operator, direction):
    count = some(600)
    row, keys = ", ".join(place.columns), ", ".join(f"p.{name}" for name in place.columns)
    values = ", ".join(f"${number}" for number in range(1, len(place.columns) + 1))
    ordering = ", ".join(f"{name}{direction}" for name in place.columns)
    return Work(count, each=f"SELECT {keys} FROM {place.probes(count)}",
                prepared=f"SELECT {row}, v FROM t_{{am}} WHERE ({row}) {operator} ({values}) ORDER BY {ordering} LIMIT 10",
                off=["enable_seqscan", "enable_bitmapscan", "enable_sort"])


def keyset(place):
    return next10(place, ">", "")


def keyset_back(place):
    return next10(place, "<", " DESC")


# Lookups by the second column: fewer if more values of the first are passed over.
SKIPS = {"10groups": 200, "100groups": 100, "text-100groups": 100, "1000groups": 30, "10000groups": 10}


def over_groups(place, query, keys="b", condition="true"):
    count = max(5, int(SKIPS[place.type] * PART["of"]))
    return Work(count, each=f"SELECT {keys} FROM probes WHERE {condition} LIMIT {count}", prepared=query,
                off=["enable_seqscan", "enable_bitmapscan", "enable_sort"])


def skip(place):
    return over_groups(place, "SELECT count(*), min(a), max(a) FROM (SELECT a FROM t_{am} WHERE b = $1 OFFSET 0) x")


def skip_rows(place):
    return over_groups(place, "SELECT count(*), sum(v) FROM t_{am} WHERE b = $1")


def skip_range(place):
    groups = int(re.search(r"\d+", place.type)[0])
    last = f"a + {groups} / 4"
    if place.types[0] != "int4":
        last = f"'tenant ' || lpad((substr(a, 8)::int4 + {groups} / 4)::text, 6, '0')"
    return over_groups(place, "SELECT count(*) FROM t_{am} WHERE a BETWEEN $1 AND $2 AND b = $3", f"a, {last}, b",
                       f"{last} <= (SELECT max(a) FROM src)")


def skip_back(place):
    return over_groups(place, "SELECT a, b FROM t_{am} WHERE b = $1 ORDER BY a DESC LIMIT 10")


def top10(place):
    del place
    return Work(some(600), each=f"SELECT 10 FROM generate_series(1, {some(600)})", prepared="SELECT a FROM t_{am} ORDER BY a DESC LIMIT $1",
                off=["enable_seqscan", "enable_sort"])


def scan(place):
    columns = ", ".join(f"count({name})" for name in place.columns)
    return Work(place.rows, f"SELECT {columns} FROM t_{{am}}", off=["enable_seqscan", "enable_bitmapscan"], node="Index Only Scan")


def scan_rows(place):
    return Work(place.rows, "SELECT sum(v) FROM (SELECT v FROM t_{am} ORDER BY a OFFSET 0) x",
                off=["enable_seqscan", "enable_bitmapscan", "enable_sort"], node="Index Scan")


def count_all(place):
    return Work(place.rows, "SELECT count(*) FROM t_{am}", off=["enable_seqscan", "enable_bitmapscan"], node="Index Only Scan")


def group(place):
    return Work(place.rows, "SELECT count(*), sum(n) FROM (SELECT a, count(*) AS n FROM t_{am} GROUP BY a OFFSET 0) x",
                off=["enable_seqscan", "enable_bitmapscan", "enable_sort", "enable_hashagg"], node="Index Only Scan")


def minmax(place):
    del place
    return Work(some(600), each=f"SELECT 1 FROM generate_series(1, {some(600)})", prepared="SELECT min(a), max(a), $1 FROM t_{am}",
                off=["enable_seqscan", "enable_bitmapscan"])


def backward(place):
    order = ", ".join(f"{name} DESC" for name in place.columns)
    columns = ", ".join(f"count({name})" for name in place.columns)
    return Work(place.rows, f"SELECT {columns} FROM (SELECT {place.keys} FROM t_{{am}} ORDER BY {order} OFFSET 0) x",
                off=["enable_seqscan", "enable_bitmapscan", "enable_sort"], node="Index Only Scan Backward")


def bitmap(place):
    bound = f"(SELECT a FROM src WHERE i <= {place.rows} ORDER BY a OFFSET {place.rows} * {{}} / 100 LIMIT 1)"
    return Work(place.rows // 20, "SELECT count(*), sum(v) FROM t_{am}, bounds WHERE t_{am}.a >= bounds.y AND t_{am}.a < bounds.z",
                off=["enable_seqscan", "enable_indexscan", "enable_indexonlyscan"], node="Bitmap Index Scan",
                source=["DROP TABLE IF EXISTS bounds", f"CREATE TABLE bounds AS SELECT {bound.format(40)} AS y, {bound.format(45)} AS z",
                        "ANALYZE bounds"])


def merge(place):
    return Work(place.rows, "SELECT count(*) FROM t_{am} x JOIN t_{am} y ON x.a = y.a",
                off=["enable_seqscan", "enable_bitmapscan", "enable_hashjoin", "enable_nestloop", "fpbtree.enable_batch_join", "enable_sort", "enable_material"],
                node="Merge Join")


def like(place):
    prefix = "left(a, 3)" if place.type == "text" else "left(a, 36)"
    return Work(some(200), each=f"SELECT format('SELECT count(*), sum(v) FROM t_{{am}} WHERE a LIKE %L', {prefix} || '%') FROM {place.probes(some(200))}",
                off=["enable_seqscan", "enable_bitmapscan"])


def cross_type(place):
    other = {"int4": "int8", "int8": "int4", "date": "timestamptz", "timestamptz": "date"}[place.type]
    # of int8 keys only some fit the narrower type
    fits = "WHERE a < 2147483647" if place.type == "int8" else ""
    return nested(place, some(5000), "SELECT 1 FROM t_{am} t WHERE t.a = p.x OFFSET 0", "crossed p", node="Index Only Scan",
                  source=["DROP TABLE IF EXISTS crossed",
                          f"CREATE TABLE crossed AS SELECT a::{other} AS x FROM (SELECT a FROM probes, generate_series(1, 10)"
                          f" {fits} LIMIT {some(5000)}) p", "ANALYZE crossed"])


def plan(place):
    more = [f"c{number} int4" for number in range(1, 9)]
    return Work(some(300), each=f"SELECT format('EXPLAIN SELECT v FROM m_{{am}} WHERE a = %L', p.a) FROM {place.probes(some(300))}", compared=False,
                source=[statement.replace("{am}", am) for am in ("btree", "fpbtree") for statement in
                        [*place.create("m", ", " + ", ".join(more)), place.insert("m", 1, place.rows), place.index("m"),
                         *(f"CREATE INDEX ON m_{{am}} USING {{am}} ({name.split()[0]})" for name in ["v", *more]),
                         "VACUUM ANALYZE m_{am}"]])


# ---- work that changes the index: on tables of its own, made anew for each turn ----

CHANGES = ("cpu", "wal", "pages", "visits")
SINGLE = 5000  # rows inserted one by one, at most


def several(place, prepare, statement, count, **others):
    """Does it in several tables, one after the other, if one would be over in no time."""
    copies = max(1, 10000 // count)
    names = [f"w{number}" for number in range(copies)] if copies > 1 else ["w"]
    prepare = [re.sub(r"\bw_\{am\}", f"{name}_{{am}}", step) for name in names for step in prepare]
    statements = [re.sub(r"\bw_\{am\}", f"{name}_{{am}}", statement) for name in names]
    del place
    return Work(count * copies, statements if copies > 1 else statement, prepare=prepare, table=names[0], **others)


def insert(place, unique=False):
    if place.built:
        count = place.rows * place.percent // 100
        return several(place, place.make("w", unique, before=False), place.insert("w", place.rows + 1, place.rows + count), count,
                       what=CHANGES)
    return several(place, [*place.create("w"), place.index("w", unique)], place.insert("w", 1, place.rows), place.rows, what=CHANGES)


def insert_unique(place):
    return insert(place, True)


def insert_each(place):
    todo = insert(place)
    statements = todo.statement if isinstance(todo.statement, list) else [todo.statement]
    todo.statement = ["SET fpbtree.insert_batch_size = 0", *statements, "RESET fpbtree.insert_batch_size"]
    return todo


def values(place):
    return ", ".join(f"${number}" for number in range(1, len(place.columns) + 2))


def new_rows(place):
    return f"SELECT {place.keys}, v FROM src WHERE i BETWEEN {place.rows + 1} AND {place.rows + some(SINGLE)} ORDER BY i"


def rows(place, unique=False):
    return Work(some(SINGLE), each=new_rows(place), prepared=f"INSERT INTO w_{{am}} VALUES ({values(place)})",
                prepare=place.make("w", unique, before=False), table="w", what=("cpu", "wal", "pages"))


def rows_unique(place):
    return rows(place, True)


def rows_planned(place):
    row = ", ".join(["%L"] * len(place.columns))
    return Work(some(SINGLE), each=f"SELECT format('INSERT INTO w_{{am}} VALUES ({row}, %s)', {place.keys}, v) FROM ({new_rows(place)}) x",
                prepare=place.make("w", before=False), table="w", what=("cpu", "wal", "pages"))


def upsert(place):
    return Work(some(SINGLE), each=f"SELECT {place.keys}, v FROM src WHERE i BETWEEN {place.rows - some(SINGLE) // 2 + 1} AND {place.rows + some(SINGLE) // 2}"
                             " ORDER BY hashint8extended(i, 5)",
                prepared=f"INSERT INTO w_{{am}} VALUES ({values(place)}) ON CONFLICT ({place.keys}) DO UPDATE SET v = excluded.v + 1",
                prepare=place.make("w", True, before=False), table="w", what=("cpu", "wal", "pages"))


def foreign_key(place):
    return Work(some(20000), f"INSERT INTO c_{{am}} ({place.keys}) SELECT {place.keys} FROM {place.probes(some(20000))}",
                prepare=[*place.make("w", True, before=False), *place.create("c"),
                         f"ALTER TABLE c_{{am}} ADD FOREIGN KEY ({place.keys}) REFERENCES w_{{am}} ({place.keys})", place.index("c")],
                table="c", what=CHANGES)


def images(place):
    count = max(2000, place.rows // 100)
    return Work(count, place.insert("w", place.rows + 1, place.rows + count),
                prepare=[*place.make("w", before=False), "CHECKPOINT"], table="w", images=True, what=("wal",))


def second_index(place):
    """So that updates of v are not HOT."""
    del place
    return "CREATE INDEX w_{am}_v ON w_{am} USING {am} (v)"


def update_hot_row(place):
    return Work(some(3000), each=f"SELECT p.a FROM (SELECT a FROM src WHERE i = {place.rows // 2}) p, generate_series(1, {some(3000)})",
                prepared="UPDATE w_{am} SET v = v + 1 WHERE a = $1",
                prepare=[*place.make("w", True), second_index(place), "VACUUM ANALYZE w_{am}"], table="w", what=("cpu", "wal", "pages"))


def update(place):
    count = some(5000 if place.duplicates == "d1" else 500)
    return Work(count, each=f"SELECT a FROM {place.probes(count)}", prepared="UPDATE w_{am} SET v = v + 1 WHERE a = $1",
                prepare=[*place.make("w", place.duplicates == "d1"), second_index(place), "VACUUM ANALYZE w_{am}"], table="w",
                off=["enable_seqscan", "enable_bitmapscan"], what=("cpu", "wal", "pages"))


def update_key(place):
    other = {"5keys": "(a + 1) % 5", "d1": "a + interval '1 day'"}.get(place.duplicates, "a + 1")
    return Work(some(5000), each=f"SELECT v FROM {place.probes(some(5000))}", prepared=f"UPDATE w_{{am}} SET a = {other} WHERE v = $1",
                prepare=[*place.make("w"), second_index(place), "VACUUM ANALYZE w_{am}"], table="w",
                off=["enable_seqscan", "enable_bitmapscan"], what=("cpu", "wal", "pages"))


def queue(place):
    return Work(some(SINGLE), each=new_rows(place),
                prepared="WITH d AS (DELETE FROM w_{am} WHERE a = (SELECT a FROM w_{am} ORDER BY a LIMIT 1) RETURNING 1)"
                         f" INSERT INTO w_{{am}} SELECT $1::{place.types[0]}, $2::int8 FROM d",
                prepare=[*place.make("w", True), "VACUUM ANALYZE w_{am}"], table="w", off=["enable_seqscan", "enable_bitmapscan"],
                what=("cpu", "wal", "pages"))


def vacuum(place):
    return Work(place.rows // 10, "VACUUM w_{am}",
                prepare=[*place.make("w"), "VACUUM w_{am}", "DELETE FROM w_{am} WHERE (hashint8(v) & 1023) % 10 = 3"], table="w",
                what=("cpu", "wal", "pages"))


def churn(place):
    part = place.rows // 20
    return Work(place.rows, [statement for number in range(20) for statement in
                             (f"DELETE FROM w_{{am}} WHERE (hashint8(v) & 2147483647) % 20 = {number}",
                              place.insert("w", place.rows + number * part + 1, place.rows + (number + 1) * part), "VACUUM w_{am}")],
                prepare=place.make("w"), table="w", what=("cpu", "wal", "pages"))


def build(place):
    """Of the index that reads are made with: it is as it was before."""
    statements = [place.index("t")] if place.rows >= 100000 else [place.index("t"), *["REINDEX INDEX t_{am}_k"] * min(20, 100000 // place.rows)]
    return Work(place.rows * len(statements), statements, prepare=["DROP INDEX t_{am}_k"], table="t", what=("cpu", "wal", "pages"))


def of(cell):
    """The work of a cell."""
    place = Place(cell.type, cell.duplicates, cell.growth, int(float(cell.size)))
    return FUNCTIONS[cell.work](place)


FUNCTIONS = {name: globals()[{"range": "ranges", "count": "count_all"}.get(name, name.replace("-", "_"))] for name in WORK}
