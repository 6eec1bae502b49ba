/* A test unit as FMI 2.0. */
#include "fmi2Functions.h"
#include "values.h"

#define SELF Unit *u = (Unit *)c
#define ALLOW(modes, name) SELF; if (!allowed(u, modes, name)) return fmi2Error; if (is_odd(u, name)) return (fmi2Status)ODD_STATUS

static void fail(Unit *u, Status status) { if (status == ERROR || status == FATAL) u->mode = FAILED; }

void say(Unit *u, Status status, const char *category, const char *format, ...)
{
    char text[1024];
    va_list arguments;
    const fmi2CallbackFunctions *f = u->logger;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (f && f->logger && (u->logging || status >= ERROR)) f->logger(f->componentEnvironment, u->name, (fmi2Status)status, category, "%s", text);
}

const char *fmi2GetTypesPlatform(void) { return "default"; }
const char *fmi2GetVersion(void) { return "2.0"; }

/* file:///a%20b to /a b */
static void path_of(const char *uri, char *path)
{
    size_t n = 0;
    if (!strncmp(uri, "file://", 7)) uri += 7;
    for (; *uri && n < PATH_ROOM - 1; n++) {
        unsigned code;
        if (*uri == '%' && sscanf(uri + 1, "%2x", &code) == 1) {
            path[n] = (char)code;
            uri += 3;
        } else path[n] = *uri++;
    }
    path[n] = 0;
}

fmi2Component fmi2Instantiate(fmi2String name, fmi2Type type, fmi2String guid, fmi2String location,
                              const fmi2CallbackFunctions *functions, fmi2Boolean visible, fmi2Boolean logging)
{
    (void)visible;
    Unit *u = calloc(1, sizeof *u);
    if (!u) return 0;
    u->logger = (void *)functions;
    u->logging = logging;
    snprintf(u->name, sizeof u->name, "%s", name ? name : "");
    if (!guid || strcmp(guid, TOKEN)) {
        say(u, ERROR, "logStatusError", "guid is %s, expected %s", guid ? guid : "(null)", TOKEN);
        free(u);
        return 0;
    }
    if (location) path_of(location, u->resources);
    u->exchange = type == fmi2ModelExchange;
    unit_reset(u);
    u->mode = INSTANTIATED;
    return u;
}

void fmi2FreeInstance(fmi2Component c)
{
    SELF;
    if (u && u->saved) broken(u, "states are not freed", "fmi2FreeInstance");
    free(u);
}

fmi2Status fmi2SetDebugLogging(fmi2Component c, fmi2Boolean on, size_t n, const fmi2String categories[])
{
    ALLOW(ANY, "fmi2SetDebugLogging");
    (void)n;
    (void)categories;
    u->logging = on;
    return fmi2OK;
}

fmi2Status fmi2SetupExperiment(fmi2Component c, fmi2Boolean with, fmi2Real tolerance, fmi2Real start, fmi2Boolean stops, fmi2Real stop)
{
    ALLOW(INSTANTIATED, "fmi2SetupExperiment");
    (void)with;
    (void)tolerance;
    if (stops && stop < start) return fmi2Error;
    u->stop = stops ? stop : INFINITY;
    u->settled = 1;
    u->time = u->entered = u->accepted = start;
    return fmi2OK;
}

fmi2Status fmi2EnterInitializationMode(fmi2Component c)
{
    ALLOW(INSTANTIATED, "fmi2EnterInitializationMode");
    if (!u->settled && !broken(u, "no experiment", "fmi2EnterInitializationMode")) return fmi2Error;
    u->settled = 0;
    u->mode = INITIALIZATION;
    return fmi2OK;
}

fmi2Status fmi2ExitInitializationMode(fmi2Component c)
{
    ALLOW(INITIALIZATION, "fmi2ExitInitializationMode");
    model_start(u);
    if (u->mode < 0) {
        u->mode = FAILED;
        return fmi2Error;
    }
    model_calculate(u);
    u->mode = u->exchange ? EVENT : STEP;
    return fmi2OK;
}

fmi2Status fmi2Terminate(fmi2Component c)
{
    ALLOW(STEP | EVENT | CONTINUOUS, "fmi2Terminate");
    u->mode = TERMINATED;
    return fmi2OK;
}

fmi2Status fmi2Reset(fmi2Component c)
{
    ALLOW(ANY, "fmi2Reset");
    unit_reset(u);
    u->mode = INSTANTIATED;
    return fmi2OK;
}

#define GETTER(Type, family, bits, expression)                                                                       \
    fmi2Status fmi2Get##Type(fmi2Component c, const fmi2ValueReference vr[], size_t n, fmi2##Type value[])           \
    {                                                                                                                \
        ALLOW(INITIALIZATION | STEP | EVENT | CONTINUOUS | TERMINATED, "fmi2Get" #Type);                             \
        refresh(u);                                                                                                  \
        for (size_t k = 0; k < n; k++) {                                                                             \
            const int i = place(u, vr[k], family, bits);                                                             \
            if (i < 0) return fmi2Error;                                                                             \
            value[k] = expression;                                                                                   \
        }                                                                                                            \
        return fmi2OK;                                                                                               \
    }
GETTER(Real, FLOAT, 0, i == 0 ? u->time : u->cell[TABLE[i].first].d)
GETTER(Integer, SIGNED, 32, (fmi2Integer)u->cell[TABLE[i].first].i)
GETTER(Boolean, SIGNED, 1, (fmi2Boolean)u->cell[TABLE[i].first].i)
GETTER(String, STRING, 0, u->text[TABLE[i].first].data)

#define SETTER(Type, family, bits, statement)                                                                        \
    fmi2Status fmi2Set##Type(fmi2Component c, const fmi2ValueReference vr[], size_t n, const fmi2##Type value[])     \
    {                                                                                                                \
        ALLOW(INSTANTIATED | INITIALIZATION | STEP | EVENT | CONTINUOUS, "fmi2Set" #Type);                           \
        for (size_t k = 0; k < n; k++) {                                                                             \
            const int i = place(u, vr[k], family, bits);                                                             \
            if (i < 0 || !settable(u, &TABLE[i])) return fmi2Error;                                                  \
            statement;                                                                                               \
        }                                                                                                            \
        return fmi2OK;                                                                                               \
    }
SETTER(Real, FLOAT, 0, u->cell[TABLE[i].first].d = value[k])
SETTER(Integer, SIGNED, 32, u->cell[TABLE[i].first].i = value[k])
SETTER(Boolean, SIGNED, 1, u->cell[TABLE[i].first].i = value[k] != 0)
SETTER(String, STRING, 0, snprintf(u->text[TABLE[i].first].data, ROOM, "%s", value[k]))

/* --- states ---------------------------------------------------------------------------------------------------- */
fmi2Status fmi2GetFMUstate(fmi2Component c, fmi2FMUstate *state)
{
    ALLOW(ROLLBACK ? ANY & ~FAILED : 0, "fmi2GetFMUstate");
    if (!*state) *state = malloc(sizeof *u), u->saved++;
    memcpy(*state, u, sizeof *u);
    return fmi2OK;
}

fmi2Status fmi2SetFMUstate(fmi2Component c, fmi2FMUstate state)
{
    ALLOW(ROLLBACK ? ANY : 0, "fmi2SetFMUstate");
    const int saved = u->saved;
    if (!LYING) memcpy(u, state, sizeof *u);
    u->saved = saved;
    return fmi2OK;
}

fmi2Status fmi2FreeFMUstate(fmi2Component c, fmi2FMUstate *state)
{
    ALLOW(ROLLBACK ? ANY : 0, "fmi2FreeFMUstate");
    if (*state) u->saved--;
    free(*state);
    *state = 0;
    return fmi2OK;
}

fmi2Status fmi2SerializedFMUstateSize(fmi2Component c, fmi2FMUstate state, size_t *size)
{
    ALLOW(SERIALIZES ? ANY : 0, "fmi2SerializedFMUstateSize");
    (void)state;
    *size = sizeof *u;
    return fmi2OK;
}

fmi2Status fmi2SerializeFMUstate(fmi2Component c, fmi2FMUstate state, fmi2Byte bytes[], size_t size)
{
    ALLOW(SERIALIZES ? ANY : 0, "fmi2SerializeFMUstate");
    if (size < sizeof *u) return fmi2Error;
    memcpy(bytes, state, sizeof *u);
    return fmi2OK;
}

fmi2Status fmi2DeSerializeFMUstate(fmi2Component c, const fmi2Byte bytes[], size_t size, fmi2FMUstate *state)
{
    ALLOW(SERIALIZES ? ANY : 0, "fmi2DeSerializeFMUstate");
    if (size != sizeof *u) return fmi2Error;
    if (!*state) *state = malloc(sizeof *u), u->saved++;
    memcpy(*state, bytes, size);
    Unit *s = *state; /* pointers belong to this process */
    s->logger = u->logger;
    s->environment = u->environment;
    memcpy(s->resources, u->resources, sizeof s->resources);
    return fmi2OK;
}

fmi2Status fmi2GetDirectionalDerivative(fmi2Component c, const fmi2ValueReference unknown[], size_t n,
                                        const fmi2ValueReference known[], size_t m, const fmi2Real seed[], fmi2Real out[])
{
    ALLOW(DIRECTIONAL ? INITIALIZATION | STEP | EVENT | CONTINUOUS : 0, "fmi2GetDirectionalDerivative");
    for (size_t i = 0; i < n; i++) {
        out[i] = 0;
        for (size_t j = 0; j < m; j++)
            out[i] += model_partial(u, (int)(unknown[i] - 10) / 3, (int)(known[j] - 10) / 3) * seed[j];
    }
    return fmi2OK;
}

/* --- model exchange -------------------------------------------------------------------------------------------- */
fmi2Status fmi2EnterEventMode(fmi2Component c)
{
    ALLOW(CONTINUOUS, "fmi2EnterEventMode");
    if (NEEDS_COMPLETED && u->accepted != u->time && !broken(u, "no completed step", "fmi2EnterEventMode")) return fmi2Error;
    u->settled = 0;
    u->entered = u->time;
    u->mode = EVENT;
    return fmi2OK;
}

fmi2Status fmi2NewDiscreteStates(fmi2Component c, fmi2EventInfo *info)
{
    ALLOW(EVENT, "fmi2NewDiscreteStates");
    u->discrete_changed = 0;
    model_event(u);
    model_calculate(u);
    info->newDiscreteStatesNeeded = u->discrete_changed;
    info->terminateSimulation = u->terminate;
    u->settled = !u->discrete_changed && !u->terminate;
    info->nominalsOfContinuousStatesChanged = fmi2False;
    info->valuesOfContinuousStatesChanged = u->discrete_changed && N_STATES;
    info->nextEventTimeDefined = u->next_event != INFINITY;
    info->nextEventTime = u->next_event;
    return fmi2OK;
}

fmi2Status fmi2EnterContinuousTimeMode(fmi2Component c)
{
    ALLOW(EVENT, "fmi2EnterContinuousTimeMode");
    if (!u->settled && !broken(u, "event mode is not over", "fmi2EnterContinuousTimeMode")) return fmi2Error;
    u->mode = CONTINUOUS;
    return fmi2OK;
}

fmi2Status fmi2CompletedIntegratorStep(fmi2Component c, fmi2Boolean no_set, fmi2Boolean *event, fmi2Boolean *terminate)
{
    ALLOW(CONTINUOUS, "fmi2CompletedIntegratorStep");
    (void)no_set;
    if (u->time < u->accepted && !broken(u, "time has gone back", "fmi2CompletedIntegratorStep")) return fmi2Error;
    u->accepted = u->time;
#ifdef OWN_ACCEPTED
    model_accepted(u);
#endif
    *event = u->event_due;
    *terminate = u->terminate;
    return fmi2OK;
}

fmi2Status fmi2SetTime(fmi2Component c, fmi2Real time)
{
    ALLOW(CONTINUOUS | EVENT, "fmi2SetTime");
    if (time < u->entered && !broken(u, "before the last event", "fmi2SetTime")) return fmi2Error;
    if (time > u->next_event && !broken(u, "after the event that was announced", "fmi2SetTime")) return fmi2Error;
    u->time = time;
    return fmi2OK;
}

fmi2Status fmi2SetContinuousStates(fmi2Component c, const fmi2Real x[], size_t n)
{
    ALLOW(CONTINUOUS, "fmi2SetContinuousStates");
    if (n != N_STATES) return fmi2Error;
    for (int i = 0; i < N_STATES; i++) u->cell[STATE_CELL[i]].d = x[i];
    return fmi2OK;
}

fmi2Status fmi2GetDerivatives(fmi2Component c, fmi2Real out[], size_t n)
{
    ALLOW(INITIALIZATION | CONTINUOUS | EVENT | TERMINATED, "fmi2GetDerivatives");
    if (n != N_STATES) return fmi2Error;
    model_calculate(u);
    for (int i = 0; i < N_STATES; i++) {
        if (isnan(u->cell[RATE_CELL[i]].d)) return fmi2Discard;
        out[i] = u->cell[RATE_CELL[i]].d;
    }
    return fmi2OK;
}

fmi2Status fmi2GetEventIndicators(fmi2Component c, fmi2Real z[], size_t n)
{
    ALLOW(INITIALIZATION | CONTINUOUS | EVENT | TERMINATED, "fmi2GetEventIndicators");
    if (n != N_INDICATORS) return fmi2Error;
    model_calculate(u);
    memcpy(z, u->z, n * sizeof *z);
    return fmi2OK;
}

fmi2Status fmi2GetContinuousStates(fmi2Component c, fmi2Real x[], size_t n)
{
    ALLOW(INITIALIZATION | CONTINUOUS | EVENT | TERMINATED, "fmi2GetContinuousStates");
    if (n != N_STATES) return fmi2Error;
    for (int i = 0; i < N_STATES; i++) x[i] = u->cell[STATE_CELL[i]].d;
    return fmi2OK;
}

fmi2Status fmi2GetNominalsOfContinuousStates(fmi2Component c, fmi2Real x[], size_t n)
{
    ALLOW(CONTINUOUS | EVENT | TERMINATED, "fmi2GetNominalsOfContinuousStates");
    for (size_t i = 0; i < n; i++) x[i] = 1;
    return fmi2OK;
}

/* --- co-simulation --------------------------------------------------------------------------------------------- */
fmi2Status fmi2SetRealInputDerivatives(fmi2Component c, const fmi2ValueReference vr[], size_t n, const fmi2Integer order[], const fmi2Real value[])
{
    ALLOW(INTERPOLATES ? INITIALIZATION | STEP : 0, "fmi2SetRealInputDerivatives");
    for (size_t k = 0; k < n; k++) {
        const int i = place(u, vr[k], FLOAT, 0);
        if (i < 0 || !TABLE[i].input || order[k] < 1 || order[k] > 2) return fmi2Error;
        (order[k] == 1 ? u->slope : u->curvature)[TABLE[i].first] = value[k];
    }
    return fmi2OK;
}

fmi2Status fmi2GetRealOutputDerivatives(fmi2Component c, const fmi2ValueReference vr[], size_t n, const fmi2Integer order[], fmi2Real value[])
{
    ALLOW(0, "fmi2GetRealOutputDerivatives");
    (void)vr; (void)n; (void)order; (void)value;
    return fmi2OK;
}

fmi2Status fmi2DoStep(fmi2Component c, fmi2Real t, fmi2Real h, fmi2Boolean no_set)
{
    ALLOW(u->exchange ? 0 : STEP, "fmi2DoStep");
    if (u->terminate && !broken(u, "the run has ended", "fmi2DoStep")) return fmi2Error;
    if (t + h > u->stop * (1 + 1e-12) + 1e-12 && !broken(u, "after the end", "fmi2DoStep")) return fmi2Error;
    if (!u->one_step) u->one_step = h;
    if (!VARIABLE_STEP && fabs(u->one_step - h) > 1e-9 * h && !broken(u, "another step size", "fmi2DoStep")) return fmi2Error;
    (void)no_set;
#ifdef IN_BACKGROUND
    u->from = t, u->over = h, u->looks = 3;
    return fmi2Pending;
#endif
    const Status status = unit_do_step(u, t, h);
    fail(u, status);
    return u->terminate && status == OK ? fmi2Discard : (fmi2Status)status;
}

fmi2Status fmi2CancelStep(fmi2Component c) { ALLOW(0, "fmi2CancelStep"); return fmi2OK; }

fmi2Status fmi2GetStatus(fmi2Component c, const fmi2StatusKind s, fmi2Status *value)
{
    ALLOW(ANY, "fmi2GetStatus");
    *value = fmi2OK;
    if (s == fmi2DoStepStatus && u->looks) *value = --u->looks ? fmi2Pending : (fmi2Status)unit_do_step(u, u->from, u->over);
    return fmi2OK;
}

fmi2Status fmi2GetRealStatus(fmi2Component c, const fmi2StatusKind s, fmi2Real *value)
{
    ALLOW(ANY, "fmi2GetRealStatus");
    if (s != fmi2LastSuccessfulTime) return fmi2Discard;
    *value = u->time;
    return fmi2OK;
}

fmi2Status fmi2GetIntegerStatus(fmi2Component c, const fmi2StatusKind s, fmi2Integer *value) { (void)c; (void)s; (void)value; return fmi2Discard; }

fmi2Status fmi2GetBooleanStatus(fmi2Component c, const fmi2StatusKind s, fmi2Boolean *value)
{
    ALLOW(ANY, "fmi2GetBooleanStatus");
    if (s != fmi2Terminated) return fmi2Discard;
    *value = u->terminate;
    return fmi2OK;
}

fmi2Status fmi2GetStringStatus(fmi2Component c, const fmi2StatusKind s, fmi2String *value) { (void)c; (void)s; (void)value; return fmi2Discard; }
