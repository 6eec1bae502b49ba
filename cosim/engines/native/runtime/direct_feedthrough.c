/* The rules and the order of operations are those of cosim/fmi/coupling/direct_feedthrough.py. */

#include "direct_feedthrough.h"

#include "curves.h"
#include "exchange.h"
#include "rollback.h"
#include "units.h"

#include <math.h>

enum { ROUNDS = 100, LEVEL = 1 }; /* no step is iterated here */

static const double SHARE = 0.1;

int pl_keep_direct(pl_coupling *m)
{
    int refused = 0;

    for (int i = 0; i < m->n_direct; i++) refused |= pl_keep_unit(&m->units[m->direct[i]], LEVEL);
    return refused ? PL_UNITS_HOST : PL_DONE;
}

/* Are the inputs that a unit was given those found, as far as its outputs follow them? */
static int agree(const pl_coupling *m, const pl_fmu_unit *u, double share)
{
    const int n = u->u.n;

    for (int i = 0; i < n; i++) {
        const double found = m->inputs[u->start + i];
        double size = fabs(found);
        for (int k = 0; k < u->u.count; k++)
            if (fabs(u->u.values[k * n + i]) > size) size = fabs(u->u.values[k * n + i]);
        const double allowed = SHARE * share * (m->rtol * size + m->atol);
        if (u->direct[i] && !(fabs(found - u->assumed[i]) <= allowed)) return 0;
    }
    return 1;
}

/* The step of a unit again, with inputs that lead to those found. */
static int again(pl_coupling *m, pl_fmu_unit *u)
{
    pl_curve c = {0.0, u->value, u->bend, u->curve};

    for (int i = 0; i < u->u.n; i++)
        if (u->direct[i]) u->assumed[i] = m->inputs[u->start + i];
    if (pl_unit_back(u, LEVEL)) return PL_UNITS_HOST;
    pl_between(&c, m->t1, u->assumed, &u->u, m->order, u->smooth_inputs);
    int reason = pl_step_unit(u, m->t1, 1);
    if (!reason) reason = pl_unit_arrived(u);
    if (reason) return reason;
    if (u->events && u->events->jumped) u->out.count = 1;
    pl_write_held(m, u, m->t1);
    return u->ended ? PL_UNITS_ENDED : PL_DONE;
}

int pl_repeat_direct(pl_coupling *m)
{
    const double h = m->t1 - m->begun, share = h < m->horizon ? h / m->horizon : 1.0;

    for (int k = 0; k < m->n_units; k++) pl_write_held(m, &m->units[k], m->t1);
    for (int round = 0, repeated = 1; repeated; round++) {
        if (round == ROUNDS) return PL_UNITS_HOST; /* it says what does not agree */
        repeated = 0;
        for (int i = 0; i < m->n_direct; i++) {
            pl_fmu_unit *u = &m->units[m->direct[i]];
            int reason = pl_read_inputs(m, m->t1);
            if (reason) return reason;
            if (agree(m, u, share)) continue;
            repeated = 1;
            m->unit = m->direct[i];
            reason = again(m, u);
            if (reason) return reason;
        }
    }
    return PL_DONE;
}
