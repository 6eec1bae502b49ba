/* Zero crossings: their signs, and where in a step one changes. Resets are applied by the host. */

#include "steppers.h"

#include <math.h>
#include <string.h>

static const double THRESHOLD = 1e-10; /* |g| up to this counts as on the threshold */

static void evaluate(pl_run *r, double t, const double *x)
{
    r->a.t = t;
    r->a.x = x;
    r->model->crossings(&r->a, r->out);
}

static double sign(double v) { return v > 0 ? 1. : v < 0 ? -1. : v == 0 ? 0. : v; }

/* Signs of all crossings: by their values, on the threshold by where they move, at rest as their event says. */
static void signs(pl_run *r, double t, const double *x)
{
    const int n = r->system->n_events;
    double *rates = r->out + n;
    int on = 0;

    evaluate(r, t, x);
    for (int i = 0; i < n; i++) on |= fabs(r->out[i]) <= THRESHOLD;
    if (on) r->model->crossing_rates(&r->a, rates);
    for (int i = 0; i < n; i++) {
        r->crossed[i] = sign(fabs(r->out[i]) <= THRESHOLD ? rates[i] : r->out[i]);
        if (r->crossed[i] == 0.) r->crossed[i] = r->system->rest[i];
    }
}

int pl_signs_changed(pl_run *r)
{
    const pl_context *c = r->context;
    signs(r, c->t, c->x);
    for (int i = 0; i < r->system->n_events; i++)
        if (r->crossed[i] != 0. && r->crossed[i] != c->signs[i]) return 1;
    return 0;
}

/* Bisection to the last bit that matters; the end that has crossed is returned. */
static double root(pl_run *r, int i, double side)
{
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

void pl_locate(pl_run *r)
{
    const pl_system *s = r->system;
    pl_context *c = r->context;
    double first = INFINITY;

    signs(r, r->t1, r->model->nx ? r->x1 : c->x);
    int due = 0;
    for (int i = 0; i < s->n_events; i++) {
        const double now = r->crossed[i];
        if (now != 0. && now != c->signs[i] && (s->direction[i] == 0 || s->direction[i] == now)) due = 1;
    }
    if (!due) {
        for (int i = 0; i < s->n_events; i++)
            if (r->crossed[i] != 0.) c->signs[i] = r->crossed[i];
        return;
    }
    for (int i = 0; i < s->n_events; i++) {
        const double now = r->crossed[i];
        if (now == 0. || now == c->signs[i] || (s->direction[i] != 0 && s->direction[i] != now)) continue;
        const double t = root(r, i, now);
        if (t < first) {
            first = t;
            r->met = i;
        }
    }
    r->arrived = 1;
    if (!(first < r->t1)) return;
    r->t1 = first;
    if (!r->model->nx) return;
    pl_inside(r, first, r->spare);
    double *whole = r->x1; /* the solution inside the step still needs it: it is raw1 */
    r->x1 = r->spare;
    r->spare = whole;
    r->corrected = 1;
}
