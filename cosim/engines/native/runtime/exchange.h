/* What goes over the wires between units: inputs read off the system, outputs written into it. */

#ifndef PL_EXCHANGE_H
#define PL_EXCHANGE_H

#include "plantloop.h"

#include <math.h>
#include <string.h>

/* The inputs of all units at t [s], into m->inputs, by their equations. */
int pl_evaluate_inputs(pl_coupling *m, double t);
/* Where inputs are that need no equations; the context may have moved. */
void pl_find_wires(pl_coupling *m);
/* The inputs of all units at t [s], into m->inputs. */
PL_INLINE int pl_read_inputs(pl_coupling *m, double t)
{
    int wrong = 0;

    if (!m->wires) return pl_evaluate_inputs(m, t);
    for (int i = 0; i < m->n_inputs; i++) {
        const double now = *m->wired[i] + m->wire_adds[i];
        m->inputs[i] = now;
        wrong |= !isfinite(now);
    }
    return wrong ? PL_UNITS_NOT_FINITE : PL_DONE;
}
/* The inputs that a unit holds over the step, where nothing is extrapolated. */
PL_INLINE int pl_hold_inputs(pl_coupling *m, pl_fmu_unit *u)
{
    if (m->newest) {
        const int reason = pl_read_inputs(m, m->t1);
        if (reason) return reason;
    }
    const double *now = m->inputs + u->start;
    for (int i = 0; i < u->u.n; i++)
        u->value[i] = u->assumed[i] = !m->newest || (u->late[i] && !m->ours_done) ? u->u.values[i] : now[i];
    return PL_DONE;
}
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
    u->kind[u->count++] = PL_ROW_WHOLE;
    u->used += 1 + 2 * n;
}

/* The same of a step between communication points whose inputs were those that the row before delivered, or that this
   one does: `kind` says which. */
PL_INLINE void pl_log_delivered(pl_fmu_unit *u, const double *delivered, int kind)
{
    double *row = u->rows + u->used;

    for (int i = 0; i < u->u.n; i++) row[i] = delivered[i];
    u->kind[u->count++] = (uint8_t)kind;
    u->used += u->u.n;
}

/* Bit for bit: 0 is not -0. */
PL_INLINE int pl_same(const double *a, const double *b, int n)
{
    for (int i = 0; i < n; i++)
        if (memcmp(a + i, b + i, sizeof *a)) return 0;
    return 1;
}

/* Room for a curve of the outputs of one unit, in what is free while none is under way. */
PL_INLINE double *pl_output_room(const pl_coupling *m) { return m->inputs + m->n_inputs; }

#endif
