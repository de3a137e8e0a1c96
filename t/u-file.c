/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Protects: a file is written whole or not at all, a full disk included, and trees go whole. */
#include "t/test.h"

#include <dirent.h>
#include <errno.h>
#include <pwd.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/util/dirs.h"
#include "src/util/file.h"
#include "src/util/hash.h"
#include "src/util/util.h"

static char dir[] = "/tmp/u-file.XXXXXX";

static char *in_dir(const char *name)
{
	return fb_xasprintf("%s/%s", dir, name);
}

static int nr_entries(const char *path)
{
	DIR *d = opendir(path);
	int n = 0;

	assert_non_null(d);
	for (struct dirent *e; (e = readdir(d));)
		n += strcmp(e->d_name, ".") && strcmp(e->d_name, "..");
	closedir(d);
	return n;
}

static void what_was_written_is_read_back(void **state)
{
	static const char data[] = "a\0b\n";
	char *path = in_dir("f");
	struct fb_str s = FB_STR_INIT;
	struct fb_error err = FB_ERROR_INIT;
	struct stat st;

	assert_ok(fb_file_write(path, data, sizeof(data), &err), &err);
	assert_ok(fb_file_read(path, sizeof(data), &s, &err), &err);
	assert_int_equal(s.len, sizeof(data));
	assert_memory_equal(s.buf, data, sizeof(data));
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0644);
	assert_ok(fb_file_write(path, "new", 3, &err), &err);
	s.len = 0;
	assert_ok(fb_file_read(path, 3, &s, &err), &err);
	assert_int_equal(s.len, 3);
	fb_str_release(&s);
	free(path);
}

static void a_file_over_the_limit_is_an_error(void **state)
{
	char *path = in_dir("big");
	struct fb_str s = FB_STR_INIT;
	struct fb_error err = FB_ERROR_INIT;

	assert_ok(fb_file_write(path, "12345", 5, &err), &err);
	assert_int_equal(fb_file_read(path, 4, &s, &err), -1);
	assert_error(&err, FB_ERROR_INPUT, "larger than 4 bytes");
	fb_str_release(&s);
	free(path);
}

static void reading_what_is_no_file_fails(void **state)
{
	struct fb_str s = FB_STR_INIT;
	struct fb_error err = FB_ERROR_INIT;

	assert_int_equal(fb_file_read("/no/such", 10, &s, &err), -1);
	assert_int_equal(err.sys, ENOENT);
	fb_error_clear(&err);
	assert_int_equal(fb_file_read(dir, 10, &s, &err), -1);
	assert_int_equal(err.sys, EISDIR);
	fb_error_clear(&err);
	fb_str_release(&s);
}

/* A FIFO without a writer would be waited for. */
static void reading_what_is_no_regular_file_fails_at_once(void **state)
{
	char *path = in_dir("fifo"), *to = in_dir("to"), hash[FB_HASH_HEX_SIZE];
	struct fb_str s = FB_STR_INIT;
	struct fb_error err = FB_ERROR_INIT;

	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(fb_file_read(path, 10, &s, &err), -1);
	assert_error(&err, FB_ERROR_INPUT, "fifo' is not a regular file");
	assert_int_equal(fb_file_copy(path, to, &err), -1);
	assert_error(&err, FB_ERROR_INPUT, "fifo' is not a regular file");
	assert_int_equal(fb_hash_file(path, hash, &err), -1);
	assert_error(&err, FB_ERROR_INPUT, "fifo' is not a regular file");
	assert_int_equal(fb_file_read("/dev/zero", 10, &s, &err), -1);
	assert_error(&err, FB_ERROR_INPUT, "'/dev/zero' is not a regular file");
	assert_int_equal(unlink(path), 0);
	fb_str_release(&s);
	free(path);
	free(to);
}

/* In a mount namespace of its own: a tmpfs of 64 KiB. Exit status 0 when all held, 77: no right. */
static int on_a_full_disk(void)
{
	char *mnt = in_dir("mnt"), *path = in_dir("mnt/f"), *copy = in_dir("mnt/g");
	char *big = fb_xcalloc(1, 1 << 20), *source = in_dir("source");
	struct fb_str s = FB_STR_INIT;
	struct fb_error err = FB_ERROR_INIT;

	if (mkdir(mnt, 0755) < 0)
		return 1;
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("none", mnt, "tmpfs", 0, "size=64k") < 0)
		return 77;
	if (fb_file_write(path, "old", 3, &err) < 0)
		return 2;
	if (fb_file_write(path, big, 1 << 20, &err) == 0 || err.code != FB_ERROR_SYSTEM ||
	    err.sys != ENOSPC || !strstr(err.text, "mnt/f"))
		return 3;
	fb_error_clear(&err);
	if (fb_file_read(path, 10, &s, &err) < 0 || strcmp(s.buf, "old"))
		return 4;
	if (nr_entries(mnt) != 1)
		return 5;
	if (fb_file_write(source, big, 1 << 20, &err) < 0)
		return 6;
	if (fb_file_copy(source, copy, &err) == 0 || err.sys != ENOSPC || nr_entries(mnt) != 1)
		return 7;
	/* There is room again: the failure left nothing open that holds it. */
	fb_error_clear(&err);
	return fb_file_write(copy, big, 40000, &err) < 0 ? 8 : 0;
}

static void a_full_disk_leaves_the_old_file_and_nothing_else(void **state)
{
	int status;
	pid_t pid = fork();

	if (pid == 0)
		_exit(on_a_full_disk());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77) {
		print_message("# not tried: mounting a tmpfs is not allowed here\n");
		return;
	}
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void copies_keep_contents_and_mode(void **state)
{
	char *from = in_dir("from"), *to = in_dir("to");
	struct fb_error err = FB_ERROR_INIT;
	struct stat st;
	struct fb_str s = FB_STR_INIT;

	assert_ok(fb_file_write(from, "x", 1, &err), &err);
	assert_int_equal(chmod(from, 0750), 0);
	assert_ok(fb_file_copy(from, to, &err), &err);
	assert_int_equal(stat(to, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0750);
	assert_ok(fb_file_read(to, 10, &s, &err), &err);
	assert_string_equal(fb_str_cstr(&s), "x");
	assert_int_equal(fb_file_copy("/no/such", to, &err), -1);
	assert_error(&err, FB_ERROR_SYSTEM, "/no/such");
	fb_str_release(&s);
	free(from);
	free(to);
}

static void directories_are_made_once_and_not_over_a_file(void **state)
{
	char *deep = in_dir("a/b/c"), *slash = in_dir("a/b/d/"), *file = in_dir("a/file");
	char *below = in_dir("a/file/x");
	struct fb_error err = FB_ERROR_INIT;
	struct stat st;

	assert_ok(fb_mkdirs(deep, &err), &err);
	assert_ok(fb_mkdirs(deep, &err), &err);
	assert_int_equal(stat(deep, &st), 0);
	assert_true(S_ISDIR(st.st_mode));
	assert_ok(fb_mkdirs(slash, &err), &err);
	assert_ok(fb_mkdirs("/", &err), &err);
	assert_ok(fb_file_write(file, "", 0, &err), &err);
	assert_int_equal(fb_mkdirs(file, &err), -1);
	assert_int_equal(err.sys, ENOTDIR);
	fb_error_clear(&err);
	assert_int_equal(fb_mkdirs(below, &err), -1);
	assert_int_equal(err.sys, ENOTDIR);
	fb_error_clear(&err);
	assert_int_equal(fb_mkdirs("", &err), -1);
	fb_error_clear(&err);
	free(deep);
	free(slash);
	free(file);
	free(below);
}

static void a_tree_goes_whole_and_links_are_not_followed(void **state)
{
	char *tree = in_dir("tree"), *sub = in_dir("tree/sub/sub"), *f = in_dir("tree/sub/f");
	char *kept = in_dir("kept"), *kept_file = in_dir("kept/file"), *link = in_dir("tree/link");
	struct fb_error err = FB_ERROR_INIT;

	assert_ok(fb_mkdirs(sub, &err), &err);
	assert_ok(fb_mkdirs(kept, &err), &err);
	assert_ok(fb_file_write(f, "", 0, &err), &err);
	assert_ok(fb_file_write(kept_file, "", 0, &err), &err);
	assert_int_equal(symlink(kept, link), 0);
	assert_ok(fb_remove_tree(tree, &err), &err);
	assert_int_equal(access(tree, F_OK), -1);
	assert_int_equal(access(kept_file, F_OK), 0);
	assert_ok(fb_remove_tree(tree, &err), &err);
	assert_ok(fb_remove_tree(kept_file, &err), &err);
	assert_int_equal(access(kept_file, F_OK), -1);
	free(tree);
	free(sub);
	free(f);
	free(kept);
	free(kept_file);
	free(link);
}

static void two_may_remove_one_tree(void **state)
{
	char *tree = in_dir("shared");
	struct fb_error err = FB_ERROR_INIT;
	int status;
	pid_t pid;

	for (int i = 0; i < 400; i++) {
		char *sub = fb_xasprintf("%s/%d/x", tree, i);

		assert_ok(fb_mkdirs(sub, &err), &err);
		free(sub);
	}
	pid = fork();
	if (pid == 0)
		_exit(fb_remove_tree(tree, &err) < 0);
	assert_ok(fb_remove_tree(tree, &err), &err);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(access(tree, F_OK), -1);
	free(tree);
}

static void xdg_directories_are_followed_when_absolute(void **state)
{
	char *p;

	setenv("HOME", "/h", 1);
	setenv("XDG_CACHE_HOME", "/c", 1);
	setenv("XDG_DATA_HOME", "relative", 1);
	p = fb_dir_cache();
	assert_string_equal(p, "/c/firstbad");
	free(p);
	p = fb_dir_data();
	assert_string_equal(p, "/h/.local/share/firstbad");
	free(p);
	unsetenv("XDG_CACHE_HOME");
	p = fb_dir_cache();
	assert_string_equal(p, "/h/.cache/firstbad");
	free(p);
}

/* uid 12345 stands in no passwd; 0 and 65534 do everywhere. */
static void without_home_the_directory_of_the_user_is_taken(void **state)
{
	pid_t pid;
	int status;

	if (geteuid() != 0)
		skip();
	pid = fork();
	if (pid == 0) {
		struct fb_error err = FB_ERROR_INIT;
		FB_CLEANUP(fb_freep) char *p = NULL, *want = NULL;

		unsetenv("HOME");
		unsetenv("XDG_CACHE_HOME");
		unsetenv("XDG_DATA_HOME");
		want = fb_xasprintf("%s/.cache/firstbad", getpwuid(0)->pw_dir);
		p = fb_dir_cache();
		if (fb_dirs_check(&err) < 0 || strcmp(p, want) != 0)
			_exit(1);
		if (setresuid(12345, 12345, 12345) < 0 || fb_dirs_check(&err) == 0 ||
		    !strstr(err.text, "user 12345 has no home directory: set HOME"))
			_exit(2);
		setenv("XDG_CACHE_HOME", "/c", 1);
		fb_error_clear(&err);
		if (fb_dirs_check(&err) == 0)
			_exit(3);
		setenv("XDG_DATA_HOME", "/d", 1);
		fb_error_clear(&err);
		_exit(fb_dirs_check(&err) == 0 ? 0 : 4);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void a_file_hash_is_that_of_sha256sum(void **state)
{
	char *path = in_dir("abc");
	char hex[FB_HASH_HEX_SIZE];
	struct fb_error err = FB_ERROR_INIT;

	assert_ok(fb_file_write(path, "abc", 3, &err), &err);
	assert_ok(fb_hash_file(path, hex, &err), &err);
	/* FIPS 180-2, appendix B.1 */
	assert_string_equal(hex,
			    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	assert_int_equal(fb_hash_file("/no/such", hex, &err), -1);
	assert_error(&err, FB_ERROR_SYSTEM, "/no/such");
	free(path);
}

static void hash_of(char ret[FB_HASH_HEX_SIZE], const char *a, const char *b)
{
	struct fb_hash h;

	fb_hash_init(&h);
	fb_hash_add_str(&h, a);
	fb_hash_add_str(&h, b);
	fb_hash_hex(&h, ret);
}

static void hashed_fields_do_not_run_together(void **state)
{
	char one[FB_HASH_HEX_SIZE], two[FB_HASH_HEX_SIZE];

	hash_of(one, "ab", "c");
	hash_of(two, "ab", "c");
	assert_string_equal(one, two);
	hash_of(two, "a", "bc");
	assert_string_not_equal(one, two);
	hash_of(one, "", "x");
	hash_of(two, NULL, "x");
	assert_string_not_equal(one, two);
}

static int setup(void **state)
{
	return mkdtemp(dir) ? 0 : -1;
}

static int teardown(void **state)
{
	struct fb_error err = FB_ERROR_INIT;

	return fb_remove_tree(dir, &err);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_written_is_read_back),
		cmocka_unit_test(a_file_over_the_limit_is_an_error),
		cmocka_unit_test(reading_what_is_no_file_fails),
		cmocka_unit_test(reading_what_is_no_regular_file_fails_at_once),
		cmocka_unit_test(a_full_disk_leaves_the_old_file_and_nothing_else),
		cmocka_unit_test(copies_keep_contents_and_mode),
		cmocka_unit_test(directories_are_made_once_and_not_over_a_file),
		cmocka_unit_test(a_tree_goes_whole_and_links_are_not_followed),
		cmocka_unit_test(two_may_remove_one_tree),
		cmocka_unit_test(xdg_directories_are_followed_when_absolute),
		cmocka_unit_test(without_home_the_directory_of_the_user_is_taken),
		cmocka_unit_test(a_file_hash_is_that_of_sha256sum),
		cmocka_unit_test(hashed_fields_do_not_run_together),
	};

	return cmocka_run_group_tests_name("file", tests, setup, teardown);
}
