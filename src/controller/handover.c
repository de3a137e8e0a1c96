/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From a bisection by hand to an automatic one, and back. */
#include "src/controller/handover.h"

#include <stdlib.h>
#include <string.h>

#include "src/util/util.h"

int fb_handover_skips(const struct fb_manual *m, int64_t session, struct fb_error *err)
{
	FB_CLEANUP(fb_manual_marks_release) struct fb_manual_marks marks;
	FB_CLEANUP(fb_range_freep) struct fb_range *r = NULL;

	fb_manual_marks(m, &marks);
	if (fb_history_range(m->history, &marks.bad, marks.good, marks.nr_good,
			     m->git.first_parent ? FB_RANGE_FIRST_PARENT : 0, &r, err) < 0)
		return -1;
	for (uint32_t i = 0; i < r->nr; i++)
		for (size_t k = 0; k < marks.nr_skip; k++) {
			json_auto_t *data = NULL;

			if (strcmp(r->oid[i].hex, marks.skip[k].hex) != 0)
				continue;
			data = json_pack("{s:s, s:s}", "commit", r->oid[i].hex, "cause",
					 "skipped by hand");
			if (fb_store_event_add(m->store, session, "skip", data, err) < 0)
				return -1;
		}
	return 0;
}

/* How many values of @commit came from that session before. */
static size_t nr_had(const struct fb_manual *m, const struct fb_oid *commit, const char *session)
{
	size_t nr = 0;

	for (size_t i = 0; i < m->nr; i++) {
		const struct fb_manual_item *item = &m->item[i];

		if (item->kind == FB_MANUAL_VALUES && item->from && !strcmp(item->from, session) &&
		    !strcmp(item->commits[0].hex, commit->hex))
			nr += item->nr_values;
	}
	return nr;
}

static bool is_marked(const struct fb_manual *m, const struct fb_oid *commit)
{
	for (size_t i = 0; i < m->nr; i++)
		for (size_t k = 0; k < m->item[i].nr_commits; k++)
			if (m->item[i].kind == FB_MANUAL_MARK &&
			    !strcmp(m->item[i].commits[k].hex, commit->hex))
				return true;
	return false;
}

/* Newest verdicts last: git keeps one bad commit, which must be the one nearest to the culprit. */
static int give_verdicts(struct fb_manual *m, const struct fb_bisect *b, size_t *nr,
			 struct fb_error *err)
{
	for (uint32_t i = b->range->nr; i-- > 0;) {
		const struct fb_bisect_node *n = &b->node[i];
		bool new =
			n->nr_values && (n->values[0] != 0) != (b->change == FB_CHANGE_IMPROVEMENT);

		if (!n->nr_values || is_marked(m, &b->range->oid[i]))
			continue;
		if (fb_manual_mark(m, new ? FB_SIDE_NEW : FB_SIDE_OLD, &b->range->oid[i], 1, NULL,
				   0, err) < 0)
			return -1;
		(*nr)++;
	}
	return 0;
}

int fb_handover_back(struct fb_manual *m, const struct fb_bisect *b, size_t *ret_nr,
		     struct fb_error *err)
{
	*ret_nr = 0;
	for (uint32_t i = 0; i < b->range->nr; i++) {
		const struct fb_bisect_node *n = &b->node[i];
		size_t had = nr_had(m, &b->range->oid[i], b->session.name);

		if (n->cause && !is_marked(m, &b->range->oid[i]) &&
		    fb_manual_mark(m, FB_SIDE_SKIP, &b->range->oid[i], 1, NULL, 0, err) < 0)
			return -1;
		if (b->by_status || n->nr_values <= had)
			continue;
		if (fb_manual_measured(m, &b->range->oid[i], n->values + had, n->nr_values - had,
				       b->session.name, err) < 0)
			return -1;
		*ret_nr += n->nr_values - had;
	}
	return b->by_status && !b->flaky ? give_verdicts(m, b, ret_nr, err) : 0;
}
