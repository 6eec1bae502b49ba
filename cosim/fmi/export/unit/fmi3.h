/* What the functions of FMI 3.0 have in common: types of the standard, and answers to calls that are not allowed. */

#ifndef FMI3_H
#define FMI3_H

#include "unit.h"

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

static const int EXCHANGE = UNIT_EVENT | UNIT_CONTINUOUS;
static const int OUTSIDE = UNIT_ANY & ~UNIT_INTERMEDIATE; /* not within a step, which could not go on */
static const int BEFORE = UNIT_INSTANTIATED | UNIT_CONFIGURATION;
static const int SETTABLE = UNIT_INSTANTIATED | UNIT_CONFIGURATION | UNIT_RECONFIGURATION | UNIT_RUNNING;

#define ALLOWED(function, modes)                                                                                       \
    unit *u = instance;                                                                                                \
    if (!u) return fmi3Error;                                                                                          \
    if (!unit_allowed(u, #function, modes)) return fmi3Error

/* A pointer to n of something. */
#define GIVEN(function, n, pointer)                                                                                    \
    if ((n) && !(pointer)) {                                                                                           \
        unit_say(u, UNIT_ERROR, "logStatusError", "%s: %s: '%s' is a null pointer.", u->model->name, #function,        \
                 #pointer);                                                                                            \
        return fmi3Error;                                                                                              \
    }

PL_INLINE fmi3Status failed_unless_discarded(unit *u, int status)
{
    if (status >= UNIT_ERROR) u->mode = UNIT_FAILED;
    return (fmi3Status)status;
}

PL_INLINE fmi3Status refused(const unit *u, const char *function, const char *why)
{
    unit_say(u, UNIT_ERROR, "logStatusError", "%s: %s: %s.", u->model->name, function, why);
    return fmi3Error;
}

PL_INLINE fmi3Status none_of(const unit *u, const char *type, size_t n)
{
    if (n == 0) return fmi3OK;
    unit_say(u, UNIT_ERROR, "logStatusError", "%s: it has no variables of type %s.", u->model->name, type);
    return fmi3Error;
}

#endif
