/* Delayed signals: their past in arrays of the host, one quartic polynomial per accepted step.

   The rules are those of history.py and unknowns.py, sum by sum: the course of a signal over a step is kept in
   pieces that a quartic follows, jumps come out exactly one delay later because the steps end there, and no
   step is longer than the shortest delay. */

#include "steppers.h"

#include <math.h>
#include <string.h>

enum { NODES = 5, POINTS = 7, DEPTH = 8, PIECES = 1 << DEPTH };

static const double PLACES[POINTS] = {0.0, 0.25, 0.5, 0.75, 1.0, 0.1, 0.6}; /* the last two are checks */
static const double WEIGHTS[NODES] = {1.0, -4.0, 6.0, -4.0, 1.0};           /* barycentric */

static int size_of(const pl_system *s, int i) { return s->delay_start[i + 1] - s->delay_start[i]; }

/* How many doubles pl_begin lays out: the delays, one row, and the signals at all points of a piece. */
size_t pl_delay_room(const pl_system *s)
{
    return (size_t)s->n_delays + (size_t)(POINTS + 1) * (size_t)s->delay_start[s->n_delays];
}

size_t pl_delay_flags(const pl_system *s) { return (size_t)s->n_delays * (DEPTH + 1); }

/* First of the sorted values that is greater than t. */
static int64_t behind(const double *sorted, int64_t n, double t)
{
    int64_t low = 0, high = n;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (t < sorted[middle])
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* The quartic through five rows of values, at s. */
void pl_quartic(const double *values, size_t stride, int size, double s, double *out)
{
    double w[NODES];

    for (int j = 0; j < NODES; j++) {
        const double distance = s - PLACES[j];
        if (distance == 0.0) {
            memcpy(out, values + (size_t)j * stride, sizeof(double) * (size_t)size);
            return;
        }
        w[j] = WEIGHTS[j] / distance;
    }
    double below = w[0];
    for (int j = 1; j < NODES; j++) below += w[j];
    for (int e = 0; e < size; e++) {
        double total = w[0] * values[e];
        for (int j = 1; j < NODES; j++) total += w[j] * values[(size_t)j * stride + (size_t)e];
        out[e] = total / below;
    }
}

/* Right-continuous or, where it jumps, from the left; before there is a past the initial value. */
static void value_at(const pl_history *g, const double *initial, int size, double t, int left, double *out)
{
    const double near = 1e-12 * (fabs(t) > 1.0 ? fabs(t) : 1.0);
    const int64_t k = behind(g->starts, g->count, left ? t - near : t + near) - 1;

    if (k < 0) {
        memcpy(out, initial, sizeof(double) * (size_t)size);
        return;
    }
    const double s = (t - g->starts[k]) / (g->ends[k] - g->starts[k]);
    pl_quartic(g->values + (size_t)k * NODES * (size_t)size, (size_t)size, size, s, out);
}

void pl_recall(pl_run *r, const pl_args *args)
{
    const pl_system *s = r->system;
    pl_context *c = r->context;
    const double t = args->t;
    const int left = t >= r->horizon - 1e-12 * (fabs(t) > 1.0 ? fabs(t) : 1.0);

    r->model->seconds(args, r->past);
    for (int i = 0; i < s->n_delays; i++) {
        const int start = s->delay_start[i], size = size_of(s, i);
        value_at(c->histories + i, s->delay_initial + start, size, t - r->past[i], left, r->course);
        for (int e = 0; e < size; e++) c->w[s->delay_places[start + e]] = r->course[e];
    }
}

int pl_history_room(const pl_run *r)
{
    const pl_context *c = r->context;
    const int n = r->system->n_delays;

    for (int i = 0; i < n; i++)
        if (c->histories[i].room - c->histories[i].count < PIECES) return 0;
    return n == 0 || c->stops_room - c->n_stops >= n;
}

/* Largest absolute value; nan if one is nan. */
static double largest(const double *v, int n)
{
    double most = 0.0;
    for (int i = 0; i < n; i++) {
        if (isnan(v[i])) return v[i];
        if (fabs(v[i]) > most) most = fabs(v[i]);
    }
    return most;
}

/* Another stop, in order, unless it is known. */
static void stop_at(pl_context *c, double t)
{
    for (int64_t i = 0; i < c->n_stops; i++)
        if (c->stops[i] == t) return;
    const int64_t k = behind(c->stops, c->n_stops, t);
    memmove(c->stops + k + 1, c->stops + k, sizeof(double) * (size_t)(c->n_stops - k));
    c->stops[k] = t;
    c->n_stops++;
}

void pl_foresee(pl_run *r)
{
    const pl_system *s = r->system;
    pl_context *c = r->context;
    const int total = s->delay_start[s->n_delays];
    double *now = r->course + total, *jump = now + total;
    int64_t passed = 0;

    pl_see(r, c->t, c->x);
    r->model->delayed(&r->a, now);
    r->model->seconds(&r->a, r->past);
    for (int i = 0; i < s->n_delays; i++) {
        const pl_history *g = c->histories + i;
        const int start = s->delay_start[i], size = size_of(s, i);
        const double *newest = s->delay_initial + start;
        if (g->count) newest = g->values + (size_t)(NODES * g->count - 1) * (size_t)size;
        for (int e = 0; e < size; e++) jump[e] = now[start + e] - newest[e];
        if (!g->count || largest(jump, size) > 1e-12 * (1.0 + largest(now + start, size)))
            stop_at(c, c->t + r->past[i]);
    }
    while (passed < c->n_stops && c->stops[passed] <= c->t) passed++;
    c->n_stops -= passed;
    memmove(c->stops, c->stops + passed, sizeof(double) * (size_t)c->n_stops);
}

static void add(pl_history *g, int size, double t0, double t1, const double *values, size_t stride)
{
    double *row = g->values + (size_t)g->count * NODES * (size_t)size;

    for (int j = 0; j < NODES; j++)
        memcpy(row + (size_t)(j * size), values + (size_t)j * stride, sizeof(double) * (size_t)size);
    g->starts[g->count] = t0;
    g->ends[g->count] = t1;
    g->count++;
}

/* How far a quartic is from the signal at a check, in tolerances. */
static double miss(const pl_run *r, int i, int check)
{
    const pl_system *s = r->system;
    const pl_settings *o = r->settings;
    const size_t total = (size_t)s->delay_start[s->n_delays];
    const int start = s->delay_start[i], size = size_of(s, i);
    const double *values = r->course + total + start;
    double most = 0.0;

    pl_quartic(values, total, size, PLACES[check], r->course);
    for (int e = 0; e < size; e++) {
        double top = 0.0;
        for (int j = 0; j < NODES; j++) {
            const double v = fabs(values[(size_t)j * total + (size_t)e]);
            if (!(v <= top)) top = v;
            if (isnan(top)) break;
        }
        const double off = fabs(r->course[e] - values[(size_t)check * total + (size_t)e]);
        const double share = off / (o->atol + o->rtol * top);
        if (isnan(share)) return share;
        if (share > most) most = share;
    }
    return most;
}

/* Append a piece of the step to the histories that are marked; halves where a quartic does not follow. */
static void keep(pl_run *r, double t0, double t1, int depth)
{
    const pl_system *s = r->system;
    const int n = s->n_delays;
    const size_t total = (size_t)s->delay_start[n];
    const int32_t *marked = r->marked + depth * n;
    int32_t *halved = r->marked + (depth + 1) * n;
    int again = 0;

    for (int j = 0; j < POINTS; j++) {
        const double t = PLACES[j] == 0.0 ? t0 : PLACES[j] == 1.0 ? t1 : t0 + PLACES[j] * (t1 - t0);
        const double *x = r->model->nx ? t == r->t1 ? r->x1 : t == r->t0 ? r->x0 : r->scratch : r->context->x;
        if (x == r->scratch && r->model->nx) pl_inside(r, t, r->scratch);
        pl_see(r, t, x);
        r->model->delayed(&r->a, r->course + (size_t)(1 + j) * total);
    }
    for (int i = 0; i < n; i++) {
        if (depth < DEPTH) halved[i] = 0;
        if (!marked[i]) continue;
        if (depth < DEPTH) {
            const double first = miss(r, i, NODES), second = miss(r, i, NODES + 1);
            halved[i] = (second > first ? second : first) > 1.0;
            again |= halved[i];
            if (halved[i]) continue;
        }
        add(r->context->histories + i, size_of(s, i), t0, t1, r->course + total + s->delay_start[i], total);
    }
    if (!again) return;
    const double middle = 0.5 * (t0 + t1);
    keep(r, t0, middle, depth + 1);
    keep(r, middle, t1, depth + 1);
}

/* Drop steps that end before a time, in bulk. */
static void forget(pl_history *g, int size, double before)
{
    const int64_t k = behind(g->ends, g->count, before), left = g->count - k;

    if (k <= 64) return;
    memmove(g->starts, g->starts + k, sizeof(double) * (size_t)left);
    memmove(g->ends, g->ends + k, sizeof(double) * (size_t)left);
    memmove(g->values, g->values + k * NODES * size, sizeof(double) * (size_t)(left * NODES * size));
    g->count = left;
}

void pl_remember(pl_run *r)
{
    const pl_system *s = r->system;

    for (int i = 0; i < s->n_delays; i++) r->marked[i] = 1;
    keep(r, r->t0, r->t1, 0);
    r->a.t = r->t1;
    r->a.x = r->model->nx ? r->x1 : r->context->x;
    r->model->seconds(&r->a, r->past);
    for (int i = 0; i < s->n_delays; i++)
        forget(r->context->histories + i, size_of(s, i), r->t1 - 2.0 * r->past[i]);
}

int pl_longest_step(pl_run *r, double t, const double *x)
{
    const pl_system *s = r->system;

    r->limit = INFINITY;
    if (!s->n_delays) return PL_DONE;
    r->a.t = t;
    r->a.x = x;
    r->model->seconds(&r->a, r->past);
    r->limit = r->past[0];
    for (int i = 1; i < s->n_delays; i++)
        if (r->past[i] < r->limit) r->limit = r->past[i];
    return r->limit > 0.0 ? PL_DONE : PL_NO_DELAY;
}
