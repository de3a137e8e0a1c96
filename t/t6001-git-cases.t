#!/bin/sh
# git's own cases: `firstbad bisect` says and leaves behind what `git bisect` does, and each can
# go on with the other's session. What differs, and why, is in doc/git-bisect.md.
. "${top_srcdir:-.}/t/test-lib.sh"
. "$top_srcdir/t/git-cases.sh"

case $FB_GIT_CASES in
git) : >"$cases_golden" ;;
ours) : >"$cases_golden-ours" ;;
esac
fb_have git awk || fb_skip_all "git and awk are needed"

graph line <<-'END'
	c1:dir/f
	c2 c1
	c3:dir/f c2
	c4 c3
	c5 c4
	c6:dir/f c5
	c7 c6
	c8 c7
END
(
	cd repo.line &&
		git tag -a -m release v1 c1 && git tag -a -m release v8 c8 && git -c advice.nestedTag=false tag -a -m nested vv1 v1 &&
		git branch topic/slash c6 && git branch other c7
)

# c3 is the merge base of main (c4 to c7) and side (cs1 to cs3).
graph fork <<-'END'
	c1
	c2 c1
	c3 c2
	cs1 c3
	cs2 cs1
	cs3 cs2
	c4 c3
	c5 c4
	c6 c5
	c7 c6
END
git -C repo.fork branch side cs3

# Two merge bases, c2 and cx2.
graph cross <<-'END'
	c1
	c2 c1
	cx2 c1
	c3 c2 cx2
	cx3 cx2 c2
	cx4 cx3
	c4 c3
	c5 c4
END

# A branch cb1 to cb4, merged with c5.
graph merge <<-'END'
	c1
	c2 c1
	cb1 c2
	cb2 cb1
	cb3 cb2
	cb4 cb3
	c3 c2
	c4 c3
	c5 c4 cb4
	c6 c5
	c7 c6
END

# Four branches merged at once.
graph octopus <<-'END'
	c1
	ca1 c1
	cb1 c1
	cb2 cb1
	cc1 c1
	cd1 c1
	cd2 cd1
	co ca1 cb2 cc1 cd2
	c3 co
	c4 c3
END

# Two roots, joined; and a third, island.
graph roots <<-'END'
	ci1
	ci2 ci1
	ca1
	ca2 ca1
	cb1
	cb2 cb1
	cm ca2 cb2
	cz cm
END
git -C repo.roots branch island ci2

# c4 .. c9 in two branches that are merged twice.
graph weave <<-'END'
	c1
	c2 c1
	c3 c2
	c4 c2
	c5 c3 c4
	c6 c5
	c7 c4
	c8 c7
	c9 c6 c8
	c10 c9
	c11 c10
	c12 c8
	c13 c11 c12
END

always D1 "s/^(  [+-] BISECT_NAMES  )'--' /\1/"
always D2 "/ git bisect start/{
s/ '--'$//
s/ '--no-checkout'//
s/'--term-good=/'--term-old=/
s/'--term-bad=/'--term-new=/
s/'--term-(old|good)' '/'--term-old=/
s/'--term-(new|bad)' '/'--term-new=/
}"
always D5
always D25
always D3 's/^(  [+-] log [0-9]+ git bisect [a-z]+) main$/\1 c8/'

# --- beginning

case_ start-alone line 'waits for both ends, then goes on to the end' '
	B start; B bad; B good c1; answer c5; B reset' turns
case_ start-bad line 'with the bad end only' '
	B start main; B good c1; answer c2; B log'
case_ start-both line 'with both ends' '
	B start main c1; answer c8'
case_ start-several-good line 'with several good ends' '
	B start main c1 c3 c2; answer c4'
case_ start-dashes line 'with a -- and no paths' '
	B start main c1 --; answer c3'
case_ start-detached line 'from a detached HEAD, and back' '
	git checkout -q c7; B start c8 c1; answer c6; B reset'
case_ start-midway line 'from a branch at the very commit that is asked for: it is left' '
	git checkout -q -b midway c4; B start main c1; B good; B reset'
case_ start-slash line 'from a branch with a slash, and back' '
	git checkout -q topic/slash; B start topic/slash c1; answer c2; B reset'
case_ start-annotated line 'annotated tags, and a tag of a tag' '
	B start v8 vv1; answer c7'
case_ start-expressions line 'expressions name the ends' '
	B start HEAD~1 HEAD~6 main^{/c3}; answer c5'
case_ start-ref-at line 'the reflog names an end' '
	git checkout -q other; git checkout -q main; B start @{-1} c1; answer c7'
case_ start-short-id line 'a short id' '
	B start main "$(git rev-parse --short=8 c1)"; answer c2'
differs D8
case_ start-subdir line 'from a directory of the worktree' '
	cd dir; B start main c1; answer c3; B reset'
case_ start-swapped line 'the bad end is an ancestor of the good one' '
	B start c1 main; B reset'
case_ start-equal line 'the same commit is bad and good' '
	B start main main; B reset'
case_ start-neighbours line 'nothing is left to test from the first' '
	B start c5 c4'
differs D7
case_ start-unknown line 'an unknown revision' '
	B start main nosuch; B start'
case_ start-unknown-dashes line 'an unknown revision before --' '
	B start main nosuch --; B start nosuch --'
differs D7
case_ start-unknown-id line 'an id that no object has' '
	B start main 0123456789012345678901234567890123456789'
case_ start-unknown-id-dashes line 'an id that no object has, before --' '
	B start main 0123456789012345678901234567890123456789 --'
differs D7
case_ start-blob line 'a blob is no commit' '
	B start main main:n'
differs D7
case_ start-tree line 'a tree is no commit' '
	B start main^{tree} c1'
case_ start-option line 'an unknown option' '
	B start --nosuch main c1'
case_ start-nested line 'anew during a session; the way back is kept' '
	B start main c1; B good; B start c7 c2; answer c4; B reset' turns
case_ start-nested-fails line 'anew with a mistake during a session' '
	B start main c1; B good; B start c7 nosuch --; B reset'
case_ start-dirty line 'changes of the user that are in nobodys way stay' '
	echo mine >dir/f; B start main c4; B good; B bad; B reset'
case_ start-conflict line 'changes of the user that are in the way' '
	echo mine >n; B start main c1; git checkout -q n; B good; B next'
case_ start-untracked line 'a file of the user that is in the way' '
	git rm -q --cached dir/f; git commit -qm gone; B start main c1; B reset; B start; B bad; B good c1'
case_ start-unborn line 'where HEAD is unborn' '
	git checkout -q --orphan empty; git rm -rqf .; B start; B bad main; B good c1; B reset'
differs D22
case_ start-unborn-both line 'where HEAD is unborn, with both ends' '
	git checkout -q --orphan empty; git rm -rqf .; B start main c1; answer c5; B reset main'
case_ start-no-repository line 'not in a repository' '
	cd ..; mkdir -p extra; cd extra; B start; B good'

# --- paths

case_ paths line 'only commits that touch the paths are tested' '
	B start main c1 -- dir; answer c6' turns
case_ paths-later line 'paths, and the ends afterwards' '
	B start -- dir; B bad; B good c1; answer c3'
differs D7
case_ paths-no-dashes line 'paths without a --' '
	B start main c1 dir; answer c6'
case_ paths-none line 'paths that nothing touches' '
	B start main c1 -- nosuch'
differs D8
case_ paths-subdir line 'paths are relative to the directory' '
	cd dir; B start main c1 -- f; answer c6'
case_ paths-quoted line 'a path with a blank and a quote' "
	B start main c1 -- dir \"a 'b\"; answer c3"
differs D26
case_ paths-magic line 'pathspec magic' '
	B start main c1 -- ":(exclude)n"; answer c3'
case_ paths-culprit-outside line 'the culprit does not touch the paths' '
	B start main c1 -- dir; answer c5'

# --- terms

case_ terms-old-new line 'old and new need no option' '
	B start; B new; B old c1; answer c4; BO terms'
case_ terms-own line 'terms of ones own' '
	B start --term-old fast --term-new slow; B slow main; B fast c1; answer c6; BO terms; BO terms --term-good; BO terms --term-bad; B reset' turns
case_ terms-own-equals line 'terms of ones own, written with =' '
	B start --term-good=fast --term-bad=slow main c1; answer c3'
case_ terms-one line 'one term of ones own' '
	B start --term-new=slow main c1; B good; B slow; B bad'
case_ terms-mixed line 'old in a session of good and bad' '
	B start; B bad; B old c1; B good c1; answer c4' turns
case_ terms-mixed-own line 'good in a session with terms of ones own' '
	B start --term-old fast --term-new slow main c1; B good; B bad; B old; B new; B fast'
case_ terms-new-good line 'new, then good' '
	B start; B new; B good c1; B old c1'
case_ terms-late line 'terms are kept until a verdict is given' '
	B start; B terms; B bad; BO terms; B new; B start; B new; BO terms'
differs D6
case_ terms-same line 'the same word for both' '
	B start --term-old x --term-new x'
differs D6
case_ terms-reserved line 'words that are commands' '
	B start --term-old start; B start --term-new skip; B start --term-old reset; B start --term-new terms; B start --term-new run; B start --term-old log; B start --term-old help'
differs D6
case_ terms-swapped line 'good and bad the other way round' '
	B start --term-old bad; B start --term-new good; B start --term-old bad --term-new good; B start --term-old new'
differs D6 D9
case_ terms-no-ref line 'words that no ref can have' '
	B start --term-new "a b"; B start --term-old a..b; B start --term-new ""; B start --term-new -x'
case_ terms-no-argument line 'no word after the option' '
	B start --term-old'
case_ terms-none line 'terms without a session' '
	B terms; B terms --term-good'
differs D10
case_ terms-option line 'terms with an unknown option, and with two' '
	B start main c1; B terms --nosuch; B terms --term-good --term-bad; BO terms --term-old; BO terms --term-new'
case_ terms-unknown-verb line 'a word that is no term' '
	B start main c1; B nonsense; B fast; B BAD'

# --- verdicts

case_ verdict-no-session line 'verdicts without a session' '
	B good c1; B bad; B skip; B old; B new c3'
case_ verdict-good-first line 'good first' '
	B start; B good c1; B next; B bad main; answer c4' turns
case_ verdict-good-several line 'several good at once' '
	B start; B bad; B good c1 c2 c3; answer c7'
differs D11
case_ verdict-bad-several line 'several bad at once' '
	B start; B bad c7 c8; B good c1; B bad c8'
differs D4
case_ verdict-bad-again line 'a second bad end replaces the first' '
	B start main c1; B bad c6; B bad c3; answer c2'
differs D4
case_ verdict-bad-newer line 'a second bad end that is newer' '
	B start c4 c1; B bad c8'
case_ verdict-bad-elsewhere merge 'a bad commit of another branch' '
	B start main c1; B bad cb3; answer cb2'
case_ verdict-good-elsewhere merge 'a good commit of another branch' '
	B start main c1; B good cb3; answer cb4'
case_ verdict-unknown line 'an unknown revision' '
	B start main c1; B good nosuch; B bad nosuch; B good c2 nosuch'
case_ verdict-blob line 'a blob and a tree are no commits' '
	B start main c1; B good c2:n; B bad c7^{tree}'
case_ verdict-tag line 'annotated tags' '
	B start; B bad v8; B good vv1; B bad v8'
case_ verdict-option line 'an option that a verdict does not have' '
	B start main c1; B good --nosuch; B bad -x'
case_ verdict-both line 'the same commit good and bad' '
	B start main c1; B good c4; B bad c4; B reset'
differs D4
case_ verdict-bad-good line 'the same commit bad and good' '
	B start main c1; B bad c4; B good c4; B reset'
case_ verdict-above line 'good above bad' '
	B start main c1; B bad c3; B good c6'
case_ verdict-twice line 'the same verdict twice' '
	B start main c1; B good c4; B good c4; B bad c7; B bad c7'
differs D4
case_ verdict-checkout line 'of another commit that the user checked out' '
	B start main c1; git reset -q --hard c6; B bad; git checkout -q c3; B good; answer c5'
differs D12
case_ verdict-commit line 'of a commit that the user made on the way' '
	B start main c1; echo fix >fix; git add fix; git commit -qm "fix to build"; B good; git reset -q --hard c4; B good; answer c7'
case_ verdict-elsewhere line 'of another commit, while what is checked out stays as good as any' '
	B start main c1; B good c4; B bad c7; B bad c8' turns
case_ verdict-branch line 'on a branch that the user made on the way' '
	B start main c1; git checkout -qb mine; B good; answer c6; B reset'
case_ verdict-late line 'after the commit was found' '
	B start main c1; answer c5; B good; B bad c2; B next'
differs D8
case_ verdict-subdir line 'given in a directory that is not in each commit' '
	mkdir deep; cd deep; B start main c1; answer c5'
differs D13
case_ next-early line 'next before there are both ends' '
	B next; B start; B next; B bad; B next; B good c1; B next'
case_ next-again line 'next again, also after a checkout' '
	B start main c1; B next; git checkout -q c7; B next'
case_ next-argument line 'next with an argument' '
	B start main c1; B next c3'
case_ command-none line 'no command, and one that there is not' '
	B; B nosuch; B help'

# --- skips

differs D4
case_ skip line 'one commit' '
	B start main c1; B skip; answer c7'
case_ skip-range line 'a range' '
	B start main c1; B skip c3..c6; answer c8' turns
case_ skip-several line 'several and a range' '
	B start main c1; B skip c2 c4..c6 c7; answer c8'
case_ skip-all line 'all that is between' '
	B start main c1; B skip c1..c7'
case_ skip-around line 'the culprit is among the skipped ones' '
	B start main c1; answer c5 c4 c5 c6' turns
case_ skip-next-to line 'its parent was skipped' '
	B start main c1; answer c5 c4'
case_ skip-ends line 'an end' '
	B start main c1; B skip main; B skip c1; answer c4'
case_ skip-unknown line 'an unknown revision' '
	B start main c1; B skip nosuch; B skip c3..nosuch; B skip c4 nosuch'
differs D14
case_ skip-empty line 'an empty range' '
	B start main c1; B skip c5..c3'
differs D4
case_ skip-judged line 'a skipped commit gets a verdict' '
	B start main c1; B skip c4; B good c4; answer c6'
case_ skip-judged-before line 'a judged commit is skipped' '
	B start main c1; B good c4; B skip c4; answer c6'
differs D4
case_ skip-waiting line 'before there are ends' '
	B start; B skip; B bad; B skip c4; B good c1; answer c6'
differs D15
case_ skip-late line 'after the commit was found' '
	B start main c1; answer c5; B skip c5'
case_ skip-merge merge 'in a branch' '
	B start main c1; answer cb3 cb2'
case_ skip-weave weave 'where branches are merged twice' '
	B start main c1; answer c7 c5 c6'
differs D15
case_ skip-more line 'a verdict after only skipped commits were left' '
	B start main c1; B skip c1..c7; B good c5; B bad c6'

# --- branches

case_ base-good fork 'the merge base is good' '
	B start main cs3; B good; answer c6' turns
differs D24
case_ base-bad fork 'the merge base is bad' '
	B start main cs3; B bad; B next; B good; B reset'
case_ base-skipped fork 'the merge base is skipped' '
	B start main cs3; B skip; answer c5' turns
case_ base-known fork 'the merge base is known to be good' '
	B start main cs3 c3; answer c5'
differs D4
case_ base-above fork 'a descendant of the merge base is known to be good' '
	B start main cs3 c4; answer c5'
case_ base-elsewhere fork 'a verdict on another commit while the merge base is asked for' '
	B start main cs3; B good c5; B good; answer c7'
differs D4
case_ base-two cross 'two merge bases' '
	B start main cx4; B good; B good; answer c5'
differs D4
case_ base-two-bad cross 'two merge bases, the second is bad' '
	B start main cx4; B good; B bad'
differs D4
case_ base-two-skipped cross 'two merge bases, both skipped' '
	B start main cx4; B skip; B skip; answer c4'
case_ base-terms fork 'the merge base is bad, in words of ones own' '
	B start --term-old broken --term-new fixed main cs3; B fixed'
case_ base-first-parent fork 'with --first-parent' '
	B start --first-parent main cs3; answer c5'
case_ base-none roots 'no common ancestor' '
	B start main island; answer cb1'
case_ base-ancestor fork 'bad is an ancestor of the good branch' '
	B start c3 cs3'
case_ merge-branch merge 'the culprit is in a merged branch' '
	B start main c1; answer cb2' turns
case_ merge-itself merge 'the culprit is a merge' '
	B start main c1; answer c5'
case_ merge-first-parent merge 'with --first-parent the merge is the answer' '
	B start --first-parent main c1; answer cb2' turns
differs D16
case_ merge-first-parent-skip merge '--first-parent and skips' '
	B start --first-parent main c1; answer c5 c4'
case_ merge-first-parent-side merge '--first-parent and a good commit of the branch' '
	B start --first-parent main cb2; answer c4'
case_ merge-octopus octopus 'a branch of an octopus' '
	B start main c1; answer cd2'
case_ merge-octopus-itself octopus 'the octopus itself' '
	B start main c1; answer co'
case_ merge-roots roots 'the culprit is in a history that was merged in' '
	B start main ca1; answer cb2'
case_ merge-root roots 'the culprit is a root' '
	B start main ca1; answer cb1'
differs D17
case_ merge-weave weave 'where branches are merged twice' '
	B start main c1; answer c8'

# --- run

tested='test "${n#c}" -lt'
case_ run line 'statuses 0 and 1' "
	tester '$tested 6'; B start main c1; B run ../test; B reset"
case_ run-one-end line 'with one end only' "
	tester '$tested 6'; B start main; B run ../test"
case_ run-no-session line 'without a session' "
	tester '$tested 6'; B run ../test"
case_ run-no-command line 'without a command' '
	B start main c1; B run'
case_ run-125 line '125 skips' "
	tester 'test \$n != c4 || exit 125; $tested 7'; B start main c1; B run ../test"
case_ run-125-all line '125 always' "
	tester 'exit 125'; B start main c1; B run ../test"
case_ run-125-around line '125 around the culprit' "
	tester 'case \$n in c4|c5) exit 125;; esac; $tested 5'; B start main c1; B run ../test"
case_ run-124 line '124 is bad' "
	tester '$tested 3 || exit 124'; B start main c1; B run ../test"
case_ run-126-later line '126 is bad when it is not the first' "
	tester '$tested 6 || exit 126'; B start main c1; B run ../test"
case_ run-126-first line '126 from the first, but not at the good end' "
	tester '$tested 2 || exit 126'; B start main c1; B run ../test"
case_ run-126-always line '126 at the good end, too' "
	tester 'exit 126'; B start main c1; B run ../test"
case_ run-127-first line '127 from the first, but not at the good end' "
	tester '$tested 2 || exit 127'; B start main c1; B run ../test"
case_ run-missing line 'a command that there is not' '
	B start main c1; B run ../nosuch'
case_ run-128 line '128 ends it; by hand it goes on' "
	tester '$tested 6 || exit 128'; B start main c1; B run ../test; B bad" turns
case_ run-255 line '255 ends it' "
	tester 'exit 255'; B start main c1; B run ../test"
case_ run-signal line 'a command that dies of a signal' "
	tester 'kill -TERM \$\$'; B start main c1; B run ../test"
case_ run-kill line 'a command that dies of SIGKILL' "
	tester 'kill -KILL \$\$'; B start main c1; B run ../test"
case_ run-good line 'always good' "
	tester 'exit 0'; B start main c1; B run ../test"
case_ run-bad line 'always bad' "
	tester 'exit 1'; B start main c1; B run ../test"
differs D27
case_ run-found line 'when the commit was found already' "
	tester '$tested 6'; B start main c1; answer c5; B run ../test"
case_ run-half line 'some verdicts by hand, the rest by run' "
	tester '$tested 5'; B start main c1; B good; B run ../test" turns
case_ run-terms line 'words of ones own' "
	tester '$tested 5'; B start --term-old broken --term-new fixed main c1; B run ../test"
case_ run-arguments line 'arguments with blanks' "
	tester 'test \"\$1\" = \"a b\" || exit 200; test \"\$#\" = 3 || exit 200; $tested 4'
	B start main c1; B run ../test 'a b' '' '*'"
case_ run-option line 'a command with options of its own' "
	B start main c1; B run sh -c 'test \"\$(cat n)\" != c8 && exit 0; exit 1'"
case_ run-dirty line 'a command that changes a tracked file' "
	tester 'echo x >n; $tested 5'; B start main c1; B run ../test"
case_ run-merge-base fork 'the merge base is bad' "
	tester 'case \$n in c*s*) exit 0;; esac; exit 1'; B start main cs3; B run ../test"
differs D8
case_ run-subdir line 'in a directory' "
	tester '$tested 5'; cd dir; B start main c1; B run ../../test"
case_ run-fixed line 'on a range of which both ends are good' "
	tester 'exit 0'; B start c6 c2; B run ../test; B log"

# --- log and replay

log='git bisect start
# status: waiting for both good and bad commits
# bad: [x] y
git bisect bad main
git bisect good c1
'
replay()
{
	printf "$1" >../extra
	B replay ../extra
}
case_ log line 'the log without its comments' '
	B log; B start; BO log; B bad; B good c1; BO log; B good; BO log' turns
differs D18
case_ log-argument line 'log with an argument' '
	B start main c1; B log x'
differs D19
case_ replay line 'a log of a whole session' '
	B start main c1; answer c6; git bisect log >../extra; B reset; B replay ../extra; B reset'
case_ replay-short line 'a log by hand' '
	replay "$log"; answer c3'
case_ replay-dashed line 'the spelling git-bisect' '
	replay "git-bisect start\ngit-bisect bad main\ngit-bisect good c1\n"'
case_ replay-ends line 'a start with ends and paths' "
	replay \"git bisect start 'main' 'c1' '--' 'dir'\n\"; answer c6"
case_ replay-terms line 'words of ones own' "
	replay \"git bisect start '--term-new' 'slow' '--term-old' 'fast'\ngit bisect slow main\ngit bisect fast c1\n\"; answer c6"
case_ replay-old-new line 'old and new' '
	replay "git bisect start\ngit bisect new main\ngit bisect old c1\n"; answer c6'
case_ replay-skip line 'skips' '
	replay "${log}git bisect skip c4\ngit bisect skip c3\n"; answer c6' turns
case_ replay-first-parent merge 'a start with --first-parent' "
	replay \"git bisect start '--first-parent' 'main' 'c1'\n\"; answer cb2"
differs D4
case_ replay-during line 'in the middle of a session' '
	git checkout -q other; B start c7 c2; B good; replay "$log"; B reset'
case_ replay-no-newline line 'no newline at the end' '
	replay "git bisect start\ngit bisect bad main\ngit bisect good c1"'
case_ replay-crlf line 'lines that end with CR LF' '
	replay "git bisect start\r\ngit bisect bad main\r\ngit bisect good c1\r\n"'
differs D19
case_ replay-found line 'a log that ends with the answer' '
	B start c5 c4; git bisect log >../extra; B reset; B replay ../extra'
case_ replay-missing line 'a file that there is not' '
	B replay ../nosuch; B replay'
case_ replay-empty line 'an empty file, and a directory' '
	replay ""; B replay ..'
differs D20
case_ replay-comments line 'comments only' '
	replay "# bad: [x] y\n# good: [x] y\n"'
differs D20
case_ replay-no-start line 'no start' '
	replay "git bisect good c1\ngit bisect bad main\n"'
differs D21
case_ replay-verb line 'an unknown verb' '
	replay "${log}git bisect wobble c4\n"'
differs D21
case_ replay-unknown line 'an unknown id' '
	replay "git bisect start\ngit bisect bad main\ngit bisect good 0123456789012345678901234567890123456789\n"'
differs D21
case_ replay-unknown-name line 'an unknown name' '
	replay "git bisect start\ngit bisect bad nosuch\ngit bisect good c1\n"'
differs D20
case_ replay-range line 'a skip of a range' '
	replay "${log}git bisect skip c3..c5\n"'
differs D20
case_ replay-quoted line 'a log that was quoted in a mail' '
	replay "> git bisect start\n> git bisect bad main\n> git bisect good c1\n"'
case_ replay-garbage line 'lines that are no commands' '
	replay "hello\n${log}\n\nBisecting: 3 revisions left\n  git bisect bad c3\n"'
differs D21
case_ replay-no-revision line 'a verdict without a revision' '
	replay "git bisect start\ngit bisect bad\ngit bisect good c1\n"'
differs D20
case_ replay-several line 'several revisions in a line' '
	replay "git bisect start\ngit bisect bad main\ngit bisect good c1 c2 c3\n"'
differs D21
case_ replay-shell line 'what a shell would run' '
	replay "git bisect start\ngit bisect bad main; touch ../ran\ngit bisect good \$(touch ../ran)\n"; test ! -e ../ran || note ran'
differs D20
case_ replay-terms-late line 'a line of terms' "
	replay \"git bisect start\ngit bisect terms\ngit bisect bad main\ngit bisect good c1\n\""
differs D21
case_ replay-reset line 'a log with a reset in it' '
	replay "${log}git bisect reset\n"'
case_ replay-trailing line 'a log of a session that was begun anew' '
	replay "${log}git bisect good c4\ngit bisect start\ngit bisect bad c6\ngit bisect good c2\n"'

# --- looking

case_ visualize line 'what is left, as git log shows it' '
	B start main c1; BO visualize --oneline; B good; BO view --format=%H; BO visualize --stat --format=%s' turns
case_ visualize-paths line 'with paths' '
	B start main c1 -- dir; BO visualize --format=%H'
case_ visualize-terms line 'in words of ones own' '
	B start --term-old fast --term-new slow main c1; BO visualize --format=%H'
differs D5
case_ visualize-none line 'without a session, and without ends' '
	B visualize; B start; B visualize; B bad; B visualize'
differs D4
case_ visualize-skip line 'with skips' '
	B start main c1; B skip; BO visualize --format=%H'

# --- ending

case_ reset line 'in the middle; twice' '
	B start main c1; B good; B reset; B reset' turns
case_ reset-commit line 'to a commit' '
	B start main c1; B reset c3'
case_ reset-bad line 'to the first bad commit' '
	B start main c1; answer c5; B reset bisect/bad'
case_ reset-head line 'to where it is' '
	B start main c1; B good; B reset HEAD'
case_ reset-branch line 'to another branch' '
	B start main c1; B reset topic/slash'
case_ reset-unknown line 'to an unknown revision' '
	B start main c1; B reset nosuch; B good'
case_ reset-blob line 'to a blob' '
	B start main c1; B reset main:n'
differs D22
case_ reset-none line 'without a session' '
	B reset; B reset c3; B reset nosuch'
case_ reset-arguments line 'with two arguments, and with an option' '
	B start main c1; B reset c3 c4; B reset --nosuch'
case_ reset-conflict line 'changes of the user that are in the way' '
	B start main c1; echo mine >n; B reset; git checkout -q n; B reset'
case_ reset-dirty line 'changes of the user that are in nobodys way' '
	B start main c3; echo mine >dir/f; B reset'
case_ reset-branch-gone line 'the branch is gone' '
	git checkout -q topic/slash; B start c5 c1; git update-ref -d refs/heads/topic/slash; B reset; B reset main'
case_ reset-moved line 'the branch was moved' '
	B start main c1; git update-ref refs/heads/main c7; B reset'

# --- repositories

case_ packed line 'packed refs' '
	B start main c1; B good; git pack-refs --all; B bad; B skip; git pack-refs --all --prune; B next; B reset' turns
case_ no-checkout line '--no-checkout' '
	B start --no-checkout main c1; answer c5; B reset' turns
case_ no-checkout-run line '--no-checkout and run' "
	tester '$tested 5'; B start --no-checkout main c1; B run ../test; B reset"
case_ no-checkout-dirty line '--no-checkout does not care about changes' '
	echo mine >n; B start --no-checkout main c1; B good; B bad; B skip; B reset'
case_ no-checkout-base fork '--no-checkout and a merge base' '
	B start --no-checkout main cs3; B good; answer c6'
case_ bare line 'a bare repository' '
	cd ..; git clone -q --template= --bare work extra; cd extra; B start main c1; answer c5; B visualize; B reset' turns
case_ worktree line 'a linked worktree' '
	git worktree add -q --detach ../extra c7; cd ../extra; B start c7 c1; answer c5; B log; B reset; cd ../work; rm -rf ../extra; git worktree prune'
case_ worktree-two line 'a session in each of two worktrees' '
	git worktree add -q --detach ../extra c7; B start main c1; cd ../extra; B start c7 c2; cd ../work; B good; cd ../extra; B bad; cd ../work; answer c6; cd ../extra; answer c3; B reset; cd ../work; B next; B reset; rm -rf ../extra; git worktree prune' turns
case_ worktree-bare line 'a worktree of a bare repository' '
	cd ..; mkdir extra; git clone -q --template= --bare work extra/bare; cd extra/bare; git worktree add -q ../tree main 2>/dev/null; cd ../tree; B start main c1; answer c5; B reset'
case_ shallow line 'a shallow clone' '
	cd ..; git clone -q --template= --depth 6 "file://$PWD/work" extra 2>/dev/null; cd extra; B start main HEAD~5; answer c6; B reset' turns
case_ shallow-beyond line 'a commit beyond the shallow boundary' '
	old=$(git rev-parse c1); cd ..; git clone -q --template= --depth 6 "file://$PWD/work" extra 2>/dev/null; cd extra; B start main; B good $old; B good HEAD~5'
case_ separate-git-dir line 'a .git file' '
	mkdir ../extra; git init -q --separate-git-dir ../extra/git; B start main c1; answer c5; B reset'
case_ git-dir-env line 'GIT_DIR and GIT_WORK_TREE' '
	cd ..; mkdir extra; GIT_DIR=$PWD/work/.git GIT_WORK_TREE=$PWD/work; export GIT_DIR GIT_WORK_TREE; cd extra; B start main c1; answer c5; B reset'
differs D23
case_ replace line 'a commit that git replace has replaced' '
	git replace --graft c5 c2; B start main c1; answer c7'
case_ sparse line 'a sparse checkout' '
	git sparse-checkout set --no-cone /n 2>/dev/null; B start main c1; answer c5; B reset; note $(ls)'
case_ hook line 'hooks are run by the checkouts' '
	mkdir .git/hooks; printf "#!/bin/sh\necho hook >>../extra\n" >.git/hooks/post-checkout; chmod +x .git/hooks/post-checkout; B start main c1; B good; B reset; note "$(tr "\n" " " <../extra)"'
case_ ref-named-bad line 'a branch and a tag with the name of a term' '
	git branch bad c5; git tag good c1; B start main c1; answer c6; B reset'
case_ foreign-refs line 'refs of the user below refs/bisect' '
	git update-ref refs/bisect/mine c3; git update-ref refs/bisect/good c2; B start main c1; B good; B reset'

[ "$FB_GIT_CASES" != git ] || exit 0

[ -n "${CASES_ONLY-}" ] || fb_expect 'in all, firstbad needs at most 1.05 times as many tests as git' '
	echo "git $cases_tests_git, firstbad $cases_tests_firstbad" && test $cases_tests_git -gt 200 &&
	test $((100 * cases_tests_firstbad)) -le $((105 * cases_tests_git))
'

[ -n "${CASES_ONLY-}" ] || fb_expect 'each difference is in the table of doc/git-bisect.md, with its reason; no other is there' '
	sort -u differences >used && sed -n "s/^| \(D[0-9]*\) | ..*/\1/p" \
		"$top_srcdir/doc/git-bisect.md" | sort >listed && fb_cmp listed used
'

fb_done
