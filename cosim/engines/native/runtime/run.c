/* From stop to stop: integrate without jumps, then everything that happens at the stop itself.

   The rules of an instant are those of ARCHITECTURE.md, "What happens at a tick". pl_advance is a state
   machine, because it may have to come back in the middle: a buffer is full, an opaque block must be called,
   the budget of steps is spent. Called again, it goes on where it stood. */

#include "run.h"

#include <math.h>
#include <string.h>

enum { IDLE = PL_IDLE, BEGIN, STEP, WITHIN, ACCEPTED, ENDED, MET, SETTLE, SEGMENTS, EVENTS, TICKS, LOG };

enum { MOST_STEPS = 1000 }; /* between two looks at the cancel flag */

/* How many equal steps no longer than `longest` lead from begin to stop: steppers.py, pieces. */
static int64_t pieces(double begin, double stop, double longest)
{
    const double rounding = 0x1p-50 * fabs(stop) / longest;
    const double n = ceil((stop - begin) / longest - (1e-9 + rounding));
    return n > 1 ? (int64_t)n : 1;
}

/* A stretch without jumps, from the present to r->stop. */
static int begin(pl_run *r)
{
    const pl_settings *s = r->settings;
    pl_context *c = r->context;

    r->lost = 0;
    r->horizon = r->stop;
    const int reason = pl_longest_step(r, c->t, c->x);
    if (reason) return reason;
    r->begin = r->t0 = c->t;
    r->arrived = 0;
    r->i = 0;
    if (r->model->nx == 0) {
        const double longest = r->limit < s->walk ? r->limit : s->walk;
        r->n = pieces(r->t0, r->stop, longest);
        return PL_DONE;
    }
    memcpy(r->x0, c->x, sizeof(double) * (size_t)r->model->nx);
    if (r->stiff) {
        if (c->step <= 0.0) c->step = pl_stiff_first_step(r, r->t0, r->x0, r->stop);
        return PL_DONE;
    }
    if (s->method.adaptive) {
        pl_derivative(r, r->t0, r->x0, r->k);
        r->counters.evaluations++;
        if (!pl_all_finite(r->k, r->model->nx)) return pl_not_finite_at(r, r->t0, r->x0);
        if (c->step <= 0.0) c->step = pl_first_step(r, r->t0, r->x0, r->k, r->stop);
        return PL_DONE;
    }
    r->n = pieces(r->t0, r->stop, r->limit < s->step ? r->limit : s->step);
    r->h = (r->stop - r->t0) / (double)r->n;
    return PL_DONE;
}

static int not_finite(pl_run *r)
{
    pl_put(r, r->t1, r->x1);
    r->index = PL_IN_STEP;
    return PL_NOT_FINITE;
}

/* Steps that may be taken in one go: nobody looks at the ends of any but the last, nor inside. */
static int64_t quiet_steps(const pl_run *r)
{
    const pl_system *s = r->system;
    const pl_log *l = r->log;
    int64_t n = r->n - r->i < MOST_STEPS ? r->n - r->i : MOST_STEPS;

    if (l->every_step || s->n_events || s->n_invariants || s->n_unknowns || s->n_accepted || s->n_delays)
        return 1;
    if (n > r->budget + 1) n = r->budget + 1; /* one of them is taken off already */
    if (l->position < l->n_times) {
        const double before = (l->times[l->position] - r->t0) / r->h;
        if (before < (double)n) n = before > 1.0 ? (int64_t)before : 1;
    }
    return n;
}

static int fixed_step(pl_run *r)
{
    const pl_method *m = &r->settings->method;
    const pl_walk w = {r->t0, r->begin, r->h, r->i, quiet_steps(r)};
    const int64_t done = r->model->steps[m->number](&r->a, &w, r->x0, r->k, r->x1);

    if (r->lost) return PL_LOST;
    const int64_t passed = done < w.count ? done : done - 1; /* steps before the one that ends at x1 */
    if (passed) r->last_good = r->t0 = r->begin + (double)(r->i + passed) * r->h;
    r->i += passed;
    r->budget -= passed;
    r->counters.steps += done;
    r->counters.evaluations += done * m->stages;
    r->arrived = r->i == r->n - 1;
    r->t1 = r->arrived ? r->stop : r->begin + (double)(r->i + 1) * r->h;
    if (done < w.count) return not_finite(r);
    r->i++;
    return PL_DONE;
}

/* Try steps until one is accepted. */
static int adaptive_step(pl_run *r)
{
    const pl_settings *s = r->settings;
    pl_context *c = r->context;
    const double t = r->t0, left = r->stop - t;
    const double *noise = 0; /* looked at when a step fails */

    for (;;) {
        const double largest = r->limit < s->max_step ? r->limit : s->max_step;
        const double wanted = largest < c->step ? largest : c->step;
        const int lands = wanted >= left * (1 - 1e-12);
        const double h = lands ? left : 2 * wanted > left ? left / 2 : wanted;
        const pl_walk w = {t, t, h, 0, 1};
        const int finite = r->model->steps[s->method.number](&r->a, &w, r->x0, r->k, r->x1) == 1;
        if (r->lost) return PL_LOST;
        r->counters.evaluations += s->method.stages - 1;
        pl_error e = pl_step_error(r, r->x0, r->x1, h, noise);
        if (e.error > 1.0 && r->system->n_invariants && !noise) {
            noise = pl_noise(r, t, r->x0);
            e = pl_step_error(r, r->x0, r->x1, h, noise);
        }
        if (e.error <= 1.0) {
            r->t1 = lands ? r->stop : t + h;
            r->h = h;
            if (!finite) return not_finite(r);
            pl_accept(r, h, wanted, e);
            r->arrived = !(r->t1 < r->stop);
            return PL_DONE;
        }
        pl_reject(r, h, e);
        if (c->step <= 1e-14 * (fabs(t) > 1e-2 ? fabs(t) : 1e-2)) {
            r->index = e.worst;
            r->value = e.error;
            r->h = h;
            pl_put(r, t, r->x0);
            return PL_COLLAPSED;
        }
    }
}

static int step(pl_run *r)
{
    r->raw1 = r->x1;
    r->end_known = 0;
    r->corrected = 0;
    r->met = -1;
    const int reason = r->stiff                       ? pl_stiff_step(r)
                       : r->settings->method.adaptive ? adaptive_step(r)
                                                      : fixed_step(r);
    if (reason) return reason;
    r->end = r->t1;
    if (r->system->n_invariants) {
        memcpy(r->whole, r->x1, sizeof(double) * (size_t)r->model->nx);
        r->raw1 = r->whole; /* the solution inside the step is that of the integrator */
        r->corrected = pl_on_invariants(r, r->t1, r->x1);
    }
    return PL_DONE;
}

/* The end of a step becomes the beginning of the next. */
static int accept(pl_run *r)
{
    const pl_system *s = r->system;
    const pl_method *m = &r->settings->method;
    const size_t size = sizeof(double) * (size_t)r->model->nx;

    if (s->n_delays) pl_remember(r);
    r->last_good = r->t0 = r->t1;
    double *old = r->x0;
    r->x0 = r->x1;
    r->x1 = old;
    int reason = pl_refresh(r, r->t1, r->model->nx ? r->x0 : r->context->x);
    if (reason) return reason;
    if (r->model->nx) {
        reason = pl_longest_step(r, r->t1, r->x0);
        if (reason) {
            pl_put(r, r->t1, r->x0);
            return reason;
        }
    }
    if (!m->adaptive || r->stiff || r->arrived) return PL_DONE;
    if (r->corrected) {
        pl_derivative(r, r->t0, r->x0, r->k);
    } else {
        memcpy(r->k, r->k + (size_t)(m->stages - 1) * (size_t)r->model->nx, size);
    }
    return PL_DONE;
}

/* One step, up to the first crossing in it. */
static int move(pl_run *r)
{
    r->budget--;
    if (r->model->nx) {
        const int reason = step(r);
        if (r->cancel) { /* perhaps by a function of the host, whose values then are none */
            pl_put(r, r->t0, r->x0);
            r->lost = 0;
            return PL_CANCELLED;
        }
        if (reason) return reason;
    } else {
        r->i++;
        r->arrived = r->i == r->n;
        r->t1 = r->arrived ? r->stop : r->begin + (double)r->i * (r->stop - r->begin) / (double)r->n;
        r->end = r->t1;
        r->met = -1;
    }
    return r->system->n_events ? pl_locate(r) : PL_DONE;
}

/* The stretch is over: the context stands at its end, or at the crossing that was met. */
static void arrive(pl_run *r)
{
    pl_context *c = r->context;

    pl_put(r, r->t1, r->model->nx ? r->x0 : c->x);
    r->horizon = INFINITY;
    if (r->met < 0) return;
    if (r->stop - r->t1 <= 1e-12 * (r->stop - r->begin)) c->t = r->stop;
    r->stop = c->t;
    pl_meet(r, r->met);
}

/* Phases between two stops. */
static int travel(pl_run *r)
{
    pl_context *c = r->context;
    int reason = PL_DONE;

    switch (r->phase) {
    case IDLE:
        if (!c->started) {
            reason = pl_start(r);
            r->stop = c->t;
            r->phase = SETTLE;
            break;
        }
        if (!pl_history_room(r)) return PL_HISTORY;
        if (r->system->n_delays) pl_foresee(r);
        r->stop = pl_next_stop(r);
        if (r->until < r->stop) r->stop = r->until;
        r->phase = BEGIN;
        break;
    case BEGIN:
        reason = begin(r);
        r->phase = STEP;
        break;
    case STEP:
        if (r->cancel || r->budget <= 0) {
            if (r->model->nx) pl_put(r, r->t0, r->x0);
            return r->cancel ? PL_CANCELLED : PL_PAUSE;
        }
        if (!pl_history_room(r)) return PL_HISTORY;
        reason = move(r);
        r->phase = WITHIN;
        break;
    case WITHIN:
        reason = pl_log_within(r);
        if (reason != PL_FULL) r->phase = ACCEPTED;
        break;
    case ACCEPTED:
        reason = accept(r);
        r->phase = ENDED;
        break;
    default: /* ENDED: the step's end is r->t0, r->x0 by now */
        if (r->arrived) {
            arrive(r);
            r->phase = r->met >= 0 ? MET : SETTLE;
            break;
        }
        reason = pl_log_step(r, r->t1, r->model->nx ? r->x0 : c->x);
        if (reason != PL_FULL) r->phase = STEP;
    }
    return reason;
}

/* Phases of the instant at which a stretch ends. */
static int settle(pl_run *r)
{
    int reason = PL_DONE;

    switch (r->phase) {
    case MET:
        reason = pl_settle_events(r);
        if (reason != PL_FULL_STORY) r->phase = SETTLE;
        break;
    case SETTLE:
        pl_tick(r, r->stop);
        r->segment = 0;
        r->phase = SEGMENTS;
        break;
    case SEGMENTS:
        reason = pl_segments(r);
        if (reason == PL_CALL) break;
        pl_meet(r, -1);
        r->phase = r->system->n_events ? EVENTS : TICKS;
        break;
    case EVENTS:
        reason = pl_settle_events(r);
        if (reason != PL_FULL_STORY) r->phase = TICKS;
        break;
    case TICKS:
        reason = pl_log_ticks(r);
        if (reason != PL_FULL_TICKS) r->phase = LOG;
        break;
    default: /* LOG */
        reason = pl_log_instant(r);
        if (reason != PL_FULL) r->phase = IDLE;
    }
    return reason;
}

int pl_advance(pl_run *r, double until)
{
    const pl_context *c = r->context;

    r->until = until;
    pl_prepare(r);
    for (;;) {
        if (r->phase == IDLE && c->started && (!(c->t < until) || c->stopped)) return PL_DONE;
        const int reason = r->phase < MET ? travel(r) : settle(r);
        if (r->lost) return PL_LOST;
        if (reason) return reason;
    }
}
