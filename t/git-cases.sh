# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=sh
# shellcheck disable=SC2154 # top_srcdir: test-lib.sh
# The same bisection by `git bisect` and by `firstbad bisect`, compared. Sourced after test-lib.sh.
#
# A situation is a script in which "B ARG..." is one bisect command. It is run on equal copies of
# a repository: by git; by firstbad; and by both in turns. Each run leaves a trace, and the traces
# must be equal: for each command its status, and how it changed what is checked out, refs/bisect/*,
# the state files, and the log without its comments. Commits are written as the tags c* that
# they have.
#
# Git's traces are kept in t/data/git-cases (git 2.39.5 wrote them: FB_GIT_CASES=git). Tried are
# firstbad, and of the situations that are marked so both in turns; with FB_GIT_CASES=all also git
# itself, and both in turns in all situations.
#
#	graph NAME		a repository ./repo.NAME from lines "COMMIT PARENT..." on stdin
#	case_ NAME REPO CLAIM SCRIPT [turns | alone]
#				a situation; always or never by both in turns
#	always ID [SED]		what differs in all situations; both traces are edited by SED
#	differs ID...		the next situation differs: its trace must be that in
#				t/data/git-cases-ours (FB_GIT_CASES=ours writes that anew)
#				ID is the row of the table in doc/git-bisect.md, with the reason
#
# In a script:
#
#	B ARG...		one command
#	BO ARG...		the same, and its stdout is compared
#	answer CULPRIT [SKIP...]
#				verdicts on what is checked out until it ends
#	tester CODE		makes ../test, for `bisect run`; $n is the commit under test
#	note TEXT		a line of the trace
#
# Statuses are compared by what they mean (cases_status): firstbad's differ from git's by design.

# Nothing here has to survive a power cut.
git config --global core.fsync none
# Nor may a repository be found above the scratch directory.
GIT_CEILING_DIRECTORIES=$FB_SCRATCH
export GIT_CEILING_DIRECTORIES

cases_golden=$top_srcdir/t/data/git-cases
FB_GIT_CASES=${FB_GIT_CASES-}

# graph NAME: commits with one file n, and what follows a colon, "c3:dir/f"; all are tags, the
# last is main. The ids are the same everywhere.
graph()
{
	git init -q --template= "repo.$1" &&
		awk '
		function data(s) { printf "data %d\n%s\n", length(s), s }
		function path(p, s) { printf "M 100644 inline %s\n", p; data(s) }
		NF {
			nr++
			nf = split($1, name, ":")
			mark[name[1]] = nr
			printf "commit refs/tags/%s\nmark :%d\n", name[1], nr
			printf "committer C O Mitter <c@example.com> %d +0000\n", 1112911993 + 60 * nr
			data("change " name[1])
			if (NF > 1) printf "from :%d\n", mark[$2]
			for (i = 3; i <= NF; i++) printf "merge :%d\n", mark[$i]
			path("n", name[1] "\n")
			for (i = 2; i <= nf; i++) path(name[i], name[1] "\n")
			print ""
		}
		END { printf "reset refs/heads/main\nfrom :%d\n\n", nr }' |
		git -C "repo.$1" fast-import --quiet &&
		git -C "repo.$1" reset -q --hard main
}

cases_status()
{
	case $1,$2 in
	*,0) echo ok ;;
	*,2) echo only-skipped-left ;;
	*,3) echo merge-base-is-bad ;;
	*,4) echo nothing-to-test ;;
	git,* | firstbad,6[49] | firstbad,7[045]) echo error ;;
	*) echo "status $2" ;;
	esac
}

# Which program makes this step: the order's letters, over and over.
cases_tool()
{
	case $cases_order in
	git | firstbad)
		cases_with=$cases_order
		return
		;;
	esac
	[ -n "$cases_left" ] || cases_left=$cases_order
	case $cases_left in
	g*) cases_with=git ;;
	f*) cases_with=firstbad ;;
	esac
	cases_left=${cases_left#?}
}

note()
{
	echo "$cases_step note $*"
}

# Everything that a bisection leaves behind, a line each, with the number of the step.
cases_snapshot()
{
	if [ "$PWD" != "$cases_dir" ]; then
		cases_dir=$PWD
		cases_git=$(git rev-parse --absolute-git-dir 2>/dev/null) || cases_git=
	fi
	[ -n "$cases_git" ] || return 0
	set --
	for cases_f in HEAD BISECT_START BISECT_TERMS BISECT_NAMES \
		BISECT_FIRST_PARENT BISECT_EXPECTED_REV BISECT_HEAD BISECT_LOG; do
		[ ! -e "$cases_git/$cases_f" ] || set -- "$@" "$cases_git/$cases_f"
	done
	git for-each-ref --format="$cases_step %(refname) %(objectname)" refs/bisect
	awk -v s="$cases_step" '
		FILENAME !~ /BISECT_LOG$/ {
			name = FILENAME
			sub(/.*\//, "", name)
			print s, name (FNR > 1 ? " " FNR : ""), $0
			next
		}
		!/^#/ { print s, "log", ++nr, $0; next }
		/^# first .* commit: / { found = $0; nr_possible = 0 }
		/^# only skipped commits left to test/ { found = ""; nr_possible = 0 }
		/^# possible first .* commit: / { nr_possible++ }
		END {
			if (match(found, /\[[0-9a-f]*\]/)) print s, "found", substr(found, RSTART, RLENGTH)
			if (nr_possible) print s, "possible", nr_possible
		}' "$@"
	for cases_f; do
		[ -s "$cases_f" ] || echo "$cases_step ${cases_f##*/} is empty"
	done
}

B()
{
	cases_step=$((cases_step + 1))
	cases_tool
	cases_rc=0
	"$cases_with" bisect "$@" >"$cases_top/out" 2>"$cases_top/err" </dev/null || cases_rc=$?
	{
		echo "== $cases_with bisect $* ($cases_rc)"
		cat "$cases_top/out" "$cases_top/err"
	} >>"$cases_top/said"
	case $cases_prompt,$1 in
	a,*) echo "$cases_step answer" ;;
	*,run) echo "$cases_step run $*" ;;
	*) echo "$cases_step \$ $*" ;;
	esac
	echo "$cases_step = $(cases_status "$cases_with" $cases_rc)"
	cases_snapshot
}

BO()
{
	B "$@"
	sed "/^#/d; s/^/$cases_step | /" "$cases_top/out"
}

# The commit to be tested.
under_test()
{
	if [ -e "$cases_git/BISECT_HEAD" ]; then
		read -r cases_now <"$cases_git/BISECT_HEAD"
	else
		read -r cases_now <"$cases_git/HEAD"
		case $cases_now in
		ref:*) cases_now=$(git rev-parse HEAD) ;;
		esac
	fi
}

# answer CULPRIT [SKIP...]: a commit that contains CULPRIT is bad.
answer()
{
	cases_bads=" $(git for-each-ref --format='%(objectname)' --contains "$1" refs/tags/c* |
		tr '\n' ' ')"
	shift
	cases_skips=
	for cases_s; do
		cases_skips="$cases_skips $(git rev-parse "$cases_s^{commit}")"
	done
	[ -e "$cases_git/BISECT_TERMS" ] || {
		note 'no terms'
		return 0
	}
	{
		read -r cases_bad
		read -r cases_good
	} <"$cases_git/BISECT_TERMS"
	cases_prompt=a
	for cases_i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do
		under_test
		case " $cases_skips " in
		*" $cases_now "*) B skip ;;
		*)
			case $cases_bads in
			*" $cases_now "*) B "$cases_bad" ;;
			*) B "$cases_good" ;;
			esac
			;;
		esac
		[ $cases_rc -eq 0 ] || break
		! grep -q '^# first .* commit: ' "$cases_git/BISECT_LOG" || break
	done
	[ "$cases_i" -lt 15 ] || note 'no end'
	cases_prompt=
}

# tester CODE: writes what it tests to ../tested, which ends up in the trace.
tester()
{
	cat >"$cases_top/test" <<-EOS
	#!/bin/sh
	at=\$(git rev-parse -q --verify BISECT_HEAD || git rev-parse HEAD)
	n=\$(git cat-file blob "\$at:n")
	echo "\$n" >>"$cases_top/tested"
	$1
	EOS
	chmod +x "$cases_top/test"
}

# Fields that begin with a commit's id get its name; runs in the scratch directory.
cases_names()
{
	git -C "repo.$1" for-each-ref --format='s/%(objectname)/%(refname:short)/g' 'refs/tags/c*'
}

# The traces as differences from step to step. Between commits that are equally good git takes one
# and firstbad may take another, so of `answer` and `run` there is the end only, and after
# them not the verdicts that led there. ./tests counts them.
cases_deltas()
{
	awk '
		function forget(a, i) { for (i in a) delete a[i] }
		function blurred(s) {
			if (s ~ /^(refs\/bisect\/[^ ]*-c|BISECT_EXPECTED_REV|log [0-9]* git bisect [a-z]* c[^ ]*$)/)
				return ""
			if (s ~ /^HEAD [^r]/) return "HEAD detached"
			return s
		}
		function step(i) {
			for (i = 1; i <= nr_old; i++) if (!(old[i] in now)) print "  - " old[i]
			for (i = 1; i <= nr; i++) if (!(line[i] in before)) print "  + " line[i]
			forget(before)
			for (i = 1; i <= nr; i++) { before[line[i]]; old[i] = line[i] }
			forget(now)
			nr_old = nr
			nr = 0
		}
		function blur(i, n) {
			forget(before)
			for (i = 1; i <= nr_old; i++) if (blurred(old[i]) != "") { old[++n] = blurred(old[i]); before[old[n]] }
			nr_old = n + 0
			blur_on = 1
		}
		{ sub(/ +$/, "") }
		{ what = $2; rest = substr($0, length($1) + 2) }
		$1 == "end" && !end++ { step() }
		$1 == "end" && what == "tested" { tests += NF - 2; next }
		$1 == "end" { print rest; next }
		what == "$" { if ($1 > 1) step(); print rest; answering = 0; next }
		what == "run" { step(); blur(); print "$ " substr(rest, 5); answering = 0; next }
		what == "answer" {
			if (!answering) { step(); blur(); print "$ ..." }
			answering = 1
			nr = 0
			forget(now)
			tests++
			next
		}
		what == "=" && answering { status = rest; if (rest != "= ok") print rest; next }
		what == "|" || what == "=" || what == "note" { print rest; next }
		$1 !~ /^[0-9]+$/ { print "?", $0; next }
		blur_on { rest = blurred(rest); if (rest == "") next }
		!(rest in now) { line[++nr] = rest; now[rest] }
		END { if (!end) step(); print tests + 0 >"tests" }'
}

# cases_run REPO ORDER SCRIPT: the trace is ./trace.ORDER
cases_run()
(
	cases_order=$2
	cases_left=
	cases_prompt=
	cases_top=$FB_SCRATCH
	cases_step=0
	cases_dir=
	rm -rf work "$XDG_DATA_HOME" tested test extra
	cp -R "repo.$1" work
	: >tested
	cd work || exit
	(
		set +e
		eval "$3"
		cases_end
	) >"$cases_top/trace" 2>&1
	cd "$cases_top" || exit
	sed -f "names.$1" trace | cases_deltas >"trace.$2"
)

# What the last command leaves, apart from the bisection.
cases_end()
{
	cd "$cases_top/work" || return
	[ ! -s "$cases_top/tested" ] || echo "end tested $(tr '\n' ' ' <"$cases_top/tested")"
	git status --porcelain 2>/dev/null | sed 's/^/end status /'
	git for-each-ref --format='end %(refname) %(objectname)' refs/heads
	# Litter; firstbad keeps one file for its lock (D25).
	find "$(git rev-parse --git-common-dir)" \( -name '*.lock' -o -iname '*firstbad*' \) \
		! -name firstbad.lock | sed 's/^/end litter /'
}

cases_tests_git=0
cases_tests_firstbad=0
cases_differs=
differs()
{
	cases_differs=$*
}

always()
{
	printf '%s\n' "${2-}" >>levels
	echo "$1" >>differences
}

cases_alike()
{
	[ ! -e levels ] || sed -i -E -f levels "$1"
}

# cases_section NAME FILE: the trace that is kept there.
cases_section()
{
	awk -v name="$1" '$1 == "#####" { on = $2 == name; next } on' "$2"
}

# What is to be tried, and what it is to be compared with.
case_()
{
	case " ${CASES_ONLY-$1} " in
	*" $1 "*) ;;
	*)
		cases_differs=
		return 0
		;;
	esac
	cases_script=$4
	: >said
	[ -e "names.$2" ] || cases_names "$2" >"names.$2"
	if [ "$FB_GIT_CASES" = git ]; then
		cases_run "$2" git "$4"
		{
			echo "##### $1 $(cat tests)"
			cat trace.git
		} >>"$cases_golden"
		return 0
	fi
	cases_section "$1" "$cases_golden" >want.git
	awk -v name="$1" '$1 == "#####" && $2 == name { print $3 }' "$cases_golden" >tests.git
	cases_alike want.git
	cp want.git want
	if [ -n "$cases_differs" ] && [ "$FB_GIT_CASES" = ours ]; then
		cases_run "$2" firstbad "$4"
		cases_alike trace.firstbad
		{
			echo "##### $1"
			cat trace.firstbad
		} >>"$cases_golden-ours"
	fi
	if [ -n "$cases_differs" ]; then
		cases_section "$1" "$cases_golden-ours" >want
		! cmp -s want.git want || echo "the difference is no more" >>want
	fi
	cases_runs=firstbad
	case $FB_GIT_CASES,${5-},$cases_differs in
	*,turns, | all,,) cases_runs='firstbad gffgff fggfgg' ;;
	esac
	[ "$FB_GIT_CASES" != all ] || cases_runs="git $cases_runs"
	fb_expect "$1: $3${cases_differs:+ (but:$cases_differs)}" '
		rc=0
		test -s want
		for order in $cases_runs; do
			w=want
			test $order != git || w=want.git
			echo "===== $order" >>said
			cases_run '"$2"' $order "$cases_script"
			cases_alike trace.$order
			diff -U 50 $w trace.$order || rc=1
			test $order != firstbad || cp tests tests.firstbad
		done
		test $rc = 0 || { cat said; exit 1; }
	'
	# Where the same verdicts were given: how many.
	if [ -z "$cases_differs" ] && cmp -s want trace.firstbad; then
		cases_tests_git=$((cases_tests_git + $(cat tests.git)))
		cases_tests_firstbad=$((cases_tests_firstbad + $(cat tests.firstbad)))
	fi
	for cases_d in $cases_differs; do
		echo "$cases_d" >>differences
	done
	cases_differs=
}
