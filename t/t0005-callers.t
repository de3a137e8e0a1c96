#!/bin/sh
# Protects: a function is public because another file needs it; tests alone are no reason.
. "${top_srcdir:-.}/t/test-lib.sh"

fb_have comm nm || fb_skip_all "comm and nm are needed"

# Function names in code: bodies and initializers are indented, in the kernel's style.
names()
{
	grep -hE '^	' "$@" | grep -oE '\bfb_[a-z0-9_]+' | sort -u
}

cd "$top_srcdir" || fb_die "no $top_srcdir"
find bisect testcases reporters src -name '*.h' -exec sed -n \
	'/^typedef/d; s/^[a-z].*[ *]\(fb_[a-z0-9_]*\)(.*/\1/p' {} + | sort -u >"$FB_SCRATCH/declared"
find bisect testcases reporters src -name '*.c' >"$FB_SCRATCH/sources"
# shellcheck disable=SC2046 # no blanks in the names of the project's files
{
	names $(cat "$FB_SCRATCH/sources")
	grep -rh '^#define' bisect testcases reporters src --include='*.h' | grep -oE '\bfb_[a-z0-9_]+'
} | sort -u >"$FB_SCRATCH/used"
# shellcheck disable=SC2046
names $(find t -name '*.[ch]') >"$FB_SCRATCH/tested"
cd "$FB_SCRATCH" || fb_die "no $FB_SCRATCH"

# Those that wait for the caller that they were written for. May only shrink.
sort >allowed <<-END
END

fb_expect 'there are functions and uses of them' '
	test "$(wc -l <declared)" -gt 150 && test "$(wc -l <used)" -gt 150
'
fb_expect 'every public function has a caller beside the tests' '
	comm -23 declared used >uncalled && comm -23 uncalled allowed >bad && cat bad && test ! -s bad
'
fb_expect 'those that are let off have none' '
	comm -23 declared used >uncalled && comm -13 uncalled allowed >bad && cat bad && test ! -s bad
'

# A free and its freep are one interface, whichever is used.
fb_expect 'what no other file and no test names is static' '
	(cd "$top_builddir" && find bisect src testcases reporters -name "*.o" -exec nm -P -g {} +) >symbols &&
	sed -n "s/^\(fb_[a-z0-9_]*\) U.*/\1/p" symbols | sort -u >needed &&
	comm -23 declared needed | comm -23 - tested | grep -v "_freep\?$" | comm -23 - allowed >bad || :
	cat bad && test -s needed && test ! -s bad
'

fb_done
