/* Going back to where a step of the coupling began: our own blocks, what they have logged, and units. */

#ifndef PL_ROLLBACK_H
#define PL_ROLLBACK_H

#include "plantloop.h"

/* Our own blocks as they stand; not `whole`: where they have nothing to do over the step. */
void pl_keep_ours(pl_coupling *m, int level, int whole);
/* After pl_keep_ours, where nothing but outputs of units and the time have changed since. */
PL_INLINE void pl_keep_outputs(pl_coupling *m, int level)
{
    const pl_context *c = m->run->context;
    double *h = m->kept[level].values;

    m->kept[level].context.t = c->t;
    for (int k = 0; k < m->n_units; k++) {
        const pl_fmu_unit *u = &m->units[k];
        for (int i = 0; i < u->out.n; i++) h[u->y[i]] = c->h[u->y[i]];
        if (u->slope) h[u->since] = c->h[u->since];
    }
}
/* Back to that, and rows logged since are dropped, as long as the host has not taken any. */
void pl_ours_back(pl_coupling *m, int level);
/* A unit as it stands; not 0 where the FMU refuses. */
int pl_keep_unit(pl_fmu_unit *u, int level);
int pl_unit_back(pl_fmu_unit *u, int level);

#endif
