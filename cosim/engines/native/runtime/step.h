/* A step of whatever method a run has. */

#ifndef PL_STEP_H
#define PL_STEP_H

#include "plantloop.h"

/* From (t0, x0) to (t1, x1), where the invariants hold. */
int pl_integrate_step(pl_run *r);
/* The state at t in [t0, t1]. */
void pl_interpolate(pl_run *r, double t, double *x);
/* The same for the states from one to before the other; others in x may change. */
void pl_interpolate_some(pl_run *r, double t, int first, int last, double *x);

#endif
