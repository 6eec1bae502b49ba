#include "steady.h"

#include "curves.h"
#include "exchange.h"
#include "fmu_values.h"
#include "held_step.h"
#include "instants.h"
#include "log.h"
#include "macro_step.h"
#include "rollback.h"

#include <math.h>

static const double SNAP = 1e-12; /* of log times, as in log.c */

int pl_is_steady(const pl_coupling *m)
{
    const pl_fmu_unit *first = m->units;

    if (m->order || !m->idle || m->with_events || m->iterate || m->begins_iterated || m->controlled) return 0;
    for (int k = 0; k < m->n_units; k++) {
        const pl_fmu_unit *u = &m->units[k];
        if (!u->u.count || u->first != first->first || u->period != first->period || u->points != first->points)
            return 0;
    }
    return m->n_units > 0;
}

/* Do our own blocks count a tick at every point of the units, and do nothing else? */
static int counts_points(const pl_coupling *m)
{
    const pl_context *c = m->run->context;

    if (!m->only_counts || m->newest || c->origin != 0.0) return 0;
    for (int i = 0; i < m->run->system->n_rates; i++)
        if (c->ticks[i] != m->units->points) return 0;
    return m->run->system->n_rates > 0;
}

/* The time before which nothing is logged, and nothing of our own happens beside ticks that are `counted`. */
static double free_until(const pl_coupling *m, double until, int counted)
{
    const pl_run *r = m->run;
    const pl_log *l = r->log;
    double end = until;

    if (l->every_step) return -INFINITY;
    if (pl_has_stops(r)) {
        const double stop = counted ? pl_next_listed(r) : pl_next_stop(r);
        if (stop < end) end = stop;
    }
    if (l->position < l->n_times) {
        const double next = l->times[l->position] - 2 * SNAP * fabs(l->times[l->position]);
        if (next < end) end = next;
    }
    return end;
}

/* The kind of the row of a unit that was given what the last row delivered, or what is delivered `now`. */
PL_INLINE int assumed(const pl_coupling *m, const pl_fmu_unit *u, const double *now)
{
    if (!m->newest || pl_same(u->assumed, u->u.values, u->u.n)) return PL_ROW_HELD;
    return pl_same(u->assumed, now, u->u.n) ? PL_ROW_MET : PL_ROW_WHOLE;
}

/* What is delivered, and logged of how it was assumed; inputs of the next step. `again`: the one before was such a
   step as well, so that what it delivered is what was held. */
static int deliver(pl_coupling *m, int again)
{
    const double t1 = m->t1;

    for (int k = 0; k < m->n_units && !m->newest; k++) pl_write_held(m, &m->units[k], m->units[k].out.time[0]);
    const int reason = pl_read_inputs(m, t1);
    if (reason) return reason;
    for (int k = 0; k < m->n_units; k++) {
        pl_fmu_unit *u = &m->units[k];
        const double *now = m->inputs + u->start;
        const int kind = again && u->count ? assumed(m, u, now) : PL_ROW_WHOLE;
        if (kind)
            pl_log_delivered(u, now, kind);
        else
            pl_log_inputs(u, t1, now);
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

/* How many steps there is room for to log. */
static int64_t room(const pl_coupling *m, int counted)
{
    int64_t found = INT64_MAX;

    for (int k = 0; k < m->n_units; k++) {
        const int64_t left = m->units[k].capacity - m->units[k].count;
        if (left < found) found = left;
    }
    for (int i = 0; counted && i < m->run->system->n_rates; i++) {
        const pl_buffer *b = &m->run->log->ticks[i];
        if (b->width && b->capacity - b->count < found) found = b->capacity - b->count;
    }
    return found;
}

/* A row of samples that are held, in a buffer with room; 0 where one is not finite. */
PL_INLINE int log_held(pl_run *r, pl_buffer *b, double t)
{
    const double *h = r->context->h;
    double *row = b->rows + b->count * (b->width + 1), zero = 0.0; /* as in pl_all_finite */

    row[0] = t;
    for (int i = 0; i < b->width; i++) {
        const double x = h[b->held[i]];
        row[1 + i] = x;
        zero += x * 0.0;
    }
    if (zero != 0.0) return 0;
    b->count++;
    r->last_good = t;
    return 1;
}

static int count_ticks(pl_coupling *m)
{
    pl_run *r = m->run;
    int left = 0;

    for (int i = 0; i < r->system->n_rates; i++) {
        pl_buffer *b = &r->log->ticks[i];
        pl_count_tick(r, i, m->t1);
        r->due[i] = b->width && !(b->held && log_held(r, b, m->t1));
        left |= r->due[i];
    }
    return left ? pl_log_ticks(r) : PL_DONE;
}

int pl_steady_steps(pl_coupling *m, double until)
{
    pl_run *r = m->run;
    const int counted = counts_points(m);
    const double end = free_until(m, until, counted);
    const int64_t first = m->units->first, period = m->units->period;
    int64_t left = room(m, counted);

    m->quiet = !counted;
    for (int again = 0;; again = 1) {
        m->t1 = pl_time_at(first + m->units->points * period, m->grid);
        if (!(m->t1 < end) || r->cancel || r->budget <= 0 || left-- <= 0) return PL_DONE;
        r->budget--;
        if (m->newest && again)
            pl_keep_outputs(m, 0);
        else if (m->newest)
            pl_keep_ours(m, 0, 0);
        int reason = step_units(m);
        if (reason) return reason;
        m->phase = PL_DELIVER;
        reason = deliver(m, again);
        if (!reason && counted) reason = count_ticks(m);
        if (reason) return reason;
        m->phase = PL_BEGIN;
    }
}
