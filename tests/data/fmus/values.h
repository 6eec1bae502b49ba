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

/* A host has broken a rule of the standard: a line in the log, and in the file that the environment names. */
static int broken(Unit *u, const char *rule, const char *what)
{
    const char *file = getenv("BROKEN_RULES");
    FILE *f = file ? fopen(file, "a") : 0;
    if (f) {
        fprintf(f, "%s mode %d t %.17g: %s: %s\n", u->name, u->mode, u->time, rule, what);
        fclose(f);
    }
    say(u, ERROR, "logStatusError", "%s: %s", rule, what);
    return 0;
}

/* What may be set in which mode. */
static int settable(Unit *u, const Variable *v)
{
    switch (u->mode) {
    case CONFIGURATION: return v->settable == 2 || broken(u, "structural parameters only", v->name);
    case INSTANTIATED: return (!v->calculated && !v->constant) || broken(u, "no start value", v->name);
    case INITIALIZATION: return (!v->calculated && !v->constant) || broken(u, "no start value", v->name);
    case CONTINUOUS: return (v->input && v->moving) || broken(u, "continuous inputs only", v->name);
    case STEP:
        if (u->event_mode_used) return (v->input && v->moving) || broken(u, "continuous inputs only", v->name);
        return (v->settable == 1 && !v->fixed) || broken(u, "inputs and tunable parameters only", v->name);
    default: return (v->settable == 1 && !v->fixed) || broken(u, "inputs and tunable parameters only", v->name);
    }
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
    if (u && modes) return broken(u, "not allowed now", function);
    if (u) say(u, ERROR, "logStatusError", "%s is not supported", function);
    return 0;
}

#ifndef ODD_CALL
#define ODD_CALL ""
#define ODD_STATUS 0
#define ODD_FROM 0
#endif

/* Does it return ODD_STATUS of this call, for no reason? */
static int is_odd(const Unit *u, const char *function) { return !strcmp(function + 4, ODD_CALL) && u->time >= ODD_FROM; }

/* Values are up to date where a host may read them after it wrote something: not in co-simulation's step mode. */
static void refresh(Unit *u)
{
    if (u->mode & (INITIALIZATION | EVENT | CONTINUOUS)) model_calculate(u);
}
#endif
