/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From a checked-out source tree to a cached kernel image. */
#include "src/build/build.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "src/build/cache.h"
#include "src/build/config.h"
#include "src/build/fixup.h"
#include "src/build/log.h"
#include "src/build/settled.h"
#include "src/build/signature.h"
#include "src/util/clock.h"
#include "src/util/file.h"
#include "src/util/json.h"
#include "src/util/proc.h"
#include "src/util/str.h"
#include "src/util/util.h"

/*
 * Part of every key and of the stamp of an object directory. Raise it when a change here
 * makes another image of the same source.
 */
#define RULES "firstbad build rules 2"

#define ARCH	       "x86_64"
#define CONFIG_MAX_B   (4u << 20)
#define PATCH_MAX_B    (16u << 20)
#define LOG_MAX_B      (64u << 20)
#define MAKEFILE_MAX_B (4u << 20)
#define LOCK_WAIT_NS   (20 * FB_NS_PER_S) /* a killed build's make is gone sooner */
#define DISK_FULL_B    (1u << 20)
#define STAMP_NAME     ".firstbad-objdir"  /* says the directory is ours and what made it */
#define RUNNING_NAME   ".firstbad-running" /* a build runs, or was killed */
#define FIXUPS_NAME    ".firstbad-fixups"
#define LOG_NAME       "firstbad-build.log" /* of a build that is not kept */

/*
 * Set before the fragments, so that a fragment can ask for the contrary: stamps, keys made
 * at random and debug sections make images of one source differ, and warnings are no errors.
 */
static const char overrides[] = "# CONFIG_DEBUG_INFO is not set\n"
				"# CONFIG_DEBUG_INFO_BTF is not set\n"
				"CONFIG_DEBUG_INFO_NONE=y\n"
				"# CONFIG_GCC_PLUGINS is not set\n"
				"# CONFIG_IKHEADERS is not set\n"
				"CONFIG_LOCALVERSION=\"\"\n"
				"# CONFIG_LOCALVERSION_AUTO is not set\n"
				"# CONFIG_MODULE_SIG is not set\n"
				"CONFIG_MODULE_COMPRESS_NONE=y\n"
				"CONFIG_SYSTEM_REVOCATION_KEYS=\"\"\n"
				"CONFIG_SYSTEM_TRUSTED_KEYS=\"\"\n"
				"# CONFIG_WERROR is not set\n";

/* What of the user's environment a build may see. Everything else could change the image. */
static const char *const env_kept[] = {"PATH",	  "HOME",	"TMPDIR",	 "USER",
				       "LOGNAME", "CCACHE_DIR", "CCACHE_MAXSIZE"};

static const char *const env_set[] = {
	"LC_ALL=C",
	"TZ=UTC",
	/* date(1) must read it too: the initramfs generator passes it there. */
	"KBUILD_BUILD_TIMESTAMP=Thu Jan  1 00:00:00 UTC 2026",
	"KBUILD_BUILD_USER=firstbad",
	"KBUILD_BUILD_HOST=firstbad",
	"KBUILD_BUILD_VERSION=1",
	"CCACHE_NOHASHDIR=1",
	"GIT_CONFIG_GLOBAL=/dev/null",
};

static const char *const needed_tools[] = {"make", "gcc", "ld", "objcopy", "flex", "bison", "bc"};

struct version {
	unsigned major, minor;
};

struct build {
	const struct fb_build_spec *spec;
	char key[FB_HASH_HEX_SIZE];
	char *src, *objdir; /* absolute */
	char *toolchain;    /* for people */
	char *toolchain_id; /* for the key */
	char *stamp;
	struct fb_cache_entry entry;
	struct fb_config config;
	struct version version;
	char **env;
	char **make; /* make and the arguments of each call */
	int lock;
	int64_t start_ns, deadline_ns, cpu_ns;
	struct fb_str dot_config; /* the final one */
	char *cause;		  /* when the commit does not build */
};

static void build_release(struct build *b)
{
	fb_cache_drop(&b->entry);
	free(b->src);
	free(b->objdir);
	free(b->toolchain);
	free(b->toolchain_id);
	free(b->stamp);
	fb_config_release(&b->config);
	fb_strvp(&b->env);
	fb_strvp(&b->make);
	if (b->lock >= 0)
		close(b->lock);
	fb_str_release(&b->dot_config);
	free(b->cause);
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool exists(const char *dir, const char *name)
{
	FB_CLEANUP(fb_freep) char *path = fb_xasprintf("%s/%s", dir, name);

	return access(path, F_OK) == 0;
}

static bool is_named_base(const char *base)
{
	return !strcmp(base, "tinyconfig") || !strcmp(base, "defconfig");
}

/* --- toolchain and key --- */

/* The last line of gcc -v ("gcc version 12.2.0 (Debian 12.2.0-14)") is the one for people. */
static char *gcc_version(const char *text)
{
	const char *p = strstr(text, "gcc version ");

	return p ? fb_xstrndup(p, strcspn(p, "\n")) : fb_xstrndup(text, strcspn(text, "\n"));
}

static int find_toolchain(char **ret, char **ret_id, struct fb_error *err)
{
	static const char *const gcc_argv[] = {"gcc", "-v", NULL};
	static const char *const ld_argv[] = {"ld", "-v", NULL};
	static const char *const env[] = {"LC_ALL=C", "GCC_EXEC_PREFIX", "COMPILER_PATH", NULL};
	struct fb_proc_spec gcc = {.argv = gcc_argv, .env = env};
	struct fb_proc_spec ld = {.argv = ld_argv, .env = env};
	FB_CLEANUP(fb_proc_result_release) struct fb_proc_result g = {0};
	FB_CLEANUP(fb_proc_result_release) struct fb_proc_result l = {0};
	FB_CLEANUP(fb_freep) char *version = NULL;
	const char *ld_text;

	if (fb_proc_run(&gcc, &g, err) < 0 || fb_proc_check(&gcc, &g, err) < 0)
		return fb_error_wrap(err, "find the toolchain (package gcc)");
	if (fb_proc_run(&ld, &l, err) < 0 || fb_proc_check(&ld, &l, err) < 0)
		return fb_error_wrap(err, "find the toolchain (package binutils)");
	version = gcc_version(fb_str_cstr(&g.err));
	ld_text = fb_str_cstr(&l.out);
	*ret = fb_xasprintf("%s, %.*s", version, (int)strcspn(ld_text, "\n"), ld_text);
	*ret_id = fb_xasprintf("%s%s", fb_str_cstr(&g.err), ld_text);
	return 0;
}

static int hash_input(struct fb_hash *h, const char *what, const char *path, size_t max_b,
		      struct fb_error *err)
{
	FB_CLEANUP(fb_str_release) struct fb_str s = FB_STR_INIT;

	if (access(path, R_OK) < 0)
		return fb_error_set(err, FB_ERROR_MISSING, "%s '%s': %s", what, path,
				    strerror(errno));
	if (fb_file_read(path, max_b, &s, err) < 0)
		return -1;
	fb_hash_add(h, fb_str_cstr(&s), s.len);
	return 0;
}

static int make_key(const struct fb_build_spec *spec, const char *toolchain_id,
		    char ret[FB_HASH_HEX_SIZE], struct fb_error *err)
{
	struct fb_hash h;

	if (!spec->tree_id || !*spec->tree_id)
		return fb_error_set(err, FB_ERROR_INPUT, "build spec: no tree id");
	fb_hash_init(&h);
	fb_hash_add_str(&h, RULES);
	fb_hash_add_str(&h, ARCH);
	fb_hash_add_str(&h, toolchain_id);
	fb_hash_add_str(&h, spec->tree_id);
	if (is_named_base(spec->config_base)) {
		fb_hash_add_str(&h, spec->config_base);
	} else {
		fb_hash_add_str(&h, "file");
		if (hash_input(&h, "kernel config", spec->config_base, CONFIG_MAX_B, err) < 0)
			return -1;
	}
	for (size_t i = 0; spec->fragments && spec->fragments[i]; i++) {
		fb_hash_add_str(&h, "fragment");
		if (hash_input(&h, "kconfig fragment", spec->fragments[i], CONFIG_MAX_B, err) < 0)
			return -1;
	}
	for (size_t i = 0; spec->fixups && spec->fixups[i]; i++) {
		fb_hash_add_str(&h, "fixup");
		if (hash_input(&h, "fixup", spec->fixups[i], PATCH_MAX_B, err) < 0)
			return -1;
	}
	fb_hash_hex(&h, ret);
	return 0;
}

int fb_build_key(const struct fb_build_spec *spec, char ret[FB_HASH_HEX_SIZE], struct fb_error *err)
{
	FB_CLEANUP(fb_freep) char *toolchain = NULL;
	FB_CLEANUP(fb_freep) char *id = NULL;

	if (find_toolchain(&toolchain, &id, err) < 0)
		return -1;
	return make_key(spec, id, ret, err);
}

int fb_build_lookup(const struct fb_build_spec *spec, struct fb_build_result *ret,
		    struct fb_error *err)
{
	char key[FB_HASH_HEX_SIZE];

	if (fb_build_key(spec, key, err) < 0)
		return -1;
	return fb_cache_load(spec->cache, key, ret, err);
}

/* --- before the build --- */

static int check_tools(struct fb_error *err)
{
	for (size_t i = 0; i < FB_ARRAY_SIZE(needed_tools); i++) {
		FB_CLEANUP(fb_freep) char *path = fb_proc_find(needed_tools[i]);

		if (!path)
			return fb_error_set(err, FB_ERROR_MISSING,
					    "building a kernel needs '%s' (Debian package %s)",
					    needed_tools[i], fb_build_package(needed_tools[i]));
	}
	return 0;
}

/*
 * kbuild puts these paths into shell commands and make rules; it refuses spaces and colons
 * itself. Nothing that a shell or make could read otherwise gets there from us.
 */
static int check_path(const char *what, const char *path, struct fb_error *err)
{
	for (const char *p = path; *p; p++)
		if (!isalnum((unsigned char)*p) && !strchr("/._+,@%=-", *p))
			return fb_error_set(err, FB_ERROR_INPUT,
					    "%s '%s': kernels cannot be built in paths with '%c'",
					    what, path, *p);
	return 0;
}

static int read_version(struct build *b, struct fb_error *err)
{
	FB_CLEANUP(fb_freep) char *path = fb_xasprintf("%s/Makefile", b->src);
	FB_CLEANUP(fb_str_release) struct fb_str s = FB_STR_INIT;
	bool have[2] = {false, false};

	if (access(path, F_OK) == 0) {
		if (fb_file_read(path, MAKEFILE_MAX_B, &s, err) < 0)
			return -1;
		for (const char *p = fb_str_cstr(&s); *p; p += strcspn(p, "\n"), p += *p == '\n') {
			if (!have[0] && sscanf(p, "VERSION = %u", &b->version.major) == 1)
				have[0] = true;
			if (!have[1] && sscanf(p, "PATCHLEVEL = %u", &b->version.minor) == 1)
				have[1] = true;
		}
	}
	if (!have[0] || !have[1])
		b->cause = fb_xstrdup("Makefile has no VERSION and PATCHLEVEL: no kernel tree");
	return 0;
}

static bool is_older(struct version v, unsigned major, unsigned minor)
{
	return v.major < major || (v.major == major && v.minor < minor);
}

/*
 * The deepest directory that holds both the source and the objects; NULL when that is "/".
 * ccache names files below it relative to the object directory, so that pairs of source and
 * objects that lie alike to each other share what it has.
 */
static char *common_parent(const struct build *b)
{
	FB_CLEANUP(fb_freep) char *dir = fb_xstrdup(b->src);

	while (strrchr(dir, '/') > dir) {
		size_t n;

		*strrchr(dir, '/') = '\0';
		n = strlen(dir);
		if (!strncmp(b->objdir, dir, n) && b->objdir[n] == '/')
			return FB_TAKE(dir);
	}
	return NULL;
}

/* The source as seen from the object directory, by way of their common parent @base. */
static char *relative_src(const struct build *b, const char *base)
{
	struct fb_str s = FB_STR_INIT;

	for (const char *p = b->objdir + strlen(base); *p; p++)
		if (*p == '/')
			fb_str_add(&s, s.len ? "/.." : "..");
	fb_str_add(&s, b->src + strlen(base));
	return fb_str_take(&s);
}

static void make_env(struct build *b)
{
	extern char **environ;
	FB_CLEANUP(fb_freep) char *base = common_parent(b);

	for (size_t i = 0; i < FB_ARRAY_SIZE(env_set); i++)
		fb_strv_add(&b->env, env_set[i]);
	if (!getenv("CCACHE_DIR")) {
		FB_CLEANUP(fb_freep)
		char *dir = fb_xasprintf("CCACHE_DIR=%s/ccache", b->spec->cache);

		fb_strv_add(&b->env, dir);
	}
	if (base) {
		FB_CLEANUP(fb_freep) char *set = fb_xasprintf("CCACHE_BASEDIR=%s", base);

		fb_strv_add(&b->env, set);
	}
	for (char **e = environ; *e; e++) {
		FB_CLEANUP(fb_freep) char *name = fb_xstrndup(*e, strcspn(*e, "="));
		bool known = false;

		for (size_t i = 0; i < FB_ARRAY_SIZE(env_kept) && !known; i++)
			known = !strcmp(name, env_kept[i]);
		for (size_t i = 0; b->env[i] && !known; i++)
			known = !strncmp(b->env[i], name, strlen(name)) &&
				b->env[i][strlen(name)] == '=';
		if (!known)
			fb_strv_add(&b->env, name);
	}
}

static void add_arg(struct build *b, const char *fmt, const char *s)
{
	FB_CLEANUP(fb_freep) char *arg = NULL;
	struct fb_str text = FB_STR_INIT;
	const char *at = strstr(fmt, "%s");

	fb_str_addn(&text, fmt, (size_t)(at - fmt));
	fb_str_add(&text, s);
	fb_str_add(&text, at + 2);
	arg = fb_str_take(&text);
	fb_strv_add(&b->make, arg);
}

/*
 * The release is the same for all commits of one series: a commit that only raises SUBLEVEL
 * builds the same image, and utsrelease.h does not change from step to step. It begins with
 * the true version, for C libraries that refuse kernels by it.
 */
static char *release_of(const struct build *b)
{
	return fb_xasprintf("%u.%u.0-firstbad", b->version.major, b->version.minor);
}

static void make_args(struct build *b)
{
	FB_CLEANUP(fb_freep) char *ccache = fb_proc_find("ccache");
	FB_CLEANUP(fb_freep) char *release = release_of(b);
	FB_CLEANUP(fb_freep) char *base = common_parent(b);
	FB_CLEANUP(fb_freep) char *rel = base ? relative_src(b, base) : NULL;
	FB_CLEANUP(fb_freep) char *flags = NULL;
	unsigned jobs = b->spec->jobs;
	char number[32];

	if (!jobs) {
		long n = sysconf(_SC_NPROCESSORS_ONLN);

		jobs = n > 0 ? (unsigned)n : 1;
	}
	snprintf(number, sizeof(number), "%u", jobs);
	fb_strv_add(&b->make, "make");
	add_arg(b, "-j%s", number);
	add_arg(b, "O=%s", b->objdir);
	fb_strv_add(&b->make, "ARCH=" ARCH);
	fb_strv_add(&b->make, ccache ? "CC=ccache gcc" : "CC=gcc");
	add_arg(b, "KERNELRELEASE=%s", release);
	fb_strv_add(&b->make, "LOCALVERSION=");
	/* It reaches the vDSO's note and LINUX_VERSION_CODE; in 2.6.y it is a real version. */
	if (b->version.major >= 3) {
		fb_strv_add(&b->make, "SUBLEVEL=0");
		fb_strv_add(&b->make, "EXTRAVERSION=");
	}
	/*
	 * __FILE__ must not say where the tree lies. Kernels care for that themselves since
	 * v5.7, but do not know the relative names that ccache makes.
	 */
	flags = base ? fb_xasprintf("-Wno-error -fmacro-prefix-map=%s/= -fmacro-prefix-map=%s/=",
				    b->src, rel)
		     : fb_xasprintf("-Wno-error -fmacro-prefix-map=%s/=", b->src);
	add_arg(b, "KCFLAGS=%s", flags);
	/* For programs below tools/ (objtool). */
	fb_strv_add(&b->make, "WERROR=0");
	/* Before v5.7 scripts/dtc defines yylloc twice, which gcc 10 no longer merges. */
	if (is_older(b->version, 5, 7))
		fb_strv_add(&b->make, "HOSTCFLAGS=-O2 -fomit-frame-pointer -fcommon");
}

static int64_t time_left(const struct build *b)
{
	return b->deadline_ns ? b->deadline_ns - fb_clock_mono_ns() : INT64_MAX;
}

static int out_of_time(const struct build *b, struct fb_error *err)
{
	return fb_error_set(err, FB_ERROR_TIMEOUT, "build ran out of time (%lld s)",
			    (long long)(b->spec->timeout_ns / FB_NS_PER_S));
}

/* One build at a time in an object directory. A killed build's processes end soon after it. */
static int lock_objdir(struct build *b, struct fb_error *err)
{
	FB_CLEANUP(fb_freep) char *path = fb_xasprintf("%s.lock", b->objdir);
	int64_t until_ns = fb_clock_mono_ns() + LOCK_WAIT_NS;

	b->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	if (b->lock < 0)
		return fb_error_set_sys(err, errno, "open '%s'", path);
	while (flock(b->lock, LOCK_EX | LOCK_NB) < 0) {
		struct timespec nap = {.tv_nsec = 50 * FB_NS_PER_MS};

		if (errno != EWOULDBLOCK && errno != EINTR)
			return fb_error_set_sys(err, errno, "lock '%s'", path);
		if (time_left(b) <= 0)
			return out_of_time(b, err);
		if (fb_clock_mono_ns() > until_ns)
			return fb_error_set(err, FB_ERROR_INFRA,
					    "another build runs in object directory '%s'",
					    b->objdir);
		nanosleep(&nap, NULL);
	}
	return 0;
}

/* Is there anything in it but what names itself ours? */
static bool is_empty(const char *dir)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	bool empty = true;

	while (d && empty && (e = readdir(d)) != NULL)
		empty = !strcmp(e->d_name, ".") || !strcmp(e->d_name, "..");
	if (d)
		closedir(d);
	return empty;
}

/* nftw() has no argument for these. Not re-entrant, like nftw()'s use here. */
static _Thread_local struct timespec suspect_since;

/*
 * A compiler killed by SIGKILL leaves half an object that looks up to date to make. All that
 * was written since that build began is made again (ccache has most of it). Not so
 * include/config: its files are time stamps that no rule makes, and kconfig writes them last.
 */
static int remove_suspect(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	if (ftw->level == 2 && type == FTW_D && fb_str_has_suffix(path, "/include/config"))
		return FTW_SKIP_SUBTREE;
	if (ftw->level == 1 && !strcmp(path + ftw->base, FIXUPS_NAME))
		return type == FTW_D ? FTW_SKIP_SUBTREE : FTW_CONTINUE;
	if (type == FTW_D || (ftw->level == 1 && fb_str_has_prefix(path + ftw->base, ".firstbad-")))
		return FTW_CONTINUE;
	if (st->st_mtim.tv_sec < suspect_since.tv_sec ||
	    (st->st_mtim.tv_sec == suspect_since.tv_sec &&
	     st->st_mtim.tv_nsec < suspect_since.tv_nsec))
		return FTW_CONTINUE;
	return unlink(path) < 0 ? FTW_STOP : FTW_CONTINUE;
}

static int clean_after_kill(struct build *b, const char *running, struct fb_error *err)
{
	struct stat st;

	if (lstat(running, &st) < 0)
		return errno == ENOENT ? 0 : fb_error_set_sys(err, errno, "stat '%s'", running);
	suspect_since = st.st_mtim;
	if (nftw(b->objdir, remove_suspect, 32, FTW_PHYS | FTW_ACTIONRETVAL) != 0)
		return fb_error_set_sys(err, errno, "clean '%s'", b->objdir);
	return 0;
}

/* Make the object directory ours, clean, and made by this toolchain. */
static int prepare_objdir(struct build *b, struct fb_error *err)
{
	FB_CLEANUP(fb_freep) char *stamp_path = fb_xasprintf("%s/%s", b->objdir, STAMP_NAME);
	FB_CLEANUP(fb_freep) char *running = fb_xasprintf("%s/%s", b->objdir, RUNNING_NAME);
	FB_CLEANUP(fb_str_release) struct fb_str stamp = FB_STR_INIT;
	FB_CLEANUP(fb_freep) char *want = NULL;
	struct fb_hash h;
	char hex[FB_HASH_HEX_SIZE];

	fb_hash_init(&h);
	fb_hash_add_str(&h, b->toolchain_id);
	fb_hash_hex(&h, hex);
	want = fb_xasprintf("%s\n%s\n%s\n", RULES, hex, b->src);
	if (access(stamp_path, F_OK) == 0) {
		if (fb_file_read(stamp_path, CONFIG_MAX_B, &stamp, err) < 0)
			return -1;
		if (!strcmp(fb_str_cstr(&stamp), want))
			return clean_after_kill(b, running, err);
		/* make knows a changed compiler only by its version text. */
		if (fb_remove_tree(b->objdir, err) < 0 || fb_mkdirs(b->objdir, err) < 0)
			return -1;
	} else if (!is_empty(b->objdir)) {
		return fb_error_set(err, FB_ERROR_INPUT,
				    "object directory '%s' holds files that are not ours",
				    b->objdir);
	}
	return fb_file_write(stamp_path, want, strlen(want), err);
}

/* --- running make --- */

static bool is_disk_full(const char *path)
{
	struct statvfs s;

	return statvfs(path, &s) == 0 && (uint64_t)s.f_bavail * s.f_frsize < DISK_FULL_B;
}

static int append_file(const char *from, const char *to, struct fb_error *err)
{
	FB_CLEANUP(fb_str_release) struct fb_str s = FB_STR_INIT;
	FB_CLEANUP(fb_closep) int fd = -1;

	if (fb_file_read(from, LOG_MAX_B, &s, err) < 0)
		return -1;
	fd = open(to, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	if (fd < 0)
		return fb_error_set_sys(err, errno, "open '%s'", to);
	for (size_t at = 0; at < s.len;) {
		ssize_t n = write(fd, s.buf + at, s.len - at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return fb_error_set_sys(err, errno, "write '%s'", to);
		at += (size_t)n;
	}
	return 0;
}

/* A failed make: whose fault? 1 with b->cause when the commit's. */
static int judge_failure(struct build *b, const char *log, struct fb_error *err)
{
	FB_CLEANUP(fb_str_release) struct fb_str s = FB_STR_INIT;
	FB_CLEANUP(fb_log_cause_release) struct fb_log_cause cause = {0};
	FB_CLEANUP(fb_freep) char *base = common_parent(b);
	FB_CLEANUP(fb_freep) char *rel = base ? relative_src(b, base) : NULL;
	const char *roots[] = {b->src, b->objdir, rel, NULL};
	const char *tmp = getenv("TMPDIR");

	if (is_disk_full(b->objdir) || is_disk_full(b->entry.dir) ||
	    is_disk_full(tmp ? tmp : "/tmp"))
		return fb_error_set_sys(err, ENOSPC, "build in '%s'", b->objdir);
	if (fb_file_read(log, LOG_MAX_B, &s, err) < 0)
		return -1;
	fb_log_find_cause(fb_str_cstr(&s), s.len, roots, &cause);
	switch (cause.fault) {
	case FB_LOG_COMMIT:
		b->cause = FB_TAKE(cause.line);
		return 1;
	case FB_LOG_SPACE:
		return fb_error_set_sys(err, ENOSPC, "build in '%s': '%s'", b->objdir, cause.line);
	case FB_LOG_KILLED:
		return fb_error_set(err, FB_ERROR_INFRA, "build was disturbed: %s", cause.line);
	case FB_LOG_TOOL:
		return fb_error_set(err, FB_ERROR_MISSING,
				    "building this kernel needs Debian package %s: %s",
				    cause.package, cause.line);
	}
	FB_BUG("unknown fault %d", (int)cause.fault);
}

/* 0 done, 1 the commit's fault (b->cause), -1 ours. @targets ends with NULL. */
static int run_make(struct build *b, const char *const *targets, struct fb_error *err)
{
	FB_CLEANUP(fb_freep) char *step = fb_xasprintf("%s/step.log", b->entry.dir);
	FB_CLEANUP(fb_freep) char *log = fb_xasprintf("%s/build.log", b->entry.dir);
	FB_CLEANUP(fb_strvp) char **argv = NULL;
	FB_CLEANUP(fb_proc_result_release) struct fb_proc_result result = {0};
	struct fb_proc_spec spec = {.dir = b->src, .out_path = step};
	int rc = 0;

	for (size_t i = 0; b->make[i]; i++)
		fb_strv_add(&argv, b->make[i]);
	for (; *targets; targets++)
		fb_strv_add(&argv, *targets);
	spec.argv = (const char *const *)argv;
	spec.env = (const char *const *)b->env;
	if (b->deadline_ns) {
		spec.timeout_ns = time_left(b);
		if (spec.timeout_ns <= 0)
			return out_of_time(b, err);
	}
	if (fb_proc_run(&spec, &result, err) < 0)
		return -1;
	b->cpu_ns += result.cpu_ns;
	if (append_file(step, log, err) < 0)
		return -1;
	switch (result.end) {
	case FB_PROC_EXITED:
		if (result.status)
			rc = judge_failure(b, step, err);
		break;
	case FB_PROC_SIGNALLED:
		rc = fb_error_set(err, FB_ERROR_INFRA, "make was killed by signal %d",
				  result.status);
		break;
	case FB_PROC_TIMED_OUT:
		rc = out_of_time(b, err);
		break;
	case FB_PROC_LOST:
		rc = fb_error_set(err, FB_ERROR_INFRA, "make was lost with its keeper");
		break;
	}
	if (rc == 0)
		unlink(step);
	return rc;
}

/* --- the kernel config --- */

static int load_fragments(struct build *b, struct fb_error *err)
{
	for (size_t i = 0; b->spec->fragments && b->spec->fragments[i]; i++) {
		const char *path = b->spec->fragments[i];
		FB_CLEANUP(fb_str_release) struct fb_str s = FB_STR_INIT;

		if (fb_file_read(path, CONFIG_MAX_B, &s, err) < 0 ||
		    fb_config_parse(&b->config, fb_str_cstr(&s), s.len, base_name(path), err) < 0)
			return -1;
	}
	return 0;
}

/* tinyconfig came with v3.17, olddefconfig with v3.7. */
static const char *base_target(const struct build *b)
{
	if (!strcmp(b->spec->config_base, "tinyconfig") && is_older(b->version, 3, 17))
		return "allnoconfig";
	return b->spec->config_base;
}

/* All that decides about the .config and does not lie in the source tree. */
static void hash_ask(const struct build *b, const struct fb_str *base, char ret[FB_HASH_HEX_SIZE])
{
	FB_CLEANUP(fb_str_release) struct fb_str requests = FB_STR_INIT;
	struct fb_hash h;

	fb_config_add_text(&b->config, &requests);
	fb_hash_init(&h);
	fb_hash_add_str(&h, RULES);
	fb_hash_add_str(&h, b->toolchain_id);
	fb_hash_add_str(&h, getenv("PATH"));
	for (size_t i = 0; b->env[i]; i++)
		fb_hash_add_str(&h, strchr(b->env[i], '=') ? b->env[i] : "");
	for (size_t i = 0; b->make[i]; i++)
		if (!fb_str_has_prefix(b->make[i], "-j"))
			fb_hash_add_str(&h, b->make[i]);
	fb_hash_add_str(&h, b->spec->config_base);
	fb_hash_add(&h, fb_str_cstr(base), base->len);
	fb_hash_add_str(&h, overrides);
	fb_hash_add_str(&h, fb_str_cstr(&requests));
	fb_hash_hex(&h, ret);
}

/*
 * Make .config anew. Always from the same seed: what an earlier commit's Kconfig made of it does
 * not count. @base: the file that was given, empty for a named base.
 */
static int settle(struct build *b, const struct fb_str *base, struct fb_error *err)
{
	FB_CLEANUP(fb_freep) char *path = fb_xasprintf("%s/.config", b->objdir);
	FB_CLEANUP(fb_freep) char *last = fb_xasprintf("%s/.firstbad-config", b->objdir);
	FB_CLEANUP(fb_freep) char *list = fb_xasprintf("%s/" FB_SETTLED_LIST, b->objdir);
	FB_CLEANUP(fb_str_release) struct fb_str text = FB_STR_INIT;
	FB_CLEANUP(fb_str_release) struct fb_str before = FB_STR_INIT;
	const char *settle[] = {is_older(b->version, 3, 7) ? "oldconfig" : "olddefconfig", NULL};
	const char *from[] = {base_target(b), NULL};
	struct stat st;
	bool had = stat(path, &st) == 0 && access(last, F_OK) == 0;
	int rc;

	if (fb_settled_forget(b->objdir, err) < 0 ||
	    (had && fb_file_read(last, CONFIG_MAX_B, &before, err) < 0))
		return -1;
	if (is_named_base(b->spec->config_base)) {
		if (unlink(path) < 0 && errno != ENOENT)
			return fb_error_set_sys(err, errno, "remove '%s'", path);
		rc = run_make(b, from, err);
		if (rc)
			return rc;
		if (fb_file_read(path, CONFIG_MAX_B, &text, err) < 0)
			return -1;
	} else {
		fb_str_addn(&text, fb_str_cstr(base), base->len);
	}
	fb_str_add(&text, "\n");
	fb_str_add(&text, overrides);
	fb_config_add_text(&b->config, &text);
	if (fb_file_write(path, fb_str_cstr(&text), text.len, err) < 0)
		return -1;
	rc = run_make(b, settle, err);
	if (rc)
		return rc;
	/* The next make writes it again, so that it is of this tree whatever time stamps say. */
	if (unlink(list) < 0 && errno != ENOENT)
		return fb_error_set_sys(err, errno, "remove '%s'", list);
	if (fb_file_read(path, CONFIG_MAX_B, &b->dot_config, err) < 0)
		return -1;
	if (!fb_config_check(&b->config, fb_str_cstr(&b->dot_config), b->dot_config.len, &b->cause))
		return 1;
	/* The same as in the last build: then make need not look at it again. */
	if (had && before.len == b->dot_config.len &&
	    !memcmp(fb_str_cstr(&before), fb_str_cstr(&b->dot_config), before.len)) {
		struct timespec t[2] = {{.tv_nsec = UTIME_OMIT}, st.st_mtim};

		if (utimensat(AT_FDCWD, path, t, 0) < 0)
			return fb_error_set_sys(err, errno, "set the time of '%s'", path);
		return 0;
	}
	return fb_file_write(last, fb_str_cstr(&b->dot_config), b->dot_config.len, err);
}

/* @ret_ask: what fb_settled_save() is to be told once make has read the config; "" for nothing. */
static int make_config(struct build *b, char ret_ask[FB_HASH_HEX_SIZE], struct fb_error *err)
{
	FB_CLEANUP(fb_str_release) struct fb_str base = FB_STR_INIT;
	char ask[FB_HASH_HEX_SIZE];
	int rc;

	if (!is_named_base(b->spec->config_base) &&
	    fb_file_read(b->spec->config_base, CONFIG_MAX_B, &base, err) < 0)
		return -1;
	hash_ask(b, &base, ask);
	rc = fb_settled_load(b->src, b->objdir, ask, &b->dot_config, err);
	if (rc < 0)
		return -1;
	snprintf(ret_ask, FB_HASH_HEX_SIZE, "%s", rc ? "" : ask);
	return rc ? 0 : settle(b, &base, err);
}

/* --- from objects to an image --- */

static bool config_is(const struct build *b, const char *name)
{
	return fb_config_is(fb_str_cstr(&b->dot_config), b->dot_config.len, name, "y");
}

static int run_tool(struct build *b, const char *const *argv, struct fb_error *err)
{
	struct fb_proc_spec spec = {.argv = argv, .env = (const char *const *)b->env};
	FB_CLEANUP(fb_proc_result_release) struct fb_proc_result result = {0};

	if (b->deadline_ns) {
		spec.timeout_ns = time_left(b);
		if (spec.timeout_ns <= 0)
			return out_of_time(b, err);
	}
	if (fb_proc_run(&spec, &result, err) < 0)
		return -1;
	if (result.end == FB_PROC_TIMED_OUT)
		return out_of_time(b, err);
	if (result.end != FB_PROC_EXITED || result.status) {
		if (is_disk_full(b->entry.dir))
			return fb_error_set_sys(err, ENOSPC, "'%s'", argv[0]);
		return fb_proc_check(&spec, &result, err);
	}
	return 0;
}

static _Thread_local char ***found_modules;

static int find_module(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	/* modules_install leaves links to the trees it was built from. */
	if (type == FTW_SL)
		return unlink(path);
	if (type == FTW_F && fb_str_has_suffix(path, ".ko"))
		fb_strv_add(found_modules, path);
	return 0;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static int sign(struct build *b, const char *vmlinux, const char *modules,
		char ret[FB_HASH_HEX_SIZE], struct fb_error *err)
{
	FB_CLEANUP(fb_strvp) char **list = NULL;
	bool bug_lines = !config_is(b, "CONFIG_DEBUG_BUGVERBOSE");
	struct fb_hash h;

	fb_hash_init(&h);
	if (fb_signature_add(&h, vmlinux, bug_lines, err) < 0)
		return -1;
	if (modules) {
		found_modules = &list;
		if (nftw(modules, find_module, 32, FTW_PHYS) != 0)
			return fb_error_set_sys(err, errno, "walk '%s'", modules);
		qsort(list, fb_strv_len(list), sizeof(*list), by_name);
	}
	for (size_t i = 0; list && list[i]; i++) {
		fb_hash_add_str(&h, list[i] + strlen(modules));
		if (fb_signature_add(&h, list[i], bug_lines, err) < 0)
			return -1;
	}
	fb_hash_hex(&h, ret);
	return 0;
}

/* Put the image into the cache entry and describe it in @ret. Return as run_make(). */
static int collect(struct build *b, struct fb_build_result *ret, struct fb_error *err)
{
	FB_CLEANUP(fb_freep) char *built = fb_xasprintf("%s/vmlinux", b->objdir);
	FB_CLEANUP(fb_freep) char *built_bz = fb_xasprintf("%s/arch/x86/boot/bzImage", b->objdir);
	FB_CLEANUP(fb_freep) char *vmlinux = fb_xasprintf("%s/vmlinux", b->entry.dir);
	FB_CLEANUP(fb_freep) char *bz = fb_xasprintf("%s/bzImage", b->entry.dir);
	FB_CLEANUP(fb_freep) char *config = fb_xasprintf("%s/config", b->entry.dir);
	FB_CLEANUP(fb_freep) char *modules = NULL;
	FB_CLEANUP(fb_freep) char *mod_arg = NULL;
	const char *bz_target[] = {"bzImage", NULL};
	const char *strip[] = {"objcopy", "-S", built, vmlinux, NULL};
	const char *mod_target[] = {"modules_install", NULL, "INSTALL_MOD_STRIP=1", NULL};
	char signature[FB_HASH_HEX_SIZE];
	int pvh = fb_signature_has_pvh(built, err), rc;

	if (pvh < 0 || run_tool(b, strip, err) < 0)
		return -1;
	if (fb_file_write(config, fb_str_cstr(&b->dot_config), b->dot_config.len, err) < 0)
		return -1;
	if (!pvh) {
		rc = run_make(b, bz_target, err);
		if (rc)
			return rc;
		if (fb_file_copy(built_bz, bz, err) < 0)
			return -1;
	}
	if (fb_config_has_modules(fb_str_cstr(&b->dot_config), b->dot_config.len)) {
		modules = fb_xasprintf("%s/modules", b->entry.dir);
		mod_arg = fb_xasprintf("INSTALL_MOD_PATH=%s", modules);
		mod_target[1] = mod_arg;
		rc = run_make(b, mod_target, err);
		if (rc)
			return rc;
	}
	if (sign(b, built, modules, signature, err) < 0)
		return -1;
	ret->outcome = FB_BUILD_OK;
	ret->image = (struct fb_image){.signature = fb_xstrdup(signature),
				       .bzimage = pvh ? NULL : FB_TAKE(bz),
				       .modules = FB_TAKE(modules),
				       .release = release_of(b),
				       .toolchain = fb_xstrdup(b->toolchain),
				       .pvh = pvh};
	return 0;
}

/* With the tree patched. 0 built, 1 the commit's fault, -1 ours. */
static int compile(struct build *b, struct fb_build_result *ret, struct fb_error *err)
{
	const char *targets[] = {"vmlinux", NULL, NULL};
	char ask[FB_HASH_HEX_SIZE];
	int rc = make_config(b, ask, err);

	if (rc)
		return rc;
	if (fb_config_has_modules(fb_str_cstr(&b->dot_config), b->dot_config.len))
		targets[1] = "modules";
	rc = run_make(b, targets, err);
	if (rc)
		return rc;
	if (*ask && fb_settled_save(b->src, b->objdir, ask, &b->dot_config, err) < 0)
		return -1;
	return collect(b, ret, err);
}

static int build_patched(struct build *b, struct fb_build_result *ret, struct fb_error *err)
{
	FB_CLEANUP(fb_freep) char *state = fb_xasprintf("%s/%s", b->objdir, FIXUPS_NAME);
	FB_CLEANUP(fb_freep) char *running = fb_xasprintf("%s/%s", b->objdir, RUNNING_NAME);
	struct fb_error undo_err = FB_ERROR_INIT;
	int rc;

	if (fb_fixups_undo(b->src, state, b->spec->tree_id, err) < 0)
		return -1;
	/* Not when it is there: the older time stamp covers what the killed build wrote. */
	if (access(running, F_OK) < 0 && fb_file_write(running, "", 0, err) < 0)
		return -1;
	rc = fb_fixups_apply(b->src, b->spec->fixups, state, b->spec->tree_id, b->deadline_ns,
			     &b->cause, err);
	if (rc == 0)
		rc = compile(b, ret, err);
	if (fb_fixups_undo(b->src, state, b->spec->tree_id, &undo_err) < 0 && rc >= 0) {
		*err = undo_err;
		rc = -1;
	}
	/* make ended by itself and removed what it had half made. */
	if (rc >= 0 && unlink(running) < 0)
		return fb_error_set_sys(err, errno, "remove '%s'", running);
	return rc;
}

/* A log is wanted most when nothing gets into the cache. */
static void keep_log(struct build *b, struct fb_error *err)
{
	FB_CLEANUP(fb_freep) char *log = fb_xasprintf("%s/build.log", b->entry.dir);
	FB_CLEANUP(fb_freep) char *to = fb_xasprintf("%s/%s", b->objdir, LOG_NAME);
	struct fb_error ignored = FB_ERROR_INIT;

	if (access(log, F_OK) == 0 && fb_file_copy(log, to, &ignored) == 0 && !err->sys)
		fb_error_wrap(err, "(log: %s)", to);
}

static int begin(struct build *b, struct fb_error *err)
{
	const struct fb_build_spec *spec = b->spec;

	b->src = realpath(spec->src, NULL);
	if (!b->src)
		return fb_error_set_sys(err, errno, "source tree '%s'", spec->src);
	if (fb_mkdirs(spec->objdir, err) < 0)
		return -1;
	b->objdir = realpath(spec->objdir, NULL);
	if (!b->objdir)
		return fb_error_set_sys(err, errno, "object directory '%s'", spec->objdir);
	if (check_path("source tree", b->src, err) < 0 ||
	    check_path("object directory", b->objdir, err) < 0 || check_tools(err) < 0)
		return -1;
	if (exists(b->src, ".config") || exists(b->src, "include/config") ||
	    exists(b->src, "arch/x86/include/generated"))
		return fb_error_set(err, FB_ERROR_INPUT,
				    "source tree '%s' was built in: run 'make mrproper' there",
				    b->src);
	return load_fragments(b, err);
}

int fb_build_run(const struct fb_build_spec *spec, struct fb_build_result *ret,
		 struct fb_error *err)
{
	FB_CLEANUP(build_release) struct build b = {.spec = spec, .lock = -1, .entry.lock = -1};
	struct fb_build_result result = {.outcome = FB_BUILD_FAILED};
	int rc;

	b.start_ns = fb_clock_mono_ns();
	b.deadline_ns = spec->timeout_ns ? b.start_ns + spec->timeout_ns : 0;
	if (find_toolchain(&b.toolchain, &b.toolchain_id, err) < 0 ||
	    make_key(spec, b.toolchain_id, b.key, err) < 0)
		return -1;
	rc = fb_cache_load(spec->cache, b.key, ret, err);
	if (rc)
		return rc < 0 ? -1 : 0;
	if (begin(&b, err) < 0 || lock_objdir(&b, err) < 0)
		return -1;
	/* Somebody may have built it while we waited. */
	rc = fb_cache_load(spec->cache, b.key, ret, err);
	if (rc)
		return rc < 0 ? -1 : 0;
	if (prepare_objdir(&b, err) < 0 || fb_cache_begin(spec->cache, &b.entry, err) < 0 ||
	    read_version(&b, err) < 0)
		return -1;
	make_env(&b);
	make_args(&b);
	if (!b.cause) {
		rc = build_patched(&b, &result, err);
		if (rc < 0) {
			fb_build_result_release(&result);
			keep_log(&b, err);
			return fb_error_wrap(err, "build tree %s", spec->tree_id);
		}
	}
	result.cause = FB_TAKE(b.cause);
	result.wall_ns = fb_clock_mono_ns() - b.start_ns;
	result.cpu_ns = b.cpu_ns;
	rc = fb_cache_commit(&b.entry, spec->cache, b.key, &result, err);
	fb_build_result_release(&result);
	if (rc < 0)
		return -1;
	rc = fb_cache_load(spec->cache, b.key, ret, err);
	if (rc < 0)
		return -1;
	if (!rc)
		return fb_error_set(err, FB_ERROR_INFRA, "image %s vanished from the cache", b.key);
	ret->cached = false;
	return 0;
}
