/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The program in the guest: a plain executor of the job that the host wrote.
 *
 * It speaks in JSON lines (src/boot/stream.h has the protocol) on the result channel:
 * the second UART in a machine, a file for the command machine.
 */
#ifndef FB_AGENT_AGENT_H
#define FB_AGENT_AGENT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The command machine's exit status is this plus errno when the host could not keep what a step
 * wrote, or the results: the results end there, with no word on the run that was lost.
 */
#define FB_AGENT_LOST 100

/* Raised when the protocol changes; a bundle carries the agent, so both ends agree. */
#define FB_AGENT_VERSION 1

/* say.c: the result channel. Every function writes whole lines with one write(2) each. */

/** fb_say_open() - Use @path for the results; a terminal is put into raw mode. */
int fb_say_open(const char *path);

/** fb_say_errno() - That of the first line that could not be written whole, or 0. */
int fb_say_errno(void);

/** fb_say() - One line from a JSON object, which is consumed. */
void fb_say(json_t *line);

/**
 * fb_say_bytes() - Send @len bytes in lines of one chunk each.
 * @ev: "out" or "err".
 */
void fb_say_bytes(const char *ev, size_t cell, size_t run, const char *data, size_t len);

/* guest.c: what only PID 1 of a guest does. */

/** fb_guest_mount_all() - The kernel file systems and the places for steps. */
void fb_guest_mount_all(void);

/** fb_guest_load_modules() - Load the job's modules in the given order. */
void fb_guest_load_modules(const json_t *job);

/**
 * fb_guest_sysctls() - Apply a list of "vm.dirty_ratio=10" and the like; an unknown one is an
 * error.
 * @was: gets the list that takes it back, also when there is an error; NULL: not wanted.
 */
int fb_guest_sysctls(const json_t *list, json_t *was, char *why, size_t size);

/** fb_guest_entropy() - Feed and credit the kernel's random pool from @seed. */
void fb_guest_entropy(uint64_t seed);

/** fb_guest_delay() - Wait 0 to 10 ms, in fine steps that depend on @seed only. */
void fb_guest_delay(uint64_t seed);

/** fb_guest_new_disk() - Make a fresh null_blk device, replacing the last one; its path. */
const char *fb_guest_new_disk(uint64_t size_b, char *why, size_t size);

/* step.c: one process at a time. */

#define FB_STEP_KEEP (8u << 20)

struct fb_step_end {
	bool timed_out;
	bool stuck;	  /* not even SIGKILL ended it */
	bool exec_failed; /* .status is errno */
	bool signalled;	  /* .status is the signal */
	int status;
	bool out_cut;		  /* stdout was longer than FB_STEP_KEEP */
	int lost;		  /* errno with which its output could not be kept, or 0 */
	int64_t start_ns, end_ns; /* CLOCK_BOOTTIME */
	double user_s, system_s;
	long vcsw, ivcsw, minflt, majflt;
};

/**
 * fb_step_run() - Run @argv in its own session and wait, saying a beat now and then.
 * @out, @err: files for its output, truncated first. What is longer than FB_STEP_KEEP keeps its
 * beginning and its end, as much again of the lines between that begin with "firstbad:", and a line
 * that tells how much is missing.
 * @dir: working directory.
 * @in_guest: kill every other process afterwards, wherever it went.
 */
void fb_step_run(char *const *argv, const char *dir, const char *out, const char *err,
		 int64_t timeout_ns, bool in_guest, struct fb_step_end *ret);

/** fb_step_open() - Open what a step wrote; -1 when it put something else than a file there. */
int fb_step_open(const char *path);

/** fb_step_why() - Say in one line why @end is a failure; false when it is none. */
bool fb_step_why(const struct fb_step_end *end, const char *what, const char *err_file, char *why,
		 size_t size);

/**
 * fb_step_status() - The end as one number, as a shell says it: the exit status, 126 or 127 for a
 * program that cannot be run or is not there, 128 + N for signal N; -1 when it did not end itself.
 */
int fb_step_status(const struct fb_step_end *end);

/* count.c: counters read around the measured step. */

struct fb_counts {
	unsigned long long blk[17];
	unsigned nr_blk;
	unsigned long long ctxt, intr;
	bool have_stat;
};

/** fb_counts_read() - Read the device's and the system's counters. @disk: "vda", or NULL. */
void fb_counts_read(const char *disk, struct fb_counts *ret);

/** fb_counts_json() - The difference, with the step's own times, as metrics. */
json_t *fb_counts_json(const struct fb_counts *before, const struct fb_counts *after,
		       const struct fb_step_end *step);

/* job.c */

struct fb_agent {
	bool in_guest;
	int64_t start_ns; /* CLOCK_BOOTTIME when the agent began */
	int64_t mkfs_ns;  /* spent in mkfs before the first workload */
	int64_t setup_ns; /* from the agent's start to the first workload, mkfs apart; -1 */
	const char *tmp;  /* captured output, the result file */
	const char *dir;  /* command machine: where steps run */
	int lost;	  /* command machine: errno, see FB_AGENT_LOST; or 0 */
};

/** fb_job_run() - Run all cells; returns when the job is done. */
void fb_job_run(struct fb_agent *agent, const json_t *job);

int64_t fb_agent_now_ns(void);

#endif
