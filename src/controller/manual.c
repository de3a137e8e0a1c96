/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The session of a bisection by hand: its events, git's state, and how both are kept in step. */
#include "src/controller/manual.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/controller/manual-log.h"
#include "src/util/json.h"
#include "src/util/util.h"

#define KIND	    "manual"
#define SUBJECT_MAX 200

static const char *const side_names[] = {"old", "new", "skip"};

const char *fb_manual_term(const struct fb_manual *m, enum fb_side side)
{
	static const char *const usual[] = {"good", "bad"};

	if (side == FB_SIDE_SKIP)
		return "skip";
	return m->terms[side] ? m->terms[side] : usual[side];
}

/* --- what was said ------------------------------------------------------------------------- */

static void item_release(struct fb_manual_item *item)
{
	free(item->commits);
	free(item->values);
	free(item->from);
	free(item->log);
}

static int take_side(json_t *data, enum fb_side *ret)
{
	const char *name = fb_json_str(data, "side");

	for (size_t i = 0; name && i < FB_ARRAY_SIZE(side_names); i++)
		if (!strcmp(name, side_names[i])) {
			*ret = (enum fb_side)i;
			return 0;
		}
	return -1;
}

static int take_commits(json_t *data, struct fb_manual_item *item)
{
	json_t *list = json_object_get(data, "commits"), *v;
	size_t i;

	item->commits = fb_xcalloc(json_array_size(list) + 1, sizeof(*item->commits));
	json_array_foreach(list, i, v)
	{
		const char *hex = json_string_value(v);

		if (!hex || strlen(hex) != FB_OID_HEX_SIZE - 1)
			return -1;
		memcpy(item->commits[item->nr_commits++].hex, hex, FB_OID_HEX_SIZE);
	}
	return item->nr_commits ? 0 : -1;
}

static void take_values(json_t *data, struct fb_manual_item *item)
{
	json_t *list = json_object_get(data, "values");
	size_t nr = json_array_size(list);

	item->values = fb_xcalloc(nr + 1, sizeof(*item->values));
	for (size_t i = 0; i < nr; i++)
		item->values[item->nr_values++] = json_number_value(json_array_get(list, i));
}

static void set_terms(struct fb_manual *m, const char *old, const char *new)
{
	free(m->terms[FB_SIDE_OLD]);
	free(m->terms[FB_SIDE_NEW]);
	m->terms[FB_SIDE_OLD] = fb_xstrdup(old);
	m->terms[FB_SIDE_NEW] = fb_xstrdup(new);
}

/* How many items are left when the last one that can be taken back is; 0 when none can. */
static size_t before_last(const struct fb_manual *m)
{
	size_t nr = m->nr;

	while (nr && m->item[nr - 1].kind == FB_MANUAL_NOTE)
		nr--;
	return nr && !m->item[nr - 1].start ? nr - 1 : 0;
}

/* The one way in which an event changes the state. Return: -1 for one that makes no sense. */
static int learn(struct fb_manual *m, const char *kind, json_t *data)
{
	struct fb_manual_item item = {.kind = FB_MANUAL_NOTE};
	const char *log = fb_json_str(data, "log");
	const char *old = fb_json_str(data, "old"), *new = fb_json_str(data, "new");
	const char *from = fb_json_str(data, "from");
	int rc = 0;

	m->nr_events++;
	if (!strcmp(kind, "terms")) {
		if (!old || !new)
			return -1;
		set_terms(m, old, new);
		return 0;
	}
	if (!strcmp(kind, "undo")) {
		size_t keep = before_last(m);

		if (!keep)
			return -1;
		while (m->nr > keep)
			item_release(&m->item[--m->nr]);
		return 0;
	}
	if (!strcmp(kind, "mark") || !strcmp(kind, "weak") || !strcmp(kind, "values")) {
		item.kind = *kind == 'm'   ? FB_MANUAL_MARK
			    : *kind == 'w' ? FB_MANUAL_WEAK
					   : FB_MANUAL_VALUES;
		item.start = json_is_true(json_object_get(data, "start"));
		item.strength = json_number_value(json_object_get(data, "strength"));
		rc = take_side(data, &item.side) < 0 || take_commits(data, &item) < 0 ? -1 : 0;
		take_values(data, &item);
	} else if (strcmp(kind, "note") != 0) {
		rc = -1;
	}
	if (rc < 0 || !log) {
		item_release(&item);
		return -1;
	}
	item.log = fb_xstrdup(log);
	item.from = from ? fb_xstrdup(from) : NULL;
	FB_GROW(m->item, m->nr, m->cap);
	m->item[m->nr++] = item;
	return 0;
}

/* Store first, then learn. Before a session is there (read only) it is learnt alone. */
static int record(struct fb_manual *m, const char *kind, json_t *data_new, struct fb_error *err)
{
	json_auto_t *data = data_new;

	if (m->lock >= 0 && fb_store_event_add(m->store, m->session.id, kind, data, err) < 0)
		return -1;
	if (learn(m, kind, data) < 0)
		FB_BUG("event '%s' that makes no sense", kind);
	return 0;
}

static json_t *said_json(enum fb_side side, const struct fb_oid *commits, size_t nr,
			 const char *log)
{
	json_t *list = json_array();

	for (size_t i = 0; i < nr; i++)
		json_array_append_new(list, json_string(commits[i].hex));
	return json_pack("{s:s, s:o, s:s}", "side", side_names[side], "commits", list, "log", log);
}

static json_t *values_json(const struct fb_oid *commit, const double *values, size_t nr,
			   const char *log)
{
	json_t *data = said_json(FB_SIDE_SKIP, commit, 1, log), *list = json_array();

	for (size_t i = 0; i < nr; i++)
		json_array_append_new(list, json_real(values[i]));
	json_object_set_new(data, "values", list);
	return data;
}

static int subject_of(const struct fb_manual *m, const struct fb_oid *oid, char **ret,
		      struct fb_error *err)
{
	FB_CLEANUP(fb_commit_release) struct fb_commit c = {0};

	if (fb_history_commit(m->history, oid, &c, err) < 0)
		return -1;
	*ret = fb_xstrndup(c.subject, fb_utf8_cut(c.subject, SUBJECT_MAX));
	return 0;
}

static int verdict_lines(const struct fb_manual *m, enum fb_side side, const struct fb_oid *commits,
			 size_t nr, bool comment_only, struct fb_str *out, struct fb_error *err)
{
	for (size_t i = 0; i < nr; i++) {
		FB_CLEANUP(fb_freep) char *subject = NULL;

		if (subject_of(m, &commits[i], &subject, err) < 0)
			return -1;
		fb_log_verdict(fb_manual_term(m, side), &commits[i], subject, comment_only, out);
	}
	return 0;
}

/* --- the hard verdicts as refs --------------------------------------------------------------- */

static bool among(const struct fb_oid *list, size_t nr, const struct fb_oid *oid)
{
	for (size_t i = 0; i < nr; i++)
		if (!strcmp(list[i].hex, oid->hex))
			return true;
	return false;
}

static void add_once(struct fb_oid **list, size_t *nr, const struct fb_oid *oid)
{
	if (among(*list, *nr, oid))
		return;
	*list = fb_xrealloc(*list, *nr + 1, sizeof(**list));
	(*list)[(*nr)++] = *oid;
}

void fb_manual_marks(const struct fb_manual *m, struct fb_manual_marks *ret)
{
	memset(ret, 0, sizeof(*ret));
	for (size_t i = 0; i < m->nr; i++) {
		const struct fb_manual_item *item = &m->item[i];

		if (item->kind != FB_MANUAL_MARK)
			continue;
		for (size_t k = 0; k < item->nr_commits; k++) {
			if (item->side == FB_SIDE_NEW)
				ret->bad = item->commits[k];
			else if (item->side == FB_SIDE_OLD)
				add_once(&ret->good, &ret->nr_good, &item->commits[k]);
			else
				add_once(&ret->skip, &ret->nr_skip, &item->commits[k]);
		}
	}
}

void fb_manual_marks_release(struct fb_manual_marks *marks)
{
	free(marks->good);
	free(marks->skip);
	memset(marks, 0, sizeof(*marks));
}

/* Edits that lead from git's refs to what the items say; names are owned. */
struct edits {
	struct fb_ref_edit *edit;
	size_t nr, cap;
};

static void edits_release(struct edits *e)
{
	for (size_t i = 0; i < e->nr; i++)
		free((char *)e->edit[i].name);
	free(e->edit);
}

static void add_edit(struct edits *e, char *name, const struct fb_oid *to)
{
	FB_GROW(e->edit, e->nr, e->cap);
	e->edit[e->nr++] = (struct fb_ref_edit){name, to};
}

static void edit_set(struct edits *e, const char *prefix, const struct fb_oid *have, size_t nr_have,
		     const struct fb_oid *want, size_t nr_want)
{
	for (size_t i = 0; i < nr_have; i++)
		if (!among(want, nr_want, &have[i]))
			add_edit(e, fb_xasprintf("refs/bisect/%s-%s", prefix, have[i].hex), NULL);
	for (size_t i = 0; i < nr_want; i++)
		if (!among(have, nr_have, &want[i]))
			add_edit(e, fb_xasprintf("refs/bisect/%s-%s", prefix, want[i].hex),
				 &want[i]);
}

static int write_refs(struct fb_manual *m, struct fb_error *err)
{
	FB_CLEANUP(fb_manual_marks_release) struct fb_manual_marks want;
	FB_CLEANUP(edits_release) struct edits e = {0};
	struct fb_gitbisect *git = &m->git;

	fb_manual_marks(m, &want);
	edit_set(&e, fb_manual_term(m, FB_SIDE_OLD), git->good, git->nr_good, want.good,
		 want.nr_good);
	edit_set(&e, "skip", git->skip, git->nr_skip, want.skip, want.nr_skip);
	if (strcmp(git->bad.hex, want.bad.hex) != 0)
		add_edit(&e, fb_xasprintf("refs/bisect/%s", fb_manual_term(m, FB_SIDE_NEW)),
			 want.bad.hex[0] ? &want.bad : NULL);
	if (fb_gitbisect_refs(m->history, e.edit, e.nr, err) < 0)
		return -1;
	git->bad = want.bad;
	free(git->good);
	free(git->skip);
	git->good = FB_TAKE(want.good);
	git->skip = FB_TAKE(want.skip);
	git->nr_good = want.nr_good;
	git->nr_skip = want.nr_skip;
	return 0;
}

static void items_log(const struct fb_manual *m, struct fb_str *out)
{
	for (size_t i = 0; i < m->nr; i++)
		fb_str_add(out, m->item[i].log);
}

void fb_manual_log(const struct fb_manual *m, struct fb_str *out)
{
	if (m->session.name)
		fb_log_head(m->session.name, m->nr_events, out);
	items_log(m, out);
}

/* Refs, then the log that says what they hold. */
static int write_state(struct fb_manual *m, struct fb_error *err)
{
	FB_CLEANUP(fb_str_release) struct fb_str log = FB_STR_INIT;

	if (write_refs(m, err) < 0)
		return -1;
	if (m->terms[0] && (!m->git.terms[0] || strcmp(m->terms[0], m->git.terms[0]) != 0 ||
			    strcmp(m->terms[1], m->git.terms[1]) != 0)) {
		FB_CLEANUP(fb_freep)
		char *text = fb_xasprintf("%s\n%s\n", m->terms[FB_SIDE_NEW], m->terms[FB_SIDE_OLD]);

		if (fb_gitbisect_file(m->history, "BISECT_TERMS", text, err) < 0)
			return -1;
		for (int i = 0; i < 2; i++) {
			free(m->git.terms[i]);
			m->git.terms[i] = fb_xstrdup(m->terms[i]);
		}
	}
	fb_manual_log(m, &log);
	if (m->git.log && !strcmp(m->git.log, fb_str_cstr(&log)))
		return 0;
	if (fb_gitbisect_file(m->history, "BISECT_LOG", fb_str_cstr(&log), err) < 0)
		return -1;
	free(m->git.log);
	m->git.log = fb_str_take(&log);
	return 0;
}

/* --- opening ------------------------------------------------------------------------------- */

/* The state of refs and log when the log was written: that of the first @nr_events events. */
struct ancestor {
	struct fb_manual_marks marks;
	char *log;
};

static void ancestor_release(struct ancestor *a)
{
	fb_manual_marks_release(&a->marks);
	free(a->log);
}

static int load_events(struct fb_manual *m, size_t nr_held, struct ancestor *ret,
		       struct fb_error *err)
{
	json_auto_t *events = NULL;
	json_t *event, *terms = json_object_get(m->session.args, "terms");
	const char *old = json_string_value(json_array_get(terms, FB_SIDE_OLD));
	const char *new = json_string_value(json_array_get(terms, FB_SIDE_NEW));
	bool taken = false;
	size_t i;

	if (old && new)
		set_terms(m, old, new);
	if (fb_store_events(m->store, m->session.id, &events, err) < 0)
		return -1;
	for (i = 0; i <= json_array_size(events); i++) {
		const char *kind;

		if (i == nr_held || (i == json_array_size(events) && !taken)) {
			FB_CLEANUP(fb_str_release) struct fb_str log = FB_STR_INIT;

			taken = true;
			fb_manual_marks(m, &ret->marks);
			items_log(m, &log);
			ret->log = fb_str_take(&log);
		}
		event = json_array_get(events, i);
		kind = fb_json_str(event, "kind");
		if (event && learn(m, kind ? kind : "", json_object_get(event, "data")) < 0)
			return fb_error_set(err, FB_ERROR_STORE, "session %s is damaged, event %zu",
					    m->session.name, i + 1);
	}
	return 0;
}

static void tell(struct fb_manual *m, const char *text)
{
	fb_strv_add(&m->notes, text);
}

/* The words of a line of the log name commits, by id nearly always. */
static int resolve_words(struct fb_manual *m, char *const *words, bool ranges, struct fb_oid **ret,
			 size_t *ret_nr, struct fb_error *err)
{
	FB_CLEANUP(fb_freep) struct fb_oid *list = NULL;
	size_t nr = 0;

	for (; *words; words++) {
		FB_CLEANUP(fb_freep) struct fb_oid *some = NULL;
		size_t nr_some = 1;

		if (ranges) {
			if (fb_gitbisect_revs(m->history, *words, &some, &nr_some, err) < 0)
				return -1;
		} else {
			some = fb_xcalloc(1, sizeof(*some));
			if (fb_history_resolve(m->history, *words, some, err) < 0)
				return -1;
		}
		for (size_t i = 0; i < nr_some; i++)
			add_once(&list, &nr, &some[i]);
	}
	*ret = FB_TAKE(list);
	*ret_nr = nr;
	return 0;
}

static int side_of_word(struct fb_manual *m, const char *word, enum fb_side *ret,
			struct fb_error *err)
{
	return !strcmp(word, "skip") ? (*ret = FB_SIDE_SKIP, 0) : fb_manual_side(m, word, ret, err);
}

/* Verdicts that the line with `git bisect start` gave stand before it as comments. */
static int import_start(struct fb_manual *m, const struct fb_log_entry *e, struct fb_error *err)
{
	char **w = e->words;

	for (; **w; w += 2) {
		struct fb_oid oid;
		enum fb_side side;
		json_t *data;

		if (side_of_word(m, w[0], &side, err) < 0 ||
		    fb_history_resolve(m->history, w[1], &oid, err) < 0)
			return -1;
		data = said_json(side, &oid, 1, "");
		json_object_set_new(data, "start", json_true());
		if (record(m, "mark", data, err) < 0)
			return -1;
	}
	return record(m, "note", json_pack("{s:s}", "log", e->text), err);
}

/* Values that belong to no verdict. */
static int import_values(struct fb_manual *m, const struct fb_log_entry *e, struct fb_error *err)
{
	struct fb_oid oid;

	if (fb_history_resolve(m->history, e->words[0], &oid, err) < 0)
		return -1;
	return record(m, "values", values_json(&oid, e->values, e->nr_values, e->text), err);
}

/* One entry of the log becomes an event; *@i moves on over those that belong to it. */
static int import_entry(struct fb_manual *m, const struct fb_log *log, size_t *i,
			struct fb_error *err)
{
	const struct fb_log_entry *e = &log->entry[*i], *next = e + 1;
	FB_CLEANUP(fb_str_release) struct fb_str text = FB_STR_INIT;
	FB_CLEANUP(fb_freep) struct fb_oid *commits = NULL;
	json_t *data, *values;
	size_t nr = 0;
	enum fb_side side;

	if (e->kind == FB_LOG_NOTE)
		return record(m, "note", json_pack("{s:s}", "log", e->text), err);
	if (e->kind == FB_LOG_START)
		return import_start(m, e, err);
	if (e->kind == FB_LOG_VALUES)
		return import_values(m, e, err);
	if (side_of_word(m, e->words[0], &side, err) < 0 ||
	    resolve_words(m, e->words + 1, side == FB_SIDE_SKIP, &commits, &nr, err) < 0)
		return -1;
	fb_str_add(&text, e->text);
	if (e->kind == FB_LOG_WEAK) {
		data = said_json(side, commits, nr, e->text);
		json_object_set_new(data, "strength", json_real(e->values[0]));
		return record(m, "weak", data, err);
	}
	values = json_array();
	while (*i + 1 < log->nr && next->kind == FB_LOG_VALUES && nr == 1 &&
	       !strcmp(next->words[0], commits[0].hex)) {
		for (size_t k = 0; k < next->nr_values; k++)
			json_array_append_new(values, json_real(next->values[k]));
		fb_str_add(&text, next->text);
		(*i)++;
		next++;
	}
	data = said_json(side, commits, nr, fb_str_cstr(&text));
	json_object_set_new(data, "values", values);
	return record(m, "mark", data, err);
}

/*
 * A last line without its end was cut: "git bisect start" may have had ends, and half an id may be
 * another one's. The refs still have what it said.
 */
static int import(struct fb_manual *m, const char *text, unsigned first_line, struct fb_error *err)
{
	FB_CLEANUP(fb_log_release) struct fb_log log = {0};
	const char *end = strrchr(text, '\n');
	size_t len = end ? (size_t)(end + 1 - text) : 0;
	FB_CLEANUP(fb_freep) char *whole = fb_xstrndup(text, len);

	if (text[len])
		tell(m, "the last line of BISECT_LOG was cut short and is left out");
	if (fb_log_parse(whole, "BISECT_LOG", first_line, false, &log, err) < 0)
		return -1;
	for (size_t i = 0; i < log.nr; i++) {
		unsigned line = log.entry[i].line;

		if (import_entry(m, &log, &i, err) < 0)
			return fb_error_wrap(err, "BISECT_LOG:%u", line);
	}
	return 0;
}

/* A ref that neither the log nor an event knows: git was killed before it wrote its line. */
static int import_ref(struct fb_manual *m, enum fb_side side, const struct fb_oid *oid,
		      struct fb_error *err)
{
	FB_CLEANUP(fb_str_release) struct fb_str text = FB_STR_INIT;

	if (verdict_lines(m, side, oid, 1, false, &text, err) < 0)
		return -1;
	return record(m, "mark", said_json(side, oid, 1, fb_str_cstr(&text)), err);
}

static int merge_set(struct fb_manual *m, enum fb_side side, const struct fb_oid *now,
		     size_t nr_now, const struct fb_oid *then, size_t nr_then,
		     const struct fb_oid *want, size_t nr_want, struct fb_error *err)
{
	for (size_t i = 0; i < nr_now; i++)
		if (!among(want, nr_want, &now[i]) && !among(then, nr_then, &now[i]) &&
		    import_ref(m, side, &now[i], err) < 0)
			return -1;
	for (size_t i = 0; i < nr_then; i++)
		if (among(want, nr_want, &then[i]) && !among(now, nr_now, &then[i])) {
			FB_CLEANUP(fb_freep)
			char *text = fb_xasprintf("refs/bisect/%s-%s was gone and is put back; "
						  "'firstbad bisect undo' takes back a verdict",
						  fb_manual_term(m, side), then[i].hex);

			tell(m, text);
		}
	return 0;
}

/* Three ways: @then, what the items say, what git's refs are now. */
static int merge_refs(struct fb_manual *m, const struct fb_manual_marks *then, struct fb_error *err)
{
	FB_CLEANUP(fb_manual_marks_release) struct fb_manual_marks want;
	const struct fb_gitbisect *git = &m->git;

	fb_manual_marks(m, &want);
	if (merge_set(m, FB_SIDE_OLD, git->good, git->nr_good, then->good, then->nr_good, want.good,
		      want.nr_good, err) < 0 ||
	    merge_set(m, FB_SIDE_SKIP, git->skip, git->nr_skip, then->skip, then->nr_skip,
		      want.skip, want.nr_skip, err) < 0)
		return -1;
	if (git->bad.hex[0] && strcmp(git->bad.hex, want.bad.hex) != 0 &&
	    strcmp(git->bad.hex, then->bad.hex) != 0)
		return import_ref(m, FB_SIDE_NEW, &git->bad, err);
	return 0;
}

static json_t *args_json(const struct fb_gitbisect *git)
{
	json_t *paths = json_array(), *args;

	for (char **p = git->paths; p && *p; p++)
		json_array_append_new(paths, json_string(*p));
	args = json_pack("{s:s, s:b, s:b, s:o}", "start", git->start, "first_parent",
			 git->first_parent, "no_checkout", git->no_checkout, "paths", paths);
	if (git->terms[0])
		json_object_set_new(args, "terms",
				    json_pack("[s, s]", git->terms[0], git->terms[1]));
	return args;
}

static int new_session(struct fb_manual *m, const struct fb_plan *plan, struct fb_error *err)
{
	struct fb_session session = {0};

	session.kind = fb_xstrdup(KIND);
	session.repo = fb_xstrdup(fb_history_gitdir(m->history));
	session.workdir = fb_xstrdup(fb_history_workdir(m->history));
	session.plan = plan ? fb_xstrdup(plan->text) : NULL;
	session.plan_name = plan ? fb_xstrdup(plan->path) : NULL;
	session.state = fb_xstrdup("open");
	session.args = args_json(&m->git);
	if (fb_store_session_add(m->store, &session, err) < 0) {
		fb_session_release(&session);
		return -1;
	}
	m->session = session;
	return 0;
}

/* The session that the first line of the log names, when it is one of this worktree. */
static int named_session(struct fb_manual *m, const char *log, size_t *ret_held,
			 struct fb_error *err)
{
	size_t len = strcspn(log, "\n");
	FB_CLEANUP(fb_freep) char *line = fb_xstrndup(log, len);
	FB_CLEANUP(fb_log_release) struct fb_log head = {0};
	struct fb_error ignored = FB_ERROR_INIT;
	int found;

	if (!log[len] || fb_log_parse(line, "", 1, false, &head, &ignored) < 0 || !head.session)
		return 0;
	found = fb_store_session_find(m->store, NULL, head.session, KIND, &m->session, err);
	if (found <= 0)
		return found;
	*ret_held = head.nr_events;
	/* A copy of a repository brings the log along, but not the session. */
	if (!strcmp(m->session.state, "open") && m->session.workdir &&
	    !strcmp(m->session.workdir, fb_history_workdir(m->history)))
		return 1;
	fb_session_release(&m->session);
	memset(&m->session, 0, sizeof(m->session));
	return 0;
}

/* A log that was cut within its first line still is the beginning of what it was. */
static int newest_session(struct fb_manual *m, const char *log, struct fb_error *err)
{
	FB_CLEANUP(fb_str_release) struct fb_str head = FB_STR_INIT;
	size_t len = strlen(log);
	int found = fb_store_session_find(m->store, fb_history_workdir(m->history), NULL, KIND,
					  &m->session, err);

	if (found <= 0)
		return found;
	fb_log_head(m->session.name, 0, &head);
	/* As far as the name goes; how many events it was is gone. */
	if (!strcmp(m->session.state, "open") && !strchr(log, '\n') &&
	    !strncmp(fb_str_cstr(&head), log, len < head.len - 2 ? len : head.len - 2))
		return 1;
	fb_session_release(&m->session);
	memset(&m->session, 0, sizeof(m->session));
	return 0;
}

/* What stands in the log beyond what was written there. */
static int import_rest(struct fb_manual *m, const struct ancestor *then, struct fb_error *err)
{
	const char *log = m->git.log ? m->git.log : "", *body = strchr(log, '\n');
	size_t len = strlen(then->log);
	unsigned line = 1;

	body = body ? body + 1 : "";
	if (!strncmp(body, then->log, len)) {
		const char *p;

		for (p = log; p < body + len; p++)
			line += *p == '\n';
		return import(m, body + len, line, err);
	}
	tell(m, !strncmp(then->log, body, strlen(body))
			? "BISECT_LOG was cut short; it is written anew from the session"
			: "BISECT_LOG was changed by hand; it is written anew from the session");
	return 0;
}

static int load(struct fb_manual *m, struct fb_error *err)
{
	FB_CLEANUP(ancestor_release) struct ancestor then = {0};
	const char *log = m->git.log ? m->git.log : "";
	size_t held = SIZE_MAX;
	int found = named_session(m, log, &held, err);

	if (found == 0)
		found = newest_session(m, log, err);
	if (found < 0)
		return -1;
	if (found) {
		if (load_events(m, held, &then, err) < 0 || import_rest(m, &then, err) < 0)
			return -1;
	} else {
		if (m->git.terms[0])
			set_terms(m, m->git.terms[0], m->git.terms[1]);
		if ((m->lock >= 0 && new_session(m, NULL, err) < 0) || import(m, log, 1, err) < 0)
			return -1;
		if (m->lock >= 0)
			tell(m, "taking over the bisection that git began here");
	}
	if (merge_refs(m, &then.marks, err) < 0)
		return -1;
	return m->lock >= 0 ? write_state(m, err) : 0;
}

/* One that git ended, or that never began. */
static int archive_stale(struct fb_manual *m, struct fb_error *err)
{
	struct fb_session old = {0};
	int rc = fb_store_session_find(m->store, fb_history_workdir(m->history), NULL, KIND, &old,
				       err);

	if (rc > 0 && !strcmp(old.state, "open")) {
		json_auto_t *verdict = json_pack("{s:s}", "verdict", "ended");

		rc = fb_store_session_end(m->store, old.id, verdict, err);
	}
	fb_session_release(&old);
	return rc < 0 ? -1 : 0;
}

int fb_manual_open(struct fb_store *store, struct fb_history *history, bool write,
		   struct fb_manual **ret, struct fb_error *err)
{
	FB_CLEANUP(fb_manual_freep) struct fb_manual *m = fb_xcalloc(1, sizeof(*m));

	m->store = store;
	m->history = history;
	m->lock = write ? fb_gitbisect_lock(history, err) : -1;
	if ((write && m->lock < 0) || fb_gitbisect_read(history, &m->git, err) < 0)
		return -1;
	m->active = m->git.active;
	if (m->active ? load(m, err) < 0 : write && archive_stale(m, err) < 0)
		return -1;
	*ret = FB_TAKE(m);
	return 0;
}

void fb_manual_free(struct fb_manual *m)
{
	if (!m)
		return;
	while (m->nr)
		item_release(&m->item[--m->nr]);
	free(m->item);
	free(m->terms[0]);
	free(m->terms[1]);
	fb_strvp(&m->notes);
	fb_gitbisect_release(&m->git);
	fb_session_release(&m->session);
	if (m->lock >= 0)
		fb_gitbisect_unlock(m->history);
	free(m);
}

void fb_manual_freep(struct fb_manual **m)
{
	fb_manual_free(*m);
}

/* --- what the user does ---------------------------------------------------------------------- */

int fb_manual_side(struct fb_manual *m, const char *word, enum fb_side *ret, struct fb_error *err)
{
	static const char *const pairs[][2] = {{"good", "bad"}, {"old", "new"}};

	for (int i = 0; i < 2 && m->terms[0]; i++)
		if (!strcmp(word, m->terms[i])) {
			*ret = (enum fb_side)i;
			return 0;
		}
	for (size_t p = 0; p < 2 && !m->terms[0]; p++)
		for (int i = 0; i < 2; i++) {
			if (strcmp(word, pairs[p][i]) != 0)
				continue;
			*ret = (enum fb_side)i;
			return record(
				m, "terms",
				json_pack("{s:s, s:s}", "old", pairs[p][0], "new", pairs[p][1]),
				err);
		}
	return fb_error_set(err, FB_ERROR_USAGE,
			    "'%.100s' is no term of this bisection: it is '%s' or '%s'", word,
			    fb_manual_term(m, FB_SIDE_NEW), fb_manual_term(m, FB_SIDE_OLD));
}

int fb_manual_mark(struct fb_manual *m, enum fb_side side, const struct fb_oid *commits,
		   size_t nr_commits, const double *values, size_t nr_values, struct fb_error *err)
{
	FB_CLEANUP(fb_str_release) struct fb_str text = FB_STR_INIT;
	json_t *data, *list;

	if (verdict_lines(m, side, commits, nr_commits, false, &text, err) < 0)
		return -1;
	list = json_array();
	for (size_t i = 0; i < nr_values; i++)
		json_array_append_new(list, json_real(values[i]));
	if (nr_values)
		fb_log_values(&commits[0], values, nr_values, &text);
	data = said_json(side, commits, nr_commits, fb_str_cstr(&text));
	json_object_set_new(data, "values", list);
	return record(m, "mark", data, err) < 0 ? -1 : write_state(m, err);
}

int fb_manual_weak(struct fb_manual *m, enum fb_side side, const struct fb_oid *commit,
		   double strength, struct fb_error *err)
{
	FB_CLEANUP(fb_str_release) struct fb_str text = FB_STR_INIT;
	json_t *data;

	fb_log_weak(fb_manual_term(m, side), commit, strength, &text);
	data = said_json(side, commit, 1, fb_str_cstr(&text));
	json_object_set_new(data, "strength", json_real(strength));
	return record(m, "weak", data, err) < 0 ? -1 : write_state(m, err);
}

int fb_manual_measured(struct fb_manual *m, const struct fb_oid *commit, const double *values,
		       size_t nr_values, const char *from, struct fb_error *err)
{
	FB_CLEANUP(fb_str_release) struct fb_str text = FB_STR_INIT;
	json_t *data;

	fb_log_values(commit, values, nr_values, &text);
	data = values_json(commit, values, nr_values, fb_str_cstr(&text));
	if (from)
		json_object_set_new(data, "from", json_string(from));
	return record(m, "values", data, err) < 0 ? -1 : write_state(m, err);
}

int fb_manual_note(struct fb_manual *m, const char *lines, struct fb_error *err)
{
	if (m->nr && fb_str_has_suffix(m->item[m->nr - 1].log, lines))
		return 0;
	if (record(m, "note", json_pack("{s:s}", "log", lines), err) < 0)
		return -1;
	return write_state(m, err);
}

int fb_manual_undo(struct fb_manual *m, char **ret, struct fb_error *err)
{
	size_t keep = before_last(m);
	FB_CLEANUP(fb_freep) char *text = NULL;

	if (!keep)
		return fb_error_set(err, FB_ERROR_USAGE,
				    "there is no verdict to take back but those that the session "
				    "began with");
	text = fb_xstrdup(m->item[keep].log);
	if (record(m, "undo", json_object(), err) < 0 || write_state(m, err) < 0)
		return -1;
	*ret = FB_TAKE(text);
	return 0;
}

int fb_manual_end(struct fb_manual *m, json_t *verdict, struct fb_error *err)
{
	if (fb_store_session_end(m->store, m->session.id, verdict, err) < 0 ||
	    fb_gitbisect_clear(m->history, err) < 0)
		return -1;
	m->active = false;
	return 0;
}

/* --- beginning ------------------------------------------------------------------------------- */

/* What git does not take for a term: builtin/bisect.c, check_term_format(). */
static int check_term(const char *term, const char *other, struct fb_error *err)
{
	static const char *const taken[] = {"help",	 "start", "skip",   "next",   "reset",
					    "visualize", "view",  "replay", "log",    "run",
					    "terms",	 "undo",  "weak",   "status", "auto"};

	for (size_t i = 0; i < FB_ARRAY_SIZE(taken); i++)
		if (!strcmp(term, taken[i]))
			return fb_error_set(err, FB_ERROR_USAGE,
					    "can't use the builtin command '%s' as a term", term);
	for (const char *p = term; *p; p += fb_utf8_len(p, strlen(p)))
		if (!fb_utf8_len(p, strlen(p)))
			return fb_error_set(err, FB_ERROR_USAGE, "'%s' is not a valid term", term);
	if (!*term || *term == '-' || *term == '.' || strpbrk(term, " ~^:?*[\\\t\n/") ||
	    strstr(term, "..") || fb_str_has_suffix(term, ".lock"))
		return fb_error_set(err, FB_ERROR_USAGE, "'%s' is not a valid term", term);
	if (!strcmp(term, other))
		return fb_error_set(err, FB_ERROR_USAGE, "please use two different terms");
	return 0;
}

int fb_manual_check_terms(const char *const terms[2], struct fb_error *err)
{
	static const char *const swapped[2][2] = {{"bad", "new"}, {"good", "old"}};

	for (int i = 0; i < 2 && terms[0]; i++) {
		if (check_term(terms[i], terms[!i], err) < 0)
			return -1;
		for (int k = 0; k < 2; k++)
			if (!strcmp(terms[i], swapped[i][k]))
				return fb_error_set(err, FB_ERROR_USAGE,
						    "can't change the meaning of the term '%s'",
						    terms[i]);
	}
	return 0;
}

static void start_line(const struct fb_manual_start *start, struct fb_str *out)
{
	FB_CLEANUP(fb_str_release) struct fb_str line = FB_STR_INIT;

	fb_str_add(&line, "git bisect start");
	for (char *const *w = start->words; *w; w++) {
		fb_str_addc(&line, ' ');
		fb_gitbisect_quote(*w, &line);
	}
	/* An event is UTF-8; names of files need not be, and BISECT_NAMES has them as they are. */
	fb_text_tame(line.buf);
	fb_str_addf(out, "%s\n", fb_str_cstr(&line));
}

static int record_start(struct fb_manual *m, const struct fb_manual_start *start,
			struct fb_error *err)
{
	FB_CLEANUP(fb_str_release) struct fb_str text = FB_STR_INIT;

	if (start->terms[0])
		set_terms(m, start->terms[0], start->terms[1]);
	else if (start->nr_revs)
		set_terms(m, "good", "bad");
	for (size_t i = 0; i < start->nr_revs; i++) {
		enum fb_side side = i ? FB_SIDE_OLD : FB_SIDE_NEW;
		json_t *data = said_json(side, &start->revs[i], 1, "");

		json_object_set_new(data, "start", json_true());
		if (verdict_lines(m, side, &start->revs[i], 1, true, &text, err) < 0 ||
		    record(m, "mark", data, err) < 0)
			return -1;
	}
	start_line(start, &text);
	if (m->terms[0] &&
	    record(m, "terms", json_pack("{s:s, s:s}", "old", m->terms[0], "new", m->terms[1]),
		   err) < 0)
		return -1;
	return record(m, "note", json_pack("{s:s}", "log", fb_str_cstr(&text)), err);
}

/* What git reads besides refs, terms and log. BISECT_START comes last: then it has begun. */
static int write_start(struct fb_manual *m, const struct fb_manual_start *start,
		       struct fb_error *err)
{
	FB_CLEANUP(fb_str_release) struct fb_str names = FB_STR_INIT;
	FB_CLEANUP(fb_freep) char *line = fb_xasprintf("%s\n", m->git.start);
	struct fb_ref_edit head = {"BISECT_HEAD", &m->git.head};

	for (char *const *p = start->paths; p && *p; p++) {
		fb_str_addc(&names, ' ');
		fb_gitbisect_quote(*p, &names);
	}
	fb_str_addc(&names, '\n');
	if (fb_gitbisect_file(m->history, "BISECT_NAMES", fb_str_cstr(&names), err) < 0 ||
	    (start->first_parent &&
	     fb_gitbisect_file(m->history, "BISECT_FIRST_PARENT", "\n", err) < 0) ||
	    (start->no_checkout && fb_gitbisect_refs(m->history, &head, 1, err) < 0) ||
	    write_state(m, err) < 0)
		return -1;
	return fb_gitbisect_file(m->history, "BISECT_START", line, err);
}

int fb_manual_begin(struct fb_manual *m, const struct fb_manual_start *start, struct fb_error *err)
{
	json_auto_t *verdict = json_pack("{s:s}", "verdict", "ended");
	FB_CLEANUP(fb_freep) char *back = NULL;

	if (m->active) {
		/* As git: the new session starts from where the old one did. */
		back = fb_xstrdup(m->git.start);
		if ((!m->git.no_checkout && fb_gitbisect_checkout(m->history, back, err) < 0) ||
		    fb_manual_end(m, verdict, err) < 0)
			return -1;
	} else {
		back = fb_gitbisect_head(m->history, err);
		if (!back || fb_gitbisect_clear(m->history, err) < 0)
			return -1;
	}
	while (m->nr)
		item_release(&m->item[--m->nr]);
	m->nr_events = 0;
	free(m->terms[0]);
	free(m->terms[1]);
	m->terms[0] = m->terms[1] = NULL;
	fb_session_release(&m->session);
	memset(&m->session, 0, sizeof(m->session));
	fb_gitbisect_release(&m->git);
	if (fb_gitbisect_read(m->history, &m->git, err) < 0)
		return -1;
	free(m->git.start);
	m->git.start = FB_TAKE(back);
	m->git.first_parent = start->first_parent;
	m->git.no_checkout = start->no_checkout;
	for (char *const *p = start->paths; p && *p; p++)
		fb_strv_add(&m->git.paths, *p);
	if (new_session(m, start->plan, err) < 0 || record_start(m, start, err) < 0 ||
	    write_start(m, start, err) < 0)
		return -1;
	m->active = m->git.active = true;
	return 0;
}
