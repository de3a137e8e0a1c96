/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One boot of one image: start a machine, let the agent run the cells, read what it says.
 *
 * The guest is not trusted: what it sends is limited in size and parsed strictly.
 */
#ifndef FB_BOOT_BOOT_H
#define FB_BOOT_BOOT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "src/util/error.h"
#include "src/util/hash.h"

enum fb_machine {
	FB_MACHINE_DETERMINISTIC, /* QEMU TCG with icount; the device under test is null_blk */
	FB_MACHINE_TCG,		  /* QEMU TCG, virtio-blk disk */
	FB_MACHINE_KVM,		  /* QEMU KVM, virtio-blk disk */
	FB_MACHINE_COMMAND,	  /* no machine: commands on this host in a directory */
};

/** fb_machine_name() - "deterministic", "tcg", "kvm", "command". */
const char *fb_machine_name(enum fb_machine machine);
/** fb_machine_find() - The machine of that name, or -1. */
int fb_machine_find(const char *name);

/* How a boot ended. Only FB_END_OK gives values; the rest never counts as slow. */
enum fb_end {
	FB_END_OK,
	FB_END_TEST_FAILED, /* a workload exited non-zero or its output was refused */
	FB_END_OOPS,	    /* the kernel complained (oops, BUG, lockup) but went on */
	FB_END_PANIC,
	FB_END_HANG_SILENT, /* no sign of life for the silence limit */
	FB_END_HANG_NOISY,  /* output went on but the work did not finish, or output without end */
	FB_END_BOOT_FAILED, /* the agent never spoke */
	FB_END_BUILD_FAILED,
	FB_END_INFRA,	 /* QEMU could not start, or died: never the kernel's fault */
	FB_END_UNUSABLE, /* this host cannot run this machine kind */
};

const char *fb_end_name(enum fb_end end);
int fb_end_find(const char *name);

struct fb_boot_spec {
	enum fb_machine machine;
	unsigned cpus; /* 0: 1; the deterministic machine has only one */
	char *vmlinux; /* image to boot: vmlinux with PVH note, or bzImage */
	char *modules; /* directory with lib/modules/..., or NULL */
	char *bundle;  /* guest bundle made by fb_bundle_make() */
	char *cmdline; /* added to ours; may be NULL */
	uint64_t memory_b;
	uint64_t disk_b;    /* size of the device under test */
	uint64_t seed;	    /* perturbs start delay and entropy */
	int64_t timeout_ns; /* whole boot, wall */
	int64_t silence_ns; /* no output from console or agent for this long: hang; wall */
	char **sysctl;	    /* "vm.dirty_ratio=10", may be NULL */
	char *dir;	    /* FB_MACHINE_COMMAND: where to run */
	json_t *cells; /* array of jobs; testcases/testcase.h says how a cell is written as one */
};

struct fb_boot_run {	 /* one cell, one run */
	unsigned cell;	 /* index into spec.cells */
	enum fb_end end; /* OK or TEST_FAILED */
	char *why;	 /* for TEST_FAILED: one line */
	int status;	 /* exit status of the measured step as a shell says it; -1: none */
	char *out;	 /* the measured step's stdout, as the tool wrote it, then the lines of its
			    $FIRSTBAD_RESULT with "firstbad: " before each; out_len bytes + NUL */
	size_t out_len;
	char *err;	  /* its stderr, cut to a limit, valid or not */
	json_t *counters; /* object: metric name (blk.*, iostat.*, time.*, vmstat.*) -> real */
};

struct fb_boot_result {
	enum fb_end end;
	char *why; /* one line: first oops line, last console line, exit reason; may be NULL */
	struct fb_boot_run *runs; /* those that finished, also before a panic */
	size_t nr_runs;
	int64_t wall_ns;
	int64_t first_line_ns; /* wall, from QEMU's start to the first console byte; -1 unknown */
	int64_t agent_ns;      /* wall, from QEMU's start to the agent's hello; -1 */
	int64_t setup_ns; /* guest time, from the agent's start to the first workload's, mkfs apart;
			     -1 */
	int64_t guest_ns; /* guest time at the end, CLOCK_BOOTTIME; -1 */
	char *console;	  /* path, kept in the job directory */
	char *fingerprint; /* JSON text: machine, QEMU version, CPU model, bundle hash, kernel
			      release */
};

json_t *fb_boot_spec_to_json(const struct fb_boot_spec *spec);
int fb_boot_spec_from_json(json_t *v, struct fb_boot_spec *ret, struct fb_error *err);
void fb_boot_spec_release(struct fb_boot_spec *spec);
json_t *fb_boot_result_to_json(const struct fb_boot_result *result);
int fb_boot_result_from_json(json_t *v, struct fb_boot_result *ret, struct fb_error *err);
void fb_boot_result_release(struct fb_boot_result *result);

/**
 * fb_boot_run() - Boot once and run the cells. Blocks; call it in a job.
 * @dir: the job directory; console, results and the per-boot initrd lie in it.
 *
 * Return: 0 with ret->end, whatever the kernel did, FB_END_INFRA included. -1 when no boot
 * could end otherwise: the spec makes no sense (FB_ERROR_INPUT), or results cannot be kept
 * (FB_ERROR_SYSTEM; a full disk has err->sys).
 */
int fb_boot_run(const struct fb_boot_spec *spec, const char *dir, struct fb_boot_result *ret,
		struct fb_error *err);

/**
 * fb_bundle_lacks() - Which of the programs is not on this host, with its Debian package if known.
 *
 * Return: "no program 'fs_mark' (Debian package fsmark)", owned; NULL when all are there.
 */
char *fb_bundle_lacks(const char *const *tools);

/**
 * fb_bundle_make() - Pack the agent and programs with their libraries into an initramfs.
 * @tools: NULL-terminated program names looked up on the host; their libraries come along.
 * @cache: directory for bundles; one with the same contents is reused.
 *
 * Errors: FB_ERROR_MISSING names the program and, when known, the Debian package.
 * Ownership: *ret_path is the caller's. The bundle's hash is in its file name and fingerprint.
 */
int fb_bundle_make(const char *const *tools, const char *cache, char **ret_path,
		   struct fb_error *err);

/**
 * fb_machine_args() - The QEMU command line for @spec, NULL-terminated, owned (for doctor and
 * tests).
 * @qmp_fd: descriptor of the QMP socket; the channels are files in @dir.
 */
int fb_machine_args(const struct fb_boot_spec *spec, const char *dir, int qmp_fd, char ***ret,
		    struct fb_error *err);

/**
 * fb_machine_fingerprint() - What @spec's machine is made of, the kernel and the seed apart.
 * @ret: JSON text, owned. Boots with equal text (and equal cells) can be compared.
 *
 * Errors: FB_ERROR_MISSING without QEMU.
 */
int fb_machine_fingerprint(const struct fb_boot_spec *spec, char **ret, struct fb_error *err);

/**
 * fb_machine_probe() - Does this machine kind work here? A probe boot, its verdict cached.
 * @vmlinux: an image that is known to boot under tcg, or NULL to use only the cached verdict.
 * @cache: where verdicts are kept; one lasts until the host kernel or QEMU changes.
 * @ret_why: one line, owned, set also when usable.
 *
 * Return: 1 usable, 0 not, -1 unknown or error.
 */
int fb_machine_probe(enum fb_machine machine, const char *vmlinux, const char *bundle,
		     const char *cache, char **ret_why, struct fb_error *err);

#endif
