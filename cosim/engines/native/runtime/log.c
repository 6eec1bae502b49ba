/* What a run keeps, in buffers of the host. */

#include "log.h"

#include "evaluate.h"
#include "invariants.h"
#include "norms.h"
#include "step.h"

#include <math.h>

static const double SNAP = 1e-12; /* relative; a log time this close to a stop is that stop */

static void evaluate(pl_run *r, const pl_buffer *b, double t, const double *x)
{
    pl_set_arguments(r, t, x);
    for (int i = 0; i < b->n_pieces; i++) r->model->signals[b->pieces[i]](&r->a, r->y);
    const int nx = r->model->nx, nh = r->model->nh, ny = r->model->ny;
    for (int i = 0; i < b->n_inner; i++) {
        const int k = b->inner[i] - ny;
        r->y[ny + k] = k < nx ? r->a.x[k] : k < nx + nh ? r->a.h[k - nx] : r->a.p[k - nx - nh];
    }
}

/* Numbers into a row; false where one is not finite. */
static int gather(const pl_run *r, const pl_buffer *b, double *row)
{
    double zero = 0.0; /* as in pl_all_finite */

    for (int i = 0; i < b->width; i++) {
        const double x = r->y[b->places[i]];
        row[i] = x;
        zero += x * 0.0;
    }
    return zero == 0.0;
}

void pl_evaluate_signals(pl_run *r, const pl_buffer *b, double *row)
{
    pl_update_constants(r);
    evaluate(r, b, r->context->t, r->context->x);
    gather(r, b, row);
}

static int full(const pl_buffer *b) { return b->count >= b->capacity; }

/* Write a row; false where something in it is not finite. */
static int write_row(pl_run *r, pl_buffer *b, double t)
{
    double *row = b->rows + b->count * (b->width + 1);
    row[0] = t;
    if (!gather(r, b, row + 1)) return 0;
    b->count++;
    r->last_good = t;
    return 1;
}

int pl_log_within(pl_run *r)
{
    pl_log *l = r->log;
    if (l->every_step) return PL_DONE;
    const double edge = r->t1 - SNAP * fabs(r->t1);
    while (l->position < l->n_times && l->times[l->position] < edge) {
        if (full(&l->log)) return PL_FULL;
        const double t = l->times[l->position], inside = r->t0 > t ? r->t0 : t;
        const double *x = r->context->x;
        if (r->model->nx) {
            pl_interpolate(r, inside, r->scratch);
            if (r->system->n_invariants) pl_project(r, inside, r->scratch);
            x = r->scratch;
        }
        evaluate(r, &l->log, inside, x);
        if (!write_row(r, &l->log, t)) {
            const int nx = r->model->nx;
            const int ends = pl_all_finite(r->integrated1, nx) && (!r->end_known || pl_all_finite(r->f1, nx));
            const int here = x != r->scratch || pl_all_finite(x, nx) || ends; /* inside it may overflow alone */
            return here ? pl_not_finite_at(r, inside, x) : pl_not_finite_at(r, r->end, r->integrated1);
        }
        l->position++;
    }
    return PL_DONE;
}

static int is_due(const pl_run *r, double t)
{
    const pl_log *l = r->log;
    if (l->every_step) return 1;
    return l->position < l->n_times && l->times[l->position] <= t + SNAP * fabs(t);
}

/* A stop event ended the run here: the end is the last row, asked for or not. */
static int ends(const pl_run *r) { return r->context->stopped && !r->log->every_step; }

/* An instant asked for was logged here: the end takes its row, which may be from just before the event. */
static int replaces(const pl_run *r, double t)
{
    const pl_log *l = r->log;
    return l->log.count > 0 && l->position > 0 && l->times[l->position - 1] >= t - SNAP * fabs(t);
}

int pl_log_ticks(pl_run *r)
{
    const double t = r->context->t;
    const int both = is_due(r, t) || ends(r); /* the log's signals contain those of every rate */
    int known = 0;

    for (int i = 0; i < r->system->n_rates; i++) {
        pl_buffer *b = &r->log->ticks[i];
        if (!r->due[i]) continue;
        if (b->width) {
            if (full(b)) {
                r->index = i;
                return PL_FULL_TICKS;
            }
            if (!known) evaluate(r, both ? &r->log->log : b, t, r->context->x);
            known = both;
            if (!write_row(r, b, t)) return pl_not_finite_at(r, t, r->context->x);
        }
        r->due[i] = 0;
    }
    if (both && !known) evaluate(r, &r->log->log, t, r->context->x);
    return PL_DONE;
}

int pl_log_step(pl_run *r, double t, const double *x)
{
    if (!r->log->every_step) return PL_DONE;
    if (full(&r->log->log)) return PL_FULL;
    evaluate(r, &r->log->log, t, x);
    return write_row(r, &r->log->log, t) ? PL_DONE : pl_not_finite_at(r, t, x);
}

int pl_log_instant(pl_run *r)
{
    pl_log *l = r->log;
    const double t = r->context->t;
    if (l->every_step) {
        if (full(&l->log)) return PL_FULL;
        return write_row(r, &l->log, t) ? PL_DONE : pl_not_finite_at(r, t, r->context->x);
    }
    while (is_due(r, t)) {
        if (full(&l->log)) return PL_FULL;
        if (!write_row(r, &l->log, l->times[l->position])) return pl_not_finite_at(r, t, r->context->x);
        l->position++;
    }
    if (!ends(r)) return PL_DONE;
    const int again = replaces(r, t);
    if (again) l->log.count--;
    if (full(&l->log)) return PL_FULL;
    return write_row(r, &l->log, again ? l->times[l->position - 1] : t) ? PL_DONE : pl_not_finite_at(r, t, r->context->x);
}
