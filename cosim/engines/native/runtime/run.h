/* What the files of the runtime know of a run beyond its steps. */

#ifndef PL_RUN_H
#define PL_RUN_H

#include "steppers.h"

enum { PL_IDLE = 0 }; /* where a run stands that is told to advance, see run.c */

/* evaluate.c */
static inline int pl_all_finite(const double *v, int n)
{
    double zero = 0.0; /* stays zero unless something is infinite or no number */
    for (int i = 0; i < n; i++) zero += v[i] * 0.0;
    return zero == 0.0;
}

void pl_prepare(pl_run *r); /* arguments of functions, and their constants where a parameter has changed */
void pl_put(pl_run *r, double t, const double *x); /* the context stands there */
int pl_not_finite_at(pl_run *r, double t, const double *x); /* a run cannot go on from here */
int pl_refresh(pl_run *r, double t, const double *x); /* accepted unknowns and memories at an accepted point */

/* instants.c */
int pl_start(pl_run *r);             /* before the first instant */
void pl_tick(pl_run *r, double t);   /* listed instants pass; for the rates that hit, next becomes current */
int pl_segments(pl_run *r);          /* from r->segment on: output, external and update segments */

/* crossings.c and events.c */
int pl_signs(pl_run *r, double t, const double *x); /* of all crossings, into r->crossed */
void pl_meet(pl_run *r, int located);               /* events of this instant come next; -1: none was located */
int pl_settle_events(pl_run *r);                    /* resets until no sign changes */

/* log.c */
int pl_log_within(pl_run *r);                        /* log times strictly inside the step */
int pl_log_step(pl_run *r, double t, const double *x); /* the end of a step that is no stop */
int pl_log_ticks(pl_run *r);                         /* samples of the rates that hit */
int pl_log_instant(pl_run *r);                       /* the log, right-continuous */

#endif
