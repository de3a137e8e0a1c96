#!/bin/sh
# A full disk is one clear error with exit status 74; with room again the work goes on.
. "${top_srcdir:-.}/t/test-lib.sh"
. "$top_srcdir/t/world.sh"

[ "$(id -u)" = 0 ] || fb_skip_all "a file system of a known size needs root"
mkdir -p small
mount -t tmpfs -o size=4m none small 2>/dev/null || fb_skip_all "tmpfs cannot be mounted here"
trap 'umount -l "$FB_SCRATCH/small" 2>/dev/null' EXIT
XDG_DATA_HOME=$PWD/small/data

world_new 12
world_set 7 12 80
world_make

fill()
{
	dd if=/dev/zero of=small/fill bs=4k 2>/dev/null || :
}

full_error()
{
	test "$(wc -l <err)" -eq 1 || { cat err; return 1; }
	fb_grep "^firstbad: .*([Nn]o space left|disk is full|database or disk is full)" err
}

fb_expect 'full from the beginning' '
	fill &&
	fb_must_fail 74 firstbad -C repo bisect auto -q --plan ../plan.yaml c12 c1 2>err &&
	full_error
'

# Room for less and less, so that the disk is full at different places of the work.
fb_expect 'full in the middle: one error each time' '
	for kb in 20 60 120 200 300 500; do
		rm -rf small/data small/fill && fill &&
		truncate -s -${kb}k small/fill && rc=0 &&
		firstbad -C repo bisect auto -q --plan ../plan.yaml c12 c1 >out 2>err || rc=$?
		if test $rc -eq 0; then
			fb_grep "\"change 7\"" out
		else
			echo "$kb kB: $rc" && cat err && test $rc -eq 74 && full_error
		fi
	done
'

fb_expect 'with room again the session goes on to the right commit' '
	rm -rf small/data small/fill &&
	firstbad -C repo bisect auto -q --plan ../plan.yaml c12 c1 >want &&
	rm -rf small/data && fill && truncate -s -400k small/fill &&
	if firstbad -C repo bisect auto -q --plan ../plan.yaml c12 c1 >got 2>err; then :; else
		rm small/fill
		firstbad -C repo bisect auto -q >got 2>err ||
			firstbad -C repo bisect auto -q --plan ../plan.yaml c12 c1 >got
	fi &&
	fb_grep "\"change 7\"" got
'

fb_expect 'a report to a full disk is an error' '
	rm -f small/fill && fill &&
	fb_must_fail 74 sh -c "firstbad -C repo report >small/report" 2>err
'

fb_expect 'a store that cannot be written is named, and why' '
	rm -rf small/* && firstbad -C repo list sessions && mount -o remount,ro small &&
	fb_must_fail 74 firstbad -C repo bisect auto -q --plan ../plan.yaml c12 c1 2>err &&
	mount -o remount,rw small && test "$(wc -l <err)" -eq 1 &&
	fb_grep "^firstbad: store .*/small/data/.*: write in .*: Read-only file system" err
'

# In blocks of 512 bytes (dash) or 1 KiB (bash).
fb_expect 'so is a limit on the size of files: one error, no signal' '
	for blocks in 8 64 300; do
		rm -rf small/* && rc=0 &&
		(ulimit -f $blocks && exec firstbad -C repo bisect auto -q --plan ../plan.yaml c12 c1) \
			>out 2>err || rc=$?
		echo "$blocks: $rc" && cat err && test $rc -eq 74 && test "$(wc -l <err)" -eq 1 &&
			fb_grep "^firstbad: .*(File too large|disk I/O error)" err || exit 1
	done
'

umount small
trap - EXIT
fb_done
