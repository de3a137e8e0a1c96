/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One step: a process in its own session, a time limit, and nothing left of it afterwards. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "src/agent/agent.h"
#include "testcases/guest.h"
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
	if (!strcmp(argv[0], "@settle"))
		return fb_guest_settle();
	if (testcase && testcase->guest)
		return testcase->guest(argc, (char **)argv);
	fprintf(stderr, "firstbad-agent: no workload '%s' in this agent\n", argv[0]);
	return 127;
}

/*
 * Where a stream of the step goes. A pipe and not the file itself, so that no step can fill the
 * disk (or the guest's memory) with its output: the file gets the first HEAD_SIZE bytes, and of
 * what follows the end, which waits in a ring, and the lines that begin with the mark of values.
 */
struct sink {
	int pipe, file;
	size_t total;	/* bytes that came */
	size_t left;	/* bytes that were left out */
	size_t marked;	/* bytes of marked lines that were kept between */
	char *tail;	/* ring of the last TAIL_SIZE bytes of those that are not in the file */
	size_t col;	/* bytes of the line that went by last, as far as one must know */
	size_t due;	/* of them, those of the mark that are not written yet */
	bool is_marked; /* the line is like the mark so far */
	int errnum;	/* of the first write that failed; nothing is written after it */
};

#define TAIL_SIZE (64u << 10)
#define HEAD_SIZE (FB_STEP_KEEP - TAIL_SIZE)

static const char mark[] = "firstbad:";
#define MARK_LEN (sizeof(mark) - 1)

/* With a gap in it the output could show a value that the step never printed. */
static void write_file(struct sink *s, const char *buf, size_t len)
{
	while (len && !s->errnum) {
		ssize_t n = write(s->file, buf, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			s->errnum = n < 0 ? errno : ENOSPC;
			return;
		}
		buf += n;
		len -= (size_t)n;
	}
}

static int sink_open(struct sink *s, const char *path, int *ret_write_end)
{
	int p[2];

	*s = (struct sink){.pipe = -1, .file = -1, .is_marked = true};
	s->file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0644);
	if (s->file < 0 || pipe2(p, O_CLOEXEC) < 0)
		return -1;
	s->pipe = p[0];
	*ret_write_end = p[1];
	return fcntl(s->pipe, F_SETFL, O_NONBLOCK);
}

/* Follow the lines; @c is in the file already. */
static void go_by(struct sink *s, char c)
{
	if (s->col < MARK_LEN && c != mark[s->col])
		s->is_marked = false;
	if (c == '\n') {
		s->col = 0;
		s->is_marked = true;
	} else if (s->col < MARK_LEN) {
		s->col++;
	}
}

/* @c is left out, unless it is of a marked line: a value must not get lost in much output. */
static void leave_out(struct sink *s, char c)
{
	bool keep = s->is_marked && s->col == MARK_LEN && s->marked < FB_STEP_KEEP;
	bool ends = c == '\n';

	if (keep)
		write_file(s, &c, 1);
	s->marked += keep;
	s->left += !keep;
	s->due = s->col < MARK_LEN ? s->due + 1 : 0;
	go_by(s, c);
	if (!ends && s->is_marked && s->col == MARK_LEN && s->due && s->marked < FB_STEP_KEEP) {
		/* Now it is known to be one. What stands before ends in the middle of a line. */
		if (s->due == MARK_LEN)
			write_file(s, "\n", 1);
		write_file(s, mark + MARK_LEN - s->due, s->due);
		s->marked += s->due;
		s->left -= s->due;
		s->due = 0;
	}
	if (ends)
		s->due = 0;
}

static void take(struct sink *s, char c)
{
	if (s->total >= HEAD_SIZE) {
		char *at = &s->tail[(s->total - HEAD_SIZE) % TAIL_SIZE];

		if (s->total >= FB_STEP_KEEP)
			leave_out(s, *at);
		*at = c;
	} else {
		go_by(s, c);
	}
	s->total++;
}

/* Take what is in the pipe; its end closes it. */
static void sink_drain(struct sink *s)
{
	char buf[16384];
	ssize_t n;

	while (s->pipe >= 0 && (n = read(s->pipe, buf, sizeof(buf))) != 0) {
		size_t head = s->total >= HEAD_SIZE ? 0 : HEAD_SIZE - s->total;

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return;
		write_file(s, buf, head < (size_t)n ? head : (size_t)n);
		if (head < (size_t)n && !s->tail)
			s->tail = malloc(TAIL_SIZE);
		if (head < (size_t)n && !s->tail)
			abort(); /* PID 1, or firstbad, notices */
		for (ssize_t i = 0; i < n; i++)
			take(s, buf[i]);
	}
	if (s->pipe >= 0)
		close(s->pipe);
	s->pipe = -1;
}

/* What is in the ring follows; after something was left out, from the start of a line. */
static void sink_close(struct sink *s)
{
	size_t from = s->total > FB_STEP_KEEP ? s->total - TAIL_SIZE : HEAD_SIZE;

	while (s->left && s->col && from < s->total)
		leave_out(s, s->tail[(from++ - HEAD_SIZE) % TAIL_SIZE]);
	if (s->left) {
		char line[80];

		snprintf(line, sizeof(line), "\n[firstbad: %zu bytes left out here]\n", s->left);
		write_file(s, line, strlen(line));
	}
	if (from < s->total) {
		size_t len = s->total - from, at = (from - HEAD_SIZE) % TAIL_SIZE;
		size_t first = len < TAIL_SIZE - at ? len : TAIL_SIZE - at;

		write_file(s, s->tail + at, first);
		write_file(s, s->tail, len - first);
	}
	if (s->pipe >= 0)
		close(s->pipe);
	/* Where space is reserved late, as over NFS, this tells. */
	if (s->file >= 0 && close(s->file) < 0 && !s->errnum && errno != EINTR)
		s->errnum = errno;
	free(s->tail);
}

static void child(char *const *argv, const char *dir, int out, int err, int exec_fd, bool in_guest)
{
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	sigset_t none;
	int errnum;

	setsid();
	signal(SIGXFSZ, SIG_DFL);
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
	if (dup2(null, 0) < 0 || dup2(out, 1) < 0 || dup2(err, 2) < 0)
		_exit(126);
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

/* What is watched while a step runs. */
struct watch {
	pid_t pid;
	int chld_fd; /* signalfd; SIGCHLD is blocked in the worker, so none is missed */
	struct sink out, err;
};

/* Wait at most until @deadline_ns; true once the child was reaped. */
static bool wait_until(struct watch *w, int64_t deadline_ns, int *status, struct rusage *usage)
{
	int64_t beat_ns = fb_agent_now_ns() + BEAT_NS;

	for (;;) {
		struct pollfd p[3] = {{w->chld_fd, POLLIN, 0},
				      {w->out.pipe, POLLIN, 0},
				      {w->err.pipe, POLLIN, 0}};
		struct signalfd_siginfo si;
		int64_t now_ns, next_ns;

		if (wait4(w->pid, status, WNOHANG, usage) == w->pid)
			return true;
		now_ns = fb_agent_now_ns();
		if (now_ns >= deadline_ns)
			return false;
		if (now_ns >= beat_ns) {
			fb_say(json_pack("{s:s}", "ev", "beat"));
			beat_ns = now_ns + BEAT_NS;
		}
		next_ns = (beat_ns < deadline_ns ? beat_ns : deadline_ns) - now_ns;
		if (ppoll(p, 3, &(struct timespec){next_ns / 1000000000LL, next_ns % 1000000000LL},
			  NULL) <= 0)
			continue;
		if (p[0].revents && read(w->chld_fd, &si, sizeof(si)) < 0 && errno != EINTR)
			abort();
		sink_drain(&w->out);
		sink_drain(&w->err);
	}
}

/* Start the step; the error number, or 0. */
static int start(struct watch *w, char *const *argv, const char *dir, const char *out,
		 const char *err, bool in_guest, int *ret_exec_fd)
{
	int exec_pipe[2] = {-1, -1}, out_w = -1, err_w = -1, errnum = 0;
	sigset_t chld;

	sigemptyset(&chld);
	sigaddset(&chld, SIGCHLD);
	w->chld_fd = signalfd(-1, &chld, SFD_CLOEXEC);
	if (w->chld_fd < 0 || sink_open(&w->out, out, &out_w) < 0 ||
	    sink_open(&w->err, err, &err_w) < 0 || pipe2(exec_pipe, O_CLOEXEC) < 0 ||
	    (w->pid = fork()) < 0)
		errnum = errno;
	else if (w->pid == 0)
		child(argv, dir, out_w, err_w, exec_pipe[1], in_guest);
	if (exec_pipe[1] >= 0)
		close(exec_pipe[1]);
	if (out_w >= 0)
		close(out_w);
	if (err_w >= 0)
		close(err_w);
	*ret_exec_fd = exec_pipe[0];
	return errnum;
}

void fb_step_run(char *const *argv, const char *dir, const char *out, const char *err,
		 int64_t timeout_ns, bool in_guest, struct fb_step_end *ret)
{
	struct watch w = {
		.chld_fd = -1, .out = {.pipe = -1, .file = -1}, .err = {.pipe = -1, .file = -1}};
	struct rusage usage = {0};
	int exec_fd, status = 0, errnum;
	bool reaped = true;

	memset(ret, 0, sizeof(*ret));
	ret->start_ns = fb_agent_now_ns();
	errnum = start(&w, argv, dir, out, err, in_guest, &exec_fd);
	if (!errnum) {
		reaped = wait_until(&w, ret->start_ns + timeout_ns, &status, &usage);
		ret->end_ns = fb_agent_now_ns();
		if (!reaped) {
			ret->timed_out = true;
			kill(-w.pid, SIGKILL);
			kill(w.pid, SIGKILL);
			reaped = wait_until(&w, ret->end_ns + STUCK_NS, &status, &usage);
			ret->stuck = !reaped;
		}
		/* Also what left the session; in the guest everything else is fair game. */
		kill(-w.pid, SIGKILL);
		if (in_guest)
			kill(-1, SIGKILL);
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
	}
	/* What went on in the background may hold the pipes open; it is not waited for. */
	sink_drain(&w.out);
	sink_drain(&w.err);
	ret->out_cut = w.out.total > FB_STEP_KEEP;
	sink_close(&w.out);
	sink_close(&w.err);
	ret->lost = w.out.errnum ? w.out.errnum : w.err.errnum;
	if (errnum || (!ret->timed_out && WIFEXITED(status) && WEXITSTATUS(status) == 127 &&
		       read(exec_fd, &errnum, sizeof(errnum)) == (ssize_t)sizeof(errnum))) {
		ret->exec_failed = true;
		ret->status = errnum;
	} else if (WIFSIGNALED(status)) {
		ret->signalled = true;
		ret->status = WTERMSIG(status);
	} else {
		ret->status = WEXITSTATUS(status);
	}
	if (exec_fd >= 0)
		close(exec_fd);
	if (w.chld_fd >= 0)
		close(w.chld_fd);
	ret->user_s = (double)usage.ru_utime.tv_sec + (double)usage.ru_utime.tv_usec / 1e6;
	ret->system_s = (double)usage.ru_stime.tv_sec + (double)usage.ru_stime.tv_usec / 1e6;
	ret->vcsw = usage.ru_nvcsw;
	ret->ivcsw = usage.ru_nivcsw;
	ret->minflt = usage.ru_minflt;
	ret->majflt = usage.ru_majflt;
}

int fb_step_open(const char *path)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)))
		return fd;
	close(fd);
	return -1;
}

/* The last line of a file that is not blank, control bytes made visible. */
static void last_line(const char *path, char *line, size_t size)
{
	char buf[1024];
	int fd = fb_step_open(path);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");
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

	if (end->lost)
		snprintf(why, size, "%s: keep its output: %s", what, strerror(end->lost));
	else if (end->exec_failed)
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

int fb_step_status(const struct fb_step_end *end)
{
	if (end->stuck || end->timed_out)
		return -1;
	if (end->exec_failed)
		return end->status == ENOENT ? 127 : 126;
	return end->signalled ? 128 + end->status : end->status;
}
