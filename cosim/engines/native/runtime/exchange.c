#include "exchange.h"

#include "evaluate.h"

#include <math.h>

int pl_read_inputs(pl_coupling *m, double t)
{
    pl_run *r = m->run;

    pl_set_arguments(r, t, r->context->x);
    if (r->unsolved) return PL_NO_SOLUTION;
    r->model->unit_inputs(&r->a, m->inputs);
    for (int i = 0; i < m->n_inputs; i++)
        if (!isfinite(m->inputs[i])) return PL_UNITS_NOT_FINITE;
    return PL_DONE;
}

void pl_write_curve(const pl_coupling *m, const pl_fmu_unit *u, double t0, const double *curve)
{
    double *h = m->run->context->h;
    const int n = u->out.n;

    for (int i = 0; i < n; i++) h[u->y[i]] = curve[i];
    if (!u->slope) return;
    for (int i = 0; i < n; i++) h[u->slope[i]] = curve[n + i], h[u->curvature[i]] = curve[2 * n + i];
    h[u->since] = t0;
}

int pl_hold_inputs(pl_coupling *m, pl_fmu_unit *u)
{
    const int n = u->u.n;

    if (m->newest) {
        const int reason = pl_read_inputs(m, m->t1);
        if (reason) return reason;
    }
    const double *now = m->inputs + u->start;
    for (int i = 0; i < n; i++)
        u->value[i] = u->assumed[i] = !m->newest || (u->late[i] && !m->ours_done) ? u->u.values[i] : now[i];
    return PL_DONE;
}
