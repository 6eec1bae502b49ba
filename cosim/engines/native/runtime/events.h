/* What happens at an instant where crossings change their signs. */

#ifndef PL_EVENTS_H
#define PL_EVENTS_H

#include "plantloop.h"

/* Which events: all; all but timed ones, before anything is counted; timed ones of one segment and what
   follows them. */
enum { PL_ALL_EVENTS = 0, PL_EVENTS_BEFORE, PL_TIMED_EVENTS };

/* Events of this instant come next; located: the crossing that was found there, or -1. */
void pl_begin_events(pl_run *r, int located, int which);
/* Timed events of a segment come next. */
void pl_begin_timed_events(pl_run *r, int segment);
/* Resets until no sign changes any more. */
int pl_handle_events(pl_run *r);
/* The instant is over: values alone say again which crossings are on their thresholds. */
void pl_forget_missed(pl_run *r);

#endif
