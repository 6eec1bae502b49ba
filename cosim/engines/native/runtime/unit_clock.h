/* The clock of an FMU, which shows the time of the run and a start: see cosim/fmi/unit_clock.py. */

#ifndef PL_UNIT_CLOCK_H
#define PL_UNIT_CLOCK_H

#include "plantloop.h"

#include <math.h>

/* A time of the run at which the clock shows a time or more, later at most by rounding. */
PL_INLINE double pl_run_time(double clock, double shown)
{
    double t = shown - clock;

    while (t + clock < shown) t = nextafter(t, INFINITY);
    return t;
}

#endif
