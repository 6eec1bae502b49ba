/* Runs of a batch, one after the other in one pl_run. */

#include "plantloop.h"

#include <string.h>

static void start(pl_run *r, const pl_batch *b, int64_t i)
{
    const pl_model *m = r->model;
    const pl_system *s = r->system;
    pl_context *c = r->context;

    memcpy(c->x, b->x + i * m->nx, sizeof(double) * (size_t)m->nx);
    memcpy(c->h, b->h + i * m->nh, sizeof(double) * (size_t)m->nh);
    memcpy(c->next, b->h + i * m->nh, sizeof(double) * (size_t)m->nh);
    memcpy(c->w, b->w + i * m->nw, sizeof(double) * (size_t)m->nw);
    memcpy(c->solution, b->w + i * m->nw, sizeof(double) * (size_t)s->n_unknowns);
    memcpy(c->p, b->p + i * m->np, sizeof(double) * (size_t)m->np);
    memset(c->ticks, 0, sizeof(int64_t) * (size_t)s->n_rates);
    memset(c->instants, 0, sizeof(int64_t) * (size_t)s->n_lists);
    memset(c->signs, 0, sizeof(double) * (size_t)s->n_events);
    c->t = 0.0;
    c->step = 0.0;
    c->error = 1e-4;
    c->started = c->stopped = 0;
    c->n_stops = 0;
    for (int k = 0; k < s->n_delays; k++) c->histories[k].count = 0;
    r->settings->seed = b->seed[i];
}

/* Runs first to end - 1; with `again` the first one goes on where it stood. Returns the run whose histories are
   full, or end. */
int64_t pl_run_batch(pl_run *r, const pl_batch *b, int64_t first, int64_t end, int again)
{
    pl_buffer *log = &r->log->log;

    for (int64_t i = first; i < end; i++) {
        if (!again) {
            start(r, b, i);
            log->rows = b->rows + i * b->capacity * (1 + log->width);
            log->capacity = b->capacity;
            log->count = 0;
            r->log->position = 0;
            r->budget = INT64_MAX;
            pl_reset(r);
        }
        again = 0;
        b->reason[i] = pl_advance(r, b->until);
        if (b->reason[i] == PL_FULL_HISTORY) return i;
        b->logged[i] = log->count;
        b->stopped[i] = r->context->stopped;
        b->ended[i] = r->context->t;
        if (b->reason[i] == PL_CANCELLED) break;
    }
    pl_reset(r);
    return end;
}
