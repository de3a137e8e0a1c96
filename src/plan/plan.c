/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A plan: YAML to a checked struct fb_plan. Each error names line and column. */
#include "src/plan/plan.h"

#include <ctype.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/plan/include.h"
#include "src/plan/reader.h"
#include "src/util/file.h"
#include "src/util/nearest.h"
#include "src/util/str.h"
#include "src/util/util.h"

#define LIST_MAX     64	  /* kconfig fragments, fixups, sysctls */
#define CMDLINE_MAX  1024 /* the kernel keeps 2048 on x86, and ours comes first */
#define CELLS_SHOWN  8
#define FRAGMENT_MAX (1 << 20) /* bytes */

/* --- values ------------------------------------------------------------------------------ */

int fb_plan_text_of(struct fb_plan_reader *r, const struct fb_yaml *node, const char **ret)
{
	if (node->kind != FB_YAML_SCALAR)
		return fb_yaml_at(node, r->err, "a single value is expected, not a %s",
				  node->kind == FB_YAML_LIST ? "list" : "map");
	if (!*node->text)
		return fb_yaml_at(node, r->err, "a value is missing");
	*ret = node->text;
	return 0;
}

static int u64_of(struct fb_plan_reader *r, const struct fb_yaml *node, uint64_t min, uint64_t max,
		  uint64_t *ret)
{
	const char *text = NULL;

	if (fb_plan_text_of(r, node, &text) < 0)
		return -1;
	return fb_parse_u64(text, min, max, ret, r->err) < 0 ? fb_yaml_wrap_at(node, r->err) : 0;
}

static int size_of(struct fb_plan_reader *r, const struct fb_yaml *node, uint64_t min_b,
		   uint64_t max_b, const char *range, uint64_t *ret_b)
{
	const char *text;
	uint64_t b;

	if (fb_plan_text_of(r, node, &text) < 0)
		return -1;
	if (fb_parse_size(text, &b, r->err) < 0)
		return fb_yaml_wrap_at(node, r->err);
	if (b < min_b || b > max_b)
		return fb_yaml_at(node, r->err, "'%.32s' is not from %s", text, range);
	*ret_b = b;
	return 0;
}

static int duration_of(struct fb_plan_reader *r, const struct fb_yaml *node, int64_t *ret_ns)
{
	const char *text;
	int64_t ns;

	if (fb_plan_text_of(r, node, &text) < 0)
		return -1;
	if (fb_parse_duration(text, &ns, r->err) < 0)
		return fb_yaml_wrap_at(node, r->err);
	if (ns < FB_NS_PER_S || ns > 365 * 86400 * FB_NS_PER_S)
		return fb_yaml_at(node, r->err, "'%.32s' is not from 1s to 365d", text);
	*ret_ns = ns;
	return 0;
}

/* "2%" or "0.02" */
static int parse_ratio(const char *text, double *ret, struct fb_error *err)
{
	FB_CLEANUP(fb_freep) char *copy = fb_xstrdup(text);
	size_t len = strlen(copy);
	bool percent = len && copy[len - 1] == '%';

	if (percent)
		copy[len - 1] = '\0';
	if (fb_parse_double(copy, ret, err) < 0) {
		fb_error_clear(err);
		return fb_error_set(err, FB_ERROR_INPUT,
				    "'%.32s' is not a share such as 2%% or 0.02", text);
	}
	if (percent)
		*ret /= 100;
	return 0;
}

int fb_plan_confidence(const char *text, double *ret, struct fb_error *err)
{
	double v;

	if (parse_ratio(text, &v, err) < 0)
		return -1;
	if (!(v > 0.5 && v < 1))
		return fb_error_set(err, FB_ERROR_INPUT, "'%.32s' is not between 50%% and 100%%",
				    text);
	*ret = v;
	return 0;
}

int fb_plan_min_effect(const char *text, double *ret, struct fb_error *err)
{
	double v;

	if (parse_ratio(text, &v, err) < 0)
		return -1;
	if (!(v >= 0.0001 && v <= 1))
		return fb_error_set(
			err, FB_ERROR_INPUT,
			"'%.32s' is not from 0.01%% to 100%%; 2 per cent is 2%% or 0.02", text);
	*ret = v;
	return 0;
}

/* Keys of a map against a NULL-terminated list of known ones. */
static int check_keys(struct fb_plan_reader *r, const struct fb_yaml *map, const char *what,
		      const char *const *known)
{
	if (map->kind != FB_YAML_MAP)
		return fb_yaml_at(map, r->err, "%s: a map (key: value) is expected", what);
	for (size_t i = 0; i < map->nr; i += 2) {
		const struct fb_yaml *key = map->child[i];
		struct fb_nearest near = {.name = key->text};
		struct fb_str list = FB_STR_INIT;
		const char *hint;
		bool found = false;

		for (const char *const *k = known; *k; k++) {
			found = found || !strcmp(*k, key->text);
			fb_nearest_offer(&near, *k);
			fb_str_addf(&list, "%s%s", list.len ? ", " : "", *k);
		}
		hint = fb_nearest_get(&near);
		if (!found && hint)
			fb_yaml_at(key, r->err, "unknown key '%.64s'; did you mean '%s'?",
				   key->text, hint);
		else if (!found)
			fb_yaml_at(key, r->err, "unknown key '%.64s'; known here: %s", key->text,
				   fb_str_cstr(&list));
		fb_str_release(&list);
		if (!found)
			return -1;
	}
	return 0;
}

/* One value or a list of them, as the items to walk over. */
static int items_of(struct fb_plan_reader *r, const struct fb_yaml *node,
		    const struct fb_yaml *const **ret, size_t *ret_nr,
		    const struct fb_yaml **single)
{
	if (node->kind == FB_YAML_MAP)
		return fb_yaml_at(node, r->err,
				  "a value or a list of values is expected, not a map");
	*single = node;
	*ret = node->kind == FB_YAML_LIST ? (const struct fb_yaml *const *)node->child : single;
	*ret_nr = node->kind == FB_YAML_LIST ? node->nr : 1;
	return *ret_nr > LIST_MAX ? fb_yaml_at(node, r->err, "more than %d", LIST_MAX) : 0;
}

static int check_file(struct fb_plan_reader *r, const struct fb_yaml *node, const char *path)
{
	struct stat st;

	if (r->stored)
		return 0;
	if (stat(path, &st) < 0 || access(path, R_OK) < 0)
		return fb_yaml_at(node, r->err, "no file '%s' that can be read", path);
	if (!S_ISREG(st.st_mode))
		return fb_yaml_at(node, r->err, "'%s' is not a file", path);
	return 0;
}

/* --- the keys ---------------------------------------------------------------------------- */

static int read_machine(struct fb_plan_reader *r, const struct fb_yaml *node)
{
	static const char *const kinds[] = {"deterministic", "kvm", "tcg", "command"};
	struct fb_nearest near;
	const char *text, *hint;

	if (fb_plan_text_of(r, node, &text) < 0)
		return -1;
	near = (struct fb_nearest){.name = text};
	if (!strcmp(text, "ssh") || fb_str_has_prefix(text, "ssh:"))
		return fb_yaml_at(
			node, r->err,
			"machine 'ssh' does not exist yet; there are deterministic, kvm, tcg, "
			"command");
	for (size_t i = 0; i < FB_ARRAY_SIZE(kinds); i++) {
		if (!strcmp(kinds[i], text)) {
			r->plan->machine = fb_xstrdup(text);
			return 0;
		}
		fb_nearest_offer(&near, kinds[i]);
	}
	hint = fb_nearest_get(&near);
	if (hint)
		return fb_yaml_at(node, r->err, "unknown machine '%.64s'; did you mean '%s'?", text,
				  hint);
	return fb_yaml_at(node, r->err,
			  "unknown machine '%.64s'; there are deterministic, kvm, tcg, command",
			  text);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* "fs-ext4, null-blk, tiny": the fragments that exist; owned. */
static char *fragment_names(const char *dir)
{
	FB_CLEANUP(fb_strvp) char **names = NULL;
	struct fb_str s = FB_STR_INIT;
	DIR *d = opendir(dir);
	struct dirent *e;

	while (d && (e = readdir(d)))
		if (*e->d_name != '.' && fb_str_has_suffix(e->d_name, ".config")) {
			FB_CLEANUP(fb_freep)
			char *name = fb_xstrndup(e->d_name, strlen(e->d_name) - strlen(".config"));

			fb_strv_add(&names, name);
		}
	if (d)
		closedir(d);
	if (names)
		qsort(names, fb_strv_len(names), sizeof(*names), by_text);
	for (char **n = names; n && *n; n++)
		fb_str_addf(&s, "%s%s", s.len ? ", " : "", *n);
	if (!s.len)
		fb_str_addf(&s, "none in '%s'", dir);
	return fb_str_take(&s);
}

static int read_fragment(struct fb_plan_reader *r, const struct fb_yaml *node)
{
	FB_CLEANUP(fb_freep) char *path = NULL, *names = NULL;
	const char *name;

	if (fb_plan_text_of(r, node, &name) < 0)
		return -1;
	/* A fragment of one's own is given as a path. */
	if (strchr(name, '/')) {
		path = fb_include_resolve(r->name, name);
		if (check_file(r, node, path) < 0)
			return -1;
	} else {
		path = fb_xasprintf("%s/%s.config", r->kconfig_dir, name);
		if (!r->stored && access(path, R_OK) < 0) {
			names = fragment_names(r->kconfig_dir);
			return fb_yaml_at(node, r->err,
					  "no kconfig fragment '%.64s'; there are: %s", name,
					  names);
		}
	}
	for (char **f = r->plan->fragments; f && *f; f++)
		if (!strcmp(*f, path))
			return fb_yaml_at(node, r->err, "'%.64s' is listed twice", name);
	if (!r->stored) {
		if (fb_file_read(path, FRAGMENT_MAX, &r->fragments, r->err) < 0)
			return fb_yaml_wrap_at(node, r->err);
		fb_str_addc(&r->fragments, '\n');
	}
	fb_strv_add(&r->plan->fragments, path);
	return 0;
}

static int read_kconfig(struct fb_plan_reader *r, const struct fb_yaml *node)
{
	const struct fb_yaml *single;
	const struct fb_yaml *const *items;
	size_t nr;

	if (items_of(r, node, &items, &nr, &single) < 0)
		return -1;
	if (!nr)
		return fb_yaml_at(node, r->err, "kconfig: names at least one fragment");
	for (size_t i = 0; i < nr; i++)
		if (read_fragment(r, items[i]) < 0)
			return -1;
	r->plan->config_base = fb_xstrdup("tinyconfig");
	return 0;
}

static int read_config(struct fb_plan_reader *r, const struct fb_yaml *node)
{
	FB_CLEANUP(fb_freep) char *path = NULL;
	const char *text;

	if (fb_yaml_get(r->root, "kconfig"))
		return fb_yaml_at(node, r->err, "config and kconfig: only one of them");
	if (fb_plan_text_of(r, node, &text) < 0)
		return -1;
	if (!strcmp(text, "defconfig")) {
		r->plan->config_base = fb_xstrdup(text);
		return 0;
	}
	path = fb_include_resolve(r->name, text);
	if (check_file(r, node, path) < 0)
		return -1;
	r->plan->config_base = FB_TAKE(path);
	return 0;
}

static int read_memory(struct fb_plan_reader *r, const struct fb_yaml *node)
{
	return size_of(r, node, 64ull << 20, 1ull << 40, "64M to 1T", &r->plan->memory_b);
}

static int read_disk(struct fb_plan_reader *r, const struct fb_yaml *node)
{
	if (size_of(r, node, 16ull << 20, 64ull << 40, "16M to 64T", &r->plan->disk_b) < 0)
		return -1;
	/* null_blk is given its size in MiB. */
	if (r->plan->disk_b % (1 << 20))
		return fb_yaml_at(node, r->err, "not a whole number of MiB");
	return 0;
}

static int read_cmdline(struct fb_plan_reader *r, const struct fb_yaml *node)
{
	if (node->kind != FB_YAML_SCALAR)
		return fb_yaml_at(node, r->err, "cmdline: a text is expected");
	if (strlen(node->text) > CMDLINE_MAX)
		return fb_yaml_at(node, r->err, "cmdline: longer than %d bytes", CMDLINE_MAX);
	for (const char *p = node->text; *p; p++)
		if (*p < 0x20 || *p > 0x7e)
			return fb_yaml_at(node, r->err, "cmdline: only printable ASCII");
	free(r->plan->cmdline);
	r->plan->cmdline = fb_xstrdup(node->text);
	return 0;
}

static int read_sysctl(struct fb_plan_reader *r, const struct fb_yaml *node)
{
	if (node->kind != FB_YAML_MAP)
		return fb_yaml_at(node, r->err, "sysctl: a map (name: value) is expected");
	if (node->nr / 2 > LIST_MAX)
		return fb_yaml_at(node, r->err, "more than %d", LIST_MAX);
	for (size_t i = 0; i < node->nr; i += 2) {
		FB_CLEANUP(fb_freep) char *line = NULL;
		const struct fb_yaml *key = node->child[i];
		const char *value;

		/* It becomes a path under /proc/sys. */
		if (!*key->text || strlen(key->text) > 128 || strstr(key->text, "..") ||
		    *key->text == '/' || *key->text == '.')
			return fb_yaml_at(key, r->err, "'%.64s' is not a sysctl", key->text);
		for (const char *p = key->text; *p; p++)
			if (!isalnum((unsigned char)*p) && !strchr("._-/", *p))
				return fb_yaml_at(key, r->err, "'%.64s' is not a sysctl",
						  key->text);
		if (fb_plan_text_of(r, node->child[i + 1], &value) < 0)
			return -1;
		if (strlen(value) > 256 || strpbrk(value, "\r\n"))
			return fb_yaml_at(node->child[i + 1], r->err,
					  "not one line of at most 256 bytes");
		line = fb_xasprintf("%s=%s", key->text, value);
		fb_strv_add(&r->plan->sysctl, line);
	}
	return 0;
}

static int read_fixups(struct fb_plan_reader *r, const struct fb_yaml *node)
{
	const struct fb_yaml *single;
	const struct fb_yaml *const *items;
	size_t nr;

	if (items_of(r, node, &items, &nr, &single) < 0)
		return -1;
	for (size_t i = 0; i < nr; i++) {
		FB_CLEANUP(fb_freep) char *path = NULL;
		const char *text;

		if (fb_plan_text_of(r, items[i], &text) < 0)
			return -1;
		path = fb_include_resolve(r->name, text);
		if (check_file(r, items[i], path) < 0)
			return -1;
		fb_strv_add(&r->plan->fixups, path);
	}
	return 0;
}

static int read_boots(struct fb_plan_reader *r, const struct fb_yaml *node)
{
	static const char *const known[] = {"min", "max", NULL};
	uint64_t min = r->plan->boots_min, max = r->plan->boots_max;
	const struct fb_yaml *n;

	if (check_keys(r, node, "boots", known) < 0)
		return -1;
	n = fb_yaml_get(node, "min");
	if (n && u64_of(r, n, 1, 10000, &min) < 0)
		return -1;
	n = fb_yaml_get(node, "max");
	if (n && u64_of(r, n, 1, 10000, &max) < 0)
		return -1;
	if (min > max)
		return fb_yaml_at(node, r->err, "boots: min %llu is more than max %llu",
				  (unsigned long long)min, (unsigned long long)max);
	r->plan->boots_min = (unsigned)min;
	r->plan->boots_max = (unsigned)max;
	return 0;
}

static int read_max_boots(struct fb_plan_reader *r, const struct fb_yaml *node)
{
	uint64_t n;

	if (u64_of(r, node, 1, 1000000, &n) < 0)
		return -1;
	r->plan->max_boots = (unsigned)n;
	return 0;
}

static int read_max_time(struct fb_plan_reader *r, const struct fb_yaml *node)
{
	return duration_of(r, node, &r->plan->max_time_ns);
}

static int read_timeouts(struct fb_plan_reader *r, const struct fb_yaml *node)
{
	static const char *const known[] = {"build", "boot", "silence", NULL};
	int64_t *const to[] = {&r->plan->build_timeout_ns, &r->plan->boot_timeout_ns,
			       &r->plan->silence_ns};

	if (check_keys(r, node, "timeouts", known) < 0)
		return -1;
	for (size_t i = 0; known[i]; i++) {
		const struct fb_yaml *n = fb_yaml_get(node, known[i]);

		if (n && duration_of(r, n, to[i]) < 0)
			return -1;
	}
	return 0;
}

static int read_confidence(struct fb_plan_reader *r, const struct fb_yaml *node)
{
	const char *text;

	if (fb_plan_text_of(r, node, &text) < 0)
		return -1;
	return fb_plan_confidence(text, &r->plan->confidence, r->err) < 0
		       ? fb_yaml_wrap_at(node, r->err)
		       : 0;
}

static int read_min_effect(struct fb_plan_reader *r, const struct fb_yaml *node)
{
	const char *text;

	if (fb_plan_text_of(r, node, &text) < 0)
		return -1;
	return fb_plan_min_effect(text, &r->plan->min_effect, r->err) < 0
		       ? fb_yaml_wrap_at(node, r->err)
		       : 0;
}

/* --- what a bisection follows ------------------------------------------------------------ */

/* "fio fs=btrfs; fio fs=ext4; ... (3 more)", owned. */
static char *cell_list(const struct fb_plan *plan, const bool *chosen)
{
	struct fb_str s = FB_STR_INIT;
	size_t shown = 0, more = 0;

	for (size_t i = 0; i < plan->nr_cells; i++) {
		FB_CLEANUP(fb_freep) char *label = NULL;

		if (chosen && !chosen[i])
			continue;
		if (shown == CELLS_SHOWN) {
			more++;
			continue;
		}
		label = fb_cell_label(&plan->cells[i]);
		fb_str_addf(&s, "%s%s", shown++ ? "; " : "", label);
	}
	if (more)
		fb_str_addf(&s, " and %zu more", more);
	return fb_str_take(&s);
}

/*
 * Take @name=@value as a further condition on @chosen. A testcase that has no such parameter, or
 * for which the value makes no sense, simply does not match; if that is so for all, it is an error.
 */
static int narrow(const struct fb_plan *plan, const char *name, const char *value, bool *chosen,
		  struct fb_error *err)
{
	struct fb_error first = FB_ERROR_INIT;
	bool known = false;

	for (size_t i = 0; i < plan->nr_cells; i++) {
		struct fb_error e = FB_ERROR_INIT;
		int rc = fb_cell_match(&plan->cells[i], name, value, &e);

		if (rc >= 0)
			known = true;
		else if (first.code == FB_ERROR_NONE)
			first = e;
		chosen[i] = chosen[i] && rc > 0;
	}
	if (known)
		return 0;
	*err = first;
	return -1;
}

/* The one cell that is left. Return: its index; -1 none, -2 several. */
static int only(const struct fb_plan *plan, const bool *chosen)
{
	int found = -1;

	for (size_t i = 0; i < plan->nr_cells; i++) {
		if (!chosen[i])
			continue;
		if (found >= 0)
			return -2;
		found = (int)i;
	}
	return found;
}

static int read_bisect_cell(struct fb_plan_reader *r, const struct fb_yaml *node)
{
	FB_CLEANUP(fb_freep) bool *chosen = fb_xcalloc(r->plan->nr_cells, sizeof(*chosen));
	FB_CLEANUP(fb_freep) char *list = NULL;

	if (node->kind != FB_YAML_MAP)
		return fb_yaml_at(node, r->err,
				  "cell: a map such as {testcase: fio, fs: ext4} is expected");
	for (size_t i = 0; i < r->plan->nr_cells; i++)
		chosen[i] = true;
	for (size_t i = 0; i < node->nr; i += 2) {
		const char *value;

		if (fb_plan_text_of(r, node->child[i + 1], &value) < 0)
			return -1;
		if (narrow(r->plan, node->child[i]->text, value, chosen, r->err) < 0)
			return fb_yaml_wrap_at(node->child[i], r->err);
	}
	r->plan->bisect_cell = only(r->plan, chosen);
	if (r->plan->bisect_cell >= 0)
		return 0;
	list = cell_list(r->plan, r->plan->bisect_cell == -2 ? chosen : NULL);
	return r->plan->bisect_cell == -2
		       ? fb_yaml_at(node, r->err, "several cells of the matrix match: %s", list)
		       : fb_yaml_at(node, r->err, "no cell of the matrix matches; there are: %s",
				    list);
}

static bool is_counter(const char *metric)
{
	return fb_str_has_prefix(metric, "blk.") || fb_str_has_prefix(metric, "iostat.") ||
	       fb_str_has_prefix(metric, "time.") || fb_str_has_prefix(metric, "vmstat.");
}

int fb_plan_check_metric(const struct fb_plan *plan, int cell, const char *name,
			 struct fb_error *err)
{
	struct fb_nearest near = {.name = name};
	const struct fb_metric *table;
	const char *hint;
	size_t nr;

	/* The counters (blk.*, iostat.*, time.*, vmstat.*) come with every cell. */
	if (is_counter(name))
		return 0;
	for (size_t i = 0; i < plan->nr_cells; i++)
		if ((cell < 0 || (size_t)cell == i) && fb_cell_yields(&plan->cells[i], name))
			return 0;
	table = fb_metrics(&nr);
	for (size_t i = 0; i < nr; i++)
		fb_nearest_offer(&near, table[i].name);
	hint = fb_nearest_get(&near);
	if (hint && strcmp(hint, name))
		return fb_error_set(err, FB_ERROR_USAGE,
				    "no cell gives the metric '%.64s'; did you mean '%s'?", name,
				    hint);
	return fb_error_set(err, FB_ERROR_USAGE, "no cell%s gives the metric '%.64s'",
			    cell < 0 ? "" : " that was chosen", name);
}

static int read_bisect_metric(struct fb_plan_reader *r, const struct fb_yaml *node)
{
	struct fb_error why = FB_ERROR_INIT;
	const char *name;

	if (fb_plan_text_of(r, node, &name) < 0)
		return -1;
	if (fb_plan_check_metric(r->plan, r->plan->bisect_cell, name, &why) < 0)
		return fb_yaml_at(node, r->err, "%s", why.text);
	r->plan->bisect_metric = fb_xstrdup(name);
	return 0;
}

static int read_bisect(struct fb_plan_reader *r, const struct fb_yaml *node)
{
	static const char *const known[] = {"cell", "metric", NULL};
	const struct fb_yaml *n;

	if (check_keys(r, node, "bisect", known) < 0)
		return -1;
	n = fb_yaml_get(node, "cell");
	if (n && read_bisect_cell(r, n) < 0)
		return -1;
	n = fb_yaml_get(node, "metric");
	return n ? read_bisect_metric(r, n) : 0;
}

/* --- the whole --------------------------------------------------------------------------- */

/* In the order in which they are read: later ones need earlier ones. */
static const struct {
	const char *key;
	int (*read)(struct fb_plan_reader *r, const struct fb_yaml *node);
	const char *not_command; /* why machine 'command' refuses it */
} keys[] = {
	{"machine", read_machine},
	{"kconfig", read_kconfig, "builds no kernel"},
	{"config", read_config, "builds no kernel"},
	{"memory", read_memory, "starts no machine"},
	{"disk", read_disk, "starts no machine"},
	{"cmdline", read_cmdline, "boots no kernel"},
	{"sysctl", read_sysctl, "changes no setting of this host"},
	{"fixups", read_fixups, "builds no kernel"},
	{"boots", read_boots},
	{"max_boots", read_max_boots},
	{"max_time", read_max_time},
	{"timeouts", read_timeouts},
	{"confidence", read_confidence},
	{"min_effect", read_min_effect},
	{"matrix", fb_plan_read_matrix},
	{"bisect", read_bisect},
};

/* What only the keys together can tell. */
static int check_whole(struct fb_plan_reader *r)
{
	struct fb_plan *plan = r->plan;
	bool command = !strcmp(plan->machine, "command");

	if (!plan->nr_cells)
		return fb_yaml_at(r->root, r->err, "'matrix' is missing: what to run");
	if (!command) {
		if (!plan->config_base)
			return fb_yaml_at(
				r->root, r->err,
				"'kconfig' or 'config' is missing: how to configure the kernel");
		return 0;
	}
	for (size_t i = 0; i < FB_ARRAY_SIZE(keys); i++) {
		const struct fb_yaml *node = fb_yaml_get(r->root, keys[i].key);

		if (node && keys[i].not_command)
			return fb_yaml_at(node, r->err, "%s: machine 'command' %s", keys[i].key,
					  keys[i].not_command);
	}
	plan->config_base = fb_xstrdup("tinyconfig");
	for (size_t i = 0; i < plan->nr_cells; i++)
		if (strcmp(plan->cells[i].testcase->name, "command") ||
		    strcmp(fb_cell_get(&plan->cells[i], "fs"), "none"))
			return fb_yaml_at(
				fb_yaml_get(r->root, "matrix"), r->err,
				"machine 'command' runs only testcase 'command', without 'fs'");
	return 0;
}

static int read_root(struct fb_plan_reader *r)
{
	const char *known[FB_ARRAY_SIZE(keys) + 1];

	for (size_t i = 0; i < FB_ARRAY_SIZE(keys); i++)
		known[i] = keys[i].key;
	known[FB_ARRAY_SIZE(keys)] = NULL;
	if (check_keys(r, r->root, "a plan", known) < 0)
		return -1;
	for (size_t i = 0; i < FB_ARRAY_SIZE(keys); i++) {
		const struct fb_yaml *node = fb_yaml_get(r->root, keys[i].key);

		if (node && keys[i].read(r, node) < 0)
			return -1;
	}
	if (!r->plan->machine)
		r->plan->machine = fb_xstrdup("deterministic");
	return check_whole(r);
}

static struct fb_plan *new_plan(const char *buf, size_t len, const char *name)
{
	struct fb_plan *plan = fb_xcalloc(1, sizeof(*plan));

	*plan = (struct fb_plan){
		.text = fb_xstrndup(buf, len),
		.path = fb_xstrdup(name),
		.cmdline = fb_xstrdup(""),
		.memory_b = 2ull << 30,
		.disk_b = 1ull << 30,
		.boots_min = 3,
		.boots_max = 60,
		.build_timeout_ns = 30 * 60 * FB_NS_PER_S,
		.boot_timeout_ns = 10 * 60 * FB_NS_PER_S,
		.silence_ns = 2 * 60 * FB_NS_PER_S,
		.confidence = 0.99,
		.min_effect = 0.02,
		.bisect_cell = -1,
	};
	return plan;
}

/*
 * With what was included, the text is that of the whole, so that a session does not depend on
 * other files, and is another one when one of them has changed.
 */
static int take_whole(struct fb_plan_reader *r, struct fb_error *err)
{
	FB_CLEANUP(fb_yaml_freep) struct fb_yaml *again = NULL;
	struct fb_str text = FB_STR_INIT;

	fb_yaml_write(r->root, &text);
	free(r->plan->text);
	r->plan->text = fb_str_take(&text);
	/* Each file was within the limits; is the sum? */
	if (fb_yaml_parse(r->plan->text, strlen(r->plan->text), r->name, &again, err) < 0)
		return fb_error_wrap(err, "%s:1:1: with all that it includes", r->name);
	return 0;
}

static int parse(const char *buf, size_t len, const char *name, const char *kconfig_dir,
		 bool stored, struct fb_plan **ret, struct fb_error *err)
{
	FB_CLEANUP(fb_includes_release) struct fb_includes includes = {0};
	FB_CLEANUP(fb_yaml_freep) struct fb_yaml *root = NULL;
	FB_CLEANUP(fb_plan_freep) struct fb_plan *plan = NULL;
	struct fb_plan_reader r = {
		.name = name, .kconfig_dir = kconfig_dir, .stored = stored, .err = err};
	int rc;

	if (fb_yaml_parse(buf, len, name, &root, err) < 0)
		return -1;
	plan = new_plan(buf, len, name);
	r.root = root;
	r.plan = plan;
	rc = stored ? 0 : fb_include_expand(root, name, &includes, err);
	if (rc > 0)
		rc = take_whole(&r, err);
	if (rc == 0)
		rc = read_root(&r);
	fb_str_release(&r.fragments);
	if (rc == 0)
		*ret = FB_TAKE(plan);
	return rc;
}

int fb_plan_parse(const char *buf, size_t len, const char *name, const char *kconfig_dir,
		  struct fb_plan **ret, struct fb_error *err)
{
	return parse(buf, len, name, kconfig_dir, false, ret, err);
}

int fb_plan_parse_stored(const char *text, const char *name, const char *kconfig_dir,
			 struct fb_plan **ret, struct fb_error *err)
{
	return parse(text, strlen(text), name, kconfig_dir, true, ret, err);
}

int fb_plan_load(const char *path, const char *kconfig_dir, struct fb_plan **ret,
		 struct fb_error *err)
{
	struct fb_str s = FB_STR_INIT;
	int rc = fb_file_read(path, FB_YAML_SIZE_MAX, &s, err);

	if (rc == 0)
		rc = fb_plan_parse(fb_str_cstr(&s), s.len, path, kconfig_dir, ret, err);
	else {
		/* A name that leads to no plan is the user's mistake, not the system's. */
		err->code = FB_ERROR_USAGE;
		fb_error_wrap(err, "plan");
	}
	fb_str_release(&s);
	return rc;
}

void fb_plan_free(struct fb_plan *plan)
{
	if (!plan)
		return;
	for (size_t i = 0; i < plan->nr_cells; i++)
		fb_cell_release(&plan->cells[i]);
	free(plan->cells);
	fb_strvp(&plan->fragments);
	fb_strvp(&plan->fixups);
	fb_strvp(&plan->sysctl);
	free(plan->text);
	free(plan->path);
	free(plan->machine);
	free(plan->config_base);
	free(plan->cmdline);
	free(plan->bisect_metric);
	free(plan);
}

void fb_plan_drop(struct fb_plan *plan, size_t cell)
{
	fb_cell_release(&plan->cells[cell]);
	plan->nr_cells--;
	memmove(&plan->cells[cell], &plan->cells[cell + 1],
		(plan->nr_cells - cell) * sizeof(*plan->cells));
	if (plan->bisect_cell > (int)cell)
		plan->bisect_cell--;
}

void fb_plan_freep(struct fb_plan **plan)
{
	fb_plan_free(*plan);
	*plan = NULL;
}

/* %XX as in fb_cell_key(), in place. */
static void unescape(char *s)
{
	char *out = s;

	for (char *p = s; *p; p++) {
		unsigned byte;

		if (*p == '%' && isxdigit((unsigned char)p[1]) && isxdigit((unsigned char)p[2]) &&
		    sscanf(p + 1, "%2x", &byte) == 1 && byte) {
			*out++ = (char)byte;
			p += 2;
		} else {
			*out++ = *p;
		}
	}
	*out = '\0';
}

int fb_plan_select(const struct fb_plan *plan, const char *selector, int *ret, struct fb_error *err)
{
	FB_CLEANUP(fb_freep) bool *chosen = fb_xcalloc(plan->nr_cells, sizeof(*chosen));
	FB_CLEANUP(fb_freep) char *copy = fb_xstrdup(selector), *list = NULL;
	char *save = NULL;
	int found;

	for (size_t i = 0; i < plan->nr_cells; i++)
		chosen[i] = true;
	for (char *term = strtok_r(copy, ",", &save); term; term = strtok_r(NULL, ",", &save)) {
		struct fb_error e = FB_ERROR_INIT;
		char *value = strchr(term, '=');

		if (!value)
			return fb_error_set(err, FB_ERROR_USAGE,
					    "cell '%.64s': 'NAME=VALUE,...' is expected", selector);
		*value++ = '\0';
		unescape(value);
		if (narrow(plan, term, value, chosen, &e) < 0)
			return fb_error_set(err, FB_ERROR_USAGE, "cell '%.64s': %s", selector,
					    e.text);
	}
	found = only(plan, chosen);
	if (found < 0) {
		list = cell_list(plan, found == -2 ? chosen : NULL);
		return fb_error_set(err, FB_ERROR_USAGE,
				    found == -2 ? "cell '%.64s': several match: %s"
						: "cell '%.64s': none matches; there are: %s",
				    selector, list);
	}
	*ret = found;
	return 0;
}
