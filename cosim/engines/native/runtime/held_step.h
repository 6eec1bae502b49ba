/* The step of an FMU whose inputs are held, within the loops that make many of them. */

#ifndef PL_HELD_STEP_H
#define PL_HELD_STEP_H

#include "plantloop.h"

#include <math.h>
#include <string.h>

typedef int (*pl_step_2)(void *c, double t, double h, int no_way_back);
typedef int (*pl_step_3)(void *c, double t, double h, _Bool no_way_back, _Bool *event, _Bool *terminate, _Bool *early,
                      double *last);

/* Its status, of which a warning is none; or 1 if it has more to say. */
PL_INLINE int pl_call_step(pl_fmu_unit *u)
{
    const double t = u->time + u->clock, h = u->end + u->clock - t;

    if (u->version == 2) {
        const int status = ((pl_step_2)u->do_step)(u->component, t, h, 0);
        return status == 1 ? 0 : status;
    }
    *u->last = t + h;
    const int status = ((pl_step_3)u->do_step)(u->component, t, h, 0, u->event, u->terminate, u->early, u->last);
    if (pl_went_wrong(status)) return status;
    return *(_Bool *)u->event || *(_Bool *)u->terminate || *(_Bool *)u->early;
}

PL_INLINE void pl_begin_step(pl_fmu_unit *u, double t1)
{
    u->end = u->reached = u->time + (t1 - u->time);
    u->has_fresh = 0;
}

PL_INLINE int pl_step_held(pl_fmu_unit *u, double t1)
{
    pl_begin_step(u, t1);
    if (pl_write_values(u->component, u->version, u->set, u->n_set, u->value)) return PL_UNIT_STEP;
    u->status = pl_call_step(u);
    return u->status ? PL_UNIT_STEPPED : PL_DONE;
}

PL_INLINE int pl_get_outputs(pl_fmu_unit *u)
{
    if (!u->has_fresh && pl_read_values(u->component, u->version, u->get, u->n_get, u->fresh)) return PL_UNIT_GET;
    /* unlike inputs, every output is kept */
    const int32_t older = u->out.count < u->out.most ? u->out.count : u->out.most - 1;
    const size_t m = (size_t)u->out.n, kept = (size_t)older;
    if (kept) {
        memmove(u->out.values + m, u->out.values, kept * m * sizeof(double));
        memmove(u->out.time + 1, u->out.time, kept * sizeof(double));
    }
    if (m) pl_copy(u->out.values, u->fresh, u->out.n);
    u->out.time[0] = u->reached;
    u->out.count = (int32_t)kept + 1;
    u->time = u->reached;
    u->points++;
    u->next = NAN;
    return PL_DONE;
}

/* pl_step_unit with inputs that are held, and then what pl_unit_arrived does. */
PL_INLINE int pl_step_unit_held(pl_fmu_unit *u, double t1)
{
    const int reason = pl_step_held(u, t1);
    return reason ? reason : pl_get_outputs(u);
}

#endif
