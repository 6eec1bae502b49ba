/* The stiff integrator RODAS: formulas, their order and step size control are those of rosenbrock.py. */

#include "rosenbrock.h"

#include "corners.h"
#include "evaluate.h"
#include "invariants.h"
#include "lu.h"
#include "norms.h"
#include "step_control.h"
#include "turning.h"

#include <math.h>
#include <string.h>

static const double SAFETY = 0.9, SHRINK = 0.2, GROW = 6.0;
enum { STAGES = PL_RODAS_STAGES };

/* J and df/dt at (t, x); the unknowns of w are those of this point. */
static void linearise(pl_run *r, double t, const double *x)
{
    pl_stiff *s = r->stiff;
    const int n = r->model->nx;
    const size_t nonzeros = (size_t)s->column_start[n];
    pl_args a = r->a;

    a.t = t;
    a.x = x;
    a.c = s->c;
    a.v = s->v;
    a.iv = s->iv;
    if (s->n_colours == 0) {
        s->code->values(&a, s->jacobian);
        memcpy(s->slope, s->jacobian + nonzeros, sizeof(double) * (size_t)n);
        return;
    }
    double *direction = s->seed + n;
    a.x = s->seed;
    memcpy(s->seed, x, sizeof(double) * (size_t)n);
    memset(direction, 0, sizeof(double) * (size_t)(n + 1));
    for (int colour = 0; colour < s->n_colours; colour++) {
        const int32_t *first = s->colour_columns + s->colour_start[colour];
        const int32_t *last = s->colour_columns + s->colour_start[colour + 1];
        for (const int32_t *j = first; j < last; j++) direction[*j] = 1.0;
        s->code->values(&a, s->work);
        for (const int32_t *j = first; j < last; j++) {
            direction[*j] = 0.0;
            for (int32_t k = s->column_start[*j]; k < s->column_start[*j + 1]; k++)
                s->jacobian[k] = s->work[s->rows[k]];
        }
    }
    direction[n] = 1.0;
    s->code->values(&a, s->slope);
}

static double weighted(const double *weights, int count, const double *k, int n, int e)
{
    double total = weights[0] * k[e];
    for (int j = 1; j < count; j++) total += weights[j] * k[j * n + e];
    return total;
}

/* The state that moved farthest from x, in its own size. */
static int32_t farthest(const pl_run *r, const double *x, const double *trial)
{
    double most = -1.0;
    int32_t worst = 0;
    for (int e = 0; e < r->system->n_controlled; e++) {
        const double atol = r->settings->atol * r->system->nominal[e];
        const double moved = fabs(trial[e] - x[e]) / (fabs(x[e]) + atol);
        if (isnan(moved)) return e;
        if (moved > most) {
            most = moved;
            worst = e;
        }
    }
    return worst;
}

/* Stages, end and scaled error of a step of size h; the error is infinite where it cannot be done. */
static pl_error attempt(pl_run *r, double t, double h)
{
    pl_stiff *s = r->stiff;
    const int n = r->model->nx;
    const double *x = r->x0, *f0 = r->k + STAGES * n;
    double *trial = r->trial, *states = s->turns ? s->z : trial;
    pl_error failed = {INFINITY, 0};

    if (!pl_factor(s, n, 1.0 / (s->gamma * h))) return failed;
    for (int i = 0; i < STAGES; i++) {
        double *k = r->k + i * n;
        if (i == 0) {
            memcpy(k, f0, sizeof(double) * (size_t)n);
        } else {
            double weights[STAGES];
            for (int e = 0; e < n; e++) trial[e] = x[e] + weighted(s->a[i], i, r->k, n, e);
            if (s->turns) {
                memcpy(states, trial, sizeof(double) * (size_t)n);
                pl_turn_states(r, s->alpha[i] * h, states);
            }
            pl_evaluate_derivative(r, t + s->alpha[i] * h, states, k);
            if (r->unsolved) return failed;
            if (!pl_all_finite(k, n)) {
                failed.worst = farthest(r, x, states);
                return failed;
            }
            if (s->turns) pl_turn_field(r, s->alpha[i] * h, trial, k);
            for (int j = 0; j < i; j++) weights[j] = s->stages[i][j] / h;
            for (int e = 0; e < n; e++) k[e] = k[e] + weighted(weights, i, r->k, n, e);
            r->counters.evaluations++;
        }
        const double share = h * s->d[i];
        for (int e = 0; e < n; e++) k[e] = k[e] + share * s->slope[e];
        pl_solve_factored(s, n, k);
    }
    for (int e = 0; e < n; e++) s->z1[e] = trial[e] + r->k[(STAGES - 1) * n + e];
    memcpy(r->x1, s->z1, sizeof(double) * (size_t)n);
    if (s->turns) pl_turn_states(r, h, r->x1);
    const pl_error e = pl_error_norm(r, x, s->z1, 1.0, 0);
    if (!(e.error > 1.0) || !r->system->n_rounding) return e;
    return pl_error_norm(r, x, s->z1, 1.0, pl_rounding_noise(r, t, x));
}

static void accepted(pl_run *r, double h, double wanted, pl_error e)
{
    pl_context *c = r->context;
    double factor = pow(e.error, 0.25) / SAFETY;

    r->counters.steps++;
    r->counters.limited_by[e.worst]++;
    if (factor > 1 / SHRINK) factor = 1 / SHRINK;
    const double proposed = h / (factor > 1 / GROW ? factor : 1 / GROW);
    c->step = h < wanted && wanted > proposed ? wanted : proposed;
}

static void rejected(pl_run *r, double h, pl_error e)
{
    const double factor = pow(e.error, 0.25) / SAFETY;

    r->counters.rejected++;
    r->counters.refused_by = e.worst;
    if (isfinite(e.error))
        r->context->step = h / (factor < 1 / SHRINK ? factor : 1 / SHRINK);
    else
        r->context->step = h * 0.1;
}

/* Give the host the state a step began from. */
static int cannot_go_on(pl_run *r, int32_t index, int reason)
{
    r->context->t = r->t0;
    memcpy(r->context->x, r->x0, sizeof(double) * (size_t)r->model->nx);
    r->index = index;
    return reason;
}

int pl_rosenbrock_step(pl_run *r)
{
    const pl_settings *s = r->settings;
    pl_context *c = r->context;
    const int n = r->model->nx;
    const double t = r->t0, left = r->stop - t;
    double *f0 = r->k + STAGES * n;

    pl_evaluate_derivative(r, t, r->x0, f0);
    if (r->unsolved) return PL_NO_SOLUTION;
    linearise(r, t, r->x0);
    r->counters.evaluations++;
    if (!pl_all_finite(f0, n)) return cannot_go_on(r, PL_AT_STATE, PL_NOT_FINITE);
    pl_begin_turning(r, r->x0, f0);
    if (r->stiff->turns) {
        pl_turn_jacobian(r, r->x0, f0);
        pl_turn_field(r, 0.0, r->x0, f0);
    }
    double corner = INFINITY; /* at which the step is to end */
    int looks = 0;
    for (;;) {
        const double largest = r->shortest_delay < s->max_step ? r->shortest_delay : s->max_step;
        const double wanted = largest < c->step ? largest : c->step;
        const int lands = !(corner < INFINITY) && wanted >= left * (1 - 1e-12);
        const double h = corner < INFINITY ? corner - t : lands ? left : 2 * wanted > left ? left / 2 : wanted;
        if (!lands && t + h == t) {
            memcpy(r->k, f0, sizeof(double) * (size_t)n);
            return pl_does_not_move(r, t, h);
        }
        const pl_error e = attempt(r, t, h);
        if (r->unsolved) return PL_NO_SOLUTION;
        r->h = h;
        if (e.error <= 1.0) {
            r->t1 = corner < INFINITY ? corner : lands ? r->stop : t + h;
            corner = looks++ < PL_LOOKS ? pl_first_corner(r, pl_rosenbrock_interpolate, t, h) : INFINITY;
            if (corner < INFINITY) continue;
            accepted(r, h, wanted, e);
            r->arrived = !(r->t1 < r->stop);
            return PL_DONE;
        }
        rejected(r, h, e);
        corner = isfinite(e.error) ? pl_first_corner(r, pl_rosenbrock_interpolate, t, h) : INFINITY;
        if (!(corner - t < c->step)) corner = INFINITY;
        r->budget--;
        if (r->cancel) return PL_CANCELLED;
        if (!(c->step > 1e-14 * (fabs(t) > 1e-2 ? fabs(t) : 1e-2))) {
            r->value = e.error;
            return cannot_go_on(r, e.worst, PL_COLLAPSED);
        }
    }
}

/* A step over which the states change by a hundredth of their scale. */
double pl_rosenbrock_initial_step_size(pl_run *r, double t, const double *x, double stop)
{
    const pl_settings *s = r->settings;
    const int n = r->system->n_controlled;
    double *f = r->f1, *v = r->scratch;

    pl_evaluate_derivative(r, t, x, f);
    r->counters.evaluations++;
    for (int e = 0; e < n; e++) {
        const double q = f[e] / (s->atol * r->system->nominal[e] + s->rtol * fabs(x[e]));
        v[e] = q * q;
    }
    const double slope = sqrt(pl_pairwise_sum(v, n) / n);
    double guess = slope > 0 && isfinite(slope) ? sqrt(1.0 / slope) : 1e-6;
    if (guess > 1e-3) guess = 1e-3;
    if (guess < 1e-9) guess = 1e-9;
    if (guess > stop - t) guess = stop - t;
    return pl_moving_step_size(t, guess > s->max_step ? s->max_step : guess, stop);
}

/* Continuous extension of third order. */
void pl_rosenbrock_interpolate(pl_run *r, double t, double *x)
{
    const int n = r->model->nx;
    const double *z1 = r->stiff->z1;
    const double s = (t - r->t0) / r->h;

    for (int e = 0; e < n; e++) {
        const double third = weighted(r->stiff->dense_weights[0], STAGES - 1, r->k, n, e);
        const double fourth = weighted(r->stiff->dense_weights[1], STAGES - 1, r->k, n, e);
        x[e] = r->x0[e] * (1 - s) + s * (z1[e] + (1 - s) * (third + s * fourth));
    }
    if (r->stiff->turns) pl_turn_states(r, t - r->t0, x);
}
