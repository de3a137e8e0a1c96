/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The initrd of one boot: the bundle, and behind it a small archive with the job and the
 * modules. The kernel unpacks archives that follow each other, so the big one is only copied.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/boot/cpio.h"
#include "src/boot/internal.h"
#include "src/util/file.h"
#include "src/util/util.h"

#define MODULE_MAX (64u << 20) /* the largest of a distribution kernel has 10 MB */

/* What a guest may need of us; what is built in is simply not among the modules. */
static const char *const wanted[] = {
	"configfs", "null_blk",	  "virtio_pci",	    "virtio_mmio",     "virtio_blk",
	"8250",	    "serial8250", "crc32c_generic", "crc32c_intel",    "libcrc32c",
	"crc16",    "xxhash",	  "xxhash_generic", "blake2b_generic", "sha256_generic",
	"mbcache",  "jbd2",
};

static bool is_module(const char *path, const char *name)
{
	const char *base = strrchr(path, '/');
	size_t len = strlen(name);

	base = base ? base + 1 : path;
	for (size_t i = 0; i < len; i++)
		if (base[i] != name[i] && !(base[i] == '-' && name[i] == '_'))
			return false;
	return !strcmp(base + len, ".ko");
}

/* One line of modules.dep: "kernel/a.ko: kernel/b.ko kernel/c.ko", deepest dependency last. */
static void add_line(const char *line, size_t len, char ***paths)
{
	FB_CLEANUP(fb_freep) char *text = fb_xstrndup(line, len);
	char *colon = strchr(text, ':'), *save = NULL;
	char **deps = NULL;

	if (!colon)
		return;
	*colon = '\0';
	fb_strv_add(&deps, text);
	for (char *p = strtok_r(colon + 1, " ", &save); p; p = strtok_r(NULL, " ", &save))
		fb_strv_add(&deps, p);
	for (size_t i = fb_strv_len(deps); i--;) {
		bool have = false;

		for (char **p = *paths; p && *p && !have; p++)
			have = !strcmp(*p, deps[i]);
		if (!have)
			fb_strv_add(paths, deps[i]);
	}
	fb_strvp(&deps);
}

static void add_module(const struct fb_str *dep, const char *name, char ***paths)
{
	const char *p = fb_str_cstr(dep), *end = p + dep->len;

	while (p < end) {
		const char *nl = memchr(p, '\n', (size_t)(end - p));
		size_t len = (size_t)((nl ? nl : end) - p);
		const char *colon = memchr(p, ':', len);

		if (colon) {
			FB_CLEANUP(fb_freep) char *path = fb_xstrndup(p, (size_t)(colon - p));

			if (is_module(path, name))
				add_line(p, len, paths);
		}
		p += len + 1;
	}
}

/* Directory lib/modules/RELEASE below @dir; there must be exactly one. Owned. */
static char *release_dir(const char *dir, struct fb_error *err)
{
	FB_CLEANUP(fb_freep) char *top = fb_xasprintf("%s/lib/modules", dir);
	FB_CLEANUP(fb_strvp) char **names = NULL;

	if (fb_cpio_list_dir(top, &names, err) < 0)
		return NULL;
	if (fb_strv_len(names) != 1) {
		fb_error_set(err, FB_ERROR_INPUT, "'%s' holds %zu kernels, not one", top,
			     fb_strv_len(names));
		return NULL;
	}
	return fb_xasprintf("%s/%s", top, names[0]);
}

/* Pack the modules that are needed; *ret_paths: "PATH PARAMETERS" in the guest, in load order. */
static int pack_modules(const struct fb_boot_spec *spec, struct fb_cpio *cpio, char ***ret_paths,
			struct fb_error *err)
{
	FB_CLEANUP(fb_freep) char *top = release_dir(spec->modules, err);
	FB_CLEANUP(fb_freep) char *dep_path = NULL;
	FB_CLEANUP(fb_strvp) char **paths = NULL, **names = NULL;
	struct fb_str dep = FB_STR_INIT;
	size_t i;
	json_t *cell;

	if (!top)
		return -1;
	dep_path = fb_xasprintf("%s/modules.dep", top);
	if (fb_file_read(dep_path, FB_STR_MAX, &dep, err) < 0) {
		fb_str_release(&dep);
		return -1;
	}
	for (i = 0; i < FB_ARRAY_SIZE(wanted); i++)
		add_module(&dep, wanted[i], &paths);
	json_array_foreach(spec->cells, i, cell)
	{
		const json_t *fs = json_object_get(cell, "fs");
		const char *type = json_string_value(json_object_get(fs, "type"));

		if (type)
			add_module(&dep, type, &paths);
	}
	fb_str_release(&dep);
	if (paths && fb_cpio_add_dir(cpio, "modules", err) < 0)
		return -1;
	for (i = 0; paths && paths[i]; i++) {
		FB_CLEANUP(fb_freep) char *from = fb_xasprintf("%s/%s", top, paths[i]);
		FB_CLEANUP(fb_freep) char *to = fb_xasprintf("modules/%03zu.ko", i);
		/* The kernel's command line reaches only what is built in. */
		FB_CLEANUP(fb_freep)
		char *name = fb_xasprintf("/%s%s", to,
					  is_module(paths[i], "null_blk") ? " nr_devices=0" : "");

		if (fb_cpio_add_file(cpio, to, from, 0644, MODULE_MAX, err) < 0)
			return -1;
		fb_strv_add(&names, name);
	}
	*ret_paths = FB_TAKE(names);
	return 0;
}

json_t *fb_job_json(const struct fb_boot_spec *spec, char *const *modules)
{
	bool deterministic = spec->machine == FB_MACHINE_DETERMINISTIC;
	json_t *job = json_object(), *list = json_array();

	for (char *const *m = modules; m && *m; m++)
		json_array_append_new(list, json_string(*m));
	json_object_set_new(job, "modules", list);
	list = json_array();
	for (char *const *s = spec->sysctl; s && *s; s++)
		json_array_append_new(list, json_string(*s));
	json_object_set_new(job, "sysctl", list);
	if (spec->disk_b && spec->machine != FB_MACHINE_COMMAND)
		json_object_set_new(job, "device",
				    json_string(deterministic ? "null_blk" : "/dev/vda"));
	json_object_set_new(job, "disk_b", json_integer((json_int_t)spec->disk_b));
	json_object_set_new(job, "seed", json_integer((json_int_t)spec->seed));
	json_object_set_new(job, "cells", spec->cells ? json_incref(spec->cells) : json_array());
	return job;
}

static int write_all(int fd, const char *data, size_t len)
{
	while (len) {
		ssize_t n = write(fd, data, len);

		if (n < 0)
			return -1;
		data += n;
		len -= (size_t)n;
	}
	return 0;
}

static int copy_all(int from, int to, const char *name, struct fb_error *err)
{
	static const char zero[4];
	off_t done = 0;
	ssize_t n;

	while ((n = copy_file_range(from, NULL, to, NULL, 1u << 30, 0)) > 0)
		done += n;
	/* Not between these two file systems: copy by hand. */
	if (n < 0 && done == 0) {
		char buf[65536];

		while ((n = read(from, buf, sizeof(buf))) > 0) {
			if (write_all(to, buf, (size_t)n) < 0) {
				n = -1;
				break;
			}
			done += n;
		}
	}
	/* Archives start at multiples of four bytes; zeros between them are allowed. */
	if (n < 0 || (done % 4 && write_all(to, zero, (size_t)(4 - done % 4)) < 0))
		return fb_error_set_sys(err, errno, "copy '%s'", name);
	return 0;
}

int fb_job_initrd(const struct fb_boot_spec *spec, const char *dir, struct fb_error *err)
{
	FB_CLEANUP(fb_freep) char *path = fb_xasprintf("%s/" FB_BOOT_INITRD, dir);
	FB_CLEANUP(fb_closep) int from = open(spec->bundle, O_RDONLY | O_CLOEXEC);
	FB_CLEANUP(fb_closep) int to = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	FB_CLEANUP(fb_strvp) char **modules = NULL;
	struct fb_str text = FB_STR_INIT;
	struct fb_cpio *cpio;
	json_t *job;
	int rc;

	if (from < 0)
		return fb_error_set_sys(err, errno, "open bundle '%s'", spec->bundle);
	if (to < 0)
		return fb_error_set_sys(err, errno, "create '%s'", path);
	if (copy_all(from, to, spec->bundle, err) < 0)
		return -1;
	cpio = fb_cpio_open_fd(to);
	rc = spec->modules ? pack_modules(spec, cpio, &modules, err) : 0;
	if (rc == 0) {
		job = fb_job_json(spec, modules);
		char *dump = json_dumps(job, JSON_COMPACT);

		json_decref(job);
		if (dump)
			fb_str_add(&text, dump);
		free(dump);
		rc = fb_cpio_add_data(cpio, "job.json", fb_str_cstr(&text), text.len, 0644, err);
		fb_str_release(&text);
	}
	if (rc < 0) {
		fb_cpio_abort(cpio);
		return -1;
	}
	return fb_cpio_close(cpio, err);
}
