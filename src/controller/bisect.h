/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One bisection: its state is what the store says, replayed; running it asks the search
 * what to measure, lets the lab do it, and appends what came out.
 */
#ifndef FB_CONTROLLER_BISECT_H
#define FB_CONTROLLER_BISECT_H

#include "bisect/search.h"
#include "src/controller/lab.h"

/* Which way the value moved that is looked for. */
enum fb_change {
	FB_CHANGE_REGRESSION,
	FB_CHANGE_IMPROVEMENT,
	FB_CHANGE_ANY,
};

/** fb_change_name() - "regression", "improvement", "any". */
const char *fb_change_name(enum fb_change change);

struct fb_bisect_args {
	struct fb_oid bad;
	const struct fb_oid *good;
	size_t nr_good;
	bool first_parent;
	int cell;	    /* index into the plan's cells; -1: the one that changed most surely */
	const char *metric; /* NULL: likewise */
	enum fb_change change;
	bool flaky;		  /* where an exit status is a verdict: one that may lie */
	const char *command_hash; /* fb_command_hash() of what is run; NULL where the plan says it
				     all */
};

/** fb_bisect_is_same() - Was @session begun with equal arguments and an equal plan? */
bool fb_bisect_is_same(const struct fb_session *session, const struct fb_plan *plan,
		       const struct fb_bisect_args *args);

/**
 * fb_bisect_begin() - Store a new session. The range is checked first.
 * @ret: the session; release it.
 */
int fb_bisect_begin(struct fb_store *store, struct fb_history *history, const struct fb_plan *plan,
		    const struct fb_bisect_args *args, struct fb_session *ret,
		    struct fb_error *err);

/* What is known of one node of the range. */
struct fb_bisect_node {
	char *signature; /* NULL: not built (yet) */
	char *cause;	 /* why it is skipped, or NULL */
	bool asked;	 /* the search wanted it */
	double *values;	 /* one a boot of this commit, in the order of recording */
	size_t nr_values, cap_values;
	unsigned measured; /* boots that gave a value, those of the survey too */
	unsigned failed;   /* boots that gave no value */
	char *last_failure;
};

/* What is followed when exit statuses are verdicts. No command can print this as a metric's name.
 */
#define FB_METRIC_STATUS "exit status"

/* The first status of all was 126 or 127: a verdict, or a command that cannot be run? */
struct fb_bisect_doubt {
	bool open;
	uint32_t node;
	int64_t boot;
	int status;
};

struct fb_bisect {
	struct fb_store *store;	    /* borrowed */
	struct fb_history *history; /* borrowed */
	const struct fb_plan *plan; /* borrowed */
	struct fb_session session;  /* own copy */
	struct fb_range *range;
	struct fb_dag *dag;
	struct fb_bisect_node *node; /* range->nr */
	int cell;		     /* -1 while not chosen */
	char *metric;		     /* NULL while not chosen */
	bool by_status;		     /* exit statuses are verdicts: no value was seen so far */
	bool flaky;		     /* such a verdict may be wrong */
	struct fb_bisect_doubt doubt;
	char *tool; /* what measured the values so far, "fio 3.33"; or NULL */
	enum fb_change change;
	struct fb_search *search; /* NULL while the cell is not chosen */
	char **counters;	  /* other metrics of its boots, as the search numbers them */
	size_t nr_counters, cap_counters;
	struct fb_survey *survey; /* NULL when there is nothing to choose */
	int64_t *used;		  /* boots that are in the record */
	size_t nr_used, cap_used;
	unsigned steps; /* commits that were asked for */
	bool measured;	/* some boot gave a value of the metric */
};

/**
 * fb_bisect_load() - Replay a session from the store.
 * @session: taken over on success.
 */
int fb_bisect_load(struct fb_store *store, struct fb_history *history, const struct fb_plan *plan,
		   struct fb_session *session, struct fb_bisect **ret, struct fb_error *err);
void fb_bisect_free(struct fb_bisect *b);
void fb_bisect_freep(struct fb_bisect **b);

/** fb_bisect_run() - Go on until there is a verdict, and store it. */
int fb_bisect_run(struct fb_bisect *b, struct fb_lab *lab, struct fb_error *err);

struct fb_judgement {
	enum { FB_JUDGED_OLD, FB_JUDGED_NEW, FB_JUDGED_SKIP } side;
	double p_new; /* posterior of being on the new side, given one step */
};

/**
 * fb_bisect_judge() - Measure one commit of the range until its side is as sure as the plan asks
 * for; the ends, too, as far as the search needs them.
 *
 * All boots of the session count, those for other commits as well. SKIP: it cannot be built or
 * measured, or the plan's boots did not tell. Errors: FB_ERROR_USAGE when the ends do not differ.
 */
int fb_bisect_judge(struct fb_bisect *b, struct fb_lab *lab, const struct fb_oid *commit,
		    struct fb_judgement *ret, struct fb_error *err);

/**
 * fb_bisect_so_far() - The verdict as stored, or the same object for a session that is not
 * finished: verdict "open", no commits, and the numbers as they are now. A new reference.
 */
json_t *fb_bisect_so_far(const struct fb_bisect *b);

/** fb_verdict_find() - The kind behind "found", "range", "none", "undecided", ...; -1 for others.
 */
int fb_verdict_find(const char *name);

#endif
