# shellcheck shell=bash
# Debian systems in folders, for what has to be seen on a system as users have it, with the distribution's own server.
# Sourced after dev/lib.sh, never run. Scripts that use it end with status 77 where there can be no such system.

# The suite that has a server of this major version, or what such a server needs where it is itself in a suite that is
# only an addition to others.
declare -A SUITES=([17]=trixie [18]=forky [19]=sid)
declare -A ADDITIONS=([19]=experimental)

# What building the package takes, and PGXN's client.
# shellcheck disable=SC2034 # of the scripts
BUILD_PACKAGES=(build-essential debhelper libicu-dev postgresql-server-dev-all pgxnclient)

skip() {
	printf '%s: skipped: %s\n' "$(basename -- "$0")" "$*" >&2
	exit 77
}

# Ends the script, with status 77, where no system can be made or entered.
need_debian() {
	am_root || skip "only root can make another Debian system and enter it"
	unshare --mount --pid --fork mount -t tmpfs none /mnt 2>/dev/null || skip "no namespaces, or no mounts in them"
	command -v apt-get >/dev/null || skip "not a Debian machine"
	(install_packages mmdebstrap) || skip "mmdebstrap can't be installed"
}

# debian_root NAME MAJOR PACKAGE... prints the path of a system with these packages, of the suite with that server. It is
# made once, in the cache folder; remove it there to have newer packages.
debian_root() {
	local name=$1-$2 suite=${SUITES[$2]} addition=${ADDITIONS[$2]:-} folder root mirror packages lock
	local -a sources
	shift 2
	packages=$(IFS=,; printf '%s' "$*")
	folder=$(cache_dir)/debian root=$folder/$name
	mkdir -p "$folder"
	exec {lock}>"$folder/.lock-$name"
	lock "$lock"
	if [ "$(cat "$root.stamp" 2>/dev/null)" != "$suite,$addition,$packages" ]; then
		log "making a Debian system ($suite${addition:+ and $addition}: $packages), about a minute"
		rm -rf -- "$root" "$root.stamp"
		# How to fetch is the machine's business. As for a mirror that lags, lists are signed all the same.
		{ apt-config dump | grep '^Acquire::' || true; echo 'Acquire::Check-Valid-Until "false";'; } >"$root.conf"
		printf 'Package: src:postgresql-*\nPin: release a=experimental\nPin-Priority: 990\n' >"$root.preferences"
		while read -r mirror; do
			rm -rf -- "$root"
			sources=("deb $mirror $suite main")
			if [ -n "$addition" ]; then sources+=("deb $mirror $addition main"); fi
			# shellcheck disable=SC2016 # of the hook's shell
			preferences=$root.preferences mmdebstrap --quiet --variant=minbase --mode=root --aptopt="$root.conf" \
				--setup-hook='install -D "$preferences" "$1/etc/apt/preferences.d/experimental"' --include="$packages" \
				"$suite" "$root" "${sources[@]}" </dev/null >"$root.log" 2>&1 && break
			tail -n 3 "$root.log" >&2
			rm -rf -- "$root"
		done < <(mirrors)
		[ -d "$root" ] || skip "this machine's package sources have no $suite, or lack something of: $packages"
		printf '%s\n' "$suite,$addition,$packages" >"$root.stamp"
	fi
	exec {lock}>&-
	printf '%s\n' "$root"
}

# in_debian ROOT FOLDER COMMAND... runs a command as root in a system with FOLDER as /mnt. Whatever it changes elsewhere,
# starts and leaves running is gone when it ends: changes are in memory, processes and mounts in namespaces of their own.
in_debian() {
	# shellcheck disable=SC2016 # of the inner shell
	unshare --mount --pid --fork --kill-child bash -euc '
		root=$1 folder=$2
		shift 2
		mount -t tmpfs none /mnt
		mkdir /mnt/{changes,work,root}
		mount -t overlay overlay -o "lowerdir=$root,upperdir=/mnt/changes,workdir=/mnt/work" /mnt/root
		cd /mnt/root
		mount --rbind /dev dev
		mount -t tmpfs none dev/shm
		mount -t proc none proc
		mount --bind "$folder" mnt
		exec chroot . env -i HOME=/root LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
			PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$@"
	' bash "$@" </dev/null
}
