/* SPDX-License-Identifier: GPL-2.0-or-later */
/* src/boot without a machine: command lines, parsers of what guests say, the verdict. */
#include "t/test.h"

#include <dlfcn.h>
#include <unistd.h>

#include "src/boot/internal.h"
#include "src/boot/standin.h"
#include "src/util/file.h"
#include "src/util/json.h"
#include "src/util/util.h"

#define HELLO  "{\"ev\":\"hello\",\"agent\":1,\"at_ns\":5,\"release\":\"6.1.0\"}\n"
#define START  "{\"ev\":\"start\",\"cell\":0,\"run\":0,\"at_ns\":9,\"setup_ns\":3}\n"
#define OUT(s) "{\"ev\":\"out\",\"cell\":0,\"run\":0,\"data\":\"" s "\"}\n"
#define END(counters)                                                                              \
	"{\"ev\":\"end\",\"cell\":0,\"run\":0,\"ok\":true,\"stuck\":false,\"why\":\"\","           \
	"\"counters\":{" counters "}}\n"
#define STATUS(ok, status)                                                                         \
	"{\"ev\":\"end\",\"cell\":0,\"run\":0,\"ok\":" ok ",\"stuck\":false,\"why\":\"\","         \
	"\"counters\":{},\"status\":" status "}\n"
#define DONE "{\"ev\":\"done\",\"at_ns\":12}\n"

/* ---- the stream: one row a text of the agent */

struct stream_row {
	const char *name, *in;
	size_t len;	 /* 0: strlen */
	const char *bad; /* part of why the stream is bad; NULL: good */
	size_t runs;
	const char *out; /* of the first run */
	bool done;
};

static const struct stream_row stream_row[] = {
	{"stream_whole_job", HELLO START OUT("a\\n") OUT("b") END("\"x\":1") DONE, 0, NULL, 1,
	 "a\nb", true},
	{"stream_beats_are_ignored", HELLO "{\"ev\":\"beat\"}\n" START END("") DONE, 0, NULL, 1, "",
	 true},
	{"stream_bytes_above_7f_come_back", HELLO START OUT("\xc3\xbf\xc2\x80") END("") DONE, 0,
	 NULL, 1, "\xff\x80", true},
	{"stream_what_was_before_garbage_stays", HELLO START OUT("a") END("") "rubbish\n", 0,
	 "line 5: no JSON", 1, "a", false},
	{"stream_nothing_after_garbage", HELLO "rubbish\n" START OUT("a") END("") DONE, 0,
	 "line 2: no JSON", 0, NULL, false},
	{"stream_unfinished_line_is_cut_off", HELLO START OUT("a") "{\"ev\":\"en", 0,
	 "line 4: cut off", 0, NULL, false},
	{"stream_hello_must_be_first", START, 0, "no hello", 0, NULL, false},
	{"stream_second_hello", HELLO HELLO, 0, "second hello", 0, NULL, false},
	{"stream_unknown_agent", "{\"ev\":\"hello\",\"agent\":2,\"at_ns\":5,\"release\":\"6\"}\n",
	 0, "unknown agent", 0, NULL, false},
	{"stream_hello_without_release", "{\"ev\":\"hello\",\"agent\":1,\"at_ns\":5}\n", 0,
	 "unknown agent", 0, NULL, false},
	{"stream_negative_time", "{\"ev\":\"hello\",\"agent\":1,\"at_ns\":-5,\"release\":\"6\"}\n",
	 0, "no valid time", 0, NULL, false},
	{"stream_unknown_event", HELLO "{\"ev\":\"exec\"}\n", 0, "unknown event", 0, NULL, false},
	{"stream_no_event", HELLO "[]\n", 0, "no event", 0, NULL, false},
	{"stream_scalar", HELLO "7\n", 0, "no JSON", 0, NULL, false},
	{"stream_empty_line", HELLO "\n", 0, "no JSON", 0, NULL, false},
	{"stream_nul_bytes", HELLO "\0\0\n", sizeof(HELLO) - 1 + 3, "no JSON", 0, NULL, false},
	{"stream_duplicate_keys", HELLO "{\"ev\":\"beat\",\"ev\":\"done\"}\n", 0, "no JSON", 0,
	 NULL, false},
	{"stream_output_before_its_start", HELLO OUT("a"), 0, "output before its run", 0, NULL,
	 false},
	{"stream_second_start", HELLO START START, 0, "second start", 0, NULL, false},
	{"stream_end_without_start", HELLO END(""), 0, "without a start", 0, NULL, false},
	{"stream_failure_needs_no_start",
	 HELLO "{\"ev\":\"end\",\"cell\":0,\"run\":0,\"ok\":false,\"stuck\":false,\"why\":\"mkfs\","
	       "\"counters\":{}}\n" DONE,
	 0, NULL, 1, "", true},
	{"stream_status_of_a_failure", HELLO START STATUS("false", "7") DONE, 0, NULL, 1, "", true},
	{"stream_status_of_a_success", HELLO START STATUS("true", "0") DONE, 0, NULL, 1, "", true},
	{"stream_status_above_255", HELLO START STATUS("false", "256"), 0, "no valid status", 0,
	 NULL, false},
	{"stream_status_is_text", HELLO START STATUS("false", "\"1\""), 0, "no valid status", 0,
	 NULL, false},
	{"stream_success_with_another_status", HELLO START STATUS("true", "1"), 0,
	 "no valid status", 0, NULL, false},
	{"stream_status_of_what_never_started", HELLO STATUS("false", "1"), 0, "no valid status", 0,
	 NULL, false},
	{"stream_wrong_run",
	 HELLO "{\"ev\":\"start\",\"cell\":0,\"run\":1,\"at_ns\":1,\"setup_ns\":1}\n", 0,
	 "not the run", 0, NULL, false},
	{"stream_run_beyond_the_job", HELLO START END("") START, 0, "not the run", 1, "", false},
	{"stream_cell_is_no_number",
	 HELLO "{\"ev\":\"start\",\"cell\":\"0\",\"run\":0,\"at_ns\":1,\"setup_ns\":1}\n", 0,
	 "not the run", 0, NULL, false},
	{"stream_done_too_early", HELLO START DONE, 0, "done before all", 0, NULL, false},
	{"stream_more_after_done", HELLO START END("") DONE DONE, 0, "more after", 1, "", true},
	{"stream_characters_above_ff", HELLO START OUT("\xe2\x82\xac"), 0, "above U+00FF", 0, NULL,
	 false},
	{"stream_counter_is_text", HELLO START END("\"x\":\"1\""), 0, "bad counter", 0, NULL,
	 false},
	{"stream_counter_name_with_space", HELLO START END("\"a b\":1"), 0, "bad counter", 0, NULL,
	 false},
	{"stream_counter_is_infinite", HELLO START END("\"x\":1e999"), 0, "no JSON", 0, NULL,
	 false},
	{"stream_nothing", "", 0, NULL, 0, NULL, false},
};

static json_t *one_cell(void)
{
	return json_pack("[{s:[s]}]", "measure", "true");
}

static void check_stream(const struct stream_row *row, size_t step)
{
	size_t len = row->len ? row->len : strlen(row->in);
	json_t *cells = one_cell();
	struct fb_stream s;

	fb_stream_init(&s, cells);
	for (size_t i = 0; i < len; i += step)
		fb_stream_feed(&s, row->in + i, len - i < step ? len - i : step);
	fb_stream_end(&s);
	if (row->bad)
		assert_contains(s.bad, row->bad);
	else
		assert_string_equal(s.bad, "");
	assert_int_equal(s.nr_runs, row->runs);
	if (row->out) {
		assert_int_equal(s.runs[0].out_len, strlen(row->out));
		assert_string_equal(s.runs[0].out, row->out);
	}
	assert_int_equal(s.done, row->done);
	fb_stream_release(&s);
	json_decref(cells);
}

static void stream_follows_row(void **state)
{
	/* However the bytes are cut on their way. */
	check_stream(*state, 1);
	check_stream(*state, 7);
	check_stream(*state, 1u << 20);
}

static void stream_survives_any_damage(void **state)
{
	static const char text[] = HELLO START OUT("a\\n") END("\"x\":1.5") DONE;
	json_t *cells = one_cell();

	(void)state;
	/* Each byte replaced by each of some nasty ones: never a crash, never more than a run. */
	for (size_t i = 0; i < sizeof(text) - 1; i++) {
		static const char nasty[] = "\0\n\"\\{}\xff\x80"
					    "9";

		for (size_t k = 0; k < sizeof(nasty) - 1; k++) {
			char buf[sizeof(text)];
			struct fb_stream s;

			memcpy(buf, text, sizeof(text));
			buf[i] = nasty[k];
			fb_stream_init(&s, cells);
			fb_stream_feed(&s, buf, sizeof(text) - 1);
			fb_stream_end(&s);
			assert_true(s.nr_runs <= 1);
			fb_stream_release(&s);
		}
	}
	json_decref(cells);
}

static void stream_limits_line_and_output(void **state)
{
	json_t *cells = one_cell();
	struct fb_stream s;
	size_t n;
	FB_CLEANUP(fb_freep) char *line = fb_xmalloc(FB_STREAM_LINE_MAX + 2);

	(void)state;
	memset(line, 'x', FB_STREAM_LINE_MAX + 1);
	fb_stream_init(&s, cells);
	fb_stream_feed(&s, HELLO, strlen(HELLO));
	fb_stream_feed(&s, line, FB_STREAM_LINE_MAX + 1);
	fb_stream_feed(&s, "\n", 1);
	assert_contains(s.bad, "too long");
	fb_stream_release(&s);

	n = (size_t)sprintf(line, "{\"ev\":\"out\",\"cell\":0,\"run\":0,\"data\":\"");
	memset(line + n, 'y', 60000);
	strcpy(line + n + 60000, "\"}\n");
	fb_stream_init(&s, cells);
	fb_stream_feed(&s, HELLO START, strlen(HELLO START));
	for (size_t i = 0; i < FB_STREAM_OUT_MAX / 60000 + 1 && !s.bad[0]; i++)
		fb_stream_feed(&s, line, strlen(line));
	assert_contains(s.bad, "too much output");
	assert_true(s.out.len <= FB_STREAM_OUT_MAX);
	fb_stream_release(&s);
	json_decref(cells);
}

/* 100 MB of anything: bad at once, and nothing of it is kept. */
static void stream_keeps_nothing_of_a_flood(void **state)
{
	static const char fill[] = {'x', '\0', '\n', '{', '"'};
	const size_t chunk = 1u << 20;
	FB_CLEANUP(fb_freep) char *buf = fb_xmalloc(chunk);
	json_t *cells = one_cell();

	(void)state;
	for (size_t f = 0; f < sizeof(fill); f++) {
		struct fb_stream s;

		memset(buf, fill[f], chunk);
		fb_stream_init(&s, cells);
		fb_stream_feed(&s, HELLO, strlen(HELLO));
		for (int i = 0; i < 100; i++)
			fb_stream_feed(&s, buf, chunk);
		fb_stream_end(&s);
		assert_true(s.bad[0] != '\0');
		assert_true(s.line.cap <= 2 * FB_STREAM_LINE_MAX && s.out.cap == 0);
		assert_int_equal(s.nr_runs, 0);
		fb_stream_release(&s);
	}
	json_decref(cells);
}

static void stream_runs_come_in_order(void **state)
{
	json_t *cells = json_pack("[{s:i}, {s:i}]", "runs", 2, "runs", 1);
	static const int order[][2] = {{0, 0}, {0, 1}, {1, 0}};
	struct fb_stream s;

	(void)state;
	fb_stream_init(&s, cells);
	fb_stream_feed(&s, HELLO, strlen(HELLO));
	for (size_t i = 0; i < 3; i++) {
		FB_CLEANUP(fb_freep)
		char *line = fb_xasprintf(
			"{\"ev\":\"start\",\"cell\":%d,\"run\":%d,\"at_ns\":1,\"setup_ns\":%zu}\n"
			"{\"ev\":\"end\",\"cell\":%d,\"run\":%d,\"ok\":true,\"stuck\":false,"
			"\"why\":\"\",\"counters\":{\"a\":%zu}}\n",
			order[i][0], order[i][1], i + 7, order[i][0], order[i][1], i);

		fb_stream_feed(&s, line, strlen(line));
	}
	fb_stream_feed(&s, DONE, strlen(DONE));
	assert_string_equal(s.bad, "");
	assert_true(s.done);
	assert_int_equal(s.nr_runs, 3);
	assert_int_equal(s.runs[1].cell, 0);
	assert_int_equal(s.runs[2].cell, 1);
	assert_int_equal(s.setup_ns, 7); /* the first workload's */
	assert_near(json_real_value(json_object_get(s.runs[2].counters, "a")), 2, 0);
	fb_stream_release(&s);
	json_decref(cells);
}

/* ---- the console: one row a text, as Linux 6.1 prints it */

struct console_row {
	const char *name, *in, *panic, *oops, *warning;
};

static const struct console_row console_row[] = {
	{"console_panic",
	 "[    1.0] x\n[    4.511482] Kernel panic - not syncing: VFS: Unable to "
	 "mount root fs\r\n",
	 "Kernel panic - not syncing: VFS: Unable to mount root fs", "", ""},
	{"console_panic_without_time", "Kernel panic - not syncing: Fatal exception\n",
	 "Kernel panic - not syncing: Fatal exception", "", ""},
	{"console_panic_on_an_unfinished_line", "Kernel panic - not syncing: a",
	 "Kernel panic - not "
	 "syncing: a",
	 "", ""},
	{"console_panic_behind_a_programs_text",
	 "hello wor[    4.511482] Kernel panic - not syncing: a\n", "Kernel panic - not syncing: a",
	 "", ""},
	{"console_null_pointer",
	 "[    2.1] <4>\n[    2.123456] BUG: kernel NULL pointer dereference, address: "
	 "0000000000000000\n"
	 "[    2.123457] Oops: 0002 [#1] PREEMPT SMP\n",
	 "", "BUG: kernel NULL pointer dereference, address: 0000000000000000", ""},
	{"console_caller_prefix",
	 "[    2.123456][    T1] BUG: unable to handle page fault for address: "
	 "ff\n",
	 "", "BUG: unable to handle page fault for address: ff", ""},
	{"console_level_prefix", "<1>[    2.123456] kernel BUG at fs/ext4/inode.c:1!\n", "",
	 "kernel BUG at fs/ext4/inode.c:1!", ""},
	{"console_ud2", "[    2.5] a\n[    2.500000] invalid opcode: 0000 [#1] SMP\n", "",
	 "invalid opcode: 0000 [#1] SMP", ""},
	{"console_soft_lockup",
	 "[   44.000000] watchdog: BUG: soft lockup - CPU#0 stuck for 22s!\n", "",
	 "watchdog: BUG: soft lockup - CPU#0 stuck for 22s!", ""},
	{"console_rcu_stall", "[   44.000000] rcu: INFO: rcu_sched self-detected stall on CPU\n",
	 "", "rcu: INFO: rcu_sched self-detected stall on CPU", ""},
	{"console_hung_task",
	 "[  244.000000] INFO: task dd:55 blocked for more than 120 seconds.\n", "",
	 "INFO: task dd:55 blocked for more than 120 seconds.", ""},
	{"console_warning_is_no_oops",
	 "[    2.500000] WARNING: CPU: 0 PID: 1 at fs/super.c:1 foo+0x1/0x2\n", "", "",
	 "WARNING: CPU: 0 PID: 1 at fs/super.c:1 foo+0x1/0x2"},
	{"console_mention_is_no_report",
	 "[    0.000000] Command line: oops=panic Kernel panic - not syncing BUG: \n"
	 "Run /init with arguments: BUG: x\n[    1.000000] EXT4-fs: see BUG: 17\n",
	 "", "", ""},
	{"console_first_of_each_kind_counts",
	 "[    1.000000] BUG: first\n[    1.000000] BUG: second\n[    2.000000] Kernel panic - not "
	 "syncing: a\n[    2.000000] Kernel panic - not syncing: b\n",
	 "Kernel panic - not syncing: a", "BUG: first", ""},
	{"console_control_bytes_are_made_visible", "BUG: \033[31m\001\xff\n", "", "BUG: ?[31m??",
	 ""},
	{"console_boot_messages_are_healthy",
	 "[    0.000000] Linux version 6.1.170\n[    0.000000] BIOS-provided physical RAM map:\n"
	 "[    0.2] x86/fpu: a\n[    1.000000] Run /init as init process\n",
	 "", "", ""},
};

static void console_follows_row(void **state)
{
	const struct console_row *row = *state;
	static const size_t step[] = {1, 3, 1000};

	for (size_t k = 0; k < FB_ARRAY_SIZE(step); k++) {
		struct fb_console c = {0};
		size_t len = strlen(row->in);

		for (size_t i = 0; i < len; i += step[k])
			fb_console_feed(&c, row->in + i, len - i < step[k] ? len - i : step[k]);
		fb_console_end(&c);
		assert_string_equal(c.panic, row->panic);
		assert_string_equal(c.oops, row->oops);
		assert_string_equal(c.warning, row->warning);
	}
}

static void console_long_lines_are_judged_by_their_start(void **state)
{
	struct fb_console c = {0};

	(void)state;
	fb_console_feed(&c, "BUG: ", 5);
	for (size_t i = 0; i < 100000; i++)
		fb_console_feed(&c, "xyz", 3);
	fb_console_feed(&c, "\nBUG: b\n", 8);
	assert_int_equal(strlen(c.oops), FB_CONSOLE_LINE_MAX - 1);
	assert_string_equal(c.last, "BUG: b");
}

/* ---- QMP, as QEMU 7.2 writes it */

static void qmp_reads_greeting_and_reason(void **state)
{
	static const char text[] =
		"{\"QMP\": {\"version\": {\"qemu\": {\"micro\": 22, \"minor\": 2, \"major\": 7}, "
		"\"package\": \"Debian 1:7.2\"}, \"capabilities\": [\"oob\"]}}\r\n"
		"{\"return\": {}}\r\n"
		"{\"timestamp\": {\"seconds\": 1, \"microseconds\": 2}, \"event\": \"RESET\", "
		"\"data\": {\"guest\": true, \"reason\": \"guest-reset\"}}\r\n"
		"{\"timestamp\": {\"seconds\": 1, \"microseconds\": 2}, \"event\": \"SHUTDOWN\", "
		"\"data\": {\"guest\": true, \"reason\": \"guest-reset\"}}\r\n";
	struct fb_qmp q = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(text) - 1; i++)
		fb_qmp_feed(&q, text + i, 1);
	assert_true(q.greeted);
	assert_false(q.bad);
	assert_string_equal(q.version, "7.2.22");
	assert_string_equal(q.reason, "guest-reset");
	fb_qmp_release(&q);
}

static void qmp_survives_garbage(void **state)
{
	struct fb_qmp q = {0};
	static const char text[] = "\n\r\nhello\n{}\n{\"event\":7}\n[[[[\n";

	(void)state;
	fb_qmp_feed(&q, text, sizeof(text) - 1);
	assert_true(q.bad);
	assert_false(q.greeted);
	for (size_t i = 0; i < 3 * FB_QMP_LINE_MAX; i++)
		fb_qmp_feed(&q, "a", 1);
	assert_true(q.line.len <= FB_QMP_LINE_MAX);
	fb_qmp_release(&q);
}

/* ---- the verdict: one row a way to end */

struct verdict_row {
	const char *name;
	int stop;
	bool exited;
	int status;
	const char *reason, *console, *stream, *log;
	bool disk_full;
	enum fb_end end;
	const char *why;
	bool stopped;
};

#define PANIC "[    2.000000] Kernel panic - not syncing: a\n"
#define OOPS  "[    1.000000] BUG: b\n"

static const struct verdict_row verdict_row[] = {
	{"verdict_all_done", FB_WATCH_ENDED, true, 0, "guest-shutdown", "x\n",
	 HELLO START END("") DONE, NULL, false, FB_END_OK, NULL},
	{"verdict_done_but_never_powered_off", FB_WATCH_DONE, false, 0, "", "x\n",
	 HELLO START END("") DONE, NULL, false, FB_END_OK, NULL},
	{"verdict_done_with_a_warning_is_ok", FB_WATCH_ENDED, true, 0, "guest-shutdown",
	 "[    1.000000] WARNING: w\n", HELLO START END("") DONE, NULL, false, FB_END_OK,
	 "WARNING: w"},
	{"verdict_oops_spoils_what_was_done", FB_WATCH_ENDED, true, 0, "guest-shutdown", OOPS,
	 HELLO START END("") DONE, NULL, false, FB_END_OOPS, "BUG: b"},
	{"verdict_panic_at_power_off", FB_WATCH_ENDED, true, 0, "guest-reset", PANIC,
	 HELLO START END("") DONE, NULL, false, FB_END_PANIC, "syncing: a"},
	{"verdict_panic_wins_over_garbage", FB_WATCH_GARBAGE, false, 0, "", PANIC,
	 HELLO "rubbish\n", NULL, false, FB_END_PANIC, "syncing: a"},
	{"verdict_kernel_older_than_the_guests_programs", FB_WATCH_ENDED, true, 0, "guest-reset",
	 "FATAL: kernel too old\n[    2.0] Kernel panic - not syncing: Attempted to kill init! "
	 "exitcode=0x00007f00\n",
	 "", NULL, false, FB_END_BOOT_FAILED, "need a newer kernel"},
	{"verdict_program_that_says_too_old_later", FB_WATCH_ENDED, true, 0, "guest-reset",
	 "FATAL: kernel too old\n" PANIC, HELLO, NULL, false, FB_END_PANIC, "syncing: a"},
	{"verdict_panic_that_did_not_reboot", FB_WATCH_SILENT, false, 0, "", PANIC, HELLO, NULL,
	 false, FB_END_PANIC, "syncing: a"},
	{"verdict_late_oops_wins_over_silence", FB_WATCH_SILENT, false, 0, "", OOPS, HELLO, NULL,
	 false, FB_END_OOPS, "BUG: b"},
	{"verdict_oops_before_the_agent", FB_WATCH_SILENT, false, 0, "", OOPS, "", NULL, false,
	 FB_END_BOOT_FAILED, "BUG: b"},
	{"verdict_reset_before_the_agent", FB_WATCH_ENDED, true, 0, "guest-reset", "last\n", "",
	 NULL, false, FB_END_BOOT_FAILED, "last console line: last"},
	{"verdict_reset_after_the_agent", FB_WATCH_ENDED, true, 0, "guest-reset", "last\n", HELLO,
	 NULL, false, FB_END_PANIC, "rebooted without"},
	{"verdict_power_off_before_the_agent", FB_WATCH_ENDED, true, 0, "guest-shutdown", "last\n",
	 "", NULL, false, FB_END_BOOT_FAILED, "powered off"},
	{"verdict_power_off_in_the_middle", FB_WATCH_ENDED, true, 0, "guest-shutdown", "last\n",
	 HELLO START "{\"ev\":", NULL, false, FB_END_TEST_FAILED, "cut off"},
	{"verdict_silence_from_the_start", FB_WATCH_SILENT, false, 0, "", "", "", NULL, false,
	 FB_END_BOOT_FAILED, "wrote nothing"},
	{"verdict_silence_later", FB_WATCH_SILENT, false, 0, "", "x\n", HELLO START, NULL, false,
	 FB_END_HANG_SILENT, "no sign of life for 60 s"},
	{"verdict_time_out_before_the_agent", FB_WATCH_TIMEOUT, false, 0, "", "x\n", "", NULL,
	 false, FB_END_BOOT_FAILED, "in time"},
	{"verdict_time_out_later", FB_WATCH_TIMEOUT, false, 0, "", "x\n", HELLO START, NULL, false,
	 FB_END_HANG_NOISY, "not done after 300 s"},
	{"verdict_console_without_end", FB_WATCH_CONSOLE_FULL, false, 0, "", "x\n", HELLO, NULL,
	 false, FB_END_HANG_NOISY, "console output without end"},
	{"verdict_results_without_end", FB_WATCH_RESULTS_FULL, false, 0, "", "x\n", HELLO, NULL,
	 false, FB_END_HANG_NOISY, "results without end"},
	{"verdict_garbage", FB_WATCH_GARBAGE, false, 0, "", "x\n", HELLO "rubbish\n", NULL, false,
	 FB_END_TEST_FAILED, "garbage results: results line 2"},
	{"verdict_agent_gave_up", FB_WATCH_FAILED, false, 0, "", "x\n",
	 HELLO "{\"ev\":\"failed\",\"why\":\"no sysctl\"}\n", NULL, false, FB_END_TEST_FAILED,
	 "no sysctl"},
	{"verdict_agent_gave_up_out_of_memory", FB_WATCH_ENDED, true, 0, "guest-shutdown",
	 "[    1.000000] Out of memory: Killed process 1 (x)\n",
	 HELLO "{\"ev\":\"failed\",\"why\":\"killed\"}\n", NULL, false, FB_END_TEST_FAILED,
	 "killed; Out of memory"},
	{"verdict_stuck_process", FB_WATCH_ENDED, true, 0, "guest-shutdown", "x\n",
	 HELLO START "{\"ev\":\"end\",\"cell\":0,\"run\":0,\"ok\":false,\"stuck\":true,"
		     "\"why\":\"dd: cannot be killed\",\"counters\":{}}\n" DONE,
	 NULL, false, FB_END_HANG_NOISY, "cannot be killed"},
	{"verdict_failed_run", FB_WATCH_ENDED, true, 0, "guest-shutdown", "x\n",
	 HELLO START "{\"ev\":\"end\",\"cell\":0,\"run\":0,\"ok\":false,\"stuck\":false,"
		     "\"why\":\"dd: exit status 1\",\"counters\":{}}\n" DONE,
	 NULL, false, FB_END_TEST_FAILED, "cell 0: dd: exit status 1"},
	{"verdict_qemu_could_not_start", FB_WATCH_ENDED, true, 1, "", "", "", "qemu: bad option\n",
	 false, FB_END_INFRA, "QEMU ended with status 1: qemu: bad option"},
	{"verdict_vmlinux_without_pvh", FB_WATCH_ENDED, true, 1, "", "", "",
	 "qemu: Error loading uncompressed kernel without PVH ELF Note\n", false,
	 FB_END_BOOT_FAILED, "CONFIG_PVH"},
	{"verdict_qemu_was_killed", FB_WATCH_ENDED, false, 9, "", "x\n", HELLO, NULL, false,
	 FB_END_INFRA, "killed"},
	{"verdict_paused_before_the_agent", FB_WATCH_FAILED, false, 0, "", "x\n", "", NULL, false,
	 FB_END_UNUSABLE, "QEMU paused the guest (internal error); last console line: x", true},
	{"verdict_paused_later", FB_WATCH_FAILED, false, 0, "", "x\n", HELLO, NULL, false,
	 FB_END_INFRA, "QEMU paused the guest", true},
	{"verdict_disk_full", FB_WATCH_SILENT, false, 0, "", "x\n", HELLO, NULL, true, FB_END_INFRA,
	 "no space left"},
	{"verdict_disk_full_does_not_matter_after_the_end", FB_WATCH_ENDED, true, 0,
	 "guest-shutdown", "x\n", HELLO START END("") DONE, NULL, true, FB_END_OK, NULL},
};

static void verdict_follows_row(void **state)
{
	const struct verdict_row *row = *state;
	FB_CLEANUP(fb_freep) char *why = NULL;
	struct fb_console c = {0};
	struct fb_qmp q = {0};
	json_t *cells = one_cell();
	struct fb_stream s;
	struct fb_watch w = {.stop = row->stop,
			     .exited = row->exited,
			     .status = row->status,
			     .disk_full = row->disk_full,
			     .qemu_log_line = (char *)row->log,
			     .qmp = &q,
			     .console = &c,
			     .stream = &s,
			     .silence_ns = 60 * FB_NS_PER_S,
			     .timeout_ns = 300 * FB_NS_PER_S};

	snprintf(q.reason, sizeof(q.reason), "%s", row->reason);
	q.stopped = row->stopped;
	fb_console_feed(&c, row->console, strlen(row->console));
	fb_console_end(&c);
	fb_stream_init(&s, cells);
	fb_stream_feed(&s, row->stream, strlen(row->stream));
	fb_stream_end(&s);
	assert_string_equal(fb_end_name(fb_classify(&w, &why)), fb_end_name(row->end));
	if (row->why)
		assert_contains(why ? why : "(nothing)", row->why);
	else
		assert_null(why);
	fb_stream_release(&s);
	json_decref(cells);
}

/* ---- command lines and specs */

static struct fb_boot_spec spec_of(enum fb_machine machine)
{
	return (struct fb_boot_spec){.machine = machine,
				     .vmlinux = fb_xstrdup("/proc/self/exe"),
				     .bundle = fb_xstrdup("/b/bundle-1.cpio"),
				     .memory_b = 1u << 30,
				     .disk_b = 1u << 28,
				     .seed = UINT64_MAX,
				     .timeout_ns = 1,
				     .silence_ns = 2,
				     .cells = one_cell()};
}

static bool has(char **argv, const char *a, const char *b)
{
	for (; argv[0] && argv[1]; argv++)
		if (!strcmp(argv[0], a) && strstr(argv[1], b))
			return true;
	return false;
}

/* A stand-in for QEMU, so that this needs none: only its path is looked up. */
static void fake_qemu(char *dir)
{
	FB_CLEANUP(fb_freep) char *path = NULL;

	assert_non_null(mkdtemp(dir));
	path = fb_xasprintf("%s/" FB_QEMU, dir);
	assert_int_equal(symlink("/bin/true", path), 0);
	setenv("PATH", dir, 1);
}

static void remove_fake(const char *dir, const char *old_path)
{
	struct fb_error err = FB_ERROR_INIT;

	setenv("PATH", old_path, 1);
	assert_ok(fb_remove_tree(dir, &err), &err);
}

static void args_of_the_deterministic_machine(void **state)
{
	FB_CLEANUP(fb_freep) char *old = fb_xstrdup(getenv("PATH"));
	struct fb_boot_spec spec = spec_of(FB_MACHINE_DETERMINISTIC);
	struct fb_error err = FB_ERROR_INIT;
	char dir[] = "/tmp/u-boot-XXXXXX";
	char **argv = NULL;

	(void)state;
	fake_qemu(dir);
	spec.cmdline = fb_xstrdup("quiet extra=1");
	assert_ok(fb_machine_args(&spec, ".", 9, &argv, &err), &err);
	for (char **a = argv; *a; a++)
		assert_null(strcasestr(*a, "virtio"));
	assert_true(has(argv, "-icount", "shift=1,sleep=off"));
	assert_true(has(argv, "-rtc", "base=2026-01-01,clock=vm"));
	assert_true(has(argv, "-seed", "18446744073709551615"));
	assert_true(has(argv, "-cpu", "-rdrand,-rdseed"));
	assert_true(has(argv, "-smp", "1"));
	assert_true(has(argv, "-append", "nokaslr norandmaps"));
	assert_true(has(argv, "-append", " quiet extra=1"));
	assert_true(has(argv, "-chardev", "fd=9"));
	assert_true(has(argv, "-no-reboot", ""));
	assert_false(has(argv, "-netdev", "") || has(argv, "-nic", "") || has(argv, "-device", ""));
	fb_strvp(&argv);
	remove_fake(dir, old);
	fb_boot_spec_release(&spec);
}

static void args_of_tcg_and_kvm(void **state)
{
	FB_CLEANUP(fb_freep) char *old = fb_xstrdup(getenv("PATH"));
	struct fb_error err = FB_ERROR_INIT;
	char dir[] = "/tmp/u-boot-XXXXXX";

	(void)state;
	fake_qemu(dir);
	for (int m = FB_MACHINE_TCG; m <= FB_MACHINE_KVM; m++) {
		struct fb_boot_spec spec = spec_of((enum fb_machine)m);
		char **argv = NULL;

		spec.cpus = 2;
		assert_ok(fb_machine_args(&spec, ".", 9, &argv, &err), &err);
		assert_true(has(argv, "-accel", fb_machine_name((enum fb_machine)m)));
		assert_true(has(argv, "-device", "virtio-blk-pci"));
		assert_true(has(argv, "-smp", "2"));
		assert_false(has(argv, "-icount", ""));
		fb_strvp(&argv);
		fb_boot_spec_release(&spec);
	}
	remove_fake(dir, old);
}

static void args_refuse_what_makes_no_sense(void **state)
{
	struct fb_error err = FB_ERROR_INIT;
	char **argv = NULL;
	struct fb_boot_spec spec = spec_of(FB_MACHINE_DETERMINISTIC);

	(void)state;
	spec.cpus = 2;
	assert_int_equal(fb_machine_args(&spec, ".", 9, &argv, &err), -1);
	assert_error(&err, FB_ERROR_INPUT, "one CPU");
	spec.cpus = 0;
	spec.disk_b = 5;
	assert_int_equal(fb_machine_args(&spec, ".", 9, &argv, &err), -1);
	assert_error(&err, FB_ERROR_INPUT, "MiB");
	spec.disk_b = 0;
	spec.memory_b = 1;
	assert_int_equal(fb_machine_args(&spec, ".", 9, &argv, &err), -1);
	assert_error(&err, FB_ERROR_INPUT, "memory");
	free(spec.vmlinux);
	spec.vmlinux = fb_xstrdup("/dev/null/none/vmlinux");
	assert_int_equal(fb_machine_args(&spec, ".", 9, &argv, &err), -1);
	assert_error(&err, FB_ERROR_INPUT, "/dev/null/none/vmlinux");
	spec.machine = FB_MACHINE_COMMAND;
	assert_int_equal(fb_machine_args(&spec, ".", 9, &argv, &err), -1);
	assert_error(&err, FB_ERROR_INPUT, "no QEMU");
	fb_boot_spec_release(&spec);
}

static void missing_qemu_is_missing(void **state)
{
	FB_CLEANUP(fb_freep) char *old = fb_xstrdup(getenv("PATH"));
	struct fb_boot_spec spec = spec_of(FB_MACHINE_DETERMINISTIC);
	struct fb_error err = FB_ERROR_INIT;
	char **argv = NULL;

	(void)state;
	setenv("PATH", "/dev/null/none", 1);
	assert_int_equal(fb_machine_args(&spec, ".", 9, &argv, &err), -1);
	setenv("PATH", old, 1);
	assert_error(&err, FB_ERROR_MISSING, "qemu-system-x86");
	fb_boot_spec_release(&spec);
}

static void spec_survives_json(void **state)
{
	struct fb_boot_spec spec = spec_of(FB_MACHINE_TCG), again;
	struct fb_error err = FB_ERROR_INIT;
	json_t *a, *b;

	(void)state;
	spec.cpus = 3;
	spec.modules = fb_xstrdup("/m");
	spec.cmdline = fb_xstrdup("a b");
	spec.dir = fb_xstrdup("/d");
	fb_strv_add(&spec.sysctl, "vm.dirty_ratio=10");
	a = fb_boot_spec_to_json(&spec);
	assert_ok(fb_boot_spec_from_json(a, &again, &err), &err);
	assert_true(again.seed == UINT64_MAX);
	b = fb_boot_spec_to_json(&again);
	assert_true(json_equal(a, b));
	json_object_set_new(a, "machine", json_string("abacus"));
	fb_boot_spec_release(&again);
	assert_int_equal(fb_boot_spec_from_json(a, &again, &err), -1);
	assert_error(&err, FB_ERROR_INPUT, "abacus");
	json_object_set_new(b, "what", json_null());
	assert_int_equal(fb_boot_spec_from_json(b, &again, &err), -1);
	assert_error(&err, FB_ERROR_INPUT, "what");
	json_decref(a);
	json_decref(b);
	fb_boot_spec_release(&spec);
}

static void result_survives_json_with_any_bytes(void **state)
{
	struct fb_boot_run *run = fb_xcalloc(1, sizeof(*run));
	struct fb_boot_result r = {.end = FB_END_PANIC,
				   .why = fb_xstrdup("why"),
				   .runs = run,
				   .nr_runs = 1,
				   .wall_ns = 1,
				   .first_line_ns = -1},
			      again;
	struct fb_error err = FB_ERROR_INIT;
	json_t *v;

	(void)state;
	*run = (struct fb_boot_run){.end = FB_END_OK,
				    .out = fb_xmalloc(257),
				    .out_len = 256,
				    .err = fb_xstrdup("e\xff"),
				    .status = 42,
				    .counters = json_pack("{s:f}", "a", 0.1)};
	for (int i = 0; i < 256; i++)
		run->out[i] = (char)i;
	run->out[256] = '\0';
	v = fb_boot_result_to_json(&r);
	assert_ok(fb_boot_result_from_json(v, &again, &err), &err);
	assert_int_equal(again.end, FB_END_PANIC);
	assert_int_equal(again.runs[0].out_len, 256);
	assert_memory_equal(again.runs[0].out, run->out, 257);
	assert_string_equal(again.runs[0].err, "e\xff");
	assert_int_equal(again.runs[0].status, 42);
	assert_near(json_real_value(json_object_get(again.runs[0].counters, "a")), 0.1, 0);
	fb_boot_result_release(&again);
	json_object_set_new(v, "end", json_string("fine"));
	assert_int_equal(fb_boot_result_from_json(v, &again, &err), -1);
	assert_error(&err, FB_ERROR_INPUT, "bad end");
	json_decref(v);
	fb_boot_result_release(&r);
}

static void names_are_found_again(void **state)
{
	(void)state;
	for (int i = 0; i <= FB_MACHINE_COMMAND; i++)
		assert_int_equal(fb_machine_find(fb_machine_name((enum fb_machine)i)), i);
	for (int i = 0; i <= FB_END_UNUSABLE; i++)
		assert_int_equal(fb_end_find(fb_end_name((enum fb_end)i)), i);
	assert_int_equal(fb_machine_find("vax"), -1);
	assert_int_equal(fb_end_find(NULL), -1);
}

static void missing_tool_names_its_package(void **state)
{
	FB_CLEANUP(fb_freep) char *old = fb_xstrdup(getenv("PATH")), *path = NULL;
	const char *const tools[] = {"fs_mark-of-nobody", NULL};
	struct fb_error err = FB_ERROR_INIT;

	(void)state;
	setenv("FIRSTBAD_AGENT", "/bin/true", 1);
	assert_int_equal(fb_bundle_make(tools, "/dev/null/none", &path, &err), -1);
	assert_error(&err, FB_ERROR_MISSING, "no program 'fs_mark-of-nobody'");
	setenv("PATH", "/dev/null/none", 1);
	assert_int_equal(
		fb_bundle_make((const char *const[]){"fio", NULL}, "/dev/null/none", &path, &err),
		-1);
	setenv("PATH", old, 1);
	unsetenv("FIRSTBAD_AGENT");
	assert_error(&err, FB_ERROR_MISSING, "(Debian package fio)");
}

/* ---- stand-ins: of libraries that this very program is linked with */

/* The file of the loaded library that holds @address; owned. */
static char *library_of(const void *address)
{
	Dl_info info;

	assert_true(dladdr(address, &info));
	return realpath(info.dli_fname, NULL);
}

static void standin_has_the_librarys_symbols_and_versions(void **state)
{
	FB_CLEANUP(fb_freep) char *real = library_of((const void *)(uintptr_t)&json_object);
	struct fb_error err = FB_ERROR_INIT;
	struct fb_str s = FB_STR_INIT, again = FB_STR_INIT;
	char path[] = "/tmp/u-boot-XXXXXX";
	int fd = mkstemp(path);
	Dl_info info;
	void *lib, *sym;

	(void)state;
	assert_int_equal(fb_standin_make("/proc/self/exe", real, "libjansson.so.4", &s, &err), 1);
	assert_int_equal(fb_standin_make("/proc/self/exe", real, "libjansson.so.4", &again, &err),
			 1);
	assert_int_equal(s.len, again.len);
	assert_memory_equal(s.buf, again.buf, s.len);
	assert_int_equal(write(fd, s.buf, s.len), s.len);
	close(fd);
	/* glibc's loader takes it, and finds a versioned function of the library in it. */
	lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!lib)
		fail_msg("dlopen: %s", dlerror());
	sym = dlvsym(lib, "json_object", "libjansson.so.4");
	assert_non_null(sym);
	assert_true(dladdr(sym, &info));
	assert_string_equal(info.dli_fname, path);
	assert_memory_equal(sym, "\x0f\x0b", 2); /* ud2 */
	assert_null(dlvsym(lib, "json_object", "no.such.version"));
	assert_null(dlsym(lib, "json_no_such_function"));
	dlclose(lib);
	unlink(path);
	fb_str_release(&s);
	fb_str_release(&again);
}

static void standin_of_data_is_refused(void **state)
{
	FB_CLEANUP(fb_freep) char *real = library_of((const void *)(uintptr_t)&getenv);
	struct fb_error err = FB_ERROR_INIT;
	struct fb_str s = FB_STR_INIT;

	(void)state;
	/* This program uses stderr, which is libc's. */
	assert_int_equal(fb_standin_make("/proc/self/exe", real, "libc.so.6", &s, &err), 0);
	assert_int_equal(s.len, 0);
	fputs("", stderr);
}

static void standin_of_no_library_is_an_error(void **state)
{
	struct fb_error err = FB_ERROR_INIT;
	struct fb_str s = FB_STR_INIT;

	(void)state;
	assert_int_equal(fb_standin_make("/proc/self/exe", "/etc/passwd", "x", &s, &err), -1);
	assert_error(&err, FB_ERROR_INPUT, "/etc/passwd");
	assert_int_equal(fb_standin_make("/dev/null/none", "/etc/passwd", "x", &s, &err), -1);
	assert_error(&err, FB_ERROR_SYSTEM, "/dev/null/none");
}

#define NR_SINGLE 18

int main(void)
{
	struct CMUnitTest tests[FB_ARRAY_SIZE(stream_row) + FB_ARRAY_SIZE(console_row) +
				FB_ARRAY_SIZE(verdict_row) + NR_SINGLE] = {
		cmocka_unit_test(stream_survives_any_damage),
		cmocka_unit_test(stream_limits_line_and_output),
		cmocka_unit_test(stream_keeps_nothing_of_a_flood),
		cmocka_unit_test(stream_runs_come_in_order),
		cmocka_unit_test(console_long_lines_are_judged_by_their_start),
		cmocka_unit_test(qmp_reads_greeting_and_reason),
		cmocka_unit_test(qmp_survives_garbage),
		cmocka_unit_test(args_of_the_deterministic_machine),
		cmocka_unit_test(args_of_tcg_and_kvm),
		cmocka_unit_test(args_refuse_what_makes_no_sense),
		cmocka_unit_test(missing_qemu_is_missing),
		cmocka_unit_test(spec_survives_json),
		cmocka_unit_test(result_survives_json_with_any_bytes),
		cmocka_unit_test(names_are_found_again),
		cmocka_unit_test(missing_tool_names_its_package),
		cmocka_unit_test(standin_has_the_librarys_symbols_and_versions),
		cmocka_unit_test(standin_of_data_is_refused),
		cmocka_unit_test(standin_of_no_library_is_an_error),
	};
	size_t n = 0;

	while (tests[n].name)
		n++;
	for (size_t i = 0; i < FB_ARRAY_SIZE(stream_row); i++)
		tests[n++] = (struct CMUnitTest){stream_row[i].name, stream_follows_row, NULL, NULL,
						 (void *)(uintptr_t)&stream_row[i]};
	for (size_t i = 0; i < FB_ARRAY_SIZE(console_row); i++)
		tests[n++] = (struct CMUnitTest){console_row[i].name, console_follows_row, NULL,
						 NULL, (void *)(uintptr_t)&console_row[i]};
	for (size_t i = 0; i < FB_ARRAY_SIZE(verdict_row); i++)
		tests[n++] = (struct CMUnitTest){verdict_row[i].name, verdict_follows_row, NULL,
						 NULL, (void *)(uintptr_t)&verdict_row[i]};
	return _cmocka_run_group_tests("boot", tests, n, NULL, NULL);
}
