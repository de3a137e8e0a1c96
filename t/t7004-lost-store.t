#!/bin/sh
# A store that is deleted or replaced in the middle is one clear error, and no verdict.
. "${top_srcdir:-.}/t/test-lib.sh"
. "$top_srcdir/t/world.sh"

world_new 12
world_set 7 12 80
world_make
# at BOOT CODE: CODE runs once, in that boot.
at()
{
	: >count
	printf '#!/bin/sh\nif [ "$(wc -l <"$FB_SCRATCH/count")" -eq %d ]; then %s; fi\nexec "$FB_SCRATCH/bench"\n' \
		"$1" "$2" >lose
	chmod +x lose
	sed -i "s,command: /.*,command: $FB_SCRATCH/lose," plan.yaml
}

lost()
{
	cat err && test "$(wc -l <err)" -eq 1 && test ! -s out &&
		fb_grep "^firstbad: .*store '.*' was removed or replaced while it was in use" err
}

fb_expect 'deleted: one error, with status 74, and no answer' '
	at 3 "rm -f \"$XDG_DATA_HOME\"/firstbad/store.db*" &&
	fb_must_fail 74 firstbad -C repo bisect auto -q --plan ../plan.yaml c12 c1 >out 2>err && lost
'
fb_expect 'replaced: the same' '
	at 3 "(cd \"$XDG_DATA_HOME\"/firstbad; mv store.db old; cp old store.db)" &&
	fb_must_fail 74 firstbad -C repo bisect auto -q --plan ../plan.yaml c12 c1 >out 2>err && lost
'
fb_expect 'also in the search by exit status' '
	printf "#!/bin/sh\nrm -f \"$XDG_DATA_HOME\"/firstbad/store.db*\ntest \$(cat other) -lt 7\n" >run &&
	chmod +x run &&
	fb_must_fail 74 firstbad -C repo bisect run -q --good c1 "$FB_SCRATCH/run" >out 2>err && lost
'
fb_expect 'begun again, the search comes to its end' '
	at 3 : && firstbad -C repo bisect auto -q --plan ../plan.yaml c12 c1 >out &&
	fb_grep "\"change 7\"" out
'
fb_done
