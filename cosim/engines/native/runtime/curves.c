/* The formulas of cosim/fmi/coupling/curves.py, in the same order of operations. */

#include "curves.h"

#include <string.h>

double pl_curve_at(const pl_curve *c, int i, double t)
{
    const double s = t - c->t0;
    return c->value[i] + c->slope[i] * s + c->curvature[i] * (s * s / 2);
}

double pl_curve_mean(const pl_curve *c, int i, double end)
{
    const double h = end - c->t0;
    return c->value[i] + c->slope[i] * (h / 2) + c->curvature[i] * (h * h / 6);
}

/* Newton's divided differences through `count` samples, the newest first. */
static void interpolate(pl_curve *c, const double *t, const double *const *v, int count, int order, int n,
                        const int32_t *smooth)
{
    if (order > count - 1) order = count - 1;
    c->t0 = t[0];
    for (int i = 0; i < n; i++) {
        c->value[i] = v[0][i];
        c->slope[i] = c->curvature[i] = 0.0;
        if (order == 0 || !smooth[i]) continue;
        const double first = (v[0][i] - v[1][i]) / (t[0] - t[1]);
        c->slope[i] = first;
        if (order == 1) continue;
        const double second = (first - (v[1][i] - v[2][i]) / (t[1] - t[2])) / (t[0] - t[2]);
        c->slope[i] = first + second * (t[0] - t[1]);
        c->curvature[i] = 2 * second;
    }
}

void pl_through(pl_curve *c, const pl_samples *s, int order, const int32_t *smooth)
{
    const double *v[PL_SAMPLES];

    for (int k = 0; k < s->count; k++) v[k] = s->values + k * s->n;
    interpolate(c, s->time, v, s->count, order, s->n, smooth);
}

void pl_between(pl_curve *c, double end, const double *values, const pl_samples *s, int order, const int32_t *smooth)
{
    double t[PL_SAMPLES + 1] = {end};
    const double *v[PL_SAMPLES + 1] = {values};
    const double start = s->time[0], back = start - end;

    for (int k = 0; k < s->count; k++) t[k + 1] = s->time[k], v[k + 1] = s->values + k * s->n;
    interpolate(c, t, v, s->count + 1, order, s->n, smooth);
    c->t0 = start;
    if (order == 0) return;
    for (int i = 0; i < s->n; i++) {
        if (!smooth[i]) continue;
        c->value[i] = c->value[i] + c->slope[i] * back + c->curvature[i] * (back * back / 2);
        c->slope[i] = c->slope[i] + c->curvature[i] * back;
    }
}

void pl_add_older_samples(pl_samples *s, double t, const double *values)
{
    const size_t n = (size_t)s->n;
    int same = 0; /* samples that are not older than this one */

    while (same < s->count && !(s->time[same] < t)) same++;
    int kept = s->count - same;
    if (kept > s->most - 1) kept = s->most - 1;
    if (same != 1 && kept) {
        memmove(s->values + n, s->values + (size_t)same * n, (size_t)kept * n * sizeof(double));
        memmove(s->time + 1, s->time + same, (size_t)kept * sizeof(double));
    }
    if (s->n) pl_copy(s->values, values, s->n);
    s->time[0] = t;
    s->count = kept + 1;
}
