/* SPDX-License-Identifier: GPL-2.0-or-later */
/* False discovery control: as R has it. */
#include "t/test.h"

#include "bisect/fdr.h"

/* R 4.2.2: p.adjust(pmin(1, 1 / e), "BH") */
static void adjusted_as_by_r(void **state)
{
	static const double e[] = {3, 500, 0.2, 40, 40, 1200, 1, 7};
	static const double want[] = {
		0.4444444444444444198, 0.0080000000000000002, 1, 0.0500000000000000028,
		0.0500000000000000028, 0.0066666666666666671, 1, 0.2285714285714285643};
	double log_e[8], got[8];

	for (int i = 0; i < 8; i++)
		log_e[i] = log(e[i]);
	assert_int_equal(fb_fdr_adjust(log_e, 8, got), 0);
	for (int i = 0; i < 8; i++)
		assert_near(got[i], want[i], 1e-12);
}

static void no_evidence_and_too_much(void **state)
{
	static const double log_e[] = {-INFINITY, 5000, 0};
	double got[3];

	assert_int_equal(fb_fdr_adjust(log_e, 3, got), 0);
	assert_near(got[0], 1, 0);
	assert_near(got[1], 0, 0);
	assert_near(got[2], 1, 0);
	assert_int_equal(fb_fdr_adjust(NULL, 0, NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(adjusted_as_by_r),
		cmocka_unit_test(no_evidence_and_too_much),
	};

	return cmocka_run_group_tests_name("fdr", tests, NULL, NULL);
}
