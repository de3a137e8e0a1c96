/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the kernel's console says about its health. */
#include "src/boot/console.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "src/util/str.h"
#include "src/util/util.h"

enum kind { KIND_PANIC, KIND_OOPS, KIND_WARNING, KIND_OOM, KIND_REFUSAL };

/*
 * Texts that the kernel prints, each with the file that has it (Linux 6.1). They are looked
 * for at the start of the message: a line that merely mentions one (a command line, a
 * program's own output) is no report of the kernel.
 */
static const struct {
	enum kind kind;
	const char *text;
} pattern[] = {
	{KIND_PANIC, "Kernel panic - not syncing"}, /* kernel/panic.c */
	{KIND_PANIC, "PANIC: double fault"},	    /* arch/x86/kernel/traps.c */
	{KIND_PANIC, "PANIC: early exception"},	    /* arch/x86/mm/extable.c */
	{KIND_PANIC, "Booting kernel failed:"},	    /* boot decompressors */
	{KIND_OOPS, "BUG: "},			    /* fault.c, slub.c, kasan, ... */
	{KIND_OOPS, "kernel BUG at "},		    /* lib/bug.c */
	{KIND_OOPS, "Oops: "},			    /* arch/x86/kernel/dumpstack.c */
	{KIND_OOPS, "Internal error: Oops"},	    /* arch/arm64 */
	{KIND_OOPS, "Unable to handle kernel "},    /* arch/arm64/mm/fault.c */
	{KIND_OOPS, "general protection fault, "},  /* arch/x86/kernel/traps.c */
	{KIND_OOPS, "general protection fault: "},  /* before 5.6 */
	{KIND_OOPS, "invalid opcode: "},	    /* arch/x86/kernel/traps.c */
	{KIND_OOPS, "divide error: "},		    /* same */
	{KIND_OOPS, "stack segment: "},		    /* same */
	{KIND_OOPS, "bounds: "},		    /* same */
	{KIND_OOPS, "int3: "},			    /* same */
	{KIND_OOPS, "traps: PANIC"},		    /* same */
	{KIND_OOPS, "watchdog: BUG: "},		    /* kernel/watchdog.c */
	{KIND_OOPS, "NMI watchdog: Watchdog detected hard LOCKUP"}, /* watchdog_hld.c, < 5.4 */
	{KIND_OOPS, "Watchdog detected hard LOCKUP"},		    /* kernel/watchdog_hld.c */
	{KIND_OOPS, "INFO: task "},				    /* kernel/hung_task.c */
	{KIND_OOPS, "INFO: rcu"},				  /* kernel/rcu/tree_stall.h, old */
	{KIND_OOPS, "rcu: INFO: rcu"},				  /* kernel/rcu/tree_stall.h */
	{KIND_OOPS, "UBSAN: "},					  /* lib/ubsan.c */
	{KIND_OOPS, "list_add corruption"},			  /* lib/list_debug.c */
	{KIND_OOPS, "list_del corruption"},			  /* same */
	{KIND_OOPS, "VFS: Busy inodes after unmount"},		  /* fs/super.c */
	{KIND_OOPS, "kernel tried to execute NX-protected page"}, /* arch/x86/mm/fault.c */
	{KIND_WARNING, "WARNING: "},				  /* kernel/panic.c, lockdep */
	{KIND_WARNING, "INFO: possible "},			  /* kernel/locking/lockdep.c */
	{KIND_OOM, "Out of memory: "},				  /* mm/oom_kill.c */
	{KIND_OOM, "oom-kill:"},				  /* same */
	/* The C library's start-up code, of init too; the kernel's panic is only what follows. */
	{KIND_REFUSAL, "FATAL: kernel too old"}, /* glibc csu, dl-sysdep.h */
};

/* "<4>", "[   12.345678]", "[    T1]": what printk may put before a message. */
static const char *skip_prefix(const char *s)
{
	for (;;) {
		const char *p = s;

		if (*p == '<' && isdigit((unsigned char)p[1])) {
			for (p++; isdigit((unsigned char)*p);)
				p++;
			if (*p++ != '>')
				return s;
		} else if (*p == '[') {
			for (p++; *p == ' ' || *p == '.' || isalnum((unsigned char)*p);)
				p++;
			if (*p++ != ']')
				return s;
		} else {
			return s;
		}
		while (*p == ' ')
			p++;
		s = p;
	}
}

static void keep_first(char *slot, const char *line)
{
	if (!slot[0])
		snprintf(slot, FB_CONSOLE_LINE_MAX, "%s", line);
}

/*
 * A printk can land behind something unfinished on the same line (a program that writes to
 * the console, another CPU). A timestamp in the middle then starts the message.
 */
static const char *message_of(const char *line)
{
	const char *s = skip_prefix(line);

	for (const char *p = strchr(s, '['); p; p = strchr(p + 1, '[')) {
		const char *q = p + 1;

		while (*q == ' ')
			q++;
		if (!isdigit((unsigned char)*q))
			continue;
		while (isdigit((unsigned char)*q))
			q++;
		if (*q++ != '.')
			continue;
		if (strspn(q, "0123456789") == 6 && q[6] == ']')
			return skip_prefix(p);
	}
	return s;
}

static void judge(struct fb_console *c)
{
	const char *s;

	c->line[c->len] = '\0';
	while (c->len && c->line[c->len - 1] == ' ')
		c->line[--c->len] = '\0';
	if (!c->len)
		return;
	s = message_of(c->line);
	snprintf(c->last, sizeof(c->last), "%s", c->line);
	if (fb_str_has_prefix(s, "Linux version "))
		c->nr_banners++;
	for (size_t i = 0; i < FB_ARRAY_SIZE(pattern); i++) {
		if (!fb_str_has_prefix(s, pattern[i].text))
			continue;
		switch (pattern[i].kind) {
		case KIND_PANIC:
			keep_first(c->panic, s);
			return;
		case KIND_OOPS:
			keep_first(c->oops, s);
			return;
		case KIND_WARNING:
			keep_first(c->warning, s);
			return;
		case KIND_OOM:
			keep_first(c->oom, s);
			return;
		case KIND_REFUSAL:
			keep_first(c->refusal, s);
			return;
		}
	}
}

void fb_console_feed(struct fb_console *c, const char *buf, size_t len)
{
	c->bytes += len;
	for (size_t i = 0; i < len; i++) {
		unsigned char b = (unsigned char)buf[i];

		if (b == '\n' || b == '\r') {
			judge(c);
			c->len = 0;
		} else if (c->len < sizeof(c->line) - 1) {
			c->line[c->len++] = (char)(b == '\t'		   ? ' '
						   : b >= 0x20 && b < 0x7f ? b
									   : '?');
		}
	}
}

void fb_console_end(struct fb_console *c)
{
	judge(c);
	c->len = 0;
}
