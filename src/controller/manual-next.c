/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From what was said to the next commit. */
#include "src/controller/manual-next.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/util/util.h"

#define CONFIDENCE 0.99
#define MIN_EFFECT 0.02

static bool node_of(const struct fb_range *r, const struct fb_oid *oid, uint32_t *ret)
{
	for (uint32_t i = 0; i < r->nr; i++)
		if (!strcmp(r->oid[i].hex, oid->hex)) {
			*ret = i;
			return true;
		}
	return false;
}

/* --- the range ----------------------------------------------------------------------------- */

/* Commits of one side in the order in which they were said, each once. */
struct said {
	struct fb_oid *oid;
	size_t nr;
};

/* @with_values: also those whose values decide. */
static void list_said(const struct fb_manual *m, enum fb_side side, bool with_values,
		      struct said *ret)
{
	memset(ret, 0, sizeof(*ret));
	for (size_t i = 0; i < m->nr; i++) {
		const struct fb_manual_item *item = &m->item[i];

		if (item->kind != FB_MANUAL_MARK || item->side != side ||
		    (item->nr_values && !with_values))
			continue;
		for (size_t k = 0; k < item->nr_commits; k++) {
			ret->oid = fb_xrealloc(ret->oid, ret->nr + 1, sizeof(*ret->oid));
			ret->oid[ret->nr++] = item->commits[k];
		}
	}
}

static void said_release(struct said *s)
{
	free(s->oid);
}

/* Are all of @bad from the @from-th on candidates, or the end itself, in @r? */
static bool holds_all(const struct fb_range *r, const struct said *bad, size_t from)
{
	for (size_t i = from; i < bad->nr; i++) {
		uint32_t node;

		if (!node_of(r, &bad->oid[i], &node))
			return false;
		for (uint32_t k = 0; k < r->nr_good; k++)
			if (r->good[k] == node)
				return false;
		for (uint32_t k = 0; k < r->nr_base; k++)
			if (r->base[k] == node && i + 1 < bad->nr)
				return false;
	}
	return true;
}

/*
 * The widest range below one of the new ends: soft evidence about commits that a later, nearer
 * end excludes still tells of those it does not. git's is the one below the last of them.
 */
static int make_range(struct fb_manual *m, const struct said *bad, const struct said *good,
		      struct fb_manual_view *v, struct fb_error *err)
{
	unsigned flags = FB_RANGE_UNRELATED | (m->git.first_parent ? FB_RANGE_FIRST_PARENT : 0);
	FB_CLEANUP(fb_range_freep) struct fb_range *range = NULL;

	for (size_t i = 0; i < bad->nr; i++) {
		bool last = i + 1 == bad->nr;
		struct fb_error mine = FB_ERROR_INIT;

		if (fb_history_range(m->history, &bad->oid[i], good->oid, good->nr, flags, &range,
				     last ? err : &mine) < 0) {
			if (last)
				return -1;
			continue;
		}
		if (last || holds_all(range, bad, i + 1))
			break;
		fb_range_free(range);
		range = NULL;
	}
	if (m->git.paths) {
		int added = fb_gitbisect_narrow(m->history, m->git.paths, flags, &range, err);

		if (added < 0)
			return -1;
		v->end_added = added;
	}
	v->range = FB_TAKE(range);
	return 0;
}

static struct fb_dag *make_dag(const struct fb_range *r)
{
	struct fb_dag *dag = fb_dag_new();

	for (uint32_t i = 0; dag && i < r->nr; i++)
		if (fb_dag_add(dag, r->parent + r->parent_start[i],
			       r->parent_start[i + 1] - r->parent_start[i]) < 0) {
			fb_dag_free(dag);
			return NULL;
		}
	return dag;
}

/* --- the search ------------------------------------------------------------------------------ */

struct summary {
	size_t nr;
	bool positive;
	double largest; /* magnitude */
};

static struct summary values_of(const struct fb_manual *m)
{
	struct summary s = {.positive = true};

	for (size_t i = 0; i < m->nr; i++)
		for (size_t k = 0; k < m->item[i].nr_values; k++) {
			double v = m->item[i].values[k];

			s.nr++;
			s.positive = s.positive && v > 0;
			s.largest = fmax(s.largest, fabs(v));
		}
	return s;
}

static int make_search(const struct fb_manual *m, struct fb_manual_view *v, struct fb_error *err)
{
	const struct fb_range *r = v->range;
	struct summary values = values_of(m);
	struct fb_search_params params = {.confidence = m->plan ? m->plan->confidence : CONFIDENCE,
					  .min_effect = m->plan ? m->plan->min_effect : MIN_EFFECT,
					  .scale = FB_SCALE_CERTAIN,
					  .direction = FB_DIRECTION_UP,
					  .min_boots = 1,
					  .rate_old = NAN,
					  .rate_new = NAN,
					  .batch = 1};

	if (v->by_values) {
		params.scale = values.positive ? FB_SCALE_LOG : FB_SCALE_LINEAR;
		params.direction = FB_DIRECTION_ANY;
		params.min_boots = 2;
		if (!values.positive)
			params.min_effect *= fmax(values.largest, 1e-300);
	}
	v->search =
		fb_search_new(v->dag, r->good, r->nr_good, r->base, r->nr_base, r->bad, &params);
	return v->search ? 0 : fb_error_set(err, FB_ERROR_USAGE, "these ends make no search");
}

static void tell_certain(const struct fb_manual *m, struct fb_manual_view *v)
{
	for (size_t i = 0; i < m->nr; i++) {
		const struct fb_manual_item *item = &m->item[i];
		double ratio = item->kind == FB_MANUAL_WEAK
				       ? log(item->strength / (1 - item->strength))
				       : 0;
		uint32_t node;

		for (size_t k = 0; k < item->nr_commits; k++) {
			if (!node_of(v->range, &item->commits[k], &node))
				continue;
			if (item->kind == FB_MANUAL_WEAK)
				v->weak |= fb_search_hint(v->search, node,
							  item->side == FB_SIDE_NEW ? ratio
										    : -ratio) == 0;
			else if (item->kind != FB_MANUAL_MARK)
				continue;
			else if (item->side == FB_SIDE_SKIP)
				fb_search_skip(v->search, node);
			else
				fb_search_record(v->search, node, item->side == FB_SIDE_NEW);
		}
	}
	/* git has tested them, or been told to go on. */
	for (uint32_t i = 0; i < v->range->nr_base && m->git.ancestors_ok; i++)
		fb_search_record(v->search, v->range->base[i], 0);
}

/* Values of commits outside of the range say how the end of their side measures. */
static int tell_values(const struct fb_manual *m, struct fb_manual_view *v, struct fb_error *err)
{
	for (size_t i = 0; i < m->nr; i++) {
		const struct fb_manual_item *item = &m->item[i];
		uint32_t node;

		bool judged = item->kind == FB_MANUAL_MARK;

		for (size_t k = 0; judged && item->side == FB_SIDE_SKIP && k < item->nr_commits;
		     k++)
			if (node_of(v->range, &item->commits[k], &node))
				fb_search_skip(v->search, node);
		for (size_t k = 0; k < item->nr_values; k++) {
			if (node_of(v->range, &item->commits[0], &node) &&
			    fb_search_record(v->search, node, item->values[k]) == 0)
				continue;
			if (!judged)
				continue;
			node = item->side == FB_SIDE_NEW ? v->range->bad : v->range->good[0];
			if (fb_search_record(v->search, node, item->values[k]) < 0)
				return fb_error_set(err, FB_ERROR_INPUT,
						    "%g at %.12s cannot be bisected",
						    item->values[k], item->commits[0].hex);
		}
	}
	return 0;
}

/* --- what it says --------------------------------------------------------------------------- */

static void count(struct fb_manual_view *v)
{
	const struct fb_range *r = v->range;
	FB_CLEANUP(fb_freep) bool *reached = fb_xcalloc(r->nr, sizeof(*reached));

	reached[v->node] = true;
	v->nr_left = v->nr_reached = 0;
	for (uint32_t i = r->nr; i-- > 0;) {
		bool open = fb_search_posterior(v->search, i) > 0 && !(v->end_added && i == r->bad);

		for (uint32_t a = r->parent_start[i]; reached[i] && a < r->parent_start[i + 1]; a++)
			reached[r->parent[a]] = true;
		v->nr_left += open;
		v->nr_reached += open && reached[i];
	}
}

static void take_verdict(struct fb_manual_view *v)
{
	struct fb_verdict verdict;

	fb_search_verdict(v->search, &verdict);
	for (size_t i = 0; i < verdict.nr_nodes; i++) {
		v->commits = fb_xrealloc(v->commits, v->nr_commits + 1, sizeof(*v->commits));
		v->commits[v->nr_commits++] = v->range->oid[verdict.nodes[i]];
	}
	if (v->nr_commits) {
		v->node = verdict.nodes[0];
		v->commit = v->commits[0];
	}
	switch (verdict.kind) {
	case FB_VERDICT_FOUND:
		v->kind = FB_NEXT_FOUND;
		break;
	case FB_VERDICT_RANGE:
		v->kind = FB_NEXT_SKIPPED;
		break;
	case FB_VERDICT_BASE_BAD:
		v->kind = FB_NEXT_BASE_BAD;
		break;
	case FB_VERDICT_NONE:
		v->kind = v->by_values ? FB_NEXT_NONE : FB_NEXT_OTHER;
		break;
	case FB_VERDICT_OTHER:
		v->kind = FB_NEXT_OTHER;
		break;
	case FB_VERDICT_OPEN:
	case FB_VERDICT_UNDECIDED:
	case FB_VERDICT_UNTESTABLE:
		v->kind = FB_NEXT_UNDECIDED;
		break;
	}
	/* None of those that touch the paths: the end itself was kept to find that out. */
	if (v->kind == FB_NEXT_FOUND && v->end_added && v->node == v->range->bad)
		v->kind = FB_NEXT_NOTHING;
}

/*
 * What is checked out may be built already: it stays when it parts the candidates as well as
 * what the search would ask for. Verdicts alone make all of them equally probable.
 */
static void keep_head(const struct fb_manual *m, struct fb_manual_view *v)
{
	uint32_t ask = v->node, head, nr = v->nr_left, split = v->nr_reached;

	if (!node_of(v->range, &m->git.head, &head) || head == ask || head == v->range->bad ||
	    !(fb_search_posterior(v->search, head) > 0))
		return;
	for (size_t i = 0; i < v->marks.nr_skip; i++)
		if (!strcmp(v->marks.skip[i].hex, m->git.head.hex))
			return;
	v->node = head;
	count(v);
	if ((v->nr_reached < nr - v->nr_reached ? v->nr_reached : nr - v->nr_reached) !=
	    (split < nr - split ? split : nr - split))
		v->node = ask;
	v->commit = v->range->oid[v->node];
	count(v);
}

static void list_skipped_bases(const struct fb_manual *m, struct fb_manual_view *v)
{
	for (uint32_t i = 0; i < v->range->nr_base && !m->git.ancestors_ok; i++)
		for (size_t k = 0; k < v->marks.nr_skip; k++) {
			if (strcmp(v->marks.skip[k].hex, v->range->oid[v->range->base[i]].hex))
				continue;
			v->base_skipped = fb_xrealloc(v->base_skipped, v->nr_base_skipped + 1,
						      sizeof(*v->base_skipped));
			v->base_skipped[v->nr_base_skipped++] = v->marks.skip[k];
		}
}

static void take_next(const struct fb_manual *m, struct fb_manual_view *v)
{
	struct fb_search_ask ask;

	if (fb_search_next(v->search, &ask) != FB_SEARCH_MEASURE) {
		take_verdict(v);
	} else {
		v->kind = ask.why == FB_SEARCH_WHY_BASE			 ? FB_NEXT_BASE
			  : ask.why == FB_SEARCH_WHY_END && v->by_values ? FB_NEXT_END
									 : FB_NEXT_ASK;
		v->node = ask.node;
		v->commit = v->range->oid[ask.node];
	}
	count(v);
	if (v->kind == FB_NEXT_ASK && !v->by_values && !v->weak)
		keep_head(m, v);
	list_skipped_bases(m, v);
}

int fb_manual_view(struct fb_manual *m, struct fb_manual_view *ret, struct fb_error *err)
{
	FB_CLEANUP(fb_manual_view_release) struct fb_manual_view v = {0};
	FB_CLEANUP(said_release) struct said bad = {0};
	FB_CLEANUP(said_release) struct said good = {0};

	fb_manual_marks(m, &v.marks);
	v.by_values = values_of(m).nr > 0;
	v.kind = FB_NEXT_WAIT;
	list_said(m, FB_SIDE_NEW, !v.by_values, &bad);
	list_said(m, FB_SIDE_OLD, !v.by_values, &good);
	/* All of a side came with values: its first commit is the end. */
	if (v.by_values && !bad.nr) {
		list_said(m, FB_SIDE_NEW, true, &bad);
		bad.nr = bad.nr > 0;
	} else if (v.by_values) {
		bad.oid[0] = bad.oid[bad.nr - 1];
		bad.nr = 1;
	}
	if (v.by_values && !good.nr) {
		list_said(m, FB_SIDE_OLD, true, &good);
		good.nr = good.nr > 0;
	}
	if (v.marks.bad.hex[0] && v.marks.nr_good) {
		if (make_range(m, &bad, &good, &v, err) < 0)
			return err->code == FB_ERROR_USAGE
				       ? fb_error_wrap(err, "the verdicts contradict each other "
							    "('firstbad bisect undo' takes back "
							    "the last one)")
				       : -1;
		v.dag = make_dag(v.range);
		if (!v.dag)
			return fb_error_set(err, FB_ERROR_GIT, "the range is no graph");
		if (make_search(m, &v, err) < 0)
			return -1;
		if (v.by_values ? tell_values(m, &v, err) < 0 : (tell_certain(m, &v), 0))
			return -1;
		take_next(m, &v);
	}
	*ret = v;
	memset(&v, 0, sizeof(v));
	return 0;
}

void fb_manual_view_release(struct fb_manual_view *v)
{
	fb_search_free(v->search);
	fb_dag_free(v->dag);
	fb_range_free(v->range);
	fb_manual_marks_release(&v->marks);
	free(v->commits);
	free(v->base_skipped);
	memset(v, 0, sizeof(*v));
}

/* As estimate_bisect_steps() in git's bisect.c: 2^(n-1) + x commits take n - 1 or n tests. */
unsigned fb_manual_steps(uint32_t nr)
{
	unsigned n = 0;
	uint32_t e, x;

	if (nr < 3)
		return 0;
	while (nr >> (n + 1))
		n++;
	e = UINT32_C(1) << n;
	x = nr - e;
	return e < 3 * (uint64_t)x ? n : n - 1;
}

/* --- in the worktree -------------------------------------------------------------------------- */

int fb_manual_judged(struct fb_manual *m, const struct fb_oid *commit, struct fb_error *err)
{
	struct fb_ref_edit forget = {"BISECT_EXPECTED_REV", NULL};

	if (!strcmp(m->git.expected.hex, commit->hex))
		return 0;
	if (fb_gitbisect_file(m->history, "BISECT_ANCESTORS_OK", NULL, err) < 0 ||
	    fb_gitbisect_refs(m->history, &forget, m->git.expected.hex[0] != '\0', err) < 0)
		return -1;
	m->git.ancestors_ok = false;
	m->git.expected.hex[0] = '\0';
	return 0;
}

int fb_manual_go(struct fb_manual *m, const struct fb_manual_view *v, struct fb_error *err)
{
	struct fb_ref_edit edits[2] = {{"BISECT_EXPECTED_REV", &v->commit},
				       {"BISECT_HEAD", &v->commit}};

	if (v->kind != FB_NEXT_BASE && !m->git.ancestors_ok) {
		if (fb_gitbisect_file(m->history, "BISECT_ANCESTORS_OK", "", err) < 0)
			return -1;
		m->git.ancestors_ok = true;
	}
	if (fb_gitbisect_refs(m->history, edits, m->git.no_checkout ? 2 : 1, err) < 0)
		return -1;
	m->git.expected = v->commit;
	/* A branch that happens to be there is left, so that nothing can move it. */
	if (!m->git.no_checkout &&
	    (m->git.on_branch || strcmp(m->git.head.hex, v->commit.hex) != 0) &&
	    fb_gitbisect_checkout(m->history, v->commit.hex, err) < 0)
		return -1;
	m->git.head = v->commit;
	m->git.on_branch = false;
	return 0;
}
