#include "units.h"

#include "curves.h"
#include "fmu_events.h"
#include "fmu_values.h"
#include "held_step.h"

enum { LAST = 3 }; /* as in cosim/fmi/coupling/unit_run.py */

typedef int (*derivatives_2)(void *c, const uint32_t *vr, size_t n, const int *orders, const double *values);

static int any(const double *v, int n)
{
    for (int i = 0; i < n; i++)
        if (v[i] != 0.0) return 1;
    return 0;
}

/* What it cannot follow of the curve is left out. */
static void simplify(pl_fmu_unit *u, double t1, int held_at_end)
{
    const int n = u->u.n, curved = any(u->curve, n);
    const pl_curve c = {u->u.time[0], u->value, u->bend, u->curve};

    if (u->slopes < 1 && (curved || any(u->bend, n))) {
        for (int i = 0; i < n; i++) {
            u->value[i] = held_at_end ? pl_curve_at(&c, i, t1) : pl_curve_mean(&c, i, t1);
            u->bend[i] = u->curve[i] = 0.0;
        }
    } else if (u->slopes < 2 && curved) {
        for (int i = 0; i < n; i++) {
            u->bend[i] = (pl_curve_at(&c, i, t1) - u->value[i]) / (t1 - u->time);
            u->curve[i] = 0.0;
        }
    }
}

/* Let inputs follow their curve over the next step; not 0 where the FMU refuses. */
static int bend(pl_fmu_unit *u, int curved)
{
    const int n = u->u.n, count = u->n_bent;

    if (u->version != 2) {
        double *a = u->asked;
        a[0] = 1.0, a[2] = u->time + u->clock;
        memcpy(a + 3, u->value, sizeof(double) * (size_t)n);
        memcpy(a + 3 + n, u->bend, sizeof(double) * (size_t)n);
        memcpy(a + 3 + 2 * n, u->curve, sizeof(double) * (size_t)n);
        return 0;
    }
    if (!count) return 0;
    for (int k = 0; k < count; k++) {
        u->bent_values[k] = u->bend[u->bent_places[k]];
        u->bent_values[count + k] = u->curve[u->bent_places[k]];
    }
    const size_t n_orders = (size_t)(curved ? 2 * count : count);
    return pl_went_wrong(
        ((derivatives_2)u->set_derivatives)(u->component, u->bent, n_orders, u->bent_orders, u->bent_values));
}

static int step_with_constants(pl_fmu_unit *u, double t1)
{
    if (!u->events) return pl_step_held(u, t1);
    pl_begin_step(u, t1);
    if (pl_write_values(u->component, u->version, u->set, u->n_set, u->value)) return PL_UNIT_STEP;
    return pl_step_with_events(u);
}

/* Constants that stand for a curve: its end over the last third, and before it what leaves the mean as it is. */
static int step_in_pieces(pl_fmu_unit *u, double t1)
{
    const int n = u->u.n;
    const pl_curve c = {u->u.time[0], u->value, u->bend, u->curve};
    int jumped = 0;

    for (int i = 0; i < n; i++) {
        const double end = pl_curve_at(&c, i, t1), mean = pl_curve_mean(&c, i, t1);
        u->value[i] = end + (mean - end) * ((double)LAST / (LAST - 1.0));
        u->bend[i] = end;
        u->curve[i] = 0.0;
    }
    int reason = step_with_constants(u, u->time + (t1 - u->time) * ((LAST - 1.0) / LAST));
    for (int i = 0; i < n; i++) {
        u->value[i] = u->bend[i];
        u->bend[i] = 0.0;
    }
    if (reason || u->ended) return reason;
    if (u->events) jumped = u->events->jumped;
    u->time = u->reached;
    reason = step_with_constants(u, t1);
    if (u->events) u->events->jumped |= jumped;
    return reason;
}

int pl_step_unit(pl_fmu_unit *u, double t1, int held_at_end)
{
    const int n = u->u.n;

    if (u->in_pieces && u->slopes < 1 && (any(u->bend, n) || any(u->curve, n)) && (t1 - u->time) / LAST >= u->inner)
        return step_in_pieces(u, t1);
    simplify(u, t1, held_at_end);
    const int curved = any(u->curve, n), bent = curved || any(u->bend, n);
    if (!bent && !u->events) return pl_step_held(u, t1);
    pl_begin_step(u, t1);
    if (pl_write_values(u->component, u->version, u->set, u->n_set, u->value)) return PL_UNIT_STEP;
    if (bent && bend(u, curved)) return PL_UNIT_STEP;
    if (u->events) return pl_step_with_events(u);
    u->status = pl_call_step(u);
    if (u->asked) u->asked[0] = 0.0;
    if (u->status || (u->asked && u->asked[1] != 0.0)) return PL_UNIT_STEPPED;
    return PL_DONE;
}

int pl_unit_arrived(pl_fmu_unit *u) { return pl_get_outputs(u); }
