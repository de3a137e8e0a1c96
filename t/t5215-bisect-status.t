#!/bin/sh
# What `bisect status` tells of a session that has ended: the answer of its report.
. "${top_srcdir:-.}/t/test-lib.sh"
. "$top_srcdir/t/world.sh"

fb_have git awk || fb_skip_all "git and awk are needed"

oid()
{
	git -C repo rev-parse "$1"
}

world_new 40 && world_set 15 29 80 && world_set 30 40 60 && world_make || exit 1

fb_expect 'two steps: both commits, not what leads least badly' '
	fb_must_fail 13 firstbad -C repo bisect auto --plan ../plan.yaml c40 c1 >report 2>err &&
	firstbad -C repo bisect status >status &&
	fb_grep "^session [0-9a-f]+, something-else" status && fb_grep "^range .*, 39 candidates" status &&
	sed -n "1,/^metric/p" report | grep -v "^metric" >answer && test -s answer &&
	sed "1,/^$/d" status >tail && echo >>tail && fb_cmp answer tail &&
	fb_grep "^score changed in two steps" tail &&
	fb_grep "^  $(oid c15) " tail && fb_grep "^  $(oid c30) " tail &&
	fb_grep "^change -[34]" status && fb_grep ! "candidates hold|to go" status
'
fb_expect 'the progress of it names what leads, which is no commit' '
	tail -n 1 err >last && fb_grep "left, something else (9[0-9]\.[0-9]|100\.0)%$" last
'
fb_expect 'the same for programs: verdict, commits, range, metric and change' '
	firstbad -C repo bisect status --json | tr -d "\n " >json &&
	for text in "\"verdict\":\"something-else\"" "\"commits\":\[\"$(oid c15)\",\"$(oid c30)\"\]" \
		"\"range\":{\"good\":\[\"$(oid c1)\"\],\"bad\":\"$(oid c40)\"}|\"range\":{\"bad\":\"$(oid c40)\",\"good\":\[\"$(oid c1)\"\]}" \
		"\"metric\":\"score\"" "\"effect\":-0.[34]" "\"candidates\":39"; do
		fb_grep "$text" json || exit 1
	done
'
fb_expect 'a range: all of its commits' '
	subject="git log -1 --format=%s" &&
	skip="$subject | grep -Eq \" ([4-9]|10)\$\" && exit 125; $subject | grep -Eq \" [123]\$\"" &&
	fb_must_fail 10 firstbad -C repo bisect run -q --good c1 --bad c20 sh -c "$skip" >out &&
	firstbad -C repo bisect status >status &&
	fb_grep "^exit status changed with one of these commits" status &&
	test "$(grep -c "^  [0-9a-f]\{40\} " status)" = 8
'

fb_done
