/* Algebraic unknowns by Newton's method with the exact Jacobian; the rules are those of newton.py.

   A step that does not reduce the residual is halved, at most ten times. Where no solution is found, the place
   is kept for the host, and the unknowns become nan so that nothing is computed with them. */

#include "algebraic.h"

#include "histories.h"
#include "norms.h"

#include <math.h>
#include <string.h>

static const double TOLERANCE = 1e-12;  /* relative to the size of the unknowns */
static const double ACCEPTABLE = 1e-9;  /* residual left where steps cannot get smaller */
enum { ROUNDS = 50, HALVINGS = 10 };

/* Gaussian elimination with partial pivoting, as dense.py; a is (n, n) column after column. 0: singular. */
static int solve(double *a, double *b, int n)
{
#define A(i, j) a[(i) + (size_t)(j) * (size_t)n]
    for (int k = 0; k < n; k++) {
        int pivot = k;
        for (int i = k + 1; i < n; i++)
            if (fabs(A(i, k)) > fabs(A(pivot, k))) pivot = i;
        if (A(pivot, k) == 0.0) return 0;
        if (pivot != k) {
            for (int j = 0; j < n; j++) {
                const double other = A(k, j);
                A(k, j) = A(pivot, j);
                A(pivot, j) = other;
            }
            const double other = b[k];
            b[k] = b[pivot];
            b[pivot] = other;
        }
        for (int i = k + 1; i < n; i++) {
            const double factor = A(i, k) / A(k, k);
            for (int j = k + 1; j < n; j++) A(i, j) -= factor * A(k, j);
            b[i] -= factor * b[k];
        }
    }
    for (int k = n - 1; k >= 0; k--) {
        b[k] = b[k] / A(k, k);
        for (int i = 0; i < k; i++) b[i] -= A(i, k) * b[k];
    }
#undef A
    return 1;
}

/* The unknowns, wherever they are: first those in h, then those in w. */
typedef struct {
    pl_run *r;
    pl_function residual; /* (n,) and its Jacobian (n, n), column after column */
    const int32_t *places;
    int in_h, n;
} loop;

static double *unknown(const loop *l, int i)
{
    const pl_context *c = l->r->context;
    return i < l->in_h ? &c->h[l->places[i]] : &c->w[i - l->in_h];
}

static int newton(const loop *l, const pl_args *args)
{
    const int n = l->n;
    double *value = l->r->newton, *jacobian = value + n, *step = jacobian + (size_t)n * (size_t)n;
    double *start = step + n;

    l->residual(args, value);
    double size = pl_largest_absolute(value, n);
    for (int round = 0; round < ROUNDS; round++) {
        if (size == 0.0) return 1;
        for (int i = 0; i < n + n * n; i++)
            if (!isfinite(value[i])) return 0;
        memcpy(step, value, sizeof(double) * (size_t)n);
        if (!solve(jacobian, step, n)) return 0;
        for (int i = 0; i < n; i++) start[i] = *unknown(l, i);
        double scale = 1.0, now = 0.0;
        for (int halving = 0; halving < HALVINGS; halving++) {
            for (int i = 0; i < n; i++) *unknown(l, i) = start[i] - scale * step[i];
            l->residual(args, value);
            now = pl_largest_absolute(value, n);
            if (now < size || now == 0.0) break;
            scale /= 2;
        }
        for (int i = 0; i < n; i++) step[i] = scale * step[i];
        const int converged = pl_largest_absolute(step, n) <= TOLERANCE * (1.0 + pl_largest_absolute(start, n));
        if (converged && (now <= size || now <= ACCEPTABLE)) return 1;
        size = now;
    }
    return 0;
}

static void failed(pl_run *r, const pl_args *args, int segment)
{
    pl_context *c = r->context;
    if (!r->unsolved) {
        r->unsolved = 1;
        r->unsolved_segment = segment;
        r->unsolved_time = args->t;
        memcpy(r->unprojected, args->x, sizeof(double) * (size_t)r->model->nx);
    }
    for (int i = 0; i < r->system->n_unknowns; i++) c->w[i] = NAN;
}

void pl_update_w(void *run, const pl_args *args)
{
    pl_run *r = run;
    pl_context *c = r->context;
    const int n = r->system->n_unknowns;
    const loop all = {r, r->model->residual, 0, 0, n};

    if (r->system->n_delays) pl_evaluate_delayed(r, args);
    if (n == 0) return;
    memcpy(c->w, c->solution, sizeof(double) * (size_t)n);
    if (!newton(&all, args)) failed(r, args, -1);
}

int pl_solve_segment(pl_run *r, int i)
{
    const pl_system *s = r->system;
    const int m = s->segment_start[i + 1] - s->segment_start[i];
    const loop one = {r, r->model->segments[i], s->segment_writes + s->segment_start[i], m, m + s->n_unknowns};

    if (newton(&one, &r->a)) return PL_DONE;
    failed(r, &r->a, i);
    return PL_NO_SOLUTION;
}
