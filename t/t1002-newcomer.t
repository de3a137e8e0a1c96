#!/bin/sh
# What a newcomer does wrong is told at once, before any build, and with what to do about it.
. "${top_srcdir:-.}/t/test-lib.sh"
. "$top_srcdir/t/world.sh"

fb_have git awk || fb_skip_all "git and awk are needed"

one_error()
{
	test "$(wc -l <err)" -eq 1 || { cat err; return 1; }
	fb_grep '^firstbad: ' err
}

# det MATRIX-LINES: a plan for kernels.
det()
{
	printf 'machine: deterministic\nkconfig: [tiny, fs-ext4, null-blk]\ndisk: 64M\nmatrix:\n%s\n' "$1"
}

world_new 6 && world_set 4 6 80 && world_make || exit 1

fb_expect 'the wrong direction is told as such' '
	fb_must_fail 11 firstbad -C repo bisect run -q --good c1 --bad c6 --better lower "$FB_SCRATCH/bench" >out &&
	fb_grep "the other way, by -(19|20)" out && fb_grep "change improvement .*--better" out &&
	fb_grep ! "do not differ" out &&
	firstbad -C repo bisect run -q --good c1 --bad c6 --better higher "$FB_SCRATCH/bench" >out &&
	tail -n 1 out >last && fb_grep "$(git -C repo rev-parse c4)" last
'
fb_expect 'measure without any value is 14 and prints no empty heading' '
	sed "s,command: .*,command: \"false\"," plan.yaml >none.yaml &&
	fb_must_fail 14 firstbad -C repo measure ../none.yaml -q --boots 1 --rev c1 --rev c2 >out &&
	fb_grep "1 boot, 1 without a value" out && fb_grep ! "^command|In brackets" out
'
fb_expect 'a metric that no cell gives is told before anything is built' '
	det "  - {testcase: fio, fs: ext4}" >det.yaml &&
	fb_must_fail 64 firstbad -C repo bisect auto --plan ../det.yaml --metric fio.nosuch c6 c1 2>err &&
	one_error && fb_grep "metric: no cell gives the metric .fio.nosuch" err &&
	fb_must_fail 64 firstbad -C repo bisect auto --plan ../det.yaml --metric fio.write_iop c6 c1 2>err &&
	fb_grep "did you mean .fio.write_iops" err
'
fb_expect 'bisect auto in what is no kernel tree: one error before any session' '
	firstbad -C repo list sessions >before &&
	fb_must_fail 64 firstbad -C repo bisect auto --plan ../det.yaml c6 c1 2>err && one_error &&
	fb_grep "no kernel tree .*bisect run" err && firstbad -C repo list sessions >after && fb_cmp before after
'
fb_expect 'a machine that does not exist yet is refused' '
	for m in ssh ssh:foo; do
		det "  - {testcase: fio, fs: ext4}" | sed "s/deterministic/$m/" >m.yaml &&
		fb_must_fail 64 firstbad measure --dry-run m.yaml 2>err && one_error &&
		fb_grep "m.yaml:1:10: .*ssh. does not exist yet" err || exit 1
	done
'
fb_expect 'what the kernel or the disk has not got is told with its place' '
	det "  - {testcase: fio, fs: btrfs}" >p.yaml &&
	fb_must_fail 64 firstbad measure --dry-run p.yaml 2>err && one_error &&
	fb_grep "p.yaml:5:25: .*CONFIG_BTRFS_FS.*add fs-btrfs" err &&
	det "  - {testcase: fio, fs: ext4}" | sed "s/, null-blk//" >p.yaml &&
	fb_must_fail 64 firstbad measure --dry-run p.yaml 2>err && one_error && fb_grep "null-blk" err &&
	det "  - {testcase: fio, fs: ext4, size: 65m}" >p.yaml &&
	fb_must_fail 64 firstbad measure --dry-run p.yaml 2>err && one_error &&
	fb_grep "p.yaml:5:37: .*take 65 MiB, the disk has 64 MiB" err
'
fb_expect 'the plan of the manual and the built-in one pass their own check' '
	sed -n "/^.Sh PLANS/,/^.Ed/p" "$top_srcdir/man/firstbad.1" |
		sed -n "/^machine:/,/metric:/p" >man.yaml &&
	fb_grep "fio.write_iops" man.yaml && firstbad measure --dry-run man.yaml >out &&
	fb_grep "^4 cells in one boot" out && firstbad measure --dry-run >out && fb_grep "cells in one boot" out
'
fb_expect 'the manual shows the built-in plan as it is' '
	sed -n "s/^	\"\(.*\)\\\\n\";*$/\1/p" "$top_srcdir/src/plan/default.c" >default.yaml &&
	test -s default.yaml && sed -n "/^.Sh PLANS/,/^.Sh SIM/p" "$top_srcdir/man/firstbad.1" |
		sed -n "/^# The default plan/,/^.Ed/p" | sed "\$d" | fb_cmp default.yaml - &&
	firstbad measure --dry-run >want && firstbad measure --dry-run default.yaml | fb_cmp want -
'
fb_expect 'a dry run looks for the revisions it is given' '
	fb_must_fail 64 firstbad -C repo measure ../plan.yaml --dry-run --rev nosuch 2>err && one_error &&
	fb_grep "rev: .*nosuch" err && firstbad -C repo measure ../plan.yaml --dry-run --rev c1 >out &&
	for n in "" --dry-run; do
		fb_must_fail 64 firstbad -C repo measure ../plan.yaml $n --boots 0 --rev c1 2>err && one_error || exit 1
	done
'
fb_expect 'who is stopped is told the command that goes on' '
	cat >slow <<-"EOS" &&
	#!/bin/sh
	: >"$FB_SCRATCH/begun"
	sleep 30
	EOS
	chmod +x slow && rm -f begun &&
	{ firstbad -C repo bisect run -q --good c1 --bad c6 "$FB_SCRATCH/slow" 2>err & } &&
	pid=$! && i=0 &&
	while test ! -e begun && test $i -lt 100; do sleep 0.1; i=$((i + 1)); done &&
	kill -TERM $pid && rc=0 && { wait $pid || rc=$?; } && test $rc = 76 && one_error &&
	fb_grep "stopped by a signal; to go on: firstbad bisect run --session [0-9a-f]+$" err
'
fb_expect 'bisect lists its commands' '
	firstbad bisect --help >out && fb_grep "bisect auto" out && fb_grep ! doctor out &&
	fb_must_fail 64 firstbad bisect 2>err && fb_grep "bisect run" err &&
	fb_must_fail 64 firstbad bisect frob 2>err && fb_grep "no command .bisect frob" err &&
	fb_grep "bisect status" err
'
fb_expect 'options before the command: -C, or where they go' '
	for o in "--repo x list" "-q list" "-C"; do
		fb_must_fail 64 firstbad $o 2>err && one_error && fb_grep ! "no command" err || exit 1
	done &&
	fb_must_fail 64 firstbad --repo repo list 2>err && fb_grep "come after it" err
'
fb_expect 'looking at a session that is not there does not ask for ends' '
	git init -q other &&
	for c in "bisect status" report; do
		fb_must_fail 64 firstbad -C other $c 2>err && one_error && fb_grep "no bisection .*begin one" err || exit 1
	done
'
fb_expect 'a named session is found from anywhere' '
	fb_must_fail 11 firstbad -C repo bisect auto -q --plan ../plan.yaml --change improvement c6 c1 >want &&
	name=$(sed -n "s/^session \([0-9a-f]*\),.*/\1/p" want) && test -n "$name" &&
	for d in / other; do
		firstbad -C "$d" report "$name" >out && fb_cmp want out &&
		firstbad -C "$d" bisect status "$name" >out && fb_grep "session $name" out || exit 1
	done
'
if fb_have sqlite3; then
	fb_expect 'a session of an older firstbad, whose plan is refused by now, can still be read' '
		name=$(sed -n "s/^session \([0-9a-f]*\),.*/\1/p" want) &&
		set_plan() {
			sqlite3 "$XDG_DATA_HOME/firstbad/store.db" \
				"UPDATE session SET plan = \"$1\" WHERE name = \"$name\""
		}
		cell="testcase: command, command: x" &&
		set_plan "{kconfig: [tiny, gone], fixups: [./gone], matrix: [{$cell, fs: ext4}]}" &&
		firstbad report "$name" >out && grep "^session\|^tested\|^range" want >lines &&
		grep -F -f lines -c out >nr && echo 3 | fb_cmp - nr &&
		firstbad bisect status "$name" >out && fb_grep "session $name, none" out &&
		set_plan "{kconfig: [tiny], matrix: [{$cell, nosuch: 1}]}" &&
		for c in "bisect status" report; do
			fb_must_fail 64 firstbad $c "$name" 2>err && one_error &&
			fb_grep "session $name has a plan that this firstbad does not take: .*nosuch" err || exit 1
		done
	'
else
	fb_skip 'a session of an older firstbad, whose plan is refused by now, can still be read' \
		'sqlite3 is needed'
fi
fb_expect 'a finished session says the same when it is asked for again' '
	firstbad -C repo bisect auto -q --plan ../plan.yaml c6 c1 >want &&
	firstbad -C repo bisect auto -q >out && fb_cmp want out && fb_grep ! "tested: *0 commits" out
'
fb_expect 'swapped ends are told by the names that were given' '
	fb_must_fail 64 firstbad -C repo bisect auto --plan ../plan.yaml c1 c6 2>err && one_error &&
	fb_grep "bad c1, good c6: the bad end [0-9a-f]* is an ancestor of the good end [0-9a-f]*: swapped" err &&
	fb_must_fail 64 firstbad -C repo bisect run --good c6 --bad c1 true 2>err && one_error &&
	fb_grep "bad c1, good c6: .*swapped" err
'
fb_expect 'a wrong option of bisect run is named' '
	fb_must_fail 64 firstbad -C repo bisect run --good c1 --min-effect 500 true 2>err && one_error &&
	fb_grep "min-effect: .500. is not from" err && fb_grep ! "command line" err &&
	fb_must_fail 64 firstbad -C repo bisect run --good c1 --confidence 2 true 2>err && one_error &&
	fb_grep "confidence: .2. is not between" err
'
fb_expect 'files that are not there are wrong input' '
	fb_must_fail 64 firstbad simulate --dag nosuch --shift 1 2>err && one_error && fb_grep nosuch err &&
	fb_must_fail 64 firstbad doctor --kernel /nonexist 2>err && one_error && fb_grep /nonexist err
'
fb_expect 'what is no kernel is not booted to probe the machines' '
	for f in "$(command -v git)" plan.yaml repo; do
		fb_must_fail 64 firstbad doctor --kernel "$f" 2>err && one_error &&
		fb_grep "is no vmlinux and no bzImage" err || exit 1
	done
'
if fb_have qemu-system-x86_64; then
	fb_expect 'doctor says how to try a machine that was never tried' '
		firstbad doctor >out && for m in deterministic tcg; do
			fb_grep "^machine $m +not known +not tried yet .*firstbad doctor --kernel" out || exit 1
		done
	'
else
	fb_skip 'doctor says how to try a machine that was never tried' 'qemu-system-x86_64 is needed'
fi
fb_expect 'uncommitted changes of a script that git tracks: told, not used' '
	git init -q own &&
	for i in 1 2 3; do
		echo "#!/bin/sh" >own/b.sh && echo "test $i -lt 3" >>own/b.sh && chmod +x own/b.sh &&
		git -C own add b.sh && git -C own commit -q -m "change $i" && git -C own tag c$i || exit 1
	done &&
	firstbad -C own bisect run --good c1 --bad c3 ./b.sh >out 2>err &&
	fb_grep ! "uncommitted" err &&
	echo "exit 0" >own/b.sh &&
	firstbad -C own bisect run --fresh --good c1 --bad c3 ./b.sh >out 2>err &&
	fb_grep "using b.sh as each commit has it; your uncommitted changes are not used" err &&
	tail -n 1 out >last && fb_grep "$(git -C own rev-parse c3)" last
'

fb_done
