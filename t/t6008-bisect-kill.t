#!/bin/sh
# kill -9 of firstbad at any moment of a session by hand: the same command again comes to the same
# state, and git can go on, too. FB_KILLS=all tries every moment, not a sample.
. "${top_srcdir:-.}/t/test-lib.sh"

fb_have git awk flock || fb_skip_all "git, awk and flock are needed"
[ -e "$top_builddir/t/kill-at.so" ] || fb_skip_all "t/kill-at.so was not built"
git config --global core.fsync none
every=${FB_KILLS:-17}
[ "$every" != all ] || every=1
# The sanitizers want to be the first library.
ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}verify_asan_link_order=0
export ASAN_OPTIONS

git init -q --template= repo
for i in 1 2 3 4 5 6 7 8; do
	echo $i >repo/n && git -C repo add n && git -C repo commit -q -m "change $i" &&
		git -C repo tag c$i || fb_die "no repository"
done

# One command a line; the answers end at c4.
cat >session <<'EOS'
start main c1
good c3
skip c5
good c2
undo
weak bad c7
bad c6
good c2 --value 100.5,101
bad c4
reset
EOS

# What there is: refs, HEAD, files, and the verdicts of the log. Not the comments: some of them say
# what was asked for, which may be said twice.
state()
{
	git -C work symbolic-ref -q HEAD || git -C work rev-parse HEAD
	git -C work for-each-ref refs/bisect
	git -C work status --porcelain
	for f in BISECT_START BISECT_TERMS BISECT_NAMES BISECT_EXPECTED_REV BISECT_ANCESTORS_OK; do
		[ ! -e work/.git/$f ] || sed "s/^/$f: /" work/.git/$f
	done
	[ ! -e work/.git/BISECT_LOG ] || grep -e '^git bisect' -e '^# firstbad: [wv]' work/.git/BISECT_LOG | uniq
}

# restore FROM: the repository and the store as they were.
restore()
{
	rm -rf work "$XDG_DATA_HOME"
	cp -R "$1/work" work
	[ ! -e "$1/data" ] || cp -R "$1/data" "$XDG_DATA_HOME"
}

save()
{
	mkdir "$1"
	cp -R work "$1/work"
	[ ! -e "$XDG_DATA_HOME" ] || cp -R "$XDG_DATA_HOME" "$1/data"
	state >"$1/state"
}

fb_expect 'a session that nobody kills' '
	cp -R repo work && save at-0 && i=0 &&
	while read -r command; do
		i=$((i + 1))
		firstbad -C work bisect $command || exit 1
		save at-$i
	done <session && fb_grep "c4|change 4" .out
'

# Killed before act 1, 1 + every, ...: until the command lives.
fb_expect 'killed at any act, the same command again makes it whole' '
	i=0 kills=0 && while read -r command; do
		i=$((i + 1)) n=$((1 + (i * 7) % every))
		while :; do
			restore at-$((i - 1))
			rc=0 && KILL_AT=$n LD_PRELOAD=$top_builddir/t/kill-at.so \
				firstbad -C work bisect $command >killed 2>&1 || rc=$?
			test $rc = 137 || break
			kills=$((kills + 1))
			firstbad -C work bisect status >status 2>&1 || test $? = 64 ||
				{ echo "status after $command, act $n"; cat status; exit 1; }
			# What cannot be said twice may have been done: next makes it whole.
			again=yes
			case $command in
			undo | weak* | *--value*)
				firstbad -C work bisect next >again 2>&1 || { cat again; exit 1; }
				state >now
				! cmp -s at-$i/state now || again=
				;;
			esac
			test -z "$again" || firstbad -C work bisect $command >again 2>&1 ||
				{ echo "$command again, act $n"; cat again; exit 1; }
			state >now
			fb_cmp at-$i/state now || { echo "$command, act $n"; cat again; exit 1; }
			n=$((n + every))
		done
		test $rc = 0 || { cat killed; exit 1; }
	done <session && echo "$kills kills" && test $kills -ge 20
'

fb_expect 'killed at any act, git can go on: it comes to the same commit' '
	culprit=$(git -C repo rev-parse c4) i=0 &&
	while read -r command; do
		i=$((i + 1)) n=$((5 + (i * 11) % every))
		test "$command" != reset || break
		while :; do
			restore at-$((i - 1))
			rc=0 && KILL_AT=$n LD_PRELOAD=$top_builddir/t/kill-at.so \
				firstbad -C work bisect $command >killed 2>&1 || rc=$?
			test $rc = 137 || break
			# A git of firstbad finishes.
			flock work/.git/firstbad.lock true
			test -e work/.git/BISECT_START || git -C work bisect start >/dev/null
			git -C work bisect bad c6 >said 2>&1 && git -C work bisect good c3 >>said 2>&1 &&
				git -C work bisect bad c4 >>said 2>&1 || { cat said; exit 1; }
			fb_grep "^$culprit is the first" said || { echo "$command, act $n"; exit 1; }
			n=$((n + 3 * every))
		done
	done <session
'

fb_expect 'killed by the clock, too' '
	restore at-0 && for kill in 1 2 3 4 5 6 7 8; do
		while read -r command; do
			test "$command" != reset || break
			firstbad -C work bisect $command >killed 2>&1 &
			pid=$!
			test $(((kill + pid) % 3)) != 0 || {
				sleep "0.0$((pid % 10))"
				kill -9 $pid 2>/dev/null || :
			}
			wait $pid || :
		done <session
	done &&
	for command in "start main c1" "good c3" "bad c4"; do
		firstbad -C work bisect $command >out 2>&1 || { cat out; exit 1; }
	done && test "$(git -C work rev-parse bisect/bad)" = "$(git -C repo rev-parse c4)" &&
	fb_grep "first bad commit" work/.git/BISECT_LOG
'

fb_done
