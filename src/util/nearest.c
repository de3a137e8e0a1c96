/* SPDX-License-Identifier: GPL-2.0-or-later */
/* "Did you mean": the known name that is closest to a mistyped one. */
#include "src/util/nearest.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#define NAME_MAX_LEN 64 /* longer ones are never close to a name of ours */

static size_t min2(size_t a, size_t b)
{
	return a < b ? a : b;
}

static int same(char a, char b)
{
	return tolower((unsigned char)a) == tolower((unsigned char)b);
}

/* Optimal string alignment distance, case-insensitive; both at most NAME_MAX_LEN long. */
static size_t distance(const char *a, size_t na, const char *b, size_t nb)
{
	size_t row[3][NAME_MAX_LEN + 1];
	size_t *prev2 = row[0], *prev = row[1], *cur = row[2];

	for (size_t j = 0; j <= nb; j++)
		prev[j] = j;
	for (size_t i = 1; i <= na; i++) {
		size_t *tmp = prev2;

		cur[0] = i;
		for (size_t j = 1; j <= nb; j++) {
			cur[j] = min2(min2(prev[j], cur[j - 1]) + 1,
				      prev[j - 1] + !same(a[i - 1], b[j - 1]));
			if (i > 1 && j > 1 && same(a[i - 1], b[j - 2]) && same(a[i - 2], b[j - 1]))
				cur[j] = min2(cur[j], prev2[j - 2] + 1);
		}
		prev2 = prev;
		prev = cur;
		cur = tmp;
	}
	return prev[nb];
}

void fb_nearest_offer(struct fb_nearest *n, const char *known)
{
	size_t typed = strlen(n->name), len = strlen(known), d;

	if (typed > NAME_MAX_LEN || len > NAME_MAX_LEN)
		return;
	d = distance(n->name, typed, known, len);
	if (n->best && d >= n->distance)
		return;
	n->best = known;
	n->distance = d;
}

const char *fb_nearest_get(const struct fb_nearest *n)
{
	size_t allowed = strlen(n->name) / 3;

	return n->best && n->distance <= (allowed ? allowed : 1) ? n->best : NULL;
}
