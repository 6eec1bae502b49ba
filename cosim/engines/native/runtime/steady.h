/* Steps of a coupling that are all alike: units that hold their inputs, arrive together, and nothing else happens. */

#ifndef PL_STEADY_H
#define PL_STEADY_H

#include "plantloop.h"

/* Is this coupling of that kind, as its units stand? */
int pl_is_steady(const pl_coupling *m);
/* Steps until `until`, or before one in which something else happens; or what the host is to do. */
int pl_steady_steps(pl_coupling *m, double until);

#endif
