/* A step of the coupling as a fixed point of the outputs of all units at its end. */

#ifndef PL_ITERATED_H
#define PL_ITERATED_H

#include "plantloop.h"

/* Find it: everything stands at the end of the step then, outputs are those delivered. Or everything is where the
   step began: PL_UNITS_HOST where the host is to make the step, else what it is to do before the step is tried again. */
int pl_iterate(pl_coupling *m);
/* After a step that is repeated was left in the middle for a reason: back to where it began; what pl_iterate returns. */
int pl_give_up(pl_coupling *m, int level, int reason);

#endif
