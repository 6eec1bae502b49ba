/* Events of its own: every `period` s the count goes up, and it wants to return from the step at that instant where
   it may. A discrete input goes through at once in event mode: sum = count + u. */
#include "unit.h"

void model_calculate(Unit *u) { (void)u; }

void model_start(Unit *u)
{
    u->next_event = R(period);
    N(sum) = N(count) + N(u);
}

void model_event(Unit *u)
{
    if (u->time >= u->next_event - 1e-12) {
        N(count)++;
        u->next_event = R(period) * (double)(N(count) + 1);
        u->discrete_changed = 1;
    }
    N(sum) = N(count) + N(u);
    u->event_due = 0;
}

Status model_step(Unit *u, double h)
{
    const double end = u->time + h;
    while (u->next_event <= end + 1e-12) {
        u->time = u->next_event;
        if (u->event_mode_used) {
            u->event_due = 1;
            if (u->early_return_allowed || u->time >= end - 1e-12) return OK;
        }
        model_event(u);
    }
    u->time = end;
    return OK;
}

double model_partial(Unit *u, int unknown, int known) { (void)u; return unknown == known; }
