/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The local engine: jobs are children of this process, a bounded number at once. */
#include "src/engine/engine.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "src/util/util.h"

struct job {
	enum fb_job_class class;
	enum fb_job_state state;
	char *dir;
	char *log; /* what the job process itself prints: only for people */
	struct fb_proc *proc;
};

struct fb_engine {
	char *self;
	unsigned slots;
	enum fb_proc_fence fence;
	struct job *jobs;
	unsigned nr, cap;
};

int fb_engine_local(const char *self, unsigned slots, enum fb_proc_fence fence,
		    struct fb_engine **ret, struct fb_error *err)
{
	struct fb_engine *engine;

	if (!slots)
		return fb_error_set(err, FB_ERROR_USAGE, "an engine needs at least one slot");
	engine = fb_xcalloc(1, sizeof(*engine));
	engine->self = fb_xstrdup(self);
	engine->slots = slots;
	engine->fence = fence;
	*ret = engine;
	return 0;
}

static void job_end(struct job *job, enum fb_job_state state)
{
	fb_proc_free(job->proc);
	job->proc = NULL;
	job->state = state;
}

void fb_engine_free(struct fb_engine *engine)
{
	if (!engine)
		return;
	/* All are told before any is waited for. */
	for (unsigned i = 0; i < engine->nr; i++)
		if (engine->jobs[i].proc)
			fb_proc_kill(engine->jobs[i].proc);
	for (unsigned i = 0; i < engine->nr; i++) {
		fb_proc_free(engine->jobs[i].proc);
		free(engine->jobs[i].dir);
		free(engine->jobs[i].log);
	}
	free(engine->jobs);
	free(engine->self);
	free(engine);
}

int fb_engine_submit(struct fb_engine *engine, enum fb_job_class class, const char *dir,
		     unsigned *ret_job, struct fb_error *err)
{
	FB_GROW(engine->jobs, engine->nr, engine->cap);
	engine->jobs[engine->nr] = (struct job){.class = class,
						.state = FB_JOB_QUEUED,
						.dir = fb_xstrdup(dir),
						.log = fb_xasprintf("%s/job.log", dir)};
	*ret_job = engine->nr++;
	return 0;
}

/* An exclusive job runs alone; the others share the slots. */
static bool can_start(const struct fb_engine *engine, const struct job *job)
{
	unsigned running = 0;

	for (unsigned i = 0; i < engine->nr; i++) {
		const struct job *j = &engine->jobs[i];

		if (j->state != FB_JOB_RUNNING)
			continue;
		if (j->class == FB_JOB_EXCLUSIVE)
			return false;
		running++;
	}
	return job->class == FB_JOB_EXCLUSIVE ? running == 0 : running < engine->slots;
}

static int start(struct fb_engine *engine, struct job *job, struct fb_error *err)
{
	const char *argv[] = {engine->self, "job", job->dir, NULL};
	/* A job may run git in the worktree: `git clean` there must not mean the user's checkout.
	 */
	struct fb_proc_spec spec = {.argv = argv,
				    .env = fb_proc_no_repository,
				    .out_path = job->log,
				    .fence = engine->fence};

	if (fb_proc_start(&spec, &job->proc, err) < 0)
		return fb_error_wrap(err, "job '%s'", job->dir);
	job->state = FB_JOB_RUNNING;
	return 0;
}

static int reap(struct job *job, struct fb_error *err)
{
	struct fb_proc_result result;

	if (fb_proc_wait(job->proc, &result, err) < 0)
		return fb_error_wrap(err, "job '%s'", job->dir);
	job_end(job,
		result.end == FB_PROC_EXITED && result.status == 0 ? FB_JOB_ENDED : FB_JOB_LOST);
	fb_proc_result_release(&result);
	return 0;
}

int fb_engine_wait(struct fb_engine *engine, int64_t timeout_ns, struct fb_error *err)
{
	FB_CLEANUP(fb_freep) struct pollfd *p = fb_xcalloc(engine->nr, sizeof(*p));
	FB_CLEANUP(fb_freep) unsigned *who = fb_xcalloc(engine->nr, sizeof(*who));
	unsigned n = 0;
	bool queue_moves = true;

	for (unsigned i = 0; i < engine->nr; i++) {
		struct job *job = &engine->jobs[i];

		/* First come, first served: else shared jobs could keep an exclusive one out. */
		if (job->state == FB_JOB_QUEUED && queue_moves) {
			queue_moves = can_start(engine, job);
			if (queue_moves && start(engine, job, err) < 0)
				return -1;
		}
		if (job->state != FB_JOB_RUNNING)
			continue;
		p[n] = (struct pollfd){fb_proc_fd(job->proc), POLLIN, 0};
		who[n++] = i;
	}
	if (!n)
		return 0;
	if (poll(p, n, (int)(timeout_ns / FB_NS_PER_MS)) < 0) {
		if (errno == EINTR)
			return 0;
		return fb_error_set_sys(err, errno, "poll");
	}
	for (unsigned i = 0; i < n; i++)
		if (p[i].revents && reap(&engine->jobs[who[i]], err) < 0)
			return -1;
	return 0;
}

enum fb_job_state fb_engine_state(const struct fb_engine *engine, unsigned job)
{
	return engine->jobs[job].state;
}

void fb_engine_cancel(struct fb_engine *engine, unsigned job)
{
	struct job *j = &engine->jobs[job];

	if (j->state == FB_JOB_RUNNING)
		fb_proc_kill(j->proc);
	if (j->state == FB_JOB_RUNNING || j->state == FB_JOB_QUEUED)
		job_end(j, FB_JOB_LOST);
}
