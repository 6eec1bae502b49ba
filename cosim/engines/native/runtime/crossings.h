/* Zero crossings: their signs, and where in a step one changes. */

#ifndef PL_CROSSINGS_H
#define PL_CROSSINGS_H

#include "plantloop.h"

/* Signs of all crossings into r->new_signs; PL_NO_SIGN where one is not finite. */
int pl_evaluate_crossings(pl_run *r, double t, const double *x);
/* Cut the step at the first crossing in it, which goes to r->located. */
int pl_locate_crossing(pl_run *r);

#endif
