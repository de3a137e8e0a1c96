/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One bisection: replayed from the store, stepped by the search, measured by the lab. */
#include "src/controller/bisect.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/controller/same-code.h"
#include "src/controller/survey.h"
#include "src/util/clock.h"
#include "src/util/json.h"
#include "src/util/util.h"

/* Boots without a value after which a commit that never gave one is given up. */
#define FAILED_MAX 3
/*
 * Boots that the search asks for at once. Not the host's number of CPUs: the same record must
 * lead to the same next step on every host.
 */
#define BATCH_DETERMINISTIC 2
/* What building an unbuilt commit is reckoned to cost; only orders near-equal splits. */
#define BUILD_COST_BOOTS 2.0

static const struct {
	enum fb_verdict_kind kind;
	const char *name;
} verdict_names[] = {
	{ FB_VERDICT_OPEN, "open" },
	{ FB_VERDICT_FOUND, "found" },
	{ FB_VERDICT_RANGE, "range" },
	{ FB_VERDICT_NONE, "none" },
	{ FB_VERDICT_UNDECIDED, "undecided" },
	{ FB_VERDICT_OTHER, "something-else" },
	{ FB_VERDICT_BASE_BAD, "base-bad" },
	{ FB_VERDICT_UNTESTABLE, "untestable" },
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

static const char *const change_names[] = { "regression", "improvement", "any" };

const char *fb_change_name(enum fb_change change)
{
	return change_names[change];
}

/* --- beginning and loading -------------------------------------------------------------- */

int fb_bisect_begin(struct fb_store *store, struct fb_history *history, const struct fb_plan *plan,
		    const struct fb_bisect_args *args, struct fb_session *ret,
		    struct fb_error *err)
{
	FB_CLEANUP(fb_range_freep) struct fb_range *range = NULL;
	struct fb_session session = { 0 };
	json_t *good;

	if (fb_history_range(history, &args->bad, args->good, args->nr_good,
			     args->first_parent ? FB_RANGE_FIRST_PARENT : 0, &range, err) < 0)
		return -1;
	good = json_array();
	for (size_t i = 0; i < args->nr_good; i++)
		json_array_append_new(good, json_string(args->good[i].hex));
	session.kind = fb_xstrdup("bisect");
	session.repo = fb_xstrdup(fb_history_gitdir(history));
	session.workdir = fb_xstrdup(fb_history_workdir(history));
	session.plan = fb_xstrdup(plan->text);
	session.plan_name = fb_xstrdup(plan->path);
	session.state = fb_xstrdup("open");
	session.args = json_pack("{s:s, s:o, s:b, s:i, s:s}", "bad", args->bad.hex, "good", good,
				 "first_parent", args->first_parent, "cell", args->cell, "change",
				 change_names[args->change]);
	if (args->metric)
		json_object_set_new(session.args, "metric", json_string(args->metric));
	if (fb_store_session_add(store, &session, err) < 0) {
		fb_session_release(&session);
		return -1;
	}
	*ret = session;
	return 0;
}

void fb_bisect_free(struct fb_bisect *b)
{
	if (!b)
		return;
	for (uint32_t i = 0; b->node && i < b->range->nr; i++) {
		free(b->node[i].signature);
		free(b->node[i].cause);
		free(b->node[i].values);
		free(b->node[i].last_failure);
	}
	free(b->node);
	fb_search_free(b->search);
	fb_survey_free(b->survey);
	fb_dag_free(b->dag);
	fb_range_free(b->range);
	fb_session_release(&b->session);
	free(b->metric);
	free(b->tool);
	free(b->used);
	free(b);
}

void fb_bisect_freep(struct fb_bisect **b)
{
	fb_bisect_free(*b);
}

static int oid_of(const char *hex, struct fb_oid *ret, struct fb_error *err)
{
	if (!hex || strlen(hex) != FB_OID_HEX_SIZE - 1)
		return fb_error_set(err, FB_ERROR_STORE, "session holds no commit id where one belongs");
	memcpy(ret->hex, hex, FB_OID_HEX_SIZE);
	return 0;
}

static int load_args(struct fb_bisect *b, struct fb_error *err)
{
	json_t *args = b->session.args, *good = json_object_get(args, "good");
	size_t nr_good = json_array_size(good);
	FB_CLEANUP(fb_freep) struct fb_oid *goods = fb_xcalloc(nr_good, sizeof(*goods));
	const char *change = fb_json_str(args, "change");
	const char *metric = fb_json_str(args, "metric");
	struct fb_oid bad;

	if (oid_of(fb_json_str(args, "bad"), &bad, err) < 0)
		return -1;
	for (size_t i = 0; i < nr_good; i++)
		if (oid_of(json_string_value(json_array_get(good, i)), &goods[i], err) < 0)
			return -1;
	for (size_t i = 0; i < FB_ARRAY_SIZE(change_names); i++)
		if (change && !strcmp(change, change_names[i]))
			b->change = (enum fb_change)i;
	b->cell = (int)json_integer_value(json_object_get(args, "cell"));
	b->metric = metric ? fb_xstrdup(metric) : NULL;
	if (b->cell >= 0 && (size_t)b->cell >= b->plan->nr_cells)
		return fb_error_set(err, FB_ERROR_STORE, "session's cell %d is not in its plan", b->cell);
	return fb_history_range(b->history, &bad, goods, nr_good,
				json_is_true(json_object_get(args, "first_parent")) ?
					FB_RANGE_FIRST_PARENT : 0,
				&b->range, err);
}

static int make_dag(struct fb_bisect *b)
{
	const struct fb_range *r = b->range;

	b->dag = fb_dag_new();
	if (!b->dag)
		return -1;
	for (uint32_t i = 0; i < r->nr; i++)
		if (fb_dag_add(b->dag, r->parent + r->parent_start[i],
			       r->parent_start[i + 1] - r->parent_start[i]) < 0)
			return -1;
	return 0;
}

static int make_search(struct fb_bisect *b, struct fb_error *err)
{
	const struct fb_range *r = b->range;
	const struct fb_plan *plan = b->plan;
	struct fb_search_params params = {
		.confidence = plan->confidence,
		.min_effect = plan->min_effect,
		.scale = FB_SCALE_LOG,
		.direction = fb_change_direction(b->change, &plan->cells[b->cell], b->metric),
		.min_boots = plan->boots_min,
		.max_boots = plan->boots_max,
		.max_total = plan->max_boots > b->nr_used ? plan->max_boots - (unsigned)b->nr_used :
							    plan->max_boots > 0,
		.batch = fb_machine_find(plan->machine) == FB_MACHINE_DETERMINISTIC ?
				 BATCH_DETERMINISTIC : 1,
	};

	b->search = fb_search_new(b->dag, r->good, r->nr_good, r->base, r->nr_base, r->bad, &params);
	if (!b->search)
		return fb_error_set(err, FB_ERROR_USAGE, "these numbers make no search");
	if (fb_machine_find(plan->machine) != FB_MACHINE_COMMAND)
		for (uint32_t i = 0; i < r->nr; i++)
			fb_search_set_cost(b->search, i, BUILD_COST_BOOTS);
	return 0;
}

static bool node_of(const struct fb_bisect *b, const char *hex, uint32_t *ret)
{
	for (uint32_t i = 0; hex && i < b->range->nr; i++)
		if (!strcmp(b->range->oid[i].hex, hex)) {
			*ret = i;
			return true;
		}
	return false;
}

/* --- the record: each event changes the state in one way, when it happens and when replayed --- */

static void learn_kernel(struct fb_bisect *b, uint32_t node, const char *signature)
{
	struct fb_bisect_node *n = &b->node[node];

	if (n->signature)
		return;
	n->signature = fb_xstrdup(signature);
	if (!b->search)
		return;
	fb_search_set_cost(b->search, node, 0);
	for (uint32_t i = 0; i < b->range->nr; i++)
		if (i != node && b->node[i].signature && !strcmp(b->node[i].signature, signature)) {
			fb_search_same_image(b->search, i, node);
			break;
		}
}

static void learn_used(struct fb_bisect *b, int64_t boot)
{
	FB_GROW(b->used, b->nr_used, b->cap_used);
	b->used[b->nr_used++] = boot;
}

static int learn_value(struct fb_bisect *b, uint32_t node, double value, struct fb_error *err)
{
	struct fb_bisect_node *n = &b->node[node];

	if (fb_search_record(b->search, node, value) < 0)
		return fb_error_set(err, FB_ERROR_INPUT,
				    "%s is %g at %.12s: only values above zero can be bisected",
				    b->metric, value, b->range->oid[node].hex);
	FB_GROW(n->values, n->nr_values, n->cap_values);
	n->values[n->nr_values++] = value;
	n->measured++;
	b->measured = true;
	return 0;
}

static void learn_failure(struct fb_bisect *b, uint32_t node, const char *why)
{
	struct fb_bisect_node *n = &b->node[node];

	n->failed++;
	free(n->last_failure);
	n->last_failure = fb_xstrdup(why);
}

static void learn_skip(struct fb_bisect *b, uint32_t node, const char *cause)
{
	if (b->node[node].cause)
		return;
	b->node[node].cause = fb_xstrdup(cause);
	if (b->search)
		fb_search_skip(b->search, node);
}

static void learn_asked(struct fb_bisect *b, uint32_t node)
{
	if (!b->node[node].asked)
		b->steps++;
	b->node[node].asked = true;
}

/* The cell is chosen: what is known of the kernels goes into the new search. */
static int learn_choice(struct fb_bisect *b, int cell, const char *metric, struct fb_error *err)
{
	b->cell = cell;
	free(b->metric);
	b->metric = fb_xstrdup(metric);
	if (make_search(b, err) < 0)
		return -1;
	for (uint32_t i = 0; i < b->range->nr; i++) {
		struct fb_bisect_node *n = &b->node[i];
		FB_CLEANUP(fb_freep) char *signature = FB_TAKE(n->signature);

		if (signature)
			learn_kernel(b, i, signature);
		if (n->cause)
			fb_search_skip(b->search, i);
	}
	return 0;
}

static int learn(struct fb_bisect *b, const char *kind, json_t *data, struct fb_error *err)
{
	uint32_t node = 0;
	bool has_node = node_of(b, fb_json_str(data, "commit"), &node);
	json_int_t boot = json_integer_value(json_object_get(data, "boot"));

	if (!strcmp(kind, "choice"))
		return learn_choice(b, (int)json_integer_value(json_object_get(data, "cell")),
				    fb_json_str(data, "metric"), err);
	if (!has_node)
		return fb_error_set(err, FB_ERROR_STORE, "event '%s' names no commit of the range", kind);
	if (!strcmp(kind, "kernel")) {
		learn_kernel(b, node, fb_json_str(data, "signature"));
	} else if (!strcmp(kind, "skip")) {
		learn_skip(b, node, fb_json_str(data, "cause"));
	} else if (!strcmp(kind, "survey")) {
		learn_asked(b, node);
		fb_survey_record(b->survey,
				 node == b->range->bad ? FB_SURVEY_BAD : FB_SURVEY_GOOD,
				 json_object_get(data, "values"));
		b->node[node].measured++;
		learn_used(b, boot);
	} else if (!strcmp(kind, "value")) {
		learn_asked(b, node);
		learn_used(b, boot);
		if (!b->tool && fb_json_str(data, "tool"))
			b->tool = fb_xstrdup(fb_json_str(data, "tool"));
		return learn_value(b, node, json_real_value(json_object_get(data, "value")), err);
	} else if (!strcmp(kind, "failure")) {
		learn_asked(b, node);
		learn_used(b, boot);
		learn_failure(b, node, fb_json_str(data, "why"));
	}
	return 0;
}

/* Store first, then learn: what is lost by a kill is only what was not stored. */
static int happen(struct fb_bisect *b, const char *kind, json_t *data_new, struct fb_error *err)
{
	json_auto_t *data = data_new;

	if (fb_store_event_add(b->store, b->session.id, kind, data, err) < 0)
		return -1;
	return learn(b, kind, data, err);
}

int fb_bisect_load(struct fb_store *store, struct fb_history *history, const struct fb_plan *plan,
		   struct fb_session *session, struct fb_bisect **ret, struct fb_error *err)
{
	FB_CLEANUP(fb_bisect_freep) struct fb_bisect *b = fb_xcalloc(1, sizeof(*b));
	json_auto_t *events = NULL;
	struct fb_session copy = *session;
	json_t *event;
	size_t i;

	b->store = store;
	b->history = history;
	b->plan = plan;
	b->session.args = json_incref(session->args);
	if (load_args(b, err) < 0)
		return -1;
	b->node = fb_xcalloc(b->range->nr, sizeof(*b->node));
	if (make_dag(b) < 0)
		return fb_error_set(err, FB_ERROR_GIT, "the range is no graph");
	if (b->cell >= 0 && b->metric) {
		if (make_search(b, err) < 0)
			return -1;
	} else {
		b->survey = fb_survey_new(plan, b->change, b->cell, b->metric);
		b->cell = -1;
	}
	b->session.id = session->id;
	if (fb_store_events(store, session->id, &events, err) < 0)
		return -1;
	json_array_foreach(events, i, event)
		if (learn(b, fb_json_str(event, "kind"), json_object_get(event, "data"), err) < 0)
			return fb_error_wrap(err, "session %s, event %zu", session->name, i + 1);
	json_decref(b->session.args);
	b->session = copy;
	memset(session, 0, sizeof(*session));
	*ret = FB_TAKE(b);
	return 0;
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
	if (leader != UINT32_MAX)
		snprintf(s->leader, sizeof(s->leader), "%.12s", b->range->oid[leader].hex);
	if (lab->nr_boots) {
		double boot_s = (double)lab->boot_ns / lab->nr_boots / FB_NS_PER_S;
		double build_s = lab->nr_builds ?
				 (double)lab->build_ns / lab->nr_builds / FB_NS_PER_S : 0;

		s->eta_s = fb_search_boots_to_go(b->search) * boot_s / lab->slots +
			   log2(s->left + 1.0) * build_s;
	}
}

/* Two versions of a tool may print two things under one name. */
static int check_tool(const struct fb_bisect *b, uint32_t node, const char *tool,
		      struct fb_error *err)
{
	if (!b->tool || !tool || fb_values_tools_agree(b->tool, tool))
		return 0;
	return fb_error_set(err, FB_ERROR_USAGE,
			    "%.12s was measured by %s, the others by %s: that cannot be compared",
			    b->range->oid[node].hex, tool, b->tool);
}

static int take_failure(struct fb_bisect *b, uint32_t node, const struct fb_store_boot *boot,
			const char *why, struct fb_error *err)
{
	return happen(b, "failure",
		      json_pack("{s:s, s:I, s:s}", "commit", b->range->oid[node].hex, "boot",
				(json_int_t)boot->id, "why", why),
		      err);
}

/*
 * A boot that ended well without a value that has a logarithm. When even the first of all has no
 * value it is a mistake of the plan; else it is a property of the commit, like any other failure.
 * Told before anything is stored, so that the session can still be read.
 */
static int take_no_value(struct fb_bisect *b, uint32_t node, const struct fb_store_boot *boot,
			 const char *key, double value, struct fb_error *err)
{
	FB_CLEANUP(fb_freep) char *why =
		isnan(value) ? fb_xasprintf("%s is not measured", b->metric) :
			       fb_xasprintf("%s is %g: only values above zero can be bisected",
					    b->metric, value);

	if (b->measured || !isnan(value))
		return take_failure(b, node, boot, why, err);
	return fb_error_set(err, FB_ERROR_USAGE, "%s: %s at %.12s", key, why,
			    b->range->oid[node].hex);
}

static int take_boot(struct fb_bisect *b, uint32_t node, const struct fb_store_boot *boot,
		     struct fb_error *err)
{
	FB_CLEANUP(fb_freep) char *why = NULL;
	const char *hex = b->range->oid[node].hex;

	if (!b->search && !strcmp(boot->end, fb_end_name(FB_END_OK)))
		return happen(b, "survey",
			      json_pack("{s:s, s:I, s:o}", "commit", hex, "boot",
					(json_int_t)boot->id, "values",
					fb_survey_values(b->survey, boot)),
			      err);
	if (b->search) {
		FB_CLEANUP(fb_freep) char *key = fb_cell_key(&b->plan->cells[b->cell]);
		double value = fb_boot_value(boot, key, b->metric);

		if (isfinite(value) && value > 0) {
			const char *tool = fb_boot_tool(boot, key);

			if (check_tool(b, node, tool, err) < 0)
				return -1;
			return happen(b, "value",
				      json_pack("{s:s, s:I, s:I, s:s*, s:f}", "commit", hex, "boot",
						(json_int_t)boot->id, "seed",
						(json_int_t)boot->seed, "tool", tool, "value",
						value),
				      err);
		}
		if (!strcmp(boot->end, fb_end_name(FB_END_OK)))
			return take_no_value(b, node, boot, key, value, err);
	}
	why = fb_xasprintf("%s%s%s", boot->end, boot->why ? ": " : "", boot->why ? boot->why : "");
	return take_failure(b, node, boot, why, err);
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
	return happen(b, "skip",
		      json_pack("{s:s, s:s}", "commit", b->range->oid[node].hex, "cause", cause), err);
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
		return n->cause ? 0 :
				  happen(b, "skip",
					 json_pack("{s:s, s:s}", "commit", hex, "cause",
						   kernel->cause),
					 err);
	if (n->signature && strcmp(n->signature, kernel->signature))
		return fb_error_set(err, FB_ERROR_USAGE,
				    "%.12s builds another kernel than when the session began: "
				    "start a new session", hex);
	if (!n->signature)
		return happen(b, "kernel",
			      json_pack("{s:s, s:s}", "commit", hex, "signature",
					kernel->signature),
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

		learn_asked(b, wants[i].node);
		rc = kernel_of(b, lab, wants[i].node, &kernels[i], err);
		if (rc < 0 || !kernels[i].signature)
			continue;
		rc = fb_lab_env(lab, cells, nr_cells, kernels[i].toolchain, env, err);
		for (unsigned k = 0; k < wants[i].boots && rc == 0; k++) {
			struct fb_store_boot old = { 0 };
			bool found = false;
			uint64_t fresh;

			rc = fb_lab_find_boot(lab, kernels[i].signature, env, b->used, b->nr_used,
					      &old, &found, &fresh, err);
			if (rc == 0 && found) {
				rc = take_boot(b, wants[i].node, &old, err);
				fb_store_boot_release(&old);
			} else if (rc == 0) {
				requests[n].kernel = &kernels[i];
				requests[n].seed = fb_lab_fresh_seed(requests, n, fresh,
								     kernels[i].signature);
				who[n++] = wants[i].node;
			}
		}
	}
	if (rc == 0 && n) {
		rc = fb_lab_boot(lab, cells, nr_cells, requests, n, boots, err);
		for (size_t i = 0; i < n && rc == 0; i++)
			rc = take_boot(b, who[i], &boots[i], err);
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

static json_t *verdict_json(const struct fb_bisect *b, const struct fb_verdict *v, int cell,
			    const char *metric)
{
	json_t *out = json_object(), *commits = json_array();

	json_object_set_new(out, "verdict", json_string(verdict_name(v->kind)));
	for (size_t i = 0; i < v->nr_nodes; i++)
		json_array_append_new(commits, json_string(b->range->oid[v->nodes[i]].hex));
	if (v->kind == FB_VERDICT_FOUND && v->nr_nodes == 1)
		json_object_set(out, "commit", json_array_get(commits, 0));
	json_object_set_new(out, "commits", commits);
	if (isfinite(v->confidence))
		json_object_set_new(out, "confidence", json_real(v->confidence));
	if (isfinite(v->other))
		json_object_set_new(out, "something_else", json_real(v->other));
	if (cell >= 0)
		json_object_set_new(out, "cell", json_integer(cell));
	if (metric)
		json_object_set_new(out, "metric", json_string(metric));
	if (isfinite(v->effect)) {
		json_object_set_new(out, "mean_good", json_real(v->mean_good));
		json_object_set_new(out, "mean_bad", json_real(v->mean_bad));
		json_object_set_new(out, "effect", json_real(v->effect));
		json_object_set_new(out, "effect_lo", json_real(v->effect_lo));
		json_object_set_new(out, "effect_hi", json_real(v->effect_hi));
		json_object_set_new(out, "sigma", json_real(v->sigma));
	}
	json_object_set_new(out, "boots", json_integer(v->boots));
	json_object_set_new(out, "commits_tested", json_integer(b->steps));
	return out;
}

json_t *fb_bisect_so_far(const struct fb_bisect *b)
{
	struct fb_verdict v = { .kind = FB_VERDICT_OPEN, .confidence = NAN, .other = NAN,
				.effect = NAN, .boots = (unsigned)b->nr_used };

	if (b->session.verdict)
		return json_incref(b->session.verdict);
	if (b->search)
		fb_search_verdict(b->search, &v);
	/* What leads now is no answer: only a verdict names commits. */
	v.kind = FB_VERDICT_OPEN;
	v.nr_nodes = 0;
	return verdict_json(b, &v, b->cell, b->metric);
}

/* An end that cannot be measured leaves nothing to compare. */
static int end_untestable(struct fb_bisect *b, uint32_t node, struct fb_error *err)
{
	struct fb_verdict v = { .kind = FB_VERDICT_UNTESTABLE, .nodes = &node, .nr_nodes = 1,
				.effect = NAN };

	return finish(b, verdict_json(b, &v, -1, NULL), err);
}

/* There are values, but none that can be followed: zero, or missing in some boots. */
static int end_unusable(struct fb_bisect *b, const uint32_t ends[2], struct fb_error *err)
{
	const char *metric = b->survey->only_metric;
	FB_CLEANUP(fb_freep)
	char *cause = metric ? fb_xasprintf("%s is not above zero in every boot", metric)
			     : fb_xstrdup("no headline metric is above zero in every boot");
	struct fb_verdict v = {.kind = FB_VERDICT_UNTESTABLE,
			       .nodes = ends,
			       .nr_nodes = 2,
			       .confidence = NAN,
			       .other = NAN,
			       .effect = NAN,
			       .boots = (unsigned)b->nr_used};

	for (int i = 0; i < 2; i++)
		if (happen(b, "skip",
			   json_pack("{s:s, s:s}", "commit", b->range->oid[ends[i]].hex, "cause",
				     cause),
			   err) < 0)
			return -1;
	return finish(b, verdict_json(b, &v, -1, metric), err);
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
	uint32_t ends[2] = { b->range->good[0], b->range->bad };
	const struct fb_survey_series *best;
	enum fb_survey_state state;
	struct fb_verdict v = { .effect = NAN };

	*ret_done = false;
	while ((state = fb_survey_state(b->survey, &best)) == FB_SURVEY_GO_ON) {
		enum fb_survey_end first = fb_survey_next(b->survey);
		struct want wants[2] = { { ends[first], 1 }, { ends[!first], 1 } };

		if (is_spent(b, deadline_ns)) {
			state = FB_SURVEY_UNDECIDED;
			break;
		}
		if (measure(b, lab, wants, 2, err) < 0)
			return -1;
		for (int i = 0; i < 2; i++)
			if (b->node[ends[i]].cause) {
				*ret_done = true;
				return end_untestable(b, ends[i], err);
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

		fb_lab_tell(lab, "following %s of %s: %+.1f%% between the ends", best->metric, label,
			    100 * v.effect);
		return happen(b, "choice",
			      json_pack("{s:i, s:s}", "cell", best->cell, "metric", best->metric), err);
	}
	v.kind = state == FB_SURVEY_NONE ? FB_VERDICT_NONE : FB_VERDICT_UNDECIDED;
	v.nr_nodes = 0;
	*ret_done = true;
	return finish(b, verdict_json(b, &v, best ? best->cell : -1, best ? best->metric : NULL),
		      err);
}

/* One line a step, for logs and for those who watch. */
static void tell_step(const struct fb_bisect *b, struct fb_lab *lab, uint32_t node,
		      size_t had_values)
{
	const struct fb_bisect_node *n = &b->node[node];
	struct fb_str values = FB_STR_INIT;

	for (size_t i = had_values; i < n->nr_values; i++)
		fb_str_addf(&values, " %.5g", n->values[i]);
	if (n->cause)
		fb_str_add(&values, " skipped");
	fb_lab_tell(lab, "step %u: %.12s%s; %u left, %s %.1f%%", b->steps, b->range->oid[node].hex,
		    fb_str_cstr(&values), lab->state.left, lab->state.leader,
		    100 * lab->state.posterior);
	fb_str_release(&values);
}

static int run_search(struct fb_bisect *b, struct fb_lab *lab, int64_t deadline_ns,
		      struct fb_error *err)
{
	struct fb_search_ask ask;
	struct fb_verdict v;
	size_t had;

	while (fb_search_next(b->search, &ask) == FB_SEARCH_MEASURE) {
		struct want want = { ask.node, ask.boots };

		if (deadline_ns && fb_clock_mono_ns() > deadline_ns) {
			fb_search_verdict(b->search, &v);
			v.kind = FB_VERDICT_UNDECIDED;
			return finish(b, verdict_json(b, &v, b->cell, b->metric), err);
		}
		show(b, lab);
		had = b->node[ask.node].nr_values;
		if (measure(b, lab, &want, 1, err) < 0)
			return -1;
		show(b, lab);
		tell_step(b, lab, ask.node, had);
	}
	fb_search_verdict(b->search, &v);
	show(b, lab);
	return finish(b, verdict_json(b, &v, b->cell, b->metric), err);
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
