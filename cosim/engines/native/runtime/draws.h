/* Random draws at ticks. */

#ifndef PL_DRAWS_H
#define PL_DRAWS_H

#include "plantloop.h"

/* Draw i of this instant. */
void pl_draw(pl_run *r, int i);

#endif
