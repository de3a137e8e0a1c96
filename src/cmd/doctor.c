/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `firstbad doctor`: what works on this host, and what to do about the rest. */
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "src/cmd/cmd.h"
#include "src/util/dirs.h"
#include "src/util/file.h"
#include "src/util/json.h"
#include "src/util/proc.h"
#include "src/util/util.h"

#define BZIMAGE_MAGIC_AT 0x202

/* What each program is for, and the Debian package that has it. */
static const struct tool {
	const char *name, *package, *use;
} tools[] = {
	{"git", "git", "histories"},
	{"make", "make", "kernel builds"},
	{"gcc", "gcc", "kernel builds"},
	{"ld", "binutils", "kernel builds"},
	{"flex", "flex", "kernel builds"},
	{"bison", "bison", "kernel builds"},
	{"bc", "bc", "kernel builds"},
	{"perl", "perl", "kernel builds"},
	{"ccache", "ccache", "faster kernel builds (optional)"},
	{"qemu-system-x86_64", "qemu-system-x86", "machines deterministic, tcg and kvm"},
	{"mkfs.ext4", "e2fsprogs", "cells with fs: ext4"},
	{"mkfs.btrfs", "btrfs-progs", "cells with fs: btrfs"},
	{"mkfs.xfs", "xfsprogs", "cells with fs: xfs"},
	{"mkfs.f2fs", "f2fs-tools", "cells with fs: f2fs (optional)"},
	{"fio", "fio", "testcase fio"},
	{"sysbench", "sysbench", "testcase sysbench-fileio"},
	{"dbench", "dbench", "testcase dbench (optional)"},
	{"fs_mark", "fsmark", "testcase fsmark (optional)"},
};

static void add(json_t *rows, const char *what, const char *state, const char *note)
{
	json_array_append_new(
		rows, json_pack("{s:s, s:s, s:s}", "what", what, "state", state, "note", note));
}

static void check_tools(json_t *rows)
{
	for (size_t i = 0; i < FB_ARRAY_SIZE(tools); i++) {
		FB_CLEANUP(fb_freep) char *path = fb_proc_find(tools[i].name);
		FB_CLEANUP(fb_freep)
		char *note = path ? fb_xasprintf("%s, for %s", path, tools[i].use)
				  : fb_xasprintf("for %s: install the package %s", tools[i].use,
						 tools[i].package);

		add(rows, tools[i].name, path ? "ok" : "missing", note);
	}
}

static void check_disk(json_t *rows, const char *what, char *dir_new)
{
	FB_CLEANUP(fb_freep) char *dir = dir_new;
	struct fb_error err = FB_ERROR_INIT;
	struct statvfs v;

	if (fb_mkdirs(dir, &err) < 0 || statvfs(dir, &v) < 0) {
		add(rows, what, "fails", err.code ? err.text : dir);
	} else {
		unsigned long long free_mb = (unsigned long long)v.f_bavail * v.f_frsize >> 20;
		FB_CLEANUP(fb_freep) char *note = fb_xasprintf("%s, %llu MB free", dir, free_mb);

		/* An objdir and a worktree of a kernel take about 3 GB. */
		add(rows, what, free_mb < 5000 ? "low" : "ok", note);
	}
}

/* What of a job is left when everything of firstbad's is killed at once (src/util/proc.h). */
static void check_processes(json_t *rows)
{
	static const char *const argv[] = {"true", NULL};
	static const struct fb_proc_spec spec = {.argv = argv, .fence = FB_PROC_FENCE_USER};
	static const struct {
		const char *state, *note;
	} rating[] = {
		[FB_PROC_FENCE_NONE] = {"weak", "no PID namespaces: kill -9 of all of firstbad's "
						"processes at once would leave those of a job"},
		[FB_PROC_FENCE_PID] = {"ok", "jobs run in a PID namespace: nothing outlives them"},
		[FB_PROC_FENCE_USER] = {"ok",
					"jobs run in a user and PID namespace: nothing outlives "
					"them (not those of machine command: see sudo)"},
	};
	FB_CLEANUP(fb_proc_freep) struct fb_proc *proc = NULL;
	struct fb_error err = FB_ERROR_INIT;

	if (fb_proc_start(&spec, &proc, &err) < 0)
		add(rows, "processes", "fails", err.text);
	else
		add(rows, "processes", rating[fb_proc_fence(proc)].state,
		    rating[fb_proc_fence(proc)].note);
}

static int check_machines(json_t *rows, const char *kernel, struct fb_error *err)
{
	static const char *const no_tools[] = {NULL};
	FB_CLEANUP(fb_freep) char *cache = fb_dir_cache();
	FB_CLEANUP(fb_freep) char *bundle = NULL, *bundles = fb_xasprintf("%s/bundles", cache);

	if (fb_mkdirs(bundles, err) < 0)
		return -1;
	if (fb_bundle_make(no_tools, bundles, &bundle, err) < 0)
		return fb_error_wrap(err, "guest bundle");
	for (int m = FB_MACHINE_DETERMINISTIC; m <= FB_MACHINE_COMMAND; m++) {
		FB_CLEANUP(fb_freep) char *why = NULL, *note = NULL;
		FB_CLEANUP(fb_freep)
		char *what = fb_xasprintf("machine %s", fb_machine_name((enum fb_machine)m));
		struct fb_error probe = FB_ERROR_INIT;
		int rc = fb_machine_probe((enum fb_machine)m, kernel, bundle, cache, &why, &probe);

		if (probe.code != FB_ERROR_NONE)
			note = fb_xstrdup(probe.text);
		else if (rc < 0 && !kernel)
			note = fb_xasprintf("%s; to try it: firstbad doctor --kernel VMLINUX, such "
					    "as one of %s/images/*/vmlinux after a build",
					    why, cache);
		add(rows, what,
		    rc > 0    ? "ok"
		    : rc == 0 ? "unusable"
			      : "not known",
		    note ? note : why);
	}
	return 0;
}

/* An ELF file that is linked to the kernel's half of the addresses, or a bzImage. */
static bool is_kernel(FILE *f)
{
	char magic[4];
	Elf64_Ehdr eh;
	Elf64_Phdr ph;

	if (fread(&eh, sizeof(eh), 1, f) != 1)
		return false;
	if (memcmp(eh.e_ident, ELFMAG, SELFMAG) != 0)
		return fseek(f, BZIMAGE_MAGIC_AT, SEEK_SET) == 0 &&
		       fread(magic, sizeof(magic), 1, f) == 1 && !memcmp(magic, "HdrS", 4);
	if (eh.e_ident[EI_CLASS] != ELFCLASS64 || eh.e_phentsize != sizeof(ph) ||
	    fseek(f, (long)eh.e_phoff, SEEK_SET) < 0)
		return false;
	for (unsigned i = 0; i < eh.e_phnum && fread(&ph, sizeof(ph), 1, f) == 1; i++)
		if (ph.p_type == PT_LOAD && ph.p_vaddr >> 63)
			return true;
	return false;
}

/* The verdict of a probe boot is kept, so it must be that of a kernel. */
static int check_kernel(const char *path, struct fb_error *err)
{
	FILE *f = fopen(path, "re");
	bool kernel;

	if (!f)
		return fb_error_set(err, FB_ERROR_USAGE, "--kernel '%s': %s", path,
				    strerror(errno));
	kernel = is_kernel(f);
	fclose(f);
	return kernel ? 0
		      : fb_error_set(err, FB_ERROR_USAGE,
				     "--kernel '%s' is no vmlinux and no bzImage", path);
}

int fb_cmd_doctor(int argc, char **argv)
{
	struct fb_common common = {0};
	const char *kernel = NULL;
	const struct fb_opt opts[] = {
		FB_COMMON_OPTS(common),
		{"kernel", 0, FB_OPT_STRING, &kernel, "VMLINUX",
		 "boot this image to probe the machine kinds"},
	};
	json_auto_t *rows = json_array();
	struct fb_error err = FB_ERROR_INIT;
	struct fb_str out = FB_STR_INIT;
	json_t *row;
	size_t i;
	int first,
		rc = fb_opt_parse(
			argc, argv, "doctor [--kernel VMLINUX]",
			"Says what works on this host: programs, disk space, and each machine "
			"kind\n"
			"by a probe boot (of the image given, or the verdict of the last probe).",
			opts, FB_ARRAY_SIZE(opts), &first);

	if (rc >= 0)
		return rc;
	if (fb_at_most(argc, argv, first, &err) < 0 || fb_enter(&common, &err) < 0 ||
	    fb_dirs_check(&err) < 0)
		return fb_fail(&err);
	if (kernel && check_kernel(kernel, &err) < 0)
		return fb_fail(&err);
	check_tools(rows);
	check_disk(rows, "cache", fb_dir_cache());
	check_disk(rows, "data", fb_dir_data());
	check_processes(rows);
	if (check_machines(rows, kernel, &err) < 0)
		return fb_fail(&err);
	if (common.json) {
		fb_json_pretty(rows, &out);
	} else {
		json_array_foreach(rows, i, row)
		{
			fb_str_addf(&out, "%-24s %-9s %s\n", fb_json_str(row, "what"),
				    fb_json_str(row, "state"), fb_json_str(row, "note"));
		}
	}
	rc = fb_put(fb_str_cstr(&out));
	fb_str_release(&out);
	return rc;
}
