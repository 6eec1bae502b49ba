#include "stretch.h"

#include "crossing_search.h"
#include "delays.h"
#include "evaluate.h"
#include "norms.h"
#include "rosenbrock.h"
#include "step.h"
#include "step_control.h"

#include <math.h>
#include <string.h>

static const double SAME_INSTANT = 1e-12; /* relative; times closer than this are one instant */

/* How many equal steps no longer than `longest` lead from begin to stop: steppers.py, pieces. */
static int64_t pieces(double begin, double stop, double longest)
{
    const double rounding = 0x1p-50 * fabs(stop) / longest;
    const double n = ceil((stop - begin) / longest - (1e-9 + rounding));
    return n > 1 ? (int64_t)(n < 0x1p53 ? n : 0x1p53) : 1;
}

int pl_begin_stretch(pl_run *r)
{
    const pl_settings *s = r->settings;
    pl_context *c = r->context;

    r->unsolved = 0;
    r->horizon = r->stop;
    const int reason = pl_limit_by_delays(r, c->t, c->x);
    if (reason) return reason;
    r->begin = r->t0 = c->t;
    r->arrived = 0;
    r->i = 0;
    if (r->model->nx == 0) {
        const double watched = s->longest_unwatched;
        r->n = pieces(r->t0, r->stop, r->shortest_delay < watched ? r->shortest_delay : watched);
        return PL_DONE;
    }
    memcpy(r->x0, c->x, sizeof(double) * (size_t)r->model->nx);
    if (r->stiff) {
        if (c->step <= 0.0) c->step = pl_rosenbrock_initial_step_size(r, r->t0, r->x0, r->stop);
        return PL_DONE;
    }
    if (s->method.adaptive) {
        pl_evaluate_derivative(r, r->t0, r->x0, r->k);
        r->counters.evaluations++;
        if (!pl_all_finite(r->k, r->model->nx)) return pl_not_finite_at(r, r->t0, r->x0);
        if (c->step <= 0.0) c->step = pl_initial_step_size(r, r->t0, r->x0, r->k, r->stop);
        return PL_DONE;
    }
    r->n = pieces(r->t0, r->stop, r->shortest_delay < s->step ? r->shortest_delay : s->step);
    r->h = (r->stop - r->t0) / (double)r->n;
    return PL_DONE;
}

int pl_end_step(pl_run *r)
{
    const pl_system *s = r->system;
    const pl_method *m = &r->settings->method;
    const size_t size = sizeof(double) * (size_t)r->model->nx;

    if (s->n_delays) pl_record_delayed(r);
    /* inputs have jumped before a step that an event ends where it begins: the event comes first */
    const int accepted = r->located < 0 || r->t1 - r->t0 > SAME_INSTANT * fmax(1.0, fabs(r->t1));
    r->last_good = r->t0 = r->t1;
    double *old = r->x0;
    r->x0 = r->x1;
    r->x1 = old;
    int reason = accepted ? pl_update_accepted(r, r->t1, r->model->nx ? r->x0 : r->context->x) : PL_DONE;
    if (reason) return reason;
    if (r->model->nx) {
        reason = pl_limit_by_delays(r, r->t1, r->x0);
        if (reason) {
            pl_set_state(r, r->t1, r->x0);
            return reason;
        }
    }
    if (!m->adaptive || r->stiff || r->arrived) return PL_DONE;
    if (r->corrected) {
        pl_evaluate_derivative(r, r->t0, r->x0, r->k);
    } else {
        memcpy(r->k, r->k + (size_t)(m->stages - 1) * (size_t)r->model->nx, size);
    }
    return PL_DONE;
}

int pl_take_step(pl_run *r)
{
    r->budget--;
    if (r->model->nx) {
        const int reason = pl_integrate_step(r);
        if (r->cancel) { /* perhaps by a function of the host, whose values then are none */
            pl_set_state(r, r->t0, r->x0);
            r->unsolved = 0;
            return PL_CANCELLED;
        }
        if (reason) return reason;
    } else {
        r->i++;
        r->arrived = r->i == r->n;
        r->t1 = r->arrived ? r->stop : r->begin + (double)r->i * (r->stop - r->begin) / (double)r->n;
        r->end = r->t1;
        r->located = -1;
        r->apart = -1;
    }
    const int reason = r->system->n_events ? pl_locate_crossing(r) : PL_DONE;
    if (reason || r->t1 < r->end || r->apart < 0) return reason; /* a crossing before the end comes first */
    r->index = r->apart;
    return PL_UNMET;
}
