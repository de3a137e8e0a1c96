/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The search for the commit that changed a value.
 *
 * Everything is a function of what was recorded: evaluate() computes it anew after each
 * change, from values in sorted order and nodes in index order, so that neither the order
 * of recording nor the number of questions asked leaves a trace.
 *
 *   ends    is there a shift of min_effect at all?      (fb_model_ends_test)
 *   bases   is a merge base bad already?                (two hypotheses)
 *   search  which candidate is the step?                (posterior over candidates)
 *
 * In the search, candidates that no measured image tells apart have one likelihood: they
 * form a cluster, and the cost of a posterior is clusters, not commits (after J. Kara,
 * "Stochastic bisection", git list, 18 Nov 2021). The next node is the one whose boots
 * tell most per cost; an end is measured again when it is the weakest of what is known,
 * else an unlucky first mean leads the search astray for good.
 */
#include "bisect/search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MATHLIB_STANDALONE
#include <Rmath.h>

#include "bisect/model.h"
#include "bisect/stats.h"

#define NO_NODE UINT32_MAX

/* Evidence (e-value) of a shift at which the search begins; a verdict needs more. */
#define START_EVIDENCE 10.0
/* Prior of "something else" than one step. */
#define PRIOR_OTHER 0.02
/*
 * Prior of a boot that has nothing to do with its commit (a hiccup of the host, the other
 * of two modes). So large that at 99 % no single boot can decide between two commits.
 */
#define PRIOR_OUTLIER 0.06
/* A side is weak with less than this share of the other side's weight, and this error. */
#define WEAK_SHARE (1.0 / 3)
#define WEAK_ERROR 0.15
/* With so many boots of an image no single one of them is the reason for doubt. */
#define ENOUGH_BOOTS 4
/*
 * The search gives up when the best next boots would have to be repeated this many times to
 * settle what is open; the second one is for a distance of one standard deviation. That is
 * so when images differ by themselves: more boots of one cannot tell on which side it is.
 */
#define HOPELESS_BOOTS	     200.0
#define HOPELESS_BOOTS_SIGMA 300.0
/* Likelihoods this many nats below the best no longer matter (1e-17 of it). */
#define NEGLIGIBLE 40.0

enum role { ROLE_NONE, ROLE_OLD, ROLE_CANDIDATE };

struct node {
	double *value; /* on the scale of the search, unsorted */
	uint32_t nr, cap;
	uint32_t image; /* union-find: a lower index, or itself for the representative */
	uint32_t next;	/* ring of the nodes with this image */
	double cost;
	unsigned char role, skip, good, base;
};

/* A built image with boots. Images are in the order of their lowest node. */
struct image {
	struct fb_model_image sum;
	uint32_t root;
	uint32_t candidate; /* candidate index of its first candidate node; NO_NODE: old side */
	size_t first;	    /* of its values in struct fb_search.sorted */
	unsigned char side;
};

struct cluster {
	struct fb_model_sums new;
	uint32_t first, size; /* lowest candidate; number of live candidates */
	uint64_t reached_by;  /* hash of the set of images on the new side */
	double log_lik;
	double part[FB_MODEL_NR_RHO]; /* log likelihood for each rho; they add up to .log_lik */
	double weight;		      /* posterior of each member */
};

/* Posterior of a candidate and its ancestors together with each rho. */
struct mass {
	double part[FB_MODEL_NR_RHO];
};

struct class_key {
	uint64_t h1, h2;
	uint32_t candidate;
};

/* What follows from the records; computed when it is asked for. */
struct state {
	bool valid;
	bool searching;
	enum fb_search_step step;
	struct fb_search_ask ask;
	enum fb_verdict_kind kind;
	double confidence;
	double other;
	uint32_t nr_nodes, nr_left;
	double boots_to_go;
	struct fb_model_fit fit;		     /* of the best step, for the best rho */
	struct fb_model_fit fit_of[FB_MODEL_NR_RHO]; /* of the best step */
	double rho_weight[FB_MODEL_NR_RHO];	     /* posterior of rho, given one step */
	bool has_fit;
};

struct fb_search {
	const struct fb_dag *dag;
	struct fb_search_params params;
	double min_shift;	      /* min_effect on the scale of the search */
	uint32_t nr_nodes, good, bad; /* .good: the good end that is measured first */
	struct node *node;
	uint32_t nr_boots;

	/* The candidates, numbered in the order of their nodes, with their parents among them. */
	uint32_t nr_cand, nr_alive;
	uint32_t *cand, *index; /* candidate -> node, node -> candidate */
	uint32_t *par_first, *par;
	unsigned char *dead; /* would separate two nodes of one image */
	bool has_merges, any_skip;

	/* Room for evaluate(), allocated by fb_search_new() and fb_search_record(). */
	struct image *image;
	double *sorted;
	size_t nr_image, cap_image, cap_sorted;
	struct cluster *cluster;
	uint32_t nr_cluster;
	uint32_t *cluster_of, *split_to, *count, *order, *class_of, *distance, *near_measured;
	uint64_t *mask;
	struct mass *mass;
	double *class_mass;
	struct class_key *key;
	unsigned char *mark;
	uint32_t *found; /* nodes of the verdict */
	double offset;
	struct fb_model model;
	struct state *state;
};

/* ---- building ------------------------------------------------------------------------- */

void fb_search_free(struct fb_search *s)
{
	if (!s)
		return;
	for (uint32_t v = 0; s->node && v < s->nr_nodes; v++)
		free(s->node[v].value);
	free(s->node);
	free(s->cand);
	free(s->index);
	free(s->par_first);
	free(s->par);
	free(s->dead);
	free(s->image);
	free(s->sorted);
	free(s->cluster);
	free(s->cluster_of);
	free(s->split_to);
	free(s->count);
	free(s->order);
	free(s->class_of);
	free(s->distance);
	free(s->near_measured);
	free(s->mask);
	free(s->mass);
	free(s->class_mass);
	free(s->key);
	free(s->mark);
	free(s->found);
	free(s->state);
	free(s);
}

static bool params_are_usable(const struct fb_search_params *p)
{
	return p->confidence > 0.5 && p->confidence < 1 && p->min_effect > 0 &&
	       isfinite(p->min_effect) && p->min_boots >= 2 &&
	       (p->scale == FB_SCALE_LOG || p->scale == FB_SCALE_LINEAR) && p->direction >= -1 &&
	       p->direction <= 1 && (!p->max_boots || p->max_boots >= p->min_boots) &&
	       !(p->scale == FB_SCALE_LOG && p->direction == FB_DIRECTION_DOWN &&
		 p->min_effect >= 1);
}

static double to_min_shift(const struct fb_search_params *p)
{
	if (p->scale == FB_SCALE_LINEAR)
		return p->min_effect;
	return p->direction == FB_DIRECTION_DOWN ? -log1p(-p->min_effect) : log1p(p->min_effect);
}

/* Roles by two downward sweeps: good ends and bases spread "old", the bad end the rest. */
static void set_roles(struct fb_search *s)
{
	s->mark[s->bad] = 1;
	for (uint32_t v = s->nr_nodes; v-- > 0;) {
		size_t nr;
		const uint32_t *parent = fb_dag_parents(s->dag, v, &nr);
		bool old = s->node[v].role == ROLE_OLD;

		for (size_t i = 0; i < nr; i++) {
			if (old)
				s->node[parent[i]].role = ROLE_OLD;
			if (s->mark[v])
				s->mark[parent[i]] = 1;
		}
		if (s->mark[v] && !old)
			s->node[v].role = ROLE_CANDIDATE;
	}
}

static int set_candidates(struct fb_search *s)
{
	size_t nr_arcs = 0, used = 0;

	for (uint32_t v = 0; v < s->nr_nodes; v++) {
		size_t nr;

		s->index[v] = NO_NODE;
		if (s->node[v].role != ROLE_CANDIDATE)
			continue;
		fb_dag_parents(s->dag, v, &nr);
		nr_arcs += nr;
		s->index[v] = s->nr_cand;
		s->cand[s->nr_cand++] = v;
	}
	s->nr_alive = s->nr_cand;
	s->par_first = calloc((size_t)s->nr_cand + 1, sizeof(*s->par_first));
	s->par = calloc(nr_arcs + 1, sizeof(*s->par));
	if (!s->par_first || !s->par)
		return -1;
	for (uint32_t c = 0; c < s->nr_cand; c++) {
		size_t nr;
		const uint32_t *parent = fb_dag_parents(s->dag, s->cand[c], &nr);

		s->par_first[c] = (uint32_t)used;
		for (size_t i = 0; i < nr; i++)
			if (s->index[parent[i]] != NO_NODE)
				s->par[used++] = s->index[parent[i]];
		if (used - s->par_first[c] > 1)
			s->has_merges = true;
	}
	s->par_first[s->nr_cand] = (uint32_t)used;
	return 0;
}

static int allocate_room(struct fb_search *s)
{
	size_t n = (size_t)s->nr_cand + 1;

	s->dead = calloc(n, 1);
	s->cluster = calloc(n, sizeof(*s->cluster));
	s->cluster_of = calloc(n, sizeof(*s->cluster_of));
	s->split_to = calloc(n, sizeof(*s->split_to));
	s->count = calloc(n, sizeof(*s->count));
	s->order = calloc(n, sizeof(*s->order));
	s->class_of = calloc(n, sizeof(*s->class_of));
	s->distance = calloc(n, sizeof(*s->distance));
	s->near_measured = calloc(n, sizeof(*s->near_measured));
	s->mask = calloc(n, sizeof(*s->mask));
	s->mass = calloc(n, sizeof(*s->mass));
	s->class_mass = calloc(n, sizeof(*s->class_mass));
	s->key = calloc(n, sizeof(*s->key));
	s->found = calloc(n, sizeof(*s->found));
	return s->dead && s->cluster && s->cluster_of && s->split_to && s->count && s->order &&
			       s->class_of && s->distance && s->near_measured && s->mask &&
			       s->mass && s->class_mass && s->key && s->found
		       ? 0
		       : -1;
}

struct fb_search *fb_search_new(const struct fb_dag *dag, const uint32_t *good, size_t nr_good,
				const uint32_t *bases, size_t nr_bases, uint32_t bad,
				const struct fb_search_params *params)
{
	struct fb_search *s;
	uint32_t nr = fb_dag_nr(dag);

	if (!params_are_usable(params) || !nr_good || bad >= nr)
		return NULL;
	for (size_t i = 0; i < nr_good + nr_bases; i++)
		if ((i < nr_good ? good[i] : bases[i - nr_good]) >= nr)
			return NULL;
	s = calloc(1, sizeof(*s));
	if (!s)
		return NULL;
	s->dag = dag;
	s->params = *params;
	if (!s->params.batch)
		s->params.batch = 1;
	s->min_shift = to_min_shift(params);
	s->nr_nodes = nr;
	s->good = good[0];
	s->bad = bad;
	s->node = calloc(nr, sizeof(*s->node));
	s->cand = calloc(nr, sizeof(*s->cand));
	s->index = calloc(nr, sizeof(*s->index));
	s->mark = calloc(nr, 1);
	s->state = calloc(1, sizeof(*s->state));
	if (!s->node || !s->cand || !s->index || !s->mark || !s->state) {
		fb_search_free(s);
		return NULL;
	}
	for (uint32_t v = 0; v < nr; v++)
		s->node[v].image = s->node[v].next = v;
	for (size_t i = 0; i < nr_good; i++) {
		s->node[good[i]].role = ROLE_OLD;
		s->node[good[i]].good = 1;
	}
	for (size_t i = 0; i < nr_bases; i++) {
		s->node[bases[i]].role = ROLE_OLD;
		s->node[bases[i]].base = !s->node[bases[i]].good;
	}
	set_roles(s);
	if (s->node[bad].role == ROLE_OLD || set_candidates(s) < 0 || allocate_room(s) < 0) {
		fb_search_free(s);
		return NULL;
	}
	fb_model_init(&s->model, s->min_shift, params->direction);
	return s;
}

/* ---- recording ------------------------------------------------------------------------ */

static uint32_t image_of(const struct fb_search *s, uint32_t v)
{
	while (s->node[v].image != v)
		v = s->node[v].image;
	return v;
}

static int grow(void **array, size_t *cap, size_t need, size_t size)
{
	size_t more = *cap ? *cap * 2 : 16;
	void *p;

	if (need <= *cap)
		return 0;
	if (more < need)
		more = need;
	p = realloc(*array, more * size);
	if (!p)
		return -1;
	*array = p;
	*cap = more;
	return 0;
}

int fb_search_record(struct fb_search *s, uint32_t node, double value)
{
	void *image = s->image, *sorted = s->sorted, *values;
	struct node *n;
	size_t cap;
	int rc;

	if (node >= s->nr_nodes || s->node[node].role == ROLE_NONE || !isfinite(value))
		return -1;
	if (s->params.scale == FB_SCALE_LOG) {
		if (!(value > 0))
			return -1;
		value = log(value);
	}
	n = &s->node[node];
	rc = grow(&image, &s->cap_image, s->nr_boots + 1u, sizeof(*s->image));
	s->image = image;
	if (rc < 0)
		return -1;
	rc = grow(&sorted, &s->cap_sorted, s->nr_boots + 1u, sizeof(*s->sorted));
	s->sorted = sorted;
	if (rc < 0)
		return -1;
	values = n->value;
	cap = n->cap;
	rc = grow(&values, &cap, n->nr + 1u, sizeof(*n->value));
	n->value = values;
	n->cap = (uint32_t)cap;
	if (rc < 0)
		return -1;
	n->value[n->nr++] = value;
	s->nr_boots++;
	s->state->valid = false;
	return 0;
}

int fb_search_skip(struct fb_search *s, uint32_t node)
{
	if (node >= s->nr_nodes)
		return -1;
	s->node[node].skip = 1;
	if (s->node[node].role == ROLE_CANDIDATE)
		s->any_skip = true;
	s->state->valid = false;
	return 0;
}

int fb_search_set_cost(struct fb_search *s, uint32_t node, double boots)
{
	if (node >= s->nr_nodes || !(boots >= 0) || !isfinite(boots))
		return -1;
	s->node[node].cost = boots;
	s->state->valid = false;
	return 0;
}

/* Marks the candidates that @candidate can reach, itself included, with @bit. */
static void mark_ancestors(struct fb_search *s, uint32_t candidate, unsigned char bit)
{
	if (candidate == NO_NODE)
		return;
	s->mark[candidate] |= bit;
	for (uint32_t c = candidate + 1; c-- > 0;)
		if (s->mark[c] & bit)
			for (uint32_t a = s->par_first[c]; a < s->par_first[c + 1]; a++)
				s->mark[s->par[a]] |= bit;
}

/* A node of the ring of @v that has a side; NO_NODE when none has. */
static uint32_t sided_node(const struct fb_search *s, uint32_t v)
{
	uint32_t w = v;

	do {
		if (s->node[w].role != ROLE_NONE)
			return w;
		w = s->node[w].next;
	} while (w != v);
	return NO_NODE;
}

int fb_search_same_image(struct fb_search *s, uint32_t a, uint32_t b)
{
	uint32_t ra, rb, next, side_a, side_b;

	if (a >= s->nr_nodes || b >= s->nr_nodes)
		return -1;
	ra = image_of(s, a);
	rb = image_of(s, b);
	if (ra == rb)
		return 0;
	/*
	 * All nodes of one image lie on one side. Within each of the two rings that is so
	 * already; one pair between them makes it so for the whole.
	 */
	side_a = sided_node(s, a);
	side_b = sided_node(s, b);
	if (side_a != NO_NODE && side_b != NO_NODE) {
		memset(s->mark, 0, s->nr_cand);
		mark_ancestors(s, s->index[side_a], 1);
		mark_ancestors(s, s->index[side_b], 2);
		for (uint32_t c = 0; c < s->nr_cand; c++) {
			if (s->mark[c] != 1 && s->mark[c] != 2)
				continue;
			s->nr_alive -= !s->dead[c];
			s->dead[c] = 1;
		}
	}
	s->node[ra > rb ? ra : rb].image = ra > rb ? rb : ra;
	next = s->node[a].next;
	s->node[a].next = s->node[b].next;
	s->node[b].next = next;
	s->state->valid = false;
	return 0;
}

/* ---- what was measured ---------------------------------------------------------------- */

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static uint32_t image_boots(const struct fb_search *s, uint32_t v)
{
	uint32_t w = v, nr = 0;

	do {
		nr += s->node[w].nr;
		w = s->node[w].next;
	} while (w != v);
	return nr;
}

/* Boots that @v may still have. */
static unsigned boots_allowed(const struct fb_search *s, uint32_t v)
{
	unsigned room = UINT32_MAX, used;

	if (s->node[v].skip)
		return 0;
	if (s->params.max_boots) {
		used = image_boots(s, v);
		room = used < s->params.max_boots ? s->params.max_boots - used : 0;
	}
	if (s->params.max_total) {
		used = s->nr_boots;
		used = used < s->params.max_total ? s->params.max_total - used : 0;
		if (used < room)
			room = used;
	}
	return room;
}

/* The node to boot for the image of @v: its first one that can be; NO_NODE when none can. */
static uint32_t bootable_node(const struct fb_search *s, uint32_t v)
{
	uint32_t w = v, best = NO_NODE;

	if (boots_allowed(s, v))
		return v;
	do {
		if (w < best && boots_allowed(s, w))
			best = w;
		w = s->node[w].next;
	} while (w != v);
	return best;
}

static void collect_image(struct fb_search *s, uint32_t root, size_t first)
{
	struct image *im = &s->image[s->nr_image++];
	uint32_t w = root;
	size_t nr = 0;
	bool old = false;

	im->root = root;
	im->first = first;
	im->candidate = NO_NODE;
	im->side = 0;
	do {
		for (uint32_t i = 0; i < s->node[w].nr; i++)
			s->sorted[first + nr++] = s->node[w].value[i];
		old = old || s->node[w].role == ROLE_OLD;
		if (s->node[w].role == ROLE_CANDIDATE && s->index[w] < im->candidate)
			im->candidate = s->index[w];
		w = s->node[w].next;
	} while (w != root);
	if (old)
		im->candidate = NO_NODE;
	qsort(s->sorted + first, nr, sizeof(*s->sorted), compare_doubles);
	im->sum.nr = nr;
	im->sum.mean = fb_stats_mean(s->sorted + first, nr, &im->sum.ss);
}

static void collect_images(struct fb_search *s)
{
	size_t first = 0;

	s->nr_image = 0;
	for (uint32_t v = 0; v < s->nr_nodes; v++) {
		if (s->node[v].image != v || (s->node[v].next == v && !s->node[v].nr))
			continue;
		if (!image_boots(s, v))
			continue;
		collect_image(s, v, first);
		first += s->image[s->nr_image - 1].sum.nr;
	}
	/* Near the values, so that sums of squares keep their digits. */
	s->offset = 0;
	for (size_t i = 0; i < s->nr_image; i++)
		s->offset += (s->image[i].sum.mean - s->offset) / (double)(i + 1);
	for (size_t i = 0; i < s->nr_image; i++)
		s->image[i].sum.mean -= s->offset;
	for (size_t i = 0; i < first; i++)
		s->sorted[i] -= s->offset;
}

static struct image *find_image(const struct fb_search *s, uint32_t node)
{
	uint32_t root = image_of(s, node);

	for (size_t i = 0; i < s->nr_image; i++)
		if (s->image[i].root == root)
			return &s->image[i];
	return NULL;
}

/* Is one of the nodes that share the image of @im a good end? */
static bool image_is_good_end(const struct fb_search *s, const struct image *im)
{
	uint32_t w = im->root;

	do {
		if (s->node[w].good)
			return true;
		w = s->node[w].next;
	} while (w != im->root);
	return false;
}

/* ---- answers -------------------------------------------------------------------------- */

static void conclude(struct fb_search *s, enum fb_verdict_kind kind, double confidence)
{
	s->state->step = FB_SEARCH_DONE;
	s->state->kind = kind;
	s->state->confidence = confidence;
}

/* Asks for boots of the image of @node. False when it can have none. */
static bool ask(struct fb_search *s, uint32_t node, unsigned boots, enum fb_search_why why)
{
	uint32_t v = bootable_node(s, node);
	unsigned room;

	if (v == NO_NODE)
		return false;
	room = boots_allowed(s, v);
	s->state->step = FB_SEARCH_MEASURE;
	s->state->kind = FB_VERDICT_OPEN;
	s->state->ask.node = v;
	s->state->ask.boots = boots < room ? boots : room;
	if (s->state->ask.boots > s->params.batch)
		s->state->ask.boots = s->params.batch;
	s->state->ask.why = why;
	return true;
}

/* ---- the ends ------------------------------------------------------------------------- */

struct ends {
	struct fb_model_ends sum;
	double mean_good, mean_bad, differ, same;
	uint32_t good; /* the good end to boot; NO_NODE: none can be */
};

static void look_at_ends(struct fb_search *s, struct ends *e)
{
	struct image *bad = find_image(s, s->bad);
	double mean = 0, within = 0;
	size_t nr = 0;

	memset(e, 0, sizeof(*e));
	for (size_t i = 0; i < s->nr_image; i++) {
		const struct fb_model_image *sum = &s->image[i].sum;
		double diff = sum->mean - mean;
		size_t both = nr + sum->nr;

		if (!image_is_good_end(s, &s->image[i]))
			continue;
		within += sum->ss + diff * diff * (double)nr * (double)sum->nr / (double)both;
		mean += diff * (double)sum->nr / (double)both;
		nr = both;
	}
	e->sum.nr_good = nr;
	e->mean_good = mean;
	e->sum.within = within;
	if (bad) {
		e->sum.nr_bad = bad->sum.nr;
		e->mean_bad = bad->sum.mean;
		e->sum.within += bad->sum.ss;
	}
	e->sum.shift = e->mean_bad - e->mean_good;
	if (e->sum.nr_good && e->sum.nr_bad)
		fb_model_ends_test(&e->sum, s->min_shift, s->params.direction, &e->differ,
				   &e->same);
	e->good = s->good;
	for (uint32_t v = 0;
	     v < s->nr_nodes && s->node[e->good].skip && bootable_node(s, e->good) == NO_NODE; v++)
		if (s->node[v].good && !s->node[v].skip)
			e->good = v;
}

/* ABBA: the end with fewer boots; with equal numbers the one that was not asked last. */
static bool ask_end(struct fb_search *s, const struct ends *e)
{
	unsigned batch = s->params.batch, min = s->params.min_boots;
	size_t a = e->sum.nr_good, b = e->sum.nr_bad, less = a < b ? a : b;
	bool good = a < b || (a == b && a / batch % 2 == 0);
	unsigned boots = batch;

	if (less < min && boots > min - less)
		boots = (unsigned)(min - less);
	for (int turn = 0; turn < 2; turn++, good = !good)
		if (ask(s, good ? e->good : s->bad, boots, FB_SEARCH_WHY_END))
			return true;
	return false;
}

static bool end_is_untestable(const struct fb_search *s, uint32_t end)
{
	uint32_t w = end;

	do {
		if (!s->node[w].skip)
			return false;
		w = s->node[w].next;
	} while (w != end);
	return true;
}

/* True when the search can begin; else the state holds what to do. */
static bool ends_are_settled(struct fb_search *s, const struct ends *e)
{
	double limit = -log(1 - s->params.confidence), start = log(START_EVIDENCE);
	unsigned min = s->params.min_boots;
	bool enough = e->sum.nr_good >= min && e->sum.nr_bad >= min;

	if ((e->sum.nr_good < min && end_is_untestable(s, e->good)) ||
	    (e->sum.nr_bad < min && end_is_untestable(s, s->bad))) {
		conclude(s, FB_VERDICT_UNTESTABLE, 0);
		return false;
	}
	if (enough && e->same >= limit) {
		conclude(s, FB_VERDICT_NONE, 1 - exp(-e->same));
		return false;
	}
	if (enough && e->differ >= start)
		return true;
	if (!ask_end(s, e))
		conclude(s, FB_VERDICT_UNDECIDED, 0);
	return false;
}

/* ---- merge bases ---------------------------------------------------------------------- */

/* Probability that the base in @base is on the bad side already; the ends are the yardstick. */
static double base_is_bad(struct fb_search *s, const struct ends *e, const struct image *base)
{
	const struct fb_model_image *bad = &find_image(s, s->bad)->sum;
	struct fb_model_image good = {e->sum.nr_good, e->mean_good, e->sum.within - bad->ss};
	struct fb_model model = s->model;
	struct fb_model_sums new = {{0}, {0}};
	double old_side, new_side;

	fb_model_clear(&model);
	fb_model_add(&model, &good, 1);
	fb_model_add(&model, bad, 1);
	fb_model_add(&model, &base->sum, 1);
	fb_model_sums_add(&new, bad, 1);
	old_side = fb_model_split(&model, &new, -INFINITY, NULL, NULL);
	fb_model_sums_add(&new, &base->sum, 1);
	new_side = fb_model_split(&model, &new, -INFINITY, NULL, NULL);
	return 1 / (1 + exp(old_side - new_side));
}

static bool bases_are_settled(struct fb_search *s, const struct ends *e)
{
	for (uint32_t v = 0; v < s->nr_nodes; v++) {
		const struct image *base;
		size_t least = e->sum.nr_good < e->sum.nr_bad ? e->sum.nr_good : e->sum.nr_bad;
		size_t nr;
		double bad;

		if (!s->node[v].base || end_is_untestable(s, v))
			continue; /* as git: a base that cannot be tested is not in the way */
		base = find_image(s, v);
		if (base && image_is_good_end(s, base))
			continue;
		nr = base ? base->sum.nr : 0;
		bad = nr ? base_is_bad(s, e, base) : 0.5;
		if (nr >= 2 && bad >= s->params.confidence) {
			s->found[0] = v;
			s->state->nr_nodes = 1;
			conclude(s, FB_VERDICT_BASE_BAD, bad);
			return false;
		}
		if (nr >= 2 && bad <= 1 - s->params.confidence)
			continue;
		if ((nr <= least || !ask_end(s, e)) &&
		    !ask(s, v, nr < 2 ? (unsigned)(2 - nr) : s->params.batch, FB_SEARCH_WHY_BASE) &&
		    !ask_end(s, e))
			conclude(s, FB_VERDICT_UNDECIDED, 0);
		return false;
	}
	return true;
}

/* ---- posterior ------------------------------------------------------------------------ */

static uint64_t mix(uint64_t x)
{
	/* The finaliser of splitmix64 (G. Steele, D. Lea, C. Flood, OOPSLA 2014). */
	x ^= x >> 30;
	x *= UINT64_C(0xbf58476d1ce4e5b9);
	x ^= x >> 27;
	x *= UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

/* A set of images is known by the exclusive or of these (A. Zobrist, 1970). */
static uint64_t image_hash(const struct fb_search *s, const struct image *im)
{
	return mix((uint64_t)(im - s->image + 1) * UINT64_C(0x9e3779b97f4a7c15));
}

/* Splits the clusters by one image: on the new side are the hypotheses it can reach. */
static void split_clusters(struct fb_search *s, const struct image *im)
{
	uint32_t nr = s->nr_cluster;

	memset(s->mark, 0, s->nr_cand);
	mark_ancestors(s, im->candidate, 1);
	memset(s->count, 0, nr * sizeof(*s->count));
	for (uint32_t c = 0; c < s->nr_cand; c++)
		if (!s->dead[c] && s->mark[c])
			s->count[s->cluster_of[c]]++;
	for (uint32_t k = 0; k < nr; k++) {
		s->split_to[k] = k;
		if (!s->count[k])
			continue;
		if (s->count[k] < s->cluster[k].size) {
			struct cluster *part = &s->cluster[s->nr_cluster];

			*part = s->cluster[k];
			part->size = s->count[k];
			s->cluster[k].size -= s->count[k];
			s->split_to[k] = s->nr_cluster++;
		}
		fb_model_sums_add(&s->cluster[s->split_to[k]].new, &im->sum, 1);
		s->cluster[s->split_to[k]].reached_by ^= image_hash(s, im);
	}
	for (uint32_t c = 0; c < s->nr_cand; c++)
		if (!s->dead[c] && s->mark[c])
			s->cluster_of[c] = s->split_to[s->cluster_of[c]];
}

static void make_clusters(struct fb_search *s)
{
	s->nr_cluster = 1;
	memset(&s->cluster[0], 0, sizeof(s->cluster[0]));
	s->cluster[0].size = s->nr_alive;
	memset(s->cluster_of, 0, s->nr_cand * sizeof(*s->cluster_of));
	for (size_t i = 0; i < s->nr_image; i++)
		split_clusters(s, &s->image[i]);
	for (uint32_t k = 0; k < s->nr_cluster; k++)
		s->cluster[k].first = NO_NODE;
	for (uint32_t c = s->nr_cand; c-- > 0;)
		if (!s->dead[c])
			s->cluster[s->cluster_of[c]].first = c;
}

/* log of the sum over candidates of likelihood / candidates: the evidence for one step. */
static double step_evidence(struct fb_search *s, const struct fb_model *model)
{
	double best = -INFINITY, sum = -INFINITY;

	for (uint32_t k = 0; k < s->nr_cluster; k++) {
		struct cluster *cl = &s->cluster[k];

		cl->log_lik = fb_model_split(model, &cl->new, best - NEGLIGIBLE, cl->part, NULL);
		if (cl->log_lik > best)
			best = cl->log_lik;
		sum = fb_stats_logsum(sum, cl->log_lik + log(cl->size));
	}
	return sum - log(s->nr_alive);
}

static uint32_t best_cluster(const struct fb_search *s)
{
	uint32_t best = 0;

	for (uint32_t k = 1; k < s->nr_cluster; k++)
		if (s->cluster[k].log_lik > s->cluster[best].log_lik ||
		    (s->cluster[k].log_lik == s->cluster[best].log_lik &&
		     s->cluster[k].first < s->cluster[best].first))
			best = k;
	return best;
}

enum side { SIDE_OLD, SIDE_NEW, SIDE_LEVEL, NR_SIDES };

static bool image_is_between(const struct fb_search *s, const struct image *im)
{
	return im->candidate != NO_NODE && im->root != image_of(s, s->bad);
}

/* Sides of all images under the step of cluster @k, into .side. */
static void set_sides(struct fb_search *s, uint32_t k)
{
	for (size_t i = 0; i < s->nr_image; i++) {
		memset(s->mark, 0, s->nr_cand);
		mark_ancestors(s, s->image[i].candidate, 1);
		s->image[i].side = s->mark[s->cluster[k].first] ? SIDE_NEW : SIDE_OLD;
	}
}

/* Likelihood of the assignment in .side; its sums are made anew, so that 0 stays 0. */
static double assignment_lik(struct fb_search *s, double range)
{
	struct fb_model_sums sums[NR_SIDES] = {{{0}, {0}}};

	for (size_t i = 0; i < s->nr_image; i++)
		fb_model_sums_add(&sums[s->image[i].side], &s->image[i].sum, 1);
	return fb_model_split_or_level(&s->model, &sums[SIDE_NEW], &sums[SIDE_LEVEL], range);
}

/* Would one step give the assignment in .side? */
static bool assignment_is_step(const struct fb_search *s)
{
	uint64_t new = 0;

	for (size_t i = 0; i < s->nr_image; i++) {
		if (s->image[i].side == SIDE_LEVEL)
			return false;
		if (s->image[i].side == SIDE_NEW)
			new ^= image_hash(s, &s->image[i]);
	}
	for (uint32_t k = 0; k < s->nr_cluster; k++)
		if (s->cluster[k].reached_by == new)
			return true;
	return false;
}

/*
 * Changes the side of one image so that the likelihood gets better than *@lik, and the
 * assignment is none that one step gives. False when there is no such image.
 */
static bool improve_assignment(struct fb_search *s, double range, double *lik)
{
	struct image *best = NULL;
	unsigned char best_side = 0;

	for (size_t i = 0; i < s->nr_image; i++) {
		struct image *im = &s->image[i];
		unsigned char was = im->side;

		if (!image_is_between(s, im))
			continue;
		for (unsigned char side = 0; side < NR_SIDES; side++) {
			double l;

			im->side = side;
			if (side == was || assignment_is_step(s))
				continue;
			l = assignment_lik(s, range);
			if (l > *lik + 1e-9) {
				*lik = l;
				best = im;
				best_side = side;
			}
		}
		im->side = was;
	}
	if (best)
		best->side = best_side;
	return best;
}

/*
 * Evidence for "something else": each image between the ends is old, new, or on one more
 * level, independently of the graph, a third each. Of these assignments only those count
 * that no single step gives; their sum is bounded from below by its best term, found by
 * changing one image at a time from the best step. .side holds that assignment afterwards.
 * As long as nothing between the ends was measured nothing speaks for or against.
 */
static double other_evidence(struct fb_search *s, uint32_t best, double step)
{
	double range = 3 * fabs(s->state->fit.shift), lik = -INFINITY, log_prior = 0;

	set_sides(s, best);
	for (size_t i = 0; i < s->nr_image; i++)
		if (image_is_between(s, &s->image[i]))
			log_prior -= log(NR_SIDES);
	if (log_prior == 0)
		return step;
	if (range < s->min_shift)
		range = s->min_shift;
	/* Each pass is the best single change; as many as there are images is ample. */
	for (size_t pass = 0; pass <= s->nr_image; pass++)
		if (!improve_assignment(s, range, &lik))
			break;
	return lik + log_prior;
}

static double candidate_weight(const struct fb_search *s, uint32_t c)
{
	return s->dead[c] ? 0 : s->cluster[s->cluster_of[c]].weight;
}

/*
 * Set bits of @x, by adding up ever wider fields (H. Warren, Hacker's Delight, 5-1); the
 * compiler's builtin is a call into its library where no instruction may be assumed.
 */
static double count_bits(uint64_t x)
{
	x -= x >> 1 & UINT64_C(0x5555555555555555);
	x = (x & UINT64_C(0x3333333333333333)) + (x >> 2 & UINT64_C(0x3333333333333333));
	x = (x + (x >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
	return (double)(x * UINT64_C(0x0101010101010101) >> 56);
}

/*
 * .mass[c]: the posterior of candidate c and all its ancestors, that is, the probability
 * that an image of c shows the change; together with each rho. On a line a running sum;
 * with merges the ancestors are counted by 64 columns at a time, each column a candidate
 * of one cluster.
 */
static void sum_ancestors(struct fb_search *s, double log_candidate)
{
	uint32_t nr = 0;

	/* From here on .part is no log any more. */
	for (uint32_t k = 0; k < s->nr_cluster; k++)
		for (int r = 0; r < FB_MODEL_NR_RHO; r++)
			s->cluster[k].part[r] = exp(log_candidate + s->cluster[k].part[r]);
	memset(s->mass, 0, s->nr_cand * sizeof(*s->mass));
	if (!s->has_merges) {
		for (uint32_t c = 0; c < s->nr_cand; c++) {
			if (s->par_first[c + 1] > s->par_first[c])
				s->mass[c] = s->mass[s->par[s->par_first[c]]];
			for (int r = 0; r < FB_MODEL_NR_RHO && !s->dead[c]; r++)
				s->mass[c].part[r] += s->cluster[s->cluster_of[c]].part[r];
		}
		return;
	}
	/* Counting sort by cluster, without what weighs nothing. */
	for (uint32_t k = 0; k < s->nr_cluster; k++) {
		s->split_to[k] = nr;
		if (s->cluster[k].weight * s->cluster[k].size > 1e-12)
			nr += s->cluster[k].size;
	}
	for (uint32_t c = 0; c < s->nr_cand; c++) {
		uint32_t k = s->cluster_of[c];

		if (!s->dead[c] && s->cluster[k].weight * s->cluster[k].size > 1e-12)
			s->order[s->split_to[k]++] = c;
	}
	for (uint32_t from = 0; from < nr;) {
		uint32_t k = s->cluster_of[s->order[from]], to = from;

		while (to < nr && to < from + 64 && s->cluster_of[s->order[to]] == k)
			to++;
		memset(s->mask, 0, s->nr_cand * sizeof(*s->mask));
		for (uint32_t i = from; i < to; i++)
			s->mask[s->order[i]] = (uint64_t)1 << (i - from);
		for (uint32_t c = s->order[from]; c < s->nr_cand; c++) {
			uint64_t m = s->mask[c];

			for (uint32_t a = s->par_first[c]; a < s->par_first[c + 1]; a++)
				m |= s->mask[s->par[a]];
			s->mask[c] = m;
			if (m)
				for (int r = 0; r < FB_MODEL_NR_RHO; r++)
					s->mass[c].part[r] += count_bits(m) * s->cluster[k].part[r];
		}
		from = to;
	}
}

/* ---- what can be told apart ----------------------------------------------------------- */

static int compare_keys(const void *a, const void *b)
{
	const struct class_key *x = a, *y = b;

	if (x->h1 != y->h1)
		return x->h1 < y->h1 ? -1 : 1;
	if (x->h2 != y->h2)
		return x->h2 < y->h2 ? -1 : 1;
	return (x->candidate > y->candidate) - (x->candidate < y->candidate);
}

/*
 * .class_of[c]: the first candidate that no testable node tells from c. Two candidates are
 * one class when the same testable nodes descend from both; the sets are compared by a
 * 128-bit hash that is fed 64 testable nodes at a time.
 */
static void make_classes(struct fb_search *s)
{
	for (uint32_t c = 0; c < s->nr_cand; c++) {
		s->class_of[c] = c;
		s->key[c] = (struct class_key){0, 0, c};
	}
	if (!s->any_skip)
		return; /* each candidate is told from the others by its own image */
	for (uint32_t next = 0; next < s->nr_cand;) {
		uint32_t nr = 0, top = 0;

		memset(s->mask, 0, s->nr_cand * sizeof(*s->mask));
		for (; next < s->nr_cand && nr < 64; next++) {
			if (s->node[s->cand[next]].skip)
				continue;
			s->mask[next] = (uint64_t)1 << nr++;
			top = next + 1;
		}
		for (uint32_t c = top; c-- > 0;) {
			uint64_t m = s->mask[c];

			for (uint32_t a = s->par_first[c]; a < s->par_first[c + 1]; a++)
				s->mask[s->par[a]] |= m;
			if (!m)
				continue;
			s->key[c].h1 = mix(s->key[c].h1 ^ mix(m + next));
			s->key[c].h2 =
				mix(s->key[c].h2 + mix(m ^ UINT64_C(0x9e3779b97f4a7c15)) + next);
		}
	}
	qsort(s->key, s->nr_cand, sizeof(*s->key), compare_keys);
	for (uint32_t i = 0; i < s->nr_cand; i++) {
		const struct class_key *k = &s->key[i], *before = i ? k - 1 : NULL;
		bool same = before && before->h1 == k->h1 && before->h2 == k->h2;

		s->class_of[k->candidate] = same ? s->class_of[before->candidate] : k->candidate;
	}
}

/* The class with the largest posterior. */
static uint32_t leading_class(struct fb_search *s)
{
	uint32_t best = 0;

	memset(s->class_mass, 0, s->nr_cand * sizeof(*s->class_mass));
	for (uint32_t c = 0; c < s->nr_cand; c++)
		s->class_mass[s->class_of[c]] += candidate_weight(s, c);
	for (uint32_t c = 1; c < s->nr_cand; c++)
		if (s->class_mass[c] > s->class_mass[best])
			best = c;
	return best;
}

static void list_class(struct fb_search *s, uint32_t class)
{
	s->state->nr_nodes = 0;
	for (uint32_t c = 0; c < s->nr_cand; c++)
		if (!s->dead[c] && s->class_of[c] == class)
			s->found[s->state->nr_nodes++] = s->cand[c];
}

/* The smallest union of clusters that holds the confidence, given one step; into .found. */
static double list_credible(struct fb_search *s)
{
	double want = s->params.confidence * (1 - s->state->other), have = 0;
	uint32_t nr = 0;

	for (uint32_t k = 0; k < s->nr_cluster; k++)
		s->count[k] = 0;
	while (have < want) {
		uint32_t best = NO_NODE;

		for (uint32_t k = 0; k < s->nr_cluster; k++)
			if (!s->count[k] &&
			    (best == NO_NODE || s->cluster[k].weight > s->cluster[best].weight ||
			     (s->cluster[k].weight == s->cluster[best].weight &&
			      s->cluster[k].first < s->cluster[best].first)))
				best = k;
		if (best == NO_NODE)
			break;
		s->count[best] = 1;
		have += s->cluster[best].weight * s->cluster[best].size;
	}
	for (uint32_t c = 0; c < s->nr_cand; c++)
		if (!s->dead[c] && s->count[s->cluster_of[c]])
			s->found[nr++] = s->cand[c];
	s->state->nr_nodes = nr;
	return have;
}

/* ---- one boot convicts nobody --------------------------------------------------------- */

static double normal_density(double x, double mean, double sigma)
{
	double z = (x - mean) / sigma;

	return exp(-z * z / 2) / (sigma * sqrt(2 * M_PI));
}

/*
 * The posterior of the class @leader when at most one boot may have nothing to do with
 * its commit. Such a boot comes from a wide Cauchy distribution about both sides, or looks
 * just like a boot of one of them.
 * @log_candidate: of a candidate's prior over the total, so that + likelihood = posterior.
 * @ret_image: the image with the boot that speaks most for other candidates if left out.
 */
static double robust_posterior(struct fb_search *s, uint32_t leader, double log_candidate,
			       size_t *ret_image)
{
	const struct fb_model_fit *fit = &s->state->fit;
	double centre = (fit->mean_old + fit->mean_new) / 2, width = fabs(fit->shift);
	double log_odds = log(PRIOR_OUTLIER / (1 - PRIOR_OUTLIER));
	double lead = s->class_mass[leader], rest = 1 - lead, worst = -1;

	memset(s->count, 0, s->nr_cluster * sizeof(*s->count));
	for (uint32_t c = 0; c < s->nr_cand; c++)
		if (!s->dead[c] && s->class_of[c] == leader)
			s->count[s->cluster_of[c]]++;
	for (size_t i = 0; i < s->nr_image; i++) {
		const struct image *im = &s->image[i];
		double others = 0, n = (double)im->sum.nr;

		memset(s->mark, 0, s->nr_cand);
		mark_ancestors(s, im->candidate, 1);
		for (size_t j = im->first; j < im->first + im->sum.nr; j++) {
			double y = s->sorted[j], off = y - im->sum.mean, z = (y - centre) / width;
			double u = 0.5 / (M_PI * width * (1 + z * z)) +
				   0.25 * normal_density(y, fit->mean_old, fit->sigma) +
				   0.25 * normal_density(y, fit->mean_new, fit->sigma);
			/* One boot less has one factor 1 / sqrt(2 pi) less. */
			double log_out = log_odds + log(u) + 0.5 * log(2 * M_PI);
			struct fb_model_image less = {im->sum.nr - 1, 0, 0};
			struct fb_model model = s->model;

			if (less.nr) {
				less.mean = im->sum.mean - off / (n - 1);
				less.ss = im->sum.ss - off * off * n / (n - 1);
				if (less.ss < 0)
					less.ss = 0;
			}
			fb_model_add(&model, &im->sum, -1);
			fb_model_add(&model, &less, 1);
			for (uint32_t k = 0; k < s->nr_cluster; k++) {
				struct cluster *cl = &s->cluster[k];
				struct fb_model_sums new = cl->new;
				double l;

				if (s->mark[cl->first]) {
					fb_model_sums_add(&new, &im->sum, -1);
					fb_model_sums_add(&new, &less, 1);
				}
				l = fb_model_split(&model, &new,
						   -NEGLIGIBLE - log_out - log_candidate, NULL,
						   NULL);
				l = exp(l + log_out + log_candidate);
				lead += l * s->count[k];
				rest += l * (cl->size - s->count[k]);
				others += l * (cl->size - s->count[k]);
			}
		}
		if (others > worst) {
			worst = others;
			*ret_image = i;
		}
	}
	return lead / (lead + rest);
}

/* ---- which node next ------------------------------------------------------------------ */

#define BITS_POINTS 32

/* Hops to the nearest candidate that has 0 already; two sweeps each way, near enough. */
static void spread_distance(const struct fb_search *s, uint32_t *d)
{
	for (int pass = 0; pass < 2; pass++) {
		for (uint32_t c = s->nr_cand; c-- > 0;)
			for (uint32_t a = s->par_first[c]; a < s->par_first[c + 1]; a++)
				if (d[c] < NO_NODE && d[s->par[a]] > d[c] + 1)
					d[s->par[a]] = d[c] + 1;
		for (uint32_t c = 0; c < s->nr_cand; c++)
			for (uint32_t a = s->par_first[c]; a < s->par_first[c + 1]; a++)
				if (d[s->par[a]] < NO_NODE && d[c] > d[s->par[a]] + 1)
					d[c] = d[s->par[a]] + 1;
	}
}

/*
 * Probability that @c can be tested. Unbuildable commits come in runs: next to one it is
 * about a half, and grows with the distance; a measured node nearby speaks for it.
 */
static double testable_share(const struct fb_search *s, uint32_t c)
{
	double skip = s->distance[c], measured = s->near_measured[c], share;

	if (!s->any_skip || s->distance[c] == NO_NODE || !s->near_measured[c])
		return 1;
	share = skip / (skip + 1);
	return s->near_measured[c] == NO_NODE ? share
					      : share + (1 - share) * skip / (skip + 4 * measured);
}

/* Squared distance of the sides, in standard deviations, as seen by the mean of @n boots. */
static double distance_sq(const struct fb_model_fit *fit, double n)
{
	double v = fit->sigma * fit->sigma;

	/* The sides' own means are uncertain too, the nearer one's as much as the other's. */
	v *= fit->rho + 1 / n + (1 / fit->w_old + 1 / fit->w_new) / 4;
	return fit->shift * fit->shift / v;
}

/*
 * What @n more boots of candidate @c would tell, in bits. The image effect decides whether
 * more boots of one image tell anything, and how certain the answer is already; so the
 * information is that within each rho, averaged.
 * @table: bits of a new image, for each rho and p = 0 to 1/2.
 */
static double bits_of(const struct fb_search *s, uint32_t c, double n,
		      double table[FB_MODEL_NR_RHO][BITS_POINTS + 1])
{
	const struct state *st = s->state;
	const struct node *node = &s->node[s->cand[c]];
	uint32_t nr = node->nr || node->next != s->cand[c] ? image_boots(s, s->cand[c]) : 0;
	double sum = 0;

	for (int r = 0; r < FB_MODEL_NR_RHO; r++) {
		double p, at, d, weight = st->rho_weight[r];
		int i;

		if (!(weight > 1e-9))
			continue;
		p = s->mass[c].part[r] / weight;
		if (p > 0.5)
			p = 1 - p;
		if (!(p > 1e-9))
			continue;
		if (nr) {
			d = distance_sq(&st->fit_of[r], nr + n) - distance_sq(&st->fit_of[r], nr);
			sum += weight * fb_stats_boot_bits(p, sqrt(d > 0 ? d : 0));
			continue;
		}
		at = p * 2 * BITS_POINTS;
		i = at < BITS_POINTS - 1 ? (int)at : BITS_POINTS - 1;
		sum += weight * (table[r][i] + (table[r][i + 1] - table[r][i]) * (at - i));
	}
	return sum;
}

/* Asks for the node with the most information per cost. False when none tells anything. */
static bool ask_best_split(struct fb_search *s)
{
	double table[FB_MODEL_NR_RHO][BITS_POINTS + 1];
	double batch = s->params.batch, best_score = 0, entropy = 0, d_sq;
	uint32_t best = NO_NODE;

	for (int r = 0; r < FB_MODEL_NR_RHO; r++) {
		double d = sqrt(distance_sq(&s->state->fit_of[r], batch));

		for (int i = 0; i <= BITS_POINTS; i++)
			table[r][i] = s->state->rho_weight[r] > 1e-9
					      ? fb_stats_boot_bits(0.5 * i / BITS_POINTS, d)
					      : 0;
	}
	for (uint32_t c = 0; c < s->nr_cand; c++) {
		s->distance[c] = s->node[s->cand[c]].skip ? 0 : NO_NODE;
		s->near_measured[c] = s->node[s->cand[c]].nr ? 0 : NO_NODE;
	}
	if (s->any_skip) {
		spread_distance(s, s->distance);
		spread_distance(s, s->near_measured);
	}
	for (uint32_t c = 0; c < s->nr_cand; c++) {
		double score;

		if (!boots_allowed(s, s->cand[c]))
			continue;
		score = bits_of(s, c, batch, table) * testable_share(s, c) /
			(batch + s->node[s->cand[c]].cost);
		/* What differs in the last digits only is a tie, and ties go to the first. */
		if (score > best_score * (1 + 1e-9)) {
			best_score = score;
			best = c;
		}
	}
	if (best == NO_NODE)
		return false;
	for (uint32_t k = 0; k < s->nr_cluster; k++)
		if (s->cluster[k].weight > 0)
			entropy -= s->cluster[k].weight * s->cluster[k].size *
				   log2(s->cluster[k].weight);
	d_sq = distance_sq(&s->state->fit, 1);
	s->state->boots_to_go = entropy / fb_stats_boot_bits(0.5, sqrt(d_sq));
	if (entropy * batch >
	    bits_of(s, best, batch, table) * (HOPELESS_BOOTS + HOPELESS_BOOTS_SIGMA / d_sq))
		return false;
	return ask(s, s->cand[best], s->params.batch, FB_SEARCH_WHY_STEP);
}

/*
 * An end is asked for when its side is known much worse than the other, and too badly, and
 * more boots of its one image can still change that.
 */
static bool ask_weak_end(struct fb_search *s, const struct ends *e)
{
	const struct fb_model_fit *fit = &s->state->fit;
	bool old = fit->w_old < fit->w_new;
	double less = old ? fit->w_old : fit->w_new, more = old ? fit->w_new : fit->w_old;
	double boots = (double)(old ? e->sum.nr_good : e->sum.nr_bad);

	if (less >= more * WEAK_SHARE || fit->sigma / sqrt(less) < WEAK_ERROR * fabs(fit->shift) ||
	    boots * fit->rho > 1)
		return false;
	return ask(s, old ? e->good : s->bad, s->params.batch, FB_SEARCH_WHY_END);
}

/*
 * Asks for the image that does not fit the best step, the one with the fewest boots.
 * @least: only one with fewer boots than this.
 */
static bool ask_misfit(struct fb_search *s, uint32_t best, size_t least)
{
	uint32_t node = NO_NODE;
	size_t fewest = least;

	for (size_t i = 0; i < s->nr_image; i++) {
		const struct image *im = &s->image[i];

		memset(s->mark, 0, s->nr_cand);
		mark_ancestors(s, im->candidate, 1);
		if (im->side == (s->mark[s->cluster[best].first] ? SIDE_NEW : SIDE_OLD))
			continue;
		if (im->sum.nr < fewest && bootable_node(s, im->root) != NO_NODE) {
			fewest = im->sum.nr;
			node = im->root;
		}
	}
	return node != NO_NODE && ask(s, node, s->params.batch, FB_SEARCH_WHY_STEP);
}

/* ---- the whole ------------------------------------------------------------------------ */

/* Log evidence for one step against no change at all, all boots taken together. */
static double shift_evidence(const struct fb_search *s, double step)
{
	double shift = fabs(s->state->fit.shift);

	/*
	 * The step's likelihood has a flat prior of the shift; here it must be a proper one:
	 * log-uniform from half of min_effect to 2^15 times that, for each direction.
	 */
	if (shift < s->min_shift / 2)
		shift = s->min_shift / 2;
	step -= log(shift * 15 * M_LN2) + (s->params.direction ? 0 : M_LN2);
	return step - fb_model_same(&s->model);
}

static void fit_best_step(struct fb_search *s, uint32_t best)
{
	const struct cluster *cl = &s->cluster[best];
	int most = 0;

	fb_model_split(&s->model, &cl->new, -INFINITY, NULL, s->state->fit_of);
	for (int r = 1; r < FB_MODEL_NR_RHO; r++)
		if (cl->part[r] > cl->part[most])
			most = r;
	s->state->fit = s->state->fit_of[most];
	s->state->has_fit = true;
}

static void search(struct fb_search *s, const struct ends *e)
{
	struct state *st = s->state;
	double confidence = s->params.confidence, limit = log(2 / (1 - confidence));
	double prior = s->nr_alive > 1 ? fmin(PRIOR_OTHER, (1 - confidence) / 2) : 0;
	double step, log_total, log_candidate, other;
	uint32_t best, leader;
	size_t image = 0;

	st->searching = true;
	fb_model_clear(&s->model);
	for (size_t i = 0; i < s->nr_image; i++)
		fb_model_add(&s->model, &s->image[i].sum, 1);
	make_clusters(s);
	step = step_evidence(s, &s->model);
	best = best_cluster(s);
	fit_best_step(s, best);
	other = other_evidence(s, best, step);
	log_total =
		fb_stats_logsum(log1p(-prior) + step, prior > 0 ? log(prior) + other : -INFINITY);
	st->other = prior > 0 ? exp(log(prior) + other - log_total) : 0;
	log_candidate = log1p(-prior) - log(s->nr_alive) - log_total;
	for (uint32_t k = 0; k < s->nr_cluster; k++) {
		struct cluster *cl = &s->cluster[k];

		cl->weight = exp(log_candidate + cl->log_lik);
		for (int r = 0; r < FB_MODEL_NR_RHO; r++)
			st->rho_weight[r] += cl->size * exp(log_candidate + cl->part[r]);
	}
	sum_ancestors(s, log_candidate);
	make_classes(s);
	leader = leading_class(s);
	list_credible(s);
	st->nr_left = st->nr_nodes;

	if (st->other >= confidence) {
		/* Nor may one boot convict the history. */
		if (ask_misfit(s, best, 2))
			return;
		conclude(s, FB_VERDICT_OTHER, st->other);
		return;
	}
	if (s->class_mass[leader] >= confidence) {
		double robust = robust_posterior(s, leader, log_candidate, &image);

		if (robust >= confidence &&
		    (e->differ >= limit || shift_evidence(s, step) >= limit)) {
			list_class(s, leader);
			conclude(s, st->nr_nodes > 1 ? FB_VERDICT_RANGE : FB_VERDICT_FOUND,
				 s->class_mass[leader]);
			return;
		}
		if (robust < confidence && s->image[image].sum.nr < ENOUGH_BOOTS &&
		    ask(s, s->image[image].root, s->params.batch, FB_SEARCH_WHY_STEP))
			return;
		if (robust >= confidence && ask_end(s, e))
			return;
	} else if (s->class_mass[leader] >= confidence * (1 - st->other) &&
		   ask_misfit(s, best, 4 * ENOUGH_BOOTS)) {
		return;
	}
	if (ask_weak_end(s, e) || ask_best_split(s) || ask_misfit(s, best, ENOUGH_BOOTS))
		return;
	conclude(s, FB_VERDICT_UNDECIDED, list_credible(s));
}

static void evaluate(struct fb_search *s)
{
	struct ends e;

	if (s->state->valid)
		return;
	memset(s->state, 0, sizeof(*s->state));
	s->state->valid = true;
	s->state->nr_left = s->nr_alive;
	collect_images(s);
	look_at_ends(s, &e);
	if (!s->nr_alive) {
		/* Each step would separate two nodes of one image. */
		if (image_of(s, s->good) == image_of(s, s->bad))
			conclude(s, FB_VERDICT_NONE, 1);
		else
			conclude(s, FB_VERDICT_OTHER, 1);
		return;
	}
	if (ends_are_settled(s, &e) && bases_are_settled(s, &e))
		search(s, &e);
}

/* ---- asking --------------------------------------------------------------------------- */

/* The state is a cache: filling it is no change that a caller could see. */
static struct state *state_of(const struct fb_search *search)
{
	struct fb_search *s = (struct fb_search *)search;

	evaluate(s);
	return s->state;
}

enum fb_search_step fb_search_next(const struct fb_search *search, struct fb_search_ask *ret_ask)
{
	const struct state *st = state_of(search);

	if (st->step == FB_SEARCH_MEASURE)
		*ret_ask = st->ask;
	return st->step;
}

static double unscale(const struct fb_search *s, double shift)
{
	return s->params.scale == FB_SCALE_LOG ? expm1(shift) : shift;
}

void fb_search_verdict(const struct fb_search *search, struct fb_verdict *ret)
{
	const struct state *st = state_of(search);
	struct fb_model_fit fit = st->fit;
	struct ends e;
	double wide;

	memset(ret, 0, sizeof(*ret));
	ret->kind = st->kind;
	ret->nodes = search->found;
	ret->nr_nodes = st->nr_nodes;
	ret->confidence = st->confidence;
	ret->other = st->other;
	ret->boots = search->nr_boots;
	if (!st->has_fit) {
		double n1, n2;

		look_at_ends((struct fb_search *)search, &e);
		n1 = (double)e.sum.nr_good;
		n2 = (double)e.sum.nr_bad;
		if (!e.sum.nr_good || !e.sum.nr_bad)
			return;
		fit.mean_old = e.mean_good;
		fit.mean_new = e.mean_bad;
		fit.shift = e.sum.shift;
		fit.df = n1 + n2 - 2;
		fit.sigma = fit.df > 0 ? sqrt(e.sum.within / fit.df) : 0;
		fit.scale = fit.sigma * sqrt(1 / n1 + 1 / n2);
	}
	wide = fit.df > 0 ? fit.scale * qt(0.975, fit.df, 1, 0) : INFINITY;
	ret->mean_good = fit.mean_old + search->offset;
	ret->mean_bad = fit.mean_new + search->offset;
	if (search->params.scale == FB_SCALE_LOG) {
		ret->mean_good = exp(ret->mean_good);
		ret->mean_bad = exp(ret->mean_bad);
	}
	ret->effect = unscale(search, fit.shift);
	ret->effect_lo = unscale(search, fit.shift - wide);
	ret->effect_hi = unscale(search, fit.shift + wide);
	ret->sigma = unscale(search, fit.sigma);
}

double fb_search_posterior(const struct fb_search *search, uint32_t node)
{
	const struct state *st = state_of(search);

	if (node >= search->nr_nodes || search->index[node] == NO_NODE ||
	    search->dead[search->index[node]])
		return 0;
	if (!st->searching)
		return 1.0 / search->nr_alive;
	return candidate_weight(search, search->index[node]);
}

uint32_t fb_search_left(const struct fb_search *search)
{
	return state_of(search)->nr_left;
}

double fb_search_boots_to_go(const struct fb_search *search)
{
	const struct state *st = state_of(search);
	unsigned ends = 2 * search->params.min_boots;

	if (st->step == FB_SEARCH_DONE)
		return 0;
	if (st->searching)
		return st->boots_to_go > 1 ? st->boots_to_go : 1;
	/* Before anything is known: the ends, then about a boot and a half for each halving. */
	return (search->nr_boots < ends ? ends - search->nr_boots : 2) +
	       1.5 * log2(search->nr_alive + 1.0);
}
