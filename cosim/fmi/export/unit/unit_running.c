/* Initialisation and communication steps; and what both versions of FMI ask at a point: signals, derivatives. */

#include "unit.h"

#include "evaluate.h"

#include <math.h>
#include <stdlib.h>

static const double SAME = 1e-13; /* relative; two times this close are one */

static int no_memory(const unit *u)
{
    unit_say(u, UNIT_ERROR, "logStatusError", "%s: no memory for the past of delays.", u->model->name);
    return UNIT_ERROR;
}

/* Between two steps of the solver the importer may look at the unit; until when does it want the step to go on? */
static double paused(unit *u, double until)
{
    pl_run *r = &u->run;
    unit_pause pause = {0, until};

    if (r->model->nx == 0) u->context.t = r->t0;
    u->row_known = u->rates_known = 0;
    u->intermediate(u, &pause);
    u->row_known = u->rates_known = 0;
    if (!pause.ends || !(pause.until < until)) return until;
    pl_reset(r); /* the steps of the solver lead to another end now */
    return pause.until > u->context.t ? pause.until : u->context.t;
}

/* Run to a time, or less far where the importer wants it; UNIT_OK also where a stop event ended it before, and where
   it came back at an instant from the left, which is `due` then. */
static int walk(unit *u, double *until)
{
    pl_run *r = &u->run;
    int reason, status = UNIT_OK;

    u->due = u->row_known = u->rates_known = 0;
    r->budget = u->intermediate ? 1 : INT64_MAX;
    while (status == UNIT_OK && (reason = pl_advance(r, *until)) != PL_DONE) {
        if (reason == PL_APPROACHED) {
            u->due = 2 + r->index;
            break;
        }
        if (reason == PL_FULL_HISTORY)
            status = unit_grow(u) ? UNIT_OK : no_memory(u);
        else if (reason == PL_FULL)
            u->notes.log.count = 0; /* the row of an end, which nobody reads */
        else if (reason != PL_PAUSE)
            status = unit_explain(u, reason);
        else if (u->intermediate)
            *until = paused(u, *until);
        r->budget = u->intermediate ? 1 : INT64_MAX;
    }
    return status;
}

static int advance(unit *u, double until)
{
    const int status = walk(u, &until);
    pl_reset(&u->run);
    return status;
}

/* Everything that happens at the present instant, which a step has come to from the left. */
int unit_execute(unit *u)
{
    double here = u->context.t;

    if (!u->due) pl_approached(&u->run, -1);
    return walk(u, &here);
}

int unit_begin(unit *u, int tolerance_defined, double tolerance, double start, int stop_defined, double stop)
{
    if (!isfinite(start) || (stop_defined && !(stop >= start))) {
        unit_say(u, UNIT_ERROR, "logStatusError", "%s: the experiment is from %.9g to %.9g s.", u->model->name, start,
                 stop);
        return UNIT_ERROR;
    }
    if (tolerance_defined && tolerance > 0.0 && u->settings.method.adaptive) {
        const pl_settings *s = u->model->settings;
        u->settings.rtol = tolerance;
        u->settings.atol = tolerance == s->rtol ? s->atol : s->atol * (tolerance / s->rtol);
    }
    u->start = u->last = u->context.t = u->context.origin = start;
    u->stop = stop_defined ? stop : INFINITY;
    u->row_known = u->rates_known = 0;
    return UNIT_OK;
}

/* Execute the start instant, once, so that everything has its value there; what was set is kept. */
int unit_settle(unit *u)
{
    if (u->settled) return UNIT_OK;
    int status = unit_save(u, &u->before);
    if (status) return status;
    u->settled = 1;
    status = advance(u, u->start);
    if (status) unit_unsettle(u);
    return status;
}

/* Back to what was set. */
int unit_unsettle(unit *u)
{
    if (!u->settled) return UNIT_OK;
    const int status = unit_load(u, &u->before);
    u->settled = 0;
    return status;
}

int unit_initialised(unit *u)
{
    const int status = unit_settle(u);
    u->settled = u->renewed = 0;
    return status;
}

static int near(double t, double other) { return fabs(t - other) <= SAME * fabs(t); } /* t is finite */

/* Where a step really ends: times that differ by rounding are one. First a tick or listed instant, then the end of
   the experiment, then a whole number of steps as large as the first one. */
static double snapped(unit *u, double until, double h)
{
    const double tick = pl_next_stop(&u->run);
    if (near(until, tick)) return tick;
    if (near(until, u->stop)) return u->stop;
    /* ticks further away, of all rates */
    const pl_system *s = u->model->system;
    for (int32_t i = 0; i < s->n_rates; i++) {
        const double first = u->start + pl_seconds(s->first[i], s->grid), period = pl_seconds(s->period[i], s->grid);
        const double k = round((until - first) / period);
        if (!(k >= 0.0 && k < 9e15)) continue;
        const double t = u->start + pl_seconds(s->first[i] + (int64_t)k * s->period[i], s->grid);
        if (near(until, t)) return t;
    }
    int32_t low = 0, high = s->n_instants;
    while (low < high) { /* the first listed instant that is not clearly before */
        const int32_t middle = low + (high - low) / 2;
        if (s->instant_time[middle] < until && !near(until, s->instant_time[middle]))
            low = middle + 1;
        else
            high = middle;
    }
    if (low < s->n_instants && near(until, s->instant_time[low])) return s->instant_time[low];
    if (u->regular == 0.0) u->regular = h;
    const double regular = u->start + round((until - u->start) / u->regular) * u->regular;
    return near(until, regular) ? regular : until;
}

/* Does nothing happen here, neither a tick, nor a listed instant, nor a jump that comes out of a delay? */
static int nothing_here(const unit *u)
{
    const pl_context *c = &u->context;

    for (int64_t i = 0; i < c->n_stops; i++)
        if (c->stops[i] == c->t) return 0;
    return pl_next_stop(&u->run) > c->t;
}

/* With event mode: to `until`, or before the first thing that happens on the way, if steps may end early. */
static int advance_to_event(unit *u, double *until)
{
    pl_run *r = &u->run;

    r->approach = u->early ? PL_APPROACH_ANY : PL_APPROACH_END;
    const int status = walk(u, until);
    r->approach = 0;
    return status == UNIT_OK && u->due == 1 && nothing_here(u) ? unit_execute(u) : status;
}

/* A communication step from t to t + h; a tick at its end is executed, or with event mode waits for that. */
int unit_step(unit *u, double t, double h, unit_arrival *arrival)
{
    pl_context *c = &u->context;

    arrival->last = c->t;
    arrival->ended = c->stopped != 0;
    arrival->event = arrival->early = 0;
    if (u->due) {
        unit_say(u, UNIT_ERROR, "logStatusError", "%s: what happens at t=%.9g s waits for event mode: enter it first.",
                 u->model->name, c->t);
        return UNIT_ERROR;
    }
    if (!(fabs(t - c->t) <= 1e-9 * fmax(1.0, fabs(t))) || !isfinite(t)) {
        unit_say(u, UNIT_ERROR, "logStatusError", "%s: a step from t=%.17g s was asked for; the unit is at t=%.17g s.",
                 u->model->name, t, c->t);
        return UNIT_ERROR;
    }
    if (!(h > 0.0) || !isfinite(h)) {
        unit_say(u, UNIT_ERROR, "logStatusError", "%s: the communication step is %.9g s, expected more than zero.",
                 u->model->name, h);
        return UNIT_ERROR;
    }
    double until = snapped(u, t + h, h);
    const double end = until;
    if (until > u->stop) {
        unit_say(u, UNIT_ERROR, "logStatusError", "%s: a step to t=%.9g s leads past the stop time %.9g s.",
                 u->model->name, until, u->stop);
        return UNIT_ERROR;
    }
    int status = UNIT_OK;
    if (!c->stopped) status = u->pauses ? advance_to_event(u, &until) : advance(u, until);
    arrival->last = u->last = c->t;
    arrival->ended = c->stopped != 0;
    arrival->event = u->due != 0;
    arrival->early = status == UNIT_OK && !arrival->ended && c->t < end;
    if (arrival->ended)
        unit_say(u, UNIT_OK, "logEvents", "%s: '%s' ends the simulation at t=%.9g s.", u->model->name,
                 u->model->event_names[c->stopped - 1], c->t);
    return status;
}

/* The row of all shown signals at the present point. */
int unit_signals(unit *u)
{
    pl_run *r = &u->run;

    if (u->row_known) return UNIT_OK;
    pl_evaluate_signals(r, &u->shown, u->row);
    if (r->unsolved) return unit_explain(u, PL_NO_SOLUTION);
    u->row_known = 1;
    return UNIT_OK;
}

/* The derivatives of all states at the present point. */
int unit_rates(unit *u)
{
    pl_run *r = &u->run;
    pl_context *c = &u->context;
    const int32_t n = r->model->nx;

    if (u->rates_known) return UNIT_OK;
    pl_update_constants(r);
    pl_evaluate_derivative(r, c->t, c->x, u->rates);
    if (r->unsolved) return unit_explain(u, PL_NO_SOLUTION);
    for (int32_t i = 0; i < n; i++) {
        if (isfinite(u->rates[i])) continue;
        unit_say(u, UNIT_DISCARD, "logStatusDiscard", "%s: the derivative of '%s' is not finite at t=%.9g s.",
                 u->model->name, u->model->state_names[i], c->t);
        return UNIT_DISCARD;
    }
    u->rates_known = 1;
    return UNIT_OK;
}
