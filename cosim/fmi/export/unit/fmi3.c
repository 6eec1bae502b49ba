/* The 75 functions of FMI 3.0 (sections 2.3, 3.2, 4.2, 5.2 of the standard) on an instance: instances, modes, steps.
   Values, states and derivatives are in fmi3_values.c, clocks in fmi3_clocks.c. */

#include "fmi3.h"

static void log_line(const unit *u, int status, const char *category, const char *message)
{
    ((fmi3LogMessageCallback)u->callback)(u->environment, (fmi3Status)status, category, message);
}

/* --- version, instances --------------------------------------------------------------------------------- */
FMI3_EXPORT const char *fmi3GetVersion(void) { return "3.0"; }

FMI3_EXPORT fmi3Status fmi3SetDebugLogging(fmi3Instance instance, fmi3Boolean on, size_t n,
                                           const fmi3String categories[])
{
    ALLOWED(fmi3SetDebugLogging, UNIT_ANY);
    GIVEN(fmi3SetDebugLogging, n, categories)
    u->verbose = on && n == 0;
    for (size_t i = 0; i < n; i++) u->verbose |= on && !strcmp(categories[i], "logEvents");
    return fmi3OK;
}

static fmi3Instance made(fmi3String name, fmi3String token, fmi3Boolean loggingOn, fmi3InstanceEnvironment environment,
                         fmi3LogMessageCallback log, int exchange)
{
    const char *wrong = NULL;

    if (!name || !name[0])
        wrong = "an instance needs a name.";
    else if (!token || strcmp(token, unit_exported.token))
        wrong = "the instantiation token is not the one of this model: description and binary do not belong together.";
    if (wrong) {
        if (log) log(environment, fmi3Error, "logStatusError", wrong);
        return NULL;
    }
    unit *u = unit_create(&unit_exported, name, exchange);
    if (!u) {
        if (log) log(environment, fmi3Fatal, "logStatusFatal", "no memory for an instance.");
        return NULL;
    }
    u->callback = (void (*)(void))log;
    u->log = log ? log_line : NULL;
    u->environment = environment;
    u->verbose = loggingOn;
    return u;
}

/* The importer looks at a step that is under way, and may end it. */
static void intermediate(unit *u, unit_pause *pause)
{
    fmi3Boolean ends = false;
    fmi3Float64 until = 0.0;

    u->mode = UNIT_INTERMEDIATE;
    ((fmi3IntermediateUpdateCallback)u->on_intermediate)(u->environment, u->context.t, false, true, true, u->early != 0,
                                                         &ends, &until);
    if (u->mode != UNIT_INTERMEDIATE) return; /* what was called failed */
    u->mode = UNIT_STEP;
    pause->ends = ends && u->early;
    pause->until = until;
}

FMI3_EXPORT fmi3Instance fmi3InstantiateModelExchange(fmi3String name, fmi3String token, fmi3String resources,
                                                      fmi3Boolean visible, fmi3Boolean loggingOn,
                                                      fmi3InstanceEnvironment environment, fmi3LogMessageCallback log)
{
    (void)resources, (void)visible;
    return made(name, token, loggingOn, environment, log, 1);
}

FMI3_EXPORT fmi3Instance fmi3InstantiateCoSimulation(fmi3String name, fmi3String token, fmi3String resources,
                                                     fmi3Boolean visible, fmi3Boolean loggingOn,
                                                     fmi3Boolean eventModeUsed, fmi3Boolean earlyReturnAllowed,
                                                     const fmi3ValueReference required[], size_t nRequired,
                                                     fmi3InstanceEnvironment environment, fmi3LogMessageCallback log,
                                                     fmi3IntermediateUpdateCallback intermediateUpdate)
{
    (void)resources, (void)visible;
    for (size_t i = 0; i < nRequired; i++) {
        if (required && required[i] < unit_exported.n_numbers && unit_exported.sizes[required[i]]) continue;
        if (log) log(environment, fmi3Error, "logStatusError", "a required intermediate variable does not exist.");
        return NULL;
    }
    unit *u = made(name, token, loggingOn, environment, log, 0);
    if (!u) return NULL;
    u->pauses = eventModeUsed;
    u->early = earlyReturnAllowed;
    u->on_intermediate = (void (*)(void))intermediateUpdate;
    u->intermediate = intermediateUpdate ? intermediate : NULL;
    return u;
}

FMI3_EXPORT fmi3Instance fmi3InstantiateScheduledExecution(
    fmi3String name, fmi3String token, fmi3String resources, fmi3Boolean visible, fmi3Boolean loggingOn,
    fmi3InstanceEnvironment environment, fmi3LogMessageCallback log, fmi3ClockUpdateCallback clockUpdate,
    fmi3LockPreemptionCallback lock, fmi3UnlockPreemptionCallback unlock)
{
    (void)name, (void)token, (void)resources, (void)visible, (void)loggingOn, (void)clockUpdate, (void)lock;
    (void)unlock;
    if (log) log(environment, fmi3Error, "logStatusError", "scheduled execution is not offered.");
    return NULL;
}

FMI3_EXPORT void fmi3FreeInstance(fmi3Instance instance) { unit_free(instance); }

/* --- modes ---------------------------------------------------------------------------------------------- */
FMI3_EXPORT fmi3Status fmi3EnterInitializationMode(fmi3Instance instance, fmi3Boolean toleranceDefined,
                                                   fmi3Float64 tolerance, fmi3Float64 start, fmi3Boolean stopDefined,
                                                   fmi3Float64 stop)
{
    ALLOWED(fmi3EnterInitializationMode, UNIT_INSTANTIATED);
    const int status = unit_begin(u, toleranceDefined, tolerance, start, stopDefined, stop);
    if (!status) u->mode = UNIT_INITIALIZATION;
    return (fmi3Status)status;
}

FMI3_EXPORT fmi3Status fmi3ExitInitializationMode(fmi3Instance instance)
{
    ALLOWED(fmi3ExitInitializationMode, UNIT_INITIALIZATION);
    if (unit_initialised(u)) return failed_unless_discarded(u, UNIT_ERROR);
    if (u->exchange || u->pauses)
        unit_enter_event_mode(u);
    else
        u->mode = UNIT_STEP;
    return fmi3OK;
}

FMI3_EXPORT fmi3Status fmi3EnterEventMode(fmi3Instance instance)
{
    ALLOWED(fmi3EnterEventMode, UNIT_CONTINUOUS | (u->pauses ? UNIT_STEP : 0));
    return (fmi3Status)unit_enter_event_mode(u);
}

FMI3_EXPORT fmi3Status fmi3Terminate(fmi3Instance instance)
{
    ALLOWED(fmi3Terminate, EXCHANGE | UNIT_STEP);
    u->mode = UNIT_TERMINATED;
    return fmi3OK;
}

FMI3_EXPORT fmi3Status fmi3Reset(fmi3Instance instance)
{
    ALLOWED(fmi3Reset, OUTSIDE);
    unit_reset(u);
    return fmi3OK;
}

FMI3_EXPORT fmi3Status fmi3EnterConfigurationMode(fmi3Instance instance)
{
    ALLOWED(fmi3EnterConfigurationMode, UNIT_INSTANTIATED);
    return refused(u, "fmi3EnterConfigurationMode", "there are no structural parameters");
}

FMI3_EXPORT fmi3Status fmi3ExitConfigurationMode(fmi3Instance instance)
{
    ALLOWED(fmi3ExitConfigurationMode, UNIT_CONFIGURATION | UNIT_RECONFIGURATION);
    return fmi3OK;
}

/* --- model exchange ------------------------------------------------------------------------------------- */
FMI3_EXPORT fmi3Status fmi3EvaluateDiscreteStates(fmi3Instance instance)
{
    ALLOWED(fmi3EvaluateDiscreteStates, UNIT_EVENT);
    unit_update found = {0};
    return failed_unless_discarded(u, unit_update_states(u, &found) ? UNIT_ERROR : UNIT_OK);
}

FMI3_EXPORT fmi3Status fmi3UpdateDiscreteStates(fmi3Instance instance, fmi3Boolean *needUpdate, fmi3Boolean *terminate,
                                                fmi3Boolean *nominalsChanged, fmi3Boolean *valuesChanged,
                                                fmi3Boolean *nextDefined, fmi3Float64 *next)
{
    ALLOWED(fmi3UpdateDiscreteStates, UNIT_EVENT);
    GIVEN(fmi3UpdateDiscreteStates, 1, needUpdate)
    GIVEN(fmi3UpdateDiscreteStates, 1, terminate)
    GIVEN(fmi3UpdateDiscreteStates, 1, nominalsChanged)
    GIVEN(fmi3UpdateDiscreteStates, 1, valuesChanged)
    GIVEN(fmi3UpdateDiscreteStates, 1, nextDefined)
    GIVEN(fmi3UpdateDiscreteStates, 1, next)
    unit_update found = {0};
    const int status = unit_update_states(u, &found);
    *needUpdate = *nominalsChanged = false;
    *terminate = found.terminate != 0;
    *valuesChanged = found.values_changed != 0;
    *nextDefined = found.next_defined != 0;
    *next = found.next_defined ? found.next : 0.0;
    return failed_unless_discarded(u, status ? UNIT_ERROR : UNIT_OK);
}

FMI3_EXPORT fmi3Status fmi3EnterContinuousTimeMode(fmi3Instance instance)
{
    ALLOWED(fmi3EnterContinuousTimeMode, UNIT_EVENT);
    if (!u->exchange) return refused(u, "fmi3EnterContinuousTimeMode", "the instance is for co-simulation");
    return (fmi3Status)unit_enter_continuous_mode(u);
}

FMI3_EXPORT fmi3Status fmi3CompletedIntegratorStep(fmi3Instance instance, fmi3Boolean noSetPrior,
                                                   fmi3Boolean *enterEventMode, fmi3Boolean *terminate)
{
    ALLOWED(fmi3CompletedIntegratorStep, UNIT_CONTINUOUS);
    GIVEN(fmi3CompletedIntegratorStep, 1, enterEventMode)
    GIVEN(fmi3CompletedIntegratorStep, 1, terminate)
    int enter, end;
    (void)noSetPrior;
    const int status = unit_completed_step(u, &enter, &end);
    *enterEventMode = enter != 0;
    *terminate = end != 0;
    return (fmi3Status)status;
}

FMI3_EXPORT fmi3Status fmi3SetTime(fmi3Instance instance, fmi3Float64 time)
{
    ALLOWED(fmi3SetTime, EXCHANGE); /* the standard: in continuous-time mode; importers call it in event mode too */
    if (!u->exchange) return refused(u, "fmi3SetTime", "the instance is for co-simulation");
    unit_set_time(u, time);
    return fmi3OK;
}

static int right_number(const unit *u, const char *function, size_t n, int32_t expected)
{
    if (n == (size_t)expected) return 1;
    unit_say(u, UNIT_ERROR, "logStatusError", "%s: %s got %u numbers, expected %d.", u->model->name, function,
             (unsigned)n, (int)expected);
    return 0;
}

static const int KNOWN = UNIT_INITIALIZATION | UNIT_EVENT | UNIT_CONTINUOUS | UNIT_TERMINATED | UNIT_FAILED;

#define STATES(function, modes)                                                                                        \
    ALLOWED(function, modes);                                                                                          \
    if (!u->exchange) return refused(u, #function, "the instance is for co-simulation");                               \
    if (!right_number(u, #function, n, u->run.model->nx)) return fmi3Error

FMI3_EXPORT fmi3Status fmi3SetContinuousStates(fmi3Instance instance, const fmi3Float64 x[], size_t n)
{
    STATES(fmi3SetContinuousStates, UNIT_CONTINUOUS);
    GIVEN(fmi3SetContinuousStates, n, x)
    unit_set_states(u, x);
    return fmi3OK;
}

FMI3_EXPORT fmi3Status fmi3GetContinuousStateDerivatives(fmi3Instance instance, fmi3Float64 derivatives[], size_t n)
{
    STATES(fmi3GetContinuousStateDerivatives, KNOWN);
    GIVEN(fmi3GetContinuousStateDerivatives, n, derivatives)
    if (u->mode == UNIT_INITIALIZATION && unit_settle(u)) return fmi3Error;
    const int status = unit_rates(u);
    if (n) memcpy(derivatives, u->rates, sizeof(double) * n);
    return (fmi3Status)status;
}

FMI3_EXPORT fmi3Status fmi3GetEventIndicators(fmi3Instance instance, fmi3Float64 indicators[], size_t n)
{
    ALLOWED(fmi3GetEventIndicators, KNOWN);
    if (!u->exchange) return refused(u, "fmi3GetEventIndicators", "the instance is for co-simulation");
    if (!right_number(u, "fmi3GetEventIndicators", n, u->model->system->n_events)) return fmi3Error;
    GIVEN(fmi3GetEventIndicators, n, indicators)
    if (u->mode == UNIT_INITIALIZATION && unit_settle(u)) return fmi3Error;
    return (fmi3Status)unit_indicators(u, indicators);
}

FMI3_EXPORT fmi3Status fmi3GetContinuousStates(fmi3Instance instance, fmi3Float64 x[], size_t n)
{
    STATES(fmi3GetContinuousStates, KNOWN);
    GIVEN(fmi3GetContinuousStates, n, x)
    if (u->mode == UNIT_INITIALIZATION && unit_settle(u)) return fmi3Error;
    if (n) memcpy(x, u->context.x, sizeof(double) * n);
    return fmi3OK;
}

FMI3_EXPORT fmi3Status fmi3GetNominalsOfContinuousStates(fmi3Instance instance, fmi3Float64 nominals[], size_t n)
{
    STATES(fmi3GetNominalsOfContinuousStates, KNOWN | BEFORE);
    GIVEN(fmi3GetNominalsOfContinuousStates, n, nominals)
    if (n) memcpy(nominals, u->model->system->nominal, sizeof(double) * n);
    return fmi3OK;
}

FMI3_EXPORT fmi3Status fmi3GetNumberOfEventIndicators(fmi3Instance instance, size_t *n)
{
    ALLOWED(fmi3GetNumberOfEventIndicators, UNIT_ANY);
    GIVEN(fmi3GetNumberOfEventIndicators, 1, n)
    *n = (size_t)u->model->system->n_events;
    return fmi3OK;
}

FMI3_EXPORT fmi3Status fmi3GetNumberOfContinuousStates(fmi3Instance instance, size_t *n)
{
    ALLOWED(fmi3GetNumberOfContinuousStates, UNIT_ANY);
    GIVEN(fmi3GetNumberOfContinuousStates, 1, n)
    *n = (size_t)u->run.model->nx;
    return fmi3OK;
}

/* --- co-simulation -------------------------------------------------------------------------------------- */
FMI3_EXPORT fmi3Status fmi3EnterStepMode(fmi3Instance instance)
{
    ALLOWED(fmi3EnterStepMode, UNIT_EVENT);
    if (u->exchange) return refused(u, "fmi3EnterStepMode", "the instance is for model exchange");
    if (u->due) return refused(u, "fmi3EnterStepMode", "call fmi3UpdateDiscreteStates first: an event waits");
    u->mode = UNIT_STEP;
    return fmi3OK;
}

FMI3_EXPORT fmi3Status fmi3DoStep(fmi3Instance instance, fmi3Float64 t, fmi3Float64 h, fmi3Boolean noSetPrior,
                                  fmi3Boolean *eventHandlingNeeded, fmi3Boolean *terminate, fmi3Boolean *earlyReturn,
                                  fmi3Float64 *last)
{
    ALLOWED(fmi3DoStep, UNIT_STEP);
    GIVEN(fmi3DoStep, 1, eventHandlingNeeded)
    GIVEN(fmi3DoStep, 1, terminate)
    GIVEN(fmi3DoStep, 1, earlyReturn)
    GIVEN(fmi3DoStep, 1, last)
    unit_arrival arrival;
    (void)noSetPrior;
    const int status = unit_step(u, t, h, &arrival);
    *eventHandlingNeeded = arrival.event != 0;
    *earlyReturn = arrival.early != 0;
    *terminate = arrival.ended != 0;
    *last = arrival.last;
    return failed_unless_discarded(u, status);
}
