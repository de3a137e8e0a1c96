/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who runs jobs. A job is a self-contained directory with a job.json; running it means
 * running `firstbad job DIR`, which writes result.json there. What an engine prints is
 * never read.
 */
#ifndef FB_ENGINE_ENGINE_H
#define FB_ENGINE_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/util/error.h"
#include "src/util/proc.h"

enum fb_job_class {
	FB_JOB_BUILD,	  /* may share the host with others */
	FB_JOB_EXCLUSIVE, /* measures time on the host: nothing beside it */
	FB_JOB_SHARED,	  /* measures, but not the host's time (deterministic machine) */
};

enum fb_job_state {
	FB_JOB_QUEUED,
	FB_JOB_RUNNING,
	FB_JOB_ENDED, /* result.json should be there */
	FB_JOB_LOST,  /* the engine lost it: infra */
};

struct fb_engine;

/**
 * fb_engine_local() - Run jobs as children, at most @slots at once.
 * @self: path of firstbad.
 * @fence: the last one that suits the jobs.
 */
int fb_engine_local(const char *self, unsigned slots, enum fb_proc_fence fence,
		    struct fb_engine **ret, struct fb_error *err);
void fb_engine_free(struct fb_engine *engine); /* cancels what still runs */

/** fb_engine_submit() - Queue the job in @dir. *ret_job names it in calls below. */
int fb_engine_submit(struct fb_engine *engine, enum fb_job_class class, const char *dir,
		     unsigned *ret_job, struct fb_error *err);

/**
 * fb_engine_wait() - Start what can start, then wait until a job ends or @timeout_ns passes.
 *
 * Jobs start in the order in which they were submitted, so none waits for ever.
 */
int fb_engine_wait(struct fb_engine *engine, int64_t timeout_ns, struct fb_error *err);

enum fb_job_state fb_engine_state(const struct fb_engine *engine, unsigned job);
void fb_engine_cancel(struct fb_engine *engine, unsigned job);

#endif
