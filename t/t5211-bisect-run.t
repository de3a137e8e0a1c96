#!/bin/sh
# `bisect run CMD` with exit statuses: what `git bisect run` says, and what its users expect.
. "${top_srcdir:-.}/t/test-lib.sh"

fb_have git awk || fb_skip_all "git and awk are needed"

# history N: repository ./repo with a line of commits c1..cN; the file "n" has the number.
history()
{
	rm -rf repo
	git init -q repo
	awk -v n="$1" 'BEGIN {
		for (i = 1; i <= n; i++) {
			printf "commit refs/heads/main\nmark :%d\n", i
			printf "committer C O Mitter <c@example.com> %d +0000\n", 1112911993 + 60 * i
			msg = "change " i
			printf "data %d\n%s\n", length(msg), msg
			if (i > 1) printf "from :%d\n", i - 1
			printf "M 100644 inline n\ndata %d\n%d\n\n", length(i "") + 1, i
			printf "reset refs/tags/c%d\nfrom :%d\n\n", i, i
		}
	}' | git -C repo fast-import --quiet
	git -C repo reset -q --hard main
	: >"$FB_SCRATCH/count"
}

# script CODE: ./repo/t.sh (not tracked) runs CODE with the commit's number in $n.
script()
{
	printf '#!/bin/sh\nn=$(cat n)\necho "$n" >>"%s/count"\n%s\n' "$FB_SCRATCH" "$1" >repo/t.sh
	chmod +x repo/t.sh
}

run()
{
	firstbad -C repo bisect run "$@"
}

# last KEY: the value in the last line of ./out.
last()
{
	tail -n 1 out | sed -n "s/.*\"$1\":\"\{0,1\}\([^,\"}]*\).*/\1/p"
}

# found N: ./out names commit cN.
found()
{
	test "$(last verdict)" = found || { cat out; return 1; }
	test "$(last commit)" = "$(git -C repo rev-parse "c$1")"
}

fb_expect 'the first bad commit is named, with one run a commit' '
	history 100 && script "test \$n -lt 37" &&
	run -q --json --good c1 --bad c100 ./t.sh >out && found 37 &&
	test "$(last boots)" = "$(wc -l <count)" && test "$(last commits_tested)" = "$(wc -l <count)" &&
	test "$(sort count | uniq -d)" = "" && test "$(wc -l <count)" -le 7 &&
	test "$(last confidence)" = 1.0 && fb_grep "\"session\":\"[0-9a-f]+\"" out &&
	test "$(wc -l <out)" = 1
'

fb_expect 'the plain report ends as git bisect does, and status and report read the session' '
	firstbad -C repo report >plain && fb_grep "^exit status changed with this commit" plain &&
	tail -n 1 plain >end && fb_grep "^first bad commit: $(git -C repo rev-parse c37) " end &&
	firstbad -C repo bisect status >status && fb_grep "^session [0-9a-f]+, found" status &&
	fb_grep "^following exit status" status && fb_grep ! "nan" status && fb_grep ! "nan" plain &&
	firstbad -C repo report --json >json && fb_grep "\"metric\": \"exit status\"" json
'

fb_expect 'the checkout, index, branches and refs of the user are as before' '
	test "$(git -C repo status --porcelain)" = "?? t.sh" &&
	test "$(git -C repo symbolic-ref HEAD)" = refs/heads/main &&
	test "$(git -C repo for-each-ref | wc -l)" = 101 && test "$(cat repo/n)" = 100
'

fb_expect 'HEAD is bad when nothing else is said, and the program keeps its arguments' '
	history 20 && script "test \"\$1\" = --json && test \"\$2\" = \"a  b\" && test \$n -lt 9" &&
	run --good c1 -q --json ./t.sh --json "a  b" >out && found 9
'

fb_expect 'a shell script in one word with line breaks' '
	history 20 &&
	run -q --json --good c1 -- sh -c "
		n=\$(cat n)	# it'\''s a tab
		test \$n -lt 12" >out && found 12
'

fb_expect 'an interpreter and a script that git does not track; from a sub-directory' '
	history 20 && script "test \$n -lt 13" && mkdir repo/sub &&
	(cd repo/sub && firstbad bisect run -q --json --good c1 sh ../t.sh) >out && found 13 &&
	cp repo/t.sh repo/sub/u.sh &&
	(cd repo/sub && firstbad bisect run --json --good c1 ./u.sh) >out 2>err && found 13 &&
	fb_grep "^using .*/repo/sub/u.sh, which is not in " err
'

fb_expect 'a script that the commits bring along is each commit'\''s own' '
	history 5 && for i in 6 7 8 9; do
		printf "#!/bin/sh\nexit %d\n" $((i > 7)) >repo/own.sh && chmod +x repo/own.sh &&
		git -C repo add own.sh && git -C repo commit -q --allow-empty -m "change $i" &&
		git -C repo tag "c$i" || exit 1
	done &&
	run -q --json --good c6 ./own.sh >out && found 8
'

fb_expect 'commits without a change are commits' '
	history 3 && for i in 4 5 6 7 8; do
		git -C repo commit -q --allow-empty -m "change $i" && git -C repo tag "c$i" || exit 1
	done &&
	run -q --json --good c1 sh -c "test \$(git rev-list --count HEAD) -lt 6" >out && found 6
'

fb_expect '125 skips, and the answer is a range when only skipped ones are left: exit status 10' '
	history 30 && script "case \$n in 11|12|13) exit 125;; esac; test \$n -lt 12" &&
	fb_must_fail 10 run -q --json --good c1 ./t.sh >out &&
	test "$(last verdict)" = range && tail -n 1 out >end && for i in 11 12 13 14; do
		fb_grep "\"$(git -C repo rev-parse c$i)\"" end || exit 1
	done && test "$(grep -o "[0-9a-f]\{40\}" end | sort -u | wc -l)" = 4 &&
	fb_grep ! "\"commit\":" end &&
	script "case \$n in 11|12|13|20) exit 125;; esac; test \$n -lt 25" &&
	run -q --json --good c1 ./t.sh >out && found 25
'

fb_expect '128 and above stops, and the commit is run again later' '
	history 30 && script "test -e \"\$FB_SCRATCH/fixed\" || exit 128; test \$n -lt 12" &&
	fb_must_fail 70 run -q --json --good c1 ./t.sh 2>err >out &&
	test "$(wc -l <err)" = 1 && fb_grep "stopped by exit status 128 at" err && test ! -s out &&
	test "$(wc -l <count)" = 1 &&
	touch fixed && run -q --json >out && found 12
'

fb_expect 'a signal stops, too' '
	history 9 && script "kill -9 \$\$" &&
	fb_must_fail 70 run -q --good c1 ./t.sh 2>err && fb_grep "exit status 137 at" err
'

fb_expect 'a program that is not there is no verdict' '
	history 30 &&
	fb_must_fail 69 run -q --good c1 nosuchprogram 2>err &&
	fb_grep "exit status 127 also at the good end .*nosuchprogram: cannot run" err &&
	test "$(wc -l <err)" = 1 && : >repo/noexec && chmod 644 repo/noexec &&
	fb_must_fail 69 run -q --good c1 ./noexec 2>err && fb_grep "exit status 126 also at" err
'

fb_expect '126 and 127 of a program that runs on the good end are bad' '
	history 30 && script "test \$n -lt 12 || exit 127" &&
	run -q --json --good c1 ./t.sh >out && found 12 && fb_grep "^1\$" count &&
	test "$(last boots)" = "$(wc -l <count)" &&
	script "test \$n -lt 3 || exit 126" && run -q --json --good c1 ./t.sh >out && found 3
'

fb_expect 'when no run was good the good end is tried: a script that always fails names nobody' '
	history 30 && script "exit 1" &&
	fb_must_fail 13 run -q --json --good c1 ./t.sh >out && test "$(last verdict)" = something-else &&
	fb_grep ! "\"commit\":" out && fb_grep "^1\$" count &&
	test "$(last cause | cut -c 1-19)" = "the good end is bad" &&
	firstbad -C repo report >plain && fb_grep "^Wrong end: the good end is bad, too\.\$" plain
'

fb_expect 'when all are good the bad end is tried: no change, exit status 11' '
	history 30 && script "exit 0" && fb_must_fail 11 run -q --json --good c1 ./t.sh >out &&
	test "$(last verdict)" = none && test "$(last cause | cut -c 1-19)" = "the bad end is good" &&
	fb_grep "^30\$" count && firstbad -C repo report >plain &&
	fb_grep "^No regression: the bad end is good, too\.\$" plain &&
	script "exit 1" &&
	fb_must_fail 11 run -q --json --change improvement --old c1 --new c30 ./t.sh >out &&
	fb_grep "\"cause\":\"the new end fails, too\"" out
'

fb_expect 'when no verdict spoke for a side and its end is skipped nobody is named: exit status 14' '
	history 60 && script "exit 125" &&
	fb_must_fail 14 run -q --json --good c1 ./t.sh >out && test "$(last verdict)" = untestable &&
	test "$(last cause)" = "neither end can be measured" && test "$(wc -l <count)" -le 6 &&
	fb_grep ! "confidence|something_else|effect|mean" out &&
	fb_grep "$(git -C repo rev-parse c1)" out && fb_grep "$(git -C repo rev-parse c60)" out &&
	firstbad -C repo report >plain &&
	fb_grep "^Nothing can be said: neither end can be measured\.\$" plain &&
	fb_grep ! "good -> bad|first bad commit" plain &&
	firstbad -C repo report --json >json && fb_grep "\"effect\": null" json &&
	fb_grep "\"confidence\": null" json &&
	: >count && script "test \$n = 1 || exit 125" &&
	fb_must_fail 14 run -q --json --good c1 ./t.sh >out && test "$(wc -l <count)" -le 8 &&
	test "$(last cause)" = "the bad end cannot be measured" &&
	: >count && script "test \$n = 60 && exit 1; exit 125" &&
	fb_must_fail 14 run -q --json --good c1 ./t.sh >out && test "$(wc -l <count)" -le 8 &&
	test "$(last cause)" = "the good end cannot be measured"
'

fb_expect 'so it is with --flaky' '
	history 20 && script "exit 125" &&
	fb_must_fail 14 run -q --json --flaky --good c1 ./t.sh >out &&
	fb_grep "\"cause\":\"the good end cannot be measured\"" out &&
	fb_grep ! "confidence|something_else|effect|mean" out &&
	firstbad -C repo report >plain && fb_grep "^Nothing .*: the good end cannot be measured" plain &&
	fb_grep ! "good -> bad|noise:" plain
'

fb_expect 'an improvement: 0 is good, now at the new end; --old and --new' '
	history 30 && script "test \$n -ge 12" &&
	run -q --json --change improvement --old c1 --new c30 ./t.sh >out && found 12
'

fb_expect 'several good ends; a fix on the good side is told: exit status 13' '
	history 10 && git -C repo checkout -q -b side c4 && echo 4 >repo/side && git -C repo add side &&
	git -C repo commit -q -m side && git -C repo checkout -q main &&
	run -q --json --good c2 --good side --bad c10 sh -c "test \$(cat n) -lt 7" >out && found 7 &&
	fb_must_fail 13 run -q --json --good side sh -c "test -e side" >out &&
	test "$(last verdict)" = base-bad && fb_grep "$(git -C repo rev-parse c4)" out
'

fb_expect '--first-parent leaves out what was merged' '
	history 4 && git -C repo checkout -q -b topic c2 && echo x >repo/t1 && git -C repo add t1 &&
	git -C repo commit -q -m t1 && git -C repo checkout -q main &&
	git -C repo merge -q --no-ff -m merge topic && git -C repo tag c5 &&
	run -q --json --first-parent --good c1 sh -c "test ! -e t1" >out && found 5
'

fb_expect '--max-runs ends it undecided: exit status 12' '
	history 100 && script "test \$n -lt 37" &&
	fb_must_fail 12 run -q --json --max-runs 3 --good c1 ./t.sh >out &&
	test "$(wc -l <count)" = 3 && test "$(last boots)" = 3
'

fb_expect '10 MB of output are no trouble' '
	history 10 && script "yes 0123456789abcde | head -c 10000000; test \$n -lt 4" &&
	run -q --json --good c1 ./t.sh >out && found 4
'

# The bad side fails three times of four, the good side one of eight; by a fixed sequence.
fb_expect '--flaky: a status that may lie is asked for again' '
	history 40 && script "
		i=\$(wc -l <\$FB_SCRATCH/count); r=\$((i * 7919 % 8))
		if test \$n -lt 23; then test \$r -ne 3; else test \$r -lt 2; fi" &&
	run -q --json --flaky --good c1 ./t.sh >out && found 23 &&
	test "$(last boots)" = "$(wc -l <count)" && test "$(wc -l <count)" -gt 15 &&
	firstbad -C repo report >plain && fb_grep "^exit status changed with this commit" plain &&
	fb_grep "^failures: .* % of the boots before, .* % after\$" plain &&
	fb_grep ! nan plain && firstbad -C repo bisect status >status && fb_grep ! nan status
'

fb_expect '--flaky and no difference: exit status 11' '
	history 40 && script "test \$((\$(wc -l <\$FB_SCRATCH/count) * 7919 % 8)) -ne 3" &&
	fb_must_fail 11 run -q --json --flaky --min-effect 60% --good c1 ./t.sh >out &&
	test "$(last verdict)" = none
'

fb_expect 'wrong command lines are one error: 64' '
	history 5 &&
	for args in "--bad c5 true" "--good c1" "--good nosuch true" "--good c5 --bad c1 true" \
		"--good c1 --better up true" "--good c1 --change worse true" \
		"--good c1 --min-effect x true" "--good c1 --confidence 2 true" \
		"--good c1 --session abc true" "--session nosuch"; do
		fb_must_fail 64 run -q $args 2>err >out || exit 1
		test ! -s out && test "$(wc -l <err)" = 1 && fb_grep "^firstbad: " err || exit 1
	done
'

# As make does: what a commit changed is built again, the rest is there.
fb_expect 'a build finds what the last one left, as under git bisect run' '
	history 30 && script "test -e big.o || { echo built >>$FB_SCRATCH/built; echo >big.o; }
		test -e n.o && test n.o -nt n || cp n n.o
		test \$(cat n.o) -lt 17" && : >built &&
	run -q --json --good c1 ./t.sh >out && found 17 && test "$(wc -l <built)" = 1
'

fb_expect 'another session begins without it' '
	run -q --json --fresh --good c1 ./t.sh >out && found 17 && test "$(wc -l <built)" = 2
'

# damage OBJECT: garbage in the file of a loose object.
damage()
{
	o=$(git -C repo rev-parse "$1") && o=repo/.git/objects/$(echo "$o" | sed "s,^..,&/,") &&
	chmod u+w "$o" && echo garbage >"$o"
}

fb_expect 'a damaged object is one error, and no mistake of the user: 70' '
	for object in c10 "c10^{tree}" c10:n; do
		rm -rf repo && git init -q repo && for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19; do
			echo $i >repo/n && git -C repo add n && git -C repo commit -q -m "change $i" &&
			git -C repo tag c$i || exit 1
		done && script "test \$n -lt 5" && damage "$object" &&
		fb_must_fail 70 run -q --fresh --good c1 ./t.sh 2>err && test "$(wc -l <err)" = 1 &&
		fb_grep "^firstbad: " err || { echo "$object"; exit 1; }
	done
'

fb_expect 'a commit that ends too early is the same error, at once' '
	history 19 && o=$(git -C repo rev-parse c10) && o=repo/.git/objects/$(echo "$o" | sed "s,^..,&/,") &&
	chmod u+w "$o" && truncate -s 60 "$o" &&
	fb_must_fail 70 timeout 60 firstbad -C repo bisect run -q --fresh --good c1 true 2>err &&
	fb_grep "^firstbad: .*/objects/.* is damaged" err
'

# What git would do with such a tree is an empty directory, and that is no error to it.
fb_expect 'a tree that is missing, or is something else, is not measured: 70' '
	fast="test \$(cat speed) = 100" && for with in nothing c1:speed; do
		rm -rf repo && git init -q repo && for i in 1 2 3 4 5 6 7 8 9; do
			test $i -lt 9 && echo 100 >repo/speed || echo 50 >repo/speed
			echo $i >repo/n && git -C repo add -A && git -C repo commit -q -m "change $i" &&
			git -C repo tag c$i || exit 1
		done && file() { git -C repo rev-parse "$1" | sed "s,^..,repo/.git/objects/&/,"; } &&
		tree=$(file "c5^{tree}") && rm -f "$tree" &&
		{ test $with = nothing || cp "$(file $with)" "$tree"; } &&
		fb_must_fail 70 run -q --fresh --good c1 sh -c "$fast" 2>err &&
		fb_grep "^firstbad: .*$(git -C repo rev-parse --short=12 c5)" err ||
		{ echo "$with"; exit 1; }
	done
'

fb_done
