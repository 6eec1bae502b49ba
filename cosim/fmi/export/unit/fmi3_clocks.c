/* FMI 3.0: clocks, of which there are none. */

#include "fmi3.h"

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
