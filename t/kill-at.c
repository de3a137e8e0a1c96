/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * For LD_PRELOAD: ends firstbad with SIGKILL at its N-th act, just before a call that changes a
 * file, begins a process or waits for one. KILL_AT is N; 0 lets it live. How many acts a run had
 * that was not killed is written to the file KILL_COUNT. Other programs are left alone, and so are
 * the processes that firstbad forks.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

static pid_t victim;
static long kill_at, acts;

__attribute__((constructor)) static void begin(void)
{
	const char *at = getenv("KILL_AT");

	if (!at || strcmp(program_invocation_short_name, "firstbad") != 0)
		return;
	kill_at = atol(at);
	victim = getpid();
}

__attribute__((destructor)) static void end(void)
{
	const char *name = getenv("KILL_COUNT");
	FILE *f;

	if (!name || !victim || victim != getpid())
		return;
	victim = 0;
	f = fopen(name, "w");
	if (f) {
		fprintf(f, "%ld\n", acts);
		fclose(f);
	}
}

static void act(void)
{
	if (victim && victim == getpid() && ++acts == kill_at)
		kill(victim, SIGKILL);
}

/* The function of that name that would have been called without this library. */
#define ACT(type, name, params, args)                                                              \
	type name params;                                                                          \
	type name params                                                                           \
	{                                                                                          \
		static type(*real) params;                                                         \
                                                                                                   \
		if (!real)                                                                         \
			*(void **)&real = dlsym(RTLD_NEXT, #name);                                 \
		act();                                                                             \
		return real args;                                                                  \
	}

ACT(int, rename, (const char *from, const char *to), (from, to))
ACT(int, renameat, (int fd, const char *from, int to_fd, const char *to), (fd, from, to_fd, to))
ACT(int, link, (const char *from, const char *to), (from, to))
ACT(int, unlink, (const char *path), (path))
ACT(int, unlinkat, (int fd, const char *path, int flags), (fd, path, flags))
ACT(int, rmdir, (const char *path), (path))
ACT(int, mkdir, (const char *path, mode_t mode), (path, mode))
ACT(int, fsync, (int fd), (fd))
ACT(int, fdatasync, (int fd), (fd))
ACT(int, ftruncate, (int fd, off_t size), (fd, size))
ACT(int, ftruncate64, (int fd, off_t size), (fd, size))
ACT(ssize_t, write, (int fd, const void *data, size_t nr), (fd, data, nr))
ACT(ssize_t, pwrite, (int fd, const void *data, size_t nr, off_t at), (fd, data, nr, at))
ACT(ssize_t, pwrite64, (int fd, const void *data, size_t nr, off_t at), (fd, data, nr, at))
ACT(int, poll, (struct pollfd * fds, nfds_t nr, int timeout), (fds, nr, timeout))
ACT(pid_t, fork, (void), ())

#define ACT_OPEN(name)                                                                             \
	int name(const char *path, int flags, ...);                                                \
	int name(const char *path, int flags, ...)                                                 \
	{                                                                                          \
		static int (*real)(const char *path, int flags, ...);                              \
		mode_t mode = 0;                                                                   \
		va_list ap;                                                                        \
                                                                                                   \
		if (!real)                                                                         \
			*(void **)&real = dlsym(RTLD_NEXT, #name);                                 \
		if (flags & (O_CREAT | O_TMPFILE)) {                                               \
			va_start(ap, flags);                                                       \
			mode = va_arg(ap, mode_t);                                                 \
			va_end(ap);                                                                \
			act();                                                                     \
		}                                                                                  \
		return real(path, flags, mode);                                                    \
	}

ACT_OPEN(open)
ACT_OPEN(open64)
