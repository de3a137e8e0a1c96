/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Protects: a child ends as told, is described as it ended, and never outlives firstbad. */
#include "t/test.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/util/clock.h"
#include "src/util/file.h"
#include "src/util/proc.h"
#include "src/util/util.h"

/* A number that stands in the command line of this test's processes only: "sleep TAG". */
static char tag[32];
static char dir[] = "/tmp/u-proc.XXXXXX";
/* Behind which fence the children of a test run; most tests run with and without. */
static enum fb_proc_fence fence;

static int nr_tagged(pid_t *ret_one)
{
	DIR *proc = opendir("/proc");
	struct dirent *e;
	int n = 0;

	assert_non_null(proc);
	while ((e = readdir(proc))) {
		char path[300], line[4096];
		ssize_t len;
		int fd;

		if (e->d_name[0] < '1' || e->d_name[0] > '9' || atoi(e->d_name) == getpid())
			continue;
		snprintf(path, sizeof(path), "/proc/%s/cmdline", e->d_name);
		fd = open(path, O_RDONLY);
		if (fd < 0)
			continue;
		len = read(fd, line, sizeof(line) - 1);
		close(fd);
		for (ssize_t i = 0; i < len; i++)
			if (!line[i])
				line[i] = ' ';
		line[len > 0 ? len : 0] = '\0';
		if (strstr(line, tag)) {
			n++;
			if (ret_one)
				*ret_one = atoi(e->d_name);
		}
	}
	closedir(proc);
	return n;
}

/* Until @want tagged processes are there, at most half a minute: this machine may be busy. */
static bool becomes(int want)
{
	for (int i = 0; i < 3000; i++) {
		if (nr_tagged(NULL) == want)
			return true;
		usleep(10000);
	}
	return false;
}

static struct fb_proc_result run(const struct fb_proc_spec *plain)
{
	struct fb_proc_spec spec = *plain;
	struct fb_proc_result r;
	struct fb_error err = FB_ERROR_INIT;

	spec.fence = fence;
	assert_ok(fb_proc_run(&spec, &r, &err), &err);
	return r;
}

static struct fb_proc_result shell(const char *script)
{
	const char *const argv[] = {"sh", "-c", script, NULL};
	const struct fb_proc_spec spec = {.argv = argv};

	return run(&spec);
}

static void exit_status_and_both_streams_come_back(void **state)
{
	struct fb_proc_result r = shell("echo out; echo err >&2; exit 3");

	assert_int_equal(r.end, FB_PROC_EXITED);
	assert_int_equal(r.status, 3);
	assert_string_equal(fb_str_cstr(&r.out), "out\n");
	assert_string_equal(fb_str_cstr(&r.err), "err\n");
	assert_true(r.wall_ns > 0);
	fb_proc_result_release(&r);
}

static void death_by_a_signal_is_not_an_exit(void **state)
{
	struct fb_proc_result r = shell("kill -SEGV $$");

	assert_int_equal(r.end, FB_PROC_SIGNALLED);
	assert_int_equal(r.status, SIGSEGV);
	fb_proc_result_release(&r);
}

static void a_program_that_is_not_there_is_told_from_one_that_fails(void **state)
{
	const char *const argv[] = {"no-such-program", NULL};
	const char *const path[] = {"/no/such/program", NULL};
	struct fb_proc_spec spec = {.argv = argv, .fence = fence};
	struct fb_proc *proc = NULL;
	struct fb_error err = FB_ERROR_INIT;

	assert_int_equal(fb_proc_start(&spec, &proc, &err), -1);
	assert_error(&err, FB_ERROR_MISSING, "no program 'no-such-program'");
	spec.argv = path;
	assert_int_equal(fb_proc_start(&spec, &proc, &err), -1);
	assert_error(&err, FB_ERROR_MISSING, "/no/such/program");
	assert_null(proc);
}

static void a_failed_exec_says_why(void **state)
{
	char *file = fb_xasprintf("%s/no-program", dir);
	const char *const argv[] = {file, NULL};
	const char *const ls[] = {"true", NULL};
	struct fb_proc_spec spec = {.argv = argv, .fence = fence};
	struct fb_proc *proc = NULL;
	struct fb_error err = FB_ERROR_INIT;

	assert_ok(fb_file_write(file,
				"\x7f"
				"ELFnot",
				7, &err),
		  &err);
	assert_int_equal(chmod(file, 0755), 0);
	assert_int_equal(fb_proc_start(&spec, &proc, &err), -1);
	assert_int_equal(err.sys, ENOEXEC);
	assert_error(&err, FB_ERROR_SYSTEM, "no-program");
	spec.argv = ls;
	spec.dir = "/no/such/dir";
	assert_int_equal(fb_proc_start(&spec, &proc, &err), -1);
	assert_int_equal(err.sys, ENOENT);
	fb_error_clear(&err);
	free(file);
}

static void a_relative_program_is_found_from_here_and_started_there(void **state)
{
	char *cwd = getcwd(NULL, 0);
	const char *const argv[] = {"./prog", NULL};
	struct fb_proc_spec spec = {.argv = argv, .dir = "/"};
	struct fb_proc_result r;
	struct fb_error err = FB_ERROR_INIT;

	assert_int_equal(chdir(dir), 0);
	assert_ok(fb_file_write("prog", "#!/bin/sh\npwd\n", 14, &err), &err);
	assert_int_equal(chmod("prog", 0755), 0);
	r = run(&spec);
	assert_int_equal(chdir(cwd), 0);
	assert_string_equal(fb_str_cstr(&r.out), "/\n");
	fb_proc_result_release(&r);
	free(cwd);
}

static void the_environment_is_set_and_unset(void **state)
{
	const char *const argv[] = {"sh", "-c", "echo ${U_PROC_A-none} ${U_PROC_B-none} $U_PROC_C",
				    NULL};
	const char *const env[] = {"U_PROC_A", "U_PROC_B=new=x", "U_PROC_C=c", NULL};
	const struct fb_proc_spec spec = {.argv = argv, .env = env};
	struct fb_proc_result r;

	setenv("U_PROC_A", "a", 1);
	setenv("U_PROC_B", "b", 1);
	r = run(&spec);
	assert_string_equal(fb_str_cstr(&r.out), "none new=x c\n");
	fb_proc_result_release(&r);
}

static void stdin_is_what_is_given_or_nothing(void **state)
{
	char *big = fb_xmalloc(1000001);
	const char *const argv[] = {"sh", "-c", "wc -c", NULL};
	const char *const deaf[] = {"true", NULL};
	struct fb_proc_spec spec = {.argv = argv, .stdin_data = big};
	struct fb_proc_result r;

	memset(big, 'x', 1000000);
	big[1000000] = '\0';
	r = run(&spec);
	assert_string_equal(fb_str_cstr(&r.out), "1000000\n");
	fb_proc_result_release(&r);
	spec.stdin_data = NULL;
	r = run(&spec);
	assert_string_equal(fb_str_cstr(&r.out), "0\n");
	fb_proc_result_release(&r);
	/* One that does not read must not end us by SIGPIPE. */
	spec.argv = deaf;
	spec.stdin_data = big;
	r = run(&spec);
	assert_int_equal(r.end, FB_PROC_EXITED);
	fb_proc_result_release(&r);
	free(big);
}

static void of_huge_output_the_end_is_kept(void **state)
{
	const char *const argv[] = {
		"sh", "-c", "head -c 30000000 /dev/zero | tr '\\0' x; echo; echo the end", NULL};
	const struct fb_proc_spec spec = {.argv = argv, .capture_max = 1000};
	struct fb_proc_result r = run(&spec);

	assert_int_equal(r.end, FB_PROC_EXITED);
	assert_int_equal(r.out.len, 1000);
	assert_true(r.out.truncated);
	assert_true(fb_str_has_suffix(fb_str_cstr(&r.out), "x\nthe end\n"));
	fb_proc_result_release(&r);
}

static void a_large_limit_keeps_the_end_too(void **state)
{
	const char *const argv[] = {"sh", "-c", "head -c 90000000 /dev/zero; echo the end", NULL};
	const struct fb_proc_spec spec = {.argv = argv, .capture_max = 40u << 20};
	struct fb_proc_result r = run(&spec);

	assert_int_equal(r.out.len, 40u << 20);
	assert_memory_equal(r.out.buf + r.out.len - 8, "the end\n", 8);
	fb_proc_result_release(&r);
}

static void output_to_a_file_is_not_captured(void **state)
{
	char *path = fb_xasprintf("%s/log", dir);
	const char *const argv[] = {"sh", "-c", "echo a; echo b >&2", NULL};
	const struct fb_proc_spec spec = {.argv = argv, .out_path = path};
	struct fb_proc_result r = run(&spec);
	struct fb_str s = FB_STR_INIT;
	struct fb_error err = FB_ERROR_INIT;

	assert_int_equal(r.out.len, 0);
	assert_ok(fb_file_read(path, 100, &s, &err), &err);
	assert_string_equal(fb_str_cstr(&s), "a\nb\n");
	fb_str_release(&s);
	fb_proc_result_release(&r);
	free(path);
}

static void a_file_size_limit_is_an_error_to_the_child_not_its_death(void **state)
{
	char *path = fb_xasprintf("%s/limited", dir);
	const char *const argv[] = {"sh", "-c", "head -c 100000 /dev/zero || exit 7", NULL};
	const struct fb_proc_spec spec = {.argv = argv, .out_path = path, .file_size_max = 10000};
	struct fb_proc_result r = run(&spec);
	struct stat st;

	assert_int_equal(r.end, FB_PROC_EXITED);
	assert_int_equal(r.status, 7);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_size, 10000);
	fb_proc_result_release(&r);
	free(path);
}

static void only_passed_descriptors_reach_the_child(void **state)
{
	/* A high one: the limit of open files may be far above 1024. */
	int p[2], high;
	char script[200];
	const char *const argv[] = {"sh", "-c", script, NULL};
	struct fb_proc_spec spec = {.argv = argv, .pass_fds = &high, .nr_pass_fds = 1};
	struct fb_proc_result r;
	char buf[16] = "";

	assert_int_equal(pipe(p), 0); /* not close-on-exec, on purpose */
	high = fcntl(p[1], F_DUPFD_CLOEXEC, 900);
	assert_true(high >= 900);
	snprintf(script, sizeof(script), "echo hi >/proc/self/fd/%d; ls /proc/self/fd | wc -l",
		 high);
	r = run(&spec);
	assert_int_equal(read(p[0], buf, sizeof(buf)), 3);
	/* 0, 1, 2, the passed one and that of ls itself. */
	assert_string_equal(fb_str_cstr(&r.out), "5\n");
	fb_proc_result_release(&r);
	close(p[0]);
	close(p[1]);
	close(high);
}

static void the_child_gets_default_signals(void **state)
{
	/* 32 and 33 are the C library's own: nobody can set them back. */
	const unsigned long long libc_own = 3ull << 31;
	unsigned long long blocked = ~0ull, ignored = ~0ull;
	struct fb_proc_result r;
	sigset_t set;

	signal(SIGHUP, SIG_IGN);
	signal(SIGUSR1, SIG_IGN);
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
	r = shell("grep -E '^Sig(Blk|Ign):' /proc/self/status");
	signal(SIGHUP, SIG_DFL);
	signal(SIGUSR1, SIG_DFL);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	assert_int_equal(
		sscanf(fb_str_cstr(&r.out), "SigBlk: %llx SigIgn: %llx", &blocked, &ignored), 2);
	assert_int_equal(blocked, 0);
	assert_int_equal(ignored & ~libc_own, 0);
	fb_proc_result_release(&r);
}

static void a_time_limit_ends_it_even_if_it_ignores_sigterm(void **state)
{
	char script[200];
	const char *const argv[] = {"sh", "-c", script, NULL};
	struct fb_proc_spec spec = {.argv = argv, .timeout_ns = 300 * FB_NS_PER_MS};
	struct fb_error err = FB_ERROR_INIT;
	struct fb_proc_result r;

	snprintf(script, sizeof(script), "trap '' TERM; sleep %s; sleep %s", tag, tag);
	r = run(&spec);
	assert_int_equal(r.end, FB_PROC_TIMED_OUT);
	assert_true(r.wall_ns >= spec.timeout_ns);
	assert_int_equal(nr_tagged(NULL), 0);
	assert_int_equal(fb_proc_check(&spec, &r, &err), -1);
	assert_error(&err, FB_ERROR_TIMEOUT, "ran out of time");
	fb_proc_result_release(&r);
}

static void descendants_do_not_outlive_the_child(void **state)
{
	char script[300];
	struct fb_proc_result r;

	/* In the background, in a session of its own, and by a double fork. */
	snprintf(script, sizeof(script),
		 "sleep %s & setsid sleep %s & (setsid sh -c 'sleep %s & sleep %s' &) ; sleep 0.2",
		 tag, tag, tag, tag);
	r = shell(script);
	assert_int_equal(r.end, FB_PROC_EXITED);
	assert_int_equal(nr_tagged(NULL), 0);
	fb_proc_result_release(&r);
}

static struct fb_proc *start_family(void)
{
	static char script[300];
	static const char *const argv[] = {"sh", "-c", script, NULL};
	const struct fb_proc_spec spec = {.argv = argv, .fence = fence};
	struct fb_proc *proc = NULL;
	struct fb_error err = FB_ERROR_INIT;

	/* Three processes with the tag in their command line: the shell and two sleeps. */
	snprintf(script, sizeof(script), "setsid sleep %s & sleep %s; true", tag, tag);
	assert_ok(fb_proc_start(&spec, &proc, &err), &err);
	return proc;
}

static void killing_takes_the_whole_family_and_tells_the_end(void **state)
{
	struct fb_proc *proc = start_family();
	struct fb_proc_result r;
	struct fb_error err = FB_ERROR_INIT;

	assert_true(becomes(3));
	fb_proc_kill(proc);
	assert_ok(fb_proc_wait(proc, &r, &err), &err);
	assert_int_equal(r.end, FB_PROC_SIGNALLED);
	assert_int_equal(r.status, SIGKILL);
	assert_int_equal(nr_tagged(NULL), 0);
	fb_proc_result_release(&r);
	fb_proc_free(proc);
}

static void freeing_what_runs_leaves_nothing(void **state)
{
	struct fb_proc *proc = start_family();

	assert_true(becomes(3));
	fb_proc_free(proc);
	assert_int_equal(nr_tagged(NULL), 0);
}

static void kill_9_of_the_parent_leaves_nothing(void **state)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		start_family();
		pause();
		_exit(0);
	}
	assert_true(pid > 0);
	assert_true(becomes(3));
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(becomes(0));
}

static void parents_with_several_children_leave_nothing(void **state)
{
	int status;
	pid_t pid = fork();

	/* A later keeper must not hold the lifeline of an earlier one open. */
	if (pid == 0) {
		start_family();
		start_family();
		start_family();
		pause();
		_exit(0);
	}
	assert_true(becomes(9));
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(becomes(0));
}

/* The processes whose parent is @parent; at most @max. */
static int children_of(pid_t parent, pid_t *ret, int max)
{
	DIR *proc = opendir("/proc");
	struct dirent *e;
	int n = 0;

	assert_non_null(proc);
	while ((e = readdir(proc)) && n < max) {
		char path[300], buf[512] = "", *end;
		int fd, ppid = 0;

		snprintf(path, sizeof(path), "/proc/%s/stat", e->d_name);
		fd = atoi(e->d_name) > 0 ? open(path, O_RDONLY) : -1;
		if (fd < 0)
			continue;
		if (read(fd, buf, sizeof(buf) - 1) > 0 && (end = strrchr(buf, ')')) &&
		    sscanf(end + 2, "%*c %d", &ppid) == 1 && ppid == parent)
			ret[n++] = atoi(e->d_name);
		close(fd);
	}
	closedir(proc);
	return n;
}

static pid_t only_child_of(pid_t parent)
{
	pid_t pids[2];

	assert_int_equal(children_of(parent, pids, 2), 1);
	return pids[0];
}

static void a_killed_keeper_is_lost_not_a_verdict(void **state)
{
	static char script[200];
	static const char *const argv[] = {"sh", "-c", script, NULL};
	const struct fb_proc_spec spec = {.argv = argv, .fence = fence};
	struct fb_proc *proc = NULL;
	struct fb_proc_result r;
	struct fb_error err = FB_ERROR_INIT;

	snprintf(script, sizeof(script), "sleep %s & sleep %s; true", tag, tag);
	assert_ok(fb_proc_start(&spec, &proc, &err), &err);
	assert_true(becomes(3));
	kill(only_child_of(getpid()), SIGKILL);
	assert_ok(fb_proc_wait(proc, &r, &err), &err);
	assert_int_equal(r.end, FB_PROC_LOST);
	assert_true(becomes(0));
	assert_int_equal(fb_proc_check(&spec, &r, &err), -1);
	assert_error(&err, FB_ERROR_INFRA, "lost");
	fb_proc_result_release(&r);
	fb_proc_free(proc);
}

static void a_killed_keeper_with_output_held_open_does_not_block(void **state)
{
	struct fb_proc *proc = start_family();
	struct fb_proc_result r;
	struct fb_error err = FB_ERROR_INIT;
	pid_t stray = 0;

	assert_true(becomes(3));
	kill(only_child_of(getpid()), SIGKILL);
	assert_ok(fb_proc_wait(proc, &r, &err), &err);
	assert_int_equal(r.end, FB_PROC_LOST);
	/* Without a fence the one in a session of its own gets away: said in proc.h. End it. */
	if (fb_proc_fence(proc) == FB_PROC_FENCE_NONE && nr_tagged(&stray))
		kill(stray, SIGKILL);
	assert_true(becomes(0));
	fb_proc_result_release(&r);
	fb_proc_free(proc);
}

/* Can there be a fence here? Found out by another program. */
static bool can_fence(void)
{
	return system("unshare --pid --mount --fork true 2>/dev/null") == 0;
}

static void the_fence_is_there_where_it_can_be(void **state)
{
	struct fb_proc *proc = start_family();

	assert_int_equal(fb_proc_fence(proc), can_fence() ? FB_PROC_FENCE_PID : FB_PROC_FENCE_NONE);
	fb_proc_free(proc);
	setenv("FIRSTBAD_NAMESPACES", "no", 1);
	proc = start_family();
	unsetenv("FIRSTBAD_NAMESPACES");
	assert_int_equal(fb_proc_fence(proc), FB_PROC_FENCE_NONE);
	fb_proc_free(proc);
}

static void kill_9_of_all_at_once_leaves_nothing_behind_a_fence(void **state)
{
	pid_t pid, keeper, direct;
	int status;

	if (!can_fence())
		return;
	pid = fork();
	if (pid == 0) {
		start_family();
		pause();
		_exit(0);
	}
	assert_true(becomes(3));
	keeper = only_child_of(pid);
	direct = only_child_of(keeper);
	/* Stopped, none can act on what becomes of the others. */
	kill(keeper, SIGSTOP);
	kill(pid, SIGSTOP);
	kill(direct, SIGKILL);
	kill(pid, SIGKILL);
	kill(keeper, SIGKILL);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(becomes(0));
}

static void a_fence_has_a_proc_of_its_own(void **state)
{
	struct fb_proc_result r;

	if (!can_fence())
		return;
	/* The keeper and the shell. */
	r = shell("set -- /proc/[0-9]*; echo $#; readlink /proc/self/exe >/dev/null && "
		  "kill -0 $$ && grep -c ^Pid:.$$ /proc/$$/status");
	assert_string_equal(fb_str_cstr(&r.out), "2\n1\n");
	fb_proc_result_release(&r);
	/* The one outside is still that of this process. */
	assert_int_equal(access("/proc/self/status", R_OK), 0);
	assert_true(nr_tagged(NULL) == 0);
}

static void numbers_of_two_fences_differ(void **state)
{
	struct fb_proc_result a, b;

	if (!can_fence() || access("/proc/sys/kernel/ns_last_pid", W_OK) < 0)
		return;
	a = shell("echo $$");
	b = shell("echo $$");
	assert_string_not_equal(fb_str_cstr(&a.out), fb_str_cstr(&b.out));
	fb_proc_result_release(&a);
	fb_proc_result_release(&b);
}

static void orphans_that_ended_are_reaped(void **state)
{
	struct fb_proc_result r = shell(
		"for i in 1 2 3 4 5; do (sh -c 'exit 0' &); done\n"
		"n=0; while [ $n -lt 300 ] && grep -qs \"^PPid:.$PPID$\" $(grep -ls "
		"'^State:.Z' /proc/[0-9]*/status); do n=$((n + 1)); sleep 0.1; done; echo $n");

	assert_true(atoi(fb_str_cstr(&r.out)) < 300);
	fb_proc_result_release(&r);
}

/* As somebody without privilege; exit status 0: as it should be, 2: there is no such fence. */
static int try_user_fence(void)
{
	const char *const argv[] = {"sh", "-c", "id -u; id -g; exit 3", NULL};
	const struct fb_proc_spec spec = {.argv = argv, .fence = FB_PROC_FENCE_USER};
	struct fb_proc *proc = NULL;
	struct fb_proc_result r;
	struct fb_error err = FB_ERROR_INIT;

	if (geteuid() == 0 && (setgid(65534) < 0 || setuid(65534) < 0))
		return 1;
	/* As after the start of a program: else /proc/self is root's. */
	prctl(PR_SET_DUMPABLE, 1);
	if (system("unshare --user --pid --mount --fork --mount-proc true 2>/dev/null"))
		return 2;
	if (fb_proc_start(&spec, &proc, &err) < 0 || fb_proc_fence(proc) != FB_PROC_FENCE_USER ||
	    fb_proc_wait(proc, &r, &err) < 0 || r.end != FB_PROC_EXITED || r.status != 3)
		return 3;
	if (geteuid() == 65534 && strcmp(fb_str_cstr(&r.out), "65534\n65534\n"))
		return 4;
	fb_proc_result_release(&r);
	fb_proc_free(proc);
	return 0;
}

static void without_privilege_there_is_the_user_namespace(void **state)
{
	pid_t pid = fork();
	int status;

	if (pid == 0)
		_exit(try_user_fence());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 2)
		print_message("# no user namespaces here\n");
	else
		assert_int_equal(WEXITSTATUS(status), 0);
}

static void the_last_line_of_stderr_is_in_the_error(void **state)
{
	const char *const argv[] = {"sh", "-c",
				    "echo first >&2; echo 'no space' >&2; echo >&2; exit 4", NULL};
	const struct fb_proc_spec spec = {.argv = argv};
	struct fb_error err = FB_ERROR_INIT;
	struct fb_proc_result r = run(&spec);

	assert_int_equal(fb_proc_check(&spec, &r, &err), -1);
	assert_error(&err, FB_ERROR_CHILD, "'sh' exited with status 4: no space");
	fb_proc_result_release(&r);
	r = shell("kill -9 $$");
	assert_int_equal(fb_proc_check(&spec, &r, &err), -1);
	assert_error(&err, FB_ERROR_CHILD, "killed by signal 9");
	fb_proc_result_release(&r);
	r = shell("true");
	assert_ok(fb_proc_check(&spec, &r, &err), &err);
	fb_proc_result_release(&r);
}

static void cpu_time_of_the_child_is_counted(void **state)
{
	struct fb_proc_result r = shell("i=0; while [ $i -lt 100000 ]; do i=$((i + 1)); done");

	assert_true(r.cpu_ns > 0);
	assert_true(r.cpu_ns <= r.wall_ns * 2);
	fb_proc_result_release(&r);
}

static void programs_are_found_in_path_and_sbin(void **state)
{
	char *sh = fb_proc_find("sh");
	char *old = fb_xstrdup(getenv("PATH"));
	char *found;

	assert_non_null(sh);
	assert_true(sh[0] == '/');
	assert_null(fb_proc_find("no-such-program"));
	assert_null(fb_proc_find("/tmp"));
	setenv("PATH", "/nowhere", 1);
	found = fb_proc_find("ldconfig"); /* of libc-bin: in /sbin */
	setenv("PATH", old, 1);
	assert_non_null(found);
	free(found);
	free(old);
	free(sh);
}

static int setup(void **state)
{
	snprintf(tag, sizeof(tag), "77%07d", (int)getpid());
	return mkdtemp(dir) ? 0 : -1;
}

static int teardown(void **state)
{
	struct fb_error err = FB_ERROR_INIT;

	return fb_remove_tree(dir, &err);
}

static int no_fence(void **state)
{
	fence = FB_PROC_FENCE_NONE;
	return 0;
}

static int some_fence(void **state)
{
	fence = FB_PROC_FENCE_PID;
	return 0;
}

#define PLAIN(f)                                                                                   \
	{                                                                                          \
#f, f, no_fence, NULL, NULL                                                        \
	}
#define FENCED(f)                                                                                  \
	{                                                                                          \
#f " behind a fence", f, some_fence, NULL, NULL                                    \
	}
#define BOTH(f) PLAIN(f), FENCED(f)

int main(void)
{
	const struct CMUnitTest tests[] = {
		BOTH(exit_status_and_both_streams_come_back),
		BOTH(death_by_a_signal_is_not_an_exit),
		BOTH(a_program_that_is_not_there_is_told_from_one_that_fails),
		BOTH(a_failed_exec_says_why),
		BOTH(a_relative_program_is_found_from_here_and_started_there),
		BOTH(the_environment_is_set_and_unset),
		BOTH(stdin_is_what_is_given_or_nothing),
		BOTH(of_huge_output_the_end_is_kept),
		BOTH(a_large_limit_keeps_the_end_too),
		BOTH(output_to_a_file_is_not_captured),
		BOTH(a_file_size_limit_is_an_error_to_the_child_not_its_death),
		BOTH(only_passed_descriptors_reach_the_child),
		BOTH(the_child_gets_default_signals),
		BOTH(a_time_limit_ends_it_even_if_it_ignores_sigterm),
		BOTH(descendants_do_not_outlive_the_child),
		BOTH(killing_takes_the_whole_family_and_tells_the_end),
		BOTH(freeing_what_runs_leaves_nothing),
		BOTH(kill_9_of_the_parent_leaves_nothing),
		BOTH(parents_with_several_children_leave_nothing),
		BOTH(a_killed_keeper_is_lost_not_a_verdict),
		BOTH(a_killed_keeper_with_output_held_open_does_not_block),
		BOTH(orphans_that_ended_are_reaped),
		BOTH(the_last_line_of_stderr_is_in_the_error),
		BOTH(cpu_time_of_the_child_is_counted),
		FENCED(the_fence_is_there_where_it_can_be),
		FENCED(kill_9_of_all_at_once_leaves_nothing_behind_a_fence),
		FENCED(a_fence_has_a_proc_of_its_own),
		FENCED(numbers_of_two_fences_differ),
		cmocka_unit_test(without_privilege_there_is_the_user_namespace),
		cmocka_unit_test(programs_are_found_in_path_and_sbin),
	};

	return cmocka_run_group_tests_name("proc", tests, setup, teardown);
}
