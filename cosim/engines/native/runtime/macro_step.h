/* One step of the coupling to m->t1, with the units that are `arriving`. */

#ifndef PL_MACRO_STEP_H
#define PL_MACRO_STEP_H

#include "plantloop.h"

/* Phases of a step: */
enum { PL_BEGIN = 0, PL_ITERATE, PL_CONTROL, PL_NEXT_IN_ORDER, PL_ARRIVED, PL_APPROACH, PL_DELIVER, PL_ARRIVE, PL_SAMPLE,
       PL_KEEP, PL_AGAIN };

/* A step to t1 [s] is to be made: how our own blocks take part, and the phase it begins with. */
void pl_begin_macro_step(pl_coupling *m, double t1);
/* On from the phase where it stands, until the step is made; or what the host is to do. */
int pl_walk_macro_step(pl_coupling *m);

#endif
