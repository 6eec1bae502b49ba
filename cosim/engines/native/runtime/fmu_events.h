/* Events of units that step themselves, in event mode of FMI 3.0. */

#ifndef PL_FMU_EVENTS_H
#define PL_FMU_EVENTS_H

#include "plantloop.h"

/* A step to u->end with the events on the way, and those at its end unless it is visited there; PL_UNIT_STEPPED where
   the host is to go on from u->events->at. */
int pl_step_with_events(pl_fmu_unit *u);

#endif
