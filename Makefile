# fpbtree: see README.md.
#
#   make, make install      the extension, for the PostgreSQL that PG_CONFIG names (17 or newer)
#   make installcheck       its SQL, isolation and TAP tests on a running server it is installed in
#   make demo               fpbtree against btree in a throw-away cluster; sets everything up by itself
#   make check              the short loop: SQL and isolation tests, short fuzzers, on one PostgreSQL; three minutes at most
#   make test               every test, on PostgreSQLs built for the purpose
#   make differential       a longer run of the comparison with btree and sequential scans
#   make histories          random histories of small tables, for two hours
#   make coverage           which lines and branches of src/ the tests run
#   make crashes            200 crashes of a busy server, all insertions by way of the operation queue: an hour
#   make prefixes           recovery to the end of each WAL record of a workload, not of some
#   make page-fuzz          a longer run of the page fuzzer
#   make sort-keys          whether ICU's sort keys contradict its comparison, half an hour
#   make joins              random joins, in batches and otherwise
#   make hunt               the fuzzers one after the other, with seeds from the clock: some hours
#   make layouts            the tests with each layout, and each format of nodes, but the default ones
#   make packages-test      the Debian packages, built and tried in Debian systems of their own
#   make container-test     docker/'s image and compose file, by a Docker daemon of their own
#   make bench              the benchmarks

clone := $(dir $(lastword $(MAKEFILE_LIST)))

MODULE_big = fpbtree
PG_CFLAGS = -MMD -MP
PGFILEDESC = "fpbtree - fractal prefetching B+-tree index access method"
OBJS := $(patsubst $(clone)%.c,%.o,$(sort $(wildcard $(clone)src/*/*.c $(clone)src/*/*/*.c)))
PG_CPPFLAGS = -I$(clone)src

# The page fuzzer is no part of the extension: dev/hunts/page-fuzz builds it in, with FPB_FUZZ=1.
ifdef FPB_FUZZ
OBJS += $(patsubst $(clone)%.c,%.o,$(sort $(wildcard $(clone)dev/hunts/fuzz/*.c)))
endif

# Nor is the driver of the papers' experiments: bench/fpbench papers builds it in, with FPB_BENCH=1.
ifdef FPB_BENCH
OBJS += $(patsubst $(clone)%.c,%.o,$(sort $(wildcard $(clone)bench/papers/driver/*.c)))
endif

EXTRA_CLEAN = $(OBJS:.o=.d)

REGRESS := $(patsubst $(clone)sql/%.sql,%,$(sort $(wildcard $(clone)sql/*.sql)))
ISOLATION := $(patsubst $(clone)specs/%.spec,%,$(sort $(wildcard $(clone)specs/*.spec)))
TAP_TESTS := $(if $(wildcard $(clone)t/*.pl),1)

# No bitcode: JIT inlines what expressions call, and they call nothing of an access method. It would need the very clang
# that the server was built with.
override with_llvm := no

# Demo, tests and benchmarks find or build a PostgreSQL by themselves, so a machine without one has to get
# past this point; there, only the extension's own targets say what is missing.
PG_CONFIG ?= pg_config
PGXS := $(wildcard $(shell $(PG_CONFIG) --pgxs 2>/dev/null))
pg_major := $(shell $(PG_CONFIG) --version 2>/dev/null | sed 's/^PostgreSQL \([0-9]*\).*/\1/')

# Where the server has operator classes that earlier ones have not, the version of the extension has another name. So
# after pg_upgrade there is something to update to, and the script of the update makes them. The control file is among
# the data, because one that EXTENSION names PGXS takes from the clone.
of_server := $(if $(filter-out 17 18,$(pg_major)),-pg19)
MODULEDIR = extension
DATA = fpbtree--1.0.sql $(addprefix fpbtree--1.0--1.0,$(addsuffix .sql,$(of_server)))
DATA_built = $(CURDIR)/fpbtree.control

# PGXS has a "check" of its own, which only says that it can't be done.
ifeq ($(MAKECMDGOALS),check)
check:
	@$(clone)dev/check
else
ifeq ($(and $(PGXS),$(filter-out 8 9 10 11 12 13 14 15 16,$(pg_major))),)
all install uninstall installcheck clean:
	@echo "PG_CONFIG=$(PG_CONFIG) does not name a PostgreSQL 17 or newer with its server headers." >&2
	@echo "Name one (make PG_CONFIG=/path/to/pg_config), or try \"make demo\"." >&2
	@exit 1
else
include $(PGXS)

# PGXS knows nothing of headers: the compiler writes down which ones an object is made of. In a build folder other than
# the clone the objects' folders are not there yet (their names are absolute because VPATH would find the clone's).
object_folders := $(addprefix $(CURDIR)/,$(patsubst %/,%,$(sort $(dir $(OBJS)))))
$(OBJS): | $(object_folders)
-include $(OBJS:.o=.d)
$(object_folders):
	mkdir -p $@

# Made each time: the one that is there may be another server's.
$(DATA_built): $(clone)fpbtree.control.in
	sed 's/@OF_SERVER@/$(of_server)/' $< >$@
endif
endif

demo:
	@$(clone)dev/demo

test:
	@$(clone)dev/test

differential:
	@$(clone)dev/test --differential

histories:
	@$(clone)dev/test --histories

coverage:
	@$(clone)dev/checks/coverage

prefixes:
	@$(clone)dev/test --prefixes

crashes:
	@FPB_CRASHES=200 FPBTREE_TEST_FLAVOURS=18-assert FPBTREE_TEST_TIMEOUT=10800 $(clone)dev/test --layout queue 010_crash

page-fuzz:
	@$(clone)dev/hunts/page-fuzz --minutes 60

joins:
	@$(clone)dev/hunts/joins --minutes 30

sort-keys:
	@$(clone)dev/hunts/sort-keys --minutes 30

hunt: differential histories page-fuzz sort-keys joins

layouts:
	@$(clone)dev/test --layout micro_index
	@$(clone)dev/test --layout cache_first
	@$(clone)dev/test --layout csb

packages-test:
	@$(clone)dev/packaging/package-test

container-test:
	@$(clone)dev/packaging/container-test

bench:
	@$(clone)bench/fpbench run

.PHONY: $(DATA_built) all install uninstall installcheck clean demo check test differential histories coverage crashes prefixes page-fuzz sort-keys joins hunt layouts packages-test container-test bench
