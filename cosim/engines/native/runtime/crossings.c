/* Zero crossings: their signs, and where in a step one changes. What follows from it is in events.c. */

#include "crossings.h"

#include "evaluate.h"
#include "quartic.h"
#include "step.h"

#include <math.h>
#include <string.h>

static void evaluate(pl_run *r, double t, const double *x)
{
    pl_set_arguments(r, t, x);
    r->model->crossings(&r->a, r->out);
}

static double sign(double v) { return v > 0 ? 1. : v < 0 ? -1. : v == 0 ? 0. : v; }

int pl_on_threshold(const pl_run *r, int i)
{
    return fabs(r->out[i]) <= fmax(r->system->threshold[i], r->missed[i]);
}

/* Signs of all crossings: by their values, on the threshold by where they move, at rest there as each says.
   Returns 0, or PL_NO_SIGN with the crossing that has none. Values stay in out, rates of change behind them. */
int pl_evaluate_crossings(pl_run *r, double t, const double *x)
{
    const int n = r->system->n_events;
    double *rates = r->out + n;
    int on = 0;

    evaluate(r, t, x);
    for (int i = 0; i < n; i++) on |= pl_on_threshold(r, i);
    if (on) r->model->crossing_rates(&r->a, rates);
    for (int i = 0; i < n; i++) {
        const double now = sign(pl_on_threshold(r, i) ? rates[i] : r->out[i]);
        r->new_signs[i] = now == 0. ? r->system->rest[i] : now;
        if (!isnan(now)) continue;
        r->index = i;
        return PL_NO_SIGN;
    }
    return PL_DONE;
}

void pl_note_farthest(pl_run *r)
{
    for (int i = 0; i < r->system->n_events; i++) {
        if (fabs(r->out[i]) > r->farthest[i]) r->farthest[i] = fabs(r->out[i]);
        if (fabs(r->out[i]) > r->largest[i]) r->largest[i] = fabs(r->out[i]);
    }
}

/* Bisection to the last bit that matters; the end that has crossed is returned. */
static double root(pl_run *r, int i, double low, double high)
{
    const double side = r->new_signs[i];
    for (int round = 0; round < 80; round++) {
        const double middle = 0.5 * (low + high);
        if (!(low < middle && middle < high) || high - low <= 1e-15 * (fabs(high) > 1. ? fabs(high) : 1.))
            break;
        pl_interpolate(r, middle, r->scratch);
        evaluate(r, middle, r->model->nx ? r->scratch : r->context->x);
        if (r->out[i] * side > 0.)
            high = middle;
        else
            low = middle;
    }
    return high;
}

static int fires(const pl_run *r, int i)
{
    const int direction = r->system->direction[i];
    return r->new_signs[i] != r->context->signs[i] && (direction == 0 || direction == r->new_signs[i]);
}

static const double *state_at(pl_run *r, double t)
{
    if (!r->model->nx) return r->context->x;
    if (t == r->t1) return r->x1;
    pl_interpolate(r, t, r->scratch);
    return r->scratch;
}

/* Does a quartic through five points of a piece follow every crossing? */
static int resolved(pl_run *r, double t0, double t1)
{
    const int n = r->system->n_events;
    double *known = r->out + 2 * n;

    for (int j = 0; j < PL_POINTS; j++) {
        const double t = PL_PLACES[j] == 1.0 ? t1 : t0 + PL_PLACES[j] * (t1 - t0);
        evaluate(r, t, state_at(r, t));
        memcpy(known + j * n, r->out, sizeof(double) * (size_t)n);
    }
    for (int check = PL_NODES; check < PL_POINTS; check++) {
        pl_quartic(known, (size_t)n, n, PL_PLACES[check], r->out);
        for (int i = 0; i < n; i++) {
            double size = 0.0;
            for (int j = 0; j < PL_NODES && !isnan(size); j++)
                if (!(fabs(known[j * n + i]) <= size)) size = fabs(known[j * n + i]);
            if (fabs(r->out[i] - known[check * n + i]) > 0.05 * size) return 0;
        }
    }
    return 1;
}

/* First crossing between two times of a step, into r->located; its time, into first. Signs are looked at in
   quarters and, where a crossing depends on t other than through states, so that step control cannot see it, in
   pieces that a quartic follows. */
static int search(pl_run *r, double t0, double t1, int depth, double *first)
{
    pl_context *c = r->context;
    const int n = r->system->n_events;

    if (r->settings->in_time && depth < 10 && !resolved(r, t0, t1)) {
        const double middle = 0.5 * (t0 + t1);
        const int reason = search(r, t0, middle, depth + 1, first);
        if (reason || r->located >= 0) return reason;
        return search(r, middle, t1, depth + 1, first);
    }
    double low = t0;
    for (int quarter = 1; quarter <= 4; quarter++) {
        const double high = quarter == 4 ? t1 : t0 + 0.25 * quarter * (t1 - t0);
        const double *x = state_at(r, high);
        const int reason = pl_evaluate_crossings(r, high, x);
        if (reason) {
            c->t = high;
            if (r->model->nx) memcpy(c->x, x, sizeof(double) * (size_t)r->model->nx);
            return reason;
        }
        for (int i = 0; i < n; i++) {
            if (!fires(r, i)) continue;
            const double t = root(r, i, low, high);
            if (r->located >= 0 && !(t < *first)) continue;
            *first = t;
            r->located = i;
        }
        if (r->located >= 0) { /* a whole flight may lie in this quarter */
            const double middle = 0.5 * (low + *first);
            evaluate(r, middle, state_at(r, middle));
            pl_note_farthest(r);
            return PL_DONE;
        }
        pl_note_farthest(r);
        memcpy(c->signs, r->new_signs, sizeof(double) * (size_t)n);
        low = high;
    }
    return PL_DONE;
}

int pl_locate_crossing(pl_run *r)
{
    double first = INFINITY;

    const int reason = search(r, r->t0, r->t1, 0, &first);
    if (reason || r->located < 0) return reason;
    r->arrived = 1;
    if (!(first < r->t1)) return PL_DONE;
    r->t1 = first;
    if (!r->model->nx) return PL_DONE;
    if (r->integrated1 == r->x1) {
        memcpy(r->unprojected, r->x1, sizeof(double) * (size_t)r->model->nx);
        r->integrated1 = r->unprojected; /* the solution inside the step still needs its end */
    }
    pl_interpolate(r, first, r->x1);
    r->corrected = 1;
    return PL_DONE;
}
