#include "steady.h"

#include "curves.h"
#include "exchange.h"
#include "macro_step.h"
#include "units.h"

#include <math.h>

static const double SNAP = 1e-12; /* of log times, as in log.c */

int pl_is_steady(const pl_coupling *m)
{
    const pl_fmu_unit *first = m->units;

    if (m->order || m->newest || !m->idle || m->iterate || m->begins_iterated || m->controlled) return 0;
    for (int k = 0; k < m->n_units; k++) {
        const pl_fmu_unit *u = &m->units[k];
        if (!u->u.count || u->first != first->first || u->period != first->period || u->points != first->points)
            return 0;
    }
    return m->n_units > 0;
}

/* The time before which nothing is logged and nothing of our own happens. */
static double free_until(const pl_coupling *m, double until)
{
    const pl_run *r = m->run;
    const pl_log *l = r->log;
    double end = until;

    if (l->every_step) return -INFINITY;
    if (r->system->n_rates) {
        const double stop = pl_next_stop(r);
        if (stop < end) end = stop;
    }
    if (l->position < l->n_times) {
        const double next = l->times[l->position] - 2 * SNAP * fabs(l->times[l->position]);
        if (next < end) end = next;
    }
    return end;
}

/* What is delivered, and logged of how it was assumed; inputs of the next step. */
static int deliver(pl_coupling *m)
{
    const double t1 = m->t1;

    for (int k = 0; k < m->n_units; k++) pl_write_held(m, &m->units[k], m->units[k].out.time[0]);
    const int reason = pl_read_inputs(m, t1);
    if (reason) return reason;
    for (int k = 0; k < m->n_units; k++) {
        pl_fmu_unit *u = &m->units[k];
        const int n = u->u.n;
        const double *now = m->inputs + u->start;
        double *row = u->rows + u->count++ * (1 + 2 * n);
        row[0] = t1;
        for (int i = 0; i < n; i++) row[1 + i] = u->assumed[i], row[1 + n + i] = now[i];
        pl_add_sample(&u->u, u->time, now);
    }
    m->macro_steps++;
    return PL_DONE;
}

int pl_steady_steps(pl_coupling *m, double until)
{
    pl_run *r = m->run;
    const double end = free_until(m, until);
    const int64_t first = m->units->first, period = m->units->period;

    m->quiet = 1;
    for (;;) {
        m->t1 = pl_seconds(first + m->units->points * period, m->grid);
        if (!(m->t1 < end) || r->cancel || r->budget <= 0) return PL_DONE;
        for (int k = 0; k < m->n_units; k++)
            if (m->units[k].count >= m->units[k].capacity) return PL_DONE;
        r->budget--;
        for (int k = 0; k < m->n_units; k++) {
            pl_fmu_unit *u = &m->units[k];
            for (int i = 0; i < u->u.n; i++) u->value[i] = u->assumed[i] = u->u.values[i];
            const int reason = pl_step_unit_held(u, m->t1);
            if (!reason) continue;
            for (int j = 0; j < m->n_units; j++) m->units[j].arriving = 1;
            m->events = r->counters.events; /* the phases take over, as if they had come as far */
            m->ours_done = 0;
            m->unit = k;
            m->place = k + 1;
            m->phase = PL_ARRIVED;
            return reason;
        }
        r->context->t = m->t1;
        m->phase = PL_DELIVER;
        const int reason = deliver(m);
        if (reason) return reason;
        m->phase = PL_BEGIN;
    }
}
