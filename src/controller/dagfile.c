/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Commit graphs without commits: the .dag files that simulations run on. */
#include "src/controller/dagfile.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "src/controller/xz.h"
#include "src/util/file.h"
#include "src/util/str.h"
#include "src/util/util.h"

#define BYTES_MAX   (64u << 20)
#define PARENTS_MAX 1024 /* of one commit; the kernel's largest octopus has 66 */
#define SHOWN_MAX   20	 /* of a wrong line, in errors */

struct reader {
	const char *at, *end; /* what is left */
	const char *name;
	size_t line; /* of the file, from 1 */
	struct fb_error *err;
};

/* "a.dag:7: expected WHAT, not 'what the line has there'" */
static int expected(const struct reader *r, const char *what, const char *at, const char *end)
{
	size_t len = (size_t)(end - at);

	return fb_error_set(r->err, FB_ERROR_INPUT, "%s:%zu: expected %s, not '%.*s%s'", r->name,
			    r->line, what, (int)(len < SHOWN_MAX ? len : SHOWN_MAX), at,
			    len > SHOWN_MAX ? "..." : "");
}

/* A decimal number without sign or leading zeroes. Return: where it ends, NULL if there is none. */
static const char *number(const char *at, const char *end, uint32_t *ret)
{
	uint64_t v = 0;
	const char *p = at;

	for (; p < end && *p >= '0' && *p <= '9'; p++) {
		v = v * 10 + (uint64_t)(*p - '0');
		if (v > UINT32_MAX)
			return NULL;
	}
	if (p == at || (*at == '0' && p > at + 1))
		return NULL;
	*ret = (uint32_t)v;
	return p;
}

/* The next line, without its end; every line has one. Return: -1 at the end of the file. */
static int next_line(struct reader *r, const char **ret, const char **ret_end)
{
	const char *nl = r->at < r->end ? memchr(r->at, '\n', (size_t)(r->end - r->at)) : NULL;

	if (!nl)
		return -1;
	*ret = r->at;
	*ret_end = nl;
	r->at = nl + 1;
	r->line++;
	return 0;
}

static int read_head(struct reader *r, struct fb_dagfile *file)
{
	static const char what[] = "'# N commits ...'", word[] = " commits";
	const char *line = r->at, *end = r->end, *p;

	if (next_line(r, &line, &end) < 0) {
		r->line = 1;
		return expected(r, what, line, end);
	}
	p = end - line > 2 && !memcmp(line, "# ", 2) ? number(line + 2, end, &file->nr_commits)
						     : NULL;
	if (!p || (size_t)(end - p) < strlen(word) || memcmp(p, word, strlen(word)) != 0)
		return expected(r, what, line, end);
	if (file->nr_commits < 1 || file->nr_commits > FB_DAGFILE_COMMITS_MAX)
		return fb_error_set(r->err, FB_ERROR_INPUT,
				    "%s:%zu: expected 1 to %d commits, not %u", r->name, r->line,
				    FB_DAGFILE_COMMITS_MAX, file->nr_commits);
	file->about = fb_xstrndup(line + 2, (size_t)(end - line - 2));
	fb_text_tame(file->about);
	return 0;
}

/* @parents holds nodes: one more than the indices of the file. */
static int read_parents(const struct reader *r, uint32_t commit, const char *at, const char *end,
			uint32_t parents[PARENTS_MAX], size_t *ret_nr)
{
	size_t nr = 0;

	while (at < end) {
		const char *word = at;
		uint32_t index;

		at = number(word, end, &index);
		if (!at || (at < end && *at != ' ') || (at < end && at + 1 == end))
			return expected(r, "indices with one blank between them", word, end);
		if (index >= commit)
			return fb_error_set(r->err, FB_ERROR_INPUT,
					    "%s:%zu: expected parents before commit %u, not %u",
					    r->name, r->line, commit, index);
		if (nr == PARENTS_MAX)
			return fb_error_set(r->err, FB_ERROR_INPUT,
					    "%s:%zu: expected at most %d parents", r->name, r->line,
					    PARENTS_MAX);
		for (size_t i = 0; i < nr; i++)
			if (parents[i] == index + 1)
				return fb_error_set(
					r->err, FB_ERROR_INPUT,
					"%s:%zu: expected each parent once, not %u again", r->name,
					r->line, index);
		parents[nr++] = index + 1;
		at += at < end;
	}
	*ret_nr = nr;
	return 0;
}

/* Commits that the last one does not reach would be no candidates. */
static int check_reached(const struct reader *r, const struct fb_dagfile *file)
{
	FB_CLEANUP(fb_freep) bool *reached = fb_xcalloc((size_t)file->nr_commits + 1, 1);
	size_t nr;

	reached[file->nr_commits] = true;
	for (uint32_t v = file->nr_commits; v > 0; v--) {
		const uint32_t *parents = fb_dag_parents(file->dag, v, &nr);

		if (!reached[v])
			return fb_error_set(r->err, FB_ERROR_INPUT,
					    "%s:%u: expected an ancestor of the last commit, which "
					    "commit %u is not",
					    r->name, v + 1, v - 1);
		for (size_t i = 0; i < nr; i++)
			reached[parents[i]] = true;
	}
	return 0;
}

static void add_node(struct fb_dag *dag, const uint32_t *parents, size_t nr)
{
	if (fb_dag_add(dag, parents, nr) < 0)
		FB_BUG("a graph of %u nodes cannot grow", fb_dag_nr(dag));
}

static struct fb_dag *new_dag(void)
{
	struct fb_dag *dag = fb_dag_new();

	if (!dag)
		FB_BUG("no memory for a graph");
	add_node(dag, NULL, 0);
	return dag;
}

static int read_commits(struct reader *r, struct fb_dagfile *file)
{
	uint32_t parents[PARENTS_MAX];

	file->dag = new_dag();
	for (uint32_t commit = 0; commit < file->nr_commits; commit++) {
		const char *line, *end;
		size_t nr = 0;

		if (next_line(r, &line, &end) < 0)
			return fb_error_set(r->err, FB_ERROR_INPUT,
					    "%s:%zu: expected the line of commit %u of %u%s",
					    r->name, r->line + 1, commit, file->nr_commits,
					    r->at < r->end ? " to end" : "");
		if (read_parents(r, commit, line, end, parents, &nr) < 0)
			return -1;
		file->nr_merges += nr > 1;
		if (nr == 0)
			parents[nr++] = 0;
		add_node(file->dag, parents, nr);
	}
	if (r->at < r->end) {
		r->line++;
		return fb_error_set(r->err, FB_ERROR_INPUT,
				    "%s:%zu: expected the end after %u commits", r->name, r->line,
				    file->nr_commits);
	}
	return check_reached(r, file);
}

static int parse_text(const char *data, size_t len, const char *name, struct fb_dagfile *ret,
		      struct fb_error *err)
{
	struct reader r = {.at = data, .end = data + len, .name = name, .err = err};
	struct fb_dagfile file = {0};

	if (read_head(&r, &file) < 0 || read_commits(&r, &file) < 0) {
		fb_dagfile_release(&file);
		return -1;
	}
	*ret = file;
	return 0;
}

int fb_dagfile_parse(const char *data, size_t len, const char *name, struct fb_dagfile *ret,
		     struct fb_error *err)
{
	FB_CLEANUP(fb_str_release) struct fb_str text = FB_STR_INIT;

	if (!fb_xz_is(data, len))
		return parse_text(data, len, name, ret, err);
	if (fb_xz_decode(data, len, BYTES_MAX, &text, err) < 0)
		return fb_error_wrap(err, "%s", name);
	return parse_text(fb_str_cstr(&text), text.len, name, ret, err);
}

static int line_of(const char *number_text, struct fb_dagfile *ret, struct fb_error *err)
{
	uint64_t nr;

	if (fb_parse_u64(number_text, 1, FB_DAGFILE_COMMITS_MAX, &nr, err) < 0) {
		fb_error_wrap(err, "line:N");
		err->code = FB_ERROR_USAGE;
		return -1;
	}
	*ret = (struct fb_dagfile){.dag = new_dag(), .nr_commits = (uint32_t)nr};
	ret->about = fb_xasprintf("%u commits in a line", ret->nr_commits);
	for (uint32_t parent = 0; parent < ret->nr_commits; parent++)
		add_node(ret->dag, &parent, 1);
	return 0;
}

int fb_dagfile_load(const char *name, struct fb_dagfile *ret, struct fb_error *err)
{
	FB_CLEANUP(fb_str_release) struct fb_str data = FB_STR_INIT;

	if (fb_str_has_prefix(name, "line:"))
		return line_of(name + strlen("line:"), ret, err);
	if (fb_file_read(name, BYTES_MAX, &data, err) < 0)
		return -1;
	return fb_dagfile_parse(fb_str_cstr(&data), data.len, name, ret, err);
}

void fb_dagfile_release(struct fb_dagfile *file)
{
	fb_dag_free(file->dag);
	free(file->about);
	memset(file, 0, sizeof(*file));
}
