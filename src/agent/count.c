/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counters around the measured step; names as in lkp-tests where it has one. */
#include <stdio.h>
#include <string.h>

#include "src/agent/agent.h"

/* Fields of /sys/block/DEV/stat, Documentation/block/stat.rst. Flushes since 5.5. */
enum {
	READ_IOS,
	READ_MERGES,
	READ_SECTORS,
	READ_TICKS,
	WRITE_IOS,
	WRITE_MERGES,
	WRITE_SECTORS,
	WRITE_TICKS,
	IN_FLIGHT,
	IO_TICKS,
	TIME_IN_QUEUE,
	DISCARD_IOS,
	DISCARD_MERGES,
	DISCARD_SECTORS,
	DISCARD_TICKS,
	FLUSH_IOS,
	FLUSH_TICKS,
	NR_FIELDS
};

void fb_counts_read(const char *disk, struct fb_counts *ret)
{
	char path[128], line[4096];
	FILE *f;

	memset(ret, 0, sizeof(*ret));
	if (!disk)
		return;
	snprintf(path, sizeof(path), "/sys/block/%s/stat", disk);
	f = fopen(path, "re");
	if (f) {
		while (ret->nr_blk < NR_FIELDS && fscanf(f, "%llu", &ret->blk[ret->nr_blk]) == 1)
			ret->nr_blk++;
		fclose(f);
	}
	f = fopen("/proc/stat", "re");
	if (!f)
		return;
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "ctxt %llu", &ret->ctxt) == 1)
			ret->have_stat = true;
		sscanf(line, "intr %llu", &ret->intr);
	}
	fclose(f);
}

static void set(json_t *o, const char *name, double value)
{
	json_object_set_new(o, name, json_real(value));
}

/*
 * add_iostat() - The columns of iostat -x over @s seconds, as sysstat 12 computes them.
 *
 * Sources: write_ext_stat() and write_plain_ext_stat() of its iostat.c, compute_ext_disk_stats() of
 * its rd_stats.c. Sectors are 512 bytes whatever the device. There are no columns for discards, but
 * await, areq-sz and the queue's size count them.
 */
static void add_iostat(json_t *o, const double d[NR_FIELDS], unsigned nr_blk, double s)
{
	double ios = d[READ_IOS] + d[WRITE_IOS] + d[DISCARD_IOS];

	set(o, "iostat.r/s", d[READ_IOS] / s);
	set(o, "iostat.w/s", d[WRITE_IOS] / s);
	set(o, "iostat.rkB/s", d[READ_SECTORS] / 2 / s);
	set(o, "iostat.wkB/s", d[WRITE_SECTORS] / 2 / s);
	set(o, "iostat.rrqm/s", d[READ_MERGES] / s);
	set(o, "iostat.wrqm/s", d[WRITE_MERGES] / s);
	set(o, "iostat.util", d[IO_TICKS] / 1000 / s * 100);
	set(o, "iostat.aqu-sz", d[TIME_IN_QUEUE] / 1000 / s);
	/* Where iostat prints 0 because there were no requests there is no figure here. */
	if (d[READ_IOS] > 0)
		set(o, "iostat.r_await", d[READ_TICKS] / d[READ_IOS]);
	if (d[WRITE_IOS] > 0)
		set(o, "iostat.w_await", d[WRITE_TICKS] / d[WRITE_IOS]);
	if (ios > 0) {
		set(o, "iostat.await", (d[READ_TICKS] + d[WRITE_TICKS] + d[DISCARD_TICKS]) / ios);
		set(o, "iostat.areq-sz",
		    (d[READ_SECTORS] + d[WRITE_SECTORS] + d[DISCARD_SECTORS]) / 2 / ios);
	}
	if (FLUSH_IOS < nr_blk)
		set(o, "iostat.f/s", d[FLUSH_IOS] / s);
	if (FLUSH_TICKS < nr_blk && d[FLUSH_IOS] > 0)
		set(o, "iostat.f_await", d[FLUSH_TICKS] / d[FLUSH_IOS]);
}

json_t *fb_counts_json(const struct fb_counts *before, const struct fb_counts *after,
		       const struct fb_step_end *step)
{
	static const struct {
		const char *name;
		int field;
	} plain[] = {
		{"blk.read_ios", READ_IOS},	    {"blk.read_merges", READ_MERGES},
		{"blk.read_sectors", READ_SECTORS}, {"blk.write_ios", WRITE_IOS},
		{"blk.write_merges", WRITE_MERGES}, {"blk.write_sectors", WRITE_SECTORS},
		{"blk.discard_ios", DISCARD_IOS},   {"blk.flush_ios", FLUSH_IOS},
	};
	double s = (double)(step->end_ns - step->start_ns) / 1e9, d[NR_FIELDS] = {0};
	json_t *o = json_object();

	set(o, "time.elapsed_time", s);
	set(o, "time.user_time", step->user_s);
	set(o, "time.system_time", step->system_s);
	set(o, "time.voluntary_context_switches", (double)step->vcsw);
	set(o, "time.involuntary_context_switches", (double)step->ivcsw);
	set(o, "time.minor_page_faults", (double)step->minflt);
	set(o, "time.major_page_faults", (double)step->majflt);
	if (after->have_stat && before->have_stat && s > 0) {
		set(o, "vmstat.system.cs", (double)(after->ctxt - before->ctxt) / s);
		set(o, "vmstat.system.in", (double)(after->intr - before->intr) / s);
	}
	if (before->nr_blk <= TIME_IN_QUEUE || after->nr_blk != before->nr_blk)
		return o;
	for (unsigned i = 0; i < after->nr_blk; i++)
		d[i] = (double)(after->blk[i] - before->blk[i]);
	for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++)
		if (plain[i].field < (int)after->nr_blk)
			set(o, plain[i].name, d[plain[i].field]);
	if (s > 0)
		add_iostat(o, d, after->nr_blk, s);
	return o;
}
