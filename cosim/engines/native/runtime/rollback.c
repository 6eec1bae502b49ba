#include "rollback.h"

#include "fmu_values.h"

#include <string.h>

typedef int (*get_state)(void *c, void **state);
typedef int (*set_state)(void *c, void *state);

typedef struct {
    double *values;
    int n;
} piece;

enum { PIECES = 6 };

/* What changes in a context over a step, but for counts. */
static void pieces(const pl_coupling *m, int all, piece *found)
{
    const pl_run *r = m->run;
    const pl_context *c = r->context;

    found[0] = (piece){c->h, r->model->nh};
    found[1] = (piece){c->x, all * r->model->nx};
    found[2] = (piece){c->w, all * r->model->nw};
    found[3] = (piece){c->next, all * r->model->nh};
    found[4] = (piece){c->signs, all * r->system->n_events};
    found[5] = (piece){c->solution, all * r->system->n_unknowns};
}

static void copy_counts(int64_t *to, const int64_t *from, int n)
{
    for (int i = 0; i < n; i++) to[i] = from[i];
}

void pl_keep_ours(pl_coupling *m, int level, int whole)
{
    const pl_run *r = m->run;
    const pl_context *c = r->context;
    const pl_system *s = r->system;
    pl_kept *k = &m->kept[level];
    double *at = k->values;
    piece p[PIECES];

    k->context = *c;
    k->whole = whole;
    pieces(m, whole, p);
    for (int i = 0; i < PIECES; at += p[i++].n)
        if (p[i].n) memcpy(at, p[i].values, sizeof(double) * (size_t)p[i].n);
    int64_t *counts = (int64_t *)at;
    copy_counts(counts, c->ticks, s->n_rates);
    copy_counts(counts + s->n_rates, c->instants, s->n_lists);
    k->position = r->log->position;
    k->events = r->log->events.used;
    k->logged[0] = r->log->log.taken + r->log->log.count;
    for (int i = 0; i < s->n_rates; i++) k->logged[1 + i] = r->log->ticks[i].taken + r->log->ticks[i].count;
}

static void context_back(pl_coupling *m, int level)
{
    const pl_run *r = m->run;
    pl_context *c = r->context;
    const pl_system *s = r->system;
    const pl_kept *k = &m->kept[level];
    const double *at = k->values;
    piece p[PIECES];

    *c = k->context;
    pieces(m, k->whole, p);
    for (int i = 0; i < PIECES; at += p[i++].n)
        if (p[i].n) memcpy(p[i].values, at, sizeof(double) * (size_t)p[i].n);
    const int64_t *counts = (const int64_t *)at;
    copy_counts(c->ticks, counts, s->n_rates);
    copy_counts(c->instants, counts + s->n_rates, s->n_lists);
}

void pl_couple_back(pl_coupling *m) { context_back(m, 0); }

void pl_ours_back(pl_coupling *m, int level)
{
    pl_log *l = m->run->log;
    const pl_kept *k = &m->kept[level];

    context_back(m, level);
    l->position = k->position;
    l->events.used = k->events;
    l->log.count = k->logged[0] - l->log.taken;
    for (int i = 0; i < m->run->system->n_rates; i++) l->ticks[i].count = k->logged[1 + i] - l->ticks[i].taken;
}

static void copy_samples(double *to, double *times, const double *from, const double *from_times, int n, int count)
{
    if (n > 0 && count > 0) memcpy(to, from, sizeof(double) * (size_t)(n * count));
    for (int i = 0; i < count; i++) times[i] = from_times[i];
}

int pl_keep_unit(pl_fmu_unit *u, int level)
{
    pl_kept_unit *k = &u->kept[level];

    copy_samples(k->values, k->u_time, u->u.values, u->u.time, u->u.n, u->u.count);
    copy_samples(k->values + PL_SAMPLES * u->u.n, k->out_time, u->out.values, u->out.time, u->out.n, u->out.count);
    k->n_u = u->u.count, k->n_out = u->out.count;
    if (u->events) {
        memcpy(k->values + PL_SAMPLES * (u->u.n + u->out.n), u->events->last, sizeof(double) * (size_t)u->u.n);
        k->event = u->events->next, k->wanted = u->events->wanted, k->ended = u->ended;
    }
    k->points = u->points, k->count = u->count, k->time = u->time, k->next = u->next;
    if (*k->state) ((get_state)u->free_state)(u->component, k->state); /* many FMUs take new memory each time */
    *k->state = 0;
    return pl_went_wrong(((get_state)u->get_state)(u->component, k->state));
}

int pl_unit_back(pl_fmu_unit *u, int level)
{
    const pl_kept_unit *k = &u->kept[level];

    copy_samples(u->u.values, u->u.time, k->values, k->u_time, u->u.n, k->n_u);
    copy_samples(u->out.values, u->out.time, k->values + PL_SAMPLES * u->u.n, k->out_time, u->out.n, k->n_out);
    u->u.count = k->n_u, u->out.count = k->n_out;
    if (u->events) {
        memcpy(u->events->last, k->values + PL_SAMPLES * (u->u.n + u->out.n), sizeof(double) * (size_t)u->u.n);
        u->events->next = k->event, u->events->wanted = k->wanted, u->events->stays = 0;
        u->ended = k->ended, u->events->failed = 0;
        u->events->stage = PL_EVENT_NONE;
    }
    u->used = k->count * (1 + 2 * u->u.n); /* rows of steps that are repeated are whole */
    u->points = k->points, u->count = k->count, u->time = k->time, u->next = k->next;
    return pl_went_wrong(((set_state)u->set_state)(u->component, *k->state));
}
