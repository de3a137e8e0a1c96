/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a bisection by hand knows, and what it asks for next. */
#ifndef FB_CONTROLLER_MANUAL_NEXT_H
#define FB_CONTROLLER_MANUAL_NEXT_H

#include "bisect/search.h"
#include "src/controller/manual.h"

enum fb_next_kind {
	FB_NEXT_WAIT,	  /* an end is missing: see .marks */
	FB_NEXT_ASK,	  /* test .commit */
	FB_NEXT_BASE,	  /* the same, a merge base */
	FB_NEXT_END,	  /* the same, an end, whose values are needed */
	FB_NEXT_FOUND,	  /* .commit is it */
	FB_NEXT_SKIPPED,  /* only skipped ones are left, .commits */
	FB_NEXT_BASE_BAD, /* the merge base .commit is on the new side already */
	FB_NEXT_NOTHING,  /* no commit is left that can be it: wrong paths, most likely */
	FB_NEXT_NONE,	  /* by their values the ends do not differ */
	FB_NEXT_OTHER,	  /* what was said fits no single step */
	FB_NEXT_UNDECIDED,
};

struct fb_manual_view {
	enum fb_next_kind kind;
	struct fb_manual_marks marks;
	struct fb_range *range; /* NULL while an end is missing; so are the next two */
	struct fb_dag *dag;
	struct fb_search *search;
	uint32_t node; /* of .commit */
	struct fb_oid commit;
	struct fb_oid *commits;
	size_t nr_commits;
	bool by_values;		     /* values are followed, not verdicts */
	bool end_added;		     /* the new end touches none of the session's paths */
	bool weak;		     /* there is soft evidence, and it counts */
	uint32_t nr_left;	     /* candidates that may be it, as git counts them */
	uint32_t nr_reached;	     /* of these, with .commit itself, if it is on the new side */
	struct fb_oid *base_skipped; /* merge bases that cannot be tested */
	size_t nr_base_skipped;
};

/**
 * fb_manual_view() - Search by what was said so far.
 *
 * Hard verdicts alone: as `git bisect`. Values: their own search; verdicts without values only
 * bound it. Soft evidence weighs beside hard verdicts (P(bad) of its strength), not beside values.
 *
 * Errors: FB_ERROR_USAGE for ends that contradict each other.
 */
int fb_manual_view(struct fb_manual *m, struct fb_manual_view *ret, struct fb_error *err);
void fb_manual_view_release(struct fb_manual_view *v);

/** fb_manual_steps() - git's estimate of the tests left among @nr commits. */
unsigned fb_manual_steps(uint32_t nr);

/** fb_manual_go() - Ask for the commit of the view: BISECT_EXPECTED_REV, and a checkout. */
int fb_manual_go(struct fb_manual *m, const struct fb_manual_view *v, struct fb_error *err);

/**
 * fb_manual_judged() - A verdict about @commit is to come: forget what was asked for when it is
 * about another one, as git does.
 */
int fb_manual_judged(struct fb_manual *m, const struct fb_oid *commit, struct fb_error *err);

#endif
