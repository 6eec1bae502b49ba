/* One FMU for co-simulation in a step of the coupling. */

#ifndef PL_UNITS_H
#define PL_UNITS_H

#include "plantloop.h"

/* Make the step to t1 [s] with the inputs that are in value, bend and curve: PL_DONE, or what the host is to do.
   An FMU that takes no slopes gets what the curve is at the end, or its mean, or makes two steps (in_pieces). */
int pl_step_unit(pl_fmu_unit *u, double t1, int held_at_end);
/* Get its outputs, and note where it stands. */
int pl_unit_arrived(pl_fmu_unit *u);

#endif
