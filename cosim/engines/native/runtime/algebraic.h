/* Algebraic unknowns, between ticks and in loops at a tick. */

#ifndef PL_ALGEBRAIC_H
#define PL_ALGEBRAIC_H

#include "plantloop.h"

/* Delayed signals and unknowns of w at the point of the arguments; `run` is a pl_run. */
void pl_update_w(void *run, const pl_args *args);
/* The loop of segment i at a tick. */
int pl_solve_segment(pl_run *r, int i);

#endif
