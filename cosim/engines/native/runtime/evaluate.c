/* Where the functions of a system are evaluated, and what is kept of it. */

#include "evaluate.h"

#include "algebraic.h"
#include "norms.h"

#include <stdint.h>
#include <string.h>

void pl_update_constants(pl_run *r)
{
    const size_t size = sizeof(double) * (size_t)r->model->np;
    pl_context *c = r->context;

    r->a.h = c->h;
    r->a.w = c->w;
    r->a.p = c->p;
    r->a.x = c->x;
    r->sides_known = 0;
    pl_all_changed(r); /* the host may have written anywhere */
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

enum { STALE = 1, NEEDED = 2 };

void pl_evaluate_stale(pl_run *r, const pl_lasting *f, const int32_t *stale, double *out)
{
    int32_t *wanted = r->wanted;

    for (int32_t k = 0; k < f->n_pieces; k++) wanted[k] = stale[k] || f->restless[k] ? STALE : 0;
    for (int32_t k = 0; k < f->n_pieces; k++) {
        if (wanted[k] != STALE) continue;
        for (int32_t j = f->needs_start[k]; j < f->needs_start[k + 1]; j++)
            if (!wanted[f->needs[j]]) wanted[f->needs[j]] = NEEDED;
    }
    for (int32_t k = 0; k < f->n_pieces; k++)
        if (wanted[k]) f->pieces[k](&r->a, out);
}

static void mark_readers(const pl_lasting *f, int32_t *stale, int32_t place)
{
    if (!f->n_pieces) return;
    for (int32_t j = f->readers_start[place]; j < f->readers_start[place + 1]; j++) stale[f->readers[j]] = 1;
}

void pl_held_changed(pl_run *r, int32_t place)
{
    r->events_known = 0;
    if (r->held_known && r->system->n_events) mark_readers(r->model->held_crossings, r->stale_crossings, place);
    if (r->accepted_known) mark_readers(r->model->accepted, r->stale_accepted, place);
}

/* Bits in which two numbers differ. */
static inline uint64_t difference(const double *a, const double *b)
{
    uint64_t first, second;
    memcpy(&first, a, sizeof first);
    memcpy(&second, b, sizeof second);
    return first ^ second;
}

enum { ROW = 64 }; /* numbers compared before any is looked at by itself */

void pl_set_held(pl_run *r, const int32_t *places, const double *values, int n)
{
    double *h = r->context->h;
    for (int begin = 0; begin < n; begin += ROW) {
        const int end = n - begin < ROW ? n : begin + ROW;
        uint64_t any = 0;
        for (int i = begin; i < end; i++) any |= difference(h + places[i], values + i);
        for (int i = begin; any && i < end; i++) {
            if (!difference(h + places[i], values + i)) continue;
            h[places[i]] = values[i];
            pl_held_changed(r, places[i]);
        }
    }
}

void pl_set_state(pl_run *r, double t, const double *x)
{
    r->events_known = 0;
    r->context->t = t;
    if (x != r->context->x) memcpy(r->context->x, x, sizeof(double) * (size_t)r->model->nx);
}

int pl_not_finite_at(pl_run *r, double t, const double *x)
{
    pl_set_state(r, t, x);
    r->index = PL_AT_STATE;
    return PL_NOT_FINITE;
}

/* Those that what changed may have changed. */
static int follow(pl_run *r)
{
    const pl_lasting *f = r->model->accepted;
    const int32_t *runs = f->runs;

    for (int32_t k = 0; !r->accepted_known && k < f->n_pieces; k++) r->stale_accepted[k] = 1;
    pl_evaluate_stale(r, f, r->stale_accepted, r->out);
    r->accepted_known = 1;
    memset(r->stale_accepted, 0, sizeof(int32_t) * (size_t)f->n_pieces);
    for (int32_t k = 0; k < f->n_pieces; k++)
        for (int32_t j = f->runs_start[k]; r->wanted[k] == STALE && j < f->runs_start[k + 1]; j++)
            if (!pl_all_finite(r->out + runs[2 * j], runs[2 * j + 1] - runs[2 * j])) return 0;
    for (int32_t k = 0; k < f->n_pieces; k++)
        for (int32_t j = f->runs_start[k]; r->wanted[k] == STALE && j < f->runs_start[k + 1]; j++) {
            const int32_t first = runs[2 * j];
            pl_set_held(r, r->system->accepted + first, r->out + first, runs[2 * j + 1] - first);
        }
    return 1;
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
    return follow(r) ? PL_DONE : pl_not_finite_at(r, t, x);
}
