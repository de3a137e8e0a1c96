/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What of an ELF file a machine would load, as a hash. */
#include "src/build/signature.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/util/util.h"

/* include/xen/interface/elfnote.h: XEN_ELFNOTE_PHYS32_ENTRY; QEMU looks for it too. */
#define NOTE_PHYS32_ENTRY 18

/*
 * struct bug_entry of include/asm-generic/bug.h with CONFIG_DEBUG_BUGVERBOSE and
 * relative pointers: address 4, file 4, line 2, flags 2 bytes.
 */
#define BUG_ENTRY_B 12
#define BUG_LINE_AT 8

struct elf {
	int fd;
	Elf *e;
	GElf_Ehdr head;
	size_t names; /* section with the section names */
};

static void elf_close(struct elf *f)
{
	if (f->e)
		elf_end(f->e);
	if (f->fd >= 0)
		close(f->fd);
}

static int bad(const char *path, struct fb_error *err)
{
	return fb_error_set(err, FB_ERROR_INPUT, "ELF file '%s': %s", path, elf_errmsg(-1));
}

static int elf_open(const char *path, struct elf *f, struct fb_error *err)
{
	if (elf_version(EV_CURRENT) == EV_NONE)
		return bad(path, err);
	f->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (f->fd < 0)
		return fb_error_set_sys(err, errno, "open '%s'", path);
	f->e = elf_begin(f->fd, ELF_C_READ_MMAP, NULL);
	if (!f->e)
		return bad(path, err);
	if (elf_kind(f->e) != ELF_K_ELF)
		return fb_error_set(err, FB_ERROR_INPUT, "'%s' is no ELF file", path);
	if (!gelf_getehdr(f->e, &f->head) || elf_getshdrstrndx(f->e, &f->names) < 0)
		return bad(path, err);
	return 0;
}

static bool is_loaded(const GElf_Shdr *sh)
{
	return (sh->sh_flags & SHF_ALLOC) && sh->sh_type != SHT_NOTE;
}

static void add_u64(struct fb_hash *hash, uint64_t v)
{
	fb_hash_add(hash, &v, sizeof(v));
}

static int add_contents(struct fb_hash *hash, struct elf *f, const char *path, Elf_Scn *scn,
			const char *name, bool bug_lines, struct fb_error *err)
{
	Elf_Data *data = elf_rawdata(scn, NULL);
	FB_CLEANUP(fb_freep) unsigned char *copy = NULL;

	if (!data)
		return bad(path, err);
	if (bug_lines || strcmp(name, "__bug_table") != 0 || data->d_size % BUG_ENTRY_B != 0 ||
	    f->head.e_machine != EM_X86_64) {
		fb_hash_add(hash, data->d_buf, data->d_size);
		return 0;
	}
	copy = fb_xmalloc(data->d_size);
	memcpy(copy, data->d_buf, data->d_size);
	for (size_t at = BUG_LINE_AT; at < data->d_size; at += BUG_ENTRY_B)
		memset(copy + at, 0, 2);
	fb_hash_add(hash, copy, data->d_size);
	return 0;
}

/* A symbol by what it means: its name, or its section and place when it is local. */
static int add_symbol(struct fb_hash *hash, struct elf *f, const char *path, Elf_Data *syms,
		      size_t strings, size_t i, struct fb_error *err)
{
	GElf_Sym sym;
	GElf_Shdr sh;
	const char *name;

	if (!gelf_getsym(syms, (int)i, &sym))
		return bad(path, err);
	if (sym.st_shndx == SHN_UNDEF || sym.st_shndx >= SHN_LORESERVE) {
		name = elf_strptr(f->e, strings, sym.st_name);
		fb_hash_add_str(hash, name);
	} else {
		Elf_Scn *scn = elf_getscn(f->e, sym.st_shndx);

		if (!scn || !gelf_getshdr(scn, &sh))
			return bad(path, err);
		name = elf_strptr(f->e, f->names, sh.sh_name);
		fb_hash_add_str(hash, name);
	}
	if (!name)
		return bad(path, err);
	add_u64(hash, sym.st_value);
	return 0;
}

static int add_relocations(struct fb_hash *hash, struct elf *f, const char *path, Elf_Scn *scn,
			   const GElf_Shdr *sh, struct fb_error *err)
{
	Elf_Scn *symscn = elf_getscn(f->e, sh->sh_link);
	Elf_Data *data = elf_getdata(scn, NULL), *syms;
	GElf_Shdr symsh;

	if (!symscn || !gelf_getshdr(symscn, &symsh) || !data ||
	    !(syms = elf_getdata(symscn, NULL)))
		return bad(path, err);
	for (size_t i = 0; i < sh->sh_size / sh->sh_entsize; i++) {
		GElf_Rela rela = {0};
		GElf_Rel rel;

		if (sh->sh_type == SHT_RELA) {
			if (!gelf_getrela(data, (int)i, &rela))
				return bad(path, err);
		} else {
			if (!gelf_getrel(data, (int)i, &rel))
				return bad(path, err);
			rela.r_offset = rel.r_offset;
			rela.r_info = rel.r_info;
		}
		add_u64(hash, rela.r_offset);
		add_u64(hash, GELF_R_TYPE(rela.r_info));
		add_u64(hash, (uint64_t)rela.r_addend);
		if (add_symbol(hash, f, path, syms, symsh.sh_link, GELF_R_SYM(rela.r_info), err) <
		    0)
			return -1;
	}
	return 0;
}

static int add_section(struct fb_hash *hash, struct elf *f, const char *path, Elf_Scn *scn,
		       bool bug_lines, struct fb_error *err)
{
	GElf_Shdr sh, target;
	const char *name;

	if (!gelf_getshdr(scn, &sh) || !(name = elf_strptr(f->e, f->names, sh.sh_name)))
		return bad(path, err);
	if (is_loaded(&sh)) {
		fb_hash_add_str(hash, name);
		add_u64(hash, sh.sh_flags);
		add_u64(hash, sh.sh_size);
		return sh.sh_type == SHT_NOBITS
			       ? 0
			       : add_contents(hash, f, path, scn, name, bug_lines, err);
	}
	if (f->head.e_type == ET_REL && (sh.sh_type == SHT_RELA || sh.sh_type == SHT_REL) &&
	    sh.sh_entsize) {
		Elf_Scn *t = elf_getscn(f->e, sh.sh_info);

		if (!t || !gelf_getshdr(t, &target))
			return bad(path, err);
		if (!is_loaded(&target))
			return 0;
		fb_hash_add_str(hash, name);
		return add_relocations(hash, f, path, scn, &sh, err);
	}
	return 0;
}

int fb_signature_add(struct fb_hash *hash, const char *path, bool bug_lines, struct fb_error *err)
{
	FB_CLEANUP(elf_close) struct elf f = {.fd = -1};
	Elf_Scn *scn = NULL;

	if (elf_open(path, &f, err) < 0)
		return -1;
	while ((scn = elf_nextscn(f.e, scn)) != NULL)
		if (add_section(hash, &f, path, scn, bug_lines, err) < 0)
			return -1;
	return 0;
}

int fb_signature_has_pvh(const char *path, struct fb_error *err)
{
	FB_CLEANUP(elf_close) struct elf f = {.fd = -1};
	size_t nr = 0;

	if (elf_open(path, &f, err) < 0)
		return -1;
	if (elf_getphdrnum(f.e, &nr) < 0)
		return bad(path, err);
	for (size_t i = 0; i < nr; i++) {
		GElf_Phdr ph;
		Elf_Data *data;
		GElf_Nhdr note;
		size_t at = 0, name_at, desc_at;

		if (!gelf_getphdr(f.e, (int)i, &ph))
			return bad(path, err);
		if (ph.p_type != PT_NOTE || !ph.p_filesz)
			continue;
		data = elf_getdata_rawchunk(f.e, (int64_t)ph.p_offset, ph.p_filesz, ELF_T_NHDR);
		if (!data)
			return bad(path, err);
		while ((at = gelf_getnote(data, at, &note, &name_at, &desc_at)) > 0)
			if (note.n_type == NOTE_PHYS32_ENTRY && note.n_namesz == 4 &&
			    !memcmp((char *)data->d_buf + name_at, "Xen", 4))
				return 1;
	}
	return 0;
}
