/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a report says, filled by the controller; a reporter turns it into bytes. Reporters
 * open no file and read no clock: equal structs give equal bytes.
 */
#ifndef FB_REPORTERS_REPORT_H
#define FB_REPORTERS_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/util/str.h"

struct fb_report_commit {
	const char *oid, *subject, *author_name, *author_email;
	int64_t author_s;
};

/* One commit that the bisection looked at, oldest first. */
struct fb_report_step {
	const char *oid, *subject;
	const char *role;     /* "good end", "bad end", "merge base", "" */
	const double *values; /* one a boot, in the metric's unit, in the order of recording */
	size_t nr_values;
	const char *cause;   /* why it was skipped, or NULL */
	const char *same_as; /* oid of an earlier step that builds the same kernel, or NULL */
	double posterior;    /* that it is the one step */
	unsigned boots;	     /* that have no one value to show: all cells were measured */
};

/* One of several steps. */
struct fb_report_change {
	const struct fb_report_commit *commits; /* some of the report's */
	size_t nr_commits;
	double effect; /* after / before - 1, or NAN */
};

/* Another metric of the same boots, which changed with the commits that are named. */
struct fb_report_counter {
	const char *metric, *unit; /* .unit: NULL when it is not known */
	double good, bad;	   /* means of the two ends */
};

struct fb_report_check {
	const char *name;   /* "all parents measured" */
	const char *result; /* what was found, or "not made: why" */
};

struct fb_report {
	const char *verdict; /* "found", "range", "none", ... */
	const char
		*looked_for; /* "regression", "improvement" or "any": what the bisection was for */
	const char *cause;   /* what is at fault when nothing was found, in words; or NULL */
	const char *session;
	const char *version; /* of firstbad */
	const char *repo;
	const struct fb_report_commit *commits; /* the one, or those that cannot be told apart */
	size_t nr_commits;
	const struct fb_report_change *changes; /* "something-else": the steps, when known */
	size_t nr_changes;
	bool changes_found; /* the commits are named; else one of those of each change it is */
	struct fb_report_commit good, bad;
	const char *cell;      /* name in the store, "testcase=fio,bs=4k,...", fb_cell_key() */
	const char *cell_text; /* the same for people, fb_cell_text() */
	const char *metric, *unit;
	const char *better; /* "higher is better", "lower is better", "neither is better" */
	double confidence, something_else;
	bool has_effect;
	bool has_rates; /* instead: .mean_good and .mean_bad are shares of boots that failed */
	/*
	 * Of the values of the boots on either side of the commits named, of the two ends when
	 * none is.
	 */
	double mean_good, mean_bad;
	double effect, effect_lo, effect_hi; /* bad / good - 1, 95 % interval or NAN */
	double sigma; /* from boot to boot of one kernel, a share of the mean; or NAN */
	double min_effect;
	unsigned boots, commits_tested, candidates;
	const char *machine, *machine_note;
	const char *fingerprint; /* JSON text of the environment, or NULL */
	const char *plan;	 /* YAML text */
	const struct fb_report_step *steps;
	size_t nr_steps;
	const struct fb_report_counter *counters; /* those that showed where to look */
	size_t nr_counters;
	const struct fb_report_check *checks;
	size_t nr_checks;
};

struct fb_reporter {
	const char *name;
	const char *summary;
	void (*render)(const struct fb_report *report, struct fb_str *out);
};

/** fb_reporters() - All formats, NULL-terminated, in strcmp order. */
const struct fb_reporter *const *fb_reporters(void);

/** fb_reporter_find() - By name, or NULL. */
const struct fb_reporter *fb_reporter_find(const char *name);

/** fb_report_answer() - The verdict in a sentence, and the commits that it names, as plain text. */
void fb_report_answer(const struct fb_report *report, struct fb_str *out);

extern const struct fb_reporter fb_reporter_json;
extern const struct fb_reporter fb_reporter_plain;

#endif
