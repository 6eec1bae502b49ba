/* The 44 functions of FMI 2.0 (sections 2.1, 3.2, 4.2 of the standard) on an instance. */

#include "unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#if defined(_WIN32)
#define FMI2_EXPORT __declspec(dllexport)
#else
#define FMI2_EXPORT __attribute__((visibility("default")))
#endif

typedef void *fmi2Component;
typedef void *fmi2ComponentEnvironment;
typedef void *fmi2FMUstate;
typedef unsigned int fmi2ValueReference;
typedef double fmi2Real;
typedef int fmi2Integer;
typedef int fmi2Boolean;
typedef const char *fmi2String;
typedef char fmi2Byte;

typedef enum { fmi2OK, fmi2Warning, fmi2Discard, fmi2Error, fmi2Fatal, fmi2Pending } fmi2Status;
typedef enum { fmi2ModelExchange, fmi2CoSimulation } fmi2Type;
typedef enum { fmi2DoStepStatus, fmi2PendingStatus, fmi2LastSuccessfulTime, fmi2Terminated } fmi2StatusKind;

typedef void (*fmi2CallbackLogger)(fmi2ComponentEnvironment, fmi2String, fmi2Status, fmi2String, fmi2String, ...);

typedef struct {
    fmi2CallbackLogger logger;
    void *(*allocateMemory)(size_t, size_t);
    void (*freeMemory)(void *);
    void (*stepFinished)(fmi2ComponentEnvironment, fmi2Status);
    fmi2ComponentEnvironment componentEnvironment;
} fmi2CallbackFunctions;

typedef struct {
    fmi2Boolean newDiscreteStatesNeeded, terminateSimulation, nominalsOfContinuousStatesChanged;
    fmi2Boolean valuesOfContinuousStatesChanged, nextEventTimeDefined;
    fmi2Real nextEventTime;
} fmi2EventInfo;

/* --- logging -------------------------------------------------------------------------------------------- */
/* The message is a format of printf: it has nothing to be filled in. */
static void as_format(const char *message, char *text, size_t size)
{
    size_t n = 0;
    for (; *message && n + 2 < size; message++) {
        if (*message == '%') text[n++] = '%';
        text[n++] = *message;
    }
    text[n] = 0;
}

static void log_line(const unit *u, int status, const char *category, const char *message)
{
    char text[2048];
    as_format(message, text, sizeof text);
    ((fmi2CallbackLogger)u->callback)(u->environment, u->name, (fmi2Status)status, category, text);
}

static const int HAS_VALUES = UNIT_RUNNING | UNIT_TERMINATED | UNIT_FAILED;
static const int ALL = UNIT_INSTANTIATED | UNIT_RUNNING | UNIT_TERMINATED | UNIT_FAILED;
static const int EXCHANGE = UNIT_EVENT | UNIT_CONTINUOUS;

#define ALLOWED(function, modes)                                                                                       \
    unit *u = c;                                                                                                       \
    if (!u) return fmi2Error;                                                                                          \
    if (!unit_allowed(u, #function, modes)) return fmi2Error

/* A pointer to n of something. */
#define GIVEN(function, n, pointer)                                                                                    \
    if ((n) && !(pointer)) {                                                                                           \
        unit_say(u, UNIT_ERROR, "logStatusError", "%s: %s: '%s' is a null pointer.", u->model->name, #function,        \
                 #pointer);                                                                                            \
        return fmi2Error;                                                                                              \
    }

static fmi2Status failed_unless_discarded(unit *u, int status)
{
    if (status >= UNIT_ERROR) u->mode = UNIT_FAILED;
    return (fmi2Status)status;
}

/* --- version, instances --------------------------------------------------------------------------------- */
FMI2_EXPORT const char *fmi2GetTypesPlatform(void) { return "default"; }

FMI2_EXPORT const char *fmi2GetVersion(void) { return "2.0"; }

FMI2_EXPORT fmi2Status fmi2SetDebugLogging(fmi2Component c, fmi2Boolean on, size_t n, const fmi2String categories[])
{
    ALLOWED(fmi2SetDebugLogging, ALL);
    GIVEN(fmi2SetDebugLogging, n, categories)
    u->verbose = on && n == 0;
    for (size_t i = 0; i < n; i++) u->verbose |= on && !strcmp(categories[i], "logEvents");
    return fmi2OK;
}

FMI2_EXPORT fmi2Component fmi2Instantiate(fmi2String name, fmi2Type type, fmi2String guid, fmi2String resources,
                                          const fmi2CallbackFunctions *functions, fmi2Boolean visible,
                                          fmi2Boolean loggingOn)
{
    const fmi2CallbackLogger logger = functions ? functions->logger : NULL;
    void *const environment = functions ? functions->componentEnvironment : NULL;
    const char *wrong = NULL;

    (void)resources, (void)visible;
    if (!name || !name[0])
        wrong = "an instance needs a name.";
    else if (!guid || strcmp(guid, unit_exported.token))
        wrong = "the guid is not the one of this model: description and binary do not belong together.";
    else if (type != fmi2ModelExchange && type != fmi2CoSimulation)
        wrong = "the type of the instance is neither model exchange nor co-simulation.";
    if (wrong) {
        if (logger) logger(environment, name ? name : "", fmi2Error, "logStatusError", wrong);
        return NULL;
    }
    unit *u = unit_create(&unit_exported, name, type == fmi2ModelExchange);
    if (!u) {
        if (logger) logger(environment, name, fmi2Fatal, "logStatusFatal", "no memory for an instance.");
        return NULL;
    }
    u->callback = (void (*)(void))logger;
    u->log = logger ? log_line : NULL;
    u->environment = environment;
    u->verbose = loggingOn != 0;
    return u;
}

FMI2_EXPORT void fmi2FreeInstance(fmi2Component c) { unit_free(c); }

/* --- initialisation ------------------------------------------------------------------------------------- */
FMI2_EXPORT fmi2Status fmi2SetupExperiment(fmi2Component c, fmi2Boolean toleranceDefined, fmi2Real tolerance,
                                           fmi2Real startTime, fmi2Boolean stopTimeDefined, fmi2Real stopTime)
{
    ALLOWED(fmi2SetupExperiment, UNIT_INSTANTIATED);
    return (fmi2Status)unit_begin(u, toleranceDefined, tolerance, startTime, stopTimeDefined, stopTime);
}

FMI2_EXPORT fmi2Status fmi2EnterInitializationMode(fmi2Component c)
{
    ALLOWED(fmi2EnterInitializationMode, UNIT_INSTANTIATED);
    u->mode = UNIT_INITIALIZATION;
    return fmi2OK;
}

FMI2_EXPORT fmi2Status fmi2ExitInitializationMode(fmi2Component c)
{
    ALLOWED(fmi2ExitInitializationMode, UNIT_INITIALIZATION);
    const int status = unit_initialised(u);
    if (status) return failed_unless_discarded(u, UNIT_ERROR);
    if (u->exchange)
        unit_enter_event_mode(u);
    else
        u->mode = UNIT_STEP;
    return fmi2OK;
}

FMI2_EXPORT fmi2Status fmi2Terminate(fmi2Component c)
{
    ALLOWED(fmi2Terminate, EXCHANGE | UNIT_STEP);
    u->mode = UNIT_TERMINATED;
    return fmi2OK;
}

FMI2_EXPORT fmi2Status fmi2Reset(fmi2Component c)
{
    ALLOWED(fmi2Reset, ALL);
    unit_reset(u);
    return fmi2OK;
}

/* --- values --------------------------------------------------------------------------------------------- */
FMI2_EXPORT fmi2Status fmi2GetReal(fmi2Component c, const fmi2ValueReference vr[], size_t n, fmi2Real value[])
{
    ALLOWED(fmi2GetReal, HAS_VALUES);
    GIVEN(fmi2GetReal, n, vr)
    GIVEN(fmi2GetReal, n, value)
    int worst = UNIT_OK;
    for (size_t i = 0; i < n; i++) {
        const int status = unit_get(u, vr[i], &value[i]);
        if (status > worst) worst = status;
    }
    return (fmi2Status)worst;
}

FMI2_EXPORT fmi2Status fmi2SetReal(fmi2Component c, const fmi2ValueReference vr[], size_t n, const fmi2Real value[])
{
    ALLOWED(fmi2SetReal, UNIT_INSTANTIATED | UNIT_RUNNING);
    GIVEN(fmi2SetReal, n, vr)
    GIVEN(fmi2SetReal, n, value)
    for (size_t i = 0; i < n; i++) {
        const int status = unit_set(u, vr[i], value[i]);
        if (status) return (fmi2Status)status;
    }
    return fmi2OK;
}

static fmi2Status none_of(unit *u, const char *type, size_t n)
{
    if (n == 0) return fmi2OK;
    unit_say(u, UNIT_ERROR, "logStatusError", "%s: it has no variables of type %s.", u->model->name, type);
    return fmi2Error;
}

#define NO_VARIABLES(type, c_type)                                                                                     \
    FMI2_EXPORT fmi2Status fmi2Get##type(fmi2Component c, const fmi2ValueReference vr[], size_t n, c_type value[])     \
    {                                                                                                                  \
        ALLOWED(fmi2Get##type, HAS_VALUES);                                                                            \
        (void)vr, (void)value;                                                                                         \
        return none_of(u, #type, n);                                                                                   \
    }                                                                                                                  \
    FMI2_EXPORT fmi2Status fmi2Set##type(fmi2Component c, const fmi2ValueReference vr[], size_t n,                     \
                                         const c_type value[])                                                         \
    {                                                                                                                  \
        ALLOWED(fmi2Set##type, UNIT_INSTANTIATED | UNIT_RUNNING);                                                      \
        (void)vr, (void)value;                                                                                         \
        return none_of(u, #type, n);                                                                                   \
    }

NO_VARIABLES(Integer, fmi2Integer)
NO_VARIABLES(Boolean, fmi2Boolean)
NO_VARIABLES(String, fmi2String)

/* --- saved states --------------------------------------------------------------------------------------- */
FMI2_EXPORT fmi2Status fmi2GetFMUstate(fmi2Component c, fmi2FMUstate *state)
{
    ALLOWED(fmi2GetFMUstate, ALL);
    if (!state) return fmi2Error;
    if (unit_unsettle(u)) return fmi2Error;
    unit_bytes *made = *state ? *state : calloc(1, sizeof *made);
    if (!made || unit_save(u, made)) {
        if (made && !*state) free(made);
        return fmi2Error;
    }
    *state = made;
    return fmi2OK;
}

FMI2_EXPORT fmi2Status fmi2SetFMUstate(fmi2Component c, fmi2FMUstate state)
{
    ALLOWED(fmi2SetFMUstate, ALL);
    const unit_bytes none = {0};
    return (fmi2Status)unit_load(u, state ? state : &none);
}

FMI2_EXPORT fmi2Status fmi2FreeFMUstate(fmi2Component c, fmi2FMUstate *state)
{
    ALLOWED(fmi2FreeFMUstate, ALL);
    if (!state || !*state) return fmi2OK;
    free(((unit_bytes *)*state)->values);
    free(*state);
    *state = NULL;
    return fmi2OK;
}

FMI2_EXPORT fmi2Status fmi2SerializedFMUstateSize(fmi2Component c, fmi2FMUstate state, size_t *size)
{
    ALLOWED(fmi2SerializedFMUstateSize, ALL);
    if (!state || !size) return fmi2Error;
    *size = unit_saved_size(state);
    return fmi2OK;
}

FMI2_EXPORT fmi2Status fmi2SerializeFMUstate(fmi2Component c, fmi2FMUstate state, fmi2Byte bytes[], size_t size)
{
    ALLOWED(fmi2SerializeFMUstate, ALL);
    GIVEN(fmi2SerializeFMUstate, 1, bytes)
    if (!state || size < unit_saved_size(state)) return fmi2Error;
    memcpy(bytes, ((unit_bytes *)state)->values, unit_saved_size(state));
    return fmi2OK;
}

FMI2_EXPORT fmi2Status fmi2DeSerializeFMUstate(fmi2Component c, const fmi2Byte bytes[], size_t size,
                                               fmi2FMUstate *state)
{
    ALLOWED(fmi2DeSerializeFMUstate, ALL);
    if (!bytes || !state) return fmi2Error;
    return (fmi2Status)unit_restore_bytes(u, bytes, size, (unit_bytes **)state);
}

FMI2_EXPORT fmi2Status fmi2GetDirectionalDerivative(fmi2Component c, const fmi2ValueReference unknown[],
                                                    size_t nUnknown, const fmi2ValueReference known[], size_t nKnown,
                                                    const fmi2Real seed[], fmi2Real result[])
{
    ALLOWED(fmi2GetDirectionalDerivative, HAS_VALUES);
    GIVEN(fmi2GetDirectionalDerivative, nUnknown, unknown)
    GIVEN(fmi2GetDirectionalDerivative, nUnknown, result)
    GIVEN(fmi2GetDirectionalDerivative, nKnown, known)
    GIVEN(fmi2GetDirectionalDerivative, nKnown, seed)
    return (fmi2Status)unit_forward(u, unknown, nUnknown, known, nKnown, seed, result);
}

/* --- model exchange ------------------------------------------------------------------------------------- */
#define EXCHANGED(function, modes)                                                                                     \
    ALLOWED(function, modes);                                                                                          \
    if (!u->exchange) return fmi2Error

/* Without anything between events an importer may go from one to the next (FMI 2.0.2, section 3.2.3, note 8). */
static int is_discrete(const unit *u)
{
    const pl_system *s = u->model->system;
    return !u->run.model->nx && !s->n_events && !s->n_delays;
}

FMI2_EXPORT fmi2Status fmi2EnterEventMode(fmi2Component c)
{
    EXCHANGED(fmi2EnterEventMode, UNIT_CONTINUOUS | (is_discrete(u) ? UNIT_EVENT : 0));
    return (fmi2Status)unit_enter_event_mode(u);
}

FMI2_EXPORT fmi2Status fmi2NewDiscreteStates(fmi2Component c, fmi2EventInfo *info)
{
    EXCHANGED(fmi2NewDiscreteStates, UNIT_EVENT);
    GIVEN(fmi2NewDiscreteStates, 1, info)
    unit_update found = {0};
    const int status = unit_update_states(u, &found);
    memset(info, 0, sizeof *info);
    info->terminateSimulation = found.terminate;
    info->valuesOfContinuousStatesChanged = found.values_changed;
    info->nextEventTimeDefined = found.next_defined;
    info->nextEventTime = found.next_defined ? found.next : 0.0;
    return failed_unless_discarded(u, status ? UNIT_ERROR : UNIT_OK);
}

FMI2_EXPORT fmi2Status fmi2EnterContinuousTimeMode(fmi2Component c)
{
    EXCHANGED(fmi2EnterContinuousTimeMode, UNIT_EVENT);
    return (fmi2Status)unit_enter_continuous_mode(u);
}

FMI2_EXPORT fmi2Status fmi2CompletedIntegratorStep(fmi2Component c, fmi2Boolean noSetPrior,
                                                   fmi2Boolean *enterEventMode, fmi2Boolean *terminateSimulation)
{
    EXCHANGED(fmi2CompletedIntegratorStep, UNIT_CONTINUOUS);
    GIVEN(fmi2CompletedIntegratorStep, 1, enterEventMode)
    GIVEN(fmi2CompletedIntegratorStep, 1, terminateSimulation)
    (void)noSetPrior;
    return (fmi2Status)unit_completed_step(u, enterEventMode, terminateSimulation);
}

FMI2_EXPORT fmi2Status fmi2SetTime(fmi2Component c, fmi2Real time)
{
    EXCHANGED(fmi2SetTime, EXCHANGE);
    unit_set_time(u, time);
    return fmi2OK;
}

static fmi2Status right_number(unit *u, const char *function, size_t n, int32_t expected)
{
    if (n == (size_t)expected) return fmi2OK;
    unit_say(u, UNIT_ERROR, "logStatusError", "%s: %s got %u numbers, expected %d.", u->model->name, function,
             (unsigned)n, (int)expected);
    return fmi2Error;
}

#define STATES(function, modes)                                                                                        \
    EXCHANGED(function, modes);                                                                                        \
    if (right_number(u, #function, n, u->run.model->nx)) return fmi2Error

FMI2_EXPORT fmi2Status fmi2SetContinuousStates(fmi2Component c, const fmi2Real x[], size_t n)
{
    STATES(fmi2SetContinuousStates, UNIT_CONTINUOUS);
    GIVEN(fmi2SetContinuousStates, n, x)
    unit_set_states(u, x);
    return fmi2OK;
}

FMI2_EXPORT fmi2Status fmi2GetDerivatives(fmi2Component c, fmi2Real derivatives[], size_t n)
{
    STATES(fmi2GetDerivatives, UNIT_INITIALIZATION | EXCHANGE | UNIT_TERMINATED | UNIT_FAILED);
    GIVEN(fmi2GetDerivatives, n, derivatives)
    if (u->mode == UNIT_INITIALIZATION && unit_settle(u)) return fmi2Error;
    const int status = unit_rates(u);
    if (n) memcpy(derivatives, u->rates, sizeof(double) * n);
    return (fmi2Status)status;
}

FMI2_EXPORT fmi2Status fmi2GetEventIndicators(fmi2Component c, fmi2Real indicators[], size_t n)
{
    EXCHANGED(fmi2GetEventIndicators, UNIT_INITIALIZATION | EXCHANGE | UNIT_TERMINATED | UNIT_FAILED);
    if (right_number(u, "fmi2GetEventIndicators", n, u->model->system->n_events)) return fmi2Error;
    GIVEN(fmi2GetEventIndicators, n, indicators)
    if (u->mode == UNIT_INITIALIZATION && unit_settle(u)) return fmi2Error;
    return (fmi2Status)unit_indicators(u, indicators);
}

FMI2_EXPORT fmi2Status fmi2GetContinuousStates(fmi2Component c, fmi2Real x[], size_t n)
{
    STATES(fmi2GetContinuousStates, UNIT_INITIALIZATION | EXCHANGE | UNIT_TERMINATED | UNIT_FAILED);
    GIVEN(fmi2GetContinuousStates, n, x)
    if (u->mode == UNIT_INITIALIZATION && unit_settle(u)) return fmi2Error;
    if (n) memcpy(x, u->context.x, sizeof(double) * n);
    return fmi2OK;
}

FMI2_EXPORT fmi2Status fmi2GetNominalsOfContinuousStates(fmi2Component c, fmi2Real nominals[], size_t n)
{
    STATES(fmi2GetNominalsOfContinuousStates, ALL);
    GIVEN(fmi2GetNominalsOfContinuousStates, n, nominals)
    if (n) memcpy(nominals, u->model->system->nominal, sizeof(double) * n);
    return fmi2OK;
}

/* --- co-simulation -------------------------------------------------------------------------------------- */
#define STEPPED(function, modes)                                                                                       \
    ALLOWED(function, modes);                                                                                          \
    if (u->exchange) return fmi2Error

FMI2_EXPORT fmi2Status fmi2SetRealInputDerivatives(fmi2Component c, const fmi2ValueReference vr[], size_t n,
                                                   const fmi2Integer order[], const fmi2Real value[])
{
    STEPPED(fmi2SetRealInputDerivatives, UNIT_INSTANTIATED | UNIT_INITIALIZATION | UNIT_STEP);
    (void)vr, (void)order, (void)value;
    if (n == 0) return fmi2OK;
    unit_say(u, UNIT_ERROR, "logStatusError", "%s: inputs are held over a step (canInterpolateInputs is false).",
             u->model->name);
    return fmi2Error;
}

FMI2_EXPORT fmi2Status fmi2GetRealOutputDerivatives(fmi2Component c, const fmi2ValueReference vr[], size_t n,
                                                    const fmi2Integer order[], fmi2Real value[])
{
    STEPPED(fmi2GetRealOutputDerivatives, UNIT_STEP | UNIT_TERMINATED | UNIT_FAILED);
    GIVEN(fmi2GetRealOutputDerivatives, n, vr)
    GIVEN(fmi2GetRealOutputDerivatives, n, order)
    GIVEN(fmi2GetRealOutputDerivatives, n, value)
    for (size_t i = 0; i < n; i++) {
        if (order[i] != 1) {
            unit_say(u, UNIT_ERROR, "logStatusError", "%s: derivatives of outputs are of order 1, not %d.",
                     u->model->name, (int)order[i]);
            return fmi2Error;
        }
    }
    return (fmi2Status)unit_output_rates(u, vr, n, value);
}

FMI2_EXPORT fmi2Status fmi2DoStep(fmi2Component c, fmi2Real t, fmi2Real h, fmi2Boolean noSetPrior)
{
    STEPPED(fmi2DoStep, UNIT_STEP);
    unit_arrival arrival;
    (void)noSetPrior;
    const int status = unit_step(u, t, h, &arrival);
    if (status == UNIT_OK && arrival.ended) return fmi2Discard; /* fmi2Terminated is true */
    return failed_unless_discarded(u, status);
}

static fmi2Status nothing_pending(unit *u, const char *function)
{
    unit_say(u, UNIT_ERROR, "logStatusError", "%s: %s: steps end before fmi2DoStep returns.", u->model->name, function);
    return fmi2Error;
}

FMI2_EXPORT fmi2Status fmi2CancelStep(fmi2Component c)
{
    STEPPED(fmi2CancelStep, ALL);
    return nothing_pending(u, "fmi2CancelStep");
}

FMI2_EXPORT fmi2Status fmi2GetStatus(fmi2Component c, const fmi2StatusKind kind, fmi2Status *value)
{
    STEPPED(fmi2GetStatus, ALL);
    (void)kind, (void)value;
    return nothing_pending(u, "fmi2GetStatus");
}

FMI2_EXPORT fmi2Status fmi2GetRealStatus(fmi2Component c, const fmi2StatusKind kind, fmi2Real *value)
{
    STEPPED(fmi2GetRealStatus, UNIT_STEP | UNIT_TERMINATED | UNIT_FAILED);
    GIVEN(fmi2GetRealStatus, 1, value)
    if (kind != fmi2LastSuccessfulTime) return nothing_pending(u, "fmi2GetRealStatus");
    *value = u->last;
    return fmi2OK;
}

FMI2_EXPORT fmi2Status fmi2GetIntegerStatus(fmi2Component c, const fmi2StatusKind kind, fmi2Integer *value)
{
    STEPPED(fmi2GetIntegerStatus, ALL);
    (void)kind, (void)value;
    return nothing_pending(u, "fmi2GetIntegerStatus");
}

FMI2_EXPORT fmi2Status fmi2GetBooleanStatus(fmi2Component c, const fmi2StatusKind kind, fmi2Boolean *value)
{
    STEPPED(fmi2GetBooleanStatus, UNIT_STEP | UNIT_TERMINATED | UNIT_FAILED);
    GIVEN(fmi2GetBooleanStatus, 1, value)
    if (kind != fmi2Terminated) return nothing_pending(u, "fmi2GetBooleanStatus");
    *value = u->context.stopped != 0;
    return fmi2OK;
}

FMI2_EXPORT fmi2Status fmi2GetStringStatus(fmi2Component c, const fmi2StatusKind kind, fmi2String *value)
{
    STEPPED(fmi2GetStringStatus, ALL);
    (void)kind, (void)value;
    return nothing_pending(u, "fmi2GetStringStatus");
}
