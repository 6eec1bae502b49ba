/* What generated code needs besides libm. */

#ifndef PL_FUNCTIONS_H
#define PL_FUNCTIONS_H

#include "plantloop.h"

#include <math.h>

/* A function of the host, by number, with its arguments and room for its results in a row; not 0 if it failed. */
static inline int pl_call_host(const pl_args *a, int32_t number, double *row)
{
    const pl_run *r = a->owner;
    const pl_foreign *f = r->foreign ? r->foreign + number : 0;
    if (f && f->call && !f->call(f->self, row)) return 0;
    return r->host_function(r->host, number, row);
}

/* The numbers of a table, by its number. */
static inline const double *pl_numbers(const pl_args *a, int32_t number)
{
    return ((const pl_run *)a->owner)->numbers[number];
}

/* As CasADi's virtual machine takes them: numbers before nan, of equal ones (0 and -0) the first. */
static inline double pl_min(double x, double y) { return x <= y || y != y ? x : y; }
static inline double pl_max(double x, double y) { return x >= y || y != y ? x : y; }

/* -1, 0 or 1; of nan it is nan. */
static inline double pl_sign(double x) { return x < 0 ? -1. : x > 0 ? 1. : x; }

/* Inverse error function: rational approximation, polished by two Newton steps. */
static inline double pl_erfinv(double x)
{
    double y;
    if (x >= 1) return x == 1 ? INFINITY : NAN;
    if (x <= -1) return x == -1 ? -INFINITY : NAN;
    if (x < -0.7) {
        const double z = sqrt(-log((1.0 + x) / 2.0));
        return -(((1.641345311 * z + 3.429567803) * z - 1.624906493) * z - 1.970840454) /
               ((1.637067800 * z + 3.543889200) * z + 1.0);
    }
    if (x < 0.7) {
        const double z = x * x;
        y = x * (((-0.140543331 * z + 0.914624893) * z - 1.645349621) * z + 0.886226899) /
            ((((-0.329097515 * z + 0.012229801) * z + 1.442710462) * z - 2.118377725) * z + 1.0);
    } else {
        const double z = sqrt(-log((1.0 - x) / 2.0));
        y = (((1.641345311 * z + 3.429567803) * z - 1.624906493) * z - 1.970840454) /
            ((1.637067800 * z + 3.543889200) * z + 1.0);
    }
    y = y - (erf(y) - x) / (2.0 / sqrt(3.14159265358979323846) * exp(-y * y));
    y = y - (erf(y) - x) / (2.0 / sqrt(3.14159265358979323846) * exp(-y * y));
    return y;
}

#endif
