/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Allocation that cannot fail, scope cleanup, and array helpers. */
#ifndef FB_UTIL_UTIL_H
#define FB_UTIL_UTIL_H

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#define FB_ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define FB_NS_PER_S	 1000000000LL
#define FB_NS_PER_MS	 1000000LL

/* Scope cleanup; never mixed with goto in one function. Each type ships its _freep. */
#define FB_CLEANUP(fn) __attribute__((cleanup(fn)))

/* Hands an owned pointer over: evaluates to @p and sets it to NULL. */
#define FB_TAKE(p)                                                                                 \
	__extension__({                                                                            \
		__typeof__(p) *fb_p_ = &(p);                                                       \
		__typeof__(p) fb_v_ = *fb_p_;                                                      \
		*fb_p_ = NULL;                                                                     \
		fb_v_;                                                                             \
	})

/* These abort when memory runs out; the result is owned by the caller and freed with free(). */
void *fb_xmalloc(size_t size);
void *fb_xcalloc(size_t nr, size_t size);
void *fb_xrealloc(void *p, size_t nr, size_t size);
char *fb_xstrdup(const char *s);
char *fb_xstrndup(const char *s, size_t len);
char *fb_xasprintf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
char *fb_xvasprintf(const char *fmt, va_list ap) __attribute__((format(printf, 1, 0)));

/**
 * FB_GROW() - Make room for one more element in a growing array.
 * @array: owned pointer; @nr: elements used; @cap: elements allocated.
 */
#define FB_GROW(array, nr, cap)                                                                    \
	do {                                                                                       \
		if ((nr) == (cap)) {                                                               \
			(cap) = (cap) ? (cap)*2 : 16;                                              \
			(array) = fb_xrealloc((array), (cap), sizeof(*(array)));                   \
		}                                                                                  \
	} while (0)

/* Cleanup helpers for plain C types. */
void fb_freep(void *p);	       /* char *, void * and other pointers freed with free() */
void fb_closep(const int *fd); /* closes a descriptor >= 0; keeps errno */
void fb_strvp(char ***v);      /* frees a NULL-terminated vector and its strings */

/** fb_strv_len() - Number of strings in a NULL-terminated vector. */
size_t fb_strv_len(char *const *v);

/** fb_strv_add() - Append a copy of @s to the NULL-terminated vector @v (may be NULL). */
void fb_strv_add(char ***v, const char *s);

#endif
