/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the commands that run a plan's matrix on revisions begin and end with. */
#ifndef FB_CMD_MEASURING_H
#define FB_CMD_MEASURING_H

#include "src/cmd/cmd.h"
#include "src/controller/measure.h"

struct fb_measure_cmd {
	struct fb_store *store;
	struct fb_history *history;
	struct fb_session session;
	struct fb_lab *lab;
	struct fb_measuring measuring;
	json_t *told; /* array of cells that were left out: {"cell", "text", "unavailable"} */
};

/** fb_measure_unavailable() - Why a cell cannot be run here; owned; NULL: nothing is known. */
char *fb_measure_unavailable(const struct fb_plan *plan, const struct fb_cell *cell);

/**
 * fb_measure_cmd_begin() - Drop what cannot be run from @plan, and say so; open all, build @revs.
 * @c: zeroed; release it also after an error. @plan must outlive it.
 * @kind: of the session; @balance: as for fb_measuring_begin().
 */
int fb_measure_cmd_begin(struct fb_measure_cmd *c, const struct fb_common *common,
			 struct fb_plan *plan, const char *kind, char *const *revs, bool balance,
			 struct fb_error *err);

/** fb_measure_cmd_end() - Close the session. */
int fb_measure_cmd_end(struct fb_measure_cmd *c, const char *verdict, struct fb_error *err);
void fb_measure_cmd_release(struct fb_measure_cmd *c);

#endif
