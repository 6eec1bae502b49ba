#include "steady.h"

#include "curves.h"
#include "exchange.h"
#include "instants.h"
#include "macro_step.h"
#include "rollback.h"
#include "units.h"

#include <math.h>

static const double SNAP = 1e-12; /* of log times, as in log.c */

int pl_is_steady(const pl_coupling *m)
{
    const pl_fmu_unit *first = m->units;

    if (m->order || !m->idle || m->iterate || m->begins_iterated || m->controlled) return 0;
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
    if (pl_has_stops(r)) {
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

    for (int k = 0; k < m->n_units && !m->newest; k++) pl_write_held(m, &m->units[k], m->units[k].out.time[0]);
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

/* All units in order; where one needs the host, the phases take over, as if they had come as far. */
static int step_units(pl_coupling *m)
{
    m->ours_done = 0;
    for (m->place = 0; m->place < m->n_sequence;) {
        m->unit = m->sequence[m->place++];
        if (m->unit < 0) { /* our own blocks */
            m->run->context->t = m->t1;
            m->ours_done = 1;
            continue;
        }
        pl_fmu_unit *u = &m->units[m->unit];
        int reason = pl_hold_inputs(m, u);
        if (!reason) reason = pl_step_unit_held(u, m->t1);
        if (reason) {
            for (int j = 0; j < m->n_units; j++) m->units[j].arriving = 1;
            m->events = m->run->counters.events;
            m->phase = PL_ARRIVED;
            return reason;
        }
        if (m->newest) pl_write_held(m, u, u->out.time[0]);
    }
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
        if (m->newest) pl_keep_ours(m, 0, 0);
        int reason = step_units(m);
        if (reason) return reason;
        m->phase = PL_DELIVER;
        reason = deliver(m);
        if (reason) return reason;
        m->phase = PL_BEGIN;
    }
}
