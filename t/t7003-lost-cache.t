#!/bin/sh
# A cache that is deleted in the middle is one clear error, and the session goes on afterwards.
. "${top_srcdir:-.}/t/test-lib.sh"
. "$top_srcdir/t/world.sh"

XDG_CACHE_HOME=$FB_SCRATCH/cache
export XDG_CACHE_HOME
world_new 12
world_set 7 12 80
world_make
# Deletes the cache once, when ./lose is there.
sed -i '2i if [ -e "$FB_SCRATCH/lose" ] \&\& [ "$(wc -l <"$FB_SCRATCH/count")" -ge 4 ]; then rm -rf "$FB_SCRATCH/lose" "$FB_SCRATCH/cache" </dev/null; fi' bench
sed -i '2i speed=$(cat speed)' bench
sed -i 's/^speed=$(cat speed) || exit 1$/[ "$speed" ] || exit 1/' bench

fb_expect 'one error that says what happened and what to do, with status 75' '
	touch lose && rc=0 &&
	firstbad -C repo bisect auto -q --plan ../plan.yaml c12 c1 >out 2>err || rc=$?
	cat err && test "$rc" -eq 75 && test "$(wc -l <err)" -eq 1 &&
	fb_grep "^firstbad: .*cache.*was removed while it was in use: start again" err &&
	test ! -e lose
'
fb_expect 'the session goes on, with as many boots as one that lost nothing' '
	firstbad -C repo bisect auto -q >out && fb_grep "\"change 7\"" out &&
	wc -l <count >made && : >count && XDG_DATA_HOME=$FB_SCRATCH/clean &&
	firstbad -C repo bisect auto -q --plan ../plan.yaml c12 c1 >out &&
	wc -l <count >want && cmp made want
'
fb_done
