#!/bin/sh
# `bisect auto` answers what is true of a made history, and leaves the user's tree alone.
. "${top_srcdir:-.}/t/test-lib.sh"
. "$top_srcdir/t/world.sh"

fb_have git awk || fb_skip_all "git and awk are needed"

fb_expect 'one step is found, exit status 0' '
	world_new 40 && world_set 23 40 80 && world_make &&
	firstbad -C repo bisect auto --plan ../plan.yaml c40 c1 >out 2>err &&
	fb_grep "\"change 23\"" out &&
	fb_grep "score changed by -[0-9.]+% with this commit" out
'

fb_expect 'progress counts the commits tested, and says what is measured again' '
	cat err &&
	sed -n "s/^step \([0-9]*\): .*/\1/p" err >steps &&
	seq 3 "$(sed -n "s/^tested: *\([0-9]*\) commits.*/\1/p" out)" | fb_cmp - steps &&
	fb_grep "^again: $(git -C repo rev-parse --short=12 c40) " err
'

fb_expect 'the JSON report names it, with every value' '
	firstbad -C repo report --json >out.json &&
	fb_grep "\"verdict\": \"found\"" out.json &&
	oid=$(git -C repo rev-parse c23) &&
	fb_grep "\"oid\": \"$oid\"" out.json &&
	fb_grep "\"values\"" out.json
'

fb_expect 'asked again without arguments it repeats the answer and measures nothing' '
	wc -l <count >before &&
	firstbad -C repo bisect auto -q >again &&
	wc -l <count >after &&
	fb_cmp before after &&
	fb_cmp out again
'

fb_expect 'status of the finished session' '
	firstbad -C repo bisect status >status &&
	fb_grep "^session [0-9a-f]+, found" status &&
	change=$(sed -n "s/^good -> bad:.* change \([-+0-9.]*%\) .*/\1/p" out) &&
	fb_grep "^change $change [(]95% interval" status &&
	fb_grep "change 23" status
'

fb_expect 'the checkout, index, branches and refs of the user are as before' '
	test -z "$(git -C repo status --porcelain)" &&
	test "$(git -C repo symbolic-ref HEAD)" = refs/heads/main &&
	test "$(git -C repo for-each-ref | wc -l)" = 41
'

fb_expect 'no regression is exit status 11' '
	rm -rf repo && world_new 20 && world_make &&
	fb_must_fail 11 firstbad -C repo bisect auto -q --plan ../plan.yaml c20 c1 >out &&
	fb_grep "^No regression: the ends do not differ by 5% or more" out
'

fb_expect 'the values that the ends were compared by are in the report' '
	fb_grep "\\[good end\\] [0-9.]+ [0-9.]+ [0-9. ]+" out &&
	fb_grep "\\[bad end\\] [0-9.]+ [0-9.]+ [0-9. ]+" out &&
	firstbad -C repo report --json >out.json && fb_grep "\"change_lo95\": -" out.json &&
	fb_grep ! "\"values\": \[\]" out.json
'

fb_expect 'ends that fail are named, with no numbers: exit status 14' '
	rm -rf repo && world_new 20 && world_set 1 1 broken && world_set 20 20 broken && world_make &&
	fb_must_fail 14 firstbad -C repo bisect auto -q --plan ../plan.yaml c20 c1 >out &&
	fb_grep "^Nothing can be said: neither end can be measured\.\$" out &&
	fb_grep "^  $(git -C repo rev-parse c1) " out && fb_grep "^  $(git -C repo rev-parse c20) " out &&
	fb_grep ! "good -> bad|noise:" out &&
	firstbad -C repo report --json >out.json && fb_grep "\"effect\": null" out.json &&
	fb_grep "\"confidence\": null" out.json
'

fb_expect 'an improvement is no regression' '
	rm -rf repo && world_new 20 && world_set 9 20 130 && world_make &&
	fb_must_fail 11 firstbad -C repo bisect auto -q --plan ../plan.yaml c20 c1 >out
'

fb_expect 'an improvement is found when it is looked for' '
	firstbad -C repo bisect auto -q --plan ../plan.yaml --change improvement c20 c1 >out &&
	fb_grep "\"change 9\"" out
'

fb_expect 'a culprit among commits that fail is a range, exit status 10' '
	rm -rf repo && world_new 30 && world_set 12 30 70 && world_set 10 12 broken && world_make &&
	fb_must_fail 10 firstbad -C repo bisect auto -q --plan ../plan.yaml c30 c1 >out &&
	fb_grep "\"change 10\"" out && fb_grep "\"change 11\"" out &&
	fb_grep "\"change 12\"" out && fb_grep "\"change 13\"" out &&
	test "$(sed -n "/they cannot be told apart/,/^metric/p" out | grep -c "(\"change")" = 4
'

fb_expect 'failing commits away from the culprit do not matter' '
	rm -rf repo && world_new 30 && world_set 12 30 70 && world_set 14 18 broken &&
	world_set 5 7 broken && world_make &&
	firstbad -C repo bisect auto -q --plan ../plan.yaml c30 c1 >out &&
	fb_grep "\"change 12\"" out
'

fb_expect 'a bad end that cannot be measured is exit status 14' '
	rm -rf repo && world_new 10 && world_set 10 10 broken && world_make &&
	fb_must_fail 14 firstbad -C repo bisect auto -q --plan ../plan.yaml c10 c1 >out &&
	fb_grep "the bad end cannot be measured" out
'

fb_expect 'up and down again is never one wrong commit' '
	rm -rf repo && world_new 40 && world_set 10 14 70 && world_set 30 40 70 && world_make &&
	rc=0 && firstbad -C repo bisect auto -q --plan ../plan.yaml c40 c1 >out || rc=$? &&
	if test "$rc" -eq 0; then fb_grep "\"change (10|30)\"" out; else test "$rc" -eq 13; fi
'

fb_done
