/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From two ends to a DAG of candidates.
 *
 * The walk paints commits from the newest to the oldest: BAD is reachable from the bad end,
 * GOOD from a good one. Candidates are BAD and not GOOD. A commit with both is a common
 * ancestor, and its ancestors get STALE, too: common ancestors without STALE are the merge
 * bases. (git's commit-reach.c paints the same way; see also Documentation/git-merge-base.)
 * It ends when everything that is left is STALE.
 *
 * libgit2's own revwalk fails on a shallow clone, hence this one.
 */
#include <stdlib.h>
#include <string.h>

#include "src/history/internal.h"
#include "src/util/util.h"

/*
 * Dates lie: a commit can be older, by its date, than its ancestors, and then the walk would
 * end before it sees that a candidate is an ancestor of a good end. Two remedies. A commit is
 * due at the latest date of itself and its parents, so that one with a date far in the past
 * does not hold up what lies behind it. And the walk goes on for this many more commits after
 * it could end (git: 5, SLOP in revision.c); a history smaller than that is walked whole.
 */
#define SLOP 2000

enum paint {
	BAD = 1 << 0,
	GOOD = 1 << 1,
	STALE = 1 << 2, /* a child is common */
	LOADED = 1 << 3,
	QUEUED = 1 << 4,
	EXPANDED = 1 << 5,
};

#define COMMON (BAD | GOOD)

struct node {
	git_oid oid;
	int64_t date_s, due_s;
	uint32_t parent, nr_parents; /* where in walk.parent */
	unsigned flags;
};

struct queue {
	uint32_t *at;
	size_t nr, cap;
};

struct walk {
	struct fb_history *history;
	struct fb_shallow shallow;
	struct node *node;
	uint32_t nr;
	size_t node_cap;
	uint32_t *parent;
	size_t nr_parents, parent_cap;
	uint32_t *table; /* open addressing: node + 1, or 0 */
	size_t table_size;
	struct queue queue; /* a heap, latest due first */
	size_t nr_active;   /* queued and not STALE */
	struct {
		struct brush {
			uint32_t node;
			unsigned flags;
		} * at;
		size_t nr, cap;
	} stack; /* for paint() */
};

static void walk_release(struct walk *w)
{
	fb_shallow_release(&w->shallow);
	free(w->node);
	free(w->parent);
	free(w->table);
	free(w->queue.at);
	free(w->stack.at);
}

static void push(struct queue *q, uint32_t v)
{
	FB_GROW(q->at, q->nr, q->cap);
	q->at[q->nr++] = v;
}

/* Looking commits up */

static size_t slot_of(const struct walk *w, const git_oid *oid)
{
	size_t mask = w->table_size - 1, slot;

	/* An object id is a hash already. */
	memcpy(&slot, oid->id, sizeof(slot));
	for (slot &= mask; w->table[slot]; slot = (slot + 1) & mask)
		if (git_oid_equal(&w->node[w->table[slot] - 1].oid, oid))
			break;
	return slot;
}

static void grow_table(struct walk *w)
{
	free(w->table);
	w->table_size = w->table_size ? 2 * w->table_size : 4096;
	w->table = fb_xcalloc(w->table_size, sizeof(*w->table));
	for (uint32_t i = 0; i < w->nr; i++)
		w->table[slot_of(w, &w->node[i].oid)] = i + 1;
}

/* The node of @oid, new or not. */
static uint32_t intern(struct walk *w, const git_oid *oid)
{
	size_t slot;

	if (2 * (size_t)w->nr >= w->table_size)
		grow_table(w);
	slot = slot_of(w, oid);
	if (w->table[slot])
		return w->table[slot] - 1;
	FB_GROW(w->node, w->nr, w->node_cap);
	w->node[w->nr] = (struct node){.oid = *oid};
	w->table[slot] = w->nr + 1;
	return w->nr++;
}

static int load(struct walk *w, uint32_t i, struct fb_error *err)
{
	struct fb_raw_commit raw;
	git_odb_object *object = NULL;
	const char *name, *email;
	size_t name_len, email_len;
	char hex[GIT_OID_HEXSZ + 1];
	uint32_t first = (uint32_t)w->nr_parents;

	if (w->node[i].flags & LOADED)
		return 0;
	git_oid_tostr(hex, sizeof(hex), &w->node[i].oid);
	if (git_odb_read(&object, w->history->odb, &w->node[i].oid) < 0)
		return fb_git_error(err, "commit %s of the range", hex);
	if (git_odb_object_type(object) != GIT_OBJECT_COMMIT ||
	    fb_raw_commit_parse(git_odb_object_data(object), git_odb_object_size(object), &raw) <
		    0) {
		git_odb_object_free(object);
		return fb_error_set(err, FB_ERROR_GIT, "%s is not a commit", hex);
	}
	fb_raw_person(raw.committer.buf, raw.committer.len, &name, &name_len, &email, &email_len,
		      &w->node[i].date_s);
	if (fb_shallow_has(&w->shallow, &w->node[i].oid))
		raw.nr_parents = 0;
	for (unsigned p = 0; p < raw.nr_parents; p++) {
		git_oid oid;

		fb_raw_commit_parent(&raw, p, &oid);
		FB_GROW(w->parent, w->nr_parents, w->parent_cap);
		w->parent[w->nr_parents++] = intern(w, &oid);
	}
	w->node[i].parent = first;
	w->node[i].nr_parents = raw.nr_parents;
	w->node[i].flags |= LOADED;
	git_odb_object_free(object);
	return 0;
}

/* The queue */

static bool due_before(const struct walk *w, uint32_t a, uint32_t b)
{
	return w->node[a].due_s > w->node[b].due_s ||
	       (w->node[a].due_s == w->node[b].due_s && a < b);
}

static int enqueue(struct walk *w, uint32_t i, struct fb_error *err)
{
	struct queue *q = &w->queue;
	size_t at;

	if (load(w, i, err) < 0)
		return -1;
	w->node[i].due_s = w->node[i].date_s;
	for (uint32_t p = 0; p < w->node[i].nr_parents; p++) {
		uint32_t parent = w->parent[w->node[i].parent + p];

		if (load(w, parent, err) < 0)
			return -1;
		if (w->node[parent].date_s > w->node[i].due_s)
			w->node[i].due_s = w->node[parent].date_s;
	}
	w->node[i].flags |= QUEUED;
	if (!(w->node[i].flags & STALE))
		w->nr_active++;
	push(q, i);
	for (at = q->nr - 1; at && due_before(w, i, q->at[(at - 1) / 2]); at = (at - 1) / 2)
		q->at[at] = q->at[(at - 1) / 2];
	q->at[at] = i;
	return 0;
}

static uint32_t dequeue(struct walk *w)
{
	struct queue *q = &w->queue;
	uint32_t first = q->at[0], last = q->at[--q->nr];
	size_t at = 0, child;

	while ((child = 2 * at + 1) < q->nr) {
		if (child + 1 < q->nr && due_before(w, q->at[child + 1], q->at[child]))
			child++;
		if (!due_before(w, q->at[child], last))
			break;
		q->at[at] = q->at[child];
		at = child;
	}
	q->at[at] = last;
	w->node[first].flags &= ~(unsigned)QUEUED;
	if (!(w->node[first].flags & STALE))
		w->nr_active--;
	return first;
}

static unsigned inherited(const struct node *n)
{
	unsigned paint = n->flags & (BAD | GOOD | STALE);

	return (paint & COMMON) == COMMON ? paint | STALE : paint;
}

static void push_brush(struct walk *w, uint32_t node, unsigned flags)
{
	FB_GROW(w->stack.at, w->stack.nr, w->stack.cap);
	w->stack.at[w->stack.nr++] = (struct brush){node, flags};
}

static void push_parents(struct walk *w, uint32_t i)
{
	for (uint32_t p = 0; p < w->node[i].nr_parents; p++)
		push_brush(w, w->parent[w->node[i].parent + p], inherited(&w->node[i]));
}

/* Do what is on the stack. A commit that has passed its paint on before passes on the new. */
static int paint(struct walk *w, struct fb_error *err)
{
	while (w->stack.nr) {
		struct brush b = w->stack.at[--w->stack.nr];
		unsigned before = w->node[b.node].flags, after = before | b.flags;

		w->node[b.node].flags = after;
		if (!(before & (QUEUED | EXPANDED))) {
			if (enqueue(w, b.node, err) < 0)
				return -1;
			continue;
		}
		if (after == before)
			continue;
		if ((before & QUEUED) && (after & STALE) && !(before & STALE))
			w->nr_active--;
		if (before & EXPANDED)
			push_parents(w, b.node);
	}
	return 0;
}

static int walk_run(struct walk *w, struct fb_error *err)
{
	size_t slop = SLOP;

	while (w->queue.nr && slop) {
		uint32_t i;

		slop = w->nr_active ? SLOP : slop - 1;
		i = dequeue(w);
		w->node[i].flags |= EXPANDED;
		push_parents(w, i);
		if (paint(w, err) < 0)
			return -1;
	}
	return 0;
}

/* What the walk found */

static const char *hex_of(const struct walk *w, uint32_t i, char buf[GIT_OID_HEXSZ + 1])
{
	return git_oid_tostr(buf, GIT_OID_HEXSZ + 1, &w->node[i].oid);
}

/* The good end from which @bad can be reached; one of them is known to be so. */
static uint32_t good_above(struct walk *w, const uint32_t *good, size_t nr_good, uint32_t bad)
{
	for (size_t g = 0; g + 1 < nr_good; g++) {
		FB_CLEANUP(fb_freep) bool *seen = fb_xcalloc(w->nr, sizeof(*seen));

		w->stack.nr = 0;
		push_brush(w, good[g], 0);
		while (w->stack.nr) {
			uint32_t i = w->stack.at[--w->stack.nr].node;

			if (i == bad)
				return good[g];
			if (!seen[i] && (w->node[i].flags & EXPANDED))
				push_parents(w, i);
			seen[i] = true;
		}
	}
	return good[nr_good - 1];
}

static int check_ends(struct walk *w, uint32_t bad, const uint32_t *good, size_t nr_good,
		      unsigned flags, struct fb_error *err)
{
	char a[GIT_OID_HEXSZ + 1], b[GIT_OID_HEXSZ + 1];
	bool common = flags & FB_RANGE_UNRELATED;

	for (size_t g = 0; g < nr_good; g++)
		if (good[g] == bad)
			return fb_error_set(err, FB_ERROR_USAGE,
					    "%s is given as both ends of the range",
					    hex_of(w, bad, a));
	if (w->node[bad].flags & GOOD) {
		uint32_t g = good_above(w, good, nr_good, bad);

		return fb_error_set(err, FB_ERROR_USAGE,
				    "the bad end %s is an ancestor of the good end %s: swapped?",
				    hex_of(w, bad, a), hex_of(w, g, b));
	}
	for (uint32_t i = 0; i < w->nr && !common; i++)
		common = (w->node[i].flags & COMMON) == COMMON;
	if (!common)
		return fb_error_set(err, FB_ERROR_GIT,
				    "the bad end %s and the good end %s have no common history%s",
				    hex_of(w, bad, a), hex_of(w, good[0], b),
				    w->shallow.nr ? " (the repository is a shallow clone)" : "");
	return 0;
}

enum role {
	ROLE_NONE,
	ROLE_CANDIDATE,
	ROLE_GOOD,
	ROLE_BASE,
};

static unsigned char *roles(const struct walk *w, uint32_t bad, const uint32_t *good,
			    size_t nr_good, unsigned flags)
{
	unsigned char *role = fb_xcalloc(w->nr, sizeof(*role));

	for (uint32_t i = 0; i < w->nr; i++) {
		unsigned f = w->node[i].flags & (COMMON | STALE);

		if (f == BAD && !(flags & FB_RANGE_FIRST_PARENT))
			role[i] = ROLE_CANDIDATE;
		else if (f == COMMON)
			role[i] = ROLE_BASE;
	}
	if (flags & FB_RANGE_FIRST_PARENT)
		for (uint32_t i = bad; !(w->node[i].flags & GOOD);
		     i = w->parent[w->node[i].parent]) {
			role[i] = ROLE_CANDIDATE;
			if (!w->node[i].nr_parents)
				break;
		}
	/* A good end that is its own merge base has been measured: it is not to be tested. */
	for (size_t g = 0; g < nr_good; g++)
		role[good[g]] = ROLE_GOOD;
	return role;
}

/* The edges between nodes of the range, both ways. */
struct edges {
	uint32_t *start, *to; /* those of i: to[start[i]..[i + 1]) */
	uint32_t *nr_parents;
};

static void edges_release(struct edges *e)
{
	free(e->start);
	free(e->to);
	free(e->nr_parents);
}

/* The @p-th parent of @i if it belongs to the range and is not named twice; false otherwise. */
static bool edge(const struct walk *w, const unsigned char *role, unsigned flags, uint32_t i,
		 uint32_t p, uint32_t *ret)
{
	const uint32_t *parent = &w->parent[w->node[i].parent];

	if (!role[parent[p]] || ((flags & FB_RANGE_FIRST_PARENT) && p))
		return false;
	for (uint32_t q = 0; q < p; q++)
		if (parent[q] == parent[p])
			return false;
	*ret = parent[p];
	return true;
}

static void find_edges(const struct walk *w, const unsigned char *role, unsigned flags,
		       struct edges *e)
{
	uint32_t parent, nr = 0;

	e->start = fb_xcalloc((size_t)w->nr + 1, sizeof(*e->start));
	e->nr_parents = fb_xcalloc(w->nr, sizeof(*e->nr_parents));
	for (uint32_t i = 0; i < w->nr; i++)
		for (uint32_t p = 0; role[i] && p < w->node[i].nr_parents; p++)
			if (edge(w, role, flags, i, p, &parent)) {
				e->start[parent]++;
				e->nr_parents[i]++;
				nr++;
			}
	for (uint32_t i = 0; i < w->nr; i++)
		e->start[i + 1] += e->start[i];
	e->to = fb_xcalloc((size_t)nr + 1, sizeof(*e->to));
	for (uint32_t i = w->nr; i-- > 0;)
		for (uint32_t p = 0; role[i] && p < w->node[i].nr_parents; p++)
			if (edge(w, role, flags, i, p, &parent))
				e->to[--e->start[parent]] = i;
}

/* Older first; the id decides between equal dates, so that the order is the same everywhere. */
static bool is_older(const struct walk *w, uint32_t a, uint32_t b)
{
	if (w->node[a].date_s != w->node[b].date_s)
		return w->node[a].date_s < w->node[b].date_s;
	return git_oid_cmp(&w->node[a].oid, &w->node[b].oid) < 0;
}

static void ready_push(const struct walk *w, struct queue *q, uint32_t i)
{
	size_t at;

	push(q, i);
	for (at = q->nr - 1; at && is_older(w, i, q->at[(at - 1) / 2]); at = (at - 1) / 2)
		q->at[at] = q->at[(at - 1) / 2];
	q->at[at] = i;
}

static uint32_t ready_pop(const struct walk *w, struct queue *q)
{
	uint32_t first = q->at[0], last = q->at[--q->nr];
	size_t at = 0, child;

	while ((child = 2 * at + 1) < q->nr) {
		if (child + 1 < q->nr && is_older(w, q->at[child + 1], q->at[child]))
			child++;
		if (!is_older(w, q->at[child], last))
			break;
		q->at[at] = q->at[child];
		at = child;
	}
	q->at[at] = last;
	return first;
}

/* Kahn's algorithm: the oldest commit of which all parents are placed comes next. */
static uint32_t *sort(const struct walk *w, const unsigned char *role, struct edges *e,
		      uint32_t *ret_nr)
{
	uint32_t *order = fb_xcalloc((size_t)w->nr + 1, sizeof(*order)), nr = 0;
	struct queue ready = {0};

	for (uint32_t i = 0; i < w->nr; i++)
		if (role[i] && !e->nr_parents[i])
			ready_push(w, &ready, i);
	while (ready.nr) {
		uint32_t i = ready_pop(w, &ready);

		order[nr++] = i;
		for (uint32_t c = e->start[i]; c < e->start[i + 1]; c++)
			if (--e->nr_parents[e->to[c]] == 0)
				ready_push(w, &ready, e->to[c]);
	}
	free(ready.at);
	*ret_nr = nr;
	return order;
}

/*
 * Puts the good end that says most first: it is the one that is measured. That is a parent of
 * candidates rather than one that another good end makes superfluous, and the newest of them.
 */
static void order_good(struct fb_range *r)
{
	FB_CLEANUP(fb_freep) unsigned char *is_old = fb_xcalloc(r->nr, 1);
	FB_CLEANUP(fb_freep) unsigned char *near = fb_xcalloc(r->nr, 1);
	size_t first = 0;

	for (size_t g = 0; g < r->nr_good; g++)
		is_old[r->good[g]] = 1;
	for (size_t m = 0; m < r->nr_base; m++)
		is_old[r->base[m]] = 1;
	for (uint32_t n = 0; n < r->nr; n++)
		for (uint32_t a = r->parent_start[n]; !is_old[n] && a < r->parent_start[n + 1]; a++)
			near[r->parent[a]] = 1;
	for (size_t g = 1; g < r->nr_good; g++)
		if (near[r->good[g]] >= near[r->good[first]])
			first = g;
	if (first) {
		uint32_t good = r->good[first];

		memmove(r->good + 1, r->good, first * sizeof(*r->good));
		r->good[0] = good;
	}
}

static struct fb_range *make_range(const struct walk *w, uint32_t bad, const unsigned char *role,
				   unsigned flags)
{
	FB_CLEANUP(edges_release) struct edges e = {0};
	FB_CLEANUP(fb_freep) uint32_t *order = NULL, *index = NULL;
	struct fb_range *r = fb_xcalloc(1, sizeof(*r));
	size_t nr_edges, at = 0;
	uint32_t parent;

	find_edges(w, role, flags, &e);
	nr_edges = e.start[w->nr];
	order = sort(w, role, &e, &r->nr);
	index = fb_xcalloc(w->nr, sizeof(*index));
	for (uint32_t n = 0; n < r->nr; n++)
		index[order[n]] = n;
	r->oid = fb_xcalloc(r->nr, sizeof(*r->oid));
	r->parent_start = fb_xcalloc((size_t)r->nr + 1, sizeof(*r->parent_start));
	r->parent = fb_xcalloc(nr_edges + 1, sizeof(*r->parent));
	r->good = fb_xcalloc(r->nr, sizeof(*r->good));
	r->base = fb_xcalloc(r->nr, sizeof(*r->base));
	for (uint32_t n = 0; n < r->nr; n++) {
		uint32_t i = order[n];

		git_oid_tostr(r->oid[n].hex, sizeof(r->oid[n].hex), &w->node[i].oid);
		r->parent_start[n] = (uint32_t)at;
		for (uint32_t p = 0; p < w->node[i].nr_parents; p++)
			if (edge(w, role, flags, i, p, &parent))
				r->parent[at++] = index[parent];
		if (role[i] == ROLE_GOOD)
			r->good[r->nr_good++] = n;
		else if (role[i] == ROLE_BASE)
			r->base[r->nr_base++] = n;
		else
			r->nr_candidates++;
	}
	r->parent_start[r->nr] = (uint32_t)at;
	r->bad = index[bad];
	order_good(r);
	return r;
}

static int start(struct walk *w, const struct fb_oid *oid, unsigned flags, uint32_t *ret,
		 struct fb_error *err)
{
	git_oid id;

	if (git_oid_fromstr(&id, oid->hex) < 0)
		return fb_git_error(err, "commit '%.40s'", oid->hex);
	*ret = intern(w, &id);
	push_brush(w, *ret, flags);
	return paint(w, err);
}

int fb_history_range(struct fb_history *history, const struct fb_oid *bad,
		     const struct fb_oid *good, size_t nr_good, unsigned flags,
		     struct fb_range **ret, struct fb_error *err)
{
	FB_CLEANUP(walk_release) struct walk w = {.history = history};
	FB_CLEANUP(fb_freep) uint32_t *good_at = fb_xcalloc(nr_good + 1, sizeof(*good_at));
	FB_CLEANUP(fb_freep) unsigned char *role = NULL;
	uint32_t bad_at;

	if (!nr_good)
		return fb_error_set(err, FB_ERROR_USAGE, "a range needs a good end");
	if (fb_shallow_read(history, &w.shallow, err) < 0 || start(&w, bad, BAD, &bad_at, err) < 0)
		return -1;
	for (size_t g = 0; g < nr_good; g++)
		if (start(&w, &good[g], GOOD, &good_at[g], err) < 0)
			return -1;
	if (walk_run(&w, err) < 0 || check_ends(&w, bad_at, good_at, nr_good, flags, err) < 0)
		return -1;
	role = roles(&w, bad_at, good_at, nr_good, flags);
	*ret = make_range(&w, bad_at, role, flags);
	return 0;
}

void fb_range_free(struct fb_range *range)
{
	if (!range)
		return;
	free(range->oid);
	free(range->parent_start);
	free(range->parent);
	free(range->good);
	free(range->base);
	free(range);
}

void fb_range_freep(struct fb_range **range)
{
	fb_range_free(*range);
}
