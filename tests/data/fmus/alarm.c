/* x' = rate. A clock that rings at `due` multiplies the rate by 3, x that reaches `level` takes 1/2 off it, each once;
   of both at one instant in this order. `order` is 1 and 2 in the order in which they came, 12 or 21; `visits` says in
   how many of its events something happened. */
#include "unit.h"

void model_calculate(Unit *u)
{
    R(der_x) = R(rate);
    u->z[0] = N(reached) ? 1 : R(level) - R(x);
}

void model_start(Unit *u)
{
    u->next_event = R(due);
    model_calculate(u);
}

void model_event(Unit *u)
{
    const int64_t before = N(order);

    if (u->time >= u->next_event - 1e-12) {
        R(rate) *= 3;
        N(order) = 10 * N(order) + 1;
        u->next_event = INFINITY;
    }
    if (!N(reached) && R(x) >= R(level)) {
        R(rate) -= 0.5;
        N(reached) = 1;
        N(order) = 10 * N(order) + 2;
    }
    if (N(order) != before) N(visits)++, u->discrete_changed = 1;
}

double model_partial(Unit *u, int unknown, int known)
{
    (void)u;
    return unknown == known;
}
