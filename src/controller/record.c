/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The record of a bisection: begun, loaded, and what each event of it means. */
#include "src/controller/record.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/controller/survey.h"
#include "src/util/json.h"
#include "src/util/util.h"

/*
 * Boots that the search asks for at once. Not the host's number of CPUs: the same record must
 * lead to the same next step on every host.
 */
#define BATCH_DETERMINISTIC 2
/* What building an unbuilt commit is reckoned to cost; only orders near-equal splits. */
#define BUILD_COST_BOOTS 2.0

static const char *const change_names[] = {"regression", "improvement", "any"};

const char *fb_change_name(enum fb_change change)
{
	return change_names[change];
}

/* --- beginning and loading -------------------------------------------------------------- */

static json_t *args_to_json(const struct fb_bisect_args *args)
{
	json_t *good = json_array(), *o;

	for (size_t i = 0; i < args->nr_good; i++)
		json_array_append_new(good, json_string(args->good[i].hex));
	o = json_pack("{s:s, s:o, s:b, s:i, s:s, s:b}", "bad", args->bad.hex, "good", good,
		      "first_parent", args->first_parent, "cell", args->cell, "change",
		      change_names[args->change], "flaky", args->flaky);
	if (args->metric)
		json_object_set_new(o, "metric", json_string(args->metric));
	if (args->command_hash)
		json_object_set_new(o, "command_hash", json_string(args->command_hash));
	return o;
}

bool fb_bisect_is_same(const struct fb_session *session, const struct fb_plan *plan,
		       const struct fb_bisect_args *args)
{
	json_auto_t *o = args_to_json(args);

	return !strcmp(session->kind, "bisect") && !strcmp(session->plan, plan->text) &&
	       json_equal(session->args, o);
}

int fb_bisect_begin(struct fb_store *store, struct fb_history *history, const struct fb_plan *plan,
		    const struct fb_bisect_args *args, struct fb_session *ret, struct fb_error *err)
{
	FB_CLEANUP(fb_range_freep) struct fb_range *range = NULL;
	struct fb_session session = {0};

	if (fb_history_range(history, &args->bad, args->good, args->nr_good,
			     args->first_parent ? FB_RANGE_FIRST_PARENT : 0, &range, err) < 0)
		return -1;
	session.kind = fb_xstrdup("bisect");
	session.repo = fb_xstrdup(fb_history_gitdir(history));
	session.workdir = fb_xstrdup(fb_history_workdir(history));
	session.plan = fb_xstrdup(plan->text);
	session.plan_name = fb_xstrdup(plan->path);
	session.state = fb_xstrdup("open");
	session.args = args_to_json(args);
	if (fb_store_session_add(store, &session, err) < 0) {
		fb_session_release(&session);
		return -1;
	}
	*ret = session;
	return 0;
}

static void forget_counters(struct fb_bisect *b)
{
	for (size_t i = 0; i < b->nr_counters; i++)
		free(b->counters[i]);
	b->nr_counters = 0;
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
	forget_counters(b);
	free(b->counters);
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
		return fb_error_set(err, FB_ERROR_STORE,
				    "session holds no commit id where one belongs");
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
		return fb_error_set(err, FB_ERROR_STORE, "session's cell %d is not in its plan",
				    b->cell);
	if (b->cell >= 0 && !metric && fb_cell_by_status(&b->plan->cells[b->cell])) {
		b->by_status = true;
		b->flaky = json_is_true(json_object_get(args, "flaky"));
		b->metric = fb_xstrdup(FB_METRIC_STATUS);
	}
	return fb_history_range(
		b->history, &bad, goods, nr_good,
		json_is_true(json_object_get(args, "first_parent")) ? FB_RANGE_FIRST_PARENT : 0,
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
		.scale = !b->by_status ? FB_SCALE_LOG
			 : b->flaky    ? FB_SCALE_BINARY
				       : FB_SCALE_CERTAIN,
		.direction = b->by_status ? FB_DIRECTION_UP
					  : fb_change_direction(b->change, &plan->cells[b->cell],
								b->metric),
		.rate_old = NAN,
		.rate_new = NAN,
		.min_boots = plan->boots_min,
		.max_boots = plan->boots_max,
		.max_total = plan->max_boots > b->nr_used ? plan->max_boots - (unsigned)b->nr_used
							  : plan->max_boots > 0,
		.batch = fb_machine_find(plan->machine) == FB_MACHINE_DETERMINISTIC
				 ? BATCH_DETERMINISTIC
				 : 1,
	};

	b->search =
		fb_search_new(b->dag, r->good, r->nr_good, r->base, r->nr_base, r->bad, &params);
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
	for (size_t i = 0; i < b->nr_used; i++)
		if (b->used[i] == boot)
			return;
	FB_GROW(b->used, b->nr_used, b->cap_used);
	b->used[b->nr_used++] = boot;
}

/* @value: as it is shown; @recorded: as the search takes it. */
static int learn_value(struct fb_bisect *b, uint32_t node, double value, double recorded,
		       struct fb_error *err)
{
	struct fb_bisect_node *n = &b->node[node];

	if (fb_search_record(b->search, node, recorded) < 0)
		return fb_error_set(err, FB_ERROR_INPUT,
				    "%s is %g at %.12s: that cannot be bisected", b->metric, value,
				    b->range->oid[node].hex);
	FB_GROW(n->values, n->nr_values, n->cap_values);
	n->values[n->nr_values++] = value;
	n->measured++;
	b->measured = true;
	return 0;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Numbered as they appear, those of one boot by name: the search may depend on the numbers. */
static size_t number_counter(struct fb_bisect *b, const char *name)
{
	size_t i = 0;

	while (i < b->nr_counters && strcmp(b->counters[i], name) != 0)
		i++;
	if (i == b->nr_counters) {
		FB_GROW(b->counters, b->nr_counters, b->cap_counters);
		b->counters[b->nr_counters++] = fb_xstrdup(name);
	}
	return i;
}

/* What the search does not take (too many of them) is no reason to stop: it is a hint only. */
static void learn_counters(struct fb_bisect *b, uint32_t node, json_t *counters)
{
	FB_CLEANUP(fb_freep)
	const char **names = fb_xcalloc(json_object_size(counters) + 1, sizeof(*names));
	const char *name;
	size_t nr = 0;
	json_t *v;

	json_object_foreach(counters, name, v)
	{
		names[nr++] = name;
	}
	qsort(names, nr, sizeof(*names), by_name);
	for (size_t i = 0; i < nr; i++) {
		size_t number = number_counter(b, names[i]);

		v = json_object_get(counters, names[i]);
		if (number < FB_COUNTERS_MAX && json_is_number(v))
			fb_search_record_counter(b->search, node, (uint32_t)number,
						 json_number_value(v));
	}
}

/* An exit status of 0 is the good side, whichever end of an improvement that is. */
static int learn_status(struct fb_bisect *b, uint32_t node, int status, struct fb_error *err)
{
	bool new = (status != 0) != (b->change == FB_CHANGE_IMPROVEMENT);

	if (b->doubt.open && b->doubt.node == node)
		b->doubt.open = false;
	return learn_value(b, node, status, new, err);
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

void fb_record_asked(struct fb_bisect *b, uint32_t node)
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
	/* Verdicts by exit status came from runs that failed to give a value, as it turned out. */
	b->by_status = b->measured = b->doubt.open = false;
	fb_search_free(b->search);
	b->search = NULL;
	forget_counters(b);
	if (make_search(b, err) < 0)
		return -1;
	for (uint32_t i = 0; i < b->range->nr; i++) {
		struct fb_bisect_node *n = &b->node[i];
		FB_CLEANUP(fb_freep) char *signature = FB_TAKE(n->signature);

		n->nr_values = 0;
		if (signature)
			learn_kernel(b, i, signature);
		if (n->cause)
			fb_search_skip(b->search, i);
	}
	return 0;
}

/* What firstbad itself would not have written: the code that follows relies on it. */
static int check_event(const struct fb_bisect *b, const char *kind, const json_t *data,
		       struct fb_error *err)
{
	static const struct {
		const char *kind, *string; /* which must be there */
		bool of_search, of_survey;
	} kinds[] = {
		{"choice", "metric", false, false}, {"kernel", "signature", false, false},
		{"skip", "cause", false, false},    {"failure", "why", false, false},
		{"value", NULL, true, false},	    {"status", NULL, true, false},
		{"survey", NULL, false, true},
	};
	json_int_t cell = json_integer_value(json_object_get(data, "cell"));

	for (size_t i = 0; i < FB_ARRAY_SIZE(kinds); i++) {
		if (strcmp(kind, kinds[i].kind))
			continue;
		if (kinds[i].string && !fb_json_str(data, kinds[i].string))
			return fb_error_set(err, FB_ERROR_STORE, "'%s' without its %s", kind,
					    kinds[i].string);
		if ((kinds[i].of_search && !b->search) || (kinds[i].of_survey && !b->survey))
			return fb_error_set(err, FB_ERROR_STORE, "'%s' out of place", kind);
	}
	if (cell < 0 || (size_t)cell >= b->plan->nr_cells)
		return fb_error_set(err, FB_ERROR_STORE, "no cell %lld in its plan",
				    (long long)cell);
	return 0;
}

static int learn(struct fb_bisect *b, const char *kind, json_t *data, struct fb_error *err)
{
	uint32_t node = 0;
	bool has_node = node_of(b, fb_json_str(data, "commit"), &node);
	json_int_t boot = json_integer_value(json_object_get(data, "boot"));
	int status = (int)json_integer_value(json_object_get(data, "status"));

	if (check_event(b, kind, data, err) < 0)
		return -1;
	if (!strcmp(kind, "choice"))
		return learn_choice(b, (int)json_integer_value(json_object_get(data, "cell")),
				    fb_json_str(data, "metric"), err);
	if (!has_node)
		return fb_error_set(err, FB_ERROR_STORE, "event '%s' names no commit of the range",
				    kind);
	if (!strcmp(kind, "kernel")) {
		learn_kernel(b, node, fb_json_str(data, "signature"));
		return 0;
	}
	if (boot) {
		fb_record_asked(b, node);
		learn_used(b, boot);
	}
	if (!strcmp(kind, "skip")) {
		learn_skip(b, node, fb_json_str(data, "cause"));
	} else if (!strcmp(kind, "survey")) {
		fb_survey_record(b->survey, node == b->range->bad ? FB_SURVEY_BAD : FB_SURVEY_GOOD,
				 json_object_get(data, "values"));
		b->node[node].measured++;
	} else if (!strcmp(kind, "value")) {
		double value = json_real_value(json_object_get(data, "value"));

		if (!b->tool && fb_json_str(data, "tool"))
			b->tool = fb_xstrdup(fb_json_str(data, "tool"));
		if (learn_value(b, node, value, value, err) < 0)
			return -1;
		learn_counters(b, node, json_object_get(data, "counters"));
	} else if (!strcmp(kind, "status")) {
		return learn_status(b, node, status, err);
	} else if (!strcmp(kind, "failure")) {
		learn_failure(b, node, fb_json_str(data, "why"));
	} else if (!strcmp(kind, "doubt")) {
		b->doubt = (struct fb_bisect_doubt){true, node, boot, status};
	} else if (!strcmp(kind, "abort")) {
		b->doubt.open = false;
	}
	return 0;
}

/* Store first, then learn: what is lost by a kill is only what was not stored. */
int fb_record(struct fb_bisect *b, const char *kind, json_t *data_new, struct fb_error *err)
{
	json_auto_t *data = data_new;

	if (fb_store_event_add(b->store, b->session.id, kind, data, err) < 0)
		return -1;
	return learn(b, kind, data, err);
}

/* @verdict: NULL of a session that is not done. */
static int check_verdict(json_t *verdict, struct fb_error *err)
{
	json_t *commits = json_object_get(verdict, "commits"), *hex;
	const char *name = fb_json_str(verdict, "verdict");
	struct fb_oid oid;
	size_t i;

	if (verdict && (!name || fb_verdict_find(name) < 0))
		return fb_error_set(err, FB_ERROR_STORE, "its verdict is none");
	if (name && fb_verdict_find(name) == FB_VERDICT_FOUND && !json_array_size(commits))
		return fb_error_set(err, FB_ERROR_STORE, "its verdict names no commit");
	json_array_foreach(commits, i, hex)
	{
		if (oid_of(json_string_value(hex), &oid, err) < 0)
			return -1;
	}
	return 0;
}

int fb_bisect_load(struct fb_store *store, struct fb_history *history, const struct fb_plan *plan,
		   struct fb_session *session, struct fb_bisect **ret, struct fb_error *err)
{
	FB_CLEANUP(fb_bisect_freep) struct fb_bisect *b = fb_xcalloc(1, sizeof(*b));
	json_auto_t *events = NULL;
	struct fb_session copy = *session;
	json_t *event;
	size_t i;

	if (check_verdict(session->verdict, err) < 0)
		return fb_error_wrap(err, "session %s is damaged", session->name);
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
	{
		const char *kind = fb_json_str(event, "kind");

		if (learn(b, kind ? kind : "", json_object_get(event, "data"), err) == 0)
			continue;
		return fb_error_wrap(err, "session %s%s, event %zu", session->name,
				     err->code == FB_ERROR_STORE ? " is damaged" : "", i + 1);
	}
	json_decref(b->session.args);
	b->session = copy;
	memset(session, 0, sizeof(*session));
	*ret = FB_TAKE(b);
	return 0;
}
