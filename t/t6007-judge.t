#!/bin/sh
# judge says by its exit status what a commit is, so that `git bisect run` finds the culprit by
# measured values; an error never counts as a verdict.
. "${top_srcdir:-.}/t/test-lib.sh"
. "$top_srcdir/t/world.sh"

fb_have git awk || fb_skip_all "git and awk are needed"
world_new 30 && world_set 17 30 80 && world_set 20 20 broken && world_make || fb_die "no history"
printf "bisect:\n  metric: score\n" >>plan.yaml

oid()
{
	git -C repo rev-parse "$1"
}

judge()
{
	firstbad -C repo judge -q --plan ../plan.yaml --good c1 --bad c30 "$@"
}

fb_expect 'with ends: good, bad, and what cannot be measured' '
	judge --rev c10 >out && fb_grep "^$(oid c10) good .probability of bad 0\.0" out &&
	fb_must_fail 1 judge --rev c18 >out && fb_grep "^$(oid c18) bad .probability of bad (0\.99|1\.0)" out &&
	{ judge --rev c20 --json >out || test $? = 125; } && fb_grep "\"judgement\": ?\"skip\"" out &&
	test "$(firstbad list sessions | grep -c " bisect ")" = 1
'
fb_expect 'the boots of one bisection are kept and not made again' '
	wc -l <count >before && judge --rev c10 >out &&
	wc -l <count >after && fb_cmp before after
'
fb_expect 'git bisect run with it finds the commit' '
	git -C repo bisect start c30 c1 >out && git -C repo bisect run firstbad judge -q --plan "$PWD/plan.yaml" >out 2>&1 &&
	fb_grep "^$(oid c17) is the first bad commit" out && git -C repo bisect reset
'
fb_expect 'firstbad bisect run with it, too' '
	firstbad -C repo bisect start c30 c1 >out && firstbad -C repo bisect run firstbad judge -q --plan "$PWD/plan.yaml" >out 2>&1 &&
	fb_grep "^$(oid c17) is the first bad commit" out && firstbad -C repo bisect reset
'
fb_expect 'errors are 255, which ends git bisect run' '
	{ firstbad -C repo judge --plan ../nosuch.yaml --good c1 --bad c30 2>err || test $? = 255; } && fb_grep nosuch err &&
	{ firstbad -C repo judge --plan ../plan.yaml 2>err || test $? = 255; } && fb_grep "needs --good and --bad" err &&
	{ firstbad -C repo judge --frob 2>err || test $? = 255; } &&
	{ firstbad -C repo judge -q --plan ../plan.yaml --good c1 --bad c12 --rev c5 >out 2>err; test $? = 255; } && fb_grep "the ends do not differ" err &&
	{ firstbad -C repo judge -q --plan ../plan.yaml --good c1 --bad c12 --rev c25 >out 2>err; test $? = 255; } && fb_grep "does not lie between" err
'
fb_done
