/* Steps of explicit Runge-Kutta methods, from (t0, x0) towards the stop. */

#ifndef PL_EXPLICIT_H
#define PL_EXPLICIT_H

#include "plantloop.h"

/* Steps of equal size, as many as nobody looks between; t1, x1 are the end of the last one. */
int pl_fixed_step(pl_run *r);
/* Try steps until one is accepted. */
int pl_adaptive_step(pl_run *r);
/* The state at t in the step. */
void pl_explicit_interpolate(pl_run *r, double t, double *x);
/* States from one to before another. */
void pl_explicit_interpolate_some(pl_run *r, double t, int first, int last, double *x);

#endif
