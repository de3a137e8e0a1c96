#!/bin/sh
# Bisections by hand on made histories with merges and skips end where git's end, in as many tests.
# FB_SESSIONS=1000 for as many of them.
. "${top_srcdir:-.}/t/test-lib.sh"

fb_have git awk || fb_skip_all "git and awk are needed"

sessions=${FB_SESSIONS:-8}

# graph N SEED: ./repo with commits c1..cN, ./parents with their numbers, ./ids.
graph()
{
	rm -rf repo
	git init -q repo
	awk -v n="$1" -v seed="$2" 'BEGIN {
		srand(seed)
		for (i = 1; i <= n; i++) {
			printf "commit refs/heads/main\nmark :%d\n", i
			printf "committer C O Mitter <c@example.com> %d +0000\n", 1112911993 + 60 * i
			msg = "change " i
			printf "data %d\n%s\n", length(msg), msg
			back = i - 1 < 12 ? i - 1 : 12
			p = i - 1 - (i < n && rand() < 0.35 ? int(rand() * back) : 0)
			line = i
			if (i > 1) { printf "from :%d\n", p; line = line " " p }
			q = i - 1 - int(rand() * back)
			if (i > 2 && q != p && rand() < 0.4) { printf "merge :%d\n", q; line = line " " q }
			printf "M 100644 inline n\ndata %d\n%d\n\n", length(i "") + 1, i
			print line >"parents"
		}
	}' | git -C repo fast-import --quiet --export-marks="$FB_SCRATCH/marks"
	git -C repo reset -q --hard main
	sed "s/^:\([0-9]*\) \(.*\)/\1 \2/" marks | sort -n >ids
}

# choose SEED: ./oracle, "ID good|bad|skip" for each commit; the culprit is an ancestor of the last
# commit, and on one seed in three there are skips, of which half are around the culprit.
choose()
{
	awk -v seed="$1" '
		FILENAME == "ids" { id[$1] = $2; n = $1; next }
		{ np[$1] = NF - 1; for (i = 2; i <= NF; i++) par[$1, i - 1] = $i }
		END {
			srand(seed + 7777)
			above[n] = 1
			for (i = n; i > 1; i--)
				for (k = 1; above[i] && k <= np[i]; k++) above[par[i, k]] = 1
			do c = 2 + int(rand() * (n - 1)); while (!above[c])
			for (i = 1; i <= n; i++) {
				bad[i] = i == c
				for (k = 1; k <= np[i]; k++) bad[i] = bad[i] || bad[par[i, k]]
			}
			share = seed % 3 == 0 ? 0.05 + 0.25 * rand() : 0
			for (i = 2; i < n; i++) skip[i] = rand() < share / 2
			if (share) for (i = c - 3; i <= c + 3; i++) if (i > 1 && i < n) skip[i] = skip[i] || rand() < share * 2
			print id[c] >"culprit"
			for (i = 1; i <= n; i++)
				print id[i], skip[i] ? "skip" : bad[i] ? "bad" : "good"
		}' ids parents >oracle
}

verdict()
{
	read -r head <repo/.git/HEAD
	sed -n "s/^$head //p" oracle
}

ended()
{
	grep -q "is the first bad commit\|only .skip.ped" "$1"
}

answer()
{
	if grep -q "is the first bad commit" "$1"; then
		sed -n "s/^\([0-9a-f]*\) is the first bad commit/\1/p" "$1"
	else
		sed -n "/could be any of/,\$p" "$1" | grep -ox "[0-9a-f]\{40\}" | sort -u
	fi
}

# session NAME PROGRAM [OTHER]: ./NAME.answer, one line of ./NAME.tests for each test; OTHER gives
# every second verdict.
session()
{
	name=$1 one=$2 two=${3:-$2}
	rm -f "$name.out"
	$one -C repo bisect start main "$(sed -n 1p ids | cut -d" " -f2)" >"$name.out" 2>&1
	i=0
	until ended "$name.out"; do
		i=$((i + 1))
		test $i -lt 100 || { cat "$name.out"; return 1; }
		v=$(verdict)
		echo "$v" >>"$name.tests"
		$one -C repo bisect "$v" >"$name.out" 2>&1 || ended "$name.out" || { cat "$name.out"; return 1; }
		swap=$one one=$two two=$swap
	done
	answer "$name.out" >"$name.answer"
	test -s "$name.answer"
	git -C repo bisect log >"$name.log"
	$one -C repo bisect reset >/dev/null 2>&1
}

# compare GIT OUR: what is left is the same, and where commits were skipped, which ones are left
# depends on which ones were tried: then both hold the culprit. ./wider: the sizes, if they differ.
compare()
{
	cmp -s "$1" "$2" && return 0
	echo "$(wc -l <"$1") $(wc -l <"$2")" >>wider
	grep -q " skip\$" oracle && grep -qf culprit "$1" && grep -qf culprit "$2"
}

# Three tests more are chance where there are few sessions.
fb_expect 'the same commits in no more than 1.05 times the tests' '
	: >git.tests && : >our.tests && : >wider && s=1 && while [ $s -le '"$sessions"' ]; do
		graph $((15 + s * 37 % 110)) $s && choose $s &&
		session git git && session our firstbad && compare git.answer our.answer || { echo "session $s"; exit 1; }
		s=$((s + 1))
	done &&
	g=$(wc -l <git.tests) o=$(wc -l <our.tests) && awk "{ g += \$1; o += \$2; w += \$2 > \$1 } END { print NR + 0, g + 0, o + 0, w + 0 }" wider >left &&
	read -r n lg lo lw <left &&
	echo "$((s - 1)) sessions, tests: git $g, firstbad $o; not the same left in $n: git $lg, firstbad $lo, wider in $lw" >>figures &&
	test "$g" -ge '"$sessions"' && test $((100 * (o - 3))) -le $((105 * g))
'
sed 's/^/# /' figures 2>/dev/null
# git keeps the last bad commit only, and so may be left with more than both had together; and where
# git ends with skipped commits firstbad may still know one, outside of them, that tells them apart.
fb_expect 'verdicts by turns of git and of firstbad: the same commits, and a log that both read' '
	s=1 && while [ $s -le $(('"$sessions"' / 4)) ]; do
		graph $((15 + s * 41 % 80)) $((s + 5000)) && choose $s &&
		session git git && session turns git firstbad && compare git.answer turns.answer &&
		session back firstbad git && compare git.answer back.answer &&
		git -C repo bisect replay ../back.log >out 2>&1 || ended out &&
		git -C repo bisect next >out 2>&1 || ended out || grep -q " skip\$" oracle &&
		{ ! ended out || { answer out >again && compare git.answer again; }; } &&
		git -C repo bisect reset >/dev/null 2>&1 &&
		{ firstbad -C repo bisect replay ../back.log >out 2>&1 || ended out; } &&
		{ { ended out && answer out >again && compare git.answer again; } ||
		{ ! ended out && grep -q " skip\$" oracle; }; } &&
		firstbad -C repo bisect reset || { echo "session $s"; exit 1; }
		s=$((s + 1))
	done
'
fb_done
