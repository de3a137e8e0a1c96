/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The door to liblzma: whole .xz files in memory. */
#include "src/controller/xz.h"

#include <lzma.h>
#include <stdint.h>
#include <string.h>

#include "src/util/util.h"

#define MEMORY_MAX (256u << 20) /* of the decoder: xz -9 needs 65 MiB */

bool fb_xz_is(const char *data, size_t len)
{
	return len >= 6 && !memcmp(data,
				   "\xfd"
				   "7zXZ\0",
				   6);
}

static const char *reason(lzma_ret ret)
{
	switch (ret) {
	case LZMA_MEM_ERROR:
	case LZMA_MEMLIMIT_ERROR:
		return "it needs too much memory";
	case LZMA_FORMAT_ERROR:
		return "not an xz file";
	case LZMA_OPTIONS_ERROR:
		return "an xz file of a kind that liblzma does not know";
	case LZMA_DATA_ERROR:
		return "a damaged xz file";
	case LZMA_BUF_ERROR:
		return "an xz file that ends too early";
	default:
		return "an xz file that cannot be unpacked";
	}
}

int fb_xz_decode(const char *data, size_t len, size_t max_b, struct fb_str *out,
		 struct fb_error *err)
{
	lzma_stream lzma = LZMA_STREAM_INIT;
	lzma_ret ret = lzma_stream_decoder(&lzma, MEMORY_MAX, LZMA_CONCATENATED);
	size_t before = out->len;
	char buf[1 << 16];
	int rc = 0;

	lzma.next_in = (const uint8_t *)data;
	lzma.avail_in = len;
	while (ret == LZMA_OK && rc == 0) {
		lzma.next_out = (uint8_t *)buf;
		lzma.avail_out = sizeof(buf);
		ret = lzma_code(&lzma, LZMA_FINISH);
		fb_str_addn(out, buf, sizeof(buf) - lzma.avail_out);
		if (out->len - before > max_b || out->truncated)
			rc = fb_error_set(err, FB_ERROR_INPUT, "more than %zu bytes when unpacked",
					  max_b);
	}
	lzma_end(&lzma);
	if (rc == 0 && ret != LZMA_STREAM_END)
		rc = fb_error_set(err, FB_ERROR_INPUT, "%s", reason(ret));
	return rc;
}
