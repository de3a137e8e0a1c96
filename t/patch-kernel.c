/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * patch-kernel IN OUT SYMBOL HEX: a copy of a vmlinux whose function SYMBOL begins with the
 * given machine code. So a real kernel really oopses, hangs or resets when told to.
 */
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/util/file.h"

/* The symbol's offset in the file, or -1. */
static off_t find(Elf *elf, const char *name)
{
	Elf_Scn *scn = NULL;
	GElf_Addr addr = 0;
	GElf_Shdr sh;
	GElf_Phdr ph;
	size_t nr;

	while ((scn = elf_nextscn(elf, scn))) {
		Elf_Data *data;
		GElf_Sym sym;

		if (!gelf_getshdr(scn, &sh) || sh.sh_type != SHT_SYMTAB)
			continue;
		data = elf_getdata(scn, NULL);
		for (int i = 0; data && gelf_getsym(data, i, &sym); i++) {
			const char *s = elf_strptr(elf, sh.sh_link, sym.st_name);

			if (s && !strcmp(s, name))
				addr = sym.st_value;
		}
	}
	if (!addr || elf_getphdrnum(elf, &nr) < 0)
		return -1;
	for (size_t i = 0; i < nr && gelf_getphdr(elf, (int)i, &ph); i++)
		if (ph.p_type == PT_LOAD && addr >= ph.p_vaddr && addr < ph.p_vaddr + ph.p_filesz)
			return (off_t)(addr - ph.p_vaddr + ph.p_offset);
	return -1;
}

int main(int argc, char **argv)
{
	struct fb_error err = FB_ERROR_INIT;
	unsigned char code[64];
	size_t len = 0;
	off_t offset;
	Elf *elf;
	int fd;

	if (argc != 5)
		return 2;
	for (const char *p = argv[4]; p[0] && p[1] && len < sizeof(code); p += 2) {
		char hex[3] = {p[0], p[1], '\0'};

		code[len++] = (unsigned char)strtoul(hex, NULL, 16);
	}
	if (fb_file_copy(argv[1], argv[2], &err) < 0) {
		fprintf(stderr, "patch-kernel: %s\n", err.text);
		return 1;
	}
	fd = open(argv[2], O_RDWR | O_CLOEXEC);
	elf_version(EV_CURRENT);
	elf = fd < 0 ? NULL : elf_begin(fd, ELF_C_READ, NULL);
	offset = elf ? find(elf, argv[3]) : -1;
	if (offset < 0 || pwrite(fd, code, len, offset) != (ssize_t)len) {
		fprintf(stderr, "patch-kernel: no '%s' in '%s'\n", argv[3], argv[1]);
		return 1;
	}
	elf_end(elf);
	return close(fd) < 0;
}
