/* The clock of an FMU, which shows the time of the run and a start: see cosim/fmi/unit_clock.py. */

#ifndef PL_UNIT_CLOCK_H
#define PL_UNIT_CLOCK_H

#include "plantloop.h"

#include <math.h>

/* The time of the run at which the clock shows a time, without the digits that a subtraction cannot know: the last of
   2^49 a number may have. */
PL_INLINE double pl_run_time(double clock, double shown)
{
    const double largest = fmax(fabs(shown), fabs(clock));
    double scale = 1.0;

    if (clock == 0.0) return shown;
    while (10.0 * scale * largest <= 0x1p49) scale *= 10.0;
    return rint((shown - clock) * scale) / scale;
}

#endif
