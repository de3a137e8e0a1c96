/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A bisection by hand in the user's worktree, in step with git's.
 *
 * The store is the journal: each verdict is an event there first, then a ref, then lines of
 * BISECT_LOG, whose first line says how many events it holds. So what a kill cut short is made
 * good when the session is opened again, and what git itself added meanwhile is told from it
 * and becomes events, too: refs are compared three ways (as of the log, as of the events, as
 * they are).
 */
#ifndef FB_CONTROLLER_MANUAL_H
#define FB_CONTROLLER_MANUAL_H

#include "src/history/gitbisect.h"
#include "src/plan/plan.h"
#include "src/store/store.h"

enum fb_side { FB_SIDE_OLD, FB_SIDE_NEW, FB_SIDE_SKIP };

enum fb_manual_kind {
	FB_MANUAL_NOTE,
	FB_MANUAL_MARK,
	FB_MANUAL_WEAK,
	FB_MANUAL_VALUES, /* measured, with no word about the side */
};

/* Something that was said, and is not taken back. */
struct fb_manual_item {
	enum fb_manual_kind kind;
	enum fb_side side;
	bool start; /* on the command line that began the session */
	struct fb_oid *commits;
	size_t nr_commits;
	double *values; /* measured at its one commit */
	size_t nr_values;
	double strength; /* WEAK: probability that it is right */
	char *from;	 /* VALUES: the automatic session that measured them, or NULL */
	char *log;	 /* its lines of the log */
};

struct fb_manual {
	struct fb_store *store;	    /* borrowed */
	struct fb_history *history; /* borrowed */
	bool active;
	const struct fb_plan *plan; /* that of the session, or NULL; set by the caller */
	struct fb_session session;  /* .name NULL: of git, not taken over */
	struct fb_gitbisect git;    /* as it was read, or written since */
	char *terms[2];		    /* indexed by enum fb_side; NULL: not chosen yet */
	struct fb_manual_item *item;
	size_t nr, cap;
	size_t nr_events;
	char **notes; /* what was found and made good, for the user; may be NULL */
	int lock;
};

/**
 * fb_manual_open() - The bisection of this worktree, made whole; ->active is false without one.
 * @write: take it over, and hold it until fb_manual_free(); else nothing is changed.
 *
 * Errors: FB_ERROR_INPUT for a log that cannot be understood, with its line; FB_ERROR_BUSY.
 */
int fb_manual_open(struct fb_store *store, struct fb_history *history, bool write,
		   struct fb_manual **ret, struct fb_error *err);
void fb_manual_free(struct fb_manual *m);
void fb_manual_freep(struct fb_manual **m);

struct fb_manual_start {
	const struct fb_plan *plan; /* or NULL */
	const char *terms[2];	    /* NULL: git's own, chosen by the first verdict */
	bool first_parent, no_checkout;
	const struct fb_oid *revs; /* the new end, then old ones */
	size_t nr_revs;
	char *const *words; /* of the command line, for the log */
	char *const *paths; /* NULL-terminated, or NULL */
};

/**
 * fb_manual_check_terms() - Can both be terms? @terms: by side; NULL for git's own.
 *
 * Errors: FB_ERROR_USAGE for commands, git's own words with the other meaning, and what no ref
 * can be called.
 */
int fb_manual_check_terms(const char *const terms[2], struct fb_error *err);

/**
 * fb_manual_begin() - Begin anew; a session that is active is archived, and its checkout undone.
 *
 * Errors: FB_ERROR_CHILD when git cannot check out; nothing has begun then.
 */
int fb_manual_begin(struct fb_manual *m, const struct fb_manual_start *start, struct fb_error *err);

/** fb_manual_term() - What the user calls a side: "bad", "skip". Borrowed. */
const char *fb_manual_term(const struct fb_manual *m, enum fb_side side);

/**
 * fb_manual_side() - The side that a word of the user's means; chooses old/new or good/bad as the
 * session's terms when none are.
 *
 * Errors: FB_ERROR_USAGE for a word that is no term of the session.
 */
int fb_manual_side(struct fb_manual *m, const char *word, enum fb_side *ret, struct fb_error *err);

/** fb_manual_mark() - A hard verdict about some commits; @values were measured at the only one. */
int fb_manual_mark(struct fb_manual *m, enum fb_side side, const struct fb_oid *commits,
		   size_t nr_commits, const double *values, size_t nr_values, struct fb_error *err);

/** fb_manual_weak() - Soft evidence, right with probability @strength, above 0.5. */
int fb_manual_weak(struct fb_manual *m, enum fb_side side, const struct fb_oid *commit,
		   double strength, struct fb_error *err);

/**
 * fb_manual_measured() - Values of a commit that nobody judged.
 * @from: the automatic session that measured them, or NULL.
 */
int fb_manual_measured(struct fb_manual *m, const struct fb_oid *commit, const double *values,
		       size_t nr_values, const char *from, struct fb_error *err);

/** fb_manual_note() - Lines for the log, once: those that are its end already are left out. */
int fb_manual_note(struct fb_manual *m, const char *lines, struct fb_error *err);

/**
 * fb_manual_undo() - Take back what was said last.
 * @ret: what that was, as lines of the log; owned.
 *
 * Errors: FB_ERROR_USAGE when nothing is left.
 */
int fb_manual_undo(struct fb_manual *m, char **ret, struct fb_error *err);

/**
 * fb_manual_replay() - Begin anew with what a log says, git's or ours or one that was pasted.
 * @name: of the log, for errors. *@ret_nr: verdicts in it.
 *
 * Everything is looked up before anything is changed. Errors: FB_ERROR_INPUT with the line;
 * FB_ERROR_GIT when its commits are not here.
 */
int fb_manual_replay(struct fb_manual *m, const char *text, const char *name, size_t *ret_nr,
		     struct fb_error *err);

/** fb_manual_end() - Archive the session with what it said last, and end git's. */
int fb_manual_end(struct fb_manual *m, json_t *verdict, struct fb_error *err);

/** fb_manual_log() - The log as `git bisect replay` reads it; appended. */
void fb_manual_log(const struct fb_manual *m, struct fb_str *out);

/* What the hard verdicts come to; the arrays are owned. */
struct fb_manual_marks {
	struct fb_oid bad; /* "" for none */
	struct fb_oid *good, *skip;
	size_t nr_good, nr_skip;
};

void fb_manual_marks(const struct fb_manual *m, struct fb_manual_marks *ret);
void fb_manual_marks_release(struct fb_manual_marks *marks);

#endif
