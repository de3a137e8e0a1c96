/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `firstbad bisect auto`. */
#include "src/cmd/bisect.h"
#include "src/util/util.h"

struct auto_opts {
	struct fb_common common;
	const char *plan, *cell, *metric, *session, *change;
	bool first_parent, fresh;
};

static const char usage[] = "bisect auto [--plan PLAN] [BAD [GOOD...]]";
static const char about[] =
	"Builds and boots kernels between GOOD and BAD until one commit holds the\n"
	"probability asked for. Without BAD and GOOD, or with the same plan, options and\n"
	"revisions as the newest unfinished session of this worktree, that one is taken up\n"
	"again.";

/* Told before a session is there: its builds would only fail, one after the other. */
static int check_tree(struct fb_bisect_cmd *c, const struct fb_oid *bad, struct fb_error *err)
{
	static const char *const files[] = {"Kbuild", "Makefile"};

	if (fb_machine_find(c->plan->machine) == FB_MACHINE_COMMAND)
		return 0;
	for (size_t i = 0; i < FB_ARRAY_SIZE(files); i++) {
		int holds = fb_history_holds(c->history, bad, files[i], err);

		if (holds < 0)
			return -1;
		if (!holds)
			return fb_error_set(err, FB_ERROR_USAGE,
					    "%.12s is no kernel tree (no %s): 'firstbad bisect run "
					    "CMD' bisects any other project",
					    bad->hex, files[i]);
	}
	return 0;
}

/*
 * The session of the command line: made, or taken up when it was begun before.
 * @ret_fresh: whether it was made.
 */
static int begin(const struct auto_opts *o, struct fb_bisect_cmd *c, char **revs, int nr_revs,
		 bool *ret_fresh, struct fb_error *err)
{
	FB_CLEANUP(fb_freep) struct fb_oid *good = fb_xcalloc((size_t)nr_revs, sizeof(*good));
	struct fb_bisect_args args = {.cell = -1, .good = good, .first_parent = o->first_parent};
	int same = 0;

	if (nr_revs < 2)
		return fb_error_set(err, FB_ERROR_USAGE,
				    "bisect auto needs BAD and at least one GOOD");
	if (fb_load_plan(o->plan, &c->plan, err) < 0 ||
	    fb_change_of(o->change, &args.change, err) < 0)
		return -1;
	args.cell = c->plan->bisect_cell;
	args.metric = o->metric ? o->metric : c->plan->bisect_metric;
	if (o->cell && fb_plan_select(c->plan, o->cell, &args.cell, err) < 0)
		return fb_error_wrap(err, "--cell");
	if (o->metric && fb_plan_check_metric(c->plan, args.cell, o->metric, err) < 0)
		return fb_error_wrap(err, "--metric");
	if (fb_history_resolve(c->history, revs[0], &args.bad, err) < 0)
		return -1;
	for (int i = 1; i < nr_revs; i++)
		if (fb_history_resolve(c->history, revs[i], &good[args.nr_good++], err) < 0)
			return -1;
	if (check_tree(c, &args.bad, err) < 0)
		return -1;
	if (!o->fresh)
		same = fb_bisect_cmd_find_same(c, &args, err);
	*ret_fresh = same == 0;
	if (same)
		return same < 0 ? -1 : 0;
	return fb_bisect_cmd_begin(c, &args, revs[0], revs + 1, (size_t)nr_revs - 1, err);
}

/* An option that would be ignored is a mistake that is told at once, not after hours. */
static int check_opts(const struct auto_opts *o, bool has_revs, struct fb_error *err)
{
	const char *fixed = o->plan	      ? "plan"
			    : o->cell	      ? "cell"
			    : o->metric	      ? "metric"
			    : o->change	      ? "change"
			    : o->first_parent ? "first-parent"
			    : o->fresh	      ? "fresh"
					      : NULL;

	if (has_revs && o->session)
		return fb_error_set(
			err, FB_ERROR_USAGE,
			"--session takes up a session, BAD and GOOD begin one: not both");
	if (!has_revs && fixed)
		return fb_error_set(
			err, FB_ERROR_USAGE,
			"--%s goes with BAD and GOOD: a session that is taken up keeps its own",
			fixed);
	return 0;
}

int fb_cmd_bisect_auto(int argc, char **argv)
{
	struct auto_opts o = {0};
	const struct fb_opt opts[] = {
		FB_COMMON_OPTS(o.common),
		{"plan", 0, FB_OPT_STRING, &o.plan, "PLAN", "the plan; default: a built-in one"},
		{"cell", 0, FB_OPT_STRING, &o.cell, "K=V,...", "the cell of the matrix to follow"},
		{"metric", 0, FB_OPT_STRING, &o.metric, "NAME", "the metric to follow"},
		{"change", 0, FB_OPT_STRING, &o.change, "KIND",
		 "regression (default), improvement or any"},
		{"first-parent", 0, FB_OPT_FLAG, &o.first_parent, NULL,
		 "follow only the first parent of merges"},
		{"session", 0, FB_OPT_STRING, &o.session, "NAME", "take up this session"},
		{"fresh", 0, FB_OPT_FLAG, &o.fresh, NULL,
		 "begin anew, also when the same was begun before"},
	};
	FB_CLEANUP(fb_bisect_cmd_release) struct fb_bisect_cmd c = {0};
	struct fb_error err = FB_ERROR_INIT;
	bool fresh = false;
	int first, rc = fb_opt_parse(argc, argv, usage, about, opts, FB_ARRAY_SIZE(opts), &first);

	if (rc >= 0)
		return rc;
	if (check_opts(&o, first < argc, &err) < 0 || fb_bisect_cmd_open(&c, &o.common, &err) < 0)
		return fb_fail(&err);
	rc = first < argc ? begin(&o, &c, argv + first, argc - first, &fresh, &err)
			  : fb_bisect_cmd_find(&c, o.session, &err);
	if (rc < 0 || fb_bisect_cmd_run(&c, &o.common, "auto", fresh, &err) < 0)
		return fb_fail(&err);
	rc = fb_bisect_cmd_report(&c, fb_reporter_find(o.common.json ? "json" : "plain"));
	return rc ? rc : fb_bisect_cmd_exit(&c);
}
