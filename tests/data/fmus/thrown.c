/* Thrown up from h = 0 with the speed v; where it lands it wants an event, in which v becomes -e v. A push is a speed
   that is added in event mode, and `landed` goes up to `most`, which ends the run. Every flight is exact. */
#include "unit.h"

void model_calculate(Unit *u) { (void)u; }
void model_start(Unit *u) { R(pushed) = R(push); }

void model_event(Unit *u)
{
    if (R(h) == 0 && R(v) < 0) {
        R(v) = -R(e) * R(v);
        N(landed)++;
        if (N(landed) >= N(most)) u->terminate = 1;
    }
    R(v) += R(push) - R(pushed);
    R(pushed) = R(push);
    u->event_due = 0;
}

static void fly(Unit *u, double h)
{
    R(h) += h * (R(v) - R(g) * h / 2);
    R(v) -= R(g) * h;
    u->time += h;
}

Status model_step(Unit *u, double h)
{
    const double end = u->time + h;
    for (;;) {
        const double left = (R(v) + sqrt(R(v) * R(v) + 2 * R(g) * R(h))) / R(g);
        if (u->terminate || u->time + left > end + 1e-12) break;
        fly(u, left);
        R(h) = 0;
        if (u->event_mode_used) {
            u->event_due = 1;
            if (u->early_return_allowed || u->time >= end - 1e-12) return OK;
        }
        model_event(u);
    }
    if (!u->terminate) fly(u, end - u->time);
    return OK;
}

double model_partial(Unit *u, int unknown, int known) { (void)u; return unknown == known; }
