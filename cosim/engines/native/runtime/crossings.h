/* Zero crossings: their signs, and where in a step one changes. */

#ifndef PL_CROSSINGS_H
#define PL_CROSSINGS_H

#include "plantloop.h"

/* Signs of all crossings into r->new_signs; PL_NO_SIGN where one is not finite. */
int pl_evaluate_crossings(pl_run *r, double t, const double *x);
/* Does where it moves decide the sign of a crossing, whose value is in r->out? */
int pl_on_threshold(const pl_run *r, int i);
/* Keep the largest |g| of each crossing, of those in r->out. */
void pl_note_farthest(pl_run *r);
/* Cut the step at the first crossing in it, which goes to r->located. */
int pl_locate_crossing(pl_run *r);

#endif
