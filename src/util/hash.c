/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Content names: SHA-256 over labelled fields (nettle). */
#include "src/util/hash.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "src/util/file.h"
#include "src/util/util.h"

void fb_hash_init(struct fb_hash *h)
{
	sha256_init(&h->ctx);
}

void fb_hash_add(struct fb_hash *h, const void *data, size_t len)
{
	uint64_t n = len;

	sha256_update(&h->ctx, sizeof(n), (const uint8_t *)&n);
	sha256_update(&h->ctx, len, data);
}

void fb_hash_add_str(struct fb_hash *h, const char *s)
{
	uint64_t none = UINT64_MAX;

	if (s)
		fb_hash_add(h, s, strlen(s));
	else
		sha256_update(&h->ctx, sizeof(none), (const uint8_t *)&none);
}

void fb_hash_hex(struct fb_hash *h, char ret[FB_HASH_HEX_SIZE])
{
	static const char hex[] = "0123456789abcdef";
	uint8_t digest[SHA256_DIGEST_SIZE];

	sha256_digest(&h->ctx, sizeof(digest), digest);
	for (size_t i = 0; i < sizeof(digest); i++) {
		ret[2 * i] = hex[digest[i] >> 4];
		ret[2 * i + 1] = hex[digest[i] & 15];
	}
	ret[2 * sizeof(digest)] = '\0';
}

int fb_hash_file(const char *path, char ret[FB_HASH_HEX_SIZE], struct fb_error *err)
{
	FB_CLEANUP(fb_closep) int fd = fb_file_open(path, err);
	struct fb_hash h;
	uint8_t buf[65536];
	ssize_t n;

	if (fd < 0)
		return -1;
	fb_hash_init(&h);
	while ((n = read(fd, buf, sizeof(buf))) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return fb_error_set_sys(err, errno, "read '%s'", path);
		sha256_update(&h.ctx, (size_t)n, buf);
	}
	fb_hash_hex(&h, ret);
	return 0;
}
