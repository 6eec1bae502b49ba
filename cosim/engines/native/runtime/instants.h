/* Everything that happens at an instant before its events. */

#ifndef PL_INSTANTS_H
#define PL_INSTANTS_H

#include "plantloop.h"

/* Before the first instant of a run. */
int pl_initialise(pl_run *r);
/* Listed instants pass; for the rates that hit, next becomes current. */
void pl_count_ticks(pl_run *r, double t);
/* From r->segment on: output, external, update and solve segments. */
int pl_run_segments(pl_run *r);

#endif
