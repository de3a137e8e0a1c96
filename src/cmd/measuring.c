/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the commands that run a plan's matrix on revisions begin and end with. */
#include "src/cmd/measuring.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/util/util.h"

char *fb_measure_unavailable(const struct fb_plan *plan, const struct fb_cell *cell)
{
	/* Without a machine nothing is taken along: the command is looked for when it is run. */
	return strcmp(plan->machine, "command") != 0 ? fb_cell_unavailable(cell) : NULL;
}

/* Take out of @plan what cannot be run here, with the reason for each in @told. */
static int drop_unavailable(struct fb_plan *plan, json_t *told, struct fb_error *err)
{
	for (size_t i = plan->nr_cells; i > 0; i--) {
		const struct fb_cell *cell = &plan->cells[i - 1];
		FB_CLEANUP(fb_freep) char *why = fb_measure_unavailable(plan, cell);
		FB_CLEANUP(fb_freep) char *key = fb_cell_key(cell);
		FB_CLEANUP(fb_freep) char *text = fb_cell_text(cell);

		if (!why)
			continue;
		if (plan->nr_cells == 1)
			return fb_error_set(err, FB_ERROR_MISSING,
					    "no cell of the plan can be run here: %s", why);
		fprintf(stderr, "firstbad: left out: %s: %s\n", text, why);
		json_array_insert_new(told, 0,
				      json_pack("{s:s, s:s, s:s}", "cell", key, "text", text,
						"unavailable", why));
		fb_plan_drop(plan, i - 1);
	}
	return 0;
}

int fb_measure_cmd_begin(struct fb_measure_cmd *c, const struct fb_common *common,
			 struct fb_plan *plan, const char *kind, char *const *revs, bool balance,
			 struct fb_error *err)
{
	FB_CLEANUP(fb_freep) char *self = fb_self(err);
	FB_CLEANUP(fb_freep) struct fb_oid *oids = NULL;
	size_t nr = fb_strv_len(revs);
	struct fb_lab_setup setup;

	c->told = json_array();
	if (drop_unavailable(plan, c->told, err) < 0)
		return -1;
	if (!self || fb_open_history(common, &c->history, err) < 0 ||
	    fb_open_store(&c->store, err) < 0)
		return -1;
	oids = fb_xcalloc(nr, sizeof(*oids));
	for (size_t i = 0; i < nr; i++)
		if (fb_history_resolve(c->history, revs[i], &oids[i], err) < 0)
			return -1;
	if (fb_measure_begin(c->store, c->history, plan, kind, oids, nr, &c->session, err) < 0)
		return -1;
	setup = (struct fb_lab_setup){.store = c->store,
				      .history = c->history,
				      .plan = plan,
				      .session = &c->session,
				      .self = self,
				      .stop = fb_catch_signals(),
				      .observer = fb_progress_observer(common)};
	if (fb_lab_open(&setup, &c->lab, err) < 0)
		return -1;
	return fb_measuring_begin(c->lab, oids, nr, balance, &c->measuring, err);
}

int fb_measure_cmd_end(struct fb_measure_cmd *c, const char *verdict, struct fb_error *err)
{
	json_auto_t *v = json_pack("{s:s}", "verdict", verdict);

	return fb_store_session_end(c->store, c->session.id, v, err);
}

void fb_measure_cmd_release(struct fb_measure_cmd *c)
{
	fb_measuring_release(&c->measuring);
	fb_lab_free(c->lab);
	fb_session_release(&c->session);
	fb_history_free(c->history);
	fb_store_free(c->store);
	json_decref(c->told);
	memset(c, 0, sizeof(*c));
}
