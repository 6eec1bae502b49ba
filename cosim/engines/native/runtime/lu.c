#include "lu.h"

#include "norms.h"

#include <math.h>
#include <string.h>

static const double GROWTH = 1e5; /* of a row's numbers while it is eliminated; beyond, pivots are sought */

/* Partial pivoting, row after row. 0: singular. */
static int factor_dense(pl_stiff *s, int n, double diagonal)
{
    double *m = s->dense;

    memset(m, 0, sizeof(double) * (size_t)n * (size_t)n);
#define M(i, j) m[(size_t)(i) * (size_t)n + (size_t)(j)]
    for (int j = 0; j < n; j++) {
        for (int32_t k = s->column_start[j]; k < s->column_start[j + 1]; k++)
            M(s->rows[k], j) = -s->jacobian[k];
        M(j, j) += diagonal;
    }
    for (int k = 0; k < n; k++) {
        int pivot = k;
        for (int i = k + 1; i < n; i++)
            if (fabs(M(i, k)) > fabs(M(pivot, k))) pivot = i;
        s->pivots[k] = pivot;
        if (M(pivot, k) == 0.0) return 0;
        if (pivot != k) {
            memcpy(s->work, &M(k, 0), sizeof(double) * (size_t)n);
            memcpy(&M(k, 0), &M(pivot, 0), sizeof(double) * (size_t)n);
            memcpy(&M(pivot, 0), s->work, sizeof(double) * (size_t)n);
        }
        const double inverse = 1.0 / M(k, k);
        const double *restrict source = &M(k, 0);
        for (int i = k + 1; i < n; i++) {
            double *restrict row = &M(i, 0);
            const double factor = row[k] * inverse;
            row[k] = factor;
            if (factor == 0.0) continue;
            for (int j = k + 1; j < n; j++) row[j] -= factor * source[j];
        }
    }
    return 1;
}

static void solve_dense(const pl_stiff *s, int n, double *b)
{
    const double *m = s->dense;

    for (int k = 0; k < n; k++) {
        const double other = b[k];
        b[k] = b[s->pivots[k]];
        b[s->pivots[k]] = other;
    }
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++) b[i] -= M(i, j) * b[j];
    for (int i = n - 1; i >= 0; i--) {
        for (int j = i + 1; j < n; j++) b[i] -= M(i, j) * b[j];
        b[i] = b[i] / M(i, i);
    }
#undef M
}

/* Pivots on the diagonal, row after row on a pattern known in advance. The error of such factors is bounded,
   row by row, by the largest product that was subtracted there. 0: it would be too large. */
static int factor_sparse(pl_stiff *s, int n, double diagonal)
{
    double *row = s->work, *lu = s->factors;
    const int32_t *column = s->lu_column;

    memset(lu, 0, sizeof(double) * (size_t)s->lu_start[n]);
    for (int32_t k = 0; k < s->column_start[n]; k++) lu[s->lu_place[k]] = -s->jacobian[k];
    for (int i = 0; i < n; i++) {
        const int32_t first = s->lu_start[i], middle = s->lu_diagonal[i], last = s->lu_start[i + 1];
        double size = 0.0, most = 0.0;
        lu[middle] += diagonal;
        for (int32_t k = first; k < last; k++) {
            row[column[k]] = lu[k];
            if (fabs(lu[k]) > size) size = fabs(lu[k]);
        }
        for (int32_t k = first; k < middle; k++) {
            const int32_t above = column[k];
            const double factor = row[above] / lu[s->lu_diagonal[above]];
            row[above] = factor;
            if (factor == 0.0) continue;
            for (int32_t j = s->lu_diagonal[above] + 1; j < s->lu_start[above + 1]; j++) {
                const double product = factor * lu[j];
                row[column[j]] -= product;
                most = fabs(product) > most ? fabs(product) : most;
            }
        }
        for (int32_t k = first; k < last; k++) lu[k] = row[column[k]];
        if (!(most <= GROWTH * size) || !(fabs(lu[middle]) > 1e-14 * size)) return 0;
    }
    return 1;
}

static void solve_sparse(const pl_stiff *s, int n, double *b)
{
    double *y = s->work;
    const double *lu = s->factors;

    for (int i = 0; i < n; i++) {
        double sum = b[s->order[i]];
        for (int32_t k = s->lu_start[i]; k < s->lu_diagonal[i]; k++) sum -= lu[k] * y[s->lu_column[k]];
        y[i] = sum;
    }
    for (int i = n - 1; i >= 0; i--) {
        double sum = y[i];
        for (int32_t k = s->lu_diagonal[i] + 1; k < s->lu_start[i + 1]; k++) sum -= lu[k] * y[s->lu_column[k]];
        y[i] = sum / lu[s->lu_diagonal[i]];
    }
    for (int i = 0; i < n; i++) b[s->order[i]] = y[i];
}

int pl_factor(pl_stiff *s, int n, double diagonal)
{
    if (!isfinite(diagonal) || !pl_all_finite(s->jacobian, s->column_start[n])) return 0;
    s->pivoted = !(s->sparse && factor_sparse(s, n, diagonal));
    return s->pivoted ? factor_dense(s, n, diagonal) : 1;
}

void pl_solve_factored(const pl_stiff *s, int n, double *b)
{
    if (s->pivoted)
        solve_dense(s, n, b);
    else
        solve_sparse(s, n, b);
}
