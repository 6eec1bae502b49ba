/* From stop to stop: integrate without jumps, then everything that happens at the stop itself.

   The rules of an instant are those of ARCHITECTURE.md, "What happens at a tick". pl_advance is a state
   machine, because it may have to come back in the middle: a buffer is full, an opaque block must be called,
   the budget of steps is spent. Called again, it goes on where it stood. */

#include "steppers.h"

#include <math.h>
#include <string.h>

enum { IDLE, BEGIN, STEP, WITHIN, ACCEPTED, ENDED, SETTLE, SEGMENTS, TICKS, LOG };

static const double SNAP = 1e-12; /* relative; a log time this close to a stop is that stop */

int pl_abi(void) { return PL_ABI; }

size_t pl_size_of_run(void) { return sizeof(pl_run); }

/* --- memory ------------------------------------------------------------------------------------------ */

static size_t padded(size_t n) { return (n + 7) / 8 * 8; }

static size_t stage_room(const pl_model *m) { return padded((size_t)m->nx * PL_STAGES); }

static size_t out_room(const pl_model *m, const pl_system *s)
{
    size_t n = (size_t)(s->n_accepted > 9 * s->n_events ? s->n_accepted : 9 * s->n_events);
    for (int i = 0; i < s->n_segments; i++)
        if ((size_t)s->segment_size[i] > n) n = (size_t)s->segment_size[i];
    if (s->n_invariants && (size_t)m->nx > n) n = (size_t)m->nx;
    if ((size_t)s->n_invariants > n) n = (size_t)s->n_invariants;
    if ((size_t)s->n_starting > n) n = (size_t)s->n_starting;
    return padded(n);
}

/* Newton's method: residual, Jacobian, step and start of the largest loop. */
static size_t newton_room(const pl_system *s)
{
    size_t n = (size_t)s->n_unknowns;
    for (int i = 0; i < s->n_segments; i++) {
        const size_t m = (size_t)(s->n_unknowns + s->segment_start[i + 1] - s->segment_start[i]);
        if (s->segment_kind[i] == PL_SOLVE && m > n) n = m;
    }
    return padded(n * n + 3 * n);
}

size_t pl_room(const pl_model *m, const pl_system *s)
{
    const size_t nx = padded((size_t)m->nx);
    size_t doubles = 6 * nx + stage_room(m) + padded((size_t)m->ny) + padded((size_t)m->np) +
                     padded((size_t)m->nc) + padded((size_t)m->nv) + out_room(m, s) +
                     padded((size_t)s->n_events) + newton_room(s) + padded(pl_delay_room(s));
    return (doubles + padded((size_t)m->niv) + padded((size_t)s->n_rates) + padded(pl_delay_flags(s)) + 16) * 8;
}

static double *take(double **next, size_t n)
{
    double *here = *next;
    *next += padded(n);
    return here;
}

void pl_begin(pl_run *r, void *room)
{
    const pl_model *m = r->model;
    const pl_system *s = r->system;
    const size_t nx = (size_t)m->nx;
    double *next = room;

    r->x0 = take(&next, nx);
    r->x1 = take(&next, nx);
    r->whole = take(&next, nx);
    r->raw1 = r->x1;
    r->trial = take(&next, nx);
    r->f1 = take(&next, nx);
    r->k = take(&next, stage_room(m));
    r->scratch = take(&next, nx);
    r->y = take(&next, (size_t)m->ny);
    r->seen = take(&next, (size_t)m->np);
    r->c = take(&next, (size_t)m->nc);
    r->a.v = take(&next, (size_t)m->nv);
    r->out = take(&next, out_room(m, s));
    r->a.iv = r->iv = (long long *)take(&next, (size_t)m->niv);
    r->crossed = take(&next, (size_t)s->n_events);
    r->newton = take(&next, newton_room(s));
    r->a.find = pl_find;
    r->a.owner = r;
    r->due = (int32_t *)take(&next, (size_t)s->n_rates);
    r->past = take(&next, pl_delay_room(s));
    r->course = r->past + s->n_delays;
    r->marked = (int32_t *)take(&next, pl_delay_flags(s));
    r->horizon = r->limit = INFINITY;
    for (int i = 0; i < m->np; i++) r->seen[i] = NAN; /* so that the first advance computes c */
    r->a.c = r->c;
    r->phase = IDLE;
}

void pl_reset(pl_run *r)
{
    r->phase = IDLE;
    r->lost = 0;
    r->horizon = INFINITY;
}

/* --- evaluation -------------------------------------------------------------------------------------- */

/* Constants of the functions: what depends on parameters only, recomputed when one has changed. */
static void prepare(pl_run *r)
{
    const size_t size = sizeof(double) * (size_t)r->model->np;
    pl_context *c = r->context;

    r->a.h = c->h;
    r->a.w = c->w;
    r->a.p = c->p;
    r->a.x = c->x;
    if (r->model->np && memcmp(r->seen, c->p, size) == 0) return;
    memcpy(r->seen, c->p, size);
    r->a.t = c->t;
    r->model->prepare(&r->a, r->c);
    if (r->stiff) pl_stiff_prepare(r);
}

static int all_finite(const double *v, int n)
{
    double zero = 0.0; /* stays zero unless something is infinite or no number */
    for (int i = 0; i < n; i++) zero += v[i] * 0.0;
    return zero == 0.0;
}

void pl_see(pl_run *r, double t, const double *x)
{
    r->a.t = t;
    r->a.x = x;
    if (r->system->n_unknowns || r->system->n_delays) pl_find(r, &r->a);
}

static void evaluate_signals(pl_run *r, const pl_buffer *b, double t, const double *x)
{
    pl_see(r, t, x);
    for (int i = 0; i < b->n_pieces; i++) r->model->signals[b->pieces[i]](&r->a, r->y);
}

static void gather(const pl_run *r, const pl_buffer *b, double *row)
{
    for (int i = 0; i < b->width; i++) row[i] = r->y[b->places[i]];
}

void pl_signals(pl_run *r, const pl_buffer *b, double *row)
{
    prepare(r);
    evaluate_signals(r, b, r->context->t, r->context->x);
    gather(r, b, row);
}

static int full(const pl_buffer *b) { return b->count >= b->capacity; }

/* Keep a row; false where something in it is not finite. */
static int keep(pl_run *r, pl_buffer *b, double t)
{
    double *row = b->rows + b->count * (b->width + 1);
    row[0] = t;
    gather(r, b, row + 1);
    if (!all_finite(row + 1, b->width)) return 0;
    b->count++;
    r->last_good = t;
    return 1;
}

static void put(pl_run *r, double t, const double *x)
{
    r->context->t = t;
    if (x != r->context->x) memcpy(r->context->x, x, sizeof(double) * (size_t)r->model->nx);
}

/* A run cannot go on from here. */
static int not_finite_at(pl_run *r, double t, const double *x)
{
    put(r, t, x);
    r->index = PL_AT_STATE;
    return PL_NOT_FINITE;
}

/* --- time -------------------------------------------------------------------------------------------- */

/* Integer position on the grid to seconds, rounded once. */
static double seconds(int64_t position, int64_t grid)
{
    const int64_t exact = (int64_t)1 << 53;
    if (position < exact && grid < exact) return (double)position / (double)grid;
    return (double)((long double)position / (long double)grid);
}

static double tick_time(const pl_run *r, int rate)
{
    const pl_system *s = r->system;
    return seconds(s->first[rate] + r->context->ticks[rate] * s->period[rate], s->grid);
}

static int64_t instants_done(const pl_run *r)
{
    int64_t done = 0;
    for (int i = 0; i < r->system->n_lists; i++) done += r->context->instants[i];
    return done;
}

double pl_next_stop(const pl_run *r)
{
    double stop = INFINITY;
    for (int i = 0; i < r->system->n_rates; i++) {
        const double t = tick_time(r, i);
        if (t < stop) stop = t;
    }
    const int64_t done = instants_done(r);
    if (done < r->system->n_instants && r->system->instant_time[done] < stop)
        stop = r->system->instant_time[done];
    for (int64_t i = 0; i < r->context->n_stops; i++)
        if (r->context->stops[i] > r->context->t && r->context->stops[i] < stop) stop = r->context->stops[i];
    return stop;
}

/* Step 1 and 2 of an instant: listed instants pass; for the rates that hit, next becomes current. */
static void settle(pl_run *r, double t)
{
    const pl_system *s = r->system;
    pl_context *c = r->context;

    c->t = t;
    for (int64_t done = instants_done(r); done < s->n_instants && s->instant_time[done] <= t; done++) {
        c->h[s->instant_place[done]] += 1;
        c->instants[s->instant_list[done]]++;
    }
    for (int i = 0; i < s->n_rates; i++) {
        r->due[i] = tick_time(r, i) <= t;
        if (!r->due[i]) continue;
        c->ticks[i]++;
        c->h[s->time_place[i]] = t;
        c->h[s->count_place[i]] = (double)c->ticks[i];
        c->h[s->fresh_place[i]] += 1;
        for (int j = s->discrete_start[i]; j < s->discrete_start[i + 1]; j++)
            c->h[s->discrete[j]] = c->next[s->discrete[j]];
    }
    for (int i = 0; i < s->n_draws; i++)
        if (r->due[s->draw_rate[i]]) pl_draw(r, i);
}

/* Steps 3 and 4: output, external and update segments of the rates that hit, in schedule order. */
static int segments(pl_run *r)
{
    const pl_system *s = r->system;
    pl_context *c = r->context;

    for (; r->segment < s->n_segments; r->segment++) {
        const int i = r->segment;
        if (s->segment_rate[i] >= 0 && !r->due[s->segment_rate[i]]) continue; /* -1: at every instant */
        pl_see(r, c->t, c->x);
        r->index = i;
        if (s->segment_kind[i] == PL_SOLVE) {
            const int reason = pl_solve(r, i);
            if (reason) return reason;
            continue;
        }
        r->model->segments[i](&r->a, r->out);
        if (s->segment_kind[i] == PL_EXTERNAL) {
            r->segment++; /* the host writes what the block returns, then calls again */
            return PL_CALL;
        }
        if (!all_finite(r->out, s->segment_size[i])) return PL_NOT_FINITE;
        double *target = s->segment_kind[i] == PL_UPDATE ? c->next : c->h;
        const int32_t *places = s->segment_writes + s->segment_start[i];
        for (int j = 0; j < s->segment_size[i]; j++) target[places[j]] = r->out[j];
    }
    return PL_DONE;
}

/* --- log --------------------------------------------------------------------------------------------- */

/* Log times strictly inside the step. */
static int log_within(pl_run *r)
{
    pl_log *l = r->log;
    if (l->every_step) return PL_DONE;
    const double edge = r->t1 - SNAP * fabs(r->t1);
    while (l->position < l->n_times && l->times[l->position] < edge) {
        if (full(&l->log)) return PL_FULL;
        const double t = l->times[l->position], inside = r->t0 > t ? r->t0 : t;
        const double *x = r->context->x;
        if (r->model->nx) {
            pl_inside(r, inside, r->scratch);
            if (r->system->n_invariants) pl_on_invariants(r, inside, r->scratch);
            x = r->scratch;
        }
        evaluate_signals(r, &l->log, inside, x);
        if (!keep(r, &l->log, t)) {
            const int here = x != r->scratch || all_finite(x, r->model->nx);
            return here ? not_finite_at(r, inside, x) : not_finite_at(r, r->end, r->raw1);
        }
        l->position++;
    }
    return PL_DONE;
}

static int log_falls(const pl_run *r, double t)
{
    const pl_log *l = r->log;
    if (l->every_step) return 1;
    return l->position < l->n_times && l->times[l->position] <= t + SNAP * fabs(t);
}

/* Samples of the rates that hit, then the log, right-continuous. */
static int log_ticks(pl_run *r)
{
    const double t = r->context->t;
    const int both = log_falls(r, t); /* the log's signals contain those of every rate */
    int known = 0;

    for (int i = 0; i < r->system->n_rates; i++) {
        pl_buffer *b = &r->log->ticks[i];
        if (!r->due[i]) continue;
        if (b->width) {
            if (full(b)) {
                r->index = i;
                return PL_FULL_TICKS;
            }
            if (!known) evaluate_signals(r, both ? &r->log->log : b, t, r->context->x);
            known = both;
            if (!keep(r, b, t)) return not_finite_at(r, t, r->context->x);
        }
        r->due[i] = 0;
    }
    if (both && !known) evaluate_signals(r, &r->log->log, t, r->context->x);
    return PL_DONE;
}

static int log_instant(pl_run *r)
{
    pl_log *l = r->log;
    const double t = r->context->t;
    if (l->every_step) {
        if (full(&l->log)) return PL_FULL;
        return keep(r, &l->log, t) ? PL_DONE : not_finite_at(r, t, r->context->x);
    }
    while (log_falls(r, t)) {
        if (full(&l->log)) return PL_FULL;
        if (!keep(r, &l->log, l->times[l->position])) return not_finite_at(r, t, r->context->x);
        l->position++;
    }
    return PL_DONE;
}

/* --- integration ------------------------------------------------------------------------------------- */

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
        const double pieces = ceil((r->stop - r->t0) / longest - 1e-9);
        r->n = pieces > 1 ? (int64_t)pieces : 1;
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
        if (!all_finite(r->k, r->model->nx)) return not_finite_at(r, r->t0, r->x0);
        if (c->step <= 0.0) c->step = pl_first_step(r, r->t0, r->x0, r->k, r->stop);
        return PL_DONE;
    }
    const double n = ceil((r->stop - r->t0) / (r->limit < s->step ? r->limit : s->step) - 1e-9);
    r->n = n > 1 ? (int64_t)n : 1;
    r->h = (r->stop - r->t0) / (double)r->n;
    return PL_DONE;
}

static int not_finite(pl_run *r)
{
    put(r, r->t1, r->x1);
    r->index = PL_IN_STEP;
    return PL_NOT_FINITE;
}

static int fixed_step(pl_run *r)
{
    const pl_method *m = &r->settings->method;
    const int lands = r->i == r->n - 1;

    r->t1 = lands ? r->stop : r->begin + (double)(r->i + 1) * r->h;
    const int finite = r->model->steps[m->number](&r->a, r->t0, r->h, r->x0, r->k, r->x1);
    if (r->lost) return PL_LOST;
    if (!finite) return not_finite(r);
    r->i++;
    r->arrived = lands;
    r->counters.steps++;
    r->counters.evaluations += m->stages;
    return PL_DONE;
}

/* Try steps until one is accepted. */
static int adaptive_step(pl_run *r)
{
    const pl_settings *s = r->settings;
    pl_context *c = r->context;
    const double t = r->t0, left = r->stop - t;

    for (;;) {
        const double largest = r->limit < s->max_step ? r->limit : s->max_step;
        const double wanted = largest < c->step ? largest : c->step;
        const int lands = wanted >= left * (1 - 1e-12);
        const double h = lands ? left : 2 * wanted > left ? left / 2 : wanted;
        const int finite = r->model->steps[s->method.number](&r->a, t, h, r->x0, r->k, r->x1);
        if (r->lost) return PL_LOST;
        r->counters.evaluations += s->method.stages - 1;
        const pl_error e = pl_step_error(r, r->x0, r->x1, h);
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
            put(r, t, r->x0);
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

/* Before the first instant: invariants hold; modes that depend on where the run starts. */
static void start(pl_run *r)
{
    const pl_system *s = r->system;
    pl_context *c = r->context;

    c->started = 1;
    if (s->n_invariants) pl_on_invariants(r, c->t, c->x);
    for (int round = 0; s->n_starting && round < 2; round++) { /* one may depend on another */
        pl_see(r, c->t, c->x);
        r->model->starting(&r->a, r->out);
        for (int i = 0; i < s->n_starting; i++) c->h[s->starting[i]] = r->out[i];
    }
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
    if (s->n_unknowns) { /* the present solution is one to start from */
        pl_see(r, r->t1, r->x0);
        memcpy(r->context->solution, r->context->w, sizeof(double) * (size_t)s->n_unknowns);
    }
    if (s->n_accepted) {
        pl_see(r, r->t1, r->x0);
        r->model->accepted(&r->a, r->out);
        if (!all_finite(r->out, s->n_accepted)) return not_finite_at(r, r->t1, r->x0);
        for (int i = 0; i < s->n_accepted; i++) r->context->h[s->accepted[i]] = r->out[i];
    }
    if (r->model->nx) {
        const int reason = pl_longest_step(r, r->t1, r->x0);
        if (reason) {
            put(r, r->t1, r->x0);
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

/* --- the whole --------------------------------------------------------------------------------------- */

int pl_advance(pl_run *r, double until)
{
    pl_context *c = r->context;
    int reason;

    r->until = until;
    prepare(r);
    for (;;) {
        switch (r->phase) {
        case IDLE:
            if (!c->started) {
                start(r);
                r->phase = SETTLE;
                r->stop = c->t;
                break;
            }
            if (!(c->t < until) || r->stopped) return PL_DONE;
            if (r->system->n_delays) {
                if (!pl_history_room(r)) return PL_HISTORY;
                pl_foresee(r);
                if (r->lost) return PL_LOST;
            }
            r->stop = pl_next_stop(r);
            if (until < r->stop) r->stop = until;
            r->phase = BEGIN;
            break;
        case BEGIN:
            reason = begin(r);
            if (r->lost) return PL_LOST;
            if (reason) return reason;
            r->phase = STEP;
            break;
        case STEP:
            if (r->cancel || r->budget <= 0) {
                if (r->model->nx) put(r, r->t0, r->x0);
                return r->cancel ? PL_CANCELLED : PL_PAUSE;
            }
            if (!pl_history_room(r)) return PL_HISTORY;
            r->budget--;
            if (r->model->nx) {
                reason = step(r);
                if (reason) return reason;
            } else {
                r->i++;
                r->arrived = r->i == r->n;
                r->t1 = r->arrived ? r->stop : r->begin + (double)r->i * (r->stop - r->begin) / (double)r->n;
                r->end = r->t1;
                r->met = -1;
            }
            if (r->system->n_events) {
                reason = pl_locate(r);
                if (r->lost) return PL_LOST;
                if (reason) return reason;
            }
            r->phase = WITHIN;
            /* fall through */
        case WITHIN:
            reason = log_within(r);
            if (r->lost) return PL_LOST;
            if (reason) return reason;
            r->phase = ACCEPTED;
            /* fall through */
        case ACCEPTED:
            reason = accept(r);
            if (r->lost) return PL_LOST;
            if (reason) return reason;
            r->phase = ENDED;
            /* fall through */
        case ENDED: /* the step's end is r->t0, r->x0 by now */
            if (r->log->every_step && r->t1 < r->stop) {
                const double *x = r->model->nx ? r->x0 : c->x;
                if (full(&r->log->log)) return PL_FULL;
                evaluate_signals(r, &r->log->log, r->t1, x);
                if (!keep(r, &r->log->log, r->t1)) return not_finite_at(r, r->t1, x);
            }
            r->phase = STEP;
            if (!r->arrived) break;
            put(r, r->t1, r->model->nx ? r->x0 : c->x);
            r->horizon = INFINITY;
            r->phase = SETTLE;
            if (r->met >= 0) {
                if (r->stop - r->t1 <= 1e-12 * (r->stop - r->begin)) c->t = r->stop;
                r->stop = c->t;
                r->index = r->met;
                return PL_EVENT;
            }
            /* fall through */
        case SETTLE:
            settle(r, r->stop);
            r->segment = 0;
            r->phase = SEGMENTS;
            /* fall through */
        case SEGMENTS:
            reason = segments(r);
            if (r->lost) return PL_LOST;
            if (reason) return reason;
            r->phase = TICKS;
            if (r->system->n_events) {
                reason = pl_signs_changed(r);
                if (r->lost) return PL_LOST;
                if (reason) return reason;
            }
            /* fall through */
        case TICKS:
            reason = log_ticks(r);
            if (reason) return reason;
            r->phase = LOG;
            /* fall through */
        case LOG:
            reason = log_instant(r);
            if (reason) return reason;
            r->phase = IDLE;
            break;
        default:
            return PL_DONE;
        }
    }
}
