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
	char *admin; /* the registration */
	char **pins; /* options that keep the user's settings out */
	int lock_fd;
};

/*
 * Settings of the user, the system or the repository that would change what is checked out,
 * start something, or reach beyond this worktree. Filters are added by name in find_pins().
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

/* What git lists in `git rev-parse --local-env-vars`, and what talks to people. */
static const char *const base_env[] = {
	"LC_ALL=C",
	"GIT_ADVICE=0",
	"GIT_NO_REPLACE_OBJECTS=1", /* libgit2 knows no replacements: the same objects for both */
	"GIT_OPTIONAL_LOCKS=0",
	"GIT_TERMINAL_PROMPT=0",
	"GIT_ALTERNATE_OBJECT_DIRECTORIES",
	"GIT_ATTR_SOURCE",
	"GIT_CEILING_DIRECTORIES",
	"GIT_COMMON_DIR",
	"GIT_CONFIG",
	"GIT_CONFIG_COUNT",
	"GIT_CONFIG_PARAMETERS",
	"GIT_DEFAULT_HASH",
	"GIT_EXTERNAL_DIFF",
	"GIT_GRAFT_FILE",
	"GIT_IMPLICIT_WORK_TREE",
	"GIT_INDEX_FILE",
	"GIT_INDEX_VERSION",
	"GIT_INTERNAL_SUPER_PREFIX",
	"GIT_NAMESPACE",
	"GIT_OBJECT_DIRECTORY",
	"GIT_PREFIX",
	"GIT_REPLACE_REF_BASE",
	"GIT_SHALLOW_FILE",
	"GIT_TRACE",
	"GIT_WORK_TREE",
};

static void add_filter_pins(char ***v, const char *filter, size_t len)
{
	static const char *const field[] = {"smudge=", "clean=", "process=", "required=false"};

	for (size_t i = 0; i < FB_ARRAY_SIZE(field); i++) {
		FB_CLEANUP(fb_freep)
		char *pin = fb_xasprintf("%.*s.%s", (int)len, filter, field[i]);

		fb_strv_add(v, "-c");
		fb_strv_add(v, pin);
	}
}

/* A filter of any name may be set up; .gitattributes of the tree can ask for it. */
static char **find_pins(struct fb_history *history)
{
	git_config_iterator *it = NULL;
	git_config_entry *entry;
	git_config *config = NULL;
	char **v = NULL;

	for (size_t i = 0; i < FB_ARRAY_SIZE(pins); i++) {
		fb_strv_add(&v, "-c");
		fb_strv_add(&v, pins[i]);
	}
	/* Not git_config_foreach_match(): libgit2 1.5.1 leaks 20 KB for each name that differs. */
	if (git_repository_config(&config, history->repo) == 0 &&
	    git_config_iterator_new(&it, config) == 0)
		while (git_config_next(&entry, it) == 0) {
			const char *dot = strrchr(entry->name, '.');

			if (fb_str_has_prefix(entry->name, "filter.") && dot > entry->name + 7)
				add_filter_pins(&v, entry->name, (size_t)(dot - entry->name));
		}
	git_config_iterator_free(it);
	git_config_free(config);
	return v;
}

/* Neither git's exit status nor most of its messages tell why a file could not be written. */
static bool is_full(const char *path)
{
	struct statvfs vfs;

	return path && statvfs(path, &vfs) == 0 &&
	       (vfs.f_bavail * vfs.f_frsize < FULL_B || (vfs.f_files && !vfs.f_favail));
}

/* Run git with the pins and then @args (NULL-terminated). */
static int run_git(const struct fb_worktree *wt, const char *gitdir, const char *work_tree,
		   const char *const *args, struct fb_error *err)
{
	FB_CLEANUP(fb_strvp) char **argv = NULL, **env = NULL;
	FB_CLEANUP(fb_freep) char *env_dir = fb_xasprintf("GIT_DIR=%s", gitdir);
	FB_CLEANUP(fb_proc_result_release) struct fb_proc_result result = {0};
	struct fb_proc_spec spec = {.dir = work_tree ? work_tree : gitdir,
				    .timeout_ns = GIT_TIMEOUT_NS,
				    .pass_fds = &wt->lock_fd,
				    .nr_pass_fds = 1};

	fb_strv_add(&argv, "git");
	for (char **p = wt->pins; *p; p++)
		fb_strv_add(&argv, *p);
	for (; *args; args++)
		fb_strv_add(&argv, *args);
	for (size_t i = 0; i < FB_ARRAY_SIZE(base_env); i++)
		fb_strv_add(&env, base_env[i]);
	fb_strv_add(&env, env_dir);
	if (work_tree) {
		FB_CLEANUP(fb_freep) char *env_tree = fb_xasprintf("GIT_WORK_TREE=%s", work_tree);

		fb_strv_add(&env, env_tree);
	}
	spec.argv = (const char *const *)argv;
	spec.env = (const char *const *)env;
	if (fb_proc_run(&spec, &result, err) < 0)
		return -1;
	if (fb_proc_check(&spec, &result, err) == 0)
		return 0;
	if (result.end == FB_PROC_EXITED && (is_full(work_tree) || is_full(gitdir))) {
		fb_error_clear(err);
		return fb_error_set_sys(err, ENOSPC, "git");
	}
	return -1;
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
	int rc = run_git(wt, history->gitdir, NULL, args, err);

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

/* HEAD, and the two files by which the halves know each other. */
static int heal(struct fb_history *history, struct fb_worktree *wt, struct fb_error *err)
{
	FB_CLEANUP(fb_freep) char *head = read_line(wt->admin, "HEAD");
	FB_CLEANUP(fb_freep) char *back = read_line(wt->admin, "gitdir");
	FB_CLEANUP(fb_freep) char *link = read_line(wt->path, ".git");
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
	if (!link || strncmp(link, "gitdir: ", 8) || strcmp(link + 8, wt->admin)) {
		/* Something else of that name cannot be replaced by a file in one step. */
		if (!link && fb_remove_tree(want_back, err) < 0)
			return -1;
		return write_line(wt->path, ".git", "gitdir: ", wt->admin, err);
	}
	return 0;
}

static int take_up(struct fb_history *history, struct fb_worktree *wt, struct fb_error *err)
{
	struct stat st;
	bool there = lstat(wt->path, &st) == 0;

	wt->admin = find_admin(history, wt->path);
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

int fb_worktree_open(struct fb_history *history, const char *path, struct fb_worktree **ret,
		     struct fb_error *err)
{
	FB_CLEANUP(fb_worktree_freep) struct fb_worktree *wt = fb_xcalloc(1, sizeof(*wt));
	bool lock_is_new = false;

	wt->lock_fd = -1;
	wt->path = canonical(path, err);
	if (!wt->path)
		return -1;
	if (is_inside(wt->path, history->workdir) || is_inside(wt->path, history->gitdir))
		return fb_error_set(err, FB_ERROR_USAGE,
				    "worktree '%s' would be inside the repository '%s'", wt->path,
				    history->workdir);
	wt->lock_fd = lock(wt->path, &lock_is_new, err);
	if (wt->lock_fd < 0)
		return -1;
	wt->pins = find_pins(history);
	sweep_stubs(history, wt->path);
	if (take_up(history, wt, err) < 0) {
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
	fb_closep(&wt->lock_fd);
	fb_strvp(&wt->pins);
	free(wt->path);
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

/*
 * Clean first: what is not in the index, ignored or not, goes; then nothing stands in the way
 * of what the checkout writes. A checkout that was killed is covered: its files are either
 * known to the old index, and seen to differ, or unknown to it.
 */
static int clean_and_checkout(struct fb_worktree *wt, const struct fb_oid *oid,
			      struct fb_error *err)
{
	const char *clean[] = {"clean", "--quiet", "-ffdx", NULL};
	const char *checkout[] = {"checkout", "--quiet", "--force", "--detach",
				  oid->hex,   "--",	 NULL};

	if (remove_git_locks(wt->admin, err) < 0)
		return -1;
	if (run_git(wt, wt->admin, wt->path, clean, err) < 0)
		return -1;
	return run_git(wt, wt->admin, wt->path, checkout, err);
}

/*
 * Must the index go, so that every file is written anew? When it cannot be read (a power cut
 * emptied it), and when a program that ran here told git to look away from a file: with
 * assume-unchanged or skip-worktree a changed file would stay as that program left it.
 */
static bool is_index_bad(const char *path)
{
	git_index *index = NULL;
	bool bad = git_index_open(&index, path) < 0;

	for (size_t i = 0; !bad && i < git_index_entrycount(index); i++) {
		const git_index_entry *e = git_index_get_byindex(index, i);

		bad = (e->flags & GIT_INDEX_ENTRY_VALID) ||
		      (e->flags_extended & GIT_INDEX_ENTRY_SKIP_WORKTREE);
	}
	git_index_free(index);
	return bad;
}

int fb_worktree_checkout(struct fb_worktree *wt, const struct fb_oid *oid, struct fb_error *err)
{
	FB_CLEANUP(fb_freep) char *index = fb_xasprintf("%s/index", wt->admin);

	if (!is_oid(oid->hex))
		return fb_error_set(err, FB_ERROR_USAGE, "'%.40s' is no object name", oid->hex);
	/* Never else: the times of the unchanged files are worth much to the next build. */
	if (is_index_bad(index) && unlink(index) < 0 && errno != ENOENT)
		return fb_error_set_sys(err, errno, "remove '%s'", index);
	if (clean_and_checkout(wt, oid, err) < 0)
		return fb_error_wrap(err, "checkout of %.12s in '%s'", oid->hex, wt->path);
	return 0;
}
