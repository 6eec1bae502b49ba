/* The 75 functions of FMI 3.0 (sections 2.3, 3.2, 4.2, 5.2 of the standard) on an instance. */

#include "unit.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#if defined(_WIN32)
#define FMI3_EXPORT __declspec(dllexport)
#else
#define FMI3_EXPORT __attribute__((visibility("default")))
#endif

typedef void *fmi3Instance;
typedef void *fmi3InstanceEnvironment;
typedef void *fmi3FMUState;
typedef uint32_t fmi3ValueReference;
typedef float fmi3Float32;
typedef double fmi3Float64;
typedef int8_t fmi3Int8;
typedef uint8_t fmi3UInt8;
typedef int16_t fmi3Int16;
typedef uint16_t fmi3UInt16;
typedef int32_t fmi3Int32;
typedef uint32_t fmi3UInt32;
typedef int64_t fmi3Int64;
typedef uint64_t fmi3UInt64;
typedef bool fmi3Boolean;
typedef const char *fmi3String;
typedef uint8_t fmi3Byte;
typedef const fmi3Byte *fmi3Binary;
typedef bool fmi3Clock;

typedef enum { fmi3OK, fmi3Warning, fmi3Discard, fmi3Error, fmi3Fatal } fmi3Status;
typedef enum { fmi3Independent, fmi3Constant, fmi3Fixed, fmi3Tunable, fmi3Discrete, fmi3Dependent } fmi3DependencyKind;
typedef enum { fmi3IntervalNotYetKnown, fmi3IntervalUnchanged, fmi3IntervalChanged } fmi3IntervalQualifier;

typedef void (*fmi3LogMessageCallback)(fmi3InstanceEnvironment, fmi3Status, fmi3String, fmi3String);
typedef void (*fmi3ClockUpdateCallback)(fmi3InstanceEnvironment);
typedef void (*fmi3IntermediateUpdateCallback)(fmi3InstanceEnvironment, fmi3Float64, fmi3Boolean, fmi3Boolean,
                                               fmi3Boolean, fmi3Boolean, fmi3Boolean *, fmi3Float64 *);
typedef void (*fmi3LockPreemptionCallback)(void);
typedef void (*fmi3UnlockPreemptionCallback)(void);

static void log_line(const unit *u, int status, const char *category, const char *message)
{
    ((fmi3LogMessageCallback)u->callback)(u->environment, (fmi3Status)status, category, message);
}

static const int EXCHANGE = UNIT_EVENT | UNIT_CONTINUOUS;
static const int BEFORE = UNIT_INSTANTIATED | UNIT_CONFIGURATION;
static const int SETTABLE = UNIT_INSTANTIATED | UNIT_CONFIGURATION | UNIT_RECONFIGURATION | UNIT_RUNNING;

#define ALLOWED(function, modes)                                                                                       \
    unit *u = instance;                                                                                                \
    if (!u) return fmi3Error;                                                                                          \
    if (!unit_allowed(u, #function, modes)) return fmi3Error

static fmi3Status failed_unless_discarded(unit *u, int status)
{
    if (status >= UNIT_ERROR) u->mode = UNIT_FAILED;
    return (fmi3Status)status;
}

static fmi3Status refused(const unit *u, const char *function, const char *why)
{
    unit_say(u, UNIT_ERROR, "logStatusError", "%s: %s: %s.", u->model->name, function, why);
    return fmi3Error;
}

/* --- version, instances --------------------------------------------------------------------------------- */
FMI3_EXPORT const char *fmi3GetVersion(void) { return "3.0"; }

FMI3_EXPORT fmi3Status fmi3SetDebugLogging(fmi3Instance instance, fmi3Boolean on, size_t n,
                                           const fmi3String categories[])
{
    ALLOWED(fmi3SetDebugLogging, UNIT_ANY);
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
    (void)resources, (void)visible, (void)earlyReturnAllowed, (void)required, (void)intermediateUpdate;
    if (eventModeUsed || nRequired) {
        if (log)
            log(environment, fmi3Error, "logStatusError",
                "event mode and intermediate variables are not offered in co-simulation.");
        return NULL;
    }
    return made(name, token, loggingOn, environment, log, 0);
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
    if (u->exchange)
        unit_enter_event_mode(u);
    else
        u->mode = UNIT_STEP;
    return fmi3OK;
}

FMI3_EXPORT fmi3Status fmi3EnterEventMode(fmi3Instance instance)
{
    ALLOWED(fmi3EnterEventMode, UNIT_CONTINUOUS);
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
    ALLOWED(fmi3Reset, UNIT_ANY);
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

/* --- values --------------------------------------------------------------------------------------------- */
/* The numbers of a variable that begins at a reference; 0: there is none. */
static int32_t size_of(unit *u, fmi3ValueReference reference)
{
    const int32_t n = reference < u->model->n_numbers ? u->model->sizes[reference] : 0;
    if (!n)
        unit_say(u, UNIT_ERROR, "logStatusError", "%s: no variable has the value reference %u.", u->model->name,
                 (unsigned)reference);
    return n;
}

/* Do variables have as many numbers as were given? */
static int sized(unit *u, const char *function, const fmi3ValueReference vr[], size_t n, size_t given)
{
    size_t total = 0;
    for (size_t i = 0; i < n; i++) {
        const int32_t size = size_of(u, vr[i]);
        if (!size) return 0;
        total += (size_t)size;
    }
    if (total == given) return 1;
    unit_say(u, UNIT_ERROR, "logStatusError", "%s: %s: %u numbers were given for variables of %u.", u->model->name,
             function, (unsigned)given, (unsigned)total);
    return 0;
}

FMI3_EXPORT fmi3Status fmi3GetFloat64(fmi3Instance instance, const fmi3ValueReference vr[], size_t n,
                                      fmi3Float64 values[], size_t nValues)
{
    ALLOWED(fmi3GetFloat64, UNIT_ANY);
    int worst = UNIT_OK;
    if (!sized(u, "fmi3GetFloat64", vr, n, nValues)) return fmi3Error;
    for (size_t i = 0; i < n; i++) {
        for (int32_t k = 0; k < u->model->sizes[vr[i]]; k++) {
            const int status = unit_get(u, vr[i] + (uint32_t)k, values++);
            if (status > worst) worst = status;
        }
    }
    return (fmi3Status)worst;
}

FMI3_EXPORT fmi3Status fmi3SetFloat64(fmi3Instance instance, const fmi3ValueReference vr[], size_t n,
                                      const fmi3Float64 values[], size_t nValues)
{
    ALLOWED(fmi3SetFloat64, SETTABLE);
    if (!sized(u, "fmi3SetFloat64", vr, n, nValues)) return fmi3Error;
    for (size_t i = 0; i < n; i++) {
        for (int32_t k = 0; k < u->model->sizes[vr[i]]; k++) {
            const int status = unit_set(u, vr[i] + (uint32_t)k, *values++);
            if (status) return (fmi3Status)status;
        }
    }
    return fmi3OK;
}

static fmi3Status none_of(const unit *u, const char *type, size_t n)
{
    if (n == 0) return fmi3OK;
    unit_say(u, UNIT_ERROR, "logStatusError", "%s: it has no variables of type %s.", u->model->name, type);
    return fmi3Error;
}

#define NO_VARIABLES(type, c_type)                                                                                     \
    FMI3_EXPORT fmi3Status fmi3Get##type(fmi3Instance instance, const fmi3ValueReference vr[], size_t n,               \
                                         c_type values[], size_t nValues)                                              \
    {                                                                                                                  \
        ALLOWED(fmi3Get##type, UNIT_ANY);                                                                              \
        (void)vr, (void)values, (void)nValues;                                                                         \
        return none_of(u, #type, n);                                                                                   \
    }                                                                                                                  \
    FMI3_EXPORT fmi3Status fmi3Set##type(fmi3Instance instance, const fmi3ValueReference vr[], size_t n,               \
                                         const c_type values[], size_t nValues)                                        \
    {                                                                                                                  \
        ALLOWED(fmi3Set##type, SETTABLE);                                                                              \
        (void)vr, (void)values, (void)nValues;                                                                         \
        return none_of(u, #type, n);                                                                                   \
    }

NO_VARIABLES(Float32, fmi3Float32)
NO_VARIABLES(Int8, fmi3Int8)
NO_VARIABLES(UInt8, fmi3UInt8)
NO_VARIABLES(Int16, fmi3Int16)
NO_VARIABLES(UInt16, fmi3UInt16)
NO_VARIABLES(Int32, fmi3Int32)
NO_VARIABLES(UInt32, fmi3UInt32)
NO_VARIABLES(Int64, fmi3Int64)
NO_VARIABLES(UInt64, fmi3UInt64)
NO_VARIABLES(Boolean, fmi3Boolean)
NO_VARIABLES(String, fmi3String)

FMI3_EXPORT fmi3Status fmi3GetBinary(fmi3Instance instance, const fmi3ValueReference vr[], size_t n, size_t sizes[],
                                     fmi3Binary values[], size_t nValues)
{
    ALLOWED(fmi3GetBinary, UNIT_ANY);
    (void)vr, (void)sizes, (void)values, (void)nValues;
    return none_of(u, "Binary", n);
}

FMI3_EXPORT fmi3Status fmi3SetBinary(fmi3Instance instance, const fmi3ValueReference vr[], size_t n,
                                     const size_t sizes[], const fmi3Binary values[], size_t nValues)
{
    ALLOWED(fmi3SetBinary, SETTABLE);
    (void)vr, (void)sizes, (void)values, (void)nValues;
    return none_of(u, "Binary", n);
}

FMI3_EXPORT fmi3Status fmi3GetClock(fmi3Instance instance, const fmi3ValueReference vr[], size_t n, fmi3Clock values[])
{
    ALLOWED(fmi3GetClock, UNIT_ANY);
    (void)vr, (void)values;
    return none_of(u, "Clock", n);
}

FMI3_EXPORT fmi3Status fmi3SetClock(fmi3Instance instance, const fmi3ValueReference vr[], size_t n,
                                    const fmi3Clock values[])
{
    ALLOWED(fmi3SetClock, SETTABLE);
    (void)vr, (void)values;
    return none_of(u, "Clock", n);
}

/* --- dependencies: those of the description, number by number ------------------------------------------- */
static const unit_depends *depends_of(unit *u, fmi3ValueReference reference)
{
    if (!size_of(u, reference)) return NULL;
    for (const unit_depends *d = u->model->depends; d->size; d++)
        if (d->reference == reference) return d;
    unit_say(u, UNIT_ERROR, "logStatusError", "%s: the variable with value reference %u is none the model computes.",
             u->model->name, (unsigned)reference);
    return NULL;
}

FMI3_EXPORT fmi3Status fmi3GetNumberOfVariableDependencies(fmi3Instance instance, fmi3ValueReference reference,
                                                           size_t *n)
{
    ALLOWED(fmi3GetNumberOfVariableDependencies, UNIT_ANY);
    const unit_depends *d = depends_of(u, reference);
    if (!d) return fmi3Error;
    *n = 0;
    for (int32_t k = 0; k < d->size; k++) *n += (size_t)(d->start[k + 1] - d->start[k]);
    return fmi3OK;
}

/* The variable a number belongs to begins at the last reference with a size. */
static fmi3ValueReference first_of(const unit *u, uint32_t number)
{
    while (!u->model->sizes[number]) number--;
    return number;
}

FMI3_EXPORT fmi3Status fmi3GetVariableDependencies(fmi3Instance instance, fmi3ValueReference dependent,
                                                   size_t ofDependent[], fmi3ValueReference independents[],
                                                   size_t ofIndependents[], fmi3DependencyKind kinds[], size_t n)
{
    ALLOWED(fmi3GetVariableDependencies, UNIT_ANY);
    const unit_depends *d = depends_of(u, dependent);
    size_t found = 0;
    if (!d) return fmi3Error;
    for (int32_t k = 0; k < d->size; k++) {
        for (int32_t j = d->start[k]; j < d->start[k + 1]; j++, found++) {
            if (found >= n) return refused(u, "fmi3GetVariableDependencies", "there are more than was said");
            const fmi3ValueReference first = first_of(u, d->on[j]);
            const int one_d = d->size == 1, one_i = u->model->sizes[first] == 1;
            ofDependent[found] = one_d ? 0 : (size_t)k + 1; /* 0: the variable as a whole */
            independents[found] = first;
            ofIndependents[found] = one_i ? 0 : (size_t)(d->on[j] - first) + 1;
            kinds[found] = fmi3Dependent;
        }
    }
    return found == n ? fmi3OK : refused(u, "fmi3GetVariableDependencies", "there are fewer than was said");
}

/* --- saved states --------------------------------------------------------------------------------------- */
FMI3_EXPORT fmi3Status fmi3GetFMUState(fmi3Instance instance, fmi3FMUState *state)
{
    ALLOWED(fmi3GetFMUState, UNIT_ANY);
    if (!state || unit_unsettle(u)) return fmi3Error;
    unit_bytes *saved = *state ? *state : calloc(1, sizeof *saved);
    if (!saved || unit_save(u, saved)) {
        if (saved && !*state) free(saved);
        return fmi3Error;
    }
    *state = saved;
    return fmi3OK;
}

FMI3_EXPORT fmi3Status fmi3SetFMUState(fmi3Instance instance, fmi3FMUState state)
{
    ALLOWED(fmi3SetFMUState, UNIT_ANY);
    const unit_bytes none = {0};
    return (fmi3Status)unit_load(u, state ? state : &none);
}

FMI3_EXPORT fmi3Status fmi3FreeFMUState(fmi3Instance instance, fmi3FMUState *state)
{
    ALLOWED(fmi3FreeFMUState, UNIT_ANY);
    if (!state || !*state) return fmi3OK;
    free(((unit_bytes *)*state)->values);
    free(*state);
    *state = NULL;
    return fmi3OK;
}

FMI3_EXPORT fmi3Status fmi3SerializedFMUStateSize(fmi3Instance instance, fmi3FMUState state, size_t *size)
{
    ALLOWED(fmi3SerializedFMUStateSize, UNIT_ANY);
    if (!state || !size) return fmi3Error;
    *size = unit_saved_size(state);
    return fmi3OK;
}

FMI3_EXPORT fmi3Status fmi3SerializeFMUState(fmi3Instance instance, fmi3FMUState state, fmi3Byte bytes[], size_t size)
{
    ALLOWED(fmi3SerializeFMUState, UNIT_ANY);
    if (!state || size < unit_saved_size(state)) return fmi3Error;
    memcpy(bytes, ((unit_bytes *)state)->values, unit_saved_size(state));
    return fmi3OK;
}

FMI3_EXPORT fmi3Status fmi3DeserializeFMUState(fmi3Instance instance, const fmi3Byte bytes[], size_t size,
                                               fmi3FMUState *state)
{
    ALLOWED(fmi3DeserializeFMUState, UNIT_ANY);
    if (!bytes || !state) return fmi3Error;
    return (fmi3Status)unit_restore_bytes(u, bytes, size, (unit_bytes **)state);
}

/* --- derivatives ---------------------------------------------------------------------------------------- */
/* References of all numbers of some variables, one after the other; null where there is no memory. */
static uint32_t *numbers_of(const unit *u, const fmi3ValueReference vr[], size_t n, size_t total)
{
    uint32_t *found = malloc(sizeof *found * (total + 1)), *next = found;
    for (size_t i = 0; found && i < n; i++)
        for (int32_t k = 0; k < u->model->sizes[vr[i]]; k++) *next++ = vr[i] + (uint32_t)k;
    return found;
}

typedef int (*derivative_of)(unit *, const uint32_t *, size_t, const uint32_t *, size_t, const double *, double *);

static fmi3Status derivative(unit *u, const char *function, derivative_of f, const fmi3ValueReference unknowns[],
                             size_t nUnknowns, size_t unknownValues, const fmi3ValueReference knowns[], size_t nKnowns,
                             size_t knownValues, const fmi3Float64 seed[], fmi3Float64 sensitivity[])
{
    if (!sized(u, function, unknowns, nUnknowns, unknownValues) || !sized(u, function, knowns, nKnowns, knownValues))
        return fmi3Error;
    uint32_t *of = numbers_of(u, unknowns, nUnknowns, unknownValues);
    uint32_t *by = numbers_of(u, knowns, nKnowns, knownValues);
    const int status = of && by ? f(u, of, unknownValues, by, knownValues, seed, sensitivity) : UNIT_ERROR;
    free(of);
    free(by);
    return (fmi3Status)status;
}

static const int AT_A_POINT = UNIT_RUNNING | UNIT_TERMINATED | UNIT_FAILED;

FMI3_EXPORT fmi3Status fmi3GetDirectionalDerivative(fmi3Instance instance, const fmi3ValueReference unknowns[],
                                                    size_t nUnknowns, const fmi3ValueReference knowns[],
                                                    size_t nKnowns, const fmi3Float64 seed[], size_t nSeed,
                                                    fmi3Float64 sensitivity[], size_t nSensitivity)
{
    ALLOWED(fmi3GetDirectionalDerivative, AT_A_POINT);
    return derivative(u, "fmi3GetDirectionalDerivative", unit_forward, unknowns, nUnknowns, nSensitivity, knowns,
                      nKnowns, nSeed, seed, sensitivity);
}

FMI3_EXPORT fmi3Status fmi3GetAdjointDerivative(fmi3Instance instance, const fmi3ValueReference unknowns[],
                                                size_t nUnknowns, const fmi3ValueReference knowns[], size_t nKnowns,
                                                const fmi3Float64 seed[], size_t nSeed, fmi3Float64 sensitivity[],
                                                size_t nSensitivity)
{
    ALLOWED(fmi3GetAdjointDerivative, AT_A_POINT);
    return derivative(u, "fmi3GetAdjointDerivative", unit_adjoint, unknowns, nUnknowns, nSeed, knowns, nKnowns,
                      nSensitivity, seed, sensitivity);
}

/* --- clocks: there are none ----------------------------------------------------------------------------- */
#define CLOCKS fmi3Instance instance, const fmi3ValueReference vr[], size_t n
#define NO_CLOCKS(function)                                                                                            \
    ALLOWED(function, UNIT_ANY);                                                                                       \
    (void)vr;                                                                                                          \
    return none_of(u, "Clock", n)

FMI3_EXPORT fmi3Status fmi3GetIntervalDecimal(CLOCKS, fmi3Float64 intervals[], fmi3IntervalQualifier qualifiers[])
{
    (void)intervals, (void)qualifiers;
    NO_CLOCKS(fmi3GetIntervalDecimal);
}

FMI3_EXPORT fmi3Status fmi3GetIntervalFraction(CLOCKS, fmi3UInt64 counters[], fmi3UInt64 resolutions[],
                                               fmi3IntervalQualifier qualifiers[])
{
    (void)counters, (void)resolutions, (void)qualifiers;
    NO_CLOCKS(fmi3GetIntervalFraction);
}

FMI3_EXPORT fmi3Status fmi3GetShiftDecimal(CLOCKS, fmi3Float64 shifts[])
{
    (void)shifts;
    NO_CLOCKS(fmi3GetShiftDecimal);
}

FMI3_EXPORT fmi3Status fmi3GetShiftFraction(CLOCKS, fmi3UInt64 counters[], fmi3UInt64 resolutions[])
{
    (void)counters, (void)resolutions;
    NO_CLOCKS(fmi3GetShiftFraction);
}

FMI3_EXPORT fmi3Status fmi3SetIntervalDecimal(CLOCKS, const fmi3Float64 intervals[])
{
    (void)intervals;
    NO_CLOCKS(fmi3SetIntervalDecimal);
}

FMI3_EXPORT fmi3Status fmi3SetIntervalFraction(CLOCKS, const fmi3UInt64 counters[], const fmi3UInt64 resolutions[])
{
    (void)counters, (void)resolutions;
    NO_CLOCKS(fmi3SetIntervalFraction);
}

FMI3_EXPORT fmi3Status fmi3SetShiftDecimal(CLOCKS, const fmi3Float64 shifts[])
{
    (void)shifts;
    NO_CLOCKS(fmi3SetShiftDecimal);
}

FMI3_EXPORT fmi3Status fmi3SetShiftFraction(CLOCKS, const fmi3UInt64 counters[], const fmi3UInt64 resolutions[])
{
    (void)counters, (void)resolutions;
    NO_CLOCKS(fmi3SetShiftFraction);
}

FMI3_EXPORT fmi3Status fmi3ActivateModelPartition(fmi3Instance instance, fmi3ValueReference clock, fmi3Float64 time)
{
    ALLOWED(fmi3ActivateModelPartition, UNIT_ANY);
    (void)clock, (void)time;
    return refused(u, "fmi3ActivateModelPartition", "scheduled execution is not offered");
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
    return (fmi3Status)unit_enter_continuous_mode(u);
}

FMI3_EXPORT fmi3Status fmi3CompletedIntegratorStep(fmi3Instance instance, fmi3Boolean noSetPrior,
                                                   fmi3Boolean *enterEventMode, fmi3Boolean *terminate)
{
    ALLOWED(fmi3CompletedIntegratorStep, UNIT_CONTINUOUS);
    int enter, end;
    (void)noSetPrior;
    const int status = unit_completed_step(u, &enter, &end);
    *enterEventMode = enter != 0;
    *terminate = end != 0;
    return (fmi3Status)status;
}

FMI3_EXPORT fmi3Status fmi3SetTime(fmi3Instance instance, fmi3Float64 time)
{
    ALLOWED(fmi3SetTime, EXCHANGE);
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
    unit_set_states(u, x);
    return fmi3OK;
}

FMI3_EXPORT fmi3Status fmi3GetContinuousStateDerivatives(fmi3Instance instance, fmi3Float64 derivatives[], size_t n)
{
    STATES(fmi3GetContinuousStateDerivatives, KNOWN);
    if (u->mode == UNIT_INITIALIZATION && unit_settle(u)) return fmi3Error;
    const int status = unit_rates(u);
    if (n) memcpy(derivatives, u->rates, sizeof(double) * n);
    return (fmi3Status)status;
}

FMI3_EXPORT fmi3Status fmi3GetEventIndicators(fmi3Instance instance, fmi3Float64 indicators[], size_t n)
{
    ALLOWED(fmi3GetEventIndicators, KNOWN);
    if (!right_number(u, "fmi3GetEventIndicators", n, u->model->system->n_events)) return fmi3Error;
    if (u->mode == UNIT_INITIALIZATION && unit_settle(u)) return fmi3Error;
    return (fmi3Status)unit_indicators(u, indicators);
}

FMI3_EXPORT fmi3Status fmi3GetContinuousStates(fmi3Instance instance, fmi3Float64 x[], size_t n)
{
    STATES(fmi3GetContinuousStates, KNOWN);
    if (u->mode == UNIT_INITIALIZATION && unit_settle(u)) return fmi3Error;
    if (n) memcpy(x, u->context.x, sizeof(double) * n);
    return fmi3OK;
}

FMI3_EXPORT fmi3Status fmi3GetNominalsOfContinuousStates(fmi3Instance instance, fmi3Float64 nominals[], size_t n)
{
    STATES(fmi3GetNominalsOfContinuousStates, KNOWN | BEFORE);
    if (n) memcpy(nominals, u->model->system->nominal, sizeof(double) * n);
    return fmi3OK;
}

FMI3_EXPORT fmi3Status fmi3GetNumberOfEventIndicators(fmi3Instance instance, size_t *n)
{
    ALLOWED(fmi3GetNumberOfEventIndicators, UNIT_ANY);
    *n = (size_t)u->model->system->n_events;
    return fmi3OK;
}

FMI3_EXPORT fmi3Status fmi3GetNumberOfContinuousStates(fmi3Instance instance, size_t *n)
{
    ALLOWED(fmi3GetNumberOfContinuousStates, UNIT_ANY);
    *n = (size_t)u->run.model->nx;
    return fmi3OK;
}

/* --- co-simulation -------------------------------------------------------------------------------------- */
FMI3_EXPORT fmi3Status fmi3EnterStepMode(fmi3Instance instance)
{
    ALLOWED(fmi3EnterStepMode, 0);
    return fmi3Error;
}

FMI3_EXPORT fmi3Status fmi3GetOutputDerivatives(fmi3Instance instance, const fmi3ValueReference vr[], size_t n,
                                                const fmi3Int32 orders[], fmi3Float64 values[], size_t nValues)
{
    ALLOWED(fmi3GetOutputDerivatives, UNIT_STEP | UNIT_TERMINATED | UNIT_FAILED);
    for (size_t i = 0; i < n; i++)
        if (orders[i] != 1) return refused(u, "fmi3GetOutputDerivatives", "derivatives of outputs are of order 1");
    if (!sized(u, "fmi3GetOutputDerivatives", vr, n, nValues)) return fmi3Error;
    uint32_t *numbers = numbers_of(u, vr, n, nValues);
    const int status = numbers ? unit_output_rates(u, numbers, nValues, values) : UNIT_ERROR;
    free(numbers);
    return (fmi3Status)status;
}

FMI3_EXPORT fmi3Status fmi3DoStep(fmi3Instance instance, fmi3Float64 t, fmi3Float64 h, fmi3Boolean noSetPrior,
                                  fmi3Boolean *eventHandlingNeeded, fmi3Boolean *terminate, fmi3Boolean *earlyReturn,
                                  fmi3Float64 *last)
{
    ALLOWED(fmi3DoStep, UNIT_STEP);
    unit_arrival arrival;
    (void)noSetPrior;
    const int status = unit_step(u, t, h, &arrival);
    *eventHandlingNeeded = *earlyReturn = false;
    *terminate = arrival.ended != 0;
    *last = arrival.last;
    return failed_unless_discarded(u, status);
}
