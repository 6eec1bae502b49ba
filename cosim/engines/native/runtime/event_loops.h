/* Events in loops at one instant. */

#ifndef PL_EVENT_LOOPS_H
#define PL_EVENT_LOOPS_H

#include "plantloop.h"

/* An instant begins. */
void pl_begin_loops(pl_run *r);
/* Events of a segment come next: what they read is noted. */
void pl_note_read(pl_run *r, int segment);
/* The events due have fired. */
void pl_note_fired(pl_run *r);
/* Let events be repeated that have read something else than is there now: 1 if there are any, PL_UNSETTLED, or 0. */
int pl_repeat_events(pl_run *r);

#endif
