/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `firstbad compare`: a plan's matrix on several revisions side by side. */
#include <limits.h>
#include <string.h>

#include "src/cmd/measuring.h"
#include "src/controller/matrix.h"
#include "src/util/clock.h"
#include "src/util/util.h"

#define BOOTS_OF_PLAN UINT_MAX

struct opts {
	struct fb_common common;
	const char *plan, *format;
	unsigned boots;
	bool all, more;
};

static const struct fb_matrix_format *find_format(const char *name, struct fb_error *err)
{
	FB_CLEANUP(fb_str_release) struct fb_str known = FB_STR_INIT;

	for (const struct fb_matrix_format *f = fb_matrix_formats(); f->name; f++) {
		if (!strcmp(f->name, name))
			return f;
		fb_str_addf(&known, " %s", f->name);
	}
	fb_error_set(err, FB_ERROR_USAGE, "no format '%s'; known:%s", name, fb_str_cstr(&known));
	return NULL;
}

static unsigned boots_made(const struct fb_measuring *me)
{
	size_t n = 0;

	for (size_t i = 0; i < me->nr; i++)
		n += me->measured[i].nr_boots;
	return (unsigned)n;
}

/* May another round begin, by the plan's limits for all boots? */
static bool in_limits(const struct fb_plan *plan, const struct fb_measuring *me, int64_t begun_ns)
{
	return (!plan->max_boots || boots_made(me) + me->nr <= plan->max_boots) &&
	       (!plan->max_time_ns || fb_clock_mono_ns() - begun_ns < plan->max_time_ns);
}

/* Rounds until all is settled, or the plan's boots or time are used up. */
static int settle(struct fb_measuring *me, const struct fb_matrix_spec *spec, int64_t begun_ns,
		  struct fb_matrix *matrix, struct fb_error *err)
{
	FB_CLEANUP(fb_freep) bool *left_out = fb_xcalloc(me->nr, sizeof(*left_out));

	while (in_limits(spec->plan, me, begun_ns) &&
	       fb_matrix_left_out(matrix, spec->plan->boots_max, left_out)) {
		if (fb_measuring_round(me, left_out, err) < 0)
			return -1;
		fb_matrix_release(matrix);
		fb_matrix_fill(spec, matrix);
	}
	return 0;
}

static int name_kernels(struct fb_history *history, const struct fb_measuring *me,
			struct fb_matrix *matrix, struct fb_error *err)
{
	for (size_t i = 0; i < me->nr; i++) {
		struct fb_commit commit;

		if (fb_history_commit(history, &me->measured[i].commit, &commit, err) < 0)
			return -1;
		matrix->kernels[i].subject = fb_xstrdup(commit.subject);
		fb_commit_release(&commit);
	}
	return 0;
}

/* 0 when something was compared. */
static int exit_of(const struct fb_matrix *matrix)
{
	return matrix->nr_compared ? FB_EXIT_OK : FB_EXIT_UNTESTABLE;
}

static int run(const struct opts *o, const struct fb_matrix_format *format, struct fb_plan *plan,
	       char *const *revs, unsigned boots, struct fb_error *err)
{
	FB_CLEANUP(fb_measure_cmd_release) struct fb_measure_cmd c = {0};
	FB_CLEANUP(fb_matrix_release) struct fb_matrix matrix = {0};
	FB_CLEANUP(fb_str_release) struct fb_str out = FB_STR_INIT;
	int64_t begun_ns = fb_clock_mono_ns();
	struct fb_matrix_spec spec;
	int rc;

	if (fb_measure_cmd_begin(&c, &o->common, plan, "compare", revs, true, err) < 0)
		return -1;
	while (c.measuring.rounds < boots)
		if (fb_measuring_round(&c.measuring, NULL, err) < 0)
			return -1;
	spec = (struct fb_matrix_spec){plan, c.measuring.measured, c.measuring.nr, o->all, o->more};
	fb_matrix_fill(&spec, &matrix);
	if (o->more && settle(&c.measuring, &spec, begun_ns, &matrix, err) < 0)
		return -1;
	if (name_kernels(c.history, &c.measuring, &matrix, err) < 0)
		return -1;
	format->render(&matrix, &out);
	rc = fb_measure_cmd_end(&c, "compared", err);
	if (rc == 0)
		rc = fb_put(fb_str_cstr(&out));
	return rc == 0 ? exit_of(&matrix) : rc;
}

int fb_cmd_compare(int argc, char **argv)
{
	struct opts o = {.boots = BOOTS_OF_PLAN};
	const struct fb_opt opts[] = {
		FB_COMMON_OPTS(o.common),
		{"plan", 0, FB_OPT_STRING, &o.plan, "PLAN", "what to run; default: built in"},
		{"boots", 0, FB_OPT_UINT, &o.boots, "N",
		 "boots of each to begin with; default: boots.min of the plan"},
		{"more", 0, FB_OPT_FLAG, &o.more, NULL,
		 "boot on until all is settled, or up to the limits of the plan"},
		{"all", 'a', FB_OPT_FLAG, &o.all, NULL, "all metrics, not only headline ones"},
		{"format", 0, FB_OPT_STRING, &o.format, "FORMAT", "plain (default), json or lkp"},
	};
	const struct fb_matrix_format *format;
	FB_CLEANUP(fb_plan_freep) struct fb_plan *plan = NULL;
	FB_CLEANUP(fb_strvp) char **revs = NULL;
	struct fb_error err = FB_ERROR_INIT;
	int first,
		rc = fb_opt_parse(
			argc, argv, "compare [--plan PLAN] REV REV...",
			"Builds and boots the revisions in turn and says for each cell whether it\n"
			"differs from the first.",
			opts, FB_ARRAY_SIZE(opts), &first);

	if (rc >= 0)
		return rc;
	if (argc - first < 2 || o.boots == 0) {
		fb_error_set(&err, FB_ERROR_USAGE,
			     o.boots == 0 ? "--boots 0 measures nothing"
					  : "compare needs two revisions at least");
		return fb_fail(&err);
	}
	for (int i = first; i < argc; i++)
		fb_strv_add(&revs, argv[i]);
	format = find_format(o.format ? o.format : o.common.json ? "json" : "plain", &err);
	if (!format || fb_enter(&o.common, &err) < 0 || fb_load_plan(o.plan, &plan, &err) < 0)
		return fb_fail(&err);
	rc = run(&o, format, plan, revs, o.boots != BOOTS_OF_PLAN ? o.boots : plan->boots_min,
		 &err);
	return rc < 0 ? fb_fail(&err) : rc;
}
