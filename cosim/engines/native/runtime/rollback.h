/* Going back to where a step of the coupling began: our own blocks, what they have logged, and units. */

#ifndef PL_ROLLBACK_H
#define PL_ROLLBACK_H

#include "plantloop.h"

/* Our own blocks as they stand; not `whole`: where they have nothing to do over the step. */
void pl_keep_ours(pl_coupling *m, int level, int whole);
/* Back to that, and rows logged since are dropped, as long as the host has not taken any. */
void pl_ours_back(pl_coupling *m, int level);
/* A unit as it stands; not 0 where the FMU refuses. */
int pl_keep_unit(pl_fmu_unit *u, int level);
int pl_unit_back(pl_fmu_unit *u, int level);

#endif
