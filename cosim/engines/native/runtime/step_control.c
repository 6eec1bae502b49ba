#include "step_control.h"

#include "evaluate.h"
#include "norms.h"

#include <math.h>
#include <string.h>

static const double SAFETY = 0.9, SHRINK = 0.2, GROW = 10.0, BETA = 0.04;

static double lesser(double a, double b) { return b < a ? b : a; }
static double greater(double a, double b) { return b > a ? b : a; }

pl_error pl_error_norm(pl_run *r, const double *x, const double *x1, double h, const double *noise)
{
    const pl_settings *s = r->settings;
    const int nx = r->model->nx, controlled = r->system->n_controlled;
    const double *nominal = r->system->nominal;
    pl_error found = {0.0, 0};
    double largest = -1.0;

    for (int e = 0; e < controlled; e++) {
        const double a = fabs(x[e]), b = fabs(x1[e]);
        const double given = s->atol * nominal[e] + s->rtol * (isnan(a) || a > b ? a : b);
        const double scale = noise ? given + noise[e] : given;
        const double share = h * pl_weighted_sum(&s->method.error, r->k, nx, e) / scale;
        r->scratch[e] = share * share;
        if (isnan(share)) {
            if (!isnan(largest)) {
                largest = share;
                found.worst = e;
            }
        } else if (fabs(share) > largest) {
            largest = fabs(share);
            found.worst = e;
        }
    }
    found.error = sqrt(pl_pairwise_sum(r->scratch, controlled) / controlled);
    return found;
}

/* PI step size control: Hairer, Norsett & Wanner I, sections II.4 and IV.2, beta = 0.04. */
void pl_accept_step(pl_run *r, double h, double wanted, pl_error e)
{
    pl_context *c = r->context;
    const double power = 1.0 / r->settings->method.order - 0.75 * BETA;
    double factor = 0.0;

    r->counters.steps++;
    r->counters.limited_by[e.worst]++;
    if (e.error > 0) factor = pow(e.error, power) / pow(c->error, BETA) / SAFETY;
    const double proposed = h / greater(1 / GROW, lesser(1 / SHRINK, factor));
    c->error = greater(e.error, 1e-4);
    c->step = h < wanted ? greater(proposed, wanted) : proposed;
}

void pl_reject_step(pl_run *r, double h, pl_error e)
{
    const double power = 1.0 / r->settings->method.order - 0.75 * BETA;

    r->counters.rejected++;
    r->counters.refused_by = e.worst;
    if (isfinite(e.error))
        r->context->step = h / lesser(1 / SHRINK, pow(e.error, power) / SAFETY);
    else
        r->context->step = h * 0.1;
}

/* Starting step size: Hairer I, section II.4, the algorithm after eq. 4.14. */
double pl_initial_step_size(pl_run *r, double t, const double *x, const double *f0, double stop)
{
    const pl_settings *s = r->settings;
    const int nx = r->model->nx, controlled = r->system->n_controlled;
    const double *nominal = r->system->nominal;
    double *v = r->scratch, *f1 = r->f1;

    if (nx == 0) return stop - t;
#define SCALE(e) (s->atol * nominal[e] + s->rtol * fabs(x[e]))
    for (int e = 0; e < controlled; e++) {
        const double q = x[e] / SCALE(e);
        v[e] = q * q;
    }
    const double d0 = sqrt(pl_pairwise_sum(v, controlled) / controlled);
    for (int e = 0; e < controlled; e++) {
        const double q = f0[e] / SCALE(e);
        v[e] = q * q;
    }
    const double d1 = sqrt(pl_pairwise_sum(v, controlled) / controlled);
    double h0 = d0 < 1e-5 || d1 < 1e-5 ? 1e-6 : 0.01 * d0 / d1;
    if (!(h0 > 0)) h0 = 1e-6; /* norms that overflow */
    h0 = lesser(lesser(h0, stop - t), s->max_step);
    for (int e = 0; e < nx; e++) r->trial[e] = x[e] + h0 * f0[e];
    pl_evaluate_derivative(r, t + h0, r->trial, f1);
    r->counters.evaluations++;
    for (int e = 0; e < controlled; e++) {
        const double q = (f1[e] - f0[e]) / SCALE(e);
        v[e] = q * q;
    }
#undef SCALE
    const double d2 = sqrt(pl_pairwise_sum(v, controlled) / controlled) / h0;
    const double largest = greater(d1, d2);
    double h1 = !(largest > 1e-15) ? greater(1e-6, h0 * 1e-3)
                                   : pow(0.01 / largest, 1.0 / r->settings->method.order);
    h1 = isfinite(h1) && h1 > 0 ? lesser(lesser(100 * h0, h1), s->max_step) : h0;
    return pl_moving_step_size(t, h1, stop);
}

double pl_moving_step_size(double t, double h, double stop)
{
    if (t + h != t) return h;
    return lesser(greater(h, 4 * (nextafter(fabs(t), INFINITY) - fabs(t))), stop - t);
}

int pl_does_not_move(pl_run *r, double t, double h)
{
    const pl_settings *s = r->settings;
    double largest = -1.0;

    for (int e = 0; e < r->model->nx; e++) {
        const double share = fabs(r->k[e]) / (s->atol * r->system->nominal[e] + s->rtol * fabs(r->x0[e]));
        if (share > largest) {
            largest = share;
            r->index = e;
        }
    }
    r->value = 0.0; /* no error: the step was not tried */
    r->h = h;
    r->context->step = h;
    pl_set_state(r, t, r->x0);
    return PL_COLLAPSED;
}
