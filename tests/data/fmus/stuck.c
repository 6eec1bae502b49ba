/* x' = 1. At its event at 0.5 s it announces the next one for 0.25 s. */
#include "unit.h"

void model_calculate(Unit *u) { R(der_x) = 1; }
void model_start(Unit *u) { u->next_event = 0.5; }
void model_event(Unit *u)
{
    if (u->time >= 0.5) u->next_event = 0.25;
}

double model_partial(Unit *u, int unknown, int known) { (void)u; return unknown == known; }
