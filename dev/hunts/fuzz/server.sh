# shellcheck shell=bash
# A server with the page fuzzer in it, for dev/hunts/page-fuzz and dev/checks/mutations.
# Sourced after dev/lib.sh, never run.

FUZZ_COPT=$WARNINGS
if [ -n "${FPBTREE_TEST_COVERAGE:-}" ]; then FUZZ_COPT=$COVERAGE; fi

fuzz_psql() { "$FPB_CLONE/dev/servers/cluster" psql page-fuzz -X -q -A -t -v ON_ERROR_STOP=1 "$@"; }

# Builds the sources in $WORK/build with the fuzzer, and installs them in the server that new sessions are of.
fuzz_build() {
	build_extension "$WORK/build" "$WORK/pg/bin/pg_config" FPB_FUZZ=1 COPT="$FUZZ_COPT" install \
		>"$WORK/log" 2>&1 || { tail -n 40 "$WORK/log" >&2; return 1; }
}

# Copies the server that the pg_config $1 belongs to, or one of our own, and the sources; builds these, and starts a server with
# the tables of all forms. All of it is in $WORK and goes when the script ends.
fuzz_set_up() {
	local pg_config=$1
	[ -n "$pg_config" ] || pg_config=$("$FPB_CLONE/dev/servers/get-postgres" 18 assert)
	mkdir -p -- "$(cache_dir)"
	WORK=$(mktemp -d "$(cache_dir)/page-fuzz.XXXXXX")
	trap fuzz_finish EXIT
	trap 'exit 130' INT TERM
	chmod 755 "$WORK"
	export FPBTREE_CLUSTERS=$WORK/clusters
	ensure_user
	user_dir "$FPBTREE_CLUSTERS"
	copy_server "${pg_config%/bin/pg_config}" "$WORK/pg"
	copy_sources "$WORK/build"
	log "building the extension with the page fuzzer in it"
	fuzz_build || die "the build has failed"
	# what gcov counts is written beside the objects
	if [ -n "${FPBTREE_TEST_COVERAGE:-}" ]; then find "$WORK/build/src" -type d | while read -r folder; do user_dir "$folder"; done; fi
	fuzz_start
	# forms whose layout is not to be had say so
	fuzz_psql -c "SET client_min_messages = warning" -f "$FPB_CLONE/dev/hunts/fuzz/forms.sql" >/dev/null
}

fuzz_start() {
	"$FPB_CLONE/dev/servers/cluster" start page-fuzz --pg-config "$WORK/pg/bin/pg_config" -o fsync=off -o autovacuum=off >/dev/null
}

fuzz_finish() {
	"$FPB_CLONE/dev/servers/cluster" destroy page-fuzz >/dev/null 2>&1 || true
	if [ -n "${FPBTREE_TEST_COVERAGE:-}" ]; then
		mkdir -p "$FPBTREE_TEST_COVERAGE/page-fuzz"
		(cd "$WORK/build" && find src -name '*.gc*' -exec cp --parents -t "$FPBTREE_TEST_COVERAGE/page-fuzz/" {} +) || true
	fi
	rm -rf -- "$WORK"
}

# The indexes of all forms.
fuzz_forms() { fuzz_psql -c "SELECT relname FROM pg_class WHERE relkind = 'i' AND relname ~ '^f_' ORDER BY oid"; }
