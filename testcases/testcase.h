/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One workload a file: what to run, and how to read what it wrote.
 *
 * A testcase turns a cell (its parameters) into a job for the agent, and the output that
 * came back into metrics. Nothing here runs a process; .guest is called by the agent in
 * the guest for workloads that are our own code.
 */
#ifndef FB_TESTCASES_TESTCASE_H
#define FB_TESTCASES_TESTCASE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/util/error.h"

enum fb_better {
	FB_BETTER_HIGHER,
	FB_BETTER_LOWER,
	FB_BETTER_NEITHER, /* a counter that explains, without a good side */
};

struct fb_metric {
	const char *name; /* as in lkp-tests: "fio.write_iops"; one '*' matches a family */
	const char *unit;
	enum fb_better better;
	bool headline; /* may drive a bisection by default */
};

/** fb_better_name() - "higher is better", "lower is better", "neither is better". */
const char *fb_better_name(enum fb_better better);

/** fb_metric_find() - The metric's entry, or NULL for a name that no testcase makes. */
const struct fb_metric *fb_metric_find(const char *name);

/** fb_metrics() - The whole table, in strcmp order of names. */
const struct fb_metric *fb_metrics(size_t *ret_nr);

struct fb_param {
	char *name, *value;
};

/* Parameters in the order of the testcase's table, defaults filled in. */
struct fb_cell {
	const struct fb_testcase *testcase;
	struct fb_param *params;
	size_t nr_params;
};

/** fb_cell_get() - The value of a parameter of the testcase's table; never NULL. */
const char *fb_cell_get(const struct fb_cell *cell, const char *name);

/* The same as a size in bytes, a number, a duration in whole seconds: fb_cell_new() checked them.
 */
uint64_t fb_cell_size(const struct fb_cell *cell, const char *name);
uint64_t fb_cell_number(const struct fb_cell *cell, const char *name);
int64_t fb_cell_seconds(const struct fb_cell *cell, const char *name);

/**
 * fb_cell_new() - A cell with defaults filled in and every value checked.
 * @params: what the plan gave, without "testcase".
 *
 * Errors: FB_ERROR_INPUT for an unknown parameter (with the nearest known name) or a bad value.
 * *ret_bad_param is then the index in @params, or -1.
 */
int fb_cell_new(const struct fb_testcase *testcase, const struct fb_param *params, size_t nr_params,
		struct fb_cell *ret, int *ret_bad_param, struct fb_error *err);
void fb_cell_release(struct fb_cell *cell);

/**
 * fb_cell_key() - "testcase=fio,bs=4k,fs=ext4,...": names the cell in the store; owned.
 *
 * All parameters, sorted by name, but for "timeout", which does not change what is measured.
 * Values are in their normal form (4096 is 4k); ',' '=' '%' and bytes outside of printable
 * ASCII in them are written as %XX.
 */
char *fb_cell_key(const struct fb_cell *cell);

/** fb_cell_text() - As fb_cell_key() for people: values as they are, in quotes where they need it;
 * owned. */
char *fb_cell_text(const struct fb_cell *cell);

/** fb_cell_label() - Short form for people: testcase and the parameters that are not defaults;
 * owned. */
char *fb_cell_label(const struct fb_cell *cell);

/**
 * fb_param_normal() - The one spelling of a parameter's value.
 * @value: NULL for its default.
 *
 * Return: owned; NULL with FB_ERROR_INPUT for a parameter or value the testcase does not know, and
 * for the default of one that must be given.
 */
char *fb_param_normal(const struct fb_testcase *testcase, const char *name, const char *value,
		      struct fb_error *err);

/**
 * fb_cell_match() - Whether @cell has @value for the parameter @name ("testcase" too).
 *
 * The value is brought into its normal form first.
 * Return: 1, 0, or -1 with FB_ERROR_INPUT for a parameter or value the testcase does not know.
 */
int fb_cell_match(const struct fb_cell *cell, const char *name, const char *value,
		  struct fb_error *err);

/**
 * fb_cell_better() - The good direction of a metric in this cell.
 *
 * By the table, and for names that it does not hold (testcase "command") by the cell's
 * parameter "better".
 */
enum fb_better fb_cell_better(const struct fb_cell *cell, const char *metric);

/** fb_cell_by_status() - True when an exit status without values is a verdict ("exit: verdict"). */
bool fb_cell_by_status(const struct fb_cell *cell);

/** fb_cell_yields() - True when the cell's testcase can yield @metric (counters apart). */
bool fb_cell_yields(const struct fb_cell *cell, const char *metric);

struct fb_value {
	char *metric;
	double value; /* finite */
};

/* A zeroed struct is empty. */
struct fb_values {
	struct fb_value *v;
	size_t nr, cap;
	char **notes; /* warnings worth keeping, NULL-terminated; may be NULL */
	char *tool;   /* program and version that measured, "fio 3.33"; NULL: our own code */
};

/** fb_values_add() - Add a metric; a second value for one name is FB_ERROR_INPUT. */
int fb_values_add(struct fb_values *values, const char *metric, double value, struct fb_error *err);

/** fb_values_addf() - The same with a formatted name. */
int fb_values_addf(struct fb_values *values, double value, struct fb_error *err, const char *fmt,
		   ...) __attribute__((format(printf, 4, 5)));
double fb_values_get(const struct fb_values *values, const char *metric); /* NAN when absent */

/** fb_values_note() - Keep a line; control bytes become '?', at most FB_NOTES_MAX are kept. */
void fb_values_note(struct fb_values *values, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
#define FB_NOTES_MAX 32

/**
 * fb_values_tools_agree() - Whether values of two runs may be compared as far as .tool goes.
 *
 * Versions of one tool that measure alike only within a major version (fio 2 against 3:
 * units; sysbench 0.4 against 1.0: what is held fixed) do not agree.
 */
bool fb_values_tools_agree(const char *tool_a, const char *tool_b);
void fb_values_release(struct fb_values *values);

struct fb_param_def {
	const char *name;
	const char *def; /* default; NULL: must be given */
	/*
	 * "ext4|btrfs|xfs", or one of: @size (4k), @number, @number:MIN:MAX, @count:UNIT:MAX (4,
	 * or as in lkp-tests with its unit: 4t, 10dd, 256fpd; from 1; with unit t also 100%, of
	 * the guest's CPUs), @duration (60s), @percent,
	 * @text, @counts (a list in one value: 512,1024 or 512..4096, each double the one
	 * before). "@KIND?" allows "".
	 */
	const char *choices;
	const char *help;
};

struct fb_testcase {
	const char *name;
	const char *summary;
	unsigned version;		   /* raised when results stop being comparable */
	const struct fb_param_def *params; /* ends with a NULL name */
	const char *const *metrics;	   /* names (or families) it can yield; NULL-terminated */

	/**
	 * tools() - Programs that @cell needs in the guest, mkfs included: added to the
	 * NULL-terminated vector *@tools.
	 */
	void (*tools)(const struct fb_cell *cell, char ***tools);

	/**
	 * job() - The cell as a job for the agent: a new JSON object
	 *   {"fs": {"type": "ext4", "mkfs": ["mkfs.ext4", ...], "options": "noatime"},   (or null)
	 *    "prepare": [["argv0", ...], ...],     run before counters are read, output dropped
	 *    "measure": ["argv0", ...],            the measured step; its stdout comes back
	 *    "files": [{"path": "...", "text": "..."}],   written before, relative to the mount
	 *    "sysctl": ["vm.dirty_bytes=1048576"],  set for the cell and given back (optional)
	 *    "timeout_s": 600, "runs": 1,
	 *    "marked": true}                       only lines with "firstbad:" first come back
	 * The agent adds the device to mkfs, mounts it and runs the steps in the mount point.
	 * argv0 "@NAME" calls .guest of the testcase of that name, "@settle" fb_guest_settle().
	 * Return: NULL with an error.
	 */
	json_t *(*job)(const struct fb_cell *cell, struct fb_error *err);

	/**
	 * parse() - Read the measured step's output. Bounded, strict: a value that cannot be
	 * trusted is an error, never a number.
	 */
	int (*parse)(const struct fb_cell *cell, const char *out, size_t len, struct fb_values *ret,
		     struct fb_error *err);

	/** disk_b() - Bytes that the cell's files take at once. May be NULL: not known. */
	uint64_t (*disk_b)(const struct fb_cell *cell);

	/** guest() - Our own workload, run in the guest as a child of the agent; exit status. */
	int (*guest)(int argc, char **argv);
};

/** fb_testcases() - All of them, NULL-terminated, in strcmp order of their names. */
const struct fb_testcase *const *fb_testcases(void);

/** fb_testcase_find() - By name, or NULL. */
const struct fb_testcase *fb_testcase_find(const char *name);

#endif
