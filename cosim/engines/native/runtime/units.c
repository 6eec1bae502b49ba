#include "units.h"

#include "curves.h"
#include "fmu_events.h"
#include "fmu_values.h"
#include "held_step.h"

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

int pl_step_unit(pl_fmu_unit *u, double t1, int held_at_end)
{
    const int n = u->u.n;

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
