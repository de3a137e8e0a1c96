/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Protects: a child ends as told, is described as it ended, and never outlives firstbad. */
#include "t/test.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
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

static struct fb_proc_result run(const struct fb_proc_spec *spec)
{
	struct fb_proc_result r;
	struct fb_error err = FB_ERROR_INIT;

	assert_ok(fb_proc_run(spec, &r, &err), &err);
	return r;
}

static struct fb_proc_result shell(const char *script)
{
	const char *const argv[] = { "sh", "-c", script, NULL };
	const struct fb_proc_spec spec = { .argv = argv };

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
	const char *const argv[] = { "no-such-program", NULL };
	const char *const path[] = { "/no/such/program", NULL };
	struct fb_proc_spec spec = { .argv = argv };
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
	const char *const argv[] = { file, NULL };
	const char *const ls[] = { "true", NULL };
	struct fb_proc_spec spec = { .argv = argv };
	struct fb_proc *proc = NULL;
	struct fb_error err = FB_ERROR_INIT;

	assert_ok(fb_file_write(file, "\x7f" "ELFnot", 7, &err), &err);
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
	const char *const argv[] = { "./prog", NULL };
	struct fb_proc_spec spec = { .argv = argv, .dir = "/" };
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
	const char *const argv[] = { "sh", "-c", "echo ${U_PROC_A-none} ${U_PROC_B-none} $U_PROC_C",
				     NULL };
	const char *const env[] = { "U_PROC_A", "U_PROC_B=new=x", "U_PROC_C=c", NULL };
	const struct fb_proc_spec spec = { .argv = argv, .env = env };
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
	const char *const argv[] = { "sh", "-c", "wc -c", NULL };
	const char *const deaf[] = { "true", NULL };
	struct fb_proc_spec spec = { .argv = argv, .stdin_data = big };
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
		"sh", "-c", "head -c 30000000 /dev/zero | tr '\\0' x; echo; echo the end", NULL
	};
	const struct fb_proc_spec spec = { .argv = argv, .capture_max = 1000 };
	struct fb_proc_result r = run(&spec);

	assert_int_equal(r.end, FB_PROC_EXITED);
	assert_int_equal(r.out.len, 1000);
	assert_true(r.out.truncated);
	assert_true(fb_str_has_suffix(fb_str_cstr(&r.out), "x\nthe end\n"));
	fb_proc_result_release(&r);
}

static void a_large_limit_keeps_the_end_too(void **state)
{
	const char *const argv[] = { "sh", "-c", "head -c 90000000 /dev/zero; echo the end", NULL };
	const struct fb_proc_spec spec = { .argv = argv, .capture_max = 40u << 20 };
	struct fb_proc_result r = run(&spec);

	assert_int_equal(r.out.len, 40u << 20);
	assert_memory_equal(r.out.buf + r.out.len - 8, "the end\n", 8);
	fb_proc_result_release(&r);
}

static void output_to_a_file_is_not_captured(void **state)
{
	char *path = fb_xasprintf("%s/log", dir);
	const char *const argv[] = { "sh", "-c", "echo a; echo b >&2", NULL };
	const struct fb_proc_spec spec = { .argv = argv, .out_path = path };
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
	const char *const argv[] = { "sh", "-c", "head -c 100000 /dev/zero || exit 7", NULL };
	const struct fb_proc_spec spec = { .argv = argv, .out_path = path,
					   .file_size_max = 10000 };
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
	const char *const argv[] = { "sh", "-c", script, NULL };
	struct fb_proc_spec spec = { .argv = argv, .pass_fds = &high, .nr_pass_fds = 1 };
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
	assert_int_equal(sscanf(fb_str_cstr(&r.out), "SigBlk: %llx SigIgn: %llx", &blocked,
				&ignored), 2);
	assert_int_equal(blocked, 0);
	assert_int_equal(ignored & ~libc_own, 0);
	fb_proc_result_release(&r);
}

static void a_time_limit_ends_it_even_if_it_ignores_sigterm(void **state)
{
	char script[200];
	const char *const argv[] = { "sh", "-c", script, NULL };
	struct fb_proc_spec spec = { .argv = argv, .timeout_ns = 300 * FB_NS_PER_MS };
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
	static const char *const argv[] = { "sh", "-c", script, NULL };
	static const struct fb_proc_spec spec = { .argv = argv };
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
	assert_false(fb_proc_ended(proc));
	assert_true(kill(fb_proc_pid(proc), 0) == 0);
	fb_proc_kill(proc);
	assert_ok(fb_proc_wait(proc, &r, &err), &err);
	assert_int_equal(r.end, FB_PROC_SIGNALLED);
	assert_int_equal(r.status, SIGKILL);
	assert_int_equal(nr_tagged(NULL), 0);
	assert_true(fb_proc_ended(proc));
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

static pid_t parent_of(pid_t pid)
{
	char path[64], buf[512] = "";
	int fd, ppid = 0;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY);
	assert_true(fd >= 0 && read(fd, buf, sizeof(buf) - 1) > 0);
	close(fd);
	assert_int_equal(sscanf(strrchr(buf, ')') + 2, "%*c %d", &ppid), 1);
	return ppid;
}

static void a_killed_keeper_is_lost_not_a_verdict(void **state)
{
	static char script[200];
	static const char *const argv[] = { "sh", "-c", script, NULL };
	static const struct fb_proc_spec spec = { .argv = argv };
	struct fb_proc *proc = NULL;
	struct fb_proc_result r;
	struct fb_error err = FB_ERROR_INIT;

	snprintf(script, sizeof(script), "sleep %s & sleep %s; true", tag, tag);
	assert_ok(fb_proc_start(&spec, &proc, &err), &err);
	assert_true(becomes(3));
	kill(parent_of(fb_proc_pid(proc)), SIGKILL);
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
	kill(parent_of(fb_proc_pid(proc)), SIGKILL);
	assert_ok(fb_proc_wait(proc, &r, &err), &err);
	assert_int_equal(r.end, FB_PROC_LOST);
	/* The one in a session of its own gets away: said in proc.h. End it here. */
	if (nr_tagged(&stray))
		kill(stray, SIGKILL);
	assert_true(becomes(0));
	fb_proc_result_release(&r);
	fb_proc_free(proc);
}

static void the_last_line_of_stderr_is_in_the_error(void **state)
{
	const char *const argv[] = { "sh", "-c", "echo first >&2; echo 'no space' >&2; echo >&2; exit 4",
				     NULL };
	const struct fb_proc_spec spec = { .argv = argv };
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exit_status_and_both_streams_come_back),
		cmocka_unit_test(death_by_a_signal_is_not_an_exit),
		cmocka_unit_test(a_program_that_is_not_there_is_told_from_one_that_fails),
		cmocka_unit_test(a_failed_exec_says_why),
		cmocka_unit_test(a_relative_program_is_found_from_here_and_started_there),
		cmocka_unit_test(the_environment_is_set_and_unset),
		cmocka_unit_test(stdin_is_what_is_given_or_nothing),
		cmocka_unit_test(of_huge_output_the_end_is_kept),
		cmocka_unit_test(a_large_limit_keeps_the_end_too),
		cmocka_unit_test(output_to_a_file_is_not_captured),
		cmocka_unit_test(a_file_size_limit_is_an_error_to_the_child_not_its_death),
		cmocka_unit_test(only_passed_descriptors_reach_the_child),
		cmocka_unit_test(the_child_gets_default_signals),
		cmocka_unit_test(a_time_limit_ends_it_even_if_it_ignores_sigterm),
		cmocka_unit_test(descendants_do_not_outlive_the_child),
		cmocka_unit_test(killing_takes_the_whole_family_and_tells_the_end),
		cmocka_unit_test(freeing_what_runs_leaves_nothing),
		cmocka_unit_test(kill_9_of_the_parent_leaves_nothing),
		cmocka_unit_test(parents_with_several_children_leave_nothing),
		cmocka_unit_test(a_killed_keeper_is_lost_not_a_verdict),
		cmocka_unit_test(a_killed_keeper_with_output_held_open_does_not_block),
		cmocka_unit_test(the_last_line_of_stderr_is_in_the_error),
		cmocka_unit_test(cpu_time_of_the_child_is_counted),
		cmocka_unit_test(programs_are_found_in_path_and_sbin),
	};

	return cmocka_run_group_tests_name("proc", tests, setup, teardown);
}
