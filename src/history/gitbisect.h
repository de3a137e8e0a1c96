/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The door to git's own bisection of the user's worktree: files and refs of `git bisect`.
 *
 * Each worktree has its own. Refs go through git's ref API; files are written whole. What
 * the names mean: builtin/bisect.c and bisect.c of git 2.39.
 */
#ifndef FB_HISTORY_GITBISECT_H
#define FB_HISTORY_GITBISECT_H

#include "src/history/history.h"
#include "src/util/str.h"

#define FB_LOG_MAX_B (64u << 20)

struct fb_gitbisect {
	bool active;	/* git is bisecting here: there is a BISECT_START */
	char *start;	/* branch or commit to go back to; "" when not active */
	char *log;	/* BISECT_LOG; NULL when there is none */
	char *terms[2]; /* old, new; NULL when not chosen yet */
	char **paths;	/* NULL-terminated; NULL without */
	bool first_parent, ancestors_ok;
	bool no_checkout;	/* there is a BISECT_HEAD */
	struct fb_oid head;	/* HEAD, or BISECT_HEAD; "" when unborn */
	bool on_branch;		/* HEAD is a branch */
	struct fb_oid expected; /* what was asked for last; "" for nothing */
	struct fb_oid bad;	/* of the refs; "" when there is none */
	struct fb_oid *good, *skip;
	size_t nr_good, nr_skip;
};

/**
 * fb_gitbisect_read() - The state as it is now; release it.
 *
 * Errors: FB_ERROR_INPUT for a file that git could not read either.
 */
int fb_gitbisect_read(struct fb_history *history, struct fb_gitbisect *ret, struct fb_error *err);
void fb_gitbisect_release(struct fb_gitbisect *state);

struct fb_ref_edit {
	const char *name;
	const struct fb_oid *to; /* NULL: delete */
};

/** fb_gitbisect_refs() - Set and delete refs (and BISECT_EXPECTED_REV), all or none. */
int fb_gitbisect_refs(struct fb_history *history, const struct fb_ref_edit *edits, size_t nr,
		      struct fb_error *err);

/** fb_gitbisect_path() - Where git keeps a file of this worktree's; owned. */
char *fb_gitbisect_path(const struct fb_history *history, const char *name);

/** fb_gitbisect_file() - Write BISECT_LOG and the like; @text NULL removes it. */
int fb_gitbisect_file(struct fb_history *history, const char *name, const char *text,
		      struct fb_error *err);

/** fb_gitbisect_clear() - End git's bisection as `git bisect reset` does, without a checkout. */
int fb_gitbisect_clear(struct fb_history *history, struct fb_error *err);

/**
 * fb_gitbisect_head() - What HEAD of the user's worktree is: a branch without "refs/heads/", else
 * the commit. Owned; NULL with FB_ERROR_GIT when there is neither.
 */
char *fb_gitbisect_head(struct fb_history *history, struct fb_error *err);

/**
 * fb_gitbisect_checkout() - `git checkout REV --` in the user's worktree, as git bisect does it.
 *
 * Errors: FB_ERROR_CHILD with git's words (local changes in the way).
 */
int fb_gitbisect_checkout(struct fb_history *history, const char *rev, struct fb_error *err);

/** fb_gitbisect_show() - What `git bisect` prints of the first bad commit; owned. */
int fb_gitbisect_show(struct fb_history *history, const struct fb_oid *oid, char **ret,
		      struct fb_error *err);

/**
 * fb_gitbisect_revs() - The commits of `git rev-list ARG`, newest first; owned, *ret_nr of them.
 * @arg: a range as "A..B", or one revision, which is that commit alone.
 */
int fb_gitbisect_revs(struct fb_history *history, const char *arg, struct fb_oid **ret,
		      size_t *ret_nr, struct fb_error *err);

/**
 * fb_gitbisect_narrow() - Keep those candidates of a range that touch some paths.
 *
 * History is simplified as by `git rev-list --parents BAD ^GOOD... -- PATHS`. The bad end stays a
 * candidate: the answer may be that none of the others is it.
 *
 * Return: 1 when the bad end touches none of the paths, 0 when it does, -1.
 */
int fb_gitbisect_narrow(struct fb_history *history, char *const *paths, unsigned flags,
			struct fb_range **range, struct fb_error *err);

/** fb_gitbisect_is_ancestor() - Is @a an ancestor of @b, or @b itself? 1, 0 or -1. */
int fb_gitbisect_is_ancestor(struct fb_history *history, const struct fb_oid *a,
			     const struct fb_oid *b, struct fb_error *err);

/** fb_gitbisect_quote() - A word as git's sq_quote_buf() writes it, appended. */
void fb_gitbisect_quote(const char *word, struct fb_str *out);

/**
 * fb_gitbisect_words() - Take a line of quoted and plain words apart; NULL-terminated, owned.
 *
 * Return: 0, or -1 when a quote is not closed.
 */
int fb_gitbisect_words(const char *line, char ***ret);

/** fb_gitbisect_visualize() - Become `git bisect visualize ARGS`; returns only on error. */
int fb_gitbisect_visualize(struct fb_history *history, char *const *args, struct fb_error *err);

/**
 * fb_gitbisect_lock() - Keep other firstbads out of this worktree's bisection (5 s are waited).
 * The git programs that run meanwhile hold it, too, until they end.
 * Return: a descriptor, or -1 with FB_ERROR_BUSY.
 */
int fb_gitbisect_lock(struct fb_history *history, struct fb_error *err);
void fb_gitbisect_unlock(struct fb_history *history);

#endif
