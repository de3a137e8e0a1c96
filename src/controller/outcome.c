/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What came of a boot: a value, a verdict by exit status, or why there is neither. */
#include "src/controller/outcome.h"

#include <math.h>
#include <string.h>

#include "src/controller/record.h"
#include "src/controller/survey.h"
#include "src/util/str.h"
#include "src/util/util.h"

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
	return fb_record(b, "failure",
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
	FB_CLEANUP(fb_freep)
	char *why =
		isnan(value)
			? fb_xasprintf("%s is not measured", b->metric)
			: fb_xasprintf(
				  "%s is %g: a change is a ratio, so only values above zero can be "
				  "bisected (print it with a constant added)",
				  b->metric, value);

	if (b->measured || !isnan(value))
		return take_failure(b, node, boot, why, err);
	return fb_error_set(err, FB_ERROR_USAGE, "%s: %s at %.12s", key, why,
			    b->range->oid[node].hex);
}

/* --- verdicts by exit status --------------------------------------------------------------- */

static json_t *status_event(const struct fb_bisect *b, uint32_t node, int64_t boot, int status)
{
	return json_pack("{s:s, s:I, s:i}", "commit", b->range->oid[node].hex, "boot",
			 (json_int_t)boot, "status", status);
}

/* Not recorded as a verdict, so that the commit is run again when the user goes on. */
static int take_abort(struct fb_bisect *b, uint32_t node, const struct fb_store_boot *boot,
		      int status, struct fb_error *err)
{
	const char *why = boot->why ? boot->why : "no output";

	if (fb_record(b, "abort", status_event(b, node, boot->id, status), err) < 0)
		return -1;
	if (status >= FB_STATUS_ABORT)
		return fb_error_set(err, FB_ERROR_CHILD,
				    "stopped by exit status %d at %.12s (%s); it does not count, "
				    "run again to go on",
				    status, b->range->oid[node].hex, why);
	return fb_error_set(err, FB_ERROR_MISSING,
			    "exit status %d also at the good end %.12s (%s): that is no verdict",
			    status, b->range->oid[node].hex, why);
}

/* Return: 1 when the status was all there is to take, 0 when a value or failure remains, -1. */
static int take_status(struct fb_bisect *b, uint32_t node, const struct fb_store_boot *boot,
		       int status, struct fb_error *err)
{
	bool cannot_run = status == FB_STATUS_CANNOT_RUN || status == FB_STATUS_CANNOT_RUN + 1;
	bool good_end = node == b->range->good[0], first = !b->measured;
	int rc;

	if (status >= FB_STATUS_ABORT ||
	    (good_end && cannot_run && (b->doubt.open ? status == b->doubt.status : first)))
		return take_abort(b, node, boot, status, err);
	if (status == FB_STATUS_SKIP)
		rc = fb_record(b, "skip",
			       json_pack("{s:s, s:I, s:s}", "commit", b->range->oid[node].hex,
					 "boot", (json_int_t)boot->id, "cause", "exit status 125"),
			       err);
	else if (!b->by_status)
		return 0;
	else
		rc = fb_record(b, first && cannot_run ? "doubt" : "status",
			       status_event(b, node, boot->id, status), err);
	return rc < 0 ? -1 : 1;
}

int fb_take_doubt(struct fb_bisect *b, struct fb_error *err)
{
	return fb_record(b, "status",
			 status_event(b, b->doubt.node, b->doubt.boot, b->doubt.status), err);
}

/* The command speaks in values after all: from here on they are followed. */
static int choose_metric(struct fb_bisect *b, const json_t *names, struct fb_error *err)
{
	FB_CLEANUP(fb_str_release) struct fb_str all = FB_STR_INIT;

	for (size_t i = 0; i < json_array_size(names); i++)
		fb_str_addf(&all, "%s%s", i ? ", " : "",
			    json_string_value(json_array_get(names, i)));
	if (json_array_size(names) > 1)
		return fb_error_set(
			err, FB_ERROR_USAGE,
			"the command gives several metrics (%s): choose one with --metric",
			fb_str_cstr(&all));
	return fb_record(b, "choice",
			 json_pack("{s:i, s:s}", "cell", b->cell, "metric", fb_str_cstr(&all)),
			 err);
}

/* --- any boot ------------------------------------------------------------------------------ */

static int take_survey(struct fb_bisect *b, uint32_t node, const struct fb_store_boot *boot,
		       struct fb_error *err)
{
	return fb_record(b, "survey",
			 json_pack("{s:s, s:I, s:o}", "commit", b->range->oid[node].hex, "boot",
				   (json_int_t)boot->id, "values",
				   fb_survey_values(b->survey, boot)),
			 err);
}

/* All that the cell gave beside the metric that is followed. */
static json_t *counters_of(const struct fb_bisect *b, const struct fb_store_boot *boot,
			   const char *key)
{
	json_t *counters = json_object();

	for (size_t i = 0; i < boot->nr_samples; i++) {
		const struct fb_store_sample *s = &boot->samples[i];
		double v;

		if (strcmp(s->cell, key) || !strcmp(s->metric, b->metric) ||
		    json_object_get(counters, s->metric))
			continue;
		v = fb_boot_value(boot, key, s->metric);
		if (isfinite(v))
			json_object_set_new(counters, s->metric, json_real(v));
	}
	return counters;
}

static int take_value(struct fb_bisect *b, uint32_t node, const struct fb_store_boot *boot,
		      const char *key, double value, struct fb_error *err)
{
	const char *tool = fb_boot_tool(boot, key);

	if (check_tool(b, node, tool, err) < 0)
		return -1;
	return fb_record(b, "value",
			 json_pack("{s:s, s:I, s:I, s:s*, s:f, s:o}", "commit",
				   b->range->oid[node].hex, "boot", (json_int_t)boot->id, "seed",
				   (json_int_t)boot->seed, "tool", tool, "value", value, "counters",
				   counters_of(b, boot, key)),
			 err);
}

int fb_take_boot(struct fb_bisect *b, uint32_t node, const struct fb_store_boot *boot,
		 struct fb_error *err)
{
	FB_CLEANUP(fb_freep) char *key = NULL, *why = NULL;
	bool ok = !strcmp(boot->end, fb_end_name(FB_END_OK));
	json_t *said;
	double value;
	int rc;

	if (!b->search && ok)
		return take_survey(b, node, boot, err);
	if (b->search) {
		key = fb_cell_key(&b->plan->cells[b->cell]);
		said = fb_boot_said(boot, key);
		if (json_is_integer(said)) {
			rc = take_status(b, node, boot, (int)json_integer_value(said), err);
			if (rc)
				return rc < 0 ? -1 : 0;
		}
		if (b->by_status && json_is_array(said) && choose_metric(b, said, err) < 0)
			return -1;
		value = fb_boot_value(boot, key, b->metric);
		if (isfinite(value) && value > 0)
			return take_value(b, node, boot, key, value, err);
		if (ok)
			return take_no_value(b, node, boot, key, value, err);
	}
	why = fb_xasprintf("%s%s%s", boot->end, boot->why ? ": " : "", boot->why ? boot->why : "");
	return take_failure(b, node, boot, why, err);
}
