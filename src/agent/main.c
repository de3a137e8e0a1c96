/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * firstbad-agent: /init of the guest; with arguments, the executor of the command machine.
 *
 * PID 1 must not die: it only mounts, forks a worker, reaps what is left to it and powers
 * off. Whatever goes wrong with the job goes wrong in the worker.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/reboot.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/agent/agent.h"

#define JOB_PATH     "/job.json"
#define RESULTS_PATH "/dev/ttyS1"

static void fatal(const char *what)
{
	fb_say(json_pack("{s:s, s:s}", "ev", "failed", "why", what));
}

static json_t *load_job(const char *path, char *why, size_t size)
{
	json_error_t jerr;
	json_t *job = json_load_file(path, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &jerr);

	if (!job)
		snprintf(why, size, "job: line %d: %s", jerr.line, jerr.text);
	return job;
}

static void say_hello(const struct fb_agent *agent)
{
	struct utsname u = {0};

	uname(&u);
	fb_say(json_pack("{s:s, s:i, s:I, s:s}", "ev", "hello", "agent", FB_AGENT_VERSION, "at_ns",
			 (json_int_t)agent->start_ns, "release", u.release));
}

static int worker(struct fb_agent *agent, const char *job_path)
{
	char why[512] = "";
	json_t *job = load_job(job_path, why, sizeof(why));
	sigset_t chld;

	sigemptyset(&chld);
	sigaddset(&chld, SIGCHLD);
	sigprocmask(SIG_BLOCK, &chld, NULL);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	if (!job) {
		fatal(why);
		return 0;
	}
	if (agent->in_guest) {
		uint64_t seed = (uint64_t)json_integer_value(json_object_get(job, "seed"));
		int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

		if (fd >= 0 && write(fd, "-1000", 5) < 0)
			fprintf(stderr, "firstbad-agent: oom_score_adj: %s\n", strerror(errno));
		if (fd >= 0)
			close(fd);
		fb_guest_entropy(seed);
		fb_guest_load_modules(job);
		if (fb_guest_sysctls(json_object_get(job, "sysctl"), NULL, why, sizeof(why)) < 0) {
			fatal(why);
			return 0;
		}
	}
	fb_job_run(agent, job);
	if (agent->lost)
		return FB_AGENT_LOST + agent->lost;
	fb_say(json_pack("{s:s, s:I}", "ev", "done", "at_ns", (json_int_t)fb_agent_now_ns()));
	return 0;
}

static void say_worker_end(int status)
{
	char why[128];

	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return;
	if (WIFSIGNALED(status))
		snprintf(why, sizeof(why), "the agent was killed by signal %d", WTERMSIG(status));
	else
		snprintf(why, sizeof(why), "the agent exited with status %d", WEXITSTATUS(status));
	fatal(why);
}

static void pid1(void)
{
	struct fb_agent agent = {.in_guest = true,
				 .start_ns = fb_agent_now_ns(),
				 .setup_ns = -1,
				 .tmp = "/run/out",
				 .dir = "/tmp"};
	int status;
	pid_t pid;

	fb_guest_mount_all();
	setenv("PATH", "/bin", 1);
	setenv("LD_LIBRARY_PATH", "/lib", 1);
	setenv("HOME", "/tmp", 1);
	setenv("LC_ALL", "C", 1);
	setenv("TZ", "UTC", 1);
	if (fb_say_open(RESULTS_PATH) < 0) {
		fprintf(stderr, "firstbad-agent: %s: %s\n", RESULTS_PATH, strerror(errno));
	} else {
		say_hello(&agent);
		pid = fork();
		if (pid == 0)
			_exit(worker(&agent, JOB_PATH));
		if (pid < 0)
			fatal("fork failed");
		/* Orphans come here too; only the worker's end counts. */
		while (pid > 0) {
			pid_t got = wait(&status);

			if (got == pid || (got < 0 && errno == ECHILD))
				break;
		}
		if (pid > 0)
			say_worker_end(status);
	}
	fflush(NULL);
	for (;;) {
		reboot(RB_POWER_OFF);
		reboot(RB_HALT_SYSTEM);
		pause();
	}
}

/* firstbad-agent JOB RESULTS TMP DIR: the command machine's. */
static int on_host(char **argv)
{
	struct fb_agent agent = {
		.start_ns = fb_agent_now_ns(), .setup_ns = -1, .tmp = argv[3], .dir = argv[4]};
	int rc;

	/* `ulimit -f` is an error like a full disk; step.c gives the steps the signal back. */
	signal(SIGXFSZ, SIG_IGN);
	if (fb_say_open(argv[2]) < 0) {
		fprintf(stderr, "firstbad-agent: %s: %s\n", argv[2], strerror(errno));
		return 1;
	}
	say_hello(&agent);
	rc = worker(&agent, argv[1]);
	return rc == 0 && fb_say_errno() ? FB_AGENT_LOST + fb_say_errno() : rc;
}

int main(int argc, char **argv)
{
	/* Else jansson asks urandom for one, which waits a second for a pool that is empty. */
	json_object_seed(1);
	if (getpid() == 1)
		pid1();
	if (argc == 5)
		return on_host(argv);
	fprintf(stderr, "firstbad-agent: this program is started by firstbad\n");
	return 2;
}
