# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=sh
# Helpers of the shell tests (TAP). A test is
#
#	#!/bin/sh
#	# One sentence: what this file protects.
#	. "${top_srcdir:-.}/t/test-lib.sh"
#
#	fb_expect 'the claim' '
#		firstbad --version >out &&
#		fb_grep "^firstbad " out
#	'
#	fb_done
#
# Each file runs in a scratch directory of its own (./t/scratch.NAME of the build
# directory, kept when a claim fails), with HOME there and the environment pinned.
# The code of a claim runs in a subshell under set -e and with no input: it hands
# things on to the next claim in files, not in variables.

fb_die()
{
	echo "Bail out! $*"
	exit 1
}

test_name=$(basename "$0" .t)
top_srcdir=$(cd "${top_srcdir:-.}" && pwd) || fb_die "no top_srcdir"
top_builddir=$(cd "${top_builddir:-.}" && pwd) || fb_die "no top_builddir"
FB_SCRATCH=${FB_SCRATCH_ROOT:-$top_builddir/t}/scratch.$test_name
rm -rf "$FB_SCRATCH"
mkdir -p "$FB_SCRATCH/home" || fb_die "no scratch directory"
cd "$FB_SCRATCH" || fb_die "no scratch directory"

# A test must not see the user's settings, and must not depend on the terminal or the clock.
for fb_var in $(env | sed -n 's/^\(GIT_[A-Z_]*\|FIRSTBAD[A-Z_]*\|XDG_[A-Z_]*\|FB_PLAN\)=.*/\1/p'); do
	unset "$fb_var"
done
unset NO_COLOR COLUMNS EDITOR PAGER fb_var
HOME=$FB_SCRATCH/home
XDG_CACHE_HOME=$HOME/cache
XDG_DATA_HOME=$HOME/data
LC_ALL=C
TZ=UTC
TERM=dumb
GIT_CONFIG_NOSYSTEM=1
GIT_CONFIG_GLOBAL=$HOME/.gitconfig
GIT_AUTHOR_NAME='A U Thor'
GIT_AUTHOR_EMAIL=author@example.com
GIT_AUTHOR_DATE='1112911993 +0000'
GIT_COMMITTER_NAME='C O Mitter'
GIT_COMMITTER_EMAIL=committer@example.com
GIT_COMMITTER_DATE='1112911993 +0000'
# A build tree may be far from the sources (make distcheck).
FIRSTBAD_DATADIR=$top_srcdir
PATH=$top_srcdir/t/bin:$top_builddir:$PATH
export HOME XDG_CACHE_HOME XDG_DATA_HOME LC_ALL TZ TERM GIT_CONFIG_NOSYSTEM GIT_CONFIG_GLOBAL \
	GIT_AUTHOR_NAME GIT_AUTHOR_EMAIL GIT_AUTHOR_DATE GIT_COMMITTER_NAME GIT_COMMITTER_EMAIL \
	GIT_COMMITTER_DATE FIRSTBAD_DATADIR PATH top_srcdir top_builddir FB_SCRATCH
umask 022
printf '[init]\n\tdefaultBranch = main\n[advice]\n\tdetachedHead = false\n' >"$GIT_CONFIG_GLOBAL"

fb_nr=0
fb_failed=0

# Runs the code of a claim; its exit status is that of the code. Not to be called from
# a condition: the shell ignores set -e there, and every claim would hold.
fb_run_code()
{
	(
		set -e
		eval "$1"
	) >"$FB_SCRATCH/.out" 2>&1 </dev/null
}

fb_result()
{
	fb_nr=$((fb_nr + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $fb_nr - $2"
		return 0
	fi
	fb_failed=$((fb_failed + 1))
	echo "not ok $fb_nr - $2"
	printf '%s\n' "$3" | sed 's/^/#	/'
	echo "# status $1; output:"
	sed 's/^/#	/' "$FB_SCRATCH/.out"
}

# fb_expect CLAIM CODE: the claim holds when the code succeeds.
fb_expect()
{
	[ $# -eq 2 ] || fb_die "fb_expect takes a claim and code"
	fb_run_code "$2"
	fb_result $? "$1" "$2"
}

# fb_expect_broken CLAIM CODE: a known fault. It is an error when the claim holds after all.
fb_expect_broken()
{
	[ $# -eq 2 ] || fb_die "fb_expect_broken takes a claim and code"
	fb_run_code "$2"
	fb_status=$?
	fb_nr=$((fb_nr + 1))
	if [ $fb_status -eq 0 ]; then
		echo "ok $fb_nr - $1 # TODO known fault"
	else
		echo "not ok $fb_nr - $1 # TODO known fault"
	fi
}

# fb_skip CLAIM REASON: a claim that cannot be tried here.
fb_skip()
{
	fb_nr=$((fb_nr + 1))
	echo "ok $fb_nr - $1 # SKIP $2"
}

# fb_skip_all REASON: nothing of this file can be tried here. Before any claim.
fb_skip_all()
{
	[ $fb_nr -eq 0 ] || fb_die "fb_skip_all after a claim"
	echo "1..0 # SKIP $*"
	cd / && rm -rf "$FB_SCRATCH"
	exit 0
}

# fb_done: the plan. A file that does not get here is an error to the TAP driver.
fb_done()
{
	echo "1..$fb_nr"
	if [ $fb_failed -ne 0 ]; then
		echo "# kept: $FB_SCRATCH"
		exit 1
	fi
	cd / && rm -rf "$FB_SCRATCH"
	exit 0
}

# fb_must_fail [STATUS] COMMAND...: the command itself says no (with that status). A crash,
# a command that is not there and a success are not that.
fb_must_fail()
{
	fb_want=
	case $1 in
	[0-9]*)
		fb_want=$1
		shift
		;;
	esac
	fb_status=0
	"$@" || fb_status=$?
	if [ $fb_status -eq 0 ]; then
		echo "fb_must_fail: succeeded: $*"
		return 1
	elif [ $fb_status -ge 126 ]; then
		echo "fb_must_fail: status $fb_status (a crash or no such command): $*"
		return 1
	elif [ -n "$fb_want" ] && [ "$fb_status" -ne "$fb_want" ]; then
		echo "fb_must_fail: status $fb_status, not $fb_want: $*"
		return 1
	fi
	return 0
}

# fb_grep [!] PATTERN FILE: (no) line matches; shows the file otherwise. Extended syntax.
fb_grep()
{
	if [ "$1" = '!' ]; then
		shift
		[ -r "$2" ] || {
			echo "fb_grep: no file '$2'"
			return 1
		}
		grep -E -e "$1" -- "$2" || return 0
		echo "fb_grep: the lines above should not match '$1' in $2"
		return 1
	fi
	grep -qE -e "$1" -- "$2" && return 0
	echo "fb_grep: no line of $2 matches '$1':"
	cat -- "$2"
	return 1
}

# fb_cmp WANT GOT: equal files; shows the difference otherwise.
fb_cmp()
{
	diff -u -- "$1" "$2"
}

# fb_history NAME [DIR]: a git repository (default ./NAME) from t/data/history/NAME.fi. The
# ids of its commits are the same everywhere. "main" is checked out.
fb_history()
{
	fb_dir=${2:-$1}
	git init -q "$fb_dir" &&
		git -C "$fb_dir" fast-import --quiet --force <"$top_srcdir/t/data/history/$1.fi" &&
		git -C "$fb_dir" reset -q --hard main
}

# fb_have PROGRAM...: all are installed.
fb_have()
{
	for fb_prog; do
		command -v "$fb_prog" >/dev/null || return 1
	done
}
