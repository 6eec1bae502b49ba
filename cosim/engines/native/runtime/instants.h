/* Everything that happens at an instant before its events. */

#ifndef PL_INSTANTS_H
#define PL_INSTANTS_H

#include "plantloop.h"

/* Before the first instant of a run. */
int pl_initialise(pl_run *r);
/* Listed instants pass; for the rates that hit, next becomes current. */
void pl_count_ticks(pl_run *r, double t);
/* One tick of a rate is counted. */
PL_INLINE void pl_count_tick(pl_run *r, int i, double t)
{
    const pl_system *s = r->system;
    pl_context *c = r->context;

    r->events_known = r->held_known = r->accepted_known = 0; /* all that was held has changed */
    c->ticks[i]++;
    c->h[s->time_place[i]] = t;
    c->h[s->count_place[i]] = (double)c->ticks[i];
    for (int j = s->since_start[i]; j < s->since_start[i + 1]; j++) c->h[s->since[j]] += 1;
}
/* Time of the next listed instant, event to come or jump out of a delay, or infinity: what stops a run beside its rates. */
double pl_next_listed(const pl_run *r);
/* How long before a stop an event is at that stop, in steps from `begin` on. */
double pl_one_instant(double begin, double stop);
/* Has it ticks, listed instants, events to come, or jumps that come out of a delay? */
int pl_has_stops(const pl_run *r);
/* How many listed instants have passed. */
int64_t pl_instants_passed(const pl_run *r);
/* pl_seconds where it costs nothing to call it. */
PL_INLINE double pl_time_at(int64_t position, int64_t grid)
{
    const int64_t exact = (int64_t)1 << 53;

    return position <= exact && grid <= exact ? (double)position / (double)grid : pl_seconds(position, grid);
}
/* Timed events come next; then the segments go on. */
enum { PL_EVENTS_DUE = -1 };
/* May a timed event of a segment be due here? */
int pl_timed_event_due(const pl_run *r, int segment);
/* From r->segment on: output, external, update, solve and event segments. */
int pl_run_segments(pl_run *r);

#endif
