/* Invariants of the motion (constraints, lengths of quaternions) kept by projection. */

#include "invariants.h"

#include "evaluate.h"

#include <float.h>
#include <math.h>

static const double APART = 1e8; /* tolerances beyond which an invariant is not met: invariants.py, APART */

/* Largest invariant in units of its tolerance, at r->apart; nan if one is no number. */
static double worst(pl_run *r)
{
    double most = 0.0;
    for (int i = 0; i < r->system->n_invariants; i++) {
        const double share = fabs(r->out[i]) / r->system->tolerance[i];
        if (isnan(share)) return share;
        if (share > most) {
            most = share;
            r->apart = i;
        }
    }
    return most;
}

/* Corrected is what exceeds a tenth of its tolerance, again until the invariants hold and as long as it helps,
   at most eight times. The first round, and those far from holding, may make some worse. */
int pl_project(pl_run *r, double t, double *x)
{
    double before = INFINITY, now;
    int moved = 0;

    for (int round = 0;; round++) {
        pl_set_arguments(r, t, x);
        r->model->invariants(&r->a, r->out);
        now = worst(r);
        if (round == 8 || !(now > (round ? 1.0 : 0.1)) || now >= before) break; /* held, not finite, or no better */
        before = round && now < 1e4 ? now : INFINITY;
        r->model->correction(&r->a, r->out);
        for (int e = 0; e < r->model->nx; e++) x[e] = x[e] + r->out[e];
        moved = 1;
    }
    if (!(now > APART)) r->apart = -1;
    return moved;
}

/* What rounding makes of the state: how far it moves by its last digit and back onto the invariants. Near
   singular poses that is far, and an error estimate below it means nothing. */
const double *pl_rounding_noise(pl_run *r, double t, const double *x)
{
    const int nx = r->model->nx;
    double *beside = r->f1, *noise = r->trial;

    for (int e = 0; e < nx; e++) {
        const double digit = (uint32_t)e * 2654435761u >> 31 ? DBL_EPSILON : -DBL_EPSILON;
        beside[e] = x[e] * (1.0 + digit);
    }
    for (int round = 0; round < 2; round++) { /* velocities follow the positions */
        pl_set_arguments(r, t, beside);
        r->model->correction(&r->a, r->out);
        for (int e = 0; e < nx; e++) beside[e] = beside[e] + r->out[e];
    }
    for (int e = 0; e < nx; e++) noise[e] = r->system->rounding[e] * fabs(beside[e] - x[e]);
    return noise;
}
