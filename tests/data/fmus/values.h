/* Reading and writing cells by value references, with the checks that a host must not fail. */
#ifndef VALUES_H
#define VALUES_H
#include "unit.h"

enum { INSTANTIATED = 1, INITIALIZATION = 2, STEP = 4, EVENT = 8, CONTINUOUS = 16, TERMINATED = 32, CONFIGURATION = 64,
       FAILED = 128, ANY = 255 };

/* Its place in the table, or -1 after a line in the log. */
static int place(Unit *u, unsigned reference, Family family, int bits)
{
    const int i = (int)(reference - 10) / 3;
    if (reference < 10 || (reference - 10) % 3 || i >= N_VARIABLES || TABLE[i].family != family ||
        (bits && TABLE[i].bits != bits)) {
        say(u, ERROR, "logStatusError", "no variable with value reference %u of this type", reference);
        return -1;
    }
    return i;
}

static int settable(Unit *u, const Variable *v)
{
    if (!v->settable && u->mode != INSTANTIATED && u->mode != INITIALIZATION && u->mode != CONFIGURATION) {
        say(u, ERROR, "logStatusError", "%s cannot be set now", v->name);
        return 0;
    }
    if (v->fixed && u->mode != INSTANTIATED && u->mode != INITIALIZATION && u->mode != CONFIGURATION) {
        say(u, ERROR, "logStatusError", "%s is fixed", v->name);
        return 0;
    }
    return 1;
}

/* May a variable be read or written as far as its clocks go? */
static int ticks(Unit *u, const Variable *v)
{
    if (!v->clocks || v->family == CLOCK || !(u->mode & (EVENT | STEP | CONTINUOUS)) || u->clock_update) return 1;
    if (u->active & v->clocks) return 1;
    say(u, ERROR, "logStatusError", "no clock of %s is active", v->name);
    return 0;
}

/* Is the call allowed in the present mode? */
static int allowed(Unit *u, int modes, const char *function)
{
    if (u && (u->mode & modes)) return 1;
    if (u) say(u, ERROR, "logStatusError", "%s is not allowed in mode %d", function, u->mode);
    return 0;
}

/* Values are up to date where a host may read them after it wrote something: not in co-simulation's step mode. */
static void refresh(Unit *u)
{
    if (u->mode & (INITIALIZATION | EVENT | CONTINUOUS)) model_calculate(u);
}
#endif
