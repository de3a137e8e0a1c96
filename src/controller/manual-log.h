/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The log of a bisection by hand, as text: git's lines, and comments of ours that git ignores.
 *
 *	# firstbad: session NAME EVENTS          how much of which session the log holds
 *	# firstbad: weak TERM HEX STRENGTH       soft evidence
 *	# firstbad: values HEX V...              measured values of the verdict before
 */
#ifndef FB_CONTROLLER_MANUAL_LOG_H
#define FB_CONTROLLER_MANUAL_LOG_H

#include "src/history/gitbisect.h"

enum fb_log_kind {
	FB_LOG_NOTE, /* a comment that stays as it is */
	FB_LOG_START,
	FB_LOG_VERDICT, /* .words: the term, then revisions */
	FB_LOG_WEAK,	/* .words: term, commit; .values: strength */
	FB_LOG_VALUES,	/* .words: commit; .values */
};

struct fb_log_entry {
	enum fb_log_kind kind;
	unsigned line; /* counts from 1 */
	char **words;  /* of the line, without "git bisect"; NULL-terminated, may be NULL */
	double *values;
	size_t nr_values;
	char *text; /* the lines themselves, with the comments before them */
};

struct fb_log {
	struct fb_log_entry *entry;
	size_t nr, cap;
	char *session;	    /* that the log names, or NULL */
	unsigned nr_events; /* of it that the log holds */
};

/**
 * fb_log_parse() - Take a log apart.
 * @name, @first_line: for errors, which are "NAME:LINE: ...".
 * @pasted: accept what mails and paste sites do to a log (quoted, numbered, indented, only its
 *	comments), and no unknown verb.
 *
 * Errors: FB_ERROR_INPUT.
 */
int fb_log_parse(const char *text, const char *name, unsigned first_line, bool pasted,
		 struct fb_log *ret, struct fb_error *err);
void fb_log_release(struct fb_log *log);

/** fb_log_head() - The first line of a log of ours. */
void fb_log_head(const char *session, size_t nr_events, struct fb_str *out);

/** fb_log_verdict() - git's two lines of a verdict. @subject: of the commit. */
void fb_log_verdict(const char *term, const struct fb_oid *oid, const char *subject,
		    bool comment_only, struct fb_str *out);

/** fb_log_weak(), fb_log_values() - Our comments. */
void fb_log_weak(const char *term, const struct fb_oid *oid, double strength, struct fb_str *out);
void fb_log_values(const struct fb_oid *oid, const double *values, size_t nr, struct fb_str *out);

#endif
