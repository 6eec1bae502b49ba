/* Partitions of scheduled execution. fast: sum of its inputs times a gain, each used once; its third tick counts down 0.25 s to later;
   each fourth tick of all rings the alarm. */
#include "unit.h"

void model_calculate(Unit *u) { (void)u; }
void model_start(Unit *u) { (void)u; }
void model_clocks(Unit *u) { (void)u; }
void model_event(Unit *u) { (void)u; }

#define COUNT(name) if (ACTIVE(name)) N(n_##name)++, N(total)++, u->ticked |= N(total) % 4 == 0 ? b_alarm : 0
void model_tick(Unit *u, double t)
{
    COUNT(fast);
    COUNT(slow);
    COUNT(press);
    COUNT(later);
    if (ACTIVE(fast)) {
        R(sum) += R(gain) * R(u);
        R(u) = 0; /* a clocked variable has a value while its clock ticks, no longer */
        if (N(n_fast) == 3) {
            u->interval[k_later] = 0.25;
            u->said |= b_later;
        }
    }
    if (ACTIVE(later)) {
        R(when) = t;
        u->interval[k_later] = 0;
    }
}

Status model_step(Unit *u, double h) { (void)u; (void)h; return ERROR; }

double model_partial(Unit *u, int unknown, int known) { (void)u; return unknown == known; }
