/* Zero crossings: their signs, and where in a step one changes. Resets are applied by the host. */

#include "steppers.h"

#include <math.h>
#include <string.h>

static const double THRESHOLD = 1e-10; /* |g| up to this counts as on the threshold */

static void evaluate(pl_run *r, double t, const double *x)
{
    pl_see(r, t, x);
    r->model->crossings(&r->a, r->out);
}

static double sign(double v) { return v > 0 ? 1. : v < 0 ? -1. : v == 0 ? 0. : v; }

/* Signs of all crossings: by their values, on the threshold by where they move, at rest there as each says.
   Returns 0, or PL_NO_SIGN with the crossing that has none. */
static int signs(pl_run *r, double t, const double *x)
{
    const int n = r->system->n_events;
    double *rates = r->out + n;
    int on = 0;

    evaluate(r, t, x);
    for (int i = 0; i < n; i++) on |= fabs(r->out[i]) <= THRESHOLD;
    if (on) r->model->crossing_rates(&r->a, rates);
    for (int i = 0; i < n; i++) {
        const double now = sign(fabs(r->out[i]) <= THRESHOLD ? rates[i] : r->out[i]);
        r->crossed[i] = now == 0. ? r->system->rest[i] : now;
        if (!isnan(now)) continue;
        r->index = i;
        return PL_NO_SIGN;
    }
    return PL_DONE;
}

int pl_signs_changed(pl_run *r)
{
    const pl_context *c = r->context;
    const int reason = signs(r, c->t, c->x);
    if (reason) return reason;
    for (int i = 0; i < r->system->n_events; i++)
        if (r->crossed[i] != c->signs[i]) return PL_SIGNS;
    return PL_DONE;
}

/* Bisection to the last bit that matters; the end that has crossed is returned. */
static double root(pl_run *r, int i)
{
    const double side = r->crossed[i];
    double low = r->t0, high = r->end;
    for (int round = 0; round < 80; round++) {
        const double middle = 0.5 * (low + high);
        if (!(low < middle && middle < high) || high - low <= 1e-15 * (fabs(high) > 1. ? fabs(high) : 1.))
            break;
        pl_inside(r, middle, r->scratch);
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
    return r->crossed[i] != r->context->signs[i] && (direction == 0 || direction == r->crossed[i]);
}

int pl_locate(pl_run *r)
{
    const pl_system *s = r->system;
    pl_context *c = r->context;
    double first = INFINITY;
    int due = 0;

    const int reason = signs(r, r->t1, r->model->nx ? r->x1 : c->x);
    if (reason) return reason;
    for (int i = 0; i < s->n_events; i++) due |= fires(r, i);
    if (!due) {
        memcpy(c->signs, r->crossed, sizeof(double) * (size_t)s->n_events);
        return PL_DONE;
    }
    for (int i = 0; i < s->n_events; i++) {
        if (!fires(r, i)) continue;
        const double t = root(r, i);
        if (t < first) {
            first = t;
            r->met = i;
        }
    }
    r->arrived = 1;
    if (!(first < r->t1)) return PL_DONE;
    r->t1 = first;
    if (!r->model->nx) return PL_DONE;
    if (r->raw1 == r->x1) {
        memcpy(r->whole, r->x1, sizeof(double) * (size_t)r->model->nx);
        r->raw1 = r->whole; /* the solution inside the step still needs its end */
    }
    pl_inside(r, first, r->x1);
    r->corrected = 1;
    return PL_DONE;
}
