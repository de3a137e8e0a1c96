#!/bin/sh
# Protects the test library itself: a claim that does not hold must come out as "not ok".
. "${top_srcdir:-.}/t/test-lib.sh"

# nested NAME <CODE: runs CODE as a test file of its own; TAP in NAME.tap, status in NAME.status.
nested()
{
	{
		echo '. "$top_srcdir/t/test-lib.sh"'
		cat
	} >"$1.t"
	rc=0
	FB_SCRATCH_ROOT=$PWD sh "./$1.t" >"$1.tap" 2>"$1.err" || rc=$?
	echo "$rc" >"$1.status"
}

fb_expect 'a claim that holds is ok' '
	nested holds <<-\END &&
	fb_expect "truth" "true"
	fb_done
	END
	fb_grep "^ok 1 - truth$" holds.tap &&
	fb_grep "^1\.\.1$" holds.tap &&
	test "$(cat holds.status)" -eq 0
'

fb_expect 'a claim that does not hold is not ok, and its code and output are shown' '
	nested fails <<-\END &&
	fb_expect "falsehood" "echo reason; false"
	fb_done
	END
	fb_grep "^not ok 1 - falsehood$" fails.tap &&
	fb_grep "^#.*reason" fails.tap &&
	test "$(cat fails.status)" -eq 1 &&
	test -d scratch.fails
'

fb_expect 'a command that fails in the middle fails the claim' '
	nested middle <<-\END &&
	fb_expect "first" "false
		true"
	fb_done
	END
	fb_grep "^not ok 1" middle.tap
'

fb_expect 'a claim with a syntax error does not pass' '
	nested syntax <<-\END &&
	fb_expect "syntax" "if true; then"
	fb_done
	END
	fb_grep ! "^ok" syntax.tap
'

fb_expect 'an unfinished file has no plan' '
	nested unfinished <<-\END &&
	fb_expect "truth" "true"
	exit 0
	END
	fb_grep ! "^1\.\." unfinished.tap
'

fb_expect 'fb_must_fail wants a refusal, not a success, a crash or a missing command' '
	fb_must_fail false &&
	fb_must_fail 3 sh -c "exit 3" &&
	! fb_must_fail 2 sh -c "exit 3" &&
	! fb_must_fail true &&
	! fb_must_fail sh -c "kill -SEGV \$\$" &&
	! fb_must_fail no-such-command
'

fb_expect 'fb_grep finds, and with ! wants nothing found in a file that exists' '
	printf "one\ntwo\n" >lines &&
	fb_grep "^t.o$" lines &&
	! fb_grep three lines &&
	fb_grep ! three lines &&
	! fb_grep ! two lines &&
	! fb_grep ! two missing &&
	! fb_grep two missing
'

fb_expect 'fb_cmp tells equal files from different ones' '
	echo a >a && echo a >a2 && echo b >b &&
	fb_cmp a a2 &&
	! fb_cmp a b
'

fb_expect 'a skipped file says why, and cannot skip after a claim' '
	nested skips <<-\END &&
	fb_skip_all "no such tool"
	END
	fb_grep "^1\.\.0 # SKIP no such tool$" skips.tap &&
	nested late <<-\END &&
	fb_expect "truth" "true"
	fb_skip_all "too late"
	END
	fb_grep "^Bail out!" late.tap
'

fb_expect 'a known fault that holds after all is reported as such' '
	nested todo <<-\END &&
	fb_expect_broken "broken" "false"
	fb_expect_broken "mended" "true"
	fb_done
	END
	fb_grep "^not ok 1 - broken # TODO" todo.tap &&
	fb_grep "^ok 2 - mended # TODO" todo.tap
'

fb_expect 'settings of the user do not reach a test' '
	test "$HOME" = "$FB_SCRATCH/home" &&
	test "$(git config --get user.name || echo none)" = none &&
	test -z "${GIT_DIR-}${NO_COLOR-}"
'

fb_expect 'a history has the same ids wherever it is loaded' '
	fb_history line-4 one && fb_history line-4 two &&
	test "$(git -C one rev-parse main)" = "$(git -C two rev-parse main)" &&
	test "$(git -C one rev-list --count main)" -eq 4 &&
	test -e one/file &&
	! fb_history no-such-history three
'
fb_done
