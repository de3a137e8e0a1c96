/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Cells and values: what every testcase shares. */
#include "testcases/testcase.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "src/util/nearest.h"
#include "src/util/str.h"
#include "src/util/util.h"
#include "testcases/list.h"

#define COUNTS_MAX     32 /* numbers in one @counts value */
#define COUNT_MAX      (1u << 20)
#define GUEST_CPUS     1    /* of the machines that src/boot makes */
#define VALUE_MAX_LEN  4096 /* a parameter's value */
#define METRIC_MAX_LEN 128  /* a metric's name */
#define VALUES_MAX     4096 /* metrics of one run */
#define NOTE_MAX_LEN   240

#define FB_TESTCASE_ENTRY(id) &fb_testcase_##id,
static const struct fb_testcase *const all[] = {FB_TESTCASES(FB_TESTCASE_ENTRY) NULL};

const struct fb_testcase *const *fb_testcases(void)
{
	return all;
}

const struct fb_testcase *fb_testcase_find(const char *name)
{
	for (const struct fb_testcase *const *t = all; *t; t++)
		if (!strcmp((*t)->name, name))
			return *t;
	return NULL;
}

/* 4096 -> "4k": the largest unit that divides it, so that one size has one spelling. */
static char *size_text(uint64_t b)
{
	static const char units[] = "kmgt";
	int u = -1;

	while (b && b % 1024 == 0 && u < 3) {
		b /= 1024;
		u++;
	}
	return u < 0 ? fb_xasprintf("%llu", (unsigned long long)b)
		     : fb_xasprintf("%llu%c", (unsigned long long)b, units[u]);
}

static char *duration_text(int64_t ns)
{
	long long s = ns / FB_NS_PER_S;

	if (s && s % 3600 == 0)
		return fb_xasprintf("%lldh", s / 3600);
	if (s && s % 60 == 0)
		return fb_xasprintf("%lldm", s / 60);
	return fb_xasprintf("%llds", s);
}

/* "512,1024", "512 1024", "512..4096": to "512+1024", free of what a key would have to escape. */
static char *counts_normal(const char *value, struct fb_error *err)
{
	FB_CLEANUP(fb_freep) char *copy = fb_xstrdup(value);
	struct fb_str out = FB_STR_INIT;
	uint64_t last = 0;
	size_t nr = 0;
	char *save = NULL;

	for (char *item = strtok_r(copy, ", +", &save); item; item = strtok_r(NULL, ", +", &save)) {
		char *dots = strstr(item, "..");
		uint64_t from, to;

		if (dots)
			*dots = '\0';
		if (fb_parse_u64(item, 1, COUNT_MAX, &from, err) < 0 ||
		    fb_parse_u64(dots ? dots + 2 : item, from, COUNT_MAX, &to, err) < 0)
			goto bad;
		for (uint64_t n = from; n <= to; n *= 2) {
			if (n <= last || ++nr > COUNTS_MAX) {
				fb_error_set(err, FB_ERROR_INPUT,
					     "'%.64s' is not a rising list of at most %d numbers",
					     value, COUNTS_MAX);
				goto bad;
			}
			fb_str_addf(&out, "%s%llu", out.len ? "+" : "", (unsigned long long)n);
			last = n;
		}
	}
	if (!nr) {
		fb_error_set(err, FB_ERROR_INPUT,
			     "'%.64s' is not a list such as 512,1024 or 512..4096", value);
		goto bad;
	}
	return fb_str_take(&out);
bad:
	fb_str_release(&out);
	return NULL;
}

static char *percent_normal(const char *value, struct fb_error *err)
{
	FB_CLEANUP(fb_freep) char *copy = fb_xstrdup(value);
	size_t len = strlen(copy);
	uint64_t n;

	if (len && copy[len - 1] == '%')
		copy[len - 1] = '\0';
	if (fb_parse_u64(copy, 0, 100, &n, err) < 0) {
		fb_error_clear(err);
		fb_error_set(err, FB_ERROR_INPUT, "'%.64s' is not a percentage from 0%% to 100%%",
			     value);
		return NULL;
	}
	return fb_xasprintf("%llu%%", (unsigned long long)n);
}

static char *number_normal(const char *value, const char *range, struct fb_error *err)
{
	uint64_t min = 0, max = INT64_MAX, n;

	if (*range == ':') {
		char *end;

		min = strtoull(range + 1, &end, 10);
		max = strtoull(end + 1, NULL, 10);
	}
	return fb_parse_u64(value, min, max, &n, err) < 0
		       ? NULL
		       : fb_xasprintf("%llu", (unsigned long long)n);
}

/* A count that may have lkp's unit after it: "8t" tasks, "10dd"; @spec is ":UNIT:MAX". */
static char *unit_normal(const char *value, const char *spec, struct fb_error *err)
{
	size_t unit_len = strcspn(spec + 1, ":"), len = strlen(value);
	FB_CLEANUP(fb_freep) char *unit = fb_xstrndup(spec + 1, unit_len);
	FB_CLEANUP(fb_freep) char *copy = fb_xstrdup(value);
	uint64_t n;

	if (!strcmp(unit, "t") && len > 1 && value[len - 1] == '%') {
		copy[len - 1] = '\0';
		if (fb_parse_u64(copy, 1, 100000, &n, err) < 0)
			return NULL;
		n = n * GUEST_CPUS / 100;
		return fb_xasprintf("%llu", (unsigned long long)(n ? n : 1));
	}
	if (len > unit_len && fb_str_has_suffix(value, unit))
		copy[len - unit_len] = '\0';
	if (fb_parse_u64(copy, 1, strtoull(spec + 1 + unit_len + 1, NULL, 10), &n, err) < 0)
		return NULL;
	return fb_xasprintf("%llu", (unsigned long long)n);
}

static char *choice_normal(const char *value, const char *choices, struct fb_error *err)
{
	FB_CLEANUP(fb_freep) char *copy = fb_xstrdup(choices);
	struct fb_nearest near = {.name = value};
	char *save = NULL;
	const char *hint;

	for (char *c = strtok_r(copy, "|", &save); c; c = strtok_r(NULL, "|", &save)) {
		if (!strcmp(c, value))
			return fb_xstrdup(value);
		fb_nearest_offer(&near, c);
	}
	hint = fb_nearest_get(&near);
	if (hint)
		fb_error_set(err, FB_ERROR_INPUT, "'%.64s' is not one of %s; did you mean '%s'?",
			     value, choices, hint);
	else
		fb_error_set(err, FB_ERROR_INPUT, "'%.64s' is not one of %s", value, choices);
	return NULL;
}

static char *text_normal(const char *value, struct fb_error *err)
{
	for (const unsigned char *p = (const unsigned char *)value; *p; p++)
		if (*p < 0x20 || *p == 0x7f) {
			fb_error_set(err, FB_ERROR_INPUT, "control bytes are not accepted");
			return NULL;
		}
	return fb_xstrdup(value);
}

/* The one spelling of a value, owned; NULL with an error for what the parameter does not accept. */
static char *normal(const struct fb_param_def *def, const char *value, struct fb_error *err)
{
	const char *kind = def->choices;
	size_t len = strlen(kind);
	uint64_t size_b;
	int64_t ns;
	json_t *utf8;

	if (strlen(value) > VALUE_MAX_LEN) {
		fb_error_set(err, FB_ERROR_INPUT, "longer than %d bytes", VALUE_MAX_LEN);
		return NULL;
	}
	utf8 = json_string(value);
	json_decref(utf8);
	if (!utf8) {
		fb_error_set(err, FB_ERROR_INPUT, "not UTF-8");
		return NULL;
	}
	if (!*value && len && kind[len - 1] == '?')
		return fb_xstrdup("");
	if (!*value) {
		fb_error_set(err, FB_ERROR_INPUT, "needs a value");
		return NULL;
	}
	if (*kind != '@')
		return choice_normal(value, kind, err);
	if (fb_str_has_prefix(kind, "@size"))
		return fb_parse_size(value, &size_b, err) < 0 ? NULL : size_text(size_b);
	if (fb_str_has_prefix(kind, "@duration"))
		return fb_parse_duration(value, &ns, err) < 0 ? NULL : duration_text(ns);
	if (fb_str_has_prefix(kind, "@number"))
		return number_normal(value, kind + strlen("@number"), err);
	if (fb_str_has_prefix(kind, "@counts"))
		return counts_normal(value, err);
	if (fb_str_has_prefix(kind, "@count:"))
		return unit_normal(value, kind + strlen("@count"), err);
	if (fb_str_has_prefix(kind, "@percent"))
		return percent_normal(value, err);
	if (fb_str_has_prefix(kind, "@text"))
		return text_normal(value, err);
	FB_BUG("parameter '%s' has the unknown kind '%s'", def->name, kind);
}

/* -1 with an error when there is none of that name. */
static int find_param(const struct fb_testcase *testcase, const char *name, struct fb_error *err)
{
	FB_CLEANUP(fb_str_release) struct fb_str known = FB_STR_INIT;
	struct fb_nearest near = {.name = name};
	const char *hint;

	for (int i = 0; testcase->params[i].name; i++)
		if (!strcmp(testcase->params[i].name, name))
			return i;
	for (int i = 0; testcase->params[i].name; i++) {
		fb_nearest_offer(&near, testcase->params[i].name);
		fb_str_addf(&known, "%s%s", i ? ", " : "", testcase->params[i].name);
	}
	hint = fb_nearest_get(&near);
	if (hint)
		fb_error_set(err, FB_ERROR_INPUT,
			     "testcase '%s' has no parameter '%.64s'; did you mean '%s'?",
			     testcase->name, name, hint);
	else
		fb_error_set(err, FB_ERROR_INPUT, "testcase '%s' has no parameter '%.64s', only %s",
			     testcase->name, name, fb_str_cstr(&known));
	return -1;
}

/* Fill .value of every parameter; on failure what was filled is left to the caller. */
static int fill(struct fb_cell *cell, const struct fb_param *params, size_t nr_params, int *bad,
		struct fb_error *err)
{
	const struct fb_param_def *defs = cell->testcase->params;

	for (size_t i = 0; i < nr_params; i++) {
		int d = find_param(cell->testcase, params[i].name, err);

		*bad = (int)i;
		if (d < 0)
			return -1;
		if (cell->params[d].value)
			return fb_error_set(err, FB_ERROR_INPUT, "'%s' is given twice",
					    defs[d].name);
		cell->params[d].value = normal(&defs[d], params[i].value, err);
		if (!cell->params[d].value)
			return fb_error_wrap(err, "%s", defs[d].name);
	}
	*bad = -1;
	for (size_t d = 0; d < cell->nr_params; d++) {
		if (cell->params[d].value)
			continue;
		if (!defs[d].def)
			return fb_error_set(err, FB_ERROR_INPUT, "testcase '%s' needs '%s' (%s)",
					    cell->testcase->name, defs[d].name, defs[d].help);
		cell->params[d].value = normal(&defs[d], defs[d].def, err);
		if (!cell->params[d].value)
			FB_BUG("default of '%s' of '%s': %s", defs[d].name, cell->testcase->name,
			       err->text);
	}
	return 0;
}

int fb_cell_new(const struct fb_testcase *testcase, const struct fb_param *params, size_t nr_params,
		struct fb_cell *ret, int *ret_bad_param, struct fb_error *err)
{
	FB_CLEANUP(fb_cell_release) struct fb_cell cell = {.testcase = testcase};
	json_t *job;

	while (testcase->params[cell.nr_params].name)
		cell.nr_params++;
	cell.params = fb_xcalloc(cell.nr_params ? cell.nr_params : 1, sizeof(*cell.params));
	for (size_t i = 0; i < cell.nr_params; i++)
		cell.params[i].name = fb_xstrdup(testcase->params[i].name);
	if (fill(&cell, params, nr_params, ret_bad_param, err) < 0)
		return -1;
	/* What only the parameters together can tell (runtime and number_ios, say). */
	*ret_bad_param = -1;
	job = testcase->job(&cell, err);
	if (!job)
		return -1;
	json_decref(job);
	*ret = cell;
	cell = (struct fb_cell){0};
	return 0;
}

void fb_cell_release(struct fb_cell *cell)
{
	for (size_t i = 0; i < cell->nr_params; i++) {
		free(cell->params[i].name);
		free(cell->params[i].value);
	}
	free(cell->params);
	*cell = (struct fb_cell){0};
}

const char *fb_cell_get(const struct fb_cell *cell, const char *name)
{
	for (size_t i = 0; i < cell->nr_params; i++)
		if (!strcmp(cell->params[i].name, name))
			return cell->params[i].value;
	FB_BUG("testcase '%s' has no parameter '%s'", cell->testcase->name, name);
}

uint64_t fb_cell_size(const struct fb_cell *cell, const char *name)
{
	struct fb_error err = FB_ERROR_INIT;
	uint64_t b;

	if (fb_parse_size(fb_cell_get(cell, name), &b, &err) < 0)
		FB_BUG("%s", err.text);
	return b;
}

uint64_t fb_cell_number(const struct fb_cell *cell, const char *name)
{
	return strtoull(fb_cell_get(cell, name), NULL, 10);
}

int64_t fb_cell_seconds(const struct fb_cell *cell, const char *name)
{
	struct fb_error err = FB_ERROR_INIT;
	int64_t ns;

	if (fb_parse_duration(fb_cell_get(cell, name), &ns, &err) < 0)
		FB_BUG("%s", err.text);
	return ns / FB_NS_PER_S;
}

static int by_name(const void *a, const void *b)
{
	return strcmp((*(const struct fb_param *const *)a)->name,
		      (*(const struct fb_param *const *)b)->name);
}

static void add_escaped(struct fb_str *s, const char *value)
{
	for (const unsigned char *p = (const unsigned char *)value; *p; p++)
		if (*p > 0x20 && *p < 0x7f && !strchr(",=%", *p))
			fb_str_addc(s, (char)*p);
		else
			fb_str_addf(s, "%%%02X", *p);
}

/* In quotes where the end of the value would not be clear. */
static void add_readable(struct fb_str *s, const char *value)
{
	bool quoted = strpbrk(value, " ,=\"\\") != NULL;

	if (quoted)
		fb_str_addc(s, '"');
	for (; *value; value++) {
		if (*value == '"' || *value == '\\')
			fb_str_addc(s, '\\');
		fb_str_addc(s, *value);
	}
	if (quoted)
		fb_str_addc(s, '"');
}

/* "testcase=NAME,PARAMETER=VALUE,...", sorted by name. */
static char *spell(const struct fb_cell *cell, void (*add)(struct fb_str *s, const char *value))
{
	FB_CLEANUP(fb_freep)
	const struct fb_param **sorted =
		fb_xcalloc(cell->nr_params ? cell->nr_params : 1, sizeof(*sorted));
	struct fb_str s = FB_STR_INIT;

	for (size_t i = 0; i < cell->nr_params; i++)
		sorted[i] = &cell->params[i];
	qsort(sorted, cell->nr_params, sizeof(*sorted), by_name);
	fb_str_addf(&s, "testcase=%s", cell->testcase->name);
	for (size_t i = 0; i < cell->nr_params; i++) {
		if (!strcmp(sorted[i]->name, "timeout"))
			continue;
		fb_str_addf(&s, ",%s=", sorted[i]->name);
		add(&s, sorted[i]->value);
	}
	return fb_str_take(&s);
}

char *fb_cell_key(const struct fb_cell *cell)
{
	return spell(cell, add_escaped);
}

char *fb_cell_text(const struct fb_cell *cell)
{
	return spell(cell, add_readable);
}

char *fb_cell_label(const struct fb_cell *cell)
{
	const struct fb_param_def *defs = cell->testcase->params;
	struct fb_error ignored = FB_ERROR_INIT;
	struct fb_str s = FB_STR_INIT;

	fb_str_add(&s, cell->testcase->name);
	for (size_t i = 0; i < cell->nr_params; i++) {
		/* A default has a normal form, or fb_cell_new() would have stopped. */
		FB_CLEANUP(fb_freep)
		char *def = defs[i].def ? normal(&defs[i], defs[i].def, &ignored) : NULL;

		/* The file system is what people look for first, default or not. */
		if (def && !strcmp(def, cell->params[i].value) && strcmp(defs[i].name, "fs"))
			continue;
		fb_str_addf(&s, " %s=%s", cell->params[i].name, cell->params[i].value);
	}
	return fb_str_take(&s);
}

char *fb_param_normal(const struct fb_testcase *testcase, const char *name, const char *value,
		      struct fb_error *err)
{
	const struct fb_param_def *def;
	int d = find_param(testcase, name, err);
	char *ret;

	if (d < 0)
		return NULL;
	def = &testcase->params[d];
	if (!value && !def->def) {
		fb_error_set(err, FB_ERROR_INPUT, "'%s' has no default", name);
		return NULL;
	}
	ret = normal(def, value ? value : def->def, err);
	if (!ret)
		fb_error_wrap(err, "%s", name);
	return ret;
}

int fb_cell_match(const struct fb_cell *cell, const char *name, const char *value,
		  struct fb_error *err)
{
	FB_CLEANUP(fb_freep) char *want = NULL;

	if (!strcmp(name, "testcase"))
		return !strcmp(cell->testcase->name, value);
	want = fb_param_normal(cell->testcase, name, value, err);
	return want ? !strcmp(want, fb_cell_get(cell, name)) : -1;
}

enum fb_better fb_cell_better(const struct fb_cell *cell, const char *metric)
{
	const struct fb_metric *m = fb_metric_find(metric);

	if (m)
		return m->better;
	for (size_t i = 0; i < cell->nr_params; i++)
		if (!strcmp(cell->params[i].name, "better"))
			return !strcmp(cell->params[i].value, "lower")	  ? FB_BETTER_LOWER
			       : !strcmp(cell->params[i].value, "higher") ? FB_BETTER_HIGHER
									  : FB_BETTER_NEITHER;
	return FB_BETTER_NEITHER;
}

bool fb_cell_by_status(const struct fb_cell *cell)
{
	for (size_t i = 0; i < cell->nr_params; i++)
		if (!strcmp(cell->params[i].name, "exit"))
			return !strcmp(cell->params[i].value, "verdict");
	return false;
}

/* @pattern holds at most one '*'. */
static bool matches(const char *pattern, const char *name)
{
	const char *star = strchr(pattern, '*');
	size_t head;

	if (!star)
		return !strcmp(pattern, name);
	head = (size_t)(star - pattern);
	return strlen(name) > strlen(pattern) - 1 && !strncmp(pattern, name, head) &&
	       fb_str_has_suffix(name + head, star + 1);
}

bool fb_cell_yields(const struct fb_cell *cell, const char *metric)
{
	for (const char *const *m = cell->testcase->metrics; *m; m++)
		if (matches(*m, metric) && (!strcmp(*m, "*") || fb_metric_find(metric)))
			return true;
	return false;
}

const struct fb_metric *fb_metric_find(const char *name)
{
	const struct fb_metric *table, *found = NULL;
	size_t nr;

	table = fb_metrics(&nr);
	for (size_t i = 0; i < nr; i++) {
		if (!matches(table[i].name, name))
			continue;
		/* An exact name counts before the family it is in. */
		if (!strchr(table[i].name, '*'))
			return &table[i];
		if (!found || strlen(table[i].name) > strlen(found->name))
			found = &table[i];
	}
	return found;
}

int fb_values_add(struct fb_values *values, const char *metric, double value, struct fb_error *err)
{
	size_t len = strlen(metric);

	if (!len || len > METRIC_MAX_LEN)
		return fb_error_set(err, FB_ERROR_INPUT, "'%.64s' is not a metric name", metric);
	for (const char *p = metric; *p; p++)
		if (!isalnum((unsigned char)*p) && !strchr("._-/%+", *p))
			return fb_error_set(err, FB_ERROR_INPUT,
					    "'%.64s' is not a metric name: letters, digits and "
					    "._-/%%+ only",
					    metric);
	if (!isfinite(value))
		return fb_error_set(err, FB_ERROR_INPUT, "%s is not a finite number", metric);
	if (values->nr >= VALUES_MAX)
		return fb_error_set(err, FB_ERROR_INPUT, "more than %d metrics", VALUES_MAX);
	for (size_t i = 0; i < values->nr; i++)
		if (!strcmp(values->v[i].metric, metric))
			return fb_error_set(err, FB_ERROR_INPUT, "%s is given twice", metric);
	FB_GROW(values->v, values->nr, values->cap);
	values->v[values->nr++] = (struct fb_value){fb_xstrdup(metric), value};
	return 0;
}

int fb_values_addf(struct fb_values *values, double value, struct fb_error *err, const char *fmt,
		   ...)
{
	FB_CLEANUP(fb_freep) char *name = NULL;
	va_list ap;

	va_start(ap, fmt);
	name = fb_xvasprintf(fmt, ap);
	va_end(ap);
	return fb_values_add(values, name, value, err);
}

double fb_values_get(const struct fb_values *values, const char *metric)
{
	for (size_t i = 0; i < values->nr; i++)
		if (!strcmp(values->v[i].metric, metric))
			return values->v[i].value;
	return NAN;
}

void fb_values_note(struct fb_values *values, const char *fmt, ...)
{
	char text[NOTE_MAX_LEN];
	va_list ap;

	if (values->notes && fb_strv_len(values->notes) >= FB_NOTES_MAX)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	/* Notes are shown and mailed: only ASCII, as a cut could also split a UTF-8 sequence. */
	for (unsigned char *p = (unsigned char *)text; *p; p++)
		if (*p < 0x20 || *p >= 0x7f)
			*p = '?';
	fb_strv_add(&values->notes, text);
}

/* "fio 3.33" -> the length of "fio 3"; "sysbench 0.4.12" -> that of "sysbench 0.4". */
static size_t major_len(const char *tool)
{
	const char *p = strchr(tool, ' ');

	if (!p)
		return strlen(tool);
	p++;
	/* Before 1.0 the second number is the one that changes what is measured. */
	if (p[0] == '0' && p[1] == '.')
		p += 2;
	return (size_t)(p - tool) + strcspn(p, ".-");
}

bool fb_values_tools_agree(const char *tool_a, const char *tool_b)
{
	size_t len;

	if (!tool_a || !tool_b)
		return tool_a == tool_b;
	len = major_len(tool_a);
	return len == major_len(tool_b) && !strncmp(tool_a, tool_b, len);
}

void fb_values_release(struct fb_values *values)
{
	for (size_t i = 0; i < values->nr; i++)
		free(values->v[i].metric);
	free(values->v);
	fb_strvp(&values->notes);
	free(values->tool);
	*values = (struct fb_values){0};
}
