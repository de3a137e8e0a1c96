/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The door to git: commits, ranges, and a worktree of our own.
 *
 * The user's checkout, branches, index and refs are never touched. Reading goes through
 * libgit2; what it cannot do goes through the git program, without a shell.
 */
#ifndef FB_HISTORY_HISTORY_H
#define FB_HISTORY_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/util/error.h"

#define FB_OID_HEX_SIZE 41

struct fb_oid {
	char hex[FB_OID_HEX_SIZE]; /* 40 lower-case digits */
};

struct fb_history;

/**
 * fb_history_open() - Open the repository that holds @dir (worktree, linked worktree or bare).
 *
 * Errors: FB_ERROR_GIT, with a sentence of our own for SHA-256 repositories and for ones that
 * git's safe.directory refuses.
 */
int fb_history_open(const char *dir, struct fb_history **ret, struct fb_error *err);
void fb_history_free(struct fb_history *history);
void fb_history_freep(struct fb_history **history);

/** fb_history_gitdir() - Absolute path of the common git directory; names the repository. Borrowed.
 */
const char *fb_history_gitdir(const struct fb_history *history);

/** fb_history_workdir() - Absolute path of the user's worktree, or the git directory when bare. */
const char *fb_history_workdir(const struct fb_history *history);

/**
 * fb_history_resolve() - The commit that @rev names, as `git rev-parse REV^{commit}`.
 *
 * Errors: FB_ERROR_GIT, with the name in it.
 */
int fb_history_resolve(struct fb_history *history, const char *rev, struct fb_oid *ret,
		       struct fb_error *err);

/*
 * Text from commits is data of strangers. Here it is one line of valid UTF-8 without control
 * characters or marks that reorder text (they are '?'), at most FB_TEXT_MAX bytes long.
 */
#define FB_TEXT_MAX 1000

struct fb_commit {
	struct fb_oid oid, tree;
	char *subject; /* first paragraph */
	char *author_name, *author_email;
	int64_t author_s, commit_s; /* Unix seconds */
	unsigned nr_parents;	    /* 0 where a shallow clone ends */
};

/** fb_history_commit() - Facts about a commit; release with fb_commit_release(). */
int fb_history_commit(struct fb_history *history, const struct fb_oid *oid, struct fb_commit *ret,
		      struct fb_error *err);
void fb_commit_release(struct fb_commit *commit);

/**
 * fb_history_holds() - Is @path, relative to the top of the tree, in commit @oid?
 *
 * Return: 1, 0, or -1.
 */
int fb_history_holds(struct fb_history *history, const struct fb_oid *oid, const char *path,
		     struct fb_error *err);

/**
 * fb_history_modified() - Does @path, in the user's worktree, differ from what is committed there?
 *
 * Return: 1, 0, or -1.
 */
int fb_history_modified(struct fb_history *history, const char *path, struct fb_error *err);

/** fb_history_ignored() - Would git, in the user's worktree, ignore @path? Return: 1, 0, or -1. */
int fb_history_ignored(struct fb_history *history, const char *path, struct fb_error *err);

/* A file that differs between two trees. */
struct fb_file_change {
	const char *path;
	const char *old,
		*new; /* contents, not NUL-terminated; NULL unless both have it with one mode */
	size_t old_len, new_len;
};

/* 0 to go on; anything else ends the comparison. */
typedef int fb_change_fn(void *ctx, const struct fb_file_change *change);

/**
 * fb_history_changes() - Show each file that differs between two commits, in the order of paths.
 *
 * Renames are a file less and one more. Contents that a partial clone has not got are NULL.
 *
 * Return: 0, the value that @fn ended it with, or -1 on error.
 */
int fb_history_changes(struct fb_history *history, const struct fb_oid *old,
		       const struct fb_oid *new, fb_change_fn *fn, void *ctx, struct fb_error *err);

/*
 * A range as indices, oldest first: every parent has a smaller index than its child, ties
 * broken by commit date, then id. Nodes: the candidates (reachable from bad, not from any
 * good), the good ends, and the merge bases. Parents outside the nodes are left out, except
 * that a candidate keeps an edge to a good end or merge base that is its parent.
 */
struct fb_range {
	uint32_t nr;
	struct fb_oid *oid;	/* nr */
	uint32_t *parent_start; /* nr + 1: parents of i are parent[parent_start[i]..[i + 1]) */
	uint32_t *parent;
	uint32_t bad;
	uint32_t *good, nr_good; /* the one next to the candidates first */
	uint32_t *base, nr_base; /* merge bases of good ends that are no ancestors of bad */
	uint32_t nr_candidates;
};

enum fb_range_flags {
	FB_RANGE_FIRST_PARENT =
		1 << 0,		     /* follow first parents only, as git bisect --first-parent */
	FB_RANGE_UNRELATED = 1 << 1, /* the ends need no common history, as in git bisect */
};

/**
 * fb_history_range() - The candidates of a bisection.
 *
 * Errors: FB_ERROR_USAGE when bad is an ancestor of a good end (told with both names) or the
 * ends are equal; FB_ERROR_GIT when there is no common history, which FB_RANGE_UNRELATED lets
 * pass. Shallow boundaries are roots.
 */
int fb_history_range(struct fb_history *history, const struct fb_oid *bad,
		     const struct fb_oid *good, size_t nr_good, unsigned flags,
		     struct fb_range **ret, struct fb_error *err);
void fb_range_free(struct fb_range *range);
void fb_range_freep(struct fb_range **range);

struct fb_worktree;

/**
 * fb_worktree_open() - Make (or take up again) a detached worktree at @path.
 *
 * Heals what a killed firstbad or git left there (index.lock, a missing directory, a half-made
 * registration). Refuses a directory that is not ours. The registration is locked, so that
 * `git worktree prune` in the user's repository leaves it alone. While it is open the worktree
 * belongs to this process: PATH.lock is held.
 *
 * Errors: FB_ERROR_USAGE when @path is somebody else's, is inside the repository, or is in use by
 * another process (after 5 s); FB_ERROR_SYSTEM with .sys ENOSPC when the disk is full.
 */
int fb_worktree_open(struct fb_history *history, const char *path, struct fb_worktree **ret,
		     struct fb_error *err);
void fb_worktree_free(struct fb_worktree *wt);
void fb_worktree_freep(struct fb_worktree **wt);
const char *fb_worktree_path(const struct fb_worktree *wt);

/**
 * fb_worktree_checkout() - Make the worktree equal to @oid, touching only files that differ.
 *
 * Local changes (fixups of the step before, a build's leftovers in tracked files) are undone;
 * untracked files, ignored ones too, are removed. Afterwards `git status` in it is clean, and
 * each file has the bytes of its blob: line end conversion, filters (LFS) and sparse checkouts
 * that the user has set up do not apply. Submodules are empty directories.
 *
 * A program that ran in the worktree may have done anything to it: a link in its place is
 * removed, not followed; what cannot be cleaned is thrown away and made anew.
 *
 * Errors: as fb_worktree_open(); FB_ERROR_USAGE when another directory took the place of the
 * worktree or of the one that holds it; FB_ERROR_CHILD with git's words otherwise.
 */
int fb_worktree_checkout(struct fb_worktree *wt, const struct fb_oid *oid, struct fb_error *err);

/**
 * fb_worktree_switch() - The same, but what git does not track stays, as with `git checkout`.
 *
 * So the next build finds what the last one left. Only what stands in the way of a tracked file
 * is removed, attributes that are not tracked, and, where git cannot go on otherwise, everything.
 */
int fb_worktree_switch(struct fb_worktree *wt, const struct fb_oid *oid, struct fb_error *err);

#endif
