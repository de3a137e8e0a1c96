/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inside of src/store only: statements, transactions and errors of SQLite. */
#ifndef FB_STORE_SQL_H
#define FB_STORE_SQL_H

#include <jansson.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "src/util/error.h"

/**
 * fb_sql_error() - Turn SQLite's last error on @db into ours.
 *
 * A full disk is FB_ERROR_SYSTEM with ENOSPC, whichever of its codes SQLite used for it.
 *
 * Return: -1.
 */
int fb_sql_error(sqlite3 *db, int rc, struct fb_error *err);

/** fb_sql_exec() - Run statements without parameters or results. */
int fb_sql_exec(sqlite3 *db, const char *sql, struct fb_error *err);

/** fb_sql_int() - The integer that a statement without parameters yields. */
int fb_sql_int(sqlite3 *db, const char *sql, int64_t *ret, struct fb_error *err);

/**
 * fb_sql_prepare() - Compile a statement; *ret is finalized by fb_sql_freep().
 */
int fb_sql_prepare(sqlite3 *db, const char *sql, sqlite3_stmt **ret, struct fb_error *err);
void fb_sql_freep(sqlite3_stmt **stmt);

/**
 * fb_sql_bind() - Bind parameters 1, 2, ...; text is borrowed until the next bind.
 * @types: for each a letter: 't' const char * or NULL, 'i' int64_t, 'd' double,
 *	   'j' json_t * or NULL (stored as compact text).
 */
int fb_sql_bind(sqlite3_stmt *stmt, struct fb_error *err, const char *types, ...);

/** fb_sql_step() - Return: 1 a row, 0 done, -1 error. */
int fb_sql_step(sqlite3_stmt *stmt, struct fb_error *err);

/** fb_sql_do() - Prepare, bind as fb_sql_bind(), run to the end. */
int fb_sql_do(sqlite3 *db, struct fb_error *err, const char *sql, const char *types, ...);

/** fb_sql_text() - Column as an owned string; NULL when it is NULL. */
char *fb_sql_text(sqlite3_stmt *stmt, int column);

/** fb_sql_json() - Column as a new reference, or *ret NULL when it is NULL. */
int fb_sql_json(sqlite3_stmt *stmt, int column, json_t **ret, struct fb_error *err);

/*
 * A transaction in a scope: rolled back on leaving it unless fb_sql_commit() succeeded.
 * FB_CLEANUP(fb_sql_txn_end) struct fb_sql_txn txn = { 0 };
 */
struct fb_sql_txn {
	sqlite3 *db; /* NULL: none open */
};

/**
 * fb_sql_begin() - Open a transaction.
 * @write: takes the write lock at once, so that it cannot fail half-way for lack of it.
 */
int fb_sql_begin(struct fb_sql_txn *txn, sqlite3 *db, bool write, struct fb_error *err);
int fb_sql_commit(struct fb_sql_txn *txn, struct fb_error *err);
void fb_sql_txn_end(struct fb_sql_txn *txn);

#endif
