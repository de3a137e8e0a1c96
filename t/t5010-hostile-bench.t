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
	readable && fb_grep "score is 0: only values above zero can be bisected" r.json
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

fb_expect 'max_boots ends the comparison of the ends, too' '
	rm -rf repo && world_make && sed -i "1i max_boots: 4" plan.yaml &&
	fb_must_fail 12 firstbad -C repo bisect auto -q --plan ../plan.yaml c12 c1 >out &&
	test "$(wc -l <count)" = 4 && fb_grep "[ ,]4 boots" out &&
	firstbad -C repo report >again && fb_cmp out again
'

fb_done
