#!/bin/sh
# kill -9 of firstbad at any moment: resumed to the same verdict, no finished boot repeated,
# no process left. FB_KILLS sets the number of kills.
. "${top_srcdir:-.}/t/test-lib.sh"
. "$top_srcdir/t/world.sh"

fb_have git awk setsid pgrep ps || fb_skip_all "git, awk, setsid, pgrep and ps are needed"

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

# Grandchildren that no signal but SIGKILL ends, in sessions of their own.
cp "$(command -v sleep)" linger
linger()
{
	cat >lingering <<-'EOF2'
	#!/bin/sh
	trap "" HUP INT TERM
	"$FB_SCRATCH/linger" 1000 &
	(setsid "$FB_SCRATCH/linger" 1000 &)
	wait
	EOF2
	chmod +x lingering
	sed -i '1a setsid "$FB_SCRATCH/lingering" & sleep 0.1' bench
}

# family PID: it, its keepers, and their direct children.
family()
{
	ps -e -o pid= -o ppid= -o comm= | awk -v first="$1" '
		{ pid[NR] = $1; parent[$1] = $2; name[$1] = $3 }
		function ours(p) { return p == first || (p in parent && p > 1 && ours(parent[p])) }
		END {
			for (i = 1; i <= NR; i++) {
				p = pid[i]
				if (p == first || (ours(p) &&
				    (name[p] == "firstbad-keeper" || name[p] ~ /^firstbad/ ||
				     name[parent[p]] == "firstbad-keeper")))
					printf "%s ", p
			}
		}'
}

nobody_left()
{
	i=0
	while pgrep -f "$FB_SCRATCH/(bench|linger)|firstbad.*$FB_SCRATCH" >left; do
		i=$((i + 1))
		test $i -lt 40 || { xargs ps -f -p <left; xargs kill -9 <left; return 1; }
		sleep 0.05
	done
}

if unshare --pid --mount --fork true 2>/dev/null; then
	fb_expect 'nor when firstbad, its keepers and their children are killed in one moment' '
		rm -rf repo "$XDG_DATA_HOME" "$XDG_CACHE_HOME" && world_make && linger &&
		cp kept.yaml plan.yaml && kills=0 && seen=0 && first="--plan ../plan.yaml c30 c1" &&
		while test $kills -lt ${FB_KILLS:-20} || test $seen -lt 5 -a $kills -lt 100; do
			setsid firstbad -C repo bisect auto -q $first >out 2>err &
			pid=$!
			# On a busy machine later, until there were grandchildren to be killed.
			sleep "$((kills / 40)).$((10 + kills * 37 % 60))"
			! pgrep -f "$FB_SCRATCH/linger" >/dev/null || seen=$((seen + 1))
			kill -9 $pid $(family $pid) || :
			rc=0 && wait $pid || rc=$?
			nobody_left || exit 1
			kills=$((kills + 1))
			firstbad -C repo bisect status >/dev/null 2>&1 && first=
			# At its end there is nothing left to kill: begun anew.
			if test $rc = 0; then
				fb_grep "\"change 17\"" out && rm -rf "$XDG_DATA_HOME" || exit 1
				first="--plan ../plan.yaml c30 c1"
			fi
		done &&
		echo "$seen times there were grandchildren" && test $seen -ge 5 &&
		firstbad -C repo bisect auto -q $first >got && fb_grep "\"change 17\"" got && nobody_left
	'
else
	fb_skip 'nor when firstbad, its keepers and their children are killed in one moment' \
		'no PID namespaces here'
fi

fb_expect 'without namespaces the answer is the same, and a kill of firstbad leaves nothing' '
	export FIRSTBAD_NAMESPACES=no &&
	rm -rf repo "$XDG_DATA_HOME" "$XDG_CACHE_HOME" && world_make && linger &&
	cp kept.yaml plan.yaml && kills=0 && first="--plan ../plan.yaml c30 c1" &&
	while test $kills -lt 3; do
		setsid firstbad -C repo bisect auto -q $first >out 2>err &
		pid=$!
		sleep "0.$((50 + kills * 17))"
		kill -9 $pid
		wait $pid || :
		nobody_left || exit 1
		kills=$((kills + 1))
		firstbad -C repo bisect status >/dev/null 2>&1 && first=
	done &&
	firstbad -C repo bisect auto -q $first >got && fb_grep "\"change 17\"" got && nobody_left
'

fb_done
