/* Every `period` s it wants an event, in which the count goes up and the phase, which grows like time, begins anew; at
   `most` it ends the run. It has no inputs. */
#include "unit.h"

void model_calculate(Unit *u) { R(phase) = u->time - R(period) * (double)N(count); }
void model_start(Unit *u) { u->next_event = R(period); }

void model_event(Unit *u)
{
    if (u->event_due || !u->event_mode_used) N(count)++;
    u->next_event = R(period) * (double)(N(count) + 1);
    u->event_due = 0;
    if (N(count) >= N(most)) u->terminate = 1;
}

Status model_step(Unit *u, double h)
{
    const double end = u->time + h;
    while (u->next_event <= end + 1e-12 && !u->terminate) {
        u->time = u->next_event;
        if (u->event_mode_used) {
            u->event_due = 1;
            if (u->early_return_allowed || u->time >= end - 1e-12) return OK;
        }
        model_event(u);
    }
    if (!u->terminate) u->time = end;
    return OK;
}

double model_partial(Unit *u, int unknown, int known) { (void)u; return unknown == known; }
