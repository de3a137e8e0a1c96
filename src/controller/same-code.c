/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Commits that change no code: theirs is the kernel of an ancestor. */
#include "src/controller/same-code.h"

#include "src/build/code.h"
#include "src/util/util.h"

enum { OTHER_CODE = 1 };

static int look(void *ctx, const struct fb_file_change *c)
{
	return fb_code_same_file(c->path, c->old, c->old_len, c->new, c->new_len) ? 0 : OTHER_CODE;
}

int fb_same_code_parent(struct fb_history *history, const struct fb_range *range, uint32_t node,
			uint32_t *ret_parent, struct fb_error *err)
{
	FB_CLEANUP(fb_commit_release) struct fb_commit c = {0};
	uint32_t start = range->parent_start[node], parent;
	int rc;

	if (range->parent_start[node + 1] - start != 1)
		return 0;
	/* One parent in the range can be one of many in git. */
	if (fb_history_commit(history, &range->oid[node], &c, err) < 0)
		return -1;
	if (c.nr_parents != 1)
		return 0;
	parent = range->parent[start];
	rc = fb_history_changes(history, &range->oid[parent], &range->oid[node], look, NULL, err);
	if (rc)
		return rc == OTHER_CODE ? 0 : -1;
	*ret_parent = parent;
	return 1;
}
