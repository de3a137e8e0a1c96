/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Every testcase, in strcmp order of the names; u-testcases checks it. */
#ifndef FB_TESTCASES_LIST_H
#define FB_TESTCASES_LIST_H

#include "testcases/testcase.h"

#define FB_TESTCASES(X)                                                                            \
	X(command)                                                                                 \
	X(dbench)                                                                                  \
	X(dd_write)                                                                                \
	X(fio)                                                                                     \
	X(fsmark)                                                                                  \
	X(sync_latency)                                                                            \
	X(sysbench_fileio)

#define FB_TESTCASE_DECLARE(id) extern const struct fb_testcase fb_testcase_##id;
FB_TESTCASES(FB_TESTCASE_DECLARE)
#undef FB_TESTCASE_DECLARE

#endif
