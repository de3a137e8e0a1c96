#!/bin/sh
# What a command has mounted in the worktree is never emptied: the next search refuses, and says why.
. "${top_srcdir:-.}/t/test-lib.sh"
. "$top_srcdir/t/world.sh"

[ "$(id -u)" = 0 ] || fb_skip_all "mounting needs root"
fb_have git awk || fb_skip_all "git and awk are needed"
mkdir try && mount --bind try try 2>/dev/null || fb_skip_all "nothing can be mounted here"
umount try
export FIRSTBAD_NAMESPACES=no # the mount stays; behind a fence it does so with shared propagation
umount_all()
{
	awk -v top="$FB_SCRATCH/" 'index($5, top) == 1 { print $5 }' /proc/self/mountinfo |
		sort -r >mounts
	while read -r m; do umount -l "$(printf '%b' "$m")"; done <mounts
}
trap umount_all EXIT

# binding NAME: a command that mounts ./precious on NAME in the worktree.
binding()
{
	mkdir -p precious/sub/.git && echo treasure >precious/file && echo treasure >precious/sub/.git/HEAD
	cat >binding <<-EOF
	#!/bin/sh
	mkdir -p "$1"
	mountpoint -q "$1" || mount --bind "$FB_SCRATCH/precious" "$1"
	test \$(cat other) -lt 3
	EOF
	chmod +x binding
}

# refused: nothing is lost, and the error names the mount point by its end $1.
refused()
{
	find precious | sort >got && cat err && cmp got want &&
		test "$(grep -c "^firstbad: .*mounted on '.*/$1'" err)" -eq 1
}

fb_expect 'a bind mount: the same search does not go on, and nothing is deleted' '
	world_new 8 && world_make && binding data && find precious | sort >want &&
	fb_must_fail 64 firstbad -C repo bisect run -q --good c1 "$FB_SCRATCH/binding" 2>err &&
	refused data
'
fb_expect 'nor does a new one begin, also not for a name with a blank' '
	fb_must_fail 64 firstbad -C repo bisect run -q --fresh --good c1 "$FB_SCRATCH/binding" 2>err &&
	refused data && umount_all && binding "a b/c" &&
	fb_must_fail 64 firstbad -C repo bisect run -q --fresh --good c1 "$FB_SCRATCH/binding" 2>err &&
	refused "a b/c" &&
	fb_must_fail 64 firstbad -C repo bisect run -q --fresh --good c1 "$FB_SCRATCH/binding" 2>err &&
	refused "a b/c"
'
fb_expect 'unmounted, the search comes to its end' '
	umount_all && printf "#!/bin/sh\ntest \$(cat other) -lt 3\n" >binding &&
	firstbad -C repo bisect run -q --fresh --good c1 "$FB_SCRATCH/binding" >out &&
	fb_grep "change 3" out && test -s precious/file
'

umount_all
trap - EXIT
fb_done
