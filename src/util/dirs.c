/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where firstbad keeps things. Apart from file.c, as a static program cannot look up users. */
#include "src/util/dirs.h"

#include <pwd.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "src/util/util.h"

/* A service has no HOME; what it owns still goes where its user would look. */
static char *home_dir(void)
{
	const char *home = getenv("HOME");
	const struct passwd *user;

	if (home && *home)
		return fb_xstrdup(home);
	user = getpwuid(geteuid());
	return user && user->pw_dir && user->pw_dir[0] == '/' ? fb_xstrdup(user->pw_dir) : NULL;
}

static bool is_set(const char *var)
{
	const char *dir = getenv(var);

	/* The XDG base directory specification ignores relative paths. */
	return dir && dir[0] == '/';
}

static char *xdg(const char *var, const char *under_home)
{
	FB_CLEANUP(fb_freep) char *home = NULL;

	if (is_set(var))
		return fb_xasprintf("%s/firstbad", getenv(var));
	home = home_dir();
	if (!home)
		FB_BUG("no home directory, and fb_dirs_check() was not asked");
	return fb_xasprintf("%s/%s/firstbad", home, under_home);
}

int fb_dirs_check(struct fb_error *err)
{
	FB_CLEANUP(fb_freep) char *home = home_dir();

	if (home || (is_set("XDG_CACHE_HOME") && is_set("XDG_DATA_HOME")))
		return 0;
	return fb_error_set(err, FB_ERROR_USAGE,
			    "user %u has no home directory: set HOME, or XDG_DATA_HOME and "
			    "XDG_CACHE_HOME",
			    (unsigned)geteuid());
}

char *fb_dir_cache(void)
{
	return xdg("XDG_CACHE_HOME", ".cache");
}

char *fb_dir_data(void)
{
	return xdg("XDG_DATA_HOME", ".local/share");
}
