#!/bin/sh
# `bisect run CMD` with values: which lines count, which runs, and what is followed.
. "${top_srcdir:-.}/t/test-lib.sh"
. "$top_srcdir/t/world.sh"

fb_have git awk || fb_skip_all "git and awk are needed"

# wrap CODE: ./wrap runs CODE with the commit's number in $n; $(bench) there is one measurement.
wrap()
{
	printf '#!/bin/sh\nn=$(cat other)\nbench() { "$FB_SCRATCH/bench"; }\n%s\n' "$1" >wrap
	chmod +x wrap
	rm -rf "$XDG_DATA_HOME"
	: >count
}

run()
{
	firstbad -C repo bisect run -q --json --min-effect 5% --good c1 "$@" >out
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

fb_expect 'a drop of a value is found, with every run counted' '
	world_new 40 && world_set 23 40 80 && world_make &&
	run "$FB_SCRATCH/bench" && found 23 && test "$(last metric)" = score &&
	test "$(last boots)" = "$(wc -l <count)" &&
	test "$(awk -v c="$(last confidence)" "BEGIN { print (c >= 0.99) }")" = 1
'

fb_expect 'so is a rise, when nothing is said of the good direction; not with --better higher' '
	rm -rf repo && world_set 23 40 130 && world_make &&
	run "$FB_SCRATCH/bench" && found 23 &&
	fb_must_fail 11 run --better higher "$FB_SCRATCH/bench" && test "$(last verdict)" = none &&
	run --better lower "$FB_SCRATCH/bench" && found 23 &&
	run --better higher --change improvement "$FB_SCRATCH/bench" && found 23
'

fb_expect 'no change is no regression: exit status 11' '
	rm -rf repo && world_set 23 40 100 && world_make &&
	fb_must_fail 11 run "$FB_SCRATCH/bench" && test "$(last verdict)" = none
'

fb_expect 'lines without the mark at their beginning are chatter' '
	rm -rf repo && world_set 23 40 80 && world_make &&
	wrap "echo score 7; echo \" firstbad: score 7\"; echo \"x firstbad: y 7\"; bench; echo done" &&
	run "$FB_SCRATCH/wrap" && found 23
'

fb_expect 'values may come by the file $FIRSTBAD_RESULT instead' '
	wrap "echo chatter; bench | sed \"s/^firstbad: //\" >\"\$FIRSTBAD_RESULT\"" &&
	run "$FB_SCRATCH/wrap" && found 23 && test "$(last metric)" = score
'

fb_expect 'something else than a file at $FIRSTBAD_RESULT is not waited for' '
	wrap "bench; mkfifo \"\$FIRSTBAD_RESULT\"" && fb_must_fail 14 run "$FB_SCRATCH/wrap" &&
	firstbad -C repo report >plain &&
	fb_grep "what \\\$FIRSTBAD_RESULT names is not a regular" plain
'

fb_expect 'several metrics: one error that names them; with --metric one is followed' '
	wrap "bench; echo firstbad: other 5" &&
	fb_must_fail 64 run "$FB_SCRATCH/wrap" 2>err && test ! -s out && test "$(wc -l <err)" = 1 &&
	fb_grep "several metrics \(score, other\): choose one with --metric" err &&
	run --metric score "$FB_SCRATCH/wrap" && found 23 &&
	fb_must_fail 11 run --metric other "$FB_SCRATCH/wrap"
'

fb_expect 'a metric that is never given: one error' '
	wrap bench &&
	fb_must_fail 64 run --metric scoer "$FB_SCRATCH/wrap" 2>err && test "$(wc -l <err)" = 1 &&
	fb_grep "scoer is not measured" err
'

# Commits 10 to 12 look slow but say that they failed.
fb_expect 'values of a run with another exit status do not count' '
	wrap "case \$n in 10|11|12) echo firstbad: score 20; exit 1;; esac; bench" &&
	run "$FB_SCRATCH/wrap" && found 23
'

fb_expect '125 skips at once, other failures after three' '
	wrap "case \$n in 19|20|21) echo x >>\$FB_SCRATCH/skips; exit 125;; esac; bench" && : >skips &&
	run "$FB_SCRATCH/wrap" && found 23 && test "$(wc -l <skips)" -le 3
'

fb_expect 'a first run that failed is no verdict once values are seen' '
	wrap "test \$n -lt 15 || test \$n -gt 25 || exit 1; bench" &&
	fb_must_fail 10 run "$FB_SCRATCH/wrap" && test "$(last verdict)" = range &&
	tail -n 1 out >end && fb_grep "$(git -C repo rev-parse c23)" end &&
	test "$(grep -o "[0-9a-f]\{40\}" end | sort -u | wc -l)" = 12
'

fb_expect '128 and above stops with values, too' '
	wrap "test -e \"\$FB_SCRATCH/fixed\" || test \$n = 1 || exit 130; bench" && rm -f fixed &&
	fb_must_fail 70 run "$FB_SCRATCH/wrap" 2>err && fb_grep "exit status 130 at" err &&
	touch fixed && firstbad -C repo bisect run -q --json >out && found 23
'

fb_expect 'what is no number is no value' '
	wrap "case \$n in 12) echo firstbad: score nan;; 13) echo firstbad: score 1e999;;
		14) echo firstbad: score 10k;; 15) echo firstbad: score;; 16) echo firstbad: score 1 2;;
		17) printf \"firstbad: score 5\";; 18) printf \"firstbad: score\\\\0 5\\n\";;
		19) echo firstbad: score 0;; 20) echo firstbad: score -3;; *) bench;; esac" &&
	run "$FB_SCRATCH/wrap" && found 23 &&
	firstbad -C repo report --json >json && fb_grep "boots gave no value" json
'

fb_expect 'garbage everywhere: the good end is tried, and cannot be measured: exit status 14' '
	wrap "echo >>\$FB_SCRATCH/count; echo firstbad: score nan" &&
	fb_must_fail 14 run "$FB_SCRATCH/wrap" && test "$(last verdict)" = untestable &&
	test "$(wc -l <count)" = 6 &&
	firstbad -C repo report >plain && fb_grep "is not a finite" plain
'

fb_expect '10 MB around the values' '
	wrap "yes 0123456789abcde | head -c 10000000; bench; yes x | head -c 100000" &&
	run "$FB_SCRATCH/wrap" && found 23
'

fb_expect 'what the command costs can be followed, though it gives no value' '
	wrap "i=0; while [ \$i -lt \$(((\$n > 22) * 60000 + 30000)) ]; do i=\$((i + 1)); done" &&
	run --min-effect 50% --metric time.user_time "$FB_SCRATCH/wrap" && found 23
'

fb_expect 'the report has the means of the boots on either side, their ratio and spread' '
	wrap "if test \$n -lt 23; then echo firstbad: score 9; else echo firstbad: score 20; fi" &&
	run "$FB_SCRATCH/wrap" && found 23 && test "$(last mean_good)" = 9.0 &&
	test "$(last mean_bad)" = 20.0 && test "$(last sigma)" = 0.0 && fb_grep ! effect_lo out &&
	firstbad -C repo report >plain &&
	fb_grep "^good -> bad: 9 -> 20, change \+122\.22% \(bad / good - 1\)\$" plain &&
	fb_grep "^noise: +0\.00% from boot to boot" plain && fb_grep ! "interval" plain
'

# Two modes: 100 or 140, by turns; from commit 23 on 300 or 420.
fb_expect 'so it has of noise with two modes' '
	wrap "echo >>\$FB_SCRATCH/count; i=\$(wc -l <\$FB_SCRATCH/count)
		echo firstbad: score \$(((100 + i * 7919 % 8 % 2 * 40) * (\$n < 23 ? 1 : 3)))" &&
	run --fresh "$FB_SCRATCH/wrap" && found 23 && firstbad -C repo report --json >json &&
	awk -v good="$(last mean_good)" -v bad="$(last mean_bad)" "
		/\"values\"/ { on = 1; next } /\]/ { on = 0 }
		on { v = \$1 + 0; k = v >= 300; n[k]++; sum[k] += v }
		function differ(a, b) { return a < b * (1 - 1e-9) || a > b * (1 + 1e-9) }
		END { exit !n[0] || !n[1] || differ(good, sum[0] / n[0]) || differ(bad, sum[1] / n[1]) }
	" json &&
	awk -v e="$(last effect)" -v lo="$(last effect_lo)" -v hi="$(last effect_hi)" \
		"BEGIN { exit !(lo < e && e < hi) }"
'

fb_done
