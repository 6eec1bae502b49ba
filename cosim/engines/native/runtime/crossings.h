/* Zero crossings: their signs, and where in a step one changes. What writes to h says so (pl_held_changed), so that those
   that depend on what was written are looked at again; every call of pl_advance begins with all. */

#ifndef PL_CROSSINGS_H
#define PL_CROSSINGS_H

#include "plantloop.h"

/* The crossing of an event where it was last looked at. */
double pl_crossing(const pl_run *r, int i);
/* Store the sign of a crossing. */
void pl_set_sign(pl_run *r, int i, double now);
/* How far off zero a crossing is by rounding has changed: what is compared has to follow. */
void pl_settle_side(pl_run *r, int i);
/* The crossing of an event is to be looked at again, as if what it depends on had changed. */
void pl_look_again(pl_run *r, int i);
/* All that depends on what is held has been looked at, and its signs are stored. */
void pl_all_looked_at(pl_run *r);
/* Crossings into r->g, but for those that are known to be what they were. Those that are not beyond their thresholds
   on the sides that are stored are the r->n_loud in r->loud, their signs in r->new_signs: by their values, on the
   threshold by where they move (r->g_rates), at rest there as each says. PL_NO_SIGN where one (r->index) has none. */
int pl_evaluate_crossings(pl_run *r, double t, const double *x);
/* The same in pieces: the crossings alone; known ones (n_places,), into r->g and compared with their thresholds; the
   signs of those that are not beyond, at the arguments that were set last. */
void pl_look_at_crossings(pl_run *r, double t, const double *x);
void pl_compare_crossings(pl_run *r, const double *g);
int pl_find_signs(pl_run *r);
/* Does where it moves decide the sign of a crossing, whose value is in r->g? */
int pl_on_threshold(const pl_run *r, int i);
/* Keep the largest |g| of each crossing, of those just looked at; what it is since it fired last; it fires now. */
void pl_note_farthest(pl_run *r);
double pl_farthest(const pl_run *r, int i);
void pl_forget_farthest(pl_run *r, int i);

#endif
