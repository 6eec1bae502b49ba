/* What happens at an instant where crossings change their signs. */

#ifndef PL_EVENTS_H
#define PL_EVENTS_H

#include "plantloop.h"

/* Events of this instant come next; located: the crossing that was found there, or -1. */
void pl_begin_events(pl_run *r, int located);
/* Resets until no sign changes any more. */
int pl_handle_events(pl_run *r);
/* The instant is over: values alone say again which crossings are on their thresholds. */
void pl_forget_missed(pl_run *r);

#endif
