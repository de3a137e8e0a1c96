/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names, and specs and results as JSON: jobs are directories, and these are files in them. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "src/boot/internal.h"
#include "src/util/json.h"
#include "src/util/util.h"

static const char *const machine_name[] = {
	[FB_MACHINE_DETERMINISTIC] = "deterministic",
	[FB_MACHINE_TCG] = "tcg",
	[FB_MACHINE_KVM] = "kvm",
	[FB_MACHINE_COMMAND] = "command",
};

static const char *const end_name[] = {
	[FB_END_OK] = "ok",
	[FB_END_TEST_FAILED] = "test-failed",
	[FB_END_OOPS] = "oops",
	[FB_END_PANIC] = "panic",
	[FB_END_HANG_SILENT] = "hang-silent",
	[FB_END_HANG_NOISY] = "hang-noisy",
	[FB_END_BOOT_FAILED] = "boot-failed",
	[FB_END_BUILD_FAILED] = "build-failed",
	[FB_END_INFRA] = "infra",
	[FB_END_UNUSABLE] = "unusable-here",
};

static int find(const char *const *names, size_t nr, const char *name)
{
	for (size_t i = 0; name && i < nr; i++)
		if (!strcmp(names[i], name))
			return (int)i;
	return -1;
}

const char *fb_machine_name(enum fb_machine machine)
{
	return machine_name[machine];
}

int fb_machine_find(const char *name)
{
	return find(machine_name, FB_ARRAY_SIZE(machine_name), name);
}

const char *fb_end_name(enum fb_end end)
{
	return end_name[end];
}

int fb_end_find(const char *name)
{
	return find(end_name, FB_ARRAY_SIZE(end_name), name);
}

/* NULL strings and numbers at their default are left out, so that JSON stays short. */
static void set_str(json_t *o, const char *key, const char *s)
{
	if (s)
		json_object_set_new(o, key, json_string(s));
}

static void set_int(json_t *o, const char *key, int64_t v)
{
	json_object_set_new(o, key, json_integer(v));
}

json_t *fb_boot_spec_to_json(const struct fb_boot_spec *spec)
{
	FB_CLEANUP(fb_freep) char *seed = fb_xasprintf("%" PRIu64, spec->seed);
	json_t *o = json_object(), *list;

	set_str(o, "machine", fb_machine_name(spec->machine));
	set_int(o, "cpus", spec->cpus);
	set_str(o, "vmlinux", spec->vmlinux);
	set_str(o, "modules", spec->modules);
	set_str(o, "bundle", spec->bundle);
	set_str(o, "cmdline", spec->cmdline);
	set_int(o, "memory_b", (int64_t)spec->memory_b);
	set_int(o, "disk_b", (int64_t)spec->disk_b);
	set_str(o, "seed", seed); /* all 64 bits; JSON readers agree on 53 */
	set_int(o, "timeout_ns", spec->timeout_ns);
	set_int(o, "silence_ns", spec->silence_ns);
	if (spec->sysctl) {
		list = json_array();
		for (char **s = spec->sysctl; *s; s++)
			json_array_append_new(list, json_string(*s));
		json_object_set_new(o, "sysctl", list);
	}
	set_str(o, "dir", spec->dir);
	json_object_set_new(o, "cells", spec->cells ? json_incref(spec->cells) : json_array());
	return o;
}

static char *dup(const char *s)
{
	return s ? fb_xstrdup(s) : NULL;
}

void fb_boot_spec_release(struct fb_boot_spec *spec)
{
	free(spec->vmlinux);
	free(spec->modules);
	free(spec->bundle);
	free(spec->cmdline);
	fb_strvp(&spec->sysctl);
	free(spec->dir);
	json_decref(spec->cells);
	*spec = (struct fb_boot_spec){0};
}

int fb_boot_spec_from_json(json_t *v, struct fb_boot_spec *ret, struct fb_error *err)
{
	const char *machine, *seed = "0", *vmlinux = NULL, *modules = NULL, *bundle = NULL;
	const char *cmdline = NULL, *dir = NULL;
	json_int_t memory = 0, disk = 0, timeout, silence;
	json_t *sysctl = NULL, *cells, *item;
	struct fb_boot_spec spec = {0};
	int cpus = 0;
	size_t i;

	if (fb_json_unpack(v, "boot spec", err,
			   "{s:s, s?i, s?s, s?s, s?s, s?s, s?I, s?I, s?s, s:I, s:I, s?o, s?s, s:o}",
			   "machine", &machine, "cpus", &cpus, "vmlinux", &vmlinux, "modules",
			   &modules, "bundle", &bundle, "cmdline", &cmdline, "memory_b", &memory,
			   "disk_b", &disk, "seed", &seed, "timeout_ns", &timeout, "silence_ns",
			   &silence, "sysctl", &sysctl, "dir", &dir, "cells", &cells) < 0)
		return -1;
	if (fb_parse_u64(seed, 0, UINT64_MAX, &spec.seed, err) < 0)
		return fb_error_wrap(err, "boot spec: seed");
	if (fb_machine_find(machine) < 0)
		return fb_error_set(err, FB_ERROR_INPUT, "boot spec: no machine '%s'", machine);
	if (cpus < 0 || memory < 0 || disk < 0 || timeout < 0 || silence < 0 ||
	    !json_is_array(cells) || (sysctl && !json_is_array(sysctl)))
		return fb_error_set(err, FB_ERROR_INPUT, "boot spec: a value out of its range");
	json_array_foreach(sysctl, i, item)
	{
		if (!json_is_string(item)) {
			fb_strvp(&spec.sysctl);
			return fb_error_set(err, FB_ERROR_INPUT, "boot spec: bad sysctl");
		}
		fb_strv_add(&spec.sysctl, json_string_value(item));
	}
	spec.machine = (enum fb_machine)fb_machine_find(machine);
	spec.cpus = (unsigned)cpus;
	spec.vmlinux = dup(vmlinux);
	spec.modules = dup(modules);
	spec.bundle = dup(bundle);
	spec.cmdline = dup(cmdline);
	spec.memory_b = (uint64_t)memory;
	spec.disk_b = (uint64_t)disk;
	spec.timeout_ns = timeout;
	spec.silence_ns = silence;
	spec.dir = dup(dir);
	spec.cells = json_incref(cells);
	*ret = spec;
	return 0;
}

/* Tools write any bytes; JSON holds them as the agent's stream does, one code point each. */
static json_t *bytes_to_json(const char *p, size_t len)
{
	struct fb_str s = FB_STR_INIT;
	json_t *v;

	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)p[i];

		if (c >= 0x80)
			fb_str_addc(&s, (char)(0xc0 | c >> 6));
		fb_str_addc(&s, (char)(c >= 0x80 ? 0x80 | (c & 0x3f) : c));
	}
	v = json_stringn(fb_str_cstr(&s), s.len);
	fb_str_release(&s);
	return v;
}

static int bytes_from_json(const json_t *v, char **ret, size_t *ret_len, struct fb_error *err)
{
	const unsigned char *p = (const unsigned char *)json_string_value(v);
	size_t len = json_string_length(v), n = 0;
	char *out = fb_xmalloc(len + 1);

	for (size_t i = 0; i < len; i++) {
		if (p[i] < 0x80) {
			out[n++] = (char)p[i];
		} else if ((p[i] == 0xc2 || p[i] == 0xc3) && i + 1 < len) {
			out[n++] = (char)((p[i] & 3) << 6 | (p[i + 1] & 0x3f));
			i++;
		} else {
			free(out);
			return fb_error_set(err, FB_ERROR_INPUT, "boot result: bad output");
		}
	}
	out[n] = '\0';
	*ret = out;
	*ret_len = n;
	return 0;
}

json_t *fb_boot_result_to_json(const struct fb_boot_result *r)
{
	json_t *o = json_object(), *runs = json_array();

	set_str(o, "end", fb_end_name(r->end));
	set_str(o, "why", r->why);
	for (size_t i = 0; i < r->nr_runs; i++) {
		const struct fb_boot_run *run = &r->runs[i];
		json_t *v = json_object();

		set_int(v, "cell", run->cell);
		set_str(v, "end", fb_end_name(run->end));
		set_str(v, "why", run->why);
		set_int(v, "status", run->status);
		json_object_set_new(v, "out", bytes_to_json(run->out, run->out_len));
		json_object_set_new(v, "err", bytes_to_json(run->err, strlen(run->err)));
		json_object_set_new(v, "counters",
				    run->counters ? json_incref(run->counters) : json_object());
		json_array_append_new(runs, v);
	}
	json_object_set_new(o, "runs", runs);
	set_int(o, "wall_ns", r->wall_ns);
	set_int(o, "first_line_ns", r->first_line_ns);
	set_int(o, "agent_ns", r->agent_ns);
	set_int(o, "setup_ns", r->setup_ns);
	set_int(o, "guest_ns", r->guest_ns);
	set_str(o, "console", r->console);
	set_str(o, "fingerprint", r->fingerprint);
	return o;
}

void fb_boot_result_release(struct fb_boot_result *r)
{
	for (size_t i = 0; i < r->nr_runs; i++)
		fb_boot_run_release(&r->runs[i]);
	free(r->runs);
	free(r->why);
	free(r->console);
	free(r->fingerprint);
	*r = (struct fb_boot_result){0};
}

static int run_from_json(json_t *v, struct fb_boot_run *ret, struct fb_error *err)
{
	const char *end, *why = NULL;
	json_t *out, *errors, *counters;
	size_t len;
	int cell, status;

	if (fb_json_unpack(v, "boot result", err, "{s:i, s:s, s?s, s:i, s:o, s:o, s:o}", "cell",
			   &cell, "end", &end, "why", &why, "status", &status, "out", &out, "err",
			   &errors, "counters", &counters) < 0)
		return -1;
	if (cell < 0 || fb_end_find(end) < 0 || !json_is_object(counters))
		return fb_error_set(err, FB_ERROR_INPUT, "boot result: bad run");
	*ret = (struct fb_boot_run){
		.cell = (unsigned)cell, .end = (enum fb_end)fb_end_find(end), .status = status};
	if (bytes_from_json(out, &ret->out, &ret->out_len, err) < 0 ||
	    bytes_from_json(errors, &ret->err, &len, err) < 0)
		return -1;
	ret->why = dup(why);
	ret->counters = json_incref(counters);
	return 0;
}

int fb_boot_result_from_json(json_t *v, struct fb_boot_result *ret, struct fb_error *err)
{
	const char *end, *why = NULL, *console = NULL, *fingerprint = NULL;
	json_int_t wall, first, agent, setup, guest;
	struct fb_boot_result r = {0};
	json_t *runs, *item;
	size_t i;

	if (fb_json_unpack(v, "boot result", err,
			   "{s:s, s?s, s:o, s:I, s:I, s:I, s:I, s:I, s?s, s?s}", "end", &end, "why",
			   &why, "runs", &runs, "wall_ns", &wall, "first_line_ns", &first,
			   "agent_ns", &agent, "setup_ns", &setup, "guest_ns", &guest, "console",
			   &console, "fingerprint", &fingerprint) < 0)
		return -1;
	if (fb_end_find(end) < 0 || !json_is_array(runs))
		return fb_error_set(err, FB_ERROR_INPUT, "boot result: bad end or runs");
	r.runs = fb_xcalloc(json_array_size(runs) + 1, sizeof(*r.runs));
	json_array_foreach(runs, i, item)
	{
		r.nr_runs = i + 1;
		if (run_from_json(item, &r.runs[i], err) < 0) {
			fb_boot_result_release(&r);
			return -1;
		}
	}
	r.end = (enum fb_end)fb_end_find(end);
	r.why = dup(why);
	r.wall_ns = wall;
	r.first_line_ns = first;
	r.agent_ns = agent;
	r.setup_ns = setup;
	r.guest_ns = guest;
	r.console = dup(console);
	r.fingerprint = dup(fingerprint);
	*ret = r;
	return 0;
}
