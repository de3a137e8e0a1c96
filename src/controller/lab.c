/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The lab of one session: commits to kernels, kernels and seeds to stored samples. */
#include "src/controller/lab.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "src/util/clock.h"
#include "src/util/dirs.h"
#include "src/util/file.h"
#include "src/util/json.h"
#include "src/util/util.h"

#define RESULT_MAX_B   (256u << 20) /* a boot's result.json: outputs of all cells, escaped */
#define RESULT_LEAST_B (64u << 10)
#define INFRA_TRIES    3
#define WAIT_NS	       (500 * FB_NS_PER_MS) /* how often a stop request is looked for */

void fb_lab_tell(struct fb_lab *lab, const char *fmt, ...)
{
	FB_CLEANUP(fb_freep) char *text = NULL;
	va_list ap;

	if (!lab->observer.tell)
		return;
	if (fmt) {
		va_start(ap, fmt);
		text = fb_xvasprintf(fmt, ap);
		va_end(ap);
	}
	lab->state.text = text;
	lab->observer.tell(lab->observer.ctx, &lab->state);
	lab->state.text = NULL;
}

void fb_lab_free(struct fb_lab *lab)
{
	if (!lab)
		return;
	fb_engine_free(lab->engine);
	fb_worktree_free(lab->wt);
	free(lab->session_name);
	free(lab->cache);
	free(lab->jobs_dir);
	free(lab->bundle);
	free(lab);
}

void fb_lab_freep(struct fb_lab **lab)
{
	fb_lab_free(*lab);
}

/* The programs that the cells need in the guest, each once. */
static char **all_tools(const struct fb_plan *plan)
{
	FB_CLEANUP(fb_strvp) char **tools = NULL;
	char **unique = NULL;

	for (size_t i = 0; i < plan->nr_cells; i++)
		plan->cells[i].testcase->tools(&plan->cells[i], &tools);
	for (size_t i = 0; tools && tools[i]; i++) {
		bool seen = false;

		for (size_t j = 0; unique && unique[j] && !seen; j++)
			seen = !strcmp(unique[j], tools[i]);
		if (!seen)
			fb_strv_add(&unique, tools[i]);
	}
	return unique ? unique : fb_xcalloc(1, sizeof(char *));
}

static int make_bundle(struct fb_lab *lab, struct fb_error *err)
{
	FB_CLEANUP(fb_strvp) char **tools = all_tools(lab->plan);
	FB_CLEANUP(fb_freep) char *dir = fb_xasprintf("%s/bundles", lab->cache);

	if (lab->machine == FB_MACHINE_COMMAND)
		return 0;
	if (fb_mkdirs(dir, err) < 0)
		return -1;
	return fb_bundle_make((const char *const *)tools, dir, &lab->bundle, err);
}

/* One process a session; the lock goes with the process, also by kill -9. */
static int lock_dir(const char *dir, const char *what, struct fb_error *err)
{
	FB_CLEANUP(fb_freep) char *path = fb_xasprintf("%s/lock", dir);
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);

	if (fd < 0)
		return fb_error_set_sys(err, errno, "open '%s'", path);
	if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		int errnum = errno;

		close(fd);
		if (errnum == EWOULDBLOCK)
			return fb_error_set(err, FB_ERROR_BUSY,
					    "%s is being run by another process", what);
		return fb_error_set_sys(err, errnum, "lock '%s'", path);
	}
	return 0; /* kept open until the process ends */
}

int fb_lab_open(const struct fb_lab_setup *setup, struct fb_lab **ret, struct fb_error *err)
{
	FB_CLEANUP(fb_lab_freep) struct fb_lab *lab = fb_xcalloc(1, sizeof(*lab));
	FB_CLEANUP(fb_freep) char *data = fb_dir_data();
	FB_CLEANUP(fb_freep) char *wt = NULL, *repo_id = NULL, *what = NULL;
	char hash[FB_HASH_HEX_SIZE];
	struct fb_hash h;
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	lab->store = setup->store;
	lab->history = setup->history;
	lab->plan = setup->plan;
	lab->session = setup->session->id;
	lab->session_name = fb_xstrdup(setup->session->name);
	lab->stop = setup->stop;
	lab->observer = setup->observer;
	lab->state.posterior = lab->state.eta_s = -1;
	lab->machine = (enum fb_machine)fb_machine_find(setup->plan->machine);
	lab->make_jobs = cpus > 0 ? (unsigned)cpus : 1;
	/* Host time is not measured on the deterministic machine, so its boots may run side by
	 * side. */
	lab->slots = lab->machine == FB_MACHINE_DETERMINISTIC ? lab->make_jobs : 1;
	lab->cache = fb_dir_cache();
	lab->jobs_dir = fb_xasprintf("%s/jobs/%s", data, lab->session_name);
	what = fb_xasprintf("session %s", lab->session_name);
	if (fb_mkdirs(lab->jobs_dir, err) < 0 || fb_mkdirs(lab->cache, err) < 0 ||
	    lock_dir(lab->jobs_dir, what, err) < 0)
		return -1;
	if (make_bundle(lab, err) < 0)
		return fb_error_wrap(err, "guest bundle");
	/* A user's command may be one of sudo, which a user namespace would break. */
	if (fb_engine_local(setup->self, lab->slots,
			    lab->machine == FB_MACHINE_COMMAND ? FB_PROC_FENCE_PID
							       : FB_PROC_FENCE_USER,
			    &lab->engine, err) < 0)
		return -1;
	/*
	 * One worktree and one objdir a repository and worktree of the user: sessions follow
	 * each other, and what the last one built is next to what this one builds.
	 */
	fb_hash_init(&h);
	fb_hash_add_str(&h, fb_history_gitdir(setup->history));
	fb_hash_add_str(&h, fb_history_workdir(setup->history));
	fb_hash_hex(&h, hash);
	repo_id = fb_xstrndup(hash, 12);
	wt = fb_xasprintf("%s/worktrees/%s", lab->cache, repo_id);
	if (fb_mkdirs(wt, err) < 0 || lock_dir(wt, "another session of this worktree", err) < 0)
		return -1;
	free(wt);
	wt = fb_xasprintf("%s/worktrees/%s/src", lab->cache, repo_id);
	if (fb_worktree_open(setup->history, wt, &lab->wt, err) < 0)
		return fb_error_wrap(err, "worktree '%s'", wt);
	*ret = FB_TAKE(lab);
	return 0;
}

/* Run the queued jobs until all of @jobs have ended; a stop request cancels them. */
static int wait_jobs(struct fb_lab *lab, const unsigned *jobs, size_t nr, struct fb_error *err)
{
	for (;;) {
		bool all = true;

		for (size_t i = 0; i < nr; i++) {
			enum fb_job_state s = fb_engine_state(lab->engine, jobs[i]);

			all = all && (s == FB_JOB_ENDED || s == FB_JOB_LOST);
		}
		if (all)
			return 0;
		if (lab->stop && *lab->stop) {
			for (size_t i = 0; i < nr; i++)
				fb_engine_cancel(lab->engine, jobs[i]);
			return fb_error_set(err, FB_ERROR_STOPPED, "stopped by a signal");
		}
		if (fb_engine_wait(lab->engine, WAIT_NS, err) < 0)
			return -1;
		fb_lab_tell(lab, NULL);
	}
}

/* Too little room for a result.json: the job could not even say so. */
static bool is_full(const char *dir)
{
	struct statvfs v;

	return statvfs(dir, &v) == 0 && v.f_bavail * v.f_frsize < RESULT_LEAST_B;
}

/* The job directory's result.json: its "ok" part as a new reference, or its error. */
static json_t *job_result(const char *dir, enum fb_job_state state, struct fb_error *err)
{
	FB_CLEANUP(fb_freep) char *path = fb_xasprintf("%s/result.json", dir);
	json_auto_t *result = NULL;
	json_t *part;

	if (state != FB_JOB_ENDED && is_full(dir)) {
		fb_error_set_sys(err, ENOSPC, "job '%s'", dir);
		return NULL;
	}
	if (state != FB_JOB_ENDED) {
		fb_error_set(err, FB_ERROR_INFRA, "job '%s' died; see job.log there", dir);
		return NULL;
	}
	result = fb_json_load(path, RESULT_MAX_B, err);
	if (!result)
		return NULL;
	part = json_object_get(result, "error");
	if (part) {
		json_int_t code = json_integer_value(json_object_get(part, "code"));
		json_int_t sys = json_integer_value(json_object_get(part, "sys"));
		const char *text = fb_json_str(part, "text");

		fb_error_set(err, (enum fb_error_code)code, "%s", text ? text : "unknown error");
		err->sys = (int)sys;
		return NULL;
	}
	part = json_object_get(result, "ok");
	if (!part)
		fb_error_set(err, FB_ERROR_INPUT, "%s: neither 'ok' nor 'error'", path);
	return json_incref(part);
}

/* Make the directory anew (a killed attempt may have left one) with its job.json. */
static int job_dir(const char *dir, const char *kind, json_t *spec_new, struct fb_error *err)
{
	json_auto_t *job = json_pack("{s:s, s:o}", "kind", kind, "spec", spec_new);
	FB_CLEANUP(fb_freep) char *path = fb_xasprintf("%s/job.json", dir);

	if (fb_remove_tree(dir, err) < 0 || fb_mkdirs(dir, err) < 0)
		return -1;
	return fb_json_save(path, job, err);
}

static char **copy_strv(char **v)
{
	char **copy = NULL;

	for (size_t i = 0; v && v[i]; i++)
		fb_strv_add(&copy, v[i]);
	return copy;
}

static void build_spec(const struct fb_lab *lab, const struct fb_commit *commit,
		       struct fb_build_spec *ret)
{
	const char *src = fb_worktree_path(lab->wt);
	const char *slash = strrchr(src, '/');

	*ret = (struct fb_build_spec){
		.src = fb_xstrdup(src),
		.tree_id = fb_xstrdup(commit->tree.hex),
		.objdir = fb_xasprintf("%.*s/obj", (int)(slash - src), src),
		.cache = fb_xstrdup(lab->cache),
		.config_base = fb_xstrdup(lab->plan->config_base),
		.fragments = copy_strv(lab->plan->fragments),
		.fixups = copy_strv(lab->plan->fixups),
		.jobs = lab->make_jobs,
		.timeout_ns = lab->plan->build_timeout_ns,
	};
}

/* Where a part of the cache is gone, that is the cause; what it led to is told behind it. */
static int blame_cache(const struct fb_lab *lab, const char *part, struct fb_error *err)
{
	FB_CLEANUP(fb_freep) char *sign = NULL;

	if (!part || access(part, F_OK) == 0)
		return -1;
	sign = fb_xstrdup(err->text);
	fb_error_clear(err);
	return fb_error_set(err, FB_ERROR_INFRA,
			    "cache '%s' was removed while it was in use: start again; what was "
			    "measured is kept (it showed as: %s)",
			    lab->cache, sign);
}

static int checkout(struct fb_lab *lab, const struct fb_oid *oid, struct fb_error *err)
{
	/* As for `git bisect run`, a commit's build begins with what the one before it left. */
	bool keep = lab->machine == FB_MACHINE_COMMAND && lab->checked_out;

	lab->checked_out = true;
	if ((keep ? fb_worktree_switch : fb_worktree_checkout)(lab->wt, oid, err) < 0)
		return blame_cache(lab, fb_worktree_path(lab->wt), err);
	return 0;
}

static int build_job(struct fb_lab *lab, const struct fb_oid *oid, const struct fb_build_spec *spec,
		     struct fb_build_result *ret, struct fb_error *err)
{
	FB_CLEANUP(fb_freep) char *dir = fb_xasprintf("%s/build-%.12s", lab->jobs_dir, oid->hex);
	json_auto_t *v = NULL;
	unsigned job;

	lab->state.doing = "checkout";
	fb_lab_tell(lab, NULL);
	if (checkout(lab, oid, err) < 0)
		return -1;
	lab->state.doing = "build";
	fb_lab_tell(lab, "building %.12s", oid->hex);
	if (job_dir(dir, "build", fb_build_spec_to_json(spec), err) < 0 ||
	    fb_engine_submit(lab->engine, FB_JOB_BUILD, dir, &job, err) < 0 ||
	    wait_jobs(lab, &job, 1, err) < 0)
		return -1;
	v = job_result(dir, fb_engine_state(lab->engine, job), err);
	if (!v || fb_build_result_from_json(v, ret, err) < 0)
		return -1;
	lab->build_ns += ret->wall_ns;
	lab->nr_builds++;
	return 0;
}

static bool is_same(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

/*
 * Into the store, unless it is known there. One key that gives two kernels means that the build
 * depends on something that the key leaves out: whoever compares over sessions must know.
 */
static int keep_build(struct fb_lab *lab, const struct fb_commit *commit, const char *key,
		      const struct fb_build_result *result, struct fb_error *err)
{
	FB_CLEANUP(fb_store_build_release) struct fb_store_build known = {0};
	json_auto_t *v = fb_build_result_to_json(result);
	struct fb_oid oid = commit->oid, tree = commit->tree;
	struct fb_store_build build = {
		.commit = oid.hex,
		.tree = tree.hex,
		.key = (char *)key,
		.signature = result->outcome == FB_BUILD_OK ? result->image.signature : NULL,
		.cause = result->outcome == FB_BUILD_OK ? NULL : result->cause,
		.result = v,
	};
	int found = fb_store_build_get(lab->store, oid.hex, key, &known, err);

	if (found < 0)
		return -1;
	if (found && is_same(known.signature, build.signature) && is_same(known.cause, build.cause))
		return 0;
	if (found && known.signature && build.signature)
		fb_lab_tell(lab,
			    "%.12s builds another kernel than it did before: its build is not "
			    "reproducible here",
			    oid.hex);
	return fb_store_build_add(lab->store, &build, err);
}

static int build_commit(struct fb_lab *lab, const struct fb_commit *commit,
			const struct fb_build_spec *spec, struct fb_build_result *ret,
			struct fb_error *err)
{
	char key[FB_HASH_HEX_SIZE];
	int found;

	if (fb_build_key(spec, key, err) < 0)
		return -1;
	found = fb_build_lookup(spec, ret, err);
	if (found < 0)
		return -1;
	if (!found && build_job(lab, &commit->oid, spec, ret, err) < 0)
		return fb_error_wrap(err, "build %.12s", commit->oid.hex);
	return keep_build(lab, commit, key, ret, err);
}

static bool by_status(const struct fb_plan *plan)
{
	bool any = false;

	for (size_t i = 0; i < plan->nr_cells; i++)
		any = any || fb_cell_by_status(&plan->cells[i]);
	return any;
}

int fb_lab_kernel(struct fb_lab *lab, const struct fb_oid *commit, struct fb_lab_kernel *ret,
		  struct fb_error *err)
{
	FB_CLEANUP(fb_commit_release) struct fb_commit c = {0};
	FB_CLEANUP(fb_build_spec_release) struct fb_build_spec spec = {0};
	FB_CLEANUP(fb_build_result_release) struct fb_build_result result = {0};
	struct fb_lab_kernel kernel = {.commit = *commit};

	if (fb_history_commit(lab->history, commit, &c, err) < 0)
		return -1;
	if (lab->machine == FB_MACHINE_COMMAND) {
		/*
		 * What runs is the tree itself: equal trees are equal "images". But where any
		 * command may judge a commit, it may look at more than the tree, as `git describe`
		 * does.
		 */
		kernel.signature = by_status(lab->plan) ? fb_xasprintf("commit:%s", c.oid.hex)
							: fb_xasprintf("tree:%s", c.tree.hex);
		kernel.toolchain = fb_xstrdup("");
		kernel.cached = true;
		*ret = kernel;
		return 0;
	}
	build_spec(lab, &c, &spec);
	if (build_commit(lab, &c, &spec, &result, err) < 0)
		return -1;
	if (result.outcome == FB_BUILD_OK) {
		const struct fb_image *image = &result.image;

		kernel.signature = fb_xstrdup(image->signature);
		kernel.toolchain = fb_xstrdup(image->toolchain);
		kernel.boot_path = fb_xstrdup(image->pvh ? image->vmlinux : image->bzimage);
		kernel.modules = image->modules ? fb_xstrdup(image->modules) : NULL;
	} else {
		kernel.cause = fb_xstrdup(result.cause);
	}
	kernel.cached = result.cached;
	*ret = kernel;
	return 0;
}

void fb_lab_kernel_release(struct fb_lab_kernel *kernel)
{
	free(kernel->signature);
	free(kernel->cause);
	free(kernel->toolchain);
	free(kernel->boot_path);
	free(kernel->modules);
	memset(kernel, 0, sizeof(*kernel));
}

static json_t *cell_jobs(const struct fb_cell *cells, size_t nr, struct fb_error *err)
{
	json_auto_t *array = json_array();

	for (size_t i = 0; i < nr; i++) {
		json_t *job = cells[i].testcase->job(&cells[i], err);

		if (!job)
			return NULL;
		json_array_append_new(array, job);
	}
	return json_incref(array);
}

/* Everything of a boot but the kernel and the seed. */
static int boot_spec(const struct fb_lab *lab, const struct fb_cell *cells, size_t nr_cells,
		     struct fb_boot_spec *ret, struct fb_error *err)
{
	const struct fb_plan *plan = lab->plan;
	json_t *jobs = cell_jobs(cells, nr_cells, err);

	if (!jobs)
		return -1;
	*ret = (struct fb_boot_spec){
		.machine = lab->machine,
		.bundle = lab->bundle ? fb_xstrdup(lab->bundle) : NULL,
		.cmdline = plan->cmdline ? fb_xstrdup(plan->cmdline) : NULL,
		.memory_b = plan->memory_b,
		.disk_b = plan->disk_b,
		.timeout_ns = plan->boot_timeout_ns,
		.silence_ns = plan->silence_ns,
		.sysctl = copy_strv(plan->sysctl),
		.dir = lab->machine == FB_MACHINE_COMMAND ? fb_xstrdup(fb_worktree_path(lab->wt))
							  : NULL,
		.cells = jobs,
	};
	return 0;
}

int fb_lab_env(struct fb_lab *lab, const struct fb_cell *cells, size_t nr_cells,
	       const char *toolchain, char ret[FB_HASH_HEX_SIZE], struct fb_error *err)
{
	FB_CLEANUP(fb_boot_spec_release) struct fb_boot_spec spec = {0};
	FB_CLEANUP(fb_freep) char *machine = NULL;
	struct fb_str jobs = FB_STR_INIT;
	struct fb_hash h;

	if (boot_spec(lab, cells, nr_cells, &spec, err) < 0 ||
	    fb_machine_fingerprint(&spec, &machine, err) < 0)
		return -1;
	fb_hash_init(&h);
	fb_hash_add_str(&h, machine);
	fb_hash_add_str(&h, toolchain);
	fb_json_line(spec.cells, &jobs);
	fb_hash_add_str(&h, fb_str_cstr(&jobs));
	fb_str_release(&jobs);
	for (size_t i = 0; i < nr_cells; i++) {
		FB_CLEANUP(fb_freep) char *key = fb_cell_key(&cells[i]);
		unsigned version = cells[i].testcase->version;

		fb_hash_add_str(&h, key);
		fb_hash_add(&h, &version, sizeof(version));
	}
	for (size_t i = 0; spec.sysctl && spec.sysctl[i]; i++)
		fb_hash_add_str(&h, spec.sysctl[i]);
	fb_hash_hex(&h, ret);
	return 0;
}

static void add_sample(struct fb_store_boot *boot, size_t *cap, unsigned run, const char *cell,
		       unsigned version, const char *metric, double value)
{
	FB_GROW(boot->samples, boot->nr_samples, *cap);
	boot->samples[boot->nr_samples++] = (struct fb_store_sample){.run = run,
								     .cell = fb_xstrdup(cell),
								     .version = version,
								     .metric = fb_xstrdup(metric),
								     .value = value};
}

/* A boot whose output cannot be believed gives no value at all. */
static void spoil(struct fb_store_boot *boot, enum fb_end end, const char *why)
{
	free(boot->end);
	free(boot->why);
	boot->end = fb_xstrdup(fb_end_name(end));
	boot->why = fb_xstrdup(why);
}

/* What a command said itself, apart from what was counted around it: its values, or its status. */
static void keep_saying(const struct fb_cell *cell, const char *key, const struct fb_values *values,
			int status, json_t *facts)
{
	json_t *names, *said = json_object_get(facts, "said");

	if (!fb_cell_by_status(cell) || status < 0)
		return;
	if (!said) {
		said = json_object();
		json_object_set_new(facts, "said", said);
	}
	if (!values || !values->nr) {
		json_object_set_new(said, key, json_integer(status));
		return;
	}
	names = json_array();
	for (size_t i = 0; i < values->nr; i++)
		json_array_append_new(names, json_string(values->v[i].metric));
	json_object_set_new(said, key, names);
}

static void read_run(const struct fb_cell *cell, const struct fb_boot_run *run, unsigned nr,
		     struct fb_store_boot *boot, size_t *cap)
{
	FB_CLEANUP(fb_freep) char *key = fb_cell_key(cell);
	FB_CLEANUP(fb_values_release) struct fb_values values = {0};
	struct fb_error err = FB_ERROR_INIT;
	unsigned version = cell->testcase->version;
	const char *name;
	json_t *v;

	if (run->end != FB_END_OK) {
		/* A status of 0 did not make it fail. */
		if (run->status > 0)
			keep_saying(cell, key, NULL, run->status, boot->facts);
		return;
	}
	if (cell->testcase->parse(cell, run->out, run->out_len, &values, &err) < 0) {
		fb_error_wrap(&err, "output of %s", cell->testcase->name);
		spoil(boot, FB_END_TEST_FAILED, err.text);
		return;
	}
	keep_saying(cell, key, &values, run->status, boot->facts);
	for (size_t i = 0; i < values.nr; i++)
		add_sample(boot, cap, nr, key, version, values.v[i].metric, values.v[i].value);
	if (values.tool)
		json_object_set_new(json_object_get(boot->facts, "tools"), key,
				    json_string(values.tool));
	json_object_foreach(run->counters, name,
			    v) if (json_is_number(v) && isnan(fb_values_get(&values, name)))
		add_sample(boot, cap, nr, key, version, name, json_number_value(v));
}

static json_t *boot_facts(const struct fb_boot_result *result)
{
	json_t *facts = json_pack(
		"{s:{}, s:I, s:I, s:I, s:I}", "tools", "first_line_ns",
		(json_int_t)result->first_line_ns, "agent_ns", (json_int_t)result->agent_ns,
		"setup_ns", (json_int_t)result->setup_ns, "guest_ns", (json_int_t)result->guest_ns);

	if (result->fingerprint)
		json_object_set_new(facts, "fingerprint", json_string(result->fingerprint));
	return facts;
}

static void read_boot(const struct fb_cell *cells, size_t nr_cells,
		      const struct fb_boot_result *result, struct fb_store_boot *boot)
{
	FB_CLEANUP(fb_freep) unsigned *seen = fb_xcalloc(nr_cells, sizeof(*seen));
	size_t cap = 0;

	boot->end = fb_xstrdup(fb_end_name(result->end));
	boot->why = result->why ? fb_xstrdup(result->why) : NULL;
	boot->wall_ns = result->wall_ns;
	boot->facts = boot_facts(result);
	for (size_t i = 0; i < result->nr_runs; i++) {
		const struct fb_boot_run *run = &result->runs[i];

		if (run->cell < nr_cells)
			read_run(&cells[run->cell], run, seen[run->cell]++, boot, &cap);
	}
}

struct attempt {
	char *dir;
	unsigned job;
	int64_t started_s;
	unsigned tries;
	bool done;
};

static int submit_boot(struct fb_lab *lab, const struct fb_cell *cells, size_t nr_cells,
		       const struct fb_lab_request *request, struct attempt *a,
		       struct fb_error *err)
{
	FB_CLEANUP(fb_boot_spec_release) struct fb_boot_spec spec = {0};
	const struct fb_lab_kernel *kernel = request->kernel;

	if (boot_spec(lab, cells, nr_cells, &spec, err) < 0)
		return -1;
	spec.vmlinux = kernel->boot_path ? fb_xstrdup(kernel->boot_path) : NULL;
	spec.modules = kernel->modules ? fb_xstrdup(kernel->modules) : NULL;
	spec.seed = request->seed;
	if (!a->dir)
		a->dir = fb_xasprintf("%s/boot-%.12s-%zu-%llu", lab->jobs_dir, kernel->commit.hex,
				      nr_cells, (unsigned long long)request->seed);
	if (lab->machine == FB_MACHINE_COMMAND && checkout(lab, &kernel->commit, err) < 0)
		return -1;
	a->started_s = fb_clock_wall_s();
	a->tries++;
	if (job_dir(a->dir, "boot", fb_boot_spec_to_json(&spec), err) < 0)
		return -1;
	return fb_engine_submit(lab->engine,
				lab->machine == FB_MACHINE_DETERMINISTIC ? FB_JOB_SHARED
									 : FB_JOB_EXCLUSIVE,
				a->dir, &a->job, err);
}

/* Return: 1, the boot is stored; -1. */
static int keep_boot(struct fb_lab *lab, const struct fb_cell *cells, size_t nr_cells,
		     const struct fb_lab_request *request, const char *env, const struct attempt *a,
		     const struct fb_boot_result *result, struct fb_store_boot *ret,
		     struct fb_error *err)
{
	struct fb_oid commit = request->kernel->commit;
	struct fb_store_boot boot = {.session = lab->session,
				     .env = fb_xstrdup(env),
				     .signature = fb_xstrdup(request->kernel->signature),
				     .commit = fb_xstrdup(commit.hex),
				     .seed = request->seed,
				     .started_s = a->started_s,
				     .dir = fb_xstrdup(a->dir)};

	read_boot(cells, nr_cells, result, &boot);
	lab->boot_ns += result->wall_ns;
	lab->nr_boots++;
	if (fb_store_boot_add(lab->store, &boot, err) < 0) {
		fb_store_boot_release(&boot);
		return -1;
	}
	*ret = boot;
	return 1;
}

/*
 * Can this lab run a job at all? One that does nothing, where the command ran.
 * Return: 1, it can; 0; -1.
 */
static int try_idle_job(struct fb_lab *lab, const struct fb_lab_kernel *kernel,
			struct fb_error *err)
{
	FB_CLEANUP(fb_freep) char *dir = fb_xasprintf("%s/idle", lab->jobs_dir);
	FB_CLEANUP(fb_boot_spec_release) struct fb_boot_spec spec = {0};
	FB_CLEANUP(fb_boot_result_release) struct fb_boot_result result = {0};
	struct fb_error why = FB_ERROR_INIT;
	json_auto_t *v = NULL;
	unsigned job;

	if (boot_spec(lab, NULL, 0, &spec, err) < 0 ||
	    fb_worktree_checkout(lab->wt, &kernel->commit, err) < 0)
		return -1;
	json_array_append_new(spec.cells, json_pack("{s:[s]}", "measure", "true"));
	if (job_dir(dir, "boot", fb_boot_spec_to_json(&spec), err) < 0 ||
	    fb_engine_submit(lab->engine, FB_JOB_EXCLUSIVE, dir, &job, err) < 0 ||
	    wait_jobs(lab, &job, 1, err) < 0)
		return -1;
	v = job_result(dir, fb_engine_state(lab->engine, job), &why);
	return v && fb_boot_result_from_json(v, &result, &why) == 0 && result.end == FB_END_OK;
}

/*
 * What went wrong each time is infra, unless the command did it: machine command shares the host
 * with its jobs, so a command can kill the agent that runs it or delete the job's directory.
 * The lab cannot see who did it, but whether a job that does nothing comes through: then the
 * fault is that of what ran, and the boot is one that failed, with the cause.
 */
static int blame(struct fb_lab *lab, const struct fb_cell *cells, size_t nr_cells,
		 const struct fb_lab_request *request, const char *env, const struct attempt *a,
		 const char *text, struct fb_store_boot *ret, struct fb_error *err)
{
	FB_CLEANUP(fb_boot_result_release)
	struct fb_boot_result failed = {
		.end = FB_END_TEST_FAILED,
		.first_line_ns = -1,
		.agent_ns = -1,
		.setup_ns = -1,
		.guest_ns = -1,
	};
	int works =
		lab->machine == FB_MACHINE_COMMAND ? try_idle_job(lab, request->kernel, err) : 0;

	if (works < 0)
		return -1;
	if (!works)
		return fb_error_set(err, FB_ERROR_INFRA, "boot of %.12s went wrong %u times: %s",
				    request->kernel->commit.hex, a->tries, text);
	failed.why = fb_xasprintf("the command spoiled its own job %u times, others go well: %s",
				  a->tries, text);
	return keep_boot(lab, cells, nr_cells, request, env, a, &failed, ret, err);
}

/* 1: stored; 0: the lab spoiled it, try again; -1: error. */
static int collect_boot(struct fb_lab *lab, const struct fb_cell *cells, size_t nr_cells,
			const struct fb_lab_request *request, const char *env, struct attempt *a,
			struct fb_store_boot *ret, struct fb_error *err)
{
	FB_CLEANUP(fb_boot_result_release) struct fb_boot_result result = {0};
	json_auto_t *v = NULL;
	struct fb_error why = FB_ERROR_INIT;
	const char *text;

	v = job_result(a->dir, fb_engine_state(lab->engine, a->job), &why);
	if (v && fb_boot_result_from_json(v, &result, &why) == 0 && result.end != FB_END_INFRA) {
		if (result.end == FB_END_UNUSABLE)
			return fb_error_set(err, FB_ERROR_MISSING,
					    "machine %s cannot be used here: %s",
					    fb_machine_name(lab->machine),
					    result.why ? result.why : "unknown reason");
		return keep_boot(lab, cells, nr_cells, request, env, a, &result, ret, err);
	}
	if (why.code != FB_ERROR_NONE && why.code != FB_ERROR_INFRA) {
		*err = why;
		return blame_cache(lab, request->kernel->boot_path, err);
	}
	text = why.code != FB_ERROR_NONE ? why.text : result.why ? result.why : "unknown reason";
	if (a->tries >= INFRA_TRIES)
		return blame(lab, cells, nr_cells, request, env, a, text, ret, err);
	fb_lab_tell(lab, "boot of %.12s went wrong (%s): once more", request->kernel->commit.hex,
		    text);
	return 0;
}

static int boot_round(struct fb_lab *lab, const struct fb_cell *cells, size_t nr_cells,
		      const struct fb_lab_request *requests, size_t nr, struct attempt *attempts,
		      struct fb_store_boot *ret, struct fb_error *err)
{
	FB_CLEANUP(fb_freep) unsigned *jobs = fb_xcalloc(nr, sizeof(*jobs));
	char env[FB_HASH_HEX_SIZE];
	size_t n = 0;
	struct fb_error waited = FB_ERROR_INIT;

	for (size_t i = 0; i < nr; i++)
		if (!attempts[i].done) {
			if (submit_boot(lab, cells, nr_cells, &requests[i], &attempts[i], err) < 0)
				return -1;
			jobs[n++] = attempts[i].job;
		}
	wait_jobs(lab, jobs, n, &waited);
	/* What ended before a stop request is kept all the same. */
	for (size_t i = 0; i < nr; i++) {
		int rc;

		if (attempts[i].done ||
		    (waited.code != FB_ERROR_NONE &&
		     fb_engine_state(lab->engine, attempts[i].job) != FB_JOB_ENDED))
			continue;
		if (fb_lab_env(lab, cells, nr_cells, requests[i].kernel->toolchain, env, err) < 0)
			return -1;
		rc = collect_boot(lab, cells, nr_cells, &requests[i], env, &attempts[i], &ret[i],
				  err);
		if (rc < 0)
			return -1;
		attempts[i].done = rc == 1;
	}
	if (waited.code != FB_ERROR_NONE) {
		*err = waited;
		return -1;
	}
	return 0;
}

int fb_lab_boot(struct fb_lab *lab, const struct fb_cell *cells, size_t nr_cells,
		const struct fb_lab_request *requests, size_t nr_requests,
		struct fb_store_boot *ret, struct fb_error *err)
{
	struct attempt *attempts = fb_xcalloc(nr_requests, sizeof(*attempts));
	/* Elsewhere a boot runs alone, and the command machine has one worktree to run in. */
	size_t at_once = lab->machine == FB_MACHINE_DETERMINISTIC ? nr_requests : 1;
	int rc = 0;

	memset(ret, 0, nr_requests * sizeof(*ret));
	lab->state.doing = "boot";
	fb_lab_tell(lab, NULL);
	for (size_t from = 0; from < nr_requests && rc == 0; from += at_once) {
		bool all = false;

		while (!all && rc == 0) {
			rc = boot_round(lab, cells, nr_cells, requests + from, at_once,
					attempts + from, ret + from, err);
			all = true;
			for (size_t i = 0; i < at_once; i++)
				all = all && attempts[from + i].done;
		}
	}
	for (size_t i = 0; i < nr_requests; i++) {
		free(attempts[i].dir);
		if (rc < 0)
			fb_store_boot_release(&ret[i]);
	}
	free(attempts);
	return rc;
}

static bool is_used(const int64_t *used, size_t nr, int64_t boot)
{
	for (size_t i = 0; i < nr; i++)
		if (used[i] == boot)
			return true;
	return false;
}

int fb_lab_find_boot(struct fb_lab *lab, const char *signature, const char *env,
		     const int64_t *used, size_t nr_used, struct fb_store_boot *ret,
		     bool *ret_found, uint64_t *ret_seed, struct fb_error *err)
{
	struct fb_store_boot *boots = NULL;
	size_t nr = 0, best = SIZE_MAX;
	int64_t session = lab->machine == FB_MACHINE_DETERMINISTIC ? 0 : lab->session;

	if (fb_store_boots(lab->store, env, signature, session, &boots, &nr, err) < 0)
		return -1;
	*ret_seed = 1;
	for (size_t i = 0; i < nr; i++) {
		if (boots[i].seed >= *ret_seed)
			*ret_seed = boots[i].seed + 1;
		if (!is_used(used, nr_used, boots[i].id) &&
		    (best == SIZE_MAX || boots[i].seed < boots[best].seed))
			best = i;
	}
	*ret_found = best != SIZE_MAX;
	if (*ret_found) {
		*ret = boots[best];
		memset(&boots[best], 0, sizeof(boots[best]));
	}
	fb_store_boots_free(boots, nr);
	return 0;
}

uint64_t fb_lab_fresh_seed(const struct fb_lab_request *requests, size_t nr, uint64_t fresh,
			   const char *signature)
{
	for (size_t i = 0; i < nr; i++)
		if (requests[i].seed >= fresh && !strcmp(requests[i].kernel->signature, signature))
			fresh = requests[i].seed + 1;
	return fresh;
}

const char *fb_boot_tool(const struct fb_store_boot *boot, const char *cell_key)
{
	return fb_json_str(json_object_get(boot->facts, "tools"), cell_key);
}

json_t *fb_boot_said(const struct fb_store_boot *boot, const char *cell_key)
{
	return json_object_get(json_object_get(boot->facts, "said"), cell_key);
}

double fb_boot_value(const struct fb_store_boot *boot, const char *cell_key, const char *metric)
{
	double mean = 0;
	unsigned n = 0;

	if (strcmp(boot->end, fb_end_name(FB_END_OK)))
		return NAN;
	for (size_t i = 0; i < boot->nr_samples; i++) {
		const struct fb_store_sample *s = &boot->samples[i];

		if (!strcmp(s->metric, metric) && !strcmp(s->cell, cell_key)) {
			n++;
			/* Not a sum, which can be more than a double holds. */
			mean += s->value / n - mean / n;
		}
	}
	return n ? mean : NAN;
}
