/* A co-simulation master: units step from communication point to communication point, our own blocks between them.

   The rules and the order of operations are those of cosim/fmi/coupling/macro_step.py. pl_couple is a state machine
   like pl_advance: it comes back where the host is needed, and goes on where it stood. */

#include "curves.h"
#include "evaluate.h"
#include "plantloop.h"
#include "units.h"

#include <math.h>
#include <string.h>

/* Phases of a step: */
enum { BEGIN = 0, NEXT_IN_ORDER, ARRIVED, APPROACH, DELIVER, ARRIVE, SAMPLE };

enum { OURS = -1 };

static const double SNAP = 1e-12; /* of log times, as in log.c */

/* --- our own blocks at the beginning of a step --- */
typedef struct {
    double *values;
    int n;
} piece;

enum { PIECES = 6 };

/* What changes in a context over a step, but for counts. */
static void pieces(const pl_coupling *m, piece *found)
{
    const pl_run *r = m->run;
    const pl_context *c = r->context;
    const int all = !m->quiet;

    found[0] = (piece){c->h, r->model->nh};
    found[1] = (piece){c->x, all * r->model->nx};
    found[2] = (piece){c->w, all * r->model->nw};
    found[3] = (piece){c->next, all * r->model->nh};
    found[4] = (piece){c->signs, all * r->system->n_events};
    found[5] = (piece){c->solution, all * r->system->n_unknowns};
}

static void copy_counts(int64_t *to, const int64_t *from, int n)
{
    for (int i = 0; i < n; i++) to[i] = from[i];
}

static void keep_ours(pl_coupling *m)
{
    const pl_run *r = m->run;
    const pl_context *c = r->context;
    const pl_system *s = r->system;
    double *at = m->kept;
    piece p[PIECES];

    m->kept_context = *c;
    pieces(m, p);
    for (int k = 0; k < PIECES; at += p[k++].n)
        if (p[k].n) memcpy(at, p[k].values, sizeof(double) * (size_t)p[k].n);
    int64_t *counts = (int64_t *)at;
    copy_counts(counts, c->ticks, s->n_rates);
    copy_counts(counts + s->n_rates, c->instants, s->n_lists);
    m->kept_position = r->log->position;
    m->kept_events = r->log->events.used;
    m->kept_counts[0] = r->log->log.taken + r->log->log.count;
    for (int i = 0; i < s->n_rates; i++) m->kept_counts[1 + i] = r->log->ticks[i].taken + r->log->ticks[i].count;
}

void pl_couple_back(pl_coupling *m)
{
    const pl_run *r = m->run;
    pl_context *c = r->context;
    const pl_system *s = r->system;
    const double *at = m->kept;
    piece p[PIECES];

    *c = m->kept_context;
    pieces(m, p);
    for (int k = 0; k < PIECES; at += p[k++].n)
        if (p[k].n) memcpy(p[k].values, at, sizeof(double) * (size_t)p[k].n);
    const int64_t *counts = (const int64_t *)at;
    copy_counts(c->ticks, counts, s->n_rates);
    copy_counts(c->instants, counts + s->n_rates, s->n_lists);
}

/* --- what goes over the wires --- */
static int read_inputs(pl_coupling *m, double t)
{
    pl_run *r = m->run;

    pl_set_arguments(r, t, r->context->x);
    if (r->unsolved) return PL_NO_SOLUTION;
    r->model->unit_inputs(&r->a, m->inputs);
    for (int i = 0; i < m->n_inputs; i++)
        if (!isfinite(m->inputs[i])) return PL_UNITS_NOT_FINITE;
    return PL_DONE;
}

static void write_curve(const pl_coupling *m, const pl_fmu_unit *u, const pl_curve *c)
{
    double *h = m->run->context->h;

    for (int i = 0; i < u->out.n; i++) h[u->y[i]] = c->value[i];
    if (!u->slope) return;
    for (int i = 0; i < u->out.n; i++) h[u->slope[i]] = c->slope[i], h[u->curvature[i]] = c->curvature[i];
    h[u->since] = c->t0;
}

/* Outputs that are held. */
static void write_held(const pl_coupling *m, const pl_fmu_unit *u, double t)
{
    double *h = m->run->context->h;

    for (int i = 0; i < u->out.n; i++) h[u->y[i]] = u->out.values[i];
    if (!u->slope) return;
    for (int i = 0; i < u->out.n; i++) h[u->slope[i]] = h[u->curvature[i]] = 0.0;
    h[u->since] = t;
}

/* Room for a curve of the outputs of a unit, in what is free while none is under way. */
static pl_curve output_curve(const pl_coupling *m, const pl_fmu_unit *u)
{
    double *room = m->inputs + m->units[m->n_units - 1].start + m->units[m->n_units - 1].u.n;
    return (pl_curve){0.0, room, room + u->out.n, room + 2 * u->out.n};
}

/* --- a step --- */
static int log_is_due(const pl_log *l, double t)
{
    return l->every_step || (l->position < l->n_times && l->times[l->position] <= t + SNAP * fabs(t));
}

static int begin(pl_coupling *m, double until)
{
    pl_run *r = m->run;

    m->t1 = until;
    int64_t last = -1; /* units often have the same points */
    double next = 0.0;
    for (int k = 0; k < m->n_units; k++) {
        pl_fmu_unit *u = &m->units[k];
        if (isnan(u->next)) {
            const int64_t place = u->first + (u->points - !u->u.count) * u->period;
            if (place != last) next = pl_seconds(last = place, m->grid);
            u->next = next;
        }
        if (u->next < m->t1) m->t1 = u->next;
    }
    for (int k = 0; k < m->n_units; k++) {
        pl_fmu_unit *u = &m->units[k];
        m->unit = k;
        u->arriving = u->next <= m->t1 && u->u.count;
        if (!u->arriving) continue;
        if (u->count >= u->capacity) return PL_UNITS_FULL;
        if (m->first_by_host && u->u.count < 2) return PL_UNITS_HOST;
    }
    m->events = r->counters.events;
    m->quiet = m->idle && !log_is_due(r->log, m->t1) && (r->system->n_rates == 0 || pl_next_stop(r) > m->t1);
    if (m->newest) keep_ours(m);
    m->place = m->ours_done = 0;
    m->phase = NEXT_IN_ORDER;
    return PL_DONE;
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
    const int reason = read_inputs(m, m->t1);
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

/* The inputs that are held over the step, where nothing is extrapolated. */
static int hold_inputs(pl_coupling *m, pl_fmu_unit *u)
{
    const int n = u->u.n;

    if (m->newest) {
        const int reason = read_inputs(m, m->t1);
        if (reason) return reason;
    }
    const double *now = m->inputs + u->start;
    for (int i = 0; i < n; i++)
        u->value[i] = u->assumed[i] = !m->newest || (u->late[i] && !m->ours_done) ? u->u.values[i] : now[i];
    return PL_DONE;
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
        m->phase = ARRIVED;
        int reason = hold_inputs(m, u);
        if (!reason) reason = pl_step_unit_held(u, m->t1);
        if (reason) return reason;
        if (m->newest) write_held(m, u, u->out.time[0]);
    }
    m->phase = DELIVER;
    const int reason = deliver(m);
    return reason ? reason : sample(m);
}

static int next_in_order(pl_coupling *m)
{
    if (m->place >= m->n_sequence) {
        m->phase = DELIVER;
        return PL_DONE;
    }
    m->unit = m->sequence[m->place++];
    if (m->unit == OURS) {
        m->phase = APPROACH;
        for (int k = 0; k < m->n_units; k++)
            if (m->units[k].ended) return PL_UNITS_ENDED;
        pl_context *c = m->run->context;
        if (m->quiet || !(m->t1 > c->t)) {
            if (m->quiet) c->t = m->t1;
            m->ours_done = 1;
            m->phase = NEXT_IN_ORDER;
            return PL_DONE;
        }
        pl_reset(m->run);
        m->run->approach = 1;
        return PL_DONE;
    }
    if (!m->units[m->unit].arriving) return PL_DONE;
    const int reason = step_unit(m, &m->units[m->unit]);
    m->phase = ARRIVED;
    return reason;
}

static int arrived(pl_coupling *m)
{
    pl_fmu_unit *u = &m->units[m->unit];
    pl_curve c = output_curve(m, u);
    const int reason = pl_unit_arrived(u);

    if (reason) return reason;
    m->phase = NEXT_IN_ORDER;
    if (!m->newest) return PL_DONE;
    if (u->ended) return PL_UNITS_ENDED;
    if (!m->order) {
        write_held(m, u, u->out.time[0]);
        return PL_DONE;
    }
    pl_samples older = u->out; /* without the newest */
    older.count--;
    older.values += older.n;
    memmove(older.time, older.time + 1, sizeof(double) * (PL_SAMPLES - 1));
    pl_between(&c, m->t1, u->out.values, &older, m->order, u->smooth_outputs);
    write_curve(m, u, &c);
    return PL_DONE;
}

static void forget(pl_samples *s)
{
    if (s->count > 1) s->count = 1;
}

/* Outputs are delivered: what was assumed, and what is. */
static int deliver(pl_coupling *m)
{
    const int jumped = m->run->counters.events > m->events;

    const int as_they_are = m->quiet && !m->order; /* what is held is the same for all times */

    for (int k = 0; k < m->n_units; k++)
        if (m->units[k].arriving) write_held(m, &m->units[k], as_they_are ? m->units[k].out.time[0] : m->t1);
    const int reason = read_inputs(m, m->t1);
    if (reason) return reason;
    for (int k = 0; k < m->n_units; k++) {
        pl_fmu_unit *u = &m->units[k];
        if (!u->arriving) continue;
        const int n = u->u.n;
        double *row = u->rows + u->count++ * (1 + 2 * n);
        row[0] = m->t1;
        for (int i = 0; i < n; i++) row[1 + i] = u->assumed[i], row[1 + n + i] = m->inputs[u->start + i];
        if (jumped) forget(&u->u), forget(&u->out);
        if (m->order) {
            pl_curve c = output_curve(m, u);
            pl_through(&c, &u->out, m->order, u->smooth_outputs);
            write_curve(m, u, &c);
        } else if (!as_they_are) {
            write_held(m, u, u->out.time[0]);
        }
    }
    m->phase = ARRIVE;
    return PL_DONE;
}

static int sample(pl_coupling *m)
{
    const int reason = m->quiet && !m->order ? PL_DONE : read_inputs(m, m->t1);

    if (reason) return reason;
    for (int k = 0; k < m->n_units; k++) {
        pl_fmu_unit *u = &m->units[k];
        if (!u->arriving && !(u->next <= m->t1)) continue;
        pl_add_sample(&u->u, u->time, m->inputs + u->start);
        u->next = NAN;
    }
    m->macro_steps++;
    m->phase = BEGIN;
    return PL_DONE;
}

/* Our own blocks go on to t1, or through what happens there. */
static int advance_ours(pl_coupling *m, double t)
{
    const int reason = pl_advance(m->run, t);

    if (reason != PL_DONE && reason != PL_APPROACHED) return reason;
    m->run->approach = 0;
    return PL_DONE;
}

int pl_couple(pl_coupling *m, double until)
{
    pl_run *r = m->run;
    const pl_context *c = r->context;
    int reason = PL_DONE;

    pl_update_constants(r);
    for (; !reason;) {
        switch (m->phase) {
        case BEGIN:
            if (!(c->t < until) || c->stopped) return PL_DONE;
            if (r->cancel) return PL_CANCELLED;
            if (r->budget-- <= 0) return PL_PAUSE;
            reason = begin(m, until);
            break;
        case NEXT_IN_ORDER:
            reason = m->quiet && !m->order && !m->place ? quick_step(m) : next_in_order(m);
            break;
        case ARRIVED: reason = arrived(m); break;
        case APPROACH:
            reason = advance_ours(m, m->t1);
            if (reason) break;
            m->ours_done = 1;
            m->phase = NEXT_IN_ORDER;
            break;
        case DELIVER: reason = deliver(m); break;
        case ARRIVE:
            if (!m->quiet) {
                reason = advance_ours(m, c->t);
                if (reason) break;
                pl_reset(r);
            }
            m->phase = SAMPLE;
            break;
        default: reason = sample(m);
        }
    }
    return reason;
}
