/* x' = level - x with a level that is read at events only; an indicator says where x passes 0.5. */
#include "unit.h"

void model_calculate(Unit *u)
{
    R(der_x) = N(level) - R(x);
    u->z[0] = R(x) - 0.5;
}

void model_start(Unit *u) { (void)u; }

void model_event(Unit *u) { u->discrete_changed = 0; }

double model_partial(Unit *u, int unknown, int known)
{
    (void)u;
    return known != v_x ? 0 : unknown == v_der_x ? -1 : unknown == known;
}
