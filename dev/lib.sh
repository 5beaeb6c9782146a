# shellcheck shell=bash
# What the scripts in dev/ share: the cache folder, the unprivileged user, packages and progress lines.
# Sourced, never run.

FPB_CLONE=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
FPB_USER=fpbtree

# `make` hands down its flags and overrides; none of them is meant for the makes started from here.
unset MAKEFLAGS MFLAGS MAKEOVERRIDES MAKELEVEL GNUMAKEFLAGS
# Somebody's own connection settings must not reach into throw-away clusters.
unset PGHOST PGHOSTADDR PGPORT PGUSER PGPASSWORD PGDATABASE PGOPTIONS PGSERVICE PGDATA PGCLIENTENCODING PGTZ PGDATESTYLE
export PSQLRC=/dev/null LC_ALL=C.UTF-8

# How sources are compiled where warnings are errors.
# shellcheck disable=SC2034 # of the scripts
WARNINGS='-Wall -Wextra -Wno-sign-compare -Wno-missing-field-initializers -Werror'
# How sources are compiled if it is to be counted what of them is run. Optimised code is not in the order of the sources.
# shellcheck disable=SC2034 # of the scripts
COVERAGE='--coverage -O0'

# One clock for a script and for those it starts.
export FPB_BEGAN=${FPB_BEGAN:-$EPOCHSECONDS}

# Progress goes to stderr, because the stdout of a script is its answer.
log() {
	local seconds=$((EPOCHSECONDS - FPB_BEGAN))
	printf '[%2d:%02d] %s\n' $((seconds / 60)) $((seconds % 60)) "$*" >&2
}

die() {
	printf '%s: %s\n' "$(basename -- "$0")" "$*" >&2
	exit 1
}

am_root() { [ "$(id -u)" -eq 0 ]; }

# Outside the clone, so that `git clean` costs nobody a build. Root's home is closed to the unprivileged
# user who runs the servers, hence another place for root.
cache_dir() {
	if [ -n "${FPBTREE_CACHE:-}" ]; then
		realpath -m -- "$FPBTREE_CACHE"
	elif am_root; then
		printf '/var/cache/fpbtree\n'
	else
		printf '%s/fpbtree\n' "${XDG_CACHE_HOME:-$HOME/.cache}"
	fi
}

# Whether there is a way to run something as root: a sudo that asks for a password needs a terminal.
can_be_root() {
	am_root || { command -v sudo >/dev/null && { sudo -n true 2>/dev/null || [ -t 0 ]; }; }
}

# Runs a command as root; says what a person can do about it when there is no way.
as_root() {
	if am_root; then
		"$@"
	elif can_be_root; then
		sudo -- "$@"
	else
		die "this needs root, and there is no usable sudo; please run as root: $*"
	fi
}

# PostgreSQL refuses to run as root, so root's servers and tests belong to a user of their own.
ensure_user() {
	am_root || return 0
	id -u "$FPB_USER" >/dev/null 2>&1 ||
		useradd --system --user-group --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin "$FPB_USER"
}

# Runs a command as the unprivileged user: the caller, or root's stand-in.
as_user() {
	if am_root; then
		HOME=/nonexistent USER=$FPB_USER LOGNAME=$FPB_USER \
			setpriv --reuid "$FPB_USER" --regid "$FPB_USER" --init-groups -- "$@"
	else
		"$@"
	fi
}

# Makes a directory which the unprivileged user owns.
user_dir() {
	mkdir -p -- "$@"
	if am_root; then chown -- "$FPB_USER:" "$@"; fi
}

package_installed() {
	[ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

# Installs those of the packages that are missing. Nothing is asked of the network when none is.
install_packages() {
	local package output
	local -a missing=() apt=(env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=600)
	command -v dpkg-query >/dev/null || die "not a Debian machine; please install what corresponds to: $*"
	for package in "$@"; do
		package_installed "$package" || missing+=("$package")
	done
	[ "${#missing[@]}" -gt 0 ] || return 0
	# Here, because what is run as root below keeps its output to itself.
	can_be_root || die "packages are missing, and there is no usable sudo to install them with;" \
		"please run as root: apt-get install ${missing[*]}"
	log "installing packages: ${missing[*]}"
	output=$(mktemp)
	# A machine's other package sources may well be out of reach; what counts is the installation itself.
	as_root "${apt[@]}" update >/dev/null 2>&1 || log "apt-get update had complaints, going on"
	as_root "${apt[@]}" install -y --no-install-recommends "${missing[@]}" </dev/null >"$output" 2>&1 || {
		tail -n 20 "$output" >&2
		rm -f -- "$output"
		die "could not install the packages"
	}
	rm -f -- "$output"
}

# The archives that the machine's package sources name, in whatever format they are written: apt itself
# reads them. Those that look like Debian's main archive come first.
mirrors() {
	apt-get update --print-uris 2>/dev/null | sed -nE "s|^'([^']+)/dists/[^']*' .*|\1|p" | awk '!seen[$0]++' |
		awk '{ print ($0 ~ /\/debian$/ ? 0 : 1), NR, $0 }' | sort -n | cut -d' ' -f3-
}

# What building PostgreSQL and the extension takes, what PostgreSQL's own Perl test modules take, and the programs tested.
install_build_packages() {
	install_packages build-essential bison flex pkg-config perl libicu-dev liburing-dev liblz4-dev libzstd-dev \
		zlib1g-dev libreadline-dev libipc-run-perl python3 dpkg-dev xz-utils bzip2 ca-certificates util-linux
}

# Waits for an open lock file, and says so if it is a wait.
lock() {
	flock -n "$1" || { log "another run is at it, waiting"; flock "$1"; }
}

# The major version of the PostgreSQL that a pg_config belongs to: "PostgreSQL 18beta1 (...)" gives 18.
pg_major() {
	"$1" --version | sed -E 's/^PostgreSQL ([0-9]+).*/\1/'
}

# Copies the sources of the extension into a folder of their own: objects of two servers never mix, the
# clone stays clean, and a clone in somebody's closed home becomes readable to the unprivileged user.
copy_sources() {
	mkdir -p -- "$1"
	tar -C "$FPB_CLONE" --exclude=./.git --exclude='*.o' --exclude='*.so' --exclude='*.bc' --exclude='./tmp_check*' \
		--exclude=./results --exclude='./output_iso' --exclude='./log' -cf - . | tar -C "$1" --no-same-owner -xf -
}

# Builds the extension in folder $1, which is a copy of the sources, for the server that the pg_config $2 belongs to. The
# other arguments are make's. Objects of earlier builds are taken from the cache folder if they were made of the same file,
# with the same headers, for the same server and with the same options, in whatever clone: of the many builds in a run of
# all tests, most are of files that have not changed since the last run.
build_extension() {
	local folder=$1 pg_config=$2 store= hash file
	local -a sums
	shift 2
	if [ -z "${FPBTREE_TEST_COVERAGE:-}" ]; then
		# before make adds what is no source
		mapfile -t sums < <(cd "$folder" && find src dev/hunts/fuzz bench/papers/driver -name '*.[ch]' 2>/dev/null | sort | xargs sha256sum)
		store=$(object_store "$folder" "$pg_config" "$(printf '%s\n' "${sums[@]}" | grep '\.h$')" "$@")
		mkdir -p -- "$store"
		touch -- "$store"
		while read -r hash file; do
			file=${file%.c}
			if [[ ! -e $folder/$file.o && -e $store/$hash.o ]] && cp -- "$store/$hash.d" "$folder/$file.d"; then
				cp -- "$store/$hash.o" "$folder/$file.o" || rm -f -- "$folder/$file."[od]
			fi
		done < <(objects_of "${sums[@]}")
	fi
	make -C "$folder" -s -j2 PG_CONFIG="$pg_config" "$@" || return 1
	if [ -n "$store" ]; then store_objects "$folder" "$store" "${sums[@]}" 2>/dev/null || true; fi
}

# Puts the objects of a build into the cache folder, those that are not there; checksums of the sources follow. Another
# run may be doing the same, or be removing that folder because others are newer: then nothing is kept.
store_objects() {
	local folder=$1 store=$2 hash file new=new.$BASHPID
	shift 2
	while read -r hash file; do
		file=$folder/${file%.c}
		# (what this build left alone may be of an earlier text)
		[[ $file.o -nt $file.c && ! -e $store/$hash.o ]] || continue
		# of what the object depends on, the server's headers are another copy the next time
		sed -E 's|(^\| )/[^ ]*||g; /^:$/d' "$file.d" >"$store/$hash.d.$new" && mv -- "$store/$hash.d.$new" "$store/$hash.d" &&
			cp -- "$file.o" "$store/$hash.o.$new" && mv -- "$store/$hash.o.$new" "$store/$hash.o" || return 1
	done < <(objects_of "$@")
}

# The folder of the cache for all objects that have the headers, the server and make's options in common. There are
# as many as four states of the headers need with all servers; older ones go.
object_store() {
	local folder=$1 pg_config=$2 headers=$3 stores option
	shift 3
	stores=$(cache_dir)/objects
	mkdir -p -- "$stores"
	find "$stores" -mindepth 1 -maxdepth 1 -printf '%T@ %p\n' | sort -rn | tail -n +41 | cut -d' ' -f2- | xargs -r rm -rf --
	{
		cat "$folder/Makefile" "$("$pg_config" --includedir-server)/pg_config.h" "${pg_config%/bin/pg_config}/.fpbtree-stamp" || true
		"$pg_config" --version --configure --cflags
		# what is added to the extension is compiled as it is
		for option in "$@"; do
			if [[ $option = *=* && $option != FPB_FUZZ=* && $option != FPB_BENCH=* ]]; then printf '%s\n' "$option"; fi
			if [[ $option = CC=* ]]; then "${option#CC=}" --version; fi
		done
		gcc --version
		printf '%s\n' "$headers"
	} 2>/dev/null | sha256sum | sed "s|^\(.\{40\}\).*|$stores/\1|"
}

# Of checksums as sha256sum prints them, those of the C sources, each of the text and the path, and the file.
objects_of() {
	local hash file
	printf '%s\n' "$@" | while read -r hash file; do
		if [[ $file = *.c ]]; then printf '%s-%s %s\n' "${hash:0:40}" "${file//\//-}" "$file"; fi
	done
}

# A copy of an installed PostgreSQL, made of hard links: it costs nothing, and `make install` replaces files, never
# writes into them. PostgreSQL finds its own files relative to its binaries. If it is made of packages, it is a link into a
# folder that looks like a system, which is copied as a whole.
copy_server() {
	local link
	if [ -L "$1" ]; then
		link=$(readlink -- "$1")
		copy_folder "$(dirname -- "$1")/${link%%/*}" "$2.root"
		ln -s -- "$(basename -- "$2").root/${link#*/}" "$2"
	else
		copy_folder "$1" "$2"
	fi
}

copy_folder() { cp -al -- "$1" "$2" 2>/dev/null || { rm -rf -- "$2"; cp -a -- "$1" "$2"; }; }

# Ends a process of ours and all that it started.
kill_tree() {
	local child
	local -a children
	{ read -ra children <"/proc/$1/task/$1/children"; } 2>/dev/null || true
	for child in "${children[@]}"; do kill_tree "$child"; done
	kill "$1" 2>/dev/null || true
}

# Ends the servers that run in a folder of our own: those of tests which were interrupted or ran out of time.
stop_servers() {
	local file pid
	while read -r file; do
		pid=$(head -n 1 "$file")
		if [ "$(readlink "/proc/$pid/cwd")" = "$(dirname -- "$file")" ]; then kill -QUIT "$pid" || true; fi
	done < <(find "$1" -name postmaster.pid 2>/dev/null)
}
