/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The report as plain text for a terminal: verdict first, evidence after it. */
#include <math.h>
#include <string.h>
#include <time.h>

#include "reporters/report.h"
#include "src/util/util.h"

#define OID_SHOWN      12
#define WIDTH	       80
#define INDENT	       13 /* of what stands behind a label such as "machine:" */
#define STEP_INDENT    15 /* of what stands behind an abbreviated commit id */
#define COMMITS_FULL   8  /* more than these are listed in one line each */
#define COMMITS_SHOWN  64
#define COUNTERS_SHOWN 8

/* Columns of UTF-8 text, where each character takes one. */
static size_t columns(const char *s, size_t len)
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++)
		n += ((unsigned char)s[i] & 0xc0) != 0x80;
	return n;
}

static size_t column_now(const struct fb_str *out)
{
	size_t at = out->len;

	while (at && out->buf[at - 1] != '\n')
		at--;
	return columns(out->buf + at, out->len - at);
}

/*
 * Adds @text to the line that was begun; words (what ends with a blank, or a parameter of a cell
 * with its comma) that would cross WIDTH go to the next line, indented. None is ever cut.
 */
static void wrap(const char *text, size_t indent, struct fb_str *out)
{
	size_t at = column_now(out);
	bool begun = false;

	while (*text) {
		size_t len = strcspn(text, " ,"), shown, gap = 0;

		len += text[len] == ',';
		shown = columns(text, len);
		if (begun && at + shown > WIDTH) {
			/* No blank before the end of a line. */
			while (out->len && out->buf[out->len - 1] == ' ')
				out->buf[--out->len] = '\0';
			fb_str_addf(out, "\n%*s", (int)indent, "");
			at = indent;
		}
		fb_str_addn(out, text, len);
		text += len;
		while (text[gap] == ' ')
			gap++;
		if (text[gap])
			fb_str_addn(out, text, gap);
		at += shown + gap;
		text += gap;
		begun = true;
	}
}

static void labelled(const char *label, const char *text, struct fb_str *out)
{
	fb_str_addf(out, "%-*s", INDENT, label);
	wrap(text, INDENT, out);
	fb_str_add(out, "\n");
}

/* Rounding must not claim certainty: 0.99998 is not 1. */
static void probability(double p, struct fb_str *out)
{
	if (!isfinite(p))
		fb_str_add(out, "probability not known");
	else if (p >= 0.99995)
		fb_str_add(out, "probability > 0.9999");
	else if (p > 0 && p < 0.00005)
		fb_str_add(out, "probability < 0.0001");
	else
		fb_str_addf(out, "probability %.4f", p);
}

/* Digits behind the point with which a ratio shows at least two that count, as a percentage. */
static int digits(double ratio, int least)
{
	double v = fabs(100 * ratio);
	int n = least;

	if (v == 0 || !isfinite(v))
		return least;
	for (double unit = pow(10, least); n < 9 && v * unit < 9.95; unit *= 10)
		n++;
	return n;
}

static void date(int64_t s, struct fb_str *out)
{
	time_t t = (time_t)s;
	struct tm tm;
	char buf[32];

	if (gmtime_r(&t, &tm) && strftime(buf, sizeof(buf), "%Y-%m-%d", &tm))
		fb_str_addf(out, ", %s", buf);
}

static void commit(const struct fb_report_commit *c, struct fb_str *out)
{
	fb_str_addf(out, "  %s (\"%s\")\n", c->oid, c->subject);
	fb_str_addf(out, "  Author: %s <%s>", c->author_name, c->author_email);
	date(c->author_s, out);
	fb_str_add(out, "\n");
}

static void commits(const struct fb_report_commit *c, size_t nr, struct fb_str *out)
{
	size_t shown = nr < COMMITS_SHOWN ? nr : COMMITS_SHOWN;

	for (size_t i = 0; i < shown; i++) {
		if (nr <= COMMITS_FULL && i)
			fb_str_add(out, "\n");
		if (nr <= COMMITS_FULL)
			commit(&c[i], out);
		else
			fb_str_addf(out, "  %.*s (\"%s\")\n", OID_SHOWN, c[i].oid, c[i].subject);
	}
	if (shown < nr)
		fb_str_addf(out, "  ... and %zu more\n", nr - shown);
}

static void changed(const struct fb_report *r, const char *with, struct fb_str *out)
{
	fb_str_add(out, r->metric ? r->metric : "the value");
	if (isfinite(r->effect))
		fb_str_addf(out, " changed by %+.*f%% with %s (", digits(r->effect, 1),
			    100 * r->effect, with);
	else
		fb_str_addf(out, " changed with %s (", with);
	probability(r->confidence, out);
	fb_str_add(out, ")");
}

/* Several steps, each with its commits. */
static void changes(const struct fb_report *r, struct fb_str *out)
{
	for (size_t i = 0; i < r->nr_changes; i++) {
		const struct fb_report_change *c = &r->changes[i];

		fb_str_add(out, i ? "\n" : "");
		if (isfinite(c->effect))
			fb_str_addf(out, "%+.*f%% with ", digits(c->effect, 1), 100 * c->effect);
		else
			fb_str_add(out, "One with ");
		if (c->nr_commits == 1)
			fb_str_add(out, "this commit:\n\n");
		else
			fb_str_addf(out, "one of these %zu commits:\n\n", c->nr_commits);
		commits(c->commits, c->nr_commits, out);
	}
}

static void several(const struct fb_report *r, struct fb_str *out)
{
	fb_str_addf(out, "%s changed in two steps (", r->metric ? r->metric : "the value");
	probability(r->changes_found ? r->confidence : r->something_else, out);
	fb_str_add(out,
		   r->changes_found ? ").\n\n" : "); more boots would not tell better where.\n\n");
}

/* There is a change, but not of the kind that was looked for. */
static bool is_other_way(const struct fb_report *r)
{
	bool lower = !strcmp(r->better, "lower is better");
	double gain = lower ? -r->effect : r->effect;

	if (!lower && strcmp(r->better, "higher is better"))
		return false;
	/* The interval must be on that side, too; values without any spread have none. */
	if (!r->has_effect || !(r->effect_lo > 0 || r->effect_hi < 0 || r->sigma == 0) ||
	    fabs(r->effect) < r->min_effect)
		return false;
	return !strcmp(r->looked_for, gain > 0 ? "regression" : "improvement");
}

static void none_but_other_way(const struct fb_report *r, struct fb_str *out)
{
	const char *other = strcmp(r->looked_for, "regression") ? "regression" : "improvement";

	fb_str_addf(out,
		    "No %s: the ends differ the other way, by %+.*f%% (%s).\n"
		    "--change %s looks for that; if it is none, --better is the wrong way round.\n",
		    r->looked_for, digits(r->effect, 1), 100 * r->effect, r->better, other);
}

static void headline(const struct fb_report *r, struct fb_str *out)
{
	const char *v = r->verdict;

	if (!strcmp(v, "found")) {
		changed(r, "this commit", out);
		fb_str_add(out, ":\n\n");
	} else if (!strcmp(v, "range")) {
		changed(r, "one of these commits", out);
		fb_str_add(out, ".\nWhat lies between them cannot be tested, so they cannot be "
				"told apart:\n\n");
	} else if (!strcmp(v, "none") && is_other_way(r)) {
		none_but_other_way(r, out);
	} else if (!strcmp(v, "none") && r->cause) {
		fb_str_addf(out, "No %s: %s.\n",
			    strcmp(r->looked_for, "any") ? r->looked_for : "change", r->cause);
	} else if (!strcmp(v, "none")) {
		fb_str_addf(out, "No %s: the ends do not differ by %.3g%% or more",
			    strcmp(r->looked_for, "any") ? r->looked_for : "change",
			    100 * r->min_effect);
		if (isfinite(r->confidence)) {
			fb_str_add(out, " (");
			probability(r->confidence, out);
			fb_str_add(out, ")");
		}
		fb_str_add(out, ".\n");
	} else if (!strcmp(v, "undecided")) {
		fb_str_add(out,
			   "Undecided: a limit is reached, or no further boot would tell more.\n");
		if (r->nr_commits) {
			fb_str_addf(out, "%zu commit%s left (", r->nr_commits,
				    r->nr_commits == 1 ? " is" : "s are");
			probability(r->confidence, out);
			fb_str_add(out, r->nr_commits == 1 ? "):\n\n" : " together):\n\n");
		}
	} else if (!strcmp(v, "something-else") && r->cause) {
		fb_str_addf(out, "Wrong end: %s.\n", r->cause);
	} else if (!strcmp(v, "something-else") && r->nr_changes) {
		several(r, out);
	} else if (!strcmp(v, "something-else")) {
		fb_str_add(out, "No single commit explains the values (");
		probability(r->something_else, out);
		fb_str_add(out, "): there may be\n"
				"several steps, a change that was taken back, or a wrong end.\n");
	} else if (!strcmp(v, "base-bad")) {
		fb_str_add(
			out,
			"The ends differ, but a common ancestor has the bad end's value already: "
			"the good\n"
			"side was changed, not the bad side. Search the other way round from:\n\n");
	} else if (!strcmp(v, "untestable")) {
		fb_str_addf(out, "Nothing can be said: %s%s",
			    r->cause ? r->cause : "the ends cannot be measured",
			    r->nr_commits ? ".\n\n" : ".\n");
	} else {
		fb_str_add(out, "The bisection is not finished.\n");
	}
}

static void effect(const struct fb_report *r, struct fb_str *out)
{
	double widest = fmax(fabs(r->effect), fmax(fabs(r->effect_lo), fabs(r->effect_hi)));
	int n = digits(widest, 2);

	fb_str_addf(out, "good -> bad: %.6g -> %.6g, change %+.*f%% (bad / good - 1)\n",
		    r->mean_good, r->mean_bad, n, 100 * r->effect);
	if (isfinite(r->effect_lo) && isfinite(r->effect_hi))
		fb_str_addf(out, "             95%% interval %+.*f%% .. %+.*f%%\n", n,
			    100 * r->effect_lo, n, 100 * r->effect_hi);
	if (isfinite(r->sigma))
		fb_str_addf(out, "noise:       %.*f%% from boot to boot\n", digits(r->sigma, 2),
			    100 * r->sigma);
}

/* Explain a change, and were a hint where to look; what is said of the commit is of the metric. */
static void counters(const struct fb_report *r, struct fb_str *out)
{
	size_t shown = r->nr_counters < COUNTERS_SHOWN ? r->nr_counters : COUNTERS_SHOWN;

	for (size_t i = 0; i < shown; i++) {
		const struct fb_report_counter *c = &r->counters[i];

		fb_str_addf(out, "%-*s%s: %.6g -> %.6g%s%s\n", INDENT,
			    i ? "" : "counters:", c->metric, c->good, c->bad, c->unit ? " " : "",
			    c->unit ? c->unit : "");
	}
	if (shown < r->nr_counters)
		fb_str_addf(out, "%*s... and %zu more\n", INDENT, "", r->nr_counters - shown);
	if (shown)
		labelled("",
			 "They change with the same commit and showed where to look; the "
			 "probability is that of the metric's own change.",
			 out);
}

static void numbers(const struct fb_report *r, struct fb_str *out)
{
	if (r->metric && r->unit && *r->unit)
		fb_str_addf(out, "metric:      %s, %s (%s)\n", r->metric, r->unit, r->better);
	else if (r->metric)
		fb_str_addf(out, "metric:      %s (%s)\n", r->metric, r->better);
	if (r->cell_text)
		labelled("cell:", r->cell_text, out);
	if (r->has_effect)
		effect(r, out);
	if (r->has_rates)
		fb_str_addf(out, "failures:    %.0f %% of the boots before, %.0f %% after\n",
			    100 * r->mean_good, 100 * r->mean_bad);
	counters(r, out);
	fb_str_addf(out, "range:       %.*s..%.*s, %u candidate%s\n", OID_SHOWN, r->good.oid,
		    OID_SHOWN, r->bad.oid, r->candidates, fb_plural(r->candidates));
	fb_str_addf(out, "tested:      %u commit%s, %u boot%s\n", r->commits_tested,
		    fb_plural(r->commits_tested), r->boots, fb_plural(r->boots));
	labelled("machine:", r->machine, out);
	if (r->machine_note)
		labelled("", r->machine_note, out);
}

/* As probability(), in five columns. */
static void posterior(double p, struct fb_str *out)
{
	if (p < 0.9995)
		fb_str_addf(out, " %5.3f", p);
	else
		fb_str_add(out, " >.999");
}

/* The values, one behind the other, then what there is to say; the subject stands below. */
static void step(const struct fb_report_step *s, bool searched, struct fb_str *out)
{
	struct fb_str text = FB_STR_INIT;

	if (s->role && *s->role)
		fb_str_addf(&text, "[%s] ", s->role);
	for (size_t i = 0; i < s->nr_values; i++) {
		if (isfinite(s->values[i]))
			fb_str_addf(&text, "%.5g ", s->values[i]);
		else
			fb_str_add(&text, "- ");
	}
	if (s->boots)
		fb_str_addf(&text, "%u boot%s of all cells ", s->boots, fb_plural(s->boots));
	if (s->cause)
		fb_str_addf(&text, "skipped: %s ", s->cause);
	if (s->same_as)
		fb_str_addf(&text, "(same kernel as %.*s)", OID_SHOWN, s->same_as);

	fb_str_addf(out, "  %.*s", OID_SHOWN, s->oid);
	if (searched && isfinite(s->posterior))
		posterior(s->posterior, out);
	else if (searched)
		fb_str_add(out, "     -");
	if (text.len) {
		fb_str_add(out, "  ");
		wrap(fb_str_cstr(&text), STEP_INDENT, out);
	}
	fb_str_addf(out, "\n%*s%s\n", STEP_INDENT, "", s->subject);
	fb_str_release(&text);
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
	} else if (r->changes_found && r->nr_commits == r->nr_changes) {
		fb_str_add(out, "first commits of the changes:");
		for (size_t i = 0; i < r->nr_commits; i++)
			fb_str_addf(out, " %s", r->commits[i].oid);
		fb_str_add(out, "\n");
	}
}

/* Where no single commit was looked for, or none is to blame, a share for each says nothing. */
static bool is_searched(const struct fb_report *r)
{
	static const char *const verdicts[] = {"found", "range", "undecided", "open"};

	for (size_t i = 0; i < FB_ARRAY_SIZE(verdicts); i++)
		if (!strcmp(r->verdict, verdicts[i]))
			return true;
	return false;
}

void fb_report_answer(const struct fb_report *r, struct fb_str *out)
{
	headline(r, out);
	if (r->nr_changes)
		changes(r, out);
	else
		commits(r->commits, r->nr_commits, out);
}

static void render(const struct fb_report *r, struct fb_str *out)
{
	bool searched = is_searched(r);

	fb_report_answer(r, out);
	fb_str_add(out, "\n");
	numbers(r, out);
	if (r->nr_steps) {
		fb_str_add(out, searched ? "\nCommits, oldest first: probability of being the one, "
					   "and the value of each boot\n"
					 : "\nCommits, oldest first, and the value of each boot\n");
		for (size_t i = 0; i < r->nr_steps; i++)
			step(&r->steps[i], searched, out);
	}
	if (r->nr_checks)
		fb_str_add(out, "\nChecks\n");
	for (size_t i = 0; i < r->nr_checks; i++) {
		fb_str_addf(out, "  %s: ", r->checks[i].name);
		wrap(r->checks[i].result, 4, out);
		fb_str_add(out, "\n");
	}
	fb_str_addf(out, "\nsession %s, firstbad %s\n", r->session, r->version);
	last_line(r, out);
}

const struct fb_reporter fb_reporter_plain = {
	.name = "plain",
	.summary = "text for a terminal",
	.render = render,
};
