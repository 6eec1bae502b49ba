/* Corners of the right-hand side, at which adaptive steps end. */

#ifndef PL_CORNERS_H
#define PL_CORNERS_H

#include "plantloop.h"

enum { PL_LOOKS = 3 }; /* how often an accepted step is made shorter: corners.py, LOOKS */

/* The solution at t within the step at hand, whatever method made it. */
typedef void (*pl_inside)(pl_run *r, double t, double *x);

/* Time of the first corner within a step of size h from t, just behind it; infinity where there is none. */
double pl_first_corner(pl_run *r, pl_inside inside, double t, double h);

#endif
