/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A plan: what machine, what kernel config, what cells, how sure. Read from YAML. */
#ifndef FB_PLAN_PLAN_H
#define FB_PLAN_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "src/util/error.h"
#include "src/util/hash.h"
#include "testcases/testcase.h"

struct fb_plan {
	char *text;	   /* as read, kept with the session */
	char *path;	   /* where from; "(stdin)" or a name of the caller's */
	char *machine;	   /* "deterministic" */
	char *config_base; /* "tinyconfig" (default with kconfig:), "defconfig" or a path */
	char **fragments;  /* kconfig fragment paths, in order */
	char **fixups;	   /* patch paths */
	uint64_t memory_b;
	uint64_t disk_b; /* size of the device under test */
	char *cmdline;
	char **sysctl;		       /* "name=value" */
	unsigned boots_min, boots_max; /* per commit */
	unsigned max_boots;	       /* in all; 0: none */
	int64_t max_time_ns;	       /* 0: none */
	int64_t build_timeout_ns, boot_timeout_ns, silence_ns;
	double confidence;
	double min_effect; /* ratio: 0.02 is 2 % */
	struct fb_cell *cells;
	size_t nr_cells;
	int bisect_cell;     /* index into cells, or -1: the one that changed most surely */
	char *bisect_metric; /* or NULL: the headline metric that changed most surely */
};

/**
 * fb_plan_parse() - Read a plan.
 * @name: shown in errors as NAME:line:column and used to resolve relative paths.
 * @kconfig_dir: where fragment names are looked up (NAME.config).
 *
 * Errors: FB_ERROR_INPUT, "plan.yaml:12:5: ..." with what was expected.
 */
int fb_plan_parse(const char *buf, size_t len, const char *name, const char *kconfig_dir,
		  struct fb_plan **ret, struct fb_error *err);

/**
 * fb_plan_parse_stored() - Read a plan again that fb_plan_parse() took, perhaps that of an older
 * firstbad: neither what its cells need of the kernel and the disk nor whether its files are there
 * is looked at, so that what was measured by it can still be told.
 */
int fb_plan_parse_stored(const char *text, const char *name, const char *kconfig_dir,
			 struct fb_plan **ret, struct fb_error *err);

/** fb_plan_load() - The same as fb_plan_parse() from a file; FB_ERROR_USAGE when it cannot be read.
 */
int fb_plan_load(const char *path, const char *kconfig_dir, struct fb_plan **ret,
		 struct fb_error *err);
void fb_plan_free(struct fb_plan *plan);
void fb_plan_freep(struct fb_plan **plan);

/** fb_plan_drop() - Take the cell of that index out of the matrix; bisect_cell must not be it. */
void fb_plan_drop(struct fb_plan *plan, size_t cell);

/**
 * fb_plan_select() - Index of the one cell that matches "K=V,K=V".
 *
 * Errors: FB_ERROR_USAGE when none or several match; the text lists what there is.
 */
int fb_plan_select(const struct fb_plan *plan, const char *selector, int *ret,
		   struct fb_error *err);

/** fb_plan_min_effect() - Read "2%" or "0.02", from 0.01 % to 100 %. Errors: FB_ERROR_INPUT. */
int fb_plan_min_effect(const char *text, double *ret, struct fb_error *err);

/** fb_plan_confidence() - Read "99%" or "0.99", between 50 % and 100 %. Errors: FB_ERROR_INPUT. */
int fb_plan_confidence(const char *text, double *ret, struct fb_error *err);

/**
 * fb_plan_check_metric() - Can a cell give the metric of that name?
 * @cell: the one that was chosen, an index; -1: any of the plan.
 *
 * Errors: FB_ERROR_USAGE, with the nearest known name.
 */
int fb_plan_check_metric(const struct fb_plan *plan, int cell, const char *name,
			 struct fb_error *err);

/** fb_plan_default() - The text of the plan that is used when none is given; borrowed. */
const char *fb_plan_default(void);

#endif
