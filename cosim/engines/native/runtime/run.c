/* From stop to stop: integrate without jumps, then everything that happens at the stop itself.

   The rules of an instant are those of ARCHITECTURE.md, "What happens at a tick". pl_advance is a state
   machine, because it may have to come back in the middle: a buffer is full, an opaque block must be called,
   the budget of steps is spent. Called again, it goes on where it stood. */

#include "delays.h"
#include "evaluate.h"
#include "event_loops.h"
#include "events.h"
#include "histories.h"
#include "instants.h"
#include "log.h"
#include "pace.h"
#include "plantloop.h"
#include "stretch.h"

#include <math.h>

/* Phases of a run. Between two stops: */
enum { AT_INSTANT = 0, BEGIN_STRETCH, TAKE_STEP, LOG_WITHIN, END_STEP, LOG_STEP,
       /* and of the instant at which a stretch ends: */
       LOCATED_EVENT, TICK, SEGMENTS, TIMED_EVENTS, EVENTS, LOG_TICKS, LOG_INSTANT };

/* The stretch is over: the context stands at its end, or at the crossing that was located. */
static void arrive(pl_run *r)
{
    pl_context *c = r->context;

    pl_set_state(r, r->t1, r->model->nx ? r->x0 : c->x);
    r->horizon = INFINITY;
    if (r->located < 0) return;
    if (r->stop - r->t1 <= pl_one_instant(r->begin, r->stop)) c->t = r->stop;
    r->stop = c->t;
    pl_begin_events(r, r->located, PL_EVENTS_BEFORE);
}

static int integrate(pl_run *r)
{
    pl_context *c = r->context;
    int reason = PL_DONE;

    switch (r->phase) {
    case AT_INSTANT:
        if (!c->started) {
            reason = pl_initialise(r);
            r->stop = c->t;
            r->phase = TICK;
            break;
        }
        if (!pl_histories_have_room(r)) return PL_FULL_HISTORY;
        if (r->system->n_delays) pl_schedule_delayed_jumps(r);
        r->stop = pl_next_stop(r);
        if (r->until < r->stop) r->stop = r->until;
        r->phase = BEGIN_STRETCH;
        break;
    case BEGIN_STRETCH:
        pl_forget_missed(r);
        reason = pl_begin_stretch(r);
        r->phase = TAKE_STEP;
        break;
    case TAKE_STEP:
        if (r->cancel || r->budget <= 0) {
            if (r->model->nx) pl_set_state(r, r->t0, r->x0);
            return r->cancel ? PL_CANCELLED : PL_PAUSE;
        }
        if (!pl_histories_have_room(r)) return PL_FULL_HISTORY;
        reason = pl_take_step(r);
        r->phase = LOG_WITHIN;
        break;
    case LOG_WITHIN:
        reason = pl_log_within(r);
        if (reason != PL_FULL) r->phase = END_STEP;
        break;
    case END_STEP:
        reason = pl_end_step(r);
        r->phase = LOG_STEP;
        break;
    default: /* LOG_STEP: the step's end is r->t0, r->x0 by now */
        if (r->arrived) {
            arrive(r);
            r->phase = r->located >= 0 ? LOCATED_EVENT : TICK;
            break;
        }
        reason = pl_log_step(r, r->t1, r->model->nx ? r->x0 : c->x);
        if (reason == PL_FULL) break;
        r->phase = TAKE_STEP;
        if (!pl_is_endless(r, r->t1)) break;
        pl_set_state(r, r->t0, r->x0);
        return PL_ENDLESS;
    }
    return reason;
}

static int handle_instant(pl_run *r)
{
    const pl_context *c = r->context;
    int reason = PL_DONE;

    switch (r->phase) {
    case LOCATED_EVENT:
        r->index = r->located;
        if (r->approach == PL_APPROACH_ANY) return PL_APPROACHED;
        reason = pl_handle_events(r);
        if (reason != PL_FULL_EVENTS) r->phase = TICK;
        break;
    case TICK:
        r->index = -1;
        if (r->approach && c->started && (r->approach == PL_APPROACH_ANY || !(r->stop < r->until)))
            return PL_APPROACHED;
        pl_count_ticks(r, r->stop);
        r->segment = r->again = r->rounds = 0;
        r->phase = SEGMENTS;
        break;
    case TIMED_EVENTS:
        reason = pl_handle_events(r);
        if (reason != PL_FULL_EVENTS) r->phase = SEGMENTS;
        break;
    case SEGMENTS:
        reason = pl_run_segments(r);
        if (reason == PL_CALL) break;
        if (reason == PL_EVENTS_DUE) {
            pl_begin_timed_events(r, r->segment - 1);
            r->phase = TIMED_EVENTS;
            return PL_DONE;
        }
        if (!reason && pl_repeat_events(r) == PL_UNSETTLED) return PL_UNSETTLED;
        pl_begin_events(r, -1, PL_ALL_EVENTS);
        r->phase = r->system->n_events ? EVENTS : LOG_TICKS;
        break;
    case EVENTS:
        reason = pl_handle_events(r);
        if (reason == PL_FULL_EVENTS) break;
        r->phase = LOG_TICKS;
        if (r->round > 0 && r->system->n_again) { /* conditional parts follow what the events changed */
            r->segment = 0;
            r->again = 1;
            r->phase = SEGMENTS;
            break;
        }
        if (reason || !r->system->n_loops) break;
        reason = pl_repeat_events(r);
        if (reason == PL_UNSETTLED) return reason;
        if (reason) {
            pl_begin_events(r, -1, PL_ALL_EVENTS);
            r->phase = EVENTS;
        }
        reason = PL_DONE;
        break;
    case LOG_TICKS:
        reason = pl_log_ticks(r);
        if (reason != PL_FULL_TICKS) r->phase = LOG_INSTANT;
        break;
    default: /* LOG_INSTANT */
        reason = pl_log_instant(r);
        if (reason != PL_FULL) r->phase = AT_INSTANT;
    }
    return reason;
}

int pl_advance(pl_run *r, double until)
{
    const pl_context *c = r->context;

    r->until = until;
    pl_update_constants(r);
    for (;;) {
        if (r->phase == AT_INSTANT && c->started && (!(c->t < until) || c->stopped)) return PL_DONE;
        const int reason = r->phase < LOCATED_EVENT ? integrate(r) : handle_instant(r);
        if (r->unsolved) return PL_NO_SOLUTION;
        if (reason) return reason;
    }
}

void pl_end_here(pl_run *r)
{
    if (r->phase == TICK && r->stop == r->context->t) return; /* it is on its way to all that happens here */
    pl_reset(r);
    r->stop = r->context->t;
    r->phase = TICK;
}

void pl_approached(pl_run *r, int located)
{
    pl_reset(r);
    r->stop = r->context->t;
    pl_begin_events(r, located, PL_EVENTS_BEFORE);
    r->phase = located >= 0 ? LOCATED_EVENT : TICK;
}

void pl_reset(pl_run *r)
{
    r->phase = AT_INSTANT;
    r->unsolved = 0;
    r->horizon = INFINITY;
    r->dense_since = NAN; /* events that follow each other are counted anew */
    r->n_dense = 0;
    pl_forget_pace(r);
    r->any_missed = r->sides_known = 0;
    pl_all_changed(r);
    for (int i = 0; i < r->system->n_events; i++) {
        r->missed[i] = r->farthest[i] = r->largest[i] = 0.0;
        r->n_idle[i] = 0;
    }
    for (int k = 0; k < r->model->n_places; k++) r->reached[k] = 0.0;
}
