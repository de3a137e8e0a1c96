/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The whole report as one JSON object. */
#include <math.h>

#include "reporters/report.h"
#include "src/util/json.h"

/*
 * jansson makes no string of what is not UTF-8, and a key without a value would be missing from
 * the object without a word. Subjects and plans are UTF-8; what a compiler said may be anything.
 */
static json_t *text(const char *s)
{
	struct fb_str ascii = FB_STR_INIT;
	json_t *v;

	if (!s)
		return json_null();
	v = json_string(s);
	if (v)
		return v;
	for (; *s; s++)
		fb_str_addc(&ascii, (unsigned char)*s < 0x80 ? *s : '?');
	v = json_string(fb_str_cstr(&ascii));
	fb_str_release(&ascii);
	return v;
}

static json_t *number(double v)
{
	return isfinite(v) ? json_real(v) : json_null();
}

static json_t *commit(const struct fb_report_commit *c)
{
	json_t *o = json_object();

	json_object_set_new(o, "oid", text(c->oid));
	json_object_set_new(o, "subject", text(c->subject));
	json_object_set_new(o, "author_name", text(c->author_name));
	json_object_set_new(o, "author_email", text(c->author_email));
	json_object_set_new(o, "author_s", json_integer(c->author_s));
	return o;
}

static json_t *step(const struct fb_report_step *s)
{
	json_t *o = json_object(), *values = json_array();

	for (size_t i = 0; i < s->nr_values; i++)
		json_array_append_new(values, number(s->values[i]));
	json_object_set_new(o, "oid", text(s->oid));
	json_object_set_new(o, "subject", text(s->subject));
	json_object_set_new(o, "role", text(s->role));
	json_object_set_new(o, "values", values);
	json_object_set_new(o, "skipped", text(s->cause));
	json_object_set_new(o, "same_kernel_as", text(s->same_as));
	json_object_set_new(o, "posterior", number(s->posterior));
	return o;
}

static json_t *change(const struct fb_report_change *c)
{
	json_t *o = json_object(), *commits = json_array();

	for (size_t i = 0; i < c->nr_commits; i++)
		json_array_append_new(commits, text(c->commits[i].oid));
	json_object_set_new(o, "commits", commits);
	json_object_set_new(o, "change", number(c->effect));
	return o;
}

static json_t *counter(const struct fb_report_counter *c)
{
	json_t *o = json_object();

	json_object_set_new(o, "metric", text(c->metric));
	json_object_set_new(o, "unit", text(c->unit));
	json_object_set_new(o, "good", number(c->good));
	json_object_set_new(o, "bad", number(c->bad));
	return o;
}

static json_t *effect(const struct fb_report *r)
{
	json_t *o;

	if (!r->has_effect)
		return json_null();
	o = json_object();
	json_object_set_new(o, "formula", json_string("mean_bad / mean_good - 1"));
	json_object_set_new(o, "mean_good", number(r->mean_good));
	json_object_set_new(o, "mean_bad", number(r->mean_bad));
	json_object_set_new(o, "change", number(r->effect));
	json_object_set_new(o, "change_lo95", number(r->effect_lo));
	json_object_set_new(o, "change_hi95", number(r->effect_hi));
	json_object_set_new(o, "boot_to_boot", number(r->sigma));
	return o;
}

static void render(const struct fb_report *r, struct fb_str *out)
{
	json_auto_t *o = json_object();
	json_t *commits = json_array(), *steps = json_array(), *checks = json_array();
	json_t *changes = json_array(), *counters = json_array();

	json_object_set_new(o, "schema", json_integer(1));
	json_object_set_new(o, "firstbad", text(r->version));
	json_object_set_new(o, "session", text(r->session));
	json_object_set_new(o, "verdict", text(r->verdict));
	json_object_set_new(o, "cause", text(r->cause));
	json_object_set_new(o, "looked_for", text(r->looked_for));
	for (size_t i = 0; i < r->nr_commits; i++)
		json_array_append_new(commits, commit(&r->commits[i]));
	json_object_set_new(o, "commits", commits);
	for (size_t i = 0; i < r->nr_changes; i++)
		json_array_append_new(changes, change(&r->changes[i]));
	json_object_set_new(o, "changes", changes);
	json_object_set_new(o, "changes_found", json_boolean(r->changes_found));
	json_object_set_new(o, "confidence", number(r->confidence));
	json_object_set_new(o, "something_else", number(r->something_else));
	json_object_set_new(o, "good", commit(&r->good));
	json_object_set_new(o, "bad", commit(&r->bad));
	json_object_set_new(o, "cell", text(r->cell));
	json_object_set_new(o, "metric", text(r->metric));
	json_object_set_new(o, "unit", text(r->unit));
	json_object_set_new(o, "better", text(r->better));
	json_object_set_new(o, "min_effect", number(r->min_effect));
	json_object_set_new(o, "effect", effect(r));
	json_object_set_new(o, "failure_rates",
			    r->has_rates ? json_pack("{s:o, s:o}", "good", number(r->mean_good),
						     "bad", number(r->mean_bad))
					 : json_null());
	for (size_t i = 0; i < r->nr_counters; i++)
		json_array_append_new(counters, counter(&r->counters[i]));
	json_object_set_new(o, "counters", counters);
	json_object_set_new(o, "boots", json_integer(r->boots));
	json_object_set_new(o, "commits_tested", json_integer(r->commits_tested));
	json_object_set_new(o, "candidates", json_integer(r->candidates));
	json_object_set_new(o, "machine", text(r->machine));
	json_object_set_new(o, "machine_note", text(r->machine_note));
	json_object_set_new(o, "fingerprint", text(r->fingerprint));
	for (size_t i = 0; i < r->nr_steps; i++)
		json_array_append_new(steps, step(&r->steps[i]));
	json_object_set_new(o, "steps", steps);
	for (size_t i = 0; i < r->nr_checks; i++)
		json_array_append_new(checks,
				      json_pack("{s:o, s:o}", "check", text(r->checks[i].name),
						"result", text(r->checks[i].result)));
	json_object_set_new(o, "checks", checks);
	json_object_set_new(o, "plan", text(r->plan));
	fb_json_pretty(o, out);
}

const struct fb_reporter fb_reporter_json = {
	.name = "json",
	.summary = "everything, for programs",
	.render = render,
};
