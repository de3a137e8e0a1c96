#!/bin/sh
# A config whose kernel builds but cannot boot: the commit is skipped with the cause, an end
# is "cannot be measured" (status 14); never a verdict, never a lab failure.
#
# Uses the history and the config that bisect.t left.
. "${top_srcdir:-.}/t/test-lib.sh"

fb_have qemu-system-x86_64 gcc flex bison bc || fb_skip_all "no qemu, gcc, flex, bison or bc"
: "${FB_REAL_CACHE:=$FB_SCRATCH/cache}"
XDG_CACHE_HOME=$FB_REAL_CACHE/firstbad-real
repo=$FB_REAL_CACHE/firstbad-demo/linux.git
[ -r "$XDG_CACHE_HOME/config" ] && [ -d "$repo" ] ||
	fb_skip_all "no kernel config that booted: bisect.t leaves one"
export repo

# Without support for an initramfs there is nothing that the kernel could run.
{
	grep -v '^CONFIG_BLK_DEV_INITRD=\|^CONFIG_RD_\|^CONFIG_INITRAMFS' "$XDG_CACHE_HOME/config"
	echo '# CONFIG_BLK_DEV_INITRD is not set'
} >noboot.config
{
	echo "config: $PWD/noboot.config"
	grep -v '^kconfig:' "$top_srcdir/t/real/plan.yaml"
} >plan.yaml
good=$(cat "$XDG_CACHE_HOME/good")
bad=$(cat "$XDG_CACHE_HOME/bad")
export good bad

fb_expect 'a kernel that cannot boot is said so, with its last words' '
	fb_must_fail 14 firstbad -C "$repo" bisect auto -q --plan "$PWD/plan.yaml" "$bad" "$good" >out 2>err
	cat out err
	fb_grep "boot-failed|panic" out
	fb_grep "VFS|root" out
'
fb_expect 'it is no lab failure, and leaves no process' '
	firstbad -C "$repo" bisect status --json >status
	cat status
	fb_grep ! "infra" status
	! pgrep -f "qemu-system-x86_64.*$FB_SCRATCH"
'
fb_done
