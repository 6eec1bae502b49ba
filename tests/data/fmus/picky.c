/* x' = u, which is taken at the start except for some: 9 ends its initialisation with an error, 8 the run, and with 7
   initialisation does not settle; 6 makes x no number, 5 the time of its next event, 4 makes x one half. */
#include "unit.h"

enum { HALF = 4, NO_TIME, NO_NUMBER, ENDLESS, ENDS, REFUSED };

void model_calculate(Unit *u) { R(der_x) = R(u); }

void model_start(Unit *u)
{
    if (R(u) == REFUSED) {
        say(u, ERROR, "logStatusError", "%g is too much", R(u));
        u->mode = -1;
    }
    if (R(u) == HALF) R(x) = 0.5;
    if (R(u) == NO_NUMBER) R(x) = NAN;
    if (R(u) == NO_TIME) u->next_event = NAN;
}

void model_event(Unit *u)
{
    u->terminate = R(u) == ENDS;
    u->discrete_changed = R(u) == ENDLESS;
}

double model_partial(Unit *u, int unknown, int known) { (void)u; (void)unknown; (void)known; return 0.0; }
