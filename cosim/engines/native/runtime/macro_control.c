/* The rules and the order of operations are those of cosim/fmi/coupling/error_control.py. */

#include "macro_control.h"

#include "iterated.h"
#include "macro_step.h"
#include "rollback.h"

#include <math.h>

enum { LEVEL = 0 };

static const double SMALLEST = 1e-12, SNAP = 1e-12, SAFETY = 0.85, SHRINK = 0.2, GROW = 2.0;

/* Where the step ends: the rest up to the limit is divided evenly. */
static double end_of_step(const pl_coupling *m, double t0, double limit)
{
    const double left = limit - t0, pieces = ceil(left / m->size - 1e-9);

    if (pieces <= 1) return limit;
    return t0 + (pieces == 2 ? left / 2 : m->size);
}

/* The next instant that is to be logged: nothing but extrapolation is known between communication points. */
static double next_row(const pl_coupling *m, double t)
{
    const pl_log *l = m->run->log;
    int64_t k = l->position;

    if (l->every_step) return INFINITY;
    while (k < l->n_times && !(l->times[k] > t + SNAP * fabs(t))) k++;
    return k < l->n_times ? l->times[k] : INFINITY;
}

static int keep(pl_coupling *m)
{
    int refused = 0;

    pl_keep_ours(m, LEVEL, 1);
    for (int k = 0; k < m->n_units; k++) refused |= pl_keep_unit(&m->units[k], LEVEL);
    return refused ? PL_UNITS_HOST : PL_DONE;
}

static int back(pl_coupling *m)
{
    int refused = 0;

    pl_ours_back(m, LEVEL);
    for (int k = 0; k < m->n_units; k++) refused |= pl_unit_back(&m->units[k], LEVEL);
    return refused ? PL_UNITS_HOST : PL_DONE;
}

static int make(pl_coupling *m, double t1)
{
    for (int k = 0; k < m->n_units; k++) m->units[k].arriving = 1;
    pl_begin_macro_step(m, t1);
    const int reason = pl_walk_macro_step(m);
    return !reason && m->run->context->stopped ? PL_UNITS_HOST : reason;
}

/* Smooth outputs and inputs of all units where they stand, or the largest of each that are kept; how many. */
static int signals(const pl_coupling *m, int all, double *out)
{
    int n = 0;

    for (int k = 0; k < m->n_units; k++) {
        const pl_fmu_unit *u = &m->units[k];
        const pl_samples *both[2] = {&u->out, &u->u};
        const int32_t *smooth[2] = {u->smooth_outputs, u->smooth_inputs};
        for (int j = 0; j < 2; j++) {
            const pl_samples *s = both[j];
            for (int i = 0; i < s->n; i++) {
                if (!smooth[j][i]) continue;
                double size = all ? fabs(s->values[i]) : s->values[i];
                for (int e = 1; all && e < s->count; e++)
                    if (fabs(s->values[e * s->n + i]) > size) size = fabs(s->values[e * s->n + i]);
                out[n++] = size;
            }
        }
    }
    return n;
}

/* The largest error over what is allowed over a step of h [s]; not a number where a signal is none. */
static double worst_error(const pl_coupling *m, const double *big, const double *fine, const double *sizes, int n, double h)
{
    const double share = pow(2.0, m->order + 1) - 1.0;
    double worst = 0.0;

    for (int i = 0; i < n; i++) {
        const double size = fabs(fine[i]) > sizes[i] ? fabs(fine[i]) : sizes[i];
        double allowed = m->rtol * size + m->atol;
        if (m->adds_up[i]) allowed = allowed * h / m->horizon;
        const double error = fabs(big[i] - fine[i]) / share / allowed;
        if (!isfinite(error)) return NAN;
        if (error > worst) worst = error;
    }
    return worst;
}

static void next_size(pl_coupling *m, double h, double worst)
{
    double factor = worst > 0 ? SAFETY * pow(worst, -1.0 / (m->order + 1)) : GROW;

    if (!(factor > SHRINK)) factor = SHRINK;
    if (!(factor < GROW)) factor = GROW;
    m->size = (h < m->size ? h : m->size) * factor;
}

/* One step of h against two of h/2; the halves count. */
static int try_step(pl_coupling *m, double t0, double t1, double *worst)
{
    const double middle = t0 + (t1 - t0) / 2;
    double *big = m->tried, *fine = big + m->n_inputs + m->n_outputs, *sizes = fine + m->n_inputs + m->n_outputs;
    int reason = make(m, t1);

    if (reason) return reason;
    signals(m, 0, big);
    if ((reason = back(m)) != 0) return reason;
    if ((reason = make(m, middle)) != 0) return reason;
    if ((reason = make(m, t1)) != 0) return reason;
    signals(m, 1, sizes);
    *worst = worst_error(m, big, fine, sizes, signals(m, 0, fine), t1 - t0);
    return isnan(*worst) ? PL_UNITS_HOST : PL_DONE;
}

int pl_controlled_step(pl_coupling *m, double until)
{
    pl_run *r = m->run;
    const double t0 = r->context->t, size = m->size;
    const double limit = fmin(fmin(until, pl_next_stop(r)), next_row(m, t0));
    const int64_t rounds = m->rounds, macro_steps = m->macro_steps, rejected = m->rejected, budget = r->budget;
    double worst = INFINITY;
    int reason = m->goes_back ? keep(m) : PL_UNITS_HOST;

    if (reason) return reason; /* nothing has been done yet */
    r->budget = INT64_MAX / 2; /* it is not left in the middle */
    while (worst > 1.0 && !reason) {
        const double t1 = end_of_step(m, t0, limit), h = t1 - t0;
        reason = try_step(m, t0, t1, &worst);
        if (reason) break;
        next_size(m, h, worst);
        if (worst <= 1.0) break;
        if (!(m->size < 0.9 * h)) m->size = 0.9 * h;
        m->rejected++;
        reason = back(m);
        if (m->size < SMALLEST * m->horizon) reason = PL_UNITS_HOST; /* it collapses: the host says so */
    }
    r->budget = budget - (INT64_MAX / 2 - r->budget);
    if (!reason) return PL_DONE;
    m->rounds = rounds, m->macro_steps = macro_steps, m->rejected = rejected, m->size = size;
    for (int k = 0; k < m->n_units; k++) m->units[k].arriving = 1;
    return pl_give_up(m, LEVEL, reason);
}
