/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A worktree of our own, made and driven by the git program.
 *
 * A linked worktree is two things (gitrepository-layout(5)): the checkout at PATH, whose file
 * .git names the other one, and the registration GITDIR/worktrees/NAME with its HEAD, index
 * and a file "locked". git writes "locked" first of all when it is told to lock, so the reason
 * in it, "firstbad: PATH", says whose a registration is even if git was killed right then.
 *
 * PATH.lock is held by whoever has the worktree open, and by each git that it starts: when
 * firstbad is killed, the next one waits until the last git of the old one is dead.
 *
 * git never looks for the repository by itself here: the environment names it. A build that
 * deleted PATH/.git would otherwise make it clean whatever repository holds PATH.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "src/history/internal.h"
#include "src/util/clock.h"
#include "src/util/dirs.h"
#include "src/util/file.h"
#include "src/util/proc.h"
#include "src/util/util.h"

#define SMALL_FILE_MAX	(1u << 16)	     /* a path and a few words */
#define GIT_TIMEOUT_NS	(3600 * FB_NS_PER_S) /* a first checkout of Linux: minutes */
#define ADD_TRIES	5
#define STUB_AGE_S	60		  /* git fills a new registration at once */
#define FULL_B		65536		  /* less room than this is none */
#define LOCK_TIMEOUT_NS (5 * FB_NS_PER_S) /* git dies within milliseconds of firstbad */

struct fb_worktree {
	char *path;
	char *parent;
	const char *name; /* in the parent; a part of path */
	char *admin;	  /* the registration */
	char **pins;	  /* options that keep the user's settings out */
	int lock_fd;
	/* What runs in the worktree may put other things in its place: git works in these. */
	int parent_fd, dir_fd;
};

/*
 * Settings of the user, the system or the repository that would change what is checked out,
 * start something, or reach beyond this worktree. Filters are added by name in pin_filters().
 */
static const char *const pins[] = {
	"advice.detachedHead=false",
	"checkout.defaultRemote=",
	"clean.requireForce=true",
	"core.attributesFile=/dev/null",
	"core.autocrlf=false",
	"core.checkStat=default",
	"core.eol=lf",
	"core.excludesFile=/dev/null",
	"core.fileMode=true",
	"core.fsmonitor=false",
	"core.hooksPath=/dev/null",
	"core.ignoreCase=false",
	"core.ignoreStat=false",
	"core.logAllRefUpdates=false",
	"core.safecrlf=false",
	"core.sparseCheckout=false",
	"core.splitIndex=false",
	"core.symlinks=true",
	"core.trustctime=true",
	"core.untrackedCache=false",
	"gc.auto=0",
	"index.sparse=false",
	"maintenance.auto=false",
	"safe.directory=*", /* fb_history_open() has checked the owner */
	"submodule.recurse=false",
	"worktree.guessRemote=false",
	"worktree.useRelativePaths=false",
};

/* Beside fb_proc_no_repository: what changes answers, and what talks to people. */
static const char *const base_env[] = {
	"LC_ALL=C",
	"GIT_ADVICE=0",
	"GIT_NO_REPLACE_OBJECTS=1", /* libgit2 knows no replacements: the same objects for both */
	"GIT_OPTIONAL_LOCKS=0",
	"GIT_TERMINAL_PROMPT=0",
	"GIT_ATTR_SOURCE",
	"GIT_CEILING_DIRECTORIES",
	"GIT_DEFAULT_HASH",
	"GIT_EXTERNAL_DIFF",
	"GIT_INDEX_VERSION",
	"GIT_NAMESPACE",
	"GIT_TRACE",
};

/* Neither git's exit status nor most of its messages tell why a file could not be written. */
static bool is_full(const char *path)
{
	struct statvfs vfs;

	return path && statvfs(path, &vfs) == 0 &&
	       (vfs.f_bavail * vfs.f_frsize < FULL_B || (vfs.f_files && !vfs.f_favail));
}

/*
 * Run git with the pins and then @args (NULL-terminated).
 * @in_tree: in the worktree, which is there then; else in @gitdir.
 */
static int start_git(const struct fb_worktree *wt, const char *gitdir, bool in_tree,
		     const char *const *args, struct fb_proc_result *ret, struct fb_error *err)
{
	const int keep[] = {wt->lock_fd, wt->dir_fd};
	FB_CLEANUP(fb_strvp) char **argv = NULL, **env = NULL;
	FB_CLEANUP(fb_freep) char *env_dir = fb_xasprintf("GIT_DIR=%s", gitdir);
	FB_CLEANUP(fb_freep) char *tree = fb_xasprintf("/proc/self/fd/%d", wt->dir_fd);
	struct fb_proc_spec spec = {.dir = in_tree ? tree : gitdir,
				    .timeout_ns = GIT_TIMEOUT_NS,
				    .pass_fds = keep,
				    .nr_pass_fds = in_tree ? 2 : 1};

	fb_strv_add(&argv, "git");
	for (char **p = wt->pins; p && *p; p++)
		fb_strv_add(&argv, *p);
	for (; *args; args++)
		fb_strv_add(&argv, *args);
	for (const char *const *p = fb_proc_no_repository; *p; p++)
		fb_strv_add(&env, *p);
	for (size_t i = 0; i < FB_ARRAY_SIZE(base_env); i++)
		fb_strv_add(&env, base_env[i]);
	fb_strv_add(&env, env_dir);
	if (in_tree)
		fb_strv_add(&env, "GIT_WORK_TREE=.");
	spec.argv = (const char *const *)argv;
	spec.env = (const char *const *)env;
	if (fb_proc_run(&spec, ret, err) < 0)
		return -1;
	if (fb_proc_check(&spec, ret, err) == 0)
		return 0;
	if (ret->end == FB_PROC_EXITED && ((in_tree && is_full(tree)) || is_full(gitdir))) {
		fb_error_clear(err);
		return fb_error_set_sys(err, ENOSPC, "git");
	}
	return -1;
}

static int run_git(const struct fb_worktree *wt, const char *gitdir, bool in_tree,
		   const char *const *args, struct fb_error *err)
{
	FB_CLEANUP(fb_proc_result_release) struct fb_proc_result result = {0};

	return start_git(wt, gitdir, in_tree, args, &result, err);
}

static void pin(struct fb_worktree *wt, const char *setting)
{
	fb_strv_add(&wt->pins, "-c");
	fb_strv_add(&wt->pins, setting);
}

/*
 * A filter of any name may be set up, by the user or by what ran here; attributes of the tree
 * or of the repository can ask for it. git alone knows all the files that it reads settings
 * from.
 */
static int pin_filters(struct fb_worktree *wt, struct fb_error *err)
{
	static const char *const field[] = {"smudge=", "clean=", "process=", "required=false"};
	static const char *const args[] = {"config",	   "-z",	  "--name-only",
					   "--get-regexp", "^filter\\..", NULL};
	FB_CLEANUP(fb_proc_result_release) struct fb_proc_result result = {0};

	fb_strvp(&wt->pins);
	for (size_t i = 0; i < FB_ARRAY_SIZE(pins); i++)
		pin(wt, pins[i]);
	if (start_git(wt, wt->admin, true, args, &result, err) < 0) {
		if (result.end != FB_PROC_EXITED || result.status != 1)
			return -1;
		fb_error_clear(err); /* there is none */
		return 0;
	}
	for (const char *p = fb_str_cstr(&result.out), *end = p + result.out.len; p < end;
	     p += strlen(p) + 1) {
		const char *dot = strrchr(p, '.');

		if (dot <= p + strlen("filter."))
			continue;
		if (memchr(p, '=', (size_t)(dot - p))) /* git -c cannot say it */
			return fb_error_set(err, FB_ERROR_USAGE,
					    "the setting '%s' of git: no '=' in a filter's name",
					    p);
		for (size_t i = 0; i < FB_ARRAY_SIZE(field); i++) {
			FB_CLEANUP(fb_freep)
			char *s = fb_xasprintf("%.*s.%s", (int)(dot - p), p, field[i]);

			pin(wt, s);
		}
	}
	return 0;
}

/* Small files */

/* The file without the newline at its end, owned; NULL when it is not there or is too big. */
static char *read_line(const char *dir, const char *name)
{
	FB_CLEANUP(fb_freep) char *path = fb_xasprintf("%s/%s", dir, name);
	struct fb_error err = FB_ERROR_INIT;
	struct fb_str s = FB_STR_INIT;

	if (fb_file_read(path, SMALL_FILE_MAX, &s, &err) < 0) {
		/* Not there is an answer; what else can be wrong shows when git uses it. */
		fb_str_release(&s);
		return NULL;
	}
	while (s.len && (s.buf[s.len - 1] == '\n' || s.buf[s.len - 1] == '\r'))
		s.buf[--s.len] = '\0';
	return fb_str_take(&s);
}

static int write_line(const char *dir, const char *name, const char *prefix, const char *text,
		      struct fb_error *err)
{
	FB_CLEANUP(fb_freep) char *path = fb_xasprintf("%s/%s", dir, name);
	FB_CLEANUP(fb_freep) char *line = fb_xasprintf("%s%s\n", prefix, text);

	return fb_file_write(path, line, strlen(line), err);
}

static bool is_oid(const char *s)
{
	return s && strlen(s) == GIT_OID_HEXSZ && strspn(s, "0123456789abcdef") == GIT_OID_HEXSZ;
}

/* Paths */

/* Absolute and free of symbolic links, so that one worktree has one name; it need not exist. */
static char *canonical(const char *path, struct fb_error *err)
{
	FB_CLEANUP(fb_freep) char *copy = fb_xstrdup(path);
	FB_CLEANUP(fb_freep) char *parent = NULL;
	size_t len = strlen(copy);
	const char *base;
	char *slash, *real;

	while (len > 1 && copy[len - 1] == '/')
		copy[--len] = '\0';
	slash = strrchr(copy, '/');
	base = slash ? slash + 1 : copy;
	if (!*base || !strcmp(base, ".") || !strcmp(base, "..")) {
		fb_error_set(err, FB_ERROR_USAGE, "'%s' is no name for a worktree", path);
		return NULL;
	}
	parent = !slash		 ? fb_xstrdup(".")
		 : slash == copy ? fb_xstrdup("/")
				 : fb_xstrndup(copy, (size_t)(slash - copy));
	if (fb_mkdirs(parent, err) < 0)
		return NULL;
	real = realpath(parent, NULL);
	if (!real) {
		fb_error_set_sys(err, errno, "'%s'", parent);
		return NULL;
	}
	slash = fb_xasprintf("%s/%s", strcmp(real, "/") ? real : "", base);
	free(real);
	return slash;
}

static bool is_inside(const char *path, const char *dir)
{
	size_t len = strlen(dir);

	return !strncmp(path, dir, len) && (path[len] == '/' || path[len] == '\0');
}

/* The lock */

/* @ret_new: the lock file was not there before. */
static int lock(const char *path, bool *ret_new, struct fb_error *err)
{
	FB_CLEANUP(fb_freep) char *name = fb_xasprintf("%s.lock", path);
	int64_t give_up_ns = fb_clock_mono_ns() + LOCK_TIMEOUT_NS;

	for (;;) {
		bool is_new = access(name, F_OK) < 0;
		int fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
		struct stat held, named;

		if (fd < 0)
			return fb_error_set_sys(err, errno, "open '%s'", name);
		if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
			/* It may have been unlinked by one that found nothing of ours to hold. */
			if (fstat(fd, &held) == 0 && stat(name, &named) == 0 &&
			    held.st_ino == named.st_ino && held.st_dev == named.st_dev) {
				*ret_new = is_new;
				return fd;
			}
		} else if (errno != EWOULDBLOCK && errno != EINTR) {
			int saved = errno;

			close(fd);
			return fb_error_set_sys(err, saved, "lock '%s'", name);
		}
		close(fd);
		if (fb_clock_mono_ns() > give_up_ns)
			return fb_error_set(err, FB_ERROR_USAGE, "another firstbad works in '%s'",
					    path);
		nanosleep(&(struct timespec){.tv_nsec = 20 * FB_NS_PER_MS}, NULL);
	}
}

/* Only by its holder. */
static void remove_lock(const char *path)
{
	FB_CLEANUP(fb_freep) char *name = fb_xasprintf("%s.lock", path);

	unlink(name);
}

/* Registrations */

/* The registration that is locked for @path; owned, NULL when there is none. */
static char *find_admin(const struct fb_history *history, const char *path)
{
	FB_CLEANUP(fb_freep) char *all = fb_xasprintf("%s/worktrees", history->gitdir);
	FB_CLEANUP(fb_freep) char *reason = fb_xasprintf("firstbad: %s", path);
	DIR *dir = opendir(all);
	char *found = NULL;

	for (struct dirent *d; dir && !found && (d = readdir(dir));) {
		FB_CLEANUP(fb_freep) char *admin = NULL;
		FB_CLEANUP(fb_freep) char *locked = NULL;

		if (d->d_name[0] == '.')
			continue;
		admin = fb_xasprintf("%s/%s", all, d->d_name);
		locked = read_line(admin, "locked");
		if (locked && !strcmp(locked, reason))
			found = FB_TAKE(admin);
	}
	if (dir)
		closedir(dir);
	return found;
}

/* Below firstbad's own directory nobody else makes worktrees. */
static bool is_in_cache(const char *path)
{
	FB_CLEANUP(fb_freep) char *cache = fb_dir_cache();
	FB_CLEANUP(fb_freep) char *real = realpath(cache, NULL);

	return real && is_inside(path, real);
}

/* The user has unlocked ours (`git worktree unlock`): its halves still name each other. */
static char *find_unlocked(const struct fb_history *history, const char *path)
{
	FB_CLEANUP(fb_freep) char *link = read_line(path, ".git");
	FB_CLEANUP(fb_freep) char *all = fb_xasprintf("gitdir: %s/worktrees/", history->gitdir);
	FB_CLEANUP(fb_freep) char *want_back = fb_xasprintf("%s/.git", path);
	FB_CLEANUP(fb_freep) char *admin = NULL;
	FB_CLEANUP(fb_freep) char *back = NULL;
	FB_CLEANUP(fb_freep) char *locked = NULL;

	if (!is_in_cache(path) || !link || !fb_str_has_prefix(link, all) ||
	    strchr(link + strlen(all), '/'))
		return NULL;
	admin = fb_xstrdup(link + strlen("gitdir: "));
	back = read_line(admin, "gitdir");
	locked = fb_xasprintf("%s/locked", admin);
	if (!back || strcmp(back, want_back) || access(locked, F_OK) == 0)
		return NULL;
	return FB_TAKE(admin);
}

/* False when git was killed while it made the registration, or a crash emptied its files. */
static bool is_complete(const char *admin)
{
	FB_CLEANUP(fb_freep) char *head = read_line(admin, "HEAD");
	FB_CLEANUP(fb_freep) char *common = read_line(admin, "commondir");
	FB_CLEANUP(fb_freep) char *back = read_line(admin, "gitdir");

	return head && common && *common && back && *back;
}

/* Only a directory that is not there, is empty, or holds nothing but a .git file. */
static bool is_bare_beginning(const char *path)
{
	DIR *dir = opendir(path);
	bool bare = true;

	if (!dir)
		return errno == ENOENT;
	for (struct dirent *d; bare && (d = readdir(dir));)
		bare = !strcmp(d->d_name, ".") || !strcmp(d->d_name, "..") ||
		       !strcmp(d->d_name, ".git");
	closedir(dir);
	return bare;
}

/* PATH/.git may be gone or name a place that is gone, but not a registration that lives. */
static int check_link(const char *path, const char *admin, struct fb_error *err)
{
	FB_CLEANUP(fb_freep) char *link = read_line(path, ".git");
	struct stat ours, theirs;

	if (!link || strncmp(link, "gitdir: ", 8) || stat(link + 8, &theirs) < 0)
		return 0;
	if (stat(admin, &ours) == 0 && ours.st_ino == theirs.st_ino && ours.st_dev == theirs.st_dev)
		return 0;
	return fb_error_set(err, FB_ERROR_USAGE, "'%s' belongs to the repository at '%s'", path,
			    link + 8);
}

static int not_ours(const char *path, struct fb_error *err)
{
	return fb_error_set(err, FB_ERROR_USAGE,
			    "'%s' is there and was not made by firstbad: move it away", path);
}

/* Nothing in it, or a file "locked" that nothing was written to; older than STUB_AGE_S. */
static bool is_stub(const char *admin)
{
	FB_CLEANUP(fb_freep) char *locked = fb_xasprintf("%s/locked", admin);
	bool stub = true;
	struct stat st;
	DIR *dir;

	if (lstat(admin, &st) < 0 || !S_ISDIR(st.st_mode) || time(NULL) - st.st_mtime < STUB_AGE_S)
		return false;
	dir = opendir(admin);
	for (struct dirent *d; dir && stub && (d = readdir(dir));)
		stub = !strcmp(d->d_name, ".") || !strcmp(d->d_name, "..") ||
		       (!strcmp(d->d_name, "locked") && lstat(locked, &st) == 0 && !st.st_size);
	if (dir)
		closedir(dir);
	return dir && stub;
}

/*
 * What is left when git was killed before it wrote our reason, or firstbad when it had removed
 * it. git itself passes over such directories. A young one may be somebody's who is just
 * making a worktree.
 */
static void sweep_stubs(const struct fb_history *history, const char *path)
{
	FB_CLEANUP(fb_freep) char *all = fb_xasprintf("%s/worktrees", history->gitdir);
	const char *base = strrchr(path, '/') + 1;
	DIR *dir = opendir(all);

	for (struct dirent *d; dir && (d = readdir(dir));) {
		FB_CLEANUP(fb_freep) char *admin = fb_xasprintf("%s/%s", all, d->d_name);
		FB_CLEANUP(fb_freep) char *locked = fb_xasprintf("%s/locked", admin);

		if (!fb_str_has_prefix(d->d_name, base) || !is_stub(admin))
			continue;
		unlink(locked);
		rmdir(admin);
	}
	if (dir)
		closedir(dir);
}

/*
 * A checkout of this repository whose registration is gone: the repository was deleted and
 * cloned again in the same place. Nothing in it is anybody's: firstbad alone writes there.
 */
static bool is_widowed(const struct fb_history *history, const char *path)
{
	FB_CLEANUP(fb_freep) char *link = read_line(path, ".git");
	FB_CLEANUP(fb_freep) char *ours = fb_xasprintf("gitdir: %s/worktrees/", history->gitdir);

	return link && fb_str_has_prefix(link, ours) && access(link + strlen("gitdir: "), F_OK) < 0;
}

static int remove_admin(const struct fb_history *history, const char *admin, struct fb_error *err)
{
	FB_CLEANUP(fb_freep) char *all = fb_xasprintf("%s/worktrees", history->gitdir);
	DIR *dir = opendir(admin);

	/* "locked" goes last: until then an interrupted removal is known to be ours. */
	for (struct dirent *d; dir && (d = readdir(dir));) {
		FB_CLEANUP(fb_freep) char *name = NULL;

		if (!strcmp(d->d_name, ".") || !strcmp(d->d_name, "..") ||
		    !strcmp(d->d_name, "locked"))
			continue;
		name = fb_xasprintf("%s/%s", admin, d->d_name);
		if (fb_remove_tree(name, err) < 0) {
			closedir(dir);
			return -1;
		}
	}
	if (dir)
		closedir(dir);
	if (fb_remove_tree(admin, err) < 0)
		return -1;
	rmdir(all); /* as git does; fails when there are others */
	return 0;
}

/* Any commit will do to begin with; HEAD may name a branch that does not exist. */
static int some_commit(struct fb_history *history, struct fb_oid *ret, struct fb_error *err)
{
	git_reference_iterator *it = NULL;
	git_object *commit = NULL;
	git_reference *ref = NULL;

	if (fb_history_resolve(history, "HEAD", ret, err) == 0)
		return 0;
	fb_error_clear(err);
	if (git_reference_iterator_new(&it, history->repo) < 0)
		return fb_git_error(err, "list the refs");
	while (!commit && git_reference_next(&ref, it) == 0) {
		if (git_reference_peel(&commit, ref, GIT_OBJECT_COMMIT) < 0)
			commit = NULL;
		git_reference_free(ref);
	}
	git_reference_iterator_free(it);
	if (!commit)
		return fb_error_set(err, FB_ERROR_GIT, "no branch or tag of '%s' holds a commit",
				    history->gitdir);
	git_oid_tostr(ret->hex, sizeof(ret->hex), git_object_id(commit));
	git_object_free(commit);
	return 0;
}

static int add_once(struct fb_history *history, struct fb_worktree *wt, const struct fb_oid *oid,
		    struct fb_error *err)
{
	FB_CLEANUP(fb_freep) char *reason = fb_xasprintf("firstbad: %s", wt->path);
	const char *args[] = {"worktree", "add",  "--quiet", "--detach", "--no-checkout", "--lock",
			      "--reason", reason, "--",	     wt->path,	 oid->hex,	  NULL};
	int rc = run_git(wt, history->gitdir, false, args, err);

	wt->admin = find_admin(history, wt->path);
	if (rc == 0 && wt->admin)
		return 0;
	if (rc == 0)
		return fb_error_set(err, FB_ERROR_GIT, "git registered no worktree at '%s'",
				    wt->path);
	if (wt->admin) {
		struct fb_error ignored = FB_ERROR_INIT;

		/* What cannot be removed now is found, and seen to be half-made, the next time. */
		remove_admin(history, wt->admin, &ignored);
		free(wt->admin);
		wt->admin = NULL;
	}
	if (is_bare_beginning(wt->path)) {
		struct fb_error ignored = FB_ERROR_INIT;

		fb_remove_tree(wt->path, &ignored);
	}
	return -1;
}

/*
 * git 2.39 dies when it meets a registration that another git is just making ("failed to read
 * .../commondir: Success"). Our own take turns, by a lock on the directory itself, which
 * leaves no file; for a git of the user's, or a dying one, it is tried again.
 */
static int add(struct fb_history *history, struct fb_worktree *wt, struct fb_error *err)
{
	FB_CLEANUP(fb_closep) int turn = open(history->gitdir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct fb_oid oid;

	if (turn < 0)
		return fb_error_set_sys(err, errno, "open '%s'", history->gitdir);
	if (some_commit(history, &oid, err) < 0)
		return -1;
	while (flock(turn, LOCK_EX) < 0)
		if (errno != EINTR)
			return fb_error_set_sys(err, errno, "lock '%s'", history->gitdir);
	for (int tries = 1;; tries++) {
		if (add_once(history, wt, &oid, err) == 0)
			return 0;
		if (err->code != FB_ERROR_CHILD || tries == ADD_TRIES)
			return -1;
		fb_error_clear(err);
		nanosleep(&(struct timespec){.tv_nsec = 100 * FB_NS_PER_MS}, NULL);
	}
}

/* Lock files of gits that were killed; whoever could hold one now would hold PATH.lock, too. */
static int remove_git_locks(const char *admin, struct fb_error *err)
{
	DIR *dir = opendir(admin);

	if (!dir)
		return fb_error_set_sys(err, errno, "open '%s'", admin);
	for (struct dirent *d; (d = readdir(dir));) {
		if (fb_str_has_suffix(d->d_name, ".lock") &&
		    unlinkat(dirfd(dir), d->d_name, 0) < 0 && errno != ENOENT) {
			int saved = errno;

			closedir(dir);
			return fb_error_set_sys(err, saved, "remove '%s/%s'", admin, d->d_name);
		}
	}
	closedir(dir);
	return 0;
}

/* The file .git; what runs here may replace it, and its gits would act on something else. */
static int heal_link(const struct fb_worktree *wt, struct fb_error *err)
{
	FB_CLEANUP(fb_freep) char *dir = fb_xasprintf("/proc/self/fd/%d", wt->dir_fd);
	FB_CLEANUP(fb_freep) char *link = NULL;
	struct stat st;

	if (fstatat(wt->dir_fd, ".git", &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode))
		link = read_line(dir, ".git");
	if (link && fb_str_has_prefix(link, "gitdir: ") && !strcmp(link + 8, wt->admin))
		return 0;
	/* Something else of that name cannot be replaced by a file in one step. */
	if (!link && fb_remove_tree_at(wt->dir_fd, ".git", err) < 0)
		return -1;
	return write_line(dir, ".git", "gitdir: ", wt->admin, err);
}

/* HEAD, and the file by which the registration knows the worktree. */
static int heal(struct fb_history *history, struct fb_worktree *wt, struct fb_error *err)
{
	FB_CLEANUP(fb_freep) char *head = read_line(wt->admin, "HEAD");
	FB_CLEANUP(fb_freep) char *back = read_line(wt->admin, "gitdir");
	FB_CLEANUP(fb_freep) char *want_back = fb_xasprintf("%s/.git", wt->path);
	struct fb_oid oid;

	if (remove_git_locks(wt->admin, err) < 0)
		return -1;
	/* Never on a branch: what a checkout moves must be nobody's. */
	if (!is_oid(head) && (some_commit(history, &oid, err) < 0 ||
			      write_line(wt->admin, "HEAD", "", oid.hex, err) < 0))
		return -1;
	if (strcmp(back, want_back) && write_line(wt->admin, "gitdir", "", want_back, err) < 0)
		return -1;
	return 0;
}

static int take_up(struct fb_history *history, struct fb_worktree *wt, struct fb_error *err)
{
	struct stat st;
	bool there = lstat(wt->path, &st) == 0;

	if (there && fb_mounts_refuse(wt->path, err) < 0)
		return -1;
	wt->admin = find_admin(history, wt->path);
	if (!wt->admin) {
		wt->admin = find_unlocked(history, wt->path);
		if (wt->admin && write_line(wt->admin, "locked", "firstbad: ", wt->path, err) < 0)
			return -1;
	} else if (there && S_ISDIR(st.st_mode)) {
		/* What ran here may have taken the right to read it. */
		FB_CLEANUP(fb_closep) int fd = fb_dir_open(AT_FDCWD, wt->path);

		if (fd < 0)
			return fb_error_set_sys(err, errno, "open '%s'", wt->path);
	}
	if (wt->admin && there && check_link(wt->path, wt->admin, err) < 0)
		return -1;
	if (wt->admin && there && is_complete(wt->admin) && S_ISDIR(st.st_mode))
		return heal(history, wt, err);
	if (wt->admin) {
		/* Half-made, or the checkout was deleted: nothing is lost by beginning again. */
		if (there && !is_bare_beginning(wt->path))
			return not_ours(wt->path, err);
		if (fb_remove_tree(wt->path, err) < 0 || remove_admin(history, wt->admin, err) < 0)
			return -1;
		free(wt->admin);
		wt->admin = NULL;
	} else if (there && is_widowed(history, wt->path)) {
		if (fb_remove_tree(wt->path, err) < 0)
			return -1;
	} else if (there && rmdir(wt->path) < 0) {
		return not_ours(wt->path, err);
	}
	return add(history, wt, err);
}

static int hold(struct fb_worktree *wt, struct fb_error *err)
{
	wt->parent_fd = open(wt->parent, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (wt->parent_fd < 0)
		return fb_error_set_sys(err, errno, "open '%s'", wt->parent);
	wt->dir_fd = fb_dir_open(wt->parent_fd, wt->name);
	return wt->dir_fd < 0 ? fb_error_set_sys(err, errno, "open '%s'", wt->path) : 0;
}

int fb_worktree_open(struct fb_history *history, const char *path, struct fb_worktree **ret,
		     struct fb_error *err)
{
	FB_CLEANUP(fb_worktree_freep) struct fb_worktree *wt = fb_xcalloc(1, sizeof(*wt));
	bool lock_is_new = false;

	wt->lock_fd = wt->parent_fd = wt->dir_fd = -1;
	wt->path = canonical(path, err);
	if (!wt->path)
		return -1;
	wt->name = strrchr(wt->path, '/') + 1;
	wt->parent = fb_xstrndup(wt->path, (size_t)(wt->name - wt->path));
	if (is_inside(wt->path, history->workdir) || is_inside(wt->path, history->gitdir))
		return fb_error_set(err, FB_ERROR_USAGE,
				    "worktree '%s' would be inside the repository '%s'", wt->path,
				    history->workdir);
	wt->lock_fd = lock(wt->path, &lock_is_new, err);
	if (wt->lock_fd < 0)
		return -1;
	for (size_t i = 0; i < FB_ARRAY_SIZE(pins); i++)
		pin(wt, pins[i]);
	sweep_stubs(history, wt->path);
	if (take_up(history, wt, err) < 0 || hold(wt, err) < 0 || heal_link(wt, err) < 0) {
		if (!wt->admin && lock_is_new)
			remove_lock(wt->path);
		return fb_error_wrap(err, "worktree '%s'", wt->path);
	}
	*ret = FB_TAKE(wt);
	return 0;
}

void fb_worktree_free(struct fb_worktree *wt)
{
	if (!wt)
		return;
	fb_closep(&wt->dir_fd);
	fb_closep(&wt->parent_fd);
	fb_closep(&wt->lock_fd);
	fb_strvp(&wt->pins);
	free(wt->path);
	free(wt->parent);
	free(wt->admin);
	free(wt);
}

void fb_worktree_freep(struct fb_worktree **wt)
{
	fb_worktree_free(*wt);
}

const char *fb_worktree_path(const struct fb_worktree *wt)
{
	return wt->path;
}

/* An empty worktree that git takes for the one that it was. */
static int begin_anew(struct fb_worktree *wt, struct fb_error *err)
{
	FB_CLEANUP(fb_freep) char *index = fb_xasprintf("%s/index", wt->admin);

	fb_closep(&wt->dir_fd);
	if (fb_remove_tree_at(wt->parent_fd, wt->name, err) < 0)
		return fb_error_wrap(err, "remove '%s' yourself", wt->path);
	if (unlink(index) < 0 && errno != ENOENT)
		return fb_error_set_sys(err, errno, "remove '%s'", index);
	if (mkdirat(wt->parent_fd, wt->name, 0777) < 0)
		return fb_error_set_sys(err, errno, "mkdir '%s'", wt->path);
	wt->dir_fd = fb_dir_open(wt->parent_fd, wt->name);
	if (wt->dir_fd < 0)
		return fb_error_set_sys(err, errno, "open '%s'", wt->path);
	return heal_link(wt, err);
}

static bool is_same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/*
 * Is PATH still the directory that was opened? A link in its place is removed, not what it
 * points to. Another directory may be one of the user's, moved here: it is left alone, and so
 * is what is mounted in ours.
 */
static int find_place(struct fb_worktree *wt, struct fb_error *err)
{
	struct stat opened, now;

	if (fstat(wt->parent_fd, &opened) < 0 || stat(wt->parent, &now) < 0 ||
	    !is_same(&opened, &now))
		return fb_error_set(err, FB_ERROR_USAGE,
				    "something took the place of '%s': put it back", wt->parent);
	/* Whatever follows, git or we delete what is in the way. */
	if (fb_mounts_refuse(wt->path, err) < 0)
		return -1;
	if (fstatat(wt->parent_fd, wt->name, &now, AT_SYMLINK_NOFOLLOW) < 0) {
		if (errno != ENOENT)
			return fb_error_set_sys(err, errno, "'%s'", wt->path);
		return begin_anew(wt, err);
	}
	if (!S_ISDIR(now.st_mode))
		return begin_anew(wt, err);
	if (wt->dir_fd >= 0 && fstat(wt->dir_fd, &opened) == 0 && is_same(&opened, &now)) {
		if (~now.st_mode & S_IRWXU)
			(void)!fchmod(wt->dir_fd, (now.st_mode & 07777) | S_IRWXU);
		return 0;
	}
	if (unlinkat(wt->parent_fd, wt->name, AT_REMOVEDIR) == 0)
		return begin_anew(wt, err);
	return fb_error_set(err, FB_ERROR_USAGE,
			    "another directory took the place of '%s': move it away", wt->path);
}

/*
 * Must the index go, so that every file is written anew? When it cannot be read (a power cut
 * emptied it), and when a program that ran here told git to look away from a file: with
 * assume-unchanged or skip-worktree a changed file would stay as that program left it.
 */
static bool is_index_bad(git_index *index)
{
	for (size_t i = 0; i < git_index_entrycount(index); i++) {
		const git_index_entry *e = git_index_get_byindex(index, i);

		if ((e->flags & GIT_INDEX_ENTRY_VALID) ||
		    (e->flags_extended & GIT_INDEX_ENTRY_SKIP_WORKTREE))
			return true;
	}
	return false;
}

/* To git a submodule's files are the submodule's business, whatever they are. */
static int empty_gitlinks(int dir_fd, git_index *index, struct fb_error *err)
{
	for (size_t i = 0; i < git_index_entrycount(index); i++) {
		const git_index_entry *e = git_index_get_byindex(index, i);

		if (e->mode == GIT_FILEMODE_COMMIT && fb_leftovers_remove(dir_fd, e->path, err) < 0)
			return -1;
	}
	return 0;
}

/* @ret_lost: the index had to go, and with it what git knew of the files. */
static int prepare_index(struct fb_worktree *wt, bool keep, bool *ret_lost, struct fb_error *err)
{
	FB_CLEANUP(fb_freep) char *path = fb_xasprintf("%s/index", wt->admin);
	git_index *index = NULL;
	/* Never else: the times of the unchanged files are worth much to the next build. */
	bool bad = git_index_open(&index, path) < 0 || is_index_bad(index);
	int rc = 0;

	if (!bad && !keep)
		rc = empty_gitlinks(wt->dir_fd, index, err);
	else if (bad && unlink(path) < 0 && errno != ENOENT)
		rc = fb_error_set_sys(err, errno, "remove '%s'", path);
	git_index_free(index);
	*ret_lost = bad;
	return rc;
}

/* What is not in the index, ignored or not, goes. */
static int clean(struct fb_worktree *wt, struct fb_error *err)
{
	static const char *const args[] = {"clean", "--quiet", "-ffdx", NULL};
	bool lost;

	if (heal_link(wt, err) < 0 || fb_leftovers_make_tractable(wt->dir_fd, err) < 0 ||
	    prepare_index(wt, false, &lost, err) < 0)
		return -1;
	return run_git(wt, wt->admin, true, args, err);
}

/*
 * git 2.39 takes a tree that it cannot read for an empty one: it says so, removes every file and
 * exits with 0. Asked of git, which fetches what a partial clone has not got yet.
 */
static int check_tree(struct fb_worktree *wt, const struct fb_oid *oid, struct fb_error *err)
{
	FB_CLEANUP(fb_proc_result_release) struct fb_proc_result result = {0};
	FB_CLEANUP(fb_freep) char *tree = fb_xasprintf("%s^{tree}", oid->hex);
	const char *args[] = {"cat-file", "-e", tree, NULL};

	if (start_git(wt, wt->admin, true, args, &result, err) == 0)
		return 0;
	if (err->code == FB_ERROR_CHILD && result.end == FB_PROC_EXITED)
		err->code = FB_ERROR_DAMAGED;
	return fb_error_wrap(err, "no tree");
}

static int checkout(struct fb_worktree *wt, const struct fb_oid *oid, struct fb_error *err)
{
	const char *args[] = {"checkout", "--quiet", "--force", "--detach", oid->hex, "--", NULL};

	return check_tree(wt, oid, err) < 0 ? -1 : run_git(wt, wt->admin, true, args, err);
}

/*
 * Clean first; then nothing stands in the way of what the checkout writes. A checkout that was
 * killed is covered: its files are either known to the old index, and seen to differ, or
 * unknown to it.
 */
static int clean_and_checkout(struct fb_worktree *wt, const struct fb_oid *oid,
			      struct fb_error *err)
{
	if (remove_git_locks(wt->admin, err) < 0 || find_place(wt, err) < 0 ||
	    pin_filters(wt, err) < 0)
		return -1;
	if (clean(wt, err) < 0) {
		if (err->code != FB_ERROR_CHILD &&
		    (err->code != FB_ERROR_SYSTEM || err->sys == ENOSPC))
			return -1;
		/* Whatever it was: in an empty directory it cannot be. */
		fb_error_clear(err);
		if (begin_anew(wt, err) < 0)
			return -1;
	}
	return checkout(wt, oid, err);
}

/*
 * With --force whatever stands in the way goes. Attributes that a run has left behind would
 * change what is written.
 */
static int switch_to(struct fb_worktree *wt, const struct fb_oid *oid, bool *ret_lost,
		     struct fb_error *err)
{
	static const char *const attributes[] = {
		"clean", "--quiet", "-ffdx", "--", ":(top,glob)**/.gitattributes", NULL};

	if (remove_git_locks(wt->admin, err) < 0 || find_place(wt, err) < 0 ||
	    pin_filters(wt, err) < 0 || heal_link(wt, err) < 0 ||
	    prepare_index(wt, true, ret_lost, err) < 0)
		return -1;
	return *ret_lost					   ? 0
	       : run_git(wt, wt->admin, true, attributes, err) < 0 ? -1
								   : checkout(wt, oid, err);
}

int fb_worktree_switch(struct fb_worktree *wt, const struct fb_oid *oid, struct fb_error *err)
{
	struct fb_error why = FB_ERROR_INIT;
	bool lost = false;

	/* What went wrong goes wrong again, or a clean beginning helps. */
	if (is_oid(oid->hex) && switch_to(wt, oid, &lost, &why) == 0 && !lost)
		return 0;
	return fb_worktree_checkout(wt, oid, err);
}

int fb_worktree_checkout(struct fb_worktree *wt, const struct fb_oid *oid, struct fb_error *err)
{
	if (!is_oid(oid->hex))
		return fb_error_set(err, FB_ERROR_USAGE, "'%.40s' is no object name", oid->hex);
	if (clean_and_checkout(wt, oid, err) < 0)
		return fb_error_wrap(err, "checkout of %.12s in '%s'", oid->hex, wt->path);
	return 0;
}
