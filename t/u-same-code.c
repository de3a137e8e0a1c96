/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Protects: a commit that changes no code has its parent's kernel, and noise never names it. */
#include "t/git-fixture.h"

#include <sys/stat.h>

#include "src/controller/bisect.h"
#include "src/controller/same-code.h"
#include "src/util/json.h"

static char dir[64], *start_dir;

static int setup(void **state)
{
	if (!start_dir)
		start_dir = getcwd(NULL, 0);
	snprintf(dir, sizeof(dir), "u-same-code.XXXXXX");
	return git_scratch_begin(dir) < 0 ? -1 : chdir(dir);
}

static int teardown(void **state)
{
	return git_scratch_end(start_dir, dir);
}

static void put(struct fb_str *s, const char *mode, const char *path, const char *text)
{
	fb_str_addf(s, "M %s inline %s\ndata %zu\n%s\n", mode, path, strlen(text), text);
}

static void commit(struct fb_str *s, unsigned i, unsigned parent)
{
	fb_str_addf(s,
		    "commit refs/heads/main\nmark :%u\ncommitter C <c@example.com> %u +0000\n"
		    "data 1\nx\n",
		    i, 1112911993 + i);
	if (parent)
		fb_str_addf(s, "from :%u\n", parent);
}

/* --- two commits --- */

struct row {
	const char *name, *mode, *path, *before, *after; /* NULL: not there */
	const char *also;				 /* another file, new in the child */
	bool same;
};

static const struct row rows[] = {
	{"a comment is no code", "100644", "fs/a.c", "f();\n", "/* why */\nf();\n", NULL, true},
	{"a statement is", "100644", "fs/a.c", "f();\n", "/* why */\ng();\n", NULL, false},
	{"documentation comes along", "100644", "fs/a.c", "f();\n", "/* why */\nf();\n",
	 "Documentation/a.rst", true},
	{"a makefile does not", "100644", "fs/a.c", "f();\n", "/* why */\nf();\n", "fs/Makefile",
	 false},
	{"Documentation/Kconfig is read with the others", "100644", "Documentation/Kconfig", "a\n",
	 "b\n", NULL, false},
	{"a selftest is in no kernel", "100755", "tools/testing/selftests/a.sh", "a\n", "b\n", NULL,
	 true},
	{"a program of the build is no selftest", "100644", "tools/objtool/a.c", "f();\n", "g();\n",
	 NULL, false},
	{"comments that name CPU features are data", "100644", "arch/x86/include/asm/cpufeatures.h",
	 "#define A 1 /* \"a\" */\n", "#define A 1 /* \"b\" */\n", NULL, false},
	{"what has a hash for comments is not read", "100644", "fs/Kconfig", "# a\n", "# b\n", NULL,
	 false},
	{"an added file is a change", "100644", "fs/a.c", NULL, "/* nothing */\n", NULL, false},
	{"a removed file is a change", "100644", "fs/a.c", "/* nothing */\n", NULL, NULL, false},
};

static void import_pair(const struct row *row)
{
	struct fb_str s = FB_STR_INIT;

	commit(&s, 1, 0);
	put(&s, "100644", "base", "\n");
	commit(&s, 2, 1);
	if (row->before)
		put(&s, row->mode, row->path, row->before);
	commit(&s, 3, 2);
	if (row->after)
		put(&s, row->mode, row->path, row->after);
	else
		fb_str_addf(&s, "D %s\n", row->path);
	if (row->also)
		put(&s, "100644", row->also, "text\n");
	git_import("repo", fb_str_cstr(&s));
	fb_str_release(&s);
}

/* The range main~N..main, and what is said of main. */
static int parent_of_main(const char *good_rev, bool *ret_is_parent)
{
	FB_CLEANUP(fb_history_freep) struct fb_history *h = NULL;
	FB_CLEANUP(fb_range_freep) struct fb_range *range = NULL;
	struct fb_error err = FB_ERROR_INIT;
	struct fb_oid good, bad, first_parent;
	uint32_t parent = UINT32_MAX;
	int rc;

	assert_ok(fb_history_open("repo", &h, &err), &err);
	assert_ok(fb_history_resolve(h, good_rev, &good, &err), &err);
	assert_ok(fb_history_resolve(h, "main", &bad, &err), &err);
	assert_ok(fb_history_resolve(h, "main^", &first_parent, &err), &err);
	assert_ok(fb_history_range(h, &bad, &good, 1, 0, &range, &err), &err);
	rc = fb_same_code_parent(h, range, range->bad, &parent, &err);
	assert_int_equal(err.code, FB_ERROR_NONE);
	*ret_is_parent = parent != UINT32_MAX && !strcmp(range->oid[parent].hex, first_parent.hex);
	return rc;
}

static void pair_follows_row(void **state)
{
	const struct row *row = *state;
	bool is_parent;

	import_pair(row);
	assert_int_equal(parent_of_main("main~2", &is_parent), row->same);
	assert_int_equal(is_parent, row->same);
	/* With the parent as the good end, too. */
	assert_int_equal(parent_of_main("main^", &is_parent), row->same);
}

static void a_changed_mode_is_a_change(void **state)
{
	struct fb_str s = FB_STR_INIT;
	bool is_parent;

	commit(&s, 1, 0);
	put(&s, "100644", "fs/a.c", "f();\n");
	commit(&s, 2, 1);
	put(&s, "100755", "fs/a.c", "f();\n");
	git_import("repo", fb_str_cstr(&s));
	fb_str_release(&s);
	assert_int_equal(parent_of_main("main^", &is_parent), 0);
}

static void a_link_is_no_source(void **state)
{
	struct fb_str s = FB_STR_INIT;
	bool is_parent;

	commit(&s, 1, 0);
	put(&s, "120000", "fs/a.c", "/*a*/");
	commit(&s, 2, 1);
	put(&s, "120000", "fs/a.c", "/*b*/");
	git_import("repo", fb_str_cstr(&s));
	fb_str_release(&s);
	assert_int_equal(parent_of_main("main^", &is_parent), 0);
}

static void merges_are_left_alone(void **state)
{
	struct fb_str s = FB_STR_INIT;
	bool is_parent;

	commit(&s, 1, 0);
	put(&s, "100644", "fs/a.c", "f();\n");
	commit(&s, 2, 1);
	put(&s, "100644", "fs/a.c", "g();\n");
	commit(&s, 3, 2);
	fb_str_add(&s, "merge :1\n");
	git_import("repo", fb_str_cstr(&s));
	fb_str_release(&s);
	assert_int_equal(parent_of_main("main^", &is_parent), 0);
}

/* --- a bisection --- */

#define NR   8
#define SAME 5 /* changes a comment only */
#define FROM 5 /* the first that is measured slower */

/*
 * Stands in for firstbad's jobs: an image is named by its tree, and speed.TREE says how fast it
 * is. The trees that were built are listed in ./built.
 */
static const char script[] =
	"#!/bin/sh\n"
	"cd \"$2\" || exit 8\n"
	"get() { sed -n 's|.*\"'\"$1\"'\": *\"\\{0,1\\}\\([^\",]*\\).*|\\1|p' job.json; }\n"
	"tree=$(get tree_id)\n"
	"if [ -n \"$tree\" ]; then\n"
	"	echo \"$tree\" >>../../built\n"
	"	printf '{\"ok\": {\"outcome\": \"ok\", \"image\": {\"dir\": \"/d\", \"key\": "
	"\"k\", '\n"
	"	printf '\"signature\": \"%s\", \"vmlinux\": \"/images/%s\", ' \\\n"
	"		\"$tree$(cat ../../salt)\" \"$tree\"\n"
	"	printf '\"bzimage\": null, \"config\": \"/c\", \"modules\": null, \"release\": "
	"\"6\", '\n"
	"	printf '\"toolchain\": \"t\", \"pvh\": true}, \"log\": \"/l\", \"wall_ns\": 1, '\n"
	"	printf '\"cpu_ns\": 1, \"cached\": false}}'\n"
	"else\n"
	"	tree=$(get vmlinux) && tree=${tree##*/}\n"
	"	speed=$(awk -v s=\"$(cat \"../../speed.$tree\")\" -v n=\"$(get seed)\" \\\n"
	"		'BEGIN { print s * (1 + ((n * 7919) % 13 - 6) / 600) }')\n"
	"	printf '{\"ok\": {\"end\": \"ok\", \"runs\": [{\"cell\": 0, \"end\": \"ok\", "
	"\"status\": 0, '\n"
	"	printf '\"out\": \"firstbad: score %s\\\\n\", \"err\": \"\", ' \"$speed\"\n"
	"	printf '\"counters\": {}}], \"wall_ns\": 1, \"first_line_ns\": 1, \"agent_ns\": 1, "
	"'\n"
	"	printf '\"setup_ns\": 1, \"guest_ns\": 1}}'\n"
	"fi >result.json\n";

static const char qemu[] = "#!/bin/sh\necho QEMU emulator version 7.2.0\n";

static const char plan_text[] = "machine: deterministic\n"
				"kconfig: [tiny]\n"
				"min_effect: 5%\n"
				"boots: {min: 3, max: 30}\n"
				"matrix:\n"
				"  - testcase: command\n"
				"    command: score\n";

static void write_program(const char *path, const char *text)
{
	struct fb_error err = FB_ERROR_INIT;

	assert_ok(fb_file_write(path, text, strlen(text), &err), &err);
	assert_int_equal(chmod(path, 0755), 0);
}

static void make_world(void)
{
	FB_CLEANUP(fb_freep) char *here = realpath(".", NULL);
	FB_CLEANUP(fb_freep) char *path = fb_xasprintf("%s/bin:%s", here, getenv("PATH"));
	struct fb_error err = FB_ERROR_INIT;
	struct fb_str s = FB_STR_INIT;

	for (unsigned i = 1; i <= NR; i++) {
		FB_CLEANUP(fb_freep)
		char *text = fb_xasprintf("/* %u */\nint v = %u;\n", i, i == SAME ? i - 1 : i);

		commit(&s, i, i - 1);
		put(&s, "100644", "kernel/a.c", text);
	}
	git_import("repo", fb_str_cstr(&s));
	fb_str_release(&s);
	assert_ok(fb_mkdirs("bin", &err), &err);
	assert_ok(fb_mkdirs("jobs", &err), &err);
	write_program("bin/qemu-system-x86_64", qemu);
	write_program("self", script);
	assert_ok(fb_file_write("salt", "", 0, &err), &err);
	setenv("PATH", path, 1);
	for (unsigned i = 1; i <= NR; i++) {
		FB_CLEANUP(fb_freep) char *rev = fb_xasprintf("main~%u^{tree}", NR - i);
		FB_CLEANUP(fb_freep) char *tree = git_out("repo", "rev-parse", rev);
		FB_CLEANUP(fb_freep) char *file = fb_xasprintf("speed.%s", tree);
		const char *speed = i < FROM ? "100" : "80";

		assert_ok(fb_file_write(file, speed, strlen(speed), &err), &err);
	}
}

static char told[512];

static void tell(void *ctx, const struct fb_progress *p)
{
	if (p->text)
		snprintf(told, sizeof(told), "%s", p->text);
}

static struct fb_lab *make_lab(struct fb_store *store, struct fb_history *history,
			       const struct fb_plan *plan, const struct fb_session *session)
{
	FB_CLEANUP(fb_freep) char *here = realpath(".", NULL);
	FB_CLEANUP(fb_freep) char *self = fb_xasprintf("%s/self", here);
	FB_CLEANUP(fb_freep) char *wt = fb_xasprintf("%s/wt/src", here);
	struct fb_lab *lab = fb_xcalloc(1, sizeof(*lab));
	struct fb_error err = FB_ERROR_INIT;

	*lab = (struct fb_lab){.store = store,
			       .history = history,
			       .plan = plan,
			       .session = session->id,
			       .machine = FB_MACHINE_DETERMINISTIC,
			       .session_name = fb_xstrdup(session->name),
			       .cache = fb_xasprintf("%s/cache", here),
			       .jobs_dir = fb_xasprintf("%s/jobs", here),
			       .slots = 2,
			       .make_jobs = 1,
			       .observer.tell = tell};
	assert_ok(fb_mkdirs("wt", &err), &err);
	assert_ok(fb_engine_local(self, 2, FB_PROC_FENCE_NONE, &lab->engine, &err), &err);
	assert_ok(fb_worktree_open(history, wt, &lab->wt, &err), &err);
	return lab;
}

struct world {
	struct fb_store *store;
	struct fb_history *history;
	struct fb_plan *plan;
	struct fb_session session;
	struct fb_lab *lab;
};

static void open_world(struct world *w)
{
	FB_CLEANUP(fb_freep) char *kconfigs = fb_xasprintf("%s/kconfigs", test_srcdir());
	struct fb_bisect_args args = {.cell = 0, .metric = "score", .nr_good = 1};
	struct fb_error err = FB_ERROR_INIT;
	struct fb_oid good;

	make_world();
	*w = (struct world){0};
	assert_ok(
		fb_plan_parse(plan_text, strlen(plan_text), "plan.yaml", kconfigs, &w->plan, &err),
		&err);
	assert_ok(fb_store_open("store.db", &w->store, &err), &err);
	assert_ok(fb_history_open("repo", &w->history, &err), &err);
	assert_ok(fb_history_resolve(w->history, "main~7", &good, &err), &err);
	assert_ok(fb_history_resolve(w->history, "main", &args.bad, &err), &err);
	args.good = &good;
	assert_ok(fb_bisect_begin(w->store, w->history, w->plan, &args, &w->session, &err), &err);
	w->lab = make_lab(w->store, w->history, w->plan, &w->session);
}

static void close_world(struct world *w)
{
	fb_lab_free(w->lab);
	fb_session_release(&w->session);
	fb_plan_free(w->plan);
	fb_history_free(w->history);
	fb_store_free(w->store);
}

/* What was measured says that the commented commit is the step; only the next one can be it. */
static void noise_does_not_name_a_comment(void **state)
{
	FB_CLEANUP(fb_str_release) struct fb_str built = FB_STR_INIT;
	FB_CLEANUP(fb_freep) char *tree = NULL, *next = NULL;
	struct fb_error err = FB_ERROR_INIT;
	struct fb_bisect *b;
	struct world w;

	open_world(&w);
	assert_ok(fb_bisect_load(w.store, w.history, w.plan, &w.session, &b, &err), &err);
	assert_ok(fb_bisect_run(b, w.lab, &err), &err);
	assert_string_equal(fb_json_str(b->session.verdict, "verdict"), "found");
	next = git_out("repo", "rev-parse", "main~2");
	assert_string_equal(fb_json_str(b->session.verdict, "commit"), next);
	/* It was not even built. */
	tree = git_out("repo", "rev-parse", "main~3^{tree}");
	assert_ok(fb_file_read("built", 1 << 20, &built, &err), &err);
	assert_null(strstr(fb_str_cstr(&built), tree));
	fb_bisect_free(b);
	close_world(&w);
}

static void build_bad(struct world *w, const char *want)
{
	struct fb_lab_kernel kernel;
	struct fb_error err = FB_ERROR_INIT;
	struct fb_oid bad;

	told[0] = '\0';
	assert_ok(fb_history_resolve(w->history, "main", &bad, &err), &err);
	assert_ok(fb_lab_kernel(w->lab, &bad, &kernel, &err), &err);
	fb_lab_kernel_release(&kernel);
	assert_contains(told, want);
}

static void a_build_that_is_not_reproducible_is_told(void **state)
{
	struct fb_error err = FB_ERROR_INIT;
	struct world w;

	open_world(&w);
	build_bad(&w, "building ");
	build_bad(&w, "building ");
	assert_ok(fb_file_write("salt", "x", 1, &err), &err);
	build_bad(&w, "builds another kernel than it did before");
	/* Once is enough. */
	build_bad(&w, "building ");
	close_world(&w);
}

#define ADD(row_name, fn, row_state)                                                               \
	tests[nr++] = (struct CMUnitTest)                                                          \
	{                                                                                          \
		row_name, fn, setup, teardown, (void *)(uintptr_t)(row_state)                      \
	}

int main(void)
{
	static struct CMUnitTest tests[FB_ARRAY_SIZE(rows) + 8];
	size_t nr = 0;

	for (size_t i = 0; i < FB_ARRAY_SIZE(rows); i++)
		ADD(rows[i].name, pair_follows_row, &rows[i]);
	ADD("a changed mode is a change", a_changed_mode_is_a_change, NULL);
	ADD("a link is no source", a_link_is_no_source, NULL);
	ADD("merges are left alone", merges_are_left_alone, NULL);
	ADD("noise does not name a commit that changes a comment", noise_does_not_name_a_comment,
	    NULL);
	ADD("a build that is not reproducible is told", a_build_that_is_not_reproducible_is_told,
	    NULL);
	return _cmocka_run_group_tests("same-code", tests, nr, NULL, NULL);
}
