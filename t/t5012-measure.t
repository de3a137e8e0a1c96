#!/bin/sh
# What `firstbad measure` says about spread and change.
. "${top_srcdir:-.}/t/test-lib.sh"
. "$top_srcdir/t/world.sh"

fb_have git awk || fb_skip_all "git and awk are needed"

world_new 4 && world_set 3 4 80 && world_make || exit 1

fb_expect 'a change is told from equal kernels, with its interval' '
	firstbad -C repo measure ../plan.yaml -q --boots 8 --rev c1 --rev c2 --rev c3 >out &&
	grep " against " out >changes && test "$(wc -l <changes)" = 2 &&
	sed -n 1p changes >equal && fb_grep "not shown to differ|smaller than min_effect" equal &&
	sed -n 2p changes >change &&
	fb_grep "against [0-9a-f]{12}: -(19|20)\.[0-9]*% \(-2[01]\.[0-9]*% \.\. -1[89]\.[0-9]*%\), differs$" \
		change &&
	fb_grep "any of 2 comparisons with probability 0.01" out
'

fb_expect 'the same stands in JSON' '
	firstbad -C repo measure ../plan.yaml -q --boots 8 --rev c1 --rev c3 --json >out.json &&
	fb_grep "\"verdict\": \"differ\"" out.json && fb_grep "\"effect\": -0\.(19|20)" out.json &&
	fb_grep "\"effect_lo\": -0\.2" out.json && fb_grep "\"effect_hi\": -0\.1" out.json &&
	test "$(grep -c "\"mean_lo\"" out.json)" = 2 &&
	firstbad -C repo measure ../plan.yaml -q --boots 1 --rev c1 --rev c3 --json >out.json &&
	fb_grep "\"verdict\": \"open\"" out.json && fb_grep ! "mean_lo|effect_lo|inf|nan" out.json
'

fb_expect 'too few boots show the size, and how many could show that it is certain' '
	least="not shown to differ \(it takes --boots 6 at least\)$" &&
	for n in 3 5; do
		firstbad -C repo measure ../plan.yaml -q --boots $n --rev c2 --rev c4 >out &&
		fb_grep "against [0-9a-f]{12}: -(19|20)\.[0-9]*% \(-.* \.\. -.*\), $least" out || exit 1
	done &&
	firstbad -C repo measure ../plan.yaml -q --boots 6 --rev c2 --rev c4 >out && fb_grep ", differs$" out &&
	sed "s/min_effect: 5%/min_effect: 0.1%/" plan.yaml >fine.yaml &&
	firstbad -C repo measure ../fine.yaml -q --boots 6 --rev c1 --rev c2 >out &&
	fb_grep "not shown to differ$" out
'

fb_expect 'the spread of runs is told from that of boots' '
	sed "s,command: /.*,&\\
    runs: 4," plan.yaml >runs.yaml &&
	firstbad -C repo measure ../runs.yaml -q --boots 3 --rev c1 >out &&
	fb_grep "mean (99|100)\..* \(9.* \.\. 1.*\)  sd 0\.[0-9]*% \(boots 0\.[0-9]*%, runs 0\.[0-9]*%\)  .* in 3 boots" out &&
	fb_grep ! "against|In brackets" out &&
	firstbad -C repo measure ../plan.yaml -q --boots 1 --rev c1 >out &&
	fb_grep "mean [0-9.]*  [0-9.]* \.\. [0-9.]* in 1 boot$" out
'

fb_expect 'a mean of zero has no spread in percent; runs near the end of the numbers have a mean' '
	printf "#!/bin/sh\necho firstbad: score 0\n" >zero && printf "#!/bin/sh\necho firstbad: score 1.7e308\n" >most &&
	chmod +x zero most && for s in zero most; do
		sed "s,command: /.*,command: $FB_SCRATCH/$s," plan.yaml >$s.yaml && echo "    runs: 3" >>$s.yaml &&
		firstbad -C repo measure ../$s.yaml -q --boots 2 --rev c1 >$s.out || exit 1
	done &&
	fb_grep "mean 0 .*  sd - \(boots -, runs -\)" zero.out && fb_grep "mean 1\.7e\+308 " most.out &&
	fb_grep ! "nan|inf%" zero.out
'

fb_done
