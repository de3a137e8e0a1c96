#!/bin/sh
# What a command does with git, it does in firstbad's worktree and never in the user's checkout.
. "${top_srcdir:-.}/t/test-lib.sh"
. "$top_srcdir/t/world.sh"

fb_have git awk || fb_skip_all "git and awk are needed"

# Names alone: what firstbad itself is to read stays as it is.
fb_expect 'of the variables that name a repository a command gets none' '
	world_new 4 && world_make &&
	printf "#!/bin/sh\nenv >>\"\$FB_SCRATCH/seen\"\ntest \$(cat other) -lt 3\n" >show &&
	chmod +x show && git rev-parse --local-env-vars >names && test -s names &&
	(while read -r v; do export "$v=here"; done <names &&
	firstbad -C repo bisect run -q --good c1 "$FB_SCRATCH/show" >out) &&
	grep "^FIRSTBAD_RESULT=" seen >/dev/null &&
	while read -r v; do fb_grep ! "^$v=" seen || exit 1; done <names
'

fb_expect 'its "git clean" spares what lies in a checkout that the environment names' '
	rm -rf repo && world_make &&
	printf "#!/bin/sh\ngit clean -ffdxq && git checkout -q . && test \$(cat other) -lt 3\n" >clean &&
	chmod +x clean && echo mine >repo/untracked && echo changed >repo/speed &&
	(cd repo && GIT_DIR=$PWD/.git GIT_WORK_TREE=$PWD GIT_INDEX_FILE=$PWD/.git/index \
		firstbad bisect run -q --good c1 "$FB_SCRATCH/clean") >out &&
	fb_grep "change 3" out && test "$(cat repo/untracked repo/speed)" = "mine
changed"
'

fb_done
