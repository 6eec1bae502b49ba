/* Coordinates for one step that turn with the bodies of a system, for the stiff method. */

#ifndef PL_TURNING_H
#define PL_TURNING_H

#include "plantloop.h"

/* Frames for a step that begins at x with the derivative f. */
void pl_begin_turning(pl_run *r, const double *x, const double *f);
/* J and df/dt in them, from those in the states; f: the derivative at x. */
void pl_turn_jacobian(pl_run *r, const double *x, const double *f);
/* The states that z means at the time s in the step, in place of z. */
void pl_turn_states(const pl_run *r, double s, double *z);
/* z' at the time s in the step, in place of the derivative f of the states. */
void pl_turn_field(const pl_run *r, double s, const double *z, double *f);

#endif
