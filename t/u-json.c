/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Protects: JSON errors say where, output is stable, and numbers survive bit by bit. */
#include "t/test.h"

#include <unistd.h>

#include "src/util/file.h"
#include "src/util/json.h"

static json_t *parse(const char *text, struct fb_error *err)
{
	return fb_json_parse(text, strlen(text), "in.json", 0, err);
}

static void errors_name_file_line_and_column(void **state)
{
	struct fb_error err = FB_ERROR_INIT;

	assert_null(parse("{\"a\": 1,\n \"b\": }", &err));
	assert_error(&err, FB_ERROR_INPUT, "in.json:2:");
	assert_null(parse("", &err));
	assert_error(&err, FB_ERROR_INPUT, "in.json:");
	assert_null(parse("{\"a\": 1} trailing", &err));
	assert_error(&err, FB_ERROR_INPUT, "in.json:1:");
	assert_null(parse("{\"a\": \"\xff\"}", &err));
	assert_error(&err, FB_ERROR_INPUT, "in.json:1:");
}

static void deep_nesting_is_an_error_not_a_crash(void **state)
{
	struct fb_error err = FB_ERROR_INIT;
	char deep[100001];

	memset(deep, '[', sizeof(deep) - 1);
	deep[sizeof(deep) - 1] = '\0';
	assert_null(parse(deep, &err));
	assert_error(&err, FB_ERROR_INPUT, "in.json:");
}

static void unpacking_names_missing_and_left_over_keys(void **state)
{
	struct fb_error err = FB_ERROR_INIT;
	json_t *v = parse("{\"a\": 1, \"extra\": 2}", &err);
	int a = 0, b = 0;

	assert_non_null(v);
	assert_int_equal(fb_json_unpack(v, "x", &err, "{s:i}", "a", &a), -1);
	assert_error(&err, FB_ERROR_INPUT, "extra");
	assert_int_equal(fb_json_unpack(v, "x", &err, "{s:i, s:i}", "a", &a, "missing", &b), -1);
	assert_error(&err, FB_ERROR_INPUT, "missing");
	assert_ok(fb_json_unpack(v, "x", &err, "{s:i, s:i}", "a", &a, "extra", &b), &err);
	assert_int_equal(a, 1);
	assert_int_equal(b, 2);
	json_decref(v);
}

static void lines_are_one_line_each_and_keep_the_order(void **state)
{
	struct fb_error err = FB_ERROR_INIT;
	json_t *v = parse("{\"z\": \"a\\nb\", \"a\": [1, 2.5, null, true]}", &err);
	struct fb_str s = FB_STR_INIT;

	fb_json_line(v, &s);
	assert_string_equal(fb_str_cstr(&s), "{\"z\":\"a\\nb\",\"a\":[1,2.5,null,true]}\n");
	fb_str_release(&s);
	fb_json_pretty(v, &s);
	assert_contains(fb_str_cstr(&s), "  \"z\": \"a\\nb\",\n");
	fb_str_release(&s);
	json_decref(v);
}

static void reals_survive_bit_by_bit(void **state)
{
	static const double values[] = {0.1,
					1.0 / 3,
					5.393283846,
					1e-300,
					1.7976931348623157e308,
					4.9406564584124654e-324,
					-0.0,
					123456789.125};

	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		struct fb_error err = FB_ERROR_INIT;
		struct fb_str s = FB_STR_INIT;
		json_t *v = json_real(values[i]), *back;
		double got;

		fb_json_line(v, &s);
		back = fb_json_parse(s.buf, s.len, "x", JSON_DECODE_ANY, &err);
		assert_non_null(back);
		got = json_real_value(back);
		assert_memory_equal(&got, &values[i], sizeof(got));
		json_decref(back);
		json_decref(v);
		fb_str_release(&s);
	}
}

static void files_are_saved_and_loaded(void **state)
{
	char path[] = "/tmp/u-json.XXXXXX";
	struct fb_error err = FB_ERROR_INIT;
	json_t *v, *back;
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	close(fd);
	v = parse("{\"a\": [1, 2], \"b\": \"x\\u0000y\"}", &err);
	fb_error_clear(&err);
	assert_null(v);
	v = parse("{\"a\": [1, 2], \"b\": \"x\"}", &err);
	assert_ok(fb_json_save(path, v, &err), &err);
	back = fb_json_load(path, 1000, &err);
	assert_true(json_equal(v, back));
	json_decref(back);
	assert_null(fb_json_load(path, 5, &err));
	assert_error(&err, FB_ERROR_INPUT, "larger than 5");
	assert_ok(fb_file_write(path, "{\n\n,", 4, &err), &err);
	assert_null(fb_json_load(path, 1000, &err));
	assert_error(&err, FB_ERROR_INPUT, ":3:");
	unlink(path);
	assert_null(fb_json_load(path, 1000, &err));
	assert_error(&err, FB_ERROR_SYSTEM, path);
	json_decref(v);
}

static void a_string_is_borrowed_or_absent(void **state)
{
	struct fb_error err = FB_ERROR_INIT;
	json_t *v = parse("{\"s\": \"text\", \"n\": 1}", &err);

	assert_string_equal(fb_json_str(v, "s"), "text");
	assert_null(fb_json_str(v, "n"));
	assert_null(fb_json_str(v, "absent"));
	assert_null(fb_json_str(NULL, "s"));
	json_decref(v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(errors_name_file_line_and_column),
		cmocka_unit_test(deep_nesting_is_an_error_not_a_crash),
		cmocka_unit_test(unpacking_names_missing_and_left_over_keys),
		cmocka_unit_test(lines_are_one_line_each_and_keep_the_order),
		cmocka_unit_test(reals_survive_bit_by_bit),
		cmocka_unit_test(files_are_saved_and_loaded),
		cmocka_unit_test(a_string_is_borrowed_or_absent),
	};

	return cmocka_run_group_tests_name("json", tests, NULL, NULL);
}
