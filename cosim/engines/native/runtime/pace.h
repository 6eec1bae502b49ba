/* Is a run so slow that it never comes to its end? As in cosim/engines/pace.py. */

#ifndef PL_PACE_H
#define PL_PACE_H

#include "plantloop.h"

/* The count begins anew at the end of the next step. */
void pl_forget_pace(pl_run *r);
/* At the end of a step at t [s]: would the rest take more steps than the settings allow? */
int pl_is_endless(pl_run *r, double t);

#endif
