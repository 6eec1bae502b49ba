/* Where the functions of a system are evaluated, and what is kept of it. */

#include "evaluate.h"

#include "algebraic.h"
#include "norms.h"

#include <string.h>

void pl_update_constants(pl_run *r)
{
    const size_t size = sizeof(double) * (size_t)r->model->np;
    pl_context *c = r->context;

    r->a.h = c->h;
    r->a.w = c->w;
    r->a.p = c->p;
    r->a.x = c->x;
    /* constants of the functions depend on parameters only */
    if (r->model->np && memcmp(r->prepared, c->p, size) == 0) return;
    memcpy(r->prepared, c->p, size);
    r->a.t = c->t;
    r->model->prepare(&r->a, r->c);
    if (!r->stiff) return;
    pl_args a = r->a; /* the code of the Jacobian has constants and scratch of its own */
    a.v = r->stiff->v;
    a.iv = r->stiff->iv;
    r->stiff->code->prepare(&a, r->stiff->c);
}

void pl_set_arguments(pl_run *r, double t, const double *x)
{
    r->a.t = t;
    r->a.x = x;
    if (r->system->n_unknowns || r->system->n_delays) pl_update_w(r, &r->a);
}

void pl_evaluate_derivative(pl_run *r, double t, const double *x, double *f)
{
    r->a.t = t;
    r->a.x = x;
    r->model->derivative(&r->a, f);
}

void pl_set_state(pl_run *r, double t, const double *x)
{
    r->context->t = t;
    if (x != r->context->x) memcpy(r->context->x, x, sizeof(double) * (size_t)r->model->nx);
}

int pl_not_finite_at(pl_run *r, double t, const double *x)
{
    pl_set_state(r, t, x);
    r->index = PL_AT_STATE;
    return PL_NOT_FINITE;
}

int pl_update_accepted(pl_run *r, double t, const double *x)
{
    const pl_system *s = r->system;
    pl_context *c = r->context;

    if (!s->n_unknowns && !s->n_accepted) return PL_DONE;
    pl_set_arguments(r, t, x);
    if (r->unsolved) return PL_NO_SOLUTION;
    /* the present solution is one to start from */
    if (s->n_unknowns) memcpy(c->solution, c->w, sizeof(double) * (size_t)s->n_unknowns);
    if (!s->n_accepted) return PL_DONE;
    r->model->accepted(&r->a, r->out);
    if (!pl_all_finite(r->out, s->n_accepted)) return pl_not_finite_at(r, t, x);
    for (int i = 0; i < s->n_accepted; i++) c->h[s->accepted[i]] = r->out[i];
    return PL_DONE;
}
