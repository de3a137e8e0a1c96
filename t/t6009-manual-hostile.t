#!/bin/sh
# A bisection by hand among hostile logs and state files, stale locks, full disks and others at work:
# one clear error that leaves all as it was, or it goes on; nothing outside of refs/bisect changes.
. "${top_srcdir:-.}/t/test-lib.sh"

fb_have git awk || fb_skip_all "git and awk are needed"
git config --global core.fsync none
git init -q --template= repo
for i in 1 2 3 4 5 6 7 8; do
	echo $i >repo/n && git -C repo add n && git -C repo commit -q -m "change $i" &&
		git -C repo tag c$i || fb_die "no repository"
done
git -C repo for-each-ref >refs

begin()
{
	git -C repo bisect reset >/dev/null 2>&1 || :
	git -C repo checkout -qf main
	firstbad -C repo bisect start main c1 >/dev/null
}

# refused LOG [PATTERN]: the log is not replayed, and nothing has begun.
refused()
{
	git -C repo bisect reset >/dev/null 2>&1
	printf "$1" >log
	fb_must_fail 64 firstbad -C repo bisect replay "$PWD/log" >out 2>err
	fb_grep "${2-.}" err
	test "$(wc -l <err)" = 1
	test ! -e repo/.git/BISECT_START
	git -C repo for-each-ref >now
	fb_cmp refs now
}

q="'"
start='git bisect start\ngit bisect bad c8\n'

fb_expect 'NUL bytes in a log, as after a crash: an error with the line' '
	refused "${start}\0\0\0git bisect good c1\n" "log:3: a NUL byte" &&
	refused "${start}git bisect good c1\0x\n" "log:3: a NUL byte"
'

fb_expect 'terms that no ref can have, or that leave refs/bisect' '
	for term in ../../heads/main a/b "a b" -x a..b x.lock start bad; do
		refused "git bisect start --term-old $q$term$q --term-new new\ngit bisect new c8\n"
	done
'

fb_expect 'options where revisions belong are unknown revisions' '
	refused "${start}git bisect good --all\ngit bisect skip --output=pwned..c3\n" \
		"2 of its commits are not in this repository: --all --output=pwned..c3" &&
	test ! -e pwned && test ! -e repo/pwned
'

fb_expect 'control characters do not reach the terminal' '
	refused "${start}git bisect good \033[31mc1\033[0m\n" &&
	fb_must_fail grep -q "$(printf "\033")" err &&
	refused "${start}git bisect \033[31mgood c1\n" && fb_must_fail grep -q "$(printf "\033")" err
'

fb_expect 'numbers and strengths that are none' '
	c8=$(git -C repo rev-parse c8) &&
	for value in nan inf 1e400 x; do
		refused "${start}# firstbad: values $c8 $value\n" "log:3: "
	done &&
	for strength in 7 0.5 1 nan; do
		refused "${start}# firstbad: weak bad $c8 $strength\n" "log:3: "
	done
'

fb_expect 'a line of three megabytes: is no line of git, or an error of one short line' '
	{
		echo "git bisect start"
		head -c 3000000 /dev/zero | tr "\0" a
		printf "\ngit bisect bad c8\ngit bisect good c1\n"
	} >log &&
	firstbad -C repo bisect replay "$PWD/log" 2>err && fb_grep "^firstbad: 2 verdicts read" err &&
	git -C repo bisect reset >/dev/null && sed -i "2s/^/git bisect /" log &&
	fb_must_fail 64 firstbad -C repo bisect replay "$PWD/log" 2>err && test "$(wc -c <err)" -lt 300
'

fb_expect 'state files that say nothing: an error that names them, and the way out' '
	for file in TERMS NAMES; do
		git -C repo bisect reset >/dev/null 2>&1 || :
		git -C repo bisect start main c1 >/dev/null && git -C repo bisect good c2 >/dev/null &&
		printf " '"'"'../../heads/x\n-y\n" >repo/.git/BISECT_$file || exit 1
		fb_must_fail 64 firstbad -C repo bisect good c3 2>err
		fb_grep BISECT_ err
		fb_must_fail 64 firstbad -C repo bisect reset 2>err
		fb_grep "git bisect reset" err
		git -C repo bisect reset main >/dev/null 2>&1
		git -C repo for-each-ref >now
		fb_cmp refs now || exit 1
	done
'

fb_expect 'a ref of the session that is a symbolic one: what it points to stays' '
	begin && git -C repo symbolic-ref refs/bisect/bad refs/heads/main &&
	firstbad -C repo bisect bad c6 &&
	test "$(git -C repo rev-parse main)" = "$(git -C repo rev-parse c8)" &&
	test "$(git -C repo rev-parse bisect/bad)" = "$(git -C repo rev-parse c6)"
'

fb_expect 'stale locks: an error with their names; the verdict counts once they are gone' '
	for lock in index refs/bisect/bad; do
		begin && mkdir -p repo/.git/refs/bisect && touch repo/.git/$lock.lock || exit 1
		fb_must_fail 70 firstbad -C repo bisect bad c4 2>err
		fb_grep "$lock.lock.: File exists" err
		rm repo/.git/$lock.lock
		firstbad -C repo bisect next
		test "$(git -C repo rev-parse bisect/bad)" = "$(git -C repo rev-parse c4)"
		fb_grep "^git bisect bad" repo/.git/BISECT_LOG || exit 1
	done
'

fb_expect 'several firstbads at once: one after the other, all are heard' '
	begin && pids= && for verdict in "good c2" "good c3" "skip c5" "bad c7"; do
		firstbad -C repo bisect $verdict >out.$$ 2>&1 &
		pids="$pids $!"
	done &&
	for pid in $pids; do wait $pid; done &&
	test "$(grep -c "^git bisect [gsb][a-z]* [0-9a-f]*$" repo/.git/BISECT_LOG)" = 4 &&
	test "$(git -C repo for-each-ref refs/bisect | wc -l)" = 5
'

fb_expect 'git at the same time: what it said is not lost' '
	begin
	git -C repo bisect good c2 >out.git 2>&1 &
	git=$!
	sleep 0.02 && firstbad -C repo bisect good c3 >out 2>&1 || :
	wait $git || :
	firstbad -C repo bisect next && firstbad -C repo bisect log >log &&
	for f in c2 c3; do
		! git -C repo rev-parse -q --verify "bisect/good-$(git -C repo rev-parse $f)" ||
			fb_grep "git bisect good $(git -C repo rev-parse $f)" log || exit 1
	done
'

if [ "$(id -u)" = 0 ] && mkdir -p small && mount -t tmpfs -o size=1200k none small 2>/dev/null; then
	trap 'umount -l "$FB_SCRATCH/small" 2>/dev/null' EXIT
	fb_expect 'a full disk: an error; with room again it goes on, and nothing is lost' '
		begin && git -C repo bisect reset >/dev/null && cp -R repo small/repo &&
		firstbad -C small/repo bisect start main c1 &&
		cp small/repo/.git/BISECT_LOG before &&
		head -c 2000000 /dev/zero >small/fill 2>/dev/null || :
		fb_must_fail firstbad -C small/repo bisect good c3
		fb_cmp before small/repo/.git/BISECT_LOG
		git -C small/repo bisect log >/dev/null
		rm small/fill
		firstbad -C small/repo bisect next
		fb_grep "^git bisect good" small/repo/.git/BISECT_LOG &&
		git -C small/repo rev-parse "bisect/good-$(git -C repo rev-parse c3)"
	'
	umount small
	fb_expect 'a full store: an error before anything changes' '
		mount -t tmpfs -o size=400k none small && begin &&
		XDG_DATA_HOME=$PWD/small && export XDG_DATA_HOME && begin &&
		git -C repo for-each-ref >before && cp repo/.git/BISECT_LOG log &&
		head -c 2000000 /dev/zero >small/fill 2>/dev/null || :
		fb_must_fail 74 firstbad -C repo bisect good c3
		git -C repo for-each-ref >now
		fb_cmp before now && fb_cmp log repo/.git/BISECT_LOG && rm small/fill &&
		firstbad -C repo bisect good c3 && fb_grep "^git bisect good" repo/.git/BISECT_LOG
	'
	umount small
	fb_expect 'a read-only repository: reading works, the rest is one error' '
		begin && mount --bind repo small && mount -o remount,ro,bind small &&
		firstbad -C small bisect log >out && fb_grep "^git bisect start" out &&
		fb_must_fail 74 firstbad -C small bisect good c3 2>err && test "$(wc -l <err)" = 1 &&
		fb_must_fail 74 firstbad -C small bisect reset 2>err && fb_grep "Read-only" err
	'
	umount small
else
	fb_skip 'full disks and read-only repositories' 'a file system of a known size needs root'
fi

fb_done
