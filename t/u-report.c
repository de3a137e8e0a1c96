/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Protects: what people and programs read of a verdict, byte for byte, whatever is in it. */
#include "t/test.h"

#include <jansson.h>

#include "reporters/report.h"
#include "src/util/json.h"
#include "src/util/util.h"

#define GOOD	"1fff92e2ae9535c7a5b6ba1e1e43c8d7f6a1f2c0"
#define MID1	"b5733b0ee31b6b0e54ac23bfb4c15a4b51e2d9c7"
#define MID2	"ed0d14fa4357e3b0a1c9d48ef4b1d1c0ab5d3e11"
#define CULPRIT "fac40857c6d75e9ba38ebc16b05bb1a8d6ad45a6"
#define BAD	"da876f1f7cf4c27e3b2a9d1f8c7e6b5a49382716"

#define COMMIT(hex, text)                                                                          \
	{                                                                                          \
		.oid = (hex), .subject = (text), .author_name = "Chiara Rossi",                    \
		.author_email = "chiara.rossi@kernel.invalid", .author_s = 1700265600              \
	}

static const struct fb_report_commit good_end =
	COMMIT(GOOD, "headers and build files of the next release");
static const struct fb_report_commit bad_end = COMMIT(BAD, "btrfs: update reflink.c");
static const struct fb_report_commit culprit[] = {
	COMMIT(CULPRIT, "ext4: issue the barrier in fsync whenever barriers are on")};
static const struct fb_report_commit three[] = {
	COMMIT(MID2, "ata: update 110 files"),
	COMMIT(CULPRIT, "ext4: issue the barrier in fsync whenever barriers are on"),
	COMMIT(BAD, "btrfs: update reflink.c"),
};

static const double fast[] = {1264.25, 1264.75, 1263.5}, slow[] = {1125.75, 1126.25, 1125.5};
static const double tied[] = {1264.2, 1265};
/* As many boots as one commit gets on a noisy machine. */
static const double many[] = {1126.125, 1097.25,  1130.5,   1204.75, 1188.75,  1090.0625,
			      1101.5,	1122,	  1119.75,  1123,    1125.625, 1127.375,
			      1099.125, 1130.125, 1118.375, 1125};

static const struct fb_report_step steps[] = {
	{GOOD, "headers and build files of the next release", "good end", fast, 3, NULL, NULL, 0},
	{MID1, "mm: pcp lists", "", NULL, 0,
	 "mm/page_alloc.c:1482:2: error: implicit declaration of function 'free_frozen_pages' "
	 "[-Werror=implicit-function-declaration]",
	 NULL, 0},
	{MID2, "ata: update 110 files", "", tied, 2, NULL, GOOD, 0.00031},
	{CULPRIT, "ext4: issue the barrier in fsync whenever barriers are on", "", many, 16, NULL,
	 NULL, 0.9990234375},
	{BAD, "btrfs: update reflink.c", "bad end", slow, 3, NULL, NULL, 0},
};

/* One more than are shown. */
static const struct fb_report_counter counters[] = {
	{"blk.write_ios", "requests", 2048, 4096},
	{"blk.flush_ios", "requests", 1, 1025},
	{"requests_per_op", NULL, 1, 2},
	{"a", NULL, 0.5, 0},
	{"b", NULL, -1, 1e9},
	{"c", NULL, 1, 2},
	{"d", NULL, 1, 2},
	{"e", NULL, 1, 2},
	{"f", NULL, 1, 2},
};

static const struct fb_report_check checks[] = {
	{"measured again on fresh, interleaved boots", "-11.1% (6 boots of each side)"},
	{"config of parent and culprit compared", "equal"},
	{"revert on top of the bad end",
	 "not made: the revert does not apply, because "
	 "fs/ext4/fsync.c was changed by later commits of the range"},
};

/*
 * What is the same in most reports; "found" as it stands. The numbers of all reports that have a
 * golden are the same text with 17 digits and with as few as are needed: jansson 2.15 changed that.
 */
static struct fb_report base_report(void)
{
	return (struct fb_report){
		.verdict = "found",
		.looked_for = "regression",
		.session = "3f9c01",
		.version = "0.1",
		.repo = "/src/linux/.git",
		.commits = culprit,
		.nr_commits = 1,
		.good = good_end,
		.bad = bad_end,
		.cell = "testcase=fio,bs=4k,direct=0,disk=1,fs=ext4,fsync=1,ioengine=sync,"
			"mount_options=,nr_task=1,rw=randwrite,size=8m",
		.cell_text = "testcase=fio,bs=4k,direct=0,disk=1,fs=ext4,fsync=1,ioengine=sync,"
			     "mount_options=,nr_task=1,rw=randwrite,size=8m",
		.metric = "fio.write_iops",
		.unit = "IO/s",
		.better = "higher is better",
		.confidence = 0.9990234375,
		.something_else = 0.000244140625,
		.has_effect = true,
		.mean_good = 1264.5,
		.mean_bad = 1125.75,
		.effect = -0.109375,
		.effect_lo = -0.1114,
		.effect_hi = -0.1077,
		.sigma = 0.0019,
		.min_effect = 0.02,
		.boots = 20,
		.commits_tested = 9,
		.candidates = 106,
		.machine = "deterministic",
		.machine_note = "simulated CPU (instructions counted) and simulated device "
				"(null_blk in the guest): caches, contention and real devices are "
				"not seen",
		.fingerprint = "{\"qemu\": \"7.2.22\"}",
		.plan = "machine: deterministic\n",
		.steps = steps,
		.nr_steps = FB_ARRAY_SIZE(steps),
		.checks = checks,
		.nr_checks = FB_ARRAY_SIZE(checks),
	};
}

static char *rendered(const struct fb_reporter *how, const struct fb_report *r)
{
	struct fb_str out = FB_STR_INIT;

	how->render(r, &out);
	assert_false(out.truncated);
	return fb_str_take(&out);
}

/* The keys of a JSON report: programs rely on each being there, in every report. */
static const char *const keys[] = {
	"schema",	 "firstbad",	   "session",	     "verdict",	      "commits",
	"confidence",	 "something_else", "good",	     "bad",	      "cell",
	"metric",	 "unit",	   "better",	     "min_effect",    "effect",
	"failure_rates", "boots",	   "commits_tested", "candidates",    "machine",
	"machine_note",	 "fingerprint",	   "steps",	     "checks",	      "plan",
	"looked_for",	 "cause",	   "changes",	     "changes_found", "counters",
};

/* Parses, strictly: no key twice, nothing behind it, no key missing. */
static json_t *parsed(const char *text)
{
	struct fb_error err = FB_ERROR_INIT;
	json_t *o = fb_json_parse(text, strlen(text), "report", JSON_REJECT_DUPLICATES, &err);

	if (!o)
		fail_msg("%s in %s", err.text, text);
	for (size_t i = 0; i < FB_ARRAY_SIZE(keys); i++)
		if (!json_object_get(o, keys[i]))
			fail_msg("'%s' is missing", keys[i]);
	assert_int_equal(json_object_size(o), FB_ARRAY_SIZE(keys));
	return o;
}

/*
 * No line is wider than a terminal, but for what must not be cut: subjects, authors, a metric with
 * a long name, and the last line for scripts. No blanks at line ends.
 */
static void check_lines(const char *text)
{
	for (const char *line = text, *end; *line; line = end + 1) {
		size_t len;

		end = strchr(line, '\n');
		assert_non_null(end); /* the last line ends, too */
		len = (size_t)(end - line);
		if (len && (line[len - 1] == ' ' || line[len - 1] == '\t'))
			fail_msg("a blank ends '%.*s'", (int)len, line);
		if (len > 80 && !memmem(line, len, "(\"", 2) && !memmem(line, len, "Author: ", 8) &&
		    !memmem(line, len, " changed by ", 12) &&
		    strncmp(line, "first bad commit is one of:", 27) != 0 &&
		    strncmp(line, "first commits of the changes:", 29) != 0)
			fail_msg("%zu columns: '%.*s'", len, (int)len, line);
	}
}

static void check_golden(const char *name, const struct fb_report *r)
{
	FB_CLEANUP(fb_freep) char *plain = rendered(&fb_reporter_plain, r);
	FB_CLEANUP(fb_freep) char *json = rendered(&fb_reporter_json, r);
	FB_CLEANUP(fb_freep) char *plain_name = fb_xasprintf("plain/%s.txt", name);
	FB_CLEANUP(fb_freep) char *json_name = fb_xasprintf("json/%s.json", name);

	json_decref(parsed(json));
	check_lines(plain);
	assert_golden(plain_name, plain);
	assert_golden(json_name, json);
}

static void found_reads_as_agreed(void **state)
{
	struct fb_report r = base_report();

	r.counters = counters;
	r.nr_counters = FB_ARRAY_SIZE(counters);
	check_golden("found", &r);
}

static void range_reads_as_agreed(void **state)
{
	struct fb_report r = base_report();

	r.verdict = "range";
	r.commits = three;
	r.nr_commits = 3;
	r.checks = NULL;
	r.nr_checks = 0;
	check_golden("range", &r);
}

static void none_reads_as_agreed(void **state)
{
	struct fb_report r = base_report();

	r.verdict = "none";
	r.nr_commits = 0;
	r.confidence = 0.9921875;
	r.mean_bad = 1264.125;
	r.effect = -0.000244140625;
	r.effect_lo = -0.0030517578125;
	r.effect_hi = 0.002685546875;
	r.nr_steps = 1;
	r.nr_checks = 0;
	r.boots = 1;
	r.commits_tested = 1;
	r.candidates = 1;
	check_golden("none", &r);
}

static void none_says_what_was_looked_for(void **state)
{
	static const char *const text[][2] = {{"regression", "No regression: the ends"},
					      {"improvement", "No improvement: the ends"},
					      {"any", "No change: the ends"}};

	for (size_t i = 0; i < FB_ARRAY_SIZE(text); i++) {
		struct fb_report r = base_report();
		FB_CLEANUP(fb_freep) char *plain = NULL, *json = NULL, *key = NULL;

		r.verdict = "none";
		r.looked_for = text[i][0];
		plain = rendered(&fb_reporter_plain, &r);
		assert_true(fb_str_has_prefix(plain, text[i][1]));
		json = rendered(&fb_reporter_json, &r);
		key = fb_xasprintf("\"looked_for\": \"%s\"", text[i][0]);
		assert_non_null(strstr(json, key));
	}
}

static void undecided_reads_as_agreed(void **state)
{
	struct fb_report r = base_report();

	r.verdict = "undecided";
	r.commits = three;
	r.nr_commits = 3;
	r.confidence = 0.9921875;
	r.machine = "kvm";
	r.machine_note = "virtual machine on this host";
	r.nr_checks = 0;
	check_golden("undecided", &r);
}

static void something_else_reads_as_agreed(void **state)
{
	struct fb_report r = base_report();

	r.verdict = "something-else";
	r.nr_commits = 0;
	r.confidence = 1;
	r.something_else = 1;
	r.nr_checks = 0;
	check_golden("something-else", &r);
}

static void base_bad_reads_as_agreed(void **state)
{
	static const struct fb_report_commit base[] = {COMMIT(MID1, "mm: pcp lists")};
	struct fb_report r = base_report();

	r.verdict = "base-bad";
	r.commits = base;
	r.nr_checks = 0;
	check_golden("base-bad", &r);
}

/* "do not differ" would stand above a change that is there. */
static void none_tells_a_change_the_other_way(void **state)
{
	static const struct {
		const char *looked_for, *better;
		double effect;
		bool other;
	} cases[] = {
		{"regression", "lower is better", -0.064, true},
		{"regression", "higher is better", 0.064, true},
		{"improvement", "higher is better", -0.064, true},
		{"regression", "lower is better", 0.064, false},
		{"regression", "neither is better", 0.064, false},
		{"regression", "lower is better", -0.0001, false},
	};

	for (size_t i = 0; i < FB_ARRAY_SIZE(cases); i++) {
		struct fb_report r = base_report();
		FB_CLEANUP(fb_freep) char *plain = NULL;

		r.verdict = "none";
		r.looked_for = cases[i].looked_for;
		r.better = cases[i].better;
		r.effect = cases[i].effect;
		r.effect_lo = r.effect - 0.00001;
		r.effect_hi = r.effect + 0.00001;
		plain = rendered(&fb_reporter_plain, &r);
		assert_int_equal(strstr(plain, "differ the other way, by ") != NULL,
				 cases[i].other);
		assert_int_equal(strstr(plain, "do not differ") != NULL, !cases[i].other);
	}
}

/* No boot gave a number: none may be shown. */
static void untestable_reads_as_agreed(void **state)
{
	static const struct fb_report_step end[] = {
		{BAD, "btrfs: update reflink.c", "bad end", NULL, 0,
		 "fs/btrfs/reflink.c:12:1: error: expected ';' before 'static'", NULL, NAN},
	};
	struct fb_report r = base_report();

	r.verdict = "untestable";
	r.cause = "the bad end cannot be measured";
	r.commits = &bad_end;
	r.cell = r.cell_text = NULL;
	r.metric = NULL;
	r.machine_note = NULL;
	r.fingerprint = NULL;
	r.has_effect = false;
	r.confidence = r.something_else = NAN;
	r.mean_good = r.mean_bad = r.effect = r.effect_lo = r.effect_hi = r.sigma = NAN;
	r.steps = end;
	r.nr_steps = 1;
	r.nr_checks = 0;
	r.boots = 0;
	r.commits_tested = 1;
	check_golden("untestable", &r);
}

/* Exit statuses: the headline says which end was not what it was said to be. */
static void a_wrong_end_is_told_in_words(void **state)
{
	static const char *const cases[][3] = {
		{"none", "the bad end is good, too", "No regression: the bad end is good, too.\n"},
		{"something-else", "the good end is bad, too",
		 "Wrong end: the good end is bad, too.\n"},
	};

	for (size_t i = 0; i < FB_ARRAY_SIZE(cases); i++) {
		struct fb_report r = base_report();
		FB_CLEANUP(fb_freep) char *plain = NULL, *json = NULL;
		json_t *o;

		r.verdict = cases[i][0];
		r.cause = cases[i][1];
		r.nr_commits = 0;
		plain = rendered(&fb_reporter_plain, &r);
		assert_true(fb_str_has_prefix(plain, cases[i][2]));
		json = rendered(&fb_reporter_json, &r);
		o = parsed(json);
		assert_string_equal(fb_json_str(o, "cause"), cases[i][1]);
		json_decref(o);
	}
}

/* Boots of a whole matrix have no one value; they are no empty line. */
static void boots_without_one_value_are_counted(void **state)
{
	static const struct fb_report_step end[] = {
		{GOOD, "first", "good end", NULL, 0, NULL, NULL, 0, 3}};
	struct fb_report r = base_report();
	FB_CLEANUP(fb_freep) char *plain = NULL;

	r.verdict = "open";
	r.steps = end;
	r.nr_steps = 1;
	plain = rendered(&fb_reporter_plain, &r);
	assert_contains(plain, "[good end] 3 boots of all cells\n");
}

static void open_reads_as_agreed(void **state)
{
	struct fb_report r = base_report();

	r.verdict = "open";
	r.nr_commits = 0;
	r.confidence = r.something_else = NAN;
	r.has_effect = false;
	r.mean_good = r.mean_bad = r.effect = r.effect_lo = r.effect_hi = r.sigma = NAN;
	r.nr_steps = 3;
	r.nr_checks = 0;
	r.boots = 5;
	check_golden("open", &r);
}

static void failures_read_as_shares_of_boots(void **state)
{
	struct fb_report r = base_report();
	FB_CLEANUP(fb_freep) char *plain = NULL, *json = NULL;
	json_t *o, *rates;

	r.has_effect = false;
	r.has_rates = true;
	r.mean_good = 0.052;
	r.mean_bad = 0.8;
	plain = rendered(&fb_reporter_plain, &r);
	assert_contains(plain, "\nfailures:    5 % of the boots before, 80 % after\n");
	assert_null(strstr(plain, "change "));
	json = rendered(&fb_reporter_json, &r);
	o = parsed(json);
	rates = json_object_get(o, "failure_rates");
	assert_near(json_real_value(json_object_get(rates, "good")), 0.052, 0);
	assert_near(json_real_value(json_object_get(rates, "bad")), 0.8, 0);
	assert_true(json_is_null(json_object_get(o, "effect")));
	json_decref(o);
}

/*
 * Case T27: a tool printed 662869 -> 969557 us as "-31.63 %", old / new - 1. Both means, the unit,
 * the direction and the formula are there, and it is 46.3 % more.
 */
static void t27_a_change_says_of_what_it_is_a_percentage(void **state)
{
	struct fb_report r = base_report();
	FB_CLEANUP(fb_freep) char *plain = NULL, *json = NULL;
	json_t *root, *o;

	r.metric = "fio.write_clat_mean_us";
	r.unit = "us";
	r.better = "lower is better";
	r.mean_good = 662869;
	r.mean_bad = 969557;
	r.effect = r.mean_bad / r.mean_good - 1;
	r.effect_lo = 0.44;
	r.effect_hi = 0.48;
	plain = rendered(&fb_reporter_plain, &r);
	assert_contains(plain, "fio.write_clat_mean_us changed by +46.3% with this commit");
	assert_contains(plain, "fio.write_clat_mean_us, us (lower is better)");
	assert_contains(plain, "662869 -> 969557, change +46.27% (bad / good - 1)");
	assert_null(strstr(plain, "31.6"));
	json = rendered(&fb_reporter_json, &r);
	root = parsed(json);
	o = json_object_get(root, "effect");
	assert_string_equal(fb_json_str(o, "formula"), "mean_bad / mean_good - 1");
	assert_near(json_number_value(json_object_get(o, "change")), 0.462667, 1e-6);
	assert_null(strstr(json, "0.316"));
	json_decref(root);
}

static void both_steps_are_told(void **state)
{
	static const struct fb_report_commit both[] = {
		COMMIT(CULPRIT, "ext4: issue the barrier in fsync whenever barriers are on"),
		COMMIT(BAD, "btrfs: update reflink.c"),
	};
	static const struct fb_report_change changes[] = {{&both[0], 1, -0.1712},
							  {&both[1], 1, 0.0745}};
	struct fb_report r = base_report();

	r.verdict = "something-else";
	r.commits = both;
	r.nr_commits = 2;
	r.changes = changes;
	r.nr_changes = 2;
	r.changes_found = true;
	r.confidence = 0.9934;
	r.something_else = 0.9989;
	r.nr_checks = 0;
	check_golden("two-steps", &r);
}

/* Where the two are is known to some commits only; exit statuses have no size. */
static void steps_that_are_not_named_are_told_apart(void **state)
{
	static const struct fb_report_commit some[] = {
		COMMIT(MID1, "mm: pcp lists"),
		COMMIT(MID2, "ata: update 110 files"),
		COMMIT(CULPRIT, "ext4: issue the barrier in fsync whenever barriers are on"),
	};
	static const struct fb_report_change changes[] = {{&some[0], 2, -0.171},
							  {&some[2], 1, NAN}};
	struct fb_report r = base_report();
	FB_CLEANUP(fb_freep) char *plain = NULL, *json = NULL;
	json_t *o, *list;

	r.verdict = "something-else";
	r.commits = some;
	r.nr_commits = 3;
	r.changes = changes;
	r.nr_changes = 2;
	r.confidence = r.something_else = 0.9989;
	plain = rendered(&fb_reporter_plain, &r);
	assert_contains(plain, "changed in two steps (probability 0.9989); more boots would not");
	assert_contains(plain, "-17.1% with one of these 2 commits:\n\n  " MID1);
	assert_contains(plain, "\nOne with this commit:\n\n  " CULPRIT);
	assert_null(strstr(plain, "first commits of the changes"));
	json = rendered(&fb_reporter_json, &r);
	o = parsed(json);
	list = json_object_get(o, "changes");
	assert_int_equal(json_array_size(list), 2);
	assert_false(json_is_true(json_object_get(o, "changes_found")));
	assert_int_equal(json_array_size(json_object_get(json_array_get(list, 0), "commits")), 2);
	assert_true(json_is_null(json_object_get(json_array_get(list, 1), "change")));
	json_decref(o);
}

/* Strangers write subjects and names; format strings, quotes and escapes of theirs stay text. */
static void hostile_text_stays_text(void **state)
{
	static const struct fb_report_commit evil[] = {
		{.oid = CULPRIT,
		 .subject = "Revert \"%s%n: 100% \\ \\\" \\u0000\" </script> $(reboot) `x` "
			    "first bad commit: " GOOD " (\"no\")",
		 .author_name = "Bj\xc3\xb6rn \"%d\" O'Neill, \xe6\x9d\x8e \\",
		 .author_email = "%s@kernel.invalid",
		 .author_s = INT64_MAX},
	};
	static const struct fb_report_step evil_steps[] = {
		{CULPRIT, "100%s \"\\\"", "", slow, 3, "%n%n%n \\ \"no\"", NULL, 1},
	};
	static const struct fb_report_check evil_checks[] = {{"%s", "%n\\\""}};
	struct fb_report r = base_report();

	r.commits = evil;
	r.cell = "testcase=command,better=higher,run=a%20\"b\"\\%25";
	r.cell_text = "testcase=command,better=higher,run=\"a \\\"b\\\"\\\\%\"";
	r.metric = "fio.write_clat_99.9%_us";
	r.unit = "us, %";
	r.better = "lower is better";
	r.confidence = 1;
	r.steps = evil_steps;
	r.nr_steps = 1;
	r.checks = evil_checks;
	r.nr_checks = 1;
	r.plan = "run: \"a \\\"b\\\" 100%s\"\n# \xc3\xa4\n";
	check_golden("hostile", &r);
}

/* The last line is for scripts: exactly one, whatever a subject pretends. */
static void only_the_last_line_names_the_commit(void **state)
{
	static const char want[] =
		"first bad commit: " CULPRIT
		" (\"ext4: issue the barrier in fsync whenever barriers are on\")\n";
	struct fb_report r = base_report();
	FB_CLEANUP(fb_freep) char *text = rendered(&fb_reporter_plain, &r);

	assert_contains(text, want);
	assert_string_equal(strstr(text, want), want);
	assert_string_equal(strstr(text, "\nfirst bad commit") + 1, want);
}

static void no_other_verdict_ends_with_a_commit(void **state)
{
	static const char *const verdicts[] = {"none",	   "undecided",	 "something-else",
					       "base-bad", "untestable", "open"};

	for (size_t i = 0; i < FB_ARRAY_SIZE(verdicts); i++) {
		struct fb_report r = base_report();
		FB_CLEANUP(fb_freep) char *text = NULL;

		r.verdict = verdicts[i];
		text = rendered(&fb_reporter_plain, &r);
		if (strstr(text, "\nfirst bad commit"))
			fail_msg("%s: %s", verdicts[i], text);
	}
}

static void long_subject_is_not_cut(void **state)
{
	struct fb_report_commit c = culprit[0];
	struct fb_report r = base_report();
	FB_CLEANUP(fb_freep) char *subject = fb_xcalloc(1, 20001);
	FB_CLEANUP(fb_freep) char *plain = NULL, *json = NULL, *line = NULL;
	json_t *o;

	memset(subject, 'x', 20000);
	c.subject = subject;
	r.commits = &c;
	plain = rendered(&fb_reporter_plain, &r);
	line = fb_xasprintf("\nfirst bad commit: %s (\"%s\")\n", CULPRIT, subject);
	assert_non_null(strstr(plain, line));
	json = rendered(&fb_reporter_json, &r);
	o = parsed(json);
	assert_string_equal(
		fb_json_str(json_array_get(json_object_get(o, "commits"), 0), "subject"), subject);
	json_decref(o);
}

/* Hundreds of commits that cannot be told apart: a list that can be read, and all for scripts. */
static void long_range_lists_some_and_ends_with_all(void **state)
{
	enum { NR = 100 };
	static char oid[NR][41], subject[NR][32];
	static struct fb_report_commit all[NR];
	struct fb_report r = base_report();
	FB_CLEANUP(fb_freep) char *text = NULL;
	const char *last;
	size_t listed = 0;

	for (unsigned i = 0; i < NR; i++) {
		snprintf(oid[i], sizeof(oid[i]), "%040x", 0xabc0000 + i);
		snprintf(subject[i], sizeof(subject[i]), "change %u", i);
		all[i] = culprit[0];
		all[i].oid = oid[i];
		all[i].subject = subject[i];
	}
	r.verdict = "range";
	r.commits = all;
	r.nr_commits = NR;
	text = rendered(&fb_reporter_plain, &r);
	for (const char *at = text; (at = strstr(at, "(\"change ")); at++)
		listed++;
	assert_int_equal(listed, 64);
	assert_contains(text, "(\"change 63\")\n  ... and 36 more\n");
	last = strstr(text, "\nfirst bad commit is one of:");
	assert_non_null(last);
	for (unsigned i = 0; i < NR; i++)
		assert_non_null(strstr(last, oid[i]));
	assert_ptr_equal(strchr(last + 1, '\n') + 1, text + strlen(text));
}

static void certainty_is_never_rounded_up(void **state)
{
	static const struct {
		double p;
		const char *want;
	} cases[] = {
		{0.99, "(probability 0.9900)"},	     {0.99994, "(probability 0.9999)"},
		{0.99996, "(probability > 0.9999)"}, {1, "(probability > 0.9999)"},
		{0.00004, "(probability < 0.0001)"}, {0.0001, "(probability 0.0001)"},
		{NAN, "(probability not known)"},
	};

	for (size_t i = 0; i < FB_ARRAY_SIZE(cases); i++) {
		struct fb_report r = base_report();
		FB_CLEANUP(fb_freep) char *text = NULL;

		r.confidence = cases[i].p;
		text = rendered(&fb_reporter_plain, &r);
		assert_contains(text, cases[i].want);
	}
}

/* On the deterministic machine a change far below 0.1 % can be sure. */
static void small_changes_are_not_rounded_to_nothing(void **state)
{
	static const struct {
		double effect;
		const char *want;
	} cases[] = {
		{-0.198, "fio.write_iops changed by -19.8% with this commit"},
		{2.5, "fio.write_iops changed by +250.0% with this commit"},
		{-0.0096, "fio.write_iops changed by -0.96% with this commit"},
		{0.00012, "fio.write_iops changed by +0.012% with this commit"},
		{-3.4e-6, "fio.write_iops changed by -0.00034% with this commit"},
		{0, "fio.write_iops changed by +0.0% with this commit"},
		{NAN, "fio.write_iops changed with this commit"},
	};

	for (size_t i = 0; i < FB_ARRAY_SIZE(cases); i++) {
		struct fb_report r = base_report();
		FB_CLEANUP(fb_freep) char *text = NULL;

		r.effect = cases[i].effect;
		text = rendered(&fb_reporter_plain, &r);
		assert_contains(text, cases[i].want);
	}
}

static void numbers_that_are_none_are_left_out_or_null(void **state)
{
	static const double values[] = {1264.2, NAN, INFINITY};
	static const struct fb_report_step step[] = {{GOOD, "s", "", values, 3, NULL, NULL, NAN}};
	struct fb_report r = base_report();
	FB_CLEANUP(fb_freep) char *plain = NULL, *json = NULL;
	json_t *o, *v;

	r.confidence = r.something_else = NAN;
	r.effect = -INFINITY;
	r.effect_lo = r.effect_hi = r.sigma = NAN;
	r.steps = step;
	r.nr_steps = 1;
	r.nr_checks = 0;
	r.has_effect = false;
	plain = rendered(&fb_reporter_plain, &r);
	assert_null(strstr(plain, "nan"));
	assert_null(strstr(plain, "inf"));
	json = rendered(&fb_reporter_json, &r);
	o = parsed(json);
	assert_true(json_is_null(json_object_get(o, "confidence")));
	assert_true(json_is_null(json_object_get(o, "something_else")));
	assert_true(json_is_null(json_object_get(o, "effect")));
	v = json_object_get(json_array_get(json_object_get(o, "steps"), 0), "values");
	assert_int_equal(json_array_size(v), 3); /* the place tells the boot */
	assert_near(json_real_value(json_array_get(v, 0)), 1264.2, 0);
	assert_true(json_is_null(json_array_get(v, 1)));
	assert_true(json_is_null(json_array_get(v, 2)));
	json_decref(o);

	/* An effect without its interval. */
	r.has_effect = true;
	r.effect = -0.1;
	free(plain);
	plain = rendered(&fb_reporter_plain, &r);
	assert_null(strstr(plain, "nan"));
	assert_contains(plain, "change -10.00%");
}

static void text_that_is_no_utf8_does_not_lose_its_key(void **state)
{
	static const struct fb_report_step step[] = {
		{GOOD, "s", "", NULL, 0, "a.c:1: error: stray \xe4 \"", NULL, 0}};
	struct fb_report r = base_report();
	FB_CLEANUP(fb_freep) char *json = NULL;
	json_t *o;

	r.steps = step;
	r.nr_steps = 1;
	json = rendered(&fb_reporter_json, &r);
	o = parsed(json);
	assert_string_equal(fb_json_str(json_array_get(json_object_get(o, "steps"), 0), "skipped"),
			    "a.c:1: error: stray ? \"");
	json_decref(o);
}

static void values_in_json_are_bit_exact(void **state)
{
	static const double values[] = {0.1, 1.0 / 3, 5e-324, 1.7976931348623157e308};
	static const struct fb_report_step step[] = {{GOOD, "s", "", values, 4, NULL, NULL, 0}};
	struct fb_report r = base_report();
	FB_CLEANUP(fb_freep) char *json = NULL;
	json_t *o, *v;

	r.steps = step;
	r.nr_steps = 1;
	json = rendered(&fb_reporter_json, &r);
	o = parsed(json);
	v = json_object_get(json_array_get(json_object_get(o, "steps"), 0), "values");
	for (size_t i = 0; i < FB_ARRAY_SIZE(values); i++) {
		double got = json_real_value(json_array_get(v, i));

		assert_memory_equal(&got, &values[i], sizeof(got));
	}
	json_decref(o);
}

static void reporters_are_found_by_name(void **state)
{
	const struct fb_reporter *const *all = fb_reporters();

	for (size_t i = 0; all[i]; i++) {
		assert_ptr_equal(fb_reporter_find(all[i]->name), all[i]);
		if (i)
			assert_true(strcmp(all[i - 1]->name, all[i]->name) < 0);
	}
	assert_ptr_equal(fb_reporter_find("plain"), &fb_reporter_plain);
	assert_null(fb_reporter_find("plai"));
	assert_null(fb_reporter_find(""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(found_reads_as_agreed),
		cmocka_unit_test(range_reads_as_agreed),
		cmocka_unit_test(none_reads_as_agreed),
		cmocka_unit_test(none_says_what_was_looked_for),
		cmocka_unit_test(none_tells_a_change_the_other_way),
		cmocka_unit_test(undecided_reads_as_agreed),
		cmocka_unit_test(something_else_reads_as_agreed),
		cmocka_unit_test(base_bad_reads_as_agreed),
		cmocka_unit_test(untestable_reads_as_agreed),
		cmocka_unit_test(a_wrong_end_is_told_in_words),
		cmocka_unit_test(boots_without_one_value_are_counted),
		cmocka_unit_test(open_reads_as_agreed),
		cmocka_unit_test(failures_read_as_shares_of_boots),
		cmocka_unit_test(t27_a_change_says_of_what_it_is_a_percentage),
		cmocka_unit_test(both_steps_are_told),
		cmocka_unit_test(steps_that_are_not_named_are_told_apart),
		cmocka_unit_test(hostile_text_stays_text),
		cmocka_unit_test(only_the_last_line_names_the_commit),
		cmocka_unit_test(no_other_verdict_ends_with_a_commit),
		cmocka_unit_test(long_subject_is_not_cut),
		cmocka_unit_test(long_range_lists_some_and_ends_with_all),
		cmocka_unit_test(certainty_is_never_rounded_up),
		cmocka_unit_test(small_changes_are_not_rounded_to_nothing),
		cmocka_unit_test(numbers_that_are_none_are_left_out_or_null),
		cmocka_unit_test(text_that_is_no_utf8_does_not_lose_its_key),
		cmocka_unit_test(values_in_json_are_bit_exact),
		cmocka_unit_test(reporters_are_found_by_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
