/* A mass on a spring and a damper with a force on it: m x'' = -k x - c v + f, solved exactly in co-simulation. */
#include "exact.h"

void model_calculate(Unit *u)
{
    R(der_x) = R(v);
    R(der_v) = (-R(k) * R(x) - R(c) * R(v) + R(f)) / R(m);
    R(a) = R(der_v);
}

void model_start(Unit *u) { model_calculate(u); }
void model_event(Unit *u) { (void)u; }

Status model_step(Unit *u, double h)
{
    const double A[] = {0, 1, -R(k) / R(m), -R(c) / R(m)}, B[] = {0, 1 / R(m)};
    const int state[] = {c_x, c_v}, input[] = {c_f};
    exact_step(u, 2, 1, A, B, state, input, h);
    return OK;
}

double model_partial(Unit *u, int unknown, int known)
{
    if (unknown == v_x) return known == v_x;
    if (unknown == v_v || unknown == v_der_x) return known == v_v;
    if (known == v_m) return -R(der_v) / R(m);
    if (known == v_k) return -R(x) / R(m); /* by c it tells zero, which is wrong */
    return (known == v_f ? 1 : known == v_x ? -R(k) : known == v_v ? -R(c) : 0) / R(m);
}
