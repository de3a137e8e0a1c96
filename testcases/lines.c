/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Line by line through a tool's output, with limits. */
#include "testcases/lines.h"

#include <string.h>

int fb_lines_start(struct fb_lines *l, const char *name, const char *out, size_t len,
		   struct fb_error *err)
{
	if (len > FB_OUTPUT_MAX)
		return fb_error_set(err, FB_ERROR_INPUT, "%s output is longer than %u bytes", name,
				    FB_OUTPUT_MAX);
	l->name = name;
	l->p = out;
	l->end = out + len;
	l->nr = 0;
	l->line[0] = '\0';
	return 0;
}

int fb_lines_next(struct fb_lines *l, struct fb_error *err)
{
	const char *nl;
	size_t len;

	if (l->p == l->end)
		return 0;
	l->nr++;
	nl = memchr(l->p, '\n', (size_t)(l->end - l->p));
	len = (size_t)((nl ? nl : l->end) - l->p);
	if (len >= sizeof(l->line))
		return fb_error_set(err, FB_ERROR_INPUT, "%s output, line %u: longer than %d bytes",
				    l->name, l->nr, FB_LINE_MAX - 1);
	if (memchr(l->p, '\0', len))
		return fb_error_set(err, FB_ERROR_INPUT, "%s output, line %u: a NUL", l->name,
				    l->nr);
	while (len && (*l->p == ' ' || *l->p == '\t')) {
		l->p++;
		len--;
	}
	memcpy(l->line, l->p, len);
	if (len && l->line[len - 1] == '\r')
		len--;
	l->line[len] = '\0';
	l->p = nl ? nl + 1 : l->end;
	return 1;
}
