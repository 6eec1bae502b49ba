#include "step.h"

#include "explicit.h"
#include "invariants.h"
#include "rosenbrock.h"

#include <string.h>

int pl_integrate_step(pl_run *r)
{
    r->integrated1 = r->x1;
    r->end_known = 0;
    r->corrected = 0;
    r->apart = -1;
    r->located = -1;
    const int reason = r->stiff                       ? pl_rosenbrock_step(r)
                       : r->settings->method.adaptive ? pl_adaptive_step(r)
                                                      : pl_fixed_step(r);
    if (reason) return reason;
    r->end = r->t1;
    if (r->system->n_invariants) {
        memcpy(r->unprojected, r->x1, sizeof(double) * (size_t)r->model->nx);
        r->integrated1 = r->unprojected; /* the solution inside the step is that of the integrator */
        r->corrected = pl_project(r, r->t1, r->x1);
    }
    return PL_DONE;
}

void pl_interpolate(pl_run *r, double t, double *x) { pl_interpolate_some(r, t, 0, r->model->nx, x); }

void pl_interpolate_some(pl_run *r, double t, int first, int last, double *x)
{
    if (first == last) return;
    if (r->stiff)
        pl_rosenbrock_interpolate(r, t, x);
    else
        pl_explicit_interpolate_some(r, t, first, last, x);
}
