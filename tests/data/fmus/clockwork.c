/* Clocks of all kinds. every: sum of its inputs, and the rate of x from there on; its second tick starts the countdown
   of 0.03 s; the k-th tick of varying is followed by the next after 0.1 k s; each third tick of all rings the alarm. */
#include "unit.h"

void model_calculate(Unit *u)
{
    if (ACTIVE(every)) R(sum) = u->output_rate[0] + R(u);
    R(twice_w) = 2 * R(w);
    R(der_x) = u->output_rate[0];
}

void model_start(Unit *u) { (void)u; }

void model_clocks(Unit *u)
{
    u->interval[k_own] = 0.5;
    u->interval[k_varying] = 0.1;
    u->said = b_own | b_varying;
}

#define COUNT(name) if (ACTIVE(name)) N(n_##name)++, N(total)++, rings |= N(total) % 3 == 0
void model_tick(Unit *u, double t)
{
    int rings = 0;
    COUNT(every);
    COUNT(chosen);
    COUNT(own);
    COUNT(varying);
    COUNT(later);
    COUNT(press);
    if (rings) {
        u->ticked |= b_alarm;
        u->active |= b_alarm;
        N(rung)++;
    }
    R(when) = t;
    if (ACTIVE(varying)) {
        u->interval[k_varying] = 0.1 * (double)(N(n_varying) + 1);
        u->said |= b_varying;
    }
}

void model_event(Unit *u)
{
    if (ACTIVE(every)) {
        u->output_rate[0] = R(sum);
        if (N(n_every) == 2) {
            u->interval[k_later] = 0.03;
            u->said |= b_later;
        }
    }
    if (ACTIVE(later)) u->interval[k_later] = 0;
    u->event_due = 0;
}

Status model_step(Unit *u, double h)
{
    R(x) += h * u->output_rate[0];
    u->time += h;
    return OK;
}

double model_partial(Unit *u, int unknown, int known) { (void)u; return unknown == known; }
