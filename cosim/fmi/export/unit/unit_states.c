/* Saved states: one piece of memory with everything that changes, also from one process to another. */

#include "unit.h"

#include "histories.h"

#include <stdlib.h>
#include <string.h>

/* What stands at the beginning; numbers of 8 bytes each. */
typedef struct {
    uint64_t token; /* hash of the model */
    int64_t size, kind, mode, started, stopped, n_stops;
    int64_t renewed, off_invariants, due;
    int64_t before; /* bytes at the end: how the event mode began of which events are handled, 0 for none */
    double t, origin, step, error, start, stop, last, regular, rtol, atol, old_t, horizon;
} head;

static uint64_t fingerprint(const unit *u)
{
    uint64_t hash = 1469598103934665603u; /* FNV-1a */
    for (const char *c = u->model->token; *c; c++) hash = (hash ^ (unsigned char)*c) * 1099511628211u;
    return hash;
}

/* States go to instances for the same use only: of model exchange, of co-simulation with event mode or without. */
static int64_t kind(const unit *u) { return u->exchange + 2 * u->pauses; }

/* States and inputs where the last accepted step ended. */
static size_t old_bytes(const unit *u)
{
    return ((size_t)u->run.model->nx + (size_t)u->model->n_inputs) * sizeof(double);
}

static size_t history_bytes(const unit *u, int32_t i)
{
    const size_t n = (size_t)u->context.histories[i].count;
    return sizeof(int64_t) + sizeof(double) * n * (2 + 5 * (size_t)pl_delay_size(u->model->system, i));
}

static size_t before_bytes(const unit *u)
{
    return u->mode == UNIT_EVENT && u->updated ? unit_saved_size(&u->before) : 0;
}

size_t unit_state_size(const unit *u)
{
    size_t n = sizeof(head) + before_bytes(u) + u->n_changing * sizeof(int64_t) + old_bytes(u);
    n += (size_t)u->context.n_stops * sizeof(double);
    for (int32_t i = 0; i < u->model->system->n_delays; i++) n += history_bytes(u, i);
    return n;
}

static char *put(char *to, const void *from, size_t n)
{
    if (n) memcpy(to, from, n);
    return to + n;
}

static const char *take(void *to, const char *from, size_t n)
{
    if (n) memcpy(to, from, n);
    return from + n;
}

int unit_save(const unit *u, unit_bytes *into)
{
    const pl_context *c = &u->context;
    const size_t size = unit_state_size(u), real = sizeof(double);
    head h = {
        .token = fingerprint(u), .size = (int64_t)size, .kind = kind(u), .mode = u->mode,
        .started = c->started, .stopped = c->stopped, .n_stops = c->n_stops,
        .renewed = u->renewed, .off_invariants = u->off_invariants, .due = u->due, .before = (int64_t)before_bytes(u),
        .t = c->t, .origin = c->origin, .step = c->step, .error = c->error, .start = u->start, .stop = u->stop,
        .last = u->last, .regular = u->regular, .rtol = u->settings.rtol, .atol = u->settings.atol, .old_t = u->old_t,
        .horizon = u->run.horizon,
    };

    if (into->size < size) {
        void *values = realloc(into->values, size);
        if (!values) {
            unit_say(u, UNIT_ERROR, "logStatusError", "%s: no memory for a saved state.", u->model->name);
            return UNIT_ERROR;
        }
        into->values = values;
        into->size = size;
    }
    char *to = put((char *)into->values, &h, sizeof h);
    to = put(to, u->changing, u->n_changing * sizeof(int64_t));
    to = put(to, u->old_x, old_bytes(u));
    to = put(to, c->stops, (size_t)c->n_stops * real);
    for (int32_t i = 0; i < u->model->system->n_delays; i++) {
        const pl_history *g = &c->histories[i];
        const size_t n = (size_t)g->count;
        to = put(to, &g->count, sizeof(int64_t));
        to = put(to, g->starts, n * real);
        to = put(to, g->ends, n * real);
        to = put(to, g->values, n * real * 5 * (size_t)pl_delay_size(u->model->system, i));
    }
    put(to, u->before.values, (size_t)h.before);
    return UNIT_OK;
}

/* Counts of ticks and of listed instants are below zero nowhere, and no more than there can be. */
static int counts_fit(const unit *u, const char *changing)
{
    const pl_system *s = u->model->system;
    const char *next = changing + (u->n_changing - (size_t)(s->n_rates + s->n_lists + 2)) * sizeof(int64_t);
    int64_t count;

    for (int32_t i = 0; i < s->n_rates; i++) {
        next = take(&count, next, sizeof count);
        if (count < 0 || count > (INT64_MAX - s->first[i]) / s->period[i]) return 0;
    }
    next += sizeof count; /* behind each vector there is one number more */
    for (int32_t i = 0; i < s->n_lists; i++) {
        next = take(&count, next, sizeof count);
        if (count < 0 || count > s->n_instants) return 0;
    }
    return 1;
}

/* One of the modes? */
static int is_mode(int64_t mode) { return mode > 0 && mode < UNIT_ANY && !(mode & (mode - 1)); }

/* Is it a state of this model, and all of it? */
int unit_fits(const unit *u, const unit_bytes *state)
{
    const char *bytes = (const char *)state->values;
    head h;

    if (!bytes || state->size < sizeof h) return 0;
    memcpy(&h, bytes, sizeof h);
    if (h.token != fingerprint(u) || h.kind != kind(u) || h.size < 0 || (uint64_t)h.size > state->size)
        return 0;
    if (!is_mode(h.mode) || h.stopped < 0 || h.stopped > u->model->system->n_events) return 0;
    uint64_t left = (uint64_t)h.size, need = sizeof h + u->n_changing * sizeof(int64_t);
    need += old_bytes(u);
    if (left < need || h.n_stops < 0 || (uint64_t)h.n_stops > (left - need) / sizeof(double)) return 0;
    left -= need + (uint64_t)h.n_stops * sizeof(double);
    for (int32_t i = 0; i < u->model->system->n_delays; i++) {
        const uint64_t piece = sizeof(double) * (2 + 5 * (uint64_t)pl_delay_size(u->model->system, i));
        int64_t count;
        if (left < sizeof count) return 0;
        memcpy(&count, bytes + h.size - left, sizeof count);
        left -= sizeof count;
        if (count < 0 || (uint64_t)count > left / piece) return 0;
        left -= (uint64_t)count * piece;
    }
    if (h.before < 0 || (uint64_t)h.before != left || !counts_fit(u, bytes + sizeof h)) return 0;
    if (!h.before) return 1;
    const unit_bytes before = {(double *)(bytes + h.size - left), (size_t)left};
    head inner;
    if (h.mode != UNIT_EVENT || left < sizeof inner) return 0;
    memcpy(&inner, before.values, sizeof inner);
    return !inner.before && (uint64_t)inner.size == left && unit_fits(u, &before);
}

static int copied(unit_bytes *into, const char *from, size_t size)
{
    void *values = into->size < size ? realloc(into->values, size) : into->values;

    if (!values) return UNIT_ERROR;
    into->size = into->size < size ? size : into->size;
    into->values = memcpy(values, from, size);
    return UNIT_OK;
}

int unit_load(unit *u, const unit_bytes *from)
{
    pl_context *c = &u->context;
    const size_t real = sizeof(double);
    head h;

    if (!unit_fits(u, from)) {
        unit_say(u, UNIT_ERROR, "logStatusError", "%s: this is no saved state of this model.", u->model->name);
        return UNIT_ERROR;
    }
    const char *next = take(&h, (const char *)from->values, sizeof h);
    next = take(u->changing, next, u->n_changing * sizeof(int64_t));
    next = take(u->old_x, next, old_bytes(u));
    c->n_stops = 0;
    while (c->stops_capacity < h.n_stops) {
        c->n_stops = c->stops_capacity;
        if (!unit_grow(u)) return UNIT_ERROR;
    }
    c->n_stops = h.n_stops;
    next = take(c->stops, next, (size_t)h.n_stops * real);
    for (int32_t i = 0; i < u->model->system->n_delays; i++) {
        pl_history *g = &c->histories[i];
        int64_t count;
        next = take(&count, next, sizeof count);
        if (!unit_reserve(u, i, count)) return UNIT_ERROR;
        const size_t n = (size_t)count;
        next = take(g->starts, next, n * real);
        next = take(g->ends, next, n * real);
        next = take(g->values, next, n * real * 5 * (size_t)pl_delay_size(u->model->system, i));
        g->count = count;
    }
    if (h.before && copied(&u->before, next, (size_t)h.before)) return UNIT_ERROR;
    c->t = h.t, c->origin = h.origin, c->step = h.step, c->error = h.error;
    c->started = (int32_t)h.started, c->stopped = (int32_t)h.stopped;
    u->mode = (int)h.mode, u->regular = h.regular;
    u->settled = 0;
    u->updated = h.before > 0;
    u->renewed = (int)h.renewed, u->off_invariants = (int)h.off_invariants;
    u->start = h.start, u->stop = h.stop, u->last = h.last, u->old_t = h.old_t;
    u->settings.rtol = h.rtol, u->settings.atol = h.atol;
    u->row_known = u->rates_known = 0;
    u->due = h.due < 0 || h.due > 1 + u->model->system->n_events ? 0 : (int)h.due;
    if (u->due)
        pl_approached(&u->run, u->due - 2);
    else
        pl_reset(&u->run);
    if (u->mode == UNIT_CONTINUOUS) u->run.horizon = h.horizon; /* up to where delays show what was before a jump */
    return UNIT_OK;
}

/* Bytes of a state that `unit_save` made. */
size_t unit_saved_size(const unit_bytes *state)
{
    head h;
    memcpy(&h, state->values, sizeof h);
    return (size_t)h.size;
}

/* A state from its bytes, where another one is or in new memory; what is there stays where they are none. */
int unit_restore_bytes(unit *u, const void *bytes, size_t size, unit_bytes **into)
{
    const unit_bytes given = {(double *)bytes, size};

    if (!unit_fits(u, &given)) {
        unit_say(u, UNIT_ERROR, "logStatusError", "%s: these %u bytes are no saved state of this model.",
                 u->model->name, (unsigned)size);
        return UNIT_ERROR;
    }
    unit_bytes *made = *into ? *into : calloc(1, sizeof *made);
    void *values = made ? realloc(made->values, size) : NULL;
    if (!values) {
        if (!*into) free(made);
        unit_say(u, UNIT_ERROR, "logStatusError", "%s: no memory for a saved state.", u->model->name);
        return UNIT_ERROR;
    }
    made->values = memcpy(values, bytes, size);
    made->size = size;
    *into = made;
    return UNIT_OK;
}
