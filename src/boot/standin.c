/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stand-ins for libraries; layout by the System V ABI and glibc's symbol versioning. */
#include "src/boot/standin.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/util/util.h"

#define NR_PHDRS   3
#define NR_DYNS	   10
#define SYMBOL_MAX 20000 /* fio uses about 100 of one library */

struct symbol {
	char *name;
	unsigned version; /* index in versions + 2; 1: none */
};

struct standin {
	const char *soname;
	struct symbol *symbols;
	size_t nr_symbols, cap_symbols;
	char **versions;
};

static void standin_release(struct standin *s)
{
	for (size_t i = 0; i < s->nr_symbols; i++)
		free(s->symbols[i].name);
	free(s->symbols);
	fb_strvp(&s->versions);
}

/* The parts of an open file that are looked at. */
struct object {
	int fd;
	Elf *elf;
	Elf_Data *dynsym, *versym, *verneed;
	size_t strndx, verneed_strndx, nr_symbols, nr_verneed;
};

static void object_close(struct object *o)
{
	if (o->elf)
		elf_end(o->elf);
	fb_closep(&o->fd);
}

static int object_open(const char *path, struct object *o, struct fb_error *err)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;

	*o = (struct object){.fd = open(path, O_RDONLY | O_CLOEXEC)};
	if (o->fd < 0)
		return fb_error_set_sys(err, errno, "open '%s'", path);
	elf_version(EV_CURRENT);
	o->elf = elf_begin(o->fd, ELF_C_READ_MMAP, NULL);
	while (o->elf && (scn = elf_nextscn(o->elf, scn))) {
		if (!gelf_getshdr(scn, &sh))
			continue;
		if (sh.sh_type == SHT_DYNSYM && sh.sh_entsize) {
			o->dynsym = elf_getdata(scn, NULL);
			o->nr_symbols = sh.sh_size / sh.sh_entsize;
			o->strndx = sh.sh_link;
		} else if (sh.sh_type == SHT_GNU_versym) {
			o->versym = elf_getdata(scn, NULL);
		} else if (sh.sh_type == SHT_GNU_verneed) {
			o->verneed = elf_getdata(scn, NULL);
			o->verneed_strndx = sh.sh_link;
			o->nr_verneed = sh.sh_info;
		}
	}
	if (!o->dynsym || o->nr_symbols > SYMBOL_MAX * 10) {
		object_close(o);
		return fb_error_set(err, FB_ERROR_INPUT, "'%s' has no dynamic symbols", path);
	}
	return 0;
}

/*
 * The version that number @ndx of the program's symbols stands for.
 * Return: 1 with its name, when it is one of @soname's; 0 otherwise.
 */
static int find_version(const struct object *o, const char *soname, unsigned ndx,
			const char **ret_name)
{
	GElf_Verneed need;
	int offset = 0;

	for (size_t i = 0; i < o->nr_verneed && gelf_getverneed(o->verneed, offset, &need); i++) {
		const char *file = elf_strptr(o->elf, o->verneed_strndx, need.vn_file);
		int aux_offset = offset + (int)need.vn_aux;
		GElf_Vernaux aux;

		for (unsigned k = 0; k < need.vn_cnt; k++) {
			if (!gelf_getvernaux(o->verneed, aux_offset, &aux))
				return 0;
			if (aux.vna_other == ndx && file && !strcmp(file, soname)) {
				*ret_name = elf_strptr(o->elf, o->verneed_strndx, aux.vna_name);
				return *ret_name != NULL;
			}
			aux_offset += (int)aux.vna_next;
		}
		offset += (int)need.vn_next;
	}
	return 0;
}

static unsigned version_index(struct standin *s, const char *name)
{
	size_t i;

	for (i = 0; s->versions && s->versions[i]; i++)
		if (!strcmp(s->versions[i], name))
			return (unsigned)i + 2;
	fb_strv_add(&s->versions, name);
	return (unsigned)i + 2;
}

/* 1: a function of the library; 0: it does not define it; -1: something else than a function. */
static int look_up(const struct object *library, const char *name)
{
	GElf_Sym sym;

	for (size_t i = 1; i < library->nr_symbols; i++) {
		const char *s;
		int type;

		if (!gelf_getsym(library->dynsym, (int)i, &sym) || sym.st_shndx == SHN_UNDEF)
			continue;
		s = elf_strptr(library->elf, library->strndx, sym.st_name);
		if (!s || strcmp(s, name))
			continue;
		type = GELF_ST_TYPE(sym.st_info);
		return type == STT_FUNC || type == STT_GNU_IFUNC ? 1 : -1;
	}
	return 0;
}

/*
 * What the program takes of the library. Undefined symbols are looked for, and defined ones
 * too: data that the program copies into itself (R_X86_64_COPY) is defined there.
 */
static int collect(struct standin *s, const struct object *program, const struct object *library)
{
	GElf_Sym sym;

	for (size_t i = 1; i < program->nr_symbols; i++) {
		const char *name, *version = NULL;
		GElf_Versym ndx = 0;
		int kind;

		if (!gelf_getsym(program->dynsym, (int)i, &sym))
			continue;
		name = elf_strptr(program->elf, program->strndx, sym.st_name);
		if (!name || !*name)
			continue;
		if (program->versym)
			gelf_getversym(program->versym, (int)i, &ndx);
		ndx &= 0x7fff;
		if (ndx > 1 && !find_version(program, s->soname, ndx, &version))
			continue; /* another library's */
		kind = look_up(library, name);
		if (kind < 0 && (sym.st_shndx == SHN_UNDEF || version))
			return 0;
		if (kind <= 0 || sym.st_shndx != SHN_UNDEF)
			continue;
		FB_GROW(s->symbols, s->nr_symbols, s->cap_symbols);
		s->symbols[s->nr_symbols++] =
			(struct symbol){fb_xstrdup(name), version ? version_index(s, version) : 1};
	}
	return 1;
}

/* The System V hash, also used for version names. */
static uint32_t elf_hash_of(const char *name)
{
	uint32_t h = 0;

	for (const unsigned char *p = (const unsigned char *)name; *p; p++) {
		uint32_t g;

		h = (h << 4) + *p;
		g = h & 0xf0000000;
		h = (h ^ (g >> 24)) & ~g;
	}
	return h;
}

static uint32_t add_string(struct fb_str *strings, const char *text)
{
	uint32_t offset = (uint32_t)strings->len;

	fb_str_addn(strings, text, strlen(text) + 1);
	return offset;
}

static void align(struct fb_str *s)
{
	while (s->len % 16)
		fb_str_addc(s, '\0');
}

static void add_verdef(struct fb_str *out, unsigned ndx, unsigned flags, const char *name,
		       uint32_t name_offset, bool last)
{
	Elf64_Verdef def = {.vd_version = VER_DEF_CURRENT,
			    .vd_flags = (Elf64_Half)flags,
			    .vd_ndx = (Elf64_Half)ndx,
			    .vd_cnt = 1,
			    .vd_hash = elf_hash_of(name),
			    .vd_aux = sizeof(def),
			    .vd_next = last ? 0 : sizeof(def) + sizeof(Elf64_Verdaux)};
	Elf64_Verdaux aux = {.vda_name = name_offset};

	fb_str_addn(out, (const char *)&def, sizeof(def));
	fb_str_addn(out, (const char *)&aux, sizeof(aux));
}

/* One segment that holds all: it is small, and the loader writes into the dynamic section. */
static void write_object(const struct standin *s, struct fb_str *ret)
{
	static const char code[16] = "\x0f\x0b"; /* ud2 */
	size_t nr_versions = fb_strv_len(s->versions), nr = s->nr_symbols + 1;
	uint64_t symtab, hash, versym, verdef, strtab, dynamic, text, end;
	struct fb_str strings = FB_STR_INIT, body = FB_STR_INIT, defs = FB_STR_INIT;
	uint32_t soname;
	Elf64_Ehdr eh = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
				     EV_CURRENT},
			 .e_type = ET_DYN,
			 .e_machine = EM_X86_64,
			 .e_version = EV_CURRENT,
			 .e_phoff = sizeof(eh),
			 .e_ehsize = sizeof(eh),
			 .e_phentsize = sizeof(Elf64_Phdr),
			 .e_phnum = NR_PHDRS,
			 .e_shentsize = sizeof(Elf64_Shdr)};
	uint64_t base = (sizeof(eh) + NR_PHDRS * sizeof(Elf64_Phdr) + 15) / 16 * 16;

	/* Where the code will be must be known for the symbols: all of fixed size before it. */
	text = base;
	symtab = text + sizeof(code);
	hash = (symtab + nr * sizeof(Elf64_Sym) + 15) / 16 * 16;
	fb_str_addn(&strings, "", 1);
	soname = add_string(&strings, s->soname);
	fb_str_addn(&body, code, sizeof(code));
	for (size_t i = 0; i < nr; i++) {
		Elf64_Sym sym = {0};

		if (i) {
			sym.st_name = add_string(&strings, s->symbols[i - 1].name);
			sym.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
			sym.st_shndx = 1;
			sym.st_value = text;
			sym.st_size = 2;
		}
		fb_str_addn(&body, (const char *)&sym, sizeof(sym));
	}
	align(&body);
	/* One bucket: a chain through all symbols. */
	{
		uint32_t head[3] = {1, (uint32_t)nr, nr > 1 ? 1 : 0};

		fb_str_addn(&body, (const char *)head, sizeof(head));
		for (size_t i = 0; i < nr; i++) {
			uint32_t next = i && i + 1 < nr ? (uint32_t)i + 1 : 0;

			fb_str_addn(&body, (const char *)&next, sizeof(next));
		}
	}
	align(&body);
	versym = base + body.len;
	for (size_t i = 0; i < nr; i++) {
		Elf64_Half v = i ? (Elf64_Half)s->symbols[i - 1].version : 0;

		fb_str_addn(&body, (const char *)&v, sizeof(v));
	}
	align(&body);
	verdef = base + body.len;
	add_verdef(&defs, 1, VER_FLG_BASE, s->soname, soname, nr_versions == 0);
	for (size_t i = 0; i < nr_versions; i++)
		add_verdef(&defs, (unsigned)i + 2, 0, s->versions[i],
			   add_string(&strings, s->versions[i]), i + 1 == nr_versions);
	fb_str_addn(&body, defs.buf, defs.len);
	align(&body);
	strtab = base + body.len;
	fb_str_addn(&body, strings.buf, strings.len);
	align(&body);
	dynamic = base + body.len;
	{
		const Elf64_Dyn dyn[NR_DYNS] = {
			{DT_SONAME, {soname}},
			{DT_HASH, {hash}},
			{DT_SYMTAB, {symtab}},
			{DT_STRTAB, {strtab}},
			{DT_STRSZ, {strings.len}},
			{DT_SYMENT, {sizeof(Elf64_Sym)}},
			{DT_VERSYM, {versym}},
			{DT_VERDEF, {verdef}},
			{DT_VERDEFNUM, {nr_versions + 1}},
			{DT_NULL, {0}},
		};

		fb_str_addn(&body, (const char *)dyn, sizeof(dyn));
	}
	end = base + body.len;
	{
		const Elf64_Phdr ph[NR_PHDRS] = {
			{.p_type = PT_LOAD,
			 .p_flags = PF_R | PF_W | PF_X,
			 .p_filesz = end,
			 .p_memsz = end,
			 .p_align = 4096},
			{.p_type = PT_DYNAMIC,
			 .p_flags = PF_R | PF_W,
			 .p_offset = dynamic,
			 .p_vaddr = dynamic,
			 .p_paddr = dynamic,
			 .p_filesz = NR_DYNS * sizeof(Elf64_Dyn),
			 .p_memsz = NR_DYNS * sizeof(Elf64_Dyn),
			 .p_align = 8},
			/* Without it the loader would ask for an executable stack. */
			{.p_type = PT_GNU_STACK, .p_flags = PF_R | PF_W, .p_align = 16},
		};

		fb_str_addn(ret, (const char *)&eh, sizeof(eh));
		fb_str_addn(ret, (const char *)ph, sizeof(ph));
	}
	align(ret);
	fb_str_addn(ret, body.buf, body.len);
	fb_str_release(&strings);
	fb_str_release(&body);
	fb_str_release(&defs);
}

int fb_standin_make(const char *program, const char *library, const char *soname,
		    struct fb_str *ret, struct fb_error *err)
{
	struct object p, l;
	struct standin s = {.soname = soname};
	int rc;

	if (object_open(program, &p, err) < 0)
		return -1;
	if (object_open(library, &l, err) < 0) {
		object_close(&p);
		return -1;
	}
	rc = collect(&s, &p, &l);
	if (rc > 0 && s.nr_symbols > SYMBOL_MAX)
		rc = 0;
	if (rc > 0)
		write_object(&s, ret);
	standin_release(&s);
	object_close(&p);
	object_close(&l);
	return rc;
}
