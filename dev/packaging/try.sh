# shellcheck shell=bash
# Tests that are a function or command each, and the closing line about them.
# Sourced after dev/lib.sh, never run.

declare -A TRIED=([ok]=0 [FAILED]=0 [skip]=0)

# Runs one test: name, command. Status 77 says that it can't be run here; its output is shown then, or if it fails. Sets
# OUTCOME, not a status: where bash looks at one, a failing command would not end what is run.
try() {
	local name=$1 status output
	shift
	output=$(mktemp)
	set +e
	(set -e; "$@") >"$output" 2>&1
	status=$?
	set -e
	case $status in
	0) OUTCOME=ok ;;
	77) OUTCOME=skip ;;
	*) OUTCOME=FAILED ;;
	esac
	TRIED[$OUTCOME]=$((TRIED[$OUTCOME] + 1))
	printf '%-6s %s\n' "$OUTCOME" "$name"
	[ "$OUTCOME" = ok ] || tail -n 40 "$output" | sed 's/^/    /'
	rm -f -- "$output"
}

# The closing line; its status says whether none has failed.
report() {
	printf '%s passed, %s failed%s\n' "${TRIED[ok]}" "${TRIED[FAILED]}" \
		"$([ "${TRIED[skip]}" -eq 0 ] || echo ", ${TRIED[skip]} skipped")"
	[ "${TRIED[FAILED]}" -eq 0 ]
}
