/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The result channel: JSON lines. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "src/agent/agent.h"

/* Before escaping; at most six times as much after it, far below the host's line limit. */
#define CHUNK 4096

static int say_fd = -1, say_errno;

int fb_say_open(const char *path)
{
	struct termios t;

	say_fd = open(path, O_WRONLY | O_NOCTTY | O_CLOEXEC);
	if (say_fd < 0)
		return -1;
	if (tcgetattr(say_fd, &t) == 0) {
		cfmakeraw(&t);
		t.c_cflag |= CLOCAL;
		cfsetspeed(&t, B115200);
		tcsetattr(say_fd, TCSANOW, &t);
	}
	return 0;
}

static void write_all(const char *buf, size_t len)
{
	while (len && !say_errno) {
		ssize_t n = write(say_fd, buf, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			/* What comes later must not close the gap: the stream has no end. */
			say_errno = n < 0 ? errno : ENOSPC;
			return;
		}
		buf += n;
		len -= (size_t)n;
	}
}

int fb_say_errno(void)
{
	return say_errno;
}

void fb_say(json_t *line)
{
	char *text = json_dumps(line, JSON_COMPACT | JSON_ENSURE_ASCII);
	size_t len;

	json_decref(line);
	if (!text)
		return;
	len = strlen(text);
	text[len] = '\n'; /* in place of the NUL: one write for the whole line */
	write_all(text, len + 1);
	free(text);
}

void fb_say_bytes(const char *ev, size_t cell, size_t run, const char *data, size_t len)
{
	while (len) {
		size_t n = len < CHUNK ? len : CHUNK, used;
		/* Each byte is the code point of its value, so that any byte survives JSON. */
		char utf8[2 * CHUNK];

		used = 0;
		for (size_t i = 0; i < n; i++) {
			unsigned char c = (unsigned char)data[i];

			if (c >= 0x80) {
				utf8[used++] = (char)(0xc0 | c >> 6);
				utf8[used++] = (char)(0x80 | (c & 0x3f));
			} else {
				utf8[used++] = (char)c;
			}
		}
		fb_say(json_pack("{s:s, s:I, s:I, s:o}", "ev", ev, "cell", (json_int_t)cell, "run",
				 (json_int_t)run, "data", json_stringn(utf8, used)));
		data += n;
		len -= n;
	}
}
