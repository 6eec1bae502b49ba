/* Values of variables of FMUs, by the batch. */

#ifndef PL_FMU_VALUES_H
#define PL_FMU_VALUES_H

#include "plantloop.h"

/* Numbers of a row into an FMU; 1 where one is no value of its type, or the FMU refuses it. */
int pl_write_values(void *component, int version, const pl_fmu_batch *batches, int n, const double *row);
/* Values of an FMU into a row; 1 where it refuses, or no number holds one exactly. */
int pl_read_values(void *component, int version, const pl_fmu_batch *batches, int n, double *row);

#endif
