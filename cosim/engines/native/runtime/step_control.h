/* Error norm and size of adaptive steps. */

#ifndef PL_STEP_CONTROL_H
#define PL_STEP_CONTROL_H

#include "plantloop.h"

typedef struct {
    double error;  /* scaled, 1 is the tolerance */
    int32_t worst; /* the state with the largest share */
} pl_error;

/* Component e of the stages k (stages, nx), weighted by a row of a tableau. */
static inline double pl_weighted_sum(const pl_row *row, const double *k, int nx, int e)
{
    if (row->count == 0) return 0.0;
    double total = row->weight[0] * k[row->place[0] * nx + e];
    for (int j = 1; j < row->count; j++) total += row->weight[j] * k[row->place[j] * nx + e];
    return total;
}

/* Scaled error of a step from x to x1; noise: (nx,) what is added to the scale, or null. */
pl_error pl_error_norm(pl_run *r, const double *x, const double *x1, double h, const double *noise);
void pl_accept_step(pl_run *r, double h, double wanted, pl_error e);
void pl_reject_step(pl_run *r, double h, pl_error e);
double pl_initial_step_size(pl_run *r, double t, const double *x, const double *f0, double stop);

/* A step size that moves the time: h, or a few last digits of t where h is lost in its rounding. */
double pl_moving_step_size(double t, double h, double stop);

/* The run cannot go on: h is lost in the rounding of t. Returns the reason; index is the fastest state. */
int pl_does_not_move(pl_run *r, double t, double h);

#endif
