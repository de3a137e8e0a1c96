/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `firstbad bisect auto` and `firstbad bisect status`. */
#include <stdio.h>
#include <string.h>

#include "src/cmd/cmd.h"
#include "src/controller/reporting.h"
#include "src/util/json.h"
#include "src/util/util.h"

#define SUBJECT_SHOWN 56

struct auto_opts {
	struct fb_common common;
	const char *plan, *cell, *metric, *session, *change;
	bool first_parent;
};

static const char auto_usage[] = "bisect auto [--plan PLAN] [BAD [GOOD...]]";
static const char auto_about[] =
	"Builds and boots kernels between GOOD and BAD until one commit holds the\n"
	"probability asked for. Without BAD and GOOD the newest unfinished session of\n"
	"this worktree is taken up again.";

static int change_of(const char *name, enum fb_change *ret, struct fb_error *err)
{
	if (!name || !strcmp(name, "regression"))
		*ret = FB_CHANGE_REGRESSION;
	else if (!strcmp(name, "improvement"))
		*ret = FB_CHANGE_IMPROVEMENT;
	else if (!strcmp(name, "any"))
		*ret = FB_CHANGE_ANY;
	else
		return fb_error_set(err, FB_ERROR_USAGE,
				    "--change '%s' is not regression, improvement or any", name);
	return 0;
}

/* A new session from the command line. */
static int begin(const struct auto_opts *o, struct fb_store *store, struct fb_history *history,
		 char **revs, int nr_revs, struct fb_plan **ret_plan, struct fb_session *ret,
		 struct fb_error *err)
{
	FB_CLEANUP(fb_freep) struct fb_oid *good = fb_xcalloc((size_t)nr_revs, sizeof(*good));
	struct fb_bisect_args args = { .cell = -1, .good = good, .first_parent = o->first_parent };

	if (nr_revs < 2)
		return fb_error_set(err, FB_ERROR_USAGE, "bisect auto needs BAD and at least one GOOD");
	if (fb_load_plan(o->plan, ret_plan, err) < 0 || change_of(o->change, &args.change, err) < 0)
		return -1;
	args.cell = (*ret_plan)->bisect_cell;
	args.metric = o->metric ? o->metric : (*ret_plan)->bisect_metric;
	if (o->cell && fb_plan_select(*ret_plan, o->cell, &args.cell, err) < 0)
		return fb_error_wrap(err, "--cell");
	if (fb_history_resolve(history, revs[0], &args.bad, err) < 0)
		return -1;
	for (int i = 1; i < nr_revs; i++)
		if (fb_history_resolve(history, revs[i], &good[args.nr_good++], err) < 0)
			return -1;
	return fb_bisect_begin(store, history, *ret_plan, &args, ret, err);
}

/* An option that would be ignored is a mistake that is told at once, not after hours. */
static int check_opts(const struct auto_opts *o, bool has_revs, struct fb_error *err)
{
	const char *fixed = o->plan	      ? "plan" :
			    o->cell	      ? "cell" :
			    o->metric	      ? "metric" :
			    o->change	      ? "change" :
			    o->first_parent ? "first-parent" :
						NULL;

	if (has_revs && o->session)
		return fb_error_set(err, FB_ERROR_USAGE,
				    "--session takes up a session, BAD and GOOD begin one: not both");
	if (!has_revs && fixed)
		return fb_error_set(err, FB_ERROR_USAGE,
				    "--%s goes with BAD and GOOD: a session that is taken up keeps its own",
				    fixed);
	return 0;
}

static int resume(const struct auto_opts *o, struct fb_store *store, struct fb_history *history,
		  struct fb_plan **ret_plan, struct fb_session *ret, struct fb_error *err)
{
	int found = fb_store_session_find(store, fb_history_workdir(history), o->session, "bisect", ret,
					  err);

	if (found < 0)
		return -1;
	if (!found && o->session)
		return fb_error_set(err, FB_ERROR_USAGE, "no bisection has the name '%s'",
				    o->session);
	if (!found)
		return fb_error_set(err, FB_ERROR_USAGE,
				    "no bisection of this worktree yet: give BAD and GOOD");
	return fb_session_plan(ret, ret_plan, err);
}

static int print_report(const struct fb_bisect *b, const struct fb_reporter *reporter,
			struct fb_error *err)
{
	FB_CLEANUP(fb_reporting_freep) struct fb_reporting *r = NULL;
	struct fb_str out = FB_STR_INIT;
	int rc;

	if (fb_reporting_new(b, &r, err) < 0)
		return fb_fail(err);
	reporter->render(fb_reporting_report(r), &out);
	rc = fb_put(fb_str_cstr(&out));
	fb_str_release(&out);
	return rc;
}

int fb_cmd_bisect_auto(int argc, char **argv)
{
	struct auto_opts o = { 0 };
	const struct fb_opt opts[] = {
		FB_COMMON_OPTS(o.common),
		{ "plan", 0, FB_OPT_STRING, &o.plan, "PLAN", "the plan; default: a built-in one" },
		{ "cell", 0, FB_OPT_STRING, &o.cell, "K=V,...", "the cell of the matrix to follow" },
		{ "metric", 0, FB_OPT_STRING, &o.metric, "NAME", "the metric to follow" },
		{ "change", 0, FB_OPT_STRING, &o.change, "KIND",
		  "regression (default), improvement or any" },
		{ "first-parent", 0, FB_OPT_FLAG, &o.first_parent, NULL,
		  "follow only the first parent of merges" },
		{ "session", 0, FB_OPT_STRING, &o.session, "NAME", "take up this session" },
	};
	FB_CLEANUP(fb_store_freep) struct fb_store *store = NULL;
	FB_CLEANUP(fb_history_freep) struct fb_history *history = NULL;
	FB_CLEANUP(fb_plan_freep) struct fb_plan *plan = NULL;
	FB_CLEANUP(fb_session_release) struct fb_session session = { 0 };
	FB_CLEANUP(fb_bisect_freep) struct fb_bisect *b = NULL;
	FB_CLEANUP(fb_lab_freep) struct fb_lab *lab = NULL;
	FB_CLEANUP(fb_freep) char *self = NULL;
	struct fb_error err = FB_ERROR_INIT, drop_err = FB_ERROR_INIT;
	struct fb_lab_setup setup;
	int first, rc = fb_opt_parse(argc, argv, auto_usage, auto_about, opts, FB_ARRAY_SIZE(opts),
				     &first);

	if (rc >= 0)
		return rc;
	if (check_opts(&o, first < argc, &err) < 0)
		return fb_fail(&err);
	self = fb_self(&err);
	if (!self || fb_enter(&o.common, &err) < 0 || fb_open_history(&o.common, &history, &err) < 0 ||
	    fb_open_store(&store, &err) < 0)
		return fb_fail(&err);
	if (first < argc ? begin(&o, store, history, argv + first, argc - first, &plan, &session, &err) :
			   resume(&o, store, history, &plan, &session, &err))
		return fb_fail(&err);
	if (fb_bisect_load(store, history, plan, &session, &b, &err) < 0)
		return fb_fail(&err);
	if (strcmp(b->session.state, "done") != 0) {
		setup = (struct fb_lab_setup){ .store = store,
					       .history = history,
					       .plan = plan,
					       .session = &b->session,
					       .self = self,
					       .stop = fb_catch_signals(),
					       .observer = fb_progress_observer(&o.common) };
		if (fb_lab_open(&setup, &lab, &err) < 0) {
			/* One that never began must not be what is taken up the next time. */
			if (first < argc)
				fb_store_session_drop(store, b->session.id, &drop_err);
			return fb_fail(&err);
		}
		if (fb_bisect_run(b, lab, &err) < 0)
			return fb_fail(&err);
	}
	rc = print_report(b, fb_reporter_find(o.common.json ? "json" : "plain"), &err);
	return rc ? rc : fb_verdict_exit(fb_json_str(b->session.verdict, "verdict"));
}

/* --- reading commands: the session is replayed, nothing is run --------------------------- */

struct read_opts {
	struct fb_common common;
	const char *format;
};

static int load_session(const struct read_opts *o, const char *name, struct fb_store **store,
			struct fb_history **history, struct fb_plan **plan, struct fb_bisect **ret,
			struct fb_error *err)
{
	FB_CLEANUP(fb_session_release) struct fb_session session = { 0 };
	struct auto_opts a = { .session = name };

	if (fb_enter(&o->common, err) < 0 || fb_open_history(&o->common, history, err) < 0 ||
	    fb_open_store(store, err) < 0 || resume(&a, *store, *history, plan, &session, err) < 0)
		return -1;
	return fb_bisect_load(*store, *history, *plan, &session, ret, err);
}

int fb_cmd_report(int argc, char **argv)
{
	struct read_opts o = { .format = NULL };
	const struct fb_opt opts[] = {
		FB_COMMON_OPTS(o.common),
		{ "format", 0, FB_OPT_STRING, &o.format, "FORMAT", "plain (default) or json" },
	};
	FB_CLEANUP(fb_store_freep) struct fb_store *store = NULL;
	FB_CLEANUP(fb_history_freep) struct fb_history *history = NULL;
	FB_CLEANUP(fb_plan_freep) struct fb_plan *plan = NULL;
	FB_CLEANUP(fb_bisect_freep) struct fb_bisect *b = NULL;
	const struct fb_reporter *reporter;
	struct fb_error err = FB_ERROR_INIT;
	int first, rc = fb_opt_parse(argc, argv, "report [--format FORMAT] [SESSION]",
				     "Prints the report of a bisection; default: the newest of this worktree.",
				     opts, FB_ARRAY_SIZE(opts), &first);

	if (rc >= 0)
		return rc;
	if (fb_at_most(argc, argv, first + 1, &err) < 0)
		return fb_fail(&err);
	reporter = fb_reporter_find(o.format ? o.format : o.common.json ? "json" : "plain");
	if (!reporter) {
		FB_CLEANUP(fb_str_release) struct fb_str known = FB_STR_INIT;

		for (const struct fb_reporter *const *r = fb_reporters(); *r; r++)
			fb_str_addf(&known, " %s", (*r)->name);
		fb_error_set(&err, FB_ERROR_USAGE, "no report format '%s'; known:%s", o.format,
			     fb_str_cstr(&known));
		return fb_fail(&err);
	}
	if (load_session(&o, first < argc ? argv[first] : NULL, &store, &history, &plan, &b, &err) < 0)
		return fb_fail(&err);
	return print_report(b, reporter, &err);
}

static void status_text(const struct fb_bisect *b, struct fb_str *out)
{
	const char *verdict = fb_json_str(b->session.verdict, "verdict");
	struct fb_verdict v;

	fb_str_addf(out, "session %s, %s\n", b->session.name,
		    verdict ? verdict : "not finished");
	fb_str_addf(out, "range %.12s..%.12s, %u candidates\n", b->range->oid[b->range->good[0]].hex,
		    b->range->oid[b->range->bad].hex, b->range->nr_candidates);
	if (!b->search) {
		fb_str_add(out, "the ends are being compared over the whole matrix\n");
		return;
	}
	fb_search_verdict(b->search, &v);
	fb_str_addf(out, "following %s\n%u boots of %u commits, about %.0f boots to go\n", b->metric,
		    v.boots, b->steps, fb_search_boots_to_go(b->search));
	fb_str_addf(out, "change %+.2f%% (%+.2f%% .. %+.2f%%), %u candidates hold %.3g%%, "
			 "something else %.3f\n",
		    100 * v.effect, 100 * v.effect_lo, 100 * v.effect_hi, fb_search_left(b->search),
		    100 * b->plan->confidence, v.other);
}

/* The most probable commits, best first. */
static int status_leaders(const struct fb_bisect *b, struct fb_str *out, json_t *list,
			  struct fb_error *err)
{
	FB_CLEANUP(fb_freep) bool *done = fb_xcalloc(b->range->nr, sizeof(*done));

	for (int k = 0; k < 5 && b->search; k++) {
		FB_CLEANUP(fb_commit_release) struct fb_commit c = { 0 };
		uint32_t best = UINT32_MAX;
		double p = 0;

		for (uint32_t i = 0; i < b->range->nr; i++)
			if (!done[i] && fb_search_posterior(b->search, i) > p) {
				p = fb_search_posterior(b->search, i);
				best = i;
			}
		if (best == UINT32_MAX)
			break;
		done[best] = true;
		if (fb_history_commit(b->history, &b->range->oid[best], &c, err) < 0)
			return -1;
		fb_str_addf(out, "  %5.3f %.12s %.*s\n", p, c.oid.hex,
			    (int)fb_utf8_cut(c.subject, SUBJECT_SHOWN), c.subject);
		json_array_append_new(list, json_pack("{s:s, s:s, s:f}", "commit", c.oid.hex, "subject",
						      c.subject, "posterior", p));
	}
	return 0;
}

static json_t *status_json(const struct fb_bisect *b, json_t *leaders)
{
	struct fb_verdict v = { 0 };
	const char *verdict = fb_json_str(b->session.verdict, "verdict");
	json_t *o = json_pack("{s:s, s:s, s:i, s:i, s:O}", "session", b->session.name, "verdict",
			      verdict ? verdict : "open", "candidates", (int)b->range->nr_candidates,
			      "commits_tested", (int)b->steps, "leaders", leaders);
	json_t *skipped = json_array();

	for (uint32_t i = 0; i < b->range->nr; i++)
		if (b->node[i].cause)
			json_array_append_new(skipped, json_string(b->range->oid[i].hex));
	json_object_set_new(o, "skipped", skipped);
	if (b->search) {
		fb_search_verdict(b->search, &v);
		json_object_set_new(o, "left", json_integer(fb_search_left(b->search)));
		json_object_set_new(o, "boots_to_go", json_real(fb_search_boots_to_go(b->search)));
	}
	json_object_set_new(o, "boots", json_integer(v.boots));
	return o;
}

int fb_cmd_bisect_status(int argc, char **argv)
{
	struct read_opts o = { .format = NULL };
	const struct fb_opt opts[] = { FB_COMMON_OPTS(o.common) };
	FB_CLEANUP(fb_store_freep) struct fb_store *store = NULL;
	FB_CLEANUP(fb_history_freep) struct fb_history *history = NULL;
	FB_CLEANUP(fb_plan_freep) struct fb_plan *plan = NULL;
	FB_CLEANUP(fb_bisect_freep) struct fb_bisect *b = NULL;
	json_auto_t *leaders = json_array(), *json = NULL;
	struct fb_error err = FB_ERROR_INIT;
	struct fb_str out = FB_STR_INIT;
	int first, rc = fb_opt_parse(argc, argv, "bisect status [SESSION]",
				     "Tells what a bisection knows so far; it may be running.", opts,
				     FB_ARRAY_SIZE(opts), &first);

	if (rc >= 0)
		return rc;
	if (fb_at_most(argc, argv, first + 1, &err) < 0 ||
	    load_session(&o, first < argc ? argv[first] : NULL, &store, &history, &plan, &b, &err) < 0)
		return fb_fail(&err);
	status_text(b, &out);
	if (status_leaders(b, &out, leaders, &err) < 0) {
		fb_str_release(&out);
		return fb_fail(&err);
	}
	if (o.common.json) {
		json = status_json(b, leaders);
		fb_str_release(&out);
		fb_json_pretty(json, &out);
	}
	rc = fb_put(fb_str_cstr(&out));
	fb_str_release(&out);
	return rc;
}
