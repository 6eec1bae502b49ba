/* Invariants of the motion (constraints, lengths of quaternions) kept by projection. */

#include "steppers.h"

#include <math.h>

/* Largest invariant in units of its tolerance; nan if one is no number. */
static double worst(const pl_run *r)
{
    double most = 0.0;
    for (int i = 0; i < r->system->n_invariants; i++) {
        const double share = fabs(r->out[i]) / r->system->tolerance[i];
        if (isnan(share)) return share;
        if (share > most) most = share;
    }
    return most;
}

/* Corrections are repeated until the invariants hold to a tenth of their tolerance, at most eight times. */
int pl_on_invariants(pl_run *r, double t, double *x)
{
    double before = INFINITY;
    int moved = 0;

    for (int round = 0; round < 8; round++) {
        r->a.t = t;
        r->a.x = x;
        r->model->invariants(&r->a, r->out);
        const double now = worst(r);
        if (!(now > 0.1) || now >= before) break; /* held, not finite, or as well as rounding allows */
        before = now < 1.0 ? now : INFINITY;
        r->model->correction(&r->a, r->out);
        for (int e = 0; e < r->model->nx; e++) x[e] = x[e] + r->out[e];
        moved = 1;
    }
    return moved;
}
