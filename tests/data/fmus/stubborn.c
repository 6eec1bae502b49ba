/* Every `period` s it wants an event, and the count goes up; from the `when`-th on, or while its input is 9, it does what
   `fault` says. y is the time. For event mode alone. */
#include "unit.h"

enum { NOTHING, REFUSE, ENDLESS, STUCK, NOT_A_NUMBER, FAIL };

static int does(const Unit *u, int fault) { return N(fault) == fault && (N(count) >= N(when) || N(u) == 9); }

void model_calculate(Unit *u) { R(y) = does(u, NOT_A_NUMBER) ? NAN : u->time; }
void model_start(Unit *u) { u->next_event = R(period); }

void model_event(Unit *u)
{
    if (u->time >= u->next_event - 1e-12) {
        N(count)++;
        u->next_event = R(period) * (double)(N(count) + 1);
    }
    N(twice) = 2 * N(u);
    u->event_due = 0;
    u->discrete_changed = does(u, ENDLESS);
    if (!does(u, REFUSE)) return;
    say(u, ERROR, "logStatusError", "that is enough");
    u->mode = -1;
}

Status model_step(Unit *u, double h)
{
    const double end = u->time + h;
    if (does(u, FAIL)) {
        say(u, ERROR, "logStatusError", "no further");
        return ERROR;
    }
    if (u->next_event <= end + 1e-12) u->time = u->next_event;
    u->event_due = does(u, STUCK) || u->time == u->next_event;
    if (!u->event_due) u->time = end;
    return OK;
}

double model_partial(Unit *u, int unknown, int known) { (void)u; return unknown == known; }
