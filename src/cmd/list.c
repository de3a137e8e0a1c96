/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `firstbad list WHAT`. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "src/cmd/cmd.h"
#include "src/util/file.h"
#include "src/util/json.h"
#include "src/util/util.h"
#include "testcases/testcase.h"

/* Each lister appends objects whose first two keys are the columns of the plain output. */
typedef int lister(json_t *rows, struct fb_error *err);

/* Of the testcase with its defaults; owned or NULL. What only a plan can tell is not known. */
static char *lacks(const struct fb_testcase *testcase)
{
	FB_CLEANUP(fb_cell_release) struct fb_cell cell = {0};
	struct fb_error ignored = FB_ERROR_INIT;
	int bad;

	return fb_cell_new(testcase, NULL, 0, &cell, &bad, &ignored) < 0
		       ? NULL
		       : fb_cell_unavailable(&cell);
}

static int list_tests(json_t *rows, struct fb_error *err)
{
	for (const struct fb_testcase *const *t = fb_testcases(); *t; t++) {
		FB_CLEANUP(fb_freep) char *why = lacks(*t);
		json_t *row =
			json_pack("{s:s, s:s, s:i, s:s*}", "test", (*t)->name, "summary",
				  (*t)->summary, "version", (int)(*t)->version, "unavailable", why);
		json_t *params = json_array();

		for (const struct fb_param_def *p = (*t)->params; p->name; p++)
			json_array_append_new(params,
					      json_pack("{s:s, s:s?, s:s, s:s}", "name", p->name,
							"default", p->def, "values", p->choices,
							"help", p->help));
		json_object_set_new(row, "parameters", params);
		json_array_append_new(rows, row);
	}
	return 0;
}

/* The testcase that gives the metric; the counters come with every cell. */
static const char *test_of(const struct fb_metric *metric)
{
	const char *dot = strchr(metric->name, '.');

	for (const struct fb_testcase *const *t = fb_testcases(); *t; t++)
		if (strlen((*t)->name) == (size_t)(dot - metric->name) &&
		    !strncmp((*t)->name, metric->name, (size_t)(dot - metric->name)))
			return (*t)->name;
	return "every";
}

static int list_metrics(json_t *rows, struct fb_error *err)
{
	const struct fb_metric *m;
	size_t nr;

	m = fb_metrics(&nr);
	for (size_t i = 0; i < nr; i++) {
		/* "blk.*": what a later agent may count, too. */
		if (fb_str_has_suffix(m[i].name, ".*"))
			continue;
		json_array_append_new(
			rows, json_pack("{s:s, s:s, s:s, s:b, s:s}", "metric", m[i].name, "better",
					fb_better_name(m[i].better), "unit", m[i].unit, "headline",
					m[i].headline, "test", test_of(&m[i])));
	}
	return 0;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int is_fragment(const struct dirent *d)
{
	return fb_str_has_suffix(d->d_name, ".config");
}

static int list_kconfigs(json_t *rows, struct fb_error *err)
{
	FB_CLEANUP(fb_freep) char *dir = fb_kconfig_dir();
	static const char head[] = "# what: ";
	struct dirent **names = NULL;
	int nr = scandir(dir, &names, is_fragment, by_name), rc = 0;

	if (nr < 0)
		return fb_error_set_sys(err, errno, "read '%s'", dir);
	for (int i = 0; i < nr; i++) {
		FB_CLEANUP(fb_freep) char *path = fb_xasprintf("%s/%s", dir, names[i]->d_name);
		struct fb_str text = FB_STR_INIT;

		if (rc == 0 && fb_file_read(path, 1 << 20, &text, err) == 0) {
			const char *s = fb_str_cstr(&text);
			size_t skip = fb_str_has_prefix(s, head) ? strlen(head) : 0,
			       len = strcspn(s + skip, "\n");
			FB_CLEANUP(fb_freep)
			char *name = fb_xstrndup(names[i]->d_name, strlen(names[i]->d_name) - 7);
			FB_CLEANUP(fb_freep) char *what = fb_xstrndup(s + skip, len);

			json_array_append_new(
				rows, json_pack("{s:s, s:s}", "kconfig", name, "what", what));
		} else {
			rc = -1;
		}
		fb_str_release(&text);
		free(names[i]);
	}
	free(names);
	return rc;
}

static int list_machines(json_t *rows, struct fb_error *err)
{
	static const char *const what[] = {
		[FB_MACHINE_DETERMINISTIC] =
			"QEMU counting instructions, simulated device: same digits anywhere",
		[FB_MACHINE_TCG] = "QEMU without KVM",
		[FB_MACHINE_KVM] = "QEMU with KVM",
		[FB_MACHINE_COMMAND] = "no machine: a command in the worktree",
	};

	for (size_t i = 0; i < FB_ARRAY_SIZE(what); i++)
		json_array_append_new(rows, json_pack("{s:s, s:s}", "machine",
						      fb_machine_name((enum fb_machine)i), "what",
						      what[i]));
	return 0;
}

static int list_engines(json_t *rows, struct fb_error *err)
{
	json_array_append_new(rows, json_pack("{s:s, s:s}", "engine", "local", "what",
					      "jobs as children of firstbad on this host"));
	return 0;
}

static int list_sessions(json_t *rows, struct fb_error *err)
{
	FB_CLEANUP(fb_store_freep) struct fb_store *store = NULL;
	struct fb_session *sessions = NULL;
	size_t nr = 0;

	if (fb_open_store(&store, err) < 0 || fb_store_session_list(store, &sessions, &nr, err) < 0)
		return -1;
	for (size_t i = 0; i < nr; i++) {
		struct fb_session *s = &sessions[i];
		const char *verdict = fb_json_str(s->verdict, "verdict");
		time_t t = (time_t)s->created_s;
		/* A directory can have any name, a row of the list only text. */
		FB_CLEANUP(fb_freep) char *workdir = fb_xstrdup(s->workdir);
		char when[32] = "";
		struct tm tm;

		if (gmtime_r(&t, &tm))
			strftime(when, sizeof(when), "%Y-%m-%d %H:%M", &tm);
		fb_text_tame(workdir);
		json_array_append_new(rows,
				      json_pack("{s:s, s:s, s:s, s:s, s:s}", "session", s->name,
						"verdict", verdict ? verdict : s->state, "kind",
						s->kind, "begun", when, "worktree", workdir));
		fb_session_release(s);
	}
	free(sessions);
	return 0;
}

static const struct {
	const char *name;
	lister *list;
} lists[] = {
	{"engines", list_engines}, {"kconfigs", list_kconfigs}, {"machines", list_machines},
	{"metrics", list_metrics}, {"sessions", list_sessions}, {"tests", list_tests},
};

static bool is_reason(const char *key)
{
	return !strcmp(key, "unavailable");
}

static void print_rows(json_t *rows, struct fb_str *out)
{
	json_t *row, *v;
	const char *key;
	size_t i;

	json_array_foreach(rows, i, row)
	{
		bool first = true;

		json_object_foreach(row, key, v)
		{
			if (!json_is_string(v))
				continue;
			fb_str_addf(out,
				    first	     ? "%-34s"
				    : is_reason(key) ? "  UNAVAILABLE: %s"
						     : "  %s",
				    json_string_value(v));
			first = false;
		}
		fb_str_add(out, "\n");
	}
}

int fb_cmd_list(int argc, char **argv)
{
	struct fb_common common = {0};
	const struct fb_opt opts[] = {FB_COMMON_OPTS(common)};
	json_auto_t *rows = json_array();
	struct fb_error err = FB_ERROR_INIT;
	struct fb_str out = FB_STR_INIT;
	lister *list = NULL;
	int first, rc = fb_opt_parse(
			   argc, argv, "list WHAT",
			   "WHAT is engines, kconfigs, machines, metrics, sessions or tests.", opts,
			   FB_ARRAY_SIZE(opts), &first);

	if (rc >= 0)
		return rc;
	for (size_t i = 0; first < argc && i < FB_ARRAY_SIZE(lists); i++)
		if (!strcmp(argv[first], lists[i].name))
			list = lists[i].list;
	if (!list) {
		fb_error_set(&err, FB_ERROR_USAGE,
			     "list what? engines, kconfigs, machines, metrics, sessions or tests");
		return fb_fail(&err);
	}
	if (fb_at_most(argc, argv, first + 1, &err) < 0 || fb_enter(&common, &err) < 0 ||
	    list(rows, &err) < 0)
		return fb_fail(&err);
	if (common.json)
		fb_json_pretty(rows, &out);
	else
		print_rows(rows, &out);
	rc = fb_put(fb_str_cstr(&out));
	fb_str_release(&out);
	return rc;
}
