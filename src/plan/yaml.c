/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The door to libfyaml: a small tree with a position for each node, and limits. */
#include "src/plan/yaml.h"

#include <ctype.h>
#include <libfyaml.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "src/util/str.h"
#include "src/util/util.h"

struct builder {
	const char *name;
	struct fb_yaml *root;
	struct fb_yaml *open[FB_YAML_DEPTH_MAX]; /* lists and maps not ended yet; borrowed */
	int depth;
	unsigned nr_nodes;
	bool documents;
};

void fb_yaml_free(struct fb_yaml *node)
{
	if (!node)
		return;
	for (size_t i = 0; i < node->nr; i++)
		fb_yaml_free(node->child[i]);
	free(node->child);
	free(node->text);
	free(node);
}

void fb_yaml_freep(struct fb_yaml **node)
{
	fb_yaml_free(*node);
	*node = NULL;
}

int fb_yaml_at(const struct fb_yaml *node, struct fb_error *err, const char *fmt, ...)
{
	FB_CLEANUP(fb_freep) char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	text = fb_xvasprintf(fmt, ap);
	va_end(ap);
	return fb_error_set(err, FB_ERROR_INPUT, "%s:%d:%d: %s", node->file, node->line,
			    node->column, text);
}

int fb_yaml_wrap_at(const struct fb_yaml *node, struct fb_error *err)
{
	return fb_error_wrap(err, "%s:%d:%d", node->file, node->line, node->column);
}

static void write_text(const char *text, struct fb_str *out)
{
	bool plain = *text != '\0';

	for (const char *p = text; *p; p++)
		plain = plain && (isalnum((unsigned char)*p) || strchr("_./", *p));
	if (plain) {
		fb_str_add(out, text);
		return;
	}
	fb_str_addc(out, '"');
	for (const char *p = text; *p; p++)
		/* check_bytes() let nothing else of that kind through. */
		if (*p == '\n')
			fb_str_add(out, "\\n");
		else if ((unsigned char)*p < 0x20 || *p == 0x7f)
			fb_str_addf(out, "\\x%02x", (unsigned char)*p);
		else
			fb_str_addf(out, *p == '"' || *p == '\\' ? "\\%c" : "%c", *p);
	fb_str_addc(out, '"');
}

static void write_node(const struct fb_yaml *node, struct fb_str *out)
{
	if (node->kind == FB_YAML_SCALAR) {
		write_text(node->text, out);
		return;
	}
	fb_str_addc(out, node->kind == FB_YAML_LIST ? '[' : '{');
	for (size_t i = 0; i < node->nr; i++) {
		if (i)
			fb_str_add(out, node->kind == FB_YAML_MAP && i % 2 ? ": " : ", ");
		write_node(node->child[i], out);
	}
	fb_str_addc(out, node->kind == FB_YAML_LIST ? ']' : '}');
}

void fb_yaml_write(const struct fb_yaml *map, struct fb_str *out)
{
	for (size_t i = 0; i + 1 < map->nr; i += 2) {
		const struct fb_yaml *value = map->child[i + 1];

		write_text(map->child[i]->text, out);
		fb_str_add(out, ": ");
		if (value->kind == FB_YAML_LIST && value->nr)
			for (size_t j = 0; j < value->nr; j++) {
				fb_str_add(out, "\n  - ");
				write_node(value->child[j], out);
			}
		else
			write_node(value, out);
		fb_str_addc(out, '\n');
	}
}

const struct fb_yaml *fb_yaml_get(const struct fb_yaml *map, const char *key)
{
	for (size_t i = 0; i + 1 < map->nr; i += 2)
		if (!strcmp(map->child[i]->text, key))
			return map->child[i + 1];
	return NULL;
}

/* What no YAML library should have to see. */
static int check_bytes(const char *buf, size_t len, const char *name, struct fb_error *err)
{
	int line = 1, column = 1;

	if (len > FB_YAML_SIZE_MAX)
		return fb_error_set(err, FB_ERROR_INPUT, "%s:1:1: a plan of more than %u bytes",
				    name, FB_YAML_SIZE_MAX);
	for (size_t i = 0; i < len;) {
		unsigned char c = (unsigned char)buf[i];
		size_t n = fb_utf8_len(buf + i, len - i);

		if (!n)
			return fb_error_set(err, FB_ERROR_INPUT, "%s:%d:%d: not UTF-8", name, line,
					    column);
		if ((c < 0x20 && !strchr("\t\n\r", c)) || c == 0x7f || !c)
			return fb_error_set(err, FB_ERROR_INPUT,
					    "%s:%d:%d: a control byte (0x%02x)", name, line, column,
					    c);
		i += n;
		column++;
		if (c == '\n') {
			line++;
			column = 1;
		}
	}
	return 0;
}

/* Put a node where the parser is; takes it over. */
static int place(struct builder *b, struct fb_yaml *node, struct fb_error *err)
{
	struct fb_yaml *parent = b->depth ? b->open[b->depth - 1] : NULL;

	if (!parent) {
		if (b->root)
			FB_BUG("two roots in a document");
		b->root = node;
	} else {
		FB_GROW(parent->child, parent->nr, parent->cap);
		parent->child[parent->nr++] = node;
	}
	if (++b->nr_nodes > FB_YAML_NODES_MAX)
		return fb_error_set(err, FB_ERROR_INPUT, "%s:%d:%d: more than %d values", b->name,
				    node->line, node->column, FB_YAML_NODES_MAX);
	if (!parent || parent->kind != FB_YAML_MAP || parent->nr % 2 == 0)
		return 0;
	if (node->kind != FB_YAML_SCALAR)
		return fb_error_set(err, FB_ERROR_INPUT, "%s:%d:%d: a key must be a word", b->name,
				    node->line, node->column);
	for (size_t i = 0; i + 1 < parent->nr; i += 2)
		if (!strcmp(parent->child[i]->text, node->text))
			return fb_error_set(err, FB_ERROR_INPUT,
					    "%s:%d:%d: key '%.64s' is already in line %d", b->name,
					    node->line, node->column, node->text,
					    parent->child[i]->line);
	return 0;
}

/* A node at @mark; a value that is not there has no mark, and stands where its key is. */
static struct fb_yaml *new_node(const struct builder *b, enum fb_yaml_kind kind,
				const struct fy_mark *mark)
{
	const struct fb_yaml *parent = b->depth ? b->open[b->depth - 1] : NULL;
	const struct fb_yaml *before =
		parent && parent->nr ? parent->child[parent->nr - 1] : parent;
	struct fb_yaml *node = fb_xcalloc(1, sizeof(*node));

	node->kind = kind;
	node->file = b->name;
	/* libfyaml counts from 0. */
	node->line = mark ? mark->line + 1 : before ? before->line : 1;
	node->column = mark ? mark->column + 1 : before ? before->column : 1;
	return node;
}

static bool is_quoted(struct fy_token *value)
{
	enum fy_scalar_style style = value ? fy_token_scalar_style(value) : FYSS_PLAIN;

	return style == FYSS_SINGLE_QUOTED || style == FYSS_DOUBLE_QUOTED;
}

static int refuse_marked(struct builder *b, const struct fy_mark *mark,
			 const struct fy_token *anchor, const struct fy_token *tag,
			 struct fb_error *err)
{
	if (!anchor && !tag)
		return 0;
	return fb_error_set(err, FB_ERROR_INPUT, "%s:%d:%d: %s are not used in plans", b->name,
			    mark ? mark->line + 1 : 1, mark ? mark->column + 1 : 1,
			    anchor ? "anchors ('&name')" : "tags ('!name')");
}

static int scalar(struct builder *b, struct fy_event *ev, struct fb_error *err)
{
	const struct fy_mark *mark = fy_event_start_mark(ev);
	struct fb_yaml *node;
	const char *text;
	size_t len = 0;

	if (refuse_marked(b, mark, ev->scalar.anchor, ev->scalar.tag, err) < 0)
		return -1;
	node = new_node(b, FB_YAML_SCALAR, mark);
	/* The mark is behind the quote. */
	if (mark && is_quoted(ev->scalar.value) && node->column > 1)
		node->column--;
	text = ev->scalar.value ? fy_token_get_text(ev->scalar.value, &len) : NULL;
	node->text = fb_xstrndup(text ? text : "", text ? len : 0);
	if (place(b, node, err) < 0)
		return -1;
	/* "\0" in double quotes would cut the text short behind the checks' back. */
	if (strlen(node->text) != len)
		return fb_error_set(err, FB_ERROR_INPUT, "%s:%d:%d: a NUL", b->name, node->line,
				    node->column);
	return 0;
}

static int start(struct builder *b, struct fy_event *ev, enum fb_yaml_kind kind,
		 struct fb_error *err)
{
	const struct fy_mark *mark = fy_event_start_mark(ev);
	bool map = kind == FB_YAML_MAP;
	struct fb_yaml *node;

	if (refuse_marked(b, mark, map ? ev->mapping_start.anchor : ev->sequence_start.anchor,
			  map ? ev->mapping_start.tag : ev->sequence_start.tag, err) < 0)
		return -1;
	node = new_node(b, kind, mark);
	if (place(b, node, err) < 0)
		return -1;
	if (b->depth == FB_YAML_DEPTH_MAX)
		return fb_error_set(err, FB_ERROR_INPUT, "%s:%d:%d: nested deeper than %d", b->name,
				    node->line, node->column, FB_YAML_DEPTH_MAX);
	b->open[b->depth++] = node;
	return 0;
}

static int event(struct builder *b, struct fy_event *ev, struct fb_error *err)
{
	const struct fy_mark *mark;

	switch (ev->type) {
	case FYET_DOCUMENT_START:
		if (b->documents) {
			mark = fy_event_start_mark(ev);
			return fb_error_set(err, FB_ERROR_INPUT,
					    "%s:%d:%d: a second document; a plan is one", b->name,
					    mark ? mark->line + 1 : 1, mark ? mark->column + 1 : 1);
		}
		b->documents = true;
		return 0;
	case FYET_ALIAS:
		mark = fy_event_start_mark(ev);
		return fb_error_set(err, FB_ERROR_INPUT,
				    "%s:%d:%d: aliases ('*name') are not used in plans", b->name,
				    mark ? mark->line + 1 : 1, mark ? mark->column : 1);
	case FYET_SCALAR:
		return scalar(b, ev, err);
	case FYET_SEQUENCE_START:
		return start(b, ev, FB_YAML_LIST, err);
	case FYET_MAPPING_START:
		return start(b, ev, FB_YAML_MAP, err);
	case FYET_SEQUENCE_END:
	case FYET_MAPPING_END:
		if (!b->depth)
			FB_BUG("an end without a start");
		b->depth--;
		return 0;
	default:
		return 0;
	}
}

static int library_error(struct fy_diag *diag, const char *name, struct fb_error *err)
{
	struct fy_diag_error *first;
	void *iter = NULL;

	first = fy_diag_errors_iterate(diag, &iter);
	if (!first)
		return fb_error_set(err, FB_ERROR_INPUT, "%s:1:1: not YAML", name);
	return fb_error_set(err, FB_ERROR_INPUT, "%s:%d:%d: %s", name,
			    first->line > 0 ? first->line : 1,
			    first->column > 0 ? first->column : 1, first->msg);
}

static int run(struct builder *b, struct fy_parser *parser, struct fy_diag *diag,
	       struct fb_error *err)
{
	for (;;) {
		struct fy_event *ev = fy_parser_parse(parser);
		enum fy_event_type type;
		int rc;

		if (!ev)
			return library_error(diag, b->name, err);
		type = ev->type;
		rc = event(b, ev, err);
		fy_parser_event_free(parser, ev);
		if (rc < 0)
			return -1;
		if (type == FYET_STREAM_END)
			return 0;
	}
}

int fb_yaml_parse(const char *buf, size_t len, const char *name, struct fb_yaml **ret,
		  struct fb_error *err)
{
	struct fy_diag_cfg diag_cfg;
	struct fy_parse_cfg cfg = {.flags = FYPCF_QUIET};
	struct builder b = {.name = name};
	struct fy_parser *parser;
	int rc;

	if (check_bytes(buf, len, name, err) < 0)
		return -1;
	/* libfyaml takes a length of 0 for "up to the NUL". */
	if (!len)
		return fb_error_set(err, FB_ERROR_INPUT, "%s:1:1: empty", name);
	/* FYPCF_COLLECT_DIAG does not keep libfyaml 0.7 from printing; a collector does. */
	fy_diag_cfg_default(&diag_cfg);
	diag_cfg.fp = NULL;
	cfg.diag = fy_diag_create(&diag_cfg);
	if (!cfg.diag)
		FB_BUG("libfyaml gives no diagnostics");
	fy_diag_set_collect_errors(cfg.diag, true);
	parser = fy_parser_create(&cfg);
	if (!parser || fy_parser_set_string(parser, buf, len) < 0)
		FB_BUG("libfyaml gives no parser");
	rc = run(&b, parser, cfg.diag, err);
	fy_parser_destroy(parser);
	fy_diag_destroy(cfg.diag);
	if (rc == 0 && !b.root)
		rc = fb_error_set(err, FB_ERROR_INPUT, "%s:1:1: empty", name);
	if (rc < 0) {
		fb_yaml_free(b.root);
		return -1;
	}
	*ret = b.root;
	return 0;
}
