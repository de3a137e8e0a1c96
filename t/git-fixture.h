/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Git repositories for tests. Those of t/data/history/NAME.fi are text for git fast-import:
 * the same text gives the same object ids everywhere.
 */
#ifndef FB_T_GIT_FIXTURE_H
#define FB_T_GIT_FIXTURE_H

#include "t/test.h"

#include <unistd.h>

#include "src/util/file.h"
#include "src/util/proc.h"
#include "src/util/util.h"

/*
 * libgit2 1.5.1 leaks the match data of pcre2 whenever a regular expression does not match:
 * git_revparse_single() tries one on each name that it does not know otherwise. It also leaks
 * the ref whose object it cannot read.
 */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
	return "leak:libpcre2\nleak:git_revparse\n";
}

/* That is seen only by walking the stack with its unwind tables: libgit2 keeps no frame pointers.
 */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "fast_unwind_on_malloc=0";
}

/** git_env() - Keep the user's settings out, for git and for libgit2; @home must exist. */
static inline void git_env(const char *home)
{
	static const char *const unset[] = {"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE",
					    "GIT_CONFIG_COUNT", "GIT_CONFIG_PARAMETERS"};
	char *real = realpath(home, NULL);

	assert_non_null(real);
	for (size_t i = 0; i < FB_ARRAY_SIZE(unset); i++)
		unsetenv(unset[i]);
	setenv("HOME", real, 1);
	setenv("XDG_CONFIG_HOME", real, 1);
	setenv("GIT_CONFIG_NOSYSTEM", "1", 1);
	setenv("GIT_AUTHOR_NAME", "A U Thor", 1);
	setenv("GIT_AUTHOR_EMAIL", "author@example.com", 1);
	setenv("GIT_AUTHOR_DATE", "1112911993 +0000", 1);
	setenv("GIT_COMMITTER_NAME", "C O Mitter", 1);
	setenv("GIT_COMMITTER_EMAIL", "committer@example.com", 1);
	setenv("GIT_COMMITTER_DATE", "1112911993 +0000", 1);
	setenv("LC_ALL", "C", 1);
	free(real);
}

/**
 * git_scratch_begin() - A new directory for a test, with no settings of the user.
 * @dir: "NAME.XXXXXX", becomes its name, relative to where the test began.
 */
static inline int git_scratch_begin(char *dir)
{
	if (!mkdtemp(dir))
		return -1;
	git_env(dir);
	return 0;
}

/** git_scratch_end() - Remove it, wherever the test is. @start: where it began. */
static inline int git_scratch_end(const char *start, const char *dir)
{
	struct fb_error err = FB_ERROR_INIT;

	return chdir(start) < 0 || fb_remove_tree(dir, &err);
}

/** git_try() - Run git in @dir; its exit status. *ret_out (or NULL) is its output, owned. */
static inline int git_try(const char *dir, const char *in, char **ret_out, const char *const *args)
{
	struct fb_error err = FB_ERROR_INIT;
	struct fb_proc_result result;
	struct fb_proc_spec spec = {.dir = dir, .stdin_data = in, .capture_max = 64u << 20};
	char **argv = NULL;
	int status;

	fb_strv_add(&argv, "git");
	for (; *args; args++)
		fb_strv_add(&argv, *args);
	spec.argv = (const char *const *)argv;
	assert_ok(fb_proc_run(&spec, &result, &err), &err);
	assert_int_equal(result.end, FB_PROC_EXITED);
	status = result.status;
	if (status && !ret_out)
		fprintf(stderr, "# git %s: %s\n", argv[1], fb_str_cstr(&result.err));
	if (ret_out)
		*ret_out = fb_str_take(&result.out);
	fb_proc_result_release(&result);
	fb_strvp(&argv);
	return status;
}

#define git_args(...) ((const char *const[]){__VA_ARGS__, NULL})

/** git_run() - Run git in @dir; it must succeed. */
#define git_run(dir, ...) assert_int_equal(git_try(dir, NULL, NULL, git_args(__VA_ARGS__)), 0)

/** git_out() - The output of git, without the newline at its end; owned. */
static inline char *git_out_of(const char *dir, const char *in, const char *const *args)
{
	char *out;
	size_t len;

	assert_int_equal(git_try(dir, in, &out, args), 0);
	len = strlen(out);
	if (len && out[len - 1] == '\n')
		out[len - 1] = '\0';
	return out;
}
#define git_out(dir, ...) git_out_of(dir, NULL, git_args(__VA_ARGS__))

/** git_import() - A new repository @dir from fast-import text; "main" is checked out. */
static inline void git_import(const char *dir, const char *text)
{
	git_run(".", "init", "-q", "-b", "main", dir);
	assert_int_equal(git_try(dir, text, NULL, git_args("fast-import", "--quiet", "--force")),
			 0);
	git_run(dir, "reset", "-q", "--hard", "main");
}

/** git_history() - A new repository @dir from t/data/history/@name.fi. */
static inline void git_history(const char *dir, const char *name)
{
	struct fb_error err = FB_ERROR_INIT;
	struct fb_str text = FB_STR_INIT;
	char *path = fb_xasprintf("%s/t/data/history/%s.fi", test_srcdir(), name);

	assert_ok(fb_file_read(path, 64u << 20, &text, &err), &err);
	git_import(dir, fb_str_cstr(&text));
	fb_str_release(&text);
	free(path);
}

#endif
