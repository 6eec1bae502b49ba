/* Values of variables of FMUs, by the batch. */

#ifndef PL_FMU_VALUES_H
#define PL_FMU_VALUES_H

#include "plantloop.h"

/* Numbers of a row to values, where they are values of the type; 1 if one is not. */
int pl_put_values(const pl_fmu_batch *b, const double *row);
/* And back; 1 if no number holds one exactly. */
int pl_take_values(const pl_fmu_batch *b, double *row);

/* No status but OK and Warning is a success, and what is no status of FMI is none of these. */
PL_INLINE int pl_went_wrong(int status) { return status != 0 && status != 1; }

typedef int (*pl_values_2)(void *c, const uint32_t *vr, size_t n, void *values);
typedef int (*pl_values_3)(void *c, const uint32_t *vr, size_t n, void *values, size_t total);

/* One call of a setter or getter; 1 where the FMU refuses. */
PL_INLINE int pl_exchange(void *component, int version, const pl_fmu_batch *b)
{
    if (version == 2)
        return pl_went_wrong(((pl_values_2)b->function)(component, b->references, (size_t)b->n, b->values));
    return pl_went_wrong(
        ((pl_values_3)b->function)(component, b->references, (size_t)b->n, b->values, (size_t)b->total));
}

/* Numbers of a row into an FMU; 1 where one is no value of its type, or the FMU refuses it. */
PL_INLINE int pl_write_values(void *component, int version, const pl_fmu_batch *batches, int n, const double *row)
{
    for (const pl_fmu_batch *b = batches; b < batches + n; b++)
        if ((b->kind != PL_FMU_IN_PLACE && pl_put_values(b, row)) || pl_exchange(component, version, b)) return 1;
    return 0;
}

/* Values of an FMU into a row; 1 where it refuses, or no number holds one exactly. */
PL_INLINE int pl_read_values(void *component, int version, const pl_fmu_batch *batches, int n, double *row)
{
    for (const pl_fmu_batch *b = batches; b < batches + n; b++)
        if (pl_exchange(component, version, b) || (b->kind != PL_FMU_IN_PLACE && pl_take_values(b, row))) return 1;
    return 0;
}

#endif
