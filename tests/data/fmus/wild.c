/* x' = -x, y = x, with a time event at 0.25 s, until something is odd: what, says `fault`. */
#include "unit.h"

#ifdef _WIN32
#include <direct.h>
#define go_to_root() _chdir("\\")
#else
#include <unistd.h>
#define go_to_root() chdir("/")
#endif

enum { NOTHING, ENDS_AT_START, TIME_IS_NAN, RATE_IS_INFINITE, INDICATOR_IS_NAN, OUTPUT_IS_NAN, STATE_IS_NAN, CHATTERS, MOVES };

void model_calculate(Unit *u)
{
    const int late = u->time > 0.5;
    R(der_x) = N(fault) == CHATTERS ? (N(side) ? -1.0 : 1.0) : N(fault) == RATE_IS_INFINITE && late ? INFINITY : -R(x);
    R(y) = N(fault) == OUTPUT_IS_NAN && late ? NAN : R(x);
    R(z) = N(fault) == INDICATOR_IS_NAN && late ? NAN : N(fault) == CHATTERS ? R(x) - 0.75 : 1.0;
    u->z[0] = R(z);
}

void model_start(Unit *u)
{
    u->next_event = 0.25;
    if (N(fault) == MOVES && go_to_root()) say(u, WARNING, "logStatusWarning", "there is no root");
}

void model_event(Unit *u)
{
    if (N(fault) == ENDS_AT_START) u->terminate = 1;
    N(side) = R(x) > 0.75;
    if (u->time < 0.25 || u->next_event == INFINITY) return;
    u->next_event = N(fault) == TIME_IS_NAN ? NAN : INFINITY;
    if (N(fault) == STATE_IS_NAN) R(x) = NAN, u->discrete_changed = 1;
}

double model_partial(Unit *u, int unknown, int known) { (void)u; return unknown == known; }
