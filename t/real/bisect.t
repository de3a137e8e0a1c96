#!/bin/sh
# The shortest real bisection: a dozen commits of the demo's history around a planted
# regression, real builds and real boots, killed in the middle and taken up again.
#
# The history, images and worktrees are kept under FB_REAL_CACHE (t/real/run sets it), so a
# second run builds nothing; images and worktrees in a cache of the tests' own, which shares no
# object directory with the demo. Leaves FB_REAL_CACHE/firstbad-real/vmlinux for the other tests.
. "${top_srcdir:-.}/t/test-lib.sh"

fb_have qemu-system-x86_64 gcc flex bison bc || fb_skip_all "no qemu, gcc, flex, bison or bc"
: "${FB_REAL_CACHE:=$FB_SCRATCH/cache}"
XDG_CACHE_HOME=$FB_REAL_CACHE/firstbad-real
plan=$top_srcdir/t/real/plan.yaml
export plan

# The kernel that the other tests boot comes with its symbols out of a build of this test, so a
# cache that lacks it has to build once more.
kept=$XDG_CACHE_HOME/vmlinux
bootable()
{
	[ -r "$1" ] && grep -q '^CONFIG_VIRTIO_BLK=y' "$2" && grep -q '^CONFIG_BLK_DEV_INITRD=y' "$2"
}
mkdir -p "$XDG_CACHE_HOME"
bootable "$kept" "$XDG_CACHE_HOME/config" || rm -rf "$kept" "$XDG_CACHE_HOME/firstbad/images"

# Its packages come from the archive; without it there is no kernel to be had.
XDG_CACHE_HOME=$FB_REAL_CACHE "$top_srcdir/demo" --history-only --list --seed 2 --kind ext4-sync >history 2>err || {
	grep -q 'could not be downloaded\|apt-get update failed' err &&
		fb_skip_all "the archive cannot be reached: $(tail -n 1 err)"
	cat err history
	fb_die "the demo made no history"
}
repo=$(sed -n 's/^repository: //p' history)
planted=$(sed -n 's/^planted: //p' history)
export repo planted kept

# The ends: six commits before the planted one and five after it. Ends that do not build are
# said so (status 14) and moved outwards.
git -C "$repo" rev-list --reverse \
	"$(sed -n 's/^good: //p' history)..$(sed -n 's/^bad: //p' history)" >all
at=$(grep -n "^$planted\$" all | cut -d: -f1)
[ -n "$at" ] || fb_die "the planted commit is not in the history"

bisect()
{
	firstbad -C "$repo" bisect auto -q "$@"
}

find_ends()
{
	out=0
	while [ $out -lt 5 ]; do
		good=$(sed -n "$((at - 6 - out))p" all)
		bad=$(sed -n "$((at + 5 + out))p" all)
		rc=0
		bisect --plan "$plan" "$bad" "$good" >answer 2>err || rc=$?
		echo "$good $bad" >ends
		[ $rc -eq 14 ] || return $rc
		out=$((out + 1))
	done
	return 14
}

fb_expect 'a planted regression in a real history is found by booting kernels' '
	rc=0 && find_ends || rc=$?
	cat answer err
	if test $rc -eq 10; then
		fb_grep "^first bad commit is one of:.* $planted" answer
	else
		test $rc -eq 0
		fb_grep "^first bad commit: $planted" answer
	fi
'

# The process $1 and all that descend from it.
family()
{
	echo "$1"
	for child in $(cat "/proc/$1/task/$1/children" 2>/dev/null); do
		family "$child"
	done
}

# How many boots the store of $XDG_DATA_HOME holds, and how many of them twice.
boots()
{
	sqlite3 "file:$XDG_DATA_HOME/firstbad/store.db?mode=ro" \
		"SELECT count(*), count(*) - count(DISTINCT signature || ' ' || seed) FROM boot" \
		2>/dev/null || echo '0|0'
}

now_ms()
{
	echo $(($(date +%s%N) / 1000000))
}

# The images are there now; boots are made anew in stores of their own. firstbad and all its
# descendants die in the same moment, each time after another delay: at most a third of what the
# whole takes, so that every part of it is hit. A bisection that came to its end before that many
# kills is compared and begun again.
fb_expect 'killed with its children at 20 random moments, it comes to the same verdict' '
	read -r good bad <ends
	grep "^first bad commit" answer >want
	XDG_DATA_HOME=$HOME/data0
	begun_ms=$(now_ms)
	bisect --plan "$plan" "$bad" "$good" | grep "^first bad commit" | fb_cmp want -
	longest_ms=$((($(now_ms) - begun_ms) / 3))
	want_boots=$(boots)
	[ "${want_boots%|*}" -gt 5 ]
	kills=0 round=0 alive=0 draws=0 mark=$(basename "$FB_SCRATCH")
	while [ $kills -lt "${FB_KILLS:-20}" ]; do
		round=$((round + 1))
		XDG_DATA_HOME=$HOME/data$round
		args="--plan $plan $bad $good"
		while :; do
			FB_TEST_MARK=$mark firstbad -C "$repo" bisect auto -q $args >got 2>err &
			pid=$!
			draws=$((draws + 1))
			ms=$(awk -v n=$draws -v max=$longest_ms "BEGIN {
				srand(20261130 + n); rand(); print 300 + int(max * rand()) }")
			sleep "$((ms / 1000)).$(printf %03d $((ms % 1000)))"
			killed=$(family $pid)
			if [ "$kills" -ge "${FB_KILLS:-20}" ]; then
				rc=0
				wait $pid || rc=$?
				break
			fi
			had=$(boots)
			kill -9 $killed 2>/dev/null || :
			rc=0
			wait $pid || rc=$?
			[ $rc -eq 137 ] || break
			kills=$((kills + 1))
			# The kernel takes them away in its own time; nothing may live on.
			sleep 1
			if grep -la "FB_TEST_MARK=$mark" /proc/[0-9]*/environ 2>/dev/null >left; then
				cat $(sed "s/environ/cmdline/" left) | tr "\0" " "
				alive=$((alive + 1))
			fi
			has=$(boots)
			echo "# killed after $ms ms: $(echo $killed | wc -w) processes, ${had%|*} boots recorded" >>kills
			[ "${has%|*}" -ge "${had%|*}" ]
			if firstbad -C "$repo" bisect status >/dev/null 2>&1; then args=; fi
		done
		grep "^first bad commit" got | fb_cmp want -
		has=$(boots)
		echo "# round $round: ${has%|*} boots, ${want_boots%|*} without a kill" >>kills
		[ "$has" = "$want_boots" ] && [ "${has#*|}" = 0 ]
	done
	[ $alive -eq 0 ]
	# Really at many moments, and in all parts of a bisection.
	ms=$(sed -n "s/.*killed after \([0-9]*\) ms.*/\1/p" kills | sort -u | wc -l)
	boots=$(sed -n "s/.*processes, \([0-9]*\) boots.*/\1/p" kills | sort -u | wc -l)
	[ $kills -lt 20 ] || [ $ms -gt 10 -a $boots -gt 3 ]
'
cat kills

fb_expect 'no process is left, and the repository has its refs only' '
	! pgrep -f "qemu-system-x86_64.*$FB_SCRATCH" &&
	test -z "$(git -C "$repo" for-each-ref --format="%(refname)" | grep -v "^refs/\(demo\|heads/demo\)/" || :)"
'

# For the tests that follow: the ends, and the kernel with its symbols and its config, if one was
# built now.
keep_kernel()
{
	read -r good bad <ends
	echo "$good" >"$XDG_CACHE_HOME/good"
	echo "$bad" >"$XDG_CACHE_HOME/bad"
	for built in "$XDG_CACHE_HOME"/firstbad/worktrees/*/obj/vmlinux; do
		if bootable "$built" "${built%/*}/.config"; then
			cp "${built%/*}/.config" "$XDG_CACHE_HOME/config"
			cp "$built" "$kept.new" && mv "$kept.new" "$kept"
		fi
	done
}
fb_expect 'it leaves a kernel that boots, with its symbols' '
	keep_kernel
	bootable "$kept" "$XDG_CACHE_HOME/config"
'
fb_done
