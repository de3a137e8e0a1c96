#!/bin/sh
# A bisection by hand that is killed at any step of a command goes on: either nothing of the command
# has happened, or all of it. A log that was cut at any byte is whole again, or one clear error.
. "${top_srcdir:-.}/t/test-lib.sh"
. "$top_srcdir/t/world.sh"

fb_have git awk || fb_skip_all "git and awk are needed"
world_new 30 && world_make || fb_die "no history"

# A git that kills firstbad (its keeper's parent) before or after its KILL_AT-th run.
mkdir killer
real_git=$(command -v git)
cat >killer/git <<-EOF
	#!/bin/sh
	n=\$(cat "$FB_SCRATCH/runs")
	n=\$((n + 1))
	echo \$n >"$FB_SCRATCH/runs"
	victim=\$(sed 's/.*) //' /proc/\$PPID/stat | cut -d' ' -f2)
	[ "\$n\$KILL_WHEN" != "\${KILL_AT}before" ] || { kill -9 \$victim; exit 1; }
	"$real_git" "\$@"
	status=\$?
	[ "\$n\$KILL_WHEN" != "\${KILL_AT}after" ] || kill -9 \$victim
	exit \$status
EOF
chmod +x killer/git

snapshot()
{
	rm -rf snapshot && mkdir snapshot && cp -a repo snapshot/repo && cp -a "$XDG_DATA_HOME" snapshot/data
}

restore()
{
	rm -rf repo "$XDG_DATA_HOME" && cp -a snapshot/repo repo && cp -a snapshot/data "$XDG_DATA_HOME"
}

# What was said, without the head and the remarks.
said()
{
	firstbad -C repo bisect log | grep "^git bisect\|^# firstbad: [wv]" || :
}

refs()
{
	git -C repo for-each-ref --format="%(refname)" refs/bisect
}

# one AT WHEN COMMAND...: from the snapshot, killed at that run of git; false when it was not.
one()
{
	restore
	echo 0 >runs
	one_at=$1 one_when=$2 one_status=0
	shift 2
	KILL_AT=$one_at KILL_WHEN=$one_when PATH=$FB_SCRATCH/killer:$PATH \
		firstbad -C repo bisect "$@" >out 2>&1 || one_status=$?
	test $one_status = 137
}

# killed COMMAND...: killed everywhere; afterwards `next` leaves it as it was before, or as it is
# without a kill.
killed()
{
	restore
	said >before.said && refs >before.refs
	firstbad -C repo bisect "$@" >out 2>&1 || :
	said >after.said && refs >after.refs && git -C repo rev-parse HEAD >after.head
	points=0
	for when in before after; do
		at=1
		while one $at $when "$@"; do
			points=$((points + 1))
			firstbad -C repo bisect next >out 2>&1 || :
			said >now.said && refs >now.refs
			if cmp -s now.said before.said; then
				fb_cmp before.refs now.refs || exit 1
				firstbad -C repo bisect "$@" >out 2>&1 || :
				said >now.said && refs >now.refs
			fi
			fb_cmp after.said now.said && fb_cmp after.refs now.refs || exit 1
			git -C repo rev-parse HEAD >now.head && fb_cmp after.head now.head || exit 1
			git -C repo bisect log >now.log && firstbad -C repo bisect log >our.log &&
			fb_cmp now.log our.log || exit 1
			at=$((at + 1))
		done
	done
	echo "$* killed at $points points"
	test $points -ge 4
}

firstbad -C repo bisect start c30 c1 >/dev/null && firstbad -C repo bisect good >/dev/null &&
	firstbad -C repo bisect weak good c16 >/dev/null && git -C repo bisect skip c21 >/dev/null &&
	firstbad -C repo bisect next >/dev/null || fb_die "no session"
snapshot

fb_expect 'killed in good, with values' 'killed good c18 && killed good c18 --value 3,4,5'
fb_expect 'killed in bad and skip' 'killed bad && killed skip c22..c25'
fb_expect 'killed in weak' 'killed weak bad c20'
fb_expect 'killed in undo' 'killed undo'
fb_expect 'what only the store knows yet, with or without its refs, is made good' '
	for command in "good c18" "good c18 --value 3,4" "weak bad c20" "skip c22..c25" bad undo; do
		restore && firstbad -C repo bisect $command >out 2>&1 || : && said >after.said && refs >after.refs &&
		cp snapshot/repo/.git/BISECT_LOG repo/.git/ && firstbad -C repo bisect next >out 2>&1 || : &&
		said >now.said && refs >now.refs && fb_cmp after.said now.said && fb_cmp after.refs now.refs &&
		rm -rf repo && cp -a snapshot/repo repo && firstbad -C repo bisect next >out 2>&1 || : &&
		said >now.said && refs >now.refs && fb_cmp after.said now.said && fb_cmp after.refs now.refs &&
		git -C repo bisect log >now.log && firstbad -C repo bisect log >our.log && fb_cmp now.log our.log || { echo "$command"; exit 1; }
	done
'
fb_expect 'killed in start and replay: there is the new session, or none, and the old one is archived' '
	restore && firstbad -C repo bisect log >old.log &&
	for command in "start c30 c1" "replay ../old.log"; do
		at=1 && while one $at after $command; do
			firstbad -C repo bisect next >out 2>&1 || grep -q "need to start\|need to give me" out || { cat out; exit 1; }
			firstbad -C repo bisect $command >out 2>&1 && fb_grep "^Bisecting: " out &&
			test "$(firstbad list sessions | grep -c " open ")" = 1 || exit 1
			at=$((at + 1))
		done
		echo "$command: $at" && test $at -gt 5 || exit 1
	done
'
fb_expect 'killed in reset: it can be said again' '
	at=1 && while one $at after reset; do
		firstbad -C repo bisect reset >out 2>&1 && test "$(git -C repo symbolic-ref HEAD)" = refs/heads/main &&
		test -z "$(refs)" && test -z "$(find repo/.git -maxdepth 1 -name "BISECT*")" &&
		test -z "$(firstbad list sessions | grep " open ")" || exit 1
		at=$((at + 1))
	done
	test $at -gt 3
'

restore
cp repo/.git/BISECT_LOG whole
size=$(wc -c <whole)
# cuts FIRST: numbers of bytes below the size; FB_CUT_STEP=1 for all of them.
# Always the one that leaves a start without the ends that it had.
cuts()
{
	seq "$1" "${FB_CUT_STEP:-71}" $((size - 1))
	grep -bo "^git bisect start" whole | awk -F: '{ print $1 + length($2) }'
}
fb_expect 'a log cut at any byte is written anew from the store' '
	test "$size" -gt 300 && for i in $(cuts 0); do
		head -c $i whole >repo/.git/BISECT_LOG &&
		firstbad -C repo bisect next >out 2>err && cmp whole repo/.git/BISECT_LOG || { echo "cut at $i"; cat err; exit 1; }
	done
'
fb_expect 'without the store it goes on with git, or tells the line' '
	bad=0 && for i in $(cuts 0); do
		rm -rf "$XDG_DATA_HOME" && head -c $i whole >repo/.git/BISECT_LOG && status=0 &&
		firstbad -C repo bisect next >out 2>err || status=$?
		if [ $status = 0 ]; then
			test "$(refs | wc -l)" = 4 && fb_grep "^Bisecting: " out || exit 1
			said >have && for c in "bad $(git -C repo rev-parse c30)" "good $(git -C repo rev-parse c1)"; do
				grep -q "bisect $c" have || git -C repo bisect log | grep -q "start .c30. .c1." || { echo "cut at $i"; cat have; exit 1; }
			done
		else
			bad=$((bad + 1))
			test "$(wc -l <err)" = 1 && fb_grep "^firstbad: BISECT_LOG:[0-9]+: " err || { echo "cut at $i"; cat err; exit 1; }
			cp whole repo/.git/BISECT_LOG
		fi
	done && echo "$bad errors"
'
fb_expect 'a pasted log cut at any byte: the whole lines, or one error' '
	rm -rf "$XDG_DATA_HOME" && cp whole repo/.git/BISECT_LOG && for i in $(cuts 5); do
		head -c $i whole >cut && status=0 && firstbad -C repo bisect replay ../cut >out 2>err || status=$?
		if [ $status = 0 ]; then
			grep "^git bisect" repo/.git/BISECT_LOG | grep -o "[0-9a-f]\{40\}" >have || :
			while read -r id; do grep -qF "$id" cut || { echo "cut at $i: $id"; exit 1; }; done <have || exit 1
		else
			fb_grep "^firstbad: .*cut" err || { echo "cut at $i"; exit 1; }
		fi
	done
'
fb_done
