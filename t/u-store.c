/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Protects the store: what returned is there, whole and bit for bit, whatever was killed. */
#include "t/test.h"

#include <errno.h>
#include <fcntl.h>
#include <float.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "src/store/store.h"
#include "src/util/file.h"
#include "src/util/util.h"

static char dir[64], path[128];

static int setup(void **state)
{
	snprintf(dir, sizeof(dir), "u-store.XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/a/b/firstbad.db", dir);
	return 0;
}

static int teardown(void **state)
{
	struct fb_error err = FB_ERROR_INIT;

	return fb_remove_tree(dir, &err);
}

static struct fb_store *open_store(void)
{
	struct fb_error err = FB_ERROR_INIT;
	struct fb_store *store;

	assert_ok(fb_store_open(path, &store, &err), &err);
	return store;
}

static int64_t add_session(struct fb_store *store, const char *workdir, const char *kind,
			   char ret_name[16])
{
	struct fb_error err = FB_ERROR_INIT;
	struct fb_session s = {.kind = (char *)kind, .workdir = (char *)workdir};

	assert_ok(fb_store_session_add(store, &s, &err), &err);
	if (ret_name)
		snprintf(ret_name, 16, "%s", s.name);
	free(s.name);
	free(s.state);
	return s.id;
}

/* Sessions */

static void session_comes_back_as_it_was_given(void **state)
{
	struct fb_error err = FB_ERROR_INIT;
	struct fb_store *store = open_store();
	json_t *args = json_pack("{s:s, s:[s,s], s:f}", "bad", "b", "good", "g1", "g2", "x", 0.1);
	struct fb_session in = {.kind = "bisect",
				.repo = "/r/.git",
				.workdir = "/r",
				.plan = "machine: tcg\n# \xc3\xa9 '\"\n",
				.plan_name = "p.yaml",
				.args = args};
	struct fb_session out;

	setenv("FIRSTBAD_TEST_NOW", "1112911993", 1);
	assert_ok(fb_store_session_add(store, &in, &err), &err);
	unsetenv("FIRSTBAD_TEST_NOW");
	assert_true(in.id > 0);
	assert_int_equal(in.created_s, 1112911993);
	assert_int_equal(strspn(in.name, "0123456789abcdef"), strlen(in.name));
	fb_store_free(store);

	store = open_store();
	assert_int_equal(fb_store_session_find(store, "/r", in.name, NULL, &out, &err), 1);
	assert_int_equal(out.id, in.id);
	assert_string_equal(out.name, in.name);
	assert_string_equal(out.kind, "bisect");
	assert_string_equal(out.repo, in.repo);
	assert_string_equal(out.workdir, in.workdir);
	assert_string_equal(out.plan, in.plan);
	assert_string_equal(out.plan_name, in.plan_name);
	assert_true(json_equal(out.args, args));
	assert_string_equal(out.state, "open");
	assert_null(out.verdict);
	assert_int_equal(out.created_s, 1112911993);
	fb_session_release(&out);
	fb_store_free(store);
	json_decref(args);
	free(in.name);
	free(in.state);
}

static void verdict_closes_a_session(void **state)
{
	struct fb_error err = FB_ERROR_INIT;
	struct fb_store *store = open_store();
	json_t *v = json_pack("{s:s}", "kind", "no-regression");
	int64_t id = add_session(store, "/r", "bisect", NULL);
	struct fb_session out;

	assert_ok(fb_store_session_end(store, id, v, &err), &err);
	assert_int_equal(fb_store_session_find(store, "/r", NULL, NULL, &out, &err), 1);
	assert_int_equal(out.id, id);
	assert_string_equal(out.state, "done");
	assert_true(json_equal(out.verdict, v));
	fb_session_release(&out);
	assert_int_equal(fb_store_session_end(store, 999, v, &err), -1);
	assert_error(&err, FB_ERROR_STORE, "no session 999");
	json_decref(v);
	fb_store_free(store);
}

static void newest_session_of_a_worktree_is_found(void **state)
{
	struct fb_error err = FB_ERROR_INIT;
	struct fb_store *store = open_store();
	int64_t first = add_session(store, "/a", "bisect", NULL);
	int64_t measured = add_session(store, "/a", "measure", NULL);
	int64_t other = add_session(store, "/b", "bisect", NULL);
	static const struct {
		const char *workdir, *kind;
		int rc, which;
	} row[] = {
		{"/a", NULL, 1, 1},	 {"/a", "bisect", 1, 0}, {"/b", "bisect", 1, 2},
		{"/b", "measure", 0, 0}, {"/c", NULL, 0, 0},
	};
	int64_t id[] = {first, measured, other};

	for (size_t i = 0; i < FB_ARRAY_SIZE(row); i++) {
		struct fb_session s = {0};

		assert_int_equal(
			fb_store_session_find(store, row[i].workdir, NULL, row[i].kind, &s, &err),
			row[i].rc);
		if (row[i].rc)
			assert_int_equal(s.id, id[row[i].which]);
		fb_session_release(&s);
	}
	fb_store_free(store);
}

static void session_is_found_by_a_unique_prefix_only(void **state)
{
	struct fb_error err = FB_ERROR_INIT;
	struct fb_store *store = open_store();
	struct fb_session s = {0}, *list;
	char name[40][16], prefix[16];
	size_t nr;

	/* 17 names cannot have 17 different first digits. */
	for (size_t i = 0; i < 17; i++)
		add_session(store, "/a", "bisect", name[i]);
	for (size_t i = 0; i < 17; i++) {
		size_t len = 1, nr_same;

		do {
			nr_same = 0;
			for (size_t j = 0; j < 17; j++)
				nr_same += !strncmp(name[i], name[j], len);
			snprintf(prefix, sizeof(prefix), "%.*s", (int)len, name[i]);
			if (nr_same > 1) {
				assert_int_equal(fb_store_session_find(store, "/zzz", prefix, NULL,
								       &s, &err),
						 -1);
				assert_error(&err, FB_ERROR_USAGE, prefix);
			}
			len++;
		} while (nr_same > 1);
		assert_int_equal(fb_store_session_find(store, "/zzz", prefix, NULL, &s, &err), 1);
		assert_string_equal(s.name, name[i]);
		fb_session_release(&s);
		assert_int_equal(fb_store_session_find(store, "/zzz", prefix, "measure", &s, &err),
				 0);
	}
	assert_int_equal(fb_store_session_find(store, "/a", "%", NULL, &s, &err), 0);
	assert_int_equal(fb_store_session_find(store, "/a", "________", NULL, &s, &err), 0);
	assert_int_equal(fb_store_session_find(store, "/a", "", NULL, &s, &err), 0);

	assert_ok(fb_store_session_list(store, &list, &nr, &err), &err);
	assert_int_equal(nr, 17);
	for (size_t i = 0; i < nr; i++) {
		assert_string_equal(list[i].name, name[16 - i]);
		fb_session_release(&list[i]);
	}
	free(list);
	fb_store_free(store);
}

/* Events and builds */

static void events_keep_their_order_and_data(void **state)
{
	struct fb_error err = FB_ERROR_INIT;
	struct fb_store *store = open_store();
	int64_t a = add_session(store, "/a", "bisect", NULL);
	int64_t b = add_session(store, "/b", "bisect", NULL);
	json_t *log;

	for (int i = 0; i < 10; i++) {
		json_t *data = json_pack("{s:i}", "i", i);

		assert_ok(fb_store_event_add(store, i % 2 ? a : b, "note", data, &err), &err);
		json_decref(data);
	}
	assert_ok(fb_store_event_add(store, a, "bare", NULL, &err), &err);
	assert_ok(fb_store_events(store, a, &log, &err), &err);
	assert_int_equal(json_array_size(log), 6);
	for (size_t i = 0; i < 5; i++) {
		json_t *e = json_array_get(log, i);

		assert_int_equal(json_integer_value(json_object_get(e, "seq")), i);
		assert_true(json_integer_value(json_object_get(e, "time_s")) > 0);
		assert_string_equal(json_string_value(json_object_get(e, "kind")), "note");
		assert_int_equal(
			json_integer_value(json_object_get(json_object_get(e, "data"), "i")),
			2 * i + 1);
	}
	assert_true(json_is_null(json_object_get(json_array_get(log, 5), "data")));
	json_decref(log);
	assert_int_equal(fb_store_event_add(store, 99, "note", NULL, &err), -1);
	assert_error(&err, FB_ERROR_STORE, "FOREIGN KEY");
	fb_store_free(store);
}

static void build_is_kept_once_for_commit_and_key(void **state)
{
	struct fb_error err = FB_ERROR_INIT;
	struct fb_store *store = open_store();
	json_t *result = json_pack("{s:i}", "wall", 5);
	struct fb_store_build bad = {
		.commit = "c1", .tree = "t1", .key = "k1", .cause = "fs/x.c:1: error: no"};
	struct fb_store_build good = {
		.commit = "c1", .tree = "t1", .key = "k1", .signature = "s1", .result = result};
	struct fb_store_build out;

	assert_int_equal(fb_store_build_get(store, "c1", "k1", &out, &err), 0);
	assert_ok(fb_store_build_add(store, &bad, &err), &err);
	assert_int_equal(fb_store_build_get(store, "c1", "k1", &out, &err), 1);
	assert_string_equal(out.cause, bad.cause);
	assert_null(out.signature);
	assert_null(out.result);
	fb_store_build_release(&out);
	for (int i = 0; i < 2; i++)
		assert_ok(fb_store_build_add(store, &good, &err), &err);
	assert_int_equal(fb_store_build_get(store, "c1", "k1", &out, &err), 1);
	assert_string_equal(out.commit, "c1");
	assert_string_equal(out.tree, "t1");
	assert_string_equal(out.key, "k1");
	assert_string_equal(out.signature, "s1");
	assert_null(out.cause);
	assert_true(json_equal(out.result, result));
	fb_store_build_release(&out);
	assert_int_equal(fb_store_build_get(store, "c1", "k2", &out, &err), 0);
	json_decref(result);
	fb_store_free(store);
}

/* Boots */

static int add_boot(struct fb_store *store, int64_t session, const char *env, const char *sig,
		    const double *values, size_t nr, struct fb_store_boot *ret,
		    struct fb_error *err)
{
	struct fb_store_sample *samples = fb_xcalloc(nr + 1, sizeof(*samples));
	struct fb_store_boot boot = {.session = session,
				     .env = (char *)env,
				     .signature = (char *)sig,
				     .commit = "c",
				     .seed = UINT64_MAX - 1,
				     .end = "ok",
				     .started_s = 7,
				     .wall_ns = INT64_MAX,
				     .samples = samples,
				     .nr_samples = nr};
	char(*metric)[32] = fb_xcalloc(nr + 1, sizeof(*metric));
	int rc;

	for (size_t i = 0; i < nr; i++) {
		snprintf(metric[i], sizeof(metric[i]), "m%zu", i);
		samples[i] = (struct fb_store_sample){.run = (unsigned)i,
						      .cell = "fs=ext4",
						      .version = 3,
						      .metric = metric[i],
						      .value = values[i]};
	}
	rc = fb_store_boot_add(store, &boot, err);
	free(samples);
	free(metric);
	if (ret)
		*ret = boot;
	return rc;
}

static void values_come_back_bit_for_bit(void **state)
{
	static const double values[] = {0.0,
					-0.0,
					1.0,
					-1.0,
					0.1,
					1.0 / 3,
					3.0,
					1e15,
					DBL_MAX,
					-DBL_MAX,
					DBL_MIN,
					DBL_MIN / 3,
					5e-324,
					-5e-324,
					DBL_EPSILON,
					1.0 + DBL_EPSILON,
					9007199254740993.0,
					0.12345678901234567,
					5.393283846,
					1e300,
					INFINITY};
	struct fb_error err = FB_ERROR_INIT;
	struct fb_store *store = open_store();
	int64_t id = add_session(store, "/a", "measure", NULL);
	struct fb_store_boot in, *out;
	size_t nr;

	assert_ok(add_boot(store, id, "e", "s", values, FB_ARRAY_SIZE(values), &in, &err), &err);
	assert_true(in.id > 0);
	fb_store_free(store);
	store = open_store();
	assert_ok(fb_store_boots(store, "e", "s", id, &out, &nr, &err), &err);
	assert_int_equal(nr, 1);
	assert_int_equal(out->id, in.id);
	assert_int_equal(out->session, id);
	assert_string_equal(out->commit, "c");
	assert_true(out->seed == UINT64_MAX - 1);
	assert_true(out->wall_ns == INT64_MAX);
	assert_int_equal(out->started_s, 7);
	assert_string_equal(out->end, "ok");
	assert_null(out->why);
	assert_null(out->dir);
	assert_null(out->facts);
	assert_int_equal(out->nr_samples, FB_ARRAY_SIZE(values));
	for (size_t i = 0; i < FB_ARRAY_SIZE(values); i++) {
		const struct fb_store_sample *s = &out->samples[i];
		char metric[32];

		snprintf(metric, sizeof(metric), "m%zu", i);
		assert_string_equal(s->metric, metric);
		assert_string_equal(s->cell, "fs=ext4");
		assert_int_equal(s->run, i);
		assert_int_equal(s->version, 3);
		if (memcmp(&s->value, &values[i], sizeof(double)))
			fail_msg("%a came back as %a", values[i], s->value);
	}
	fb_store_boots_free(out, nr);
	fb_store_free(store);
}

static size_t count_boots(struct fb_store *store, const char *env, const char *sig, int64_t session)
{
	struct fb_error err = FB_ERROR_INIT;
	struct fb_store_boot *boots;
	size_t nr;

	assert_ok(fb_store_boots(store, env, sig, session, &boots, &nr, &err), &err);
	for (size_t i = 1; i < nr; i++)
		assert_true(boots[i].id > boots[i - 1].id);
	fb_store_boots_free(boots, nr);
	return nr;
}

static void boots_are_chosen_by_image_environment_and_session(void **state)
{
	struct fb_error err = FB_ERROR_INIT;
	struct fb_store *store = open_store();
	int64_t a = add_session(store, "/a", "bisect", NULL);
	int64_t b = add_session(store, "/b", "bisect", NULL);
	double v = 1;

	for (int i = 0; i < 3; i++) {
		assert_ok(add_boot(store, a, "e1", "s1", &v, 1, NULL, &err), &err);
		assert_ok(add_boot(store, b, "e1", "s1", &v, 1, NULL, &err), &err);
		assert_ok(add_boot(store, a, "e1", "s2", &v, 0, NULL, &err), &err);
		assert_ok(add_boot(store, a, "e2", "s1", &v, 1, NULL, &err), &err);
	}
	assert_int_equal(count_boots(store, "e1", "s1", a), 3);
	assert_int_equal(count_boots(store, "e1", "s1", 0), 6);
	assert_int_equal(count_boots(store, "e1", "s2", 0), 3);
	assert_int_equal(count_boots(store, "e2", "s1", b), 0);
	assert_int_equal(count_boots(store, "e2", "s2", 0), 0);
	fb_store_free(store);
}

static void boot_with_a_wrong_sample_leaves_nothing(void **state)
{
	struct fb_error err = FB_ERROR_INIT;
	struct fb_store *store = open_store();
	int64_t id = add_session(store, "/a", "bisect", NULL);
	double nan[] = {1, 2, NAN};
	struct fb_store_sample twice[2] = {
		{.run = 0, .cell = "c", .metric = "m", .value = 1},
		{.run = 0, .cell = "c", .metric = "m", .value = 2},
	};
	struct fb_store_boot boot = {.session = id,
				     .env = "e",
				     .signature = "s",
				     .commit = "c",
				     .end = "ok",
				     .samples = twice,
				     .nr_samples = 2};

	assert_int_equal(add_boot(store, id, "e", "s", nan, 3, NULL, &err), -1);
	assert_error(&err, FB_ERROR_STORE, "'m2' is not a number");
	assert_int_equal(fb_store_boot_add(store, &boot, &err), -1);
	assert_error(&err, FB_ERROR_STORE, "UNIQUE");
	assert_int_equal(boot.id, 0);
	boot.session = 77;
	boot.nr_samples = 1;
	assert_int_equal(fb_store_boot_add(store, &boot, &err), -1);
	assert_error(&err, FB_ERROR_STORE, "FOREIGN KEY");
	assert_int_equal(count_boots(store, "e", "s", 0), 0);
	/* The connection is usable afterwards. */
	assert_ok(add_boot(store, id, "e", "s", nan, 2, NULL, &err), &err);
	assert_int_equal(count_boots(store, "e", "s", 0), 1);
	fb_store_free(store);
}

/* Crashes and company */

#define NR_SAMPLES 60
#define EXIT_OK	   0

/* A writer: adds boots until @max or death, telling each through @fd once it is stored. */
static void write_boots(int fd, int max)
{
	struct fb_error err = FB_ERROR_INIT;
	struct fb_session s = {.kind = "bisect", .workdir = "/w"};
	struct fb_store *store;
	double values[NR_SAMPLES] = {0};

	if (fb_store_open(path, &store, &err) < 0 || fb_store_session_add(store, &s, &err) < 0)
		goto failed;
	for (int i = 0; i < max; i++) {
		struct fb_store_boot boot;

		if (add_boot(store, s.id, "e", "s", values, NR_SAMPLES, &boot, &err) < 0 ||
		    fb_store_event_add(store, s.id, "boot", NULL, &err) < 0)
			goto failed;
		if (write(fd, &boot.id, sizeof(boot.id)) != sizeof(boot.id))
			_exit(2);
	}
	fb_store_free(store);
	_exit(EXIT_OK);
failed:
	fprintf(stderr, "# writer: %s\n", err.text);
	_exit(1);
}

static pid_t start_writer(int max, int *ret_fd)
{
	int p[2];
	pid_t pid;

	assert_int_equal(pipe(p), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		close(p[0]);
		write_boots(p[1], max);
	}
	close(p[1]);
	*ret_fd = p[0];
	return pid;
}

static void kill_9_leaves_whole_transactions(void **state)
{
	size_t nr_told = 0;

	for (int round = 0; round < 20; round++) {
		struct fb_error err = FB_ERROR_INIT;
		struct fb_store *store;
		struct fb_store_boot *boots;
		int64_t told[4096];
		size_t nr = 0, nr_boots;
		int fd, status;
		pid_t pid = start_writer(INT32_MAX, &fd);

		/* Every moment: from before the database exists to the middle of the writing. */
		if (round >= 6)
			nr = read(fd, &told[0], sizeof(told[0])) > 0;
		nanosleep(&(struct timespec){.tv_nsec = (round * 7919 % 97) * FB_NS_PER_MS / 2},
			  NULL);
		kill(pid, SIGKILL);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFSIGNALED(status));
		while (nr < FB_ARRAY_SIZE(told) && read(fd, &told[nr], sizeof(told[0])) > 0)
			nr++;
		close(fd);
		store = open_store();
		assert_ok(fb_store_boots(store, "e", "s", 0, &boots, &nr_boots, &err), &err);
		for (size_t i = 0; i < nr_boots; i++)
			assert_int_equal(boots[i].nr_samples, NR_SAMPLES);
		nr_told += nr;
		assert_true(nr_boots >= nr_told);
		/* One more than told for each kill, at most. */
		assert_true(nr_boots <= nr_told + (size_t)round + 1);
		for (size_t i = 0, j = 0; i < nr; i++) {
			while (j < nr_boots && boots[j].id != told[i])
				j++;
			if (j == nr_boots)
				fail_msg("boot %lld was told but is lost", (long long)told[i]);
		}
		fb_store_boots_free(boots, nr_boots);
		fb_store_free(store);
	}
	/* Each round from the seventh on waited for one. */
	assert_true(nr_told >= 14);
}

static void processes_write_at_once_and_all_succeed(void **state)
{
	struct fb_error err = FB_ERROR_INIT;
	struct fb_store *store;
	struct fb_session *list;
	pid_t pid[4];
	int fd[4], status;
	size_t nr;

	/* They also make the database at once. */
	for (size_t i = 0; i < 4; i++)
		pid[i] = start_writer(25, &fd[i]);
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(waitpid(pid[i], &status, 0), pid[i]);
		assert_true(WIFEXITED(status));
		assert_int_equal(WEXITSTATUS(status), EXIT_OK);
		close(fd[i]);
	}
	store = open_store();
	assert_int_equal(count_boots(store, "e", "s", 0), 100);
	assert_ok(fb_store_session_list(store, &list, &nr, &err), &err);
	assert_int_equal(nr, 4);
	for (size_t i = 0; i < nr; i++) {
		json_t *log;

		assert_int_equal(count_boots(store, "e", "s", list[i].id), 25);
		assert_ok(fb_store_events(store, list[i].id, &log, &err), &err);
		assert_int_equal(json_array_size(log), 25);
		json_decref(log);
		fb_session_release(&list[i]);
	}
	free(list);
	fb_store_free(store);
}

/* Files that are no store of ours */

static void poke_be32(const char *file, off_t offset, uint32_t v)
{
	unsigned char b[4] = {v >> 24, v >> 16 & 0xff, v >> 8 & 0xff, v & 0xff};
	int fd = open(file, O_WRONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, b, 4, offset), 4);
	close(fd);
}

static void must_not_open(const char *file, enum fb_error_code code, const char *text)
{
	struct fb_error err = FB_ERROR_INIT;
	struct fb_store *store = NULL;

	assert_int_equal(fb_store_open(file, &store, &err), -1);
	assert_null(store);
	assert_error(&err, code, text);
}

static void strange_files_are_refused_and_left_alone(void **state)
{
	struct fb_error err = FB_ERROR_INIT;
	struct fb_str before = FB_STR_INIT, after = FB_STR_INIT;
	char file[128];

	/* user_version and application_id: bytes 60 and 68 (sqlite.org/fileformat.html 1.3). */
	fb_store_free(open_store());
	poke_be32(path, 60, 1000);
	must_not_open(path, FB_ERROR_STORE, "newer firstbad (schema 1000");
	poke_be32(path, 60, UINT32_MAX);
	must_not_open(path, FB_ERROR_STORE, "damaged: its schema is -1");
	poke_be32(path, 60, 1);
	poke_be32(path, 68, 0);
	assert_ok(fb_file_read(path, 1 << 20, &before, &err), &err);
	must_not_open(path, FB_ERROR_STORE, "another program");
	assert_ok(fb_file_read(path, 1 << 20, &after, &err), &err);
	assert_int_equal(before.len, after.len);
	assert_memory_equal(before.buf, after.buf, before.len);
	fb_str_release(&before);
	fb_str_release(&after);

	snprintf(file, sizeof(file), "%s/text", dir);
	assert_ok(fb_file_write(file, "this is not a database, only a text\n", 36, &err), &err);
	must_not_open(file, FB_ERROR_STORE, "not a database");
	must_not_open(file, FB_ERROR_STORE, file);
	snprintf(file, sizeof(file), "%s/text/x.db", dir);
	must_not_open(file, FB_ERROR_SYSTEM, file);
	must_not_open(dir, FB_ERROR_STORE, "not a regular file");
	must_not_open("", FB_ERROR_USAGE, "not a file name");
	must_not_open(":memory:", FB_ERROR_USAGE, "not a file name");

	/* An empty file is what a crash right after open(2) leaves. */
	snprintf(file, sizeof(file), "%s/empty", dir);
	assert_ok(fb_file_write(file, "", 0, &err), &err);
	snprintf(path, sizeof(path), "%s", file);
	fb_store_free(open_store());
}

/* Disk full: in a process of its own, on a small tmpfs that only it sees */

static bool small_disk(const char *at)
{
	return unshare(CLONE_NEWNS) == 0 &&
	       mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
	       mount("none", at, "tmpfs", 0, "size=512k") == 0;
}

static bool can_mount(void)
{
	char at[] = "u-store.XXXXXX";
	int status = -1;
	pid_t pid;

	if (!mkdtemp(at))
		return false;
	fflush(NULL);
	pid = fork();
	if (pid == 0)
		_exit(small_disk(at) ? 0 : 1);
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		status = -1;
	rmdir(at);
	return status == 0;
}

#define CHECK(cond)                                                                                \
	do {                                                                                       \
		if (!(cond)) {                                                                     \
			fprintf(stderr, "# line %d: %s (%s)\n", __LINE__, #cond, err.text);        \
			_exit(1);                                                                  \
		}                                                                                  \
	} while (0)

static void fill_the_disk(void)
{
	struct fb_error err = FB_ERROR_INIT;
	struct fb_session s = {.kind = "bisect", .workdir = "/w"};
	struct fb_store_boot *boots;
	struct fb_store *store;
	double values[NR_SAMPLES] = {0};
	char block[4096] = {0}, fill[160], nowhere[160];
	size_t nr = 0, nr_boots;
	int fd;

	CHECK(small_disk(dir));
	CHECK(fb_store_open(path, &store, &err) == 0);
	CHECK(fb_store_session_add(store, &s, &err) == 0);
	while (add_boot(store, s.id, "e", "s", values, NR_SAMPLES, NULL, &err) == 0)
		CHECK(++nr < 10000);
	CHECK(nr > 3);
	CHECK(err.code == FB_ERROR_SYSTEM && err.sys == ENOSPC);
	fb_error_clear(&err);
	snprintf(fill, sizeof(fill), "%s/fill", dir);
	fd = open(fill, O_WRONLY | O_CREAT, 0600);
	CHECK(fd >= 0);
	while (write(fd, block, sizeof(block)) > 0)
		;
	while (write(fd, block, 1) > 0)
		;
	close(fd);
	/* Not one of the ways to write gets through, and each says why. */
	CHECK(add_boot(store, s.id, "e", "s", values, NR_SAMPLES, NULL, &err) < 0);
	CHECK(err.code == FB_ERROR_SYSTEM && err.sys == ENOSPC);
	fb_error_clear(&err);
	fb_store_free(store);
	store = NULL;
	snprintf(nowhere, sizeof(nowhere), "%s/new/x.db", dir);
	CHECK(fb_store_open(nowhere, &store, &err) < 0);
	CHECK(err.code == FB_ERROR_SYSTEM && err.sys == ENOSPC);
	fb_error_clear(&err);

	/* Room again: everything that was stored is there, and the next boot goes in. */
	CHECK(unlink(fill) == 0);
	CHECK(fb_store_open(path, &store, &err) == 0);
	CHECK(fb_store_boots(store, "e", "s", 0, &boots, &nr_boots, &err) == 0);
	CHECK(nr_boots == nr);
	for (size_t i = 0; i < nr_boots; i++)
		CHECK(boots[i].nr_samples == NR_SAMPLES);
	fb_store_boots_free(boots, nr_boots);
	CHECK(add_boot(store, s.id, "e", "s", values, 1, NULL, &err) == 0);
	fb_store_free(store);
	_exit(EXIT_OK);
}

static void full_disk_is_one_error_and_loses_nothing(void **state)
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0)
		fill_the_disk();
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), EXIT_OK);
}

/* cmocka's skip() counts as a failure under TAP: a skipped claim succeeds and says SKIP. */
static void nothing(void **state)
{
}

int main(void)
{
#define CLAIM(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	struct CMUnitTest tests[] = {
		CLAIM(session_comes_back_as_it_was_given),
		CLAIM(verdict_closes_a_session),
		CLAIM(newest_session_of_a_worktree_is_found),
		CLAIM(session_is_found_by_a_unique_prefix_only),
		CLAIM(events_keep_their_order_and_data),
		CLAIM(build_is_kept_once_for_commit_and_key),
		CLAIM(values_come_back_bit_for_bit),
		CLAIM(boots_are_chosen_by_image_environment_and_session),
		CLAIM(boot_with_a_wrong_sample_leaves_nothing),
		CLAIM(kill_9_leaves_whole_transactions),
		CLAIM(processes_write_at_once_and_all_succeed),
		CLAIM(strange_files_are_refused_and_left_alone),
		CLAIM(full_disk_is_one_error_and_loses_nothing),
	};

	if (!can_mount()) {
		struct CMUnitTest *t = &tests[FB_ARRAY_SIZE(tests) - 1];

		t->name = "full_disk_is_one_error_and_loses_nothing # SKIP needs root for a mount";
		t->test_func = nothing;
	}
	return cmocka_run_group_tests_name("store", tests, NULL, NULL);
}
