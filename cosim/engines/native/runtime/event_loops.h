/* Loops of events at one instant. */

#ifndef PL_EVENT_LOOPS_H
#define PL_EVENT_LOOPS_H

#include "plantloop.h"

/* An instant begins. */
void pl_begin_loops(pl_run *r);
/* Is a segment outside of the loop that is gone through again? */
int pl_skips(const pl_run *r, int segment);
/* A segment comes next: in a loop what it writes is what it was before the first round. */
void pl_prepare_in_loop(pl_run *r, int segment);
/* Has what a segment reads in its loop changed since it was called at this instant? It is noted. */
int pl_reads_anew(pl_run *r, int segment);
/* The same of what its function has just returned. */
int pl_notes_anew(pl_run *r, int segment);
/* Its events are to be repeated. */
void pl_count_again(pl_run *r, int segment);
/* At the end of a loop: 0, or PL_UNSETTLED; the next segment is the first of the loop where something in it has changed. */
int pl_end_round(pl_run *r, int segment);

#endif
