/* x' = A x + B u, y = C x + D u with sizes by the structural parameters n (states), m (inputs), r (outputs). */
#include "unit.h"

void model_calculate(Unit *u)
{
    const int n = (int)u->cell[c_n].u, m = (int)u->cell[c_m].u, r = (int)u->cell[c_r].u;
    const Value *A = u->cell + c_A, *B = u->cell + c_B, *C = u->cell + c_C, *D = u->cell + c_D;
    const Value *x = u->cell + c_x, *in = u->cell + c_u;
    for (int i = 0; i < n; i++) {
        double sum = 0;
        for (int j = 0; j < n; j++) sum += A[i * n + j].d * x[j].d;
        for (int j = 0; j < m; j++) sum += B[i * m + j].d * in[j].d;
        u->cell[c_der_x + i].d = sum;
    }
    for (int i = 0; i < r; i++) {
        double sum = 0;
        for (int j = 0; j < n; j++) sum += C[i * n + j].d * x[j].d;
        for (int j = 0; j < m; j++) sum += D[i * m + j].d * in[j].d;
        u->cell[c_y + i].d = sum;
    }
}

void model_start(Unit *u)
{
    for (int i = 0; i < (int)u->cell[c_n].u; i++) u->cell[c_x + i].d = u->cell[c_x0 + i].d;
    model_calculate(u);
}

void model_event(Unit *u) { (void)u; }

/* steps of rk4 of a hundredth second */
static void rates(Unit *u, const double *x, double *dx, int n)
{
    for (int i = 0; i < n; i++) u->cell[c_x + i].d = x[i];
    model_calculate(u);
    for (int i = 0; i < n; i++) dx[i] = u->cell[c_der_x + i].d;
}

Status model_step(Unit *u, double h)
{
    const int n = (int)u->cell[c_n].u, steps = (int)ceil(h / 0.01 - 1e-9);
    double x[8], y[8], k[4][8];
    const double dt = h / steps;
    for (int s = 0; s < steps; s++) {
        for (int i = 0; i < n; i++) x[i] = u->cell[c_x + i].d;
        rates(u, x, k[0], n);
        for (int i = 0; i < n; i++) y[i] = x[i] + dt / 2 * k[0][i];
        rates(u, y, k[1], n);
        for (int i = 0; i < n; i++) y[i] = x[i] + dt / 2 * k[1][i];
        rates(u, y, k[2], n);
        for (int i = 0; i < n; i++) y[i] = x[i] + dt * k[2][i];
        rates(u, y, k[3], n);
        for (int i = 0; i < n; i++) y[i] = x[i] + dt / 6 * (k[0][i] + 2 * k[1][i] + 2 * k[2][i] + k[3][i]);
        rates(u, y, k[0], n);
    }
    u->time += h;
    return OK;
}

double model_partial(Unit *u, int unknown, int known) { (void)u; return unknown == known; }
