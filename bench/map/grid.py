"""Which cells the map has, and why: ordinary work, weighted by how common it is.

A cell is work / type of key / duplicates / growth / size.  Its weight is the product of the five weights.  They are
estimates of how often one meets such an index or statement in databases that serve applications; only their order matters,
because the map is sorted by them.
"""
import fnmatch
from dataclasses import dataclass

# name: weight, SQL types of the columns, their values for key number k.  The order of keys is that of k, except for those
# that are random by nature (in RANDOM_BY_NATURE).
TYPES = {
    "int4": (10, {"a": ("int4", "k::int4")}),
    "int8": (10, {"a": ("int8", "k * 1000003")}),
    "uuid4": (6, {"a": ("uuid", "md5(k::text)::uuid")}),
    "uuid7": (4, {"a": ("uuid", "(lpad(to_hex(1700000000000 + k / 4), 12, '0') || '7' || substr(md5(k::text), 1, 3)"
                        " || '8' || substr(md5(k::text), 4, 15))::uuid")}),
    "text": (6, {"a": ('text COLLATE "C"', "substr(md5(k::text), 1, 12)")}),
    "icu": (4, {"a": ('text COLLATE "und-x-icu"', "substr(md5(k::text), 1, 12)")}),
    "icu-prefix": (3, {"a": ('text COLLATE "und-x-icu"', "'customer-' || lpad(k::text, 9, '0')")}),
    "libc": (6, {"a": ('text COLLATE "en_US.utf8"', "substr(md5(k::text), 1, 12)")}),
    "libc-C": (4, {"a": ('text COLLATE "C.utf8"', "substr(md5(k::text), 1, 12)")}),
    "prefix": (3, {"a": ('text COLLATE "C"', "'https://example.org/customer/' || lpad(k::text, 9, '0')")}),
    "numeric": (3, {"a": ("numeric", "k * 1000003 / 100.0")}),
    "timestamptz": (6, {"a": ("timestamptz", "timestamptz '2020-01-01 00:00Z' + k * interval '1.5 s'")}),
    "date": (3, {"a": ("date", "date '1990-01-01' + k::int4")}),
    "int4,int4": (5, {"a": ("int4", "k / 10"), "b": ("int4", "k % 10")}),
    "int4,timestamptz": (5, {"a": ("int4", "k / 50"), "b": ("timestamptz", "timestamptz '2020-01-01 00:00Z' + (k % 50) * interval '1 h'")}),
    "text,int8": (4, {"a": ('text COLLATE "C"', "'tenant ' || lpad((k / 100)::text, 6, '0')"), "b": ("int8", "k")}),
    "int4,text": (4, {"a": ("int4", "k / 1000"), "b": ('text COLLATE "C"', "substr(md5(k::text), 1, 12)")}),
    "uuid,timestamptz": (5, {"a": ("uuid", "md5((k / 1000)::text)::uuid"), "b": ("timestamptz", "timestamptz '2020-01-01 00:00Z' + k * interval '1.5 s'")}),
    "uuid,uuid": (4, {"a": ("uuid", "md5((k / 20)::text)::uuid"), "b": ("uuid", "md5(k::text)::uuid")}),
    "uuid,int8": (3, {"a": ("uuid", "md5(k::text)::uuid"), "b": ("int8", "k % 10")}),
    "int8,uuid": (5, {"a": ("int8", "k / 1000"), "b": ("uuid", "md5(k::text)::uuid")}),
    "int8,text": (5, {"a": ("int8", "k / 1000"), "b": ('text COLLATE "C"', "'document-' || lpad(k::text, 8, '0')")}),
    "text,text": (4, {"a": ('text COLLATE "C"', "'country-' || k / 10000"), "b": ('text COLLATE "C"', "'customer-' || lpad(k::text, 8, '0')")}),
    "three": (2, {"a": ("int4", "k / 100"), "b": ("int4", "k % 100"), "c": ("int8", "k")}),
    "int8+include": (2, {"a": ("int8", "k * 1000003")}),
    "int4,int8+include": (2, {"a": ("int4", "k / 10"), "b": ("int8", "k % 10")}),
    "int2": (2, {"a": ("int2", "k::int2")}),
    # so many values of the first column, if there are 300,000 rows and those that may be inserted
    "10groups": (3, {"a": ("int4", "k / 30600"), "b": ("int4", "k % 30600")}),
    "100groups": (3, {"a": ("int4", "k / 3060"), "b": ("int4", "k % 3060")}),
    "1000groups": (3, {"a": ("int4", "k / 306"), "b": ("int4", "k % 306")}),
    "10000groups": (2, {"a": ("int4", "k / 31"), "b": ("int4", "k % 31")}),
    "text-100groups": (3, {"a": ('text COLLATE "C"', "'tenant ' || lpad((k / 3060)::text, 6, '0')"), "b": ("int8", "k % 3060")}),
}
RANDOM_BY_NATURE = {"uuid4", "text", "icu", "libc", "libc-C"}

# Rows of a key.  "5keys": five keys in all, like the states of an order.
DUPLICATES = {"d1": 10, "d5": 4, "d20": 4, "d100": 3, "d300": 2, "5keys": 3}

# How the index has come to be as it is.
GROWTH = {
    "built": 10,   # CREATE INDEX on a table in random order: after a restore, a REINDEX, a migration
    "random": 6,   # by insertions in random order from the beginning
    "asc": 10,     # by ascending ones: a sequence, a time
    "desc": 1,     # by descending ones
    "local": 4,    # ascending, each within the last 40: several backends that take from one sequence, clocks
    "series": 3,   # 1,000 ascending series in turn: a number for each customer
    "built+6": 5, "built+25": 5, "built+50": 4,  # built, then so many percent more in random order
}
# Entries.
SIZES = {"1e3": 3, "1e4": 4, "1e5": 6, "3e5": 6, "1e6": 5, "1e7": 2}

# What is done: weight, what it is, and why it is ordinary.
WORK = {
    "lookup": (9, "keys looked up by a nested loop, index-only: a join of ordinary size"),
    "fetch": (10, "keys looked up by a nested loop, with the row: a join that needs other columns"),
    "miss": (4, "keys that are not there, looked up by a nested loop: anti-joins, checks before an insertion"),
    "select": (10, "SELECT of one key, planned each time: the simple protocol, most drivers' default"),
    "prepared": (9, "SELECT of one key, prepared"),
    "limit1": (6, "LIMIT 1 of a key, by a nested loop: any one of a customer's rows"),
    "exists": (6, "EXISTS, by a nested loop"),
    "latest": (6, "the latest row of a group, by a nested loop: ORDER BY b DESC LIMIT 1"),
    "first-column": (5, "the rows of a value of the first of two columns, by a nested loop"),
    "any-small": (7, "= ANY of ten keys, prepared: an ORM that loads related rows"),
    "any-large": (3, "= ANY of a third of all keys, at once: a batch job"),
    "range": (6, "ranges of 100 entries, by a nested loop, index-only"),
    "range-rows": (6, "ranges of 100 entries, by a nested loop, with the rows"),
    "page": (6, "the next 20 after a key, in order: a list that is turned page by page"),
    "keyset": (6, "the next 10 after a key of several columns, as a row comparison, prepared: such a list"),
    "keyset-back": (3, "the 10 before it, backward"),
    "skip": (4, "a value of the second column, whatever the first, prepared: skip scans"),
    "skip-rows": (3, "the same, with the rows"),
    "skip-range": (4, "a value of the second column, and a quarter of the first column's, prepared"),
    "skip-back": (3, "a value of the second column, the last ten, backward, prepared: the latest of all customers"),
    "top10": (6, "the ten greatest keys, prepared: the latest entries"),
    "scan": (4, "the whole index, index-only, all columns read"),
    "scan-rows": (3, "all rows in the order of the index"),
    "count": (5, "count(*) by the index"),
    "group": (4, "GROUP BY with a count, by an index-only scan"),
    "minmax": (4, "min and max, prepared"),
    "backward": (2, "the whole index backward, index-only"),
    "bitmap": (3, "a twentieth of the rows by a bitmap scan"),
    "merge": (3, "a merge join of the index with itself"),
    "like": (2, "LIKE 'abc%', planned each time"),
    "cross-type": (3, "lookups by values of another type, by a nested loop"),
    "plan": (5, "EXPLAIN of a SELECT by key; the table has ten indexes"),
    "insert": (8, "INSERT ... SELECT: loads, batches"),
    "insert-each": (8, "the same, but that each entry goes in by itself: many single insertions, beside rows"),
    "insert-unique": (7, "INSERT ... SELECT with a unique index: primary keys"),
    "rows": (9, "INSERT of one row, prepared, each a transaction"),
    "rows-unique": (9, "the same with a unique index: primary keys"),
    "rows-planned": (6, "INSERT of one row, planned each time, each a transaction"),
    "upsert": (4, "INSERT of one row ... ON CONFLICT DO UPDATE, half of the keys are there"),
    "foreign-key": (4, "INSERT ... SELECT of rows that refer to a key"),
    "images": (8, "the first insertions after a checkpoint: WAL with images of pages"),
    "update-hot-row": (3, "one row updated again and again, not HOT: a counter, a job's state"),
    "update": (7, "updates of random rows, not HOT, whose key does not change"),
    "update-key": (4, "updates of random rows' key to another: the state of an order"),
    "queue": (3, "the least key is taken and deleted, a greater one inserted: a table of jobs"),
    "vacuum": (5, "VACUUM after a tenth of the rows has been deleted"),
    "churn": (4, "a twentieth of the rows replaced by new ones, and a VACUUM; twenty times"),
    "build": (5, "CREATE INDEX"),
}

ALL_TYPES = ("int4 int8 uuid4 uuid7 text icu libc prefix numeric timestamptz int4,int4 int4,timestamptz text,int8 three int8+include")
ORDERED = "int8 uuid7 timestamptz int4,int4 text,int8"

# The cells: work, types, duplicates, growth, sizes; each line all combinations of its words.  Not the full product: a line
# varies what its work depends on, and keeps the rest as it is usual.
CELLS = """
lookup        | int4 int8 uuid4 uuid7 text icu icu-prefix libc libc-C prefix numeric timestamptz int4,int4 int4,text text,int8 int8+include | d1 | built | 3e5
lookup        | uuid,timestamptz uuid,uuid uuid,int8 int8,uuid int8,text text,text | d1 | built | 3e5
lookup        | libc                          | d20     | built                       | 3e5
lookup        | int4 int8 uuid4 text          | d5 d20 d100 d300 | built              | 3e5
lookup        | int8 text                     | d1      | built                       | 1e3 1e4 1e5 1e6
lookup        | int8                          | d1      | random asc built+25         | 1e6
lookup        | int8                          | d1      | built                       | 1e7
fetch         | int4 int8 uuid4 uuid7 text icu icu-prefix libc prefix timestamptz int4,int4 | d1 | built | 3e5
fetch         | uuid,timestamptz int8,uuid int8,text text,text | d1 | built            | 3e5
fetch         | int4 int8 uuid4 text          | d5 d20 d100 | built                   | 3e5
fetch         | int8                          | d1      | random asc                  | 1e3 1e5
miss          | int8 text                     | d1      | built                       | 3e5
select        | int4 int8 uuid4 text timestamptz int4,int4 | d1 | built               | 3e5
select        | int8                          | d1      | built                       | 1e3 1e4 1e6
select        | int4 uuid4                    | d20     | built                       | 3e5
prepared      | int4 int8 uuid4 uuid7 text icu libc int4,int4 text,int8 | d1 | built       | 3e5
prepared      | uuid,uuid int8,uuid           | d1      | built                       | 3e5
prepared      | int8                          | d1      | built                       | 1e3 1e4 1e6
prepared      | int4 uuid4                    | d20     | built                       | 3e5
limit1        | int4 int8 uuid4 text          | d5 d20 d100 d300 | built              | 3e5
limit1        | int4                          | d1      | built                       | 3e5
exists        | int4 int8 uuid4 text          | d20 d100 d300 | built                 | 3e5
exists        | int4                          | d1      | built                       | 3e5
latest        | int4,timestamptz              | d1      | built random                | 3e5
first-column  | int4,int4 int4,timestamptz int4,text text,int8 three | d1 | built               | 3e5
first-column  | uuid,timestamptz uuid,uuid int8,text | d1 | built                      | 3e5
any-small     | int4 int8 uuid4 text          | d1 d20  | built                       | 3e5
any-large     | int4 int8 uuid4 text numeric  | d1      | built                       | 3e5
any-large     | int4 uuid4                    | d20     | built                       | 3e5
any-large     | int8                          | d1      | random                      | 3e5
range         | int4 int8 uuid4 text libc timestamptz prefix | d1 | built                  | 3e5
range         | int8                          | d1      | random                      | 3e5
range         | int4 date                     | d20     | built                       | 3e5
range-rows    | int4 int8 text timestamptz    | d1      | built                       | 3e5
range-rows    | date                          | d20     | built                       | 3e5
page          | int4 int8 uuid4 text timestamptz | d1   | built                       | 3e5
page          | int4 date                     | d20     | built                       | 3e5
keyset        | int4,int4 int4,timestamptz uuid,timestamptz text,int8 three int4,int8+include | d1 | built | 3e5
keyset-back   | int4,int4 text,int8 int4,int8+include | d1 | built                      | 3e5
skip          | 10groups 100groups 1000groups 10000groups text-100groups | d1 | built    | 3e5
skip          | 100groups text-100groups      | d1      | random                      | 3e5
skip-rows     | 100groups text-100groups      | d1      | built                       | 3e5
skip-range    | 10groups 100groups 1000groups 10000groups text-100groups | d1 | built    | 3e5
skip-back     | 10groups 100groups 1000groups text-100groups | d1 | built                | 3e5
top10         | int8 timestamptz text         | d1      | asc built                   | 3e5
scan          | int4 int8 uuid4 uuid7 text icu libc prefix numeric timestamptz int4,int4 int4,timestamptz text,int8 three int8+include | d1 | built | 3e5
scan          | uuid,timestamptz uuid,uuid int8,uuid int8,text text,text | d1 | built  | 3e5
scan          | int4 int8 uuid4 text          | d20     | built                       | 3e5
scan          | int8 uuid4                    | d1      | random                      | 3e5
scan-rows     | int8 text                     | d1      | built                       | 3e5
count         | int4 int8 uuid4 text          | d1 d20  | built                       | 3e5
count         | int8                          | d1      | built                       | 1e6
group         | int4 int8 uuid4 text          | d20 d300 | built                      | 3e5
group         | int2 int4                     | 5keys   | built                       | 3e5
minmax        | int4 int8 text timestamptz    | d1 d20  | built                       | 3e5
backward      | int4 int8 uuid4 text three    | d1      | built                       | 3e5
backward      | int4                          | d20     | built                       | 3e5
bitmap        | int4 int8 text                | d1 d20  | built                       | 3e5
merge         | int4 int8 uuid4 text          | d1      | built                       | 3e5
like          | text prefix                   | d1      | built                       | 3e5
cross-type    | int4 int8 date timestamptz    | d1      | built                       | 1e4
cross-type    | date                          | d20     | built                       | 3e5
plan          | int8 text                     | d1      | built                       | 1e4
insert        | int4 int8 uuid4 text icu icu-prefix libc libc-C prefix numeric timestamptz int4,int4 int4,text text,int8 | d1 | random | 1e5
insert        | int4 int8 uuid7 timestamptz int4,int4 text,int8 prefix libc | d1 | asc | 1e5
insert        | uuid,timestamptz uuid,uuid uuid,int8 int8,uuid int8,text text,text | d1 | random | 1e5
insert        | uuid,timestamptz int8,uuid int8,text | d1 | series built+25          | 1e5
insert        | int8 text,int8 libc           | d1      | desc                        | 1e5
insert        | int8 uuid7 timestamptz text,int8 | d1   | local                       | 1e5
insert        | int8 int4,int4 text,int8      | d1      | series                      | 1e5
insert        | int4 int8 uuid4 text timestamptz int4,int4 text,int8 | d1 | built+6 built+25 built+50 | 3e5
insert        | int4 int8 uuid4 text          | d5 d20 d100 d300 | random built+25    | 1e5
insert        | int4 int8 timestamptz         | d20     | asc                         | 1e5
insert        | libc                          | d1      | built+25                    | 3e5
insert        | libc                          | d20     | random built+25             | 1e5
insert        | int2                          | 5keys   | random                      | 1e5
insert        | int8 uuid4                    | d1      | built+25                    | 1e4 1e6
insert-each   | int4 int8 uuid4 text icu libc libc-C numeric int4,int4 int4,text text,int8 | d1 | random | 1e5
insert-each   | uuid,timestamptz uuid,uuid uuid,int8 int8,uuid int8,text text,text | d1 | random | 1e5
insert-each   | uuid,timestamptz int8,uuid int8,text | d1 | series                   | 1e5
insert-each   | int8 uuid7 text,int8 libc     | d1      | asc                         | 1e5
insert-each   | int8                          | d1      | desc local series           | 1e5
insert-each   | int8 uuid4 text libc          | d1      | built+25                    | 3e5
insert-each   | int4 uuid4 text               | d20     | random built+25             | 1e5
insert-unique | int8 uuid4 text libc          | d1      | random                      | 1e5
insert-unique | int4 int8 uuid7 int4,int4     | d1      | asc                         | 1e5
rows          | int8 uuid4 text timestamptz   | d1      | built+25                    | 1e4 1e5
rows          | int4 uuid4                    | d20     | built+25                    | 1e5
rows          | int4 int8 timestamptz         | d1 d20  | asc                         | 1e4
rows-unique   | int8 uuid4 text               | d1      | built+25                    | 1e4 1e5
rows-unique   | int4 int8 uuid7               | d1      | asc                         | 1e4
rows-planned  | int8 uuid4                    | d1      | built+25                    | 1e5
rows-planned  | int8                          | d1      | asc                         | 1e4
upsert        | int8 text                     | d1      | built+25                    | 1e5
foreign-key   | int4 uuid4                    | d1      | built                       | 1e5
images        | int4 int8 uuid4 text timestamptz int4,int4 | d1 | built+6 random      | 3e5
images        | int8 uuid7                    | d1      | asc local                   | 1e5
images        | int8 text,int8                | d1      | series                      | 1e5
images        | int4 uuid4                    | d20     | built+6                     | 3e5
update-hot-row | int4 uuid4                   | d1      | built                       | 1e3
update        | int4 int8 uuid4 text libc     | d1      | built                       | 1e4 1e5
update        | int4 uuid4                    | d20     | built                       | 1e5
update-key    | int2 int4                     | 5keys   | built                       | 1e5
update-key    | int4                          | d20     | built                       | 1e5
update-key    | timestamptz                   | d1      | built                       | 1e5
queue         | int8 timestamptz              | d1      | asc                         | 1e3
vacuum        | int4 int8 uuid4 text          | d1      | built random                | 1e5
vacuum        | int4 uuid4                    | d20     | built                       | 1e5
churn         | int8 uuid4 text               | d1      | built                       | 1e5
churn         | int4                          | d20     | built                       | 1e5
build         | int4 int8 uuid4 uuid7 text icu icu-prefix libc libc-C prefix numeric timestamptz int4,int4 text,int8 three int8+include | d1 | built | 3e5
build         | uuid,timestamptz uuid,uuid uuid,int8 int8,uuid int8,text text,text | d1 | built | 3e5
build         | libc                          | d20     | built                       | 3e5
build         | int4 int8 uuid4 text timestamptz | d5 d20 d100 d300 | built           | 3e5
build         | int8                          | d1      | built                       | 1e3 1e4 1e6
"""


@dataclass(frozen=True)
class Cell:
    work: str
    type: str
    duplicates: str
    growth: str
    size: str

    @property
    def name(self):
        return f"{self.work}/{self.type}/{self.duplicates}/{self.growth}/{self.size}"

    @property
    def weight(self):
        """1,000 would be what is most common in each respect."""
        weights = (WORK[self.work][0], TYPES[self.type][0], DUPLICATES[self.duplicates], GROWTH[self.growth], SIZES[self.size])
        product = 1
        for weight in weights:
            product *= weight
        return round(product * 1000 / (10 * 10 * 10 * 10 * 6), 1)

    @property
    def fixture(self):
        """Cells that have it in common are measured one after the other, on the same tables."""
        return (self.type, self.duplicates, self.growth, self.size)


def all_cells():
    cells = {}
    for line in CELLS.strip().splitlines():
        works, *others = (part.split() for part in line.split("|"))
        for work in works:
            for key_type in others[0]:
                for duplicates in others[1]:
                    for growth in others[2]:
                        for size in others[3]:
                            cell = Cell(work, key_type, duplicates, growth, size)
                            cells[cell.name] = cell
    return cells


def tenth(cells):
    """A tenth of the cells: of each tenth in the order of weights within a kind of work the middle one."""
    chosen, ordered = [], sorted(cells, key=lambda cell: (list(WORK).index(cell.work), -cell.weight, cell.name))
    for start in range(0, len(ordered), 10):
        chosen.append(ordered[min(start + 4, len(ordered) - 1)])
    return chosen


def matching(cells, patterns):
    """Those whose names match one of the patterns, or contain it."""
    return [cell for cell in cells
            if any(fnmatch.fnmatchcase(cell.name, pattern) or pattern in cell.name for pattern in patterns)]
