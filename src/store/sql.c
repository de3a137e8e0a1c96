/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Statements, transactions and errors of SQLite. */
#include "src/store/sql.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "src/util/json.h"
#include "src/util/util.h"

int fb_sql_error(sqlite3 *db, int rc, struct fb_error *err)
{
	int sys = sqlite3_system_errno(db);

	switch (rc & 0xff) {
	case SQLITE_FULL:
		return fb_error_set_sys(err, sys == EDQUOT ? EDQUOT : ENOSPC, "database");
	case SQLITE_IOERR:
	case SQLITE_CANTOPEN:
		/* The shared-memory file and a new journal report a full disk this way. */
		if (sys)
			return fb_error_set_sys(err, sys, "database");
		break;
	case SQLITE_BUSY:
		return fb_error_set(err, FB_ERROR_STORE,
				    "database is locked by another process for too long");
	case SQLITE_NOMEM:
		abort();
	}
	return fb_error_set(err, FB_ERROR_STORE, "%s", sqlite3_errmsg(db));
}

int fb_sql_exec(sqlite3 *db, const char *sql, struct fb_error *err)
{
	int rc = sqlite3_exec(db, sql, NULL, NULL, NULL);

	return rc == SQLITE_OK ? 0 : fb_sql_error(db, rc, err);
}

int fb_sql_int(sqlite3 *db, const char *sql, int64_t *ret, struct fb_error *err)
{
	FB_CLEANUP(fb_sql_freep) sqlite3_stmt *stmt = NULL;
	int rc;

	if (fb_sql_prepare(db, sql, &stmt, err) < 0)
		return -1;
	rc = fb_sql_step(stmt, err);
	if (rc < 0)
		return -1;
	if (rc == 0)
		return fb_error_set(err, FB_ERROR_STORE, "no answer to: %s", sql);
	*ret = sqlite3_column_int64(stmt, 0);
	return 0;
}

int fb_sql_prepare(sqlite3 *db, const char *sql, sqlite3_stmt **ret, struct fb_error *err)
{
	int rc = sqlite3_prepare_v2(db, sql, -1, ret, NULL);

	return rc == SQLITE_OK ? 0 : fb_sql_error(db, rc, err);
}

void fb_sql_freep(sqlite3_stmt **stmt)
{
	sqlite3_finalize(*stmt);
}

static int bind_json(sqlite3_stmt *stmt, int i, const json_t *v)
{
	char *text;

	if (!v)
		return sqlite3_bind_null(stmt, i);
	/* Reals get 17 digits by default: they read back bit for bit. */
	text = json_dumps(v, JSON_COMPACT | JSON_ENCODE_ANY);
	if (!text)
		return SQLITE_MISUSE;
	return sqlite3_bind_text(stmt, i, text, -1, free);
}

static int vbind(sqlite3_stmt *stmt, struct fb_error *err, const char *types, va_list ap)
{
	for (int i = 1; *types; types++, i++) {
		int rc;

		switch (*types) {
		case 't':
			/* A NULL pointer binds NULL. */
			rc = sqlite3_bind_text(stmt, i, va_arg(ap, const char *), -1,
					       SQLITE_STATIC);
			break;
		case 'i':
			rc = sqlite3_bind_int64(stmt, i, va_arg(ap, int64_t));
			break;
		case 'd':
			rc = sqlite3_bind_double(stmt, i, va_arg(ap, double));
			break;
		case 'j':
			rc = bind_json(stmt, i, va_arg(ap, const json_t *));
			if (rc == SQLITE_MISUSE)
				return fb_error_set(err, FB_ERROR_STORE,
						    "a JSON value cannot be written as text");
			break;
		default:
			FB_BUG("unknown type '%c'", *types);
		}
		if (rc != SQLITE_OK)
			return fb_sql_error(sqlite3_db_handle(stmt), rc, err);
	}
	return 0;
}

int fb_sql_bind(sqlite3_stmt *stmt, struct fb_error *err, const char *types, ...)
{
	va_list ap;
	int rc;

	sqlite3_reset(stmt);
	va_start(ap, types);
	rc = vbind(stmt, err, types, ap);
	va_end(ap);
	return rc;
}

int fb_sql_step(sqlite3_stmt *stmt, struct fb_error *err)
{
	int rc = sqlite3_step(stmt);

	if (rc == SQLITE_ROW)
		return 1;
	if (rc == SQLITE_DONE)
		return 0;
	return fb_sql_error(sqlite3_db_handle(stmt), rc, err);
}

int fb_sql_do(sqlite3 *db, struct fb_error *err, const char *sql, const char *types, ...)
{
	FB_CLEANUP(fb_sql_freep) sqlite3_stmt *stmt = NULL;
	va_list ap;
	int rc;

	if (fb_sql_prepare(db, sql, &stmt, err) < 0)
		return -1;
	va_start(ap, types);
	rc = vbind(stmt, err, types, ap);
	va_end(ap);
	while (rc == 0) {
		rc = fb_sql_step(stmt, err);
		if (rc == 0)
			return 0;
		rc = rc < 0 ? -1 : 0;
	}
	return -1;
}

char *fb_sql_text(sqlite3_stmt *stmt, int column)
{
	const char *text = (const char *)sqlite3_column_text(stmt, column);

	return text ? fb_xstrdup(text) : NULL;
}

int fb_sql_json(sqlite3_stmt *stmt, int column, json_t **ret, struct fb_error *err)
{
	const char *text = (const char *)sqlite3_column_text(stmt, column);
	json_t *v = NULL;

	if (text) {
		v = fb_json_parse(text, strlen(text), sqlite3_column_name(stmt, column),
				  JSON_DECODE_ANY, err);
		if (!v)
			return -1;
	}
	*ret = v;
	return 0;
}

int fb_sql_begin(struct fb_sql_txn *txn, sqlite3 *db, bool write, struct fb_error *err)
{
	if (fb_sql_exec(db, write ? "BEGIN IMMEDIATE" : "BEGIN", err) < 0)
		return -1;
	txn->db = db;
	return 0;
}

int fb_sql_commit(struct fb_sql_txn *txn, struct fb_error *err)
{
	if (fb_sql_exec(txn->db, "COMMIT", err) < 0)
		return -1;
	txn->db = NULL;
	return 0;
}

void fb_sql_txn_end(struct fb_sql_txn *txn)
{
	/* SQLite rolls some failures back by itself; the second time is a harmless error. */
	if (txn->db && !sqlite3_get_autocommit(txn->db))
		sqlite3_exec(txn->db, "ROLLBACK", NULL, NULL, NULL);
	txn->db = NULL;
}
