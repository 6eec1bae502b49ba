/* A counter that a time event raises every second; at 10 (t = 9 s) it asks for the end of the run. */
#include "unit.h"

void model_calculate(Unit *u) { (void)u; }
void model_start(Unit *u) { u->next_event = 1; }

void model_event(Unit *u)
{
    if (u->time < u->next_event - 1e-12) return;
    N(counter)++;
    u->discrete_changed = 1;
    u->next_event = (double)N(counter);
    if (N(counter) >= 10) u->terminate = 1;
}

double model_partial(Unit *u, int unknown, int known) { (void)u; return unknown == known; }
