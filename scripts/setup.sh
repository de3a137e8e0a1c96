#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Installs the packages of scripts/packages that are missing (Debian 12; root or sudo).
#
# usage: scripts/setup.sh [GROUP...]	default: every group
#
# When nothing is missing it changes nothing, needs no root and takes no time.
set -eu
here=$(dirname "$0")

[ $# -gt 0 ] || set -- build kernel run lint
wanted=
for group; do
	names=$(sed -n "s/^$group \([^ ]*\)\$/\1/p" "$here/packages")
	if [ -z "$names" ]; then
		echo "setup: no packages in group '$group'" >&2
		exit 2
	fi
	wanted="$wanted $names"
done

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
	echo "setup: this is not a Debian system; install what scripts/packages lists by hand" >&2
	exit 1
fi

missing=
for name in $wanted; do
	status=$(dpkg-query -W -f='${db:Status-Status}' "$name" 2>/dev/null) || status=none
	[ "$status" = installed ] || missing="$missing $name"
done
if [ -z "$missing" ]; then
	echo "setup: all packages are installed"
	exit 0
fi
echo "setup: to be installed:$missing"

as_root=
if [ "$(id -u)" -ne 0 ]; then
	if ! command -v sudo >/dev/null; then
		echo "setup: neither root nor sudo: install the packages above first" >&2
		exit 1
	fi
	as_root="sudo -n"
fi
# A fresh machine has no package lists; an old one has lists of files that are gone.
$as_root apt-get update -q </dev/null
# shellcheck disable=SC2086 # both are lists of words
$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends \
	$missing </dev/null
echo "setup: done"
