/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Child processes that cannot outlive firstbad.
 *
 * Each child runs under a keeper, a fork of this process. The keeper holds the read
 * end of a lifeline pipe; when firstbad dies, by whatever signal, the pipe closes and
 * the keeper kills the child and every descendant (it is their subreaper, so none can
 * get away by a double fork). The child itself dies with the keeper (PR_SET_PDEATHSIG).
 * Leftover descendants are killed too when the child ends.
 *
 * Behind a fence the keeper is also the init of a PID namespace: the kernel kills everything
 * in it when the keeper dies (pid_namespaces(7)), so nothing is left even when firstbad and all
 * keepers are killed at one and the same moment (kill -9 of them all, an OOM killer). Without a
 * fence the child dies then, but its descendants live on until they end by themselves.
 */
#ifndef FB_UTIL_PROC_H
#define FB_UTIL_PROC_H

#include <stdbool.h>
#include <stdint.h>

#include "src/util/error.h"
#include "src/util/str.h"

enum fb_proc_end {
	FB_PROC_EXITED,	   /* .status is the exit code */
	FB_PROC_SIGNALLED, /* .status is the signal number */
	FB_PROC_TIMED_OUT, /* the time limit ran out; everything was killed */
	FB_PROC_LOST,	   /* the keeper was killed: nothing is known */
};

/* Each one is tried only where those before it cannot be had. */
enum fb_proc_fence {
	FB_PROC_FENCE_NONE,
	FB_PROC_FENCE_PID,  /* PID and mount namespace with a /proc of its own; takes privilege */
	FB_PROC_FENCE_USER, /* in a user namespace: no setuid programs (sudo), others are "nobody"
			     */
};

struct fb_proc_spec {
	const char *const *argv; /* argv[0] is looked up in firstbad's PATH; no shell, ever */
	const char *const *env;	 /* NULL-terminated "K=V" sets, "K" unsets; NULL inherits */
	const char *dir;	 /* working directory, or NULL */
	int64_t timeout_ns;	 /* 0: none */
	size_t capture_max;	 /* bytes kept of each stream when captured; 0: 1 MiB */
	const char *out_path;	 /* stdout and stderr go to this file (truncated) instead */
	const char *stdin_data;	 /* fed to the child's stdin; NULL: /dev/null */
	const int *pass_fds;	 /* nr_pass_fds descriptors that the child keeps, same numbers */
	unsigned nr_pass_fds;
	uint64_t file_size_max;	  /* RLIMIT_FSIZE, bytes; 0: none. SIGXFSZ is ignored then */
	int nice;		  /* added to the niceness */
	bool finishes;		  /* is let finish when firstbad dies; fb_proc_kill() waits */
	enum fb_proc_fence fence; /* the last one to try; FIRSTBAD_NAMESPACES=no: none is */
};

/**
 * fb_proc_no_repository - For fb_proc_spec.env: no repository is inherited; NULL-terminated.
 *
 * The names that `git rev-parse --local-env-vars` lists (local_repo_env[] in git's environment.c,
 * 2.39 to 2.51). With them set, as in a hook or an alias of git, a git in another directory works
 * on the repository that they name.
 */
extern const char *const fb_proc_no_repository[];

struct fb_proc_result {
	enum fb_proc_end end;
	int status;
	int64_t wall_ns;
	int64_t cpu_ns;		/* user + system time of the child and what it waited for */
	struct fb_str out, err; /* empty when out_path was given */
};

struct fb_proc;

/**
 * fb_proc_start() - Start a child.
 *
 * Errors: FB_ERROR_MISSING when argv[0] is not to be found, FB_ERROR_SYSTEM otherwise.
 * Ownership: *ret is freed with fb_proc_free(), which kills what still runs.
 */
int fb_proc_start(const struct fb_proc_spec *spec, struct fb_proc **ret, struct fb_error *err);

/** fb_proc_fd() - A descriptor that polls readable once the child has ended. Borrowed. */
int fb_proc_fd(const struct fb_proc *proc);

/** fb_proc_fence() - The fence that the child runs behind. */
enum fb_proc_fence fb_proc_fence(const struct fb_proc *proc);

/**
 * fb_proc_kill() - Kill the child and its descendants at once; fb_proc_wait() then tells the end.
 *
 * That is SIGNALLED by SIGKILL, or how the child had ended by itself just before.
 */
void fb_proc_kill(struct fb_proc *proc);

/**
 * fb_proc_wait() - Wait for the end, collecting captured output meanwhile.
 * @ret: to be released with fb_proc_result_release().
 *
 * Return: 0 when the child ran, however it ended; look at ret->end first.
 */
int fb_proc_wait(struct fb_proc *proc, struct fb_proc_result *ret, struct fb_error *err);

void fb_proc_free(struct fb_proc *proc);
void fb_proc_freep(struct fb_proc **proc);
void fb_proc_result_release(struct fb_proc_result *result);

/** fb_proc_run() - fb_proc_start() and fb_proc_wait(). */
int fb_proc_run(const struct fb_proc_spec *spec, struct fb_proc_result *ret, struct fb_error *err);

/**
 * fb_proc_check() - Turn an unsuccessful end into an error that names the program.
 *
 * The last line of the captured stderr, if any, is part of the text.
 *
 * Return: 0 for exit status 0. Errors: FB_ERROR_CHILD, FB_ERROR_TIMEOUT, FB_ERROR_INFRA (lost).
 */
int fb_proc_check(const struct fb_proc_spec *spec, const struct fb_proc_result *result,
		  struct fb_error *err);

/** fb_proc_find() - Full path of @name in PATH and the sbin directories, owned; NULL if absent. */
char *fb_proc_find(const char *name);

#endif
