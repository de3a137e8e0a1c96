/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The lab of one session: turns a commit into a kernel, and a kernel and a seed into
 * stored samples. Builds and boots are jobs of the engine; what ends is in the store
 * before anybody hears of it.
 */
#ifndef FB_CONTROLLER_LAB_H
#define FB_CONTROLLER_LAB_H

#include <signal.h>

#include "src/boot/boot.h"
#include "src/build/build.h"
#include "src/controller/progress.h"
#include "src/engine/engine.h"
#include "src/history/history.h"
#include "src/plan/plan.h"
#include "src/store/store.h"

struct fb_lab {
	struct fb_store *store;	    /* borrowed */
	struct fb_history *history; /* borrowed */
	const struct fb_plan *plan; /* borrowed */
	int64_t session;
	char *session_name;
	enum fb_machine machine;
	struct fb_engine *engine;
	struct fb_worktree *wt;
	bool checked_out;	/* some commit, by this process */
	char *cache, *jobs_dir; /* caches; job directories of this session */
	char *bundle;		/* NULL for the command machine */
	unsigned slots;		/* boots that may run at once */
	unsigned make_jobs;
	const volatile sig_atomic_t *stop;
	struct fb_observer observer;
	struct fb_progress state;  /* last told */
	int64_t build_ns, boot_ns; /* sums of what was made in this process, for ETAs */
	unsigned nr_builds, nr_boots;
};

struct fb_lab_setup {
	struct fb_store *store;
	struct fb_history *history;
	const struct fb_plan *plan;
	const struct fb_session *session;
	const char *self; /* path of the firstbad program, for jobs */
	const volatile sig_atomic_t *stop;
	struct fb_observer observer;
};

/**
 * fb_lab_open() - Make the session's worktree, guest bundle and engine.
 *
 * Errors: FB_ERROR_MISSING (tool or machine kind), FB_ERROR_BUSY when another process runs this
 * session, and those of the parts.
 */
int fb_lab_open(const struct fb_lab_setup *setup, struct fb_lab **ret, struct fb_error *err);
void fb_lab_free(struct fb_lab *lab);
void fb_lab_freep(struct fb_lab **lab);

/** fb_lab_tell() - Tell the observer one line (printf style), or only a changed state (NULL). */
void fb_lab_tell(struct fb_lab *lab, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

struct fb_lab_kernel {
	struct fb_oid commit;
	char *signature; /* names the kernel; NULL when it cannot be built */
	char *cause;	 /* why not, one line */
	char *toolchain; /* "" for the command machine */
	char *boot_path, *modules;
	bool cached;
};

/**
 * fb_lab_kernel() - Build a commit, or find its image.
 *
 * Return: 0, also when the commit does not build (signature NULL, cause set). Errors are ours.
 */
int fb_lab_kernel(struct fb_lab *lab, const struct fb_oid *commit, struct fb_lab_kernel *ret,
		  struct fb_error *err);
void fb_lab_kernel_release(struct fb_lab_kernel *kernel);

/**
 * fb_lab_env() - Hash of all that two boots must share to be compared, kernel and seed apart.
 * @cells: what one boot runs, in order.
 */
int fb_lab_env(struct fb_lab *lab, const struct fb_cell *cells, size_t nr_cells,
	       const char *toolchain, char ret[FB_HASH_HEX_SIZE], struct fb_error *err);

struct fb_lab_request {
	const struct fb_lab_kernel *kernel;
	uint64_t seed;
};

/**
 * fb_lab_boot() - Boot each request and store what came out.
 * @ret: nr_requests stored boots, each to be released; in the order of the requests.
 *
 * A boot that the lab spoiled is repeated (three times in all), then FB_ERROR_INFRA. On the command
 * machine a job that does nothing is tried before that: if it goes well the command itself is to
 * blame, and the boot is one that failed (FB_END_TEST_FAILED). Boots that finished before an error
 * are in the store.
 */
int fb_lab_boot(struct fb_lab *lab, const struct fb_cell *cells, size_t nr_cells,
		const struct fb_lab_request *requests, size_t nr_requests,
		struct fb_store_boot *ret, struct fb_error *err);

/**
 * fb_lab_find_boot() - A finished boot that the caller has not taken yet.
 * @used, @nr_used: ids of the boots that are taken.
 * @ret_found: whether *ret was set; the one with the smallest seed. Release it then.
 * @ret_seed: the first seed that was never booted with this kernel and environment.
 *
 * Finds what a killed process of this session left and, on the deterministic machine, boots
 * of any session: there kernel, environment and seed determine every digit.
 */
int fb_lab_find_boot(struct fb_lab *lab, const char *signature, const char *env,
		     const int64_t *used, size_t nr_used, struct fb_store_boot *ret,
		     bool *ret_found, uint64_t *ret_seed, struct fb_error *err);

/**
 * fb_lab_fresh_seed() - A seed for one more boot of a kernel beside @requests.
 * @fresh: what fb_lab_find_boot() gave. Two commits of one call can build the same kernel, and a
 * seed given twice would count one experiment twice.
 */
uint64_t fb_lab_fresh_seed(const struct fb_lab_request *requests, size_t nr, uint64_t fresh,
			   const char *signature);

/** fb_boot_tool() - Program and version that measured a cell ("fio 3.33"); NULL for our own. */
const char *fb_boot_tool(const struct fb_store_boot *boot, const char *cell_key);

/**
 * fb_boot_said() - What the command of a cell by status (fb_cell_by_status()) said, borrowed.
 *
 * An array of the names of the values that it printed; or its exit status, an integer from 0 to
 * 255, when it printed none or was not 0; NULL when neither can be told.
 */
json_t *fb_boot_said(const struct fb_store_boot *boot, const char *cell_key);

/** fb_boot_value() - Mean over the runs of a boot; NAN when it has no such value. */
double fb_boot_value(const struct fb_store_boot *boot, const char *cell_key, const char *metric);

#endif
