/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The agent's results, as JSON lines. The guest is not trusted: anything that is not exactly
 * this protocol makes the stream bad from there on; what came before stays.
 *
 *   {"ev":"hello","agent":1,"at_ns":N,"release":"6.1.0"}         first, once
 *   {"ev":"beat"}                                                a sign of life
 *   {"ev":"start","cell":C,"run":R,"at_ns":N,"setup_ns":N}       before the measured step
 *   {"ev":"out","cell":C,"run":R,"data":"..."}                   stdout, after the step
 *   {"ev":"err","cell":C,"run":R,"data":"..."}                   its stderr's tail
 *   {"ev":"end","cell":C,"run":R,"ok":true,"stuck":false,"why":"","counters":{...}}
 *       and "status":N (0 to 255) when the measured step ended by itself
 *   {"ev":"failed","why":"..."}                                  the agent gives up
 *   {"ev":"done","at_ns":N}                                      last
 *
 * Times are CLOCK_BOOTTIME of the guest. In "data" each code point up to U+00FF is one byte.
 *
 * On the command machine the agent may end without "done", by exit status FB_STREAM_LOST + errno:
 * the host could not keep what a step wrote, or these lines.
 */
#ifndef FB_BOOT_STREAM_H
#define FB_BOOT_STREAM_H

#include "src/boot/boot.h"
#include "src/util/str.h"

/* The agent's chunks are 4 KiB, six times as much when all is escaped. */
#define FB_STREAM_LINE_MAX  (64u << 10)
#define FB_STREAM_OUT_MAX   (12u << 20)
#define FB_STREAM_ERR_MAX   (64u << 10)
#define FB_STREAM_RUNS_MAX  10000
#define FB_STREAM_LOST	    100 /* FB_AGENT_LOST of the agent, which shares no header */
#define FB_STREAM_NAMES_MAX 200 /* counters of a run; the agent knows about 25 */

struct fb_stream {
	struct fb_str line;
	const json_t *cells; /* borrowed: what was asked for */
	unsigned line_nr;
	bool hello, done;
	char bad[256];	  /* why the stream is bad, or "" */
	char failed[512]; /* what the agent gave up with, or "" */
	char release[128];
	int64_t hello_ns, done_ns, setup_ns; /* guest time; -1 unknown */
	bool stuck;			     /* a process could not be killed */
	size_t cell, run;		     /* the next one expected */
	bool started;			     /* inside of it */
	struct fb_str out, err;		     /* of the run that goes on */
	struct fb_boot_run *runs;
	size_t nr_runs, cap_runs;
};

void fb_stream_init(struct fb_stream *stream, const json_t *cells);

/** fb_stream_feed() - Take what arrived; complete lines are read. Nothing once bad. */
void fb_stream_feed(struct fb_stream *stream, const char *buf, size_t len);

/** fb_stream_end() - No more will come: an unfinished line makes it bad. */
void fb_stream_end(struct fb_stream *stream);

void fb_stream_release(struct fb_stream *stream);

void fb_boot_run_release(struct fb_boot_run *run);

#endif
