/* The past of delayed signals: pieces of steps, each a quartic, in arrays of the host; and the stops at which
   jumps come out of delays. */

#ifndef PL_HISTORIES_H
#define PL_HISTORIES_H

#include "plantloop.h"

enum { PL_DEPTH = 8, PL_PIECES = 1 << PL_DEPTH }; /* a step is halved so often; pieces it can become */

static inline int pl_delay_size(const pl_system *s, int i) { return s->delay_start[i + 1] - s->delay_start[i]; }

/* Delayed signals into w, from their histories, at the time of the arguments. */
void pl_evaluate_delayed(pl_run *r, const pl_args *args);
/* Have all histories capacity for a step more, and the stops? */
int pl_histories_have_room(const pl_run *r);
/* Append a piece from t0 to t1: values at its nodes, `stride` apart. */
void pl_append_piece(pl_history *g, int size, double t0, double t1, const double *values, size_t stride);
/* Drop pieces that end before a time, in bulk. */
void pl_drop_pieces(pl_history *g, int size, double before);
/* Another stop at t, in order, unless it is known. */
void pl_add_stop(pl_context *c, double t);

#endif
