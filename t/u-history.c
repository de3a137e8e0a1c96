/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Protects names, facts and ranges of commits: what git says, firstbad says. */
#include "t/git-fixture.h"

#include <sys/stat.h>

#include "src/history/history.h"
#include "src/util/clock.h"

static char dir[64], *start_dir;

static int setup(void **state)
{
	if (!start_dir)
		start_dir = getcwd(NULL, 0);
	snprintf(dir, sizeof(dir), "u-history.XXXXXX");
	return git_scratch_begin(dir);
}

static int teardown(void **state)
{
	return git_scratch_end(start_dir, dir);
}

/* A repository under the scratch directory of the test. */
static char *in_dir(const char *name)
{
	return fb_xasprintf("%s/%s", dir, name);
}

static struct fb_history *open_history(const char *path)
{
	struct fb_error err = FB_ERROR_INIT;
	struct fb_history *h;

	assert_ok(fb_history_open(path, &h, &err), &err);
	return h;
}

static struct fb_oid resolve(struct fb_history *h, const char *rev)
{
	struct fb_error err = FB_ERROR_INIT;
	struct fb_oid oid;

	assert_ok(fb_history_resolve(h, rev, &oid, &err), &err);
	return oid;
}

/* Ranges against an oracle: reachability by recursion over what git lists */

#define NODES_MAX 64

struct oracle {
	size_t nr;
	char oid[NODES_MAX][FB_OID_HEX_SIZE];
	long long date[NODES_MAX];
	int parent[NODES_MAX][8], nr_parents[NODES_MAX];
	bool reach[NODES_MAX][NODES_MAX];
};

static int oracle_find(const struct oracle *o, const char *oid)
{
	for (size_t i = 0; i < o->nr; i++)
		if (!strncmp(o->oid[i], oid, 40))
			return (int)i;
	return -1;
}

static void oracle_reach(struct oracle *o, int from, int at)
{
	o->reach[from][at] = true;
	for (int p = 0; p < o->nr_parents[at]; p++)
		if (!o->reach[from][o->parent[at][p]])
			oracle_reach(o, from, o->parent[at][p]);
}

static void oracle_read(struct oracle *o, const char *repo)
{
	char *text = git_out(repo, "log", "--all", "--format=%H %ct %P"), *save = NULL;

	*o = (struct oracle){0};
	/* Twice: the parents of a line are known only after the last one. */
	for (int pass = 0; pass < 2; pass++) {
		char *copy = fb_xstrdup(text);
		int i = 0;

		for (char *l = strtok_r(copy, "\n", &save); l;
		     l = strtok_r(NULL, "\n", &save), i++) {
			assert_true(i < NODES_MAX);
			snprintf(o->oid[i], sizeof(o->oid[i]), "%.40s", l);
			o->date[i] = strtoll(l + 41, &l, 10);
			for (; pass == 1 && *l == ' ' && l[1]; l += 41)
				o->parent[i][o->nr_parents[i]++] = oracle_find(o, l + 1);
		}
		o->nr = (size_t)i;
		free(copy);
	}
	for (size_t i = 0; i < o->nr; i++)
		oracle_reach(o, (int)i, (int)i);
	free(text);
}

static bool oracle_good(const struct oracle *o, const int *good, size_t nr_good, int c)
{
	for (size_t g = 0; g < nr_good; g++)
		if (o->reach[good[g]][c])
			return true;
	return false;
}

static bool is_good_end(const int *good, size_t nr_good, int c)
{
	for (size_t g = 0; g < nr_good; g++)
		if (good[g] == c)
			return true;
	return false;
}

static bool oracle_is_base(const struct oracle *o, int bad, const int *good, size_t nr_good, int c)
{
	if (!o->reach[bad][c] || !oracle_good(o, good, nr_good, c) || is_good_end(good, nr_good, c))
		return false;
	for (int d = 0; d < (int)o->nr; d++)
		if (d != c && o->reach[d][c] && o->reach[bad][d] &&
		    oracle_good(o, good, nr_good, d))
			return false;
	return true;
}

static bool oracle_on_chain(const struct oracle *o, int bad, int c)
{
	for (int i = bad;; i = o->parent[i][0]) {
		if (i == c)
			return true;
		if (!o->nr_parents[i])
			return false;
	}
}

static bool listed(const uint32_t *list, uint32_t nr, uint32_t v)
{
	for (uint32_t i = 0; i < nr; i++)
		if (list[i] == v)
			return true;
	return false;
}

/* Everything that the header promises about @r. */
/* Does a candidate have @good_end as a parent? */
static bool is_next_to_candidates(const struct oracle *o, int bad, const int *good, size_t nr_good,
				  unsigned flags, int good_end)
{
	for (int c = 0; c < (int)o->nr; c++) {
		int nr = flags & FB_RANGE_FIRST_PARENT && o->nr_parents[c] ? 1 : o->nr_parents[c];

		if (!o->reach[bad][c] || oracle_good(o, good, nr_good, c) ||
		    (flags & FB_RANGE_FIRST_PARENT && !oracle_on_chain(o, bad, c)))
			continue;
		for (int p = 0; p < nr; p++)
			if (o->parent[c][p] == good_end)
				return true;
	}
	return false;
}

/* The good end that is measured is next to the candidates, where one is. */
static void check_first_good(const struct oracle *o, int bad, const int *good, size_t nr_good,
			     unsigned flags, int first)
{
	bool any = false;

	for (size_t g = 0; g < nr_good; g++)
		any = any || is_next_to_candidates(o, bad, good, nr_good, flags, good[g]);
	assert_int_equal(is_next_to_candidates(o, bad, good, nr_good, flags, first), any);
}

static void check_range(const struct oracle *o, int bad, const int *good, size_t nr_good,
			unsigned flags, const struct fb_range *r)
{
	bool in[NODES_MAX] = {false};
	uint32_t nr = 0, nr_candidates = 0;
	int at[NODES_MAX];

	for (int c = 0; c < (int)o->nr; c++) {
		bool candidate = o->reach[bad][c] && !oracle_good(o, good, nr_good, c) &&
				 (!(flags & FB_RANGE_FIRST_PARENT) || oracle_on_chain(o, bad, c));

		in[c] = candidate || is_good_end(good, nr_good, c) ||
			oracle_is_base(o, bad, good, nr_good, c);
		nr += in[c];
		nr_candidates += candidate;
	}
	assert_int_equal(r->nr, nr);
	assert_int_equal(r->nr_candidates, nr_candidates);
	assert_int_equal(r->nr, r->nr_candidates + r->nr_good + r->nr_base);
	for (uint32_t n = 0; n < r->nr; n++) {
		at[n] = oracle_find(o, r->oid[n].hex);
		assert_true(at[n] >= 0 && in[at[n]]);
		in[at[n]] = false; /* each once */
	}
	assert_int_equal(at[r->bad], bad);
	check_first_good(o, bad, good, nr_good, flags, at[r->good[0]]);
	for (uint32_t n = 0; n < r->nr; n++) {
		uint32_t nr_parents = 0;
		int i = at[n];

		assert_int_equal(listed(r->good, r->nr_good, n), is_good_end(good, nr_good, i));
		assert_int_equal(listed(r->base, r->nr_base, n),
				 oracle_is_base(o, bad, good, nr_good, i));
		for (int p = 0; p < o->nr_parents[i]; p++) {
			uint32_t m = 0;

			while (m < r->nr && at[m] != o->parent[i][p])
				m++;
			if (m == r->nr || ((flags & FB_RANGE_FIRST_PARENT) && p))
				continue;
			nr_parents++;
			assert_true(m < n);
			assert_true(listed(r->parent + r->parent_start[n],
					   r->parent_start[n + 1] - r->parent_start[n], m));
		}
		assert_int_equal(r->parent_start[n + 1] - r->parent_start[n], nr_parents);
	}
	/* Ties: of two neighbours in the order the older is first, unless it is the other's child.
	 */
	for (uint32_t n = 1; n < r->nr; n++) {
		int a = at[n - 1], b = at[n];

		if (!listed(r->parent + r->parent_start[n],
			    r->parent_start[n + 1] - r->parent_start[n], n - 1))
			assert_true(o->date[a] < o->date[b] ||
				    (o->date[a] == o->date[b] && strcmp(o->oid[a], o->oid[b]) < 0));
	}
}

static void check_pair(struct fb_history *h, const struct oracle *o, int bad, const int *good,
		       size_t nr_good, unsigned flags)
{
	struct fb_error err = FB_ERROR_INIT;
	struct fb_oid bad_oid, good_oid[4] = {0};
	struct fb_range *r = NULL;
	bool common = false;
	int rc;

	memcpy(bad_oid.hex, o->oid[bad], sizeof(bad_oid.hex));
	for (size_t g = 0; g < nr_good; g++)
		memcpy(good_oid[g].hex, o->oid[good[g]], sizeof(good_oid[g].hex));
	for (int c = 0; c < (int)o->nr; c++)
		common |= o->reach[bad][c] && oracle_good(o, good, nr_good, c);
	rc = fb_history_range(h, &bad_oid, good_oid, nr_good, flags, &r, &err);
	if (oracle_good(o, good, nr_good, bad)) {
		assert_int_equal(rc, -1);
		assert_error(&err, FB_ERROR_USAGE, bad_oid.hex);
	} else if (!common) {
		assert_int_equal(rc, -1);
		assert_error(&err, FB_ERROR_GIT, "no common history");
	} else {
		assert_ok(rc, &err);
		check_range(o, bad, good, nr_good, flags, r);
		fb_range_free(r);
	}
}

static void range_of_each_pair_is_what_reachability_says(void **state)
{
	char *repo = in_dir(*state);
	struct oracle o;
	struct fb_history *h;

	git_history(repo, *state);
	oracle_read(&o, repo);
	h = open_history(repo);
	for (int bad = 0; bad < (int)o.nr; bad++)
		for (int g = 0; g < (int)o.nr; g++) {
			int good[2] = {g, (g * 7 + bad) % (int)o.nr};

			check_pair(h, &o, bad, good, 1, 0);
			check_pair(h, &o, bad, good, 1, FB_RANGE_FIRST_PARENT);
			check_pair(h, &o, bad, good, 2, 0);
		}
	fb_history_free(h);
	free(repo);
}

/* splitmix64 (Steele, Lea, Flood 2014): the same cases everywhere. */
static uint32_t random_below(uint64_t *state, uint32_t limit)
{
	uint64_t z = (*state += 0x9e3779b97f4a7c15ull);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return (uint32_t)((z ^ (z >> 31)) % limit);
}

static void range_of_random_histories_is_what_reachability_says(void **state)
{
	for (uint64_t seed = 0; seed < 30; seed++) {
		struct fb_str text = FB_STR_INIT;
		char name[32], *repo;
		uint64_t rng = seed;
		uint32_t nr = 2 + random_below(&rng, 39);
		struct fb_history *h;
		struct oracle o;

		for (uint32_t i = 1; i <= nr; i++) {
			uint32_t nr_parents = i == 1		       ? 0
					      : random_below(&rng, 12) ? 1 + random_below(&rng, 3)
								       : 0;
			uint32_t seen[3];

			/* Dates that lie: by a day, by years, and equal ones. */
			fb_str_addf(&text,
				    "commit refs/heads/c%u\nmark :%u\n"
				    "committer C <c@example.com> %u +0000\ndata 0\n",
				    i, i,
				    random_below(&rng, 4)   ? 1000000 + i * 3600
				    : random_below(&rng, 2) ? 5
							    : random_below(&rng, 4000000));
			for (uint32_t p = 0, nr_seen = 0; p < nr_parents; p++) {
				uint32_t v = 1 + random_below(&rng, i - 1), k = 0;

				while (k < nr_seen && seen[k] != v)
					k++;
				if (k < nr_seen)
					continue;
				seen[nr_seen++] = v;
				fb_str_addf(&text, "%s :%u\n", nr_seen == 1 ? "from" : "merge", v);
			}
			fb_str_add(&text, "\n");
		}
		fb_str_addf(&text, "reset refs/heads/main\nfrom :%u\n", nr);
		snprintf(name, sizeof(name), "random-%u", (unsigned)seed);
		repo = in_dir(name);
		git_import(repo, fb_str_cstr(&text));
		fb_str_release(&text);
		oracle_read(&o, repo);
		h = open_history(repo);
		for (int i = 0; i < 100; i++) {
			int bad = (int)random_below(&rng, (uint32_t)o.nr), good[3];

			for (int g = 0; g < 3; g++)
				good[g] = (int)random_below(&rng, (uint32_t)o.nr);
			check_pair(h, &o, bad, good, 1 + random_below(&rng, 3),
				   random_below(&rng, 2) ? FB_RANGE_FIRST_PARENT : 0);
		}
		fb_history_free(h);
		free(repo);
	}
}

static void rebuilt_tag_has_its_merge_bases_in_the_range(void **state)
{
	struct fb_error err = FB_ERROR_INIT;
	char *repo = in_dir("next");
	struct fb_history *h;
	struct fb_range *r;
	struct fb_oid good, bad;
	static const char *const want[] = {"x1b", "v4", "n2", "next-2"};

	git_history(repo, "next");
	h = open_history(repo);
	good = resolve(h, "next-1");
	bad = resolve(h, "next-2");
	assert_ok(fb_history_range(h, &bad, &good, 1, 0, &r, &err), &err);
	assert_int_equal(r->nr_candidates, 4);
	assert_int_equal(r->nr_good, 1);
	assert_int_equal(r->nr_base, 2);
	assert_string_equal(r->oid[r->good[0]].hex, good.hex);
	assert_string_equal(r->oid[r->bad].hex, bad.hex);
	assert_string_equal(r->oid[r->base[0]].hex, resolve(h, "y1").hex);
	assert_string_equal(r->oid[r->base[1]].hex, resolve(h, "v3").hex);
	for (size_t i = 0; i < FB_ARRAY_SIZE(want); i++) {
		struct fb_oid oid = resolve(h, want[i]);
		uint32_t n = 0;

		while (n < r->nr && strcmp(r->oid[n].hex, oid.hex))
			n++;
		assert_true(n < r->nr);
		/* Each of them stands, step by step, on a merge base. */
		while (r->parent_start[n] < r->parent_start[n + 1])
			n = r->parent[r->parent_start[n]];
		assert_true(listed(r->base, r->nr_base, n));
	}
	fb_range_free(r);

	/* With v3 known to be good, y1 is left to be tested. */
	{
		struct fb_oid two[] = {good, resolve(h, "v3")};

		assert_ok(fb_history_range(h, &bad, two, 2, 0, &r, &err), &err);
		assert_int_equal(r->nr_good, 2);
		assert_int_equal(r->nr_base, 1);
		assert_string_equal(r->oid[r->base[0]].hex, resolve(h, "y1").hex);
		fb_range_free(r);
	}
	fb_history_free(h);
	free(repo);
}

static void wrong_ends_are_told_apart(void **state)
{
	struct fb_error err = FB_ERROR_INIT;
	char *repo = in_dir("roots");
	struct fb_history *h;
	struct fb_range *r;
	struct fb_oid a1, z, i2, none = {"1234567890123456789012345678901234567890"};

	git_history(repo, "roots");
	h = open_history(repo);
	a1 = resolve(h, "a1");
	z = resolve(h, "z");
	i2 = resolve(h, "i2");
	assert_int_equal(fb_history_range(h, &a1, &z, 1, 0, &r, &err), -1);
	assert_non_null(strstr(err.text, a1.hex));
	assert_non_null(strstr(err.text, z.hex));
	assert_error(&err, FB_ERROR_USAGE, "is an ancestor of the good end");
	{
		struct fb_oid two[] = {i2, z};

		assert_int_equal(fb_history_range(h, &a1, two, 2, 0, &r, &err), -1);
		assert_error(&err, FB_ERROR_USAGE, z.hex);
	}
	assert_int_equal(fb_history_range(h, &a1, &a1, 1, 0, &r, &err), -1);
	assert_error(&err, FB_ERROR_USAGE, "both ends");
	assert_int_equal(fb_history_range(h, &z, &i2, 1, 0, &r, &err), -1);
	assert_error(&err, FB_ERROR_GIT, "no common history");
	assert_int_equal(fb_history_range(h, &z, &none, 1, 0, &r, &err), -1);
	assert_error(&err, FB_ERROR_DAMAGED, none.hex);
	assert_int_equal(fb_history_range(h, &z, NULL, 0, 0, &r, &err), -1);
	assert_error(&err, FB_ERROR_USAGE, "needs a good end");
	fb_history_free(h);
	free(repo);
}

/* The first @len bytes of the file of loose object @oid, or all when it is shorter. */
static void cut_object(const char *repo, const char *oid, long len)
{
	char *path = fb_xasprintf("%s/.git/objects/%.2s/%s", repo, oid, oid + 2);

	assert_int_equal(chmod(path, 0644), 0);
	assert_int_equal(truncate(path, len), 0);
	free(path);
}

static off_t size_of_object(const char *repo, const char *oid)
{
	char *path = fb_xasprintf("%s/.git/objects/%.2s/%s", repo, oid, oid + 2);
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	free(path);
	return st.st_size;
}

/* libgit2 1.5.1 alone reads such a commit for ever. */
static void object_that_ends_too_early_is_an_error(void **state)
{
	struct fb_error err = FB_ERROR_INIT;
	char *repo = in_dir("repo"), *shared = in_dir("shared"), *url, *brief;
	struct fb_oid end, start, mid, got;
	struct fb_commit c;
	struct fb_history *h;
	struct fb_range *r;

	git_history(repo, "roots");
	url = realpath(repo, NULL);
	git_run(".", "clone", "-q", "--shared", url, shared);
	h = open_history(repo);
	end = resolve(h, "z");
	mid = resolve(h, "a2");
	start = resolve(h, "a1");
	fb_history_free(h);
	/* The end of the checksum, half of it, nothing: a power cut leaves any of these. */
	for (off_t len = size_of_object(repo, mid.hex) - 1; len >= 0; len = len ? len / 2 : -1) {
		cut_object(repo, mid.hex, len);
		h = open_history(repo);
		assert_int_equal(fb_history_range(h, &end, &start, 1, 0, &r, &err), -1);
		assert_error(&err, FB_ERROR_DAMAGED, "is damaged");
		assert_int_equal(fb_history_commit(h, &mid, &c, &err), -1);
		assert_error(&err, FB_ERROR_DAMAGED, mid.hex + 2);
		assert_int_equal(fb_history_resolve(h, "a2", &got, &err), -1);
		assert_error(&err, FB_ERROR_DAMAGED, "is damaged");
		brief = fb_xasprintf("%.8s", mid.hex);
		assert_int_equal(fb_history_resolve(h, brief, &got, &err), -1);
		assert_error(&err, FB_ERROR_DAMAGED, "is damaged");
		free(brief);
		fb_history_free(h);
		h = open_history(shared);
		assert_int_equal(fb_history_commit(h, &mid, &c, &err), -1);
		assert_error(&err, FB_ERROR_DAMAGED, "is damaged");
		fb_history_free(h);
	}
	free(url);
	free(shared);
	free(repo);
}

/* What git reads from a pack it does not miss. */
static void object_in_a_pack_may_be_damaged_beside_it(void **state)
{
	struct fb_error err = FB_ERROR_INIT;
	char *repo = in_dir("repo");
	struct fb_commit c = {0};
	struct fb_history *h;
	struct fb_oid oid;

	git_history(repo, "roots");
	h = open_history(repo);
	oid = resolve(h, "a1");
	fb_history_free(h);
	git_run(repo, "repack", "-q", "-a");
	cut_object(repo, oid.hex, 40);
	h = open_history(repo);
	assert_ok(fb_history_commit(h, &oid, &c, &err), &err);
	assert_string_equal(c.oid.hex, oid.hex);
	fb_commit_release(&c);
	fb_history_free(h);
	free(repo);
}

static void shallow_clone_ends_where_it_was_cut(void **state)
{
	struct fb_error err = FB_ERROR_INIT;
	char *repo = in_dir("full"), *clone = in_dir("cut"), *url, *list;
	struct fb_oid good, bad;
	struct fb_history *h;
	struct fb_commit c;
	struct fb_range *r;
	uint32_t nr = 0;

	git_history(repo, "grid-5x5");
	url = fb_xasprintf("file://%s/%s", start_dir, repo);
	git_run(".", "clone", "-q", "--depth", "4", "--no-tags", url, clone);
	h = open_history(clone);
	bad = resolve(h, "HEAD");
	good = resolve(h, "HEAD^^");
	assert_ok(fb_history_range(h, &bad, &good, 1, 0, &r, &err), &err);
	list = git_out(clone, "rev-list", bad.hex, "--not", good.hex);
	for (char *l = list; l; l = strchr(l, '\n') ? strchr(l, '\n') + 1 : NULL) {
		uint32_t n = 0;

		while (n < r->nr && strncmp(r->oid[n].hex, l, 40))
			n++;
		assert_true(n < r->nr);
		nr++;
	}
	assert_int_equal(r->nr_candidates, nr);
	assert_true(nr > 3);
	for (uint32_t n = 0; n < r->nr; n++)
		if (r->parent_start[n] == r->parent_start[n + 1] &&
		    !listed(r->good, r->nr_good, n)) {
			assert_ok(fb_history_commit(h, &r->oid[n], &c, &err), &err);
			assert_true(c.nr_parents == 0 || !listed(&r->bad, 1, n));
			fb_commit_release(&c);
		}
	fb_range_free(r);

	/* c-1-4 is at the edge: its parents are named in it, but not there. */
	good = resolve(h, "HEAD^^^");
	assert_ok(fb_history_commit(h, &good, &c, &err), &err);
	assert_int_equal(c.nr_parents, 0);
	fb_commit_release(&c);
	assert_int_equal(fb_history_resolve(h, "HEAD~4", &good, &err), -1);
	assert_error(&err, FB_ERROR_GIT, "HEAD~4");
	fb_history_free(h);
	free(list);
	free(url);
	free(repo);
	free(clone);
}

static void range_of_100000_commits_is_quick(void **state)
{
	struct fb_error err = FB_ERROR_INIT;
	struct fb_str text = FB_STR_INIT;
	char *repo = in_dir("big"), *count;
	struct fb_oid good, bad;
	struct fb_history *h;
	struct fb_range *r;
	int64_t start_ns, took_ns;

	/* A line with a side branch of two commits, merged, every ten. */
	for (unsigned i = 1; i <= 110000; i++) {
		bool side = i % 10 == 3 || i % 10 == 4, merge = i % 10 == 5 && i > 10;
		unsigned from = i % 10 == 5 ? i - 3 : i - 1;

		fb_str_addf(&text,
			    "commit refs/heads/%s\nmark :%u\n"
			    "committer C O Mitter <committer@example.com> %u +0000\n"
			    "data <<E\nsubject %u: a line of the usual length, more or less\n\n"
			    "Signed-off-by: C O Mitter <committer@example.com>\nE\n",
			    side ? "side" : "main", i, 1000000000 + i * 60, i);
		if (i > 1)
			fb_str_addf(&text, "from :%u\n", from);
		if (merge)
			fb_str_addf(&text, "merge :%u\n", i - 1);
		if (i == 10000)
			fb_str_add(&text, "\nreset refs/tags/good\nfrom :10000\n");
	}
	git_import(repo, fb_str_cstr(&text));
	fb_str_release(&text);
	h = open_history(repo);
	good = resolve(h, "good");
	bad = resolve(h, "main");
	start_ns = fb_clock_mono_ns();
	assert_ok(fb_history_range(h, &bad, &good, 1, 0, &r, &err), &err);
	took_ns = fb_clock_mono_ns() - start_ns;
	count = git_out(repo, "rev-list", "--count", "main", "--not", "good");
	assert_int_equal(r->nr_candidates, atoi(count));
	assert_int_equal(r->nr_candidates, 100000);
	printf("# range of %u commits: %lld ms\n", r->nr, (long long)(took_ns / FB_NS_PER_MS));
	/* A second of CPU; the limit is for loaded machines and sanitizers. */
	assert_true(took_ns < 60 * FB_NS_PER_S);
	fb_range_free(r);
	fb_history_free(h);
	free(count);
	free(repo);
}

/* Names */

struct name_row {
	const char *rev;
	const char *want;  /* what `git rev-parse WANT` prints; NULL: an error */
	const char *error; /* in its text */
};

static const struct name_row name_rows[] = {
	{"z", "refs/tags/z"},
	{"main", "refs/heads/main"},
	{"HEAD~2", "HEAD~2"},
	{"HEAD^2", NULL, "'HEAD^2'"},
	{"m^2", "c2"},
	{"annotated", "z"},
	{"annotated^{commit}", "z"},
	{"refs/tags/a", "a"},
	{"@", "HEAD"},
	{"f668ca1", "a"},
	{"f668ca1e", NULL, "unknown revision 'f668ca1e'"},
	{"no-such-tag", NULL, "unknown revision 'no-such-tag'"},
	{"1234567890123456789012345678901234567890", NULL, "123456789012345678901234567890"},
	{"", NULL, "unknown revision ''"},
	{"-x", NULL, "unknown revision '-x'"},
	{"--all", NULL, "unknown revision '--all'"},
	{"--upload-pack=touch pwned", NULL, "unknown revision"},
	{"a..z", NULL, "'a..z'"},
	{"z^{tree}", NULL, "is a tree, not a commit"},
	{"z:f", NULL, "is a blob, not a commit"},
	{"to-tree", NULL, "is a tree, not a commit"},
	{"bad\nname\033[31m", NULL, "'bad?name?[31m'"},
	{"a b", NULL, "'a b'"},
	{"@{", NULL, "'@{'"},
	{"HEAD~99999999999999999999", NULL, "'HEAD~9"},
};

static void names_mean_what_git_says(void **state)
{
	char *repo = in_dir("diamond");
	struct fb_history *h;

	git_history(repo, "diamond");
	git_run(repo, "tag", "-a", "-m", "x", "annotated", "z");
	git_run(repo, "tag", "to-tree", "z^{tree}");
	h = open_history(repo);
	for (size_t i = 0; i < FB_ARRAY_SIZE(name_rows); i++) {
		const struct name_row *row = &name_rows[i];
		struct fb_error err = FB_ERROR_INIT;
		struct fb_oid oid = {"untouched"};
		char *want;

		if (fb_history_resolve(h, row->rev, &oid, &err) < 0) {
			if (row->want)
				fail_msg("'%s': %s", row->rev, err.text);
			assert_string_equal(oid.hex, "untouched");
			assert_error(&err, FB_ERROR_GIT, row->error);
			continue;
		}
		if (!row->want)
			fail_msg("'%s' is %s", row->rev, oid.hex);
		want = git_out(repo, "rev-parse", row->want);
		assert_string_equal(oid.hex, want);
		free(want);
	}
	assert_int_equal(access("pwned", F_OK), -1);
	fb_history_free(h);
	free(repo);
}

static void end_may_have_an_odd_author(void **state)
{
	/* libgit2 1.5.1: "malformed e-mail", "invalid Unix timestamp". */
	static const char *const authors[] = {"x", "<y> x +0000",
					      "x <y> 99999999999999999999 +0000"};
	char *repo = in_dir("repo"), *tree;
	struct fb_error err = FB_ERROR_INIT;
	struct fb_oid got;
	struct fb_history *h;

	git_history(repo, "roots");
	tree = git_out(repo, "rev-parse", "main^{tree}");
	for (size_t a = 0; a < FB_ARRAY_SIZE(authors); a++) {
		char *text = fb_xasprintf("tree %.40s\nauthor %s\n"
					  "committer C <c@example.com> 1112911993 +0000\n\nodd\n",
					  tree, authors[a]);
		char *oid = git_out_of(
			repo, text,
			git_args("hash-object", "-t", "commit", "-w", "--literally", "--stdin"));
		char *brief = fb_xasprintf("%.9s", oid);

		oid[40] = '\0';
		git_run(repo, "tag", "-f", "light", oid);
		git_run(repo, "tag", "-f", "-a", "-m", "x", "annotated", oid);
		git_run(repo, "tag", "-f", "-a", "-m", "x", "nested", "annotated");
		h = open_history(repo);
		const char *const names[] = {oid, brief, "light", "annotated", "nested"};
		for (size_t i = 0; i < FB_ARRAY_SIZE(names); i++) {
			assert_ok(fb_history_resolve(h, names[i], &got, &err), &err);
			assert_string_equal(got.hex, oid);
		}
		assert_int_equal(fb_history_holds(h, &got, "a", &err), 1);
		assert_int_equal(fb_history_holds(h, &got, "none", &err), 0);
		fb_history_free(h);
		free(brief);
		free(oid);
		free(text);
	}
	free(tree);
	free(repo);
}

static void abbreviation_of_several_objects_is_ambiguous(void **state)
{
	char *repo = in_dir("line"), *list, prefix[5];
	struct fb_error err = FB_ERROR_INIT;
	struct fb_str text = FB_STR_INIT;
	struct fb_history *h;
	struct fb_oid oid;
	unsigned seen[0x10000] = {0};
	bool found = false;

	/* 3000 objects and 65536 prefixes of four digits: some two are alike. */
	for (unsigned i = 1; i <= 3000; i++)
		fb_str_addf(&text,
			    "commit refs/heads/main\ncommitter C <c@example.com> %u +0000\n"
			    "data 0\n\n",
			    i);
	git_import(repo, fb_str_cstr(&text));
	fb_str_release(&text);
	list = git_out(repo, "rev-list", "main");
	for (char *l = list; l && !found; l = strchr(l, '\n') ? strchr(l, '\n') + 1 : NULL) {
		snprintf(prefix, sizeof(prefix), "%.4s", l);
		found = seen[strtoul(prefix, NULL, 16)]++;
	}
	assert_true(found);
	h = open_history(repo);
	assert_int_equal(fb_history_resolve(h, prefix, &oid, &err), -1);
	assert_error(&err, FB_ERROR_GIT, "several object names");
	fb_history_free(h);
	free(list);
	free(repo);
}

/* Facts */

struct text_row {
	const char *name;
	const char *head; /* header lines between the tree and the message; NULL: usual ones */
	const char *message;
	const char *subject;
	const char *author, *email;
	int64_t author_s;
};

#define AUTHOR	  "author A U Thor <author@example.com> 1112911993 -0700\n"
#define COMMITTER "committer C O Mitter <c@example.com> 1112912000 +0000\n"
#define THOR	  "A U Thor", "author@example.com", 1112911993

static const struct text_row text_rows[] = {
	{"plain", NULL, "fs: do it\n\nBecause.\n", "fs: do it", THOR},
	{"two lines are one subject", NULL, "fs: do\nit now \n\nx\n", "fs: do it now", THOR},
	{"blank lines come first", NULL, "\n \t\n\n  fs: do it  \n", "fs: do it", THOR},
	{"no newline", NULL, "fs", "fs", THOR},
	{"no message", NULL, "", "", THOR},
	{"only blanks", NULL, " \n\n \n", "", THOR},
	{"CRLF", NULL, "fs: do it\r\n\r\nx\r\n", "fs: do it", THOR},
	{"escape sequences", NULL, "a\033[31mb\007\177c\n", "a?[31mb??c", THOR},
	{"C1 controls", NULL,
	 "a\xc2\x9b"
	 "31mb\n",
	 "a?31mb", THOR},
	{"tabs", NULL, "a\tb\n", "a b", THOR},
	{"UTF-8", NULL, "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\n",
	 "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", THOR},
	{"bytes that are no UTF-8", NULL, "a\xff\xe9z\n", "a\xef\xbf\xbd\xef\xbf\xbdz", THOR},
	{"overlong", NULL, "a\xc0\xafz\n", "a\xef\xbf\xbd\xef\xbf\xbdz", THOR},
	{"surrogate", NULL, "\xed\xa0\x80\n", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd", THOR},
	{"cut off", NULL, "a\xe2\x82", "a\xef\xbf\xbd\xef\xbf\xbd", THOR},
	{"right to left override", NULL,
	 "a\xe2\x80\xae"
	 "cba\n",
	 "a?cba", THOR},
	{"line separator", NULL,
	 "a\xe2\x80\xa8"
	 "b\n",
	 "a b", THOR},
	{"header injection", NULL, "x\r\nBcc: all@example.com\n", "x Bcc: all@example.com", THOR},
	{"Latin-1", AUTHOR COMMITTER "encoding ISO-8859-1\n", "caf\xe9\n", "caf\xc3\xa9", THOR},
	{"Latin-1 author",
	 "author Ren\xe9 <r@example.com> 5 +0000\n" COMMITTER "encoding ISO-8859-1\n", "x", "x",
	 "Ren\xc3\xa9", "r@example.com", 5},
	{"EUC-JP", AUTHOR COMMITTER "encoding EUC-JP\n", "\xc6\xfc\n", "\xe6\x97\xa5", THOR},
	{"unknown encoding", AUTHOR COMMITTER "encoding ../x//y\n", "a\xe9\n", "a\xef\xbf\xbd",
	 THOR},
	{"signature with blank lines inside",
	 AUTHOR COMMITTER
	 "gpgsig -----BEGIN PGP SIGNATURE-----\n \n iQ\n -----END PGP SIGNATURE-----\n",
	 "subject\n", "subject", THOR},
	{"two authors", AUTHOR "author Z <z@example.com> 7 +0000\n" COMMITTER, "s", "s", THOR},
	{"no author", COMMITTER, "s", "s", "", "", 0},
	{"author without address", "author Somebody\n" COMMITTER, "s", "s", "Somebody", "", 0},
	{"author without date", "author S <s@example.com>\n" COMMITTER, "s", "s", "S",
	 "s@example.com", 0},
	{"date beyond 64 bits",
	 "author S <s@example.com> 99999999999999999999999 +0000\n" COMMITTER, "s", "s", "S",
	 "s@example.com", 0},
	{"author with controls", "author \033]0;S <s\r@x> 1 +0000\n" COMMITTER, "s", "s", "?]0;S",
	 "s @x", 1},
};

static struct fb_oid make_commit(const char *repo, const char *head, const char *message)
{
	char *tree = git_out(repo, "rev-parse", "main^{tree}");
	char *text = fb_xasprintf("tree %s\n%s\n%s", tree, head, message);
	char *hex =
		git_out_of(repo, text,
			   git_args("hash-object", "-t", "commit", "-w", "--literally", "--stdin"));
	struct fb_oid oid;

	snprintf(oid.hex, sizeof(oid.hex), "%s", hex);
	free(tree);
	free(text);
	free(hex);
	return oid;
}

static void text_of_commits_is_safe_to_show(void **state)
{
	char *repo = in_dir("line");
	struct fb_history *h;

	git_history(repo, "line-4");
	h = open_history(repo);
	for (size_t i = 0; i < FB_ARRAY_SIZE(text_rows); i++) {
		const struct text_row *row = &text_rows[i];
		struct fb_oid oid =
			make_commit(repo, row->head ? row->head : AUTHOR COMMITTER, row->message);
		struct fb_error err = FB_ERROR_INIT;
		struct fb_commit c;

		if (fb_history_commit(h, &oid, &c, &err) < 0)
			fail_msg("%s: %s", row->name, err.text);
		if (strcmp(c.subject, row->subject) || strcmp(c.author_name, row->author) ||
		    strcmp(c.author_email, row->email) || c.author_s != row->author_s)
			fail_msg("%s: '%s' by '%s' <%s> at %lld", row->name, c.subject,
				 c.author_name, c.author_email, (long long)c.author_s);
		assert_int_equal(c.commit_s, 1112912000);
		fb_commit_release(&c);
	}
	fb_history_free(h);
	free(repo);
}

static void huge_subject_is_cut_between_characters(void **state)
{
	char *repo = in_dir("line"), *message;
	struct fb_error err = FB_ERROR_INIT;
	struct fb_history *h;

	git_history(repo, "line-4");
	h = open_history(repo);
	message = fb_xmalloc(3000001);
	for (size_t i = 0; i < 1000000; i++)
		memcpy(message + 3 * i, "\xe2\x82\xac", 3);
	for (size_t shift = 0; shift < 3; shift++) {
		struct fb_commit c;
		struct fb_oid oid;

		memset(message, 'x', shift);
		memmove(message + shift, message + 3 * shift, 3000000 - 3 * shift);
		message[3000000 - 3 * shift] = '\0';
		oid = make_commit(repo, AUTHOR COMMITTER, message);
		assert_ok(fb_history_commit(h, &oid, &c, &err), &err);
		assert_true(strlen(c.subject) <= FB_TEXT_MAX);
		assert_true(strlen(c.subject) > FB_TEXT_MAX - 6);
		assert_string_equal(c.subject + strlen(c.subject) - 6, "\xe2\x82\xac\xe2\x80\xa6");
		fb_commit_release(&c);
	}
	/* One that just fits is whole. */
	message[0] = '\0';
	for (size_t i = 0; i < FB_TEXT_MAX; i++)
		message[i] = 'y';
	message[FB_TEXT_MAX] = '\0';
	{
		struct fb_oid oid = make_commit(repo, AUTHOR COMMITTER, message);
		struct fb_commit c;

		assert_ok(fb_history_commit(h, &oid, &c, &err), &err);
		assert_string_equal(c.subject, message);
		fb_commit_release(&c);
	}
	fb_history_free(h);
	free(message);
	free(repo);
}

static void facts_of_a_merge_are_git_s(void **state)
{
	char *repo = in_dir("octopus"), *tree, *oid_text;
	struct fb_error err = FB_ERROR_INIT;
	struct fb_oid oid, tree_oid;
	struct fb_history *h;
	struct fb_commit c;

	git_history(repo, "octopus");
	h = open_history(repo);
	oid = resolve(h, "o");
	tree = git_out(repo, "rev-parse", "o^{tree}");
	oid_text = git_out(repo, "rev-parse", "o");
	assert_ok(fb_history_commit(h, &oid, &c, &err), &err);
	assert_int_equal(c.nr_parents, 4);
	assert_string_equal(c.subject, "o");
	assert_string_equal(c.tree.hex, tree);
	assert_string_equal(c.oid.hex, oid_text);
	assert_int_equal(c.commit_s, 1112911993 + 5 * 86400);
	fb_commit_release(&c);
	snprintf(tree_oid.hex, sizeof(tree_oid.hex), "%s", tree);
	assert_int_equal(fb_history_commit(h, &tree_oid, &c, &err), -1);
	assert_error(&err, FB_ERROR_GIT, "is not a commit");
	fb_history_free(h);
	free(tree);
	free(oid_text);
	free(repo);
}

/* Repositories */

static void repository_is_found_from_any_place_in_it(void **state)
{
	char *repo = in_dir("diamond"), *sub = in_dir("diamond/sub/dir"), *bare = in_dir("bare");
	char *linked = in_dir("linked"), *gitdir, *want;
	struct fb_error err = FB_ERROR_INIT;
	struct fb_history *h;

	git_history(repo, "diamond");
	assert_ok(fb_mkdirs(sub, &err), &err);
	git_run(".", "clone", "-q", "--bare", repo, bare);
	git_run(repo, "worktree", "add", "-q", "--detach", "../linked", "b1");
	want = fb_xasprintf("%s/%s/.git", start_dir, repo);

	h = open_history(sub);
	assert_string_equal(fb_history_gitdir(h), want);
	gitdir = fb_xasprintf("%s/%s", start_dir, repo);
	assert_string_equal(fb_history_workdir(h), gitdir);
	free(gitdir);
	fb_history_free(h);

	h = open_history(linked);
	assert_string_equal(fb_history_gitdir(h), want);
	gitdir = fb_xasprintf("%s/%s", start_dir, linked);
	assert_string_equal(fb_history_workdir(h), gitdir);
	assert_string_equal(resolve(h, "HEAD").hex, resolve(h, "b1").hex);
	free(gitdir);
	fb_history_free(h);

	h = open_history(bare);
	gitdir = fb_xasprintf("%s/%s", start_dir, bare);
	assert_string_equal(fb_history_gitdir(h), gitdir);
	assert_string_equal(fb_history_workdir(h), gitdir);
	free(gitdir);
	fb_history_free(h);
	free(want);
	free(linked);
	free(bare);
	free(sub);
	free(repo);
}

static void must_not_open(const char *path, const char *text)
{
	struct fb_error err = FB_ERROR_INIT;
	struct fb_history *h = NULL;

	assert_int_equal(fb_history_open(path, &h, &err), -1);
	assert_null(h);
	assert_error(&err, FB_ERROR_GIT, text);
}

static void what_is_no_repository_for_us_is_one_error(void **state)
{
	char *sha256 = in_dir("sha256"), *linked = in_dir("sha256-linked"),
	     *bare = in_dir("sha256.git");
	char *broken = in_dir("broken"), *head = in_dir("broken/.git/config");
	struct fb_error err = FB_ERROR_INIT;

	must_not_open("no/such/dir", "'no/such/dir': No such file");
	must_not_open("/proc", "'/proc' is not in a git repository");

	git_run(".", "init", "-q", "--object-format=sha256", sha256);
	git_run(sha256, "commit", "-q", "--allow-empty", "-m", "x");
	git_run(sha256, "worktree", "add", "-q", "--detach", "../sha256-linked");
	must_not_open(sha256, "SHA-256");
	must_not_open(linked, "SHA-256");
	git_run(".", "init", "-q", "--bare", "--object-format=sha256", bare);
	must_not_open(bare, "SHA-256");

	git_run(".", "init", "-q", broken);
	assert_ok(fb_file_write(head, "[core\n", 6, &err), &err);
	must_not_open(broken, broken);
	free(sha256);
	free(linked);
	free(bare);
	free(broken);
	free(head);
}

static void repository_of_another_user_is_refused_by_its_rule(void **state)
{
	char *repo = in_dir("theirs"), *inner = in_dir("theirs/.git"), *real;
	struct fb_history *h;

	git_history(repo, "line-4");
	assert_int_equal(chown(repo, 12345, 12345), 0);
	assert_int_equal(chown(inner, 12345, 12345), 0);
	must_not_open(repo, "safe.directory");
	real = realpath(repo, NULL);
	git_run(".", "config", "--global", "--add", "safe.directory", real);
	h = open_history(repo);
	fb_history_free(h);
	free(real);
	free(inner);
	free(repo);
}

static void nothing(void **state)
{
}

/* With an argument: only the claims that match it (* and ?). */
int main(int argc, char **argv)
{
#define CLAIM(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
#define PAIRS(history)                                                                             \
	{                                                                                          \
		"range_of_each_pair_is_what_reachability_says: " history,                          \
			range_of_each_pair_is_what_reachability_says, setup, teardown,             \
			(void *)history                                                            \
	}
	struct CMUnitTest tests[] = {
		CLAIM(repository_of_another_user_is_refused_by_its_rule),
		PAIRS("line-4"),
		PAIRS("diamond"),
		PAIRS("grid-5x5"),
		PAIRS("octopus"),
		PAIRS("roots"),
		PAIRS("next"),
		CLAIM(range_of_random_histories_is_what_reachability_says),
		CLAIM(rebuilt_tag_has_its_merge_bases_in_the_range),
		CLAIM(wrong_ends_are_told_apart),
		CLAIM(object_that_ends_too_early_is_an_error),
		CLAIM(object_in_a_pack_may_be_damaged_beside_it),
		CLAIM(shallow_clone_ends_where_it_was_cut),
		CLAIM(range_of_100000_commits_is_quick),
		CLAIM(names_mean_what_git_says),
		CLAIM(end_may_have_an_odd_author),
		CLAIM(abbreviation_of_several_objects_is_ambiguous),
		CLAIM(text_of_commits_is_safe_to_show),
		CLAIM(huge_subject_is_cut_between_characters),
		CLAIM(facts_of_a_merge_are_git_s),
		CLAIM(repository_is_found_from_any_place_in_it),
		CLAIM(what_is_no_repository_for_us_is_one_error),
	};

	if (geteuid() != 0) {
		tests[0].name = "repository_of_another_user_is_refused # SKIP needs root for chown";
		tests[0].test_func = nothing;
	}
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests_name("history", tests, NULL, NULL);
}
