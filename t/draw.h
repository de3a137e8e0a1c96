/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Random draws for simulations in tests: the same ones on every machine. */
#ifndef FB_T_DRAW_H
#define FB_T_DRAW_H

#include <math.h>
#include <stdint.h>

/* splitmix64 (G. L. Steele, D. Lea and C. H. Flood, OOPSLA 2014). */
struct draw {
	uint64_t state;
};

static inline double draw_uniform(struct draw *d)
{
	uint64_t z = d->state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return ((double)((z ^ z >> 31) >> 11) + 0.5) * 0x1p-53;
}

static inline double draw_normal(struct draw *d)
{
	double r = sqrt(-2 * log(draw_uniform(d)));

	return r * cos(2 * M_PI * draw_uniform(d));
}

enum draw_shape { DRAW_NORMAL, DRAW_T3, DRAW_LOGNORMAL, DRAW_BIMODAL, DRAW_COUNTER, DRAW_SHAPES };

static const char *const draw_shape_name[] = {"normal", "t3", "lognormal", "bimodal", "counter"};

/* Mean 0 and variance 1; the counter takes few values, so many are equal. */
static inline double draw_noise(struct draw *d, enum draw_shape shape)
{
	double z = draw_normal(d), a, b, c;

	switch (shape) {
	case DRAW_T3:
		a = draw_normal(d);
		b = draw_normal(d);
		c = draw_normal(d);
		return z / sqrt(a * a + b * b + c * c); /* t3 over its SD, sqrt(3) */
	case DRAW_LOGNORMAL:
		return (exp(z) - exp(0.5)) / sqrt(exp(2) - exp(1));
	case DRAW_BIMODAL:
		return (draw_uniform(d) < 0.7 ? -0.6 : 1.4) + 0.4 * z;
	case DRAW_COUNTER:
		return (floor(draw_uniform(d) * 3) - 1) * sqrt(1.5);
	default:
		return z;
	}
}

#endif
