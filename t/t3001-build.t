#!/bin/sh
# Protects building: what the image cache holds after success, failure, kill and a full disk.
. "${top_srcdir:-.}/t/test-lib.sh"

tool=$top_builddir/t/build-tool
test -x "$tool" || fb_die "t/build-tool is not built"
for fb_need in make gcc ld objcopy flex bison bc git; do
	command -v "$fb_need" >/dev/null || fb_skip_all "needs $fb_need"
done

# tree DIR: a kernel tree as far as a build sees one. The vmlinux is a small ELF file with a PVH
# note that holds the stamps it was given.
tree()
{
	mkdir -p "$1/scripts" "$1/kernel" &&
	cat >"$1/Makefile" <<'EOF' &&
VERSION = 6
PATCHLEVEL = 1
SUBLEVEL = 7
EXTRAVERSION = -rc1
KERNELRELEASE = unset
S := $(CURDIR)
all: vmlinux
tinyconfig defconfig:
	echo $@ >>$(O)/configured
	printf 'CONFIG_$@=y\nCONFIG_BASE=y\n' >$(O)/.config
olddefconfig:
	echo $@ >>$(O)/configured
	awk -v dir=$(S) -f $(S)/scripts/conf.awk $(S)/Kconfig $(O)/.config >$(O)/.config.new
	mv $(O)/.config.new $(O)/.config
# As kconfig does: the names of all that it read.
$(O)/include/config/auto.conf.cmd:
	mkdir -p $(O)/include/config
	{ printf 'deps_config := \\\n'; sed -n 's/^source \(.*\)/\t\1 \\/p' $(S)/Kconfig; \
		printf '\tKconfig \\\n\n'; } >$@
FLAGS = $(KCFLAGS) $(CFLAGS) -I$(S) -DRELEASE='"$(KERNELRELEASE).$(SUBLEVEL)$(EXTRAVERSION)"' \
	-DSTAMP='"$(KBUILD_BUILD_TIMESTAMP) $(KBUILD_BUILD_USER)"'
$(O)/main.o: kernel/main.c kernel/main.h
	test ! -e $(S)/slow || { printf half >$@; sleep "$$(cat $(S)/slow)"; }
	echo compile >>$(O)/compiled
	cd $(O) && $(CC) $(FLAGS) -O2 -fno-asynchronous-unwind-tables -ffreestanding \
		-c $(S)/kernel/main.c -o main.o
$(O)/vmlinux: $(O)/include/config/auto.conf.cmd $(O)/main.o
	$(CC) -nostdlib -static -Wl,--build-id -Wl,-e,start -o $@ $(O)/main.o
vmlinux: $(O)/vmlinux
modules: vmlinux
	$(CC) $(FLAGS) -O2 -c $(S)/kernel/mod.c -o $(O)/mod.ko
modules_install:
	mkdir -p $(INSTALL_MOD_PATH)/lib/modules/$(KERNELRELEASE)/kernel
	cp $(O)/mod.ko $(INSTALL_MOD_PATH)/lib/modules/$(KERNELRELEASE)/kernel/
	ln -s $(O) $(INSTALL_MOD_PATH)/lib/modules/$(KERNELRELEASE)/build
bzImage: vmlinux
	mkdir -p $(O)/arch/x86/boot && cp $(O)/vmlinux $(O)/arch/x86/boot/bzImage
.PHONY: all vmlinux modules bzImage
EOF
	# Known symbols keep the value that was set last; CONFIG_NEVER cannot be switched on.
	# "CONFIG_X $(shell,cat $(srctree)/FILE)" has a default.
	cat >"$1/scripts/conf.awk" <<'EOF' &&
function know(line,	word, file) {
	split(line, word, " ")
	known[word[1]] = 1
	if (!index(line, "(srctree)/"))
		return
	file = substr(line, index(line, "(srctree)/") + 10)
	sub(/\).*/, "", file)
	if ((getline value[word[1]] <(dir "/" file)) < 0)
		exit 1
}
NR == FNR && $1 == "source" {
	while ((getline line <(dir "/" $2)) > 0)
		know(line)
	next
}
NR == FNR { know($0); next }
/^# CONFIG_[A-Z_0-9]* is not set$/ { value[$2] = "" }
/^CONFIG_/ { i = index($0, "="); value[substr($0, 1, i - 1)] = substr($0, i + 1) }
END {
	for (s in known)
		if (s != "CONFIG_NEVER" && value[s] != "")
			print s "=" value[s] | "sort"
}
EOF
	printf 'CONFIG_%s\n' BASE tinyconfig defconfig FS SIZE NEVER PVH MODULES MOD >"$1/Kconfig" &&
	cat >"$1/kernel/main.h" <<'EOF' &&
#define WORK 3
EOF
	cat >"$1/kernel/main.c" <<'EOF' &&
#include "kernel/main.h"
#ifndef NO_PVH
__asm__(".pushsection .note.Xen,\"a\",@note; .long 4,8,18; .asciz \"Xen\"; .quad start; .popsection");
#endif
__attribute__((used)) const char banner[] = RELEASE STAMP __FILE__;
int counter;
__attribute__((used)) const char ballast[100000] = { 1 };
void start(void);
/* do the work */
void start(void) { counter += WORK; for (;;); }
EOF
	cat >"$1/kernel/mod.c" <<'EOF'
void helper(void);
void init(void);
void init(void) { helper(); }
EOF
}

# spec NAME KEY=JSON...: NAME.json, a spec with the defaults below.
spec()
{
	spec_name=$1
	shift
	src="\"$PWD/src\"" objdir="\"$PWD/obj\"" cache="\"$PWD/cache\"" tree_id='"1"' jobs=2 timeout_ns=0
	config_base='"tinyconfig"' fragments="[\"$PWD/tiny.config\"]" fixups='[]'
	for spec_arg; do
		case ${spec_arg%%=*} in
		src | objdir | cache | tree_id | timeout_ns | config_base | fragments | fixups) ;;
		*) echo "spec: $spec_arg"; return 1 ;;
		esac
		eval "${spec_arg%%=*}=\${spec_arg#*=}"
	done
	cat >"$spec_name.json" <<EOF
{"src": $src, "objdir": $objdir, "cache": $cache, "tree_id": $tree_id, "jobs": $jobs,
 "timeout_ns": $timeout_ns, "config_base": $config_base, "fragments": $fragments, "fixups": $fixups}
EOF
}

# build NAME [STATUS]: run NAME.json; the result is in NAME.out, errors in NAME.err.
build()
{
	rc=0
	"$tool" run "$1.json" >"$1.out" 2>"$1.err" || rc=$?
	test "$rc" -eq "${2:-0}" || { echo "status $rc"; cat "$1.out" "$1.err"; return 1; }
}

# get NAME KEY: a field of a result, without quotes. No key occurs twice.
get()
{
	sed -n 's/^ *"'"$2"'": "\{0,1\}\(.*\)$/\1/p' "$1.out" | sed 's/,$//; s/"$//'
}

# nothing_half_made: the cache holds whole entries and nothing else.
nothing_half_made()
{
	for entry in cache/images/*; do
		test -e "$entry" || continue
		case $entry in
		*/tmp.*) echo "left over: $entry"; return 1 ;;
		esac
		test "$(head -c 1 "$entry/result.json")$(tail -n 1 "$entry/result.json")" = "{}"
	done
}

# no_process: nothing that a build started still runs (their directory is our source tree).
no_process()
{
	for try in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
		left=$(find /proc -maxdepth 2 -name cwd -lname "$FB_SCRATCH/src*" 2>/dev/null || :)
		test -n "$left" || return 0
		sleep 0.1
	done
	echo "$left"
	return 1
}

sum_tree()
{
	(cd "$1" && find . -type f -exec sha256sum {} + | sort -k 2)
}

tree src || fb_die "no fake tree"
printf '# what: test\nCONFIG_FS=y\nCONFIG_PVH=y\nCONFIG_SIZE=12\n# CONFIG_MODULES is not set\n' >tiny.config

fb_expect 'a build ends in the cache, whole' '
	spec a && build a &&
	test "$(get a outcome)" = ok &&
	test "$(get a cached)" = false &&
	test -s "$(get a vmlinux)" &&
	test -s "$(get a log)" &&
	fb_grep "^CONFIG_FS=y" "$(get a config)" &&
	test "$(get a pvh)" = true &&
	test "$(get a bzimage)" = null &&
	test "$(get a modules)" = null &&
	test "$(get a release)" = 6.1.0-firstbad &&
	get a toolchain | grep "gcc version .*, GNU ld" &&
	nothing_half_made
'
fb_expect 'the kept vmlinux has no symbols left' '
	nm "$(get a vmlinux)" 2>&1 | grep "no symbols"
'
fb_expect 'the second build is taken from the cache, without the source or the object directory' '
	cp a.json b.json && mv src src.away && mv obj obj.away && build b &&
	test "$(get b cached)" = true && test "$(get b signature)" = "$(get a signature)"
	rc=$?; mv src.away src && mv obj.away obj && exit $rc
'
fb_expect 'lookup finds what is there and nothing else' '
	"$tool" lookup a.json && spec no tree_id="\"no\"" && fb_must_fail 2 "$tool" lookup no.json
'
fb_expect 'a damaged entry is built again' '
	rm "$(get a vmlinux)" && build b && test "$(get b cached)" = false &&
	test -s "$(get b vmlinux)"
'

fb_expect 'the source tree is as it was' '
	tree fresh && sum_tree fresh >want && sum_tree src >got && cmp want got
'

fb_expect 'another place of source and objects makes the same image' '
	mkdir -p other/place && tree other/place/src &&
	spec c tree_id="\"c\"" src="\"$PWD/other/place/src\"" objdir="\"$PWD/other/o\"" && build c &&
	test "$(get c signature)" = "$(get a signature)" &&
	test "$(get c key)" != "$(get a key)"
'
fb_expect 'a comment, or a new SUBLEVEL, makes the same image' '
	sed -i "s/do the work/do it, and more/; \$s/\$/ \/* end *\//" src/kernel/main.c &&
	sed -i "s/^SUBLEVEL = 7/SUBLEVEL = 8/" src/Makefile &&
	spec d tree_id="\"d\"" && build d && test "$(get d cached)" = false &&
	test "$(get d signature)" = "$(get a signature)"
'
fb_expect 'changed code makes another image, also in a warm object directory' '
	sed -i "s/WORK 3/WORK 4/" src/kernel/main.h &&
	spec e tree_id="\"e\"" && build e &&
	test "$(get e signature)" != "$(get a signature)"
'
fb_expect 'what the user has in the environment does not reach the image' '
	CFLAGS=-DWORK=9 KCFLAGS=-DX ARCH=arm MAKEFLAGS=-n KBUILD_BUILD_USER=me CROSS_COMPILE=no- \
	LOCALVERSION=-me KBUILD_OUTPUT=/nonexistent CC=false \
	build f0 2>/dev/null || :
	spec f tree_id="\"f\"" &&
	CFLAGS=-DWORK=9 KCFLAGS=-DX ARCH=arm MAKEFLAGS=-n KBUILD_BUILD_USER=me CROSS_COMPILE=no- \
	LOCALVERSION=-me KBUILD_OUTPUT=/nonexistent CC=false \
	build f && test "$(get f signature)" = "$(get e signature)"
'
fb_expect 'modules are installed, without links to this host, and are part of the signature' '
	printf "CONFIG_MODULES=y\nCONFIG_MOD=m\nCONFIG_PVH=y\n" >mod.config &&
	spec g tree_id="\"g\"" fragments="[\"$PWD/mod.config\"]" && build g &&
	test -s "$(get g modules)/lib/modules/6.1.0-firstbad/kernel/mod.ko" &&
	test ! -e "$(get g modules)/lib/modules/6.1.0-firstbad/build" &&
	sed -i "s/helper/hinder/" src/kernel/mod.c &&
	spec h tree_id="\"h\"" fragments="[\"$PWD/mod.config\"]" && build h &&
	test "$(get g signature)" != "$(get h signature)"
'
fb_expect 'without a PVH note there is a bzImage' '
	sed -i "1i #define NO_PVH" src/kernel/main.c &&
	spec i tree_id="\"i\"" && build i && test "$(get i pvh)" = false &&
	test -s "$(get i bzimage)" && sed -i 1d src/kernel/main.c
'
fb_expect 'defconfig and a file are bases too, and fragments win over them' '
	spec j tree_id="\"j\"" config_base="\"defconfig\"" && build j &&
	fb_grep "^CONFIG_defconfig=y" "$(get j config)" &&
	printf "CONFIG_SIZE=7\nCONFIG_FS=n\nCONFIG_BASE=y\n" >base &&
	spec k tree_id="\"k\"" config_base="\"$PWD/base\"" && build k &&
	fb_grep "^CONFIG_SIZE=12" "$(get k config)" &&
	fb_grep "^CONFIG_BASE=y" "$(get k config)"
'

# The config of the last step.
cp -r src src.before
# config_made ID, config_kept ID: build tree ID; was the config made anew?
config_made()
{
	: >obj/configured
	spec r tree_id="\"r-$1\"" && build r && test -s obj/configured
}
config_kept()
{
	: >obj/configured
	spec r tree_id="\"r-$1\"" && build r && test ! -s obj/configured
}
fb_expect 'the config is kept while the commits differ in other files' '
	spec r tree_id="\"r-1\"" && build r && cp "$(get r config)" want && was=$(get r signature) &&
	sed -i "s/WORK 4/WORK 7/" src/kernel/main.h && config_kept 2 && cmp want "$(get r config)" &&
	test "$(get r signature)" != "$was"
'
fb_expect 'it is made anew when a Kconfig file changes, whatever its time stamp says' '
	cp -p src/Kconfig stamp && echo CONFIG_ADDED >>src/Kconfig && touch -r stamp src/Kconfig &&
	config_made 3 && config_kept 4 && echo CONFIG_ADDED=y >>tiny.config && config_made 5 &&
	fb_grep "^CONFIG_ADDED=y" "$(get r config)"
'
fb_expect 'it is made anew when a file changes that Kconfig sources under another name' '
	echo "source kernel/Menu.in" >>src/Kconfig && echo CONFIG_MENU >src/kernel/Menu.in &&
	config_made 6 && config_kept 7 && echo CONFIG_OTHER >>src/kernel/Menu.in && config_made 8
'
fb_expect 'it is made anew when a script or a makefile changes' '
	echo "# more" >>src/scripts/conf.awk && config_made 9 && config_kept 10 &&
	echo "# more" >>src/Makefile && config_made 11 && config_kept 12 &&
	mkdir -p src/arch/x86/configs && echo >src/arch/x86/configs/tiny.config && config_made 13
'
fb_expect 'it is made anew when a file changes that a command in Kconfig reads' '
	echo "CONFIG_LEVEL \$(shell,cat \$(srctree)/kernel/level)" >>src/Kconfig &&
	echo 3 >src/kernel/level && config_made 14 && config_kept 15 &&
	echo 4 >src/kernel/level && config_made 16 && fb_grep "^CONFIG_LEVEL=4" "$(get r config)"
'
fb_expect 'it is made anew when somebody changed or removed it' '
	config_kept 17 && echo "CONFIG_FS=n" >>obj/.config && config_made 18 &&
	fb_grep "^CONFIG_FS=y" "$(get r config)" && rm obj/.config && config_made 19
'
fb_expect 'it is made anew when a fixup changes Kconfig, and again without it' '
	{ cat src/Kconfig; echo CONFIG_FIXED; } >fixed &&
	{ diff -u --label a/Kconfig --label b/Kconfig src/Kconfig fixed >kconfig.patch || :; } &&
	: >obj/configured && spec r tree_id="\"r-20\"" fixups="[\"$PWD/kconfig.patch\"]" && build r &&
	test -s obj/configured && config_made 21
'
fb_expect 'it is always made anew where nobody can tell what a command reads' '
	config_kept 22 && echo "CONFIG_GIT \$(shell,git -C \$(srctree) describe)" >>src/Kconfig &&
	config_made 23 && config_made 24
'
fb_expect 'a commit that does not build does not keep a config that nobody has read' '
	cp src.before/Kconfig src/ && echo CONFIG_ADDED >>src/Kconfig && config_made 25 &&
	echo "int broken(void) { return nothing_like_that; }" >>src/kernel/main.c &&
	echo CONFIG_LATE >>src/Kconfig && spec r tree_id="\"r-26\"" && build r 1 &&
	cp src.before/kernel/main.c src/kernel/ && config_made 27
'
rm -rf src && mv src.before src
printf '# what: test\nCONFIG_FS=y\nCONFIG_PVH=y\nCONFIG_SIZE=12\n# CONFIG_MODULES is not set\n' >tiny.config

# Failures of the commit.
fb_expect 'a commit that does not build is a kept outcome with the first error line' '
	cp src/kernel/main.c main.c.good &&
	echo "int broken(void) { return nothing_like_that; }" >>src/kernel/main.c &&
	spec l tree_id="\"l\"" && build l 1 && test "$(get l outcome)" = failed &&
	get l cause | grep "^kernel/main.c:[0-9]*:[0-9]*: error: .nothing_like_that. undeclared" &&
	test -s "$(get l log)" && build l 1 && test "$(get l cached)" = true &&
	cp main.c.good src/kernel/main.c && nothing_half_made
'
fb_expect 'the next commit builds in the same object directory' '
	spec m tree_id="\"m\"" && build m
'
fb_expect 'a symbol that cannot be had is the cause, with its name and place' '
	printf "CONFIG_PVH=y\nCONFIG_NEVER=y\n" >never.config &&
	spec n tree_id="\"n\"" fragments="[\"$PWD/never.config\"]" && build n 1 &&
	get n cause | grep -F "CONFIG_NEVER=y (never.config:2)"
'
fb_expect 'an optional symbol may be missing' '
	printf "CONFIG_PVH=y\nCONFIG_NEVER=y # optional\n" >never.config &&
	spec o tree_id="\"o\"" fragments="[\"$PWD/never.config\"]" && build o
'
fb_expect 'a directory that is no kernel tree does not build' '
	mkdir -p empty && spec p tree_id="\"p\"" src="\"$PWD/empty\"" objdir="\"$PWD/obj-p\"" &&
	build p 1 && get p cause | grep "no kernel tree"
'

# Failures of ours are not kept.
fb_expect 'a missing fragment, a wrong one and a built-in tree are errors' '
	spec q tree_id="\"q\"" fragments="[\"$PWD/none.config\"]" && build q 17 &&
	fb_grep "none.config" q.err &&
	printf "CONFIG_FS\n" >wrong.config &&
	spec q tree_id="\"q\"" fragments="[\"$PWD/wrong.config\"]" && build q 12 &&
	fb_grep "wrong.config:1: expected CONFIG_NAME=value" q.err &&
	spec q tree_id="\"q\"" && touch src/.config && build q 12 && rm src/.config &&
	fb_grep mrproper q.err && build q
'
fb_expect 'files that are not ours in the object directory are not touched' '
	mkdir -p theirs && echo precious >theirs/file && spec r tree_id="\"r\"" objdir="\"$PWD/theirs\"" &&
	build r 12 && test "$(cat theirs/file)" = precious
'
fb_expect 'a missing tool is named with its package' '
	mkdir -p few && for p in sh awk gcc cc as ld objcopy make bison bc git cat rm mkdir cp mv ln \
		printf test sleep echo sort; do
		full=$(command -v "$p") && case $full in /*) ln -sf "$full" few/ ;; esac; done
	spec s tree_id="\"s\"" && PATH=$PWD/few && export PATH &&
	rc=0 && "$tool" run s.json >s.out 2>s.err || rc=$?
	case $rc in 17) ;; *) echo "status $rc"; exit 1 ;; esac
	while read -r line; do case $line in *"flex"*"package flex"*) exit 0 ;; esac; done <s.err
	exit 1
'
fb_expect 'a time limit ends the build with all its processes, and nothing is kept' '
	echo 30 >src/slow && rm -f obj/main.o && spec t tree_id="\"t\"" timeout_ns=1500000000 &&
	build t 15 && no_process && nothing_half_made && fb_must_fail 2 "$tool" lookup t.json &&
	rm src/slow && build t
'

# kill_after SECONDS NAME: start building NAME.json and kill firstbad's process then.
kill_after()
{
	"$tool" run "$2.json" >/dev/null 2>&1 &
	pid=$!
	sleep "$1"
	kill -9 $pid
	wait $pid 2>/dev/null || :
}
fb_expect 'kill -9 at six moments leaves no process, and the next build is right' '
	echo 0.4 >src/slow && sed -i "s/WORK 4/WORK 5/" src/kernel/main.h
	for at in 0.03 0.1 0.2 0.3 0.45 0.6; do
		rm -f obj/main.o && spec u tree_id="\"u$at\"" && kill_after "$at" u && no_process
		sum_tree src >got.src
		echo 0 >src/slow
		build u && nothing_half_made
		get u signature >>u.signatures
		echo 0.4 >src/slow
	done
	rm src/slow
	test "$(sort -u u.signatures | wc -l)" -eq 1
'
fb_expect 'half an object that a killed compiler left is not linked' '
	echo 20 >src/slow && sed -i "s/WORK 5/WORK 6/" src/kernel/main.h && spec v tree_id="\"v\"" &&
	kill_after 2 v && test "$(cat obj/main.o)" = half && no_process && rm src/slow && build v && test "$(get v outcome)" = ok
'
fb_expect 'two builds at once in one object directory wait for each other' '
	echo 0.5 >src/slow && rm -f obj/main.o && spec w1 tree_id="\"w1\"" && spec w2 tree_id="\"w2\"" &&
	{ build w1 & pid=$!; } && build w2 && wait $pid && rm src/slow &&
	test "$(get w1 signature)" = "$(get w2 signature)" && nothing_half_made
'

# Fixups.
git init -q fix && cp -r src/kernel fix/ && (cd fix && git add . && git commit -qm a &&
	sed -i 's/counter += WORK/counter -= WORK/' kernel/main.c && echo 'int added;' >kernel/added.h &&
	git add . && git commit -qm b && git format-patch -q -o .. -1 && git checkout -q HEAD^) ||
	fb_die "no fixup"
mv 0001-b.patch good.patch
fb_expect 'a fixup is in the image and not in the tree afterwards' '
	sum_tree src >want && spec x tree_id="\"x\"" && build x &&
	spec y tree_id="\"y\"" fixups="[\"$PWD/good.patch\"]" && build y &&
	test "$(get x signature)" != "$(get y signature)" &&
	sum_tree src >got && cmp want got
'
fb_expect 'what a fixup changes is not compiled again at the next step' '
	: >obj/compiled && spec y2 tree_id="\"y2\"" fixups="[\"$PWD/good.patch\"]" && build y2 &&
	test ! -s obj/compiled && test "$(get y2 signature)" = "$(get y signature)"
'
fb_expect 'without the fixup it is compiled again' '
	spec x2 tree_id="\"x2\"" && build x2 &&
	test "$(get x2 signature)" = "$(get x signature)"
'
fb_expect 'a fixup that is in the tree already is left out' '
	(cd src && git apply ../good.patch) && spec z tree_id="\"z\"" fixups="[\"$PWD/good.patch\"]" &&
	sum_tree src >want && build z && sum_tree src >got && cmp want got &&
	test "$(get z signature)" = "$(get y signature)" &&
	(cd src && git apply -R ../good.patch)
'
fb_expect 'a fixup that does not apply is named; an optional one is left out' '
	sed "/^[-+]void start/s/counter/number/" good.patch >bad.patch &&
	spec aa tree_id="\"aa\"" fixups="[\"$PWD/good.patch\", \"$PWD/bad.patch\"]" && sum_tree src >want &&
	build aa 1 && get aa cause | grep "^fixup .bad.patch. does not apply" &&
	sum_tree src >got && cmp want got &&
	sed "1i Firstbad-Fixup: optional" bad.patch >opt.patch &&
	spec ab tree_id="\"ab\"" fixups="[\"$PWD/opt.patch\"]" && build ab &&
	test "$(get ab signature)" = "$(get x signature)"
'
fb_expect 'kill -9 with a fixup in place: the next build takes it back' '
	sum_tree src >want && echo 20 >src/slow && spec u tree_id="\"ac\"" fixups="[\"$PWD/good.patch\"]" &&
	kill_after 2 u && grep -q "counter -= WORK" src/kernel/main.c && no_process && rm src/slow &&
	spec ad tree_id="\"ad\"" && build ad && sum_tree src >got && cmp want got &&
	test "$(get ad signature)" = "$(get x signature)"
'

if [ "$(id -u)" -eq 0 ] && mkdir -p probe && mount -t tmpfs -o size=64k probe probe 2>/dev/null; then
	umount probe
	fb_expect 'a full cache disk is one clear error and leaves nothing' '
		mkdir -p small && mount -t tmpfs -o size=64k small small && trap "umount -l small" EXIT
		spec ba tree_id="\"ba\"" cache="\"$PWD/small\"" && CCACHE_DIR=$PWD/ccache build ba 13 &&
		fb_grep "No space left on device" ba.err && ls -A small/images >left && test ! -s left
	'
	fb_expect 'a full object disk is ours, not the commit'"'"'s' '
		mkdir -p small && mount -t tmpfs -o size=64k small small && trap "umount -l small" EXIT
		spec bb tree_id="\"bb\"" objdir="\"$PWD/small/o\"" && build bb 13 &&
		fb_grep "No space left on device" bb.err && nothing_half_made &&
		fb_must_fail 2 "$tool" lookup bb.json
	'
else
	fb_skip 'a full cache disk is one clear error and leaves nothing' 'cannot mount here'
	fb_skip 'a full object disk is ours, not the commit'"'"'s' 'cannot mount here'
fi
fb_done
