/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stand-ins for libraries that a program is linked with but never calls in our jobs.
 *
 * Debian's fio needs 62 libraries (84 MB), nearly all of them for I/O engines that talk to
 * clusters; a guest that unpacks and links them starts a second later. A stand-in has the
 * same name, symbols and versions, and each of its functions ends the caller with SIGILL:
 * a call that should not happen is a failed run, never a wrong value.
 */
#ifndef FB_BOOT_STANDIN_H
#define FB_BOOT_STANDIN_H

#include "src/util/error.h"
#include "src/util/str.h"

/**
 * fb_standin_make() - Make a stand-in of a library for one program.
 * @program: the ELF file that is linked with it.
 * @library: the real library's file.
 * @soname: the name under which @program needs it.
 * @ret: the shared object's bytes are appended.
 *
 * The same inputs give the same bytes.
 *
 * Return: 1; 0 when @program uses data of the library, which nothing can stand in for; -1.
 */
int fb_standin_make(const char *program, const char *library, const char *soname,
		    struct fb_str *ret, struct fb_error *err);

#endif
