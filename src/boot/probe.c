/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Does a machine kind work here? That /dev/kvm opens proves nothing: there are hosts on which
 * ordinary kernels then hang without a message. So one boots.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "src/boot/internal.h"
#include "src/boot/run.h"
#include "src/util/file.h"
#include "src/util/json.h"
#include "src/util/proc.h"
#include "src/util/util.h"

#define PROBE_MEMORY_B	 (1ull << 30)
#define PROBE_TIMEOUT_NS (120 * FB_NS_PER_S)
#define PROBE_SILENCE_NS (20 * FB_NS_PER_S) /* under tcg a line comes each second or sooner */

/* A verdict lasts until the kernel or QEMU under it changes. */
static char *host_id(const char *qemu)
{
	struct utsname u = {0};

	uname(&u);
	return fb_xasprintf("%s %s %s qemu %s", u.sysname, u.release, u.version, qemu);
}

static char *verdict_path(enum fb_machine machine, const char *cache)
{
	return fb_xasprintf("%s/probe-%s.json", cache, fb_machine_name(machine));
}

/* 1, 0, or -1 when there is no verdict for this host. */
static int read_verdict(const char *path, const char *host, char **ret_why)
{
	struct fb_error err = FB_ERROR_INIT;
	const char *of, *why;
	int usable, rc = -1;
	json_t *v;

	if (access(path, R_OK) < 0)
		return -1;
	v = fb_json_load(path, 65536, &err);
	if (v &&
	    fb_json_unpack(v, path, &err, "{s:s, s:b, s:s}", "host", &of, "usable", &usable, "why",
			   &why) == 0 &&
	    !strcmp(of, host)) {
		*ret_why = fb_xstrdup(why);
		rc = usable;
	}
	json_decref(v);
	return rc;
}

static int save_verdict(const char *path, const char *host, bool usable, const char *why,
			struct fb_error *err)
{
	json_t *v = json_pack("{s:s, s:b, s:s}", "host", host, "usable", usable, "why", why);
	int rc;

	if (!v)
		return fb_error_set(err, FB_ERROR_INPUT, "host's name is not UTF-8");
	rc = fb_json_save(path, v, err);
	json_decref(v);
	return rc;
}

static int boot(enum fb_machine machine, const char *vmlinux, const char *bundle, const char *cache,
		struct fb_boot_result *ret, struct fb_error *err)
{
	FB_CLEANUP(fb_freep) char *dir = fb_xasprintf("%s/probe-XXXXXX", cache);
	struct fb_boot_spec spec = {.machine = machine,
				    .vmlinux = (char *)vmlinux,
				    .bundle = (char *)bundle,
				    .memory_b = PROBE_MEMORY_B,
				    .timeout_ns = PROBE_TIMEOUT_NS,
				    .silence_ns = PROBE_SILENCE_NS,
				    .cells = json_array()};
	struct fb_error rm = FB_ERROR_INIT;
	int rc;

	if (!mkdtemp(dir)) {
		json_decref(spec.cells);
		return fb_error_set_sys(err, errno, "create '%s'", dir);
	}
	rc = fb_boot_run_unprobed(&spec, dir, ret, err);
	json_decref(spec.cells);
	if (fb_remove_tree(dir, &rm) < 0 && rc == 0) {
		fb_boot_result_release(ret);
		*err = rm;
		return -1;
	}
	return rc;
}

static int probe_boot(enum fb_machine machine, const char *vmlinux, const char *bundle,
		      const char *cache, const char *host, char **ret_why, struct fb_error *err)
{
	FB_CLEANUP(fb_freep) char *path = verdict_path(machine, cache);
	struct fb_boot_result result;
	bool usable;

	if (fb_mkdirs(cache, err) < 0 || boot(machine, vmlinux, bundle, cache, &result, err) < 0)
		return -1;
	usable = result.end == FB_END_OK;
	if (usable)
		*ret_why = fb_xasprintf("a probe boot reached the agent in %.1f s",
					(double)result.agent_ns / FB_NS_PER_S);
	else
		*ret_why = fb_xasprintf("a probe boot ended with %s%s%s", fb_end_name(result.end),
					result.why ? ": " : "", result.why ? result.why : "");
	/*
	 * What a lack of the host looks like may pass (infra), and a kernel that does not
	 * boot under plain emulation says nothing of the host.
	 */
	if ((usable || machine == FB_MACHINE_KVM) && result.end != FB_END_INFRA &&
	    save_verdict(path, host, usable, *ret_why, err) < 0) {
		fb_boot_result_release(&result);
		return -1;
	}
	fb_boot_result_release(&result);
	return usable;
}

int fb_machine_probe(enum fb_machine machine, const char *vmlinux, const char *bundle,
		     const char *cache, char **ret_why, struct fb_error *err)
{
	FB_CLEANUP(fb_freep) char *qemu = NULL, *host = NULL, *path = NULL, *why = NULL;
	int fd, rc;

	if (machine == FB_MACHINE_COMMAND) {
		*ret_why = fb_xstrdup("needs nothing");
		return 1;
	}
	qemu = fb_qemu_version();
	if (!qemu) {
		*ret_why = fb_xstrdup("no working " FB_QEMU " (Debian package qemu-system-x86)");
		return 0;
	}
	if (machine == FB_MACHINE_KVM) {
		fd = open("/dev/kvm", O_RDWR | O_CLOEXEC);
		if (fd < 0) {
			*ret_why = fb_xasprintf("/dev/kvm: %s", strerror(errno));
			return 0;
		}
		close(fd);
	}
	host = host_id(qemu);
	path = verdict_path(machine, cache);
	rc = read_verdict(path, host, &why);
	if (rc < 0 && vmlinux && bundle)
		rc = probe_boot(machine, vmlinux, bundle, cache, host, &why, err);
	if (rc < 0 && !why)
		why = fb_xasprintf("not tried yet with QEMU %s", qemu);
	*ret_why = FB_TAKE(why);
	return rc;
}
