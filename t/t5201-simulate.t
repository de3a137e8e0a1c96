#!/bin/sh
# simulate: its figures can be relied on, repeated and read by programs; wrong options are refused.
. "${top_srcdir:-.}/t/test-lib.sh"

one_error()
{
	test "$(wc -l <err)" -eq 1 || { cat err; return 1; }
	fb_grep '^firstbad: ' err
}

# refused TEXT ARG...: status 64 and one line that says TEXT.
refused()
{
	text=$1
	shift
	fb_must_fail 64 firstbad simulate "$@" >out 2>err && one_error && fb_grep "$text" err &&
		test ! -s out
}

# value KEY FILE: a number of the JSON object.
value()
{
	sed -n "s/^  \"$1\": \([^,]*\),*\$/\1/p" "$2"
}

# steady FILE: without the times and without what was asked for.
steady()
{
	grep -vE '"(seconds|cpu_mean_s|next_mean_s|next_max_s)"' "$1"
}

fb_expect 'the table has every answer, the bound and its source' '
	firstbad simulate --dag line:32 --shift 4 --trials 20 -q >out &&
	for word in boots commits "lower bound" right wrong range none undecided other steps \
		"95 % upper bound" "stated probability" "Polyanskiy"; do
		fb_grep "$word" out || exit 1
	done
'
fb_expect 'the JSON object has the promised keys, and the rates are shares of the trials' '
	firstbad simulate --dag line:32 --shift 4 --trials 20 --json >out.json &&
	for key in boots_mean boots_median boots_p95 commits_mean right_rate wrong_rate range_rate \
		none_rate undecided_rate other_rate steps_rate wrong_upper bound seconds next_mean_s next_max_s; do
		value $key out.json >v && fb_grep "^[0-9.e-]+\$" v || { echo "$key"; exit 1; }
	done &&
	for o in right wrong range none undecided other steps; do value ${o}_rate out.json; done |
		awk "{ s += \$1 } END { exit !(s > 0.999999 && s < 1.000001) }" &&
	test "$(value trials out.json)" = 20
'
fb_expect 'the bound of 1024 commits at 1 sigma is 61.08 boots' '
	firstbad simulate --dag line:1024 --shift 1 --noise normal --trials 2 --repeats 1 --json >out.json &&
	value bound out.json >v && fb_grep "^61\.08" v
'
fb_expect 'a seed gives the same figures again, on any number of jobs' '
	set -- --dag line:40 --shift 3 --noise t3 --skips 0.2:3 --build-sd 0.2 --trials 30 --json &&
	firstbad simulate "$@" --seed 7 --jobs 1 >a && firstbad simulate "$@" --seed 7 --jobs 3 >b &&
	firstbad simulate "$@" --seed 8 --jobs 1 >c &&
	steady a >a1 && steady b >b1 && steady c | sed "s/\"seed\": 8/\"seed\": 7/" >c1 &&
	fb_cmp a1 b1 && ! cmp -s a1 c1
'
fb_expect 'a seed of 64 bits is told exactly' '
	firstbad simulate --dag line:8 --shift 9 --trials 1 --seed 9223372036854775807 --json >out.json &&
	test "$(value seed out.json)" = 9223372036854775807
'
fb_expect 'a real graph is read from its archive' '
	firstbad simulate --dag "$top_srcdir/t/data/dags/git-v2.44-v2.45.dag" --noise constant \
		--shift 3 --trials 3 --json >out.json &&
	test "$(value commits out.json)" = 729 && test "$(value right_rate out.json)" = 1.0 &&
	xz -c "$top_srcdir/t/data/dags/git-v2.44-v2.45.dag" >copy.dag.xz &&
	firstbad simulate --dag copy.dag.xz --noise constant --shift 3 --trials 3 --json >b.json &&
	steady out.json | grep -v "\"dag\"" >a && steady b.json | grep -v "\"dag\"" >b && fb_cmp a b
'
fb_expect 'each shape of noise runs' '
	for n in normal t3 lognormal bimodal drift binary constant; do
		firstbad simulate --dag line:16 --shift 4 --noise $n --trials 4 --json >out.json &&
		fb_grep "\"noise\": \"$n\"" out.json || exit 1
	done
'
fb_expect 'a counter of the same commit saves boots, one of another commit costs some, idle ones few' '
	set -- --dag line:256 --shift 2 --trials 60 --json && firstbad simulate "$@" >none.json &&
	firstbad simulate "$@" --counter 1 >same.json && firstbad simulate "$@" --counter 0 >other.json &&
	firstbad simulate "$@" --counter 1:0.5:1 --idle-counters 5:headline >copy.json &&
	awk "{ exit !(\$1 < \$2 - 8 && \$3 > \$1 + 8 && \$4 < \$2 + 3 && \$4 > \$2 - 3) }" <<-END &&
		$(for f in same none other copy; do value boots_mean $f.json; done | paste -s -d " ")
	END
	fb_grep "\"counters\": null" none.json && fb_grep "\"same_commit\": 1.0" same.json &&
	fb_grep "\"idle_kind\": \"headline\"" copy.json &&
	firstbad simulate --dag line:8 --shift 9 --trials 1 --counter 0.5:0.1:-1 --idle-counters 3:coin >out &&
	fb_grep "^counter .* 50 % .* 0.1 of its change, correlation -1" out && fb_grep "^idle .* 3 .*: coin" out
'
fb_expect 'wrong counters are refused' '
	for wrong in 1.5 x 1:-1 1:0.1:2 ""; do
		refused "counter" --dag line:8 --shift 1 "--counter=$wrong" || exit 1
	done &&
	for wrong in 5:noise -1 1024 x:coin; do
		refused "counters" --dag line:8 --shift 1 "--idle-counters=$wrong" || exit 1
	done
'
fb_expect 'known rates of verdicts save boots' '
	set -- --dag line:128 --noise binary --rates 0.05:0.95 --trials 100 --json &&
	firstbad simulate "$@" >unknown.json &&
	firstbad simulate "$@" --known-rates --min-boots 0 >known.json &&
	awk "{ exit !(\$1 > \$2 + 3 && \$3 > 0.9) }" <<-END
		$(value boots_mean unknown.json) $(value boots_mean known.json) $(value right_rate known.json)
	END
'
fb_expect 'nothing changes: "no regression", and no bound' '
	firstbad simulate --dag line:64 --no-regression --noise constant --trials 5 --json >out.json &&
	test "$(value none_rate out.json)" = 1.0 && test "$(value bound out.json)" = null
'
fb_expect 'of two steps both are named, and what needs two commits where they meet' '
	firstbad simulate --dag line:64 --shift 4 --second 4 --trials 20 --seed 3 --json >out.json &&
	value steps_rate out.json | awk "{ exit !(\$1 > 0.5) }" &&
	test "$(value wrong_rate out.json)" = 0.0 &&
	firstbad simulate --dag "$top_srcdir/t/data/dags/git-v2.44-v2.45.dag" --noise constant \
		--shift 3 --together --trials 5 --json >out.json &&
	fb_grep "\"together\": true" out.json && test "$(value wrong_rate out.json)" = 0.0 &&
	refused "is one step" --dag line:8 --shift 1 --second 1 --together
'
fb_expect 'the boots in all are kept to' '
	firstbad simulate --dag line:512 --shift 1 --boots 9..12 --trials 20 --json >out.json &&
	test "$(value undecided_rate out.json)" = 1.0 &&
	value boots_mean out.json | awk "{ exit !(\$1 > 9 && \$1 < 12) }" &&
	test "$(value boots_max out.json)" = 12.0
'
fb_expect 'the shift is drawn from the prior, and the bins have their standard errors' '
	firstbad simulate --dag line:32 --shift prior --boots 8..14 --trials 200 --json >out.json &&
	fb_grep "\"shift_prior\": true" out.json && test "$(value bound out.json)" = null &&
	grep -A7 "\"calibration\"" out.json >bin && fb_grep "\"se\": 0\.0" bin &&
	refused "prior" --dag line:8 --shift prior --noise binary
'
fb_expect 'fixed repeats: as many boots as steps times repeats' '
	firstbad simulate --dag line:1024 --shift 3 --repeats 5 --trials 50 --json >out.json &&
	test "$(value boots_mean out.json)" = 50.0
'
fb_expect 'wrong options are one error, before anything runs' '
	refused "shift D or --no-regression" --dag line:8 &&
	refused "dag FILE" --shift 1 &&
	refused "exclude" --dag line:8 --shift 1 --no-regression &&
	refused "shift" --dag line:8 --shift 0 &&
	refused "one sign" --dag line:8 --shift=-1..2 &&
	refused "shift" --dag line:8 --shift 2..1 &&
	refused "shift.*one" --dag line:8 --shift one &&
	refused "noise is normal" --dag line:8 --shift 1 --noise pink &&
	refused "line:N" --dag line:0 --shift 1 &&
	refused "line:N" --dag line:9999999999 --shift 1 &&
	refused "skips" --dag line:8 --shift 1 --skips x &&
	refused "untestable" --dag line:8 --shift 1 --skips 1 &&
	refused "at least" --dag line:8 --shift 1 --skips 0.9:2 &&
	refused "confidence" --dag line:8 --shift 1 --confidence 1 &&
	refused "confidence" --dag line:8 --shift 1 --confidence 99% &&
	refused "smallest effect" --dag line:8 --shift 1 --min-effect 0 &&
	refused "seed" --dag line:8 --shift 1 --seed -1 &&
	refused "culprit|commit 8" --dag line:8 --shift 1 --culprit 8 &&
	refused "trial" --dag line:8 --shift 1 --trials 0 &&
	refused "boots" --dag line:8 --shift 1 --boots 5..4 &&
	refused "boots" --dag line:8 --shift 1 --boots 1.5 &&
	refused "direction" --dag line:8 --shift 1 --direction sideways &&
	refused "bimodal" --dag line:8 --shift 1 --mode-share &&
	refused "rates" --dag line:8 --shift 1 --noise binary --rates .1:.9 &&
	refused "rates" --dag line:8 --noise binary --rates .9:.1 &&
	refused "rates" --dag line:8 --shift 1 --known-rates &&
	refused "too many" --dag line:8 --shift 1 more
'
fb_expect 'a wrong file is file, line and what was expected' '
	printf "# 3 commits\n\n0\n7\n" >wrong.dag &&
	refused "wrong.dag:4: expected parents before commit 2, not 7" --dag wrong.dag --shift 1 &&
	fb_must_fail 64 firstbad simulate --dag nosuch.dag --shift 1 2>err && one_error &&
	fb_grep nosuch.dag err
'

fb_done
