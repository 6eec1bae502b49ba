#include "steppers.h"

#include <math.h>
#include <string.h>

static const double SAFETY = 0.9, SHRINK = 0.2, GROW = 10.0, BETA = 0.04;

void pl_derivative(pl_run *r, double t, const double *x, double *f)
{
    r->a.t = t;
    r->a.x = x;
    r->model->derivative(&r->a, f);
}

/* Sum of v in the order of NumPy's pairwise summation. */
double pl_sum(const double *v, int n)
{
    if (n < 8) {
        double s = 0.0;
        for (int i = 0; i < n; i++) s += v[i];
        return s;
    }
    if (n <= 128) {
        double s[8];
        int i;
        for (int j = 0; j < 8; j++) s[j] = v[j];
        for (i = 8; i < n - n % 8; i += 8)
            for (int j = 0; j < 8; j++) s[j] += v[i + j];
        double total = ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]));
        for (; i < n; i++) total += v[i];
        return total;
    }
    int half = n / 2;
    half -= half % 8;
    return pl_sum(v, half) + pl_sum(v + half, n - half);
}

static double lesser(double a, double b) { return b < a ? b : a; }
static double greater(double a, double b) { return b > a ? b : a; }

static double weighted(const pl_row *row, const double *k, int nx, int e)
{
    if (row->count == 0) return 0.0;
    double total = row->weight[0] * k[row->place[0] * nx + e];
    for (int j = 1; j < row->count; j++) total += row->weight[j] * k[row->place[j] * nx + e];
    return total;
}

/* Scaled error of a step; noise: (nx,) what is added to the scale, or null. */
pl_error pl_step_error(pl_run *r, const double *x, const double *x1, double h, const double *noise)
{
    const pl_settings *s = r->settings;
    const int nx = r->model->nx;
    const double *nominal = r->system->nominal;
    pl_error found = {0.0, 0};
    double largest = -1.0;

    for (int e = 0; e < nx; e++) {
        const double a = fabs(x[e]), b = fabs(x1[e]);
        const double given = s->atol * nominal[e] + s->rtol * (isnan(a) || a > b ? a : b);
        const double scale = noise ? given + noise[e] : given;
        const double share = h * weighted(&s->method.error, r->k, nx, e) / scale;
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
    found.error = sqrt(pl_sum(r->scratch, nx) / nx);
    return found;
}

/* PI step size control: Hairer, Norsett & Wanner I, sections II.4 and IV.2, beta = 0.04. */
void pl_accept(pl_run *r, double h, double wanted, pl_error e)
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

void pl_reject(pl_run *r, double h, pl_error e)
{
    const double power = 1.0 / r->settings->method.order - 0.75 * BETA;

    r->counters.rejected++;
    if (isfinite(e.error))
        r->context->step = h / lesser(1 / SHRINK, pow(e.error, power) / SAFETY);
    else
        r->context->step = h * 0.1;
}

/* Starting step size: Hairer I, section II.4, the algorithm after eq. 4.14. */
double pl_first_step(pl_run *r, double t, const double *x, const double *f0, double stop)
{
    const pl_settings *s = r->settings;
    const int nx = r->model->nx;
    const double *nominal = r->system->nominal;
    double *v = r->scratch, *f1 = r->f1;

    if (nx == 0) return stop - t;
#define SCALE(e) (s->atol * nominal[e] + s->rtol * fabs(x[e]))
    for (int e = 0; e < nx; e++) {
        const double q = x[e] / SCALE(e);
        v[e] = q * q;
    }
    const double d0 = sqrt(pl_sum(v, nx) / nx);
    for (int e = 0; e < nx; e++) {
        const double q = f0[e] / SCALE(e);
        v[e] = q * q;
    }
    const double d1 = sqrt(pl_sum(v, nx) / nx);
    double h0 = d0 < 1e-5 || d1 < 1e-5 ? 1e-6 : 0.01 * d0 / d1;
    h0 = lesser(lesser(h0, stop - t), s->max_step);
    for (int e = 0; e < nx; e++) r->trial[e] = x[e] + h0 * f0[e];
    pl_derivative(r, t + h0, r->trial, f1);
    r->counters.evaluations++;
    for (int e = 0; e < nx; e++) {
        const double q = (f1[e] - f0[e]) / SCALE(e);
        v[e] = q * q;
    }
#undef SCALE
    const double d2 = sqrt(pl_sum(v, nx) / nx) / h0;
    const double largest = greater(d1, d2);
    const double h1 = !(largest > 1e-15) ? greater(1e-6, h0 * 1e-3)
                                         : pow(0.01 / largest, 1.0 / r->settings->method.order);
    return isfinite(h1) ? lesser(lesser(100 * h0, h1), s->max_step) : h0;
}

/* Cubic Hermite interpolation, third order; the derivative at the end is evaluated when somebody looks. */
static void hermite(pl_run *r, double t, double *x)
{
    const int nx = r->model->nx;
    const double h = r->end - r->t0, s = (t - r->t0) / h;
    const double *x0 = r->x0, *x1 = r->raw1, *f0 = r->k, *f1 = r->f1;

    if (t == r->t0) { /* true even where the derivative at the end is not finite */
        memcpy(x, x0, sizeof(double) * (size_t)nx);
        return;
    }
    if (!r->end_known) {
        pl_derivative(r, r->end, x1, r->f1);
        r->end_known = 1;
    }
    const double a0 = (1 + 2 * s) * pow(1 - s, 2), b0 = s * pow(1 - s, 2);
    const double a1 = s * s * (3 - 2 * s), b1 = s * s * (1 - s);
    for (int e = 0; e < nx; e++)
        x[e] = a0 * x0[e] + b0 * (h * f0[e]) + a1 * x1[e] - b1 * (h * f1[e]);
}

/* Continuous extension of fourth order: Hairer I, eq. II.6.12. */
static void dense(pl_run *r, double t, double *x)
{
    const pl_method *m = &r->settings->method;
    const int nx = r->model->nx;
    const double h = r->h, s = (t - r->t0) / h;
    const double *x0 = r->x0, *x1 = r->raw1, *first = r->k, *last_k = r->k + (m->stages - 1) * nx;

    for (int e = 0; e < nx; e++) {
        const double change = x1[e] - x0[e];
        const double bend = h * first[e] - change;
        const double last = change - h * last_k[e] - bend;
        const double fifth = h * weighted(&m->dense, r->k, nx, e);
        x[e] = x0[e] + s * (change + (1 - s) * (bend + s * (last + (1 - s) * fifth)));
    }
}

void pl_inside(pl_run *r, double t, double *x)
{
    if (r->model->nx == 0) return;
    if (r->stiff)
        pl_stiff_inside(r, t, x);
    else if (r->settings->method.adaptive)
        dense(r, t, x);
    else
        hermite(r, t, x);
}
