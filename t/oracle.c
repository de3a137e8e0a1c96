/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The search by brute force: written to be obvious, not to be fast. */
#include "t/oracle.h"

#include <math.h>
#include <string.h>

#define MATHLIB_STANDALONE
#include <Rmath.h>

uint32_t oracle_random(uint64_t *state)
{
	/* Knuth's MMIX generator; the high half. */
	*state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(*state >> 33);
}

void oracle_dag_random(struct oracle_dag *dag, uint64_t seed)
{
	uint64_t state = seed * 2654435761u + 12345;
	bool has_child[ORACLE_MAX] = {false};

	memset(dag, 0, sizeof(*dag));
	oracle_random(&state);
	dag->nr = 2 + oracle_random(&state) % (ORACLE_MAX - 1);
	for (uint32_t v = 1; v < dag->nr; v++) {
		uint32_t back = v < 3 ? v : 3;
		uint32_t first = v - 1 - oracle_random(&state) % back;

		dag->parent[v][dag->nr_parents[v]++] = first;
		if (v > 1 && oracle_random(&state) % 3 == 0) {
			uint32_t second = oracle_random(&state) % v;

			if (second != first)
				dag->parent[v][dag->nr_parents[v]++] = second;
		}
		if (v == dag->nr - 1) /* the tip takes in a loose end, if there is one */
			for (uint32_t u = 0; u < v; u++)
				if (!has_child[u] && u != first && dag->nr_parents[v] < 3 &&
				    (dag->nr_parents[v] < 2 || dag->parent[v][1] != u))
					dag->parent[v][dag->nr_parents[v]++] = u;
		for (size_t i = 0; i < dag->nr_parents[v]; i++)
			has_child[dag->parent[v][i]] = true;
	}
}

bool oracle_reaches(const struct oracle_dag *dag, uint32_t from, uint32_t to)
{
	if (from == to)
		return true;
	for (size_t i = 0; i < dag->nr_parents[from]; i++)
		if (oracle_reaches(dag, dag->parent[from][i], to))
			return true;
	return false;
}

#define MAX_BOOTS 64

/* Solves a symmetric positive system for one right side by elimination; returns log det. */
static double solve(size_t n, double m[MAX_BOOTS][MAX_BOOTS], const double *y, double *x)
{
	static double a[MAX_BOOTS][MAX_BOOTS + 1];
	double log_det = 0;

	for (size_t i = 0; i < n; i++) {
		for (size_t j = 0; j < n; j++)
			a[i][j] = m[i][j];
		a[i][n] = y[i];
	}
	for (size_t k = 0; k < n; k++) {
		log_det += log(a[k][k]);
		for (size_t i = k + 1; i < n; i++) {
			double f = a[i][k] / a[k][k];

			for (size_t j = k; j <= n; j++)
				a[i][j] -= f * a[k][j];
		}
	}
	for (size_t i = n; i-- > 0;) {
		x[i] = a[i][n];
		for (size_t j = i + 1; j < n; j++)
			x[i] -= a[i][j] * x[j];
		x[i] /= a[i][i];
	}
	return log_det;
}

/* The density of the shift: log-uniform over 15 doublings, and flat down to 0.7 of the least. */
static double shift_prior(double shift, double min_shift, int direction)
{
	double total = (15 * M_LN2 + 0.3) * (direction ? 1 : 2);

	shift = direction ? direction * shift : fabs(shift);
	return shift < 0.7 * min_shift ? 0 : 1 / fmax(shift, min_shift) / total;
}

/* The midpoint rule, in steps of 1/50 of the scale. */
double oracle_average_prior(double shift, double scale, double df, double min_shift, int direction)
{
	double sum = 0;

	for (int i = -2000; i < 2000; i++) {
		double z = (i + 0.5) / 50;

		sum += dt(z, df, 0) / 50 * shift_prior(shift + z * scale, min_shift, direction);
	}
	return sum;
}

/* log p(boots | one hypothesis, rho), up to a constant that all hypotheses share. */
static double log_lik(const bool *new, const uint32_t *image, const struct oracle_sample *s,
		      size_t n, double rho, double min_shift, int direction)
{
	static double cov[MAX_BOOTS][MAX_BOOTS];
	double y[MAX_BOOTS] = {0}, one[2][MAX_BOOTS], iy[MAX_BOOTS], i1[2][MAX_BOOTS];
	double g[2][2] = {{0}}, b[2] = {0}, mean[2], det, rss = 0, log_det, shape, rate;
	double shift, scale;

	for (size_t i = 0; i < n; i++) {
		y[i] = s[i].value;
		one[0][i] = !new[s[i].node];
		one[1][i] = new[s[i].node];
		for (size_t j = 0; j < n; j++)
			cov[i][j] = (i == j) + rho * (image[s[i].node] == image[s[j].node]);
	}
	log_det = solve(n, cov, y, iy);
	solve(n, cov, one[0], i1[0]);
	solve(n, cov, one[1], i1[1]);
	for (size_t i = 0; i < n; i++)
		for (int p = 0; p < 2; p++) {
			b[p] += one[p][i] * iy[i];
			for (int q = 0; q < 2; q++)
				g[p][q] += one[p][i] * i1[q][i];
		}
	det = g[0][0] * g[1][1] - g[0][1] * g[1][0];
	mean[0] = (g[1][1] * b[0] - g[0][1] * b[1]) / det;
	mean[1] = (g[0][0] * b[1] - g[1][0] * b[0]) / det;
	for (size_t i = 0; i < n; i++)
		y[i] -= mean[new[s[i].node]];
	solve(n, cov, y, iy);
	for (size_t i = 0; i < n; i++)
		rss += y[i] * iy[i];
	shape = ORACLE_PRIOR_SHAPE + ((double)n - 2) / 2;
	rate = ORACLE_PRIOR_SHAPE * 0.01 * min_shift * min_shift + rss / 2;
	shift = mean[1] - mean[0];
	scale = sqrt(rate / shape * (g[0][0] + g[1][1] + 2 * g[0][1]) / det);
	return -log_det / 2 - log(det) / 2 + lgammafn(shape) - shape * log(rate) +
	       log(oracle_average_prior(shift, scale, 2 * shape, min_shift, direction));
}

/* One side's likelihood for each centre of a grid, its noise a split t with 3 degrees. */
#define GRID 25

static void side_lik(const bool *new, bool side, const struct oracle_sample *s, size_t n,
		     double lean, double scale, double centre, double step, double ret[GRID])
{
	for (int i = 0; i < GRID; i++) {
		ret[i] = 1;
		for (size_t j = 0; j < n; j++) {
			double off = s[j].value - (centre + (i - GRID / 2) * step);
			double z = off / scale / (off > 0 ? sqrt(lean) : 1 / sqrt(lean));

			if (new[s[j].node] == side)
				ret[i] *= dt(z, 3, 0) * sqrt(2 * M_PI) / scale * 2 /
					  (sqrt(lean) + 1 / sqrt(lean));
		}
	}
}

/* The same for heavy tails: a sum over a grid of both centres and the scale. */
static double log_lik_tails(const bool *new, const struct oracle_sample *s, size_t n, double lean,
			    double min_shift, int direction)
{
	double centre[2], nr[2] = {0}, sum = 0,
			  rate = ORACLE_PRIOR_SHAPE * 0.01 * min_shift * min_shift;
	double spread, scale;

	/* Centres: medians, by counting; spread: the mean distance from them. */
	for (int g = 0; g < 2; g++) {
		double least = INFINITY;

		centre[g] = 0;
		for (size_t i = 0; i < n; i++) {
			double off = 0;

			nr[g] += new[s[i].node] == g;
			for (size_t j = 0; j < n; j++)
				if (new[s[j].node] == g)
					off += fabs(s[j].value - s[i].value);
			if (new[s[i].node] == g && off < least) {
				least = off;
				centre[g] = s[i].value;
			}
		}
	}
	spread = 0;
	for (size_t i = 0; i < n; i++)
		spread += fabs(s[i].value - centre[new[s[i].node]]) / (double)n;
	for (int k = -14; k <= 14; k++) {
		double lik[2][GRID], step[2], both = 0;

		scale = spread * exp(k / 7.0);
		for (int g = 0; g < 2; g++) {
			/* Wide enough for a lone boot's tails, near enough for the peak of many. */
			step[g] = 0.5 * (scale + spread) / sqrt(nr[g]);
			side_lik(new, g, s, n, lean, scale, centre[g], step[g], lik[g]);
		}
		for (int i = 0; i < GRID; i++)
			for (int j = 0; j < GRID; j++)
				both += lik[0][i] * lik[1][j] *
					shift_prior(centre[1] + (j - GRID / 2) * step[1] -
							    centre[0] - (i - GRID / 2) * step[0],
						    min_shift, direction);
		/* d(scale^2) = 2 scale^2 d(log scale). */
		sum += both * step[0] * step[1] / (2 * M_PI) * 2 / 7.0 *
		       pow(scale * scale, -ORACLE_PRIOR_SHAPE) * exp(-rate / (scale * scale));
	}
	return log(sum);
}

/* Which nodes may be the step: between the ends, and no two of one image on different sides. */
static void find_possible(const struct oracle_dag *dag, uint32_t good, uint32_t bad,
			  const uint32_t *image, bool ret[ORACLE_MAX])
{
	for (uint32_t c = 0; c < dag->nr; c++) {
		ret[c] = oracle_reaches(dag, bad, c) && !oracle_reaches(dag, good, c);
		for (uint32_t v = 0; v < dag->nr; v++)
			for (uint32_t w = 0; w < dag->nr; w++)
				if (image[v] == image[w] &&
				    oracle_reaches(dag, v, c) != oracle_reaches(dag, w, c))
					ret[c] = false;
	}
}

void oracle_posterior(const struct oracle_dag *dag, uint32_t good, uint32_t bad,
		      const uint32_t *image, const struct oracle_sample *sample, size_t nr,
		      double min_shift, int direction, const double *place, double ret[ORACLE_MAX],
		      double *ret_tails)
{
	static const double rho[] = {0, 0.25, 1}, lean[] = {1, 4, 0.25};
	static const double prior[] = {0.57, 0.02, 0.01, 0.1, 0.1, 0.1};
	double l[ORACLE_MAX][6], best = -INFINITY, sum = 0, tails = 0;
	bool possible[ORACLE_MAX];

	find_possible(dag, good, bad, image, possible);
	for (uint32_t c = 0; c < dag->nr; c++) {
		bool new[ORACLE_MAX];

		ret[c] = 0;
		for (uint32_t v = 0; v < dag->nr; v++)
			new[v] = oracle_reaches(dag, v, c);
		for (int r = 0; possible[c] && r < 6; r++) {
			l[c][r] = log(prior[r]) + log(place ? place[c] : 1) +
				  (r < 3 ? log_lik(new, image, sample, nr, rho[r], min_shift,
						   direction)
					 : log_lik_tails(new, sample, nr, lean[r - 3], min_shift,
							 direction));
			if (l[c][r] > best)
				best = l[c][r];
		}
	}
	for (uint32_t c = 0; c < dag->nr; c++)
		for (int r = 0; possible[c] && r < 6; r++) {
			ret[c] += exp(l[c][r] - best);
			tails += r < 3 ? 0 : exp(l[c][r] - best);
		}
	for (uint32_t c = 0; c < dag->nr; c++)
		sum += ret[c];
	for (uint32_t c = 0; c < dag->nr; c++)
		ret[c] /= sum;
	*ret_tails = tails / sum;
}

/* The sample of one counter at one end; returns how many. */
static size_t end_of(const uint32_t *image, uint32_t end, uint32_t counter,
		     const struct oracle_count *count, size_t nr, double *ret)
{
	size_t n = 0;

	for (size_t i = 0; i < nr; i++)
		if (count[i].counter == counter && image[count[i].node] == image[end])
			ret[n++] = count[i].value;
	return n;
}

static double mean_of(const double *x, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += x[i];
	return sum / (double)n;
}

/* Every value of one sample is so far from every one of the other; and Student's test. */
static bool ends_differ(const double *a, size_t na, const double *b, size_t nb, double level)
{
	double within = 0, gap = INFINITY, range = 0, t;

	if (na < 3 || nb < 3)
		return false;
	for (size_t i = 0; i < na; i++)
		for (size_t j = 0; j < nb; j++)
			gap = fmin(gap,
				   mean_of(a, na) < mean_of(b, nb) ? b[j] - a[i] : a[i] - b[j]);
	for (size_t i = 0; i < na; i++) {
		within += pow(a[i] - mean_of(a, na), 2);
		for (size_t j = 0; j < na; j++)
			range = fmax(range, a[i] - a[j]);
	}
	for (size_t i = 0; i < nb; i++) {
		within += pow(b[i] - mean_of(b, nb), 2);
		for (size_t j = 0; j < nb; j++)
			range = fmax(range, b[i] - b[j]);
	}
	if (!(gap > 0) || gap < 3 * range)
		return false;
	t = fabs(mean_of(a, na) - mean_of(b, nb)) /
	    sqrt(within / (double)(na + nb - 2) * (1.0 / (double)na + 1.0 / (double)nb));
	return pt(-t, (double)(na + nb - 2), 1, 0) * 2 <= level;
}

/* The median of an image on the way from one level to the other: 0 old, 1 new, -1 neither. */
static int side_of(const uint32_t *image, uint32_t node, uint32_t counter,
		   const struct oracle_count *count, size_t nr, double old, double new)
{
	double x[64], at;
	size_t n = end_of(image, node, counter, count, nr, x);

	if (!n)
		return -1;
	for (size_t i = 0; i < n; i++)
		for (size_t j = i + 1; j < n; j++)
			if (x[j] < x[i]) {
				double swap = x[i];

				x[i] = x[j];
				x[j] = swap;
			}
	at = ((n % 2 ? x[n / 2] : (x[n / 2 - 1] + x[n / 2]) / 2) - old) / (new - old);
	if (at > -1.0 / 3 && at < 1.0 / 3)
		return 0;
	return at > 2.0 / 3 && at < 4.0 / 3 ? 1 : -1;
}

void oracle_place(const struct oracle_dag *dag, uint32_t good, uint32_t bad, const uint32_t *image,
		  const struct oracle_count *count, size_t nr, double ret[ORACLE_MAX],
		  bool ret_used[ORACLE_COUNTERS])
{
	int said[ORACLE_COUNTERS][ORACLE_MAX], both = 0, different = 0;
	double q[ORACLE_MAX], a[64], b[64], nr_possible = 0;
	bool possible[ORACLE_MAX];

	find_possible(dag, good, bad, image, possible);
	for (uint32_t k = 0; k < ORACLE_COUNTERS; k++)
		both += end_of(image, good, k, count, nr, a) && end_of(image, bad, k, count, nr, b);
	for (uint32_t c = 0; c < dag->nr; c++) {
		nr_possible += possible[c];
		ret[c] = 0;
	}
	for (uint32_t k = 0; k < ORACLE_COUNTERS; k++) {
		size_t na = end_of(image, good, k, count, nr, a);
		size_t nb = end_of(image, bad, k, count, nr, b);
		bool repeats = false;
		double sum = 0;

		ret_used[k] = ends_differ(a, na, b, nb, 1e-4 / both);
		if (!ret_used[k])
			continue;
		for (uint32_t v = 0; v < dag->nr; v++)
			said[k][v] =
				side_of(image, v, k, count, nr, mean_of(a, na), mean_of(b, nb));
		for (uint32_t j = 0; j < k; j++)
			repeats = repeats || (ret_used[j] && !memcmp(said[j], said[k],
								     dag->nr * sizeof(said[k][0])));
		if (repeats)
			continue;
		different++;
		for (uint32_t c = 0; c < dag->nr; c++) {
			q[c] = possible[c];
			/* Each image once: by its first node. */
			for (uint32_t v = 0; v < dag->nr; v++) {
				bool first = true;

				for (uint32_t w = 0; w < v; w++)
					first = first && image[w] != image[v];
				if (first && said[k][v] >= 0)
					q[c] *= said[k][v] == oracle_reaches(dag, v, c) ? 0.99
											: 0.01;
			}
			sum += q[c];
		}
		for (uint32_t c = 0; c < dag->nr; c++)
			ret[c] += q[c] / sum;
	}
	for (uint32_t c = 0; c < dag->nr; c++)
		ret[c] = different ? 0.5 * ret[c] / different + 0.5 / nr_possible : 1;
}

bool oracle_told_apart(const struct oracle_dag *dag, uint32_t bad, const bool *skip, uint32_t a,
		       uint32_t b)
{
	for (uint32_t v = 0; v < dag->nr; v++)
		if (!skip[v] && oracle_reaches(dag, bad, v) &&
		    oracle_reaches(dag, v, a) != oracle_reaches(dag, v, b))
			return true;
	return false;
}

/* The rates that one side may have, with weights: 64 points of Beta(3/2, 3/2) and a sure one. */
static size_t rates_of(double known, double sure, double rate[65], double weight[65])
{
	if (!isnan(known)) {
		rate[0] = known;
		weight[0] = 1;
		return 1;
	}
	for (int i = 0; i < 64; i++) {
		rate[i] = (1 - cos((2 * i + 1) * M_PI / 128)) / 2;
		weight[i] = 0.95 / 64 * 8 * rate[i] * (1 - rate[i]);
	}
	rate[64] = sure;
	weight[64] = 0.05;
	return 65;
}

void oracle_posterior_binary(const struct oracle_dag *dag, uint32_t good, uint32_t bad,
			     const struct oracle_sample *sample, size_t nr, double min_effect,
			     double known_old, double known_new, double ret[ORACLE_MAX])
{
	double old[65], old_weight[65], new[65], new_weight[65], sum = 0;
	size_t nr_old = rates_of(known_old, 0, old, old_weight);
	size_t nr_new = rates_of(known_new, 1, new, new_weight);

	for (uint32_t c = 0; c < dag->nr; c++) {
		ret[c] = 0;
		if (!oracle_reaches(dag, bad, c) || oracle_reaches(dag, good, c))
			continue;
		for (size_t i = 0; i < nr_old; i++)
			for (size_t j = 0; j < nr_new; j++) {
				double p = old_weight[i] * new_weight[j];

				if (nr_old * nr_new > 1 && new[j] - old[i] < min_effect / 2)
					continue;
				for (size_t k = 0; k < nr; k++) {
					double one = oracle_reaches(dag, sample[k].node, c)
							     ? new[j]
							     : old[i];

					p *= sample[k].value > 0 ? one : 1 - one;
				}
				ret[c] += p;
			}
		sum += ret[c];
	}
	for (uint32_t c = 0; c < dag->nr; c++)
		ret[c] /= sum;
}
