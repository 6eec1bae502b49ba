/* x' = -x, y = x; the first accepted step behind t = `when` ends the run, or, with `events`, asks for an event. */
#include "unit.h"

void model_calculate(Unit *u) { R(der_x) = -R(x), R(y) = R(x); }
void model_start(Unit *u) { (void)u; }

void model_accepted(Unit *u)
{
    if (u->time <= R(when) || u->terminate) return;
    if (N(events)) u->event_due = 1;
    else u->terminate = 1;
}

void model_event(Unit *u)
{
    if (u->time <= R(when)) return;
    N(asked)++, u->event_due = 0;
    R(when) += 0.25;
}

double model_partial(Unit *u, int unknown, int known) { (void)u; return unknown == known; }
