#!/bin/sh
# What a command prints, and when it fails, never ends a session or makes it unreadable.
. "${top_srcdir:-.}/t/test-lib.sh"
. "$top_srcdir/t/world.sh"

fb_have git awk || fb_skip_all "git and awk are needed"

# wrap_bench CODE: CODE runs before the bench, with the commit's number in $n.
wrap_bench()
{
	printf '#!/bin/sh\nn=$(cat other)\n%s\nexec "$FB_SCRATCH/bench"\n' "$1" >"$FB_SCRATCH/wrap"
	chmod +x "$FB_SCRATCH/wrap"
	sed -i "s,command: /.*,command: $FB_SCRATCH/wrap," plan.yaml
}

# readable: report and status of the session can be read in both forms.
readable()
{
	firstbad -C repo report >r.txt && firstbad -C repo report --json >r.json &&
		fb_grep '"verdict"' r.json && firstbad -C repo bisect status >s.txt &&
		firstbad -C repo bisect status --json >s.json && fb_grep '"verdict"' s.json &&
		iconv -f UTF-8 -t UTF-8 r.txt r.json s.txt s.json >all
}

fb_expect 'a metric that some commits do not print makes them skipped' '
	world_new 12 && world_set 7 12 80 && world_make &&
	wrap_bench "case \$n in 5|6) echo firstbad: o 1; exit 0;; esac" &&
	fb_must_fail 10 firstbad -C repo bisect auto -q --plan ../plan.yaml c12 c1 >out &&
	fb_grep "\"change 7\"" out && readable && fb_grep "score is not measured" r.json
'

fb_expect 'so does a value of zero' '
	rm -rf repo && world_set 7 12 80 && world_set 5 6 0 && world_make &&
	fb_must_fail 10 firstbad -C repo bisect auto -q --plan ../plan.yaml c12 c1 >out &&
	readable && fb_grep "score is 0: a change is a ratio, so only values above zero" r.json
'

fb_expect 'a metric that nobody measures is a wrong plan, exit status 64' '
	fb_must_fail 64 firstbad -C repo bisect auto -q --plan ../plan.yaml --metric scoer c12 c1 2>err &&
	fb_grep "scoer" err && readable &&
	fb_must_fail 64 firstbad -C repo bisect auto -q --plan ../plan.yaml --metric scoer \
		--cell testcase=command c12 c1 2>err &&
	fb_grep "scoer" err && readable
'

fb_expect 'bytes that are no text in a failure do not spoil the record' '
	rm -rf repo && world_set 5 6 100 && world_make &&
	wrap_bench "case \$n in 5|6) printf \"firstbad: a\\377\\033b 1\\n\"; exit 0;; esac" &&
	fb_must_fail 10 firstbad -C repo bisect auto -q --plan ../plan.yaml c12 c1 >out &&
	readable && fb_grep "is not a metric name" r.json
'

# The third to the fifth boot of each end.
fb_expect 'an end of which some boots fail is measured all the same' '
	rm -rf repo && world_make && : >flaky &&
	wrap_bench "echo >>\$FB_SCRATCH/flaky; i=\$(wc -l <\$FB_SCRATCH/flaky)
		test \$i -lt 5 || test \$i -gt 10 || exit 1" &&
	firstbad -C repo bisect auto -q --plan ../plan.yaml c12 c1 >out &&
	fb_grep "\"change 7\"" out && readable
'

fb_expect 'a file that git was told to look away from is put back' '
	rm -rf repo && world_make &&
	wrap_bench "\$FB_SCRATCH/bench; git update-index --assume-unchanged speed; echo broken >speed; exit" &&
	firstbad -C repo bisect auto -q --plan ../plan.yaml c12 c1 >out &&
	fb_grep "\"change 7\"" out
'

fb_expect 'also one that is not in the index for git' '
	rm -rf repo && world_make &&
	wrap_bench "\$FB_SCRATCH/bench; git update-index --skip-worktree speed other; echo broken >speed; echo 1 >other; exit" &&
	firstbad -C repo bisect auto -q --plan ../plan.yaml c12 c1 >out &&
	fb_grep "\"change 7\"" out &&
	firstbad -C repo report --json >r.json && fb_grep ! "\"skipped\": \"" r.json
'

# What a command does to the job that it runs in is its own failure, and that of its commit alone.
fb_expect 'a command that kills its agent is skipped with the cause' '
	rm -rf repo && world_make &&
	wrap_bench "case \$n in 5|6) kill -9 \$PPID; sleep 100;; esac" &&
	fb_must_fail 10 firstbad -C repo bisect auto -q --plan ../plan.yaml c12 c1 >out &&
	fb_grep "\"change 7\"" out && fb_grep "\"change 5\"" out && readable &&
	fb_grep "spoiled its own job 3 times.*the agent was killed" r.json
'
fb_expect 'so is one that deletes the directory of its job' '
	rm -rf repo && world_make &&
	wrap_bench "case \$n in 5|6) rm -rf \"\${FIRSTBAD_RESULT%/tmp/*}\"; exit 1;; esac" &&
	fb_must_fail 10 firstbad -C repo bisect auto -q --plan ../plan.yaml c12 c1 >out &&
	fb_grep "\"change 7\"" out && readable && fb_grep "spoiled its own job 3 times" r.json
'
if unshare --pid --mount --fork true 2>/dev/null; then
	fb_expect 'and one that kills whatever it can' '
	rm -rf repo && world_make &&
	wrap_bench "case \$n in 5|6) kill -9 -1;; esac" &&
	fb_must_fail 10 firstbad -C repo bisect auto -q --plan ../plan.yaml c12 c1 >out &&
	fb_grep "\"change 7\"" out && readable && fb_grep "spoiled its own job 3 times" r.json
'
else
	# Without a namespace this test would be among them.
	fb_skip 'and one that kills whatever it can' 'no PID namespaces here'
fi
# The agent cannot be started in any job: that is no failure of a commit.
fb_expect 'a lab in which no job goes well is infra, exit status 75' '
	rm -rf repo && world_make && printf "#!/bin/sh\nexit 1\n" >agent && chmod +x agent &&
	fb_must_fail 75 env FIRSTBAD_AGENT="$PWD/agent" \
		firstbad -C repo bisect auto -q --plan ../plan.yaml c12 c1 2>err &&
	fb_grep "went wrong 3 times" err &&
	firstbad -C repo bisect auto -q >out && fb_grep "\"change 7\"" out
'

# 100 MB at each boot of three commits; two of them fail, and theirs is kept.
fb_expect 'output without measure is no trouble, and does not stay on the disk' '
	rm -rf repo "$XDG_DATA_HOME" && world_make &&
	wrap_bench "much() { head -c 50000000 /dev/zero | tr \"\\0\" x; echo; }
		case \$n in 5|6|7) much; echo firstbad: between 5; much;; esac
		case \$n in 5|6) \$FB_SCRATCH/bench; exit 3;; esac" &&
	fb_must_fail 10 firstbad -C repo bisect auto -q --plan ../plan.yaml c12 c1 >out &&
	test "$(sed -n "/they cannot be told apart/,/^metric/p" out | grep -c "(\"change")" = 3 &&
	fb_grep "\"change 7\"" out && readable && fb_grep "exit status 3" r.json &&
	find "$XDG_DATA_HOME" -name stdout -size +1M >big && test -s big &&
	cut -c 1-60 "$(head -n 1 big)" >lines && cat lines &&
	test "$(grep -c "^xxxx" lines)" = 1 && fb_grep "^firstbad: between 5$" lines &&
	fb_grep "^.firstbad: 9[0-9]{7} bytes left out here.$" lines &&
	tail -n 1 lines | grep "^firstbad: score [0-9.]*$" &&
	test "$(du -sm "$XDG_DATA_HOME" | cut -f1)" -lt $((9 * $(wc -l <big) + 10))
'

fb_expect 'values that are all zero end the session with the cause' '
	rm -rf repo && world_set 1 12 0 && world_make &&
	for o in "" "--metric score" "--metric score --cell testcase=command"; do
		fb_must_fail 14 firstbad -C repo bisect auto -q --plan ../plan.yaml $o c12 c1 >out &&
		fb_grep "^Nothing can be said" out && fb_grep "above zero" out && readable &&
		boots=$(wc -l <count) &&
		fb_must_fail 14 firstbad -C repo bisect auto -q >again && fb_cmp out again &&
		test "$(wc -l <count)" = "$boots" || exit 1
	done
'

fb_expect 'a bisection for improvements tells of them when there is none' '
	rm -rf repo && world_set 1 12 100 && world_make &&
	fb_must_fail 11 firstbad -C repo bisect auto -q --plan ../plan.yaml --change improvement c12 c1 >out &&
	fb_grep "^No improvement: " out &&
	firstbad -C repo report --json >r.json && fb_grep "\"looked_for\": \"improvement\"" r.json
'

rm -rf repo && world_set 7 12 80
fb_expect 'max_boots ends the comparison of the ends, too' '
	world_make && sed -i "1i max_boots: 4" plan.yaml &&
	fb_must_fail 12 firstbad -C repo bisect auto -q --plan ../plan.yaml c12 c1 >out &&
	test "$(wc -l <count)" = 4 && fb_grep "[ ,]4 boots" out &&
	firstbad -C repo report >again && fb_cmp out again
'

fb_done
