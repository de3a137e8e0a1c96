/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A range less the commits that do not touch some paths. */
#include <stdlib.h>
#include <string.h>

#include "src/history/gitbisect.h"
#include "src/history/internal.h"
#include "src/util/util.h"

/* Index by id, of the nodes that are placed so far. */
struct placed {
	struct fb_range *r;
	uint32_t nr_edges;
	size_t cap_edges;
	uint32_t *slot, mask; /* hash table of node + 1 */
};

static uint32_t *find(const struct placed *p, const char *hex)
{
	uint32_t at = 2166136261u; /* FNV-1a */

	for (int i = 0; i < FB_OID_HEX_SIZE - 1; i++)
		at = (at ^ (unsigned char)hex[i]) * 16777619u;
	while (p->slot[at & p->mask] &&
	       memcmp(p->r->oid[p->slot[at & p->mask] - 1].hex, hex, FB_OID_HEX_SIZE - 1) != 0)
		at++;
	return &p->slot[at & p->mask];
}

/* The node of @hex, which is made. */
static uint32_t place(struct placed *p, const char *hex)
{
	uint32_t node = p->r->nr++;

	memcpy(p->r->oid[node].hex, hex, FB_OID_HEX_SIZE - 1);
	*find(p, hex) = node + 1;
	p->r->parent_start[node] = p->r->parent_start[node + 1] = p->nr_edges;
	return node;
}

static void add_edge(struct placed *p, uint32_t parent)
{
	FB_GROW(p->r->parent, p->nr_edges, p->cap_edges);
	p->r->parent[p->nr_edges++] = parent;
	p->r->parent_start[p->r->nr] = p->nr_edges;
}

static int list(struct fb_history *history, char *const *paths, unsigned flags,
		const struct fb_range *range, struct fb_proc_result *ret, struct fb_error *err)
{
	FB_CLEANUP(fb_strvp) char **args = NULL;
	static const char *const first[] = {"rev-list", "--parents", "--topo-order", "--reverse"};

	for (size_t i = 0; i < FB_ARRAY_SIZE(first); i++)
		fb_strv_add(&args, first[i]);
	if (flags & FB_RANGE_FIRST_PARENT)
		fb_strv_add(&args, "--first-parent");
	fb_strv_add(&args, range->oid[range->bad].hex);
	for (uint32_t i = 0; i < range->nr_good; i++) {
		FB_CLEANUP(fb_freep)
		char *not = fb_xasprintf("^%s", range->oid[range->good[i]].hex);

		fb_strv_add(&args, not );
	}
	fb_strv_add(&args, "--");
	for (; *paths; paths++)
		fb_strv_add(&args, *paths);
	if (fb_git_here(history, (const char *const *)args, NULL, ret, err) < 0)
		return -1;
	if (ret->end != FB_PROC_EXITED || ret->status || ret->out.truncated)
		return fb_error_set(err, FB_ERROR_CHILD, "git rev-list: %.500s",
				    ret->out.truncated ? "its output is too long"
						       : fb_str_cstr(&ret->err));
	return 0;
}

/* One line "HEX PARENT...": a candidate, and those of its parents that are nodes too. */
static uint32_t add_line(struct placed *p, char *line)
{
	char *save, *hex = strtok_r(line, " ", &save), *parent;
	uint32_t node;

	if (!hex || strlen(hex) != FB_OID_HEX_SIZE - 1)
		return UINT32_MAX;
	node = place(p, hex);
	while ((parent = strtok_r(NULL, " ", &save)))
		if (strlen(parent) == FB_OID_HEX_SIZE - 1 && *find(p, parent))
			add_edge(p, *find(p, parent) - 1);
	p->r->nr_candidates++;
	return node;
}

int fb_gitbisect_narrow(struct fb_history *history, char *const *paths, unsigned flags,
			struct fb_range **range, struct fb_error *err)
{
	FB_CLEANUP(fb_proc_result_release) struct fb_proc_result out = {0};
	FB_CLEANUP(fb_range_freep) struct fb_range *r = fb_xcalloc(1, sizeof(*r));
	FB_CLEANUP(fb_freep) uint32_t *slot = NULL;
	const struct fb_range *old = *range;
	struct placed p = {.r = r, .mask = 1};
	uint32_t tip = UINT32_MAX;
	char *save = NULL;
	bool added;

	if (list(history, paths, flags, old, &out, err) < 0)
		return -1;
	while (p.mask < 2 * (old->nr + 1))
		p.mask = 2 * p.mask + 1;
	p.slot = slot = fb_xcalloc((size_t)p.mask + 1, sizeof(*slot));
	r->oid = fb_xcalloc((size_t)old->nr + 2, sizeof(*r->oid));
	r->parent_start = fb_xcalloc((size_t)old->nr + 3, sizeof(*r->parent_start));
	r->good = fb_xcalloc((size_t)old->nr + 1, sizeof(*r->good));
	r->base = fb_xcalloc((size_t)old->nr + 1, sizeof(*r->base));
	for (uint32_t i = 0; i < old->nr_good; i++)
		r->good[r->nr_good++] = place(&p, old->oid[old->good[i]].hex);
	for (uint32_t i = 0; i < old->nr_base; i++)
		r->base[r->nr_base++] = place(&p, old->oid[old->base[i]].hex);
	for (char *line = out.out.buf ? strtok_r(out.out.buf, "\n", &save) : NULL; line;
	     line = strtok_r(NULL, "\n", &save)) {
		/* What is no candidate of the whole range has no place here. */
		if (r->nr > old->nr)
			return fb_error_set(err, FB_ERROR_GIT,
					    "git rev-list lists strange commits");
		if (strlen(line) >= FB_OID_HEX_SIZE - 1 && !*find(&p, line))
			tip = add_line(&p, line);
	}
	added = !*find(&p, old->oid[old->bad].hex);
	if (added) {
		/* History as simplified has one tip, and below it everything that is listed. */
		r->bad = place(&p, old->oid[old->bad].hex);
		if (tip != UINT32_MAX)
			add_edge(&p, tip);
		r->nr_candidates++;
	} else {
		r->bad = *find(&p, old->oid[old->bad].hex) - 1;
	}
	fb_range_free(*range);
	*range = FB_TAKE(r);
	return added;
}
