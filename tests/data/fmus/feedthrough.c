/* Every type once: outputs are inputs of the same type, at once in event mode and after a step. */
#include "unit.h"

void model_calculate(Unit *u)
{
    for (int i = 0; i < N_VARIABLES; i++)
        if (ECHO_OF[i] >= 0) {
            const Variable *from = &TABLE[ECHO_OF[i]], *to = &TABLE[i];
            if (to->family == STRING || to->family == BINARY) u->text[to->first] = u->text[from->first];
            else u->cell[to->first] = u->cell[from->first];
        }
}

void model_start(Unit *u) { model_calculate(u); }
void model_event(Unit *u) { model_calculate(u); }

Status model_step(Unit *u, double h)
{
    u->time += h;
    return OK;
}

double model_partial(Unit *u, int unknown, int known)
{
    (void)u;
    return unknown == known || ECHO_OF[unknown] == known;
}
