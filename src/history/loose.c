/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Loose objects, read before libgit2 does: its version 1.5.1 never comes back from one that ends
 * too early (a disk that was full, a power cut).
 *
 * A backend of the object database, so that whatever libgit2 reads by itself goes through it,
 * too. Packs are asked first, as git does.
 */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include <git2/errors.h>
#include <git2/sys/odb_backend.h>
#include <zlib.h>

#include "src/history/internal.h"
#include "src/util/file.h"
#include "src/util/str.h"
#include "src/util/util.h"

/* That of libgit2's packs, which came first; its loose objects have 1. */
#define PRIORITY	 2
#define ALTERNATES_DEPTH 5 /* as git */
#define ALTERNATES_MAX_B (1u << 20)
#define HEADER_MAX	 32 /* "commit 18446744073709551615" and a NUL */

struct loose {
	git_odb_backend backend; /* first: libgit2 knows this part */
	char *dir;		 /* .../objects */
};

static int damaged(const char *path)
{
	FB_CLEANUP(fb_freep) char *text = fb_xasprintf("'%s' is damaged", path);

	git_error_set_str(GIT_ERROR_ODB, text);
	return GIT_ERROR;
}

/* Take "TYPE SIZE\0" apart. Return: its length, or 0. */
static size_t parse_header(const char *head, size_t len, git_object_t *ret_type, size_t *ret_size)
{
	const char *nul = memchr(head, '\0', len), *blank = nul ? strchr(head, ' ') : NULL;
	char type[HEADER_MAX], *end;
	unsigned long long size;

	if (!blank || blank[1] < '0' || blank[1] > '9')
		return 0;
	snprintf(type, sizeof(type), "%.*s", (int)(blank - head), head);
	*ret_type = git_object_string2type(type);
	errno = 0;
	size = strtoull(blank + 1, &end, 10);
	if (!git_object_typeisloose(*ret_type) || errno || end != nul || size > SIZE_MAX)
		return 0;
	*ret_size = (size_t)size;
	return (size_t)(nul - head) + 1;
}

/* The whole stream must be there, with its checksum, and be as long as it says. */
static int inflate_object(struct loose *l, const char *path, z_stream *z, void **ret,
			  size_t *ret_len, git_object_t *ret_type)
{
	unsigned char head[HEADER_MAX] = {0};
	size_t head_len, body, size;
	unsigned char *data;
	int rc;

	z->next_out = head;
	z->avail_out = sizeof(head);
	rc = inflate(z, Z_NO_FLUSH);
	body = sizeof(head) - z->avail_out;
	head_len = parse_header((char *)head, body, ret_type, &size);
	if ((rc != Z_OK && rc != Z_STREAM_END) || !head_len || body - head_len > size)
		return damaged(path);
	body -= head_len;
	if (size > UINT_MAX)
		return GIT_PASSTHROUGH; /* more than zlib takes at once */
	data = git_odb_backend_data_alloc(&l->backend, size + 1);
	if (!data)
		return GIT_ERROR;
	memcpy(data, head + head_len, body);
	z->next_out = data + body;
	z->avail_out = (uInt)(size - body);
	if (rc == Z_OK && z->avail_out)
		rc = inflate(z, Z_FINISH);
	if (rc != Z_STREAM_END && !z->avail_out) {
		z->next_out = head; /* room for what must not come */
		z->avail_out = 1;
		rc = inflate(z, Z_FINISH);
		z->avail_out--;
	}
	if (rc != Z_STREAM_END || z->avail_out) {
		git_odb_backend_data_free(&l->backend, data);
		return damaged(path);
	}
	data[size] = '\0';
	*ret = data;
	*ret_len = size;
	return 0;
}

static int read_object(void **ret, size_t *ret_len, git_object_t *ret_type,
		       git_odb_backend *backend, const git_oid *oid)
{
	FB_CLEANUP(fb_str_release) struct fb_str file = FB_STR_INIT;
	FB_CLEANUP(fb_freep) char *path = NULL;
	struct loose *l = (struct loose *)backend;
	struct fb_error err = FB_ERROR_INIT;
	char hex[GIT_OID_HEXSZ + 1];
	z_stream z = {0};
	int rc;

	git_oid_tostr(hex, sizeof(hex), oid);
	path = fb_xasprintf("%s/%.2s/%s", l->dir, hex, hex + 2);
	/* What cannot be opened libgit2 cannot open either: it has words for that. */
	if (fb_file_read(path, UINT_MAX, &file, &err) < 0)
		return GIT_ENOTFOUND;
	z.next_in = (unsigned char *)file.buf;
	z.avail_in = (uInt)file.len;
	if (inflateInit(&z) != Z_OK)
		return GIT_ERROR;
	rc = inflate_object(l, path, &z, ret, ret_len, ret_type);
	inflateEnd(&z);
	return rc;
}

static int read_header(size_t *ret_len, git_object_t *ret_type, git_odb_backend *backend,
		       const git_oid *oid)
{
	void *data;
	int rc = read_object(&data, ret_len, ret_type, backend, oid);

	if (rc == 0)
		git_odb_backend_data_free(backend, data);
	return rc;
}

/* Whole objects are left to libgit2, which knows whether there is another one in a pack. */
static int read_prefix(git_oid *ret, void **ret_data, size_t *ret_len, git_object_t *ret_type,
		       git_odb_backend *backend, const git_oid *prefix, size_t len)
{
	struct loose *l = (struct loose *)backend;
	char hex[GIT_OID_HEXSZ + 1], name[GIT_OID_HEXSZ + 1];
	FB_CLEANUP(fb_freep) char *path = NULL;
	int rc = GIT_ENOTFOUND;
	git_oid oid;
	DIR *dir;

	git_oid_tostr(hex, sizeof(hex), prefix);
	path = fb_xasprintf("%s/%.2s", l->dir, hex);
	dir = len > 2 ? opendir(path) : NULL;
	for (struct dirent *d; dir && rc != GIT_ERROR && (d = readdir(dir));) {
		if (strncmp(d->d_name, hex + 2, len - 2) || strlen(d->d_name) != GIT_OID_HEXSZ - 2)
			continue;
		snprintf(name, sizeof(name), "%.2s%.38s", hex, d->d_name);
		if (git_oid_fromstr(&oid, name) == 0)
			rc = read_header(ret_len, ret_type, backend, &oid);
	}
	if (dir)
		closedir(dir);
	(void)ret;
	(void)ret_data;
	return rc == GIT_ERROR ? rc : GIT_ENOTFOUND;
}

static void free_backend(git_odb_backend *backend)
{
	struct loose *l = (struct loose *)backend;

	free(l->dir);
	free(l);
}

static int add(git_odb *odb, const char *dir, struct fb_error *err)
{
	struct loose *l = fb_xcalloc(1, sizeof(*l));

	git_odb_init_backend(&l->backend, GIT_ODB_BACKEND_VERSION);
	l->backend.read = read_object;
	l->backend.read_prefix = read_prefix;
	l->backend.read_header = read_header;
	l->backend.free = free_backend;
	l->dir = fb_xstrdup(dir);
	if (git_odb_add_backend(odb, &l->backend, PRIORITY) == 0)
		return 0;
	free_backend(&l->backend);
	return fb_git_error(err, "open the objects in '%s'", dir);
}

static int add_all(git_odb *odb, const char *dir, int depth, struct fb_error *err)
{
	FB_CLEANUP(fb_freep) char *path = fb_xasprintf("%s/info/alternates", dir);
	FB_CLEANUP(fb_str_release) struct fb_str list = FB_STR_INIT;
	struct fb_error none = FB_ERROR_INIT;
	char *save = NULL;

	if (add(odb, dir, err) < 0)
		return -1;
	if (!depth || fb_file_read(path, ALTERNATES_MAX_B, &list, &none) < 0)
		return 0;
	for (char *line = strtok_r(list.buf, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save)) {
		FB_CLEANUP(fb_freep)
		char *other = *line == '/' ? fb_xstrdup(line) : fb_xasprintf("%s/%s", dir, line);

		if (*line != '#' && add_all(odb, other, depth - 1, err) < 0)
			return -1;
	}
	return 0;
}

int fb_loose_check(const struct fb_history *history, struct fb_error *err)
{
	FB_CLEANUP(fb_freep) char *dir = fb_xasprintf("%s/objects", history->gitdir);

	return add_all(history->odb, dir, ALTERNATES_DEPTH, err);
}
