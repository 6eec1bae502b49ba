/* T x' = u - x, y = x: a fast or a slow unit by its T; solved exactly in co-simulation. */
#include "exact.h"

void model_calculate(Unit *u)
{
    R(der_x) = (R(u) - R(x)) / R(T);
    R(y) = R(x);
}

void model_start(Unit *u) { model_calculate(u); }
void model_event(Unit *u) { (void)u; }

Status model_step(Unit *u, double h)
{
    const double A[] = {-1 / R(T)}, B[] = {1 / R(T)};
    const int state[] = {c_x}, input[] = {c_u};
    exact_step(u, 1, 1, A, B, state, input, h);
    return OK;
}

double model_partial(Unit *u, int unknown, int known)
{
    if (unknown == v_x || unknown == v_y) return known == v_x;
    return known == v_u ? 1 / R(T) : known == v_x ? -1 / R(T) : 0;
}
