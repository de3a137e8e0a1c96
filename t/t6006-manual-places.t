#!/bin/sh
# Bisections by hand in linked worktrees, bare, shallow, foreign and SHA-256 repositories.
. "${top_srcdir:-.}/t/test-lib.sh"
. "$top_srcdir/t/world.sh"

fb_have git awk || fb_skip_all "git and awk are needed"
world_new 30 && world_make || fb_die "no history"

oid()
{
	git -C repo rev-parse "$1"
}

fb_expect 'two worktrees have a session each, and do not meet' '
	git -C repo worktree add -q --detach ../two c30 && firstbad -C repo bisect start c30 c1 >out && firstbad -C two bisect start c20 c10 >out &&
	fb_grep "^\[$(oid c15)\]" out && firstbad -C repo bisect good >out && fb_grep "^\[$(oid c22)\]|^\[$(oid c23)\]" out &&
	firstbad -C two bisect bad >out && git -C two bisect log >log && fb_grep "bisect bad $(oid c15)" log && fb_grep ! "$(oid c30)" log &&
	git -C repo bisect log >log && fb_grep ! "$(oid c10)" log && firstbad -C two bisect status >status && fb_grep "^said: 1 good, 2 bad" status &&
	test "$(firstbad list sessions | grep -c " open  *manual ")" = 2 && firstbad -C two bisect undo >out &&
	firstbad -C two bisect reset && test "$(git -C two rev-parse HEAD)" = "$(oid c30)" && firstbad -C repo bisect status >status &&
	fb_grep "^said: 2 good, 1 bad" status && firstbad -C repo bisect reset && ls repo/.git/worktrees/two repo/.git >have && fb_grep ! "BISECT" have
'
fb_expect 'a copied repository does not meddle with the session of the first' '
	firstbad -C repo bisect start c30 c1 >out && firstbad -C repo bisect good >out && cp -a repo copy && firstbad -C copy bisect good >out 2>err &&
	fb_grep "taking over" err && firstbad -C repo bisect status >status && fb_grep "^said: 2 good" status && firstbad -C copy bisect status >status &&
	fb_grep "^said: 3 good" status && firstbad -C repo bisect reset && firstbad -C copy bisect status >status && fb_grep "^said: 3 good" status
'
fb_expect 'a bare repository: no checkout; a worktree of it as any other' '
	git clone -q --bare repo bare.git && firstbad -C bare.git bisect start c30 c1 >out && fb_grep "^\[$(oid c15)\]" out &&
	test "$(git -C bare.git rev-parse BISECT_HEAD)" = "$(oid c15)" && firstbad -C bare.git bisect good >out &&
	git -C bare.git bisect log >log && fb_grep "bisect good $(oid c15)" log && fb_grep "bisect start .--no-checkout. .c30. .c1." log &&
	git -C bare.git worktree add -q --detach ../of-bare c30 && firstbad -C of-bare bisect start c20 c10 >out &&
	test "$(git -C of-bare rev-parse HEAD)" = "$(oid c15)" && firstbad -C of-bare bisect bad >out && firstbad -C bare.git bisect bad >out &&
	firstbad -C bare.git bisect reset && firstbad -C of-bare bisect status >status && fb_grep "^said: 1 good, 2 bad" status
'
fb_expect 'a shallow clone: its boundary is a root' '
	git clone -q --depth 12 "file://$PWD/repo" shallow && firstbad -C shallow bisect start main main~10 >out &&
	fb_grep "^\[$(oid c25)\]" out && firstbad -C shallow bisect bad >out && git -C shallow bisect good >out && firstbad -C shallow bisect good >out 2>err &&
	i=0 && until grep -q "first bad commit" out; do i=$((i + 1)) && test $i -lt 6 && firstbad -C shallow bisect good >out || exit 1; done &&
	fb_grep "^$(oid c25) is the first bad" out && fb_must_fail 64 firstbad -C shallow bisect start main "$(oid c1)" 2>err && fb_grep "neither a revision|unknown revision" err
'
fb_expect 'a SHA-256 repository: one error' '
	git init -q --object-format=sha256 sha256 && fb_must_fail 64 firstbad -C sha256 bisect start 2>err && test "$(wc -l <err)" = 1 && fb_grep "SHA-256" err
'
if [ "$(id -u)" = 0 ]; then
	fb_expect 'a repository of another user: only with safe.directory' '
		cp -a repo theirs && chown -R 12345 theirs && fb_must_fail 64 firstbad -C theirs bisect start c30 c1 2>err &&
		fb_grep "belongs to another user; to trust it" err && test ! -e theirs/.git/BISECT_START &&
		git config --global --add safe.directory "$PWD/theirs" && firstbad -C theirs bisect start c30 c1 >out && fb_grep "^Bisecting" out
	'
else
	fb_skip 'a repository of another user: only with safe.directory' 'not root'
fi
fb_expect 'a second firstbad at the same time: busy, not mixed up' '
	mkfifo started go && firstbad -C repo bisect start c30 c1 >out && cd repo/.git &&
	printf "test -e once || { : >once; echo >started; cat <go; }\nexit 1\n" | sed "s|once|$FB_SCRATCH/once|g; s|>started|>$FB_SCRATCH/started|; s|<go|<$FB_SCRATCH/go|" >wait.sh && cd ../.. &&
	{ firstbad -C repo bisect run sh .git/wait.sh >run.out 2>&1 & } && read -r line <started &&
	{ firstbad -C repo bisect good 2>err && exit 1 || test $? = 75; } && fb_grep "another firstbad" err && echo >go && wait &&
	fb_grep "^$(oid c2) is the first bad" run.out
'
fb_done
