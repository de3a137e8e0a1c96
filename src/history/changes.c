/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What differs between the trees of two commits. */
#include "src/history/internal.h"
#include "src/util/util.h"

/* The contents of one side; NULL when it is no regular file or is not there (a partial clone). */
static int read_side(struct fb_history *history, const git_diff_file *file, git_blob **ret,
		     struct fb_error *err)
{
	int rc;

	if (file->mode != GIT_FILEMODE_BLOB && file->mode != GIT_FILEMODE_BLOB_EXECUTABLE)
		return 0;
	rc = git_blob_lookup(ret, history->repo, &file->id);
	if (rc < 0 && rc != GIT_ENOTFOUND)
		return fb_git_error(err, "contents of '%s'", file->path);
	return 0;
}

static int show_change(struct fb_history *history, const git_diff_delta *delta, fb_change_fn *fn,
		       void *ctx, struct fb_error *err)
{
	git_blob *old = NULL, *new = NULL;
	struct fb_file_change change = {.path = delta->new_file.path};
	int rc = read_side(history, &delta->old_file, &old, err);

	if (rc == 0)
		rc = read_side(history, &delta->new_file, &new, err);
	if (rc == 0) {
		if (old && new && delta->old_file.mode == delta->new_file.mode) {
			change.old = git_blob_rawcontent(old);
			change.old_len = (size_t)git_blob_rawsize(old);
			change.new = git_blob_rawcontent(new);
			change.new_len = (size_t)git_blob_rawsize(new);
		}
		rc = fn(ctx, &change);
	}
	git_blob_free(old);
	git_blob_free(new);
	return rc;
}

int fb_history_changes(struct fb_history *history, const struct fb_oid *old,
		       const struct fb_oid *new, fb_change_fn *fn, void *ctx, struct fb_error *err)
{
	git_diff_options options = GIT_DIFF_OPTIONS_INIT;
	git_tree *a = NULL, *b = NULL;
	git_diff *diff = NULL;
	int rc = 0;

	/* A file that became a link is one change, not two. */
	options.flags = GIT_DIFF_INCLUDE_TYPECHANGE | GIT_DIFF_SKIP_BINARY_CHECK;
	if (fb_tree_of(history, old, &a, err) < 0 || fb_tree_of(history, new, &b, err) < 0)
		rc = -1;
	else if (git_diff_tree_to_tree(&diff, history->repo, a, b, &options) < 0)
		rc = fb_git_error(err, "compare %s and %s", old->hex, new->hex);
	for (size_t i = 0; rc == 0 && i < git_diff_num_deltas(diff); i++)
		rc = show_change(history, git_diff_get_delta(diff, i), fn, ctx, err);
	git_diff_free(diff);
	git_tree_free(a);
	git_tree_free(b);
	return rc;
}
