/* A function over a stretch as a quartic through five of its points, and two more points to check it with. */

#ifndef PL_QUARTIC_H
#define PL_QUARTIC_H

#include "plantloop.h"

#include <stddef.h>

/* Places of the points in a stretch from 0 to 1: the nodes, then the checks. */
static const double PL_PLACES[PL_POINTS] = {0.0, 0.25, 0.5, 0.75, 1.0, 0.1, 0.6};

/* At place s: row j of `values` (PL_NODES rows, `stride` apart, of `size` numbers) belongs to node j. */
void pl_quartic(const double *values, size_t stride, int size, double s, double *out);

#endif
