/* Instances: their memory from instantiation to free, and what may be called in which mode. */

#include "unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const int FIRST_PIECES = 512; /* room in the history of a delay */

/* Numbers of 8 bytes in one piece of memory; where there is none yet, they are counted. */
typedef struct {
    double *begin;
    size_t used;
} room;

/* The next `n` of them. */
static void *take(room *r, size_t n)
{
    double *here = r->begin ? r->begin + r->used : NULL;

    r->used += n + 1; /* none is empty, so that no two lie in one place */
    return here;
}

/* The numbers that change, one vector after the other; returns how many there are. */
static size_t lay_out_changing(unit *u, void *memory)
{
    const pl_model *m = u->run.model;
    const pl_system *s = u->model->system;
    pl_context *c = &u->context;
    room r = {memory, 0};

    c->x = take(&r, (size_t)m->nx);
    c->h = take(&r, (size_t)m->nh);
    c->w = take(&r, (size_t)m->nw);
    c->p = take(&r, (size_t)m->np);
    c->next = take(&r, (size_t)m->nh);
    c->signs = take(&r, (size_t)s->n_events);
    c->solution = take(&r, (size_t)s->n_unknowns);
    c->ticks = take(&r, (size_t)s->n_rates); /* counts are last, see unit_states.c */
    c->instants = take(&r, (size_t)s->n_lists);
    return r.used;
}

/* Room of the stiff method. */
static void lay_out_stiff(pl_stiff *s, size_t n, size_t n_bodies, room *r)
{
    s->c = take(r, (size_t)s->code->nc);
    s->v = take(r, (size_t)s->code->nv);
    s->iv = take(r, (size_t)s->code->niv);
    s->seed = take(r, 2 * n + 1);
    s->jacobian = take(r, (size_t)s->column_start[n] + n);
    s->slope = take(r, n);
    s->work = take(r, n);
    s->factors = take(r, s->sparse ? (size_t)s->lu_start[n] : 0);
    s->dense = take(r, n * n);
    s->z = take(r, n);
    s->z1 = take(r, n);
    s->frames = take(r, n_bodies * sizeof(pl_frame) / sizeof(double));
    s->pivots = take(r, n);
}

/* The runtime's own memory, and what is found anew: no part of a state. Returns how many numbers there are. */
static size_t lay_out_room(unit *u, void *memory)
{
    const unit_model *m = u->model;
    const pl_model *code = u->run.model;
    room r = {memory, 0};
    void *own = take(&r, pl_workspace_size(code, m->system) / sizeof(double));

    u->row = take(&r, (size_t)m->n_shown);
    u->rates = take(&r, (size_t)code->nx);
    u->old_x = take(&r, (size_t)code->nx + (size_t)m->n_inputs);
    u->kept = take(&r, (size_t)m->n_inputs + (size_t)code->np);
    u->indicators = take(&r, (size_t)m->system->n_events);
    u->linear = take(&r, unit_derivative_doubles(u));
    if (m->stiff) lay_out_stiff(&u->stiff, (size_t)code->nx, (size_t)m->system->n_bodies, &r);
    if (memory) pl_instantiate(&u->run, own);
    return r.used;
}

/* Histories, and the list of stops that delays make. */
static int reserve_delays(unit *u)
{
    const pl_system *s = u->model->system;

    if (!s->n_delays) return 1;
    u->context.histories = calloc((size_t)s->n_delays, sizeof(pl_history));
    if (!u->context.histories) return 0;
    for (int32_t i = 0; i < s->n_delays; i++)
        if (!unit_reserve(u, i, FIRST_PIECES)) return 0;
    return unit_grow(u);
}

unit *unit_create(const unit_model *m, const char *name, int exchange)
{
    unit *u = calloc(1, sizeof *u);
    if (!u) return NULL;
    const pl_model *code = pl_get_model();

    u->model = m;
    u->exchange = exchange;
    u->run.model = code;
    u->run.system = m->system;
    u->run.settings = &u->settings;
    u->run.context = &u->context;
    u->run.log = &u->notes;
    if (m->stiff) {
        u->stiff = *m->stiff;
        u->stiff.code = m->jacobian();
        u->run.stiff = &u->stiff;
    }
    u->name = malloc(strlen(name) + 1);
    u->n_changing = lay_out_changing(u, NULL);
    u->changing = calloc(u->n_changing, sizeof(int64_t));
    u->room = calloc(lay_out_room(u, NULL), sizeof(double));
    u->notes.ticks = calloc((size_t)m->system->n_rates + 1, sizeof(pl_buffer));
    u->run.counters.limited_by = calloc((size_t)code->nx + 1, sizeof(int64_t));
    if (!u->name || !u->changing || !u->room || !u->notes.ticks || !u->run.counters.limited_by) {
        unit_free(u);
        return NULL;
    }
    strcpy(u->name, name);
    lay_out_changing(u, u->changing);
    if (!reserve_delays(u)) {
        unit_free(u);
        return NULL;
    }
    u->shown = (pl_buffer){.width = m->n_shown, .places = m->shown, .n_pieces = m->n_pieces, .pieces = m->pieces};
    u->notes.log.rows = u->last_row;
    u->notes.log.capacity = 1;
    u->run.counters.refused_by = -1;
    lay_out_room(u, u->room);
    unit_reset(u);
    return u;
}

void unit_free(unit *u)
{
    if (!u) return;
    for (int32_t i = 0; u->context.histories && i < u->model->system->n_delays; i++) {
        free(u->context.histories[i].starts);
        free(u->context.histories[i].ends);
        free(u->context.histories[i].values);
    }
    free(u->context.histories);
    free(u->context.stops);
    free(u->before.values);
    free(u->aside.values);
    free(u->run.counters.limited_by);
    free(u->notes.ticks);
    free(u->room);
    free(u->changing);
    free(u->name);
    free(u);
}

/* As it was instantiated. */
void unit_reset(unit *u)
{
    const unit_model *m = u->model;
    const pl_model *code = u->run.model;
    pl_context *c = &u->context;

    memset(u->changing, 0, u->n_changing * sizeof(int64_t));
    memcpy(c->x, m->x, sizeof(double) * (size_t)code->nx);
    memcpy(c->h, m->h, sizeof(double) * (size_t)code->nh);
    memcpy(c->next, m->h, sizeof(double) * (size_t)code->nh);
    memcpy(c->w, m->w, sizeof(double) * (size_t)code->nw);
    memcpy(c->p, m->p, sizeof(double) * (size_t)code->np);
    memcpy(c->solution, m->w, sizeof(double) * (size_t)m->system->n_unknowns);
    c->t = c->origin = 0.0;
    c->step = 0.0;
    c->error = 1e-4;
    c->started = c->stopped = 0;
    c->n_stops = 0;
    for (int32_t i = 0; i < m->system->n_delays; i++) c->histories[i].count = 0;
    u->settings = *m->settings;
    u->mode = UNIT_INSTANTIATED;
    u->start = u->last = 0.0;
    u->stop = INFINITY;
    u->regular = 0.0;
    u->settled = u->updated = u->renewed = u->off_invariants = u->due = 0;
    u->row_known = u->rates_known = 0;
    pl_reset(&u->run);
}

const char *unit_mode_name(int mode)
{
    switch (mode) {
    case UNIT_INSTANTIATED: return "instantiated";
    case UNIT_CONFIGURATION: return "configuration mode";
    case UNIT_RECONFIGURATION: return "reconfiguration mode";
    case UNIT_INITIALIZATION: return "initialization mode";
    case UNIT_EVENT: return "event mode";
    case UNIT_CONTINUOUS: return "continuous-time mode";
    case UNIT_STEP: return "step mode";
    case UNIT_INTERMEDIATE: return "intermediate update mode";
    case UNIT_TERMINATED: return "terminated";
    default: return "failed";
    }
}

/* May a function be called now? If not, a line in the log says what to do. */
int unit_allowed(unit *u, const char *function, int modes)
{
    if (u->mode & modes) return 1;
    char places[200] = "";
    for (int mode = 1; mode < UNIT_ANY; mode *= 2) {
        if (!(modes & mode) || strlen(places) > 160) continue;
        if (places[0]) strcat(places, ", ");
        strcat(places, unit_mode_name(mode));
    }
    unit_say(u, UNIT_ERROR, "logStatusError", "%s: %s was called while the unit is in: %s; it is allowed in: %s.",
             u->model->name, function, unit_mode_name(u->mode), places[0] ? places : "no mode of this kind");
    return 0;
}
