/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Every metric: unit, good direction, and whether a bisection may follow it unasked.
 *
 * Names are those of lkp-tests, so that readers and scripts know them. Units are what the
 * number really is, also where the name says otherwise: fio.*_bw_MBps is in MiB/s (lkp divides
 * KiB/s by 1024). Where lkp's name and its content disagree by more than a prefix
 * (fio.*_slat_mean_us holds nanoseconds) the name says what it is here: _ns.
 */
#include "src/util/util.h"
#include "testcases/testcase.h"

#define HIGHER	FB_BETTER_HIGHER
#define LOWER	FB_BETTER_LOWER
#define NEITHER FB_BETTER_NEITHER

static const struct fb_metric metrics[] = {
	/* name, unit, better, headline */

	/* /sys/block/DEV/stat around the measured step; the device under test only. */
	{"blk.*", "count", NEITHER, false},
	{"blk.discard_ios", "requests", NEITHER, false},
	{"blk.flush_ios", "requests", NEITHER, false},
	{"blk.read_ios", "requests", NEITHER, false},
	{"blk.read_merges", "requests", NEITHER, false},
	{"blk.read_sectors", "sectors", NEITHER, false},
	{"blk.write_ios", "requests", NEITHER, false},
	{"blk.write_merges", "requests", NEITHER, false},
	{"blk.write_sectors", "sectors", NEITHER, false},

	/* dbench counts in 10^6 bytes. The means of its operations: NTCreateX, Flush, ... */
	{"dbench.latency_*_avg_ms", "ms", LOWER, false},
	{"dbench.max_latency", "ms", LOWER, false},
	{"dbench.throughput_MB/s", "MB/s", HIGHER, true},

	/* Until all is on the disk; until the last write() returned; the time between. */
	{"dd-write.sync_ms", "ms", LOWER, false},
	{"dd-write.throughput_MiB/s", "MiB/s", HIGHER, true},
	{"dd-write.write_MiB/s", "MiB/s", HIGHER, false},
	{"dd-write.writer_fastest_MiB/s", "MiB/s", NEITHER, false},
	{"dd-write.writer_slowest_MiB/s", "MiB/s", HIGHER, false},

	{"fio.read_bw_MBps", "MiB/s", HIGHER, false},
	{"fio.read_clat_50%_ns", "ns", LOWER, false},
	{"fio.read_clat_90%_ns", "ns", LOWER, false},
	{"fio.read_clat_95%_ns", "ns", LOWER, false},
	{"fio.read_clat_99%_ns", "ns", LOWER, false},
	{"fio.read_clat_99.9%_ns", "ns", LOWER, false},
	{"fio.read_clat_mean_ns", "ns", LOWER, false},
	{"fio.read_clat_stddev", "ns", NEITHER, false},
	{"fio.read_iops", "IO/s", HIGHER, true},
	{"fio.read_slat_mean_ns", "ns", LOWER, false},
	{"fio.sync_lat_99%_ns", "ns", LOWER, false},
	{"fio.sync_lat_mean_ns", "ns", LOWER, false},
	{"fio.workload", "IOs", NEITHER, false},
	{"fio.write_bw_MBps", "MiB/s", HIGHER, false},
	{"fio.write_clat_50%_ns", "ns", LOWER, false},
	{"fio.write_clat_90%_ns", "ns", LOWER, false},
	{"fio.write_clat_95%_ns", "ns", LOWER, false},
	{"fio.write_clat_99%_ns", "ns", LOWER, false},
	{"fio.write_clat_99.9%_ns", "ns", LOWER, false},
	{"fio.write_clat_mean_ns", "ns", LOWER, false},
	{"fio.write_clat_stddev", "ns", NEITHER, false},
	{"fio.write_iops", "IO/s", HIGHER, true},
	{"fio.write_slat_mean_ns", "ns", LOWER, false},

	/* Means over the iterations. */
	{"fsmark.app_overhead", "us", LOWER, false},
	{"fsmark.files_per_sec", "files/s", HIGHER, true},

	/* The columns of iostat -x, computed from the same counters. */
	{"iostat.*", "count", NEITHER, false},
	{"iostat.aqu-sz", "requests", NEITHER, false},
	{"iostat.areq-sz", "KiB", NEITHER, false},
	{"iostat.await", "ms", LOWER, false},
	{"iostat.f/s", "requests/s", NEITHER, false},
	{"iostat.f_await", "ms", LOWER, false},
	{"iostat.r/s", "requests/s", NEITHER, false},
	{"iostat.r_await", "ms", LOWER, false},
	{"iostat.rkB/s", "KiB/s", NEITHER, false},
	{"iostat.rrqm/s", "requests/s", NEITHER, false},
	{"iostat.util", "%", NEITHER, false},
	{"iostat.w/s", "requests/s", NEITHER, false},
	{"iostat.w_await", "ms", LOWER, false},
	{"iostat.wkB/s", "KiB/s", NEITHER, false},
	{"iostat.wrqm/s", "requests/s", NEITHER, false},

	/* Time for one sync() after each phase, for a number of files and over all of them. */
	{"sync-latency.create_*_ms", "ms", LOWER, false},
	{"sync-latency.create_total_ms", "ms", LOWER, true},
	{"sync-latency.read_*_ms", "ms", LOWER, false},
	{"sync-latency.read_total_ms", "ms", LOWER, true},
	{"sync-latency.total_ms", "ms", LOWER, true},
	{"sync-latency.unlink_*_ms", "ms", LOWER, false},
	{"sync-latency.unlink_total_ms", "ms", LOWER, true},

	{"sysbench-fileio.fsync_operations/s", "ops/s", HIGHER, false},
	{"sysbench-fileio.latency_95th_ms", "ms", LOWER, false},
	{"sysbench-fileio.latency_avg_ms", "ms", LOWER, false},
	{"sysbench-fileio.latency_max_ms", "ms", LOWER, false},
	{"sysbench-fileio.latency_min_ms", "ms", LOWER, false},
	{"sysbench-fileio.read_bytes_MiB/s", "MiB/s", HIGHER, false},
	{"sysbench-fileio.read_operations/s", "ops/s", HIGHER, false},
	/* Reads and writes, no fsyncs: what sysbench 0.4 prints as "Requests/sec executed". */
	{"sysbench-fileio.requests_per_sec", "requests/s", HIGHER, true},
	/* Only where the number of events was fixed; with a time limit it says nothing. */
	{"sysbench-fileio.total_time_s", "s", LOWER, false},
	{"sysbench-fileio.write_bytes_MiB/s", "MiB/s", HIGHER, false},
	{"sysbench-fileio.write_operations/s", "ops/s", HIGHER, false},

	/* getrusage() and the clock over the measured step, as /usr/bin/time has them. */
	{"time.*", "count", NEITHER, false},
	{"time.elapsed_time", "s", LOWER, false},
	{"time.involuntary_context_switches", "switches", NEITHER, false},
	{"time.major_page_faults", "faults", NEITHER, false},
	{"time.minor_page_faults", "faults", NEITHER, false},
	{"time.system_time", "s", LOWER, false},
	{"time.user_time", "s", LOWER, false},
	{"time.voluntary_context_switches", "switches", NEITHER, false},

	/* Of the whole guest, from /proc/stat. */
	{"vmstat.*", "count", NEITHER, false},
	{"vmstat.system.cs", "switches/s", NEITHER, false},
	{"vmstat.system.in", "interrupts/s", NEITHER, false},
};

const struct fb_metric *fb_metrics(size_t *ret_nr)
{
	*ret_nr = FB_ARRAY_SIZE(metrics);
	return metrics;
}

const char *fb_better_name(enum fb_better better)
{
	switch (better) {
	case FB_BETTER_HIGHER:
		return "higher is better";
	case FB_BETTER_LOWER:
		return "lower is better";
	case FB_BETTER_NEITHER:
		return "neither is better";
	}
	FB_BUG("metric direction %d", (int)better);
}
