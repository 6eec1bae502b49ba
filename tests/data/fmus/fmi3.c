/* A test unit as FMI 3.0. */
#include "fmi3Functions.h"
#include "values.h"

#define SELF Unit *u = (Unit *)instance
#define ALLOW(modes, name) SELF; if (!allowed(u, modes, name)) return fmi3Error; if (is_odd(u, name)) return (fmi3Status)ODD_STATUS
#define NOT_HERE(name) { SELF; say(u, ERROR, "logStatusError", "%s is not supported", name); return fmi3Error; }

void say(Unit *u, Status status, const char *category, const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (u->logger && (u->logging || status >= ERROR))
        ((fmi3LogMessageCallback)u->logger)(u->environment, (fmi3Status)status, category, text);
}

const char *fmi3GetVersion(void) { return "3.0"; }

static Unit *made(fmi3String name, fmi3String token, fmi3String resources, fmi3Boolean logging,
                  fmi3InstanceEnvironment environment, fmi3LogMessageCallback log)
{
    Unit *u = calloc(1, sizeof *u);
    if (!u) return 0;
    u->logger = (void *)log;
    u->environment = environment;
    u->logging = logging;
    snprintf(u->name, sizeof u->name, "%s", name ? name : "");
    if (!token || strcmp(token, TOKEN)) {
        say(u, ERROR, "logStatusError", "instantiation token is %s, expected %s", token ? token : "(null)", TOKEN);
        free(u);
        return 0;
    }
    if (resources) snprintf(u->resources, sizeof u->resources, "%s", resources);
    unit_reset(u);
    u->mode = INSTANTIATED;
    return u;
}

fmi3Instance fmi3InstantiateModelExchange(fmi3String name, fmi3String token, fmi3String resources, fmi3Boolean visible,
                                          fmi3Boolean logging, fmi3InstanceEnvironment environment, fmi3LogMessageCallback log)
{
    (void)visible;
    Unit *u = made(name, token, resources, logging, environment, log);
    if (u) u->exchange = 1;
    return u;
}

fmi3Instance fmi3InstantiateCoSimulation(fmi3String name, fmi3String token, fmi3String resources, fmi3Boolean visible,
                                         fmi3Boolean logging, fmi3Boolean event_mode, fmi3Boolean early_return,
                                         const fmi3ValueReference required[], size_t n, fmi3InstanceEnvironment environment,
                                         fmi3LogMessageCallback log, fmi3IntermediateUpdateCallback intermediate)
{
    (void)visible; (void)required; (void)n;
    Unit *u = made(name, token, resources, logging, environment, log);
    if (u && event_mode && !EVENT_MODE) {
        say(u, ERROR, "logStatusError", "this unit has no event mode");
        free(u);
        return 0;
    }
    if (u) {
        u->event_mode_used = event_mode;
        u->early_return_allowed = early_return;
        u->intermediate = (void *)intermediate;
    }
    return u;
}

fmi3Instance fmi3InstantiateScheduledExecution(fmi3String name, fmi3String token, fmi3String resources, fmi3Boolean visible,
                                               fmi3Boolean logging, fmi3InstanceEnvironment environment, fmi3LogMessageCallback log,
                                               fmi3ClockUpdateCallback clock, fmi3LockPreemptionCallback lock,
                                               fmi3UnlockPreemptionCallback unlock)
{
    (void)visible; (void)lock; (void)unlock;
    Unit *u = made(name, token, resources, logging, environment, log);
    if (u) u->clock_update = (void *)clock;
    return u;
}

void fmi3FreeInstance(fmi3Instance instance)
{
    SELF;
    if (u && u->saved) broken(u, "states are not freed", "fmi3FreeInstance");
    free(u);
}

fmi3Status fmi3SetDebugLogging(fmi3Instance instance, fmi3Boolean on, size_t n, const fmi3String categories[])
{
    ALLOW(ANY, "fmi3SetDebugLogging");
    (void)n; (void)categories;
    u->logging = on;
    return fmi3OK;
}

fmi3Status fmi3EnterInitializationMode(fmi3Instance instance, fmi3Boolean with, fmi3Float64 tolerance, fmi3Float64 start,
                                       fmi3Boolean stops, fmi3Float64 stop)
{
    ALLOW(INSTANTIATED, "fmi3EnterInitializationMode");
    (void)with; (void)tolerance;
    if (stops && stop < start) return fmi3Error;
    u->stop = stops ? stop : INFINITY;
    u->time = u->entered = u->accepted = start;
    u->mode = INITIALIZATION;
    return fmi3OK;
}

fmi3Status fmi3ExitInitializationMode(fmi3Instance instance)
{
    ALLOW(INITIALIZATION, "fmi3ExitInitializationMode");
    model_start(u);
    if (u->mode < 0) {
        u->mode = FAILED;
        return fmi3Error;
    }
    model_calculate(u);
    u->mode = u->exchange || u->event_mode_used ? EVENT : STEP;
    return fmi3OK;
}

fmi3Status fmi3EnterEventMode(fmi3Instance instance)
{
    ALLOW(CONTINUOUS | (u->event_mode_used ? STEP : 0), "fmi3EnterEventMode");
    if (u->mode == CONTINUOUS && NEEDS_COMPLETED && u->accepted != u->time && !broken(u, "no completed step", "fmi3EnterEventMode"))
        return fmi3Error;
    u->settled = 0;
    u->entered = u->time;
    u->mode = EVENT;
    return fmi3OK;
}

fmi3Status fmi3Terminate(fmi3Instance instance)
{
    ALLOW(STEP | EVENT | CONTINUOUS, "fmi3Terminate");
    u->mode = TERMINATED;
    return fmi3OK;
}

fmi3Status fmi3Reset(fmi3Instance instance)
{
    ALLOW(ANY, "fmi3Reset");
    unit_reset(u);
    u->mode = INSTANTIATED;
    return fmi3OK;
}

#include "fmi3_values.h"

fmi3Status fmi3GetNumberOfVariableDependencies(fmi3Instance instance, fmi3ValueReference vr, size_t *n)
{
    (void)vr; (void)n;
    NOT_HERE("fmi3GetNumberOfVariableDependencies")
}

fmi3Status fmi3GetVariableDependencies(fmi3Instance instance, fmi3ValueReference dependent, size_t e[], fmi3ValueReference i[],
                                       size_t ei[], fmi3DependencyKind kinds[], size_t n)
{
    (void)dependent; (void)e; (void)i; (void)ei; (void)kinds; (void)n;
    NOT_HERE("fmi3GetVariableDependencies")
}

/* --- states ---------------------------------------------------------------------------------------------------- */
fmi3Status fmi3GetFMUState(fmi3Instance instance, fmi3FMUState *state)
{
    ALLOW(ROLLBACK ? ANY & ~FAILED : 0, "fmi3GetFMUState");
    if (!*state) *state = malloc(sizeof *u), u->saved++;
    memcpy(*state, u, sizeof *u);
    return fmi3OK;
}

fmi3Status fmi3SetFMUState(fmi3Instance instance, fmi3FMUState state)
{
    ALLOW(ROLLBACK ? ANY : 0, "fmi3SetFMUState");
    const int saved = u->saved;
    if (!LYING) memcpy(u, state, sizeof *u);
    u->saved = saved;
    return fmi3OK;
}

fmi3Status fmi3FreeFMUState(fmi3Instance instance, fmi3FMUState *state)
{
    ALLOW(ROLLBACK ? ANY : 0, "fmi3FreeFMUState");
    if (*state) u->saved--;
    free(*state);
    *state = 0;
    return fmi3OK;
}

fmi3Status fmi3SerializedFMUStateSize(fmi3Instance instance, fmi3FMUState state, size_t *size)
{
    ALLOW(SERIALIZES ? ANY : 0, "fmi3SerializedFMUStateSize");
    (void)state;
    *size = sizeof *u;
    return fmi3OK;
}

fmi3Status fmi3SerializeFMUState(fmi3Instance instance, fmi3FMUState state, fmi3Byte bytes[], size_t size)
{
    ALLOW(SERIALIZES ? ANY : 0, "fmi3SerializeFMUState");
    if (size < sizeof *u) return fmi3Error;
    memcpy(bytes, state, sizeof *u);
    return fmi3OK;
}

fmi3Status fmi3DeserializeFMUState(fmi3Instance instance, const fmi3Byte bytes[], size_t size, fmi3FMUState *state)
{
    ALLOW(SERIALIZES ? ANY : 0, "fmi3DeserializeFMUState");
    if (size != sizeof *u) return fmi3Error;
    if (!*state) *state = malloc(sizeof *u), u->saved++;
    memcpy(*state, bytes, size);
    Unit *s = *state; /* pointers belong to this process */
    s->logger = u->logger;
    s->environment = u->environment;
    s->intermediate = u->intermediate;
    memcpy(s->resources, u->resources, sizeof s->resources);
    return fmi3OK;
}

/* --- derivatives: scalars only ----------------------------------------------------------------------------------- */
fmi3Status fmi3GetDirectionalDerivative(fmi3Instance instance, const fmi3ValueReference unknown[], size_t n,
                                        const fmi3ValueReference known[], size_t m, const fmi3Float64 seed[], size_t n_seed,
                                        fmi3Float64 out[], size_t n_out)
{
    ALLOW(DIRECTIONAL ? INITIALIZATION | STEP | EVENT | CONTINUOUS : 0, "fmi3GetDirectionalDerivative");
    if (n != n_out || m != n_seed) return fmi3Error;
    for (size_t i = 0; i < n; i++) {
        out[i] = 0;
        for (size_t j = 0; j < m; j++)
            out[i] += model_partial(u, (int)(unknown[i] - 10) / 3, (int)(known[j] - 10) / 3) * seed[j];
    }
    return fmi3OK;
}

fmi3Status fmi3GetAdjointDerivative(fmi3Instance instance, const fmi3ValueReference unknown[], size_t n,
                                    const fmi3ValueReference known[], size_t m, const fmi3Float64 seed[], size_t n_seed,
                                    fmi3Float64 out[], size_t n_out)
{
    ALLOW(DIRECTIONAL ? INITIALIZATION | STEP | EVENT | CONTINUOUS : 0, "fmi3GetAdjointDerivative");
    if (n != n_seed || m != n_out) return fmi3Error;
    for (size_t j = 0; j < m; j++) {
        out[j] = 0;
        for (size_t i = 0; i < n; i++)
            out[j] += model_partial(u, (int)(unknown[i] - 10) / 3, (int)(known[j] - 10) / 3) * seed[i];
    }
    return fmi3OK;
}

/* --- configuration, clocks ---------------------------------------------------------------------------------------- */
fmi3Status fmi3EnterConfigurationMode(fmi3Instance instance)
{
    ALLOW(INSTANTIATED | (u->exchange ? EVENT : STEP), "fmi3EnterConfigurationMode");
    u->mode_before = u->mode;
    u->mode = CONFIGURATION;
    return fmi3OK;
}

fmi3Status fmi3ExitConfigurationMode(fmi3Instance instance)
{
    ALLOW(CONFIGURATION, "fmi3ExitConfigurationMode");
    for (int i = 0; i < N_VARIABLES; i++)
        for (int k = 0; k < TABLE[i].n_dimensions; k++)
            if (TABLE[i].dimension[k] < 0 && u->cell[TABLE[-1 - TABLE[i].dimension[k]].first].u > MOST_LONG) {
                say(u, ERROR, "logStatusError", "%s is longer than %d", TABLE[i].name, MOST_LONG);
                return fmi3Error;
            }
    u->mode = u->mode_before;
    return fmi3OK;
}

typedef const fmi3ValueReference *References;

static int bit(unsigned clock)
{
    int k = 0;
    while (clock >>= 1) k++;
    return k;
}

fmi3Status fmi3GetIntervalDecimal(fmi3Instance instance, const fmi3ValueReference vr[], size_t n, fmi3Float64 a[], fmi3IntervalQualifier q[])
{
    ALLOW(INITIALIZATION | EVENT | (u->clock_update ? STEP : 0), "fmi3GetIntervalDecimal");
    for (size_t k = 0; k < n; k++) {
        const int i = place(u, vr[k], CLOCK, 0);
        if (i < 0) return fmi3Error;
        a[k] = u->interval[bit(TABLE[i].clocks)];
        q[k] = u->said & TABLE[i].clocks ? fmi3IntervalChanged : a[k] > 0 ? fmi3IntervalUnchanged : fmi3IntervalNotYetKnown;
        u->said &= ~TABLE[i].clocks;
    }
    return fmi3OK;
}

fmi3Status fmi3SetIntervalDecimal(fmi3Instance instance, const fmi3ValueReference vr[], size_t n, const fmi3Float64 a[])
{
    ALLOW(INITIALIZATION, "fmi3SetIntervalDecimal");
    for (size_t k = 0; k < n; k++) {
        const int i = place(u, vr[k], CLOCK, 0);
        if (i < 0 || !(a[k] > 0)) return fmi3Error;
        u->interval[bit(TABLE[i].clocks)] = a[k];
    }
    return fmi3OK;
}
fmi3Status fmi3GetIntervalFraction(fmi3Instance instance, const fmi3ValueReference vr[], size_t n, fmi3UInt64 a[], fmi3UInt64 b[], fmi3IntervalQualifier q[]) { (void)vr; (void)n; (void)a; (void)b; (void)q; NOT_HERE("fmi3GetIntervalFraction") }
fmi3Status fmi3GetShiftDecimal(fmi3Instance instance, const fmi3ValueReference vr[], size_t n, fmi3Float64 a[])
{
    ALLOW(INITIALIZATION, "fmi3GetShiftDecimal");
    (void)vr;
    for (size_t k = 0; k < n; k++) a[k] = 0.25;
    return fmi3OK;
}
fmi3Status fmi3GetShiftFraction(fmi3Instance instance, const fmi3ValueReference vr[], size_t n, fmi3UInt64 a[], fmi3UInt64 b[]) { (void)vr; (void)n; (void)a; (void)b; NOT_HERE("fmi3GetShiftFraction") }
fmi3Status fmi3SetIntervalFraction(fmi3Instance instance, const fmi3ValueReference vr[], size_t n, const fmi3UInt64 a[], const fmi3UInt64 b[]) { (void)vr; (void)n; (void)a; (void)b; NOT_HERE("fmi3SetIntervalFraction") }
fmi3Status fmi3SetShiftDecimal(fmi3Instance instance, const fmi3ValueReference vr[], size_t n, const fmi3Float64 a[]) { (void)vr; (void)n; (void)a; NOT_HERE("fmi3SetShiftDecimal") }
fmi3Status fmi3SetShiftFraction(fmi3Instance instance, const fmi3ValueReference vr[], size_t n, const fmi3UInt64 a[], const fmi3UInt64 b[]) { (void)vr; (void)n; (void)a; (void)b; NOT_HERE("fmi3SetShiftFraction") }

fmi3Status fmi3ActivateModelPartition(fmi3Instance instance, fmi3ValueReference clock, fmi3Float64 t)
{
    ALLOW(u->clock_update ? STEP : 0, "fmi3ActivateModelPartition");
    const int i = place(u, clock, CLOCK, 0);
    if (i < 0 || !TABLE[i].input || t < u->time) return fmi3Error;
    u->time = t;
    u->active = TABLE[i].clocks;
#if N_CLOCKS
    model_tick(u, t);
#endif
    u->active = 0;
    if (u->ticked || u->said) ((fmi3ClockUpdateCallback)u->clock_update)(u->environment);
    return fmi3OK;
}

/* --- model exchange -------------------------------------------------------------------------------------------- */
fmi3Status fmi3EvaluateDiscreteStates(fmi3Instance instance) { ALLOW(EVENT | INITIALIZATION, "fmi3EvaluateDiscreteStates"); model_calculate(u); return fmi3OK; }

fmi3Status fmi3UpdateDiscreteStates(fmi3Instance instance, fmi3Boolean *again, fmi3Boolean *terminate, fmi3Boolean *nominals,
                                    fmi3Boolean *values, fmi3Boolean *next_defined, fmi3Float64 *next)
{
    ALLOW(EVENT, "fmi3UpdateDiscreteStates");
    u->discrete_changed = 0;
    model_event(u);
    if (u->mode < 0) {
        u->mode = FAILED;
        return fmi3Error;
    }
    u->active = 0;
    model_calculate(u);
    *again = u->discrete_changed != 0;
    u->settled = !*again && !u->terminate;
    *terminate = u->terminate != 0;
    *nominals = fmi3False;
    *values = u->discrete_changed && N_STATES;
    *next_defined = u->next_event != INFINITY;
    *next = u->next_event;
    return fmi3OK;
}

fmi3Status fmi3EnterContinuousTimeMode(fmi3Instance instance)
{
    ALLOW(u->exchange ? EVENT : 0, "fmi3EnterContinuousTimeMode");
    if (!u->settled && !broken(u, "event mode is not over", "fmi3EnterContinuousTimeMode")) return fmi3Error;
    u->mode = CONTINUOUS;
    return fmi3OK;
}

fmi3Status fmi3CompletedIntegratorStep(fmi3Instance instance, fmi3Boolean no_set, fmi3Boolean *event, fmi3Boolean *terminate)
{
    ALLOW(CONTINUOUS, "fmi3CompletedIntegratorStep");
    (void)no_set;
    if (u->time < u->accepted && !broken(u, "time has gone back", "fmi3CompletedIntegratorStep")) return fmi3Error;
    u->accepted = u->time;
#ifdef OWN_ACCEPTED
    model_accepted(u);
#endif
    *event = u->event_due != 0;
    *terminate = u->terminate != 0;
    return fmi3OK;
}

fmi3Status fmi3SetTime(fmi3Instance instance, fmi3Float64 time)
{
    ALLOW(CONTINUOUS, "fmi3SetTime");
    if (time < u->entered && !broken(u, "before the last event", "fmi3SetTime")) return fmi3Error;
    if (time > u->next_event && !broken(u, "after the event that was announced", "fmi3SetTime")) return fmi3Error;
    u->time = time;
    return fmi3OK;
}

static size_t states(const Unit *u)
{
    size_t total = 0;
    for (int i = 0; i < N_STATES_DECLARED; i++) total += unit_size(u, STATE[i]);
    return total;
}

#define EACH_STATE(LIST, statement)                                                                                 \
    if (n != states(u)) return fmi3Error;                                                                            \
    for (size_t s = 0, at = 0; s < N_STATES_DECLARED; s++)                                                           \
        for (size_t j = 0; j < unit_size(u, STATE[s]); j++, at++) {                                                  \
            double *number = &u->cell[TABLE[LIST[s]].first + j].d;                                                  \
            statement;                                                                                               \
        }

fmi3Status fmi3SetContinuousStates(fmi3Instance instance, const fmi3Float64 x[], size_t n)
{
    ALLOW(CONTINUOUS, "fmi3SetContinuousStates");
    EACH_STATE(STATE, *number = x[at])
    return fmi3OK;
}

fmi3Status fmi3GetContinuousStateDerivatives(fmi3Instance instance, fmi3Float64 out[], size_t n)
{
    ALLOW(INITIALIZATION | CONTINUOUS | EVENT | TERMINATED, "fmi3GetContinuousStateDerivatives");
    model_calculate(u);
    EACH_STATE(RATE, if (isnan(*number)) return fmi3Discard; out[at] = *number)
    return fmi3OK;
}

fmi3Status fmi3GetEventIndicators(fmi3Instance instance, fmi3Float64 z[], size_t n)
{
    ALLOW(INITIALIZATION | CONTINUOUS | EVENT | TERMINATED, "fmi3GetEventIndicators");
    if (n != N_INDICATORS) return fmi3Error;
    model_calculate(u);
    memcpy(z, u->z, n * sizeof *z);
    return fmi3OK;
}

fmi3Status fmi3GetContinuousStates(fmi3Instance instance, fmi3Float64 x[], size_t n)
{
    ALLOW(INITIALIZATION | CONTINUOUS | EVENT | TERMINATED, "fmi3GetContinuousStates");
    EACH_STATE(STATE, x[at] = *number)
    return fmi3OK;
}

fmi3Status fmi3GetNominalsOfContinuousStates(fmi3Instance instance, fmi3Float64 x[], size_t n)
{
    ALLOW(CONTINUOUS | EVENT | TERMINATED, "fmi3GetNominalsOfContinuousStates");
    for (size_t i = 0; i < n; i++) x[i] = 1;
    return fmi3OK;
}

fmi3Status fmi3GetNumberOfEventIndicators(fmi3Instance instance, size_t *n) { ALLOW(ANY, "fmi3GetNumberOfEventIndicators"); *n = N_INDICATORS; return fmi3OK; }
fmi3Status fmi3GetNumberOfContinuousStates(fmi3Instance instance, size_t *n) { ALLOW(ANY, "fmi3GetNumberOfContinuousStates"); *n = states(u); return fmi3OK; }

/* --- co-simulation --------------------------------------------------------------------------------------------- */
fmi3Status fmi3EnterStepMode(fmi3Instance instance)
{
    ALLOW(u->exchange ? 0 : EVENT, "fmi3EnterStepMode");
    if (!u->settled && !broken(u, "event mode is not over", "fmi3EnterStepMode")) return fmi3Error;
    u->mode = STEP;
    return fmi3OK;
}

fmi3Status fmi3GetOutputDerivatives(fmi3Instance instance, const fmi3ValueReference vr[], size_t n, const fmi3Int32 order[], fmi3Float64 value[], size_t total)
{
    (void)vr; (void)n; (void)order; (void)value; (void)total;
    NOT_HERE("fmi3GetOutputDerivatives")
}

/* Inputs over the step as the host gives them in three intermediate updates: a parabola. */
static void ask_for_inputs(Unit *u, double t, double h)
{
    double at[3][N_CELLS];
    for (int k = 0; k < 3; k++) {
        fmi3Boolean early = fmi3True; /* the host says no */
        fmi3Float64 when = 0;
        ((fmi3IntermediateUpdateCallback)u->intermediate)(u->environment, t + k * h / 2, fmi3True, fmi3False, fmi3False, fmi3False, &early, &when);
        if (early) broken(u, "an early return is neither wanted nor refused", "fmi3IntermediateUpdateCallback");
        for (int i = 0; i < N_CELLS; i++) at[k][i] = u->cell[i].d;
    }
    for (int v = 0; v < N_VARIABLES; v++) {
        const int i = TABLE[v].first;
        if (!TABLE[v].input || TABLE[v].family != FLOAT) continue;
        u->cell[i].d = at[0][i];
        u->slope[i] = (-3 * at[0][i] + 4 * at[1][i] - at[2][i]) / h;
        u->curvature[i] = 4 * (at[0][i] - 2 * at[1][i] + at[2][i]) / (h * h);
    }
}

fmi3Status fmi3DoStep(fmi3Instance instance, fmi3Float64 t, fmi3Float64 h, fmi3Boolean no_set, fmi3Boolean *event,
                      fmi3Boolean *terminate, fmi3Boolean *early, fmi3Float64 *last)
{
    ALLOW(u->exchange ? 0 : STEP, "fmi3DoStep");
    if (u->terminate && !broken(u, "the run has ended", "fmi3DoStep")) return fmi3Error;
    if (t + h > u->stop * (1 + 1e-12) + 1e-12 && !broken(u, "after the end", "fmi3DoStep")) return fmi3Error;
    if (!u->one_step) u->one_step = h;
    if (!VARIABLE_STEP && fabs(u->one_step - h) > 1e-9 * h && !broken(u, "another step size", "fmi3DoStep")) return fmi3Error;
    (void)no_set;
    if (INTERPOLATES && u->intermediate) ask_for_inputs(u, t, h);
    const Status status = unit_do_step(u, t, h);
    if (status == ERROR || status == FATAL) u->mode = FAILED;
    *event = u->event_due != 0;
    *terminate = u->terminate != 0;
    *early = u->time < t + h - 1e-12;
    *last = u->time;
    return (fmi3Status)status;
}
