/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The guest's user space: the agent, the workload tools and the libraries they need, taken
 * from the host. All programs lie in /bin and all libraries in /lib of the guest; other
 * usual names are links there.
 */
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/boot/cpio.h"
#include "src/boot/internal.h"
#include "src/boot/standin.h"
#include "src/util/file.h"
#include "src/util/hash.h"
#include "src/util/proc.h"
#include "src/util/util.h"

/* Raised when the layout changes, so that old bundles are not taken for new ones. */
#define BUNDLE_VERSION "2"
#define MEMBER_MAX     (512u << 20)

/* Where a tool that is missing comes from, and what it reads at run time. */
static const struct {
	const char *tool, *package, *extra;
} known[] = {
	{"fio", "fio", NULL},
	{"sysbench", "sysbench", NULL},
	{"mkfs.ext4", "e2fsprogs", "/etc/mke2fs.conf"},
	{"mkfs.ext3", "e2fsprogs", "/etc/mke2fs.conf"},
	{"mkfs.ext2", "e2fsprogs", "/etc/mke2fs.conf"},
	{"mkfs.btrfs", "btrfs-progs", NULL},
	{"mkfs.xfs", "xfsprogs", NULL},
	{"mkfs.f2fs", "f2fs-tools", NULL},
	{"dbench", "dbench", "/usr/share/dbench/client.txt"},
	{"fs_mark", "fsmark", NULL},
	{"dd", "coreutils", NULL},
	{"sh", "dash", NULL},
};

/*
 * Libraries that a tool is linked with and that no job of ours makes it call: fio's engines
 * for clusters, remote memory and network block devices, sysbench's database drivers.
 */
static const struct {
	const char *tool, *library;
} unused[] = {
	{"fio", "libgfapi.so.0"},	 {"fio", "libnbd.so.0"},
	{"fio", "libibverbs.so.1"},	 {"fio", "librdmacm.so.1"},
	{"fio", "librados.so.2"},	 {"fio", "librbd.so.1"},
	{"fio", "libpmemblk.so.1"},	 {"fio", "libpmem.so.1"},
	{"fio", "libpmem2.so.1"},	 {"fio", "libiscsi.so.7"},
	{"fio", "libnfs.so.13"},	 {"fio", "libisal.so.2"},
	{"fio", "libcurl.so.4"},	 {"sysbench", "libpq.so.5"},
	{"sysbench", "libmariadb.so.3"}, {"sysbench", "libmysqlclient.so.21"},
};

static const char *const library_dir[] = {
	"/lib/x86_64-linux-gnu",
	"/usr/lib/x86_64-linux-gnu",
	"/lib64",
	"/usr/lib64",
	"/lib",
	"/usr/lib",
};

struct member {
	char *path; /* in the guest, without the leading slash */
	char *from;
	unsigned mode;
	bool made; /* .data instead of .from */
	struct fb_str data;
};

struct bundle {
	struct member *members;
	size_t nr, cap;
};

static void bundle_release(struct bundle *b)
{
	for (size_t i = 0; i < b->nr; i++) {
		free(b->members[i].path);
		free(b->members[i].from);
		fb_str_release(&b->members[i].data);
	}
	free(b->members);
}

static bool have(const struct bundle *b, const char *path)
{
	for (size_t i = 0; i < b->nr; i++)
		if (!strcmp(b->members[i].path, path))
			return true;
	return false;
}

static void add_member(struct bundle *b, const char *path, const char *from, unsigned mode)
{
	if (have(b, path))
		return;
	FB_GROW(b->members, b->nr, b->cap);
	b->members[b->nr++] =
		(struct member){.path = fb_xstrdup(path), .from = fb_xstrdup(from), .mode = mode};
}

static void add_made_member(struct bundle *b, const char *path, struct fb_str *data)
{
	FB_GROW(b->members, b->nr, b->cap);
	b->members[b->nr++] = (struct member){
		.path = fb_xstrdup(path), .mode = 0755, .made = true, .data = *data};
	*data = (struct fb_str)FB_STR_INIT;
}

static const char *base_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* What the dynamic section of a file asks for. */
struct needs {
	char **needed; /* names of libraries */
	char *runpath; /* DT_RUNPATH or DT_RPATH */
	char *interp;  /* the loader's path */
	bool is_elf;
};

static void needs_release(struct needs *n)
{
	fb_strvp(&n->needed);
	free(n->runpath);
	free(n->interp);
}

static void read_dynamic(Elf *elf, Elf_Scn *scn, const GElf_Shdr *shdr, struct needs *n)
{
	Elf_Data *data = elf_getdata(scn, NULL);
	size_t nr = shdr->sh_entsize ? shdr->sh_size / shdr->sh_entsize : 0;
	GElf_Dyn dyn;

	for (size_t i = 0; data && i < nr && gelf_getdyn(data, (int)i, &dyn); i++) {
		const char *s;

		if (dyn.d_tag != DT_NEEDED && dyn.d_tag != DT_RUNPATH && dyn.d_tag != DT_RPATH)
			continue;
		s = elf_strptr(elf, shdr->sh_link, dyn.d_un.d_val);
		if (!s)
			continue;
		if (dyn.d_tag == DT_NEEDED) {
			fb_strv_add(&n->needed, s);
		} else if (!n->runpath) {
			n->runpath = fb_xstrdup(s);
		}
	}
}

static void read_interp(Elf *elf, int fd, struct needs *n)
{
	size_t nr = 0;
	GElf_Phdr ph;

	if (elf_getphdrnum(elf, &nr) < 0)
		return;
	for (size_t i = 0; i < nr && gelf_getphdr(elf, (int)i, &ph); i++) {
		char path[256] = "";

		if (ph.p_type == PT_INTERP && ph.p_filesz < sizeof(path) &&
		    pread(fd, path, ph.p_filesz, (off_t)ph.p_offset) == (ssize_t)ph.p_filesz)
			n->interp = fb_xstrdup(path);
	}
}

static int read_needs(const char *path, struct needs *n, struct fb_error *err)
{
	FB_CLEANUP(fb_closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	Elf_Scn *scn = NULL;
	GElf_Ehdr ehdr;
	GElf_Shdr shdr;
	Elf *elf;

	if (fd < 0)
		return fb_error_set_sys(err, errno, "open '%s'", path);
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	if (!elf)
		return fb_error_set(err, FB_ERROR_INPUT, "read '%s': %s", path, elf_errmsg(-1));
	n->is_elf = elf_kind(elf) == ELF_K_ELF;
	if (n->is_elf && (!gelf_getehdr(elf, &ehdr) || ehdr.e_machine != EM_X86_64)) {
		elf_end(elf);
		return fb_error_set(err, FB_ERROR_INPUT, "'%s' is not for x86-64", path);
	}
	while (n->is_elf && (scn = elf_nextscn(elf, scn)))
		if (gelf_getshdr(scn, &shdr) && shdr.sh_type == SHT_DYNAMIC)
			read_dynamic(elf, scn, &shdr, n);
	if (n->is_elf)
		read_interp(elf, fd, n);
	elf_end(elf);
	return 0;
}

static char *try_dir(const char *dir, size_t len, const char *name)
{
	char *path = fb_xasprintf("%.*s/%s", (int)len, dir, name);

	if (access(path, R_OK) == 0)
		return path;
	free(path);
	return NULL;
}

/* As ld.so looks: the run path ($ORIGIN is the file's directory), the cache, the usual places. */
static char *find_library(const char *name, const char *runpath, const char *file,
			  const char *ld_cache)
{
	FB_CLEANUP(fb_freep) char *key = fb_xasprintf("\t%s (", name);
	char *found = NULL;
	const char *p;

	for (p = runpath; p && *p && !found;) {
		size_t len = strcspn(p, ":");
		FB_CLEANUP(fb_freep) char *dir = NULL;

		if (!strncmp(p, "$ORIGIN", 7))
			dir = fb_xasprintf("%.*s%.*s", (int)(base_of(file) - file), file,
					   (int)(len - 7), p + 7);
		else
			dir = fb_xstrndup(p, len);
		found = try_dir(dir, strlen(dir), name);
		p += len + (p[len] == ':');
	}
	/* "\tlibz.so.1 (libc6,x86-64) => /lib/x86_64-linux-gnu/libz.so.1" */
	for (p = strstr(ld_cache, key); p && !found; p = strstr(p + 1, key)) {
		size_t len = strcspn(p + 1, "\n") + 1;
		const char *arrow = memmem(p, len, " => ", 4);

		if (arrow && memmem(p, (size_t)(arrow - p), "x86-64", 6) &&
		    !memmem(p, (size_t)(arrow - p), "hwcap", 5)) {
			arrow += 4;
			found = fb_xstrndup(arrow, (size_t)(p + len - arrow));
		}
	}
	for (size_t i = 0; i < FB_ARRAY_SIZE(library_dir) && !found; i++)
		found = try_dir(library_dir[i], strlen(library_dir[i]), name);
	return found;
}

static int add_closure(struct bundle *b, const char *file, const char *ld_cache, unsigned depth,
		       struct fb_error *err);

static bool is_unused(const char *file, const char *library)
{
	for (size_t i = 0; i < FB_ARRAY_SIZE(unused); i++)
		if (!strcmp(base_of(file), unused[i].tool) && !strcmp(library, unused[i].library))
			return true;
	return false;
}

static int add_needs(struct bundle *b, const char *file, const struct needs *n,
		     const char *ld_cache, unsigned depth, struct fb_error *err)
{
	if (n->interp) {
		FB_CLEANUP(fb_freep) char *path = fb_xasprintf("lib/%s", base_of(n->interp));

		add_member(b, path, n->interp, 0755);
	}
	for (char **name = n->needed; name && *name; name++) {
		FB_CLEANUP(fb_freep) char *path = fb_xasprintf("lib/%s", base_of(*name));
		FB_CLEANUP(fb_freep) char *from = NULL;

		if (have(b, path))
			continue;
		from = find_library(*name, n->runpath, file, ld_cache);
		if (!from)
			return fb_error_set(err, FB_ERROR_MISSING, "library '%s' of '%s'", *name,
					    file);
		if (is_unused(file, *name)) {
			struct fb_str data = FB_STR_INIT;
			int rc = fb_standin_make(file, from, *name, &data, err);

			if (rc > 0)
				add_made_member(b, path, &data);
			fb_str_release(&data);
			if (rc < 0)
				return -1;
			if (rc > 0)
				continue;
		}
		add_member(b, path, from, 0755);
		if (add_closure(b, from, ld_cache, depth + 1, err) < 0)
			return -1;
	}
	return 0;
}

/* The interpreter of a script's first line, owned; NULL when it has none. */
static char *script_interpreter(const char *path)
{
	FB_CLEANUP(fb_closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	char line[256];
	ssize_t n = fd < 0 ? -1 : read(fd, line, sizeof(line) - 1);
	char *p = line + 2;

	if (n < 3 || line[0] != '#' || line[1] != '!')
		return NULL;
	line[n] = '\0';
	p += strspn(p, " \t");
	return fb_xstrndup(p, strcspn(p, " \t\r\n"));
}

static int add_closure(struct bundle *b, const char *file, const char *ld_cache, unsigned depth,
		       struct fb_error *err)
{
	FB_CLEANUP(fb_freep) char *interpreter = NULL;
	struct needs n = {0};
	int rc;

	if (depth > 64)
		return fb_error_set(err, FB_ERROR_INPUT, "libraries of '%s' need too many others",
				    file);
	rc = read_needs(file, &n, err);
	if (rc == 0 && n.is_elf)
		rc = add_needs(b, file, &n, ld_cache, depth, err);
	needs_release(&n);
	if (rc < 0 || n.is_elf)
		return rc;
	interpreter = script_interpreter(file);
	if (interpreter) {
		FB_CLEANUP(fb_freep) char *path = fb_xasprintf("bin/%s", base_of(interpreter));

		if (!have(b, path)) {
			add_member(b, path, interpreter, 0755);
			return add_closure(b, interpreter, ld_cache, depth + 1, err);
		}
	}
	return 0;
}

static const char *package_of(const char *tool, const char **ret_extra)
{
	*ret_extra = NULL;
	for (size_t i = 0; i < FB_ARRAY_SIZE(known); i++) {
		if (!strcmp(known[i].tool, tool)) {
			*ret_extra = known[i].extra;
			return known[i].package;
		}
	}
	return NULL;
}

/* Owned; NULL when it is there. */
static char *lacks(const char *tool)
{
	FB_CLEANUP(fb_freep) char *found = fb_proc_find(tool);
	const char *extra, *package = package_of(tool, &extra);

	if (found)
		return NULL;
	return fb_xasprintf("no program '%s'%s%s%s", tool, package ? " (Debian package " : "",
			    package ? package : "", package ? ")" : "");
}

char *fb_bundle_lacks(const char *const *tools)
{
	char *why = NULL;

	while (tools && *tools && !why)
		why = lacks(*tools++);
	return why;
}

static int add_tool(struct bundle *b, const char *tool, const char *ld_cache, struct fb_error *err)
{
	FB_CLEANUP(fb_freep) char *found = fb_proc_find(tool);
	FB_CLEANUP(fb_freep) char *path = fb_xasprintf("bin/%s", base_of(tool));
	FB_CLEANUP(fb_freep) char *file = found ? realpath(found, NULL) : NULL;
	const char *extra;

	package_of(tool, &extra);
	if (!file) {
		FB_CLEANUP(fb_freep) char *why = lacks(tool);

		return fb_error_set(err, FB_ERROR_MISSING, "%s", why ? why : "a program is gone");
	}
	add_member(b, path, file, 0755);
	if (extra && access(extra, R_OK) == 0)
		add_member(b, extra + 1, extra, 0644);
	return add_closure(b, file, ld_cache, 0, err);
}

/* What ldconfig knows; without it the usual directories must do. */
static char *ld_cache_text(void)
{
	static const char *const argv[] = {"ldconfig", "-p", NULL};
	struct fb_proc_spec spec = {.argv = argv, .timeout_ns = 10 * FB_NS_PER_S};
	struct fb_proc_result result = {0};
	struct fb_error err = FB_ERROR_INIT;
	char *text;

	if (fb_proc_run(&spec, &result, &err) < 0)
		return fb_xstrdup("");
	text = fb_str_take(&result.out);
	fb_proc_result_release(&result);
	return text;
}

static int compare(const void *a, const void *b)
{
	const struct member *x = a, *y = b;

	return strcmp(x->path, y->path);
}

static int hash_members(const struct bundle *b, char ret[FB_HASH_HEX_SIZE], struct fb_error *err)
{
	struct fb_hash h;

	fb_hash_init(&h);
	fb_hash_add_str(&h, BUNDLE_VERSION);
	for (size_t i = 0; i < b->nr; i++) {
		char hex[FB_HASH_HEX_SIZE];

		fb_hash_add_str(&h, b->members[i].path);
		if (b->members[i].made) {
			fb_hash_add(&h, b->members[i].data.buf, b->members[i].data.len);
			continue;
		}
		if (fb_hash_file(b->members[i].from, hex, err) < 0)
			return -1;
		fb_hash_add_str(&h, hex);
	}
	fb_hash_hex(&h, ret);
	return 0;
}

static int write_layout(struct fb_cpio *cpio, struct fb_error *err)
{
	static const char *const dir[] = {"dev",
					  "proc",
					  "sys",
					  "tmp",
					  "run",
					  "mnt",
					  "etc",
					  "modules",
					  "bin",
					  "lib",
					  "usr",
					  "usr/share",
					  "usr/share/dbench"};
	static const struct {
		const char *path, *target;
	} link[] = {
		{"lib64", "lib"},	{"sbin", "bin"},       {"usr/bin", "../bin"},
		{"usr/sbin", "../bin"}, {"usr/lib", "../lib"}, {"usr/lib64", "../lib"},
	};
	static const char passwd[] = "root:x:0:0:root:/tmp:/bin/sh\n", group[] = "root:x:0:\n";

	for (size_t i = 0; i < FB_ARRAY_SIZE(dir); i++)
		if (fb_cpio_add_dir(cpio, dir[i], err) < 0)
			return -1;
	for (size_t i = 0; i < FB_ARRAY_SIZE(link); i++)
		if (fb_cpio_add_symlink(cpio, link[i].path, link[i].target, err) < 0)
			return -1;
	/* The kernel opens it for /init before anything mounted a devtmpfs. */
	if (fb_cpio_add_chardev(cpio, "dev/console", 5, 1, err) < 0)
		return -1;
	if (fb_cpio_add_data(cpio, "etc/passwd", passwd, sizeof(passwd) - 1, 0644, err) < 0)
		return -1;
	return fb_cpio_add_data(cpio, "etc/group", group, sizeof(group) - 1, 0644, err);
}

static int write_bundle(const struct bundle *b, int fd, struct fb_error *err)
{
	struct fb_cpio *cpio = fb_cpio_open_fd(fd);
	int rc = write_layout(cpio, err);

	for (size_t i = 0; i < b->nr && rc == 0; i++) {
		const struct member *m = &b->members[i];

		rc = m->made ? fb_cpio_add_data(cpio, m->path, m->data.buf, m->data.len, m->mode,
						err)
			     : fb_cpio_add_file(cpio, m->path, m->from, m->mode, MEMBER_MAX, err);
	}
	if (rc < 0) {
		fb_cpio_abort(cpio);
		return -1;
	}
	return fb_cpio_close(cpio, err);
}

/* To a name of its own and renamed: a bundle that is there is whole. */
static int save_bundle(const struct bundle *b, const char *path, struct fb_error *err)
{
	FB_CLEANUP(fb_freep) char *tmp = fb_xasprintf("%s.XXXXXX", path);
	FB_CLEANUP(fb_closep) int fd = mkostemp(tmp, O_CLOEXEC);
	int rc = 0;

	if (fd < 0)
		return fb_error_set_sys(err, errno, "create '%s'", tmp);
	if (write_bundle(b, fd, err) < 0)
		rc = -1;
	else if (fchmod(fd, 0644) < 0 || fsync(fd) < 0 || rename(tmp, path) < 0)
		rc = fb_error_set_sys(err, errno, "write '%s'", path);
	if (rc < 0)
		unlink(tmp);
	return rc;
}

char *fb_agent_path(struct fb_error *err)
{
	const char *env = getenv("FIRSTBAD_AGENT");
	static const char *const near[] = {"src/agent", "../src/agent"};
	char self[4096];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (env && *env)
		return fb_xstrdup(env);
	self[n > 0 ? n : 0] = '\0';
	for (size_t i = 0; n > 0 && i < FB_ARRAY_SIZE(near); i++) {
		char *path = fb_xasprintf("%.*s%s/firstbad-agent", (int)(base_of(self) - self),
					  self, near[i]);

		if (access(path, X_OK) == 0)
			return path;
		free(path);
	}
	if (access(FB_PKGLIBEXECDIR "/firstbad-agent", X_OK) == 0)
		return fb_xstrdup(FB_PKGLIBEXECDIR "/firstbad-agent");
	fb_error_set(err, FB_ERROR_MISSING,
		     "no " FB_PKGLIBEXECDIR "/firstbad-agent ($FIRSTBAD_AGENT names another)");
	return NULL;
}

int fb_bundle_make(const char *const *tools, const char *cache, char **ret_path,
		   struct fb_error *err)
{
	FB_CLEANUP(fb_freep) char *agent = fb_agent_path(err);
	FB_CLEANUP(fb_freep) char *ld_cache = NULL, *path = NULL;
	char hex[FB_HASH_HEX_SIZE];
	struct bundle b = {0};
	int rc = 0;

	if (!agent)
		return -1;
	ld_cache = ld_cache_text();
	add_member(&b, "init", agent, 0755);
	for (size_t i = 0; tools && tools[i] && rc == 0; i++)
		rc = add_tool(&b, tools[i], ld_cache, err);
	if (rc == 0) {
		qsort(b.members, b.nr, sizeof(b.members[0]), compare);
		rc = hash_members(&b, hex, err);
	}
	if (rc == 0)
		rc = fb_mkdirs(cache, err);
	if (rc == 0) {
		path = fb_xasprintf("%s/bundle-%s.cpio", cache, hex);
		if (access(path, R_OK) < 0)
			rc = save_bundle(&b, path, err);
	}
	bundle_release(&b);
	if (rc < 0)
		return fb_error_wrap(err, "guest bundle");
	*ret_path = FB_TAKE(path);
	return 0;
}
