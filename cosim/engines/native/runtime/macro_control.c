/* The rules and the order of operations are those of cosim/fmi/coupling/error_control.py. */

#include "macro_control.h"

#include "iterated.h"
#include "macro_step.h"
#include "rollback.h"

#include <math.h>

enum { LEVEL = 0 };

static const double SMALLEST = 1e-12, SNAP = 1e-12, SAFETY = 0.85, SHRINK = 0.2, GROW = 2.0;
static const double UNEVEN = 8.0, STAYS = 0.7; /* as in cosim/fmi/coupling/inside_jumps.py */

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

/* Outputs and inputs of all units where they stand, or the largest of each that are kept; how many. */
static int signals(const pl_coupling *m, int largest, double *out)
{
    int n = 0;

    for (int k = 0; k < m->n_units; k++) {
        const pl_fmu_unit *u = &m->units[k];
        const pl_samples *both[2] = {&u->out, &u->u};
        for (int j = 0; j < 2; j++) {
            const pl_samples *s = both[j];
            for (int i = 0; i < s->n; i++) {
                double size = largest ? fabs(s->values[i]) : s->values[i];
                for (int e = 1; largest && e < s->count; e++)
                    if (fabs(s->values[e * s->n + i]) > size) size = fabs(s->values[e * s->n + i]);
                out[n++] = size;
            }
        }
    }
    return n;
}

/* Signals (n,) of one attempt: after one step; at the beginning, the middle and the end of two halves. */
typedef struct {
    int n;
    double *big, *start, *middle, *fine, *tolerance, *before; /* before: changes in the attempt before, if any */
} attempt;

static attempt room_of(const pl_coupling *m)
{
    const int n = m->n_inputs + m->n_outputs;
    double *v = m->tried;
    return (attempt){n, v, v + n, v + 2 * n, v + 3 * n, v + 4 * n, v + 5 * n};
}

/* The tolerance of a run, of each signal. */
static void find_tolerances(const pl_coupling *m, const attempt *a)
{
    signals(m, 1, a->tolerance);
    for (int i = 0; i < a->n; i++) {
        const double size = fabs(a->fine[i]) > a->tolerance[i] ? fabs(a->fine[i]) : a->tolerance[i];
        a->tolerance[i] = m->rtol * size + m->atol;
    }
}

/* The largest error of a smooth signal over what is allowed over a step of h [s]; not a number where one is none. */
static double worst_error(const pl_coupling *m, const attempt *a, double h)
{
    const double share = pow(2.0, m->order + 1) - 1.0;
    double worst = 0.0;
    int i = 0, n = 0; /* numbers of the signal, and among the smooth ones */

    for (int k = 0; k < m->n_units; k++) {
        const pl_fmu_unit *u = &m->units[k];
        const int32_t *smooth[2] = {u->smooth_outputs, u->smooth_inputs};
        const int sizes[2] = {u->out.n, u->u.n};
        for (int j = 0; j < 2; j++) {
            for (int e = 0; e < sizes[j]; e++, i++) {
                if (!smooth[j][e]) continue;
                const double allowed = m->adds_up[n++] ? a->tolerance[i] * h / m->horizon : a->tolerance[i];
                const double error = fabs(a->big[i] - a->fine[i]) / share / allowed;
                if (!isfinite(error)) return NAN;
                if (error > worst) worst = error;
            }
        }
    }
    return worst;
}

/* Does a signal jump in the step, so that the host has to look at it? It does if two halves find no error, or if the
   jump is what it was in a longer step; else the step is made shorter first. */
static int jumps(const pl_coupling *m, const attempt *a, double worst, int again)
{
    int found = 0;

    for (int i = 0; i < a->n; i++) {
        const double first = fabs(a->middle[i] - a->start[i]), second = fabs(a->fine[i] - a->middle[i]);
        const double most = first > second ? first : second, least = first > second ? second : first;
        if (m->watched[i] && most > UNEVEN * least && most > a->tolerance[i])
            found |= worst <= 1.0 || (again && most >= STAYS * a->before[i]);
        a->before[i] = most;
    }
    return found;
}

static void next_size(pl_coupling *m, double h, double worst)
{
    double factor = worst > 0 ? SAFETY * pow(worst, -1.0 / (m->order + 1)) : GROW;

    if (!(factor > SHRINK)) factor = SHRINK;
    if (!(factor < GROW)) factor = GROW;
    m->size = (h < m->size ? h : m->size) * factor;
}

/* One step of h against two of h/2; the halves count. */
static int try_step(pl_coupling *m, const attempt *a, double t0, double t1, double *worst)
{
    int reason = make(m, t1);

    if (reason) return reason;
    signals(m, 0, a->big);
    if ((reason = back(m)) != 0) return reason;
    if ((reason = make(m, t0 + (t1 - t0) / 2)) != 0) return reason;
    signals(m, 0, a->middle);
    if ((reason = make(m, t1)) != 0) return reason;
    signals(m, 0, a->fine);
    find_tolerances(m, a);
    *worst = worst_error(m, a, t1 - t0);
    return isnan(*worst) ? PL_UNITS_HOST : PL_DONE;
}

int pl_controlled_step(pl_coupling *m, double until)
{
    pl_run *r = m->run;
    const double t0 = r->context->t, size = m->size;
    const double limit = fmin(fmin(until, pl_next_stop(r)), next_row(m, t0));
    const int64_t rounds = m->rounds, macro_steps = m->macro_steps, rejected = m->rejected, budget = r->budget;
    const attempt a = room_of(m);
    double worst = INFINITY;
    int reason = m->goes_back ? keep(m) : PL_UNITS_HOST;

    if (reason) return reason; /* nothing has been done yet */
    signals(m, 0, a.start);
    r->budget = INT64_MAX / 2; /* it is not left in the middle */
    for (int again = 0; worst > 1.0 && !reason; again = 1) {
        const double t1 = end_of_step(m, t0, limit), h = t1 - t0;
        reason = try_step(m, &a, t0, t1, &worst);
        if (!reason && jumps(m, &a, worst, again)) reason = PL_UNITS_HOST;
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
