/* Invariants of the motion, kept by projection. */

#ifndef PL_INVARIANTS_H
#define PL_INVARIANTS_H

#include "plantloop.h"

/* Move x to where the invariants hold; did it move? */
int pl_project(pl_run *r, double t, double *x);
/* (nx,) what rounding of x means for the error of a step. */
const double *pl_rounding_noise(pl_run *r, double t, const double *x);

#endif
