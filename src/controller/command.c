/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A command line becomes the plan of a bisection. */
#include "src/controller/command.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "src/util/str.h"
#include "src/util/util.h"
#include "testcases/command.h"

#define HASHED_MAX_B (64 << 20) /* files that are longer are no scripts */

/* YAML takes JSON's strings. */
static int add_quoted(struct fb_str *out, const char *key, const char *text, struct fb_error *err)
{
	json_auto_t *v = text ? json_string(text) : NULL;
	FB_CLEANUP(fb_freep) char *quoted = v ? json_dumps(v, JSON_ENCODE_ANY) : NULL;

	if (!text)
		return 0;
	if (!quoted)
		return fb_error_set(err, FB_ERROR_INPUT, "'%.200s' is not UTF-8", text);
	fb_str_addf(out, "%s%s\n", key, quoted);
	return 0;
}

int fb_command_plan_text(const struct fb_command_plan *plan, char **ret, struct fb_error *err)
{
	FB_CLEANUP(fb_freep) char *command = fb_command_join(plan->argv);
	FB_CLEANUP(fb_str_release) struct fb_str out = FB_STR_INIT;

	/* No limit of ours: whoever wants one writes `timeout 60 CMD`. */
	fb_str_add(&out, "machine: command\n"
			 "timeouts: {boot: 10d, silence: 1h}\n");
	/* Of a flaky status the effect is a difference of rates: 2 % of the runs would be little.
	 */
	if (plan->flaky)
		fb_str_add(&out, "boots: {min: 3, max: 1000}\n");
	if (add_quoted(&out, "confidence: ", plan->confidence, err) < 0 ||
	    add_quoted(&out, "min_effect: ",
		       plan->min_effect || !plan->flaky ? plan->min_effect : "10%", err) < 0)
		return -1;
	if (plan->max_runs)
		fb_str_addf(&out, "max_boots: %u\n", plan->max_runs);
	fb_str_add(&out, "matrix:\n"
			 "  - testcase: command\n");
	if (add_quoted(&out, "    command: ", command, err) < 0)
		return -1;
	fb_str_addf(&out, "    exit: verdict\n    better: %s\n    timeout: 10d\n", plan->better);
	*ret = fb_str_take(&out);
	return 0;
}

static bool is_file(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/* The part of @path below @top; NULL when it is not there. */
static const char *below(const char *top, const char *path)
{
	size_t len = strlen(top);

	while (len && top[len - 1] == '/')
		len--;
	return !strncmp(path, top, len) && path[len] == '/' ? path + len + 1 : NULL;
}

/* @text is taken over. */
static void say(const struct fb_observer *observer, char *text)
{
	struct fb_progress p = {.text = text, .posterior = -1, .eta_s = -1};

	if (observer->tell)
		observer->tell(observer->ctx, &p);
	free(text);
}

static void replace(char **word, char *with, const struct fb_oid *bad,
		    const struct fb_observer *observer)
{
	free(*word);
	*word = with;
	say(observer, fb_xasprintf("using %s, which is not in %.12s", with, bad->hex));
}

/*
 * What git tracks is taken from each commit, also when the user has changed it: by its absolute
 * path a script that looks beside itself would measure the user's checkout instead.
 */
static int tell_modified(struct fb_history *history, const char *rel,
			 const struct fb_observer *observer, struct fb_error *err)
{
	int modified = fb_history_modified(history, rel, err);

	if (modified > 0)
		say(observer,
		    fb_xasprintf("using %s as each commit has it; your uncommitted changes "
				 "are not used (a copy outside of git would be)",
				 rel));
	return modified < 0 ? -1 : 0;
}

static int locate_word(struct fb_history *history, const struct fb_oid *bad, char **word,
		       bool program, const struct fb_observer *observer, struct fb_error *err)
{
	char path[PATH_MAX], top[PATH_MAX];
	const char *rel = NULL;
	int tracked = 0, ignored = 0;

	if (**word == '/' || **word == '-' || (program && !strchr(*word, '/')) || !is_file(*word) ||
	    !realpath(*word, path))
		return 0;
	if (realpath(fb_history_workdir(history), top))
		rel = below(top, path);
	if (rel) {
		tracked = fb_history_holds(history, bad, rel, err);
		ignored = tracked < 0 ? -1 : fb_history_ignored(history, rel, err);
		if (ignored < 0)
			return -1;
	}
	if (tracked && tell_modified(history, rel, observer, err) < 0)
		return -1;
	if (!tracked && (program || !ignored)) {
		replace(word, fb_xstrdup(path), bad, observer);
	} else if (tracked && program) {
		free(*word);
		*word = fb_xasprintf("./%s", rel);
	}
	return 0;
}

int fb_command_locate(struct fb_history *history, const struct fb_oid *bad, char **argv,
		      const struct fb_observer *observer, struct fb_error *err)
{
	for (char **word = argv; *word; word++)
		if (locate_word(history, bad, word, word == argv, observer, err) < 0)
			return -1;
	return 0;
}

int fb_command_hash(char *const *argv, char ret[FB_HASH_HEX_SIZE], struct fb_error *err)
{
	struct fb_hash h;

	fb_hash_init(&h);
	for (char *const *word = argv; *word; word++) {
		char contents[FB_HASH_HEX_SIZE];
		struct stat st;

		fb_hash_add_str(&h, *word);
		if (**word != '/' || stat(*word, &st) < 0 || !S_ISREG(st.st_mode) ||
		    st.st_size > HASHED_MAX_B)
			continue;
		if (fb_hash_file(*word, contents, err) < 0)
			return -1;
		fb_hash_add_str(&h, contents);
	}
	fb_hash_hex(&h, ret);
	return 0;
}
