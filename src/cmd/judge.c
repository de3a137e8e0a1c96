/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `firstbad judge`: is what is checked out good or bad? For `git bisect run`. */
#include <string.h>

#include "src/cmd/bisect.h"
#include "src/cmd/manual.h"
#include "src/util/json.h"
#include "src/util/util.h"

#define GIT_GOOD 0
#define GIT_BAD	 1
#define GIT_SKIP 125

struct judge_opts {
	struct fb_common common;
	const char *plan, *good, *bad, *rev;
};

/* The ends that the bisection of this worktree began with. */
static int ends_by_hand(const struct fb_manual *m, struct fb_oid *good, struct fb_oid *bad,
			struct fb_error *err)
{
	for (size_t i = m->nr; i-- > 0;) {
		const struct fb_manual_item *item = &m->item[i];

		if (item->kind == FB_MANUAL_MARK && item->side == FB_SIDE_OLD)
			*good = item->commits[0];
		else if (item->kind == FB_MANUAL_MARK && item->side == FB_SIDE_NEW)
			*bad = item->commits[0];
	}
	if (!m->active || !good->hex[0] || !bad->hex[0])
		return fb_error_set(err, FB_ERROR_USAGE,
				    "judge needs --good and --bad, or a bisection of this "
				    "worktree with both ends");
	return 0;
}

/* The session of these ends and this plan: made, or taken up. */
static int begin(const struct judge_opts *o, struct fb_bisect_cmd *c,
		 const struct fb_manual_cmd *hand, struct fb_oid *commit, bool *ret_fresh,
		 struct fb_error *err)
{
	struct fb_oid good = {{0}};
	struct fb_bisect_args args = {.cell = -1, .good = &good, .nr_good = 1};
	int same;

	if (!o->good != !o->bad)
		return fb_error_set(err, FB_ERROR_USAGE, "--good and --bad go together");
	if (o->good ? fb_history_resolve(c->history, o->good, &good, err) < 0 ||
			      fb_history_resolve(c->history, o->bad, &args.bad, err) < 0
		    : ends_by_hand(hand->m, &good, &args.bad, err) < 0)
		return -1;
	*commit = hand->m->git.head;
	if (o->rev && fb_history_resolve(c->history, o->rev, commit, err) < 0)
		return -1;
	if (fb_load_plan(o->plan, &c->plan, err) < 0)
		return -1;
	args.cell = c->plan->bisect_cell;
	args.metric = c->plan->bisect_metric;
	args.change = FB_CHANGE_ANY;
	args.first_parent = !o->good && hand->m->git.first_parent;
	same = fb_bisect_cmd_find_same(c, &args, err);
	*ret_fresh = same == 0;
	if (same)
		return same < 0 ? -1 : 0;
	return fb_bisect_cmd_begin(c, &args, args.bad.hex, NULL, 0, err);
}

static int judge(const struct judge_opts *o, struct fb_bisect_cmd *c, struct fb_oid *commit,
		 struct fb_judgement *ret, struct fb_error *err)
{
	FB_CLEANUP(fb_manual_cmd_release) struct fb_manual_cmd hand = {0};
	bool fresh = false;

	if (fb_manual_cmd_open(&hand, &o->common, false, err) < 0 ||
	    fb_open_history(&o->common, &c->history, err) < 0 ||
	    fb_open_store(&c->store, err) < 0 || begin(o, c, &hand, commit, &fresh, err) < 0 ||
	    fb_bisect_cmd_lab(c, &o->common, fresh, err) < 0)
		return -1;
	return fb_bisect_judge(c->b, c->lab, commit, ret, err);
}

static int tell(const struct judge_opts *o, const struct fb_bisect_cmd *c,
		const struct fb_oid *commit, const struct fb_judgement *j)
{
	static const char *const words[] = {"good", "bad", "skip"};
	FB_CLEANUP(fb_str_release) struct fb_str out = FB_STR_INIT;
	json_auto_t *json =
		json_pack("{s:s, s:s, s:f, s:s}", "commit", commit->hex, "judgement",
			  words[j->side], "p_bad", j->p_new, "session", c->b->session.name);

	if (o->common.json)
		fb_json_line(json, &out);
	else
		fb_str_addf(&out, "%s %s (probability of bad %.4f)\n", commit->hex, words[j->side],
			    j->p_new);
	return fb_put(fb_str_cstr(&out));
}

int fb_cmd_judge(int argc, char **argv)
{
	struct judge_opts o = {0};
	const struct fb_opt opts[] = {
		FB_COMMON_OPTS(o.common),
		{"plan", 0, FB_OPT_STRING, &o.plan, "PLAN", "the plan; default: a built-in one"},
		{"good", 0, FB_OPT_STRING, &o.good, "REV", "the good end, without a bisection"},
		{"bad", 0, FB_OPT_STRING, &o.bad, "REV", "the bad end, without a bisection"},
		{"rev", 0, FB_OPT_STRING, &o.rev, "REV", "default: what is checked out"},
	};
	FB_CLEANUP(fb_bisect_cmd_release) struct fb_bisect_cmd c = {0};
	struct fb_error err = FB_ERROR_INIT;
	struct fb_judgement j;
	struct fb_oid commit;
	int first, rc = fb_opt_parse(argc, argv, "judge [--plan PLAN]",
				     "Measures what is checked out, and exits with 0 (good), 1 "
				     "(bad) or 125 (skip),\nfor `git bisect run firstbad judge "
				     "--plan PLAN`; 255 is an error.",
				     opts, FB_ARRAY_SIZE(opts), &first);

	if (rc >= 0)
		return rc ? FB_EXIT_ABORT : 0;
	if (fb_at_most(argc, argv, first, &err) < 0 || judge(&o, &c, &commit, &j, &err) < 0) {
		fb_fail(&err);
		return FB_EXIT_ABORT;
	}
	if (tell(&o, &c, &commit, &j))
		return FB_EXIT_ABORT;
	return j.side == FB_JUDGED_OLD ? GIT_GOOD : j.side == FB_JUDGED_NEW ? GIT_BAD : GIT_SKIP;
}
