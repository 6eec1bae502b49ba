/* What happens at an instant where crossings change their signs: resets, until no sign changes any more.

   The rules are those of events.py. An event that is due reads the values before any reset of this instant. */

#include "events.h"

#include "crossings.h"
#include "evaluate.h"
#include "event_loops.h"
#include "instants.h"
#include "invariants.h"
#include "norms.h"

#include <math.h>
#include <string.h>

enum { ROUNDS = 100, REPEATS = 1000 };

static const double WINDOW = 1e-9; /* of the time still to go: REPEATS rounds of events within it do not end */
static const double ANEW = 2.0;    /* stored sign of a crossing whose own reset may have changed it */
static const double LAST_BITS = 0x1p-50; /* relative change of a state that counts as its rounding */
static const double JUMP = 1e-6; /* of the largest value of a crossing: what moves it more is a jump */

static int size_of(const pl_system *s, int event) { return s->reset_start[event + 1] - s->reset_start[event]; }

/* Does an event wait for another part of this instant, with its sign as it was? */
static int waits(const pl_run *r, int32_t event)
{
    const pl_system *s = r->system;
    if (r->which == PL_ALL_EVENTS) return 0;
    if (r->which == PL_EVENTS_BEFORE) { /* one event of a block that has a timed one here */
        if (s->timed_segment[event] < 0 || r->context->signs[event] == 0.0) return 0;
        return s->timed[event] || pl_timed_event_due(r, s->timed_segment[event]);
    }
    if (s->timed_segment[event] != r->timed_segment) return 1;
    return s->segment_early[r->timed_segment] && r->context->signs[event] == 0.0; /* at a start after all it reads */
}

/* Is an event due whose crossing has changed its sign? */
static int fires(const pl_run *r, int32_t i)
{
    const pl_system *s = r->system;
    const double now = r->new_signs[i], before = r->context->signs[i];

    if (now == before || before == ANEW || waits(r, i)) return 0;
    if (before == 0.0 && !s->eager[i]) { /* the start of a run, where only a crossing counts */
        const int moving = fabs(pl_crossing(r, i)) <= s->threshold[i] && r->g_rates[i] != 0.0;
        if (!moving) return 0;
    }
    return s->direction[i] == 0 || s->direction[i] == now;
}

/* Crossings that depend on what others due reset wait for them: are there any? Their cycles are in r->behind. */
static int some_wait(pl_run *r)
{
    const pl_system *s = r->system;
    int any = 0;

    if (!s->n_before || r->n_loud < 2) return 0;
    memset(r->candidate, 0, (size_t)s->n_events * sizeof *r->candidate);
    for (int k = 0; k < r->n_loud; k++) any |= r->candidate[r->loud[k]] = fires(r, r->loud[k]);
    if (!any) return 0;
    memset(r->behind, 0, (size_t)s->n_events * sizeof *r->behind);
    for (int k = 0; k < s->n_events; k++) {
        const int32_t i = s->order[k];
        for (int j = s->before_start[i]; j < s->before_start[i + 1]; j++)
            if (r->candidate[s->before[j]] || r->behind[s->loop[s->before[j]]]) r->behind[s->loop[i]] = 1;
    }
    return 1;
}

/* Events due at this instant into r->fired; their new signs are kept. */
static int find_due(pl_run *r)
{
    const pl_system *s = r->system;
    pl_context *c = r->context;

    r->n_fired = 0;
    if (r->events_known) return PL_DONE;
    const int reason = pl_evaluate_crossings(r, c->t, c->x);
    if (r->unsolved) return PL_NO_SOLUTION;
    if (reason) return reason;
    pl_note_farthest(r);
    const int wait = some_wait(r);
    for (int k = 0; k < r->n_loud; k++) {
        const int32_t i = r->loud[k];
        if (r->new_signs[i] == c->signs[i] || waits(r, i)) continue;
        const int due = fires(r, i); /* one that has no sign yet, and is not due, takes that before the others */
        if (wait && r->behind[s->loop[i]] && (due || fabs(c->signs[i]) == 1.0)) {
            pl_look_again(r, i);
            continue;
        }
        if (due) r->fired[r->n_fired++] = i;
        pl_set_sign(r, i, r->new_signs[i]);
    }
    if (r->which != PL_ALL_EVENTS && s->n_event_times) {
        r->held_known = 0; /* those that wait are to be looked at again */
        return PL_DONE;
    }
    pl_all_looked_at(r);
    r->events_known = !r->n_fired && !s->n_unknowns && !s->n_delays; /* what is solved for is found anew */
    return PL_DONE;
}

/* The most that rounding of the states can count for. */
static double most_rounding(const pl_run *r, int32_t event)
{
    return JUMP * fmax(r->largest[event], pl_farthest(r, event));
}

/* Some crossings here, into r->out, each at its place. */
static void crossings_here(pl_run *r, const int32_t *events, int n)
{
    pl_set_arguments(r, r->context->t, r->context->x);
    pl_evaluate_some(r, r->model->crossings, events, n, r->out);
}

/* How far some crossings may be from zero by the last bits of the states alone; their values are in r->out. */
static const double *rounding_here(pl_run *r, const int32_t *events, int n)
{
    double *moved = r->out + r->system->n_events, *rounding = moved + r->system->n_events;

    for (int64_t k = 0; k < r->model->nx; k++) {
        const double shaken = LAST_BITS * (k % 2 ? -1.0 : 1.0) * (1.0 + (double)(k % 7) / 7.0);
        r->scratch[k] = r->context->x[k] * (1.0 + shaken);
    }
    if (r->model->nx) r->a.x = r->scratch; /* what is solved for stays */
    pl_evaluate_some(r, r->model->crossings, events, n, moved);
    for (int k = 0; k < n; k++) {
        const int32_t i = events[k];
        const int place = r->model->place_of[i];
        rounding[i] = fmin(4.0 * fabs(moved[place] - r->out[place]), most_rounding(r, i));
    }
    return rounding;
}

/* Is a crossing off its threshold by no more than rounding can count for? */
static int may_be_missed(const pl_run *r, int32_t i)
{
    const double g = fabs(r->out[r->model->place_of[i]]), threshold = r->system->threshold[i];
    return threshold > 0.0 && g > threshold && g <= most_rounding(r, i);
}

/* Crossings that were located here, or are due, are on their thresholds, however far rounding left them from it. */
static void keep_missed(pl_run *r, const int32_t *events, int n)
{
    int any = 0;

    crossings_here(r, events, n);
    for (int k = 0; k < n; k++) any |= may_be_missed(r, events[k]);
    if (!any) return;
    const double *rounding = rounding_here(r, events, n);
    for (int k = 0; k < n; k++) {
        const int32_t i = events[k];
        const double g = fabs(r->out[r->model->place_of[i]]);
        if (!may_be_missed(r, i) || !(g <= rounding[i])) continue;
        r->missed[i] = g;
        pl_settle_side(r, i);
        pl_look_again(r, i);
        r->any_missed = 1;
    }
}

void pl_forget_missed(pl_run *r)
{
    if (!r->any_missed) return;
    for (int i = 0; i < r->system->n_events; i++) {
        if (r->missed[i] == 0.0) continue;
        r->missed[i] = 0.0;
        pl_settle_side(r, i);
        pl_look_again(r, i);
    }
    r->any_missed = 0;
}

/* Has a crossing not left its threshold since it fired last, but for what rounding makes of it? */
static int has_not_left(pl_run *r, int32_t event)
{
    const double gone = pl_farthest(r, event);

    if (gone <= r->system->threshold[event]) return 1;
    if (!(gone <= most_rounding(r, event))) return 0;
    crossings_here(r, &event, 1);
    return gone <= rounding_here(r, &event, 1)[event];
}

/* Do events follow each other without end? Either time hardly goes on, or a crossing comes back to zero again and
   again without ever having left its threshold. */
static int endless(pl_run *r)
{
    const double t = r->context->t;
    int idle = 0;

    if (t - r->dense_since <= WINDOW * (r->until - r->dense_since)) {
        r->n_dense++;
    } else {
        r->n_dense = 1;
        r->dense_since = t;
    }
    for (int k = 0; k < r->n_fired; k++) {
        const int i = r->fired[k];
        r->n_idle[i] = has_not_left(r, i) ? r->n_idle[i] + 1 : 0;
        r->largest[i] = fmax(r->largest[i], pl_farthest(r, i));
        pl_forget_farthest(r, i);
        idle |= r->n_idle[i] > REPEATS;
    }
    return idle || r->n_dense > REPEATS;
}

/* The first state that two events reset; they are left in index and other. */
static int in_conflict(pl_run *r)
{
    const pl_system *s = r->system;
    int found = 0;

    for (int pass = 0; pass < 2; pass++) { /* the second one cleans up */
        for (int k = 0; k < r->n_fired; k++) {
            const int event = r->fired[k];
            for (int j = s->reset_start[event]; j < s->reset_start[event + 1]; j++) {
                int32_t *owner = r->reset_by + s->reset_places[j] + r->model->nx;
                if (pass == 0 && !found && *owner && *owner != event + 1) {
                    r->index = event;
                    r->other = *owner - 1;
                    found = 1;
                }
                *owner = pass == 0 && !*owner ? event + 1 : pass == 0 ? *owner : 0;
            }
        }
    }
    return found;
}

static double *target(pl_context *c, int32_t place) { return place < 0 ? c->x - 1 - place : c->h + place; }

/* Its event may be due at once, whether or not it was before. */
static void move_event(pl_run *r, int32_t place)
{
    for (int i = 0; i < r->system->n_event_times; i++)
        if (r->system->event_time_place[i] == place) pl_set_sign(r, r->system->event_time_event[i], -1.0);
}

static void set_target(pl_run *r, int32_t place, double value)
{
    double *now = target(r->context, place);
    const int changes = *now != value;

    *now = value;
    if (place < 0) return;
    pl_held_changed(r, place);
    if (changes) move_event(r, place);
}

static int64_t length_of_records(const pl_run *r)
{
    int64_t length = 0;
    for (int k = 0; k < r->n_fired; k++) length += 2 + 2 * size_of(r->system, r->fired[k]);
    return length;
}

/* Write down what the events due reset: its value now, before or after. */
static void record(pl_run *r, int after)
{
    const pl_system *s = r->system;
    pl_event_log *events = &r->log->events;

    if (!events->values) return;
    double *row = events->values + events->used;
    for (int k = 0; k < r->n_fired; k++) {
        const int event = r->fired[k], size = size_of(s, event);
        row[0] = r->context->t;
        row[1] = event;
        for (int j = 0; j < size; j++)
            row[2 + after * size + j] = *target(r->context, s->reset_places[s->reset_start[event] + j]);
        row += 2 + 2 * size;
    }
    if (after) events->used += length_of_records(r);
}

/* New values of what the events due reset. */
static void evaluate_resets(pl_run *r)
{
    const pl_system *s = r->system;
    int n = 0;

    for (int k = 0; k < r->n_fired; k++)
        for (int32_t j = s->reset_start[r->fired[k]]; j < s->reset_start[r->fired[k] + 1]; j++) r->reset_now[n++] = j;
    pl_evaluate_some(r, r->model->resets, r->reset_now, n, r->resets);
}

/* All resets that are due, from the values before any of them. */
static int reset(pl_run *r)
{
    const pl_system *s = r->system;
    pl_context *c = r->context;

    pl_set_arguments(r, c->t, c->x);
    if (r->unsolved) return PL_NO_SOLUTION;
    if (in_conflict(r)) return PL_CONFLICT;
    evaluate_resets(r);
    if (r->cancel) return PL_CANCELLED;
    record(r, 0);
    for (int k = 0; k < r->n_fired; k++) {
        const int event = r->fired[k];
        if (s->ends[event] && !c->stopped) c->stopped = event + 1;
        for (int j = s->reset_start[event]; j < s->reset_start[event + 1]; j++)
            set_target(r, s->reset_places[j], r->resets[j]);
        for (int j = s->renewed_start[event]; j < s->renewed_start[event + 1]; j++)
            c->next[s->renewed[j]] = c->h[s->renewed[j]];
        for (int j = s->anew_start[event]; j < s->anew_start[event + 1]; j++) {
            pl_set_sign(r, s->anew[j], ANEW);
            pl_look_again(r, s->anew[j]);
        }
        if (!pl_all_finite(r->resets + s->reset_start[event], size_of(s, event))) {
            r->index = PL_IN_RESET;
            r->other = event;
            return PL_NOT_FINITE;
        }
    }
    record(r, 1);
    r->counters.events += r->n_fired;
    return PL_DONE;
}

/* A count says no more samples after a reset than the one before it, and that of this instant where it is counted. */
static void keep_samples(pl_run *r, int32_t place)
{
    const pl_system *s = r->system;
    double kept = 1.0;

    for (int i = 0; r->which == PL_TIMED_EVENTS && i < s->n_rates; i++)
        for (int j = s->since_start[i]; r->due[i] && j < s->since_start[i + 1]; j++)
            if (s->since[j] == place) kept = 2.0;
    if (r->context->h[place] > kept) set_target(r, place, kept);
}

/* Resets were applied: holds and step size control start anew, invariants and loops hold again. */
static int restart(pl_run *r)
{
    const pl_system *s = r->system;
    pl_context *c = r->context;

    for (int k = 0; k < r->n_fired; k++)
        for (int j = s->restarted_start[r->fired[k]]; j < s->restarted_start[r->fired[k] + 1]; j++)
            keep_samples(r, s->restarted[j]);
    c->step = 0.0;
    c->error = 1e-4;
    if (s->n_invariants) pl_project(r, c->t, c->x);
    return pl_update_accepted(r, c->t, c->x);
}

void pl_begin_events(pl_run *r, int located, int which)
{
    r->round = -1;
    r->located = located;
    r->which = which;
    if (which != PL_ALL_EVENTS && r->system->n_event_times) r->held_known = 0;
}

void pl_begin_timed_events(pl_run *r, int segment)
{
    pl_begin_events(r, -1, PL_TIMED_EVENTS);
    r->timed_segment = segment;
    pl_note_read(r, segment);
}

int pl_handle_events(pl_run *r)
{
    int reason;

    if (r->round < 0) {
        r->n_fired = 0;
        if (r->located >= 0 && waits(r, r->located)) r->located = -1;
        if (r->located >= 0) keep_missed(r, &r->located, 1);
        if (r->unsolved) return PL_NO_SOLUTION;
        reason = find_due(r);
        if (reason) return reason;
        if (r->located >= 0) {
            keep_missed(r, &r->located, 1);
            keep_missed(r, r->fired, r->n_fired);
        }
        r->round = 0;
        if (r->located >= 0 && !r->n_fired && endless(r)) {
            r->fired[r->n_fired++] = r->located;
            return PL_CHATTERING;
        }
    }
    while (r->n_fired) {
        const pl_event_log *events = &r->log->events;
        if (events->values && events->capacity - events->used < length_of_records(r)) return PL_FULL_EVENTS;
        if (++r->round > ROUNDS || endless(r)) return PL_CHATTERING;
        reason = reset(r);
        if (!reason) reason = restart(r);
        pl_note_fired(r);
        if (!reason) reason = find_due(r);
        if (reason) return reason;
    }
    return PL_DONE;
}
