/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The record of a bisection. Each event changes the state in one way, when it happens and when
 * it is replayed:
 *
 *   choice   {cell, metric}                what is followed from here on
 *   kernel   {commit, signature}           it was built
 *   skip     {commit, cause, boot?}        it cannot be measured
 *   survey   {commit, boot, values}        a boot of the whole matrix
 *   value    {commit, boot, value, ...}    a boot gave a value; .counters: its other metrics
 *   status   {commit, boot, status}        a boot gave a verdict by its exit status
 *   failure  {commit, boot, why}           a boot gave neither
 *   doubt    {commit, boot, status}        the first status says that the command cannot be run;
 *                                          it counts once the good end was asked (as git does)
 *   abort    {commit, boot, status}        a boot stopped the bisection, and does not count
 */
#ifndef FB_CONTROLLER_RECORD_H
#define FB_CONTROLLER_RECORD_H

#include "src/controller/bisect.h"

/** fb_record() - Store an event, then learn from it. @data_new: stolen. */
int fb_record(struct fb_bisect *b, const char *kind, json_t *data_new, struct fb_error *err);

/** fb_record_asked() - The search wanted @node. Follows from the other events, so it is none. */
void fb_record_asked(struct fb_bisect *b, uint32_t node);

#endif
