/* Where in a step the first crossing changes its sign. */

#ifndef PL_CROSSING_SEARCH_H
#define PL_CROSSING_SEARCH_H

#include "plantloop.h"

enum { PL_SEARCH_ROWS = 3 + 2 * PL_POINTS }; /* of as many numbers as events, in r->out, to look for crossings */

/* Cut the step at the first crossing in it, which goes to r->located. */
int pl_locate_crossing(pl_run *r);

#endif
