/* y counts seconds until something goes wrong in the step that reaches `when`: what, says `fault`. */
#include "unit.h"

#ifdef _WIN32
#include <windows.h>
#define pause_a_while() Sleep(1000)
#else
#include <unistd.h>
#define pause_a_while() sleep(1)
#endif

enum { NOTHING, CRASH, HANG, LEAK, RETURN_ERROR, RETURN_FATAL, RETURN_DISCARD, NOT_A_NUMBER, TERMINATE, ABORT, WARN };

void model_calculate(Unit *u) { if (N(fault) != NOT_A_NUMBER || R(y) == R(y)) R(y) = u->time + R(u); }
void model_start(Unit *u) { model_calculate(u); }
void model_event(Unit *u) { (void)u; }

Status model_step(Unit *u, double h)
{
    if (u->time + h < R(when) - 1e-9) {
        u->time += h;
        return OK;
    }
    switch (N(fault)) {
    case CRASH: *(volatile int *)8 = 1; break;
    case ABORT: abort();
    case HANG: for (;;) pause_a_while();
    case LEAK: {
        volatile char *kept = malloc((size_t)R(megabytes) << 20); /* volatile: else nobody needs it, and it goes */
        for (size_t k = 0; k < (size_t)R(megabytes) << 20; k += 4096) kept[k] = 1;
        break;
    }
    case RETURN_ERROR: say(u, ERROR, "logStatusError", "the oil pressure is %g bar", 0.25); return ERROR;
    case RETURN_FATAL: say(u, FATAL, "logStatusFatal", "everything is lost"); return FATAL;
    case RETURN_DISCARD: say(u, DISCARD, "logStatusDiscard", "the step is too long"); return DISCARD;
    case NOT_A_NUMBER: R(y) = NAN; break;
    case TERMINATE: u->terminate = 1; return OK;
    case WARN: say(u, WARNING, "logStatusWarning", "the oil is warm: 100%% sure"); u->time += h; return WARNING;
    default: break;
    }
    u->time += h;
    return OK;
}

double model_partial(Unit *u, int unknown, int known) { (void)u; return unknown == known; }
