/* Delayed signals: their past in arrays of the host, one quartic polynomial per accepted step.

   The rules are those of history.py and unknowns.py, sum by sum: the values of a signal over a step is kept in
   pieces that a quartic follows, jumps come out exactly one delay later because the steps end there, and no
   step is longer than the shortest delay. */

#include "delays.h"

#include "evaluate.h"
#include "histories.h"
#include "norms.h"
#include "quartic.h"
#include "step.h"

#include <math.h>
#include <string.h>

size_t pl_delay_doubles(const pl_system *s)
{
    return (size_t)s->n_delays + (size_t)(PL_POINTS + 1) * (size_t)s->delay_start[s->n_delays];
}

size_t pl_delay_flags(const pl_system *s) { return (size_t)s->n_delays * (PL_DEPTH + 1); }

void pl_schedule_delayed_jumps(pl_run *r)
{
    const pl_system *s = r->system;
    pl_context *c = r->context;
    const int total = s->delay_start[s->n_delays];
    double *now = r->delay_samples + total, *jump = now + total;
    int64_t passed = 0;

    pl_set_arguments(r, c->t, c->x);
    r->model->delayed(&r->a, now);
    r->model->seconds(&r->a, r->delay_seconds);
    for (int i = 0; i < s->n_delays; i++) {
        const pl_history *g = c->histories + i;
        const int start = s->delay_start[i], size = pl_delay_size(s, i);
        const double *newest = s->delay_initial + start;
        if (g->count) newest = g->values + (size_t)(PL_NODES * g->count - 1) * (size_t)size;
        for (int e = 0; e < size; e++) jump[e] = now[start + e] - newest[e];
        if (!g->count || pl_largest_absolute(jump, size) > 1e-12 * (1.0 + pl_largest_absolute(now + start, size)))
            pl_add_stop(c, c->t + r->delay_seconds[i]);
    }
    while (passed < c->n_stops && c->stops[passed] <= c->t) passed++;
    c->n_stops -= passed;
    memmove(c->stops, c->stops + passed, sizeof(double) * (size_t)c->n_stops);
}

/* How far a quartic is from the signal at a check, in tolerances. */
static double misfit(const pl_run *r, int i, int check)
{
    const pl_system *s = r->system;
    const pl_settings *o = r->settings;
    const size_t total = (size_t)s->delay_start[s->n_delays];
    const int start = s->delay_start[i], size = pl_delay_size(s, i);
    const double *values = r->delay_samples + total + start;
    double most = 0.0;

    pl_quartic(values, total, size, PL_PLACES[check], r->delay_samples);
    for (int e = 0; e < size; e++) {
        double top = 0.0;
        for (int j = 0; j < PL_NODES; j++) {
            const double v = fabs(values[(size_t)j * total + (size_t)e]);
            if (!(v <= top)) top = v;
            if (isnan(top)) break;
        }
        const double off = fabs(r->delay_samples[e] - values[(size_t)check * total + (size_t)e]);
        const double share = off / (o->atol + o->rtol * top);
        if (isnan(share)) return share;
        if (share > most) most = share;
    }
    return most;
}

/* Inputs that move over the step as they are at t. */
static void move_inputs(pl_run *r, double t)
{
    if (!r->n_moving) return;
    const double share = (t - r->t0) / (r->t1 - r->t0);
    for (int32_t i = 0; i < r->n_moving; i++) {
        const double from = r->moving_from[i], to = r->moving_to[i];
        r->context->h[r->moving[i]] = t == r->t1 ? to : from + share * (to - from);
    }
}

/* Append a piece of the step to the histories marked at this depth; halves where a quartic does not follow. */
static void record(pl_run *r, double t0, double t1, int depth)
{
    const pl_system *s = r->system;
    const int n = s->n_delays;
    const size_t total = (size_t)s->delay_start[n];
    const int32_t *marked = r->refined + depth * n;
    int32_t *halved = r->refined + (depth + 1) * n;
    int again = 0;

    for (int j = 0; j < PL_POINTS; j++) {
        const double t = PL_PLACES[j] == 0.0 ? t0 : PL_PLACES[j] == 1.0 ? t1 : t0 + PL_PLACES[j] * (t1 - t0);
        const double *x = r->model->nx ? t == r->t1 ? r->x1 : t == r->t0 ? r->x0 : r->scratch : r->context->x;
        if (x == r->scratch && r->model->nx) pl_interpolate(r, t, r->scratch);
        move_inputs(r, t);
        pl_set_arguments(r, t, x);
        r->model->delayed(&r->a, r->delay_samples + (size_t)(1 + j) * total);
    }
    for (int i = 0; i < n; i++) {
        if (depth < PL_DEPTH) halved[i] = 0;
        if (!marked[i]) continue;
        if (depth < PL_DEPTH) {
            const double first = misfit(r, i, PL_NODES), second = misfit(r, i, PL_NODES + 1);
            halved[i] = (second > first ? second : first) > 1.0;
            again |= halved[i];
            if (halved[i]) continue;
        }
        const double *values = r->delay_samples + total + s->delay_start[i];
        pl_append_piece(r->context->histories + i, pl_delay_size(s, i), t0, t1, values, total);
    }
    if (!again) return;
    const double middle = 0.5 * (t0 + t1);
    record(r, t0, middle, depth + 1);
    record(r, middle, t1, depth + 1);
}

void pl_record_delayed(pl_run *r)
{
    const pl_system *s = r->system;

    for (int i = 0; i < s->n_delays; i++) r->refined[i] = 1;
    record(r, r->t0, r->t1, 0);
    move_inputs(r, r->t1);
    r->a.t = r->t1;
    r->a.x = r->model->nx ? r->x1 : r->context->x;
    r->model->seconds(&r->a, r->delay_seconds);
    for (int i = 0; i < s->n_delays; i++) {
        const double present = r->delay_seconds[i], longest = s->delay_longest[i];
        const double past = present > longest ? present : longest;
        pl_drop_pieces(r->context->histories + i, pl_delay_size(s, i), r->t1 - 2.0 * past);
    }
}

int pl_limit_by_delays(pl_run *r, double t, const double *x)
{
    const pl_system *s = r->system;

    r->shortest_delay = INFINITY;
    if (!s->n_delays) return PL_DONE;
    r->a.t = t;
    r->a.x = x;
    r->model->seconds(&r->a, r->delay_seconds);
    for (int i = 0; i < s->n_delays; i++) {
        const double shortest = s->delay_shortest[i] > 0.0 ? s->delay_shortest[i] : r->delay_seconds[i];
        if (!i || shortest < r->shortest_delay) r->shortest_delay = shortest;
    }
    return r->shortest_delay > 0.0 ? PL_DONE : PL_NO_DELAY;
}
