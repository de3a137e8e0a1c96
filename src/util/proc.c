/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Child processes that cannot outlive firstbad. */
#include "src/util/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/util/clock.h"
#include "src/util/util.h"

#define CAPTURE_MAX_DEFAULT (1u << 20)
#define DRAIN_SIZE	    16384
#define GRACE_NS	    (2 * FB_NS_PER_S) /* from SIGTERM to SIGKILL when time runs out */

extern char **environ;

/* What the keeper tells. One write below PIPE_BUF each, so never torn. */
struct report {
	enum { REPORT_STARTED, REPORT_NO_FENCE, REPORT_EXEC_FAILED, REPORT_ENDED } what;
	int pid;
	int errnum;
	enum fb_proc_end end;
	int status;
	int64_t wall_ns, cpu_ns;
};

struct fb_proc {
	int keeper; /* pid of the keeper; 0 once reaped */
	int child;  /* pid of the child; 0 behind a fence, where its number means nothing here */
	enum fb_proc_fence fence;
	int lifeline;  /* write end: closing it kills everything */
	int report_fd; /* read end of the keeper's reports */
	int out_fd, err_fd, in_fd;
	const char *in; /* what is left of in_data */
	size_t in_len;
	char *in_data;
	size_t capture_max;
	struct fb_str out, err;
};

static const char *const extra_path[] = {"/usr/local/sbin", "/usr/sbin", "/sbin"};

static bool is_program(const char *path)
{
	struct stat st;

	return access(path, X_OK) == 0 && stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

static char *find_in(const char *dir, size_t len, const char *name)
{
	char *path =
		len ? fb_xasprintf("%.*s/%s", (int)len, dir, name) : fb_xasprintf("./%s", name);

	if (is_program(path))
		return path;
	free(path);
	return NULL;
}

char *fb_proc_find(const char *name)
{
	const char *path = getenv("PATH");
	char *found = NULL;

	if (strchr(name, '/'))
		return is_program(name) ? fb_xstrdup(name) : NULL;
	for (const char *p = path ? path : "/usr/bin:/bin"; p && !found;) {
		const char *colon = strchrnul(p, ':');

		found = find_in(p, (size_t)(colon - p), name);
		p = *colon ? colon + 1 : NULL;
	}
	/* mkfs and friends are not on an ordinary user's PATH in Debian. */
	for (size_t i = 0; i < FB_ARRAY_SIZE(extra_path) && !found; i++)
		found = find_in(extra_path[i], strlen(extra_path[i]), name);
	return found;
}

const char *const fb_proc_no_repository[] = {
	"GIT_ALTERNATE_OBJECT_DIRECTORIES",
	"GIT_COMMON_DIR",
	"GIT_CONFIG",
	"GIT_CONFIG_COUNT",
	"GIT_CONFIG_PARAMETERS",
	"GIT_DIR",
	"GIT_GRAFT_FILE",
	"GIT_IMPLICIT_WORK_TREE",
	"GIT_INDEX_FILE",
	"GIT_INTERNAL_SUPER_PREFIX",
	"GIT_NO_REPLACE_OBJECTS",
	"GIT_OBJECT_DIRECTORY",
	"GIT_PREFIX",
	"GIT_REPLACE_REF_BASE",
	"GIT_SHALLOW_FILE",
	"GIT_WORK_TREE",
	NULL,
};

/* What the keeper is told; all of it the parent's, and only read. */
struct order {
	const struct fb_proc_spec *spec;
	const char *path;
	char *const *env;
	int stdio[3];
	int lifeline, report_fd;
	int *keep; /* room for KEEP_OWN and the passed descriptors */
	enum fb_proc_fence fence;
};

#define KEEP_OWN 5

/* From here to the end of keeper() nothing may use stdio or malloc'd state of the parent. */

static void write_report(int fd, const struct report *report)
{
	while (write(fd, report, sizeof(*report)) < 0 && errno == EINTR)
		;
}

/*
 * The direct children of this process, by the kernel's own list; fills at most @max.
 * -1 when there is no such list (no /proc, or a kernel without CONFIG_PROC_CHILDREN).
 */
static int own_children(pid_t *pids, int max)
{
	char path[64], buf[8192];
	int fd, n = 0;
	ssize_t len;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	len = read(fd, buf, sizeof(buf) - 1);
	close(fd);
	if (len <= 0)
		return 0;
	buf[len] = '\0';
	for (char *p = buf; n < max;) {
		long pid = strtol(p, &p, 10);

		if (pid <= 0)
			break;
		pids[n++] = (pid_t)pid;
	}
	return n;
}

/*
 * Kill every descendant. Behind a fence that is everybody else. Without one a killed process's
 * children are reparented to us, the subreaper, so killing our own children until there are
 * none reaches all of them.
 */
static void kill_descendants(enum fb_proc_fence fence)
{
	pid_t pids[512];

	if (fence != FB_PROC_FENCE_NONE) {
		kill(-1, SIGKILL);
		while (waitpid(-1, NULL, 0) > 0 || errno == EINTR)
			;
		return;
	}
	for (;;) {
		int n = own_children(pids, (int)FB_ARRAY_SIZE(pids));

		for (int i = 0; i < n; i++)
			kill(pids[i], SIGKILL);
		/* Without the list nothing was killed, and waiting could take for ever. */
		if (waitpid(-1, NULL, n < 0 ? WNOHANG : 0) <= 0 && (n < 0 || errno == ECHILD))
			return;
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
	}
}

/* Write a file of /proc; they take one write(2) only. */
static int put_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), rc;

	if (fd < 0)
		return -1;
	rc = write(fd, text, strlen(text)) < 0 ? -1 : 0;
	close(fd);
	return rc;
}

/* In the user namespace everybody but us is nobody: nothing else can be had without privilege. */
static int map_user(uid_t uid, gid_t gid)
{
	char line[64];

	snprintf(line, sizeof(line), "%u %u 1", uid, uid);
	if (put_file("/proc/self/uid_map", line) < 0 ||
	    put_file("/proc/self/setgroups", "deny") < 0)
		return -1;
	snprintf(line, sizeof(line), "%u %u 1", gid, gid);
	return put_file("/proc/self/gid_map", line);
}

/*
 * The first process behind a fence: give the namespace a /proc that shows it. Other mounts
 * stay shared with the host as they were, so what the child mounts is seen as before.
 */
static int settle(enum fb_proc_fence fence, uid_t uid, gid_t gid)
{
	char outer[32] = "";

	if (fence == FB_PROC_FENCE_USER && map_user(uid, gid) < 0)
		return -1;
	if (readlink("/proc/self", outer, sizeof(outer) - 1) < 0 ||
	    mount(NULL, "/proc", NULL, MS_PRIVATE, NULL) < 0 ||
	    mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0)
		return -1;
	/*
	 * Go on from our number outside: names made of $$ in shared directories must not
	 * become equal in all jobs. A kernel that does not offer it runs them all the same.
	 */
	(void)put_file("/proc/sys/kernel/ns_last_pid", outer);
	return 0;
}

/* fork(), the child being the init of namespaces of its own when there is to be a fence. */
static pid_t fork_behind(enum fb_proc_fence fence)
{
	unsigned long flags = CLONE_NEWPID | CLONE_NEWNS | SIGCHLD;

	if (fence == FB_PROC_FENCE_NONE)
		return fork();
	if (fence == FB_PROC_FENCE_USER)
		flags |= CLONE_NEWUSER;
	return (pid_t)syscall(SYS_clone, flags, 0, 0, 0, 0);
}

/* What firstbad handles or ignores is not for its children: ignored signals outlive exec. */
static void default_signals(void)
{
	for (int sig = 1; sig < NSIG; sig++)
		signal(sig, SIG_DFL); /* fails for SIGKILL, SIGSTOP and libc's own: fine */
}

/* Close everything from 3 up but the @nr descriptors of @keep, which get sorted. */
static void close_others(int *keep, unsigned nr)
{
	unsigned from = 3;

	for (unsigned i = 1; i < nr; i++)
		for (unsigned j = i; j > 0 && keep[j - 1] > keep[j]; j--) {
			int fd = keep[j];

			keep[j] = keep[j - 1];
			keep[j - 1] = fd;
		}
	for (unsigned i = 0; i < nr; i++) {
		if (keep[i] < (int)from)
			continue;
		if ((unsigned)keep[i] > from)
			close_range(from, (unsigned)keep[i] - 1, 0);
		from = (unsigned)keep[i] + 1;
	}
	close_range(from, ~0u, 0);
}

static void child(const struct order *o, int exec_fd, pid_t keeper_pid)
{
	const struct fb_proc_spec *spec = o->spec;
	sigset_t none;
	int errnum;

	prctl(PR_SET_PDEATHSIG, spec->finishes ? SIGTERM : SIGKILL);
	if (getppid() != keeper_pid)
		_exit(127);
	for (int i = 0; i < 3; i++)
		if (dup2(o->stdio[i], i) < 0)
			goto failed;
	for (unsigned i = 0; i < spec->nr_pass_fds; i++)
		if (fcntl(spec->pass_fds[i], F_SETFD, 0) < 0)
			goto failed;
	default_signals();
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	setpgid(0, 0);
	if (spec->file_size_max) {
		struct rlimit lim = {spec->file_size_max, spec->file_size_max};

		signal(SIGXFSZ, SIG_IGN);
		if (setrlimit(RLIMIT_FSIZE, &lim) < 0)
			goto failed;
	}
	if (spec->nice) {
		errno = 0;
		if (nice(spec->nice) == -1 && errno)
			goto failed;
	}
	if (spec->dir && chdir(spec->dir) < 0)
		goto failed;
	execve(o->path, (char *const *)spec->argv, o->env);
failed:
	errnum = errno;
	while (write(exec_fd, &errnum, sizeof(errnum)) < 0 && errno == EINTR)
		;
	_exit(127);
}

/* Reap whatever ended, orphans too; true once that was the child. */
static bool reap(pid_t pid, int *status, struct rusage *usage)
{
	struct rusage u;
	int st;
	pid_t got;

	while ((got = wait4(-1, &st, WNOHANG, &u)) > 0)
		if (got == pid) {
			*status = st;
			*usage = u;
			return true;
		}
	return false;
}

/*
 * Wait for the child to end, the lifeline to close, or the time to run out.
 * @chld_fd: signalfd of SIGCHLD, made before the child was.
 */
static enum fb_proc_end watch(const struct order *o, pid_t pid, int chld_fd, int *ret_status,
			      struct rusage *usage)
{
	int64_t timeout_ns = o->spec->timeout_ns;
	int64_t deadline = timeout_ns ? fb_clock_mono_ns() + timeout_ns : 0;
	int lifeline = o->lifeline, status = 0;
	bool terminated = false;

	while (!reap(pid, &status, usage)) {
		struct pollfd p[2] = {{lifeline, POLLIN, 0}, {chld_fd, POLLIN, 0}};
		struct signalfd_siginfo si;
		int timeout = -1;

		if (deadline) {
			int64_t left = deadline - fb_clock_mono_ns();

			timeout = left <= 0 ? 0
					    : (int)(left / FB_NS_PER_MS > 60000
							    ? 60000
							    : left / FB_NS_PER_MS + 1);
		}
		if (poll(p, 2, timeout) < 0 && errno != EINTR)
			return FB_PROC_LOST;
		if (p[1].revents && read(chld_fd, &si, sizeof(si)) < 0 && errno != EINTR)
			return FB_PROC_LOST;
		if (p[0].revents && o->spec->finishes) {
			lifeline = -1;
			continue;
		}
		if (p[0].revents) {
			/* firstbad died, or wants an end of it: then it learns how the child ended.
			 */
			kill(-pid, SIGKILL);
			kill(pid, SIGKILL);
			lifeline = -1;
			deadline = 0;
			continue;
		}
		if (deadline && fb_clock_mono_ns() >= deadline) {
			kill(terminated ? pid : -pid, terminated ? SIGKILL : SIGTERM);
			terminated = true;
			deadline = fb_clock_mono_ns() + GRACE_NS;
		}
	}
	*ret_status = WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status);
	if (terminated)
		return FB_PROC_TIMED_OUT;
	return WIFEXITED(status) ? FB_PROC_EXITED : FB_PROC_SIGNALLED;
}

static int64_t cpu_ns(const struct rusage *u)
{
	return ((int64_t)u->ru_utime.tv_sec + u->ru_stime.tv_sec) * FB_NS_PER_S +
	       ((int64_t)u->ru_utime.tv_usec + u->ru_stime.tv_usec) * 1000;
}

static void give_up(const struct order *o, struct report *report, int what)
{
	report->errnum = errno;
	report->what = what;
	write_report(o->report_fd, report);
	_exit(1);
}

static void keeper(const struct order *o, uid_t uid, gid_t gid)
{
	const struct fb_proc_spec *spec = o->spec;
	struct report report = {.what = REPORT_STARTED};
	int64_t start_ns = fb_clock_mono_ns();
	struct rusage usage = {0};
	pid_t self = getpid(), pid;
	int exec_pipe[2], chld_fd;
	sigset_t chld;
	ssize_t n;

	/* A terminal's Ctrl-C reaches firstbad, which decides; the keeper must not die of it. */
	setpgid(0, 0);
	default_signals();
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	prctl(PR_SET_NAME, "firstbad-keeper");

	/* Other children's lifelines and the store must not be held open from here. */
	for (int i = 0; i < 3; i++)
		o->keep[i] = o->stdio[i];
	o->keep[3] = o->lifeline;
	o->keep[4] = o->report_fd;
	for (unsigned i = 0; i < spec->nr_pass_fds; i++)
		o->keep[KEEP_OWN + i] = spec->pass_fds[i];
	close_others(o->keep, KEEP_OWN + spec->nr_pass_fds);

	if (o->fence != FB_PROC_FENCE_NONE && settle(o->fence, uid, gid) < 0)
		give_up(o, &report, REPORT_NO_FENCE);
	sigemptyset(&chld);
	sigaddset(&chld, SIGCHLD);
	sigprocmask(SIG_BLOCK, &chld, NULL);
	chld_fd = signalfd(-1, &chld, SFD_CLOEXEC);
	pid = chld_fd < 0 || pipe2(exec_pipe, O_CLOEXEC) < 0 ? -1 : fork();
	if (pid < 0)
		give_up(o, &report, REPORT_EXEC_FAILED);
	if (pid == 0)
		child(o, exec_pipe[1], self);
	setpgid(pid, pid);
	close(exec_pipe[1]);
	/* The pipe closes by itself when exec succeeds; otherwise errno comes through it. */
	do
		n = read(exec_pipe[0], &report.errnum, sizeof(report.errnum));
	while (n < 0 && errno == EINTR);
	if (n > 0) {
		errno = report.errnum;
		give_up(o, &report, REPORT_EXEC_FAILED);
	}
	close(exec_pipe[0]);
	for (int i = 0; i < 3; i++)
		if (o->stdio[i] > 2)
			close(o->stdio[i]);
	for (unsigned i = 0; i < spec->nr_pass_fds; i++)
		close(spec->pass_fds[i]);
	report.pid = pid;
	write_report(o->report_fd, &report);
	report.what = REPORT_ENDED;
	report.end = watch(o, pid, chld_fd, &report.status, &usage);
	kill_descendants(o->fence);
	report.wall_ns = fb_clock_mono_ns() - start_ns;
	report.cpu_ns = cpu_ns(&usage);
	write_report(o->report_fd, &report);
	_exit(0);
}

static char **make_env(const char *const *changes)
{
	char **env = NULL;

	for (char **e = environ; *e; e++) {
		size_t len = (size_t)(strchrnul(*e, '=') - *e);
		bool changed = false;

		for (const char *const *c = changes; c && *c && !changed; c++)
			changed = !strncmp(*c, *e, len) && ((*c)[len] == '=' || !(*c)[len]);
		if (!changed)
			fb_strv_add(&env, *e);
	}
	for (const char *const *c = changes; c && *c; c++)
		if (strchr(*c, '='))
			fb_strv_add(&env, *c);
	if (!env)
		env = fb_xcalloc(1, sizeof(*env));
	return env;
}

static int read_report(int fd, struct report *ret)
{
	ssize_t n;

	do
		n = read(fd, ret, sizeof(*ret));
	while (n < 0 && errno == EINTR);
	return n == (ssize_t)sizeof(*ret) ? 0 : -1;
}

/*
 * One attempt to start the child behind @o->fence.
 * Return: 1 when it runs, 0 when there can be no such fence here, -1.
 */
static int start_keeper(struct fb_proc *proc, struct order *o, struct fb_error *err)
{
	uid_t uid = geteuid();
	gid_t gid = getegid();
	struct report report;
	int p[2], rc;

	if (pipe2(p, O_CLOEXEC) < 0)
		return fb_error_set_sys(err, errno, "pipe");
	o->report_fd = p[1];
	proc->keeper = fork_behind(o->fence);
	if (proc->keeper == 0)
		keeper(o, uid, gid);
	if (proc->keeper < 0) {
		int errnum = errno;

		proc->keeper = 0;
		close(p[0]);
		close(p[1]);
		return o->fence != FB_PROC_FENCE_NONE ? 0 : fb_error_set_sys(err, errnum, "fork");
	}
	close(p[1]);
	rc = read_report(p[0], &report);
	if (rc == 0 && report.what == REPORT_NO_FENCE) {
		close(p[0]);
		while (waitpid(proc->keeper, NULL, 0) < 0 && errno == EINTR)
			;
		proc->keeper = 0;
		return 0;
	}
	proc->report_fd = p[0];
	if (rc < 0)
		return fb_error_set(err, FB_ERROR_INFRA, "start '%s': keeper lost",
				    o->spec->argv[0]);
	if (report.what == REPORT_EXEC_FAILED)
		return fb_error_set_sys(err, report.errnum, "start '%s'", o->spec->argv[0]);
	proc->fence = o->fence;
	proc->child = o->fence == FB_PROC_FENCE_NONE ? report.pid : 0;
	return 1;
}

/* The best fence first; the user namespace is of no use to one who has the other. */
static int start_behind_best(struct fb_proc *proc, struct order *o, struct fb_error *err)
{
	const char *wish = getenv("FIRSTBAD_NAMESPACES");
	enum fb_proc_fence most = wish && !strcmp(wish, "no") ? FB_PROC_FENCE_NONE : o->spec->fence;
	int rc = 0;

	for (unsigned f = FB_PROC_FENCE_PID; f <= most && rc == 0; f++) {
		o->fence = (enum fb_proc_fence)f;
		rc = start_keeper(proc, o, err);
	}
	if (rc == 0) {
		o->fence = FB_PROC_FENCE_NONE;
		rc = start_keeper(proc, o, err);
	}
	return rc < 0 ? -1 : 0;
}

int fb_proc_start(const struct fb_proc_spec *spec, struct fb_proc **ret, struct fb_error *err)
{
	FB_CLEANUP(fb_proc_freep) struct fb_proc *proc = fb_xcalloc(1, sizeof(*proc));
	FB_CLEANUP(fb_freep) char *path = fb_proc_find(spec->argv[0]);
	FB_CLEANUP(fb_strvp) char **env = make_env(spec->env);
	FB_CLEANUP(fb_freep) int *keep = NULL;
	FB_CLEANUP(fb_closep) int null_fd = -1, out_w = -1, err_w = -1, in_r = -1;
	FB_CLEANUP(fb_closep) int life_r = -1;
	struct order order = {.spec = spec};
	int *stdio = order.stdio, p[2];

	proc->lifeline = proc->report_fd = proc->out_fd = proc->err_fd = proc->in_fd = -1;
	proc->capture_max = spec->capture_max ? spec->capture_max : CAPTURE_MAX_DEFAULT;
	proc->out.max = proc->err.max = 2 * proc->capture_max + DRAIN_SIZE;
	if (!path)
		return fb_error_set(err, FB_ERROR_MISSING, "no program '%s' in PATH",
				    spec->argv[0]);
	/* Found from here, but started from spec->dir. */
	if (path[0] != '/') {
		FB_CLEANUP(fb_freep) char *cwd = getcwd(NULL, 0), *relative = path;

		if (!cwd)
			return fb_error_set_sys(err, errno, "getcwd");
		path = fb_xasprintf("%s/%s", cwd, relative);
	}
	keep = fb_xcalloc(KEEP_OWN + spec->nr_pass_fds, sizeof(*keep));
	null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (null_fd < 0)
		return fb_error_set_sys(err, errno, "open /dev/null");
	stdio[0] = stdio[1] = stdio[2] = null_fd;
	if (spec->stdin_data) {
		if (pipe2(p, O_CLOEXEC) < 0)
			return fb_error_set_sys(err, errno, "pipe");
		stdio[0] = in_r = p[0];
		proc->in_fd = p[1];
		fcntl(proc->in_fd, F_SETFL, O_NONBLOCK);
		proc->in_data = fb_xstrdup(spec->stdin_data);
		proc->in = proc->in_data;
		proc->in_len = strlen(proc->in);
	}
	if (spec->out_path) {
		out_w = open(spec->out_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
		if (out_w < 0)
			return fb_error_set_sys(err, errno, "open '%s'", spec->out_path);
		stdio[1] = stdio[2] = out_w;
	} else {
		if (pipe2(p, O_CLOEXEC) < 0)
			return fb_error_set_sys(err, errno, "pipe");
		proc->out_fd = p[0];
		stdio[1] = out_w = p[1];
		if (pipe2(p, O_CLOEXEC) < 0)
			return fb_error_set_sys(err, errno, "pipe");
		proc->err_fd = p[0];
		stdio[2] = err_w = p[1];
	}
	if (pipe2(p, O_CLOEXEC) < 0)
		return fb_error_set_sys(err, errno, "pipe");
	life_r = p[0];
	proc->lifeline = p[1];
	order.path = path;
	order.env = env;
	order.lifeline = life_r;
	order.keep = keep;
	if (start_behind_best(proc, &order, err) < 0)
		return -1;
	*ret = FB_TAKE(proc);
	return 0;
}

int fb_proc_fd(const struct fb_proc *proc)
{
	return proc->report_fd;
}

enum fb_proc_fence fb_proc_fence(const struct fb_proc *proc)
{
	return proc->fence;
}

void fb_proc_kill(struct fb_proc *proc)
{
	if (proc->lifeline >= 0)
		close(proc->lifeline);
	proc->lifeline = -1;
}

/* Keep the last capture_max bytes: the end of a log says why it ended. */
static void keep_tail(struct fb_str *s, const char *buf, size_t len, size_t max)
{
	fb_str_addn(s, buf, len);
	if (s->len > 2 * max) {
		memmove(s->buf, s->buf + s->len - max, max + 1);
		s->len = max;
		s->truncated = true;
	}
}

static void cut_tail(struct fb_str *s, size_t max)
{
	if (s->len > max) {
		memmove(s->buf, s->buf + s->len - max, max + 1);
		s->len = max;
		s->truncated = true;
	}
}

/* Read what is there; closes the descriptor at its end. */
static void drain(int *fd, struct fb_str *s, size_t max)
{
	char buf[DRAIN_SIZE];
	ssize_t n = read(*fd, buf, sizeof(buf));

	if (n > 0) {
		keep_tail(s, buf, (size_t)n, max);
	} else if (n == 0 || (errno != EINTR && errno != EAGAIN)) {
		close(*fd);
		*fd = -1;
	}
}

static void feed(struct fb_proc *proc)
{
	ssize_t n = write(proc->in_fd, proc->in, proc->in_len);

	if (n > 0) {
		proc->in += n;
		proc->in_len -= (size_t)n;
	}
	if (!proc->in_len || (n < 0 && errno != EAGAIN && errno != EINTR)) {
		close(proc->in_fd);
		proc->in_fd = -1;
	}
}

/* Reports may be read while output is still in the pipes: those end by themselves then. */
int fb_proc_wait(struct fb_proc *proc, struct fb_proc_result *ret, struct fb_error *err)
{
	struct report report = {.what = REPORT_STARTED, .end = FB_PROC_LOST};
	void (*old_pipe)(int) = signal(SIGPIPE, SIG_IGN);
	bool ended = false;
	int64_t lost_ns = 0;

	while (!ended || proc->out_fd >= 0 || proc->err_fd >= 0) {
		struct pollfd p[4] = {
			{ended ? -1 : proc->report_fd, POLLIN, 0},
			{proc->out_fd, POLLIN, 0},
			{proc->err_fd, POLLIN, 0},
			{ended ? -1 : proc->in_fd, POLLOUT, 0},
		};

		if (poll(p, 4, lost_ns ? 100 : -1) < 0) {
			if (errno == EINTR)
				continue;
			signal(SIGPIPE, old_pipe);
			return fb_error_set_sys(err, errno, "poll");
		}
		if (p[1].revents)
			drain(&proc->out_fd, &proc->out, proc->capture_max);
		if (p[2].revents)
			drain(&proc->err_fd, &proc->err, proc->capture_max);
		if (p[3].revents)
			feed(proc);
		if (p[0].revents) {
			ended = true;
			if (read_report(proc->report_fd, &report) < 0) {
				report.end = FB_PROC_LOST;
				/*
				 * The child died with its keeper, but without a fence its own
				 * children need not have, and one that left the group may hold
				 * the output open for ever.
				 */
				if (proc->child > 0)
					kill(-proc->child, SIGKILL);
				lost_ns = fb_clock_mono_ns();
			}
		}
		if (lost_ns && fb_clock_mono_ns() - lost_ns > GRACE_NS)
			break;
	}
	signal(SIGPIPE, old_pipe);
	if (proc->keeper > 0)
		while (waitpid(proc->keeper, NULL, 0) < 0 && errno == EINTR)
			;
	proc->keeper = 0;
	proc->child = 0;
	cut_tail(&proc->out, proc->capture_max);
	cut_tail(&proc->err, proc->capture_max);
	*ret = (struct fb_proc_result){.end = report.end,
				       .status = report.status,
				       .wall_ns = report.wall_ns,
				       .cpu_ns = report.cpu_ns,
				       .out = proc->out,
				       .err = proc->err};
	proc->out = proc->err = (struct fb_str)FB_STR_INIT;
	return 0;
}

void fb_proc_free(struct fb_proc *proc)
{
	if (!proc)
		return;
	if (proc->lifeline >= 0)
		close(proc->lifeline);
	if (proc->report_fd >= 0)
		close(proc->report_fd);
	if (proc->out_fd >= 0)
		close(proc->out_fd);
	if (proc->err_fd >= 0)
		close(proc->err_fd);
	if (proc->in_fd >= 0)
		close(proc->in_fd);
	if (proc->keeper > 0)
		while (waitpid(proc->keeper, NULL, 0) < 0 && errno == EINTR)
			;
	fb_str_release(&proc->out);
	fb_str_release(&proc->err);
	free(proc->in_data);
	free(proc);
}

void fb_proc_freep(struct fb_proc **proc)
{
	fb_proc_free(*proc);
}

void fb_proc_result_release(struct fb_proc_result *result)
{
	fb_str_release(&result->out);
	fb_str_release(&result->err);
}

int fb_proc_run(const struct fb_proc_spec *spec, struct fb_proc_result *ret, struct fb_error *err)
{
	FB_CLEANUP(fb_proc_freep) struct fb_proc *proc = NULL;

	if (fb_proc_start(spec, &proc, err) < 0)
		return -1;
	return fb_proc_wait(proc, ret, err);
}

/* The last line of @s that holds more than blanks, cut to what an error can show. */
static void last_line(const struct fb_str *s, char *ret, size_t size)
{
	const char *text = fb_str_cstr(s), *end = text + s->len, *start;

	while (end > text && (end[-1] == '\n' || end[-1] == '\r' || end[-1] == ' '))
		end--;
	start = end;
	while (start > text && start[-1] != '\n')
		start--;
	snprintf(ret, size, "%.*s", (int)(end - start > 300 ? 300 : end - start), start);
}

int fb_proc_check(const struct fb_proc_spec *spec, const struct fb_proc_result *result,
		  struct fb_error *err)
{
	char line[512];
	const char *sep;

	last_line(&result->err, line, sizeof(line));
	sep = line[0] ? ": " : "";
	switch (result->end) {
	case FB_PROC_EXITED:
		if (result->status == 0)
			return 0;
		return fb_error_set(err, FB_ERROR_CHILD, "'%s' exited with status %d%s%s",
				    spec->argv[0], result->status, sep, line);
	case FB_PROC_SIGNALLED:
		return fb_error_set(err, FB_ERROR_CHILD, "'%s' was killed by signal %d%s%s",
				    spec->argv[0], result->status, sep, line);
	case FB_PROC_TIMED_OUT:
		return fb_error_set(err, FB_ERROR_TIMEOUT, "'%s' ran out of time (%lld s)",
				    spec->argv[0], (long long)(spec->timeout_ns / FB_NS_PER_S));
	case FB_PROC_LOST:
		return fb_error_set(err, FB_ERROR_INFRA, "'%s' was lost with its keeper",
				    spec->argv[0]);
	}
	FB_BUG("unknown end %d", (int)result->end);
}
