/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What workloads of our own say in the guest. */
#include "testcases/guest.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include "src/util/str.h"
#include "src/util/util.h"

static int put(int fd, const struct fb_str *line)
{
	const char *p = fb_str_cstr(line);

	for (size_t left = line->len; left;) {
		ssize_t n = write(fd, p, left);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -1;
		p += n;
		left -= (size_t)n;
	}
	return 0;
}

__attribute__((format(printf, 2, 0))) static void add(struct fb_str *s, const char *fmt, va_list ap)
{
	FB_CLEANUP(fb_freep) char *text = fb_xvasprintf(fmt, ap);

	fb_str_add(s, text);
}

int fb_guest_say(const char *fmt, ...)
{
	FB_CLEANUP(fb_str_release) struct fb_str s = FB_STR_INIT;
	va_list ap;

	va_start(ap, fmt);
	add(&s, fmt, ap);
	va_end(ap);
	fb_str_addc(&s, '\n');
	return put(STDOUT_FILENO, &s);
}

int fb_guest_fail(const char *fmt, ...)
{
	FB_CLEANUP(fb_str_release) struct fb_str s = FB_STR_INIT;
	int errnum = errno;
	va_list ap;

	va_start(ap, fmt);
	add(&s, fmt, ap);
	va_end(ap);
	fb_str_addf(&s, "%s%s\n", errnum ? ": " : "", errnum ? strerror(errnum) : "");
	put(STDERR_FILENO, &s);
	return -1;
}

int fb_guest_settle(void)
{
	FB_CLEANUP(fb_closep) int fd = -1;

	/* Twice: writing back may dirty metadata (btrfs: the free space cache) once more. */
	sync();
	sync();
	fd = open("/proc/sys/vm/drop_caches", O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, "3", 1) != 1) {
		fb_guest_fail("/proc/sys/vm/drop_caches");
		return 1;
	}
	return 0;
}
