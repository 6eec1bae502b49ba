/* An FMU 2.0 that stands alone: no function of the standard but those it cannot do without, warnings from every call,
   logging from a thread of its own, and no category or name where none is needed. x' = u - x, y = gain x; `count` steps of
   co-simulation, or events every 0.25 s of model exchange. Without STATES it has no states; with WANTS_STOP it begins
   only where it is told when the run ends. */
#include "fmi2Functions.h"

#include <pthread.h>

typedef struct {
    double t, u, y, gain, x, next;
    int count, choice;
    const fmi2CallbackFunctions *f;
} Bare;
#define SELF Bare *m = c

const char *fmi2GetTypesPlatform(void) { return fmi2TypesPlatform; }
const char *fmi2GetVersion(void) { return "2.0"; }

static void *talk(void *c)
{
    SELF;
    m->f->logger(m->f->componentEnvironment, 0, fmi2OK, 0, "from a thread %d %s %g", 7, "abc", 3.5);
    return 0;
}

fmi2Component fmi2Instantiate(fmi2String name, fmi2Type type, fmi2String guid, fmi2String resources,
                              const fmi2CallbackFunctions *f, fmi2Boolean visible, fmi2Boolean logging)
{
    (void)type, (void)guid, (void)resources, (void)visible, (void)logging;
    Bare *m = f->allocateMemory(1, sizeof *m);
    m->f = f;
    m->gain = 2;
    f->logger(f->componentEnvironment, name, fmi2OK, 0, "");
    return m;
}

void fmi2FreeInstance(fmi2Component c) { SELF; m->f->freeMemory(m); }
fmi2Status fmi2SetupExperiment(fmi2Component c, fmi2Boolean with, fmi2Real tolerance, fmi2Real start, fmi2Boolean stops, fmi2Real stop)
{
    SELF;
    (void)with, (void)tolerance, (void)stop;
    m->t = start;
#ifdef WANTS_STOP
    if (!stops || stop != 4.0) return fmi2Error;
#else
    (void)stops;
#endif
    return fmi2Warning;
}
fmi2Status fmi2EnterInitializationMode(fmi2Component c) { (void)c; return fmi2Warning; }
fmi2Status fmi2ExitInitializationMode(fmi2Component c) { SELF; m->next = m->t + 0.25; return fmi2OK; }
fmi2Status fmi2Terminate(fmi2Component c) { (void)c; return fmi2OK; }

enum { TIME, U = 2, GAIN, X, DER_X, Y = 4294967295u };
fmi2Status fmi2GetReal(fmi2Component c, const fmi2ValueReference *v, size_t n, fmi2Real *to)
{
    SELF;
    for (size_t i = 0; i < n; i++)
        to[i] = v[i] == TIME ? m->t : v[i] == U ? m->u : v[i] == GAIN ? m->gain : v[i] == X ? m->x
              : v[i] == DER_X ? m->u - m->x : m->gain * m->x;
    return fmi2Warning;
}
fmi2Status fmi2SetReal(fmi2Component c, const fmi2ValueReference *v, size_t n, const fmi2Real *from)
{
    SELF;
    for (size_t i = 0; i < n; i++) {
        if (v[i] != U && v[i] != GAIN && v[i] != X) return fmi2Error;
        *(v[i] == U ? &m->u : v[i] == GAIN ? &m->gain : &m->x) = from[i];
    }
    return fmi2Warning;
}
fmi2Status fmi2GetInteger(fmi2Component c, const fmi2ValueReference *v, size_t n, fmi2Integer *to)
{
    SELF;
    for (size_t i = 0; i < n; i++) to[i] = v[i] ? m->choice : m->count;
    return fmi2OK;
}
fmi2Status fmi2SetInteger(fmi2Component c, const fmi2ValueReference *v, size_t n, const fmi2Integer *from)
{
    SELF;
    for (size_t i = 0; i < n; i++)
        if (v[i]) m->choice = from[i];
    return fmi2OK;
}
fmi2Status fmi2GetString(fmi2Component c, const fmi2ValueReference *v, size_t n, fmi2String *to)
{
    (void)c, (void)v;
    for (size_t i = 0; i < n; i++) to[i] = 0;
    return fmi2OK;
}
fmi2Status fmi2DoStep(fmi2Component c, fmi2Real t, fmi2Real h, fmi2Boolean no_way_back)
{
    SELF;
    pthread_t thread;
    (void)no_way_back;
    if (!pthread_create(&thread, 0, talk, m)) pthread_join(thread, 0);
    m->t = t + h;
    m->x += h * (m->u - m->x);
    m->count++;
    return fmi2OK;
}
fmi2Status fmi2SetTime(fmi2Component c, fmi2Real t) { SELF; m->t = t; return fmi2OK; }
fmi2Status fmi2EnterEventMode(fmi2Component c) { (void)c; return fmi2OK; }
fmi2Status fmi2EnterContinuousTimeMode(fmi2Component c) { (void)c; return fmi2OK; }
fmi2Status fmi2NewDiscreteStates(fmi2Component c, fmi2EventInfo *info)
{
    SELF;
    const int due = m->t >= m->next - 1e-12;
    if (due) m->count++, m->next += 0.25;
    *info = (fmi2EventInfo){0, 0, due, 0, 1, m->next};
    return fmi2OK;
}
#ifdef STATES
fmi2Status fmi2SetContinuousStates(fmi2Component c, const fmi2Real *x, size_t n) { SELF; (void)n; m->x = *x; return fmi2OK; }
fmi2Status fmi2GetContinuousStates(fmi2Component c, fmi2Real *x, size_t n) { SELF; (void)n; *x = m->x; return fmi2OK; }
fmi2Status fmi2GetDerivatives(fmi2Component c, fmi2Real *f, size_t n) { SELF; (void)n; *f = m->u - m->x; return fmi2OK; }
#endif
