/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tables, as a list of migrations: entry N takes a database from user_version N to N + 1.
 * An entry that was released is never changed; add one.
 */
#ifndef FB_STORE_SCHEMA_H
#define FB_STORE_SCHEMA_H

/* PRAGMA application_id: tells a store from other programs' databases ("FBad"). */
#define FB_STORE_APPLICATION_ID 0x46426164

static const char *const fb_store_migrations[] = {
	"CREATE TABLE session ("
	"  id INTEGER PRIMARY KEY,"
	"  name TEXT NOT NULL UNIQUE,"
	"  kind TEXT NOT NULL,"
	"  repo TEXT,"
	"  workdir TEXT,"
	"  plan TEXT,"
	"  plan_name TEXT,"
	"  args TEXT,"
	"  state TEXT NOT NULL CHECK (state IN ('open', 'done')),"
	"  verdict TEXT,"
	"  created_s INTEGER NOT NULL"
	") STRICT;"
	"CREATE INDEX session_workdir ON session (workdir, id);"

	"CREATE TABLE event ("
	"  session INTEGER NOT NULL REFERENCES session (id),"
	"  seq INTEGER NOT NULL,"
	"  time_s INTEGER NOT NULL,"
	"  kind TEXT NOT NULL,"
	"  data TEXT,"
	"  PRIMARY KEY (session, seq)"
	") STRICT, WITHOUT ROWID;"

	/* "commit" is a keyword of SQL, hence oid. */
	"CREATE TABLE build ("
	"  oid TEXT NOT NULL,"
	"  tree TEXT NOT NULL,"
	"  key TEXT NOT NULL,"
	"  signature TEXT,"
	"  cause TEXT,"
	"  result TEXT,"
	"  PRIMARY KEY (oid, key)"
	") STRICT, WITHOUT ROWID;"

	/* seed holds the 64 bits of an unsigned number. */
	"CREATE TABLE boot ("
	"  id INTEGER PRIMARY KEY,"
	"  session INTEGER NOT NULL REFERENCES session (id),"
	"  env TEXT NOT NULL,"
	"  signature TEXT NOT NULL,"
	"  oid TEXT NOT NULL,"
	"  seed INTEGER NOT NULL,"
	"  \"end\" TEXT NOT NULL,"
	"  why TEXT,"
	"  started_s INTEGER NOT NULL,"
	"  wall_ns INTEGER NOT NULL,"
	"  dir TEXT,"
	"  facts TEXT"
	") STRICT;"
	"CREATE INDEX boot_image ON boot (env, signature, session, id);"

	/*
	 * value is ANY, not REAL: a REAL column stores whole numbers as integers, and -0.0
	 * would come back as 0.0. ANY keeps the eight bytes (sqlite.org/stricttables.html).
	 */
	"CREATE TABLE sample ("
	"  boot INTEGER NOT NULL REFERENCES boot (id),"
	"  seq INTEGER NOT NULL,"
	"  run INTEGER NOT NULL,"
	"  cell TEXT NOT NULL,"
	"  version INTEGER NOT NULL,"
	"  metric TEXT NOT NULL,"
	"  value ANY NOT NULL CHECK (typeof(value) = 'real'),"
	"  PRIMARY KEY (boot, seq),"
	"  UNIQUE (boot, cell, run, metric)"
	") STRICT, WITHOUT ROWID;",
};

#endif
