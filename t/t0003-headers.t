#!/bin/sh
# Protects readers of one file: each header compiles alone, and twice in one file.
. "${top_srcdir:-.}/t/test-lib.sh"

fb_have cc pkg-config || fb_skip_all "no cc or pkg-config"
flags=$(pkg-config --cflags libgit2 zlib jansson sqlite3 libfyaml libarchive libRmath nettle cmocka 2>/dev/null) ||
	flags=

for header in $(cd "$top_srcdir" && find bisect testcases reporters src t -name '*.h' | sort); do
	fb_expect "$header stands alone, and twice" "
		printf '#include \"%s\"\n#include \"%s\"\n' '$header' '$header' >one.c
		# A header with only macros or prototypes leaves an empty unit: that is fine.
		cc -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -Werror -Wno-unused-parameter \
			-fsyntax-only -I '$top_srcdir' $flags one.c
	"
done
fb_expect 'a header that needs another one first is found' '
	printf "size_t f(void);\n" >bad.h
	printf "#include \"bad.h\"\n" >bad.c
	! cc -std=gnu11 -fsyntax-only -I . bad.c
'
fb_expect 'a header without a guard is found' '
	printf "struct twice { int i; };\n" >bad.h
	printf "#include \"bad.h\"\n#include \"bad.h\"\n" >bad.c
	! cc -std=gnu11 -fsyntax-only -I . bad.c
'
fb_done
