/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The machines' command lines. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/boot/internal.h"
#include "src/util/clock.h"
#include "src/util/proc.h"
#include "src/util/util.h"

/*
 * loglevel 7: the texts of oopses come at level 4 and below, the banner at 5; without them a
 * panic looks like a silent hang. panic=-1 reboots at once, which -no-reboot turns into the
 * end of QEMU. earlycon shows what dies before the console is there.
 */
#define CMDLINE                                                                                    \
	"console=ttyS0,115200 earlycon=uart8250,io,0x3f8 loglevel=7 printk.time=1 panic=-1 "       \
	"rdinit=/init null_blk.nr_devices=0"

/*
 * Addresses and layouts must not differ from boot to boot. Calibrating the local APIC's timer
 * is two busy waits of 100 ms whose every PAUSE leaves QEMU's generated code: 2 to 8 s of
 * wall time in each boot. The HPET serves as well and needs none.
 */
#define CMDLINE_DETERMINISTIC " nokaslr norandmaps nolapic_timer"

const char *fb_cpu_model(enum fb_machine machine)
{
	switch (machine) {
	case FB_MACHINE_DETERMINISTIC:
		/* The host's random numbers must not get in. */
		return "max,-rdrand,-rdseed";
	case FB_MACHINE_TCG:
		return "max";
	case FB_MACHINE_KVM:
		return "host";
	case FB_MACHINE_COMMAND:
		break;
	}
	return NULL;
}

static void add(char ***argv, const char *a, const char *b)
{
	fb_strv_add(argv, a);
	if (b)
		fb_strv_add(argv, b);
}

static bool has_direct_io(const char *dir)
{
	FB_CLEANUP(fb_freep) char *path = fb_xasprintf("%s/" FB_BOOT_DISK, dir);
	int fd = open(path, O_RDONLY | O_DIRECT | O_CLOEXEC);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* The parts that make the machine kinds different. */
static void add_kind(const struct fb_boot_spec *spec, const char *dir, char ***argv)
{
	FB_CLEANUP(fb_freep) char *seed = NULL, *cpus = NULL;

	switch (spec->machine) {
	case FB_MACHINE_DETERMINISTIC:
		/*
		 * The facts are in DESIGN.md 5.3: time is counted instructions, and no
		 * virtio device, whose completions come in host time. QEMU takes 64 bits
		 * of seed; it feeds what guests could ask random numbers from.
		 */
		add(argv, "-accel", "tcg");
		add(argv, "-icount", "shift=1,sleep=off");
		add(argv, "-rtc", "base=2026-01-01,clock=vm");
		seed = fb_xasprintf("%llu", (unsigned long long)spec->seed);
		add(argv, "-seed", seed);
		add(argv, "-smp", "1");
		return;
	case FB_MACHINE_TCG:
	case FB_MACHINE_KVM:
		add(argv, "-accel", spec->machine == FB_MACHINE_KVM ? "kvm" : "tcg");
		cpus = fb_xasprintf("%u", spec->cpus ? spec->cpus : 1);
		add(argv, "-smp", cpus);
		if (!spec->disk_b)
			return;
		/* The job directory is QEMU's working directory: no path to be escaped. */
		add(argv, "-drive",
		    spec->machine == FB_MACHINE_KVM && has_direct_io(dir)
			    ? "file=" FB_BOOT_DISK
			      ",format=raw,if=none,id=disk,cache=none,aio=native"
			    : "file=" FB_BOOT_DISK ",format=raw,if=none,id=disk");
		add(argv, "-device", "virtio-blk-pci,drive=disk");
		return;
	case FB_MACHINE_COMMAND:
		break;
	}
	FB_BUG("machine without a command line");
}

static int check(const struct fb_boot_spec *spec, struct fb_error *err)
{
	if (spec->machine == FB_MACHINE_COMMAND)
		return fb_error_set(err, FB_ERROR_INPUT, "the command machine runs no QEMU");
	if (!spec->vmlinux || !spec->bundle)
		return fb_error_set(err, FB_ERROR_INPUT, "a machine needs a kernel and a bundle");
	if (access(spec->vmlinux, R_OK) < 0)
		return fb_error_set(err, FB_ERROR_INPUT, "kernel '%s': %s", spec->vmlinux,
				    strerror(errno));
	if (spec->memory_b < (64u << 20))
		return fb_error_set(err, FB_ERROR_INPUT,
				    "a machine needs 64 MiB of memory or more");
	if (spec->disk_b % (1u << 20))
		return fb_error_set(err, FB_ERROR_INPUT, "disk size is not a whole number of MiB");
	if (spec->machine == FB_MACHINE_DETERMINISTIC && spec->cpus > 1)
		return fb_error_set(err, FB_ERROR_INPUT, "the deterministic machine has one CPU");
	return 0;
}

int fb_machine_args(const struct fb_boot_spec *spec, const char *dir, int qmp_fd, char ***ret,
		    struct fb_error *err)
{
	FB_CLEANUP(fb_strvp) char **argv = NULL;
	FB_CLEANUP(fb_freep) char *qemu = NULL, *kernel = NULL, *memory = NULL, *chardev = NULL;
	FB_CLEANUP(fb_freep) char *cmdline = NULL;

	if (check(spec, err) < 0)
		return -1;
	qemu = fb_proc_find(FB_QEMU);
	if (!qemu)
		return fb_error_set(err, FB_ERROR_MISSING,
				    "no program '" FB_QEMU "' (Debian package qemu-system-x86)");
	kernel = realpath(spec->vmlinux, NULL);
	memory = fb_xasprintf("%lluM", (unsigned long long)(spec->memory_b >> 20));
	chardev = fb_xasprintf("socket,id=qmp,fd=%d", qmp_fd);
	cmdline = fb_xasprintf(
		"%s%s%s%s", CMDLINE,
		spec->machine == FB_MACHINE_DETERMINISTIC ? CMDLINE_DETERMINISTIC : "",
		spec->cmdline && *spec->cmdline ? " " : "", spec->cmdline ? spec->cmdline : "");
	add(&argv, qemu, NULL);
	add(&argv, "-nodefaults", NULL);
	add(&argv, "-no-user-config", NULL);
	add(&argv, "-no-reboot", NULL);
	add(&argv, "-display", "none");
	/*
	 * pc, not q35: the kernel's first line comes 0.5 s earlier. No keyboard controller,
	 * whose probing goes on behind the workload's back.
	 */
	add(&argv, "-M", "pc,i8042=off,hpet=on,usb=off");
	add_kind(spec, dir, &argv);
	add(&argv, "-cpu", fb_cpu_model(spec->machine));
	add(&argv, "-m", memory);
	/* Files, since a reader that is late must never stall the guest. */
	add(&argv, "-serial", "file:" FB_BOOT_CONSOLE);
	add(&argv, "-serial", "file:" FB_BOOT_RESULTS);
	add(&argv, "-chardev", chardev);
	add(&argv, "-mon", "chardev=qmp,mode=control");
	add(&argv, "-kernel", kernel ? kernel : spec->vmlinux);
	add(&argv, "-initrd", FB_BOOT_INITRD);
	add(&argv, "-append", cmdline);
	*ret = FB_TAKE(argv);
	return 0;
}

char *fb_qemu_version(void)
{
	static const char *const argv[] = {FB_QEMU, "--version", NULL};
	struct fb_proc_spec spec = {.argv = argv, .timeout_ns = 10 * FB_NS_PER_S};
	struct fb_proc_result result = {0};
	struct fb_error err = FB_ERROR_INIT;
	const char *text;
	char *version = NULL;

	if (fb_proc_run(&spec, &result, &err) < 0)
		return NULL;
	text = strstr(fb_str_cstr(&result.out), "version ");
	if (result.end == FB_PROC_EXITED && result.status == 0 && text) {
		text += strlen("version ");
		version = fb_xstrndup(text, strspn(text, "0123456789."));
	}
	fb_proc_result_release(&result);
	return version;
}
