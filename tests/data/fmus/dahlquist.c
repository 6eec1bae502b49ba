/* x' = -k x. */
#include "unit.h"

void model_calculate(Unit *u) { R(der_x) = -R(k) * R(x); }
void model_start(Unit *u) { model_calculate(u); }
void model_event(Unit *u) { (void)u; }
double model_partial(Unit *u, int unknown, int known) { return known != v_x ? 0 : unknown == v_x ? 1 : -R(k); }
