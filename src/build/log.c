/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Why a build failed, read from its log. */
#include "src/build/log.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "src/util/str.h"
#include "src/util/util.h"

#define LINE_MAX_B 500 /* of a cause; compiler lines with template-like macros get long */

/* Programs that kernel builds call, and where Debian has them. */
static const struct {
	const char *program, *package;
} packages[] = {
	{"ar", "binutils"},
	{"as", "binutils"},
	{"awk", "gawk"},
	{"bc", "bc"},
	{"bison", "bison"},
	{"bzip2", "bzip2"},
	{"cpio", "cpio"},
	{"depmod", "kmod"},
	{"flex", "flex"},
	{"gawk", "gawk"},
	{"gcc", "gcc"},
	{"git", "git"},
	{"gzip", "gzip"},
	{"ld", "binutils"},
	{"lz4", "lz4"},
	{"lz4c", "lz4"},
	{"lzma", "xz-utils"},
	{"lzop", "lzop"},
	{"m4", "m4"},
	{"make", "make"},
	{"nm", "binutils"},
	{"objcopy", "binutils"},
	{"objdump", "binutils"},
	{"openssl", "openssl"},
	{"perl", "perl"},
	{"python3", "python3"},
	{"rsync", "rsync"},
	{"strip", "binutils"},
	{"xz", "xz-utils"},
	{"zstd", "zstd"},
};

/* Headers of this host that programs built along with the kernel include. */
static const struct {
	const char *header, *package;
} headers[] = {
	{"elf.h", "libc6-dev"},	  {"gelf.h", "libelf-dev"},   {"libelf.h", "libelf-dev"},
	{"gmp.h", "libgmp-dev"},  {"openssl/", "libssl-dev"}, {"dwarf.h", "libdw-dev"},
	{"stdio.h", "libc6-dev"}, {"stdlib.h", "libc6-dev"},  {"sys/types.h", "libc6-dev"},
};

const char *fb_build_package(const char *program)
{
	for (size_t i = 0; i < FB_ARRAY_SIZE(packages); i++)
		if (!strcmp(packages[i].program, program))
			return packages[i].package;
	return NULL;
}

/*
 * Source that gcc quotes under an error ("   12 | text", "      | ^~~~") may hold any text,
 * such as "No space left on device".
 */
static bool is_excerpt(const char *line)
{
	const char *p = line;

	while (*p == ' ')
		p++;
	while (isdigit((unsigned char)*p))
		p++;
	while (*p == ' ')
		p++;
	return p > line && *p == '|';
}

/* A warning quotes no error, and make's echo of a command is not its outcome. */
static bool is_noise(const char *line)
{
	return is_excerpt(line) || strstr(line, "warning: ") || strstr(line, ": note: ");
}

/* as puts the words in quotes; everything else after a colon. */
static bool says_no_space(const char *line)
{
	return strstr(line, ": No space left on device") || strstr(line, ": Disk quota exceeded") ||
	       strstr(line, ": 'No space left on device'");
}

static bool is_killed(const char *line)
{
	static const char *const words[] = {
		"Killed signal terminated program",
		"Terminated signal terminated program",
		"internal compiler error: Killed",
		"terminated with signal 9 [Killed]",
		"terminated with signal 15 [Terminated]",
		"virtual memory exhausted",
		": Cannot allocate memory",
		"memory exhausted",
		": fork: Resource temporarily unavailable",
		"vfork: Resource temporarily unavailable",
		": Too many open files",
		": Input/output error",
		": Read-only file system",
	};
	size_t n = strlen(line);

	for (size_t i = 0; i < FB_ARRAY_SIZE(words); i++)
		if (strstr(line, words[i]))
			return true;
	/* The shell's word, and make's: "make[2]: *** [x:1: y.o] Killed", "... Error 137". */
	if (!strcmp(line, "Killed") || !strcmp(line, "Terminated"))
		return true;
	if (!strstr(line, "***"))
		return false;
	return (n > 8 && !strcmp(line + n - 8, "] Killed")) ||
	       (n > 12 && !strcmp(line + n - 12, "] Terminated")) ||
	       (n > 11 && !strcmp(line + n - 11, "] Error 137")) ||
	       (n > 11 && !strcmp(line + n - 11, "] Interrupt"));
}

/* The program in "/bin/sh: 1: flex: not found", "make: flex: No such file or directory". */
static const char *missing_program(const char *line)
{
	static const char *const ends[] = {": not found", ": command not found",
					   ": Command not found", ": No such file or directory"};
	size_t n = strlen(line);

	for (size_t i = 0; i < FB_ARRAY_SIZE(ends); i++) {
		size_t end_len = strlen(ends[i]);
		const char *end = line + n - end_len, *start;
		FB_CLEANUP(fb_freep) char *name = NULL;

		if (n <= end_len || strcmp(end, ends[i]) != 0)
			continue;
		for (start = end; start > line && start[-1] != ' '; start--)
			;
		name = fb_xstrndup(start, (size_t)(end - start));
		/* Compilers and scripts use the same words for files; a shell or make runs it. */
		if (strstr(line, "error: ") ||
		    (strncmp(line, "make", 4) != 0 && !strstr(line, "sh: ") &&
		     strncmp(line, "env: ", 5) != 0))
			continue;
		if (name[0] == '\'' || name[0] == '"') {
			memmove(name, name + 1, strlen(name));
			name[strcspn(name, "'\"")] = '\0';
		}
		return fb_build_package(name);
	}
	return NULL;
}

static const char *missing_header(const char *line)
{
	const char *p = strstr(line, "fatal error: ");

	if (!p || !strstr(p, ": No such file or directory"))
		return strstr(line, "install libelf-dev") ? "libelf-dev" : NULL;
	p += strlen("fatal error: ");
	/* A kernel file may include a header that is gone; only host programs include these. */
	for (size_t i = 0; i < FB_ARRAY_SIZE(headers); i++) {
		size_t n = strlen(headers[i].header);

		if (!strncmp(p, headers[i].header, n) &&
		    (headers[i].header[n - 1] == '/' || p[n] == ':'))
			return strncmp(line, "scripts/", 8) == 0 || strstr(line, "/scripts/") ||
					       strstr(line, "tools/") || strstr(line, "/certs/") ||
					       strncmp(line, "certs/", 6) == 0
				       ? headers[i].package
				       : NULL;
	}
	return NULL;
}

/* What compilers, linkers, kconfig and modpost print for an error of the source. */
static bool is_error(const char *line)
{
	static const char *const words[] = {
		": error: ",
		": fatal error: ",
		": Error: ",
		": Fatal error: ",
		": undefined reference to",
		"undefined symbol: ",
		": multiple definition of",
		"ERROR: modpost: ",
		": syntax error",
		": unknown statement",
		": invalid statement",
		": internal compiler error: ",
		"recursive dependency detected",
		"*** No rule to make target",
		": can't open file ",
		"*** missing separator",
		"*** multiple target patterns",
		"*** mixed implicit and ",
	};
	static const char *const starts[] = {
		"error: ",    "ERROR: ",	 "ld: ",     "/usr/bin/ld: ",
		"cc1: error", "collect2: error", "FAILED: ", "FATAL: ",
	};

	/* Only says where the next line's fault is. */
	if (strstr(line, ": in function `"))
		return false;
	for (size_t i = 0; i < FB_ARRAY_SIZE(words); i++)
		if (strstr(line, words[i]))
			return true;
	/* A script or program of the tree's own that is not there. */
	if ((fb_str_has_prefix(line, "make") &&
	     fb_str_has_suffix(line, ": No such file or directory")) ||
	    (strstr(line, "sh: ") && fb_str_has_suffix(line, ": not found")))
		return true;
	for (size_t i = 0; i < FB_ARRAY_SIZE(starts); i++)
		if (fb_str_has_prefix(line, starts[i]))
			return true;
	return false;
}

/* Length of the root with its slash that a path at @p begins with; 0 when there is none. */
static size_t root_len(const char *line, const char *p, const char *const *roots)
{
	/* Not inside a longer path. */
	if (p > line && (isalnum((unsigned char)p[-1]) || strchr("/._-", p[-1])))
		return 0;
	for (; roots && *roots; roots++) {
		size_t n = strlen(*roots);

		if (n && !strncmp(p, *roots, n) && p[n] == '/')
			return n + 1;
	}
	return 0;
}

/* Copy without control bytes and without the places of this host. */
static char *clean(const char *line, const char *const *roots)
{
	struct fb_str s = FB_STR_INIT;

	for (const char *p = line; *p && s.len < LINE_MAX_B; p++) {
		p += root_len(line, p, roots);
		if (*p)
			fb_str_addc(&s, (unsigned char)*p < ' ' || *p == 0x7f ? ' ' : *p);
		else
			break;
	}
	return fb_str_take(&s);
}

static void set(struct fb_log_cause *cause, enum fb_log_fault fault, const char *line,
		const char *package, const char *const *roots)
{
	free(cause->line);
	free(cause->package);
	cause->fault = fault;
	cause->line = clean(line, roots);
	cause->package = package ? fb_xstrdup(package) : NULL;
}

void fb_log_find_cause(const char *buf, size_t len, const char *const *roots,
		       struct fb_log_cause *ret)
{
	struct fb_log_cause found = {.fault = FB_LOG_COMMIT};
	enum { NOTHING, LAST_LINE, MAKE_LINE, ERROR_LINE, TOOL_LINE, HOST_LINE } rank = NOTHING;
	const char *end = buf + len;

	for (const char *p = buf; p < end && rank < HOST_LINE;) {
		const char *nl = memchr(p, '\n', (size_t)(end - p)), *package;
		FB_CLEANUP(fb_freep) char *line = fb_xstrndup(p, (size_t)((nl ? nl : end) - p));
		size_t n = strlen(line);

		p = nl ? nl + 1 : end;
		while (n && isspace((unsigned char)line[n - 1]))
			line[--n] = '\0';
		if (!n || is_excerpt(line))
			continue;
		if (says_no_space(line)) {
			set(&found, FB_LOG_SPACE, line, NULL, roots);
			rank = HOST_LINE;
		} else if (is_killed(line)) {
			set(&found, FB_LOG_KILLED, line, NULL, roots);
			rank = HOST_LINE;
		} else if (rank < TOOL_LINE && ((package = missing_program(line)) != NULL ||
						(package = missing_header(line)) != NULL)) {
			set(&found, FB_LOG_TOOL, line, package, roots);
			rank = TOOL_LINE;
		} else if (rank < ERROR_LINE && !is_noise(line) && is_error(line)) {
			set(&found, FB_LOG_COMMIT, line, NULL, roots);
			rank = ERROR_LINE;
		} else if (rank < MAKE_LINE && strstr(line, "*** ")) {
			set(&found, FB_LOG_COMMIT, line, NULL, roots);
			rank = MAKE_LINE;
		} else if (rank < MAKE_LINE) {
			set(&found, FB_LOG_COMMIT, line, NULL, roots);
			rank = LAST_LINE;
		}
	}
	if (rank == NOTHING)
		set(&found, FB_LOG_COMMIT, "no output", NULL, roots);
	*ret = found;
}

void fb_log_cause_release(struct fb_log_cause *cause)
{
	free(cause->line);
	free(cause->package);
	*cause = (struct fb_log_cause){0};
}
