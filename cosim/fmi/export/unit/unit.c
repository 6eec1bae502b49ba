/* Instances: their memory from instantiation to free, and what may be called in which mode. */

#include "unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const int FIRST_PIECES = 512; /* room in the history of a delay */

/* Lay out the numbers that change, one vector after the other; without memory, how many there are. */
static size_t layout(unit *u, int64_t *next)
{
    const pl_model *m = u->run.model;
    const pl_system *s = u->model->system;
    pl_context *c = &u->context;
    int64_t *begin = next;
    double **doubles[] = {&c->x, &c->h, &c->w, &c->p, &c->next, &c->signs, &c->solution};
    const int32_t sizes[] = {m->nx, m->nh, m->nw, m->np, m->nh, s->n_events, s->n_unknowns};
    size_t n = 0;

    for (int i = 0; i < 7; i++) {
        if (begin) *doubles[i] = (double *)(begin + n);
        n += (size_t)sizes[i] + 1; /* none is empty, so that no two lie in one place */
    }
    if (begin) c->ticks = begin + n;
    n += (size_t)s->n_rates + 1;
    if (begin) c->instants = begin + n;
    return n + (size_t)s->n_lists + 1;
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

static void stiff_room(unit *u, double *next)
{
    const pl_model *m = u->run.model;
    const size_t n = (size_t)m->nx;
    pl_stiff *s = &u->stiff;

    s->c = next;
    s->v = s->c + s->code->nc + 1;
    s->iv = (long long *)(s->v + s->code->nv + 1);
    s->seed = (double *)(s->iv + s->code->niv + 1);
    s->jacobian = s->seed + 2 * n + 2;
    s->slope = s->jacobian + s->column_start[n] + n + 1;
    s->work = s->slope + n + 1;
    s->factors = s->work + n + 1;
    s->dense = s->factors + (s->sparse ? s->lu_start[n] : 0) + 1;
    s->z = s->dense + n * n + 1;
    s->z1 = s->z + n + 1;
    s->frames = (pl_frame *)(s->z1 + n + 1);
    s->pivots = (int32_t *)(s->frames + u->model->system->n_bodies + 1);
}

static size_t stiff_doubles(const unit *u)
{
    const size_t n = (size_t)u->run.model->nx;
    const size_t frames = (size_t)u->model->system->n_bodies + 1;
    const pl_stiff *s = &u->stiff;
    if (!u->model->stiff) return 0;
    return (size_t)(s->code->nc + s->code->nv + s->code->niv) + 8 * n + n * n + (size_t)s->column_start[n] +
           (size_t)(s->sparse ? s->lu_start[n] : 0) + frames * (sizeof(pl_frame) / sizeof(double)) + 20;
}

unit *unit_create(const unit_model *m, const char *name, int exchange)
{
    unit *u = calloc(1, sizeof *u);
    if (!u) return NULL;
    const pl_model *code = pl_get_model();
    const size_t n = (size_t)code->nx;

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
    u->n_changing = layout(u, NULL);
    u->changing = calloc(u->n_changing, sizeof(int64_t));
    const size_t own = pl_workspace_size(code, m->system) / sizeof(double) + 2;
    const size_t stiff = stiff_doubles(u);
    const size_t more = (size_t)m->n_shown + 2 * n + (size_t)m->n_inputs + (size_t)code->np +
                        (size_t)m->system->n_events + 10;
    const size_t linear = unit_derivative_doubles(u);
    u->room = calloc(own + stiff + more + linear + n, sizeof(double));
    u->notes.ticks = calloc((size_t)m->system->n_rates + 1, sizeof(pl_buffer));
    u->run.counters.limited_by = calloc(n + 1, sizeof(int64_t));
    if (!u->name || !u->changing || !u->room || !u->notes.ticks || !u->run.counters.limited_by) {
        unit_free(u);
        return NULL;
    }
    strcpy(u->name, name);
    layout(u, u->changing);
    if (!reserve_delays(u)) {
        unit_free(u);
        return NULL;
    }
    u->row = u->room + own;
    u->rates = u->row + m->n_shown + 1;
    u->old_x = u->rates + n + 1;
    u->kept = u->old_x + n + 1;
    u->indicators = u->kept + m->n_inputs + code->np + 1;
    u->linear = u->indicators + m->system->n_events + 1;
    if (m->stiff) stiff_room(u, u->linear + linear);
    u->shown = (pl_buffer){.width = m->n_shown, .places = m->shown, .n_pieces = m->n_pieces, .pieces = m->pieces};
    u->notes.log.rows = u->last_row;
    u->notes.log.capacity = 1;
    u->run.counters.refused_by = -1;
    pl_instantiate(&u->run, u->room);
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
