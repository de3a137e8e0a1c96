/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From a checked-out source tree to a cached kernel image.
 *
 * An image is named by what went into it: tree id, kernel config asked for, toolchain,
 * fixups. It appears in the cache whole or not at all. Its signature covers what a machine
 * would load, so that commits that build the same kernel are known as such.
 */
#ifndef FB_BUILD_BUILD_H
#define FB_BUILD_BUILD_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "src/util/error.h"
#include "src/util/hash.h"

struct fb_build_spec {
	char *src;	    /* source tree; only fixups are applied to it, and taken back */
	char *tree_id;	    /* git id of its tree */
	char *objdir;	    /* O= directory, reused from step to step; empty or made here before */
	char *cache;	    /* image cache root */
	char *config_base;  /* "tinyconfig", "defconfig" or the path of a .config */
	char **fragments;   /* paths of config fragments, merged in order; may be NULL */
	char **fixups;	    /* paths of patches applied before building; may be NULL; see fixup.h */
	unsigned jobs;	    /* make -j; 0: one for each CPU */
	int64_t timeout_ns; /* whole build; 0: none */
};

enum fb_build_outcome {
	FB_BUILD_OK,
	FB_BUILD_FAILED, /* the commit does not build: a skip, with .cause */
};

struct fb_image {
	char *dir;	 /* in the cache */
	char *key;	 /* name in the cache, 64 hex */
	char *signature; /* of the loadable sections of vmlinux and of the modules, 64 hex */
	char *vmlinux;	 /* stripped ELF with the PVH note where configured */
	char *bzimage;	 /* or NULL when the config has PVH and none was needed */
	char *config;	 /* the .config that was built */
	char *modules;	 /* directory with lib/modules/..., or NULL */
	char *release;	 /* kernelrelease */
	char *toolchain; /* e.g. "gcc (Debian ...) 12.2.0, GNU ld 2.40" */
	bool pvh;	 /* vmlinux can be booted directly */
};

struct fb_build_result {
	enum fb_build_outcome outcome;
	struct fb_image image;	 /* set for FB_BUILD_OK */
	char *cause;		 /* first error line, one line, for FB_BUILD_FAILED */
	char *log;		 /* path of the build log kept in the cache */
	int64_t wall_ns, cpu_ns; /* of the build that made it */
	bool cached;		 /* nothing had to be built now */
};

/* Specs and results travel to jobs and into the store as JSON; from_json is strict. */
json_t *fb_build_spec_to_json(const struct fb_build_spec *spec);
int fb_build_spec_from_json(json_t *v, struct fb_build_spec *ret, struct fb_error *err);
void fb_build_spec_release(struct fb_build_spec *spec);
json_t *fb_build_result_to_json(const struct fb_build_result *result);
int fb_build_result_from_json(json_t *v, struct fb_build_result *ret, struct fb_error *err);
void fb_build_result_release(struct fb_build_result *result);

/** fb_build_key() - The cache name of what @spec builds; needs the toolchain but no source tree. */
int fb_build_key(const struct fb_build_spec *spec, char ret[FB_HASH_HEX_SIZE],
		 struct fb_error *err);

/**
 * fb_build_lookup() - A finished build (good or failed) from the cache.
 *
 * Return: 1 when found, 0 when not, -1 on error.
 */
int fb_build_lookup(const struct fb_build_spec *spec, struct fb_build_result *ret,
		    struct fb_error *err);

/**
 * fb_build_run() - Build, or take from the cache. Blocks; call it in a job.
 *
 * Return: 0 with ret->outcome. Errors are about us, not the commit: FB_ERROR_MISSING (a tool or
 * a fragment), FB_ERROR_TIMEOUT, FB_ERROR_SYSTEM (disk full), FB_ERROR_INFRA (the compiler was
 * killed, another build holds the object directory: try again), FB_ERROR_INPUT (a required symbol
 * that this tree's Kconfig cannot set is FB_BUILD_FAILED instead, with the symbol named). None
 * of these is kept in the cache; the log is then objdir/firstbad-build.log.
 *
 * ccache, where installed, is shared by pairs of src and objdir that lie alike to each other
 * (".../a/src" with ".../a/obj" and ".../b/src" with ".../b/obj").
 */
int fb_build_run(const struct fb_build_spec *spec, struct fb_build_result *ret,
		 struct fb_error *err);

#endif
