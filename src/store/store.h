/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The door to SQLite: every sample, build, boot, session and event.
 *
 * The store alone determines the verdict. What is in it happened; what is not did not.
 * Each function is one transaction, durable when it returns. Several processes may use
 * one store at once.
 */
#ifndef FB_STORE_STORE_H
#define FB_STORE_STORE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/util/error.h"

struct fb_store;

/**
 * fb_store_open() - Open or make the database at @path (directories are made).
 *
 * Errors: FB_ERROR_STORE for a file that is no store, or one of a newer firstbad.
 * FB_ERROR_SYSTEM with .sys ENOSPC when the disk is full; so do all functions below.
 * FB_ERROR_STORE from fb_store_boot_add() and fb_store_session_end() when the file is not at @path
 * any more: nobody could read again what they wrote.
 */
int fb_store_open(const char *path, struct fb_store **ret, struct fb_error *err);
void fb_store_free(struct fb_store *store);
void fb_store_freep(struct fb_store **store);

struct fb_session {
	int64_t id;
	char *name;	 /* short unique hex, for people */
	char *kind;	 /* "bisect", "measure" */
	char *repo;	 /* common git directory */
	char *workdir;	 /* the user's worktree: the default session is the newest one of it */
	char *plan;	 /* YAML text */
	char *plan_name; /* where it came from, for messages */
	json_t *args;	 /* object: {"bad": oid, "good": [oids], "cell": i, "metric": name, ...} */
	char *state;	 /* "open", "done"; in a list also "damaged" */
	json_t *verdict; /* object, or NULL while open */
	int64_t created_s;
};

/** fb_store_session_add() - Begin a session; fills id, name and created_s of @session. */
int fb_store_session_add(struct fb_store *store, struct fb_session *session, struct fb_error *err);

/**
 * fb_store_session_find() - The newest session of a worktree, or the one named by a unique prefix.
 * @name: or NULL. @kind: or NULL for any.
 *
 * Return: 1 found, 0 not, -1 error (an ambiguous prefix is FB_ERROR_USAGE, a session that is
 * damaged FB_ERROR_INPUT).
 */
int fb_store_session_find(struct fb_store *store, const char *workdir, const char *name,
			  const char *kind, struct fb_session *ret, struct fb_error *err);

/**
 * fb_store_session_list() - All, newest first; *ret is an array of *ret_nr, each to be released.
 *
 * One whose args or verdict cannot be read has neither, and the state "damaged".
 */
int fb_store_session_list(struct fb_store *store, struct fb_session **ret, size_t *ret_nr,
			  struct fb_error *err);

/** fb_store_session_drop() - Forget a session, unless something happened in it. */
int fb_store_session_drop(struct fb_store *store, int64_t id, struct fb_error *err);

/** fb_store_session_end() - Record the verdict and close. */
int fb_store_session_end(struct fb_store *store, int64_t id, json_t *verdict, struct fb_error *err);
void fb_session_release(struct fb_session *session);

/**
 * fb_store_event_add() - Append to the session's log.
 * @kind: "build", "skip", "same-image", "boot", "note", ... @data: object, borrowed.
 */
int fb_store_event_add(struct fb_store *store, int64_t session, const char *kind, json_t *data,
		       struct fb_error *err);

/** fb_store_events() - The log, oldest first: new JSON array of {"seq","time_s","kind","data"}. */
int fb_store_events(struct fb_store *store, int64_t session, json_t **ret, struct fb_error *err);

struct fb_store_build {
	char *commit; /* 40 hex */
	char *tree;
	char *key;	 /* image cache name */
	char *signature; /* NULL when it failed */
	char *cause;	 /* NULL when it built */
	json_t *result;	 /* the whole build result, borrowed by add, owned in a get */
};

/** fb_store_build_add() - What building a commit gave (idempotent by commit and key). */
int fb_store_build_add(struct fb_store *store, const struct fb_store_build *build,
		       struct fb_error *err);

/** fb_store_build_get() - Return: 1 found, 0 not, -1 error. */
int fb_store_build_get(struct fb_store *store, const char *commit, const char *key,
		       struct fb_store_build *ret, struct fb_error *err);
void fb_store_build_release(struct fb_store_build *build);

struct fb_store_sample {
	unsigned run;	  /* counts from 0 within a boot and cell */
	char *cell;	  /* fb_cell_key() */
	unsigned version; /* of the testcase */
	char *metric;
	double value; /* bit exact */
};

struct fb_store_boot {
	int64_t id;
	int64_t session; /* who made it */
	char *env;	 /* hash of everything but the kernel and the seed: two boots with equal env
			    compare */
	char *signature; /* image */
	char *commit;	 /* for which it was booted */
	uint64_t seed;
	char *end; /* fb_end_name() */
	char *why;
	int64_t started_s, wall_ns;
	char *dir;     /* job directory with console and raw output, or NULL */
	json_t *facts; /* fingerprint, timings; or NULL */
	struct fb_store_sample *samples;
	size_t nr_samples;
};

/** fb_store_boot_add() - A finished boot with all its samples, or nothing. Fills ->id. */
int fb_store_boot_add(struct fb_store *store, struct fb_store_boot *boot, struct fb_error *err);

/**
 * fb_store_boots() - Boots of an image in an environment, oldest first.
 * @session: only those of this session; 0: of any (sound only on the deterministic machine).
 */
int fb_store_boots(struct fb_store *store, const char *env, const char *signature, int64_t session,
		   struct fb_store_boot **ret, size_t *ret_nr, struct fb_error *err);
void fb_store_boot_release(struct fb_store_boot *boot);
void fb_store_boots_free(struct fb_store_boot *boots, size_t nr);

#endif
