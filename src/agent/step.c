/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One step: a process in its own session, a time limit, and nothing left of it afterwards. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "src/agent/agent.h"
#include "testcases/testcase.h"

#define BEAT_NS	 2000000000LL  /* a sign of life while a step is silent */
#define STUCK_NS 20000000000LL /* from SIGKILL until a process counts as stuck in the kernel */

int64_t fb_agent_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_BOOTTIME, &t);
	return (int64_t)t.tv_sec * 1000000000LL + t.tv_nsec;
}

static int call_guest(char *const *argv)
{
	const struct fb_testcase *testcase = fb_testcase_find(argv[0] + 1);
	int argc = 0;

	while (argv[argc])
		argc++;
	if (testcase && testcase->guest)
		return testcase->guest(argc, (char **)argv);
	fprintf(stderr, "firstbad-agent: no workload '%s' in this agent\n", argv[0]);
	return 127;
}

static void redirect(int fd, const char *path, int flags)
{
	int file = open(path, flags | O_CLOEXEC, 0644);

	if (file < 0 || dup2(file, fd) < 0)
		_exit(126);
}

static void child(char *const *argv, const char *dir, const char *out, const char *err, int exec_fd,
		  bool in_guest)
{
	sigset_t none;
	int errnum;

	setsid();
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (in_guest) {
		int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

		/* The agent itself is exempt from the OOM killer; what it runs is not. */
		if (fd >= 0 && write(fd, "0", 1) < 0)
			_exit(126);
		if (fd >= 0)
			close(fd);
	} else {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	}
	redirect(0, "/dev/null", O_RDONLY);
	redirect(1, out, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND);
	redirect(2, err, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND);
	if (dir && chdir(dir) < 0) {
		fprintf(stderr, "chdir %s: %s\n", dir, strerror(errno));
		_exit(126);
	}
	if (argv[0][0] == '@') {
		int rc = call_guest(argv);

		fflush(NULL);
		_exit(rc);
	}
	execvp(argv[0], argv);
	errnum = errno;
	if (write(exec_fd, &errnum, sizeof(errnum)) < 0)
		_exit(126);
	_exit(127);
}

/* Wait at most until @deadline_ns; true once the child was reaped. */
static bool wait_until(pid_t pid, int64_t deadline_ns, int *status, struct rusage *usage)
{
	int64_t beat_ns = fb_agent_now_ns() + BEAT_NS;
	sigset_t chld;

	sigemptyset(&chld);
	sigaddset(&chld, SIGCHLD);
	for (;;) {
		int64_t now_ns, next_ns;
		struct timespec t;

		if (wait4(pid, status, WNOHANG, usage) == pid)
			return true;
		now_ns = fb_agent_now_ns();
		if (now_ns >= deadline_ns)
			return false;
		if (now_ns >= beat_ns) {
			fb_say(json_pack("{s:s}", "ev", "beat"));
			beat_ns = now_ns + BEAT_NS;
		}
		next_ns = (beat_ns < deadline_ns ? beat_ns : deadline_ns) - now_ns;
		t = (struct timespec){ next_ns / 1000000000LL, next_ns % 1000000000LL };
		/* SIGCHLD is blocked in the worker, so none can be missed before this. */
		sigtimedwait(&chld, NULL, &t);
	}
}

void fb_step_run(char *const *argv, const char *dir, const char *out, const char *err,
		 int64_t timeout_ns, bool in_guest, struct fb_step_end *ret)
{
	struct rusage usage = { 0 };
	int exec_pipe[2], status = 0, errnum = 0;
	bool reaped;
	pid_t pid;

	memset(ret, 0, sizeof(*ret));
	if (pipe2(exec_pipe, O_CLOEXEC) < 0) {
		ret->exec_failed = true;
		ret->status = errno;
		return;
	}
	ret->start_ns = fb_agent_now_ns();
	pid = fork();
	if (pid == 0)
		child(argv, dir, out, err, exec_pipe[1], in_guest);
	close(exec_pipe[1]);
	if (pid < 0) {
		ret->exec_failed = true;
		ret->status = errno;
		close(exec_pipe[0]);
		return;
	}
	reaped = wait_until(pid, ret->start_ns + timeout_ns, &status, &usage);
	ret->end_ns = fb_agent_now_ns();
	if (!reaped) {
		ret->timed_out = true;
		kill(-pid, SIGKILL);
		kill(pid, SIGKILL);
		reaped = wait_until(pid, ret->end_ns + STUCK_NS, &status, &usage);
		ret->stuck = !reaped;
	}
	/* Also what left the session; in the guest everything else is fair game. */
	kill(-pid, SIGKILL);
	if (in_guest)
		kill(-1, SIGKILL);
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
	if (!ret->timed_out && WIFEXITED(status) && WEXITSTATUS(status) == 127 &&
	    read(exec_pipe[0], &errnum, sizeof(errnum)) == (ssize_t)sizeof(errnum)) {
		ret->exec_failed = true;
		ret->status = errnum;
	} else if (WIFSIGNALED(status)) {
		ret->signalled = true;
		ret->status = WTERMSIG(status);
	} else {
		ret->status = WEXITSTATUS(status);
	}
	close(exec_pipe[0]);
	ret->user_s = (double)usage.ru_utime.tv_sec + (double)usage.ru_utime.tv_usec / 1e6;
	ret->system_s = (double)usage.ru_stime.tv_sec + (double)usage.ru_stime.tv_usec / 1e6;
	ret->vcsw = usage.ru_nvcsw;
	ret->ivcsw = usage.ru_nivcsw;
	ret->minflt = usage.ru_minflt;
	ret->majflt = usage.ru_majflt;
}

/* The last line of a file that is not blank, control bytes made visible. */
static void last_line(const char *path, char *line, size_t size)
{
	char buf[1024];
	FILE *f = fopen(path, "re");
	size_t len, start;

	line[0] = '\0';
	if (!f)
		return;
	if (fseek(f, -(long)sizeof(buf), SEEK_END) < 0)
		rewind(f);
	len = fread(buf, 1, sizeof(buf), f);
	fclose(f);
	while (len && strchr(" \r\n", buf[len - 1]))
		len--;
	for (start = len; start && buf[start - 1] != '\n';)
		start--;
	for (size_t i = start, n = 0; i < len && n + 1 < size; i++, line[n] = '\0')
		line[n++] = (char)(buf[i] >= 0x20 && buf[i] < 0x7f ? buf[i] : '?');
}

bool fb_step_why(const struct fb_step_end *end, const char *what, const char *err_file, char *why,
		 size_t size)
{
	char line[200];
	size_t used;

	if (end->exec_failed)
		snprintf(why, size, "%s: cannot run: %s", what, strerror(end->status));
	else if (end->stuck)
		snprintf(why, size, "%s: did not end in time and cannot be killed", what);
	else if (end->timed_out)
		snprintf(why, size, "%s: did not end in its time limit", what);
	else if (end->signalled)
		snprintf(why, size, "%s: killed by signal %d", what, end->status);
	else if (end->status)
		snprintf(why, size, "%s: exit status %d", what, end->status);
	else
		return false;
	last_line(err_file, line, sizeof(line));
	used = strlen(why);
	if (line[0] && used < size)
		snprintf(why + used, size - used, ": %s", line);
	return true;
}
