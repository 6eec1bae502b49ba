/* Time on the grid, and everything that happens at an instant before its events. */

#include "instants.h"

#include "algebraic.h"
#include "draws.h"
#include "evaluate.h"
#include "event_loops.h"
#include "invariants.h"
#include "norms.h"

#include <math.h>
#include <string.h>

static const double SAME_INSTANT = 1e-12; /* relative; times closer than this are one instant */
static const double NEVER = 1e30; /* s; the time of an event that does not come */

/* The quotient of integers too long for a double, rounded once: 56 or more bits of it, the last of which says
   whether anything is left, are rounded by the conversion. position >= 0, grid > 0. */
static double long_quotient(int64_t position, int64_t grid)
{
    int64_t quotient = position / grid, left = position % grid;
    int shift = 0;

    for (; quotient < (int64_t)1 << 55 && (quotient || left); shift++) {
        const int one = left >= grid - left;
        left = one ? left - (grid - left) : left + left;
        quotient = 2 * quotient + one;
    }
    return ldexp((double)(quotient | (left != 0)), -shift);
}

double pl_seconds(int64_t position, int64_t grid)
{
    const int64_t exact = (int64_t)1 << 53;
    if (position <= exact && grid <= exact) return (double)position / (double)grid;
    return long_quotient(position, grid);
}

static double tick_time(const pl_run *r, int rate)
{
    const pl_system *s = r->system;
    const pl_context *c = r->context;
    return c->origin + pl_seconds(s->first[rate] + c->ticks[rate] * s->period[rate], s->grid);
}

int pl_has_stops(const pl_run *r)
{
    const pl_system *s = r->system;
    return s->n_rates || s->n_instants || s->n_event_times || r->context->n_stops;
}

int64_t pl_instants_passed(const pl_run *r)
{
    int64_t done = 0;
    for (int i = 0; i < r->system->n_lists; i++) done += r->context->instants[i];
    return done;
}

static double listed(const pl_run *r)
{
    double stop = INFINITY;
    const int64_t done = pl_instants_passed(r);
    if (done < r->system->n_instants && r->system->instant_time[done] < stop)
        stop = r->system->instant_time[done];
    for (int64_t i = 0; i < r->context->n_stops; i++)
        if (r->context->stops[i] > r->context->t && r->context->stops[i] < stop) stop = r->context->stops[i];
    return stop;
}

double pl_one_instant(double begin, double stop)
{
    return isfinite(stop) ? 1e-12 * (stop - begin) + 0x1p-50 * fabs(stop) : 0.0;
}

/* The event to come, where that is before a stop, else the stop: it is there. */
static double next_event_or(const pl_run *r, double stop)
{
    double first = INFINITY;
    for (int i = 0; i < r->system->n_event_times; i++) {
        const double t = r->context->h[r->system->event_time_place[i]];
        if (t > r->context->t && t < first && t < NEVER) first = t;
    }
    return first < stop - pl_one_instant(r->context->t, stop) ? first : stop;
}

double pl_next_stop(const pl_run *r)
{
    double stop = listed(r);
    for (int i = 0; i < r->system->n_rates; i++) {
        const double t = tick_time(r, i);
        if (t < stop) stop = t;
    }
    return next_event_or(r, stop);
}

double pl_next_listed(const pl_run *r) { return next_event_or(r, listed(r)); }

/* Steps 1 and 2 of an instant. */
void pl_count_ticks(pl_run *r, double t)
{
    const pl_system *s = r->system;
    pl_context *c = r->context;

    c->t = t;
    for (int64_t done = pl_instants_passed(r); done < s->n_instants && s->instant_time[done] <= t; done++) {
        c->h[s->instant_place[done]] += 1;
        pl_all_changed(r);
        c->instants[s->instant_list[done]]++;
    }
    for (int i = 0; i < s->n_rates; i++) {
        r->due[i] = tick_time(r, i) <= t;
        if (!r->due[i]) continue;
        pl_count_tick(r, i, t);
        for (int j = s->discrete_start[i]; j < s->discrete_start[i + 1]; j++)
            c->h[s->discrete[j]] = c->next[s->discrete[j]];
    }
    pl_begin_loops(r);
    for (int i = 0; i < s->n_draws; i++)
        if (r->due[s->draw_rate[i]]) pl_draw(r, i);
}

/* Has something else than the host answered an external segment, whose argument is in r->out? */
static int is_answered(pl_run *r, int i)
{
    const pl_foreign *f = r->visits ? r->visits + i : 0;

    return f && f->call && pl_all_finite(r->out, r->system->segment_size[i]) && !f->call(f->self, r->out);
}

int pl_timed_event_due(const pl_run *r, int segment)
{
    const pl_system *s = r->system;

    for (int i = 0; i < s->n_event_times; i++) {
        const double time = r->context->h[s->event_time_place[i]];
        if (s->timed_segment[s->event_time_event[i]] != segment) continue;
        if (time <= r->context->t + SAME_INSTANT * fmax(1.0, fabs(time))) return 1;
    }
    return 0;
}

/* May a crossing that follows timed events have left the side that is stored? */
static int follows(pl_run *r, int segment)
{
    const pl_system *s = r->system;
    const int32_t *events = s->follow + s->follow_start[segment]; /* what they read in a loop stands behind them */
    const int n = s->follow_start[segment + 1] - s->follow_start[segment];

    if (!n) return 0;
    pl_set_arguments(r, r->context->t, r->context->x);
    r->model->segments[segment](&r->a, r->out);
    for (int k = 0; k < n; k++)
        if (!(r->out[k] * r->context->signs[events[k]] > s->threshold[events[k]])) return 1;
    return 0;
}

/* Steps 3 and 4: the segments of the rates that hit, in the order of the schedule. */
int pl_run_segments(pl_run *r)
{
    const pl_system *s = r->system;
    pl_context *c = r->context;

    for (; r->segment < s->n_segments; r->segment++) {
        const int i = r->segment;
        if (r->again ? !s->segment_again[i] : s->segment_rate[i] >= 0 && !r->due[s->segment_rate[i]])
            continue; /* rate -1: at every instant */
        if (s->segment_asked[i] >= 0 && c->h[s->segment_asked[i]] < 0.5) continue;
        if (s->segment_kind[i] == PL_EVENTS) {
            if (!pl_timed_event_due(r, i) && !follows(r, i)) continue;
            r->segment++;
            return PL_EVENTS_DUE;
        }
        pl_set_arguments(r, c->t, c->x);
        r->index = i;
        if (s->segment_kind[i] == PL_SOLVE) {
            const int reason = pl_solve_segment(r, i);
            if (reason) return reason;
            pl_all_changed(r);
            continue;
        }
        r->model->segments[i](&r->a, r->out);
        const int32_t *places = s->segment_writes + s->segment_start[i];
        if (s->segment_kind[i] == PL_EXTERNAL) {
            if (is_answered(r, i)) {
                pl_set_held(r, places, r->out, s->segment_start[i + 1] - s->segment_start[i]);
                continue;
            }
            r->segment++; /* the host writes what the block returns, then calls again */
            return PL_CALL;
        }
        if (!pl_all_finite(r->out, s->segment_size[i])) return PL_NOT_FINITE;
        if (s->segment_kind[i] == PL_UPDATE)
            for (int j = 0; j < s->segment_size[i]; j++) c->next[places[j]] = r->out[j];
        else
            pl_set_held(r, places, r->out, s->segment_size[i]);
        if (s->segment_kind[i] == PL_REPEAT && r->out[0] != 0.0) {
            if (++r->rounds >= s->segment_limit[i]) return PL_NO_LAST_ROUND;
            r->segment--; /* once more */
            continue;
        }
        r->rounds = 0;
    }
    return PL_DONE;
}

/* Invariants hold, and modes that depend on where the run starts have their values. */
int pl_initialise(pl_run *r)
{
    const pl_system *s = r->system;
    pl_context *c = r->context;

    c->started = 1;
    if (s->n_invariants) pl_project(r, c->t, c->x);
    int changed = s->n_starting > 0;
    for (int round = 0; changed && round <= s->n_starting; round++) { /* one may depend on another */
        pl_set_arguments(r, c->t, c->x);
        if (r->unsolved) return PL_NO_SOLUTION;
        r->model->starting(&r->a, r->out);
        pl_all_changed(r);
        changed = 0;
        for (int i = 0; i < s->n_starting; i++) {
            changed |= c->h[s->starting[i]] != r->out[i];
            c->h[s->starting[i]] = r->out[i];
        }
    }
    return PL_DONE;
}
