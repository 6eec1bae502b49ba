/* Integration between two stops, where nothing jumps, step by step. */

#ifndef PL_STRETCH_H
#define PL_STRETCH_H

#include "plantloop.h"

/* A stretch from the context's present to r->stop. */
int pl_begin_stretch(pl_run *r);
/* One step, up to the first crossing in it. */
int pl_take_step(pl_run *r);
/* Its end becomes the beginning of the next. */
int pl_end_step(pl_run *r);

#endif
