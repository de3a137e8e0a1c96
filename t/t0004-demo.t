#!/bin/sh
# Protects the history maker of ./demo: real pieces, a plant that stays, the same ids every time.
. "${top_srcdir:-.}/t/test-lib.sh"

fb_have perl git tar || fb_skip_all "no perl, git or tar"
demo=$top_srcdir/scripts/demo

# A kernel in small: two releases, with the places where the demo plants.
mkdir -p old/fs/ext4 old/fs/btrfs old/mm old/block old/include/linux old/kernel old/sound old/bin
cat >old/fs/ext4/inode.c <<\END
int ext4_write_inode(struct inode *inode, struct writeback_control *wbc)
{
		if (wbc->sync_mode != WB_SYNC_ALL || wbc->for_sync)
			return 0;
}
END
cat >old/fs/ext4/fsync.c <<\END
	else
		ret = ext4_fsync_journal(inode, datasync, &needs_barrier);

	if (needs_barrier) {
		err = blkdev_issue_flush(inode->i_sb->s_bdev);
	}
END
printf '\tbtrfs_release_log_ctx_extents(&ctx);\n\tif (ret < 0) {\n\t}\n' >old/fs/btrfs/file.c
cat >old/mm/filemap.c <<\END
ssize_t generic_perform_write(struct kiocb *iocb, struct iov_iter *i)
{
		copied = copy_page_from_iter_atomic(page, offset, bytes, i);
}
END
printf '\t\tif (!(fflags & (1UL << QUEUE_FLAG_FUA)) &&\n\t\t    (rq->cmd_flags & REQ_FUA))\n' >old/block/blk-flush.c
echo 'int shared(int a);' >old/include/linux/shared.h
for i in 1 2 3 4 5 6 7 8 9; do
	echo "int f$i(void) { return $i; }" >old/kernel/f$i.c
done
echo 'int shared(int a) { return a; }' >old/kernel/shared.c
echo 'all:' >old/Makefile
echo quiet >old/sound/driver.c
printf '#!/bin/sh\n' >old/bin/tool && chmod 755 old/bin/tool
ln -s tool old/bin/link
echo '/*' >old/.gitignore

cp -R old new
for f in new/fs/ext4/inode.c new/mm/filemap.c new/kernel/f[1-9].c; do
	echo "/* newer */" >>$f
done
echo 'int shared(int a, int b);' >new/include/linux/shared.h
echo 'int shared(int a, int b) { return a + b; }' >new/kernel/shared.c
# f3 needs what f5 defines: an order, and a pair that can be torn.
echo 'int fresh_function(int x) { return x; }' >>new/kernel/f5.c
echo 'int f3b(void) { return fresh_function(3); }' >>new/kernel/f3.c
echo loud >new/sound/driver.c
rm new/bin/link

{
	for f in fs/ext4/inode.c fs/ext4/fsync.c fs/btrfs/file.c mm/filemap.c block/blk-flush.c; do
		echo "$f"
	done
	(cd old && ls kernel/*.c)
} >compiled
git init -q --bare repo

import()
{
	tar -cf - "$1" | perl "$demo/import-tar.pl" "refs/src/$1" "release $1" ${2:+"$2"} |
		git -C repo fast-import --quiet
}

make_history()
{
	perl "$demo/make-history.pl" "$top/repo" refs/src/old refs/src/new "$top/compiled" "$1" "$2" "$top/$3"
}
top=$PWD

fb_expect 'a tarball becomes the tree that git itself would make of it' '
	tar -cf - old | perl "$demo/import-tar.pl" refs/src/old "release old" |
		git -C repo fast-import --quiet &&
	import new "$(git -C repo rev-parse refs/src/old)" &&
	for r in old new; do
		git init -q work-$r &&
		(cd $r && GIT_DIR=../work-$r/.git git --work-tree=. add -f -A . &&
			GIT_DIR=../work-$r/.git git write-tree) >want &&
		git -C repo rev-parse "refs/src/$r^{tree}" >got &&
		fb_cmp want got || exit 1
	done &&
	test "$(git -C repo rev-parse refs/src/new^)" = "$(git -C repo rev-parse refs/src/old)"
'
fb_expect 'a tar stream that ends early is refused' '
	tar -cf all.tar old && head -c 5000 all.tar >part.tar &&
	fb_must_fail perl "$demo/import-tar.pl" refs/src/x x <part.tar >out &&
	fb_must_fail perl "$demo/import-tar.pl" refs/src/x x </dev/null
'
fb_expect 'without a plant the history ends at the newer release' '
	make_history 1 none none.tsv &&
	test "$(git -C repo rev-parse "demo/1-none^{tree}")" = "$(git -C repo rev-parse "refs/src/new^{tree}")" &&
	! grep -w planted none.tsv
'
for kind in btrfs-fsync ext4-flush ext4-sync extra-flush write-cost; do
	fb_expect "$kind: only the plant is left at the end, and it came with one commit" "
		make_history 3 $kind $kind.tsv &&
		planted=\$(awk -F'\t' '\$3 == \"planted\" { print \$2 }' $kind.tsv) &&
		test -n \"\$planted\" &&
		git -C repo diff --name-only refs/src/new demo/3-$kind >names &&
		test \"\$(wc -l <names)\" -eq 1 &&
		git -C repo diff refs/src/new demo/3-$kind | grep '^[+-][^+-]' >plant &&
		git -C repo show \"\$planted\" | grep '^[+-][^+-]' >commit &&
		fb_cmp commit plant
	"
done
fb_expect 'the same arguments give the same commits in another repository' '
	git clone -q --mirror repo other 2>/dev/null &&
	for b in $(git -C other for-each-ref --format="%(refname)" refs/heads); do
		git -C other update-ref -d "$b"
	done &&
	make_history 5 ext4-sync a.tsv &&
	perl "$demo/make-history.pl" "$top/other" refs/src/old refs/src/new compiled 5 ext4-sync "$top/b.tsv" &&
	fb_cmp a.tsv b.tsv
'
fb_expect 'another seed gives another order and another place' '
	make_history 6 ext4-sync c.tsv &&
	cut -f3,4 a.tsv >a && cut -f3,4 c.tsv >c &&
	! cmp -s a c &&
	sort a >a.sorted && sort c >c.sorted && fb_cmp a.sorted c.sorted
'
fb_expect 'what a changed header needs comes with it, at the good end' '
	sed -n 2p a.tsv | cut -f3,4 >base &&
	fb_grep "^base" base && fb_grep "include/linux/shared.h" base && fb_grep "kernel/shared.c" base
'
fb_expect 'a pair is torn: the user of a new function comes before it' '
	DEMO_DEBUG=1 perl "$demo/make-history.pl" "$top/repo" refs/src/old refs/src/new compiled 5 none t.tsv 2>err &&
	fb_grep "order: kernel/f5.c before kernel/f3.c" err &&
	fb_grep "torn: kernel/f3.c ... kernel/f5.c" err &&
	test "$(grep -n kernel/f3.c t.tsv | cut -d: -f1)" -lt "$(grep -n kernel/f5.c t.tsv | cut -d: -f1)"
'
fb_expect 'a place for the plant that is not there is an error' '
	cp -R new gone && echo "int nothing;" >gone/fs/ext4/inode.c && import gone &&
	fb_must_fail perl "$demo/make-history.pl" "$top/repo" refs/src/old refs/src/gone compiled 1 ext4-sync x.tsv 2>err &&
	fb_grep "found 0 times" err
'
fb_expect 'unknown kinds and seeds are refused' '
	fb_must_fail make_history 1 nonsense x.tsv 2>err && fb_grep "no such kind" err &&
	fb_must_fail make_history -1 none x.tsv 2>err && fb_grep "not a number" err &&
	fb_must_fail 2 "$top_srcdir/demo" --seed x 2>err && fb_grep "takes a number" err &&
	fb_must_fail 2 "$top_srcdir/demo" --nonsense 2>err && fb_grep "^usage" err
'
fb_done
