/* A bouncing ball: h' = v, v' = g; at h = 0 the speed becomes -e v, and 0 below v_min. */
#include "unit.h"

void model_calculate(Unit *u)
{
    R(der_h) = R(v);
    R(der_v) = N(resting) ? 0 : R(g);
    u->z[0] = N(resting) || (R(h) == 0 && R(v) > 0) ? 1 : R(h);
}

void model_start(Unit *u) { model_calculate(u); }

void model_event(Unit *u)
{
    if (R(h) > 0 || R(v) >= 0 || N(resting)) return;
    R(h) = 0;
    R(v) = -R(e) * R(v);
    if (R(v) < R(v_min)) {
        R(v) = 0;
        N(resting) = 1;
    }
    N(bounces)++;
    u->discrete_changed = 1;
}

double model_partial(Unit *u, int unknown, int known)
{
    (void)u;
    return unknown == v_der_h ? known == v_v : unknown == known;
}
