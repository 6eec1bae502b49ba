/* Corners of the right-hand side: the first one inside a step. The rules are those of methods/corners.py. */

#include "corners.h"

#include <math.h>

enum { ROUNDS = 50 };

static const double MARGIN = 1e-6; /* of a step: a corner nearer to one of its ends is there already */
static const double CLOSE = 1e-7;  /* of a step: how exactly a corner is found */

/* What is zero at corners, at a time inside the step. */
static void at(pl_run *r, pl_inside inside, double t, double *values)
{
    inside(r, t, r->scratch);
    r->a.t = t;
    r->a.x = r->scratch;
    r->model->corners(&r->a, values);
}

static void exchange(double **a, double **b)
{
    double *kept = *a;
    *a = *b;
    *b = kept;
}

/* Where the sign of one changes, just behind it; r->corners_behind are all values there. */
static double root(pl_run *r, pl_inside inside, int k, double low, double high, double h)
{
    const double first = r->corners_before[k], near = 0.5 * CLOSE * h;
    double below = first, above = r->corners_behind[k];
    int last = 0;

    for (int round = 0; round < ROUNDS && high - low > CLOSE * h; round++) {
        double t = low + (high - low) * (below / (below - above));
        t = !(t > low + near) ? low + near : t > high - near ? high - near : t;
        at(r, inside, t, r->corners_now);
        const double value = r->corners_now[k];
        if (value * first <= 0.0) {
            high = t;
            above = value;
            exchange(&r->corners_now, &r->corners_behind);
            if (last > 0) below *= 0.5;
            last = 1;
        } else {
            low = t;
            below = value;
            if (last < 0) above *= 0.5;
            last = -1;
        }
    }
    return high;
}

double pl_first_corner(pl_run *r, pl_inside inside, double t, double h)
{
    const int n = r->model->n_corners;
    const double low = t + MARGIN * h;
    double high = t + (1.0 - MARGIN) * h, found = INFINITY;

    if (!n) return found;
    at(r, inside, low, r->corners_before);
    at(r, inside, high, r->corners_behind);
    for (int k = 0; k < n; k++)
        if (r->corners_before[k] * r->corners_behind[k] < 0.0) found = high = root(r, inside, k, low, high, h);
    return found > t ? found : INFINITY;
}
