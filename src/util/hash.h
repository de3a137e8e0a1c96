/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Content names: SHA-256 over labelled fields (nettle). */
#ifndef FB_UTIL_HASH_H
#define FB_UTIL_HASH_H

#include <nettle/sha2.h>
#include <stddef.h>

#include "src/util/error.h"

#define FB_HASH_HEX_SIZE (2 * SHA256_DIGEST_SIZE + 1)

struct fb_hash {
	struct sha256_ctx ctx;
};

void fb_hash_init(struct fb_hash *h);

/** fb_hash_add() - Add a field; its length is hashed too, so that fields cannot run together. */
void fb_hash_add(struct fb_hash *h, const void *data, size_t len);

/** fb_hash_add_str() - Add a string field; NULL differs from "". */
void fb_hash_add_str(struct fb_hash *h, const char *s);

/** fb_hash_hex() - Finish: 64 lower-case hex digits. */
void fb_hash_hex(struct fb_hash *h, char ret[FB_HASH_HEX_SIZE]);

/** fb_hash_file() - Plain SHA-256 of a file, as sha256sum prints it. */
int fb_hash_file(const char *path, char ret[FB_HASH_HEX_SIZE], struct fb_error *err);

#endif
