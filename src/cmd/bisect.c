/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the commands about bisections share. */
#include "src/cmd/bisect.h"

#include <string.h>

#include "src/util/json.h"
#include "src/util/util.h"

#define ANSWER_COMMITS 8 /* an error is one line */

int fb_bisect_cmd_open(struct fb_bisect_cmd *c, const struct fb_common *common,
		       struct fb_error *err)
{
	if (fb_enter(common, err) < 0 || fb_open_history(common, &c->history, err) < 0)
		return -1;
	return fb_open_store(&c->store, err);
}

void fb_bisect_cmd_release(struct fb_bisect_cmd *c)
{
	fb_lab_free(c->lab);
	fb_bisect_free(c->b);
	fb_session_release(&c->session);
	fb_plan_free(c->plan);
	fb_history_free(c->history);
	fb_store_free(c->store);
}

int fb_bisect_cmd_find(struct fb_bisect_cmd *c, const char *name, struct fb_error *err)
{
	int found = fb_store_session_find(c->store, fb_history_workdir(c->history), name, "bisect",
					  &c->session, err);

	if (found < 0)
		return -1;
	if (!found && name)
		return fb_error_set(err, FB_ERROR_USAGE, "no bisection has the name '%s'", name);
	if (!found)
		return fb_error_set(
			err, FB_ERROR_USAGE,
			"no bisection of this worktree yet: begin one with 'firstbad bisect "
			"start', 'bisect auto' or 'bisect run'");
	return fb_session_plan(&c->session, &c->plan, err);
}

int fb_bisect_cmd_find_same(struct fb_bisect_cmd *c, const struct fb_bisect_args *args,
			    struct fb_error *err)
{
	int found = fb_store_session_find(c->store, fb_history_workdir(c->history), NULL, "bisect",
					  &c->session, err);

	/* One that is damaged cannot be taken up, and must not keep a new one from beginning. */
	if (found < 0 && err->code == FB_ERROR_INPUT) {
		fb_error_clear(err);
		return 0;
	}
	if (found <= 0)
		return found;
	if (!strcmp(c->session.state, "done") || !fb_bisect_is_same(&c->session, c->plan, args)) {
		fb_session_release(&c->session);
		return 0;
	}
	c->taken_up = true;
	return 1;
}

/* The range is read from the repository; when it is gone, the store still has the answer. */
static int tell_answer(const struct fb_session *session, struct fb_error *err)
{
	FB_CLEANUP(fb_str_release) struct fb_str answer = FB_STR_INIT;
	json_t *commits = json_object_get(session->verdict, "commits");
	json_t *effect = json_object_get(session->verdict, "effect");
	const char *metric = fb_json_str(session->verdict, "metric");
	size_t i, nr = json_array_size(commits);

	for (i = 0; i < nr && i < ANSWER_COMMITS; i++)
		fb_str_addf(&answer, " %s", json_string_value(json_array_get(commits, i)));
	if (i < nr)
		fb_str_addf(&answer, " and %zu more", nr - i);
	if (metric && effect)
		fb_str_addf(&answer, ", %s %+.2f%%", metric, 100 * json_number_value(effect));
	err->code = FB_ERROR_DAMAGED; /* whatever it is that is gone */
	return fb_error_wrap(err, "session %s ended with '%s'%s; its range cannot be read any more",
			     session->name, fb_json_str(session->verdict, "verdict"),
			     fb_str_cstr(&answer));
}

/* Replay .session; it is taken over. */
static int load(struct fb_bisect_cmd *c, struct fb_error *err)
{
	if (fb_bisect_load(c->store, c->history, c->plan, &c->session, &c->b, err) == 0)
		return 0;
	if (err->code != FB_ERROR_GIT && err->code != FB_ERROR_DAMAGED)
		return -1;
	return fb_json_str(c->session.verdict, "verdict") ? tell_answer(&c->session, err) : -1;
}

int fb_bisect_cmd_read(struct fb_bisect_cmd *c, const struct fb_common *common, const char *name,
		       struct fb_error *err)
{
	struct fb_common there = *common;
	int found;

	if (!name)
		return fb_bisect_cmd_open(c, common, err) < 0 ||
				       fb_bisect_cmd_find(c, NULL, err) < 0
			       ? -1
			       : load(c, err);
	if (fb_enter(common, err) < 0 || fb_open_store(&c->store, err) < 0)
		return -1;
	found = fb_store_session_find(c->store, NULL, name, "bisect", &c->session, err);
	if (found == 0)
		fb_error_set(err, FB_ERROR_USAGE, "no bisection has the name '%s'", name);
	if (found <= 0)
		return -1;
	if (!there.repo)
		there.repo = c->session.repo;
	if (fb_open_history(&there, &c->history, err) < 0)
		/* A wrong --repo is a mistake, and no loss. */
		return there.repo == c->session.repo && fb_json_str(c->session.verdict, "verdict")
			       ? tell_answer(&c->session, err)
			       : -1;
	if (fb_session_plan(&c->session, &c->plan, err) < 0)
		return -1;
	return load(c, err);
}

int fb_bisect_cmd_begin(struct fb_bisect_cmd *c, const struct fb_bisect_args *args, const char *bad,
			char *const *good, size_t nr_good, struct fb_error *err)
{
	FB_CLEANUP(fb_str_release) struct fb_str names = FB_STR_INIT;

	if (fb_bisect_begin(c->store, c->history, c->plan, args, &c->session, err) == 0)
		return 0;
	for (size_t i = 0; i < nr_good; i++)
		fb_str_addf(&names, " %s", good[i]);
	return fb_error_wrap(err, "bad %s, good%s", bad, fb_str_cstr(&names));
}

int fb_bisect_cmd_lab(struct fb_bisect_cmd *c, const struct fb_common *common, bool fresh,
		      struct fb_error *err)
{
	FB_CLEANUP(fb_freep) char *self = fb_self(err);
	struct fb_error drop_err = FB_ERROR_INIT;
	struct fb_lab_setup setup;

	if (!self || load(c, err) < 0)
		return -1;
	if (!strcmp(c->b->session.state, "done"))
		return 1;
	setup = (struct fb_lab_setup){.store = c->store,
				      .history = c->history,
				      .plan = c->plan,
				      .session = &c->b->session,
				      .self = self,
				      .stop = fb_catch_signals(),
				      .observer = fb_progress_observer(common)};
	if (fb_lab_open(&setup, &c->lab, err) < 0) {
		/* One that never began must not be what is taken up the next time. */
		if (fresh)
			fb_store_session_drop(c->store, c->b->session.id, &drop_err);
		return -1;
	}
	return 0;
}

int fb_bisect_cmd_run(struct fb_bisect_cmd *c, const struct fb_common *common, const char *command,
		      bool fresh, struct fb_error *err)
{
	int rc = fb_bisect_cmd_lab(c, common, fresh, err);

	if (rc)
		return rc < 0 ? -1 : 0;
	if (c->taken_up)
		fb_lab_tell(c->lab,
			    "taking up session %s, begun by the same command line (--fresh begins "
			    "anew)",
			    c->b->session.name);
	if (fb_bisect_run(c->b, c->lab, err) == 0)
		return 0;
	if (err->code == FB_ERROR_STOPPED) {
		fb_error_clear(err);
		fb_error_set(err, FB_ERROR_STOPPED,
			     "stopped by a signal; to go on: firstbad bisect %s --session %s",
			     command, c->b->session.name);
	}
	return -1;
}

int fb_bisect_cmd_report(const struct fb_bisect_cmd *c, const struct fb_reporter *reporter)
{
	FB_CLEANUP(fb_reporting_freep) struct fb_reporting *r = NULL;
	FB_CLEANUP(fb_str_release) struct fb_str out = FB_STR_INIT;
	struct fb_error err = FB_ERROR_INIT;

	if (fb_reporting_new(c->b, &r, &err) < 0)
		return fb_fail(&err);
	reporter->render(fb_reporting_report(r), &out);
	return fb_put(fb_str_cstr(&out));
}

int fb_bisect_cmd_exit(const struct fb_bisect_cmd *c)
{
	return fb_verdict_exit(fb_json_str(c->b->session.verdict, "verdict"));
}

int fb_change_of(const char *name, enum fb_change *ret, struct fb_error *err)
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
