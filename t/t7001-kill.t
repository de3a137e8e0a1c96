#!/bin/sh
# kill -9 of firstbad at any moment: resumed to the same verdict, no finished boot repeated,
# no process left. FB_KILLS sets the number of kills.
. "${top_srcdir:-.}/t/test-lib.sh"
. "$top_srcdir/t/world.sh"

fb_have git awk setsid || fb_skip_all "git, awk and setsid are needed"

fb_expect 'the verdict without a kill' '
	world_new 30 && world_set 17 30 80 && world_make &&
	printf "bisect:\n  metric: score\n" >>plan.yaml && cp plan.yaml kept.yaml &&
	firstbad -C repo bisect auto -q --plan ../plan.yaml c30 c1 >want &&
	fb_grep "\"change 17\"" want
'

# Kill after a growing delay, so that the kills fall at different places of the work.
fb_expect 'killed again and again it comes to the same commit' '
	rm -rf repo "$XDG_DATA_HOME" "$XDG_CACHE_HOME" && world_make &&
	cp kept.yaml plan.yaml && kills=0 && first="--plan ../plan.yaml c30 c1" &&
	while test $kills -lt ${FB_KILLS:-20}; do
		setsid firstbad -C repo bisect auto -q $first >out 2>err &
		pid=$!
		sleep "0.$((10 + kills * 37 % 60))"
		kill -9 $pid 2>/dev/null || :
		wait $pid || :
		kills=$((kills + 1))
		firstbad -C repo bisect status >/dev/null 2>&1 && first=
	done &&
	firstbad -C repo bisect auto -q $first >got &&
	fb_grep "\"change 17\"" got
'

# Each kill can cost the one boot that was running; all others must be in the record.
fb_expect 'no finished boot was made again' '
	firstbad -C repo report --json >got.json &&
	boots=$(sed -n "s/.*\"boots\": \([0-9]*\).*/\1/p" got.json) &&
	made=$(wc -l <count) && echo "$boots recorded, $made made" &&
	test "$made" -le $((boots + ${FB_KILLS:-20})) && test "$boots" -le "$made" &&
	sessions=$(firstbad list sessions --json | grep -c "\"session\"") &&
	test "$sessions" = 1
'

fb_expect 'no process is left' '
	! pgrep -f "$FB_SCRATCH/bench" && ! pgrep -f "firstbad.*$FB_SCRATCH"
'

fb_done
