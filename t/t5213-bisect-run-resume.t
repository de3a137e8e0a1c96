#!/bin/sh
# `bisect run CMD`, killed or stopped: no finished run is repeated, and a changed script is another.
. "${top_srcdir:-.}/t/test-lib.sh"
. "$top_srcdir/t/world.sh"

fb_have git awk setsid || fb_skip_all "git, awk and setsid are needed"

sessions()
{
	firstbad list sessions --json | grep -c '"session"' || :
}

last()
{
	tail -n 1 out | sed -n "s/.*\"$1\":\"\{0,1\}\([^,\"}]*\).*/\1/p"
}

# Waits for the count-th run, then for good; the file "go" lets all runs through.
hold()
{
	printf '#!/bin/sh\nn=$(cat other)\necho "$n" >>"$FB_SCRATCH/runs"\n' >hold
	printf 'while [ "$(wc -l <"$FB_SCRATCH/runs")" -ge %d ] && [ ! -e "$FB_SCRATCH/go" ]; do\n' "$1" >>hold
	printf 'sleep 0.1; done\n%s\n' "$2" >>hold
	chmod +x hold && : >runs && rm -f go
}

# kill_at N COMMAND...: kill -9 once the N-th run has begun.
kill_at()
{
	at=$1
	shift
	setsid "$@" >out 2>err &
	pid=$!
	i=0
	until [ "$(wc -l <runs)" -ge "$at" ] || [ $i -gt 600 ]; do
		sleep 0.05
		i=$((i + 1))
	done
	kill -9 $pid
	wait $pid || :
	[ $i -le 600 ]
}

fb_expect 'killed at its third run, the same command line goes on: only that run is made again' '
	world_new 60 && world_make && hold 3 "test \$n -lt 23" &&
	kill_at 3 firstbad -C repo bisect run --json --good c1 "$FB_SCRATCH/hold" &&
	test "$(wc -l <runs)" = 3 && touch go &&
	firstbad -C repo bisect run --json --good c1 "$FB_SCRATCH/hold" >out 2>err &&
	test "$(last commit)" = "$(git -C repo rev-parse c23)" && test "$(sessions)" = 1 &&
	fb_grep "^taking up session [0-9a-f]+, " err &&
	third=$(sed -n 3p runs) && test "$(grep -cx "$third" runs)" = 2 &&
	test "$(sort runs | uniq -d)" = "$third" && test "$(last boots)" = $(($(wc -l <runs) - 1))
'

fb_expect 'done, the same command line is a new bisection' '
	: >runs && firstbad -C repo bisect run -q --json --good c1 "$FB_SCRATCH/hold" >out &&
	test "$(sessions)" = 2 && test "$(wc -l <runs)" = "$(last boots)"
'

fb_expect 'without a command it goes on, too; bisect auto does as well' '
	hold 2 "test \$n -lt 23" &&
	kill_at 2 firstbad -C repo bisect run --json --good c1 "$FB_SCRATCH/hold" && touch go &&
	firstbad -C repo bisect status >status && fb_grep "not finished" status &&
	fb_grep "^following exit status" status && fb_grep "^1 boot of [12] commit" status &&
	firstbad -C repo bisect auto -q --json >json && fb_grep "$(git -C repo rev-parse c23)" json &&
	: >runs && firstbad -C repo bisect run -q --json >out &&
	test "$(last commit)" = "$(git -C repo rev-parse c23)" && test ! -s runs
'

fb_expect 'a script that was changed, another option, or --fresh is another bisection' '
	hold 2 "test \$n -lt 23" && before=$(sessions) &&
	kill_at 2 firstbad -C repo bisect run --good c1 "$FB_SCRATCH/hold" &&
	hold 1000 "test \$n -lt 33" &&
	firstbad -C repo bisect run -q --json --good c1 "$FB_SCRATCH/hold" >out &&
	test "$(last commit)" = "$(git -C repo rev-parse c33)" && test "$(sessions)" = $((before + 2)) &&
	hold 2 "test \$n -lt 23" &&
	kill_at 2 firstbad -C repo bisect run --good c1 "$FB_SCRATCH/hold" && touch go &&
	firstbad -C repo bisect run -q --json --good c2 "$FB_SCRATCH/hold" >out &&
	test "$(sessions)" = $((before + 4)) &&
	hold 2 "test \$n -lt 23" &&
	kill_at 2 firstbad -C repo bisect run --good c1 "$FB_SCRATCH/hold" && touch go && : >runs &&
	firstbad -C repo bisect run --fresh -q --json --good c1 "$FB_SCRATCH/hold" >out &&
	test "$(sessions)" = $((before + 6)) && test "$(wc -l <runs)" = "$(last boots)"
'

fb_expect 'SIGINT stops with 76, and what was finished is kept' '
	hold 3 "test \$n -lt 23" &&
	{ firstbad -C repo bisect run --json --good c1 "$FB_SCRATCH/hold" >out 2>err & } && pid=$! &&
	i=0 && until test "$(wc -l <runs)" -ge 3 || test $i -gt 600; do sleep 0.05; i=$((i + 1)); done &&
	kill -TERM $pid && rc=0 && { wait $pid || rc=$?; } && test $rc = 76 && touch go &&
	firstbad -C repo bisect run -q --json >out &&
	test "$(last commit)" = "$(git -C repo rev-parse c23)" &&
	test "$(sort runs | uniq -d | wc -l)" = 1
'

# The kill falls in the middle of the first run, which only then turns out to give values.
fb_expect 'the same with values: the answer is that of an undisturbed bisection' '
	rm -rf repo && world_set 23 60 80 && world_make &&
	firstbad -C repo bisect run -q --json --min-effect 5% --good c1 "$FB_SCRATCH/bench" >want &&
	for at in 1 2 5 9; do
		: >count && hold $at "exec \$FB_SCRATCH/bench" &&
		kill_at $at firstbad -C repo bisect run --json --min-effect 5% --good c1 "$FB_SCRATCH/hold" &&
		touch go && firstbad -C repo bisect run -q --json >out &&
		test "$(last commit)" = "$(git -C repo rev-parse c23)" &&
		test "$(wc -l <runs)" = $(($(last boots) + 1)) || exit 1
	done
'

fb_done
