/* Explicit Runge-Kutta steps, whose stages are in the generated code, and the solution inside them. */

#include "explicit.h"

#include "corners.h"
#include "evaluate.h"
#include "invariants.h"
#include "step_control.h"

#include <math.h>
#include <string.h>

enum { MOST_STEPS = 1000 }; /* between two looks at the cancel flag */

static int not_finite(pl_run *r)
{
    pl_set_state(r, r->t1, r->x1);
    r->index = PL_IN_STEP;
    return PL_NOT_FINITE;
}

/* Steps that may be taken in one go: nobody looks at the ends of any but the last, nor inside. */
static int64_t steps_without_stop(const pl_run *r)
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

int pl_fixed_step(pl_run *r)
{
    const pl_method *m = &r->settings->method;
    const pl_equal_steps w = {r->t0, r->begin, r->h, r->i, steps_without_stop(r)};
    const int64_t done = r->model->steps[m->number](&r->a, &w, r->x0, r->k, r->x1);

    if (r->unsolved) return PL_NO_SOLUTION;
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

/* x = a0 x0 + b0 h f0 + a1 x1 - b1 h f1, state by state. */
PL_WIDE static void blend(
    double *restrict x, double a0, const double *restrict x0, double b0, const double *restrict f0, double a1,
    const double *restrict x1, double b1, const double *restrict f1, double h, int nx)
{
    for (int e = 0; e < nx; e++)
        x[e] = a0 * x0[e] + b0 * (h * f0[e]) + a1 * x1[e] - b1 * (h * f1[e]);
}

/* Continuous extension of fourth order: Hairer I, eq. II.6.12. */
static void dense(pl_run *r, double t, int start, int stop, double *x)
{
    const pl_method *m = &r->settings->method;
    const int nx = r->model->nx;
    const double h = r->h, s = (t - r->t0) / h;
    const double *x0 = r->x0, *x1 = r->integrated1, *first = r->k, *last_k = r->k + (m->stages - 1) * nx;

    for (int e = start; e < stop; e++) {
        const double change = x1[e] - x0[e];
        const double bend = h * first[e] - change;
        const double last = change - h * last_k[e] - bend;
        const double fifth = h * pl_weighted_sum(&m->dense, r->k, nx, e);
        x[e] = x0[e] + s * (change + (1 - s) * (bend + s * (last + (1 - s) * fifth)));
    }
}

int pl_adaptive_step(pl_run *r)
{
    const pl_settings *s = r->settings;
    pl_context *c = r->context;
    const double t = r->t0, left = r->stop - t;
    const double *noise = 0; /* looked at when a step fails */
    double corner = INFINITY; /* at which the step is to end */
    int looks = 0;

    for (;;) {
        const double largest = r->shortest_delay < s->max_step ? r->shortest_delay : s->max_step;
        const double wanted = largest < c->step ? largest : c->step;
        const int lands = !(corner < INFINITY) && wanted >= left * (1 - 1e-12);
        const double h = corner < INFINITY ? corner - t : lands ? left : 2 * wanted > left ? left / 2 : wanted;
        if (!lands && t + h == t) return pl_does_not_move(r, t, h);
        const pl_equal_steps w = {t, t, h, 0, 1};
        const int finite = r->model->steps[s->method.number](&r->a, &w, r->x0, r->k, r->x1) == 1;
        if (r->unsolved) return PL_NO_SOLUTION;
        r->counters.evaluations += s->method.stages - 1;
        pl_error e = pl_error_norm(r, r->x0, r->x1, h, noise);
        if (e.error > 1.0 && r->system->n_rounding && !noise) {
            noise = pl_rounding_noise(r, t, r->x0);
            e = pl_error_norm(r, r->x0, r->x1, h, noise);
        }
        r->h = h;
        if (e.error <= 1.0) {
            r->t1 = corner < INFINITY ? corner : lands ? r->stop : t + h;
            if (!finite) return not_finite(r);
            corner = looks++ < PL_LOOKS ? pl_first_corner(r, pl_explicit_interpolate, t, h) : INFINITY;
            if (corner < INFINITY) continue;
            pl_accept_step(r, h, wanted, e);
            r->arrived = !(r->t1 < r->stop);
            return PL_DONE;
        }
        pl_reject_step(r, h, e);
        corner = isfinite(e.error) ? pl_first_corner(r, pl_explicit_interpolate, t, h) : INFINITY;
        if (!(corner - t < c->step)) corner = INFINITY;
        r->budget--;
        if (r->cancel) return PL_CANCELLED;
        if (!(c->step > 1e-14 * (fabs(t) > 1e-2 ? fabs(t) : 1e-2))) {
            r->index = e.worst;
            r->value = e.error;
            pl_set_state(r, t, r->x0);
            return PL_COLLAPSED;
        }
    }
}

/* Cubic Hermite interpolation, third order; the derivative at the end is evaluated when somebody looks. */
static void hermite(pl_run *r, double t, int first, int last, double *x)
{
    const double h = r->end - r->t0, s = (t - r->t0) / h;
    const double *x0 = r->x0, *x1 = r->integrated1, *f0 = r->k, *f1 = r->f1;

    if (t == r->t0) { /* true even where the derivative at the end is not finite */
        memcpy(x + first, x0 + first, sizeof(double) * (size_t)(last - first));
        return;
    }
    if (!r->end_known) {
        pl_evaluate_derivative(r, r->end, x1, r->f1);
        r->end_known = 1;
    }
    const double a0 = (1 + 2 * s) * pow(1 - s, 2), b0 = s * pow(1 - s, 2);
    const double a1 = s * s * (3 - 2 * s), b1 = s * s * (1 - s);
    blend(x + first, a0, x0 + first, b0, f0 + first, a1, x1 + first, b1, f1 + first, h, last - first);
}

void pl_explicit_interpolate(pl_run *r, double t, double *x)
{
    pl_explicit_interpolate_some(r, t, 0, r->model->nx, x);
}

void pl_explicit_interpolate_some(pl_run *r, double t, int first, int last, double *x)
{
    if (r->settings->method.adaptive)
        dense(r, t, first, last, x);
    else
        hermite(r, t, first, last, x);
}
