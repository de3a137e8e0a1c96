#!/bin/sh
# Wrong input is one clear error with the documented exit status.
. "${top_srcdir:-.}/t/test-lib.sh"
. "$top_srcdir/t/world.sh"

one_error()
{
	test "$(wc -l <err)" -eq 1 || { cat err; return 1; }
	fb_grep '^firstbad: ' err
}

world_new 5
world_make

fb_expect 'without arguments: usage on stderr, 64' '
	fb_must_fail 64 firstbad 2>err && fb_grep "^usage: firstbad" err
'
fb_expect '--help and --version succeed on stdout' '
	firstbad --help >out && fb_grep "bisect auto" out &&
	firstbad --version >out && fb_grep "^firstbad [0-9]" out
'
fb_expect 'each command has --help' '
	for c in "bisect auto" "bisect run" "bisect status" compare doctor list measure noise report simulate \
		"bisect start" "bisect good" "bisect bad" "bisect old" "bisect new" "bisect skip" \
		"bisect weak" "bisect next" "bisect log" "bisect replay" "bisect undo" "bisect reset" \
		"bisect visualize" "bisect terms" judge; do
		firstbad $c --help >out && fb_grep "^usage: firstbad $c" out || exit 1
	done
'
fb_expect 'help and version that cannot be written are 74' '
	fb_must_fail 74 firstbad --help >/dev/full && fb_must_fail 74 firstbad --version >/dev/full &&
	fb_must_fail 74 firstbad list --help >/dev/full
'
fb_expect 'an unknown command and an unknown option are 64' '
	fb_must_fail 64 firstbad frobnicate 2>err && one_error &&
	fb_must_fail 64 firstbad list --frobnicate 2>err
'
fb_expect 'what is wrong with an option is told by firstbad' '
	fb_must_fail 64 firstbad bisect run --goood c1 x 2>err && fb_grep "^firstbad: unrecognized option .--goood" err
'
fb_expect 'job takes options for what they are' '
	firstbad job --help >out && fb_grep "^usage: firstbad job DIR" out && test ! -e ./--help &&
	fb_must_fail 64 firstbad job 2>err && fb_must_fail 64 firstbad job a b 2>err &&
	fb_must_fail 64 firstbad job --nosuch 2>err && test ! -e ./--nosuch
'
fb_expect 'an unknown revision is named' '
	fb_must_fail 64 firstbad -C repo bisect auto --plan ../plan.yaml nosuch c1 2>err &&
	one_error && fb_grep nosuch err
'
fb_expect 'a revision that looks like an option is not one' '
	fb_must_fail 64 firstbad -C repo bisect auto --plan ../plan.yaml -- --all c1 2>err && one_error
'
fb_expect 'ends the wrong way round' '
	fb_must_fail 64 firstbad -C repo bisect auto --plan ../plan.yaml c1 c5 2>err && one_error
'
fb_expect 'equal ends' '
	fb_must_fail 64 firstbad -C repo bisect auto --plan ../plan.yaml c3 c3 2>err && one_error
'
fb_expect 'a wrong plan is file, line and column' '
	sed "s/min_effect/min_efect/" plan.yaml >wrong.yaml &&
	fb_must_fail 64 firstbad -C repo bisect auto --plan ../wrong.yaml c5 c1 2>err &&
	one_error && fb_grep "wrong.yaml:2:1: .*min_effect" err
'
fb_expect 'a plan that is no YAML is file, line and column' '
	printf "machine: [\n" >wrong.yaml &&
	fb_must_fail 64 firstbad -C repo bisect auto --plan ../wrong.yaml c5 c1 2>err &&
	one_error && fb_grep "wrong.yaml:[0-9]+:[0-9]+: " err
'
fb_expect 'a plan that is a FIFO is not waited for' '
	mkfifo fifo.yaml && fb_must_fail 64 firstbad -C repo measure ../fifo.yaml 2>err && one_error &&
	fb_grep "plan: .*fifo.yaml. is not a regular file" err && rm fifo.yaml
'
fb_expect 'a plan that cannot be read is named' '
	fb_must_fail 64 firstbad -C repo measure nosuch.yaml 2>err && one_error &&
	fb_grep "plan: .*nosuch.yaml.*No such file" err &&
	fb_must_fail 64 firstbad -C repo measure . 2>err && one_error && fb_grep "directory" err &&
	fb_must_fail 64 firstbad -C repo bisect auto --plan nosuch.yaml c5 c1 2>err && one_error &&
	fb_grep "nosuch.yaml" err
'
fb_expect 'no repository' '
	mkdir -p empty && fb_must_fail 64 env GIT_CEILING_DIRECTORIES="$PWD" \
		firstbad --repo /proc/self measure ../plan.yaml 2>err && one_error
'
fb_expect 'a cell that is not in the plan' '
	fb_must_fail 64 firstbad -C repo bisect auto --plan ../plan.yaml --cell testcase=fio c5 c1 2>err &&
	one_error
'
fb_expect 'nothing to resume' '
	fb_must_fail 64 firstbad -C repo bisect auto 2>err && one_error
'
fb_expect 'what lacks its program is listed as unavailable, with the package' '
	cat >tools.yaml <<-END &&
	config: defconfig
	matrix:
	  - {testcase: fsmark, fs: ext4}
	  - {testcase: sync-latency, fs: xfs}
	END
	mkdir -p bin && printf "#!/bin/sh\n" >bin/mkfs.xfs && chmod +x bin/mkfs.xfs &&
	PATH=$FB_SCRATCH/bin "$top_builddir/firstbad" measure --dry-run tools.yaml >out &&
	fb_grep "^testcase=fsmark,.*test_size=16m  UNAVAILABLE: no program .fs_mark. \(Debian package fsmark\)$" out &&
	fb_grep "^testcase=sync-latency,.*size=16k$" out && fb_grep "^2 cells in one boot \(1 unavailable\)" out &&
	PATH=$FB_SCRATCH/bin "$top_builddir/firstbad" list tests >tests &&
	fb_grep "^fsmark  .*  UNAVAILABLE: no program .fs_mark. \(Debian package fsmark\)$" tests &&
	fb_grep "^command .*METRIC VALUE.$" tests &&
	sed /sync-latency/d tools.yaml >none.yaml && fb_must_fail 69 env PATH="$FB_SCRATCH/bin" \
		"$top_builddir/firstbad" -C repo measure ../none.yaml 2>err &&
	one_error && fb_grep "no cell of the plan can be run here: no program .fs_mark." err
'

fb_expect 'measure --dry-run lists cells and runs nothing' '
	firstbad -C repo measure ../plan.yaml --dry-run >out &&
	fb_grep "^testcase=command," out && fb_grep "^1 cell in one boot, 3 boots of 1 revision, about [0-9]+ minutes? without builds$" out && test ! -s count
'
fb_expect 'every list prints, and --json of it parses' '
	for what in engines kconfigs machines metrics sessions tests; do
		firstbad list $what >out && firstbad list $what --json >out.json &&
		fb_grep "^\[" out.json || exit 1
	done &&
	firstbad list kconfigs >out && fb_grep "^fs-ext4  *ext4$" out
'
fb_expect 'a dry run shows values as they are written in a plan' '
	printf "machine: deterministic\nkconfig: [tiny, fs-ext4, null-blk]\nmatrix:\n  - {testcase: fio, fs: ext4}\n" \
		>fio.yaml && firstbad measure --dry-run fio.yaml >out && fb_grep ",rwmixread=50%," out
'
fb_expect 'a missing QEMU is 69 and names the package' '
	sed "s/machine: command/machine: deterministic\nkconfig: [tiny]/; s/command: .*/command: \"true\"/" \
		plan.yaml >det.yaml &&
	mkdir -p bin && for p in git sh env; do ln -sf "$(command -v $p)" bin/$p; done &&
	fb_must_fail 69 env PATH="$PWD/bin" "$(command -v firstbad)" -C repo measure ../det.yaml 2>err &&
	one_error
'
fb_expect 'exit statuses of the manual are those of the program' '
	sed -n "s/^\tFB_EXIT_[A-Z]* = \([0-9]*\),.*/\1/p" "$top_srcdir/src/cmd/cmd.h" | sort -n >have &&
	sed -n "/^.Sh EXIT STATUS/,/^.Sh EXAMPLES/s/^.It \([0-9]*\)$/\1/p" \
		"$top_srcdir/man/firstbad.1" | sort -n >want &&
	fb_cmp want have
'
fb_expect 'options of --help are in the manual' '
	for c in "bisect auto" "bisect run" "bisect status" compare doctor list measure noise report simulate \
		"bisect start" "bisect good" "bisect skip" "bisect weak" "bisect terms" judge; do
		firstbad $c --help | sed -n "s/^ .*--\([a-z-]*\).*/\1/p"
	done | sort -u >opts &&
	while read -r o; do
		fb_grep "Fl -$o|Fl . , Fl -$o" "$top_srcdir/man/firstbad.1" || exit 1
	done <opts
'
fb_expect 'what would be ignored is refused' '
	fb_must_fail 64 firstbad -C repo bisect auto --session x c5 c1 2>err && one_error &&
	for o in "--plan x" "--cell a=b" "--metric m" "--change any" --first-parent; do
		fb_must_fail 64 firstbad -C repo bisect auto $o 2>err && one_error &&
			fb_grep "keeps its own" err || exit 1
	done &&
	for c in "doctor x" "list tests x" "report a x" "bisect status a x" "measure ../plan.yaml x"; do
		fb_must_fail 64 firstbad -C repo $c 2>err && one_error &&
			fb_grep "too many" err || exit 1
	done
'
fb_expect 'an unknown report format is told with those that there are' '
	firstbad -C repo bisect auto -q --plan ../plan.yaml c5 c1 >out || : &&
	fb_must_fail 64 firstbad -C repo report --format nosuch 2>err && one_error &&
	fb_grep "nosuch.*json plain" err
'
fb_expect 'a session that is not there is named' '
	fb_must_fail 64 firstbad -C repo report nosuch 2>err && fb_grep nosuch err &&
	fb_must_fail 64 firstbad -C repo bisect auto --session nosuch 2>err && fb_grep nosuch err
'

fb_done
