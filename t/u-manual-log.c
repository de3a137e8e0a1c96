/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Logs of git, of ours, and as people paste them, taken apart; strict where it is evidence. */
#include "t/test.h"

#include "src/controller/manual-log.h"
#include "src/util/util.h"

#define A "0123456789012345678901234567890123456789"
#define B "abcdefabcdefabcdefabcdefabcdefabcdefabcd"

static struct fb_log parse(const char *text, bool pasted)
{
	struct fb_error err = FB_ERROR_INIT;
	struct fb_log log;

	assert_ok(fb_log_parse(text, "log", 1, pasted, &log, &err), &err);
	return log;
}

static void of_git(void **state)
{
	struct fb_log log = parse("# bad: [" A "] new\n# good: [" B "] old\n"
				  "git bisect start 'main' 'v1' '--' 'a b'\n"
				  "# good: [" B "] x\ngit bisect good " B "\n"
				  "git-bisect skip " A "\n# first bad commit: [" A "] y\n",
				  false);

	assert_int_equal(log.nr, 4);
	assert_int_equal(log.entry[0].kind, FB_LOG_START);
	assert_string_equal(log.entry[0].words[0], "bad");
	assert_string_equal(log.entry[0].words[1], A);
	assert_string_equal(log.entry[0].words[4], "");
	assert_string_equal(log.entry[0].words[8], "a b");
	assert_int_equal(log.entry[1].kind, FB_LOG_VERDICT);
	assert_int_equal(log.entry[1].line, 5);
	assert_string_equal(log.entry[1].text, "# good: [" B "] x\ngit bisect good " B "\n");
	assert_string_equal(log.entry[2].words[0], "skip");
	assert_int_equal(log.entry[3].kind, FB_LOG_NOTE);
	assert_null(log.session);
	fb_log_release(&log);
}

static void of_ours(void **state)
{
	struct fb_log log = parse("# firstbad: session c0ffee 17\n"
				  "# firstbad: weak bad " A " 0.8\n"
				  "# firstbad: values " B " 1 2.5 -3e4\n",
				  false);

	assert_string_equal(log.session, "c0ffee");
	assert_int_equal(log.nr_events, 17);
	assert_int_equal(log.nr, 2);
	assert_near(log.entry[0].values[0], 0.8, 0);
	assert_int_equal(log.entry[1].nr_values, 3);
	assert_near(log.entry[1].values[2], -3e4, 0);
	fb_log_release(&log);
}

static void what_is_written_is_read_again(void **state)
{
	FB_CLEANUP(fb_str_release) struct fb_str out = FB_STR_INIT;
	const double values[] = {0.1, 1e300, -7};
	struct fb_oid oid = {A};
	struct fb_log log;

	fb_log_head("ab", 3, &out);
	fb_log_verdict("bad", &oid, "it's", false, &out);
	fb_log_values(&oid, values, 3, &out);
	fb_log_weak("good", &oid, 0.75, &out);
	log = parse(fb_str_cstr(&out), false);
	assert_int_equal(log.nr, 3);
	assert_int_equal(log.entry[0].kind, FB_LOG_VERDICT);
	for (int i = 0; i < 3; i++)
		assert_near(log.entry[1].values[i], values[i], 0);
	assert_near(log.entry[2].values[0], 0.75, 0);
	fb_log_release(&log);
}

static void pasted(void **state)
{
	static const char *const texts[] = {
		"> git bisect good " A "\n> git bisect bad " B "\n",
		"\t1. git bisect good " A "\n\t2. git bisect bad " B "\n",
		"12  # good: [" A "] x\n13  # bad: [" B "] y\n# first bad commit: [" B "] y\n",
		"git bisect good " A "\r\n# status: waiting\r\ngit bisect bad " B "\r\n",
		">> | # good: [" A "] x\n>> | git bisect good " A "\n>> | git bisect bad " B,
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct fb_log log = parse(texts[i], true);
		size_t nr = 0;

		for (size_t k = 0; k < log.nr; k++) {
			if (log.entry[k].kind != FB_LOG_VERDICT)
				continue;
			assert_string_equal(log.entry[k].words[0], nr ? "bad" : "good");
			assert_string_equal(log.entry[k].words[1], nr ? B : A);
			nr++;
		}
		assert_int_equal(nr, 2);
		fb_log_release(&log);
	}
}

static void errors_name_the_line(void **state)
{
	static const struct {
		const char *text, *error;
	} cases[] = {
		{"git bisect start\ngit bisect good\n", "log:2: no revision"},
		{"git bisect start 'x\n", "log:1: a quote is not closed"},
		{"\n# firstbad: frob\n", "log:2: firstbad does not know"},
		{"# firstbad: weak bad " A "\n", "log:1: cannot read"},
		{"# firstbad: weak bad " A " 1\n", "log:1: a strength lies between"},
		{"# firstbad: weak bad 012 0.7\n", "log:1: cannot read"},
		{"# firstbad: values " A " 1 x\n", "log:1: no number"},
		{"# firstbad: session x\n", "log:1: cannot read"},
		{"git bisect \n", "log:1: no command"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct fb_error err = FB_ERROR_INIT;
		struct fb_log log;

		assert_int_equal(fb_log_parse(cases[i].text, "log", 1, i % 2, &log, &err), -1);
		assert_error(&err, FB_ERROR_INPUT, cases[i].error);
	}
}

static void words_are_quoted_as_git_does(void **state)
{
	/* git rev-parse --sq-quote "it's" "a b" 'x!y': 'it'\''s' 'a b' 'x'\!'y' */
	static const char *const words[] = {"it's", "a b", "x!y", "", "\\n"};
	FB_CLEANUP(fb_str_release) struct fb_str out = FB_STR_INIT;
	char **again = NULL;

	for (size_t i = 0; i < 5; i++) {
		fb_str_addc(&out, ' ');
		fb_gitbisect_quote(words[i], &out);
	}
	assert_string_equal(fb_str_cstr(&out), " 'it'\\''s' 'a b' 'x'\\!'y' '' '\\n'");
	assert_int_equal(fb_gitbisect_words(fb_str_cstr(&out), &again), 0);
	for (size_t i = 0; i < 5; i++)
		assert_string_equal(again[i], words[i]);
	assert_null(again[5]);
	for (char **w = again; *w; w++)
		free(*w);
	free(again);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_git),
		cmocka_unit_test(of_ours),
		cmocka_unit_test(what_is_written_is_read_again),
		cmocka_unit_test(pasted),
		cmocka_unit_test(errors_name_the_line),
		cmocka_unit_test(words_are_quoted_as_git_does),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
