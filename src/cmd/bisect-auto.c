/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `firstbad bisect auto`. */
#include <stdio.h>
#include <string.h>

#include "src/cmd/bisect.h"
#include "src/cmd/manual.h"
#include "src/controller/handover.h"
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
	"again. Without them in a bisection by hand ('bisect start') its ends and skips are\n"
	"taken over, and it gets what was measured.";

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

/* The ends of the bisection by hand, and its plan unless another one is given. */
static int take_over(const struct auto_opts *o, struct fb_bisect_cmd *c, struct fb_manual *m,
		     bool *ret_fresh, struct fb_error *err)
{
	FB_CLEANUP(fb_manual_marks_release) struct fb_manual_marks marks;
	struct fb_bisect_args args = {.cell = -1, .first_parent = m->git.first_parent};
	int same;

	fb_manual_marks(m, &marks);
	if (!marks.bad.hex[0] || !marks.nr_good)
		return fb_error_set(
			err, FB_ERROR_USAGE,
			"the bisection by hand lacks an end: say 'firstbad bisect %s'",
			fb_manual_term(m, marks.bad.hex[0] ? FB_SIDE_OLD : FB_SIDE_NEW));
	if (m->git.paths)
		return fb_error_set(err, FB_ERROR_USAGE,
				    "the bisection by hand is limited to paths, which bisect auto "
				    "cannot be");
	if (!o->plan && m->session.plan ? fb_session_plan(&m->session, &c->plan, err) < 0
					: fb_load_plan(o->plan, &c->plan, err) < 0)
		return -1;
	if (fb_change_of(o->change, &args.change, err) < 0)
		return -1;
	args.bad = marks.bad;
	args.good = marks.good;
	args.nr_good = marks.nr_good;
	args.cell = c->plan->bisect_cell;
	args.metric = c->plan->bisect_metric;
	if (check_tree(c, &args.bad, err) < 0)
		return -1;
	/* One that has ended, too: it would only say the same again. */
	same = fb_store_session_find(c->store, fb_history_workdir(c->history), NULL, "bisect",
				     &c->session, err);
	if (same < 0)
		return -1;
	if (same > 0 && fb_bisect_is_same(&c->session, c->plan, &args))
		return 0;
	fb_session_release(&c->session);
	memset(&c->session, 0, sizeof(c->session));
	*ret_fresh = true;
	if (fb_bisect_cmd_begin(c, &args, marks.bad.hex, NULL, 0, err) < 0)
		return -1;
	return fb_handover_skips(m, c->session.id, err);
}

/* What was measured, also by one that was stopped, is told to the bisection by hand. */
static int hand_back(struct fb_manual *m, const struct fb_bisect_cmd *c, struct fb_error *err)
{
	size_t nr;

	if (!c->b || fb_handover_back(m, c->b, &nr, err) < 0)
		return c->b ? -1 : 0;
	if (nr)
		fprintf(stderr,
			"firstbad: the bisection by hand has %zu more value%s; 'firstbad bisect "
			"next' goes on with it\n",
			nr, fb_plural(nr));
	return 0;
}

/*
 * Without ends: the bisection by hand of this worktree, if there is one.
 *
 * Return: 1 when it ran, 0 without one, -1.
 */
static int run_by_hand(const struct auto_opts *o, struct fb_bisect_cmd *c, struct fb_error *err)
{
	FB_CLEANUP(fb_manual_cmd_release) struct fb_manual_cmd hand = {0};
	struct fb_error back = FB_ERROR_INIT;
	bool fresh = false;
	int rc;

	rc = fb_manual_cmd_take(&hand, &o->common, err);
	if (rc <= 0)
		return rc;
	if (fb_open_history(&o->common, &c->history, err) < 0 ||
	    fb_open_store(&c->store, err) < 0 || take_over(o, c, hand.m, &fresh, err) < 0)
		return -1;
	rc = fb_bisect_cmd_run(c, &o->common, "auto", fresh, err);
	if (hand_back(hand.m, c, rc < 0 ? &back : err) < 0)
		rc = -1;
	return rc < 0 ? -1 : 1;
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
	rc = first >= argc && !o.session && !o.cell && !o.metric && !o.first_parent && !o.fresh
		     ? run_by_hand(&o, &c, &err)
		     : 0;
	if (rc < 0)
		return fb_fail(&err);
	if (rc > 0) {
		rc = fb_bisect_cmd_report(&c, fb_reporter_find(o.common.json ? "json" : "plain"));
		return rc ? rc : fb_bisect_cmd_exit(&c);
	}
	if (first >= argc && !o.session)
		o.common.dir = NULL; /* -C was carried out */
	if (check_opts(&o, first < argc, &err) < 0 || fb_bisect_cmd_open(&c, &o.common, &err) < 0)
		return fb_fail(&err);
	rc = first < argc ? begin(&o, &c, argv + first, argc - first, &fresh, &err)
			  : fb_bisect_cmd_find(&c, o.session, &err);
	if (rc < 0 || fb_bisect_cmd_run(&c, &o.common, "auto", fresh, &err) < 0)
		return fb_fail(&err);
	rc = fb_bisect_cmd_report(&c, fb_reporter_find(o.common.json ? "json" : "plain"));
	return rc ? rc : fb_bisect_cmd_exit(&c);
}
