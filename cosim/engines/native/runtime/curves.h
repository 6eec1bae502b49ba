/* Signals over a communication step: polynomials through what is known at communication points. */

#ifndef PL_CURVES_H
#define PL_CURVES_H

#include "plantloop.h"

/* value + slope s + curvature s^2 / 2, s = t - t0, all (n,). */
typedef struct {
    double t0;
    double *value, *slope, *curvature;
} pl_curve;

/* One whose numbers are in some room, (3, n). */
PL_INLINE pl_curve pl_curve_in(double *room, int n) { return (pl_curve){0.0, room, room + n, room + 2 * n}; }
/* The polynomial through the newest samples, about the newest; what is not smooth is held. */
void pl_through(pl_curve *c, const pl_samples *s, int order, const int32_t *smooth);
/* From the newest sample to values at `end`; of order 0, and where it is not smooth, those are held. */
void pl_between(pl_curve *c, double end, const double *values, const pl_samples *s, int order, const int32_t *smooth);
double pl_curve_at(const pl_curve *c, int i, double t);
/* Its mean from t0 to `end`. */
double pl_curve_mean(const pl_curve *c, int i, double end);
/* Mostly there is one number: a call costs more than that. */
PL_INLINE void pl_copy(double *to, const double *from, int n)
{
    to[0] = from[0]; /* of none it is not called */
    for (int i = 1; i < n; i++) to[i] = from[i];
}

/* One more sample, before those that are older. */
void pl_add_older_samples(pl_samples *s, double t, const double *values);

/* One more sample; of the same time there is but one. */
PL_INLINE void pl_add_sample(pl_samples *s, double t, const double *values)
{
    if (s->most > 1) {
        pl_add_older_samples(s, t, values);
        return;
    }
    if (s->n) pl_copy(s->values, values, s->n);
    s->time[0] = t;
    s->count = 1;
}

#endif
