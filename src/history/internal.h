/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inside of src/history only. */
#ifndef FB_HISTORY_INTERNAL_H
#define FB_HISTORY_INTERNAL_H

#include <git2.h>
#include <stdint.h>

#include "src/history/history.h"
#include "src/util/proc.h"

struct fb_history {
	int bisect_lock; /* held by the bisection of this worktree, or -1 */
	git_repository *repo;
	git_odb *odb;
	char *gitdir; /* the common one, without a trailing slash */
	char *workdir;
};

/**
 * fb_git_error() - Put libgit2's last error behind our own words; git_error_last() may be NULL.
 *
 * Return: -1 with FB_ERROR_GIT, or FB_ERROR_DAMAGED where an object is at fault.
 */
int fb_git_error(struct fb_error *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/**
 * fb_git_here() - Run git with the user's settings in the user's worktree.
 * @args: NULL-terminated, without "git". @input: for its stdin, or NULL.
 *
 * Return: 0 when it ran, however it ended; look at ret->end first.
 */
int fb_git_here(const struct fb_history *history, const char *const *args, const char *input,
		struct fb_proc_result *ret, struct fb_error *err);

/**
 * fb_loose_check() - From now on a damaged loose object is an error and nothing that libgit2 sees.
 */
int fb_loose_check(const struct fb_history *history, struct fb_error *err);

/** fb_tree_of() - The tree of a commit; free with git_tree_free(). */
int fb_tree_of(struct fb_history *history, const struct fb_oid *commit, git_tree **ret,
	       struct fb_error *err);

/* A commit object in pieces, which point into its text. */
struct fb_raw_commit {
	git_oid tree;
	const char *parents; /* nr_parents times FB_RAW_PARENT_SIZE bytes "parent HEX\n" */
	unsigned nr_parents;
	struct {
		const char *buf;
		size_t len;
	} author, committer, encoding, message;
};

#define FB_RAW_PARENT_SIZE 48

/** fb_raw_commit_parse() - Return: 0, or -1 when it is no commit object. */
int fb_raw_commit_parse(const char *buf, size_t len, struct fb_raw_commit *ret);

/** fb_raw_commit_parent() - The id of parent @i. */
void fb_raw_commit_parent(const struct fb_raw_commit *raw, unsigned i, git_oid *ret);

/**
 * fb_raw_person() - Take "Name <email> 1112911993 +0000" apart; what is missing is "" or 0.
 * @ret_name, @ret_email: where in @buf; may be NULL with their lengths.
 */
void fb_raw_person(const char *buf, size_t len, const char **ret_name, size_t *ret_name_len,
		   const char **ret_email, size_t *ret_email_len, int64_t *ret_s);

/**
 * fb_clean_text() - A line that is safe to show, whatever the commit held.
 * @encoding: as the commit says; "" for UTF-8.
 *
 * Line breaks become blanks; control characters and those that reorder text become '?';
 * bytes that are no text become U+FFFD; at most FB_TEXT_MAX bytes, cut with U+2026.
 *
 * Return: owned string.
 */
char *fb_clean_text(const char *buf, size_t len, const char *encoding, size_t encoding_len);

/** fb_first_paragraph() - Where the subject of a message is. */
void fb_first_paragraph(const char *buf, size_t len, const char **ret, size_t *ret_len);

/* The commits at which a shallow clone ends, sorted. */
struct fb_shallow {
	git_oid *oid;
	size_t nr;
};

int fb_shallow_read(const struct fb_history *history, struct fb_shallow *ret, struct fb_error *err);
bool fb_shallow_has(const struct fb_shallow *shallow, const git_oid *oid);
void fb_shallow_release(struct fb_shallow *shallow);

/**
 * fb_leftovers_make_tractable() - Leave nothing in a worktree that `git clean` stumbles over.
 * @fd: the worktree.
 *
 * Directories become u+rwx; what lies too deep, and any ".git" but the topmost, is removed.
 */
int fb_leftovers_make_tractable(int fd, struct fb_error *err);

/**
 * fb_mounts_refuse() - An error that names the mount point when something is mounted below @path.
 * @path: absolute, without symbolic links.
 *
 * Nobody but the kernel knows of bind mounts, so its list is read and no device numbers.
 */
int fb_mounts_refuse(const char *path, struct fb_error *err);

/** fb_mounts_same() - Are two open directories in the same mount? False also when unknown. */
bool fb_mounts_same(int a, int b);

/** fb_leftovers_remove() - Remove @path, as an index names it, below @fd; none is no error. */
int fb_leftovers_remove(int fd, const char *path, struct fb_error *err);

#endif
