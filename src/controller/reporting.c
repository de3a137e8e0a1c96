/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From a bisection to the struct that reporters render. */
#include "src/controller/reporting.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "src/controller/survey.h"
#include "src/util/json.h"
#include "src/util/util.h"

struct fb_reporting {
	struct fb_report report;
	struct fb_commit *commits; /* backing store of everything that names a commit */
	size_t nr;
	struct fb_report_commit *named;
	struct fb_report_change *changes;
	struct fb_report_counter *counters;
	struct fb_report_step *steps;
	char *cell, *cell_text, *fingerprint;
	json_t *verdict;
	struct fb_report_check checks[8];
};

void fb_reporting_free(struct fb_reporting *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->nr; i++)
		fb_commit_release(&r->commits[i]);
	free(r->commits);
	free(r->named);
	free(r->changes);
	free(r->counters);
	free(r->steps);
	json_decref(r->verdict);
	free(r->cell);
	free(r->cell_text);
	free(r->fingerprint);
	free(r);
}

void fb_reporting_freep(struct fb_reporting **r)
{
	fb_reporting_free(*r);
}

const struct fb_report *fb_reporting_report(const struct fb_reporting *r)
{
	return &r->report;
}

static const char *machine_note(const char *machine)
{
	switch ((enum fb_machine)fb_machine_find(machine)) {
	case FB_MACHINE_DETERMINISTIC:
		return "simulated CPU (instructions counted) and simulated device (null_blk in the "
		       "guest): "
		       "caches, contention and real devices are not seen";
	case FB_MACHINE_TCG:
		return "simulated CPU: times are those of the simulator";
	case FB_MACHINE_KVM:
		return "virtual machine on this host";
	case FB_MACHINE_COMMAND:
		return "commands on this host";
	}
	return NULL;
}

/* Room was made for all commits before, so the pointers stay valid. */
static int name_commit(struct fb_reporting *r, const struct fb_bisect *b, const struct fb_oid *oid,
		       struct fb_report_commit *ret, struct fb_error *err)
{
	struct fb_commit *c = &r->commits[r->nr];

	if (fb_history_commit(b->history, oid, c, err) < 0)
		return -1;
	r->nr++;
	*ret = (struct fb_report_commit){.oid = c->oid.hex,
					 .subject = c->subject,
					 .author_name = c->author_name,
					 .author_email = c->author_email,
					 .author_s = c->author_s};
	return 0;
}

static const char *role_of(const struct fb_bisect *b, uint32_t node)
{
	const struct fb_range *g = b->range;

	for (uint32_t i = 0; i < g->nr_good; i++)
		if (g->good[i] == node)
			return "good end";
	for (uint32_t i = 0; i < g->nr_base; i++)
		if (g->base[i] == node)
			return "merge base";
	return node == g->bad ? "bad end" : "";
}

static bool is_shown(const struct fb_bisect_node *n)
{
	return n->asked || n->signature || n->cause;
}

/* The series of the survey that the verdict is about, while no search has values of its own. */
static const struct fb_survey_series *series_shown(const struct fb_reporting *r,
						   const struct fb_bisect *b)
{
	json_t *cell = json_object_get(r->verdict, "cell");
	const char *metric = fb_json_str(r->verdict, "metric");

	for (size_t i = 0; !b->search && cell && metric && i < b->survey->nr; i++)
		if (b->survey->series[i].cell == json_integer_value(cell) &&
		    !strcmp(b->survey->series[i].metric, metric))
			return &b->survey->series[i];
	return NULL;
}

static void fill_values(struct fb_report_step *s, const struct fb_bisect *b, uint32_t node,
			const struct fb_survey_series *series)
{
	const struct fb_bisect_node *n = &b->node[node];

	s->values = n->values;
	s->nr_values = n->nr_values;
	if (series && (node == b->range->good[0] || node == b->range->bad)) {
		enum fb_survey_end end = node == b->range->bad ? FB_SURVEY_BAD : FB_SURVEY_GOOD;

		s->values = series->value[end];
		s->nr_values = series->nr[end];
	}
	/* Boots of a whole matrix have no one value. */
	if (b->survey && !s->nr_values && !n->cause)
		s->boots = n->measured;
}

static int fill_steps(struct fb_reporting *r, const struct fb_bisect *b, struct fb_error *err)
{
	const struct fb_survey_series *series = series_shown(r, b);

	for (uint32_t i = 0; i < b->range->nr; i++) {
		const struct fb_bisect_node *n = &b->node[i];
		struct fb_report_step *s = &r->steps[r->report.nr_steps];
		struct fb_report_commit c;

		if (!is_shown(n))
			continue;
		if (name_commit(r, b, &b->range->oid[i], &c, err) < 0)
			return -1;
		*s = (struct fb_report_step){
			.oid = c.oid,
			.subject = c.subject,
			.role = role_of(b, i),
			.cause = n->cause,
			.posterior = b->search ? fb_search_posterior(b->search, i) : 0};
		fill_values(s, b, i, series);
		for (uint32_t j = 0; j < i && n->signature && !s->same_as; j++)
			if (b->node[j].signature && !strcmp(b->node[j].signature, n->signature))
				s->same_as = b->range->oid[j].hex;
		r->report.nr_steps++;
	}
	return 0;
}

static int fill_commits(struct fb_reporting *r, const struct fb_bisect *b, json_t *list,
			struct fb_error *err)
{
	json_t *hex;
	size_t i;

	r->named = fb_xcalloc(json_array_size(list), sizeof(*r->named));
	json_array_foreach(list, i, hex)
	{
		struct fb_oid oid = {0};

		snprintf(oid.hex, sizeof(oid.hex), "%s", json_string_value(hex));
		if (name_commit(r, b, &oid, &r->named[i], err) < 0)
			return -1;
	}
	r->report.commits = r->named;
	r->report.nr_commits = json_array_size(list);
	return 0;
}

static double real_at(json_t *o, const char *key)
{
	json_t *v = json_object_get(o, key);

	return json_is_number(v) ? json_number_value(v) : NAN;
}

/* The commits of the verdict, a part for each change. */
static void fill_changes(struct fb_reporting *r, json_t *list)
{
	struct fb_report *p = &r->report;
	size_t at = 0, i;
	json_t *change;

	r->changes = fb_xcalloc(json_array_size(list) + 1, sizeof(*r->changes));
	json_array_foreach(list, i, change)
	{
		json_int_t nr = json_integer_value(json_object_get(change, "commits"));

		if (nr < 0 || (size_t)nr > p->nr_commits - at)
			return; /* a verdict that is none of ours: its commits are listed */
		r->changes[i] = (struct fb_report_change){r->named + at, (size_t)nr,
							  real_at(change, "effect")};
		at += (size_t)nr;
	}
	p->changes = r->changes;
	p->nr_changes = json_array_size(list);
	p->changes_found = json_is_true(json_object_get(r->verdict, "changes_found"));
}

static void fill_counters(struct fb_reporting *r, json_t *list)
{
	json_t *counter;
	size_t i;

	r->counters = fb_xcalloc(json_array_size(list) + 1, sizeof(*r->counters));
	json_array_foreach(list, i, counter)
	{
		const char *metric = fb_json_str(counter, "metric");
		const struct fb_metric *m = metric ? fb_metric_find(metric) : NULL;

		if (metric)
			r->counters[r->report.nr_counters++] = (struct fb_report_counter){
				metric, m ? m->unit : NULL, real_at(counter, "good"),
				real_at(counter, "bad")};
	}
	r->report.counters = r->counters;
}

static void fill_numbers(struct fb_reporting *r, const struct fb_bisect *b, json_t *verdict)
{
	struct fb_report *p = &r->report;
	const char *metric = fb_json_str(verdict, "metric");
	const struct fb_metric *m;
	json_t *cell = json_object_get(verdict, "cell");
	json_int_t index = cell ? json_integer_value(cell) : b->cell;

	p->metric = metric ? metric : b->metric;
	m = p->metric ? fb_metric_find(p->metric) : NULL;
	p->unit = m ? m->unit : "as the command says";
	p->better = m ? fb_better_name(m->better) : "direction not known";
	if (index >= 0 && (size_t)index < b->plan->nr_cells) {
		const struct fb_cell *c = &b->plan->cells[index];

		r->cell = fb_cell_key(c);
		r->cell_text = fb_cell_text(c);
		if (p->metric)
			p->better = fb_better_name(fb_cell_better(c, p->metric));
	}
	if (p->metric && !strcmp(p->metric, FB_METRIC_STATUS)) {
		p->unit = NULL;
		p->better = "0 is good";
	}
	p->cell = r->cell;
	p->cell_text = r->cell_text;
	p->cause = fb_json_str(verdict, "cause");
	p->confidence = real_at(verdict, "confidence");
	p->something_else = real_at(verdict, "something_else");
	p->mean_good = real_at(verdict, "mean_good");
	p->mean_bad = real_at(verdict, "mean_bad");
	p->effect = real_at(verdict, "effect");
	p->effect_lo = real_at(verdict, "effect_lo");
	p->effect_hi = real_at(verdict, "effect_hi");
	p->sigma = real_at(verdict, "sigma");
	p->boots = (unsigned)json_integer_value(json_object_get(verdict, "boots"));
	p->has_effect = isfinite(p->effect) && isfinite(p->mean_good) && isfinite(p->mean_bad);
	/* Of exit statuses it is a difference of rates, not a ratio. */
	if (p->metric && !strcmp(p->metric, FB_METRIC_STATUS)) {
		p->has_rates = p->has_effect;
		p->has_effect = false;
		p->effect = NAN;
	}
	p->commits_tested = b->steps;
	p->candidates = b->range->nr_candidates;
	p->min_effect = b->plan->min_effect;
}

/* What could make a found commit surer: named, so that nobody takes it for done. */
static void fill_checks(struct fb_reporting *r, const struct fb_bisect *b)
{
	static const struct {
		const char *name;
		bool kernels_only;
	} later[] = {
		{"measured again on fresh, interleaved boots", false},
		{"config of parent and culprit compared", true},
		{"revert on top of the bad end", false},
		{"rebuilt with forced function alignment", true},
		{"tip of mainline and linux-next", true},
	};
	bool kernels = fb_machine_find(b->plan->machine) != FB_MACHINE_COMMAND;
	struct fb_report *p = &r->report;

	if (strcmp(p->verdict, "found"))
		return;
	for (size_t i = 0; i < FB_ARRAY_SIZE(later); i++)
		if (kernels || !later[i].kernels_only)
			r->checks[p->nr_checks++] =
				(struct fb_report_check){later[i].name, "not made"};
	p->checks = r->checks;
}

static int fill(struct fb_reporting *r, const struct fb_bisect *b, struct fb_error *err)
{
	struct fb_report *p = &r->report;
	json_t *verdict = r->verdict = fb_bisect_so_far(b);

	p->session = b->session.name;
	p->version = PACKAGE_VERSION;
	p->repo = b->session.repo;
	p->plan = b->session.plan;
	p->machine = b->plan->machine;
	p->machine_note = machine_note(b->plan->machine);
	p->verdict = fb_json_str(verdict, "verdict");
	p->looked_for = fb_change_name(b->change);
	fill_numbers(r, b, verdict);
	if (name_commit(r, b, &b->range->oid[b->range->good[0]], &p->good, err) < 0 ||
	    name_commit(r, b, &b->range->oid[b->range->bad], &p->bad, err) < 0 ||
	    fill_commits(r, b, json_object_get(verdict, "commits"), err) < 0 ||
	    fill_steps(r, b, err) < 0)
		return -1;
	fill_changes(r, json_object_get(verdict, "changes"));
	fill_counters(r, json_object_get(verdict, "counters"));
	p->steps = r->steps;
	fill_checks(r, b);
	return 0;
}

int fb_reporting_new(const struct fb_bisect *b, struct fb_reporting **ret, struct fb_error *err)
{
	FB_CLEANUP(fb_reporting_freep) struct fb_reporting *r = fb_xcalloc(1, sizeof(*r));
	size_t listed = json_array_size(json_object_get(b->session.verdict, "commits"));

	r->commits = fb_xcalloc(b->range->nr + listed + 2, sizeof(*r->commits));
	r->steps = fb_xcalloc(b->range->nr, sizeof(*r->steps));
	if (fill(r, b, err) < 0)
		return -1;
	*ret = FB_TAKE(r);
	return 0;
}
