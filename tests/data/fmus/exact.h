/* x' = A x + B u for inputs u + u' s + u'' s^2 / 2, solved exactly: exp of an augmented matrix by its series. */
#ifndef EXACT_H
#define EXACT_H
#include "unit.h"

enum { MOST = 12 };

static void product(int n, const double *a, const double *b, double *c)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            double sum = 0;
            for (int k = 0; k < n; k++) sum += a[i * n + k] * b[k * n + j];
            c[i * n + j] = sum;
        }
}

static void exponential(int n, const double *m, double *e)
{
    double a[MOST * MOST], term[MOST * MOST], next[MOST * MOST], norm = 0;
    int halvings = 0;
    for (int i = 0; i < n * n; i++) norm = fmax(norm, fabs(m[i]));
    for (norm *= n; norm > 0.25; norm /= 2) halvings++;
    for (int i = 0; i < n * n; i++) a[i] = ldexp(m[i], -halvings);
    for (int i = 0; i < n * n; i++) term[i] = e[i] = i % (n + 1) == 0;
    for (int k = 1; k < 20; k++) {
        product(n, term, a, next);
        for (int i = 0; i < n * n; i++) e[i] += term[i] = next[i] / k;
    }
    for (; halvings > 0; halvings--) {
        product(n, e, e, next);
        memcpy(e, next, sizeof(double) * n * n);
    }
}

/* n states x, inputs by their cells; A row by row (n, n), B (n, m). Inputs stand at the end of the step afterwards. */
static void exact_step(Unit *u, int n, int m, const double *A, const double *B, const int *state, const int *input, double h)
{
    double M[MOST * MOST] = {0}, E[MOST * MOST], x[MOST], y[MOST] = {0};
    const int size = n + 3 * m;
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) M[i * size + j] = A[i * n + j] * h;
        for (int j = 0; j < m; j++) M[i * size + n + j] = B[i * m + j] * h;
        x[i] = u->cell[state[i]].d;
    }
    for (int j = 0; j < m; j++) {
        M[(n + j) * size + n + m + j] = M[(n + m + j) * size + n + 2 * m + j] = h;
        x[n + j] = u->cell[input[j]].d;
        x[n + m + j] = u->slope[input[j]];
        x[n + 2 * m + j] = u->curvature[input[j]];
    }
    exponential(size, M, E);
    for (int i = 0; i < n + m; i++)
        for (int j = 0; j < size; j++) y[i] += E[i * size + j] * x[j];
    for (int i = 0; i < n; i++) u->cell[state[i]].d = y[i];
    for (int j = 0; j < m; j++) u->cell[input[j]].d = y[n + j];
}
#endif
