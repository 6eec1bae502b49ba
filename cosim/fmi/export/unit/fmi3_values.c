/* FMI 3.0: values, dependencies, saved states and derivatives. */

#include "fmi3.h"

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
    GIVEN(fmi3GetFloat64, n, vr)
    GIVEN(fmi3GetFloat64, nValues, values)
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
    GIVEN(fmi3SetFloat64, n, vr)
    GIVEN(fmi3SetFloat64, nValues, values)
    if (!sized(u, "fmi3SetFloat64", vr, n, nValues)) return fmi3Error;
    for (size_t i = 0; i < n; i++) {
        for (int32_t k = 0; k < u->model->sizes[vr[i]]; k++) {
            const int status = unit_set(u, vr[i] + (uint32_t)k, *values++);
            if (status) return (fmi3Status)status;
        }
    }
    return fmi3OK;
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
    GIVEN(fmi3GetNumberOfVariableDependencies, 1, n)
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
    GIVEN(fmi3GetVariableDependencies, n, ofDependent)
    GIVEN(fmi3GetVariableDependencies, n, independents)
    GIVEN(fmi3GetVariableDependencies, n, ofIndependents)
    GIVEN(fmi3GetVariableDependencies, n, kinds)
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
    ALLOWED(fmi3GetFMUState, OUTSIDE);
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
    ALLOWED(fmi3SetFMUState, OUTSIDE);
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
    GIVEN(fmi3SerializeFMUState, 1, bytes)
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
    GIVEN(fmi3GetDirectionalDerivative, nUnknowns, unknowns)
    GIVEN(fmi3GetDirectionalDerivative, nKnowns, knowns)
    GIVEN(fmi3GetDirectionalDerivative, nSeed, seed)
    GIVEN(fmi3GetDirectionalDerivative, nSensitivity, sensitivity)
    return derivative(u, "fmi3GetDirectionalDerivative", unit_forward, unknowns, nUnknowns, nSensitivity, knowns,
                      nKnowns, nSeed, seed, sensitivity);
}

FMI3_EXPORT fmi3Status fmi3GetAdjointDerivative(fmi3Instance instance, const fmi3ValueReference unknowns[],
                                                size_t nUnknowns, const fmi3ValueReference knowns[], size_t nKnowns,
                                                const fmi3Float64 seed[], size_t nSeed, fmi3Float64 sensitivity[],
                                                size_t nSensitivity)
{
    ALLOWED(fmi3GetAdjointDerivative, AT_A_POINT);
    GIVEN(fmi3GetAdjointDerivative, nUnknowns, unknowns)
    GIVEN(fmi3GetAdjointDerivative, nKnowns, knowns)
    GIVEN(fmi3GetAdjointDerivative, nSeed, seed)
    GIVEN(fmi3GetAdjointDerivative, nSensitivity, sensitivity)
    return derivative(u, "fmi3GetAdjointDerivative", unit_adjoint, unknowns, nUnknowns, nSeed, knowns, nKnowns,
                      nSensitivity, seed, sensitivity);
}

FMI3_EXPORT fmi3Status fmi3GetOutputDerivatives(fmi3Instance instance, const fmi3ValueReference vr[], size_t n,
                                                const fmi3Int32 orders[], fmi3Float64 values[], size_t nValues)
{
    ALLOWED(fmi3GetOutputDerivatives, UNIT_STEP | UNIT_TERMINATED | UNIT_FAILED);
    GIVEN(fmi3GetOutputDerivatives, n, vr)
    GIVEN(fmi3GetOutputDerivatives, n, orders)
    GIVEN(fmi3GetOutputDerivatives, nValues, values)
    for (size_t i = 0; i < n; i++)
        if (orders[i] != 1) return refused(u, "fmi3GetOutputDerivatives", "derivatives of outputs are of order 1");
    if (!sized(u, "fmi3GetOutputDerivatives", vr, n, nValues)) return fmi3Error;
    uint32_t *numbers = numbers_of(u, vr, n, nValues);
    const int status = numbers ? unit_output_rates(u, numbers, nValues, values) : UNIT_ERROR;
    free(numbers);
    return (fmi3Status)status;
}
