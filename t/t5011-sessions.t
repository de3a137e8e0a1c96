#!/bin/sh
# Sessions beside each other and not finished: nothing is lost, mixed up or counted twice.
. "${top_srcdir:-.}/t/test-lib.sh"
. "$top_srcdir/t/world.sh"

fb_have git awk || fb_skip_all "git and awk are needed"

fb_expect 'a revision measured twice is two series of boots' '
	world_new 3 && world_make &&
	firstbad -C repo measure ../plan.yaml -q --rev c1 --rev c1 --json >out.json &&
	sed -n "s/.*\"seed\": \([0-9]*\).*/\1/p" out.json | sort >seeds &&
	test "$(wc -l <seeds)" = 6 && test "$(sort -u seeds | wc -l)" = 6
'

# Holds up the third boot until the test has looked.
cat >wait.sh <<'EOF'
#!/bin/sh
while [ "$(wc -l <"$FB_SCRATCH/count")" -ge 3 ] && [ ! -e "$FB_SCRATCH/go" ]; do sleep 0.1; done
exec "$FB_SCRATCH/bench"
EOF
chmod +x wait.sh

fb_expect 'a session that cannot start is not the one that is taken up later' '
	rm -rf repo && world_new 12 && world_set 7 12 80 && world_make &&
	sed -i "s,command: /.*,command: $FB_SCRATCH/wait.sh," plan.yaml
	firstbad -C repo bisect auto -q --plan ../plan.yaml c12 c1 >out 2>err &
	pid=$!
	i=0 && until test -s count && test "$(wc -l <count)" -ge 3 || test $i -gt 300; do
		sleep 0.1; i=$((i + 1)); done &&
	firstbad -C repo list sessions >before &&
	fb_must_fail 75 firstbad -C repo bisect auto -q --plan ../plan.yaml c12 c2 2>err2 &&
	fb_grep "another session of this worktree" err2 &&
	fb_must_fail 75 firstbad -C repo bisect auto --plan ../plan.yaml c12 c1 2>err2 &&
	fb_grep "session [0-9a-f]* is being run by another process" err2 && test "$(wc -l <err2)" -eq 1 &&
	firstbad -C repo list sessions >after && fb_cmp before after &&
	firstbad -C repo bisect status >status &&
	kill -TERM $pid && rc=0 && { wait $pid || rc=$?; } && test $rc = 76
'

fb_expect 'the report of what is not finished has its boots' '
	firstbad -C repo report >open.txt && fb_grep "not finished" open.txt &&
	fb_grep "2 commits, 2 boots" open.txt &&
	firstbad -C repo report --json >open.json && fb_grep "\"boots\": 2," open.json
'

fb_expect 'and it is finished' '
	touch go && firstbad -C repo bisect auto -q >out && fb_grep "\"change 7\"" out
'

# Says that it runs, and waits to be stopped.
cat >stay.sh <<'EOF'
#!/bin/sh
: >"$FB_SCRATCH/began"
while :; do sleep 0.1; done
EOF
chmod +x stay.sh

# stopped ARG...: bisect auto, stopped while it runs; what it said is in ./err.
stopped()
{
	rm -f began
	firstbad -C repo bisect auto "$@" >out 2>err &
	pid=$!
	i=0
	until test -e began || test $i -gt 300; do
		sleep 0.1
		i=$((i + 1))
	done
	kill -TERM $pid
	rc=0
	wait $pid || rc=$?
	test $rc = 76
}

fb_expect 'the same again takes up what was stopped; another plan or --fresh begins anew' '
	sed "s,command: /.*,command: $FB_SCRATCH/stay.sh," plan.yaml >stay.yaml &&
	{ cat stay.yaml; echo "confidence: 0.98"; } >other.yaml &&
	had=$(firstbad list sessions | wc -l) &&
	stopped --plan ../stay.yaml c12 c1 && ! grep "taking up" err &&
	stopped --plan ../stay.yaml c12 c1 && fb_grep "^taking up session [0-9a-f]+, " err &&
	test "$(firstbad list sessions | wc -l)" = $((had + 1)) &&
	stopped --plan ../stay.yaml --fresh c12 c1 && ! grep "taking up" err &&
	stopped --plan ../other.yaml c12 c1 && ! grep "taking up" err &&
	stopped --plan ../other.yaml c12 c2 && ! grep "taking up" err &&
	test "$(firstbad list sessions | wc -l)" = $((had + 4)) &&
	fb_must_fail 64 firstbad -C repo bisect auto --fresh 2>err && fb_grep "BAD and GOOD" err
'

fb_expect 'a repository whose name is no text is listed' '
	name=$(printf "a\\nb\\377") && git clone -q repo "$name" &&
	firstbad -C "$name" bisect auto -q --plan ../plan.yaml c12 c1 >out &&
	firstbad list sessions >list && fb_grep "a[?]b[?]" list &&
	firstbad list sessions --json >list.json && fb_grep "a[?]b[?]" list.json
'

fb_expect 'the answer is told although the commits were collected as garbage' '
	git clone -q --no-local repo gone && firstbad -C gone bisect auto -q --plan ../plan.yaml c12 c1 >out &&
	oid=$(git -C gone rev-parse c7) && name=$(sed -n "s/^session \([0-9a-f]*\),.*/\1/p" out) &&
	git -C gone checkout -q --orphan other && git -C gone commit -q -m other &&
	git -C gone tag -l | xargs git -C gone tag -d >/dev/null && git -C gone branch -q -D main &&
	git -C gone remote remove origin && git -C gone reflog expire --expire=now --all &&
	rm -rf gone/.git/worktrees && git -C gone gc -q --prune=now &&
	fb_must_fail 1 git -C gone cat-file -e "$oid" &&
	for c in report "report --json" "bisect status"; do
		fb_must_fail 70 firstbad -C gone $c "$name" 2>err && test "$(wc -l <err)" = 1 &&
		fb_grep "session $name ended with .found. $oid, score -[0-9.]+%; its range cannot be read" err ||
			exit 1
	done
'

fb_expect 'and although the whole repository is gone; a wrong --repo stays a mistake' '
	oid=$(git -C repo rev-parse c7) && name=$(sed -n "s/^session \([0-9a-f]*\),.*/\1/p" out) &&
	rm -rf gone && for c in report "report --json" "bisect status"; do
		fb_must_fail 70 firstbad $c "$name" 2>err && test "$(wc -l <err)" = 1 &&
		fb_grep "session $name ended with .found. $oid, score -[0-9.]+%; its range cannot be read" err ||
			exit 1
	done && fb_must_fail 64 firstbad --repo gone report "$name" 2>err && ! grep "ended with" err
'

if fb_have sqlite3; then
	fb_expect 'a damaged session is listed as such, with all others, and named when it is asked for' '
		firstbad list sessions >before && name=$(sed -n "2s/ .*//p" before) &&
		sqlite3 "$XDG_DATA_HOME/firstbad/store.db" \
			"UPDATE session SET args = substr(args, 1, 20) WHERE name = \"$name\"" &&
		firstbad list sessions >list && test "$(wc -l <list)" = "$(wc -l <before)" &&
		fb_grep "^$name +damaged  bisect" list &&
		test "$(grep -c damaged list)" = 1 &&
		fb_must_fail 64 firstbad report "$name" 2>err && fb_grep "session $name is damaged: args:1" err
	'

	fb_expect 'what an event or a verdict lacks is damage, too: 74' '
		store=$XDG_DATA_HOME/firstbad/store.db &&
		firstbad -C repo bisect auto -q --fresh --plan ../plan.yaml c12 c1 >out &&
		name=$(sed -n "s/^session \([0-9a-f]*\),.*/\1/p" out) &&
		sqlite3 "$store" "PRAGMA wal_checkpoint(TRUNCATE)" >log && cp "$store" intact &&
		of="session = (SELECT id FROM session WHERE name = \"$name\")" &&
		{
			for k in choice kernel skip failure; do
				echo "UPDATE event SET kind = \"$k\", data = json_remove(data, \"\$.metric\") WHERE $of"
			done
			echo "UPDATE event SET kind = \"choice\", data = json_set(data, \"\$.cell\", 7) WHERE kind = \"choice\" AND $of"
			echo "UPDATE event SET kind = \"value\" WHERE $of"
			for v in 7 {} "{\"verdict\":7}" "{\"verdict\":\"x\"}" "{\"verdict\":\"found\"}" \
				"{\"verdict\":\"found\",\"commits\":[]}" "{\"verdict\":\"found\",\"commits\":[7]}"; do
				echo "UPDATE session SET verdict = '\''$v'\'' WHERE name = \"$name\""
			done
		} >damages && test "$(wc -l <damages)" = 13 && while read -r damage; do
			sqlite3 "$store" "$damage" && for c in report "bisect status"; do
				rc=0 && firstbad -C repo $c "$name" >out 2>err </dev/null || rc=$?
				test $rc = 74 && fb_grep "^firstbad: session $name is damaged" err ||
					{ echo "$rc $c: $damage"; cat err; exit 1; }
			done
			rm -f "$store"-* && cp intact "$store" || exit 1
		done <damages
	'
else
	fb_skip 'a damaged session is listed as such, with all others, and named when it is asked for' \
		'sqlite3 is needed'
fi

fb_expect 'status cuts a long subject between characters' '
	git -C repo checkout -q c12 && echo 60 >repo/speed && git -C repo add . &&
	eacute=$(printf "\303\251") && printf "a%060d" 0 | sed "s/0/$eacute/g" >msg &&
	git -C repo commit -q -F ../msg &&
	firstbad -C repo bisect auto -q --plan ../plan.yaml HEAD c12 >out &&
	firstbad -C repo bisect status >status && fb_grep "$eacute" status &&
	iconv -f UTF-8 -t UTF-8 status >same && fb_cmp status same
'

# What the terminal wraps could not be wiped out again: no progress line is wider than it.
if fb_have script; then
	fb_expect 'progress fits a narrow terminal' '
		script -qec "stty cols 12; TERM=xterm firstbad -C repo bisect auto \
			--plan ../plan.yaml c12 c1 >out" /dev/null >tty </dev/null &&
		tr "\r" "\n" <tty | sed -n "s/^$(printf "\\033")\[K//p" | grep "^boot" >lines &&
		test -s lines && ! grep "............" lines
	'
else
	fb_skip 'progress fits a narrow terminal' 'script is needed'
fi

fb_done
