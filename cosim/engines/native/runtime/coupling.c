/* A co-simulation master: units step from communication point to communication point, our own blocks between them.

   The rules and the order of operations are those of cosim/fmi/coupling/macro_step.py. pl_couple is a state machine
   like pl_advance: it comes back where the host is needed, and goes on where it stood. A step that is repeated
   (iterated, or by error control) is not left in the middle: where the host is needed everything goes back to where it
   began, and the host makes it. */

#include "evaluate.h"
#include "exchange.h"
#include "macro_control.h"
#include "macro_step.h"
#include "plantloop.h"
#include "rollback.h"
#include "steady.h"

#include <math.h>

enum { CONTROLLED_ROWS = 2 }; /* of a unit, in one step */

/* The next point of any unit, at most `until`, and who has one there. */
static double next_point(pl_coupling *m, double until)
{
    double t1 = until, next = 0.0;
    int64_t last = -1; /* units often have the same points */

    for (int k = 0; k < m->n_units; k++) {
        pl_fmu_unit *u = &m->units[k];
        if (isnan(u->next)) {
            const int64_t place = u->first + (u->points - !u->u.count) * u->period;
            if (place != last) next = pl_seconds(last = place, m->grid);
            u->next = next;
        }
        if (u->next < t1) t1 = u->next;
    }
    return t1;
}

static int begin(pl_coupling *m, double until)
{
    const double t1 = m->controlled ? until : next_point(m, until);

    for (int k = 0; k < m->n_units; k++) {
        pl_fmu_unit *u = &m->units[k];
        m->unit = k;
        u->arriving = m->controlled || (u->next <= t1 && u->u.count);
        if (!u->arriving) continue;
        if (u->count + (m->controlled ? CONTROLLED_ROWS : 1) > u->capacity) return PL_UNITS_FULL;
        if (m->begins_iterated && !m->goes_back && u->u.count < 2) return PL_UNITS_HOST;
    }
    if (m->controlled) {
        m->phase = PL_CONTROL;
        return PL_DONE;
    }
    pl_begin_macro_step(m, t1);
    if (m->newest && m->phase != PL_ITERATE) pl_keep_ours(m, 0, !m->quiet);
    return PL_DONE;
}

static int couple(pl_coupling *m, double until)
{
    pl_run *r = m->run;
    const pl_context *c = r->context;
    const int steady = pl_is_steady(m);
    int reason = PL_DONE, stepped = 0;

    pl_update_constants(r);
    pl_find_wires(m);
    while (!reason) {
        if (m->phase == PL_BEGIN) {
            if (!(c->t < until) || c->stopped) return PL_DONE;
            if (r->cancel) return PL_CANCELLED;
            if (steady && !stepped) { /* all steps that are alike, then one that may be another */
                reason = pl_steady_steps(m, until);
                stepped = 1;
                continue;
            }
            if (r->budget-- <= 0) return PL_PAUSE;
            reason = begin(m, until);
            stepped = 0;
        } else if (m->phase == PL_CONTROL) {
            reason = pl_controlled_step(m, until);
            m->phase = PL_BEGIN;
        } else {
            reason = pl_walk_macro_step(m);
        }
    }
    return reason;
}

int pl_couple(pl_coupling *m, double until)
{
    m->run->visits = m->visits;
    const int reason = couple(m, until);
    m->run->visits = 0; /* elsewhere the host visits them */
    return reason;
}
