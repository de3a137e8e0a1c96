/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Telling the failure kinds of DESIGN.md 5.7 apart. */
#include <string.h>

#include "src/boot/internal.h"
#include "src/util/util.h"

static enum fb_end end_with(enum fb_end end, char **ret_why, char *why)
{
	*ret_why = why;
	return end;
}

/* The best there is to say when the kernel just stopped talking. */
static char *last_words(const struct fb_watch *w, const char *what)
{
	if (!w->console)
		return fb_xstrdup(what);
	if (!w->console->bytes)
		return fb_xasprintf("%s; the kernel wrote nothing", what);
	return fb_xasprintf("%s; last console line: %s", what, w->console->last);
}

/* The runs are all there: is there anything to hold against them? */
static enum fb_end judge_done(const struct fb_watch *w, char **ret_why)
{
	const struct fb_stream *s = w->stream;

	if (s->stuck)
		return end_with(FB_END_HANG_NOISY, ret_why,
				fb_xstrdup(s->nr_runs ? s->runs[s->nr_runs - 1].why : "stuck"));
	if (w->console && w->console->oops[0])
		return end_with(FB_END_OOPS, ret_why, fb_xstrdup(w->console->oops));
	for (size_t i = 0; i < s->nr_runs; i++)
		if (s->runs[i].end != FB_END_OK)
			return end_with(
				FB_END_TEST_FAILED, ret_why,
				fb_xasprintf("cell %u: %s", s->runs[i].cell, s->runs[i].why));
	return end_with(FB_END_OK, ret_why,
			w->console && w->console->warning[0] ? fb_xstrdup(w->console->warning)
							     : NULL);
}

/* QEMU ended by itself, without a panic text and without the agent's last word. */
static enum fb_end judge_ended(const struct fb_watch *w, char **ret_why)
{
	bool hello = w->stream->hello;
	const char *reason = w->qmp ? w->qmp->reason : "";

	if (!strcmp(reason, "guest-reset")) {
		/* A triple fault, a reboot(2) or a panic that could not print. */
		return hello ? end_with(FB_END_PANIC, ret_why,
					last_words(w, "rebooted without a panic message"))
			     : end_with(FB_END_BOOT_FAILED, ret_why,
					last_words(w, "rebooted before the agent spoke"));
	}
	if (!strcmp(reason, "guest-panic"))
		return end_with(FB_END_PANIC, ret_why, last_words(w, "the guest panicked"));
	if (!strcmp(reason, "guest-shutdown")) {
		if (!hello)
			return end_with(FB_END_BOOT_FAILED, ret_why,
					last_words(w, "powered off before the agent spoke"));
		return end_with(FB_END_TEST_FAILED, ret_why,
				fb_xasprintf("powered off before the agent was done%s%s",
					     w->stream->bad[0] ? "; " : "", w->stream->bad));
	}
	if (w->qemu_log_line && strstr(w->qemu_log_line, "PVH ELF Note"))
		return end_with(FB_END_BOOT_FAILED, ret_why,
				fb_xstrdup("the kernel is a vmlinux without CONFIG_PVH"));
	if (!w->exited)
		return end_with(FB_END_INFRA, ret_why,
				fb_xasprintf("%s was killed", w->qmp ? "QEMU" : "the agent"));
	return end_with(FB_END_INFRA, ret_why,
			fb_xasprintf("%s ended with status %d%s%s", w->qmp ? "QEMU" : "the agent",
				     w->status, w->qemu_log_line ? ": " : "",
				     w->qemu_log_line ? w->qemu_log_line : ""));
}

/*
 * The order is that of evidence: what the host lacks, what the kernel said itself, what the
 * agent said, and last what only the clock says. So a late oops wins over a lost connection,
 * and a panic over garbage that it left behind.
 */
enum fb_end fb_classify(const struct fb_watch *w, char **ret_why)
{
	const struct fb_stream *s = w->stream;
	const struct fb_console *c = w->console;
	bool complete = s->done && !s->bad[0];

	if (w->disk_full && !complete)
		return end_with(FB_END_INFRA, ret_why,
				fb_xstrdup("no space left for the job directory"));
	if (c && c->refusal[0] && !s->hello)
		return end_with(
			FB_END_BOOT_FAILED, ret_why,
			fb_xasprintf("the guest's programs need a newer kernel (%s)", c->refusal));
	if (c && c->panic[0])
		return end_with(FB_END_PANIC, ret_why, fb_xstrdup(c->panic));
	if (complete)
		return judge_done(w, ret_why);
	if (w->qmp && w->qmp->io_error[0])
		return end_with(FB_END_INFRA, ret_why,
				fb_xasprintf("QEMU: disk error: %s", w->qmp->io_error));
	/* "KVM internal error" and the like. Before the agent spoke it is this host's nature. */
	if (w->qmp && w->qmp->stopped)
		return end_with(s->hello ? FB_END_INFRA : FB_END_UNUSABLE, ret_why,
				last_words(w, "QEMU paused the guest (internal error)"));
	if (w->stop == FB_WATCH_CONSOLE_FULL)
		return end_with(FB_END_HANG_NOISY, ret_why,
				fb_xasprintf("console output without end (over %u MiB)",
					     FB_CONSOLE_MAX >> 20));
	if (w->stop == FB_WATCH_RESULTS_FULL)
		return end_with(
			FB_END_HANG_NOISY, ret_why,
			fb_xasprintf("results without end (over %u MiB)", FB_RESULTS_MAX >> 20));
	if (c && c->oops[0])
		return end_with(s->hello ? FB_END_OOPS : FB_END_BOOT_FAILED, ret_why,
				fb_xstrdup(c->oops));
	if (w->stop == FB_WATCH_GARBAGE)
		return end_with(FB_END_TEST_FAILED, ret_why,
				fb_xasprintf("garbage results: %s", s->bad));
	if (s->failed[0])
		return end_with(FB_END_TEST_FAILED, ret_why,
				fb_xasprintf("%s%s%s", s->failed, c && c->oom[0] ? "; " : "",
					     c ? c->oom : ""));
	switch (w->stop) {
	case FB_WATCH_SILENT:
		if (!s->hello)
			return end_with(FB_END_BOOT_FAILED, ret_why,
					last_words(w, "the agent never spoke"));
		return end_with(FB_END_HANG_SILENT, ret_why,
				fb_xasprintf("no sign of life for %lld s",
					     (long long)(w->silence_ns / FB_NS_PER_S)));
	case FB_WATCH_TIMEOUT:
		if (!s->hello)
			return end_with(FB_END_BOOT_FAILED, ret_why,
					last_words(w, "the agent did not speak in time"));
		return end_with(FB_END_HANG_NOISY, ret_why,
				fb_xasprintf("not done after %lld s",
					     (long long)(w->timeout_ns / FB_NS_PER_S)));
	case FB_WATCH_ENDED:
	case FB_WATCH_DONE:
	case FB_WATCH_FAILED:
	default:
		return judge_ended(w, ret_why);
	}
}
