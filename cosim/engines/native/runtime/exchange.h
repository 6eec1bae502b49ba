/* What goes over the wires between units: inputs read off the system, outputs written into it. */

#ifndef PL_EXCHANGE_H
#define PL_EXCHANGE_H

#include "plantloop.h"

/* The inputs of all units at t [s], into m->inputs. */
int pl_read_inputs(pl_coupling *m, double t);
/* The inputs that a unit holds over the step, where nothing is extrapolated. */
int pl_hold_inputs(pl_coupling *m, pl_fmu_unit *u);
/* Outputs that are curves from t0 [s] on: (3, n) values, slopes and curvatures there. */
void pl_write_curve(const pl_coupling *m, const pl_fmu_unit *u, double t0, const double *curve);
/* Outputs that are held from t [s] on. */
PL_INLINE void pl_write_held(const pl_coupling *m, const pl_fmu_unit *u, double t)
{
    double *h = m->run->context->h;

    for (int i = 0; i < u->out.n; i++) h[u->y[i]] = u->out.values[i];
    if (!u->slope) return;
    for (int i = 0; i < u->out.n; i++) h[u->slope[i]] = h[u->curvature[i]] = 0.0;
    h[u->since] = t;
}

/* One row of what a unit assumed of its inputs at the end of a step, and what was delivered. */
PL_INLINE void pl_log_inputs(pl_fmu_unit *u, double t, const double *delivered)
{
    const int n = u->u.n;
    double *row = u->rows + u->used;

    row[0] = t;
    for (int i = 0; i < n; i++) row[1 + i] = u->assumed[i], row[1 + n + i] = delivered[i];
    u->held[u->count++] = 0;
    u->used += 1 + 2 * n;
}

/* The same of a step between communication points that held what the row before delivered. */
PL_INLINE void pl_log_held_inputs(pl_fmu_unit *u, const double *delivered)
{
    double *row = u->rows + u->used;

    for (int i = 0; i < u->u.n; i++) row[i] = delivered[i];
    u->held[u->count++] = 1;
    u->used += u->u.n;
}

/* Room for a curve of the outputs of one unit, in what is free while none is under way. */
PL_INLINE double *pl_output_room(const pl_coupling *m) { return m->inputs + m->n_inputs; }

#endif
