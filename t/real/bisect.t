#!/bin/sh
# The shortest real bisection: a dozen commits of the demo's history around a planted
# regression, real builds and real boots, killed in the middle and taken up again.
#
# The history, images and worktrees are kept under FB_REAL_CACHE (t/real/run sets it), so a
# second run builds nothing. Leaves FB_REAL_CACHE/firstbad-real/vmlinux for the other tests.
. "${top_srcdir:-.}/t/test-lib.sh"

fb_have qemu-system-x86_64 gcc flex bison bc || fb_skip_all "no qemu, gcc, flex, bison or bc"
: "${FB_REAL_CACHE:=$FB_SCRATCH/cache}"
XDG_CACHE_HOME=$FB_REAL_CACHE
plan=$top_srcdir/t/real/plan.yaml
export plan

# Its packages come from the archive; without it there is no kernel to be had.
"$top_srcdir/demo" --history-only --list --seed 2 --kind ext4-sync >history 2>err || {
	grep -q 'could not be downloaded\|apt-get update failed' err &&
		fb_skip_all "the archive cannot be reached: $(tail -n 1 err)"
	cat err history
	fb_die "the demo made no history"
}
repo=$(sed -n 's/^repository: //p' history)
planted=$(sed -n 's/^planted: //p' history)
export repo planted

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

# The images are there now; boots are made anew in a store of its own.
fb_expect 'killed again and again, it comes to the same verdict' '
	read -r good bad <ends
	grep "^first bad commit" answer >want
	XDG_DATA_HOME=$HOME/data2
	args="--plan $plan $bad $good"
	for s in 2 4 7 5 9; do
		setsid firstbad -C "$repo" bisect auto -q $args >out 2>&1 &
		pid=$!
		sleep $s
		kill -9 $pid 2>/dev/null || :
		wait $pid || :
		if firstbad -C "$repo" bisect status >/dev/null 2>&1; then args=; fi
	done
	bisect $args >again
	grep "^first bad commit" again >got
	fb_cmp want got
'

fb_expect 'no process is left, and the repository has its refs only' '
	! pgrep -f "qemu-system-x86_64.*$FB_SCRATCH" &&
	test -z "$(git -C "$repo" for-each-ref --format="%(refname)" | grep -v "^refs/\(demo\|heads/demo\)/" || :)"
'

# For the tests that follow: the kernel with its symbols, as the last build left it.
mkdir -p "$XDG_CACHE_HOME/firstbad-real"
for vmlinux in "$XDG_CACHE_HOME"/firstbad/worktrees/*/obj/vmlinux; do
	[ -r "$vmlinux" ] && grep -q '^CONFIG_VIRTIO_BLK=y' "$(dirname "$vmlinux")/.config" &&
		cp "$vmlinux" "$XDG_CACHE_HOME/firstbad-real/vmlinux"
done

fb_done
