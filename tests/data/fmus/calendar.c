/* It looks at its own clock: now = t, x' = t, and at the instants 0.1 k, each an event, `days` becomes k. It takes no
   instant for another that is only near. */
#include "unit.h"

static double day(int64_t k) { return 0.1 * (double)k; }

void model_calculate(Unit *u)
{
    R(now) = u->time;
    R(der_x) = u->time;
}

void model_start(Unit *u)
{
    while (day(N(days) + 1) <= u->time) N(days)++;
    u->next_event = day(N(days) + 1);
}

void model_event(Unit *u)
{
    if (u->time < u->next_event) return;
    N(days)++;
    u->next_event = day(N(days) + 1);
    u->discrete_changed = 1;
}

double model_partial(Unit *u, int unknown, int known) { (void)u; return unknown == known; }
