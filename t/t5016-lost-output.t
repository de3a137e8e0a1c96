#!/bin/sh
# What a command printed is known whole, or not at all: a full disk ends the search, exit status 74.
. "${top_srcdir:-.}/t/test-lib.sh"
. "$top_srcdir/t/world.sh"

[ "$(id -u)" = 0 ] || fb_skip_all "a file system of a known size needs root"
fb_have git awk || fb_skip_all "git and awk are needed"
mkdir -p small
mount -t tmpfs -o size=4m none small 2>/dev/null || fb_skip_all "tmpfs cannot be mounted here"
trap 'umount -l "$FB_SCRATCH/small" 2>/dev/null' EXIT
XDG_DATA_HOME=$PWD/small/data

# filling LINE: the disk fills up after 4079 bytes of output and gets room again after LINE.
# Of "firstbad: score 500" the last page then takes no more than "firstbad: score 5".
filling()
{
	cat >filling <<-EOF
	#!/bin/sh
	n=\$(cat other)
	head -c 4078 /dev/zero | tr '\\\\0' x; echo
	sleep 0.3
	[ \$n -lt 7 ] || head -c 10m /dev/zero >"$FB_SCRATCH/small/fill" 2>/dev/null
	$1
	sleep 0.3
	rm -f "$FB_SCRATCH/small/fill"
	echo
	EOF
	chmod +x filling
}

# full COMMAND: it names the full disk in one line, and nothing is judged.
full()
{
	fb_must_fail 74 "$@" >out 2>err && cat err && test "$(grep -c "^firstbad: " err)" -eq 1 &&
		fb_grep "^firstbad: .*keep what the command wrote.*: No space left on device" err &&
		fb_grep ! "change [0-9]" out &&
		firstbad -C repo report --json >r.json && fb_grep ! "test-failed" r.json
}

fb_expect 'the number 500 is never read as 5' '
	world_new 12 && world_make && filling "echo \"firstbad: score 500\"" &&
	full firstbad -C repo bisect run -q --good c1 "$FB_SCRATCH/filling"
'

fb_expect 'nor does a full disk count as a failure of the commit' '
	rm -rf small/* && filling "head -c 9000 /dev/zero" &&
	full firstbad -C repo bisect run -q --good c1 "$FB_SCRATCH/filling"
'

fb_expect 'with room again the search goes on' '
	printf "#!/bin/sh\ntest \$(cat other) -lt 7\n" >filling &&
	firstbad -C repo bisect run -q --good c1 "$FB_SCRATCH/filling" >out && fb_grep "change 7" out
'

umount small
trap - EXIT
fb_done
