/* What delays ask of a run: stops where jumps come out, steps no longer than a delay, values kept of each step. */

#ifndef PL_DELAYS_H
#define PL_DELAYS_H

#include "plantloop.h"

/* Numbers pl_instantiate lays out: the delays, one row, and the signals at all points of a piece; and flags. */
size_t pl_delay_doubles(const pl_system *s);
size_t pl_delay_flags(const pl_system *s);
/* Where a delayed signal has just jumped, a delay later is a stop. */
void pl_schedule_delayed_jumps(pl_run *r);
/* The values of delayed signals over the step that was accepted, into their histories. */
void pl_record_delayed(pl_run *r);
/* The shortest delay; PL_NO_DELAY if it is not positive. */
int pl_limit_by_delays(pl_run *r, double t, const double *x);

#endif
