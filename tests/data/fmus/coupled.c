/* A mass that a spring and a damper tie to a point (x1, v1) which moves as its inputs say:
   m x'' = -k x - c v - f, f = kc (x - x1) + cc (v - v1), solved exactly in co-simulation. */
#include "exact.h"

void model_calculate(Unit *u)
{
    R(f) = R(kc) * (R(x) - R(x1)) + R(cc) * (R(v) - R(v1));
    R(der_x) = R(v);
    R(der_v) = (-R(k) * R(x) - R(c) * R(v) - R(f)) / R(m);
}

void model_start(Unit *u) { model_calculate(u); }
void model_event(Unit *u) { (void)u; }

Status model_step(Unit *u, double h)
{
    const double m = R(m);
    const double A[] = {0, 1, -(R(k) + R(kc)) / m, -(R(c) + R(cc)) / m}, B[] = {0, 0, R(kc) / m, R(cc) / m};
    const int state[] = {c_x, c_v}, input[] = {c_x1, c_v1};
    exact_step(u, 2, 2, A, B, state, input, h);
    return OK;
}

double model_partial(Unit *u, int unknown, int known)
{
    const double f = known == v_x ? R(kc) : known == v_v ? R(cc) : known == v_x1 ? -R(kc) : known == v_v1 ? -R(cc) : 0;
    if (unknown == v_x) return known == v_x;
    if (unknown == v_v || unknown == v_der_x) return known == v_v;
    if (unknown == v_f) return f;
    return ((known == v_x ? -R(k) : known == v_v ? -R(c) : 0) - f) / R(m);
}
