/* x' = -1 down to 0, where x becomes 1 again; below 0 it has no derivative to give,
   and from -0.5 down no way back. */
#include "unit.h"

void model_calculate(Unit *u)
{
    R(der_x) = R(x) < -1e-3 ? NAN : -1;
    u->z[0] = R(x);
}

void model_start(Unit *u) { (void)u; }

void model_event(Unit *u)
{
    if (R(x) > 0 || R(x) < -0.5) return;
    R(x) = 1;
    u->discrete_changed = 1;
}

double model_partial(Unit *u, int unknown, int known) { (void)u; return unknown == known; }
