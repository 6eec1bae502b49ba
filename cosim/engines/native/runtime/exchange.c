#include "exchange.h"

#include "evaluate.h"

#include <math.h>

int pl_evaluate_inputs(pl_coupling *m, double t)
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

void pl_find_wires(pl_coupling *m)
{
    static const double nothing = -0.0; /* that changes no number it is added to */
    const pl_run *r = m->run;
    const int nh = r->model->nh;

    for (int i = 0; m->wires && i < m->n_inputs; i++) {
        const int place = m->wires[i];
        m->wired[i] = place < 0 ? &nothing : place < nh ? r->context->h + place : r->context->p + (place - nh);
    }
}
