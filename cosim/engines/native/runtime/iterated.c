/* The rules and the order of operations are those of cosim/fmi/coupling/fixed_point.py. */

#include "iterated.h"

#include "curves.h"
#include "exchange.h"
#include "fmu_values.h"
#include "rollback.h"
#include "units.h"

#include <math.h>
#include <string.h>

enum { ROUNDS = 100, PATIENT = 20, LEVEL = 1, NEWTON = 2, DISCARD = 2 };

static const double AGREED = 1e-10, AGREED_ABSOLUTE = 1e-12; /* relative to the outputs, and absolute */
static const double AGREED_SINGLE = 0x1p-21;                 /* relative, after PATIENT rounds */
static const double PERTURBED = 1e-6, SINGULAR = 1e-14, FLAT = 1e-30;

/* Vectors (n,) of an iterated step, and for Newton's method matrices (n, n). */
typedef struct {
    int n;
    double *y, *found, *scale, *before, *residual, *moved, *column, *row;
    double *matrix, *inverse;
} numbers;

static numbers room_of(const pl_coupling *m, int n)
{
    double *v = m->iterated;
    return (numbers){n, v, v + n, v + 2 * n, v + 3 * n, v + 4 * n, v + 5 * n, v + 6 * n, v + 7 * n,
                     v + 8 * n, v + 8 * n + (size_t)n * (size_t)n};
}

/* Has a call of the unit failed, so that the host says why? */
static int has_failed(const pl_fmu_unit *u, int reason)
{
    if (reason != PL_UNIT_STEPPED && reason != PL_UNIT_VISIT) return 0;
    if (u->events && u->events->failed > PL_FAILED_STEP) return 1;
    return reason == PL_UNIT_STEPPED && (!u->events || u->events->failed) && pl_went_wrong(u->status) &&
           u->status != DISCARD;
}

int pl_give_up(pl_coupling *m, int level, int reason)
{
    pl_run *r = m->run;
    const pl_log *l = r->log;
    int refused = 0, helps = reason == PL_CANCELLED || reason == PL_FULL_EVENTS;

    pl_ours_back(m, level);
    if (has_failed(&m->units[m->unit], reason)) {
        helps = 1; /* it is asked no more */
        reason = PL_UNIT_STEPPED;
    } else {
        for (int k = 0; k < m->n_units; k++)
            if (m->units[k].arriving) refused |= pl_unit_back(&m->units[k], level);
    }
    if (reason == PL_FULL) helps = l->log.count > 0; /* else it would be full again */
    if (reason == PL_FULL_TICKS) helps = l->ticks[r->index].count > 0;
    r->approach = 0;
    pl_reset(r);
    m->phase = 0;
    return helps && !refused ? reason : PL_UNITS_HOST;
}

static int approach(pl_coupling *m)
{
    pl_run *r = m->run;

    if (m->quiet || !(m->t1 > r->context->t)) {
        if (m->quiet) r->context->t = m->t1;
        return PL_DONE;
    }
    pl_reset(r);
    r->approach = 1;
    const int reason = pl_advance(r, m->t1);
    if (reason != PL_DONE && reason != PL_APPROACHED) return reason;
    r->approach = 0;
    return r->context->stopped ? PL_UNITS_HOST : PL_DONE;
}

/* The outputs of a unit lead to some values at the end of the step. */
static void lead_to(pl_coupling *m, const pl_fmu_unit *u, const double *values, const pl_samples *older)
{
    pl_curve c = pl_curve_in(pl_output_room(m), u->out.n);

    pl_between(&c, m->t1, values, older, m->order, u->smooth_outputs);
    pl_write_curve(m, u, c.t0, c.value);
}

static int step_unit(pl_coupling *m, pl_fmu_unit *u, double *found)
{
    const size_t n = (size_t)u->u.n;
    pl_curve c = {0.0, u->value, u->bend, u->curve};
    int reason = m->newest ? pl_read_inputs(m, m->t1) : PL_DONE;

    if (reason) return reason;
    memcpy(u->assumed, m->inputs + u->start, sizeof(double) * n);
    pl_between(&c, m->t1, u->assumed, &u->u, m->order, u->smooth_inputs);
    reason = pl_step_unit(u, m->t1, 1);
    if (!reason) reason = pl_unit_arrived(u);
    if (reason) return reason;
    if (u->ended) return PL_UNITS_HOST;
    for (int i = 0; i < u->out.n; i++) {
        found[u->part + i] = u->fresh[i];
        if (!isfinite(u->fresh[i])) return PL_UNITS_HOST;
    }
    if (m->newest) {
        const pl_kept_unit *k = &u->kept[LEVEL];
        pl_samples older = {u->out.n, k->n_out, u->out.most, {0}, k->values + PL_SAMPLES * n};
        memcpy(older.time, k->out_time, sizeof(older.time));
        lead_to(m, u, u->fresh, &older);
    }
    if (u->events && u->events->jumped) u->out.count = 1;
    return PL_DONE;
}

/* F(y): everything is rolled back, and the step made with outputs that end at y. */
static int deliver(pl_coupling *m, const double *y, double *found)
{
    m->rounds++;
    pl_ours_back(m, LEVEL);
    for (int k = 0; k < m->n_units; k++)
        if (m->units[k].arriving && pl_unit_back(&m->units[k], LEVEL)) return PL_UNITS_HOST;
    for (int k = 0; k < m->n_units; k++) {
        const pl_fmu_unit *u = &m->units[k];
        if (u->arriving) lead_to(m, u, y + u->part, &u->out);
    }
    int reason = approach(m);
    if (!reason && !m->newest) reason = pl_read_inputs(m, m->t1);
    for (int i = 0; !reason && i < m->n_sequence; i++) {
        const int k = m->sequence[i];
        if (k < 0 || !m->units[k].arriving) continue;
        m->unit = k;
        reason = step_unit(m, &m->units[k], found);
    }
    return reason;
}

static void largest(const pl_samples *s, double *out)
{
    for (int i = 0; i < s->n; i++) {
        out[i] = fabs(s->values[i]);
        for (int k = 1; k < s->count; k++) {
            const double size = fabs(s->values[k * s->n + i]);
            if (size > out[i]) out[i] = size;
        }
    }
}

/* Outputs extrapolated to the end. */
static void guess(pl_coupling *m, double *y)
{
    const int order = m->order > 1 ? m->order : 1;

    for (int k = 0; k < m->n_units; k++) {
        const pl_fmu_unit *u = &m->units[k];
        if (!u->arriving) continue;
        pl_curve c = pl_curve_in(pl_output_room(m), u->out.n);
        pl_through(&c, &u->out, order, u->smooth_outputs);
        for (int i = 0; i < u->out.n; i++) y[u->part + i] = pl_curve_at(&c, i, m->t1);
    }
}

static int agree(const pl_coupling *m, const numbers *v, int round)
{
    const double agreed = round >= PATIENT && m->single ? AGREED_SINGLE : AGREED;

    for (int i = 0; i < v->n; i++) {
        const double size = fabs(v->found[i]);
        const double allowed = agreed * (v->scale[i] > size ? v->scale[i] : size) + AGREED_ABSOLUTE;
        if (!(fabs(v->found[i] - v->y[i]) <= allowed)) return 0;
    }
    return 1;
}

static void swap_rows(double *a, int n, int i, int j)
{
    if (i == j) return;
    for (int k = 0; k < n; k++) {
        const double x = a[i * n + k];
        a[i * n + k] = a[j * n + k];
        a[j * n + k] = x;
    }
}

/* Gauss-Jordan elimination with the largest pivot of a column; not 0 where one is too small. */
static int invert(double *a, double *inverse, int n)
{
    double most = 0.0;

    for (int i = 0; i < n * n; i++)
        if (fabs(a[i]) > most) most = fabs(a[i]);
    for (int i = 0; i < n * n; i++) inverse[i] = i % (n + 1) == 0;
    for (int i = 0; i < n; i++) {
        int p = i;
        for (int j = i + 1; j < n; j++)
            if (fabs(a[j * n + i]) > fabs(a[p * n + i])) p = j;
        if (!(fabs(a[p * n + i]) > SINGULAR * most)) return 1;
        swap_rows(a, n, i, p);
        swap_rows(inverse, n, i, p);
        const double pivot = a[i * n + i];
        for (int k = 0; k < n; k++) a[i * n + k] /= pivot, inverse[i * n + k] /= pivot;
        for (int j = 0; j < n; j++) {
            const double f = a[j * n + i];
            if (j == i) continue;
            for (int k = 0; k < n; k++) {
                a[j * n + k] -= f * a[i * n + k];
                inverse[j * n + k] -= f * inverse[i * n + k];
            }
        }
    }
    return 0;
}

/* The inverse of I - dF/dy, by differences. */
static int differences(pl_coupling *m, const numbers *v)
{
    const int n = v->n;

    for (int i = 0; i < n; i++) {
        double size = v->scale[i] > fabs(v->y[i]) ? v->scale[i] : fabs(v->y[i]);
        if (size < PERTURBED) size = PERTURBED;
        memcpy(v->moved, v->y, sizeof(double) * (size_t)n);
        v->moved[i] += PERTURBED * size;
        const int reason = deliver(m, v->moved, v->column);
        if (reason) return reason;
        const double h = v->moved[i] - v->y[i];
        for (int j = 0; j < n; j++) v->matrix[j * n + i] = (j == i) - (v->column[j] - v->found[j]) / h;
    }
    return invert(v->matrix, v->inverse, n) ? PL_UNITS_HOST : PL_DONE;
}

static void multiply(const double *matrix, const double *v, int n, double *out)
{
    for (int i = 0; i < n; i++) {
        out[i] = 0.0;
        for (int j = 0; j < n; j++) out[i] = out[i] + matrix[i * n + j] * v[j];
    }
}

/* Broyden's good update after y went from `before` and the residual changed. */
static void update(const numbers *v)
{
    const int n = v->n;
    double below = 0.0;

    for (int i = 0; i < n; i++) v->column[i] = v->residual[i] - (v->found[i] - v->y[i]);
    multiply(v->inverse, v->column, n, v->moved);
    for (int i = 0; i < n; i++) below = below + (v->y[i] - v->before[i]) * v->moved[i];
    if (fabs(below) <= FLAT) return;
    for (int j = 0; j < n; j++) {
        v->row[j] = 0.0;
        for (int i = 0; i < n; i++) v->row[j] = v->row[j] + v->inverse[i * n + j] * (v->y[i] - v->before[i]);
    }
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            v->inverse[i * n + j] += (v->y[i] - v->before[i] - v->moved[i]) * v->row[j] / below;
}

static int solve(pl_coupling *m, const numbers *v)
{
    const int n = v->n, newton = m->iterate == NEWTON;
    int reason;

    guess(m, v->y);
    reason = deliver(m, v->y, v->found);
    for (int round = 0; !reason && round < ROUNDS; round++) {
        if (agree(m, v, round)) return PL_DONE;
        if (newton) {
            if (round == 0 && (reason = differences(m, v)) != 0) return reason;
            for (int i = 0; i < n; i++) v->before[i] = v->y[i], v->residual[i] = v->found[i] - v->y[i];
            multiply(v->inverse, v->residual, n, v->column);
            for (int i = 0; i < n; i++) v->y[i] = v->y[i] + v->column[i];
            reason = deliver(m, v->y, v->found);
            if (!reason) update(v);
        } else {
            memcpy(v->y, v->found, sizeof(double) * (size_t)n);
            reason = deliver(m, v->y, v->found);
        }
    }
    return reason ? reason : PL_UNITS_HOST; /* it does not settle: the host says so */
}

int pl_iterate(pl_coupling *m)
{
    pl_run *r = m->run;
    const int64_t rounds = m->rounds, budget = r->budget;
    int n = 0, reason = PL_DONE;

    if (!m->goes_back) return PL_UNITS_HOST;
    pl_keep_ours(m, LEVEL, !m->quiet);
    for (int k = 0; k < m->n_units; k++) {
        pl_fmu_unit *u = &m->units[k];
        if (!u->arriving) continue;
        u->part = n, n += u->out.n;
        reason |= pl_keep_unit(u, LEVEL);
    }
    if (reason) return PL_UNITS_HOST; /* nothing has been done yet */
    const numbers v = room_of(m, n);
    for (int k = 0; k < m->n_units; k++)
        if (m->units[k].arriving) largest(&m->units[k].out, v.scale + m->units[k].part);
    r->budget = INT64_MAX / 2; /* it is not left in the middle */
    reason = solve(m, &v);
    r->budget = budget - (INT64_MAX / 2 - r->budget);
    if (!reason) return PL_DONE;
    m->rounds = rounds;
    return pl_give_up(m, LEVEL, reason);
}
