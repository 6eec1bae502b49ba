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
    r->held_known = r->sides_known = 0; /* the host may have written anywhere */
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

void pl_evaluate_some(pl_run *r, const pl_parts *f, const int32_t *places, int n, double *out)
{
    int32_t *wanted = r->wanted;

    if (f->n_pieces < 2) {
        if (n) f->all(&r->a, out);
        return;
    }
    if (n > 1) memset(wanted, 0, sizeof(int32_t) * (size_t)f->n_pieces);
    for (int i = 0; i < n; i++) {
        const int32_t piece = f->piece_of[places[i]];
        for (int32_t j = f->needs_start[piece]; j < f->needs_start[piece + 1]; j++) {
            if (n == 1)
                f->pieces[f->needs[j]](&r->a, out);
            else
                wanted[f->needs[j]] = 1;
        }
    }
    for (int32_t k = 0; n > 1 && k < f->n_pieces; k++)
        if (wanted[k]) f->pieces[k](&r->a, out);
}

void pl_evaluate_derivative(pl_run *r, double t, const double *x, double *f)
{
    r->a.t = t;
    r->a.x = x;
    r->model->derivative(&r->a, f);
}

void pl_set_held(pl_run *r, const int32_t *places, int n)
{
    double *h = r->context->h;
    for (int i = 0; i < n; i++) {
        uint64_t old, new; /* bit by bit */
        memcpy(&old, h + places[i], sizeof old);
        memcpy(&new, r->out + i, sizeof new);
        if (old == new) continue;
        h[places[i]] = r->out[i];
        r->held_known = 0;
    }
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
    pl_set_held(r, s->accepted, s->n_accepted);
    return PL_DONE;
}
