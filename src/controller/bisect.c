/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One bisection running: stepped by the search, measured by the lab. */
#include "src/controller/bisect.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/controller/outcome.h"
#include "src/controller/record.h"
#include "src/controller/same-code.h"
#include "src/controller/sides.h"
#include "src/controller/survey.h"
#include "src/util/clock.h"
#include "src/util/json.h"
#include "src/util/util.h"

/* Boots without a value after which a commit that never gave one is given up. */
#define FAILED_MAX 3

static const struct {
	enum fb_verdict_kind kind;
	const char *name;
} verdict_names[] = {
	{FB_VERDICT_OPEN, "open"},	     {FB_VERDICT_FOUND, "found"},
	{FB_VERDICT_RANGE, "range"},	     {FB_VERDICT_NONE, "none"},
	{FB_VERDICT_UNDECIDED, "undecided"}, {FB_VERDICT_OTHER, "something-else"},
	{FB_VERDICT_BASE_BAD, "base-bad"},   {FB_VERDICT_UNTESTABLE, "untestable"},
};

static const char *verdict_name(enum fb_verdict_kind kind)
{
	for (size_t i = 0; i < FB_ARRAY_SIZE(verdict_names); i++)
		if (verdict_names[i].kind == kind)
			return verdict_names[i].name;
	FB_BUG("verdict kind %d", (int)kind);
}

int fb_verdict_find(const char *name)
{
	for (size_t i = 0; i < FB_ARRAY_SIZE(verdict_names); i++)
		if (!strcmp(verdict_names[i].name, name))
			return (int)verdict_names[i].kind;
	return -1;
}

/* --- running ---------------------------------------------------------------------------- */

/* The node with the highest posterior; UINT32_MAX before the search. */
static uint32_t leader_of(const struct fb_bisect *b, double *ret_posterior)
{
	uint32_t best = UINT32_MAX;
	double p = -1;

	for (uint32_t i = 0; b->search && i < b->range->nr; i++) {
		double q = fb_search_posterior(b->search, i);

		if (q > p) {
			p = q;
			best = i;
		}
	}
	*ret_posterior = p;
	return best;
}

static void show(struct fb_bisect *b, struct fb_lab *lab)
{
	struct fb_progress *s = &lab->state;
	uint32_t leader = leader_of(b, &s->posterior);
	struct fb_verdict v;

	s->step = b->steps;
	s->leader[0] = '\0';
	if (!b->search)
		return;
	fb_search_verdict(b->search, &v);
	s->boots = v.boots;
	s->left = fb_search_left(b->search);
	if (v.other > s->posterior) {
		s->posterior = v.other;
		snprintf(s->leader, sizeof(s->leader), "something else");
	} else if (leader != UINT32_MAX) {
		snprintf(s->leader, sizeof(s->leader), "%.12s", b->range->oid[leader].hex);
	}
	if (lab->nr_boots) {
		double boot_s = (double)lab->boot_ns / lab->nr_boots / FB_NS_PER_S;
		double build_s =
			lab->nr_builds ? (double)lab->build_ns / lab->nr_builds / FB_NS_PER_S : 0;

		s->eta_s = fb_search_boots_to_go(b->search) * boot_s / lab->slots +
			   log2(s->left + 1.0) * build_s;
	}
}

/* A commit whose boots keep failing is as untestable as one that does not build. */
static int give_up_failing(struct fb_bisect *b, struct fb_lab *lab, uint32_t node,
			   struct fb_error *err)
{
	struct fb_bisect_node *n = &b->node[node];
	FB_CLEANUP(fb_freep) char *cause = NULL;

	if (n->cause || n->failed < FAILED_MAX || n->failed < 2 * n->measured)
		return 0;
	cause = fb_xasprintf("%u boots gave no value, the last: %s", n->failed, n->last_failure);
	fb_lab_tell(lab, "%.12s skipped: %s", b->range->oid[node].hex, cause);
	return fb_record(b, "skip",
			 json_pack("{s:s, s:s}", "commit", b->range->oid[node].hex, "cause", cause),
			 err);
}

static const struct fb_cell *cells_now(const struct fb_bisect *b, size_t *ret_nr)
{
	int only = b->search ? b->cell : b->survey->only_cell;

	*ret_nr = only >= 0 ? 1 : b->plan->nr_cells;
	return only >= 0 ? &b->plan->cells[only] : b->plan->cells;
}

/* What became known of a node whose kernel was asked for. */
static int take_kernel(struct fb_bisect *b, uint32_t node, const struct fb_lab_kernel *kernel,
		       struct fb_error *err)
{
	const char *hex = b->range->oid[node].hex;
	struct fb_bisect_node *n = &b->node[node];

	if (!kernel->signature)
		return n->cause ? 0
				: fb_record(b, "skip",
					    json_pack("{s:s, s:s}", "commit", hex, "cause",
						      kernel->cause),
					    err);
	if (n->signature && strcmp(n->signature, kernel->signature))
		return fb_error_set(err, FB_ERROR_USAGE,
				    "%.12s builds another kernel than when the session began: "
				    "start a new session",
				    hex);
	if (!n->signature)
		return fb_record(
			b, "kernel",
			json_pack("{s:s, s:s}", "commit", hex, "signature", kernel->signature),
			err);
	return 0;
}

/*
 * The kernel of a node; records what became known. ret->signature stays NULL for a skip.
 *
 * A commit that changes no code has its parent's kernel: that one is built, and the search
 * learns that they are one, so that noise between them names nobody. Not so on the command
 * machine, where trees are no kernels.
 */
static int kernel_of(struct fb_bisect *b, struct fb_lab *lab, uint32_t node,
		     struct fb_lab_kernel *ret, struct fb_error *err)
{
	const struct fb_oid *oid = b->range->oid;
	FB_CLEANUP(fb_freep) uint32_t *line = fb_xcalloc(b->range->nr, sizeof(*line));
	size_t nr = 1;
	int rc = lab->machine != FB_MACHINE_COMMAND;

	line[0] = node;
	while (rc == 1) {
		rc = fb_same_code_parent(b->history, b->range, line[nr - 1], &line[nr], err);
		nr += rc == 1;
	}
	if (rc < 0 || fb_lab_kernel(lab, &oid[line[nr - 1]], ret, err) < 0)
		return -1;
	if (!ret->signature)
		fb_lab_tell(lab, "%.12s skipped, does not build: %s", oid[node].hex, ret->cause);
	else if (nr > 1 && !b->node[node].signature)
		fb_lab_tell(lab, "%.12s has the code of %.12s: one kernel", oid[node].hex,
			    oid[line[nr - 1]].hex);
	while (nr)
		if (take_kernel(b, line[--nr], ret, err) < 0)
			return -1;
	return 0;
}

struct want {
	uint32_t node;
	unsigned boots;
};

/* Boot what is wanted, taking finished boots first; records each. */
static int measure(struct fb_bisect *b, struct fb_lab *lab, const struct want *wants, size_t nr,
		   struct fb_error *err)
{
	struct fb_lab_kernel *kernels = fb_xcalloc(nr, sizeof(*kernels));
	struct fb_lab_request *requests = NULL;
	struct fb_store_boot *boots = NULL;
	uint32_t *who = NULL;
	size_t n = 0, nr_cells, total = 0;
	const struct fb_cell *cells = cells_now(b, &nr_cells);
	int rc = 0;

	for (size_t i = 0; i < nr; i++)
		total += wants[i].boots;
	requests = fb_xcalloc(total, sizeof(*requests));
	boots = fb_xcalloc(total, sizeof(*boots));
	who = fb_xcalloc(total, sizeof(*who));
	for (size_t i = 0; i < nr && rc == 0; i++) {
		char env[FB_HASH_HEX_SIZE];

		fb_record_asked(b, wants[i].node);
		rc = kernel_of(b, lab, wants[i].node, &kernels[i], err);
		if (rc < 0 || !kernels[i].signature)
			continue;
		rc = fb_lab_env(lab, cells, nr_cells, kernels[i].toolchain, env, err);
		for (unsigned k = 0; k < wants[i].boots && rc == 0; k++) {
			struct fb_store_boot old = {0};
			bool found = false;
			uint64_t fresh;

			rc = fb_lab_find_boot(lab, kernels[i].signature, env, b->used, b->nr_used,
					      &old, &found, &fresh, err);
			if (rc == 0 && found) {
				rc = fb_take_boot(b, wants[i].node, &old, err);
				fb_store_boot_release(&old);
			} else if (rc == 0) {
				requests[n].kernel = &kernels[i];
				requests[n].seed =
					fb_lab_fresh_seed(requests, n, fresh, kernels[i].signature);
				who[n++] = wants[i].node;
			}
		}
	}
	if (rc == 0 && n) {
		rc = fb_lab_boot(lab, cells, nr_cells, requests, n, boots, err);
		for (size_t i = 0; i < n && rc == 0; i++)
			rc = fb_take_boot(b, who[i], &boots[i], err);
		for (size_t i = 0; i < n; i++)
			fb_store_boot_release(&boots[i]);
	}
	for (size_t i = 0; i < nr && rc == 0; i++)
		rc = give_up_failing(b, lab, wants[i].node, err);
	for (size_t i = 0; i < nr; i++)
		fb_lab_kernel_release(&kernels[i]);
	free(kernels);
	free(requests);
	free(boots);
	free(who);
	return rc;
}

static int finish(struct fb_bisect *b, json_t *verdict_new, struct fb_error *err)
{
	json_auto_t *verdict = verdict_new;

	if (fb_store_session_end(b->store, b->session.id, verdict, err) < 0)
		return -1;
	json_decref(b->session.verdict);
	b->session.verdict = json_incref(verdict);
	free(b->session.state);
	b->session.state = fb_xstrdup("done");
	return 0;
}

/* Was something said of the old end, and all of it as of the new side? */
static bool old_end_is_new(const struct fb_bisect *b)
{
	bool any = false, wrong = true;

	for (uint32_t i = 0; i < b->range->nr_good; i++) {
		const struct fb_bisect_node *n = &b->node[b->range->good[i]];

		for (size_t k = 0; k < n->nr_values; k++) {
			any = true;
			wrong = wrong &&
				(n->values[k] != 0) != (b->change == FB_CHANGE_IMPROVEMENT);
		}
	}
	return any && wrong;
}

/* What is at fault, in words; NULL when the verdict says it all. Static text. */
static const char *fault_of(const struct fb_bisect *b, const struct fb_verdict *v)
{
	bool improvement = b->change == FB_CHANGE_IMPROVEMENT;

	if (v->kind == FB_VERDICT_UNTESTABLE && v->nr_nodes)
		return v->nr_nodes > 1		      ? "neither end can be measured"
		       : v->nodes[0] == b->range->bad ? "the bad end cannot be measured"
						      : "the good end cannot be measured";
	if (!b->by_status || b->flaky)
		return NULL;
	if (v->kind == FB_VERDICT_NONE)
		return improvement ? "the new end fails, too" : "the bad end is good, too";
	if (v->kind == FB_VERDICT_OTHER && old_end_is_new(b))
		return improvement ? "the old end does not fail either"
				   : "the good end is bad, too";
	return NULL;
}

static void set_real(json_t *o, const char *key, double v)
{
	if (isfinite(v))
		json_object_set_new(o, key, json_real(v));
}

/* Each of several steps: how many of the commits are its own, and the change. */
static json_t *changes_json(const struct fb_verdict *v)
{
	json_t *changes = json_array();

	for (size_t i = 0; i < v->nr_steps; i++) {
		json_t *o = json_pack("{s:I}", "commits", (json_int_t)v->steps[i].nr_nodes);

		set_real(o, "effect", v->steps[i].effect);
		json_array_append_new(changes, o);
	}
	return changes;
}

/* From this probability on a counter is said to have changed with the commits of the verdict. */
#define COUNTER_AGREES 0.5

/* The counters that led to the commits, from one end to the other. */
static json_t *counters_json(const struct fb_bisect *b)
{
	json_t *counters = json_array();

	for (size_t i = 0; i < b->nr_counters && i < FB_COUNTERS_MAX; i++) {
		struct fb_counter_hint hint;

		fb_search_counter(b->search, (uint32_t)i, &hint);
		if (hint.used && hint.agrees >= COUNTER_AGREES)
			json_array_append_new(
				counters, json_pack("{s:s, s:f, s:f}", "metric", b->counters[i],
						    "good", hint.mean_good, "bad", hint.mean_bad));
	}
	return counters;
}

static json_t *verdict_json(const struct fb_bisect *b, const struct fb_verdict *v,
			    const struct fb_sides *sides, int cell, const char *metric)
{
	json_t *out = json_object(), *commits = json_array();
	const char *cause = fault_of(b, v);

	json_object_set_new(out, "verdict", json_string(verdict_name(v->kind)));
	for (size_t i = 0; i < v->nr_nodes; i++)
		json_array_append_new(commits, json_string(b->range->oid[v->nodes[i]].hex));
	if (v->kind == FB_VERDICT_FOUND && v->nr_nodes == 1)
		json_object_set(out, "commit", json_array_get(commits, 0));
	json_object_set_new(out, "commits", commits);
	if (v->nr_steps) {
		json_object_set_new(out, "changes", changes_json(v));
		json_object_set_new(out, "changes_found", json_boolean(v->steps_found));
	}
	if (cause)
		json_object_set_new(out, "cause", json_string(cause));
	if (v->kind != FB_VERDICT_UNTESTABLE) {
		set_real(out, "confidence", v->confidence);
		set_real(out, "something_else", v->other);
	}
	if (cell >= 0)
		json_object_set_new(out, "cell", json_integer(cell));
	if (metric)
		json_object_set_new(out, "metric", json_string(metric));
	set_real(out, "mean_good", sides->mean_good);
	set_real(out, "mean_bad", sides->mean_bad);
	set_real(out, "effect", sides->effect);
	set_real(out, "effect_lo", sides->effect_lo);
	set_real(out, "effect_hi", sides->effect_hi);
	set_real(out, "sigma", sides->sigma);
	json_object_set_new(out, "boots", json_integer((json_int_t)b->nr_used));
	json_object_set_new(out, "commits_tested", json_integer(b->steps));
	return out;
}

/* Of a session that follows something already. */
static json_t *search_json(const struct fb_bisect *b, const struct fb_verdict *v)
{
	struct fb_sides sides = fb_sides_of_verdict(b, v);
	json_t *o = verdict_json(b, v, &sides, b->cell, b->metric);

	if (v->kind == FB_VERDICT_FOUND || v->kind == FB_VERDICT_RANGE)
		json_object_set_new(o, "counters", counters_json(b));
	return o;
}

static json_t *survey_json(const struct fb_bisect *b, const struct fb_verdict *v,
			   const struct fb_survey_series *s)
{
	struct fb_sides sides = fb_sides_of_survey(s);

	return verdict_json(b, v, &sides, s->cell, s->metric);
}

json_t *fb_bisect_so_far(const struct fb_bisect *b)
{
	struct fb_verdict v = {.kind = FB_VERDICT_OPEN,
			       .confidence = NAN,
			       .other = NAN,
			       .boots = (unsigned)b->nr_used};

	if (b->session.verdict)
		return json_incref(b->session.verdict);
	if (b->search)
		fb_search_verdict(b->search, &v);
	/* What leads now is no answer: only a verdict names commits. */
	v.kind = FB_VERDICT_OPEN;
	v.nr_nodes = v.nr_steps = 0;
	return search_json(b, &v);
}

/* Ends that cannot be measured leave nothing to compare. */
static int ends_untestable(struct fb_bisect *b, const uint32_t *ends, size_t nr,
			   struct fb_error *err)
{
	struct fb_verdict v = {.kind = FB_VERDICT_UNTESTABLE, .nodes = ends, .nr_nodes = nr};

	return finish(b, verdict_json(b, &v, &fb_sides_none, -1, NULL), err);
}

/* There are values, but none that can be followed: zero, or missing in some boots. */
static int end_unusable(struct fb_bisect *b, const uint32_t ends[2], struct fb_error *err)
{
	const char *metric = b->survey->only_metric;
	FB_CLEANUP(fb_freep)
	char *cause = metric ? fb_xasprintf("%s is not above zero in every boot", metric)
			     : fb_xstrdup("no headline metric is above zero in every boot");
	struct fb_verdict v = {.kind = FB_VERDICT_UNTESTABLE, .nodes = ends, .nr_nodes = 2};

	for (int i = 0; i < 2; i++)
		if (fb_record(b, "skip",
			      json_pack("{s:s, s:s}", "commit", b->range->oid[ends[i]].hex, "cause",
					cause),
			      err) < 0)
			return -1;
	return finish(b, verdict_json(b, &v, &fb_sides_none, -1, metric), err);
}

/* The limits of the plan hold for the survey too. */
static bool is_spent(const struct fb_bisect *b, int64_t deadline_ns)
{
	return (deadline_ns && fb_clock_mono_ns() > deadline_ns) ||
	       (b->plan->max_boots && b->nr_used >= b->plan->max_boots);
}

static int run_survey(struct fb_bisect *b, struct fb_lab *lab, int64_t deadline_ns, bool *ret_done,
		      struct fb_error *err)
{
	uint32_t ends[2] = {b->range->good[0], b->range->bad}, failed[2];
	const struct fb_survey_series *best;
	size_t nr_failed = 0;
	enum fb_survey_state state;
	struct fb_verdict v = {.confidence = NAN, .other = NAN};

	*ret_done = false;
	while ((state = fb_survey_state(b->survey, &best)) == FB_SURVEY_GO_ON) {
		enum fb_survey_end first = fb_survey_next(b->survey);
		struct want wants[2] = {{ends[first], 1}, {ends[!first], 1}};

		if (is_spent(b, deadline_ns)) {
			state = FB_SURVEY_UNDECIDED;
			break;
		}
		if (measure(b, lab, wants, 2, err) < 0)
			return -1;
		for (int i = 0; i < 2; i++)
			if (b->node[ends[i]].cause)
				failed[nr_failed++] = ends[i];
		if (nr_failed) {
			*ret_done = true;
			return ends_untestable(b, failed, nr_failed, err);
		}
	}
	if (state == FB_SURVEY_UNUSABLE && !b->survey->nr)
		return b->survey->only_metric
			       ? fb_error_set(err, FB_ERROR_USAGE,
					      "the plan's cells do not measure '%s'",
					      b->survey->only_metric)
			       : fb_error_set(err, FB_ERROR_USAGE,
					      "the plan's cells measure no headline metric");
	if (state == FB_SURVEY_UNUSABLE) {
		*ret_done = true;
		return end_unusable(b, ends, err);
	}
	if (best)
		fb_search_verdict(best->search, &v);
	if (state == FB_SURVEY_CHOSEN) {
		FB_CLEANUP(fb_freep) char *label = fb_cell_label(&b->plan->cells[best->cell]);

		fb_lab_tell(lab, "following %s of %s: %+.1f%% between the ends", best->metric,
			    label, 100 * v.effect);
		return fb_record(
			b, "choice",
			json_pack("{s:i, s:s}", "cell", best->cell, "metric", best->metric), err);
	}
	v.kind = state == FB_SURVEY_NONE ? FB_VERDICT_NONE : FB_VERDICT_UNDECIDED;
	v.nr_nodes = 0;
	*ret_done = true;
	return finish(
		b, best ? survey_json(b, &v, best) : verdict_json(b, &v, &fb_sides_none, -1, NULL),
		err);
}

/*
 * One line for what was measured, for logs and for those who watch. A step is a commit that is
 * new; the ends, and a commit that is not clear yet, are measured again.
 */
static void tell_step(const struct fb_bisect *b, struct fb_lab *lab, uint32_t node, bool is_new,
		      size_t had_values)
{
	const struct fb_bisect_node *n = &b->node[node];
	struct fb_str values = FB_STR_INIT, label = FB_STR_INIT;

	for (size_t i = had_values; i < n->nr_values; i++)
		fb_str_addf(&values, "%s %.5g", b->by_status ? " exit status" : "", n->values[i]);
	if (n->cause)
		fb_str_add(&values, " skipped");
	if (is_new)
		fb_str_addf(&label, "step %u", b->steps);
	else
		fb_str_add(&label, "again");
	fb_lab_tell(lab, "%s: %.12s%s; %u left, %s %.1f%%", fb_str_cstr(&label),
		    b->range->oid[node].hex, fb_str_cstr(&values), lab->state.left,
		    lab->state.leader, 100 * lab->state.posterior);
	fb_str_release(&label);
	fb_str_release(&values);
}

/* Was a commit given up before any run, anywhere, told anything? */
static bool is_mute(const struct fb_bisect *b)
{
	for (uint32_t i = 0; i < b->range->nr && !b->measured; i++)
		if (b->node[i].cause && b->node[i].failed >= FAILED_MAX)
			return true;
	return false;
}

/*
 * Exit statuses need no boots of the ends. But a command that cannot be run is no verdict (git
 * tries such a one on a good commit, too), and one that fails everywhere is soon seen there.
 */
static int try_good_end(struct fb_bisect *b, struct fb_lab *lab, bool *ret_tried,
			struct fb_error *err)
{
	uint32_t good = b->range->good[0];
	const struct fb_bisect_node *n = &b->node[good];
	struct want want = {good, 1};

	*ret_tried = b->doubt.open || (b->by_status && !n->cause && is_mute(b));
	if (!*ret_tried)
		return 0;
	if (b->doubt.open && (n->nr_values || n->cause))
		return fb_take_doubt(b, err);
	fb_lab_tell(lab, "is it so at the good end %.12s, too?", b->range->oid[good].hex);
	return measure(b, lab, &want, 1, err);
}

static int run_search(struct fb_bisect *b, struct fb_lab *lab, int64_t deadline_ns,
		      struct fb_error *err)
{
	uint32_t good = b->range->good[0];
	struct fb_search_ask ask;
	struct fb_verdict v;
	size_t had;

	for (;;) {
		struct want want;
		bool tried, is_new;

		if (try_good_end(b, lab, &tried, err) < 0)
			return -1;
		if (tried)
			continue;
		if (b->by_status && b->node[good].cause && b->node[good].failed >= FAILED_MAX)
			return ends_untestable(b, &good, 1, err);
		if (fb_search_next(b->search, &ask) != FB_SEARCH_MEASURE)
			break;
		want = (struct want){ask.node, ask.boots};
		if (deadline_ns && fb_clock_mono_ns() > deadline_ns) {
			fb_search_verdict(b->search, &v);
			v.kind = FB_VERDICT_UNDECIDED;
			return finish(b, search_json(b, &v), err);
		}
		show(b, lab);
		had = b->node[ask.node].nr_values;
		is_new = !b->node[ask.node].asked;
		if (measure(b, lab, &want, 1, err) < 0)
			return -1;
		show(b, lab);
		tell_step(b, lab, ask.node, is_new, had);
	}
	fb_search_verdict(b->search, &v);
	show(b, lab);
	return finish(b, search_json(b, &v), err);
}

int fb_bisect_run(struct fb_bisect *b, struct fb_lab *lab, struct fb_error *err)
{
	int64_t deadline = b->plan->max_time_ns ? fb_clock_mono_ns() + b->plan->max_time_ns : 0;
	bool done = false;

	if (!strcmp(b->session.state, "done"))
		return 0;
	if (!b->search && run_survey(b, lab, deadline, &done, err) < 0)
		return -1;
	return done ? 0 : run_search(b, lab, deadline, err);
}

/* --- one commit ------------------------------------------------------------------------- */

/* Posterior that @node shows the change, given that one step is the cause. */
static double new_side(const struct fb_bisect *b, uint32_t node)
{
	FB_CLEANUP(fb_freep) bool *reached = fb_xcalloc(b->range->nr, sizeof(*reached));
	const struct fb_range *r = b->range;
	double sum = 0, all = 0;

	reached[node] = true;
	for (uint32_t i = r->nr; i-- > 0;) {
		double p = fb_search_posterior(b->search, i);

		for (uint32_t a = r->parent_start[i]; reached[i] && a < r->parent_start[i + 1]; a++)
			reached[r->parent[a]] = true;
		sum += reached[i] ? p : 0;
		all += p;
	}
	return all > 0 ? sum / all : 0.5;
}

/* Ends that do not differ, or cannot be measured, judge nobody. */
static int check_judge(const struct fb_bisect *b, struct fb_error *err)
{
	struct fb_verdict v = {.kind = FB_VERDICT_NONE};

	if (b->search)
		fb_search_verdict(b->search, &v);
	if (b->session.verdict && !b->search)
		v.kind = FB_VERDICT_NONE;
	if (v.kind == FB_VERDICT_NONE)
		return fb_error_set(err, FB_ERROR_USAGE,
				    "the ends do not differ: there is nothing to judge by");
	if (v.kind == FB_VERDICT_UNTESTABLE)
		return fb_error_set(err, FB_ERROR_USAGE, "an end cannot be measured");
	return 0;
}

int fb_bisect_judge(struct fb_bisect *b, struct fb_lab *lab, const struct fb_oid *commit,
		    struct fb_judgement *ret, struct fb_error *err)
{
	double confidence = b->plan->confidence;
	uint32_t node = 0;
	bool done = false;

	while (node < b->range->nr && strcmp(b->range->oid[node].hex, commit->hex) != 0)
		node++;
	if (node == b->range->nr)
		return fb_error_set(err, FB_ERROR_USAGE,
				    "%.12s does not lie between the ends %.12s and %.12s",
				    commit->hex, b->range->oid[b->range->good[0]].hex,
				    b->range->oid[b->range->bad].hex);
	if (!b->session.verdict && !b->search && run_survey(b, lab, 0, &done, err) < 0)
		return -1;
	for (;;) {
		const struct fb_bisect_node *n = &b->node[node];
		struct fb_search_ask ask;
		struct want want = {node, 1};
		unsigned least = b->by_status && !b->flaky ? 1 : b->plan->boots_min;
		bool asks;

		if (check_judge(b, err) < 0)
			return -1;
		*ret = (struct fb_judgement){FB_JUDGED_SKIP, new_side(b, node)};
		asks = fb_search_next(b->search, &ask) == FB_SEARCH_MEASURE;
		if (n->cause)
			return 0;
		if (asks && ask.why == FB_SEARCH_WHY_END && ask.node != node) {
			want.node = ask.node;
		} else if (n->nr_values >= least && ret->p_new >= confidence) {
			ret->side = FB_JUDGED_NEW;
			return 0;
		} else if (n->nr_values >= least && ret->p_new <= 1 - confidence) {
			ret->side = FB_JUDGED_OLD;
			return 0;
		} else if (n->nr_values + n->failed >= b->plan->boots_max || is_spent(b, 0)) {
			return 0;
		}
		if (measure(b, lab, &want, 1, err) < 0)
			return -1;
	}
}
