/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Protects: an error is one line, whole, with its context in front, and set only once. */
#include "t/test.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static void setting_returns_minus_one_and_keeps_code_and_text(void **state)
{
	struct fb_error err = FB_ERROR_INIT;

	assert_int_equal(fb_error_set(&err, FB_ERROR_INPUT, "line %d", 7), -1);
	assert_int_equal(err.code, FB_ERROR_INPUT);
	assert_int_equal(err.sys, 0);
	assert_string_equal(err.text, "line 7");
}

static void a_system_error_keeps_errno_and_names_it(void **state)
{
	struct fb_error err = FB_ERROR_INIT;

	assert_int_equal(fb_error_set_sys(&err, ENOSPC, "write '%s'", "x"), -1);
	assert_int_equal(err.code, FB_ERROR_SYSTEM);
	assert_int_equal(err.sys, ENOSPC);
	assert_string_equal(err.text, "write 'x': No space left on device");
}

static void wrapping_puts_the_context_in_front(void **state)
{
	struct fb_error err = FB_ERROR_INIT;

	fb_error_set_sys(&err, ENOENT, "open 'a'");
	assert_int_equal(fb_error_wrap(&err, "plan '%s'", "p"), -1);
	assert_string_equal(err.text, "plan 'p': open 'a': No such file or directory");
	assert_int_equal(err.sys, ENOENT);
	assert_int_equal(err.code, FB_ERROR_SYSTEM);
}

static void text_of_others_cannot_break_the_line(void **state)
{
	struct fb_error err = FB_ERROR_INIT;

	fb_error_set(&err, FB_ERROR_GIT, "subject '%s'", "a\nb\r\033[31mc\x7f\td");
	assert_string_equal(err.text, "subject 'a?b??[31mc??d'");
	fb_error_wrap(&err, "in\n'%s'", "x\001");
	assert_string_equal(err.text, "in?'x?': subject 'a?b??[31mc??d'");
}

static void bytes_that_are_no_utf8_become_question_marks(void **state)
{
	struct fb_error err = FB_ERROR_INIT;

	fb_error_set(&err, FB_ERROR_INPUT, "%s",
		     "\xff \xc3\xa9 \xc3 \xc0\xaf \xed\xa0\x80 \xc2\x9b");
	assert_string_equal(err.text, "? \xc3\xa9 ? ?? ??? ??");
}

static void a_cut_leaves_no_half_character(void **state)
{
	struct fb_error err = FB_ERROR_INIT;
	char big[4000];

	for (size_t i = 0; i + 1 < sizeof(big); i += 2)
		memcpy(big + i, "\xc3\xa9", 2);
	big[sizeof(big) - 2] = '\0';
	fb_error_set(&err, FB_ERROR_INPUT, "%s", big);
	assert_string_equal(err.text + sizeof(err.text) - 4, "\xc3\xa9?");
	fb_error_wrap(&err, "x");
	assert_string_equal(err.text + sizeof(err.text) - 3, "\xc3\xa9");
}

static void text_beyond_the_limit_is_cut_and_stays_terminated(void **state)
{
	struct fb_error err = FB_ERROR_INIT;
	char big[4000];

	memset(big, 'x', sizeof(big));
	big[sizeof(big) - 1] = '\0';
	fb_error_set_sys(&err, EIO, "%s", big);
	assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
	fb_error_wrap(&err, "%s", big);
	assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
	fb_error_clear(&err);
	fb_error_set(&err, FB_ERROR_INPUT, "again");
	assert_string_equal(err.text, "again");
}

static int aborts(void (*fn)(void))
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		/* The message of fb_bug() is not part of the TAP stream. */
		if (!freopen("/dev/null", "w", stderr))
			_exit(1);
		signal(SIGABRT, SIG_DFL);
		fn();
		_exit(0);
	}
	return waitpid(pid, &status, 0) == pid && WIFSIGNALED(status) &&
	       WTERMSIG(status) == SIGABRT;
}

static void set_twice(void)
{
	struct fb_error err = FB_ERROR_INIT;

	fb_error_set(&err, FB_ERROR_INPUT, "one");
	fb_error_set(&err, FB_ERROR_INPUT, "two");
}

static void wrap_nothing(void)
{
	struct fb_error err = FB_ERROR_INIT;

	fb_error_wrap(&err, "context");
}

static void set_once(void)
{
	struct fb_error err = FB_ERROR_INIT;

	fb_error_set(&err, FB_ERROR_INPUT, "one");
}

static void setting_twice_and_wrapping_nothing_are_bugs(void **state)
{
	assert_false(aborts(set_once));
	assert_true(aborts(set_twice));
	assert_true(aborts(wrap_nothing));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(setting_returns_minus_one_and_keeps_code_and_text),
		cmocka_unit_test(a_system_error_keeps_errno_and_names_it),
		cmocka_unit_test(wrapping_puts_the_context_in_front),
		cmocka_unit_test(text_of_others_cannot_break_the_line),
		cmocka_unit_test(bytes_that_are_no_utf8_become_question_marks),
		cmocka_unit_test(a_cut_leaves_no_half_character),
		cmocka_unit_test(text_beyond_the_limit_is_cut_and_stays_terminated),
		cmocka_unit_test(setting_twice_and_wrapping_nothing_are_bugs),
	};

	return cmocka_run_group_tests_name("error", tests, NULL, NULL);
}
