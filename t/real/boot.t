#!/bin/sh
# Every way a boot can end, by a real kernel in QEMU that really ends that way.
#
# Needs FB_TEST_VMLINUX: a vmlinux with CONFIG_PVH, null_blk, configfs, virtio-blk and ext4
# built in, its symbol table kept. FB_TEST_MODULAR: a directory with boot/vmlinuz-* and lib/modules
# (after depmod), to try a kernel with modules too. Takes about three minutes (idle host).
. "${top_srcdir:-.}/t/test-lib.sh"

[ -r "$FB_TEST_VMLINUX" ] || fb_skip_all "FB_TEST_VMLINUX names no kernel to boot"
fb_have qemu-system-x86_64 || fb_skip_all "no qemu-system-x86_64"
[ -x "$top_builddir/t/boot-tool" ] || fb_skip_all "t/boot-tool is not built (make check)"

PATH=$top_builddir/t:$PATH
vmlinux=$(realpath "$FB_TEST_VMLINUX")
export vmlinux

# spec MACHINE CELLS [MORE]: the spec on stdout; CELLS are JSON objects of cells.
spec()
{
	cat <<-END
	{"machine": "$1", "vmlinux": "${kernel:-$vmlinux}", "bundle": "$(cat "$FB_SCRATCH/bundle")",
	 "memory_b": 1073741824, "disk_b": 268435456, "seed": "1",
	 "timeout_ns": 300000000000, "silence_ns": 60000000000 ${3:+, $3}, "cells": [$2]}
	END
}

# sh_cell CODE: a cell without a file system that runs a shell's CODE.
sh_cell()
{
	printf '{"measure": ["sh", "-c", "%s"], "timeout_s": 100}' "$1"
}

# boot END SPEC: boots; the result lies in r.json, and its end must be END.
boot()
{
	rm -rf job
	boot-tool run "$2" job >r.json
	grep -q "^  \"end\": \"$1\"" r.json || { cat r.json; tail -3 job/console.log; return 1; }
}

boot-tool bundle "$FB_SCRATCH/cache" sh hostname sleep dd mkfs.ext4 >bundle ||
	fb_die "no guest bundle"

ext4='{"fs": {"type": "ext4", "mkfs": ["mkfs.ext4", "-q", "-F"], "options": "noatime"},
	"files": [{"path": "a/b", "text": "hello"}],
	"prepare": [["dd", "if=/dev/zero", "of=zero", "bs=4k", "count=8"]],
	"measure": ["dd", "if=/dev/zero", "of=x", "bs=4k", "count=64", "oflag=sync"],
	"timeout_s": 100, "runs": 2}'
export ext4
cat >bytes <<'END'
{"measure": ["sh", "-c", "printf \"\\000\\377\\n\""], "timeout_s": 100}
END

fb_expect 'deterministic: two boots give the same bytes, another seed gives other ones' '
	spec deterministic "$ext4" >s.json
	boot ok s.json
	cp job/results.jsonl one
	boot ok s.json
	cmp one job/results.jsonl
	spec deterministic "$ext4" "\"seed\": \"2\"" | sed "s/\"seed\": \"1\",//" >s.json
	boot ok s.json
	! cmp -s one job/results.jsonl
'
# 64 of them; the journal may commit once more by itself, when its timer falls into a run.
fb_expect 'deterministic: each fsync is one flush of the device in every run' '
	spec deterministic "$ext4" >s.json
	boot ok s.json
	[ "$(grep -c "\"blk.flush_ios\": 6[45]\.0" r.json)" -eq 2 ]
'
fb_expect 'deterministic: there is no virtio device on the command line' '
	spec deterministic "$ext4" >s.json
	boot-tool args s.json . >args
	grep -qx -e -icount args
	! grep -i virtio args
'
fb_expect 'tcg: the same job runs on a virtio disk' '
	spec tcg "$ext4" >s.json
	boot ok s.json
	[ ! -e job/disk.img ] && [ ! -e job/initrd.cpio ]
'
fb_expect 'fio, sysbench and our own workload run in the guest' '
	if ! fb_have fio sysbench; then exit 0; fi
	boot-tool bundle "$FB_SCRATCH/cache" fio sysbench mkfs.ext4 >tools
	{ boot-tool job fio fs=ext4 size=1m fsync=8 nr_task=2; echo ,
	  boot-tool job sysbench-fileio fs=ext4 size=1m filenum=1 events=100; echo ,
	  boot-tool job sync-latency fs=ext4 nr_files=16..32; } >cells
	spec deterministic "$(cat cells)" | sed "s|$(cat bundle)|$(cat tools)|" >s.json
	boot ok s.json
	grep -q "fio version" r.json
	grep -q "sysbench 1" r.json
	# What is not called in the guest has a small stand-in there.
	[ "$(stat -c %s "$(cat tools)")" -lt 30000000 ]
'
fb_expect 'sysctls of a cell rule that cell only' '
	ask="for f in bytes ratio; do dd status=none if=/proc/sys/vm/dirty_\$f; done"
	{ boot-tool job dd-write fs=ext4 nr_threads=10dd size=1m dirty_bytes=64k; echo ,
	  sh_cell "$ask"; echo ,
	  sh_cell "$ask" | sed "s/^{/{\"sysctl\": [\"vm.dirty_bytes=65536\"], /"; echo ,
	  sh_cell "$ask"; } >cells
	spec deterministic "$(cat cells)" >s.json
	boot ok s.json
	grep -q "writer 10 [0-9]*.nwritten" r.json
	[ "$(grep -c "\"out\": \"0.n20.n\"" r.json)" -eq 2 ]
	grep -q "\"out\": \"65536.n0.n\"" r.json
'
if [ -d "$FB_TEST_MODULAR" ]; then
	fb_expect 'a bzImage with modules runs the same job on both kinds of machine' '
		kernel=$(echo "$FB_TEST_MODULAR"/boot/vmlinuz-*)
		for m in deterministic tcg; do
			spec $m "$ext4" "\"modules\": \"$FB_TEST_MODULAR\"" >s.json
			boot ok s.json
			# More than one for each write only where time goes by beside (tcg).
			[ "$(grep -c "\"blk.flush_ios\": [6-9][0-9].0" r.json)" -eq 2 ]
		done
	'
else
	fb_skip 'a bzImage with modules runs the same job on both kinds of machine' \
		'FB_TEST_MODULAR names no directory with boot/vmlinuz-* and lib/modules'
fi
fb_expect 'test-failed: exit status and last line of stderr are told, later cells still run' '
	spec deterministic "$(sh_cell "echo no such luck >&2; exit 3"), $(sh_cell "echo fine")" >s.json
	boot test-failed s.json
	grep -q "sh: exit status 3: no such luck" r.json
	grep -q "\"out\": \"fine.n\"" r.json
'
fb_expect 'test-failed: a step past its time limit is killed with all it started' '
	spec deterministic "{\"measure\": [\"sh\", \"-c\", \"sleep 1000 & sleep 1000\"], \"timeout_s\": 1}, \
		$(sh_cell "echo fine")" >s.json
	boot test-failed s.json
	grep -q "did not end in its time limit" r.json
	grep -q "\"out\": \"fine.n\"" r.json
'
fb_expect 'any byte of the output survives' '
	spec deterministic "$(cat bytes)" >s.json
	boot ok s.json
	grep -q "\"out\": \".u0000ÿ.n\"" r.json
'
fb_expect 'test-failed: a workload that writes garbage to the result channel' '
	spec deterministic "$(sh_cell "echo fine"), $(sh_cell "echo rubbish >/dev/ttyS1; sleep 1")" >s.json
	boot test-failed s.json
	grep -q "garbage results: results line [0-9]*: no JSON" r.json
	grep -q "\"out\": \"fine.n\"" r.json
'
fb_expect 'test-failed: a workload that kills the agent' '
	spec deterministic "$(sh_cell "echo fine"), $(sh_cell "kill -9 \$PPID; sleep 1")" >s.json
	boot test-failed s.json
	grep -q "the agent was killed by signal 9" r.json
	grep -q "\"out\": \"fine.n\"" r.json
'
fb_expect 'hang-noisy: console output without end' '
	spec deterministic "$(sh_cell "while :; do echo 0123456789012345678901234567890123456789012345678901234567890123456789; done >/dev/console")" >s.json
	boot hang-noisy s.json
	grep -q "console output without end" r.json
	[ "$(stat -c %s job/console.log)" -lt 8000000 ]
'
fb_expect 'hang-noisy: signs of life but no end' '
	spec deterministic "$(sh_cell "while :; do echo {} ; done >/dev/null")" |
		sed "s/\"timeout_ns\": [0-9]*/\"timeout_ns\": 40000000000/" >s.json
	boot hang-noisy s.json
	grep -q "not done after 40 s" r.json
'

# ud2 in sethostname(2): an oops in the process that calls it, and the kernel goes on.
fb_expect 'oops: the kernel goes on, what ended before and after is kept' '
	patch-kernel "$vmlinux" oops.elf __x64_sys_sethostname 0f0b
	kernel=$PWD/oops.elf
	spec deterministic "$(sh_cell "echo before"), $(sh_cell "hostname x || :"), $(sh_cell "echo after")" >s.json
	boot oops s.json
	grep -q "invalid opcode: 0000" r.json
	grep -q "\"out\": \"before.n\"" r.json
	grep -q "\"out\": \"after.n\"" r.json
'
fb_expect 'panic: the text is told and what ended before is kept' '
	kernel=$PWD/oops.elf
	spec deterministic "$(sh_cell "echo before"), $(sh_cell "hostname x")" "\"cmdline\": \"oops=panic\"" >s.json
	boot panic s.json
	grep -q "Kernel panic - not syncing: Fatal exception" r.json
	grep -q "\"out\": \"before.n\"" r.json
	rm oops.elf
'
fb_expect 'hang-silent: interrupts off and a loop' '
	patch-kernel "$vmlinux" hang.elf __x64_sys_sethostname faebfe
	kernel=$PWD/hang.elf
	spec deterministic "$(sh_cell "echo before"), $(sh_cell "hostname x")" |
		sed "s/\"silence_ns\": [0-9]*/\"silence_ns\": 20000000000/" >s.json
	boot hang-silent s.json
	grep -q "no sign of life for 20 s" r.json
	grep -q "\"out\": \"before.n\"" r.json
	rm hang.elf
'
fb_expect 'kill -9 of the process that runs a boot leaves no QEMU' '
	patch-kernel "$vmlinux" hang.elf __x64_sys_sethostname faebfe
	kernel=$PWD/hang.elf
	spec deterministic "$(sh_cell "hostname x")" >s.json
	boot-tool run s.json job9 >/dev/null &
	pid=$!
	for i in $(seq 500); do
		grep -qs hello job9/results.jsonl && break
		sleep 0.2
	done
	pgrep -f "kernel $kernel" >/dev/null || exit 1
	kill -9 $pid
	for i in 1 2 3 4 5 6 7 8 9 10; do
		pgrep -f "kernel $kernel" >/dev/null || break
		sleep 0.2
	done
	if pgrep -f "kernel $kernel"; then
		exit 1
	fi
	rm hang.elf
'

# lidt of an empty table, then int3: a triple fault, which resets the machine without a word.
fb_expect 'panic: a reset after the agent spoke' '
	patch-kernel "$vmlinux" triple.elf __x64_sys_sethostname 0f011d01000000cc00000000000000000000
	kernel=$PWD/triple.elf
	spec deterministic "$(sh_cell "echo before"), $(sh_cell "hostname x")" >s.json
	boot panic s.json
	grep -q "rebooted without a panic message" r.json
	grep -q "\"out\": \"before.n\"" r.json
	rm triple.elf
'
fb_expect 'boot-failed: a reset before the agent spoke (reboot loop)' '
	patch-kernel "$vmlinux" triple.elf rest_init 0f011d01000000cc00000000000000000000
	kernel=$PWD/triple.elf
	spec deterministic "$(sh_cell "echo x")" >s.json
	boot boot-failed s.json
	grep -q "rebooted before the agent spoke" r.json
	rm triple.elf
'
fb_expect 'boot-failed: a kernel that never says a word' '
	patch-kernel "$vmlinux" mute.elf start_kernel faf4ebfd
	kernel=$PWD/mute.elf
	spec deterministic "$(sh_cell "echo x")" |
		sed "s/\"silence_ns\": [0-9]*/\"silence_ns\": 5000000000/" >s.json
	boot boot-failed s.json
	grep -q "the agent never spoke; the kernel wrote nothing" r.json
	rm mute.elf
'
fb_expect 'panic: a kernel that finds no init says so before the agent could' '
	kernel=$vmlinux
	spec deterministic "$(sh_cell "echo x")" "\"cmdline\": \"rdinit=/nothing\"" >s.json
	boot panic s.json
	grep -q "Unable to mount root fs\|No working init" r.json
'
fb_expect 'a full disk is an error of the host, not an end of this boot' '
	if [ "$(id -u)" -ne 0 ]; then exit 0; fi
	spec deterministic "$(sh_cell "echo x")" >s.json
	mkdir -p small
	unshare -m sh -c "
		mount -t tmpfs -o size=1m none small || exit 1
		boot-tool run s.json small/job >r.json 2>err; echo \$? >status"
	test "$(cat status)" = 2 && test ! -s r.json
	grep -q "No space left on device" err
'
fb_expect 'unusable-here: without QEMU, and the package is named' '
	spec deterministic "$(sh_cell "echo x")" >s.json
	mkdir -p nopath
	PATH=$PWD/nopath "$top_builddir/t/boot-tool" run s.json job >r.json
	grep -q "\"end\": \"unusable-here\"" r.json
	grep -q "qemu-system-x86" r.json
'
fb_expect 'kvm: the probe boot decides, its verdict is kept, and a boot obeys it' '
	boot-tool probe kvm "$XDG_CACHE_HOME/firstbad" "$vmlinux" "$(cat bundle)" >verdict
	cat verdict
	spec kvm "$ext4" >s.json
	case $(cat verdict) in
	"1 "*)
		boot ok s.json ;;
	"0 /dev/kvm"*)
		boot unusable-here s.json ;;
	"0 "*)
		boot-tool probe kvm "$XDG_CACHE_HOME/firstbad" >again
		cmp verdict again
		boot unusable-here s.json ;;
	*)
		exit 1 ;;
	esac
'
fb_done
