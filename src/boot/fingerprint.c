/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a machine is made of, as text that can be compared before a boot. */
#include <string.h>
#include <sys/utsname.h>

#include "src/boot/internal.h"
#include "src/util/util.h"

/* Raised when the machines' command lines change in a way that changes measured values. */
#define MACHINE_RULES 1

int fb_machine_fingerprint(const struct fb_boot_spec *spec, char **ret, struct fb_error *err)
{
	json_auto_t *o = json_object();

	json_object_set_new(o, "machine", json_string(fb_machine_name(spec->machine)));
	json_object_set_new(o, "rules", json_integer(MACHINE_RULES));
	if (spec->machine == FB_MACHINE_COMMAND) {
		struct utsname u;

		uname(&u);
		json_object_set_new(o, "host", json_string(u.nodename));
		json_object_set_new(o, "host_kernel", json_string(u.release));
	} else {
		FB_CLEANUP(fb_freep) char *qemu = fb_qemu_version();
		const char *slash = spec->bundle ? strrchr(spec->bundle, '/') : NULL;

		if (!qemu)
			return fb_error_set(err, FB_ERROR_MISSING,
					    "no program '" FB_QEMU
					    "' that runs (Debian package qemu-system-x86)");
		json_object_set_new(o, "qemu", json_string(qemu));
		json_object_set_new(o, "cpu", json_string(fb_cpu_model(spec->machine)));
		json_object_set_new(o, "cpus", json_integer(spec->cpus ? spec->cpus : 1));
		json_object_set_new(o, "memory_b", json_integer((json_int_t)spec->memory_b));
		json_object_set_new(o, "disk_b", json_integer((json_int_t)spec->disk_b));
		json_object_set_new(o, "cmdline", json_string(spec->cmdline ? spec->cmdline : ""));
		json_object_set_new(o, "bundle", json_string(slash ? slash + 1 : ""));
	}
	*ret = json_dumps(o, JSON_COMPACT);
	if (!*ret)
		return fb_error_set(err, FB_ERROR_INPUT, "machine fingerprint: text is no UTF-8");
	return 0;
}
