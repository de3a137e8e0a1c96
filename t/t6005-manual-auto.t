#!/bin/sh
# An automatic bisection takes over one by hand, can be stopped, and hands back what it measured.
. "${top_srcdir:-.}/t/test-lib.sh"
. "$top_srcdir/t/world.sh"

fb_have git awk || fb_skip_all "git and awk are needed"
world_new 40 && world_set 23 40 80 && world_make || fb_die "no history"
printf "bisect:\n  metric: score\n" >>plan.yaml

oid()
{
	git -C repo rev-parse "$1"
}

bisect()
{
	firstbad -C repo bisect "$@"
}

fb_expect 'taken over with its ends and skips; the values come back, the checkout stays' '
	bisect start --plan ../plan.yaml c40 c1 >out && bisect good >out && bisect skip c29 c30 c31 >out &&
	git -C repo rev-parse HEAD >before && bisect auto -q >report 2>err && fb_grep "change 23" report &&
	fb_grep "more values; .firstbad bisect next. goes on" err && git -C repo rev-parse HEAD >after && fb_cmp before after &&
	bisect status >status && fb_grep "^session [0-9a-f]+ by hand, found" status && fb_grep "[1-9][0-9]* values$" status &&
	fb_grep "^  $(oid c22 | cut -c1-12) +\|.*\| (9|10)[0-9]" status &&
	awk "{ if (length(\$0) > 80) exit 1 }" status && bisect next >out && fb_grep "^$(oid c23) is the first bad commit" out &&
	firstbad list sessions >list && test "$(grep -c " manual " list)" = 1
'
fb_expect 'once more it is the same session, nothing is measured and nothing comes twice' '
	wc -l <count >before && bisect log >log.before && bisect auto -q >report 2>err && wc -l <count >after && fb_cmp before after &&
	fb_grep ! "more value" err && bisect log | grep "values" >have && grep values log.before >want && fb_cmp want have
'
fb_expect 'stopped in the middle, gone on with by hand, and taken over again' '
	bisect reset && bisect start --plan ../plan.yaml c40 c1 >out && : >count &&
	sed -i "2i test \$(wc -l <$FB_SCRATCH/count) -lt 9 || kill -TERM \$(cat $FB_SCRATCH/victim)" bench &&
	{ sh -c "echo \$\$ >victim; exec env FIRSTBAD_NAMESPACES=no firstbad -C repo bisect auto -q" >out 2>err || test $? = 76; } &&
	fb_grep "stopped by a signal" err && bisect status >status && fb_grep "by hand, open" status && fb_grep " [1-9][0-9]* values$" status &&
	sed -i 2d bench && bisect good c18 >out && bisect bad c26 >out && fb_grep "^Bisecting: " out &&
	bisect auto -q >report 2>err && fb_grep "change 23" report && bisect next >out && fb_grep "^$(oid c23) is the first bad commit" out
'
fb_expect 'without an end, and within paths' '
	bisect reset && bisect start c40 >out && fb_must_fail 64 firstbad -C repo bisect auto 2>err && fb_grep "lacks an end.*bisect good" err &&
	bisect start c40 c1 -- speed >out && fb_must_fail 64 firstbad -C repo bisect auto 2>err && fb_grep "limited to paths" err
'
fb_done
