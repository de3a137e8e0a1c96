/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Building: config fragments, reasons of failed builds, signatures, specs as JSON. */
#include <ftw.h>
#include <unistd.h>

#include "src/build/build.h"
#include "src/build/code.h"
#include "src/build/config.h"
#include "src/build/log.h"
#include "src/build/signature.h"
#include "src/util/file.h"
#include "src/util/json.h"
#include "src/util/proc.h"
#include "src/util/util.h"
#include "t/build-causes.h"
#include "t/test.h"

/* --- fragments --- */

struct parse_row {
	const char *name, *in, *text, *error;
};

static const struct parse_row parse_row[] = {
	{"config: values of every kind are read",
	 "CONFIG_A=y\nCONFIG_B=m\nCONFIG_C=12\nCONFIG_D=0x1f\nCONFIG_E=\"a b\"\nCONFIG_F=-1\n",
	 "CONFIG_A=y\nCONFIG_B=m\nCONFIG_C=12\nCONFIG_D=0x1f\nCONFIG_E=\"a b\"\nCONFIG_F=-1\n",
	 NULL},
	{"config: off has two spellings", "# CONFIG_A is not set\nCONFIG_B=n\n",
	 "# CONFIG_A is not set\n# CONFIG_B is not set\n", NULL},
	{"config: comments, blanks and a missing last newline are fine",
	 "# what: this\n\n   \n#CONFIG_Z=y\nCONFIG_A=y", "CONFIG_A=y\n", NULL},
	{"config: the last request for a symbol counts", "CONFIG_A=y\nCONFIG_A=m\n", "CONFIG_A=m\n",
	 NULL},
	{"config: an optional mark is not part of the value",
	 "CONFIG_A=y # optional\n# CONFIG_B is not set # optional\n",
	 "CONFIG_A=y\n# CONFIG_B is not set\n", NULL},
	{"config: CRLF is accepted", "CONFIG_A=y\r\n", "CONFIG_A=y\n", NULL},
	{"config: a line without value is refused", "\nCONFIG_A\n", NULL,
	 "x:2: expected CONFIG_NAME=value"},
	{"config: another word is refused", "FOO=y\n", NULL, "x:1: expected CONFIG_NAME=value"},
	{"config: an empty value is refused", "CONFIG_A=\n", NULL, "x:1: expected y, m, n"},
	{"config: a trailing word is refused", "CONFIG_A=y z\n", NULL, "x:1: expected y, m, n"},
	{"config: a bare 0x is refused", "CONFIG_A=0x\n", NULL, "x:1: expected y, m, n"},
	{"config: a name alone is no symbol", "CONFIG_=y\n", NULL,
	 "x:1: expected CONFIG_NAME=value"},
};

static void config_parse_follows_row(void **state)
{
	const struct parse_row *row = *state;
	struct fb_config config = {0};
	struct fb_str text = FB_STR_INIT;
	struct fb_error err = FB_ERROR_INIT;
	int rc = fb_config_parse(&config, row->in, strlen(row->in), "x", &err);

	if (row->error) {
		assert_int_equal(rc, -1);
		assert_error(&err, FB_ERROR_INPUT, row->error);
	} else {
		assert_ok(rc, &err);
		fb_config_add_text(&config, &text);
		assert_string_equal(fb_str_cstr(&text), row->text);
	}
	fb_str_release(&text);
	fb_config_release(&config);
}

struct check_row {
	const char *name, *want, *have, *why; /* why: NULL when it holds */
};

static const struct check_row check_row[] = {
	{"config: what was asked for and is there holds",
	 "CONFIG_A=y\nCONFIG_N=12\n# CONFIG_B is not set\n",
	 "CONFIG_A=y\nCONFIG_N=12\n# CONFIG_B is not set\n", NULL},
	{"config: off holds for a symbol that the tree does not know", "# CONFIG_B is not set\n",
	 "CONFIG_A=y\n", NULL},
	{"config: a longer name is another symbol", "CONFIG_A=y\n", "CONFIG_AB=y\n",
	 "CONFIG_A=y (f:1) cannot be had here: it is off or unknown"},
	{"config: m is not y", "CONFIG_A=y\n", "CONFIG_A=m\n",
	 "CONFIG_A=y (f:1) cannot be had here: it is m"},
	{"config: another number does not hold", "CONFIG_A=12\n", "CONFIG_A=13\n", "it is 13"},
	{"config: on does not hold for off", "# CONFIG_A is not set\n", "CONFIG_A=y\n",
	 "CONFIG_A off (f:1) cannot be had here: it is y"},
	{"config: optional symbols may be otherwise", "CONFIG_A=y # optional\n", "", NULL},
	{"config: many missing symbols are counted",
	 "CONFIG_A=y\nCONFIG_B=y\nCONFIG_C=y\nCONFIG_D=y\nCONFIG_E=y\n", "", "; and 2 more"},
};

static void config_check_follows_row(void **state)
{
	const struct check_row *row = *state;
	struct fb_config config = {0};
	struct fb_error err = FB_ERROR_INIT;
	char *why = NULL;
	bool ok;

	assert_ok(fb_config_parse(&config, row->want, strlen(row->want), "f", &err), &err);
	ok = fb_config_check(&config, row->have, strlen(row->have), &why);
	assert_int_equal(ok, row->why == NULL);
	if (row->why)
		assert_contains(why, row->why);
	free(why);
	fb_config_release(&config);
}

static void modules_are_seen(void **state)
{
	static const char none[] = "CONFIG_MODULES=y\nCONFIG_A=y\nCONFIG_S=\"=m\"\n";
	static const char some[] = "CONFIG_MODULES=y\nCONFIG_A=m\n";
	static const char off[] = "# CONFIG_MODULES is not set\nCONFIG_A=m\n";

	assert_false(fb_config_has_modules(none, strlen(none)));
	assert_true(fb_config_has_modules(some, strlen(some)));
	assert_false(fb_config_has_modules(off, strlen(off)));
}

/* --- why a build failed --- */

static void cause_follows_row(void **state)
{
	const struct cause_row *row = *state;
	static const char *const roots[] = {"/wt/src", "/wt/obj", "../src", NULL};
	struct fb_log_cause cause;

	fb_log_find_cause(row->log, strlen(row->log), roots, &cause);
	assert_string_equal(cause.line, row->line);
	assert_int_equal(cause.fault, row->fault);
	if (row->package)
		assert_string_equal(cause.package, row->package);
	else
		assert_null(cause.package);
	fb_log_cause_release(&cause);
}

static void control_bytes_do_not_get_through(void **state)
{
	static const char log[] = "a.c:1:1: error: \033[31mred\033[0m\tand\177\r\n";
	struct fb_log_cause cause;

	fb_log_find_cause(log, strlen(log), NULL, &cause);
	for (const char *p = cause.line; *p; p++)
		assert_true((unsigned char)*p >= ' ' && *p != 0x7f);
	assert_contains(cause.line, "red");
	fb_log_cause_release(&cause);
}

static void long_lines_are_cut(void **state)
{
	static char log[100000];
	struct fb_log_cause cause;

	memset(log, 'x', sizeof(log) - 1);
	memcpy(log, "a.c:1:1: error: ", 16);
	fb_log_find_cause(log, strlen(log), NULL, &cause);
	assert_in_range(strlen(cause.line), 100, 1000);
	fb_log_cause_release(&cause);
}

/* --- signatures --- */

static char dir[] = "/tmp/fb-u-build.XXXXXX";

static int make_dir(void **state)
{
	return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
	struct fb_error err = FB_ERROR_INIT;

	return fb_remove_tree(dir, &err);
}

/* Compile @code with the arguments @a and @b (may be NULL) to @name; returns its path. */
static char *compile(const char *name, const char *code, const char *a, const char *b)
{
	char *out = fb_xasprintf("%s/%s", dir, name);
	char *in = fb_xasprintf("%s/%s.c", dir, name);
	const char *argv[] = {"gcc",
			      "-O1",
			      "-ffreestanding",
			      "-fno-asynchronous-unwind-tables",
			      "-o",
			      out,
			      in,
			      a,
			      a ? b : NULL,
			      NULL};
	struct fb_proc_spec spec = {.argv = argv};
	struct fb_proc_result result;
	struct fb_error err = FB_ERROR_INIT;

	assert_ok(fb_file_write(in, code, strlen(code), &err), &err);
	assert_ok(fb_proc_run(&spec, &result, &err), &err);
	assert_ok(fb_proc_check(&spec, &result, &err), &err);
	fb_proc_result_release(&result);
	free(in);
	return out;
}

static const char *sign_file(const char *path, bool bug_lines)
{
	static char hex[4][FB_HASH_HEX_SIZE];
	static unsigned turn;
	struct fb_hash h;
	struct fb_error err = FB_ERROR_INIT;

	turn = (turn + 1) % 4;
	fb_hash_init(&h);
	assert_ok(fb_signature_add(&h, path, bug_lines, &err), &err);
	fb_hash_hex(&h, hex[turn]);
	return hex[turn];
}

struct pair_row {
	const char *name, *a, *b, *arg, *arg_a, *arg_b;
	bool same, bug_lines;
};

#define START "void _start(void); void _start(void) { for (;;); }\n"
#define BUG_TABLE(line)                                                                            \
	START "__asm__(\".pushsection __bug_table,\\\"aw\\\"; .long 1,2; .short " line             \
	      ",7; .popsection\");"

static const struct pair_row pair_row[] = {
	{"signature: a comment changes nothing", START "int x = 1;\n",
	 START "/* why */ int x = 1;\n", "-nostdlib", NULL, NULL, true, true},
	{"signature: a build id changes nothing", START, START, "-nostdlib", "-Wl,--build-id=0x12",
	 "-Wl,--build-id=0x1234", true, true},
	{"signature: debug information changes nothing", START, START, "-nostdlib", "-g0", "-g",
	 true, true},
	{"signature: a symbol's name changes nothing", START "static int x; int *p = &x;\n",
	 START "static int y; int *p = &y;\n", "-nostdlib", NULL, NULL, true, true},
	{"signature: a constant counts", START "int x = 1;\n", START "int x = 2;\n", "-nostdlib",
	 NULL, NULL, false, true},
	{"signature: code counts", START "int f(int a) { return a + 1; }\n",
	 START "int f(int a) { return a + 2; }\n", "-nostdlib", NULL, NULL, false, true},
	{"signature: the size of what the file does not hold counts", START "char x[64];\n",
	 START "char x[128];\n", "-nostdlib", NULL, NULL, false, true},
	{"signature: the callee of a module counts", "void a(void); void f(void) { a(); }",
	 "void b(void); void f(void) { b(); }", "-c", NULL, NULL, false, true},
	{"signature: line numbers of WARN and BUG can be left out", BUG_TABLE("10"),
	 BUG_TABLE("11"), "-nostdlib", NULL, NULL, true, false},
	{"signature: line numbers of WARN and BUG can count", BUG_TABLE("10"), BUG_TABLE("11"),
	 "-nostdlib", NULL, NULL, false, true},
};

static void signature_follows_row(void **state)
{
	const struct pair_row *row = *state;
	char *a = compile("a", row->a, row->arg, row->arg_a);
	char *b = compile("b", row->b, row->arg, row->arg_b);
	const char *sa = sign_file(a, row->bug_lines), *sb = sign_file(b, row->bug_lines);

	if (row->same)
		assert_string_equal(sa, sb);
	else
		assert_string_not_equal(sa, sb);
	free(a);
	free(b);
}

static void stripping_keeps_the_signature(void **state)
{
	char *a = compile("a", START "int x = 1;", "-nostdlib", NULL);
	char *b = fb_xasprintf("%s/stripped", dir);
	const char *argv[] = {"objcopy", "-S", a, b, NULL};
	struct fb_proc_spec spec = {.argv = argv};
	struct fb_proc_result result;
	struct fb_error err = FB_ERROR_INIT;

	assert_ok(fb_proc_run(&spec, &result, &err), &err);
	assert_ok(fb_proc_check(&spec, &result, &err), &err);
	fb_proc_result_release(&result);
	assert_string_equal(sign_file(a, true), sign_file(b, true));
	free(a);
	free(b);
}

static void other_files_are_refused(void **state)
{
	char *path = fb_xasprintf("%s/text", dir);
	struct fb_hash h;
	struct fb_error err = FB_ERROR_INIT;

	assert_ok(fb_file_write(path, "not ELF at all\n", 15, &err), &err);
	fb_hash_init(&h);
	assert_int_equal(fb_signature_add(&h, path, true, &err), -1);
	assert_error(&err, FB_ERROR_INPUT, "is no ELF file");
	assert_int_equal(fb_signature_has_pvh(path, &err), -1);
	assert_error(&err, FB_ERROR_INPUT, "is no ELF file");
	/* A header and nothing behind it. */
	assert_ok(fb_file_write(path, "\177ELF\2\1\1\0\0\0\0\0\0\0\0\0", 16, &err), &err);
	assert_int_equal(fb_signature_add(&h, path, true, &err), -1);
	assert_int_equal(err.code, FB_ERROR_INPUT);
	free(path);
}

static void pvh_note_is_found(void **state)
{
	static const char with[] = START "__asm__(\".pushsection .note.Xen,\\\"a\\\",@note; .long "
					 "4,8,18; .asciz \\\"Xen\\\"; .quad 1; .popsection\");";
	static const char other[] = START "__asm__(\".pushsection .note.Xen,\\\"a\\\",@note; .long "
					  "4,8,17; .asciz \\\"Xen\\\"; .quad 1; .popsection\");";
	struct fb_error err = FB_ERROR_INIT;
	char *path;

	path = compile("pvh", with, "-nostdlib", "-static");
	assert_int_equal(fb_signature_has_pvh(path, &err), 1);
	free(path);
	path = compile("pvh", other, "-nostdlib", "-static");
	assert_int_equal(fb_signature_has_pvh(path, &err), 0);
	free(path);
}

/* --- sources --- */

struct code_row {
	const char *name, *a, *b;
	bool same;
};

static const struct code_row code_row[] = {
	{"code: another comment is the same code", "int a; /* one */\nint b;\n",
	 "int a; /* two\n * lines */\nint b;\n", true},
	{"code: an added comment line is the same code", "f();\ng();\n",
	 "f();\n\n/* why */\n\ng(); // how\n", true},
	{"code: blanks at both ends and between do not count", "if (a)  b;\n", "\tif (a) b;  \n",
	 true},
	{"code: a last line without newline is other code only when it differs", "a;\n", "b;",
	 false},
	{"code: a changed number is other code", "x = 1; /* a */\n", "x = 2; /* a */\n", false},
	{"code: what was commented out is other code", "f();\n", "/* f(); */\n", false},
	{"code: a comment separates words", "int/**/a;\n", "inta;\n", false},
	{"code: text in strings counts, also when it looks like a comment", "s = \"/* a */\";\n",
	 "s = \"/* b */\";\n", false},
	{"code: blanks in strings count", "s = \"a b\";\n", "s = \"a  b\";\n", false},
	{"code: an escaped quote does not end a string", "s = \"\\\" /* a */\";\n",
	 "s = \"\\\" /* b */\";\n", false},
	{"code: a quote as a character starts no string", "c = '\"'; /* a */\n",
	 "c = '\"'; /* b */\n", true},
	{"code: line breaks count, they end a directive", "#define A\nb\n", "#define A b\n", false},
	{"code: a joined line is one line", "#define A \\\n b\n", "#define A b\n", true},
	{"code: a joined line comment goes on", "a; // x \\\n y\nb;\n", "a;\nb;\n", true},
	{"code: a comment without end hides the rest", "a; /* b;\n", "a; /* c;\n", true},
	{"code: empty files are the same", "", "/* nothing */\n", true},
};

static void code_follows_row(void **state)
{
	const struct code_row *row = *state;

	assert_int_equal(fb_code_same(row->a, strlen(row->a), row->b, strlen(row->b)), row->same);
	assert_int_equal(fb_code_same(row->b, strlen(row->b), row->a, strlen(row->a)), row->same);
	assert_true(fb_code_same(row->a, strlen(row->a), row->a, strlen(row->a)));
}

/* --- JSON --- */

static void spec_survives_json(void **state)
{
	char *frag[] = {"a.config", "b.config", NULL};
	struct fb_build_spec spec = {.src = "/s",
				     .tree_id = "t",
				     .objdir = "/o",
				     .cache = "/c",
				     .config_base = "tinyconfig",
				     .fragments = frag,
				     .jobs = 3,
				     .timeout_ns = 5};
	struct fb_build_spec back = {0};
	struct fb_error err = FB_ERROR_INIT;
	json_t *a = fb_build_spec_to_json(&spec), *b;

	assert_ok(fb_build_spec_from_json(a, &back, &err), &err);
	b = fb_build_spec_to_json(&back);
	assert_true(json_equal(a, b));
	assert_string_equal(back.fragments[1], "b.config");
	assert_null(back.fixups);
	json_decref(b);
	fb_build_spec_release(&back);

	json_object_set_new(a, "extra", json_true());
	assert_int_equal(fb_build_spec_from_json(a, &back, &err), -1);
	assert_error(&err, FB_ERROR_INPUT, "extra");
	json_object_del(a, "extra");
	json_object_set_new(a, "jobs", json_integer(-1));
	assert_int_equal(fb_build_spec_from_json(a, &back, &err), -1);
	assert_error(&err, FB_ERROR_INPUT, "jobs");
	json_object_del(a, "jobs");
	assert_int_equal(fb_build_spec_from_json(a, &back, &err), -1);
	assert_error(&err, FB_ERROR_INPUT, "jobs");
	json_decref(a);
}

static void result_survives_json(void **state)
{
	struct fb_build_result ok = {.outcome = FB_BUILD_OK,
				     .image = {.dir = "/d",
					       .key = "k",
					       .signature = "s",
					       .vmlinux = "/d/vmlinux",
					       .config = "/d/config",
					       .release = "6.1.0",
					       .toolchain = "gcc",
					       .pvh = true},
				     .log = "/d/build.log",
				     .wall_ns = 7,
				     .cpu_ns = 9};
	struct fb_build_result failed = {.outcome = FB_BUILD_FAILED,
					 .cause = "a.c:1: error: x",
					 .log = "/l",
					 .cached = true};
	const struct fb_build_result *in[] = {&ok, &failed};
	struct fb_build_result back = {0};
	struct fb_error err = FB_ERROR_INIT;

	for (size_t i = 0; i < FB_ARRAY_SIZE(in); i++) {
		json_t *a = fb_build_result_to_json(in[i]), *b;

		assert_ok(fb_build_result_from_json(a, &back, &err), &err);
		b = fb_build_result_to_json(&back);
		assert_true(json_equal(a, b));
		fb_build_result_release(&back);
		json_object_set_new(a, "outcome", json_string("perhaps"));
		assert_int_equal(fb_build_result_from_json(a, &back, &err), -1);
		assert_error(&err, FB_ERROR_INPUT, "perhaps");
		json_decref(a);
		json_decref(b);
	}
}

/* --- the fragments that come with firstbad --- */

static const char *const fragment[] = {"debug-light", "fs-btrfs", "fs-ext4", "fs-f2fs",
				       "fs-xfs",      "null-blk", "tiny",    "virt"};

static void fragment_is_documented(void **state)
{
	const char *name = *state;
	char *path = fb_xasprintf("%s/kconfigs/%s.config", test_srcdir(), name);
	static const char *const head[] = {"# what: ", "# needed by: ", "# since: v"};
	struct fb_config config = {0};
	struct fb_str text = FB_STR_INIT;
	struct fb_error err = FB_ERROR_INIT;
	const char *p;

	assert_ok(fb_file_read(path, 1 << 20, &text, &err), &err);
	p = fb_str_cstr(&text);
	for (size_t i = 0; i < FB_ARRAY_SIZE(head); i++) {
		assert_true(fb_str_has_prefix(p, head[i]));
		p = strchr(p, '\n') + 1;
	}
	assert_ok(fb_config_parse(&config, fb_str_cstr(&text), text.len, name, &err), &err);
	assert_true(config.nr > 0);
	/* Those that are on are sorted; so are those that are off. */
	for (size_t i = 1; i < config.nr; i++)
		if (!config.request[i].value == !config.request[i - 1].value)
			assert_true(strcmp(config.request[i - 1].name, config.request[i].name) < 0);
	fb_config_release(&config);
	fb_str_release(&text);
	free(path);
}

static void fragments_do_not_contradict_each_other(void **state)
{
	struct fb_config one[FB_ARRAY_SIZE(fragment)] = {{0}};
	struct fb_error err = FB_ERROR_INIT;

	for (size_t i = 0; i < FB_ARRAY_SIZE(fragment); i++) {
		char *path = fb_xasprintf("%s/kconfigs/%s.config", test_srcdir(), fragment[i]);
		struct fb_str text = FB_STR_INIT;

		assert_ok(fb_file_read(path, 1 << 20, &text, &err), &err);
		assert_ok(fb_config_parse(&one[i], fb_str_cstr(&text), text.len, fragment[i], &err),
			  &err);
		fb_str_release(&text);
		free(path);
	}
	/* debug-light (0) is there to undo a choice of tiny. */
	for (size_t i = 1; i < FB_ARRAY_SIZE(fragment); i++)
		for (size_t k = i + 1; k < FB_ARRAY_SIZE(fragment); k++)
			for (size_t a = 0; a < one[i].nr; a++)
				for (size_t b = 0; b < one[k].nr; b++) {
					const struct fb_config_request *x = &one[i].request[a];
					const struct fb_config_request *y = &one[k].request[b];

					if (!strcmp(x->name, y->name) &&
					    (!x->value != !y->value ||
					     (x->value && strcmp(x->value, y->value) != 0)))
						fail_msg("%s: %s and %s", x->name, x->where,
							 y->where);
				}
	for (size_t i = 0; i < FB_ARRAY_SIZE(fragment); i++)
		fb_config_release(&one[i]);
}

#define ADD(row_name, fn, row_state)                                                               \
	tests[nr++] = (struct CMUnitTest)                                                          \
	{                                                                                          \
		row_name, fn, NULL, NULL, (void *)(uintptr_t)(row_state)                           \
	}

int main(void)
{
	static struct CMUnitTest tests[128];
	static char names[FB_ARRAY_SIZE(fragment)][64];
	size_t nr = 0;

	for (size_t i = 0; i < FB_ARRAY_SIZE(parse_row); i++)
		ADD(parse_row[i].name, config_parse_follows_row, &parse_row[i]);
	for (size_t i = 0; i < FB_ARRAY_SIZE(check_row); i++)
		ADD(check_row[i].name, config_check_follows_row, &check_row[i]);
	ADD("config: =m with MODULES=y means modules", modules_are_seen, NULL);
	for (size_t i = 0; i < FB_ARRAY_SIZE(cause_row); i++)
		ADD(cause_row[i].name, cause_follows_row, &cause_row[i]);
	ADD("cause: control bytes do not get through", control_bytes_do_not_get_through, NULL);
	ADD("cause: long lines are cut", long_lines_are_cut, NULL);
	for (size_t i = 0; i < FB_ARRAY_SIZE(pair_row); i++)
		ADD(pair_row[i].name, signature_follows_row, &pair_row[i]);
	ADD("signature: stripping changes nothing", stripping_keeps_the_signature, NULL);
	ADD("signature: other files are refused", other_files_are_refused, NULL);
	ADD("signature: the PVH note is found", pvh_note_is_found, NULL);
	for (size_t i = 0; i < FB_ARRAY_SIZE(code_row); i++)
		ADD(code_row[i].name, code_follows_row, &code_row[i]);
	ADD("json: a spec survives, and is read strictly", spec_survives_json, NULL);
	ADD("json: a result survives, and is read strictly", result_survives_json, NULL);
	for (size_t i = 0; i < FB_ARRAY_SIZE(fragment); i++) {
		snprintf(names[i], sizeof(names[i]), "kconfigs: %s is documented", fragment[i]);
		ADD(names[i], fragment_is_documented, fragment[i]);
	}
	ADD("kconfigs: no two contradict each other", fragments_do_not_contradict_each_other, NULL);
	return _cmocka_run_group_tests("build", tests, nr, make_dir, remove_dir);
}
