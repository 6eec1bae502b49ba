/* What a run keeps, in buffers of the host; each returns PL_FULL or PL_FULL_TICKS where one is full. */

#ifndef PL_LOG_H
#define PL_LOG_H

#include "plantloop.h"

/* Log times strictly inside the step. */
int pl_log_within(pl_run *r);
/* The end of a step that is no stop. */
int pl_log_step(pl_run *r, double t, const double *x);
/* Samples of the rates that hit. */
int pl_log_ticks(pl_run *r);
/* The log at an instant, right-continuous. */
int pl_log_instant(pl_run *r);

#endif
