#include "quartic.h"

#include <string.h>

static const double WEIGHTS[PL_NODES] = {1.0, -4.0, 6.0, -4.0, 1.0}; /* barycentric */

void pl_quartic(const double *values, size_t stride, int size, double s, double *out)
{
    double w[PL_NODES];

    for (int j = 0; j < PL_NODES; j++) {
        const double distance = s - PL_PLACES[j];
        if (distance == 0.0) {
            memcpy(out, values + (size_t)j * stride, sizeof(double) * (size_t)size);
            return;
        }
        w[j] = WEIGHTS[j] / distance;
    }
    double below = w[0];
    for (int j = 1; j < PL_NODES; j++) below += w[j];
    for (int e = 0; e < size; e++) {
        double total = w[0] * values[e];
        for (int j = 1; j < PL_NODES; j++) total += w[j] * values[(size_t)j * stride + (size_t)e];
        out[e] = total / below;
    }
}
