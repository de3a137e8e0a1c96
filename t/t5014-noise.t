#!/bin/sh
# What `firstbad noise` says of boots of one kernel.
. "${top_srcdir:-.}/t/test-lib.sh"
. "$top_srcdir/t/world.sh"

fb_have git awk || fb_skip_all "git and awk are needed"

world_new 3 && world_set 3 3 broken && world_make || exit 1
cat >drifting <<-EOF
	#!/bin/sh
	echo x >>$FB_SCRATCH/boots
	n=\$(wc -l <$FB_SCRATCH/boots)
	echo "firstbad: lat \$((100 + n))"
	echo "firstbad: two \$((100 + n % 2 * 50 + n * 7919 % 3))"
	echo "firstbad: zero 0"
EOF
chmod +x drifting && sed "s,command: /.*,command: $FB_SCRATCH/drifting," plan.yaml >drifting.yaml &&
	sed "s,command: /.*,&\\
    runs: 3," plan.yaml >runs.yaml || exit 1

fb_expect 'spread, floor and the boots for 1, 2 and 5 percent; ten boots' '
	firstbad -C repo noise --plan ../plan.yaml -q --rev c1 >out && cat out &&
	fb_grep "score  mean (99|100)\.[0-9]* in 10 boots$" out &&
	fb_grep "spread  0\.[5-7][0-9]% from boot to boot \(builds not known, boots 0\.[5-7][0-9]%, runs in that of boots\)" out &&
	fb_grep "floor   1\.[0-9]*%: smaller .* with 10 boots of each kernel$" out &&
	fb_grep "boots   1%: 1[0-9], 2%: 6, 5%: 6 of each kernel$" out && fb_grep "runs: 2. or more" out &&
	fb_grep "at 99%: Student.s test of so many,$" out && fb_grep ! "DRIFTS|SEVERAL" out
'

fb_expect 'runs and equal builds have their part' '
	firstbad -C repo noise --plan ../runs.yaml -q --rev c1 --rev c2 --boots 6 >out && cat out &&
	fb_grep "\(builds 0\.[0-9]*%, boots 0\.[0-9]*%, runs 0\.[0-9]*%\)$" out &&
	fb_grep "^    runs    [0-9]+ .*in a boot are worth their time \(boot [0-9.]* s, run of all cells [0-9.]* s\)$" out &&
	test "$(grep -c "6 boots$" out)" = 2 && fb_grep "in 12 boots$" out
'

fb_expect 'what drifts or has several modes is told; a mean of zero has no floor' '
	firstbad -C repo noise --plan ../drifting.yaml -q --rev c1 --boots 12 >out && cat out &&
	test "$(grep -c "DRIFTS: values rise" out)" = 1 && test "$(grep -c "SEVERAL MODES" out)" = 1 &&
	sed -n "/ lat /,/ two /p" out >lat && fb_grep DRIFTS lat && sed -n "/ two /,/ zero /p" out >two &&
	fb_grep SEVERAL two && sed -n "/ zero /,\$p" out >zero && fb_grep "spread  not known" zero &&
	fb_grep ! "nan|inf%" out
'

fb_expect 'JSON; one boot knows nothing' '
	firstbad -C repo noise --plan ../plan.yaml -q --rev c1 --json >out.json &&
	fb_grep "\"1%\": 1[0-9]" out.json && fb_grep "\"floor\": 0\.01" out.json && fb_grep "\"sd_boots\": 0\.00" out.json &&
	firstbad -C repo noise --plan ../plan.yaml -q --rev c1 --boots 1 --json >out.json &&
	fb_grep ! "floor|\"sd|nan|\binf\b" out.json
'

fb_expect 'a kernel that gives no value is 14; wrong use is told' '
	fb_must_fail 14 firstbad -C repo noise --plan ../plan.yaml -q --rev c3 --boots 2 >out &&
	fb_grep "2 boots, 2 failed$" out && fb_grep "^    seed 1: test-failed: cell 0: .*exit status 3" out &&
	fb_must_fail 64 firstbad -C repo noise --plan ../plan.yaml --boots 0 2>err &&
	fb_must_fail 64 firstbad -C repo noise ../plan.yaml 2>err && fb_grep "too many" err
'

fb_done
