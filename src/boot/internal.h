/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of src/boot share; nobody else includes this. */
#ifndef FB_BOOT_INTERNAL_H
#define FB_BOOT_INTERNAL_H

#include "src/boot/boot.h"
#include "src/boot/console.h"
#include "src/boot/qmp.h"
#include "src/boot/stream.h"
#include "src/util/str.h"

#define FB_QEMU "qemu-system-x86_64"

/* Names in the job directory. */
#define FB_BOOT_CONSOLE	 "console.log"
#define FB_BOOT_RESULTS	 "results.jsonl"
#define FB_BOOT_INITRD	 "initrd.cpio"
#define FB_BOOT_QEMU_LOG "qemu.log"
#define FB_BOOT_DISK	 "disk.img"

/* A kernel that says more than this is ended; a full dmesg with traces has some 100 KB. */
#define FB_CONSOLE_MAX (4u << 20)
/* A run sends 8 MiB at most, up to six bytes each when escaped; usual are some 10 KB. */
#define FB_RESULTS_MAX (128u << 20)

/** fb_job_initrd() - Write @dir/initrd.cpio: the bundle, and behind it the job and modules. */
int fb_job_initrd(const struct fb_boot_spec *spec, const char *dir, struct fb_error *err);

/** fb_job_json() - The job as the agent reads it. @modules: paths in the guest, or NULL. */
json_t *fb_job_json(const struct fb_boot_spec *spec, char *const *modules);

/** fb_agent_path() - The agent's program: $FIRSTBAD_AGENT, the build tree's, the installed one. */
char *fb_agent_path(struct fb_error *err);

/** fb_qemu_version() - "7.2.22", owned; kept after the first call. NULL when QEMU is missing. */
char *fb_qemu_version(void);

/** fb_cpu_model() - What -cpu gets for @machine; NULL for FB_MACHINE_COMMAND. */
const char *fb_cpu_model(enum fb_machine machine);

/* What was seen while a machine ran, and what ended it. */
struct fb_watch {
	enum {
		FB_WATCH_ENDED,	       /* QEMU (or the command) ended by itself */
		FB_WATCH_DONE,	       /* the agent was done; ended after a grace */
		FB_WATCH_SILENT,       /* the silence limit */
		FB_WATCH_TIMEOUT,      /* the time limit of the boot */
		FB_WATCH_CONSOLE_FULL, /* console output without end */
		FB_WATCH_RESULTS_FULL, /* result channel without end */
		FB_WATCH_GARBAGE,      /* the result channel broke the protocol */
		FB_WATCH_FAILED,       /* the agent gave up */
	} stop;
	bool exited; /* .status is QEMU's exit status */
	int status;
	bool disk_full;
	char *qemu_log_line;	  /* last line of QEMU's own output; owned, may be NULL */
	const struct fb_qmp *qmp; /* NULL for the command machine */
	const struct fb_console *console;
	const struct fb_stream *stream;
	int64_t silence_ns, timeout_ns;
};

/**
 * fb_classify() - Tell the failure kinds apart.
 * @ret_why: owned; NULL when there is nothing to say.
 */
enum fb_end fb_classify(const struct fb_watch *watch, char **ret_why);

#endif
