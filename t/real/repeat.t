#!/bin/sh
# One image, one plan, one seed: every digit and counter is the same in each boot of the
# deterministic machine, whatever else this host does meanwhile.
#
# Needs FB_TEST_VMLINUX (see boot.t). FB_TEST_BOOTS: how many boots (default 6).
. "${top_srcdir:-.}/t/test-lib.sh"

[ -r "$FB_TEST_VMLINUX" ] || fb_skip_all "FB_TEST_VMLINUX names no kernel to boot"
fb_have qemu-system-x86_64 fio mkfs.ext4 || fb_skip_all "no qemu-system-x86_64, fio or mkfs.ext4"
[ -x "$top_builddir/t/boot-tool" ] || fb_skip_all "t/boot-tool is not built (make check)"

PATH=$top_builddir/t:$PATH
boots=${FB_TEST_BOOTS:-6}
boot-tool bundle cache fio mkfs.ext4 mkfs.btrfs >bundle 2>err || boot-tool bundle cache fio mkfs.ext4 >bundle
{
	boot-tool job fio fs=ext4 size=2m fsync=8 nr_task=2
	# Where btrfs is there, its threads too.
	if fb_have mkfs.btrfs nm && nm "$FB_TEST_VMLINUX" | grep -q " btrfs_fs_type\$"; then
		echo ,
		boot-tool job fio fs=btrfs size=2m fsync=8
	fi
} >cells
cat >s.json <<END
{"machine": "deterministic", "vmlinux": "$(realpath "$FB_TEST_VMLINUX")", "bundle": "$(cat bundle)",
 "memory_b": 1073741824, "disk_b": 536870912, "seed": "1", "timeout_ns": 600000000000,
 "silence_ns": 120000000000, "cells": [$(cat cells)]}
END
export boots

fb_expect "$boots boots of one seed are bit-identical, every second one beside a busy core" '
	for i in $(seq "$boots"); do
		busy=
		if [ $((i % 2)) -eq 0 ]; then
			sh -c "while :; do :; done" &
			busy=$!
		fi
		boot-tool run s.json "job.$i" >r.json || exit 1
		[ -z "$busy" ] || kill $busy
		grep "^  \"end\": \"ok\"" r.json || { cat r.json; exit 1; }
		sha256sum <"job.$i/results.jsonl" >>sums
		sha256sum <"job.$i/console.log" >>consoles
	done
	sort sums | uniq -c
	[ "$(sort -u sums | wc -l)" -eq 1 ]
	[ "$(sort -u consoles | wc -l)" -eq 1 ]
'
fb_expect 'five seeds are five results' '
	for i in 2 3 4 5; do
		sed "s/\"seed\": \"1\"/\"seed\": \"$i\"/" s.json >s2.json
		boot-tool run s2.json "seed.$i" >r.json || exit 1
		grep "^  \"end\": \"ok\"" r.json || exit 1
		sha256sum <"seed.$i/results.jsonl" >>seeds
	done
	head -n 1 sums >>seeds
	[ "$(sort -u seeds | wc -l)" -eq 5 ]
'
fb_done
