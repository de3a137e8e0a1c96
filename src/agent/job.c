/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The cells of a job, one after the other. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/agent/agent.h"

#define ERR_MAX	   (16u << 10) /* its tail is sent */
#define RESULT_MAX (1u << 20)
#define WHY_MAX	   512
#define MARK	   "firstbad:"
#define MARKED_MAX (8u << 10) /* of one marked line: what is longer the host refuses anyway */

struct run {
	struct fb_agent *agent;
	const json_t *job, *spec;
	size_t cell, run;
	const char *device; /* "/dev/nullb0", or NULL */
	const char *dir;    /* where its steps run */
	char *out, *err, *result;
	bool mounted;
	json_t *sysctl_was; /* what the cell changed, or NULL */
	int status;	    /* of the measured step, as a shell would say it; -1: it has none */
	char why[WHY_MAX];
};

static void *xrealloc(void *p, size_t size)
{
	p = realloc(p, size);
	if (!p)
		abort(); /* PID 1 notices and says that the worker died */
	return p;
}

static char *path_in(const char *dir, const char *name)
{
	size_t size = strlen(dir) + strlen(name) + 2;
	char *path = xrealloc(NULL, size);

	snprintf(path, size, "%s/%s", dir, name);
	return path;
}

/* The strings of a JSON array as an argument vector, @extra appended; free() the vector only. */
static char **argv_of(const json_t *array, const char *extra)
{
	size_t n = json_array_size(array), i, used = 0;
	char **argv = xrealloc(NULL, (n + 2) * sizeof(*argv));
	json_t *v;

	json_array_foreach(array, i, v)
	{
		if (!json_is_string(v)) {
			free(argv);
			return NULL;
		}
		argv[used++] = (char *)json_string_value(v);
	}
	if (extra)
		argv[used++] = (char *)extra;
	argv[used] = NULL;
	if (used == 0) {
		free(argv);
		return NULL;
	}
	return argv;
}

static int64_t timeout_ns(const struct run *run)
{
	json_int_t s = json_integer_value(json_object_get(run->spec, "timeout_s"));

	return (s > 0 && s < 1000000 ? s : 600) * 1000000000LL;
}

/* What is full in a guest is full by what runs there. On the host it may be anybody's doing. */
static void note_lost(struct fb_agent *agent, int errnum)
{
	if (!agent->in_guest && !agent->lost)
		agent->lost = errnum;
}

/* A step that must succeed and whose output nobody wants. */
static int do_step(struct run *run, const json_t *array, const char *extra, const char *dir,
		   struct fb_step_end *end)
{
	char **argv = argv_of(array, extra);
	bool failed;

	if (!argv) {
		snprintf(run->why, sizeof(run->why), "step is not a list of strings");
		return -1;
	}
	fb_step_run(argv, dir, "/dev/null", run->err, timeout_ns(run), run->agent->in_guest, end);
	note_lost(run->agent, end->lost);
	failed = fb_step_why(end, argv[0], run->err, run->why, sizeof(run->why));
	free(argv);
	return failed ? -1 : 0;
}

static int make_device(struct run *run)
{
	const char *device = json_string_value(json_object_get(run->job, "device"));
	json_int_t size_b = json_integer_value(json_object_get(run->job, "disk_b"));
	struct stat st;

	if (!device || !size_b)
		return 0;
	if (!strcmp(device, "null_blk")) {
		run->device = fb_guest_new_disk((uint64_t)size_b, run->why, sizeof(run->why));
		return run->device ? 0 : -1;
	}
	if (stat(device, &st) < 0) {
		snprintf(run->why, sizeof(run->why), "no device %s: %s", device, strerror(errno));
		return -1;
	}
	run->device = device;
	return 0;
}

/*
 * mount(2) takes the options that all file systems share as flags, and only the rest as text.
 * Return: flags; *ret_rest is the text, free() it.
 */
static unsigned long mount_flags(const char *options, char **ret_rest)
{
	static const struct {
		const char *name;
		unsigned long set, clear;
	} known[] = {
		{"defaults", 0, 0},
		{"ro", MS_RDONLY, 0},
		{"rw", 0, MS_RDONLY},
		{"sync", MS_SYNCHRONOUS, 0},
		{"async", 0, MS_SYNCHRONOUS},
		{"dirsync", MS_DIRSYNC, 0},
		{"noatime", MS_NOATIME, 0},
		{"atime", 0, MS_NOATIME},
		{"nodiratime", MS_NODIRATIME, 0},
		{"relatime", MS_RELATIME, 0},
		{"strictatime", MS_STRICTATIME, 0},
		{"lazytime", MS_LAZYTIME, 0},
		{"nosuid", MS_NOSUID, 0},
		{"nodev", MS_NODEV, 0},
		{"noexec", MS_NOEXEC, 0},
	};
	char *rest = xrealloc(NULL, strlen(options) + 1);
	unsigned long flags = 0;

	*rest = '\0';
	for (const char *p = options; *p;) {
		size_t len = strcspn(p, ","), i;

		for (i = 0; i < sizeof(known) / sizeof(known[0]); i++)
			if (strlen(known[i].name) == len && !strncmp(known[i].name, p, len))
				break;
		if (i < sizeof(known) / sizeof(known[0])) {
			flags = (flags | known[i].set) & ~known[i].clear;
		} else if (len) {
			if (*rest)
				strcat(rest, ",");
			strncat(rest, p, len);
		}
		p += len + (p[len] == ',');
	}
	*ret_rest = rest;
	return flags;
}

static int make_fs(struct run *run, const json_t *fs)
{
	const char *type = json_string_value(json_object_get(fs, "type"));
	const char *options = json_string_value(json_object_get(fs, "options"));
	struct fb_step_end end;
	unsigned long flags;
	char *rest;
	int rc;

	if (!type || !run->device) {
		snprintf(run->why, sizeof(run->why), "a file system needs a type and a device");
		return -1;
	}
	rc = do_step(run, json_object_get(fs, "mkfs"), run->device, "/tmp", &end);
	if (run->agent->setup_ns < 0)
		run->agent->mkfs_ns += end.end_ns - end.start_ns;
	if (rc < 0)
		return -1;
	flags = mount_flags(options ? options : "", &rest);
	rc = mount(run->device, "/mnt", type, flags, rest);
	free(rest);
	if (rc < 0) {
		snprintf(run->why, sizeof(run->why), "mount %s as %s%s%s: %s", run->device, type,
			 options && *options ? " with " : "", options ? options : "",
			 strerror(errno));
		return -1;
	}
	run->mounted = true;
	run->dir = "/mnt";
	return 0;
}

static int make_file(struct run *run, const json_t *file)
{
	const char *name = json_string_value(json_object_get(file, "path"));
	const json_t *text = json_object_get(file, "text");
	char *path;
	FILE *f;
	int rc = 0;

	if (!name || !json_is_string(text) || name[0] == '/' || strstr(name, "..")) {
		snprintf(run->why, sizeof(run->why), "bad file in the job");
		return -1;
	}
	path = path_in(run->dir, name);
	for (size_t i = strlen(run->dir) + 1; path[i]; i++) {
		if (path[i] != '/')
			continue;
		path[i] = '\0';
		mkdir(path, 0755);
		path[i] = '/';
	}
	f = fopen(path, "we");
	if (!f ||
	    fwrite(json_string_value(text), 1, json_string_length(text), f) !=
		    json_string_length(text) ||
	    fchmod(fileno(f), 0755) < 0)
		rc = -1;
	if (f && fclose(f) != 0)
		rc = -1;
	if (rc < 0)
		snprintf(run->why, sizeof(run->why), "write file %s: %s", name, strerror(errno));
	free(path);
	return rc;
}

static int set_sysctls(struct run *run)
{
	const json_t *list = json_object_get(run->spec, "sysctl");

	if (!json_array_size(list))
		return 0;
	if (!run->agent->in_guest) {
		snprintf(run->why, sizeof(run->why), "no sysctl is changed on a host");
		return -1;
	}
	run->sysctl_was = json_array();
	return fb_guest_sysctls(list, run->sysctl_was, run->why, sizeof(run->why));
}

static void reset_sysctls(struct run *run)
{
	char why[WHY_MAX / 2];

	if (fb_guest_sysctls(run->sysctl_was, NULL, why, sizeof(why)) < 0 && !run->why[0])
		snprintf(run->why, sizeof(run->why), "give back %s", why);
	json_decref(run->sysctl_was);
}

static int prepare(struct run *run)
{
	const json_t *fs = json_object_get(run->spec, "fs"), *array;
	struct fb_step_end end;
	size_t i;
	json_t *v;

	if (run->agent->in_guest && make_device(run) < 0)
		return -1;
	if (run->device)
		setenv("FIRSTBAD_DEVICE", run->device, 1);
	if ((json_is_object(fs) && make_fs(run, fs) < 0) || set_sysctls(run) < 0)
		return -1;
	array = json_object_get(run->spec, "files");
	json_array_foreach(array, i, v) if (make_file(run, v) < 0) return -1;
	array = json_object_get(run->spec, "prepare");
	json_array_foreach(array, i, v) if (do_step(run, v, NULL, run->dir, &end) < 0) return -1;
	return 0;
}

/* At most @max bytes, its end when longer; free() it. */
static char *read_tail(const char *path, size_t max, size_t *ret_len, bool *ret_cut)
{
	int fd = fb_step_open(path);
	char *buf = xrealloc(NULL, max + 1);
	struct stat st;
	ssize_t n = 0;

	*ret_len = 0;
	*ret_cut = false;
	if (fd >= 0 && fstat(fd, &st) == 0) {
		off_t skip = (size_t)st.st_size > max ? st.st_size - (off_t)max : 0;

		*ret_cut = skip > 0;
		while (*ret_len < max &&
		       (n = pread(fd, buf + *ret_len, max - *ret_len, skip + (off_t)*ret_len)) > 0)
			*ret_len += (size_t)n;
	}
	if (fd >= 0)
		close(fd);
	return buf;
}

/*
 * What the step wrote to $FIRSTBAD_RESULT joins its stdout, each line with the mark that
 * tells values from chatter, so that there is one form to parse.
 */
static void say_result_file(struct run *run)
{
	static const char mark[] = "firstbad: ";
	bool cut;
	size_t len;
	char *buf = read_tail(run->result, RESULT_MAX, &len, &cut), *end = buf + len;
	struct stat st;

	if (stat(run->result, &st) == 0 && !S_ISREG(st.st_mode) && !run->why[0])
		snprintf(run->why, sizeof(run->why),
			 "what $FIRSTBAD_RESULT names is not a regular file");
	for (char *p = buf; p < end;) {
		char *nl = memchr(p, '\n', (size_t)(end - p)), *line;
		size_t n = (size_t)((nl ? nl : end) - p);

		line = xrealloc(NULL, n + sizeof(mark) + 2);
		memcpy(line, mark, sizeof(mark) - 1);
		memcpy(line + sizeof(mark) - 1, p, n);
		line[sizeof(mark) - 1 + n] = '\n';
		if (n >= sizeof(mark) - 1 && !memcmp(p, mark, sizeof(mark) - 1))
			fb_say_bytes("out", run->cell, run->run, line + sizeof(mark) - 1, n + 1);
		else if (n)
			fb_say_bytes("out", run->cell, run->run, line, sizeof(mark) + n);
		free(line);
		p += n + 1;
	}
	free(buf);
}

/* Only the lines with the mark; a build's output may be of any size. */
static void say_marked(struct run *run)
{
	int fd = fb_step_open(run->out);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");
	char *line = xrealloc(NULL, MARKED_MAX);
	size_t n = 0, said = 0;
	bool marked = true; /* so far */
	int c;

	while (f && (c = getc_unlocked(f)) != EOF) {
		if (n < sizeof(MARK) - 1 && c != MARK[n])
			marked = false;
		if (marked && n < MARKED_MAX)
			line[n] = (char)c;
		n++;
		if (c != '\n')
			continue;
		if (marked && n < MARKED_MAX && said + n <= FB_STEP_KEEP / 2)
			fb_say_bytes("out", run->cell, run->run, line, n);
		else if (marked && !run->why[0])
			snprintf(run->why, sizeof(run->why), "too much after '" MARK "'");
		said += marked ? n : 0;
		marked = true;
		n = 0;
	}
	/* Without its newline, so that the host sees that it is cut off. */
	if (marked && n >= sizeof(MARK) - 1)
		fb_say_bytes("out", run->cell, run->run, line, n < MARKED_MAX ? n : MARKED_MAX);
	free(line);
	if (f)
		fclose(f);
}

static void say_output(struct run *run, const char *program, bool out_cut)
{
	bool cut;
	size_t len;
	char *buf;

	/* What is left out of much output is not of marked lines. */
	if (json_is_true(json_object_get(run->spec, "marked"))) {
		say_marked(run);
		return;
	}
	buf = read_tail(run->out, FB_STEP_KEEP, &len, &cut);
	/* Output that is not whole is refused: what is missing could be a value. */
	if (out_cut && !run->why[0])
		snprintf(run->why, sizeof(run->why), "%s: more than %u MiB of output", program,
			 FB_STEP_KEEP >> 20);
	if (!out_cut)
		fb_say_bytes("out", run->cell, run->run, buf, len);
	free(buf);
}

static void measure(struct run *run, json_t **ret_counters, bool *ret_stuck)
{
	const char *disk = run->device ? strrchr(run->device, '/') + 1 : NULL;
	char **argv = argv_of(json_object_get(run->spec, "measure"), NULL);
	json_int_t seed = json_integer_value(json_object_get(run->job, "seed"));
	struct fb_counts before, after;
	struct fb_step_end end;
	size_t len;
	bool cut;
	char *buf;

	if (!argv) {
		snprintf(run->why, sizeof(run->why), "nothing to measure in the job");
		return;
	}
	if (run->agent->in_guest) {
		/* What the preparation left dirty is not the measured step's to write. */
		sync();
		fb_guest_delay((uint64_t)seed + (run->cell << 32) + (run->run << 16));
	}
	if (run->agent->setup_ns < 0)
		run->agent->setup_ns =
			fb_agent_now_ns() - run->agent->start_ns - run->agent->mkfs_ns;
	fb_say(json_pack("{s:s, s:I, s:I, s:I, s:I}", "ev", "start", "cell", (json_int_t)run->cell,
			 "run", (json_int_t)run->run, "at_ns", (json_int_t)fb_agent_now_ns(),
			 "setup_ns", (json_int_t)run->agent->setup_ns));
	fb_counts_read(disk, &before);
	fb_step_run(argv, run->dir, run->out, run->err, timeout_ns(run), run->agent->in_guest,
		    &end);
	fb_counts_read(disk, &after);
	note_lost(run->agent, end.lost);
	fb_step_why(&end, argv[0], run->err, run->why, sizeof(run->why));
	run->status = fb_step_status(&end);
	*ret_stuck = end.stuck;
	*ret_counters = fb_counts_json(&before, &after, &end);
	say_output(run, argv[0], end.out_cut);
	say_result_file(run);
	buf = read_tail(run->err, ERR_MAX, &len, &cut);
	fb_say_bytes("err", run->cell, run->run, buf, len);
	free(buf);
	free(argv);
}

/* False when nothing more can be run in this boot. */
static bool do_run(struct fb_agent *agent, const json_t *job, const json_t *spec, size_t cell,
		   size_t nr)
{
	struct run run = {
		.agent = agent, .job = job, .spec = spec, .cell = cell, .run = nr, .status = -1};
	json_t *counters = NULL, *line;
	bool stuck = false;

	run.dir = agent->dir;
	run.out = path_in(agent->tmp, "stdout");
	run.err = path_in(agent->tmp, "stderr");
	run.result = path_in(agent->tmp, "result");
	unlink(run.out);
	unlink(run.err);
	unlink(run.result);
	setenv("FIRSTBAD_RESULT", run.result, 1);
	if (prepare(&run) == 0)
		measure(&run, &counters, &stuck);
	if (run.mounted && umount("/mnt") < 0 && umount2("/mnt", MNT_DETACH) < 0 && !run.why[0])
		snprintf(run.why, sizeof(run.why), "umount: %s", strerror(errno));
	reset_sysctls(&run);
	/* A cut in the middle of a character would not be JSON. */
	for (char *p = run.why; *p; p++)
		if (*p < 0x20 || *p > 0x7e)
			*p = '?';
	line = json_pack("{s:s, s:I, s:I, s:b, s:b, s:s, s:o}", "ev", "end", "cell",
			 (json_int_t)cell, "run", (json_int_t)nr, "ok", !run.why[0], "stuck", stuck,
			 "why", run.why, "counters", counters ? counters : json_object());
	if (run.status >= 0)
		json_object_set_new(line, "status", json_integer(run.status));
	if (agent->lost)
		json_decref(line);
	else
		fb_say(line);
	note_lost(agent, fb_say_errno());
	/* What was sent need not lie there twice. */
	if (!run.why[0]) {
		unlink(run.out);
		unlink(run.err);
		unlink(run.result);
	}
	free(run.out);
	free(run.err);
	free(run.result);
	return !stuck && !agent->lost;
}

void fb_job_run(struct fb_agent *agent, const json_t *job)
{
	const json_t *cells = json_object_get(job, "cells");
	size_t cell;
	json_t *spec;

	json_array_foreach(cells, cell, spec)
	{
		json_int_t runs = json_integer_value(json_object_get(spec, "runs"));

		for (json_int_t run = 0; run < (runs > 0 ? runs : 1); run++)
			if (!do_run(agent, job, spec, cell, (size_t)run))
				return;
	}
}
