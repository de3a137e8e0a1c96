#!/bin/sh
# What `firstbad compare` says of a matrix on several revisions.
. "${top_srcdir:-.}/t/test-lib.sh"
. "$top_srcdir/t/world.sh"

fb_have git awk || fb_skip_all "git and awk are needed"

# Two cells: one is as fast as the commit says, the other always the same; it tells the order.
world_new 4 && world_set 3 3 80 && world_set 4 4 broken && world_make || exit 1
sed "s/^speed=.*/&; [ \$speed = broken ] || speed=100/; s/score/rate/; s,^echo x.*,&; echo rate >>$FB_SCRATCH/order," \
	bench >still && sed -i "s,^echo x.*,&; echo score >>$FB_SCRATCH/order," bench && chmod +x still &&
	printf '  - testcase: command\n    command: %s/still\n' "$FB_SCRATCH" >>plan.yaml || exit 1

fb_expect 'the cell that changed differs, the other does not; equal kernels do not' '
	firstbad -C repo compare --plan ../plan.yaml -q --boots 12 c1 c2 c3 >out && cat out &&
	test "$(grep -c "DIFFERS, worse$" out)" = 1 && test "$(grep -c "does not differ by 5%$" out)" = 3 &&
	fb_grep "^  \[1\] 0 of 2 differ, 2 do not$" out &&
	fb_grep "^  \[2\] 1 of 2 differ \(-(19|20)\.[0-9]*%\), 1 worse, 1 does not$" out &&
	fb_grep "^    \[2\] .* -(19|20)\.[0-9]*% \(-2[0-2]\.[0-9]*% \.\. -1[89]\.[0-9]*%\)$" out &&
	fb_grep "among 4 comparisons at most 1%" out &&
	test "$(awk "length > 80" out | grep -vc command=)" = 0
'

fb_expect 'the order of cells is balanced over boots' '
	rm order && firstbad -C repo compare --plan ../plan.yaml -q --boots 4 c1 c3 >out &&
	test "$(awk "NR % 2 && /score/" order | wc -l)" = 4 && test "$(wc -l <order)" = 16
'

fb_expect 'few boots cannot tell, and say how many could; --more makes them' '
	firstbad -C repo compare --plan ../plan.yaml -q c2 c3 >out &&
	test "$(grep -c "cannot tell yet ([0-9]* more boots*)$" out)" = 2 && fb_grep "^      3 boots$" out &&
	firstbad -C repo compare --plan ../plan.yaml -q --more c2 c3 >out && cat out &&
	fb_grep "DIFFERS, worse" out && fb_grep "does not differ by 5%" out && fb_grep ! "cannot tell" out &&
	fb_grep "valid at any time" out &&
	sed "s/max: 30/max: 4/" plan.yaml >few.yaml &&
	firstbad -C repo compare --plan ../few.yaml -q --more c2 c3 >out && fb_grep "cannot tell yet" out &&
	test "$(grep -c "^      [34] boots$" out)" = 2
'

fb_expect 'JSON has every value and verdict' '
	firstbad -C repo compare --plan ../plan.yaml -q --boots 12 c1 c3 --json >out.json &&
	fb_grep "\"verdict\": \"differs\"" out.json && fb_grep "\"verdict\": \"same\"" out.json &&
	fb_grep "\"is\": \"worse\"" out.json && fb_grep "\"effect_lo\": -0\.2" out.json &&
	test "$(grep -c "\"fingerprint\": \"[0-9a-f ]*\"" out.json)" = 2 && fb_grep ! "nan|inf" out.json
'

fb_expect 'lkp: a group for each cell, with the failures of kernels that fail' '
	firstbad -C repo compare --plan ../plan.yaml -q c1 c3 c4 --format lkp >out && cat out &&
	test "$(grep -c "^=\{89\}$" out)" = 2 &&
	fb_grep "^           :3            0%            :3          100%           3:3     last_state.test-failed$" out &&
	fb_grep "^ *(99|100)\.[0-9]* +-(19|20)\.[0-9]% +(79|80)\.[0-9]* +-100\.0% {7}0\.00        score$" out
'

fb_expect 'wrong use is told' '
	fb_must_fail 64 firstbad -C repo compare --plan ../plan.yaml c1 2>err && fb_grep "two revisions" err &&
	fb_must_fail 64 firstbad -C repo compare --plan ../plan.yaml c1 c2 --format x 2>err &&
	fb_grep "no format .x.; known: json lkp plain" err &&
	fb_must_fail 64 firstbad -C repo compare --plan ../plan.yaml --boots 0 c1 c2 2>err &&
	fb_must_fail 14 firstbad -C repo compare --plan ../plan.yaml -q c4 c1 >out &&
	fb_grep "^      test-failed: cell 0: .*/bench: exit status 3" out &&
	fb_must_fail 14 firstbad -C repo compare --plan ../plan.yaml -q c4 c1 --json >out &&
	fb_grep "\"test-failed\": \"cell 0: .*exit status 3" out
'

cat >tcg.yaml <<-EOF
	machine: tcg
	kconfig: [tiny, virt, fs-ext4]
	matrix:
	  - {testcase: command, command: /bin/true}
	  - {testcase: dbench}
EOF
fb_expect 'cells whose program is not here are told, before anything is built' '
	exe=$(command -v firstbad) &&
	fb_must_fail 64 env PATH=/nonexistent "$exe" -C repo compare --plan ../tcg.yaml -q c1 nope 2>err && cat err &&
	fb_grep "^firstbad: left out: testcase=dbench.*: no program .dbench." err &&
	fb_must_fail 64 env PATH=/nonexistent "$exe" -C repo noise --plan ../tcg.yaml -q --rev nope 2>err &&
	fb_grep "^firstbad: left out: testcase=dbench.*: no program .dbench." err
'

fb_done
