#!/bin/sh
# Other metrics of a run show where to look; the verdict is about the one that is followed.
. "${top_srcdir:-.}/t/test-lib.sh"
. "$top_srcdir/t/world.sh"

fb_have git awk || fb_skip_all "git and awk are needed"

# A drop of two and a half times the noise at commit 180 of 256.
world_new 256
world_set 180 256 98.5
world_make

# counting N: ./wrap is the bench, with an exact counter that doubles at commit N. Every run is in
# ./log; with ./stop every fourth run is broken off instead.
counting()
{
	cat >wrap <<-END
		#!/bin/sh
		n=\$(cat other)
		echo x >>"\$FB_SCRATCH/runs"
		if [ -e "\$FB_SCRATCH/stop" ] && [ \$((\$(wc -l <"\$FB_SCRATCH/runs") % 4)) = 0 ]; then
			exit 130
		fi
		echo "\$n" >>"\$FB_SCRATCH/log"
		"\$FB_SCRATCH/bench"
		if [ \$n -lt $1 ]; then echo "firstbad: requests 1024"; else echo "firstbad: requests 2048"; fi
	END
	chmod +x wrap
	rm -rf "$XDG_DATA_HOME" stop
	: >count
	: >log
	: >runs
}

run()
{
	firstbad -C repo bisect run -q --json --min-effect 1% --metric score --good c1 "$@" >out
}

last()
{
	tail -n 1 out | sed -n "s/.*\"$1\":\"\{0,1\}\([^,\"}]*\).*/\1/p"
}

found()
{
	test "$(last verdict)" = found || { cat out; return 1; }
	test "$(last commit)" = "$(git -C repo rev-parse "c$1")"
}

fb_expect 'without other metrics no counter is told' '
	run "$FB_SCRATCH/bench" && found 180 && fb_grep "\"counters\":\[\]" out &&
	last boots >boots-alone && firstbad -C repo report >plain && fb_grep ! "counters:" plain
'

fb_expect 'a counter of the same commit saves boots, and is told' '
	counting 180 && run "$FB_SCRATCH/wrap" && found 180 && last boots >boots &&
	last confidence >confidence &&
	echo "# boots: $(cat boots-alone) alone, $(cat boots) with the counter" &&
	test $(($(cat boots) + 5)) -le "$(cat boots-alone)" &&
	fb_grep "\"counters\":\[{\"metric\":\"requests\",\"good\":1024.0,\"bad\":2048.0}\]" out &&
	firstbad -C repo report >plain && fb_grep "^counters:    requests: 1024 -> 2048\$" plain &&
	fb_grep "^score changed by -1\.[0-9]*% with this commit" plain &&
	fb_grep "the metric.s own change" plain && firstbad -C repo report --json >json &&
	fb_grep "\"metric\": \"requests\"" json && cp log log-whole
'

fb_expect 'broken off and taken up again, the same runs lead to the same answer' '
	counting 180 && : >stop && i=0 &&
	until run "$FB_SCRATCH/wrap" 2>/dev/null; do
		i=$((i + 1)) && test $i -lt 40 || exit 1
	done &&
	found 180 && test $i -ge 4 && fb_cmp log-whole log &&
	test "$(last confidence)" = "$(cat confidence)" && test "$(last boots)" = "$(wc -l <runs)" &&
	fb_grep "\"metric\":\"requests\"" out
'

fb_expect 'a counter of another commit does not change the answer, and is not told' '
	counting 60 && run "$FB_SCRATCH/wrap" && found 180 && fb_grep "\"counters\":\[\]" out &&
	firstbad -C repo report >plain && fb_grep ! "counters:" plain
'

fb_expect 'a counter that changes where the value does not: no regression' '
	counting 180 && fb_must_fail 11 run --bad c179 --fresh "$FB_SCRATCH/wrap" &&
	counting 90 && fb_must_fail 11 run --bad c179 "$FB_SCRATCH/wrap" &&
	test "$(last verdict)" = none && fb_grep ! "counters" out
'

fb_done
