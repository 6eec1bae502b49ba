/* x0' = x1, x1' = mu (1 - x0^2) x1 - x0. */
#include "unit.h"

void model_calculate(Unit *u)
{
    R(der_x0) = R(x1);
    R(der_x1) = R(mu) * (1 - R(x0) * R(x0)) * R(x1) - R(x0);
}

void model_start(Unit *u) { model_calculate(u); }
void model_event(Unit *u) { (void)u; }

double model_partial(Unit *u, int unknown, int known)
{
    if (unknown == known) return 1;
    if (unknown == v_der_x0) return known == v_x1;
    if (unknown == v_der_x1 && known == v_x0) return -2 * R(mu) * R(x0) * R(x1) - 1;
    if (unknown == v_der_x1 && known == v_x1) return R(mu) * (1 - R(x0) * R(x0));
    if (unknown == v_der_x1 && known == v_mu) return (1 - R(x0) * R(x0)) * R(x1);
    return 0;
}
