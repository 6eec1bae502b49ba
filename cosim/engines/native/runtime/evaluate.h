/* Where the functions of a system are evaluated. */

#ifndef PL_EVALUATE_H
#define PL_EVALUATE_H

#include "plantloop.h"

/* The context's arrays become arguments; constants of functions, where a parameter has changed. */
void pl_update_constants(pl_run *r);
/* The next functions are evaluated at (t, x), with delayed signals and algebraic unknowns up to date. */
void pl_set_arguments(pl_run *r, double t, const double *x);
/* Some numbers of a function, by their places, into out; others there may change. Arguments are set. */
void pl_evaluate_some(pl_run *r, const pl_parts *f, const int32_t *places, int n, double *out);
/* f (nx,); it finds delayed signals and unknowns itself. */
void pl_evaluate_derivative(pl_run *r, double t, const double *x, double *f);
/* Pieces of a function that are stale, or restless, and what those need, into out. Which were to be called is in
   r->wanted. Arguments are set. */
void pl_evaluate_stale(pl_run *r, const pl_lasting *f, const int32_t *stale, double *out);
/* What was written to h anywhere, or at one place, is to be followed. */
PL_INLINE void pl_all_changed(pl_run *r) { r->events_known = r->held_known = r->accepted_known = 0; }
void pl_held_changed(pl_run *r, int32_t place);
/* Numbers into h. */
void pl_set_held(pl_run *r, const int32_t *places, const double *values, int n);
/* The context stands at (t, x). */
void pl_set_state(pl_run *r, double t, const double *x);
/* The same where a run cannot go on; returns PL_NOT_FINITE. */
int pl_not_finite_at(pl_run *r, double t, const double *x);
/* Accepted memories, and the solution Newton's method starts from, at an accepted point. */
int pl_update_accepted(pl_run *r, double t, const double *x);

#endif
