/* SPDX-License-Identifier: GPL-2.0-or-later */
/* command: the user's own program or script, which says its values itself. */
#include "testcases/command.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "src/util/util.h"
#include "testcases/fs.h"
#include "testcases/lines.h"
#include "testcases/list.h"

#define WORDS_MAX  256
#define MARK	   "firstbad:"
#define OUTPUT_MAX (64u << 20) /* a build log can be long; only marked lines are looked at */

static const struct fb_param_def params[] = {
	{"command", NULL, "@text", "program and arguments: split as a shell does, without one"},
	{"better", "higher", "higher|lower|neither",
	 "good direction of what firstbad does not know"},
	{"exit", "must-be-0", "must-be-0|verdict",
	 "another exit status: a failed run, or (without values) bad, as for git bisect run"},
	{"fs", "none", "none|" FB_FS_TYPES, "file system to run on; none: where the agent is"},
	FB_PARAM_MOUNT,
	FB_PARAM_RUNS,
	FB_PARAM_TIMEOUT,
	{NULL},
};

/* Whatever the command says. */
static const char *const metrics[] = {"*", NULL};

/* What follows the backslash at **p within $'...'; *p is left at its last character. */
static int take_escape(const char **p, struct fb_str *word, struct fb_error *err)
{
	static const char names[] = "abefnrtv\\'\"", bytes[] = "\a\b\033\f\n\r\t\v\\'\"";
	const char *at = strchr(names, (*p)[1]);
	char hex[3] = {0};
	long value = 0;

	if ((*p)[1] == 'x' && isxdigit((unsigned char)(*p)[2]) &&
	    isxdigit((unsigned char)(*p)[3])) {
		memcpy(hex, *p + 2, 2);
		value = strtol(hex, NULL, 16);
	}
	if (value) {
		fb_str_addc(word, (char)value);
		*p += 3;
	} else if ((*p)[1] && at) {
		fb_str_addc(word, bytes[at - names]);
		++*p;
	} else {
		return fb_error_set(err, FB_ERROR_INPUT,
				    "within $'...' only \\a \\b \\e \\f \\n \\r \\t \\v \\\\ \\' "
				    "\\\" and \\xHH");
	}
	return 0;
}

/* One character, quoted or not, into @word; *p is left at the last one that was used. */
static int take_char(const char **p, char *quote, struct fb_str *word, struct fb_error *err)
{
	const char c = **p, next = (*p)[1];

	if (c == (*quote == '$' ? '\'' : *quote)) {
		*quote = 0;
	} else if (*quote == '$') {
		if (c == '\\')
			return take_escape(p, word, err);
		fb_str_addc(word, c);
	} else if (!*quote && c == '$' && next == '\'') {
		*quote = '$';
		++*p;
	} else if (*quote == '\'') {
		fb_str_addc(word, c);
	} else if (c == '\\') {
		if (!next)
			return fb_error_set(err, FB_ERROR_INPUT, "ends with a backslash");
		/* Within "..." a backslash quotes only " \ $ and `. */
		if (*quote && !strchr("\"\\$`", next)) {
			fb_str_addc(word, c);
		} else {
			fb_str_addc(word, next);
			++*p;
		}
	} else if (!*quote && (c == '\'' || c == '"')) {
		*quote = c;
	} else if (strchr(*quote ? "$`" : "|&;<>()$`*?[~", c)) {
		return fb_error_set(err, FB_ERROR_INPUT,
				    "no shell runs the command, so '%c' means nothing: quote it, "
				    "or write sh -c '...'",
				    c);
	} else {
		fb_str_addc(word, c);
	}
	return 0;
}

int fb_command_split(const char *text, char ***ret, struct fb_error *err)
{
	FB_CLEANUP(fb_strvp) char **words = NULL;
	FB_CLEANUP(fb_str_release) struct fb_str word = FB_STR_INIT;
	bool in_word = false;
	size_t nr = 0;
	char quote = 0;

	for (const char *p = text; *p; p++) {
		if (quote || !strchr(" \t\n", *p)) {
			if (!in_word && nr++ == WORDS_MAX)
				return fb_error_set(err, FB_ERROR_INPUT, "more than %d words",
						    WORDS_MAX);
			in_word = true;
			if (take_char(&p, &quote, &word, err) < 0)
				return -1;
		} else if (in_word) {
			fb_strv_add(&words, fb_str_cstr(&word));
			fb_str_release(&word);
			in_word = false;
		}
	}
	if (quote)
		return fb_error_set(err, FB_ERROR_INPUT, "the quote %s is not closed",
				    (char[]){quote, quote == '$' ? '\'' : '\0', '\0'});
	if (in_word)
		fb_strv_add(&words, fb_str_cstr(&word));
	if (!words || !*words[0])
		return fb_error_set(err, FB_ERROR_INPUT, "needs a program to run");
	*ret = FB_TAKE(words);
	return 0;
}

/* As $'...' when there is a byte that a line of text cannot hold, as '...' or bare otherwise. */
static void join_word(const char *word, struct fb_str *out)
{
	bool plain = *word && !strpbrk(word, " '\"\\|&;<>()$`*?[~#"), text = true;

	for (const unsigned char *p = (const unsigned char *)word; *p; p++)
		text = text && *p >= 0x20 && *p != 0x7f && *p != '\'';
	if (plain && text) {
		fb_str_add(out, word);
		return;
	}
	fb_str_add(out, text ? "'" : "$'");
	for (const unsigned char *p = (const unsigned char *)word; *p; p++) {
		if (!text && (*p == '\'' || *p == '\\'))
			fb_str_addf(out, "\\%c", *p);
		else if (!text && *p == '\n')
			fb_str_add(out, "\\n");
		else if (!text && *p == '\t')
			fb_str_add(out, "\\t");
		else if (*p < 0x20 || *p == 0x7f)
			fb_str_addf(out, "\\x%02x", *p);
		else
			fb_str_addc(out, (char)*p);
	}
	fb_str_add(out, "'");
}

char *fb_command_join(char *const *words)
{
	struct fb_str out = FB_STR_INIT;

	for (char *const *w = words; *w; w++) {
		if (w != words)
			fb_str_addc(&out, ' ');
		join_word(*w, &out);
	}
	return fb_str_take(&out);
}

static void tools(const struct fb_cell *cell, char ***ret)
{
	FB_CLEANUP(fb_strvp) char **argv = NULL;
	struct fb_error err = FB_ERROR_INIT;

	if (fb_command_split(fb_cell_get(cell, "command"), &argv, &err) < 0)
		FB_BUG("%s", err.text); /* checked by fb_cell_new() */
	fb_strv_add(ret, argv[0]);
	if (strcmp(fb_cell_get(cell, "fs"), "none"))
		fb_fs_tools(cell, ret);
}

static json_t *job(const struct fb_cell *cell, struct fb_error *err)
{
	FB_CLEANUP(fb_strvp) char **words = NULL;
	json_t *ret, *argv;

	if (fb_command_split(fb_cell_get(cell, "command"), &words, err) < 0) {
		fb_error_wrap(err, "command");
		return NULL;
	}
	/* "@NAME" would call a workload of ours. */
	if (words[0][0] == '@') {
		fb_error_set(err, FB_ERROR_INPUT,
			     "command: a program's name cannot begin with '@'");
		return NULL;
	}
	ret = fb_job_new(cell, err);
	if (!ret)
		return NULL;
	argv = json_array();
	for (char **w = words; *w; w++)
		fb_argv_add(argv, "%s", *w);
	json_object_set_new(ret, "measure", argv);
	json_object_set_new(ret, "marked", json_true());
	return ret;
}

/* "METRIC VALUE" of at most @len bytes. */
static int add_value(const char *text, size_t len, struct fb_values *values, struct fb_error *err)
{
	FB_CLEANUP(fb_freep) char *line = NULL;
	char *save = NULL, *metric, *number;
	double value;

	if (len > FB_LINE_MAX)
		return fb_error_set(err, FB_ERROR_INPUT, "longer than %d bytes", FB_LINE_MAX);
	if (memchr(text, '\0', len))
		return fb_error_set(err, FB_ERROR_INPUT, "a NUL");
	line = fb_xstrndup(text, len);
	metric = strtok_r(line, " \t\r", &save);
	number = strtok_r(NULL, " \t\r", &save);
	if (!metric || !number || strtok_r(NULL, " \t\r", &save))
		return fb_error_set(err, FB_ERROR_INPUT, "not '" MARK " METRIC VALUE'");
	if (fb_parse_double(number, &value, err) < 0)
		return -1;
	return fb_values_add(values, metric, value, err);
}

int fb_command_parse(const char *out, size_t len, struct fb_values *ret, struct fb_error *err)
{
	FB_CLEANUP(fb_values_release) struct fb_values values = {0};
	const char *end = out + len;
	unsigned nr = 0;

	if (len > OUTPUT_MAX)
		return fb_error_set(err, FB_ERROR_INPUT, "output is longer than %u bytes",
				    OUTPUT_MAX);
	for (const char *p = out; p < end;) {
		const char *nl = memchr(p, '\n', (size_t)(end - p));
		size_t n = (size_t)((nl ? nl : end) - p);

		nr++;
		if (n >= strlen(MARK) && !memcmp(p, MARK, strlen(MARK))) {
			/* Half of a number is a number. */
			if (!nl)
				return fb_error_set(err, FB_ERROR_INPUT,
						    "output, line %u: no newline after it, so it "
						    "may be cut off",
						    nr);
			if (add_value(p + strlen(MARK), n - strlen(MARK), &values, err) < 0)
				return fb_error_wrap(err, "output, line %u", nr);
		}
		p = nl ? nl + 1 : end;
	}
	*ret = values;
	values = (struct fb_values){0};
	return 0;
}

static int parse(const struct fb_cell *cell, const char *out, size_t len, struct fb_values *ret,
		 struct fb_error *err)
{
	struct fb_values values = {0};

	if (fb_command_parse(out, len, &values, err) < 0)
		return -1;
	if (!values.nr && !fb_cell_by_status(cell))
		return fb_error_set(err, FB_ERROR_INPUT,
				    "no line '" MARK " METRIC VALUE' in the output");
	*ret = values;
	return 0;
}

const struct fb_testcase fb_testcase_command = {
	.name = "command",
	.summary = "a program of yours that prints 'firstbad: METRIC VALUE'",
	.version = 1,
	.params = params,
	.metrics = metrics,
	.tools = tools,
	.job = job,
	.parse = parse,
};
