/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Opening a repository, names of commits and facts about them. */
#include "src/history/history.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/history/internal.h"
#include "src/util/file.h"
#include "src/util/util.h"

#define SHALLOW_MAX_B (64u << 20) /* 41 bytes for each of 1.6 million ends */

int fb_git_error(struct fb_error *err, const char *fmt, ...)
{
	const git_error *last = git_error_last();
	FB_CLEANUP(fb_freep) char *text = NULL;
	enum fb_error_code code = FB_ERROR_GIT;
	va_list ap;

	va_start(ap, fmt);
	text = fb_xvasprintf(fmt, ap);
	va_end(ap);
	/* Nobody asks for an object that is not there or makes no sense by a slip of the pen. */
	if (last && (last->klass == GIT_ERROR_ODB || last->klass == GIT_ERROR_OBJECT ||
		     last->klass == GIT_ERROR_TREE || last->klass == GIT_ERROR_ZLIB))
		code = FB_ERROR_DAMAGED;
	if (last && last->message)
		return fb_error_set(err, code, "%s: %s", text, last->message);
	return fb_error_set(err, code, "%s", text);
}

/* Opening */

/*
 * libgit2 1.5 refuses to open what it cannot read, with words that say little. The format is
 * looked up in the configuration file itself.
 */
static bool is_sha256(const char *dir)
{
	git_buf found = GIT_BUF_INIT;
	git_config *config = NULL;
	git_buf value = GIT_BUF_INIT;
	bool sha256 = false;

	if (git_repository_discover(&found, dir, 0, NULL) == 0) {
		FB_CLEANUP(fb_freep) char *common = fb_xasprintf("%scommondir", found.ptr);
		FB_CLEANUP(fb_freep) char *path = NULL;

		/* In a linked worktree the configuration is two levels up. */
		path = access(common, F_OK) == 0 ? fb_xasprintf("%s../../config", found.ptr)
						 : fb_xasprintf("%sconfig", found.ptr);
		sha256 =
			git_config_open_ondisk(&config, path) == 0 &&
			git_config_get_string_buf(&value, config, "extensions.objectformat") == 0 &&
			!strcasecmp(value.ptr, "sha256");
	}
	git_buf_dispose(&value);
	git_config_free(config);
	git_buf_dispose(&found);
	return sha256;
}

static int open_error(int rc, const char *dir, struct fb_error *err)
{
	const git_error *last = git_error_last();
	/* libgit2 1.5.1 says ENOTFOUND when safe.directory is not set at all. */
	bool owner = rc == GIT_EOWNER ||
		     (last && last->message && strstr(last->message, "safe.directory"));

	if (owner)
		return fb_error_set(err, FB_ERROR_GIT,
				    "'%s' belongs to another user; to trust it: "
				    "git config --global --add safe.directory DIR",
				    dir);
	if (access(dir, F_OK) < 0)
		return fb_error_set(err, FB_ERROR_GIT, "'%s': %s", dir, strerror(errno));
	if (is_sha256(dir))
		return fb_error_set(err, FB_ERROR_GIT,
				    "'%s' uses SHA-256 object names, which libgit2 cannot read",
				    dir);
	if (rc == GIT_ENOTFOUND)
		return fb_error_set(err, FB_ERROR_GIT, "'%s' is not in a git repository", dir);
	return fb_git_error(err, "open the repository at '%s'", dir);
}

/* An absolute name without symbolic links and without a slash at its end. */
static char *real_name(const char *path, struct fb_error *err)
{
	char *real = realpath(path, NULL);

	if (!real)
		fb_error_set_sys(err, errno, "'%s'", path);
	return real;
}

int fb_history_open(const char *dir, struct fb_history **ret, struct fb_error *err)
{
	FB_CLEANUP(fb_history_freep) struct fb_history *h = NULL;
	const char *workdir;
	int rc;

	if (git_libgit2_init() < 0)
		return fb_git_error(err, "start libgit2");
	/* As git: objects are checked when they come in (fsck, fetch), not at each read. */
	git_libgit2_opts(GIT_OPT_ENABLE_STRICT_HASH_VERIFICATION, 0);
	h = fb_xcalloc(1, sizeof(*h));
	h->bisect_lock = -1;
	rc = git_repository_open_ext(&h->repo, dir, 0, getenv("GIT_CEILING_DIRECTORIES"));
	if (rc < 0)
		return open_error(rc, dir, err);
	if (git_repository_odb(&h->odb, h->repo) < 0)
		return fb_git_error(err, "open the objects of '%s'", dir);
	h->gitdir = real_name(git_repository_commondir(h->repo), err);
	if (!h->gitdir || fb_loose_check(h, err) < 0)
		return -1;
	workdir = git_repository_workdir(h->repo);
	h->workdir = workdir ? real_name(workdir, err) : fb_xstrdup(h->gitdir);
	if (!h->workdir)
		return -1;
	*ret = FB_TAKE(h);
	return 0;
}

void fb_history_free(struct fb_history *history)
{
	if (!history)
		return;
	git_odb_free(history->odb);
	git_repository_free(history->repo);
	free(history->gitdir);
	free(history->workdir);
	free(history);
	git_libgit2_shutdown();
}

void fb_history_freep(struct fb_history **history)
{
	fb_history_free(*history);
}

const char *fb_history_gitdir(const struct fb_history *history)
{
	return history->gitdir;
}

const char *fb_history_workdir(const struct fb_history *history)
{
	return history->workdir;
}

/* Names */

/* @oid, or what the tags lead to, when that is a commit by our own reading. */
static bool peel(const struct fb_history *history, git_oid oid, struct fb_oid *ret)
{
	git_object_t type = GIT_OBJECT_TAG;
	git_odb_object *object = NULL;
	struct fb_raw_commit raw;
	bool found = false;

	while (type == GIT_OBJECT_TAG && git_odb_read(&object, history->odb, &oid) == 0) {
		const char *text = git_odb_object_data(object);
		size_t len = git_odb_object_size(object);

		type = git_odb_object_type(object);
		if (type == GIT_OBJECT_COMMIT)
			found = fb_raw_commit_parse(text, len, &raw) == 0;
		else if (type == GIT_OBJECT_TAG &&
			 (len < strlen("object ") + GIT_OID_HEXSZ || memcmp(text, "object ", 7) ||
			  git_oid_fromstrn(&oid, text + 7, GIT_OID_HEXSZ) < 0))
			type = GIT_OBJECT_INVALID;
		git_odb_object_free(object);
	}
	if (found)
		git_oid_tostr(ret->hex, sizeof(ret->hex), &oid);
	return found;
}

/*
 * libgit2 refuses a commit whose author line is odd, and a name that leads to it. A name of a
 * ref or an object is looked up without it.
 */
static bool resolve_odd(const struct fb_history *history, const char *rev, struct fb_oid *ret)
{
	git_reference *ref = NULL, *direct = NULL;
	size_t len = strlen(rev);
	git_oid oid = {{0}}, prefix;
	bool found = false;

	if (git_reference_dwim(&ref, history->repo, rev) == 0 &&
	    git_reference_resolve(&direct, ref) == 0) {
		oid = *git_reference_target(direct);
		found = true;
	} else if (len <= GIT_OID_HEXSZ && git_oid_fromstrn(&prefix, rev, len) == 0) {
		found = git_odb_exists_prefix(&oid, history->odb, &prefix, len) == 0;
	}
	git_reference_free(direct);
	git_reference_free(ref);
	return found && peel(history, oid, ret);
}

static int resolve_error(int rc, const char *rev, struct fb_error *err)
{
	if (rc == GIT_EAMBIGUOUS)
		return fb_error_set(err, FB_ERROR_GIT,
				    "revision '%.200s' is the beginning of several object names",
				    rev);
	if (rc == GIT_ENOTFOUND || rc == GIT_EINVALIDSPEC)
		return fb_error_set(err, FB_ERROR_GIT, "unknown revision '%.200s'", rev);
	return fb_git_error(err, "revision '%.200s'", rev);
}

int fb_history_resolve(struct fb_history *history, const char *rev, struct fb_oid *ret,
		       struct fb_error *err)
{
	git_object *object = NULL, *commit = NULL;
	int rc;

	/* No revision begins with '-' (git check-ref-format); options never get further. */
	rc = *rev == '-' || !*rev ? GIT_ENOTFOUND
				  : git_revparse_single(&object, history->repo, rev);
	if (rc < 0)
		resolve_error(rc, rev, err);
	else if (git_object_peel(&commit, object, GIT_OBJECT_COMMIT) < 0)
		rc = fb_error_set(err, FB_ERROR_GIT, "revision '%.200s' is a %s, not a commit", rev,
				  git_object_type2string(git_object_type(object)));
	else
		git_oid_tostr(ret->hex, sizeof(ret->hex), git_object_id(commit));
	git_object_free(commit);
	git_object_free(object);
	if (rc < 0 && rc != GIT_ENOTFOUND && rc != GIT_EAMBIGUOUS && rc != GIT_EINVALIDSPEC &&
	    resolve_odd(history, rev, ret)) {
		fb_error_clear(err);
		rc = 0;
	}
	return rc < 0 ? -1 : 0;
}

/* Facts */

static int compare_oids(const void *a, const void *b)
{
	return git_oid_cmp(a, b);
}

int fb_shallow_read(const struct fb_history *history, struct fb_shallow *ret, struct fb_error *err)
{
	FB_CLEANUP(fb_freep) char *path = fb_xasprintf("%s/shallow", history->gitdir);
	struct fb_str text = FB_STR_INIT;
	struct fb_shallow s = {0};
	size_t cap = 0;

	if (access(path, F_OK) == 0) {
		if (fb_file_read(path, SHALLOW_MAX_B, &text, err) < 0) {
			fb_str_release(&text);
			return -1;
		}
		for (const char *p = fb_str_cstr(&text); *p;) {
			FB_GROW(s.oid, s.nr, cap);
			if (git_oid_fromstrn(&s.oid[s.nr], p, strcspn(p, "\n")) == 0)
				s.nr++;
			p += strcspn(p, "\n");
			p += *p == '\n';
		}
		fb_str_release(&text);
	}
	if (s.nr)
		qsort(s.oid, s.nr, sizeof(*s.oid), compare_oids);
	*ret = s;
	return 0;
}

bool fb_shallow_has(const struct fb_shallow *shallow, const git_oid *oid)
{
	return shallow->nr && bsearch(oid, shallow->oid, shallow->nr, sizeof(*oid), compare_oids);
}

void fb_shallow_release(struct fb_shallow *shallow)
{
	free(shallow->oid);
	*shallow = (struct fb_shallow){0};
}

static void fill_commit(const git_oid *oid, const struct fb_raw_commit *raw, struct fb_commit *c)
{
	const char *name, *email, *para;
	size_t name_len, email_len, para_len;

	git_oid_tostr(c->oid.hex, sizeof(c->oid.hex), oid);
	git_oid_tostr(c->tree.hex, sizeof(c->tree.hex), &raw->tree);
	fb_first_paragraph(raw->message.buf, raw->message.len, &para, &para_len);
	c->subject = fb_clean_text(para, para_len, raw->encoding.buf, raw->encoding.len);
	fb_raw_person(raw->committer.buf, raw->committer.len, &name, &name_len, &email, &email_len,
		      &c->commit_s);
	fb_raw_person(raw->author.buf, raw->author.len, &name, &name_len, &email, &email_len,
		      &c->author_s);
	c->author_name = fb_clean_text(name, name_len, raw->encoding.buf, raw->encoding.len);
	c->author_email = fb_clean_text(email, email_len, raw->encoding.buf, raw->encoding.len);
	c->nr_parents = raw->nr_parents;
}

int fb_history_commit(struct fb_history *history, const struct fb_oid *oid, struct fb_commit *ret,
		      struct fb_error *err)
{
	FB_CLEANUP(fb_shallow_release) struct fb_shallow shallow = {0};
	struct fb_raw_commit raw;
	git_odb_object *object = NULL;
	git_oid id;

	if (git_oid_fromstr(&id, oid->hex) < 0)
		return fb_git_error(err, "commit '%.40s'", oid->hex);
	if (fb_shallow_read(history, &shallow, err) < 0)
		return -1;
	if (git_odb_read(&object, history->odb, &id) < 0)
		return fb_git_error(err, "commit %s", oid->hex);
	if (git_odb_object_type(object) != GIT_OBJECT_COMMIT ||
	    fb_raw_commit_parse(git_odb_object_data(object), git_odb_object_size(object), &raw) <
		    0) {
		git_odb_object_free(object);
		return fb_error_set(err, FB_ERROR_GIT, "%s is not a commit", oid->hex);
	}
	fill_commit(&id, &raw, ret);
	if (fb_shallow_has(&shallow, &id))
		ret->nr_parents = 0;
	git_odb_object_free(object);
	return 0;
}

int fb_tree_of(struct fb_history *history, const struct fb_oid *commit, git_tree **ret,
	       struct fb_error *err)
{
	FB_CLEANUP(fb_commit_release) struct fb_commit c = {0};
	git_oid id;

	if (fb_history_commit(history, commit, &c, err) < 0)
		return -1;
	if (git_oid_fromstr(&id, c.tree.hex) < 0 || git_tree_lookup(ret, history->repo, &id) < 0)
		return fb_git_error(err, "tree of %s", commit->hex);
	return 0;
}

void fb_commit_release(struct fb_commit *commit)
{
	free(commit->subject);
	free(commit->author_name);
	free(commit->author_email);
	*commit = (struct fb_commit){0};
}
