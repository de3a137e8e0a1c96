/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Logs of builds that failed (gcc 12.2, binutils 2.40, GNU make 4.3, Linux 6.1's conf;
 * shortened), and what firstbad says of them. For u-build.c.
 */
#ifndef FB_T_BUILD_CAUSES_H
#define FB_T_BUILD_CAUSES_H

#include <stddef.h>

#include "src/build/log.h"

struct cause_row {
	const char *name, *log;
	enum fb_log_fault fault;
	const char *line, *package;
};

static const struct cause_row cause_row[] = {
	{"cause: an empty log says so", "", FB_LOG_COMMIT, "no output", NULL},
	{"cause: gcc's error, not the excerpt or the notes",
	 "  CC      a.o\na.c: In function 'f':\n"
	 "a.c:1:22: error: 'g_undefined_thing' undeclared (first use in this function)\n"
	 "    1 | int f(void) { return g_undefined_thing; }\n"
	 "      |                      ^~~~~~~~~~~~~~~~~\n"
	 "a.c:1:22: note: each undeclared identifier is reported only once for each function it "
	 "appears in\nmake[1]: *** [scripts/Makefile.build:250: a.o] Error 1\n",
	 FB_LOG_COMMIT,
	 "a.c:1:22: error: 'g_undefined_thing' undeclared (first use in this function)", NULL},
	{"cause: a kernel's own missing header is the commit's",
	 "b.c:1:10: fatal error: no/such.h: No such file or directory\n    1 | #include "
	 "\"no/such.h\"\n      |          ^~~~~~~~~~~\ncompilation terminated.\n",
	 FB_LOG_COMMIT, "b.c:1:10: fatal error: no/such.h: No such file or directory", NULL},
	{"cause: the missing symbol, not the line that says where",
	 "/usr/bin/ld: /tmp/ccjm7PdI.o: in function `main':\n"
	 "c.c:(.text+0xa): undefined reference to `g'\ncollect2: error: ld returned 1 exit "
	 "status\n",
	 FB_LOG_COMMIT, "c.c:(.text+0xa): undefined reference to `g'", NULL},
	{"cause: the assembler's error",
	 "s.S: Assembler messages:\ns.S:2: Error: no such instruction: `bogus %rax'\n",
	 FB_LOG_COMMIT, "s.S:2: Error: no such instruction: `bogus %rax'", NULL},
	{"cause: a missing rule",
	 "  CC      kernel/fork.o\nmake: *** No rule to make target 'x.o', needed by 'all'.  "
	 "Stop.\n",
	 FB_LOG_COMMIT, "make: *** No rule to make target 'x.o', needed by 'all'.  Stop.", NULL},
	{"cause: a broken makefile", "m3:2: *** missing separator.  Stop.\n", FB_LOG_COMMIT,
	 "m3:2: *** missing separator.  Stop.", NULL},
	{"cause: kconfig's syntax error, with the path relative to the tree",
	 "/wt/src/fs/Kconfig:4: syntax error\n/wt/src/fs/Kconfig:3: invalid statement\n"
	 "make[2]: *** [/wt/src/scripts/kconfig/Makefile:77: olddefconfig] Error 1\n",
	 FB_LOG_COMMIT, "fs/Kconfig:4: syntax error", NULL},
	{"cause: paths that ccache made relative are cut too, but not inside longer ones",
	 "../src/fs/a.c:1:2: error: in x/../src/fs/b.h from ../src/fs/c.h\n", FB_LOG_COMMIT,
	 "fs/a.c:1:2: error: in x/../src/fs/b.h from fs/c.h", NULL},
	/* The text is that of scripts/mod/modpost.c in v6.1. */
	{"cause: modpost's error",
	 "  MODPOST Module.symvers\nERROR: modpost: \"helper\" [fs/x/x.ko] undefined!\n"
	 "make[2]: *** [/wt/src/scripts/Makefile.modpost:126: Module.symvers] Error 1\n",
	 FB_LOG_COMMIT, "ERROR: modpost: \"helper\" [fs/x/x.ko] undefined!", NULL},
	{"cause: an unknown program is the commit's",
	 "nosuchflex -o x; true && false\n/bin/sh: 1: nosuchflex: not found\n"
	 "make: *** [m5:2: all] Error 1\n",
	 FB_LOG_COMMIT, "/bin/sh: 1: nosuchflex: not found", NULL},
	{"cause: a warning is no cause",
	 "x.c:3:1: warning: unused variable 'error: x'\nmake: *** [m:2: all] Error 1\n",
	 FB_LOG_COMMIT, "make: *** [m:2: all] Error 1", NULL},
	{"cause: without anything better the last line", "one\ntwo\n\n", FB_LOG_COMMIT, "two",
	 NULL},
	{"cause: a tool that kernels need is this host's, also before other errors",
	 "/bin/sh: 1: flex: not found\nx.c:1:1: error: y\n", FB_LOG_TOOL,
	 "/bin/sh: 1: flex: not found", "flex"},
	{"cause: make calls a missing tool by itself",
	 "make: bison: No such file or directory\nmake: *** [m1:2: all] Error 127\n", FB_LOG_TOOL,
	 "make: bison: No such file or directory", "bison"},
	{"cause: a host program's header is this host's",
	 "/wt/src/tools/objtool/include/objtool/elf.h:10:10: fatal error: gelf.h: No such file or "
	 "directory\n",
	 FB_LOG_TOOL,
	 "tools/objtool/include/objtool/elf.h:10:10: fatal error: gelf.h: No such file or "
	 "directory",
	 "libelf-dev"},
	{"cause: the assembler's disk is full",
	 "/tmp/ccjoq1jR.s: Assembler messages:\n/tmp/ccjoq1jR.s: Fatal error: can't fill 256 bytes "
	 "in section .data of sm/d.o: 'No space left on device'\n",
	 FB_LOG_SPACE,
	 "/tmp/ccjoq1jR.s: Fatal error: can't fill 256 bytes in section .data of sm/d.o: 'No space "
	 "left on device'",
	 NULL},
	{"cause: the linker's disk is full", "ld: final link failed: No space left on device\n",
	 FB_LOG_SPACE, "ld: final link failed: No space left on device", NULL},
	{"cause: the compiler's disk is full, whatever failed before",
	 "x.c:1:1: error: y\nd.c:1:1: fatal error: error closing /tmp/ccbnIvRk.s: No space left on "
	 "device\n    1 | char a[100000]={1};\n      | ^~~~\ncompilation terminated.\n",
	 FB_LOG_SPACE,
	 "d.c:1:1: fatal error: error closing /tmp/ccbnIvRk.s: No space left on device", NULL},
	{"cause: words in quoted source are no full disk",
	 "x.c:1:9: error: expected ';'\n    1 | puts(\"a: No space left on device\")\n"
	 "      |         ^\n",
	 FB_LOG_COMMIT, "x.c:1:9: error: expected ';'", NULL},
	{"cause: a killed compiler",
	 "gcc: fatal error: Killed signal terminated program cc1\ncompilation terminated.\n",
	 FB_LOG_KILLED, "gcc: fatal error: Killed signal terminated program cc1", NULL},
	{"cause: a child that make saw killed",
	 "make[2]: *** [scripts/Makefile.build:250: fs/read_write.o] Killed\n", FB_LOG_KILLED,
	 "make[2]: *** [scripts/Makefile.build:250: fs/read_write.o] Killed", NULL},
};

#endif
