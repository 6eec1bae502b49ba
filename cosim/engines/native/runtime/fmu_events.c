/* The rules and the order of operations are those of cosim/fmi/event_mode.py and event_rounds.py, without clocks. Where
   clocks tick, or anything fails, the host goes on from where the unit stands, or says which call has failed. */

#include "fmu_events.h"

#include "fmu_values.h"
#include "unit_clock.h"

#include <math.h>
#include <string.h>

enum { ROUNDS = 100, AT_ONCE = 1000 };

static const double NEAR = 1e-12, SAME = 1e-10, THERE = 1e-9; /* relative: ticks, ends of steps, visits */
static const double PART = 1e-3; /* of a step: times that differ by more are never the same, however large they are */

typedef int (*change_mode)(void *c);
typedef int (*update_states)(void *c, _Bool *again, _Bool *terminate, _Bool *nominals, _Bool *values, _Bool *defined,
                             double *next);
typedef int (*step)(void *c, double t, double h, _Bool no_way_back, _Bool *event, _Bool *terminate, _Bool *early,
                    double *last);

static double size_of(double t) { return fabs(t) > 1.0 ? fabs(t) : 1.0; }

static int reached(double tick, double t) { return tick <= t + NEAR * size_of(t); }

/* Does anything happen at t [s], a time of the unit, without a change of inputs? */
static int waits(const pl_fmu_events *e, double t) { return e->wanted || reached(e->next, t); }

static int failed(pl_fmu_unit *u, int call, int status)
{
    if (!pl_went_wrong(status)) return 0;
    u->events->failed = call;
    u->status = status;
    return 1;
}

/* Out of event mode, if it has stayed in it; not 0 where the host goes on. */
static int leave(pl_fmu_unit *u)
{
    pl_fmu_events *e = u->events;

    if (e->stays && failed(u, PL_FAILED_LEAVE, ((change_mode)e->leave)(u->component))) return 1;
    e->stays = 0;
    return 0;
}

/* Event mode at t [s], a time of the unit, in which inputs are set unless they are null; not 0 where the host goes on. */
static int handle(pl_fmu_unit *u, double t, const double *inputs, int stay)
{
    pl_fmu_events *e = u->events;
    _Bool again, terminate = 0, nominals, values, defined;
    double next = 0.0;
    int round = 0, changed = 0;

    if (e->clocks) return 1;
    e->at = t;
    if (!e->stays && failed(u, PL_FAILED_ENTER, ((change_mode)e->enter)(u->component))) return 1;
    e->stage = PL_EVENT_ENTERED, e->stays = 0;
    if (inputs && pl_write_values(u->component, u->version, e->free, e->n_free, inputs)) return 1;
    do {
        if (++round > ROUNDS) return 1;
        again = terminate = nominals = values = defined = 0;
        const int status = ((update_states)e->update)(u->component, &again, &terminate, &nominals, &values, &defined, &next);
        if (failed(u, PL_FAILED_UPDATE, status)) return 1;
        changed |= values;
        if (defined && next != next) return 1; /* a time that is none: Python says so */
    } while (!terminate && (again || (defined && next <= t)));
    e->stays = stay && !terminate;
    if (!terminate && !stay && failed(u, PL_FAILED_LEAVE, ((change_mode)e->leave)(u->component))) return 1;
    e->next = defined ? next : INFINITY;
    e->wanted = 0;
    e->changed |= changed;
    e->stage = PL_EVENT_NONE;
    u->ended |= terminate;
    return 0;
}

static int step_to_end(pl_fmu_unit *u)
{
    pl_fmu_events *e = u->events;
    const double end = u->end + u->clock, part = PART * (end - e->at);
    int at_once = 0;

    if (leave(u)) return PL_UNIT_STEPPED;
    while (!(end <= e->at + fmin(NEAR * size_of(e->at), part))) {
        if (!u->ended && waits(e, e->at) && handle(u, e->at, 0, 0)) return PL_UNIT_STEPPED;
        if (u->ended) {
            u->reached = fmax(u->time, pl_run_time(u->clock, e->at));
            break;
        }
        e->stop = e->any_step && e->next < end ? e->next : end;
        const double h = e->stop - e->at;
        *u->last = e->at + h;
        u->status = ((step)u->do_step)(u->component, e->at, h, 0, u->event, u->terminate, u->early, u->last);
        const int event = *(_Bool *)u->event, flags = event || *(_Bool *)u->terminate || *(_Bool *)u->early;
        if (pl_went_wrong(u->status) || *(_Bool *)u->terminate) {
            e->failed = PL_FAILED_STEP;
            return PL_UNIT_STEPPED;
        }
        const double there = flags ? *u->last : e->at + h;
        at_once = there > e->at ? 0 : at_once + 1;
        if (at_once > AT_ONCE) return PL_UNIT_STEPPED;
        e->wanted = event;
        e->at = fabs(there - e->stop) <= fmin(SAME * size_of(e->stop), part) ? e->stop : there;
    }
    return PL_DONE;
}

/* Events where it stands at the end of a step. */
static int meet(pl_fmu_unit *u)
{
    pl_fmu_events *e = u->events;
    double *before = e->room;
    const double t = u->reached + u->clock;
    const int m = u->out.n;

    if (u->ended || (e->visits && !e->in_loop) || !waits(e, t)) return 0;
    if (pl_read_values(u->component, u->version, u->get, u->n_get, u->fresh)) return 1;
    memcpy(before, u->fresh, sizeof(double) * (size_t)m);
    if (handle(u, t, 0, e->visits)) return 1;
    if (pl_read_values(u->component, u->version, u->get, u->n_get, u->fresh)) return 1;
    u->has_fresh = 1;
    for (int i = 0; i < m; i++) e->jumped |= u->smooth_outputs[i] && u->fresh[i] != before[i];
    return 0;
}

int pl_step_with_events(pl_fmu_unit *u)
{
    pl_fmu_events *e = u->events;

    e->at = u->time + u->clock;
    e->changed = e->jumped = 0;
    e->stage = PL_EVENT_NONE, e->failed = PL_FAILED_NONE;
    const int reason = step_to_end(u);
    if (reason) return reason;
    if (u->asked) u->asked[0] = 0.0;
    if ((u->asked && u->asked[1] != 0.0) || meet(u)) return PL_UNIT_STEPPED;
    e->jumped |= e->changed;
    return PL_DONE;
}

static int all_finite(const double *v, int n)
{
    for (int i = 0; i < n; i++)
        if (!isfinite(v[i])) return 0;
    return 1;
}

/* Has any of the inputs at these places changed? */
static int differs(const double *a, const double *b, const int32_t *places, int n)
{
    for (int i = 0; i < n; i++)
        if (a[places[i]] != b[places[i]]) return 1;
    return 0;
}

int pl_visit(const void *self, double *row)
{
    pl_fmu_unit *u = (pl_fmu_unit *)self;
    pl_fmu_events *e = u->events;
    double *found = e->room;
    const double t = u->time + u->clock;
    const size_t n = sizeof(double) * (size_t)u->u.n, m = sizeof(double) * (size_t)u->out.n;

    if (fabs(*e->now - u->time) > THERE * size_of(*e->now)) { /* the run ends before it got there */
        memcpy(row, u->out.values, m);
        return 0;
    }
    e->stage = PL_EVENT_NONE, e->failed = PL_FAILED_NONE;
    if (!u->ended) {
        memcpy(found, e->last, n);
        for (int i = 0; i < e->n_given; i++) found[e->given[i]] = row[i];
        for (int i = 0; i < e->n_triggers; i++)
            if (floor(found[e->triggers[i]] + 0.5) != e->levels[i]) return 1;
        const int change = differs(e->last, found, e->free_at, e->n_free_at);
        if (change || waits(e, t) ? handle(u, t, change ? found : 0, 0) : leave(u)) return 1;
        memcpy(e->last, found, n);
    }
    if (pl_read_values(u->component, u->version, u->get, u->n_get, u->fresh) || !all_finite(u->fresh, u->out.n)) {
        e->stage = PL_EVENT_OVER;
        return 1;
    }
    int jumped = 0;
    for (int i = 0; i < u->out.n; i++) jumped |= u->smooth_outputs[i] && u->fresh[i] != u->out.values[i];
    e->jumped |= jumped;
    if (jumped) u->out.count = 1;
    u->out.time[0] = u->time;
    memcpy(u->out.values, u->fresh, m);
    memcpy(row, u->fresh, m);
    return 0;
}
