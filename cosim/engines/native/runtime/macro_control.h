/* Macro steps of a size that keeps the error of the coupling within a tolerance. */

#ifndef PL_MACRO_CONTROL_H
#define PL_MACRO_CONTROL_H

#include "plantloop.h"

/* One accepted step, at most to `until`. Or everything is where it began: what pl_iterate returns. */
int pl_controlled_step(pl_coupling *m, double until);

#endif
