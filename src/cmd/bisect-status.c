/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `firstbad bisect status`: the session is replayed, nothing is run. */
#include "src/cmd/bisect.h"
#include "src/cmd/manual.h"
#include "src/util/json.h"
#include "src/util/util.h"

#define SUBJECT_SHOWN 56

/* The change as a report shows it: that of the boots. */
static void status_change(const struct fb_bisect *b, struct fb_str *out)
{
	json_auto_t *now = fb_bisect_so_far(b);
	json_t *change = json_object_get(now, "effect");
	json_t *lo = json_object_get(now, "effect_lo"), *hi = json_object_get(now, "effect_hi");

	/* Of exit statuses it is a difference of rates. */
	if (!change || b->by_status)
		return;
	fb_str_addf(out, "change %+.2f%%", 100 * json_number_value(change));
	if (lo && hi)
		fb_str_addf(out, " (95%% interval %+.2f%% .. %+.2f%%)", 100 * json_number_value(lo),
			    100 * json_number_value(hi));
	fb_str_add(out, "\n");
}

/* What the report begins with. */
static int status_answer(const struct fb_bisect *b, struct fb_str *out, struct fb_error *err)
{
	FB_CLEANUP(fb_reporting_freep) struct fb_reporting *r = NULL;

	if (fb_reporting_new(b, &r, err) < 0)
		return -1;
	fb_str_add(out, "\n");
	fb_report_answer(fb_reporting_report(r), out);
	return 0;
}

static void status_search(const struct fb_bisect *b, struct fb_str *out)
{
	uint32_t left = fb_search_left(b->search);
	struct fb_verdict v;

	fb_search_verdict(b->search, &v);
	fb_str_addf(out, "%u candidate%s %.3g%%, something else %.3f\n", left,
		    left == 1 ? " holds" : "s hold", 100 * b->plan->confidence, v.other);
}

static void status_text(const struct fb_bisect *b, struct fb_str *out)
{
	const char *verdict = fb_json_str(b->session.verdict, "verdict");

	fb_str_addf(out, "session %s, %s\n", b->session.name,
		    verdict ? verdict : "open: not finished");
	fb_str_addf(out, "range %.12s..%.12s, %u candidate%s\n",
		    b->range->oid[b->range->good[0]].hex, b->range->oid[b->range->bad].hex,
		    b->range->nr_candidates, fb_plural(b->range->nr_candidates));
	if (b->search) {
		fb_str_addf(out, "following %s\n%zu boot%s of %u commit%s", b->metric, b->nr_used,
			    fb_plural(b->nr_used), b->steps, fb_plural(b->steps));
		if (!verdict)
			fb_str_addf(out, ", about %.0f to go", fb_search_boots_to_go(b->search));
		fb_str_add(out, "\n");
	} else {
		fb_str_addf(out, "the ends %s compared over the whole matrix, %zu boot%s\n",
			    verdict ? "were" : "are being", b->nr_used, fb_plural(b->nr_used));
	}
	status_change(b, out);
	if (b->search && !verdict)
		status_search(b, out);
}

/* The most probable commits, best first. */
static int status_leaders(const struct fb_bisect *b, struct fb_str *out, json_t *list,
			  struct fb_error *err)
{
	FB_CLEANUP(fb_freep) bool *done = fb_xcalloc(b->range->nr, sizeof(*done));

	for (int k = 0; k < 5 && b->search; k++) {
		FB_CLEANUP(fb_commit_release) struct fb_commit c = {0};
		uint32_t best = UINT32_MAX;
		double p = 0;

		for (uint32_t i = 0; i < b->range->nr; i++)
			if (!done[i] && fb_search_posterior(b->search, i) > p) {
				p = fb_search_posterior(b->search, i);
				best = i;
			}
		if (best == UINT32_MAX)
			break;
		done[best] = true;
		if (fb_history_commit(b->history, &b->range->oid[best], &c, err) < 0)
			return -1;
		fb_str_addf(out, "  %5.3f %.12s %.*s\n", p, c.oid.hex,
			    (int)fb_utf8_cut(c.subject, SUBJECT_SHOWN), c.subject);
		json_array_append_new(list, json_pack("{s:s, s:s, s:f}", "commit", c.oid.hex,
						      "subject", c.subject, "posterior", p));
	}
	return 0;
}

/* Points that were measured, by commit. */
static void status_plot(const struct fb_bisect *b, struct fb_str *out)
{
	FB_CLEANUP(fb_freep) struct fb_plot_row *rows = fb_xcalloc(b->range->nr, sizeof(*rows));
	size_t nr = 0, near = 0;
	double best = -1;

	for (uint32_t i = 0; i < b->range->nr && !b->by_status; i++) {
		const struct fb_bisect_node *n = &b->node[i];

		if (!n->nr_values)
			continue;
		if (b->search && fb_search_posterior(b->search, i) > best) {
			best = fb_search_posterior(b->search, i);
			near = nr;
		}
		rows[nr++] = (struct fb_plot_row){b->range->oid[i].hex, n->cause ? "skip" : "",
						  n->values, n->nr_values};
	}
	fb_plot(rows, nr, near, out);
}

/* What is known, as in the line of `bisect run --json`, and where the search stands. */
static json_t *status_json(const struct fb_bisect *b, json_t *leaders)
{
	const struct fb_range *r = b->range;
	json_auto_t *known = fb_bisect_so_far(b);
	json_t *o = json_copy(known), *range = json_object(), *good = json_array();
	json_t *skipped = json_array();

	for (uint32_t i = 0; i < r->nr; i++)
		if (b->node[i].cause)
			json_array_append_new(skipped, json_string(r->oid[i].hex));
	for (uint32_t i = 0; i < r->nr_good; i++)
		json_array_append_new(good, json_string(r->oid[r->good[i]].hex));
	json_object_set_new(range, "good", good);
	json_object_set_new(range, "bad", json_string(r->oid[r->bad].hex));
	json_object_set_new(o, "session", json_string(b->session.name));
	json_object_set_new(o, "range", range);
	json_object_set_new(o, "candidates", json_integer(r->nr_candidates));
	json_object_set(o, "leaders", leaders);
	json_object_set_new(o, "skipped", skipped);
	if (b->search && !b->session.verdict) {
		json_object_set_new(o, "left", json_integer(fb_search_left(b->search)));
		json_object_set_new(o, "boots_to_go", json_real(fb_search_boots_to_go(b->search)));
	}
	return o;
}

/* The bisection by hand of this worktree, when there is one: exit status + 1; 0 without, or -1. */
static int by_hand(const struct fb_common *common, struct fb_error *err)
{
	FB_CLEANUP(fb_manual_cmd_release) struct fb_manual_cmd c = {0};
	FB_CLEANUP(fb_str_release) struct fb_str out = FB_STR_INIT;
	json_auto_t *json = NULL;

	if (fb_manual_cmd_open(&c, common, false, err) < 0)
		return -1;
	if (!c.m->active)
		return 0;
	if (fb_manual_status(&c, &out, &json, err) < 0)
		return -1;
	if (common->json) {
		fb_str_release(&out);
		fb_json_pretty(json, &out);
	}
	return fb_put(fb_str_cstr(&out)) + 1;
}

int fb_cmd_bisect_status(int argc, char **argv)
{
	struct fb_common common = {0};
	const struct fb_opt opts[] = {FB_COMMON_OPTS(common)};
	FB_CLEANUP(fb_bisect_cmd_release) struct fb_bisect_cmd c = {0};
	FB_CLEANUP(fb_str_release) struct fb_str out = FB_STR_INIT;
	json_auto_t *leaders = json_array(), *json = NULL;
	struct fb_error err = FB_ERROR_INIT;
	int first, rc = fb_opt_parse(argc, argv, "bisect status [SESSION]",
				     "Tells what a bisection knows so far; it may be running.",
				     opts, FB_ARRAY_SIZE(opts), &first);

	if (rc >= 0)
		return rc;
	rc = first < argc ? 0 : by_hand(&common, &err);
	if (rc)
		return rc < 0 ? fb_fail(&err) : rc - 1;
	if (first >= argc)
		common.dir = NULL; /* -C was carried out */
	if (fb_at_most(argc, argv, first + 1, &err) < 0 ||
	    fb_bisect_cmd_read(&c, &common, first < argc ? argv[first] : NULL, &err) < 0)
		return fb_fail(&err);
	status_text(c.b, &out);
	if (!c.b->session.verdict)
		status_plot(c.b, &out);
	if ((c.b->session.verdict ? status_answer(c.b, &out, &err)
				  : status_leaders(c.b, &out, leaders, &err)) < 0)
		return fb_fail(&err);
	if (common.json) {
		json = status_json(c.b, leaders);
		fb_str_release(&out);
		fb_json_pretty(json, &out);
	}
	return fb_put(fb_str_cstr(&out));
}
