/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What commands begin and end with. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "src/cmd/cmd.h"
#include "src/util/dirs.h"
#include "src/util/str.h"
#include "src/util/util.h"

static bool shown; /* a live line stands there */

/* Take the live line away before something else is printed. */
static void end_progress(void)
{
	if (shown)
		fputs("\r\033[K", stderr);
	shown = false;
}

int fb_fail(const struct fb_error *err)
{
	end_progress();
	fprintf(stderr, "firstbad: %s\n", err->text);
	switch (err->code) {
	case FB_ERROR_USAGE:
	case FB_ERROR_INPUT:
	case FB_ERROR_GIT:
		return FB_EXIT_USAGE;
	case FB_ERROR_MISSING:
		return FB_EXIT_MISSING;
	case FB_ERROR_SYSTEM:
	case FB_ERROR_STORE:
		return FB_EXIT_SYSTEM;
	case FB_ERROR_INFRA:
	case FB_ERROR_BUSY:
		return FB_EXIT_INFRA;
	case FB_ERROR_STOPPED:
		return FB_EXIT_STOPPED;
	case FB_ERROR_CHILD:
	case FB_ERROR_DAMAGED:
	case FB_ERROR_TIMEOUT:
	case FB_ERROR_NONE:
		return FB_EXIT_FAILED;
	}
	FB_BUG("error code %d", (int)err->code);
}

int fb_at_most(int argc, char **argv, int end, struct fb_error *err)
{
	if (argc > end)
		return fb_error_set(err, FB_ERROR_USAGE, "'%.200s' is one argument too many",
				    argv[end]);
	return 0;
}

int fb_enter(const struct fb_common *common, struct fb_error *err)
{
	if (common->dir && chdir(common->dir) < 0)
		return fb_error_set_sys(err, errno, "change to '%s'", common->dir);
	return 0;
}

int fb_open_history(const struct fb_common *common, struct fb_history **ret, struct fb_error *err)
{
	return fb_history_open(common->repo ? common->repo : ".", ret, err);
}

int fb_open_store(struct fb_store **ret, struct fb_error *err)
{
	FB_CLEANUP(fb_freep) char *dir = NULL, *path = NULL;

	if (fb_dirs_check(err) < 0)
		return -1;
	dir = fb_dir_data();
	path = fb_xasprintf("%s/store.db", dir);
	return fb_store_open(path, ret, err);
}

/* Beside a program that is run from its build tree, the fragments are in the source tree. */
static char *near_self(void)
{
	static const char *const near[] = {"kconfigs", "../kconfigs"};
	struct fb_error err = FB_ERROR_INIT;
	FB_CLEANUP(fb_freep) char *self = fb_self(&err);
	const char *slash = self ? strrchr(self, '/') : NULL;

	for (size_t i = 0; slash && i < FB_ARRAY_SIZE(near); i++) {
		char *dir = fb_xasprintf("%.*s/%s", (int)(slash - self), self, near[i]);
		FB_CLEANUP(fb_freep) char *probe = fb_xasprintf("%s/tiny.config", dir);

		if (access(probe, R_OK) == 0)
			return dir;
		free(dir);
	}
	return NULL;
}

char *fb_kconfig_dir(void)
{
	const char *dir = getenv("FIRSTBAD_DATADIR");
	char *near = dir && *dir ? NULL : near_self();

	return near ? near : fb_xasprintf("%s/kconfigs", dir && *dir ? dir : FB_PKGDATADIR);
}

int fb_load_plan(const char *path, struct fb_plan **ret, struct fb_error *err)
{
	FB_CLEANUP(fb_freep) char *kconfigs = fb_kconfig_dir();
	const char *text;

	if (path)
		return fb_plan_load(path, kconfigs, ret, err);
	text = fb_plan_default();
	return fb_plan_parse(text, strlen(text), "(default plan)", kconfigs, ret, err);
}

char *fb_cell_unavailable(const struct fb_cell *cell)
{
	FB_CLEANUP(fb_strvp) char **tools = NULL;

	cell->testcase->tools(cell, &tools);
	return fb_bundle_lacks((const char *const *)tools);
}

int fb_session_plan(const struct fb_session *session, struct fb_plan **ret, struct fb_error *err)
{
	FB_CLEANUP(fb_freep) char *kconfigs = fb_kconfig_dir();

	if (fb_plan_parse_stored(session->plan, session->plan_name, kconfigs, ret, err) == 0)
		return 0;
	return fb_error_wrap(err, "session %s has a plan that this firstbad does not take",
			     session->name);
}

char *fb_self(struct fb_error *err)
{
	char path[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path));

	if (n < 0 || (size_t)n >= sizeof(path)) {
		fb_error_set_sys(err, n < 0 ? errno : ENAMETOOLONG, "read '/proc/self/exe'");
		return NULL;
	}
	return fb_xstrndup(path, (size_t)n);
}

static volatile sig_atomic_t stop_asked;

static void on_signal(int sig)
{
	stop_asked = 1;
}

const volatile sig_atomic_t *fb_catch_signals(void)
{
	/* No SA_RESTART: a wait for a job ends at once. A second signal kills. */
	struct sigaction sa = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND};

	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	return &stop_asked;
}

static bool live;

/* One line less its last column: what a terminal wraps cannot be wiped out again. */
static int columns(void)
{
	struct winsize w;

	return ioctl(2, TIOCGWINSZ, &w) == 0 && w.ws_col > 1 ? w.ws_col - 1 : 79;
}

static void draw(const struct fb_progress *p)
{
	FB_CLEANUP(fb_str_release) struct fb_str line = FB_STR_INIT;
	char eta[32] = "";

	if (p->eta_s >= 0)
		snprintf(eta, sizeof(eta), ", about %.0f min to go", p->eta_s / 60 + 0.5);
	fb_str_addf(&line, "%s: step %u, ", p->doing ? p->doing : "start", p->step);
	if (p->left)
		fb_str_addf(&line, "%u left, ", p->left);
	if (p->leader[0])
		fb_str_addf(&line, "%s %.0f%%, ", p->leader, 100 * p->posterior);
	fb_str_addf(&line, "%u boot%s%s", p->boots, fb_plural(p->boots), eta);
	fprintf(stderr, "\r\033[K%.*s", columns(), fb_str_cstr(&line));
	fflush(stderr);
	shown = true;
}

void fb_progress_line(const char *fmt, ...)
{
	FB_CLEANUP(fb_freep) char *line = NULL;
	va_list ap;

	if (!live)
		return;
	va_start(ap, fmt);
	line = fb_xvasprintf(fmt, ap);
	va_end(ap);
	fprintf(stderr, "\r\033[K%.*s", columns(), line);
	fflush(stderr);
	shown = true;
}

static void tell(void *ctx, const struct fb_progress *p)
{
	if (p->text) {
		end_progress();
		fprintf(stderr, "%s\n", p->text);
	}
	if (live)
		draw(p);
}

struct fb_observer fb_progress_observer(const struct fb_common *common)
{
	const char *term = getenv("TERM");

	live = !common->quiet && isatty(2) && term && strcmp(term, "dumb") != 0;
	return (struct fb_observer){common->quiet ? NULL : tell, NULL};
}

int fb_put(const char *text)
{
	end_progress();
	if (fputs(text, stdout) == EOF || fflush(stdout) == EOF) {
		fprintf(stderr, "firstbad: write to stdout: %s\n", strerror(errno));
		return FB_EXIT_SYSTEM;
	}
	return FB_EXIT_OK;
}

int fb_verdict_exit(const char *verdict)
{
	switch ((enum fb_verdict_kind)fb_verdict_find(verdict)) {
	case FB_VERDICT_FOUND:
		return FB_EXIT_OK;
	case FB_VERDICT_RANGE:
		return FB_EXIT_RANGE;
	case FB_VERDICT_NONE:
		return FB_EXIT_NONE;
	case FB_VERDICT_OPEN:
	case FB_VERDICT_UNDECIDED:
		return FB_EXIT_UNDECIDED;
	case FB_VERDICT_OTHER:
	case FB_VERDICT_BASE_BAD:
		return FB_EXIT_OTHER;
	case FB_VERDICT_UNTESTABLE:
		return FB_EXIT_UNTESTABLE;
	}
	return FB_EXIT_FAILED;
}
