/* Steps of the stiff method RODAS. */

#ifndef PL_ROSENBROCK_H
#define PL_ROSENBROCK_H

#include "plantloop.h"

/* Try steps from (t0, x0) until one is accepted. */
int pl_rosenbrock_step(pl_run *r);
double pl_rosenbrock_initial_step_size(pl_run *r, double t, const double *x, double stop);
/* The state at t in the step. */
void pl_rosenbrock_interpolate(pl_run *r, double t, double *x);

#endif
