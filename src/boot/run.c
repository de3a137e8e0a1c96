/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Running one machine: start it, watch its channels, end it, say how it ended. */
#include "src/boot/run.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "src/boot/internal.h"
#include "src/util/clock.h"
#include "src/util/dirs.h"
#include "src/util/file.h"
#include "src/util/json.h"
#include "src/util/proc.h"
#include "src/util/util.h"

#define POLL_MS	       20
#define DONE_GRACE_NS  (3 * FB_NS_PER_S) /* from the agent's last word to QEMU's end */
#define PANIC_GRACE_NS (5 * FB_NS_PER_S) /* a panic reboots at once, or never */
#define SPACE_MIN_B    (1u << 20)	 /* less than this free: output may have been lost */

/* A file that somebody else appends to. */
struct tail {
	int fd;
	off_t pos;
};

struct machine {
	const struct fb_boot_spec *spec;
	const char *dir;
	struct fb_proc *proc;
	struct tail console, results;
	int qmp_fd;
	bool qmp_asked;
	struct fb_console scan;
	struct fb_stream stream;
	struct fb_qmp qmp;
	int64_t start_ns, last_output_ns, done_ns;
	int64_t first_line_ns, agent_ns;
	bool lost; /* the host could not keep what the command wrote */
};

static char *in_dir(const char *dir, const char *name)
{
	return fb_xasprintf("%s/%s", dir, name);
}

static int create(const char *dir, const char *name, uint64_t size_b, int *ret_fd,
		  struct fb_error *err)
{
	FB_CLEANUP(fb_freep) char *path = in_dir(dir, name);
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	if (fd < 0)
		return fb_error_set_sys(err, errno, "create '%s'", path);
	if (ftruncate(fd, (off_t)size_b) < 0) {
		int saved = errno;

		close(fd);
		return fb_error_set_sys(err, saved, "create '%s'", path);
	}
	if (ret_fd)
		*ret_fd = fd;
	else
		close(fd);
	return 0;
}

/* Read on from where we were; true when there was something. */
static bool follow(struct tail *t, char *buf, size_t size, ssize_t *ret_n)
{
	do
		*ret_n = pread(t->fd, buf, size, t->pos);
	while (*ret_n < 0 && errno == EINTR);
	if (*ret_n <= 0)
		return false;
	t->pos += *ret_n;
	return true;
}

static void read_channels(struct machine *m)
{
	char buf[65536];
	ssize_t n;

	while (m->console.fd >= 0 && m->console.pos < (off_t)FB_CONSOLE_MAX &&
	       follow(&m->console, buf, sizeof(buf), &n)) {
		m->last_output_ns = fb_clock_mono_ns();
		if (m->first_line_ns < 0)
			m->first_line_ns = m->last_output_ns - m->start_ns;
		fb_console_feed(&m->scan, buf, (size_t)n);
	}
	while (m->results.pos < (off_t)FB_RESULTS_MAX &&
	       follow(&m->results, buf, sizeof(buf), &n)) {
		m->last_output_ns = fb_clock_mono_ns();
		fb_stream_feed(&m->stream, buf, (size_t)n);
		if (m->agent_ns < 0 && m->stream.hello)
			m->agent_ns = m->last_output_ns - m->start_ns;
	}
}

static void read_qmp(struct machine *m)
{
	static const char ask[] = "{\"execute\":\"qmp_capabilities\"}\n";
	char buf[4096];
	ssize_t n;

	while (m->qmp_fd >= 0 && (n = recv(m->qmp_fd, buf, sizeof(buf), MSG_DONTWAIT)) != 0) {
		if (n < 0)
			return;
		fb_qmp_feed(&m->qmp, buf, (size_t)n);
		if (m->qmp.greeted && !m->qmp_asked) {
			m->qmp_asked = true;
			if (send(m->qmp_fd, ask, sizeof(ask) - 1, MSG_NOSIGNAL) < 0)
				return;
		}
	}
	if (m->qmp_fd >= 0) {
		close(m->qmp_fd);
		m->qmp_fd = -1;
	}
}

/* Why to stop now, or FB_WATCH_ENDED when there is no reason to. */
static int reason_to_stop(struct machine *m)
{
	int64_t now_ns = fb_clock_mono_ns(), silence_ns = m->spec->silence_ns;

	if (m->console.pos >= (off_t)FB_CONSOLE_MAX)
		return FB_WATCH_CONSOLE_FULL;
	if (m->results.pos >= (off_t)FB_RESULTS_MAX)
		return FB_WATCH_RESULTS_FULL;
	if (m->stream.bad[0])
		return FB_WATCH_GARBAGE;
	if ((m->stream.done || m->stream.failed[0]) && !m->done_ns)
		m->done_ns = now_ns;
	if (m->done_ns && now_ns - m->done_ns > DONE_GRACE_NS)
		return m->stream.done ? FB_WATCH_DONE : FB_WATCH_FAILED;
	if (m->qmp.stopped)
		return FB_WATCH_FAILED;
	if (m->scan.panic[0] && (!silence_ns || silence_ns > PANIC_GRACE_NS))
		silence_ns = PANIC_GRACE_NS;
	if (silence_ns && now_ns - m->last_output_ns > silence_ns)
		return FB_WATCH_SILENT;
	if (m->spec->timeout_ns && now_ns - m->start_ns > m->spec->timeout_ns)
		return FB_WATCH_TIMEOUT;
	return FB_WATCH_ENDED;
}

static int watch(struct machine *m)
{
	for (;;) {
		struct pollfd p[2] = {{fb_proc_fd(m->proc), POLLIN, 0}, {m->qmp_fd, POLLIN, 0}};
		bool ended;
		int stop;

		/* Ended first, then what it wrote: so nothing that it wrote is missed. */
		ended = poll(p, 2, POLL_MS) > 0 && p[0].revents;
		read_qmp(m);
		read_channels(m);
		if (ended)
			return FB_WATCH_ENDED;
		stop = reason_to_stop(m);
		if (stop != FB_WATCH_ENDED) {
			fb_proc_kill(m->proc);
			return stop;
		}
	}
}

static bool is_full(const char *dir)
{
	struct statvfs st;

	return statvfs(dir, &st) == 0 && (uint64_t)st.f_bavail * st.f_frsize < SPACE_MIN_B;
}

/* The last line of QEMU's own output, owned; NULL when it said nothing. */
static char *log_line(const char *dir)
{
	FB_CLEANUP(fb_freep) char *path = in_dir(dir, FB_BOOT_QEMU_LOG);
	struct fb_error err = FB_ERROR_INIT;
	struct fb_str s = FB_STR_INIT;
	struct fb_console lines = {0};

	if (fb_file_read(path, 1u << 20, &s, &err) == 0)
		fb_console_feed(&lines, fb_str_cstr(&s), s.len);
	fb_console_end(&lines);
	fb_str_release(&s);
	return lines.last[0] ? fb_xstrdup(lines.last) : NULL;
}

/* What makes results comparable, beside the image: equal text means equal conditions. */
static char *fingerprint(const struct machine *m)
{
	const char *slash = m->spec->bundle ? strrchr(m->spec->bundle, '/') : NULL;
	const char *bundle = slash ? slash + 1 : m->spec->bundle;
	json_t *o = json_object();
	char *text;

	json_object_set_new(o, "machine", json_string(fb_machine_name(m->spec->machine)));
	if (m->spec->machine != FB_MACHINE_COMMAND) {
		json_object_set_new(o, "qemu", json_string(m->qmp.version));
		json_object_set_new(o, "cpu", json_string(fb_cpu_model(m->spec->machine)));
		json_object_set_new(o, "bundle", json_string(bundle));
	}
	json_object_set_new(o, "release", json_string(m->stream.release));
	text = json_dumps(o, JSON_COMPACT);
	json_decref(o);
	return text;
}

static void fill_result(struct machine *m, struct fb_boot_result *ret)
{
	ret->runs = FB_TAKE(m->stream.runs);
	ret->nr_runs = m->stream.nr_runs;
	m->stream.nr_runs = 0;
	ret->wall_ns = fb_clock_mono_ns() - m->start_ns;
	ret->first_line_ns = m->first_line_ns;
	ret->agent_ns = m->agent_ns;
	ret->setup_ns = m->stream.setup_ns;
	ret->guest_ns = m->stream.done_ns;
	ret->console = in_dir(m->dir, FB_BOOT_CONSOLE);
	ret->fingerprint = fingerprint(m);
}

/* From the start of the process to the verdict. */
static int supervise(struct machine *m, const struct fb_proc_spec *proc_spec,
		     struct fb_boot_result *ret, struct fb_error *err)
{
	FB_CLEANUP(fb_freep) char *line = NULL;
	struct fb_proc_result end = {0};
	struct fb_watch w = {.stream = &m->stream,
			     .console = m->console.fd >= 0 ? &m->scan : NULL,
			     .qmp = m->qmp_fd >= 0 ? &m->qmp : NULL,
			     .silence_ns = m->spec->silence_ns,
			     .timeout_ns = m->spec->timeout_ns};
	int rc;

	m->start_ns = m->last_output_ns = fb_clock_mono_ns();
	m->first_line_ns = m->agent_ns = -1;
	rc = fb_proc_start(proc_spec, &m->proc, err);
	for (unsigned i = 0; i < proc_spec->nr_pass_fds; i++)
		close(proc_spec->pass_fds[i]);
	if (rc < 0)
		return -1;
	w.stop = watch(m);
	if (fb_proc_wait(m->proc, &end, err) < 0)
		return -1;
	read_qmp(m);
	read_channels(m);
	fb_console_end(&m->scan);
	fb_stream_end(&m->stream);
	w.exited = w.stop == FB_WATCH_ENDED && end.end == FB_PROC_EXITED;
	w.status = end.status;
	w.disk_full = is_full(m->dir);
	w.qemu_log_line = line = log_line(m->dir);
	m->lost = m->spec->machine == FB_MACHINE_COMMAND && w.exited && end.status > FB_STREAM_LOST;
	if (m->lost) {
		fb_proc_result_release(&end);
		return fb_error_set_sys(err, w.status - FB_STREAM_LOST,
					"keep what the command wrote in '%s'", m->dir);
	}
	ret->end = fb_classify(&w, &ret->why);
	fill_result(m, ret);
	fb_proc_result_release(&end);
	return 0;
}

static void machine_release(struct machine *m)
{
	fb_proc_free(m->proc);
	fb_closep(&m->console.fd);
	fb_closep(&m->results.fd);
	fb_closep(&m->qmp_fd);
	fb_stream_release(&m->stream);
	fb_qmp_release(&m->qmp);
}

static int run_qemu(struct machine *m, struct fb_boot_result *ret, struct fb_error *err)
{
	FB_CLEANUP(fb_freep) char *log = in_dir(m->dir, FB_BOOT_QEMU_LOG);
	FB_CLEANUP(fb_freep) char *initrd = in_dir(m->dir, FB_BOOT_INITRD);
	FB_CLEANUP(fb_freep) char *disk = in_dir(m->dir, FB_BOOT_DISK);
	FB_CLEANUP(fb_strvp) char **argv = NULL;
	bool has_disk = m->spec->machine != FB_MACHINE_DETERMINISTIC && m->spec->disk_b;
	struct fb_proc_spec spec = {.dir = m->dir, .out_path = log, .nr_pass_fds = 1};
	int pair[2], rc;

	if (has_disk && create(m->dir, FB_BOOT_DISK, m->spec->disk_b, NULL, err) < 0)
		return -1;
	if (create(m->dir, FB_BOOT_CONSOLE, 0, &m->console.fd, err) < 0 ||
	    create(m->dir, FB_BOOT_RESULTS, 0, &m->results.fd, err) < 0 ||
	    fb_job_initrd(m->spec, m->dir, err) < 0)
		return -1;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return fb_error_set_sys(err, errno, "socketpair");
	m->qmp_fd = pair[0];
	if (fb_machine_args(m->spec, m->dir, pair[1], &argv, err) < 0) {
		close(pair[1]);
		return -1;
	}
	spec.argv = (const char *const *)argv;
	spec.pass_fds = &pair[1];
	/* Second guard, should nobody be looking: the channels and the disk are all it writes. */
	spec.file_size_max = (has_disk ? m->spec->disk_b : 0) + 2 * (uint64_t)FB_RESULTS_MAX;
	rc = supervise(m, &spec, ret, err);
	/* Big, and made again from the spec when somebody wants to see it. */
	unlink(initrd);
	if (has_disk)
		unlink(disk);
	return rc;
}

static int run_command(struct machine *m, struct fb_boot_result *ret, struct fb_error *err)
{
	FB_CLEANUP(fb_freep) char *dir = realpath(m->dir, NULL);
	FB_CLEANUP(fb_freep) char *agent = fb_agent_path(err);
	FB_CLEANUP(fb_freep) char *log = in_dir(dir ? dir : m->dir, FB_BOOT_QEMU_LOG);
	FB_CLEANUP(fb_freep) char *console = in_dir(dir ? dir : m->dir, FB_BOOT_CONSOLE);
	FB_CLEANUP(fb_freep) char *results = in_dir(dir ? dir : m->dir, FB_BOOT_RESULTS);
	FB_CLEANUP(fb_freep) char *tmp = in_dir(dir ? dir : m->dir, "tmp");
	FB_CLEANUP(fb_freep) char *job_path = in_dir(dir ? dir : m->dir, "job.json");
	const char *argv[] = {agent, job_path, results, tmp, m->spec->dir, NULL};
	struct fb_proc_spec spec = {.argv = argv, .out_path = log};
	json_t *job, *cell;
	size_t i;
	int rc;

	if (!agent || !dir)
		return dir ? -1 : fb_error_set_sys(err, errno, "directory '%s'", m->dir);
	if (!m->spec->dir)
		return fb_error_set(err, FB_ERROR_INPUT, "the command machine needs a directory");
	json_array_foreach(m->spec->cells, i, cell) if (
		json_is_object(json_object_get(
			cell,
			"fs"))) return fb_error_set(err, FB_ERROR_INPUT,
						    "the command machine makes no file systems");
	if (create(dir, FB_BOOT_RESULTS, 0, &m->results.fd, err) < 0 ||
	    create(dir, FB_BOOT_CONSOLE, 0, NULL, err) < 0 || fb_mkdirs(tmp, err) < 0)
		return -1;
	job = fb_job_json(m->spec, NULL);
	rc = fb_json_save(job_path, job, err);
	json_decref(job);
	if (rc == 0)
		rc = supervise(m, &spec, ret, err);
	return rc;
}

static int check(const struct fb_boot_spec *spec, struct fb_error *err)
{
	size_t i;
	json_t *cell;

	if (!json_is_array(spec->cells))
		return fb_error_set(err, FB_ERROR_INPUT, "a boot without cells");
	json_array_foreach(
		spec->cells, i,
		cell) if (!json_is_object(cell) ||
			  !json_is_array(json_object_get(
				  cell, "measure"))) return fb_error_set(err, FB_ERROR_INPUT,
									 "cell %zu is no job", i);
	return 0;
}

int fb_boot_run_unprobed(const struct fb_boot_spec *spec, const char *dir,
			 struct fb_boot_result *ret, struct fb_error *err)
{
	struct machine m = {
		.spec = spec, .dir = dir, .console.fd = -1, .results.fd = -1, .qmp_fd = -1};
	struct fb_boot_result result = {
		.first_line_ns = -1, .agent_ns = -1, .setup_ns = -1, .guest_ns = -1};
	int64_t start_ns = fb_clock_mono_ns();
	struct fb_error why = FB_ERROR_INIT;
	int rc;

	if (check(spec, err) < 0)
		return -1;
	fb_stream_init(&m.stream, spec->cells);
	rc = fb_mkdirs(dir, &why);
	if (rc == 0)
		rc = spec->machine == FB_MACHINE_COMMAND ? run_command(&m, &result, &why)
							 : run_qemu(&m, &result, &why);
	machine_release(&m);
	if (rc < 0) {
		fb_boot_result_release(&result);
		/* No boot of its own, nor one more, would make room. */
		if (why.code == FB_ERROR_INPUT || why.sys || m.lost) {
			*err = why;
			return -1;
		}
		/* Nothing was learnt of the kernel: the host lacks something, for good or for now.
		 */
		result = (struct fb_boot_result){
			.end = why.code == FB_ERROR_MISSING ? FB_END_UNUSABLE : FB_END_INFRA,
			.why = fb_xstrdup(why.text),
			.wall_ns = fb_clock_mono_ns() - start_ns,
			.first_line_ns = -1,
			.agent_ns = -1,
			.setup_ns = -1,
			.guest_ns = -1,
		};
	}
	*ret = result;
	return 0;
}

int fb_boot_run(const struct fb_boot_spec *spec, const char *dir, struct fb_boot_result *ret,
		struct fb_error *err)
{
	FB_CLEANUP(fb_freep) char *cache = NULL, *why = NULL;
	struct fb_error probe_err = FB_ERROR_INIT;

	if (spec->machine == FB_MACHINE_KVM) {
		cache = fb_dir_cache();
		if (fb_machine_probe(FB_MACHINE_KVM, NULL, NULL, cache, &why, &probe_err) == 0) {
			*ret = (struct fb_boot_result){.end = FB_END_UNUSABLE,
						       .why = FB_TAKE(why),
						       .first_line_ns = -1,
						       .agent_ns = -1,
						       .setup_ns = -1,
						       .guest_ns = -1};
			return 0;
		}
	}
	return fb_boot_run_unprobed(spec, dir, ret, err);
}
