/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Measuring: every revision runs the whole matrix a number of times, interleaved. */
#include "src/controller/measure.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bisect/variance.h"
#include "src/util/util.h"

int fb_measure_begin(struct fb_store *store, struct fb_history *history, const struct fb_plan *plan,
		     const char *kind, const struct fb_oid *revs, size_t nr, struct fb_session *ret,
		     struct fb_error *err)
{
	struct fb_session session = {0};
	json_t *list = json_array();

	for (size_t i = 0; i < nr; i++)
		json_array_append_new(list, json_string(revs[i].hex));
	session.kind = fb_xstrdup(kind);
	session.repo = fb_xstrdup(fb_history_gitdir(history));
	session.workdir = fb_xstrdup(fb_history_workdir(history));
	session.plan = fb_xstrdup(plan->text);
	session.plan_name = fb_xstrdup(plan->path);
	session.state = fb_xstrdup("open");
	session.args = json_pack("{s:o}", "revs", list);
	if (fb_store_session_add(store, &session, err) < 0) {
		fb_session_release(&session);
		return -1;
	}
	*ret = session;
	return 0;
}

static void measured_free(struct fb_measured *measured, size_t nr)
{
	for (size_t i = 0; measured && i < nr; i++) {
		free(measured[i].signature);
		free(measured[i].cause);
		fb_store_boots_free(measured[i].boots, measured[i].nr_boots);
	}
	free(measured);
}

static int build_all(struct fb_lab *lab, const struct fb_oid *revs, size_t nr,
		     struct fb_lab_kernel *kernels, struct fb_measured *m, struct fb_error *err)
{
	for (size_t i = 0; i < nr; i++) {
		if (fb_lab_kernel(lab, &revs[i], &kernels[i], err) < 0)
			return -1;
		m[i].commit = revs[i];
		if (kernels[i].signature) {
			m[i].signature = fb_xstrdup(kernels[i].signature);
		} else {
			m[i].cause = fb_xstrdup(kernels[i].cause);
			fb_lab_tell(lab, "%.12s does not build: %s", revs[i].hex, m[i].cause);
		}
	}
	return 0;
}

static void add_boot(struct fb_measured *m, struct fb_store_boot *boot)
{
	m->boots = fb_xrealloc(m->boots, m->nr_boots + 1, sizeof(*m->boots));
	m->boots[m->nr_boots++] = *boot;
	memset(boot, 0, sizeof(*boot));
}

/* Of all revisions: two that build the same kernel must not count one boot twice. */
static int64_t *used_boots(const struct fb_measured *m, size_t nr, size_t *ret_nr)
{
	int64_t *used;
	size_t n = 0;

	for (size_t i = 0; i < nr; i++)
		n += m[i].nr_boots;
	used = fb_xcalloc(n, sizeof(*used));
	*ret_nr = n;
	for (size_t i = 0; i < nr; i++)
		for (size_t j = 0; j < m[i].nr_boots; j++)
			used[--n] = m[i].boots[j].id;
	return used;
}

/*
 * One boot of each revision that is not left out; the order turns round every time, and that of
 * the cells every second time where they are balanced, so that drift cancels. A boot with its
 * cells in another order is of another environment: it is compared with its like only.
 */
int fb_measuring_round(struct fb_measuring *me, const bool *left_out, struct fb_error *err)
{
	struct fb_lab *lab = me->lab;
	size_t nr = me->nr, nr_cells = lab->plan->nr_cells;
	FB_CLEANUP(fb_freep) struct fb_lab_request *requests = fb_xcalloc(nr, sizeof(*requests));
	FB_CLEANUP(fb_freep) struct fb_store_boot *boots = fb_xcalloc(nr, sizeof(*boots));
	FB_CLEANUP(fb_freep) size_t *who = fb_xcalloc(nr, sizeof(*who));
	FB_CLEANUP(fb_freep) struct fb_cell *cells = fb_xcalloc(nr_cells, sizeof(*cells));
	bool turned = me->balance && me->rounds / 2 % 2;
	size_t n = 0;
	int rc = 0;

	for (size_t i = 0; i < nr_cells; i++) /* borrowed */
		cells[i] = lab->plan->cells[turned ? nr_cells - 1 - i : i];
	for (size_t k = 0; k < nr && rc == 0; k++) {
		size_t i = me->rounds % 2 ? nr - 1 - k : k;
		const struct fb_lab_kernel *kernel = &me->kernels[i];
		struct fb_store_boot old = {0};
		char env[FB_HASH_HEX_SIZE];
		size_t nr_used;
		int64_t *used;
		bool found = false;
		uint64_t seed;

		if (!kernel->signature || (left_out && left_out[i]))
			continue;
		rc = fb_lab_env(lab, cells, nr_cells, kernel->toolchain, env, err);
		if (rc < 0)
			break;
		used = used_boots(me->measured, nr, &nr_used);
		rc = fb_lab_find_boot(lab, kernel->signature, env, used, nr_used, &old, &found,
				      &seed, err);
		free(used);
		if (rc == 0 && found) {
			add_boot(&me->measured[i], &old);
		} else if (rc == 0) {
			seed = fb_lab_fresh_seed(requests, n, seed, kernel->signature);
			requests[n] = (struct fb_lab_request){kernel, seed};
			who[n++] = i;
		}
	}
	if (rc == 0 && n)
		rc = fb_lab_boot(lab, cells, nr_cells, requests, n, boots, err);
	for (size_t k = 0; k < n; k++) {
		if (rc == 0)
			add_boot(&me->measured[who[k]], &boots[k]);
		else
			fb_store_boot_release(&boots[k]);
	}
	me->rounds++;
	lab->state.boots += (unsigned)n;
	return rc;
}

int fb_measuring_begin(struct fb_lab *lab, const struct fb_oid *revs, size_t nr, bool balance,
		       struct fb_measuring *ret, struct fb_error *err)
{
	struct fb_measuring me = {.lab = lab, .nr = nr, .balance = balance};

	me.kernels = fb_xcalloc(nr, sizeof(*me.kernels));
	me.measured = fb_xcalloc(nr, sizeof(*me.measured));
	if (build_all(lab, revs, nr, me.kernels, me.measured, err) < 0) {
		fb_measuring_release(&me);
		return -1;
	}
	*ret = me;
	return 0;
}

void fb_measuring_release(struct fb_measuring *me)
{
	for (size_t i = 0; i < me->nr; i++)
		fb_lab_kernel_release(&me->kernels[i]);
	free(me->kernels);
	measured_free(me->measured, me->nr);
	memset(me, 0, sizeof(*me));
}

char **fb_measured_metrics(const struct fb_measured *m, size_t nr, const char *cell_key, bool all)
{
	char **names = NULL;

	for (size_t i = 0; i < nr; i++)
		for (size_t j = 0; j < m[i].nr_boots; j++)
			for (size_t k = 0; k < m[i].boots[j].nr_samples; k++) {
				const struct fb_store_sample *s = &m[i].boots[j].samples[k];
				const struct fb_metric *metric = fb_metric_find(s->metric);
				bool seen = false;

				if (strcmp(s->cell, cell_key) != 0 ||
				    (metric && !metric->headline && !all))
					continue;
				for (size_t n = 0; names && names[n] && !seen; n++)
					seen = !strcmp(names[n], s->metric);
				if (!seen)
					fb_strv_add(&names, s->metric);
			}
	return names;
}

/* All runs of the boots that ended well, boot by boot; free() it. */
static struct fb_variance_run *runs_of(const struct fb_measured *m, const char *cell_key,
				       const char *metric, size_t *ret_nr)
{
	struct fb_variance_run *runs;
	size_t cap = 0, nr = 0;

	for (size_t i = 0; i < m->nr_boots; i++)
		cap += m->boots[i].nr_samples;
	runs = fb_xcalloc(cap, sizeof(*runs));
	for (size_t i = 0; i < m->nr_boots; i++) {
		const struct fb_store_boot *boot = &m->boots[i];

		if (!isfinite(fb_boot_value(boot, cell_key, metric)))
			continue;
		for (size_t k = 0; k < boot->nr_samples; k++) {
			const struct fb_store_sample *s = &boot->samples[k];

			if (!strcmp(s->metric, metric) && !strcmp(s->cell, cell_key))
				runs[nr++] = (struct fb_variance_run){0, (uint32_t)i, s->value};
		}
	}
	*ret_nr = nr;
	return runs;
}

struct fb_summary fb_measured_summary(const struct fb_measured *m, const char *cell_key,
				      const char *metric)
{
	struct fb_summary s = {.sd = NAN,
			       .run_sd = NAN,
			       .boot_sd = NAN,
			       .lo = -INFINITY,
			       .hi = INFINITY,
			       .min = INFINITY,
			       .max = -INFINITY};
	size_t nr_runs;
	FB_CLEANUP(fb_freep) struct fb_variance_run *runs = runs_of(m, cell_key, metric, &nr_runs);
	struct fb_variance v;

	if (fb_variance_split(runs, nr_runs, false, 0.95, &v) < 0)
		return s;
	s.nr = v.nr_boots;
	s.mean = v.mean;
	s.lo = v.mean_lo;
	s.hi = v.mean_hi;
	s.sd = sqrt(v.boot_ms);
	s.run_sd = sqrt(v.part[FB_VARIANCE_RUN].var);
	if (isfinite(s.run_sd))
		s.boot_sd = sqrt(v.part[FB_VARIANCE_BOOT].var);
	for (size_t i = 0; i < m->nr_boots; i++) {
		double value = fb_boot_value(&m->boots[i], cell_key, metric);

		if (isfinite(value)) {
			s.min = fmin(s.min, value);
			s.max = fmax(s.max, value);
		}
	}
	return s;
}

/* The number of the environment among those of the boots so far; a new one is added. */
static uint32_t block_of(const char *env, const char **envs, uint32_t *nr)
{
	uint32_t i = 0;

	while (i < *nr && strcmp(envs[i], env) != 0)
		i++;
	if (i == *nr)
		envs[(*nr)++] = env;
	return i;
}

unsigned fb_measured_least_boots(double alpha)
{
	FB_CLEANUP(fb_freep) struct fb_compare_boot *boots = NULL;
	struct fb_compare_params params = {.alpha = alpha};
	struct fb_compare c = {0};
	unsigned n = 0;

	while (c.verdict != FB_COMPARE_DIFFER) {
		n++;
		boots = fb_xrealloc(boots, 2 * (size_t)n, sizeof(*boots));
		for (unsigned i = 0; i < 2 * n; i++)
			boots[i] = (struct fb_compare_boot){i, 0, i >= n};
		if (fb_compare_judge(boots, 2 * (size_t)n, &params, &c) < 0)
			abort(); /* out of memory, as fb_xmalloc() */
	}
	return n;
}

void fb_measured_change(const struct fb_measured *old, const struct fb_measured *new,
			const char *cell_key, const char *metric, double alpha, double min_effect,
			bool any_time, struct fb_measured_change *ret)
{
	const struct fb_measured *side[] = {old, new};
	size_t cap = old->nr_boots + new->nr_boots, nr[2] = {0}, n = 0;
	FB_CLEANUP(fb_freep) struct fb_compare_boot *boots = fb_xcalloc(cap, sizeof(*boots));
	FB_CLEANUP(fb_freep) const char **envs = fb_xcalloc(cap, sizeof(*envs));
	FB_CLEANUP(fb_freep) double *values = fb_xcalloc(cap, sizeof(*values));
	struct fb_compare_params params = {.alpha = alpha, .log_scale = true};
	struct fb_measured_change c = {.size = {NAN, NAN, NAN, NULL}};
	uint32_t nr_envs = 0;

	for (int k = 0; k < 2; k++)
		for (size_t i = 0; i < side[k]->nr_boots; i++) {
			const struct fb_store_boot *boot = &side[k]->boots[i];
			double value = fb_boot_value(boot, cell_key, metric);

			if (!isfinite(value))
				continue;
			boots[n] = (struct fb_compare_boot){
				value, block_of(boot->env, envs, &nr_envs), k == 1};
			params.log_scale = params.log_scale && value > 0;
			values[n++] = value;
			nr[k]++;
		}
	params.min_effect = params.log_scale ? min_effect : 0;
	c.is_ratio = params.log_scale;
	c.same_image = old->signature && new->signature && !strcmp(old->signature, new->signature);
	if (fb_compare_judge(boots, n, &params, &c.judged) < 0)
		abort(); /* out of memory, as fb_xmalloc(); the values were looked at */
	params.alpha = 0.05;
	if (nr_envs > 1 || any_time)
		(void)fb_compare_interval(boots, n, &params, &c.size); /* else nothing to compare */
	else if (nr[0] && nr[1] &&
		 fb_compare_effect(values, nr[0], values + nr[0], nr[1], params.log_scale, 0.95,
				   &c.size) < 0)
		abort();
	*ret = c;
}
