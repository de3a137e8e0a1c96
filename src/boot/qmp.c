/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is needed of QEMU's machine protocol: say hello, then listen to events. */
#include "src/boot/qmp.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "src/util/json.h"

static void read_event(struct fb_qmp *qmp, const char *event, const json_t *data)
{
	const char *reason = fb_json_str(data, "reason");

	if (!strcmp(event, "SHUTDOWN") && reason) {
		snprintf(qmp->reason, sizeof(qmp->reason), "%s", reason);
	} else if (!strcmp(event, "GUEST_PANICKED")) {
		qmp->panicked = true;
	} else if (!strcmp(event, "STOP")) {
		qmp->stopped = true;
	} else if (!strcmp(event, "BLOCK_IO_ERROR")) {
		snprintf(qmp->io_error, sizeof(qmp->io_error), "%s", reason ? reason : "unknown");
	}
}

static void read_line(struct fb_qmp *qmp)
{
	struct fb_error err = FB_ERROR_INIT;
	json_t *v = fb_json_parse(fb_str_cstr(&qmp->line), qmp->line.len, "qmp", 0, &err);
	const json_t *greeting = json_object_get(v, "QMP");
	const char *event = fb_json_str(v, "event");

	if (greeting) {
		const json_t *q = json_object_get(json_object_get(greeting, "version"), "qemu");

		snprintf(qmp->version, sizeof(qmp->version), "%d.%d.%d",
			 (int)json_integer_value(json_object_get(q, "major")),
			 (int)json_integer_value(json_object_get(q, "minor")),
			 (int)json_integer_value(json_object_get(q, "micro")));
		qmp->greeted = true;
	} else if (event) {
		read_event(qmp, event, json_object_get(v, "data"));
	} else if (!json_object_get(v, "return") && !json_object_get(v, "error")) {
		qmp->bad = true;
	}
	json_decref(v);
}

void fb_qmp_feed(struct fb_qmp *qmp, const char *buf, size_t len)
{
	qmp->line.max = FB_QMP_LINE_MAX;
	for (size_t i = 0; i < len; i++) {
		if (buf[i] != '\n') {
			fb_str_addc(&qmp->line, buf[i]);
			continue;
		}
		if (qmp->line.truncated)
			qmp->bad = true;
		else if (qmp->line.len && strcmp(fb_str_cstr(&qmp->line), "\r"))
			read_line(qmp);
		qmp->line.len = 0;
		qmp->line.truncated = false;
	}
}

void fb_qmp_release(struct fb_qmp *qmp)
{
	fb_str_release(&qmp->line);
}
