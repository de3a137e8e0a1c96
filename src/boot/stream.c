/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The agent's results, as JSON lines. */
#include "src/boot/stream.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/util/json.h"
#include "src/util/util.h"

void fb_stream_init(struct fb_stream *s, const json_t *cells)
{
	*s = (struct fb_stream){.cells = cells, .hello_ns = -1, .done_ns = -1, .setup_ns = -1};
	s->line.max = FB_STREAM_LINE_MAX;
	s->out.max = FB_STREAM_OUT_MAX;
	s->err.max = FB_STREAM_ERR_MAX;
}

static int bad(struct fb_stream *s, const char *what)
{
	snprintf(s->bad, sizeof(s->bad), "results line %u: %s", s->line_nr, what);
	return -1;
}

/* Guest text that is shown to people: one line of printable ASCII. */
static void copy_text(char *to, size_t size, const char *from)
{
	size_t n = 0;

	for (; *from && n + 1 < size; from++)
		to[n++] = (char)(*from >= 0x20 && *from < 0x7f ? *from : '?');
	to[n] = '\0';
}

/* A time is never negative and fits 292 years. */
static int read_time(struct fb_stream *s, const json_t *v, int64_t *ret)
{
	if (!json_is_integer(v) || json_integer_value(v) < 0)
		return bad(s, "no valid time");
	*ret = json_integer_value(v);
	return 0;
}

/* The strings of jansson are valid UTF-8; here only U+0000 to U+00FF, one byte each. */
static int add_bytes(struct fb_stream *s, struct fb_str *to, const json_t *v)
{
	const unsigned char *p = (const unsigned char *)json_string_value(v);
	size_t len = json_string_length(v);

	if (!json_is_string(v))
		return bad(s, "no data");
	for (size_t i = 0; i < len; i++) {
		if (p[i] < 0x80) {
			fb_str_addc(to, (char)p[i]);
		} else if ((p[i] == 0xc2 || p[i] == 0xc3) && i + 1 < len) {
			fb_str_addc(to, (char)((p[i] & 3) << 6 | (p[i + 1] & 0x3f)));
			i++;
		} else {
			return bad(s, "data with characters above U+00FF");
		}
	}
	return to->truncated ? bad(s, "too much output") : 0;
}

/* Object of finite numbers; a new one with reals, so that a reader has one type. */
static json_t *read_counters(struct fb_stream *s, json_t *v)
{
	json_t *o = json_object(), *n;
	const char *name;

	if (!json_is_object(v) || json_object_size(v) > FB_STREAM_NAMES_MAX) {
		bad(s, "no valid counters");
		json_decref(o);
		return NULL;
	}
	json_object_foreach(v, name, n)
	{
		bool plain = strlen(name) < 64 && name[0];

		for (const char *p = name; *p && plain; p++)
			plain = *p > 0x20 && *p < 0x7f;
		if (!plain || !json_is_number(n) || !isfinite(json_number_value(n))) {
			bad(s, "bad counter");
			json_decref(o);
			return NULL;
		}
		json_object_set_new(o, name, json_real(json_number_value(n)));
	}
	return o;
}

static json_int_t runs_of(const struct fb_stream *s, size_t cell)
{
	json_int_t n = json_integer_value(json_object_get(json_array_get(s->cells, cell), "runs"));

	return n > 0 ? n : 1;
}

/* Runs come in order, each once: a repeated or skipped one is a lie or a lost line. */
static int check_position(struct fb_stream *s, const json_t *v)
{
	const json_t *cell = json_object_get(v, "cell"), *run = json_object_get(v, "run");

	if (!json_is_integer(cell) || !json_is_integer(run) ||
	    json_integer_value(cell) != (json_int_t)s->cell ||
	    json_integer_value(run) != (json_int_t)s->run || s->cell >= json_array_size(s->cells))
		return bad(s, "not the run that is due");
	return 0;
}

static int read_hello(struct fb_stream *s, json_t *v)
{
	const char *release = fb_json_str(v, "release");

	if (s->hello)
		return bad(s, "second hello");
	if (json_integer_value(json_object_get(v, "agent")) != 1 || !release)
		return bad(s, "hello of an unknown agent");
	copy_text(s->release, sizeof(s->release), release);
	s->hello = true;
	return read_time(s, json_object_get(v, "at_ns"), &s->hello_ns);
}

static int read_start(struct fb_stream *s, json_t *v)
{
	int64_t at_ns, setup_ns;

	if (s->started)
		return bad(s, "second start of a run");
	if (check_position(s, v) < 0 || read_time(s, json_object_get(v, "at_ns"), &at_ns) < 0 ||
	    read_time(s, json_object_get(v, "setup_ns"), &setup_ns) < 0)
		return -1;
	if (s->setup_ns < 0)
		s->setup_ns = setup_ns;
	s->started = true;
	return 0;
}

static int read_data(struct fb_stream *s, json_t *v, struct fb_str *to)
{
	if (!s->started)
		return bad(s, "output before its run");
	if (check_position(s, v) < 0)
		return -1;
	return add_bytes(s, to, json_object_get(v, "data"));
}

static int read_end(struct fb_stream *s, json_t *v)
{
	const json_t *ok = json_object_get(v, "ok"), *stuck = json_object_get(v, "stuck");
	const json_t *status = json_object_get(v, "status");
	const char *why = fb_json_str(v, "why");
	struct fb_boot_run *run;
	char text[512];
	json_t *counters;

	if (check_position(s, v) < 0)
		return -1;
	if (!json_is_boolean(ok) || !json_is_boolean(stuck) || !why)
		return bad(s, "end without its parts");
	if (json_is_true(ok) && !s->started)
		return bad(s, "a run that ended well without a start");
	if (status && (!json_is_integer(status) || json_integer_value(status) < 0 ||
		       json_integer_value(status) > UINT8_MAX || !s->started ||
		       (json_is_true(ok) && json_integer_value(status) != 0)))
		return bad(s, "no valid status");
	if (s->nr_runs >= FB_STREAM_RUNS_MAX)
		return bad(s, "too many runs");
	counters = read_counters(s, json_object_get(v, "counters"));
	if (!counters)
		return -1;
	copy_text(text, sizeof(text), why);
	FB_GROW(s->runs, s->nr_runs, s->cap_runs);
	run = &s->runs[s->nr_runs++];
	*run = (struct fb_boot_run){.cell = (unsigned)s->cell,
				    .end = json_is_true(ok) ? FB_END_OK : FB_END_TEST_FAILED,
				    .status = status ? (int)json_integer_value(status) : -1,
				    .counters = counters,
				    .out_len = s->out.len};
	if (run->end != FB_END_OK)
		run->why = fb_xstrdup(text[0] ? text : "the agent gave no reason");
	run->out = fb_str_take(&s->out);
	run->err = fb_str_take(&s->err);
	s->out.max = FB_STREAM_OUT_MAX;
	s->err.max = FB_STREAM_ERR_MAX;
	s->stuck |= json_is_true(stuck);
	s->started = false;
	if ((json_int_t)++s->run >= runs_of(s, s->cell)) {
		s->cell++;
		s->run = 0;
	}
	return 0;
}

static int read_done(struct fb_stream *s, json_t *v)
{
	if (read_time(s, json_object_get(v, "at_ns"), &s->done_ns) < 0)
		return -1;
	if (!s->stuck && (s->started || s->cell != json_array_size(s->cells)))
		return bad(s, "done before all runs were");
	s->done = true;
	return 0;
}

static int read_event(struct fb_stream *s, json_t *v)
{
	const char *ev = fb_json_str(v, "ev");

	if (!ev)
		return bad(s, "no event");
	if (s->done && strcmp(ev, "failed"))
		return bad(s, "more after the end");
	if (!strcmp(ev, "hello"))
		return read_hello(s, v);
	if (!s->hello)
		return bad(s, "no hello at the start");
	if (!strcmp(ev, "beat"))
		return 0;
	if (!strcmp(ev, "start"))
		return read_start(s, v);
	if (!strcmp(ev, "out"))
		return read_data(s, v, &s->out);
	if (!strcmp(ev, "err"))
		return read_data(s, v, &s->err);
	if (!strcmp(ev, "end"))
		return read_end(s, v);
	if (!strcmp(ev, "done"))
		return read_done(s, v);
	if (!strcmp(ev, "failed") && fb_json_str(v, "why")) {
		copy_text(s->failed, sizeof(s->failed), fb_json_str(v, "why"));
		return 0;
	}
	return bad(s, "unknown event");
}

static void read_line(struct fb_stream *s)
{
	struct fb_error err = FB_ERROR_INIT;
	json_t *v;

	s->line_nr++;
	if (s->line.truncated) {
		bad(s, "too long");
		return;
	}
	v = fb_json_parse(fb_str_cstr(&s->line), s->line.len, "results",
			  JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &err);
	if (v)
		read_event(s, v);
	else
		bad(s, "no JSON");
	json_decref(v);
}

void fb_stream_feed(struct fb_stream *s, const char *buf, size_t len)
{
	while (len && !s->bad[0]) {
		const char *nl = memchr(buf, '\n', len);
		size_t n = nl ? (size_t)(nl - buf) : len;

		fb_str_addn(&s->line, buf, n);
		if (!nl)
			return;
		read_line(s);
		s->line.len = 0;
		s->line.truncated = false;
		buf += n + 1;
		len -= n + 1;
	}
}

void fb_stream_end(struct fb_stream *s)
{
	if (!s->bad[0] && s->line.len) {
		s->line_nr++;
		bad(s, "cut off");
	}
}

void fb_boot_run_release(struct fb_boot_run *run)
{
	free(run->why);
	free(run->out);
	free(run->err);
	json_decref(run->counters);
	*run = (struct fb_boot_run){0};
}

void fb_stream_release(struct fb_stream *s)
{
	for (size_t i = 0; i < s->nr_runs; i++)
		fb_boot_run_release(&s->runs[i]);
	free(s->runs);
	fb_str_release(&s->line);
	fb_str_release(&s->out);
	fb_str_release(&s->err);
	*s = (struct fb_stream){0};
}
