/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Running a command in the user's worktree. */
#include "src/controller/manual-run.h"

#include <stdlib.h>
#include <string.h>

#include "src/controller/outcome.h"
#include "src/util/file.h"
#include "src/util/proc.h"
#include "src/util/util.h"
#include "testcases/command.h"

static int take_values(const struct fb_values *values, const char *metric,
		       struct fb_manual_run *run, struct fb_error *err)
{
	size_t nr = 0, at = 0;

	for (size_t i = 0; i < values->nr; i++)
		if (!metric || !strcmp(values->v[i].metric, metric)) {
			at = i;
			nr++;
		}
	if (nr > 1)
		return fb_error_set(err, FB_ERROR_USAGE,
				    "the command prints several metrics: name one by --metric");
	if (nr) {
		run->values = fb_xcalloc(1, sizeof(*run->values));
		run->values[run->nr_values++] = values->v[at].value;
	}
	return 0;
}

int fb_manual_run(struct fb_manual *m, char *const *argv, const char *metric,
		  struct fb_manual_run *ret, struct fb_error *err)
{
	FB_CLEANUP(fb_proc_result_release) struct fb_proc_result result = {0};
	FB_CLEANUP(fb_manual_run_release) struct fb_manual_run run = {0};
	FB_CLEANUP(fb_values_release) struct fb_values values = {0};
	FB_CLEANUP(fb_str_release) struct fb_str out = FB_STR_INIT;
	FB_CLEANUP(fb_freep) char *path = fb_gitbisect_path(m->history, "BISECT_RUN");
	struct fb_proc_spec spec = {.argv = (const char *const *)argv,
				    .env = fb_proc_no_repository,
				    .dir = fb_history_workdir(m->history),
				    .out_path = path};

	if (fb_proc_run(&spec, &result, err) < 0)
		return -1;
	if (result.end == FB_PROC_LOST)
		return fb_error_set(err, FB_ERROR_INFRA, "nothing is known of how '%s' ended",
				    argv[0]);
	run.status =
		result.end == FB_PROC_SIGNALLED ? FB_STATUS_ABORT + result.status : result.status;
	if (fb_file_read(path, FB_LOG_MAX_B, &out, err) < 0)
		return -1;
	if (run.status == 0 && (fb_command_parse(fb_str_cstr(&out), out.len, &values, err) < 0 ||
				take_values(&values, metric, &run, err) < 0))
		return -1;
	run.output = fb_str_take(&out);
	*ret = run;
	memset(&run, 0, sizeof(run));
	return 0;
}

void fb_manual_run_release(struct fb_manual_run *run)
{
	free(run->values);
	free(run->output);
	memset(run, 0, sizeof(*run));
}
