/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The report as plain text for a terminal: verdict first, evidence after it. */
#include <math.h>
#include <string.h>
#include <time.h>

#include "reporters/report.h"

#define OID_SHOWN 12

static void date(int64_t s, struct fb_str *out)
{
	time_t t = (time_t)s;
	struct tm tm;
	char buf[32];

	if (gmtime_r(&t, &tm) && strftime(buf, sizeof(buf), "%Y-%m-%d", &tm))
		fb_str_add(out, buf);
}

static void commit(const struct fb_report_commit *c, struct fb_str *out)
{
	fb_str_addf(out, "  %s (\"%s\")\n", c->oid, c->subject);
	fb_str_addf(out, "  Author: %s <%s>, ", c->author_name, c->author_email);
	date(c->author_s, out);
	fb_str_add(out, "\n");
}

static void headline(const struct fb_report *r, struct fb_str *out)
{
	const char *v = r->verdict;

	if (!strcmp(v, "found")) {
		fb_str_addf(out, "%s changed by %+.1f%% with this commit (probability %.4f):\n\n",
			    r->metric, 100 * r->effect, r->confidence);
	} else if (!strcmp(v, "range")) {
		fb_str_addf(out,
			    "%s changed by %+.1f%% with one of these commits (probability %.4f). What lies\n"
			    "between them cannot be tested, so they cannot be told apart:\n\n",
			    r->metric, 100 * r->effect, r->confidence);
	} else if (!strcmp(v, "none")) {
		fb_str_addf(out, "No regression: the ends do not differ by %.3g%% or more.\n",
			    100 * r->min_effect);
	} else if (!strcmp(v, "undecided")) {
		fb_str_add(out, "Undecided: the boots or the time ran out.\n");
		if (r->nr_commits)
			fb_str_addf(out, "What is left (probability %.4f in all):\n\n", r->confidence);
	} else if (!strcmp(v, "something-else")) {
		fb_str_addf(out,
			    "No single commit explains the values (probability %.4f): there may be several\n"
			    "steps, a change that was taken back, or a wrong end.\n", r->something_else);
	} else if (!strcmp(v, "base-bad")) {
		fb_str_add(out,
			   "The ends differ, but a common ancestor is slow already: the good side was made\n"
			   "fast, the bad side was not made slow. Search the other way round from:\n\n");
	} else if (!strcmp(v, "untestable")) {
		fb_str_add(out, "Nothing can be said: this end cannot be measured.\n\n");
	} else {
		fb_str_add(out, "The bisection is not finished.\n");
	}
}

static void numbers(const struct fb_report *r, struct fb_str *out)
{
	if (r->metric)
		fb_str_addf(out, "metric:      %s, %s (%s)\n", r->metric, r->unit, r->better);
	if (r->cell)
		fb_str_addf(out, "cell:        %s\n", r->cell);
	if (r->has_effect)
		fb_str_addf(out,
			    "good -> bad: %.6g -> %.6g, change %+.2f%% (95%% interval %+.2f%% .. %+.2f%%; "
			    "bad / good - 1)\n"
			    "noise:       %.2f%% from boot to boot\n",
			    r->mean_good, r->mean_bad, 100 * r->effect, 100 * r->effect_lo,
			    100 * r->effect_hi, 100 * r->sigma);
	fb_str_addf(out, "range:       %.12s..%.12s, %u candidates, %u commits tested, %u boots\n",
		    r->good.oid, r->bad.oid, r->candidates, r->commits_tested, r->boots);
	fb_str_addf(out, "machine:     %s\n", r->machine);
	if (r->machine_note)
		fb_str_addf(out, "             %s\n", r->machine_note);
}

static void step(const struct fb_report_step *s, struct fb_str *out)
{
	fb_str_addf(out, "  %.*s %5.3f ", OID_SHOWN, s->oid, s->posterior);
	if (*s->role)
		fb_str_addf(out, " [%s]", s->role);
	for (size_t i = 0; i < s->nr_values; i++)
		fb_str_addf(out, " %.5g", s->values[i]);
	if (s->cause)
		fb_str_addf(out, " skipped: %s", s->cause);
	if (s->same_as)
		fb_str_addf(out, " (same kernel as %.*s)", OID_SHOWN, s->same_as);
	fb_str_addf(out, "\n               %s\n", s->subject);
}

/* One line for scripts, like the one that git bisect ends with. */
static void last_line(const struct fb_report *r, struct fb_str *out)
{
	if (!strcmp(r->verdict, "found") && r->nr_commits == 1) {
		fb_str_addf(out, "first bad commit: %s (\"%s\")\n", r->commits[0].oid,
			    r->commits[0].subject);
	} else if (!strcmp(r->verdict, "range")) {
		fb_str_add(out, "first bad commit is one of:");
		for (size_t i = 0; i < r->nr_commits; i++)
			fb_str_addf(out, " %s", r->commits[i].oid);
		fb_str_add(out, "\n");
	}
}

static void render(const struct fb_report *r, struct fb_str *out)
{
	headline(r, out);
	for (size_t i = 0; i < r->nr_commits; i++)
		commit(&r->commits[i], out);
	fb_str_add(out, "\n");
	numbers(r, out);
	if (r->nr_steps) {
		fb_str_add(out, "\nCommits, oldest first: probability of being the one, "
				"and the value of each boot\n");
		for (size_t i = 0; i < r->nr_steps; i++)
			step(&r->steps[i], out);
	}
	if (r->nr_checks)
		fb_str_add(out, "\nChecks\n");
	for (size_t i = 0; i < r->nr_checks; i++)
		fb_str_addf(out, "  %s: %s\n", r->checks[i].name, r->checks[i].result);
	fb_str_addf(out, "\nsession %s, firstbad %s\n", r->session, r->version);
	last_line(r, out);
}

const struct fb_reporter fb_reporter_plain = {
	.name = "plain",
	.summary = "text for a terminal",
	.render = render,
};
