/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reading, writing and clearing what `git bisect` keeps of a worktree. */
#include "src/history/gitbisect.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "src/history/internal.h"
#include "src/util/file.h"
#include "src/util/util.h"

#define SMALL_MAX_B  (1u << 20)
#define GIT_TIME_NS  (3600 * FB_NS_PER_S)
#define LOCK_TRIES   100
#define LOCK_WAIT_MS 50

/* As git's bisect_clean_state(): BISECT_START last, its presence means "bisecting". */
static const char *const files[] = {
	"BISECT_LOG",	       "BISECT_NAMES",	      "BISECT_RUN",   "BISECT_TERMS",
	"BISECT_FIRST_PARENT", "BISECT_ANCESTORS_OK", "BISECT_START",
};

char *fb_gitbisect_path(const struct fb_history *history, const char *name)
{
	return fb_xasprintf("%s%s", git_repository_path(history->repo), name);
}

/* --- the git program in the user's worktree ------------------------------------------------ */

int fb_git_here(const struct fb_history *history, const char *const *args, const char *input,
		struct fb_proc_result *ret, struct fb_error *err)
{
	FB_CLEANUP(fb_strvp) char **argv = NULL, **env = NULL;
	/* A linked worktree may be empty or gone: its directory is asked only where it matters. */
	FB_CLEANUP(fb_freep)
	char *dir = fb_xasprintf("GIT_DIR=%s", git_repository_path(history->repo));
	FB_CLEANUP(fb_freep) char *tree = NULL;
	struct fb_proc_spec spec = {.dir = history->workdir,
				    .timeout_ns = GIT_TIME_NS,
				    .capture_max = FB_LOG_MAX_B,
				    .stdin_data = input,
				    /* Killed, it would leave a lock for the user to remove. */
				    .finishes = true,
				    .pass_fds = &history->bisect_lock,
				    .nr_pass_fds = history->bisect_lock >= 0};

	fb_strv_add(&argv, "git");
	for (; *args; args++)
		fb_strv_add(&argv, *args);
	for (const char *const *p = fb_proc_no_repository; *p; p++)
		fb_strv_add(&env, *p);
	fb_strv_add(&env, "LC_ALL=C");
	fb_strv_add(&env, "GIT_TERMINAL_PROMPT=0");
	fb_strv_add(&env, dir);
	if (!git_repository_is_bare(history->repo)) {
		tree = fb_xasprintf("GIT_WORK_TREE=%s", history->workdir);
		fb_strv_add(&env, tree);
	}
	spec.argv = (const char *const *)argv;
	spec.env = (const char *const *)env;
	return fb_proc_run(&spec, ret, err);
}

/* git's own words, all of them, in one line. */
static int git_failed(const char *what, const struct fb_proc_result *r, struct fb_error *err)
{
	FB_CLEANUP(fb_str_release) struct fb_str text = FB_STR_INIT;

	for (const char *p = fb_str_cstr(&r->err); *p; p++) {
		if (*p == '\n' && !p[1])
			break;
		if (*p == '\n' && p[1] == '\n')
			continue;
		if (*p == '\n')
			fb_str_add(&text, "; ");
		else if (*p != '\t')
			fb_str_addc(&text, *p);
	}
	return fb_error_set(err, FB_ERROR_CHILD, "git %s: %s", what,
			    text.len ? fb_str_cstr(&text) : "failed");
}

/* Run git; anything but status 0 is an error with its words. */
static int git_ok(const struct fb_history *history, const char *what, const char *const *args,
		  const char *input, struct fb_str *ret_out, struct fb_error *err)
{
	FB_CLEANUP(fb_proc_result_release) struct fb_proc_result r = {0};

	if (fb_git_here(history, args, input, &r, err) < 0)
		return -1;
	if (r.end != FB_PROC_EXITED || r.status)
		return git_failed(what, &r, err);
	if (r.out.truncated)
		return fb_error_set(err, FB_ERROR_CHILD, "git %s: its output is too long", what);
	if (ret_out)
		fb_str_addn(ret_out, fb_str_cstr(&r.out), r.out.len);
	return 0;
}

/* --- words ---------------------------------------------------------------------------------- */

void fb_gitbisect_quote(const char *word, struct fb_str *out)
{
	fb_str_addc(out, '\'');
	for (; *word; word++) {
		if (*word == '\'' || *word == '!')
			fb_str_addf(out, "'\\%c'", *word);
		else
			fb_str_addc(out, *word);
	}
	fb_str_addc(out, '\'');
}

/* One word from *@p on, which moves behind it. */
static int take_word(const char **p, struct fb_str *word)
{
	bool quoted = false;
	const char *s = *p;

	for (; *s && (quoted || (*s != ' ' && *s != '\t')); s++) {
		if (*s == '\'')
			quoted = !quoted;
		else if (*s == '\\' && !quoted && s[1])
			fb_str_addc(word, *++s);
		else
			fb_str_addc(word, *s);
	}
	*p = s;
	return quoted ? -1 : 0;
}

int fb_gitbisect_words(const char *line, char ***ret)
{
	FB_CLEANUP(fb_strvp) char **words = NULL;

	for (;;) {
		FB_CLEANUP(fb_str_release) struct fb_str word = FB_STR_INIT;

		while (*line == ' ' || *line == '\t')
			line++;
		if (!*line)
			break;
		if (take_word(&line, &word) < 0)
			return -1;
		fb_strv_add(&words, fb_str_cstr(&word));
	}
	*ret = FB_TAKE(words);
	return 0;
}

/* --- reading ---------------------------------------------------------------------------------- */

/* *@ret: contents, owned, or NULL when the file is not there. */
static int read_file(const struct fb_history *history, const char *name, size_t max_b, char **ret,
		     struct fb_error *err)
{
	FB_CLEANUP(fb_freep) char *path = fb_gitbisect_path(history, name);
	FB_CLEANUP(fb_str_release) struct fb_str text = FB_STR_INIT;

	*ret = NULL;
	if (access(path, F_OK) < 0 && errno == ENOENT)
		return 0;
	if (fb_file_read(path, max_b, &text, err) < 0)
		return fb_error_wrap(err, "%s", name);
	*ret = fb_str_take(&text);
	return 0;
}

static bool is_there(const struct fb_history *history, const char *name)
{
	FB_CLEANUP(fb_freep) char *path = fb_gitbisect_path(history, name);

	return access(path, F_OK) == 0;
}

/* The commit of a pseudo-ref; "" when it is not there. */
static void read_pseudo(const struct fb_history *history, const char *name, struct fb_oid *ret)
{
	git_oid oid;

	ret->hex[0] = '\0';
	if (git_reference_name_to_id(&oid, history->repo, name) == 0)
		git_oid_tostr(ret->hex, sizeof(ret->hex), &oid);
}

static int read_terms(struct fb_gitbisect *s, char *text, struct fb_error *err)
{
	char *nl = text ? strchr(text, '\n') : NULL;

	if (!text)
		return 0;
	if (!nl || nl == text || !nl[1] || nl[1] == '\n')
		return fb_error_set(err, FB_ERROR_INPUT,
				    "BISECT_TERMS does not hold two terms, one a line");
	s->terms[1] = fb_xstrndup(text, (size_t)(nl - text));
	s->terms[0] = fb_xstrndup(nl + 1, strcspn(nl + 1, "\n"));
	return 0;
}

static void add_oid(struct fb_oid **list, size_t *nr, const char *hex)
{
	*list = fb_xrealloc(*list, *nr + 1, sizeof(**list));
	memcpy((*list)[*nr].hex, hex, FB_OID_HEX_SIZE - 1);
	(*list)[(*nr)++].hex[FB_OID_HEX_SIZE - 1] = '\0';
}

/* One line "HEX refs/bisect/NAME". */
static void read_ref(struct fb_gitbisect *s, const char *line)
{
	const char *old = s->terms[0] ? s->terms[0] : "good";
	const char *new = s->terms[1] ? s->terms[1] : "bad";
	const char *name = line + FB_OID_HEX_SIZE + strlen("refs/bisect/");
	size_t len = strlen(old);

	if (!strcmp(name, new)) {
		memcpy(s->bad.hex, line, FB_OID_HEX_SIZE - 1);
		s->bad.hex[FB_OID_HEX_SIZE - 1] = '\0';
	} else if (!strncmp(name, old, len) && name[len] == '-') {
		add_oid(&s->good, &s->nr_good, line);
	} else if (!strncmp(name, "skip-", 5)) {
		add_oid(&s->skip, &s->nr_skip, line);
	}
}

/* libgit2 does not list the refs of a linked worktree. */
static int list_refs(const struct fb_history *history, struct fb_str *out, struct fb_error *err)
{
	static const char *const args[] = {"for-each-ref", "--format=%(objectname) %(refname)",
					   "refs/bisect/", NULL};

	return git_ok(history, "for-each-ref", args, NULL, out, err);
}

static int read_refs(const struct fb_history *history, struct fb_gitbisect *s, struct fb_error *err)
{
	FB_CLEANUP(fb_str_release) struct fb_str out = FB_STR_INIT;
	char *save = NULL;

	if (list_refs(history, &out, err) < 0)
		return -1;
	for (char *line = out.buf ? strtok_r(out.buf, "\n", &save) : NULL; line;
	     line = strtok_r(NULL, "\n", &save))
		if (strlen(line) > FB_OID_HEX_SIZE + strlen("refs/bisect/"))
			read_ref(s, line);
	return 0;
}

static int read_names(struct fb_gitbisect *s, const char *text, struct fb_error *err)
{
	FB_CLEANUP(fb_freep) char *line = text ? fb_xstrndup(text, strcspn(text, "\n")) : NULL;

	if (line && fb_gitbisect_words(line, &s->paths) < 0)
		return fb_error_set(err, FB_ERROR_INPUT,
				    "BISECT_NAMES has a quote that is not "
				    "closed");
	return 0;
}

int fb_gitbisect_read(struct fb_history *history, struct fb_gitbisect *ret, struct fb_error *err)
{
	FB_CLEANUP(fb_gitbisect_release) struct fb_gitbisect s = {0};
	FB_CLEANUP(fb_freep) char *start = NULL, *terms = NULL, *names = NULL;
	struct fb_oid bisect_head;

	if (read_file(history, "BISECT_START", SMALL_MAX_B, &start, err) < 0 ||
	    read_file(history, "BISECT_LOG", FB_LOG_MAX_B, &s.log, err) < 0 ||
	    read_file(history, "BISECT_TERMS", SMALL_MAX_B, &terms, err) < 0 ||
	    read_file(history, "BISECT_NAMES", SMALL_MAX_B, &names, err) < 0 ||
	    read_terms(&s, terms, err) < 0 || read_names(&s, names, err) < 0)
		return -1;
	s.active = start != NULL;
	s.start = start ? fb_xstrndup(start, strcspn(start, "\n")) : fb_xstrdup("");
	s.first_parent = is_there(history, "BISECT_FIRST_PARENT");
	s.ancestors_ok = is_there(history, "BISECT_ANCESTORS_OK");
	read_pseudo(history, "BISECT_EXPECTED_REV", &s.expected);
	read_pseudo(history, "BISECT_HEAD", &bisect_head);
	read_pseudo(history, "HEAD", &s.head);
	s.no_checkout = bisect_head.hex[0] != '\0';
	s.on_branch = git_repository_head_detached(history->repo) == 0;
	if (s.no_checkout)
		s.head = bisect_head;
	if (s.active && read_refs(history, &s, err) < 0)
		return -1;
	*ret = s;
	memset(&s, 0, sizeof(s));
	return 0;
}

void fb_gitbisect_release(struct fb_gitbisect *s)
{
	free(s->start);
	free(s->log);
	free(s->terms[0]);
	free(s->terms[1]);
	fb_strvp(&s->paths);
	free(s->good);
	free(s->skip);
	memset(s, 0, sizeof(*s));
}

/* --- writing ---------------------------------------------------------------------------------- */

int fb_gitbisect_refs(struct fb_history *history, const struct fb_ref_edit *edits, size_t nr,
		      struct fb_error *err)
{
	static const char *const args[] = {"update-ref", "--no-deref", "--stdin", NULL};
	FB_CLEANUP(fb_str_release) struct fb_str in = FB_STR_INIT;

	if (!nr)
		return 0;
	for (size_t i = 0; i < nr; i++)
		if (edits[i].to)
			fb_str_addf(&in, "update %s %s\n", edits[i].name, edits[i].to->hex);
		else
			fb_str_addf(&in, "delete %s\n", edits[i].name);
	return git_ok(history, "update-ref", args, fb_str_cstr(&in), NULL, err);
}

int fb_gitbisect_file(struct fb_history *history, const char *name, const char *text,
		      struct fb_error *err)
{
	FB_CLEANUP(fb_freep) char *path = fb_gitbisect_path(history, name);

	if (text)
		return fb_file_write(path, text, strlen(text), err);
	if (unlink(path) < 0 && errno != ENOENT)
		return fb_error_set_sys(err, errno, "remove '%s'", path);
	return 0;
}

int fb_gitbisect_clear(struct fb_history *history, struct fb_error *err)
{
	static const char *const pseudo[] = {"BISECT_EXPECTED_REV", "BISECT_HEAD"};
	FB_CLEANUP(fb_str_release) struct fb_str out = FB_STR_INIT;
	struct fb_ref_edit *edits = NULL;
	size_t nr = 0, cap = 0;
	char *save = NULL;
	int rc;

	if (list_refs(history, &out, err) < 0)
		return -1;
	for (char *line = out.buf ? strtok_r(out.buf, "\n", &save) : NULL; line;
	     line = strtok_r(NULL, "\n", &save)) {
		FB_GROW(edits, nr, cap);
		edits[nr++] = (struct fb_ref_edit){line + FB_OID_HEX_SIZE, NULL};
	}
	for (size_t i = 0; i < FB_ARRAY_SIZE(pseudo); i++) {
		struct fb_oid oid;

		read_pseudo(history, pseudo[i], &oid);
		if (!oid.hex[0])
			continue;
		FB_GROW(edits, nr, cap);
		edits[nr++] = (struct fb_ref_edit){pseudo[i], NULL};
	}
	rc = fb_gitbisect_refs(history, edits, nr, err);
	free(edits);
	for (size_t i = 0; i < FB_ARRAY_SIZE(files) && rc == 0; i++)
		rc = fb_gitbisect_file(history, files[i], NULL, err);
	return rc;
}

char *fb_gitbisect_head(struct fb_history *history, struct fb_error *err)
{
	git_reference *head = NULL;
	const char *target;
	char *ret = NULL;
	git_oid oid;

	if (git_reference_lookup(&head, history->repo, "HEAD") < 0) {
		fb_git_error(err, "HEAD");
		return NULL;
	}
	target = git_reference_symbolic_target(head);
	if (git_reference_name_to_id(&oid, history->repo, "HEAD") < 0) {
		fb_error_set(err, FB_ERROR_GIT, "bad HEAD: there is no commit yet");
	} else if (target && fb_str_has_prefix(target, "refs/heads/")) {
		ret = fb_xstrdup(target + strlen("refs/heads/"));
	} else {
		ret = fb_xmalloc(FB_OID_HEX_SIZE);
		git_oid_tostr(ret, FB_OID_HEX_SIZE, &oid);
	}
	git_reference_free(head);
	return ret;
}

int fb_gitbisect_checkout(struct fb_history *history, const char *rev, struct fb_error *err)
{
	const char *args[] = {"checkout", "-q", "--ignore-other-worktrees", rev, "--", NULL};

	return git_ok(history, "checkout", args, NULL, NULL, err);
}

int fb_gitbisect_show(struct fb_history *history, const struct fb_oid *oid, char **ret,
		      struct fb_error *err)
{
	const char *args[] = {"diff-tree", "--pretty",	    "--stat", "--summary", "--cc",
			      "--abbrev",  "--no-ext-diff", oid->hex, NULL};
	FB_CLEANUP(fb_str_release) struct fb_str out = FB_STR_INIT;

	if (git_ok(history, "diff-tree", args, NULL, &out, err) < 0)
		return -1;
	*ret = fb_str_take(&out);
	return 0;
}

int fb_gitbisect_revs(struct fb_history *history, const char *arg, struct fb_oid **ret,
		      size_t *ret_nr, struct fb_error *err)
{
	const char *args[] = {"rev-list", arg, "--", NULL};
	FB_CLEANUP(fb_str_release) struct fb_str out = FB_STR_INIT;
	struct fb_oid one, *list = NULL;
	size_t nr = 0;

	if (!strstr(arg, "..")) {
		if (fb_history_resolve(history, arg, &one, err) < 0)
			return -1;
		add_oid(&list, &nr, one.hex);
	} else {
		/* An option is no range. */
		if (*arg == '-')
			return fb_error_set(err, FB_ERROR_GIT, "unknown revision '%.200s'", arg);
		if (git_ok(history, "rev-list", args, NULL, &out, err) < 0)
			return fb_error_wrap(err, "range '%.200s'", arg);
		for (const char *p = fb_str_cstr(&out); strlen(p) >= FB_OID_HEX_SIZE;
		     p += FB_OID_HEX_SIZE)
			add_oid(&list, &nr, p);
	}
	*ret = list;
	*ret_nr = nr;
	return 0;
}

int fb_gitbisect_is_ancestor(struct fb_history *history, const struct fb_oid *a,
			     const struct fb_oid *b, struct fb_error *err)
{
	const char *args[] = {"merge-base", "--is-ancestor", a->hex, b->hex, NULL};
	FB_CLEANUP(fb_proc_result_release) struct fb_proc_result r = {0};

	if (fb_git_here(history, args, NULL, &r, err) < 0)
		return -1;
	if (r.end != FB_PROC_EXITED || r.status > 1)
		return git_failed("merge-base", &r, err);
	return r.status == 0;
}

int fb_gitbisect_visualize(struct fb_history *history, char *const *args, struct fb_error *err)
{
	FB_CLEANUP(fb_strvp) char **argv = NULL;

	fb_strv_add(&argv, "git");
	fb_strv_add(&argv, "bisect");
	fb_strv_add(&argv, "visualize");
	for (; *args; args++)
		fb_strv_add(&argv, *args);
	for (const char *const *p = fb_proc_no_repository; *p; p++)
		unsetenv(*p);
	if (chdir(history->workdir) < 0)
		return fb_error_set_sys(err, errno, "change to '%s'", history->workdir);
	execvp("git", argv);
	return fb_error_set_sys(err, errno, "start 'git'");
}

int fb_gitbisect_lock(struct fb_history *history, struct fb_error *err)
{
	/* Of its own: worktree.c locks the directory itself. */
	FB_CLEANUP(fb_freep) char *path = fb_gitbisect_path(history, "firstbad.lock");
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);

	if (fd < 0)
		return fb_error_set_sys(err, errno, "open '%s'", path);
	/* The git that a killed firstbad left behind finishes, and lets go. */
	for (int i = 0; flock(fd, LOCK_EX | LOCK_NB) < 0; i++) {
		if (errno != EWOULDBLOCK || i == LOCK_TRIES) {
			close(fd);
			return fb_error_set(err, FB_ERROR_BUSY,
					    "another firstbad is at work on the bisection of this "
					    "worktree");
		}
		poll(NULL, 0, LOCK_WAIT_MS);
	}
	history->bisect_lock = fd;
	return fd;
}

void fb_gitbisect_unlock(struct fb_history *history)
{
	close(history->bisect_lock);
	history->bisect_lock = -1;
}
