/* One step of an explicit Runge-Kutta method, included where the derivative is compiled.

   PL_NX is the number of states there, a constant, so that the compiler unrolls the loops of small systems.
   k_i = f(t + c_i h, x + h (a_i1 k_1 + a_i2 k_2 + ...)), x1 = x + h (b_1 k_1 + ...), sums from left to right
   without the zeros of the tableau. */

#include "plantloop.h"

static inline void pl_moved(const pl_row *row, double h, const double *restrict x, const double *restrict k,
                            double *restrict out)
{
    const double w0 = row->weight[0], w1 = row->weight[1], w2 = row->weight[2], w3 = row->weight[3];
    const double *restrict k0 = k + row->place[0] * PL_NX, *restrict k1 = k + row->place[1] * PL_NX;
    const double *restrict k2 = k + row->place[2] * PL_NX, *restrict k3 = k + row->place[3] * PL_NX;

    switch (row->count) {
    case 0:
        for (int e = 0; e < PL_NX; e++) out[e] = x[e] + h * 0.0;
        break;
    case 1:
        for (int e = 0; e < PL_NX; e++) out[e] = x[e] + h * (w0 * k0[e]);
        break;
    case 2:
        for (int e = 0; e < PL_NX; e++) out[e] = x[e] + h * (w0 * k0[e] + w1 * k1[e]);
        break;
    case 3:
        for (int e = 0; e < PL_NX; e++) out[e] = x[e] + h * (w0 * k0[e] + w1 * k1[e] + w2 * k2[e]);
        break;
    case 4:
        for (int e = 0; e < PL_NX; e++)
            out[e] = x[e] + h * (w0 * k0[e] + w1 * k1[e] + w2 * k2[e] + w3 * k3[e]);
        break;
    default:
        for (int e = 0; e < PL_NX; e++) {
            double total = w0 * k0[e] + w1 * k1[e] + w2 * k2[e] + w3 * k3[e];
            for (int j = 4; j < row->count; j++) total += row->weight[j] * k[row->place[j] * PL_NX + e];
            out[e] = x[e] + h * total;
        }
    }
}

static inline void pl_step_of(pl_function derivative, pl_args *a, const pl_method *m, double t, double h,
                              const double *x, double *k, int start, double *trial, double *x1)
{
    for (int i = start; i < m->stages; i++) {
        pl_moved(&m->a[i], h, x, k, trial);
        a->t = t + m->c[i] * h;
        a->x = trial;
        derivative(a, k + i * PL_NX);
    }
    pl_moved(&m->b, h, x, k, x1);
}
