/* What a step needs besides its stages: error norm, step size control, the solution inside the step. */

#ifndef PL_STEPPERS_H
#define PL_STEPPERS_H

#include "plantloop.h"

typedef struct {
    double error;  /* scaled, 1 is the tolerance */
    int32_t worst; /* the state with the largest share */
} pl_error;

double pl_first_step(pl_run *r, double t, const double *x, const double *f0, double stop);
pl_error pl_step_error(pl_run *r, const double *x, const double *x1, double h, const double *noise);
double pl_sum(const double *v, int n);
void pl_accept(pl_run *r, double h, double wanted, pl_error e);
void pl_reject(pl_run *r, double h, pl_error e);
void pl_inside(pl_run *r, double t, double *x); /* the state at t in [t0, t1] */
void pl_derivative(pl_run *r, double t, const double *x, double *f);
const double *pl_noise(pl_run *r, double t, const double *x); /* what rounding of x means */
int pl_on_invariants(pl_run *r, double t, double *x); /* move x to where the invariants hold; did it move? */
void pl_see(pl_run *r, double t, const double *x); /* arguments of functions, unknowns up to date */
void pl_find(void *run, const pl_args *args);       /* delayed signals and the algebraic unknowns */
int pl_solve(pl_run *r, int i);                     /* loop of segment i at a tick */
int pl_locate(pl_run *r);                /* cut the step at the first crossing in it */
int pl_signs_changed(pl_run *r);         /* does any crossing's sign differ from the one kept? */
size_t pl_delay_room(const pl_system *s);
size_t pl_delay_flags(const pl_system *s);
void pl_quartic(const double *values, size_t stride, int size, double s, double *out); /* through five rows */
void pl_recall(pl_run *r, const pl_args *args); /* delayed signals from their histories */
int pl_history_room(const pl_run *r);    /* do all histories have room for a step more? */
void pl_foresee(pl_run *r);              /* where a delayed signal has just jumped, a delay later is a stop */
void pl_remember(pl_run *r);             /* keep the course of delayed signals over a step */
int pl_longest_step(pl_run *r, double t, const double *x); /* the shortest delay into r->limit */
void pl_draw(pl_run *r, int i);          /* random draw i of this instant */

/* The stiff method, rosenbrock.c. */
void pl_stiff_prepare(pl_run *r);
int pl_stiff_step(pl_run *r);
double pl_stiff_first_step(pl_run *r, double t, const double *x, double stop);
void pl_stiff_inside(pl_run *r, double t, double *x);

#endif
