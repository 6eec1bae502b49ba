/* What goes over the wires between units: inputs read off the system, outputs written into it. */

#ifndef PL_EXCHANGE_H
#define PL_EXCHANGE_H

#include "plantloop.h"

/* The inputs of all units at t [s], into m->inputs. */
int pl_read_inputs(pl_coupling *m, double t);
/* The inputs that a unit holds over the step, where nothing is extrapolated. */
int pl_hold_inputs(pl_coupling *m, pl_fmu_unit *u);
/* Outputs that are curves from t0 [s] on: (3, n) values, slopes and curvatures there. */
void pl_write_curve(const pl_coupling *m, const pl_fmu_unit *u, double t0, const double *curve);
/* Outputs that are held from t [s] on. */
void pl_write_held(const pl_coupling *m, const pl_fmu_unit *u, double t);

/* Room for a curve of the outputs of one unit, in what is free while none is under way. */
PL_INLINE double *pl_output_room(const pl_coupling *m) { return m->inputs + m->n_inputs; }

#endif
