#include "macro_step.h"

#include "curves.h"
#include "exchange.h"
#include "direct_feedthrough.h"
#include "fmu_values.h"
#include "held_step.h"
#include "instants.h"
#include "iterated.h"
#include "units.h"

#include <math.h>
#include <string.h>

enum { OURS = -1 };

static const double SNAP = 1e-12; /* of log times, as in log.c */

static int log_is_due(const pl_log *l, double t)
{
    return l->every_step || (l->position < l->n_times && l->times[l->position] <= t + SNAP * fabs(t));
}

static int is_iterated(pl_coupling *m)
{
    int arriving = 0, begins = 0;

    for (int k = 0; k < m->n_units; k++) {
        const pl_fmu_unit *u = &m->units[k];
        arriving |= u->arriving;
        begins |= u->arriving && u->u.count < 2;
    }
    return arriving && (m->iterate || (m->begins_iterated && begins));
}

void pl_begin_macro_step(pl_coupling *m, double t1)
{
    pl_run *r = m->run;

    m->t1 = t1;
    m->events = r->counters.events;
    m->instants = pl_instants_passed(r);
    m->quiet = m->idle && !log_is_due(r->log, t1) && (!pl_has_stops(r) || pl_next_stop(r) > t1);
    m->place = m->ours_done = 0;
    m->begun = r->context->t;
    m->phase = m->n_direct ? PL_KEEP : PL_NEXT_IN_ORDER;
    if ((m->iterate || m->begins_iterated) && is_iterated(m)) m->phase = PL_ITERATE;
}

/* The inputs that a unit gets over the step. */
static int step_unit(pl_coupling *m, pl_fmu_unit *u)
{
    pl_curve c = {0.0, u->value, u->bend, u->curve};
    const int n = u->u.n;

    if (!m->newest) {
        pl_through(&c, &u->u, m->order, u->smooth_inputs);
        for (int i = 0; i < n; i++) u->assumed[i] = pl_curve_at(&c, i, m->t1);
        return pl_step_unit(u, m->t1, 0);
    }
    const int reason = pl_read_inputs(m, m->t1);
    if (reason) return reason;
    memcpy(u->assumed, m->inputs + u->start, sizeof(double) * (size_t)n);
    if (!m->ours_done) { /* our states are still those of the beginning */
        pl_through(&c, &u->u, m->order, u->smooth_inputs);
        for (int i = 0; i < n; i++)
            if (u->late[i]) u->assumed[i] = pl_curve_at(&c, i, m->t1);
    }
    pl_between(&c, m->t1, u->assumed, &u->u, m->order, u->smooth_inputs);
    return pl_step_unit(u, m->t1, 1);
}

static int deliver(pl_coupling *m);
static int sample(pl_coupling *m);

/* The whole step, in one, where nothing is extrapolated and our own blocks have nothing to do; where a unit needs the
   host the phases take over. */
static int quick_step(pl_coupling *m)
{
    while (m->place < m->n_sequence) {
        m->unit = m->sequence[m->place++];
        if (m->unit == OURS) {
            m->run->context->t = m->t1;
            m->ours_done = 1;
            continue;
        }
        pl_fmu_unit *u = &m->units[m->unit];
        if (!u->arriving) continue;
        m->phase = PL_ARRIVED;
        int reason = pl_hold_inputs(m, u);
        if (!reason) reason = pl_step_unit_held(u, m->t1);
        if (reason) return reason;
        if (m->newest) pl_write_held(m, u, u->out.time[0]);
    }
    m->phase = PL_DELIVER;
    const int reason = deliver(m);
    return reason ? reason : sample(m);
}

static int is_quick(const pl_coupling *m)
{
    return m->quiet && !m->order && !m->place && !m->with_events && !m->n_direct;
}

static int next_in_order(pl_coupling *m)
{
    if (m->place >= m->n_sequence) {
        m->phase = m->n_direct ? PL_AGAIN : PL_DELIVER;
        return PL_DONE;
    }
    m->unit = m->sequence[m->place++];
    if (m->unit == OURS) {
        m->phase = PL_APPROACH;
        for (int k = 0; k < m->n_units; k++)
            if (m->units[k].ended) return PL_UNITS_ENDED;
        pl_context *c = m->run->context;
        if (m->quiet || !(m->t1 > c->t)) {
            if (m->quiet) c->t = m->t1;
            m->ours_done = 1;
            m->phase = PL_NEXT_IN_ORDER;
            return PL_DONE;
        }
        pl_reset(m->run);
        m->run->approach = 1;
        return PL_DONE;
    }
    if (!m->units[m->unit].arriving) return PL_DONE;
    const int reason = step_unit(m, &m->units[m->unit]);
    m->phase = PL_ARRIVED;
    return reason;
}

/* Its outputs become a curve to their newest values. */
static void lead_on(const pl_coupling *m, const pl_fmu_unit *u)
{
    pl_curve c = pl_curve_in(pl_output_room(m), u->out.n);

    if (!m->order) {
        pl_write_held(m, u, u->out.time[0]);
        return;
    }
    pl_samples older = u->out; /* without the newest */
    older.count--;
    older.values += older.n;
    memmove(older.time, older.time + 1, sizeof(double) * (PL_SAMPLES - 1));
    pl_between(&c, m->t1, u->out.values, &older, m->order, u->smooth_outputs);
    pl_write_curve(m, u, c.t0, c.value);
}

static void forget(pl_samples *s)
{
    if (s->count > 1) s->count = 1;
}

static int arrived(pl_coupling *m)
{
    pl_fmu_unit *u = &m->units[m->unit];
    const int reason = pl_unit_arrived(u);

    if (reason) return reason;
    m->phase = PL_NEXT_IN_ORDER;
    if (m->newest && !u->ended) lead_on(m, u);
    if (u->events && u->events->jumped) forget(&u->out);
    return m->newest && u->ended ? PL_UNITS_ENDED : PL_DONE;
}

/* The outputs of a unit from here on. */
static void extrapolate(const pl_coupling *m, const pl_fmu_unit *u)
{
    if (!m->order) {
        pl_write_held(m, u, u->out.time[0]);
        return;
    }
    pl_curve c = pl_curve_in(pl_output_room(m), u->out.n);
    pl_through(&c, &u->out, m->order, u->smooth_outputs);
    pl_write_curve(m, u, c.t0, c.value);
}

/* Outputs are delivered: what was assumed, and what is. */
static int deliver(pl_coupling *m)
{
    const int jumped = m->run->counters.events > m->events;

    const int as_they_are = m->quiet && !m->order; /* what is held is the same for all times */

    for (int k = 0; k < m->n_units; k++)
        if (m->units[k].arriving) pl_write_held(m, &m->units[k], as_they_are ? m->units[k].out.time[0] : m->t1);
    const int reason = pl_read_inputs(m, m->t1);
    if (reason) return reason;
    for (int k = 0; k < m->n_units; k++) {
        pl_fmu_unit *u = &m->units[k];
        if (!u->arriving) continue;
        if (u->events) /* what it gets in visits, not over the step */
            for (int i = 0; i < u->events->n_given; i++)
                u->assumed[u->events->given[i]] = m->inputs[u->start + u->events->given[i]];
        pl_log_inputs(u, m->t1, m->inputs + u->start);
        if (jumped) forget(&u->out);
        if (!as_they_are) extrapolate(m, u);
    }
    m->phase = PL_ARRIVE;
    return PL_DONE;
}

/* What visits at this instant have changed: outputs, and whether any have jumped. */
static int visited(pl_coupling *m)
{
    int jumped = 0;

    for (int k = 0; k < m->n_units; k++) {
        const pl_fmu_unit *u = &m->units[k];
        if (!u->arriving || !u->events) continue;
        if (u->events->visits) extrapolate(m, u);
        jumped |= u->events->jumped;
    }
    return jumped;
}

static int sample(pl_coupling *m)
{
    const int of_units = m->with_events && visited(m);
    const int reason = m->quiet && !m->order ? PL_DONE : pl_read_inputs(m, m->t1);

    if (reason) return reason;
    const int jumped = of_units || m->run->counters.events > m->events || pl_instants_passed(m->run) > m->instants;
    int left = 0;
    for (int k = 0; k < m->n_units; k++) {
        pl_fmu_unit *u = &m->units[k];
        if (!u->arriving && !(u->next <= m->t1)) continue;
        if (u->arriving && jumped) u->u.count = 0;
        pl_add_sample(&u->u, u->time, m->inputs + u->start);
        u->next = NAN;
        left |= u->arriving && u->ended;
    }
    m->macro_steps++;
    m->phase = PL_BEGIN;
    return left ? PL_UNITS_LEFT : PL_DONE;
}

/* Our own blocks go on to t1, or through what happens there. */
static int advance_ours(pl_coupling *m, double t)
{
    const int reason = pl_advance(m->run, t);

    if (reason == PL_CALL && m->visits && m->visits[m->run->index].self) {
        m->unit = (int32_t)((const pl_fmu_unit *)m->visits[m->run->index].self - m->units);
        return PL_UNIT_VISIT;
    }
    if (reason != PL_DONE && reason != PL_APPROACHED) return reason;
    m->run->approach = 0;
    return PL_DONE;
}

int pl_walk_macro_step(pl_coupling *m)
{
    int reason = PL_DONE;

    while (!reason) {
        switch (m->phase) {
        case PL_ITERATE:
            reason = pl_iterate(m);
            m->phase = reason ? PL_BEGIN : PL_DELIVER;
            break;
        case PL_NEXT_IN_ORDER:
            reason = is_quick(m) ? quick_step(m) : next_in_order(m);
            break;
        case PL_KEEP:
            reason = pl_keep_direct(m);
            m->phase = PL_NEXT_IN_ORDER;
            break;
        case PL_AGAIN:
            reason = pl_repeat_direct(m);
            m->phase = PL_DELIVER;
            break;
        case PL_ARRIVED: reason = arrived(m); break;
        case PL_APPROACH:
            reason = advance_ours(m, m->t1);
            if (reason) break;
            m->ours_done = 1;
            m->phase = PL_NEXT_IN_ORDER;
            break;
        case PL_DELIVER: reason = deliver(m); break;
        case PL_ARRIVE:
            if (!m->quiet) {
                reason = advance_ours(m, m->run->context->t);
                if (reason) break;
                pl_reset(m->run);
            }
            m->phase = PL_SAMPLE;
            break;
        case PL_SAMPLE: reason = sample(m); break;
        default: return PL_DONE;
        }
    }
    return reason;
}
