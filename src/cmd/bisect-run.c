/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `firstbad bisect run CMD`: like `git bisect run`, for values as well as exit statuses. */
#include <string.h>

#include "src/cmd/bisect.h"
#include "src/cmd/manual.h"
#include "src/controller/command.h"
#include "src/util/json.h"
#include "src/util/str.h"
#include "src/util/util.h"

struct run_opts {
	struct fb_common common;
	char **good;
	const char *bad, *metric, *better, *change, *confidence, *min_effect, *session;
	unsigned max_runs;
	bool first_parent, fresh, flaky;
};

static const char usage[] = "bisect run [OPTIONS] --good REV [--bad REV] CMD [ARG...]";
static const char about[] =
	"Runs CMD on commits between the ends, in a worktree of its own, until one commit is "
	"left.\n"
	"A run that exits with 0 and prints lines 'firstbad: METRIC VALUE' (or writes 'METRIC "
	"VALUE'\n"
	"to $FIRSTBAD_RESULT) gives values, which are followed with their noise. Without values "
	"the\n"
	"exit status is the verdict, as for `git bisect run`: 0 good, 1 to 127 bad, 125 cannot be\n"
	"tested, 128 and above stop. Without CMD, or with the same command line as the newest\n"
	"unfinished session of this worktree, that one is taken up; no finished run is repeated.\n"
	"Without --good in a bisection by hand ('bisect start') it goes on with that one, in this\n"
	"worktree, as git does.";

static int load_plan(const struct run_opts *o, char **argv, struct fb_plan **ret,
		     struct fb_error *err)
{
	const char *better = o->better ? o->better : "neither";
	struct fb_command_plan plan = {.argv = argv,
				       .better = better,
				       .confidence = o->confidence,
				       .min_effect = o->min_effect,
				       .max_runs = o->max_runs,
				       .flaky = o->flaky};
	FB_CLEANUP(fb_freep) char *kconfigs = fb_kconfig_dir(), *text = NULL;
	double v;

	if (strcmp(better, "higher") && strcmp(better, "lower") && strcmp(better, "neither"))
		return fb_error_set(err, FB_ERROR_USAGE, "--better '%s' is not higher or lower",
				    better);
	if (o->min_effect && fb_plan_min_effect(o->min_effect, &v, err) < 0)
		return fb_error_wrap(err, "--min-effect");
	if (o->confidence && fb_plan_confidence(o->confidence, &v, err) < 0)
		return fb_error_wrap(err, "--confidence");
	if (fb_command_plan_text(&plan, &text, err) < 0)
		return -1;
	return fb_plan_parse(text, strlen(text), "(command line)", kconfigs, ret, err);
}

static int resolve_ends(const struct run_opts *o, struct fb_history *history,
			struct fb_bisect_args *args, struct fb_oid *good, struct fb_error *err)
{
	if (!o->good)
		return fb_error_set(err, FB_ERROR_USAGE, "bisect run needs --good REV");
	if (fb_history_resolve(history, o->bad ? o->bad : "HEAD", &args->bad, err) < 0)
		return fb_error_wrap(err, "--bad");
	for (char **rev = o->good; *rev; rev++)
		if (fb_history_resolve(history, *rev, &good[args->nr_good++], err) < 0)
			return fb_error_wrap(err, "--good");
	return 0;
}

/* Fills c->plan and c->session. @ret_fresh: whether the session was made. */
static int begin(const struct run_opts *o, struct fb_bisect_cmd *c, char **words, bool *ret_fresh,
		 struct fb_error *err)
{
	struct fb_observer observer = fb_progress_observer(&o->common);
	FB_CLEANUP(fb_freep)
	struct fb_oid *good = fb_xcalloc(fb_strv_len(o->good) + 1, sizeof(*good));
	FB_CLEANUP(fb_strvp) char **argv = NULL;
	char hash[FB_HASH_HEX_SIZE];
	struct fb_bisect_args args = {.good = good,
				      .first_parent = o->first_parent,
				      .metric = o->metric,
				      .flaky = o->flaky,
				      .command_hash = hash};
	int same = 0;

	for (; *words; words++)
		fb_strv_add(&argv, *words);
	if (fb_change_of(o->change, &args.change, err) < 0 ||
	    resolve_ends(o, c->history, &args, good, err) < 0 ||
	    fb_command_locate(c->history, &args.bad, argv, &observer, err) < 0 ||
	    fb_command_hash(argv, hash, err) < 0 || load_plan(o, argv, &c->plan, err) < 0)
		return -1;
	if (!o->fresh)
		same = fb_bisect_cmd_find_same(c, &args, err);
	*ret_fresh = same == 0;
	if (same)
		return same < 0 ? -1 : 0;
	return fb_bisect_cmd_begin(c, &args, o->bad ? o->bad : "HEAD", o->good,
				   fb_strv_len(o->good), err);
}

/* An option that would be ignored is a mistake. */
static int check_opts(const struct run_opts *o, bool has_command, struct fb_error *err)
{
	bool fixed = o->good || o->bad || o->metric || o->better || o->change || o->confidence ||
		     o->min_effect || o->max_runs || o->first_parent || o->fresh || o->flaky;

	if (has_command && o->session)
		return fb_error_set(err, FB_ERROR_USAGE,
				    "--session takes up a session, CMD begins one: not both");
	if (!has_command && fixed)
		return fb_error_set(err, FB_ERROR_USAGE,
				    "no CMD to run; to take up a session give no other option");
	return 0;
}

/* One line, for scripts. */
static int print_json(const struct fb_bisect_cmd *c)
{
	FB_CLEANUP(fb_str_release) struct fb_str out = FB_STR_INIT;
	json_auto_t *verdict = fb_bisect_so_far(c->b);

	json_object_set_new(verdict, "session", json_string(c->b->session.name));
	fb_json_line(verdict, &out);
	return fb_put(fb_str_cstr(&out));
}

static int run(const struct run_opts *o, char **words, struct fb_bisect_cmd *c,
	       struct fb_error *err)
{
	bool fresh = false;

	if (check_opts(o, *words, err) < 0 || fb_bisect_cmd_open(c, &o->common, err) < 0)
		return -1;
	if (*words ? begin(o, c, words, &fresh, err) : fb_bisect_cmd_find(c, o->session, err))
		return -1;
	return fb_bisect_cmd_run(c, &o->common, "run", fresh, err);
}

int fb_cmd_bisect_run(int argc, char **argv)
{
	FB_CLEANUP(fb_strvp) char **good = NULL;
	struct run_opts o = {0};
	const struct fb_opt opts[] = {
		FB_COMMON_OPTS(o.common),
		{"good", 0, FB_OPT_STRINGS, &good, "REV", "a good commit; may be repeated"},
		{"bad", 0, FB_OPT_STRING, &o.bad, "REV", "the bad commit; default: HEAD"},
		{"old", 0, FB_OPT_STRINGS, &good, "REV", "another word for --good"},
		{"new", 0, FB_OPT_STRING, &o.bad, "REV", "another word for --bad"},
		{"metric", 0, FB_OPT_STRING, &o.metric, "NAME",
		 "the value to follow; needed when CMD gives several"},
		{"better", 0, FB_OPT_STRING, &o.better, "WAY",
		 "which values are good: higher or lower; default: look both ways"},
		{"change", 0, FB_OPT_STRING, &o.change, "KIND",
		 "regression (default), improvement or any"},
		{"flaky", 0, FB_OPT_FLAG, &o.flaky, NULL,
		 "an exit status may lie: it is asked for as often as it takes"},
		{"min-effect", 0, FB_OPT_STRING, &o.min_effect, "RATIO",
		 "smaller changes are not looked for; default: 2% of a value, 10% of flaky runs"},
		{"confidence", 0, FB_OPT_STRING, &o.confidence, "P", "default: 0.99"},
		{"max-runs", 0, FB_OPT_UINT, &o.max_runs, "N", "runs in all; default: 0, no limit"},
		{"first-parent", 0, FB_OPT_FLAG, &o.first_parent, NULL,
		 "follow only the first parent of merges"},
		{"session", 0, FB_OPT_STRING, &o.session, "NAME", "take up this session"},
		{"fresh", 0, FB_OPT_FLAG, &o.fresh, NULL,
		 "begin anew, also when the same was begun before"},
	};
	FB_CLEANUP(fb_bisect_cmd_release) struct fb_bisect_cmd c = {0};
	struct fb_error err = FB_ERROR_INIT;
	int first, rc = fb_opt_parse_before(argc, argv, usage, about, opts, FB_ARRAY_SIZE(opts),
					    &first);

	if (rc >= 0)
		return rc;
	o.good = good;
	if (first < argc && !o.good && !o.bad && !o.session) {
		bool active;

		rc = fb_manual_cmd_run(&o.common, argv + first, o.metric, &active, &err);
		if (rc < 0 || active)
			return rc < 0 ? fb_fail(&err) : rc;
		/* -C was carried out. */
		o.common.dir = NULL;
	}
	if (run(&o, argv + first, &c, &err) < 0)
		return fb_fail(&err);
	rc = o.common.json ? print_json(&c) : fb_bisect_cmd_report(&c, fb_reporter_find("plain"));
	return rc ? rc : fb_bisect_cmd_exit(&c);
}
