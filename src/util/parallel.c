/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Workers take the next index from a counter in shared memory, and write results there. Each
 * holds the writing end of a pipe that nobody writes to: its end of file says that all are gone.
 */
#include "src/util/parallel.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/util/util.h"

#define JOBS_MAX 1024

struct shared {
	atomic_size_t next, done;
	_Alignas(64) char results[];
};

/* CPUs that this process may use. */
static unsigned nr_cpus(void)
{
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set) < 0)
		return 1;
	return (unsigned)CPU_COUNT(&set);
}

__attribute__((noreturn)) static void worker(const struct fb_parallel *p, struct shared *s,
					     pid_t parent)
{
	size_t i;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* It died before it could be seen. */
	if (getppid() != parent)
		_exit(1);
	while ((i = atomic_fetch_add(&s->next, 1)) < p->nr) {
		p->work(p->ctx, i, s->results + i * p->size);
		atomic_fetch_add(&s->done, 1);
	}
	_exit(0);
}

static void watch(const struct fb_parallel *p, struct shared *s, int fd)
{
	struct pollfd gone = {.fd = fd};
	int nr;

	while ((nr = poll(&gone, 1, p->tell ? 1000 : -1)) == 0 || (nr < 0 && errno == EINTR))
		if (nr == 0)
			p->tell(p->tell_ctx, atomic_load(&s->done));
}

/* Every child is waited for, whatever became of the others. */
static int reap(const pid_t *pids, unsigned nr, struct fb_error *err)
{
	int rc = 0;

	for (unsigned j = 0; j < nr; j++) {
		int status;

		while (waitpid(pids[j], &status, 0) < 0)
			if (errno != EINTR)
				return rc ? rc : fb_error_set_sys(err, errno, "wait for a worker");
		if (rc == 0 && WIFSIGNALED(status))
			rc = fb_error_set(err, FB_ERROR_CHILD, "a worker was killed by signal %d",
					  WTERMSIG(status));
		else if (rc == 0 && WEXITSTATUS(status) != 0)
			rc = fb_error_set(err, FB_ERROR_CHILD, "a worker ended with status %d",
					  WEXITSTATUS(status));
	}
	return rc;
}

static int start(const struct fb_parallel *p, struct shared *s, unsigned jobs, struct fb_error *err)
{
	FB_CLEANUP(fb_freep) pid_t *pids = fb_xcalloc(jobs, sizeof(*pids));
	pid_t self = getpid(), pid = 0;
	unsigned nr = 0;
	int fds[2];

	if (pipe2(fds, O_CLOEXEC) < 0)
		return fb_error_set_sys(err, errno, "make a pipe");
	while (nr < jobs && (pid = fork()) >= 0) {
		if (pid == 0)
			worker(p, s, self);
		pids[nr++] = pid;
	}
	/* Fewer than asked for take longer, that is all. */
	if (nr == 0)
		fb_error_set_sys(err, errno, "start a worker");
	close(fds[1]);
	watch(p, s, fds[0]);
	close(fds[0]);
	return nr ? reap(pids, nr, err) : -1;
}

int fb_parallel_run(const struct fb_parallel *p, void *results, struct fb_error *err)
{
	size_t size = sizeof(struct shared) + p->nr * p->size;
	unsigned jobs = p->jobs ? p->jobs : nr_cpus();
	struct shared *s;
	int rc;

	if (p->size && p->nr > (SIZE_MAX - sizeof(*s)) / p->size)
		return fb_error_set_sys(err, ENOMEM, "keep %zu results", p->nr);
	if (jobs > p->nr)
		jobs = (unsigned)p->nr;
	if (jobs > JOBS_MAX)
		jobs = JOBS_MAX;
	s = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (s == MAP_FAILED)
		return fb_error_set_sys(err, errno, "keep %zu results", p->nr);
	rc = jobs ? start(p, s, jobs, err) : 0;
	if (rc == 0 && p->nr)
		memcpy(results, s->results, p->nr * p->size);
	munmap(s, size);
	return rc;
}
