#include "pace.h"

#include <math.h>

void pl_forget_pace(pl_run *r)
{
    r->pace_since = NAN;
    r->pace_steps = 0;
}

int pl_is_endless(pl_run *r, double t)
{
    const double most = r->settings->most_steps;
    const int64_t steps = r->counters.steps, taken = steps - r->pace_steps;

    if (most == 0.0 || (!isnan(r->pace_since) && taken < r->settings->looked_at)) return 0;
    if ((r->until - t) * (double)taken > most * (t - r->pace_since)) return 1;
    r->pace_since = t;
    r->pace_steps = steps;
    return 0;
}
