/* Outputs that follow inputs at once, brought up to date at the end of a controlled step. */

#ifndef PL_DIRECT_FEEDTHROUGH_H
#define PL_DIRECT_FEEDTHROUGH_H

#include "plantloop.h"

/* Units with such outputs, where the step begins; and their steps once more, until inputs agree with what is delivered.
   Or what the host is to do. */
int pl_keep_direct(pl_coupling *m);
int pl_repeat_direct(pl_coupling *m);

#endif
