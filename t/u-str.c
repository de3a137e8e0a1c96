/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Protects: strings stay terminated and within their limit; numbers are read strictly. */
#include "t/test.h"

#include "src/util/clock.h"
#include "src/util/str.h"
#include "src/util/util.h"

enum what { U64, DOUBLE, SIZE, DURATION };

struct row {
	const char *name;
	enum what what;
	const char *in;
	int rc;
	double want;
};

/* The limits of U64 are 3 and 20 here. */
static const struct row rows[] = {
	{"a number within its range", U64, "7", 0, 7},
	{"the lower limit is in", U64, "3", 0, 3},
	{"the upper limit is in", U64, "20", 0, 20},
	{"leading zeros are decimal", U64, "010", 0, 10},
	{"below the range", U64, "2", -1, 0},
	{"above the range", U64, "21", -1, 0},
	{"2^64 does not wrap", U64, "18446744073709551616", -1, 0},
	{"2^64 + 7 does not wrap", U64, "18446744073709551623", -1, 0},
	{"a minus is no number", U64, "-7", -1, 0},
	{"a plus is no number", U64, "+7", -1, 0},
	{"a blank before", U64, " 7", -1, 0},
	{"something after", U64, "7x", -1, 0},
	{"hexadecimal", U64, "0x7", -1, 0},
	{"nothing", U64, "", -1, 0},
	{"a real", DOUBLE, "1.5", 0, 1.5},
	{"a negative real with exponent", DOUBLE, "-2.5e-3", 0, -0.0025},
	{"NaN is refused", DOUBLE, "nan", -1, 0},
	{"infinity is refused", DOUBLE, "inf", -1, 0},
	{"a hexadecimal real is refused", DOUBLE, "0x1p3", -1, 0},
	{"an overflow is refused", DOUBLE, "1e999", -1, 0},
	{"a comma is refused", DOUBLE, "1,5", -1, 0},
	{"a blank before a real", DOUBLE, " 1", -1, 0},
	{"an empty real", DOUBLE, "", -1, 0},
	{"a dot alone", DOUBLE, ".", -1, 0},
	{"bytes", SIZE, "4096", 0, 4096},
	{"k is 1024", SIZE, "4k", 0, 4096},
	{"capitals are the same", SIZE, "16M", 0, 16 << 20},
	{"t is 2^40", SIZE, "1t", 0, 1099511627776.},
	{"kb is no unit", SIZE, "4kb", -1, 0},
	{"B is bytes, as lkp-tests writes it", SIZE, "9B", 0, 9},
	{"MB is 2^20", SIZE, "16MB", 0, 16 << 20},
	{"B alone", SIZE, "B", -1, 0},
	{"BB is no unit", SIZE, "4BB", -1, 0},
	{"a fraction is no size", SIZE, "1.5k", -1, 0},
	{"a unit alone", SIZE, "k", -1, 0},
	{"2^63 does not fit", SIZE, "8388608t", -1, 0},
	{"the largest size", SIZE, "8388607t", 0, 8388607. * 1099511627776.},
	{"bare numbers are seconds", DURATION, "90", 0, 90e9},
	{"seconds", DURATION, "90s", 0, 90e9},
	{"minutes", DURATION, "5m", 0, 300e9},
	{"hours", DURATION, "2h", 0, 7200e9},
	{"days", DURATION, "1d", 0, 86400e9},
	{"ms is no unit", DURATION, "5ms", -1, 0},
	{"a time that overflows", DURATION, "9223372037", -1, 0},
	{"a negative time", DURATION, "-1s", -1, 0},
};

static void follows_row(void **state)
{
	const struct row *r = *state;
	struct fb_error err = FB_ERROR_INIT;
	uint64_t u = 99;
	int64_t ns = 99;
	double d = 99;
	int rc;

	switch (r->what) {
	case U64:
		rc = fb_parse_u64(r->in, 3, 20, &u, &err);
		d = (double)u;
		break;
	case DOUBLE:
		rc = fb_parse_double(r->in, &d, &err);
		break;
	case SIZE:
		rc = fb_parse_size(r->in, &u, &err);
		d = (double)u;
		break;
	case DURATION:
		rc = fb_parse_duration(r->in, &ns, &err);
		d = (double)ns;
		break;
	}
	assert_int_equal(rc, r->rc);
	/* What is returned is written on success only. */
	assert_near(d, rc ? 99 : r->want, 0);
	if (rc < 0) {
		assert_string_not_equal(err.text, "");
		assert_error(&err, FB_ERROR_INPUT, r->in);
	}
}

static void an_empty_string_is_a_string(void **state)
{
	struct fb_str s = FB_STR_INIT;
	char *taken;

	assert_string_equal(fb_str_cstr(&s), "");
	taken = fb_str_take(&s);
	assert_string_equal(taken, "");
	free(taken);
	fb_str_release(&s);
}

static void pieces_add_up(void **state)
{
	struct fb_str s = FB_STR_INIT;
	char *taken;

	fb_str_add(&s, "a");
	fb_str_addc(&s, 'b');
	fb_str_addn(&s, "cde", 2);
	fb_str_addf(&s, "-%d-%s", 7, "x");
	assert_string_equal(fb_str_cstr(&s), "abcd-7-x");
	assert_int_equal(s.len, 8);
	taken = fb_str_take(&s);
	assert_string_equal(taken, "abcd-7-x");
	assert_int_equal(s.len, 0);
	fb_str_add(&s, "new");
	assert_string_equal(fb_str_cstr(&s), "new");
	free(taken);
	fb_str_release(&s);
}

static void nul_bytes_are_kept(void **state)
{
	struct fb_str s = FB_STR_INIT;

	fb_str_addn(&s, "a\0b", 3);
	assert_int_equal(s.len, 3);
	assert_memory_equal(s.buf, "a\0b", 4);
	fb_str_release(&s);
}

static void the_limit_is_kept_and_said(void **state)
{
	struct fb_str s = {.max = 10};

	for (int i = 0; i < 5; i++)
		fb_str_add(&s, "ab");
	assert_false(s.truncated);
	assert_int_equal(s.len, 10);
	fb_str_addn(&s, "", 0);
	assert_false(s.truncated);
	fb_str_add(&s, "c");
	assert_true(s.truncated);
	assert_string_equal(fb_str_cstr(&s), "ababababab");
	/* A limit below what is there must not be taken for a huge one. */
	s.max = 4;
	fb_str_add(&s, "more");
	assert_int_equal(s.len, 10);
	fb_str_release(&s);
	assert_false(s.truncated);
}

static void large_strings_grow(void **state)
{
	struct fb_str s = FB_STR_INIT;

	for (int i = 0; i < 100000; i++)
		fb_str_addf(&s, "%d,", i % 10);
	assert_int_equal(s.len, 200000);
	assert_int_equal(strlen(s.buf), 200000);
	fb_str_release(&s);
}

static void prefixes_and_suffixes(void **state)
{
	assert_true(fb_str_has_prefix("firstbad: x", "firstbad:"));
	assert_false(fb_str_has_prefix("first", "firstbad"));
	assert_true(fb_str_has_prefix("x", ""));
	assert_true(fb_str_has_suffix("a.config", ".config"));
	assert_false(fb_str_has_suffix("config", "a.config"));
	assert_true(fb_str_has_suffix("", ""));
}

static void vectors_hold_copies(void **state)
{
	FB_CLEANUP(fb_strvp) char **v = NULL;
	char buf[] = "one";

	assert_int_equal(fb_strv_len(v), 0);
	fb_strv_add(&v, buf);
	buf[0] = 'x';
	fb_strv_add(&v, "two");
	assert_int_equal(fb_strv_len(v), 2);
	assert_string_equal(v[0], "one");
	assert_null(v[2]);
}

static void the_wall_clock_can_be_fixed_for_tests(void **state)
{
	setenv("FIRSTBAD_TEST_NOW", "1112911993", 1);
	assert_int_equal(fb_clock_wall_s(), 1112911993);
	setenv("FIRSTBAD_TEST_NOW", "nonsense", 1);
	assert_true(fb_clock_wall_s() > 1600000000);
	unsetenv("FIRSTBAD_TEST_NOW");
	assert_true(fb_clock_mono_ns() <= fb_clock_mono_ns());
}

int main(void)
{
	static const struct CMUnitTest rest[] = {
		cmocka_unit_test(an_empty_string_is_a_string),
		cmocka_unit_test(pieces_add_up),
		cmocka_unit_test(nul_bytes_are_kept),
		cmocka_unit_test(the_limit_is_kept_and_said),
		cmocka_unit_test(large_strings_grow),
		cmocka_unit_test(prefixes_and_suffixes),
		cmocka_unit_test(vectors_hold_copies),
		cmocka_unit_test(the_wall_clock_can_be_fixed_for_tests),
	};
	struct CMUnitTest tests[FB_ARRAY_SIZE(rows) + FB_ARRAY_SIZE(rest)];

	for (size_t i = 0; i < FB_ARRAY_SIZE(rows); i++)
		tests[i] = (struct CMUnitTest){rows[i].name, follows_row, NULL, NULL,
					       (void *)(uintptr_t)&rows[i]};
	memcpy(tests + FB_ARRAY_SIZE(rows), rest, sizeof(rest));
	return cmocka_run_group_tests_name("str", tests, NULL, NULL);
}
