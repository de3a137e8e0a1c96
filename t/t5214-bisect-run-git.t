#!/bin/sh
# On made histories with merges `bisect run` gives the answer of `git bisect run`, in as many tests.
. "${top_srcdir:-.}/t/test-lib.sh"

fb_have git awk || fb_skip_all "git and awk are needed"

# graph N SEED: ./repo, commits c1..cN; each has its predecessor or one of the ten before as a
# parent, every third a second one; c1 is good, cN is bad.
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
			back = i - 1 < 10 ? i - 1 : 10
			p = i - 1 - (i < n && rand() < 0.3 ? int(rand() * back) : 0)
			if (i > 1) printf "from :%d\n", p
			q = i - 1 - int(rand() * back)
			if (i > 2 && q != p && rand() < 0.4) printf "merge :%d\n", q
			printf "M 100644 inline n\ndata %d\n%d\n\n", length(i "") + 1, i
			printf "reset refs/tags/c%d\nfrom :%d\n\n", i, i
		}
	}' | git -C repo fast-import --quiet
	git -C repo reset -q --hard main
}

cat >test.sh <<'EOS'
#!/bin/sh
echo x >>"$FB_SCRATCH/$COUNT"
n=$(cat n)
case " $SKIP " in *" $n "*) exit 125;; esac
! git merge-base --is-ancestor "$CULPRIT" HEAD
EOS
chmod +x test.sh

# both CULPRIT SKIP: the answers in ./git.answer and ./our.answer, tests counted in ./git and ./our.
both()
{
	CULPRIT=$(git -C repo rev-parse "$1") SKIP=$2
	export CULPRIT SKIP
	git -C repo bisect start main c1 >/dev/null 2>&1
	COUNT=git git -C repo bisect run "$FB_SCRATCH/test.sh" >git.out 2>&1 || :
	if grep -q "is the first bad commit" git.out; then
		sed -n "s/^\([0-9a-f]*\) is the first bad commit/\1/p" git.out >git.answer
	else
		sed -n "/could be any of/,\$p" git.out | grep -ox "[0-9a-f]\{40\}" | sort -u >git.answer
	fi
	git -C repo bisect reset >/dev/null 2>&1
	COUNT=our firstbad -C repo bisect run -q --json --good c1 "$FB_SCRATCH/test.sh" >our.out || :
	sed "s/.*\"commits\":\[\([^]]*\).*/\1/" our.out | grep -o "[0-9a-f]\{40\}" | sort -u >our.answer
	test -s git.answer && test -s our.answer
}

fb_expect 'the same commit each time; tests within 10 %' '
	: >git && : >our && for seed in 1 2 3; do
		graph 120 $seed
		for c in 7 33 61 90 118; do
			git -C repo merge-base --is-ancestor c$c main || continue
			both c$c "" && fb_cmp git.answer our.answer || exit 1
		done
	done &&
	g=$(wc -l <git) o=$(wc -l <our) && echo "tests: git $g, firstbad $o" && test "$g" -gt 50 &&
	test $((10 * o)) -le $((11 * g)) && test $((10 * g)) -le $((11 * o))
'

fb_expect 'the same range when skips are around the culprit' '
	graph 60 4 && both c30 "28 29 30 31 32 33" && fb_cmp git.answer our.answer &&
	graph 60 5 && both c45 "44 45" && fb_cmp git.answer our.answer
'

fb_done
