/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The door to SQLite: every sample, build, boot, session and event. */
#include "src/store/store.h"

#include <errno.h>
#include <math.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "src/store/schema.h"
#include "src/store/sql.h"
#include "src/util/clock.h"
#include "src/util/file.h"
#include "src/util/json.h"
#include "src/util/util.h"

#define BUSY_TIMEOUT_MS 60000 /* a transaction takes ms; a suspended laptop disk takes seconds */
#define SCHEMA_VERSION	((int64_t)FB_ARRAY_SIZE(fb_store_migrations))

struct fb_store {
	sqlite3 *db;
	char *path;
};

/* Opening and migrating */

/*
 * Nothing is written before this check: another program's database must stay as it is.
 * A file without any table is new, or was left so by a crash in fb_store_open().
 */
static int check_identity(sqlite3 *db, struct fb_error *err)
{
	int64_t id, version, nr_tables;

	if (fb_sql_int(db, "PRAGMA application_id", &id, err) < 0 ||
	    fb_sql_int(db, "PRAGMA user_version", &version, err) < 0 ||
	    fb_sql_int(db, "SELECT count(*) FROM sqlite_schema", &nr_tables, err) < 0)
		return -1;
	if (nr_tables == 0 && version == 0)
		return 0;
	if (id != FB_STORE_APPLICATION_ID)
		return fb_error_set(err, FB_ERROR_STORE, "this is the database of another program");
	if (version < 0)
		return fb_error_set(err, FB_ERROR_STORE, "the store is damaged: its schema is %lld",
				    (long long)version);
	if (version > SCHEMA_VERSION)
		return fb_error_set(err, FB_ERROR_STORE,
				    "written by a newer firstbad"
				    " (schema %lld, this one knows %lld)",
				    (long long)version, (long long)SCHEMA_VERSION);
	return 0;
}

/* Three reads of one moment: another process may be making the tables right now. */
static int check_in_snapshot(sqlite3 *db, struct fb_error *err)
{
	FB_CLEANUP(fb_sql_txn_end) struct fb_sql_txn txn = {0};

	return fb_sql_begin(&txn, db, false, err) < 0 ? -1 : check_identity(db, err);
}

/* The change to WAL needs the file for itself for a moment and does not wait for it. */
static int set_wal(sqlite3 *db, struct fb_error *err)
{
	int64_t give_up_ns = fb_clock_mono_ns() + BUSY_TIMEOUT_MS * FB_NS_PER_MS;
	int rc;

	for (;;) {
		rc = sqlite3_exec(db, "PRAGMA journal_mode = WAL", NULL, NULL, NULL);
		if ((rc & 0xff) != SQLITE_BUSY || fb_clock_mono_ns() > give_up_ns)
			return rc == SQLITE_OK ? 0 : fb_sql_error(db, rc, err);
		nanosleep(&(struct timespec){.tv_nsec = 5 * FB_NS_PER_MS}, NULL);
	}
}

static int migrate(sqlite3 *db, struct fb_error *err)
{
	FB_CLEANUP(fb_sql_txn_end) struct fb_sql_txn txn = {0};
	char pragma[80];
	int64_t version;

	if (fb_sql_int(db, "PRAGMA user_version", &version, err) < 0)
		return -1;
	if (version == SCHEMA_VERSION)
		return 0;
	if (fb_sql_begin(&txn, db, true, err) < 0 ||
	    /* Another process may have done it while this one waited for the lock. */
	    check_identity(db, err) < 0 || fb_sql_int(db, "PRAGMA user_version", &version, err) < 0)
		return -1;
	for (; version < SCHEMA_VERSION; version++)
		if (fb_sql_exec(db, fb_store_migrations[version], err) < 0)
			return fb_error_wrap(err, "migration to schema %lld",
					     (long long)version + 1);
	snprintf(pragma, sizeof(pragma), "PRAGMA application_id = %d; PRAGMA user_version = %lld",
		 FB_STORE_APPLICATION_ID, (long long)version);
	if (fb_sql_exec(db, pragma, err) < 0)
		return -1;
	return fb_sql_commit(&txn, err);
}

static int open_database(const char *path, sqlite3 **db, struct fb_error *err)
{
	int rc = sqlite3_open_v2(path, db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL);

	if (!*db)
		abort();
	if (rc != SQLITE_OK)
		return fb_sql_error(*db, rc, err);
	sqlite3_extended_result_codes(*db, 1);
	sqlite3_busy_timeout(*db, BUSY_TIMEOUT_MS);
	if (check_in_snapshot(*db, err) < 0 || set_wal(*db, err) < 0)
		return -1;
	/* FULL: a transaction that returned survives a power cut; the verdict rests on it. */
	if (fb_sql_exec(*db, "PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON", err) < 0)
		return -1;
	return migrate(*db, err);
}

/* Owned; NULL: the root or the current directory, which are there. */
static char *parent_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return !slash || slash == path ? NULL : fb_xstrndup(path, (size_t)(slash - path));
}

static int make_parent(const char *path, struct fb_error *err)
{
	FB_CLEANUP(fb_freep) char *dir = parent_of(path);

	return dir ? fb_mkdirs(dir, err) : 0;
}

/* Where SQLite cannot make its files it says "no such file" of one that nobody knows. */
static int explain(const char *path, struct fb_error *err)
{
	FB_CLEANUP(fb_freep) char *dir = parent_of(path);

	if (dir && access(dir, W_OK) < 0) {
		int saved = errno;

		fb_error_clear(err);
		fb_error_set_sys(err, saved, "write in '%s'", dir);
	}
	return fb_error_wrap(err, "store '%s'", path);
}

int fb_store_open(const char *path, struct fb_store **ret, struct fb_error *err)
{
	FB_CLEANUP(fb_store_freep) struct fb_store *store = fb_xcalloc(1, sizeof(*store));
	struct stat st;

	/* SQLite takes these two as orders for a temporary database. */
	if (!*path || path[0] == ':')
		return fb_error_set(err, FB_ERROR_USAGE, "store '%s': not a file name", path);
	if (make_parent(path, err) < 0)
		return fb_error_wrap(err, "store '%s'", path);
	if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
		return fb_error_set(err, FB_ERROR_STORE, "store '%s': not a regular file", path);
	if (open_database(path, &store->db, err) < 0)
		return explain(path, err);
	store->path = fb_xstrdup(path);
	*ret = FB_TAKE(store);
	return 0;
}

void fb_store_free(struct fb_store *store)
{
	if (!store)
		return;
	sqlite3_close(store->db);
	free(store->path);
	free(store);
}

void fb_store_freep(struct fb_store **store)
{
	fb_store_free(*store);
}

/* A file without a name takes all that is written, and nobody can read it again. */
static int check_place(const struct fb_store *store, struct fb_error *err)
{
	int moved = 0, rc = sqlite3_file_control(store->db, NULL, SQLITE_FCNTL_HAS_MOVED, &moved);

	if (rc != SQLITE_OK)
		return fb_sql_error(store->db, rc, err);
	if (moved)
		return fb_error_set(err, FB_ERROR_STORE,
				    "store '%s' was removed or replaced while it was in use: "
				    "what was measured is lost",
				    store->path);
	return 0;
}

/* Sessions */

#define SESSION_COLUMNS                                                                            \
	"id, name, kind, repo, workdir, plan, plan_name, args, state, verdict, created_s"

static struct fb_session read_texts(sqlite3_stmt *stmt)
{
	return (struct fb_session){
		.id = sqlite3_column_int64(stmt, 0),
		.name = fb_sql_text(stmt, 1),
		.kind = fb_sql_text(stmt, 2),
		.repo = fb_sql_text(stmt, 3),
		.workdir = fb_sql_text(stmt, 4),
		.plan = fb_sql_text(stmt, 5),
		.plan_name = fb_sql_text(stmt, 6),
		.state = fb_sql_text(stmt, 8),
		.created_s = sqlite3_column_int64(stmt, 10),
	};
}

static int read_session(sqlite3_stmt *stmt, struct fb_session *ret, struct fb_error *err)
{
	struct fb_session s = read_texts(stmt);

	if (fb_sql_json(stmt, 7, &s.args, err) < 0 || fb_sql_json(stmt, 9, &s.verdict, err) < 0) {
		fb_error_wrap(err, "session %s is damaged", s.name);
		fb_session_release(&s);
		return -1;
	}
	*ret = s;
	return 0;
}

void fb_session_release(struct fb_session *session)
{
	free(session->name);
	free(session->kind);
	free(session->repo);
	free(session->workdir);
	free(session->plan);
	free(session->plan_name);
	free(session->state);
	json_decref(session->args);
	json_decref(session->verdict);
	*session = (struct fb_session){0};
}

/* A random name that no session bears yet; the caller holds the write lock. */
static int new_name(sqlite3 *db, char *ret, size_t size, struct fb_error *err)
{
	FB_CLEANUP(fb_sql_freep) sqlite3_stmt *stmt = NULL;
	uint32_t v;
	int rc;

	if (fb_sql_prepare(db, "SELECT 1 FROM session WHERE name = ?", &stmt, err) < 0)
		return -1;
	do {
		if (getrandom(&v, sizeof(v), 0) != sizeof(v))
			return fb_error_set_sys(err, errno, "getrandom");
		snprintf(ret, size, "%08x", v);
		if (fb_sql_bind(stmt, err, "t", ret) < 0)
			return -1;
		rc = fb_sql_step(stmt, err);
	} while (rc == 1);
	return rc;
}

int fb_store_session_add(struct fb_store *store, struct fb_session *session, struct fb_error *err)
{
	FB_CLEANUP(fb_sql_txn_end) struct fb_sql_txn txn = {0};
	int64_t now_s = fb_clock_wall_s(), id;
	char name[16];

	if (fb_sql_begin(&txn, store->db, true, err) < 0 ||
	    new_name(store->db, name, sizeof(name), err) < 0 ||
	    fb_sql_do(store->db, err,
		      "INSERT INTO session (name, kind, repo, workdir, plan, plan_name, args,"
		      " state, verdict, created_s) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
		      "ttttttjtji", name, session->kind, session->repo, session->workdir,
		      session->plan, session->plan_name, session->args,
		      session->state ? session->state : "open", session->verdict, now_s) < 0)
		return fb_error_wrap(err, "begin a session");
	id = sqlite3_last_insert_rowid(store->db);
	if (fb_sql_commit(&txn, err) < 0)
		return fb_error_wrap(err, "begin a session");
	session->id = id;
	session->created_s = now_s;
	free(session->name);
	session->name = fb_xstrdup(name);
	if (!session->state)
		session->state = fb_xstrdup("open");
	return 0;
}

int fb_store_session_find(struct fb_store *store, const char *workdir, const char *name,
			  const char *kind, struct fb_session *ret, struct fb_error *err)
{
	FB_CLEANUP(fb_sql_freep) sqlite3_stmt *stmt = NULL;
	struct fb_session found;
	int rc;

	/* substr() and not LIKE: '%' and '_' in a name are no patterns. */
	if (fb_sql_prepare(store->db,
			   name ? "SELECT " SESSION_COLUMNS " FROM session"
				  " WHERE substr(name, 1, length(?1)) = ?1 AND length(?1) > 0"
				  " AND (?2 IS NULL OR kind = ?2) ORDER BY id LIMIT 2"
				: "SELECT " SESSION_COLUMNS " FROM session"
				  " WHERE workdir = ?1 AND (?2 IS NULL OR kind = ?2)"
				  " ORDER BY id DESC LIMIT 1",
			   &stmt, err) < 0 ||
	    fb_sql_bind(stmt, err, "tt", name ? name : workdir, kind) < 0)
		return -1;
	rc = fb_sql_step(stmt, err);
	if (rc != 1)
		return rc;
	if (read_session(stmt, &found, err) < 0)
		return -1;
	rc = fb_sql_step(stmt, err);
	if (rc == 1)
		fb_error_set(err, FB_ERROR_USAGE,
			     "'%.64s' is the beginning of several session names", name);
	if (rc != 0) {
		fb_session_release(&found);
		return -1;
	}
	*ret = found;
	return 1;
}

int fb_store_session_list(struct fb_store *store, struct fb_session **ret, size_t *ret_nr,
			  struct fb_error *err)
{
	FB_CLEANUP(fb_sql_freep) sqlite3_stmt *stmt = NULL;
	struct fb_session *list = NULL;
	size_t nr = 0, cap = 0;
	int rc;

	if (fb_sql_prepare(store->db, "SELECT " SESSION_COLUMNS " FROM session ORDER BY id DESC",
			   &stmt, err) < 0)
		return -1;
	while ((rc = fb_sql_step(stmt, err)) == 1) {
		struct fb_error damage = FB_ERROR_INIT;

		FB_GROW(list, nr, cap);
		/* One that is damaged hides none of the others. */
		if (read_session(stmt, &list[nr], &damage) < 0) {
			list[nr] = read_texts(stmt);
			free(list[nr].state);
			list[nr].state = fb_xstrdup("damaged");
		}
		nr++;
	}
	if (rc < 0) {
		while (nr)
			fb_session_release(&list[--nr]);
		free(list);
		return -1;
	}
	*ret = list;
	*ret_nr = nr;
	return 0;
}

int fb_store_session_drop(struct fb_store *store, int64_t id, struct fb_error *err)
{
	return fb_sql_do(store->db, err,
			 "DELETE FROM session WHERE id = ?1"
			 " AND NOT EXISTS (SELECT 1 FROM event WHERE session = ?1)"
			 " AND NOT EXISTS (SELECT 1 FROM boot WHERE session = ?1)",
			 "i", id);
}

/* One row must have changed: a session that is not there is an error, not a no-op. */
static int changed_one(struct fb_store *store, int64_t id, struct fb_error *err)
{
	if (sqlite3_changes(store->db) == 1)
		return 0;
	return fb_error_set(err, FB_ERROR_STORE, "no session %lld in the store", (long long)id);
}

int fb_store_session_end(struct fb_store *store, int64_t id, json_t *verdict, struct fb_error *err)
{
	if (fb_sql_do(store->db, err, "UPDATE session SET state = 'done', verdict = ? WHERE id = ?",
		      "ji", verdict, id) < 0)
		return fb_error_wrap(err, "store a verdict");
	return changed_one(store, id, err) < 0 ? -1 : check_place(store, err);
}

/* Events */

int fb_store_event_add(struct fb_store *store, int64_t session, const char *kind, json_t *data,
		       struct fb_error *err)
{
	/* One statement is one transaction; the number is chosen under its write lock. */
	if (fb_sql_do(store->db, err,
		      "INSERT INTO event (session, seq, time_s, kind, data)"
		      " SELECT ?1, coalesce(max(seq) + 1, 0), ?2, ?3, ?4"
		      " FROM event WHERE session = ?1",
		      "iitj", session, fb_clock_wall_s(), kind, data) < 0)
		return fb_error_wrap(err, "store an event");
	return 0;
}

int fb_store_events(struct fb_store *store, int64_t session, json_t **ret, struct fb_error *err)
{
	FB_CLEANUP(fb_sql_freep) sqlite3_stmt *stmt = NULL;
	json_t *log = json_array();
	int rc;

	if (fb_sql_prepare(store->db,
			   "SELECT seq, time_s, kind, data FROM event WHERE session = ?"
			   " ORDER BY seq",
			   &stmt, err) < 0 ||
	    fb_sql_bind(stmt, err, "i", session) < 0) {
		json_decref(log);
		return -1;
	}
	while ((rc = fb_sql_step(stmt, err)) == 1) {
		json_t *data = NULL, *event = json_object();

		rc = fb_sql_json(stmt, 3, &data, err);
		json_object_set_new(event, "seq", json_integer(sqlite3_column_int64(stmt, 0)));
		json_object_set_new(event, "time_s", json_integer(sqlite3_column_int64(stmt, 1)));
		json_object_set_new(event, "kind",
				    json_string((const char *)sqlite3_column_text(stmt, 2)));
		json_object_set_new(event, "data", data ? data : json_null());
		json_array_append_new(log, event);
		if (rc < 0)
			break;
	}
	if (rc < 0) {
		json_decref(log);
		return -1;
	}
	*ret = log;
	return 0;
}

/* Builds */

int fb_store_build_add(struct fb_store *store, const struct fb_store_build *build,
		       struct fb_error *err)
{
	/* A build that is made again (its image fell out of the cache) replaces what was known. */
	if (fb_sql_do(store->db, err,
		      "INSERT INTO build (oid, tree, key, signature, cause, result)"
		      " VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (oid, key) DO UPDATE SET"
		      " tree = excluded.tree, signature = excluded.signature,"
		      " cause = excluded.cause, result = excluded.result",
		      "tttttj", build->commit, build->tree, build->key, build->signature,
		      build->cause, build->result) < 0)
		return fb_error_wrap(err, "store a build");
	return 0;
}

int fb_store_build_get(struct fb_store *store, const char *commit, const char *key,
		       struct fb_store_build *ret, struct fb_error *err)
{
	FB_CLEANUP(fb_sql_freep) sqlite3_stmt *stmt = NULL;
	struct fb_store_build b = {0};
	int rc;

	if (fb_sql_prepare(store->db,
			   "SELECT oid, tree, key, signature, cause, result FROM build"
			   " WHERE oid = ? AND key = ?",
			   &stmt, err) < 0 ||
	    fb_sql_bind(stmt, err, "tt", commit, key) < 0)
		return -1;
	rc = fb_sql_step(stmt, err);
	if (rc != 1)
		return rc;
	if (fb_sql_json(stmt, 5, &b.result, err) < 0)
		return -1;
	b.commit = fb_sql_text(stmt, 0);
	b.tree = fb_sql_text(stmt, 1);
	b.key = fb_sql_text(stmt, 2);
	b.signature = fb_sql_text(stmt, 3);
	b.cause = fb_sql_text(stmt, 4);
	*ret = b;
	return 1;
}

void fb_store_build_release(struct fb_store_build *build)
{
	free(build->commit);
	free(build->tree);
	free(build->key);
	free(build->signature);
	free(build->cause);
	json_decref(build->result);
	*build = (struct fb_store_build){0};
}

/* Boots and samples */

static int add_samples(sqlite3 *db, int64_t boot, const struct fb_store_sample *samples, size_t nr,
		       struct fb_error *err)
{
	FB_CLEANUP(fb_sql_freep) sqlite3_stmt *stmt = NULL;

	if (fb_sql_prepare(db,
			   "INSERT INTO sample (boot, seq, run, cell, version, metric, value)"
			   " VALUES (?, ?, ?, ?, ?, ?, ?)",
			   &stmt, err) < 0)
		return -1;
	for (size_t i = 0; i < nr; i++) {
		const struct fb_store_sample *s = &samples[i];

		/* SQLite would take it for NULL. */
		if (isnan(s->value))
			return fb_error_set(err, FB_ERROR_STORE, "metric '%s' is not a number",
					    s->metric);
		if (fb_sql_bind(stmt, err, "iiititd", boot, (int64_t)i, (int64_t)s->run, s->cell,
				(int64_t)s->version, s->metric, s->value) < 0 ||
		    fb_sql_step(stmt, err) < 0)
			return fb_error_wrap(err, "metric '%s'", s->metric);
	}
	return 0;
}

int fb_store_boot_add(struct fb_store *store, struct fb_store_boot *boot, struct fb_error *err)
{
	FB_CLEANUP(fb_sql_txn_end) struct fb_sql_txn txn = {0};
	int64_t id;

	if (fb_sql_begin(&txn, store->db, true, err) < 0 ||
	    fb_sql_do(store->db, err,
		      "INSERT INTO boot (session, env, signature, oid, seed, \"end\", why,"
		      " started_s, wall_ns, dir, facts) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
		      "itttittiitj", boot->session, boot->env, boot->signature, boot->commit,
		      (int64_t)boot->seed, boot->end, boot->why, boot->started_s, boot->wall_ns,
		      boot->dir, boot->facts) < 0)
		return fb_error_wrap(err, "store a boot");
	id = sqlite3_last_insert_rowid(store->db);
	if (add_samples(store->db, id, boot->samples, boot->nr_samples, err) < 0 ||
	    fb_sql_commit(&txn, err) < 0)
		return fb_error_wrap(err, "store a boot");
	boot->id = id;
	return check_place(store, err);
}

struct boots {
	struct fb_store_boot *boot;
	size_t nr, cap;
};

static void boots_release(struct boots *boots)
{
	fb_store_boots_free(boots->boot, boots->nr);
	*boots = (struct boots){0};
}

static int read_samples(sqlite3_stmt *stmt, struct fb_store_boot *boot, struct fb_error *err)
{
	size_t cap = 0;
	int rc;

	if (fb_sql_bind(stmt, err, "i", boot->id) < 0)
		return -1;
	while ((rc = fb_sql_step(stmt, err)) == 1) {
		FB_GROW(boot->samples, boot->nr_samples, cap);
		boot->samples[boot->nr_samples++] = (struct fb_store_sample){
			.run = (unsigned)sqlite3_column_int64(stmt, 0),
			.cell = fb_sql_text(stmt, 1),
			.version = (unsigned)sqlite3_column_int64(stmt, 2),
			.metric = fb_sql_text(stmt, 3),
			.value = sqlite3_column_double(stmt, 4),
		};
	}
	return rc;
}

/* The boot is in @boots before anything can fail, so that it is released with them. */
static int read_boot(sqlite3_stmt *stmt, sqlite3_stmt *samples, struct boots *boots,
		     struct fb_error *err)
{
	struct fb_store_boot *b;

	FB_GROW(boots->boot, boots->nr, boots->cap);
	b = &boots->boot[boots->nr++];
	*b = (struct fb_store_boot){
		.id = sqlite3_column_int64(stmt, 0),
		.session = sqlite3_column_int64(stmt, 1),
		.env = fb_sql_text(stmt, 2),
		.signature = fb_sql_text(stmt, 3),
		.commit = fb_sql_text(stmt, 4),
		.seed = (uint64_t)sqlite3_column_int64(stmt, 5),
		.end = fb_sql_text(stmt, 6),
		.why = fb_sql_text(stmt, 7),
		.started_s = sqlite3_column_int64(stmt, 8),
		.wall_ns = sqlite3_column_int64(stmt, 9),
		.dir = fb_sql_text(stmt, 10),
	};
	if (fb_sql_json(stmt, 11, &b->facts, err) < 0)
		return -1;
	return read_samples(samples, b, err);
}

int fb_store_boots(struct fb_store *store, const char *env, const char *signature, int64_t session,
		   struct fb_store_boot **ret, size_t *ret_nr, struct fb_error *err)
{
	FB_CLEANUP(fb_sql_txn_end) struct fb_sql_txn txn = {0};
	FB_CLEANUP(boots_release) struct boots boots = {0};
	FB_CLEANUP(fb_sql_freep) sqlite3_stmt *stmt = NULL, *samples = NULL;
	int rc;

	/* One transaction: the boots and their samples are of one moment. */
	if (fb_sql_begin(&txn, store->db, false, err) < 0 ||
	    fb_sql_prepare(store->db,
			   "SELECT id, session, env, signature, oid, seed, \"end\", why, started_s,"
			   " wall_ns, dir, facts FROM boot WHERE env = ?1 AND signature = ?2"
			   " AND (?3 = 0 OR session = ?3) ORDER BY id",
			   &stmt, err) < 0 ||
	    fb_sql_prepare(store->db,
			   "SELECT run, cell, version, metric, value FROM sample WHERE boot = ?"
			   " ORDER BY seq",
			   &samples, err) < 0 ||
	    fb_sql_bind(stmt, err, "tti", env, signature, session) < 0)
		return -1;
	while ((rc = fb_sql_step(stmt, err)) == 1)
		if (read_boot(stmt, samples, &boots, err) < 0)
			return -1;
	if (rc < 0)
		return -1;
	*ret = FB_TAKE(boots.boot);
	*ret_nr = boots.nr;
	boots.nr = 0;
	return 0;
}

void fb_store_boot_release(struct fb_store_boot *boot)
{
	for (size_t i = 0; i < boot->nr_samples; i++) {
		free(boot->samples[i].cell);
		free(boot->samples[i].metric);
	}
	free(boot->samples);
	free(boot->env);
	free(boot->signature);
	free(boot->commit);
	free(boot->end);
	free(boot->why);
	free(boot->dir);
	json_decref(boot->facts);
	*boot = (struct fb_store_boot){0};
}

void fb_store_boots_free(struct fb_store_boot *boots, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		fb_store_boot_release(&boots[i]);
	free(boots);
}
