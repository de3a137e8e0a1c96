/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Protects the user's repository from us, and our worktree from everything else: whatever was
 * killed, left behind or configured, a checkout gives exactly the tree of the commit.
 */
#include "t/git-fixture.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "src/history/history.h"
#include "src/util/hash.h"

static char *start_dir, *scratch, *repo, *wt_path;

static char *under(const char *dir, const char *name)
{
	return fb_xasprintf("%s/%s", dir, name);
}

/* Each test has a scratch directory with a place for the user's repository and for a worktree. */
static int setup(void **state)
{
	char name[] = "u-worktree.XXXXXX";

	if (!start_dir)
		start_dir = getcwd(NULL, 0);
	if (!mkdtemp(name))
		return -1;
	scratch = under(start_dir, name);
	repo = under(scratch, "repo");
	wt_path = under(scratch, "work/tree");
	git_env(scratch);
	return 0;
}

static int teardown(void **state)
{
	struct fb_error err = FB_ERROR_INIT;
	int rc = chdir(start_dir) < 0 || fb_remove_tree(scratch, &err);

	free(scratch);
	free(repo);
	free(wt_path);
	return rc;
}

static void write_file(const char *dir, const char *name, const char *text)
{
	struct fb_error err = FB_ERROR_INIT;
	char *path = under(dir, name), *slash = strrchr(path, '/');

	*slash = '\0';
	assert_ok(fb_mkdirs(path, &err), &err);
	*slash = '/';
	assert_ok(fb_file_write(path, text, strlen(text), &err), &err);
	free(path);
}

static bool exists(const char *dir, const char *name)
{
	char *path = under(dir, name);
	struct stat st;
	bool there = lstat(path, &st) == 0;

	free(path);
	return there;
}

static struct fb_history *open_history(void)
{
	struct fb_error err = FB_ERROR_INIT;
	struct fb_history *h;

	assert_ok(fb_history_open(repo, &h, &err), &err);
	return h;
}

static struct fb_worktree *open_worktree(struct fb_history *h)
{
	struct fb_error err = FB_ERROR_INIT;
	struct fb_worktree *wt;

	assert_ok(fb_worktree_open(h, wt_path, &wt, &err), &err);
	assert_string_equal(fb_worktree_path(wt), wt_path);
	return wt;
}

static void checkout(struct fb_history *h, struct fb_worktree *wt, const char *rev)
{
	struct fb_error err = FB_ERROR_INIT;
	struct fb_oid oid;

	assert_ok(fb_history_resolve(h, rev, &oid, &err), &err);
	assert_ok(fb_worktree_checkout(wt, &oid, &err), &err);
}

/* The registration of the worktree; there is one, apart from beginnings that git ignores. */
static char *admin_dir(void)
{
	char *all = under(repo, ".git/worktrees"), *found = NULL;
	DIR *dir = opendir(all);

	assert_non_null(dir);
	for (struct dirent *d; (d = readdir(dir));)
		if (d->d_name[0] != '.') {
			char *admin = under(all, d->d_name);

			if (!exists(admin, "gitdir")) {
				free(admin);
				continue;
			}
			assert_null(found);
			found = admin;
		}
	closedir(dir);
	free(all);
	assert_non_null(found);
	return found;
}

/*
 * The tree of @rev and nothing else, by a repository that has none of the user's settings:
 * what `git add -A` makes of the directory is the tree object itself.
 */
static void assert_tree(const char *path, const char *rev)
{
	char *oracle = under(scratch, "oracle.git"), *index = under(scratch, "oracle.index");
	char *objects = fb_xasprintf("%s/.git/objects\n", repo), *work, *got, *want, *spec;

	if (access(oracle, F_OK) < 0) {
		git_run(scratch, "init", "-q", "--bare", "oracle.git");
		write_file(oracle, "objects/info/alternates", objects);
	}
	unlink(index);
	setenv("GIT_INDEX_FILE", index, 1);
	setenv("GIT_CONFIG_GLOBAL", "/dev/null", 1);
	work = fb_xasprintf("--work-tree=%s", path);
	git_run(path, "--git-dir", oracle, work, "add", "-A", "-f", ".");
	got = git_out(path, "--git-dir", oracle, work, "write-tree");
	unsetenv("GIT_INDEX_FILE");
	unsetenv("GIT_CONFIG_GLOBAL");
	spec = fb_xasprintf("%s^{tree}", rev);
	want = git_out(repo, "rev-parse", spec);
	if (strcmp(got, want))
		fail_msg("%s is tree %s, not %s of %s", path, got, want, rev);
	free(oracle);
	free(index);
	free(objects);
	free(work);
	free(got);
	free(want);
	free(spec);
}

static void assert_clean(const char *path, const char *rev)
{
	char *out = git_out(path, "--no-optional-locks", "status", "--porcelain", "--ignored",
			    "--untracked-files=all");
	char *head = git_out(path, "rev-parse", "HEAD"), *want = git_out(repo, "rev-parse", rev);
	char *branch = NULL;

	assert_string_equal(out, "");
	assert_string_equal(head, want);
	assert_int_not_equal(git_try(path, NULL, &branch, git_args("symbolic-ref", "-q", "HEAD")),
			     0);
	free(branch);
	free(out);
	free(head);
	free(want);
	assert_tree(path, rev);
}

/* A fingerprint of the user's side: .git without worktrees/ and objects/, and the checkout. */

static struct fb_str *print_to;
static size_t print_skip; /* length of the prefix that is left out */
static bool print_git_side;

static int print_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	const char *name = path + print_skip;
	struct fb_error err = FB_ERROR_INIT;
	char hash[FB_HASH_HEX_SIZE] = "-";

	if (print_git_side && (fb_str_has_prefix(name, "/.git/worktrees") ||
			       fb_str_has_prefix(name, "/.git/objects")))
		return 0;
	if (type == FTW_F)
		assert_ok(fb_hash_file(path, hash, &err), &err);
	/* A directory's times change with worktrees/ next to it; a file's must not. */
	fb_str_addf(print_to, "%s %o", name, st->st_mode);
	if (type != FTW_D)
		fb_str_addf(print_to, " %lu %lld.%09ld %s", (unsigned long)st->st_ino,
			    (long long)st->st_mtim.tv_sec, st->st_mtim.tv_nsec, hash);
	fb_str_addc(print_to, '\n');
	return 0;
}

static int compare_strings(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* One line a file, sorted; owned vector. */
static char **fingerprint(const char *dir, bool git_side)
{
	struct fb_str s = FB_STR_INIT;
	char **lines = NULL, *save = NULL, *copy;

	print_to = &s;
	print_skip = strlen(dir);
	print_git_side = git_side;
	assert_int_equal(nftw(dir, print_one, 32, FTW_PHYS), 0);
	copy = fb_str_take(&s);
	for (char *l = strtok_r(copy, "\n", &save); l; l = strtok_r(NULL, "\n", &save))
		fb_strv_add(&lines, l);
	qsort(lines, fb_strv_len(lines), sizeof(*lines), compare_strings);
	free(copy);
	return lines;
}

struct user {
	char **files, *status, *refs;
};

static struct user user_state(void)
{
	return (struct user){
		.files = fingerprint(repo, true),
		.status = git_out(repo, "--no-optional-locks", "status", "--porcelain=v2",
				  "--branch"),
		.refs = git_out(repo, "for-each-ref"),
	};
}

static void assert_user_unchanged(struct user *before)
{
	struct user now = user_state();
	size_t n = fb_strv_len(before->files), m = fb_strv_len(now.files);

	for (size_t i = 0; i < n && i < m; i++)
		assert_string_equal(now.files[i], before->files[i]);
	assert_int_equal(n, m);
	assert_string_equal(now.status, before->status);
	assert_string_equal(now.refs, before->refs);
	for (struct user *u = before; u; u = u == before ? &now : NULL) {
		fb_strvp(&u->files);
		free(u->status);
		free(u->refs);
	}
}

/* Checkouts */

static void checkout_makes_the_tree_of_any_commit(void **state)
{
	static const char *const revs[] = {"c-0-0", "c-4-4", "c-2-1", "c-2-1",
					   "c-0-4", "c-4-0", "main"};
	struct fb_history *h;
	struct fb_worktree *wt;

	git_history(repo, "grid-5x5");
	h = open_history();
	wt = open_worktree(h);
	for (size_t i = 0; i < FB_ARRAY_SIZE(revs); i++) {
		checkout(h, wt, revs[i]);
		assert_clean(wt_path, revs[i]);
	}
	fb_worktree_free(wt);
	fb_history_free(h);
}

static void import_commit(struct fb_str *s, const char *ref, unsigned mark, unsigned from)
{
	fb_str_addf(s, "%scommit %s\nmark :%u\ncommitter C <c@example.com> %u +0000\ndata 0\n",
		    s->len ? "\n" : "", ref, mark, mark * 100);
	if (from)
		fb_str_addf(s, "from :%u\n", from);
}

static void import_file(struct fb_str *s, const char *mode, const char *name, const char *text)
{
	fb_str_addf(s, "M %s inline %s\ndata %zu\n%s\n", mode, name, strlen(text), text);
}

/* Three neighbours of @nr files as the kernel has them: everything ignored, symlinks, modes. */
static void make_kernel(unsigned nr)
{
	struct fb_str s = FB_STR_INIT;
	char name[40], text[40];

	for (unsigned rev = 1; rev <= 3; rev++) {
		import_commit(&s, "refs/heads/main", rev, rev - 1);
		if (rev == 1) {
			import_file(&s, "100644", ".gitignore", "/*\n");
			import_file(&s, "120000", "link", "dir0/f0.c");
			import_file(&s, "100755", "run", "#!\n");
		} else if (rev == 2) {
			import_file(&s, "100755", "swap", "x\n");
			import_file(&s, "100644", "swap2/f", "x\n");
		} else {
			fb_str_add(&s, "D swap\nD swap2/f\n");
			import_file(&s, "100644", "swap/f", "y\n");
			import_file(&s, "120000", "swap2", "run");
		}
		for (unsigned i = 0; i < nr; i++) {
			snprintf(name, sizeof(name), "dir%u/f%u.c", i % 40, i);
			snprintf(text, sizeof(text), "%05u %05u\n", rev, i);
			if (rev == 1 || i % 3 == rev)
				import_file(&s, "100644", name, text);
			else if (i % 17 == rev)
				fb_str_addf(&s, "D %s\n", name);
		}
		fb_str_addf(&s, "\nreset refs/tags/v%u\nfrom :%u\n", rev, rev);
	}
	git_import(repo, fb_str_cstr(&s));
	fb_str_release(&s);
}

static void unchanged_files_keep_inode_and_time(void **state)
{
	char **before, **after, *diff;
	struct fb_history *h;
	struct fb_worktree *wt;
	size_t same = 0, j = 0;

	make_kernel(300);
	h = open_history();
	wt = open_worktree(h);
	checkout(h, wt, "v1");
	/* Leftovers of a build, ignored by the tree's .gitignore. */
	write_file(wt_path, "dir1/f1.o", "object");
	write_file(wt_path, "vmlinux", "kernel");
	before = fingerprint(wt_path, false);
	checkout(h, wt, "v2");
	after = fingerprint(wt_path, false);
	for (size_t i = 0; before[i]; i++) {
		while (after[j] && strcmp(after[j], before[i]) < 0)
			j++;
		same += after[j] && !strcmp(after[j], before[i]) && strstr(before[i], ".c ");
	}
	/* A third was changed, a few were deleted; all the others are the same files. */
	diff = git_out(repo, "diff", "--name-only", "--diff-filter=MD", "v1", "v2", "--", "dir*");
	{
		size_t changed = 1;

		for (char *p = diff; *p; p++)
			changed += *p == '\n';
		assert_true(changed > 100 && changed < 150);
		assert_int_equal(same, 300 - changed);
	}
	assert_clean(wt_path, "v2");
	assert_false(exists(wt_path, "vmlinux"));

	/* The same commit again touches nothing at all, also after it was opened anew. */
	fb_worktree_free(wt);
	wt = open_worktree(h);
	checkout(h, wt, "v2");
	fb_strvp(&before);
	before = fingerprint(wt_path, false);
	assert_int_equal(fb_strv_len(before), fb_strv_len(after));
	for (size_t i = 0; before[i]; i++)
		assert_string_equal(before[i], after[i]);
	fb_strvp(&before);
	fb_strvp(&after);
	free(diff);
	fb_worktree_free(wt);
	fb_history_free(h);
}

static uint32_t random_below(uint64_t *state, uint32_t limit)
{
	uint64_t z = (*state += 0x9e3779b97f4a7c15ull);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return (uint32_t)((z ^ (z >> 31)) % limit);
}

/* What builds, editors and fixups leave behind. */
static void make_a_mess(uint64_t *rng, struct fb_str *done)
{
	struct fb_error err = FB_ERROR_INIT;
	unsigned i = random_below(rng, 120), kind = random_below(rng, 12);
	char *name = fb_xasprintf("dir%u/f%u.c", i % 40, i), *path = under(wt_path, name);
	char *sub = fb_xasprintf("%s/x", name);

	fb_str_addf(done, " %u:%s", kind, name);
	switch (kind) {
	case 0:
		write_file(wt_path, name, "changed by hand\n");
		break;
	case 1:
		unlink(path);
		break;
	case 2: /* a directory where a file was */
		assert_ok(fb_remove_tree(path, &err), &err);
		write_file(wt_path, sub, "untracked\n");
		break;
	case 3: /* a file where a directory was */
		*strrchr(path, '/') = '\0';
		*strrchr(name, '/') = '\0';
		assert_ok(fb_remove_tree(path, &err), &err);
		write_file(wt_path, name, "file\n");
		break;
	case 4: /* a link out of the tree, which must not be followed */
		assert_ok(fb_remove_tree(path, &err), &err);
		if (symlink("../../../outside", path) < 0)
			assert_int_equal(errno, ENOENT);
		break;
	case 5:
		chmod(path, 0755);
		break;
	case 6:
		write_file(wt_path, "a/b/c/d", "untracked\n");
		write_file(wt_path, "vmlinux.o", "ignored\n");
		break;
	case 7:
		if (!exists(wt_path, "nested"))
			git_run(wt_path, "init", "-q", "nested");
		write_file(wt_path, "nested/f", "in a repository\n");
		break;
	case 8:
		assert_ok(fb_remove_tree(path, &err), &err);
		if (mkfifo(path, 0600) < 0)
			assert_int_equal(errno, ENOENT);
		break;
	case 9: /* a directory of the tree is a link to a place outside */
		*strrchr(path, '/') = '\0';
		assert_ok(fb_remove_tree(path, &err), &err);
		assert_int_equal(symlink("../../outside", path), 0);
		break;
	case 10: /* a file in some of the commits, a directory in others */
		free(path);
		path = under(wt_path, "swap");
		assert_ok(fb_remove_tree(path, &err), &err);
		write_file(wt_path, "swap", "x");
		break;
	case 11:
		write_file(wt_path, ".gitignore", "");
		write_file(wt_path, ".gitattributes", "* text eol=crlf\n");
		break;
	}
	free(name);
	free(path);
	free(sub);
}

static void whatever_is_left_behind_is_undone(void **state)
{
	struct fb_history *h;
	struct fb_worktree *wt;
	uint64_t rng = 2;

	make_kernel(120);
	write_file(scratch, "outside/f1.c", "precious\n");
	h = open_history();
	wt = open_worktree(h);
	checkout(h, wt, "v1");
	for (int round = 0; round < 25; round++) {
		struct fb_str done = FB_STR_INIT, precious = FB_STR_INIT;
		char rev[4], *path = under(scratch, "outside/f1.c");
		struct fb_error err = FB_ERROR_INIT;

		for (uint32_t n = 1 + random_below(&rng, 4); n; n--) {
			make_a_mess(&rng, &done);
			/* One that went through a link would write there: not ours to test. */
			if (strstr(fb_str_cstr(&done), " 9:"))
				break;
		}
		snprintf(rev, sizeof(rev), "v%u", 1 + random_below(&rng, 3));
		printf("# round %d, to %s:%s\n", round, rev, fb_str_cstr(&done));
		checkout(h, wt, rev);
		assert_clean(wt_path, rev);
		assert_ok(fb_file_read(path, 100, &precious, &err), &err);
		assert_string_equal(fb_str_cstr(&precious), "precious\n");
		fb_str_release(&precious);
		fb_str_release(&done);
		free(path);
	}
	fb_worktree_free(wt);
	fb_history_free(h);
}

/* Each file of @rev is there and as it is in it, whatever else is there. */
static void assert_tracked(const char *path, const char *rev)
{
	char *index = under(scratch, "tracked.index"), *gitdir = under(repo, ".git"), *out = NULL;
	char *work = fb_xasprintf("--work-tree=%s", path);

	unlink(index);
	setenv("GIT_INDEX_FILE", index, 1);
	setenv("GIT_CONFIG_GLOBAL", "/dev/null", 1);
	git_run(path, "--git-dir", gitdir, work, "read-tree", rev);
	git_try(path, NULL, &out,
		git_args("--git-dir", gitdir, work, "update-index", "-q", "--refresh"));
	free(out);
	out = git_out(path, "--git-dir", gitdir, work, "diff-files", "--name-status");
	unsetenv("GIT_INDEX_FILE");
	unsetenv("GIT_CONFIG_GLOBAL");
	if (*out)
		fail_msg("not as in %s: %s", rev, out);
	free(index);
	free(gitdir);
	free(work);
	free(out);
}

static void a_switch_undoes_changes_and_keeps_what_is_not_tracked(void **state)
{
	struct fb_history *h;
	struct fb_worktree *wt;
	uint64_t rng = 3;

	make_kernel(120);
	write_file(scratch, "outside/f1.c", "precious\n");
	h = open_history();
	wt = open_worktree(h);
	checkout(h, wt, "v1");
	for (int round = 0; round < 25; round++) {
		struct fb_str done = FB_STR_INIT, precious = FB_STR_INIT;
		char rev[4], *path = under(scratch, "outside/f1.c");
		struct fb_error err = FB_ERROR_INIT;
		struct fb_oid oid;

		write_file(wt_path, "kept.o", "ignored\n");
		write_file(wt_path, "kept/too/f", "not tracked\n");
		write_file(wt_path, "kept/too/.gitattributes", "* text eol=crlf\n");
		for (uint32_t n = 1 + random_below(&rng, 4); n; n--) {
			make_a_mess(&rng, &done);
			if (strstr(fb_str_cstr(&done), " 9:"))
				break;
		}
		snprintf(rev, sizeof(rev), "v%u", 1 + random_below(&rng, 3));
		printf("# round %d, to %s:%s\n", round, rev, fb_str_cstr(&done));
		assert_ok(fb_history_resolve(h, rev, &oid, &err), &err);
		assert_ok(fb_worktree_switch(wt, &oid, &err), &err);
		assert_tracked(wt_path, rev);
		assert_true(exists(wt_path, "kept.o"));
		assert_true(exists(wt_path, "kept/too/f"));
		assert_false(exists(wt_path, "kept/too/.gitattributes"));
		assert_ok(fb_file_read(path, 100, &precious, &err), &err);
		assert_string_equal(fb_str_cstr(&precious), "precious\n");
		fb_str_release(&precious);
		fb_str_release(&done);
		free(path);
	}
	checkout(h, wt, "v2");
	assert_clean(wt_path, "v2");
	fb_worktree_free(wt);
	fb_history_free(h);
}

/* The user's side */

static void hook(const char *name)
{
	char *text = fb_xasprintf("#!/bin/sh\necho %s >>'%s/hooked'\n", name, scratch);
	char *path = fb_xasprintf("%s/hooks/%s", scratch, name);
	char *file = fb_xasprintf("hooks/%s", name);

	write_file(scratch, file, text);
	assert_int_equal(chmod(path, 0755), 0);
	free(text);
	free(path);
	free(file);
}

static void settings_and_hooks_of_the_user_stay_out(void **state)
{
	static const char *const hooks[] = {"post-checkout", "post-index-change",
					    "fsmonitor",     "reference-transaction",
					    "pre-auto-gc",   "filter"};
	static const char *const scopes[] = {"--global", "--local"};
	char *hooks_dir = under(scratch, "hooks"), *monitor = under(scratch, "hooks/fsmonitor");
	struct fb_str tree = FB_STR_INIT;
	char *filter = under(scratch, "hooks/filter"), *attributes = under(scratch, "attributes");
	struct fb_history *h;
	struct fb_worktree *wt;
	struct user before;

	import_commit(&tree, "refs/heads/main", 1, 0);
	import_file(&tree, "100644", ".gitattributes", "*.evil filter=evil\n*.c diff=cpp\n");
	import_file(&tree, "100644", "f.evil", "x\n");
	import_file(&tree, "100644", "a/f.c", "a\nb\n");
	import_file(&tree, "100644", "b.txt", "a\nb\n");
	import_file(&tree, "120000", "l", "a");
	import_file(&tree, "100755", "run", "a\nb\n");
	import_commit(&tree, "refs/heads/other", 2, 1);
	import_file(&tree, "100644", "c.txt", "c\nd\n");
	import_file(&tree, "100644", "g.evil", "y\n");
	git_import(repo, fb_str_cstr(&tree));
	fb_str_release(&tree);
	for (size_t i = 0; i < FB_ARRAY_SIZE(hooks); i++)
		hook(hooks[i]);
	write_file(scratch, "attributes", "* text eol=crlf\n");
	/* The user has changes, staged and not, and is on a branch. */
	git_run(repo, "checkout", "-q", "-b", "mine");
	write_file(repo, "b.txt", "mine\n");
	write_file(repo, "new.txt", "mine\n");
	git_run(repo, "add", "new.txt");
	write_file(repo, "new.txt", "mine again\n");
	write_file(repo, ".git/info/sparse-checkout", "/a/\n");
	for (size_t i = 0; i < FB_ARRAY_SIZE(scopes); i++) {
		const char *setting[][2] = {
			{"core.autocrlf", "true"},
			{"core.eol", "crlf"},
			{"core.attributesFile", attributes},
			{"core.excludesFile", attributes},
			{"core.fsmonitor", monitor},
			{"core.sparseCheckout", "true"},
			{"core.symlinks", "false"},
			{"core.fileMode", "false"},
			{"core.untrackedCache", "true"},
			{"core.splitIndex", "true"},
			{"core.logAllRefUpdates", "always"},
			{"core.checkStat", "minimal"},
			{"core.trustctime", "false"},
			{"submodule.recurse", "true"},
			{"gc.auto", "1"},
			{"filter.evil.smudge", filter},
			{"filter.evil.clean", filter},
			{"filter.evil.required", "true"},
			{"worktree.useRelativePaths", "true"},
			{"feature.manyFiles", "true"},
			{"core.hooksPath", hooks_dir},
			{"status.showUntrackedFiles", "no"},
		};

		for (size_t j = 0; j < FB_ARRAY_SIZE(setting); j++)
			git_run(repo, "config", scopes[i], setting[j][0], setting[j][1]);
	}
	before = user_state();
	{
		char *hooked = under(scratch, "hooked");

		unlink(hooked);
		free(hooked);
	}
	/* A caller in the middle of a git hook has these set. */
	setenv("GIT_DIR", "/nowhere", 1);
	setenv("GIT_INDEX_FILE", "/nowhere/index", 1);
	setenv("GIT_WORK_TREE", "/nowhere", 1);
	setenv("GIT_CONFIG_COUNT", "1", 1);
	setenv("GIT_CONFIG_KEY_0", "core.hooksPath", 1);
	setenv("GIT_CONFIG_VALUE_0", hooks_dir, 1);
	h = open_history();
	wt = open_worktree(h);
	checkout(h, wt, "main");
	checkout(h, wt, "other");
	checkout(h, wt, "main");
	checkout(h, wt, "other");
	fb_worktree_free(wt);
	wt = open_worktree(h);
	unsetenv("GIT_DIR");
	unsetenv("GIT_INDEX_FILE");
	unsetenv("GIT_WORK_TREE");
	unsetenv("GIT_CONFIG_COUNT");
	assert_false(exists(scratch, "hooked"));
	assert_tree(wt_path, "other");
	assert_user_unchanged(&before);
	before = user_state();
	fb_worktree_free(wt);
	assert_user_unchanged(&before);
	fb_history_free(h);
	free(hooks_dir);
	free(monitor);
	free(filter);
	free(attributes);
}

static void prune_and_gc_of_the_user_leave_the_worktree_alone(void **state)
{
	struct fb_history *h;
	struct fb_worktree *wt;
	char *hidden = under(scratch, "hidden");

	git_history(repo, "diamond");
	h = open_history();
	wt = open_worktree(h);
	checkout(h, wt, "c1");
	/* As on a disk that is not mounted: the directory is away while the user cleans up. */
	assert_int_equal(rename(wt_path, hidden), 0);
	git_run(repo, "worktree", "prune", "--expire", "now");
	git_run(repo, "gc", "-q", "--prune=now");
	assert_int_equal(rename(hidden, wt_path), 0);
	assert_clean(wt_path, "c1");
	checkout(h, wt, "b2");
	assert_clean(wt_path, "b2");
	fb_worktree_free(wt);
	fb_history_free(h);
	free(hidden);
}

/* Being killed */

static void assert_no_locks(void)
{
	char *admin = admin_dir();
	DIR *dir = opendir(admin);

	assert_non_null(dir);
	for (struct dirent *d; (d = readdir(dir));)
		assert_false(fb_str_has_suffix(d->d_name, ".lock"));
	closedir(dir);
	free(admin);
}

/* Works in the worktree until it is killed; with @make_anew it makes it again and again. */
static void work_for_ever(bool make_anew)
{
	struct fb_error err = FB_ERROR_INIT;
	struct fb_oid v1, v3;
	struct fb_history *h;

	if (fb_history_open(repo, &h, &err) < 0 || fb_history_resolve(h, "v1", &v1, &err) < 0 ||
	    fb_history_resolve(h, "v3", &v3, &err) < 0)
		goto failed;
	for (;;) {
		struct fb_worktree *wt;

		if (fb_worktree_open(h, wt_path, &wt, &err) < 0)
			goto failed;
		if (make_anew) {
			fb_worktree_free(wt);
			if (fb_remove_tree(wt_path, &err) < 0)
				goto failed;
			continue;
		}
		for (;;)
			if (fb_worktree_checkout(wt, &v1, &err) < 0 ||
			    fb_worktree_checkout(wt, &v3, &err) < 0)
				goto failed;
	}
failed:
	fprintf(stderr, "# child: %s\n", err.text);
	_exit(1);
}

static void kill_9_at_any_time_is_healed(void **state)
{
	bool make_anew = *state != NULL;
	struct fb_history *h;
	struct user before;

	make_kernel(make_anew ? 30 : 3000);
	h = open_history();
	before = user_state();
	for (int round = 0; round < 20; round++) {
		struct fb_worktree *wt;
		char rev[4];
		int status;
		pid_t pid;

		snprintf(rev, sizeof(rev), "v%d", 1 + round % 3);
		fflush(NULL);
		pid = fork();
		assert_true(pid >= 0);
		if (pid == 0)
			work_for_ever(make_anew);
		nanosleep(&(struct timespec){.tv_nsec = (20 + round * 7919 % 397) * FB_NS_PER_MS},
			  NULL);
		assert_int_equal(kill(pid, SIGKILL), 0);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFSIGNALED(status));
		/* At once: git may be dying still. */
		wt = open_worktree(h);
		checkout(h, wt, rev);
		fb_worktree_free(wt);
		assert_clean(wt_path, rev);
		assert_no_locks();
	}
	assert_user_unchanged(&before);
	fb_history_free(h);
}

/* Damage */

static void damage_index_lock(const char *admin)
{
	write_file(admin, "index.lock", "");
	write_file(admin, "HEAD.lock", "");
}

static void damage_no_link(const char *admin)
{
	char *link = under(wt_path, ".git");

	assert_int_equal(unlink(link), 0);
	free(link);
}

static void damage_link_to_nowhere(const char *admin)
{
	write_file(wt_path, ".git", "gitdir: /no/such/repository/.git/worktrees/tree\n");
}

static void damage_link_is_a_repository(const char *admin)
{
	damage_no_link(admin);
	git_run(wt_path, "init", "-q");
}

static void damage_no_directory(const char *admin)
{
	struct fb_error err = FB_ERROR_INIT;

	assert_ok(fb_remove_tree(wt_path, &err), &err);
}

static void damage_empty_directory(const char *admin)
{
	damage_no_directory(admin);
	assert_int_equal(mkdir(wt_path, 0777), 0);
}

static void damage_index_empty(const char *admin)
{
	write_file(admin, "index", "");
}

static void damage_index_garbage(const char *admin)
{
	write_file(admin, "index", "this is no index, but it is long enough to look like one");
}

static void damage_index_gone(const char *admin)
{
	char *index = under(admin, "index");

	assert_int_equal(unlink(index), 0);
	free(index);
}

static void damage_head_empty(const char *admin)
{
	write_file(admin, "HEAD", "");
}

static void damage_head_on_a_branch(const char *admin)
{
	write_file(admin, "HEAD", "ref: refs/heads/main\n");
}

static void damage_moved_back_link(const char *admin)
{
	write_file(admin, "gitdir", "/somewhere/else/.git\n");
}

static void damage_half_registered(const char *admin)
{
	static const char *const name[] = {"gitdir", "commondir", "HEAD", "index"};

	for (size_t i = 0; i < FB_ARRAY_SIZE(name); i++) {
		char *path = under(admin, name[i]);

		unlink(path);
		free(path);
	}
	damage_no_directory(admin);
}

struct damage {
	const char *name;
	void (*make)(const char *admin);
};

static const struct damage damages[] = {
	{"locks of a killed git", damage_index_lock},
	{"the .git file is gone", damage_no_link},
	{"the .git file names a place that is gone", damage_link_to_nowhere},
	{"a repository was made in it", damage_link_is_a_repository},
	{"the directory is gone", damage_no_directory},
	{"the directory is empty", damage_empty_directory},
	{"the index is empty", damage_index_empty},
	{"the index is garbage", damage_index_garbage},
	{"the index is gone", damage_index_gone},
	{"HEAD is empty", damage_head_empty},
	{"HEAD is on the user's branch", damage_head_on_a_branch},
	{"the registration names another place", damage_moved_back_link},
	{"the registration is half made", damage_half_registered},
};

static void damage_is_healed(void **state)
{
	const struct damage *d = *state;
	struct fb_history *h;
	struct fb_worktree *wt;
	struct user before;
	char *admin;

	make_kernel(60);
	h = open_history();
	before = user_state();
	wt = open_worktree(h);
	checkout(h, wt, "v1");
	admin = admin_dir();
	fb_worktree_free(wt);
	d->make(admin);
	wt = open_worktree(h);
	checkout(h, wt, "v2");
	assert_clean(wt_path, "v2");
	free(admin);
	admin = admin_dir(); /* still one */
	assert_user_unchanged(&before);
	fb_worktree_free(wt);
	fb_history_free(h);
	free(admin);
}

static void old_beginnings_of_a_registration_are_swept(void **state)
{
	static const char *const name[] = {"tree7", "tree8", "tree9", "other"};
	struct timespec old[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
	char *all = under(repo, ".git/worktrees");
	struct fb_error err = FB_ERROR_INIT;
	struct fb_history *h;

	git_history(repo, "diamond");
	for (size_t i = 0; i < FB_ARRAY_SIZE(name); i++) {
		char *path = under(all, name[i]);

		assert_ok(fb_mkdirs(path, &err), &err);
		if (i == 0)
			write_file(path, "locked", "");
		if (i != 2)
			assert_int_equal(utimensat(AT_FDCWD, path, old, 0), 0);
		free(path);
	}
	h = open_history();
	fb_worktree_free(open_worktree(h));
	assert_false(exists(all, "tree7"));
	assert_false(exists(all, "tree8"));
	assert_true(exists(all, "tree9")); /* young */
	assert_true(exists(all, "other")); /* no name of ours */
	fb_history_free(h);
	free(all);
}

static void git_never_takes_another_repository_for_ours(void **state)
{
	char *outer = under(scratch, "work"), *link = under(wt_path, ".git");
	struct fb_history *h;
	struct fb_worktree *wt;

	/* The worktree lies in a repository of its own kind: dot files in $HOME, say. */
	make_kernel(20);
	git_run(scratch, "init", "-q", "work");
	write_file(outer, "precious", "not committed\n");
	h = open_history();
	wt = open_worktree(h);
	checkout(h, wt, "v1");
	/* The build deletes .git while the worktree is open: a git that searches would go up. */
	assert_int_equal(unlink(link), 0);
	checkout(h, wt, "v2");
	assert_tree(wt_path, "v2");
	assert_true(exists(outer, "precious"));
	fb_worktree_free(wt);
	fb_history_free(h);
	free(outer);
	free(link);
}

/* What is not ours */

static void must_refuse(struct fb_history *h, const char *path, const char *text)
{
	char **before = fingerprint(scratch, false), **after;
	struct fb_error err = FB_ERROR_INIT;
	struct fb_worktree *wt = NULL;

	assert_int_equal(fb_worktree_open(h, path, &wt, &err), -1);
	assert_null(wt);
	assert_error(&err, FB_ERROR_USAGE, text);
	after = fingerprint(scratch, false);
	assert_int_equal(fb_strv_len(before), fb_strv_len(after));
	for (size_t i = 0; before[i]; i++)
		assert_string_equal(before[i], after[i]);
	fb_strvp(&before);
	fb_strvp(&after);
}

static void what_is_not_ours_is_refused_and_left_alone(void **state)
{
	char *theirs = under(scratch, "theirs"), *file = under(scratch, "file");
	char *linked = under(scratch, "linked"), *locked = under(scratch, "locked");
	char *inside = under(repo, "wt"), *in_git = under(repo, ".git/wt");
	char *other_repo = under(scratch, "other"), *mine = repo;
	struct fb_history *h, *other;
	struct fb_worktree *wt;

	git_history(repo, "diamond");
	git_history(other_repo, "line-4");
	write_file(theirs, "precious", "x");
	write_file(scratch, "file", "x");
	git_run(repo, "worktree", "add", "-q", "--detach", linked, "b1");
	git_run(repo, "worktree", "add", "-q", "--detach", "--lock", "--reason", "mine", locked,
		"b1");
	h = open_history();
	must_refuse(h, theirs, "not made by firstbad");
	must_refuse(h, file, "not made by firstbad");
	must_refuse(h, linked, "not made by firstbad");
	must_refuse(h, locked, "not made by firstbad");
	must_refuse(h, other_repo, "not made by firstbad");
	must_refuse(h, repo, "inside the repository");
	must_refuse(h, inside, "inside the repository");
	must_refuse(h, in_git, "inside the repository");
	must_refuse(h, "", "is no name");
	must_refuse(h, "..", "is no name");

	/* A worktree that belongs to firstbad, but to another repository. */
	repo = other_repo;
	other = open_history();
	wt = open_worktree(other);
	checkout(other, wt, "main");
	fb_worktree_free(wt);
	repo = mine;
	must_refuse(h, wt_path, "not made by firstbad");
	fb_history_free(other);
	fb_history_free(h);

	free(theirs);
	free(file);
	free(linked);
	free(locked);
	free(inside);
	free(in_git);
	free(other_repo);
}

static void worktree_of_a_copied_repository_is_not_shared(void **state)
{
	char *copy = under(scratch, "copy"), *mine = repo;
	struct fb_error err = FB_ERROR_INIT;
	struct fb_history *h;
	struct fb_worktree *wt;
	struct fb_proc_result result;
	const char *argv[] = {"cp", "-a", repo, copy, NULL};
	struct fb_proc_spec spec = {.argv = argv};

	git_history(repo, "diamond");
	h = open_history();
	wt = open_worktree(h);
	checkout(h, wt, "b1");
	fb_worktree_free(wt);
	fb_history_free(h);
	assert_ok(fb_proc_run(&spec, &result, &err), &err);
	assert_int_equal(result.status, 0);
	fb_proc_result_release(&result);
	repo = copy;
	h = open_history();
	must_refuse(h, wt_path, "belongs to the repository at");
	fb_history_free(h);
	repo = mine;
	assert_clean(wt_path, "b1");
	free(copy);
}

/* What runs in the worktree may do anything */

static void assert_holds(const char *dir, const char *name, const char *text)
{
	struct fb_error err = FB_ERROR_INIT;
	struct fb_str s = FB_STR_INIT;
	char *path = under(dir, name);

	assert_ok(fb_file_read(path, 1000, &s, &err), &err);
	assert_string_equal(fb_str_cstr(&s), text);
	fb_str_release(&s);
	free(path);
}

static void checkout_must_fail(struct fb_history *h, struct fb_worktree *wt, const char *text)
{
	struct fb_error err = FB_ERROR_INIT;
	struct fb_oid oid;

	assert_ok(fb_history_resolve(h, "v2", &oid, &err), &err);
	assert_int_equal(fb_worktree_checkout(wt, &oid, &err), -1);
	assert_error(&err, FB_ERROR_USAGE, text);
}

static void what_took_the_place_of_the_worktree_is_left_alone(void **state)
{
	char *theirs = under(scratch, "theirs"), *work = under(scratch, "work");
	char *away = under(scratch, "away"), *their_tree = under(scratch, "theirs/tree");
	struct fb_history *h;
	struct fb_worktree *wt;

	make_kernel(20);
	write_file(theirs, "f", "precious\n");
	write_file(theirs, "tree/f", "precious\n");
	h = open_history();
	wt = open_worktree(h);
	checkout(h, wt, "v1");

	/* A link: it goes, and the worktree is made again. */
	assert_int_equal(rename(wt_path, away), 0);
	assert_int_equal(symlink(theirs, wt_path), 0);
	checkout(h, wt, "v2");
	assert_clean(wt_path, "v2");
	assert_holds(theirs, "f", "precious\n");
	assert_holds(theirs, "tree/f", "precious\n");

	/* Nothing, and an empty directory. */
	for (int i = 0; i < 2; i++) {
		damage_no_directory(NULL);
		if (i)
			assert_int_equal(mkdir(wt_path, 0777), 0);
		checkout(h, wt, "v3");
		assert_clean(wt_path, "v3");
	}

	/* A directory above it is a link. */
	free(away);
	away = under(scratch, "away2");
	assert_int_equal(rename(work, away), 0);
	assert_int_equal(symlink(theirs, work), 0);
	checkout_must_fail(h, wt, "took the place of");
	assert_holds(theirs, "tree/f", "precious\n");
	assert_int_equal(unlink(work), 0);
	assert_int_equal(rename(away, work), 0);
	checkout(h, wt, "v1");
	assert_clean(wt_path, "v1");

	/* Another directory. */
	assert_int_equal(rename(wt_path, away), 0);
	assert_int_equal(rename(their_tree, wt_path), 0);
	checkout_must_fail(h, wt, "another directory took the place of");
	assert_holds(wt_path, "f", "precious\n");

	fb_worktree_free(wt);
	fb_history_free(h);
	free(theirs);
	free(their_tree);
	free(work);
	free(away);
}

/* root may write everywhere; git as well as this process must go without that. */
static void be_an_ordinary_user(void)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct cap[2] = {{0}};

	for (int i = 0; i <= CAP_LAST_CAP; i++)
		prctl(PR_CAPBSET_DROP, i, 0, 0, 0); /* EPERM: is one already */
	assert_int_equal(syscall(SYS_capset, &head, cap), 0);
}

/* 60 levels of 100 letters. */
static void make_long_path(const char *dir)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY);
	char name[101] = "";

	memset(name, 'n', 100);
	for (int i = 0; i < 60; i++) {
		int sub;

		assert_int_equal(mkdirat(fd, name, 0777), 0);
		sub = openat(fd, name, O_RDONLY | O_DIRECTORY);
		assert_true(sub >= 0);
		close(fd);
		fd = sub;
	}
	close(fd);
}

static void assert_child_passes(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void closed_directories_and_long_paths_do_not_block(void **state)
{
	struct fb_error err = FB_ERROR_INIT;
	pid_t pid;

	make_kernel(60);
	fflush(NULL);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		char *mod = under(wt_path, "gopath/mod"), *dir1 = under(wt_path, "dir1");
		struct fb_history *h;
		struct fb_worktree *wt;

		be_an_ordinary_user();
		h = open_history();
		wt = open_worktree(h);
		checkout(h, wt, "v1");
		write_file(wt_path, "gopath/mod/f", "x\n");
		assert_int_equal(chmod(mod, 0555), 0);
		assert_int_equal(chmod(dir1, 0), 0);
		checkout(h, wt, "v2");
		assert_clean(wt_path, "v2");
		make_long_path(wt_path);
		checkout(h, wt, "v3");
		assert_clean(wt_path, "v3");
		make_long_path(dir1);
		checkout(h, wt, "v2");
		assert_clean(wt_path, "v2");
		assert_int_equal(chmod(wt_path, 0), 0);
		checkout(h, wt, "v1");
		assert_clean(wt_path, "v1");
		/* The same for the next session. */
		assert_int_equal(chmod(wt_path, 0), 0);
		fb_worktree_free(wt);
		wt = open_worktree(h);
		checkout(h, wt, "v2");
		assert_clean(wt_path, "v2");
		/* Nor may they be in the way when all of it is removed. */
		make_long_path(wt_path);
		assert_int_equal(chmod(dir1, 0555), 0);
		assert_ok(fb_remove_tree(wt_path, &err), &err);
		_exit(exists(wt_path, ""));
	}
	assert_child_passes(pid);
}

static void what_cannot_be_removed_is_named(void **state)
{
	pid_t pid;

	if (geteuid() != 0)
		skip();
	make_kernel(20);
	fflush(NULL);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		char *want = fb_xasprintf("remove '%s' yourself", wt_path);
		char *dir = under(wt_path, "sudo");
		struct fb_error err = FB_ERROR_INIT;
		struct fb_history *h = open_history();
		struct fb_worktree *wt = open_worktree(h);
		struct fb_oid oid;

		checkout(h, wt, "v1");
		write_file(wt_path, "sudo/f", "somebody else's\n");
		assert_int_equal(chown(dir, 12345, 12345), 0);
		be_an_ordinary_user();
		assert_ok(fb_history_resolve(h, "v2", &oid, &err), &err);
		assert_int_equal(fb_worktree_checkout(wt, &oid, &err), -1);
		assert_error(&err, FB_ERROR_SYSTEM, want);
		_exit(0);
	}
	assert_child_passes(pid);
}

static void submodules_and_repositories_are_emptied(void **state)
{
	static const char *const revs[] = {"other", "main"};
	char *nest = under(wt_path, "nest"), *link = under(wt_path, "lib/obj");
	char *tracked = under(wt_path, "a");
	struct fb_str tree = FB_STR_INIT;
	struct fb_history *h;
	struct fb_worktree *wt;

	import_commit(&tree, "refs/heads/main", 1, 0);
	import_file(&tree, "100644", "a/f", "a\n");
	fb_str_add(&tree, "M 160000 1234567890123456789012345678901234567890 lib/obj\n");
	import_commit(&tree, "refs/heads/other", 2, 1);
	import_file(&tree, "100644", "a/g", "b\n");
	git_import(repo, fb_str_cstr(&tree));
	fb_str_release(&tree);
	h = open_history();
	wt = open_worktree(h);
	checkout(h, wt, "main");
	for (size_t i = 0; i < FB_ARRAY_SIZE(revs); i++) {
		/* As after `git submodule update --init`. */
		write_file(wt_path, "lib/obj/.git", "gitdir: /nowhere\n");
		write_file(wt_path, "lib/obj/f.o", "left behind\n");
		git_run(wt_path, "init", "-q", "nest");
		write_file(nest, "f", "x\n");
		git_run(nest, "add", "f");
		git_run(nest, "commit", "-q", "-m", "x");
		git_run(wt_path, "-c", "advice.addEmbeddedRepo=false", "add", "nest");
		git_run(tracked, "init", "-q");
		checkout(h, wt, revs[i]);
		assert_false(exists(wt_path, "nest"));
		assert_false(exists(wt_path, "a/.git"));
		assert_true(exists(wt_path, "lib/obj"));
		assert_int_equal(rmdir(link), 0); /* is empty */
		assert_int_equal(mkdir(link, 0777), 0);
		/* Not through a link. */
		write_file(scratch, "theirs/obj/f", "precious\n");
		{
			struct fb_error err = FB_ERROR_INIT;
			char *lib = under(wt_path, "lib");

			assert_ok(fb_remove_tree(lib, &err), &err);
			assert_int_equal(symlink("../../theirs", lib), 0);
			free(lib);
		}
		checkout(h, wt, revs[i]);
		assert_holds(scratch, "theirs/obj/f", "precious\n");
		assert_true(exists(wt_path, "lib/obj"));
	}
	fb_worktree_free(wt);
	fb_history_free(h);
	free(nest);
	free(link);
	free(tracked);
}

static void unlocked_worktree_in_the_cache_is_locked_again(void **state)
{
	char *cache = under(scratch, "cache"), *admin, *reason;
	struct fb_history *h;
	struct fb_worktree *wt;

	git_history(repo, "diamond");
	h = open_history();
	wt = open_worktree(h);
	fb_worktree_free(wt);
	git_run(repo, "worktree", "unlock", wt_path);
	must_refuse(h, wt_path, "not made by firstbad"); /* it could be the user's */

	setenv("XDG_CACHE_HOME", cache, 1);
	git_run(repo, "worktree", "remove", "--force", wt_path);
	free(wt_path);
	wt_path = under(scratch, "cache/firstbad/worktrees/1/src");
	wt = open_worktree(h);
	checkout(h, wt, "b1");
	fb_worktree_free(wt);
	git_run(repo, "worktree", "unlock", wt_path);
	wt = open_worktree(h);
	checkout(h, wt, "b2");
	assert_clean(wt_path, "b2");
	admin = admin_dir();
	reason = fb_xasprintf("firstbad: %s\n", wt_path);
	assert_holds(admin, "locked", reason);
	unsetenv("XDG_CACHE_HOME");
	fb_worktree_free(wt);
	fb_history_free(h);
	free(cache);
	free(admin);
	free(reason);
}

static void filters_from_anywhere_stay_out(void **state)
{
	char *filter = under(scratch, "hooks/filter"), *config = under(scratch, "config");
	struct fb_history *h;
	struct fb_worktree *wt;

	make_kernel(20);
	hook("filter");
	write_file(repo, ".git/info/attributes", "f1.c filter=evil\n*.c filter=own\n");
	git_run(scratch, "config", "--file", config, "filter.evil.smudge", filter);
	git_run(scratch, "config", "--file", config, "filter.evil.required", "true");
	setenv("GIT_CONFIG_GLOBAL", config, 1);
	h = open_history();
	wt = open_worktree(h);
	checkout(h, wt, "v1");
	git_run(wt_path, "config", "filter.own.smudge", filter);
	checkout(h, wt, "v2");
	git_run(wt_path, "config", "filter.own.clean", filter);
	checkout(h, wt, "v3");
	unsetenv("GIT_CONFIG_GLOBAL");
	assert_false(exists(scratch, "hooked"));
	assert_tree(wt_path, "v3");
	fb_worktree_free(wt);
	fb_history_free(h);
	free(filter);
	free(config);
}

/* Several at once */

/* They also make their worktrees at once, which git alone does not survive. */
static void sessions_in_two_worktrees_do_not_meet(void **state)
{
	static const char *const revs[] = {"v1", "v2", "v3"};
	struct user before;
	pid_t pid[3];

	make_kernel(500);
	before = user_state();
	fflush(NULL);
	for (unsigned i = 0; i < 3; i++) {
		struct fb_history *h;
		struct fb_worktree *wt;

		pid[i] = fork();
		if (pid[i])
			continue;
		free(wt_path);
		wt_path = fb_xasprintf("%s/work/%u/tree", scratch, i); /* the same last part */
		h = open_history();
		wt = open_worktree(h);
		for (unsigned n = 0; n < 12; n++)
			checkout(h, wt, revs[(n + i) % 3]);
		_exit(0);
	}
	for (unsigned i = 0; i < 3; i++) {
		char *path = fb_xasprintf("%s/work/%u/tree", scratch, i);
		int status;

		assert_int_equal(waitpid(pid[i], &status, 0), pid[i]);
		assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
		assert_clean(path, revs[(11 + i) % 3]);
		free(path);
	}
	assert_user_unchanged(&before);
}

static void worktree_has_one_user_at_a_time(void **state)
{
	struct fb_error err = FB_ERROR_INIT;
	struct fb_worktree *wt, *second = NULL;
	struct fb_history *h;

	git_history(repo, "diamond");
	h = open_history();
	wt = open_worktree(h);
	assert_int_equal(fb_worktree_open(h, wt_path, &second, &err), -1);
	assert_null(second);
	assert_error(&err, FB_ERROR_USAGE, "another firstbad works in");
	fb_worktree_free(wt);
	wt = open_worktree(h);
	fb_worktree_free(wt);
	fb_history_free(h);
}

static void each_git_holds_the_lock(void **state)
{
	const char *path = getenv("PATH");
	struct fb_error err = FB_ERROR_INIT;
	char *old = fb_xstrdup(path), *real = fb_proc_find("git"), *new, *script, *file;
	struct fb_str seen = FB_STR_INIT;
	struct fb_history *h;
	struct fb_worktree *wt;

	/* A git that outlives a killed firstbad for a moment must keep the next one waiting. */
	git_history(repo, "diamond");
	script = fb_xasprintf(
		"#!/bin/sh\nls -l /proc/$$/fd | grep -c 'work/tree\\.lock$' >>'%s/seen'\n"
		"exec '%s' \"$@\"\n",
		scratch, real);
	write_file(scratch, "bin/git", script);
	file = under(scratch, "bin/git");
	assert_int_equal(chmod(file, 0755), 0);
	new = fb_xasprintf("%s/bin:%s", scratch, old);
	setenv("PATH", new, 1);
	h = open_history();
	wt = open_worktree(h);
	checkout(h, wt, "b1");
	setenv("PATH", old, 1);
	free(file);
	file = under(scratch, "seen");
	assert_ok(fb_file_read(file, 100, &seen, &err), &err);
	/* worktree add, config, clean, cat-file, checkout */
	assert_string_equal(fb_str_cstr(&seen), "1\n1\n1\n1\n1\n");
	fb_str_release(&seen);
	fb_worktree_free(wt);
	fb_history_free(h);
	free(old);
	free(real);
	free(new);
	free(script);
	free(file);
}

static void bare_and_headless_repositories_will_do(void **state)
{
	char *bare = under(scratch, "bare.git"), *mine = repo;
	struct fb_error err = FB_ERROR_INIT;
	struct fb_history *h;
	struct fb_worktree *wt;

	git_history(repo, "diamond");
	git_run(scratch, "clone", "-q", "--bare", "repo", "bare.git");
	git_run(bare, "symbolic-ref", "HEAD", "refs/heads/none");
	repo = bare;
	h = open_history();
	wt = open_worktree(h);
	checkout(h, wt, "c2");
	assert_int_equal(
		fb_worktree_checkout(
			wt, &(struct fb_oid){"1234567890123456789012345678901234567890"}, &err),
		-1);
	assert_error(&err, FB_ERROR_DAMAGED, "checkout of 123456789012 in");
	assert_int_equal(fb_worktree_checkout(wt, &(struct fb_oid){"--all"}, &err), -1);
	assert_error(&err, FB_ERROR_USAGE, "no object name");
	fb_worktree_free(wt);
	fb_history_free(h);
	repo = mine;
	assert_clean(wt_path, "c2");

	repo = under(scratch, "empty");
	git_run(scratch, "init", "-q", "empty");
	h = open_history();
	free(wt_path);
	wt_path = under(scratch, "work/empty");
	assert_int_equal(fb_worktree_open(h, wt_path, &wt, &err), -1);
	assert_error(&err, FB_ERROR_GIT, "holds a commit");
	assert_false(exists(scratch, "work/empty.lock"));
	fb_history_free(h);
	free(repo);
	repo = mine;
	free(bare);
}

/* Disk full: in a process of its own, on a small tmpfs that only it sees */

static bool small_disk(const char *at)
{
	return unshare(CLONE_NEWNS) == 0 &&
	       mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
	       mount("none", at, "tmpfs", 0, "size=2m") == 0;
}

static bool can_mount(void)
{
	char at[] = "u-worktree.XXXXXX";
	int status = -1;
	pid_t pid;

	if (!mkdtemp(at))
		return false;
	fflush(NULL);
	pid = fork();
	if (pid == 0)
		_exit(small_disk(at) ? 0 : 1);
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		status = -1;
	rmdir(at);
	return status == 0;
}

static void full_disk_is_one_error_and_passes(void **state)
{
	int status;
	pid_t pid;

	make_kernel(900); /* 900 pages: more than the disk has */
	fflush(NULL);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		char *work = under(scratch, "work");
		struct fb_error err = FB_ERROR_INIT;
		struct fb_history *h;
		struct fb_worktree *wt;
		struct fb_oid v1;

		if (mkdir(work, 0777) < 0 || !small_disk(work))
			_exit(2);
		h = open_history();
		wt = open_worktree(h);
		assert_ok(fb_history_resolve(h, "v1", &v1, &err), &err);
		if (fb_worktree_checkout(wt, &v1, &err) == 0 || err.code != FB_ERROR_SYSTEM ||
		    err.sys != ENOSPC) {
			fprintf(stderr, "# error %d (%d): %s\n", err.code, err.sys, err.text);
			_exit(3);
		}
		fb_error_clear(&err);
		if (mount("none", work, "tmpfs", MS_REMOUNT, "size=20m") < 0)
			_exit(4);
		if (fb_worktree_checkout(wt, &v1, &err) < 0) {
			fprintf(stderr, "# then: %s\n", err.text);
			_exit(5);
		}
		assert_clean(wt_path, "v1");
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void nothing(void **state)
{
}

/* With an argument: only the claims that match it (* and ?). */
int main(int argc, char **argv)
{
#define CLAIM(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest fixed[] = {
		CLAIM(full_disk_is_one_error_and_passes),
		CLAIM(checkout_makes_the_tree_of_any_commit),
		CLAIM(unchanged_files_keep_inode_and_time),
		CLAIM(whatever_is_left_behind_is_undone),
		CLAIM(a_switch_undoes_changes_and_keeps_what_is_not_tracked),
		CLAIM(settings_and_hooks_of_the_user_stay_out),
		CLAIM(prune_and_gc_of_the_user_leave_the_worktree_alone),
		{"kill_9_during_checkouts_is_healed", kill_9_at_any_time_is_healed, setup, teardown,
		 NULL},
		{"kill_9_while_making_and_removing_is_healed", kill_9_at_any_time_is_healed, setup,
		 teardown, (void *)"anew"},
		CLAIM(old_beginnings_of_a_registration_are_swept),
		CLAIM(git_never_takes_another_repository_for_ours),
		CLAIM(what_is_not_ours_is_refused_and_left_alone),
		CLAIM(worktree_of_a_copied_repository_is_not_shared),
		CLAIM(what_took_the_place_of_the_worktree_is_left_alone),
		CLAIM(closed_directories_and_long_paths_do_not_block),
		CLAIM(what_cannot_be_removed_is_named),
		CLAIM(submodules_and_repositories_are_emptied),
		CLAIM(unlocked_worktree_in_the_cache_is_locked_again),
		CLAIM(filters_from_anywhere_stay_out),
		CLAIM(sessions_in_two_worktrees_do_not_meet),
		CLAIM(worktree_has_one_user_at_a_time),
		CLAIM(each_git_holds_the_lock),
		CLAIM(bare_and_headless_repositories_will_do),
	};
	struct CMUnitTest tests[FB_ARRAY_SIZE(fixed) + FB_ARRAY_SIZE(damages)];
	char name[FB_ARRAY_SIZE(damages)][100];

	memcpy(tests, fixed, sizeof(fixed));
	for (size_t i = 0; i < FB_ARRAY_SIZE(damages); i++) {
		snprintf(name[i], sizeof(name[i]), "damage is healed: %s", damages[i].name);
		tests[FB_ARRAY_SIZE(fixed) + i] = (struct CMUnitTest){
			name[i], damage_is_healed, setup, teardown, (void *)&damages[i]};
	}
	if (!can_mount()) {
		tests[0].name = "full_disk_is_one_error_and_passes # SKIP needs root for a mount";
		tests[0].test_func = nothing;
	}
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests_name("worktree", tests, NULL, NULL);
}
