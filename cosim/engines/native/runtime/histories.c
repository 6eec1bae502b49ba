#include "histories.h"

#include "quartic.h"

#include <math.h>
#include <string.h>

/* How many of the sorted values are at most t. */
static int64_t count_up_to(const double *sorted, int64_t n, double t)
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

/* Right-continuous or, where it jumps, from the left; before there is a past the initial value. */
static void value_at(const pl_history *g, const double *initial, int size, double t, int left, double *out)
{
    const double near = 1e-12 * (fabs(t) > 1.0 ? fabs(t) : 1.0);
    const int64_t k = count_up_to(g->starts, g->count, left ? t - near : t + near) - 1;

    if (k < 0) {
        memcpy(out, initial, sizeof(double) * (size_t)size);
        return;
    }
    const double s = (t - g->starts[k]) / (g->ends[k] - g->starts[k]);
    pl_quartic(g->values + (size_t)k * PL_NODES * (size_t)size, (size_t)size, size, s, out);
}

void pl_evaluate_delayed(pl_run *r, const pl_args *args)
{
    const pl_system *s = r->system;
    pl_context *c = r->context;
    const double t = args->t;
    const int left = t >= r->horizon - 1e-12 * (fabs(t) > 1.0 ? fabs(t) : 1.0);

    r->model->seconds(args, r->delay_seconds);
    for (int i = 0; i < s->n_delays; i++) {
        const int start = s->delay_start[i], size = pl_delay_size(s, i);
        value_at(c->histories + i, s->delay_initial + start, size, t - r->delay_seconds[i], left, r->delay_samples);
        for (int e = 0; e < size; e++) c->w[s->delay_places[start + e]] = r->delay_samples[e];
    }
}

int pl_histories_have_room(const pl_run *r)
{
    const pl_context *c = r->context;
    const int n = r->system->n_delays;

    for (int i = 0; i < n; i++)
        if (c->histories[i].capacity - c->histories[i].count < PL_PIECES) return 0;
    return n == 0 || c->stops_capacity - c->n_stops >= n;
}

void pl_add_stop(pl_context *c, double t)
{
    for (int64_t i = 0; i < c->n_stops; i++)
        if (c->stops[i] == t) return;
    const int64_t k = count_up_to(c->stops, c->n_stops, t);
    memmove(c->stops + k + 1, c->stops + k, sizeof(double) * (size_t)(c->n_stops - k));
    c->stops[k] = t;
    c->n_stops++;
}

void pl_append_piece(pl_history *g, int size, double t0, double t1, const double *values, size_t stride)
{
    double *row = g->values + (size_t)g->count * PL_NODES * (size_t)size;

    for (int j = 0; j < PL_NODES; j++)
        memcpy(row + (size_t)(j * size), values + (size_t)j * stride, sizeof(double) * (size_t)size);
    g->starts[g->count] = t0;
    g->ends[g->count] = t1;
    g->count++;
}

void pl_drop_pieces(pl_history *g, int size, double before)
{
    const int64_t k = count_up_to(g->ends, g->count, before), left = g->count - k;

    if (k <= 64) return;
    memmove(g->starts, g->starts + k, sizeof(double) * (size_t)left);
    memmove(g->ends, g->ends + k, sizeof(double) * (size_t)left);
    memmove(g->values, g->values + k * PL_NODES * size, sizeof(double) * (size_t)(left * PL_NODES * size));
    g->count = left;
}
