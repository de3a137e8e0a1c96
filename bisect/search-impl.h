/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the files of the search share; for bisect/ only.
 *
 *   record.c   boots, skips, images     graph.c  candidates, clusters, classes
 *   ends.c     the ends, merge bases    other.c  "something else" than one step
 *   choose.c   which node next          search.c evaluation and verdict
 *   certain.c  verdicts that cannot err steps.c  two steps: evidence, and where
 *   model.h    likelihoods of the values shapes.c noise that is not normal
 *   outlook.c  what one more boot would tell
 *   strays.c   boots that look like the other side
 *   counters.c what else the boots gave, as a hint
 */
#ifndef FB_BISECT_SEARCH_IMPL_H
#define FB_BISECT_SEARCH_IMPL_H

#include "bisect/model.h"
#include "bisect/near.h"
#include "bisect/reach.h"
#include "bisect/search.h"

#define FB_NO_NODE UINT32_MAX

/* The search gives up when the best next boots, so many times, would not settle what is open. */
#define FB_HOPELESS_BOOTS 200.0
/* Likelihoods this many nats below the best no longer matter (1e-17 of it). */
#define FB_NEGLIGIBLE 40.0

enum role { ROLE_NONE, ROLE_OLD, ROLE_CANDIDATE };

struct node {
	double *value; /* on the scale of the search, unsorted */
	uint32_t nr, cap;
	uint32_t image; /* union-find: a lower index, or itself for the representative */
	uint32_t next;	/* ring of the nodes with this image */
	double cost;
	double hint; /* log ratio, new over old; CERTAIN only */
	unsigned char role, skip, good, base, hinted;
};

/* For each part: the expected level of an image, and that of its square; sums, see steps.c. */
struct level {
	struct {
		double mean, square;
	} part[FB_MODEL_PARTS];
};

/* A built image with boots. Images are in the order of their lowest node. */
struct image {
	struct fb_model_image sum;
	uint32_t root;
	uint32_t candidate; /* candidate index of its first candidate node; FB_NO_NODE: old side */
	size_t first;	    /* of its values in struct fb_search.sorted */
	struct level level; /* over all pairs of steps */
	double ratio;	    /* sum over its boots of struct fb_search.ratio */
	unsigned char side;
};

struct cluster {
	struct fb_model_sums new;
	uint32_t first, size; /* lowest candidate; number of live candidates */
	uint64_t reached_by;  /* hash of the set of images on the new side */
	double log_lik;
	double part[FB_MODEL_PARTS]; /* log likelihood for each part; they add up to .log_lik */
	double weight;		     /* posterior of each member */
	double log_prior;	     /* of each member, against the same for all; counters.c */
};

/* Posterior of a candidate and its ancestors together with each part. */
struct mass {
	double part[FB_MODEL_PARTS];
};

/* Ones that a boot is expected to give, and the entropy of its outcome given the step; sums. */
struct gain {
	double ones, entropy;
};

struct class_key {
	uint64_t h1, h2;
};

struct rank {
	double weight;
	uint32_t cluster;
};

/* Of two steps. */
struct step {
	uint32_t first, nr; /* where it may be, see fb_step_nodes() */
	double effect;
};

struct fb_steps;
struct fb_counters;

/* What follows from the records; computed when it is asked for. */
struct state {
	bool valid;
	bool searching;
	enum fb_search_step step;
	struct fb_search_ask ask;
	enum fb_verdict_kind kind;
	double confidence;
	double other;
	double two; /* posterior of two steps, part of .other */
	double two_evidence;
	double level_range; /* of the prior of a level beside the two sides */
	struct step step_of[2];
	uint32_t nr_steps; /* 0 or 2 */
	bool steps_found;
	bool guided; /* by counters */
	uint32_t nr_nodes, nr_left;
	double boots_to_go;
	uint32_t good_end;			    /* the good end to boot */
	struct fb_model_fit fit;		    /* of the best step, for the best part */
	struct fb_model_fit fit_of[FB_MODEL_PARTS]; /* of the best step */
	double part_weight[FB_MODEL_PARTS];	    /* posterior of the parts, given one step */
	bool has_fit;
};

struct fb_search {
	const struct fb_dag *dag;
	struct fb_search_params params;
	double min_shift;	      /* min_effect on the scale of the search */
	uint32_t nr_nodes, good, bad; /* .good: the good end that is measured first */
	struct node *node;
	uint32_t nr_boots, nr_hints;

	/* The candidates, numbered in the order of their nodes, with their parents among them. */
	uint32_t nr_cand, nr_alive;
	uint32_t *cand, *index; /* candidate -> node, node -> candidate */
	uint32_t *par_first, *par;
	unsigned char *dead; /* would separate two nodes of one image */
	bool any_skip;
	struct fb_reach *ancestors; /* of candidates */
	/* With skips only: hops from each candidate to one that was skipped, and measured. */
	struct fb_near *near;
	uint32_t *near_skipped, *near_measured;

	/* Room for evaluate(), allocated by fb_search_new() and fb_search_record(). */
	struct image *image;
	double *sorted, *ratio; /* .ratio: of a boot's densities on the two sides */
	unsigned char *new;	/* sides of .sorted */
	size_t nr_image, cap_image, cap_sorted, cap_new, cap_ratio;
	struct cluster *cluster;
	uint32_t nr_cluster;
	uint32_t *cluster_of, *old_cluster, *count, *class_of;
	uint32_t *slot, slot_mask; /* hash table of clusters, then of classes */
	uint64_t *reached; /* of candidate c by image i: bit i % 64 of [i / 64 * nr_cand + c] */
	size_t nr_measured, cap_reached; /* nodes with boots; blocks of 64 images */
	bool partitioned, classified;	 /* .cluster and .cluster_of, .class_of are up to date */
	struct mass *mass, *part;	 /* .part: of one candidate of each cluster */
	struct gain *gain, *step_gain, no_gain; /* of candidates, of clusters, of the old side */
	double *class_mass;
	struct class_key *key;
	struct rank *rank;
	unsigned char *mark;
	uint32_t *found; /* nodes of the verdict */
	struct fb_steps *steps;
	struct fb_counters *counters; /* NULL: none was recorded */
	double offset;
	struct fb_model model;
	struct state *state;
};

/* What was measured at the two ends. */
struct ends {
	struct fb_model_ends sum;
	double mean_good, mean_bad, differ, same;
	uint32_t good; /* the good end to boot; NO_NODE: none can be */
};

/* record.c */
uint32_t fb_image_of(const struct fb_search *s, uint32_t v);
uint32_t fb_image_boots(const struct fb_search *s, uint32_t v);
/* Boots that @v may still have. */
unsigned fb_boots_allowed(const struct fb_search *s, uint32_t v);
/* The node to boot for the image of @v: its first one that can be; FB_NO_NODE when none can. */
uint32_t fb_bootable_node(const struct fb_search *s, uint32_t v);
void fb_collect_images(struct fb_search *s);
struct image *fb_find_image(const struct fb_search *s, uint32_t node);
bool fb_image_is_good_end(const struct fb_search *s, const struct image *im);

/* graph.c */
void fb_set_roles(struct fb_search *s);
int fb_set_candidates(struct fb_search *s);
/* Makes room for what only a search with skips needs. */
int fb_prepare_skips(struct fb_search *s);
/* Marks the candidates that @candidate can reach, itself included, with @bit. */
void fb_mark_ancestors(struct fb_search *s, uint32_t candidate, unsigned char bit);
uint64_t fb_image_hash(const struct fb_search *s, const struct image *im);
void fb_make_clusters(struct fb_search *s);
/* Is the step at candidate @c seen by image @image? Valid after fb_make_clusters(). */
bool fb_reached(const struct fb_search *s, uint32_t c, size_t image);
double fb_candidate_weight(const struct fb_search *s, uint32_t c);
void fb_sum_ancestors(struct fb_search *s, double log_candidate);
void fb_make_classes(struct fb_search *s);
uint32_t fb_leading_class(struct fb_search *s);
void fb_list_class(struct fb_search *s, uint32_t class);
double fb_list_credible(struct fb_search *s);
/* For qsort() of struct rank: the heaviest first. */
int fb_compare_ranks(const void *a, const void *b);

/* ends.c */
/* The good end to boot: another one when the first cannot be. */
uint32_t fb_good_end(const struct fb_search *s);
/* Makes those ends of the sides asked for the verdict's nodes that cannot be measured. */
bool fb_list_untestable(struct fb_search *s, bool good, bool bad);
void fb_look_at_ends(struct fb_search *s, struct ends *e);
bool fb_ask_end(struct fb_search *s, const struct ends *e);
/* True when the search can begin; else the state holds what to do. */
bool fb_ends_are_settled(struct fb_search *s, const struct ends *e);
bool fb_bases_are_settled(struct fb_search *s, const struct ends *e);

/* other.c */
#define FB_SHARE_OF_TWO 0.25 /* two steps, of the prior of "something else" */
double fb_other_evidence(struct fb_search *s, uint32_t best, double step);
bool fb_ask_misfit(struct fb_search *s, uint32_t best, size_t least);

/* steps.c */
struct fb_steps *fb_steps_new(uint32_t nr_candidates);
void fb_steps_free(struct fb_steps *steps);
double fb_two_steps_evidence(const struct fb_search *s);
/*
 * Given that there are two steps, most likely: asks for boots that tell where, or concludes.
 * False when no boots would tell, and "something else" is not certain enough to conclude.
 */
bool fb_search_steps(struct fb_search *s);
/* Makes the verdict's nodes those that may be the two steps. */
void fb_list_likely_steps(struct fb_search *s);
/* Candidates of the @i-th step of the verdict, struct step's .nr of them. */
const uint32_t *fb_step_nodes(const struct fb_search *s, int i);

/* choose.c */
bool fb_ask_weak_end(struct fb_search *s, const struct ends *e);
/* Asks for the node with the most information per cost. False when none tells anything. */
bool fb_ask_best_split(struct fb_search *s);

/* shapes.c */
/* The sides of all boots under the step of cluster @k. */
struct fb_model_values fb_values_of(struct fb_search *s, uint32_t k);
/* Adds the parts that need the boots one by one to the likelihoods of the clusters. */
void fb_add_raw_parts(struct fb_search *s);

/* outlook.c */
#define FB_OUTLOOK_STEPS 32
#define FB_OUTLOOK_GRID	 48
#define FB_OUTLOOK_FINE	 16 /* entries of the table of Student's density for one scale */
#define FB_OUTLOOK_T	 (FB_OUTLOOK_FINE * 12)

/* The predictive distribution of one more boot under the steps that are left. */
struct outlook {
	int nr, nr_parts;
	bool images_differ;	    /* perhaps */
	double boots;		    /* of a step of the search */
	double widen;		    /* noise is so much wider than the parts by sums say */
	double from, spacing;	    /* of the grid of values */
	double t[FB_OUTLOOK_T + 2]; /* Student's density at 0, 1/FB_OUTLOOK_FINE, ...; unscaled */
	struct outlook_step {
		uint32_t cluster;
		double mass;
		double share[FB_MODEL_PARTS]; /* of the parts by sums */
		struct fb_model_fit fit[FB_MODEL_PARTS];
		struct outlook_side {
			double density[FB_OUTLOOK_GRID], entropy;
		} side[2];	  /* of a new image: old, new */
	} step[FB_OUTLOOK_STEPS]; /* the likeliest one first */
};

/* False where choose.c's own ranking has to do: sides far apart. */
bool fb_outlook_make(struct fb_search *s, struct outlook *o);
/* What the boots of a step of @node tell, in bits. */
double fb_outlook_bits(struct fb_search *s, const struct outlook *o, uint32_t node);
/* How much another boot of @im would tell of whether images differ, to compare; 0: nothing. */
double fb_outlook_surprise(const struct outlook *o, const struct image *im);

/* strays.c */
/*
 * Asks for an image that alone tells the leader from another candidate, as long as all of its
 * boots may be strays.
 */
bool fb_ask_strays(struct fb_search *s, uint32_t leader);

/* counters.c */
void fb_counters_free(struct fb_counters *counters);
/* After .cap_reached changed. */
int fb_counters_make_room(struct fb_search *s);
/* Sets .log_prior of the clusters, and .guided of the state. */
void fb_counters_weigh(struct fb_search *s);
/* May a class with the posterior @mass be named, so that the error is kept wherever they lead? */
bool fb_counters_allow(const struct fb_search *s, double mass, double confidence);
/* Asks for the ends, as long as some counter may be of use after a few more boots of them. */
bool fb_ask_counters_ends(struct fb_search *s, const struct ends *e);
/* After the posterior is known: prepares fb_counters_bits(). */
void fb_counters_follow(struct fb_search *s);
/* What the counters of a boot of candidate @c would tell, beside the value, in bits. */
double fb_counters_bits(const struct fb_search *s, uint32_t c);
void fb_counters_tell(const struct fb_search *s, uint32_t counter, struct fb_counter_hint *ret);

/* certain.c */
extern const struct fb_family fb_family_certain;
void fb_certain_search(struct fb_search *s);

/* search.c */
/* The cluster with the largest likelihood. */
uint32_t fb_best_cluster(const struct fb_search *s);
void fb_conclude(struct fb_search *s, enum fb_verdict_kind kind, double confidence);
/* Asks for boots of the image of @node. False when it can have none. */
bool fb_ask(struct fb_search *s, uint32_t node, unsigned boots, enum fb_search_why why);

#endif
