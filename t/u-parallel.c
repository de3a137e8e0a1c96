/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Protects: work split over processes gives what it gives in one, and a lost worker is an error. */
#include "t/test.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/util/parallel.h"
#include "src/util/util.h"

struct item {
	size_t square;
	pid_t pid;
};

static void square(const void *ctx, size_t i, void *result)
{
	struct item *item = result;

	item->square = *(const size_t *)ctx + i * i;
	item->pid = getpid();
}

static void every_item_is_done_once_whatever_the_jobs(void **state)
{
	const size_t offset = 7;

	for (unsigned jobs = 0; jobs <= 5; jobs++) {
		struct fb_parallel p = {.work = square,
					.ctx = &offset,
					.nr = 1000,
					.size = sizeof(struct item),
					.jobs = jobs};
		struct fb_error err = FB_ERROR_INIT;
		struct item items[1000];

		assert_ok(fb_parallel_run(&p, items, &err), &err);
		for (size_t i = 0; i < 1000; i++) {
			assert_int_equal(items[i].square, 7 + i * i);
			assert_int_not_equal(items[i].pid, getpid());
		}
	}
}

static void nothing_to_do_is_done(void **state)
{
	struct fb_parallel p = {.work = square, .size = sizeof(struct item), .jobs = 3};
	struct fb_error err = FB_ERROR_INIT;

	assert_ok(fb_parallel_run(&p, NULL, &err), &err);
}

static void die_at_five(const void *ctx, size_t i, void *result)
{
	if (i == 5)
		raise(SIGKILL);
}

static void leave_at_five(const void *ctx, size_t i, void *result)
{
	if (i == 5)
		_exit(3);
}

static void a_worker_that_dies_is_an_error(void **state)
{
	struct fb_parallel p = {.work = die_at_five, .nr = 20, .size = 1, .jobs = 2};
	struct fb_error err = FB_ERROR_INIT;
	char results[20];

	assert_int_equal(fb_parallel_run(&p, results, &err), -1);
	assert_error(&err, FB_ERROR_CHILD, "killed by signal 9");
	p.work = leave_at_five;
	assert_int_equal(fb_parallel_run(&p, results, &err), -1);
	assert_error(&err, FB_ERROR_CHILD, "ended with status 3");
	/* None is left. */
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

static void tell_pid_and_wait(const void *ctx, size_t i, void *result)
{
	int fd = *(const int *)ctx;
	pid_t pid = getpid();

	if (write(fd, &pid, sizeof(pid)) == sizeof(pid))
		pause();
}

static void workers_die_with_their_parent(void **state)
{
	int fds[2];
	struct fb_parallel p = {.work = tell_pid_and_wait, .ctx = &fds[1], .nr = 1, .jobs = 1};
	struct fb_error err = FB_ERROR_INIT;
	pid_t parent, worker;

	assert_int_equal(pipe(fds), 0);
	/* The worker becomes ours when its parent dies, so that its end can be waited for. */
	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
	parent = fork();
	assert_true(parent >= 0);
	if (parent == 0)
		_exit(fb_parallel_run(&p, NULL, &err) == 0);
	assert_int_equal(read(fds[0], &worker, sizeof(worker)), sizeof(worker));
	assert_int_equal(kill(parent, SIGKILL), 0);
	assert_int_equal(waitpid(parent, NULL, 0), parent);
	alarm(30); /* it would wait for ever */
	assert_int_equal(waitpid(worker, NULL, 0), worker);
	alarm(0);
	close(fds[0]);
	close(fds[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_item_is_done_once_whatever_the_jobs),
		cmocka_unit_test(nothing_to_do_is_done),
		cmocka_unit_test(a_worker_that_dies_is_an_error),
		cmocka_unit_test(workers_die_with_their_parent),
	};

	return cmocka_run_group_tests_name("parallel", tests, NULL, NULL);
}
