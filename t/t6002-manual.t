#!/bin/sh
# A bisection by hand: soft evidence, values, undo, replay of what people paste, hand-made trouble.
. "${top_srcdir:-.}/t/test-lib.sh"
. "$top_srcdir/t/world.sh"

fb_have git awk || fb_skip_all "git and awk are needed"
world_new 40 && world_make || exit 1

oid()
{
	git -C repo rev-parse "$1"
}

bisect()
{
	firstbad -C repo bisect "$@"
}

# begin ARG...: a fresh session.
begin()
{
	bisect reset >/dev/null 2>&1 || :
	bisect start "$@" >out
}

fb_expect 'weak evidence shifts the choice, and names a commit when it is enough' '
	begin c40 c1 && fb_grep "^\[$(oid c20)\]" out &&
	bisect weak good c30 --strength 0.99 >out && fb_grep "^most probable so far:" out &&
	fb_grep "^  0\.097 $(oid c31 | cut -c1-12) " out && fb_grep "^\[$(oid c35)\]" out &&
	for c in c36 c36 c36; do bisect weak bad $c --strength 0.99 >out; done &&
	for c in c35 c35 c35; do bisect weak good $c --strength 0.99 >out; done &&
	fb_grep "^$(oid c36) is the first bad commit" out && fb_grep "^with probability (above )?0\.99" out
'
fb_expect 'it is no ref, a comment to git, and said again by replay' '
	test "$(git -C repo for-each-ref refs/bisect | wc -l)" = 2 &&
	git -C repo bisect log >log && test "$(grep -c "^# firstbad: weak " log)" = 7 &&
	git -C repo bisect reset && git -C repo bisect replay ../log >out && git -C repo bisect reset &&
	bisect replay ../log >out 2>err && fb_grep "^firstbad: 9 verdicts read" err &&
	fb_grep "^$(oid c36) is the first bad commit" out
'
fb_expect 'values: the ends are asked for, and the commit is found with its probability' '
	begin c40 c1 && bisect bad --value 100,101,99 c40 >out && bisect good --value 120,119,121 c1 >out &&
	i=0 && until grep -q "first bad commit" out; do
		i=$((i + 1)) && test $i -lt 40 || { cat out; exit 1; }
		n=$(git -C repo log -1 --format=%s | sed "s/change //") &&
		if [ "$n" -lt 27 ]; then v=120 w=good; else v=100 w=bad; fi &&
		echo "$v.$((i * 7 % 10)) $v" | bisect $w --value - >out || exit 1
	done && fb_grep "^$(oid c27) is the first bad commit" out && fb_grep "^with probability (above )?0\.99" out &&
	bisect log >log && test "$(grep -c "^# firstbad: values " log)" = $((i + 2)) &&
	bisect reset && bisect replay ../log >out 2>err && fb_grep "^$(oid c27) is the first bad commit" out
'
fb_expect 'numbers that are none' '
	begin c40 c1 && fb_must_fail 64 firstbad -C repo bisect bad --value 1,x 2>err && fb_grep "value.*x" err &&
	fb_must_fail 64 firstbad -C repo bisect bad --value "" 2>err && fb_grep "no number" err &&
	fb_must_fail 64 firstbad -C repo bisect weak bad --strength 1 2>err && fb_grep "between 0.5 and 1" err &&
	fb_must_fail 64 firstbad -C repo bisect weak frob 2>err && fb_grep "frob" err &&
	bisect log >log && test "$(wc -l <log)" = 4
'
fb_expect 'undo: several times, of git verdicts, too, and not beyond the start' '
	begin c40 c1 && bisect good >out && git -C repo bisect bad >out && bisect skip c23 c24 >out &&
	test "$(git -C repo for-each-ref refs/bisect | wc -l)" = 5 &&
	bisect undo >out && fb_grep "^git bisect skip $(oid c24)" out && fb_grep "^git bisect skip $(oid c23)" out &&
	bisect undo >out && fb_grep "^git bisect bad $(oid c30)" out && fb_grep "^\[$(oid c30)\]" out &&
	bisect undo >out && fb_grep "^\[$(oid c20)\]" out && test "$(oid HEAD)" = "$(oid c20)" &&
	test "$(git -C repo for-each-ref refs/bisect | wc -l)" = 2 && git -C repo bisect log >log && fb_grep ! "git bisect good" log &&
	fb_must_fail 64 firstbad -C repo bisect undo 2>err && fb_grep "no verdict to take back" err
'
fb_expect 'a checkout by hand is told, a commit by hand is refused' '
	begin c40 c1 && git -C repo checkout -q c33 && bisect bad >out 2>err &&
	fb_grep "HEAD is at $(oid c33 | cut -c1-12), and $(oid c20 | cut -c1-12) was asked for" err &&
	git -C repo bisect log | grep -q "^git bisect bad $(oid c33)" &&
	git -C repo commit -q --allow-empty -m "by hand" && fb_must_fail 64 firstbad -C repo bisect good 2>err &&
	fb_grep "not in the history of the bad commit" err && bisect next >out && test "$(oid HEAD)" = "$(oid c17)"
'
fb_expect 'local changes in the way: git words, and the verdict counts once they are gone' '
	begin c40 c1 && echo mine >repo/other && fb_must_fail 70 firstbad -C repo bisect good 2>err &&
	fb_grep "local changes.*other" err && git -C repo checkout -q -- other && bisect next >out &&
	test "$(oid HEAD)" = "$(oid c30)" && git -C repo bisect log | grep -q "^git bisect good $(oid c20)"
'
fb_expect 'a ref that was removed by hand is put back, and told' '
	begin c40 c1 && bisect good >out && git -C repo update-ref -d refs/bisect/good-$(oid c20) &&
	bisect next >out 2>err && fb_grep "was gone and is put back" err &&
	git -C repo rev-parse -q --verify refs/bisect/good-$(oid c20)
'
fb_expect 'a ref without its line, as a killed git leaves it, is a verdict; packed refs, too' '
	begin c40 c1 && git -C repo update-ref refs/bisect/skip-$(oid c20) c20 && git -C repo pack-refs --all &&
	bisect next >out && fb_grep ! "^\[$(oid c20)\]" out && bisect log >log &&
	fb_grep "^git bisect skip $(oid c20)" log && bisect undo >out &&
	fb_must_fail 1 git -C repo rev-parse -q --verify refs/bisect/skip-$(oid c20)
'
fb_expect 'a changed log is written anew' '
	begin c40 c1 && bisect good >out && git -C repo bisect log >want && sed -i "s/good/bad/" repo/.git/BISECT_LOG &&
	bisect next >out 2>err && fb_grep "changed by hand" err && git -C repo bisect log >got && fb_cmp want got
'
fb_expect 'git ends a session, and the next one is another' '
	begin c40 c1 && bisect good >out && git -C repo bisect reset 2>/dev/null && fb_must_fail 64 firstbad -C repo bisect good 2>err &&
	fb_grep "You need to start" err && firstbad list sessions >out && fb_grep "ended *manual" out &&
	fb_grep ! "open *manual" out && git -C repo bisect start c40 c1 >/dev/null && bisect good >out 2>err &&
	fb_grep "taking over" err && fb_grep "^\[$(oid c30)\]" out
'
fb_expect 'verdicts that contradict each other: told, and undo helps' '
	begin c40 c1 && bisect good c20 >out && fb_must_fail 64 firstbad -C repo bisect bad c20 2>err &&
	fb_grep "contradict.*undo" err && bisect undo >out && fb_grep "^\[$(oid c30)\]" out
'
fb_expect 'a merge base that is bad: 3, and the search that would help' '
	git -C repo checkout -q c10 && git -C repo commit -q --allow-empty -m side && git -C repo tag side &&
	git -C repo checkout -q main && begin c40 side && fb_grep "a merge base must be tested" out &&
	test "$(oid HEAD)" = "$(oid c10)" && fb_must_fail 3 firstbad -C repo bisect bad >out 2>err &&
	fb_grep "^The merge base $(oid c10) is bad\.$" err && fb_grep "bisect start --term-old=bad --term-new=good $(oid side) $(oid c10)" err &&
	bisect undo >out && bisect good >out && fb_grep "^\[$(oid c25)\]" out && test -e repo/.git/BISECT_ANCESTORS_OK
'
fb_expect 'only skipped ones are left: 2' '
	begin c40 c36 && fb_must_fail 2 firstbad -C repo bisect skip c36..c39 >out &&
	fb_grep "only .skip.ped commits left" out && test "$(grep -cx "[0-9a-f]\{40\}" out)" = 4 && bisect log >log &&
	test "$(grep -c "^# possible first bad commit: " log)" = 4
'
fb_expect 'terms of its own, also by git' '
	begin --term-old=fast --term-new=slow c40 c1 && bisect fast >out && git -C repo bisect slow >out && bisect terms >out &&
	fb_grep "terms are fast for the old" out && bisect slow >out && fb_grep "^\[$(oid c22)\]" out &&
	fb_must_fail 64 firstbad -C repo bisect good 2>err && fb_grep "no term of this bisection" err &&
	test "$(git -C repo bisect terms --term-old)" = fast && fb_must_fail 64 firstbad -C repo bisect frob 2>err
'
fb_expect 'paths, as git takes them' '
	begin c40 c1 && git -C repo checkout -q c20 && bisect reset && git -C repo checkout -q main &&
	for i in 1 2 3 4 5 6; do
		echo $i >repo/f && git -C repo add f && git -C repo commit -q -m "f $i" && git -C repo tag f$i &&
		git -C repo commit -q --allow-empty -m "between $i" || exit 1
	done && begin main c40 -- f && fb_grep "^Bisecting: 2 revisions left to test after this .roughly 2 steps" out &&
	test "$(oid HEAD)" = "$(oid f3)" && bisect good >out && test "$(oid HEAD)" = "$(oid f5)" && bisect bad >out &&
	bisect bad >out && fb_grep "^$(oid f4) is the first" out && git -C repo bisect log | grep -q "^git bisect start .main. .c40. .--. .f." &&
	begin main c40 -- f && bisect good >out && bisect good >out && fb_must_fail 4 firstbad -C repo bisect good 2>err &&
	fb_grep "bad path arguments" err
'

fb_expect 'a path and a subject that are no UTF-8' '
	git -C repo checkout -q main && name=$(printf "f\\377") && echo 1 >"repo/$name" && git -C repo add -A && git -C repo commit -q -m "$(printf "odd \\377")" &&
	echo 2 >"repo/$name" && git -C repo commit -q -a -m "odder" && begin main main~3 -- "$name" && fb_grep "^Bisecting: 0 " out &&
	git -C repo bisect log >log && fb_grep "start .main. .main~3. .--. .f\?." log && bisect bad >out && fb_grep "is the first bad" out &&
	fb_must_fail 64 firstbad -C repo bisect start --term-old="$name" --term-new=b 2>err && fb_grep "not a valid term" err &&
	bisect reset && git -C repo reset -q --hard main~2
'

cat >judge.sh <<-'EOF'
	#!/bin/sh
	n=$(git log -1 --format=%s | sed "s/change //")
	echo "looking at $n"
	case " $SKIP " in *" $n "*) exit 125;; esac
	if test -n "$VALUES"; then
		echo x >>"$FB_SCRATCH/runs"
		echo "firstbad: score $(((n < 26 ? 1000 : 800) + $(wc -l <"$FB_SCRATCH/runs") * 7919 % 13))"
		exit 0
	fi
	test "$n" -lt 26
EOF
chmod +x judge.sh
fb_expect 'run: as git, in the same worktree, and by values' '
	cp judge.sh repo/.git/ && cd repo && git checkout -q main && git reset -q --hard c40 && firstbad bisect reset >/dev/null &&
	firstbad bisect start c40 c1 && firstbad bisect good && SKIP="29 30 31" firstbad bisect run .git/judge.sh >out &&
	fb_grep "^running .*judge.sh" out && fb_grep "^looking at" out && cd .. && fb_grep "^$(oid c26) is the first bad commit" repo/out &&
	fb_grep "^bisect run success" repo/out && git -C repo bisect log >log && fb_grep "^git bisect skip" log && rm repo/out &&
	begin c40 c1 && VALUES=1 bisect run "$PWD/judge.sh" >out && fb_grep "^$(oid c26) is the first bad commit" out &&
	fb_grep "^with probability" out && test "$(git -C repo for-each-ref refs/bisect | wc -l)" = 2
'
fb_expect 'run: 128 and above stop, 127 at the good end, too, is no verdict, skips alone are 2' '
	begin c40 c1 && fb_must_fail 70 firstbad -C repo bisect run sh -c "exit 129" 2>err && fb_grep "exit code 129 .*>= 128" err &&
	fb_must_fail 70 firstbad -C repo bisect run sh -c "kill -9 \$\$" 2>err && fb_grep "exit code 137" err &&
	fb_must_fail 69 firstbad -C repo bisect run sh -c "exit 127" 2>err && fb_grep "bogus exit code 127 for good" err &&
	test "$(oid HEAD)" = "$(oid c20)" && bisect log >log && fb_grep ! "git bisect (good|bad)" log &&
	fb_must_fail 2 firstbad -C repo bisect run sh -c "exit 125" >out 2>err && fb_grep "cannot continue any more" err
'

# A log as people send it.
git -C repo checkout -q main
begin c40 c1 && bisect good >/dev/null && bisect bad >/dev/null && bisect log >log
# paste COMMAND...: the log as COMMAND leaves it is read as before.
paste()
{
	"$@" <log >pasted
	begin c40 c1 && bisect replay ../pasted >out 2>err && fb_grep "verdicts? read" err && fb_grep "^\[$(oid c25)\]" out
}
fb_expect 'pasted logs: quoted, numbered, CRLF, without start, only comments' '
	paste cat && paste sed "s/^/> /" && paste sed "s/\$/\r/" && paste nl -ba -s". " && paste sed "s/^/   /" &&
	paste sed "/start/d" && paste grep "^#" && paste sh -c "cat; echo \"# first bad commit: [\$(git -C repo rev-parse c25)] x\""
'
fb_expect 'an empty log, another text, an unknown commit and an unknown word are errors that leave all as it was' '
	begin c40 c1 && : >pasted && fb_must_fail 64 firstbad -C repo bisect replay ../pasted 2>err && fb_grep "no verdict in it" err &&
	echo "hello" >pasted && fb_must_fail 64 firstbad -C repo bisect replay ../pasted 2>err && fb_grep "no verdict in it" err &&
	sed "s/bisect good .*/bisect good 0123456789012345678901234567890123456789/" log >pasted &&
	fb_must_fail 64 firstbad -C repo bisect replay ../pasted 2>err && fb_grep "1 of its commits are not in this repository: 0123456789012345678901234567890123456789; fetch" err &&
	echo "# firstbad: frob" >>pasted && fb_must_fail 64 firstbad -C repo bisect replay ../pasted 2>err && fb_grep "pasted:[0-9]+: firstbad does not know" err &&
	bisect log >got && fb_grep "^git bisect start" got && fb_grep ! "git bisect good" got
'
fb_done
