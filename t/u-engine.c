/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Protects: jobs run in the slots there are, exclusive ones alone, and none is left behind. */
#include "t/test.h"

#include <errno.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/engine/engine.h"
#include "src/util/clock.h"
#include "src/util/file.h"
#include "src/util/util.h"

#define NR_JOBS 6

static char dir[64], self[128];

/*
 * Stands in for firstbad: `self job DIR` notes its start, waits for what DIR/how says, and notes
 * its end. Each note is one write() to an O_APPEND file, so the log has the true order.
 */
static const char script[] =
	"#!/bin/sh\n"
	"[ \"$1\" = job ] && [ $# = 2 ] || exit 9\n"
	"cd \"$2\" || exit 8\n"
	"echo \"$$\" >pid.new && mv pid.new pid\n"
	"echo \"+${2##*/}\" >>../log\n"
	"case $(cat how) in\n"
	"ok) sleep 0.1; echo said; : >result.json ;;\n"
	"fail) echo complained >&2; exit 3 ;;\n"
	"kill) kill -9 $$ ;;\n"
	"sleep) exec sleep 1000 ;;\n"
	"hang) sleep 1000 & echo $! >child.new && mv child.new child; wait ;;\n"
	"esac\n"
	"echo \"-${2##*/}\" >>../log\n";

static int setup(void **state)
{
	struct fb_error err = FB_ERROR_INIT;

	snprintf(dir, sizeof(dir), "u-engine.XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	snprintf(self, sizeof(self), "%s/self", dir);
	if (fb_file_write(self, script, strlen(script), &err) < 0 || chmod(self, 0755) < 0)
		return -1;
	return 0;
}

static int teardown(void **state)
{
	struct fb_error err = FB_ERROR_INIT;

	return fb_remove_tree(dir, &err);
}

static struct fb_engine *engine_with(unsigned slots)
{
	struct fb_error err = FB_ERROR_INIT;
	struct fb_engine *engine;

	assert_ok(fb_engine_local(self, slots, FB_PROC_FENCE_NONE, &engine, &err), &err);
	return engine;
}

/* The directory of job @name, which ends in the way of @how. */
static unsigned submit(struct fb_engine *engine, enum fb_job_class class, const char *name,
		       const char *how)
{
	struct fb_error err = FB_ERROR_INIT;
	FB_CLEANUP(fb_freep) char *at = fb_xasprintf("%s/%s", dir, name);
	FB_CLEANUP(fb_freep) char *file = fb_xasprintf("%s/how", at);
	unsigned job;

	assert_ok(fb_mkdirs(at, &err), &err);
	assert_ok(fb_file_write(file, how, strlen(how), &err), &err);
	assert_ok(fb_engine_submit(engine, class, at, &job, &err), &err);
	assert_int_equal(fb_engine_state(engine, job), FB_JOB_QUEUED);
	return job;
}

static bool is_over(enum fb_job_state state)
{
	return state == FB_JOB_ENDED || state == FB_JOB_LOST;
}

static void wait_for_all(struct fb_engine *engine, unsigned nr)
{
	struct fb_error err = FB_ERROR_INIT;

	for (unsigned i = 0; i < 600; i++) {
		unsigned over = 0;

		for (unsigned job = 0; job < nr; job++)
			over += is_over(fb_engine_state(engine, job));
		if (over == nr)
			return;
		assert_ok(fb_engine_wait(engine, 100 * FB_NS_PER_MS, &err), &err);
	}
	fail_msg("jobs do not end");
}

static char *text_of(const char *name)
{
	struct fb_error err = FB_ERROR_INIT;
	FB_CLEANUP(fb_freep) char *path = fb_xasprintf("%s/%s", dir, name);
	struct fb_str s = FB_STR_INIT;

	assert_ok(fb_file_read(path, 1 << 20, &s, &err), &err);
	return fb_str_take(&s);
}

/* Waits until a job wrote a process id to @name. */
static pid_t pid_in(struct fb_engine *engine, const char *name)
{
	struct fb_error err = FB_ERROR_INIT;
	FB_CLEANUP(fb_freep) char *path = fb_xasprintf("%s/%s", dir, name);

	for (unsigned i = 0; i < 600 && access(path, R_OK) < 0; i++)
		assert_ok(fb_engine_wait(engine, 50 * FB_NS_PER_MS, &err), &err);
	{
		FB_CLEANUP(fb_freep) char *text = text_of(name);
		pid_t pid = (pid_t)atoi(text);

		assert_true(pid > 1);
		return pid;
	}
}

static void assert_gone(pid_t pid)
{
	/* It was killed, but whoever inherits it may need a moment to bury it. */
	for (unsigned i = 0; i < 200; i++) {
		if (kill(pid, 0) < 0 && errno == ESRCH)
			return;
		usleep(10000);
	}
	fail_msg("process %d lives on", (int)pid);
}

/* The most jobs that ran at once, by the log; *ret_with_x while job "x" ran, without itself. */
static unsigned most_at_once(unsigned *ret_with_x)
{
	FB_CLEANUP(fb_freep) char *log = text_of("log");
	unsigned now = 0, most = 0, with_x = 0;
	bool x = false;

	for (char *save, *line = strtok_r(log, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save)) {
		now += line[0] == '+' ? 1 : -1U;
		if (line[1] == 'x')
			x = line[0] == '+';
		if (now > most)
			most = now;
		if (x && now - 1 > with_x)
			with_x = now - 1;
	}
	assert_int_equal(now, 0);
	if (ret_with_x)
		*ret_with_x = with_x;
	return most;
}

static void the_slots_are_never_exceeded(void **state)
{
	for (unsigned slots = 1; slots <= 3; slots++) {
		struct fb_engine *engine = engine_with(slots);
		FB_CLEANUP(fb_freep) char *log = fb_xasprintf("%s/log", dir);

		for (unsigned i = 0; i < NR_JOBS; i++) {
			char name[8];

			snprintf(name, sizeof(name), "j%u", i);
			submit(engine, i % 2 ? FB_JOB_BUILD : FB_JOB_SHARED, name, "ok");
		}
		wait_for_all(engine, NR_JOBS);
		for (unsigned i = 0; i < NR_JOBS; i++)
			assert_int_equal(fb_engine_state(engine, i), FB_JOB_ENDED);
		assert_in_range(most_at_once(NULL), 1, slots);
		assert_int_equal(unlink(log), 0);
		fb_engine_free(engine);
	}
}

static void all_slots_are_used(void **state)
{
	struct fb_error err = FB_ERROR_INIT;

	for (unsigned slots = 1; slots <= 3; slots++) {
		struct fb_engine *engine = engine_with(slots);
		unsigned running = 0;

		submit(engine, FB_JOB_BUILD, "a", "hang");
		submit(engine, FB_JOB_SHARED, "b", "hang");
		submit(engine, FB_JOB_BUILD, "c", "hang");
		submit(engine, FB_JOB_SHARED, "d", "hang");
		assert_ok(fb_engine_wait(engine, 0, &err), &err);
		for (unsigned i = 0; i < 4; i++)
			running += fb_engine_state(engine, i) == FB_JOB_RUNNING;
		assert_int_equal(running, slots);
		fb_engine_free(engine);
	}
}

static void an_exclusive_job_runs_alone(void **state)
{
	for (unsigned place = 0; place < NR_JOBS; place++) {
		struct fb_engine *engine = engine_with(3);
		FB_CLEANUP(fb_freep) char *log = fb_xasprintf("%s/log", dir);
		unsigned with_x = 99;

		for (unsigned i = 0; i < NR_JOBS; i++) {
			char name[8];

			snprintf(name, sizeof(name), "j%u", i);
			if (i == place)
				submit(engine, FB_JOB_EXCLUSIVE, "x", "ok");
			else
				submit(engine, FB_JOB_BUILD, name, "ok");
		}
		wait_for_all(engine, NR_JOBS);
		assert_int_equal(fb_engine_state(engine, place), FB_JOB_ENDED);
		most_at_once(&with_x);
		assert_int_equal(with_x, 0);
		assert_int_equal(unlink(log), 0);
		fb_engine_free(engine);
	}
}

/* However many shared jobs come after it, an exclusive one gets its turn. */
static void nobody_overtakes_a_waiting_exclusive_job(void **state)
{
	struct fb_engine *engine = engine_with(2);
	unsigned before = submit(engine, FB_JOB_BUILD, "before", "hang");
	unsigned x = submit(engine, FB_JOB_EXCLUSIVE, "x", "ok");
	unsigned after = submit(engine, FB_JOB_SHARED, "after", "ok");
	struct fb_error err = FB_ERROR_INIT;
	FB_CLEANUP(fb_freep) char *log = NULL;

	assert_ok(fb_engine_wait(engine, 0, &err), &err);
	assert_int_equal(fb_engine_state(engine, before), FB_JOB_RUNNING);
	assert_int_equal(fb_engine_state(engine, x), FB_JOB_QUEUED);
	assert_int_equal(fb_engine_state(engine, after), FB_JOB_QUEUED);
	pid_in(engine, "before/child");
	assert_int_equal(fb_engine_state(engine, after), FB_JOB_QUEUED);
	fb_engine_cancel(engine, before);
	wait_for_all(engine, 3);
	log = text_of("log");
	assert_string_equal(log, "+before\n+x\n-x\n+after\n-after\n");
	fb_engine_free(engine);
}

static void exclusive_jobs_follow_each_other(void **state)
{
	struct fb_engine *engine = engine_with(8);

	submit(engine, FB_JOB_EXCLUSIVE, "a", "ok");
	submit(engine, FB_JOB_EXCLUSIVE, "b", "ok");
	submit(engine, FB_JOB_EXCLUSIVE, "c", "ok");
	wait_for_all(engine, 3);
	assert_int_equal(most_at_once(NULL), 1);
	fb_engine_free(engine);
}

static void a_job_that_does_not_exit_with_0_is_lost(void **state)
{
	struct fb_engine *engine = engine_with(2);
	unsigned failed = submit(engine, FB_JOB_BUILD, "failed", "fail");
	unsigned killed = submit(engine, FB_JOB_BUILD, "killed", "kill");
	unsigned good = submit(engine, FB_JOB_BUILD, "good", "ok");

	wait_for_all(engine, 3);
	assert_int_equal(fb_engine_state(engine, failed), FB_JOB_LOST);
	assert_int_equal(fb_engine_state(engine, killed), FB_JOB_LOST);
	assert_int_equal(fb_engine_state(engine, good), FB_JOB_ENDED); /* the slots came back */
	fb_engine_free(engine);
}

/* Someone outside kills the job's process: no result, and not the kernel's fault. */
static void a_job_killed_from_outside_is_lost(void **state)
{
	struct fb_engine *engine = engine_with(1);
	unsigned job = submit(engine, FB_JOB_EXCLUSIVE, "victim", "hang");
	pid_t pid = pid_in(engine, "victim/pid"), child = pid_in(engine, "victim/child");

	assert_int_equal(fb_engine_state(engine, job), FB_JOB_RUNNING);
	assert_int_equal(kill(pid, SIGKILL), 0);
	wait_for_all(engine, 1);
	assert_int_equal(fb_engine_state(engine, job), FB_JOB_LOST);
	assert_gone(child);
	fb_engine_free(engine);
}

/* The keeper that watches over the job (util/proc.h) is killed: nothing is known of its end. */
static void a_job_whose_keeper_is_killed_is_lost(void **state)
{
	struct fb_engine *engine = engine_with(1);
	unsigned job = submit(engine, FB_JOB_EXCLUSIVE, "victim", "sleep");
	pid_t pid = pid_in(engine, "victim/pid");
	FB_CLEANUP(fb_freep) char *path = fb_xasprintf("/proc/%d/stat", (int)pid);
	FILE *f = fopen(path, "r");
	int keeper = 0;

	assert_non_null(f);
	assert_int_equal(fscanf(f, "%*d (%*[^)]) %*c %d", &keeper), 1);
	fclose(f);
	assert_true(keeper > 1 && keeper != getpid());
	assert_int_equal(kill(keeper, SIGKILL), 0);
	wait_for_all(engine, 1);
	assert_int_equal(fb_engine_state(engine, job), FB_JOB_LOST);
	assert_gone(pid);
	fb_engine_free(engine);
}

static void what_a_job_prints_is_kept_in_its_directory(void **state)
{
	struct fb_engine *engine = engine_with(2);
	FB_CLEANUP(fb_freep) char *said = NULL, *complained = NULL;

	submit(engine, FB_JOB_BUILD, "a", "ok");
	submit(engine, FB_JOB_BUILD, "b", "fail");
	wait_for_all(engine, 2);
	said = text_of("a/job.log");
	complained = text_of("b/job.log");
	assert_string_equal(said, "said\n");
	assert_string_equal(complained, "complained\n");
	fb_engine_free(engine);
}

static void cancelling_kills_what_runs_and_frees_the_slot(void **state)
{
	struct fb_engine *engine = engine_with(1);
	unsigned job = submit(engine, FB_JOB_EXCLUSIVE, "long", "hang"), next;
	pid_t pid = pid_in(engine, "long/pid"), child = pid_in(engine, "long/child");

	next = submit(engine, FB_JOB_EXCLUSIVE, "next", "ok");
	fb_engine_cancel(engine, job);
	assert_int_equal(fb_engine_state(engine, job), FB_JOB_LOST);
	assert_gone(pid);
	assert_gone(child);
	wait_for_all(engine, 2);
	assert_int_equal(fb_engine_state(engine, next), FB_JOB_ENDED);
	fb_engine_free(engine);
}

static void a_job_cancelled_in_the_queue_never_starts(void **state)
{
	struct fb_engine *engine = engine_with(1);
	unsigned first = submit(engine, FB_JOB_BUILD, "first", "ok");
	unsigned never = submit(engine, FB_JOB_BUILD, "never", "ok");
	unsigned last = submit(engine, FB_JOB_BUILD, "last", "ok");
	FB_CLEANUP(fb_freep) char *log = NULL;

	fb_engine_cancel(engine, never);
	wait_for_all(engine, 3);
	log = text_of("log");
	assert_string_equal(log, "+first\n-first\n+last\n-last\n");
	assert_int_equal(fb_engine_state(engine, never), FB_JOB_LOST);

	/* What has ended stays ended. */
	fb_engine_cancel(engine, first);
	assert_int_equal(fb_engine_state(engine, first), FB_JOB_ENDED);
	assert_int_equal(fb_engine_state(engine, last), FB_JOB_ENDED);
	fb_engine_free(engine);
}

static void freeing_kills_all_jobs_and_what_they_started(void **state)
{
	struct fb_engine *engine = engine_with(2);
	pid_t pid[4];

	submit(engine, FB_JOB_BUILD, "a", "hang");
	submit(engine, FB_JOB_BUILD, "b", "hang");
	submit(engine, FB_JOB_BUILD, "queued", "hang");
	pid[0] = pid_in(engine, "a/pid");
	pid[1] = pid_in(engine, "a/child");
	pid[2] = pid_in(engine, "b/pid");
	pid[3] = pid_in(engine, "b/child");
	fb_engine_free(engine);
	for (size_t i = 0; i < FB_ARRAY_SIZE(pid); i++)
		assert_gone(pid[i]);
}

static void waiting_returns_when_the_time_is_over(void **state)
{
	struct fb_error err = FB_ERROR_INIT;
	struct fb_engine *engine = engine_with(1);
	unsigned job = submit(engine, FB_JOB_BUILD, "long", "hang");
	int64_t begin = fb_clock_mono_ns(), took;

	assert_ok(fb_engine_wait(engine, 200 * FB_NS_PER_MS, &err), &err);
	took = fb_clock_mono_ns() - begin;
	assert_true(took >= 190 * FB_NS_PER_MS && took < 20 * FB_NS_PER_S);
	assert_int_equal(fb_engine_state(engine, job), FB_JOB_RUNNING);
	fb_engine_free(engine);

	/* With nothing to wait for it does not wait. */
	engine = engine_with(1);
	begin = fb_clock_mono_ns();
	assert_ok(fb_engine_wait(engine, 60 * FB_NS_PER_S, &err), &err);
	assert_true(fb_clock_mono_ns() - begin < 30 * FB_NS_PER_S);
	fb_engine_free(engine);
}

static void an_engine_that_can_run_nothing_is_an_error(void **state)
{
	struct fb_error err = FB_ERROR_INIT;
	struct fb_engine *engine = NULL;

	assert_int_equal(fb_engine_local(self, 0, FB_PROC_FENCE_NONE, &engine, &err), -1);
	assert_error(&err, FB_ERROR_USAGE, "at least one slot");
	assert_null(engine);

	assert_ok(fb_engine_local("./no-such-firstbad", 1, FB_PROC_FENCE_NONE, &engine, &err),
		  &err);
	submit(engine, FB_JOB_BUILD, "a", "ok");
	assert_int_equal(fb_engine_wait(engine, 60 * FB_NS_PER_S, &err), -1);
	assert_error(&err, FB_ERROR_MISSING, "/a'");
	fb_engine_free(engine);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		T(the_slots_are_never_exceeded),
		T(all_slots_are_used),
		T(an_exclusive_job_runs_alone),
		T(nobody_overtakes_a_waiting_exclusive_job),
		T(exclusive_jobs_follow_each_other),
		T(a_job_that_does_not_exit_with_0_is_lost),
		T(a_job_killed_from_outside_is_lost),
		T(a_job_whose_keeper_is_killed_is_lost),
		T(what_a_job_prints_is_kept_in_its_directory),
		T(cancelling_kills_what_runs_and_frees_the_slot),
		T(a_job_cancelled_in_the_queue_never_starts),
		T(freeing_kills_all_jobs_and_what_they_started),
		T(waiting_returns_when_the_time_is_over),
		T(an_engine_that_can_run_nothing_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
