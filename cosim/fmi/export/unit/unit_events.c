/* Model exchange: modes, indicators, and all that happens at an event; co-simulation has only its event mode.

   An indicator is a crossing moved away from zero by the side it is on, so that one that was just handled is not
   found again; one that a jump of inputs has put on its threshold, where it rests, is on the side it has there.
   Event mode first handles the crossings that changed their sign, then the ticks that are due, then crossings again,
   as a run of the native engine does. Where an input is set after that, in the same event mode, everything is done
   again from how the event began, so that sampled blocks see the new values. */

#include "unit.h"

#include "delays.h"
#include "evaluate.h"
#include "events.h"
#include "histories.h"
#include "instants.h"
#include "invariants.h"

#include <math.h>
#include <string.h>

static const double SAME = 1e-12; /* relative; an event this close before a tick is at the tick */
static const double ASIDE = 2.0;  /* times the threshold of a crossing */

static size_t bytes(const unit *u) { return sizeof(double) * (size_t)u->run.model->nx; }

void unit_set_time(unit *u, double t)
{
    if (t == u->context.t) return;
    u->context.t = t;
    u->row_known = u->rates_known = 0;
}

void unit_set_states(unit *u, const double *x)
{
    if (u->run.model->nx) memcpy(u->context.x, x, bytes(u));
    u->row_known = u->rates_known = 0;
}

/* Which crossings rest on their thresholds, where they belong to another side than the one they come from? Into
   r->special; how many. Crossings are in r->out. */
static int resting_elsewhere(pl_run *r)
{
    const pl_system *s = r->system;
    int n = 0, rest = 0;

    for (int32_t i = 0; i < s->n_events; i++) {
        const double sign = r->context->signs[i];
        const int turns = fabs(sign) == 1.0 && sign != s->rest[i];
        if (turns && fabs(r->out[r->model->place_of[i]]) <= s->threshold[i]) r->special[n++] = i;
    }
    pl_evaluate_some(r, r->model->crossing_rates, r->special, n, r->g_rates);
    for (int k = 0; k < n; k++)
        if (r->g_rates[r->special[k]] == 0.0) r->special[rest++] = r->special[k];
    return rest;
}

int unit_indicators(unit *u, double *values)
{
    pl_run *r = &u->run;
    pl_context *c = &u->context;
    const pl_system *s = u->model->system;

    if (!s->n_events) return UNIT_OK;
    pl_update_constants(r);
    pl_set_arguments(r, c->t, c->x);
    r->model->crossings->all(&r->a, r->out);
    if (r->unsolved) return unit_explain(u, PL_NO_SOLUTION);
    for (int32_t i = 0; i < s->n_events; i++) {
        values[i] = r->out[r->model->place_of[i]]; /* events share places, in the order of the code */
        if (isnan(values[i])) {
            r->index = i;
            return unit_explain(u, PL_NO_SIGN);
        }
        const double aside = ASIDE * (s->threshold[i] > 1e-14 ? s->threshold[i] : 1e-14);
        values[i] += c->signs[i] < 0.0 ? -aside : aside;
    }
    const int n = resting_elsewhere(r);
    for (int k = 0; k < n; k++) values[r->special[k]] *= -1.0;
    return UNIT_OK;
}

int unit_enter_event_mode(unit *u)
{
    u->updated = u->renewed = 0;
    u->mode = UNIT_EVENT;
    return UNIT_OK;
}

static int go_on(unit *u)
{
    const int reason = pl_handle_events(&u->run);
    return reason ? unit_explain(u, reason) : UNIT_OK;
}

/* Crossings that changed their sign, until none does. */
static int handle_crossings(unit *u, int which)
{
    if (!u->model->system->n_events || u->context.stopped) return UNIT_OK;
    pl_begin_events(&u->run, -1, which);
    return go_on(u);
}

/* Everything that happens at the present instant of model exchange. */
static int instant(unit *u)
{
    pl_run *r = &u->run;
    pl_context *c = &u->context;
    const double t = c->t, next = pl_next_stop(r);
    int status, reason;

    pl_update_constants(r);
    r->horizon = INFINITY;
    r->until = isfinite(u->stop) ? u->stop : t + 1.0; /* for what counts as events without end */
    pl_forget_missed(r);
    if (u->off_invariants) pl_project(r, t, c->x);
    u->off_invariants = 0;
    status = handle_crossings(u, PL_EVENTS_BEFORE);
    if (status) return status;
    r->stop = next > t && next - t <= SAME * fmax(1.0, fabs(t)) ? next : t;
    pl_count_ticks(r, r->stop);
    r->again = 0;
    do { /* conditional parts follow what events change */
        r->segment = r->rounds = 0;
        while ((reason = pl_run_segments(r)) == PL_EVENTS_DUE) {
            pl_begin_timed_events(r, r->segment - 1);
            status = go_on(u);
            if (status) return status;
        }
        if (reason) return unit_explain(u, reason);
        r->round = 0;
        status = handle_crossings(u, PL_ALL_EVENTS);
        if (status) return status;
        r->again = 1;
    } while (r->round > 0 && u->model->system->n_again && !u->context.stopped);
    /* what turns from here on is seen by its value alone */
    if (u->model->input_slopes && (reason = pl_update_accepted(r, c->t, c->x))) return unit_explain(u, reason);
    if (u->model->system->n_delays) {
        if (!unit_grow(u)) return UNIT_ERROR;
        pl_schedule_delayed_jumps(r);
    }
    return r->unsolved ? unit_explain(u, PL_NO_SOLUTION) : UNIT_OK;
}

/* How the event began, with the inputs and parameters of now. */
static int begin_again(unit *u)
{
    const unit_model *m = u->model;
    pl_context *c = &u->context;
    const size_t n = (size_t)u->run.model->np;
    double *p = u->kept + m->n_inputs;

    for (int32_t i = 0; i < m->n_inputs; i++) u->kept[i] = c->h[m->inputs[i]];
    if (n) memcpy(p, c->p, sizeof(double) * n);
    const int status = unit_load(u, &u->before);
    for (int32_t i = 0; i < m->n_inputs; i++) c->h[m->inputs[i]] = u->kept[i];
    if (n) memcpy(c->p, p, sizeof(double) * n);
    return status;
}

/* The next time at which something happens that is known: a tick, a listed instant, a jump that comes out of a
   delay; and no step is longer than the shortest delay. */
static double next_time(unit *u)
{
    pl_run *r = &u->run;
    const pl_context *c = &u->context;
    double next = pl_next_stop(r);

    if (u->exchange && u->model->system->n_delays && pl_limit_by_delays(r, c->t, c->x) == PL_DONE) {
        const double delayed = c->t + r->shortest_delay;
        if (delayed < next) next = delayed;
    }
    return next;
}

int unit_update_states(unit *u, unit_update *update)
{
    pl_context *c = &u->context;
    int status = UNIT_OK;

    update->values_changed = 0;
    if (!u->updated || u->renewed) {
        if (u->run.model->nx) memcpy(u->rates, c->x, bytes(u)); /* as the importer knows them */
        status = u->updated ? begin_again(u) : unit_save(u, &u->before);
        if (!status) status = u->exchange ? instant(u) : unit_execute(u);
        u->updated = 1;
        u->renewed = 0;
        u->row_known = 0;
        update->values_changed = u->run.model->nx && memcmp(u->rates, c->x, bytes(u)) != 0;
        u->rates_known = 0;
        if (status) return status;
        if (c->stopped)
            unit_say(u, UNIT_OK, "logEvents", "%s: '%s' ends the simulation at t=%.9g s.", u->model->name,
                     u->model->event_names[c->stopped - 1], c->t);
    }
    update->terminate = c->stopped != 0;
    update->next = next_time(u);
    update->next_defined = isfinite(update->next);
    return status;
}

/* Here a step of the importer begins. */
static void begin_step(unit *u)
{
    double *inputs = u->old_x + u->run.model->nx;

    u->old_t = u->context.t;
    if (u->run.model->nx) memcpy(u->old_x, u->context.x, bytes(u));
    for (int32_t i = 0; i < u->model->n_inputs; i++) inputs[i] = u->context.h[u->model->inputs[i]];
}

int unit_enter_continuous_mode(unit *u)
{
    u->mode = UNIT_CONTINUOUS;
    u->run.horizon = u->model->system->n_delays ? pl_next_stop(&u->run) : INFINITY;
    begin_step(u);
    return UNIT_OK;
}

static void set_inputs(unit *u, const double *values)
{
    for (int32_t i = 0; i < u->model->n_inputs; i++) u->context.h[u->model->inputs[i]] = values[i];
}

/* The past of delayed signals over the step that ended here: states go along a cubic through its ends and their
   slopes, inputs along a straight line. */
static int record(unit *u)
{
    pl_run *r = &u->run;
    const pl_context *c = &u->context;

    if (!(c->t > u->old_t)) return UNIT_OK;
    if (!unit_grow(u)) return UNIT_ERROR;
    r->t0 = u->old_t;
    r->t1 = r->end = c->t;
    r->end_known = r->model->nx > 0;
    r->n_moving = u->model->n_inputs;
    r->moving = u->model->inputs;
    r->moving_from = u->old_x + r->model->nx;
    r->moving_to = u->kept;
    for (int32_t i = 0; i < r->n_moving; i++) u->kept[i] = c->h[r->moving[i]];
    if (r->model->nx) {
        memcpy(r->x0, u->old_x, bytes(u));
        memcpy(r->x1, c->x, bytes(u));
        r->integrated1 = r->x1;
        pl_evaluate_derivative(r, r->t1, r->x1, r->f1);
        set_inputs(u, r->moving_from);
        pl_evaluate_derivative(r, r->t0, r->x0, r->k);
    }
    const pl_settings own = u->settings;
    pl_stiff *stiff = r->stiff;
    u->settings.method.adaptive = 0;
    r->stiff = NULL;
    pl_record_delayed(r);
    r->n_moving = 0;
    set_inputs(u, u->kept);
    u->settings = own;
    r->stiff = stiff;
    return r->unsolved ? unit_explain(u, PL_NO_SOLUTION) : UNIT_OK;
}

static int off_invariants(unit *u)
{
    pl_run *r = &u->run;
    const pl_system *s = u->model->system;

    if (!s->n_invariants) return 0;
    pl_set_arguments(r, u->context.t, u->context.x);
    r->model->invariants(&r->a, r->out);
    for (int32_t i = 0; i < s->n_invariants; i++)
        if (!(fabs(r->out[i]) <= s->tolerance[i])) return 1;
    return 0;
}

/* Has the step that ended here gone through a crossing? */
static int crossed(unit *u, int *status)
{
    *status = unit_indicators(u, u->indicators);
    for (int32_t i = 0; *status == UNIT_OK && i < u->model->system->n_events; i++)
        if (u->indicators[i] * u->context.signs[i] < 0.0) return 1;
    return 0;
}

int unit_completed_step(unit *u, int *enter_event_mode, int *terminate)
{
    pl_run *r = &u->run;
    pl_context *c = &u->context;
    int status = UNIT_OK, event = 0;

    *enter_event_mode = *terminate = 0;
    pl_update_constants(r);
    if (u->model->system->n_delays) status = record(u);
    if (status) return status;
    /* a turn of an input is seen by what is remembered, which is to stay until its event */
    if (u->model->input_slopes) event = crossed(u, &status);
    if (status) return status;
    const int reason = event ? PL_DONE : pl_update_accepted(r, c->t, c->x);
    if (reason) return unit_explain(u, reason);
    u->off_invariants = off_invariants(u);
    *enter_event_mode = event || u->off_invariants;
    begin_step(u);
    u->row_known = u->rates_known = 0;
    r->last_good = c->t;
    return UNIT_OK;
}
