/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `firstbad bisect status` of a bisection by hand. */
#include <stdlib.h>
#include <string.h>

#include "src/cmd/manual.h"
#include "src/util/json.h"
#include "src/util/util.h"

#define LEADERS 5

static const char *said_of(const struct fb_manual *m, const struct fb_oid *oid)
{
	const char *said = "";

	for (size_t i = 0; i < m->nr; i++)
		for (size_t k = 0; k < m->item[i].nr_commits; k++)
			if (m->item[i].kind == FB_MANUAL_MARK &&
			    !strcmp(m->item[i].commits[k].hex, oid->hex))
				said = fb_manual_term(m, m->item[i].side);
	return said;
}

/* All values of one commit; owned. */
static double *values_of(const struct fb_manual *m, const struct fb_oid *oid, size_t *ret_nr)
{
	double *values = NULL;
	size_t nr = 0, cap = 0;

	for (size_t i = 0; i < m->nr; i++)
		for (size_t k = 0; k < m->item[i].nr_values; k++) {
			if (strcmp(m->item[i].commits[0].hex, oid->hex) != 0)
				continue;
			FB_GROW(values, nr, cap);
			values[nr++] = m->item[i].values[k];
		}
	*ret_nr = nr;
	return values;
}

/* In the order of the range, oldest first. */
static void plot(const struct fb_manual *m, const struct fb_manual_view *v, struct fb_str *out)
{
	const struct fb_range *r = v->range;
	FB_CLEANUP(fb_freep) struct fb_plot_row *rows = fb_xcalloc(r->nr, sizeof(*rows));
	size_t nr = 0, near = 0;
	double best = -1;

	for (uint32_t i = 0; i < r->nr; i++) {
		size_t nr_values;
		double *values = values_of(m, &r->oid[i], &nr_values);

		if (!nr_values)
			continue;
		if (fb_search_posterior(v->search, i) > best) {
			best = fb_search_posterior(v->search, i);
			near = nr;
		}
		rows[nr++] = (struct fb_plot_row){r->oid[i].hex, said_of(m, &r->oid[i]), values,
						  nr_values};
	}
	fb_plot(rows, nr, near, out);
	while (nr)
		free((double *)rows[--nr].values);
}

struct counts {
	size_t good, bad, skip, weak, values;
};

static struct counts count(const struct fb_manual *m)
{
	struct counts n = {0};

	for (size_t i = 0; i < m->nr; i++) {
		const struct fb_manual_item *item = &m->item[i];

		n.values += item->nr_values;
		if (item->kind == FB_MANUAL_WEAK)
			n.weak += item->nr_commits;
		else if (item->kind == FB_MANUAL_MARK)
			*(item->side == FB_SIDE_OLD   ? &n.good
			  : item->side == FB_SIDE_NEW ? &n.bad
						      : &n.skip) += item->nr_commits;
	}
	return n;
}

static const char *state_of(const struct fb_manual_view *v)
{
	switch (v->kind) {
	case FB_NEXT_WAIT:
		return "waiting for its ends";
	case FB_NEXT_ASK:
	case FB_NEXT_BASE:
	case FB_NEXT_END:
		return "open";
	case FB_NEXT_FOUND:
		return "found";
	case FB_NEXT_SKIPPED:
		return "only skipped commits are left";
	case FB_NEXT_BASE_BAD:
		return "a merge base is on the new side already";
	case FB_NEXT_NOTHING:
		return "no commit that can be tested";
	case FB_NEXT_NONE:
		return "no change between the ends";
	case FB_NEXT_OTHER:
		return "no single commit explains it";
	case FB_NEXT_UNDECIDED:
		return "undecided";
	}
	FB_BUG("kind of next %d", (int)v->kind);
}

static void text_of(const struct fb_manual *m, const struct fb_manual_view *v, struct fb_str *out)
{
	struct counts n = count(m);

	fb_str_addf(out, "session %s by hand, %s\n", m->session.name ? m->session.name : "of git",
		    state_of(v));
	fb_str_addf(out, "said: %zu %s, %zu %s, %zu skip, %zu weak, %zu value%s\n", n.good,
		    fb_manual_term(m, FB_SIDE_OLD), n.bad, fb_manual_term(m, FB_SIDE_NEW), n.skip,
		    n.weak, n.values, fb_plural(n.values));
	if (!v->range)
		return;
	fb_str_addf(out, "range %.12s..%.12s, %u candidate%s, %u left",
		    v->range->oid[v->range->good[0]].hex, v->range->oid[v->range->bad].hex,
		    v->range->nr_candidates, fb_plural(v->range->nr_candidates),
		    v->by_values ? fb_search_left(v->search) : v->nr_left);
	if (v->kind == FB_NEXT_ASK || v->kind == FB_NEXT_BASE || v->kind == FB_NEXT_END) {
		double to_go = v->by_values ? fb_search_boots_to_go(v->search)
					    : fb_manual_steps(v->nr_left) + 1.0;

		fb_str_addf(out, ", about %.0f to go\ntest %.12s%s\n", to_go, v->commit.hex,
			    !strcmp(v->commit.hex, m->git.head.hex)
				    ? ", which is checked out"
				    : " ('firstbad bisect next' checks it out)");
	} else {
		fb_str_addc(out, '\n');
	}
}

static json_t *json_of(const struct fb_manual *m, const struct fb_manual_view *v)
{
	json_t *o = json_object(), *leaders = json_array(), *said = json_array();

	json_object_set_new(o, "session",
			    m->session.name ? json_string(m->session.name) : json_null());
	json_object_set_new(o, "kind", json_string("manual"));
	json_object_set_new(o, "state", json_string(state_of(v)));
	for (size_t i = 0; i < m->nr; i++)
		for (size_t k = 0; k < m->item[i].nr_commits; k++)
			json_array_append_new(said,
					      json_pack("{s:s, s:s, s:b}", "commit",
							m->item[i].commits[k].hex, "term",
							fb_manual_term(m, m->item[i].side), "weak",
							m->item[i].kind == FB_MANUAL_WEAK));
	json_object_set_new(o, "said", said);
	for (uint32_t i = 0; v->range && i < v->range->nr; i++) {
		double p = fb_search_posterior(v->search, i);

		if (p >= 0.001)
			json_array_append_new(leaders,
					      json_pack("{s:s, s:f}", "commit",
							v->range->oid[i].hex, "posterior", p));
	}
	json_object_set_new(o, "leaders", leaders);
	if (v->range) {
		json_object_set_new(o, "candidates", json_integer(v->range->nr_candidates));
		json_object_set_new(o, "left", json_integer(v->nr_left));
	}
	if (v->commit.hex[0])
		json_object_set_new(o, "commit", json_string(v->commit.hex));
	return o;
}

int fb_manual_status(struct fb_manual_cmd *c, struct fb_str *out, json_t **ret,
		     struct fb_error *err)
{
	FB_CLEANUP(fb_manual_view_release) struct fb_manual_view v = {0};

	if (fb_manual_view(c->m, &v, err) < 0)
		return -1;
	text_of(c->m, &v, out);
	if (v.range) {
		plot(c->m, &v, out);
		if (fb_manual_leaders(c, &v, LEADERS, out, err) < 0)
			return -1;
	}
	*ret = json_of(c->m, &v);
	return 0;
}
