/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `firstbad bisect run CMD` in a bisection by hand: checkouts in the user's worktree, as git. */
#include <stdlib.h>
#include <string.h>

#include "src/cmd/manual.h"
#include "src/controller/manual-run.h"
#include "src/controller/outcome.h"
#include "src/util/util.h"

struct runner {
	struct fb_manual_cmd *c;
	char *const *argv;
	const char *metric;
	char *text; /* for people */
	bool ran;   /* some status was taken for a verdict */
};

static int run_here(struct runner *r, struct fb_manual_run *ret, struct fb_error *err)
{
	FB_CLEANUP(fb_freep) char *line = fb_xasprintf("running %s\n", r->text);

	if (fb_put(line) || fb_manual_run(r->c->m, r->argv, r->metric, ret, err) < 0)
		return -1;
	fb_put(ret->output);
	if (ret->status < FB_STATUS_ABORT)
		return 0;
	return fb_error_set(err, FB_ERROR_CHILD,
			    "bisect run failed: exit code %d from %s is < 0 or >= 128", ret->status,
			    r->text);
}

/* 126 and 127 are also how a shell says that it cannot run something: then the good end does, too.
 */
static int check_command(struct runner *r, const struct fb_manual_view *v, int status,
			 struct fb_error *err)
{
	FB_CLEANUP(fb_manual_run_release) struct fb_manual_run again = {0};
	struct fb_manual *m = r->c->m;
	int rc;

	if (m->git.no_checkout)
		return 0;
	if (fb_gitbisect_checkout(r->c->history, v->marks.good[0].hex, err) < 0)
		return -1;
	rc = run_here(r, &again, err);
	m->git.head = v->marks.good[0];
	if (rc < 0 || fb_manual_go(m, v, err) < 0)
		return -1;
	if (again.status == status || again.status == 126 || again.status == 127)
		return fb_error_set(err, FB_ERROR_MISSING,
				    "bisect run failed: bogus exit code %d for %s revision",
				    again.status, fb_manual_term(m, FB_SIDE_OLD));
	return 0;
}

static int judge(struct runner *r, const struct fb_manual_view *v, struct fb_error *err)
{
	FB_CLEANUP(fb_manual_run_release) struct fb_manual_run run = {0};
	struct fb_manual *m = r->c->m;
	struct fb_oid commit = v->commit;

	if (run_here(r, &run, err) < 0)
		return -1;
	if (!r->ran && (run.status == 126 || run.status == 127) &&
	    check_command(r, v, run.status, err) < 0)
		return -1;
	r->ran = true;
	if (fb_manual_judged(m, &commit, err) < 0)
		return -1;
	if (run.nr_values)
		return fb_manual_measured(m, &commit, run.values, run.nr_values, NULL, err);
	return fb_manual_mark(m,
			      run.status == FB_STATUS_SKIP ? FB_SIDE_SKIP
			      : run.status		   ? FB_SIDE_NEW
							   : FB_SIDE_OLD,
			      &commit, 1, NULL, 0, err);
}

static int go_on(struct runner *r, struct fb_error *err)
{
	int rc = fb_manual_cmd_next(r->c, true, err);

	while (rc == 0) {
		FB_CLEANUP(fb_manual_view_release) struct fb_manual_view v = {0};

		if (fb_manual_view(r->c->m, &v, err) < 0)
			return -1;
		if (v.kind == FB_NEXT_FOUND)
			return fb_put("bisect run success\n");
		if (v.kind != FB_NEXT_ASK && v.kind != FB_NEXT_BASE && v.kind != FB_NEXT_END)
			break;
		if (judge(r, &v, err) < 0)
			return -1;
		rc = fb_manual_cmd_next(r->c, true, err);
	}
	if (rc > 0)
		fputs("firstbad: bisect run cannot continue any more\n", stderr);
	return rc;
}

int fb_manual_cmd_run(const struct fb_common *common, char *const *argv, const char *metric,
		      bool *ret_active, struct fb_error *err)
{
	FB_CLEANUP(fb_manual_cmd_release) struct fb_manual_cmd c = {0};
	FB_CLEANUP(fb_str_release) struct fb_str text = FB_STR_INIT;
	struct runner r = {&c, argv, metric, NULL, false};

	int found = fb_manual_cmd_take(&c, common, err);

	*ret_active = found > 0;
	if (found <= 0)
		return found;
	for (char *const *w = argv; *w; w++) {
		fb_str_add(&text, w > argv ? " " : "");
		fb_gitbisect_quote(*w, &text);
	}
	r.text = text.buf;
	return go_on(&r, err);
}
