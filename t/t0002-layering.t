#!/bin/sh
# Protects the layers: what a directory may include, call and print (doc/ARCHITECTURE.md).
. "${top_srcdir:-.}/t/test-lib.sh"

# includes DIR...: "FILE HEADER" for each #include "..." and <...> of the C files there.
includes()
{
	for dir; do
		find "$top_srcdir/$dir" -maxdepth 1 -name '*.[ch]'
	done | sort | while read -r file; do
		sed -n 's/^[[:space:]]*#[[:space:]]*include[[:space:]]*\(["<][^">]*[">]\).*/\1/p' \
			"$file" | sed "s|^|${file#"$top_srcdir/"} |"
	done
}

# may_include DIR PATTERN: every header that DIR takes from this project matches.
may_include()
{
	includes "$1" | grep '"' >all || :
	grep -vE " \"($2)\"\$" all >bad || :
	test ! -s bad || { cat bad; return 1; }
}

# only_user PATTERN DIR: no file outside DIR includes a header that matches.
only_user()
{
	(cd "$top_srcdir" && find bisect testcases reporters src t -name '*.[ch]') | sort >files
	grep -v "^$2" files | sed "s|^|$top_srcdir/|" |
		xargs grep -nE "^[[:space:]]*#[[:space:]]*include[[:space:]]*[\"<]$1[\">]" >bad || :
	test ! -s bad || { cat bad; return 1; }
}

# undefined ARCHIVE: the symbols that it needs from elsewhere, without the compiler's own helpers.
# The runtimes of the sanitizers and of gcov are the instrumentation's, not ours.
undefined()
{
	nm -P -g "$1" | awk '
		NF >= 2 && $2 == "U" { need[$1] = 1 }
		NF >= 2 && $2 != "U" { have[$1] = 1 }
		END { for (s in need) if (!(s in have)) print s }' |
		grep -vE '^(__(asan|ubsan|tsan|sanitizer|gcov|llvm)_|_GLOBAL_OFFSET_TABLE_$|__stack_chk_fail$|__tls_get_addr$)' |
		sort
}

# calls_none ARCHIVE PATTERN: no undefined symbol matches.
calls_none()
{
	undefined "$1" | grep -E "^($2)\$" >bad || :
	test ! -s bad || { sed "s|^|$1 needs |" bad; return 1; }
}

# shellcheck disable=SC2034 # used by the code of the claims
PRINT='(__)?v?d?f?printf(_chk)?|f?puts|f?putc|putchar|_IO_putc|perror|psignal|stdout|stderr|warn[cx]?|warnx|errx?|error|syslog'
# shellcheck disable=SC2034
RUN='v?fork|clone3?|exec(v|l|ve|vp|vpe|lp|le|veat)|fexecve|posix_spawnp?|system|popen|fb_proc_.*'
# shellcheck disable=SC2034
FILES='f?open(64)?(at)?|freopen|creat|mkstemps?|mkostemp|opendir|unlink|rename|fb_file_.*|fb_json_(load|save)|fb_mkdirs|fb_remove_tree|fb_dir_.*'
# shellcheck disable=SC2034
CLOCK='time|clock|clock_gettime|gettimeofday|timespec_get|fb_clock_.*'

cat >pure <<\END
# What bisect/ may need: arithmetic, memory, strings, sorting, and a library of
# distribution functions (Rmath). Nothing that reads, writes, waits or remembers.
(__)?mem(cpy|move|set|cmp)(_chk)?
str(len|cmp|ncmp|chr)
malloc|calloc|realloc|reallocarray|free|abort
qsort|bsearch
__assert_fail
(exp|exp2|expm1|log|log2|log10|log1p|pow|sqrt|cbrt|hypot|fabs|floor|ceil|round|trunc|rint|nearbyint|fmod|fmin|fmax|erfc?|l?lround|lgamma(_r)?|tgamma|sin|cos|tan|atan2?|ldexp|frexp|copysign|nextafter|tanh|isnan|isinf)f?
l?gammafn|lbeta|beta|l?choose|digamma|trigamma|[dpq](norm5?|norm_both|t|beta|gamma|binom|binom_raw|chisq|f|pois|nt|lnorm|unif|cauchy|logis|tukey|wilcox|signrank|nbinom|hyper|exp|weibull|geom)|R_(pow|pow_di|finite|isnancpp)|[pd]norm_both|log1pmx|logspace_(add|sub)|expm1|free(_wilcox|_signrank)
END

fb_expect 'bisect/ includes nothing of the rest' 'may_include bisect "bisect/[a-z0-9_-]+\.h"'
fb_expect 'bisect/ includes only headers without input, output and time' '
	includes bisect | grep "<" >all || :
	grep -vE " <(assert|errno|float|limits|math|stdbool|stddef|stdint|stdlib|string|Rmath)\.h>\$" all >bad || :
	test ! -s bad || { cat bad; false; }
'
fb_expect 'testcases/ uses src/util' 'may_include testcases "(testcases|src/util)/[a-z0-9_-]+\.h"'
fb_expect 'reporters/ uses src/util' 'may_include reporters "(reporters|src/util)/[a-z0-9_-]+\.h"'
fb_expect 'src/util uses nothing of the rest' 'may_include src/util "src/util/[a-z0-9_-]+\.h"'
fb_expect 'src/net uses src/util' '
	test ! -d "$top_srcdir/src/net" || may_include src/net "src/(net|util)/[a-z0-9_-]+\.h"
'
fb_expect 'src/plan knows the testcases, and no door' '
	may_include src/plan "(testcases|src/plan|src/util)/[a-z0-9_-]+\.h"
'
fb_expect 'src/history uses src/util' 'may_include src/history "src/(history|util)/[a-z0-9_-]+\.h"'
for door in build boot engine store; do
	fb_expect "src/$door sees others only by their doors" "
		may_include src/$door '(testcases|src/util|src/$door)/[a-z0-9_-]+\\.h|src/(build/build|boot/boot|boot/console|engine/engine|store/store|plan/plan)\\.h'
	"
done
fb_expect 'the agent does not know the controller' '
	may_include src/agent "(testcases|src/util|src/agent)/[a-z0-9_-]+\.h"
'
fb_expect 'the controller does not know the commands' '
	includes src/controller >all
	fb_grep ! "\"src/cmd/" all
'
fb_expect 'no library knows the commands' '
	includes bisect testcases reporters src/util src/plan src/history src/build src/boot src/engine \
		src/store src/agent >all
	fb_grep ! "\"src/(cmd|controller)/" all
'

fb_expect 'libgit2 has one user' 'only_user "git2(/.*)?\.h" src/history/'
fb_expect 'SQLite has one user' 'only_user "sqlite3\.h" src/store/'
fb_expect 'libcurl has one user' 'only_user "curl/.*" src/net/'
fb_expect 'libfyaml has one user' 'only_user "libfyaml\.h" src/plan/'
fb_expect 'libarchive has one user' 'only_user "archive(_entry)?\.h" src/boot/'
fb_expect 'liblzma has one user' 'only_user "lzma(/.*)?\.h" src/controller/xz'
fb_expect 'nettle has one door' 'only_user "nettle/.*" src/util/hash'
fb_expect 'Rmath is for statistics' 'only_user "Rmath\.h" "\(bisect/\|t/\)"'

# A library that the build has not got (yet) is named, so that the claim is not taken for kept.
for lib in bisect/libbisect.a testcases/libtestcases.a reporters/libreporters.a src/util/libutil.a; do
	test -e "$top_builddir/$lib" || echo "# no $lib in this build"
done

if test -e "$top_builddir/bisect/libbisect.a"; then
	fb_expect 'bisect/ needs no symbol beyond arithmetic and memory' '
		undefined "$top_builddir/bisect/libbisect.a" >need
		test -s need
		grep -v "^#" "$FB_SCRATCH/pure" | sed "s/.*/^(&)\$/" >allow
		grep -vE -f allow need >bad || :
		test ! -s bad || { cat bad; false; }
	'
	fb_expect 'bisect/ has no writable globals' '
		# Constant tables of pointers (.data.rel.ro) are no state.
		objdump -t "$top_builddir/bisect/libbisect.a" |
			awk "/ O / && \$(NF - 2) ~ /^(\\.t?(data|bss)|\\*COM\\*)/ &&
				\$(NF - 2) !~ /^\\.data\\.rel\\.ro/ { print \$NF }" >all
		grep -vE "^(__(asan|gcov|ubsan|odr_asan)|__odr|\.L|_?\.?gcov|Lubsan|\.?L?ubsan)" all >bad || :
		test ! -s bad || { cat bad; false; }
	'
else
	fb_skip 'bisect/ is pure' 'not in this build'
fi
if test -e "$top_builddir/testcases/libtestcases.a"; then
	fb_expect 'testcases/ runs no process' '
		calls_none "$top_builddir/testcases/libtestcases.a" "$RUN"
	'
fi
if test -e "$top_builddir/reporters/libreporters.a"; then
	fb_expect 'reporters/ opens no file and reads no clock' '
		calls_none "$top_builddir/reporters/libreporters.a" "$FILES|$CLOCK"
	'
fi

# The doors belong to one directory each by their symbols, too: a declaration copied by
# hand would get round the include rule.
archives=$(cd "$top_builddir" && find bisect testcases reporters src -name 'lib*.a' | sort)
for archive in $archives; do
	case $archive in
	src/cmd/* | src/agent/*) continue ;;
	esac
	lib=$top_builddir/$archive
	if [ "$archive" = src/util/libutil.a ]; then
		# fb_bug() prints before it aborts: take its object out.
		mkdir -p util && (cd util && ar x "$lib" && rm -f ./*error.o && ar cr ../util.a ./*.o)
		lib=$FB_SCRATCH/util.a
	fi
	fb_expect "$archive does not print" "calls_none '$lib' '$PRINT'"
	doors=
	case $archive in src/history/*) ;; *) doors="$doors|git_[a-z_]+" ;; esac
	case $archive in src/store/*) ;; *) doors="$doors|sqlite3_.*" ;; esac
	case $archive in src/net/*) ;; *) doors="$doors|curl_.*" ;; esac
	case $archive in src/plan/*) ;; *) doors="$doors|fy_.*" ;; esac
	fb_expect "$archive keeps to its own door" "calls_none '$lib' '${doors#|}'"
done

fb_expect 'the C files of the libraries do not name stdout or stderr' '
	find "$top_srcdir"/bisect "$top_srcdir"/testcases "$top_srcdir"/reporters \
		"$top_srcdir"/src -name "*.c" |
		grep -vE "/src/(cmd|agent)/|/src/main\.c$|/src/util/error\.c$" |
		xargs grep -nwE "stdout|stderr|printf|puts|perror" | grep -vE ":[[:space:]]*(/?\*|//)" |
		grep -vE "/\*.*(stdout|stderr).*\*/|\"[^\"]*(stdout|stderr)[^\"]*\"|(\.|->)(stdout|stderr)|format\(printf," >bad || :
	test ! -s bad || { cat bad; false; }
'

fb_expect 'the top level holds the directories of the architecture, and no other' '
	if git -C "$top_srcdir" rev-parse -q --verify HEAD >/dev/null 2>&1; then
		git -C "$top_srcdir" ls-tree --name-only -d HEAD >dirs
	else
		(cd "$top_srcdir" && find . -mindepth 1 -maxdepth 1 -type d | sed "s|^\./||") >dirs
	fi
	grep -vxE "\.ci|\.git|bisect|build(-.*)?|build-aux|autom4te\.cache|doc|kconfigs|man|reporters|scripts|src|t|testcases" dirs >bad || :
	test ! -s bad || { cat bad; false; }
	(cd "$top_srcdir" && find src -mindepth 1 -maxdepth 1 -type d) | sed "s|^src/||" >dirs
	grep -vxE "agent|boot|build|cmd|controller|engine|history|net|plan|store|util|\.deps" dirs >bad || :
	test ! -s bad || { cat bad; false; }
'

# The rules themselves: each must find what it is there for.
fb_expect 'an include that is not allowed is found' '
	real=$top_srcdir
	mkdir -p fake/bisect fake/src fake/t fake/testcases fake/reporters
	printf "#include \"src/util/str.h\"\n" >fake/bisect/x.c
	printf "  # include <git2.h>\n" >fake/src/y.c
	top_srcdir=$PWD/fake
	! may_include bisect "bisect/[a-z]+\.h" &&
	! only_user "git2(/.*)?\.h" src/history/ &&
	only_user "git2(/.*)?\.h" src/
'
if fb_have cc ar; then
	fb_expect 'a call that is not allowed is found in an archive' '
		printf "#include <stdio.h>\n#include <time.h>\nlong f(void);\nlong f(void) { puts(\"x\"); return (long)time(NULL); }\n" >z.c
		cc -c z.c && ar cr z.a z.o
		! calls_none z.a "$PRINT" &&
		! calls_none z.a "$CLOCK" &&
		calls_none z.a "$RUN"
	'
fi
fb_done
