/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Other file systems that a program has mounted in a worktree: what is in them is not ours. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/history/internal.h"
#include "src/util/util.h"

/* The kernel writes blanks and backslashes of a path as \ooo (proc(5)). */
static void unescape(char *s)
{
	char *to = s;

	for (; *s; s++) {
		if (s[0] == '\\' && s[1] && s[2] && s[3]) {
			*to++ = (char)((s[1] & 7U) << 6 | (s[2] & 7U) << 3 | (s[3] & 7U));
			s += 3;
		} else {
			*to++ = *s;
		}
	}
	*to = '\0';
}

/* The mount point of a line "36 35 98:0 /root /mount/point options - type source options". */
static char *mount_point(char *line)
{
	char *save = NULL, *field = strtok_r(line, " ", &save);

	for (int i = 0; field && i < 4; i++)
		field = strtok_r(NULL, " ", &save);
	if (field)
		unescape(field);
	return field;
}

int fb_mounts_refuse(const char *path, struct fb_error *err)
{
	FILE *f = fopen("/proc/self/mountinfo", "re");
	size_t size = 0, len = strlen(path);
	char *line = NULL;
	int rc = 0;

	if (!f)
		return fb_error_set_sys(err, errno, "open '/proc/self/mountinfo'");
	while (rc == 0 && getline(&line, &size, f) >= 0) {
		const char *point = mount_point(line);

		if (point && !strncmp(point, path, len) && point[len] == '/')
			rc = fb_error_set(err, FB_ERROR_USAGE,
					  "something is mounted on '%s', in firstbad's worktree: "
					  "unmount it, so that nothing in it gets deleted",
					  point);
	}
	if (rc == 0 && ferror(f))
		rc = fb_error_set_sys(err, errno, "read '/proc/self/mountinfo'");
	free(line);
	fclose(f);
	return rc;
}

bool fb_mounts_same(int a, int b)
{
	const unsigned mask = STATX_MNT_ID | STATX_INO;
	struct statx x, y;

	if (statx(a, "", AT_EMPTY_PATH, mask, &x) < 0 || statx(b, "", AT_EMPTY_PATH, mask, &y) < 0)
		return false;
	/* The number tells a bind mount, too; kernels know it since 5.8. */
	if (x.stx_mask & y.stx_mask & STATX_MNT_ID)
		return x.stx_mnt_id == y.stx_mnt_id;
	return x.stx_dev_major == y.stx_dev_major && x.stx_dev_minor == y.stx_dev_minor;
}
