# SPDX-License-Identifier: GPL-2.0-or-later
# Lists what one directory of a kernel tree compiles: sub-directories and objects, one a line.
#
# usage (in the tree): make -rRs -f compiled.mk dir=fs/ext4 auto_conf=.../auto.conf
#
# Reads the directory's own Kbuild or Makefile as Kbuild does, without building anything.
include $(auto_conf)

srctree := .
objtree := .
src := $(dir)
obj := $(dir)
SRCARCH := x86
ARCH := x86
BITS := 64
obj-y :=
lib-y :=
extra-y :=

.DEFAULT_GOAL := fb-list
include $(firstword $(wildcard $(dir)/Kbuild $(dir)/Makefile))

# What Kbuild adds for composite objects, with the options of the configuration.
parts = $(strip $($(1:.o=-y)) $($(1:.o=-objs)))
fb_objs := $(filter %.o, $(obj-y) $(lib-y) $(extra-y))
fb_leaves := $(foreach o, $(fb_objs), $(if $(call parts,$(o)),$(call parts,$(o)),$(o)))
fb_dirs := $(filter %/, $(obj-y) $(lib-y) $(core-y) $(drivers-y) $(libs-y))

.PHONY: fb-list
fb-list:
	@:$(foreach x, $(fb_dirs), $(info D $(x)))$(foreach x, $(fb_leaves), $(info O $(x)))
