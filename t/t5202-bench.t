#!/bin/sh
# The scripts that measure the search run, and put their figures where they belong.
. "${top_srcdir:-.}/t/test-lib.sh"

fb_have perl git xz || fb_skip_all "perl, git and xz are needed"
firstbad=$(command -v firstbad)

fb_expect 'bench: a commit is chosen faster than git rev-list does' '
	"$top_srcdir/scripts/bench" --firstbad "$firstbad" --only next --scale 0.05 >out &&
	awk "\$1 == 11571 { n++; if (\$NF <= 1) bad++ } END { exit !(n == 2 && !bad) }" out || { cat out; exit 1; }
'
fb_expect 'bench: real runs of git bisect and of firstbad bisect' '
	"$top_srcdir/scripts/bench" --firstbad "$firstbad" --only run --scale 0.1 >out &&
	test "$(grep -c "git bisect run, K = 1 .* 10.0 " out)" -eq 2 &&
	test "$(grep -c "firstbad bisect run " out)" -eq 2 || { cat out; exit 1; }
'
fb_expect 'bench: a section that is not there is refused' '
	! "$top_srcdir/scripts/bench" --firstbad "$firstbad" --only nosuch 2>err && fb_grep nosuch err
'
fb_expect 'search-table: one table is written, the rest of the page stays' '
	cp "$top_srcdir/doc/search.md" page.md && chmod u+w page.md &&
	set -- --firstbad "$firstbad" --results r --doc page.md --set calibration --scale 0.0005 &&
	"$top_srcdir/scripts/search-table" "$@" --write 2>first &&
	sed -n "/begin calibration/,/end calibration/p" page.md >table &&
	fb_grep "line of 256, drawn from the prior.*0.99 to 1 " table && test "$(wc -l <first)" -eq 5 &&
	strip="/^<!-- begin calibration/,/^<!-- end calibration/d" &&
	sed "$strip" page.md >got && sed "$strip" "$top_srcdir/doc/search.md" >want && fb_cmp want got &&
	cp page.md before.md && "$top_srcdir/scripts/search-table" "$@" --write 2>again &&
	test ! -s again && fb_cmp before.md page.md
'
fb_done
